"""What running costs beside hand-written NumPy: a chain of 200 small operations, the entry checks of three tensors, and
a call from Python for which there is a plan, beyond the generated function.

`python benchmarks/running.py` prints a table and ends with status 1 beyond its bounds. Both sides of a comparison are timed in
turns, so that a busy machine slows both. `--peers` adds the sentence encoder of examples/minilm/ beside onnxruntime, on one
thread, and beside both NumPy's products of the encoder alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from time import process_time_ns

import numpy as np
import onnx_models
import rxlang as rx

OPERATIONS = 200
CHAIN_BOUND = 1.0
ENTRY_BOUND = 0.3  # microseconds a call
PLAN_BOUND = 2.0
# Of a batch of so many sentences of so many tokens, what the encoder may take beside onnxruntime.
ENCODER_BOUNDS = {(1, 8): 2.0, (1, 128): 1.2, (8, 128): 1.2, (32, 64): 1.25}
ENTRIES = """@three = fn(x : Tensor([n, k], float32), y : Tensor([k, m], float32), z : Tensor([n, m], float32))
  : Tensor([n, m], float32) { z }
"""
# Per turn of the chain: the statement in Rx, and by hand.
STEPS = (
    ("@matmul(x, w)", "np.matmul(x, w)"),
    ("x + b", "np.add(x, b)"),
    ("@reshape(x, [4, 16])", "np.reshape(x, (4, 16))"),
    ("@reshape(x, [8, 8])", "x.reshape(8, 8)"),
)


def chain_in_rx() -> str:
    lines = [f"  let x = {STEPS[i % 4][0]}" for i in range(OPERATIONS)]
    params = ", ".join(f"{name} : Tensor([8, 8], float64)" for name in "xwb")
    return "\n".join([f"@chain = fn({params}) : Tensor([8, 8], float64) {{", *lines, "  x", "}"])


def chain_by_hand(methods: bool) -> Callable[..., np.ndarray]:
    """The same in NumPy; with `methods` each reshape is the array's method, which is faster than the function."""
    lines = [f"    x = {STEPS[i % 4][1]}" for i in range(OPERATIONS)]
    if methods:
        lines = [line.replace("np.reshape(x, (4, 16))", "x.reshape(4, 16)") for line in lines]
    space: dict[str, object] = {"np": np}
    exec("\n".join(["def chain(x, w, b):", *lines, "    return x"]), space)
    return space["chain"]  # type: ignore[return-value]


def paired(first: Callable[[], object], second: Callable[[], object], rounds: int) -> tuple[float, float, float]:
    """Medians of both in microseconds, and the median of their ratios."""
    a, b = zip(*timed(first, second, rounds), strict=True)
    return median(a) / 1e3, median(b) / 1e3, median(x / y for x, y in zip(a, b, strict=True))


def timed(first: Callable[[], object], second: Callable[[], object], rounds: int) -> list[tuple[int, int]]:
    """The nanoseconds of both, in turns."""
    times = []
    for _ in range(rounds):
        begin = process_time_ns()
        first()
        between = process_time_ns()
        second()
        times.append((between - begin, process_time_ns() - between))
    return times


def repeated(function: Callable[..., object], calls: int, *args: object) -> Callable[[], None]:
    def run() -> None:
        for _ in range(calls):
            function(*args)

    return run


def chain(rounds: int = 1000) -> float:
    module = rx.loads(chain_in_rx())
    by_hand = chain_by_hand(methods=True)
    x, w, b = np.ones((8, 8)), np.eye(8), np.zeros((8, 8))
    assert np.array_equal(module.chain(x, w, b), by_hand(x, w, b))
    rx_us, hand_us, ratio = paired(lambda: module.chain(x, w, b), lambda: by_hand(x, w, b), rounds)
    print(f"chain of {OPERATIONS} operations   rx {rx_us:7.1f} us   by hand {hand_us:7.1f} us   ratio {ratio:.3f}")
    return ratio


def entry_checks(rounds: int = 300, calls: int = 200) -> float:
    """The cost of the checks alone: the function with its entry checks against the same without, each at its best."""
    space = rx.loads(ENTRIES)._machine.code.namespace
    with_entry_check, without = space["f_three"], space["b_three"]
    x, y, z = np.zeros((2, 3), np.float32), np.zeros((3, 5), np.float32), np.zeros((2, 5), np.float32)

    a, b = zip(
        *timed(repeated(with_entry_check, calls, x, y, z), repeated(without, calls, x, y, z), rounds), strict=True
    )
    cost = (min(a) - min(b)) / calls / 1e3
    print(f"entry check of three tensors     {cost:.3f} us a call")
    return cost


def plans(rounds: int = 2000, calls: int = 100) -> float:
    """What `module.f(x, y, z)` costs beyond the generated function, where it has been called with such shapes before."""
    module = rx.loads(ENTRIES.replace("{ z }", "{ z + 1.0 }"))
    generated = module._machine.code.namespace["b_three"]
    x, y, z = np.zeros((2, 3), np.float32), np.zeros((3, 5), np.float32), np.zeros((2, 5), np.float32)

    a, b = zip(*timed(repeated(module.three, calls, x, y, z), repeated(generated, calls, x, y, z), rounds), strict=True)
    cost = (min(a) - min(b)) / calls / 1e3
    assert module.three.plans.made == 1
    print(f"plan of three tensors     {cost:.3f} us a call")
    return cost


def peers() -> bool:
    """The sentence encoder beside onnxruntime; whether its bounds are kept."""
    lacking = onnx_models.missing() or (
        "" if onnx_models.WEIGHTS.is_dir() else "the weights are not there: `make weights` fetches them"
    )
    if lacking:
        print(f"no encoder: {lacking}")
        return False
    run = onnx_models.onnxruntime(onnx_models.minilm())
    module = rx.load(onnx_models.MINILM, roots=[onnx_models.WEIGHTS])
    kept = [encoder(module.embed, run, *shape, bound) for shape, bound in ENCODER_BOUNDS.items()]
    return all(kept)


def encoder(embed: Callable[..., object], run: onnx_models.Run, batch: int, length: int, bound: float) -> bool:
    ids = np.random.default_rng(0).integers(0, 30000, (batch, length))
    mask = np.ones((batch, length), bool)
    mask[:, length * 3 // 4 :: 2] = False
    feeds = {"ids": ids, "mask": mask}
    np.testing.assert_allclose(embed(ids, mask), run(feeds)[0], 0, 1e-5)
    rounds = max(5, 2000 // (batch * length))
    rx_us, ort_us, ratio = paired(lambda: embed(ids, mask), lambda: run(feeds), rounds)
    *_, bare = paired(onnx_models.products(batch, length), lambda: run(feeds), rounds)
    print(
        f"encoder of {batch:2} x {length:3}   rx {rx_us / 1e3:7.1f} ms   onnxruntime {ort_us / 1e3:7.1f} ms   ratio"
        f" {ratio:.2f}, at most {bound:g}   products alone {bare:.2f}"
    )
    return ratio <= bound


def main(options: list[str]) -> int:
    ratio, cost, plan = chain(), entry_checks(), plans()
    fine = ratio <= CHAIN_BOUND and cost <= ENTRY_BOUND and plan <= PLAN_BOUND
    fine = ("--peers" not in options or peers()) and fine
    print(
        f"bounds: ratio {CHAIN_BOUND}, entry check {ENTRY_BOUND} us, plan {PLAN_BOUND} us: {'kept' if fine else 'exceeded'}"
    )
    return int(not fine)


if __name__ == "__main__":
    onnx_models.one_thread()
    sys.exit(main(sys.argv[1:]))
