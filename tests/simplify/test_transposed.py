"""A reshape that stands for a transpose is told, and no other: what is said is compared with where the elements go."""

from __future__ import annotations

import random
import re
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from onnx import TensorProto, helper, numpy_helper
from rxlang.cli.main import invoke
from rxlang.fixes.edits import applied
from rxlang.fixes.ranked import with_helps
from rxlang.model.check import check_model
from rxlang.pipeline import check_text
from support import fuzz
from support.places import ROOT

SIZES = {"b": 2, "t": 3, "h": 5, "k": 7, "c": 4}
Axes = list[list[str]]  # of each axis its factors; in the order in which they were joined, as far as the program says


def told(text: str) -> list[str]:
    report = rx.check_source(text)
    assert report.ok, [d.message for d in report.diagnostics]
    return [d.message for d in report.diagnostics if d.code == "W313"]


def product(axis: list[str]) -> str:
    return " * ".join(axis) or "1"


def listed(axes: Axes) -> str:
    return f"[{', '.join(map(product, axes))}]"


def grouped(rng: random.Random, names: list[str]) -> Axes:
    axes: Axes = [[]]
    for name in names:
        if axes[-1] and rng.random() < 0.6:
            axes.append([])
        axes[-1].append(name)
    return axes


def mixed(before: Axes, known: list[bool], after: Axes) -> set[str]:
    """The sizes that are axes on both sides and count other elements behind a reshape than before it. In an axis that was
    declared as a product nothing has a place of its own, but for the others around it."""
    pieces = [sorted(p) for axis, k in zip(before, known, strict=True) for p in ([[n] for n in axis] if k else [axis])]
    after = list(map(sorted, after))
    shape, target = [prod(SIZES[n] for n in p) for p in pieces], [prod(SIZES[n] for n in p) for p in after]
    own, taken = np.indices(shape).reshape(len(shape), -1), np.indices(target).reshape(len(target), -1)
    both = [p for p in pieces if p in after]
    return {product(p) for p in both if not np.array_equal(own[pieces.index(p)], taken[after.index(p)])}


