"""Random programs that make indices in many ways, and take elements at them: from numbers that count up, from places that the
data decides, and what is computed, cut, joined and repeated of them."""

from __future__ import annotations

import random
from typing import NamedTuple

# What the index is called through so that nothing is known of it: an oracle runs with that.
HIDDEN = "@hidden = fn(i : Tensor([*s], d)) : Tensor([*s], d) { i }\n"


class Made(NamedTuple):
    """An index tensor as text, with its rank and dtype, and whether data decides its elements."""

    text: str
    rank: int
    dtype: str
    of_data: bool = False


class Maker:
    def __init__(self, seed: int) -> None:
        self.draw = random.Random(f"indices {seed}")
        self.rows = self.draw.choice(("1", "2", "3", "4", "6", "k", "k", "n", "m"))
        self.of_data = False

    def programs(self) -> tuple[str, str]:
        """The program, and the same one with an index of which nothing is known."""
        index = self.index(self.draw.randint(0, 4))
        self.of_data = index.of_data
        used = self.used(index)
        head = (
            f"@main = fn(x : Tensor([n, m], float32), w : Tensor([{self.rows}, 2], float32), k_ : Tensor([k], int8)) {{\n"
            f"  let i = {index.text}\n"
        )
        return f"{head}  {used}\n}}\n", f"{HIDDEN}{head}  let i = @hidden(i)\n  let y = {used}\n  (y, i)\n}}\n"

    def used(self, index: Made) -> str:
        flat = "i" if index.rank == 1 else "@reshape(i, [-1])"
        column = f"@expand_dims({flat}, axis=1)"
        return self.draw.choice((
            "@take(w, i, axis=0)", "@take(w, i, axis=0)", "@embedding(i, w)", "@embedding(i, w)",
            f"@take_along_axis(w, {column}, axis=0)", f"@gather_elements(w, {column}, axis=0)",
            f"@gather_nd(w, {column})", f"@gather_nd(w, @stack([{flat}, @zeros_like({flat})], axis=1))",
            f"@scatter_elements(w, {column}, @cast({column}, float32), axis=0)",
            f"@scatter_nd(w[:, 0], {column}, @cast({flat}, float32))",
            f"@put(w[:, 0], {flat}, @cast({flat}, float32))",
        ))  # fmt: skip

    def index(self, depth: int) -> Made:
        if depth == 0:
            return self.leaf()
        pick, a = self.draw.choice, self.index(depth - 1)
        c, by = self.draw.randint(-3, 6), self.draw.randint(1, 3)
        t, e, number = a.text, a, pick((f"@size_to_tensor({pick('nmk')}, {a.dtype})", str(c)))
        if self.draw.random() < 0.2:
            return self.both(a, self.index(self.draw.randint(0, depth - 1)))
        text = pick((
            f"({t} + {number})", f"({t} - {number})", f"({number} - {t})", f"({t} * {c})", f"({t} // {by})",
            f"({t} % {by + 1})",
            f"({t} * {number})", f"(-{t})", f"({t} % @maximum({number}, 1))", f"({t} // @maximum({number}, 1))",
            f"@clip({t}, {min(c, 2)}, {c + 2})", f"@clip({t}, max={number})", f"@maximum({t}, {number})",
            f"@minimum({t}, {number})", f"({t})[{c}:]", f"({t})[:{c}]", f"({t})[::{by}]", f"({t})[::-{by}]",
            f"({t})[{by}:n]", f"({t})[n - 1:]", f"@flip({t})", f"@sort({t}, axis=-1)",
            f"@where({t} < {number}, {t}, {t} - {by})", f"@where({t} >= {c}, {t} + {by}, {t})",
            f"@repeat({t}, {by}, axis=0)", f"@tile({t}, [{pick(('2', 'n', 'm'))}])", f"@roll({t}, {by})",
            f"@reshape({t}, [-1])", f"@concat([{t}, {t}], axis=0)",
        ))  # fmt: skip
        rank = 1 if text.endswith("[-1])") else a.rank
        if self.draw.random() < 0.15:
            dtype = pick(("int64", "int32", "int8", "uint8"))
            return Made(f"@cast({text}, {dtype})", rank, dtype, e.of_data)
        return Made(text, rank, a.dtype, e.of_data)

    def both(self, a: Made, b: Made) -> Made:
        """Two index tensors in one: side by side, one behind the other, or combined."""
        pick = self.draw.choice
        second, of_data = b.text if b.dtype == a.dtype else f"@cast({b.text}, {a.dtype})", a.of_data or b.of_data
        if a.rank == b.rank == 1:
            if self.draw.random() < 0.3:
                return Made(f"@concat([{a.text}, {second}], axis=0)", 1, a.dtype, of_data)
            op = pick("+-*")
            axes = pick(((1, 0), (0, 1)))
            return Made(
                f"(@expand_dims({a.text}, axis={axes[0]}) {op} @expand_dims({second}, axis={axes[1]}))",
                2,
                a.dtype,
                of_data,
            )
        flat = [t if r == 1 else f"@reshape({t}, [-1])" for t, r in ((a.text, a.rank), (second, b.rank))]
        return Made(f"@concat([{', '.join(flat)}], axis=0)", 1, a.dtype, of_data)

    def leaf(self) -> Made:
        size = self.draw.choice("nmk")
        dtype = self.draw.choice(("int64", "int64", "int64", "int32", "int8"))
        c = self.draw.randint(-2, 4)
        text, rank, kind, of_data = self.draw.choice((
            *((f"@arange({size}, dtype={dtype})", 1, dtype, False),) * 6,
            (f"@arange({c}, {size}, dtype={dtype})", 1, dtype, False),
            (f"@arange({size}, {c}, -1, dtype={dtype})", 1, dtype, False), (f"@arange(0, {size} + 3, 2)", 1, "int64", False),
            (f"@arange({size}, {size} + {max(c, 0)})", 1, "int64", False), (f"@zeros([{size}], {dtype})", 1, dtype, False),
            (f"@full([{size}, 2], {c}, {dtype})", 2, dtype, False), (f"@ones([n, {size}], {dtype})", 2, dtype, False),
            (f"tensor([{c}, 1], {dtype})", 1, dtype, False), ("@argsort(x, axis=0)", 2, "int64", False),
            ("@argmax(@concat([x, @zeros([n, 1])], axis=1), axis=1)", 1, "int64", True),
            ("@topk(@concat([x, x], axis=0), n, axis=0)[1]", 2, "int64", True), ("@nonzero(x)[1]", 1, "int64", True),
            ("@unique_inverse(x[:, 0:1])[1]", 2, "int64", True), ("@broadcast_to(@arange(m), [n, m])", 2, "int64", False),
            ("@meshgrid([@arange(n), @arange(m)])[0]", 2, "int64", False), ("@cast(x > 0.0, int64)", 2, "int64", True),
            ("@random_permutation(@random_key(1), n)", 1, "int64", False),
        ))  # fmt: skip
        return Made(text, rank, kind, of_data)
