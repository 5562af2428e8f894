"""The table of kernels: `@kernel` adds one, `lookup` finds one.

A kernel takes a primitive's parameters in the row's order, all of them: arrays (a literal number comes as a Python scalar),
resolved ints for sizes, tuples of ints for shapes, NumPy dtypes for dtypes, None for an absent optional one. It returns an
array, a tuple of arrays, or an int where the row's result is a size.

What the row requires holds: it was proved, or `guards.guard` has checked it. What depends on the elements a kernel checks
itself, and raises BadValue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ...ops.registry import families

Array = np.ndarray[Any, Any]


class BadValue(ValueError):
    """A value among a tensor's elements that a kernel cannot take; the message is a sentence for the user."""


# What NumPy takes for an offset, and more than any axis has that is in memory.
_FAR = 2**31 - 1


def clamped(offset: int) -> int:
    """An offset that NumPy's integers hold: beyond every axis it makes no difference how far."""
    return min(max(offset, -_FAR), _FAR)


_KERNELS: dict[str, Callable[..., Any]] = {}
# Primitives that are one NumPy function of their tensors when no optional parameter is given: generated code calls it directly.
DIRECT: dict[str, str] = {}
# Those that are one method of an array.
METHODS = {
    "reshape": "{}.reshape({})",
    "permute_dims": "{}.transpose({})",
    "matrix_transpose": "{}.swapaxes(-1, -2)",
    "swapaxes": "{}.swapaxes({}, {})",
}
# Those of the first whose kernel chooses a way by its last operand, which pays where there are many elements.
WEIGHED = {"matmul"}


def is_ufunc(name: str) -> bool:
    """Whether a primitive is one of NumPy's functions that take where to write as one more argument."""
    return isinstance(getattr(np, DIRECT.get(name, ""), None), np.ufunc)


def kernel(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the decorated function as the kernel of a primitive."""

    def add(function: Callable[..., object]) -> Callable[..., Any]:
        if name in _KERNELS:
            raise ValueError(f"two kernels for {name}")
        _KERNELS[name] = function
        return function

    return add


def rows(table: Mapping[str, Callable[..., Any]]) -> None:
    """Declare the kernels of primitives that one expression computes."""
    for name, function in table.items():
        kernel(name)(function)


def lookup(name: str) -> Callable[..., Any]:
    """The kernel of a primitive; every primitive has one (a test compares the tables)."""
    _load(families(name))
    return _KERNELS[name]


@cache
def _load(families: tuple[str, ...]) -> None:
    for family in families:
        import_module(f".{family}", __package__)
