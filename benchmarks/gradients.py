"""One step of training for an encoder of 12 layers (width 384, 6 heads, 4 x 256): time beside the forward pass, and the most
memory at once, with what attention computes kept and computed again.

    python benchmarks/gradients.py [layers]
    python benchmarks/gradients.py [layers] --engines

With `--engines` it is timed beside PyTorch's own step (one thread, one run, in turns): `@step` on engine torch, `@loss` on
engine torch differentiated by PyTorch, and `@step` as one model in onnxruntime; each with the largest difference of its
gradients.
"""

from __future__ import annotations

import os
import sys
import tracemalloc
from time import process_time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before PyTorch is loaded

import numpy as np
import rxlang as rx

TEXT = """
type Layer(d, f) = (Tensor([d, 3 * d], float32), Tensor([d, d], float32), Tensor([d], float32), Tensor([d], float32),
  Tensor([d, f], float32), Tensor([f], float32), Tensor([f, d], float32), Tensor([d], float32), Tensor([d], float32))
type Layers(d, f) = ({layers})

{again}@attend = fn(q : Tensor([b, h, t, e], float32), k : Tensor([b, h, t, e], float32), v : Tensor([b, h, t, e], float32))
  : Tensor([b, h, t, e], float32) where e >= 1 {{
  @matmul(@softmax(@matmul(q, @matrix_transpose(k)) * 0.125), v)
}}

@layer = fn(x : Tensor([b, t, 384], float32), w : Layer(384, f)) : Tensor([b, t, 384], float32) {{
  let (qkv, wo, g1, b1, w1, c1, w2, g2, b2) = w
  let parts = @permute_dims(@reshape(@matmul(x, qkv), [b, t, 3, 6, 64]), [2, 0, 3, 1, 4])
  let c = @reshape(@permute_dims(@attend(parts[0], parts[1], parts[2]), [0, 2, 1, 3]), [b, t, 384])
  let a = @layer_norm(x + @matmul(c, wo), g1, b1)
  @layer_norm(a + @matmul(@gelu(@matmul(a, w1) + c1), w2), g2, b2)
}}

@loss = fn(x : Tensor([b, t, 384], float32), y : Tensor([b, t, 384], float32), w : Layers(384, f)) : Tensor([], float32) {{
  let ({names}) = w
{calls}
  @mse_loss(x, y)
}}
@step = value_and_grad @loss wrt w
"""


def program(layers: int, again: bool) -> str:
    names = [f"w{i}" for i in range(layers)]
    return TEXT.format(
        layers=", ".join(["Layer(d, f)"] * layers), again="checkpoint " if again else "", names=", ".join(names),
        calls="\n".join(f"  let x = @layer(x, {n})" for n in names),
    )  # fmt: skip


def weights(layers: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(1)
    d, f = 384, 1536
    shapes = ((d, 3 * d), (d, d), (d,), (d,), (d, f), (f,), (f, d), (d,), (d,))
    return tuple(tuple((rng.normal(size=s) * 0.05).astype(np.float32) for s in shapes) for _ in range(layers))


def seconds(f: Any, *args: Any) -> float:
    f(*args)
    best = []
    for _ in range(3):
        began = process_time()
        f(*args)
        best.append(process_time() - began)
    return min(best)


def peak(f: Any, *args: Any) -> float:
    """The most megabytes at once, beside the arguments."""
    f(*args)
    tracemalloc.start()
    f(*args)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def own_step(torch: Any, x: Any, y: Any, w: Any) -> Any:
    """The loss and its gradients as PyTorch computes them."""
    from torch.nn import functional

    h = x
    for qkv, wo, g1, b1, w1, c1, w2, g2, b2 in w:
        q, k, v = (h @ qkv).view(4, 256, 3, 6, 64).permute(2, 0, 3, 1, 4)
        attended = torch.softmax((q @ k.mT) * 0.125, -1) @ v
        c = attended.permute(0, 2, 1, 3).reshape(4, 256, 384)
        a = functional.layer_norm(h + c @ wo, (384,), g1, b1)
        h = functional.layer_norm(a + functional.gelu(a @ w1 + c1) @ w2, (384,), g2, b2)
    return by_torch(torch, functional.mse_loss(h, y), w)


def by_torch(torch: Any, loss: Any, w: Any) -> Any:
    return loss, torch.autograd.grad(loss, [part for layer in w for part in layer])


def on_engines(layers: int) -> None:
    import torch
    from engines import paired, single_threaded

    torch.set_num_threads(1)
    rng, text = np.random.default_rng(2), program(layers, again=False)
    arrays = [rng.normal(size=(4, 256, 384)).astype(np.float32) for _ in range(2)]
    w = weights(layers)
    x, y = map(torch.tensor, arrays)
    own = tuple(tuple(torch.tensor(part, requires_grad=True) for part in layer) for layer in w)
    plain = tuple(tuple(part.detach() for part in layer) for layer in own)
    here, there = rx.loads(text, engine="torch"), rx.loads(text, engine="onnxruntime")
    single_threaded(there)
    sides = {
        "torch's own step": lambda: own_step(torch, x, y, own),
        "@step on torch": lambda: here.step(x, y, plain),
        "@loss on torch, differentiated by torch": lambda: by_torch(torch, here.loss(x, y, own), own),
        "@step in onnxruntime": lambda: there.step(*arrays, w),
    }
    first = next(iter(sides))
    wanted, times = gradients(sides[first]()), paired(sides, 3)
    for name, run in sides.items():
        apart = max(abs(a - b).max() / abs(b).max() for a, b in zip(gradients(run()), wanted, strict=True))
        print(f"{name:40} {times[name] / 1e3:6.2f} s   {times[name] / times[first]:.2f}   {apart:.0e} apart")


def gradients(found: Any) -> list[Any]:
    """As arrays in order, of whatever tuples they lie in."""
    if isinstance(found, tuple | list):
        return [part for item in found for part in gradients(item)]
    return [np.asarray(found.detach() if hasattr(found, "detach") else found)]


def main() -> int:
    layers = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdigit() else 12
    if "--engines" in sys.argv:
        on_engines(layers)
        return 0
    rng = np.random.default_rng(2)
    x, y = (rng.normal(size=(4, 256, 384)).astype(np.float32) for _ in range(2))
    w = weights(layers)
    for again in (False, True):
        module = rx.loads(program(layers, again))
        forward, step = seconds(module.loss, x, y, w), seconds(module.step, x, y, w)
        print(f"{'attention again' if again else 'all kept':16} {forward:6.2f} s forward, {step:6.2f} s a step "
              f"({step / forward:.2f} times), {peak(module.step, x, y, w):6.0f} MB")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
