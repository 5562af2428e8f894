"""Calls that no sizes make right: the trace goes on without their results, to find mistakes that do not depend on these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .ruled import opaque
from .sizes import hint_of
from .tensors import all_traced
from .values import Impossible

if TYPE_CHECKING:
    from .trace import Tracer

# The most such calls in one run: a loop may wait for a size that none of them makes.
_MOST = 4


def instead(tracer: Tracer, problem: Impossible, given: Any) -> Any:
    """A tensor with the rank of the first operand and unknown sizes; raises the problem where there is none."""
    tracer.write(f"let {tracer.names.fresh('never')} = {problem.text}")
    tracer.impossible += 1
    first = next(all_traced(given), None)
    if first is None or tracer.impossible == _MOST:
        raise problem
    shape = tuple(tracer.fresh(hint_of(size)) for size in first.shape)
    return tracer.given(opaque(tracer, (), shape, first.value.dtype))
