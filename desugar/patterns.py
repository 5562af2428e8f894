"""Annotations to assertions: names bound by what they annotate, everything else asserted once.

`x : Tensor([n, m * 4], int8)` becomes `assert x.rank == 2; assert x.dim(1) % 4 == 0; assert x.dtype == int8`, with
n standing for `x.dim(0)` and m for `x.dim(1) / 4`. First names that stand alone are bound, over all annotations together, then
expressions with one unknown name that can be inverted, until nothing changes. An assertion comes as soon as the names are bound
that it speaks of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ..lang import core, sweet
from ..lang.diagnostics import Label, RxError, error
from ..lang.dtypes import DTYPES
from ..lang.node import Node, replace
from ..lang.source import Span
from . import shapes
from .code import Code, spelled
from .compounds import count, folded, is_any_size, names, smallest, spelling, uses
from .errors import Broken
from .invert import Inverse, NoInverse, invert, why_not
from .scope import SHAPE_SORTS, Entry, variable


class Leaf(Node):
    """One annotated tensor: its core name, its expanded type, and how a diagnostic speaks of it."""

    span: Span
    tensor: str
    type: sweet.Type
    kind: str
    subject: str
    position: int | None = None


class Bound(Node):
    """A name that an annotation bound: `spelling` is the user's, `name` the core's. `expr` is what it stands for over the
    tensor; `match` tells which match_shape binds it instead, if any."""

    spelling: str
    name: str
    sort: core.Sort
    expr: core.Value
    span: Span
    nonneg: bool
    match: core.MatchShape | None = None


class Part:
    """A piece of an annotation: the rank, one dimension, the whole shape, a pattern with a splice, the dtype.

    `needs` and `gives` are names; `#3` is the rank of the third annotated tensor. `make` makes the statements once everything
    in `needs` is there.
    """

    __slots__ = ("needs", "gives", "make")

    def __init__(self, needs: set[str], gives: set[str], make: Callable[[], list[core.Stmt]]) -> None:
        self.needs = needs
        self.gives = gives
        self.make = make


def solve(
    code: Code, leaves: list[Leaf], named: bool, kind: str = "size", later: sweet.Type | None = None
) -> list[Bound]:
    """Bind the names of some annotations in the scope at hand and add their assertions to the block at hand.

    `named`: each name gets a `let`; otherwise it stands for what binds it (the wrapper of a function). `later` is an
    annotation that is solved afterwards, with what is bound here.
    """
    return Solver(code, leaves, named, kind, later).run()


class Axis(Node):
    """One dimension of an annotation. `axis` is None between two splices, where no literal axis reaches it."""

    leaf: int
    expr: sweet.Expr
    axis: int | None
    position: int


class Solver:
    def __init__(self, code: Code, leaves: list[Leaf], named: bool, kind: str, later: sweet.Type | None) -> None:
        self.code = code
        self.leaves = leaves
        self.named = named
        self.kind = kind
        self.before = set(code.scope.names())
        self.shapes = [_shape(leaf.type) for leaf in leaves]
        self.later = list(_dimensions(later))
        self.axes = [axis for i in range(len(leaves)) for axis in self._axes(i)]
        self._fold(code.compounds)
        self.binder: dict[str, tuple[int, object]] = {}
        self.inverses: dict[int, Inverse] = {}
        self.between: dict[int, str] = {}
        self.bound: list[Bound] = []
        self.order: dict[str, int] = {}
        self.broken: set[str] = set()
        self.bad_leaves: set[int] = set()
        self.compound_names: dict[str, str] = {}

    def run(self) -> list[Bound]:
        self._bind_dtypes_and_shapes()
        self._bind_standing_alone()
        self._bind_splices()
        self._bind_by_inversion()
        while self._find_compound():
            self._bind_standing_alone()
            self._bind_by_inversion()
        self._refuse_what_is_left()
        self._emit()
        return self.bound

    # What there is

    def _axes(self, leaf: int) -> Iterator[Axis]:
        items = self._items(leaf)
        open_at = [i for i, item in enumerate(items) if isinstance(item, sweet.Splice | sweet.Dots)]
        for position, item in enumerate(items):
            if isinstance(item, sweet.Splice | sweet.Dots | sweet.Unknown):
                continue
            if not open_at or position < open_at[0]:
                yield Axis(leaf, item, position, position)
            elif position > open_at[-1]:
                yield Axis(leaf, item, position - len(items), position)
            else:
                yield Axis(leaf, item, None, position)

    def _items(self, leaf: int) -> tuple[sweet.Expr, ...]:
        shape = self.shapes[leaf]
        return shape.items if isinstance(shape, sweet.ListExpr) else ()

    def _splices(self, leaf: int) -> list[sweet.Splice | sweet.Dots]:
        return [i for i in self._items(leaf) if isinstance(i, sweet.Splice | sweet.Dots)]

    # Binding

    def _is_free(self, name: str) -> bool:
        return name not in self.before and name not in self.binder and name not in self.broken

    def _bind(self, name: sweet.Name | sweet.Ident, sort: core.Sort, expr: core.Value, leaf: int, by: object) -> None:
        """A name is bound: in scope it stands for `expr`, or for itself where it gets a `let`."""
        core_name = self._core_name(name.name)
        matched = bool(self._splices(leaf)) and sort != core.DTYPE and not isinstance(by, Inverse)
        stands_for = variable(name.span, core_name, sort) if self.named or matched else expr
        nonneg = sort == core.SIZE
        entry = Entry(name.name, sort, stands_for, name.span, self.kind, nonneg)
        self.code.scope.bind(entry)
        if (
            not isinstance(by, Inverse) and name.name not in self.code.compounds
        ):  # `[k * 64]` says something even if nothing uses k
            self.code.annotated.append(entry)
        self.binder[name.name] = (leaf, by)
        self.order[name.name] = len(self.bound)
        self.bound.append(Bound(name.name, core_name, sort, expr, name.span, nonneg))

    def _bind_dtypes_and_shapes(self) -> None:
        for i, leaf in enumerate(self.leaves):
            if not isinstance(leaf.type, sweet.TensorType):
                continue
            shape, dtype = self.shapes[i], leaf.type.dtype
            if isinstance(shape, sweet.Name) and self._is_free(shape.name):
                self._bind(shape, core.SHAPE, core.ShapeOf(shape.span, leaf.tensor), i, "shape")
            if isinstance(dtype, sweet.Name) and dtype.name not in DTYPES and self._is_free(dtype.name):
                self._bind(dtype, core.DTYPE, core.DTypeOf(dtype.span, leaf.tensor), i, "dtype")

    def _bind_standing_alone(self) -> None:
        for axis in self.axes:
            if isinstance(axis.expr, sweet.Name) and self._is_free(axis.expr.name):
                self._bind(axis.expr, core.SIZE, self._dim(axis), axis.leaf, axis)

    def _bind_splices(self) -> None:
        """At most one unknown splice in a shape; which ones are known may depend on the other shapes."""
        waiting = [i for i in range(len(self.leaves)) if self._splices(i)]
        while waiting:
            ready = [i for i in waiting if len(self._unknown_splices(i)) <= 1]
            if not ready:
                break
            for i in ready[:1]:
                for item in self._unknown_splices(i):
                    self._bind_splice(i, item)
                waiting.remove(i)
        for i in waiting:
            second = self._unknown_splices(i)[1]
            self._error("E209", "a shape can have only one splice of unknown length", second.span)
            self.bad_leaves.add(i)
            for item in self._unknown_splices(i):
                if isinstance(item, sweet.Splice):
                    self._break(item.name.name)

    def _unknown_splices(self, leaf: int) -> list[sweet.Splice | sweet.Dots]:
        found = self._splices(leaf)
        return [s for s in found if isinstance(s, sweet.Dots) or self._is_free(s.name.name)]

    def _bind_splice(self, leaf: int, item: sweet.Splice | sweet.Dots) -> None:
        if isinstance(item, sweet.Splice):
            self._bind(item.name, core.SHAPE, core.ShapeVar(item.span, item.name.name), leaf, item)

    def _dim(self, axis: Axis) -> core.SizeExpr:
        """The dimension itself; one that no literal axis reaches gets a name from the match_shape."""
        if axis.axis is not None:
            return core.DimOf(axis.expr.span, self.leaves[axis.leaf].tensor, axis.axis)
        if isinstance(axis.expr, sweet.Name):
            return core.SizeVar(axis.expr.span, self._core_name(axis.expr.name))
        return core.SizeVar(axis.expr.span, self._generated(axis))

    def _generated(self, axis: Axis) -> str:
        """The name of a dimension between two splices, where the user has given it none."""
        if id(axis) not in self.between:
            name, span = self.code.fresh("size"), axis.expr.span
            here = core.SizeVar(span, name)
            self.between[id(axis)] = name
            self.code.scope.bind(Entry(name, core.SIZE, here, span, "generated", True))
            self.binder[name] = (axis.leaf, axis)
            self.order[name] = len(self.bound)
            self.bound.append(Bound(name, name, core.SIZE, here, span, True))
        return self.between[id(axis)]

    def _bind_by_inversion(self) -> None:
        waiting = [a for a in self.axes if not isinstance(a.expr, sweet.Name) and a.leaf not in self.bad_leaves]
        while True:
            found = next((a for a in waiting if self._can_invert(a)), None)
            if found is None:
                return
            waiting.remove(found)
            self._invert(found)

    def _free_names(self, expr: sweet.Expr) -> list[sweet.Name]:
        return [n for n in size_names(expr) if self._is_free(n.name)]

    def _can_invert(self, axis: Axis) -> bool:
        free = self._free_names(axis.expr)
        if len(free) != 1:
            return False
        return why_not(self.code, axis.expr, free[0].name) is None

    def _invert(self, axis: Axis) -> None:
        name = self._free_names(axis.expr)[0]
        try:
            inverse = invert(self.code, axis.expr, name.name, self._dim(axis))
        except NoInverse as problem:
            self._error("E208", f"`{name.name}` cannot be solved for: {problem}", name.span)
            self._break(name.name)
            return
        except RxError as problem:
            self.code.report(problem)
            self._break(name.name)
            return
        self.inverses[id(axis)] = inverse
        self._bind(name, core.SIZE, inverse.value, axis.leaf, inverse)

    # Compounds

    def _core_name(self, name: str) -> str:
        """A compound is called after its names: `h * d` is `h_d`."""
        if name in self.code.compounds:
            return self.compound_names.setdefault(name, self.code.fresh("_".join(re.findall(r"\w+", name))))
        return self.code.core_name(name)

    def _fold(self, compounds: set[str]) -> None:
        if compounds:
            self.axes = [replace(a, expr=folded(a.expr, compounds)) for a in self.axes]
            self.later = [folded(e, compounds) for e in self.later]

    def _find_compound(self) -> bool:
        """A product or sum of unknown names that stands in several places is bound as one."""
        for axis in self.axes:
            free = {n.name for n in self._free_names(axis.expr)}
            if axis.leaf in self.bad_leaves or len(free) < 2:
                continue
            part = smallest(axis.expr, free)
            if is_any_size(part, free) and self._stands_together(part):
                self.code.compounds.add(spelling(part))
                self._fold({spelling(part)})
                return True
        return False

    def _stands_together(self, part: sweet.Expr) -> bool:
        """Whether a compound occurs twice, and its names nowhere else."""
        everywhere = [a.expr for a in self.axes] + self.later
        times = sum(count(e, spelling(part)) for e in everywhere)
        wanted = names(part)
        return times >= 2 and sum(uses(e, wanted) for e in everywhere) == times * len(wanted)

    # What cannot be bound

    def _error(
        self, code: str, message: str, span: Span, help: str | None = None, labels: tuple[Label, ...] = ()
    ) -> None:
        self.code.report(RxError(error(code, message, span, help=help, labels=labels)))

    def _break(self, name: str) -> None:
        self.broken.add(name)
        self.code.scope.bind(Entry(name, None, None, self.leaves[0].span, self.kind))

    def _refuse_what_is_left(self) -> None:
        for axis in self.axes:
            if axis.leaf not in self.bad_leaves:
                names = {n.name: n for n in self._free_names(axis.expr)}
                if names:
                    self._refuse(axis, list(names.values()))

    def _refuse(self, axis: Axis, names: list[sweet.Name]) -> None:
        """One error for a dimension that does not determine its names."""
        for name in names:
            self._break(name.name)
        dtype = next((n for n in names if n.name in DTYPES), None)
        if dtype is not None:
            return self._error("E206", f"`{dtype.name}` is a dtype, not a size", dtype.span)
        shown = spelled(axis.expr.span)
        first, others = names[0], " and ".join(f"`{n.name}`" for n in names[1:])
        if others:
            reason = f"`{shown}` has {others} as well, which nothing binds either"
        else:
            reason = why_not(self.code, axis.expr, first.name) or f"`{shown}` has no unique solution"
        return self._error(
            "E208", f"nothing says what `{first.name}` is: {reason}", first.span,
            help=f"use `{first.name}` alone as a dimension somewhere, or pass it: `{first.name} : Size`",
        )  # fmt: skip

    # Assertions

    def _emit(self) -> None:
        declared = [self._declared(i) for i in range(len(self.leaves))]
        parts: list[Part] = []
        for i in range(len(self.leaves)):
            if i not in self.bad_leaves:
                try:
                    parts.extend(self._parts(i, declared[i]))
                except RxError as problem:
                    self.code.report(problem)
        ready: set[str] = set()
        pending: list[Part] = []
        for part in parts:
            pending.append(part)
            self._flush(pending, ready)

    def _flush(self, pending: list[Part], ready: set[str]) -> None:
        while True:
            found = next((p for p in pending if p.needs <= ready), None)
            if found is None:
                return
            pending.remove(found)
            self.code.emit(*found.make())
            ready |= found.gives

    def _declared(self, leaf: int) -> core.Declared:
        here = self.leaves[leaf]
        bound = []
        for name in dict.fromkeys(n.name for n in type_names(here.type)):
            entry = self.code.scope.find(name)
            if entry is None or entry.expr is None or self.binder.get(name, (-1,))[0] == leaf:
                continue
            if entry.sort in SHAPE_SORTS:
                bound.append((name, entry.expr))
        return core.Declared(
            here.span, here.kind, here.subject, here.tensor, here.type, tuple(bound), self.code.function, here.position  # type: ignore[arg-type]
        )  # fmt: skip

    def _parts(self, i: int, declared: core.Declared) -> Iterator[Part]:
        leaf = self.leaves[i]
        if isinstance(leaf.type, sweet.NamedType):
            yield self._rank(i, 0, leaf.type.span, declared)
            yield self._dtype(i, sweet.Name(leaf.type.span, leaf.type.name), declared)
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
            for axis in self.axes:
                if axis.leaf == i:
                    yield from self._dimension(axis, declared)
        elif shape is not None:
            yield self._shape(i, shape, declared)
        if leaf.type.dtype is not None and not isinstance(leaf.type.dtype, sweet.Unknown):
            yield self._dtype(i, leaf.type.dtype, declared)

    def _origin(
        self, leaf: int, span: Span, what: str, declared: core.Declared, axis: int | None = None
    ) -> core.Origin:
        claim = self.leaves[leaf].kind not in ("asserting", "match_shape")
        return core.Origin(span, what, claim, declared, axis, spelled(span))

    def _let(self, name: str) -> list[core.Stmt]:
        """The `let` of a bound name, where names get one."""
        if not self.named:
            return []
        found = self.bound[self.order[name]]
        return [core.Let(found.span, (found.name,), False, found.sort, found.expr)]

    def _rank(self, i: int, rank: int, span: Span, declared: core.Declared) -> Part:
        tensor = self.leaves[i].tensor
        origin = self._origin(i, span, "rank", declared)
        gives = {n for n, (leaf, by) in self.binder.items() if leaf == i and isinstance(by, Axis)}

        def make() -> list[core.Stmt]:
            cond = core.Compare(span, "==", core.RankOf(span, tensor), core.SizeLit(span, rank))
            stmts: list[core.Stmt] = [core.Assert(span, cond, None, origin)]
            for name in sorted(gives, key=self.order.__getitem__):
                stmts.extend(self._let(name))
            return stmts

        return Part(set(), gives | {f"#{i}"}, make)

    def _dtype(self, i: int, expr: sweet.Expr, declared: core.Declared) -> Part:
        if isinstance(expr, sweet.Name) and self.binder.get(expr.name) == (i, "dtype"):
            name = expr.name
            return Part(set(), {name}, lambda: self._let(name))
        here = core.DTypeOf(expr.span, self.leaves[i].tensor)
        wanted = shapes.dtype(self.code, expr)
        return self._assert(i, here, wanted, expr, self._origin(i, expr.span, "dtype", declared), set())

    def _shape(self, i: int, expr: sweet.Expr, declared: core.Declared) -> Part:
        if isinstance(expr, sweet.Name) and self.binder.get(expr.name) == (i, "shape"):
            name = expr.name
            return Part(set(), {name}, lambda: self._let(name))
        here = core.ShapeOf(expr.span, self.leaves[i].tensor)
        wanted = shapes.shape(self.code, expr)
        return self._assert(i, here, wanted, expr, self._origin(i, expr.span, "shape", declared), set())

    def _assert(
        self,
        i: int,
        here: core.ShapeLevel,
        wanted: core.ShapeLevel,
        expr: sweet.Expr,
        origin: core.Origin,
        extra: set[str],
    ) -> Part:
        """`here == wanted`, unless it says nothing; once the names are bound that it speaks of."""
        needs = {n.name for n in size_names(expr)} & set(self.binder) | extra

        def make() -> list[core.Stmt]:
            if here == wanted:
                return []
            return [core.Assert(expr.span, core.Compare(expr.span, "==", here, wanted), None, origin)]

        return Part(needs, set(), make)

    def _dimension(self, axis: Axis, declared: core.Declared) -> Iterator[Part]:
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
        elif axis.axis is not None:
            try:
                wanted = shapes.size(self.code, expr)
            except RxError as problem:
                self.code.report(problem)
                return
            yield self._assert(i, self._dim(axis), wanted, expr, origin, {f"#{i}"})

    def _use(self, name: str) -> None:
        entry = self.code.scope.find(name)
        if entry is not None:
            entry.used = True

    def _inverse(self, axis: Axis, inverse: Inverse, origin: core.Origin) -> Part:
        name = next(n for n, (_, by) in self.binder.items() if by is inverse)
        needs = ({n.name for n in size_names(axis.expr)} & set(self.binder)) - {name} | {f"#{axis.leaf}"}

        def make() -> list[core.Stmt]:
            checks: list[core.Stmt] = [core.Assert(axis.expr.span, c, None, origin) for c in inverse.checks]
            return checks + self._let(name)

        return Part(needs, {name}, make)

    # Splices

    def _match(self, i: int, shape: sweet.ListExpr, declared: core.Declared) -> Part:
        binds: list[str] = []
        needs: set[str] = set()
        gives = {f"#{i}"}
        dims: list[core.SizeExpr | core.Splice] = []
        by_position = {a.position: a for a in self.axes if a.leaf == i}
        for position, item in enumerate(shape.items):
            match item:
                case sweet.Dots():
                    binds.append(self.code.fresh("_rest"))
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
        return Part(needs, gives, lambda: [stmt])

    def _remember(self, leaf: int, stmt: core.MatchShape) -> None:
        for position, found in enumerate(self.bound):
            if found.name in stmt.binds and self.binder.get(found.name, (leaf,))[0] == leaf:
                self.bound[position] = replace(found, match=stmt)

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
        """`?` beside a splice: the dimension itself, which says nothing; between two splices a name that nobody uses."""
        open_at = [p for p, it in enumerate(self._items(i)) if isinstance(it, sweet.Splice | sweet.Dots)]
        if position < open_at[0]:
            return core.DimOf(item.span, self.leaves[i].tensor, position)
        if position > open_at[-1]:
            return core.DimOf(item.span, self.leaves[i].tensor, position - length)
        binds.append(self.code.fresh("_size"))
        return core.SizeVar(item.span, binds[-1])

    def _matched(self, axis: Axis, binds: list[str], needs: set[str], gives: set[str]) -> core.SizeExpr:
        """A dimension beside a splice: bound by the match if it is a new name, else the dimension itself (asserted apart)."""
        expr = axis.expr
        if isinstance(expr, sweet.Name) and self.binder.get(expr.name) == (axis.leaf, axis):
            found = self.bound[self.order[expr.name]]
            binds.append(found.name)
            gives.add(expr.name)
            return core.SizeVar(expr.span, found.name)
        if axis.axis is not None:
            return core.DimOf(expr.span, self.leaves[axis.leaf].tensor, axis.axis)
        if id(axis) in self.inverses:
            binds.append(self.between[id(axis)])
            gives.add(binds[-1])
            return core.SizeVar(expr.span, binds[-1])
        names = {n.name for n in size_names(expr)}
        if names & self.broken:
            raise Broken
        needs |= names & set(self.binder)
        return shapes.size(self.code, expr)


def _shape(type_: sweet.Type) -> sweet.Expr | None:
    """The shape of a type: a list, or an expression for the whole. `[*s]` is s, `[...]` and `?` are nothing."""
    shape = type_.shape if isinstance(type_, sweet.TensorType) else None
    if isinstance(shape, sweet.ListExpr) and len(shape.items) == 1:
        match shape.items[0]:
            case sweet.Splice(name=name):
                return sweet.Name(name.span, name.name)
            case sweet.Dots():
                return None
    return None if isinstance(shape, sweet.Unknown) else shape


def _dimensions(type_: sweet.Type | None) -> Iterator[sweet.Expr]:
    """What stands between the brackets of a type."""
    match type_:
        case sweet.TensorType(shape=sweet.ListExpr(items=items)):
            yield from items
        case sweet.TupleType():
            for item in type_.items:
                yield from _dimensions(item)


def size_names(expr: object) -> Iterator[sweet.Name]:
    """The names that a dimension speaks of as values: not the functions it calls, nor tensors asked for a dimension."""
    stack = [expr]
    while stack:
        node = stack.pop()
        match node:
            case sweet.Name():
                yield node
            case sweet.Splice():
                yield sweet.Name(node.name.span, node.name.name)
            case sweet.Attr() | sweet.FnName() | sweet.Call(callee=sweet.Attr()):
                pass
            case sweet.InClass():
                stack.append(node.item)
            case sweet.Call(callee=sweet.FnName()):
                pass
            case sweet.Call():
                stack.extend(a.value for a in reversed(node.args))
            case sweet.If() | sweet.For() | sweet.While() | sweet.Lambda():
                pass
            case Node():
                stack.extend(getattr(node, f) for f in reversed(node._fields) if f != "span")
            case tuple() if not isinstance(node, Span):
                stack.extend(reversed(node))


def type_names(type_: sweet.Type) -> Iterator[sweet.Name]:
    """The names of sizes, shapes and dtypes in a type, dtypes themselves left out."""
    if isinstance(type_, sweet.TensorType):
        yield from (n for n in size_names((type_.shape, type_.dtype)) if n.name not in DTYPES)


def all_names(type_: sweet.Type | None) -> Iterator[sweet.Name]:
    """The names in a type, its tuples included."""
    match type_:
        case sweet.TensorType():
            yield from type_names(type_)
        case sweet.TupleType():
            for item in type_.items:
                yield from all_names(item)
