"""Symbolic sizes that PyTorch code computes with, and every question that it asks about them.

The only file that uses private names of torch for sizes. No hint reaches a result unnoticed: every answer that depends on one
is recorded as a question here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import sympy
import torch
from torch.fx.experimental import sym_node
from torch.utils._sympy import functions

from ...lang.node import Node
from ...sizes.operators import size_functions

# PyTorch 2.4 has SymPy's own.
Max, Min = getattr(functions, "Max", sympy.Max), getattr(functions, "Min", sympy.Min)
Symbolic = (torch.SymInt, torch.SymFloat, torch.SymBool)
# The methods that PyTorch 2.4 answers from hints alone; cleared during a trace.
HINTED: dict[str, Any] = getattr(sym_node, "alternate_impl_if_hinted_methods", {})


class SizeQuestion(Node):
    """A question of the code about sizes: a truth (`is_truth`) or a number, and the answer by the hints."""

    expr: Any
    answer: Any
    is_truth: bool


class Unwritable(Exception):
    """A size or a condition that Rx has no expression for."""


_TRUTHS = (sympy.core.relational.Relational, sympy.logic.boolalg.BooleanFunction, sympy.logic.boolalg.BooleanAtom)


class TracedSizes:
    """Torch's ShapeEnv of the symbolic numbers: it answers from hints, reports each question, and learns nothing."""

    _translation_validation_enabled = False
    _replacements_version_counter = 1  # torch then calls `replace`
    prefer_deferred_runtime_asserts_over_guards = False

    def __init__(self, asked: Callable[[SizeQuestion], Any]) -> None:
        self.asked = asked
        self.texts: dict[Any, str] = {}
        self._named: set[str] = set()

    def symbol(self, name: str, hint: int, text: str | None = None) -> torch.SymInt:
        """A size with a name, and with its Rx text if that differs."""
        found = sympy.Symbol(name, integer=True, nonnegative=True)
        self.texts[found] = text or name
        return self.number(found, hint)

    def number(self, expr: Any, hint: int | None) -> torch.SymInt:
        return torch.SymInt(sym_node.SymNode(expr, self, int, hint))

    def real(self, name: str) -> torch.SymFloat:
        """An unknown float."""
        return torch.SymFloat(sym_node.SymNode(sympy.Symbol(name, real=True), self, float, 1.5))

    def truth(self, name: str) -> torch.SymBool:
        """A truth that data decides."""
        found = sympy.Ne(sympy.Symbol(name, real=True), 0)
        return torch.SymBool(sym_node.SymNode(found, self, bool, True))

    def text(self, value: Any) -> str:
        """A size as Rx text."""
        expr = value.node.expr if isinstance(value, Symbolic) else value
        if expr not in self.texts:
            self.texts[expr] = str(expr) if isinstance(expr, int) else _text(expr, self.texts)
        return self.texts[expr]

    # Called by torch

    def replace(self, expr: Any) -> Any:
        return shorter(expr)

    def _create_fx_call_function(self, *_: object) -> tuple[None, bool]:
        return None, False

    def _simplify_floor_div(self, expr: Any) -> Any:
        return expr

    def bound_sympy(self, expr: Any, *_: object) -> Any:
        return SimpleNamespace(lower=0 if expr.is_nonnegative else -sympy.oo, upper=sympy.oo)

    def evaluate_sym_node(self, node: Any, *_: object, **__: object) -> Any:
        return self.evaluate_expr(node.expr, node.hint)

    def evaluate_expr(self, orig_expr: Any, hint: Any = None, *_: object, **__: object) -> Any:
        if orig_expr.is_number or orig_expr in (sympy.true, sympy.false):
            return hint
        decided = _decided(orig_expr)
        if decided is not None:
            return decided
        answer = self.asked(SizeQuestion(orig_expr, hint, isinstance(orig_expr, _TRUTHS)))
        return sympy.sympify(hint if answer is None else answer)

    def guard_or_defer_runtime_assert(self, orig_expr: Any, *_: object, **__: object) -> bool:
        hint = orig_expr.subs(dict.fromkeys(orig_expr.free_symbols, 0)) if orig_expr.is_number else True
        return bool(self.evaluate_expr(orig_expr, hint))


def is_symbolic(value: Any) -> bool:
    """Whether an argument contains a symbolic number."""
    if isinstance(value, (list, tuple)):
        return any(map(is_symbolic, value))
    if isinstance(value, dict):
        return any(map(is_symbolic, value.values()))
    if isinstance(value, slice):
        return any(map(is_symbolic, (value.start, value.stop, value.step)))
    return isinstance(value, Symbolic)


