"""Kernels that write nodes of ONNX: each takes an `Emit` and a primitive's parameters, and returns names of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from ...lang.dtypes import DTYPES, DType
from ...ops.model import TensorInfo
from ...sizes.partial import applied, are_same
from ..engine_types import Axes, EngineArray as Array, EngineResult, EngineSize, EngineSizes, NodeAttribute, RunValue
from . import expressions
from .onnx_graph import Graph, elem_type, literal
from .symbolic import Dim
from .table import Refused


class Emit:
    """One call to write: its graph, the types of its results, and the engine, which writes compositions. With `guarded` its
    images may be empty."""

    def __init__(
        self, graph: Graph, outs: Sequence[TensorInfo[EngineSize]], engine: RunValue, *, guarded: bool = False
    ) -> None:
        self.graph, self.outs, self.engine, self.guarded = graph, outs, engine, guarded

    @property
    def out(self) -> TensorInfo[EngineResult]:
        return self.outs[0]

    def node(self, op: str, *inputs: str, outputs: int = 1, **attributes: NodeAttribute) -> EngineResult:
        return self.graph.node(op, *inputs, outputs=outputs, **attributes)

    def of(self, x: Array, dtype: DType) -> str:
        """The name of an operand; a literal number is a constant of the dtype."""
        return x.value if hasattr(x, "value") else self.graph.constant(literal(x, dtype))

    def pair(self, x: Array, y: Array) -> tuple[str, str]:
        dtype = self.operand(x, y)
        return self.of(x, dtype), self.of(y, dtype)

    def operand(self, x: Array, y: Array) -> DType:
        """The dtype of two operands; a literal number takes that of the other."""
        alone = DTYPES["float64" if isinstance(x, float) or isinstance(y, float) else "int64"]
        found = next((a.dtype for a in (x, y) if hasattr(a, "value")), alone)
        assert isinstance(found, DType)
        return found

    def cast(self, name: str, before: DType, after: DType) -> str:
        return name if before == after else self.node("Cast", name, to=elem_type(after))

    def over(
        self,
        op: str,
        dtype: DType,
        *inputs: str,
        first: int = 0,
        last: int = 3,
        outputs: int = 1,
        **attributes: NodeAttribute,
    ) -> EngineResult:
        """Write a node whose operands from the `first` to before the `last`, and whose first result, have a dtype. If
        onnxruntime's operator lacks the dtype, int64 is used, which wraps around alike."""
        if dtype.name not in _LACKING.get(op, ""):
            return self.node(op, *inputs, outputs=outputs, **attributes)
        wide = DTYPES["int64"]
        given = (self.cast(n, dtype, wide) if first <= i < last and n else n for i, n in enumerate(inputs))
        made = self.node(op, *given, outputs=outputs, **attributes)
        if op in _PLACES:
            return made
        if outputs == 1:
            return self.cast(made, wide, dtype)
        return self.cast(made[0], wide, dtype), *made[1:]

    def places(self, indices: Array) -> str:
        """Positions in int64."""
        if not hasattr(indices, "value"):
            return self.graph.scalar(indices) if isinstance(indices, Dim) else self.of(indices, DTYPES["int64"])
        return self.cast(indices.value, indices.dtype, DTYPES["int64"])

    def stretched(self, name: str, shape: Sequence[EngineSize], wanted: Sequence[EngineSize]) -> str:
        """Broadcast a value to sizes, unless it surely has them."""
        pairs = zip(*(map(self.graph.dims.settled, sizes) for sizes in (shape, wanted)), strict=False)
        is_same = len(shape) == len(wanted) and all(are_same(n, w) for n, w in pairs)
        return name if is_same else self.node("Expand", name, self.graph.sizes(wanted))

    def ints(self, values: Sequence[int]) -> str:
        return self.graph.ints(values)


Emitter = Callable[..., Array]
KERNELS: dict[str, Emitter] = {}


def kernel(*names: str) -> Callable[[Emitter], Emitter]:
    def add(function: Emitter) -> Emitter:
        KERNELS.update(dict.fromkeys(names, function))
        return function

    return add


