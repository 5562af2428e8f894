"""Core tree to Rx text; parsing and desugaring the text gives the same core back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import isinf
from typing import assert_never

from . import core
from .core import SizeExpr
from .node import replace
from .printer import quote, tupled
from .walk import walk

Place = core.Stmt | core.Call | core.Invariant | core.Stacked
Comment = Callable[[Place], str | None]

# The binding strengths of expressions, weakest first; an operand weaker than its place requires gets parentheses.
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGNED, _ATOM = range(8)
_LEVELS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT, "&&": _AND, "||": _OR}
_WIDTH = 100
_SHAPE_SORTS = (core.SIZE, core.SHAPE, core.DTYPE, core.BOOL)


def print_program(program: core.Program, comment: Comment | None = None) -> str:
    """The whole program: consts, functions, implementations, and the script with the names that it prints.

    `comment` may return a comment on a statement or on a call in it; it is written after the statement.
    """
    printer = _Printer(comment)
    parts = []
    if program.consts:
        parts.append("\n".join(printer.const(c) for c in program.consts))
    parts.extend(printer.function(f) for f in program.functions)
    parts.extend(f"@{i.name} = [{', '.join('@' + c for c in i.choices)}]" for i in program.impls)
    if program.main is not None:
        lines = [*printer.lines(program.main.body.stmts, ""), *program.script]
        parts.append("\n".join(lines))
    return "\n\n".join(p for p in parts if p) + "\n"


def print_stmt(stmt: core.Stmt) -> str:
    """One statement; several lines if it has blocks in it."""
    return "\n".join(_Printer(None).lines((stmt,), ""))


def print_expr(value: core.Value | core.Splice) -> str:
    """An expression on one line, unless it has blocks in it."""
    return _Printer(None).value(value, "")


def print_sort(sort: core.Sort) -> str:
    match sort:
        case core.BaseSort():
            return sort.name
        case core.TupleSort():
            return tupled([print_sort(s) for s in sort.items])
        case core.FnSort():
            return sort.text
        case _:
            assert_never(sort)


class _Printer:
    def __init__(self, comment: Comment | None) -> None:
        self.comment = comment

    # Items

    def function(self, function: core.Function) -> str:
        head = f"{function.kind} @{function.name} = {self.head(function.params, function.result)}"
        target = f" = {quote(function.target)}" if function.target is not None else ""
        stmts, apart = core.statements(function), ""
        if _begins_like_checks(function):
            stmts, apart = function.body.stmts, f" {self.braces(self.lines(function.checks, '  '), '')}"
        return f"{head}{apart} {self.block(replace(function.body, stmts=stmts), '')}{target}"

    def head(self, params: tuple[core.Param, ...], result: core.Sort | None) -> str:
        shown = ", ".join(f"{p.name} : {print_sort(p.sort)}" for p in params)
        return f"fn({shown})" + (f" : {print_sort(result)}" if result is not None else "")

    def const(self, const: core.ConstDef) -> str:
        annotation = f" : {const.annotation}" if const.annotation else ""
        return f"const {const.name}{annotation} = {self.value(const.value, '')}"

    # Statements

    def block(self, block: core.Block, indent: str) -> str:
        inner = indent + "  "
        return self.braces((*self.lines(block.stmts, inner), inner + self.leading(block.result, inner)), indent)

    def braces(self, lines: Iterable[str], indent: str) -> str:
        text = "\n".join(lines)
        return f"{{\n{text}\n{indent}}}" if text else "{}"

    def lines(self, stmts: tuple[core.Stmt, ...], indent: str) -> Iterator[str]:
        for stmt in stmts:
            said = self.said(stmt)
            yield indent + self.stmt(stmt, indent) + (f"  # {said}" if said else "")

    def said(self, stmt: core.Stmt) -> str:
        if self.comment is None:
            return ""
        values = [stmt.value] if isinstance(stmt, core.Let | core.ExprStmt) else []
        found = [self.comment(stmt), *(self.comment(c) for v in values for c in _calls(v))]
        return "; ".join(" ".join(text.split()) for text in found if text)

    def stmt(self, stmt: core.Stmt, indent: str) -> str:
        match stmt:
            case core.Let():
                names = tupled(list(stmt.names)) if stmt.is_tuple else stmt.names[0]
                told = stmt.sort in _SHAPE_SORTS or isinstance(stmt.sort, core.TupleSort)
                sort = f" : {print_sort(stmt.sort)}" if told and stmt.sort else ""
                return f"let {names}{sort} = {self.value(stmt.value, indent)}"
            case core.Assert():
                message = f", {quote(stmt.message)}" if stmt.message is not None else ""
                return f"assert {self.value(stmt.cond, indent)}{message}"
            case core.MatchShape():
                return f"match_shape({stmt.tensor}, [{', '.join(stmt.binds)}], {self.dims(stmt.dims)})"
            case core.ExprStmt():
                return self.leading(stmt.value, indent)
            case _:
                assert_never(stmt)

    def leading(self, value: core.Value, indent: str) -> str:
        """An expression at the start of a line, in parentheses if its minus would continue the line before."""
        text = self.value(value, indent)
        return f"({text})" if text.startswith("-") else text

    # Values

    def value(self, value: core.Value | core.Splice, indent: str) -> str:
        match value:
            case core.Var():
                return value.name
            case core.FnRef():
                return f"@{value.name}"
            case core.Number():
                return _number(value.value)
            case core.TensorLit():
                return f"tensor({_rows(value)}, {value.dtype})"
            case core.Load():
                key = f", {quote(value.key)}" if value.key is not None else ""
                return f"load({quote(value.path)}{key})"
            case core.Text():
                return quote(value.value)
            case core.Call():
                args = ", ".join(self.arg(a, indent) for a in value.args)
                return f"{self.value(value.callee, indent)}({args})"
            case core.TupleValue():
                return tupled([self.value(v, indent) for v in value.items])
            case core.ListValue():
                return f"[{', '.join(self.value(v, indent) for v in value.items)}]"
            case core.If():
                then, orelse = self.block(value.then, indent), self.block(value.orelse, indent)
                return f"if ({self.value(value.cond, indent)}) {then} else {orelse}"
            case core.Loop():
                return self.loop(value, indent)
            case core.Lambda():
                stmts = (*value.checks, *value.body.stmts)
                return f"{self.head(value.params, value.result)} {self.block(replace(value.body, stmts=stmts), indent)}"
            case core.Splice():
                return f"*{value.name}"
        return self.shape_level(value)

    def loop(self, loop: core.Loop, indent: str) -> str:
        """The header on one line, or each clause on its own with its comment."""
        head = [self.condition(loop.cond, indent)] if loop.cond else []
        clauses = [self.carries(loop.carries, indent), self.where(loop.invariant)]
        counted = [(f"for {loop.index} in {self.range(loop.range)}", "")] if loop.range is not None else []
        clauses = [*counted, *clauses, *head] if counted else [*head, *clauses]
        clauses = [c for c in (*clauses, self.stacks(loop.stacked)) if c[0]]
        line = " ".join(text for text, _ in clauses)
        if len(indent) + len(line) > _WIDTH or "\n" in line or any(said for _, said in clauses):
            line = f"\n{indent}  ".join(f"{text}  # {said}" if said else text for text, said in clauses)
        end = f"\n{indent}" if clauses[-1][1] else " "
        return f"{line}{end}{self.block(loop.body, indent)}"

    def range(self, range_: core.Range) -> str:
        parts = [range_.start, range_.stop, range_.step]
        if isinstance(range_.step, core.SizeLit) and range_.step.value == 1:
            parts.pop()
            if isinstance(range_.start, core.SizeLit) and range_.start.value == 0:
                parts.pop(0)
        return f"range({', '.join(map(self.shape_level, parts))})"

    def carries(self, carries: tuple[core.Carry, ...], indent: str) -> tuple[str, str]:
        shown = (f"{c.name} : {print_sort(c.sort)} = {self.value(c.init, indent)}" for c in carries)
        return (f"with ({', '.join(shown)})" if carries else ""), ""

    def where(self, invariant: tuple[core.Invariant, ...]) -> tuple[str, str]:
        shown = [self.shape_level(i.cond) for i in invariant]
        said = self.each_said([(f"{text}: ", i) for text, i in zip(shown, invariant, strict=True)])
        return (f"where {', '.join(shown)}" if invariant else ""), said

    def condition(self, cond: core.Block, indent: str) -> tuple[str, str]:
        shown = [*(self.stmt(s, indent) for s in cond.stmts), self.leading(cond.result, indent)]
        asked: list[Place] = [s for s in cond.stmts if not isinstance(s, core.Let)]
        asked += [call for part in (*cond.stmts, cond.result) for call in _calls(part)]
        return f"while ({'; '.join(shown)})", self.each_said([("", place) for place in asked])

    def stacks(self, stacked: tuple[core.Stacked, ...]) -> tuple[str, str]:
        shown = (f"{s.name} : {self.stacked_type(s)}" for s in stacked)
        said = self.each_said([(f"{s.name}: ", s) for s in stacked])
        return (f"stack ({', '.join(shown)})" if stacked else ""), said

    def stacked_type(self, stacked: core.Stacked) -> str:
        if stacked.dtype is None:
            return "Tensor(?, ?)"
        return f"Tensor({self.dims(stacked.shape)}, {self.shape_level(stacked.dtype)})"

    def each_said(self, places: list[tuple[str, Place]]) -> str:
        """The comments on the parts of a clause, written after it."""
        found = [(what, self.comment(place)) for what, place in places] if self.comment is not None else []
        return "; ".join(what + " ".join(text.split()) for what, text in found if text)

    def arg(self, arg: core.Arg, indent: str) -> str:
        return f"{arg.name}={self.value(arg.value, indent)}" if arg.name else self.value(arg.value, indent)

    # Shape-level expressions

    def dims(self, dims: tuple[SizeExpr | core.Splice | None, ...]) -> str:
        return f"[{', '.join('?' if d is None else self.value(d, '') for d in dims)}]"

    def shape_level(self, expr: core.ShapeLevel, least: int = _OR) -> str:
        level, text = self.leveled(expr)
        return f"({text})" if level < least else text

    def leveled(self, expr: core.ShapeLevel) -> tuple[int, str]:
        """The binding strength, and the text."""
        match expr:
            case core.SizeLit():
                return (_SIGNED if expr.value < 0 else _ATOM), str(expr.value)
            case core.SizeVar() | core.ShapeVar() | core.DTypeVar() | core.BoolVar():
                return _ATOM, expr.name
            case core.SizeOp():
                return self.operation(expr)
            case core.RankOf():
                return _ATOM, f"{expr.tensor}.rank"
            case core.DimOf():
                return _ATOM, f"{expr.tensor}.dim({expr.axis})"
            case core.ShapeOf():
                return _ATOM, f"{expr.tensor}.shape"
            case core.ShapeLit():
                return _ATOM, self.dims(expr.dims)
            case core.ProdOf() | core.BroadcastOf():
                return _ATOM, self.of_shapes(expr)
            case core.DTypeLit():
                return _ATOM, str(expr.dtype)
            case core.DTypeOf():
                return _ATOM, f"{expr.tensor}.dtype"
            case core.BoolConst():
                return _ATOM, "true" if expr.value else "false"
            case core.Compare():
                left, right = self.shape_level(expr.left, _SUM), self.shape_level(expr.right, _SUM)
                return _COMPARISON, f"{left} {expr.op} {right}"
            case core.InClass():
                choices = ", ".join(expr.choices)
                shown = f"{{{choices}}}" if expr.braces else choices
                return _COMPARISON, f"{self.shape_level(expr.item, _SUM)} in {shown}"
            case core.Not():
                return _NOT, f"!{self.shape_level(expr.operand, _ATOM)}"
            case core.Logic():
                level = _LEVELS[expr.op]
                left, right = self.shape_level(expr.left, level), self.shape_level(expr.right, level + 1)
                return level, f"{left} {expr.op} {right}"
            case _:
                assert_never(expr)

    def of_shapes(self, expr: core.ProdOf | core.BroadcastOf) -> str:
        if isinstance(expr, core.ProdOf):
            return f"prod({self.shape_level(expr.shape)})"
        return f"broadcast({self.shape_level(expr.left)}, {self.shape_level(expr.right)})"

    def operation(self, expr: core.SizeOp) -> tuple[int, str]:
        level = _LEVELS.get(expr.op)
        if level is None:
            return _ATOM, f"{expr.op}({self.shape_level(expr.left)}, {self.shape_level(expr.right)})"
        left = self.shape_level(expr.left, level)
        right = self.shape_level(expr.right, level + 1)
        return level, f"{left} {expr.op} {'(' + right + ')' if right.startswith('-') else right}"


def _begins_like_checks(function: core.Function) -> bool:
    """Whether the body begins like checks, so that the checks need a block of their own."""
    stmts = function.body.stmts
    return function.kind == "inline" and function.impl is None and bool(stmts) and core.may_check(stmts[0])


def _calls(value: core.Value | core.Stmt) -> Iterator[core.Call]:
    """The calls in an expression, except those in blocks, which are in statements of their own."""
    nodes = walk(value, without=lambda node: isinstance(node, core.If | core.Lambda | core.Block))
    return (node for node in nodes if isinstance(node, core.Call))


def _number(value: int | float | bool | str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float) and isinf(value):
        return "1e999" if value > 0 else "-1e999"
    return repr(value)


def _rows(literal: core.TensorLit) -> str:
    """The values as nested lists."""
    texts = [_number(v) for v in literal.values]
    for level in range(len(literal.shape) - 1, -1, -1):
        size, number = literal.shape[level], 1
        for outer in literal.shape[:level]:
            number *= outer
        texts = [f"[{', '.join(texts[i * size : (i + 1) * size])}]" for i in range(number)]
    return texts[0] if texts else "[]"
