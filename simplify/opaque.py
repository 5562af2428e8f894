"""Sequences, optional values and maps in the walk: wherever a value's dtype is forgotten, its type must name theirs, so that
an unknown dtype is never one of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..lang import core
from ..lang.dtypes import DType
from ..lang.node import Node, replace
from ..lang.source import Span
from ..ops.held import NOTHING, HeldElements, Inside, common, held, how_many
from ..ops.model import AnyDType, TensorInfo
from .known.state import State
from .known.values import Value, leaves
from .solver.sizes import only_var


def may_hold(state: State, value: Value) -> bool:
    """Whether a value may be one that holds others."""
    return isinstance(value, TensorInfo) and any(d.is_opaque for d in _known(state, value.dtype))


def holds(state: State, dtype: AnyDType | None) -> bool:
    """Whether a dtype is surely that of values that hold others, which have rank 0."""
    known = _known(state, dtype)
    return bool(known) and all(d.is_opaque for d in known)


def _known(state: State, dtype: AnyDType | None) -> frozenset[DType]:
    dtype = None if dtype is None else state.dtype(dtype)
    if isinstance(dtype, DType):
        return frozenset((dtype,))
    return frozenset() if dtype is None else state.known_dtypes(dtype)


def unsaid(
    state: State, params: Iterable[tuple[core.Param, Value]], checks: Iterable[core.Stmt], span: Span
) -> Iterator[core.Assert]:
    """The conditions on values that may hold others, for parameters whose types do not say so."""
    held = [param.name for param, value in params if may_hold(state, value)]
    said = pinned(checks) if held else {}
    return (no_holder(name, span) for name in held if name not in said)


class CarriedSequences:
    """The contents of the sequences that a loop carries, in any turn: each carry's elements as far as they are known, from
    the first values and further turns until nothing changes; and their number, if each turn adds the same."""

    def __init__(self, state: State, firsts: Mapping[str, Value]) -> None:
        self.state = state
        opaque = {n: held(v) for n, v in firsts.items() if isinstance(v, TensorInfo) and may_hold(state, v)}
        self.each: dict[str, Inside | Nothing] = {n: NO_ELEMENT if h.items == () else h.each for n, h in opaque.items()}
        self.firsts = opaque
        # The number that a turn adds: GROWS before one was seen, None if turns differ.
        self.more: dict[str, Any] = dict.fromkeys(opaque, GROWS)
        self.now: dict[str, Any] = {}

    def at(self, name: str, value: Value, passed: Any) -> Value:
        """A carry's value with its contents after `passed` turns."""
        if not isinstance(value, TensorInfo) or name not in (self.each if passed != 0 else self.firsts):
            return value
        if passed == 0:
            return replace(value, data=(self.firsts[name],))
        each, count = self.each[name], self._count(name, passed)
        self.now[name] = count
        return replace(
            value, data=(HeldElements((), None) if isinstance(each, Nothing) else HeldElements(None, each, count),)
        )

    def _count(self, name: str, passed: Any) -> Any:
        """The number of values that a carry holds; a new size if that is unknown."""
        first, more = how_many(self.firsts[name]), self.more[name]
        if more == 0 and first is not None:
            return first
        if more is None or isinstance(more, Nothing) or first is None:
            count = self.state.size("?count")
            self.state.opaque.begin(only_var(count), None)
            return count
        return first + more * passed

    def joined(self, ends: Mapping[str, Value], is_outer: Callable[[Any], bool]) -> bool:
        """Join the contents at the end of a turn, with sizes from outside the loop only; return whether nothing changed."""
        before, more = dict(self.each), dict(self.more)
        for name, each in before.items():
            end = ends.get(name)
            known = held(end) if isinstance(end, TensorInfo) else NOTHING
            last = _outer(known.each, is_outer)
            self._grow(name, 0 if isinstance(each, Nothing) else self.now.get(name), how_many(known), is_outer)
            if known.items != ():
                self.each[name] = last if isinstance(each, Nothing) else common(each, last, self._same)
        return self.each == before and self.more == more

    def _grow(self, name: str, before: Any, after: Any, is_outer: Callable[[Any], bool]) -> None:
        """Record the numbers of values that a carry holds before a turn and after it."""
        if self.more[name] is None:
            return
        more = None if before is None or after is None else self.state.settled(after) - self.state.settled(before)
        is_same = isinstance(self.more[name], Nothing) or self.more[name] == more
        self.more[name] = more if is_same and more is not None and is_outer(more) else None

    def _same(self, a: Any, b: Any) -> bool:
        return bool(self.state.settled(a) == self.state.settled(b))

    def forget(self) -> None:
        self.each = {}


class Nothing(Node):
    """The element of an empty sequence."""


NO_ELEMENT = GROWS = Nothing()


def _outer(value: Inside, is_outer: Callable[[Any], bool]) -> Inside:
    if isinstance(value, HeldElements):
        return HeldElements(None, _outer(value.each, is_outer))
    return value and tuple(size if size is not None and is_outer(size) else None for size in value)


def lost(state: State, value: Value, promises: Iterable[core.Stmt]) -> bool:
    """Whether a result has more parts that may hold others than its type says."""
    count = sum(may_hold(state, part) for part in leaves(value))
    return count > 0 and count > len(pinned(promises))


def pinned(stmts: Iterable[core.Stmt]) -> dict[str, DType]:
    """The names declared with a dtype that holds others, with that dtype."""
    found = {}
    for stmt in stmts:
        match stmt:
            case core.Assert(
                cond=core.Compare(op="==", left=core.DTypeOf(tensor=name), right=core.DTypeLit(dtype=dtype))
            ) if dtype.is_opaque:
                found[name] = dtype
    return found


def typed(value: Value, dtype: DType) -> Value:
    """A tensor with its declared dtype."""
    return replace(value, dtype=dtype) if isinstance(value, TensorInfo) else value


def no_holder(name: str, span: Span) -> core.Assert:
    """The condition that a value holds no others."""
    cond = core.InClass(span, core.DTypeOf(span, name), ("any",), False)
    return core.Assert(span, cond, None, core.Origin(span, "where", True, None, text=f"{name}.dtype in any"))
