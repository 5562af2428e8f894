"""A model that was imported gives what running the model gives, bit for bit."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import rxlang

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from rxlang.cli.main import invoke  # noqa: E402
from rxlang.frontends.onnx.reading import read_model  # noqa: E402
from rxlang.frontends.onnx.translate import translate  # noqa: E402
from rxlang.lang.diagnostics import RxError  # noqa: E402
from rxlang.lang.formatter import format_source  # noqa: E402
from rxlang.lang.source import Source  # noqa: E402
from support import fuzz  # noqa: E402

# How many of ONNX's own node tests are tried.
TRIED = fuzz.tries("node tests imported")
# What draws random numbers gives others the next time.
DRAWING = {"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"}
REFUSED = (RxError, rxlang.CheckError, rxlang.ShapeError)


def node_tests() -> list[Any]:
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [t for t in load_model_tests(kind="node") if t.data_sets]
    return Random(0).sample(found, min(TRIED, len(found)))


def same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    a, b = np.asarray(a), np.asarray(b)
    return (
        (a.shape, a.dtype) == (b.shape, b.dtype) and a.tobytes() == b.tobytes()
        if a.dtype != object
        else np.array_equal(a, b)
    )


def imported(path: Path, folder: Path) -> Any:
    assert invoke(["import", str(path), "-o", str(folder)]) == 0
    return rxlang.load(folder / f"{path.stem}.rx", allow_empty=True)


def test_what_is_imported_gives_what_the_model_gives(tmp_path: Path) -> None:
    compared = 0
    for number, test in enumerate(node_tests()):
        path = tmp_path / f"{number}.onnx"
        onnx.save(test.model, path)
        if any(node.op_type in DRAWING for node in test.model.graph.node):
            continue
        try:
            right = rxlang.load(path, allow_empty=True).main(*test.data_sets[0][0])
        except (*REFUSED, TypeError, ValueError):
            continue  # no operator, or no argument, that Rx has
        assert same(right, imported(path, tmp_path / "out").main(*test.data_sets[0][0])), test.name
        compared += 1
    assert compared >= TRIED // 3


def layered(tmp_path: Path) -> Path:
    """A model of weights of several dtypes, an If that sees what is around it, a function and a Loop."""
    random = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(random.standard_normal((5, 300)).astype(np.float32), "layer.0/weight"),
        numpy_helper.from_array(random.standard_normal((300,)).astype(np.float16), "half"),
        numpy_helper.from_array(np.arange(100, dtype=np.int64).reshape(2, 50), "int"),
    ]

    def branch(name: str, operator: str) -> Any:
        made = helper.make_node(operator, ["m"], [f"{name}.y"])
        return helper.make_graph(
            [made], name, [], [helper.make_tensor_value_info(f"{name}.y", TensorProto.FLOAT, None)]
        )

    nodes = [
        helper.make_node("MatMul", ["x", "layer.0/weight"], ["m"]),
        helper.make_node(
            "If", ["on"], ["chosen"], then_branch=branch("then", "Relu"), else_branch=branch("else", "Neg")
        ),
        helper.make_node("Cast", ["half"], ["whole"], to=TensorProto.FLOAT),
        helper.make_node("Scaled", ["chosen", "whole"], ["y"], domain="local"),
        helper.make_node("ReduceSum", ["int"], ["sum"], keepdims=0),
    ]
    body = [helper.make_node("Mul", ["a", "b"], ["c"]), helper.make_node("Tanh", ["c"], ["d"])]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    function = helper.make_function("local", "Scaled", ["a", "b"], ["d"], body, opsets[:1])
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g",
        [info("x", TensorProto.FLOAT, ["n", 5]), info("on", TensorProto.BOOL, [])],
        [info("y", TensorProto.FLOAT, None), info("sum", TensorProto.INT64, None)], weights,
    )  # fmt: skip
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=8), path)
    return path


@pytest.mark.parametrize("on", [True, False])
def test_weights_branches_and_functions_are_imported(tmp_path: Path, on: bool) -> None:
    path = layered(tmp_path)
    x = np.linspace(-1, 1, 15, dtype=np.float32).reshape(3, 5)
    right = rxlang.load(path).main(x, np.array(on))
    assert same(right, imported(path, tmp_path / "out").main(x, np.array(on)))
    held = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    chosen = x @ held["layer.0/weight"]
    chosen = np.maximum(chosen, 0) if on else -chosen
    assert np.allclose(right[0], np.tanh(chosen * held["half"].astype(np.float32)), atol=1e-5)
    assert right[1] == 4950


def test_the_program_is_the_model_s_with_weights_from_beside_it(tmp_path: Path) -> None:
    path = layered(tmp_path)
    imported(path, tmp_path / "out")
    source = translate(read_model(path), keeps_functions=True).source
    program = (tmp_path / "out" / "model.rx").read_text()
    said = re.compile(r"^(const \w+) : Tensor\(.*\) = ", re.MULTILINE)  # of its own weights a model says no types
    assert len(said.findall(program)) == source.text.count("\nconst ") > 1
    loaded = source.text.replace('load("model.onnx", ', 'load("model.safetensors", ')
    assert said.sub(r"\1 = ", program) == format_source(Source("model.rx", loaded))[0]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["model.rx", "model.safetensors"]


def test_names_are_the_models_own_made_legal(tmp_path: Path) -> None:
    path = layered(tmp_path)
    imported(path, tmp_path / "out")
    program = (tmp_path / "out" / "model.rx").read_text()
    assert "@main = fn(x : Tensor([n, 5], float32), on : Tensor([], bool))" in program
    assert "layer_0_weight" in program or "weight" in program
    for word in ("m", "chosen", "y"):
        assert f"let {word} = " in program


def test_what_the_model_calls_otherwise_is_said_beside_what_it_is_called_here(tmp_path: Path) -> None:
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["let", "n"]) for n in ("input.1", "input_1")]
    node = helper.make_node("Add", ["input.1", "input_1"], ["été/out"])
    output = helper.make_tensor_value_info("été/out", TensorProto.FLOAT, ["let", "n"])
    graph = helper.make_graph([node], "g", inputs, [output])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), tmp_path / "model.onnx")
    imported(tmp_path / "model.onnx", tmp_path / "out")
    head = (tmp_path / "out" / "model.rx").read_text().splitlines()[1:4]
    assert head == [
        "# inputs: input_1 is `input.1`, input_1_2 is `input_1`",
        "# outputs: t__out is `été/out`",
        "# sizes: let_2 is `let`",
    ]


def constant(form: str, count: int) -> tuple[Any, np.ndarray]:
    """A model that gives a constant of so many elements in one of the forms that ONNX has, and what it gives."""
    numbers = {
        "value_ints": np.arange(count), "value_floats": np.arange(count, dtype=np.float32) / 4,
        "value_strings": np.array([f"t{n}" for n in range(count)], dtype=object),
    }  # fmt: skip
    opsets, functions = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)], []
    texts = helper.make_tensor("t", TensorProto.STRING, [count], [f"t{n}".encode() for n in range(count)])
    dense = np.where(np.arange(count) % 3, 0, np.arange(count)).astype(np.float32)
    held = numpy_helper.from_array(dense[::3], "y")
    sparse = helper.make_sparse_tensor(held, numpy_helper.from_array(np.arange(0, count, 3), "at"), [count])
    nodes, initializers, made = [], [], numbers.get(form, dense)
    match form:
        case "texts":
            initializers, made = [texts], numbers["value_strings"]
            nodes = [helper.make_node("Identity", ["t"], ["y"])]
        case "text of a node":
            nodes, made = [helper.make_node("Constant", [], ["y"], value=texts)], numbers["value_strings"]
        case "sparse_value":
            nodes = [helper.make_node("Constant", [], ["y"], sparse_value=sparse)]
        case "sparse":
            nodes = [helper.make_node("Identity", ["y"], ["z"])]
        case "attribute of a function":
            constant, made = helper.make_node("Constant", [], ["y"]), numbers["value_ints"]
            said = {"name": "value_ints", "ref_attr_name": "given", "type": onnx.AttributeProto.INTS}
            constant.attribute.append(onnx.AttributeProto(**said))
            functions = [helper.make_function("own", "F", [], ["y"], [constant], opsets[:1], ["given"])]
            nodes = [helper.make_node("F", [], ["y"], domain="own", given=made.tolist())]
        case _:
            nodes = [helper.make_node("Constant", [], ["y"], **{form: made.tolist()})]
    type_ = {"i": TensorProto.INT64, "f": TensorProto.FLOAT, "O": TensorProto.STRING}[made.dtype.kind]
    name = "z" if form == "sparse" else "y"
    graph = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info(name, type_, [count])], initializers)
    graph.sparse_initializer.extend([sparse] if form == "sparse" else [])
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=10), made


FORMS = (
    "value_ints", "value_floats", "value_strings", "texts", "text of a node", "sparse_value", "sparse",
    "attribute of a function",
)  # fmt: skip


@pytest.mark.parametrize("count", [3, 65, 300])
@pytest.mark.parametrize("form", FORMS)
def test_a_constant_is_the_same_in_every_form_however_long_it_is(tmp_path: Path, form: str, count: int) -> None:
    model, wanted = constant(form, count)
    onnx.save(model, tmp_path / "model.onnx")
    for module in (rxlang.load(tmp_path / "model.onnx"), imported(tmp_path / "model.onnx", tmp_path / "out")):
        assert module.main().tolist() == wanted.tolist()
