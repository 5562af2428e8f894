"""Sizes that an exporter baked into a model: random small models with one in each of the ways there are, beside the same model
that works its sizes out. What is fixed takes them all and computes what the other does; what cannot be freed is left."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from rxlang.cli.main import invoke  # noqa: E402
from rxlang.model.check import check_model  # noqa: E402
from support import fuzz  # noqa: E402

TRIES = fuzz.tries("baked sizes")
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Making:
    """A model over `x : [b, t, d]`, of which `baked` has what is a number there; without, it is worked out."""

    def __init__(self, draw: Random, baked: dict[int, int], numbers: dict[int, int]) -> None:
        self.draw, self.baked, self.numbers = draw, baked, numbers
        self.nodes: list[Any] = []
        self.held: list[Any] = []
        self.functions: list[Any] = []
        self.count = 0
        self.more = ["added"]
        self.opset = 18

    def name(self, what: str) -> str:
        self.count += 1
        return f"{what}_{self.count}"

    def add(self, op: str, *inputs: str, outputs: int = 1, **how: Any) -> str:
        made = [self.name(op.lower()) for _ in range(outputs)]
        domain = how.pop("domain", "")
        self.nodes.append(helper.make_node(op, list(inputs), made, name=self.name(op), domain=domain, **how))
        return made[0]

    def hold(self, array: Any) -> str:
        """A constant, in one of the ways to write one."""
        array, name = np.asarray(array), self.name("c")
        way = self.draw.choice(["initializer", "value", "attribute"])
        if way == "initializer":
            self.held.append(numpy_helper.from_array(array, name))
            return name
        if way == "attribute" and array.dtype == np.int64 and array.ndim < 2 and self.opset >= 12:
            key = "value_ints" if array.ndim else "value_int"
            return self.constant(name, **{key: array.tolist()})
        return self.constant(name, value=numpy_helper.from_array(array))

    def constant(self, name: str, **how: Any) -> str:
        self.nodes.append(helper.make_node("Constant", [], [name], name=self.name("C"), **how))
        return name

    def size(self, axis: int, of: str = "x") -> str:
        """One of the sizes of x, as int64[1]."""
        if axis not in self.baked:
            return self.add("Gather", self.add("Shape", of), self.hold(np.array([axis])))
        n, way = self.baked[axis], self.draw.choice(["plain", "unsqueezed", "cast", *self.more])
        if way == "unsqueezed":
            return self.add("Unsqueeze", self.hold(np.int64(n)), self.hold(np.array([0])))
        if way == "cast":
            return self.add("Cast", self.hold(np.array([n], np.int32)), to=INT64)
        if way == "added":
            return self.add("Add", self.hold(np.array([n - 1])), self.hold(np.array([1])))
        return self.hold(np.array([n]))

    def sizes(self, *parts: int | str) -> str:
        """A list of numbers and sizes."""
        known = [self.baked.get(int(p[1:]), None) if isinstance(p, str) else p for p in parts]
        if None not in known and self.draw.random() < 0.6:
            return self.hold(np.array(known, np.int64))
        made = [self.size(int(p[1:])) if isinstance(p, str) else self.hold(np.array([p])) for p in parts]
        return self.add("Concat", *made, axis=0)

    def scalar(self, axis: int) -> str:
        if axis in self.baked and self.draw.random() < 0.6:
            return self.hold(np.int64(self.baked[axis]))
        return self.add("Squeeze", self.size(axis), self.hold(np.array([0])))

    def model(self, result: str, dims: list[Any]) -> Any:
        self.nodes.append(helper.make_node("Identity", [result], ["y"], name="Last"))
        graph = helper.make_graph(
            self.nodes, "g", [helper.make_tensor_value_info("x", FLOAT, dims)],
            [helper.make_tensor_value_info("y", FLOAT, None)], self.held,
        )  # fmt: skip
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("own", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=self.functions)


D = 6
Kind = Callable[[Making], str]
KINDS: dict[str, tuple[Kind, tuple[int, ...]]] = {}


def kind(*axes: int) -> Callable[[Kind], Kind]:
    """A kind with the axes of x that may be baked in."""

    def enter(made: Kind) -> Kind:
        KINDS[made.__name__] = made, axes
        return made

    return enter


@kind(0, 1)
def split_heads(m: Making) -> str:
    made = m.add("Reshape", "x", m.sizes("s0", "s1", 2, 3))
    made = m.add("Transpose", made, perm=[0, 2, 1, 3])
    made = m.add("Transpose", made, perm=[0, 2, 1, 3])
    return m.add("Reshape", made, m.sizes("s0", "s1", D))


@kind(0, 1)
def joined_axes(m: Making) -> str:
    rows = m.add("Mul", m.size(0), m.size(1))
    if m.baked.keys() == {0, 1}:
        rows = m.hold(np.array([m.baked[0] * m.baked[1]]))
    flat = m.add("Reshape", "x", m.add("Concat", rows, m.hold(np.array([D])), axis=0))
    weight = m.hold(np.arange(D * 2, dtype=np.float32).reshape(D, 2))
    return m.add("Reshape", m.add("MatMul", flat, weight), m.sizes("s0", "s1", 2))


@kind(0, 1)
def attention(m: Making) -> str:
    """The axes as PyTorch's MultiheadAttention has them."""
    m.baked = {1 - axis: n for axis, n in m.baked.items()}  # of what is transposed
    turned = m.add("Transpose", "x", perm=[1, 0, 2])
    m.baked, old = {1 - axis: n for axis, n in m.baked.items()}, m.baked
    bsz = m.add("Mul", m.size(0), m.hold(np.array([2])))
    heads = m.add("Reshape", turned, m.add("Concat", m.size(1), bsz, m.hold(np.array([3])), axis=0))
    heads = m.add("Transpose", heads, perm=[1, 0, 2])
    scores = m.add("Softmax", m.add("MatMul", heads, m.add("Transpose", heads, perm=[0, 2, 1])))
    made = m.add("Transpose", m.add("MatMul", scores, heads), perm=[1, 0, 2])
    assert old.keys() <= {0, 1}
    return m.add("Reshape", made, m.sizes("s1", "s0", D))


