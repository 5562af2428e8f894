"""Functions over PyTorch: modules with parameters, through which gradients flow, which torch.compile takes whole, and which
copy nothing to the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from support.places import ROOT

torch = pytest.importorskip("torch")
EXAMPLES = ROOT / "examples"
NETWORK = """const w : Tensor([3, 4], float32) = tensor([[1, 2, 3, 4], [0, 1, 0, 1], [2, 2, 2, 2]], float32)
const b : Tensor([4], float32) = tensor([1, 1, 1, 1], float32)
const rows : Tensor([2], int64) = tensor([0, 2], int64)
@f = fn(x : Tensor([n, 3], float32)) : Tensor([n, 4], float32) {
  @gelu(@matmul(x, w) * 0.1 + b) + @sum(@take(w, rows, axis=0), axis=0)
}
@plain = fn(x : Tensor([n, d], float32), k : Size) : Tensor([n, d], float32) {
  if (n > 2) { @softmax(x) } else { x * @size_to_tensor(k, float32) }
}
"""


@pytest.fixture
def module() -> Any:
    return rx.loads(NETWORK, engine="torch")


def own(x: Any, w: Any, b: Any) -> Any:
    return torch.nn.functional.gelu(x @ w * 0.1 + b) + w[[0, 2]].sum(0)


def test_weights_are_parameters_and_other_tensors_buffers(module: Any) -> None:
    assert isinstance(module.f, torch.nn.Module)
    assert {n: tuple(p.shape) for n, p in module.f.named_parameters()} == {"w": (3, 4), "b": (4,)}
    assert set(module.f.state_dict()) == {"w", "b", "rows"}
    assert list(module.plain.parameters()) == []
    assert module.f.signature.startswith("@f = fn(") and "@f" in repr(module.f) and module.f.residual == ()


def test_gradients_are_those_that_torch_has(module: Any) -> None:
    x = torch.linspace(-1, 1, 15).reshape(5, 3).requires_grad_()
    y, w, b = (t.detach().clone().requires_grad_() for t in (x, module.f.w, module.f.b))
    module.f(x).square().mean().backward()
    own(y, w, b).square().mean().backward()
    for mine, theirs in ((x, y), (module.f.w, w), (module.f.b, b)):
        torch.testing.assert_close(mine.grad, theirs.grad)


def test_a_function_stands_in_a_training_loop(module: Any) -> None:
    x, wanted = torch.linspace(-1, 1, 15).reshape(5, 3), torch.full((5, 4), 2.0)
    optimiser, losses = torch.optim.Adam(module.f.parameters(), lr=0.05), []
    for _ in range(60):
        optimiser.zero_grad()
        loss = (module.f(x) - wanted).square().mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10
    with pytest.raises(rx.ShapeError, match="axis 1 of `x` to be 3"):
        module.f(x[:, :2])


def test_weights_are_loaded_and_replaced(module: Any) -> None:
    x = torch.ones(2, 3)
    before = module.f(x)
    state = {n: v.clone() for n, v in module.f.state_dict().items()}
    with torch.no_grad():
        module.f.w.zero_()
    assert not torch.equal(module.f(x), before)
    module.f.load_state_dict(state)
    torch.testing.assert_close(module.f(x), before)
    zeros = {n: torch.zeros_like(p) for n, p in module.f.named_parameters()}
    made = torch.func.functional_call(module.f, zeros, (x,))
    torch.testing.assert_close(made, own(x, zeros["w"], zeros["b"]))
    torch.testing.assert_close(module.f(x), before)


def test_a_call_with_arrays_of_numpy_records_nothing(module: Any) -> None:
    assert np.asarray(module.f(np.ones((2, 3), np.float32))).shape == (2, 4)


# Programs that would give something else if a tensor were written into that is read again.
WRITTEN = {
    "made of another": "let a = @full([1], y)\n let b = a + y\n (b * y, y)",
    "its transpose": "let a = x * 2.0\n let b = @matrix_transpose(a)\n let c = a + b\n (c + a, b)",
    "twice": "let a = x + 2.0\n let c = a * a\n (c / c, c - a, x)",
    "turns that are kept": """let (a, o) = for i in range(4) with (a : Tensor([n, n], float32) = x * 1.0)
    stack (o : Tensor([n, n], float32)) { (a * 2.0 + 1.0, a) }
  (a, o, x)""",
}


@pytest.mark.parametrize("case", WRITTEN)
def test_without_gradients_what_is_read_again_is_not_written_into(case: str) -> None:
    text = f"@f = fn(x : Tensor([n, n], float32), y : float32) {{ {WRITTEN[case]} }}"
    x, y = torch.arange(9.0).reshape(3, 3), torch.tensor(3.0)
    with torch.no_grad():
        found = rx.loads(text, engine="torch").f(x, y)
    for one, other in zip(found, rx.loads(text).f(x.numpy().copy(), np.float32(3)), strict=True):
        np.testing.assert_allclose(one.numpy(), other)
    assert x.tolist() == torch.arange(9.0).reshape(3, 3).tolist() and y == 3


def test_an_integer_of_rank_0_is_a_size_as_a_tensor_too() -> None:
    f = rx.loads("@f = fn(x : Tensor([n]), t : int64) { let k = @item(t)\n assert k > 1\n x[0:k] }", engine="torch").f
    assert f(torch.arange(3.0), torch.tensor(2)).tolist() == [0, 1]
    with pytest.raises(rx.ShapeError, match="k is 1"):
        f(torch.arange(3.0), torch.tensor(1))


def test_weights_are_of_the_dtypes_that_the_program_says(module: Any) -> None:
    with pytest.raises(TypeError, match="which dtypes its weights have"):
        module.f.half()


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_torch_compile_takes_a_function_whole(module: Any, size: int) -> None:
    x = torch.linspace(-1, 1, size * 3).reshape(size, 3)
    whole = torch.compile(module.f, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(whole(x), module.f(x))
    plain = torch.compile(module.plain, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(plain(x, 4), module.plain(x, 4))


def test_gradients_of_what_is_compiled_are_the_same(module: Any) -> None:
    x = torch.linspace(-1, 1, 15).reshape(5, 3)
    grads = []
    for f in (module.f, torch.compile(module.f, fullgraph=True, backend="aot_eager")):
        module.f.zero_grad()
        f(x).square().mean().backward()
        grads.append(module.f.w.grad.clone())
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("name", ["block", "gpt"])
def test_an_example_is_compiled_whole(name: str) -> None:
    from support import engine_programs

    plain = rx.load(EXAMPLES / "gpt.rx")
    if name not in plain:
        pytest.skip("no such function")
    module = rx.load(EXAMPLES / "gpt.rx", engine="torch")
    torch._dynamo.reset()  # it counts the shapes of all functions together, and ends at eight
    whole = torch.compile(module[name], fullgraph=True, backend="aot_eager")

    def tensors(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(tensors, value))
        return torch.tensor(value) if isinstance(value, np.ndarray) else value

    for args in engine_programs.calls(plain, name)[-2:]:
        torch.testing.assert_close(whole(*tensors(tuple(args))), module[name](*tensors(tuple(args))))


# A device without memory stands for one that is not the host: what asks it for an element, or is copied to it, raises.

STAND_IN = {
    "NETWORK": (NETWORK, "f", [(5, 3)]),
    "positions": (
        "@f = fn(x : Tensor([n, d], float32), i : Tensor([k], int64)) where n >= k { "
        "(@take(x, i, axis=0), @embedding(i, x), @put(x, i, x[:k])) }",
        "f", [(4, 2), (3,)],
    ),
    "images": (
        "@f = fn(x : Tensor([n, c, h, w], float32), k : Tensor([o, c, 3, 3], float32)) where h >= 4, w >= 4 {\n"
        "  @max_pool2d(@relu(@conv2d(x, k, pads=1)), 2) }", "f", [(2, 3, 8, 8), (4, 3, 3, 3)],
    ),
    "attention": (
        "@f = fn(q : Tensor([b, t, d], float32), m : Tensor([t, t], bool)) { @attention(q, q, q, m) }", "f",
        [(2, 4, 8), (4, 4)],
    ),
    "a loop": (
        "@f = fn(x : Tensor([n, d], float32)) { for i in range(n) with (y = x[0]) stack (z : Tensor([d], float32)) "
        "{ (y + x[i], y * 2.0) } }", "f", [(3, 2)],
    ),
}  # fmt: skip


def tree(value: Any) -> Any:
    return tuple(map(tree, value)) if isinstance(value, tuple) else (tuple(value.shape), value.dtype)


@pytest.mark.parametrize("case", STAND_IN)
def test_nothing_is_copied_between_a_device_and_the_host(case: str) -> None:
    text, name, shapes = STAND_IN[case]
    given = [torch.zeros(s, dtype=torch.int64 if len(s) == 1 else torch.bool if case == "attention" and len(s) == 2 else None)
             for s in shapes]  # fmt: skip
    here, there = rx.loads(text, engine="torch"), rx.loads(text, engine="torch", device="meta")
    made = there[name](*(g.to("meta") for g in given))
    assert tree(made) == tree(here[name](*given))
    parts = made if isinstance(made, tuple) else (made,)
    assert {p.device.type for p in parts} == {"meta"}


def test_a_function_moves_to_a_device(module: Any) -> None:
    module.f.to("meta")
    assert module.f.w.device.type == "meta" and module.f(torch.ones(5, 3, device="meta")).device.type == "meta"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_a_gpu_gives_what_the_cpu_gives(module: Any) -> None:
    x = torch.linspace(-1, 1, 15).reshape(5, 3)
    wanted = module.f(x)
    module.f.to("cuda")
    with torch.cuda.device(0):
        torch.cuda.set_sync_debug_mode("error")
        try:
            made = module.f(x_there := x.to("cuda"))
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert made.device == x_there.device
    torch.testing.assert_close(made.cpu(), wanted)


NET = """import torch

