"""`rx.torch.rule`: what a user tells of an operation is what a trace says of it, and it is no longer supposed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import rxlang as rx
from support.torch_cases import checked, conditions, in_python, lines, needs_torch

CODE = """
import torch
import rxlang as rx
from jaxtyping import Float
from torch import Tensor


@torch.library.custom_op("rxtests::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x], 0)


@twice.register_fake
def _(x):
    return x.new_empty(2 * x.shape[0], *x.shape[1:])


@torch.library.custom_op("rxtests::bare", mutates_args=())
def bare(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x], 0)


rx.torch.rule(bare, "fn(x : Tensor([n, d], float32)) : Tensor([n * 2, d], float32)")


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        return x * w


class Foreign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        return torch.from_numpy(x.numpy() * w.numpy())


rx.torch.rule(Foreign, "fn(x : Tensor([n, d], float32), w : Tensor([d], float32)) : Tensor([n, d], float32)")

kept = 3


def outer():
    closed = 5

    def halves(x, k=2):
        return torch.from_numpy(x.numpy()[:, : x.shape[1] // k + closed - 5 + kept - 3])

    return halves


halves = outer()


@rx.torch.rule(halves)
def shape_of_halves(x, k=2):
    assert x[1] % k == 0
    return x[0], x[1] // k


@rx.torch.rule(torch.special.i0e)
def shape_of_i0e(x):
    return x


def split(x: Float[Tensor, "n d"]) -> tuple[Float[Tensor, "n d"], Float[Tensor, "d"]]:
    return torch.from_numpy(x.numpy()), torch.from_numpy(x.numpy()[0])


rx.torch.rule(split)


def a_fake(x):
    return twice(x) + 1


def a_rule(x):
    return bare(x) + 1


def by_packet(x):
    return torch.ops.rxtests.bare(x)


def opened(x):
    return Scale.apply(x, x[0])


def a_function(x, w):
    return Foreign.apply(x, w)


def python(x):
    return halves(x, k=4) + 1


def of_torch(x):
    return torch.special.i0e(x)


def by_annotations(x):
    a, b = split(x)
    return a + b
"""
READ = {
    "a_rule": (set(), ("a * 2", "c")), "by_packet": (set(), ("a * 2", "c")), "of_torch": (set(), ("a", "c")),
    "python": ({"c % 4 == 0"}, ("a", "c // 4")), "by_annotations": (set(), ("a", "c")), "opened": ({"a >= 1"}, ("a", "c")),
}  # fmt: skip


@needs_torch
@pytest.mark.parametrize("name", READ)
def test_what_has_a_rule_is_not_supposed(name: str, tmp_path: Path) -> None:
    pytest.importorskip("jaxtyping")
    wanted, shape = READ[name]
    found = _checked(tmp_path, name)
    assert (conditions(found), found.supposed, lines(found)) == (wanted, (), [])
    assert found.contract.outputs[0].shape == shape and found.contract.undecided == ()


@needs_torch
def test_what_a_rule_asks_is_said_at_the_call(tmp_path: Path) -> None:
    pytest.importorskip("jaxtyping")
    found = _checked(tmp_path, "a_function", "w=float32[e]")
    assert conditions(found) == {"c == e"} or conditions(found) == {"e == c"}
    assert lines(found, "warning") == [CODE[: CODE.index("return Foreign.apply")].count("\n") + 1]


@needs_torch
def test_without_a_rule_torch_is_believed_and_that_is_said(tmp_path: Path) -> None:
    pytest.importorskip("jaxtyping")
    found = _checked(tmp_path, "a_fake")
    [one] = found.supposed
    assert "twice" in one.op and one.place.line == CODE[: CODE.index("return twice(x)")].count("\n") + 1
    assert found.contract.outputs[0].shape == ("a * 2", "c")


def _checked(folder: Path, name: str, *more: str) -> Any:
    from rxlang.frontends.torch.rules import RULES

    (folder / f"rules_{name}.py").write_text(CODE.replace("rxtests", f"rxtests_{name}"))
    try:
        return checked(folder, f"rules_{name}.py:{name}", "x=float32[a, c]", *more)
    finally:
        RULES.clear()


@needs_torch
def test_a_function_with_a_rule_computes_as_before(tmp_path: Path) -> None:
    pytest.importorskip("jaxtyping")
    _checked(tmp_path, "python")
    import sys

    import torch

    own = sys.modules["rules_python"]
    assert own.python(torch.ones(2, 8)).shape == (2, 2) and own.halves(torch.ones(2, 8), 4).shape == (2, 2)


def test_a_rule_with_something_wrong_in_it_is_refused() -> None:
    with pytest.raises(rx.CheckError, match="E1"):
        rx.torch.rule(len, "fn(x : Tensor([n) : Tensor([n], float32)")


def test_rules_are_registered_without_torch(tmp_path: Path) -> None:
    text = "import sys, rxlang as rx; rx.torch.rule(len, 'fn(x : Tensor([n], int64)) : Tensor([n], int64)'); rx.checked"
    done = in_python(tmp_path, "-c", f"{text}; assert 'torch' not in sys.modules")
    assert done.returncode == 0, done.stderr
