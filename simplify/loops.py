"""Loops: the claims about the carries before the first turn and after each turn, and the facts in a turn and after the loop.

A loop is walked once, for all its turns. In a turn only the invariant is known of the carries, whatever the turn; the values
at its end have to satisfy it again. The index is the range's start before the loop, the next index at a turn's end, and the
one after the last when the loop has ended.
"""

from __future__ import annotations

from ..lang import core
from ..lang.core import Status
from ..lang.dtypes import WEAK
from ..lang.node import replace
from ..lang.source import Span
from ..ops.model import TensorInfo
from ..ops.tracked import of_literal
from .assertions import with_needs
from .behind import BehindLoop
from .branches import Branches
from .frame import Frame, Turns
from .growing_carries import Growth
from .inferred_invariants import candidates, proved
from .known.fresh import dims_of_subject, settle
from .known.shape_level import Poisoned, ShapeLevel
from .known.values import (
    POISON,
    UNDECIDED,
    Entry,
    Env,
    NumberValue,
    SizeValue,
    Value,
    is_wrong,
)
from .messages.claims import AFTER, BEFORE, Claim, never_run
from .opaque import CarriedSequences
from .solver.conditions import ge, lt
from .solver.sizes import is_older, single_var
from .solver.terms import A_FACT, A_TURN, Size, Var, over, stride, variables
from .stacks import Shared, Stacks
from .turns import AnyTurn, assertion, at
from .unread import UnreadLoop
from .visitor import Visitor, VisitorPart
from .wildcards import Sayable

# The most times that a set of conditions which a turn may keep is made smaller.
_MOST_TRIES = 4
# A loop with its body simplified, the shapes that its stacks share, and whether no turn is the last.
Walked = tuple[core.Loop, tuple[Shared, ...], bool]


