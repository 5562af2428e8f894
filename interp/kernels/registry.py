"""The table of kernels: `@kernel` adds one, `lookup` finds one.

A kernel takes a primitive's parameters in the row's order, all of them: arrays (a literal number comes as a Python scalar),
resolved ints for sizes, tuples of ints for shapes, NumPy dtypes for dtypes, None for an absent optional one. It returns an
array, a tuple of arrays, or an int if the row's result is a size.

The requirements of the row hold: they were proved, or `guards.guard` has checked them. A kernel checks conditions on the
elements itself, and raises BadValue.
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
    """An element of a tensor that a kernel cannot take; the message is a sentence for the user."""


# An offset that NumPy takes, beyond any axis that fits into memory.
_FAR = 2**31 - 1


def clamped(offset: int) -> int:
    """An offset within NumPy's integers: beyond every axis the distance makes no difference."""
    return min(max(offset, -_FAR), _FAR)


_KERNELS: dict[str, Callable[..., Any]] = {}
# Primitives that are one NumPy function of their tensors without optional parameters: generated code calls it directly.
DIRECT: dict[str, str] = {}
# Primitives that are one method of an array.
METHODS = {
    "reshape": "{}.reshape({})",
    "permute_dims": "{}.transpose({})",
    "matrix_transpose": "{}.swapaxes(-1, -2)",
    "swapaxes": "{}.swapaxes({}, {})",
}
# Primitives in `DIRECT` whose kernel chooses a method by its last operand, which pays for many elements.
WEIGHED = {"matmul"}


def is_ufunc(name: str) -> bool:
    """Whether a primitive is a NumPy function that takes an output array as one more argument."""
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
    """The kernel of a primitive. Raises LookupError for a primitive, declared outside of the package, that has none."""
    _load(families(name))
    if name not in _KERNELS:
        raise LookupError(f'the primitive @{name} has no kernel: declare one under @kernel("{name}")')
    return _KERNELS[name]


@cache
def _load(families: tuple[str, ...]) -> None:
    for family in families:
        import_module(f".{family}", __package__)
