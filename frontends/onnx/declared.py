"""Shapes that a model declares, held against what is inferred: those that cannot be, with the sizes at which they are not."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import accumulate

from ...lang.node import Node
from .dims import Named, Size, declared, evaluate, names, read_dim
from .inference import Inference, Inferred
from .model import Graph, Model, TensorType, Value

Sizes = Mapping[str, int]
Condition = Callable[[Sizes], bool]
# How many sizes are tried, and up to which; what is the same at the first ones is taken for the same.
_TRIES, _LARGEST, _FEW, _FIRST = 400, 40, 24, 48
_SHAPE = re.compile(r"Tensor\(\[(?P<sizes>.*)\], [^\]]*\)")
_COMPARED = re.compile(r"(<=|>=|==|!=|<|>)")


class Contradiction(Node):
    """A value whose declaration is false, the node that gives it, and what is wrong."""

    name: str
    node: str | None
    what: str

    def __str__(self) -> str:
        return f"`{self.name}` {self.what}" + (f"; {self.node} gives it" if self.node else "")


def contradictions(model: Model, found: Inference, conditions: Iterable[str | None]) -> Iterator[Contradiction]:
    """What is declared and false. `conditions` are what the model demands of
    the names of its sizes, or a None where it demands what these do not say; they are asked for only where a declaration has
    to be tried."""
    nodes = {output: str(operation) for operation in model.graph.operations for output in operation.outputs}
    witnesses = _Witnesses(model.graph, conditions)
    for value in {v.name: v for v in (*model.graph.values, *model.graph.outputs)}.values():
        inferred = found.values.get(value.name)
        for what in () if inferred is None else _wrong(value, inferred, witnesses):
            yield Contradiction(value.name, nodes.get(value.name), what)


def _wrong(value: Value, inferred: Inferred, witnesses: _Witnesses) -> Iterator[str]:
    kind = value.type
    if not isinstance(kind, TensorType):
        return
    if kind.dtype is not None and inferred.dtype is not None and kind.dtype != inferred.dtype:
        yield f"is declared with the dtype {kind.dtype}, and has {inferred.dtype}"
    if kind.shape is None or inferred.shape is None:
        return
    if len(kind.shape) != len(inferred.shape):
        yield f"is declared with rank {len(kind.shape)}, and has {len(inferred.shape)}"
        return
    for axis, (said, size) in enumerate(zip(kind.shape, inferred.shape, strict=True)):
        at = None if said is None or size == "?" or said == size else witnesses.between(said, size)
        if at is not None:
            yield f"is declared with {said} in axis {axis}, and has {size}{at}"


def sizes_demanded(inputs: Sequence[Value], types: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The sizes that inputs declare, each with what a signature has there: texts of types in Rx."""
    for value, text in zip(inputs, types, strict=True):
        found = _SHAPE.fullmatch(text)
        said = value.type.shape if isinstance(value.type, TensorType) else None
        sizes = _split(found["sizes"], ",") if found else []
        if said is not None and len(sizes) == len(said):
            yield from ((str(a), b.strip()) for a, b in zip(said, sizes, strict=True) if a is not None)


