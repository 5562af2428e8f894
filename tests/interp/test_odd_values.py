"""Numbers at the edges: offsets that no integer of NumPy's holds, infinities, and indices where another axis is empty."""

from __future__ import annotations

import numpy as np
import pytest
import rxlang as rx

FAR = (2**31, 2**62, 2**63 - 1, 2**63, 2**64, 2**70, 10**30)
X = np.arange(15, dtype=np.float32).reshape(3, 5)


def called(body: str, *args: object, params: str = "x : Tensor([n, m], float32), k : Size") -> np.ndarray:
    return rx.loads(f"@f = fn({params}) : Tensor {{ {body} }}").f(*args)


@pytest.mark.parametrize(
    "body", ["@tril(x, k)", "@triu(x, k)", "@diagonal(x, k)", "@trace(x, k)", "x[k:]", "x[:k]", "x[-k:]", "x[:, k:]"]
)
def test_an_offset_beyond_every_axis_is_one_just_beyond_it(body: str) -> None:
    for far in FAR:
        for sign in (1, -1):
            assert np.array_equal(called(body, X, sign * far), called(body, X, sign * 100)), (body, sign * far)


def test_a_roll_goes_round_however_far() -> None:
    for far in (*FAR, *(-f for f in FAR)):
        assert np.array_equal(called("@roll(x, k, axis=1)", X, far), np.roll(X, far % 5, 1)), far


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_truncate_clamps_every_finite_number(dtype: str) -> None:
    info = np.iinfo(dtype) if dtype == "int64" else np.finfo(dtype)
    for size in (info.max, info.min, *((1e30, -1e30, 2.5, 2.4999) if dtype != "int64" else (2**62, -(2**62), 2))):
        kept = called(
            "@truncate(x, s)", X, np.array(size, dtype), params=f"x : Tensor([n, m], float32), s : Tensor([], {dtype})"
        )
        assert len(kept) == min(max(int(np.floor(float(size) + 0.5)), 0), 3), size
    for size in (np.inf, -np.inf, np.nan) if dtype != "int64" else ():
        with pytest.raises(rx.ShapeError, match="no finite number"):
            called(
                "@truncate(x, s)",
                X,
                np.array(size, dtype),
                params=f"x : Tensor([n, m], float32), s : Tensor([], {dtype})",
            )


FLOATS = ("1e999", "-1e999", "1e30", "-1e30", "0.0", "8.0", "-0.5", "1e-320")
BODIES = (
    "x ** {}", "x * {}", "{} - x", "@maximum(x, {})", "@leaky_relu(x, alpha={})", "@elu(x, alpha={})", "@var(x, correction={})",
    "@hard_sigmoid(x, alpha={}, beta={})", "@clip(x, min={})", "@layer_norm(x, @ones([m]), @ones([m]), epsilon={})",
    "@linspace({}, 1.0, 3)", "@full([2], {}, dtype=float32)", "@huber_loss(x, x, delta={})", "@lrn(x, 3, alpha={})",
)  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_a_float_may_be_any_number(body: str) -> None:
    for value in FLOATS:
        try:
            found = called(body.replace("{}", value), X, 0)
        except rx.CheckError:
            continue  # a rule that says no says it before anything runs
        assert found.dtype == np.float32, (body, value)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("op", ["+", "-", "*", "/"])
def test_a_number_that_elements_are_known_with_may_be_beyond_their_dtype(dtype: str, op: str) -> None:
    for number in (*FLOATS, "65519.0", "65520.0", "3.4028235677973364e38", "3.4028235677973366e38", "-1e39", "1e308"):
        report = rx.check_source(f"let x = tensor([1.0, 2.5], {dtype}) {op} {number}\nlet y = {number} {op} x")
        assert not [d for d in report.diagnostics if d.severity == "error"], (dtype, op, number)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_a_power_with_an_odd_exponent_is_numpys(dtype: str) -> None:
    x = np.array([0, 1, 2, 3], dtype)
    for y in ("1e999", "-1e999", "2.5", "9.0", "-1.0", "1e30", "8.0") if dtype != "int64" else ("8", "9", "0"):
        with np.errstate(all="ignore"):
            wanted = np.power(x, x.dtype.type(float(y)))
        found = called(f"x ** {y}", x, params=f"x : Tensor([n], {dtype})")
        assert np.allclose(found, wanted, equal_nan=True) and found.dtype == x.dtype, y


# Indices

