"""Branches of PyTorch code: the contract against what torch does at all sizes of a box."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.torch_cases import checked, command, holds, needs_torch

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

def unless(x, loose=False):
    b, t = x.shape
    if not loose and (t > 4 or b == 3):
        raise ValueError("no")
    return x

def both(x):
    if x.shape[0] > 5 and x.shape[1] > 6:
        raise ValueError("no")
    return x

def between(x):
    if 2 < x.shape[1] < 6:
        raise ValueError("no")
    return x

def together(x):
    y = x[:, 1:] if x.shape[0] < 3 else x
    return y[:, 1:] @ x[:, 2:].T if x.shape[1] < 4 else x

def only_there(x):
    if x.shape[0] < 3:
        if x.shape[1] > 20:
            return x.sum(0)
    return x

def nested(x):
    if x.shape[1] > 2:
        if x.shape[1] > 5:
            return x.relu()
        return x.exp()
    return x.tanh()

def one_at_least(x):
    y = x * 2 if x.shape[1] > 1 else x
    return y.view(x.shape[1], -1)

def cut_again(x):
    y = torch.nn.functional.avg_pool1d(x, 4, 1)
    y = y + torch.nn.functional.pad(y, (0, 1))[:, :-1]
    is_long = bool(y.shape[1] > 2)
    return y

def halves(x):
    first, second = x.chunk(2, dim=1)
    return first + second

def thirds(x):
    first, second, third = x.chunk(3, dim=1)
    return first * third @ second.T
"""
FUNCTIONS = [
    "same_shapes",
    "raises_there",
    "states",
    "squeezed_wrongly",
    "two_sizes",
    "nested",
    "fails_elsewhere",
    "unless",
    "cut_again",
]


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
def test_ways_of_equal_shapes_are_one_and_what_is_refused_beside_them_is_a_bound(tmp_path: Path) -> None:
    (tmp_path / "ways.py").write_text(CODE)
    contract = checked(tmp_path, "ways.py:one_at_least", "x=float32[b, t]").contract
    assert not contract.given and [c.condition for c in contract.conditions] == ["t >= 1"]


BOUNDS = """
def one_row(x):
    b, t = x.shape
    if b == 1:
        x = x * 2
    return x.view(b, t, -1)

def both_of_one(x):
    b, t = x.shape
    if t > 1:
        pass
    if b != 1:
        x = x + 1
    return x.view(b, t, -1)

def a_product(x):
    b, t = x.shape
    y = x.unfold(1, 3, 1)
    if t // 2 > 1:
        y = y * 2
    if b * (t // 4) > 1:
        y = y.view(*y.shape)
    return y
"""


@needs_torch
def test_a_bound_of_all_ways_is_no_condition_of_one(tmp_path: Path) -> None:
    (tmp_path / "bounds.py").write_text(BOUNDS)
    for name, least in (
        ("one_row", {"b >= 1", "t >= 1"}),
        ("both_of_one", {"b >= 1", "t >= 1"}),
        ("a_product", {"t >= 3"}),
    ):
        contract = checked(tmp_path, f"bounds.py:{name}", "x=float32[b, t]").contract
        assert not contract.given and {c.condition for c in contract.conditions} == least
        assert not any("!=" in d.needs for c in contract.conditions for d in c.demands)


@needs_torch
@pytest.mark.parametrize("name", ["both", "between", "together", "only_there", "halves", "thirds"])
def test_what_is_said_of_the_sizes_that_take_a_way_is_what_torch_does(name: str, tmp_path: Path) -> None:
    from rxlang.simplify.solver.numbers import holds_at

    (tmp_path / "ways.py").write_text(CODE)
    scope: dict[str, Any] = {}
    exec(CODE, scope)
    contract = checked(tmp_path, f"ways.py:{name}", "x=float32[b, t]").contract
    for b, t in product(range(1, 8), [*range(1, 9), 21, 22]):
        if all(holds_at(way, {"b": b, "t": t}) for way in contract.given):
            told = all(holds_at(c.condition, {"b": b, "t": t}) for c in contract.conditions)
            assert told == _runs(scope[name], (b, t)), (b, t)


