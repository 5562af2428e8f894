"""The stacked results of a loop: the types of a turn's values, over sizes that all turns share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from typing import Any, NoReturn

from ..lang import codes, core, sweet
from ..lang.dtypes import DTYPES
from ..lang.node import Node, replace
from ..lang.source import Span
from ..lang.walk import walk
from . import shapes
from .code import FunctionCode, spelled
from .errors import fail
from .scope import Scope, ScopeEntry
from .sorts import describe, expand, sort_of
from .type_names import size_names


class LoopStack(Node):
    """A stacked result: its type, whose dimensions are names or numbers in their own scope."""

    name: sweet.Ident
    type: sweet.Type
    made: core.Stacked


class Stacks:
    """The stacked results of one loop, with a scope for their names. `own` are the names that the loop binds, which change
    from turn to turn."""

    def __init__(self, code: FunctionCode, own: Set[str]) -> None:
        self.code, self.own = code, own
        self.inner = Scope(code.scope)

    def stack(self, param: sweet.Param) -> LoopStack:
        """Return the type of a stacked result. Its names are bound outside, or stand for a size that all turns share."""
        if param.default is not None:
            fail(codes.E221, "a stacked value has no initial value: the body gives it", param.default.span)
        type_ = None if param.type is None else expand(self.code.unit, param.type)
        if isinstance(type_, sweet.NamedType) and type_.name in DTYPES:
            made = core.Stacked(param.span, param.name.name, (), core.DTypeLit(type_.span, DTYPES[type_.name]))
            return LoopStack(param.name, type_, made)
        if type_ is not None and not isinstance(type_, sweet.TensorType):
            fail(codes.E206, f"only tensors are stacked; `{param.name.name}` is {describe(sort_of(type_))}", param.span)
        scope, self.code.scope = self.code.scope, self.inner
        try:
            return self._stacked(param, type_)
        finally:
            self.code.scope = scope

    def _stacked(self, param: sweet.Param, type_: sweet.TensorType | None) -> LoopStack:
        name = param.name
        if type_ is None:
            _too_open(name, "shape and dtype", name.span)
        if isinstance(type_.shape, sweet.Unknown) and isinstance(type_.dtype, sweet.Unknown):
            return LoopStack(name, type_, core.Stacked(param.span, name.name, (), None))
        self._refuse_own(type_)
        dtype = type_.dtype
        unbound = isinstance(dtype, sweet.Name) and dtype.name not in DTYPES and not self.code.scope.find(dtype.name)
        if unbound or not isinstance(dtype, sweet.Name | sweet.Attr):
            _too_open(name, "dtype", type_.span if dtype is None else dtype.span)
        shape = type_.shape
        if isinstance(shape, sweet.Name) and self.code.scope.find(shape.name) is not None:
            items: tuple[sweet.Expr, ...] = (sweet.Splice(shape.span, sweet.Ident(shape.span, shape.name)),)
        elif isinstance(shape, sweet.ListExpr):
            items = shape.items
        else:
            _too_open(name, "shape", type_.span if shape is None else shape.span)
        spliced = any(isinstance(item, sweet.Splice) for item in items)
        once = {
            n for n, times in Counter(n.name for i in items for n in size_names(i)).items() if times == 1 and spliced
        }
        pairs = [self._dimension(name, item, once) for item in items]
        shown = sweet.ListExpr(items[0].span.to(items[-1].span) if items else type_.span, tuple(i for i, _ in pairs))
        kind = shapes.dtype(self.code, dtype)
        if isinstance(kind, core.DTypeOf):
            dtype, kind = self._named(dtype.span, kind, core.DTYPE, "dtype")
        made = core.Stacked(param.span, name.name, tuple(d for _, d in pairs), kind)
        return LoopStack(name, replace(type_, shape=shown, dtype=dtype), made)

    def _dimension(
        self, name: sweet.Ident, item: sweet.Expr, once: set[str]
    ) -> tuple[sweet.Expr, core.SizeExpr | core.Splice | None]:
        """Return a dimension for the type and for the core: None is a size that all turns share. Beside a splice a name that
        stands `once` is equivalent to `?`."""
        code = self.code
        if isinstance(item, sweet.Unknown):
            return item, None
        if isinstance(item, sweet.Dots) or (isinstance(item, sweet.Splice) and not code.scope.find(item.name.name)):
            _too_open(name, "rank", item.span)
        if isinstance(item, sweet.Splice):
            return item, shapes.splice(code, item)
        free = [n for n in size_names(item) if n.name not in DTYPES and code.scope.find(n.name) is None]
        if isinstance(item, sweet.Name) and free:
            return sweet.Unknown(item.span) if item.name in once else item, None
        if free:
            fail(
                codes.E229, f"`{free[0].name}` stands for a size that all turns share, and has to stand alone",
                free[0].span, help=f"write `?` for `{spelled(item.span)}`, or bind `{free[0].name}` before the loop",
            )  # fmt: skip
        size = shapes.size(code, item)
        if any(isinstance(n, core.DimOf | core.RankOf) for n in walk(size)):
            return self._named(item.span, size, core.SIZE, "size")
        return item, size

    def _named(self, span: Span, value: Any, sort: core.Sort, stem: str) -> tuple[sweet.Name, Any]:
        """Name a size or dtype of a tensor, since the body may bind the tensor again."""
        named = self.code.name(value, sort, stem)
        assert isinstance(named, core.SizeVar | core.DTypeVar)
        self.code.scope.bind(ScopeEntry(named.name, sort, named, span, "let"))
        return sweet.Name(span, named.name), named

    def _refuse_own(self, type_: sweet.TensorType) -> None:
        """Reject a name that the loop binds, which changes from turn to turn."""
        for node in walk(type_):
            if not isinstance(node, sweet.Name | sweet.Ident):
                continue
            if node.name in self.own and self.code.scope.find(node.name) is None:
                fail(
                    codes.E229, f"`{node.name}` changes from turn to turn, but all stacked values have one shape", node.span,
                    help="bind its sizes before the loop; `?` is a size that all turns share",
                )  # fmt: skip


def _too_open(name: sweet.Ident, what: str, span: Span) -> NoReturn:
    fail(
        codes.E227, f"the type of `{name.name}` has to give its {what}: no turn may run, and nothing else gives it", span,
        help=f"`stack ({name.name} : Tensor([n], float32))`; `?` is a size that all turns share",
    )  # fmt: skip
