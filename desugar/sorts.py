"""Types as the user writes them to sorts: aliases expanded, `Tensor([n], int8)` to Tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..lang import codes, core, sweet
from ..lang.diagnostics import Label
from ..lang.dtypes import DTYPES, HOLDERS, DType, dtype_named
from ..lang.node import Node, replace
from ..lang.printer import print_expr, print_type
from ..lang.stored import MAX_RANK
from ..lang.walk import rewrite, walk
from ..ops.dtypes_column import parse_dtypes
from ..ops.model import Primitive
from . import applied
from .dtype_names import ARRAYS, ELSEWHERE
from .errors import Broken, fail, nearest
from .scope import SHAPE_SORTS, SOME_TUPLE, Scope
from .symbols import Unit

_SORTS: dict[str, core.Sort] = {
    "Size": core.SIZE,
    "Shape": core.SHAPE,
    "DType": core.DTYPE,
    "Bool": core.BOOL,
}
SIMPLE_NAMES = ("Tensor", *_SORTS)


_MOST_PARTS, _DEEPEST = 4_096, 100  # of an expanded type


class _TooDeep(Exception):
    """An expanded type is nested too deeply."""


def expand(unit: Unit, type_: sweet.Type, seen: tuple[str, ...] = ()) -> sweet.Type:
    """Return the type with the names of `type` items expanded, from whatever file they come."""
    symbols, key = unit.symbols, (id(unit), id(type_))
    symbols.parts = most = min(_MOST_PARTS, symbols.room)
    _, found, parts = symbols.expanded.get(key, (type_, type_, most + 1))
    if parts <= most and not seen:
        symbols.room -= parts
        return found
    try:
        found = _expanded(unit, type_, seen, 0)
        if not seen:
            symbols.expanded[key] = type_, found, most - symbols.parts
        return found
    except _TooDeep:
        fail(codes.E223, f"a type that is nested more than {_DEEPEST} deep, written out, is too deep", type_.span)
    finally:
        symbols.room -= most - max(symbols.parts, 0)


def _expanded(unit: Unit, type_: sweet.Type, seen: tuple[str, ...], depth: int) -> sweet.Type:
    """Expand a type; `depth` counts the types and expanded names around it."""
    inner = depth + bool(seen)
    if inner > _DEEPEST:
        raise _TooDeep
    unit.symbols.parts -= bool(seen)  # a type that the user wrote in place is limited by its length
    if unit.symbols.parts < 0:
        fail(codes.E299, "a type of so many parts, written out, is not supported", type_.span)
    match type_:
        case sweet.NamedType():
            return _named(unit, type_, seen, inner)
        case sweet.TupleType():
            return replace(type_, items=tuple(_expanded(unit, t, seen, inner) for t in type_.items))
        case sweet.FnType():
            params = tuple(_expanded(unit, t, seen, inner) for t in type_.params)
            return replace(type_, params=params, result=_expanded(unit, type_.result, seen, inner))
        case sweet.TensorType():
            return _of_some_rank(type_)


def _of_some_rank(type_: sweet.TensorType) -> sweet.TensorType:
    """Check that the rank of a tensor type is not above that of arrays."""
    items = type_.shape.items if isinstance(type_.shape, sweet.ListExpr) else ()
    rank = sum(not isinstance(item, sweet.Splice | sweet.Dots) for item in items)
    if rank > MAX_RANK:
        more = "at least " if rank < len(items) else ""
        fail(codes.E216, f"a tensor has at most {MAX_RANK} axes; this type has {more}{rank}", type_.span)
    return type_


def _named(unit: Unit, type_: sweet.NamedType, seen: tuple[str, ...], depth: int) -> sweet.Type:
    name = type_.name
    if name in HOLDERS:
        return sweet.NamedType(type_.span, opaque(type_, name, type_.args).name)
    if name in _SORTS or dtype_named(name):
        if type_.args:
            fail(codes.E108, f"`{name}` takes no arguments", type_.span, help=f"write `{name}`")
        return type_
    head, _, rest = name.rpartition(".")
    home = _home(unit, type_, head)
    decl = home.types.get(rest)
    if decl is None and home.is_lost(rest):
        raise Broken
    if decl is None:
        elsewhere = ELSEWHERE.get(name) or ARRAYS.get(rest)
        known = elsewhere or nearest(name, (*SIMPLE_NAMES, *HOLDERS, *home.types, *DTYPES))
        integer = "Size" if elsewhere in DTYPES and DTYPES[elsewhere].kind == "int" else None
        fail(
            codes.E216,
            f"there is no type `{name}`",
            type_.span,
            meant=(integer, known and known + type_.span.text[len(name) :]),
        )
    key = home.qualified(rest)
    if key in seen:
        unit.symbols.once(frozenset(seen[seen.index(key) :]))
        again = Label(type_.span, "it stands here again")
        fail(codes.E217, f"the type `{rest}` is defined by itself", decl.name.span, labels=(again,))
    applied.checked(decl, type_)
    found = _expanded(home, decl.type, (*seen, key), depth)
    own = frozenset(p.name for p in decl.params)
    found = found if home is unit else _abroad(home, found, own)
    if not decl.params:
        return found
    given = dict(zip((p.name for p in decl.params), type_.args, strict=True))
    _charge(unit, found, given, type_)
    return applied.put_in(found, given, applied.sorts(decl, found))


def _home(unit: Unit, type_: sweet.NamedType, head: str) -> Unit:
    """Return the file that a name before a dot stands for."""
    home = unit.symbols.by_alias.get(unit.links.get(head, "?")) if head else unit
    if home is None and (head in unit.links or unit.is_lost(head)):
        raise Broken
    if home is None:
        meant = ARRAYS.get(type_.name.rpartition(".")[2])
        fail(codes.E216, f"there is no import called `{head}`", type_.span, meant=(meant,))
    return home


def opaque(at: Node, holder: str, of: tuple[sweet.Expr, ...]) -> DType:
    """Return the dtype of a container of tensors, from its text: `Sequence(float32)`, `Map(string, int64)`."""
    found = dtype_named(f"{holder}({', '.join(map(print_expr, of))})")
    if found is None:
        wanted = "Map(string, float32)" if holder == "Map" else f"{holder}(float32)"
        span = at.span  # type: ignore[attr-defined]
        fail(codes.E216, f"`{span.text}` is no type: a {holder} holds dtypes", span, help=f"write `{wanted}`")
    return found


def _charge(unit: Unit, found: sweet.Type, given: dict[str, sweet.Expr], at: sweet.NamedType) -> None:
    """Charge for the arguments, which may be repeated in the expanded type; types that pass them on may double them."""
    lengths = {name: sum(1 for _ in walk(arg)) for name, arg in given.items()}
    for node in walk(found):
        unit.symbols.parts -= lengths.get(node.name, 0) if isinstance(node, sweet.Name) else 0
        if unit.symbols.parts < 0:
            fail(codes.E299, "a type of so many parts, written out, is not supported", at.span)


def _abroad(home: Unit, type_: sweet.Type, own: frozenset[str]) -> sweet.Type:
    """Qualify the consts in an alias of another file by that file, except the parameters of the type."""
    return _renamed(
        type_, lambda name: f"::{home.qualified(name)}" if name in home.consts and name not in own else name
    )


class Scoped(Protocol):
    """A translator of a function, which has a scope."""

    scope: Scope


def in_core(code: Scoped, type_: sweet.Type) -> sweet.Type:
    """Return an annotation for the core's text, with the core's names of other files' consts."""

    def core_name(name: str) -> str:
        entry = code.scope.find(name)
        variable = entry.expr if entry is not None else None
        return variable.name if isinstance(variable, core.SizeVar | core.ShapeVar | core.DTypeVar) else name

    return _renamed(type_, core_name)


