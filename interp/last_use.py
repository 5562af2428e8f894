"""From steps to the same steps, each with the slots that nothing reads after it; steps that nothing reads and that cannot
fail are left out.

Last use crosses lists. A slot from outside that an arm reads, and nothing reads after the arms, ends in that arm, and at the
beginning of another arm that does not read it. A slot that a turn of a loop reads from outside lives until the loop ends; a
carry ends at its last read in a turn.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import assert_never

from ..lang.node import replace
from .core_uses import names_of
from .steps import (
    RESULT,
    Bind,
    Branch,
    Closure,
    Compute,
    Invoke,
    LoopStep,
    Match,
    ReadSizes,
    Stack,
    Step,
    StepBlock,
    StepCheck,
    blocks,
    every,
    inside,
    outputs,
    reads,
)

# The slots that are read later: here, and after each enclosing arm.
Live = tuple[set[str], ...]


def released(block: StepBlock, held: Collection[str], *, keep: bool = False) -> StepBlock:
    """A routine's body with its last uses. Slots in `held` never end; with `keep` no step is left out."""
    return _LastUse(frozenset(held), keep).block(block, ({RESULT},))[0]


class _LastUse:
    def __init__(self, held: frozenset[str], keep: bool) -> None:
        self.held, self.keep = held, keep

    def block(self, block: StepBlock, after: Live) -> tuple[StepBlock, set[str]]:
        """The block, and the slots that it reads from outside and nothing reads after it."""
        live: set[str] = set()
        around = (live, *after)
        steps: list[Step] = []
        for step in reversed(block.steps):
            bound = outputs(step)
            given = (step.output,) if isinstance(step, Stack) else bound
            if not self.keep and not any(_is_read(slot, around) for slot in given) and _is_pure(step):
                continue
            ended = [slot for slot in bound if not _is_read(slot, around)] if not isinstance(step, Branch) else []
            if isinstance(step, Branch):
                step = self._arms(step, live, around)
            live.difference_update(bound)
            if isinstance(step, LoopStep):
                step = self._turns(step, around)
                used = [slot for slot in _from_outside(step) if not _is_read(slot, around)]
                live.update(step.carries)
            else:
                used = [slot for slot in reads(step) if not _is_read(slot, around)]
            live.update(used)
            last = sorted(slot for slot in (*ended, *used) if slot not in self.held)
            steps.append(replace(step, last=tuple(last)) if last else step)
        return StepBlock(tuple(reversed(steps))), live

    def _arms(self, step: Branch, live: set[str], around: Live) -> Branch:
        then, by_then = self.block(step.then, around)
        orelse, by_orelse = self.block(step.orelse, around)
        live |= by_then | by_orelse
        dead_then, dead_orelse = (tuple(sorted(s - self.held)) for s in (by_orelse - by_then, by_then - by_orelse))
        return replace(step, then=replace(then, dead=dead_then), orelse=replace(orelse, dead=dead_orelse))

    def _turns(self, step: LoopStep, around: Live) -> LoopStep:
        """A loop's lists: its condition reads all carries, a turn may end them."""
        outside = set(_from_outside(step))
        buffers = {s.output for s in step.stacked}
        body, by_body = self.block(step.body, ({*step.following, *buffers}, outside, *around))
        carried = set(step.carries)
        unread = carried - by_body - set(step.following) - self.held
        cond, _ = self.block(step.cond, (carried | names_of(step.test), outside, *around))
        bound = {slot for made in every(body) for slot in outputs(made)}
        dropped = (bound & set(step.following)) - carried - self.held
        return replace(step, cond=cond, body=replace(body, dead=tuple(sorted(unread))), dropped=tuple(sorted(dropped)))


def _from_outside(step: LoopStep) -> list[str]:
    """The slots that a loop reads from the steps before it, without the first values of its carries."""
    return [slot for slot in inside(StepBlock((step,))) if slot not in step.carries]


def _is_read(slot: str, live: Live) -> bool:
    for slots in live:  # noqa: SIM110 - asked of every slot, and a generator takes four times as long
        if slot in slots:
            return True
    return False


def _is_pure(step: Step) -> bool:
    """Whether a step does nothing but give a value: it ends, and nothing in it can fail."""
    match step:
        case Match(checked=checked) | Stack(checked=checked):
            return not checked
        case Compute(call=call):
            return call.sure
        case Invoke(sure=sure) | Bind(sure=sure):
            return sure
        case LoopStep():
            return step.range is not None and all(_is_pure(s) for block in blocks(step) for s in every(block))
        case ReadSizes() | Closure():
            return True
        case Branch():
            return all(map(_is_pure, (s for block in blocks(step) for s in block.steps)))
        case StepCheck():
            return False
        case _:
            assert_never(step)
