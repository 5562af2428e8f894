"""Where a trace stops: a mistake of the code's at its line, or code that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.torch_cases import checked, command, needs_torch

CODE = """
import torch
import torch.nn.functional as F

class Large(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(512, 512)

    def forward(self, x):
        return F.binary_cross_entropy(self.up(x).sigmoid(), x[0])

def a_loss(x):
    return F.binary_cross_entropy(x.sigmoid(), x[0])

def of_no_name(x):
    return x.fooo

def no_tensor(x):
    return torch.cat([x, 3])

def wrong_out(x):
    y = torch.zeros(3, 4, dtype=torch.int32)
    torch.matmul(x, x.T, out=y)
    return y

def into(x):
    y = x.new_zeros(x.shape[0] + 1, x.shape[1])
    torch.add(x, x, out=y[1:])
    torch.add(x, x, out=y[0])
    return y

def data(x):
    return torch.tensor(x.numpy())

def pointer(x):
    return x + x.data_ptr() % 2
"""
MISTAKES = {
    "a_loss": "Using a target size", "of_no_name": "no attribute 'fooo'", "no_tensor": "expected Tensor as element 1",
    "wrong_out": "Expected out tensor to have dtype float",
}  # fmt: skip
UNREAD = {"into": "shape are not followed", "data": "numpy", "pointer": "data_ptr"}


def line(name: str) -> int:
    """The line that a function of the code fails at."""
    body = CODE[CODE.index(f"def {name}(") :].split("\n\n")[0]
    last = body.splitlines()[-1] if "return y" not in body else body.splitlines()[-2]
    return CODE[: CODE.index(last)].count("\n") + 1


@needs_torch
@pytest.mark.parametrize("name", MISTAKES)
def test_what_raises_with_all_numbers_is_a_mistake_at_its_line(name: str, tmp_path: Path) -> None:
    (tmp_path / "stops.py").write_text(CODE)
    found = checked(tmp_path, f"stops.py:{name}", "x=float32[a, c]")
    [said] = [d for d in found.report.diagnostics if d.severity == "error"]
    assert (said.code, said.span.line) == ("E318", line(name)) and MISTAKES[name] in said.message
    assert not found.is_unread


@needs_torch
def test_weights_without_data_are_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "stops.py").write_text(CODE)
    found = checked(tmp_path, "stops.py:Large", "x=float32[a, 512]")
    assert found.trace is not None and not found.is_unread
    assert [(d.code, d.span.source.line(d.span.line).strip()) for d in found.report.diagnostics] == [
        ("E318", "return F.binary_cross_entropy(self.up(x).sigmoid(), x[0])")
    ]


@needs_torch
@pytest.mark.parametrize("name", UNREAD)
def test_what_runs_with_numbers_cannot_be_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "stops.py").write_text(CODE)
    found = checked(tmp_path, f"stops.py:{name}", "x=float32[a, c]")
    [said] = [d for d in found.report.diagnostics if d.severity == "error"]
    assert (said.code, said.span.line) == ("E252", line(name)) and UNREAD[name] in said.message
    assert found.is_unread and any("it runs with a = " in n for n in said.notes) and "frame #" not in said.message


@needs_torch
def test_the_exit_status_tells_them_apart(tmp_path: Path) -> None:
    (tmp_path / "stops.py").write_text(CODE)
    asked = ("--arg", "x=float32[a, c]")
    assert command(tmp_path, "check", "stops.py:a_loss", *asked).returncode == 1
    done = command(tmp_path, "check", "stops.py:into", *asked, "--format", "json")
    assert done.returncode == 2 and json.loads(done.stdout)["diagnostics"][0]["code"] == "E252"
    assert command(tmp_path, "infer", "stops.py:into", *asked).returncode == 2


SEQUENTIAL = """
from torch import nn

def layer(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.ReLU())

narrow = nn.Sequential(
    layer(8, 16),
    nn.Linear(32, 10),
)
flat = nn.Sequential(
    nn.Flatten(),
    nn.MaxPool2d(2),
)
bound = nn.Sequential(
    nn.Flatten(),
    nn.Linear(6, 3),
)
split = nn.Sequential(
    nn.Linear(8, 10),
    nn.Unflatten(1, (3, 4)),
)
"""


@needs_torch
@pytest.mark.parametrize(("name", "at"), [("narrow", "nn.Linear(32, 10)"), ("flat", "MaxPool2d"), ("split", "(3, 4)")])
def test_what_only_containers_of_torch_call_is_told_where_it_was_made(name: str, at: str, tmp_path: Path) -> None:
    (tmp_path / "sequential.py").write_text(SEQUENTIAL)
    [said] = checked(tmp_path, f"sequential.py:{name}", "input=float32[b, 8]").report.diagnostics
    assert said.severity == "error" and at in said.span.source.line(said.span.line)


@needs_torch
def test_a_condition_of_such_a_module_has_its_line(tmp_path: Path) -> None:
    (tmp_path / "sequential.py").write_text(SEQUENTIAL)
    found = checked(tmp_path, "sequential.py:bound", "input=float32[b, c, t]")
    [clause] = found.contract.conditions
    assert {d.node for d in clause.demands} == {"sequential.py:17"}


@needs_torch
def test_code_that_calls_torch_for_ever_stops_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rxlang.frontends.torch import run, trace

    for module in (run, trace):
        monkeypatch.setattr(module, "MOST_LINES", 50)
    (tmp_path / "endless.py").write_text("def f(x):\n    while True:\n        x = x + 1\n")
    said = checked(tmp_path, "endless.py:f", "x=float32[b]").report.diagnostics
    assert [(d.code, d.span.line) for d in said] == [("E252", 3)]
    assert "calls torch 50 times and goes on" in said[0].message and said[0].notes == ()


SQUARE = """
import torch

PLACES = torch.zeros(1, 36, 4)

def square(x):
    b, n, c = x.shape
    side = int(n**0.5)
    return x.view(b, side, side, c) + PLACES.view(1, 6, 6, 4)
"""


@needs_torch
def test_a_number_that_code_asks_for_is_one_that_it_takes_among_squares(tmp_path: Path) -> None:
    (tmp_path / "square.py").write_text(SQUARE)
    found = checked(tmp_path, "square.py:square", "x=float32[b, n, 4]")
    assert found.contract is not None and found.contract.given == ("n == 36",)
    assert [d.severity for d in found.report.diagnostics] == ["warning"]


TAKEN_APART = """
import torch

gru = torch.nn.GRU(6, 4, 3)

def columns(x):
    a, b = x[:, 0]
    return a + b

def state(x):
    y, (h, c) = gru(x[..., None].expand(3, x.shape[1], 6))
    return h

def projections(x):
    q, k = x.expand(2, 3, x.shape[1]).permute(1, 0, 2)
    return q @ k.mT

def inside(x):
    (a, b), (c, d) = x.view(2, 3, -1)
    return a

def in_a_loop(x):
    for a, b in x[None]:
        print(a)
    return x

def enough(x):
    a, b, c = x
    return a

def starred(x):
    a, *rest = x
    return rest[-1]

def caught(x):
    try:
        a, b = x
    except ValueError:
        a, b, c = x
    return a + b
"""


@needs_torch
@pytest.mark.parametrize("name", ["columns", "state", "projections", "inside", "in_a_loop"])
@pytest.mark.parametrize("size", ["t", "2"])
def test_too_few_names_for_a_number_of_rows_are_a_mistake_at_their_line(name: str, size: str, tmp_path: Path) -> None:
    (tmp_path / "apart.py").write_text(TAKEN_APART)
    found = checked(tmp_path, f"apart.py:{name}", f"x=float32[3, {size}]")
    [said] = [d for d in found.report.diagnostics if d.severity == "error"]
    assert said.code == "E318" and "too many values to unpack" in said.message and not found.is_unread


@needs_torch
@pytest.mark.parametrize("name", ["enough", "starred", "caught"])
def test_names_for_all_rows_are_no_mistake(name: str, tmp_path: Path) -> None:
    (tmp_path / "apart.py").write_text(TAKEN_APART)
    found = checked(tmp_path, f"apart.py:{name}", "x=float32[3, t]")
    assert not found.report.diagnostics and found.contract is not None and not found.contract.conditions
