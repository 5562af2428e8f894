"""Annotations to names: the value of each name in terms of the annotated tensors.

First, names that are dimensions by themselves are bound, over all annotations together; then expressions with one unknown
name that can be inverted, until nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ..lang import codes, core, sweet
from ..lang.diagnostics import Label, RxError, error
from ..lang.dtypes import DTYPES
from ..lang.node import Node, replace
from ..lang.source import Placed, Span
from ..lang.walk import depth, walk
from .code import FunctionCode, spelled
from .compounds import count, folded, is_any_size, names, smallest, spelling, uses
from .invert import Inverse, NoInverse, invert, why_not
from .scope import ScopeEntry
from .type_names import dimensions, shape_of, size_names, type_names
from .worklist import Worklist


class AnnotatedTensor(Placed):
    """One annotated tensor: its core name, its expanded type, and how a diagnostic names it."""

    tensor: str
    type: sweet.Type
    kind: str
    subject: core.Called
    position: int | None = None


class Bound(Node):
    """A name that an annotation bound: `spelling` is the user's, `name` the core's. `expr` is its value in terms of the
    tensor; `match` is the match_shape that binds it instead, if any."""

    spelling: str
    name: str
    sort: core.Sort
    expr: core.Value
    span: Span
    nonneg: bool
    match: core.MatchShape | None = None


class BoundAxis(Node):
    """One dimension of an annotation. `axis` is None between two splices, where no literal axis reaches it."""

    leaf: int
    expr: sweet.Expr
    axis: int | None
    position: int


# The limits on the value of a name, which is repeated wherever the name is used.
_LONGEST, _DEEPEST = 400, 50


def _refuse_what_is_long(value: core.SizeExpr) -> None:
    """Reject a value that is too long: sizes solved for one after the other contain each other, and may double."""
    if sum(1 for _ in islice(walk(value), _LONGEST + 1)) > _LONGEST or depth(value) > _DEEPEST:
        raise NoInverse("too many sizes were solved for before it, each with the one before")


class Binder:
    """Binds the names of some annotations in the current scope.

    `binder` has the annotation that binds a name, and the part of it that does; `order` has the name's index in `bound`,
    `places` the same by core name. Errors about names that are `broken` have been reported.
    """

    def __init__(
        self, code: FunctionCode, leaves: list[AnnotatedTensor], named: bool, kind: str, later: sweet.Type | None
    ) -> None:
        self.code, self.leaves, self.named, self.kind = code, leaves, named, kind
        self.made: set[str] = set()  # names new in this scope
        self.shapes = [shape_of(leaf.type) for leaf in leaves]
        self.names = [frozenset(n.name for n in type_names(leaf.type)) for leaf in leaves]
        self.later = list(dimensions(later))
        self.axes = [axis for i in range(len(leaves)) for axis in self._axes(i)]
        self._fold(code.compounds)
        self.binder: dict[str, tuple[int, object]] = {}
        self.inverses: dict[int, Inverse] = {}
        self.between: dict[int, str] = {}
        self.bound: list[Bound] = []
        self.order: dict[str, int] = {}
        self.places: dict[str, int] = {}
        self.broken: set[str] = set()
        self.bad_leaves: set[int] = set()
        self.compound_names: dict[str, str] = {}

    def _was_there(self, name: str) -> bool:
        return name not in self.made and self.code.scope.find(name) is not None

    def _put(self, entry: ScopeEntry) -> None:
        if not self._was_there(entry.name):
            self.made.add(entry.name)
        self.code.scope.bind(entry)

    def bind(self) -> None:
        self._bind_dtypes_and_shapes()
        self._bind_standing_alone()
        self._bind_splices()
        self._bind_by_inversion()
        while self._find_compound():
            self._bind_standing_alone()
            self._bind_by_inversion()
        self._refuse_what_is_left()

    # Dimensions and splices

    def _axes(self, leaf: int) -> Iterator[BoundAxis]:
        items = self._items(leaf)
        open_at = [i for i, item in enumerate(items) if isinstance(item, sweet.Splice | sweet.Dots)]
        for position, item in enumerate(items):
            if isinstance(item, sweet.Splice | sweet.Dots | sweet.Unknown):
                continue
            if not open_at or position < open_at[0]:
                yield BoundAxis(leaf, item, position, position)
            elif position > open_at[-1]:
                yield BoundAxis(leaf, item, position - len(items), position)
            else:
                yield BoundAxis(leaf, item, None, position)

    def _items(self, leaf: int) -> tuple[sweet.Expr, ...]:
        shape = self.shapes[leaf]
        return shape.items if isinstance(shape, sweet.ListExpr) else ()

    def _splices(self, leaf: int) -> list[sweet.Splice | sweet.Dots]:
        return [i for i in self._items(leaf) if isinstance(i, sweet.Splice | sweet.Dots)]

    # Binding

    def _is_free(self, name: str) -> bool:
        return not self._was_there(name) and name not in self.binder and name not in self.broken

    def _bind(self, name: sweet.Name | sweet.Ident, sort: core.Sort, expr: core.Value, leaf: int, by: object) -> None:
        """Bind a name: in scope it stands for `expr`, or for itself if it gets a `let`."""
        core_name = self._core_name(name.name)
        matched = bool(self._splices(leaf)) and sort != core.DTYPE and not isinstance(by, Inverse)
        stands_for = core.variable(name.span, core_name, sort) if self.named or matched else expr
        nonneg = sort == core.SIZE
        entry = ScopeEntry(name.name, sort, stands_for, name.span, self.kind, nonneg)
        entry.beside = self.names[leaf]
        self._put(entry)
        if (
            not isinstance(by, Inverse) and name.name not in self.code.compounds
        ):  # `[k * 64]` is a constraint even if nothing uses k
            self.code.annotated.append(entry)
        self.binder[name.name] = (leaf, by)
        self.order[name.name] = self.places[core_name] = len(self.bound)
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
        """Bind splices: at most one unknown splice in a shape; other shapes may bind the rest."""
        waiting = Worklist[int](lambda i: len(self._unknown_splices(i)) <= 1)
        for i in range(len(self.leaves)):
            if found := self._splices(i):
                waiting.put(i, {s.name.name for s in found if isinstance(s, sweet.Splice)})
        while (ready := waiting.take()) is not None:
            for item in self._unknown_splices(ready):
                self._bind_splice(ready, item)
                waiting.wake([item.name.name] if isinstance(item, sweet.Splice) else ())
        for i in waiting.left:
            first, second, *_ = *self._unknown_splices(i), None, None
            if first is None or second is None:
                continue  # they were reported at another shape
            label = Label(first.span, "the length of this one is unknown too")
            self._error(codes.E209, "a shape can have only one splice of unknown length", second.span, labels=(label,))
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

    def _dim(self, axis: BoundAxis) -> core.SizeExpr:
        """Return the dimension itself; a dimension that no literal axis reaches gets a name from the match_shape."""
        if axis.axis is not None:
            return core.DimOf(axis.expr.span, self.leaves[axis.leaf].tensor, axis.axis)
        if isinstance(axis.expr, sweet.Name):
            return core.SizeVar(axis.expr.span, self._core_name(axis.expr.name))
        return core.SizeVar(axis.expr.span, self._generated(axis))

    def _generated(self, axis: BoundAxis) -> str:
        """Return the generated name of a dimension between two splices that the user has not named."""
        if id(axis) not in self.between:
            name, span = self.code.fresh("size"), axis.expr.span
            here = core.SizeVar(span, name)
            self.between[id(axis)] = name
            self._put(ScopeEntry(name, core.SIZE, here, span, "generated", True))
            self.binder[name] = (axis.leaf, axis)
            self.order[name] = self.places[name] = len(self.bound)
            self.bound.append(Bound(name, name, core.SIZE, here, span, True))
        return self.between[id(axis)]

    def _bind_by_inversion(self) -> None:
        waiting = Worklist(self._can_invert)
        for axis in self.axes:
            if not isinstance(axis.expr, sweet.Name) and axis.leaf not in self.bad_leaves:
                waiting.put(axis, {n.name for n in size_names(axis.expr)})
        while (found := waiting.take()) is not None:
            if self._can_invert(found):  # else another dimension has bound its name meanwhile
                waiting.wake([self._invert(found)])

    def _free_names(self, expr: sweet.Expr) -> list[sweet.Name]:
        return [n for n in size_names(expr) if self._is_free(n.name)]

    def _can_invert(self, axis: BoundAxis) -> bool:
        free = self._free_names(axis.expr)
        if len(free) != 1:
            return False
        return why_not(self.code, axis.expr, free[0].name) is None

    def _invert(self, axis: BoundAxis) -> str:
        """Bind the only free name of a dimension, and return it."""
        name = self._free_names(axis.expr)[0]
        try:
            inverse = invert(self.code, axis.expr, name.name, self._dim(axis))
            _refuse_what_is_long(inverse.value)
        except NoInverse as problem:
            self._error(codes.E208, f"`{name.name}` cannot be solved for: {problem}", name.span)
            self._break(name.name)
        except RxError as problem:
            self.code.report(problem)
            self._break(name.name)
        else:
            self.inverses[id(axis)] = inverse
            self._bind(name, core.SIZE, inverse.value, axis.leaf, inverse)
        return name.name

    # Compounds

    def _core_name(self, name: str) -> str:
        """Return a core name; a compound is named after its names: `h * d` is `h_d`."""
        if name in self.code.compounds:
            return self.compound_names.setdefault(name, self.code.fresh("_".join(re.findall(r"\w+", name))))
        return self.code.core_name(name)

    def _fold(self, compounds: set[str]) -> None:
        if compounds:
            self.axes = [replace(a, expr=folded(a.expr, compounds)) for a in self.axes]
            self.later = [folded(e, compounds) for e in self.later]

    def _find_compound(self) -> bool:
        """Bind a product or sum of unknown names that stands in several places as one name; return whether there was one."""
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

    # Names that cannot be bound

    def _error(
        self, code: codes.Code, message: str, span: Span, help: str | None = None, labels: tuple[Label, ...] = ()
    ) -> None:
        self.code.report(RxError(error(code, message, span, help=help, labels=labels)))

    def _break(self, name: str) -> None:
        self.broken.add(name)
        self._put(ScopeEntry(name, None, None, self.leaves[0].span, self.kind))

    def _refuse_what_is_left(self) -> None:
        for axis in self.axes:
            if axis.leaf not in self.bad_leaves:
                names = {n.name: n for n in self._free_names(axis.expr)}
                if names:
                    self._refuse(axis, list(names.values()))

    def _refuse(self, axis: BoundAxis, names: list[sweet.Name]) -> None:
        """Report one error for a dimension that does not determine its names."""
        for name in names:
            self._break(name.name)
        dtype = next((n for n in names if n.name in DTYPES), None)
        if dtype is not None:
            return self._error(codes.E206, f"`{dtype.name}` is a dtype, not a size", dtype.span)
        shown = spelled(axis.expr.span)
        first, others = names[0], " and ".join(f"`{n.name}`" for n in names[1:])
        if others:
            reason = f"`{shown}` has {others} as well, which nothing binds either"
        else:
            reason = why_not(self.code, axis.expr, first.name) or f"`{shown}` has no unique solution"
        return self._error(
            codes.E208, f"nothing says what `{first.name}` is: {reason}", first.span,
            help=f"use `{first.name}` alone as a dimension somewhere, or pass it: `{first.name} : Size`",
        )  # fmt: skip
