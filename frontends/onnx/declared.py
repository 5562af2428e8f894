"""False declarations in a model: its declared shapes compared with the inferred ones, and sizes where they differ."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from ...lang import core
from ...lang.checked import Takes
from ...lang.node import Node, replace
from ...lang.source import NOWHERE
from .consistency import graphs
from .dims import Size, declared, evaluate, names, number, read_dim
from .inference import Inference, Inferred
from .model import Graph, Model, ModelValue, TensorType

Sizes = Mapping[str, int]
Holds = Callable[[str, Sizes], bool | None]
# The number of sizes tried, and the largest; expressions that agree at the first ones count as equal.
_TRIES, _LARGEST, _FEW, _FIRST = 400, 40, 24, 48


class Contradiction(Node):
    """A value whose declaration is false, the node that gives it, and what is wrong."""

    name: str
    node: str | None
    what: str

    def __str__(self) -> str:
        return f"`{self.name}` {self.what}" + (f"; {self.node} gives it" if self.node else "")


def contradictions(model: Model, found: Inference, takes: Takes, holds: Holds) -> Iterator[Contradiction]:
    """The false declarations. `takes` tells whether the model takes some sizes, and is called only to test a declaration;
    `holds` whether a condition holds at some sizes. In inner graphs only ranks, dtypes and numbers are compared, since the
    sizes that select an arm are not known."""
    nodes = {output: str(operation) for operation in model.graph.operations for output in operation.outputs}
    witnesses = _Witnesses(model.graph, takes, holds)
    held = {t.name for t in model.graph.initializers}
    inputs = (v for v in model.graph.inputs if v.name in held)
    declared = (*map(_fixed, inputs), *model.graph.values, *model.graph.outputs)
    for value in {(v.name, v.type): v for v in declared}.values():  # a value may be declared twice
        inferred = found.values.get(value.name)
        for what in () if inferred is None else _wrong(value, inferred, witnesses):
            yield Contradiction(value.name, nodes.get(value.name), what)
    for graph in _inside(model.graph):
        yield from _of_numbers(graph, found)


def _of_numbers(graph: Graph, found: Inference) -> Iterator[Contradiction]:
    nodes = {output: str(operation) for operation in graph.operations for output in operation.outputs}
    for value in {(v.name, v.type): v for v in (*graph.values, *graph.outputs)}.values():
        inferred = found.values.get(value.name)
        for what in () if inferred is None or value.name not in nodes else _wrong(_fixed(value), inferred, None):
            yield Contradiction(value.name, nodes[value.name], what)


def _inside(graph: Graph) -> Iterator[Graph]:
    """The graphs in the nodes of a graph, recursively."""
    for operation in graph.operations:
        for inner in (g for value in operation.attributes.values() for g in graphs(value)):
            yield inner
            yield from _inside(inner)


def _fixed(value: ModelValue) -> ModelValue:
    """A value with only its fixed sizes declared: symbols of an optional input stand for other callers' sizes."""
    kind = value.type
    if not isinstance(kind, TensorType) or kind.shape is None:
        return value
    sizes = tuple(size if isinstance(size, int) else None for size in kind.shape)
    return replace(value, type=replace(kind, shape=sizes))


def _wrong(value: ModelValue, inferred: Inferred, witnesses: _Witnesses | None) -> Iterator[str]:
    """The mistakes in a declaration; without `witnesses` sizes are compared only where they are numbers."""
    kind = value.type
    if not isinstance(kind, TensorType):
        return
    if kind.dtype is not None and inferred.dtype is not None and kind.dtype != inferred.dtype:
        yield f"is declared with the dtype {kind.dtype}, and has {inferred.dtype}"
    if kind.shape is not None and witnesses is not None:
        for case in inferred.cases:
            if len(case.shape) != len(kind.shape) and witnesses.met(case.when):
                yield f"is declared with rank {len(kind.shape)}, and has {len(case.shape)} {case}"
    if kind.shape is None or inferred.shape is None:
        return
    if len(kind.shape) != len(inferred.shape):
        yield f"is declared with rank {len(kind.shape)}, and has {len(inferred.shape)}"
        return
    for axis, (said, size) in enumerate(zip(kind.shape, inferred.shape, strict=True)):
        if said is None or size == "?" or said == size:
            continue
        numbers = "" if isinstance(said, int) and isinstance(size, int) else None
        at = numbers if witnesses is None else witnesses.between(said, size)
        if at is not None:
            yield f"is declared with {said} in axis {axis}, and has {size}{at}"


