"""Inference over models: shapes in the model's own names, policies, what is written back, rules and preludes, folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang
from rxlang.cli.main import invoke
from support.places import ROOT

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from rxlang.frontends.onnx.names import RESERVED  # noqa: E402
from rxlang.frontends.onnx.operators import registry  # noqa: E402
from rxlang.model.check import check_model  # noqa: E402
from rxlang.python import onnx as rx_onnx  # noqa: E402

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
Shape = list[int | str | None]


def value(name: str, shape: Shape | None, dtype: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def model(nodes: list[Any], inputs: list[Any], outputs: list[Any], constants: list[Any] = [], **more: Any) -> Any:  # noqa: B006
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants, **more)
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("com.acme", 3)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, producer_name="test")


def doubled(declared: Shape, sizes: Shape = ["batch-size", "n"]) -> Any:  # noqa: B006
    node = helper.make_node("Concat", ["x", "x"], ["y"], name="Join", axis=1)
    return model([node, helper.make_node("Relu", ["y"], ["z"])], [value("x", sizes)], [value("z", declared)])


def saved(made: Any, folder: Path) -> Path:
    path = folder / "model.onnx"
    onnx.save(made, path)
    return path


class Said:
    """What a command printed, and how it ended."""

    def __init__(self, exit_code: int, output: str) -> None:
        self.exit_code, self.output = exit_code, output


Run = Callable[..., Said]


@pytest.fixture
def rx(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: object) -> Said:
        code = invoke([str(w) for w in words])
        return Said(code, capsys.readouterr().out)

    return run


def dims(proto: Any, name: str) -> list[int | str]:
    infos = {v.name: v for v in (*proto.graph.value_info, *proto.graph.output)}
    return [d.dim_param or d.dim_value for d in infos[name].type.tensor_type.shape.dim]


def test_sizes_have_the_models_own_names() -> None:
    found = rx_onnx.infer(doubled([None, None]))
    assert found.ok
    assert found.values["y"].shape == ("batch-size", "n * 2")
    assert found.shape("y") == (rxlang.Size("batch_size"), rxlang.Size("2 * n"))
    assert [n.status for n in found.nodes] == ["success", "success"]


@pytest.mark.parametrize("name", sorted(RESERVED - {"None"}))  # which is no name
def test_a_size_that_is_called_like_a_word_of_the_language_is_read_in_expressions(name: str) -> None:
    node = helper.make_node("Concat", ["x", "x"], ["y"], axis=0)
    found = rx_onnx.infer(model([node], [value("x", [name, 3])], [value("y", None)]))
    (size, *_), (doubled, *_) = found.shape("x") or (), found.shape("y") or ()
    assert found.values["x"].shape == (name, 3)
    assert isinstance(size, rxlang.Size) and doubled == size * 2


@pytest.mark.parametrize(
    ("declared", "shape", "rows"),
    [
        ("2*N", "N * 2", "N"),
        ("(N + 1)*2", "N * 2 + 2", "N + 1"),
        ("4*N + 6", "N * 4 + 6", "N * 2 + 3"),
        ("N - 1", "N - 1", "(N + 1) // 2 - 1"),
    ],
)
def test_an_expression_over_one_name_that_stands_nowhere_else_is_read(declared: str, shape: str, rows: str) -> None:
    target = numpy_helper.from_array(np.array([-1, 8]), "target")
    nodes = [helper.make_node("Reshape", ["x", "target"], ["y"])]
    found = rx_onnx.infer(model(nodes, [value("x", [declared, 4])], [value("y", None)], [target]))
    assert (str(found.values["x"].shape[0]), str(found.values["y"].shape[0])) == (shape, rows)


@pytest.mark.parametrize("declared", ["N//2*2", "N*N", "5 - N", "2*N - N"])
def test_an_expression_that_does_not_tell_its_name_is_a_name(declared: str) -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    found = rx_onnx.infer(model([node], [value("x", [declared, 4])], [value("y", None)]))
    assert found.values["y"].shape == (declared, 4)


def test_a_name_that_would_read_as_a_difference_is_another_one_in_expressions() -> None:
    node = helper.make_node("Concat", ["x", "x"], ["y"], axis=0)
    found = rx_onnx.infer(model([node], [value("x", ["a-c", "a", "a_c"])], [value("y", None)]))
    (size, *others) = found.values["y"].shape or ()
    assert others == ["a", "a_c"]
    names = rxlang.Size(size).names
    assert len(names) == 1 and names[0] not in ("a", "a_c")


@pytest.mark.parametrize("nothing", ["?", "-1", "*", "None", "", -1])
def test_what_stands_for_an_unknown_size_is_no_name_of_one(nothing: Any, tmp_path: Path) -> None:
    dims = [nothing, 3, nothing]
    node = helper.make_node("Concat", ["x", "x"], ["y"], axis=2)
    path = saved(model([node], [value("x", dims)], [value("y", dims)]), tmp_path)
    found = rx_onnx.infer(path, "strict")
    assert found.ok and found.values["y"].shape == ("x_0", 3, "x_2 * 2")
    given = np.ones((2, 3, 5), np.float32)
    assert rxlang.load(path).main(given).shape == (2, 3, 10)


def test_the_shape_of_a_large_constant_is_known() -> None:
    def large(name: str) -> Any:
        return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.ones((7, 30), np.float32)))

    inner = helper.make_graph([large("c")], "inner", [], [value("c", [7, 30])])
    branch = helper.make_node("If", ["p"], ["z"], then_branch=inner, else_branch=inner)
    nodes = [large("w"), helper.make_node("MatMul", ["x", "w"], ["y"]), branch]
    inputs = [value("x", ["n", 7]), value("p", [], onnx.TensorProto.BOOL)]
    found = rx_onnx.infer(model(nodes, inputs, [value("y", ["n", 30]), value("z", [7, 30])]))
    assert "c" not in found.values  # two values are called so
    assert found.values["w"].is_whole and found.values["w"].shape == (7, 30)
    assert {node.status for node in found.nodes if node.op_type != "Constant"} == {"success"}


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (["batch-size", 7], "7"),
        (["batch-size", "n"], "`z` is declared with n in axis 1, and has n * 2"),
        ([3], "rank 1"),
    ],
)
def test_a_false_declaration_is_an_error_if_strict_and_else_a_warning(declared: Shape, said: str) -> None:
    strict, reconciled = (rx_onnx.infer(doubled(declared), policy) for policy in ("strict", "reconcile"))
    assert not strict.ok and reconciled.ok
    for found, severity in ((strict, "error"), (reconciled, "warning")):
        (one,) = found.diagnostics
        assert (one.severity, one.code) == (severity, "E248")
        assert said in one.message and "(Relu)" in one.message
    for policy in ("overwrite", "ignore"):
        assert rx_onnx.infer(doubled(declared), policy).diagnostics == ()


@pytest.mark.parametrize(
    "declared", [["batch-size", "2*n"], ["batch-size", "u0"], ["batch-size", "n + n"], [None, None]]
)
def test_a_true_declaration_is_none(declared: Shape) -> None:
    assert rx_onnx.infer(doubled(declared), "strict").diagnostics == ()


def test_what_is_false_in_a_graph_inside_is_told_at_its_node() -> None:
    def arm(name: str, op: str, declared: Shape) -> Any:
        return helper.make_graph([helper.make_node(op, ["x"], [name])], name, [], [value(name, declared)])

    def told(*declared: Shape) -> list[str]:
        arms = dict(zip(("then_branch", "else_branch"), map(arm, "ab", ("Relu", "Neg"), declared), strict=True))
        node = helper.make_node("If", ["p"], ["z"], **arms)
        inputs = [value("x", ["n", 3]), value("p", [], onnx.TensorProto.BOOL)]
        return [d.message for d in rx_onnx.infer(model([node], inputs, [value("z", None)]), "strict").diagnostics]

    assert told(["n", 3], [None, None]) == told(["m", 3], [7, 3]) == []  # sizes of which nothing is known there
    (rank,), (size,) = told([3], ["n", 3]), told(["n", 3], ["n", 4])
    assert "`a` is declared with rank 1, and has 2" in rank and "(Relu)" in rank
    assert "`b` is declared with 4 in axis 1, and has 3" in size and "(Neg)" in size


def test_a_declaration_that_what_the_model_demands_makes_true_is_true() -> None:
    node = helper.make_node("Concat", ["x", "y"], ["z"], axis=1)
    inputs = [value("x", ["n", 2]), value("y", ["m", 2])]
    assert rx_onnx.infer(model([node], inputs, [value("z", ["m", 4])]), "strict").diagnostics == ()
    node = helper.make_node("Add", ["x", "y"], ["z"])
    (said,) = rx_onnx.infer(model([node], inputs, [value("z", ["m", 2])]), "strict").diagnostics
    assert "m = 1, n = " in said.message  # the other operand is repeated there
    inputs = [value("x", ["n", 2]), value("y", [6, 2])]
    (said,) = rx_onnx.infer(model([node], inputs, [value("z", ["n", 2])]), "strict").diagnostics
    assert "is declared with n in axis 0, and has 6, for example at n = 1" in said.message


def declaring(name: str, shape: Shape, dtype: int = FLOAT) -> Any:
    """A model with `q = x @ t` of shape [n, n] in the middle and `y` at its end, one of which is declared so."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
        helper.make_node("MatMul", ["x", "t"], ["q"], name="Product"),
        helper.make_node("Sqrt", ["q"], ["y"], name="Root"),
    ]
    made = model(nodes, [value("x", ["n", 4])], [value("y", *((shape, dtype) if name == "y" else (None,)))])
    if name == "q":
        made.graph.value_info.append(value("q", shape, dtype))
    return made


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "said"),
    [
        ("q", ["n", 4], FLOAT, "`q` is declared with 4 in axis 1, and has n"),
        ("q", ["n"], FLOAT, "`q` is declared with rank 1, and has 2"),
        ("q", ["n", "n"], INT64, "`q` is declared with the dtype int64, and has float32"),
        ("y", ["n", 7], FLOAT, "`y` is declared with 7 in axis 1, and has n"),
        ("y", ["n", "n", 1], FLOAT, "`y` is declared with rank 3, and has 2"),
        ("y", ["n", "n"], TensorProto.DOUBLE, "`y` is declared with the dtype float64, and has float32"),
    ],
)
def test_check_tells_a_false_declaration_as_infer_does(
    name: str, shape: Shape | None, dtype: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(declaring(name, shape, dtype), tmp_path)
    (expected,) = [d for d in rx_onnx.infer(path).diagnostics if d.code == "E248"]
    for flags, severity, status in (((), "warning", 0), (("--strict",), "error", 1)):
        assert invoke(["check", str(path), "--format", "json", *flags]) == status
        (found,) = json.loads(capsys.readouterr().out)["diagnostics"]
        assert (found["code"], found["severity"], found["message"]) == ("E248", severity, expected.message)
        assert said in found["message"] and ("node Product" if name == "q" else "node Root") in found["message"]


def test_check_tells_no_declaration_that_what_the_model_demands_makes_true(tmp_path: Path) -> None:
    node = helper.make_node("Concat", ["x", "y"], ["z"], axis=1)
    inputs = [value("x", ["n", 2]), value("y", ["m", 2])]
    path = saved(model([node], inputs, [value("z", ["m", 4])]), tmp_path)
    assert "E248" not in {d.code for d in check_model(Path(path), "model.onnx").report.diagnostics}


def test_check_tells_what_is_false_in_a_graph_inside(tmp_path: Path) -> None:
    def arm(name: str, declared: Shape) -> Any:
        return helper.make_graph([helper.make_node("Neg", ["x"], [name])], name, [], [value(name, declared)])

    node = helper.make_node("If", ["p"], ["z"], then_branch=arm("a", ["n", 3]), else_branch=arm("b", ["n", 4]))
    inputs = [value("x", ["n", 3]), value("p", [], onnx.TensorProto.BOOL)]
    path = saved(model([node], inputs, [value("z", None)]), tmp_path)
    (said,) = check_model(Path(path), "model.onnx").report.diagnostics
    assert said.code == "E248" and said.message.startswith("`b` is declared with 4 in axis 1, and has 3")


@pytest.mark.parametrize("policy", ["overwrite", "ignore", "reconcile", "strict"])
def test_what_is_written_is_the_model_with_its_shapes(tmp_path: Path, policy: Any) -> None:
    made = doubled(["batch-size", "n"] if policy == "ignore" else ["batch-size", None])
    helper.set_model_props(made, {"kept": "yes"})
    source = saved(made, tmp_path)
    out = tmp_path / "deep" / "out.onnx"
    out.parent.mkdir()
    rx_onnx.infer(source, policy).write(out)
    proto = onnx.load(out)
    onnx.checker.check_model(proto)
    assert dims(proto, "y") == ["batch-size", "n * 2"]
    assert dims(proto, "z") == ["batch-size", "n" if policy == "ignore" else "n * 2"]
    assert (proto.ir_version, proto.producer_name, proto.metadata_props[0].key) == (8, "test", "kept")
    assert [(o.domain, o.version) for o in proto.opset_import] == [("", 18), ("com.acme", 3)]
    assert [p.name for p in out.parent.iterdir()] == ["out.onnx"]
    again = rx_onnx.infer(out, "overwrite" if policy == "ignore" else "strict")
    assert again.ok and again.values == rx_onnx.infer(source, "overwrite").values


@pytest.mark.parametrize(
    ("declared", "written", "is_false"),
    [([4], [3], True), ([1, 3], [3], True), (["k"], ["k"], False), ([3], [3], False), (None, [], False)],
)
def test_what_an_input_declares_of_its_default_is_held_against_it(
    tmp_path: Path, declared: Shape | None, written: Shape, is_false: bool
) -> None:
    inputs = [value("x", ["b", 3]), value("w", declared)]
    default = numpy_helper.from_array(np.ones(3, np.float32), "w")
    source = saved(model([helper.make_node("Add", ["x", "w"], ["y"])], inputs, [value("y", None)], [default]), tmp_path)
    for policy, ok in (("strict", not is_false), ("reconcile", True)):
        found = rx_onnx.infer(source, policy)  # type: ignore[arg-type]
        assert found.ok is ok and bool(found.diagnostics) is is_false
        found.write(tmp_path / "out.onnx")
        proto = onnx.load(tmp_path / "out.onnx")
        assert [d.dim_param or d.dim_value for d in proto.graph.input[1].type.tensor_type.shape.dim] == written
        assert not proto.graph.value_info


def test_a_value_that_is_declared_twice_is_held_against_both_and_written_into_both(tmp_path: Path) -> None:
    made = doubled(["batch-size", "2*n"])
    made.graph.value_info.extend([value("z", ["batch-size", "n"]), value("y", ["batch-size", "2*n"])])
    found = rx_onnx.infer(saved(made, tmp_path))
    assert [d.message.partition(",")[0] for d in found.diagnostics] == ["`z` is declared with n in axis 1"]
    found.write(tmp_path / "out.onnx")
    assert rx_onnx.infer(tmp_path / "out.onnx", "strict").ok


def test_what_axes_are_said_to_mean_is_kept(tmp_path: Path) -> None:
    made = doubled(["batch-size", None])
    for of in (made.graph.input[0], made.graph.output[0]):
        of.type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
        of.type.denotation = "TENSOR"
    rx_onnx.infer(saved(made, tmp_path)).write(tmp_path / "out.onnx")
    graph = onnx.load(tmp_path / "out.onnx").graph
    assert [d.denotation for d in graph.output[0].type.tensor_type.shape.dim] == ["DATA_BATCH", ""]
    assert graph.output[0].type.denotation == "TENSOR" and dims(onnx.load(tmp_path / "out.onnx"), "z")[1] == "n * 2"
    assert graph.input == made.graph.input


def external(folder: Path, numbers: list[float]) -> Path:
    weight = numpy_helper.from_array(np.array(numbers, np.float32), "w")
    made = model([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", ["n", 3])], [value("y", None)], [weight])
    folder.mkdir(exist_ok=True)
    path = folder / "model.onnx"
    onnx.save(made, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path


@pytest.mark.parametrize("copied", [True, False])
def test_external_data_is_beside_what_is_written(tmp_path: Path, rx: Run, copied: bool) -> None:
    source, out = external(tmp_path / "a", [1, 2, 3]), tmp_path / "b" / "out.onnx"
    out.parent.mkdir()
    said = rx("infer", source, "-o", out, *([] if copied else ["--link-data"]))
    assert said.exit_code == 0, said.output
    assert (
        rx("infer", source, "-o", out, *(["--copy-data"] if copied else ["--link-data"])).exit_code == 0
    )  # and once more
    data = out.parent / "weights.bin"
    assert data.samefile(source.parent / "weights.bin") is not copied
    if copied:
        assert onnx.load(source) and onnx.load(out)
    module = rxlang.load(out)
    assert np.array_equal(module.main(np.zeros((1, 3), np.float32)), [[1, 2, 3]])


def test_a_model_is_known_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = external(tmp_path, [1, 2, 3]).rename(tmp_path / "model")
    for command in (("infer",), ("import", "-o", str(tmp_path / "out")), ("check",), ("run",), ("shapes",)):
        assert invoke([command[0], str(path), *command[1:]]) == 2
        assert "ONNX models .onnx" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"ONNX models \.onnx"):
        rx_onnx.infer(path)


def test_another_models_data_is_never_overwritten(tmp_path: Path, rx: Run) -> None:
    source, other = external(tmp_path / "a", [1, 2, 3]), external(tmp_path / "b", [4, 5, 6])
    before = (other.parent / "weights.bin").read_bytes()
    for more in ([], ["--copy-data"], ["--link-data"]):
        said = rx("infer", source, "-o", other.parent / "out.onnx", *more)
        assert said.exit_code == 2
    assert (other.parent / "weights.bin").read_bytes() == before
    assert not (other.parent / "out.onnx").exists()


def test_json_is_what_its_schema_says(tmp_path: Path, rx: Run) -> None:
    path = saved(doubled(["batch-size", None]), tmp_path)
    said = json.loads(rx("infer", path, "--format", "json").output)
    schema = json.loads((ROOT / "docs" / "schema" / "infer.json").read_text())
    pytest.importorskip("jsonschema").validate(said, schema)
    assert said["values"]["y"] == {
        "shape": ["batch-size", "n * 2"],
        "dtype": "float32",
        "exactness": ["exact", "exact"],
    }
    assert [n["status"] for n in said["nodes"]] == ["success", "success"]
    assert set(said) == {"values", "nodes", "checks"}


def test_json_has_what_a_sequence_holds_and_the_bounds_of_sizes(tmp_path: Path, rx: Run) -> None:
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "x"], ["s"]),
        helper.make_node("NonZero", ["x"], ["k"]),
    ]
    outputs = [helper.make_tensor_sequence_value_info("s", FLOAT, None), value("k", [2, None], INT64)]
    path = saved(model(nodes, [value("x", ["n", 3])], outputs), tmp_path)
    said = json.loads(rx("infer", path, "--format", "json").output)
    schema = json.loads((ROOT / "docs" / "schema" / "infer.json").read_text())
    pytest.importorskip("jsonschema").validate(said, schema)
    assert said["values"]["s"]["element"] == {"shape": ["n", 3], "dtype": "float32", "exactness": ["exact"] * 2}
    assert said["values"]["k"]["bounds"] == [None, "n * 3"]


