"""Fixes modelled on other code of the function: an argument that another call has, an operation on the result of another
call, the one name or number by which two calls differ. An exception to two similar uses is likely a typo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from heapq import nsmallest
from itertools import islice

from ...lang import sweet
from ...lang.node import Node, replace
from ...lang.walk import walk
from ...ops.model import TENSORS
from ...ops.registry import lookup
from ..case import Fix, FixCase, appended, dims_text, replaced
from ..tree import callee, is_reshape, keeps_shape
from ..weights import weight
from .operands import wrap
from .shapes import TensorChange
from .typos import later, suspects

_MOST_NODES, _MOST_DONE = 24, 3
# The number of calls of the same primitive, the nearest first, to compare with one.
_MOST_ALIKE = 40


def fixes(case: FixCase) -> Iterator[Fix]:
    if case.function is None or not case.diagnostic.code.of_shapes:
        return
    nodes = list(walk(case.function.fn.body))
    calls = [n for n in nodes if isinstance(n, sweet.Call) and lookup(callee(n)) is not None]
    of_name: dict[str, list[sweet.Call]] = {}
    for call in calls:
        of_name.setdefault(callee(call), []).append(call)
    heavy = _weights(case, nodes)
    for position, node in enumerate(islice(suspects(case), _MOST_NODES)):
        alike = nsmallest(_MOST_ALIKE, of_name.get(callee(node), ()), key=partial(_distance, node))
        alike = [call for call in alike if call is not node]
        for fix in _arguments(case, node, alike):
            yield replace(fix, rank=fix.rank + later(position) // 2)
        of_form = [call for call in alike if heavy[id(call)] == heavy.get(id(node))]
        for fix in (*_done(case, node, calls), *_leaves(case, node, of_form)):
            yield replace(fix, kind="typo", rank=fix.rank + later(position) // 4)


def _weights(case: FixCase, nodes: list[Node]) -> Counter[int]:
    """Return the number of nodes in each subtree, by identity."""
    found: Counter[int] = Counter()
    for node in reversed(nodes):
        found[id(node)] += 1
        above = case.tree.parent(node)
        if above is not None:
            found[id(above)] += found[id(node)]
    return found


def _distance(node: sweet.Expr, other: sweet.Expr) -> int:
    return abs(node.span.start - other.span.start)


def _arguments(case: FixCase, node: sweet.Expr, alike: list[sweet.Call]) -> Iterator[Fix]:
    """Copy the one argument, other than tensors, in which another call of the same primitive differs."""
    row, own = lookup(callee(node)), case.tree.arguments(node)
    names = [p.name for p in row.params if p.kind not in TENSORS] if row is not None else []
    for given in map(case.tree.arguments, alike):
        differ = [n for n in names if n in given and (n not in own or own[n].span.text != given[n].span.text)]
        if len(differ) == 1 and isinstance(node, sweet.Call):
            [name] = differ
            text = given[name].span.text
            if node is case.call and is_reshape(callee(node)) and text == dims_text(case.shape("x") or ()):
                continue  # it would do nothing
            edit = replaced(own[name], text) if name in own else appended(node, f"{name}={text}")
            rank = weight("argument as elsewhere" if name in own else "new argument as elsewhere")
            yield case.fix(f"use {name}={text} as elsewhere", [edit], rank, show=node.span, guess=True)


def _done(case: FixCase, node: sweet.Expr, calls: list[sweet.Call]) -> Iterator[Fix]:
    """Apply an operation that is applied to the result of the same primitive elsewhere, but not here."""
    above = case.tree.parent(node)
    above = case.tree.parent(above) if isinstance(above, sweet.Arg) else above
    found: dict[str, TensorChange] = {}
    for call in calls:
        first = call.args[0].value if call.args and call.args[0].name is None else None
        if first is None or first is node or not isinstance(node, sweet.Call) or callee(first) != callee(node):
            continue
        name = callee(call)
        if not keeps_shape(name) and (above is None or callee(above) != name):
            rest = call.span.source.text[first.span.end : call.span.end]
            found.setdefault(
                f"{name}{rest}",
                TensorChange(f"call @{name} as elsewhere with", f"@{name}(", rest, weight("elsewhere"), True),
            )
    for change in islice(found.values(), _MOST_DONE):
        yield wrap(case, node, change)


def _leaves(case: FixCase, node: sweet.Expr, alike: list[sweet.Call]) -> Iterator[Fix]:
    """Copy the one name or number in which another call differs."""
    own = list(walk(node))
    for call in alike:
        other = list(walk(call))
        if [type(n) for n in own] != [type(n) for n in other]:
            continue
        differ = [(a, b) for a, b in zip(own, other, strict=True) if _is_leaf(a) and a.span.text != b.span.text]  # type: ignore[attr-defined]
        if len(differ) == 1 and isinstance(differ[0][0], sweet.Name | sweet.IntLit):
            here, there = differ[0][0].span.text, differ[0][1].span.text  # type: ignore[attr-defined]
            if case.function is not None and case.tree.uses(case.function)[here] == 1:
                continue  # a name used only here is meant
            edit = replaced(differ[0][0], there)
            yield case.fix(
                f"write `{there}` for `{here}`", [edit], weight("leaf as elsewhere"), show=node.span, guess=True
            )


def _is_leaf(node: Node) -> bool:
    return isinstance(node, sweet.Name | sweet.IntLit | sweet.FnName | sweet.Ident | sweet.StrLit | sweet.BoolLit)
