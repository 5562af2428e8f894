"""One turn of a loop, for all turns: the facts at its beginning, and its place in the loop."""

from __future__ import annotations

from ..lang import core
from ..lang.node import replace
from ..ops.model import TensorInfo
from .branches import Branches
from .frame import Frame, Turn, Turns
from .known.fresh import unknown
from .known.shape_level import Poisoned, ShapeLevel
from .known.values import Entry, Env, NumberValue, Shape, SizeValue, TupleValue, Undecided, plain
from .messages.claims import Claim
from .opaque import CarriedSequences, may_hold, no_holder
from .solver.conditions import Cond, all_of, eq, ge, lt
from .solver.rendering import render
from .solver.terms import Size, mod, over
from .visitor import Visitor, VisitorPart


class AnyTurn(VisitorPart):
    """Begins a turn that stands for all turns."""

    def __init__(self, visitor: Visitor, branches: Branches) -> None:
        super().__init__(visitor)
        self.branches = branches

    def begin(
        self, frame: Frame, loop: core.Loop, turns: Turns, env: Env, carried: CarriedSequences
    ) -> tuple[Turns, Env]:
        """Begin a turn: assume the invariant, and that there is a turn; return the range with its index, and the names."""
        inner = dict(env)
        if loop.index is not None:
            nonneg = self.prover.decide(ge(turns.start, 0)) is True
            turns = replace(turns, index=self.state.size(loop.index, nonneg=nonneg))
            self.state.unsure = True
            for fact in () if over() else _in_range(turns):
                self.state.assume(fact)
        for carry in loop.carries:
            inner[carry.name] = Entry(unknown(self.state, carry.sort, carry.name), carry.span)
        inner = at(loop, inner, turns.index)
        self.visitor.assume_all(frame.block(), map(assertion, loop.invariant), inner, name_dims=True)
        passed = self._passed(loop, turns)
        for carry in loop.carries:
            entry = inner[carry.name]
            entry = replace(entry, value=carried.at(carry.name, entry.value, passed))
            self.bindings.bind(frame, inner, carry.name, entry, carry.span)
        return turns, inner

    def _passed(self, loop: core.Loop, turns: Turns) -> Size:
        """The number of turns before this one."""
        return self.state.size("?") if loop.index is None else (turns.index - turns.start) // turns.step

    def surely(self, loop: core.Loop, turns: Turns, at_entry: Env) -> Cond | None:
        """The condition on sizes under which there is a turn; None if something else decides it."""
        conds: list[Cond] = [] if loop.range is None else [lt(turns.start, turns.stop)]
        if loop.cond is not None:
            cond = loop.cond.result
            if loop.cond.stmts or not isinstance(cond, core.BoolExpr):
                return None
            try:
                truth = ShapeLevel(self.state, at_entry).truth(cond)
            except Poisoned:
                return None
            if isinstance(truth, Undecided):
                return None
            conds.append(truth)
        return all_of(*conds)

    def begins(self, loop: core.Loop, at_entry: Env) -> bool:
        """Whether a loop's condition surely holds before its first turn."""
        if loop.cond is None:
            return True
        cond = loop.cond.result
        first = at_entry[cond.name].value if isinstance(cond, core.Var) and cond.name in at_entry else None
        return not loop.cond.stmts and isinstance(first, TensorInfo) and first.data == (1,)

    def place(self, frame: Frame, loop: core.Loop, turns: Turns, env: Env, at_entry: Env, older: int) -> Turn:
        """The description of a turn by its place in the loop."""
        if over():
            return Turn(older, frame.path, (), turns.index)
        outer = frame.turn.firsts if frame.turn is not None else ()
        firsts = (*outer, *self._firsts(loop, turns, env, at_entry))
        return Turn(older, frame.path, firsts, turns.index, _ends(loop, turns), frame.turn)

    def _firsts(self, loop: core.Loop, turns: Turns, env: Env, at_entry: Env) -> list[Cond]:
        """The equations in the first turn for the sizes that change from turn to turn."""
        found = [] if loop.index is None else [eq(turns.index, turns.start)]
        for carry in loop.carries:
            found += map(eq, self.sizes(env, carry), self.sizes(at_entry, carry))
        return found

    def condition(self, frame: Frame, loop: core.Loop, env: Env) -> tuple[core.Block | None, bool | None]:
        """Walk the condition of a turn, which holds in it; return it, and whether it is known to hold or fail before each
        turn."""
        if loop.cond is None:
            return None, None
        block = frame.block()
        for stmt in loop.cond.stmts:
            self.visitor.stmt(block, stmt, env)
        cond, known = loop.cond.result, None
        if isinstance(cond, core.BoolExpr):
            known = self._hold(block, cond, env)
        else:
            entry, cond = self.visitor.value(block, cond, env)
            entry = self.bindings.known_as(block, env, entry, cond, core.TENSOR)
            if isinstance(entry.value, TensorInfo | NumberValue):
                cond = self.branches.truth_value(block, entry.value, cond, "a loop")
        return core.Block(loop.cond.span, tuple(block.out.stmts), cond), known

    def _hold(self, frame: Frame, cond: core.BoolExpr, env: Env) -> bool | None:
        """Assume a condition over sizes in the turn that follows; return whether it held before that, if known."""
        level = ShapeLevel(self.state, env)
        try:
            truth = level.truth(cond)
        except Poisoned:
            self.visitor.value(frame, cond, env)
            return None
        if level.needs:
            self.visitor.value(frame, cond, env)
        known = self.prover.decide(truth)
        self.state.unsure = True
        level.learn(cond, reason=cond)
        return known

    def results(self, frame: Frame, loop: core.Loop, env: Env) -> tuple[list[Entry], core.Value]:
        """The values that a turn ends with, each where it is written."""
        result = loop.body.result
        if isinstance(result, core.TupleValue) and len(loop.carries) + len(loop.stacked) > 1:
            found = self.visitor.values(frame, result.items, env)
            return [e for e, _ in found], replace(result, items=tuple(v for _, v in found))
        entry, value = self.visitor.value(frame, result, env)
        if len(loop.carries) + len(loop.stacked) > 1 and isinstance(entry.value, TupleValue):
            return [Entry(item, entry.span) for item in entry.value.items], value
        return [entry], value

    def hold_tensors(self, frame: Frame, loop: core.Loop, inner: Env, given: Env) -> None:
        """Check that carried values hold others only if their type says so."""
        for carry in loop.carries:
            if may_hold(self.state, given[carry.name].value) and not may_hold(self.state, inner[carry.name].value):
                self.prover.judge(frame, False, Claim(no_holder(carry.name, carry.span), given), claim=True)

    def sizes(self, env: Env, carry: core.Carry) -> Shape:
        """The sizes of a carry."""
        value = env[carry.name].value
        if isinstance(value, SizeValue):
            return (self.state.settled(value.size),)
        shape = self.shape_of(env[carry.name])
        return shape if plain(shape) else ()

    def shape_of(self, entry: Entry) -> Shape:
        return self.state.resolve(entry.value.shape) if isinstance(entry.value, TensorInfo) else ()


def assertion(condition: core.Invariant) -> core.Assert:
    return core.Assert(condition.span, condition.cond, None, condition.origin)


def _in_range(turns: Turns) -> tuple[Cond, ...]:
    """The facts about the index in a turn."""
    passed = turns.index - turns.start
    return ge(turns.index, turns.start), lt(turns.index, turns.stop), eq(mod(passed, turns.step), 0)


def at(loop: core.Loop, env: Env, index: Size) -> Env:
    """Set the loop's index in an environment made for this, and return it."""
    if loop.index is not None:
        env[loop.index] = Entry(SizeValue(index), loop.span)
    return env


def _ends(loop: core.Loop, turns: Turns) -> tuple[tuple[str, Size], ...]:
    """The index in the first turn and in the last, each with its words; empty if the range alone does not end the loop."""
    if loop.index is None or loop.cond is not None:
        return ()
    last = turns.start + (turns.count - 1) * turns.step
    ends = (("first", turns.start), ("last", last))
    return tuple((f"in the {which} turn, where {loop.index} is {render(size)}", size) for which, size in ends)
