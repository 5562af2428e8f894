"""A case of shape rules, written for another system, as an Rx program; or the reason why Rx has no such call.

The cases name operations, attributes and inputs as that system does. One entry of OPERATIONS says what the call is in Rx;
`attributes` are those that change the call, the others have to have the value that makes no difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Case = Mapping[str, Any]
Attrs = dict[str, Any]


class Skip(NamedTuple):
    reason: str


class Argument(str):
    """An argument's text; `shape` is what the case says of a tensor, `items` are the arguments in a tuple."""

    shape: Sequence[Any] = ()
    dtype: str | None = None
    items: Sequence[Argument] = ()

    @property
    def rank(self) -> int:
        return len(self.shape)


class Operation(NamedTuple):
    """`call(arguments, attributes)` is the Rx expression (or statements that end in one); `neutral` are attributes with the
    value that Rx has built in."""

    call: Callable[[list[Argument], Attrs], str | Skip]
    attributes: tuple[str, ...] = ()
    neutral: Mapping[str, Any] | None = None


def program(case: Case) -> str | Skip:
    """The program of one function `@f` whose result is the case's call."""
    operation = OPERATIONS.get(case["op"])
    if operation is None:
        return Skip(f"Rx has no {case['op']}")
    attrs = {k: v for k, v in case["attrs"].items() if v is not None}
    for name, value in attrs.items():
        if name in operation.attributes:
            continue
        built_in = (operation.neutral or {}).get(name, "" if name == "out_layout" else _MISSING)
        if built_in is _MISSING:
            return Skip(f"Rx has no {name} for {case['op']}")
        if built_in != value and built_in is not ANY:
            return Skip(f"{case['op']} in Rx is always {name}={built_in}")
    signature = _Signature()
    arguments = [signature.argument(given) for given in case["inputs"]]
    call = operation.call(arguments, attrs)
    if isinstance(call, Skip):
        return call
    return f"@f = fn({', '.join(signature.params())}) {{\n  {call}\n}}\n"


def refused_on_purpose(case: Case) -> str | None:
    """Why Rx refuses a call that the other system allows."""
    integers = any(str(i.get("dtype")).startswith(("int", "uint")) for i in case["inputs"])
    return INTEGER_RESULTS.get(case["op"]) if integers else None


_MISSING = object()
ANY = object()


class _Signature:
    """The parameters of `@f`, grown argument by argument."""

    def __init__(self) -> None:
        self.tensors: list[str] = []
        self.dims: set[str] = set()
        self.sizes: dict[str, None] = {}

    def params(self) -> list[str]:
        return [f"{name} : Size" for name in self.sizes if name not in self.dims] + self.tensors

    def argument(self, given: Mapping[str, Any]) -> Argument:
        if "tuple" in given:
            items = [self.argument(item) for item in given["tuple"]]
            found = Argument(f"[{', '.join(items)}]")
            found.items = items
            return found
        if "shape_value" in given:
            found = Argument(self._sizes(given["shape_value"]))
            found.items = [Argument(size) for size in given["shape_value"]]
            return found
        if "prim_value" in given:
            self._use([given["prim_value"]])
            return Argument(given["prim_value"])
        return self._tensor(given.get("shape"), given.get("dtype"))

    def _tensor(self, sizes: list[Any] | None, dtype: str | None) -> Argument:
        name = Argument(f"x{len(self.tensors)}")
        name.shape, name.dtype = sizes or (), dtype
        shape = "?" if sizes is None else "[" + ", ".join(map(str, sizes)) + "]"
        self.dims.update(d for d in name.shape if isinstance(d, str) and d.isidentifier())
        self.tensors.append(f"{name} : Tensor({shape}{f', {dtype}' if dtype else ''})")
        return name

    def _sizes(self, sizes: list[Any]) -> str:
        self._use(sizes)
        return "[" + ", ".join(map(str, sizes)) + "]"

    def _use(self, sizes: list[Any]) -> None:
        for size in sizes:
            self.sizes.update(dict.fromkeys(re.findall(r"[A-Za-z_]\w*", str(size))))


# How a call is written

INTEGER_RESULTS = {
    "divide": "`/` on integer tensors is an error: `//`, or a cast first",
    "atan2": "an angle is no integer: a cast first",
}
Call = Callable[[list[Argument], Attrs], str | Skip]


def _call(name: str, args: Sequence[str], **attributes: Any) -> str:
    given = [f"{a}={_literal(value)}" for a, value in attributes.items() if value is not None]
    return f"@{name}({', '.join([*args, *given])})"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(_literal, value))}]" if isinstance(value, list | tuple) else str(value)


