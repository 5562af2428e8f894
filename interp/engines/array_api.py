"""Kernels over a namespace of the array API standard: only the functions that NumPy-like libraries share."""

from __future__ import annotations

from math import inf, prod

import numpy as np

from ...lang.dtypes import DTYPES, DType
from ..engine_types import ArrayNamespace, Axes, EngineArray as Array, EngineDType, EngineResult, EngineSizes, Kernel
from ..kernels.registry import Array as NumpyArray, BadValue
from ..kernels.shape import _solved
from . import expressions
from .table import Engine, Refused

# The functions that have the same name in the standard, of one operand and of two.
_UNARY = [
    "negative",
    "abs",
    "sign",
    "sqrt",
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "logical_not",
    "bitwise_invert",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "matrix_transpose",
]
_BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "maximum",
    "minimum",
    "atan2",
    "logaddexp",
    "hypot",
    "copysign",
    "equal",
    "not_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "nextafter",
]
_ORDER = ("less", "less_equal", "greater", "greater_equal")
_ROUNDING = ("floor", "ceil", "trunc", "round")
_STANDARD = ("bool", "float32", "float64", "complex64", "complex128")


_ROWS = """
identity | of(x, x)
where | xp.where(of(condition, condition), of(x, y), of(y, x))
real | xp.real(x) if kind(x) == "complex" else x
imag | xp.imag(x) if kind(x) == "complex" else xp.zeros_like(x)
conj | xp.conj(x) if kind(x) == "complex" else x
sum | xp.sum(x, axis=axes(axis), keepdims=keepdims, dtype=dtype or x.dtype)
prod | xp.prod(x, axis=axes(axis), keepdims=keepdims, dtype=dtype or x.dtype)
max | extreme(xp.max, x, axis, keepdims, -inf)
min | extreme(xp.min, x, axis, keepdims, inf)
any | xp.any(x, axis=axes(axis), keepdims=keepdims)
all | xp.all(x, axis=axes(axis), keepdims=keepdims)
argmax | xp.argmax(x, axis=axis, keepdims=keepdims)
argmin | xp.argmin(x, axis=axis, keepdims=keepdims)
full | xp.broadcast_to(of(value, value) if dtype is None else xp.astype(of(value, value), dtype), shape)
eye | xp.eye(n, m, k=k, dtype=dtype or dtypes["float32"])
size_to_tensor | xp.astype(xp.asarray(n, dtype=dtypes["int64"]), dtype or dtypes["int64"])
shape | xp.asarray(tuple(x.shape), dtype=dtypes["int64"])
item | int(t)
reshape | xp.reshape(x, solved(x.shape, shape))
permute_dims | xp.permute_dims(x, tuple(reversed(range(x.ndim))) if axes is None else tuple(axes))
squeeze | xp.squeeze(x, axis=tuple([i for i, n in enumerate(x.shape) if n == 1]) if axis is None else tuple(axis))
broadcast_to | xp.broadcast_to(of(x, x), shape)
broadcast_arrays | tuple(xp.broadcast_arrays(*xs))
tile | xp.tile(x, tuple(repeats))
repeat | xp.repeat(x, repeats, axis=axis)
concat | xp.concat(list(xs), axis=axis)
flip | xp.flip(x, axis=axis)
matmul | xp.matmul(x, y)
nonzero | xp.nonzero(x)
filter | x[mask] if x.ndim == 1 else xp.take(x, xp.nonzero(mask)[0], axis=0)
argsort | xp.argsort(ordered(x), axis=axis, descending=descending)
"""


