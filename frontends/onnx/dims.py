"""Names of dimensions as sizes: exporters often write an expression over other names.

PyTorch writes `2*(((h - 1)//2)) + 2` and `TruncToInt(1.5*ToFloat(s27))`, onnxruntime `floor(h/2 - 1/2)`. Fractions are exact;
expressions whose floats may be rounded are not read. Every other text is a plain name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from itertools import accumulate
from math import lcm
from typing import NoReturn

from ...lang import core
from ...lang.core_printer import print_expr
from ...lang.node import Node, replace
from ...lang.source import NOWHERE
from ...lang.walk import rewrite, walk
from ...sizes.evaluate import evaluate as value_of
from ...sizes.integers import Integers, Undefined, folded
from ...sizes.operators import SIZE_OPERATORS
from .model import Graph, TensorType

Size = core.SizeExpr


class ReadDimension(Node):
    """The size that a dimension's name stands for, and a note where it looks like an expression that was not understood."""

    size: Size
    note: str | None = None


_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)(?![\w.])|(?P<name>[A-Za-z_][\w.]*(?::\d+)?)|(?P<sign>\*\*|//|[-+*/%(),]))",
    re.ASCII,
)
_LOOKS = re.compile(r"[+*/%(]|\s-\s")
_HYPHENS = re.compile(r"[A-Za-z_]\w*(?:-\w+)+", re.ASCII)
_LONGEST, _DEEPEST, _LARGEST, _HIGHEST = 2000, 50, 500, 16
# Sizes below 2**32 times a number up to this are exact in a float.
_EXACT = 2**21


class _Unread(Exception):
    """The text is no expression that is understood; the message says why."""


def read_dim(text: str, plain: Collection[str] = ()) -> ReadDimension:
    """The size of a dimension called `text`; `plain` are the names that are sizes elsewhere: without them `batch-size` is one
    name, and no difference."""
    hyphened = text.split("-") if _HYPHENS.fullmatch(text) else ()
    if (
        text.isidentifier()
        or text != text.strip()
        or any(part not in plain and not part.isdecimal() for part in hyphened)
    ):
        return ReadDimension(_named(text))
    try:
        size = _read(text)
    except _Unread as problem:
        said = f"`{_short(text)}` is read as a name: {problem}" if _LOOKS.search(text) else None
        return ReadDimension(_named(text), said)
    return ReadDimension(size if next(names(size), None) else _named(text))


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def declared(graph: Graph) -> frozenset[str]:
    """The names that are sizes of a graph's inputs; a size with another name is existential."""
    types = [value.type for value in graph.inputs]
    shapes = [t.shape for t in types if isinstance(t, TensorType) and t.shape is not None]
    found = [read_dim(dim).size for shape in shapes for dim in shape if isinstance(dim, str)]
    return frozenset(size.name for size in found if isinstance(size, core.SizeVar))


def names(size: Size) -> Iterator[str]:
    """The names in a size, from left to right."""
    return (node.name for node in walk(size) if isinstance(node, core.SizeVar))


def evaluate(size: Size, values: Mapping[str, int]) -> int | None:
    """The value of a size; None where a divisor is not positive or does not divide."""
    try:
        found: int = value_of(size, Integers(values))
        return found
    except Undefined:
        return None


def slope(size: Size) -> int | None:
    """The growth of a size with its one name; None where it is not linear."""
    sides = core.sides(size)
    if sides is None:
        return int(isinstance(size, core.SizeVar))
    left, right = map(slope, sides)
    if left is None or right is None:
        return None
    if core.sides(size, "+"):
        return left + right
    if core.sides(size, "-"):
        return left - right
    for factor in map(number, sides) if core.sides(size, "*") else ():
        if factor is not None:
            return factor * (left + right)
    return 0 if left == right == 0 else None


def size_text(size: Size, spelled: Callable[[str], str]) -> str:
    """The size as Rx writes it, with Rx's names."""
    return print_expr(rewrite(size, lambda n: _named(spelled(n.name)) if isinstance(n, core.SizeVar) else n))


# Building


def number(size: Size) -> int | None:
    return size.value if isinstance(size, core.SizeLit) else None


def _named(name: str) -> Size:
    return core.SizeVar(NOWHERE, name)


def _lit(value: int) -> Size:
    return core.SizeLit(NOWHERE, value)


def _op(sign: str, left: Size, right: Size) -> Size:
    """An operation, simplified for numbers and neutral elements."""
    a, b = number(left), number(right)
    if a is not None and b is not None:
        return folded(core.operation(NOWHERE, sign, left, right))
    if b is not None and b == SIZE_OPERATORS[sign].neutral or sign in ("min", "max") and left == right:
        return left
    if (sign, a) in (("+", 0), ("*", 1)):
        return right
    if sign == "*" and 0 in (a, b):
        return _lit(0)
    if sign in "+-" and b is not None and b < 0:
        return core.operation(NOWHERE, "-" if sign == "+" else "+", left, _lit(-b))
    if sign == "*" and b is not None:
        return _op("*", right, left)
    match core.sides(right, "*"):
        case core.SizeLit() as factor, rest if sign == "*" and a is not None:
            return _op("*", _op("*", left, factor), rest)
    return core.operation(NOWHERE, sign, left, right)


