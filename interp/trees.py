"""What stands in core trees: the names that are used, the call behind a check, the functions that are reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..lang import core
from ..lang.node import Node
from ..lang.walk import walk

# A check speaks of the names of its annotation too, of those that it is spelt with only in the user's words.
_SPELLING = frozenset({"span", "annotation"})


def call_of(name: str, following: Iterable[core.Stmt | core.Value | None]) -> core.Call | None:
    """The first decided call of a function in what follows."""
    for node in nodes_of(*following):
        if isinstance(node, core.Call) and node.decided and node.callee.name == name:
            return node
    return None


def nodes_of(*roots: object) -> Iterator[Node]:
    """The nodes below some, from left to right, without the annotations of function parameters."""
    return walk(*roots, without=lambda node: isinstance(node, core.FnSort))


def names_of(*roots: object) -> set[str]:
    """The Rx names that a check speaks of, its annotation's included."""
    found: set[str] = set()
    for node in walk(*roots, fields=_SPELLING):
        if isinstance(node, core.Variable | core.Splice):
            found.add(node.name)
        elif isinstance(node, core.RankOf | core.DimOf | core.ShapeOf | core.DTypeOf | core.Declared | core.MatchShape):
            found.add(node.tensor)
    return found


def reachable(program: core.Program, start: core.Function) -> set[str]:
    """The functions that a call of one may reach, its own name included, and those that the consts use."""
    functions = {f.name: f for f in program.functions}
    choices = {i.name: i.choices for i in program.impls}
    pending: list[Any] = [program.consts, start]
    reached = {start.name}
    while pending:
        for node in nodes_of(pending.pop()):
            names = choices.get(node.name, (node.name,)) if isinstance(node, core.FnRef) else ()
            new = [n for n in names if n in functions and n not in reached]
            reached.update(new)
            pending.extend(functions[n] for n in new)
    return reached
