"""Random programs against NumPy: what was proved holds, what was refuted fails, shapes are what NumPy made."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from rxlang import pipeline
from rxlang.interp.run import Machine, ShapeError
from rxlang.lang.checked import Checked
from rxlang.lang.files import Files
from rxlang.ops.model import TensorInfo
from rxlang.simplify.propagate import ArgumentShape

NAMES = ("n", "m", "k")
SIZES = (0, 1, 2, 3, 4, 6)
RUNS = int(os.environ.get("RX_FUZZ", "250"))


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


def outcome(checked: Checked, simplified: bool, args: dict[str, Any]) -> tuple[str, Any]:
    """How a run ends: ("value", array) or ("refused", None).

    The program before simplification runs every assertion of the user's and no precondition of a primitive but what its
    kernel itself refuses: so what Rx refuses is compared with what really fails.
    """
    program = checked.program if simplified else checked.before
    machine = Machine(program, Files(Path(".")))
    function = machine.function("main")
    assert function is not None
    try:
        return "value", machine.call("main", [args[p.name] for p in function.params])
    except ShapeError:
        return "refused", None


def inferred(checked: Checked, args: dict[str, Any]) -> tuple[int, ...]:
    """The result's shape as the checker knows it from the arguments' shapes; what only the run decides is taken as it is."""
    given_shapes = {name: ArgumentShape(tuple(a.shape)) for name, a in args.items()}
    value, state, _ = pipeline.shapes_of_call(checked, "main", given_shapes)
    assert isinstance(value, TensorInfo)
    return tuple(state.resolve(value.shape))


def inputs(maker: Maker, source: str) -> dict[str, Any]:
    sizes = {name: maker.random.choice(SIZES) for name in NAMES}
    head = source.split("\n")[0]
    names = [p.split(" :")[0].strip() for p in head.split("fn(")[1].split(", float32)")[:-1]]
    shapes = {f"x{i}": maker.shapes[f"x{i}"] for i in range(len([s for s in maker.shapes if s.startswith("x")]))}
    assert len(names) >= len(shapes)
    found = {}
    for name, shape in shapes.items():
        dims = [max(0, eval(d, {}, dict(sizes))) for d in shape]  # noqa: S307
        if maker.random.random() < 0.15 and dims:
            dims[maker.random.randrange(len(dims))] = maker.random.choice(SIZES)
        found[name] = np.arange(int(np.prod(dims)), dtype=np.float32).reshape(dims)
    return found


@settings(
    max_examples=RUNS, deadline=None, derandomize="RX_FUZZ" not in os.environ, suppress_health_check=list(HealthCheck)
)
@given(st.integers(0, 10**9))
def test_random_programs_agree_with_numpy(seed: int) -> None:
    maker = Maker(seed)
    source = maker.program()
    report = pipeline.check_text(source + LIBRARY, "random.rx", Path("."))
    assume(report.checked is not None)
    assume(not any(d.severity == "error" and d.code < "E3" for d in report.diagnostics))
    for _ in range(6):
        compare(report, maker, source, seed)


def compare(report: pipeline.Report, maker: Maker, source: str, seed: int) -> None:
    checked = report.checked
    assert checked is not None
    args = inputs(maker, source)
    shown = {name: a.shape for name, a in args.items()}
    before = outcome(checked, False, args)
    errors = [d for d in report.diagnostics if d.severity == "error" and d.code not in ("E310", "E302")]
    straight = "if (" not in source and not any(d.function not in ("@main",) for d in errors)
    if errors and straight:
        assert before[0] == "refused", f"seed {seed}: refuted, but it runs for {shown}\n{source}\n{errors[0].message}"
    if any(d.severity == "error" for d in report.diagnostics):
        return
    after = outcome(checked, True, args)
    assert before[0] == after[0], f"seed {seed}: {before[0]} became {after[0]} for {shown}\n{source}"
    if before[0] == "value":
        assert inferred(checked, args) == before[1].shape, f"seed {seed}: {shown}\n{source}"
        np.testing.assert_array_equal(before[1], after[1], err_msg=f"seed {seed} {shown}\n{source}")
