"""Pieces of models as people write them: the contract and the result's shape against what torch does at all sizes of a box."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.torch_cases import checked, conditions, lines, needs_torch

CODE = """
import math
import torch
import torch.nn.functional as F

TABLE = torch.zeros(1, 39, 3)

def half(x):
    return x[:, : int(x.size(1) * 0.5)]

def third(x):
    count: int = int(x.shape[1] / 3)
    return x[:, :count] if isinstance(count, int) else None

def lengths(x):
    return torch.zeros(len(x), len(x[0]), len([1, 2])) / float(x.size(1)) ** 0.5

def windows(x):
    pad = int(math.ceil(x.size(1) / 4)) * 4 - x.size(1)
    return F.pad(x, (0, pad)).view(x.size(0), -1, 4)

def capacity(x):
    return torch.zeros(int(1.25 * x.shape[0] / 4) + 1, math.ceil(0.75 * x.shape[1] / 5))

def tenth(x):
    return x[:, : int(x.size(1) * 0.1)]

def long(x):
    return x[:, :-1] if x.size(1) * 0.1 > 0.6 else x

def grouped(x):
    group = min(4, x.shape[0])
    return x.view(group, -1, x.shape[1])

def relative(x):
    pe = TABLE[:, 20 - x.size(1) : 19 + x.size(1)]
    return x + pe[:, : pe.size(1) // 2 + 1].sum(2)

def longest(x):
    return torch.zeros(max(n for n in x.shape), min(2 * n for n in x.shape))

def apart(x):
    return F.pad(x, (abs(x.size(0) - x.size(1)) // 2, abs(x.size(1) - 3)))

def scanned(x):
    for k in range(12):
        x = torch.cat([x[:, : 2**k], x[:, 2**k :] + x[:, : -(2**k)]], 1)
    return x

def padded(x):
    out = x.new_zeros(x.size(0), 6)
    out[:, : x.size(1)] = x
    out[:, : x.size(1)] += x
    return out

def beside(x):
    return torch.hstack([torch.zeros((x.shape[0], 0)), x])

def cached(x):
    TABLE = torch.zeros(4, 7, 3)
    TABLE[: x.size(0), : x.size(1)] = x[:, :, None]
    return TABLE[: x.size(0), : x.size(1)]
"""
WHOLE = ["half", "capacity", "third", "lengths", "windows", "grouped", "beside", "cached"]
WHOLE += ["longest", "apart", "scanned", "padded", "relative"]
ON_A_WAY = ["tenth", "long"]


def _given(code: Any, b: int, t: int) -> tuple[int, ...] | None:
    import torch

    try:
        return tuple(code(torch.ones(b, t)).shape)
    except (RuntimeError, ValueError):
        return None


@needs_torch
@pytest.mark.parametrize("name", WHOLE + ON_A_WAY)
def test_it_says_what_torch_does(name: str, tmp_path: Path) -> None:
    from rxlang.simplify.solver.numbers import holds_at, size_at

    (tmp_path / "pieces.py").write_text(CODE)
    scope: dict[str, Any] = {}
    exec(CODE, scope)
    found = checked(tmp_path, f"pieces.py:{name}", "x=float32[b, t]")
    assert lines(found, "error") == []
    contract = found.contract
    assert bool(contract.given) == (name in ON_A_WAY) and not contract.undecided
    tried = 0
    for b, t in product(range(1, 9), [*range(1, 14), 19, 20, 21, 22]):
        sizes = {"b": b, "t": t}
        if not all(holds_at(way, sizes) for way in contract.given):
            continue
        shape = _given(scope[name], b, t)
        assert all(holds_at(c.condition, sizes) for c in contract.conditions) == (shape is not None), sizes
        assert shape is None or tuple(size_at(s, sizes) for s in contract.outputs[0].shape) == shape, sizes
        tried += 1
    assert tried >= 8


@needs_torch
def test_a_number_that_cannot_be_said_of_a_size_pins_it(tmp_path: Path) -> None:
    (tmp_path / "pieces.py").write_text(CODE)
    for name, line in (("tenth", CODE.splitlines().index("def tenth(x):") + 2), ("long", 0)):
        found = checked(tmp_path, f"pieces.py:{name}", "x=float32[b, t]")
        assert [d.message.partition(":")[0] for d in found.known_for] == ["known for t = 7 only"]
        assert found.known_for[0].span.line == line or not line


@needs_torch
def test_what_a_table_cuts_is_its_contract(tmp_path: Path) -> None:
    (tmp_path / "pieces.py").write_text(CODE)
    assert conditions(checked(tmp_path, "pieces.py:cached", "x=float32[b, t]")) == {"b <= 4", "t <= 7"}


WRONG = """
import torch
import torch.nn.functional as F
from torch import nn

def bent(x):
    y = x.view(x.shape[0], -1)
    return y.mul(y.sum(1)), x.view(x.shape[0], 5)

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 5)

    def forward(self, x):
        y, _ = self.lstm(x, (torch.zeros(1, x.shape[0], 5), torch.zeros(1, x.shape[0], 5)))
        return y

def attended(q, values):
    scores = F.softmax((q @ q.transpose(1, 2)).sum(2, keepdim=True).squeeze(1), dim=1)
    return torch.bmm(scores.unsqueeze(1), values)

def gated(x):
    x = F.glu(x, dim=1)
    x = x + torch.zeros(1, 8, 5)
    return x.sum(3)

def distances(x, y):
    d = x @ y.transpose(1, 2)
    d += (x ** 2).sum(2)[:, None]
    return d.topk(3, dim=2)[0], y[:, :4].reshape(y.shape[0], 4, 3)

def pooled(x):
    return nn.functional.linear(x.view(x.shape[0], 16), torch.zeros(4, 16))
"""


@needs_torch
@pytest.mark.parametrize(
    ("name", "args", "line", "says"),
    [
        ("bent", ("x=float32[b, t]",), 8, "holds only if b == t"),
        (
            "Tagger",
            ("x=float32[b, t, 6]",),
            16,
            "LSTM does otherwise for other sizes, which fails: holds only if b == t",
        ),
        ("attended", ("q=float32[b, t, 6]", "values=float32[b, t, 4]"), 20, "squeeze does otherwise for other sizes"),
        ("gated", ("x=float32[b, 8, 5]",), 25, "this always fails"),
        ("distances", ("x=float32[b, 4, 3]", "y=float32[b, n, 3]"), 30, "holds only if n == 4"),
        ("pooled", ("x=float32[b, 16, h, w]",), 34, "holds only if h * w == 1"),
    ],
)
def test_a_mistake_is_one_diagnostic_where_it_is(
    name: str, args: tuple[str, ...], line: int, says: str, tmp_path: Path
) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    found = checked(tmp_path, f"wrong.py:{name}", *args, init="" if name == "Tagger" else None)
    said = [(d.span.line, d.message) for d in found.report.diagnostics if d.severity in ("error", "warning")]
    assert [at for at, _ in said] == [line], said
    assert says in said[0][1]


@needs_torch
def test_products_that_fill_a_layer_are_written_as_products(tmp_path: Path) -> None:
    (tmp_path / "fills.py").write_text(
        "import torch\nimport torch.nn.functional as F\n\n"
        "def filled(x):\n"
        "    x = F.max_pool2d(F.conv2d(x, torch.zeros(1, 1, 3, 5)), 2)\n"
        "    return F.linear(x.flatten(1), torch.zeros(8, 16))\n"
    )
    assert conditions(checked(tmp_path, "fills.py:filled", "x=float32[b, 1, h, w]")) == {
        "(h // 2 - 1) * (w // 2 - 2) == 16"
    }
