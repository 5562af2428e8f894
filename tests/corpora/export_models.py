"""Models of many kinds as PyTorch and onnxscript write them, with random weights and inputs to run them on.

    pip install torch==2.13.0 onnx onnxruntime onnxscript
    python tests/corpora/export_models.py FOLDER [--only PATTERN]

Each is exported by both of PyTorch's exporters where they can: `NAME.dynamo.onnx` and `NAME.script.onnx`. What one of them
cannot export is said and left out.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch
from exported import EXPORTS, Export
from torch.export import Dim


def by_dynamo(made: Export, path: Path) -> None:
    names = {n for axes in made.axes.values() for n in axes.values() if n.isidentifier()}
    known = {n: Dim(n, min=1 if n in ("batch", "seq") else 2) for n in names}
    shapes = {name: {at: known.get(n, Dim.AUTO) for at, n in made.axes.get(name, {}).items()} for name in made.inputs}
    program = torch.onnx.export(
        made.module, tuple(made.inputs.values()), dynamo=True, dynamic_shapes=tuple(shapes.values()),
        input_names=list(made.inputs), output_names=made.outputs, verbose=False,
    )  # fmt: skip
    program.save(str(path))


def by_script(made: Export, path: Path) -> None:
    axes = {
        name: {at: n if n.isidentifier() else re.sub(r"\W+", "_", f"s{n}") for at, n in found.items()}
        for name, found in made.axes.items()
    }
    torch.onnx.export(
        made.module, tuple(made.inputs.values()), str(path), dynamo=False, dynamic_axes=axes,
        input_names=list(made.inputs), output_names=made.outputs, opset_version=17,
    )  # fmt: skip


def quantised(path: Path) -> Iterator[Path]:
    """A model with weights of 8 bits, as onnxruntime makes it."""
    from onnxruntime.quantization import quantize_dynamic  # only this needs it

    made = path.with_name(path.name.replace(".onnx", ".int8.onnx"))
    quantize_dynamic(str(path), str(made))
    yield made


FAILURES = (RuntimeError, TypeError, ValueError, AssertionError, NotImplementedError, LookupError, AttributeError)
QUANTISED = ("gpt_cache.script.onnx", "encoder.script.onnx", "encoder.dynamo.onnx")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    args.folder.mkdir(parents=True, exist_ok=True)
    for name, make in EXPORTS.items():
        if not re.search(args.only, name):
            continue
        for exporter, how in (("dynamo", by_dynamo), ("script", by_script)):
            torch.manual_seed(0)
            path = args.folder / f"{name}.{exporter}.onnx"
            try:
                how(make(), path)
                more = list(quantised(path)) if path.name in QUANTISED else []
                print("made", path, *more, flush=True)
            except FAILURES as problem:
                print("left out", path.name, type(problem).__name__, str(problem).strip().splitlines()[:1], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
