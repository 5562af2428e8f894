"""One mask has one count, whatever is filtered by it and however it is called; of two masks nothing is known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import rxlang as rx

HELPERS = """@same = fn(m : Tensor([n], bool)) : Tensor { m }
@kept = fn(x : Tensor([n], float64), m : Tensor([n], bool)) : Tensor { @filter(x, m) }
"""
HEAD = """@main = fn(x : Tensor([n], float64), y : Tensor([n], float64), m : Tensor([n], bool), o : Tensor([n], bool),
           c : Tensor([], bool)) : Tensor([k], float64) where k <= n {
  BODY
}
"""
# What counts the elements of a mask that are true, as a vector so long.
COUNTED = ["@filter(x, M)", "@filter(y, M)", "@kept(y, M)"]
PAIRS = list(product(COUNTED, COUNTED))
# Ways to write the mask m, and masks that are others.
THE_MASK = ["m", "@same(m)", "p"]
OTHERS = ["o", "!m", "q", "(m && o)"]


def counted(how: str, mask: str) -> str:
    return how.replace("M", {"!m": "@logical_not(m)", "(m && o)": "@logical_and(m, o)"}.get(mask, mask))


def open_claims(body: str) -> int:
    text = HELPERS + HEAD.replace("BODY", body)
    report = rx.check_source(text)
    assert report.ok, [d.message for d in report.diagnostics]
    return sum(d.severity == "warning" for d in report.diagnostics)


def sum_of(a: str, b: str) -> str:
    lets = "let p = m\n  let q = if (c) { m } else { o }"
    return f"{lets}\n  let u = {a}\n  let v : Tensor([j], float64) = {b}\n  match_shape(v, [], [j])\n  u + v"


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_two_filters_by_one_mask_are_equally_long(a: str, b: str) -> None:
    for first, second in product(THE_MASK, THE_MASK):
        assert open_claims(sum_of(counted(a, first), counted(b, second))) == 0


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_filters_by_two_masks_are_not_known_to_be(a: str, b: str, other: str) -> None:
    assert open_claims(sum_of(counted(a, "m"), counted(b, other))) >= 1


@pytest.mark.parametrize(
    "body",
    [
        "let a = @filter(x, x > 0.0)\n  a + @filter(y, x > 0.0)",
        "let a = @filter(x, m)\n  let (i,) = @nonzero(m)\n  a + @take(y, i, axis=0)",
        "let r = if (c) { @filter(x, m) + @filter(y, m) } else { @filter(y, m) }\n  @filter(r, r > 0.0)",
        "let a = @unique_values(x)\n  let (b, _, _, _) = @unique_all(x)\n  a + b",
        "let t = @sum(x)\n  let a = @truncate(x, t)\n  let b = @truncate(y * 2.0, @sum(x))\n  a + b",
        "let t = @sum(x)\n  @truncate(@expand_dims(x, axis=0), t, axis=1)[0] + @truncate(y, t)",
        "for i in range(3) with (a : Tensor([n], float64) = x) { let b = @filter(a, m) + @filter(y, m)\n a }",
    ],
)
def test_what_is_counted_once_is_known_to_be(body: str) -> None:
    assert open_claims(body) == 0


@pytest.mark.parametrize(
    "body",
    [
        "let a = @filter(x, x > 0.0)\n  a + @filter(y, y > 0.0)",
        "let a = @filter(x, m)\n  let m = @logical_not(m)\n  a + @filter(y, m)",
        "let a = @kept(x, m) + @kept(y, m)\n  a + @kept(x, o)",
        "let t = @sum(x)\n  @truncate(x, t) + @truncate(@concat([y, y]), t)[:n]",
        "let t = @sum(x)\n  @truncate(x, t) + @truncate(y, t + 1.0)",
        """let a = @filter(x, m)
  let b = for i in range(3) with (q : Tensor([n], bool) = m) {
    let z = a + @filter(y, q)
    @logical_not(q) }
  a""",
        """let (q, a) = for i in range(3) with (q : Tensor([n], bool) = m, a : Tensor([n], float64) = x) {
    (@logical_not(q), a) }
  @filter(x, m) + @filter(y, q)""",
    ],
)
def test_what_may_be_counted_differently_is_not(body: str) -> None:
    assert open_claims(body) >= 1


def test_equal_counts_ask_nothing_of_shapes_alone() -> None:
    module = rx.loads(HELPERS + HEAD.replace("BODY", "@filter(x, m) + @kept(y, @same(m))"))
    told = module.main.shapes(x=(5,), y=(5,), m=(5,), o=(5,), c=())
    assert told.conditions == () and told[0].exactness == "upper_bound" and str(told[0].bound) == "5"
    module = rx.loads(HELPERS + HEAD.replace("BODY", "@filter(x, m) + @kept(y, o)"))
    assert len(module.main.shapes(x=(5,), y=(5,), m=(5,), o=(5,), c=()).conditions) == 1


def test_equal_counts_run() -> None:
    module = rx.loads(HELPERS + HEAD.replace("BODY", "@filter(x, m) + @kept(y, @same(m))"))
    x, m = np.arange(5.0), np.array([True, False, True, True, False])
    assert module.main(x, x, m, ~m, np.array(True)).tolist() == [0.0, 4.0, 6.0]


def test_two_readings_of_one_element_are_one_size() -> None:
    text = """@main = fn(x : Tensor([n], float64), t : Tensor([], int64)) : Tensor {
  let a : Size = @item(t)
  let b : Size = @item(t)
  assert a == b
  x }"""
    assert rx.loads(text).main.residual == ()
