"""Targets of reshapes that a model computes from the sizes of its input: what the contract takes runs, with the shapes that
were told, and as ONNX's reference has it; what a 0 among them means is not forgotten."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from support import fuzz

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from rxlang.model.check import check_model  # noqa: E402
from rxlang.simplify.solver.numbers import size_at  # noqa: E402

NAMES = "abc"


def model(draw: Random) -> tuple[Any, list[int | str]]:
    """An input of some axes and a reshape of it to products of their sizes, one of them less a number, numbers, a 0 or a -1."""
    dims: list[int | str] = ["a", *(draw.choice((name, name, 2)) for name in NAMES[1 : draw.randint(2, 3)])]
    axes = list(range(len(dims)))
    if draw.random() < 0.2:
        draw.shuffle(axes)
    groups: list[list[int]] = [[axes[0]]]
    for axis in axes[1:]:
        groups[-1].append(axis) if draw.random() < 0.5 else groups.append([axis])
    nodes, held, parts = [helper.make_node("Shape", ["x"], ["s"])], {}, []
    for i, group in enumerate(groups):
        held[f"at{i}"] = np.array(group, np.int64)
        nodes += [
            helper.make_node("Gather", ["s", f"at{i}"], [f"g{i}"]),
            helper.make_node("ReduceProd", [f"g{i}"], [f"p{i}"], keepdims=1),
        ]
        parts.append(f"p{i}")
    if draw.random() < 0.3:  # a size that may become a 0 or a -1, which nobody wrote
        at = draw.randrange(len(parts))
        held["less"] = np.array([draw.choice((1, 2))], np.int64)
        nodes.append(helper.make_node("Sub", [parts[at], "less"], ["fewer"]))
        parts[at] = "fewer"
    if draw.random() < 0.5:
        held["number"] = np.array([draw.choice((0, -1, 1, 2))], np.int64)
        parts[draw.randrange(len(parts))] = "number"
    nodes += [helper.make_node("Concat", parts, ["t"], axis=0), helper.make_node("Reshape", ["x", "t"], ["y"])]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in held.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), dims


def reference(made: Any, x: np.ndarray) -> tuple[int, ...] | None:
    """The shape that ONNX's own engine gives; None where it refuses."""
    try:
        return ReferenceEvaluator(made).run(None, {"x": x})[0].shape  # type: ignore[no-any-return]
    except ValueError:
        return None


def ran(module: Any, x: np.ndarray) -> tuple[int, ...] | None:
    try:
        return module.main(x).shape  # type: ignore[no-any-return]
    except rx.ShapeError:
        return None


def test_what_is_taken_runs_with_the_shapes_that_were_told_and_as_the_reference_has_it(tmp_path: Path) -> None:
    for case in fuzz.cases("computed targets"):
        with case as seed:
            examine(tmp_path / f"{seed}.onnx", *model(Random(seed)))


def examine(path: Path, made: Any, dims: list[int | str]) -> None:
    onnx.save(made, path)
    try:
        module = rx.load(path, allow_empty=True)
    except rx.CheckError:  # it never works: nor does the reference, but on nothing
        module = None
    sizes_told = rx.onnx.infer(path).values["y"].shape
    names = sorted({d for d in dims if isinstance(d, str)})
    for sizes in product((0, 1, 3), repeat=len(names)):
        given = dict(zip(names, sizes, strict=True))
        x = np.zeros([given.get(d, d) for d in dims], np.float32)  # type: ignore[arg-type, misc]
        wanted = reference(made, x)
        if module is None:
            assert wanted is None or has_marks(made, x), given
            continue
        found = check_model(path, str(path), at=[f"{name}={n}" for name, n in given.items()])
        shape = ran(module, x)
        if found.at is not None and found.at.failure is None:
            assert shape == wanted == at(sizes_told, given), given
        elif shape is None:
            assert wanted is None or has_marks(made, x), given
        else:
            assert shape == wanted == at(sizes_told, given), given


def has_marks(made: Any, x: np.ndarray) -> bool:
    """Whether the target may have a 0 or a -1 that nobody wrote, and that the reference takes for one that somebody did."""
    return x.size == 0 or any(node.op_type == "Sub" for node in made.graph.node)


def at(told: Any, given: dict[str, int]) -> tuple[int | str, ...]:
    """A shape that was told for names, at sizes."""
    return tuple(size_at(str(size), given) for size in told)


def placed() -> Any:
    """Every other row of the input, and as many learned positions as the model counts, which are as many where there is one."""
    held: dict[str, Any] = {
        "none": np.array([0]), "far": np.array([2**31 - 1]), "two": np.array([2]), "rest": np.array([-1]),
        "first": np.array(0), "one": np.array(1), "half": np.array(2),
        "table": np.ones((50, 16), np.float32), "weight": np.ones((16, 16), np.float32),
    }  # fmt: skip
    nodes = [
        helper.make_node("Slice", ["x", "none", "far", "none", "two"], ["halved"]),
        helper.make_node("Shape", ["x"], ["sizes"]),
        helper.make_node("Gather", ["sizes", "first"], ["rows"]),
        helper.make_node("Sub", ["rows", "one"], ["before"]),
        helper.make_node("Div", ["before", "half"], ["pairs"]),
        helper.make_node("Add", ["pairs", "one"], ["count"]),
        helper.make_node("Unsqueeze", ["count", "none"], ["counted"]),
        helper.make_node("Slice", ["table", "none", "counted", "none"], ["positions"]),
        helper.make_node("Add", ["halved", "positions"], ["placed"]),
        helper.make_node("Concat", ["counted", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["placed", "target"], ["viewed"]),
        helper.make_node("MatMul", ["viewed", "weight"], ["mixed"]),
        helper.make_node("Add", ["placed", "mixed"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in held.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_shapes_are_told_for_the_inputs_that_the_contract_takes(tmp_path: Path) -> None:
    path = tmp_path / "placed.onnx"
    onnx.save(placed(), path)
    contract = check_model(path, str(path)).contract
    assert contract is not None and not contract.undecided
    assert [c.condition for c in contract.conditions] == ["n <= 100", "n >= 1"]
    assert contract.outputs[0].shape == rx.onnx.infer(path).values["y"].shape == ("(n + 1) // 2", 16)
    module = rx.load(path, allow_empty=True)
    for n in (0, 1, 2, 7, 99, 100, 101):
        assert ran(module, np.zeros((n, 16), np.float32)) == (((n + 1) // 2, 16) if 0 < n <= 100 else None)


TURNED = """@f = fn(x : Tensor([a, b, c], float32)) : Tensor([a, c, b], float32) {{
  let t = @take(@shape(x), tensor([0, 2, 1], int64), axis=0)
  @onnx.reshape(x, t{computed})
}}"""


@pytest.mark.parametrize("computed", ["", ", computed=[]", ", computed=[1]", ", computed=[0, 1, 2]"])
def test_whatever_is_said_to_be_computed_what_a_reshape_promises_is_kept(computed: str) -> None:
    module = rx.loads(TURNED.format(computed=computed), allow_empty=True)
    for a, b, c in product((0, 1, 3), repeat=3):
        try:
            shape = module.f(np.zeros((a, b, c), np.float32)).shape
        except rx.ShapeError:
            assert 0 in (a, b, c)
        else:
            assert shape == (a, c, b)


def test_what_is_computed_are_axes_of_the_result() -> None:
    with pytest.raises(rx.CheckError, match="axes of the result, from 0 on"):
        rx.loads(TURNED.format(computed=", computed=[-1]"))
