"""The table of ONNX operators: access to one node, and the rows that write it in Rx.

A row is found by domain, name and version. Most are templates in `table.py`; the others are functions in this folder,
declared with `@operator`. Both return the text of one expression, whose value is the node's output, or the tuple of its
outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from string import ascii_letters, digits
from typing import Protocol

from ....lang.onnx_weights import ELEMENTS
from ..literals import Unwritten, listed, literal, number, quoted
from ..model import Attribute, Graph, Listed, Operation, StoredInitializer, TensorType, ValueType

__all__ = [
    "Reader",
    "Row",
    "NodeScope",
    "Untranslatable",
    "add",
    "find",
    "listed",
    "number",
    "operator",
    "operators",
    "own_rule",
    "quoted",
    "rule",
]


# The characters in words of operators.
_LETTERS = frozenset(f"{ascii_letters}{digits}_")


class Untranslatable(Unwritten):
    """A node that has no meaning in Rx; the message is the end of a sentence about the node."""


class NodeScope(Protocol):
    """The names and known facts at a node."""

    def name(self, value: str) -> str:
        """The Rx name of a value of the model."""

    def constant(self, value: str) -> StoredInitializer | None:
        """The elements of a value that the model itself holds, if they are few."""

    def let(self, hint: str, text: str) -> str:
        """Bind an expression before the node, and return its name."""

    def claimed(self, hint: str, type_: str, text: str) -> str:
        """Bind an expression before the node that must have a type, and return its name."""

    def demand(self, text: str) -> None:
        """Assert a condition before the node."""

    def parts(self, hint: str, text: str, count: int) -> list[str]:
        """Bind the parts of an expression before the node, and return their names."""

    def inline(self, graph: Graph, operands: Sequence[str]) -> list[str]:
        """Write a graph, applied to operands, before the node, and return the names of its outputs."""

    def type(self, value: str) -> ValueType | None:
        """The declared type of a value."""

    def is_given(self, value: str) -> bool:
        """Whether a value is an input of the model, whose declared type holds."""

    def literal(self, tensor: StoredInitializer) -> str:
        """A tensor of the model, as an expression."""

    def version(self, domain: str) -> int:
        """The version of a domain's operators."""


