"""Steps in order to the same steps, some of which write their result into the memory of an operand that ends there.

Only an element-wise step does, and only into a tensor of the result's shape and dtype that a step before made in memory of its
own and that nothing but kernels has read: no view of it, no other name, no function and no result can share it. It lies row by
row, as the result would without it, so that all that follows gives the same to the last bit.
"""

from __future__ import annotations

from ..lang import core
from ..lang.node import replace
from .kernels.registry import EXACT, FRESH, lookup
from .steps import Block, Branch, Check, Compute, Loop, Match, Read, Step, every, outputs, reads

_ONE_LOOP = ("float", "int", "uint", "bool")


def reused(block: Block) -> Block:
    """A routine's body, in which last uses are known."""
    lookup("add")  # the families tell what their kernels allocate when they are loaded
    if not any(isinstance(step, Compute) and step.row.name in EXACT and step.last for step in every(block)):
        return block
    return _Reuse(block).block(block)


class _Reuse:
    def __init__(self, block: Block) -> None:
        # Slots whose tensor something else may share: a step reads it that may keep it.
        self.shared: set[str] = set()
        # Tensors that were made in memory of their own, row by row, with what is known of them.
        self.rows: dict[str, core.Known] = {}
        # Slots that two arms bind, or a loop after each turn.
        self.joined: set[str] = set()
        bound: set[str] = set()
        for step in every(block):
            if not isinstance(step, Check | Match | Read | Branch) and not _is_fresh(step):
                self.shared |= reads(step)
            self.joined.update(slot for slot in outputs(step) if slot in bound)
            bound.update(outputs(step))

    def block(self, block: Block) -> Block:
        return replace(block, steps=tuple(map(self._step, block.steps)))

    def _step(self, step: Step) -> Step:
        if isinstance(step, Branch):
            return replace(step, then=self.block(step.then), orelse=self.block(step.orelse))
        if isinstance(step, Loop):
            return replace(step, cond=self.block(step.cond), body=self.block(step.body))
        if not isinstance(step, Compute) or not _is_fresh(step) or step.known is None:
            return step
        into = next((slot for slot in step.last if self._may_take(step, slot)), None)
        if isinstance(step.output, str) and step.output not in self.joined and self._is_in_rows(step, step.known):
            self.rows[step.output] = step.known
        return step if into is None else replace(step, into=into)

    def _may_take(self, step: Compute, slot: str) -> bool:
        known = self.rows.get(slot)
        if step.row.name not in EXACT or slot in self.shared or known is None or step.known is None or not known.shape:
            return False
        if not isinstance(known.dtype, core.DTypeLit) or known.dtype.dtype.kind not in _ONE_LOOP:
            return False
        return known.shape == step.known.shape and known.dtype == step.known.dtype

    def _is_in_rows(self, step: Compute, known: core.Known) -> bool:
        """Whether the result lies row by row."""
        operands = [self.rows.get(v.name) if isinstance(v, core.Var) else None for v in step.inputs]
        match FRESH[step.row.name]:
            case "always":
                return True
            case "matrix":
                return known.shape is not None and len(known.shape) <= 2
            case "first":
                return operands[0] is not None
        return known.shape is not None and any(o is not None and o.shape == known.shape for o in operands)


def _is_fresh(step: Step) -> bool:
    return isinstance(step, Compute) and step.row.name in FRESH
