"""Rows of torch functions beside torch: what the traced program says of sizes of 0 to 5, shape, dtype and refusal."""

from __future__ import annotations

import importlib
import itertools
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.torch_cases import needs_torch
from support.torch_row_cases import CASES, INPUTS, KNOWN

SIZES = (0, 1, 2, 3, 4, 5)
# Points of each case, of which the first are those of equal sizes.
POINTS = 14


def code_of(expression: str) -> Any:
    import torch
    import torch.nn.functional as F

    names = [
        name for name in INPUTS if name in expression.replace(".", " ").replace("(", " ").split() or name in expression
    ]
    scope: dict[str, Any] = {"torch": torch, "F": F}
    if "einops" in expression:
        scope["einops"] = importlib.import_module("einops")
        importlib.import_module("einops.layers.torch")
    return eval(f"lambda {', '.join(names)}: {expression}", scope), names


class Said:
    """What the checker says of an expression over sizes."""

    def __init__(self, expression: str, shapes: dict[str, str]) -> None:
        from rxlang.frontends.torch import target as targets
        from rxlang.frontends.torch.arguments import written
        from rxlang.lang.source import Source
        from rxlang.model.contract import conditions_of
        from rxlang.pipeline import check_loaded, loaded
        from rxlang.simplify.known.outcome import Options

        code, names = code_of(expression)
        self.code, self.names = code, names
        given = [one for n in names for one in written("--arg", f"{n}={shapes[n]}")]
        self.declared = {one.name: one.value({}) for one in given}
        target = targets.Target(expression, code, self.declared)
        self.sizes = target.sizes
        self.trace = targets.trace(target, targets.hints(target, 0))
        source = Source("case", self.trace.text)
        options = Options(supposing=True, spare_arms=True, allow_empty=True)
        self.report = check_loaded(loaded(source, Path.cwd(), ()), options)
        self.is_never = not self.report.ok or self.trace.stopped is not None
        said = None if self.is_never else conditions_of(self.report.checked)
        self.conditions = [] if said is None else [c.text for c in said.conditions]
        self.is_exact = said is None or (said.exact and not said.left)
        main = next((f for f in self.report.checked.shapes if f.name == "@main"), None) if self.report.ok else None
        found = {} if main is None else {b.name: b for b in (*main.params, *main.bindings)}
        self.results = [found.get(name) for name in self.trace.results]

    def ways(self) -> list[str]:
        return [text for text, step in self.trace.facts if step.kind in ("branch", "operation", "number")]


def points(names: tuple[str, ...], draw: random.Random) -> Iterator[dict[str, int]]:
    whole = list(itertools.product(SIZES, repeat=len(names)))
    equal = [(n,) * len(names) for n in (1, 2, 4)]
    for point in dict.fromkeys([*equal, *draw.sample(whole, min(len(whole), POINTS))]):
        yield dict(zip(names, point, strict=True))


def run(said: Said, point: dict[str, int]) -> Any:
    import torch

    given = {}
    for name, declared in said.declared.items():
        shape = [point[d] if isinstance(d, str) else d for d in declared.shape]
        dtype = getattr(torch, declared.dtype)
        given[name] = torch.zeros(shape, dtype=dtype) if not dtype.is_floating_point else torch.rand(shape, dtype=dtype)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = said.code(**given)
    except Exception as problem:  # noqa: BLE001  # whatever torch raises
        return str(problem).splitlines()[0] if str(problem) else type(problem).__name__
    from rxlang.frontends.torch.tensors import results

    return list(results(found))


def differences(said: Said, draw: random.Random) -> Iterator[str]:
    from rxlang.simplify.solver.numbers import holds_at, size_at

    for point in points(said.sizes, draw):
        if any(holds_at(way, point) is False for way in said.ways()):
            continue
        found = run(said, point)
        told = not said.is_never and all(holds_at(c, point) is not False for c in said.conditions)
        if told and isinstance(found, str) and (not said.is_exact or "out of bounds" in found):
            continue  # data decides
        if told != (not isinstance(found, str)):
            yield f"{point}: {'accepted' if told else 'refused'}, torch: {found if isinstance(found, str) else 'accepts'}"
        elif told:
            if len(found) != len(said.results):
                yield f"{len(said.results)} results, torch {len(found)}"
            for binding, real in zip(said.results, found, strict=False):
                if binding is None:
                    continue
                dtype = str(real.dtype).removeprefix("torch.")
                if binding.dtype not in (None, dtype):
                    yield f"{binding.dtype}, torch {dtype}"
                if binding.shape is not None:
                    shape = tuple(size_at(s, point) for s in binding.shape)
                    same = len(shape) == real.dim() and all(
                        a in (None, b) for a, b in zip(shape, real.shape, strict=True)
                    )
                    if not same:
                        yield f"{point}: {binding.shape}, torch {tuple(real.shape)}"


def case(expression: str, shapes: dict[str, str], draw: random.Random) -> list[str]:
    said = Said(expression, shapes)
    supposed = [u.op for u in said.trace.supposed if said.trace.stopped is None]
    return [*(f"{op} is supposed" for op in supposed), *itertools.islice(differences(said, draw), 3)]


def drawn(group: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Each template of a group with shapes and arguments drawn."""
    draw = random.Random(group)
    for line in CASES[group].strip().splitlines():
        expression, _, given = line.partition(" | ")
        shapes = dict(INPUTS)
        for one in filter(None, map(str.strip, given.split(";"))):
            name, _, shape = one.partition("=")
            shapes[name] = shape
        for _ in range(1 + ("{" in expression)):
            yield eval(f"f'''{expression}'''", {"d": draw.randint, "c": draw.choice}), shapes


@needs_torch
@pytest.mark.parametrize("group", CASES)
def test_rows_say_what_torch_does(group: str) -> None:
    draw = random.Random(0)
    wrong = {}
    for expression, shapes in drawn(group):
        found = case(expression, shapes, draw)
        if found and not any(expression.startswith(known) for known in KNOWN):
            wrong[expression] = found
    assert not wrong, "\n".join(f"{k}: {v}" for k, v in wrong.items())
