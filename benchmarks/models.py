"""How long checking takes on models with symbolic sizes, parsing apart, and who decides: transformer, VGG, U-Net.

    python benchmarks/models.py [--layers N ...] [--peers]

The transformer has 24 primitive calls a layer, written out for every layer, with symbolic batch and length. VGG and U-Net
have symbolic height and width that are multiples of 32. Times are CPU seconds of this process, the best of three.
`--peers` also times torch.export, jax.export and TVM Relax on an equal transformer, each where it is installed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rxlang.desugar.desugar import desugar
from rxlang.lang.checked import Checked
from rxlang.lang.files import Files
from rxlang.lang.modules import Modules, load_program
from rxlang.lang.source import Source
from rxlang.ops.registry import lookup
from rxlang.simplify.judge import Options
from rxlang.simplify.propagate import check

WIDTH, HEADS, HIDDEN = 384, 12, 1536

LAYER = """  let q{i} = @permute_dims(@reshape(@linear({x}, wq, bq), [b, t, 12, 32]), [0, 2, 1, 3])
  let k{i} = @permute_dims(@reshape(@linear({x}, wk, bk), [b, t, 12, 32]), [0, 2, 1, 3])
  let v{i} = @permute_dims(@reshape(@linear({x}, wv, bv), [b, t, 12, 32]), [0, 2, 1, 3])
  let s{i} = @matmul(q{i}, @matrix_transpose(k{i})) * 0.17677669529663687
  let p{i} = @softmax(s{i} + mask, axis=-1)
  let c{i} = @reshape(@permute_dims(@matmul(p{i}, v{i}), [0, 2, 1, 3]), [b, t, 384])
  let a{i} = @layer_norm({x} + @linear(c{i}, wo, bo), g1, h1)
  let f{i} = @gelu(@linear(a{i}, w1, b1))
  let x{i} = @layer_norm(a{i} + @linear(f{i}, w2, b2), g2, h2)"""


def transformer(layers: int) -> str:
    square, vector = "Tensor([384, 384], float32)", "Tensor([384], float32)"
    params = ["x : Tensor([b, t, 384], float32)", "mask : Tensor([b, 1, 1, t], float32)"]
    params += [f"w{n} : {square}" for n in "qkvo"] + [f"b{n} : {vector}" for n in "qkvo"]
    params += ["w1 : Tensor([1536, 384], float32)", "b1 : Tensor([1536], float32)"]
    params += ["w2 : Tensor([384, 1536], float32)", f"b2 : {vector}"]
    params += [f"{n} : {vector}" for n in ("g1", "h1", "g2", "h2")]
    body = "\n".join(LAYER.format(i=i, x=f"x{i - 1}" if i else "x") for i in range(layers))
    return f"@model = fn({', '.join(params)}) : Tensor([b, t, 384], float32) {{\n{body}\n  x{layers - 1}\n}}\n"


def vgg() -> str:
    """VGG-16's convolutions, each block halving both sizes."""
    lines, x, channels, params = [], "x", 3, []
    for block, (count, out) in enumerate(((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))):
        for layer in range(count):
            name = f"{block}_{layer}"
            params.append(f"w{name} : Tensor([{out}, {channels}, 3, 3], float32)")
            lines.append(f"  let y{name} = @relu(@conv({x}, w{name}, pads=[(1, 1), (1, 1)]))")
            x, channels = f"y{name}", out
        lines.append(f"  let z{block} = @max_pool({x}, kernel_shape=[2, 2], strides=[2, 2])")
        x = f"z{block}"
    head = f"x : Tensor([b, 3, h * 32, w * 32], float32), {', '.join(params)}"
    body = "\n".join(lines)
    return f"@vgg = fn({head}) : Tensor([b, 512, h, w], float32) {{\n{body}\n  {x}\n}}\n"


