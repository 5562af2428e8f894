"""Random functions of a few statements over three names, many of them ill-shaped; their signatures can be read back."""

from __future__ import annotations

import random

NAMES = ("n", "m", "k")
SIZES = (0, 1, 2, 3, 4, 6)


class Maker:
    """Makes one random program. `shapes` guesses the shape of every tensor made so far, as Rx dimension texts."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.shapes: dict[str, tuple[str, ...]] = {}
        self.lines: list[str] = []
        self.fresh = 0

    def program(self) -> str:
        params = [self.param(i) for i in range(self.random.randint(1, 3))]
        for _ in range(self.random.randint(1, 5)):
            self.statement()
        result = self.random.choice(list(self.shapes))
        annotation = f"Tensor({self.text(self.shapes[result])}, float32)" if self.random.random() < 0.6 else "Tensor"
        body = "\n".join(f"  {line}" for line in [*self.lines, result])
        where = " where " + self.condition() if self.random.random() < 0.2 else ""
        return f"@main = fn({', '.join(params)}) : {annotation}{where} {{\n{body}\n}}\n"

    def param(self, index: int) -> str:
        name, shape = f"x{index}", tuple(self.dimension() for _ in range(self.random.randint(1, 3)))
        self.shapes[name] = shape
        return f"{name} : Tensor({self.text(shape)}, float32)"

    def dimension(self) -> str:
        name = self.random.choice(NAMES)
        return self.random.choice((name, name, name, str(self.random.choice(SIZES)), f"{name} * 2", f"{name} + 1"))

    def text(self, shape: tuple[str, ...]) -> str:
        return f"[{', '.join(shape)}]"

    def tensor(self) -> str:
        return self.random.choice(list(self.shapes))

    def bind(self, expression: str, shape: tuple[str, ...]) -> None:
        name = f"t{self.fresh}"
        self.fresh += 1
        mark = ""
        if self.random.random() < 0.35:
            wanted = shape if self.random.random() < 0.7 else tuple(self.dimension() for _ in shape)
            mark = f" {self.random.choice(':!')} Tensor({self.text(wanted)}, float32)"
        self.lines.append(f"let {name}{mark} = {expression}")
        self.shapes[name] = shape

    def condition(self) -> str:
        used = [d for shape in self.shapes.values() for d in shape if d in NAMES] or ["1"]
        left, right = self.random.choice(used), self.random.choice([*used, "2", "3", f"{self.random.choice(used)} * 2"])
        return f"{left} {self.random.choice(('==', '<=', '<', '!=', '>='))} {right}"

    def statement(self) -> None:
        self.random.choice(
            (self.add, self.matmul, self.reshape, self.concat, self.permute, self.reduce, self.expand, self.cut,
             self.broadcast, self.assertion, self.branch, self.called, self.split, self.squeeze)
        )()  # fmt: skip

    def add(self) -> None:
        x, y = self.tensor(), self.tensor()
        shape = max(self.shapes[x], self.shapes[y], key=len)
        self.bind(f"{x} + {y}", shape)

    def matmul(self) -> None:
        x, y = self.tensor(), self.tensor()
        a, b = self.shapes[x], self.shapes[y]
        if len(a) < 1 or len(b) < 1:
            return self.add()
        shape = (*a[:-1], *b[-1:]) if len(b) > 1 else a[:-1]
        return self.bind(f"@matmul({x}, {y})", shape)

    def reshape(self) -> None:
        x = self.tensor()
        shape = list(self.shapes[x])
        kind = self.random.random()
        if kind < 0.3:
            target = [" * ".join(f"({d})" for d in shape) or "1"]
        elif kind < 0.6:
            target = shape[1:] + shape[:1]
        elif kind < 0.8:
            target = ["-1", *shape[1:]]
            self.bind(f"@reshape({x}, {self.text(tuple(target))})", tuple(shape))
            return
        else:
            target = [self.dimension() for _ in range(self.random.randint(1, 3))]
        self.bind(f"@reshape({x}, {self.text(tuple(target))})", tuple(target))

    def concat(self) -> None:
        x, y = self.tensor(), self.tensor()
        a, b = self.shapes[x], self.shapes[y]
        if not a or not b:
            return self.add()
        axis = self.random.randrange(len(a))
        shape = list(a)
        if axis < len(b):
            shape[axis] = f"({a[axis]}) + ({b[axis]})"
        return self.bind(f"@concat([{x}, {y}], axis={axis})", tuple(shape))

    def permute(self) -> None:
        x = self.tensor()
        axes = list(range(len(self.shapes[x])))
        self.random.shuffle(axes)
        self.bind(f"@permute_dims({x}, {axes})", tuple(self.shapes[x][a] for a in axes))

    def reduce(self) -> None:
        x = self.tensor()
        shape = self.shapes[x]
        if not shape:
            return self.add()
        axis = self.random.randrange(len(shape))
        name = self.random.choice(("sum", "max", "mean", "softmax"))
        if name == "softmax":
            return self.bind(f"@softmax({x}, axis={axis})", shape)
        return self.bind(f"@{name}({x}, axis={axis})", shape[:axis] + shape[axis + 1 :])

    def expand(self) -> None:
        x = self.tensor()
        axis = self.random.randint(0, len(self.shapes[x]))
        shape = self.shapes[x]
        self.bind(f"@expand_dims({x}, axis={axis})", (*shape[:axis], "1", *shape[axis:]))

    def squeeze(self) -> None:
        x = self.tensor()
        shape = self.shapes[x]
        if not shape:
            return self.add()
        axis = self.random.randrange(len(shape))
        return self.bind(f"@squeeze({x}, axis={axis})", shape[:axis] + shape[axis + 1 :])

    def split(self) -> None:
        x = self.tensor()
        shape = self.shapes[x]
        if not shape:
            return self.add()
        a, b = f"t{self.fresh}", f"t{self.fresh + 1}"
        self.fresh += 2
        self.lines.append(f"let ({a}, {b}) = @split({x}, sections=2, axis=0)")
        half = (f"({shape[0]}) // 2", *shape[1:])
        self.shapes[a] = self.shapes[b] = half
        return None

    def cut(self) -> None:
        x = self.tensor()
        shape = self.shapes[x]
        if not shape:
            return self.add()
        start, stop = self.random.choice((("0", "2"), ("1", shape[0]), ("2", "5"), ("(-2)", shape[0]), ("0", "n")))
        if stop == "n" and not any("n" in d for s in list(self.shapes.values()) for d in s):
            stop = "1"
        return self.bind(f"{x}[{start}:{stop}]", ("1", *shape[1:]))

    def broadcast(self) -> None:
        x = self.tensor()
        shape = (self.dimension(), *self.shapes[x])
        self.bind(f"@broadcast_to({x}, {self.text(shape)})", shape)

    def assertion(self) -> None:
        self.lines.append(f"assert {self.condition()}")

    def branch(self) -> None:
        x, y = self.tensor(), self.tensor()
        self.bind(f"if ({self.condition()}) {{ {x} }} else {{ {y} }}", self.shapes[x])

    def called(self) -> None:
        x = self.tensor()
        shape = self.shapes[x]
        if len(shape) == 2:
            self.bind(f"@flat({x})", (f"({shape[0]}) * ({shape[1]})",))
        elif len(shape) == 1:
            self.bind(f"@twice({x})", (f"({shape[0]}) * 2",))
        else:
            self.bind(f"@same({x})", shape)


LIBRARY = """
@flat = fn(x : Tensor([a, b * 2], float32)) : Tensor([a * b * 2], float32) { @reshape(x, [a * b * 2]) }
@twice = fn(x : Tensor([a], float32)) : Tensor { @concat([x, x], axis=0) }
@same = fn(x : Tensor([*s], float32)) : Tensor([*s], float32) { x * 2.0 }
"""
