"""Core tree to Rx text; parsing and desugaring the text gives the same core back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import isinf
from typing import assert_never

from . import core
from .core import SizeExpr
from .node import replace
from .printer import quote
from .walk import walk

Comment = Callable[[core.Stmt | core.Call], str | None]

# What an expression binds like, weakest first; an operand that binds weaker than its place asks for stands in parentheses.
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGNED, _ATOM = range(8)
_LEVELS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT, "&&": _AND, "||": _OR}
_SHAPE_SORTS = (core.SIZE, core.SHAPE, core.DTYPE, core.BOOL)


def print_program(program: core.Program, comment: Comment | None = None) -> str:
    """The whole program: consts, functions, implementations, and the script with the names that it prints.

    `comment` may say something of a statement or of a call in it; it is put behind the statement.
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
            return _tuple([print_sort(s) for s in sort.items])
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
                names = _tuple(list(stmt.names)) if stmt.is_tuple else stmt.names[0]
                sort = f" : {print_sort(stmt.sort)}" if stmt.sort in _SHAPE_SORTS and stmt.sort else ""
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
        """An expression at the begin of a line: a minus there would continue the line before."""
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
                return _tuple([self.value(v, indent) for v in value.items])
            case core.ListValue():
                return f"[{', '.join(self.value(v, indent) for v in value.items)}]"
            case core.If():
                then, orelse = self.block(value.then, indent), self.block(value.orelse, indent)
                return f"if ({self.value(value.cond, indent)}) {then} else {orelse}"
            case core.Lambda():
                stmts = (*value.checks, *value.body.stmts)
                return f"{self.head(value.params, value.result)} {self.block(replace(value.body, stmts=stmts), indent)}"
            case core.Splice():
                return f"*{value.name}"
        return self.shape_level(value)

    def arg(self, arg: core.Arg, indent: str) -> str:
        return f"{arg.name}={self.value(arg.value, indent)}" if arg.name else self.value(arg.value, indent)

    # Shape-level expressions

    def dims(self, dims: tuple[SizeExpr | core.Splice, ...]) -> str:
        return f"[{', '.join(self.value(d, '') for d in dims)}]"

    def shape_level(self, expr: core.ShapeLevel, least: int = _OR) -> str:
        level, text = self.leveled(expr)
        return f"({text})" if level < least else text

    def leveled(self, expr: core.ShapeLevel) -> tuple[int, str]:
        """The text, and what it binds like."""
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
                return (
                    level,
                    f"{self.shape_level(expr.left, level)} {expr.op} {self.shape_level(expr.right, level + 1)}",
                )
            case _:
                assert_never(expr)

    def operation(self, expr: core.SizeOp) -> tuple[int, str]:
        level = _LEVELS.get(expr.op)
        if level is None:
            return _ATOM, f"{expr.op}({self.shape_level(expr.left)}, {self.shape_level(expr.right)})"
        left = self.shape_level(expr.left, level)
        right = self.shape_level(expr.right, level + 1)
        return level, f"{left} {expr.op} {'(' + right + ')' if right.startswith('-') else right}"


def _begins_like_checks(function: core.Function) -> bool:
    """Whether nobody could tell by looking where the checks end: then they are written in a block of their own."""
    stmts = function.body.stmts
    return function.kind == "inline" and function.impl is None and bool(stmts) and core.may_check(stmts[0])


def _calls(value: core.Value) -> Iterator[core.Call]:
    """The calls in an expression, those in blocks left out: they are in statements of their own."""
    nodes = walk(value, without=lambda node: isinstance(node, core.If | core.Lambda))
    return (node for node in nodes if isinstance(node, core.Call))


def _tuple(items: list[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


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