def refused(what: str) -> str:
    raise Refused(what)


def names_of(*xs: Array | None) -> list[str]:
    """The inputs of a node, some of which may be missing."""
    count = max((i for i, x in enumerate(xs, 1) if x is not None), default=0)
    return ["" if x is None else x.value for x in xs[:count]]


def parts(e: Emit, op: str, *names: str, **attributes: NodeAttribute) -> EngineResult:
    """A node with as many outputs as the call has results."""
    made = e.node(op, *names, outputs=len(e.outs), **attributes)
    return made if len(e.outs) > 1 else (made,)


_ROWS = """
softmax | Softmax(x, axis=axis)
log_softmax | LogSoftmax(x, axis=axis) if x.dtype.name != "float64" else refused("tensors of float64")
gelu | Gelu(x, approximate=approximate) if x.dtype.name != "float64" else refused("tensors of float64")
relu | Relu(x) if x.dtype.kind == "float" else x.value if x.dtype.kind == "uint" else refused(f"tensors of {x.dtype}")
isnan | IsNaN(x) if x.dtype.kind == "float" else Expand(e.graph.constant(np.array(False)), e.graph.sizes(x.shape))
isinf | IsInf(x) if x.dtype.kind == "float" else Expand(e.graph.constant(np.array(False)), e.graph.sizes(x.shape))
floor | x.value if x.dtype.kind != "float" else Floor(x)
ceil | x.value if x.dtype.kind != "float" else Ceil(x)
round | x.value if x.dtype.kind != "float" else Round(x)
split | parts(e, "Split", x.value, e.graph.sizes([o.shape[axis] for o in e.outs]), axis=axis) if e.outs else ()
cast | e.cast(x.value, x.dtype, dtype) if hasattr(x, "value") else e.of(x, dtype)
shape | Shape(x)
identity | e.of(x, e.out.dtype)
trunc | x.value if x.dtype.kind != "float" else Mul(Sign(x), Floor(Abs(x)))
full | Expand(
    e.cast(value.value, value.dtype, e.out.dtype) if hasattr(value, "value") else e.of(value, e.out.dtype),
    e.graph.sizes(e.out.shape))
arange | e.cast(
    Range(*map(e.graph.scalar, (0, start, step) if stop is None else (start, stop, step))),
    DTYPES["int64"], dtype or DTYPES["int64"])
reshape | Reshape(x, e.graph.sizes(e.out.shape), allowzero=1)
permute_dims | x.value if (order := list(reversed(range(len(x.shape)))) if axes is None else [
    int(a) % len(x.shape) for a in axes]) == sorted(order) else Transpose(x, perm=order)
expand_dims | Unsqueeze(x, e.ints([axis] if isinstance(axis, int) else axis)) if axis != () and axis != [] else x.value
squeeze | Squeeze(x, e.ints(gone)) if (gone := [
    i for i, n in enumerate(x.shape) if isinstance(n, int) and n == 1] if axis is None else list(axis)) else x.value
broadcast_to | e.stretched(e.of(x, e.out.dtype), getattr(x, "shape", ()), e.out.shape)
broadcast_arrays | tuple([e.node("Expand", x.value, e.graph.sizes(out.shape)) for x, out in zip(xs, e.outs)])
concat | Concat(*[e.of(x, e.out.dtype) for x in xs], axis=axis)
topk | e.over("TopK", x.dtype, x.value, e.graph.size(k), last=1, outputs=2, axis=axis, largest=int(largest), sorted=1)
size | e.graph.scalar(prod(x.shape))
size_to_tensor | e.cast(e.graph.scalar(n), DTYPES["int64"], dtype or DTYPES["int64"])
real | x.value
imag | e.node("Expand", e.graph.constant(literal(0, x.dtype)), e.graph.sizes(x.shape))
matmul | e.over("MatMul", x.dtype, x.value, y.value)
take | Gather(x, e.places(indices), axis=axis or 0)
gather_nd | GatherND(x, e.places(indices), batch_dims=batch_dims)
gather_elements | GatherElements(x, e.places(indices), axis=axis)
filter | Compress(x, mask, axis=0)
"""
KERNELS.update(expressions.kernels(_ROWS, globals(), "e", expressions.Nodes))

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
# The integer dtypes that onnxruntime's operators lack on the CPU, and the operators that give positions.
_SMALL = ("int8", "int16", "uint8", "uint16", "uint32", "uint64")
_LACKING = {
    **dict.fromkeys(("Einsum", "CumSum", "Trilu"), _SMALL), "MatMul": _SMALL,
    **dict.fromkeys(("ReduceMax", "ReduceMin"), ("int16", "uint16", "uint32")),
    **dict.fromkeys(("ArgMax", "ArgMin", "TopK"), ("bool", "int16", "uint16", "uint32")),
    **dict.fromkeys(("Max", "Min", "Pad"), ("int16", "uint16")), "Where": ("int16", "uint16", "uint64"),
    "Neg": tuple(n for n in _SMALL if n[0] == "u"),
}  # fmt: skip
_PLACES = ("ArgMax", "ArgMin")
# The operators that onnxruntime has for float32 alone.
_FLOAT32 = ("Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Erf", "Softplus", "Softsign")
_TRUTHS = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor"}


