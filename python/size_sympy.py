"""Convert sizes to SymPy expressions, and back."""

from __future__ import annotations

import ast
import operator
import re
from functools import partial, reduce
from typing import Any

import sympy

from ..simplify.solver import terms
from ..simplify.solver.alone import HIGHEST_POWER, power, variable
from ..simplify.solver.terms import Floor, Max, Var
from ..sizes.operators import SIZE_OPERATORS

# A name that ends in primes, and the replacement for a prime while Python parses the text.
_QUOTED = re.compile(r"\w+'+")
_PRIME = "__prime"


def of_text(text: str) -> Any:
    """The SymPy expression of a size's text. Floors, minima and maxima are not simplified, so that it can be read back."""
    plain = _QUOTED.sub(lambda m: m[0].replace("'", _PRIME), text)
    return _of_tree(ast.parse(plain, mode="eval").body)


def _of_tree(tree: ast.expr) -> Any:
    match tree:
        case ast.Constant(value=value):
            return sympy.Integer(value)
        case ast.Name(id=name):
            return sympy.Symbol(name.replace(_PRIME, "'"), integer=True, nonnegative=True)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_of_tree(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return _operation(op, _of_tree(left), _of_tree(right))
        case ast.Call(func=ast.Name(id=name), args=args):
            parts = [_of_tree(a) for a in args]
            return reduce(partial(SIZE_OPERATORS[name].meaning, _AsWritten), parts)
    raise ValueError(f"{ast.unparse(tree)} is not a size")


class _AsWritten:
    min, max = partial(sympy.Min, evaluate=False), partial(sympy.Max, evaluate=False)


def _operation(op: ast.operator, a: Any, b: Any) -> Any:
    match op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.Mod():
            return sympy.Mod(a, b, evaluate=False)
    quotient = a / b if b.is_Integer else sympy.Mul(a, sympy.Pow(b, -1, evaluate=False), evaluate=False)
    return sympy.floor(quotient, evaluate=False)


def of_term(term: terms.Size) -> Any:
    """The SymPy expression of a normal form, for sizes whose text reads back as another one."""
    if isinstance(term, int):
        return sympy.Integer(term)
    return sympy.Add(*(sympy.Mul(k, *(_atom(a) for a in mono)) for mono, k in term.mons.items()))


def _atom(atom: Var | Floor | Max) -> Any:
    match atom:
        case Var():
            return sympy.Symbol(atom.name, integer=True, nonnegative=True)
        case Floor():
            return _operation(ast.FloorDiv(), of_term(atom.num), of_term(atom.den))
        case Max():
            return sympy.Max(0, *(of_term(a) for a in atom.args), evaluate=False)


def read(expr: object) -> Any:
    """A value as a SymPy object."""
    return sympy.sympify(expr)


def size_of(expr: object) -> terms.Size:
    """The normal form of an expression; raises ValueError if it is not a size."""
    match expr:
        case sympy.Integer():
            return int(expr)
        case sympy.Symbol():
            return variable(expr.name)
        case sympy.Add():
            return reduce(operator.add, map(size_of, expr.args))
        case sympy.Mul():
            return reduce(operator.mul, map(size_of, expr.args))
        case sympy.Pow() if expr.exp.is_Integer and 0 <= int(expr.exp) <= HIGHEST_POWER:
            return power(size_of(expr.base), int(expr.exp))
        case sympy.floor():
            return terms.floordiv(*_fraction(expr.args[0]))
        case sympy.ceiling():
            top, bottom = _fraction(expr.args[0])
            return -terms.floordiv(-top, bottom)
        case sympy.Mod():
            return terms.mod(size_of(expr.args[0]), size_of(expr.args[1]))
        case sympy.Max():
            return terms.smax(*(size_of(a) for a in expr.args))
        case sympy.Min():
            return terms.smin(*(size_of(a) for a in expr.args))
    raise ValueError(f"{expr} is not a size")


def _fraction(expr: Any) -> tuple[terms.Size, terms.Size]:
    """The argument of a rounding, as numerator and denominator."""
    above, below = sympy.fraction(sympy.together(expr))
    return size_of(above), size_of(below)
