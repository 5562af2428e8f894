"""Nodes of every operator over what its versions allow: shapes for all sizes and values are those of onnxruntime, or of ONNX's
own reference; what these run is not refused, and nothing ends in a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import fuzz

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
np = pytest.importorskip("numpy")

import rxlang  # noqa: E402

from tests.support.node_draws import Draw, Node, listed  # noqa: E402
from tests.support.node_sweeps import FAMILIES  # noqa: E402
from tests.support.node_values import FAMILIES as MORE  # noqa: E402
from tests.support.one_node import OneNode, fits, one_node  # noqa: E402
from tests.support.onnx_peers import Runtime, by_reference  # noqa: E402

ALL = (*FAMILIES, *MORE)
# How near floats are that are computed in another order, by the bits that they keep.
NEAR = {2: (2e-2, 2e-2), 1: (0.3, 0.1)}


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    found = Runtime()
    yield found
    found.close()


def same(made: Any, right: Any) -> bool:
    """Whether a result is what it ought to be; integers that are quantised may lie one step beside."""
    if isinstance(right, list):
        return isinstance(made, list) and len(made) == len(right) and all(map(same, made, right))
    made, right = np.asarray(made), np.asarray(right)
    if made.shape != right.shape:
        return False
    if right.dtype.kind in "OUST":
        return [str(x) for x in made.ravel()] == [str(x) for x in right.ravel()]
    if made.dtype != right.dtype:
        return False
    near = NEAR.get(made.dtype.itemsize, (2e-3, 1e-4)) if "float" in made.dtype.name else (0, 0)
    with np.errstate(all="ignore"):
        return bool(np.allclose(made.astype(np.float64), right.astype(np.float64), *near, equal_nan=True))


def said(node: Node) -> str:
    shapes = [None if x is None else f"{x.dtype}{list(x.shape)} {x.ravel()[:6].tolist()}" for x in node.inputs]
    return f"{node.op}-{node.opset} {node.attributes} of {shapes}, held {node.constants}"


def tried(node: Node, runtime: Runtime, folder: Path) -> bool:
    """Compare a node with what others make of it; whether one of them runs it."""
    model = one_node(node.op, node.inputs, node.outputs, node.opset, node.domain, node.version, **node.attributes)
    feeds = dict(listed(node.inputs))
    rights = [r for r in (runtime.results(model, feeds), by_reference(model, feeds)) if r is not None]
    one = OneNode(model, list(feeds.values()), node.constants)
    try:
        found = one.run(folder)
    except (rxlang.CheckError, rxlang.ShapeError) as refused:
        assert not rights, (said(node), str(refused), rights)
        return False
    shapes = one.shapes(folder)
    assert fits(shapes, found, exactly=False), (said(node), shapes, [np.shape(f) for f in found])
    assert not rights or any(all(map(same, found, right)) for right in rights), (said(node), found, rights)
    return bool(rights)


def test_nodes_over_all_that_their_versions_allow_give_what_others_give(runtime: Runtime, tmp_path: Path) -> None:
    for case in fuzz.cases("swept operators"):
        with case as seed:
            if not tried(ALL[seed % len(ALL)](Draw(seed)), runtime, tmp_path):
                fuzz.count("swept operators", "unknown")
