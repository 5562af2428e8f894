"""Loops: what is claimed of the carries before the first turn and after each turn, and what is known in a turn and behind the
loop.

A loop is walked once, for all its turns. In a turn nothing is known of the carries but the invariant, whatever the turn; what
a turn ends with has to satisfy it again. The index stands for the range's start before the loop, for the next index at a
turn's end, and for what follows the last one behind the loop.
"""

from __future__ import annotations

from contextlib import suppress

from ..lang import core
from ..lang.core import Status
from ..lang.dtypes import WEAK
from ..lang.node import replace
from ..lang.source import Span
from ..ops.model import TensorInfo
from ..ops.tracked import of_literal
from .assertions import with_needs
from .branches import Branches
from .frame import Frame, Turn, Turns
from .growth import Growth
from .known.fresh import dims_of_subject, settle, unknown
from .known.naming import Names
from .known.shape_level import Poisoned, ShapeLevel
from .known.values import (
    POISON,
    UNDECIDED,
    Entry,
    Env,
    NumberValue,
    Shape,
    SizeValue,
    TupleValue,
    Undecided,
    Value,
    is_wrong,
    plain,
)
from .opaque import Carried, may_hold, no_holder
from .solver.conditions import Cond, all_of, any_of, eq, ge, le, lt, negate
from .solver.rendering import render
from .solver.sizes import is_older, only_var, single_var
from .solver.terms import A_FACT, A_TURN, Size, Var, ceildiv, mod, over, smax, stride, variables
from .stacks import Shared, Stacks
from .unchanged import candidates, proved
from .visitor import Part, Visitor
from .voice.claims import Claim, endless, never_run
from .wildcards import Scope

# So often a set of conditions that a turn may keep is made smaller.
_MOST_TRIES = 4
# A loop with its body simplified, what its stacks share, and whether no turn is the last.
Walked = tuple[core.Loop, tuple[Shared, ...], bool]
BEFORE, AFTER = "before the first turn", "after a turn"


