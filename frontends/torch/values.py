"""Rx expressions with the known facts about their values, for the rows of the table. A call of a primitive writes its text,
and applies the primitive's own rule to symbolic sizes to get the result's shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...lang.dtypes import DTYPES, DType
from ...lang.node import Node
from ...ops import registry
from ...ops.ground import GroundCtx, NeedsData, Violation, evaluate
from ...ops.model import WILDCARD, Primitive, RankUnknown, TensorInfo
from ...ops.requirements import Requirement
from ..onnx.literals import number, quoted
from .sizes import TracedSizes, difference, expr_of, hint_of, is_at_most, is_cut, is_same

TORCH_DTYPES: dict[torch.dtype, str] = {
    found: name for name in DTYPES if isinstance(found := getattr(torch, name, None), torch.dtype)
}
RX_DTYPES = {name: dtype for dtype, name in TORCH_DTYPES.items()}


class Value(Node):
    """A tensor as an Rx expression: its text, and the known facts about it. `parts` are those of a tuple. `is_name` is True
    if a line has bound it; `is_weight` if it is made of weights and numbers of the model alone."""

    text: str
    info: TensorInfo
    parts: tuple[TensorInfo, ...] | None = None
    is_name: bool = False
    is_weight: bool = False
    # A number, not a tensor.
    literal: Any = None

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.info.shape

    @property
    def rank(self) -> int:
        return len(self.info.shape)

    @property
    def dtype(self) -> torch.dtype:
        assert isinstance(self.info.dtype, DType)
        return RX_DTYPES[self.info.dtype.name]


class ListIndex(tuple[Any, ...]):
    """A Python list: as an index it is one tensor, and a tuple is several indices."""


class Impossible(Exception):
    """A call that no sizes make right: the checker says why, at the line."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Reading(GroundCtx):
    """A rule's context over the sizes of a trace: a condition is True, False, or None if it is unknown."""

    def __init__(self, sizes: TracedSizes, fresh: Callable[[int], Any]) -> None:
        self.sizes = sizes
        self.made = fresh
        self.nonnegative: set[Any] = set()  # on the path taken

    def require(self, asked: Requirement, cond: bool | None = None) -> None:
        pass  # the checker does this

    def require_dtype(self, asked: Any) -> None:
        pass

    def require_either(self, known: bool | None, asked: Any) -> None:
        pass

    def eq(self, a: Any, b: Any) -> Any:
        return is_same(a, b)

    def ne(self, a: Any, b: Any) -> Any:
        found = is_same(a, b)
        return None if found is None else not found

    def le(self, a: Any, b: Any) -> Any:
        found = is_at_most(a, b)
        return True if found is None and difference(b, a) in self.nonnegative else found

    def lt(self, a: Any, b: Any) -> Any:
        found = self.le(b, a)
        return None if found is None else not found

    def any_of(self, *conds: Any) -> Any:
        return True if True in conds else None if None in conds else False

    def all_of(self, *conds: Any) -> Any:
        return False if False in conds else None if None in conds else True

    def decide(self, cond: Any) -> Any:
        return cond

    def min(self, *sizes: Any) -> Any:
        return _folded(torch.sym_min, sizes)

    def max(self, *sizes: Any) -> Any:
        return _folded(torch.sym_max, sizes)

    def ceildiv(self, a: Any, b: Any) -> Any:
        return a if isinstance(b, int) and b == 1 else (a + (b - 1)) // b

    def common(self, *sizes: Any) -> Any:
        left = [s for s in sizes if not (isinstance(s, int) and s == 1)]
        numbers = [s for s in left if isinstance(s, int)]
        if numbers or not left:
            return numbers[0] if numbers else 1
        whole = [s for s in left if all(is_same(s, o) or is_cut(o, s) for o in left)]
        return whole[0] if whole else self.made(max(map(hint_of, left)))

    def factor(self, product: Any, other: Any) -> Any:
        return product // other if hint_of(other) else self.made(1)  # 0 is the product of 0 and any size

    def solution(self, left: Any, rest: Any) -> Any:
        return None

    def fresh(self, name: str, at_least: object = 0, at_most: object = None) -> Any:
        return self.made(3)

    def held_in(self, param: str) -> Any:
        return self.made(3)

    def element(self, at_least: Any, at_most: Any) -> Any:
        return None

    def root(self, size: Any) -> Any:
        return GroundCtx.root(self, size) if isinstance(size, int) else None

    def fits(self, value: Any, dtype: Any) -> bool:
        return not isinstance(value, int) or super().fits(value, dtype)

    def one_of(self, cases: Any, natural: bool, dtype: Any) -> Any:
        return None


