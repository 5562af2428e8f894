"""A case of shape rules, written for another system, as an Rx program; or the reason why Rx has no such call.

The cases name operations, attributes and inputs as that system does. One entry of OPERATIONS says what the call is in Rx;
`attributes` are those that change the call, the others have to have the value that makes no difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Case = Mapping[str, Any]
Attrs = dict[str, Any]


class Skip(NamedTuple):
    reason: str


class Operation(NamedTuple):
    """`call(arguments, attributes)` is the Rx expression; `neutral` are attributes with the value that Rx has built in."""

    call: Callable[[list[str], Attrs], str]
    attributes: tuple[str, ...] = ()
    neutral: Mapping[str, Any] | None = None


def program(case: Case) -> str | Skip:
    """The program of one function `@f` whose result is the case's call."""
    operation = OPERATIONS[case["op"]]
    attrs = {k: v for k, v in case["attrs"].items() if v is not None}
    for name, value in attrs.items():
        if name in operation.attributes:
            continue
        built_in = (operation.neutral or {}).get(name, _MISSING)
        if built_in is _MISSING:
            return Skip(f"Rx has no {name} for {case['op']}")
        if built_in != value and built_in is not ANY:
            return Skip(f"{case['op']} in Rx is always {name}={built_in}")
    signature = _Signature()
    arguments = [signature.argument(given) for given in case["inputs"]]
    call = operation.call(arguments, attrs)
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

    def argument(self, given: Mapping[str, Any]) -> str:
        if "tuple" in given:
            return "[" + ", ".join(self.argument(item) for item in given["tuple"]) + "]"
        if "shape_value" in given:
            return self._sizes(given["shape_value"])
        if "prim_value" in given:
            self._use([given["prim_value"]])
            return str(given["prim_value"])
        name = f"x{len(self.tensors)}"
        shape = "[" + ", ".join(map(str, given["shape"])) + "]"
        self.dims.update(d for d in given["shape"] if isinstance(d, str) and d.isidentifier())
        dtype = f", {given['dtype']}" if given["dtype"] else ""
        self.tensors.append(f"{name} : Tensor({shape}{dtype})")
        return name

    def _sizes(self, sizes: list[Any]) -> str:
        self._use(sizes)
        return "[" + ", ".join(map(str, sizes)) + "]"

    def _use(self, sizes: list[Any]) -> None:
        for size in sizes:
            self.sizes.update(dict.fromkeys(re.findall(r"[A-Za-z_]\w*", str(size))))


# The tables

INTEGER_RESULTS = {
    "divide": "`/` on integer tensors is an error: `//`, or a cast first",
    "atan2": "an angle is no integer: a cast first",
}


def _named(name: str, *attributes: str) -> Operation:
    """A call of the primitive `name`; `attributes` keep their names and values."""

    def call(args: list[str], attrs: Attrs) -> str:
        given = [f"{a}={_literal(attrs[a])}" for a in attributes if a in attrs]
        return f"@{name}({', '.join([*args, *given])})"

    return Operation(call, attributes)


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _attrs(operation: Operation, **neutral: Any) -> Operation:
    return Operation(operation.call, operation.attributes, neutral)


def _matmul(args: list[str], attrs: Attrs) -> str:
    # The type in which products are added up: in Rx that of the operands.
    dtype = attrs.get("out_dtype")
    return f"@matmul({', '.join(f'@cast({a}, {dtype})' if dtype else a for a in args)})"


def _pads(padding: list[int]) -> str:
    """There the padding before each axis comes first, then that behind each."""
    half = len(padding) // 2
    return "[" + ", ".join(f"({low}, {high})" for low, high in zip(padding[:half], padding[half:], strict=True)) + "]"


def _conv(name: str) -> Operation:
    def call(args: list[str], attrs: Attrs) -> str:
        dtype = attrs.get("out_dtype")
        operands = [f"@cast({a}, {dtype})" if dtype else a for a in args]
        given = [f"strides={attrs['strides']}", f"dilations={attrs['dilation']}", f"groups={attrs['groups']}"]
        return f"@{name}({', '.join([*operands, *given])}, pads={_pads(attrs['padding'])})"

    attributes = ("strides", "dilation", "groups", "padding", "out_dtype")
    spatial = {"1": "W", "2": "HW", "3": "DHW"}[name[-2]]
    return Operation(call, attributes, {"data_layout": "NC" + spatial, "kernel_layout": "OI" + spatial})