# A name in a type is a size, a shape or a dtype, except as a callee or the object of an attribute.
_NO_SIZES = frozenset({"span", "callee"})


def _renamed(type_: sweet.Type, rename: Callable[[str], str]) -> sweet.Type:
    """Return a type with the names in its shapes and dtypes changed."""

    def change(node: Node) -> Node:
        if isinstance(node, sweet.Splice):
            return replace(node, name=replace(node.name, name=rename(node.name.name)))
        return replace(node, name=rename(node.name)) if isinstance(node, sweet.Name) else node

    return rewrite(type_, change, _NO_SIZES, lambda node: isinstance(node, sweet.Attr | sweet.FnName))


def sort_of(type_: sweet.Type | None) -> core.Sort:
    """Return the sort of an expanded type; a missing one is Tensor."""
    match type_:
        case None | sweet.TensorType():
            return core.TENSOR
        case sweet.NamedType():
            return _SORTS.get(type_.name, core.TENSOR)
        case sweet.TupleType():
            return core.TupleSort(tuple(sort_of(t) for t in type_.items))
        case sweet.FnType():
            return fn_sort(print_type(type_), tuple(sort_of(t) for t in type_.params), sort_of(type_.result), type_)


def fn_sort(text: str, params: tuple[core.Sort, ...], result: core.Sort | None, at: Node) -> core.FnSort:
    """Return the sort of a function known only by the sorts of its parameters and its result."""
    span = at.span  # type: ignore[attr-defined]
    named = tuple(core.Param(f"x{i}", s) for i, s in enumerate(params))
    body = core.Block(span, (), core.TupleValue(span, ()))
    return core.FnSort(text, core.Function(span, "inline", "fn", named, result, (), body))