class Loops(VisitorPart):
    """Walks a loop's first values and one turn for all of them, and gives the facts after the loop."""

    def __init__(self, visitor: Visitor, branches: Branches) -> None:
        super().__init__(visitor)
        self.any_turn = AnyTurn(visitor, branches)
        self.stacks, self.growth = Stacks(visitor), Growth(visitor)
        self.behind = BehindLoop(visitor, self.stacks)
        self.unread = UnreadLoop(visitor, self.any_turn)
        # By the loop's place: the contents of its carried sequences, and the values at the end of the turn that was walked
        # last.
        self.carried: dict[Span, CarriedSequences] = {}
        self.ends: dict[Span, dict[str, Value]] = {}
        # The places of loops whose turns have no result, because of a reported error.
        self.wrong: set[Span] = set()
        # By the place of a loop inside one that is tried: the conditions that its last trial kept.
        self.left: dict[Span, tuple[core.BoolExpr, ...]] = {}

    def run(self, frame: Frame, loop: core.Loop, env: Env) -> tuple[Entry, core.Value]:
        """Return a loop's value and the simplified loop. At a call of the function around it, its promise stands for it."""
        if frame.inlined:
            loop = replace(loop, stacked=tuple(map(self.program.solutions.stacked, loop.stacked)))
        turns = self._range(frame, loop, env)
        loop, firsts = self._begun(frame, loop, env)
        if turns is None or any(is_wrong(e.value) for e in firsts.values()):
            self.prover.hinder(frame)  # its turns are not walked
            return Entry(POISON, loop.span), loop
        if over():
            return self.unread.entry(frame, loop, firsts, env)
        at_entry = at(loop, {**env, **firsts}, turns.start)
        self.carried[loop.span] = CarriedSequences(self.state, {n: e.value for n, e in firsts.items()})
        kept, walked = self._kept(frame, loop, turns, env, at_entry)
        loop = replace(loop, invariant=(*loop.invariant, *kept))
        self._fill(frame, loop, turns, env, at_entry)
        loop = replace(loop, invariant=tuple(self._entry(frame, i, at_entry) for i in loop.invariant))
        shared: tuple[Shared, ...] = (Shared(),) * len(loop.stacked)
        never_ends = False
        if frame.trial and walked is not None and not self.carried[loop.span].each:
            loop, shared, never_ends = walked  # a second walk would not be reported either
        elif not frame.inlined:
            loop, shared, never_ends = self._turn(frame, loop, turns, env, at_entry)
        elif self.prover.log.certain:
            self._looked_into(frame, loop, turns, env, at_entry)
        if any(i.entry is Status.REFUTED or i.turn is Status.REFUTED for i in loop.invariant):
            return Entry(POISON, loop.span), loop
        if any(s.status is Status.REFUTED for s in loop.stacked):
            return Entry(POISON, loop.span), loop
        if loop.span in self.wrong and not frame.trial and _is_told_by_turns(loop):  # consequences are not reported
            return Entry(POISON, loop.span), loop
        begins = self.any_turn.begins(loop, at_entry)
        carried = self.carried[loop.span]
        return self.behind.entry(frame, loop, turns, env, shared, carried, begins=begins, never_ends=never_ends), loop

    def _begun(self, frame: Frame, loop: core.Loop, env: Env) -> tuple[core.Loop, Env]:
        """Return the loop with its first values simplified, and these values."""
        found = self.visitor.values(frame, [c.init for c in loop.carries], env)
        known_as = self.bindings.known_as
        found = [(known_as(frame, env, e, v, c.sort), v) for c, (e, v) in zip(loop.carries, found, strict=True)]
        found = [self._typed(loop, c, e, v, env) for c, (e, v) in zip(loop.carries, found, strict=True)]
        carries = tuple(replace(c, init=v) for c, (_, v) in zip(loop.carries, found, strict=True))
        return replace(loop, carries=carries), {c.name: e for c, (e, _) in zip(carries, found, strict=True)}

    def _range(self, frame: Frame, loop: core.Loop, env: Env) -> Turns | None:
        """The range's sizes; None if one of them has no value, or the step was reported as wrong. A `while` counts its turns
        from 0."""
        if loop.range is None:
            return Turns(0, 0, 1, 0)
        sizes: list[Size] = []
        for expr in (loop.range.start, loop.range.stop, loop.range.step):
            entry, _ = self.visitor.value(frame, expr, env)
            if not isinstance(entry.value, SizeValue):
                return None
            sizes.append(self.state.settled(entry.value.size))
        start, stop, step = sizes
        return None if self.prover.decide(ge(step, 1)) is False else Turns(start, stop, step, 0)

    def _typed(
        self, loop: core.Loop, carry: core.Carry, entry: Entry, value: core.Value, env: Env
    ) -> tuple[Entry, core.Value]:
        """Give a literal number as a first value the dtype that the invariant requires."""
        if not isinstance(entry.value, NumberValue):
            return entry, value
        number = entry.value.value
        dtype = WEAK[type(number)]
        for cond in (i.cond for i in loop.invariant):
            match cond:
                case core.Compare(op="==", left=core.DTypeOf(tensor=carry.name), right=core.DTypeLit(dtype=asked)):
                    dtype = asked
        literal = core.TensorLit(value.span, (), (number,), dtype)
        return replace(entry, value=TensorInfo((), dtype, of_literal(literal.values, dtype))), literal

    # The invariant

    def _kept(
        self, frame: Frame, loop: core.Loop, turns: Turns, env: Env, at_entry: Env
    ) -> tuple[tuple[core.Invariant, ...], Walked | None]:
        """Return the conditions on the carries' shapes that each turn surely keeps without an annotation: the largest set
        that holds after a turn if it holds before it. They are proved by the walk that is returned with them."""
        if frame.inlined:
            return self.program.solutions.kept.get(loop.span, ()), None
        firsts = {c.name: self.any_turn.shape_of(at_entry[c.name]) for c in loop.carries if c.sort == core.TENSOR}
        asked = candidates(loop, firsts)
        if frame.trial and loop.span in self.left:
            asked = tuple(i for i in asked if i.cond in self.left[loop.span])
        for _ in range(_MOST_TRIES):
            if not asked or over():
                break
            if not frame.trial:
                self.left.clear()
            with self.prover.trying():
                walked = self._tried(frame.tried(), loop, asked, turns, env, at_entry)
            kept = proved(walked[0].invariant[len(loop.invariant) :])
            if len(kept) == len(asked):
                return self._found(frame, loop, kept), walked
            asked = tuple(replace(i, entry=Status.OPEN, turn=Status.OPEN) for i in kept)  # proved with the dropped ones
        return self._found(frame, loop, ()), None

    def _found(self, frame: Frame, loop: core.Loop, kept: tuple[core.Invariant, ...]) -> tuple[core.Invariant, ...]:
        if frame.trial:
            self.left[loop.span] = tuple(i.cond for i in kept)
        else:
            self.program.solutions.kept[loop.span] = kept
        return kept

    def _fill(self, frame: Frame, loop: core.Loop, turns: Turns, env: Env, at_entry: Env) -> None:
        """Find the contents of the sequences that a loop carries, for any turn."""
        carried, left = self.carried[loop.span], _MOST_TRIES
        older = self.state.serial()
        while carried.each and left and not over():
            self.ends.pop(loop.span, None)
            if not frame.inlined:
                with self.prover.trying():
                    self._tried(frame.tried(), loop, (), turns, env, at_entry)
            ends = self.ends.get(loop.span, {})
            if carried.joined(ends, lambda size: is_older(size, older)):
                return
            left -= 1
        carried.forget()

    def _tried(
        self, frame: Frame, loop: core.Loop, asked: tuple[core.Invariant, ...], turns: Turns, env: Env, at_entry: Env
    ) -> Walked:
        """Walk a turn without reports, with more conditions in the invariant."""
        at_entry = dict(at_entry)
        invariant = tuple(self._entry(frame, i, at_entry) for i in (*loop.invariant, *asked))
        return self._turn(frame, replace(loop, invariant=invariant), turns, env, at_entry)

    def _looked_into(self, frame: Frame, loop: core.Loop, turns: Turns, env: Env, at_entry: Env) -> None:
        """Find sure failures in a turn of a loop that its promise stands for; nothing else is kept."""
        asked = len(self.prover.demands)
        with self.prover.trying():
            self._turn(frame, loop, turns, env, at_entry)
        del self.prover.demands[asked:]

    def _entry(self, frame: Frame, condition: core.Invariant, env: Env) -> core.Invariant:
        if condition.entry is Status.PROVED:
            return condition
        return replace(condition, entry=self._claim(frame, condition, env, BEFORE))

    def _claim(self, frame: Frame, condition: core.Invariant, env: Env, when: str, grown: str = "") -> Status:
        """Decide one condition on the carries of `env`; afterwards it is known. `grown` is an alternative for the
        annotation."""
        stride(A_FACT)
        stmt = assertion(condition)
        level = ShapeLevel(self.state, env)
        try:
            truth = UNDECIDED if over() else with_needs(level.truth(stmt.cond), level.needs)
        except Poisoned:
            self.prover.hinder(frame)
            return Status.RESIDUAL

        asked, sizes = Claim(stmt, env, when=when, grown=grown), dims_of_subject(stmt.origin, env, self.state)
        empty_rule = stmt.origin.declared is not None
        status, _ = self.prover.judge(frame, truth, asked, claim=True, sizes=sizes, empty_rule=empty_rule)
        declared = stmt.origin.declared
        if status is Status.REFUTED and declared is not None:
            env[declared.tensor] = Entry(POISON, stmt.span)  # the rest of its annotation is not reported
        elif status is not Status.REFUTED:
            self.state.unsure = self.state.unsure or status is Status.RESIDUAL
            if not over():
                level.learn(stmt.cond, reason=stmt)
        return status

    def _after(self, frame: Frame, condition: core.Invariant, env: Env, grown: str) -> Status:
        known = condition.turn is Status.PROVED
        return Status.PROVED if known else self._claim(frame, condition, env, AFTER, grown)

    # A turn

    def _turn(self, frame: Frame, loop: core.Loop, turns: Turns, env: Env, at_entry: Env) -> Walked:
        """Walk one turn for all of them: return the loop with its body simplified and each condition's status at a turn's
        end, the shapes of stacked values that are the same in all turns, and whether no turn is the last."""
        stride(A_TURN)
        older, since = self.state.serial(), self.bindings.mark()
        empty = loop.range is not None and self.prover.decide(lt(turns.start, turns.stop)) is False
        self.state.push()
        frame = frame.arm(None if over() else self.any_turn.surely(loop, turns, at_entry))
        turns, inner = self.any_turn.begin(frame, loop, turns, env, self.carried[loop.span])
        frame = replace(frame, turn=self.any_turn.place(frame, loop, turns, inner, at_entry, older))
        known = self.bindings.written.known
        self.any_turn.hold_tensors(frame, loop, inner, at_entry)
        carries = tuple(replace(c, known=known(inner[c.name].value)) for c in loop.carries)
        loop = replace(loop, carries=carries, known=known(SizeValue(turns.index)))
        cond, goes_on = self.any_turn.condition(frame, loop, dict(inner))
        walk = self._never if empty or goes_on is False else self._body
        status, shared, body, stacked = walk(frame, loop, turns, inner, older, self._outside(loop, env))
        self.bindings.close(since, older)
        self.state.pop()
        self.state.names.give_back(turns.index)
        invariant = tuple(replace(i, turn=s) for i, s in zip(loop.invariant, status, strict=True))
        return replace(loop, cond=cond, body=body, invariant=invariant, stacked=stacked), shared, goes_on is True

    def _never(
        self, frame: Frame, loop: core.Loop, turns: Turns, env: Env, older: int, scope: Sayable
    ) -> tuple[list[Status], tuple[Shared, ...], core.Block, tuple[core.Stacked, ...]]:
        """The same for a loop without a turn: nothing in it fails, and it is read only for the types that a turn must
        tell."""
        if not frame.quiet and loop.body.span != loop.span:
            self.prover.log.remark(never_run(self.prover.function, loop))
        stacked = loop.stacked
        if any(s.dtype is None for s in stacked):
            *_, stacked = self._body(replace(frame, quiet=True), loop, turns, env, older, scope)
        stacked = tuple(replace(s, status=Status.PROVED) for s in stacked)
        return [Status.PROVED] * len(loop.invariant), (Shared(),) * len(stacked), loop.body, stacked

    def _body(
        self, frame: Frame, loop: core.Loop, turns: Turns, env: Env, older: int, scope: Sayable
    ) -> tuple[list[Status], tuple[Shared, ...], core.Block, tuple[core.Stacked, ...]]:
        """Walk the body: return the status of the invariant at its end, the shapes that its stacks share, its simplified
        form, and the stacks."""
        block, own = frame.block(), dict(env)  # bindings of the body end with it: the invariant does not use them
        for stmt in loop.body.stmts:
            self.visitor.stmt(block, stmt, own)
        entries, result = self.any_turn.results(block, loop, own)
        carried = {c.name: e for c, e in zip(loop.carries, entries, strict=False)}
        at_end = at(loop, {**env, **carried}, turns.index + turns.step)
        wrong = len(entries) != len(loop.carries) + len(loop.stacked) or any(is_wrong(e.value) for e in entries)
        status = [Status.RESIDUAL] * len(loop.invariant)
        (self.wrong.add if wrong else self.wrong.discard)(loop.span)
        if not wrong:
            at_end |= {n: Entry(POISON, loop.span) for n in _refuted(loop)}  # it is reported once
            grown = [self.growth.grown(loop, turns, i, env, at_end, older) for i in loop.invariant]
            status = [self._after(block, i, at_end, g) for i, g in zip(loop.invariant, grown, strict=True)]
        if not wrong:
            self.any_turn.hold_tensors(block, loop, env, carried)
            self.ends[loop.span] = {name: settle(self.state, e).value for name, e in carried.items()}
        lasts = entries[len(loop.carries) :] if not wrong else [Entry(POISON, s.span) for s in loop.stacked]
        types = [self.stacks.told(block, s, e, scope) for s, e in zip(loop.stacked, lasts, strict=True)]
        given = list(zip(types, map(self.any_turn.shape_of, lasts), lasts, strict=True))
        following = self._following(loop, turns, env, at_end, older)
        stacked = tuple(self.stacks.same(block, loop, *each, turns, following, older) for each in given)
        shared = tuple(self.stacks.shared(*each, older) for each in given)
        return status, shared, core.Block(loop.body.span, tuple(block.out.stmts), result), stacked

    # Stacked values

    def _outside(self, loop: core.Loop, env: Env) -> Sayable:
        """The names that the type of a stacked value may use."""
        own = {c.name for c in loop.carries} | {loop.index or ""}
        return Sayable(self.state, env, self.visitor.outside, None, own, asks=True)

    def _following(self, loop: core.Loop, turns: Turns, env: Env, at_end: Env, older: int) -> dict[Var, Size]:
        """The sizes of the next turn for those of a turn: the index, and sizes of the carries."""
        found: dict[Var, Size] = {}
        if loop.index is not None:
            found |= dict.fromkeys(variables(turns.index), turns.index + turns.step)
        for carry in loop.carries:
            for now, then in zip(self.any_turn.sizes(env, carry), self.any_turn.sizes(at_end, carry), strict=False):
                variable = single_var(now)
                if variable is not None and variable.serial > older:
                    found.setdefault(variable, then)
        return found


def _is_told_by_turns(loop: core.Loop) -> bool:
    """Whether only its turns tell the type of some carry, or of a stacked value."""
    begun = any(i.origin.declared is not None and i.origin.declared.is_begun for i in loop.invariant)
    return begun or any(s.dtype is None for s in loop.stacked)


def _refuted(loop: core.Loop) -> set[str]:
    """The carries that break the invariant before the first turn."""
    broken = [i.origin.declared for i in loop.invariant if i.entry is Status.REFUTED]
    return {declared.tensor for declared in broken if declared is not None}
