"""A size that stands where a number could does what the number does: the same results, and the same calls refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.ops.ground import Violation
from support import fuzz, ops

MOST = fuzz.tries("sizes as attributes")
SEVERAL = {"strides", "dilations", "kernel_shape", "scales", "output_padding"}
# A primitive, the ranks of its operands, and attributes over the sizes s and q.
CALLS: list[tuple[str, dict[str, int], dict[str, str]]] = [
    ("conv1d", {"x": 3, "weight": 3}, {"strides": "s", "pads": "[(q, s)]"}),
    ("conv1d", {"x": 3, "weight": 3}, {"dilations": "s", "strides": "[q]"}),
    ("conv1d", {"x": 3, "weight": 3}, {"strides": "s", "auto_pad": '"same_lower"', "dilations": "q"}),
    ("conv_transpose1d", {"x": 3, "weight": 3}, {"strides": "s", "output_padding": "q"}),
    ("conv_transpose1d", {"x": 3, "weight": 3}, {"strides": "s", "dilations": "q", "pads": "1"}),
    ("max_pool1d", {"x": 3}, {"kernel_shape": "s", "strides": "q", "pads": "1"}),
    ("max_pool1d", {"x": 3}, {"kernel_shape": "s", "ceil_mode": "true", "dilations": "q"}),
    ("average_pool1d", {"x": 3}, {"kernel_shape": "s + 1", "pads": "[(0, q)]"}),
    ("lp_pool1d", {"x": 3}, {"kernel_shape": "2", "strides": "s", "dilations": "q"}),
    ("upsample", {"x": 3}, {"scales": "s - q"}),
    ("lrn", {"x": 3}, {"size": "s - q"}),
    ("slice", {"x": 1}, {"starts": "[q]", "stops": "[5]", "steps": "[s]"}),
    ("slice", {"x": 1}, {"starts": "[5]", "stops": "[q]", "steps": "[s]"}),
    ("slice", {"x": 1}, {"starts": "[q]", "stops": "[9]", "steps": "[s]", "forward": "true"}),
    ("frame", {"x": 2}, {"length": "s", "step": "q"}),
    ("overlap_add", {"x": 2}, {"step": "s - q"}),
    ("stft", {"x": 1}, {"length": "s", "step": "q", "center": "false"}),
    ("unfold", {"x": 3}, {"kernel_shape": "s", "strides": "q"}),
    ("pixel_shuffle", {"x": 3}, {"factor": "s - q"}),
    ("pixel_unshuffle", {"x": 3}, {"factor": "s"}),
]


@pytest.mark.parametrize(("name", "operands", "attributes"), CALLS)
def test_a_size_does_what_a_number_does(name: str, operands: dict[str, int], attributes: dict[str, str]) -> None:
    sizes = iter("abcdefghijkl")
    params = [f"{n} : Tensor([{', '.join('_' + next(sizes) for _ in range(r))}], float32)" for n, r in operands.items()]
    given = ", ".join([*operands, *(f"{n}={v}" for n, v in attributes.items())])
    module = rx.loads(f"@f = fn({', '.join(params)}, s : Size, q : Size) {{ @{name}({given}) }}")
    random = np.random.default_rng(len(given))
    for s, q in itertools.product(range(-1, 4), repeat=2):
        for _ in range(MOST):
            tensors = {n: _tensor(random, r) for n, r in operands.items()}
            plain = {n: _plain(n, v, s, q) for n, v in attributes.items()}
            try:
                wanted = ops.call(name, **tensors, **plain)
            except Violation:
                with pytest.raises(rx.ShapeError):
                    module.f(*tensors.values(), s, q)
            else:
                np.testing.assert_array_equal(module.f(*tensors.values(), s, q), wanted, err_msg=f"{s} {q}")


def _tensor(random: np.random.Generator, rank: int) -> Any:
    shape = [int(n) for n in random.integers(0, 7, rank)]
    if rank == 3:
        shape[:2] = random.choice(([1, 1], [2, 2], [2, 4]))
    return random.integers(0, 5, shape).astype(np.float32)


def _plain(name: str, text: str, s: int, q: int) -> Any:
    """The attribute as a rule takes it over numbers: where several may stand, one alone is a tuple of one."""
    value = eval(text, {"s": s, "q": q, "true": True, "false": False})
    if isinstance(value, list):
        return tuple(value)
    if name == "pads":
        return ((value, value),)
    return (value,) if name in SEVERAL else value


def test_the_calls_name_only_parameters_that_there_are() -> None:
    for name, operands, attributes in CALLS:
        assert {*operands, *attributes} <= {p.name for p in ops.row_of(name).params}
