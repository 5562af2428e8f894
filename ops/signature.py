"""A primitive's signature in Rx to its row: parameters, dtype column and a shape rule like those written in Python.

`prim @embedding = fn(ids : Tensor([*s], i), table : Tensor([v, d], t)) : Tensor([*s, d], t) where i in integer` binds the names
that stand alone, requires equality wherever one occurs again, and builds the result from them. It runs over symbolic sizes
and over plain integers alike. A row has tensors alone for parameters, and names alone for sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..lang import sweet
from ..lang.dtypes import DTYPES
from ..lang.parser import parse_beside
from ..lang.source import Source
from .model import Ctx, Dim, Primitive, PrimitiveParam, RankUnknown, Segment, TensorInfo
from .requirements import Argument, Axis, Equal, RankAtLeast, RankIs


class BadSignature(ValueError):
    """A prelude row that this module cannot read: a mistake of the project's own."""


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
    raise BadSignature(f"parameter {param.name.name}")


# The dtype column


def _dtype_column(fn: sweet.Fn) -> str:
    classes = {
        c.item.name: ", ".join(n.name for n in c.choices)
        for c in fn.where
        if isinstance(c, sweet.InClass) and isinstance(c.item, sweet.Name)
    }
    seen: set[str] = set()
    words = [_word(p.type, classes, seen) for p in fn.params if isinstance(p.type, sweet.TensorType)]
    return f"{', '.join(words)} -> {_word(fn.result, classes, seen)}"


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
            assert isinstance(param.type, sweet.TensorType)
            later.extend(scope.match(param.name.name, param.type, value))
        for check in later:
            check()
        for cond in self.fn.where:
            if isinstance(cond, sweet.Binary):
                scope.bound_result(cond)
        assert isinstance(self.fn.result, sweet.TensorType)
        return scope.build(self.fn.result)


class _Scope:
    """Names and what they stand for while one call is looked at."""

    def __init__(self, ctx: Ctx) -> None:
        self.ctx = ctx
        self.sizes: dict[str, Dim] = {}
        self.splices: dict[str, tuple[Any, ...]] = {}
        self.places: dict[str, Axis] = {}
        self.bounds: dict[str, Dim] = {}

    def bound_result(self, cond: sweet.Binary) -> None:
        """`k <= n` of a k that only the result has is no requirement but what is known of it."""
        if cond.op != "<=" or not isinstance(cond.left, sweet.Name) or cond.left.name in self.sizes:
            raise BadSignature(f"a condition that a prelude row cannot have: {cond.span.text}")
        self.bounds[cond.left.name] = self.size(cond.right)

    def match(self, param: str, type_: sweet.TensorType, value: TensorInfo) -> list[Callable[[], None]]:
        """Bind the names that stand alone; give back the checks of all the rest, to run when every name is bound."""
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
        if splice.name.name in self.splices:
            raise BadSignature(f"a part of a shape that a prelude row has twice: {splice.name.name}")
        self.splices[splice.name.name] = rest
        return checks

    def _dim(self, param: str, axis: int, item: sweet.Expr, dim: Dim) -> list[Callable[[], None]]:
        own = Axis(param, axis, dim)
        if not isinstance(item, sweet.Name):
            raise BadSignature(f"a size that a prelude row cannot have: {item.span.text}")
        if item.name not in self.sizes:
            self.sizes[item.name], self.places[item.name] = dim, own
            return []
        first = self.places[item.name]
        return [lambda: self.ctx.require(Equal(first, own))]

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
        if not isinstance(expr, sweet.Name):
            raise BadSignature(f"a size that a prelude row cannot have: {expr.span.text}")
        if expr.name not in self.sizes:  # only the data decides it
            self.sizes[expr.name] = self.ctx.fresh(expr.name, 0, self.bounds.get(expr.name))
        return self.sizes[expr.name]


def _around(
    ctx: Ctx, param: str, value: TensorInfo, front: int, tail: int
) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """The first `front` and last `tail` dimensions, and what lies between, which may have unknown length."""
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
