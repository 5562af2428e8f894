"""Model files that mean harm, by name; models with bytes cut off or changed, and those of an operator with anything in its
places."""

from __future__ import annotations

import gzip
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from support.damaged_models import nested

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Files:
    """The bytes of whole models: ONNX's node tests, and those of a folder."""

    def __init__(self, folder: Path | None, largest: int = 2**18) -> None:
        data = Path(onnx.__file__).parent / "backend" / "test" / "data"
        paths = sorted(data.rglob("*.onnx")) + (sorted(folder.glob("*.onnx")) if folder is not None else [])
        self.paths = [path for path in paths if path.stat().st_size <= largest]

    def one(self, random: Random) -> bytes:
        return random.choice(self.paths).read_bytes()


def mutated(folder: Path, files: Files, random: Random) -> Path:
    """A model that ends too early, or has other bits, or both."""
    data = bytearray(files.one(random))
    for _ in range(random.choice([0, 1, 1, 2, 8])):
        at = random.randrange(len(data))
        data[at] ^= 1 << random.randrange(8)
    if random.random() < 0.3:
        del data[random.randrange(len(data)) :]
    return _bytes(folder, bytes(data))


def _bytes(folder: Path, data: bytes) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(data)
    return path


# Operators with anything in their places

_INFINITE, _LARGE = float("inf"), 2**63 - 1
_KINDS = (FLOAT, FLOAT, FLOAT, INT64, TensorProto.BOOL, TensorProto.STRING, TensorProto.FLOAT16, TensorProto.UINT8)
_SHAPES: tuple[tuple[int | str, ...], ...] = (
    (),
    ("n",),
    ("n", 4),
    (2, 3, 4),
    ("a", "b", "c", "d"),
    (1, 3, 8, 8),
    (0, 2),
)
_CONSTANTS = tuple(
    np.array(values, dtype)
    for values, dtype in (
        ([1, 2], np.int64), ([2**62, 2], np.int64), ([-1, 0, 3], np.int64), (3, np.int64), ([], np.int64), ([True], np.bool_),
        (1.5, np.float32), ([[1, 2], [3, 4]], np.float32), ([1e30, np.nan], np.float32), (["a", "b"], object),
    )
)  # fmt: skip
_ATTRIBUTES = (
    3, -1, _LARGE, -_LARGE - 1, 1.5, float("nan"), _INFINITE, -_INFINITE, "abc", "", b"\xff\xfe", [1, 2, 3], [-1] * 4, [0] * 4,
    [2**62] * 4, [1.5, 2.5], ["a", "b"], numpy_helper.from_array(np.ones((2, 2), np.float32), "t"),
    helper.make_graph([], "g", [], []), [helper.make_graph([], "g", [], [])] * 2,
)  # fmt: skip
_SCHEMAS = sorted(
    {(s.name, s.domain) for s in onnx.defs.get_all_schemas_with_history() if s.domain in ("", "ai.onnx.ml")}
)


def odd(folder: Path, random: Random) -> Path:
    """A model of one operator, whose inputs, outputs and attributes are of any kind and number."""
    name, domain = random.choice(_SCHEMAS)
    schema = onnx.defs.get_schema(name, domain)
    inputs, weights, names = [], [], list[str]()
    for at in range(random.choice([schema.min_input, random.randrange(6)])):
        kind = random.choice(["input", "input", "constant", "absent", "same"])
        names.append({"absent": "", "same": names[-1] if names else "x"}.get(kind, f"i{at}"))
        if kind == "input":
            value = helper.make_tensor_value_info(names[-1], random.choice(_KINDS), random.choice(_SHAPES))
            inputs.append(value)
        elif kind == "constant":
            weights.append(numpy_helper.from_array(random.choice(_CONSTANTS), names[-1]))
    outputs = [f"y{at}" for at in range(random.choice([0, 1, 1, 1, schema.min_output, 4]))]
    made = helper.make_node(name, names, outputs, domain=domain)
    for attribute in schema.attributes.values():
        if random.random() < 0.4 or attribute.required:
            made.attribute.append(helper.make_attribute(attribute.name, random.choice(_ATTRIBUTES)))
    whole = model(made, node("Identity"), shape=["n", 4], weights=tuple(weights))
    whole.graph.input.extend(inputs)
    whole.graph.output.extend(helper.make_empty_tensor_value_info(output) for output in outputs)
    whole.opset_import[0].version = random.choice([9, 13, 18, 22])
    whole.opset_import.append(helper.make_opsetid("ai.onnx.ml", random.choice([1, 3, 5])))
    return _bytes(folder, whole.SerializeToString())