def _folded(join: Callable[[Any, Any], Any], sizes: Sequence[Any]) -> Any:
    found = sizes[0]
    for size in sizes[1:]:
        found = join(found, size)
    return found


class Calls:
    """The primitives as functions of values, for the rows: `calls.softmax(x, axis=-1)`."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.sizes = reading.sizes

    def call(self, name: str, *args: Any, **named: Any) -> Value:
        row = registry.lookup(name)
        assert row is not None, name
        given = dict(zip((p.name for p in row.params), args, strict=False)) | named
        given = {p: a for p, a in given.items() if a is not None}
        kinds = {p.name: p.kind for p in row.params}
        texts = [self._text(kinds[p], a) for p, a in list(given.items())[: len(args)]]
        texts += [f"{p}={self._text(kinds[p], a)}" for p, a in list(given.items())[len(args) :]]
        if any(a is None for a in args):
            texts = [f"{p}={self._text(kinds[p], a)}" for p, a in given.items()]
        return self.answered(row, f"@{name}({', '.join(texts)})", given)

    def answered(self, row: Primitive, text: str, given: dict[str, Any]) -> Value:
        """A call with the result of its rule."""
        kinds = {p.name: p.kind for p in row.params}
        other = next((a.info.dtype for a in _tensors(given.values()) if a.literal is None), DTYPES["float32"])
        values = {p: self._given(kinds[p], a, other) for p, a in given.items()}
        try:
            found = evaluate(row, values, self.reading)
        except (Violation, NeedsData, RankUnknown):
            raise Impossible(text) from None
        if row.results == "tuple":
            return Value(text, found.tensors[0] if found.tensors else TensorInfo((), other), found.tensors)
        weight = all(a.is_weight for a in _tensors(given.values()))
        return Value(text, found.tensors[0], is_weight=weight and bool(_tensors(given.values())))

    def _text(self, kind: str, value: Any) -> str:
        if isinstance(value, Value):
            return value.text
        if isinstance(value, torch.dtype):
            return TORCH_DTYPES[value]
        if isinstance(value, (list, tuple)):
            if kind == "pairs" and all(isinstance(pair, tuple) for pair in value):
                return f"[{', '.join('(' + self._text(kind, a) + ', ' + self._text(kind, b) + ')' for a, b in value)}]"
            return f"[{', '.join(self._text('', v) for v in value)}]"
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            return quoted(value)
        return number(value) if isinstance(value, float) else self.sizes.text(value)

    def _given(self, kind: str, value: Any, other: Any) -> Any:
        if kind == "tensors":
            return tuple(v.info for v in value)
        if isinstance(value, Value):
            return value.info if value.info.dtype is not None else TensorInfo((), other)
        if isinstance(value, torch.dtype):
            return DTYPES[TORCH_DTYPES[value]]
        if kind == "target":
            return tuple(WILDCARD if isinstance(d, int) and d == -1 else d for d in value)
        if kind in ("ints", "sizes", "shape", "pairs"):
            return tuple(value) if isinstance(value, (list, tuple)) else (value,)
        if kind == "tensor":
            return TensorInfo((), other)
        return value


def _tensors(values: Any) -> list[Value]:
    found: list[Value] = []
    for value in values:
        found += [v for v in (value if isinstance(value, (list, tuple)) else (value,)) if isinstance(v, Value)]
    return found


def is_static(size: Any) -> bool:
    return isinstance(size, int) or bool(expr_of(size).is_number)
