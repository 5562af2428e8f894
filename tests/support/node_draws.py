"""What random nodes are drawn from: versions of operators, the dtypes that each allows, and numbers of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from onnx import defs

SIZES = (0, 1, 2, 3, 5)
# Models of newer versions onnxruntime does not read.
NEWEST, OLDEST = 26, 7
_NAMES = {
    "float": "float32", "double": "float64", "string": "object", "float8e4m3fn": "float8_e4m3fn", "float8e5m2": "float8_e5m2",
    "float8e4m3fnuz": "float8_e4m3fnuz", "float8e5m2fnuz": "float8_e5m2fnuz",
}  # fmt: skip
# Dtypes of a single operator, or of which NumPy has no numbers to draw.
_ODD = ("complex64", "complex128", "float4e2m1", "float8e8m0", "int2", "uint2")
# Of other dtypes onnxruntime has no kernels for these, and the reference gives others, or other numbers.
_ONLY = dict.fromkeys(
    ("AveragePool", "Conv", "ConvTranspose", "Det", "GlobalMaxPool", "Hardmax", "LRN", "LpNormalization", "LpPool", "MaxPool",
     "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceSumSquare"),
    ("float32", "float16"),
)  # fmt: skip
_TEXTS = ("a", "", "Bé", "zz z", "1")
_FAR = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan)


class Node(NamedTuple):
    """A node, and which of its inputs the model holds."""

    op: str
    inputs: list[Any]
    attributes: dict[str, Any] = {}
    constants: tuple[str, ...] = ()
    opset: int = 21
    outputs: int = 1
    domain: str = ""
    version: int = 1


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def is_whole(dtype: np.dtype[Any]) -> bool:
    return "int" in dtype.name


@cache
def versions(op: str) -> tuple[int, ...]:
    """The oldest opset of each version of an operator that there are nodes of."""
    every = {s.since_version: s for s in defs.get_all_schemas_with_history() if (s.domain, s.name) == ("", op)}
    usable = [v for v, s in every.items() if v <= NEWEST and not s.deprecated]
    return tuple(sorted({max(v, OLDEST) for v in usable}))


@cache
def dtypes(op: str, opset: int, at: int = 0) -> tuple[np.dtype[Any], ...]:
    """What an input of an operator may hold."""
    inputs = defs.get_schema(op, opset, "").inputs
    named = [t[7:-1] for t in sorted(inputs[min(at, len(inputs) - 1)].types) if t.startswith("tensor(")]
    found = tuple(dtype_of(_NAMES.get(n, n)) for n in named if n not in _ODD)
    return tuple(d for d in found if d.name in _ONLY.get(op, (d.name,)))


def has(op: str, opset: int, attribute: str) -> bool:
    """Whether a version of an operator has an attribute."""
    return attribute in defs.get_schema(op, opset, "").attributes


class Draw:
    """A source of random nodes."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, share: float = 0.5) -> bool:
        return bool(self.rng.random() < share)

    def number(self, low: int, high: int) -> int:
        """From low on, below high."""
        return int(self.rng.integers(low, high))

    def opset(self, op: str) -> int:
        return int(self.one(*versions(op)))

    def dtype(self, op: str, opset: int, at: int = 0) -> np.dtype[Any]:
        found: np.dtype[Any] = self.one(*dtypes(op, opset, at))
        return found

    def shape(self, least: int = 0, most: int = 4, sizes: tuple[int, ...] = SIZES) -> tuple[int, ...]:
        return tuple(self.one(*sizes) for _ in range(self.number(least, most + 1)))

    def alike(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to another."""
        return tuple(self.one(1, size, size) for size in shape[self.number(0, len(shape) + 1) :])

    def axis(self, rank: int) -> int:
        return self.number(-rank, rank)

    def axes(self, rank: int) -> list[int]:
        chosen = self.rng.permutation(rank)[: self.number(0, rank + 1)]
        return [int(a) - rank * self.one(0, 1) for a in chosen]

    def some(self, **choices: Any) -> dict[str, Any]:
        """Some of these attributes, each with one of its values."""
        return {name: self.one(*values) for name, values in choices.items() if self.chance(0.65)}

    def held(self, *names: str) -> tuple[str, ...]:
        """These inputs, or none."""
        return self.one((), names, names)  # type: ignore[no-any-return]

    def integers(self, low: int, high: int, shape: tuple[int, ...] | int, dtype: Any = np.int64) -> Any:
        return np.asarray(self.rng.integers(low, max(high, low + 1), shape)).astype(dtype)

    def data(self, dtype: Any, shape: tuple[int, ...], odd: bool | None = None) -> Any:
        """An array; `odd` ones have the ends of the dtype, infinite numbers and what is no number."""
        dtype, odd = np.dtype(dtype), self.chance() if odd is None else odd
        if dtype.kind == "O":
            return np.array(self.rng.choice(_TEXTS, shape), object).reshape(shape)
        if dtype.kind == "b":
            return np.asarray(self.rng.random(shape) < 0.5)
        made = self._whole(dtype, shape, odd) if is_whole(dtype) else self._floats(dtype, shape, odd)
        return np.asarray(made).astype(dtype).reshape(shape)

    def _whole(self, dtype: np.dtype[Any], shape: tuple[int, ...], odd: bool) -> Any:
        limits = ml_dtypes.iinfo(dtype)
        least, most = int(limits.min), int(limits.max)
        near = self.rng.integers(max(least, -6), min(most, 6) + 1, shape).astype(dtype)
        far = self.rng.choice(np.array([least, most, 0, 1], dtype), shape)
        return np.where(self.rng.random(shape) < 0.3, far, near) if odd else near

    def _floats(self, dtype: np.dtype[Any], shape: tuple[int, ...], odd: bool) -> Any:
        near = self.rng.standard_normal(shape).round(2) * self.one(1, 1, 3)
        ends = [float(getattr(ml_dtypes.finfo(dtype), name)) for name in ("max", "min", "tiny")]
        far = self.rng.choice([*_FAR, *ends], shape)
        return np.where(self.rng.random(shape) < 0.4, far, near) if odd else near

    def floats(self, *shape: int) -> Any:
        return self.data(np.float32, shape, False)


def listed(model_inputs: list[Any]) -> Iterator[tuple[str, Any]]:
    """The names of a node's inputs that are there."""
    yield from ((f"x{at}", data) for at, data in enumerate(model_inputs) if data is not None)