# What somebody wrote

Make = Callable[[Path], Path]
EVIL: dict[str, Make] = {}


def evil(make: Make) -> Make:
    EVIL[make.__name__] = make
    return make


def evil_model(make: Callable[[], ModelProto]) -> Callable[[], ModelProto]:
    """The same where the model is all that is written."""
    EVIL[make.__name__] = lambda folder: _bytes(folder, make().SerializeToString())
    return make


def model(
    *nodes: NodeProto,
    shape: list[int | str] | None = None,
    weights: tuple[TensorProto, ...] = (),
    gives: str = "y",
    kind: int = FLOAT,
) -> ModelProto:
    """A model that takes `x` and gives `y`."""
    inputs = [helper.make_tensor_value_info("x", kind, ["n", 3] if shape is None else shape)]
    graph = helper.make_graph(
        list(nodes), "g", inputs, [helper.make_tensor_value_info(gives, FLOAT, None)], list(weights)
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def node(kind: str, reads: str = "x", gives: str = "y", **attributes: object) -> NodeProto:
    return helper.make_node(kind, reads.split(), gives.split(), **attributes)


def ints(name: str, *values: int) -> TensorProto:
    return helper.make_tensor(name, INT64, [len(values)], values)


@evil_model
def circle() -> ModelProto:
    return model(node("Add", "x b", "a"), node("Relu", "a", "b"), node("Relu", "b", "y"))


@evil_model
def circle_of_one() -> ModelProto:
    return model(node("Add", "x y", "y"))


@evil_model
def circle_of_functions() -> ModelProto:
    made = model(helper.make_node("F", ["x"], ["y"], domain="own"))
    opset = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    for name, other in (("F", "G"), ("G", "F")):
        body = [helper.make_node(other, ["i"], ["o"], domain="own")]
        made.functions.append(helper.make_function("own", name, ["i"], ["o"], body, opset))
    made.opset_import.append(helper.make_opsetid("own", 1))
    return made


@evil_model
def doubling_functions() -> ModelProto:
    """Each of 60 functions calls the next one twice."""
    made = model(helper.make_node("F0", ["x"], ["y"], domain="own"))
    opset = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    for n in range(60):
        call = [
            helper.make_node(f"F{n + 1}" if n < 59 else "Relu", [a], [b], domain="own" if n < 59 else "")
            for a, b in ("ia", "ao")
        ]
        made.functions.append(helper.make_function("own", f"F{n}", ["i"], ["o"], call, opset))
    made.opset_import.append(helper.make_opsetid("own", 1))
    return made


@evil_model
def missing_input() -> ModelProto:
    return model(node("Add", "x nowhere"))


@evil_model
def missing_output() -> ModelProto:
    return model(node("Relu", "x", "z"))


@evil_model
def too_few_inputs() -> ModelProto:
    return model(node("Conv", "x"))


@evil_model
def no_inputs_at_all() -> ModelProto:
    return model(helper.make_node("Concat", [], ["y"], axis=0))


@evil_model
def too_many_inputs() -> ModelProto:
    return model(node("Relu", " ".join(["x"] * 1000)))


@evil_model
def wrong_attributes() -> ModelProto:
    return model(node("Concat", "x x", axis=[1, 2]), node("Relu", "y", "z", axis="far"))


@evil_model
def duplicate_names() -> ModelProto:
    return model(node("Relu", name="same"), node("Neg", name="same"))


@evil_model
def duplicate_inputs() -> ModelProto:
    made = model(node("Relu"))
    made.graph.input.append(made.graph.input[0])
    return made


@evil_model
def huge_sizes() -> ModelProto:
    return model(node("Add", "x x"), shape=[2**63 - 1, 2**63 - 1])


@evil_model
def negative_sizes() -> ModelProto:
    return model(node("Relu"), shape=[-5, 3])


@evil_model
def huge_reshape() -> ModelProto:
    return model(node("Reshape", "x s"), weights=(ints("s", 2**62, 2**62, 4),), shape=[2, 3])


@evil_model
def huge_expand() -> ModelProto:
    return model(node("Expand", "x s"), weights=(ints("s", 2**40, 3),), shape=[1, 3])


@evil_model
def huge_constant() -> ModelProto:
    return model(node("ConstantOfShape", "s"), weights=(ints("s", 2**20, 2**20),))


@evil_model
def huge_range() -> ModelProto:
    scalar = [helper.make_tensor(n, INT64, [], [v]) for n, v in (("a", 0), ("b", 2**62), ("c", 1))]
    return model(node("Range", "a b c", "r"), node("Cast", "r", to=FLOAT), weights=tuple(scalar))


@evil_model
def huge_tile() -> ModelProto:
    return model(node("Tile", "x s"), weights=(ints("s", 2**31, 2**31),), shape=[2, 3])


@evil_model
def huge_pad() -> ModelProto:
    return model(node("Pad", "x s"), weights=(ints("s", 2**40, 0, 0, 2**40),), shape=[2, 3])


@evil_model
def huge_resize() -> ModelProto:
    scales = helper.make_tensor("s", FLOAT, [4], [1, 1, 1e18, 1e18])
    return model(helper.make_node("Resize", ["x", "", "s"], ["y"]), weights=(scales,), shape=[1, 1, 2, 2])


@evil_model
def huge_one_hot() -> ModelProto:
    parts = ints("d", 2**40), helper.make_tensor("v", FLOAT, [2], [0, 1])
    return model(node("OneHot", "x d v"), weights=parts, shape=[2], kind=INT64)


@evil_model
def huge_split() -> ModelProto:
    return model(helper.make_node("Split", ["x"], ["y"], num_outputs=2**40))


@evil_model
def huge_kernel() -> ModelProto:
    return model(node("MaxPool", kernel_shape=[2**40, 2**40], pads=[2**39] * 4), shape=[1, 1, 4, 4])


@evil_model
def huge_groups() -> ModelProto:
    weight = numpy_helper.from_array(np.ones((4, 1, 3, 3), np.float32), "w")
    return model(node("Conv", "x w", group=2**62, pads=[2**60] * 4), weights=(weight,), shape=[1, 4, 8, 8])


@evil_model
def huge_loop() -> ModelProto:
    value = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)  # noqa: E731
    body = helper.make_graph(
        [node("Identity", "c", "d"), node("Add", "v v", "w")], "body",
        [value("i", INT64, []), value("c", TensorProto.BOOL, []), value("v", FLOAT, [3])],
        [value("d", TensorProto.BOOL, []), value("w", FLOAT, [3])],
    )  # fmt: skip
    trips = helper.make_tensor("m", INT64, [], [2**62])
    made = helper.make_node("If", ["k"], ["y"], then_branch=_branch("x"), else_branch=_branch("x"))
    truth = helper.make_tensor("k", TensorProto.BOOL, [], [True])
    return model(helper.make_node("Loop", ["m", "", "y"], ["z"], body=body), made, weights=(trips, truth), shape=[3])


