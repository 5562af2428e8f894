"""Loops to core loops: `for` and `while` with what they carry, promise and stack.

A carry of the core has a bare sort; a tuple is carried as its parts. What the annotations and the `where` say is the loop's
invariant, conditions over the carries and the index; a name that they bind is a `let` at the head of what uses it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NoReturn

from ..lang import codes, core, sweet
from ..lang.core_printer import print_sort
from ..lang.diagnostics import Label, RxError
from ..lang.dtypes import DTYPES
from ..lang.node import Node, replace
from ..lang.source import Span
from ..lang.walk import rewrite, walk
from . import arguments, levels, naming, patterns, shapes, values
from .annotations import leaves
from .binding import Bound, Leaf
from .code import Code, Typed, spelled
from .errors import Broken, count, fail
from .literals import settled
from .parts import leaf_sorts, together
from .scope import SHAPE_SORTS, SOME_TUPLE, Entry, Scope
from .sorts import describe, expand, of_arms, says_nothing, sort_of
from .statements import block_result, statements
from .type_names import all_names, size_names


class Carried(Node):
    """A carry as the user wrote it: its type written out, its sort, and what it is before the first turn."""

    name: sweet.Ident
    type: sweet.Type | None
    sort: core.Sort
    init: core.Value


class Piece(Node):
    """A part of a carry that is no tuple. `place` is what a diagnostic calls it; `first` is the name of its first value where
    the part has no annotation, and keeps the shape and dtype of that."""

    name: sweet.Ident
    place: str
    type: sweet.Type | None
    sort: core.Sort
    init: core.Value
    first: str | None


class Stack(Node):
    """A stacked result: its type with dimensions that are names or numbers, in a scope where they mean what they say."""

    name: sweet.Ident
    type: sweet.Type
    made: core.Stacked


def loop(code: Code, expr: sweet.For | sweet.While) -> Typed:
    if not code.may_hoist:
        fail(codes.E221, "a loop cannot stand here", expr.span, help="it stands in a function's body or a script")
    compounds = code.compounds
    code.compounds = set(compounds)
    try:
        return _Loop(code, expr).translate()
    finally:
        code.compounds = compounds


class _Loop:
    """One loop while it is being translated. `bound` is what its annotations bind."""

    def __init__(self, code: Code, expr: sweet.For | sweet.While) -> None:
        self.code = code
        self.expr = expr
        self.types = tuple(None if c.type is None else expand(code.unit, c.type) for c in expr.carries)
        self.bound: list[Bound] = []
        self.names: dict[str, str] = {}  # those of the carries in the core

    def translate(self) -> Typed:
        code, expr = self.code, self.expr
        try:
            range_ = _range(code, expr) if isinstance(expr, sweet.For) else None
            carried = code.each(partial(self._carried, c, t) for c, t in zip(expr.carries, self.types, strict=True))
            self._refuse_twice()
        except RxError:
            self._look_into_body()
            raise
        pieces = [list(self._pieces(c.name, c.name.name, c.type, c.sort, c.init)) for c in carried]
        flat = [piece for found in pieces for piece in found]
        if not flat and not expr.stack:
            fail(
                codes.E227, "this loop gives nothing: it neither carries nor stacks a value", expr.span,
                help=self._forgotten() or "`with (acc : Tensor([n], float32) = x)` carries one from turn to turn, "
                "`stack (y : Tensor([n], float32))` keeps one of each turn",
            )  # fmt: skip
        inner = Scope(code.scope)
        stacks = code.each(partial(self._stack, param, inner) for param in expr.stack)
        with code.block() as made:
            index = self._bind(range_, carried, pieces)
            invariant = self._invariant(made, flat)
            cond, body = code.each((self._condition, partial(self._body, carried, stacks, inner)))
        carries = tuple(core.Carry(p.name.span, self.names[p.name.name], p.sort, p.init) for p in flat)
        stacked = tuple(s.made for s in stacks)
        assert body is not None
        made_loop = core.Loop(expr.span, index, range_, carries, invariant, cond, stacked, body)
        return self._value(made_loop, carried, len(stacks))

    def _forgotten(self) -> str | None:
        """What to say of a name from outside that the body binds again: that ends with the turn."""
        bound = (n for s in self.expr.body.stmts if isinstance(s, sweet.Let) for n in s.names)
        name = next((n.name for n in bound if self.code.scope.find(n.name) is not None), None)
        if name is None:
            return None
        return f"what `let` binds ends with the turn: `with ({name} = {name})` carries it, and the last line is the next one"

    def _look_into_body(self) -> None:
        """Where the header is wrong, what is wrong in the block has to do with it or not: that is said as well."""
        code, result = self.code, self.expr.body.result
        names = [c.name for c in self.expr.carries] + [n for t in self.types for n in all_names(t)]
        names += [self.expr.index] if isinstance(self.expr, sweet.For) else []
        with code.block():
            for name in names:
                code.scope.bind(Entry(name.name, None, None, name.span, "let"))
            statements(code, self.expr.body.stmts)
            for item in result.items if isinstance(result, sweet.TupleExpr) else (result,):
                if isinstance(item, sweet.Call):
                    try:
                        code.hooks.value(code, item)
                    except RxError as problem:
                        code.report(problem)

    def _refuse_twice(self) -> None:
        places = [c.name for c in self.expr.carries] + [p.name for p in self.expr.stack]
        for i, name in enumerate(places):
            first = next((p for p in places[:i] if p.name == name.name), None)
            if first is not None:
                label = Label(first.span, "the first one")
                fail(codes.E203, f"`{name.name}` stands twice in this loop", name.span, labels=(label,))

    # What is carried

    def _carried(self, carry: sweet.Carry, type_: sweet.Type | None) -> Carried:
        """The initial value, which sees no carry."""
        if type_ is None:
            return self._unannotated(carry)
        sort = sort_of(type_)
        if any(isinstance(s, core.FnSort) for s in walk(sort)):
            _no_function(carry)
        value = settled(arguments.direct(self.code, carry.init, sort), type_)
        return Carried(carry.name, type_, sort, value)

    def _unannotated(self, carry: sweet.Carry) -> Carried:
        found = levels.level(self.code, carry.init)
        if found in ("Number", "Truth", "Size", "Shape", "DType", "Bool") or levels.is_literal(self.code, carry.init):
            arguments.check_names(self.code, carry.init)
            _needs_type(carry, core.TENSOR if levels.is_literal(self.code, carry.init) else core.BaseSort(found))
        value, sort = self.code.hooks.value(self.code, carry.init)
        parts = list(leaf_sorts(sort))
        if any(isinstance(part, core.FnSort) for part in parts):
            _no_function(carry)
        if core.BaseSort("?") in parts or any(part in SHAPE_SORTS for part in parts):
            _needs_type(carry, sort)
        return Carried(carry.name, None, sort, settled(value, None))

    def _pieces(
        self, name: sweet.Ident, place: str, type_: sweet.Type | None, sort: core.Sort, init: core.Value
    ) -> Iterator[Piece]:
        """The parts of a carry, tuples taken apart."""
        if isinstance(sort, core.TupleSort):
            types = type_.items if isinstance(type_, sweet.TupleType) else (None,) * len(sort.items)
            inits = _apart(self.code, init, sort.items, [f"{name.name}_{i}" for i in range(len(types))])
            for i, (t, s, value) in enumerate(zip(types, sort.items, inits, strict=True)):
                part = sweet.Ident(name.span, self.code.fresh(f"{name.name}_{i}"))
                yield from self._pieces(part, f"{place}[{i}]", t, s, value)
            return
        first = None
        if type_ is None:
            init = self._named(init, name)
            first = init.name
        yield Piece(name, place, type_, sort, init, first)

    def _named(self, init: core.Value, name: sweet.Ident) -> core.Var:
        """A first value by a name that is not that of a carry."""
        taken = {c.name.name for c in self.expr.carries}
        if isinstance(init, core.Var) and init.name not in taken:
            return init
        named = self.code.name(init, core.TENSOR, name.name)
        assert isinstance(named, core.Var)
        return named

    def _bind(self, range_: core.Range | None, carried: list[Carried], pieces: list[list[Piece]]) -> str | None:
        """The index and the carries, as conditions and body see them."""
        index = None
        if isinstance(self.expr, sweet.For) and range_ is not None:
            index, start = self.code.bind(self.expr.index, core.SIZE, "let"), range_.start
            entry = self.code.scope.entries[self.expr.index.name]
            entry.nonneg = isinstance(start, core.SizeLit) and start.value >= 0
        for carry, found in zip(carried, pieces, strict=True):
            if not isinstance(carry.sort, core.TupleSort):
                self.names[carry.name.name] = self.code.bind(carry.name, carry.sort, "let")
                continue
            for piece in found:
                self.names[piece.name.name] = self.code.bind(piece.name, piece.sort, "let")
            parts = iter(core.variable(p.name.span, self.names[p.name.name], p.sort) for p in found)
            value = together(carry.name.span, carry.sort, parts)
            self.code.bind(carry.name, carry.sort, "let")
            self.code.scope.bind(Entry(carry.name.name, carry.sort, value, carry.name.span, "let"))
        return index

    # The invariant

    def _invariant(self, made: list[core.Stmt], pieces: list[Piece]) -> tuple[core.Invariant, ...]:
        """What the annotations and the `where` say, in `made` as statements first."""
        code = self.code
        code.may_hoist = False
        try:
            for piece in pieces:
                self._kept(piece)
            self.bound = self._solve(pieces)
            for condition in self.expr.where:
                self._where(condition)
        finally:
            code.may_hoist = True
        return tuple(i for stmt in made for i in _conditions(stmt, self.bound))

    def _kept(self, piece: Piece) -> None:
        """A carry without annotation keeps the shape and the dtype of its first value."""
        if piece.first is None:
            return
        span, tensor = piece.name.span, self.names[piece.name.name]
        declared = core.Declared(span, "carry", core.Called(piece.place), tensor, None, (), self.code.function)
        pairs: tuple[tuple[str, core.ShapeLevel, core.ShapeLevel], ...] = (
            ("shape", core.ShapeOf(span, tensor), core.ShapeOf(span, piece.first)),
            ("dtype", core.DTypeOf(span, tensor), core.DTypeOf(span, piece.first)),
        )
        for what, here, wanted in pairs:
            origin = core.Origin(span, what, True, declared, None, piece.place)
            self.code.emit(core.Assert(span, core.Compare(span, "==", here, wanted), None, origin))

    def _solve(self, pieces: list[Piece]) -> list[Bound]:
        found: list[Leaf] = []
        for piece in pieces:
            if piece.type is not None:
                name = self.names[piece.name.name]
                found += leaves(self.code, name, piece.type, "carry", core.Called(piece.place), piece.type.span)
        return patterns.solve(self.code, found, named=False) if found else []

    def _where(self, condition: sweet.Expr) -> None:
        try:
            cond = shapes.condition(self.code, condition)
        except RxError as problem:
            self.code.report(problem)
            return
        bound: list[tuple[str, core.ShapeLevel]] = []
        for name in dict.fromkeys(n.name for n in size_names(condition)):
            entry = self.code.scope.find(name)
            if entry is not None and isinstance(entry.expr, core.ShapeLevel):
                bound.append((name, entry.expr))
        declared = core.Declared(
            condition.span,
            "carry",
            core.Called("the conditions of the loop"),
            "",
            None,
            tuple(bound),
            self.code.function,
        )
        origin = core.Origin(condition.span, "where", True, declared, None, spelled(condition.span))
        self.code.emit(core.Assert(condition.span, cond, None, origin))

    # What runs in a turn

    def _condition(self) -> core.Block | None:
        cond = self.expr.cond
        if cond is None or cond.result is None:
            return None
        with self.code.block() as stmts:
            names = naming.entries(self.code, self.bound)
            fine = statements(self.code, cond.stmts)
            result = values.condition(self.code, cond.result)
            if not fine:
                raise Broken
            return core.Block(cond.span, (*self._lets(names), *stmts), result)

    def _lets(self, names: dict[str, Entry], *made: object) -> list[core.Stmt]:
        """The names of the invariant that are used, bound in front."""
        used = {n for n, e in names.items() if e.used}
        spans = {names[n].span for n in used}
        for entry in self.code.annotated:
            entry.used = entry.used or entry.span in spans
        return naming.lets(self.bound, used | naming.of_stacks(self.bound, *made))

    def _body(self, carried: list[Carried], stacks: list[Stack], types: Scope) -> core.Block | None:
        node = self.expr.body
        sorts = tuple(c.sort for c in carried) + (core.TENSOR,) * len(stacks)
        written = tuple(c.type or sweet.TensorType(node.span, None, None) for c in carried)
        all_types = (*written, *(s.type for s in stacks))
        want, type_ = _whole(sorts), all_types[0] if len(all_types) == 1 else sweet.TupleType(node.span, all_types)
        with self.code.block() as stmts:
            names = naming.entries(self.code, self.bound)
            fine = statements(self.code, node.stmts)
            self._check_count(node, sorts)
            result, _ = block_result(self.code, node, want, type_)
            if not fine:
                raise Broken
            bases = [c.name.name for c in carried] + [s.name.name for s in stacks]
            given = self._given(result, sorts, bases, stmts, stacks, types)
            made = given[0] if len(given) == 1 else core.TupleValue(node.span, given)
            return core.Block(node.span, (*self._lets(names, *stmts, made), *stmts), made)

    def _check_count(self, node: sweet.Block, sorts: tuple[core.Sort, ...]) -> None:
        names = [f"`{c.name.name}`" for c in self.expr.carries] + [f"`{p.name.name}`" for p in self.expr.stack]
        result = node.result
        has = len(result.items) if isinstance(result, sweet.TupleExpr) else 1
        takes_tuple = len(sorts) == 1 and isinstance(sorts[0], core.TupleSort)
        if result is None or has == len(sorts) or takes_tuple:
            return
        if not isinstance(result, sweet.TupleExpr) and levels.level(self.code, result) != "Tensor":
            return
        wanted = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        fail(
            codes.E228, f"a turn gives {wanted}; here {'is' if has == 1 else 'are'} {count(has, 'value')}", result.span,
            help="the carries come first, then what is stacked" if self.expr.stack else None,
        )  # fmt: skip

    def _given(
        self,
        result: core.Value,
        sorts: tuple[core.Sort, ...],
        bases: list[str],
        stmts: list[core.Stmt],
        stacks: list[Stack],
        types: Scope,
    ) -> tuple[core.Value, ...]:
        """What a turn gives, tuples taken apart; what is stacked has names, over which its type is asserted."""
        code = self.code
        tops = [result] if len(sorts) == 1 else _apart(code, result, sorts, bases)
        flat = [v for t, s, b in zip(tops, sorts, bases, strict=True) for v in _flat(code, t, s, b)]
        if not stacks:
            return tuple(v for v, _, _ in flat)
        first = len(flat) - len(stacks)
        given: list[core.Value] = []
        for i, (value, sort, base) in enumerate(flat):
            plain = isinstance(value, core.Var) if i >= first else not core.is_work(value)
            given.append(value if plain else code.name(value, sort, base))
        self._assert_stacked(stmts, stacks, given[first:], types)
        return tuple(given)

    def _assert_stacked(
        self, stmts: list[core.Stmt], stacks: list[Stack], given: list[core.Value], types: Scope
    ) -> None:
        """What the types of the stacked values say, unless the body has just said it, as it has in core form."""
        code, before, annotated = self.code, len(stmts), len(self.code.annotated)
        there = _last_assertions(stmts)
        found = [
            Leaf(s.type.span, v.name, s.type, "stack", core.Called(s.name.name))
            for s, v in zip(stacks, given, strict=True)
            if isinstance(v, core.Var) and not says_nothing(s.type)
        ]
        scope, code.scope = code.scope, Scope(types)
        try:
            patterns.solve(code, found, named=False, kind="existential")
        finally:
            code.scope = scope
        stmts[before:] = [s for s in stmts[before:] if s not in there]
        del code.annotated[annotated:]

    # What is stacked

    def _stack(self, param: sweet.Param, inner: Scope) -> Stack:
        """The type of a stacked result. Its names are bound outside, or stand for a size that all turns share."""
        if param.default is not None:
            fail(codes.E221, "what is stacked has no value here: the body gives it", param.default.span)
        type_ = None if param.type is None else expand(self.code.unit, param.type)
        if isinstance(type_, sweet.NamedType) and type_.name in DTYPES:
            made = core.Stacked(param.span, param.name.name, (), core.DTypeLit(type_.span, DTYPES[type_.name]))
            return Stack(param.name, type_, made)
        if type_ is not None and not isinstance(type_, sweet.TensorType):
            fail(codes.E206, f"only tensors are stacked; `{param.name.name}` is {describe(sort_of(type_))}", param.span)
        scope, self.code.scope = self.code.scope, inner
        try:
            return self._stacked(param, type_)
        finally:
            self.code.scope = scope

    def _stacked(self, param: sweet.Param, type_: sweet.TensorType | None) -> Stack:
        name = param.name
        if type_ is None:
            _too_open(name, "shape and dtype", name.span)
        if isinstance(type_.shape, sweet.Unknown) and isinstance(type_.dtype, sweet.Unknown):
            return Stack(name, type_, core.Stacked(param.span, name.name, (), None))
        self._refuse_own(type_)
        dtype = type_.dtype
        if not isinstance(dtype, sweet.Name) or (dtype.name not in DTYPES and not self.code.scope.find(dtype.name)):
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
        made = core.Stacked(param.span, name.name, tuple(d for _, d in pairs), shapes.dtype(self.code, dtype))
        return Stack(name, replace(type_, shape=shown), made)

    def _dimension(
        self, name: sweet.Ident, item: sweet.Expr, once: set[str]
    ) -> tuple[sweet.Expr, core.SizeExpr | core.Splice | None]:
        """A dimension as the type has it, and as the core knows it: None is a size that all turns share. Beside a splice a name
        that stands `once` says no more than `?`."""
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
        if any(isinstance(n, core.DimOf | core.RankOf) for n in walk(size)):  # a tensor may be bound again in the body
            named = code.name(size, core.SIZE, "size")
            assert isinstance(named, core.SizeVar)
            code.scope.bind(Entry(named.name, core.SIZE, named, item.span, "let"))
            return sweet.Name(item.span, named.name), named
        return item, size

    def _refuse_own(self, type_: sweet.TensorType) -> None:
        """What the loop binds changes from turn to turn."""
        own = {c.name.name for c in self.expr.carries} | {n.name for t in self.types for n in all_names(t)}
        own |= {self.expr.index.name} if isinstance(self.expr, sweet.For) else set()
        for node in walk(type_):
            if not isinstance(node, sweet.Name | sweet.Ident):
                continue
            if node.name in own and self.code.scope.find(node.name) is None:
                fail(
                    codes.E229, f"`{node.name}` changes from turn to turn, and what is stacked has one shape", node.span,
                    help="its sizes are bound before the loop; `?` is one that all turns share",
                )  # fmt: skip

    # The loop's value

    def _value(self, made: core.Loop, carried: list[Carried], stacks: int) -> Typed:
        """The loop, or its value put together where a tuple is carried."""
        sorts = tuple(c.sort for c in carried) + (core.TENSOR,) * stacks
        sort = _whole(sorts)
        if not any(isinstance(s, core.TupleSort) for s in sorts):
            return made, sort
        bases = [c.name for c in made.carries] + [s.name for s in made.stacked]
        names = [self.code.fresh(base) for base in bases]
        flat = [c.sort for c in made.carries] + [core.TENSOR] * stacks
        shown = flat[0] if len(flat) == 1 and flat[0] in SHAPE_SORTS else None
        self.code.emit(core.Let(self.expr.body.span, tuple(names), len(flat) > 1, shown, made))
        parts = iter(core.variable(made.span, n, s) for n, s in zip(names, flat, strict=True))
        values = tuple(together(made.span, s, parts) for s in sorts)
        return (values[0] if len(values) == 1 else core.TupleValue(made.span, values)), sort


# The range


def _range(code: Code, loop: sweet.For) -> core.Range:
    expr = loop.iterable
    called = isinstance(expr, sweet.Call) and isinstance(expr.callee, sweet.Name) and expr.callee.name == "range"
    shadowed = code.scope.find("range") is not None and expr.span.text.startswith("range")
    if not called or shadowed or not isinstance(expr, sweet.Call):
        _refuse_iterable(code, expr, loop.index.name)
    if not 1 <= len(expr.args) <= 3 or any(a.name for a in expr.args):
        fail(
            codes.E205, "range takes one to three sizes, by position", expr.span,
            help="`range(n)`, `range(first, end)` or `range(first, end, step)`",
        )  # fmt: skip
    given = code.each(partial(shapes.size, code, a.value) for a in expr.args)
    start = given[0] if len(given) > 1 else core.SizeLit(expr.span, 0)
    step = _step(code, given[2]) if len(given) > 2 else core.SizeLit(expr.span, 1)
    return core.Range(start, given[1] if len(given) > 1 else given[0], step)


def _refuse_iterable(code: Code, expr: sweet.Expr, index: str) -> NoReturn:
    found, shown = levels.level(code, expr), spelled(expr.span)
    if found == "?":
        arguments.check_names(code, expr)
    helps = {
        "Tensor": f"`range({shown}.dim(0))` counts its rows, and `{shown}[{index}]` is one",
        "Size": f"write `range({shown})`",
        "Number": f"write `range({shown})`",
    }
    short = len(shown) <= 40 and (found != "Tensor" or isinstance(expr, sweet.Name))
    help = helps.get(found) if short else None
    fail(codes.E226, "a `for` counts: behind `in` stands a range", expr.span, help=help or "`range(n)`")


def _step(code: Code, step: core.SizeExpr) -> core.SizeExpr:
    """The step, claimed to be at least 1 unless it is seen to be or the claim stands there already."""
    span = step.span
    if isinstance(step, core.SizeLit) and step.value >= 1:
        return step
    if any(isinstance(n, core.DimOf | core.RankOf) for n in walk(step)):
        named = code.name(step, core.SIZE, "step")
        assert isinstance(named, core.SizeVar)
        step = named
    cond = core.Compare(span, ">=", step, core.SizeLit(span, 1))
    declared = core.Declared(span, "range", core.Called("the step of the range"), "", None, (), code.function)
    made = core.Assert(span, cond, None, core.Origin(span, "where", True, declared, None, f"{spelled(span)} >= 1"))
    if made not in code.stmts:
        code.emit(made)
    return step


# Carries


def _needs_type(carry: sweet.Carry, sort: core.Sort) -> NoReturn:
    name, shown = carry.name.name, spelled(carry.init.span)
    what, types = describe(sort), [print_sort(sort)]
    if sort == core.TENSOR:
        what, types = "a number", _types_of_number(carry.init)
    elif sort == SOME_TUPLE:
        types = ["(Tensor([n], float32), Tensor([n], float32))"]
    ways = " or ".join(f"`{name} : {t} = {shown}`" for t in types)
    fail(
        codes.E227, f"`{name}` begins as {what}, and needs a type to be carried", carry.name.span, help=f"write {ways}"
    )


def _types_of_number(expr: sweet.Expr) -> list[str]:
    nodes = list(walk(expr))
    if any(isinstance(node, sweet.BoolLit) for node in nodes):
        return ["bool", "Bool"]
    return ["float32"] if any(isinstance(node, sweet.FloatLit) for node in nodes) else ["Size", "int64"]


def _no_function(carry: sweet.Carry) -> NoReturn:
    fail(codes.E221, "a loop cannot carry a function", carry.span, help="use the function by its name")


def _too_open(name: sweet.Ident, what: str, span: Span) -> NoReturn:
    fail(
        codes.E227, f"the type of `{name.name}` has to say its {what}: with no turn nobody else would know", span,
        help=f"`stack ({name.name} : Tensor([n], float32))`; `?` is a size that all turns share",
    )  # fmt: skip


def _whole(sorts: tuple[core.Sort, ...]) -> core.Sort:
    return sorts[0] if len(sorts) == 1 else core.TupleSort(sorts)


def _apart(code: Code, value: core.Value, sorts: tuple[core.Sort, ...], bases: Sequence[str]) -> list[core.Value]:
    """The parts of a tuple, which get names unless they stand there."""
    if isinstance(value, core.TupleValue):
        return list(value.items)
    names = tuple(code.fresh(base) for base in bases)
    code.emit(core.Let(value.span, names, True, of_arms(value, core.TupleSort(tuple(sorts))), value))
    return [core.variable(value.span, n, s) for n, s in zip(names, sorts, strict=True)]


def _flat(code: Code, value: core.Value, sort: core.Sort, base: str) -> Iterator[tuple[core.Value, core.Sort, str]]:
    """The values that a value is made of, tuples taken apart."""
    if not isinstance(sort, core.TupleSort):
        yield value, sort, base
        return
    bases = [f"{base}_{i}" for i in range(len(sort.items))]
    for part, s, b in zip(_apart(code, value, sort.items, bases), sort.items, bases, strict=True):
        yield from _flat(code, part, s, b)


# Conditions


def _conditions(stmt: core.Stmt, bound: list[Bound]) -> Iterator[core.Invariant]:
    """A statement that annotations are solved by, as conditions over the carries."""
    if isinstance(stmt, core.Assert):
        yield core.Invariant(stmt.span, _over_carries(stmt.cond, bound, stmt.span), stmt.origin)
        return
    if not isinstance(stmt, core.MatchShape):
        _unsupported(stmt.span)
    span, tensor = stmt.span, stmt.tensor
    splices = [d for d in stmt.dims if isinstance(d, core.Splice)]
    new = [d for d in splices if d.name in stmt.binds]
    if new and len(splices) > 1:
        _unsupported(span)
    least = len(stmt.dims) - len(splices)
    if least:
        ranks = core.Compare(span, ">=", core.RankOf(span, tensor), core.SizeLit(span, least))
        yield core.Invariant(span, ranks, replace(stmt.origin, what="rank"))
    if not new:
        whole = core.Compare(span, "==", core.ShapeOf(span, tensor), core.ShapeLit(span, stmt.dims))
        yield core.Invariant(span, _over_carries(whole, bound, span), stmt.origin)


def _over_carries(cond: core.BoolExpr, bound: list[Bound], span: Span) -> core.BoolExpr:
    """A condition in which the names that a match binds stand for what they are of the carry."""
    exprs = {b.name: b.expr for b in bound if b.match is not None}

    def change(node: Node) -> Node:
        if isinstance(node, core.SizeVar) and node.name in exprs:
            found = exprs[node.name]
            return node if isinstance(found, core.SizeVar) else found
        return node

    made = rewrite(cond, change)
    if any(n in exprs for n in naming.speaks_of(made)):
        _unsupported(span)
    return made


def _unsupported(span: Span) -> NoReturn:
    fail(
        codes.E299, "what a loop carries cannot be described so yet", span,
        help="bind `*s` before the loop, as `match_shape(x, [s], [*s])` does; a carry without annotation keeps its shape",
    )  # fmt: skip


def _last_assertions(stmts: list[core.Stmt]) -> list[core.Stmt]:
    """The assertions at the end of some statements: behind them nothing is bound."""
    found: list[core.Stmt] = []
    for stmt in reversed(stmts):
        if not isinstance(stmt, core.Assert | core.MatchShape):
            break
        found.append(stmt)
    return found
