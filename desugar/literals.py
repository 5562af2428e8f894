"""Tensor literals: `tensor([[1, 2], [3, 4]], int8)` to its shape and its values."""

from __future__ import annotations

from math import isinf
from sys import float_info

from ..lang import codes, core, sweet
from ..lang.diagnostics import Label
from ..lang.dtypes import DTYPES, DType, int_range
from ..lang.source import Span
from . import shapes
from .code import FunctionCode
from .errors import count, fail, problem

_DEFAULTS = {"int": "int64", "float": "float64", "bool": "bool", "str": "string"}
_WORDS = {"int": "an integer", "float": "a float", "bool": "a truth value", "str": "a string"}
# Decimal numbers above these round to infinity.
_LARGEST = {
    "float16": 65519.99, "bfloat16": 3.3961775292304601e38, "float32": 3.4028235677973366e38, "float4_e2m1fn": 6.0,
    "float8_e4m3fn": 464.0, "float8_e4m3fnuz": 248.0, "float8_e5m2": 61439.99, "float8_e5m2fnuz": 61439.99,
    "float8_e8m0fnu": 2.0**127, "complex64": 3.4028235677973366e38,
}  # fmt: skip

Scalar = int | float | bool | str


def tensor(code: FunctionCode, call: sweet.Call) -> core.TensorLit:
    """Translate a call of `tensor`."""
    values, dtype = _arguments(code, call)
    rows: list[sweet.ListExpr] = []
    leaves: list[tuple[Scalar, sweet.Expr]] = []
    _read(values, 0, rows, leaves)
    kinds = {_kind(v) for v, _ in leaves}
    if dtype is None:
        dtype = _default(call, leaves, kinds)
    return core.TensorLit(
        call.span, tuple(len(r.items) for r in rows), tuple(fit(v, at, dtype) for v, at in leaves), dtype
    )


def _arguments(code: FunctionCode, call: sweet.Call) -> tuple[sweet.Expr, DType | None]:
    given: dict[str, sweet.Expr] = {}
    for position, arg in enumerate(call.args):
        name = arg.name.name if arg.name else ("values", "dtype", "?")[min(position, 2)]
        if name not in ("values", "dtype") or name in given:
            fail(codes.E205, "tensor takes its values and a dtype", arg.span, help="`tensor([[1, 2], [3, 4]], int8)`")
        given[name] = arg.value
    if "values" not in given:
        fail(codes.E205, "tensor is called without values", call.span, help="`tensor([1, 2, 3], int8)`")
    if "dtype" not in given:
        return given["values"], None
    dtype = shapes.dtype(code, given["dtype"])
    if not isinstance(dtype, core.DTypeLit):
        fail(codes.E220, "the dtype of a literal has to be literal", given["dtype"].span, help="`int8`, `float32`, ...")
    return given["values"], dtype.dtype


def _read(expr: sweet.Expr, level: int, rows: list[sweet.ListExpr], leaves: list[tuple[Scalar, sweet.Expr]]) -> None:
    """Read the rows of an expression, depth first; `rows` has the first row at each level, which sets the length of all."""
    if isinstance(expr, sweet.ListExpr):
        if level == len(rows):
            if leaves:
                label = Label(leaves[0][1].span, "this is a number")
                fail(codes.E211, "a list stands where the rows before have a number", expr.span, labels=(label,))
            rows.append(expr)
        elif len(rows[level].items) != len(expr.items):
            own, first = count(len(expr.items), "element"), len(rows[level].items)
            label = Label(rows[level].span, f"this has {first}")
            fail(codes.E211, f"this row has {own}, the first one has {first}", expr.span, labels=(label,))
        for item in expr.items:
            _read(item, level + 1, rows, leaves)
        return
    if level != len(rows):
        label = Label(rows[level].span, "this is a list")
        fail(codes.E211, "a number stands where the rows before have a list", expr.span, labels=(label,))
    leaves.append((_scalar(expr), expr))


def _scalar(expr: sweet.Expr, sign: int = 1) -> Scalar:
    match expr:
        case sweet.IntLit():
            return sign * expr.value
        case sweet.FloatLit():
            return sign * expr.value
        case sweet.BoolLit() | sweet.StrLit() if sign == 1:
            return expr.value
        case sweet.Unary(op="+" | "-", operand=sweet.IntLit() | sweet.FloatLit()):
            return _scalar(expr.operand, -1 if expr.op == "-" else 1)
    raise problem(
        codes.E211, "a tensor literal is made of literal numbers", expr.span,
        help="`@stack` and `@concat` put computed tensors together",
    )  # fmt: skip