@pytest.mark.parametrize("asked", ["x.0=b", "*.0=b", "x.*=b"])
def test_what_is_written_has_the_sizes_that_were_made_symbols(asked: str, tmp_path: Path, rx: Run) -> None:
    node = helper.make_node("Concat", ["x", "x"], ["y"], axis=1)
    path = saved(model([node], [value("x", [1, None])], [value("y", None)]), tmp_path)
    out = tmp_path / "out.onnx"
    assert rx("infer", path, "--dynamic", asked, "-o", out, "--write").exit_code == 0
    proto = onnx.load(out)
    (given,) = proto.graph.input
    sizes = [d.dim_param or d.dim_value for d in given.type.tensor_type.shape.dim]
    assert sizes == (["b", "b"] if asked == "x.*=b" else ["b", "x_1"])
    assert dims(proto, "y") == ["b", f"{sizes[1]} * 2"]
    assert rx_onnx.infer(out, "strict").diagnostics == ()
    assert rx("check", out).exit_code == 0  # the contract in it is of the sizes that it declares


def test_a_node_that_never_works_is_told_with_its_input() -> None:
    add = helper.make_node("MatMul", ["x", "x"], ["y"], name="Product")
    found = rx_onnx.infer(model([add], [value("x", [2, 3])], [value("y", None)]))
    assert not found.ok
    assert [n.status for n in found.nodes] == ["invalid_node"]
    assert found.nodes[0].message


