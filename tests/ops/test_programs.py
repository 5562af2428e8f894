"""Programs over the shape, linear algebra and index primitives: checked with symbolic sizes, then run against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.lang import codes

Array = np.ndarray[Any, Any]


def array(shape: tuple[int, ...], dtype: str = "float32") -> Array:
    return np.arange(1, 1 + int(np.prod(shape, dtype=int))).astype(dtype).reshape(shape)


def errors(text: str) -> list[str]:
    return [d.message for d in rx.check_source(text).diagnostics if d.severity == "error"]


def warnings(text: str) -> list[str]:
    """What may not hold; that `[n, d]` reshaped to `[d, n]` mixes the elements is so, and no matter here."""
    said = [d for d in rx.check_source(text).diagnostics if d.severity == "warning"]
    return [d.message for d in said if d.code != codes.W313]


X = "@f = fn(x : Tensor([n, 3], float32))"
XD = "@f = fn(x : Tensor([n, d], float32))"

# A body over `x`, what it is in NumPy, and the shapes of x to try it on.
BODIES: list[tuple[str, str, Callable[[Array], Any], list[tuple[int, ...]]]] = [
    # R15: slices are clamped and never negative.
    (X, "x[2:5]", lambda x: x[2:5], [(0, 3), (3, 3), (9, 3)]),
    (X, "x[5:2]", lambda x: x[5:2], [(0, 3), (9, 3)]),
    (X, "x[1:-1, :]", lambda x: x[1:-1, :], [(0, 3), (1, 3), (2, 3), (5, 3)]),
    (X, "x[-2:]", lambda x: x[-2:], [(0, 3), (1, 3), (5, 3)]),
    # N3: sentinels, and steps of either sign.
    (X, "@slice(x, [0], [1000000000])", lambda x: x, [(0, 3), (5, 3)]),
    (X, "@slice(x, [0], [9223372036854775807])", lambda x: x, [(0, 3), (5, 3)]),
    (X, "@slice(x, [1], [100], steps=[2])", lambda x: x[1:100:2], [(0, 3), (1, 3), (6, 3)]),
    (X, "@slice(x, [-1], [-9223372036854775808], steps=[-1])", lambda x: x[::-1], [(0, 3), (5, 3)]),
    (X, "@slice(x, [5], [1], steps=[-2])", lambda x: x[5:1:-2], [(0, 3), (3, 3), (9, 3)]),
    # Reshape: exact counts, and a -1 that is solved also for empty tensors.
    (XD, "@reshape(x, [-1, d])", lambda x: x, [(0, 3), (3, 0), (2, 3)]),
    (XD, "@reshape(x, [d, n])", lambda x: x.reshape(x.shape[::-1]), [(0, 3), (3, 0), (2, 3)]),
    (XD, "@reshape(x, [n, 1, -1])", lambda x: x[:, None], [(0, 3), (3, 0), (2, 3)]),
    (XD, "@flatten(x)", lambda x: x.reshape(x.size), [(0, 3), (2, 3)]),
    # N8: shapes as data.
    (XD, "@reshape(x, @flip(@shape(x)))", lambda x: x.reshape(x.shape[::-1]), [(0, 3), (2, 3)]),
    (XD, "@reshape(x, @concat([@slice(@shape(x), [1], [2]), @slice(@shape(x), [0], [1])]))",
     lambda x: x.reshape(x.shape[::-1]), [(2, 3), (0, 3)]),
    (XD, "@reshape(x, @stack([@take(@shape(x), -1), @take(@shape(x), 0)]))",
     lambda x: x.reshape(x.shape[::-1]), [(2, 3), (0, 3)]),
    (XD, "@reshape(x, @expand_dims(@take(@shape(x), 0) * @take(@shape(x), 1), axis=0))", np.ravel, [(2, 3), (0, 3)]),
    (XD, "@broadcast_to(@expand_dims(x, axis=1), @concat([@take(@shape(x), tensor([0], int64)), tensor([2], int64), "
     "@slice(@shape(x), [-1], [9223372036854775807])]))",
     lambda x: np.broadcast_to(x[:, None], (x.shape[0], 2, x.shape[1])), [(2, 3), (0, 3)]),
    # Axes, joining, splitting.
    (XD, "@concat([x, @flip(x, axis=0), x], axis=0)", lambda x: np.concatenate([x, x[::-1], x]), [(2, 3), (0, 3)]),
    (XD, "@stack([x, x], axis=-1)", lambda x: np.stack([x, x], -1), [(2, 3), (0, 0)]),
    (XD, "@split(@concat([x, x, x], axis=-1), sections=3, axis=-1)", lambda x: (x, x, x), [(2, 3), (0, 3)]),
    (XD, "@split(x, indices=[2], axis=1)", lambda x: (x[:, :2], x[:, 2:]), [(2, 3), (2, 1), (0, 0)]),
    (XD, "@tile(@repeat(x, 2, axis=0), [2, 3])", lambda x: np.tile(np.repeat(x, 2, 0), (2, 3)), [(2, 3), (0, 3)]),
    (XD, "@pad(x, [(0, 1), (2, n)])", lambda x: np.pad(x, [(0, 1), (2, len(x))]), [(2, 3), (0, 3)]),
    (XD, "@squeeze(@expand_dims(x, axis=[0, -1]), axis=[0, 3])", lambda x: x, [(2, 3), (1, 1)]),
    # M6c: grouped heads by expanding.
    ("@f = fn(x : Tensor([1, 2, t, 16], float32))",
     "@reshape(@broadcast_to(@expand_dims(x, axis=2), [1, 2, 2, t, 16]), [1, 4, t, 16])",
     lambda x: np.repeat(x, 2, 1), [(1, 2, 1, 16), (1, 2, 4, 16), (1, 2, 32, 16)]),
    # M3c: heads, also where the length is the head count or the head's size.
    ("@f = fn(x : Tensor([1, s, 64], float32))", "@permute_dims(@reshape(x, [1, s, 4, 16]), [0, 2, 1, 3])",
     lambda x: x.reshape(1, -1, 4, 16).transpose(0, 2, 1, 3), [(1, 1, 64), (1, 4, 64), (1, 16, 64), (1, 31, 64)]),
    ("@f = fn(x : Tensor([1, s, 64], float32))", "@reshape(x, [s * 4, 16])", lambda x: x.reshape(-1, 16),
     [(1, 4, 64), (1, 16, 64)]),
    # M3d: the axis' end, whatever the length.
    ("@f = fn(x : Tensor([2, n], float32))", "x[:, 2:]", lambda x: x[:, 2:], [(2, 8), (2, 3), (2, 2), (2, 0)]),
    ("@f = fn(x : Tensor([2, n], float32))", "x[:, 5:]", lambda x: x[:, 5:], [(2, 3)]),
    # Products.
    ("@f = fn(x : Tensor([b, h, t, e], float32))", "@matmul(x, @matrix_transpose(x))",
     lambda x: x @ x.swapaxes(-1, -2), [(2, 3, 4, 5), (0, 3, 4, 5), (1, 1, 1, 0)]),
    ("@f = fn(x : Tensor([b, t, h, e], float32))", '@einsum("bqhd,bkhd->bhqk", [x, x])',
     lambda x: np.einsum("bqhd,bkhd->bhqk", x, x), [(2, 3, 4, 5), (0, 3, 4, 5), (1, 1, 1, 0)]),
    (XD, "@linear(x, x)", lambda x: x @ x.T, [(2, 3), (0, 3), (3, 0)]),
    (XD, "@trace(@matmul(x, @matrix_transpose(x)))", lambda x: np.trace(x @ x.T), [(2, 3), (0, 3)]),
    # Order.
    (X, "@sort(x, axis=0, descending=true)", lambda x: np.sort(x, 0)[::-1], [(4, 3), (0, 3)]),
    (X, "@topk(x, k=2, axis=1)", lambda x: (x[:, :0:-1], np.full((len(x), 2), [2, 1])), [(4, 3), (0, 3)]),
    (X, "@take(x, tensor([2, -3, 0], int64), axis=1)", lambda x: x[:, [2, 0, 0]], [(4, 3), (0, 3)]),
    (X, "@take(x, 1, axis=1)", lambda x: x[:, 1], [(4, 3), (0, 3)]),
    (X, "@triu(@matmul(@matrix_transpose(x), x), k=1)", lambda x: np.triu(x.T @ x, 1), [(4, 3), (0, 3)]),
]  # fmt: skip


@pytest.mark.parametrize(("head", "body", "plain", "shapes"), BODIES, ids=[body for _, body, _, _ in BODIES])
def test_shapes_are_proved_and_results_are_numpys(
    head: str, body: str, plain: Callable[[Array], Any], shapes: list[tuple[int, ...]]
) -> None:
    text = f"{head} {{ {body} }}"
    assert warnings(text) == []
    module = rx.loads(text)
    for shape in shapes:
        x = array(shape)
        made, expected = module.f(x), plain(x)
        predicted = module.f.shapes(x=shape)
        pairs = (
            zip(made, expected, predicted, strict=True) if isinstance(made, tuple) else [(made, expected, predicted)]
        )
        for ours, theirs, sizes in pairs:
            np.testing.assert_array_equal(ours, theirs)
            assert tuple(sizes) == np.shape(theirs)


SYMBOLIC = [
    (X, "x[2:5]", "max(0, min(5, n) - 2)"),
    (X, "x[:-1]", "max(0, n - 1)"),
    (X, "@concat([x, x[1:]], axis=0)", "n + max(0, n - 1)"),
    (X, "@repeat(x, 4, axis=0)", "n * 4"),
    (X, "@pad(x, [(1, 2), (0, 0)])", "n + 3"),
    (X, "@slice(x, [0], [9223372036854775807], steps=[2])", "(n + 1) // 2"),
    (XD, "@reshape(x, [-1])", "n * d"),
    (XD, "@reshape(x, @concat([@slice(@shape(x), [1], [2]), @slice(@shape(x), [0], [1])]))", "d"),
]


@pytest.mark.parametrize(("head", "body", "size"), SYMBOLIC, ids=[body for _, body, _ in SYMBOLIC])
def test_the_first_size_of_a_result_is_this_expression(head: str, body: str, size: str) -> None:
    assert errors(f"{head} {{ let y : Tensor([{size}, ...], float32) = {body}\n y }}") == []
    assert warnings(f"{head} {{ let y : Tensor([{size}, ...], float32) = {body}\n y }}") == []


REFUSED = [
    # Contracted axes, joined axes, counts.
    ("@f = fn(x : Tensor([2, n], float32), y : Tensor([n * n + 1, 2], float32)) { @matmul(x, y) }", "axis 1 of `x`"),
    (
        "@f = fn(x : Tensor([n, 3], float32), y : Tensor([m, 4], float32)) { @concat([x, y]) }",
        "axis 1 of `x` (3) and `y` (4)",
    ),
    (f"{X} {{ @reshape(x, [n, 4]) }}", "works only on empty tensors"),
    ("@f = fn(x : Tensor([8, 15], float32), m : Size) { @reshape(x, [m, 16]) }", "as many elements"),
    (f"{X} {{ @reshape(x, [-1, -1]) }}", "at most one -1"),
    (f"{X} {{ @reshape(x, [-2, 3]) }}", "size 0 of `[-2, 3]` (-2) to be at least 0"),
    (f"{X} {{ @reshape(x, tensor([-1, 3], int64)) }}", "only a -1 that is written in the call is solved"),
    (f"{X} {{ @take(x, 3, axis=1) }}", "for the index 3"),
    (f"{X} {{ @take(x, tensor([0, 5], int64), axis=1) }}", "for the index 5"),
    (f"{X} {{ @topk(x, k=4, axis=1) }}", "`k` (4) to be at most axis 1 of `x` (3)"),
    (f"{X} {{ @squeeze(x, axis=1) }}", "axis 1 of `x` to be 1"),
    (f"{X} {{ @swapaxes(x, 0, 2) }}", "axis2 to be an axis of `x`, between -2 and 1"),
    (f"{X} {{ @split(x, sections=2, axis=1) }}", "a multiple of 2"),
    (f"{X} {{ @pad(x, [(0, 0), (-1, 0)]) }}", "the pad before axis 1 to be at least 0"),
    (f'{X} {{ @einsum("ij,jk->ik", [x, x, x]) }}', "as many terms"),
    (f"{X} {{ @filter(x, tensor([true], bool), 1) }}", "at most 2 arguments"),
    (f"{X} {{ @slice(x, [0], [1], steps=[0]) }}", "not 0"),
    (
        f"{X} {{ @onnx.split_to_sequence(x, tensor([2, 2]), axis=1) }}",
        "the lengths in `tensor([2, 2])` to add up to axis 1",
    ),
    (f"{X} {{ @broadcast_to(x, [n, 4]) }}", "axis 1 of `x` (3) to be 1 or equal to axis 1 of `[n, 4]` (4)"),
]


@pytest.mark.parametrize(("text", "part"), REFUSED, ids=[part for _, part in REFUSED])
def test_calls_that_cannot_be_are_refused_before_anything_runs(text: str, part: str) -> None:
    assert [part in message for message in errors(text)] == [True], errors(text)


CHECKED = [
    # What only the actual sizes decide: one input that fits and one that does not, with what the check says.
    ("@f = fn(x : Tensor([n, m], float32), y : Tensor([k, p], float32)) { @matmul(x, y) }",
     ((2, 3), (3, 5)), ((2, 3), (4, 5)), "axis 1 of `x` (3) and axis 0 of `y` (4) to be equal"),
    (f"{XD} {{ @split(x, sections=3, axis=1) }}", ((2, 6),), ((2, 7),), "a multiple of 3, but it is 7"),
    (f"{XD} {{ @reshape(x, [-1, 8]) }}", ((2, 4),), ((3, 4),), "divide evenly"),
    (f"{XD} {{ @topk(x, k=2, axis=0) }}", ((2, 3),), ((1, 3),), "`k` (2) to be at most axis 0 of `x` (1)"),
    (f"{XD} {{ @squeeze(x, axis=0) }}", ((1, 3),), ((2, 3),), "axis 0 of `x` to be 1, but it is 2"),
    (f"{X} {{ @broadcast_to(x, [4, 3]) }}", ((1, 3),), ((2, 3),), "axis 0 of `x` (2) to be 1 or equal to axis 0 of"),
    (f"{XD} {{ @take(x, 1, axis=0) }}", ((2, 3),), ((1, 3),), "at least 2, for the index 1"),
    (f"{XD} {{ @cross(x, x) }}", ((2, 3),), ((2, 2),), "axis 1 of `x` to be 3, but it is 2"),
    ("@f = fn(x : Tensor([n], float32), y : Tensor([m], float32)) { @update_slice(x, y, [1]) }",
     ((3,), (2,)), ((3,), (3,)), "entry 0 of `[1]` (1) plus axis 0 of `y` (3) to be at most axis 0 of `x` (3)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "good", "bad", "part"), CHECKED, ids=[part for *_, part in CHECKED])
def test_what_could_not_be_proved_is_checked_on_the_actual_sizes(
    text: str, good: tuple[tuple[int, ...], ...], bad: tuple[tuple[int, ...], ...], part: str
) -> None:
    assert len(warnings(text)) == 1
    module = rx.loads(text)
    module.f(*map(array, good))
    with pytest.raises(rx.ShapeError) as caught:
        module.f(*map(array, bad))
    assert part in " ".join(str(caught.value).split())


DECIDED = [
    # T9, T3: sizes that the data decides; the caller learns what the signature says.
    ("@f = fn(x : Tensor([n], float32), mask : Tensor([n], bool)) : Tensor([k + 3], float32) where k <= n "
     "{ @concat([@filter(x, mask), @zeros([3], float32)]) }",
     lambda x: (x, x > 2), lambda x: np.concatenate([x[x > 2], np.zeros(3)])),
    ("@f = fn(x : Tensor([n], float32)) : Tensor([k], int64) where k <= n "
     "{ let (i, j) = @nonzero(@expand_dims(x, axis=1))\n i + j }",
     lambda x: (x - 2,), lambda x: np.nonzero(x - 2)[0]),
    ("@f = fn(x : Tensor([n], float32), k : Tensor([], int64)) : Tensor([m], float32) where m <= n { @truncate(x, k) }",
     lambda x: (x, np.array(3)), lambda x: x[:3]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "inputs", "plain"), DECIDED, ids=["filter", "nonzero", "truncate"])
def test_sizes_that_the_data_decides_have_their_bounds(
    text: str, inputs: Callable[[Array], Any], plain: Callable[[Array], Any]
) -> None:
    assert warnings(text) == []
    for n in (0, 1, 5):
        np.testing.assert_array_equal(rx.loads(text).f(*inputs(array((n,)))), plain(array((n,))))


def test_a_bound_is_no_exact_size() -> None:
    text = "@f = fn(x : Tensor([7], float32), k : Tensor([], int64)) { let y = @truncate(x, k)\n BODY }"
    with pytest.raises(rx.CheckError, match="needs as many elements"):
        rx.loads(text.replace("BODY", "@reshape(y, [7])"))
    module = rx.loads(text.replace("BODY", "@broadcast_to(y, [4, 7])"))
    assert module.f(array((7,)), np.array(7)).shape == (4, 7)
    with pytest.raises(rx.ShapeError):
        module.f(array((7,)), np.array(3))
    assert rx.loads(text.replace("BODY", "@reshape(y, [1, y.dim(0)])")).f(array((7,)), np.array(3)).shape == (1, 3)


def test_leading_axes_of_any_number_are_kept() -> None:
    text = """
@f = fn(x : Tensor([*s, n, d], float32), w : Tensor([d, e], float32)) : Tensor([*s, e, n], float32) {
  @matrix_transpose(@matmul(x, w))
}
"""
    assert warnings(text) == []
    for batch in ((), (2,), (2, 0, 3)):
        x, w = array((*batch, 4, 5)), array((5, 6))
        np.testing.assert_array_equal(rx.loads(text).f(x, w), (x @ w).swapaxes(-1, -2))


def test_positions_out_of_range_are_named_with_their_argument() -> None:
    text = "@f = fn(x : Tensor([n, 3], float32), i : Tensor([m], int64)) { @take(x, i, axis=0) }"
    with pytest.raises(rx.ShapeError, match="`indices` holds 7, but axis 0 of `x` has size 5"):
        rx.loads(text).f(array((5, 3)), np.array([1, 7]))