@kind(0)
def token(m: Making) -> str:
    one = m.hold(np.arange(D, dtype=np.float32).reshape(1, 1, D))
    return m.add("Concat", m.add("Expand", one, m.sizes("s0", 1, D)), "x", axis=1)


@kind(0)
def tiled(m: Making) -> str:
    one = m.hold(np.arange(D, dtype=np.float32).reshape(1, 1, D))
    return m.add("Concat", "x", m.add("Tile", one, m.sizes("s0", 1, 1)), axis=1)


@kind(0)
def filled(m: Making) -> str:
    value = numpy_helper.from_array(np.array([3], np.float32))
    return m.add("Concat", m.add("ConstantOfShape", m.sizes("s0", 2, D), value=value), "x", axis=1)


@kind(0)
def equal_rows(m: Making) -> str:
    row = np.arange(2 * D, dtype=np.float32).reshape(1, 2, D)
    if 0 in m.baked:
        return m.add("Concat", m.hold(np.repeat(row, m.baked[0], 0)), "x", axis=1)
    return m.add("Concat", m.add("Expand", m.hold(row), m.sizes("s0", 2, D)), "x", axis=1)


@kind(1)
def sliced_table(m: Making) -> str:
    table = m.hold(np.random.default_rng(1).random((40, D), np.float32))
    end = m.size(1)
    if 1 in m.baked and m.draw.random() < 0.5:
        ends = np.array([m.baked[1]], np.int32)
        rows = m.add("Slice", table, m.hold(np.array([0], np.int32)), m.hold(ends), m.hold(np.array([0], np.int32)))
    else:
        rows = m.add("Slice", table, m.hold(np.array([0])), end, m.hold(np.array([0])))
    return m.add("Add", "x", rows)


@kind(1)
def first_rows(m: Making) -> str:
    """The input up to a number, which is all of it as it was exported."""
    return m.add("Add", "x", m.add("Slice", "x", m.hold(np.array([0])), m.size(1), m.hold(np.array([1]))))


