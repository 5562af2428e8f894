"""The values that shape rules compute with: sizes, conditions on them, and dtypes that may be unknown."""

from __future__ import annotations

from typing import Protocol, Self

from ..lang.dtypes import DType


class Dim(Protocol):
    """A size: a Python int, or a symbolic term. A rule may compute with it, and asks its context everything else: sizes have
    no order here and no truth value."""

    def __add__(self, other: Self | int, /) -> Dim: ...
    def __radd__(self, other: int, /) -> Dim: ...
    def __sub__(self, other: Self | int, /) -> Dim: ...
    def __rsub__(self, other: int, /) -> Dim: ...
    def __mul__(self, other: Self | int, /) -> Dim: ...
    def __rmul__(self, other: int, /) -> Dim: ...
    def __floordiv__(self, other: Self | int, /) -> Dim: ...
    def __mod__(self, other: Self | int, /) -> Dim: ...
    def __neg__(self) -> Dim: ...


class Cond(Protocol):
    """A condition on sizes: a bool, or a symbolic one. A rule only passes it on."""

    def __hash__(self) -> int: ...


class Symbol:
    """A thing that is not known yet, distinguished by its identity; `name` is its name in messages."""

    __slots__ = ("name", "serial")

    def __init__(self, name: str, serial: int) -> None:
        self.name, self.serial = name, serial

    def __repr__(self) -> str:
        return f"{self.name}#{self.serial}"


class DTypeSymbol(Symbol):
    """A dtype that is not known yet; the checker holds the facts about it."""

    __slots__ = ()


AnyDType = DType | DTypeSymbol