class Reader:
    """One node as its row sees it. Inputs and outputs count from 0."""

    def __init__(self, operation: Operation, scope: NodeScope) -> None:
        self.operation, self.scope = operation, scope
        self.version = scope.version(operation.domain)

    def __len__(self) -> int:
        return len(self.operation.inputs)

    def has(self, at: int) -> bool:
        """Whether an optional input is given."""
        return at < len(self) and self.operation.inputs[at] != ""

    def x(self, at: int) -> str:
        """The name of a required input."""
        if not self.has(at):
            raise Untranslatable(f"input {at} is missing")
        return self.scope.name(self.operation.inputs[at])

    def xs(self) -> list[str]:
        """The names of all inputs."""
        return [self.x(at) for at in range(len(self))]

    def optional(self, at: int, name: str) -> str:
        """`, name=x` if the input is given, else an empty text."""
        return f", {name}={self.x(at)}" if self.has(at) else ""

    def elements(self, at: int) -> tuple[int, ...] | None:
        """The elements of an input of integers, if the model holds them."""
        found = self.scope.constant(self.operation.inputs[at]) if self.has(at) else None
        if found is None or found.values is None or found.dtype not in ("int32", "int64"):
            return None
        return tuple(v for v in found.values if isinstance(v, int))

    def constant_shape(self, at: int) -> tuple[int, ...] | None:
        """The shape of an input that the model holds."""
        found = self.scope.constant(self.operation.inputs[at]) if self.has(at) else None
        return tuple(found.shape) if found is not None else None

    def shape(self, at: int) -> tuple[int | str | None, ...] | None:
        """The shape of a constant input, or of one that is an input of the model."""
        name = self.operation.inputs[at]
        kind = self.scope.type(name) if self.scope.is_given(name) else None
        return kind.shape if isinstance(kind, TensorType) else self.constant_shape(at)

    def rank(self, at: int) -> int | None:
        """The declared rank of an input."""
        kind = self.scope.type(self.operation.inputs[at]) if self.has(at) else None
        return len(kind.shape) if isinstance(kind, TensorType) and kind.shape is not None else None

    def dtype_of(self, at: int) -> str | None:
        """The dtype of an input, from its declaration or its constant."""
        if not self.has(at):
            return None
        kind, held = self.scope.type(self.operation.inputs[at]), self.scope.constant(self.operation.inputs[at])
        return kind.dtype if isinstance(kind, TensorType) else None if held is None else held.dtype

    def width(self, at: int) -> float:
        """The declared size of an input's last axis, infinite if it is no number."""
        kind = self.scope.type(self.operation.inputs[at]) if self.has(at) else None
        last = kind.shape[-1] if isinstance(kind, TensorType) and kind.shape else None
        return last if isinstance(last, int) else math.inf

    def is_constant(self, at: int) -> bool:
        """Whether the model holds an input."""
        return self.has(at) and self.scope.constant(self.operation.inputs[at]) is not None

    def outputs(self) -> int:
        """The number of outputs up to the last one with a name."""
        return max((at + 1 for at, name in enumerate(self.operation.outputs) if name), default=0)

    def uses(self, at: int) -> bool:
        """Whether an output has a name."""
        return at < len(self.operation.outputs) and self.operation.outputs[at] != ""

    # Attributes

    def attribute(self, name: str) -> Attribute | None:
        return self.operation.attributes.get(name)

    def integer(self, name: str, default: int | None = None) -> int:
        found = self.attribute(name)
        if isinstance(found, int):
            return found
        if found is not None or default is None:
            raise Untranslatable(f"its attribute `{name}` is {'no integer' if found is not None else 'missing'}")
        return default

    def choice(self, name: str, choices: Sequence[str], default: int) -> str:
        """The word that an attribute stands for, which numbers some words from 0."""
        at = self.integer(name, default)
        if not 0 <= at < len(choices):
            raise Untranslatable(f"its attribute `{name}` is {at}; it is 0 to {len(choices) - 1}")
        return choices[at]

    def number(self, name: str, default: float) -> float:
        found = self.attribute(name)
        if found is None:
            return default
        if not isinstance(found, int | float):
            raise Untranslatable(f"its attribute `{name}` is no number")
        return found

    def string(self, name: str, default: str) -> str:
        found = self.attribute(name)
        if found is None:
            return default
        if not isinstance(found, str):
            raise Untranslatable(f"its attribute `{name}` is no text")
        return found

    def word(self, name: str, default: str) -> str:
        """A text of letters, digits and underscores, which may stand in the program as it is."""
        found = self.string(name, default)
        if not _LETTERS.issuperset(found):
            raise Untranslatable(f"its attribute `{name}` is {quoted(found[:40])}, which is no word")
        return found

    def integers(self, name: str) -> tuple[int, ...] | None:
        found = self.attribute(name)
        if found is None:
            return None
        if not isinstance(found, tuple) or not all(isinstance(v, int) for v in found):
            raise Untranslatable(f"its attribute `{name}` is no list of integers")
        return tuple(v for v in found if isinstance(v, int))

    def listed(self, name: str, dtype: str) -> str | None:
        """An attribute that lists numbers, as an expression for a tensor of rank 1; None where it is absent or empty."""
        found = self.attribute(name)
        if not found:
            return None
        if not isinstance(found, tuple) or not all(isinstance(v, int | float) for v in found):
            raise Untranslatable(f"its attribute `{name}` is no list of numbers")
        key = found.held if isinstance(found, Listed) else None
        if key is None:
            return literal(StoredInitializer(name, dtype, (len(found),), None, tuple(found), None))
        return self.scope.literal(StoredInitializer(name, dtype, (len(found),), None, None, key))

    def dtype(self, name: str) -> str | None:
        """The dtype that an attribute gives by its number, in our name for it."""
        return None if self.attribute(name) is None else ELEMENTS.get(self.integer(name))

    def let(self, hint: str, text: str) -> str:
        return self.scope.let(hint, text)

    def weights(self, at: int, name: str, sizes: Sequence[int | None]) -> str:
        """The name of an input of weights, checked against the sizes that an attribute gives; None is any size."""
        held = self.constant_shape(at)
        if set(sizes) == {None}:
            return self.x(at)
        if held is not None:
            if len(held) != len(sizes) or any(size not in (None, own) for size, own in zip(sizes, held, strict=True)):
                said = ", ".join("?" if size is None else str(size) for size in sizes)
                wrong = f"input {at} (`{self.operation.inputs[at]}`) is [{', '.join(map(str, held))}]"
                raise Untranslatable(f"its attribute `{name}` says [{said}] of its weights, and {wrong}")
            return self.x(at)
        said = ", ".join("?" if size is None else str(size) for size in sizes)
        return self.scope.claimed(f"{name}_of_input_{at}", f"Tensor([{said}])", self.x(at))

    def of_kernel(self, at: int, *, channels_last: bool = False) -> str:
        """The name of an input of filters, checked against `kernel_shape` if there is one."""
        kernel = self.integers("kernel_shape")
        if kernel is None:
            return self.x(at)
        return self.weights(at, "kernel_shape", (None, *kernel, None) if channels_last else (None, None, *kernel))

    def parts(self, text: str, count: int) -> list[str]:
        """The names of the `count` parts of an expression."""
        return self.scope.parts(self.operation.outputs[0] or "part", text, count)

    def first_of(self, text: str, count: int) -> str:
        """The outputs in use, the first ones of an expression with `count` parts."""
        used = self.outputs()
        if used == count:
            return text
        found = self.parts(text, count)[:used]
        return found[0] if used == 1 else f"({', '.join(found)})"


