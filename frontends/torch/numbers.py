"""Python numbers beside tensors; torch itself decides whether it takes one that a dtype does not hold."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from ...lang.dtypes import DTYPES
from ...ops.model import TensorInfo
from ..onnx.literals import literal
from ..onnx.model import StoredInitializer
from .ruled import is_traced
from .sizes import Symbolic, hint_of
from .values import TORCH_DTYPES, Value

if TYPE_CHECKING:
    from .trace import Tracer

# Larger tensors are tried with one element.
_MOST = 2**22


def scalar(tracer: Tracer, value: Any, dtype: torch.dtype) -> Value:
    """A number as an operand beside tensors of a dtype; if torch takes it although the dtype does not hold it, an unknown
    number."""
    info = TensorInfo((), DTYPES[TORCH_DTYPES[dtype]])
    if isinstance(value, torch.SymInt):
        return Value(f"@size_to_tensor({tracer.sizes.text(value)}, {info.dtype})", info)
    if isinstance(value, Symbolic) or is_beyond(value, dtype) and takes(tracer.running):
        tracer.externs["number"] = 'extern @number = fn() : Tensor([], float64) = "python:number"'
        return Value(f"@cast(@number(), {info.dtype})", info)
    text = literal(StoredInitializer("", str(info.dtype), (), None, (_fitting(value, dtype),), None))
    return Value(str(text), info, is_weight=True)


def _fitting(value: Any, dtype: torch.dtype) -> Any:
    if dtype is torch.bool:
        return bool(value)
    return float(value) if dtype.is_floating_point else int(value)


def is_beyond(value: Any, dtype: torch.dtype) -> bool:
    """Whether a number is outside the range of a dtype."""
    if not isinstance(value, (int, float)) or dtype is torch.bool or dtype.is_complex:
        return False
    limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    is_finite = math.isfinite(value)
    return not limits.min <= value <= limits.max if is_finite else not dtype.is_floating_point


def takes(call: Any) -> bool:
    """Whether torch runs a call on tensors of ones, with the hints as sizes."""
    if not isinstance(call, partial):
        return False
    try:
        with torch._C.DisableTorchFunction():
            call.func(*map(_ones, call.args), **{k: _ones(v) for k, v in call.keywords.items()})
    except (RuntimeError, ValueError, OverflowError, TypeError):
        return False
    return True


def _ones(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_ones, value))
    if not is_traced(value):
        return hint_of(value) if isinstance(value, torch.SymInt) else value
    shape = [hint_of(size) for size in value.value.shape]
    return torch.ones(shape if math.prod(shape) < _MOST else [1] * len(shape), dtype=value.value.dtype)
