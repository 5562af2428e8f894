"""The bodies of gradients: the function written out, then the gradient of each call, last first."""

from __future__ import annotations

from ..lang import codes, core
from ..lang.diagnostics import Diagnostic, Label, error
from ..lang.node import replace
from .backward import Backward, Translate
from .flat import Broken, Flat, Unsupported, leaves, spelt


def differentiate(
    program: core.Program, translate: Translate, is_told: bool
) -> tuple[core.Program, tuple[Diagnostic, ...]]:
    """The program with the body of each gradient, and what cannot be derived. `translate` makes a text a core program;
    `is_told` says that something is wrong with the program already."""
    functions = {f.name: f for f in program.functions}
    problems: list[Diagnostic] = []
    for gradient in program.gradients:
        wrapper = functions[gradient.name]
        assert wrapper.impl is not None
        try:
            functions[wrapper.impl] = _derivative(functions, program, gradient, functions[wrapper.impl], translate)
        except Unsupported as problem:
            if is_told and isinstance(problem, Broken):
                continue
            label = Label(gradient.span, "its gradient is asked for here")
            message = f"{problem.what} has no rule for its gradient yet"
            problems.append(error(codes.E232, message, problem.at.span, labels=(label,)))
    return replace(program, functions=tuple(functions[f.name] for f in program.functions)), tuple(problems)


def _derivative(
    functions: dict[str, core.Function],
    program: core.Program,
    gradient: core.Gradient,
    body: core.Function,
    translate: Translate,
) -> core.Function:
    flat = Flat(functions, spelt(*program.functions, *program.consts))
    flat.lists = frozenset(i.name for i in program.impls)
    flat.sorts |= {c.name: c.sort for c in program.consts}
    params = {p.name: flat.opened(p.name, p.sort, gradient) for p in body.params}
    given = [n for n in params if n not in {p.name for p in functions[gradient.of].params}]
    args = tuple(params[p.name] for p in functions[gradient.of].params)
    out = [flat.name(v, gradient, "out") for v in leaves(flat.call(functions[gradient.of], args, gradient))]
    wanted = [[v for v in leaves(params[n]) if isinstance(v, core.Var)] for n in gradient.wrt]
    seeds = [v for v in leaves(params[given[0]]) if isinstance(v, core.Var)] if given else []
    back = Backward(flat, translate, frozenset({p.name for p in body.params} | {c.name for c in program.consts}))
    handed = back.write(gradient, out, seeds, [v.name for vs in wanted for v in vs])
    stmts, names = back.core(gradient)
    values = iter([flat.operand(core.Var(gradient.span, n), names) for n in handed])
    results = [_joined(gradient, [next(values) for _ in vs]) for vs in wanted]
    if gradient.kind == "value_and_grad":
        results.insert(0, out[0])
    result = results[0] if len(results) == 1 else core.TupleValue(gradient.span, tuple(results))
    return replace(body, body=core.Block(gradient.span, (*flat.stmts, *stmts), result))


def _joined(gradient: core.Gradient, values: list[core.Value]) -> core.Value:
    return values[0] if len(values) == 1 else core.TupleValue(gradient.span, tuple(values))