@kind(1)
def last_rows(m: Making) -> str:
    """So many rows of a table or of the input, counted from the end."""
    table = m.numbers[4] == 2
    rows = m.hold(np.random.default_rng(1).random((40, D), np.float32)) if table else "x"
    start, end = m.add("Neg", m.size(1)), m.hold(np.array([2**31 - 1]))
    if 1 in m.baked:
        start = m.hold(np.array([-m.baked[1]]))
    return m.add("Add", "x", m.add("Slice", rows, start, end, m.hold(np.array([0 if table else 1]))))


@kind(1)
def counted(m: Making) -> str:
    start, step = m.numbers[3], m.numbers[4]
    if 1 in m.baked:  # a limit beyond the last number by less than a step
        end = m.hold(np.int64(start + step * m.baked[1] - m.draw.randrange(step)))
    else:
        end = m.add("Add", m.add("Mul", m.scalar(1), m.hold(np.int64(step))), m.hold(np.int64(start)))
    made = m.add("Range", m.hold(np.int64(start)), end, m.hold(np.int64(step)))
    made = m.add("Unsqueeze", m.add("Cast", made, to=FLOAT), m.hold(np.array([1])))
    return m.add("Add", made, "x")


@kind(1)
def positions(m: Making) -> str:
    table = m.hold(np.random.default_rng(2).random((90, D), np.float32))
    rank, start, step = m.draw.choice([1, 2]), m.numbers[3], m.numbers[4]
    if 1 in m.baked:
        ids: Any = np.arange(start, start + step * m.baked[1], step)
        dtype = m.draw.choice([np.int64, np.int32])
        held = m.hold((ids if rank == 1 else ids[None]).astype(dtype))
    else:
        up = m.add("Range", m.hold(np.int64(0)), m.scalar(1), m.hold(np.int64(1)))
        held = m.add("Add", m.add("Mul", up, m.hold(np.int64(step))), m.hold(np.int64(start)))
        held = held if rank == 1 else m.add("Unsqueeze", held, m.hold(np.array([0])))
    return m.add("Add", m.add("Gather", table, held), "x")


@kind(1, 2)
def resized(m: Making) -> str:
    image = m.add("Unsqueeze", "x", m.hold(np.array([1])))
    half = m.add("MaxPool", image, kernel_shape=[2, 2], strides=[2, 2])
    n = m.size(0)
    made = m.add("Concat", n, m.hold(np.array([1])), m.size(1), m.size(2), axis=0)
    if m.baked.keys() == {1, 2} and m.draw.random() < 0.5:
        made = m.add("Concat", n, m.hold(np.array([1, m.baked[1], m.baked[2]])), axis=0)
    return m.add("Concat", image, m.add("Resize", half, "", "", made, mode="nearest"), axis=1)


