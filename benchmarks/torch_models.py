"""PyTorch models of torch_zoo.py: whether each is read without supposed operations, its contract, and whether running torch
agrees with it at sizes of a box (1 to 6, and around each bound). `--export` puts torch.export's ranges and time beside.

    python benchmarks/torch_models.py [--only NAME] [--points 40] [--export] [--json FILE]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import re
import resource
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
import torch_zoo
from rxlang.frontends.torch import target as targets
from rxlang.frontends.torch.arguments import DeclaredInput, written
from rxlang.frontends.torch.target import Target
from rxlang.frontends.torch.tensors import results
from rxlang.model.contract import Contract
from rxlang.model.traced import check_target
from rxlang.simplify.solver.numbers import holds_at, size_at
from rxlang.simplify.solver.prove import prove

Sizes = Mapping[str, int]
_SECONDS = 240
_MOST = 600_000  # elements of an input, more is not run


class Clock:
    """CPU seconds of the traces."""

    def __init__(self) -> None:
        self.spent, self.own = 0.0, targets.trace

    def trace(self, *args: Any) -> Any:
        begun = time.process_time()
        try:
            return self.own(*args)
        finally:
            self.spent += time.process_time() - begun


def target_of(name: str, python: str, arguments: tuple[str, ...]) -> Target:
    model = torch_zoo.build(python)
    given = {one.name: one.value({}) for text in arguments for one in written("--arg", text)}
    return Target(name, model, given, model)


def measured(name: str, python: str, arguments: tuple[str, ...], asked: argparse.Namespace) -> dict[str, Any]:
    """What is said of one model, and how it compares to running it."""
    target = target_of(name, python, arguments)
    clock = Clock()
    targets.trace = clock.trace
    begun = time.process_time()
    found = check_target(target, Path.cwd())
    whole = time.process_time() - begun
    row: dict[str, Any] = {"name": name, "trace": round(clock.spent, 2), "check": round(whole - clock.spent, 2)}
    row["lines"] = found.trace.text.count("\n") if found.trace else 0
    row["supposed"] = dict(Counter(u.op for u in found.supposed))
    row["errors"] = [_shown(d) for d in found.report.diagnostics if d.severity == "error"]
    row["warnings"] = [_shown(d) for d in found.report.diagnostics if d.severity == "warning"]
    if found.contract is not None:
        row |= _contract(found.contract)
        row |= compared(target, found.contract, asked)
    elif asked.points:
        row["accepted"] = next((p for p in _box(target, (), 12) if ran(target, p) is not None), None)
    if asked.export:
        row["export"] = exported(target)
    return row


def _shown(said: Any) -> str:
    return f"{Path(said.span.source.name).name}:{said.span.line} {said.message[:160]}"


def _contract(contract: Contract) -> dict[str, Any]:
    return {
        "conditions": [c.condition for c in contract.conditions],
        "given": list(contract.given),
        "outputs": [f"{o.dtype}{list(o.shape)}" if o.shape is not None else str(o.dtype) for o in contract.outputs],
        "exact": contract.exact,
        "undecided": len(contract.undecided),
    }


def compared(target: Target, contract: Contract, asked: argparse.Namespace) -> dict[str, Any]:
    """The points at which torch says something else than the contract."""
    wrong, counts = [], Counter[str]()
    conditions = [c.condition for c in contract.conditions]
    begun = time.process_time()
    for point in _box(target, (*conditions, *contract.given), asked.points):
        if not all(holds_at(c, point) is not False for c in contract.given):
            counts["another way"] += 1
            continue
        if time.process_time() - begun > asked.seconds:
            break
        told = all(holds_at(c, point) is not False for c in conditions)
        shapes = ran(target, point)
        if told and shapes is None and "out of " in _why[-1]:
            counts["left to the data"] += 1  # an index
            continue
        counts["accepted" if shapes is not None else "refused"] += 1
        if told != (shapes is not None):
            wrong.append(f"{point}: {'accepted' if told else 'refused'}, torch {shapes or _why[-1]}")
        elif shapes is not None:
            wrong += [f"{point}: {w}" for w in _other_shapes(contract, shapes, point)]
    return {"points": dict(counts), "wrong": wrong}


def _other_shapes(contract: Contract, shapes: list[tuple[str, tuple[int, ...]]], point: Sizes) -> Iterator[str]:
    if len(shapes) != len(contract.outputs):
        yield f"{len(contract.outputs)} results, torch {len(shapes)}"
        return
    for output, (dtype, shape) in zip(contract.outputs, shapes, strict=True):
        if output.dtype is not None and output.dtype != dtype:
            yield f"{output.dtype}, torch {dtype}"
        if output.shape is None:
            continue
        told = tuple(size_at(s, point) for s in output.shape)
        if len(told) != len(shape) or any(t is not None and t != s for t, s in zip(told, shape, strict=True)):
            yield f"{output.shape}, torch {shape}"


# The points


def _box(target: Target, conditions: tuple[str, ...], count: int) -> Iterator[dict[str, int]]:
    """Sizes of 1 to 6 and around each bound: all where they are few, else some of them."""
    names = target.sizes
    draw = random.Random(0)
    near = {n + d for c in conditions for n in map(int, re.findall(r"\b\d+\b", c)) for d in (-1, 0, 1) if n < 3000}
    values = {n: sorted({*range(1, 7), *(near if n != "b" else ())} - {-1, 0}) for n in names}
    found = [{n: 2 if n == "b" else 64 for n in names}, *_inside(names, conditions)]
    rest = itertools.product(*values.values())
    most = 1
    for each in values.values():
        most *= len(each)
    if most > count:
        rest = iter({tuple(draw.choice(v) for v in values.values()) for _ in range(count)})
    found += [dict(zip(names, point, strict=True)) for point in rest]
    for one in {tuple(p.items()): p for p in found}.values():
        if all(_count(d, one) <= _MOST for d in target.args.values()):
            yield one


def _count(declared: DeclaredInput, point: Sizes) -> int:
    return math.prod(point[d] if isinstance(d, str) else d for d in declared.shape)


def _inside(names: tuple[str, ...], conditions: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """Points that all conditions hold at, and those beside them by one size."""
    own = [c for c in conditions if c]
    for more in ([], [f"{n} >= 2" for n in names], [f"{n} >= 33" for n in names if n != "b"]):
        witness = prove([*own, *more, *(f"{n} >= 1" for n in names)], f"{names[0]} >= 100000").get("witness")
        if witness is None or any(v > 1500 for v in witness.values()):
            continue
        point = {n: witness.get(n, 2) for n in names}
        yield point
        for name in names:
            yield from ({**point, name: point[name] + d} for d in (-1, 1) if point[name] + d > 0)


# torch

_why: list[str] = [""]


def ran(target: Target, point: Sizes) -> list[tuple[str, tuple[int, ...]]] | None:
    """The results' dtypes and shapes; None where torch refuses."""
    given = {name: _tensor(name, declared, point) for name, declared in target.args.items()}
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = target.code(**given)
    except Exception as problem:  # noqa: BLE001  # whatever torch or the model raises
        _why.append(str(problem).splitlines()[0][:120] if str(problem) else type(problem).__name__)
        return None
    return [(str(t.dtype).removeprefix("torch."), tuple(t.shape)) for t in results(found)]


