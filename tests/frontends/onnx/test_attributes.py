"""Attributes of windows and layers that contradict the weights are refused with a sentence that says so, and no others are."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
import rxlang as rx  # noqa: E402
from onnx import AttributeProto, TensorProto, helper, numpy_helper  # noqa: E402
from rxlang.frontends.onnx.reading import read_model  # noqa: E402
from rxlang.frontends.onnx.translate import translate  # noqa: E402
from rxlang.lang.diagnostics import RxError  # noqa: E402
from rxlang.lang.node import replace  # noqa: E402

Given = dict[str, Any]
AXES = {"strides": 1, "dilations": 1, "pads": 2, "output_padding": 1}  # how many numbers an axis takes
FILTERS = "kernel_shape"


class Layer(NamedTuple):
    """A node that is right: its domain, the dtype and shape of its input, its weights by their place, and its attributes."""

    domain: str
    dtype: type
    shape: tuple[int, ...]
    weights: dict[int, Any]
    attributes: Given
    outputs: int = 1


def f(*shape: int) -> Any:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def u8(*shape: int) -> Any:
    return np.random.default_rng(7).integers(0, 200, shape, np.uint8)


def image(**more: Any) -> Given:
    return {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 0, 1, 2], **more}


IMAGE, LAST, SCALE, ZERO = (2, 4, 9, 10), (2, 9, 10, 4), np.float32(0.1), np.uint8(3)
KERNEL = {FILTERS: [3, 2]}
OWN = "com.microsoft"
LAYERS = {
    "Conv": Layer("", np.float32, IMAGE, {1: f(6, 4, 3, 2)}, image(**KERNEL)),
    "ConvTranspose": Layer("", np.float32, IMAGE, {1: f(4, 6, 3, 2)}, image(**KERNEL, output_padding=[1, 0])),
    "ConvInteger": Layer("", np.uint8, IMAGE, {1: u8(6, 4, 3, 2)}, image(**KERNEL)),
    "QLinearConv": Layer(
        "", np.uint8, IMAGE, {1: SCALE, 2: ZERO, 3: u8(6, 4, 3, 2), 4: SCALE, 5: ZERO, 6: SCALE, 7: ZERO}, image(**KERNEL)
    ),
    "DeformConv": Layer("", np.float32, IMAGE, {1: f(6, 4, 3, 2), 2: f(2, 12, 5, 10)}, image(**KERNEL)),
    "MaxPool": Layer("", np.float32, IMAGE, {}, image(**KERNEL)),
    "AveragePool": Layer("", np.float32, IMAGE, {}, image(**KERNEL)),
    "LpPool": Layer("", np.float32, IMAGE, {}, image(**KERNEL)),
    "MaxUnpool": Layer("", np.float32, IMAGE, {1: np.zeros(IMAGE, np.int64)}, {**KERNEL, "strides": [2, 1], "pads": [0] * 4}),
    "FusedConv": Layer(OWN, np.float32, IMAGE, {1: f(6, 4, 3, 2)}, image(**KERNEL, activation="Relu")),
    "NhwcConv": Layer(OWN, np.float32, LAST, {1: f(6, 3, 2, 4)}, image(**KERNEL)),
    "NhwcMaxPool": Layer(OWN, np.uint8, LAST, {}, image(**KERNEL)),
    "ConvTransposeWithDynamicPads": Layer(
        OWN, np.float32, IMAGE, {1: f(4, 6, 3, 2)}, {**KERNEL, "strides": [2, 1], "dilations": [1, 2], "output_padding": [1, 0]}
    ),
    "QLinearAveragePool": Layer(
        OWN, np.uint8, IMAGE, {1: SCALE, 2: ZERO, 3: SCALE, 4: ZERO}, {**KERNEL, "strides": [2, 1], "pads": [0] * 4}
    ),
    "LSTM": Layer("", np.float32, (5, 2, 4), {1: f(1, 12, 4), 2: f(1, 12, 3)}, {"hidden_size": 3}),
    "GRU": Layer("", np.float32, (5, 2, 4), {1: f(1, 9, 4), 2: f(1, 9, 3)}, {"hidden_size": 3}),
    "RNN": Layer("", np.float32, (5, 2, 4), {1: f(1, 3, 4), 2: f(1, 3, 3)}, {"hidden_size": 3}),
    "DynamicQuantizeLSTM": Layer(
        OWN, np.float32, (5, 2, 4),
        {1: u8(1, 4, 12), 2: u8(1, 3, 12), 8: SCALE[None], 9: ZERO[None], 10: SCALE[None], 11: ZERO[None]}, {"hidden_size": 3},
    ),
}  # fmt: skip


def model(kind: str, layer: Layer, attributes: Given, held: bool = True) -> bytes:
    """The node alone, in a model that holds its weights, or is given them."""
    count = max(layer.weights, default=0)
    names = ["x", *(f"w{at}" if at in layer.weights else "" for at in range(1, count + 1))]
    node = helper.make_node(kind, names, ["y"], name="layer", domain=layer.domain)
    whole = AttributeProto.INTS  # an empty list does not say of what
    node.attribute.extend(
        helper.make_attribute(n, v, attr_type=whole if v == [] else None) for n, v in attributes.items()
    )
    value = lambda name, data: helper.make_tensor_value_info(  # noqa: E731
        name, helper.np_dtype_to_tensor_dtype(np.asarray(data).dtype), [f"{name}_{at}" for at in range(np.ndim(data))]
    )
    weights = {f"w{at}": np.asarray(w) for at, w in layer.weights.items()}
    graph = helper.make_graph(
        [node], "g",
        [value("x", np.zeros(layer.shape, layer.dtype)), *(() if held else (value(n, w) for n, w in weights.items()))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(w, n) for n, w in weights.items()] if held else [],
    )  # fmt: skip
    graph.output[0].ClearField("type")
    opsets = [helper.make_opsetid("", 19), helper.make_opsetid(OWN, 1)]
    data: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    return data


def said(data: bytes) -> str:
    try:
        found = rx.onnx.infer(data).diagnostics
    except RxError as refused:
        found = refused.diagnostics
    return " ".join(d.message for d in found if d.severity == "error")


def filters(layer: Layer) -> Any:
    """The weights that have a window's sizes, where there are such."""
    found = (w for at, w in layer.weights.items() if at in (1, 3) and np.ndim(w) == 4 and w.shape != layer.shape)
    return next(found, None)