MALFORMED = {
    "Concat": (("x", "x"), {}), "Softmax": (("x",), {"axis": "one"}), "Cast": (("x",), {"to": 99}), "MatMul": (("x", ""), {}),
    "Transpose": (("x",), {"perm": 3}), "LeakyRelu": (("x",), {"alpha": "much"}), "Gelu": (("x",), {"approximate": 1}),
    "Gather": (("x", "x"), {"axis": 0.5}), "Constant": ((), {}), "Flatten": ((), {}), "GroupNormalization": (("x",), {}),
}  # fmt: skip


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("op_type", MALFORMED)
def test_of_a_model_with_a_malformed_node_the_rest_is_inferred(
    op_type: str, in_function: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs, attributes = MALFORMED[op_type]
    wrong = helper.make_node(op_type, list(inputs), ["m"], name="Wrong", **attributes)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    functions = []
    if in_function:
        functions = [helper.make_function("own", "F", ["x"], ["m"], [wrong], opsets)]
        wrong = helper.make_node("F", ["x"], ["m"], name="Wrong", domain="own")
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="Before"), wrong, helper.make_node("Neg", ["m"], ["n"], name="Behind"),
        helper.make_node("Transpose", ["a"], ["t"], name="Beside"),
    ]  # fmt: skip
    results = [value("m", ["q", 3]), value("n", None), value("t", None)]
    graph = helper.make_graph(nodes, "g", [value("x", ["b", "k"])], results)
    made = helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=10)
    found = rx_onnx.infer(made)
    assert [n.status for n in found.nodes] == ["success", "invalid_node", "missing_info", "success"]
    assert not found.ok and len(found.diagnostics) == 1 and op_type in str(found.nodes[1].message)
    assert found.values["t"].shape == ("k", "b") and found.values["n"].shape == ("?", 3)
    onnx.save(made, tmp_path / "m.onnx")
    for command in (("check",), ("run", "--arg", "x=float32[2,2]:ones"), ("import", "-o", str(tmp_path / "out"))):
        assert invoke([command[0], str(tmp_path / "m.onnx"), *command[1:]]) == 1
        assert "Wrong" in capsys.readouterr().err
    assert not (tmp_path / "out" / "m.rx").exists()