WINDOWS = """
import torch
from torch import nn
from torch.nn import functional as F

class Windows(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        x = F.pad(x, (0, 0, 0, (4 - t % 4) % 4))
        whole = x.shape[1]
        shift = 2 if whole > 4 else 0
        x = torch.roll(x, -shift, 1) if shift else x
        y = self.mix(x.view(b, whole // 4, 4, c).reshape(b * (whole // 4), 4, c))
        y = y.view(b, whole // 4, 4, c).reshape(b, whole, c)
        y = torch.roll(y, shift, 1) if shift else y
        return y[:, :t] + x[:, :t]

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.ModuleList(Windows(8) for _ in range(3))
        self.then = nn.ModuleList(Windows(16) for _ in range(3))

    def forward(self, x):
        for block in self.first:
            x = block(x)
        x = F.pad(x, (0, 0, 0, x.shape[1] % 2))
        x = torch.cat([x[:, ::2], x[:, 1::2]], -1)
        for block in self.then:
            x = block(x)
        return x[:, 1:].flatten(1)
"""


@needs_torch
def test_windows_of_a_padded_input_are_the_same_for_all_sizes(tmp_path: Path) -> None:
    import torch
    from rxlang.simplify.solver.numbers import size_at

    (tmp_path / "windows.py").write_text(WINDOWS)
    scope: dict[str, Any] = {}
    exec(WINDOWS, scope)
    found, model = checked(tmp_path, "windows.py:Model", "x=float32[b, t, 8]"), scope["Model"]()
    (output,) = found.contract.outputs
    for t in range(1, 22):
        point = {"b": 2, "t": t}
        assert holds(found, point)
        assert tuple(size_at(d, point) for d in output.shape) == model(torch.ones(2, t, 8)).shape, t


@needs_torch
def test_sizes_in_fewer_operations_are_the_same_numbers() -> None:
    import random

    import sympy
    from rxlang.frontends.torch.sizes import shorter
    from torch.utils._sympy.functions import FloorDiv, PythonMod

    random_numbers = random.Random(1)
    n = sympy.Symbol("n", integer=True, nonnegative=True)
    changed = 0
    for _ in range(120):
        size = n
        for _ in range(random_numbers.randrange(1, 5)):
            by, more = sympy.Integer(random_numbers.randrange(1, 9)), random_numbers.randrange(-9, 9)
            sign = random_numbers.choice((1, -1))
            choices = (
                FloorDiv(size + more, by), size + PythonMod(by - PythonMod(size, by), by), size + PythonMod(size, by),
                size - PythonMod(size, by) + more, size * sign + more,
            )  # fmt: skip
            size = FloorDiv(random_numbers.choice(choices), by)
        short = shorter(size)
        changed += short != size
        for at in range(0, 60, 7):
            assert short.subs(n, at) == size.subs(n, at), (size, short)
    assert changed > 20


MANY = """
def f(x):
    for k in (3, 6, 9):
        if x.shape[0] > k:
            x = x + k
        if x.shape[1] > k:
            x = x * k
    return x

def at_none(x, y):
    if x.shape[0] == 1:
        x = x.view(x.shape[0], x.shape[1], -1, 4).flatten(2)
    if x.shape[1] > 1 and y.shape[1] > 1:
        x = x * 2
    else:
        x = x.view(x.shape[0], x.shape[1], -1, 4).flatten(2)
    if y.shape[0] > 1:
        y = y + y[:1]
    return x, y
"""


@needs_torch
def test_what_was_not_run_of_several_sizes_is_listed(tmp_path: Path) -> None:
    (tmp_path / "many.py").write_text(MANY)
    for name, *inputs in (("f", "x=float32[b, t]"), ("at_none", "x=float32[b, t, 8]", "y=float32[b, s, 8]")):
        found = checked(tmp_path, f"many.py:{name}", *inputs).contract
        assert ["not all their paths were run" in d.needs for d in found.undecided] == [True], name
    assert not checked(tmp_path, "many.py:f", "x=float32[b, 7]").contract.undecided


@needs_torch
def test_no_way_is_taken_beside_what_is_given(tmp_path: Path) -> None:
    from rxlang.lang.given import read_given
    from rxlang.model.traced import check_python
    from rxlang.simplify.known.outcome import Options

    (tmp_path / "ways.py").write_text(CODE)
    options = Options(given=(read_given("@main: t >= 5"),))
    found = check_python("ways.py:raises_there", None, ["x=float32[b, t]"], tmp_path, options)
    assert found.contract is None


