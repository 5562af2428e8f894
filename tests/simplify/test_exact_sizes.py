"""What a bound is good for, and where an exact size is needed."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import rxlang as rx
from support import fuzz

PARAMS = {
    "@truncate(x, k)": "k : int64",
    "@filter(x, k)": "k : Tensor([7], bool)",
}


def program(made: str, body: str) -> str:
    return f"@f = fn(x : Tensor([7, 4], float32), {PARAMS[made]}) : Tensor {{\n  let y = {made}\n  {body}\n}}\n"


@pytest.mark.parametrize("made", PARAMS)
@pytest.mark.parametrize(
    "body", ["@reshape(y, [28])", "@reshape(y, [7, 2, 2])", "if (x.dim(0) == 7) { @reshape(y, [4, 7]) } else { y }",
             "for i in range(3) with (a : Tensor([28], float32) = @reshape(x, [28])) { @reshape(y, [28]) }"]
)  # fmt: skip
def test_a_reshape_refuses_a_bound_and_says_which_axis_has_one(made: str, body: str) -> None:
    [found] = [d for d in rx.check_source(program(made, body)).diagnostics if d.severity != "note"]
    assert (found.code, found.severity) == ("E317", "error") and found.message.startswith("@reshape needs")
    assert "`shape` needs an exact size; axis 0 of `y` is at most 7" in found.notes


@pytest.mark.parametrize("made", PARAMS)
@pytest.mark.parametrize("body", ["@reshape(y, [12])", "@reshape(y, [3, 2, 2])"])
def test_a_reshape_to_less_than_the_bound_is_left_to_the_run(made: str, body: str) -> None:
    assert {(d.code, d.severity) for d in rx.check_source(program(made, body)).diagnostics} == {("W311", "warning")}
    module, x = rx.loads(program(made, body)), np.ones((7, 4), np.float32)
    assert module.f(x, np.array(3) if "truncate" in made else np.arange(7) < 3).size == 12
    with pytest.raises(rx.ShapeError):
        module.f(x, np.array(7) if "truncate" in made else np.ones(7, bool))


@pytest.mark.parametrize("made", PARAMS)
@pytest.mark.parametrize(
    "body", ["@reshape(y, [4 * y.dim(0)])", "@reshape(y, [-1])", "@reshape(y, [y.dim(0), 2, 2])",
             "let z ! Tensor([7, 4]) = y\n  @reshape(z, [28])", "assert y.dim(0) == 7\n  @reshape(y, [28])",
             "match_shape(y, [], [7, 4])\n  @reshape(y, [14, 2])",
             "if (y.dim(0) == 7) { @reshape(y, [28]) } else { @reshape(x, [28]) }"]
)  # fmt: skip
def test_a_size_that_the_data_decides_is_exact_by_its_own_name_or_once_it_is_asserted(made: str, body: str) -> None:
    module = rx.loads(program(made, body))
    x, k = (
        np.arange(28, dtype=np.float32).reshape(7, 4),
        np.array(7) if "k : int64" in PARAMS[made] else np.ones(7, bool),
    )
    assert module.f(x, k).ravel().tolist() == x.ravel().tolist()


def test_a_reshape_by_the_size_itself_gives_as_much_as_there_is() -> None:
    text = "@f = fn(x : Tensor([4, 7], float32), k : int64) : Tensor { let y = @truncate(x, k, axis=1)\n"
    text += "  @reshape(y, [4 * y.dim(1)]) }"
    module, x = rx.loads(text), np.arange(28, dtype=np.float32).reshape(4, 7)
    for k in (0, 1, 3, 7, 9, -2):
        assert np.array_equal(module.f(x, np.array(k)), x[:, : max(k, 0)].ravel())


@pytest.mark.parametrize("body", ["@broadcast_to(y, [4, 7])", "y + @ones([7], float32)"])
def test_a_broadcast_never_takes_a_bound_for_the_size(body: str) -> None:
    text = f"@f = fn(x : Tensor([7], float32), k : int64) : Tensor {{ let y = @truncate(x, k)\n  {body} }}\n"
    module, x = rx.loads(text), np.ones(7, np.float32)
    assert module.f(x, np.array(7)).shape[-1] == 7
    with pytest.raises(rx.ShapeError):
        module.f(x, np.array(3))


@pytest.mark.parametrize(
    ("x", "y", "shape"),
    [((2,), (5,), (5,)), ((5,), (3,), (5,)), ((0,), (2,), (2,)), ((2, 3), (4, 1), (4, 3)), ((), (), ()),
      ((1, 0), (0, 1), (1, 1))],
)  # fmt: skip
def test_a_tensor_is_padded_with_zeros_behind_to_match_another(
    x: tuple[int, ...], y: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    names = ["abcd"[: len(x)], "mnpq"[: len(y)]]
    typed = ", ".join(f"{p} : Tensor([{', '.join(n)}], float32)" for p, n in zip("xy", names, strict=True))
    result = ", ".join(f"max({a}, {b})" for a, b in zip(*names, strict=True))
    module = rx.loads(f"@f = fn({typed}) : Tensor([{result}], float32) {{ @pad_to_match(x, y) }}\n")
    assert module.f.residual == ()
    one = np.arange(1, 1 + np.prod(x, dtype=int), dtype=np.float32).reshape(x)
    made = module.f(one, np.full(y, 7, np.float32))
    assert made.shape == shape and np.array_equal(
        made, np.pad(one, [(0, b - a) for a, b in zip(x, shape, strict=True)] or 0)
    )
    assert made.sum() == one.sum()


def test_tensors_of_two_ranks_do_not_match() -> None:
    [found] = rx.check_source(
        "@f = fn(x : Tensor([2]), y : Tensor([2, 3])) : Tensor { @pad_to_match(x, y) }"
    ).diagnostics
    assert "tensors of one rank, but `x` has rank 1 and `y` has rank 2" in found.message


@pytest.mark.parametrize(
    ("body", "bound"),
    [
        ("y[1:]", 6), ("y[: y.dim(0) // 2]", 3), ("y[:-9]", 0), ("@pad_to_match(y[2:], @truncate(x[:5], k + 1))", 5),
        ("@concat([y[1:], y[3:]])", 10), ("@max_pool1d(@expand_dims(@matrix_transpose(y), axis=0), 2, strides=3)[0, 0]", 2),
    ],
)  # fmt: skip
def test_what_grows_with_a_bounded_size_is_bounded(body: str, bound: int) -> None:
    module = rx.loads(f"@f = fn(x : Tensor([7, 4], float32), k : int64) {{\n  let y = @truncate(x, k)\n  {body}\n}}\n")
    size = module.f.shapes(x=(7, 4), k=())[0]
    assert str(size) == str(bound) or (size.exactness, str(size.bound)) == ("upper_bound", str(bound))
    for k in range(2, 9):
        assert module.f(np.ones((7, 4), np.float32), np.array(k)).shape[0] <= bound


@pytest.mark.parametrize("body", ["x[a:b]", "x[a:]", "x[:b]", "x[a::2]", "x[a:b][b:a]", "x[::-1][a:b]"])
def test_a_slice_between_bounds_of_any_sign_is_at_most_as_long(body: str) -> None:
    text = f"@f = fn(x : Tensor([n], float32), a : Size, b : Size) : Tensor([k], float32) where k <= n {{ {body} }}"
    module = rx.loads(text)
    assert module.f.residual == ()
    x = np.arange(4, dtype=np.float32)
    for a, b in [(-9, 2), (-2, 9), (0, 0), (3, -4), (-1, -3)]:
        assert module.f(x, a, b).tolist() == eval(body, {"x": x, "a": a, "b": b}).tolist()


def _size_text(draw: random.Random, depth: int) -> str:
    """A size over the names n and m, and k and l, which only the run decides."""
    if depth == 0:
        return draw.choice(["n", "m", "k", "l", "k", "l", "1", "3"])
    a, b = _size_text(draw, depth - 1), _size_text(draw, draw.randint(0, depth - 1))
    return draw.choice(
        [f"({a} + {b})", f"({a} - {b})", f"{a} * {b}", f"({a}) // 2", f"max({a}, {b})", f"min({a}, {b})"]
    )


@pytest.mark.parametrize("size", ["max(m // 2 - k, l)", "l + 3 * (max(m - l, 1) // 2)", "k * max(l - k, 0) - k // 2"])
def test_a_bound_is_never_below_what_it_bounds_where_a_part_falls_with_another(size: str) -> None:
    _check_bound(size)


def test_random_sizes_that_the_run_decides_are_at_most_their_bounds() -> None:
    for case in fuzz.cases("bounds of open sizes"):
        with case as seed:
            _check_bound(_size_text(random.Random(f"bounds {seed}"), 3))


def _check_bound(size: str) -> None:
    """`k <= n` and `l <= m` are what the data decides."""
    lets = "let k : Size = @filter(x, p).dim(0)\n  let l : Size = @filter(y, q).dim(0)"
    text = f"@f = fn(x : Tensor([n], int8), p : Tensor([n], bool), y : Tensor([m], int8), q : Tensor([m], bool)) {{\n  {lets}\n"
    checked = rx.check_source(f"{text}  @ones([max({size}, 0)], int8)\n}}\n").checked
    [described] = checked.describe()
    [bound] = described.result.bounds
    for n, m in itertools.product(range(5), repeat=2) if bound is not None else ():
        most = eval(str(bound), {"n": n, "m": m})
        for k, other in itertools.product(range(n + 1), range(m + 1)):
            assert eval(size, {"n": n, "m": m, "k": k, "l": other}) <= most, (size, bound, n, m, k, other)
