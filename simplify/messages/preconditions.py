"""Messages about a primitive's conditions on its operands, with the origin of the sizes."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from ...lang import codes, core
from ...lang.codes import Code
from ...lang.core import Status
from ...lang.diagnostics import Diagnostic, Label, Subject, listed
from ...lang.source import Span
from ...lang.walk import walk
from ...ops.model import TensorInfo
from ...ops.requirements import (
    At,
    AxisInRange,
    Broadcast,
    DTypeIn,
    ElementsDivide,
    Equal,
    Multiple,
    Number,
    Requirement,
    SameElements,
    places,
)
from ...ops.spelling import argument, operation
from ...ops.wording import ranked, sentence, size_at
from ..known.finding import About, Asked, Finding
from ..known.outcome import Outcome
from ..known.state import State
from ..known.texts import size_text
from ..known.values import Entry, plain
from ..solver.rendering import UNKNOWN
from ..solver.terms import Size, evaluate, variables
from . import equations
from .aligned import TensorRow, aligned
from .describe import dtype_text, exactness, type_text
from .origins import as_product, is_open, place_of, rank_of
from .spoken import CallInfo, CheckedOperands
from .subject import of_call
from .telling import finish
from .wording import comes_from_here

Totals = tuple[Size, Size]
_RESHAPES = SameElements | ElementsDivide


class Precondition(Asked):
    """A primitive's requirement at a call; `code` overrides its row's. `open_at` are places that left a rank open."""

    call: CallInfo
    asked: Requirement
    code: Code | None = None
    open_at: frozenset[Span] = frozenset()

    @property
    def span(self) -> Span:
        return self.call.span

    @property
    def fails_as(self) -> Code:
        broadcast = codes.E306 if isinstance(self.asked, Broadcast) else codes.E304
        return self.code or self.call.row.mismatch or broadcast

    @property
    def about(self) -> About:
        given = tuple(entry for _, entry in self.call.entries)
        return About(self.span, self.call.name, None, "", self.asked, given, self.open_at)

    def sizes(self) -> Iterable[tuple[Entry | None, int | None]]:
        return ((self.call.find(param), axis) for param, axis in places(self.asked))

    def concerned(self, state: State) -> list[Size]:
        operands = CheckedOperands(state, self.call)
        divided = _divided(operands, self.asked)
        if divided is not None:
            return [divided[0]]
        return [d for p, _ in _blamed(operands, self.asked) for d in operands.shape(p) or ()]

    def subject(self, state: State) -> Subject:
        return of_call(state, self.span, self.call.name, self.call.entries, self.asked)

    def said(self, finding: Finding) -> Diagnostic:
        """`@matmul needs axis 1 of `x` and axis 0 of `y` to be equal, but they are 3 and 4: this always fails`."""
        state, call, asked, code, outcome = finding.state, self.call, self.asked, self.fails_as, finding.outcome
        operands = CheckedOperands(state, call)
        needs, found = sentence(asked, operands)
        reshapes, at = isinstance(asked, _RESHAPES), _blamed(operands, asked)
        totals = _elements(operands) if reshapes else None
        labels = self._labels(operands, at, totals)
        from_the_end = isinstance(asked, Broadcast) or code.of_last_axes
        shapes = _aligned(operands, call, at, from_the_end=from_the_end)
        shown = {label.message for label in labels if label}
        about = [p for p, _ in at] or (["x"] if reshapes else [])
        if isinstance(asked, AxisInRange):
            param = ranked(operands, asked.rank)
            about = [param or "x"]
            labels.append(_rank_from(operands, call, param))
        types = _argument_types(state, call, about)
        caption = "" if shapes or shown.issuperset(types) else ", ".join(types)
        equation = _equation(operands, asked, at, totals, outcome)
        witness = outcome.witness or (outcome.smallest if equation else None)
        example = _example(state, totals or _two_sizes(operands, at), witness)
        remarks = (shapes, equation, *((_rounded(call), _inexact(operands, call)) if reshapes else ()), example)
        help_ = _dtype_help(finding, self) if outcome.status is Status.RESIDUAL else None
        needs = f"{operation(call)} needs {needs}"
        tells_when = outcome.only_empty and equation != ""
        return finish(finding, code, needs, found, caption, tuple(labels), help_, remarks, witness, tells_when)

    def _labels(self, operands: CheckedOperands, at: At, totals: Totals | None) -> list[Label | None]:
        """The origins of the sizes concerned: open ranks first; for a reshape the origin of the whole tensor."""
        state, call, reshapes = operands.state, self.call, isinstance(self.asked, _RESHAPES)
        labels = [_came_from(operands, call, self.asked, param, axis) for param, axis in at]
        if self.code is None:
            entries = [call.find(param) for param, axis in at if axis is None]
            labels[:0] = [_open_rank(state, rank_of(state, e)) for e in entries if e is not None and is_open(state, e)]
        if totals is not None and len(labels) > 1 or reshapes and not labels:
            return [_made_of(operands, call)]
        return labels


def _blamed(operands: CheckedOperands, asked: Requirement) -> At:
    """The places whose sizes the message names."""
    return _changed(operands, places(asked)) if isinstance(asked, _RESHAPES) else places(asked)


def _equation(operands: CheckedOperands, asked: Requirement, at: At, totals: Totals | None, outcome: Outcome) -> str:
    """The equation between sizes that fails, with its reason."""
    refuted, state = outcome.status is Status.REFUTED, operands.state
    if totals is not None and outcome.only_empty:
        return equations.only_empty(state, *totals)
    if not refuted:
        return ""
    divided = _divided(operands, asked)
    if isinstance(asked, ElementsDivide):
        return _remainder(operands)
    if divided is not None:
        return equations.remainder(state, *divided)
    sizes = totals or (_two_sizes(operands, at) if isinstance(asked, Equal) else None)
    return equations.without_solution(state, *sizes) if sizes is not None else ""


def _inexact(operands: CheckedOperands, call: CallInfo) -> str:
    """`shape needs an exact size; axis 1 of `y` is at most 7`: the axes that are not known exactly."""
    state, found = operands.state, []
    for param, entry in call.operands():
        shape = state.resolve(entry.value.shape) if isinstance(entry.value, TensorInfo) else ()
        for axis, size in enumerate(shape if plain(shape) else ()):
            known, bound = exactness(state.settled(size), state)
            if known != "exact":
                said = "not known" if bound is None else f"at most {size_text(bound, state)}"
                found.append(f"axis {axis} of {operands.argument(param)} is {said}")
    return f"`shape` needs an exact size; {listed(found)}" if found and "shape" in call.row.needs else ""


def _rounded(call: CallInfo) -> str:
    """`512 mod 7 = 1`: a division of numbers in the new shape leaves a remainder."""
    written = dict(call.written).get("shape")
    for node in walk(written) if written is not None else ():
        match core.sides(node, "//"):
            case core.SizeLit(value=size), core.SizeLit(value=by) if by and size % by:
                return f"{size} mod {by} = {size % by}"
    return ""


def _divided(operands: CheckedOperands, asked: Requirement) -> tuple[Size, int] | None:
    """The size that must be a multiple of a number, and that number."""
    if not isinstance(asked, Multiple) or not isinstance(asked.of, Number):
        return None
    return operands.state.settled(asked.left.size), asked.of.size


def _two_sizes(operands: CheckedOperands, at: At) -> Totals | None:
    """The two sizes that conflict, if there are exactly two."""
    shapes = [(operands.shape(p) or (), axis) for p, axis in at]
    sizes = [shape[axis] for shape, axis in shapes if axis is not None and -len(shape) <= axis < len(shape)]
    return (sizes[0], sizes[1]) if len(at) == len(sizes) == 2 else None


def _example(state: State, sizes: Totals | None, witness: dict[str, int] | None) -> str:
    """`with B = 1 they are 16 and 15`: the values of both sizes in the smallest case; empty if both are plain names."""
    if sizes is None or not witness:
        return ""
    settled = [state.settled(s) for s in sizes]
    inside = {v for s in settled if not isinstance(s, int) for v in variables(s)}
    if not all(v.name in witness for v in inside) or all(size_text(s, state).isalnum() for s in settled):
        return ""
    point = {v: witness[v.name] for v in inside}
    assigned = ", ".join(f"{name} = {value}" for name, value in witness.items())
    values = [str(evaluate(s, point)) for s in settled]
    return f"with {assigned} they are {listed(values)}" if values[0] != values[1] else ""


def _aligned(operands: CheckedOperands, call: CallInfo, at: At, *, from_the_end: bool) -> str:
    """The shapes of the tensors that do not fit each other, with marks at the axes; empty if one is unknown."""
    bad: dict[str, list[int]] = {}
    for param, axis in at:
        if axis is not None and call.is_tensor(param):
            bad.setdefault(param, []).append(axis)
    rows = []
    for param, axes in bad.items():
        shape = operands.shape(param)
        if not shape or not all(-len(shape) <= a < len(shape) for a in axes):
            return ""
        sizes = tuple(size_text(d, operands.state) for d in shape)
        rows.append(TensorRow(argument(call, param), sizes, tuple(a % len(shape) for a in axes)))
    if len(rows) < 2 or max(len(row.sizes) for row in rows) < 2:
        return ""
    return aligned(rows, from_the_end=from_the_end)


def _changed(operands: CheckedOperands, at: At) -> At:
    """The axes of a reshape's operand that its result lacks; with a -1 in the target only those that are no numbers."""
    target, dims = operands.shape("shape") or (), operands.shape("x") or ()
    there = [(p, a) for p, a in at if a is not None and -len(dims) <= a < len(dims)]
    return tuple((p, a) for p, a in there if (not isinstance(dims[a], int) if -1 in target else dims[a] not in target))


