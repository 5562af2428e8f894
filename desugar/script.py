"""A file's top-level statements to the function that a run calls: its statements, and the names whose values are printed."""

from __future__ import annotations

from ..lang import codes, core, sweet
from ..lang.diagnostics import RxError, error
from ..lang.source import Span
from ..lang.walk import depth
from . import arguments, levels
from .code import FunctionCode, Hooks
from .declarations import MAX_DEPTH
from .lint import by_line, unused
from .literals import settled
from .scope import SHAPE_SORTS, identifiers
from .statements import attempt
from .symbols import Unit


class Script:
    """The script during translation. An expression on a line of its own is printed; a script without such lines prints all
    the names that it binds."""

    def __init__(self, unit: Unit, hooks: Hooks) -> None:
        self.unit = unit
        self.code = FunctionCode(unit, None, identifiers(*unit.script), hooks)
        self.code.may_load = True
        self.shown: list[str] = []
        self.bound: list[str] = []

    def run(self) -> tuple[core.Function | None, tuple[str, ...]]:
        """Return the script as a function, or None if it has an error; and the names to print."""
        stmts = self.unit.script
        fine = True
        for position, stmt in enumerate(stmts):
            fine = self._statement(stmt, stmts[position + 1 :]) and fine
        for entries in by_line(e for e in self.code.annotated if not e.used):
            unused(self.unit.symbols, entries, None)
        names = tuple(dict.fromkeys(self.shown or self.bound))
        if not fine:
            return None, ()
        span = stmts[0].span.to(stmts[-1].span)
        return core.Function(span, "private", "main", (), None, (), self._body(span, names)), names

    def _body(self, span: Span, names: tuple[str, ...]) -> core.Block:
        by_name = {e.expr.name: e for e in self.code.scope.entries.values() if hasattr(e.expr, "name")}  # type: ignore[union-attr]
        values = [core.variable(span, n, by_name[n].sort or core.TENSOR) for n in names]
        return core.Block(span, tuple(self.code.stmts), core.TupleValue(span, tuple(values)))

    def _statement(self, stmt: sweet.Stmt, rest: list[sweet.Stmt]) -> bool:
        if depth(stmt) > MAX_DEPTH:
            self.code.report(RxError(error(codes.E223, "this statement is nested too deeply", stmt.span)))
            return False
        if isinstance(stmt, sweet.ExprStmt) and not sweet.is_match(stmt.value):
            return self._show(stmt, rest)
        made = len(self.code.stmts)
        if not attempt(self.code, stmt):
            return False
        for made_stmt in self.code.stmts[made:]:
            if isinstance(stmt, sweet.Let) and isinstance(made_stmt, core.Let) and made_stmt.span == stmt.span:
                self.bound.extend(made_stmt.names)
        return True

    def _show(self, stmt: sweet.ExprStmt, rest: list[sweet.Stmt]) -> bool:
        """Print the expression on a line, under its own name if it is one."""
        code, expr = self.code, stmt.value
        try:
            if isinstance(expr, sweet.Name) and not _is_bound_by(expr.name, rest):
                entry = code.entry(expr.name, expr.span)
                entry.used = True
                self.shown.append(entry.expr.name if hasattr(entry.expr, "name") else expr.name)  # type: ignore[union-attr]
                if entry.kind == "const":
                    self._bind(stmt, entry.at(expr.span), entry.sort or core.TENSOR, self.shown.pop())
                return True
            value, sort = self._value(expr)
            self._bind(stmt, settled(value, None), sort, "out")
            return not code.take_failure()
        except RxError as problem:
            code.report(problem)
            code.take_failure()
            return False

    def _value(self, expr: sweet.Expr) -> tuple[core.Value, core.Sort]:
        found = levels.level(self.code, expr)
        sort = {s.name: s for s in SHAPE_SORTS}.get(found)
        if sort is not None and not isinstance(expr, sweet.Call):
            return arguments.of(self.code, expr, sort), sort
        if isinstance(expr, sweet.Call) and sort is not None:
            return arguments.direct(self.code, expr, sort), sort
        return self.code.hooks.value(self.code, expr)

    def _bind(self, stmt: sweet.ExprStmt, value: core.Value, sort: core.Sort, base: str) -> None:
        name = self.code.fresh(base)
        ident = sweet.Ident(stmt.span, name)
        self.code.bind(ident, sort, "let")
        self.code.emit(core.Let(stmt.span, (name,), False, sort if sort in SHAPE_SORTS else None, value))
        self.shown.append(name)


def _is_bound_by(name: str, rest: list[sweet.Stmt]) -> bool:
    return any(isinstance(s, sweet.Let) and any(n.name == name for n in s.names) for s in rest)
