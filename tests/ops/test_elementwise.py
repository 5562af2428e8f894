"""Element-wise primitives: what a rule predicts over ints is what the kernel makes, and the kernel is plain NumPy."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal
from rxlang.interp.kernels import registry as kernels
from rxlang.lang.dtypes import DTYPES
from rxlang.ops.broadcast import broadcast
from rxlang.ops.dtypes_column import Word, parse_dtypes
from rxlang.ops.ground import GroundCtx, Violation
from rxlang.ops.model import RankUnknown, Segment, TensorInfo
from rxlang.ops.requirements import places
from support import ops

FLOATING, INTEGER, REAL, INEXACT, NUMERIC = ops.FLOATING, ops.INTEGER, ops.REAL, ops.INEXACT, ops.NUMERIC
F32, INT64 = DTYPES["float32"], DTYPES["int64"]
ROUNDS = 24

erf = np.vectorize(math.erf, otypes=[float])


def sigmoid(x: Any) -> Any:
    return 0.5 + 0.5 * np.tanh(x / 2)


def hard(x: Any) -> Any:
    return np.minimum(np.maximum(x, 0), 1)


# name: (what NumPy says of the operands with more digits, the dtypes of the operands); the operands are x, or x and y.
UNARY: dict[str, tuple[Any, tuple[str, ...]]] = {
    "negative": (lambda x: -x, NUMERIC),
    "abs": (np.abs, NUMERIC),
    "sign": (np.sign, NUMERIC),
    "square": (lambda x: x * x, NUMERIC),
    "sqrt": (np.sqrt, INEXACT),
    "rsqrt": (lambda x: 1 / np.sqrt(x), INEXACT),
    "reciprocal": (lambda x: 1 / x, FLOATING),
    "exp": (np.exp, INEXACT),
    "expm1": (np.expm1, INEXACT),
    "log": (np.log, INEXACT),
    "log1p": (np.log1p, INEXACT),
    "log2": (np.log2, INEXACT),
    "log10": (np.log10, INEXACT),
    "sin": (np.sin, INEXACT),
    "cos": (np.cos, INEXACT),
    "tan": (lambda x: np.sin(x) / np.cos(x), INEXACT),
    "asin": (np.arcsin, INEXACT),
    "acos": (np.arccos, INEXACT),
    "atan": (np.arctan, INEXACT),
    "sinh": (lambda x: (np.exp(x) - np.exp(-x)) / 2, INEXACT),
    "cosh": (lambda x: (np.exp(x) + np.exp(-x)) / 2, INEXACT),
    "tanh": (np.tanh, INEXACT),
    "asinh": (np.arcsinh, INEXACT),
    "acosh": (np.arccosh, INEXACT),
    "atanh": (np.arctanh, INEXACT),
    "ceil": (np.ceil, REAL),
    "floor": (np.floor, REAL),
    "round": (np.round, NUMERIC),
    "trunc": (np.trunc, REAL),
    "identity": (lambda x: x, ops.EVERY),
    "stop_gradient": (lambda x: x, ops.EVERY),
    "logical_not": (lambda x: x == 0, ("bool",)),
    "bitwise_invert": (np.invert, ops.BITS),
    "isnan": (lambda x: x != x, NUMERIC),
    "isinf": (lambda x: np.abs(x) == np.inf, NUMERIC),
    "isfinite": (lambda x: np.abs(x) < np.inf, NUMERIC),
    "erf": (erf, FLOATING),
    "sigmoid": (sigmoid, FLOATING),
    "relu": (lambda x: np.where(x > 0, x, 0), REAL),
    "leaky_relu": (lambda x: np.where(x > 0, x, 0.01 * x), FLOATING),
    "silu": (lambda x: x * sigmoid(x), FLOATING),
    "gelu": (lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))), FLOATING),
    "softplus": (lambda x: np.logaddexp(x, 0), FLOATING),
    "elu": (lambda x: np.where(x > 0, x, np.exp(x) - 1), FLOATING),
    "selu": (lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * (np.exp(x) - 1)), FLOATING),
    "mish": (lambda x: x * np.tanh(np.logaddexp(x, 0)), FLOATING),
    "softsign": (lambda x: x / (1 + np.abs(x)), FLOATING),
    "hard_sigmoid": (lambda x: hard(0.2 * x + 0.5), FLOATING),
    "hard_swish": (lambda x: x * hard(x / 6 + 0.5), FLOATING),
}
BINARY: dict[str, tuple[Any, tuple[str, ...]]] = {
    "add": (lambda x, y: x + y, NUMERIC),
    "subtract": (lambda x, y: x - y, NUMERIC),
    "multiply": (lambda x, y: x * y, NUMERIC),
    "divide": (lambda x, y: x / y, FLOATING),
    "floor_divide": (lambda x, y: x // y, REAL),
    "remainder": (lambda x, y: x % y, REAL),
    "maximum": (lambda x, y: np.where(x > y, x, y), REAL),
    "minimum": (lambda x, y: np.where(x < y, x, y), REAL),
    "atan2": (lambda x, y: np.angle(y + 1j * x), FLOATING),
    "logaddexp": (lambda x, y: np.log(np.exp(x) + np.exp(y)), FLOATING),
    "hypot": (lambda x, y: np.sqrt(x * x + y * y), FLOATING),
    "copysign": (lambda x, y: np.abs(x) * np.where(np.signbit(y), -1, 1), FLOATING),
    "equal": (lambda x, y: x == y, ops.EVERY),
    "not_equal": (lambda x, y: x != y, ops.EVERY),
    "less": (lambda x, y: x < y, ops.ORDERED),
    "less_equal": (lambda x, y: x <= y, ops.ORDERED),
    "greater": (lambda x, y: x > y, ops.ORDERED),
    "greater_equal": (lambda x, y: x >= y, ops.ORDERED),
    "logical_and": (lambda x, y: x & y, ("bool",)),
    "logical_or": (lambda x, y: x | y, ("bool",)),
    "logical_xor": (lambda x, y: x != y, ("bool",)),
    "bitwise_and": (lambda x, y: x & y, ops.BITS),
    "bitwise_or": (lambda x, y: x | y, ops.BITS),
    "bitwise_xor": (lambda x, y: x ^ y, ops.BITS),
    "bitwise_left_shift": (lambda x, y: x << y, INTEGER),
    "bitwise_right_shift": (lambda x, y: x >> y, INTEGER),
    "pow": (lambda x, y: np.power(x, y), NUMERIC),
}
OTHERS = {"where", "clip"}
# Second operands that integers need; of the others each one is meant.
NOT_NEGATIVE = {"bitwise_left_shift", "bitwise_right_shift", "pow"}


def operands(name: str, dtype: str, random: Any, shapes: list[tuple[int, ...]]) -> dict[str, Any]:
    integral = DTYPES[dtype].kind in ("int", "uint")
    leasts = (-8, 0 if name in NOT_NEGATIVE and integral else -8)
    most = 7 if dtype == "int4" else 8
    return {
        k: ops.draw(random, shape, dtype, max(least, -most), most)
        for k, shape, least in zip("xy", shapes, leasts, strict=False)
    }


def test_every_element_wise_row_is_tested_here_and_has_a_kernel_and_a_doc() -> None:
    rows = ops.rows_of("elementwise")
    assert {row.name for row in rows} == {*UNARY, *BINARY, *OTHERS}
    for row in rows:
        assert "\n\n" in row.doc and row.doc.rstrip().endswith(".")
        assert callable(kernels.lookup(row.name))


@pytest.mark.parametrize("name", UNARY)
def test_unary_is_numpys_in_the_predicted_shape_and_dtype(name: str) -> None:
    reference, dtypes = UNARY[name]
    for seed, dtype in zip(range(max(ROUNDS, len(dtypes))), itertools.cycle(dtypes), strict=False):
        random = np.random.default_rng(seed)
        ops.check(name, reference, **operands(name, dtype, random, [ops.draw_shape(random)]))


@pytest.mark.parametrize("name", BINARY)
def test_binary_is_numpys_in_the_predicted_shape_and_dtype(name: str) -> None:
    reference, dtypes = BINARY[name]
    for seed, dtype in zip(range(max(ROUNDS, 2 * len(dtypes))), itertools.cycle(dtypes), strict=False):
        random = np.random.default_rng(seed)
        ops.check(name, reference, **operands(name, dtype, random, ops.draw_broadcastable(random, 2)))


@pytest.mark.parametrize("name", [n for n, (_, dtypes) in BINARY.items() if "float32" in dtypes or "int8" in dtypes])
def test_a_literal_takes_the_other_operands_dtype(name: str) -> None:
    reference, dtypes = BINARY[name]
    for dtype in dtypes:
        if DTYPES[dtype].kind not in ("int", "uint", "float"):
            continue
        random = np.random.default_rng(1)
        x = operands(name, dtype, random, [(3,)])["x"]
        number = 2 if DTYPES[dtype].kind != "float" else 1.5
        ops.check(name, reference, x=x, y=number)
        if name not in NOT_NEGATIVE:
            ops.check(name, reference, x=number, y=x)


@pytest.mark.parametrize("name", [n for n, (_, dtypes) in UNARY.items() if "float64" in dtypes])
def test_a_literal_alone_is_float64(name: str) -> None:
    ops.check(name, lambda x: UNARY[name][0](np.asarray(x)), x=0.5)


# The rows with more operands or attributes


def test_where_broadcasts_all_three() -> None:
    for seed, dtype in zip(range(40), itertools.cycle(ops.EVERY), strict=False):
        random = np.random.default_rng(seed)
        a, b, c = ops.draw_broadcastable(random, 3)
        condition, x, y = ops.draw(random, a, "bool"), ops.draw(random, b, dtype), ops.draw(random, c, dtype)
        made = ops.call("where", condition=condition, x=x, y=y)
        for index in np.ndindex(made.shape):
            chosen = x if np.broadcast_to(condition, made.shape)[index] else y
            assert made[index] == np.broadcast_to(chosen, made.shape)[index]


@pytest.mark.parametrize("dtype", FLOATING)
def test_where_keeps_the_dtype_beside_a_literal(dtype: str) -> None:
    condition = np.array([[True], [False]])
    x = ops.draw(np.random.default_rng(0), (1, 4, 1, 3), dtype)
    made = ops.call("where", condition=condition, x=x, y=-math.inf)
    assert np.all(made[..., 1, :] == -math.inf) and np.all(made[..., 0, :] == x[..., 0, :])


@pytest.mark.parametrize("bounds", [{}, {"min": -1}, {"max": 3}, {"min": -1, "max": 3}, {"min": 3, "max": -1}])
def test_clip_is_numpys(bounds: dict[str, int]) -> None:
    def reference(x: Any, min: Any = None, max: Any = None) -> Any:
        x = x if min is None else np.where(x < min, min, x)
        return x if max is None else np.where(x > max, max, x)

    for seed, dtype in enumerate(d for d in REAL if DTYPES[d].kind != "uint"):
        random = np.random.default_rng(seed)
        x = ops.draw(random, ops.draw_shape(random), dtype, -7, 7)
        ops.check("clip", reference, x=x, **bounds)


def test_clip_broadcasts_its_bounds() -> None:
    x, low = np.arange(6.0).reshape(2, 3), np.array([[1.0], [4.5]])
    ops.close(ops.call("clip", x=x, min=low), np.array([[1, 1, 2], [4.5, 4.5, 5]]))
    assert "axis -1 of `x` and axis -1 of `max` to be equal" in ops.refusal("clip", x=x, max=np.zeros(2))


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 5, 8, 0.5, -1, -2, 2.0, 9, 1.5])
def test_pow_by_a_literal_is_the_power(exponent: float, dtype: str) -> None:
    x = ops.draw(np.random.default_rng(2), (3, 5), dtype, 1, 5)
    ops.check("pow", lambda x, y: np.exp(y * np.log(x)), x=x, y=exponent)


def test_pow_of_a_literal_number_is_of_the_exponent_s_dtype() -> None:
    for dtype in ("float16", "float32", "float64", "complex64"):
        exponent = np.array([-1, 0, 2], dtype)
        assert_array_equal(
            rx.loads(f"@f = fn(x : Tensor([n], {dtype})) {{ 2 ** x }}").f(exponent), np.array([0.5, 1, 4], dtype)
        )


def test_pow_of_integers_by_a_negative_number_is_refused() -> None:
    x = np.array([1, 2], np.int32)
    assert ops.refusal("pow", x=x, y=-1) == "`y` not to be negative, as an exponent of integers"
    with pytest.raises(kernels.BadValue, match="holds a negative number"):
        ops.compute("pow", x=x, y=np.array([1, -1], np.int32))


@pytest.mark.parametrize(
    ("name", "attributes", "reference"),
    [
        ("leaky_relu", {"alpha": 0.5}, lambda x, alpha: np.where(x > 0, x, x / 2)),
        ("elu", {"alpha": 2.0}, lambda x, alpha: np.where(x > 0, x, 2 * (np.exp(x) - 1))),
        ("hard_sigmoid", {"alpha": 0.5, "beta": 0.25}, lambda x, alpha, beta: hard(x / 2 + 0.25)),
        (
            "gelu",
            {"approximate": "tanh"},
            lambda x, approximate: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        ),
    ],
)
def test_an_activations_attributes_count(name: str, attributes: dict[str, Any], reference: Any) -> None:
    for dtype in FLOATING:
        ops.check(name, reference, x=ops.draw(np.random.default_rng(3), (2, 7), dtype), **attributes)


def test_gelu_knows_two_forms() -> None:
    assert '"none" or "tanh", but it is "fast"' in ops.refusal("gelu", x=np.zeros(3), approximate="fast")


@pytest.mark.parametrize(("dtype", "bound"), [(np.float32, 5e-7), (np.float64, 2e-15)])
def test_erf_is_near_everywhere(dtype: Any, bound: float) -> None:
    x = np.concatenate([np.linspace(-7, 7, 20_001), np.logspace(-12, 2, 2_000), [0, np.inf, -np.inf]]).astype(dtype)
    made = ops.call("erf", x=x)
    assert np.abs(made - erf(x.astype(np.float64))).max() < bound
    assert np.array_equal(made, -ops.call("erf", x=-x))
    assert np.isnan(ops.call("erf", x=np.array([np.nan], dtype)))


@pytest.mark.parametrize("dtype", FLOATING)
def test_activations_have_their_limits_without_a_warning(dtype: str) -> None:
    x = np.array([-np.inf, -1000.0, 1000.0, np.inf]).astype(ops.numpy_dtype(DTYPES[dtype]))
    limits = {
        "sigmoid": [0, 0, 1, 1],
        "erf": [-1, -1, 1, 1],
        "relu": [0, 0, 1000, np.inf],
        "gelu": [np.nan, 0, 1000, np.inf],  # -inf * 0
        "softplus": [0, 0, 1000, np.inf],
        "elu": [-1, -1, 1000, np.inf],
    }
    for name, expected in limits.items():
        np.testing.assert_array_equal(ops.call(name, x=x).astype(float), expected, name)


def test_kernels_do_not_change_their_operands() -> None:
    x = np.linspace(-3, 3, 7)
    for name in (*UNARY, *BINARY):
        before = x.copy()
        if "float64" in (UNARY | BINARY)[name][1]:
            ops.compute(name, **({"x": x} if name in UNARY else {"x": x, "y": x}))
        assert np.array_equal(x, before)


@pytest.mark.parametrize("name", sorted(kernels.DIRECT.keys() & {*UNARY, *BINARY}))
def test_a_function_that_is_called_directly_does_what_the_kernel_does(name: str) -> None:
    function = getattr(np, kernels.DIRECT[name])
    dtypes = [d for d in (UNARY | BINARY)[name][1] if ops.numpy_dtype(DTYPES[d]).isbuiltin == 1]
    assert dtypes
    for dtype in dtypes:
        random = np.random.default_rng(4)
        values = operands(name, dtype, random, [(2, 3), (3,)][: 1 if name in UNARY else 2])
        made = ops.call(name, **values)
        with np.errstate(all="ignore"):
            direct = function(*values.values())
        assert direct.dtype == made.dtype
        np.testing.assert_array_equal(direct, made)


# Dtypes


@pytest.mark.parametrize(
    ("name", "x", "y", "wanted"),
    [
        ("add", "bool", "bool", "a numeric dtype"),
        ("divide", "int32", "int32", "an inexact dtype"),
        ("add", "int32", "int64", "its operands to have one dtype"),
        ("less", "complex64", "complex64", "an ordered dtype"),
        ("logical_and", "int8", "bool", "dtype bool"),
        ("bitwise_and", "float32", "float32", "a boolean or integer dtype"),
        ("atan2", "int8", "int8", "a floating dtype"),
    ],
)
def test_operands_of_another_dtype_are_refused(name: str, x: str, y: str, wanted: str) -> None:
    random = np.random.default_rng(0)
    assert wanted in ops.refusal(name, x=ops.draw(random, (2,), x), y=ops.draw(random, (2,), y))


def test_the_dtypes_column_is_read_word_by_word() -> None:
    column = parse_dtypes("T:{float16, float32}, I:integer, bool, T -> T=dtype, int64, float32=dtype")
    first = Word("T", ("float16", "float32"))
    assert column.inputs == (first, Word("I", ("integer",)), Word(None, ("bool",)), first)
    assert column.results == (
        Word("T", ("float16", "float32"), "dtype"),
        Word(None, ("int64",)),
        Word(None, ("float32",), "dtype"),
    )
    assert parse_dtypes("T:any... -> T...").results == (Word("T", ("any",), None, True),)
    assert parse_dtypes("T:any -> =dtype").results == (Word(None, (), "dtype"),)
    assert parse_dtypes("T:integer ->").results == ()


@pytest.mark.parametrize("text", ["T:numeric, T", "T:nombre -> T", "t+ -> T", "floot32 -> bool"])
def test_a_dtypes_column_with_a_slip_is_no_column(text: str) -> None:
    with pytest.raises(ValueError, match=r"column|neither a dtype"):
        parse_dtypes(text)


# Broadcasting

n, m = ops.symbols("n", "m")
ENVS = ops.grid("n", "m")
dims = st.sampled_from([0, 1, 2, 3, "n", "m", "n + 2", "n * 2"])


def size(text: Any) -> Any:
    return {"n": n, "m": m, "n + 2": n + 2, "n * 2": n * 2}.get(text, text)


def tensor(*shape: Any, dtype: str = "float32", data: Any = None) -> TensorInfo:
    return TensorInfo(shape, DTYPES[dtype], data if data is None or isinstance(data, tuple) else (data,))


@given(st.lists(dims, max_size=3), st.lists(dims, max_size=3), st.lists(dims, max_size=2))
def test_broadcasting_over_symbols_is_broadcasting_over_each_value(a: Any, b: Any, c: Any) -> None:
    x, y, condition = (tensor(*map(size, s)) for s in (a, b, c))
    ops.agrees("add", ENVS, x=x, y=y)
    ops.agrees("where", ENVS, condition=tensor(*condition.shape, dtype="bool"), x=x, y=y)


@given(st.lists(st.integers(0, 3), max_size=3), st.lists(st.integers(0, 3), max_size=3))
def test_broadcasting_over_ints_is_numpys(a: list[int], b: list[int]) -> None:
    try:
        expected: Any = np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with pytest.raises(Violation, match="to be equal, or one of them 1"):
            broadcast(GroundCtx(), tuple(a), tuple(b))
        return
    assert broadcast(GroundCtx(), tuple(a), tuple(b)) == expected


def test_a_literal_size_stays_literal() -> None:
    (out,) = ops.agrees("add", ENVS, x=tensor(2, n), y=tensor(3))
    assert out.shape == (2, 3)


def test_sizes_that_are_equal_keep_their_name() -> None:
    (out,) = ops.agrees("add", ENVS, x=tensor(n, 3), y=tensor(1, 3))
    assert out.shape[0] is n
    (out,) = ops.agrees("add", [e for e in ENVS if e["n"] == e["m"]], x=tensor(n), y=tensor(m))
    assert out.shape[0] is n


def test_two_literals_that_differ_are_refused_with_their_places() -> None:
    with pytest.raises(Violation) as caught:
        broadcast(GroundCtx(), (3, 2), (4, 2))
    assert str(caught.value) == "axis -2 of `x` and axis -2 of `y` to be equal, or one of them 1"
    assert places(caught.value.asked) == (("x", -2), ("y", -2))


def test_what_can_never_hold_is_said_before_what_may_not() -> None:
    ctx = ops.GridCtx(ENVS)
    broadcast(ctx, (3, n), (4, m))
    assert ctx.required[0][1].startswith("axis -2") and ctx.required[1][1].startswith("axis -1")


def test_the_blame_counts_axes_of_the_whole_shape() -> None:
    with pytest.raises(Violation) as caught:
        broadcast(GroundCtx(), (3,), (4,), names=("a", "b"), last=-3)
    assert places(caught.value.asked) == (("a", -3), ("b", -3))


s, other = Segment("s"), Segment("other")


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        (((s,), (s,)), (s,)),
        (((s, 3), ()), (s, 3)),
        (((s, 3), (1,)), (s, 3)),
        (((s, 1), (s, 4)), (s, 4)),
        (((s, 2, 1), (5,)), (s, 2, 5)),
        (((2, s, 1), (s, 4)), (2, s, 4)),
        (((2, s, 1), (1, s, 4)), (2, s, 4)),
        (((s,), (s, s)), (s, s)),
    ],
)
def test_a_segment_broadcasts_with_itself_and_with_nothing(shapes: Any, expected: Any) -> None:
    assert broadcast(GroundCtx(), *shapes) == expected
    assert broadcast(GroundCtx(), *reversed(shapes)) == expected


@pytest.mark.parametrize("shapes", [((s,), (other,)), ((s,), (1,)), ((s, 3), (2, 3)), ((s, 3), (s,))])
def test_what_does_not_line_up_around_a_segment_has_no_known_shape(shapes: Any) -> None:
    with pytest.raises(RankUnknown):
        broadcast(GroundCtx(), *shapes)


# Shapes as data

elements = st.lists(st.sampled_from([0, 2, 3, "n", "m", "n + 2"]), min_size=1, max_size=3)


@given(
    st.sampled_from([n for n in BINARY if n != "pow"]),
    elements,
    elements,
    st.booleans(),
    st.sampled_from(["int8", "int64", "uint8"]),
)
def test_tracked_elements_are_those_of_each_value(name: str, a: Any, b: Any, scalar: bool, dtype: str) -> None:
    if dtype not in BINARY[name][1]:
        return
    x = tensor(len(a), dtype=dtype, data=tuple(map(size, a)))
    y = tensor(dtype=dtype, data=size(b[0])) if scalar else tensor(len(b), dtype=dtype, data=tuple(map(size, b)))
    ops.agrees(name, ENVS, x=x, y=y)


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "floor_divide", "remainder", "maximum", "minimum", "pow"]
)
def test_integer_arithmetic_tracks_elements(name: str) -> None:
    positive = [e for e in ENVS if e["n"] > 0]
    x, y = tensor(2, dtype="int64", data=(m, 4)), tensor(dtype="int64", data=2 if name == "pow" else n)
    (out,) = ops.agrees(name, positive, x=x, y=y)
    assert out.data is not None and len(out.data) == 2


@pytest.mark.parametrize("name", ["negative", "abs", "square", "identity", "floor", "ceil", "round", "trunc", "relu"])
def test_unary_integer_arithmetic_tracks_elements(name: str) -> None:
    (out,) = ops.agrees(name, ENVS, x=tensor(2, dtype="int64", data=(n - 2, 4)))
    assert out.data is not None and len(out.data) == 2


def test_elements_that_may_not_fit_are_not_tracked() -> None:
    (out,) = ops.agrees("multiply", ENVS, x=tensor(dtype="int8", data=n), y=tensor(dtype="int8", data=100))
    assert out.data is None
    (out,) = ops.agrees("subtract", ENVS, x=tensor(dtype="uint8", data=n), y=tensor(dtype="uint8", data=m))
    assert out.data is None


def test_floats_that_are_not_known_are_not_tracked() -> None:
    (out,) = ops.agrees("add", ENVS, x=tensor(dtype="float32", data=None), y=tensor(dtype="float32", data=2))
    assert out.data is None


def test_division_by_what_may_be_zero_is_not_tracked() -> None:
    (out,) = ops.agrees("floor_divide", ENVS, x=tensor(dtype="int64", data=n), y=tensor(dtype="int64", data=m))
    assert out.data is None
