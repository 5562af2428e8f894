"""Annotations in jaxtyping's notation to the pieces of a signature: `Float32[Array, "b n*4"]` is `Tensor([b, n * 4], float32)`.

jaxtyping need not be there: what is read of its objects are three attributes, and an annotation that is a string is read as it
stands.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, TypeGuard, Union, get_args, get_origin

from ..lang.dtypes import DTYPES

# What each class of dtypes is in a signature: a dtype, the class of a `where d in ...`, or nothing that is asked.
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
# What a dimension may be, how it is written in a signature, and what it means; the first row that matches is taken.
DIMENSIONS = (
    (r"_\w*", "?", "an axis of any size"),
    (r"\.\.\.", "...", "any number of axes"),
    (r"\*_\w*", "...", "any number of axes"),
    (r"\*([^\W\d]\w*)", r"*\1", "a named part of any number of axes"),
    (r"\w+=(\d+)", r"\1", "a size, with a name that only readers see"),
    (r"(\d+)", r"\1", "a size"),
    (r"([^\W\d]\w*)", r"\1", "a name, bound where it first stands alone or can be solved"),
)
REFUSED = (
    (r"\*?#.*|#.*", "`#` lets an axis be 1 as well, and a signature has one size for an axis"),
    (r".*\{.*", "`{...}` is a value of the function's own, which no signature knows: write a name, or a number"),
    (r"\*?\?.*", "`?` is a size of each leaf of a tree: Rx has no trees"),
)


class Unread(Exception):
    """An annotation that cannot be read; the message says why."""


class Tensor(NamedTuple):
    """The annotation of a tensor: its shape in Rx, and a dtype, a class of them or `?`."""

    shape: str
    dtype: str


class Parts(NamedTuple):
    """A tuple of annotations."""

    items: tuple[Tensor | Parts, ...]


class Maybe(NamedTuple):
    """An annotation that None fits, too."""

    inner: Tensor | Parts


Read = Tensor | Parts | Maybe | None
"""What was read of an annotation; None for one that says nothing of arrays."""


def read(annotation: Any, names: Mapping[str, Any]) -> Read:
    """Raises Unread for what speaks of arrays and cannot be read. `names` are those that an annotation in a string may use."""
    if isinstance(annotation, str):
        return _of_text(annotation, names)
    if _is_array(annotation):
        return Tensor(shape(annotation.dim_str), _dtype(annotation.dtype.__name__))
    origin, items = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return read(items[0], names)
    if origin in (Union, UnionType):
        return _maybe([read(i, names) for i in items if i is not NoneType], NoneType in items, annotation)
    if origin is tuple and Ellipsis not in items:
        return _parts([read(i, names) for i in items])
    if _speaks_of_arrays(annotation):
        raise Unread(f"`{_shown(annotation)}` holds arrays in a way that a signature has no words for")
    return None


def _is_array(annotation: Any) -> bool:
    return isinstance(getattr(annotation, "dim_str", None), str) and hasattr(annotation, "dtype")


def _maybe(read_: list[Read], optional: bool, annotation: Any) -> Read:
    arrays = [r for r in read_ if r is not None]
    if not arrays:
        return None
    [first, *more] = arrays
    if more or len(read_) > 1 or isinstance(first, Maybe):
        raise Unread(f"`{_shown(annotation)}` is one type or another: a signature has one (or None)")
    return Maybe(first) if optional else first


def _parts(items: list[Read]) -> Read:
    if all(i is None for i in items):
        return None
    arrays = tuple(i for i in items if isinstance(i, Tensor | Parts))
    if len(arrays) < len(items):
        raise Unread("of a tuple with an array each part is one, or a tuple of them, and none may be None")
    return Parts(arrays)


def _speaks_of_arrays(annotation: Any) -> bool:
    inside = (*get_args(annotation), *_of_tree(annotation))
    return any(_is_array(i) or _speaks_of_arrays(i) or isinstance(i, list) and any(map(_is_array, i)) for i in inside)


def _of_tree(annotation: Any) -> tuple[Any, ...]:
    """What jaxtyping's trees hold."""
    return (
        (annotation.leaftype,) if type(annotation).__name__ == "_MetaPyTree" and hasattr(annotation, "leaftype") else ()
    )


def _shown(annotation: Any) -> str:
    return re.sub(r"\b(typing|jaxtyping)\.", "", str(annotation))


# Strings


def _of_text(text: str, names: Mapping[str, Any]) -> Read:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise Unread(f"`{text}` is no annotation of Python's") from None
    return _of_tree_text(tree, names)


