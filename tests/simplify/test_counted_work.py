"""How much is done for what is large: bits of numbers, whole checks of a model, decoded elements, walked bodies."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.fixes.numbers.screen import Screen
from rxlang.fixes.tree import TextTree
from rxlang.lang.source import Source
from rxlang.ops.model import TensorInfo
from rxlang.simplify import propagate
from rxlang.simplify.on_shapes import ArgumentShape
from rxlang.simplify.solver.terms import MOST_BITS
from support import fuzz

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from rxlang.lang import onnx_weights  # noqa: E402
from rxlang.model import tried  # noqa: E402
from rxlang.model.check import check_model  # noqa: E402

# Numbers

# What makes a row longer by its own length, and the bits of it twice as many.
_GROWS = (
    "@repeat(x, x.dim(0), axis=0)", "@tile(x, [x.dim(0)])", "@reshape(@broadcast_to(x, [x.dim(0), x.dim(0)]), [-1])",
    "@reshape(@reshape(x, [-1, 1]) * @reshape(x, [1, -1]), [-1])", '@reshape(@einsum("a,b->ab", [x, x]), [-1])',
    "@pad(@tile(x, [x.dim(0)]), [(x.dim(0), 1)])", "@concat([@tile(x, [x.dim(0)]), x], axis=0)",
    "@repeat(@concat([x, x], axis=0), x.dim(0), axis=0)",
)  # fmt: skip
_LINES = 14  # of a row of 3 elements: in the end the last ones have some ten thousand bits


def growing(draw: Random) -> str:
    lines = "".join(f"  let x = {draw.choice(_GROWS)}\n" for _ in range(_LINES))
    return f"@f = fn(x : Tensor([n], float32)) : Tensor {{\n{lines}  @matmul(x, @zeros([4, 4], float32))\n}}\n"


def bits(value: object) -> int:
    sizes = value.shape if isinstance(value, TensorInfo) else (value,)
    return max((size.bit_length() for size in sizes if isinstance(size, int)), default=0)


def test_no_number_that_helps_and_replays_make_is_longer_than_a_size_may_be() -> None:
    for case in fuzz.cases("sizes that grow"):
        with case as seed:
            text = growing(Random(seed))
            tree = TextTree(Source("grows.rx", text))
            decl = tree.function("f")
            assert decl is not None
            screen = Screen(tree, decl)
            assert max(bits(value) for env in screen.before for value in env.values()) <= MOST_BITS
            checked = pipeline.check_text(text, "grows.rx", Path()).checked
            assert checked is not None
            short = text.replace("  @matmul(x, @zeros([4, 4], float32))", "  x")
            checked = pipeline.check_text(short, "grows.rx", Path()).checked
            assert checked is not None
            (value, _, _), _ = pipeline.call_on_shapes(checked, "f", {"x": ArgumentShape((3,))})
            assert isinstance(value, TensorInfo) and len(value.shape) <= 1 and bits(value) <= MOST_BITS


def test_a_size_below_the_limit_is_known(tmp_path: Path) -> None:
    checked = rx.check_source("@f = fn(x : Tensor([n], float32)) : Tensor { @tile(@tile(x, [x.dim(0)]), [2]) }").checked
    assert checked is not None
    (value, _, _), _ = pipeline.call_on_shapes(checked, "f", {"x": ArgumentShape((2**2000,))})
    assert isinstance(value, TensorInfo) and value.shape == (2**4001,)


# Whole checks of a model


def saved(path: Path, nodes: list[Any], inputs: dict[str, list[Any]], weights: tuple[Any, ...] = ()) -> Path:
    given = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in inputs.items() if n != "c"]
    given += [helper.make_tensor_value_info("c", TensorProto.BOOL, [])] * ("c" in inputs)
    gives = [helper.make_empty_tensor_value_info(nodes[-1].output[0])]
    graph = helper.make_graph(nodes, "g", given, gives, list(weights))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    made.ir_version = 8
    onnx.save(made, path)
    return path


def choices(count: int, result: str = "") -> list[Any]:
    """Ifs in a row whose arms differ in rank; what follows works with either."""
    nodes, last = [], "x"
    for i in range(count):
        graphs = {}
        for arm, op in (("then_branch", "Squeeze"), ("else_branch", "Identity")):
            name = f"{arm[:4]}{i}"
            made = [helper.make_node(op, [last, *["ax"] * (op == "Squeeze")], [name])]
            graphs[arm] = helper.make_graph(made, name, [], [helper.make_empty_tensor_value_info(name)])
        nodes.append(helper.make_node("If", ["c"], [f"i{i}"], **graphs))
        nodes.append(helper.make_node("Relu", [f"i{i}"], [f"r{i}"]))
        last = "x" if i % 2 else f"r{i}"
    return [*nodes, helper.make_node("Relu", [f"r{count - 1}"], [result or "y"])]


def inside(nodes: list[Any]) -> list[Any]:
    """The same in the arms of another choice."""
    arms = {
        name: helper.make_graph(nodes, name, [], [helper.make_empty_tensor_value_info(nodes[-1].output[0])])
        for name in ("then_branch", "else_branch")
    }
    return [helper.make_node("If", ["c"], ["z"], **arms)]


@pytest.mark.parametrize("nested", [False, True])
def test_a_model_is_checked_as_often_for_many_arms_as_for_two(
    nested: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []
    check = tried.check_loaded
    monkeypatch.setattr(tried, "check_loaded", lambda *args: done.append(1) or check(*args))
    axis = numpy_helper.from_array(np.array([0]), "ax")

    def checks(count: int) -> int:
        done.clear()
        nodes = inside(choices(count)) if nested else choices(count)
        path = saved(tmp_path / f"{count}.onnx", nodes, {"x": [1, "n", 3], "c": []}, (axis,))
        assert check_model(path, path.name).contract is not None
        return len(done)

    assert 1 <= checks(8) == checks(2) <= 8


# Operands and elements


@pytest.mark.parametrize("op", ["Sum", "Max", "Min", "Mean"])
def test_two_hundred_operands_are_taken_from_the_left_to_the_right(op: str, tmp_path: Path) -> None:
    names = [f"x{i}" for i in range(40)] * 5
    path = saved(tmp_path / "m.onnx", [helper.make_node(op, names, ["y"])], {n: [3] for n in names})
    draw = np.random.default_rng(0)
    given = {n: draw.normal(size=3).astype(np.float32) for n in dict.fromkeys(names)}
    folds = {"Sum": np.add, "Mean": np.add, "Max": np.maximum, "Min": np.minimum}
    wanted = given[names[0]]
    for name in names[1:]:
        wanted = folds[op](wanted, given[name])
    made = rx.load(path).main(**given)
    assert (made == (wanted / np.float32(200) if op == "Mean" else wanted)).all()


@pytest.mark.parametrize("form", ["value_ints", "value_floats", "int64_data", "float_data"])
def test_elements_of_a_long_list_are_counted_and_not_decoded(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 5_000
    values = [(-1) ** i * i**3 for i in range(count)]
    if form.startswith("value"):
        constant = helper.make_node(
            "Constant", [], ["c"], **{form: values if form == "value_ints" else [*map(float, values)]}
        )
    else:
        kind = TensorProto.INT64 if form == "int64_data" else TensorProto.FLOAT
        constant = helper.make_node("Constant", [], ["c"], value=helper.make_tensor("c", kind, [count], values))
    path = saved(tmp_path / "m.onnx", [constant, helper.make_node("Cast", ["c"], ["y"], to=1)], {"x": ["n"]})
    decoded: list[int] = []
    numbers, elements = onnx_weights._numbers, onnx_weights._elements
    monkeypatch.setattr(onnx_weights, "_numbers", lambda *args: (decoded.append(n) or n for n in numbers(*args)))
    monkeypatch.setattr(onnx_weights, "_elements", lambda *args: (decoded.append(0) or n for n in elements(*args)))
    contract = check_model(path, path.name).contract
    assert contract is not None and contract.outputs[0].shape == (count,) and len(decoded) < 100
    assert (rx.load(path).main(np.ones(1, np.float32)) == np.array(values, np.float32)).all()


# Functions


def test_what_is_known_of_very_many_functions_is_found_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(
        f"@f{i} = fn(x : Tensor([n, {i + 2}], float32)) {{ let y = @reshape(x, [-1, 4]); y + {i}.0 }}\n"
        for i in range(9)
    )
    kept = rx.check_source(text).checked
    monkeypatch.setattr(propagate, "_MOST_KEPT", 3)
    forgotten = rx.check_source(text).checked
    assert kept is not None and forgotten is not None
    assert forgotten.shapes == kept.shapes and len(kept.shapes) == 9
    assert str(forgotten.demands) == str(kept.demands) and str(forgotten.conditions) == str(kept.conditions)
    assert str(forgotten.explain("y")) == str(kept.explain("y"))
    assert forgotten.counts == kept.counts and forgotten.steps == kept.steps


def twice(levels: int, body: str, calls: int = 2) -> str:
    lines = [f"@f0 = fn(x) {{ {body} }}"]
    for i in range(levels):
        lines.append(f"@f{i + 1} = fn(x) {{ {f'@f{i}(' * calls}x{')' * calls} }}")
    return "\n".join(
        (*lines, f"@main = fn(x : Tensor([n, 3], float32)) : Tensor([n, 3], float32) {{ @f{levels}(x) }}\n")
    )


@pytest.mark.parametrize("body", ["x + 1.0", "@softmax(x, axis=0)", "x * x"])
def test_a_dtype_is_known_behind_calls_that_double(body: str) -> None:
    report = rx.check_source(twice(35, body))
    assert all("main" not in d.message for d in report.diagnostics)
    steps = [rx.check_source(twice(levels, body)).checked for levels in (8, 16)]
    assert steps[0] is not None and steps[1] is not None
    assert steps[1].walked < 6 * steps[0].walked


def test_a_call_that_fails_is_told_beside_one_with_like_arguments() -> None:
    text = "@g = fn(x) { @reshape(x, [7]) }\n@f = fn(x : Tensor([3]), y : Tensor([3])) { (@g(x), @g(y)) }\n"
    assert [d.code for d in rx.check_source(text).diagnostics if d.severity == "error"] == ["E307", "E307"]


def many_weights(calls: int, weights: int) -> str:
    kinds = ", ".join(f"w{j} : Tensor([8], float32)" for j in range(weights))
    body = "".join(f" + w{j}" for j in range(weights))
    every = ", ".join(f"w{i}_{j} : Tensor([8], float32)" for i in range(calls) for j in range(weights))
    lines = [f"@block = fn(x : Tensor([b, t, 8], float32), {kinds}) : Tensor([b, t, 8], float32) {{ x{body} }}"]
    lines.append(f"@main = fn(y0 : Tensor([b, t, 8], float32), {every}) {{")
    for i in range(calls):
        lines.append(f"  let y{i + 1} = @block(y{i}, {', '.join(f'w{i}_{j}' for j in range(weights))})")
    return "\n".join((*lines, f"  y{calls}\n}}\n"))


@pytest.mark.parametrize(("calls", "weights"), [(100, 11), (20, 40)])
def test_calls_with_many_arguments_are_proved(calls: int, weights: int) -> None:
    assert rx.check_source(many_weights(calls, weights)).counts.residual == 0


def test_calls_with_many_arguments_cost_what_they_are_many() -> None:
    short, long = (rx.check_source(many_weights(calls, 11)).checked for calls in (20, 80))
    assert short is not None and long is not None and long.walked < 4.5 * short.walked
