"""An assertion of an annotation to words: its condition and the actual value, in the user's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import gcd

from ...lang import core
from ...lang.diagnostics import listed
from ...lang.expressions import names_in
from ...lang.walk import walk
from ...ops import assertions
from ...ops.model import TensorInfo
from ..known.shape_level import Poisoned, ShapeLevel
from ..known.state import State
from ..known.texts import is_whole, readable, size_text
from ..known.values import DTypeValue, Entry, Env, SizeValue, Undecided, plain
from ..solver.rendering import UNKNOWN
from ..solver.terms import Bounds, Size, Term, mod
from .describe import annotation_text, dtype_text, named, shape_text, told, type_text

Ranges = Mapping[str, Bounds]


def size_label(state: State, entry: Entry, axis: int) -> str:
    shape = state.resolve(entry.value.shape) if isinstance(entry.value, TensorInfo) else ()
    if not plain(shape) or not -len(shape) <= axis < len(shape):
        return ""
    return comes_from_here(told(shape[axis], state))


def comes_from_here(size: str) -> str:
    """`15 comes from here`; `a size of at most 5 comes from here`."""
    return f"{'a size of ' * size.startswith('at most ')}{size} comes from here"


class Known:
    """The values of a condition's names, in the form that ops/assertions.py reads."""

    def __init__(self, state: State, env: Env) -> None:
        self.state, self.env = state, env
        self.told: list[str] = []  # the requested sizes, dtypes and types, in the caller's names

    def _tell(self, text: str) -> str:
        self.told.append(text)
        return text

    def size(self, expr: core.SizeExpr) -> Size | None:
        try:
            return self.state.settled(ShapeLevel(self.state, self.env).size(expr))
        except Poisoned:
            return None

    def text(self, size: Size) -> str:
        return self._tell(size_text(size, self.state))

    def side(self, expr: core.ShapeLevel) -> str:
        return self._tell(_side(self.state, expr, self.env))

    def type(self, tensor: str) -> str:
        return self._tell(type_text(self.env[tensor].value, self.state)) if tensor in self.env else ""

    def dim(self, tensor: str, axis: int | None) -> str:
        value = self.env[tensor].value if tensor in self.env else None
        if not isinstance(value, TensorInfo) or axis is None:
            return "something else"
        shape = self.state.resolve(value.shape)
        counted = shape[: axis + 1] if axis >= 0 else shape[axis:]
        is_there = len(counted) == (axis + 1 if axis >= 0 else -axis) and plain(counted)
        text = told(shape[axis], self.state) if is_there else UNKNOWN
        return self._tell(text) if is_whole(text) else "not known"


def wording(
    state: State, stmt: assertions.Check, env: Env, subject: str, ranges: Ranges, owner: str = ""
) -> tuple[str, str]:
    """Return the demand of an annotation's assertion and the actual value: ("axis 1 of `x` to be 4", "it is 15"). For a
    callee's demand, the `owner` of its names is named if the caller's sizes use the same name: "to be 1 (@g's `n`)" and "it
    is n"."""
    known, text = Known(state, env), stmt.origin.text
    tensor = stmt.origin.declared.tensor if stmt.origin.declared is not None else ""
    said = assertions.wording(stmt, tensor, known, subject)
    if said is None and not isinstance(stmt, core.MatchShape):
        said = f"`{text or 'the condition'}` to hold", values_text(state, stmt, env, ranges)
        known.told += (
            part for name, size in _sizes_in(state, stmt.cond, env) for part in (name, size_text(size, state))
        )
    needs, found = said or ("", "")
    if owner and not set(names_in(text)).isdisjoint(names_in(*known.told)):
        needs = needs.replace(f"`{text}`", f"{owner}'s `{text}`")
    return needs, found


def remainder(state: State, stmt: core.Assert, env: Env) -> Size | None:
    declared = stmt.origin.declared
    return None if declared is None else assertions.remainder(stmt, declared.tensor, Known(state, env))


def bound(state: State, stmt: core.Assert, env: Env) -> int | None:
    """The least size of a dimension, or the greatest if it is subtracted: 3 if `n + 3` is asked for."""
    cond = stmt.cond
    found = _shift(state, stmt, cond.left, env) if isinstance(cond, core.Compare) else None
    least = None if found is None else state.settled(-found[0] * found[1])
    return least if isinstance(least, int) else None


def _shift(state: State, stmt: core.Assert, expr: core.ShapeLevel, env: Env) -> tuple[int, Size] | None:
    declared = stmt.origin.declared
    return None if declared is None else assertions.shift(stmt, expr, declared.tensor, Known(state, env))


def _side(state: State, expr: core.ShapeLevel, env: Env) -> str:
    """One side of a comparison as text: its value in the user's names."""
    level = ShapeLevel(state, env)
    try:
        if isinstance(expr, core.SizeExpr):
            return size_text(level.size(expr), state)
        if isinstance(expr, core.DTypeExpr):
            return dtype_text(level.dtype(expr), state)
        if isinstance(expr, core.ShapeExpr):
            return shape_text(level.shape(expr), state)
    except Poisoned:
        pass
    return UNKNOWN


_ANY = (None, None)


def ranges_of(state: State, stmt: assertions.Check, env: Env) -> Ranges:
    """The ranges of the sizes in a condition."""
    return {} if isinstance(stmt, core.MatchShape) else {
        name: state.facts.bounds(size) for name, size in _sizes_in(state, stmt.cond, env)
    }  # fmt: skip