def _max_pool(name: str) -> Operation:
    def call(args: list[str], attrs: Attrs) -> str:
        given = [f"kernel_shape={attrs['pool_size']}", f"strides={attrs['strides']}", f"dilations={attrs['dilation']}"]
        given += [f"pads={_pads(attrs['padding'])}", f"ceil_mode={_literal(attrs['ceil_mode'])}"]
        return f"@{name}({', '.join([*args, *given])})"

    spatial = {"1": "W", "2": "HW", "3": "DHW"}[name[-2]]
    # Of the largest element no padding counts.
    neutral = {"layout": "NC" + spatial, "count_include_pad": ANY}
    return Operation(call, ("pool_size", "strides", "dilation", "padding", "ceil_mode"), neutral)


def _split(args: list[str], attrs: Attrs) -> str:
    how = attrs["indices_or_sections"]
    given = f"sections={how}, uneven=true" if isinstance(how, int) else f"indices={_literal(how)}"
    return f"@split({args[0]}, {given}, axis={attrs['axis']})"


def _cumulative(name: str) -> Operation:
    def call(args: list[str], attrs: Attrs) -> str:
        # Without an axis the other system flattens first; the array API, and Rx, ask for an axis unless the rank is 1.
        operand = args[0] if "axis" in attrs else f"@flatten({args[0]})"
        given = [f"{a}={attrs[a]}" for a in ("axis", "dtype") if a in attrs]
        return f"@{name}({', '.join([operand, *given])})"

    return Operation(call, ("axis", "dtype"), {"exclusive": False})


def _fma(args: list[str], attrs: Attrs) -> str:
    return f"{args[0]} * {args[1]} + {args[2]}"


def _flip(args: list[str], attrs: Attrs) -> str:
    return f"@flip({args[0]}, axis={attrs['axis']})"


_SAME_NAME = [
    "add", "divide", "floor_divide", "multiply", "atan2", "subtract", "maximum", "minimum", "equal", "greater",
    "greater_equal", "less", "less_equal", "not_equal", "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh",
    "ceil", "cos", "cosh", "exp", "floor", "log", "negative", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh",
    "square", "sqrt", "tan", "tanh", "tril", "triu", "flatten", "broadcast_to", "reshape", "where", "clip",
]  # fmt: skip

OPERATIONS: dict[str, Operation] = {
    **{name: _named(name) for name in _SAME_NAME},
    "power": _named("pow"),
    "mod": _named("remainder"),
    "floor_mod": _named("remainder"),
    "full_like": _named("full_like", "dtype"),
    "ones_like": _named("ones_like", "dtype"),
    "zeros_like": _named("zeros_like", "dtype"),
    "astype": Operation(lambda args, attrs: f"@cast({args[0]}, {attrs['dtype']})", ("dtype",)),
    # An index out of range is undefined there ("fast"); in Rx it is an error when it runs.
    "take": _attrs(_named("take", "axis"), mode="fast"),
    "matmul": Operation(_matmul, ("out_dtype",)),
    "permute_dims": _named("permute_dims", "axes"),
    "expand_dims": _named("expand_dims", "axis"),
    "squeeze": _named("squeeze", "axis"),
    "concat": _named("concat", "axis"),
    "split": Operation(_split, ("axis", "indices_or_sections")),
    "repeat": _named("repeat", "repeats", "axis"),
    "tile": _named("tile", "repeats"),
    "flip": Operation(_flip, ("axis",)),
    "nn.relu": _named("relu"),
    "nn.leakyrelu": _named("leaky_relu", "alpha"),
    "nn.silu": _named("silu"),
    # beta scales the operand; the threshold only says from where on softplus(x) is rounded to x.
    "nn.softplus": _attrs(_named("softplus"), beta=1.0, threshold=ANY),
    "nn.softmax": _named("softmax", "axis"),
    "nn.log_softmax": _named("log_softmax", "axis"),
    **{f"nn.conv{n}d": _conv(f"conv{n}d") for n in (1, 2, 3)},
    **{f"nn.max_pool{n}d": _max_pool(f"max_pool{n}d") for n in (1, 2, 3)},
    "argmax": _named("argmax", "axis", "keepdims"),
    "argmin": _named("argmin", "axis", "keepdims"),
    **{name: _named(name, "axis", "keepdims") for name in ("sum", "max", "prod", "std", "min", "mean")},
    "variance": _named("var", "axis", "keepdims"),
    "cumprod": _cumulative("cumulative_prod"),
    "cumsum": _cumulative("cumulative_sum"),
    "ewise_fma": Operation(_fma),
}