class ArrayApi(Engine):
    """An engine of a namespace; its arrays convert by `asarray`."""

    def __init__(self, name: str, namespace: ArrayNamespace) -> None:
        self.name = name
        self.xp = namespace
        self.own = {}
        names = [*_STANDARD, *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
        self.dtypes = {n: getattr(namespace, n) for n in names}
        _Tables(self).fill()

    def array(self, value: Array) -> Array:
        value = np.asarray(value)
        return self.xp.asarray(value if value.flags.writeable else value.copy(), dtype=self.dtypes[value.dtype.name])

    def numpy(self, x: Array) -> NumpyArray:
        return np.array(np.from_dlpack(x)) if not hasattr(x, "__array__") else np.asarray(x)

    def dtype(self, dtype: DType) -> EngineDType:
        return self.dtypes[dtype.name]

    def dtype_of(self, x: Array) -> DType:
        if isinstance(x, bool | int | float):
            return DTYPES["bool" if isinstance(x, bool) else "int64" if isinstance(x, int) else "float64"]
        return next(DTYPES[name] for name, own in self.dtypes.items() if own == x.dtype)

    def looks(self, x: Array) -> bool:
        """Whether an operation checks an operand's elements first."""
        return bool(prod(x.shape))

    def of(self, value: Array, like: Array) -> Array:
        """A literal number in the dtype of the operand beside it."""
        if not isinstance(value, bool | int | float):
            return value
        if isinstance(like, bool | int | float):
            return self.array(np.asarray(value))
        return self.xp.asarray(value, dtype=like.dtype)


class _Tables:
    """The kernels of one namespace."""

    def __init__(self, engine: ArrayApi) -> None:
        self.engine = engine
        self.xp = engine.xp

    def fill(self) -> None:
        own = self.engine.own
        own.update({n: getattr(self.xp, n) for n in _UNARY})
        own.update({n: self._binary(getattr(self.xp, n)) for n in _BINARY})
        own.update({n: self._order(getattr(self.xp, n)) for n in _ORDER})
        own.update({n: self._rounding(getattr(self.xp, n)) for n in _ROUNDING})
        own.update(expressions.kernels(_ROWS, self._words()))
        kernels = {n.removeprefix("k_"): getattr(self, n) for n in dir(self) if n.startswith("k_")}
        own.update(kernels)

    def _words(self) -> dict[str, EngineResult]:
        """The names that the rows use besides a primitive's parameters."""
        engine = self.engine
        words = {"xp": self.xp, "of": engine.of, "dtypes": engine.dtypes, "inf": inf, "solved": _solved}
        kind = {"kind": lambda x: engine.dtype_of(x).kind}
        return {**words, **kind, "axes": self._axes, "extreme": self._extreme, "ordered": self._ordered}

    def _binary(self, function: Kernel) -> Kernel:
        def run(x: Array, y: Array) -> Array:
            return function(self.engine.of(x, y), self.engine.of(y, x))

        return run

    def _order(self, function: Kernel) -> Kernel:
        def run(x: Array, y: Array) -> Array:
            return function(self._ordered(self.engine.of(x, y)), self._ordered(self.engine.of(y, x)))

        return run

    def _ordered(self, x: Array) -> Array:
        """Bools as numbers, which the standard orders."""
        is_bool = self.engine.dtype_of(x).kind == "bool"
        return self.xp.astype(x, self.engine.dtypes["uint8"]) if is_bool else x

    def _rounding(self, function: Kernel) -> Kernel:
        def run(x: Array) -> Array:
            return x if self.engine.dtype_of(x).kind in ("int", "uint") else function(x)

        return run

    def _axes(self, axis: Axes) -> int | Axes:
        return axis if axis is None or len(axis) != 1 else axis[0]

    # Element by element

    def k_pow(self, x: Array, y: Array) -> Array:
        base, power = self.engine.of(x, y), self.engine.of(y, x)
        if self.engine.dtype_of(power).kind == "int" and self.engine.looks(power) and bool(self.xp.any(power < 0)):
            raise BadValue("the exponent `y` of integers holds a negative number")
        return self.xp.pow(base, power)

    # Reductions

    def _extreme(self, function: Kernel, x: Array, axis: Axes, keepdims: bool, rest: float) -> Array:
        """The greatest or the least; `rest` for an empty operand, as compositions pass it."""
        if axis == ():
            return x
        if prod(x.shape) or self.engine.dtype_of(x).kind != "float":
            return function(x, axis=self._axes(axis), keepdims=keepdims)
        like = self.xp.sum(x, axis=self._axes(axis), keepdims=keepdims, dtype=x.dtype)
        return like + self.engine.of(rest, x)

    def k_mean(self, x: Array, axis: Axes, keepdims: bool) -> Array:
        axes = range(x.ndim) if axis is None else axis
        count = prod(x.shape[i] for i in axes)
        total = self.xp.sum(x, axis=self._axes(axis), keepdims=keepdims, dtype=x.dtype)
        return total / self.engine.of(count, total) if count else total / self.engine.of(0, total)

    # Creation

    def k_arange(self, start: int, stop: int | None, step: int, dtype: EngineDType) -> Array:
        if step == 0:
            raise BadValue("`step` is 0")
        first, last = (0, start) if stop is None else (start, stop)
        made = self.xp.arange(first, last, step, dtype=self.engine.dtypes["int64"])
        return made if dtype is None else self.xp.astype(made, dtype)

    def k_cast(self, x: Array, dtype: EngineDType) -> Array:
        kind = self.engine.dtype_of(x).kind
        whole = kind == "complex" and self.engine.dtype_of(self.xp.zeros(1, dtype=dtype)).kind != "complex"
        return self.xp.astype(self.xp.real(x) if whole else self.engine.of(x, x), dtype)

    # Shapes

    def k_expand_dims(self, x: Array, axis: int | tuple[int, ...]) -> Array:
        axes = (axis,) if isinstance(axis, int) else axis
        rank = x.ndim + len(axes)
        for i in sorted(a % rank for a in axes):
            x = self.xp.expand_dims(x, axis=i)
        return x

    def k_slice(
        self, x: Array, starts: EngineSizes, stops: EngineSizes, axes: Axes, steps: EngineSizes, forward: bool
    ) -> Array:
        cuts, backwards = [slice(None)] * x.ndim, []
        for n, start in enumerate(starts):
            axis = n if axes is None else axes[n]
            places = range(*slice(start, stops[n], 1 if steps is None else steps[n]).indices(x.shape[axis]))
            if places.step < 0:  # not every library takes such a step
                places = places[::-1]
                backwards.append(axis)
            cuts[axis] = slice(places[0], places[-1] + 1, places.step) if places else slice(0, 0, 1)
        made = x[tuple(cuts)]
        return self.xp.flip(made, axis=tuple(backwards)) if backwards else made

    def k_roll(self, x: Array, shift: EngineSizes, axis: Axes) -> Array:
        if axis is None:
            return self.xp.roll(x, shift[0])
        return self.xp.roll(x, tuple(shift) if len(shift) > 1 else shift[0], axis=self._axes(axis))

    def k_pad(self, x: Array, pads: EngineSizes, mode: str, value: Array, axes: Axes) -> Array:
        if mode != "constant":
            raise Refused("these arguments")
        if axes is not None:
            along = {i % x.ndim: pair for i, pair in zip(axes, pads, strict=True)}
            pads = [along.get(i, (0, 0)) for i in range(x.ndim)]
        for axis, (low, high) in enumerate(pads):
            x = self._padded(x, axis, low, high, 0 if value is None else value)
        return x

    def _padded(self, x: Array, axis: int, low: int, high: int, value: Array) -> Array:
        def border(count: int) -> Array:
            shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
            return self.xp.broadcast_to(self.engine.of(value, x), shape)

        return self.xp.concat([border(low), x, border(high)], axis=axis) if low or high else x

    # Products

    # By position

    def _checked(self, positions: Array, name: str, size: int, axis: int, least: int) -> Array:
        """Positions as int64 from the front; raises BadValue for one out of range."""
        xp = self.xp
        places = xp.astype(positions, self.engine.dtypes["int64"])
        if self.engine.looks(places) and bool(xp.any((places < least) | (places >= size))):
            raise BadValue(f"`{name}` holds a position that axis {axis} of `x` of size {size} does not have")
        return xp.where(places < 0, places + size, places) if least < 0 else places

    def k_take(self, x: Array, indices: EngineSizes, axis: int | None) -> Array:
        axis, size = axis or 0, x.shape[axis or 0]
        if isinstance(indices, int) and -size <= indices < size:
            return x[(slice(None),) * (axis % x.ndim) + (indices, ...)]
        given = self.xp.asarray(indices, dtype=self.engine.dtypes["int64"]) if isinstance(indices, int) else indices
        places = self._checked(given, "indices", size, axis, -size)
        taken = self.xp.take(x, self.xp.reshape(places, (-1,)), axis=axis)
        axis %= x.ndim
        return self.xp.reshape(taken, (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]))

    def k_embedding(self, ids: Array, table: Array) -> Array:
        places = self._checked(ids, "ids", table.shape[0], 0, 0)
        taken = self.xp.take(table, self.xp.reshape(places, (-1,)), axis=0)
        return self.xp.reshape(taken, (*places.shape, *table.shape[1:]))

    def k_sort(self, x: Array, axis: int, descending: bool) -> Array:
        made = self.xp.astype(self.xp.sort(self._ordered(x), axis=axis), x.dtype)
        return self.xp.flip(made, axis=axis) if descending else made


def strict() -> ArrayApi:
    """The engine of array-api-strict, which has only the standard: for tests."""
    import array_api_strict  # only tests need it

    return ArrayApi("array-api-strict", array_api_strict)