def unet(depth: int = 4) -> str:
    """Down by pooling, up by doubling, each level joined with its counterpart along the channels."""
    lines, params, x, channels, skips = [], [], "x", 3, []

    def conv(name: str, source: str, before: int, after: int) -> str:
        params.append(f"w_{name} : Tensor([{after}, {before}, 3, 3], float32)")
        lines.append(f"  let {name} = @relu(@conv({source}, w_{name}, pads=[(1, 1), (1, 1)]))")
        return name

    for level in range(depth):
        out = 32 * 2**level
        x = conv(f"d{level}", x, channels, out)
        skips.append((x, out))
        lines.append(f"  let p{level} = @max_pool({x}, kernel_shape=[2, 2], strides=[2, 2])")
        x, channels = f"p{level}", out
    x = conv("bottom", x, channels, channels * 2)
    channels *= 2
    for level, (skip, out) in reversed(list(enumerate(skips))):
        lines.append(f"  let u{level} = @concat([@upsample({x}, scales=[2, 2]), {skip}], axis=1)")
        x = conv(f"e{level}", f"u{level}", channels + out, out)
        channels = out
    head = f"x : Tensor([b, 3, H, W], float32), {', '.join(params)}"
    where = f"H % {2**depth} == 0, W % {2**depth} == 0"
    body = "\n".join(lines)
    return f"@unet = fn({head}) : Tensor([b, {channels}, H, W], float32)\n  where {where} {{\n{body}\n  {x}\n}}\n"


def best(action: Callable[[], object], turns: int = 3) -> float:
    times = []
    for _ in range(turns):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def measure(name: str, text: str, turns: int = 3) -> Checked:
    def parse() -> Modules:
        return load_program(Source(f"{name}.rx", text), Files(Path(".")))[0]

    core, problems = desugar(parse(), lookup)
    assert core is not None and not [p for p in problems if p.severity == "error"], problems
    checked = check(core, lookup, Options(), lambda _: None)
    times = (
        best(parse, turns),
        best(lambda: desugar(parse(), lookup), turns) - best(parse, turns),
        best(lambda: check(core, lookup, Options(), lambda _: None), turns),
    )
    asked = sum(checked.questions.values())
    solver = checked.questions.get("z3", 0) + checked.questions.get("unknown", 0)
    counts = checked.counts
    print(
        f"{name:>16} {times[0]:8.3f} {times[1]:10.3f} {times[2]:8.3f}  {counts.proved:7d} {counts.residual:8d}"
        f" {counts.refuted:7d}  {asked:9d} {solver / max(asked, 1):7.1%}"
    )
    return checked


def torch_export(layers: int) -> None:
    """torch.export of an encoder of the same size, with dynamic batch and length."""
    if find_spec("torch") is None:
        print("torch.export: PyTorch is not installed")
        return
    import torch

    layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, batch_first=True, activation="gelu")
    model: Any = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).eval()
    dims = {0: torch.export.Dim("b"), 1: torch.export.Dim("t")}
    start = time.process_time()
    torch.export.export(model, (torch.zeros(2, 7, WIDTH),), dynamic_shapes=(dims,))
    print(f"torch.export of {layers} layers: {time.process_time() - start:.2f} s")


def jax_export(layers: int) -> None:
    """jax.export of the same operations, with symbolic batch and length."""
    if find_spec("jax") is None:
        print("jax.export: JAX is not installed")
        return
    import jax
    import jax.numpy as jnp
    from jax import export

    def norm(x: Any, g: Any, h: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * g + h

    def heads(x: Any, w: Any) -> Any:
        b, t, _ = x.shape
        return (x @ w.T).reshape(b, t, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    def model(x: Any, mask: Any, w: Any, w1: Any, w2: Any, g: Any, h: Any) -> Any:
        for _ in range(layers):
            b, t, _ = x.shape
            q, k, v = heads(x, w), heads(x, w), heads(x, w)
            p = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) * 0.176 + mask, axis=-1)
            c = (p @ v).transpose(0, 2, 1, 3).reshape(b, t, WIDTH)
            a = norm(x + c @ w.T, g, h)
            x = norm(a + jax.nn.gelu(a @ w1.T, approximate=False) @ w2.T, g, h)
        return x

    b, t = export.symbolic_shape("b, t")
    shapes = ((b, t, WIDTH), (b, 1, 1, t), (WIDTH, WIDTH), (HIDDEN, WIDTH), (WIDTH, HIDDEN), (WIDTH,), (WIDTH,))
    start = time.process_time()
    export.export(jax.jit(model))(*(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes))
    print(f"jax.export of {layers} layers: {time.process_time() - start:.2f} s")


