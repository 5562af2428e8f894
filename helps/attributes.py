"""Mends of what a call says beside its operands: the axis, keepdims, the layout, groups."""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import sweet
from ..ops.registry import lookup
from .case import Case, Mend, appended, replaced
from .conditions import FAR_FETCHED
from .tree import callee

# Where no axis is written, it is one of these that may want another.
_NEEDS_AXIS = {"concat", "stack", "unstack", "split", "take", "take_along_axis", "softmax", "log_softmax", "repeat"}
_REDUCTIONS = {"sum", "prod", "max", "min", "mean", "var", "std", "all", "any", "logsumexp", "argmax", "argmin"}


def mends(case: Case) -> Iterator[Mend]:
    if not isinstance(case.call, sweet.Call):
        yield from _keepdims(case)
        return
    yield from _axis(case, case.call)
    yield from _keepdims(case)
    yield from _ends(case)
    yield from _layout(case)
    yield from _groups(case)


def _axis(case: Case, call: sweet.Call) -> Iterator[Mend]:
    row = lookup(case.callee)
    if row is None or not any(p.name == "axis" for p in row.params):
        return
    ranks = [len(o.shape) for o in case.subject.operands if o.shape is not None and o.dtype]
    if not ranks:
        return
    rank = ranks[0] + (case.callee in ("stack", "expand_dims"))
    given = case.arguments.get("axis")
    now = _integer(given)
    for axis in sorted(range(rank), key=lambda a: (abs(a - now) if now is not None else 0, a)):
        if now is not None and axis == now % rank and -rank <= now < rank:
            continue
        if given is None and case.callee not in _NEEDS_AXIS:
            continue
        if given is None:
            edit = appended(call, f"axis={axis}")
        elif now is None:
            continue
        else:
            edit = replaced(given, str(axis))
        yield case.mend(f"use axis {axis}", [edit], 13)


def _integer(expr: sweet.Expr | None) -> int | None:
    match expr:
        case sweet.IntLit(value=value):
            return value
        case sweet.Unary(op="-", operand=sweet.IntLit(value=value)):
            return -value
    return None


def _keepdims(case: Case) -> Iterator[Mend]:
    """The reduction that dropped an axis, in an operand or in what it was made of."""
    for node in case.tree.upstream([expr for _, expr, _ in case.tensors()]):
        given = case.tree.arguments(node)
        if callee(node) in _REDUCTIONS and "axis" in given and "keepdims" not in given:
            yield case.mend("keep the reduced axis", [appended(node, "keepdims=true")], 19, show=node.span)


def _ends(case: Case) -> Iterator[Mend]:
    """`start` and `end` the wrong way round."""
    start, end = case.arguments.get("start"), case.arguments.get("end")
    if start is not None and end is not None:
        edits = [replaced(start, end.span.text), replaced(end, start.span.text)]
        yield case.mend("exchange start and end", edits, 13)


def _layout(case: Case) -> Iterator[Mend]:
    given = case.arguments.get("layout")
    row = lookup(case.callee)
    if row is None or not any(p.name == "layout" for p in row.params) or not isinstance(case.call, sweet.Call):
        return
    other = "channels_first" if isinstance(given, sweet.StrLit) and given.value == "channels_last" else "channels_last"
    rank = 19 if len(case.subject.at) > 1 else FAR_FETCHED + 12
    if given is not None:
        yield case.mend("use the other layout", [replaced(given, f'"{other}"')], rank, guess=rank >= FAR_FETCHED)
    else:
        yield case.mend(
            "use the other layout", [appended(case.call, f'layout="{other}"')], rank, guess=rank >= FAR_FETCHED
        )


def _groups(case: Case) -> Iterator[Mend]:
    """Channels that are a multiple of what the weight takes: a convolution in groups."""
    row = lookup(case.callee)
    x, weight = case.shape("x"), case.shape("weight")
    if row is None or not any(p.name == "groups" for p in row.params) or not isinstance(case.call, sweet.Call):
        return
    layout = case.arguments.get("layout")
    last = isinstance(layout, sweet.StrLit) and layout.value == "channels_last"
    if not x or not weight or min(len(x), len(weight)) < 3:
        return
    channels, taken = (x[-1], weight[-2]) if last else (x[1], weight[1])
    if not isinstance(channels, int) or not isinstance(taken, int) or taken <= 0 or channels % taken:
        return
    text = str(channels // taken)
    if "groups" in case.arguments:
        yield case.mend(f"use {text} groups", [replaced(case.arguments["groups"], text)], 14)
    elif channels != taken:
        yield case.mend(f"use {text} groups", [appended(case.call, f"groups={text}")], 14)
