"""A primitive's signature in Rx to its row: parameters, dtype column and a shape rule like those written in Python.

`prim @embedding = fn(ids : Tensor([*s], i), table : Tensor([v, d], t)) : Tensor([*s, d], t) where i in integer` binds names
that stand alone, requires equality where one occurs again, and builds the result from them. It runs over symbolic sizes and
over plain integers alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..lang import sweet
from ..lang.dtypes import DTYPES
from ..lang.parser import parse_beside
from ..lang.source import Source
from .model import Ctx, Dim, Primitive, PrimitiveParam, RankUnknown, Segment, TensorInfo
from .requirements import Argument, Axis, Equal, Is, Other, RankAtLeast, RankIs, WrittenSize

_KINDS = {"Size": "size", "Shape": "shape", "DType": "dtype", "Bool": "bool", "float64": "float", "int64": "int"}


class BadSignature(ValueError):
    """A prelude row that this module cannot read: an error of the project itself."""


def row_from_signature(text: str, doc: str, onnx: tuple[str, ...] = ()) -> Primitive:
    """The row of one `prim` declaration."""
    module, diagnostics = parse_beside(Source("<prelude>", text))
    if diagnostics or len(module.items) != 1 or not isinstance(module.items[0], sweet.FnDecl):
        raise BadSignature(f"not one declaration: {text}")
    decl = module.items[0]
    return Primitive(
        decl.name.name, tuple(_param(p) for p in decl.fn.params), _dtype_column(decl.fn), _Rule(decl.fn),
        doc, signature=text, onnx=onnx,
    )  # fmt: skip


def _param(param: sweet.Param) -> PrimitiveParam:
    if isinstance(param.type, sweet.TensorType):
        return PrimitiveParam(param.name.name, "tensor")
    if isinstance(param.type, sweet.NamedType) and param.type.name in _KINDS:
        return PrimitiveParam(param.name.name, _KINDS[param.type.name], param.default is None, _literal(param.default))
    raise BadSignature(f"parameter {param.name.name}")


def _literal(default: sweet.Expr | None) -> Any:
    match default:
        case None:
            return None
        case sweet.IntLit() | sweet.FloatLit() | sweet.BoolLit() | sweet.StrLit():
            return default.value
        case sweet.Unary(op="-", operand=sweet.IntLit() | sweet.FloatLit() as number):
            return -number.value
    raise BadSignature("a default that is no literal")


# The dtype column


def _dtype_column(fn: sweet.Fn) -> str:
    classes = {
        c.item.name: ", ".join(n.name for n in c.choices) if not c.braces else _braced(c)
        for c in fn.where
        if isinstance(c, sweet.InClass) and isinstance(c.item, sweet.Name)
    }
    seen: set[str] = set()
    words = [_word(p.type, classes, seen) for p in fn.params if isinstance(p.type, sweet.TensorType)]
    return f"{', '.join(words)} -> {_word(fn.result, classes, seen)}"


def _braced(cond: sweet.InClass) -> str:
    return "{" + ", ".join(n.name for n in cond.choices) + "}"


def _word(type_: sweet.Type | None, classes: dict[str, str], seen: set[str]) -> str:
    if not isinstance(type_, sweet.TensorType) or not isinstance(type_.dtype, sweet.Name):
        raise BadSignature("a tensor without a dtype")
    name = type_.dtype.name
    if name in DTYPES:
        return name
    var = name.upper()
    if name in seen:
        return var
    seen.add(name)
    return f"{var}:{classes.get(name, 'any')}"


# The shape rule


class _Rule:
    """The signature as a shape rule: called with a context and the parameters in order."""

    def __init__(self, fn: sweet.Fn) -> None:
        self.fn = fn

    def __call__(self, ctx: Ctx, *given: Any) -> tuple[Any, ...]:
        scope = _Scope(ctx)
        later: list[Callable[[], None]] = []
        for param, value in zip(self.fn.params, given, strict=True):
            if isinstance(value, TensorInfo) and isinstance(param.type, sweet.TensorType):
                later.extend(scope.match(param.name.name, param.type, value))
            else:
                scope.sizes[param.name.name] = value
        for check in later:
            check()
        for cond in self.fn.where:
            if isinstance(cond, sweet.Binary) and not scope.bounds_result(cond):
                scope.require_condition(cond)
        assert isinstance(self.fn.result, sweet.TensorType)
        return scope.build(self.fn.result)


class _Scope:
    """The values of names in one call."""

    def __init__(self, ctx: Ctx) -> None:
        self.ctx = ctx
        self.sizes: dict[str, Dim] = {}
        self.splices: dict[str, tuple[Any, ...]] = {}
        self.places: dict[str, Axis] = {}
        self.bounds: dict[str, Dim] = {}

    def bounds_result(self, cond: sweet.Binary) -> bool:
        """Record `k <= n` as a fact, not a requirement, if only the result has k; return whether it did."""
        if cond.op == "<=" and isinstance(cond.left, sweet.Name) and cond.left.name not in self.sizes:
            self.bounds[cond.left.name] = self.size(cond.right)
            return True
        return False

    def match(self, param: str, type_: sweet.TensorType, value: TensorInfo) -> list[Callable[[], None]]:
        """Bind the names that stand alone; return the other checks, to run when every name is bound."""
        assert isinstance(type_.shape, sweet.ListExpr)
        items = type_.shape.items
        at = next((i for i, item in enumerate(items) if isinstance(item, sweet.Splice)), None)
        if at is None:
            dims = self.ctx.dims(value)
            if len(dims) != len(items):
                self.ctx.fail(RankIs(Argument(param), len(items), len(dims)))
            pairs = [(i, item, dims[i]) for i, item in enumerate(items)]
            return [c for i, item, dim in pairs for c in self._dim(param, i, item, dim)]
        front, tail = items[:at], items[at + 1 :]
        head, rest, back = _around(self.ctx, param, value, len(front), len(tail))
        checks = [c for i, item in enumerate(front) for c in self._dim(param, i, item, head[i])]
        checks += [c for i, item in enumerate(tail) for c in self._dim(param, i - len(tail), item, back[i])]
        splice = items[at]
        assert isinstance(splice, sweet.Splice)
        return [*checks, *self._splice(param, splice.name.name, rest)]

    def _dim(self, param: str, axis: int, item: sweet.Expr, dim: Dim) -> list[Callable[[], None]]:
        own = Axis(param, axis, dim)
        if isinstance(item, sweet.Name):
            if item.name not in self.sizes:
                self.sizes[item.name], self.places[item.name] = dim, own
                return []
            first = self.places.get(item.name)
            if first is not None:
                return [lambda: self.ctx.require(Equal(first, own))]
        return [lambda: self.ctx.require(Is(own, WrittenSize(item.span.text, self.size(item))))]

    def _splice(self, param: str, name: str, rest: tuple[object, ...]) -> list[Callable[[], None]]:
        if name not in self.splices:
            self.splices[name], self.places[name] = rest, Axis(param, 0)
            return []
        known, first = self.splices[name], self.places[name].param
        return [lambda: self._same(known, rest, first, param)]

    def _same(self, a: tuple[object, ...], b: tuple[object, ...], first: str, param: str) -> None:
        if any(isinstance(d, Segment) for d in a + b):
            if a != b:
                raise RankUnknown
            return
        if len(a) != len(b):
            given = (Argument(first), Argument(param))
            self.ctx.fail(Other("{0} and {1} to have the same leading dimensions", given))
        for axis, (x, y) in enumerate(zip(a, b, strict=True)):
            self.ctx.require(Equal(Axis(first, axis, x), Axis(param, axis, y)))

    def build(self, type_: sweet.TensorType) -> tuple[Any, ...]:
        """The result's shape."""
        assert isinstance(type_.shape, sweet.ListExpr)
        parts: list[Any] = []
        for item in type_.shape.items:
            if isinstance(item, sweet.Splice):
                parts.extend(self.splices[item.name.name])
            else:
                parts.append(self.size(item))
        return tuple(parts)

    def size(self, expr: sweet.Expr) -> Dim:
        match expr:
            case sweet.IntLit():
                return expr.value
            case sweet.Name():
                if expr.name not in self.sizes:  # only the data decides it
                    self.sizes[expr.name] = self.ctx.fresh(expr.name, 0, self.bounds.get(expr.name))
                return self.sizes[expr.name]
            case sweet.Binary(op="+"):
                return self.size(expr.left) + self.size(expr.right)
            case sweet.Binary(op="-"):
                return self.size(expr.left) - self.size(expr.right)
            case sweet.Binary(op="*"):
                return self.size(expr.left) * self.size(expr.right)
            case sweet.Binary(op="//"):
                return self.size(expr.left) // self.size(expr.right)
        raise BadSignature(f"a size that a prelude row cannot have: {expr.span.text}")

    def require_condition(self, cond: sweet.Binary) -> None:
        left, right = self.size(cond.left), self.size(cond.right)
        if cond.op in (">", ">="):
            left, right = right, left
        compare = {"==": self.ctx.eq, "<=": self.ctx.le, ">=": self.ctx.le, "<": self.ctx.lt, ">": self.ctx.lt}
        made = compare[cond.op](left, right)
        self.ctx.require(Other("{0}", (WrittenSize(f"`{cond.span.text}`", None),)), made)


def _around(
    ctx: Ctx, param: str, value: TensorInfo, front: int, tail: int
) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """The first `front` and last `tail` dimensions, and the part between, which may have unknown length."""
    shape = value.shape
    if not any(isinstance(d, Segment) for d in shape):
        dims = ctx.dims(value)
        if len(dims) < front + tail:
            ctx.fail(RankAtLeast(Argument(param), front + tail, len(dims)))
        return dims[:front], dims[front : len(dims) - tail], dims[len(dims) - tail :]
    head, back = shape[:front], shape[len(shape) - tail :]
    if len(shape) < front + tail + 1 or any(isinstance(d, Segment) for d in head + back):
        raise RankUnknown
    return head, shape[front : len(shape) - tail], back
