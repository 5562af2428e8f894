"""Runs a checked model at concrete sizes, to find where it fails, by the rules that give its conditions for all sizes."""

from __future__ import annotations

from collections.abc import Mapping

from .. import pipeline
from ..lang.checked import Checked
from ..lang.diagnostics import Diagnostic
from ..lang.dtypes import DTYPES
from ..lang.node import Node
from ..simplify.on_shapes import ArgumentShape
from ..simplify.solver.numbers import size_at

Sizes = Mapping[str, int]


class Unanswered(Exception):
    """An input has no shape at those sizes."""


class Parameter(Node):
    """A parameter of a model's program: its name there, its dtype, and its sizes as Rx text; `Size` is the dtype of a size."""

    name: str
    dtype: str | None
    shape: tuple[int | str, ...] | None

    def at(self, sizes: Sizes, given: Mapping[int, int] = {}) -> ArgumentShape | int:
        """The argument, with the axes in `given` replaced; raises Unanswered."""
        dims = [given.get(axis, size_at(size, sizes)) for axis, size in enumerate(self.shape or ())]
        known = tuple(size for size in dims if size is not None and size >= 0)
        if self.shape is None or len(known) < len(dims):
            raise Unanswered(self.name)
        if self.dtype == "Size":
            return known[0]
        return ArgumentShape(known, None if self.dtype is None else DTYPES.get(self.dtype))


def failure_at(
    checked: Checked, params: tuple[Parameter, ...], sizes: Sizes, given: Mapping[tuple[str, int], int] = {}
) -> Diagnostic | None:
    """The first check that fails at some sizes, at its place; raises Unanswered. Axes of parameters in `given` override the
    declaration."""
    own = {p.name: {axis: size for (name, axis), size in given.items() if name == p.name} for p in params}
    return pipeline.failure_on_shapes(checked, "main", {p.name: p.at(sizes, own[p.name]) for p in params})
