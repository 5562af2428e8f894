"""The kernels of PyTorch: those of the array API under PyTorch's names, and its own where they are the same function."""

from __future__ import annotations

from functools import partial
from math import prod

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils import _pytree as trees

from ...lang.dtypes import DTYPES, DType
from ..dtypes import dtype_of, is_extended, numpy_dtype
from ..engine_types import Axes, EngineArray as Array, EngineDType, EngineResult, EngineSizes, Kernel, RunValue
from ..kernels import registry as kernels
from ..kernels.registry import BadValue
from . import torch_windows
from .array_api import ArrayApi
from .table import Ops, Refused, composition, compositions


class Namespace:
    """PyTorch as a namespace of the array API, with other names and arguments translated."""

    def __init__(self, device: str) -> None:
        self.device = device

    def __getattr__(self, name: str) -> Kernel:
        found = self.__dict__[name] = _OTHERWISE.get(name) or getattr(torch, _NAMES.get(name, name))
        return found

    def asarray(self, value: Array, dtype: EngineDType = None) -> Array:
        return torch.as_tensor(value, dtype=dtype, device=self.device)

    def flip(self, x: Array, axis: Axes) -> Array:
        return torch.flip(x, tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis)

    def roll(self, x: Array, shift: EngineSizes, axis: Axes = None) -> Array:
        if axis is not None and not isinstance(axis, int) and isinstance(shift, int):
            shift = (shift,) * len(axis)
        return torch.roll(x, shift, axis)

    def prod(self, x: Array, axis: Axes, keepdims: bool, dtype: EngineDType) -> Array:
        for i in sorted((a % x.ndim for a in _all(x, axis)), reverse=True):
            x = torch.prod(x, i, keepdims, dtype=dtype)
        return x.to(dtype)

    def arange(self, start: int, stop: int, step: int, dtype: EngineDType) -> Array:
        is_empty = not range(start, stop, step)
        return torch.arange(
            0 if is_empty else start, 0 if is_empty else stop, 1 if is_empty else step, dtype=dtype, device=self.device
        )

    def zeros(self, shape: EngineSizes, dtype: EngineDType) -> Array:
        return torch.zeros(shape, dtype=dtype, device=self.device)


def _true_along(function: Kernel) -> Kernel:
    return lambda x, axis=None, keepdims=False: x if axis == () or not x.ndim else function(x, _all(x, axis), keepdims)


# Functions that PyTorch has in another form, or with other arguments.
_OTHERWISE: dict[str, Kernel] = {
    "astype": lambda x, dtype: x.to(dtype),
    "matrix_transpose": lambda x: x.mT,
    "expand_dims": lambda x, axis: x.unsqueeze(axis),
    "squeeze": lambda x, axis: torch.squeeze(x, axis),
    "permute_dims": lambda x, axes: x.permute(axes),
    "concat": lambda xs, axis: torch.cat(xs, axis),
    "broadcast_to": lambda x, shape: torch.broadcast_to(x, tuple(shape)),
    "take": lambda x, indices, axis: torch.index_select(x, axis, indices),
    "broadcast_arrays": torch.broadcast_tensors,
    "conj": torch.conj_physical,
    "nonzero": lambda x: torch.nonzero(x, as_tuple=True),
    "max": lambda x, axis, keepdims: torch.amax(x, _all(x, axis), keepdims),
    "min": lambda x, axis, keepdims: torch.amin(x, _all(x, axis), keepdims),
    "sum": lambda x, axis, keepdims, dtype: (
        x.to(dtype) if axis == () else torch.sum(x, _all(x, axis), keepdims, dtype=dtype)
    ),
    **{name: _true_along(function) for name, function in (("any", torch.any), ("all", torch.all))},
    "argmax": lambda x, axis, keepdims: _first(torch.argmax, x, axis, keepdims),
    "argmin": lambda x, axis, keepdims: _first(torch.argmin, x, axis, keepdims),
    "sort": lambda x, axis: torch.sort(x, stable=True, dim=axis).values,
    "argsort": lambda x, axis, descending: torch.argsort(x, stable=True, dim=axis, descending=descending),
    "pow": lambda x, y: (
        torch.where(y == 0, 1, torch.pow(x, y)) if x.is_complex() or y.is_complex() else torch.pow(x, y)
    ),
    "sign": lambda x: torch.where(torch.isnan(x), x, torch.sign(x)) if x.is_floating_point() else torch.sgn(x),
}
_NAMES = {
    "acos": "acos", "bitwise_invert": "bitwise_not", "negative": "neg", "equal": "eq", "not_equal": "ne", "less": "lt",
    "less_equal": "le", "greater": "gt", "greater_equal": "ge", "divide": "true_divide",
}  # fmt: skip
# Functions that PyTorch computes otherwise than Rx, or for other dtypes.
_WITHOUT = ("eye", "repeat", "floor_divide", "remainder")