def _branch(reads: str) -> onnx.GraphProto:
    return helper.make_graph([node("Neg", reads, "o")], "b", [], [helper.make_tensor_value_info("o", FLOAT, None)])


@evil_model
def odd_axes() -> ModelProto:
    return model(node("Transpose", "x", "a", perm=[0, 0]), node("Softmax", "a", axis=2**62))


@evil_model
def rank_of_ten_thousand() -> ModelProto:
    return model(node("Relu"), shape=[1] * 10_000)


@evil_model
def rank_of_ten_thousand_by_unsqueeze() -> ModelProto:
    return model(node("Unsqueeze", "x axes"), weights=(ints("axes", *range(10_000)),), shape=[3])


@evil_model
def reshape_to_rank_of_ten_thousand() -> ModelProto:
    return model(node("Reshape", "x s"), weights=(ints("s", *[1] * 10_000),), shape=[1])


@evil_model
def einsum_of_many() -> ModelProto:
    return model(node("Einsum", "x", equation="," * 10_000 + "->"))


@evil_model
def control_characters() -> ModelProto:
    evil_name = 'a\x1b[31m\r\n\x00\x07`"\\{}\u202e'
    made = model(node("Relu", "x", evil_name), helper.make_node("Add", [evil_name, "x"], ["y"], name=evil_name))
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_param = evil_name
    made.producer_name = made.graph.name = made.graph.doc_string = f"x\n@evil = fn() {{ }}\n{evil_name}"
    made.metadata_props.add(key=evil_name, value=evil_name)
    made.graph.node[0].domain = f"x\n{evil_name}"
    return made


