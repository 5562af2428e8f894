"""Random functions whose dtypes and shapes have names, or have none, and what they may be called with."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

DTYPES = ("float32", "float64", "int64")
# Functions that name what they are given, and what they give, as others do: names of one are none of another.
CALLED = """
@named = fn(x : Tensor) : Tensor([m], d) { x }
@chosen = fn(x : Tensor([n], d)) : Tensor([m], e) where m >= n { @cast(@concat([x, x], axis=0), float64) }
@kept = fn(x : Tensor([*s], e)) : Tensor([*s], e) { x }
@open = fn(x : Tensor(s, d)) { x + x }
"""
_SHAPES = ("", "?", "s", "w", "[n]", "[m]", "[?]", "[n, ?]", "[*s]", "[*v]", "[n, *s]", "[?, *v]", "[2, m]")
_NAMES = ("?", "d", "d", "e", "t", "float32")


class Maker:
    """One random @main of two or three tensors: `source`, and `arguments` that it may take or refuse."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = self.random.choice((2, 2, 3))
        self.names = [f"x{i}" for i in range(self.count)]
        head = ", ".join(f"{name} : {self._type()}" for name in self.names)
        result = self._type(result=True) if self.random.random() < 0.6 else "Tensor"
        lines = [self._line() for _ in range(self.random.randint(0, 3))]
        body = "\n".join(f"  {line}" for line in (*lines, self._value()))
        self.source = f"@main = fn({head}) : {result} {{\n{body}\n}}\n{CALLED}"

    def arguments(self) -> list[Any]:
        sizes = [self.random.choice((1, 1, 2, 3)) for _ in range(2)]
        first = self._array(sizes, self.random.choice(DTYPES))
        others = (
            first if self.random.random() < 0.4 else self._array(sizes, self.random.choice(DTYPES)) for _ in self.names
        )
        return list(others)

    def _array(self, sizes: list[int], dtype: str) -> Any:
        return np.ones([self.random.choice(sizes) for _ in range(self.random.choice((0, 1, 1, 2)))], dtype)

    def _type(self, *, result: bool = False) -> str:
        shape, dtype = self.random.choice(_SHAPES[1:] if result else _SHAPES), self.random.choice(_NAMES)
        return f"Tensor({shape}, {dtype})" if shape else "Tensor"

    def _line(self) -> str:
        name, other = self.random.choice(self.names), self.random.choice(self.names)
        return self.random.choice(
            (
                f"let a{self._new()} = {name} + {other}",
                f"let a{self._new()} = {name} * {name}",
                f"assert {name}.dtype in {self.random.choice(('floating', 'numeric', '{float32, int64}'))}",
                f"assert {name}.dtype == {other}.dtype",
                f"assert {name}.shape == {other}.shape",
                f"let a{self._new()} = @concat([{name}, {other}], axis=0)",
                f"let a{self._new()} = {self._value()}",
            )
        )

    def _new(self) -> int:
        self.count += 1
        return self.count

    def _value(self) -> str:
        name, other = self.random.choice(self.names), self.random.choice(self.names)
        called = self.random.choice(("named", "chosen", "kept", "open"))
        return self.random.choice((name, f"@{called}({name})", f"@{called}({name})", f"@cast({name}, {other}.dtype)"))
