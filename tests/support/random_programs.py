"""Random programs that mostly fit: shapes are guessed for one choice of sizes, and statements are made to match."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import random_turns

SIZES = (0, 1, 2, 3, 4, 6)
# What a program calls beside what is made for it: entry checks of all kinds, results of all kinds.
LIBRARY = """
@flat = fn(x : Tensor([a, b * 2], float32)) : Tensor([a * b * 2], float32) { @reshape(x, [a * b * 2]) }
@twice = fn(x : Tensor([_a], float32)) : Tensor { @concat([x, x], axis=0) }
@same = fn(x : Tensor([*s], d)) : Tensor([*s], d) { x }
@lead = fn(x : Tensor([a, ...], float32)) : Tensor { @concat([x, x], axis=0) }
@keep = fn(x : Tensor([a], float32)) : Tensor([k], float32) where k <= a { @filter(x, x > 1.0) }
@both = fn(x : Tensor([a], float32), y : Tensor([b], float32)) : (Tensor([a + b], float32), Tensor([b], float32)) {
  (@concat([x, y], axis=0), y)
}
@first = fn(x : Tensor([n], float32), k : Size) : Tensor([k], float32) where k >= 0, k <= n { x[0:k] }
@upto = fn(x : Tensor([n], float32), k : Size) : Tensor { x[0:k] }
@shaped = fn(x : Tensor, s : Shape) : Tensor(s, float32) { @reshape(x, s) }
@typed = fn(x : Tensor([*s], d), d : DType) : Tensor([*s], d) { x }
@apply = fn(f : fn(Tensor([k], float32)) : Tensor([k], float32), x : Tensor([k], float32)) : Tensor([k], float32) { f(x) }
@apply_any = fn(f : fn(Tensor([_a], float32)) : Tensor([r], float32), x : Tensor([_k], float32)) : Tensor { f(x) }
@half = fn(x : Tensor([n], float32)) : Tensor where n % 2 == 0 { @reshape(x, [n / 2, 2]) }
@chosen = fn(x : Tensor([n], float32), k : Size) : Tensor { if (k > 1) { @expand_dims(x, axis=0) } else { x } }
@rec = fn(x : Tensor([n], float32), k : Size) : Tensor([n * 2], float32) {
  if (k <= 0) { @concat([x, x], axis=0) } else { @rec(x + 1.0, k - 1) }
}
@some_two = fn(x : Tensor([a, 2], float32)) : Tensor([a], float32) { @sum(x, axis=1) }
@some_any = fn(x : Tensor([a, b], float32)) : Tensor([b, a], float32) { @permute_dims(x, [1, 0]) }
@some = [@some_two, @some_any]
@product = fn(x : Tensor([*s, m, k], float32), y : Tensor([*s, k, n], float32)) : Tensor([*s, m, n], float32) { @matmul(x, y) }
@total = fn(x : Tensor([*s, _d], float32)) : Tensor([*s], float32) { @sum(x, axis=-1) }
@joined = fn(x : Tensor([*s, a], float32), y : Tensor([*s, b], float32)) : Tensor([*s, a + b], float32) {
  @concat([x, y], axis=-1)
}
@beside = fn(x : Tensor([*s, a], float32), y : Tensor([*u], float32)) : (Tensor([*u], float32), Tensor([a, *s], float32)) {
  (y * 2.0, @moveaxis(x, -1, 0))
}
type Layer(d, h) = (Tensor([d, h], float32), Tensor([h], float32))
@layer = fn(p : Layer(a, 2 * b)) : Tensor([a], float32) { let (w, v) = p
  @matmul(w, v) }
"""


_PARTS = {
    m[1]: m[0] for m in re.finditer(r"^(?:type .*\n)?@(\w+) = .*?(?=^@|^type|\Z)", LIBRARY, re.MULTILINE | re.DOTALL)
}


def library_of(text: str) -> str:
    """What a program calls of the library, by itself or through what it calls."""
    wanted: set[str] = set()
    texts = [text]
    while texts:
        more = (set(re.findall(r"@(\w+)", texts.pop())) & _PARTS.keys()) - wanted
        wanted |= more
        texts += [_PARTS[name] for name in more]
    return "".join(part for name, part in _PARTS.items() if name in wanted)


class Made(NamedTuple):
    """A tensor of the program: how its dimensions can be written, and what they are for the sizes that were chosen."""

    name: str
    dims: tuple[str, ...]
    sizes: tuple[int, ...]
    dtype: str = "float32"
    data: tuple[int, ...] | None = None


class Scope:
    """What statements may speak of: tensors, and sizes by their text."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.tensors: list[Made] = []
        self.sizes = dict(sizes)

    def inner(self) -> Scope:
        copy = Scope(self.sizes)
        copy.tensors = list(self.tensors)
        return copy


class Misfit(Exception):
    """Nothing in scope fits the statement that was to be made."""


def numbers(sizes: tuple[int, ...]) -> int:
    return int(np.prod(sizes, dtype=np.int64))


def text(dims: tuple[str, ...]) -> str:
    return f"[{', '.join(dims)}]"