# Primitives over uint64, with which PyTorch does not compute.
_WORDS = [f"random_{n}" for n in ("key", "split", "uniform", "normal", "categorical", "permutation")]


def _all(x: Array, axis: Axes) -> EngineResult:
    return tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)


def _first(function: Kernel, x: Array, axis: int | None, keepdims: bool) -> Array:
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
        # Whether torch.compile traces the computation: then no elements may be read.
        self.is_followed = False
        for name in _WITHOUT:
            del self.own[name]
        self.own |= _OWN
        self.own["attention"] = partial(_attention, self.ops)
        full = self.own["full"]  # a view of one element
        self.own["full"] = lambda *args: full(*args).clone(memory_format=torch.contiguous_format)
        for name, function in _BY_POSITION.items():
            self.own[name] = partial(function, self)

    def has(self, name: str) -> bool:
        return self.device.type == "cpu" or self.computes(name)

    def computes(self, name: str) -> bool:
        return name not in _WORDS and super().computes(name)

    def ways(self, name: str) -> list[EngineResult]:
        return [*(super().ways(name) if self.computes(name) else ()), partial(self.by_numpy, name)]

    def into(self, name: str) -> Kernel:
        """A kernel that may write into an operand that is not read any more, unless gradients are recorded."""
        kernel, own = self.kernel(name), _IN_PLACE.get(name)

        def run(*args: RunValue, out: Array | None = None) -> EngineResult:
            if own is None or out is None or self.is_followed or torch.is_grad_enabled():
                return kernel(*args)
            return own(*_pair(*args), out=out)

        return run

    def by_numpy(self, name: str, *args: RunValue) -> EngineResult:
        """Run NumPy's kernel over the same memory, if PyTorch has none."""
        if self.device.type != "cpu" or self.is_followed:
            raise Refused(f"@{name} on {self.device} or in torch.compile")
        found = [v for v in trees.tree_leaves(args) if isinstance(v, torch.Tensor)]
        made = self._inward(kernels.lookup(name)(*map(self._outward, args)))
        floats = any(isinstance(v, torch.Tensor) and v.is_floating_point() for v in trees.tree_leaves(made))
        if floats and torch.is_grad_enabled() and any(v.requires_grad for v in found):
            raise BadValue("PyTorch has no gradient for it: NumPy computes it")
        return made

    def _outward(self, value: Array) -> EngineResult:
        if isinstance(value, tuple | list):
            return type(value)(map(self._outward, value))
        if isinstance(value, torch.dtype):
            return numpy_dtype(self.rx_dtype(value))
        return self.numpy(value) if isinstance(value, torch.Tensor) else value

    def _inward(self, value: Array) -> EngineResult:
        if isinstance(value, np.ndarray | np.generic):
            return self.array(value)
        return tuple(map(self._inward, value)) if isinstance(value, tuple) else value

    def rx_dtype(self, dtype: EngineDType) -> DType:
        return next(DTYPES[n] for n, own in self.dtypes.items() if own == dtype)

    def move(self, device: torch.device) -> None:
        self.device = self.xp.device = device

    def looks(self, x: Array) -> bool:
        """Whether an operation checks elements first: devices other than the CPU stop by themselves if a position is out of
        range, and a check would wait for them."""
        return bool(x.numel()) and x.device.type == "cpu" and not self.is_followed

    def array(self, value: Array) -> Array:
        value = np.asarray(value)
        if value.dtype.name == "bfloat16":
            return torch.tensor(value.astype(np.float32), device=self.device).to(torch.bfloat16)
        if value.dtype.name not in self.dtypes:
            raise Refused(f"tensors of {dtype_of(value.dtype)}")
        return torch.tensor(np.array(value), dtype=self.dtypes[value.dtype.name], device=self.device)

    def numpy(self, x: Array) -> Array:
        found = x.detach().cpu().resolve_conj().resolve_neg()
        if found.dtype is torch.bfloat16:
            return found.to(torch.float32).numpy().astype(numpy_dtype(DTYPES["bfloat16"]))
        return found.numpy()

    def dtype(self, dtype: DType) -> EngineDType:
        if is_extended(dtype) and dtype.name not in self.dtypes:
            raise LookupError(dtype.name)
        return self.dtypes[dtype.name]


