"""What the standard says of the ranks and lengths of an operator's inputs is asked of all ways to give them, beside onnxruntime
and ONNX's reference; where we differ from them, a table says why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support import fuzz
from support.places import ROOT

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
np = pytest.importorskip("numpy")

import rxlang  # noqa: E402
from onnx import parser  # noqa: E402
from rxlang.model.check import check_model  # noqa: E402

from tests.support.node_demands import WAYS, drawn, given_as, model_of  # noqa: E402
from tests.support.node_differences import BY_WAY, LENIENT, NARROWER, WIDER  # noqa: E402
from tests.support.node_draws import Node, listed  # noqa: E402
from tests.support.onnx_peers import Runtime, by_reference  # noqa: E402

KNOWN = tuple(way for way in WAYS if way != "symbol")


def floats(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def whole(value: int, *shape: int) -> Any:
    return np.full(shape, value, np.int64)


# A node, the input that is wrong in it, and what that has to be.
WRONG: dict[str, tuple[Node, int, Any]] = {
    "Gemm of a vector": (Node("Gemm", [floats(8), floats(8, 3)]), 0, floats(2, 8)),
    "Gemm of rank 3": (Node("Gemm", [floats(2, 3, 8), floats(8, 3)]), 0, floats(2, 8)),
    "Gemm, B of rank 3": (Node("Gemm", [floats(2, 8), floats(1, 8, 3)]), 1, floats(8, 3)),
    "Gemm, C that grows": (Node("Gemm", [floats(1, 8), floats(8, 3), floats(5, 3)]), 2, floats(1, 3)),
    "Clip, a row for min": (Node("Clip", [floats(1, 3, 1, 1), floats(3)]), 1, floats()),
    "Clip, a row for max": (Node("Clip", [floats(2, 3), None, floats(3)]), 2, floats(1)),
    "Clip, rank 2": (Node("Clip", [floats(2, 3), floats(1, 1)]), 1, floats(1)),
    "Dropout": (Node("Dropout", [floats(2, 3), floats(2)], opset=13), 1, floats()),
    "Tile, too long": (Node("Tile", [floats(2, 3), whole(1, 3)]), 1, whole(1, 2)),
    "Tile, too short": (Node("Tile", [floats(2, 3), whole(1, 1)]), 1, whole(1, 2)),
    "CumSum": (Node("CumSum", [floats(2, 3), whole(0, 2)]), 1, whole(0)),
    "Pad, a row of values": (Node("Pad", [floats(2, 4), whole(1, 4), floats(3)]), 2, floats()),
    "Pad, too few pads": (Node("Pad", [floats(2, 4), whole(1, 2)], opset=13), 1, whole(1, 4)),
    "Range": (Node("Range", [whole(0), whole(4, 2), whole(1)], opset=11), 1, whole(4, 1)),
    "MaxPool": (Node("MaxPool", [floats(2, 3, 5)], {"kernel_shape": [2, 2]}), 0, floats(1, 2, 3, 5)),
    "MaxPool, two outputs": (Node("MaxPool", [floats(2, 3, 5)], {"kernel_shape": [2, 2]}, outputs=2), 0, floats(1, 2, 3, 5)),
    "AveragePool": (Node("AveragePool", [floats(2, 3, 5)], {"kernel_shape": [2, 2]}), 0, floats(1, 2, 3, 5)),
    "LpPool": (Node("LpPool", [floats(2, 3, 5, 4)], {"kernel_shape": [2]}), 0, floats(2, 3, 5)),
    "PRelu, a slope that grows x": (Node("PRelu", [floats(2, 1, 2), floats(5, 2)]), 1, floats(2)),
    "PRelu, a slope of higher rank": (Node("PRelu", [floats(2, 3), floats(1, 1, 1)]), 1, floats(1, 1)),
    "TopK, two numbers": (Node("TopK", [floats(2, 5), whole(2, 2)], outputs=2), 1, whole(2, 1)),
    "TopK, no row": (Node("TopK", [floats(2, 5), whole(2)], outputs=2), 1, whole(2, 1)),
    "Trilu": (Node("Trilu", [floats(2, 3), whole(1, 2)]), 1, whole(1)),
    "Reshape": (Node("Reshape", [floats(3, 4), whole(-1, 1, 1)]), 1, whole(-1, 1)),
    "Reshape, a number": (Node("Reshape", [floats(3, 4), whole(-1)]), 1, whole(-1, 1)),
    "Expand": (Node("Expand", [floats(3, 4), whole(1, 1, 2)]), 1, whole(1, 2)),
    "Slice": (Node("Slice", [floats(3, 4), whole(0, 1, 1), whole(2, 1), whole(0, 1)]), 1, whole(0, 1)),
    "Slice, two ends": (Node("Slice", [floats(3, 4), whole(0, 1), whole(2, 2)]), 2, whole(2, 1)),
    "Slice, no step": (Node("Slice", [floats(3, 4), whole(0, 1), whole(2, 1), whole(0, 1), whole(1, 0)]), 4, whole(1, 1)),
    "Unsqueeze": (Node("Unsqueeze", [floats(3, 4), whole(0, 1, 1)]), 1, whole(0)),
    "Squeeze": (Node("Squeeze", [floats(1, 4), whole(0)]), 1, whole(0, 1)),
    "ReduceSum": (Node("ReduceSum", [floats(3, 4), whole(1, 1, 1)]), 1, whole(1, 1)),
    "ReduceMean": (Node("ReduceMean", [floats(3, 4), whole(1)]), 1, whole(1, 1)),
    "Split": (Node("Split", [floats(4, 4), whole(2, 2)]), 1, whole(4, 1)),
    "HannWindow": (Node("HannWindow", [whole(4, 1)]), 0, whole(4)),
    "OneHot": (Node("OneHot", [whole(1, 2), whole(3, 2), floats(2)]), 1, whole(3, 1)),
    "LSTM": (Node("LSTM", [floats(3), floats(1, 8, 3), floats(1, 8, 2), None, np.ones(2, np.int32)]), 0, floats(4, 2, 3)),
    "zero points": (Node("DequantizeLinear", [np.ones((2, 3), np.uint8), floats(3), np.uint8(1)], opset=13), 2,
                    np.ones(3, np.uint8)),
    "BiasGelu": (Node("BiasGelu", [floats(2, 1), floats(4)], domain="com.microsoft"), 1, floats(1)),
}  # fmt: skip


def refused(model: Any, feeds: Mapping[str, Any], folder: Path) -> str:
    """Where a model is refused: at "check", in the "run", or nowhere."""
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    try:
        main = rxlang.load(path, allow_empty=True).main
    except rxlang.CheckError:
        return "check"
    try:
        main(*feeds.values())
    except (rxlang.CheckError, rxlang.ShapeError):
        return "run"
    return ""


@pytest.mark.parametrize("way", KNOWN)
@pytest.mark.parametrize("name", WRONG)
def test_an_input_of_another_shape_is_refused_at_check_however_it_is_given(name: str, way: str, tmp_path: Path) -> None:
    node, place, right = WRONG[name]
    assert refused(*given_as(way, node, place), tmp_path) == "check"
    inputs = [right if at == place else data for at, data in enumerate(node.inputs)]
    outputs = 1 if name == "Split" else node.outputs
    assert refused(*given_as(way, node._replace(inputs=inputs, outputs=outputs), place), tmp_path) == ""


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    found = Runtime()
    yield found
    found.close()


def explained(node: Node, place: int | str, table: Mapping[tuple[str, int | str], str]) -> bool:
    return (node.op, place) in table or (node.op, "any") in table


def compared(seed: int, runtime: Runtime, folder: Path) -> bool:
    """Hold what becomes of a node that is changed against what others say; whether one of them takes it as it was."""
    told = False
    for node, (wrong, place) in drawn(seed):
        said = (wrong.op, wrong.opset, place, [np.shape(x) for x in wrong.inputs], wrong.attributes)
        ours = refused(*given_as("input", wrong, place), folder)
        way = WAYS[seed // 7 % len(WAYS)]
        otherwise = refused(*given_as(way, wrong, place), folder)
        is_row = (
            way == "symbol" and isinstance(place, int) and np.shape(wrong.inputs[place]) == (1,)
        )  # of which nobody knows
        assert bool(ours) == bool(otherwise) or is_row or wrong.op in BY_WAY, (said, way, ours, otherwise)
        before, after = dict(listed(node.inputs)), dict(listed(wrong.inputs))
        model = model_of(wrong)
        if runtime.results(model_of(node), before) is not None:
            told, takes = True, runtime.results(model, after) is not None
            assert takes or ours or explained(wrong, place, WIDER), (said, "onnxruntime refuses")
            assert not takes or not ours or explained(wrong, place, NARROWER), (said, "onnxruntime takes it", ours)
        elif by_reference(model_of(node), before) is not None:
            told, takes = True, is_inferred(model) and by_reference(model, after) is not None
            assert not takes or not ours or wrong.op in LENIENT or explained(wrong, place, NARROWER), (
                said,
                "reference",
            )
    return told


def is_inferred(model: Any) -> bool:
    """Whether ONNX's own inference finds nothing wrong."""
    try:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError:
        return False
    return True