def _kind(value: Scalar) -> str:
    return type(value).__name__


def _default(call: sweet.Call, leaves: list[tuple[Scalar, sweet.Expr]], kinds: set[str]) -> DType:
    if not kinds:
        fail(codes.E211, "an empty literal needs a dtype", call.span, help="`tensor([], float32)`")
    if len(kinds) > 1:
        first = _kind(leaves[0][0])
        other, at = next((v, at) for v, at in leaves if _kind(v) != first)
        fail(
            codes.E211, f"{_WORDS[_kind(other)]} among elements that begin with {_WORDS[first]}", at.span,
            labels=(Label(leaves[0][1].span, f"this is {_WORDS[first]}"),), help="give the literal a dtype",
        )  # fmt: skip
    return DTYPES[_DEFAULTS[kinds.pop()]]


def fit(value: Scalar, at: sweet.Expr, dtype: DType) -> Scalar:
    """Return the value as an element of the dtype."""
    kind = _kind(value)
    allowed = {"bool": ("bool",), "string": ("str",), "float": ("int", "float"), "complex": ("int", "float")}
    if kind not in allowed.get(dtype.kind, ("int",)):
        fail(codes.E211, f"{_WORDS[kind]} cannot be an element of {dtype}", at.span)
    if isinstance(value, bool | str):
        return value
    if dtype.kind in ("int", "uint"):
        low, high = int_range(dtype)
        if not low <= value <= high:
            fail(codes.E211, f"{_shown(value)} does not fit {dtype}: it holds {low} to {high}", at.span)
        return value
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if isinf(number) or abs(number) > _LARGEST.get(dtype.name, float("inf")):
        fail(codes.E211, f"{_shown(value)} is too large for {dtype}", at.span)
    return number


def _shown(value: int | float) -> str:
    return str(value) if abs(value) < 10**20 else "this number"


def settled(value: core.Value, type_: sweet.Type | None) -> core.Value:
    """Return a number that is no operand as a tensor of the annotated dtype, if that can hold it, else of int64, float64 or
    bool."""
    if isinstance(value, core.Number):
        dtype = _dtype_of_number(value.value, type_, value.span)
        return core.TensorLit(value.span, (), (_element(value.value, dtype, value.span),), dtype)
    if not isinstance(value, core.TupleValue):
        return value
    types = type_.items if isinstance(type_, sweet.TupleType) else (None,) * len(value.items)
    if len(types) != len(value.items):
        return value
    return core.TupleValue(value.span, tuple(settled(v, t) for v, t in zip(value.items, types, strict=True)))


def _element(number: Scalar, dtype: DType, span: Span) -> Scalar:
    """Return the number as an element of the dtype: a finite one stays finite, an infinite one infinite."""
    if isinstance(number, bool | str) or dtype.kind not in ("float", "complex"):
        return number
    if not (isinstance(number, float) and isinf(number)) and abs(number) > _LARGEST.get(dtype.name, float_info.max):
        fail(codes.E211, f"{_shown(number)} is too large for {dtype}", span)
    return float(number)


def _dtype_of_number(number: Scalar, type_: sweet.Type | None, span: Span) -> DType:
    asked = DTYPES.get(_dtype_name(type_) or "")
    default = DTYPES[_DEFAULTS[_kind(number)]]
    if asked is not None and _holds(asked, number):
        return asked
    if asked is not None and isinstance(number, int) and _kind(number) == "int" and asked.kind in ("int", "uint"):
        low, high = int_range(asked)
        fail(codes.E211, f"{_shown(number)} does not fit {asked}: it holds {low} to {high}", span)
    if not _holds(default, number):
        fail(codes.E211, f"{number} does not fit {default}", span)
    return default


def _dtype_name(type_: sweet.Type | None) -> str | None:
    if isinstance(type_, sweet.NamedType):
        return type_.name
    if isinstance(type_, sweet.TensorType) and isinstance(type_.dtype, sweet.Name):
        return type_.dtype.name
    return None


def _holds(dtype: DType, number: Scalar) -> bool:
    if isinstance(number, bool) or dtype.kind in ("bool", "string"):
        return isinstance(number, bool) and dtype.kind == "bool"
    if dtype.kind in ("int", "uint"):
        low, high = int_range(dtype)
        return isinstance(number, int) and low <= number <= high
    return True
