"""Rule and kernel of every primitive agree: one accepts what the other does, and the result is what was predicted."""

from __future__ import annotations

import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from rxlang.interp import guards
from rxlang.interp.arguments import is_plain
from rxlang.interp.dtypes import dtype_of
from rxlang.interp.guards import guard, make_guard
from rxlang.interp.kernels import registry as kernels
from rxlang.lang.node import replace
from rxlang.ops import registry
from rxlang.ops.ground import GroundCtx, GroundResult, Violation, evaluate
from rxlang.ops.model import Primitive, PrimitiveParam, TensorInfo
from support import fuzz, ops, random_calls

# Primitives that may refuse a call for what its elements are.
BY_ELEMENTS = {
    "pow", "cast", "full", "full_like", "take", "take_along_axis", "gather_elements", "gather_nd",
    "scatter_nd", "scatter_elements", "put", "embedding", "truncate", "nll_loss", "cross_entropy_loss",
    "inv", "solve", "matrix_power", "cholesky", "quantile", "bincount",
    "roi_align", "reverse_sequence", "ctc_loss", "segment_sum", "segment_mean", "segment_max", "segment_min", "gather_slices",
    "scatter_slices", "repeat_each",
}  # fmt: skip


class OpenCtx(GroundCtx):
    """A size that the data decides is an Unknown with its bounds."""

    def fresh(self, name: str, at_least: Any = 0, at_most: Any = None) -> Any:
        return ops.Unknown(at_least, at_most)

    def element(self, at_least: Any, at_most: Any) -> Any:
        return ops.Unknown(at_least, at_most)


def as_run(value: Any) -> Any:
    """A tensor as a guard knows it, which looks at the elements of one of rank 1 at most."""
    is_large = isinstance(value, TensorInfo) and len(value.shape) > 1
    return replace(value, data=None) if is_large else value


def outcome(row: Primitive, values: dict[str, Any]) -> str:
    """Whether a call is refused by its rule, refused for its elements, or computed; fails where rule and kernel differ."""
    args = [ops.for_kernel(p, values.get(p.name, p.default)) for p in row.params]
    try:
        predicted = evaluate(row, {n: as_run(v) for n, v in ops.infos(row, values).items()}, OpenCtx())
    except Violation as violation:
        with pytest.raises(Violation) as caught:
            guard(row, args)
        assert str(caught.value) == str(violation)
        return "refused"
    guard(row, args)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = kernels.lookup(row.name)(*args)
    except kernels.BadValue as problem:
        assert row.name in BY_ELEMENTS, problem
        return "bad value"
    _same(predicted, made)
    if row.name in kernels.DIRECT and all(is_plain(a) for a in args) and not any(map(_is_given, row.params, args)):
        with np.errstate(all="ignore"):
            operands = [a for p, a in zip(row.params, args, strict=True) if p.required]
            _same(predicted, getattr(np, kernels.DIRECT[row.name])(*operands))
    return "computed"


def _is_given(param: PrimitiveParam, value: Any) -> bool:
    return not param.required and value != param.default


def _same(predicted: GroundResult, made: Any) -> None:
    if predicted.size is not None:
        assert type(made) is int
        return
    results = made if isinstance(made, tuple) else (made,)
    for result, tensor in zip(results, predicted.tensors, strict=True):
        assert isinstance(result, np.ndarray | np.generic)
        assert dtype_of(result.dtype) == tensor.dtype
        assert len(result.shape) == len(tensor.shape)
        for size, wanted in zip(result.shape, tensor.shape, strict=True):
            assert wanted.admits(size, {}) if isinstance(wanted, ops.Unknown) else size == wanted
        if tensor.data is not None:
            for found, wanted in zip(np.ravel(result).tolist(), tensor.data, strict=True):
                known = wanted is None or isinstance(wanted, ops.Unknown) or ops.is_element(wanted, found)
                assert known and (not isinstance(wanted, ops.Unknown) or wanted.admits(found, {}))


