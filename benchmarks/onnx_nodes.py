"""ONNX's own node tests: are the inferred shapes right for all sizes, and what do other engines say.

    python benchmarks/onnx_nodes.py [--run] [--given 64] [--only PATTERN] [--engine rx|onnx|onnxruntime] [--list]

Every size of every input is a symbol of its own; inputs that an operator reads as shapes, axes, counts or conditions are
constants (with `--given N` all inputs of rank 0 and 1 with at most N elements). `--run` runs them and compares the results. A
test counts as exact if each output's shape, with the test's sizes put in, is the right one and nothing in it is unknown; as
false if it is wrong.
"""

from __future__ import annotations

import argparse
import collections
import math
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import rxlang
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from rxlang import pipeline

# Inputs that an operator reads as shape, axes, pads, scales, sizes, counts or conditions, by operator; -1 is all from there on.
READ = {
    "Reshape": {1}, "Expand": {1}, "Tile": {1}, "Slice": {1, 2, 3, 4}, "Split": {1}, "Squeeze": {1}, "Unsqueeze": {1},
    "Pad": {1, 3}, "Resize": {1, 2, 3}, "Upsample": {1}, "ConstantOfShape": {0}, "Range": {0, 1, 2}, "OneHot": {1},
    "TopK": {1}, "CenterCropPad": {1}, "AffineGrid": {1}, "Col2Im": {1, 2}, "MaxUnpool": {2}, "DFT": {1, 2},
    "STFT": {1, 3}, "HannWindow": {0}, "HammingWindow": {0}, "BlackmanWindow": {0}, "MelWeightMatrix": {0, 1, 2, 3, 4},
    "SplitToSequence": {1}, "Loop": {0, 1}, "If": {0}, "CumSum": {1}, "CumProd": {1}, "Trilu": {1},
    "NonMaxSuppression": {2, 3, 4},
    "SequenceAt": {1}, "SequenceInsert": {2}, "SequenceErase": {1}, "Dropout": {1, 2}, "TensorScatter": set(),
    **{f"Reduce{n}": {1} for n in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")},
}  # fmt: skip


class Case:
    """One node test with its sizes made symbols. `sizes` has what they are in the test."""

    def __init__(
        self,
        name: str,
        model: onnx.ModelProto,
        inputs: list[Any],
        outputs: list[Any],
        given: int,
        near: tuple[float, float],
    ) -> None:
        self.name, self.outputs, self.near = name, outputs, near
        self.inputs: list[Any] = []
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        self.sizes: dict[str, int] = {}
        read = self._read()
        graph = self.model.graph
        kept = []
        for value, data in zip(list(graph.input), inputs, strict=False):
            small = isinstance(data, np.ndarray) and data.ndim < 2
            if small and ((value.name in read) or (given and data.size <= given)):
                texts = data.dtype.kind == "T"
                made = numpy_helper.from_array(data.astype(object) if texts else data, value.name)
                graph.initializer.append(made)
                continue
            if value.type.HasField("tensor_type") and isinstance(data, np.ndarray):
                dims = value.type.tensor_type.shape.dim
                del dims[:]
                for axis, size in enumerate(data.shape):
                    symbol = f"{re.sub('[^A-Za-z0-9_]', '_', value.name)}_d{axis}"
                    dims.add().dim_param = symbol
                    self.sizes[symbol] = size
            kept.append(value)
            self.inputs.append(data)
        copies = [onnx.ValueInfoProto.FromString(v.SerializeToString()) for v in kept]
        del graph.input[:]
        graph.input.extend(copies)
        for value in graph.output:
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
        del graph.value_info[:]

    def _read(self) -> set[str]:
        """The inputs of the graph that some operator reads so, also through functions that only hand them on."""
        found = set()
        for node in self.model.graph.node:
            for at in READ.get(node.op_type, ()):
                if at < len(node.input):
                    found.add(node.input[at])
        return found


def cases(given: int, only: str | None) -> Iterator[Case]:
    for test in load_model_tests(kind="node"):
        if only and not re.search(only, test.name):
            continue
        if test.data_sets:
            inputs, outputs = test.data_sets[0]
            yield Case(
                test.name,
                test.model,
                [_array(x) for x in inputs],
                [_array(x) for x in outputs],
                given,
                (test.rtol, test.atol),
            )


def _array(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        value = numpy_helper.to_array(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = np.array([v.decode() if isinstance(v, bytes) else v for v in value.ravel()], "T").reshape(value.shape)
    return np.asarray(value) if isinstance(value, np.generic) else value


# In which ways engines fail.
FAILURES = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError,
    NotImplementedError, RuntimeError, TypeError, ValueError,
    rxlang.CheckError, rxlang.ShapeError,
)  # fmt: skip
Shapes = dict[str, list[Any] | None]


def rx(case: Case) -> Shapes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(case.model, path)
        report = pipeline.check_bytes(b"", str(path), path.parent)
        if report.checked is None or not report.ok:
            raise RuntimeError("; ".join(d.message for d in report.diagnostics if d.severity == "error"))
        result = next(f for f in report.checked.shapes if f.name == "@main").result
        names = [v.name for v in case.model.graph.output]
        items = result.items if len(names) > 1 else (result,)
        return {n: _found(i) for n, i in zip(names, items, strict=True)}


def _found(known: Any) -> Any:
    """A shape, in which a size that the data decides is its upper bound behind `<=`; of a sequence and the like a dict of what
    is known of its elements, by their places, or of all (`?`)."""
    if known.sort in ("Sequence", "Optional", "Map"):
        return {i.name[len(known.name) + 1 : -1]: _found(i) for i in known.items}
    if known.shape is None:
        return None
    bounds = known.bounds or (None,) * len(known.shape)
    return [f"<={b}" if s == "?" and b else s for s, b in zip(known.shape, bounds, strict=True)]


def onnx_own(case: Case) -> Shapes:
    return _shapes(onnx.shape_inference.infer_shapes(case.model, data_prop=True))


def onnxruntime(case: Case) -> Shapes:
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference  # only this needs it

    return _shapes(SymbolicShapeInference.infer_shapes(case.model, 2**31 - 1, True, False, 0))


def _shapes(model: onnx.ModelProto) -> Shapes:
    found: Shapes = {}
    for value in model.graph.output:
        kind = value.type.tensor_type
        dims = kind.shape.dim
        known = value.type.HasField("tensor_type") and kind.HasField("shape")
        found[value.name] = (
            [d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in dims] if known else None
        )
    return found


ENGINES = {"rx": rx, "onnx": onnx_own, "onnxruntime": onnxruntime}
_FUNCTIONS = {
    "min": min, "max": max, "Min": min, "Max": max, "floor": math.floor, "ceiling": math.ceil,
    "ceildiv": lambda a, b: -(-a // b),
    "Mod": lambda a, b: a % b,
}  # fmt: skip


def verdict(case: Case, found: Shapes) -> str:
    """exact, partial or false."""
    said = {
        _verdict(found.get(value.name), data, case.sizes)
        for value, data in zip(case.model.graph.output, case.outputs, strict=True)
    }
    return next((word for word in ("false", "partial") if word in said), "exact")


def _verdict(shape: Any, data: Any, sizes: dict[str, int]) -> str:
    """The same of one value. A sequence counts by its elements: what is known of each, or of all of them."""
    if data is None or isinstance(data, dict):
        return "exact"
    if isinstance(shape, dict):
        elements = data if isinstance(data, list) else [data]
        known = [shape["?"]] * len(elements) if "?" in shape else list(shape.values())
        if len(known) != len(elements):
            return "false"
        said = {_verdict(part, element, sizes) for part, element in zip(known, elements, strict=True)}
        return next((word for word in ("false", "partial") if word in said), "exact")
    return "partial" if shape is None else _of_sizes(shape, data, sizes)


def _of_sizes(shape: list[Any], data: Any, sizes: dict[str, int]) -> str:
    if len(shape) != data.ndim:
        return "false"
    said = {_of_size(size, right, sizes) for size, right in zip(shape, data.shape, strict=True)}
    return next((word for word in ("false", "partial") if word in said), "exact")


def _of_size(size: int | str, right: int, sizes: dict[str, int]) -> str:
    """A size that the data decides is right if it is at most its bound."""
    text = str(size)
    number = value_of(text.removeprefix("<="), sizes)
    if number is None:
        return "partial"
    return "exact" if number == right or (text.startswith("<=") and right <= number) else "false"


def value_of(text: str, sizes: dict[str, int]) -> int | None:
    try:
        return int(eval(text, {"__builtins__": {}}, {**_FUNCTIONS, **sizes}))
    except (SyntaxError, NameError, ZeroDivisionError, TypeError):
        return None


def run(case: Case) -> str:
    """right or wrong."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(case.model, path)
        module = rxlang.load(path, allow_empty=True)
        found = module.main(*case.inputs)
    found = found if isinstance(found, tuple) else (found,)
    return "right" if all(map(_same, found, case.outputs, [case.near] * len(found))) else "wrong"


def _same(found: Any, right: Any, near: tuple[float, float]) -> bool:
    if found is None or right is None:
        return found is right
    if isinstance(right, list):
        return len(found) == len(right) and all(_same(f, r, near) for f, r in zip(found, right, strict=True))
    found, right = np.asarray(found), np.asarray(right)
    if found.shape != right.shape or (found.dtype != right.dtype and right.dtype.kind not in "OUST"):
        return False
    if right.dtype.kind in "OUST":
        return [str(x) for x in found.ravel()] == [str(x) for x in right.ravel()]
    if right.dtype.name == "bfloat16":  # the last of its 8 bits
        near = max(near[0], 2.0**-7), near[1]
    if right.dtype.kind == "c":
        return bool(np.allclose(found, right, *near, equal_nan=True))
    return bool(np.allclose(found.astype(np.float64), right.astype(np.float64), *near, equal_nan=True))


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("--given", type=int, default=0)
    reader.add_argument("--only")
    reader.add_argument("--engine", choices=[*ENGINES, "all"], default="rx")
    reader.add_argument("--list", action="store_true", help="print each test that is not exact")
    reader.add_argument("--run", action="store_true")
    asked = reader.parse_args()
    everything = list(cases(asked.given, asked.only))
    print(f"{len(everything)} node tests")
    for name in ENGINES if asked.engine == "all" else (asked.engine,):
        counts: collections.Counter[str] = collections.Counter()
        why: collections.Counter[str] = collections.Counter()
        began = time.process_time()
        for case in everything:
            said = ""
            try:
                outcome = run(case) if asked.run else verdict(case, ENGINES[name](case))
            except FAILURES as problem:
                outcome, said = (
                    "error",
                    f"{type(problem).__name__}: {str(problem).splitlines()[0][:110] if str(problem) else ''}",
                )
                why[re.sub(r"^.*?(\(\w+\))", r"\1", said)[:90]] += 1
            counts[outcome] += 1
            if asked.list and outcome not in ("exact", "right"):
                print(f"  {outcome:8} {case.name} {said}")
        print(f"{name}: {dict(counts)} in {time.process_time() - began:.1f} s")
        for said, count in why.most_common(25) if name == "rx" else ():
            print(f"  {count:4} {said}", file=sys.stderr)


if __name__ == "__main__":
    main()
