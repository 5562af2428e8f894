"""Conditions that make an open check hold: a `where` on the enclosing function, the size of another axis, `!`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...lang import sweet
from ...lang.diagnostics import Edit, RxError
from ...lang.node import replace
from ...lang.parser import parse_expr
from ...lang.source import Span
from ...lang.walk import walk
from ...simplify.solver.conditions import Compare, Ge0, render_cond, substitute_cond
from ...simplify.solver.exprs import ExpressionError, QuestionScope, read_condition, read_size
from ...simplify.solver.prove import prove
from ...simplify.solver.sizes import only_var
from ...simplify.solver.terms import TooLarge, substitute
from ...sizes.operators import size_functions
from ..case import Fix, FixCase, inserted, replaced
from ..weights import CONDITION, weight


def fixes(case: FixCase) -> Iterator[Fix]:
    if case.diagnostic.code.only_empty:
        return
    stops = dict(_counted(case))
    every = (*case.subject.conditions, *_of_cut_sizes(case, stops))
    wanted = [tuple(_in_all_turns(_unless_empty(w), stops) for w in wordings) for wordings in every]
    sayable = [tuple(text for text in wordings if _is_sayable(case, text)) for wordings in wanted]
    own = signature_names(case.function.fn) if case.function is not None else set()
    yield from _dimension(case)
    for rank, wordings in enumerate(sayable):
        for text in wordings:
            if case.function is not None and _said_in(text, own):
                meaning = " && ".join(_asked(case, case.function, [text])) or wordings[0]
                yield from _where(case, case.function, text, meaning, CONDITION + rank)
    if not case.subject.conditions or case.subject.what == "rank":
        yield from _assertion(case)


# Conditions that an author would write


def _also(case: FixCase, text: str) -> tuple[str, ...]:
    """Return the other conditions of the same call, except those of which this one is an alternative."""
    return tuple(other for other in case.subject.also if text not in other.split(" || "))


def _unless_empty(text: str) -> str:
    """Return `h >= 2` for `h == 0 || h >= 2`, since authors do not mention empty tensors."""
    try:
        expr = parse_expr(text)
    except RxError:
        return text
    match expr:
        case sweet.Binary(op="||", left=sweet.Binary(op="==", right=sweet.IntLit(value=0)), right=right):
            return right.span.text
    return text


def _counted(case: FixCase) -> Iterator[tuple[str, str]]:
    """Yield the indices of enclosing loops that count from 0 by one, with their ends."""
    for loop in case.tree.around(case.diagnostic.span, sweet.For):
        if isinstance(loop.iterable, sweet.Call) and len(loop.iterable.args) == 1:
            yield loop.index.name, loop.iterable.args[0].value.span.text


def _in_all_turns(text: str, stops: Mapping[str, str]) -> str:
    """Return `n >= 1` for `n + i >= 1`, and `n <= t` for `t > i`: a bound on a size that changes from turn to turn bounds
    that of the first or the last turn."""
    scope = QuestionScope()
    try:
        cond = read_condition(text, scope) if stops else True
        for name, stop in stops.items():
            if name in scope.names and isinstance(cond, Ge0):
                index = only_var(scope.name(name))
                falls = substitute(cond.term, {index: scope.name(name) + 1}) - cond.term
                first = not isinstance(falls, int) or falls >= 0
                cond = substitute_cond(cond, {index: 0 if first else read_size(stop, scope) - 1})
    except (ExpressionError, TooLarge):
        return text
    return render_cond(cond) if scope.names.keys() & stops.keys() and isinstance(cond, Compare) else text


def _of_cut_sizes(case: FixCase, stops: Mapping[str, str]) -> Iterator[tuple[str]]:
    """Yield the conditions under which a slice that moves with a loop's index has its full length: `t - i >= 1`."""
    for size in case.sizes() if stops else ():
        try:
            written = parse_expr(size)
        except RxError:  # it has no name
            continue
        for call in walk(written):
            cut = isinstance(call, sweet.Call) and isinstance(call.callee, sweet.Name) and call.callee.name == "min"
            if isinstance(call, sweet.Call) and cut and len(call.args) == 2:
                yield (" >= ".join(arg.value.span.text for arg in call.args),)


