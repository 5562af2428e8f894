"""Equal module bodies are one function of the program, where that says what the lines in place would say."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from pathlib import Path  # noqa: E402

from rxlang.frontends.torch.arguments import DeclaredInput  # noqa: E402
from rxlang.frontends.torch.target import Target  # noqa: E402
from rxlang.model import traced  # noqa: E402
from rxlang.model.traced import CheckedPython, check_target  # noqa: E402
from torch import nn  # noqa: E402


class Block(nn.Module):
    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):  # type: ignore[no-untyped-def]
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        return x + self.out(((q @ k.transpose(-2, -1)).softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))


class Table(nn.Module):
    """Adds positions of a table: its rows are a condition of each of its calls."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.rows, self.out = nn.Parameter(torch.randn(16, d)), nn.Linear(d, d)

    def forward(self, x):  # type: ignore[no-untyped-def]
        x = x + self.rows[: x.shape[1]]
        x = self.out(x)
        return x.relu() + 1


class Bounded(Table):
    def forward(self, x):  # type: ignore[no-untyped-def]
        if x.shape[1] > 9:
            raise ValueError("too long")
        return super().forward(x)


class Untransposed(nn.Module):
    """A slip: `k` is not transposed."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):  # type: ignore[no-untyped-def]
        scores = self.q(x) @ self.k(x)
        return scores.softmax(-1) @ self.v(x)


class Halved(nn.Module):
    """Sizes that only the whole program has names for: `t // 2`, and then its own half."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):  # type: ignore[no-untyped-def]
        y = self.a(x)
        y = y.relu()
        y = self.b(y)
        return x + y


class Halving(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Halved(d) for _ in range(8))

    def forward(self, x):  # type: ignore[no-untyped-def]
        for layer in self.layers[:4]:
            x = layer(x)
        x = x[:, ::2]
        for layer in self.layers[4:]:
            x = layer(x)
        return x


class Kept(nn.Module):
    """As many rows as data says, and the same steps for them."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Halved(d) for _ in range(3))

    def forward(self, x):  # type: ignore[no-untyped-def]
        x = x[x[:, 0] > 0]
        for layer in self.layers:
            x = layer(x)
        return x


def checked(model: nn.Module, shape: tuple[int | str, ...]) -> CheckedPython:
    name = "input" if isinstance(model, nn.Sequential) else "x"
    target = Target("model.py:model", model, {name: DeclaredInput("float32", shape)}, model)
    return check_target(target, Path.cwd())


def flat(monkeypatch: pytest.MonkeyPatch, model: nn.Module, shape: tuple[int | str, ...]) -> CheckedPython:
    with monkeypatch.context() as m:
        m.setattr(traced, "functions", lambda run: ())
        return checked(model, shape)


CASES = {
    "proved": (nn.Sequential(*(Block(16, 4) for _ in range(5))), ("b", "t", 16), ("block", 5)),
    "conditions": (nn.Sequential(*(Table(8) for _ in range(4))), ("b", "t", 8), ("table", 3)),
    "raises": (nn.Sequential(*(Bounded(8) for _ in range(4))), ("b", "t", 8), ("bounded", 3)),
    "two sizes": (Halving(8), ("b", "t", 8), ("halved", 4)),
    "sizes of data": (Kept(8), ("n", 8), ("halved", 3)),
    "shared": (nn.Sequential(*[Block(16, 4)] * 3), ("b", "t", 16), ("block", 3)),
    "wrong": (nn.Sequential(*(Untransposed(8) for _ in range(4))), ("b", "t", 8), ("untransposed", 3)),
    "short": (nn.Sequential(*(nn.Linear(8, 8) for _ in range(4))), ("b", "t", 8), None),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_say_what_lines_in_place_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, shape, function = CASES[name]
    found, plain = checked(model, shape), flat(monkeypatch, model, shape)
    assert [d.message for d in found.report.diagnostics] == [d.message for d in plain.report.diagnostics]
    assert [d.span.start for d in found.report.diagnostics] == [d.span.start for d in plain.report.diagnostics]
    assert (found.contract is None) == (plain.contract is None) == (name == "wrong")
    assert found.trace is not None and plain.trace is not None
    if found.contract is not None and plain.contract is not None:
        assert found.contract.conditions == plain.contract.conditions
        assert found.contract.outputs[0].shape == plain.contract.outputs[0].shape
    if function is None:
        assert found.trace.text == plain.trace.text
    else:
        called, times = function
        assert found.trace.text.count(f"= @{called}(") == times
        assert found.trace.text.count("\n") < plain.trace.text.count("\n")


def test_an_error_in_equal_layers_is_told_once_with_all_of_them() -> None:
    model, shape, _ = CASES["wrong"]
    [said] = [d for d in checked(model, shape).report.diagnostics if d.severity == "error"]
    assert said.function == "0, 1, 2, 3"


def test_a_function_has_the_names_of_the_module() -> None:
    model, shape, _ = CASES["proved"]
    trace = checked(model, shape).trace
    assert trace is not None
    head = next(line for line in trace.text.splitlines() if line.startswith("@block"))
    assert "qkv_weight : Tensor([48, 16], float32)" in head
    assert head.endswith(": Tensor([b, t, 16], float32) {")


def test_many_equal_layers_take_one_check_of_them() -> None:
    model = nn.Sequential(*(Block(16, 4) for _ in range(40)))
    found = checked(model, ("b", "t", 16))
    assert found.report.ok and found.report.checked is not None
    assert found.trace is not None and found.trace.text.count("\n") < 80
