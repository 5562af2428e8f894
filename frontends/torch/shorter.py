"""Sizes in fewer operations: quotients of quotients by numbers, and what is filled up to a multiple of a number.

What pictures are padded to and windows are cut from grows with each layer otherwise. All of it holds for all integers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy
from torch.utils._sympy.functions import FloorDiv, Mod, PythonMod

_MODS = (Mod, PythonMod)


@cache
def shorter(expr: Any) -> Any:
    """The same size; its parts are short already."""
    match expr:
        case FloorDiv() if _is_number(expr.args[1]):
            return _quotient(expr.args[0], int(expr.args[1]))
        case Mod() | PythonMod() if _is_number(expr.args[1]):
            return PythonMod(_within(expr.args[0], int(expr.args[1])), expr.args[1])
        case _:
            return expr


def _is_number(size: Any) -> bool:
    return isinstance(size, sympy.Integer) and size > 0


def _quotient(size: Any, by: int) -> Any:
    """`size // by`: what is a multiple comes out, and a quotient of a quotient is one."""
    terms = sympy.Add.make_args(_filled(size))
    whole = sum(t / by for t in terms if _is_multiple(t, by))
    rest = sum(t for t in terms if not _is_multiple(t, by))
    inner = [t for t in sympy.Add.make_args(rest) if isinstance(t, FloorDiv) and _is_number(t.args[1])]
    if len(inner) == 1 and (rest - inner[0]).is_Integer:
        number = inner[0].args[1]
        return whole + _quotient(inner[0].args[0] + number * (rest - inner[0]), by * int(number))
    return whole + FloorDiv(rest, sympy.Integer(by))


def _is_multiple(term: Any, by: int) -> bool:
    number, _ = term.as_coeff_Mul()
    return bool(number.is_Integer and number % by == 0)


def _within(size: Any, by: int) -> Any:
    """What has the same remainder: without remainders by multiples of it, and without multiples."""
    inner = {m: m.args[0] for m in size.atoms(*_MODS) if _is_number(m.args[1]) and _is_multiple(m.args[1], by)}
    terms = sympy.Add.make_args(size)
    found = sum(_within(inner[m], by) * k if m in inner else t for t in terms for k, m in [t.as_coeff_Mul()])
    number, rest = found.as_coeff_Add() if isinstance(found, sympy.Expr) else (sympy.Integer(found), 0)
    rest = sum(t for t in sympy.Add.make_args(rest) if not _is_multiple(t, by))
    return rest + number % by


def _filled(size: Any) -> Any:
    """A sum with `n + (-n) % by` or `n - n % by` as a multiple and a number."""
    found = (_filled_by(size, term) for term in sympy.Add.make_args(size))
    return next((one for one in found if one is not None), size)


def _filled_by(size: Any, term: Any) -> Any:
    sign, remainder = term.as_coeff_Mul()
    if sign not in (1, -1) or not isinstance(remainder, _MODS) or not _is_number(remainder.args[1]):
        return None
    by, others = remainder.args[1], size - term
    over = _within(others + sign * remainder.args[0], int(by))
    if not over.is_Integer:
        return None
    return over + by * _quotient(others - over + (by - 1 if sign == 1 else 0), int(by))
