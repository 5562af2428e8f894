"""Ranks that sizes or data decide: the shapes case by case, what each case demands, and what is proved, beside runs at all
sizes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import rxlang
from rxlang.lang.checked import Case
from rxlang.simplify.solver.numbers import holds_at, size_at
from support import fuzz

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from rxlang.model.check import check_model  # noqa: E402
from rxlang.model.contract_file import contract_text, read_contract  # noqa: E402

FLOAT, BOOL = TensorProto.FLOAT, TensorProto.BOOL
node, value = helper.make_node, helper.make_tensor_value_info
ONE = [1]


class Graph:
    """Nodes over the inputs `x : [a, b]` and `z : [c, 1, 1]`, of which up to three decide a rank, with the truth values `p`
    and `q`, if they are inputs too."""

    def __init__(self, draw: Random, truths: tuple[str, ...] = ()) -> None:
        self.draw, self.nodes, self.held = draw, list[Any](), dict[str, Any]()
        self.values, self.count, self.truths = ["x", "z"], 0, truths
        decisions = [self.squeezed, self.chosen, self.chosen_alone]
        for _ in range(draw.randint(1, 3)):
            self.put(draw.choice([*decisions, *[self.chosen_by_data] * (4 * bool(truths))])())
        for _ in range(draw.randint(1, 3)):
            self.put(draw.choice([self.gemm, self.added, self.concat, self.flat, self.summed, self.relu])())

    def put(self, name: str) -> None:
        self.values.append(name)

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def pick(self) -> str:
        return self.draw.choice(self.values[-3:])

    def constant(self, array: Any) -> str:
        name = f"k{len(self.held)}"
        self.held[name] = np.asarray(array)
        return name

    def add(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        name = self.name()
        self.nodes.append(node(kind, inputs, [name], name=f"{kind}_{name}", **attributes))
        return name

    def squeezed(self) -> str:
        return self.add("Squeeze", [self.pick()])

    def is_one(self, x: str, axis: int) -> str:
        shape = self.add("Shape", [x])
        size = self.add("Gather", [shape, self.constant([axis])])
        return self.add("Equal", [size, self.constant(ONE)])

    def chosen(self) -> str:
        """As torch writes a squeeze of one axis."""
        x, axis = self.draw.choice([("x", 0), ("x", 1), ("z", 0)])
        axes, name = self.constant([axis]), self.name()
        then = helper.make_graph(
            [node("Squeeze", [x, axes], [f"{name}_t"])], "t", [], [value(f"{name}_t", FLOAT, None)]
        )
        return self.choice(name, self.is_one(x, axis), then, x)

    def chosen_alone(self) -> str:
        """A choice by a size between something and the same with one axis more."""
        x, name = self.pick(), self.name()
        kind, size = self.draw.choice(["Equal", "Less", "Greater"]), self.draw.randint(1, 4)
        truth = self.add(
            kind, [self.add("Gather", [self.add("Shape", ["x"]), self.constant(ONE)]), self.constant([size])]
        )
        then = helper.make_graph(
            [node("Unsqueeze", [x, self.constant([0])], [f"{name}_t"])], "t", [], [value(f"{name}_t", FLOAT, None)]
        )
        return self.choice(name, truth, then, x)

    def chosen_by_data(self) -> str:
        """A choice by an input between something and its sum along an axis, or that of all of it."""
        x, name, axes = self.pick(), self.name(), self.draw.choice([[], [self.constant([self.draw.randint(0, 1)])]])
        one = node("ReduceSum", [x, *axes], [f"{name}_t"], name=f"Sum_{name}", keepdims=0)
        then = helper.make_graph([one], "t", [], [value(f"{name}_t", FLOAT, None)])
        return self.choice(name, self.draw.choice(self.truths), then, x)

    def choice(self, name: str, truth: str, then: Any, x: str) -> str:
        other = helper.make_graph([node("Identity", [x], [f"{name}_e"])], "e", [], [value(f"{name}_e", FLOAT, None)])
        self.nodes.append(node("If", [truth], [name], name=f"If_{name}", then_branch=then, else_branch=other))
        return name

    def gemm(self) -> str:
        weights = np.ones((self.draw.randint(1, 4), 2), np.float32)
        return self.add("MatMul", [self.pick(), self.constant(weights)])

    def added(self) -> str:
        other = np.ones([self.draw.randint(1, 3) for _ in range(self.draw.randint(0, 2))], np.float32)
        return self.add("Add", [self.pick(), self.draw.choice([self.constant(other), self.pick()])])

    def concat(self) -> str:
        return self.add("Concat", [self.pick(), self.pick()], axis=self.draw.choice([0, 0, -1, 1]))

    def flat(self) -> str:
        target = self.draw.choice([[-1], [0, -1], [-1, 2], [3, -1]])
        return self.add("Reshape", [self.pick(), self.constant(np.array(target, np.int64))])

    def summed(self) -> str:
        axes = self.constant([self.draw.choice([0, 1, -1])])
        return self.add("ReduceSum", [self.pick(), axes], keepdims=self.draw.randint(0, 1))

    def relu(self) -> str:
        return self.add("Relu", [self.pick()])

    def save(self, path: Path) -> Path:
        held = [numpy_helper.from_array(v, n) for n, v in self.held.items()]
        inputs = [value("x", FLOAT, ["a", "b"]), value("z", FLOAT, ["c", 1, 1])]
        inputs += [value(name, BOOL, []) for name in self.truths]
        graph = helper.make_graph(self.nodes, "g", inputs, [value(self.values[-1], FLOAT, None)], held)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
        return path


def sizes() -> Iterator[dict[str, int]]:
    for a, b, c in product(range(7), range(7), (0, 1, 2, 5)):
        yield {"a": a, "b": b, "c": c}


def assert_has_shape(shape: Any, cases: tuple[Case, ...], at: dict[str, int], made: tuple[int, ...], what: Any) -> None:
    """What is told of a shape is so at some sizes: just one case is there where there are cases."""
    if cases:
        by_sizes = [case for case in cases if case.when is not None]
        there = [case for case in by_sizes if holds_at(case.when or "", at)]
        assert len(there) == bool(by_sizes), (what, at, cases)
        shape = there[0].shape if by_sizes else None
        assert by_sizes or any(len(case.shape) == len(made) for case in cases), (what, at, cases, made)
    if shape is not None:
        assert len(shape) == len(made), (what, at, shape, made)
        for told, n in zip(shape, made, strict=True):
            known = (
                None if "?" in str(told) else size_at(str(told), at)
            )  # a size that has a name is none of the inputs'
            assert known in (None, n), (what, at, shape, made)


def test_contracts_and_shapes_of_ranks_that_sizes_decide_are_those_of_runs(tmp_path: Path) -> None:
    for case in fuzz.cases("ranks that sizes decide"):
        with case as seed:
            assert_as_run(Graph(Random(seed)).save(tmp_path / f"{seed}.onnx"))


def test_contracts_and_shapes_of_ranks_that_data_decides_are_those_of_runs(tmp_path: Path) -> None:
    for case in fuzz.cases("ranks that data decides"):
        with case as seed:
            assert_as_run(Graph(Random(seed), ("p", "q")).save(tmp_path / f"{seed}.onnx"), 2)


def assert_as_run(path: Path, truths: int = 0) -> None:
    found = check_model(path, str(path))
    if found.contract is None:
        assert not found.report.ok
        assert_never_runs(path, truths)
        return
    module = rxlang.load(path, allow_empty=True)
    said = found.contract
    [out] = said.outputs
    for at, data in product(sizes(), product((np.True_, np.False_), repeat=truths)):
        accepted = all(holds_at(c.condition, at) for c in said.conditions)
        try:
            made = module.main(np.ones((at["a"], at["b"]), np.float32), np.ones((at["c"], 1, 1), np.float32), *data)
        except rxlang.ShapeError:
            assert not accepted or said.undecided, (at, said.conditions)
            continue
        assert accepted or not said.exact, (at, said.conditions)
        if accepted:
            assert_has_shape(out.shape, out.cases, at, np.shape(made), said.conditions)
    fuzz.count("ranks that data decides" if truths else "ranks that sizes decide", "unknown", _is_open(out))


def _is_open(told: Any) -> bool:
    """Whether something of a shape is unknown."""
    shapes = [case.shape for case in told.cases] or [told.shape]
    return any(shape is None or "?" in str(shape) or ".dim(" in str(shape) for shape in shapes)


def assert_never_runs(path: Path, truths: int) -> None:
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun

    class MatMul(OpRun):
        """That of the reference takes scalars."""

        def _run(self, a: Any, b: Any) -> tuple[Any]:
            return (np.matmul(a, b),)

    session = ReferenceEvaluator(onnx.load(path), new_ops=[MatMul])
    for at, data in product(sizes(), product((np.True_, np.False_), repeat=truths)):
        given = {"x": np.ones((at["a"], at["b"]), np.float32), "z": np.ones((at["c"], 1, 1), np.float32)}
        given |= dict(zip("pq", data, strict=False))
        with pytest.raises(Exception, match=""):  # whatever NumPy says
            session.run(None, given)


def program(draw: Random) -> str:
    """A function of `x : [a, b]` and `z : [c, 1, 1]` with up to three decisions, and what follows."""
    lines, names = [], ["x", "z"]
    for at in range(draw.randint(1, 3)):
        x = draw.choice(names)
        axis, size = draw.randint(0, 1), draw.choice(["a", "b", "c"])
        decided = [f"@squeeze({x})", f"if ({size} == 1) {{ @expand_dims({x}, axis=0) }} else {{ {x} }}"]
        decided += [f"if ({'ab'[axis]} == 1) {{ @squeeze(x, axis={axis}) }} else {{ x }}"]
        decided += [f"if ({size} > {draw.randint(1, 3)}) {{ @sum({x}, axis=0) }} else {{ {x} }}"]
        lines.append(f"let v{at} = {draw.choice(decided)}")
        names.append(f"v{at}")
    for at in range(draw.randint(1, 3)):
        x, y = draw.choice(names[2:]), draw.choice(names)
        k, m = draw.randint(1, 4), draw.randint(0, 1)
        follows = [f"@matmul({x}, @ones([{k}, 2], dtype=float32))", f"{x} + {y}", f"@concat([{x}, {y}], axis={m})"]
        follows += [
            f"@reshape({x}, [-1])",
            f"@sum({x}, axis={m})",
            f"@swapaxes({x}, 0, 1)",
            f"{x} * @ones([{k}], dtype=float32)",
        ]
        lines.append(f"let w{at} = {draw.choice(follows)}")
        names.append(f"w{at}")
    body = "\n  ".join((*lines, names[-1]))
    return f"@f = fn(x : Tensor([a, b], float32), z : Tensor([c, 1, 1], float32)) {{\n  {body}\n}}\n"


def test_programs_with_ranks_that_sizes_decide_run_as_is_told() -> None:
    for case in fuzz.cases("ranks that sizes decide, programs"):
        with case as seed:
            assert_program(program(Random(seed)))


def assert_program(text: str) -> None:
    report = rxlang.check_source(text, allow_empty=True)
    assert report.checked is not None, text
    [told] = [f for f in report.checked.shapes if f.name == "@f"]
    [asked] = report.checked.conditions
    if not report.ok:
        return
    module = rxlang.loads(text, allow_empty=True)
    for at in sizes():
        given = np.ones((at["a"], at["b"]), np.float32), np.ones((at["c"], 1, 1), np.float32)
        accepted = all(holds_at(c.text, at) for c in asked.conditions)
        try:
            made = module.f(*given)
        except rxlang.ShapeError:
            assert not accepted or asked.left, (at, text, asked)
            assert report.counts.residual, (at, text)  # what is proved in all cases does not fail
            continue
        assert accepted or not asked.exact, (at, text, asked)
        assert told.result is not None
        assert_has_shape(told.result.shape, told.result.cases, at, np.shape(made), text)
        named = module.f.shapes(x=(at["a"], at["b"]), z=(at["c"], 1, 1))
        assert tuple(map(int, named)) == np.shape(made), (at, text, named)
    fuzz.count("ranks that sizes decide, programs", "unknown", _is_open(told.result))


def squeezed(path: Path, nodes: list[Any], shape: list[Any], declared: Any = None, **held: Any) -> Path:
    """A model that squeezes `x` to `q`, and nodes behind that, to `y`."""
    constants = [numpy_helper.from_array(np.asarray(v), n) for n, v in held.items()]
    inputs, outputs = [value("x", FLOAT, shape)], [value("y", FLOAT, declared)]
    nodes = [node("Squeeze", ["x"], ["q" if nodes else "y"], name="Squeeze_0"), *nodes]
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def told(cases: tuple[Case, ...]) -> list[tuple[str | None, tuple[Any, ...]]]:
    return [(case.when, case.shape) for case in cases]


def test_a_squeeze_without_axes_has_a_shape_for_each_case(tmp_path: Path) -> None:
    path = squeezed(tmp_path / "m.onnx", [], ["b", "c", 1, 1], ["b", "c"])
    said = check_model(path, str(path)).contract
    assert said is not None and not said.conditions and not said.undecided
    assert said.outputs[0].shape is None and told(said.outputs[0].cases) == [
        ("b != 1 && c != 1", ("b", "c")), ("b == 1 && c != 1", ("c",)), ("b != 1 && c == 1", ("b",)),
        ("b == 1 && c == 1", ()),
    ]  # fmt: skip
    assert read_contract(contract_text(said)) == said
    wrong = [d.message for d in rxlang.onnx.infer(path).diagnostics if d.code == "E248"]
    assert wrong[0].startswith("`y` is declared with rank 2, and has 1 where b == 1 && c != 1") and len(wrong) == 3


def test_what_all_cases_need_is_a_condition_and_a_case_that_fails_is_another(tmp_path: Path) -> None:
    weights = np.ones((8, 3), np.float32)
    behind = [
        node("MatMul", ["q", "w"], ["m"], name="Product"),
        node("Transpose", ["m"], ["y"], name="Turn", perm=[1, 0]),
    ]
    path = squeezed(tmp_path / "m.onnx", behind, ["b", "c", 1, 1], w=weights)
    found = check_model(path, str(path))
    assert found.contract is not None and not found.contract.undecided
    assert {c.condition for c in found.contract.conditions} == {"c == 8", "b != 1"}
    assert found.contract.outputs[0].shape == (3, "b")
    for b, c in product((1, 2), (1, 7, 8)):
        arrived = check_model(path, str(path), at=[f"b={b}", f"c={c}"]).at
        assert arrived is not None and (arrived.failure is None) == (b == 2 and c == 8), (b, c)


def test_a_rank_that_sizes_decide_stays_unknown_in_a_model_that_is_written(tmp_path: Path) -> None:
    path = squeezed(tmp_path / "m.onnx", [node("Relu", ["q"], ["y"])], ["b", 8, 1, 1])
    found = rxlang.onnx.infer(path)
    assert found.values["q"].shape is None and all(n.status == "success" for n in found.nodes)
    found.write(tmp_path / "out.onnx")
    assert not onnx.load(tmp_path / "out.onnx").graph.output[0].type.tensor_type.HasField("shape")


def test_a_rank_that_data_decides_has_the_shapes_of_both_arms(tmp_path: Path) -> None:
    arms = {
        f"{name}_branch": helper.make_graph([one], name, [], [value(f"{name}_y", FLOAT, None)])
        for name, one in (
            ("then", node("ReduceSum", ["x"], ["then_y"], keepdims=0)), ("else", node("Neg", ["x"], ["else_y"]))
        )
    }  # fmt: skip
    inputs = [value("x", FLOAT, ["n", "m"]), value("p", BOOL, [])]
    graph = helper.make_graph([node("If", ["p"], ["y"], **arms)], "g", inputs, [value("y", FLOAT, [])])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    found = rxlang.onnx.infer(path)
    assert sorted(told(found.values["y"].cases)) == [(None, ()), (None, ("n", "m"))]
    assert "is declared with rank 0, and has 2 in one arm of an `if`" in found.diagnostics[0].message


HEAD = """@head = fn(x : Tensor([b, 8, 1, 1], float32), w : Tensor([5, 8], float32)) : Tensor {
  @linear(@squeeze(x), w)
}
"""


def test_what_holds_in_every_case_is_proved_and_gone() -> None:
    report = rxlang.check_source(HEAD)
    assert report.ok and not report.counts.residual and not [d for d in report.diagnostics if d.is_wrong]
    module = rxlang.loads(HEAD)
    weights = np.ones((5, 8), np.float32)
    assert module.head(np.ones((3, 8, 1, 1), np.float32), weights).shape == (3, 5)
    assert module.head(np.ones((1, 8, 1, 1), np.float32), weights).shape == (5,)
    found = module.head.shapes(x=("k", 8, 1, 1), w=(5, 8))
    assert [(list(map(str, shape)), shape.conditions) for shape in found] == [
        (["k", "5"], ("k != 1",)), (["5"], ("k == 1",))]  # fmt: skip
    assert tuple(module.head.shapes(x=(1, 8, 1, 1), w=(5, 8))) == (5,)


@pytest.mark.parametrize(
    ("body", "only"),
    [
        ("@sum(@squeeze(x), axis=1)", "b != 1"),
        ("@squeeze(x) + @ones([b, 4], dtype=float32)", "b == 1 or b == 4"),
        ("@concat([@squeeze(x), @ones([2, 4], dtype=float32)], axis=0)", "b != 1"),
        (
            "if (b > 2) { @sum(@sum(x, axis=2), axis=1) } else { @squeeze(x, axis=2) } @ @ones([4, 2], dtype=float32)",
            "",
        ),
    ],
)
def test_what_fails_in_one_case_holds_only_in_the_others_and_no_fix_is_for_one_case(body: str, only: str) -> None:
    report = rxlang.check_source(f"@f = fn(x : Tensor([b, 4, 1], float32)) : Tensor {{ {body} }}\n")
    assert report.ok or not only
    for said in report.told if only else ():
        assert said.code != "W311" or (f"this holds only if {only}" in said.message and not said.edits), said.message


def test_more_ranks_than_8_are_unknown() -> None:
    text = "@f = fn(x : Tensor([a, b, c, d], float32)) : Tensor { @squeeze(x) }\n"
    report = rxlang.check_source(text)
    assert report.checked is not None
    [shapes] = report.checked.shapes
    assert shapes.result is not None and shapes.result.shape is None and not shapes.result.cases


def test_a_case_whose_condition_is_hard_keeps_its_demands() -> None:
    """That no sizes were found for a case is no proof that there are none."""
    report = rxlang.check_source("""@main = fn(x : Tensor([n, 1, h, w], float32)) {
      @squeeze(@reshape(@max_pool(x, [2, 2], strides=[2, 2]), [-1, 48]))
    }""")
    assert report.ok and report.counts.residual >= 2
    module = rxlang.loads("""@main = fn(x : Tensor([n, 1, h, w], float32)) {
      @squeeze(@reshape(@max_pool(x, [2, 2], strides=[2, 2]), [-1, 48]))
    }""")
    with pytest.raises(rxlang.ShapeError):
        module.main(np.ones((1, 1, 2, 2), np.float32))


@pytest.mark.parametrize(
    ("body", "condition"),
    [
        ("x[@arange(@squeeze(x).dim(0))]", "a != 1 or b == 1"),
        ("@reshape(x, [@squeeze(x).dim(0), b])", "a != 1 or b == 1"),
        ("@squeeze(x)[0]", "a == 1 && b == 1"),
    ],
)
def test_what_fails_in_one_case_refuses_nobody_else(body: str, condition: str) -> None:
    report = rxlang.check_source(f"@f = fn(x : Tensor([a, b], float32)) : Tensor {{ {body} }}")
    assert report.ok
    [said] = [d for d in report.diagnostics if d.severity == "warning"]
    assert condition in " ".join(said.message.split())


def test_an_element_of_a_shape_that_may_be_empty_is_no_division_by_zero(tmp_path: Path) -> None:
    nodes = [node("Squeeze", ["x"], ["y"]), node("Shape", ["y"], ["s"]), node("Gather", ["s", "zero"], ["z"])]
    zero = numpy_helper.from_array(np.array(0, np.int64), "zero")
    graph = helper.make_graph(
        nodes, "g", [value("x", FLOAT, ["a", "b"])], [value("z", TensorProto.INT64, None)], [zero]
    )
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    found = check_model(path, path.name).contract
    assert found is not None
    [condition] = found.conditions
    for a, b in product(range(4), repeat=2):
        assert holds_at(condition.condition, {"a": a, "b": b}) == ((a, b) != (1, 1))


@pytest.mark.parametrize("axes", [2, 3])
def test_each_case_of_another_rank_than_declared_is_told(axes: int, tmp_path: Path) -> None:
    names = ["a", "b", "c"][:axes]
    product_of = [node("MatMul", ["q", "w"], ["y"], name="MatMul_0")]
    weights = {"w": np.ones((5, 3), np.float32)}
    path = squeezed(tmp_path / "m.onnx", product_of, [1, *names, 5], [*names, 3], **weights)
    wrong = [d.message for d in rxlang.onnx.infer(path).diagnostics if d.code == "E248"]
    assert len(wrong) == 2**axes - 1, wrong


TUPLES = """@f = fn(x : Tensor([a, b], float32)) { let y = @squeeze(x)
  ((y, @sum(y)), x, @squeeze(@expand_dims(x[:1], axis=0))) }"""


def test_parts_of_a_tuple_have_their_cases() -> None:
    module = rxlang.loads(TUPLES)
    found = module.f.shapes(x=("a", "b"))
    checked = rxlang.check_source(TUPLES).checked
    assert checked is not None
    [told] = [f.result for f in checked.shapes if f.name == "@f"]
    assert told is not None
    parts = (*told.items[0].items, *told.items[1:])
    for at in ({"a": a, "b": b} for a, b in product(range(4), repeat=2)):
        (y, total), x, z = module.f(np.zeros((at["a"], at["b"]), np.float32))
        for part, made in zip(parts, (y, total, x, z), strict=True):
            assert_has_shape(part.shape, part.cases, at, np.shape(made), TUPLES)
        fitting = {tuple(size_at(str(size), at) for size in shape) for shape in found[0][0] if
                   holds_at(shape.conditions[0], at)}  # fmt: skip
        assert fitting == {np.shape(y)}
    assert str((found[0][1], found[1])) == "((), (Size('a'), Size('b')))"