def _unary(op: str) -> Emitter:
    def run(e: Emit, x: Array) -> str:
        if op == "BitwiseNot" and x.dtype.kind == "bool":
            return e.node("Not", x.value)  # type: ignore[no-any-return]
        if op in _FLOAT32 and x.dtype.name == "float64":
            raise Refused("tensors of float64")
        return e.over(op, x.dtype, x.value)  # type: ignore[no-any-return]

    return run


def _binary(op: str, truths: str | None) -> Emitter:
    def run(e: Emit, x: Array, y: Array) -> str:
        a, b = e.pair(x, y)
        dtype = e.operand(x, y)
        if dtype.kind == "bool" and op in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual"):
            a, b = (e.cast(n, dtype, DTYPES["int32"]) for n in (a, b))
        return e.over(truths if truths and dtype.kind == "bool" else op, dtype, a, b)  # type: ignore[no-any-return]

    return run


KERNELS.update({n: _unary(op) for n, op in _UNARY.items()})
KERNELS.update({n: _binary(op, _TRUTHS.get(n)) for n, op in _BINARY.items()})


@kernel("clip")
def clip(e: Emit, x: Array, min: Array, max: Array) -> str:
    """Write one node for numbers in order, which onnxruntime fuses with the convolution before it."""
    dtype = e.out.dtype
    assert isinstance(dtype, DType)
    name = e.of(x, dtype)
    if dtype.kind == "float" and isinstance(min, int | float) and isinstance(max, int | float) and min <= max:
        return e.node("Clip", name, e.of(min, dtype), e.of(max, dtype))  # type: ignore[no-any-return]
    for op, bound in (("Max", min), ("Min", max)):
        if bound is not None:
            name = e.over(op, dtype, name, e.of(bound, dtype))
    return name


@kernel("floor_divide")
def floor_divide(e: Emit, x: Array, y: Array) -> str:
    """Integers divided by 0 give 0. Division by 0 or by -1, which would end the process, is replaced by a product."""
    a, b = e.pair(x, y)
    assert isinstance(e.out.dtype, DType)
    if e.out.dtype.kind == "float":
        return _whole_quotient(e, a, b, e.out.dtype)
    divisor, factor = safe_divisor(e, y, b)
    made = e.node("Div", a, divisor)  # rounded towards 0; one less if the remainders differ
    apart = e.node("Not", e.node("Equal", e.node("Mod", a, divisor), e.node("Sub", a, e.node("Mul", made, divisor))))
    made = e.node("Sub", made, e.cast(apart, DTYPES["bool"], e.out.dtype))
    return made if factor is None else e.node("Mul", made, factor)  # type: ignore[no-any-return]