def _is_natural(size: Size) -> bool:
    """Whether a size is at least 0 by its form alone, given that names are."""
    sides = core.sides(size)
    if sides is None:
        return (number(size) or 0) >= 0
    natural = map(_is_natural, sides)
    return (
        bool(core.sides(size, "%")) or (any if core.sides(size, "max") else all)(natural) and not core.sides(size, "-")
    )


class _Ratio(Node):
    """A number as a fraction."""

    top: Size
    bottom: Size = core.SizeLit(NOWHERE, 1)
    is_float: bool = False

    @property
    def is_rounded(self) -> bool:
        """Whether it is a float that does not hold the fraction exactly: it may then only be cut to an integer, as floats
        below 2**52 give the same integer as fractions."""
        return self.is_float and (number(self.bottom) or 0).bit_count() != 1


def _unread(why: str) -> NoReturn:
    raise _Unread(why)


def _extent(size: Size) -> int:
    return sum(1 for _ in walk(size))


def _ratio(top: Size, bottom: Size, *of: _Ratio) -> _Ratio:
    if any(part.is_rounded for part in of):
        _unread("a float may be rounded before it is used")
    above, below = number(top), number(bottom)
    if below == 0:
        _unread("it divides by 0")
    if above is not None and below is not None:
        exact = Fraction(above, below)
        top, bottom = _lit(exact.numerator), _lit(exact.denominator)
    elif below is not None and below < 0:
        top, bottom = _op("*", _lit(-1), top), _lit(-below)
    if _extent(top) + _extent(bottom) > _LARGEST:
        _unread("it is too long")
    return _Ratio(top, bottom, any(part.is_float for part in of))


def _sum(left: _Ratio, right: _Ratio, sign: str = "+") -> _Ratio:
    if number(left.bottom) is not None and number(right.bottom) is not None:
        return _ratio(_op(sign, *_aligned(left, right)), _lit(_bottom(left, right)), left, right)
    top = _op(sign, _op("*", left.top, right.bottom), _op("*", right.top, left.bottom))
    return _ratio(top, _op("*", left.bottom, right.bottom), left, right)


def _product(left: _Ratio, right: _Ratio) -> _Ratio:
    return _ratio(_op("*", left.top, right.top), _op("*", left.bottom, right.bottom), left, right)


def _quotient(left: _Ratio, right: _Ratio) -> _Ratio:
    return _ratio(_op("*", left.top, right.bottom), _op("*", left.bottom, right.top), left, right)


def _true_quotient(left: _Ratio, right: _Ratio) -> _Ratio:
    return _quotient(replace(left, is_float=True), right)


def _floor(of: _Ratio) -> _Ratio:
    return _Ratio(_op("//", of.top, of.bottom))


def _ceiling(of: _Ratio) -> _Ratio:
    return _Ratio(_op("ceildiv", of.top, of.bottom))


def _truncated(of: _Ratio) -> _Ratio:
    if _is_natural(of.top):
        return _floor(of)
    zero = _lit(0)
    above, below = _op("max", of.top, zero), _op("max", _op("-", zero, of.top), zero)
    return _Ratio(_op("-", _op("//", above, of.bottom), _op("//", below, of.bottom)))


def _whole(of: _Ratio) -> Size:
    return of.top if of.bottom == _lit(1) else _unread("a fraction stands where a whole number has to")


def _bottom(*ratios: _Ratio) -> int:
    """A common denominator of fractions."""
    found = [number(ratio.bottom) for ratio in ratios]
    return lcm(*(n if n is not None else _unread("a fraction stands where a whole number has to") for n in found))