class Loops(Part):
    """Walks a loop's first values, one turn for all of them, and gives what is known behind it."""

    def __init__(self, visitor: Visitor, branches: Branches) -> None:
        super().__init__(visitor)
        self.branches = branches
        self.stacks, self.growth = Stacks(visitor), Growth(visitor)
        # By the loop's place, what its sequences hold, and what a turn ended with when it was walked last.
        self.carried: dict[Span, Carried] = {}
        self.ends: dict[Span, dict[str, Value]] = {}
        # By the place of a loop inside one that is tried, the conditions that were left of it when it was tried last.
        self.left: dict[Span, tuple[core.BoolExpr, ...]] = {}

    def run(self, frame: Frame, loop: core.Loop, env: Env) -> tuple[Entry, core.Value]:
        """A loop's value, and the loop simplified. At a call of the function around it, it stands as what it promises."""
        if frame.inlined:
            loop = replace(loop, stacked=tuple(map(self.program.solutions.stacked, loop.stacked)))
        turns = self._range(frame, loop, env)
        found = self.visitor.values(frame, [c.init for c in loop.carries], env)
        known_as = self.bindings.known_as
        found = [(known_as(frame, env, e, v, c.sort), v) for c, (e, v) in zip(loop.carries, found, strict=True)]
        found = [self._typed(loop, c, e, v, env) for c, (e, v) in zip(loop.carries, found, strict=True)]
        carries = tuple(replace(c, init=v) for c, (_, v) in zip(loop.carries, found, strict=True))
        loop = replace(loop, carries=carries)
        firsts = {c.name: e for c, (e, _) in zip(carries, found, strict=True)}
        if turns is None or any(is_wrong(e.value) for e in firsts.values()):
            self.prover.hinder(frame)  # nobody looks at its turns
            return Entry(POISON, loop.span), loop
        at_entry = _at(loop, {**env, **firsts}, turns.start)
        self.carried[loop.span] = Carried(self.state, {n: e.value for n, e in firsts.items()})
        kept, walked = self._kept(frame, loop, turns, env, at_entry)
        loop = replace(loop, invariant=(*loop.invariant, *kept))
        self._fill(frame, loop, turns, env, at_entry)
        loop = replace(loop, invariant=tuple(self._entry(frame, i, at_entry) for i in loop.invariant))
        shared: tuple[Shared, ...] = ({},) * len(loop.stacked)
        never_ends = False
        if frame.trial and walked is not None and not self.carried[loop.span].each:
            loop, shared, never_ends = walked  # nobody hears of a second walk either
        elif not frame.inlined:
            loop, shared, never_ends = self._turn(frame, loop, turns, env, at_entry)
        if any(i.entry is Status.REFUTED or i.turn is Status.REFUTED for i in loop.invariant):
            return Entry(POISON, loop.span), loop
        if any(s.status is Status.REFUTED for s in loop.stacked):
            return Entry(POISON, loop.span), loop
        return self._behind(frame, loop, turns, env, shared, never_ends=never_ends), loop

    def _range(self, frame: Frame, loop: core.Loop, env: Env) -> Turns | None:
        """The range's sizes; None where one of them has no value, or the step is told to be wrong. A `while` counts its turns
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
        """A literal number as a first value has the dtype that the invariant asks for."""
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
        """What each turn surely keeps of the carries' shapes though no annotation says so: the largest set of such conditions
        that hold after a turn if all of them hold before it. Each is proved already, by the walk that comes with them."""
        if frame.inlined:
            return self.program.solutions.kept.get(loop.span, ()), None
        firsts = {c.name: self._shape_of(at_entry[c.name]) for c in loop.carries if c.sort == core.TENSOR}
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
            asked = tuple(replace(i, entry=Status.OPEN, turn=Status.OPEN) for i in kept)  # others held them up
        return self._found(frame, loop, ()), None

    def _found(self, frame: Frame, loop: core.Loop, kept: tuple[core.Invariant, ...]) -> tuple[core.Invariant, ...]:
        if frame.trial:
            self.left[loop.span] = tuple(i.cond for i in kept)
        else:
            self.program.solutions.kept[loop.span] = kept
        return kept

    def _fill(self, frame: Frame, loop: core.Loop, turns: Turns, env: Env, at_entry: Env) -> None:
        """Find out what the sequences that a loop carries hold in any turn."""
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
        """A turn that nobody hears of, with more conditions in the invariant."""
        at_entry = dict(at_entry)
        invariant = tuple(self._entry(frame, i, at_entry) for i in (*loop.invariant, *asked))
        return self._turn(frame, replace(loop, invariant=invariant), turns, env, at_entry)

    def _entry(self, frame: Frame, condition: core.Invariant, env: Env) -> core.Invariant:
        if condition.entry is Status.PROVED:
            return condition
        return replace(condition, entry=self._claim(frame, condition, env, BEFORE))

    def _claim(self, frame: Frame, condition: core.Invariant, env: Env, when: str, grown: str = "") -> Status:
        """One condition, of the carries as `env` has them: decided, then known. `grown` is what it might say instead."""
        stride(A_FACT)
        stmt = _assertion(condition)
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
            env[declared.tensor] = Entry(POISON, stmt.span)  # what else its annotation says is not told
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
        """One turn, whichever it is: the loop with its body simplified and each condition's status at a turn's end, the
        shapes of what is stacked where they are the same in all turns, and whether no turn is the last."""
        stride(A_TURN)
        older, since = self.state.serial(), self.bindings.mark()
        empty = loop.range is not None and self.prover.decide(lt(turns.start, turns.stop)) is False
        self.state.push()
        frame = frame.arm(None if over() else self._surely(loop, turns, at_entry))
        turns, inner = self._any_turn(frame, loop, turns, env)
        frame = replace(frame, turn=self._turn_of(frame, loop, turns, inner, at_entry, older))
        known = self.bindings.written.known
        self._hold_tensors(frame, loop, inner, at_entry)
        carries = tuple(replace(c, known=known(inner[c.name].value)) for c in loop.carries)
        loop = replace(loop, carries=carries, known=known(SizeValue(turns.index)))
        cond, goes_on = self._condition(frame, loop, dict(inner))
        walk = self._never if empty or goes_on is False else self._body
        status, shared, body, stacked = walk(frame, loop, turns, inner, older, self._outside(loop, env))
        self.bindings.close(since, older)
        self.state.pop()
        self.state.give_back(turns.index)
        invariant = tuple(replace(i, turn=s) for i, s in zip(loop.invariant, status, strict=True))
        return replace(loop, cond=cond, body=body, invariant=invariant, stacked=stacked), shared, goes_on is True

    def _turn_of(self, frame: Frame, loop: core.Loop, turns: Turns, env: Env, at_entry: Env, older: int) -> Turn:
        """What is known of a turn by its place in the loop."""
        if over():
            return Turn(older, frame.path, (), turns.index)
        outer = frame.turn.firsts if frame.turn is not None else ()
        firsts = (*outer, *self._firsts(loop, turns, env, at_entry))
        return Turn(older, frame.path, firsts, turns.index, _ends(loop, turns))

    def _never(
        self, frame: Frame, loop: core.Loop, turns: Turns, env: Env, older: int, scope: Scope
    ) -> tuple[list[Status], tuple[Shared, ...], core.Block, tuple[core.Stacked, ...]]:
        """The same of a loop without a turn: nothing in it fails, and it is read for the types alone that only a turn tells."""
        if not frame.quiet:
            self.prover.log.remark(never_run(self.prover.function, loop))
        stacked = loop.stacked
        if any(s.dtype is None for s in stacked):
            *_, stacked = self._body(replace(frame, quiet=True), loop, turns, env, older, scope)
        stacked = tuple(replace(s, status=Status.PROVED) for s in stacked)
        return [Status.PROVED] * len(loop.invariant), ({},) * len(stacked), loop.body, stacked

    def _body(
        self, frame: Frame, loop: core.Loop, turns: Turns, env: Env, older: int, scope: Scope
    ) -> tuple[list[Status], tuple[Shared, ...], core.Block, tuple[core.Stacked, ...]]:
        """The body: what becomes of the invariant at its end, the shapes that it stacks, itself simplified, and the stacks."""
        block, own = frame.block(), dict(env)  # what the body binds ends with it: the invariant does not speak of that
        for stmt in loop.body.stmts:
            self.visitor.stmt(block, stmt, own)
        entries, result = self._results(block, loop, own)
        carried = {c.name: e for c, e in zip(loop.carries, entries, strict=False)}
        at_end = _at(loop, {**env, **carried}, turns.index + turns.step)
        wrong = len(entries) != len(loop.carries) + len(loop.stacked) or any(is_wrong(e.value) for e in entries)
        status = [Status.RESIDUAL] * len(loop.invariant)
        if not wrong:
            at_end |= {n: Entry(POISON, loop.span) for n in _refuted(loop)}  # it is told once
            grown = [self.growth.grown(loop, turns, i, env, at_end, older) for i in loop.invariant]
            status = [self._after(block, i, at_end, g) for i, g in zip(loop.invariant, grown, strict=True)]
        if not wrong:
            self._hold_tensors(block, loop, env, carried)
            self.ends[loop.span] = {name: settle(self.state, e).value for name, e in carried.items()}
        lasts = entries[len(loop.carries) :] if not wrong else [Entry(POISON, s.span) for s in loop.stacked]
        types = [self.stacks.told(block, s, e, scope) for s, e in zip(loop.stacked, lasts, strict=True)]
        pairs = list(zip(types, map(self._shape_of, lasts), strict=True))
        following = self._following(loop, turns, env, at_end, older)
        stacked = tuple(self.stacks.same(block, loop, s, g, turns, following, older) for s, g in pairs)
        shared = tuple(self.stacks.shared(s, g, older) for s, g in pairs)
        return status, shared, core.Block(loop.body.span, tuple(block.out.stmts), result), stacked

    def _any_turn(self, frame: Frame, loop: core.Loop, turns: Turns, env: Env) -> tuple[Turns, Env]:
        """What is known at the begin of a turn: the invariant, and that there is one."""
        inner = dict(env)
        if loop.index is not None:
            nonneg = self.prover.decide(ge(turns.start, 0)) is True
            turns = replace(turns, index=self.state.size(loop.index, nonneg=nonneg))
            self.state.unsure = True
            for fact in () if over() else _in_range(turns):
                self.state.assume(fact)
        for carry in loop.carries:
            inner[carry.name] = Entry(unknown(self.state, carry.sort, carry.name), carry.span)
        inner = _at(loop, inner, turns.index)
        self.visitor.assume_all(frame.block(), map(_assertion, loop.invariant), inner, name_dims=True)
        for carry in loop.carries:
            entry = inner[carry.name]
            entry = replace(entry, value=self.carried[loop.span].at(carry.name, entry.value))
            self.bindings.bind(frame, inner, carry.name, entry, carry.span)
        return turns, inner

    def _hold_tensors(self, frame: Frame, loop: core.Loop, inner: Env, given: Env) -> None:
        """What is carried, or carried on, holds others only where its type says so."""
        for carry in loop.carries:
            if may_hold(self.state, given[carry.name].value) and not may_hold(self.state, inner[carry.name].value):
                self.prover.judge(frame, False, Claim(no_holder(carry.name, carry.span), given), claim=True)

    def _surely(self, loop: core.Loop, turns: Turns, at_entry: Env) -> Cond | None:
        """The condition on sizes under which there is a turn; None where something else decides it."""
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

    def _firsts(self, loop: core.Loop, turns: Turns, env: Env, at_entry: Env) -> list[Cond]:
        """What the sizes that change from turn to turn are in the first one."""
        found = [] if loop.index is None else [eq(turns.index, turns.start)]
        for carry in loop.carries:
            found += map(eq, self._sizes(env, carry), self._sizes(at_entry, carry))
        return found

    def _condition(self, frame: Frame, loop: core.Loop, env: Env) -> tuple[core.Block | None, bool | None]:
        """The condition of a turn, which holds in it; and whether it holds or fails before each turn, where that is known."""
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
        """A condition over sizes holds in the turn that follows. What it was before that, where it is known."""
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

    def _results(self, frame: Frame, loop: core.Loop, env: Env) -> tuple[list[Entry], core.Value]:
        """The values that a turn ends with, each where it is written."""
        result = loop.body.result
        if isinstance(result, core.TupleValue) and len(loop.carries) + len(loop.stacked) > 1:
            found = self.visitor.values(frame, result.items, env)
            return [e for e, _ in found], replace(result, items=tuple(v for _, v in found))
        entry, value = self.visitor.value(frame, result, env)
        if len(loop.carries) + len(loop.stacked) > 1 and isinstance(entry.value, TupleValue):
            return [Entry(item, entry.span) for item in entry.value.items], value
        return [entry], value

    # What is stacked

    def _outside(self, loop: core.Loop, env: Env) -> Scope:
        """The names that the type of what is stacked may speak of."""
        own = {c.name for c in loop.carries} | {loop.index or ""}
        return Scope(self.state, env, self.visitor.outside, None, own)

    def _shape_of(self, entry: Entry) -> Shape:
        return self.state.resolve(entry.value.shape) if isinstance(entry.value, TensorInfo) else ()

    def _following(self, loop: core.Loop, turns: Turns, env: Env, at_end: Env, older: int) -> dict[Var, Size]:
        """What stands in the next turn for the sizes that belong to a turn: the index, and those of the carries."""
        found: dict[Var, Size] = {}
        if loop.index is not None:
            found |= dict.fromkeys(variables(turns.index), turns.index + turns.step)
        for carry in loop.carries:
            for now, then in zip(self._sizes(env, carry), self._sizes(at_end, carry), strict=False):
                variable = single_var(now)
                if variable is not None and variable.serial > older:
                    found.setdefault(variable, then)
        return found

    def _sizes(self, env: Env, carry: core.Carry) -> Shape:
        """What a carry has of sizes."""
        value = env[carry.name].value
        if isinstance(value, SizeValue):
            return (self.state.settled(value.size),)
        shape = self._shape_of(env[carry.name])
        return shape if plain(shape) else ()

    # Behind the loop

    def _behind(
        self,
        frame: Frame,
        loop: core.Loop,
        turns: Turns,
        env: Env,
        shared: tuple[Shared, ...],
        *,
        never_ends: bool,
    ) -> Entry:
        """What the loop gives: of its carries the invariant is known, with the index that would come next; then the stacks."""
        if over():
            return self._unread(frame, loop)
        count = self._count(loop, turns)
        after = dict(env)
        for carry in loop.carries:
            after[carry.name] = Entry(unknown(self.state, carry.sort, "?"), loop.span)
        after = _at(loop, after, turns.start + count * turns.step)
        before = len(self.state.unnamed)
        promised = replace(frame, names=Names(self.state, opaque=True), out=frame.out.inner())
        self.visitor.assume_all(promised, map(_assertion, loop.invariant), after, name_dims=True)
        self._ended(loop, turns, count, after)
        for variable in self.state.unnamed[before:]:
            if variable in self.state.anonymous and variable not in self.state.opaque:
                self.state.opaque.begin(variable, None)
        if loop.range is None or (frame.inlined and frame.inlined[-1] not in self.program.sure):
            self.prover.hinder(frame)  # it may run for ever, or fail in a turn
        if never_ends and loop.range is None and not frame.quiet:
            self.prover.log.remark(endless(self.prover.function, loop))
        known = self.carried[loop.span]
        values = [known.at(c.name, settle(self.state, after[c.name]).value) for c in loop.carries]
        values += [
            self.stacks.stack(frame, s, shape, count, env) for s, shape in zip(loop.stacked, shared, strict=True)
        ]
        return Entry(values[0] if len(values) == 1 else TupleValue(tuple(values)), loop.span)

    def _unread(self, frame: Frame, loop: core.Loop) -> Entry:
        """What a loop gives that there are no steps for."""
        self.prover.hinder(frame)
        values = [unknown(self.state, c.sort, "?") for c in loop.carries]
        values += [unknown(self.state, core.TENSOR, "?") for _ in loop.stacked]
        return Entry(values[0] if len(values) == 1 else TupleValue(tuple(values)), loop.span)

    def _count(self, loop: core.Loop, turns: Turns) -> Size:
        """How many turns there are: what the range says, or what only the run decides."""
        most = self._most(turns)
        if loop.range is not None and loop.cond is None:
            return most
        count = self.state.size("?")
        self.state.opaque.begin(only_var(count), most if loop.range is not None else None)
        if loop.range is not None:
            self.state.assume(le(count, most))
        return count

    def _most(self, turns: Turns) -> Size:
        """How many turns a range has."""
        found = ceildiv(turns.stop - turns.start, turns.step)
        return found if self.prover.decide(ge(found, 0)) is True else smax(0, found)

    def _ended(self, loop: core.Loop, turns: Turns, count: Size, env: Env) -> None:
        """Behind a loop its condition does not hold, or its range is run through."""
        if loop.cond is None or loop.cond.stmts or not isinstance(loop.cond.result, core.BoolExpr):
            return None
        level, cond = ShapeLevel(self.state, env), loop.cond.result
        with suppress(Poisoned):  # of what has no value nothing is known
            if loop.range is None:
                return level.learn(cond, positive=False, reason=core.Not(cond.span, cond))
            truth = level.truth(cond)
            if not isinstance(truth, Undecided):
                self.state.assume(any_of(negate(truth), eq(count, self._most(turns))))
        return None


def _assertion(condition: core.Invariant) -> core.Assert:
    return core.Assert(condition.span, condition.cond, None, condition.origin)


def _in_range(turns: Turns) -> tuple[Cond, ...]:
    """What is known of the index in a turn."""
    passed = turns.index - turns.start
    return ge(turns.index, turns.start), lt(turns.index, turns.stop), eq(mod(passed, turns.step), 0)


def _at(loop: core.Loop, env: Env, index: Size) -> Env:
    """An environment that was made for this, in which the loop's index stands for a size."""
    if loop.index is not None:
        env[loop.index] = Entry(SizeValue(index), loop.span)
    return env


def _refuted(loop: core.Loop) -> set[str]:
    """The carries that break the invariant before the first turn."""
    broken = [i.origin.declared for i in loop.invariant if i.entry is Status.REFUTED]
    return {declared.tensor for declared in broken if declared is not None}


def _ends(loop: core.Loop, turns: Turns) -> tuple[tuple[str, Size], ...]:
    """The index in the first turn and in the last, where each of them comes if there is a turn, with how that is said."""
    if loop.index is None or loop.cond is not None:
        return ()
    last = turns.start + (ceildiv(turns.stop - turns.start, turns.step) - 1) * turns.step
    ends = (("first", turns.start), ("last", last))
    return tuple((f"in the {which} turn, where {loop.index} is {render(size)}", size) for which, size in ends)
