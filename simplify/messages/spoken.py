"""The arguments of a primitive's call in the user's words, with sizes that may be symbolic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from ...lang import core
from ...lang.dtypes import DTYPES
from ...lang.source import Placed
from ...ops import spelling
from ...ops.model import Primitive, TensorInfo
from ..known.state import State
from ..known.texts import readable, size_text
from ..known.values import Entry, ListValue, NumberValue, Shape, ShapeValue, SizeValue, TupleValue, plain
from ..solver.rendering import UNKNOWN
from .describe import bounded, dtype_text, told

# An operand that needs no brackets in a product: a name, a number, a call.
_CALL = re.compile(r"\w+'*(\([^()]*\))?")


class CallInfo(Placed):
    """A primitive's call for messages: its row, its place, the entry of each parameter, and the written arguments."""

    row: Primitive
    entries: tuple[tuple[str, Entry], ...]
    arguments: tuple[core.Value, ...]

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def written(self) -> tuple[tuple[str, core.Value], ...]:
        return tuple((name, value) for (name, _), value in zip(self.entries, self.arguments, strict=True))

    def is_tensor(self, name: str) -> bool:
        """Whether the parameter takes a tensor; for other parameters only their sizes count."""
        return self.row.is_tensor(name)

    def operands(self) -> Iterator[tuple[str, Entry]]:
        """The tensors among the arguments; those in a list are `xs[0]`, `xs[1]`, ..."""
        for name, entry in self.entries:
            if self.is_tensor(name):
                yield from (
                    ((f"{name}[{i}]", item) for i, item in enumerate(entry.items)) if entry.items else ((name, entry),)
                )

    def find(self, name: str) -> Entry | None:
        """The entry of `x`, or of `xs[2]` where xs is a list."""
        base, _, index = name.partition("[")
        entry = dict(self.entries).get(base)
        if entry is None or not index or not isinstance(entry.value, ListValue | TupleValue):
            return entry
        position = int(index.rstrip("]"))
        if entry.items:
            return entry.items[position]
        return Entry(entry.value.items[position], entry.place(position), ())


class CheckedOperands:
    """The operands of a call in the form that ops/wording.py reads."""

    def __init__(self, state: State, call: CallInfo) -> None:
        self.state, self.call = state, call

    @property
    def is_indexing(self) -> bool:
        return spelling.is_indexing(self.call)

    def argument(self, param: str) -> str:
        return spelling.argument(self.call, param)

    def is_tensor(self, name: str) -> bool:
        return self.call.is_tensor(name)

    def shape(self, param: str) -> Shape | None:
        """The sizes of a tensor or a shape; None if some are unknown."""
        entry = self.call.find(param)
        value = entry.value if entry is not None else None
        dims = value.dims if isinstance(value, ShapeValue) else value.shape if isinstance(value, TensorInfo) else None
        dims = None if dims is None else self.state.resolve(dims)
        return dims if dims is not None and plain(dims) else None

    def rank(self, param: str) -> int | None:
        shape = self.shape(param) if isinstance(self._value(param), TensorInfo) else None
        return None if shape is None else len(shape)

    def size(self, param: str, axis: int) -> str | None:
        """The size of a tensor's axis, or the entry of a passed shape."""
        value, shape = self._value(param), self.shape(param)
        if isinstance(value, TensorInfo) and not self.call.is_tensor(param):
            shape = value.sizes if value.shape else None
        return told(shape[axis], self.state) if shape is not None and -len(shape) <= axis < len(shape) else None

    def _value(self, param: str) -> Any:
        entry = self.call.find(param)
        return entry.value if entry is not None else None

    def scalar(self, param: str) -> str | None:
        value = self._value(param)
        if isinstance(value, SizeValue):
            return size_text(value.size, self.state)
        if not isinstance(value, NumberValue):
            return None
        return str(value.value).lower() if isinstance(value.value, bool) else str(value.value)

    def text(self, size: Any) -> str | None:
        text = size_text(size, self.state)
        return text if readable(text) else None

    def elements(self, param: str) -> str | None:
        """A number of elements, as a product if the multiplied form is too long; `at most 5` if only a bound is known; None
        without a readable text."""
        dims = self.shape(param)
        if dims is None or any(isinstance(d, int) and d < 0 for d in dims):
            return None
        parts = [size_text(dim, self.state) for dim in dims if dim != 1]
        product = " * ".join(part if _CALL.fullmatch(part) else f"({part})" for part in parts)
        count = prod(dims)
        known = next((text for text in (size_text(count, self.state), product) if readable(text)), None)
        return bounded(count, self.state) if known is None else known

    def dtype(self, param: str) -> str | None:
        value = self._value(param)
        text = dtype_text(value.dtype, self.state) if isinstance(value, TensorInfo) else UNKNOWN
        return text if text in DTYPES else None

    def dtypes(self) -> Sequence[str | None]:
        found = [dtype_text(e.value.dtype, self.state) for _, e in self.call.entries if isinstance(e.value, TensorInfo)]
        return [None if text == UNKNOWN else text for text in found]
