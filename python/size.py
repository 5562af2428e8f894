"""Sizes for Python users: Rx text, a normal form for equality, and conversion to and from SymPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import index
from typing import Any

from ..lang.display import Displayed
from ..lang.styled import Line, said
from ..simplify.solver import conditions, rendering, terms
from ..simplify.solver.alone import HIGHEST_POWER, power, variable
from ..simplify.solver.conditions import Cond
from ..simplify.solver.exprs import ExpressionError, QuestionScope, read_size
from ..simplify.solver.terms import Floor, Max
from .condition import Condition


class Size(Displayed):
    """A size that may depend on names: `Size("(n + 1) // 2")`. `str` is Rx syntax.

    Two sizes are equal if their normal forms are: `Size("n * 4") == Size("2 * n * 2")`. A name is a size of at least 0.
    `+ - * // %`, `**` with a literal, `rx.min` and `rx.max` make sizes; `< <= > >=` and `.equals` make a Condition.
    ValueError refuses text that is not a size, that divides by a number below 1 (`k // 0`), or whose `/` may leave a
    remainder (`n / 2`; `n * 4 / 2` is a size).
    """

    __slots__ = ("_bound", "_exactness", "_term")

    def __init__(self, value: str | int | Size) -> None:
        self._exactness = "exact"
        self._bound: Size | None = None
        if isinstance(value, Size):
            self._term: terms.Size = value._term
            self._exactness, self._bound = value._exactness, value._bound
        elif isinstance(value, int) and not isinstance(value, bool):
            self._term = value
        elif isinstance(value, str):
            self._term = _read(value)
        else:
            raise TypeError(f"a Size is made of text, an int or a Size, not of {type(value).__name__}")

    @classmethod
    def _of(cls, term: terms.Size, exactness: str = "exact", bound: Size | None = None) -> Size:
        made = cls.__new__(cls)
        made._term, made._exactness, made._bound = _canonical(term), exactness, bound
        return made

    @property
    def exactness(self) -> str:
        """`exact`; for a size known only at run time, `upper_bound` if it is at most `bound`, else `unknown`."""
        return self._exactness

    @property
    def bound(self) -> Size | None:
        """The upper bound of a size known only at run time, or None."""
        return self._bound

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it depends on, in alphabetical order."""
        return tuple(sorted({v.name for v in terms.variables(self._term)}))

    @property
    def value(self) -> int | None:
        """The int that it is, or None if it depends on a name."""
        return self._term if isinstance(self._term, int) else None

    def at(self, **names: int) -> int:
        """Its value for these values of the names: `Size("n * 4").at(n=3)` is 12. Raises KeyError if one is missing,
        ZeroDivisionError if it divides by 0 there."""
        found = terms.variables(self._term)
        missing = [v.name for v in found if v.name not in names]
        if missing:
            raise KeyError(f"no value for {missing[0]}")
        values = {v: names[v.name] for v in found}
        if any(terms.evaluate(d, values) == 0 for d in _divisors(self._term)):
            raise ZeroDivisionError(f"{self} divides by 0 there")
        return terms.evaluate(self._term, values)

    @property
    def sympy(self) -> Any:
        """The same size as a sympy.Expr over nonnegative integer symbols, with floor, Mod, Min and Max."""
        from . import size_sympy  # loads SymPy

        view = size_sympy.of_text(str(self))
        return view if _canonical(size_sympy.size_of(view)) == self._term else size_sympy.of_term(self._term)

    @classmethod
    def from_sympy(cls, expr: object) -> Size:
        """The size that a sympy.Expr stands for; raises ValueError if it is not a size (`n / 2` without a floor, a sine)."""
        from . import size_sympy  # loads SymPy

        return cls._of(size_sympy.size_of(size_sympy.read(expr)))

    def __str__(self) -> str:
        return rendering.render(self._term)

    def __repr__(self) -> str:
        return f"Size({str(self)!r})"

    def _lines(self) -> list[Line]:
        """The size's text; if it is not exact, also its bound."""
        inexact = "unknown before a run" if self._bound is None else f"at most {self._bound}"
        return said(f"{self}" if self._exactness == "exact" else f"{self} ({inexact})")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Size):
            return self._term == other._term
        return self._term == other if isinstance(other, int) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._term)

    def __int__(self) -> int:
        if isinstance(self._term, int):
            return self._term
        raise TypeError(f"{self} is no single integer")

    __index__ = __int__

    # Conditions

    def equals(self, other: Size | int) -> Condition:
        """The condition that both are the same number for all sizes; `==` only compares normal forms, and always has an
        answer."""
        return self._compared("==", other, conditions.eq)

    def __lt__(self, other: Size | int) -> Condition:
        return self._compared("<", other, conditions.lt)

    def __le__(self, other: Size | int) -> Condition:
        return self._compared("<=", other, conditions.le)

    def __gt__(self, other: Size | int) -> Condition:
        return self._compared(">", other, conditions.gt)

    def __ge__(self, other: Size | int) -> Condition:
        return self._compared(">=", other, conditions.ge)

    def _compared(self, op: str, other: Size | int, made: Callable[[terms.Size, terms.Size], Cond]) -> Condition:
        left, right = self._term, _term(other)
        text = f"{self} {op} {rendering.render(right)}"
        return Condition(text, made(left, right), (*_divisors(left), *_divisors(right)))

    # Arithmetic

    def __neg__(self) -> Size:
        return Size._of(-1 * self._term)

    def __add__(self, other: Size | int) -> Size:
        return Size._of(self._term + _term(other))

    __radd__ = __add__

    def __sub__(self, other: Size | int) -> Size:
        return Size._of(self._term - _term(other))

    def __rsub__(self, other: Size | int) -> Size:
        return Size._of(_term(other) - self._term)

    def __mul__(self, other: Size | int) -> Size:
        return Size._of(self._term * _term(other))

    __rmul__ = __mul__

    def __floordiv__(self, other: Size | int) -> Size:
        return Size._of(terms.floordiv(self._term, _divisor(other)))

    def __rfloordiv__(self, other: Size | int) -> Size:
        return Size._of(terms.floordiv(_term(other), _divisor(self)))

    def __mod__(self, other: Size | int) -> Size:
        return Size._of(terms.mod(self._term, _divisor(other)))

    def __rmod__(self, other: Size | int) -> Size:
        return Size._of(terms.mod(_term(other), _divisor(self)))

    def __pow__(self, exponent: int) -> Size:
        if isinstance(exponent, bool) or not isinstance(exponent, int):
            raise TypeError(f"a size is raised to a literal power, not to {exponent!r}")
        if not 0 <= exponent <= HIGHEST_POWER:
            raise ValueError(f"a size is raised to a power from 0 to {HIGHEST_POWER}, not to {exponent}")
        return Size._of(power(self._term, exponent))


