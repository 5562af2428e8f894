"""NumPy kernels of parts of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .elementwise import Array
from .quiet import quiet
from .registry import kernel, rows


@kernel("imag")
def imag(x: Array) -> Array:
    x = np.asarray(x)
    return np.imag(x) if x.dtype.kind == "c" else np.zeros_like(x)


@kernel("complex")
def complex_(x: Any, y: Any) -> Array:
    dtype = np.result_type(x, y)
    result = np.empty(np.broadcast_shapes(np.shape(x), np.shape(y)), np.result_type(dtype, np.complex64))
    result.real, result.imag = x, y
    return result


@kernel("conj")
def conj(x: Array) -> Array:
    x = np.asarray(x)
    return np.conjugate(x) if x.dtype.kind == "c" else x


@kernel("nextafter")
@quiet
def nextafter(x: Array, y: Array) -> Array:
    dtype = next(v.dtype for v in (x, y, np.float64(0)) if hasattr(v, "dtype"))
    return np.asarray(np.nextafter(np.asarray(x, dtype), np.asarray(y, dtype)))


rows(
    {
        "real": lambda x: np.real(np.asarray(x)),
        "positive": lambda x: np.asarray(x),
        "signbit": lambda x: np.signbit(x),
    }
)
