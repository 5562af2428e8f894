"""Size or Bool expressions as text to their normal form, with the obligations of their divisions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NoReturn

from ...lang.operators import BINDS
from ...sizes.operators import SIZE_OPERATORS, SizeOperator, is_called, size_functions
from .conditions import Cond, Condition, all_of, any_of, eq, ge, gt, le, lt, ne, negate
from .rendering import render
from .term_sizes import applied
from .terms import Size, Term, mod, var, weight

_TOKEN = re.compile(r"\d\w*|[^\W\d]\w*'*|//|&&|\|\||[=!<>]=|\S")
_MOST_TOKENS = 20_000
_MOST_DEPTH = 100
_MOST_MONOMIALS = 2_000
_MOST_DEGREE = 64
_MOST_ATOMS = 4_000
_MOST_DIGITS = 400
_MOST_BITS = 8_192

_COMPARE: dict[str, Callable[[Size, Size], Cond]] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_NOT, _NEGATIVE = 3, 7


class ExpressionError(Exception):
    """Text that is no Size or Bool expression; the message tells the reason."""


class QuestionScope:
    """The names of one question and the obligations of its divisions; `partial` is the reason why it has no value for some
    sizes, or divides by a number below 1."""

    __slots__ = ("any_integer", "names", "obligations", "partial")

    def __init__(self, any_integer: frozenset[str] = frozenset()) -> None:
        self.names: dict[str, Term] = {}
        self.any_integer = any_integer
        self.obligations: list[tuple[Cond, Cond, str]] = []  # condition, guard, and the message if it may fail
        self.partial: str | None = None

    def name(self, name: str) -> Term:
        """The variable of this name."""
        found = self.names.get(name)
        if found is None:
            found = self.names[name] = var(name, len(self.names), name not in self.any_integer)
        return found


def read_condition(text: str, scope: QuestionScope) -> Cond:
    """Read a Bool expression."""
    value = _Reader(text, scope).whole()
    if isinstance(value, (int, Term)) and not isinstance(value, bool):
        raise ExpressionError("expected a condition, found a size")
    return value


def read_size(text: str, scope: QuestionScope) -> Size:
    """Read a Size expression."""
    value = _Reader(text, scope).whole()
    if isinstance(value, bool) or not isinstance(value, (int, Term)):
        raise ExpressionError("expected a size, found a condition")
    return value


class _Reader:
    __slots__ = ("at", "depth", "guards", "scope", "tokens")

    def __init__(self, text: str, scope: QuestionScope) -> None:
        self.tokens: list[str] = _TOKEN.findall(text)
        self.scope = scope
        self.guards: list[Cond] = []
        self.depth, self.at = 0, 0
        if len(self.tokens) > _MOST_TOKENS:
            raise ExpressionError("the expression is too long")
        self.tokens.append("")

    def whole(self) -> Size | Cond:
        value = self.expression(0)
        if self.tokens[self.at]:
            self.unexpected()
        return value

    def unexpected(self) -> NoReturn:
        token = self.tokens[self.at]
        raise ExpressionError(f"unexpected {_quoted(token)}" if token else "unexpected end of the expression")

    def expect(self, token: str) -> None:
        if self.tokens[self.at] != token:
            self.unexpected()
        self.at += 1

    def expression(self, least: int) -> Size | Cond:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise ExpressionError("the expression is nested too deeply")
        left = self.operand()
        tokens = self.tokens
        while True:
            op = tokens[self.at]
            power = BINDS.get(op, 0)
            if power <= least:
                break
            self.at += 1
            if power > 4:
                left = self.operation(SIZE_OPERATORS[op], _size(left, op), _size(self.expression(power), op))
            elif power == 4:
                left = _COMPARE[op](_size(left, op), _size(self.expression(power), op))
                if BINDS.get(tokens[self.at], 0) == 4:
                    raise ExpressionError("comparisons do not chain")
            else:
                left = self.joined(op, power, left)
        self.depth -= 1
        return left

    def operand(self) -> Size | Cond:
        token = self.tokens[self.at]
        first = token[:1]
        if first.isdigit():
            self.at += 1
            return _number(token)
        if token == "(":
            self.at += 1
            value = self.expression(0)
            self.expect(")")
            return value
        if token == "-":
            self.at += 1
            return -_size(self.expression(_NEGATIVE), "-")
        if token == "+":
            self.at += 1
            return _size(self.expression(_NEGATIVE), "+")
        if token == "!":
            self.at += 1
            return negate(_cond(self.expression(_NOT), "!"))
        if not (first.isalpha() or first == "_"):
            self.unexpected()
        self.at += 1
        if is_called(token) and self.tokens[self.at] == "(":
            return self.call(token)
        if token == "true" or token == "false":
            return token == "true"
        if self.tokens[self.at] == "(":
            raise ExpressionError(f"there is no function {_quoted(token)}; there are {_listed(size_functions())}")
        return self.scope.name(token)

    def call(self, name: str) -> Size:
        self.expect("(")
        args = [_size(self.expression(0), name)]
        while self.tokens[self.at] == ",":
            self.at += 1
            args.append(_size(self.expression(0), name))
        self.expect(")")
        row = SIZE_OPERATORS[name]
        if not row.several and len(args) != 2:
            raise ExpressionError(f"{name} takes two sizes")
        if len(args) > 64:
            raise ExpressionError(f"{name} takes at most 64 sizes")
        return reduce(lambda a, b: self.operation(row, a, b), args)

    def operation(self, row: SizeOperator, a: Size, b: Size) -> Size:
        if row.name == "*":
            _check_product(a, b)
        if row.divides:
            self.divisor(b)
        if row.exactly:
            self.exactly(a, b)
        found = applied(row, a, b)
        return found if row.name in ("+", "-", "*") else _light(found)

    def exactly(self, a: Size, b: Size) -> None:
        even = eq(_light(mod(a, b)), 0)
        self.owe(even, "the division `/` may not come out even")
        if even is not True:
            sometimes = "never comes" if even is False else "may not come"
            self.scope.partial = self.scope.partial or f"the division `/` {sometimes} out even; `//` rounds down"

    def divisor(self, size: Size) -> None:
        if isinstance(size, int) and size < 1:
            self.scope.partial = self.scope.partial or f"the divisor is {size}, and a divisor is at least 1"
        if size == 0:
            self.owe(False, "the divisor is 0")
        elif not isinstance(size, int):
            self.owe(ne(size, 0), f"the divisor {render(size)} may be 0")

    def owe(self, cond: Cond, message: str) -> None:
        if cond is not True:
            self.scope.obligations.append((cond, all_of(*self.guards), message))

    def joined(self, op: str, power: int, first: Size | Cond) -> Cond:
        """Join `a && b` or `a || b`; the right side's obligations apply only if the left side does not decide the result."""
        parts = [_cond(first, op)]
        before = len(self.guards)
        while True:
            self.guards.append(parts[-1] if op == "&&" else negate(parts[-1]))
            parts.append(_cond(self.expression(power), op))
            if self.tokens[self.at] != op:
                break
            self.at += 1
        del self.guards[before:]
        return all_of(*parts) if op == "&&" else any_of(*parts)


