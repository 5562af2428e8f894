"""A model with sizes of its inputs made free: what was declared constant, or equal, gets a name of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from ...lang.node import Node, replace
from .model import Attribute, Graph, Model, Operation, TensorType, Value

_WISH = re.compile(r"(?P<input>.+)\.(?P<axis>-?\d+)(=(?P<name>[A-Za-z_]\w*))?")


class Wish(Node):
    """An axis of the inputs that a pattern names, and what its size is called; None: a name for each."""

    text: str
    pattern: str
    axis: int
    name: str | None

    def called(self, value: Value) -> str:
        return self.name or f"{re.sub(r'[^A-Za-z0-9_]+', '_', value.name)}_{self.axis}"

    def is_for(self, value: Value) -> bool:
        shape = value.type.shape if isinstance(value.type, TensorType) else None
        return fnmatchcase(value.name, self.pattern) and shape is not None and -len(shape) <= self.axis < len(shape)


def read_wish(text: str) -> Wish:
    """Raises ValueError for what is none."""
    found = _WISH.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not like images.0=b")
    return Wish(text, found["input"], int(found["axis"]), found["name"])


def freed(model: Model, wishes: Sequence[Wish]) -> Model:
    """Raises ValueError for a wish that meets no input."""
    if not wishes:
        return model
    held = {t.name for t in model.graph.initializers}
    inputs = [v for v in model.graph.inputs if v.name not in held]
    for wish in wishes:
        if not any(map(wish.is_for, inputs)):
            raise ValueError(
                f"{wish.text!r} names no axis of an input; the inputs are {', '.join(v.name for v in inputs)}"
            )
    freed_inputs = tuple(v if v.name in held else _freed(v, wishes) for v in model.graph.inputs)
    return replace(model, graph=replace(_undeclared(model.graph), inputs=freed_inputs))


def _freed(value: Value, wishes: Iterable[Wish]) -> Value:
    for wish in wishes:
        if wish.is_for(value):
            assert isinstance(value.type, TensorType) and value.type.shape is not None
            sizes = list(value.type.shape)
            sizes[wish.axis] = wish.called(value)
            value = replace(value, type=replace(value.type, shape=tuple(sizes)))
    return value


# What is declared of values inside may rest on the sizes that were constant.


def _undeclared(graph: Graph) -> Graph:
    return replace(
        graph,
        values=tuple(map(_without_sizes, graph.values)),
        outputs=tuple(map(_without_sizes, graph.outputs)),
        operations=tuple(map(_operation, graph.operations)),
    )


def _without_sizes(value: Value) -> Value:
    if not isinstance(value.type, TensorType) or value.type.shape is None:
        return value
    return replace(value, type=replace(value.type, shape=(None,) * len(value.type.shape)))


def _operation(operation: Operation) -> Operation:
    return replace(operation, attributes={name: _attribute(v) for name, v in operation.attributes.items()})


def _attribute(value: Attribute) -> Attribute:
    return _undeclared(value) if isinstance(value, Graph) else value
