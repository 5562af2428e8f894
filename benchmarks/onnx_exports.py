"""Exported models: are the shapes of all values right at random sizes, and are the results those of onnxruntime.

    python tests/corpora/export_models.py FOLDER
    python benchmarks/onnx_exports.py FOLDER [--only PATTERN] [--bindings 4] [--seed 0] [--no-run] [--list]

A value counts as exact if each of its sizes is a number or an expression over the sizes of the inputs, as false if that is
wrong at a binding that onnxruntime takes. Sizes that the data decides count as unknown.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import rxlang
from onnx import helper
from onnx_models import one_thread
from onnx_nodes import FAILURES, value_of
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, NotImplemented, RuntimeException

# How onnxruntime refuses sizes.
REFUSALS = (Fail, InvalidArgument, NotImplemented, RuntimeException)
Sizes = dict[str, int]


class Model:
    """A model of which onnxruntime gives every value of the main graph."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.proto = onnx.load(path)
        given = {t.name for t in self.proto.graph.initializer}
        self.inputs = [v for v in self.proto.graph.input if v.name not in given]
        self.results = [v.name for v in self.proto.graph.output]
        self.values = [o for node in self.proto.graph.node for o in node.output if o]
        self.session = self._session()

    def _session(self) -> onnxruntime.InferenceSession:
        wider = onnx.ModelProto.FromString(self.proto.SerializeToString())
        wider.graph.output.extend(helper.make_empty_tensor_value_info(v) for v in self.values if v not in self.results)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return onnxruntime.InferenceSession(wider.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def sizes(self, draw: random.Random) -> Sizes:
        """Every name of a size with a number, larger ones for what is long."""
        names = {n for v in self.inputs for d in v.type.tensor_type.shape.dim for n in _names(d.dim_param)}
        return {n: draw.choice(_RANGES.get(n, range(1, 14))) for n in sorted(names)}

    def feeds(self, sizes: Sizes, seed: int) -> dict[str, Any]:
        made = np.random.default_rng(seed)
        return {v.name: _array(v, sizes, made) for v in self.inputs}

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        names = [v.name for v in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, dict(feeds)), strict=True))


_RANGES: dict[str, Any] = {
    "h": range(24, 70), "w": range(24, 70), "samples": range(80, 900), "frames": range(1, 90), "batch": range(1, 6),
}  # fmt: skip


def _names(dim: str) -> list[str]:
    """The names in a size that is an expression; what is none (`4_h4`) is a name."""
    try:
        compile(dim, dim, "eval")
    except SyntaxError:
        return [dim] if dim else []
    return re.findall(r"[a-z]\w*", dim)


def _number(dim: str, sizes: Sizes) -> int | None:
    return sizes[dim] if dim in sizes else value_of(dim, sizes)


def _array(value: Any, sizes: Sizes, made: np.random.Generator) -> Any:
    kind = value.type.tensor_type
    shape = [d.dim_value if d.HasField("dim_value") else _number(d.dim_param, sizes) for d in kind.shape.dim]
    dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
    if dtype.kind in "iu":
        return np.ones(shape, dtype) if "mask" in value.name else made.integers(0, 40, shape, dtype)
    return made.random(shape) > 0.5 if dtype.kind == "b" else made.standard_normal(shape).astype(dtype)


def bindings(model: Model, count: int, seed: int) -> Iterator[tuple[Sizes, dict[str, Any], dict[str, Any]]]:
    """Sizes that onnxruntime takes, with the inputs, and all values."""
    draw = random.Random(seed)
    for turn in range(8 * count):
        sizes = model.sizes(draw)
        feeds = model.feeds(sizes, turn)
        try:
            found = model.run(feeds)
        except REFUSALS:
            continue
        yield sizes, feeds, found
        count -= 1
        if count == 0:
            return


