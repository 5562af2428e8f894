"""How long checking takes on models with symbolic sizes, parsing apart, and who decides.

    python benchmarks/models.py [--layers N ...] [--peers]

The transformer has 24 primitive calls a layer, written out for every layer, with symbolic batch and length. VGG and U-Net
have symbolic height and width that are multiples of 32; the files in models/ are written as people write them. Times are
CPU seconds of this process, the best of three. `--peers` sets torch.export, jax.export, TVM Relax and Pyrefly beside Rx, each
where it is installed: the time for an equal transformer, and which of the mistakes planted in it each one sees.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from encoder import MISTAKES, encoder
from notations import ASK, installed
from rxlang.desugar.desugar import desugar
from rxlang.lang.checked import Checked
from rxlang.lang.files import Files
from rxlang.lang.modules import Modules, load_program
from rxlang.lang.source import Source
from rxlang.ops.registry import lookup
from rxlang.simplify.known.outcome import Options
from rxlang.simplify.propagate import check

MODELS = Path(__file__).parents[1] / "tests" / "corpora" / "models"

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
        f"{name:>18} {times[0]:8.3f} {times[1]:10.3f} {times[2]:8.3f}  {counts.proved:7d} {counts.residual:8d}"
        f" {counts.refuted:7d}  {asked:9d} {solver / max(asked, 1):7.1%}"
    )
    return checked


def measure_file(path: Path) -> Checked:
    return measure(path.stem, path.read_text(encoding="utf-8"))


def compare(layers: int) -> None:
    """Rx and its peers on an equal transformer, and on it with one mistake at a time in its last layer."""
    peers = installed()
    print(f"\n{'':>18} {layers} layers, s  refuses  warns  of {len(MISTAKES)} mistakes does not see")
    for peer in peers:
        ask = ASK[peer]
        ask(encoder(1))  # what is loaded at the first question is no part of the answer
        whole = ask(encoder(layers))
        assert whole.verdict == "accepts", whole
        said = {mistake: ask(encoder(2, mistake)).verdict for mistake in MISTAKES}
        verdicts = list(said.values())
        unseen = ", ".join(mistake for mistake, verdict in said.items() if verdict == "accepts") or "-"
        print(f"{peer:>18} {whole.seconds:12.3f} {verdicts.count('refuses'):8d} {verdicts.count('warns'):6d}  {unseen}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--layers", type=int, nargs="*", default=[12, 48, 200, 1000])
    options.add_argument("--peers", action="store_true")
    given = options.parse_args()
    print(
        f"{'model':>18} {'parse s':>8} {'desugar s':>10} {'check s':>8}  {'proved':>7} {'residual':>8} {'refuted':>7}"
        f"  {'questions':>9} {'to z3':>7}"
    )
    for layers in given.layers:
        measure(f"{layers} layers", transformer(layers), 3 if layers < 500 else 1)
    measure("VGG-16", vgg())
    measure("U-Net", unet())
    for path in sorted(MODELS.glob("*.rx")):
        measure_file(path)
    if given.peers:
        compare(12)


if __name__ == "__main__":
    main()
