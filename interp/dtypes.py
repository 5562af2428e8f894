"""From our dtypes to NumPy's and back; ml_dtypes has those that NumPy lacks and is imported on demand. A dtype of values that
hold others is a record of one Python object, with the dtype's name."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..lang.dtypes import DTYPES, DType, dtype_named
from .engine_types import NumpyDType


@cache
def numpy_dtype(dtype: DType) -> NumpyDType:
    """The NumPy dtype of arrays with these elements."""
    if dtype.kind == "string":
        return np.dtypes.StringDType()
    if dtype.of:
        return np.dtype([(dtype.name, "O")])
    if is_extended(dtype):
        import ml_dtypes  # few tensors have such dtypes

        extended: NumpyDType = np.dtype(getattr(ml_dtypes, dtype.name))
        return extended
    return np.dtype(dtype.name)


def dtype_of(dtype: NumpyDType) -> DType:
    """The dtype of an array's elements; LookupError if Rx has none for them (dates, objects, float128)."""
    if dtype.kind in "UT":
        return DTYPES["string"]
    found = dtype_named(dtype.names[0]) if dtype.names else DTYPES.get(dtype.name)
    if found is None:
        raise LookupError(f"no Rx dtype for NumPy's {dtype}")
    return found


def is_extended(dtype: DType) -> bool:
    """Whether it is one of ml_dtypes': number literals are not weak beside it, and some NumPy functions widen it."""
    return dtype.name == "bfloat16" or (
        dtype.kind in ("int", "uint", "float") and (dtype.bits < 8 or "_" in dtype.name)
    )


# The dtypes for which NumPy's own functions agree with the kernels; `in` compares byte order as well.
PLAIN = frozenset(numpy_dtype(d) for d in DTYPES.values() if not is_extended(d) and d.kind != "string")
