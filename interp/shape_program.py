"""A shape program run on numbers: from the shapes of arguments to those of results, without data."""

from __future__ import annotations

from collections.abc import Mapping

from ..lang import core
from ..lang.node import replace
from ..ops.model import TensorInfo
from ..sizes.integers import Undefined
from ..sizes.partial import Open
from . import partial_sizes
from .by_shapes import Routines
from .dps import Pair
from .partial_sizes import Value
from .steps import RESULT, Bind, Branch, Invoke, Step, StepCheck, asks, every

Argument = tuple[int, ...] | int


def result_shape(pair: Pair, arguments: Mapping[str, Argument]) -> tuple[int, ...] | None:
    """The shape of the tensor that a function returns, for arguments by their slots.

    None if shapes do not decide: the entry check refuses them, a size is known in a later stage only, or a step of the body
    may refuse them.
    """
    entry_check = pair.stages[0]
    results = [built for stage in pair.stages for built in stage.built if built.slot == RESULT]
    alone = len(results) == 1 and results[0].is_whole and results[0] in entry_check.built
    if not alone or pair.promises or not all(map(_is_certain, every(pair.data.body))):
        return None
    given: list[Value] = [_info(arguments[slot]) for slot in pair.data.params]
    entry = tuple(step for step in pair.data.entry if not _compares_dtypes(step))
    state, fits = Routines([replace(pair.data, entry=entry)], {}).enter(pair.data.name, given)
    ranks = [len(partial_sizes.tensor(state, slot).shape) == rank for slot, rank in entry_check.matched]
    if not fits or not all(ranks):
        return None
    try:
        for slot, size in entry_check.sizes:
            state.bind(slot, partial_sizes.shape_level(size, state))
        return tuple(partial_sizes.shape_level(d, state) for d in results[0].dims or () if d is not None)
    except (Open, Undefined):
        return None


def _info(argument: Argument) -> Value:
    return argument if isinstance(argument, int) else TensorInfo(argument, None)


def _compares_dtypes(step: Step) -> bool:
    """Whether a step compares dtypes: they are unknown, and no shape depends on one."""
    return (
        isinstance(step, StepCheck)
        and isinstance(step.cond, core.Compare)
        and isinstance(step.cond.left, core.DTypeExpr)
    )


def _is_certain(step: Step) -> bool:
    """Whether a step refuses no operands, and returns no tuple as the result, for any data."""
    if isinstance(step, Bind):
        return step.output != RESULT or not isinstance(step.value, core.TupleValue)
    return not asks(step) and not isinstance(step, Branch | Invoke)