class Maker:
    """One random program: `source`, which is its `own` text and what it calls of the library, and `arguments` for it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.helpers: list[str] = []
        self.consts: list[str] = []
        self.fresh = 0
        chosen = self.random.sample(range(1, 7), 3) if self.random.random() < 0.8 else self.random.choices(SIZES, k=3)
        self.sizes = dict(zip("nmk", chosen, strict=True))
        self.params: list[tuple[str, tuple[str, ...] | None, str]] = []
        self.own = self.program()
        self.source = self.own + library_of(self.own)

    # ------------------------------------------------------------ the whole

    def program(self) -> str:
        scope = Scope({})
        for i in range(self.random.randint(1, 3)):
            dims = tuple(self.header_dim() for _ in range(self.random.choice((1, 1, 2, 2, 3))))
            dtype = self.random.choice(("float32",) * 5 + ("int64",))
            self.params.append((f"x{i}", dims, dtype))
        if self.random.random() < 0.25:
            self.params.append(("c", (), "bool"))
        if self.random.random() < 0.2:
            self.params.append(("t", (), "int64"))
        if self.random.random() < 0.25:
            self.params.append(("p", None, "Size"))
        bound = {d for _, dims, _ in self.params for d in dims or () if d.isidentifier()}
        bound |= {d.split(" ")[0] for _, dims, _ in self.params for d in dims or () if not d.isdigit() and d != "?"}
        scope.sizes = {n: v for n, v in self.sizes.items() if n in bound}
        for name, dims, dtype in self.params:
            if dims is None:
                scope.sizes[name] = self.sizes[name] = self.random.choice((-2, 0, 1, 2, 3))
            else:
                scope.tensors.append(Made(name, dims, tuple(self.value_of(d) for d in dims), dtype))
        header = ", ".join(
            f"{n} : {'Size' if d is None else dt if d == () else f'Tensor({text(d)}, {dt})'}"
            for n, d, dt in self.params
        )
        where = f" where {self.condition(scope, header=True)}" if self.random.random() < 0.25 and scope.sizes else ""
        head_sizes = dict(scope.sizes)
        lines = self.statements(scope, self.random.randint(1, 6), 0)
        result = self.pick(scope)
        lines, result = self.ending(scope, lines, result)
        annotation = "Tensor"
        if self.random.random() < 0.4:
            head = Scope(head_sizes)
            dims = tuple(self.size_text(head, s) for s in result.sizes)
            annotation = f"Tensor({text(dims)}, {result.dtype})"
        body = "\n".join(f"  {line}" for line in lines)
        main = f"@main = fn({header}) : {annotation}{where} {{\n{body}\n}}\n"
        return main + "".join(self.helpers + self.consts)

    def ending(self, scope: Scope, lines: list[str], result: Made) -> tuple[list[str], Made]:
        """The lines of a body with the one that gives its result: what is named before, or the last value, without a name."""
        last = re.fullmatch(r"let (\w+) = (.*)", lines[-1], re.DOTALL) if lines and self.random.random() < 0.3 else None
        made = next((t for t in scope.tensors if last is not None and t.name == last[1]), None)
        if last is None or made is None:
            return [*lines, f"let out = {result.name}", "out"], result
        return [*lines[:-1], last[2]], made

    def header_dim(self) -> str:
        name = self.random.choice("nmk")
        return self.random.choice(
            (name,) * 7 + (str(self.random.choice(SIZES)), f"{name} * 2", f"{name} + 1", f"{name} * 3", "?")
        )

    def value_of(self, dim: str) -> int:
        if dim == "?":
            return self.random.choice(SIZES)
        return int(eval(dim, {}, dict(self.sizes)))  # noqa: S307

    def name(self, stem: str = "t") -> str:
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def made(self, name: str, sizes: tuple[int, ...]) -> Made:
        """A tensor of which nothing else is written than its name."""
        return Made(name, tuple(f"{name}.dim({i})" for i in range(len(sizes))), sizes)

    # ------------------------------------------------------------ sizes

    def pick(self, scope: Scope, fits: Callable[[Made], bool] = lambda _: True) -> Made:
        found = [t for t in scope.tensors if fits(t)]
        if not found:
            raise Misfit
        weights = [1 + i for i in range(len(found))]
        return self.random.choices(found, weights)[0]

    def floats(self, scope: Scope, rank: int | None = None) -> Made:
        return self.pick(scope, lambda t: t.dtype == "float32" and (rank is None or len(t.sizes) == rank))

    def atom(self, scope: Scope) -> tuple[str, int]:
        choices: list[tuple[str, int]] = [(n, v) for n, v in scope.sizes.items()] * 3
        for t in scope.tensors[-4:]:
            choices += [(f"{t.name}.dim({i})", s) for i, s in enumerate(t.sizes)]
        number = self.random.choice((0, 1, 1, 2, 2, 3, 4, 5))
        choices.append((str(number), number))
        return self.random.choice(choices)

    def size(self, scope: Scope) -> tuple[str, int]:
        """A size expression and its value."""
        a, va = self.atom(scope)
        kind = self.random.random()
        if kind < 0.4:
            return a, va
        b, vb = self.atom(scope)
        op = self.random.choice(("+", "-", "*", "//", "%", "min", "max", "ceildiv", "/"))
        if op in ("//", "%", "ceildiv", "/") and (vb <= 0 or self.random.random() < 0.6):
            vb = self.random.choice((1, 2, 2, 3, 4))
            b = str(vb)
        if op == "/" and va % vb:
            op = "//"
        values = {
            "+": va + vb, "-": va - vb, "*": va * vb, "min": min(va, vb), "max": max(va, vb),
        } | ({"//": va // vb, "%": va % vb, "ceildiv": -(-va // vb), "/": va // vb} if vb > 0 else {})  # fmt: skip
        whole = f"{op}({a}, {b})" if op in ("min", "max", "ceildiv") else f"({a} {op} {b})"
        return whole, values[op]

    def size_text(self, scope: Scope, value: int) -> str:
        """Some way to write a size that has this value now."""
        if self.random.random() < 0.05:
            return self.size(scope)[0]
        for _ in range(25):
            found, its = self.size(scope)
            if its == value:
                return found
        return str(value) if value >= 0 else f"(0 - {-value})"

    def condition(self, scope: Scope, *, header: bool = False, hold: float = 0.75) -> str:
        if header:
            scope = Scope(scope.sizes)
        kind = self.random.random()
        if kind < 0.15:
            op = self.random.choice(("&&", "||"))
            return f"({self.condition(scope, hold=hold)} {op} {self.condition(scope, hold=hold)})"
        if kind < 0.2:
            return f"!({self.condition(scope, hold=1 - hold)})"
        if kind < 0.25 and scope.tensors:
            t = self.pick(scope)
            return f"{t.name}.rank == {len(t.sizes) if self.random.random() < hold else 1}"
        a, va = self.size(scope)
        b, vb = self.size(scope)
        true = {"==": va == vb, "!=": va != vb, "<": va < vb, "<=": va <= vb, ">": va > vb, ">=": va >= vb}
        wanted = self.random.random() < hold
        op = self.random.choice([op for op, holds in true.items() if holds == wanted])
        return f"{a} {op} {b}"

    # ------------------------------------------------------------ statements

    def statements(self, scope: Scope, number: int, depth: int) -> list[str]:
        lines: list[str] = []
        kinds = KINDS if depth < 2 else [k for k in KINDS if k not in NESTED]
        for _ in range(number):
            for _ in range(6):
                try:
                    lines += self.random.choice(kinds)(self, scope, depth)
                    break
                except Misfit:
                    continue
        return lines

    def bind(self, scope: Scope, made: str, sizes: tuple[int, ...], dtype: str = "float32",
             data: tuple[int, ...] | None = None, dims: tuple[str, ...] | None = None) -> list[str]:  # fmt: skip
        old = [t.name for t in scope.tensors if t.name.startswith("t") and len(t.name) > 1]
        name = self.random.choice(old) if old and self.random.random() < 0.08 else self.name()
        mark = ""
        written = dims or tuple(f"{name}.dim({i})" for i in range(len(sizes)))
        new: dict[str, int] = {}
        if self.random.random() < 0.35:
            if dims is None or self.random.random() < 0.4:
                parts = [self.annotated_dim(scope, s, new) for s in sizes]
            else:
                parts = list(dims)
            if self.random.random() < 0.04 and parts:
                parts[self.random.randrange(len(parts))] = self.size(scope)[0]
            shape = text(tuple(parts)) if self.random.random() < 0.95 else "?"
            kind = dtype if self.random.random() < 0.9 else "?"
            mark = f" {self.random.choice(':!')} Tensor({shape}, {kind})"
        scope.sizes.update({n: v for n, v in new.items() if re.search(rf"\b{n}\b", mark)})
        scope.tensors = [t for t in scope.tensors if t.name != name]
        scope.tensors.append(Made(name, written, sizes, dtype, data))
        return [f"let {name}{mark} = {made}"]

    def annotated_dim(self, scope: Scope, size: int, new: dict[str, int]) -> str:
        kind = self.random.random()
        if kind < 0.15:
            name = self.name("q")
            factor = self.random.choice((1, 1, 2, 3))
            if size % factor == 0:
                new[name] = size // factor
                return name if factor == 1 else f"{name} * {factor}"
        if kind < 0.2:
            return "?"
        return self.size_text(scope, size)

    def elementwise(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope, lambda t: t.dtype != "bool")
        kind = self.random.random()
        if kind < 0.3:
            number = "2.0" if x.dtype == "float32" else "2"
            op = self.random.choice("+-*")
            return self.bind(scope, f"{x.name} {op} {number}", x.sizes, x.dtype, None, x.dims)

        def fits(t: Made) -> bool:
            pairs = zip(t.sizes[::-1], x.sizes[::-1], strict=False)
            return t.dtype == x.dtype and all(a == b or 1 in (a, b) for a, b in pairs)

        y = self.pick(scope, fits if self.random.random() < 0.9 else lambda t: t.dtype == x.dtype)
        try:
            sizes = np.broadcast_shapes(x.sizes, y.sizes)
        except ValueError:
            sizes = x.sizes
        if kind < 0.5:
            return self.bind(scope, f"{x.name} < {y.name}", sizes, "bool")
        return self.bind(scope, f"{x.name} {self.random.choice('+*')} {y.name}", sizes, x.dtype)

    def where(self, scope: Scope, depth: int) -> list[str]:
        c = self.pick(scope, lambda t: t.dtype == "bool")
        x = self.floats(scope)
        sizes = np.broadcast_shapes(c.sizes, x.sizes) if fit(c.sizes, x.sizes) else x.sizes
        return self.bind(scope, f"@where({c.name}, {x.name}, {x.name} + 1.0)", sizes)

    def matmul(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope, lambda t: t.dtype == "float32" and len(t.sizes) >= 1)
        y = self.pick(
            scope, lambda t: t.dtype == "float32" and len(t.sizes) in (1, 2) and t.sizes[-2:][0] == x.sizes[-1]
        )
        return self.bind(scope, f"@matmul({x.name}, {y.name})", x.sizes[:-1] + y.sizes[-2:][1:])

    def einsum(self, scope: Scope, depth: int) -> list[str]:
        x, y = self.floats(scope, 2), self.floats(scope, 2)
        letters = {x.sizes[0]: "a"}
        names: list[str] = []
        for s in (*x.sizes, *y.sizes):
            names.append(letters.setdefault(s, "abcdef"[len(letters)]))
        if self.random.random() < 0.15:
            names[self.random.randrange(4)] = "a"
        known = dict(zip(names, (*x.sizes, *y.sizes), strict=True))
        left, right = "".join(names[:2]), "".join(names[2:])
        out = "".join(self.random.sample(sorted(known), self.random.randint(0, len(known))))
        sizes = tuple(known[c] for c in out)
        return self.bind(scope, f'@einsum("{left},{right}->{out}", [{x.name}, {y.name}])', sizes)

    def reshape(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope)
        total = numbers(x.sizes)
        kind = self.random.random()
        if kind < 0.2:
            sizes: tuple[int, ...] = (total,)
            if x.dims and self.random.random() < 0.5:
                product = " * ".join(f"({d})" for d in x.dims if d != "?")
                return self.bind(scope, f"@reshape({x.name}, [{product or '1'}])", sizes, x.dtype, None)
        elif kind < 0.4:
            sizes = tuple(self.random.sample(x.sizes, len(x.sizes)))
        elif kind < 0.5:
            sizes = (*x.sizes, 1)
        else:
            divisors = [d for d in range(1, total + 1) if total % d == 0] or [0, 1, 2]
            a = self.random.choice(divisors)
            sizes = (a, total // a if a else 0)
        dims = [self.size_text(scope, s) for s in sizes]
        if dims and self.random.random() < 0.35:
            dims[self.random.randrange(len(dims))] = "-1"
        return self.bind(scope, f"@reshape({x.name}, [{', '.join(dims)}])", sizes, x.dtype, None)

    def flatten(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope)
        return self.bind(scope, f"@flatten({x.name})", (numbers(x.sizes),), x.dtype)

    def concat(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope, lambda t: len(t.sizes) >= 1)
        axis = self.random.randrange(len(x.sizes))

        def fits(t: Made) -> bool:
            return (
                t.dtype == x.dtype and len(t.sizes) == len(x.sizes) and without(t.sizes, axis) == without(x.sizes, axis)
            )

        y = self.pick(scope, fits)
        sizes = (*x.sizes[:axis], x.sizes[axis] + y.sizes[axis], *x.sizes[axis + 1 :])
        shown = axis if self.random.random() < 0.7 else axis - len(x.sizes)
        data = x.data + y.data if x.data is not None and y.data is not None else None
        return self.bind(scope, f"@concat([{x.name}, {y.name}], axis={shown})", sizes, x.dtype, data)

    def stack(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope)
        y = self.pick(scope, lambda t: t.dtype == x.dtype and t.sizes == x.sizes)
        axis = self.random.randint(0, len(x.sizes))
        sizes = (*x.sizes[:axis], 2, *x.sizes[axis:])
        return self.bind(scope, f"@stack([{x.name}, {y.name}], axis={axis})", sizes, x.dtype)

    def permute(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope)
        axes = self.random.sample(range(len(x.sizes)), len(x.sizes))
        return self.bind(scope, f"@permute_dims({x.name}, {axes})", tuple(x.sizes[a] for a in axes), x.dtype)

    def reduce(self, scope: Scope, depth: int) -> list[str]:
        x = self.floats(scope)
        if not x.sizes or self.random.random() < 0.1:
            return self.bind(scope, f"@{self.random.choice(('sum', 'mean', 'max'))}({x.name})", ())
        axis = self.random.randrange(len(x.sizes))
        name = self.random.choice(
            ("sum", "max", "mean", "min", "var", "softmax", "argmax", "logsumexp", "cumulative_sum")
        )
        if name in ("softmax", "cumulative_sum"):
            return self.bind(scope, f"@{name}({x.name}, axis={axis})", x.sizes)
        keep = self.random.random() < 0.3
        sizes = (*x.sizes[:axis], *((1,) if keep else ()), *x.sizes[axis + 1 :])
        dtype = "int64" if name == "argmax" else "float32"
        extra = ", keepdims=true" if keep else ""
        return self.bind(
            scope, f"@{name}({x.name}, axis={axis - self.random.choice((0, len(x.sizes)))}{extra})", sizes, dtype
        )

    def expand(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope)
        axis = self.random.randint(0, len(x.sizes))
        return self.bind(scope, f"@expand_dims({x.name}, axis={axis})", (*x.sizes[:axis], 1, *x.sizes[axis:]), x.dtype)

    def squeeze(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope, lambda t: 1 in t.sizes)
        axis = x.sizes.index(1)
        return self.bind(scope, f"@squeeze({x.name}, axis={axis})", without(x.sizes, axis), x.dtype)

    def split(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope, lambda t: len(t.sizes) >= 1)
        a, b = self.name(), self.name()
        kind = self.random.random()
        axis = self.random.randrange(len(x.sizes))
        size = x.sizes[axis]
        if kind < 0.4:
            one, other, how = size // 2, size // 2, f"sections={self.random.choice(('2', self.size_text(scope, 2)))}"
        elif kind < 0.7:
            one = self.random.randint(0, size)
            other = size - one
            how = f"sizes=[{self.size_text(scope, one)}, {self.size_text(scope, other)}]"
        else:
            one = self.random.randint(0, size)
            other, how = size - one, f"indices=[{self.size_text(scope, one)}]"
        for name, s in ((a, one), (b, other)):
            sizes = (*x.sizes[:axis], s, *x.sizes[axis + 1 :])
            scope.tensors.append(Made(name, tuple(f"{name}.dim({i})" for i in range(len(sizes))), sizes, x.dtype))
        return [f"let ({a}, {b}) = @split({x.name}, {how}, axis={axis})"]

    def cut(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope, lambda t: len(t.sizes) >= 1)
        axis = self.random.randrange(len(x.sizes))
        bound: list[tuple[str, int | None]] = []
        for _ in range(2):
            found, value = self.size(scope)
            if self.random.random() < 0.3:
                bound.append(("", None))
            elif self.random.random() < 0.2:
                bound.append((f"(-{abs(value)})", -abs(value)))
            else:
                bound.append((found, value))
        step = self.random.choice((None, None, None, 2, -1, 3, -2))
        size = len(range(x.sizes[axis])[slice(bound[0][1], bound[1][1], step)])
        by = f"{step}" if step is None or step < 0 or self.random.random() < 0.6 else self.size_text(scope, step)
        cuts = f"{bound[0][0]}:{bound[1][0]}" + ("" if step is None else f":{by}")
        front = ":, " * axis
        data = None
        if x.data is not None and axis == 0:
            data = x.data[slice(bound[0][1], bound[1][1], step)]
        return self.bind(
            scope, f"{x.name}[{front}{cuts}]", (*x.sizes[:axis], size, *x.sizes[axis + 1 :]), x.dtype, data
        )

    def index(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope, lambda t: len(t.sizes) >= 1 and t.sizes[0] >= 1)
        at = self.random.randint(0, x.sizes[0] - 1)
        where = self.random.choice((f"{at}", f"(-{x.sizes[0] - at})", f"{at}, ..."))
        data = None if x.data is None else (x.data[at],)
        return self.bind(scope, f"{x.name}[{where}]", x.sizes[1:], x.dtype, data)

    def broadcast(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope)
        sizes = (self.random.choice(SIZES), *(self.random.choice(SIZES) if s == 1 else s for s in x.sizes))
        dims = tuple(self.size_text(scope, s) for s in sizes)
        return self.bind(scope, f"@broadcast_to({x.name}, {text(dims)})", sizes, x.dtype, None)

    def pad(self, scope: Scope, depth: int) -> list[str]:
        x = self.floats(scope, 1)
        a, b = self.random.randint(0, 3), self.random.randint(0, 3)
        pads = f"[({self.size_text(scope, a)}, {self.size_text(scope, b)})]"
        mode = self.random.choice(("", "", ', mode="reflect"', ', mode="edge"'))
        return self.bind(scope, f"@pad({x.name}, {pads}{mode})", (x.sizes[0] + a + b,))

    def repeat(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope, lambda t: len(t.sizes) == 1)
        times = self.random.randint(0, 3)
        way = self.random.choice(
            (
                f"@tile({x.name}, [{self.size_text(scope, times)}])",
                f"@repeat({x.name}, {self.size_text(scope, times)}, axis=0)",
            )
        )
        return self.bind(scope, way, (x.sizes[0] * times,), x.dtype)

    def create(self, scope: Scope, depth: int) -> list[str]:
        kind = self.random.random()
        if kind < 0.3:
            found, value = self.size(scope)
            return self.bind(scope, f"@cast(@arange({found}), float32)", (max(value, 0),))
        if kind < 0.5:
            (a, va), (b, vb) = self.size(scope), self.size(scope)
            step = self.random.choice((1, 2, -1, 3))
            return self.bind(scope, f"@arange({a}, {b}, {step})", (len(range(va, vb, step)),), "int64")
        sizes = tuple(self.random.choice(SIZES) for _ in range(self.random.randint(0, 2)))
        dims = tuple(self.size_text(scope, s) for s in sizes)
        return self.bind(scope, f"@{self.random.choice(('ones', 'zeros'))}({text(dims)}, float32)", sizes)

    def take(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope, lambda t: len(t.sizes) >= 1)
        i = self.pick(scope, lambda t: t.dtype == "int64" and len(t.sizes) <= 2)
        return self.bind(scope, f"@take({x.name}, {i.name}, axis=0)", (*i.sizes, *x.sizes[1:]), x.dtype)

    def weight(self, scope: Scope, depth: int) -> list[str]:
        """A const, which may be loaded."""
        name = self.name("weight")
        fitting = self.floats(scope).sizes
        sizes = tuple(s if self.random.random() < 0.7 else self.random.choice(SIZES) for s in fitting[-2:])
        if 0 in sizes[:1] and len(sizes) == 2:
            raise Misfit  # no literal has columns and no row
        values = np.arange(numbers(sizes), dtype=np.float32).reshape(sizes).tolist()
        known = ", ".join(str(s) if self.random.random() < 0.8 else "?" for s in sizes)
        self.consts.append(f"const {name} : Tensor([{known}], float32) = tensor({values}, float32)\n")
        scope.tensors.append(Made(name, tuple(map(str, sizes)), sizes))
        return self.elementwise(scope, depth)

    def conv(self, scope: Scope, depth: int) -> list[str]:
        x = self.floats(scope, 3)
        kernel, out = self.random.choice((1, 2, 3)), self.random.choice((1, 2))
        stride, pad, dilation = self.random.choice((1, 2)), self.random.choice((0, 1)), self.random.choice((1, 1, 2))

        def said(attribute: int) -> str:
            return str(attribute) if self.random.random() < 0.6 else self.size_text(scope, attribute)

        if self.random.random() < 0.5:
            w = self.name("w")
            size = (x.sizes[2] + 2 * pad - (kernel - 1) * dilation - 1) // stride + 1
            channels = self.size_text(scope, x.sizes[1])
            lines = [f"let {w} = @ones([{out}, {channels}, {kernel}], float32)"]
            pads = f"[({said(pad)}, {said(pad)})]"
            call = f"@conv1d({x.name}, {w}, strides={said(stride)}, pads={pads}, dilations=[{said(dilation)}])"
            return lines + self.bind(scope, call, (x.sizes[0], out, max(size, 0)))
        size = (x.sizes[2] - kernel) // stride + 1
        kind = self.random.choice(("max_pool1d", "average_pool1d"))
        call = f"@{kind}({x.name}, {said(kernel)}, strides=[{said(stride)}])"
        return self.bind(scope, call, (*x.sizes[:2], max(size, 0)))

    def data(self, scope: Scope, depth: int) -> list[str]:
        """Shapes that only the data decides."""
        x = self.floats(scope, 1)
        kind = self.random.random()
        if kind < 0.25:
            return self.bind(scope, f"@unique_values({x.name})", x.sizes)
        if kind < 0.5:
            return self.bind(scope, f"@filter({x.name}, {x.name} > 1.0)", (max(x.sizes[0] - 2, 0),))
        if kind < 0.75:
            k = self.random.randint(0, x.sizes[0])
            count = self.size_text(scope, k)
            name, other = self.name(), self.name()
            scope.tensors += [Made(name, (f"{name}.dim(0)",), (k,)), Made(other, (f"{other}.dim(0)",), (k,), "int64")]
            return [f"let ({name}, {other}) = @topk({x.name}, k={count})"]
        name = self.name()
        scope.tensors.append(Made(name, (f"{name}.dim(0)",), (max(x.sizes[0] - 1, 0),), "int64"))
        return [f"let ({name},) = @nonzero({x.name})"]

    def shape_data(self, scope: Scope, depth: int) -> list[str]:
        """Shapes as data: made, worked on, used."""
        known = [t for t in scope.tensors if t.data is not None]
        kind = self.random.random()
        if not known or kind < 0.3:
            x = self.pick(scope)
            return self.bind(scope, f"@shape({x.name})", (len(x.sizes),), "int64", x.sizes)
        s = self.random.choice(known)
        assert s.data is not None
        if kind < 0.4 and s.sizes and s.sizes[0]:
            at = self.random.randrange(s.sizes[0])
            return self.bind(scope, f"@take({s.name}, {at}, axis=0)", (), "int64", (s.data[at],))
        if kind < 0.5:
            op = self.random.choice(("* 2", "+ 1", "// 2"))
            data = tuple(int(eval(f"{d} {op}")) for d in s.data)  # noqa: S307
            return self.bind(scope, f"{s.name} {op}", s.sizes, "int64", data)
        if kind < 0.6:
            total = numbers(s.data)
            if not s.sizes:
                k = self.name("k")
                scope.sizes[k] = total
                return [f"let {k} = @item({s.name})"]
            return self.bind(scope, f"@prod({s.name}, keepdims=true)", (1,), "int64", (total,))
        if len(s.sizes) != 1 or any(d < 0 for d in s.data):
            raise Misfit
        if kind < 0.75:
            return self.bind(scope, f"@ones({s.name}, float32)", s.data)
        same = [t for t in scope.tensors if numbers(t.sizes) == numbers(s.data)]
        if same and kind < 0.9:
            x = self.random.choice(same)
            return self.bind(scope, f"@reshape({x.name}, {s.name})", s.data, x.dtype)
        return self.bind(scope, f"@broadcast_to(@sum(@ones([2], float32)), {s.name})", s.data)

    def scalar(self, scope: Scope, depth: int) -> list[str]:
        """A size that comes from data."""
        t = self.pick(scope, lambda t: t.dtype == "int64" and t.sizes == ())
        k = self.name("k")
        scope.sizes[k] = 2
        lines = [f"let {k} = @item({t.name})"]
        if self.random.random() < 0.6:
            lines.append(f"assert {k} {self.random.choice(('>=', '<=', '!='))} {self.random.choice((0, 1, 3))}")
        return lines

    def named(self, scope: Scope, depth: int) -> list[str]:
        found, value = self.size(scope)
        k = self.name("k")
        scope.sizes[k] = value
        return [f"let {k} : Size = {found}"]

    def assertion(self, scope: Scope, depth: int) -> list[str]:
        return [f"assert {self.condition(scope, hold=0.9)}"]

    def match(self, scope: Scope, depth: int) -> list[str]:
        x = self.pick(scope)
        new: dict[str, int] = {}
        dims = [self.annotated_dim(scope, s, new).replace("?", "1") for s in x.sizes]
        scope.sizes.update(new)
        return [f"match_shape({x.name}, [{', '.join(new)}], [{', '.join(dims)}])"]

    # ------------------------------------------------------------ branches, calls

    def branch(self, scope: Scope, depth: int) -> list[str]:
        arms = []
        results = []
        kind = self.random.random()
        for _ in range(2):
            inner = scope.inner()
            lines = self.statements(inner, self.random.randint(0, 2), depth + 1)
            results.append((self.pick(inner), inner))
            arms.append(lines)
        (one, _), (_, inner) = results
        if kind < 0.7:
            other = self.pick(inner, lambda t: t.dtype == one.dtype and (kind < 0.3 or t.sizes == one.sizes))
        else:
            other = self.pick(inner, lambda t: t.dtype == one.dtype)
        scalars = [t for t in scope.tensors if t.sizes == () and t.dtype in ("bool", "int64")]
        if scalars and self.random.random() < 0.7:
            cond = self.random.choice(scalars).name
        elif self.random.random() < 0.3:
            cond = f"@sum({self.floats(scope).name}) > 3.0"
        else:
            cond = self.condition(scope, hold=0.5)
        texts = ["; ".join([*lines, made.name]) for lines, made in zip(arms, (one, other), strict=True)]
        made = f"if ({cond}) {{ {texts[0]} }} else {{ {texts[1]} }}"
        return self.bind(scope, made, self.random.choice((one, other)).sizes, one.dtype)

    def called(self, scope: Scope, depth: int) -> list[str]:
        x = self.floats(scope)
        rank = len(x.sizes)
        size, value = self.size(scope)
        total = numbers(x.sizes)
        options: list[tuple[str, tuple[int, ...]]] = [
            (f"@same({x.name})", x.sizes),
            (f"@shaped({x.name}, [{self.size_text(scope, total)}])", (total,)),
            (f"@typed({x.name}, float32)", x.sizes),
        ]
        if rank >= 1:
            options.append((f"@lead({x.name})", (x.sizes[0] * 2, *x.sizes[1:])))
            options.append((f"@total({x.name})", x.sizes[:-1]))
            y = self.pick(
                scope, lambda t: t.dtype == "float32" and t.sizes[:-1] == x.sizes[:-1] and len(t.sizes) == rank
            )
            options.append((f"@joined({x.name}, {y.name})", (*x.sizes[:-1], x.sizes[-1] + y.sizes[-1])))
        if rank >= 2:
            options.append((f"@product({x.name}, @matrix_transpose({x.name}))", (*x.sizes[:-1], x.sizes[-2])))
            fitting = [t for t in scope.tensors if t.sizes == x.sizes[1:] and t.dtype == "float32"] if rank == 2 else []
            options += [(f"@layer(({x.name}, {v.name}))", x.sizes[:1]) for v in fitting]
        if rank == 1:
            n = x.sizes[0]
            options += [
                (f"@twice({x.name})", (n * 2,)),
                (f"@keep({x.name})", (max(n - 2, 0),)),
                (f"@first({x.name}, {self.size_text(scope, self.random.randint(0, n))})", (n,)),
                (f"@upto({x.name}, {size})", (len(range(n)[:value]),)),
                (f"@apply(@same, {x.name})", x.sizes),
                (f"@apply_any(@twice, {x.name})", (n * 2,)),
                (f"@half({x.name})", (n // 2, 2)),
                (f"@chosen({x.name}, {size})", (1, n) if value > 1 else (n,)),
                (f"@rec({x.name}, {size})", (n * 2,)),
            ]
        if rank == 2:
            options += [
                (f"@flat({x.name})", (total,)),
                (f"@some({x.name})", (x.sizes[0],) if x.sizes[1] == 2 else x.sizes[::-1]),
            ]
        made, sizes = self.random.choice(options)
        if numbers(sizes) > 10**6 or value > 300:
            raise Misfit
        return self.bind(scope, made, sizes)

    def pair(self, scope: Scope, depth: int) -> list[str]:
        a, b = self.name(), self.name()
        if self.random.random() < 0.3:
            x, y = self.pick(scope, lambda t: t.dtype == "float32" and len(t.sizes) >= 1), self.floats(scope)
            scope.tensors += [self.made(a, y.sizes), self.made(b, (x.sizes[-1], *x.sizes[:-1]))]
            return [f"let ({a}, {b}) = @beside({x.name}, {y.name})"]
        x, y = self.floats(scope, 1), self.floats(scope, 1)
        scope.tensors += [Made(a, (f"{a}.dim(0)",), (x.sizes[0] + y.sizes[0],)), Made(b, (f"{b}.dim(0)",), y.sizes)]
        return [f"let ({a}, {b}) = @both({x.name}, {y.name})"]

    def helper(self, scope: Scope, depth: int) -> list[str]:
        """A function made for the tensors that it is called with."""
        given = [self.pick(scope, lambda t: t.dtype != "bool") for _ in range(self.random.randint(1, 2))]
        name = self.name("f")
        inner = Scope({})
        params = []
        letters = iter("abcdefgh")
        for i, made in enumerate(given):
            dims = tuple(self.param_dim(inner, s, letters) for s in made.sizes)
            inner.tensors.append(Made(f"y{i}", dims, made.sizes, made.dtype))
            params.append(f"y{i} : Tensor({text(dims)}, {made.dtype})")
        arguments = [t.name for t in given]
        if self.random.random() < 0.3:
            size, value = self.size(scope)
            inner.sizes["z"] = value
            params.append("z : Size")
            arguments.append(size)
        head = Scope(inner.sizes)
        where = f" where {self.condition(head, header=True)}" if self.random.random() < 0.2 and head.sizes else ""
        lines = self.statements(inner, self.random.randint(1, 3), depth + 1)
        result = self.pick(inner)
        kind = self.random.random()
        annotation = " : Tensor" if kind < 0.4 else ""
        if kind > 0.5:
            dims = tuple(
                self.name("e") if self.random.random() < 0.2 else self.size_text(head, s) for s in result.sizes
            )
            annotation = f" : Tensor({text(dims)}, {result.dtype})"
        body = "\n".join(f"  {line}" for line in [*lines, result.name])
        self.helpers.append(f"@{name} = fn({', '.join(params)}){annotation}{where} {{\n{body}\n}}\n")
        lines = self.bind(scope, f"@{name}({', '.join(arguments)})", result.sizes, result.dtype)
        if self.random.random() < 0.3:
            lines += self.bind(scope, f"@{name}({', '.join(arguments)})", result.sizes, result.dtype)
        return lines

    def param_dim(self, inner: Scope, size: int, letters: Any) -> str:
        same = [n for n, v in inner.sizes.items() if v == size]
        kind = self.random.random()
        if same and kind < 0.4:
            return self.random.choice(same)
        if kind < 0.55:
            return str(size)
        if kind < 0.6:
            return "?"
        name = next(letters)
        if size % 2 == 0 and kind < 0.7:
            inner.sizes[name] = size // 2
            return f"{name} * 2"
        inner.sizes[name] = size
        return name

    def lambda_(self, scope: Scope, depth: int) -> list[str]:
        x = self.floats(scope, 1)
        f, z = self.name("g"), self.name("z")
        inner = scope.inner()
        inner.tensors.append(Made(z, ("_u",), x.sizes))
        inner.sizes["_u"] = x.sizes[0]
        lines = self.statements(inner, self.random.randint(0, 2), 2)
        result = self.pick(inner)
        body = "; ".join([*lines, result.name])
        annotation = self.random.choice(("", " : Tensor"))
        made = [f"let {f} = fn({z} : Tensor([_u], float32)){annotation} {{ {body} }}"]
        y = self.floats(scope, 1)
        return made + self.bind(scope, f"{f}({self.random.choice((x, y)).name})", result.sizes, result.dtype)

    # ------------------------------------------------------------ inputs

    def arguments(self) -> dict[str, Any]:
        """Arguments for @main: for the sizes that were chosen, for others, and now and then for none."""
        kind = self.random.random()
        sizes = dict(self.sizes)
        if kind > 0.3:
            for name in "nmk":
                if self.random.random() < 0.6:
                    sizes[name] = self.random.choice((*SIZES, 5))
            if self.random.random() < 0.2:
                sizes["n"] = sizes["m"]
            if self.random.random() < 0.6 and "p" in sizes:
                sizes["p"] = self.random.choice((-3, -1, 0, 1, 2, 4))
        found: dict[str, Any] = {}
        for name, dims, dtype in self.params:
            if dims is None:
                found[name] = sizes[name]
                continue
            shape = [
                self.random.choice(SIZES) if d == "?" else max(0, eval(d, {}, dict(sizes)))  # noqa: S307
                for d in dims
            ]
            if self.random.random() < 0.08 and shape:
                shape[self.random.randrange(len(shape))] = self.random.choice(SIZES)
            values = self.random.choice((np.arange, np.arange, np.zeros, np.ones))(int(np.prod(shape)))
            if shape == []:
                values = np.array([self.random.choice((0, 1, 2, 5, -1))])
            found[name] = values.astype(dtype).reshape(shape)
        return found


def fit(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(x == y or 1 in (x, y) for x, y in zip(a[::-1], b[::-1], strict=False))


def without(sizes: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return sizes[:axis] + sizes[axis + 1 :]


KINDS: list[Callable[[Maker, Scope, int], list[str]]] = [
    Maker.elementwise, Maker.elementwise, Maker.where, Maker.matmul, Maker.einsum, Maker.reshape, Maker.reshape,
    Maker.reshape, Maker.flatten, Maker.concat, Maker.stack, Maker.permute, Maker.reduce, Maker.reduce, Maker.expand,
    Maker.squeeze, Maker.split, Maker.cut, Maker.cut, Maker.index, Maker.broadcast, Maker.pad, Maker.repeat, Maker.create,
    Maker.take, Maker.conv, Maker.data, Maker.data, Maker.shape_data, Maker.shape_data, Maker.shape_data, Maker.scalar,
    Maker.named, Maker.assertion, Maker.assertion, Maker.match, Maker.branch, Maker.branch, Maker.branch, Maker.called,
    Maker.called, Maker.pair, Maker.helper, Maker.helper, Maker.helper, Maker.lambda_, Maker.weight, *random_turns.TURNS,
]  # fmt: skip
# What is not made inside arms, helpers and loops that stand inside others.
NESTED = (Maker.branch, Maker.helper, Maker.lambda_, *random_turns.TURNS)