def _whole_quotient(e: Emit, a: str, b: str, dtype: DType) -> str:
    """Divide x less its remainder, as NumPy does: the floor of the quotient is one too much if that was rounded up."""
    rest = e.node("Mod", a, b, fmod=1)
    zero, one = (e.graph.constant(literal(float(n), dtype)) for n in (0, 1))
    made = e.node("Div", e.node("Sub", a, rest), b)
    made = e.node("Where", _other_sign(e, rest, b, zero), e.node("Sub", made, one), made)
    return e.node("Where", e.node("Equal", b, zero), e.node("Div", a, b), e.node("Round", made))  # type: ignore[no-any-return]


def _other_sign(e: Emit, rest: str, b: str, zero: str) -> str:
    return e.node("Less", e.node("Mul", e.node("Sign", rest), e.node("Sign", b)), zero)  # type: ignore[no-any-return]


def safe_divisor(e: Emit, y: Array, b: str) -> tuple[str, str | None]:
    """A divisor of integers with 1 instead of 0 and -1, and the factor for the quotient."""
    if isinstance(y, int) and y not in (0, -1):
        return b, None
    assert isinstance(e.out.dtype, DType)
    zero, one = (e.graph.constant(literal(n, e.out.dtype)) for n in (0, 1))
    unsafe = e.node("Equal", b, zero)
    if e.out.dtype.kind == "int":
        unsafe = e.node("Or", unsafe, e.node("Equal", b, e.graph.constant(literal(-1, e.out.dtype))))
    return e.over("Where", e.out.dtype, unsafe, one, b, first=1), e.over("Where", e.out.dtype, unsafe, b, one, first=1)


@kernel("remainder")
def remainder(e: Emit, x: Array, y: Array) -> str:
    a, b = e.pair(x, y)
    assert isinstance(e.out.dtype, DType)
    if e.out.dtype.kind != "float":
        return e.node("Mod", a, safe_divisor(e, y, b)[0])  # type: ignore[no-any-return]
    rest = e.node("Mod", a, b, fmod=1)  # which has the sign of x
    zero = e.graph.constant(literal(0.0, e.out.dtype))
    return e.node("Where", _other_sign(e, rest, b, zero), e.node("Add", rest, b), rest)  # type: ignore[no-any-return]


@kernel("pow")
def pow_(e: Emit, x: Array, y: Array) -> str:
    a, b = e.pair(x, y)
    assert isinstance(e.out.dtype, DType)
    if e.out.dtype.kind == "float":
        return e.node("Pow", a, b)  # type: ignore[no-any-return]
    if type(y) is not int or not 0 <= y < 64:
        raise Refused("powers of integers whose exponents are data")
    made: str | None = None
    for digit in bin(y)[2:]:
        made = None if made is None else e.node("Mul", made, made)
        if digit == "1":
            made = a if made is None else e.node("Mul", made, a)
    return made or e.node("Expand", e.graph.constant(literal(1, e.out.dtype)), e.graph.sizes(e.out.shape))


@kernel("where")
def where(e: Emit, condition: Array, x: Array, y: Array) -> str:
    chosen, pair = e.of(condition, DTYPES["bool"]), e.pair(x, y)
    assert isinstance(e.out.dtype, DType)
    if e.out.dtype.kind == "bool":
        return e.node("Or", e.node("And", chosen, pair[0]), e.node("And", e.node("Not", chosen), pair[1]))  # type: ignore[no-any-return]
    return e.over("Where", e.out.dtype, chosen, *pair, first=1)  # type: ignore[no-any-return]


# Reductions


def _reduction(op: str) -> Emitter:
    def run(e: Emit, x: Array, axis: Axes, keepdims: bool, dtype: DType | None = None) -> str:
        source = e.cast(x.value, x.dtype, dtype or x.dtype)
        if axis == ():
            return source
        return e.over(op, dtype or x.dtype, source, *axes_of(e, axis), last=1, keepdims=int(keepdims))  # type: ignore[no-any-return]

    return run