def min(*sizes: Size | int) -> Size:
    """The smallest of sizes, which may depend on names: `rx.min(n, 8)`."""
    return _extreme("min", terms.smin, sizes)


def max(*sizes: Size | int) -> Size:
    """The largest of sizes, which may depend on names: `rx.max(n - 8, 0)`."""
    return _extreme("max", terms.smax, sizes)


def _extreme(name: str, chosen: Callable[..., terms.Size], sizes: Sequence[Size | int]) -> Size:
    if not sizes:
        raise TypeError(f"rx.{name} takes at least one size")
    return Size._of(chosen(*map(_term, sizes)))


def _term(value: Size | int) -> terms.Size:
    if isinstance(value, Size):
        return value._term
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"a size is an int or a Size, not {value!r}")
    return index(value)


def _divisor(value: Size | int) -> terms.Size:
    term = _term(value)
    if isinstance(term, int) and term <= 0:
        raise ZeroDivisionError("the divisor of a size is at least 1")
    return term


def _divisors(term: terms.Size) -> Iterator[terms.Size]:
    """The divisors inside a size, at any depth."""
    stack = [term]
    while stack:
        size = stack.pop()
        for atom in () if isinstance(size, int) else {a for mono in size.mons for a in mono}:
            if isinstance(atom, Floor):
                yield atom.den
                stack += (atom.num, atom.den)
            elif isinstance(atom, Max):
                stack += atom.args


def _read(text: str) -> terms.Size:
    scope = QuestionScope()
    try:
        size = read_size(text, scope)
    except ExpressionError as problem:
        raise ValueError(f"{text!r} is not a size: {problem}") from None
    if scope.partial is not None:
        raise ValueError(f"{text!r} is not a size: {scope.partial}")
    return _canonical(size)


def _canonical(term: terms.Size) -> terms.Size:
    """The same size with one variable for each name, whatever the order of construction; rebuilt until nothing changes, since
    nested maxima may need several passes."""
    for _ in range(8):
        rebuilt = terms.substitute(term, {v: variable(v.name) for v in terms.variables(term)})
        if rebuilt == term:
            break
        term = rebuilt
    return term