def expr_of(size: Any) -> Any:
    return size.node.expr if isinstance(size, Symbolic) else sympy.Integer(size)


def hint_of(size: Any) -> int:
    return int(size.node.hint) if isinstance(size, torch.SymInt) else int(size)


def _decided(expr: Any) -> bool | None:
    """The truth of a relation if it is the same for all sizes, which are not negative."""
    if not isinstance(expr, sympy.core.relational.Relational):
        return None
    difference = sympy.expand((expr.lhs - expr.rhs).replace(functions.ToFloat, lambda size: size))
    found = expr.func(difference, 0)
    return bool(found) if found in (sympy.true, sympy.false) else None


def is_same(a: Any, b: Any) -> bool | None:
    """Whether two sizes are equal: for all values, for none, or None if that is unknown."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    left, right = expr_of(a), expr_of(b)
    if left == right:
        return True
    zero = difference(a, b).is_zero
    return None if zero is None else bool(zero)


def is_at_most(a: Any, b: Any) -> bool | None:
    if isinstance(a, int) and isinstance(b, int):
        return a <= b
    more = difference(b, a)
    if more.is_nonnegative:
        return True
    return False if more.is_negative else None


def difference(a: Any, b: Any) -> Any:
    """The difference a - b."""
    return _between(expr_of(a), expr_of(b))


@cache
def _between(more: Any, less: Any) -> Any:
    return sympy.expand(more - less)


def is_cut(a: Any, b: Any) -> bool:
    """Whether a is `min(b, n)` for an n of at least 1: where they are equal, or one of them is 1, the larger one is b."""
    expr = expr_of(a)
    others = set(expr.args) - {expr_of(b)} if isinstance(expr, (Min, sympy.Min)) else set(expr.args)
    is_min = isinstance(expr, (Min, sympy.Min)) and len(others) < len(expr.args)
    return is_min and all(bool(o.is_positive) for o in others)


_INFIX = {sympy.Eq: "==", sympy.Ne: "!=", sympy.Le: "<=", sympy.Lt: "<", sympy.Ge: ">=", sympy.Gt: ">"}


def _text(expr: Any, names: Mapping[Any, str], inside: bool = False) -> str:
    """A sympy expression in Rx; in parentheses if it is `inside` another one."""
    found = _written(expr, names)
    return f"({found})" if inside and not found.replace("_", "a").isalnum() and not _is_call(found) else found


def _is_call(text: str) -> bool:
    return (
        text.startswith(("@", *(f"{name}(" for name in size_functions())))
        and text.endswith(")")
        and text.count("(") == 1
    )


def _written(expr: Any, names: Mapping[Any, str]) -> str:
    each = partial(_operands, names)
    if expr in names:
        return names[expr]
    for kind, sign in _INFIX.items():
        if isinstance(expr, kind):
            return f"{_text(expr.lhs, names)} {sign} {_text(expr.rhs, names)}"
    match expr:
        case sympy.Integer():
            return str(int(expr))
        case sympy.And() | sympy.Or():
            return _JOINED[isinstance(expr, sympy.And)].join(sorted(each(expr.args)))
        case sympy.Not():
            return f"!{_text(expr.args[0], names, True)}"
        case sympy.Add() | sympy.Mul() if expr.is_Add or expr.could_extract_minus_sign():
            return _sum(expr, names)
        case sympy.Mul() if all(a.is_integer for a in expr.args):
            return " * ".join(each(expr.args))
        case sympy.Pow() if isinstance(expr.exp, sympy.Integer) and 1 < expr.exp < 9:
            return " * ".join(each([expr.base] * int(expr.exp)))
        case functions.FloorDiv() | functions.CleanDiv() if expr.args[1] != 0:
            return " // ".join(each(expr.args))
        case functions.PythonMod() | functions.Mod():
            return " % ".join(each(expr.args))
        case Max() | Min() | sympy.Max() | sympy.Min():
            name = "max" if isinstance(expr, (Max, sympy.Max)) else "min"
            return f"{name}({', '.join(_text(a, names) for a in sorted(expr.args, key=_order))})"
        case sympy.Abs():
            return f"max({_text(expr.args[0], names)}, {_text(-expr.args[0], names)})"
        case functions.CeilToInt() | functions.FloorToInt() | functions.TruncToInt() if text := _rounded(expr, names):
            return text
        case functions.RoundToInt() if isinstance(expr.args[0], functions.IntTrueDiv) and expr.args[0].args[1] == 2:
            half = _text(expr.args[0].args[0], names, True)  # halves are rounded to the even number
            return f"({half} + {half} // 2 % 2) // 2"
        case functions.LShift() | functions.RShift():
            sign = "*" if isinstance(expr, functions.LShift) else "//"
            return f"{_text(expr.args[0], names, True)} {sign} {2 ** int(expr.args[1])}"
        case sympy.floor() if all(part.is_integer for part in expr.args[0].as_numer_denom()):  # PyTorch 2.4's of `>>`
            return " // ".join(each(expr.args[0].as_numer_denom()))
    raise Unwritable(str(expr))


_order = cache(str)
_JOINED = {True: " && ", False: " || "}


# A float factor of a size must be a fraction with a divisor below this: it is exact then.
_MOST = 2**10


def quotient(expr: Any) -> tuple[Any, Any] | None:
    """A float made of a size, as a size and its divisor, if its computation rounds at most once."""
    factor, rest = expr.as_coeff_Mul()
    above, below = map(sympy.Integer, float(factor).as_integer_ratio())
    match rest:
        case _ if below >= _MOST:
            return None
        case functions.ToFloat() if 0 <= above < _MOST:
            return rest.args[0] * above, below
        case functions.IntTrueDiv() if above == 1 and rest.args[1].is_positive:
            return rest.args[0], rest.args[1] * below
        case functions.FloatTrueDiv() if above == 1 and rest.args[1].is_number and float(rest.args[1]).is_integer():
            inner = quotient(rest.args[0]) if isinstance(rest.args[0].as_coeff_Mul()[1], functions.ToFloat) else None
            return inner and rest.args[1] > 0 and (inner[0], inner[1] * int(rest.args[1]) * below) or None
        case _:
            return None


_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sqrt": sympy.sqrt,
    "exp": sympy.exp,
    "log": sympy.log,
    "log2": lambda x: sympy.log(x) / sympy.log(2),
    "log10": lambda x: sympy.log(x) / sympy.log(10),
}


def function_of(name: str, number: Any, hint: float) -> torch.SymFloat:
    """A function of `math`, applied to a symbolic number."""
    found = _FUNCTIONS[name](number.node.expr)
    return torch.SymFloat(sym_node.SymNode(found, number.node.shape_env, float, hint))


def zero_of(expr: Any) -> Any:
    """An expression that is 0 where a float made of sizes is; None for a float that never is."""
    if expr.is_positive or isinstance(expr, sympy.exp):
        return None
    match expr:
        case functions.ToFloat() | sympy.Pow() | functions.FloatPow():
            return zero_of(expr.args[0])
        case functions.IntTrueDiv() | functions.FloatTrueDiv():
            return zero_of(expr.args[0])
        case sympy.log():
            return expr.args[0] - 1
        case sympy.Mul() if not expr.is_integer:
            return zero_of(expr.as_coeff_Mul()[1]) if expr.as_coeff_Mul()[0] != 1 else expr
        case sympy.Add() if all(map(_is_nonnegative, expr.args)) and any(zero_of(a) is None for a in expr.args):
            return None
        case _:
            return expr


def sign_of(expr: Any) -> Any:
    """An expression with the sign of a float made of sizes; None for one that is never negative."""
    if _is_nonnegative(expr):
        return None
    match expr:
        case functions.ToFloat():
            return sign_of(expr.args[0])
        case functions.IntTrueDiv() | functions.FloatTrueDiv() if _is_nonnegative(expr.args[1]):
            return sign_of(expr.args[0])
        case sympy.Mul() if not expr.is_integer and expr.as_coeff_Mul()[0] > 0 and expr.as_coeff_Mul()[0] != 1:
            return sign_of(expr.as_coeff_Mul()[1])
        case _:
            return expr


def _is_nonnegative(expr: Any) -> bool:
    inside = expr.args if isinstance(expr, (sympy.Mul, functions.IntTrueDiv, functions.FloatTrueDiv)) else ()
    inside = expr.args[:1] if isinstance(expr, (functions.ToFloat, sympy.Pow)) else inside
    return bool(expr.is_nonnegative) or bool(inside) and all(map(_is_nonnegative, inside))


def _rounded(expr: Any, names: Mapping[Any, str]) -> str:
    """A rounded quotient, as in `math.ceil(a / b + 1)`; an empty text for other expressions."""
    more, rest = expr.args[0].as_coeff_Add()
    parts = quotient(rest)
    if parts is None or not float(more).is_integer() or more and isinstance(expr, functions.TruncToInt):
        return ""
    is_up = isinstance(expr, functions.CeilToInt)
    inside = ", ".join(_text(a, names) for a in parts) if is_up else " // ".join(_operands(names, parts))
    text = f"ceildiv({inside})" if is_up else inside
    return f"{text} {'+' if more > 0 else '-'} {abs(int(more))}" if more else text


def _operands(names: Mapping[Any, str], parts: Any) -> list[str]:
    return [_text(p, names, True) for p in parts]


def _sum(expr: Any, names: Mapping[Any, str]) -> str:
    parts = sorted(sympy.Add.make_args(expr), key=lambda a: (a.is_number, _order(a)))
    text = ""
    for part in parts:
        sign = "-" if part.could_extract_minus_sign() else "+"
        shown = _text(-part if sign == "-" else part, names, True)
        text = f"{text} {sign} {shown}" if text else ("0 - " if sign == "-" else "") + shown
    return text


# Sizes in fewer operations: formulas for padded pictures and their windows would grow with each layer otherwise.

_MODS = (functions.Mod, functions.PythonMod)


@cache
def shorter(expr: Any) -> Any:
    """The same size in fewer operations; its parts are short already."""
    match expr:
        case functions.FloorDiv() if _is_number(expr.args[1]):
            return _quotient(expr.args[0], int(expr.args[1]))
        case functions.Mod() | functions.PythonMod() if _is_number(expr.args[1]):
            return functions.PythonMod(_within(expr.args[0], int(expr.args[1])), expr.args[1])
        case sympy.Add():
            return next(_joined(expr), expr)
        case _:
            return expr


def _joined(size: Any) -> Iterator[Any]:
    """A sum with b in place of `min(a, b) + max(0, b - a)`, the parts of b cut at a."""
    for cut in size.args:
        if isinstance(cut, (Min, sympy.Min)) and len(cut.args) == 2:
            for whole, at in (cut.args, cut.args[::-1]):
                rest = Max(0, whole - at)
                if rest in size.args:
                    yield size - cut - rest + whole


def _is_number(size: Any) -> bool:
    return isinstance(size, sympy.Integer) and size > 0


def _quotient(size: Any, by: int) -> Any:
    """`size // by`: multiples are taken out, and a quotient of a quotient becomes one."""
    terms = sympy.Add.make_args(_filled(size))
    whole = sum(t / by for t in terms if _is_multiple(t, by))
    rest = sum(t for t in terms if not _is_multiple(t, by))
    inner = [t for t in sympy.Add.make_args(rest) if isinstance(t, functions.FloorDiv) and _is_number(t.args[1])]
    if len(inner) == 1 and (rest - inner[0]).is_Integer:
        number = inner[0].args[1]
        return whole + _quotient(inner[0].args[0] + number * (rest - inner[0]), by * int(number))
    return whole + functions.FloorDiv(rest, sympy.Integer(by))


def _is_multiple(term: Any, by: int) -> bool:
    number, _ = term.as_coeff_Mul()
    return bool(number.is_Integer and number % by == 0)


def _within(size: Any, by: int) -> Any:
    """A size with the same remainder, without remainders by multiples of `by`, and without multiples."""
    inner = {m: m.args[0] for m in size.atoms(*_MODS) if _is_number(m.args[1]) and _is_multiple(m.args[1], by)}
    terms = sympy.Add.make_args(size)
    found = sum(_within(inner[m], by) * k if m in inner else t for t in terms for k, m in [t.as_coeff_Mul()])
    number, rest = found.as_coeff_Add() if isinstance(found, sympy.Expr) else (sympy.Integer(found), 0)
    rest = sum(t for t in sympy.Add.make_args(rest) if not _is_multiple(t, by))
    return rest + number % by


def _filled(size: Any) -> Any:
    """A sum with `n + (-n) % by` or `n - n % by`, as a multiple and a number."""
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


def _hash(size: Any) -> int:
    return hash((id(size.node.shape_env), size.node.expr))


def _divmod(size: Any, other: Any) -> Any:
    return size // other, size % other


# Methods of torch.SymInt during a trace, so that sizes are keys of dicts, and `divmod` takes them.
PATCHES = {"__hash__": _hash, "__divmod__": _divmod}