def _text(value: str) -> str:
    return f'"{value}"'


def _named(name: str, *attributes: str, **neutral: Any) -> Operation:
    """A call of the primitive `name`; `attributes` keep their names and values."""

    def call(args: list[Argument], attrs: Attrs) -> str:
        return _call(name, args, **{a: attrs[a] for a in attributes if a in attrs})

    return Operation(call, attributes, neutral)


def _written(*attributes: str, **neutral: Any) -> Callable[[Call], Operation]:
    """The decorated function writes the call."""
    return lambda call: Operation(call, attributes, neutral)


def _cast(arg: str, dtype: str | None) -> str:
    return f"@cast({arg}, {dtype})" if dtype else arg


def _summed_in(args: Sequence[str], attrs: Attrs) -> list[str]:
    """The type in which products are added up: in Rx that of the operands."""
    return [_cast(arg, attrs.get("out_dtype")) for arg in args]


def _axes(value: Any) -> list[int]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _moved(arg: str, source: list[int], destination: list[int]) -> str:
    return arg if source == destination else f"@moveaxis({arg}, {source}, {destination})"


# Layouts: a letter for each axis


def _laid_out(arg: str, layout: str, wanted: str) -> str:
    """The tensor with the axes of one layout in the order of another."""
    return arg if layout == wanted else f"@permute_dims({arg}, {[layout.index(c) for c in wanted]})"


def _plain(*layouts: str) -> bool:
    """Whether the layouts only order the axes; `NCHW4c` also cuts one up."""
    return all(layout.isalpha() and layout.isupper() for layout in layouts)


def _spatial(name: str) -> str:
    return {"1": "W", "2": "HW", "3": "DHW"}[next(c for c in name if c.isdigit())]


def _in_layout(args: list[Argument], attrs: Attrs, own: str, write: Callable[[list[str]], str]) -> str | Skip:
    """A call on x in our layout, its result in the layout that is asked for."""
    layout = attrs.get("layout", own)
    out = attrs.get("out_layout") or layout
    if not _plain(layout, out):
        return Skip(f"Rx has no layout {layout} to {out}")
    return _laid_out(write([_laid_out(args[0], layout, own), *args[1:]]), own, out)


