"""Our dtypes to NumPy's and back; ml_dtypes has those that NumPy lacks and is imported when one is met. What holds others is a
record of one Python object, called after the dtype.
"""

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
        import ml_dtypes  # few tensors are of such dtypes

        extended: NumpyDType = np.dtype(getattr(ml_dtypes, dtype.name))
        return extended
    return np.dtype(dtype.name)


def dtype_of(dtype: NumpyDType) -> DType:
    """The dtype that an array's elements have; LookupError if they are of none that Rx has (dates, objects, float128)."""
    if dtype.kind in "UT":
        return DTYPES["string"]
    found = dtype_named(dtype.names[0]) if dtype.names else DTYPES.get(dtype.name)
    if found is None:
        raise LookupError(f"no Rx dtype for NumPy's {dtype}")
    return found


def is_extended(dtype: DType) -> bool:
    """Whether it is one of ml_dtypes': number literals are not weak beside it, and some of NumPy's functions widen it."""
    return dtype.name == "bfloat16" or (
        dtype.kind in ("int", "uint", "float") and (dtype.bits < 8 or "_" in dtype.name)
    )


# The dtypes that NumPy's own functions treat as the kernels do; `in` compares byte order as well.
PLAIN = frozenset(numpy_dtype(d) for d in DTYPES.values() if not is_extended(d) and d.kind != "string")