class Net(torch.nn.Module):
    def __init__(self, width=400):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(4, width), torch.nn.Linear(width, 400)
        self.last = torch.nn.Linear(400, 3)
        self.register_buffer("shift", torch.arange(3.0))

    def forward(self, x):
        x = torch.nn.functional.scaled_dot_product_attention(x, x, x, scale=1.0)
        h = torch.relu(self.second(torch.relu(self.first(x))))
        return self.last(h).reshape(x.shape[0], -1, 3).mean(1) + self.shift + torch.tensor([1.0, 2.0, 3.0])
"""


def test_python_code_is_exported_with_its_parameters_as_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = pytest.importorskip("onnxruntime")
    import subprocess
    import sys

    (tmp_path / "net_to_export.py").write_text(NET, encoding="utf-8")
    command = [sys.executable, "-m", "rxlang", "export", "net_to_export.py:Net", "--init", "width=300"]
    given = ["--arg", "x=float32[b, t, 4]", "-o", "net.onnx"]
    done = subprocess.run([*command, *given], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    monkeypatch.syspath_prepend(str(tmp_path))
    net = __import__("net_to_export").Net(300)
    session = runtime.InferenceSession(str(tmp_path / "net.onnx"))
    assert [i.name for i in session.get_inputs()] == ["x"]
    for shape in ((2, 3, 4), (1, 1, 4), (5, 2, 4)):
        x = torch.randn(*shape)
        np.testing.assert_allclose(session.run(None, {"x": x.numpy()})[0], net(x).detach(), rtol=1e-5, atol=1e-5)
    again = rx.load(tmp_path / "net.onnx")
    with pytest.raises(rx.ShapeError):
        again.main(np.ones((0, 3, 4), np.float32))
    wrong = [*command, "--arg", "x=float32[b, t, 5]", "-o", "wrong.onnx"]
    done = subprocess.run(wrong, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "net_to_export.py:13" in done.stderr and not (tmp_path / "wrong.onnx").exists()
    done = subprocess.run([*command, "-o", "wrong.onnx"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "is not given" in done.stderr
