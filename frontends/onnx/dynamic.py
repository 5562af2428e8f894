"""Turns declared sizes of a model into symbols: `images.0=b`, `images.0`, `*.0`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from ...lang.node import replace
from .model import Graph, Model, ModelValue, Operation, TensorType

_ASKED = re.compile(r"(?P<input>.+)\.(?P<axis>\d+|\*)(?:=(?P<name>[A-Za-z_]\w*))?", re.ASCII)


class SymbolicAxes(NamedTuple):
    """Axes of inputs to turn into symbols; without a name each gets its own."""

    input: str
    axis: int | None
    name: str | None


def with_symbols(model: Model, asked: Sequence[str]) -> Model:
    """The model with symbols for the requested sizes. Raises ValueError for other texts, and where no axis matches. Declared
    sizes of other values are dropped, dtypes are kept."""
    found = [read_asked(text) for text in asked]
    if not found:
        return model
    given = {t.name for t in model.graph.initializers}
    inputs = {v.name: v for v in model.graph.inputs if v.name not in given}
    changed = dict(inputs)
    for text, one in zip(asked, found, strict=True):
        met = {name: v for name, v in changed.items() if fnmatchcase(name, one.input) and _axes(v, one)}
        if not met:
            raise ValueError(f"{text!r}: no input of that name has such an axis")
        changed |= {name: _symbolic(v, one) for name, v in met.items()}
    return replace(model, graph=_undeclared(model.graph, changed))


def read_asked(text: str) -> SymbolicAxes:
    found = _ASKED.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not like 'images.0=b', 'images.0' or '*.0'")
    return SymbolicAxes(found["input"], None if found["axis"] == "*" else int(found["axis"]), found["name"])


def _axes(value: ModelValue, asked: SymbolicAxes) -> range:
    kind = value.type
    rank = len(kind.shape) if isinstance(kind, TensorType) and kind.shape is not None else 0
    if asked.axis is None:
        return range(rank)
    return range(asked.axis, asked.axis + 1) if asked.axis < rank else range(0)


def _symbolic(value: ModelValue, asked: SymbolicAxes) -> ModelValue:
    """The value with a symbol for each requested constant size; a named size keeps its name unless it gets another."""
    kind = value.type
    assert isinstance(kind, TensorType) and kind.shape is not None
    sizes = list(kind.shape)
    for axis in _axes(value, asked):
        if asked.name is not None or not isinstance(sizes[axis], str):
            sizes[axis] = asked.name or _name(value.name, axis)
    return replace(value, type=replace(kind, shape=tuple(sizes)))


def _name(value: str, axis: int) -> str:
    legal = re.sub(r"\W+", "_", value, flags=re.ASCII).strip("_")
    return f"{legal if legal[:1].isalpha() else f'v{legal}'}_{axis}"


def _undeclared(graph: Graph, inputs: Mapping[str, ModelValue]) -> Graph:
    def of(value: ModelValue) -> ModelValue:
        kind = value.type
        if not isinstance(kind, TensorType) or kind.shape is None:
            return value
        return replace(value, type=replace(kind, shape=(None,) * len(kind.shape)))

    return replace(
        graph,
        inputs=tuple(inputs.get(v.name, v) for v in graph.inputs),
        outputs=tuple(map(of, graph.outputs)),
        values=tuple(map(of, graph.values)),
        operations=tuple(map(_inside, graph.operations)),
    )


def _inside(operation: Operation) -> Operation:
    """A node without declared sizes in its graphs."""
    graphs = {n: _undeclared(v, {}) for n, v in operation.attributes.items() if isinstance(v, Graph)}
    return replace(operation, attributes={**operation.attributes, **graphs}) if graphs else operation