def values_text(state: State, stmt: assertions.Check, env: Env, ranges: Ranges) -> str:
    """The sizes in a condition with their known values or ranges: `n is 8`; empty if the condition cannot be expressed."""
    if isinstance(stmt, core.MatchShape):
        return ""
    try:
        truth = ShapeLevel(state, env).truth(stmt.cond)
    except Poisoned:
        return ""
    if isinstance(truth, Undecided):
        return ""
    sizes = _sizes_in(state, stmt.cond, env)
    if isinstance(truth, bool):
        return listed([f"{n} is {size_text(e, state)}" for n, e in sizes if n != size_text(e, state)])
    return listed([known for n, e in sizes if (known := _known_range(state, n, e, *ranges.get(n, _ANY)))])


def _known_range(state: State, name: str, size: Size, low: int | None, high: int | None) -> str:
    """The known range of a size: `n is at least 6`."""
    text = size_text(size, state)
    shown = name if name == text else f"{name} = {text}"
    if low is not None and low == high:
        return f"{name} is {low}"
    if high is not None:
        return f"{shown} is at most {high}"
    return f"{shown} is at least {low}" if low else ""


def _sizes_in(state: State, cond: core.BoolExpr, env: Env) -> list[tuple[str, Size]]:
    """The sizes in a condition, by their text there."""
    found: dict[str, Size] = {}
    for node in compared(cond, core.Logic, core.Not):
        text = node.span.text or (node.name if isinstance(node, core.SizeVar) else "")
        with suppress(Poisoned):
            if text:
                found.setdefault(text, ShapeLevel(state, env).size(node))
    return list(found.items())


def compared(cond: object, *within: type) -> Iterator[core.SizeVar | core.DimOf | core.RankOf]:
    """The sizes that a condition compares, from left to right; combined conditions are entered only through the forms
    `within`."""
    through = (core.SizeVar, core.DimOf, core.RankOf, core.Compare, core.SizeOp, *within)
    for node in walk(cond, without=lambda node: not isinstance(node, through)):
        if isinstance(node, core.SizeVar | core.DimOf | core.RankOf):
            yield node


def why(state: State, stmt: core.Assert | core.MatchShape, env: Env) -> str:
    """The equation that fails, at the annotation: `m * 4 = 15 has no integer solution (15 mod 4 = 3)`."""
    if isinstance(stmt, core.Assert) and isinstance(stmt.cond, core.Compare) and stmt.origin.what in ("rank", "dtype"):
        wanted = named(stmt.origin.what, _side(state, stmt.cond.right, env)).removeprefix("the ")
        return f"{wanted} is wanted here"
    if not isinstance(stmt, core.Assert) or stmt.origin.what != "dim" or not isinstance(stmt.cond, core.Compare):
        return "this is wanted here"
    left, text = stmt.cond.left, stmt.origin.text
    if isinstance(left, core.SizeOp) and left.op == "%":
        return _division(state, stmt, left, env)
    if stmt.cond.op != "==":
        return f"{text} is wanted here"
    wanted = _side(state, stmt.cond.right, env)
    return (
        f"{text} is {wanted} here"
        if text and text != wanted and readable(wanted)
        else f"{text or wanted} is wanted here"
    )


def _division(state: State, stmt: core.Assert, left: core.SizeOp, env: Env) -> str:
    """The equation of a dimension that must be divisible, without its added terms."""
    level, text, wanted = ShapeLevel(state, env), stmt.origin.text, remainder(state, stmt, env)
    found, size = _shift(state, stmt, left.left, env), level.size(left.left)
    if found is None or wanted is None:
        return f"{text} is wanted here"
    size, factor = state.settled(found[0] * (size - found[1])), state.settled(level.size(left.right))
    shown = f"{text} = {size_text(size, state)}"
    reason = _never(size, factor, wanted, state)
    return f"{shown} has no integer solution ({reason})" if reason else shown


def _never(size: Size, factor: Size, wanted: Size, state: State) -> str:
    """The reason why no such size has the remainder `wanted`; empty if some may have it."""
    if not isinstance(factor, int) or not isinstance(wanted, int) or factor < 1:
        return ""
    rest = mod(size, factor)
    if isinstance(rest, int):
        found = f"{size_text(size, state)} mod {factor} = {rest}"
        return "" if rest == wanted else found + f", not {wanted}" if wanted else found
    step = gcd(factor, *(k for mono, k in size.mons.items() if mono)) if isinstance(size, Term) else 1
    rest = size.mons.get((), 0) % step if isinstance(size, Term) else 0
    return f"mod {step} they are {wanted % step} and {rest}" if wanted % step != rest else ""


def filled_type(state: State, declared: core.Declared, env: Env) -> str:
    """The annotation with known values filled in: `Tensor([3, n], int8)`."""
    if declared.annotation is None or declared.annotation.kind != "tensor":
        return declared.annotation.span.text if declared.annotation is not None else "Tensor"
    sizes, dtypes = known_names(state, declared, env)
    return annotation_text(declared.annotation, sizes, dtypes, state)


def known_names(state: State, declared: core.Declared, env: Env) -> tuple[dict[str, Size], dict[str, str]]:
    """The values of an annotation's names: sizes, and dtypes as text."""
    sizes: dict[str, Size] = {}
    dtypes: dict[str, str] = {}
    level = ShapeLevel(state, env)
    for name, expr in declared.bound:
        try:
            if isinstance(expr, core.SizeExpr):
                sizes[name] = level.size(expr)
            elif isinstance(expr, core.DTypeExpr):
                dtypes[name] = dtype_text(level.dtype(expr), state)
        except Poisoned:
            continue
    for name in env if declared.annotation is None else (n for n in declared.annotation.names if n in env):
        value = env[name].value
        if isinstance(value, SizeValue):
            sizes.setdefault(name, value.size)
        elif isinstance(value, DTypeValue):
            dtypes.setdefault(name, dtype_text(value.dtype, state))
    return sizes, dtypes
