"""The kernels of PyTorch: those of the array API by what PyTorch calls them, and its own where they are the same function."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from ...lang.dtypes import DTYPES, DType
from ..dtypes import is_extended, numpy_dtype
from ..kernels.registry import BadValue
from .array_api import ArrayApi
from .table import Unsupported

Array = Any


class Namespace:
    """PyTorch as a namespace of the array API, for what it calls otherwise."""

    def __init__(self, device: str) -> None:
        self.device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, _NAMES.get(name, name))

    def asarray(self, value: Any, dtype: Any = None) -> Array:
        return torch.as_tensor(value, dtype=dtype, device=self.device)

    def astype(self, x: Array, dtype: Any) -> Array:
        return x.to(dtype)

    def matrix_transpose(self, x: Array) -> Array:
        return x.mT

    def expand_dims(self, x: Array, axis: int) -> Array:
        return x.unsqueeze(axis)

    def squeeze(self, x: Array, axis: Any) -> Array:
        return torch.squeeze(x, axis)

    def permute_dims(self, x: Array, axes: Any) -> Array:
        return x.permute(axes)

    def concat(self, xs: Any, axis: int) -> Array:
        return torch.cat(xs, axis)

    def broadcast_to(self, x: Array, shape: Any) -> Array:
        return torch.broadcast_to(x, tuple(shape))

    def flip(self, x: Array, axis: Any) -> Array:
        return torch.flip(x, tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis)

    def roll(self, x: Array, shift: Any, axis: Any = None) -> Array:
        if axis is not None and not isinstance(axis, int) and isinstance(shift, int):
            shift = (shift,) * len(axis)
        return torch.roll(x, shift, axis)

    def take(self, x: Array, indices: Array, axis: int) -> Array:
        return torch.index_select(x, axis, indices)

    def broadcast_arrays(self, *xs: Array) -> Any:
        return torch.broadcast_tensors(*xs)

    def conj(self, x: Array) -> Array:
        return torch.conj_physical(x)

    def nonzero(self, x: Array) -> Any:
        return torch.nonzero(x, as_tuple=True)

    def max(self, x: Array, axis: Any, keepdims: bool) -> Array:
        return torch.amax(x, _all(x, axis), keepdims)

    def min(self, x: Array, axis: Any, keepdims: bool) -> Array:
        return torch.amin(x, _all(x, axis), keepdims)

    def sum(self, x: Array, axis: Any, keepdims: bool, dtype: Any) -> Array:
        return x.to(dtype) if axis == () else torch.sum(x, _all(x, axis), keepdims, dtype=dtype)

    def prod(self, x: Array, axis: Any, keepdims: bool, dtype: Any) -> Array:
        for i in sorted((a % x.ndim for a in _all(x, axis)), reverse=True):
            x = torch.prod(x, i, keepdims, dtype=dtype)
        return x.to(dtype)

    def any(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return x if axis == () else torch.any(x, _all(x, axis), keepdims) if x.ndim else x

    def all(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return x if axis == () else torch.all(x, _all(x, axis), keepdims) if x.ndim else x

    def argmax(self, x: Array, axis: Any, keepdims: bool) -> Array:
        return _first(torch.argmax, x, axis, keepdims)

    def argmin(self, x: Array, axis: Any, keepdims: bool) -> Array:
        return _first(torch.argmin, x, axis, keepdims)

    def arange(self, start: int, stop: int, step: int, dtype: Any) -> Array:
        is_empty = not range(start, stop, step)
        return torch.arange(
            0 if is_empty else start, 0 if is_empty else stop, 1 if is_empty else step, dtype=dtype, device=self.device
        )

    def zeros(self, shape: Any, dtype: Any) -> Array:
        return torch.zeros(shape, dtype=dtype, device=self.device)

    def sort(self, x: Array, axis: int) -> Array:
        return torch.sort(x, stable=True, dim=axis).values

    def argsort(self, x: Array, axis: int, descending: bool) -> Array:
        return torch.argsort(x, stable=True, dim=axis, descending=descending)

    def sign(self, x: Array) -> Array:
        return torch.where(torch.isnan(x), x, torch.sign(x)) if x.is_floating_point() else torch.sgn(x)


_NAMES = {
    "acos": "acos", "bitwise_invert": "bitwise_not", "negative": "neg", "equal": "eq", "not_equal": "ne", "less": "lt",
    "less_equal": "le", "greater": "gt", "greater_equal": "ge", "divide": "true_divide",
}  # fmt: skip
# What PyTorch does otherwise than Rx, or for other dtypes.
_WITHOUT = ("eye", "repeat", "nextafter", "floor_divide", "remainder")


def _all(x: Array, axis: Any) -> Any:
    return tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)


def _first(function: Any, x: Array, axis: int | None, keepdims: bool) -> Array:
    if axis is None:
        made = function(x.reshape(-1), 0)
        return made.reshape((1,) * x.ndim) if keepdims else made
    return function(x, axis, keepdims)


class Torch(ArrayApi):
    """PyTorch on one device."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__("torch", Namespace(device))
        self.device = torch.device(device)
        self.dtypes |= {"float16": torch.float16, "bfloat16": torch.bfloat16}
        for name in _WITHOUT:
            del self.own[name]
        self.own |= _OWN

    def array(self, value: Any) -> Array:
        value = np.asarray(value)
        if value.dtype.name == "bfloat16":
            return torch.tensor(value.astype(np.float32), device=self.device).to(torch.bfloat16)
        return torch.tensor(np.array(value), dtype=self.dtypes[value.dtype.name], device=self.device)

    def numpy(self, x: Array) -> Any:
        found = x.detach().cpu()
        if found.dtype is torch.bfloat16:
            return found.to(torch.float32).numpy().astype(numpy_dtype(DTYPES["bfloat16"]))
        return found.numpy()

    def dtype(self, dtype: DType) -> Any:
        if is_extended(dtype) and dtype.name not in self.dtypes:
            raise LookupError(dtype.name)
        return self.dtypes[dtype.name]


