"""Fixes of two parameters, or two parts of one, that a body uses in each other's place."""

from __future__ import annotations

from collections.abc import Iterator

from ...lang import sweet
from ...lang.node import replace
from ...lang.walk import walk
from ...ops.elsewhere_args import integer
from ..case import Fix, FixCase, replaced
from ..scope import FixScope
from ..weights import weight

# Neighbouring parameters are most easily mixed up.
_MOST_OTHERS = 4

Places = dict[str, list[sweet.Name | sweet.Index]]


def exchanged(case: FixCase, node: sweet.Expr, scope: FixScope, later: int) -> Iterator[Fix]:
    """Exchange both in all places."""
    if not isinstance(node, sweet.Name | sweet.Index) or case.function is None or not case.is_declared:
        return
    places = _places(case, case.function, scope)
    own, names = node.span.text, list(places)
    if own not in places:
        return
    others = [name for name in names if name != own and _are_alike(scope, own, name)]
    others.sort(key=lambda name: abs(names.index(name) - names.index(own)))
    for far, other in enumerate(others[:_MOST_OTHERS]):
        first, second = sorted((own, other), key=names.index)
        what = f"use `{first}` and `{second}` in each other's place"
        edits = [replaced(n, name) for a, name in ((own, other), (other, own)) for n in places[a]]
        yield replace(case.fix(what, edits, weight("exchanged") + later + far), shown="", remote=True)


def _places(case: FixCase, function: sweet.FnDecl, scope: FixScope) -> Places:
    """Return the places where the body reads tensor parameters and parts of tuple parameters, in the order of declaration,
    without names that are bound again."""
    params = {p.name.name: at for at, p in enumerate(function.fn.params)}
    found: Places = {}
    for node in walk(function.fn.body):
        name = _param(node, scope)
        if isinstance(node, sweet.Name | sweet.Index) and name is not None and name.name in params:
            found.setdefault(node.span.text, []).append(node)
    given = {
        text: _param(nodes[0], scope) for text, nodes in found.items() if all(_is_given(case, n, scope) for n in nodes)
    }
    order = {text: (params[name.name], text) for text, name in given.items() if name is not None}
    return {text: found[text] for text in sorted(order, key=order.__getitem__)}


def _param(node: object, scope: FixScope) -> sweet.Name | None:
    """Return the name that is read: of a tensor, or of a tuple of which this is a part."""
    match node:
        case sweet.Name(name=name) if name in scope.tensors:
            return node
        case sweet.Index(value=sweet.Name(name=name) as whole, items=(item,)) if name not in scope.tensors:
            return whole if integer(item) is not None else None
    return None


def _is_given(case: FixCase, node: sweet.Name | sweet.Index, scope: FixScope) -> bool:
    name = _param(node, scope)
    return name is not None and isinstance(case.tree.binding(name.name, name.span), sweet.Param)


def _are_alike(scope: FixScope, one: str, other: str) -> bool:
    """Whether they are parts of one tuple, or tensors declared with the same rank."""
    if one not in scope.tensors or other not in scope.tensors:
        return one.partition("[")[0] == other.partition("[")[0] and one not in scope.tensors
    a, b = scope.tensors[one], scope.tensors[other]
    return a is not None and b is not None and len(a.items) == len(b.items)
