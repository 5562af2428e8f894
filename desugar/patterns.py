"""Annotations to assertions: names bound to parts of tensors, everything else asserted once.

`x : Tensor([n, m * 4], int8)` becomes `assert x.rank == 2; assert x.dim(1) % 4 == 0; assert x.dtype == int8`, with n standing
for `x.dim(0)` and m for `x.dim(1) / 4`. An assertion comes as soon as its names are bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from ..lang import core, sweet
from ..lang.diagnostics import RxError
from ..lang.node import replace
from ..lang.source import Span
from . import shapes
from .binding import AnnotatedTensor, Binder, Bound, BoundAxis
from .code import FunctionCode, spelled
from .errors import Broken
from .invert import Inverse
from .scope import SHAPE_SORTS
from .type_names import size_names, type_names
from .worklist import Worklist
from .written import annotation


def solve(
    code: FunctionCode, leaves: list[AnnotatedTensor], named: bool, kind: str = "size", later: sweet.Type | None = None
) -> list[Bound]:
    """Bind the names of some annotations in the current scope and add their assertions to the current block.

    `named`: each name gets a `let`; otherwise it stands for its value (in the wrapper of a function). `later` is an
    annotation that is solved afterwards, with the names bound here.
    """
    solver = PatternSolver(code, leaves, named, kind, later)
    solver.bind()
    solver.emit()
    return solver.bound


class PatternPart:
    """A piece of an annotation: the rank, one dimension, the whole shape, a pattern with a splice, the dtype.

    `needs` and `gives` are names; `#3` is the rank of the third annotated tensor. `make` makes the statements once all of
    `needs` are bound.
    """

    __slots__ = ("needs", "gives", "make")

    def __init__(self, needs: set[str], gives: set[str], make: Callable[[], list[core.Stmt]]) -> None:
        self.needs, self.gives, self.make = needs, gives, make


# For the dtype and the shape of an annotation: the core's node for the tensor's, and the reader of the annotation.
_WHOLE: dict[str, tuple[type[core.DTypeOf | core.ShapeOf], Callable[[FunctionCode, sweet.Expr], core.ShapeLevel]]] = {
    "dtype": (core.DTypeOf, shapes.dtype),
    "shape": (core.ShapeOf, shapes.shape),
}


class PatternSolver(Binder):
    """Adds the assertions of annotations to the current block. `axes_of` are an annotation's dimensions, `standing_in` the
    names bound by a dimension of it; `solved` are names by the objects that bind them."""

    def __init__(
        self, code: FunctionCode, leaves: list[AnnotatedTensor], named: bool, kind: str, later: sweet.Type | None
    ) -> None:
        super().__init__(code, leaves, named, kind, later)
        self.axes_of: defaultdict[int, list[BoundAxis]] = defaultdict(list)
        self.standing_in: defaultdict[int, set[str]] = defaultdict(set)
        self.solved: dict[int, str] = {}

    def emit(self) -> None:
        declared = [self._declared(i) for i in range(len(self.leaves))]
        for axis in self.axes:
            self.axes_of[axis.leaf].append(axis)
        for name, (leaf, by) in self.binder.items():
            if isinstance(by, BoundAxis):
                self.standing_in[leaf].add(name)
            self.solved[id(by)] = name
        parts: list[PatternPart] = []
        for i in range(len(self.leaves)):
            if i not in self.bad_leaves:
                try:
                    parts.extend(self._parts(i, declared[i]))
                except RxError as problem:
                    self.code.report(problem)
        ready: set[str] = set()
        waiting = Worklist[PatternPart](lambda part: part.needs <= ready)
        for part in parts:
            waiting.put(part, part.needs)
            while (found := waiting.take()) is not None:
                self.code.emit(*found.make())
                ready |= found.gives
                waiting.wake(found.gives)

    def _declared(self, leaf: int) -> core.Declared:
        here = self.leaves[leaf]
        bound = []
        for name in dict.fromkeys(n.name for n in type_names(here.type)):
            entry = self.code.scope.find(name)
            if entry is None or entry.expr is None or self.binder.get(name, (-1,))[0] == leaf:
                continue
            if entry.sort in SHAPE_SORTS:
                bound.append((name, entry.expr))
        written = annotation(here.type)
        return core.Declared(
            here.span, here.kind, here.subject, here.tensor, written, tuple(bound), self.code.function, here.position  # type: ignore[arg-type]
        )  # fmt: skip

    def _parts(self, i: int, declared: core.Declared) -> Iterator[PatternPart]:
        leaf = self.leaves[i]
        if isinstance(leaf.type, sweet.NamedType):
            yield self._rank(i, 0, leaf.type.span, declared)
            yield self._whole(i, sweet.Name(leaf.type.span, leaf.type.name), "dtype", declared)
            return
        if not isinstance(leaf.type, sweet.TensorType):
            return
        shape = self.shapes[i]
        if isinstance(shape, sweet.ListExpr):
            yield (
                self._match(i, shape, declared)
                if self._splices(i)
                else self._rank(i, len(shape.items), shape.span, declared)
            )
            for axis in self.axes_of[i]:
                yield from self._dimension(axis, declared)
        elif shape is not None:
            yield self._whole(i, shape, "shape", declared)
        if leaf.type.dtype is not None and not isinstance(leaf.type.dtype, sweet.Unknown):
            yield self._whole(i, leaf.type.dtype, "dtype", declared)

    def _origin(
        self, leaf: int, span: Span, what: str, declared: core.Declared, axis: int | None = None
    ) -> core.Origin:
        claim = self.leaves[leaf].kind not in ("asserting", "match_shape")
        return core.Origin(span, what, claim, declared, axis, spelled(span))

    def _let(self, name: str) -> list[core.Stmt]:
        """Return the `let` of a bound name, if names get one."""
        if not self.named:
            return []
        found = self.bound[self.order[name]]
        return [core.Let(found.span, (found.name,), False, found.sort, found.expr)]

    def _rank(self, i: int, rank: int, span: Span, declared: core.Declared) -> PatternPart:
        tensor = self.leaves[i].tensor
        origin = self._origin(i, span, "rank", declared)
        gives = set(self.standing_in[i])

        def make() -> list[core.Stmt]:
            cond = core.Compare(span, "==", core.RankOf(span, tensor), core.SizeLit(span, rank))
            stmts: list[core.Stmt] = [core.Assert(span, cond, None, origin)]
            for name in sorted(gives, key=self.order.__getitem__):
                stmts.extend(self._let(name))
            return stmts

        return PatternPart(set(), gives | {f"#{i}"}, make)

    def _whole(self, i: int, expr: sweet.Expr, what: str, declared: core.Declared) -> PatternPart:
        """Return a shape or dtype: the binding of its name, or an assertion that it equals the tensor's."""
        if isinstance(expr, sweet.Name) and self.binder.get(expr.name) == (i, what):
            name = expr.name
            return PatternPart(set(), {name}, lambda: self._let(name))
        of, read = _WHOLE[what]
        here = of(expr.span, self.leaves[i].tensor)
        wanted = read(self.code, expr)
        return self._assert(i, here, wanted, expr, self._origin(i, expr.span, what, declared), set())

    def _assert(
        self,
        i: int,
        here: core.ShapeLevel,
        wanted: core.ShapeLevel,
        expr: sweet.Expr,
        origin: core.Origin,
        extra: set[str],
    ) -> PatternPart:
        """Assert `here == wanted`, unless both are the same, once its names are bound."""
        needs = {n.name for n in size_names(expr)} & set(self.binder) | extra

        def make() -> list[core.Stmt]:
            if here == wanted:
                return []
            return [core.Assert(expr.span, core.Compare(expr.span, "==", here, wanted), None, origin)]

        return PatternPart(needs, set(), make)

    def _dimension(self, axis: BoundAxis, declared: core.Declared) -> Iterator[PatternPart]:
        i, expr = axis.leaf, axis.expr
        if isinstance(expr, sweet.Name) and self.binder.get(expr.name) == (i, axis):
            return
        names = {n.name for n in size_names(expr)}
        if names & self.broken:
            for name in names - self.broken:
                self._use(name)
            return
        origin = self._origin(i, expr.span, "dim", declared, axis.axis)
        inverse = self.inverses.get(id(axis))
        if inverse is not None:
            yield self._inverse(axis, inverse, origin)
        elif axis.axis is not None or id(axis) in self.between:
            try:
                wanted = shapes.size(self.code, expr)
            except RxError as problem:
                self.code.report(problem)
                return
            between = self.between.get(id(axis))
            here = self._dim(axis) if between is None else core.SizeVar(expr.span, between)
            yield self._assert(i, here, wanted, expr, origin, {f"#{i}"})

    def _use(self, name: str) -> None:
        entry = self.code.scope.find(name)
        if entry is not None:
            entry.used = True

    def _inverse(self, axis: BoundAxis, inverse: Inverse, origin: core.Origin) -> PatternPart:
        name = self.solved[id(inverse)]
        needs = ({n.name for n in size_names(axis.expr)} & set(self.binder)) - {name} | {f"#{axis.leaf}"}

        def make() -> list[core.Stmt]:
            checks: list[core.Stmt] = [core.Assert(axis.expr.span, c, None, origin) for c in inverse.checks]
            return checks + self._let(name)

        return PatternPart(needs, {name}, make)

    # Splices

    def _match(self, i: int, shape: sweet.ListExpr, declared: core.Declared) -> PatternPart:
        binds: list[str] = []
        needs: set[str] = set()
        gives = {f"#{i}"}
        dims: list[core.SizeExpr | core.Splice] = []
        by_position = {a.position: a for a in self.axes_of[i]}
        for position, item in enumerate(shape.items):
            match item:
                case sweet.Dots():
                    binds.append(self.code.fresh(core.REST))
                    dims.append(core.Splice(item.span, binds[-1]))
                case sweet.Splice():
                    dims.append(self._splice(i, item, binds, needs, gives))
                case sweet.Unknown():
                    dims.append(self._hole(i, position, len(shape.items), item, binds))
                case _:
                    dims.append(self._matched(by_position[position], binds, needs, gives))
        origin = self._origin(i, shape.span, "shape", declared)
        stmt = core.MatchShape(shape.span, self.leaves[i].tensor, tuple(binds), tuple(dims), origin)
        self._remember(i, stmt)
        return PatternPart(needs, gives, lambda: [stmt])

    def _remember(self, leaf: int, stmt: core.MatchShape) -> None:
        for name in stmt.binds:
            if name in self.places and self.binder.get(name, (leaf,))[0] == leaf:
                position = self.places[name]
                self.bound[position] = replace(self.bound[position], match=stmt)

    def _splice(self, i: int, item: sweet.Splice, binds: list[str], needs: set[str], gives: set[str]) -> core.Splice:
        name = item.name.name
        if name in self.broken:
            raise Broken
        if self.binder.get(name, (-1, None))[1] is item:
            core_name = self.bound[self.order[name]].name
            binds.append(core_name)
            gives.add(name)
            return core.Splice(item.span, core_name)
        needs |= {name} & set(self.binder)
        return shapes.splice(self.code, item)

    def _hole(self, i: int, position: int, length: int, item: sweet.Unknown, binds: list[str]) -> core.SizeExpr:
        """Return a dimension for `?`: beside a splice the tensor's own, which always matches; between two splices an unused
        name."""
        open_at = [p for p, it in enumerate(self._items(i)) if isinstance(it, sweet.Splice | sweet.Dots)]
        if position < open_at[0]:
            return core.DimOf(item.span, self.leaves[i].tensor, position)
        if position > open_at[-1]:
            return core.DimOf(item.span, self.leaves[i].tensor, position - length)
        binds.append(self.code.fresh("_size"))
        return core.SizeVar(item.span, binds[-1])

    def _matched(self, axis: BoundAxis, binds: list[str], needs: set[str], gives: set[str]) -> core.SizeExpr:
        """Return a dimension of a match: a new name is bound by it; otherwise the tensor's own dimension, or a generated name
        if the expression uses names that this very shape binds (both get a separate assertion)."""
        expr = axis.expr
        if isinstance(expr, sweet.Name) and self.binder.get(expr.name) == (axis.leaf, axis):
            found = self.bound[self.order[expr.name]]
            binds.append(found.name)
            gives.add(expr.name)
            return core.SizeVar(expr.span, found.name)
        if axis.axis is not None:
            return core.DimOf(expr.span, self.leaves[axis.leaf].tensor, axis.axis)
        names = {n.name for n in size_names(expr)}
        if id(axis) not in self.inverses and names & self.broken:
            raise Broken
        if id(axis) in self.inverses or any(self.binder.get(name, (-1,))[0] == axis.leaf for name in names):
            binds.append(self._generated(axis))
            gives.add(binds[-1])
            return core.SizeVar(expr.span, binds[-1])
        needs |= names & set(self.binder)
        return shapes.size(self.code, expr)