def _is_sayable(case: FixCase, text: str) -> bool:
    return all(_an_author_says(case, said) for said in (text, *map(_unless_empty, _also(case, text))))


def _an_author_says(case: FixCase, text: str) -> bool:
    """Whether authors write such a condition: a divisibility, an odd size, a bound, or the equality of two named sizes that
    the signature keeps apart; no size equal to a number, and no equation of formulas."""
    try:
        return all(_is_usual(case, part) for part in _conjuncts(parse_expr(text)))
    except RxError:
        return False


def _conjuncts(expr: sweet.Expr) -> Iterator[sweet.Expr]:
    if isinstance(expr, sweet.Binary) and expr.op == "&&":
        yield from (*_conjuncts(expr.left), *_conjuncts(expr.right))
    else:
        yield expr


def _is_usual(case: FixCase, expr: sweet.Expr) -> bool:
    match expr:
        case sweet.Binary(op="==", left=sweet.Binary(op="%", right=by), right=sweet.IntLit(value=rest)):
            return rest == 0 or (rest == 1 and by.span.text == "2")
        case sweet.Binary(op="==", left=sweet.Name(name=one), right=sweet.Name(name=other)):
            return _left_apart(case, one) or _left_apart(case, other)
        case sweet.Binary(op=">=" | "<=" | ">" | "<"):
            return True
    return False


def _left_apart(case: FixCase, name: str) -> bool:
    """Whether a size stands only once in a signature, so that it may be meant to equal another one."""
    if case.function is None or any(p.name.name == name for p in case.function.fn.params):
        return False
    return _times_said(case.function.fn, name, case.function.fn.result) == 1


def _times_said(fn: sweet.Fn, name: str, *more: sweet.Type | None) -> int:
    """Count the uses of a size in a function's parameters and conditions."""
    roots = [r for r in (*(p.type for p in fn.params), *fn.where, *more) if r is not None]
    return sum(isinstance(n, sweet.Name) and n.name == name for n in walk(*roots))


def _dimension(case: FixCase) -> Iterator[Fix]:
    """Declare a parameter with the size of another axis: `b : Tensor([i])` for `[o]`. This demands less than that both sizes
    are equal everywhere."""
    fn = case.function.fn if case.function is not None else None
    sizes = [size for size in dict.fromkeys(case.sizes()) if fn is not None and size in signature_names(fn)]
    blamed = [expr.span.text for expr in (case.arguments.get(name) for name, _ in case.subject.at) if expr is not None]
    for param in sorted(fn.params if fn is not None else (), key=lambda p: p.name.name not in blamed):
        shape = param.type.shape if isinstance(param.type, sweet.TensorType) else None
        for own in shape.items if isinstance(shape, sweet.ListExpr) else ():
            assert fn is not None
            if isinstance(own, sweet.Name) and own.name in sizes and _times_said(fn, own.name) > 1:
                for size in [s for s in sizes if s != own.name]:
                    what = f"declare `{param.name.name}` with the size `{size}`"
                    yield replace(
                        case.fix(what, [replaced(own, size)], weight("dimension"), show=param.span), kind="dimension"
                    )


def is_of_count(fix: Fix) -> bool:
    """Whether it demands that a number of turns is not negative, which holds for every dimension."""
    last = _comparisons(fix.meaning)[-1:] if fix.kind == "bound" else ()
    return any(c.op == ">=" and isinstance(c.right, sweet.IntLit) and c.right.value == 0 for c in last)


def _kind(text: str) -> str:
    """Return `bound` for a condition that an operation needs at any sizes, else `names`."""
    return "bound" if all(c.op != "==" or not isinstance(c.right, sweet.Name) for c in _comparisons(text)) else "names"