TVM_LAYER = """        q{i} = R.permute_dims(R.reshape(R.matmul({x}, w), R.shape([b, t, 12, 32])), axes=[0, 2, 1, 3])
        k{i} = R.permute_dims(R.reshape(R.matmul({x}, w), R.shape([b, t, 12, 32])), axes=[0, 2, 3, 1])
        v{i} = R.permute_dims(R.reshape(R.matmul({x}, w), R.shape([b, t, 12, 32])), axes=[0, 2, 1, 3])
        s{i} = R.nn.softmax(R.add(R.multiply(R.matmul(q{i}, k{i}), R.const(0.176, "float32")), mask), axis=-1)
        c{i} = R.reshape(R.permute_dims(R.matmul(s{i}, v{i}), axes=[0, 2, 1, 3]), R.shape([b, t, 384]))
        a{i} = R.nn.layer_norm(R.add({x}, R.matmul(c{i}, w)), g, h, axes=[-1])
        f{i} = R.nn.gelu(R.matmul(a{i}, w1))
        x{i} = R.nn.layer_norm(R.add(a{i}, R.matmul(f{i}, w2)), g, h, axes=[-1])"""


def tvm_relax(layers: int) -> None:
    """TVM Relax from its text form: reading the program infers every shape."""
    if find_spec("tvm") is None:
        print("TVM Relax: TVM is not installed")
        return
    import tvm.script

    body = "\n".join(TVM_LAYER.format(i=i, x=f"x{i - 1}" if i else "x") for i in range(layers))
    params = ["x: R.Tensor((b, t, 384), 'float32')", "mask: R.Tensor((b, 1, 1, t), 'float32')"]
    for name, shape in (("w", "384, 384"), ("w1", "384, 1536"), ("w2", "1536, 384"), ("g", "384,"), ("h", "384,")):
        params.append(f"{name}: R.Tensor(({shape}), 'float32')")
    head = ", ".join(params).replace("(b, t,", "('b', 't',").replace("(b, 1, 1, t)", "('b', 1, 1, 't')")
    text = (
        f"@R.function\ndef main({head}) -> R.Tensor(('b', 't', 384), 'float32'):\n    b = T.int64()\n    t = T.int64()\n"
        f"    with R.dataflow():\n{body}\n        R.output(x{layers - 1})\n    return x{layers - 1}\n"
    )
    start = time.process_time()
    tvm.script.from_source(text)
    print(f"TVM Relax of {layers} layers: {time.process_time() - start:.2f} s")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--layers", type=int, nargs="*", default=[12, 48, 200, 1000])
    options.add_argument("--peers", action="store_true")
    given = options.parse_args()
    print(
        f"{'model':>16} {'parse s':>8} {'desugar s':>10} {'check s':>8}  {'proved':>7} {'residual':>8} {'refuted':>7}"
        f"  {'questions':>9} {'to z3':>7}"
    )
    for layers in given.layers:
        measure(f"{layers} layers", transformer(layers), 3 if layers < 500 else 1)
    measure("VGG-16", vgg())
    measure("U-Net", unet())
    if given.peers:
        for peer in (torch_export, jax_export, tvm_relax):
            peer(12)


if __name__ == "__main__":
    main()