INDEXED = {
    "take": ("@take(x, i, axis=1)", (), True),
    "takes": ("@take(x, i, axis=1)", (2,), True),
    "subscript": ("x[:, i]", (), True),
    "take_along_axis": ("@take_along_axis(x, i, axis=1)", (1, 2), True),
    "gather_elements": ("@gather_elements(x, i, axis=1)", ("k", 2), False),
    "gather_nd": ("@gather_nd(x, i, batch_dims=1)", ("k", 1), False),
    "gather_nd_whole": ("@gather_nd(@matrix_transpose(x), i)", (2, 1), True),
    "scatter_nd": ("@scatter_nd(@matrix_transpose(x), i, @ones([2, k]))", (2, 1), True),
    "put": ("@put(x, i, @ones([k, 2]), axis=1)", (2,), True),
    "embedding": ("@embedding(i, @matrix_transpose(x))", (2,), True),
}  # fmt: skip


@pytest.mark.parametrize("name", INDEXED)
@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "uint64"])
def test_an_index_out_of_range_is_refused_whatever_the_other_axes_are(name: str, dtype: str) -> None:
    body, shape, _ = INDEXED[name]
    axes = ", ".join(f"r{n}" for n in range(len(shape)))
    module = rx.loads(f"@f = fn(x : Tensor([k, n], float32), i : Tensor([{axes}], {dtype})) : Tensor {{ {body} }}")
    for index in (0, 2, 3, 7, -1, -3, -4):
        if index < 0 and dtype.startswith("u"):
            continue
        answers = []
        for rows in (0, 1, 5) if INDEXED[name][2] else (1, 5):
            x = np.zeros((rows, 3), np.float32)
            i = np.full([rows if n == "k" else n for n in shape], index, dtype)
            try:
                module.f(x, i)
                answers.append("ok")
            except rx.ShapeError as problem:
                answers.append(problem.diagnostic.message.partition(",")[0])
        assert len(set(answers)) == 1, (name, index, answers)
        assert (answers[0] == "ok") == ((0 if name == "embedding" else -3) <= index < 3), (name, index, answers)


# Sizes from Python


@pytest.mark.parametrize(
    "text",
    [
        "1/0",
        "7/2",
        "5 % 0",
        "k // 0",
        "ceildiv(k, 0)",
        "0 // 0",
        "k / 0",
        "n // (n - n)",
        "max(1, k % 0)",
        "n // -2",
        "n % (0 - 3)",
        "ceildiv(3, -1)",
        "n / 2",
        "2 * (n / k)",
    ],
)
def test_a_size_without_a_value_for_some_names_or_with_a_divisor_below_1_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size: the divi"):
        rx.Size(text)
    with pytest.raises(ValueError, match="is not a size: the divi"):
        rx.loads("@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x }").f.shapes(x=(text,))


@pytest.mark.parametrize("text", ["k // n", "k % n", "1 + max(3, k // (2 * n))"])
def test_a_size_has_no_value_where_a_divisor_is_0(text: str) -> None:
    assert isinstance(rx.Size(text).at(k=5, n=2), int)
    with pytest.raises(ZeroDivisionError):
        rx.Size(text).at(k=5, n=0)


@pytest.mark.parametrize(
    "call", ["@ones([a], float32)", "@zeros([a, a], int8)", "@broadcast_to(tensor(1.0, float32), [a, a])"]
)
@pytest.mark.parametrize("size", [2**40, 2**62, 2**63, 2**70])
def test_what_no_array_can_hold_is_told_as_too_large(call: str, size: int) -> None:
    module = rx.loads(f"@f = fn(a : Size) : Tensor {{ {call} }}")
    with pytest.raises(rx.ShapeError, match=r"larger than an array can be|more memory than there is") as caught:
        module.f(size)
    assert "do not fit" not in str(caught.value)


LITERALS = {
    "@permute_dims(true)": True, "@repeat(1.5, 2)": [1.5, 1.5], "@unique_values(2)": [2], "@l1_loss(1.5, 2)": 0.5,
    "@vector_norm(2.5)": 2.5, "@clip(2, x + 0.5, x + 0.5)": X + 0.5,
}  # fmt: skip


@pytest.mark.parametrize("body", LITERALS)
def test_a_literal_number_is_a_tensor_where_no_other_tells_its_dtype(body: str) -> None:
    np.testing.assert_array_equal(called(body, X, 1), LITERALS[body])


def test_the_state_of_linear_attention_has_the_dtype_that_is_asked_or_given_before() -> None:
    params = "q : Tensor([b, t, 2], float32), p : Tensor([b, 1, 2, 2], float64)"
    q, p = np.ones((1, 3, 2), np.float32), np.zeros((1, 1, 2, 2))
    for more, dtype in (("", "float32"), (", dtype=float16", "float16"), (", p", "float64")):
        body = f'let (_y, state) = @onnx.linear_attention(q, q, q{more}, rule="linear"); state'
        assert called(body, q, p, params=params).dtype == dtype
