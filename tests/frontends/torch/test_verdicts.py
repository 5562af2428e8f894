"""Which conditions of PyTorch code are errors, warnings, or its contract: by where the other number comes from."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.torch_cases import checked, conditions, lines, needs_torch

CODE = """
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(784, 10)
        self.table = nn.Parameter(torch.zeros(1, 16, 8))
        self.register_buffer("mask", torch.zeros(12, 12))

class Flattened(Head):
    def forward(self, x):
        return self.out(x.flatten(1))

class Viewed(Head):
    def forward(self, x):
        return self.out(x.view(x.shape[0], 784))

class Batch(Head):
    def forward(self, x):
        return x.view(4, x.shape[1], 8)

class OpenBatch(Head):
    def forward(self, x):
        x = x.view(4, -1)
        return self.out(x)

class OpenRows(Head):
    def forward(self, x):
        return self.out(x.view(-1, 784))

class AllRows(Head):
    def forward(self, x):
        return (x + self.table[:, :1]).view(64, 8)

class OpenHeads(Head):
    def forward(self, x):
        y = x.view(x.shape[0], x.shape[1], 8, -1).transpose(1, 2)
        return self.out(y.transpose(1, 2).flatten(2))

class Table(Head):
    def forward(self, x):
        return x + self.table

class CutTable(Head):
    def forward(self, x):
        return x + self.table[:, :x.shape[1]]

class CutByBatch(Head):
    def forward(self, x):
        return x + self.table[:, :x.shape[0]]

class Mask(Head):
    def forward(self, x):
        return x @ x.transpose(1, 2) + self.mask

class Made(nn.Module):
    def forward(self, x):
        return x @ x.transpose(1, 2) + torch.ones(x.shape[0], x.shape[1]).tril()

class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.along = nn.Conv1d(16, 4, 3, padding=1)
        self.mix = nn.Linear(16, 16)
        self.out = nn.Linear(32, 4)

class NotMoved(Words):
    def forward(self, x):
        return self.along(x)

class Mixed(Words):
    def forward(self, x):
        return self.mix(x.transpose(1, 2)).transpose(1, 2)

class Flat(Words):
    def forward(self, x):
        return self.out(x.flatten(1))

class Skip(Words):
    def forward(self, x):
        return x + x[:, ::4]

class Halved(Words):
    def forward(self, x):
        return x + x[:, :24]

class Replaced(Words):
    def forward(self, x):
        b, h, w = x.shape
        return x.reshape(4, h // 2, 2, w // 2, 2)

class Uneven(Words):
    def forward(self, x):
        return x.reshape(-1, 3, 5)

class Even(Words):
    def forward(self, x):
        return x.reshape(-1, 4, 16)

def targets(x, y):
    return ((x - y) ** 2).mean()

def scores(x):
    return x @ x

def stated(x):
    assert x.shape[1] == 8
    return x @ x

def half(x):
    both = torch.cat([x, x], dim=1)
    return (both @ both.mT).masked_fill(torch.eye(x.shape[1], dtype=torch.bool), 0.0)

def two_at_once(x):
    return x + torch.zeros(x.shape[1], x.shape[0])

def twice(x, y):
    a = x @ x
    return a, y @ y

class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x, mask):
        return self.seen(x, x, x, key_padding_mask=mask)[0]