Row = Callable[[Reader], str]


class _Rows:
    """The rows of one operator, the newest first."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, Row]] = []


_RULES: dict[tuple[str, str], list[tuple[frozenset[int] | None, Row]]] = {}
_OPERATORS: dict[tuple[str, str], _Rows] = {}
FAMILIES = (
    "table", "shapes", "math", "windows", "images", "recurrent", "signal", "chance", "quantised", "attention", "training",
    "learned", "losses", "classic", "trees", "microsoft", "microsoft_quantised", "microsoft_attention", "sequences", "strings",
)  # fmt: skip


def add(name: str, row: Row, since: int = 1, domain: str = "") -> None:
    """Declare the row of an operator from one version on."""
    rows = _OPERATORS.setdefault((domain, name), _Rows()).rows
    if any(version == since for version, _ in rows):
        raise ValueError(f"two rows for {name} {since}")
    rows.append((since, row))
    rows.sort(key=lambda r: -r[0])


def operator(name: str, since: int = 1, domain: str = "") -> Callable[[Row], Row]:
    """Declare the decorated function as the row of an operator from one version on."""

    def declare(row: Row) -> Row:
        add(name, row, since, domain)
        return row

    return declare


def rows(table: Mapping[str, Row], domain: str = "") -> None:
    """Declare rows of one expression each, by `NAME@VERSION`, the first version that they are for."""
    for head, row in table.items():
        name, _, since = head.partition("@")
        add(name, row, int(since or 1), domain)


def rule(op_type: str, domain: str = "", opsets: Iterable[int] | None = None) -> Callable[[Row], Row]:
    """Declare the decorated function as the rule that writes an operator in Rx, before any other rule: for the versions of
    its domain in `opsets`, by default for all. It takes a Reader, and returns the text of one expression: the node's output,
    or the tuple of its outputs. It may raise Untranslatable."""
    versions = None if opsets is None else frozenset(opsets)

    def declare(row: Row) -> Row:
        _RULES.setdefault(("" if domain == "ai.onnx" else domain, op_type), []).append((versions, row))
        return row

    return declare


def own_rule(domain: str, name: str, version: int) -> Row | None:
    """The rule for an operator that was registered last."""
    found = _RULES.get((domain, name), ())
    return next((row for versions, row in reversed(found) if versions is None or version in versions), None)


def find(domain: str, name: str, version: int) -> Row | None:
    """The row of an operator in a version of its domain, or None."""
    _load()
    found = _OPERATORS.get((domain, name))
    return next((row for since, row in found.rows if since <= version), None) if found else None


def operators() -> Iterator[tuple[str, str]]:
    """The domain and name of every operator."""
    _load()
    yield from sorted(_OPERATORS)


@cache
def _load() -> None:
    for family in FAMILIES:
        import_module(f".{family}", __package__)