# Kernels that PyTorch has itself


def _linear(x: Array, weight: Array, bias: Array | None) -> Array:
    return F.linear(x, weight, bias)


def _layer_norm(x: Array, scale: Array, bias: Array | None, axis: int, epsilon: float) -> Array:
    return torch.layer_norm(x, x.shape[axis:], scale, bias, epsilon)


def _gelu(x: Array, approximate: str) -> Array:
    return F.gelu(x, approximate=approximate)


def _topk(x: Array, k: int, axis: int, largest: bool) -> EngineResult:
    """In the order of a stable sort: equal elements keep their order."""
    order = torch.argsort(x, stable=True, dim=axis, descending=largest).narrow(axis, 0, k)
    return torch.take_along_dim(x, order, axis), order


def _put(engine: Torch, x: Array, indices: Array, updates: Array, axis: int) -> Array:
    return x.index_copy(axis, _places(engine, x, indices, axis), updates)


def _take_along_axis(engine: Torch, x: Array, indices: Array, axis: int) -> Array:
    return torch.take_along_dim(x, _places(engine, x, indices, axis), axis)


def _accumulated(function: Kernel) -> Kernel:
    def run(
        x: Array, axis: int | None, dtype: EngineDType, include_initial: bool, exclusive: bool, reverse: bool
    ) -> Array:
        if include_initial or exclusive:
            raise Refused("these arguments")
        return _turned(lambda a: function(a, axis or 0, dtype=dtype or x.dtype), x, axis or 0, reverse)

    return run


def _quotient(real: Kernel, whole: Kernel) -> Kernel:
    """A quotient or remainder of floats, and of integers: 0 where the divisor is 0."""

    def run(x: Array, y: Array) -> Array:
        a, b = _pair(x, y)
        if a.is_floating_point():
            return real(a, b)
        by_zero = b == 0
        return torch.where(by_zero, 0, whole(a, torch.where(by_zero, 1, b)))

    return run


def _pair(x: Array, y: Array) -> tuple[Array, Array]:
    like = x if isinstance(x, torch.Tensor) else y
    made = [
        v if isinstance(v, torch.Tensor) else torch.as_tensor(v, dtype=like.dtype, device=like.device) for v in (x, y)
    ]
    return made[0], made[1]


def _gather_nd(engine: Torch, x: Array, indices: Array, batch_dims: int) -> Array:
    return x[_places_of(engine, x, indices, batch_dims)]


def _turned(function: Kernel, x: Array, axis: int, reverse: bool) -> Array:
    """Apply a function along an axis, from its end on with `reverse`."""
    return torch.flip(function(torch.flip(x, (axis,))), (axis,)) if reverse else function(x)


def _cumulative(function: Kernel) -> Kernel:
    return lambda x, axis, reverse: _turned(lambda a: function(a, axis)[0], x, axis, reverse)


def _gather_elements(engine: Torch, x: Array, indices: Array, axis: int) -> Array:
    return torch.gather(x, axis, _places(engine, x, indices, axis))


# PyTorch's names for the reductions of an element and an update.
_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def _scatter_elements(engine: Torch, x: Array, indices: Array, updates: Array, axis: int, reduction: str) -> Array:
    places = _places(engine, x, indices, axis)
    if reduction == "none":
        return torch.scatter(x, axis, places, updates)
    return torch.scatter_reduce(x, axis, places, updates, _REDUCTIONS[reduction])


def _places(engine: Torch, x: Array, indices: Array, axis: int) -> Array:
    """Positions from the front; raises BadValue for one out of range."""
    size, places = x.shape[axis], indices.to(torch.int64)
    if engine.looks(places) and bool(((places < -size) | (places >= size)).any()):
        raise BadValue(f"`indices` holds a position that axis {axis} of `x` of size {size} does not have")
    return torch.where(places < 0, places + size, places)


def _scatter_nd(engine: Torch, x: Array, indices: Array, updates: Array, reduction: str) -> Array:
    """Scatter over the rows of x, whose first axes are merged; each update is a row."""
    where, count = _places_of(engine, x, indices, 0), indices.shape[-1]
    if reduction == "none" and count:
        return x.index_put(where, updates)
    rows = prod(x.shape[:count])
    flat = torch.zeros(indices.shape[:-1], dtype=torch.int64, device=x.device)
    for size, at in zip(x.shape, where, strict=False):
        flat = flat * size + at
    width = prod(x.shape[count:])
    places = flat.reshape(flat.numel(), 1).expand(-1, width)
    source, given = x.reshape(rows, width), updates.reshape(flat.numel(), width)
    if reduction == "none":
        made = torch.scatter(source, 0, places, given)
    else:
        made = torch.scatter_reduce(source, 0, places, given, _REDUCTIONS[reduction])
    return made.reshape(x.shape)


