"""Independent mistakes in one model are all told, each once; what follows from another one is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.torch_cases import checked, lines, needs_torch

CODE = """
import torch
from torch import nn

class Layers(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in sizes)
        self.norm = nn.LayerNorm(10)
        self.shift = nn.Parameter(torch.zeros(3, 7))

class Two(Layers):
    def forward(self, x):
        first, second, third, fourth = self.layers
        x = first(x)
        x = second(x)
        x = third(x)
        return fourth(x)

class Scores(Layers):
    def forward(self, x):
        first, second, out = self.layers
        q, k = first(x), second(x)
        w = (q @ k).softmax(-1)
        y = w @ x
        return out(y)

class Apart(Layers):
    def forward(self, x, y):
        z = torch.cat([x, y[:, None]], 1)
        z = self.layers[0](z)
        u = x + self.shift[:, :5]
        v = x.view(x.shape[0], 3, 3)
        return z, u, v

class Follows(Layers):
    def forward(self, x):
        y = self.layers[0](x.transpose(1, 2)).transpose(1, 2)
        return x + y

class Stays(Layers):
    def forward(self, x):
        while x.shape[1] > 1:
            x = x.transpose(1, 5)
        return x

def two():
    return Two((16, 32), (33, 8), (8, 5), (6, 4))

def scores():
    return Scores((16, 16), (16, 16), (20, 4))

def apart():
    return Apart((24, 8))

def follows():
    return Follows((15, 15))

def stays():
    return Stays()
"""
ROWS = "x=float32[b, 8]"
CASES = {
    "two": (["x=float32[b, t, 16]"], ["second(x)"]),
    "scores": (["x=float32[b, t, 16]"], ["(q @ k)"]),
    "apart": ([ROWS, "y=float32[b, 8]"], ["torch.cat", "self.shift[:, :5]", "x.view"]),
    "follows": (["x=float32[b, 16, 32]"], ["self.layers[0](x.transpose"]),
    "stays": ([ROWS], ["x.transpose(1, 5)"]),
}


@needs_torch
@pytest.mark.parametrize("name", CASES)
def test_independent_mistakes_are_told_once_each(name: str, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text(CODE)
    arguments, wanted = CASES[name]
    found = checked(tmp_path, f"beside.py:{name}", *arguments)
    source = CODE.splitlines()
    told = [source[n - 1] for n in lines(found)]
    assert len(told) == len(wanted)
    assert all(part in line for part, line in zip(wanted, told, strict=True)), told
