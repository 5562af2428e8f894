"""Sequences, optional values and maps as one NumPy array of rank 0, and as Python has them: a list, a value or None, a dict.

Inside, a sequence is a tuple of arrays, an optional value a tuple of at most one, a map a dict from Python's integers and
strings.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from ..lang.dtypes import DType
from .dtypes import dtype_of, numpy_dtype
from .engine_types import Compiled, NumpyDType, RunValue
from .files import ValueProblem, checked
from .guards import foreign
from .kernels.registry import Array
from .values import Literal, to_array


def wrapped(dtype: NumpyDType, value: object) -> Array:
    """A value that holds others, as an array of its dtype."""
    made = np.empty((), dtype)
    made[()] = (value,)
    return made


def value_of(array: Array) -> RunValue:
    """The value in the array."""
    return array.item()[0]


def is_opaque(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.names is not None


def parts_of(array: Array) -> tuple[Array, ...]:
    """The arrays in the value."""
    value = value_of(array)
    return tuple(value.values() if isinstance(value, dict) else value)


# To Python and back


def to_python(array: Array) -> RunValue:
    """A sequence as a list, a map as a dict, an optional value as itself or None."""
    value = value_of(array)
    if isinstance(value, dict):
        return {key: _outside(item) for key, item in value.items()}
    found = [_outside(item) for item in value]
    if dtype_of(array.dtype).kind == "sequence":
        return found
    return found[0] if found else None


def _outside(value: RunValue) -> RunValue:
    return to_python(value) if is_opaque(value) else value


def from_python(dtype: DType, value: object) -> Array:
    """The inverse of `to_python`; raises ValueProblem for a value of another type."""
    if not dtype.of:
        return _tensor(dtype, value)
    return wrapped(numpy_dtype(dtype), _READERS[dtype.kind](dtype, value))


def _tensor(dtype: DType, value: object) -> Array:
    if isinstance(value, list | tuple | dict) or value is None or not hasattr(value, "__array__"):
        raise ValueProblem(f"a NumPy array of {dtype} is needed, and it is {foreign(value)}")
    made: Array = checked(value)
    if dtype_of(made.dtype) != dtype:
        raise ValueProblem(f"a NumPy array of {dtype} is needed, and it is one of {dtype_of(made.dtype)}")
    return made


def _sequence(dtype: DType, value: object) -> tuple[Array, ...]:
    if not isinstance(value, list | tuple):
        raise ValueProblem(f"a list is needed for {dtype}, and it is {foreign(value)}")
    return tuple(from_python(dtype.of[0], item) for item in value)


def _optional(dtype: DType, value: object) -> tuple[Array, ...]:
    return () if value is None else (from_python(dtype.of[0], value),)


def _map(dtype: DType, value: object) -> dict[Hashable, Array]:
    if not isinstance(value, Mapping):
        raise ValueProblem(f"a dict is needed for {dtype}, and it is {foreign(value)}")
    wanted = str if dtype.of[0].kind == "string" else int
    if not all(isinstance(key, wanted) for key in value):
        raise ValueProblem(f"the keys for {dtype} are of type {wanted.__name__}")
    return {key: _entry(dtype.of[1], item) for key, item in value.items()}


def _entry(dtype: DType, value: object) -> Array:
    """A map's entry may be one of Python's own numbers."""
    if isinstance(value, bool | int | float | str) and not dtype.of:
        return to_array(Literal([value], (), dtype))
    return from_python(dtype, value)


_READERS: dict[str, Compiled] = {"sequence": _sequence, "optional": _optional, "map": _map}
