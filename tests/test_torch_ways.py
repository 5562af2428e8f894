"""Branches of PyTorch code: the contract against what torch does at all sizes of a box."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from torch_cases import checked, holds, needs_torch

CODE = """
import torch

def same_shapes(x):
    return x * 2 if x.shape[1] > 4 else x + 1

def raises_there(x):
    if x.shape[1] > 4:
        return torch.cat([x, x[:, :, None]])
    return x

def states(x):
    assert x.shape[1] % 2 == 0, "even"
    torch._check(x.shape[0] != 3)
    if x.shape[0] == 5 or x.shape[1] > 6:
        raise ValueError("no")
    return x

def squeezed(x):
    return x.sum(1).squeeze() * 2

def squeezed_wrongly(x):
    return (x[:, None] * x[:, :, None]).squeeze().sum(2)

def condition_there(x):
    if x.shape[0] == 1:
        return x.reshape(x.shape[0], -1, 2).flatten(1)
    return x.reshape(-1).reshape(x.shape)

def two_sizes(x):
    if x.shape[0] == 2:
        x = x + 1
    if x.shape[1] < 3:
        x = x * 2
    return x @ x.transpose(0, 1)

def fails_elsewhere(x):
    if x.shape[1] < 3:
        return x
    return x.reshape(x.shape[0], x.shape[1] + 1)

def nested(x):
    if x.shape[1] > 2:
        if x.shape[1] > 5:
            return x.relu()
        return x.exp()
    return x.tanh()
"""
FUNCTIONS = ["same_shapes", "raises_there", "states", "squeezed_wrongly", "two_sizes", "nested", "fails_elsewhere"]


def _runs(code: Any, sizes: tuple[int, int]) -> bool:
    import torch

    try:
        code(torch.ones(sizes))
    except (RuntimeError, ValueError, AssertionError, IndexError):
        return False
    return True


@needs_torch
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_contract_takes_what_torch_takes(name: str, tmp_path: Path) -> None:
    (tmp_path / "ways.py").write_text(CODE)
    scope: dict[str, Any] = {}
    exec(CODE, scope)
    found = checked(tmp_path, f"ways.py:{name}", "x=float32[b, t]")
    for b, t in product(range(1, 8), range(1, 9)):
        assert holds(found, {"b": b, "t": t}) == _runs(scope[name], (b, t)), (b, t)


@needs_torch
def test_cases_are_told_as_the_way_taken(tmp_path: Path) -> None:
    (tmp_path / "ways.py").write_text(CODE)
    assert checked(tmp_path, "ways.py:squeezed", "x=float32[b, t]").contract.given == ("b != 1",)
    assert checked(tmp_path, "ways.py:condition_there", "x=float32[b, t]").contract.given == ("b != 1",)
