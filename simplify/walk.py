"""Walks statements and expressions under the known facts: each gives its abstract value and its simplified core."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import assert_never

from ..lang import codes, core
from ..lang.core import Status
from ..lang.node import Node, replace
from ..lang.source import Span
from ..lang.walk import depth
from ..ops.model import TensorInfo
from ..ops.tracked import of_literal
from .assertions import Assertions, with_needs
from .bindings import Bindings
from .branches import Branches
from .calls import CallVisitor
from .findings import Log
from .frame import Emitter, Frame, Temporaries
from .implementations import Lists
from .known.fresh import unknown
from .known.outcome import GivenUp, Options
from .known.shape_level import Poisoned, ShapeLevel
from .known.state import State
from .known.values import (
    POISON,
    UNKNOWN,
    BoolValue,
    DTypeValue,
    Entry,
    Env,
    FnValue,
    ListValue,
    NumberValue,
    ShapeValue,
    SizeValue,
    TextValue,
    TupleValue,
    Undecided,
    UnknownValue,
    Value,
)
from .loops import Loops
from .messages.claims import Claim, Fits, Valued
from .opaque import lost, no_holder
from .program import ProgramContext
from .prover import Prover
from .solver.conditions import eq
from .solver.sizes import single_var
from .solver.terms import Size, Var, over, variables


class Walk:
    """The walk over one function and everything inlined into it: a Visitor with its parts. `pieces` are its definitions."""

    def __init__(
        self, program: ProgramContext, log: Log, options: Options, function: str, pieces: tuple[Node, ...] = ()
    ) -> None:
        self.program, self._pieces, stopped = program, pieces, options.stopped
        # Whether to stop at a place.
        self.stopped: Callable[[Frame], bool] | None = None if stopped is None else lambda _: stopped()
        self.state = State()
        self.prover = Prover(self.state, log, options, function)
        self.bindings = Bindings(program, self.state, function, written=not options.errors_only)
        self.assertions = Assertions(self)
        self.branches = Branches(self)
        self.calls = CallVisitor(self)
        self.loops = Loops(self, self.branches)
        self.lists = Lists(self, self.calls, self.branches)
        self.frame = Frame(Emitter(Temporaries(program.taken)), self.bindings.names)
        # The wrapper's bindings: its implementation has other names.
        self.outside: Env = {}

    @cached_property
    def depth(self) -> int:
        """The nesting depth of the walked pieces."""
        return max(map(depth, self._pieces), default=0)

    # Functions

    def function_body(
        self, function: core.Function, impl: core.Function | None, env: Env, frame: Frame | None = None
    ) -> tuple[Entry, core.Function, core.Function | None]:
        """Walk a wrapper's body and promises, and the implementation's body in place of its call."""
        around = frame or self.frame
        params = self.with_known(function, env).params
        if impl is None:
            entry, block = self.block(
                around, function.body, dict(env)
            )  # the types of functions may mention the parameters
            return entry, replace(function, params=params, body=block), None
        [call] = function.body.stmts
        assert isinstance(call, core.Let)
        inner = dict(env)
        for param, wrapper_param in zip(impl.params, function.params, strict=True):
            inner[param.name] = env[wrapper_param.name]
        self.outside = {n: e for n, e in env.items() if n not in self.program.consts}
        for param in impl.params:
            self.outside.pop(param.name, None)
        result, impl_body = self.block(around, impl.body, inner)
        self.outside = {}
        env[call.names[0]] = replace(result, span=impl.body.result.span)
        frame = around.block()
        for stmt in function.promises:
            self.stmt(frame, stmt, env)
        if lost(self.state, result.value, function.promises):
            said = no_holder(call.names[0], impl.body.result.span)
            self.prover.judge(frame, False, Claim(said, env), claim=True)
        given_back = replace(call, known=(self.bindings.written.known(result.value),))
        body = replace(function.body, stmts=(given_back,))
        wrapper = replace(function, params=params, body=body, promises=tuple(frame.out.stmts))
        given = zip(impl.params, params, strict=True)
        inside = tuple(replace(p, known=q.known) for p, q in given)
        return env[call.names[0]], wrapper, replace(impl, params=inside, body=impl_body)

    def with_known(self, function: core.Function, env: Env) -> core.Function:
        """Add the known facts to a function's parameters."""
        known = self.bindings.written.known
        return replace(function, params=tuple(replace(p, known=known(env[p.name].value)) for p in function.params))

    def block(self, frame: Frame, block: core.Block, env: Env) -> tuple[Entry, core.Block]:
        """Walk a block; return its value, and its simplified form."""
        inner = frame.block()
        for stmt in block.stmts:
            self.stmt(inner, stmt, env)
        entry, result = self.value(inner, block.result, env)
        return entry, core.Block(block.span, tuple(inner.out.stmts), result)

    def assume_all(
        self, frame: Frame, stmts: Iterable[core.Stmt], env: Env, *, name_dims: bool
    ) -> tuple[core.Stmt, ...]:
        """Take assertions as facts: a function's entry check inside it, a result's promises at a call."""
        return self.assertions.assume_all(frame, stmts, env, name_dims=name_dims)

    # Statements

    def stmt(self, frame: Frame, stmt: core.Stmt, env: Env) -> None:
        """Walk a statement: decide it, and learn its facts."""
        if self.stopped is not None and self.stopped(frame):
            raise GivenUp
        match stmt:
            case core.Let():
                self._let(frame, stmt, env)
            case core.Assert():
                self.assertions.check(frame, stmt, env)
            case core.MatchShape():
                self.assertions.match_shape(frame, stmt, env)
            case core.ExprStmt():
                _, value = self.value(frame, stmt.value, env)
                if core.is_work(value):
                    frame.out.write(replace(stmt, value=value))
            case _:
                assert_never(stmt)

    def _let(self, frame: Frame, stmt: core.Let, env: Env) -> None:
        entry, value = self.value(frame, stmt.value, env)
        if stmt.is_tuple and isinstance(entry.value, UnknownValue) and isinstance(value, core.Call):
            value = replace(value, sure=False)  # the run checks the number of parts
            self.prover.hinder(frame)
        parts = entry.value.items if stmt.is_tuple and isinstance(entry.value, TupleValue) else (entry.value,)
        if not stmt.is_tuple and isinstance(entry.value, SizeValue):
            entry = replace(entry, value=SizeValue(self._name_size(stmt, stmt.names[0], entry.value)))
            parts = (entry.value,)
        frame.out.write(replace(stmt, value=value, known=tuple(map(self.bindings.written.known, parts))))
        if isinstance(entry.value, ShapeValue) and not frame.inlined:
            self.state.name_shape(self.state.resolve(entry.value.dims), stmt.names[0])
        if not stmt.is_tuple:
            return self.bindings.bind(frame, env, stmt.names[0], entry, stmt.span)
        match entry.value:
            case TupleValue(items) if len(items) == len(stmt.names):
                of_call = (Entry(item, entry.span, origin=entry.origin) for item in items)
                for name, part in zip(stmt.names, entry.items or of_call, strict=True):
                    if (
                        isinstance(part.value, SizeValue) and not frame.names.opaque
                    ):  # a wrapper's own names are not the user's
                        part = replace(part, value=SizeValue(self._name_size(stmt, name, part.value)))
                    self.bindings.bind(frame, env, name, part, stmt.span)
            case _:
                if isinstance(entry.value, UnknownValue):
                    return self._let_parts(frame, stmt, entry, entry.value, env)
                if isinstance(entry.value, TupleValue):
                    message = core.other_number(len(parts), len(stmt.names))
                    self.prover.judge(frame, False, Fits(stmt.value.span, codes.E206, message), claim=True)
                for name in stmt.names:
                    env[name] = Entry(POISON, entry.span)
        return None

    def _let_parts(self, frame: Frame, stmt: core.Let, entry: Entry, value: UnknownValue, env: Env) -> None:
        """Bind the parts of an unknown tuple; the run checks their number."""
        for name in stmt.names:
            part: Value = value if value.dtype is None else TensorInfo((self.state.segment("?"),), value.dtype)
            self.bindings.bind(frame, env, name, Entry(part, entry.span, origin=entry.origin), stmt.span)

    def _name_size(self, stmt: core.Let, name: str, value: SizeValue) -> Size:
        """Give a size that the data decides the user's name for it."""
        size = self.state.settled(value.size)
        if not self.bindings.is_named(name, stmt.span):
            return size
        variable = single_var(size)
        if variable is not None and self._is_nameless(variable):
            named = self.state.size(name, nonneg=variable.nonneg)
            self.state.rename(variable, named)
            return named
        if any(map(self._is_element, variables(size))) and not any(v in self.state.opaque for v in variables(size)):
            named = self.state.size(name, nonneg=False)
            self.state.assume(eq(named, size))
            return named
        return size

    def _is_nameless(self, variable: Var) -> bool:
        if variable in self.state.anonymous:
            return self._is_element(variable)
        nobody_s = variable.name.startswith("?")  # a size from a called function
        return nobody_s or (variable in self.state.opaque and not variable.name.isidentifier())

    def _is_element(self, variable: Var) -> bool:
        """Whether it is a result of @item, not `x.dim(0)`."""
        return variable in self.state.anonymous and variable.name.startswith("?")

    # Expressions

    def value(self, frame: Frame, expr: core.Value, env: Env) -> tuple[Entry, core.Value]:
        if core.is_shape_level(expr):
            return self._shape_level(frame, expr, env), expr
        match expr:
            case core.Var():
                return env.get(expr.name, Entry(POISON, expr.span)), expr
            case core.Call():
                entry, after = self._call(frame, expr, env)
                known = self.bindings.written.known(entry.value)
                if isinstance(after, core.Call) and after.known is not known:
                    after = replace(after, known=known)
                return entry, after
            case core.Number():
                return Entry(NumberValue(expr.value), expr.span), expr
            case core.Text():
                return Entry(TextValue(expr.value), expr.span), expr
            case core.TensorLit():
                data = of_literal(expr.values, expr.dtype)
                value, axes = TensorInfo(expr.shape, expr.dtype, data), (expr.span,) * len(expr.shape)
                return Entry(value, expr.span, axes, number=self.bindings.number_of_literal(expr)), expr
            case core.Load():
                found = self.program.header(expr)
                return Entry(found or unknown(self.state, core.TENSOR, expr.key or "weights"), expr.span), expr
            case core.FnRef():
                return Entry(FnValue(expr.name, self.program.functions.get(expr.name)), expr.span), expr
            case core.Lambda():
                return self._lambda(frame, expr, env)
            case core.TupleValue():
                items = self.values(frame, expr.items, env)
                return (
                    Entry(TupleValue(tuple(e.value for e, _ in items)), expr.span, items=tuple(e for e, _ in items)),
                    replace(expr, items=tuple(v for _, v in items)),
                )
            case core.ListValue():
                items = self.values(frame, expr.items, env)
                items = [(self.bindings.known_as(frame, env, e, v, core.TENSOR), v) for e, v in items]
                return (
                    Entry(ListValue(tuple(e.value for e, _ in items)), expr.span, items=tuple(e for e, _ in items)),
                    replace(expr, items=tuple(v for _, v in items)),
                )
            case core.If():
                return self.branches.choose(frame, expr, env)
            case core.Loop():
                entry, after = self.loops.run(frame, expr, env)
                if isinstance(after, core.Loop):
                    parts = entry.value.items if isinstance(entry.value, TupleValue) else (entry.value,)
                    after = replace(after, behind=tuple(map(self.bindings.written.known, parts)))
                return entry, after
            case _:
                assert_never(expr)

    def _call(self, frame: Frame, expr: core.Call, env: Env) -> tuple[Entry, core.Value]:
        if frame.inlined and over():  # nothing found there is reported
            return Entry(UNKNOWN, expr.span), expr
        callee = self.calls.callee(expr, env)
        if isinstance(callee, FnValue) and callee.closure is None and callee.function is None:
            impls = self.program.impls.get(callee.name)
            if impls is not None:
                return self.lists.call(frame, impls, expr, env)
        return self.calls.call(frame, expr, callee, env)

    def values(self, frame: Frame, exprs: Iterable[core.Value], env: Env) -> list[tuple[Entry, core.Value]]:
        """Walk several expressions in order. If a later one leaves checks, the calls before it are named first, to keep the
        order of the source."""
        found: list[tuple[Entry, core.Value]] = []
        for expr in exprs:
            before = len(frame.out.stmts)
            entry, value = self.value(frame, expr, env)
            if len(frame.out.stmts) > before:
                _name_calls(frame.out, found, before)
            found.append((entry, value))
        return found

    def _shape_level(self, frame: Frame, expr: core.ShapeLevel, env: Env) -> Entry:
        level, open_ = ShapeLevel(self.state, env), self.assertions.open_obligations(expr, env)
        try:
            value = _evaluate(level, expr)
        except Poisoned:
            value = POISON
        if level.needs:
            # The axis of an untyped value need not be proved to exist: an open check of it is not reported.
            truth, needs = with_needs(True, level.needs), Valued(expr.span, level.needs)
            status, _ = self.prover.judge(frame, truth, needs, claim=not isinstance(needs.first.expr, core.DimOf))
            if status is Status.REFUTED:
                value = POISON
            elif not isinstance(truth, Undecided):
                self.state.assume(truth)
        frame.out.write(*open_)
        return Entry(value, expr.span, _written(expr))

    def _lambda(self, frame: Frame, expr: core.Lambda, env: Env) -> tuple[Entry, core.Value]:
        """Check a lambda's body where it is written, for all its callers."""
        inner, since, frame = dict(env), self.bindings.mark(), frame.arm(None)
        hurdles = len(self.prover.hurdles)
        self.state.push()
        for param in expr.params:
            value = unknown(self.state, param.sort, param.name)
            value = replace(value, env=inner) if isinstance(value, FnValue) else value
            inner[param.name] = Entry(value, expr.span)
        checks = self.assume_all(frame, expr.checks, inner, name_dims=True)
        for param in expr.params:
            self.bindings.bind(frame, inner, param.name, inner[param.name], expr.span)
        _, body = self.block(frame, expr.body, dict(inner))
        self.bindings.close(since)
        self.state.pop()
        del self.prover.hurdles[hurdles:]  # it need not be called
        after = replace(expr, checks=checks, body=body)
        return Entry(FnValue("fn", None, expr, dict(env)), expr.span), after


def _name_calls(out: Emitter, found: list[tuple[Entry, core.Value]], at: int) -> None:
    for position, (entry, value) in enumerate(found):
        if isinstance(value, core.Call | core.If | core.Loop):
            name = out.temporary()
            out.stmts.insert(at, core.Let(value.span, (name,), False, None, value))
            at += 1
            found[position] = (entry, core.Var(value.span, name))


def _written(expr: core.ShapeLevel) -> tuple[Span | None, ...]:
    """The places of the sizes of a written shape."""
    if not isinstance(expr, core.ShapeLit) or any(isinstance(d, core.Splice) for d in expr.dims):
        return ()
    return tuple(d.span for d in expr.dims)


def _evaluate(level: ShapeLevel, expr: core.ShapeLevel) -> Value:
    if isinstance(expr, core.SizeExpr):
        return SizeValue(level.size(expr))
    if isinstance(expr, core.ShapeExpr):
        return ShapeValue(level.shape(expr))
    if isinstance(expr, core.DTypeExpr):
        return DTypeValue(level.dtype(expr))
    return BoolValue(level.truth(expr))
