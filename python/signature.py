"""Facts about a function with an entry check: its signature as text, result shapes computed from shapes alone, and the
remaining checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .compose import Chain
from .entry_check import EntryCheck
from .forms import Forms
from .module import Function
from .residual import Check
from .shapes import Dims, by_name, given_shapes, shapes_of
from .size import Size


class Signature:
    """The signature of a function that `rx.checked` or `rx.compose` made; `str` is its text in Rx, on one line."""

    def __init__(self, entry_check: EntryCheck | Chain) -> None:
        self._entry_check = entry_check

    def __str__(self) -> str:
        return self._entry_check.signature

    def __repr__(self) -> str:
        return f"<rx signature {self}>"

    @property
    def residual(self) -> tuple[Check, ...]:
        """The checks that `rx.compose` could not decide for all sizes: they are made where one function's result enters
        the next."""
        return self._entry_check.residual

    def shapes(self, *positional: Dims | int | str | Size, **arguments: Dims | int | str | Size) -> Any:
        """The result's shape for given shapes of the arguments, as `module.f.shapes` gives it; an argument that may be
        None may be left out."""
        if positional:
            arguments = by_name(self._entry_check.variant(frozenset())[1], arguments, positional)
        absent = frozenset(n for n in self._entry_check.optional if arguments.get(n) is None)
        given = {n: a for n, a in arguments.items() if n not in absent}
        checked, function = self._entry_check.variant(absent)
        return shapes_of(checked, function, given_shapes(function, given))


def signature(function: Callable[..., Any]) -> Signature | Function:
    """The signature of a function that `rx.checked` or `rx.compose` made. (A function of a module has its own
    `signature`.)

    `str` of it is its text; `shapes` gives the shape of the result for shapes of the arguments, whose sizes are numbers,
    names or texts like `"n * 4"`; `residual` are the remaining checks. Raises TypeError for a function without a
    signature.

    >>> import rxlang as rx
    >>> @rx.checked("fn(x : Tensor([n, m * 4], float32)) : Tensor([n, m], float32)")
    ... def fourth(x):
    ...     return x[:, ::4]
    >>> [str(size) for size in rx.signature(fourth).shapes(x=("k", 12))]
    ['k', '3']
    """
    if isinstance(function, Function):
        return function
    entry_check = getattr(function, "__rx_entry_check__", None)
    if isinstance(entry_check, Forms):
        raise TypeError(entry_check.unsigned)
    if entry_check is None:
        name = getattr(function, "__name__", None) or repr(function)
        raise TypeError(f"{name} has no signature: decorate it with rx.checked")
    return Signature(entry_check)
