"""A carry that grows by the same size in each turn, and the annotation that describes it."""

from __future__ import annotations

from ..lang import core
from .frame import Turns
from .known.shape_level import Poisoned, ShapeLevel
from .known.values import Env, Shape, plain
from .solver.rendering import render, render_factor
from .solver.sizes import is_older
from .solver.terms import Size, over
from .visitor import VisitorPart


class Growth(VisitorPart):
    """Compares a condition of the invariant before and after a turn."""

    def grown(self, loop: core.Loop, turns: Turns, condition: core.Invariant, env: Env, at_end: Env, older: int) -> str:
        """Return a dimension that grows by the same size in each turn as its annotation would write it: `s + i * 2`; for a
        carry without an annotation, a shape of such dimensions."""
        if loop.index is None or over():
            return ""
        cond, before, after = condition.cond, ShapeLevel(self.state, env), ShapeLevel(self.state, at_end)
        try:
            match cond:
                case core.Compare(op="==", left=core.DimOf() as dim, right=asked) if isinstance(asked, core.SizeExpr):
                    more = self.state.settled(after.size(dim)) - self.state.settled(before.size(dim))
                    more = more - (after.size(asked) - before.size(asked))
                    return self._growing(loop, turns, condition.origin.text, more, older)
                case core.Compare(op="==", left=core.ShapeOf() as shape, right=core.ShapeOf() as kept):
                    return self._growing_shape(loop, turns, before.shape(kept), after.shape(shape), older)
        except Poisoned:
            pass
        return ""

    def _growing_shape(self, loop: core.Loop, turns: Turns, first: Shape, last: Shape, older: int) -> str:
        if len(first) != len(last) or not plain((*first, *last)):
            return ""
        pairs = [(self.state.settled(a), self.state.settled(b)) for a, b in zip(first, last, strict=True)]
        dims = [render(a) if a == b else self._growing(loop, turns, render(a), b - a, older) for a, b in pairs]
        return f"[{', '.join(dims)}]" if all(dims) else ""

    def _growing(self, loop: core.Loop, turns: Turns, text: str, more: Size, older: int) -> str:
        """`s + i * 2` for a size that was s and gets two more in each turn; empty for others."""
        if more == 0 or not is_older(more, older):
            return ""
        turn = str(loop.index) if turns.start == 0 else f"({loop.index} - {render_factor(turns.start)})"
        turn = turn if turns.step == 1 else f"{turn} // {render_factor(turns.step)}"
        grows = turn if more == 1 else f"{turn} * {render_factor(more)}"
        return grows if text == "0" else f"{text} + {grows}"
