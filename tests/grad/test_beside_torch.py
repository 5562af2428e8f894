"""Models beside those of PyTorch: the same weights and batches give the same losses over 20 steps of training. Random programs
beside its autograd, which goes through what the torch engine computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from support import fuzz

from .test_programs import REFUSED, drawn_program, loaded

torch = pytest.importorskip("torch")
nn = torch.nn
STEPS, RATE = 20, 0.05
Parts = tuple[Any, ...]


def weights(seed: int, *shapes: tuple[int, ...]) -> Parts:
    random = np.random.default_rng(seed)
    return tuple((random.normal(size=s) / np.sqrt(s[-1])).astype(np.float32) for s in shapes)


def mlp(x: Any, y: Any, w: Parts) -> Any:
    return nn.functional.cross_entropy(nn.functional.gelu(x @ w[0].T + w[1]) @ w[2].T, y)


def conv(x: Any, y: Any, w: Parts) -> Any:
    f = nn.functional
    h = f.max_pool2d(torch.relu(f.conv2d(x, w[0], w[1], padding=1)), 2)
    h = f.avg_pool2d(f.silu(f.conv2d(h, w[2], stride=2, padding=1)), 2, ceil_mode=True)
    return f.cross_entropy(f.group_norm(h, 2).sum(dim=(2, 3)) @ w[3], y)


def encoder(x: Any, y: Any, w: Parts) -> Any:
    f, (b, t, d), h = nn.functional, x.shape, 2
    n = f.layer_norm(x, (d,), w[0], w[1])
    q, k, v = ((n @ m).reshape(b, t, h, d // h).transpose(1, 2) for m in w[2].chunk(3, dim=1))
    x = x + f.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d) @ w[3]
    return f.smooth_l1_loss(x + f.gelu(f.layer_norm(x, (d,)) @ w[4], approximate="tanh") @ w[5], y)


def gpt(ids: Any, y: Any, w: Parts) -> Any:
    f, t, d = nn.functional, ids.shape[1], w[0].shape[1]
    x = w[0][ids] + w[1][:t]
    for i in range(len(w[2])):
        q, k, v = (f.layer_norm(x, (d,)) @ w[2][i]).chunk(3, dim=-1)
        x = x + f.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + torch.tanh(x @ w[3][i])
    return f.cross_entropy((x @ w[0].T).flatten(0, 1), y.flatten())


def lstm(x: Any, y: Any, w: Parts) -> Any:
    h = c = torch.zeros(x.shape[1], w[1].shape[1])
    for row in x:
        i, o, forget, n = (row @ w[0].T + h @ w[1].T).chunk(4, dim=-1)
        c = torch.sigmoid(forget) * c + torch.sigmoid(i) * torch.tanh(n)
        h = torch.sigmoid(o) * torch.tanh(c)
    return nn.functional.mse_loss(h, y)


def autoencoder(x: Any, y: Any, w: Parts) -> Any:
    f = nn.functional
    low = torch.relu(f.conv2d(x, w[0], stride=2, padding=1))
    mean, spread = (f.conv2d(low, m) for m in (w[1], w[2]))
    up = f.interpolate(mean * torch.exp(spread * 0.1), scale_factor=2, mode="bilinear")
    made = f.conv_transpose2d(torch.cat([up, x], dim=1), w[3], padding=1)
    return f.binary_cross_entropy_with_logits(made, y) + 0.01 * torch.mean(mean**2 + torch.exp(spread) - spread - 1)


W = "Tensor([{}], float32)".format
MODELS: dict[str, tuple[Callable[..., Any], str, str, tuple[tuple[int, ...], ...], str]] = {
    "mlp": (mlp, "x : Tensor([b, i], float32), y : Tensor([b], int64)", "h, i; h; o, h",
            ((7, 5), (7,), (3, 7)), "@cross_entropy_loss(@linear(@gelu(@linear(x, w[0], w[1])), w[2]), y)"),
    "conv": (conv, "x : Tensor([b, c, 8, 8], float32), y : Tensor([b], int64)", "4, c, 3, 3; 4; 4, 4, 3, 3; 4, k",
             ((4, 3, 3, 3), (4,), (4, 4, 3, 3), (4, 5)),
             """let h = @max_pool2d(@relu(@conv2d(x, w[0], w[1], pads=1)), 2)
  let h = @average_pool2d(@silu(@conv2d(h, w[2], strides=2, pads=1)), 2, ceil_mode=true)
  let h = @group_normalization(h, @ones([4]), @zeros([4]), 2)
  @cross_entropy_loss(@matmul(@sum(h, axis=[2, 3]), w[3]), y)"""),
    "encoder": (encoder, "x : Tensor([b, t, d * 2], float32), y : Tensor([b, t, d * 2], float32)",
                "d * 2; d * 2; d * 2, 3 * (d * 2); d * 2, d * 2; d * 2, f; f, d * 2",
                ((6,), (6,), (6, 18), (6, 6), (6, 10), (10, 6)),
                """let n = @layer_norm(x, w[0], w[1])
  let (q, k, v) = @split(@matmul(n, w[2]), 3, axis=-1)
  let made = @attention(@heads(q), @heads(k), @heads(v))
  let x = x + @matmul(@reshape(@permute_dims(made, axes=[0, 2, 1, 3]), [b, t, d * 2]), w[3])
  let n = @layer_norm(x, @ones([d * 2]))
  @smooth_l1_loss(x + @matmul(@gelu(@matmul(n, w[4]), approximate="tanh"), w[5]), y)"""),
    "gpt": (gpt, "x : Tensor([b, t], int64), y : Tensor([b, t], int64)", "a, d; p, d; l, d, 3 * d; l, d, d",
            ((9, 6), (5, 6), (2, 6, 18), (2, 6, 6)),
            """let x = @embedding(x, w[0]) + w[1][:t]
  let x = for i in range(l) with (x : Tensor([b, t, d], float32) = x) {
    let (q, k, v) = @split(@matmul(@layer_norm(x, @ones([d])), w[2][i]), 3, axis=-1)
    let x = x + @attention(q, k, v, causal=true)
    x + @tanh(@matmul(x, w[3][i]))
  }
  let logits = @matmul(x, @matrix_transpose(w[0]))
  @cross_entropy_loss(@reshape(logits, [b * t, a]), @reshape(y, [b * t]))"""),
    "lstm": (lstm, "x : Tensor([t, b, i], float32), y : Tensor([b, d], float32)", "4 * d, i; 4 * d, d",
             ((12, 4), (12, 3)),
             """let zero = @zeros([b, d])
  let (h, _) = for s in range(t) with (h : Tensor([b, d], float32) = zero, c : Tensor([b, d], float32) = zero) {
    @lstm_cell(x[s], h, c, w[0], w[1])
  }
  @mse_loss(h, y)"""),
    "autoencoder": (autoencoder, "x : Tensor([b, c, 2 * h, 2 * k], float32), y : Tensor([b, c, 2 * h, 2 * k], float32)",
                    "4, c, 3, 3; 2, 4, 1, 1; 2, 4, 1, 1; 2 + c, c, 3, 3",
                    ((4, 2, 3, 3), (2, 4, 1, 1), (2, 4, 1, 1), (4, 2, 3, 3)),
                    """let low = @relu(@conv2d(x, w[0], strides=2, pads=1))
  let mean = @conv2d(low, w[1])
  let spread = @conv2d(low, w[2])
  let up = @upsample(mean * @exp(spread * 0.1), 2, mode="linear")
  let made = @conv_transpose2d(@concat([up, x], axis=1), w[3], pads=1)
  @binary_cross_entropy_with_logits(made, y) + 0.01 * @mean(mean ** 2.0 + @exp(spread) - spread - 1.0)"""),
}  # fmt: skip
WHERE = {"gpt": "t <= p, t >= 1, b >= 1, d >= 1, a >= 1", "conv": "b >= 1", "mlp": "b >= 1, o >= 1", "encoder": "d >= 1",
         "lstm": "", "autoencoder": "h >= 1, k >= 1, b >= 1, c >= 1"}  # fmt: skip
HEADS = """@heads = fn(x : Tensor([b, t, d * 2], float32)) : Tensor([b, 2, t, d], float32) {
  @permute_dims(@reshape(x, [b, t, 2, d]), axes=[0, 2, 1, 3])
}
"""


def batches(name: str) -> list[tuple[Any, Any]]:
    """Of each step a batch."""
    random, found = np.random.default_rng(5), []
    for _ in range(STEPS):
        match name:
            case "gpt":
                found.append((random.integers(0, 9, (3, 4)), random.integers(0, 9, (3, 4))))
            case "mlp" | "conv":
                shape, classes = ((8, 5), 3) if name == "mlp" else ((4, 3, 8, 8), 5)
                found.append((random.normal(size=shape).astype(np.float32), random.integers(0, classes, shape[0])))
            case _:
                shape = {"encoder": (2, 4, 6), "lstm": (5, 2, 4), "autoencoder": (3, 2, 6, 4)}[name]
                x = random.normal(size=shape).astype(np.float32)
                found.append((x, np.sin(x) if name != "lstm" else np.sin(x[0, :, :3])))
                if name == "autoencoder":
                    found[-1] = (x, (x > 0).astype(np.float32))
    return found


@pytest.mark.parametrize("name", MODELS)
def test_20_steps_give_the_losses_of_pytorch(name: str) -> None:
    model, params, kinds, shapes, body = MODELS[name]
    where = f" where {WHERE[name]}" if WHERE[name] else ""
    parts = ", ".join(W(k) for k in kinds.split("; "))
    module = rx.loads(
        f"{HEADS}@loss = fn({params}, w : ({parts})) : Tensor([], float32){where} {{\n  {body}\n}}\n"
        "@step = value_and_grad @loss wrt w\n"
    )
    assert {c.text for c in module.step.residual} <= {c.text for c in module.loss.residual}
    ours = weights(3, *shapes)
    theirs = tuple(torch.tensor(w, requires_grad=True) for w in ours)
    for x, y in batches(name):
        loss, gradients = module.step(x, y, ours)
        ours = tuple(w - np.float32(RATE) * g for w, g in zip(ours, gradients, strict=True))
        wanted = model(torch.tensor(x), torch.tensor(y), theirs)
        for w, g in zip(theirs, torch.autograd.grad(wanted, theirs), strict=True):
            w.data -= RATE * g
        np.testing.assert_allclose(float(loss), wanted.item(), rtol=1e-4, atol=1e-4)


def beside_autograd(seed: int) -> str:
    """Whether the gradients of a random program are those of PyTorch, or why nobody can tell."""
    text, calls, wrt = drawn_program(seed)
    found = loaded(f"{text}@df = grad @f wrt {', '.join(wrt)}\n") if wrt else "no floats"
    if isinstance(found, str):
        return found.partition(":")[0]
    try:
        theirs, came = rx.loads(text, engine="torch"), "refused"
    except rx.CheckError as problem:
        assert {d.code for d in problem.diagnostics if d.severity == "error"} == {"E253"}
        return "not on torch"
    for args in calls:
        given = {
            n: torch.tensor(a, requires_grad=n in wrt) if isinstance(a, np.ndarray) else a for n, a in args.items()
        }
        try:
            made, value = found.df(**args), theirs.f(**given)
        except REFUSED:
            continue
        if not value.requires_grad or not torch.isfinite(value):
            continue
        wanted = torch.autograd.grad(value, [given[n] for n in wrt], allow_unused=True)
        for ours, g in zip(made if len(wrt) > 1 else (made,), wanted, strict=True):
            np.testing.assert_allclose(ours, 0.0 if g is None else g.numpy(), 1e-6, 1e-8)
        came = "right"
    return came


@pytest.mark.parametrize("part", range(2))
def test_random_programs_have_the_gradients_of_autograd(part: int) -> None:
    found: Counter[str] = Counter()
    for case in fuzz.cases("gradients beside autograd", part, 2):
        with case as seed:
            found[beside_autograd(seed)] += 1
    assert fuzz.SEED is not None or found["right"] * 8 > found.total() - found["no floats"], found
