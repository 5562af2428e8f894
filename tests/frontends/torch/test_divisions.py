"""Numbers of Python's made of sizes: `int`, and where divisions, powers and functions of `math` raise for some."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rxlang as rx
from rxlang.simplify.solver.numbers import holds_at
from support.torch_cases import needs_torch

pytestmark = needs_torch

Code = Callable[[Any, Any, Any], Any]
CODE: dict[str, Code] = {
    "1 / t": lambda x, b, t: x * (1 / t),
    "b / (t - 2)": lambda x, b, t: x * (b / (t - 2)),
    "1.0 / (b - 1)": lambda x, b, t: x * (1.0 / (b - 1)),
    "4 // t, whose result no shape needs": lambda x, b, t: x * (4 // t * 0.5),
    "t ** -0.5": lambda x, b, t: x * t**-0.5,
    "1 / t ** 0.5": lambda x, b, t: x * (1 / t**0.5),
    "1 / (t / b)": lambda x, b, t: x * (1 / (t / b)),
    "1 / (1 + 1 / t)": lambda x, b, t: x * (1 / (1 + 1 / t)),
    "1 / max(t - 1, 1)": lambda x, b, t: x * (1 / max(t - 1, 1)),
    "1 / sqrt(t)": lambda x, b, t: x * (1 / math.sqrt(t)),
    "sqrt(2 / (b + t))": lambda x, b, t: x * math.sqrt(2 / (b + t)),
    "1 / sqrt(b - t)": lambda x, b, t: x * (1 / math.sqrt(b - t)),
    "sqrt(b - 3)": lambda x, b, t: x * math.sqrt(b - 3),
    "log(b - 3)": lambda x, b, t: x * math.log(b - 3),
    "log(b / t)": lambda x, b, t: x * math.log(b / t),
    "1 / log(b)": lambda x, b, t: x * (1 / math.log(b)),
    "log2(b * 0.5)": lambda x, b, t: x * math.log2(b * 0.5),
    "exp(-log(10000) / t)": lambda x, b, t: x * math.exp(-math.log(10000) / t),
    "a tensor divided by a size": lambda x, b, t: x.sum(1) / t,
}


@pytest.mark.parametrize("name", CODE)
def test_what_a_division_refuses_is_in_the_contract(name: str) -> None:
    torch = pytest.importorskip("torch")

    def code(x: Any) -> Any:
        return CODE[name](x, x.shape[0], x.shape[1])

    contract = rx.trace(code, x="float32[b, t]").contract
    assert contract is not None and not contract.given
    for b, t in itertools.product(range(7), repeat=2):
        try:
            code(torch.ones(b, t))
            runs = True
        except (ArithmeticError, ValueError):
            runs = False
        assert runs is all(holds_at(c.condition, {"b": b, "t": t}) for c in contract.conditions), (b, t)


def test_int_of_a_size_is_a_size_in_an_installed_model_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rxlang.frontends.torch import wholes

    (tmp_path / "installed_model.py").write_text(
        "from torch import nn\n\n\nclass Padded(nn.Module):\n    def forward(self, x):\n"
        "        return nn.functional.pad(x, (0, int(x.shape[-1]) % 4))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("installed_model")
    monkeypatch.setattr(wholes, "is_library", lambda file: True)
    traced = rx.trace(module.Padded(), x="float32[b, t]")
    assert traced.signature == "@Padded = fn(x : Tensor([b, t], float32)) : Tensor([b, t + t % 4], float32)"