@evil_model
def names_that_are_code() -> ModelProto:
    names = ['x) { } extern @f = fn() = "os:system"', "__import__('os')", "import", "let", "é" * 100, "9", " ", "@main"]
    return model(
        *(node("Relu", "x", n) for n in []), *[helper.make_node("Relu", ["x"], [n]) for n in names], node("Neg")
    )


@evil_model
def a_name_of_a_megabyte() -> ModelProto:
    return model(helper.make_node("Relu", ["x"], ["n" * 2**20]), helper.make_node("Neg", ["n" * 2**20], ["y"]))


@evil_model
def sizes_that_are_long() -> ModelProto:
    return model(node("Relu"), shape=["(" * 3000 + "n" + ")" * 3000, "*".join(["n"] * 500)])


@evil_model
def a_power_tower() -> ModelProto:
    return model(node("Relu"), shape=["n", "n**16**16**16", "((n**16)**16)**16", f"n + {'9' * 5000}"])


@evil_model
def many_names() -> ModelProto:
    return model(node("Relu"), shape=[f"2*a{n} + {n}" for n in range(60)])


@evil_model
def huge_attribute() -> ModelProto:
    tensor = TensorProto(name="v", data_type=FLOAT, dims=[2**31, 2**20], raw_data=b"1234")
    return model(helper.make_node("Constant", [], ["y"], value=tensor))


@evil_model
def huge_overflowing_attribute() -> ModelProto:
    tensor = TensorProto(name="v", data_type=FLOAT, dims=[2**32, 2**32], raw_data=b"")
    return model(helper.make_node("Constant", [], ["y"], value=tensor))


@evil_model
def huge_sparse() -> ModelProto:
    made = model(node("Relu"))
    sparse = made.graph.sparse_initializer.add(dims=[2**31, 2**31])
    sparse.values.CopyFrom(helper.make_tensor("w", FLOAT, [1], [1]))
    sparse.indices.CopyFrom(helper.make_tensor("", INT64, [1], [2**62]))
    return made


@evil_model
def data_of_zeros() -> ModelProto:
    """Shapes without elements."""
    weights = [TensorProto(name=f"w{n}", data_type=FLOAT, dims=[0, 2**40]) for n in range(9)]
    return model(node("Concat", " ".join(w.name for w in weights), axis=0), weights=tuple(weights))


@evil_model
def a_thousand_axes_of_zero() -> ModelProto:
    return model(node("Relu"), weights=(TensorProto(name="w", data_type=FLOAT, dims=[0] * 1000),))


@evil_model
def a_future_opset() -> ModelProto:
    made = model(node("Relu"))
    made.opset_import[0].version = 2**62
    return made


@evil_model
def an_opset_of_nothing() -> ModelProto:
    made = model(node("Relu"))
    made.opset_import[0].version = -7
    return made


@evil_model
def no_opset() -> ModelProto:
    made = model(node("Relu"))
    del made.opset_import[:]
    return made


@evil_model
def many_nodes() -> ModelProto:
    return model(*(node("Neg", f"v{n}" if n else "x", f"v{n + 1}") for n in range(5000)), gives="v5000")


@evil_model
def growing_shapes() -> ModelProto:
    """Sizes that double two hundred times."""
    return model(*(node("Concat", f"v{n} v{n}" if n else "x x", f"v{n + 1}", axis=0) for n in range(200)), gives="v200")


@evil_model
def growing_products() -> ModelProto:
    """Sizes that are squared sixty times."""
    nodes = []
    for n in range(60):
        old = f"v{n}" if n else "x"
        nodes += [
            node("Transpose", old, f"t{n}"),
            helper.make_node("Einsum", [old, old], [f"p{n}"], equation="ab,cd->acbd"),
        ]
        nodes += [node("Reshape", f"p{n} flat", f"v{n + 1}")]
    return model(*nodes, weights=(ints("flat", -1, 9),), gives="v60")


@evil_model
def repeated_tiles() -> ModelProto:
    """A row that is repeated as often as it is long, forty times."""
    nodes = []
    for n in range(40):
        old = f"v{n}" if n else "x"
        nodes += [node("Shape", old, f"s{n}"), node("Tile", f"{old} s{n}", f"v{n + 1}")]
    return model(*nodes, shape=["n"], gives="v40")


@evil_model
def concat_of_sixty_thousand() -> ModelProto:
    return model(node("Concat", "x " * 60_000, axis=0), shape=["n", "d"])