def test_declared_sizes_become_symbols() -> None:
    made = doubled([1, 6], [1, 3])
    assert rx_onnx.infer(made).values["z"].shape == (1, 6)
    assert rx_onnx.infer(made, dynamic=["x.0=b"]).values["z"].shape == ("b", 6)
    assert rx_onnx.infer(made, "strict", dynamic=["*.*"]).values["z"].shape == ("x_0", "x_1 * 2")
    for wrong in ("x", "y.0", "x.2=b", "x.0=2"):
        with pytest.raises(ValueError, match="y.0|x"):
            rx_onnx.infer(made, dynamic=[wrong])


def unknown(declared: Shape | None) -> Any:
    nodes = [
        helper.make_node("Foo", ["x"], ["a"], name="F1", domain="com.acme", alpha=2),
        helper.make_node("Foo", ["a"], ["b"], name="F2", domain="com.acme", alpha=3),
        helper.make_node("Concat", ["x", "x"], ["c"], axis=0),
    ]
    outputs = [value("b", declared), value("c", None)]
    return model(nodes, [value("x", ["n", 2])], outputs, value_info=[value("a", ["k", 4])])


def test_the_rest_of_a_model_with_an_unknown_operator_is_checked_with_one_note() -> None:
    found = rx_onnx.infer(unknown(None))
    assert found.values["c"].shape == ("n * 2", 2)
    assert found.values["a"].shape == ("?", 4)
    (one,) = found.diagnostics
    assert (one.severity, one.code) == ("note", "N207")
    assert "`Foo` of the domain `com.acme`" in one.message
    assert one.span.source.place(one.span.start).endswith(": node F1 (Foo)")
    assert [n.status for n in found.nodes] == ["partial", "missing_info", "success"]


