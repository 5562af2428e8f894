"""What kernels make of a program's constants once, at its first use: the layouts that products want them in."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Array = np.ndarray[Any, Any]
T = TypeVar("T")
# By the identity of a constant, as long as it lives: itself, and what was made of it by which function.
_CONSTANTS: dict[int, tuple[weakref.ref[Array], dict[Callable[[Array], Any], Any]]] = {}


def declare(value: object) -> None:
    """An array, or the arrays of a tuple, whose elements never change from now on."""
    if isinstance(value, tuple):
        for item in value:
            declare(item)
    elif isinstance(value, np.ndarray) and id(value) not in _CONSTANTS:
        value.flags.writeable = False
        key = id(value)
        _CONSTANTS[key] = (weakref.ref(value, lambda _: _CONSTANTS.pop(key, None)), {})


def is_constant(array: Array) -> bool:
    return id(array) in _CONSTANTS


def once(make: Callable[[Array], T], array: Array) -> T:
    """make(array), which is kept where the array is a constant."""
    found = _CONSTANTS.get(id(array))
    if found is None:
        return make(array)
    made: dict[Callable[[Array], Any], Any] = found[1]
    if make not in made:
        made[make] = make(array)
    result: T = made[make]
    return result
