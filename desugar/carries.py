"""The carries of a loop: the value before the first turn, with its sort; tuples unpacked to their tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import NoReturn

from ..lang import codes, core, sweet
from ..lang.core_printer import print_sort
from ..lang.node import Node
from ..lang.walk import walk
from . import arguments, levels
from .code import FunctionCode, part_name, spelled
from .errors import fail
from .literals import settled
from .parts import leaf_sorts
from .scope import SHAPE_SORTS, SOME_TUPLE
from .sorts import describe, of_arms, sort_of


class WrittenCarry(Node):
    """A carry as the user wrote it: its expanded type, its sort, and its value before the first turn."""

    name: sweet.Ident
    type: sweet.Type | None
    sort: core.Sort
    init: core.Value


class CarryPiece(Node):
    """A part of a carry that is no tuple. `place` is its name in a diagnostic; `first` is the name of its first value if the
    part has no annotation, so keeps the shape and dtype of that."""

    name: sweet.Ident
    place: str
    type: sweet.Type | None
    sort: core.Sort
    init: core.Value
    first: str | None


def first_value(code: FunctionCode, carry: sweet.Carry, type_: sweet.Type | None) -> WrittenCarry:
    """Return a carry with its initial value, in which no carry is in scope."""
    if type_ is None:
        return _unannotated(code, carry)
    sort = sort_of(type_)
    if any(isinstance(s, core.FnSort) for s in walk(sort)):
        _no_function(carry)
    value = settled(arguments.direct(code, carry.init, sort), type_)
    return WrittenCarry(carry.name, type_, sort, value)


def _unannotated(code: FunctionCode, carry: sweet.Carry) -> WrittenCarry:
    found = levels.level(code, carry.init)
    if found in ("Number", "Truth", "Size", "Shape", "DType", "Bool") or levels.is_literal(code, carry.init):
        arguments.check_names(code, carry.init)
        _needs_type(carry, core.TENSOR if levels.is_literal(code, carry.init) else core.BaseSort(found))
    value, sort = code.hooks.value(code, carry.init)
    parts = list(leaf_sorts(sort))
    if any(isinstance(part, core.FnSort) for part in parts):
        _no_function(carry)
    if core.BaseSort("?") in parts or any(part in SHAPE_SORTS for part in parts):
        _needs_type(carry, sort)
    return WrittenCarry(carry.name, None, sort, settled(value, None))


def pieces_of(
    code: FunctionCode,
    taken: Set[str],
    name: sweet.Ident,
    place: str,
    type_: sweet.Type | None,
    sort: core.Sort,
    init: core.Value,
) -> Iterator[CarryPiece]:
    """Yield the parts of a carry, with tuples unpacked."""
    if isinstance(sort, core.TupleSort):
        types = type_.items if isinstance(type_, sweet.TupleType) else (None,) * len(sort.items)
        inits = apart(code, init, sort.items, [part_name(name.name, i) for i in range(len(types))])
        for i, (t, s, value) in enumerate(zip(types, sort.items, inits, strict=True)):
            part = sweet.Ident(name.span, code.fresh(part_name(name.name, i)))
            yield from pieces_of(code, taken, part, f"{place}[{i}]", t, s, value)
        return
    first = None
    if type_ is None:
        init = _named(code, taken, init, name)
        first = init.name
    yield CarryPiece(name, place, type_, sort, init, first)


def _named(code: FunctionCode, taken: Set[str], init: core.Value, name: sweet.Ident) -> core.Var:
    """Return a first value under a name that is not that of a carry."""
    if isinstance(init, core.Var) and init.name not in taken:
        return init
    named = code.name(init, core.TENSOR, name.name)
    assert isinstance(named, core.Var)
    return named


def apart(
    code: FunctionCode, value: core.Value, sorts: tuple[core.Sort, ...], bases: Sequence[str]
) -> list[core.Value]:
    """Return the parts of a tuple, with names unless the tuple is written out."""
    if isinstance(value, core.TupleValue):
        return list(value.items)
    names = tuple(code.fresh(base) for base in bases)
    code.emit(core.Let(value.span, names, True, of_arms(value, core.TupleSort(tuple(sorts))), value))
    return [core.variable(value.span, n, s) for n, s in zip(names, sorts, strict=True)]


def leaves_of(
    code: FunctionCode, value: core.Value, sort: core.Sort, base: str
) -> Iterator[tuple[core.Value, core.Sort, str]]:
    """Yield the leaves of a value, with tuples unpacked."""
    if not isinstance(sort, core.TupleSort):
        yield value, sort, base
        return
    bases = [part_name(base, i) for i in range(len(sort.items))]
    for part, s, b in zip(apart(code, value, sort.items, bases), sort.items, bases, strict=True):
        yield from leaves_of(code, part, s, b)


def _needs_type(carry: sweet.Carry, sort: core.Sort) -> NoReturn:
    name, shown = carry.name.name, spelled(carry.init.span)
    what, types = describe(sort), [print_sort(sort)]
    if sort == core.TENSOR:
        what, types = "a number", _types_of_number(carry.init)
    elif sort == SOME_TUPLE:
        types = ["(Tensor([n], float32), Tensor([n], float32))"]
    ways = " or ".join(f"`{name} : {t} = {shown}`" for t in types)
    fail(
        codes.E227, f"`{name}` begins as {what}, and needs a type to be carried", carry.name.span, help=f"write {ways}"
    )


def _types_of_number(expr: sweet.Expr) -> list[str]:
    nodes = list(walk(expr))
    if any(isinstance(node, sweet.BoolLit) for node in nodes):
        return ["bool", "Bool"]
    return ["float32"] if any(isinstance(node, sweet.FloatLit) for node in nodes) else ["Size", "int64"]


def _no_function(carry: sweet.Carry) -> NoReturn:
    fail(codes.E221, "a loop cannot carry a function", carry.span, help="use the function by its name")
