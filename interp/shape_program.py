"""A shape program run on numbers: from the shapes of arguments to those of results, without data."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, assert_never

import numpy as np

from ..lang import core
from .dps import Pair
from .steps import RESULT, Bind, Branch, Check, Compute, Invoke, Match, Stack, Step, every
from .words import evaluate

Argument = tuple[int, ...] | int
_COMPARED = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def result_shape(pair: Pair, arguments: Mapping[str, Argument]) -> tuple[int, ...] | None:
    """The shape of the tensor that a function gives, for arguments by their slots.

    None where it takes more to tell: the door does not let them in, a size is known in a later stage only, or what stands in
    the body may refuse them.
    """
    door = pair.stages[0]
    results = [built for stage in pair.stages for built in stage.built if built.slot == RESULT]
    alone = len(results) == 1 and results[0].is_whole and results[0] in door.built
    if not alone or pair.promises or not all(map(_is_certain, every(pair.data.body))):
        return None
    env: dict[str, Any] = {s: a if isinstance(a, int) else np.broadcast_to(0, a) for s, a in arguments.items()}
    try:
        if not _lets_in(pair, env):
            return None
        for slot, value in door.sizes:
            env[slot] = evaluate(value, env)
        return tuple(evaluate(d, env) for d in results[0].dims or () if d is not None)
    except (LookupError, ArithmeticError, ValueError, AttributeError):
        return None


def _lets_in(pair: Pair, env: dict[str, Any]) -> bool:
    """The checks of sizes at the door; what they bind comes into `env`. Nothing is known of dtypes."""
    if any(env[slot].ndim != rank for slot, rank in pair.stages[0].matched):
        return False
    for step in pair.data.entry:
        match step:
            case Bind(value=value, output=str() as slot) if isinstance(value, core.SizeExpr):
                env[slot] = evaluate(value, env)
            case Check(cond=core.Compare(left=left)) if isinstance(left, core.DTypeExpr):
                continue
            case Check(cond=cond) if _holds(cond, env):
                continue
            case _:
                return False
    return True


def _holds(cond: core.BoolExpr, env: Mapping[str, Any]) -> bool:
    """Whether a condition over sizes and shapes holds; what else there is does not hold here."""
    match cond:
        case core.BoolConst(value=value):
            return value
        case core.Not(operand=core.Compare() as compared):
            return _compared(compared, env) is False
        case core.Compare():
            return _compared(cond, env) is True
        case core.Logic(op=op, left=left, right=right):
            one = _holds(left, env)
            return (one and _holds(right, env)) if op == "&&" else (one or _holds(right, env))
        case core.BoolVar() | core.InClass() | core.Not():
            return False
        case _:
            assert_never(cond)


def _compared(cond: core.Compare, env: Mapping[str, Any]) -> bool | None:
    sides = [evaluate(e, env) for e in (cond.left, cond.right) if isinstance(e, core.SizeExpr | core.ShapeExpr)]
    return bool(_COMPARED[cond.op](*sides)) if len(sides) == 2 else None


def _is_certain(step: Step) -> bool:
    """Whether a step cannot refuse what it is given, and gives no tuple as the result, whatever the data is."""
    if isinstance(step, Compute):
        return not step.guard
    if isinstance(step, Bind):
        return step.output != RESULT or not isinstance(step.value, core.TupleValue)
    return not isinstance(step, Branch | Check | Invoke | Match | Stack)
