"""The sentence encoder of examples/minilm/ on engines, beside onnxruntime with a model as a framework exports it; convolution
models beside the same in onnxruntime; and what a call costs before the engine.

    python benchmarks/engines.py [--device cuda]

Each ratio is the CPU time of Rx, its entry checks among it, to that of onnxruntime in the same turns, on one thread, as the
median of the turns. It ends with status 1 beyond a bound. `--device` is PyTorch's; without PyTorch its lines are left out and
that is said. With another device than the CPU the times are of the clock, with PyTorch waited for, and have no bounds.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter_ns, process_time_ns
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before PyTorch is loaded

import numpy as np
import onnx_models
import rxlang as rx
from models import unet, vgg

SHAPES = ((1, 8), (1, 128), (8, 128), (32, 64))
BOUNDS = {"onnxruntime": (1.05, 0.95, 0.95, 0.95), "torch": (1.7, 1.1, 0.9, 0.9)}
ENTRY_BOUND = 5.0  # microseconds a call
IMAGES = {"vgg": (vgg, (1, 3, 64, 64)), "unet": (unet, (1, 3, 64, 64))}


def paired(
    sides: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], int] = process_time_ns
) -> dict[str, float]:
    """The median times in milliseconds; all sides are timed in turns."""
    times: dict[str, list[int]] = {name: [] for name in sides}
    for _ in range(rounds + 1):
        for name, side in sides.items():
            begin = clock()
            side()
            times[name].append(clock() - begin)
    return {name: median(found[1:]) / 1e6 for name, found in times.items()}


def engines(device: str) -> dict[str, dict[str, Any]]:
    """The engines that are installed, with the options of `rx.load`."""
    found: dict[str, dict[str, Any]] = {"numpy": {}, "onnxruntime": {"engine": "onnxruntime"}}
    try:
        import torch
    except ModuleNotFoundError:
        print("PyTorch is not installed: its lines are left out")
        return found
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    return {**found, "torch": {"engine": "torch", "device": device}}


def single_threaded(module: rx.Module) -> None:
    """The sessions of a module on one thread; onnxruntime reads no environment for it."""
    runner: Any = module._runner
    if runner is not None and hasattr(runner, "runtime"):
        options = runner.runtime.SessionOptions
        runner.runtime = type("OneThread", (), {
            "SessionOptions": staticmethod(lambda: _alone(options())), "InferenceSession": runner.runtime.InferenceSession
        })  # fmt: skip
        runner.sessions.clear()


def _alone(options: Any) -> Any:
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return options


def encoder(device: str) -> bool:
    """The encoder at four shapes; whether its bounds are kept."""
    peer = onnx_models.onnxruntime(onnx_models.minilm())
    modules = {n: rx.load(onnx_models.MINILM, roots=[onnx_models.WEIGHTS], **o) for n, o in engines(device).items()}
    fine = True
    for at, (batch, length) in enumerate(SHAPES):
        ids = np.random.default_rng(0).integers(0, 30000, (batch, length))
        mask = np.ones((batch, length), bool)
        mask[:, length * 3 // 4 :: 2] = False
        feeds = {"ids": ids, "mask": mask}
        sides: dict[str, Callable[[], object]] = {"the peer": lambda: peer(feeds)}  # noqa: B023
        for name, module in modules.items():
            single_threaded(module)
            given = on_device(name, device, (ids, mask))
            np.testing.assert_allclose(host(module.embed(*given)), peer(feeds)[0], 0, 1e-5)
            sides[name] = lambda m=module, g=given: waited(m.embed(*g), device)  # type: ignore[misc]
        clock = process_time_ns if device == "cpu" else perf_counter_ns
        times = paired(sides, max(5, 3000 // (batch * length)), clock)
        ratios = {n: times[n] / times["the peer"] for n in modules}
        print(f"encoder {batch:2} x {length:3}   onnxruntime {times['the peer']:8.2f} ms   " + "   ".join(
            f"rx on {n} {ratios[n]:.2f}" for n in modules))  # fmt: skip
        kept = {n: ratios[n] <= b[at] for n, b in BOUNDS.items() if n in ratios and (n != "torch" or device == "cpu")}
        fine = fine and all(kept.values())
    return fine


def on_device(name: str, device: str, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    if name != "torch":
        return arrays
    import torch

    return tuple(torch.tensor(a, device=device) for a in arrays)


def host(value: Any) -> Any:
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def waited(value: Any, device: str) -> Any:
    if device != "cpu":
        import torch

        torch.cuda.synchronize()
    return value


def images() -> None:
    """Convolution models as Rx's export and as NumPy runs them, with random weights."""
    random = np.random.default_rng(0)
    for name, (make, shape) in IMAGES.items():
        text = make()
        plain, there = rx.loads(text), rx.loads(text, engine="onnxruntime")
        single_threaded(there)
        params = plain[name].__signature__.parameters.values()
        args = [random.normal(size=shape).astype(np.float32) * 0.1]
        for p in list(params)[1:]:
            sizes = [int(n) for n in str(p.annotation).partition("[")[2].partition("]")[0].split(",")]
            args.append(random.normal(size=sizes).astype(np.float32) * 0.05)
        np.testing.assert_allclose(there[name](*args), plain[name](*args), rtol=1e-3, atol=1e-4)
        times = paired({"numpy": lambda: plain[name](*args), "onnxruntime": lambda: there[name](*args)}, 5)  # noqa: B023
        print(f"{name:5} at {shape}   numpy {times['numpy']:.1f} ms   onnxruntime {times['onnxruntime']:.1f} ms")


ENTRY = """@f = fn(x : Tensor([n, d], float32), y : Tensor([n, e], float32), k : Size) : Tensor([n, d], float32)
  where k >= 1, d % k == 0, n >= 1, e >= 2, d >= e { x }
"""


def entry(calls: int = 2000, rounds: int = 20) -> float:
    """What a call costs before the engine, for a contract of five conditions, where the class of shapes is known."""
    module = rx.loads(ENTRY, engine="onnxruntime")
    runner: Any = module._runner
    runner.run = lambda name, args: args[0]
    f, x, y = module.f, np.zeros((2, 6), np.float32), np.zeros((2, 4), np.float32)
    best = float("inf")
    for _ in range(rounds):
        begin = perf_counter_ns()
        for _ in range(calls):
            f(x, y, 3)
        best = min(best, (perf_counter_ns() - begin) / calls / 1e3)
    print(f"entry of five conditions   {best:.2f} us a call")
    return best


def main(options: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args(options).device
    fine = entry() <= ENTRY_BOUND
    images()
    lacking = onnx_models.missing() or (
        "" if onnx_models.WEIGHTS.is_dir() else "the weights are not there: `make weights` fetches them"
    )
    if lacking:
        print(f"no encoder: {lacking}")
        return 1
    fine = encoder(device) and fine
    print(f"bounds {BOUNDS}, entry {ENTRY_BOUND} us: {'kept' if fine else 'exceeded'}")
    return int(not fine)


if __name__ == "__main__":
    onnx_models.one_thread()
    sys.exit(main(sys.argv[1:]))