@needs_torch
def test_what_other_ways_give_and_ask_is_told_where_they_are_taken(tmp_path: Path) -> None:
    (tmp_path / "ways.py").write_text(CODE)
    squeezed = checked(tmp_path, "ways.py:squeezed", "x=float32[b, t]").contract
    assert squeezed.given == () and {c.when: c.shape for c in squeezed.outputs[0].cases} == {
        "b != 1": ("b",),
        "b == 1": (),
    }
    there = checked(tmp_path, "ways.py:condition_there", "x=float32[b, t]").contract
    assert there.given == () and [c.condition for c in there.conditions] == ["b != 1 || t % 2 == 0"]


TYPES = """
import torch

def cut(x):
    if x.shape[1] > 4:
        x = x[:, :4]
    return x * 2

def half(x):
    return x.half() if x.shape[1] > 4 else x

def even(x):
    if x.shape[1] % 2 == 1:
        x = torch.nn.functional.pad(x, (0, 1))
    return x.view(x.shape[0], -1, 2).sum(2)

def only_one(x, y):
    if x.shape[1] > 1 and y.shape[1] > 1:
        raise ValueError("no")
    return x.squeeze(1)[:, None]

def stated_there(x, y):
    x = x[:, 1:] if x.shape[1] + y.shape[1] > 2 else x[:, :2]
    if x.shape[1] % 2 == 0:
        raise ValueError("no")
    return x
"""


@needs_torch
def test_a_result_has_the_type_that_all_ways_give(tmp_path: Path) -> None:
    (tmp_path / "kinds.py").write_text(TYPES)
    found = {
        name: checked(tmp_path, f"kinds.py:{name}", "x=float32[b, t]").contract for name in ("cut", "half", "even")
    }
    assert {name: (c.outputs[0].shape, c.given) for name, c in found.items()} == {
        "cut": (("b", "min(4, t)"), ()),
        "half": (("b", "t"), ("t >= 5",)),
        "even": (("b", "(t + 1) // 2"), ()),
    }


@needs_torch
def test_what_one_way_states_or_asks_is_no_mistake_on_another(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(TYPES)
    for name in ("only_one", "stated_there"):
        found = checked(tmp_path, f"other.py:{name}", "x=float32[b, t]", "y=float32[b, s]")
        assert found.contract is not None and found.contract.outputs[0].cases, name


@needs_torch
def test_what_is_of_one_way_is_told_where_lines_are_listed_or_exported(tmp_path: Path) -> None:
    (tmp_path / "path.py").write_text(TYPES)
    listed = command(tmp_path, "infer", "path.py:even", "--arg", "x=float32[b, t]")
    assert listed.stdout.splitlines()[-1] == "where t % 2 == 1: at other sizes the code takes another path"
    pytest.importorskip("onnxruntime")
    export = ("export", "path.py:even", "--arg", "x=float32[b, t]", "-o", "even.onnx")
    told = command(tmp_path, *export)
    assert told.returncode == 0 and "the model is for t % 2 == 1 only" in told.stderr
    assert "only" not in command(tmp_path, *export, "--given", "t % 2 == 1").stderr


@needs_torch
def test_what_a_code_gives_beside_tensors_is_no_output_of_its_model(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    (tmp_path / "beside.py").write_text(
        'def of(x):\n    return {"rows": x.shape[0], "twice": x * 2, "word": "a", "no": None}\n'
    )
    told = command(tmp_path, "export", "beside.py:of", "--arg", "x=float32[b, 4]", "-o", "beside.onnx")
    assert told.returncode == 0, told.stderr
    assert [o.shape[1] for o in runtime.InferenceSession(str(tmp_path / "beside.onnx")).get_outputs()] == [4]


CAUGHT = """
def caught(x):
    try:
        y = x.view(x.shape[0], -1, 4)
    except RuntimeError:
        y = x
    return y

def raised_again(x):
    try:
        y = x.view(x.shape[0], -1, 4)
    except RuntimeError as problem:
        raise ValueError("no") from problem
    return y

def of_keys(x):
    try:
        y = x.view(x.shape[0], -1, 4)
    except KeyError:
        y = x
    return y
"""


@needs_torch
def test_what_the_code_goes_on_without_is_no_condition(tmp_path: Path) -> None:
    (tmp_path / "caught.py").write_text(CAUGHT)
    asked = ["b >= 1", "t % 4 == 0"]
    for name, given, own in (("caught", asked, []), ("raised_again", [], asked), ("of_keys", [], asked)):
        contract = checked(tmp_path, f"caught.py:{name}", "x=float32[b, t]").contract
        assert (sorted(contract.given), sorted(c.condition for c in contract.conditions)) == (given, own), name
