"""A model and changes of it: each is checked, and run beside the model with random values, to compare the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import pipeline
from ..frontends.onnx.edits import ModelEdit, edited
from ..frontends.onnx.inference import Inferred
from ..lang.checked import Checked
from ..lang.diagnostics import RxError
from ..lang.dtypes import DTYPES
from ..lang.files import Files
from ..simplify.solver.numbers import size_at
from .contract import Contract, Typed, contract_of, known_of
from .replay import Sizes
from .tried import Check, Tried

if TYPE_CHECKING:  # it loads NumPy
    from ..interp.run import Machine

# Models with more elements in their weights, or in an input, are not run.
_MOST_WEIGHTS, _MOST_GIVEN = 2**26, 2**22


class Changed:
    """A checked model, and its change that was checked last."""

    def __init__(self, tried: Tried, contract: Contract, check: Check, base: Path, roots: tuple[Path, ...]) -> None:
        self.tried, self.contract, self.again = tried, contract, check
        self.files = Files(base, roots)
        self._before = self._machine(tried.report.checked)
        self.last = ModelEdit(), self._before
        self._found: dict[tuple[tuple[str, int], ...], Any] = {}

    def check(self, edit: ModelEdit) -> tuple[Contract | None, Mapping[str, Inferred]]:
        """The contract of a changed model, and the inferred facts about its values."""
        self.last = edit, self._machine(None)
        try:
            tried = self.again(edited(self.tried.model, edit))
        except RxError:
            return None, {}
        self.last = edit, self._machine(tried.report.checked)
        values = known_of(tried.model, tried.translation, tried.report)
        return contract_of(tried.model, tried.translation, tried.report, values), values

    def same(self, edit: ModelEdit, sizes: Sizes) -> bool | None:
        """Whether the model and a change of it give the same results at some sizes; None where the model is too large to
        run."""
        if sum(prod(t.shape) for t in self.tried.model.graph.initializers) > _MOST_WEIGHTS:
            return None
        if self.last[0] != edit:
            self.check(edit)
        at = tuple(sizes.items())
        if at not in self._found:
            self._found[at] = self._run(self._before, sizes)
        before, after = self._found[at], self._run(self.last[1], sizes)
        return before is not None and after is not None and _equal(before, after)

    def _machine(self, checked: Checked | None) -> Callable[[], Machine | None]:
        """A function that prepares a checked program when it is first called."""
        return cache(lambda: None if checked is None else pipeline.ready(checked, self.files))

    def _run(self, machine: Callable[[], Machine | None], sizes: Sizes) -> Any:
        from ..interp.shape_error import ShapeError  # a mere check loads no NumPy

        given = [_drawn(value, sizes, self._ends(value, sizes)) for value in self.contract.inputs]
        if any(value is None for value in given):
            return None
        try:
            made = machine()
            return None if made is None else made.call("main", given)
        except (ShapeError, RxError):  # refused values, or missing weights
            return None

    def _ends(self, value: Typed, sizes: Sizes) -> tuple[int, int]:
        """The range of the elements of an integer input."""
        ranges = [r for r in self.contract.ranges if r.input == value.name]
        least = max((n for r in ranges if (n := size_at(r.least, sizes)) is not None), default=0)
        return least, min((n for r in ranges if (n := size_at(r.most, sizes)) is not None), default=least + 2)


def _drawn(value: Typed, sizes: Sizes, ends: tuple[int, int]) -> Any:
    """Random values for an input, the same ones each time."""
    import numpy as np  # a mere check loads no NumPy

    from ..interp.dtypes import numpy_dtype  # it loads NumPy

    shape = [size_at(size, sizes) for size in value.shape or ()]
    known = [size for size in shape if size is not None]
    dtype = DTYPES.get(value.dtype or "")
    if value.shape is None or dtype is None or len(known) < len(shape) or prod(known) > _MOST_GIVEN:
        return None
    draw = np.random.default_rng(len(known))
    if dtype.kind == "float":
        return draw.standard_normal(known).astype(numpy_dtype(dtype))
    least, most = (0, 1) if dtype.kind == "bool" else ends
    drawn = draw.integers(least, max(most, least), known, endpoint=True)
    return (
        drawn.astype(numpy_dtype(dtype))
        if dtype.kind in ("int", "uint", "bool")
        else np.zeros(known, numpy_dtype(dtype))
    )


def _equal(one: Any, other: Any) -> bool:
    """Whether results are equal up to rounding."""
    import numpy as np  # a mere check loads no NumPy

    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(_equal, one, other))
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind not in "fc":
        return bool(np.array_equal(one, other))
    return bool(np.allclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True))