def written(sort: core.Sort, at: Node) -> sweet.Type:
    """Return a sort as a type without sizes."""
    span = at.span  # type: ignore[attr-defined]
    match sort:
        case core.FnSort(signature=signature):
            params = tuple(written(p.sort, at) for p in signature.params)
            return sweet.FnType(span, params, written(signature.result or core.TENSOR, at))
        case core.TupleSort():
            return sweet.TupleType(span, tuple(written(s, at) for s in sort.items))
        case core.BaseSort():
            return sweet.TensorType(span, None, None) if sort == core.TENSOR else sweet.NamedType(span, sort.name)


def of_results(row: Primitive) -> core.Sort:
    """Return the sort of a primitive's result; its column of dtypes may give the number of tensors, else the checker finds
    it."""
    if row.results == "tuple":
        words = parse_dtypes(row.dtypes).results
        return SOME_TUPLE if words[0].many else core.TupleSort((core.TENSOR,) * len(words))
    return core.SIZE if row.results == "size" else core.TENSOR


def of_arms(value: core.Value, sort: core.Sort) -> core.Sort | None:
    """Return the sort of a tuple that an `if` gives if there are sizes in it: its arms alone do not distinguish them from
    numbers."""
    is_told = isinstance(value, core.If) and any(s in SHAPE_SORTS for s in walk(sort))
    return sort if is_told else None


def says_nothing(type_: sweet.Type | None) -> bool:
    """Whether a result type promises nothing but tensors."""
    match type_:
        case None:
            return True
        case sweet.TensorType():
            return _is_open(type_.shape) and _is_open(type_.dtype)
        case sweet.TupleType():
            return bool(type_.items) and all(says_nothing(t) for t in type_.items)
        case sweet.NamedType() | sweet.FnType():
            return False


def is_bare(type_: sweet.Type | None) -> bool:
    """Whether a type may stand in the core: no invariants but those of a function parameter."""
    match type_:
        case None | sweet.FnType():
            return True
        case sweet.TensorType():
            return type_.shape is None and type_.dtype is None
        case sweet.NamedType():
            return type_.name in _SORTS
        case sweet.TupleType():
            return all(is_bare(t) for t in type_.items)


def _is_open(part: sweet.Expr | None) -> bool:
    return part is None or isinstance(part, sweet.Unknown)


def describe(sort: core.Sort | None) -> str:
    """Return a sort in words: "a tensor", "a Size", "a tuple of 2", "a function"."""
    match sort:
        case core.TupleSort(items) if items == (core.BaseSort("?"),):
            return "a tuple"
        case core.TupleSort(items):
            return f"a tuple of {len(items)}" if items else "an empty tuple"
        case core.FnSort():
            return "a function"
        case core.BaseSort(name="Tensor"):
            return "a tensor"
        case core.BaseSort():
            return f"a {sort.name}"
        case None:
            return "unknown"