def _places_of(engine: Torch, x: Array, indices: Array, batch_dims: int) -> tuple[Array, ...]:
    """The positions in `indices` along each axis of `x` that they index; batch axes index themselves."""
    lead = indices.ndim - 1
    own = [
        torch.arange(n, device=x.device).reshape(-1, *(1,) * (lead - 1 - i)) for i, n in enumerate(x.shape[:batch_dims])
    ]
    parts = range(indices.shape[-1])
    return *own, *(_places(engine, x, indices[..., i], batch_dims + i) for i in parts)


def _spectrum(function: Kernel) -> Kernel:
    return lambda x, n, axis, norm: function(x, n, axis, norm)


def _spectra(function: Kernel) -> Kernel:
    return lambda x, s, axes, norm: function(x, s, axes, norm)


def _several(function: Kernel) -> Kernel:
    return lambda *args: tuple(function(*args))


_LINEAR: dict[str, Kernel] = {
    "det": torch.linalg.det, "slogdet": _several(torch.linalg.slogdet), "inv": torch.linalg.inv,
    "solve": torch.linalg.solve, "cholesky": lambda x, upper: torch.linalg.cholesky(x, upper=upper),
    "matrix_power": torch.linalg.matrix_power, "svdvals": torch.linalg.svdvals, "eigvalsh": torch.linalg.eigvalsh,
    "eigvals": torch.linalg.eigvals,
    "pinv": lambda x, rtol: torch.linalg.pinv(x, rtol=rtol),
    **{n: _spectrum(getattr(torch.fft, n)) for n in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{n: _spectra(getattr(torch.fft, n)) for n in ("fftn", "ifftn", "rfftn", "irfftn")},
}  # fmt: skip


def _whole(function: Kernel) -> Kernel:
    """A kernel of matrices or rows; PyTorch's own errors become those of a call."""

    def run(*args: RunValue) -> EngineResult:
        try:
            return function(*args)
        except RuntimeError as problem:
            raise BadValue(f"PyTorch cannot do this: {problem}") from None

    return run


_IN_PLACE = {"add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.true_divide}
_OWN: dict[str, Kernel] = {
    **{name: _whole(function) for name, function in _LINEAR.items()},
    "cumulative_sum": _accumulated(torch.cumsum), "cumulative_prod": _accumulated(torch.cumprod),
    "complex": lambda x, y: torch.complex(*torch.broadcast_tensors(*_pair(x, y))), "cumulative_max": _cumulative(torch.cummax),
    "cumulative_min": _cumulative(torch.cummin),
    "cumulative_logsumexp": lambda x, axis, reverse: _turned(lambda a: torch.logcumsumexp(a, axis), x, axis, reverse),
    "floor_divide": _quotient(torch.floor_divide, torch.floor_divide),
    "remainder": _quotient(torch.remainder, torch.remainder),
    "linear": _linear, "layer_norm": _layer_norm, "gelu": _gelu, "relu": torch.relu, "sigmoid": torch.sigmoid,
    "silu": F.silu, "erf": torch.erf, "rsqrt": torch.rsqrt, "topk": _topk,
    "stop_gradient": torch.detach,
    "tril": torch.tril, "triu": torch.triu,
    "softmax": lambda x, axis: torch.softmax(x, axis), "log_softmax": lambda x, axis: torch.log_softmax(x, axis),
    "einsum": lambda equation, xs: torch.einsum(equation, *xs),
    **torch_windows.OWN,
}  # fmt: skip
# Kernels with positions among their operands.
_BY_POSITION: dict[str, Kernel] = {
    "gather_nd": _gather_nd, "put": _put, "take_along_axis": _take_along_axis, "gather_elements": _gather_elements,
    "scatter_elements": _scatter_elements, "scatter_nd": _scatter_nd,
}  # fmt: skip


def _attention(ops: Ops, q: Array, k: Array, v: Array, mask: Array | None, causal: bool, scale: float | None) -> Array:
    """Use PyTorch's own for equal batch shapes without a mask, which could hide all of a row."""
    is_plain = mask is None and q.is_floating_point() and q.numel() and k.numel() and v.numel()
    if is_plain and q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)
    return composition(compositions()["attention"].function, ops, q, k, v, mask, causal, scale)
