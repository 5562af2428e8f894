"""From steps to the same steps, some of which write their result into the memory of an operand that ends there.

A step does so only if its kernel can, and only into a tensor of the result's shape and dtype that an earlier step, or a
function that it called, made in its own memory and that only kernels have read: no view, other name, function or result can
share it. The tensor is row-major, as the result would be without reuse, so that all later results are the same to the last
bit.

A carry of a loop is such a tensor if its first value is, and if each turn gives one of the same shape: nothing else holds it,
for a turn keeps nothing of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from ..lang import core
from ..lang.node import replace
from .allocation import FRESH, INTO
from .steps import (
    Bind,
    Branch,
    Compute,
    Invoke,
    LoopStep,
    Match,
    ReadSizes,
    Stack,
    Step,
    StepBlock,
    StepCheck,
    every,
    outputs,
    reads,
    with_blocks,
)

_NOTHING: Mapping[str, core.Known] = {}
_ONE_LOOP = ("float", "int", "uint", "bool")


def reused(
    block: StepBlock, known: Mapping[str, core.Known] = _NOTHING, makers: Collection[str] = ()
) -> tuple[StepBlock, set[str]]:
    """A routine's body, whose last uses are known, with reuse; and the slots that one step alone binds, to a row-major tensor
    in its own memory. `makers` are the functions that give such tensors, `known` has the facts about slots."""
    found = _Reuse(block, known, makers)
    return found.block(block), set(found.rows)


class _Reuse:
    def __init__(self, block: StepBlock, known: Mapping[str, core.Known], makers: Collection[str]) -> None:
        self.known, self.makers = known, makers
        # Slots whose tensor may be shared: a step that may keep it reads it.
        self.shared = _shared(block)
        # Row-major tensors in their own memory, with the facts about them.
        self.rows: dict[str, core.Known] = {}
        # The same for slots that have several bindings: of arms, or of a loop's carries.
        self.first: dict[str, core.Known] = {}
        # The carries of the enclosing loop that nothing else holds.
        self.owned: dict[str, core.Known] = {}
        self.bindings = Counter(slot for step in every(block) for slot in outputs(step))

    def block(self, block: StepBlock) -> StepBlock:
        return replace(block, steps=tuple(map(self._step, block.steps)))

    def _step(self, step: Step) -> Step:
        match step:
            case Compute(known=known) if known is not None and _is_fresh(step):
                return self._computed(step, known)
            case Branch():
                return with_blocks(step, self.block)
            case LoopStep():
                return self._loop(step)
            case Bind():
                return self._moved(step)
            case Invoke():
                return self._given(step)
        return step

    def _computed(self, step: Compute, known: core.Known) -> Compute:
        into = next((slot for slot in step.last if self._may_take(step, slot)), None)
        if isinstance(step.output, str) and self._is_in_rows(step, known):
            self._made(step.output, known)
        return step if into is None else replace(step, into=into)

    def _moved(self, step: Bind) -> Bind:
        if _is_move(step) and isinstance(step.value, core.Var) and isinstance(step.output, str):
            known = self.rows.get(step.value.name)
            if known is not None and step.value.name not in self.shared:
                self._made(step.output, known)
        return step

    def _given(self, step: Invoke) -> Invoke:
        if step.callee in self.makers and step.way in ("checked", "decided") and isinstance(step.output, str):
            known = self.known.get(step.output)
            if known is not None:
                self._made(step.output, known)
        return step

    def _made(self, slot: str, known: core.Known) -> None:
        table = self.rows if self.bindings[slot] == 1 else self.first
        table[slot] = known

    # Loops

    def _loop(self, step: LoopStep) -> Step:
        """Write a loop. A turn may write into its carries if each turn gives tensors that may be written into, which is known
        after the turn."""
        before, owned = dict(self.rows), self._owned(step)
        done = self._turns(step, owned)
        if not all(_alike(self.rows.get(following), self.first[carry]) for carry, following in owned.items()):
            self.rows = before
            done = self._turns(step, ())
        return done

    def _turns(self, step: LoopStep, owned: Iterable[str]) -> Step:
        self.owned = {carry: self.first[carry] for carry in owned}
        done = with_blocks(step, self.block)
        self.owned = {}
        return done

    def _owned(self, step: LoopStep) -> dict[str, str]:
        """The carries that nothing else may hold, in any turn, with their next values. Only of innermost loops: the turns of
        one are processed twice."""
        if any(isinstance(inner, LoopStep) for inner in every(step.body)):
            return {}
        shared = _shared(step.cond) | _shared(step.body)
        pairs = zip(step.carries, step.following, strict=True)
        return {
            carry: following
            for carry, following in pairs
            if carry in self.first and self.bindings[carry] == 2 and self.bindings[following] == 1
            and shared.isdisjoint((carry, following)) and step.following.count(following) == 1
        }  # fmt: skip

    def _may_take(self, step: Compute, slot: str) -> bool:
        known = self.owned.get(slot) or (self.rows.get(slot) if slot not in self.shared else None)
        if step.row.name not in INTO or known is None or step.known is None or not known.shape:
            return False
        if not isinstance(known.dtype, core.DTypeLit) or known.dtype.dtype.kind not in _ONE_LOOP:
            return False
        return known.shape == step.known.shape and known.dtype == step.known.dtype

    def _is_in_rows(self, step: Compute, known: core.Known) -> bool:
        """Whether the result is row-major."""
        slots = [v.name if isinstance(v, core.Var) else "" for v in step.inputs]
        operands = [self.owned.get(slot) or self.rows.get(slot) for slot in slots]
        match FRESH[step.row.name]:
            case "always":
                return True
            case "matrix":
                return known.shape is not None
            case "first":
                return operands[0] is not None
        return known.shape is not None and any(o is not None and o.shape == known.shape for o in operands)


def _shared(block: StepBlock) -> set[str]:
    """The slots that are read by steps that may keep them."""
    return {slot for step in every(block) if not _keeps_nothing(step) for slot in reads(step)}


def _keeps_nothing(step: Step) -> bool:
    match step:
        case Compute():
            return _is_fresh(step)
        case Bind():
            return _is_move(step) or isinstance(step.value, core.ShapeLevel)
        case Stack():
            return step.total is not None  # it is copied
    return isinstance(step, StepCheck | Match | ReadSizes | Branch)


def _is_move(step: Step) -> bool:
    """Whether a step renames a tensor whose old name ends."""
    return isinstance(step, Bind) and isinstance(step.value, core.Var) and step.value.name in step.last


def _alike(a: core.Known | None, b: core.Known) -> bool:
    return a is not None and a.shape == b.shape and a.dtype == b.dtype


def _is_fresh(step: Compute) -> bool:
    return step.row.name in FRESH
