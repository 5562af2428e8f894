"""Trees node by node, sweet or core: the nodes right below one, all nodes below some, a tree with nodes replaced.

What a walk leaves out is data: `fields` are not entered, and a node that is `without` is left out with all that is below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from .node import PROVENANCE, Node, replace
from .source import Span

T = TypeVar("T")
Test = Callable[[Node], bool]


def children(node: Node, fields: frozenset[str] = PROVENANCE) -> Iterator[Node]:
    """The nodes right below one, from left to right."""
    stack = [getattr(node, f) for f in reversed(node._fields) if f not in fields]
    while stack:
        item = stack.pop()
        if isinstance(item, Node):
            yield item
        elif isinstance(item, tuple) and not isinstance(item, Span):
            stack.extend(reversed(item))


def walk(*roots: object, fields: frozenset[str] = PROVENANCE, without: Test | None = None) -> Iterator[Node]:
    """Every node of some trees (or tuples of trees), parents first, from left to right; without recursion."""
    stack = list(reversed(roots))
    while stack:
        item = stack.pop()
        if isinstance(item, Node):
            if without is None or not without(item):
                yield item
                stack.extend(getattr(item, f) for f in reversed(item._fields) if f not in fields)
        elif isinstance(item, tuple) and not isinstance(item, Span):
            stack.extend(reversed(item))


def rewrite(
    tree: T, change: Callable[[Node], Node], fields: frozenset[str] = PROVENANCE, without: Test | None = None
) -> T:
    """A tree (or a tuple of trees) with every node changed, what is below a node before it. What stays is not copied."""

    def new(item: object) -> Any:
        if isinstance(item, Node) and (without is None or not without(item)):
            values = {f: getattr(item, f) for f in item._fields if f not in fields}
            changed = {f: after for f, before in values.items() if (after := new(before)) is not before}
            return change(replace(item, **changed) if changed else item)
        if isinstance(item, tuple) and not isinstance(item, Span):
            after = tuple(map(new, item))
            return item if all(a is b for a, b in zip(after, item, strict=True)) else after
        return item

    return cast(T, new(tree))
