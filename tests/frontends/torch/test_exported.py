"""Inputs that a module declares for `torch.export`: `dynamic_shapes` beside an example."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.torch_cases import command, needs_torch

HEAD = """
import torch
from torch import nn
from torch.export import Dim

b, d = Dim("b", max=64), Dim("d", min=2)

class Sum(nn.Module):
    def forward(self, x, y):
        return x[:, ::2] + y

class Other(nn.Module):
    def forward(self, z):
        return z

def parts(pair, n=2):
    return pair["a"] * n, pair["b"][0]
"""
TWO = "example_inputs = (torch.zeros(2, 8, 16), torch.zeros(2, 4, 16))\n"
CASES: dict[str, tuple[str, dict[str, str], set[str]]] = {
    "names, ranges, derived": (
        TWO + 'dynamic_shapes = {"x": {0: b, 1: 2 * d}, "y": {0: b, 1: d}}',
        {"x": "b x_1 16", "y": "b d 16"},
        {"b <= 64", "d >= 2", "x_1 == 2 * d"},
    ),
    "by position": (
        TWO.replace("example_inputs", "args") + "DYNAMIC_SHAPES = ((b, 2 * d + 1, None), {1: d})",
        {"x": "b x_1 16", "y": "2 d 16"},
        {"b <= 64", "d >= 2", "x_1 == 2 * d + 1"},
    ),
    "derived of a dimension that no input has": (
        TWO + 'dynamic_shapes = {"x": {1: 3 * d - 1}, "y": None}',
        {"x": "2 x_1 16", "y": "2 4 16"},
        {"(x_1 + 1) % 3 == 0", "x_1 >= 5"},
    ),
    "a name that is none of a size": (
        TWO + 'dynamic_shapes = {"x": {0: Dim("where")}, "y": {0: Dim("where")}}',
        {"x": "x_0 8 16", "y": "x_0 4 16"},
        set(),
    ),
    "all by name": (
        'EXAMPLE_KWARGS = {"y": torch.zeros(2, 4), "x": torch.zeros(2, 8)}\ndynamic_shapes = {"x": [b, None], "y": [b, 4]}',
        {"x": "b 8", "y": "b 4"},
        {"b <= 64"},
    ),
    "of another function": (TWO + 'dynamic_shapes = {"u": {0: b}, "v": None}', {}, set()),
    "no example": ('dynamic_shapes = {"x": {0: b}, "y": {0: b}}', {}, set()),
}


def read(code: str, params: list[str]) -> tuple[dict[str, Any], set[str]]:
    from rxlang.frontends.torch.exported import exported

    scope: dict[str, Any] = {}
    exec(HEAD + code, scope)
    found = exported(scope, params)
    return ({}, set()) if found is None else (dict(found.values), set(found.given))


def shown(value: Any) -> str:
    return " ".join(map(str, value.shape))


@needs_torch
@pytest.mark.parametrize("name", CASES)
def test_dimensions_are_sizes_and_what_is_said_of_them(name: str) -> None:
    code, shapes, given = CASES[name]
    values, said = read(code, ["x", "y"])
    assert {key: shown(value) for key, value in values.items()} == shapes
    assert said == given


@needs_torch
def test_hints_name_a_size_by_its_place() -> None:
    from torch.export import Dim

    if not hasattr(Dim, "DYNAMIC"):
        pytest.skip("this PyTorch has no hints")
    code = (
        TWO + 'dynamic_shapes = {"x": {0: Dim.AUTO, 1: Dim.STATIC}, "y": {0: Dim.DYNAMIC(min=3, max=9), 1: Dim.AUTO}}'
    )
    values, given = read(code, ["x", "y"])
    assert (shown(values["x"]), shown(values["y"])) == ("x_0 8 16", "y_0 y_1 16")
    assert given == {"y_0 >= 3", "y_0 <= 9"}


@needs_torch
def test_parts_and_numbers_are_read_as_the_example_has_them() -> None:
    code = (
        'kwargs = {"pair": {"a": torch.zeros(2, 3), "b": (torch.zeros(2, dtype=torch.int64),)}, "n": 3}\n'
        'dynamic_shapes = {"pair": {"a": {0: b}, "b": ({0: b},)}, "n": None}'
    )
    values, _ = read(code, ["pair", "n"])
    assert shown(values["pair"]["a"]) == "b 3"
    assert values["pair"]["b"][0].dtype == "int64" and values["n"] == 3


@needs_torch
def test_the_command_takes_them_where_nothing_else_is_given(tmp_path: Path) -> None:
    text = HEAD + TWO + 'dynamic_shapes = {"x": {0: b, 1: 2 * d}, "y": {0: b, 1: d}}\n'
    (tmp_path / "net.py").write_text(text)
    done = command(tmp_path, "check", "net.py:Sum")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "accepts, where b <= 64, x_1 == 2 * d, d >= 2" in done.stdout
    assert "takes   x : float32[b, x_1, 16], y : float32[b, d, 16]" in done.stdout
    own = command(tmp_path, "check", "net.py:Sum", "--arg", "x=float32[n, 4]", "--arg", "y=float32[n, 2]")
    assert "takes   x : float32[n, 4], y : float32[n, 2]" in own.stdout, own.stderr
    assert "where" not in own.stdout
    other = command(tmp_path, "check", "net.py:Other")
    assert other.returncode == 2 and "Other takes `z`, which is not given" in other.stderr
    listed = command(tmp_path, "check", "net.py")
    assert "rx check net.py:Sum\n" in listed.stdout and 'net.py:Other --arg "z=float32[...]"' in listed.stdout
