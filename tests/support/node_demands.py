"""Nodes one of whose inputs has another rank or length than the standard says, or one of whose attributes another length, given
in every way that a model has; and why we, onnxruntime and ONNX's reference differ about some of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .node_draws import Draw, Node, listed
from .node_sweeps import FAMILIES
from .node_values import FAMILIES as MORE
from .one_node import one_node

DRAWN = (*FAMILIES, *MORE)
# How a node's inputs are given: those that the model has declare sizes, or a name for each.
WAYS = ("input", "symbol", "initializer", "constant", "computed", "arm", "function")


class Wrong(NamedTuple):
    """A node, and the input (by its number) or the attribute of it that was changed."""

    node: Node
    place: int | str


def changed(d: Draw, node: Node) -> Wrong | None:
    """The node with another rank or length somewhere; None where it has nothing that can be changed."""
    lists = [name for name, value in node.attributes.items() if isinstance(value, list) and value]
    inputs = [at for at, data in enumerate(node.inputs) if data is not None]
    place = d.one(*inputs, *lists)
    if isinstance(place, int):
        data, given = np.asarray(node.inputs[place]), list(node.inputs)
        shape = _longer(d, data.shape) if data.ndim and d.chance(0.4) else _of_rank(d, data.shape)
        given[place] = _resized(data, shape)
        return Wrong(node._replace(inputs=given), place)
    value = node.attributes[place]
    value = [*value, value[-1]] if len(value) == 1 or d.chance() else value[:-1]
    return Wrong(node._replace(attributes={**node.attributes, place: value}), place)


def _longer(d: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    at = d.number(0, len(shape))
    size = d.one(shape[at] + 1, 2 * shape[at] + 1, max(shape[at] - 1, 0) if shape[at] else 1)
    return (*shape[:at], size, *shape[at + 1 :])


def _of_rank(d: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    rank = d.one(*(r for r in range(5) if r != len(shape)))
    if rank < len(shape):
        return shape[len(shape) - rank :] if d.chance() else shape[:rank]
    ones = (1,) * (rank - len(shape))
    return (*ones, *shape) if d.chance(0.7) else (*shape, *ones)


def _resized(data: Any, shape: tuple[int, ...]) -> Any:
    if not data.size:
        return np.full(shape, "", object) if data.dtype.kind == "O" else np.zeros(shape, data.dtype)
    return np.asarray(np.resize(data, shape)).astype(data.dtype).reshape(shape)


def model_of(node: Node) -> Any:
    return one_node(node.op, node.inputs, node.outputs, node.opset, node.domain, node.version, **node.attributes)


def given_as(way: str, node: Node, place: int | str) -> tuple[Any, Mapping[str, Any]]:
    """The model of a node whose input `place`, or whose first one, is given in this way, and what is fed to it."""
    model, feeds = model_of(node), dict(listed(node.inputs))
    name = f"x{place}" if isinstance(place, int) else next(iter(feeds))
    graph = model.graph
    value = next(v for v in graph.input if v.name == name)
    match way:
        case "symbol":
            for axis, dim in enumerate(value.type.tensor_type.shape.dim):
                dim.dim_param = f"s{axis}"
        case "initializer" | "constant":
            tensor = numpy_helper.from_array(np.asarray(feeds.pop(name)), name)
            graph.input.remove(value)
            if way == "initializer":
                graph.initializer.append(tensor)
            else:
                graph.node.insert(0, helper.make_node("Constant", [], [name], value=tensor))
        case "computed":
            graph.node[0].input[:] = ["made" if n == name else n for n in graph.node[0].input]
            graph.node.insert(0, helper.make_node("Identity", [name], ["made"]))
        case "arm":
            _in_an_arm(graph)
            feeds["taken"] = np.array(True)
        case "function":
            _in_a_function(model)
    return model, feeds


def _in_an_arm(graph: Any) -> None:
    node = graph.node[0]
    arms = [helper.make_graph([_renamed(node, arm)], arm, [], [
        helper.make_empty_tensor_value_info(f"{arm}_{name}") for name in node.output]) for arm in ("yes", "no")]  # fmt: skip
    chosen = helper.make_node("If", ["taken"], list(node.output), then_branch=arms[0], else_branch=arms[1])
    del graph.node[:]
    graph.node.append(chosen)
    graph.input.append(helper.make_tensor_value_info("taken", TensorProto.BOOL, []))


def _renamed(node: Any, arm: str) -> Any:
    made = onnx.NodeProto()
    made.CopyFrom(node)
    made.output[:] = [f"{arm}_{name}" for name in node.output]
    return made


def _in_a_function(model: Any) -> None:
    node = model.graph.node[0]
    names = [name for name in node.input if name]
    function = helper.make_function("own", "Held", names, list(node.output), [node], list(model.opset_import))
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("own", 1))
    call = helper.make_node("Held", names, list(node.output), domain="own")
    del model.graph.node[:]
    model.graph.node.append(call)


def drawn(seed: int) -> Iterator[tuple[Node, Wrong]]:
    """A valid node and what becomes of it; nothing where ONNX's own builder cannot write it."""
    d = Draw(seed)
    try:
        node = DRAWN[seed % len(DRAWN)](d)
        model_of(node)
        wrong = changed(d, node) if any(x is not None for x in node.inputs) else None
    except ValueError:  # an attribute without a number
        return
    if wrong is not None:
        yield node, wrong