def total(e: Emit, x: Array, dtype: DType, *axes: str, **attributes: NodeAttribute) -> str:
    """A sum. onnxruntime adds integers up in float64, so they are added in parts of 22 bits, which are exact there."""
    source = e.cast(x.value, x.dtype, dtype)
    if dtype.kind not in ("int", "uint"):
        return e.node("ReduceSum", source, *axes, **attributes)  # type: ignore[no-any-return]
    rest, made, factor = e.cast(source, dtype, DTYPES["int64"]), None, 1
    for _ in range(1 if x.dtype.bits <= 16 and x.dtype.kind != "float" else 3):
        part, by = rest, e.graph.constant(np.array(2**22, np.int64))
        if factor < 2**44 and x.dtype.bits > 16:
            part = e.node("Mod", rest, by)
            rest = e.node("Div", e.node("Sub", rest, part), by)
        added = e.node("ReduceSum", part, *axes, **attributes)
        added = added if made is None else e.node("Mul", added, e.graph.constant(np.array(factor, np.int64)))
        made, factor = added if made is None else e.node("Add", made, added), factor * 2**22
    assert made is not None
    return e.cast(made, DTYPES["int64"], dtype)


@kernel("sum")
def sum_(e: Emit, x: Array, axis: Axes, keepdims: bool, dtype: DType | None) -> str:
    if axis == ():
        return e.cast(x.value, x.dtype, dtype or x.dtype)
    return total(e, x, dtype or x.dtype, *axes_of(e, axis), keepdims=int(keepdims))


@kernel("prod")
def prod_(e: Emit, x: Array, axis: Axes, keepdims: bool, dtype: DType | None) -> str:
    if (dtype or x.dtype).kind in ("int", "uint") and axis != ():
        raise Refused("products of integers, which onnxruntime makes in float64")
    return _reduction("ReduceProd")(e, x, axis, keepdims, dtype)  # type: ignore[no-any-return]


def axes_of(e: Emit, axis: Axes) -> list[str]:
    return [] if axis is None else [e.ints([int(a) for a in axis])]


def _extreme(op: str) -> Emitter:
    """The result is NaN if an element is, which the sum of the squares shows: ReduceMax may ignore NaN."""

    def run(e: Emit, x: Array, axis: Axes, keepdims: bool) -> str:
        made = _reduction(op)(e, x, axis, keepdims)
        return made if x.dtype.kind != "float" or axis == () else _unless_nan(e, x, axis, keepdims, made)

    return run


def _unless_nan(e: Emit, x: Array, axis: Axes, keepdims: bool, made: str, otherwise: str | None = None) -> str:
    """`made`, or `otherwise` (by default NaN) if one of the elements is NaN."""
    squares = _reduction("ReduceSumSquare")(e, x, axis, keepdims)
    return e.node("Where", e.node("IsNaN", squares), otherwise or squares, made)  # type: ignore[no-any-return]


KERNELS.update({"max": _extreme("ReduceMax"), "min": _extreme("ReduceMin")})


@kernel("mean")
def mean(e: Emit, x: Array, axis: Axes, keepdims: bool, least: int = 0) -> str:
    """The mean; NaN for an empty operand, for which ReduceMean gives another value, or 0 if the `least` divisor is 1."""
    axes = range(len(x.shape)) if axis is None else axis
    sizes = [x.shape[a] for a in axes]
    if all(isinstance(n, int) and n for n in sizes):
        return _reduction("ReduceMean")(e, x, axis, keepdims)  # type: ignore[no-any-return]
    count = e.cast(e.graph.scalar(applied(max, (prod(sizes), least))), DTYPES["int64"], x.dtype)
    return e.node("Div", sum_(e, x, axis, keepdims, None), count)  # type: ignore[no-any-return]


