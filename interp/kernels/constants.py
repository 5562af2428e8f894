"""Values that kernels compute from a program's constants once, at first use, such as memory layouts for products."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from .registry import Array

# By the identity of the array that owns a constant's memory, during its lifetime: a reference to it, and the results made of
# the constant, or of views of it, by function.
_CONSTANTS: dict[int, tuple[weakref.ref[Array], dict[Any, Array]]] = {}
_MAKING = Lock()


def declare(value: object) -> None:
    """Declare that the elements of an array, or of the arrays in a tuple, never change from now on."""
    if isinstance(value, tuple):
        for item in value:
            declare(item)
    elif isinstance(value, np.ndarray) and not is_constant(value):
        value.flags.writeable = False
        owner = _owner(value)
        key = id(owner)
        _CONSTANTS[key] = (weakref.ref(owner, lambda _: _CONSTANTS.pop(key, None)), {})


def is_constant(array: Array) -> bool:
    """Whether the array is a constant, or a view of one."""
    return id(_owner(array)) in _CONSTANTS


def _owner(array: Array) -> Array:
    return array.base if type(array.base) is np.ndarray else array


def once(make: Callable[..., Array], array: Array, *how: Any) -> Array:
    """Return make(array, *how). For a constant or a view of one the result is kept, unless it is a view. All kept results
    take no more memory than the constant."""
    owner = _owner(array)
    found = _CONSTANTS.get(id(owner))
    if found is None:
        return make(array, *how)
    made = found[1]
    key = (make, how, array.__array_interface__["data"], array.shape, array.strides, array.dtype)
    result = made.get(key)
    if result is None:
        with _MAKING:
            result = made.get(key)
            if result is None:
                result = make(array, *how)
                if np.may_share_memory(result, array):
                    return result
                if sum(kept.nbytes for kept in made.values()) + result.nbytes > owner.nbytes:
                    made.clear()
                made[key] = result
    return result
