"""The stacked results of a loop: the type of one turn, whether all turns share the open sizes, and the whole after it."""

from __future__ import annotations

from ..lang import core
from ..lang.core import Status
from ..lang.node import Node, replace
from ..lang.source import Span
from ..ops.model import AnyDType, Segment, TensorInfo
from ..ops.requirements import of_some_rank
from .assertions import with_needs
from .frame import Frame, Turns
from .known.shape_level import Poisoned, ShapeLevel, Truth
from .known.values import POISON, UNDECIDED, Entry, Env, Shape, Undecided, Value, is_wrong, least_rank
from .messages.claims import NoArray, SharedBy, ToldBy, Valued
from .solver.conditions import Cond, all_of, any_of, eq, ge, negate
from .solver.sizes import is_older, only_var
from .solver.terms import Size, Var, over, smax, substitute, variables
from .visitor import Visitor, VisitorPart
from .wildcards import Sayable


class Shared(Node):
    """The properties of a stack that all turns share: for each open axis the first axis of the same length, and its size if
    that is the same in all turns; and the value of the turn that was walked."""

    sizes: dict[int, tuple[int, Size | None]] = {}
    last: Entry | None = None


class Stacks(VisitorPart):
    """Stacks the tensors of every turn along a new first axis."""

    def __init__(self, visitor: Visitor) -> None:
        super().__init__(visitor)
        # The dtypes of stacked values, from turns that do not tell the rank.
        self.dtypes: dict[tuple[Span, str], AnyDType] = {}

    def told(self, frame: Frame, stacked: core.Stacked, entry: Entry, scope: Sayable) -> core.Stacked:
        """Return a stack with its type, taken from a turn if only that tells it: over names from outside the loop."""
        span, place = stacked.span, (stacked.span, stacked.name)
        self.dtypes.pop(place, None)
        if stacked.dtype is not None or is_wrong(entry.value):
            return stacked
        value = entry.value if isinstance(entry.value, TensorInfo) and not over() else None
        shape = None if value is None else scope.shape(self.state.resolve(value.shape), span)
        dtype = None if value is None or value.dtype is None else scope.dtype(value.dtype, span)
        if shape is None or dtype is None:
            if value is not None and value.dtype is not None and dtype is not None:
                self.dtypes[place] = self.state.dtype(value.dtype)
            asked = ToldBy(span, stacked.name, "rank" if shape is None else "dtype")
            return replace(stacked, status=self.prover.judge(frame, UNDECIDED, asked, claim=True, empty_rule=False)[0])
        found = replace(stacked, shape=shape, dtype=dtype)
        if not frame.trial:
            self.program.solutions.stacks[place] = found
        return found

    def same(
        self,
        frame: Frame,
        loop: core.Loop,
        stacked: core.Stacked,
        shape: Shape,
        last: Entry,
        turns: Turns,
        following: dict[Var, Size],
        older: int,
    ) -> core.Stacked:
        """Claim that the turns share the sizes that are left open: those of a turn are those of the next, if there is one. If
        they never are, that is an error for two turns."""
        if stacked.dtype is None:
            return stacked
        if None not in stacked.shape:
            return replace(stacked, status=Status.PROVED)
        cond, differ = self._of_two_turns(stacked, shape, following, older)
        counted = loop.range is not None and loop.cond is None
        ends, one = ge(turns.index + turns.step, turns.stop), ge(turns.start + turns.step, turns.stop)
        two = counted and self.prover.decide(one) is False
        self.state.push()
        if loop.range is not None:
            self.state.assume(negate(ends))
        holds = self.prover.decide(cond)
        if holds is not False or not two:  # there may be no next turn
            self.state.pop()
            self.state.push()
            cond = _unless(cond, holds, ends, one) if counted or holds else UNDECIDED
        asked = SharedBy(stacked.span, stacked.name, differ, last)
        status, _ = self.prover.judge(frame, cond, asked, claim=True, empty_rule=False)
        self.state.pop()
        self.state.unsure = self.state.unsure or status is Status.RESIDUAL
        return replace(stacked, status=status)

    def _of_two_turns(
        self, stacked: core.Stacked, shape: Shape, following: dict[Var, Size], older: int
    ) -> tuple[Truth, tuple[int, Size, Size] | None]:
        """The condition that two successive turns give the same sizes; and an axis along which they may not."""
        if not _aligned(stacked, shape):
            return UNDECIDED, None
        conds: list[Cond] = []
        differ, known = None, True
        for axis, (size, declared) in enumerate(zip(shape, stacked.shape, strict=True)):
            if declared is not None or is_older(size, older):
                continue
            size = self.state.settled(size)
            if not all(v.serial <= older or v in following for v in variables(size)):
                known = False
                continue
            then = substitute(size, following)
            if size != then:
                conds.append(eq(size, then))
                differ = (axis, size, then)
        cond = all_of(*conds)
        return (cond if known or self.prover.decide(cond) is False else UNDECIDED), differ

    def shared(self, stacked: core.Stacked, shape: Shape, last: Entry, older: int) -> Shared:
        """The sizes that all turns share: for each open axis the first equal one, and its size if no turn decides it."""
        if not _aligned(stacked, shape):
            return Shared({}, last)
        found: dict[int, tuple[int, Size | None]] = {}
        for axis, declared in enumerate(stacked.shape):
            if declared is None:
                size = shape[axis]
                first = next((i for i in found if self.prover.decide(eq(shape[i], size)) is True), axis)
                found[axis] = first, size if is_older(size, older) else None
        return Shared(found, last)

    def stack(self, frame: Frame, stacked: core.Stacked, shared: Shared, count: Size, env: Env) -> Value:
        """Return a stack: the turns along a new first axis; a shared size is 0 if there was no turn. Every turn has satisfied
        the conditions for its sizes to have a value; they are checked if there was none."""
        if stacked.dtype is None:
            self.state.assume(ge(count, 1))  # a run without a turn ends here
            dtype = self.dtypes.get((stacked.span, stacked.name)) or self.state.dtype_symbol("?")
            return TensorInfo((count, self.state.segment("?")), dtype, None)
        level = ShapeLevel(self.state, env)
        found: list[Size | Segment] = [count]
        common: dict[int, Size] = {}
        try:
            for axis, size in enumerate(stacked.shape):
                if isinstance(size, core.Splice):
                    found.extend(level.shape(core.ShapeLit(stacked.span, (size,))))
                elif size is not None:
                    found.append(self._without_a_turn(level.size(size)))
                else:
                    first, known = shared.sizes.get(axis, (axis, None))
                    if first not in common:
                        common[first] = self._common(known, count)
                    found.append(common[first])
            if level.needs:
                asked = with_needs(True, level.needs)
                truth = asked if isinstance(asked, Undecided) else any_of(ge(count, 1), asked)
                self.prover.judge(frame, truth, Valued(stacked.span, level.needs), claim=False)
            if (many := of_some_rank(least_rank(tuple(found)))) is not None:
                self.prover.judge(frame, False, NoArray(stacked.span, many), claim=True)
                return POISON
            return TensorInfo(tuple(found), level.dtype(stacked.dtype), None)
        except Poisoned:
            return POISON

    def _without_a_turn(self, size: Size) -> Size:
        """A size of the type, which is at least 0 in a turn; if it is negative, no turn ran, and it stands for 0."""
        size = self.state.settled(size)
        return size if self.prover.decide(ge(size, 0)) is True else smax(0, size)

    def _common(self, size: Size | None, count: Size) -> Size:
        if size is not None and self.prover.decide(ge(count, 1)) is True:
            return size
        common = self.state.size("?")
        self.state.opaque.begin(only_var(common), size)
        some: Cond = ge(count, 1) if size is None else all_of(ge(count, 1), eq(common, size))
        self.state.assume(any_of(some, all_of(eq(count, 0), eq(common, 0))))
        return common


def _aligned(stacked: core.Stacked, shape: Shape) -> bool:
    """Whether a stack has the axes of a shape, with sizes at its open axes."""
    pairs = zip(stacked.shape, shape, strict=False)
    return len(shape) == len(stacked.shape) and all(d is not None or not isinstance(s, Segment) for d, s in pairs)


def _unless(cond: Truth, holds: bool | None, last: Cond, one: Cond) -> Truth:
    """The condition that two turns agree, if there are two; `holds` is the known answer."""
    if holds is not None:
        return True if holds else one
    return cond if isinstance(cond, Undecided) else any_of(last, cond)
