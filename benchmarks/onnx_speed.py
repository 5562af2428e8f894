"""How fast models are inferred, checked and run, beside onnx's and onnxruntime's own ways, on one thread.

    python benchmarks/onnx_speed.py nodes [--only PATTERN]           ONNX's node tests run
    python benchmarks/onnx_speed.py models FOLDER [--only PATTERN]   exported models run
    python benchmarks/onnx_speed.py infer FOLDER [--only PATTERN]    exported models' shapes, beside symbolic_shape_infer
    python benchmarks/onnx_speed.py commands FOLDER [--only PATTERN] the same as commands, which load what they need
    python benchmarks/onnx_speed.py large                            models of 1,000 and 10,000 nodes, and 4 GB of weights

A run is timed from its third call on, as the least of a few; loading and planning are not in it. Other times are of the
processor. Exit status 1 where a bound is not met.
"""

from __future__ import annotations

import argparse
import gc
import math
import random
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import onnxruntime
import rxlang
from large_models import LARGE, saved, with_external
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator
from onnx_exports import REFUSALS, Model
from onnx_models import one_thread, onnxruntime as session
from onnx_nodes import FAILURES, _array
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
from rxlang import pipeline
from rxlang.lang.files import Files
from rxlang.simplify.known.outcome import Options

Call = Callable[[], object]
BAD = (*FAILURES, *REFUSALS)
# What the reference does in less is too small to count alone.
LEAST = 1e-3


def best(call: Call, seconds: float = 0.1, most: int = 7) -> float:
    """The least time of a few calls, after two."""
    call(), call()
    found: list[float] = []
    began = time.perf_counter()
    while not found or (time.perf_counter() - began < seconds and len(found) < most):
        at = time.perf_counter()
        call()
        found.append(time.perf_counter() - at)
    return min(found)


def timed(make: Callable[[], Call]) -> float | None:
    """The time of a call that is made; None where it cannot be made, or fails."""
    try:
        return best(make())
    except BAD:
        return None


def mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def three(path: Path, feeds: dict[str, Any]) -> tuple[float | None, float | None, float | None]:
    """The times of ours, of the reference and of onnxruntime."""
    model = onnx.load(path)

    def own() -> Call:
        main = rxlang.load(path, allow_empty=True).main
        return lambda: main(*feeds.values())

    def reference() -> Call:
        evaluator = ReferenceEvaluator(model)
        return lambda: evaluator.run(None, feeds)

    def runtime() -> Call:
        run = session(model)
        return lambda: run(feeds)

    ours = timed(own)
    return ours, *((timed(reference), timed(runtime)) if ours is not None else (None, None))


def runs(table: Iterator[tuple[str, Path, dict[str, Any]]], bound: float, listed: bool) -> int:
    """One line for each that is slow, or for all; the ratios to the reference have the bound as their mean."""
    ratios, peers, slow = [], [], 0
    for name, path, feeds in table:
        ours, reference, runtime = three(path, feeds)
        if ours is None or reference is None:
            continue
        ratios.append(ours / reference)
        peers += [ours / runtime] if runtime is not None else []
        is_slow = ours > 2 * reference and reference > LEAST
        slow += is_slow
        if listed or is_slow:
            there = "" if runtime is None else f", onnxruntime {1e3 * runtime:.3f} ms"
            print(f"{name:44} {1e3 * ours:9.3f} ms, reference {1e3 * reference:9.3f} ms{there}", flush=True)
    print(
        f"{len(ratios)} run: {mean(ratios):.2f} x the reference's time, {mean(peers):.2f} x onnxruntime's; {slow} slow"
    )
    return int(slow > 0 or mean(ratios) > bound)


def nodes(asked: argparse.Namespace) -> int:
    def table() -> Iterator[tuple[str, Path, dict[str, Any]]]:
        with TemporaryDirectory() as folder:
            for test in load_model_tests(kind="node"):
                if re.search(asked.only, test.name) and test.data_sets:
                    path = Path(folder) / f"{test.name}.onnx"
                    onnx.save(test.model, path)
                    names = [v.name for v in test.model.graph.input]
                    yield test.name, path, dict(zip(names, map(_array, test.data_sets[0][0]), strict=True))

    return runs(table(), 1.0, asked.list)


def models(asked: argparse.Namespace) -> int:
    def table() -> Iterator[tuple[str, Path, dict[str, Any]]]:
        for path in found(asked):
            model = Model(path)
            for turn in range(20):
                sizes = model.sizes(random.Random(turn))
                feeds = model.feeds({n: 64 if n in ("h", "w") else size for n, size in sizes.items()}, turn)
                try:
                    model.run(feeds)
                except REFUSALS:
                    continue
                yield path.name, path, feeds
                break

    return runs(table(), 0.2, True)