def _argument(op: str) -> Emitter:
    def along(e: Emit, op: str, source: str, dtype: DType, axis: int | None, keepdims: bool) -> str:
        if axis is not None:
            return e.over(op, dtype, source, axis=axis, keepdims=int(keepdims))  # type: ignore[no-any-return]
        made = e.over(op, dtype, e.node("Reshape", source, e.ints([-1])), axis=0, keepdims=0)
        return e.node("Reshape", made, e.graph.sizes(e.out.shape)) if keepdims else made  # type: ignore[no-any-return]

    def run(e: Emit, x: Array, axis: int | None, keepdims: bool) -> str:
        made = along(e, op, x.value, x.dtype, axis, keepdims)
        if x.dtype.kind != "float":
            return made
        first = e.cast(e.node("IsNaN", x.value), DTYPES["bool"], DTYPES["int32"])
        first = along(e, "ArgMax", first, DTYPES["int32"], axis, keepdims)
        return _unless_nan(e, x, None if axis is None else (axis,), keepdims, made, first)

    return run


KERNELS.update({"argmax": _argument("ArgMax"), "argmin": _argument("ArgMin")})


@kernel("cumulative_sum")
def cumulative_sum(
    e: Emit, x: Array, axis: int | None, dtype: DType | None, include_initial: bool, exclusive: bool, reverse: bool
) -> str:
    if include_initial:
        raise Refused("these arguments")
    source = e.cast(x.value, x.dtype, dtype or x.dtype)
    place = e.graph.constant(np.array(axis or 0, np.int64))
    flags = {"exclusive": int(exclusive), "reverse": int(reverse)}
    return e.over("CumSum", dtype or x.dtype, source, place, last=1, **flags)  # type: ignore[no-any-return]


# Creation


# Shapes


@kernel("tile")
def tile(e: Emit, x: Array, repeats: EngineSizes) -> str:
    rank = max(len(x.shape), len(repeats))
    times = [*(1,) * (rank - len(repeats)), *repeats]
    source = e.node("Reshape", x.value, e.graph.sizes((*(1,) * (rank - len(x.shape)), *x.shape)), allowzero=1)
    return e.node("Tile", source if rank > len(x.shape) else x.value, e.graph.sizes(times)) if rank else x.value  # type: ignore[no-any-return]


@kernel("slice")
def slice_(
    e: Emit, x: Array, starts: EngineSizes, stops: EngineSizes, axes: Axes, steps: EngineSizes, forward: bool
) -> str:
    places = list(range(len(starts))) if axes is None else [int(a) for a in axes]
    if not places:
        return x.value  # type: ignore[no-any-return]
    ends = [FAR if s is None else s for s in stops]
    first = [0 if s is None else s for s in starts]
    more = [] if steps is None else [e.graph.sizes(steps)]
    return e.node("Slice", x.value, e.graph.sizes(first), e.graph.sizes(ends), e.ints(places), *more)  # type: ignore[no-any-return]


FAR = 2**62


@kernel("pad")
def pad(e: Emit, x: Array, pads: EngineSizes, mode: str, value: Array, axes: Axes) -> str:
    if mode not in ("constant", "edge", "reflect"):
        raise Refused("these arguments")
    places = list(range(len(pads))) if axes is None else [int(a) for a in axes]
    if not places:
        return x.value  # type: ignore[no-any-return]
    flat = e.graph.sizes([low for low, _ in pads] + [high for _, high in pads])
    rest = [e.of(0 if value is None else value, x.dtype)] if mode == "constant" else [""]
    if x.dtype.name in _LACKING["Pad"]:
        wide = DTYPES["int64"]
        rest = [name and e.cast(name, x.dtype, wide) for name in rest]
    return e.over("Pad", x.dtype, x.value, flat, *rest, e.ints(places), last=1, mode=mode)  # type: ignore[no-any-return]


def _trilu(upper: int) -> Emitter:
    def run(e: Emit, x: Array, k: EngineSize) -> str:
        return e.over("Trilu", x.dtype, x.value, e.graph.scalar(k), last=1, upper=upper)  # type: ignore[no-any-return]

    return run


KERNELS.update({"tril": _trilu(0), "triu": _trilu(1)})
