"""Sizes with their variables or atoms replaced by other sizes, or by numbers."""

from __future__ import annotations

from collections.abc import Mapping

from .division import floordiv
from .extrema import smax
from .polynomials import Atom, Floor, Max, Mono, Size, Term, Var, close, mono_key, of_atom, term_vars
from .steps import charge


def substitute(size: Size, values: Mapping[Var, Size]) -> Size:
    """The size with variables replaced by sizes, all at once."""
    if isinstance(size, int) or not values or values.keys().isdisjoint(term_vars(size)):
        return size
    mons: dict[Mono, int] = {}
    result: Size = 0
    charge(2 * len(size.mons))
    if len(size.mons) == 1:
        [(mono, k)] = size.mons.items()
        if len(mono) == 1 and type(mono[0]) is Var:  # most sizes are a name
            return k * values[mono[0]]
    for mono, k in size.mons.items():
        if all(_untouched(atom, values) for atom in mono):
            mons[mono] = k
            continue
        product: Size = k
        for atom in mono:
            product = product * _substitute_atom(atom, values)
        result = result + product
    return close(mons) + result


def _untouched(atom: Atom, values: Mapping[Var, Size]) -> bool:
    return atom not in values if type(atom) is Var else values.keys().isdisjoint(atom.vars)


def _substitute_atom(atom: Atom, values: Mapping[Var, Size]) -> Size:
    if type(atom) is Var:
        found = values.get(atom)
        return of_atom(atom) if found is None else found
    if values.keys().isdisjoint(atom.vars):
        return of_atom(atom)
    if type(atom) is Floor:
        return floordiv(substitute(atom.num, values), substitute(atom.den, values))
    return smax(0, *(substitute(a, values) for a in atom.args))


def replace_atom(size: Size, atom: Atom, by: Size) -> Size:
    """The size with an atom replaced by another size, wherever it occurs."""
    if type(size) is not Term:
        return size
    result: Size = 0
    charge(2 * len(size.mons))
    for mono, k in sorted(size.mons.items(), key=lambda p: mono_key(p[0])):
        product: Size = k
        for a in mono:
            product = product * _replaced(a, atom, by)
        result = result + product
    return result


def _replaced(a: Atom, atom: Atom, by: Size) -> Size:
    if a == atom:
        return by
    if type(a) is Floor:
        return floordiv(replace_atom(a.num, atom, by), replace_atom(a.den, atom, by))
    if type(a) is Max:
        return smax(0, *(replace_atom(x, atom, by) for x in a.args))
    return of_atom(a)


def evaluate(size: Size, point: Mapping[Var, int]) -> int:
    """The value at a point; `a // 0` is 0."""
    if isinstance(size, int):
        return size
    total = 0
    charge(1 + len(size.mons) // 4)
    for mono, k in size.mons.items():
        for atom in mono:
            k *= point[atom] if type(atom) is Var else _evaluate_atom(atom, point)
        total += k
    return total


def _evaluate_atom(atom: Floor | Max, point: Mapping[Var, int]) -> int:
    if type(atom) is Floor:
        den = evaluate(atom.den, point)
        return evaluate(atom.num, point) // den if den else 0
    return max(0, *(evaluate(a, point) for a in atom.args))
