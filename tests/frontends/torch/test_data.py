"""PyTorch code in which data decides: both ways are followed and listed, and nothing is claimed that only one of them gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.torch_cases import checked, conditions, lines, needs_torch

CODE = """
import torch

def same_shapes(x):
    if x.sum() > 0:
        return x * 2
    return x + 1

def same_by_item(x):
    y = x * 2 if x.sum().item() > 0 else x + 1
    return y @ y.T

def other_ranks(x):
    if x.mean() > 0:
        return x.sum(0)
    return x

def other_sizes(x):
    if x.mean() > 0:
        x = x[:, ::2]
    return x.exp()

def one_never(x):
    if (x > 0).any():
        return x.reshape(x.shape[0], x.shape[1] + 1)
    return x

def other_never(x):
    if (x > 0).any():
        return x
    return x.reshape(x.shape[0], x.shape[1] + 1)

def other_needs(x):
    if (x > 0).any():
        return x
    return x.unfold(1, 3, 1).sum(2).expand(x.shape[0], x.shape[1] - 2)

def refuses(x):
    if not torch.isfinite(x).all():
        raise ValueError("no")
    return x[:, 1:]

def states(x):
    assert (x >= 0).all()
    return x

def until(x):
    while x.norm() > 1:
        x = x / 2
    return x

def until_number(x):
    error = 1.0
    while error > 0.1:
        error = x.var().item()
        x = x.softmax(1)
    return x

def stops(x):
    for _ in range(3):
        x = x.relu()
        if (x == 0).all():
            break
    return x

def cut(x, n):
    return x[:, : n.max().item()]

def counted(x):
    return torch.zeros(int((x > 0).sum()), 3)

def looked_up(x, ids, places):
    return x[ids], torch.nn.functional.embedding(places[:, 0], x), x[torch.arange(x.shape[0])], x[:, 0] ** x[:, 1]

def looped(x):
    for _ in range(int((x > 0).sum())):
        x = x.relu()
    return x
"""
X = "x=float32[b, t]"


def _checked(folder: Path, name: str, *more: str) -> object:
    (folder / "data.py").write_text(CODE)
    return checked(folder, f"data.py:{name}", X, *more)


@needs_torch
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("same_shapes", ("b", "t")), ("same_by_item", ("b", "b")), ("other_ranks", None), ("other_sizes", ("b", "?")),
        ("refuses", ("b", "max(t - 1, 0)")), ("states", ("b", "t")), ("until", ("b", "t")), ("until_number", ("b", "t")),
        ("stops", ("b", "t")), ("counted", ("?", 3)),
    ],
)  # fmt: skip
def test_a_result_is_what_every_way_gives(name: str, shape: object, tmp_path: Path) -> None:
    found = _checked(tmp_path, name)
    assert [o.shape for o in found.contract.outputs] == [shape]
    assert lines(found, "error") == []
    assert name == "counted" or found.contract.undecided


@needs_torch
def test_a_size_that_data_decides_is_no_size_of_the_inputs(tmp_path: Path) -> None:
    assert _checked(tmp_path, "cut", "n=int64[b]").contract.outputs[0].shape == ("b", "?")


@needs_torch
@pytest.mark.parametrize(("name", "line"), [("one_never", 25), ("other_never", 31)])
def test_a_way_that_never_works_is_told_at_its_line(name: str, line: int, tmp_path: Path) -> None:
    found = _checked(tmp_path, name)
    assert lines(found, "warning") == [line] and found.report.ok
    assert found.contract.outputs[0].shape == ("b", "t") and conditions(found) == set()


@needs_torch
def test_what_only_the_other_way_needs_is_listed(tmp_path: Path) -> None:
    found = _checked(tmp_path, "other_needs")
    assert conditions(found) == set()
    assert [d.needs for d in found.contract.undecided if "t >= 3" in d.needs and d.node == "data.py:36"]


@needs_torch
def test_a_number_that_data_decides_is_told(tmp_path: Path) -> None:
    assert lines(_checked(tmp_path, "looped"), "warning") == [76]


@needs_torch
def test_elements_that_have_to_be_indices_are_listed(tmp_path: Path) -> None:
    found = _checked(tmp_path, "looked_up", "ids=int64[k]", "places=int64[b, t]")
    assert [(d.node, d.needs) for d in found.contract.undecided] == [
        ("data.py:73", "`ids` holds indices into `x`"),
        ("data.py:73", "`getitem` holds indices into `x`"),
    ]


@needs_torch
def test_a_view_of_as_many_elements_as_data_decides_is_listed_in_words(tmp_path: Path) -> None:
    (tmp_path / "others.py").write_text(
        "import torch\n\ndef f(s):\n    n = s.shape[0]\n    return s[~torch.eye(n, dtype=torch.bool)].view(n, n - 1)\n"
    )
    (left,) = checked(tmp_path, "others.py:f", "s=float32[n, n]").contract.undecided
    assert left.needs == "Tensor.view needs sizes that fit"


@needs_torch
def test_what_only_one_way_of_data_needs_is_no_condition_of_the_inputs(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("def f(x, y):\n    if x.sum() > 0:\n        return x + y\n    return x\n")
    found = checked(tmp_path, "one.py:f", "x=float32[b, 4]", "y=float32[c, 4]")
    assert conditions(found) == set() and lines(found, "warning") == [3]
    [left] = [d.needs for d in found.contract.undecided if d.node == "one.py:3"]
    assert left.startswith("b == c || ") and left.endswith("where data does not take the other path at one.py:2")
