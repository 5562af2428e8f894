"""Parts of tuples: `ws[0]` to the part itself, which a `let` before the statement names; tuples unpacked and put together."""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import codes, core, sweet
from ..lang.node import replace
from ..lang.source import Span
from . import levels
from .code import FunctionCode, Typed, part_name, spelled
from .errors import Broken, fail
from .scope import SOME_TUPLE, ScopeEntry
from .slices import primitive
from .sorts import of_arms


def of_tuple(code: FunctionCode, expr: sweet.Index) -> Typed | None:
    """Return the part of a tuple that an index takes; None if the indexed value is no tuple."""
    if levels.level(code, expr.value) != "Tuple":
        return _of_part(code, expr)
    position = levels.literal_index(code, expr)
    if position is None:
        fail(codes.E220, "a tuple is indexed by one literal integer", expr.span, help="`t[0]` is its first part")
    parts, sort = _apart(code, expr.value)
    if sort == SOME_TUPLE:
        args = core.Arg(expr.value.span, None, parts[0]), core.Arg(expr.span, None, core.SizeLit(expr.span, position))
        return core.Call(expr.span, primitive(code, "part", expr), args), core.TENSOR
    if not -len(parts) <= position < len(parts):
        has = f"it has {len(parts)} parts" if len(parts) > 1 else "it has one part" if parts else "it is empty"
        fail(codes.E206, f"`{spelled(expr.value.span)}` has no part {position}: {has}", expr.span)
    return _at(parts[position], expr), sort.items[position]


def _of_part(code: FunctionCode, expr: sweet.Index) -> Typed | None:
    """Return a part of an expression that turns out to be a tuple, or the indexed part of one that is a tensor."""
    whole = expr.value
    if (
        not _may_be_tuple(code, whole)
        or levels.literal_index(code, expr) is None
        and not isinstance(whole, sweet.Index)
    ):
        return None
    value, sort = code.hooks.value(code, whole)
    if sort == core.TENSOR and not isinstance(value, core.Var):
        value = code.name(value, sort, "t")
    name = code.fresh("t")
    code.scope.bind(ScopeEntry(name, sort, value, whole.span, "let"))
    return code.hooks.value(code, replace(expr, value=sweet.Name(whole.span, name)))


def _may_be_tuple(code: FunctionCode, expr: sweet.Expr) -> bool:
    """Whether an expression must be read to see if it is a tuple: it is a part of one, or the result of a block, a turn or a
    row."""
    match expr:
        case sweet.Index(value=whole):
            return levels.level(code, whole) == "Tuple" or _may_be_tuple(code, whole)
        case sweet.Call():
            return levels.higher_order(code, expr) is not None
    return isinstance(expr, sweet.If)


def _at(part: core.Value, expr: sweet.Index) -> core.Value:
    return replace(part, span=expr.span)


def _apart(code: FunctionCode, expr: sweet.Expr) -> tuple[tuple[core.Value, ...], core.TupleSort]:
    """Return all parts of a tuple under names, which are made once for a name. A tuple of unknown length stays whole."""
    entry = code.scope.find(expr.name) if isinstance(expr, sweet.Name) else None
    if entry is not None and entry.parts is not None and entry.parts[0] in code.scope.chain():
        assert isinstance(entry.sort, core.TupleSort)
        return entry.parts[1], entry.sort
    value, sort = code.hooks.value(code, expr)
    if not isinstance(sort, core.TupleSort):
        raise Broken
    if sort == SOME_TUPLE:
        return (value,), sort
    return value.items if isinstance(value, core.TupleValue) else _named(code, value, sort, entry), sort


def _named(
    code: FunctionCode, value: core.Value, sort: core.TupleSort, entry: ScopeEntry | None
) -> tuple[core.Value, ...]:
    if not code.may_hoist:
        fail(codes.E221, "this needs a name of its own here", value.span, help="bind it before, and use the name")
    base = value.name if isinstance(value, core.Var) else "t"
    names = tuple(code.fresh(part_name(base, i)) for i in range(len(sort.items)))
    code.emit(core.Let(value.span, names, True, of_arms(value, sort), value))
    parts = tuple(core.variable(value.span, n, s) for n, s in zip(names, sort.items, strict=True))
    if entry is not None:
        entry.parts = code.scope, parts
    return parts


def leaf_sorts(sort: core.Sort | None) -> Iterator[core.Sort]:
    """Yield the leaf sorts of a sort."""
    if isinstance(sort, core.TupleSort):
        for item in sort.items:
            yield from leaf_sorts(item)
    elif sort is not None:
        yield sort


def together(span: Span, sort: core.Sort, parts: Iterator[core.Value]) -> core.Value:
    """Return a value of a sort, made of the leaves of its tuples."""
    if not isinstance(sort, core.TupleSort):
        return next(parts)
    return core.TupleValue(span, tuple(together(span, s, parts) for s in sort.items))
