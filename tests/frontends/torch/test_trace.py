"""`rx.trace`: PyTorch code checked from Python, with what pytest asks of it."""

from __future__ import annotations

import pytest
import rxlang as rx
from support.torch_cases import needs_torch

pytestmark = needs_torch


def bounded(x, scale=None):  # type: ignore[no-untyped-def]
    if x.shape[1] > 32:  # pytest rewrites assertions here
        raise ValueError("too long")
    return x.flatten(1)


def even(x):  # type: ignore[no-untyped-def]
    return x.reshape(x.shape[0], x.shape[1] // 2, 2, -1)


def never(x):  # type: ignore[no-untyped-def]
    return x.reshape(3) + x.new_zeros(4)


def test_a_trace_has_its_contract_and_signature() -> None:
    traced = rx.trace(bounded, x="float32[b, t, d]")
    assert traced.report.ok and traced.contract is not None
    assert [c.condition for c in traced.contract.conditions] == ["t <= 32"]
    assert (
        traced.signature == "@bounded = fn(x : Tensor([b, t, d], float32)) : Tensor([b, t * d], float32) where t <= 32"
    )
    assert "@flatten" in traced.text and "0 to 32" in str(traced) and "bounded" in repr(traced)


def test_shapes_of_results_follow_from_those_of_inputs() -> None:
    traced = rx.trace(bounded, x="float32[b, t, d]")
    for b, t, d in ((2, 3, 4), (0, 1, 1), (7, 32, 5)):
        assert traced.shapes(x=(b, t, d)) == (b, t * d)
    assert [str(size) for size in traced.shapes(x=("k", 3, 4))] == ["k", "12"]
    for wrong, said in (((2, 33, 4), "needs t <= 32"), ((2, 3), "has 3 axes")):
        with pytest.raises(ValueError, match=said):
            traced.shapes(x=wrong)
    with pytest.raises(ValueError, match="`x` is not given"):
        traced.shapes()


def unpacked(x):  # type: ignore[no-untyped-def]
    q, k, v = x
    (a, b), rest = (
        (
            q.flatten(),
            k.sum(-1),
        ),
        v.tanh(),
    )
    q, (c, *_others) = q @ k.t(), [k + 1, v]
    [r, s] = (w := rest[:2].exp())
    return q, a, b, c, s


def test_what_is_taken_apart_has_the_name_that_takes_it() -> None:
    text = rx.trace(unpacked, x="float32[3, t, u]").text
    names = [line.split()[1] for line in text.splitlines() if line.strip().startswith("let ") and "=" in line]
    said = [name for name in names if name in {"q", "k", "v", "a", "b", "rest", "w", "r", "s"}]
    assert said == ["q", "k", "v", "a", "b", "rest", "w", "r", "s"]


def test_what_is_expected_is_accepted_for_all_sizes() -> None:
    traced = rx.trace(bounded, x="float32[b, t, d]")
    assert traced.expect("t <= 32").expect("t <= 3", "b == 1") is traced
    for conditions in ((), ("t <= 33",), ("d <= 4",)):
        with pytest.raises(AssertionError, match="bounded needs t <= 32 .*if x.shape"):
            traced.expect(*conditions)
    rx.trace(even, x="float32[b, t, d]").expect("t % 2 == 0", "b >= 1", "t >= 1")
    with pytest.raises(rx.CheckError, match="3"):
        rx.trace(never, x="float32[3]").expect()
    with pytest.raises(ValueError, match="unexpected end"):
        traced.expect("t <=")


def test_wrong_arguments_are_told_in_the_functions_names() -> None:
    for wrong, said in (({"z": "float32[b]"}, "takes no `z`: it takes `x`"), ({"x": "float32[-1]"}, "`-1` is no size")):
        with pytest.raises(ValueError, match=said):
            rx.trace(bounded, **wrong)
    with pytest.raises(ValueError, match="no argument of .* is an input"):
        rx.trace(bounded, x=3)