def _quoted(token: str) -> str:
    return f"'{token[:30]}...'" if len(token) > 30 else f"'{token}'"


def _number(token: str) -> int:
    if len(token) > _MOST_DIGITS:
        raise ExpressionError(f"a number of {len(token)} digits is too long")
    if not (token.isascii() and token.isdigit()):
        raise ExpressionError(f"{_quoted(token)} is not a number")
    return int(token)


def _size(value: Size | Cond, op: str) -> Size:
    if type(value) is int or type(value) is Term:
        return value
    raise ExpressionError(f"'{op}' takes sizes, found a condition")


def _cond(value: Size | Cond, op: str) -> Cond:
    if isinstance(value, (bool, Condition)):
        return value
    raise ExpressionError(f"'{op}' takes conditions, found a size")


def _light(size: Size) -> Size:
    if weight(size) > _MOST_ATOMS:
        raise ExpressionError("the expression is too large")
    return size


def _check_product(a: Size, b: Size) -> None:
    if type(a) is Term and type(b) is Term:
        wide = len(a.mons) * len(b.mons) > _MOST_MONOMIALS
        if wide or max(map(len, a.mons)) + max(map(len, b.mons)) > _MOST_DEGREE:
            raise ExpressionError("the expression is too large")
    if _bits(a) + _bits(b) > _MOST_BITS:
        raise ExpressionError("the numbers are too large")


def _bits(size: Any) -> int:
    if type(size) is int:
        return size.bit_length()
    return max(k.bit_length() for k in size.mons.values())  # type: ignore[no-any-return]


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
