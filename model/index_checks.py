"""Finds wrong indices in a model's arguments: one pass over each, before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..frontends.onnx.inference import Inferred
from ..frontends.onnx.model import ModelValue, TensorType
from ..frontends.onnx.ranges import Indices, TableIndices
from ..frontends.onnx.reading import read_model
from ..lang import codes
from ..lang.diagnostics import Diagnostic, error
from ..lang.source import Source, Span


class IndexChecks:
    """The inputs of a model that hold indices, each with its table."""

    def __init__(self, path: Path) -> None:
        model = read_model(path)
        held = {t.name for t in model.graph.initializers}
        inputs = [v for v in model.graph.inputs if v.name not in held]
        self.path = path
        self.names = [v.name for v in inputs]
        self.ranges = tuple(Indices(model, {v.name: Inferred(_axes(v), None, ()) for v in inputs}).inputs())

    def refusal(self, values: Sequence[object]) -> Diagnostic | None:
        """An error for the first input with an element that is no index into its table. `values` are the inputs, in order."""
        given = dict(zip(self.names, values, strict=False))
        for found in self.ranges:
            value, size = given.get(found.input), _size(found, given.get(found.table))
            if not isinstance(value, np.ndarray) or not value.size or size is None:
                continue
            least, most = (times * size + more for times, more in (found.least, found.most))
            kept = value if found.cast is None else value.astype(found.cast)
            for element in (int(kept.max()), int(kept.min())):
                if not least <= element <= most:
                    return self._refused(found, (least, most), size, element)
        return None

    def _refused(self, found: TableIndices, ends: tuple[int, int], size: int, element: int) -> Diagnostic:
        place = Span(Source(str(self.path), ""), 0, 0)
        if not size and not found.is_length:
            asks = f"{found.operation} needs `{found.input}` to have no elements, because axis {found.axis} of"
            return error(codes.R402, f"{asks} `{found.table}` has no entries to index, but one is {element}", place)
        asks = f"{found.operation} needs every element of `{found.input}` to be from {ends[0]} to {ends[1]}"
        what = "a length within" if found.is_length else "an index into"
        table = f"{what} the {size} entries of axis {found.axis} of `{found.table}`"
        return error(codes.R402, f"{asks}, {table}, but one is {element}", place)


def _axes(value: ModelValue) -> tuple[int | str, ...]:
    """An input's sizes; those that are not declared are named by their axes."""
    shape = value.type.shape if isinstance(value.type, TensorType) else None
    return tuple(size if isinstance(size, int) else f"{value.name}.{axis}" for axis, size in enumerate(shape or ()))


def _size(found: TableIndices, table: object) -> int | None:
    """The number of entries of a table, from its argument if it is an input."""
    if isinstance(table, np.ndarray):
        return table.shape[found.axis] if found.axis < table.ndim else None
    return found.size if isinstance(found.size, int) else None
