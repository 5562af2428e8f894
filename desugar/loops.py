"""Loops to core loops: `for` and `while` with their carries, invariants and stacks.

A carry of the core has a bare sort; a tuple is carried as its parts. The annotations and the `where` form the loop's
invariant, conditions on the carries and the index; a name that they bind becomes a `let` at the start of each block that uses
it.
"""

from __future__ import annotations

from functools import partial

from ..lang import codes, core, sweet
from ..lang.diagnostics import Label, RxError
from . import levels, naming, patterns, shapes, values
from .annotations import leaves
from .binding import AnnotatedTensor, Bound
from .carries import CarryPiece, WrittenCarry, apart, first_value, leaves_of, pieces_of
from .code import FunctionCode, Typed, spelled
from .errors import Broken, count, fail
from .invariants import invariants
from .parts import together
from .ranges import loop_range
from .scope import SHAPE_SORTS, Scope, ScopeEntry
from .sorts import expand, says_nothing
from .stacks import LoopStack, Stacks
from .statements import before_result, block_result, statements
from .type_names import all_names, size_names


def loop(code: FunctionCode, expr: sweet.For | sweet.While) -> Typed:
    if not code.may_hoist:
        fail(codes.E221, "a loop cannot stand here", expr.span, help="it stands in a function's body or a script")
    compounds = code.compounds
    code.compounds = set(compounds)
    try:
        return _Loop(code, expr).translate()
    finally:
        code.compounds = compounds