def test_an_operator_without_a_rule_is_named_beside_the_contract(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "unknown.onnx"
    onnx.save(unknown(None), str(path))
    assert invoke(["check", str(path)]) == 0
    shown = capsys.readouterr()
    assert shown.err.count("note[N207]: `Foo` of the domain `com.acme` has no rule") == 1
    assert f"{path} accepts" in shown.out


def test_an_unknown_operator_runs_nothing_of_what_the_model_says(tmp_path: Path) -> None:
    made = unknown(None)
    for node in made.graph.node[:2]:
        node.domain, node.op_type = "os", "getcwd"
    made.opset_import.append(helper.make_opsetid("os", 1))
    module = rxlang.load(saved(made, tmp_path), allow_extern=True)
    with pytest.raises((rxlang.ShapeError, ImportError), match="`getcwd` of the domain `os` has no rule"):
        module.main(np.zeros((1, 2), np.float32))


def test_a_rule_comes_from_python_for_its_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_RULES", {})

    @rx_onnx.rule("Foo", "com.acme", range(1, 3))
    def old(node: Any) -> str:
        raise AssertionError

    @rx_onnx.rule("Foo", domain="com.acme", opsets=[3])
    def foo(node: Any) -> str:
        return f"@concat([{', '.join([node.x(0)] * node.integer('alpha'))}], axis=1)"

    found = rx_onnx.infer(unknown(["n", 12]), "strict")
    assert found.values["b"].shape == ("n", 12)
    assert [d.code for d in found.diagnostics] == []


def test_a_rule_comes_from_a_prelude(tmp_path: Path, rx: Run) -> None:
    rules = tmp_path / "rules.rx"
    rules.write_text(
        "@com_acme_Foo = fn(x : Tensor([n, m], float32), alpha : Size) : Tensor([n, m * 2], float32) {\n"
        "  let a = @concat([x, x], axis=1)\n  a\n}\n"
    )
    path = saved(unknown(None), tmp_path)
    assert rx_onnx.infer(path, prelude=rules).values["b"].shape == ("n", 8)
    said = rx("import", path, "-o", tmp_path / "out", "--prelude", rules)
    assert said.exit_code == 0, said.output
    assert "b : float32[n_2, 8]" in rx("check", path, "--prelude", rules).output
    assert "b : float32[...]" in rx("check", path).output
    assert rx("check", path, "--prelude", tmp_path / "gone.rx").exit_code == 2
    module = rxlang.load(tmp_path / "out" / "model.rx")
    b, c = module.main(np.ones((3, 2), np.float32))
    assert (b.shape, c.shape) == ((3, 8), (6, 2))
    assert rx("import", path, "-o", tmp_path / "out", "--prelude", tmp_path / "gone.rx").exit_code == 2


def test_models_are_checked_with_programs_and_in_folders(tmp_path: Path, rx: Run) -> None:
    good, bad = tmp_path / "a", tmp_path / "b"
    good.mkdir()
    bad.mkdir()
    (good / "f.rx").write_text("@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) { @relu(x) }\n")
    saved(doubled([None, None]), good)
    never = helper.make_node("MatMul", ["x", "x"], ["y"])
    saved(model([never], [value("x", [2, 3])], [value("y", None)]), bad)
    said = rx("check", good)
    assert said.exit_code == 0 and "2 files" in said.output
    assert rx("check", good, bad).exit_code == 1
    assert rx("check", good / "model.onnx", bad / "model.onnx").exit_code == 1
    assert rx("fmt", bad).exit_code == 2


def test_what_a_loop_makes_longer_has_no_size_of_before(tmp_path: Path) -> None:
    """A body that says nothing of the shapes of what it carries."""
    carried = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("a", "a2")]
    turn = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    going = [helper.make_tensor_value_info(n, TensorProto.BOOL, []) for n in ("go", "go2")]
    nodes = [helper.make_node("Identity", ["go"], ["go2"]), helper.make_node("Concat", ["a", "x"], ["a2"], axis=0)]
    body = helper.make_graph(nodes, "body", [turn, going[0], carried[0]], [going[1], carried[1]])
    count = helper.make_tensor_value_info("steps", TensorProto.INT64, [])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
    z = helper.make_tensor_value_info("z", TensorProto.FLOAT, None)
    loop = helper.make_node("Loop", ["steps", "", "x"], ["z"], body=body)
    path = tmp_path / "grown.onnx"
    onnx.save(helper.make_model(helper.make_graph([loop], "g", [count, x], [z])), path)
    assert rx_onnx.infer(path).values["z"].shape == ("?", 3)
    module = rxlang.load(path)
    assert module.main(np.array(2), np.ones((4, 3), np.float32)).shape == (12, 3)


