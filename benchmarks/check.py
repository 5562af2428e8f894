"""How long `rx check` takes on generated programs of 100 to 10,000 primitive calls, parsing apart.

    python benchmarks/check.py [CALLS ...]

The program is an attention-like chain with symbolic batch and length: reshape, permute_dims, matmul, softmax, add and
layer_norm in turn. Times are CPU seconds of this process, the best of three.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from rxlang.desugar.desugar import desugar
from rxlang.lang.files import Files
from rxlang.lang.modules import Modules, load_program
from rxlang.lang.source import Source
from rxlang.ops.registry import lookup
from rxlang.simplify.known.outcome import Options
from rxlang.simplify.propagate import check

STEPS = (
    "let q{i} = @reshape({x}, [b, t, 12, 32])",
    "let h{i} = @permute_dims(q{i}, [0, 2, 1, 3])",
    "let s{i} = @matmul(h{i}, @matrix_transpose(h{i}))",
    "let p{i} = @softmax(s{i}, axis=3)",
    "let c{i} = @permute_dims(@matmul(p{i}, h{i}), [0, 2, 1, 3])",
    "let x{i} = @layer_norm({x} + @reshape(c{i}, [b, t, 384]), scale, bias)",
)
CALLS_A_TURN = 10


def program(calls: int) -> str:
    lines, x = [], "x"
    for i in range(calls // CALLS_A_TURN):
        lines.extend("  " + step.format(i=i, x=x) for step in STEPS)
        x = f"x{i}"
    body = "\n".join(lines)
    return (
        "@chain = fn(x : Tensor([b, t, 384], float32), scale : Tensor([384], float32), bias : Tensor([384], float32))"
        f" : Tensor([b, t, 384], float32) {{\n{body}\n  {x}\n}}\n"
    )


def best(action: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def parse(text: str) -> Modules:
    return load_program(Source("chain.rx", text), Files(Path(".")))[0]


def main(sizes: list[int]) -> None:
    print(f"{'calls':>7} {'parse s':>9} {'desugar s':>10} {'check s':>9} {'check us a call':>16}  proved  residual")
    for calls in sizes:
        text = program(calls)
        modules = parse(text)
        core = desugar(modules, lookup)[0]
        assert core is not None
        checked = check(core, lookup, Options(), lambda _: None)
        parsing = best(lambda text=text: parse(text))
        desugaring = best(lambda modules=modules: desugar(modules, lookup))
        checking = best(lambda core=core: check(core, lookup, Options(), lambda _: None))
        counts = checked.counts
        print(
            f"{calls:7d} {parsing:9.3f} {desugaring:10.3f} {checking:9.3f} {checking / calls * 1e6:16.1f}"
            f"  {counts.proved:6d}  {counts.residual:8d}"
        )


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or [100, 300, 1000, 3000, 10000])
