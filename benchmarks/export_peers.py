"""`rx export` beside torch.onnx.export(dynamo=True) on the models of torch_zoo.py: nodes, onnxruntime's time for the two graphs
(one thread, one run, in turns), and what each does at sizes of a box: gives torch's numbers, and refuses what torch refuses.

    python benchmarks/export_peers.py [--only 'resnet18|unet'] [--points 12] [--size 64]

It needs `pip install onnxscript` beside PyTorch and onnxruntime. Rx's side runs behind its contract (`rx.onnx.load`), timed
without it. At a point a graph is `right`, gives `wrong` numbers, `ran` where torch refuses, or `refused` what torch runs.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before PyTorch is loaded

import numpy as np
import onnx
import onnx_models
import rxlang as rx
import torch
import torch_models
import torch_zoo
from engines import paired
from rxlang.cli.traced import exported
from rxlang.model.asked import AskedOfPython
from rxlang.simplify.known.outcome import Options

Arrays = Mapping[str, Any]


def feeds(target: Any, point: Mapping[str, int]) -> dict[str, torch.Tensor]:
    return {name: torch_models._tensor(name, declared, point) for name, declared in target.args.items()}


def by_rx(name: str, python: str, arguments: tuple[str, ...], out: Path) -> str:
    """The model that Rx writes; why there is none."""
    code = out.with_suffix(".py")
    here = Path(__file__).resolve().parent
    code.write_text(
        f"import sys\nsys.path.insert(0, {str(here)!r})\nimport torch_zoo\nmodel = torch_zoo.build({python!r})\n"
    )
    asked = AskedOfPython(None, tuple(arguments))
    found = exported(f"{code}:model", asked, Path.cwd(), Options(), str(out), "drop", 20)
    return "" if found.nodes is not None else next(d.message for d in found.diagnostics if d.severity == "error")


def by_torch(target: Any, size: int, out: Path) -> str:
    """The model that torch writes with every size free; why there is none."""
    point = {n: size if n in ("h", "w") else 5 for n in target.sizes}
    free = {name: {a: torch.export.Dim.AUTO for a, d in enumerate(x.shape) if isinstance(d, str)}
            for name, x in target.args.items()}  # fmt: skip
    try:
        with contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
            torch.onnx.export(target.code, (), str(out), kwargs=feeds(target, point), dynamic_shapes=free, dynamo=True,
                              external_data=False, verbose=False)  # fmt: skip
    except Exception as problem:  # noqa: BLE001  # whatever the exporter raises
        return str(problem).strip().splitlines()[0]
    return ""


def wanted(target: Any, given: Mapping[str, torch.Tensor]) -> list[Any] | None:
    """What torch gives; None where it refuses."""
    try:
        with torch.no_grad():
            found = target.code(**given)
    except Exception:  # noqa: BLE001  # whatever the code raises
        return None
    return [leaf.numpy() for leaf in torch.utils._pytree.tree_leaves(found) if isinstance(leaf, torch.Tensor)]


def ran(run: Any, given: Arrays) -> list[Any] | None:
    try:
        found = run(given)
    except Exception:  # noqa: BLE001  # the runtime's errors have no class in common
        return None
    return list(found) if isinstance(found, list | tuple) else [found]


def outcome(made: list[Any] | None, expected: list[Any] | None) -> str:
    if made is None or expected is None:
        return "right" if made is expected else "ran" if expected is None else "refused"
    same = len(made) == len(expected) and all(
        m.shape == e.shape and np.allclose(m, e, rtol=1e-3, atol=1e-4 * max(1.0, float(np.abs(e).max(initial=0))))
        for m, e in zip(made, expected, strict=True)
    )
    return "right" if same else "wrong"


def at_points(target: Any, sides: Mapping[str, Any], count: int) -> dict[str, Counter[str]]:
    found = {name: Counter[str]() for name in sides}
    for point in list(torch_models._box(target, (), count))[:count]:
        given = feeds(target, point)
        expected = wanted(target, given)
        for name, run in sides.items():
            found[name][outcome(ran(run, {n: v.numpy() for n, v in given.items()}), expected)] += 1
    return found


def measured(name: str, python: str, arguments: tuple[str, ...], asked: argparse.Namespace, folder: Path) -> str:
    target = torch_models.target_of(name, python, arguments)
    target.code.eval()
    paths = {"rx": folder / f"{name.replace(' ', '_')}.onnx", "torch": folder / f"{name.replace(' ', '_')}.torch.onnx"}
    why = {"rx": by_rx(name, python, arguments, paths["rx"]), "torch": by_torch(target, asked.size, paths["torch"])}
    models = {side: onnx.load(path) for side, path in paths.items() if not why[side]}
    sessions = {side: onnx_models.onnxruntime(model) for side, model in models.items()}
    sides = dict(sessions)
    if "rx" in models:
        checked = rx.onnx.load(paths["rx"], engine="onnxruntime")
        names = [i.name for i in models["rx"].graph.input]
        sides["rx"] = lambda given: checked.main(*(given[n] for n in names))
    cells = [f"{side} {len(m.graph.node)} nodes" for side, m in models.items()]
    cells += [f"{side}: {text[:90]}" for side, text in why.items() if text]
    if len(sessions) == 2:
        point = {n: asked.size if n in ("h", "w") else 3 if n == "b" else 16 for n in target.sizes}
        given = {n: v.numpy() for n, v in feeds(target, point).items()}
        times = paired({side: lambda run=run: run(given) for side, run in sessions.items()}, asked.rounds)  # type: ignore[misc]
        cells.append(f"time {times['rx'] / times['torch']:.2f} of torch's ({times['torch']:.2f} ms)")
    cells += [f"{side} {dict(c)}" for side, c in at_points(target, sides, asked.points).items()]
    return f"{name:14} " + "   ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="^(unet|resnet18|mobilenet_v2|squeezenet|conformer|bert|gpt2|hf vit)$")
    parser.add_argument("--points", type=int, default=12)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=15)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for name, (python, arguments) in torch_zoo.rows(asked.only).items():
            print(measured(name, python, arguments, asked, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