def _of_tree_text(tree: ast.expr, names: Mapping[str, Any]) -> Read:
    """The same of what stands in a string: names of dtype classes are known, any other is looked up."""
    match tree:
        case ast.Constant(value=None):
            return None
        case ast.Constant(value=str(inner)):
            return _of_text(inner, names)
        case ast.Subscript(value=head, slice=ast.Tuple(elts=[_, ast.Constant(value=str(dims))])) if (
            _last(head) in CLASSES
        ):
            return Tensor(shape(dims), _dtype(_last(head)))
        case ast.BinOp(op=ast.BitOr()):
            return _one_of(list(_options(tree)), tree, names)
        case ast.Subscript(value=head, slice=ast.Tuple(elts=options)) if _last(head) == "Union":
            return _one_of(options, tree, names)
        case ast.Subscript(value=head, slice=ast.Tuple(elts=[inner, *_])) if _last(head) == "Annotated":
            return _of_tree_text(inner, names)
        case ast.Subscript(value=head, slice=inner) if _last(head) == "Optional":
            return _maybe([_of_tree_text(inner, names)], True, ast.unparse(tree))
        case ast.Subscript(value=head, slice=ast.Tuple(elts=items)) if _last(head) in ("tuple", "Tuple"):
            if not any(isinstance(i, ast.Constant) and i.value is Ellipsis for i in items):
                return _parts([_of_tree_text(i, names) for i in items])
    return _looked_up(tree, names)


def _one_of(options: list[ast.expr], tree: ast.expr, names: Mapping[str, Any]) -> Read:
    found = [_of_tree_text(o, names) for o in options if not _is_none(o)]
    return _maybe(found, any(map(_is_none, options)), ast.unparse(tree))


def _options(tree: ast.expr) -> Iterator[ast.expr]:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitOr):
        yield from _options(tree.left)
        yield from _options(tree.right)
    else:
        yield tree


def _is_none(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Constant) and tree.value is None


def _last(head: ast.expr) -> str:
    return head.attr if isinstance(head, ast.Attribute) else head.id if isinstance(head, ast.Name) else ""


def _looked_up(tree: ast.expr, names: Mapping[str, Any]) -> Read:
    """What a string says in names of the function's module."""
    text = ast.unparse(tree)
    inside = {_last(n) for n in ast.walk(tree) if isinstance(n, ast.Name | ast.Attribute)}
    try:
        found = eval(compile(ast.Expression(tree), "<annotation>", "eval"), dict(names))
    except (NameError, AttributeError, TypeError):
        if _is_dims(tree):
            raise Unread(f'`{text}` is not like `{_last(tree.value)}[Array, "n m"]`') from None
        if any(map(_is_dims, ast.walk(tree))):
            raise Unread(f"`{text}` holds arrays in a way that a signature has no words for") from None
        if _is_of_array(tree):
            _dtype(_last(tree.value))
        if inside & CLASSES.keys() - {"Complex", "Float", "Int", "Bool"}:
            raise Unread(f"`{text}` cannot be looked up") from None
        return None
    return None if isinstance(found, str) else read(found, names)


def _is_dims(node: ast.AST) -> TypeGuard[ast.Subscript]:
    return isinstance(node, ast.Subscript) and _last(node.value) in CLASSES


def _is_of_array(node: ast.expr) -> TypeGuard[ast.Subscript]:
    """Whether it is written as an array of a class of dtypes: `Key[Array, ""]`."""
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=[of, ast.Constant(value=str())])):
            return _last(of) in _ARRAYS
    return False


# What arrays are called in annotations.
_ARRAYS = ("Array", "ArrayLike", "ndarray", "Tensor")


# Dimensions and dtypes


def shape(dims: str) -> str:
    """`"*b n*4 _"` as `[*b, n * 4, ?]`."""
    found = [_dim(dim) for dim in dims.split()]
    if sum(d.startswith(("*", "...")) for d in found) > 1:
        raise Unread(f'"{dims}" has two parts of any number of axes: nothing says where one ends')
    return f"[{', '.join(found)}]"


def _dim(dim: str) -> str:
    for pattern, why in REFUSED:
        if re.fullmatch(pattern, dim):
            raise Unread(f'"{dim}" cannot be read: {why}')
    for pattern, written, _ in DIMENSIONS:
        if re.fullmatch(pattern, dim):
            return re.sub(pattern, written, dim)
    try:
        return _size(ast.parse(dim, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        raise Unread(f'"{dim}" is no size: it is a name, a number, or made of them by + - * // % min max') from None


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


def _dtype(name: str) -> str:
    if name not in CLASSES:
        raise Unread(
            f"`{name}` is a class of dtypes that no signature has: {', '.join(list(CLASSES)[:9])}, Float32, ..."
        )
    return CLASSES[name]


def is_dtype(text: str) -> bool:
    """Whether it is said of one dtype; else it is a class of them."""
    return text in DTYPES or text == "?"
