"""Translate jaxtyping's notation to parts of a signature: `"b n*4"` is `[b, n * 4]`, `Float` is a floating dtype."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..lang import dtypes

# Each class of dtypes as a signature has it: a dtype, the class of a `where d in ...`, or `?` for any.
CLASSES: dict[str, str] = {
    "Shaped": "?",
    "Bool": "bool",
    "Num": "numeric",
    "Inexact": "inexact",
    "Real": "real",
    "Float": "floating",
    "Complex": "complex",
    "Integer": "integer",
    "Int": "signed",
    "UInt": "{uint2, uint4, uint8, uint16, uint32, uint64}",
    "BFloat16": "bfloat16",
    **{f"{kind}{bits}": f"{kind.lower()}{bits}" for kind in ("Int", "UInt") for bits in (2, 4, 8, 16, 32, 64)},
    **{f"Float{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"Complex{bits}": f"complex{bits}" for bits in (64, 128)},
    **{f"Float8{name}": f"float8_{name}" for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")},
}
# The dtype of an input of PyTorch code whose annotation has this class; float32 for the other classes.
USUAL = {
    "signed": "int64",
    "integer": "int64",
    CLASSES["UInt"]: "uint8",
    "complex": "complex64",
    "int": "int64",
    "uint": "uint8",
}
# The same for NumPy's classes of dtypes.
NUMPY: dict[str, str] = {
    "generic": "?",
    "bool_": "bool",
    "number": "numeric",
    "inexact": "inexact",
    "floating": "floating",
    "complexfloating": "complex",
    "integer": "integer",
    "signedinteger": "signed",
    "unsignedinteger": CLASSES["UInt"],
}
# The forms of a dimension: pattern, its text in a signature, its meaning; the first row that matches applies.
DIMENSIONS = (
    (r"_\w*", "?", "an axis of any size"),
    (r"\.\.\.", "...", "any number of axes"),
    (r"\*_\w*", "...", "any number of axes"),
    (r"\*#([^\W\d]\w*)", "...", "a named part that is broadcast to those of that name"),
    (r"\*([^\W\d]\w*)", r"*\1", "a named part of any number of axes"),
    (r"\w+=(\d+)", r"\1", "a size, with a name that only readers see"),
    (r"(\d+)", r"\1", "a size"),
    (r"([^\W\d]\w*)", r"\1", "a name, bound where it first stands alone or can be solved"),
    (r"(?!\*)[^{}#]*(\{[^{}]*\}[^{}#]*)+", "?", "the value of Python's expression at the call"),
)
REFUSED = (
    (r"\*?\?.*", "`?` is a size of each leaf of a tree: Rx has no trees"),
    (r"\*?#[_.*].*|(?!\*?#).*#.*|.*#.*#.*", "`#` stands once, before a name, a number or an expression"),
)


class UnreadAnnotation(Exception):
    """An annotation that cannot be read; the message says why."""


# Dimensions and dtypes


# Results are cached: many calls ask for the same.
_kept = lru_cache(4096)


@_kept
def axes(dims: str) -> tuple[str, ...]:
    """The dimensions, one by one."""
    return tuple(re.findall(r"(?:\{[^{}]*\}|\S)+", dims))


@_kept
def shape(dims: str, sizes: tuple[int, ...] | None = None) -> tuple[str, ...]:
    """`"*b n*4 _"` as `*b`, `n * 4`, `?`; an axis `#n` is `1` if the sizes are known and its size is 1, else `n`."""
    words = axes(dims)
    found = [_dim(dim) for dim in words]
    parts = [i for i, d in enumerate(found) if d.startswith(("*", "..."))]
    if len(parts) > 1:
        raise UnreadAnnotation(f'"{dims}" has two parts of any number of axes: nothing says where one ends')
    for i, dim in enumerate(words):
        at = i - len(words) if parts and i > parts[0] else i
        if sizes is not None and dim.startswith("#") and sizes[at : at + 1 or None] == (1,):
            found[i] = "1"
    return tuple(found)


@_kept
def part(dims: str, sizes: tuple[int, ...]) -> tuple[str, tuple[int, ...], bool] | None:
    """A named part of any number of axes: its name, its sizes, and whether it is only broadcast to others (`*#b`)."""
    words = axes(dims)
    for i, dim in enumerate(words):
        found = re.fullmatch(r"\*(#?)([^\W\d_]\w*)", _starred(dim))
        if found is not None and len(sizes) >= len(words) - 1:
            return found[2], tuple(sizes[i : len(sizes) - (len(words) - i - 1)]), bool(found[1])
    return None


def evaluated(dims: str, names: Mapping[str, Any], sizes: frozenset[str]) -> str:
    """The dimensions with each `{...}` replaced by its value, an integer or a text over names of sizes; raises
    UnreadAnnotation for other values."""

    def value(found: re.Match[str]) -> str:
        try:
            size = eval(found[1].strip(), dict(names))
            if (
                isinstance(size, bool)
                or isinstance(size, str)
                and not sizes.issuperset(re.findall(r"[^\W\d]\w*", size))
            ):
                raise TypeError(f"{size!r} is no size")
            return size if isinstance(size, str) else str(operator.index(size))
        except (ArithmeticError, AttributeError, LookupError, NameError, TypeError, ValueError) as problem:
            raise UnreadAnnotation(f"`{found[0]}` cannot be computed: {type(problem).__name__}: {problem}") from problem

    return re.sub(r"\{([^{}]*)\}", value, dims)


def _starred(dim: str) -> str:
    return f"*#{dim[2:]}" if dim.startswith("#*") else dim


def _dim(dim: str) -> str:
    dim = _starred(dim)
    for pattern, why in REFUSED:
        if re.fullmatch(pattern, dim):
            raise UnreadAnnotation(f'"{dim}" cannot be read: {why}')
    for code in re.findall(r"\{([^{}]*)\}", dim):
        _expression(code.strip())
    if dim.startswith("#"):
        return _dim(dim[1:])
    for pattern, written, _ in DIMENSIONS:
        if re.fullmatch(pattern, dim):
            return re.sub(pattern, written, dim)
    try:
        return _size(_expression(dim))
    except ValueError:
        raise UnreadAnnotation(
            f'"{dim}" is no size: it is a name, a number, or made of them by + - * // % min max'
        ) from None


def _expression(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise UnreadAnnotation(f'"{text}" is no size: it cannot be read as Python') from None


_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}


def _size(tree: ast.expr) -> str:
    match tree:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return str(value)
        case ast.Name(id=name):
            return name
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _OPERATORS:
            return f"{_inner(left)} {_OPERATORS[type(op)]} {_inner(right)}"
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[left, right], keywords=[]):
            return f"{name}({_size(left)}, {_size(right)})"
    raise ValueError


def _inner(tree: ast.expr) -> str:
    return f"({_size(tree)})" if isinstance(tree, ast.BinOp) else _size(tree)


def dtype(kind: Any) -> str:
    name, own = kind.__name__, getattr(kind, "dtypes", ())
    if name in CLASSES:
        return CLASSES[name]
    if isinstance(own, list | tuple) and own and all(isinstance(d, str) and d in dtypes.DTYPES for d in own):
        return f"{{{', '.join(own)}}}"
    raise UnreadAnnotation(
        f"`{name}` is a class of dtypes that no signature has: {', '.join(list(CLASSES)[:9])}, Float32, ..."
    )


def is_dtype(text: str) -> bool:
    """Whether the text names one dtype rather than a class of them."""
    return text not in dtypes.CLASSES and not text.startswith("{")
