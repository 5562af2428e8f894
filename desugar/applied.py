"""Types with parameters: `type Layer(d, h) = ...` and `Layer(d, 4 * d)` to the type that it abbreviates."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..lang import codes, sweet
from ..lang.diagnostics import Label
from ..lang.dtypes import DTYPES
from ..lang.node import Node, replace
from ..lang.walk import rewrite, walk
from .errors import count, fail, problem

_NO_SIZES = frozenset({"span", "callee"})
Sorts = dict[str, str]


def sorts(decl: sweet.TypeDecl, body: sweet.Type) -> Sorts:
    """Return the sort of each parameter, found by its places in the expanded type: Size, Shape or DType."""
    found: Sorts = {}
    names = [p.name for p in decl.params]
    twice = next((p for i, p in enumerate(decl.params) if p.name in names[:i]), None)
    if twice is not None:
        fail(codes.E203, f"`{twice.name}` stands twice", twice.span)
    for name, sort, at in _uses(body):
        if name in names and found.setdefault(name, sort) != sort:
            fail(codes.E108, f"`{name}` stands for a {found[name]}, and for a {sort} here", at.span)
    unused = next((p for p in decl.params if p.name not in found), None)
    if unused is not None:
        fail(
            codes.E108, f"the type does not speak of its parameter `{unused.name}`", unused.span,
            help="leave it out, or use it in a shape or as a dtype",
        )  # fmt: skip
    return found


def _uses(body: sweet.Type) -> Iterator[tuple[str, str, sweet.Name | sweet.Ident]]:
    for node in walk(body):
        if not isinstance(node, sweet.TensorType):
            continue
        if isinstance(node.dtype, sweet.Name):
            yield node.dtype.name, "DType", node.dtype
        if isinstance(node.shape, sweet.Name):
            yield node.shape.name, "Shape", node.shape
            continue
        for part in walk(node.shape, fields=_NO_SIZES):
            if isinstance(part, sweet.Splice):
                yield part.name.name, "Shape", part.name
            elif isinstance(part, sweet.Name):
                yield part.name, "Size", part


def checked(decl: sweet.TypeDecl, use: sweet.NamedType) -> None:
    """Check the number of arguments."""
    wanted = [p.name for p in decl.params]
    if len(use.args) == len(wanted):
        return
    label = Label(decl.name.span, f"`{decl.name.name}` is defined here")
    given = "none" if not use.args else str(len(use.args))
    if not wanted:
        fail(codes.E108, f"`{use.name}` takes no arguments", use.span, labels=(label,), help=f"write `{use.name}`")
    fail(
        codes.E108, f"`{use.name}` takes {count(len(wanted), 'argument')}; here are {given}", use.span,
        labels=(label,), help=f"write `{use.name}({', '.join(wanted)})`, each a Size, a Shape or a dtype",
    )  # fmt: skip


def put_in(body: sweet.Type, given: dict[str, sweet.Expr], found: Sorts) -> sweet.Type:
    """Return the type with arguments for its parameters."""
    for name, arg in given.items():
        if not _fits(arg, found[name]):
            fail(codes.E108, f"`{name}` is a {found[name]}; this is none", arg.span, help=_HELPS[found[name]])
    is_open = any(isinstance(node, sweet.Unknown) for node in walk(body, *given.values()))
    change = _substitution(given, is_open)
    return rewrite(body, change, _NO_SIZES, lambda node: isinstance(node, sweet.Attr | sweet.FnName))


_HELPS = {"Size": "a Size is `n`, `4 * n`, `?`", "Shape": "a Shape is `s`, `[n, m]`, `?`", "DType": "`float32`, `?`"}


def _fits(arg: sweet.Expr, sort: str) -> bool:
    if sort != "DType" and isinstance(arg, sweet.Name) and arg.name in DTYPES:
        return False
    match sort:
        case "Shape":
            return isinstance(arg, sweet.ListExpr | sweet.Name | sweet.Unknown | sweet.Attr)
        case "DType":
            return isinstance(arg, sweet.Name | sweet.Unknown | sweet.Attr)
    return not isinstance(arg, sweet.ListExpr | sweet.TupleExpr | sweet.FloatLit | sweet.StrLit | sweet.BoolLit)


def _substitution(given: dict[str, sweet.Expr], is_open: bool) -> Callable[[Node], Node]:
    """Return the change of a node by arguments. `is_open`: there is a `?` somewhere."""

    def change(node: Node) -> Node:
        match node:
            case sweet.Name(name=name) if name in given:
                return given[name]
            case sweet.ListExpr(items=items):
                return replace(node, items=tuple(part for item in items for part in _spliced(item, given)))
            case sweet.Binary() | sweet.Unary() | sweet.Arg() if is_open:
                unknown = next((n for n in walk(node) if isinstance(n, sweet.Unknown)), None)
                if unknown is not None:
                    fail(codes.E108, "`?` cannot stand here: the type computes with it", unknown.span, help="name it")
        return node

    return change


def _spliced(item: sweet.Expr, given: dict[str, sweet.Expr]) -> tuple[sweet.Expr, ...]:
    """Return the items of a list for one of its items, with the argument for s in place of `*s`."""
    arg = given.get(item.name.name) if isinstance(item, sweet.Splice) else None
    match arg:
        case None:
            return (item,)
        case sweet.ListExpr(items=items):
            return items
        case sweet.Name(name=name):
            return (sweet.Splice(arg.span, sweet.Ident(arg.span, name)),)
        case sweet.Unknown():
            return (sweet.Dots(arg.span),)
    raise problem(codes.E221, "a Shape of another file has to be named here before it is spliced", arg.span)
