"""Loops after the end of a program's budget: a turn is read once, and the run decides its checks."""

from __future__ import annotations

from ..lang import core
from ..lang.core import Status
from ..lang.node import replace
from .behind import left_open
from .frame import Frame
from .known.fresh import unknown
from .known.values import UNDECIDED, Entry, Env, SizeValue, is_wrong
from .messages.claims import AFTER, BEFORE, Claim, SharedBy, ToldBy
from .opaque import pinned, typed
from .solver.terms import A_TURN, stride
from .turns import AnyTurn, assertion, at
from .visitor import Visitor, VisitorPart


class UnreadLoop(VisitorPart):
    """Reads a loop for which no steps are left."""

    def __init__(self, visitor: Visitor, any_turn: AnyTurn) -> None:
        super().__init__(visitor)
        self.any_turn = any_turn

    def entry(self, frame: Frame, loop: core.Loop, firsts: Env, env: Env) -> tuple[Entry, core.Value]:
        """Return an unknown value for the loop, and the loop with all its checks left to the run."""
        if not frame.inlined:
            stride(A_TURN)
            loop = self._before(frame, loop, firsts, env)
            self.state.push()
            since = self.bindings.mark()
            loop = self._turn(frame.arm(None), loop, firsts, dict(env))
            self.bindings.close(since)
            self.state.pop()
        return left_open(self, frame, loop), loop

    def _before(self, frame: Frame, loop: core.Loop, firsts: Env, env: Env) -> core.Loop:
        begun = {**env, **firsts} if loop.invariant else firsts
        before = self._claimed(frame, loop, begun, BEFORE)
        return replace(loop, invariant=tuple(replace(i, entry=s) for i, s in zip(loop.invariant, before, strict=True)))

    def _turn(self, frame: Frame, loop: core.Loop, firsts: Env, env: Env) -> core.Loop:
        """Read one turn for all of them, in an environment that was made for it."""
        index = self.state.size(loop.index, nonneg=False) if loop.index is not None else 0
        said = pinned(map(assertion, loop.invariant))
        carried = {c.name: Entry(unknown(self.state, c.sort, c.name), c.span) for c in loop.carries}
        carried |= {n: replace(carried[n], value=typed(carried[n].value, said[n])) for n in said.keys() & carried}
        self.any_turn.hold_tensors(frame, loop, carried, firsts)
        for name, entry in carried.items():
            self.bindings.bind(frame, env, name, entry, entry.span)
        known = self.bindings.written.known
        carries = tuple(replace(c, known=known(carried[c.name].value)) for c in loop.carries)
        loop = replace(loop, carries=carries, known=known(SizeValue(index)))
        cond, _ = self.any_turn.condition(frame, loop, at(loop, env, index))
        loop = self._body(frame, replace(loop, cond=cond), carried, env)
        self.state.names.give_back(index)
        return loop

    def _body(self, frame: Frame, loop: core.Loop, carried: Env, env: Env) -> core.Loop:
        """Read the body, and leave the checks at its end to the run."""
        block = frame.block()
        for stmt in loop.body.stmts:
            self.visitor.stmt(block, stmt, env)
        entries, result = self.any_turn.results(block, loop, env)
        after = [Status.RESIDUAL] * len(loop.invariant)
        wrong = len(entries) != len(loop.carries) + len(loop.stacked) or any(is_wrong(e.value) for e in entries)
        if not wrong:
            ends = {c.name: e for c, e in zip(loop.carries, entries, strict=False)}
            after = self._claimed(block, loop, env | ends if loop.invariant else env, AFTER)
            self.any_turn.hold_tensors(block, loop, carried, ends)
        return replace(
            loop,
            invariant=tuple(replace(i, turn=s) for i, s in zip(loop.invariant, after, strict=True)),
            stacked=loop.stacked if wrong else tuple(self._stacked(block, s) for s in loop.stacked),
            body=core.Block(loop.body.span, tuple(block.out.stmts), result),
        )

    def _claimed(self, frame: Frame, loop: core.Loop, env: Env, when: str) -> list[Status]:
        return [self._open(frame, Claim(assertion(i), env, when=when)) for i in loop.invariant]

    def _stacked(self, frame: Frame, stacked: core.Stacked) -> core.Stacked:
        """Leave to the run the properties of a stack that only the turns tell."""
        if stacked.dtype is None:
            return replace(stacked, status=self._open(frame, ToldBy(stacked.span, stacked.name, "rank")))
        if None in stacked.shape:
            return replace(stacked, status=self._open(frame, SharedBy(stacked.span, stacked.name, None)))
        return replace(stacked, status=Status.PROVED)

    def _open(self, frame: Frame, asked: Claim | SharedBy | ToldBy) -> Status:
        return self.prover.judge(frame, UNDECIDED, asked, claim=True, empty_rule=False)[0]