class _Witnesses:
    """Sizes that a model takes."""

    def __init__(self, graph: Graph, takes: Takes, holds: Holds) -> None:
        self._holds = holds
        types = [v.type for v in graph.inputs]
        shapes = [t.shape for t in types if isinstance(t, TensorType) and t.shape is not None]
        self.plain = declared(graph)
        self.sizes = [self.read(size) for shape in shapes for size in shape if isinstance(size, str)]
        self.known = sorted({name for size in self.sizes for name in names(size)})
        self.takes = takes
        self._numbers: dict[int | str, list[int | None]] = {}
        self._ends: dict[tuple[int | str, int | str], str | None] = {}

    def read(self, size: int | str) -> Size:
        return read_dim(size, self.plain).size if isinstance(size, str) else core.SizeLit(NOWHERE, size)

    def between(self, said: int | str, size: int | str) -> str | None:
        """A place where two sizes differ, as the end of a sentence; None where none is known."""
        if (said, size) not in self._ends:
            self._ends[said, size] = self._between(said, size)
        return self._ends[said, size]

    def _between(self, said: int | str, size: int | str) -> str | None:
        left, right = self.read(said), self.read(size)
        asked = sorted({name for s in (left, right) for name in names(s)})
        if not asked:
            return "" if left != right else None
        if left == right or not set(asked) <= set(self.known):
            return None
        for at, (a, b) in enumerate(zip(self.numbers(said, left), self.numbers(size, right), strict=True)):
            if a is not None and b is not None and a != b:
                return self.taken(left, right, asked, at)
        return None

    def met(self, condition: str | None) -> bool:
        """Whether the model takes sizes at which a condition holds; without a condition some arm of an `if` may always be
        taken."""
        return condition is None or any(
            self._holds(condition, sizes) and self.takes(sizes) for sizes in self._with_ones()
        )

    def _with_ones(self) -> Iterator[Sizes]:
        """The sizes that are tried, and the same with some of them 1."""
        for at, sizes in enumerate(self._drawn()):
            yield sizes
            yield {name: 1 if at >> bit & 1 else n for bit, (name, n) in enumerate(sizes.items())}

    def numbers(self, text: int | str, size: Size) -> list[int | None]:
        """The values of a size at the first sizes that are tried."""
        if text not in self._numbers:
            self._numbers[text] = [evaluate(size, sizes) for sizes in self.first]
        return self._numbers[text]

    def taken(self, left: Size, right: Size, asked: Sequence[str], begin: int) -> str | None:
        """The first sizes that the model takes at which two sizes differ."""
        for sizes in islice(self._drawn(), begin, None):
            a, b = evaluate(left, sizes), evaluate(right, sizes)
            if a is not None and b is not None and a != b and self.takes(sizes):
                seen = "for example" if number(right) is not None else f"which is {b}"
                return f", {seen} at {', '.join(f'{name} = {sizes[name]}' for name in asked)}"
        return None

    @cached_property
    def first(self) -> list[Sizes]:
        return list(islice(self._drawn(), _FIRST))

    def _drawn(self) -> Iterator[Sizes]:
        """The sizes that are tried, the same ones each time."""
        return filter(self._given, self._all())

    def _all(self) -> Iterator[Sizes]:
        draw = random.Random(0)
        for at in range(_TRIES):
            if at == _FEW:
                yield from (dict.fromkeys(self.known, n) for n in range(1, 9))
            yield {n: draw.randint(1, _LARGEST) for n in self.known}

    def _given(self, sizes: Sizes) -> bool:
        """Whether all declared sizes of the inputs are at least 0."""
        return all(n is not None and n >= 0 for n in [evaluate(size, sizes) for size in self.sizes])
