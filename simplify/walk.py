"""Statements and expressions under what is known: each one to its abstract value and its simplified core."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from ..lang import core
from ..lang.core import Status
from ..lang.node import replace
from ..lang.source import Span
from ..ops.model import TensorInfo
from .assertions import with_needs
from .branches import Branches
from .known import dims
from .known.shape_level import Poisoned, ShapeLevel
from .known.values import (
    POISON,
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
    Value,
)
from .solver.terms import Size, Var
from .voice import claims


class Walker(Branches):
    """Walks one function, and what is inlined into it."""

    # Functions

    def function_body(
        self, function: core.Function, impl: core.Function | None, env: Env
    ) -> tuple[Entry, core.Function, core.Function | None]:
        """A wrapper's body and promises, and the implementation's body, which is walked where it is called."""
        if impl is None:
            entry, block = self.block(function.body, env)
            return entry, replace(function, body=block), None
        [call] = function.body.stmts
        assert isinstance(call, core.Let)
        inner = dict(env)
        for param, wrapper_param in zip(impl.params, function.params, strict=True):
            inner[param.name] = env[wrapper_param.name]
        result, impl_body = self.block(impl.body, inner)
        env[call.names[0]] = replace(result, span=impl.body.result.span)
        outer, self.out = self.out, []
        for stmt in function.promises:
            self.stmt(stmt, env)
        promises, self.out = tuple(self.out), outer
        return env[call.names[0]], replace(function, promises=promises), replace(impl, body=impl_body)

    def block(self, block: core.Block, env: Env) -> tuple[Entry, core.Block]:
        outer, self.out = self.out, []
        for stmt in block.stmts:
            self.stmt(stmt, env)
        entry, result = self.value(block.result, env)
        stmts, self.out = tuple(self.out), outer
        return entry, core.Block(block.span, stmts, result)

    # Statements

    def stmt(self, stmt: core.Stmt, env: Env) -> None:
        match stmt:
            case core.Let():
                self._let(stmt, env)
            case core.Assert():
                self._assert(stmt, env)
            case core.MatchShape():
                self._match_shape(stmt, env)
            case core.ExprStmt():
                _, value = self.value(stmt.value, env)
                if core.is_work(value):
                    self.out.append(replace(stmt, value=value))
            case _:
                assert_never(stmt)

    def _let(self, stmt: core.Let, env: Env) -> None:
        kept = self._open_obligations(stmt.value, env) if isinstance(stmt.value, core.ShapeLevel) else ()
        entry, value = self.value(stmt.value, env)
        self.out.extend(kept)
        self.out.append(replace(stmt, value=value))
        if not stmt.is_tuple:
            if isinstance(entry.value, SizeValue):
                entry = replace(entry, value=SizeValue(self._name_size(stmt, entry.value)))
            return self.bind(env, stmt.names[0], entry, stmt.span)
        match entry.value:
            case TupleValue(items) if len(items) == len(stmt.names):
                for name, item in zip(stmt.names, items, strict=True):
                    self.bind(env, name, Entry(item, entry.span, origin=entry.origin), stmt.span)
            case _:
                if isinstance(entry.value, TupleValue):
                    parts = len(entry.value.items)
                    self.judge(False, lambda _: claims.wrong_number(self, stmt, parts), claim=True)
                for name in stmt.names:
                    env[name] = Entry(POISON, entry.span)
        return None

    def _name_size(self, stmt: core.Let, value: SizeValue) -> Size:
        """A size that the data decides takes the name that the user gives it."""
        size = self.state.settled(value.size)
        variable = dims.lone_variable(size)
        if variable is not None and self._is_nameless(variable):
            named = self.state.size(stmt.names[0], nonneg=variable.nonneg)
            self.state.rename(variable, named)
            return named
        return size

    def _is_nameless(self, variable: Var) -> bool:
        if variable in self.state.anonymous:
            return variable.name.startswith("?")  # what @item gave, but not `x.dim(0)`
        return variable in self.state.opaque and not variable.name.isidentifier()

    # Expressions

    def value(self, expr: core.Value, env: Env) -> tuple[Entry, core.Value]:
        if isinstance(expr, core.ShapeLevel):
            return self._shape_level(expr, env), expr
        match expr:
            case core.Var():
                return env.get(expr.name, Entry(POISON, expr.span)), expr
            case core.Number():
                return Entry(NumberValue(expr.value), expr.span), expr
            case core.Text():
                return Entry(TextValue(expr.value), expr.span), expr
            case core.TensorLit():
                data = literal_data(expr)
                return Entry(TensorInfo(expr.shape, expr.dtype, data), expr.span, (expr.span,) * len(expr.shape)), expr
            case core.Load():
                found = self.program.header(expr)
                return Entry(found or self.unknown(core.TENSOR, expr.key or "weights"), expr.span), expr
            case core.FnRef():
                return Entry(FnValue(expr.name, self.program.functions.get(expr.name)), expr.span), expr
            case core.Lambda():
                return self._lambda(expr, env)
            case core.TupleValue():
                items = self.values(expr.items, env)
                return (
                    Entry(TupleValue(tuple(e.value for e, _ in items)), expr.span),
                    replace(expr, items=tuple(v for _, v in items)),
                )
            case core.ListValue():
                items = self.values(expr.items, env)
                return (
                    Entry(ListValue(tuple(e.value for e, _ in items)), expr.span, items=tuple(e for e, _ in items)),
                    replace(expr, items=tuple(v for _, v in items)),
                )
            case core.If():
                return self._if(expr, env)
            case core.Call():
                return self.call(expr, env)
            case _:
                assert_never(expr)

    def call(self, expr: core.Call, env: Env) -> tuple[Entry, core.Value]:
        raise NotImplementedError

    def call_with(self, function: core.Function, entries: tuple[Entry, ...], env: Env) -> Entry:
        raise NotImplementedError

    def values(self, exprs: Iterable[core.Value], env: Env) -> list[tuple[Entry, core.Value]]:
        """Several expressions in order. Where a later one leaves checks, the calls before it are named first, so that
        order stays the source's."""
        found: list[tuple[Entry, core.Value]] = []
        for expr in exprs:
            before = len(self.out)
            entry, value = self.value(expr, env)
            if len(self.out) > before:
                self._name_calls(found, before)
            found.append((entry, value))
        return found

    def _name_calls(self, found: list[tuple[Entry, core.Value]], at: int) -> None:
        for position, (entry, value) in enumerate(found):
            if core.is_work(value):
                name = self.temporary()
                self.out.insert(at, core.Let(value.span, (name,), False, None, value))
                at += 1
                found[position] = (entry, core.Var(value.span, name))

    def _shape_level(self, expr: core.ShapeLevel, env: Env) -> Entry:
        level = ShapeLevel(self.state, env)
        try:
            value = _evaluate(level, expr)
        except Poisoned:
            value = POISON
        if level.needs:
            truth = with_needs(True, level.needs)
            status = self.judge(
                truth, lambda outcome: claims.obligation(self, expr.span, level.needs, outcome), claim=False
            )
            if status is Status.REFUTED:
                value = POISON
            elif not isinstance(truth, Undecided):
                self.state.assume(truth)
        return Entry(value, expr.span, _written(expr))

    def _lambda(self, expr: core.Lambda, env: Env) -> tuple[Entry, core.Value]:
        """A lambda's body is checked where it stands, for all its callers."""
        inner, since, path = dict(env), len(self._bindings), self.path
        self.path = (*path, None)
        self.state.push()
        for param in expr.params:
            inner[param.name] = Entry(self.unknown(param.sort, param.name), expr.span)
        checks = self.assume_all(expr.checks, inner, name_dims=True)
        for param in expr.params:
            self.bind(inner, param.name, inner[param.name], expr.span)
        _, body = self.block(expr.body, inner)
        self._close_bindings(since)
        self.state.pop()
        self.path = path
        after = replace(expr, checks=checks, body=body)
        return Entry(FnValue("fn", None, expr, dict(env)), expr.span), after


def _written(expr: core.ShapeLevel) -> tuple[Span | None, ...]:
    """Where each size of a shape is written."""
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


def literal_data(literal: core.TensorLit) -> int | tuple[int, ...] | None:
    """The elements of a small integer literal."""
    if literal.dtype.kind not in ("int", "uint") or len(literal.shape) > 1 or len(literal.values) > 64:
        return None
    values = tuple(v for v in literal.values if isinstance(v, int))
    return values if literal.shape else values[0]
