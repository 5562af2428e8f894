"""Arguments for a checked function that it takes, drawn from what its entry asks: for programs that nobody wrote calls for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import rxlang as rx
from rxlang.interp.arguments import asked_on_entry
from rxlang.interp.dtypes import numpy_dtype
from rxlang.interp.partial_sizes import Open, shape_level
from rxlang.lang import core
from rxlang.ops.model import TensorInfo

# The sizes that are drawn from, with 0 and 1 among them, and those that are all apart.
POOLS = ((1,), (0, 1, 2, 3), (2, 3, 4, 5, 6), (0, 2, 4), (2, 4, 8), (4, 8, 16, 32))
TRIES = 8


class Unknown(Exception):
    """A function whose arguments cannot be drawn."""


class _State(dict[str, Any]):
    def bind(self, slot: str, value: Any) -> None:
        self[slot] = value

    def branched(self) -> _State:
        return _State(self)


def _equal(stmts: Sequence[Any]) -> Any:
    """The equalities of an entry, in order."""
    for stmt in stmts:
        if isinstance(stmt, core.Assert) and isinstance(stmt.cond, core.Compare) and stmt.cond.op == "==":
            yield stmt.cond.left, stmt.cond.right


def arguments(function: core.Function, pool: Sequence[int], seed: int) -> list[Any]:
    """Arguments whose sizes are of the pool where nothing tells them; whether they fit, a call says."""
    random = np.random.default_rng(seed)
    entry_check = asked_on_entry(function)
    ranks = {
        left.tensor: right.value
        for left, right in _equal(function.checks)
        if isinstance(left, core.RankOf) and isinstance(right, core.SizeLit)
    }
    state = _State()
    for name, rank in ranks.items():
        state[name] = TensorInfo(tuple(int(random.choice(pool)) for _ in range(rank)), entry_check.dtypes.get(name))
    for param in function.params:
        if param.sort == core.SIZE:
            state[param.name] = int(random.choice(pool))
    for left, right in _equal(function.checks):
        _make_equal(left, right, state)
    return [_argument(p.sort, p.name, entry_check, state, random) for p in function.params]


def _make_equal(left: Any, right: Any, state: _State) -> None:
    for one, other in ((left, right), (right, left)):
        try:
            value = shape_level(other, state)
        except (Open, LookupError, ArithmeticError):
            continue
        if isinstance(one, core.DimOf) and one.tensor in state and isinstance(value, int):
            shape = list(state[one.tensor].shape)
            shape[one.axis] = value
            state[one.tensor] = TensorInfo(tuple(shape), state[one.tensor].dtype)
            return
        if isinstance(one, core.SizeVar) and isinstance(value, int):
            state[one.name] = value
            return


def _argument(sort: Any, name: str, entry_check: Any, state: _State, random: Any) -> Any:
    if isinstance(sort, core.TupleSort):
        return tuple(
            _argument(s, entry_check.part(name, i), entry_check, state, random) for i, s in enumerate(sort.items)
        )
    if sort == core.SIZE:
        return state.get(name, 1)
    if sort != core.TENSOR or name not in state or state[name].dtype is None or min(state[name].shape, default=0) < 0:
        raise Unknown(name)
    shape, dtype = state[name].shape, state[name].dtype
    made = random.normal(size=shape) if dtype.kind in ("float", "complex") else random.integers(0, 2, shape)
    return np.asarray(made).astype(numpy_dtype(dtype))


def calls(module: rx.Module, name: str, count: int = 3) -> list[list[Any]]:
    """Arguments of different sizes that NumPy takes; fewer than `count` where few are found."""
    function, found = module[name]._core, []
    for pool in POOLS:
        for seed in range(TRIES):
            args = arguments(function, pool, seed)
            try:
                with np.errstate(all="ignore"):
                    module[name](*args)
            except (rx.ShapeError, TypeError):
                continue
            found.append(args)
            break
    return found[-count:] if len(found) > count else found
