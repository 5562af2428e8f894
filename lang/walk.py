"""Trees node by node, sweet or core: the nodes right below one, all nodes below some, a tree with nodes replaced.

`fields` are not entered; a node for which `without` holds is left out with everything below it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from operator import attrgetter, is_
from typing import Any, TypeVar, cast

from .node import PROVENANCE, Node, replace
from .source import Span

T = TypeVar("T")
Test = Callable[[Node], bool]


def children(node: Node, fields: frozenset[str] = PROVENANCE) -> Iterator[Node]:
    """The nodes right below one, from left to right."""
    yield from below((node,), fields)


def below(nodes: Iterable[Node], fields: frozenset[str] = PROVENANCE) -> list[Node]:
    """The nodes right below any of `nodes`."""
    readers, found = _below(fields), list[Node]()
    stack: list[Any] = []
    for node in nodes:
        read = readers[type(node)]
        stack += () if read is None else read(node)
        while stack:
            item = stack.pop()
            inner = readers[type(item)]
            if inner is _backwards:
                stack += item[::-1]
            elif inner is not _nothing:
                found.append(item)
    return found


def depth(root: Node) -> int:
    """How deeply the nodes of a tree are nested; without recursion."""
    deepest, level = 0, [root]
    while level:
        deepest += 1
        level = below(level)
    return deepest


def walk(*roots: object, fields: frozenset[str] = PROVENANCE, without: Test | None = None) -> Iterator[Node]:
    """Every node of some trees (or tuples of trees), parents first, from left to right; without recursion."""
    readers = _below(fields)
    stack: list[Any] = list(reversed(roots))
    while stack:
        item = stack.pop()
        read = readers[type(item)]
        if read is _backwards:
            stack += item[::-1]
        elif read is not _nothing and (without is None or not without(item)):
            yield item
            if read is not None:
                stack += read(item)


def _backwards(items: tuple[object, ...]) -> tuple[object, ...]:
    return items[::-1]


def _nothing(item: object) -> tuple[object, ...]:
    """The reader for values that are neither nodes nor tuples of nodes."""
    return ()


class _ByClass(dict[type, Any]):
    """Caches `read` for each class, with some fields left out; it is looked up for every node of every tree."""

    def __init__(self, read: Callable[[type, frozenset[str]], Any], without: frozenset[str]) -> None:
        super().__init__()
        self.read, self.left_out = read, without

    def __missing__(self, kind: type) -> Any:
        self[kind] = found = self.read(kind, self.left_out)
        return found


def _fields(kind: type, without: frozenset[str]) -> tuple[str, ...] | None:
    """The fields of a class that may hold nodes; None for tuples of them, `_NOTHING` for other classes."""
    if issubclass(kind, Node):
        return tuple(f for f in kind._fields if f not in without and _may_hold_nodes(kind, f))
    return None if issubclass(kind, tuple) and not issubclass(kind, Span) else _NOTHING


_NOTHING = ("nothing",)
_inside = cache(partial(_ByClass, _fields))


def _reader(kind: type, without: frozenset[str]) -> Callable[[Any], Any] | None:
    """A reader of the parts of a class's objects, last first; None if they have none, `_nothing` if they are no nodes."""
    if issubclass(kind, Node):
        names: tuple[str, ...] = (_inside(without)[kind] or ())[::-1]
        if len(names) == 1:
            only = attrgetter(names[0])
            return lambda node: (only(node),)
        return attrgetter(*names) if names else None
    return _backwards if issubclass(kind, tuple) and not issubclass(kind, Span) else _nothing


def _may_hold_nodes(kind: type, field: str) -> bool:
    """Whether a field's written type contains anything but texts, numbers and places."""
    written = next(a[field] for k in kind.__mro__ if field in (a := k.__dict__.get("__annotations__", {})))
    return not _PLAIN.issuperset(re.findall(r"\w+", written))


_PLAIN = frozenset({"str", "int", "float", "bool", "None", "tuple", "Span"})
_below = cache(partial(_ByClass, _reader))


def rewrite(
    tree: T, change: Callable[[Node], Node], fields: frozenset[str] = PROVENANCE, without: Test | None = None
) -> T:
    """Change every node of a tree (or a tuple of trees), the nodes below it first. Unchanged parts are not copied."""

    inside = _inside(fields)

    def new(item: Any) -> Any:
        names = inside[type(item)]
        if names is None:
            after = tuple(map(new, item))
            return item if all(map(is_, after, item)) else after
        if names is _NOTHING or (without is not None and without(item)):
            return item
        changed = {f: after for f in names if (after := new(before := getattr(item, f))) is not before}
        return change(replace(item, **changed) if changed else item)

    return cast(T, new(tree))