# Kernels that PyTorch has itself


def _linear(x: Array, weight: Array, bias: Array | None) -> Array:
    return F.linear(x, weight, bias)


def _layer_norm(x: Array, scale: Array, bias: Array | None, axis: int, epsilon: float) -> Array:
    return F.layer_norm(x, x.shape[axis:], scale, bias, epsilon)


def _gelu(x: Array, approximate: str) -> Array:
    return F.gelu(x, approximate=approximate)


def _pool(function: Any, count: int) -> Any:
    def run(
        x: Array, kernel_shape: Any, strides: Any, pads: Any, auto_pad: str, dilations: Any, ceil_mode: bool, layout: str
    ) -> Array:  # fmt: skip
        given = [(0, 0)] * count if pads is None else list(pads) * (count if len(pads) == 1 else 1)
        if auto_pad != "notset" or layout != "channels_first" or ceil_mode or any(a or b for a, b in given):
            raise Unsupported("the engine does not take these arguments")
        if x.shape[1] == 0:
            raise BadValue("PyTorch pools no image without channels")
        return function(x, tuple(kernel_shape), strides, 0, dilations or 1)

    return run


def _conv(function: Any, count: int) -> Any:
    def run(
        x: Array, weight: Array, bias: Array | None, strides: Any, pads: Any, auto_pad: str, dilations: Any, groups: int,
        layout: str,
    ) -> Array:  # fmt: skip
        if auto_pad != "notset" or layout != "channels_first":
            raise Unsupported("the engine does not take these arguments")
        given = [(0, 0)] * count if pads is None else list(pads) * (count if len(pads) == 1 else 1)
        if x.shape[1] == 0:
            raise BadValue("PyTorch has no convolution without channels")
        padded = F.pad(x, [n for pair in reversed(given) for n in pair]) if any(map(any, given)) else x
        return function(padded, weight, bias, strides or 1, 0, dilations or 1, groups)

    return run


def _topk(x: Array, k: int, axis: int, largest: bool) -> Any:
    """In the order of a stable sort: of equals the foremost."""
    order = torch.argsort(x, stable=True, dim=axis, descending=largest).narrow(axis, 0, k)
    return torch.take_along_dim(x, order, axis), order


def _put(x: Array, indices: Array, updates: Array, axis: int) -> Array:
    size = x.shape[axis]
    places = indices.to(torch.int64)
    if places.numel() and bool(((places < -size) | (places >= size)).any()):
        raise BadValue(f"`indices` holds a position that axis {axis} of `x` of size {size} does not have")
    return x.index_copy(axis, torch.where(places < 0, places + size, places), updates)