class Score:
    """What was found of one model."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.said: list[str] = []
        self.results: Counter[str] = Counter()
        self.seconds = 0.0

    def counts(self) -> Counter[str]:
        return Counter(self.values.values())


def measured(path: Path, asked: argparse.Namespace) -> Score:
    score, model = Score(), Model(path)
    began = time.process_time()
    found = rxlang.onnx.infer(path)
    score.seconds = time.process_time() - began
    score.said += [f"{d.severity} {d.code} {d.message}" for d in found.diagnostics]
    shapes = found.values
    score.values = {n: _open(shapes.get(n)) for n in model.values}
    runner = None if asked.no_run else _loaded(path, score)
    tried = 0
    for sizes, feeds, values in bindings(model, asked.bindings, asked.seed):
        tried += 1
        called = {**sizes, **{made: sizes[n] for n, made in found.inference.names.items() if n in sizes}}
        for name in model.values:
            problem = _false(shapes.get(name), values[name], called)
            if problem:
                score.values[name] = "false"
                score.said.append(f"{name}: {problem} at {sizes}")
        if runner is not None:
            score.results[_outcome(runner, feeds, [values[r] for r in model.results], score)] += 1
    if tried == 0:
        score.said.append("onnxruntime took no binding")
    return score


def _open(value: Any) -> str:
    return "exact" if value is not None and value.is_whole else "unknown"


def _false(value: Any, right: Any, sizes: Sizes) -> str | None:
    if value is None or value.shape is None or not isinstance(right, np.ndarray):
        return None
    if len(value.shape) != right.ndim:
        return f"rank {len(value.shape)} for {right.shape}"
    for size, there in zip(value.shape, right.shape, strict=True):
        number = size if isinstance(size, int) else None if size == "?" else _number(size, sizes)
        if number is None and size != "?":
            return f"{size} cannot be evaluated"
        if number is not None and number != there:
            return f"{value.shape} for {right.shape}"
    return None


def _loaded(path: Path, score: Score) -> Any:
    try:
        return rxlang.load(path, allow_empty=True)
    except FAILURES as problem:
        score.results["not loaded"] += 1
        score.said.append(f"load: {type(problem).__name__}: {str(problem)[:300]}")
        return None


def _outcome(runner: Any, feeds: Mapping[str, Any], right: list[Any], score: Score) -> str:
    try:
        found = runner.main(*feeds.values())
    except FAILURES as problem:
        score.said.append(f"run: {type(problem).__name__}: {str(problem)[:300]}")
        return "refused"
    found = found if isinstance(found, tuple) else (found,)
    for at, (a, b) in enumerate(zip(found, right, strict=True)):
        if b.dtype == object and np.shape(a) == b.shape and a.tolist() == b.tolist():
            continue
        if np.shape(a) != b.shape or a.dtype != b.dtype:
            score.said.append(f"result {at}: {a.dtype}{np.shape(a)} for {b.dtype}{b.shape}")
            return "wrong"
        near = 2e-2 if b.dtype == np.float16 else 1e-3
        if not np.allclose(a.astype(np.float64), b.astype(np.float64), near, near, equal_nan=True):
            score.said.append(f"result {at}: differs by {np.abs(a.astype(float) - b.astype(float)).max()}")
            return "wrong"
    return "right"


def main() -> int:
    one_thread()
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("folder", type=Path)
    reader.add_argument("--only", default="")
    reader.add_argument("--bindings", type=int, default=4)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--no-run", action="store_true")
    reader.add_argument("--list", action="store_true", help="print each value that is not exact")
    asked = reader.parse_args()
    total: Counter[str] = Counter()
    for path in sorted(asked.folder.glob("*.onnx")):
        if not re.search(asked.only, path.name):
            continue
        try:
            score = measured(path, asked)
        except FAILURES as problem:
            print(f"{path.name}: raises {type(problem).__name__}: {str(problem)[:300]}", flush=True)
            total["raises"] += 1
            continue
        total += score.counts()
        total.update({f"run {k}": n for k, n in score.results.items()})
        print(f"{path.name}: {dict(score.counts())}, run {dict(score.results)}, {score.seconds:.2f} s", flush=True)
        for said in dict.fromkeys(score.said):
            print(f"    {said}", flush=True)
        if asked.list:
            print("    not exact:", [n for n, how in score.values.items() if how != "exact"][:40])
    print(dict(total))
    values = sum(total[k] for k in ("exact", "unknown", "false"))
    print(f"{100 * total['exact'] / max(values, 1):.2f} % of {values} values are exact")
    return 1 if total["false"] or total["raises"] else 0


if __name__ == "__main__":
    sys.exit(main())
