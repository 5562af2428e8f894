"""Numbers for the sizes of a function, as its signature allows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, permutations

from ...lang import sweet
from ..tree import TextTree
from .evaluator import Evaluator
from .values import Env, Misfit, Untold, size_of

# Far enough apart that a combination of some is seldom another one, and larger than windows need.
_NUMBERS = (71, 149, 331, 733, 1601, 3491, 97, 211, 467, 1009, 2203, 83, 181, 397, 859, 1867, 109, 239, 521, 1129)
_MOST_ASSIGNMENTS = 60


def assignments(tree: TextTree, fn: sweet.Fn, factor: int = 1) -> Iterator[Env]:
    """Yield numbers for the sizes of a function that its signature allows, each a multiple of the factor."""
    evaluator = Evaluator(tree)
    try:
        names = evaluator.names_of(fn)
    except Untold:
        return
    if len(names) > len(_NUMBERS):
        return
    for numbers in islice(_orders(len(names)), _MOST_ASSIGNMENTS):
        env: Env = evaluator.consts | {name: number * factor for name, number in zip(names, numbers, strict=True)}
        with suppress(Untold, Misfit):
            for cond in fn.where:
                _make_hold(evaluator, cond, env)
        if all(evaluator.holds(cond, env) for cond in fn.where):
            yield env


def _orders(count: int) -> Iterator[tuple[int, ...]]:
    """Yield numbers in rising, falling and other orders."""
    own = tuple(sorted(_NUMBERS[:count]))
    yield own
    yield from permutations(own[::-1])


def _make_hold(evaluator: Evaluator, cond: sweet.Expr, env: Env) -> None:
    """Change a size that has to be a multiple, or equal to another one."""
    match cond:
        case sweet.Binary(op="&&", left=left, right=right):
            _make_hold(evaluator, left, env)
            _make_hold(evaluator, right, env)
        case sweet.Binary(op="==", left=sweet.Binary(op="%", left=sweet.Name(name=name), right=of)) if name in env:
            if not evaluator.holds(cond, env):
                env[name] *= size_of(evaluator.value(of, env))
        case sweet.Binary(op="==", left=sweet.Name(name=name), right=right) if name in env:
            env[name] = evaluator.value(right, env)