@pytest.mark.parametrize(
    ("at", "axis", "found"), [(1, -1, (2, "n * 3", 1, 1)), (-2, 0, (2, 3, "n", 1)), (0, 0, ("n * 2", 3, 1, 1))]
)
def test_a_one_hot_tensor_of_a_size_is_a_shape(
    tmp_path: Path, at: int, axis: int, found: tuple[int | str, ...]
) -> None:
    """As an exporter says that one axis is repeated: a tile by 1 everywhere, and by a size there."""
    nodes = [
        helper.make_node("Shape", ["x"], ["n"], start=0, end=1),
        helper.make_node("Concat", ["one", "n"], ["values"], axis=0),
        helper.make_node("OneHot", ["at", "depth", "values"], ["hot"], axis=axis),
        helper.make_node("Reshape", ["hot", "minus"], ["times"]),
        helper.make_node("Tile", ["y", "times"], ["z"]),
    ]
    held = {"one": [1], "at": [at], "minus": [-1], "depth": 4}
    constants = [numpy_helper.from_array(np.array(v), n) for n, v in held.items()]
    inputs = [value("x", ["n"]), value("y", [2, 3, 1, 1])]
    path = saved(model(nodes, inputs, [value("z", None)], constants), tmp_path)
    assert rx_onnx.infer(str(path)).values["z"].shape == found
    x, y = np.ones(5, np.float32), np.arange(6, dtype=np.float32).reshape(2, 3, 1, 1)
    times = [5 if at % 4 == i else 1 for i in range(4)]
    assert (rxlang.load(path).main(x, y) == np.tile(y, times)).all()