class _Witnesses:
    """Sizes that a model takes: none, where what it demands cannot all be read. What it demands is asked for only where two
    sizes differ somewhere."""

    def __init__(self, graph: Graph, conditions: Iterable[str | None]) -> None:
        types = [v.type for v in graph.inputs]
        shapes = [t.shape for t in types if isinstance(t, TensorType) and t.shape is not None]
        self.plain = declared(graph)
        self.sizes = [self.read(size) for shape in shapes for size in shape if isinstance(size, str)]
        self.known = sorted({name for size in self.sizes for name in names(size)})
        self.asked = conditions
        self._numbers: dict[int | str, list[int | None]] = {}

    def read(self, size: int | str) -> Size:
        return read_dim(size, self.plain).size if isinstance(size, str) else size

    def between(self, said: int | str, size: int | str) -> str | None:
        """Where two sizes differ, as the end of a sentence; None where they do not, as far as is known."""
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

    def numbers(self, text: int | str, size: Size) -> list[int | None]:
        """What a size is at the first sizes that are tried."""
        if text not in self._numbers:
            self._numbers[text] = [evaluate(size, sizes) for sizes in self.drawn[:_FIRST]]
        return self._numbers[text]

    def taken(self, left: Size, right: Size, asked: Sequence[str], begin: int) -> str | None:
        """The first sizes that the model takes at which two differ."""
        for sizes in self.drawn[begin:]:
            a, b = evaluate(left, sizes), evaluate(right, sizes)
            if a is not None and b is not None and a != b and all(c is not None and c(sizes) for c in self.conditions):
                return f", which is {b} at {', '.join(f'{name} = {sizes[name]}' for name in asked)}"
        return None

    @cached_property
    def conditions(self) -> list[Condition | None]:
        return [_read(text) for text in self.asked]

    @cached_property
    def drawn(self) -> list[Sizes]:
        """Sizes that are tried."""
        draw = random.Random(0)
        small = [dict.fromkeys(self.known, n) for n in range(1, 9)]
        tried = [{n: draw.randint(1, _LARGEST) for n in self.known} for _ in range(_TRIES)]
        return [sizes for sizes in (*tried[:_FEW], *small, *tried[_FEW:]) if self._given(sizes)]

    def _given(self, sizes: Sizes) -> bool:
        """Whether the sizes that the inputs declare are sizes."""
        given = [evaluate(size, sizes) for size in self.sizes]
        return all(n is not None and n >= 0 for n in given)


def _read(text: str | None) -> Condition | None:
    """A condition in Rx; None of what is not understood."""
    if text is None:
        return None
    for sign, joined in (("||", any), ("&&", all)):
        parts = _split(text, sign)
        if len(parts) > 1:
            found = [_read(part) for part in parts]
            known = [c for c in found if c is not None]
            return partial(_joined, joined, known) if len(known) == len(found) else None
    inner = text.strip()
    if inner.startswith("(") and inner.endswith(")") and not _closes(inner):
        return _read(inner[1:-1])
    return _comparison(inner)


def _joined(joined: Callable[[Iterable[bool]], bool], conditions: Sequence[Condition], sizes: Sizes) -> bool:
    return joined(c(sizes) for c in conditions)


def _split(text: str, sign: str) -> list[str]:
    """The parts of a text between signs outside of parentheses."""
    parts, depth, at, begin = [], 0, 0, 0
    while at < len(text):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0 and text.startswith(sign, at):
            parts.append(text[begin:at])
            begin = at = at + len(sign)
        else:
            at += 1
    return [*parts, text[begin:]]


def _closes(text: str) -> bool:
    """Whether the first parenthesis of a text is closed before its end."""
    depths = accumulate((c == "(") - (c == ")") for c in text[:-1])
    return any(depth == 0 for depth in depths)


def _comparison(text: str) -> Condition | None:
    """`1 <= b < 5`: each two neighbours are compared."""
    first, *rest = _COMPARED.split(text)
    sizes = [_size(part) for part in (first, *rest[1::2])]
    known = [size for size in sizes if size is not None]
    return partial(_compared, known, rest[::2]) if rest and len(known) == len(sizes) else None


_SIGNS = {
    "<=": int.__le__, ">=": int.__ge__, "==": int.__eq__, "!=": int.__ne__, "<": int.__lt__, ">": int.__gt__,
}  # fmt: skip


def _compared(compared: Sequence[Size], signs: Sequence[str], sizes: Sizes) -> bool:
    if any(name not in sizes for size in compared for name in names(size)):
        return False
    numbers = [evaluate(size, sizes) for size in compared]
    pairs = zip(numbers, signs, numbers[1:], strict=False)
    return all(a is not None and b is not None and _SIGNS[sign](a, b) for a, sign, b in pairs)


def _size(text: str) -> Size | None:
    """A size in Rx; None of what is none."""
    text = text.strip()
    if text.isdecimal():
        return int(text)
    read = read_dim(text)
    is_read = read.size == Named(text) or all(n.isidentifier() for n in names(read.size))
    return read.size if read.note is None and is_read else None
