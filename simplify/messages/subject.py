"""The subject of a diagnostic as data: the call, its operands' shapes, and conditions under which it would hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...lang import core
from ...lang.diagnostics import Diagnostic, Operand, Subject
from ...lang.dtypes import DTYPES
from ...lang.node import Node, replace
from ...lang.source import NOWHERE, Span
from ...ops.model import TensorInfo
from ...ops.requirements import Multiple, Number, Requirement, places
from ..known.outcome import Outcome
from ..known.shape_level import Poisoned, ShapeLevel
from ..known.state import State
from ..known.texts import size_text
from ..known.values import Entry, Env, ListValue, Shape, ShapeValue, SizeValue, TupleValue, Value, plain
from ..solver.conditions import AllOf, AnyOf, Eq0, Ge0, Ne0, render_cond
from ..solver.rendering import render
from ..solver.terms import Floor, Mono, Size, Term
from .describe import dtype_text
from .wording import bound, remainder

_MOST = 6
# The most items of a list that are described.
_MOST_ITEMS = 256
# The start of a broadcast formula; no user would write one.
_BROADCAST = "broadcast("
_LONGEST = 60


def of_call(
    state: State, span: Span, name: str, entries: Iterable[tuple[str, Entry]], asked: Requirement | None = None
) -> Subject:
    """Return a call as a subject, with the requirement of the primitive."""
    given = tuple(entries)
    operands = tuple(o for param, entry in given for o in _operands(state, param, entry.value))
    wanted = _nearest_multiples(state, asked) if isinstance(asked, Multiple) else ()
    at = places(asked) if asked is not None else ()
    return Subject(span, name, operands, at, wanted=wanted, asked=asked)


def _nearest_multiples(state: State, asked: Multiple) -> tuple[int, ...]:
    """The nearest sizes to one that must be a multiple of a number."""
    size = state.settled(asked.left.size)
    return _around(size, asked.of.size) if isinstance(size, int) and isinstance(asked.of, Number) else ()


def _around(size: int, step: int, rest: int = 0) -> tuple[int, ...]:
    """The multiples of a step, plus `rest`, on both sides of a size, the nearest first."""
    below = size - (size - rest) % step
    return tuple(n for n in sorted((below, below + step), key=lambda n: abs(n - size)) if n > 0)


class Held(Node):
    """A function's condition on its arguments, with their values."""

    cond: core.BoolExpr
    given: tuple[tuple[str, Value], ...]

    def holds(self, name: str, size: int) -> bool:
        """Whether the condition certainly holds if one of its sizes is another number."""
        env = {n: Entry(value, NOWHERE) for n, value in (*self.given, (name, SizeValue(size)))}
        try:
            return ShapeLevel(State(), env).truth(self.cond) is True
        except Poisoned:
            return False


def _held(state: State, cond: core.BoolExpr, env: Env) -> Held:
    """Collect the settled sizes and shapes of tensors."""
    given: list[tuple[str, Value]] = []
    for name, entry in env.items():
        match entry.value:
            case SizeValue(size=size):
                given.append((name, SizeValue(state.settled(size))))
            case TensorInfo() as info if plain(shape := state.resolve(info.shape)):
                given.append((name, TensorInfo(tuple(state.settled(d) for d in shape), info.dtype)))
    return Held(cond, tuple(given))


def of_check(state: State, stmt: core.Assert | core.MatchShape, env: Env, subject: Subject | None = None) -> Subject:
    """Return a claim or an assertion as a subject, or (with a `subject`) a callee's entry check."""
    origin, declared = stmt.origin, stmt.origin.declared
    subject = subject or Subject(origin.span, "", ())
    if declared is None:
        return replace(subject, what=origin.what)
    if not subject.callee and declared.tensor in env:
        entry = env[declared.tensor]
        subject = replace(
            subject, span=entry.span, operands=tuple(_operands(state, str(declared.subject), entry.value))
        )
    at, wanted = (
        ((str(declared.subject), origin.axis),),
        _wanted(state, stmt, env) if isinstance(stmt, core.Assert) else (),
    )
    if subject.callee and origin.what == "where" and isinstance(stmt, core.Assert):
        subject = replace(subject, asked=_held(state, stmt.cond, env))
    return replace(subject, at=at, declared=origin.asked, what=origin.what, wanted=wanted)


