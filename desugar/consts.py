"""Consts: `const width : Size = 64`, `const w : Tensor([width, width], float32) = load("weights.safetensors", "w")`."""

from __future__ import annotations

from copy import copy
from functools import partial

from ..lang import codes, core, sweet
from ..lang.diagnostics import RxError
from ..lang.printer import print_type
from ..lang.walk import depth
from . import arguments, folding, levels, patterns
from .annotations import leaves
from .code import FunctionCode, Hooks
from .declarations import MAX_DEPTH
from .errors import fail
from .lint import unused
from .literals import settled
from .scope import SHAPE_SORTS, ScopeEntry, identifiers
from .sorts import expand, in_core, sort_of
from .symbols import Unit


def consts(unit: Unit, hooks: Hooks) -> list[core.ConstDef]:
    """Return a file's consts, each after those that it uses; every function sees them all."""
    found: list[core.ConstDef] = []
    for item in _by_use(unit):
        try:
            name = unit.symbols.const_names[unit.alias, item.name.name]
            definition, entry = unit.symbols.kept(item, name, partial(_const, unit, item, name, hooks))
            unit.symbols.bind_const(unit, copy(entry))  # an entry records its uses
            found.append(definition)
        except RxError as problem:
            unit.symbols.report(problem)
            unit.symbols.bind_const(unit, ScopeEntry(item.name.name, None, None, item.name.span, "const"))
    return found


def _by_use(unit: Unit) -> list[sweet.Const]:
    """Return the consts in the order of the source, except that one used by another comes before it. In a cycle, the first
    const finds the next one missing."""
    order: list[sweet.Const] = []
    state: dict[str, bool] = {}  # False while its uses are being placed
    for root in filter(lambda name: unit.symbols.wants(unit.consts[name]), unit.consts):
        stack = [root]
        while stack:
            name = stack[-1]
            if name not in state:
                state[name] = False
                used = unit.symbols.spelt(unit.consts[name])[0].identifiers
                stack.extend(n for n in sorted(used, reverse=True) if n in unit.consts and n not in state)
                continue
            stack.pop()
            if not state[name]:
                state[name] = True
                order.append(unit.consts[name])
    return order


def _const(unit: Unit, item: sweet.Const, name: str, hooks: Hooks) -> tuple[core.ConstDef, ScopeEntry]:
    spelt, _ = unit.symbols.spelt(item)
    if spelt.size > MAX_DEPTH and depth(item) > MAX_DEPTH:
        fail(codes.E223, f"`{item.name.name}` is nested too deeply", item.name.span)
    type_ = None if item.type is None else expand(unit, item.type)
    code = FunctionCode(unit, None, spelt.identifiers if type_ is item.type else identifiers(item, type_), hooks)
    code.may_load, code.may_hoist = True, False
    value, sort = _value(code, item, type_)
    number = folding.literal(value) if type_ is None and isinstance(value, core.Number) else None
    value = settled(value, type_)
    literal = item.value if sort == core.SIZE or _is_number(value) else None
    if isinstance(value, core.SizeLit):
        literal = sweet.IntLit(item.value.span, value.value)
    nonneg = isinstance(value, core.SizeLit) and value.value >= 0
    entry = ScopeEntry(
        item.name.name, sort, core.variable(item.name.span, name, sort), item.name.span, "const", nonneg,
        literal if number is None else number, number,
    )  # fmt: skip
    checks = _checks(code, item, type_, name)
    annotation = "" if type_ is None else print_type(in_core(code, type_))
    return core.ConstDef(item.span, name, sort, value, annotation, checks), entry


def _value(code: FunctionCode, item: sweet.Const, type_: sweet.Type | None) -> tuple[core.Value, core.Sort]:
    if type_ is not None:
        if isinstance(type_, sweet.FnType):
            fail(codes.E221, "a function is written `@f = fn(...) { ... }`", item.span)
        sort = sort_of(type_)
        return arguments.of(code, item.value, sort), sort
    found = levels.level(code, item.value)
    if found in SHAPE_WORDS:
        fail(
            codes.E207, f"the sort of `{item.name.name}` has to be said", item.value.span,
            help=f"`const {item.name.name} : {found} = ...`",
        )  # fmt: skip
    return code.hooks.value(code, item.value)


def _is_number(value: core.Value) -> bool:
    """Whether it is a literal number, which may also be used as an attribute."""
    return isinstance(value, core.TensorLit) and not value.shape


SHAPE_WORDS = tuple(s.name for s in SHAPE_SORTS)


def _checks(code: FunctionCode, item: sweet.Const, type_: sweet.Type | None, name: str) -> tuple[core.Stmt, ...]:
    """Return the assertions of the annotation; the names that it binds are local to it."""
    if type_ is None or item.type is None:
        return ()
    found = leaves(code, name, type_, "const", core.Called(item.name.name), item.type.span)
    patterns.solve(code, found, named=True)
    unused(code.symbols, [e for e in code.annotated if not e.used], None)
    return tuple(code.stmts)