@kind(1)
def chunks(m: Making) -> str:
    if 1 in m.baked:
        parts = m.hold(np.array([m.baked[1] // 2] * 2))
        m.nodes.append(helper.make_node("Split", ["x", parts], ["p", "q"], name="Parts", axis=1))
    else:
        m.nodes.append(helper.make_node("Split", ["x"], ["p", "q"], name="Parts", axis=1, num_outputs=2))
    return m.add("Concat", "q", "p", axis=1)


@kind(1)
def best(m: Making) -> str:
    """At most so many as there are."""
    scores = m.add("ReduceMax", "x", m.hold(np.array([0, 2])), keepdims=0)
    most = m.hold(np.array([m.numbers[1]]))
    most = most if 1 in m.baked else m.add("Min", most, m.size(1))
    m.nodes.append(helper.make_node("TopK", [scores, most], ["v", "i"], name="Best"))
    return m.add("Gather", "x", "i", axis=1)


@kind(1)
def one_hot(m: Making) -> str:
    ids = m.add("ArgMax", "x", axis=1, keepdims=0)
    made = m.add("OneHot", ids, m.scalar(1), m.hold(np.array([0, 1], np.float32)), axis=1)
    return m.add("Mul", made, "x")


@kind(1)
def looped(m: Making) -> str:
    turn = [helper.make_tensor_value_info(n, kind, []) for n, kind in (("turn", INT64), ("go", TensorProto.BOOL))]
    body = [helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("Cast", ["turn"], ["each"], to=FLOAT)]
    ends = [helper.make_tensor_value_info(n, kind, []) for n, kind in (("go_on", TensorProto.BOOL), ("each", FLOAT))]
    graph = helper.make_graph(body, "body", turn, ends)
    made = m.add("Loop", m.scalar(1), m.hold(np.array(True)), body=graph)
    return m.add("Add", m.add("Unsqueeze", made, m.hold(np.array([1]))), "x")


@kind(0, 1)
def in_both_arms(m: Making) -> str:
    def arm(op: str, first: int) -> Any:
        inner = Making(m.draw, m.baked, m.numbers)
        inner.count = first
        made = inner.add("Reshape", "x", inner.sizes("s0", "s1", 2, 3))
        made = inner.add("Reshape", inner.add(op, made), inner.sizes("s0", "s1", D))
        ends = [helper.make_tensor_value_info(made, FLOAT, None)]
        return helper.make_graph(inner.nodes, op, [], ends, inner.held)

    total = m.add("ReduceSum", "x", keepdims=0)
    yes = m.add("Greater", total, m.hold(np.float32(0)))
    return m.add("If", yes, then_branch=arm("Relu", 100), else_branch=arm("Neg", 200))


@kind(0, 1)
def in_a_loop(m: Making) -> str:
    inner = Making(m.draw, m.baked, m.numbers)
    inner.count = 100
    made = inner.add("Reshape", "x", inner.sizes("s0", "s1", 2, 3))
    made = inner.add("Reshape", inner.add("Relu", made), inner.sizes("s0", "s1", D))
    added = inner.add("Add", made, "so_far")
    inner.nodes.append(helper.make_node("Identity", ["go"], ["go_on"]))
    info = helper.make_tensor_value_info
    ends = [info("go_on", TensorProto.BOOL, []), info(added, FLOAT, None)]
    turn = [info("turn", INT64, []), info("go", TensorProto.BOOL, []), info("so_far", FLOAT, None)]
    graph = helper.make_graph(inner.nodes, "body", turn, ends, inner.held)
    return m.add("Loop", m.hold(np.int64(3)), m.hold(np.array(True)), "x", body=graph)


@kind(0, 1)
def in_a_function(m: Making) -> str:
    inner = Making(m.draw, m.baked, m.numbers)
    inner.more = []  # of a function no sums are known
    shape = inner.sizes("s0", "s1", 2, 3)
    for tensor in inner.held:
        inner.nodes.insert(0, helper.make_node("Constant", [], [tensor.name], value=tensor))
    made = inner.add("Reshape", "x", shape)
    outputs = helper.make_function(
        "own", "Heads", ["x"], [made], inner.nodes, [helper.make_opsetid("", 18)],
    )  # fmt: skip
    m.functions.append(outputs)
    return m.add("Relu", m.add("Heads", "x", domain="own"))


@kind(0, 1, 2)
def enlarged(m: Making) -> str:
    """Sizes that are some times the sizes there are."""
    image = m.add("Unsqueeze", "x", m.hold(np.array([1])))
    times = {1: m.numbers[4], 2: m.draw.choice([1, 2])}
    sizes = [m.size(0), m.hold(np.array([1]))]
    for axis in (1, 2):
        by = m.hold(np.array([times[axis]]))
        sizes.append(
            m.hold(m.baked[axis] * np.array([times[axis]])) if axis in m.baked else m.add("Mul", m.size(axis), by)
        )
    large = m.add("Resize", image, "", "", m.add("Concat", *sizes, axis=0), mode="nearest")
    parts = [times[1], times[2]]
    return m.add("Concat", m.add("MaxPool", large, kernel_shape=parts, strides=parts), image, axis=1)


@kind(1)
def padded(m: Making) -> str:
    """Up to as many rows as a table has, at the end or the beginning."""
    rows, is_end = 16, m.numbers[4] == 1
    table = m.hold(np.random.default_rng(5).random((rows, D), np.float32))
    behind = (
        m.hold(np.array([rows - m.baked[1]])) if 1 in m.baked else m.add("Sub", m.hold(np.array([rows])), m.size(1))
    )
    pads = [m.hold(np.array([0])), behind] if is_end else [behind, m.hold(np.array([0]))]
    return m.add("Add", m.add("Pad", "x", m.add("Concat", *pads, axis=0), "", m.hold(np.array([1]))), table)


# Of older versions, where sizes are attributes.


@kind(0, 1)
def old_reshape(m: Making) -> str:
    if not m.baked:
        return split_heads(m)
    m.opset = 4
    kept = {axis: m.baked.get(axis, 0) for axis in (0, 1)}
    made = m.add("Reshape", "x", shape=[kept[0], kept[1], 2, 3])
    made = m.add("Transpose", m.add("Transpose", made, perm=[0, 2, 1, 3]), perm=[0, 2, 1, 3])
    return m.add("Reshape", made, shape=[kept[0], kept[1], D])


@kind(1)
def old_chunks(m: Making) -> str:
    m.opset = (9, 12)[m.numbers[4] - 1]
    how = {"split": [m.baked[1] // 2] * 2} if 1 in m.baked else {}
    m.nodes.append(helper.make_node("Split", ["x"], ["p", "q"], name="Parts", axis=1, **how))
    return m.add("Concat", "q", "p", axis=1)


@kind(1)
def old_slices(m: Making) -> str:
    m.opset = 9
    whole = {"starts": [0], "ends": [2**63 - 1]}
    if 1 in m.baked:
        whole |= {"starts": [-m.baked[1]]} if m.numbers[4] == 1 else {"ends": [m.baked[1]]}
    return m.add("Add", "x", m.add("Slice", "x", axes=[1], **whole))


@kind()
def old_table(m: Making) -> str:
    m.opset = 9
    rows = m.hold(np.random.default_rng(6).random((40, D), np.float32))
    return m.add("Add", "x", m.add("Slice", rows, axes=[0], starts=[0], ends=[5]))


@kind()
def old_best(m: Making) -> str:
    m.opset = 9
    m.nodes.append(helper.make_node("TopK", ["x"], ["v", "i"], name="Best", axis=1, k=5))
    return m.add("Identity", "v")


@kind()
def old_pad(m: Making) -> str:
    m.opset = 9
    table = m.hold(np.random.default_rng(7).random((9, D), np.float32))
    return m.add("Add", m.add("Pad", "x", pads=[0, 0, 0, 0, 4, 0]), table)


@kind()
def old_upsample(m: Making) -> str:
    m.opset = 7
    table = m.hold(np.random.default_rng(8).random((10, 2 * D), np.float32))
    made = m.add("Transpose", m.add("Upsample", "x", scales=[1.0, 2.0, 2.0]), perm=[0, 1, 2])
    return m.add("Add", made, table)


@kind()
def table(m: Making) -> str:
    return m.add("Add", "x", m.hold(np.random.default_rng(3).random((5, D), np.float32)))


@kind()
def weights(m: Making) -> str:
    weight = m.hold(np.random.default_rng(4).random((1, 5, 5), np.float32))
    return m.add("MatMul", weight, "x")


@kind()
def last_row(m: Making) -> str:
    return m.add("Gather", "x", m.hold(np.int64(4)), axis=1)


@kind()
def uneven(m: Making) -> str:
    parts = m.hold(np.array([2, 3]))
    m.nodes.append(helper.make_node("Split", ["x", parts], ["p", "q"], name="Parts", axis=1))
    return m.add("Concat", "q", "p", axis=1)


def pair(seed: int) -> tuple[Any, Any, str, dict[int, int], list[Any]]:
    """A baked model and one that is not, with the kind, what is baked, and the declared sizes."""
    draw = Random(seed)
    name = sorted(KINDS)[seed % len(KINDS)]
    make, axes = KINDS[name]
    numbers = {
        0: draw.choice([2, 3, 5]),
        1: draw.choice([4, 8, 10]) if axes else 5,
        2: D,
        3: draw.choice([0, 0, 2]),
        4: draw.choice([1, 1, 2]),
    }
    dims: list[Any] = ["b", "t", "d" if 2 in axes else D]
    chosen = [a for a in axes if draw.random() < 0.7] or list(axes[:1])
    baked = {a: numbers[a] for a in chosen}
    made, free = Making(draw, dict(baked), numbers), Making(Random(seed), {}, numbers)
    models = made.model(make(made), dims), free.model(make(free), dims)
    rank = run(models[1], sized(dims, {"b": 2, "t": numbers[1], "d": D})).ndim
    for one in models:
        one.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", FLOAT, [None] * rank))
    return *models, name, baked, dims


def sized(dims: list[Any], sizes: dict[str, int]) -> Any:
    shape = [sizes.get(d, d) for d in dims]
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def run(model: Any, x: Any) -> Any:
    try:
        import onnxruntime
    except ImportError:
        try:
            return ReferenceEvaluator(model).run(None, {"x": x})[0]
        except (TypeError, ValueError) as wrong:  # a slope of PRelu for each channel
            pytest.skip(f"without onnxruntime: onnx's reference cannot run it ({wrong})")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})[0]


@pytest.mark.parametrize("seed", range(TRIES))
def test_a_baked_size_is_freed_as_it_would_have_been_exported(
    seed: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    baked, free, name, numbers, dims = pair(seed)
    path = tmp_path / "m.onnx"
    onnx.save(baked, str(path))
    before = path.read_bytes()
    assert invoke(["check", str(path), "--given", "b >= 1, t >= 1" + (", d >= 1" if "d" in dims else ""), "--fix"]) == 0
    if not numbers:
        assert path.read_bytes() == before
        assert "convert the model first" in " ".join(capfd.readouterr().out.split()) or not name.startswith("old_"), (
            name
        )
        return
    fixed = onnx.load(str(path))
    onnx.checker.check_model(fixed, full_check=True)
    found = check_model(path, "m.onnx")
    assert found.contract is not None
    texts = " ".join(c.condition for c in found.contract.conditions)
    assert not re.search(r"\b[btd] == \d\d*\b(?! *\|\|)", re.sub(r"\w+ == 0", "", texts)) or "%" in texts, (name, texts)
    exported = {"b": 2, "t": 4, "d": D} | {"btd"[axis]: n for axis, n in numbers.items()}
    for more in ((0, 0, 0), (1, 2, 2), (2, 6, 4)):
        sizes = {d: n + k for (d, n), k in zip(exported.items(), more, strict=True)}
        x = sized(dims, sizes)
        after = run(fixed, x)
        assert np.allclose(after, run(free, x), atol=1e-5), (name, sizes)
        if more == (0, 0, 0):
            assert np.allclose(after, run(baked, x), atol=1e-5), name


@pytest.mark.parametrize(
    "sizes", [{"b": 4, "t": 5}, {"b": 3, "t": 8}, {"b": 4, "h": 6, "w": 7}, {"b": 3, "h": 5, "w": 8}]
)
def test_axes_flattened_and_unflattened_are_freed_whatever_the_sizes(sizes: dict[str, int], tmp_path: Path) -> None:
    m = Making(Random(0), {}, {})
    flat = m.add("Reshape", "x", m.hold(np.array([np.prod([*sizes.values()]), D])))
    made = m.add("MatMul", flat, m.hold(np.arange(D * 2, dtype=np.float32).reshape(D, 2)))
    whole = m.model(m.add("Reshape", made, m.hold(np.array([*sizes.values(), 2]))), [*sizes, D])
    path = tmp_path / "m.onnx"
    onnx.save(whole, str(path))
    assert invoke(["check", str(path), "--fix"]) == 0
    for more in (0, 1, 2):
        x = sized([*sizes, D], {name: n + more * (at + 1) for at, (name, n) in enumerate(sizes.items())})
        weight = np.arange(D * 2, dtype=np.float32).reshape(D, 2)
        assert np.allclose(run(onnx.load(str(path)), x), x @ weight, atol=1e-4)