def _wanted(state: State, stmt: core.Assert, env: Env) -> tuple[int | str, ...]:
    """The sizes nearest to the actual one for which an assertion about one dimension holds."""
    level = ShapeLevel(state, env)
    try:
        match stmt.cond:
            case core.Compare(op="==", left=core.SizeOp(op="%", right=factor)):
                step, rest = state.settled(level.size(factor)), remainder(state, stmt, env)
                found = _dimension(state, stmt, env)
                if isinstance(found, int) and isinstance(step, int) and isinstance(rest, int) and step > 0:
                    return _around(found, step, rest)
            case core.Compare(op="==", left=core.DTypeOf(), right=right) if isinstance(right, core.DTypeExpr):
                dtype = dtype_text(level.dtype(right), state)
                return (dtype,) if dtype in DTYPES else ()
            case core.Compare(op=">=", left=core.SizeOp()) if (least := bound(state, stmt, env)) is not None:
                return (least,)
            case core.Compare(op="==", left=core.DimOf(), right=right) if isinstance(right, core.SizeExpr):
                return (_number_or_text(state, level.size(right)),)
            case core.Compare(op="==", left=core.ShapeOf(), right=core.ShapeOf() as right) if plain(level.shape(right)):
                return tuple(_number_or_text(state, size) for size in level.shape(right))
    except Poisoned:
        pass
    return ()


def _number_or_text(state: State, size: Size) -> int | str:
    size = state.settled(size)
    return size if isinstance(size, int) else render(size)


def _dimension(state: State, stmt: core.Assert, env: Env) -> Size | None:
    """The dimension that an assertion is about."""
    declared, axis = stmt.origin.declared, stmt.origin.axis
    entry = env.get(declared.tensor) if declared is not None else None
    shape = state.resolve(entry.value.shape) if entry is not None and isinstance(entry.value, TensorInfo) else ()
    if axis is None or not plain(shape) or not -len(shape) <= axis < len(shape):
        return None
    return state.settled(shape[axis])


def with_conditions(diagnostic: Diagnostic, outcome: Outcome) -> Diagnostic:
    """Add to the diagnostic the alternatives that would make the undecided condition true, first the one in the message."""
    subject, cond, only = diagnostic.subject or Subject(diagnostic.span, "", ()), outcome.cond, outcome.only
    said = only.cases if only is not None else ()
    shortest = sorted(((text,) for text in said), key=lambda texts: "==" in texts[0])
    alternatives = map(_said, cond.parts if isinstance(cond, AnyOf) else (cond,))
    found = tuple(dict.fromkeys(filter(None, (*shortest, *alternatives))))
    return replace(diagnostic, subject=replace(subject, conditions=found[:_MOST])) if found else diagnostic


def _said(cond: object) -> tuple[str, ...]:
    texts = (text for text in _conditions(cond) if len(text) <= _LONGEST and _BROADCAST not in text)
    return tuple(dict.fromkeys(texts))


def _operands(state: State, name: str, value: Value) -> Iterator[Operand]:
    match value:
        case TensorInfo():
            yield Operand(name, _shape(state, value.shape), dtype_text(value.dtype, state))
        case ShapeValue():
            yield Operand(name, _shape(state, value.dims), "")
        case ListValue() | TupleValue():
            for position, item in enumerate(value.items[:_MOST_ITEMS]):
                yield from _operands(state, f"{name}[{position}]", item)


def _shape(state: State, dims: Shape) -> tuple[int | str, ...] | None:
    dims = state.resolve(dims)
    if not plain(dims):
        return None
    settled = [state.settled(d) for d in dims]
    return tuple(d if isinstance(d, int) else size_text(d, state) for d in settled)


def _conditions(cond: object) -> Iterator[str]:
    """Texts of conditions, each of which is (or may be) sufficient, the most natural first."""
    match cond:
        case AnyOf():
            for part in cond.parts:
                yield from _conditions(part)
        case AllOf():
            texts = [next(iter(_conditions(part)), "") for part in cond.parts]
            if all(texts):
                yield " && ".join(dict.fromkeys(texts))
        case Eq0():
            yield from _divisibilities(cond.term)
            yield from _factors(cond.term)
            yield render_cond(cond)
        case bool() | None:
            return
        case Ne0() | Ge0():
            yield render_cond(cond)


def _divisibilities(term: Term) -> Iterator[str]:
    """`d % 8 == 0` for each quotient `d // 8` in the term: then the floor division is exact."""
    for atom in sorted({a for mono in term.mons for a in mono if type(a) is Floor}, key=lambda a: a.key):
        yield f"{_bracketed(atom.num)} % {_bracketed(atom.den)} == 0"


def _factors(term: Term) -> Iterator[str]:
    """`n == m` for `b * n == b * m`: common factors of all products are removed."""
    monos = [m for m in term.mons if m]
    if len(monos) != len(term.mons) or not monos:
        return
    common = set(monos[0]).intersection(*monos[1:])
    if common and any(len(m) > 1 for m in monos):
        left: dict[Mono, int] = {tuple(a for a in m if a not in common): k for m, k in term.mons.items()}
        if len(left) == len(term.mons):
            yield render_cond(Eq0(Term(left)))


def _bracketed(size: Size) -> str:
    text = render(size)
    return text if " " not in text else f"({text})"