def _is_said_otherwise(fn: sweet.Fn, text: str) -> bool:
    """Whether the author has already bounded the same size from below."""
    said = {c.left.span.text for c in fn.where if isinstance(c, sweet.Binary) and c.op == ">="}
    return any(c.op == ">=" and c.left.span.text in said for c in _comparisons(text))


def _comparisons(text: str) -> list[sweet.Binary]:
    return [c for c in _conjuncts(parse_expr(text)) if isinstance(c, sweet.Binary)]


def _where(case: FixCase, decl: sweet.FnDecl, text: str, meaning: str, rank: int) -> Iterator[Fix]:
    fn, also = decl.fn, tuple(map(_unless_empty, _also(case, text)))
    if not all(_said_in(other, signature_names(fn)) for other in also):
        return
    kind, wanted = "names" if _is_said_otherwise(fn, text) else _kind(text), (text, *also)
    asked = _asked(case, decl, wanted)
    tried = (asked, wanted) if 0 < len(asked) <= len(wanted) and not _follow(asked, wanted) else (wanted,)
    for text in map(", ".join, tried):
        if fn.where:
            edit = inserted(fn.span, fn.where[-1].span.end, f", {text}")
        else:
            edit = inserted(fn.span, signature_end(fn), f" where {text}")
        yield Fix(f"`where {text}` on @{decl.name.name} makes it hold", (edit,), rank, meaning, kind=kind)


def _asked(case: FixCase, decl: sweet.FnDecl, wanted: Sequence[str]) -> list[str]:
    """Return the function's demands that follow from some conditions: `t == u || t == 1 || u == 1` from `t == u`."""
    return [demand for demand in case.demands.get(f"@{decl.name.name}", ()) if _follow(wanted, [demand])]


def _follow(known: Sequence[str], goals: Sequence[str]) -> bool:
    return all(prove(known, goal)["result"] == "valid" for goal in goals)


def signature_end(fn: sweet.Fn) -> int:
    """Return the end of the result type, or of the parameters."""
    if fn.result is not None:
        return _closing(fn, fn.result.span.end)
    end = fn.params[-1].span.end if fn.params else fn.span.start
    return fn.span.source.text.index(")", end) + 1


def _closing(fn: sweet.Fn, at: int) -> int:
    """Return the place after the brackets that close around a type."""
    text, end = fn.span.source.text, fn.body.span.start if fn.body else fn.span.end
    while at < end and text[at] == ")":
        at += 1
    return at


def signature_names(fn: sweet.Fn) -> set[str]:
    """Return the names of sizes that a signature binds, and its parameters."""
    found = {p.name.name for p in fn.params}
    for param in fn.params:
        if isinstance(param.type, sweet.TensorType) and param.type.shape is not None:
            found |= {n.name for n in walk(param.type.shape) if isinstance(n, sweet.Name)}
    return found


def _said_in(text: str, names: set[str]) -> bool:
    try:
        expr = parse_expr(text)
    except RxError:
        return False
    used = {n.name for n in walk(expr) if isinstance(n, sweet.Name)}.difference(size_functions())
    return used <= names


def _assertion(case: FixCase) -> Iterator[Fix]:
    """Replace the `:` of a `let` by `!`."""
    place = case.subject.declared or case.diagnostic.span
    let = case.tree.enclosing(place, sweet.Let)
    if let is None or let.asserting or let.type is None or not place.within(let.type.span):
        return
    colon = let.span.source.text.rfind(":", let.names[-1].span.end, let.type.span.start)
    if colon >= 0:
        name = f"`{let.names[0].name}`" if not let.is_tuple else "the names"
        edit = Edit(Span(let.span.source, colon, colon + 1), "!")
        yield Fix(
            f"`!` for `:` asserts the type of {name} at run time",
            (edit,),
            weight("asserted"),
            "assert",
            kind="assert",
        )