# Sizes in narrow dtypes


def copied(dtype: int, times: int = 1) -> Any:
    """The input in its own shape, which goes through a dtype, `times` as long along the first axis."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Cast", ["s"], ["c"], to=dtype),
        helper.make_node("Mul", ["c", "k"], ["m"]),
        helper.make_node("Cast", ["m"], ["back"], to=INT64),
        helper.make_node("Tile", ["x", "t"], ["long"]),
        helper.make_node("Reshape", ["long", "back"], ["y"]),
    ]
    scale = numpy_helper.from_array(np.array([times, 1], helper.tensor_dtype_to_np_dtype(dtype)), "k")
    counts = numpy_helper.from_array(np.array([times, 1], np.int64), "t")
    return model(nodes, [value("x", ["n", 1])], [value("y", None)], [scale, counts])


HOLDS = {
    TensorProto.INT32: 2**31 - 1, TensorProto.FLOAT: 2**24, TensorProto.FLOAT16: 2**11, TensorProto.INT16: 2**15 - 1,
}  # fmt: skip


@pytest.mark.parametrize("dtype", HOLDS)
@pytest.mark.parametrize("times", [1, 2, 3])
def test_sizes_in_a_narrow_dtype_are_told_with_what_is_supposed_of_them(
    rx: Run, tmp_path: Path, dtype: int, times: int
) -> None:
    path = saved(copied(dtype, times), tmp_path)
    most = HOLDS[dtype]
    told = most >= times * 1_000
    first = rx_onnx.infer(str(path)).values["y"].shape[0]
    assert (first != "?") == told
    said = rx("check", path).output
    assert (f"n <= {most // times}" in said) == told
    if told:
        assert eval(str(first), {"n": 7}) == 7 * times


@pytest.mark.parametrize(("kernel", "stride"), [(3, 2), (5, 2), (3, 1), (7, 4)])
def test_pads_that_are_computed_as_floats_are_told(rx: Run, tmp_path: Path, kernel: int, stride: int) -> None:
    """As many windows as strides, however the size divides: max((ceil(n / s) - 1) * s + k - n, 0) in steps of float32."""
    numbers = {"zero": 0.0, "one": 1.0, "two": 2.0, "stride": float(stride), "kernel": float(kernel - 1)}
    steps = (
        ("Div", "n stride", "d"), ("Ceil", "d", "c"), ("Sub", "c one", "w"), ("Mul", "w stride", "e"), ("Add", "e kernel", "f"),
        ("Add", "f one", "g"), ("Sub", "g n", "p"), ("Clip", "p zero", "all"), ("Div", "all two", "half"),
    )  # fmt: skip
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], start=2, end=3),
        helper.make_node("Cast", ["s"], ["n"], to=TensorProto.FLOAT),
        *(helper.make_node(kind, taken.split(), [made]) for kind, taken, made in steps),
        helper.make_node("Cast", ["half"], ["before"], to=INT64),
        helper.make_node("Cast", ["before"], ["back"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["all", "back"], ["rest"]),
        helper.make_node("Cast", ["rest"], ["after"], to=INT64),
        helper.make_node("Concat", ["none", "before", "none", "after"], ["pads"], axis=0),
        helper.make_node("Pad", ["x", "pads"], ["padded"]),
        helper.make_node("Conv", ["padded", "filter"], ["y"], strides=[stride]),
    ]
    held = [numpy_helper.from_array(np.array(number, np.float32), name) for name, number in numbers.items()]
    held += [
        numpy_helper.from_array(np.zeros(2, np.int64), "none"),
        numpy_helper.from_array(np.ones((1, 1, kernel), np.float32), "filter"),
    ]
    path = saved(model(nodes, [value("x", [1, 1, "n"])], [value("y", None)], held), tmp_path)
    assert rx_onnx.infer(str(path)).values["y"].shape[2] == ("n" if stride == 1 else f"(n + {stride - 1}) // {stride}")
    main = rxlang.load(path, allow_empty=True).main
    for n in range(1, 20):
        assert main(np.ones((1, 1, n), np.float32)).shape == (1, 1, -(-n // stride))


@pytest.mark.parametrize("n", [0, 1, 7, 2047, 2048, 2049, 4001])
def test_a_run_supposes_nothing(tmp_path: Path, n: int) -> None:
    path = saved(copied(TensorProto.FLOAT16), tmp_path)
    main = rxlang.load(path, allow_empty=True).main
    x = np.arange(n, dtype=np.float32).reshape(n, 1)
    if int(np.float16(n)) == n:
        assert np.array_equal(main(x), x)
    else:
        with pytest.raises(rxlang.ShapeError):
            main(x)


@pytest.mark.parametrize("free", [0, 1, 2, 3])
def test_the_size_behind_a_computed_minus_one_is_told(tmp_path: Path, free: int) -> None:
    """A target that is computed from another input's shape: beside the -1 stands no 0, as a condition."""
    sizes: Shape = ["a", "b", "c", "d"]
    nodes = [
        helper.make_node("Shape", ["like"], ["s"]),
        helper.make_node("Split", ["s"], ["s0", "s1", "s2", "s3"], num_outputs=4),
        helper.make_node("Concat", ["open" if i == free else f"s{i}" for i in range(4)], ["target"], axis=0),
        helper.make_node("Flatten", ["x"], ["flat"], axis=2),
        helper.make_node("Reshape", ["flat", "target"], ["y"]),
    ]
    constants = [numpy_helper.from_array(np.array([-1], np.int64), "open")]
    path = saved(model(nodes, [value("x", sizes), value("like", sizes)], [value("y", None)], constants), tmp_path)
    assert rx_onnx.infer(path).values["y"].shape == ("a", "b", "c", "d")
    module = rxlang.load(path)
    assert module.main(np.ones((2, 3, 5, 7), np.float32), np.ones((2, 3, 5, 7), np.float32)).shape == (2, 3, 5, 7)
