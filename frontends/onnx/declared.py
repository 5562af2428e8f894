"""Shapes that a model declares, held against what is inferred: those that cannot be, with the sizes at which they are not."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping

from ...lang.node import Node
from .dims import Size, evaluate, names, read_dim
from .inference import Inference, Inferred
from .model import Graph, Model, TensorType, Value

Sizes = Mapping[str, int]
# How many sizes are tried, and up to which.
_TRIES, _LARGEST = 400, 40
_COMPARED = re.compile(r"(<=|>=|==|!=|<|>)")


class Contradiction(Node):
    """A value whose declaration is false, the node that gives it, and what is wrong."""

    name: str
    node: str | None
    what: str

    def __str__(self) -> str:
        return f"`{self.name}` {self.what}" + (f"; {self.node} gives it" if self.node else "")


def contradictions(model: Model, found: Inference, conditions: Iterable[str]) -> Iterator[Contradiction]:
    """What is declared and false. `conditions` are what the model demands of
    the names of its sizes; they are asked for only where a declaration has to be tried."""
    nodes = {output: str(operation) for operation in model.graph.operations for output in operation.outputs}
    witnesses = _Witnesses(model.graph, conditions)
    for value in {v.name: v for v in (*model.graph.values, *model.graph.outputs)}.values():
        inferred = found.values.get(value.name)
        for what in () if inferred is None else _wrong(value, inferred, witnesses):
            yield Contradiction(value.name, nodes.get(value.name), what)


def _wrong(value: Value, inferred: Inferred, witnesses: _Witnesses) -> Iterator[str]:
    declared = value.type
    if not isinstance(declared, TensorType):
        return
    if declared.dtype is not None and inferred.dtype is not None and declared.dtype != inferred.dtype:
        yield f"is declared with the dtype {declared.dtype}, and has {inferred.dtype}"
    if declared.shape is None or inferred.shape is None:
        return
    if len(declared.shape) != len(inferred.shape):
        yield f"is declared with rank {len(declared.shape)}, and has {len(inferred.shape)}"
        return
    for axis, (said, size) in enumerate(zip(declared.shape, inferred.shape, strict=True)):
        at = None if said is None or size == "?" or said == size else witnesses.between(said, size)
        if at is not None:
            yield f"is declared with {said} in axis {axis}, and has {size}{at}"


class _Witnesses:
    """Sizes that a model takes, as far as what it demands can be read."""

    def __init__(self, graph: Graph, conditions: Iterable[str]) -> None:
        types = [v.type for v in graph.inputs]
        shapes = [t.shape for t in types if isinstance(t, TensorType) and t.shape is not None]
        read = [read_dim(size).size for shape in shapes for size in shape if isinstance(size, str)]
        self.known = sorted({name for size in read for name in names(size)})
        self.sizes = read
        self.asked = conditions
        self.conditions: list[Comparison] = []
        self.complete = True
        self._drawn: list[Sizes] | None = None

    def between(self, said: int | str, size: int | str) -> str | None:
        """Where two sizes differ, as the end of a sentence; None where they do not, as far as is known."""
        left, right = (read_dim(s).size if isinstance(s, str) else s for s in (said, size))
        if any(name not in self.known for s in (left, right) for name in names(s)):
            return None
        for sizes in self.drawn():
            a, b = evaluate(left, sizes), evaluate(right, sizes)
            if a is not None and b is not None and a != b:
                return self._said(left, right, sizes, b)
        return None

    def _said(self, left: Size, right: Size, sizes: Sizes, number: int) -> str:
        asked = sorted({name for s in (left, right) for name in names(s)})
        unless = "" if self.complete else ", unless the model refuses that"
        at = ", ".join(f"{name} = {sizes[name]}" for name in asked)
        return f", which is {number} at {at}{unless}" if asked else unless

    def drawn(self) -> list[Sizes]:
        if self._drawn is None:
            found = [_comparison(text) for text in self.asked]
            self.conditions = [c for c in found if c is not None]
            self.complete = len(self.conditions) == len(found)
            draw = random.Random(0)
            small = [dict.fromkeys(self.known, n) for n in range(1, 9)]
            tried = [{n: draw.randint(1, _LARGEST) for n in self.known} for _ in range(_TRIES)]
            self._drawn = [sizes for sizes in (*tried, *small) if self._taken(sizes)]
        return self._drawn

    def _taken(self, sizes: Sizes) -> bool:
        given = [evaluate(size, sizes) for size in self.sizes]
        return all(n is not None and n >= 0 for n in given) and all(_holds(c, sizes) for c in self.conditions)


Comparison = tuple[tuple[Size, str, Size], ...]
_SIGNS = {
    "<=": int.__le__, ">=": int.__ge__, "==": int.__eq__, "!=": int.__ne__, "<": int.__lt__, ">": int.__gt__,
}  # fmt: skip


def _comparison(text: str) -> Comparison | None:
    """`1 <= b < 5` as comparisons of two sizes each; None of any other condition."""
    first, *rest = _COMPARED.split(text)
    if not rest:
        return None
    sizes = [_read(part) for part in (first, *rest[1::2])]
    if any(size is None for size in sizes):
        return None
    return tuple((a, sign, b) for a, sign, b in zip(sizes, rest[::2], sizes[1:], strict=False) if a is not None and b is not None)


def _read(text: str) -> Size | None:
    """A size in Rx; None of what is none, of a name that the model's inputs do not have as well."""
    if text.strip().isdecimal():
        return int(text)
    read = read_dim(text.strip())
    return None if read.note is not None or any(not n.isidentifier() for n in names(read.size)) else read.size


def _holds(comparison: Comparison, sizes: Sizes) -> bool:
    for left, sign, right in comparison:
        if any(name not in sizes for s in (left, right) for name in names(s)):
            return False
        a, b = evaluate(left, sizes), evaluate(right, sizes)
        if a is None or b is None or not _SIGNS[sign](a, b):
            return False
    return True