def _take_along_axis(x: Array, indices: Array, axis: int) -> Array:
    size = x.shape[axis]
    places = indices.to(torch.int64)
    if places.numel() and bool(((places < -size) | (places >= size)).any()):
        raise BadValue(f"`indices` holds a position that axis {axis} of `x` of size {size} does not have")
    return torch.take_along_dim(x, torch.where(places < 0, places + size, places), axis)


def _cumulative_sum(
    x: Array, axis: int | None, dtype: Any, include_initial: bool, exclusive: bool, reverse: bool
) -> Array:  # fmt: skip
    if include_initial or exclusive:
        raise Unsupported("the engine does not take these arguments")
    axis = axis or 0
    source = torch.flip(x, (axis,)) if reverse else x
    made = torch.cumsum(source, axis, dtype=dtype or x.dtype)
    return torch.flip(made, (axis,)) if reverse else made


def _floor_divide(x: Array, y: Array) -> Array:
    """Of integers 0 where the divisor is."""
    a, b = _pair(x, y)
    if a.is_floating_point():
        return torch.floor(a / b)
    by_zero = b == 0
    return torch.where(by_zero, 0, torch.div(a, torch.where(by_zero, 1, b), rounding_mode="floor"))


def _remainder(x: Array, y: Array) -> Array:
    a, b = _pair(x, y)
    if a.is_floating_point():
        return torch.remainder(a, b)
    by_zero = b == 0
    return torch.where(by_zero, 0, torch.remainder(a, torch.where(by_zero, 1, b)))


def _pair(x: Array, y: Array) -> tuple[Array, Array]:
    like = x if isinstance(x, torch.Tensor) else y
    made = [
        v if isinstance(v, torch.Tensor) else torch.as_tensor(v, dtype=like.dtype, device=like.device) for v in (x, y)
    ]
    return made[0], made[1]


def _gather_nd(x: Array, indices: Array, batch_dims: int) -> Array:
    if batch_dims or not indices.shape[-1]:
        raise Unsupported("PyTorch's @gather_nd takes no batch axes")
    places = []
    for axis in range(indices.shape[-1]):
        size, own = x.shape[axis], indices[..., axis].to(torch.int64)
        if own.numel() and bool(((own < -size) | (own >= size)).any()):
            raise BadValue(f"`indices` holds a position that axis {axis} of `x` of size {size} does not have")
        places.append(own)
    return x[tuple(places)]


def _conv_transpose(function: Any, count: int) -> Any:
    def run(
        x: Array, weight: Array, bias: Array | None, strides: Any, pads: Any, auto_pad: str, output_padding: Any,
        output_shape: Any, dilations: Any, groups: int, layout: str,
    ) -> Array:  # fmt: skip
        given = [(0, 0)] * count if pads is None else list(pads) * (count if len(pads) == 1 else 1)
        plain = auto_pad == "notset" and layout == "channels_first" and output_shape is None
        if not plain or any(a != b for a, b in given) or x.shape[1] == 0:
            raise Unsupported("PyTorch's @conv_transpose takes no such arguments")
        more = output_padding or 0
        return function(x, weight, bias, strides or 1, tuple(a for a, _ in given), more, groups, dilations or 1)

    return run


_OWN: dict[str, Any] = {
    "floor_divide": _floor_divide, "remainder": _remainder, "gather_nd": _gather_nd,
    "conv_transpose1d": _conv_transpose(F.conv_transpose1d, 1), "conv_transpose2d": _conv_transpose(F.conv_transpose2d, 2),
    "linear": _linear, "layer_norm": _layer_norm, "gelu": _gelu, "relu": torch.relu, "sigmoid": torch.sigmoid,
    "silu": F.silu, "erf": torch.erf, "rsqrt": torch.rsqrt, "topk": _topk, "put": _put,
    "stop_gradient": torch.detach,
    "take_along_axis": _take_along_axis, "cumulative_sum": _cumulative_sum, "tril": torch.tril, "triu": torch.triu,
    "softmax": lambda x, axis: torch.softmax(x, axis), "log_softmax": lambda x, axis: torch.log_softmax(x, axis),
    "einsum": lambda equation, xs: torch.einsum(equation, *xs),
    **{f"conv{n}d": _conv(f, n) for n, f in ((1, F.conv1d), (2, F.conv2d), (3, F.conv3d))},
    **{f"max_pool{n}d": _pool(f, n) for n, f in ((1, F.max_pool1d), (2, F.max_pool2d), (3, F.max_pool3d))},
}  # fmt: skip
