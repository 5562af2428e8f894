"""Sequences, optional values and maps in the walk: their types say so wherever a value's dtype is forgotten, and so a dtype
that is not known is never one of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..lang import core
from ..lang.dtypes import DType
from ..lang.source import Span
from ..ops.model import AnyDType, TensorInfo
from .known.state import State
from .known.values import TupleValue, Value


def may_hold(state: State, value: Value) -> bool:
    """Whether a value may be one that holds others."""
    return isinstance(value, TensorInfo) and any(d.is_opaque for d in _known(state, value.dtype))


def holds(state: State, dtype: AnyDType | None) -> bool:
    """Whether a dtype is surely that of a value that holds others, which has rank 0."""
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
    """What has to hold of values that may hold others, for parameters whose types do not say so."""
    held = [param.name for param, value in params if may_hold(state, value)]
    pinned = set(_pinned(checks)) if held else set()
    return (no_holder(name, span) for name in held if name not in pinned)


def lost(state: State, value: Value, promises: Iterable[core.Stmt]) -> bool:
    """Whether a result has more that may hold others than its type says."""
    count = sum(may_hold(state, part) for part in _leaves(value))
    return count > 0 and count > sum(1 for _ in _pinned(promises))


def _leaves(value: Value) -> Iterator[Value]:
    if isinstance(value, TupleValue):
        for item in value.items:
            yield from _leaves(item)
    else:
        yield value


def _pinned(stmts: Iterable[core.Stmt]) -> Iterator[str]:
    """The names that are said to have a dtype that holds others."""
    for stmt in stmts:
        match stmt:
            case core.Assert(
                cond=core.Compare(op="==", left=core.DTypeOf(tensor=name), right=core.DTypeLit(dtype=dtype))
            ) if dtype.is_opaque:
                yield name


def no_holder(name: str, span: Span) -> core.Assert:
    """That a value holds no others."""
    cond = core.InClass(span, core.DTypeOf(span, name), ("any",), False)
    return core.Assert(span, cond, None, core.Origin(span, "where", True, None, text=f"{name}.dtype in any"))