def test_what_is_asked_of_ranks_and_lengths_is_what_others_ask_or_stands_in_a_table(
    runtime: Runtime, tmp_path: Path
) -> None:
    for case in fuzz.cases("demands of nodes"):
        with case as seed:
            if not compared(seed, runtime, tmp_path):
                fuzz.count("demands of nodes", "unknown")


def test_each_difference_from_onnxruntime_is_in_the_documentation() -> None:
    rows = (ROOT / "docs" / "onnx-operators.md").read_text("utf-8").partition("## Differences from onnxruntime")[2]
    rows = rows.partition("## Operators")[0]
    told = {name.strip(" |") for row in rows.splitlines() for name in row.partition(" | ")[0].split(", ")}
    assert {op for op, _ in (*WIDER, *NARROWER)} <= told


VERSIONS = '<ir_version: 9, opset_import: ["" : 18]>'


def contract(text: str, folder: Path) -> tuple[list[str], list[str]]:
    """The conditions of a model and what it leaves to the run, with the nodes' words."""
    path = folder / "model.onnx"
    onnx.save(parser.parse_model(VERSIONS + text), path)
    found = check_model(path, path.name).contract
    assert found is not None
    return [f"{c.condition}: {c.demands[0].needs}" for c in found.conditions], [d.needs for d in found.undecided]


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("g (float[n, 3] x, int64[k] K) => (float[a, b] y, int64[a, b] i) { y, i = TopK (x, K) }",
         ["k == 1: K is a row of one number"]),
        ("g (float[n, 3] x, int64[k] r) => (float[a, b] y) { y = Tile (x, r) }",
         ["k == 2: repeats is a row of one number for each axis of `x`"]),
        ("g (float[n, 3] x, float[m] lo) => (float[n, 3] y) { l = Relu (lo) y = Clip (x, l) }",
         ["m == 1: min is one number"]),
        ("g (float[n, c, h, w] x) => (float[n, c, h, w] y) <float[5, 1, 1] s = {1, 1, 1, 1, 1}> { y = PRelu (x, s) }",
         ["c == 5: @broadcast_to needs axis 0 of `s` (5) to be 1 or equal to axis 1 of `shape` (c)"]),
        ("g (float[n, 4] x, int64[k] s, int64[m] e) => (float[a, b] y) { y = Slice (x, s, e) }",
         ["k == m: @onnx.slice needs axis 0 of `e` (m) and axis 0 of `s` (k) to be equal"]),
    ],
)  # fmt: skip
def test_what_depends_on_sizes_is_a_condition(text: str, conditions: list[str], tmp_path: Path) -> None:
    assert contract(text, tmp_path)[0] == conditions