def _elements(operands: CheckedOperands) -> Totals | None:
    """The numbers of elements of a reshape's result and operand."""
    target, dims = operands.shape("shape"), operands.shape("x")
    if target is None or dims is None or any(isinstance(d, int) and d < 0 for d in (*target, *dims)):
        return None
    return prod(target), prod(dims)


def _remainder(operands: CheckedOperands) -> str:
    """`7000 mod 420 = 280`: the elements and the product of the sizes beside a -1, without the names common to both."""
    state = operands.state
    sizes = [state.settled(d) for d in operands.shape("x") or ()]
    beside = []
    for size in (state.settled(d) for d in operands.shape("shape") or () if d != -1):
        if size in sizes and not isinstance(size, int):
            sizes.remove(size)
        else:
            beside.append(size)
    return equations.remainder(state, prod(sizes), prod(beside))


def _dtype_help(finding: Finding, condition: Precondition) -> str | None:
    """The help for a dtype variable of the signature: a `where` clause that restricts it."""
    asked, state = condition.asked, finding.state
    if not isinstance(asked, DTypeIn) or asked.reason or asked.attribute or len(asked.classes) != 1:
        return None
    entry = condition.call.find(asked.left.param)
    name = dtype_text(entry.value.dtype, state) if entry and isinstance(entry.value, TensorInfo) else UNKNOWN
    where = f"`where {name} in {asked.classes[0]}` in the signature of {finding.function} makes it hold"
    return None if name == UNKNOWN else where