class Program:
    """A function that reshapes, joins, moves and computes, and reshapes once more."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.lines = rng, list[str]()
        names = rng.sample(sorted(SIZES), rng.randint(2, 5))
        self.axes = grouped(rng, names)
        self.known = [len(axis) == 1 for axis in self.axes]
        self.head = ", ".join(f"{n} : Size" for n in sorted(SIZES))
        self.declared = listed(self.axes)
        for _ in range(rng.randint(0, 3)):
            getattr(self, rng.choice(["join", "split", "move", "compute", "through"]))()
        names = [n for axis in self.axes for n in axis]
        self.after = grouped(rng, names if rng.random() < 0.4 else rng.sample(names, len(names)))
        self.mixed = mixed(self.axes, self.known, self.after)

    def add(self, call: str) -> None:
        self.lines.append(f"  let x = {call}")

    def join(self) -> None:
        if len(self.axes) > 2 and all(self.known):
            i = self.rng.randrange(len(self.axes) - 1)
            self.axes[i : i + 2] = [self.axes[i] + self.axes[i + 1]]
            self.known = [True] * len(self.axes)
            flat = f"@flatten(x, start={i}, end={i + 1})"
            written = self.rng.random() < 0.5 or len(self.axes) <= 2
            self.add(f"@reshape(x, {listed(self.axes)})" if written else flat)

    def split(self) -> None:
        self.axes = [[n] for axis in self.axes for n in axis]
        self.known = [True] * len(self.axes)
        self.add(f"@reshape(x, {listed(self.axes)})")

    def move(self) -> None:
        order = self.rng.sample(range(len(self.axes)), len(self.axes))
        self.axes, self.known = [self.axes[i] for i in order], [self.known[i] for i in order]
        self.add(f"@permute_dims(x, {order})")

    def compute(self) -> None:
        self.add(self.rng.choice(["x * 2.0 + x", "@exp(x)", "@relu(x)", "x - @mean(x)"]))

    def through(self) -> None:
        self.axes, self.known = [[n for axis in self.axes for n in axis]], [False]
        self.add(self.rng.choice(["@reshape(x, [-1])", f"@reshape(x, {listed(self.axes)})", "@flatten(x)"]))

    @property
    def text(self) -> str:
        body = "\n".join([*self.lines, f"  @reshape(x, {listed(self.after)})"])
        least = ", ".join(f"{n} >= 0" for n in sorted(SIZES))
        return f"@f = fn(x : Tensor({self.declared}, float32), {self.head}) : Tensor where {least} {{\n{body}\n}}\n"


def test_a_warning_stands_where_elements_of_an_axis_become_those_of_another() -> None:
    warned = 0
    for case in fuzz.cases("reshapes that cross"):
        with case as seed:
            program = Program(random.Random(seed))
            said = told(program.text)
            assert bool(said) == bool(program.mixed), (program.text, said, program.mixed)
            warned += bool(said)
    assert warned > 10 or fuzz.SEED is not None


SPLIT: Any = lambda x: x.reshape(2, 3, 5, 7).swapaxes(1, 2)  # noqa: E731
# The sizes of x, what is done to it, what is mixed, and what the fix has to make of it.
TOLD: list[tuple[str, tuple[int, ...], str, str, Any]] = [
    ("b, t, h * k", (2, 3, 35), "@reshape(x, [b, h, t, k])", "`t` with those of `h`", SPLIT),
    ("b, h, t, k", (2, 5, 3, 7), "@reshape(x, [b, t, h * k])", "`t` with those of `h`",
     lambda x: x.swapaxes(1, 2).reshape(2, 3, 35)),
    ("t, h", (3, 5), "@reshape(x, [h, t])", "`t` with those of `h`", np.transpose),
    ("b, t, h, k", (2, 3, 5, 7), "@reshape(x, [b, k, t, h])", "`t` with those of `k`", lambda x: np.moveaxis(x, 3, 1)),
    ("b, t, 35", (2, 3, 35), "@reshape(x, [b, 5, t, 7])", "`t` with those of the axis of 5", SPLIT),
    ("b, t, h * k", (2, 3, 35), "@reshape(x, [b, h, -1, k])", "`t` with those of `h`", SPLIT),
    ("b, t, h * k", (2, 3, 35), "@reshape(x, [b * h, t, k])", "`t` with those of `h`", lambda x: SPLIT(x).reshape(10, 3, 7)),
    ("b, t, h, k", (2, 3, 5, 7), "@reshape(@flatten(x, start=1, end=2), [b, h, t, k])", "`t` with those of `h`", SPLIT),
    ("t, b, h", (3, 2, 5), "@reshape(@exp(@reshape(x, [t * b, h])) * 2.0, [b, t, h])", "`t` with those of `b`",
     lambda x: 2 * np.exp(x).swapaxes(0, 1)),
    ("b, t, h", (2, 3, 5), "@reshape(@swapaxes(x, 1, 2), [b, t, h])", "`h` with those of `t`", lambda x: x),
    ("*s, t, h", (2, 7, 3, 5), "@reshape(x, [*s, h, t])", "`t` with those of `h`", lambda x: x.swapaxes(-1, -2)),
    ("t, h, 1", (3, 5, 1), "@reshape(x, [h, 1, t])", "`t` with those of `h`", lambda x: x.transpose(1, 2, 0)),
    ("t, 5, 5, h", (3, 5, 5, 5), "@reshape(x, [t, h, 5, 5])", "`h` with those of the axis of 5",
     lambda x: x.transpose(0, 3, 1, 2)),
]  # fmt: skip
SILENT = [
    ("b, t, h * k", "@reshape(x, [b, t, h, k])"), ("b, t, h * k", "@reshape(x, [b, t, k, h])"),
    ("b, t, h, k", "@reshape(@swapaxes(x, 1, 2), [b, h, t * k])"), ("t, t", "@reshape(x, [t, t])"),
    ("t, h", "@reshape(@reshape(x, [-1]), [h, t])"), ("t, h", "@reshape(@flatten(x), [h, t])"),
    ("b, t, h", "@reshape(@flatten(x, start=1), [b, h, t])"), ("2, 3, 4", "@reshape(x, [2, 4, 3])"),
    ("1, t", "@reshape(x, [t, 1])"), ("b, t, t + 1", "@reshape(x, [b, t + 1, t])"),
    ("b * t, h", "@reshape(x, [t, b, h])"), ("b, t, 400", "@reshape(x, [b, -1, 160])"),
    ("t, b, h", "@reshape(@relu(@reshape(x, [t * b, h])), [t, b, h])"), ("b, t, 35", "@reshape(x, [b, t, 7, 5])"),
    ("t * 2, 6", "@reshape(x, [t * 3, 4])"),
]  # fmt: skip


def program(shape: str, body: str) -> str:
    used = [n for n in "bthk" if n in re.findall(r"\w+", shape + body)]
    sizes = "".join(f", {n} : Size" for n in used)
    least = f" where {', '.join(f'{n} >= 1' for n in used)}" if used else ""
    return f"@f = fn(x : Tensor([{shape}], float32){sizes}) : Tensor{least} {{\n  {body}\n}}\n"


@pytest.mark.parametrize(("shape", "dims", "body", "what", "meant"), TOLD)
def test_a_reshape_that_stands_for_a_transpose_is_told_and_its_fix_moves_the_axes(
    shape: str, dims: tuple[int, ...], body: str, what: str, meant: Any
) -> None:
    text = program(shape, body)
    report = with_helps(check_text(text, "a.rx", ROOT), ROOT)
    (said,) = [d for d in report.diagnostics if d.severity != "note"]
    assert said.code == "W313" and said.severity == "warning" and f"the elements of {what}" in said.message
    assert report.ok and said.help is not None and said.help.endswith("(checked)")
    fixed = applied(text, said.edits)
    assert told(fixed) == []
    x = np.arange(prod(dims)).reshape(dims).astype("float32") / 64
    found = rx.loads(fixed).f(x, *(SIZES[n] for n in "bthk" if f"{n} : Size" in text))
    assert found.shape == meant(x).shape and np.allclose(found, meant(x))


@pytest.mark.parametrize(("shape", "body"), SILENT)
def test_a_reshape_that_keeps_the_order_or_says_that_it_is_meant_is_not_told(shape: str, body: str) -> None:
    assert told(program(shape, body)) == []


@pytest.mark.parametrize("result", ["Tensor([m, n], float32)", "Tensor"])
@pytest.mark.parametrize("type_", ["", " : Tensor([m, n], float32)"])
def test_an_annotation_of_the_result_does_not_silence_it(result: str, type_: str) -> None:
    body = f"  let y{type_} = @reshape(x, [m, n])\n  y\n"
    assert len(told(f"@f = fn(x : Tensor([n, m], float32)) : {result} {{\n{body}}}\n")) == 1


@pytest.mark.parametrize("flags", [["--strict"], ["--fix"], ["--format", "json"], ["--format", "sarif"]])
def test_it_is_a_warning_where_claims_are_errors_too_and_only_the_user_applies_its_fix(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.rx"
    file.write_text("@f = fn(x : Tensor([n, m], float32)) : Tensor([m, n], float32) {\n  @reshape(x, [m, n])\n}\n")
    before = file.read_text()
    assert invoke(["check", "--no-cache", *flags, str(file)]) == 0
    assert "W313" in "".join(capsys.readouterr()) and file.read_text() == before


def model(path: Path, nodes: list[object], shape: list[object], **constants: list[int]) -> Path:
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    held = [numpy_helper.from_array(np.array(v, np.int64), n) for n, v in constants.items()]
    graph = helper.make_graph(nodes, "g", [given], [made], held)
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    )
    return path


def test_of_a_model_it_is_told_at_the_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reshape = helper.make_node("Reshape", ["f", "s"], ["y"], name="heads")
    same, flat = helper.make_node("Identity", ["x"], ["f"]), helper.make_node("Flatten", ["x"], ["f"])
    for nodes, target, expected in (
        ([same, reshape], [0, 8, -1, 64], 1), ([same, reshape], [0, -1, 8, 64], 0), ([flat, reshape], [0, 8, -1, 64], 0),
    ):  # fmt: skip
        path = model(tmp_path / "m.onnx", nodes, ["b", "t", 512], s=target)
        found = [d for d in check_model(path, "m.onnx").report.diagnostics if d.code == "W313"]
        assert len(found) == expected
        assert all(d.help == "reshape to [b, t, 8, 64], then transpose by [0, 2, 1, 3]" for d in found)
    assert invoke(["check", "--no-cache", str(model(path, [same, reshape], ["b", "t", 6], s=[0, 2, -1, 3]))]) == 0
    said = "".join(capsys.readouterr())
    assert "m.onnx: node heads (Reshape)" in said and "W313" in said


RIGHT = ("examples", "tests/programs", "tests/data/architectures", "tests/corpora/models", "tests/notes")


@pytest.mark.parametrize("folder", RIGHT)
def test_nothing_is_told_of_programs_that_are_right(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.rx"))
    assert len(files) > 5
    for file in fuzz.some(files, 2):
        report = check_text(file.read_text(), file.name, file.parent)
        assert [d.message for d in report.diagnostics if d.code == "W313"] == [], file


@pytest.mark.parametrize(
    "body",
    [
        "@t = fn(y : Tensor([n, m], float32)) : Tensor([m, n], float32) where n == m { @reshape(y, [m, n]) }",
        "@z = fn(n : Size, m : Size) : Tensor([m, n], float32) { @reshape(@zeros([n, m], float32), [m, n]) }",
    ],
)
def test_axes_of_one_size_and_tensors_of_one_value_mix_nothing(body: str) -> None:
    assert [d.code for d in rx.check_source(body).diagnostics if d.code == "W313"] == []


def test_what_shifts_relative_positions_is_meant() -> None:
    body = (
        "@shift = fn(x : Tensor([b, t, t + m + 1], float32)) : Tensor([b, t + m + 1, t], float32) "
        "{ @reshape(x, [b, t + m + 1, t]) }"
    )
    assert [d.code for d in rx.check_source(body).diagnostics if d.code == "W313"] == []
