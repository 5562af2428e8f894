"""Random signatures, and arguments and results that fit them or nearly do."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

DTYPES = ("float32", "int8", "float64", "bool")
# Parts of tuples of which nothing more is asked than that they are one.
PARTS = (
    ("Tensor", np.zeros(2)), ("Size", 3), ("Bool", True), ("DType", np.dtype("int8")), ("float32", 2.5),
    ("(Tensor, Size)", (np.zeros(()), 1)),
)  # fmt: skip
# What is nothing of a signature's.
ODD = ("word", None, {}, object())
NAMES = ("n", "m", "k", "class", "len", "q'")


class RandomSignature:
    """The signature is `text`; `sizes` is what its names are in a call that fits."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.sizes = {name: self.random.choice((0, 1, 2, 3, 5, 6)) for name in NAMES}
        self.batch = tuple(self.random.choice((0, 1, 2, 7)) for _ in range(self.random.randrange(3)))
        self.dtype = self.random.choice(DTYPES)
        self.bound: list[str] = []
        self.spliced = False
        self.named = False
        params = [self._param(f"x{i}") for i in range(self.random.randrange(1, 4))]
        result = self._type(result=True)
        self.params = [made for _, made in params]
        self.result = result[1]
        self.text = f"fn({', '.join(text for text, _ in params)}) : {result[0]}{self._where()}"
        self.count = len(params)

    def _param(self, name: str) -> tuple[str, Any]:
        text, made = self._type(result=False)
        return f"{name} : {text}", made

    def _type(self, *, result: bool) -> tuple[str, Any]:
        kind = self.random.random()
        if kind < 0.1 and not result:
            return self._parts(2)
        if kind < 0.2:
            parts = [self._tensor(result=result) for _ in range(2)]
            return f"({', '.join(t for t, _ in parts)})", tuple(m for _, m in parts)
        if kind < 0.3 and not result:
            name = self.random.choice(NAMES)
            return "Size", self.sizes[name]
        if kind < 0.4 and not result:
            return self.random.choice((("Bool", True), ("DType", np.dtype(self.dtype)), ("Shape", self.batch)))
        return self._tensor(result=result)

    def _parts(self, depth: int) -> tuple[str, Any]:
        """A tuple with parts of any sort, of which nothing more may be asked."""
        parts = [
            self._parts(depth - 1)
            if depth and self.random.random() < 0.3
            else self.random.choice((*PARTS, self._tensor(result=False)))
            for _ in range(self.random.randrange(2, 4))
        ]
        return f"({', '.join(t for t, _ in parts)})", tuple(m for _, m in parts)

    def _tensor(self, *, result: bool) -> tuple[str, Any]:
        dims = [self._dim(result=result) for _ in range(self.random.randrange(4))]
        if self.random.random() < 0.3 and (self.spliced or not result):
            dims.insert(self.random.randrange(len(dims) + 1), ("*b", self.batch))
            again = self.spliced and self.random.random() < 0.4
            if again:
                dims.insert(self.random.randrange(len(dims) + 1), ("*b", self.batch))
            self.spliced = True
        shape = tuple(s for _, size in dims for s in (size if isinstance(size, tuple) else (size,)))
        word = self.random.choice(("float32", "d", "?")) if not result or self.named else "float32"
        self.named = self.named or word == "d"
        dtype = self.dtype if word == "d" else word if word != "?" else self.random.choice(DTYPES)
        return f"Tensor([{', '.join(t for t, _ in dims)}], {word})", np.zeros(shape, dtype)

    def _dim(self, *, result: bool) -> tuple[str, int]:
        name = self.random.choice(self.bound if result and self.bound else NAMES)
        size, factor = self.sizes[name], self.random.choice((2, 3))
        known = name in self.bound
        if not result and name not in self.bound:
            self.bound.append(name)
        forms = [(name, size), (f"{name} * {factor}", size * factor), (f"{name} + {factor}", size + factor)]
        if known:
            other = self.random.choice(self.bound)
            forms += [(f"{name} // {factor}", size // factor), (f"min({name}, {other})", min(size, self.sizes[other])),
                      (f"{name} + {other} * 2", size + self.sizes[other] * 2), ("?", self.random.randrange(4))]  # fmt: skip
        if result and not self.bound:
            return "?", 3
        return self.random.choice(forms)

    def _where(self) -> str:
        texts = []
        if self.named and self.random.random() < 0.4:
            texts.append(f"d in {{{self.dtype}, int64}}" if self.random.random() < 0.5 else "d in real")
        if len(self.bound) > 1 and self.random.random() < 0.4:
            a, b = self.bound[0], self.bound[1]
            texts.append(
                self.random.choice((f"{a} <= {b} + 3", f"{a} % 2 == 0 || {b} >= 1", f"{a} == {b}", f"{a} // {b} >= 0"))
            )
        return f" where {', '.join(texts)}" if texts else ""

    def odd(self, value: Any) -> Any:
        """The same value, one that differs a little from it, or nothing of the sort."""
        if isinstance(value, tuple) and self.random.random() < 0.9:
            return tuple(map(self.odd, value)) if self.random.random() < 0.9 else value[1:]
        if self.random.random() < 0.1:
            return self.random.choice(ODD)
        return self.spoiled(value)

    def spoiled(self, value: Any) -> Any:
        """The same value, or one that differs a little from it."""
        if self.random.random() < 0.6 or isinstance(value, float):
            return value
        if isinstance(value, tuple):
            return tuple(map(self.spoiled, value))
        if isinstance(value, bool | np.dtype):
            return self.random.choice((value, str(value), None))
        if isinstance(value, int):
            return value + self.random.choice((-1, 1))
        shape = list(value.shape)
        if shape and self.random.random() < 0.6:
            shape[self.random.randrange(len(shape))] += self.random.choice((1, 2))
        elif self.random.random() < 0.5:
            shape.insert(0, 1)
        else:
            return value.astype(self.random.choice(DTYPES))
        return np.zeros(shape, value.dtype)