def test_a_row_of_unknown_length_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(
        parser.parse_model(VERSIONS + "g (float[n] x, float[m] lo) => (float[n] y) { [C] y = Clip (x, lo) }"), path
    )
    with pytest.raises(rxlang.CheckError, match=r"node C \(Clip\): `min` has to be one number, but `lo` is \[m\]"):
        rxlang.load(path)


def test_a_rank_that_nobody_knows_is_asked_in_words(tmp_path: Path) -> None:
    _, left = contract(
        "g (float[n] x, float[] lo) => (float[n] y) { s = Shape (lo) l = Reshape (lo, s) y = Clip (x, l) }", tmp_path
    )
    assert all(left)


FAR = 2**31 - 1


@pytest.mark.parametrize(
    ("values", "size"),
    [
        ((0, FAR, 1), "n"),
        ((0, 2**63 - 1, 1), "n"),
        ((-FAR - 1, FAR, 1), "n"),
        ((FAR, -FAR - 1, -1), "n"),
        ((1, FAR, 1), None),
    ],
)
@pytest.mark.parametrize("kind", ["int64", "int32"])
def test_a_slice_to_the_end_of_int32_goes_to_the_end(
    values: tuple[int, ...], size: str | None, kind: str, tmp_path: Path
) -> None:
    if kind == "int32" and max(values) > FAR:
        return
    start, end, step = values
    held = ", ".join(f"{kind}[1] {name} = {{{v}}}" for name, v in (("s", start), ("e", end), ("a", 0), ("t", step)))
    text = f"g (float[n, 2] x) => (float[m, 2] y) <{held}> {{ c = Slice (x, s, e, a, t) y = Add (c, x) }}"
    conditions, left = contract(text, tmp_path)
    assert not left and (conditions == [] if size else len(conditions) == 1)
    text = (
        f"g (float[n, 2] x, {kind}[1] s) => (float[m, 2] y) <{held.partition(', ')[2]}> {{ y = Slice (x, s, e, a, t) }}"
    )
    contract(text, tmp_path)
    main, x = rxlang.load(tmp_path / "model.onnx").main, np.arange(6, dtype=np.float32).reshape(3, 2)
    assert main(x, np.array([start], kind)).tolist() == x[::step][max(start, 0) if step > 0 else 0 :].tolist()