def _aligned(*ratios: _Ratio) -> list[Size]:
    """The numerators of fractions over their common denominator."""
    return [_op("*", ratio.top, _lit(_bottom(*ratios) // _bottom(ratio))) for ratio in ratios]


def _remainder(left: _Ratio, right: _Ratio) -> _Ratio:
    divisor = number(right.top)
    if divisor is not None and divisor <= 0:
        _unread("its divisor is not positive")
    return _ratio(_op("%", _whole(left), _whole(right)), _lit(1), left, right)


def _extremum(sign: str) -> Callable[..., _Ratio]:
    def of(*parts: _Ratio) -> _Ratio:
        return reduce(lambda a, b: _ratio(_op(sign, *_aligned(a, b)), _lit(_bottom(a, b)), a, b), parts)

    return of


def _power(base: _Ratio, exponent: _Ratio) -> _Ratio:
    times = number(exponent.top)
    if times is None or exponent.bottom != _lit(1) or not 0 <= times <= _HIGHEST:
        _unread("it has a power that is no small number")
    return reduce(_product, [base] * times, _Ratio(_lit(1)))


# The number of operands, None for one or more.
_FUNCTIONS: dict[str, tuple[int | None, Callable[..., _Ratio]]] = {
    "floor": (1, _floor), "FloorToInt": (1, _floor), "ceiling": (1, _ceiling), "ceil": (1, _ceiling),
    "CeilToInt": (1, _ceiling),
    "TruncToInt": (1, _truncated), "trunc": (1, _truncated), "int": (1, _truncated), "Identity": (1, lambda of: of),
    "ToFloat": (1, lambda of: replace(of, is_float=True)), "Max": (None, _extremum("max")), "max": (None, _extremum("max")),
    "Min": (None, _extremum("min")), "min": (None, _extremum("min")), "Mod": (2, _remainder), "PythonMod": (2, _remainder),
    "FloorDiv": (2, lambda a, b: _floor(_quotient(a, b))), "CeilDiv": (2, lambda a, b: _ceiling(_quotient(a, b))),
    "ceildiv": (2, lambda a, b: _ceiling(_quotient(a, b))), "CleanDiv": (2, _quotient), "IntTrueDiv": (2, _true_quotient),
    "FloatTrueDiv": (2, _true_quotient), "PowByNatural": (2, _power), "FloatPow": (2, _power),
    "broadcast": (None, lambda *of: _Ratio(reduce(partial(_op, "broadcast"), map(_whole, of)))),
    "ModularIndexing": (3, lambda a, b, c: _remainder(_floor(_quotient(a, b)), c)),
}  # fmt: skip
_OPERATORS: dict[type[ast.AST], Callable[..., _Ratio]] = {
    ast.Add: _sum, ast.Sub: lambda a, b: _sum(a, b, "-"), ast.Mult: _product, ast.Div: _quotient, ast.Mod: _remainder,
    ast.FloorDiv: lambda a, b: _floor(_quotient(a, b)), ast.Pow: _power, ast.UAdd: lambda a: a,
    ast.USub: lambda a: _sum(_Ratio(_lit(0)), a, "-"),
}  # fmt: skip


def _read(text: str) -> Size:
    """Parse a size in Python's grammar, except that its names and numbers may be spelled otherwise."""
    tokens = list(_tokens(text.strip()))
    words = {f"t{at}": token for at, token in enumerate(tokens) if token[0] == "_" or token[0].isalnum()}
    if len(tokens) > _LARGEST or _nesting(tokens) > _DEEPEST:
        _unread("it is too long, or nested too deeply")
    try:
        tree = ast.parse(
            " ".join(f"t{at}" if f"t{at}" in words else token for at, token in enumerate(tokens)), mode="eval"
        )
    except SyntaxError:
        _unread("its signs and parentheses do not fit")
    found = _value(tree.body, words)
    if found.is_rounded or found.is_float and found.bottom != _lit(1):
        _unread("it is a float")
    return _op("/", found.top, found.bottom)


def _value(tree: ast.expr, words: Mapping[str, str]) -> _Ratio:
    match tree:
        case ast.Name(id=word):
            return _number(words[word]) if words[word][0].isdigit() else _Ratio(_named(words[word]))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, words), _value(right, words))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(operand, words))
        case ast.Call(func=ast.Name(id=word), args=args, keywords=[]):
            name = words[word]
            if name not in _FUNCTIONS:
                _unread(f"the function {_short(name)} is not known")
            count, made = _FUNCTIONS[name]
            if count not in (None, len(args)) or not args:
                _unread(f"{name} has {len(args)} operands")
            return made(*(_value(arg, words) for arg in args))
    _unread("its signs and parentheses do not fit")


def _nesting(tokens: Sequence[str]) -> int:
    return max(accumulate((token == "(") - (token == ")") for token in tokens), default=0)


def _tokens(text: str) -> Iterator[str]:
    if len(text) > _LONGEST:
        _unread("it is too long")
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            _unread(f"`{_short(text[at:].strip())}` cannot be read")
        yield found[found.lastgroup or 0]
        at = found.end()


def _number(token: str) -> _Ratio:
    if token.isdecimal():
        return _Ratio(_lit(int(token))) if len(token) < 19 else _unread("it has too large a number")
    value = (
        Fraction(token) if len(token) < 40 and abs(int(token.lower().partition("e")[2] or 0)) < 40 else Fraction(1, 3)
    )
    if value.denominator.bit_count() != 1 or max(value.numerator, value.denominator) > _EXACT:
        _unread(f"{_short(token)} is not exact in a float")
    return _Ratio(_lit(value.numerator), _lit(value.denominator), is_float=True)
