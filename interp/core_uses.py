"""Questions about core trees: used names, the call behind a check, the functions that are reached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any, get_args

from ..lang import core
from ..lang.node import PROVENANCE, Node
from ..lang.walk import walk
from ..ops import registry as rows

# The fields that `names_of` skips: spans and written annotations hold the user's spelling.
_SPELLING = frozenset({"span", "annotation"})
# The name that a node refers to, by its class.
_NAMED: dict[type[Node], Callable[[Any], str]] = {
    **dict.fromkeys((*get_args(core.Variable), core.Splice), attrgetter("name")),
    **dict.fromkeys(
        (core.RankOf, core.DimOf, core.ShapeOf, core.DTypeOf, core.Declared, core.MatchShape), attrgetter("tensor")
    ),
}
# Fields that do not change which functions a function names.
_BESIDE = PROVENANCE | core.KNOWN


def call_of(name: str, following: Iterable[core.Stmt | core.Value | None]) -> core.Call | None:
    """The first decided call of the function `name` in these nodes."""
    calls = (node for node in nodes_of(*following) if isinstance(node, core.Call))
    return next((call for call in calls if call.decided and call.callee.name == name), None)


def nodes_of(*roots: object) -> Iterator[Node]:
    """The nodes below the roots, from left to right, without the annotations of function parameters."""
    return walk(*roots, without=lambda node: isinstance(node, core.FnSort))


def names_of(*roots: object) -> set[str]:
    """The Rx names that a check refers to, its annotation's included."""
    return {name_in(node) for node in walk(*roots, fields=_SPELLING) if (name_in := _NAMED.get(type(node))) is not None}


def is_recursive(program: core.Program) -> bool:
    """Whether a function may call itself, directly or through others; a function given as an argument counts as called."""
    choices = {i.name: i.choices for i in program.impls}
    left = {f.name: {n for c in _called(f) for n in choices.get(c, (c,))} for f in program.functions}
    while left:
        ends = {name for name, called in left.items() if called.isdisjoint(left)}
        if not ends:
            return True
        left = {name: called for name, called in left.items() if name not in ends}
    return False


def _called(function: core.Function) -> set[str]:
    return {node.name for node in walk(function, fields=_BESIDE) if type(node) is core.FnRef}


def reachable(program: core.Program, start: core.Function) -> set[str]:
    """The functions that a call of `start` may reach, itself included, and those that the consts use."""
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


_SORTS = {"size": core.SIZE, "sizes": core.SHAPE, "shape": core.SHAPE, "target": core.SHAPE, "dtype": core.DTYPE}


def as_called(program: core.Program, impls: core.Impls) -> core.Function:
    """A list of implementations as a function to call from outside: like its last function of the program, or its last
    primitive."""
    functions = {f.name: f for f in program.functions}
    own = [functions[c] for c in impls.choices if c in functions]
    if own:
        return own[-1]
    row = rows.lookup(impls.choices[-1].removeprefix("prelude."))
    assert row is not None
    params = tuple(core.Param(p.name, _SORTS.get(p.kind, core.TENSOR)) for p in row.params if p.required)
    shown = ", ".join(f"{p.name} : {p.sort.name}" for p in params if isinstance(p.sort, core.BaseSort))
    nothing = core.Block(impls.span, (), core.TupleValue(impls.span, ()))
    text = f"@{impls.name} = fn({shown})"
    return core.Function(impls.span, "inline", impls.name, params, None, (), nothing, signature=text)
