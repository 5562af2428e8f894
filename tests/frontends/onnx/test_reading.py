"""Model files: what they say as plain data, and of each that contradicts itself one sentence that names the place."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random
from time import process_time

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from rxlang.frontends.onnx import model as plain  # noqa: E402
from rxlang.frontends.onnx.reading import read_model  # noqa: E402
from rxlang.interp.files import load_array  # noqa: E402
from rxlang.lang.diagnostics import RxError  # noqa: E402
from rxlang.lang.onnx_weights import index  # noqa: E402
from rxlang.lang.stored import BadWeights  # noqa: E402
from rxlang.lang.weights import read_header  # noqa: E402
from rxlang.python.api import CheckError, load  # noqa: E402
from support import fuzz  # noqa: E402

from tests.support.damaged_models import branch, damaged, nested, whole  # noqa: E402

TRIES = fuzz.tries("models read")


def saved(tmp_path: Path, data: bytes | onnx.ModelProto) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(data if isinstance(data, bytes) else data.SerializeToString())
    (tmp_path / "outside.bin").write_bytes(np.arange(2, dtype=np.float32).tobytes())
    return path


def refusal(path: Path) -> str:
    with pytest.raises(RxError) as refused:
        read_model(path)
    (said,) = refused.value.diagnostics
    assert (said.code, said.span.source.name) == ("E246", path.name)
    assert said.help and "\n" not in said.message and len(said.message) < 500
    return said.message


def model_of(
    *nodes: onnx.NodeProto, reads: tuple[str, ...] = ("x",), gives: tuple[str, ...] = (), **rest: object
) -> onnx.ModelProto:
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, None)  # noqa: E731
    graph = helper.make_graph(list(nodes), "g", [*map(value, reads)], [*map(value, gives)], rest.pop("weights", ()))
    rest.setdefault("opset_imports", [helper.make_opsetid("", 18)])
    return helper.make_model(graph, **rest)


def node(name: str, reads: str, gives: str, **rest: object) -> onnx.NodeProto:
    return helper.make_node(rest.pop("op", "Add"), reads.split(), gives.split(), name=name, **rest)


# What a file says


def test_a_model_is_read_into_plain_data(tmp_path: Path) -> None:
    path = saved(tmp_path, whole(Random(1)))
    read = read_model(path)
    assert (read.path, read.opsets, read.graph.name) == (path, {"": 18, "own": 1}, "g")
    assert read.graph.inputs == (
        plain.ModelValue("x", plain.TensorType("float32", ("n", 4))),
        plain.ModelValue("c", plain.TensorType("bool", ())),
    )
    assert read.graph.outputs == (plain.ModelValue("y", plain.TensorType("float32", ("2*n",))),)
    first, second, own, constant, _ = read.graph.operations
    assert (str(first), first.inputs, first.outputs, first.index) == ("node first (Add)", ("x", "listed"), ("a",), 0)
    assert second.attributes["then_branch"].operations[0].inputs == ("a",)
    assert (own.domain, own.attributes, str(own)) == ("own", {"alpha": 1.5}, "node of d (Own)")
    weights = {tensor.name: tensor for tensor in read.graph.initializers}
    assert weights["listed"].values == (1, 2, 3, 4) and weights["ints"].values == (1, -1, 2)
    assert weights["outside"].values == (0, 1) and weights["sparse"].values == (1, 0, 0, 0, 0, 2)
    assert (weights["sparse"].shape, weights["sparse"].key) == ((2, 3), None)
    (function,) = read.functions
    assert (function.name, function.attributes, function.operations[0].op_type) == ("Own", {"alpha": None}, "Neg")


def test_types_of_values_and_kinds_of_attributes(tmp_path: Path) -> None:
    tensor = helper.make_tensor_type_proto(TensorProto.INT4, ["n", 3, None, -1])
    kinds = [tensor, helper.make_sequence_type_proto(tensor), helper.make_optional_type_proto(tensor)]
    kinds += [helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(1, None))]
    inputs = [helper.make_value_info(f"x{n}", kind) for n, kind in enumerate(kinds)]
    attributes = {
        "i": 3, "f": 0.5, "s": "text", "ints": [1, 2], "floats": [0.5], "strings": ["a", "b"], "bytes": b"\xff",
        "tp": kinds[1], "t": numpy_helper.from_array(np.array([[1.5]], np.float16), "w"), "g": branch("x0"),
    }  # fmt: skip
    made = helper.make_node("F", ["x0"], ["y"], domain="other", **attributes)
    made.attribute.append(helper.make_attribute("none", [], attr_type=onnx.AttributeProto.INTS))
    graph = helper.make_graph([made], "g", inputs, [])
    read = read_model(saved(tmp_path, helper.make_model(graph)))
    inner = plain.TensorType("int4", ("n", 3, None, None))
    assert [value.type for value in read.graph.inputs] == [
        inner, plain.SequenceType(inner), plain.OptionalType(inner), plain.MapType("string", plain.TensorType("float32", None)),
    ]  # fmt: skip
    found = dict(read.graph.operations[0].attributes)
    (graph_,) = [found.pop("g")]
    assert isinstance(graph_, plain.Graph) and graph_.operations[0].op_type == "Neg"
    assert found.pop("t").values == (1.5,)
    assert found == {
        "i": 3, "f": 0.5, "s": "text", "ints": (1, 2), "floats": (0.5,), "strings": ("a", "b"), "bytes": b"\xff", "none": (),
        "tp": plain.SequenceType(inner),
    }  # fmt: skip


def test_the_exporters_trace_is_the_innermost_frame_outside_of_libraries(tmp_path: Path) -> None:
    stack = 'File "/a/net.py", line 3, in forward\n  y = f(x)\nFile "/lib/site-packages/torch/f.py", line 9, in f\n  return x'
    first, second, third, fourth = (node(f"n{n}", "x", f"y{n}") for n in range(4))
    helper.set_metadata_props(first, {"pkg.torch.onnx.stack_trace": stack, "pkg.torch.onnx.name_scopes": "['', 'fc']"})
    helper.set_metadata_props(second, {"pkg.torch.onnx.name_scopes": "['', 'layers.0', 'layers.0.fc', '']"})
    helper.set_metadata_props(third, {"pkg.torch.onnx.stack_trace": 'File "/site-packages/a.py", line 1, in g'})
    read = read_model(saved(tmp_path, model_of(first, second, third, fourth)))
    assert [o.trace for o in read.graph.operations] == ["/a/net.py:3, in forward", "layers.0.fc", None, None]


def test_all_models_of_the_package_onnx_are_read() -> None:
    paths = sorted(Path(onnx.__file__).parent.rglob("*.onnx"))
    assert len(paths) > 50
    for path in paths:
        theirs, ours = onnx.load(path), read_model(path)
        assert [n.op_type for n in theirs.graph.node] == [o.op_type for o in ours.graph.operations]
        for tensor in theirs.graph.initializer:
            assert np.array_equal(load_array(path, tensor.name), numpy_helper.to_array(tensor))


# What contradicts itself


def test_each_contradiction_has_its_sentence(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.zeros(3, np.float32), "w")
    inner = helper.make_graph([node("N", "gone", "out", op="Neg")], "b", [], [])
    own = lambda name, calls: helper.make_function(  # noqa: E731
        "own",
        name,
        ["i"],
        ["o"],
        [helper.make_node(calls, ["i"], ["o"], domain="own")],
        [helper.make_opsetid("own", 1)],
    )
    said = {
        "node B (Add), input 1 reads `nothing`, which no node, input or initializer gives": model_of(
            node("B", "x nothing", "y")
        ),
        "node of y (Add), input 0 reads `q`, which no node, input or initializer gives": model_of(node("", "q x", "y")),
        "node A (Add), input 0 reads `z`, which node B (Add) gives only afterwards": model_of(
            node("A", "z x", "y"), node("B", "x x", "z")
        ),
        "node A (Add), input 1 reads `z`, which depends on itself, as node B (Add) needs its output": model_of(
            node("A", "x z", "y"), node("B", "y x", "z")
        ),
        "node A (Add), input 1 reads `y`, which depends on itself": model_of(node("A", "x y", "y")),
        "`y` is given twice, the second time as an output of node B (Add)": model_of(
            node("A", "x x", "y"), node("B", "x x", "y")
        ),
        "`x` is given twice, the second time as an output of node A (Add)": model_of(node("A", "x x", "x")),
        "`w` is given twice, the second time as an output of node A (Add)": model_of(
            node("A", "x x", "w"), weights=[weight]
        ),
        "`x` is given twice, the second time as an input of the model's graph": model_of(reads=("x", "x")),
        "initializer `w` is not the only tensor that is found by 'w'": model_of(weights=[weight, weight]),
        "an input of the model's graph has no name": model_of(reads=("",)),
        "output `y` of the model's graph is given by no node, input or initializer": model_of(gives=("y",)),
        "node N (Neg), input 0 reads `gone`, which no node, input or initializer gives": model_of(
            node("I", "x", "y", op="If", then_branch=inner)
        ),
        "node A (Add) is of ONNX's own domain, for which the model imports no opset": model_of(
            node("A", "x x", "y"), opset_imports=[helper.make_opsetid("other", 1)]
        ),
        "the model imports two opsets of the domain 'ai.onnx': 7 and 9": model_of(
            opset_imports=[helper.make_opsetid("", 7), helper.make_opsetid("ai.onnx", 9)]
        ),
        "function F calls itself": model_of(functions=[own("F", "F")]),
        "function F calls itself, by way of G, H": model_of(functions=[own("F", "G"), own("G", "H"), own("H", "F")]),
        "function F is defined twice": model_of(functions=[own("F", "G"), own("F", "G")]),
    }
    assert {sentence: refusal(saved(tmp_path, model)) for sentence, model in said.items()} == {s: s for s in said}


def test_each_wrong_tensor_type_and_attribute_has_its_sentence(tmp_path: Path) -> None:
    def weight(**fields: object) -> onnx.ModelProto:
        return model_of(weights=[TensorProto(name="w", **fields)])

    def declared(type_: int, *sizes: int) -> onnx.ModelProto:
        model = model_of()
        model.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", type_, [*sizes]))
        return model

    twice, empty, reference, odd = (node("A", "x", "y", op="F", domain="o", alpha=1) for _ in range(4))
    twice.attribute.append(twice.attribute[0])
    empty.attribute[0].ClearField("i")
    reference.attribute[0].ref_attr_name = "beta"
    odd.attribute[0].type = 0
    odd.attribute[0].ClearField("i")
    said = {
        "initializer `w` has 8 bytes of data for 12 of Tensor([3], float32)": weight(
            dims=[3], data_type=1, raw_data=b"x" * 8
        ),
        "initializer `w` has 2 numbers of data where its shape [3] asks for 3": weight(
            dims=[3], data_type=7, int64_data=[1, 2]
        ),
        "initializer `w` has 0 numbers of data where its shape [3] asks for 3": weight(dims=[3], data_type=1),
        "initializer `w` has a negative size in its shape [-3]": weight(dims=[-3], data_type=1),
        f"initializer `w` has a shape that no tensor has: [{2**62}, 4]": weight(dims=[2**62, 4], data_type=1),
        "initializer `w` has no type of elements": weight(dims=[1]),
        "initializer `w` has elements of type 99, which Rx does not know": weight(dims=[1], data_type=99),
        "initializer `w` has an element that is no UTF-8 text": weight(dims=[1], data_type=8, string_data=[b"\xff"]),
        "input `x` of the model's graph is declared with the size -5": declared(1, 2, -5),
        "input `x` of the model's graph is declared with elements of type 99, which Rx does not know": declared(99, 2),
        "node A (F) has the attribute `alpha` twice": model_of(twice),
        "node A (F) has the attribute `alpha` of the kind INT without a value": model_of(empty),
        "attribute `alpha` of node A (F) stands for the attribute `beta` of a function, but it is in none": model_of(
            reference
        ),
        "node A (F) has the attribute `alpha` of a kind that ONNX does not have": model_of(odd),
    }
    assert {sentence: refusal(saved(tmp_path, model)) for sentence, model in said.items()} == {s: s for s in said}


def test_what_is_no_model_is_said_with_its_byte(tmp_path: Path) -> None:
    data = whole(Random(2)).SerializeToString()
    assert "is cut off" in refusal(saved(tmp_path, data[:-7]))
    assert "it is empty" in refusal(saved(tmp_path, b""))
    assert "the file holds no graph" in refusal(saved(tmp_path, b"\x08\x08"))
    assert "damaged, or no ONNX model" in refusal(saved(tmp_path, b"<html>"))
    assert "cannot be read: Is a directory" in refusal(tmp_path)
    assert "cannot be read: No such file" in refusal(tmp_path / "no.onnx")
    for depth in (40, 1000, 3000):
        assert "graphs are nested more than 30 deep" in refusal(saved(tmp_path, nested(depth)))
    assert "two graphs" in refusal(saved(tmp_path, data + data)) or "says a thing twice" in refusal(
        saved(tmp_path, data + data)
    )


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    data = model_of(node("CCCC", "x x", "y")).SerializeToString()
    said = refusal(saved(tmp_path, data.replace(b"CCCC", b"\xff\xfe\xff\xfe")))
    assert said == r"the file is damaged: the name of a NodeProto, b'\xff\xfe\xff\xfe', is no UTF-8 text"


def test_without_the_package_onnx_it_says_what_to_install(tmp_path: Path) -> None:
    path = saved(tmp_path, model_of())
    script = (
        "import sys; sys.modules['onnx'] = None; from pathlib import Path\n"
        "from rxlang.frontends.onnx.reading import read_model; from rxlang.lang.diagnostics import RxError\n"
        f"try: read_model(Path({str(path)!r}))\n"
        "except RxError as problem: print(problem.diagnostics[0].message, '|', problem.diagnostics[0].help)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == (
        "models are read by the package onnx, which is not installed | pip install 'rxlang[onnx]'\n"
    ), done.stderr


ONNX_COMMANDS = [
    ("check",), ("check", "--signature"), ("check", "--fix"), ("check", "--dynamic", "*.0"), ("infer",),
    ("import", "-o", "out"), ("run",), ("shapes",), ("desugar",),
]  # fmt: skip


def test_each_command_says_without_the_package_onnx_what_to_install(tmp_path: Path) -> None:
    path = saved(tmp_path, model_of())
    script = (
        "import sys; sys.modules['onnx'] = sys.modules['google'] = None; from rxlang.cli.main import invoke\n"
        f"for command in {ONNX_COMMANDS}:\n"
        f"    print(invoke([*command, {str(path)!r}]), command, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "Traceback" not in done.stderr
    rest = done.stderr
    for command in ONNX_COMMANDS:
        said, found, rest = rest.partition(f"1 {command}\n")
        assert found and "which is not installed" in said and "= help: pip install 'rxlang[onnx]'" in said, command


def test_an_attribute_that_is_no_number_is_refused(tmp_path: Path) -> None:
    node = helper.make_node("LeakyRelu", ["x"], ["y"], alpha=float("nan"))
    path = saved(tmp_path, model_of(node, gives=("y",)))
    with pytest.raises(CheckError, match=r"has an attribute that is no number \(NaN\)"):
        load(path)


# Many


def test_damaged_models_are_read_or_refused_with_one_sentence(tmp_path: Path) -> None:
    random, read, sentences = Random(11), 0, set()
    for _ in range(TRIES):
        path = saved(tmp_path, damaged(random))
        started = process_time()
        try:
            model = read_model(path)
            read += 1
            assert load_all(path, model)
        except RxError:
            sentences.add(refusal(path))
        assert process_time() - started < 2
    assert read > TRIES // 20 and len(sentences) > TRIES // 10


def load_all(path: Path, model: plain.Model) -> bool:
    """Whether the weights of a model that was read can be loaded, as they were said to be."""
    for tensor in model.graph.initializers:
        if tensor.key is None or tensor.dtype == "string":
            continue
        header, array = read_header(path, tensor.key), load_array(path, tensor.key)
        if not header.shape == array.shape == tensor.shape or header.dtype.name != tensor.dtype:
            return False
    return True


def test_any_key_of_a_damaged_model_is_loaded_or_refused(tmp_path: Path) -> None:
    random, loaded, refused = Random(12), 0, 0
    for _ in range(TRIES):
        path = saved(tmp_path, damaged(random))
        keys: list[str] = []
        with suppress(ValueError):
            keys = [*index(path).tensors]
        for key in [*keys, "absent"]:
            try:
                loaded += load_array(path, key).shape == read_header(path, key).shape
            except BadWeights:
                refused += 1
    assert loaded > TRIES and refused > TRIES


def test_ten_thousand_nodes_are_read_in_time_that_grows_with_them(tmp_path: Path) -> None:
    def seconds(count: int) -> float:
        nodes = [node(f"n{n}", f"y{n} x", f"y{n + 1}") for n in range(count)]
        path = saved(tmp_path, model_of(node("", "x x", "y0"), *nodes))
        started = process_time()
        read_model(path)
        return process_time() - started

    seconds(10)
    assert seconds(10_000) < 3