class _Loop:
    """One loop during translation. `bound` are the names that its annotations bind."""

    def __init__(self, code: FunctionCode, expr: sweet.For | sweet.While) -> None:
        self.code, self.expr = code, expr
        self.types = tuple(None if c.type is None else expand(code.unit, c.type) for c in expr.carries)
        self.bound: list[Bound] = []
        self.names: dict[str, str] = {}  # the core's names of the carries

    def translate(self) -> Typed:
        code, expr = self.code, self.expr
        try:
            range_ = loop_range(code, expr) if isinstance(expr, sweet.For) else None
            carried = code.each(partial(first_value, code, c, t) for c, t in zip(expr.carries, self.types, strict=True))
            self._refuse_twice()
        except RxError:
            self._look_into_body()
            raise
        taken = {c.name.name for c in expr.carries}
        pieces = [list(pieces_of(code, taken, c.name, c.name.name, c.type, c.sort, c.init)) for c in carried]
        flat = [piece for found in pieces for piece in found]
        if not flat and not expr.stack:
            fail(
                codes.E227, "this loop gives nothing: it neither carries nor stacks a value", expr.span,
                help=self._forgotten() or "`with (acc : Tensor([n], float32) = x)` carries one from turn to turn, "
                "`stack (y : Tensor([n], float32))` keeps one of each turn",
            )  # fmt: skip
        stacking = Stacks(code, self._own())
        stacks = code.each(partial(stacking.stack, param) for param in expr.stack)
        with code.block() as made:
            index = self._bind(range_, carried, pieces)
            invariant = self._invariant(made, flat)
            cond, body = code.each((self._condition, partial(self._body, carried, stacks, stacking.inner)))
        carries = tuple(core.Carry(p.name.span, self.names[p.name.name], p.sort, p.init) for p in flat)
        stacked = tuple(s.made for s in stacks)
        assert body is not None
        made_loop = core.Loop(expr.span, index, range_, carries, invariant, cond, stacked, body)
        return self._value(made_loop, carried, len(stacks))

    def _own(self) -> set[str]:
        """Return the names that the loop binds."""
        own = {c.name.name for c in self.expr.carries} | {n.name for t in self.types for n in all_names(t)}
        return own | ({self.expr.index.name} if isinstance(self.expr, sweet.For) else set())

    def _forgotten(self) -> str | None:
        """Return the help for an outer name that the body binds again: the binding ends with the turn."""
        bound = (n for s in self.expr.body.stmts if isinstance(s, sweet.Let) for n in s.names)
        name = next((n.name for n in bound if self.code.scope.find(n.name) is not None), None)
        if name is None:
            return None
        return (
            f"a `let` ends with its turn: `with ({name} = {name})` carries the value, and the last line is the next one"
        )

    def _look_into_body(self) -> None:
        """Report mistakes in the body if the header is wrong, since they may be independent of it."""
        code, result = self.code, self.expr.body.result
        names = [c.name for c in self.expr.carries] + [n for t in self.types for n in all_names(t)]
        names += [self.expr.index] if isinstance(self.expr, sweet.For) else []
        with code.block():
            for name in names:
                code.scope.bind(ScopeEntry(name.name, None, None, name.span, "let"))
            statements(code, before_result(self.expr.body))
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

    def _bind(
        self, range_: core.Range | None, carried: list[WrittenCarry], pieces: list[list[CarryPiece]]
    ) -> str | None:
        """Bind the index and the carries for conditions and body."""
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
            self.code.scope.bind(ScopeEntry(carry.name.name, carry.sort, value, carry.name.span, "let"))
        return index

    # The invariant

    def _invariant(self, made: list[core.Stmt], pieces: list[CarryPiece]) -> tuple[core.Invariant, ...]:
        """Return the conditions of the annotations and the `where`; they are emitted into `made` first."""
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
        return tuple(i for stmt in made for i in invariants(stmt, self.bound))

    def _kept(self, piece: CarryPiece) -> None:
        """Assert that a carry without annotation keeps the shape and the dtype of its first value."""
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

    def _solve(self, pieces: list[CarryPiece]) -> list[Bound]:
        found: list[AnnotatedTensor] = []
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

    # The blocks of a turn

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

    def _lets(self, names: dict[str, ScopeEntry], *made: object) -> list[core.Stmt]:
        """Return `let`s of the invariant's names that are used."""
        used = {n for n, e in names.items() if e.used}
        spans = {names[n].span for n in used}
        for entry in self.code.annotated:
            entry.used = entry.used or entry.span in spans
        return naming.lets(self.bound, used | naming.of_stacks(self.bound, *made))

    def _body(self, carried: list[WrittenCarry], stacks: list[LoopStack], types: Scope) -> core.Block | None:
        node = self.expr.body
        sorts = tuple(c.sort for c in carried) + (core.TENSOR,) * len(stacks)
        written = tuple(c.type or sweet.TensorType(node.span, None, None) for c in carried)
        all_types = (*written, *(s.type for s in stacks))
        want, type_ = _whole(sorts), all_types[0] if len(all_types) == 1 else sweet.TupleType(node.span, all_types)
        with self.code.block() as stmts:
            names = naming.entries(self.code, self.bound)
            fine = statements(self.code, before_result(node))
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
            help="the carried values come first, then the stacked ones" if self.expr.stack else None,
        )  # fmt: skip

    def _given(
        self,
        result: core.Value,
        sorts: tuple[core.Sort, ...],
        bases: list[str],
        stmts: list[core.Stmt],
        stacks: list[LoopStack],
        types: Scope,
    ) -> tuple[core.Value, ...]:
        """Return the results of a turn, with tuples unpacked; stacked values get names, for the assertions of their types."""
        code = self.code
        tops = [result] if len(sorts) == 1 else apart(code, result, sorts, bases)
        flat = [v for t, s, b in zip(tops, sorts, bases, strict=True) for v in leaves_of(code, t, s, b)]
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
        self, stmts: list[core.Stmt], stacks: list[LoopStack], given: list[core.Value], types: Scope
    ) -> None:
        """Assert the types of the stacked values, unless the body ends with these assertions, as it does in core form."""
        code, before, annotated = self.code, len(stmts), len(self.code.annotated)
        there = _last_assertions(stmts)
        found = [
            AnnotatedTensor(s.type.span, v.name, s.type, "stack", core.Called(s.name.name))
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

    # The loop's value

    def _value(self, made: core.Loop, carried: list[WrittenCarry], stacks: int) -> Typed:
        """Return the loop, or its value put together if a tuple is carried."""
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


def _whole(sorts: tuple[core.Sort, ...]) -> core.Sort:
    return sorts[0] if len(sorts) == 1 else core.TupleSort(sorts)


def _last_assertions(stmts: list[core.Stmt]) -> list[core.Stmt]:
    """Return the assertions at the end of some statements, after which nothing is bound."""
    found: list[core.Stmt] = []
    for stmt in reversed(stmts):
        if not isinstance(stmt, core.Assert | core.MatchShape):
            break
        found.append(stmt)
    return found
