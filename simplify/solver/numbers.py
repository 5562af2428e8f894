"""The values of sizes and conditions given as text if every size is a number, or one of them another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar

from .conditions import AnyOf, Cond, Eq0, eq, evaluate_cond, render_cond
from .exprs import ExpressionError, QuestionScope, read_condition, read_size
from .rendering import render
from .sizes import only_var
from .terms import Floor, Term, TooLarge, Var, evaluate, mod, of_atom, substitute

Sizes = Mapping[str, int]
R = TypeVar("R")


def size_at(text: int | str, sizes: Sizes) -> int | None:
    """The value of a size; None if it is no size or has other names than these."""
    if isinstance(text, int):
        return text
    scope = QuestionScope()
    try:
        size = read_size(text, scope)
        point = _point(scope, sizes)
        return None if point is None else evaluate(size, point)
    except (ExpressionError, TooLarge):
        return None


def holds_at(text: str, sizes: Sizes) -> bool | None:
    """Whether a condition holds; None if it is none or has other names than these."""
    try:
        cond, scope = _condition(text)
        point = _point(scope, sizes)
        return None if point is None else evaluate_cond(cond, point)
    except (ExpressionError, TooLarge):
        return None


@lru_cache(1024)  # one text is evaluated at many numbers
def _condition(text: str) -> tuple[Cond, QuestionScope]:
    scope = QuestionScope()
    return read_condition(text, scope), scope


def fixed(text: str) -> tuple[str, int] | None:
    """The size that a condition fixes, and its number."""
    cond, name = _of_one(text, read_condition)
    parts = cond.term.mons if isinstance(cond, Eq0) else {}
    number = next((-parts.get((), 0) // k for mono, k in parts.items() if mono), 0)
    return (name.name, number) if name is not None and cond == eq(of_atom(name), number) else None


def alternatives(text: str) -> tuple[str, ...]:
    """The alternatives of a condition."""
    cond = _read(text, QuestionScope())
    return tuple(map(render_cond, cond.parts)) if isinstance(cond, AnyOf) else (text,)


def product(text: str) -> tuple[tuple[str, ...], int] | None:
    """The sizes (at least two) whose product a condition fixes, and the number."""
    cond = _read(text, QuestionScope())
    parts = cond.term.mons if isinstance(cond, Eq0) else {}
    (mono, *others) = [m for m in parts if m] or [()]
    names = tuple(atom.name for atom in mono if isinstance(atom, Var))
    if others or not 2 <= len(names) == len(mono) or len(set(names)) < len(names) or -parts.get((), 0) % parts[mono]:
        return None
    return names, -parts.get((), 0) // parts[mono]


def divided(text: str) -> tuple[str, int] | None:
    """The size that a condition makes a multiple of a number, and the number."""
    cond, name = _of_one(text, read_condition)
    atoms = {atom for mono in cond.term.mons for atom in mono} if isinstance(cond, Eq0) else set()
    numbers = (atom.den for atom in atoms if isinstance(atom, Floor) and isinstance(atom.den, int))
    return next(((name.name, n) for n in numbers if name is not None and cond == eq(mod(of_atom(name), n), 0)), None)


def multiple(text: int | str) -> tuple[str, int] | None:
    """The name and the factor of a size that is a multiple of one name, `2 * n`."""
    size, name = _of_one(str(text), read_size)
    factor = size.mons.get((name,), 0) if isinstance(size, Term) and name is not None else 0
    return (name.name, factor) if name is not None and factor > 1 and size == of_atom(name) * factor else None


def shifted(text: int | str, name: str, by: int) -> str | None:
    """The size with `name` shifted by a number: `n + i` for `n + i + 1`, by -1; None if it has no such name."""
    scope = QuestionScope()
    try:
        size = read_size(str(text), scope)
        term = scope.names.get(name)
        return None if term is None else render(substitute(size, {only_var(term): term + by}))
    except (ExpressionError, TooLarge):
        return None


def _of_one(text: str, read: Callable[[str, QuestionScope], R]) -> tuple[R | None, Var | None]:
    """An expression with its only name; None if it is no expression, and no name if it has several."""
    scope = QuestionScope()
    try:
        found = read(text, scope)
    except (ExpressionError, TooLarge):
        return None, None
    names = [only_var(term) for term in scope.names.values()]
    return found, names[0] if len(names) == 1 else None


def _read(text: str, scope: QuestionScope) -> Cond | None:
    try:
        return read_condition(text, scope)
    except (ExpressionError, TooLarge):
        return None


def _point(scope: QuestionScope, sizes: Sizes) -> dict[Var, int] | None:
    """The values of a text's names; None if one is missing or an obligation of a division fails."""
    if not scope.names.keys() <= sizes.keys():
        return None
    point = {only_var(term): sizes[name] for name, term in scope.names.items()}
    owed = (cond for cond, guard, _ in scope.obligations if evaluate_cond(guard, point))
    return point if all(evaluate_cond(cond, point) for cond in owed) else None