def _came_from(
    operands: CheckedOperands, call: CallInfo, asked: Requirement, param: str, axis: int | None
) -> Label | None:
    entry = call.find(param)
    if entry is None:
        return None
    text = size_at(asked, operands, param, axis) if axis is not None else None
    if text is None or axis is None:
        if call.span.start <= entry.span.start <= entry.span.end <= call.span.end:
            return None
        return Label(entry.span, f"{argument(call, param)} is {type_text(entry.value, operands.state)}")
    place = place_of(operands.state, entry, axis)
    return Label(place.span, comes_from_here(as_product(operands.state, place, text)))


def _rank_from(operands: CheckedOperands, call: CallInfo, param: str) -> Label | None:
    """The place of the tensor whose rank is the reason."""
    entry = call.find(param) if param else None
    if entry is None or call.span.start <= entry.span.start <= entry.span.end <= call.span.end:
        return None
    return Label(entry.span, f"rank {operands.rank(param)} comes from here")


def _open_rank(state: State, entry: Entry) -> Label:
    """The reason why a rank is unknown, at its place."""
    if entry.origin is None:
        return Label(entry.span, "its rank is left open here")
    if entry.origin.guards:
        arms = listed([type_text(arm.value, state) for _, arm in entry.origin.entries])
        return Label(entry.span, f"the arms of this `if` give {arms}")
    return Label(entry.span, "only the run decides the rank of this")


def _argument_types(state: State, call: CallInfo, params: list[str]) -> list[str]:
    """`x` is Tensor([3], int8), for each of the parameters that is a tensor."""
    shown = []
    for param in dict.fromkeys(params):
        entry = call.find(param)
        if entry is not None and isinstance(entry.value, TensorInfo):
            shown.append(f"{argument(call, param)} is {type_text(entry.value, state)}")
    return shown


def _made_of(operands: CheckedOperands, call: CallInfo) -> Label | None:
    entry, count = call.find("x"), operands.elements("x")
    return None if entry is None or not count else Label(entry.span, f"this has {count} elements")