def wrong(layer: Layer) -> Iterator[tuple[Given, str]]:
    """The attributes with one that is wrong, and what is said of it."""
    given = layer.attributes
    for name in AXES.keys() & given.keys():
        for values in ([*given[name], 1], given[name][:-1]):
            yield (
                {**given, name: values},
                f"its attribute `{name}` has {len(values)} numbers; 2 axes take {2 * AXES[name]}",
            )
    if filters(layer) is not None:
        yield {**given, FILTERS: [2, 3]}, f"its attribute `{FILTERS}` says ["
        yield {**given, FILTERS: [3]}, "its attribute `"
    for size in (4, 1, 0, -3):
        if "hidden_size" in given:
            yield {"hidden_size": size}, f"its attribute `hidden_size` {'says [?, ' if size > 0 else f'is {size}'}"
    if "hidden_size" in given:
        yield {**given, "clip": -1.0}, "its attribute `clip` is -1.0; it is at least 0"


@pytest.mark.parametrize("kind", LAYERS)
def test_attributes_that_contradict_the_weights_are_refused(kind: str) -> None:
    layer = LAYERS[kind]
    assert said(model(kind, layer, layer.attributes)) == ""
    cases = list(wrong(layer))
    assert cases
    for attributes, words in cases:
        found = said(model(kind, layer, attributes))
        assert words in found and "layer" in found, (attributes, found)