@evil_model
def sums_of_two_thousand() -> ModelProto:
    return model(
        node("Sum", "x " * 2_000, "a"), node("Mean", "a " * 2_000, "b"), node("Max", "b " * 2_000), shape=["n"]
    )


@evil_model
def integers_without_end() -> ModelProto:
    """A million integers, listed one by one, as indices and as a target."""
    return model(
        node("Constant", "", "c", value_ints=range(-1, 1_000_000)),
        node("Gather", "x c", "a"),
        node("Reshape", "a c"),
        shape=["n"],
    )


def _external(location: str, **more: str) -> Make:
    def make(folder: Path) -> Path:
        inner = folder / "inner"
        inner.mkdir()
        (folder / "secret.bin").write_bytes(b"12345678")
        (inner / "link").symlink_to(folder)
        (inner / "small.bin").write_bytes(b"12345678")
        os.mkfifo(inner / "pipe")
        tensor = TensorProto(name="w", data_type=FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
        for key, value in {"location": location, **more}.items():
            tensor.external_data.add(key=key, value=value)
        return _bytes(inner, model(node("Add", "x w"), weights=(tensor,), shape=["n", 2]).SerializeToString())

    return make


for _name, _make in {
    "outside": _external("../secret.bin"), "absolute": _external("/etc/passwd"), "device": _external("/dev/zero"),
    "link_out": _external("link/secret.bin"), "the_model_itself": _external("model.onnx"), "pipe": _external("pipe"),
    "far_offset": _external("small.bin", offset=str(2**62)), "negative_offset": _external("small.bin", offset="-8"),
    "too_long": _external("small.bin", length=str(2**62)), "nameless": _external(""), "nul": _external("small\0.bin"),
    "folder_as_data": _external("."), "odd_number": _external("small.bin", offset="1e3"),
    "long_location": _external("a/" * 5000 + "b"), "upwards_inside": _external("a/../../secret.bin"),
}.items():  # fmt: skip
    EVIL[f"external_{_name}"] = _make


@evil
def nested_thirty(folder: Path) -> Path:
    return _bytes(folder, nested(29))


@evil
def nested_a_thousand(folder: Path) -> Path:
    return _bytes(folder, nested(1000))


@evil
def empty(folder: Path) -> Path:
    return _bytes(folder, b"")


@evil
def empty_model(folder: Path) -> Path:
    return _bytes(folder, ModelProto().SerializeToString() or b"\x08\x08")


@evil
def directory(folder: Path) -> Path:
    path = folder / "model.onnx"
    path.mkdir()
    return path


@evil
def absent(folder: Path) -> Path:
    return folder / "model.onnx"


@evil
def unreadable(folder: Path) -> Path:
    path = _bytes(folder, b"\x08\x08")
    path.chmod(0)
    return path


@evil
def fifo(folder: Path) -> Path:
    os.mkfifo(folder / "model.onnx")
    return folder / "model.onnx"


@evil
def device(folder: Path) -> Path:
    (folder / "model.onnx").symlink_to("/dev/zero")
    return folder / "model.onnx"


@evil
def link_to_itself(folder: Path) -> Path:
    (folder / "model.onnx").symlink_to(folder / "model.onnx")
    return folder / "model.onnx"


@evil
def gzipped(folder: Path) -> Path:
    return _bytes(folder, gzip.compress(model(node("Relu")).SerializeToString()))


@evil
def checkpoint(folder: Path) -> Path:
    """What torch.save writes: an archive with a pickle in it."""
    path = folder / "model.onnx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"weight": [1.0, 2.0]}))
        archive.writestr("archive/data/0", b"\0" * 64)
    return path


@evil
def text_proto(folder: Path) -> Path:
    return _bytes(folder, str(model(node("Relu"))).encode())


@evil
def json_text(folder: Path) -> Path:
    return _bytes(folder, b'{"irVersion": "9", "graph": {}}')


@evil
def rx_text(folder: Path) -> Path:
    return _bytes(folder, b"@main = fn(x : Tensor([n], float32)) { x }\n")


@evil
def zeros(folder: Path) -> Path:
    return _bytes(folder, bytes(2**20))


@evil
def a_large_file_of_nothing(folder: Path) -> Path:
    path = folder / "model.onnx"
    with path.open("wb") as file:
        file.truncate(2**33)
    return path


@evil
def numbers_without_end(folder: Path) -> Path:
    return _bytes(folder, b"\x08" + b"\xff" * 1000)


@evil
def a_length_of_everything(folder: Path) -> Path:
    return _bytes(folder, b"\x08\x08\x3a" + b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f" + b"x")


@evil
def groups_of_old(folder: Path) -> Path:
    """Field kinds 3 and 4, which open and close groups."""
    return _bytes(folder, b"\x08\x08" + b"\x3b" * 5000 + b"\x3c" * 5000)


# Attributes that do not fit together


@evil_model
def odd_pads() -> ModelProto:
    kernel = helper.make_tensor("w", FLOAT, [3, 3, 3], [0.0] * 27)
    return model(node("Conv", "x w", pads=[1, 0, 2], kernel_shape=[3]), shape=["n", 3, 9], weights=(kernel,))


def _scanned(**attributes: object) -> ModelProto:
    one = [helper.make_tensor_value_info(name, FLOAT, None) for name in ("i", "o")]
    body = helper.make_graph([helper.make_node("Relu", ["i"], ["o"])], "body", one[:1], one[1:])
    return model(helper.make_node("Scan", ["x"], ["y"], body=body, **{"num_scan_inputs": 1, **attributes}))


def _evil_scan(name: str, **attributes: object) -> None:
    EVIL[name] = lambda folder: _bytes(folder, _scanned(**attributes).SerializeToString())


_evil_scan("scan_of_nothing", num_scan_inputs=0)
_evil_scan("scan_of_more_than_there_is", num_scan_inputs=3)
_evil_scan("scan_of_less_than_nothing", num_scan_inputs=-1)
_evil_scan("scan_axes_for_others", scan_input_axes=[0, 1], scan_input_directions=[1])
_evil_scan("scan_directions_for_others", scan_output_axes=[0], scan_output_directions=[1, 1, 1])


# Control flow without what it is made of


def _evil_control(name: str, *nodes: NodeProto) -> None:
    weights = (helper.make_tensor("m", INT64, [], [3]), helper.make_tensor("t", TensorProto.BOOL, [], [True]))
    EVIL[name] = lambda folder: _bytes(folder, model(*nodes, weights=weights).SerializeToString())


def _body(inputs: str, outputs: str) -> onnx.GraphProto:
    given, made = ([helper.make_empty_tensor_value_info(n) for n in names.split()] for names in (inputs, outputs))
    return helper.make_graph([node("Identity", "t", "d"), node("Neg", "x", "w")], "body", given, made)


_evil_control("if_without_branches", node("If", "t"))
_evil_control("if_with_one_branch", node("If", "t", then_branch=_body("", "w")))
_evil_control("if_with_lists_of_branches", node("If", "t", then_branch=[_body("", "w")] * 2, else_branch=3))
_evil_control("if_of_nothing", node("If", "", then_branch=_body("", "w"), else_branch=_body("", "w")))
_evil_control("loop_without_a_body", node("Loop", "m t x"))
_evil_control("loop_whose_body_gives_too_little", node("Loop", "m t x", body=_body("i c v", "d")))
_evil_control("loop_whose_body_gives_nothing", node("Loop", "m t x", body=_body("i c v", "")))
_evil_control("loop_whose_body_takes_too_little", node("Loop", "m t x", body=_body("i", "d w")))
_evil_control("loop_of_more_results_than_there_are", node("Loop", "m t x", "y z", body=_body("i c v", "d w")))
_evil_control("scan_without_a_body", node("Scan", num_scan_inputs=1))
_evil_control("scan_of_nobody_knows_how_many", node("Scan", body=_body("v", "w")))
_evil_control("sequence_map_of_nothing", node("SequenceMap", "", body=_body("v", "w")))
_evil_control("no_outputs", helper.make_node("Relu", ["x"], []), node("Neg"))
_evil_control("pads_of_three", node("Constant", "", "p", value_ints=[1, 2, 3]), node("Pad", "x p"))
_evil_control("constant_of_another_kind", node("Constant", "", value_ints=1.5))
_evil_control("numbers_that_are_none", node("RandomUniform", "", shape=[2], low=float("nan"), high=float("inf")))
_evil_control("if_that_says_which_arm", node("If", "t", **{"taken arm": "then_branch"}))
_evil_control("if_that_names_another_arm", node("If", "t", **{"taken arm": "body", "why": 3}))