@pytest.mark.parametrize(
    ("shape", "said"),
    [([-1, 4], "entry 0 of `s` to be at least 0, but it is -1"), ([1, -2], "entry 1 of `s` to be at least 0, but it is -2"),
     ([2, 3], r"axis 1 of `x` \(4\) and entry 1 of `s` \(3\) to be equal, or one of them 1")],
)  # fmt: skip
def test_the_entry_of_a_shape_that_is_wrong_is_told(shape: list[int], said: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(
        parser.parse_model(VERSIONS + "g (float[n, 4] x, int64[2] s) => (float[a, b] y) { y = Expand (x, s) }"), path
    )
    with pytest.raises(rxlang.ShapeError) as run:
        rxlang.load(path).main(np.ones((3, 4), np.float32), np.array(shape))
    held = f"g (float[n, 4] x) => (float[a, b] y) <int64[2] s = {{{shape[0]}, {shape[1]}}}> {{ y = Expand (x, s) }}"
    onnx.save(parser.parse_model(VERSIONS + held), path)
    with pytest.raises(rxlang.CheckError) as check:
        rxlang.load(path)
    for problem in (run, check):
        assert problem.match(said.replace(" ", r"\s+"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("how", [{}, {"approximate": "tanh"}])
def test_gelu_of_minus_infinity_is_no_number(dtype: str, how: dict[str, str], tmp_path: Path) -> None:
    """As its factors say, and as onnxruntime and PyTorch have it."""
    x = np.array([-np.inf, np.inf, -40, 0], dtype)
    node = Node("Gelu", [x], dict(how), opset=20)
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(node).SerializeToString())
    found = rxlang.load(path).main(x)
    assert np.isnan(found[0]) and found[1:].tolist() == [np.inf, 0, 0]
