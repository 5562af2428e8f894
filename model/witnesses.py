"""Runs the kernels of a checked model at sizes that break a condition, to see them fail."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .. import pipeline
from ..interp.dtypes import numpy_dtype
from ..interp.run import Machine
from ..interp.shape_error import ShapeError
from ..lang.checked import Checked
from ..lang.diagnostics import Diagnostic
from ..lang.dtypes import DTYPES
from ..lang.files import Files
from ..lang.node import replace
from ..simplify.solver.numbers import size_at
from .contract import Clause, Contract, IndexRange, Typed
from .replay import Sizes


def with_runs(checked: Checked, contract: Contract, base: Path, roots: tuple[Path, ...] = ()) -> Contract:
    """The contract with the kernels' message at each of its witnesses. Raises RxError where weights cannot be read."""
    runner = Runner(checked, contract, base, roots)
    return replace(
        contract,
        conditions=tuple(replace(c, ran=runner.clause(c)) for c in contract.conditions),
        ranges=tuple(replace(r, ran=runner.range(r)) for r in contract.ranges),
    )


class Runner:
    """A model that runs at witnesses, its inputs all zeros."""

    def __init__(self, checked: Checked, contract: Contract, base: Path, roots: tuple[Path, ...] = ()) -> None:
        self.contract = contract
        self.machine: Machine = pipeline.ready(checked, Files(base, roots))

    def clause(self, clause: Clause) -> str | None:
        """The failure at a condition's witness; None without a witness that can be run."""
        values = None if clause.witness is None else self.values(clause.witness)
        return None if values is None else self.said(values)

    def range(self, one: IndexRange) -> str | None:
        """The failure with an index that is one too large, where all sizes are 1."""
        names = (str(size) for i in self.contract.inputs for size in i.shape or ())
        sizes = {name: 1 for name in names if name.isidentifier()}
        most, values = size_at(one.most, sizes), self.values(sizes)
        at = next(n for n, i in enumerate(self.contract.inputs) if i.name == one.input)
        if most is None or values is None:
            return None
        values[at] = np.full_like(values[at], most + 1)
        return self.said(values)

    def values(self, sizes: Sizes) -> list[Any] | None:
        found = [_zeros(i, sizes) for i in self.contract.inputs]
        return None if any(value is None for value in found) else found

    def said(self, values: Iterable[Any]) -> str:
        try:
            self.machine.call("main", list(values))
        except ShapeError as problem:
            return _text(problem.diagnostic)
        return "nothing failed"


def _zeros(value: Typed, sizes: Sizes) -> Any:
    shape = [size_at(size, sizes) for size in value.shape or ()]
    if value.shape is None or value.dtype is None or any(size is None for size in shape):
        return None
    return np.zeros(shape, numpy_dtype(DTYPES[value.dtype]))


def _text(said: Diagnostic) -> str:
    return f"{said.code} at {said.span.source.place(said.span.start, said.span.end)}: {said.message}"
