"""From other libraries' arrays to NumPy's over the same memory, by DLPack, and back.

Nothing is copied if that can be avoided, nothing is detached from its gradient, and nothing leaves its device unless the
caller says so. A refusal says what to do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType

import numpy as np

from ..lang.dtypes import DTYPES
from .dtypes import PLAIN, is_extended, numpy_dtype
from .engine_types import ArrayNamespace, GivenValue, NumpyDType
from .kernels.registry import Array

# The devices of DLPack with host memory: the processor's own, and memory pinned by CUDA and ROCm.
_HOST = (1, 3, 11)
# A dtype that DLPack does not know is passed as integers of its width.
_BITS = {1: "uint8", 2: "int16"}


class ArrayRefused(Exception):
    """An array that is not taken; the message completes "...but it is "."""


def speaks_dlpack(value: object) -> bool:
    """Whether the value is another library's array."""
    return not isinstance(value, np.ndarray | np.generic) and hasattr(value, "__dlpack__")


def taken(value: GivenValue, *, copy: bool = False) -> Array:
    """Return the array as NumPy's; raises ArrayRefused. With `copy` it may come from another device."""
    _plain(value)
    if _device(value) not in _HOST:
        if not copy:
            raise ArrayRefused("on another device: load with copy=True, or bring it to the processor yourself")
        value = _brought(value)
    extended = _extended(value)
    try:
        return np.from_dlpack(value) if extended is None else _viewed(value, extended)
    except (BufferError, RuntimeError, TypeError, ValueError, AttributeError) as problem:
        raise ArrayRefused(f"an array that cannot be read: {first_line(problem)}") from None


def _plain(value: GivenValue) -> None:
    """Raise ArrayRefused if a tensor's memory does not hold its elements."""
    if getattr(value, "requires_grad", False) is True:
        raise ArrayRefused("a tensor that requires its gradient, which would be lost: pass its `.detach()`")
    for bit in ("conj", "neg"):
        if getattr(value, f"is_{bit}", bool)() is True:
            raise ArrayRefused(f"a view whose elements are not in memory yet: pass its `.resolve_{bit}()`")
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        _plain_tensor(value, torch)


def _plain_tensor(value: GivenValue, torch: ModuleType) -> None:
    """The same for tensors that PyTorch's transforms wrap: for a fake tensor DLPack would read arbitrary memory."""
    functorch = getattr(torch._C, "_functorch", None)
    is_wrapped = getattr(functorch, "is_functorch_wrapped_tensor", lambda _: False)
    if type(value).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__ or is_wrapped(value):
        raise ArrayRefused(
            f"a tensor that is traced or wrapped ({type(value).__name__}): its elements are not in its memory"
        )
    if torch.autograd.forward_ad.unpack_dual(value).tangent is not None:
        raise ArrayRefused("a tensor with a tangent, which would be lost: pass its primal")


def _device(value: GivenValue) -> int:
    try:
        return int(value.__dlpack_device__()[0])
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as problem:
        raise ArrayRefused(f"an array without memory that can be read: {first_line(problem)}") from None


def _brought(value: GivenValue) -> GivenValue:
    """Return a copy on the processor."""
    if hasattr(value, "cpu"):
        return value.cpu()
    try:
        return np.from_dlpack(value, device="cpu", copy=True)
    except (BufferError, RuntimeError, TypeError, ValueError) as problem:
        raise ArrayRefused(f"on a device from which it cannot be copied: {first_line(problem)}") from None


def _extended(value: GivenValue) -> NumpyDType | None:
    """The dtype, if it is one of ml_dtypes'."""
    found = DTYPES.get(str(getattr(value, "dtype", "")).rpartition(".")[2])
    return numpy_dtype(found) if found is not None and is_extended(found) else None


def _viewed(value: GivenValue, dtype: NumpyDType) -> Array:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return np.asarray(value)
    return np.from_dlpack(value.view(getattr(torch, _BITS[dtype.itemsize]))).view(dtype)


def first_line(problem: BaseException) -> str:
    """The first line of an exception's message, or its type."""
    return str(problem).strip().partition("\n")[0] or type(problem).__name__


# Back


def giver(like: GivenValue) -> Callable[[Array], GivenValue]:
    """Return a function that makes a NumPy array one of the library `like`, or of the library of the array `like`; raises
    TypeError."""
    library = like if isinstance(like, ModuleType) else _library(like)
    name = getattr(library, "__name__", "").partition(".")[0]
    if name == "numpy":
        return lambda array: array
    make = _MAKERS.get(name)
    if make is not None:
        return make
    if not hasattr(library, "from_dlpack"):
        raise TypeError(f"like is an array or a library of them, and {like!r} has no from_dlpack")
    return lambda array: library.from_dlpack(_exported(array))


def _library(like: GivenValue) -> ArrayNamespace:
    """The library of an array."""
    root = type(like).__module__.partition(".")[0]
    if root in ("torch", "numpy"):
        return sys.modules[root]
    if not hasattr(like, "__array_namespace__"):
        raise TypeError(f"like is an array or a library of them, not {type(like).__name__}")
    return like.__array_namespace__()


def _exported(array: Array) -> Array:
    """The array in memory that others may write into, without negative strides."""
    steps_back = any(stride < 0 for stride in array.strides)
    return array.copy() if steps_back or not array.flags.writeable else array


def _to_torch(array: Array) -> GivenValue:
    torch = sys.modules["torch"]
    if array.dtype in PLAIN:
        return torch.from_dlpack(_exported(array))
    dtype = getattr(torch, array.dtype.name, None)
    if dtype is None or array.dtype.itemsize not in _BITS:
        raise TypeError(f"torch has no tensors of {array.dtype}")
    return torch.from_dlpack(_exported(array).view(_BITS[array.dtype.itemsize])).view(dtype)


def _to_jax(array: Array) -> GivenValue:
    made = import_module("jax.numpy").asarray(array)
    if made.dtype != array.dtype:
        raise TypeError(f'jax makes {made.dtype} of {array.dtype}: set jax.config.update("jax_enable_x64", True)')
    return made


_MAKERS: Mapping[str, Callable[[Array], GivenValue]] = {"torch": _to_torch, "jax": _to_jax}