def found(asked: argparse.Namespace) -> list[Path]:
    return [path for path in sorted(asked.folder.glob("*.onnx")) if re.search(asked.only, path.name)]


# Without running


def once(call: Call) -> float:
    """The processor's time of one call."""
    gc.collect()
    at = time.process_time()
    call()
    return time.process_time() - at


def infer(asked: argparse.Namespace) -> int:
    """Where onnxruntime's own gives up, its time says nothing."""
    total, paths = [0.0, 0.0], found(asked)
    for path in (paths[0], *paths):  # the first one imports
        ours, model = once(lambda path=path: rxlang.onnx.infer(path)), onnx.load(path)
        at = time.process_time()
        try:
            SymbolicShapeInference.infer_shapes(model, 2**31 - 1, True, False, 0)
        except BAD as problem:
            print(f"{path.name:34} {ours:6.2f} s, onnxruntime raises {type(problem).__name__}")
            continue
        theirs = time.process_time() - at
        print(f"{path.name:34} {ours:6.2f} s, onnxruntime {theirs:6.2f} s", flush=True)
        if path is not paths[0] or total[1]:
            total = [total[0] + ours, total[1] + theirs]
    print(f"in all {total[0] / max(total[1], 1e-9):.2f} x the time of onnxruntime's symbolic_shape_infer")
    return int(total[0] > 0.5 * total[1])


def commands(asked: argparse.Namespace) -> int:
    """Of models that onnxruntime's own does not give up on."""
    total = [0.0, 0.0]
    with TemporaryDirectory() as folder:
        for path in found(asked):
            try:
                theirs, _ = spent(
                    [
                        sys.executable,
                        "-m",
                        "onnxruntime.tools.symbolic_shape_infer",
                        "--auto_merge",
                        "--input",
                        str(path),
                    ]
                    + ["--output", str(Path(folder) / "out.onnx")]
                )
            except subprocess.CalledProcessError:
                continue
            ours, _ = spent([sys.executable, "-m", "rxlang", "infer", str(path), "-o", str(Path(folder) / "own.onnx")])
            print(f"{path.name:34} {ours:6.2f} s, onnxruntime {theirs:6.2f} s", flush=True)
            total = [total[0] + ours, total[1] + theirs]
    print(f"in all {total[0] / max(total[1], 1e-9):.2f} x the time of onnxruntime's symbolic_shape_infer")
    return int(total[0] > 0.5 * total[1])


def large(asked: argparse.Namespace) -> int:
    late = 0
    with TemporaryDirectory() as folder:
        for name in LARGE:
            path = saved(Path(folder), name, 10_000)
            seconds = once(lambda path=path: planned(path))
            small = saved(Path(folder), name, 1_000)
            checked = spent([sys.executable, "-m", "rxlang", "check", str(small)])[0]
            print(
                f"{name:12} {seconds:6.2f} s to the plan of 10,000 nodes, rx check of 1,000 {checked:5.2f} s",
                flush=True,
            )
            late += seconds > 4 or checked > 2
        weights = [
            spent([sys.executable, "-m", "rxlang", "check", str(with_external(Path(folder), n))])[1]
            for n in (2**12, 2**32)
        ]
        print(f"4 GB of external weights add {(weights[1] - weights[0]) / 2**20:.0f} MB to rx check")
    return int(late > 0 or weights[1] - weights[0] > 100 * 2**20)


def planned(path: Path) -> None:
    report = pipeline.check_bytes(b"", str(path), path.parent, (), Options(allow_empty=True))
    assert report.checked is not None
    pipeline.ready(report.checked, Files(path.parent))


def spent(command: list[str]) -> tuple[float, int]:
    """The processor's seconds and the most memory of a command."""
    code = (
        "import resource, subprocess, sys; quiet = subprocess.DEVNULL; "
        "subprocess.run(sys.argv[1:], stdout=quiet, stderr=quiet, check=True); "
        "u = resource.getrusage(resource.RUSAGE_CHILDREN); print(u.ru_utime + u.ru_stime, u.ru_maxrss * 1024)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True
    ).stdout.split()
    return float(out[0]), int(out[1])


def main() -> int:
    one_thread()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    onnxruntime.set_default_logger_severity(4)
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("what", choices=["nodes", "models", "infer", "commands", "large"])
    reader.add_argument("folder", nargs="?", type=Path, default=Path())
    reader.add_argument("--only", default="")
    reader.add_argument("--list", action="store_true", help="print each node test")
    asked = reader.parse_args()
    steps = {"nodes": nodes, "models": models, "infer": infer, "commands": commands, "large": large}
    return steps[asked.what](asked)


if __name__ == "__main__":
    sys.exit(main())
