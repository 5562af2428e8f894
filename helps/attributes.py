"""Mends of what a call says beside its operands: the axis, keepdims, the layout, groups."""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import sweet
from ..ops.registry import lookup
from .case import Case, Mend, inserted, replaced
from .tree import callee, nodes_below

_REDUCTIONS = {"sum", "prod", "max", "min", "mean", "var", "std", "all", "any", "logsumexp", "argmax", "argmin"}


def mends(case: Case) -> Iterator[Mend]:
    if not isinstance(case.call, sweet.Call):
        yield from _keepdims(case)
        return
    yield from _axis(case, case.call)
    yield from _keepdims(case)
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
        if given is None:
            edit = inserted(call.span, call.span.end - 1, f", axis={axis}")
        elif now is None:
            continue
        else:
            edit = replaced(given, str(axis))
        yield case.mend(f"axis {axis}", [edit], 13)


def _integer(expr: sweet.Expr | None) -> int | None:
    match expr:
        case sweet.IntLit(value=value):
            return value
        case sweet.Unary(op="-", operand=sweet.IntLit(value=value)):
            return -value
    return None


def _keepdims(case: Case) -> Iterator[Mend]:
    """The reduction that dropped an axis, in an operand or in what it was made of."""
    seen: set[int] = set()
    stack: list[tuple[sweet.Expr, int]] = [(expr, 3) for _, expr, _ in case.tensors()]
    while stack:
        expr, depth = stack.pop(0)
        for node in nodes_below(expr):
            if id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, sweet.Call) and callee(node) in _REDUCTIONS and "axis" in case.tree.arguments(node):
                given = case.tree.arguments(node)
                if "keepdims" not in given:
                    edit = inserted(node.span, node.span.end - 1, ", keepdims=true")
                    yield case.mend("keep the reduced axis", [edit], 19, show=node.span)
            if isinstance(node, sweet.Name) and depth:
                bound = case.tree.binding(node.name, node.span)
                if isinstance(bound, sweet.Let):
                    stack.append((bound.value, depth - 1))


def _layout(case: Case) -> Iterator[Mend]:
    given = case.arguments.get("layout")
    row = lookup(case.callee)
    if row is None or not any(p.name == "layout" for p in row.params) or not isinstance(case.call, sweet.Call):
        return
    other = "channels_first" if isinstance(given, sweet.StrLit) and given.value == "channels_last" else "channels_last"
    if given is not None:
        yield case.mend("the other layout", [replaced(given, f'"{other}"')], 19)
    else:
        edit = inserted(case.call.span, case.call.span.end - 1, f', layout="{other}"')
        yield case.mend("the other layout", [edit], 19)


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
        yield case.mend(f"{text} groups", [replaced(case.arguments["groups"], text)], 16)
    elif channels != taken:
        edit = inserted(case.call.span, case.call.span.end - 1, f", groups={text}")
        yield case.mend(f"{text} groups", [edit], 16)
