"""The facts after a loop: its invariant, the negation of its condition, and a row of each stack for each turn."""

from __future__ import annotations

from contextlib import suppress

from ..lang import core
from ..lang.node import replace
from .frame import Frame, Turns
from .known.fresh import settle, unknown
from .known.naming import Names
from .known.shape_level import Poisoned, ShapeLevel
from .known.values import Entry, Env, TupleValue, Undecided
from .messages.claims import endless
from .opaque import CarriedSequences
from .solver.conditions import any_of, eq, ge, le, negate
from .solver.sizes import only_var
from .solver.terms import Size, over, smax
from .stacks import Shared, Stacks
from .turns import assertion, at
from .visitor import Visitor, VisitorPart


def left_open(part: VisitorPart, frame: Frame, loop: core.Loop) -> Entry:
    """The result of a loop for which no steps are left: unknown values."""
    part.prover.hinder(frame)
    values = [unknown(part.state, c.sort, "?") for c in loop.carries]
    values += [unknown(part.state, core.TENSOR, "?") for _ in loop.stacked]
    return Entry(values[0] if len(values) == 1 else TupleValue(tuple(values)), loop.span)


class BehindLoop(VisitorPart):
    """Determines the facts and values after a loop."""

    def __init__(self, visitor: Visitor, stacks: Stacks) -> None:
        super().__init__(visitor)
        self.stacks = stacks

    def entry(
        self,
        frame: Frame,
        loop: core.Loop,
        turns: Turns,
        env: Env,
        shared: tuple[Shared, ...],
        carried: CarriedSequences,
        *,
        begins: bool,
        never_ends: bool,
    ) -> Entry:
        """The loop's result: its carries by the invariant, at the index that would come next; then the stacks."""
        if over():
            return left_open(self, frame, loop)
        count = self._count(loop, turns, begins)
        after = dict(env)
        for carry in loop.carries:
            after[carry.name] = Entry(unknown(self.state, carry.sort, "?"), loop.span)
        after = at(loop, after, turns.start + count * turns.step)
        before = len(self.state.unnamed)
        promised = replace(frame, names=Names(self.state, opaque=True), out=frame.out.inner())
        self.visitor.assume_all(promised, map(assertion, loop.invariant), after, name_dims=True)
        self._ended(loop, turns, count, after)
        for variable in self.state.unnamed[before:]:
            if variable in self.state.anonymous and variable not in self.state.opaque:
                self.state.opaque.begin(variable, None)
        if loop.range is None or (frame.inlined and frame.inlined[-1] not in self.program.sure):
            self.prover.hinder(frame)  # it may run for ever, or fail in a turn
        if never_ends and loop.range is None and not frame.quiet:
            self.prover.log.remark(endless(self.prover.function, loop))
        values = [carried.at(c.name, settle(self.state, after[c.name]).value, count) for c in loop.carries]
        parts = [Entry(value, loop.span) for value in values]
        for stacked, same in zip(loop.stacked, shared, strict=True):
            given = () if same.last is None else (same.last,)
            parts.append(Entry(self.stacks.stack(frame, stacked, same, count, env), loop.span, turns=given))
        whole = TupleValue(tuple(part.value for part in parts))
        return parts[0] if len(parts) == 1 else Entry(whole, loop.span, items=tuple(parts))

    def _count(self, loop: core.Loop, turns: Turns, begins: bool) -> Size:
        """The number of turns: from the range, or a size that only the run decides; at least one if the loop `begins`."""
        most = self._most(turns)
        if loop.range is not None and loop.cond is None:
            return most
        count = self.state.size("?")
        self.state.opaque.begin(only_var(count), most if loop.range is not None else None)
        if loop.range is not None:
            self.state.assume(le(count, most))
        if begins:
            self.state.assume(ge(count, 1) if loop.range is None else any_of(ge(count, 1), le(most, 0)))
        return count

    def _most(self, turns: Turns) -> Size:
        """The number of turns of a range."""
        found = turns.count
        return found if self.prover.decide(ge(found, 0)) is True else smax(0, found)

    def _ended(self, loop: core.Loop, turns: Turns, count: Size, env: Env) -> None:
        """Assume that the loop's condition is false after it, or its range used up."""
        if loop.cond is None or loop.cond.stmts or not isinstance(loop.cond.result, core.BoolExpr):
            return None
        level, cond = ShapeLevel(self.state, env), loop.cond.result
        with suppress(Poisoned):  # a condition without a value gives no facts
            if loop.range is None:
                return level.learn(cond, positive=False, reason=core.Not(cond.span, cond))
            truth = level.truth(cond)
            if not isinstance(truth, Undecided):
                self.state.assume(any_of(negate(truth), eq(count, self._most(turns))))
        return None