@pytest.mark.parametrize("kind", LAYERS)
def test_attributes_may_be_left_out_and_a_list_may_be_empty(kind: str) -> None:
    """But for what says how large the window of a pool is; a result is padded by less than a stride."""
    layer = LAYERS[kind]
    others = {n: v for n, v in layer.attributes.items() if n != "output_padding"}
    for name in others.keys() - ({FILTERS} if filters(layer) is None else set()):
        assert said(model(kind, layer, {n: v for n, v in others.items() if n != name})) == ""
    for name in others.keys() & AXES.keys():
        assert said(model(kind, layer, {**others, name: []})) == ""


@pytest.mark.parametrize("kind", LAYERS)
def test_weights_that_are_given_have_the_sizes_that_the_attributes_say(kind: str) -> None:
    layer = LAYERS[kind]
    if layer.weights:
        assert said(model(kind, layer, layer.attributes, held=False)) == ""


# What changes no result: how it is computed, or in which order or place; and what is nothing beside another attribute or input.
NO_MATTER = {"chunk_size", "locale", "ratio", "sorted", "stash_type"}
BESIDE = {("Cast", "saturate"), ("Cast", "round_mode"), ("ConvTranspose", "pads"), ("Split", "num_outputs")}


class Recorded(UserDict[str, Any]):
    """Attributes that remember which of them somebody asked for."""

    def __init__(self, given: Given) -> None:
        self.read: set[str] = set()
        super().__init__(given)

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return self.data.get(name, default)

    def values(self) -> Any:
        """Who looks for graphs among them asks for none."""
        return self.data.values()


def whole(schema: Any) -> Given:
    """A value for each attribute of an operator."""
    values = {
        AttributeProto.FLOAT: 1.5,
        AttributeProto.INT: 2,
        AttributeProto.FLOATS: [1.0, 2.0],
        AttributeProto.INTS: [1, 2],
    }
    usual = {name: a.default_value for name, a in schema.attributes.items()}
    found = {
        n: helper.get_attribute_value(d) if d.type else values.get(schema.attributes[n].type.value)
        for n, d in usual.items()
    }
    return {name: value for name, value in found.items() if value is not None}


def versions() -> Iterator[Any]:
    """Every operator of ONNX with attributes, in each version that a model of opset 7 or newer may mean."""
    every = [s for s in onnx.defs.get_all_schemas_with_history() if s.domain == "" and not s.deprecated]
    for schema in every:
        later = [s.since_version for s in every if s.name == schema.name and s.since_version > schema.since_version]
        if min(later, default=99) > 7 and schema.attributes and schema.name not in ("Constant", "ImageDecoder"):
            yield schema


def unread(schema: Any, path: Path) -> set[str]:
    """The attributes that nobody asks for where a model is translated; none where it is refused, as other values may fit."""
    names, outputs = [i.name for i in schema.inputs], [f"made_{o.name}" for o in schema.outputs]
    node = helper.make_node(schema.name, names, outputs, name="n", **whole(schema))
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in names]
    graph = helper.make_graph([node], "g", values, [helper.make_empty_tensor_value_info(o) for o in outputs])
    opset = helper.make_opsetid("", max(schema.since_version, 7))
    path.write_bytes(helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString())
    model = read_model(path)
    (operation,) = model.graph.operations
    attributes = Recorded({**operation.attributes})
    changed = replace(model.graph, operations=(replace(operation, attributes=attributes),))
    is_refused = translate(replace(model, graph=changed)).wrong
    return set() if is_refused else {*attributes} - attributes.read - NO_MATTER


def test_no_attribute_of_any_version_is_passed_over(tmp_path: Path) -> None:
    left = {(s.name, s.since_version, name) for s in versions() for name in unread(s, tmp_path / "m.onnx")}
    assert {one for one in left if (one[0], one[2]) not in BESIDE} == set()
