"""The bodies of gradients: the function written out, then the gradient of each call, last first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..lang import codes, core
from ..lang.diagnostics import Diagnostic, Label, error
from ..lang.node import replace
from .apart import shapes_apart
from .backward import Backward, Translate
from .complex_numbers import mark
from .flat import Flat, UnreadableCall, Unsupported, formed, leaves, spelt


def differentiate(
    program: core.Program, translate: Translate, is_told: bool
) -> tuple[core.Program, tuple[Diagnostic, ...]]:
    """Return the program with the body of each gradient, and diagnostics for what cannot be differentiated. `translate` makes
    a text a core program; `is_told` says that the program already has an error."""
    functions = {f.name: f for f in program.functions}
    problems: list[Diagnostic] = []
    for gradient in program.gradients:
        wrapper = functions[gradient.name]
        assert wrapper.impl is not None
        try:
            functions[wrapper.impl] = _derivative(functions, program, gradient, functions[wrapper.impl], translate)
        except Unsupported as problem:
            if is_told and isinstance(problem, UnreadableCall):
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
    flat.rules = {r.of: r for r in program.rules}
    mark((s for c in program.consts for s in c.checks), flat.complex)
    flat.lists = frozenset(i.name for i in program.impls)
    flat.sorts |= {c.name: c.sort for c in program.consts}
    params = {p.name: flat.opened(p.name, p.sort, gradient) for p in body.params}
    of = functions[gradient.of].params
    given = [v for n, p in params.items() if n not in {p.name for p in of} for v in _tensors(p)]
    made = _called(flat, gradient, tuple(params[p.name] for p in of))
    out = [flat.name(v, gradient, "out''") for v in leaves(made)]
    wanted = [v for n in gradient.wrt for v in _tensors(params[n])]
    known = frozenset({p.name for p in body.params} | {c.name for c in program.consts})
    back = partial(_handed_back, flat, translate, known, gradient)
    if gradient.kind == "jvp":  # the gradient is linear in the cotangent of the result
        zeros = [flat.name(_like(v), gradient, "zero''") for v in out]
        got = back(back(out, zeros, wanted, is_read=True), given, zeros)
        return _with_body(body, flat, gradient, [formed(made, iter(got))])
    if gradient.kind == "hessian_vector":
        got = back(back(out, [], wanted, is_read=True), given, wanted)
    else:
        got = back(out, given, wanted)
    values = iter(got)
    results = [formed(params[n], values) for n in gradient.wrt]
    return _with_body(body, flat, gradient, [*(out if gradient.kind == "value_and_grad" else ()), *results])


def _handed_back(
    flat: Flat,
    translate: Translate,
    known: frozenset[str],
    gradient: core.Gradient,
    out: list[core.Var],
    seeds: list[core.Var],
    wanted: list[core.Var],
    is_read: bool = False,
) -> list[core.Var]:
    """Add the statements that compute the cotangents of `wanted` from those of `out`, and return their values."""
    writer = Backward(flat, translate, known)
    handed = writer.write(gradient, out, seeds, [v.name for v in wanted])
    stmts, names = writer.statements(gradient, is_read)
    flat.stmts += stmts
    return [flat.name(flat.operand(core.Var(gradient.span, n), names), gradient) for n in handed]


def _called(flat: Flat, gradient: core.Gradient, args: tuple[core.Value, ...]) -> core.Value:
    """Return the function's result, with the statements written out, or as a call if the function has a rule."""
    function = flat.functions[gradient.of]
    rule = flat.rules.get(gradient.of)
    if rule is None or rule.name is None:
        return flat.call(function, args, gradient)
    given = tuple(core.Arg(gradient.span, None, a) for a in args)
    return flat.operand(core.Call(gradient.span, core.FnRef(gradient.span, gradient.of), given), {})


def _like(of: core.Var) -> core.Call:
    return core.Call(of.span, core.FnRef(of.span, "zeros_like"), (core.Arg(of.span, None, of),))


def _with_body(
    body: core.Function, flat: Flat, gradient: core.Gradient, results: Sequence[core.Value]
) -> core.Function:
    result = results[0] if len(results) == 1 else core.TupleValue(gradient.span, tuple(results))
    stmts = shapes_apart(flat, flat.stmts)
    return replace(body, body=core.Block(gradient.span, tuple(stmts), result))


def _tensors(value: core.Value) -> list[core.Var]:
    return [v for v in leaves(value) if isinstance(v, core.Var)]
