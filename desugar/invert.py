"""A dimension with one unknown name, solved for it.

`m * 4` against `x.dim(1)` gives `x.dim(1) / 4`, provided that `x.dim(1) % 4 == 0`; `n + 2` gives `x.dim(0) - 2`,
provided that it is not negative; `(h + 2 * p - k) // s + 1` has no unique solution.
"""

from __future__ import annotations

from typing import assert_never

from ..lang import core, sweet
from ..lang.node import Node
from . import levels, shapes
from .code import FunctionCode, spelled


class Inverse(Node):
    """The value of the name, and the conditions under which it is a solution."""

    value: core.SizeExpr
    checks: tuple[core.BoolExpr, ...]


class NoInverse(Exception):
    """The expression does not determine its name; the message says why."""


def why_not(code: FunctionCode, expr: sweet.Expr, name: str) -> str | None:
    """Return why an expression cannot be solved for a name; None if it can."""
    match expr:
        case sweet.Name():
            return None
        case sweet.Unary(op="+" | "-"):
            return why_not(code, expr.operand, name)
        case sweet.Binary():
            return _why_not_binary(code, expr, name)
    return f"`{spelled(expr.span)}` cannot be solved for `{name}`"


def _why_not_binary(code: FunctionCode, expr: sweet.Binary, name: str) -> str | None:
    shown = spelled(expr.span)
    left, right = _mentions(expr.left, name), _mentions(expr.right, name)
    if left and right:
        return f"`{name}` occurs twice in `{shown}`"
    inner, other = (expr.left, expr.right) if left else (expr.right, expr.left)
    match expr.op:
        case "+" | "-":
            return why_not(code, inner, name)
        case "*":
            if levels.literal_int(code, other) == 0:
                return f"`{shown}` is 0 for every `{name}`"
            return why_not(code, inner, name)
        case "/" if left and (levels.literal_int(code, other) or 0) > 0:
            return why_not(code, inner, name)
    return f"`{shown}` has no unique solution for `{name}`"


def invert(code: FunctionCode, expr: sweet.Expr, name: str, target: core.SizeExpr) -> Inverse:
    """Solve `expr == target` for a name that occurs in it once."""
    inverter = _Inverter(code, name)
    value = inverter.solve(expr, target)
    if not inverter.is_nonneg(value):
        inverter.check(">=", value, core.SizeLit(value.span, 0))
    return Inverse(value, tuple(_in_order(inverter.checks)))


def _in_order(checks: list[core.BoolExpr]) -> list[core.BoolExpr]:
    """Put divisibility first, and the strictest of the bounds: then the others often follow. A size with the remainder 3 by 8
    is at least 3."""
    bounds = [c for c in checks if _is_bound(c)]
    return [*(c for c in checks if not _is_bound(c)), *reversed(bounds)]


def _is_bound(check: core.BoolExpr) -> bool:
    return isinstance(check, core.Compare) and check.op == ">=" and check.right == core.SizeLit(check.right.span, 0)


class _Inverter:
    def __init__(self, code: FunctionCode, name: str) -> None:
        self.code, self.name = code, name
        self.checks: list[core.BoolExpr] = []
        self.known: list[core.SizeExpr] = []

    def check(self, op: str, left: core.SizeExpr, right: core.SizeExpr) -> None:
        self.checks.append(core.Compare(left.span, op, left, right))

    def solve(self, expr: sweet.Expr, target: core.SizeExpr) -> core.SizeExpr:
        match expr:
            case sweet.Name():
                return target
            case sweet.Unary(op="+"):
                return self.solve(expr.operand, target)
            case sweet.Unary(op="-"):
                return self.solve(expr.operand, core.operation(expr.span, "-", core.SizeLit(expr.span, 0), target))
            case sweet.Binary():
                return self._binary(expr, target)
        raise NoInverse(f"`{spelled(expr.span)}` has no unique solution")

    def _binary(self, expr: sweet.Binary, target: core.SizeExpr) -> core.SizeExpr:
        in_left = _mentions(expr.left, self.name)
        inner, other = (expr.left, expr.right) if in_left else (expr.right, expr.left)
        known = shapes.size(self.code, other)
        match expr.op:
            case "+":
                return self._less(expr, inner, target, known)
            case "-" if in_left:
                return self.solve(inner, core.operation(expr.span, "+", target, known))
            case "-":
                return self._less(expr, inner, known, target)
            case "*":
                return self._quotient(expr, inner, other, target, known)
            case "/":
                return self.solve(inner, core.operation(expr.span, "*", target, known))
        raise NoInverse(f"`{spelled(expr.span)}` has no unique solution")

    def _less(self, expr: sweet.Binary, inner: sweet.Expr, a: core.SizeExpr, b: core.SizeExpr) -> core.SizeExpr:
        """Solve `inner` == a - b; if `inner` cannot be negative, the difference is checked here."""
        rest = core.operation(expr.span, "-", a, b)
        if self._cannot_be_negative(inner):
            self.check(">=", rest, core.SizeLit(expr.span, 0))
            self.known.append(rest)
        return self.solve(inner, rest)

    def _quotient(
        self, expr: sweet.Binary, inner: sweet.Expr, factor: sweet.Expr, target: core.SizeExpr, known: core.SizeExpr
    ) -> core.SizeExpr:
        literal = levels.literal_int(self.code, factor)
        if literal is not None and literal < 0:
            target = core.operation(expr.span, "-", core.SizeLit(expr.span, 0), target)
            literal = -literal
        if literal == 1:
            return self.solve(inner, target)
        if literal is not None:
            known = core.SizeLit(known.span, literal)
        else:
            self.check(">=", known, core.SizeLit(known.span, 1))
            self.known.append(known)
        remainder = core.operation(expr.span, "%", target, known)
        self.check("==", remainder, core.SizeLit(expr.span, 0))
        return self.solve(inner, core.operation(expr.span, "/", target, known))

    def _cannot_be_negative(self, expr: sweet.Expr) -> bool:
        """Whether an expression is at least 0 if its name is."""
        match expr:
            case sweet.IntLit():
                return True
            case sweet.Name() if expr.name == self.name:
                return True
            case sweet.Name():
                entry = self.code.scope.find(expr.name)
                return entry is not None and entry.nonneg
            case sweet.Binary(op="+" | "*" | "/"):
                return self._cannot_be_negative(expr.left) and self._cannot_be_negative(expr.right)
        return False

    def is_nonneg(self, expr: core.SizeExpr) -> bool:
        """Whether a size is at least 0 for all dimensions."""
        if expr in self.known:
            return True
        match expr:
            case core.SizeLit():
                return expr.value >= 0
            case core.RankOf() | core.DimOf() | core.ProdOf():
                return True
            case core.SizeVar():
                entry = self.code.scope.find(expr.name)
                return entry is not None and entry.nonneg and entry.expr == expr
            case core.SizeOp(op="-"):
                return False
            case core.SizeOp():
                return self.is_nonneg(expr.left) and self.is_nonneg(expr.right)
            case _:
                assert_never(expr)


def _mentions(expr: sweet.Expr, name: str) -> bool:
    match expr:
        case sweet.Name():
            return expr.name == name
        case sweet.Unary():
            return _mentions(expr.operand, name)
        case sweet.Binary():
            return _mentions(expr.left, name) or _mentions(expr.right, name)
        case sweet.Call(callee=sweet.Name()):
            return any(_mentions(a.value, name) for a in expr.args)
    return False
