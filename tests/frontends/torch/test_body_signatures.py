"""`@rx.checked(..., body=True)`: the signature is proved of the body, once, and what contradicts it is said at its line."""

from __future__ import annotations

import textwrap
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import rxlang as rx
from support.torch_cases import in_python, needs_torch

pytestmark = needs_torch
HEAD = """
import rxlang as rx
import torch
from jaxtyping import Float
from torch import Tensor, nn

"""
X = "x : Tensor([n, m], float32)"
RIGHT = {
    "an expression": ("fn(x : Tensor([n, m * 4], float32)) : Tensor([n, m], float32)", "x[:, ::4]"),
    "a condition": (f"fn({X}) : Tensor([n, m - 2], float32) where m >= 2", "x[:, 2:]"),
    "a tuple": (f"fn({X}) : (Tensor([n, m], float32), Tensor([n], float32))", "(x * 2, x[:, :1].sum(1))"),
    "no name of an input": (f"fn({X}) : Tensor([k, m], float32)", "x[:1]"),
    "a number": ("fn(x : Tensor([n, 3], float32)) : Tensor([n, 3], float32)", "x @ torch.ones(3, 3)"),
    "its parameter": (f"fn({X}) : Tensor([n, m], float32)", "x"),
    "no result": (f"fn({X})", "x * 2"),
}
WRONG = {
    "a stride": ("fn(x : Tensor([n, m * 4], float32)) : Tensor([n, m], float32)", "x[:, ::2]", "m * 2"),
    "a transpose": (f"fn({X}) : Tensor([n, m], float32)", "x.T", "axis 0 of `result`"),
    "a product": (f"fn({X}) : Tensor([n, n], float32)", "x @ x", "n == m"),
    "a condition": (f"fn({X}) : Tensor([n, m], float32)", "x @ torch.ones(3, 3).T", "m"),
    "a dtype": (f"fn({X}) : Tensor([n, m], int64)", "x", "int64"),
    "a rank": (f"fn({X}) : Tensor([n], float32)", "x", "rank"),
    "a count": (f"fn({X}) : (Tensor([n, m], float32), Tensor([n], float32))", "x", "2"),
    "what is refused": (f"fn({X}) : Tensor([n, m], float32)", "x.reshape(-1, 5).reshape(x.shape)", "5"),
}


def _body(folder: Path, signature: str, result: str) -> str:
    text = f"@rx.checked({signature!r}, body=True)\ndef f(x):\n    return {result}\n"
    (folder / "own.py").write_text(HEAD + text)
    done = in_python(folder, "-c", "import own; own.f")
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("name", RIGHT)
def test_a_body_that_is_what_its_signature_says(name: str, tmp_path: Path) -> None:
    assert _body(tmp_path, *RIGHT[name]) == ""


@pytest.mark.parametrize("name", WRONG)
def test_a_body_that_is_not_what_its_signature_says(name: str, tmp_path: Path) -> None:
    signature, result, said = WRONG[name]
    err = _body(tmp_path, signature, result)
    assert "CheckError" in err and "own.py:" in err and said in err, err


MODULE = """
@rx.checked("fn(x : Tensor([n, m], float32)) : Tensor([n, m], float32)", body=True)
def later(x):
    return helper(x)


def helper(x):
    return x.T


class Net(nn.Module):
    def __init__(self, d, e):
        super().__init__()
        self.up, self.down = nn.Linear(d, e), nn.Linear(e, d)

    @rx.checked(body=True)
    def forward(self, x: Float[Tensor, "b 4"]) -> Float[Tensor, "b 4"]:
        return self.down(self.up(x))


@rx.checked("fn(x : Tensor([n, m], float32), k : Size) : Tensor([n, m], float32)", body=True)
def times(x, k, way):
    return x * k if way == "times" else x.T
"""


def test_what_needs_a_call_is_proved_by_the_first_one(tmp_path: Path) -> None:
    pytest.importorskip("jaxtyping")
    (tmp_path / "own.py").write_text(HEAD + MODULE)
    calls = """
    import own, torch, rxlang as rx
    from rxlang.python.bodies import BODIES
    def refused(call):
        try:
            call()
        except rx.CheckError as problem:
            return [d.span.line for d in problem.diagnostics]
    x = torch.ones(2, 2)
    assert all(not b.proved for b in BODIES)
    assert refused(lambda: own.later(x)) == [14]
    net = own.Net(4, 8)
    assert net(torch.ones(3, 4)).shape == (3, 4) and len(BODIES[1].proved) == 1
    net(torch.ones(2, 4)), net(torch.ones(5, 4))
    assert len(BODIES[1].proved) == 1
    assert refused(lambda: own.Net(5, 8)(torch.ones(2, 4))) == [24]
    assert own.times(x, 3, "times").shape == (2, 2)
    assert refused(lambda: own.times(x, 3, "else")) == [29]
    """
    done = in_python(tmp_path, "-c", textwrap.dedent(calls))
    assert done.returncode == 0, done.stderr


_PLUGIN = "rxlang.python.pytest_plugin"


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_pytest_proves_all_when_it_is_asked_to(workers: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip("jaxtyping")
    (tmp_path / "own.py").write_text(HEAD + MODULE)
    (tmp_path / "test_own.py").write_text(
        "import own, torch\n\n\ndef test_one():\n    own.Net(4, 8)(torch.ones(2, 4))\n\n\ndef test_two():\n    pass\n"
    )
    # pytest loads the plugin itself where the package is installed, and refuses it under two names.
    is_installed = any(point.value == _PLUGIN for point in entry_points(group="pytest11"))
    asked = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *workers, *(() if is_installed else ("-p", _PLUGIN)))
    if not workers:
        done = in_python(tmp_path, *asked)
        assert done.returncode == 0 and "rx: bodies" not in done.stdout, done.stdout
    done = in_python(tmp_path, *asked, "--rx-trace")
    out = done.stdout
    assert done.returncode == 1 and "2 passed" in out and "@later: wrong" in out and "own.py:14" in out, out
    assert "@forward: proved" in out and "@times: not proved: no test calls it" in out


def test_what_cannot_be_proved_for_all_sizes_is_refused() -> None:
    with pytest.raises(TypeError, match="number of axes"):

        @rx.checked("fn(x : Tensor([*s, m], float32)) : Tensor([*s, m], float32)", body=True)
        def f(x):  # type: ignore[no-untyped-def]
            return x