def _pads(padding: list[int], count: int) -> str:
    """There the padding before each axis comes first, then that behind each; or one entry for all, or one for each."""
    low = padding[: max(len(padding) // 2, 1)] if len(padding) != count or count == 2 else padding
    high = padding[len(padding) // 2 :] if len(padding) == 2 * count else low
    return "[" + ", ".join(f"({a}, {b})" for a, b in zip(low, high, strict=True)) + "]"


def _conv(name: str, kernel: str) -> Operation:
    spatial = _spatial(name)

    def call(args: list[Argument], attrs: Attrs) -> str | Skip:
        layout = attrs.get("kernel_layout", kernel + spatial)
        if not _plain(layout):
            return Skip(f"Rx has no layout {layout}")
        x, weight = _summed_in(args, attrs)
        given = {a: attrs[a] for a in ("strides", "groups", "output_padding") if a in attrs}
        given["pads"] = Argument(_pads(_axes(attrs["padding"]), len(spatial))) if "padding" in attrs else None
        operands = [Argument(x), Argument(_laid_out(weight, layout, kernel + spatial))]
        laid = {"layout": attrs.get("data_layout", "NC" + spatial), "out_layout": attrs.get("out_layout")}
        return _in_layout(
            operands, laid, "NC" + spatial, lambda a: _call(name, a, dilations=attrs.get("dilation"), **given)
        )  # fmt: skip

    attributes = ("strides", "dilation", "groups", "padding", "output_padding", "out_dtype")
    return Operation(call, (*attributes, "data_layout", "kernel_layout", "out_layout"))


def _pool(name: str, counts: bool) -> Operation:
    """`counts` says whether count_include_pad matters; of the largest element no padding counts."""
    spatial = _spatial(name)

    def call(args: list[Argument], attrs: Attrs) -> str | Skip:
        given = {a: attrs[a] for a in ("ceil_mode", *(["count_include_pad"] if counts else [])) if a in attrs}
        given |= {"strides": attrs.get("strides", [1]), "dilations": attrs.get("dilation")}
        given["pads"] = Argument(_pads(_axes(attrs["padding"]), len(spatial))) if "padding" in attrs else None
        size = attrs.get("pool_size", [1])
        return _in_layout(args, attrs, "NC" + spatial, lambda a: _call(name, a, kernel_shape=size, **given))

    attributes = ("pool_size", "strides", "dilation", "padding", "ceil_mode", "count_include_pad")
    return Operation(call, (*attributes, "layout", "out_layout"))


def _adaptive(name: str) -> Operation:
    spatial = _spatial(name)

    def call(args: list[Argument], attrs: Attrs) -> str | Skip:
        def write(operands: list[str]) -> str:
            if "output_size" not in attrs:
                return _call(f"average_pool{len(spatial)}d", operands, kernel_shape=1)
            sizes = _axes(attrs["output_size"])
            return _call(
                "adaptive_average_pool", operands, output_shape=sizes * (len(spatial) if len(sizes) == 1 else 1)
            )

        return _in_layout(args, attrs, "NC" + spatial, write)

    return Operation(call, ("output_size", "layout", "out_layout"))


def _resize(spatial: str) -> Operation:
    def call(args: list[Argument], attrs: Attrs) -> str | Skip:
        method = attrs.get("method", "linear")
        mode = _text("nearest" if method.startswith("nearest") else method)
        sizes = args[1].items or [args[1]] * len(spatial)
        resized = _in_layout(
            args, attrs, "NC" + spatial, lambda a: _call("resize", a[:1], sizes=list(sizes), mode=Argument(mode))
        )
        return resized if isinstance(resized, Skip) else _cast(resized, attrs.get("out_dtype"))

    # How positions are computed and rounded does not change the shape.
    ways = (
        "roi",
        "coordinate_transformation_mode",
        "rounding_method",
        "cubic_alpha",
        "cubic_exclude",
        "extrapolation_value",
    )
    return Operation(call, ("method", "layout", "out_dtype"), dict.fromkeys(ways, ANY))


# Normalisation


@_written("axis", "epsilon", center=True, scale=True, momentum=ANY, training=ANY)
def _batch_norm(args: list[Argument], attrs: Attrs) -> str:
    x, *weights = args
    channels = [attrs.get("axis", 1)]
    made = _call("batch_normalization", [_moved(x, channels, [1]), *weights], epsilon=attrs.get("epsilon"))
    return f"({_moved(made, [1], channels)}, {weights[2]}, {weights[3]})"


def _trailing(name: str) -> Operation:
    """Normalisation over the last axes, where others are moved before."""

    def call(args: list[Argument], attrs: Attrs) -> str:
        axes = _axes(attrs.get("axes", -1))
        last = list(range(-len(axes), 0))
        made = _call(name, [_moved(args[0], axes, last), *args[1:]], axis=-len(axes), epsilon=attrs.get("epsilon"))
        return _moved(made, last, axes)

    return Operation(call, ("axes", "epsilon"), {"center": True, "scale": True})


def _by_channel(name: str) -> Operation:
    def call(args: list[Argument], attrs: Attrs) -> str:
        channels = [attrs.get("channel_axis", 1)]
        given = {a: attrs[a] for a in ("num_groups", "epsilon") if a in attrs}
        return _moved(_call(name, [_moved(args[0], channels, [1]), *args[1:]], **given), [1], channels)

    # The other axes are those that Rx takes.
    return Operation(call, ("num_groups", "channel_axis", "epsilon"), {"axes": ANY, "center": True, "scale": True})


# Other layers


@_written("upscale_factor")
def _pixel_shuffle(args: list[Argument], attrs: Attrs) -> str:
    return _call("pixel_shuffle", args, factor=attrs["upscale_factor"])


@_written("pad_width", "pad_mode", pad_value=ANY)
def _pad(args: list[Argument], attrs: Attrs) -> str:
    mode = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    width = attrs["pad_width"]
    pairs = list(zip(width[::2], width[1::2], strict=True))
    return f"@pad({args[0]}, {pairs}, mode={_text(mode[attrs.get('pad_mode', 'constant')])})"


@_written("reduction", "ignore_index")
def _nll_loss(args: list[Argument], attrs: Attrs) -> str:
    x, target, *weight = args
    how = attrs.get("reduction", "mean")
    given = {"reduction": Argument(_text(how)), "ignore_index": attrs.get("ignore_index")}
    if x.rank > 1:
        return _call("nll_loss", args, **given)
    batch = _call("nll_loss", [f"@expand_dims({x})", f"@expand_dims({target})", *weight], **given)
    return f"@squeeze({batch}, axis=0)" if how == "none" else batch


@_written("scale", "causal_mask")
def _attention(args: list[Argument], attrs: Attrs) -> str:
    heads = [_laid_out(arg, "BSNH", "BNSH") for arg in args[:3]]
    causal = attrs.get("causal_mask") == "TopLeft" or None
    return _laid_out(_call("attention", [*heads, *args[3:]], causal=causal, scale=attrs.get("scale")), "BNSH", "BSNH")


@_written("axis")
def _prelu(args: list[Argument], attrs: Attrs) -> str:
    channels = [attrs.get("axis", 1)]
    return _moved(_call("prelu", [_moved(args[0], channels, [1]), args[1]]), [1], channels)


# Shapes and places


@_written("axis", "indices_or_sections")
def _split(args: list[Argument], attrs: Attrs) -> str:
    how = attrs["indices_or_sections"]
    given = {"sections": how, "uneven": True} if isinstance(how, int) else {"indices": how}
    return _call("split", args, **given, axis=attrs.get("axis", 0))


@_written("axis")
def _concat(args: list[Argument], attrs: Attrs) -> str:
    if "axis" in attrs:
        return _call("concat", args, axis=attrs["axis"])
    # Without an axis vectors alone are joined.
    return f"@concat([{', '.join(f'@permute_dims({x}, [0])' for x in args[0].items)}])"


@_written("assume_inbound", assume_inbound=ANY)
def _strided_slice(args: list[Argument], attrs: Attrs) -> str:
    x, axes, begin, end, *strides = args
    steps = strides[0] if strides else None
    return _call("slice", [x, begin, end], axes=axes, steps=steps)


def _collapse(args: list[Argument], attrs: Attrs) -> str:
    """The sum over the axes along which the target would be broadcast to x."""
    x, target = args
    wanted = list(target.shape or target.items)
    ahead = x.rank - len(wanted)
    if ahead < 0:
        return f"@broadcast_to({target}, {x})"
    gone = [*range(ahead), *(ahead + i for i, d in enumerate(wanted) if str(d) == "1" != str(x.shape[ahead + i]))]
    shape = "[" + ", ".join(map(str, wanted)) + "]"
    return f"@reshape(@sum({x}, axis={gone}), {shape})" if gone else f"@reshape({x}, {shape})"


def _places(indices: Sequence[Argument]) -> str:
    """Index tensors, broadcast, as the places that @gather_nd takes."""
    zeros = [f"(@cast({i}, int64) - @cast({i}, int64))" for i in indices]
    spread = [" + ".join([f"@cast({i}, int64)", *zeros]) for i in indices]
    return f"@stack([{', '.join(spread)}], axis=-1)"


@_written("axis", "start", "end", "step")
def _slice_scatter(args: list[Argument], attrs: Attrs) -> str:
    x, source, *bounds = args
    axis = attrs.get("axis", 0)
    start, end, step = bounds or (attrs["start"], attrs["end"], attrs.get("step", 1))
    return f"@put({x}, @arange({start}, min({end}, {x}.dim({axis})), {step}), {source}, axis={axis})"


def _scatter(name: str) -> Operation:
    def call(args: list[Argument], attrs: Attrs) -> str:
        how = attrs.get("reduction", "update")
        given = {"axis": attrs["axis"]} if "axis" in attrs else {}
        return _call(name, args, **given, reduction=Argument(_text("none" if how == "update" else how)))

    return Operation(call, ("axis", "reduction"))


@_written("depth", "axis")
def _one_hot(args: list[Argument], attrs: Attrs) -> str:
    indices, on, _ = args
    dtype = "int64" if str(on).lstrip("-").isdigit() else "float32"
    return _moved(f"@one_hot({indices}, {attrs['depth']}, dtype={dtype})", [-1], [attrs.get("axis", -1)])


@_written("dtype")
def _arange(args: list[Argument], attrs: Attrs) -> str | Skip:
    if any("." in arg for arg in args):
        return Skip("@arange counts in whole numbers")
    return _call("arange", args, dtype=attrs.get("dtype"))


@_written("dtype")
def _eye_like(args: list[Argument], attrs: Attrs) -> str:
    x, *offset = args
    dtype = attrs.get("dtype") or x.dtype or "float32"
    return f"let y = @permute_dims({x}, [0, 1])\n  " + _call("eye", ["y.dim(0)", "y.dim(1)", *offset], dtype=dtype)


# Reductions and order


def _cumulative(name: str) -> Operation:
    def call(args: list[Argument], attrs: Attrs) -> str:
        # Without an axis the other system flattens first; the array API, and Rx, ask for an axis unless the rank is 1.
        operand = args[0] if "axis" in attrs else f"@flatten({args[0]})"
        return _call(name, [operand], axis=attrs.get("axis"), dtype=attrs.get("dtype"))

    # Sums that leave the element itself out have the same shape.
    return Operation(call, ("axis", "dtype"), {"exclusive": ANY})


@_written("axis", "keepdims")
def _median(args: list[Argument], attrs: Attrs) -> str:
    """The lower of the two middle elements, as PyTorch has it, with its place where an axis is given."""
    (x,) = args
    if "axis" not in attrs:
        shape = [1] * x.rank if attrs.get("keepdims") else []
        return f"let y = @flatten({x})\n  @reshape(@take(@sort(y), (y.dim(0) - 1) // 2), {shape})"
    axis = _axes(attrs["axis"])[0]
    picked = [
        f"@take(@{order}({x}, axis={axis}), ({x}.dim({axis}) - 1) // 2, axis={axis})" for order in ("sort", "argsort")
    ]
    if attrs.get("keepdims"):
        picked = [f"@expand_dims({p}, axis={axis})" for p in picked]
    return f"({', '.join(picked)})"


@_written("axis", "descending", "dtype")
def _argsort(args: list[Argument], attrs: Attrs) -> str:
    given = {a: attrs[a] for a in ("axis", "descending") if a in attrs}
    return _cast(_call("argsort", args, **given), attrs.get("dtype"))


@_written("k", "axis", "ret_type", "largest", "dtype")
def _topk(args: list[Argument], attrs: Attrs) -> str:
    axis, k = attrs.get("axis", -1), attrs.get("k", 1)
    count = k if not isinstance(k, int) or k > 0 else f"{args[0]}.dim({axis})"
    found = _call("topk", args, k=count, axis=axis, largest=attrs.get("largest"))
    parts = {"values": "v", "indices": _cast("i", attrs.get("dtype"))}
    how = attrs.get("ret_type", "both")
    return f"let (v, i) = {found}\n  " + (f"({', '.join(parts.values())})" if how == "both" else parts[how])


@_written("out_int32", "right")
def _bucketize(args: list[Argument], attrs: Attrs) -> str:
    side = "right" if attrs.get("right") else "left"
    found = f"@searchsorted({args[1]}, {args[0]}, side={_text(side)})"
    return _cast(found, "int32" if attrs.get("out_int32") else None)


# The tables

_SAME_NAME = [
    "add", "divide", "floor_divide", "multiply", "atan2", "subtract", "maximum", "minimum", "equal", "greater",
    "greater_equal", "less", "less_equal", "not_equal", "logical_and", "logical_or", "logical_xor", "logical_not",
    "bitwise_and", "bitwise_or", "bitwise_xor", "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos",
    "cosh", "erf", "exp", "floor", "log", "log2", "log10", "log1p", "expm1", "negative", "round", "trunc", "rsqrt",
    "sigmoid", "sign", "sin", "sinh", "square", "sqrt", "tan", "tanh", "hypot", "copysign", "reciprocal", "isnan",
    "isinf", "isfinite", "tril", "triu", "flatten", "broadcast_to", "reshape", "where", "clip", "outer", "size",
    "linear",
]  # fmt: skip

_OTHER_NAME = {
    "power": "pow", "mod": "remainder", "floor_mod": "remainder", "log_add_exp": "logaddexp",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift", "bitwise_not": "bitwise_invert",
    "shape_to_tensor": "identity", "shape_of": "shape", "nn.relu": "relu", "nn.silu": "silu", "nn.selu": "selu",
    "nn.gelu": "gelu",
}  # fmt: skip

OPERATIONS: dict[str, Operation] = {
    **{name: _named(name) for name in _SAME_NAME},
    **{theirs: _named(ours) for theirs, ours in _OTHER_NAME.items()},
    **{
        name: _named(name, "dtype") for name in ("full", "full_like", "ones", "ones_like", "zeros", "zeros_like", "eye")
    },
    "arange": _arange,
    "eye_like": _eye_like,
    "one_hot": _one_hot,
    "astype": Operation(lambda args, attrs: _cast(args[0], attrs["dtype"]), ("dtype",)),
    "ewise_fma": Operation(lambda args, attrs: f"{args[0]} * {args[1]} + {args[2]}"),
    # An index out of range is undefined there ("fast"); in Rx it is an error when it runs.
    "take": _named("take", "axis", mode=ANY),
    "gather_elements": _named("gather_elements", "axis"),
    "gather_nd": _named("gather_nd", "batch_dims"),
    "scatter_elements": _scatter("scatter_elements"),
    "scatter_nd": _scatter("scatter_nd"),
    "slice_scatter": _slice_scatter,
    "index_tensor": Operation(lambda args, attrs: f"@gather_nd({args[0]}, {_places(args[1].items)})"),
    "index_put": Operation(
        lambda args, attrs: f"@scatter_nd({args[0]}, {_places(args[1].items or args[1:2])}, {args[2]})",
        (),
        {"accumulate": ANY},
    ),
    "strided_slice": _strided_slice,
    "matmul": Operation(lambda args, attrs: _call("matmul", _summed_in(args, attrs)), ("out_dtype",)),
    "einsum": Operation(lambda args, attrs: _call("einsum", [_text(attrs["subscripts"]), *args]), ("subscripts",)),
    "permute_dims": _named("permute_dims", "axes"),
    "expand_dims": _named("expand_dims", "axis"),
    "squeeze": _named("squeeze", "axis"),
    "concat": _concat,
    "stack": _named("stack", "axis"),
    "split": _split,
    "repeat": _named("repeat", "repeats", "axis"),
    "tile": _named("tile", "repeats"),
    "flip": _named("flip", "axis"),
    "collapse_sum_like": Operation(_collapse),
    "collapse_sum_to": Operation(_collapse),
    "meshgrid": Operation(
        lambda args, attrs: _call("meshgrid", args, indexing=Argument(_text(attrs.get("indexing", "ij")))),
        ("indexing",),
    ),
    "nn.leakyrelu": _named("leaky_relu", "alpha"),
    "nn.prelu": _prelu,
    "nn.relu6": Operation(lambda args, attrs: f"@clip({args[0]}, 0, 6)"),
    "nn.gelu_tanh": Operation(lambda args, attrs: f'@gelu({args[0]}, approximate="tanh")'),
    # beta scales the operand; the threshold only says from where on softplus(x) is rounded to x.
    "nn.softplus": _named("softplus", beta=ANY, threshold=ANY),
    "nn.softmax": _named("softmax", "axis"),
    "nn.log_softmax": _named("log_softmax", "axis"),
    "nn.dropout": Operation(lambda args, attrs: f"(@dropout({args[0]}), @ones_like({args[0]}))", (), {"rate": ANY}),
    "nn.batch_flatten": Operation(lambda args, attrs: f"@flatten(@expand_dims({args[0]}, axis=-1), start=1)"),
    "nn.batch_norm": _batch_norm,
    "nn.layer_norm": _trailing("layer_norm"),
    "nn.rms_norm": _trailing("rms_norm"),
    "nn.group_norm": _by_channel("group_normalization"),
    "nn.instance_norm": _by_channel("instance_normalization"),
    "nn.attention": _attention,
    "nn.attention_bias": _attention,
    "nn.pad": _pad,
    "nn.pixel_shuffle": _pixel_shuffle,
    "nn.nll_loss": _nll_loss,
    # The labels are probabilities, and nothing is broadcast.
    "nn.cross_entropy_with_logits": _named("softmax_cross_entropy"),
    **{f"nn.conv{n}d": _conv(f"conv{n}d", "OI") for n in (1, 2, 3)},
    **{f"nn.conv{n}d_transpose": _conv(f"conv_transpose{n}d", "IO") for n in (1, 2, 3)},
    **{f"nn.max_pool{n}d": _pool(f"max_pool{n}d", counts=False) for n in (1, 2, 3)},
    **{f"nn.avg_pool{n}d": _pool(f"average_pool{n}d", counts=True) for n in (1, 2, 3)},
    **{f"nn.adaptive_avg_pool{n}d": _adaptive(f"adaptive_average_pool{n}d") for n in (1, 2, 3)},
    "image.resize2d": _resize("HW"),
    "image.resize3d": _resize("DHW"),
    **{
        name: _named(name, "axis", "keepdims")
        for name in ("argmax", "argmin", "sum", "max", "prod", "std", "min", "mean")
    },
    "variance": _named("var", "axis", "keepdims"),
    "median": _median,
    "cumprod": _cumulative("cumulative_prod"),
    "cumsum": _cumulative("cumulative_sum"),
    "sort": _named("sort", "axis", "descending"),
    "argsort": _argsort,
    "topk": _topk,
    "bucketize": _bucketize,
}
