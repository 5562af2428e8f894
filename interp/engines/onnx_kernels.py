"""Kernels that write nodes of ONNX: each of an `Emit` and a primitive's parameters, gives names of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ...lang.dtypes import DTYPES, DType
from ...ops.model import TensorInfo
from .onnx_graph import Graph, elem_type, literal
from .symbolic import Dim
from .table import Refused, Unsupported

Array = Any


class Emit:
    """One call that is written: its graph, and what its results are. With `guarded` it may be made of empty images."""

    def __init__(self, graph: Graph, outs: Sequence[TensorInfo[Any]], *, guarded: bool = False) -> None:
        self.graph = graph
        self.outs = outs
        self.guarded = guarded

    @property
    def out(self) -> TensorInfo[Any]:
        return self.outs[0]

    def node(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        return self.graph.node(op, *inputs, outputs=outputs, **attributes)

    def of(self, x: Array, dtype: DType) -> str:
        """The name of an operand; a literal number is a constant of the dtype."""
        return x.value if hasattr(x, "value") else self.graph.constant(literal(x, dtype))

    def pair(self, x: Array, y: Array) -> tuple[str, str]:
        dtype = next((a.dtype for a in (x, y) if hasattr(a, "value")), self.out.dtype)
        assert isinstance(dtype, DType)
        return self.of(x, dtype), self.of(y, dtype)

    def cast(self, name: str, before: DType, after: DType) -> str:
        return name if before == after else self.node("Cast", name, to=elem_type(after))

    def ints(self, values: Sequence[int]) -> str:
        return self.graph.ints(values)


Emitter = Callable[..., Any]
KERNELS: dict[str, Emitter] = {}


def kernel(*names: str) -> Callable[[Emitter], Emitter]:
    def add(function: Emitter) -> Emitter:
        KERNELS.update(dict.fromkeys(names, function))
        return function

    return add


_UNARY = {
    "negative": "Neg", "abs": "Abs", "sign": "Sign", "sqrt": "Sqrt", "reciprocal": "Reciprocal", "exp": "Exp", "log": "Log",
    "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh",
    "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "logical_not": "Not",
    "erf": "Erf", "sigmoid": "Sigmoid", "softplus": "Softplus", "softsign": "Softsign", "bitwise_invert": "BitwiseNot",
}  # fmt: skip
_BINARY = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "maximum": "Max", "minimum": "Min",
    "equal": "Equal", "less": "Less", "less_equal": "LessOrEqual", "greater": "Greater",
    "greater_equal": "GreaterOrEqual", "logical_and": "And", "logical_or": "Or", "logical_xor": "Xor",
    "bitwise_and": "BitwiseAnd", "bitwise_or": "BitwiseOr", "bitwise_xor": "BitwiseXor",
}  # fmt: skip
_TRUTHS = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor"}
_ROUNDING = {"floor": "Floor", "ceil": "Ceil", "round": "Round"}


def _unary(op: str) -> Emitter:
    def run(e: Emit, x: Array) -> str:
        if op == "BitwiseNot" and x.dtype.kind == "bool":
            return e.node("Not", x.value)  # type: ignore[no-any-return]
        return e.node(op, x.value)  # type: ignore[no-any-return]

    return run


def _binary(op: str, truths: str | None) -> Emitter:
    def run(e: Emit, x: Array, y: Array) -> str:
        a, b = e.pair(x, y)
        dtype = x.dtype if hasattr(x, "value") else y.dtype
        if dtype.kind == "bool" and op in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual"):
            a, b = (e.cast(n, dtype, DTYPES["int32"]) for n in (a, b))
        return e.node(truths if truths and dtype.kind == "bool" else op, a, b)  # type: ignore[no-any-return]

    return run


def _rounding(op: str) -> Emitter:
    def run(e: Emit, x: Array) -> str:
        return x.value if x.dtype.kind != "float" else e.node(op, x.value)  # type: ignore[no-any-return]

    return run


KERNELS.update({n: _unary(op) for n, op in _UNARY.items()})
KERNELS.update({n: _binary(op, _TRUTHS.get(n)) for n, op in _BINARY.items()})
KERNELS.update({n: _rounding(op) for n, op in _ROUNDING.items()})


@kernel("identity")
def identity(e: Emit, x: Array) -> str:
    assert isinstance(e.out.dtype, DType)
    return e.of(x, e.out.dtype)


@kernel("relu")
def relu(e: Emit, x: Array) -> str:
    return e.node("Relu", x.value) if x.dtype.kind != "uint" else x.value  # type: ignore[no-any-return]


@kernel("trunc")
def trunc(e: Emit, x: Array) -> str:
    if x.dtype.kind != "float":
        return x.value  # type: ignore[no-any-return]
    return e.node("Mul", e.node("Sign", x.value), e.node("Floor", e.node("Abs", x.value)))  # type: ignore[no-any-return]


def _is(op: str) -> Emitter:
    def run(e: Emit, x: Array) -> str:
        if x.dtype.kind != "float":
            return e.node("Expand", e.graph.constant(np.array(False)), e.graph.sizes(x.shape))  # type: ignore[no-any-return]
        return e.node(op, x.value)  # type: ignore[no-any-return]

    return run


KERNELS.update({"isnan": _is("IsNaN"), "isinf": _is("IsInf")})


@kernel("floor_divide")
def floor_divide(e: Emit, x: Array, y: Array) -> str:
    a, b = e.pair(x, y)
    assert isinstance(e.out.dtype, DType)
    if e.out.dtype.kind == "float":
        return e.node("Floor", e.node("Div", a, b))  # type: ignore[no-any-return]
    if e.out.dtype.kind == "uint":
        return e.node("Div", a, b)  # type: ignore[no-any-return]
    return e.node("Div", e.node("Sub", a, e.node("Mod", a, b)), b)  # type: ignore[no-any-return]


@kernel("remainder")
def remainder(e: Emit, x: Array, y: Array) -> str:
    a, b = e.pair(x, y)
    assert isinstance(e.out.dtype, DType)
    if e.out.dtype.kind != "float":
        return e.node("Mod", a, b)  # type: ignore[no-any-return]
    rest = e.node("Mod", a, b, fmod=1)  # which has the sign of x
    zero = e.graph.constant(literal(0.0, e.out.dtype))
    other = e.node("Less", e.node("Mul", e.node("Sign", rest), e.node("Sign", b)), zero)
    return e.node("Where", other, e.node("Add", rest, b), rest)  # type: ignore[no-any-return]


@kernel("pow")
def pow_(e: Emit, x: Array, y: Array) -> str:
    a, b = e.pair(x, y)
    assert isinstance(e.out.dtype, DType)
    if e.out.dtype.kind not in ("float", "complex"):
        raise Refused("powers of integers, whose exponents it does not check")
    return e.node("Pow", a, b)  # type: ignore[no-any-return]


@kernel("where")
def where(e: Emit, condition: Array, x: Array, y: Array) -> str:
    return e.node("Where", e.of(condition, DTYPES["bool"]), *e.pair(x, y))  # type: ignore[no-any-return]


@kernel("gelu")
def gelu(e: Emit, x: Array, approximate: str) -> str:
    return e.node("Gelu", x.value, approximate=approximate)  # type: ignore[no-any-return]


# Reductions


def _reduction(op: str) -> Emitter:
    def run(e: Emit, x: Array, axis: Any, keepdims: bool, dtype: DType | None = None) -> str:
        source = e.cast(x.value, x.dtype, dtype or x.dtype)
        if axis == ():
            return source
        axes = [] if axis is None else [e.ints([int(a) for a in axis])]
        return e.node(op, source, *axes, keepdims=int(keepdims))  # type: ignore[no-any-return]

    return run


KERNELS.update({"sum": _reduction("ReduceSum"), "prod": _reduction("ReduceProd"), "max": _reduction("ReduceMax")})
KERNELS["min"] = _reduction("ReduceMin")


@kernel("mean")
def mean(e: Emit, x: Array, axis: Any, keepdims: bool) -> str:
    """Of nothing no number, which ReduceMean does not give."""
    axes = range(len(x.shape)) if axis is None else axis
    sizes = [x.shape[a] for a in axes]
    if all(isinstance(n, int) and n for n in sizes):
        return _reduction("ReduceMean")(e, x, axis, keepdims)  # type: ignore[no-any-return]
    count = e.cast(e.graph.scalar(prod(sizes)), DTYPES["int64"], x.dtype)
    return e.node("Div", _reduction("ReduceSum")(e, x, axis, keepdims), count)  # type: ignore[no-any-return]


@kernel("softmax")
def softmax(e: Emit, x: Array, axis: int) -> str:
    return e.node("Softmax", x.value, axis=axis)  # type: ignore[no-any-return]


@kernel("log_softmax")
def log_softmax(e: Emit, x: Array, axis: int) -> str:
    return e.node("LogSoftmax", x.value, axis=axis)  # type: ignore[no-any-return]


def _argument(op: str) -> Emitter:
    def run(e: Emit, x: Array, axis: int | None, keepdims: bool) -> str:
        if axis is None:
            flat = e.node("Reshape", x.value, e.ints([-1]))
            made = e.node(op, flat, axis=0, keepdims=0)
            return e.node("Reshape", made, e.graph.sizes(e.out.shape)) if keepdims else made  # type: ignore[no-any-return]
        return e.node(op, x.value, axis=axis, keepdims=int(keepdims))  # type: ignore[no-any-return]

    return run


KERNELS.update({"argmax": _argument("ArgMax"), "argmin": _argument("ArgMin")})


@kernel("cumulative_sum")
def cumulative_sum(
    e: Emit, x: Array, axis: int | None, dtype: DType | None, include_initial: bool, exclusive: bool, reverse: bool
) -> str:
    if include_initial:
        raise Refused("cumulative sums with an initial 0")
    source = e.cast(x.value, x.dtype, dtype or x.dtype)
    place = e.graph.constant(np.array(axis or 0, np.int64))
    return e.node("CumSum", source, place, exclusive=int(exclusive), reverse=int(reverse))  # type: ignore[no-any-return]


# Made anew


@kernel("full")
def full(e: Emit, shape: Any, value: Array, dtype: DType | None) -> str:
    assert isinstance(e.out.dtype, DType)
    given = e.cast(value.value, value.dtype, e.out.dtype) if hasattr(value, "value") else e.of(value, e.out.dtype)
    return e.node("Expand", given, e.graph.sizes(e.out.shape))  # type: ignore[no-any-return]


@kernel("arange")
def arange(e: Emit, start: Any, stop: Any, step: Any, dtype: DType | None) -> str:
    first, last = (0, start) if stop is None else (start, stop)
    made = e.node("Range", *map(e.graph.scalar, (first, last, step)))
    return e.cast(made, DTYPES["int64"], dtype or DTYPES["int64"])


@kernel("cast")
def cast(e: Emit, x: Array, dtype: DType) -> str:
    return e.cast(x.value, x.dtype, dtype) if hasattr(x, "value") else e.of(x, dtype)


@kernel("shape")
def shape(e: Emit, x: Array) -> str:
    return e.node("Shape", x.value)  # type: ignore[no-any-return]


@kernel("size_to_tensor")
def size_to_tensor(e: Emit, n: Any, dtype: DType | None) -> str:
    return e.cast(e.graph.scalar(n), DTYPES["int64"], dtype or DTYPES["int64"])


# Shapes


@kernel("reshape")
def reshape(e: Emit, x: Array, shape: Any) -> str:
    return e.node("Reshape", x.value, e.graph.sizes(e.out.shape), allowzero=1)  # type: ignore[no-any-return]


@kernel("permute_dims")
def permute_dims(e: Emit, x: Array, axes: Any) -> str:
    rank = len(x.shape)
    order = list(reversed(range(rank))) if axes is None else [int(a) % rank for a in axes]
    return x.value if order == list(range(rank)) else e.node("Transpose", x.value, perm=order)  # type: ignore[no-any-return]


@kernel("expand_dims")
def expand_dims(e: Emit, x: Array, axis: Any) -> str:
    axes = (axis,) if isinstance(axis, int) else axis
    return e.node("Unsqueeze", x.value, e.ints(list(axes))) if axes else x.value  # type: ignore[no-any-return]


@kernel("squeeze")
def squeeze(e: Emit, x: Array, axis: Any) -> str:
    gone = [i for i, n in enumerate(x.shape) if isinstance(n, int) and n == 1] if axis is None else list(axis)
    return e.node("Squeeze", x.value, e.ints(gone)) if gone else x.value  # type: ignore[no-any-return]


@kernel("broadcast_to")
def broadcast_to(e: Emit, x: Array, shape: Any) -> str:
    assert isinstance(e.out.dtype, DType)
    return e.node("Expand", e.of(x, e.out.dtype), e.graph.sizes(e.out.shape))  # type: ignore[no-any-return]


@kernel("tile")
def tile(e: Emit, x: Array, repeats: Any) -> str:
    rank = max(len(x.shape), len(repeats))
    times = [*(1,) * (rank - len(repeats)), *repeats]
    source = e.node("Reshape", x.value, e.graph.sizes((*(1,) * (rank - len(x.shape)), *x.shape)), allowzero=1)
    return e.node("Tile", source if rank > len(x.shape) else x.value, e.graph.sizes(times)) if rank else x.value  # type: ignore[no-any-return]


@kernel("concat")
def concat(e: Emit, xs: Any, axis: int) -> str:
    assert isinstance(e.out.dtype, DType)
    return e.node("Concat", *(e.of(x, e.out.dtype) for x in xs), axis=axis)  # type: ignore[no-any-return]


@kernel("slice")
def slice_(e: Emit, x: Array, starts: Any, stops: Any, axes: Any, steps: Any, forward: bool) -> str:
    places = list(range(len(starts))) if axes is None else [int(a) for a in axes]
    if not places:
        return x.value  # type: ignore[no-any-return]
    ends = [FAR if s is None else s for s in stops]
    first = [0 if s is None else s for s in starts]
    more = [] if steps is None else [e.graph.sizes(steps)]
    return e.node("Slice", x.value, e.graph.sizes(first), e.graph.sizes(ends), e.ints(places), *more)  # type: ignore[no-any-return]


FAR = 2**62


@kernel("split")
def split(e: Emit, x: Array, sections: Any, sizes: Any, indices: Any, axis: int, uneven: bool) -> Any:
    parts = [out.shape[axis] for out in e.outs]
    if not parts:
        return ()
    made = e.node("Split", x.value, e.graph.sizes(parts), outputs=len(parts), axis=axis)
    return made if len(parts) > 1 else (made,)


@kernel("pad")
def pad(e: Emit, x: Array, pads: Any, mode: str, value: Any, axes: Any) -> str:
    if mode not in ("constant", "edge", "reflect"):
        raise Refused(f"@pad with mode '{mode}'")
    places = list(range(len(pads))) if axes is None else [int(a) for a in axes]
    if not places:
        return x.value  # type: ignore[no-any-return]
    flat = e.graph.sizes([low for low, _ in pads] + [high for _, high in pads])
    rest = [e.of(0 if value is None else value, x.dtype)] if mode == "constant" else [""]
    return e.node("Pad", x.value, flat, *rest, e.ints(places), mode=mode)  # type: ignore[no-any-return]


def _trilu(upper: int) -> Emitter:
    def run(e: Emit, x: Array, k: Any) -> str:
        return e.node("Trilu", x.value, e.graph.scalar(k), upper=upper)  # type: ignore[no-any-return]

    return run


KERNELS.update({"tril": _trilu(0), "triu": _trilu(1)})


# Products


@kernel("matmul")
def matmul(e: Emit, x: Array, y: Array) -> str:
    return e.node("MatMul", x.value, y.value)  # type: ignore[no-any-return]


@kernel("einsum")
def einsum(e: Emit, equation: str, xs: Any) -> str:
    return e.node("Einsum", *(x.value for x in xs), equation=equation)  # type: ignore[no-any-return]


@kernel("layer_norm")
def layer_norm(e: Emit, x: Array, scale: Array, bias: Array | None, axis: int, epsilon: float) -> str:
    if any(isinstance(n, Dim) or n == 0 for n in x.shape[axis:]):  # it refuses rows of nothing
        raise Unsupported("the engine does not take these arguments")
    given = [x.value, scale.value, *([] if bias is None else [bias.value])]
    return e.node("LayerNormalization", *given, axis=axis, epsilon=epsilon)  # type: ignore[no-any-return]


@kernel("batch_normalization")
def batch_normalization(
    e: Emit, x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float, layout: str
) -> str:
    if layout != "channels_first":
        raise Refused("@batch_normalization with the channels last")
    names = (a.value for a in (x, scale, bias, mean, variance))
    return e.node("BatchNormalization", *names, epsilon=epsilon)  # type: ignore[no-any-return]