def quartered(x):
    keys = nn.functional.max_pool2d(x, 2).reshape(-1, 3, x.shape[2] * x.shape[3] // 4)
    return x.flatten(2).mT @ keys
"""
X = "x=float32[b, t, 8]"
VERDICTS: dict[str, tuple[list[str], list[str], set[str]]] = {
    "Flattened": (["x=float32[b, 1, h, w]"], [], {"h * w == 784"}),
    "Viewed": (["x=float32[b, 1, h, w]"], [], {"h * w == 784 || b == 0"}),
    "Batch": ([X], ["error"], set()),
    "OpenBatch": (["x=float32[b, 784]"], ["error"], set()),
    "OpenRows": (["x=float32[b, 1, h, w]"], [], {"b * h * w % 784 == 0"}),
    "AllRows": ([X], ["error"], set()),
    "OpenHeads": (["x=float32[b, t, d]"], [], {"d % 8 == 0", "d // 8 == 98", "b >= 1", "t >= 1"}),
    "Table": ([X], [], {"t == 1 || t == 16"}),
    "CutTable": ([X], [], {"t <= 16"}),
    "CutByBatch": ([X], ["error"], set()),
    "Mask": ([X], [], {"t == 1 || t == 12"}),
    "Made": ([X], ["error"], set()),
    "NotMoved": (["x=float32[b, t, 16]"], ["warning"], {"t == 16"}),
    "Mixed": (["x=float32[b, t, 16]"], [], {"t == 16"}),
    "Flat": (["x=float32[b, t, 16]"], [], {"t == 2"}),
    "Skip": ([X], ["error"], set()),
    "Halved": ([X], ["error"], set()),
    "Replaced": (["x=float32[b, h, w]"], ["error"], set()),
    "Uneven": (["x=float32[b, t, 16]"], ["warning"], {"b * t % 15 == 0"}),
    "Even": (["x=float32[b, t, 16]"], [], {"b * t % 4 == 0"}),
    "targets": (["x=float32[a, 8]", "y=float32[c, 8]"], ["warning"], {"a == c || a == 1 || c == 1"}),
    "scores": ([X], ["error"], set()),
    "stated": ([X], [], {"t == 8"}),
    "half": ([X], ["error"], set()),
    "two_at_once": ([X], ["error"], set()),
    "quartered": (
        ["x=float32[b, 3, h, w]"],
        [],
        {
            "h >= 2",
            "w >= 2",
            "b * (h // 2) * (w // 2) % (h * w // 4) == 0",
            "b == b * (h // 2) * (w // 2) // (h * w // 4) || b == 1 || b * (h // 2) * (w // 2) // (h * w // 4) == 1",
        },
    ),
    "Masked": ([X, "mask=bool[t, b]"], ["error"], set()),
    "twice": ([X, "y=float32[b, t, 9]"], ["error", "error"], set()),
}


@needs_torch
@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict_is_by_the_origin_of_the_other_number(name: str, tmp_path: Path) -> None:
    (tmp_path / "verdicts.py").write_text(CODE)
    arguments, severities, wanted = VERDICTS[name]
    found = checked(tmp_path, f"verdicts.py:{name}", *arguments)
    assert [d.severity for d in found.report.diagnostics if d.severity != "note"] == severities
    if "error" not in severities:
        assert conditions(found) == wanted
    else:
        assert lines(found)


@needs_torch
def test_a_number_in_a_view_is_told_at_the_view(tmp_path: Path) -> None:
    (tmp_path / "verdicts.py").write_text(CODE)
    found = checked(tmp_path, "verdicts.py:OpenBatch", "x=float32[b, 784]")
    (said,) = found.report.diagnostics
    assert said.message == "Tensor.view writes a number for `b`: holds only if b == 4"
    assert said.span.text == "x.view(4, -1)"


IN_PLACE = """
import torch

def untouched(x):
    return x[torch.zeros(3, dtype=torch.int64)]

def a_constant(x):
    i = torch.zeros(3, dtype=torch.int64)
    y = x[i]
    i += 5
    return y, x[i]

def data_in_a_constant(x):
    i = torch.zeros(3, dtype=torch.int64)
    i[0] = x.sum().long()
    return x[i]

def through_a_view(x):
    i = torch.zeros(x.shape[0], dtype=torch.int64)
    v = i[:2]
    v += 5
    return x[i]

def into(x):
    y = torch.zeros(x.shape[0])
    torch.add(x, x, out=y)
    return y

def into_a_view(x):
    i = torch.zeros(x.shape[0], dtype=torch.int64)
    v = i[:2]
    torch.add(v, 5, out=v)
    return x[i]

def into_another_size(x, y):
    z = torch.zeros(x.shape[0] + 1)
    torch.add(x, x, out=z[1:])
    torch.add(x, x, out=z[:2])
    return z
"""


@needs_torch
def test_what_is_written_in_place_is_not_what_it_was(tmp_path: Path) -> None:
    (tmp_path / "places.py").write_text(IN_PLACE)
    found = {
        n: checked(tmp_path, f"places.py:{n}", "x=float32[b]") for n in ("untouched", "a_constant", "through_a_view")
    }
    assert conditions(found["untouched"]) == {"b >= 1"}
    assert conditions(found["a_constant"]) == {"b >= 6"}
    text = found["through_a_view"].trace.text
    assert "@take(x, i," not in text and "@number()" in text
    assert "@take(x, tensor(" not in checked(tmp_path, "places.py:data_in_a_constant", "x=float32[b]").trace.text


@needs_torch
def test_what_is_written_into_out_is_there_behind_it(tmp_path: Path) -> None:
    (tmp_path / "places.py").write_text(IN_PLACE)
    found = checked(tmp_path, "places.py:into", "x=float32[b]")
    assert lines(found) == [] and [o.shape for o in found.contract.outputs] == [("b",)]
    text = checked(tmp_path, "places.py:into_a_view", "x=float32[b]").trace.text
    assert "@take(x, i," not in text and "@number()" in text
    assert lines(checked(tmp_path, "places.py:into_another_size", "x=float32[b]", "y=float32[b]")) == [38]


STRICT = """
import torch

TABLE = torch.zeros(16, 8)

def stated(x):
    assert x.shape[0] <= 8
    return x

def by_a_table(x):
    return x + TABLE

def by_another(x, y):
    return x + y[: x.shape[0]]

def free(x):
    return x * 2
"""


@needs_torch
@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [
        ("stated", ["x=float32[t, 8]"], []),
        ("by_a_table", ["x=float32[t, 8]"], [11]),
        ("by_another", ["x=float32[t, 8]", "y=float32[s, 8]"], [14]),
        ("free", ["x=float32[t, 8]"], []),
    ],
)
def test_strict_refuses_each_condition_that_the_code_does_not_state(
    name: str, args: list[str], wanted: list[int], tmp_path: Path
) -> None:
    from rxlang.model.traced import check_python
    from rxlang.simplify.known.outcome import Options

    (tmp_path / "strictly.py").write_text(STRICT)
    found = check_python(f"strictly.py:{name}", None, args, tmp_path, Options(strict=True))
    assert sorted(set(lines(found, "error"))) == wanted


WINDOWS = """
import torch

def windows(x):
    return x[:, :, ::4, ::4].reshape(x.shape[0], 3, 2, 7, 2, 7)
"""


@needs_torch
def test_windows_that_fill_a_picture_are_its_contract(tmp_path: Path) -> None:
    (tmp_path / "windows.py").write_text(WINDOWS)
    found = checked(tmp_path, "windows.py:windows", "x=float32[b, 3, h, h]")
    assert lines(found, "error") == []


SUPPOSED = """
import torch

def f(x):
    y = torch.special.chebyshev_polynomial_t(x, 3)
    return y + x
"""


@needs_torch
def test_what_rests_on_what_is_supposed_is_not_called_proved(tmp_path: Path) -> None:
    from rxlang.model.traced import check_python

    (tmp_path / "supposed.py").write_text(SUPPOSED)
    found = check_python("supposed.py:f", None, ["x=float32[b, t]"], tmp_path)
    counts = found.report.counts
    assert counts.proved == 2  # the argument's rank and dtype
    assert counts.total == counts.proved + counts.residual + counts.entry


PYRAMID = """
import torch.nn.functional as F

def pyramid(x):
    low = F.max_pool2d(x, 2)
    x = x + F.interpolate(low, scale_factor=2)
    return low.view(low.shape[0], 4, low.shape[2], low.shape[3]) * x.mean()
"""


@needs_torch
def test_a_condition_before_a_mistake_is_not_its_reason(tmp_path: Path) -> None:
    (tmp_path / "pyramid.py").write_text(PYRAMID)
    found = checked(tmp_path, "pyramid.py:pyramid", "x=float32[b, 3, h, w]")
    [said] = found.report.diagnostics
    assert (said.code, said.span.line) == ("E310", 7) and "use below" not in said.message


@needs_torch
def test_a_condition_of_equal_sizes_names_the_function_and_the_arguments(tmp_path: Path) -> None:
    (tmp_path / "products.py").write_text("import torch\n\ndef product(x, y):\n    return torch.bmm(x, y)\n")
    found = checked(tmp_path, "products.py:product", "x=float32[b, t, 3]", "y=float32[c, 3, s]")
    [said] = found.report.diagnostics
    assert said.message.startswith("torch.bmm needs axis 0 of `y` (c) and axis 0 of `x` (b) to be equal")


BIASED = """
import torch
from torch import nn

class Biased(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.bias = nn.Linear(8, 24), nn.Parameter(torch.zeros(1, 16, 16))

    def forward(self, x):
        q, k, v = self.qkv(x.flatten(2).transpose(1, 2)).chunk(3, -1)
        attention = (q @ k.transpose(-2, -1) + self.bias).softmax(-1)
        return attention @ v

class Unturned(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(8, 16)

    def forward(self, x):
        return self.wide(x.flatten(2).transpose(1, 2)).softmax(-1) @ x.flatten(2).transpose(1, 2)
"""


@needs_torch
def test_the_size_of_a_table_of_biases_is_contract_behind_it_too(tmp_path: Path) -> None:
    (tmp_path / "biased.py").write_text(BIASED)
    found = checked(tmp_path, "biased.py:Biased", "x=float32[b, 8, h, w]", init="")
    assert found.report.ok and conditions(found) == {"h * w == 16"}
    assert lines(checked(tmp_path, "biased.py:Unturned", "x=float32[b, 8, h, w]", init=""), "error") == [21]


SKIPS = """
from torch import nn

class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.conv = nn.Conv2d(4, 4, 3, 2, 1), nn.Conv2d(4, 4, 3)
        self.one, self.two = nn.BatchNorm2d(4), nn.BatchNorm2d(4)

    def forward(self, x):
        x = self.one(self.stem(x))
        y = self.two(self.conv(x))
        return x + y.relu()  # here

class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.conv, self.skip = nn.Conv2d(4, 4, 3, 2), nn.Conv2d(4, 4, 3), nn.Conv2d(4, 4, 1, 2)

    def forward(self, x):
        y = self.conv(self.down(x).relu())
        return self.skip(x) + y  # here
"""


@needs_torch
@pytest.mark.parametrize("name", ["Normed", "Deep"])
def test_a_skip_of_another_size_is_an_error_where_it_is_added(name: str, tmp_path: Path) -> None:
    (tmp_path / "skips.py").write_text(SKIPS)
    found = checked(tmp_path, f"skips.py:{name}", "x=float32[b, 4, h, w]")
    here = {n for n, text in enumerate(SKIPS.splitlines(), 1) if "# here" in text}
    assert [d.severity for d in found.report.diagnostics] == ["error"] and set(lines(found)) <= here
