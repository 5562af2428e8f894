"""Results of a run as arrays that the caller may keep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .engine_types import RunValue
from .opaque import is_opaque, parts_of, to_python


def outward(value: object) -> RunValue:
    """A result as the caller sees it: arrays instead of NumPy's scalars."""
    if type(value) is np.ndarray:
        return value if value.dtype.names is None else to_python(value)
    if isinstance(value, np.generic):
        return np.asarray(value)
    return tuple(outward(v) for v in value) if isinstance(value, tuple) else value


def own(result: object, args: Iterable[object]) -> RunValue:
    """A result that the caller may write into without changing an argument."""
    if isinstance(result, tuple | list):
        return type(result)(own(part, args) for part in result)
    if isinstance(result, dict):
        return {key: own(part, args) for key, part in result.items()}
    if isinstance(result, np.ndarray) and any(_shares(result, arg) for arg in args):
        return result.copy()
    return result


def is_apart(result: np.ndarray[Any, Any], args: Iterable[object]) -> bool:
    """Whether a result surely shares no memory with arrays and ints: it compares the owners of memory, which is faster than
    comparing addresses."""
    owner = result.base
    if owner is not None and not _owns(owner):
        return False
    for arg in args:
        if arg is result or arg is owner:
            return False
        if owner is None or type(arg) is int:  # a result that is neither an argument nor a view owns its memory
            continue
        if type(arg) is not np.ndarray or (arg.base is not None and (arg.base is owner or not _owns(arg.base))):
            return False
    return True


def _owns(array: object) -> bool:
    return type(array) is np.ndarray and array.base is None


def _shares(result: object, arg: object) -> bool:
    if isinstance(arg, tuple | list):
        return any(_shares(result, part) for part in arg)
    if isinstance(arg, np.ndarray) and is_opaque(arg):
        return any(_shares(result, part) for part in parts_of(arg))
    return isinstance(arg, np.ndarray) and np.may_share_memory(result, arg)