def _tensor(name: str, declared: DeclaredInput, point: Sizes) -> torch.Tensor:
    shape = [point[d] if isinstance(d, str) else d for d in declared.shape]
    if "mask" in name:
        return torch.ones(shape, dtype=torch.int64)
    return torch.zeros(shape, dtype=torch.int64) if declared.dtype == "int64" else torch.randn(shape)


def exported(target: Target) -> dict[str, Any]:
    """torch.export with every size free."""
    point = {n: 224 if n in ("h", "w") else 7 for n in target.sizes}
    given = {name: _tensor(name, declared, point) for name, declared in target.args.items()}
    free = {name: {a: torch.export.Dim.AUTO for a, d in enumerate(x.shape) if isinstance(d, str)}
            for name, x in target.args.items()}  # fmt: skip
    begun = time.process_time()
    try:
        with torch.no_grad():
            found = torch.export.export(target.code, (), given, dynamic_shapes=free, strict=False)
        said = {str(k): str(v) for k, v in found.range_constraints.items()}
    except Exception as problem:  # noqa: BLE001  # whatever torch.export raises
        said = {"raises": str(problem).splitlines()[0][:100] if str(problem) else type(problem).__name__}
    return {"seconds": round(time.process_time() - begun, 2), "ranges": said}


# All of them


def _work(pipe: Any, name: str, row: tuple[str, tuple[str, ...]], asked: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    try:
        pipe.send(measured(name, *row, asked))
    except BaseException as problem:  # noqa: BLE001  # told, and the next model
        import traceback

        pipe.send({"name": name, "failed": f"{type(problem).__name__}: {problem}"[:300],
                   "at": traceback.format_exc().splitlines()[-6:]})  # fmt: skip


def each(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every model in a process of its own."""
    forked = get_context("fork")
    for name, row in torch_zoo.rows(asked.only).items():
        here, there = forked.Pipe()
        process = forked.Process(target=_work, args=(there, name, row, asked))
        process.start()
        there.close()
        try:
            yield here.recv() if here.poll(_SECONDS) else {"name": name, "failed": f"not within {_SECONDS} s"}
        except EOFError:
            yield {"name": name, "failed": "its process ended"}
        process.kill()
        process.join()


def line(row: Mapping[str, Any]) -> str:
    if "failed" in row:
        return f"{row['name']:20} FAILED {row['failed']} {row.get('at', '')}"
    state = "read" if is_read(row) else "ERROR" if row["errors"] else "supposed" if row["supposed"] else "stopped"
    if row.get("wrong"):
        state += f", {len(row['wrong'])} WRONG"
    parts = [f"{row['name']:20} {state:9} {row['lines']:5} {row['trace']:6} {row['check']:6} {row.get('points', '')}"]
    parts += [f"    {'; '.join(row.get('conditions', []))[:300]}  given {'; '.join(row.get('given', []))[:200]}"]
    parts += [f"    gives {'; '.join(row.get('outputs', []))[:200]}"]
    for key, most in (("supposed", 1), ("errors", 3), ("warnings", 3), ("wrong", 4), ("export", 1)):
        if row.get(key):
            shown = row[key][:most] if isinstance(row[key], list) else [row[key]]
            parts += [f"    {key}: {one}" for one in shown]
    return "\n".join(parts)


def is_read(row: Mapping[str, Any]) -> bool:
    return "failed" not in row and not row["errors"] and not row["supposed"] and "conditions" in row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--points", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=30, help="of CPU for running a model")
    parser.add_argument("--export", action="store_true")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    for library in ("torchvision", "timm", "transformers"):
        if any(f"{library}." in python for python, _ in torch_zoo.rows(asked.only).values()):
            torch_zoo._imported(library)
    found = []
    for row in each(asked):
        found.append(row)
        print(line(row), flush=True)
        if asked.json:
            asked.json.write_text(json.dumps(found, indent=1))
    read = sum(map(is_read, found))
    right = sum(1 for row in found if is_read(row) and not row.get("wrong"))
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    print(f"{len(found)} models: {read} read without supposed operations, {right} of them agree; {spent:.0f} s of CPU")


if __name__ == "__main__":
    main()
