"""A model's arguments to what is wrong with the indices among them: one pass over each, before any work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .frontends.onnx.ranges import ranges
from .frontends.onnx.reading import read_model
from .lang import codes
from .lang.diagnostics import Diagnostic, error
from .lang.source import Source, Span


def refusal(path: Path, values: Sequence[object]) -> Diagnostic | None:
    """The first input with an element that is no index into the table that it is for. `values` are those of the inputs, in
    their order."""
    model = read_model(path)
    held = {t.name for t in model.graph.initializers}
    given = dict(zip((v.name for v in model.graph.inputs if v.name not in held), values, strict=False))
    for found in ranges(model, {}):
        value, size = given.get(found.input), found.size
        if not isinstance(value, np.ndarray) or not value.size or not isinstance(size, int):
            continue
        for element in (int(value.max()), int(value.min())):
            if not -size <= element < size:
                asks = f"{found.operation} needs every element of `{found.input}` to be from {-size} to {size - 1}"
                table = f"an index into the {size} entries of axis {found.axis} of `{found.table}`"
                place = Span(Source(str(path), ""), 0, 0)
                return error(codes.R402, f"{asks}, {table}, but one is {element}", place)
    return None