@pytest.mark.parametrize("name", registry.names())
def test_a_call_that_the_rule_accepts_is_computed_as_predicted(name: str) -> None:
    row = ops.row_of(name)
    counts: Counter[str] = Counter()
    for case in fuzz.cases("kernels"):
        with case as n:
            random = np.random.default_rng((zlib.crc32(name.encode()), n))
            values = random_calls.draw_call(random, row)
            try:
                counts[outcome(row, values)] += 1
            except Exception as problem:
                shown = {
                    k: (v.dtype, v.shape, v.tolist()) if isinstance(v, np.ndarray) else v for k, v in values.items()
                }
                problem.add_note(f"@{name} of {shown}")
                raise
    assert counts["computed"] >= fuzz.tries("kernels") // 20, counts


@pytest.mark.parametrize("name", fuzz.some(registry.names(), 3))
def test_a_compiled_test_lets_no_call_pass_that_the_rule_refuses(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "ASKED", 1)
    row = ops.row_of(name)
    for case in fuzz.cases("compiled tests"):
        with case as n:
            values = random_calls.draw_call(np.random.default_rng((zlib.crc32(name.encode()), n)), row)
            args = [ops.for_kernel(p, values.get(p.name, p.default)) for p in row.params]
            literals = tuple(
                i for i, a in enumerate(args) if row.params[i].kind == "tensor" and type(a) in (int, float, bool)
            )
            check = make_guard(name, literals)
            for _ in range(3):  # the rule itself, the rule again, which compiles the test, and the test
                assert _refusal(check, args) == _refusal(lambda *a: guard(row, a), args)


def _refusal(check: Any, args: list[Any]) -> str | None:
    try:
        check(*args)
    except Violation as violation:
        return str(violation)
    return None


INTEGERS: dict[str, Callable[[int], list[Any]]] = {
    "concat": lambda n: [(np.zeros(n, np.int64), np.zeros(1, np.int64)), 0],
    "add": lambda n: [np.array(n), np.array(2 * n)],
    "take": lambda n: [np.zeros((n + 1, 2), np.float32), np.array(n), 0],
    "reshape": lambda n: [np.zeros(2 * n, np.int32), (n, 2)],
    "matmul": lambda n: [np.zeros((2, n), np.int64), np.zeros(n, np.int64)],
}


@pytest.mark.parametrize("name", INTEGERS)
def test_a_check_of_integers_that_are_new_at_each_call_does_not_ask_the_rule_again(name: str) -> None:
    asked = 0

    def counting(*args: Any) -> Any:
        nonlocal asked
        asked += 1
        return original(*args)

    make_guard.cache_clear()
    original, check = guards.evaluate, make_guard(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guards, "evaluate", counting)
        for n in range(1, 200):
            check(*INTEGERS[name](n))
    assert asked <= 4


def test_a_check_of_the_same_sizes_gets_a_test_once_it_is_asked_for_often() -> None:
    make_guard.cache_clear()
    check = make_guard("concat")
    args = ((np.zeros((3, 2)), np.zeros((1, 2))), 0)
    for _ in range(2 * guards.ASKED):
        check(*args)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guards, "_seen_by_rules", None)
        check(*args)
        with pytest.raises(TypeError):
            check((np.zeros((3, 2)), np.zeros((1, 3))), 0)


def test_elements_that_a_rule_asks_for_are_looked_at_in_each_call() -> None:
    check, x = make_guard("take"), np.zeros((5, 2), np.float32)
    for n in (0, 1, 2, 3, 4, -1, -5):
        check(x, np.array(n), 0)
        check(x, np.array([0, n]), 0)
    for n in (5, 17, -6):
        for index in (np.array(n), np.array([0, n])):
            with pytest.raises(Violation):
                check(x, index, 0)


def test_a_check_whose_sizes_are_new_at_each_call_does_not_ask_the_rule_again() -> None:
    asked = 0

    def counting(*args: Any) -> Any:
        nonlocal asked
        asked += 1
        return original(*args)

    original, check = guards.evaluate, make_guard("matmul")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guards, "evaluate", counting)
        for n in range(2, 60):
            check(np.zeros((n, n + 1), np.float32), np.zeros((n + 1, 3), np.float32))
            with pytest.raises(Violation) if n > 50 else nullcontext():
                check(np.zeros((n, n + 1), np.float32), np.zeros((n + 1 + (n > 50), 3), np.float32))
    assert asked <= 2 + 9
