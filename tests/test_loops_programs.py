"""Programs that people write with loops: checked without a doubt, and the same as plain NumPy at several shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline


def loaded(source: str) -> rx.Module:
    found = pipeline.check_text(source, "x.rx", Path(".")).diagnostics
    assert not [d.message for d in found if d.severity in ("error", "warning")]
    return rx.loads(source)


@pytest.mark.parametrize(("rows", "least"), [(3, 20), (5, 5), (1, 7)])
def test_a_size_doubles_while_it_is_below_a_bound(rows: int, least: int) -> None:
    module = loaded("""@doubled = fn(x : Tensor([s], float64), least : Size) : Tensor([q], float64) where s >= 1, q >= least {
      while (acc.dim(0) < least) with (acc : Tensor([p], float64) = x) where p >= 1 { @concat([acc, acc], axis=0) }
    }""")
    x = wanted = np.arange(1.0, 1.0 + rows)
    while wanted.shape[0] < least:
        wanted = np.concatenate([wanted, wanted])
    np.testing.assert_array_equal(module.doubled(x, least), wanted)


@pytest.mark.parametrize(("rows", "width"), [(5, 3), (1, 2), (0, 2)])
def test_a_prefix_scan_stacks_each_sum(rows: int, width: int) -> None:
    module = loaded("""@sums = fn(xs : Tensor([t, d], float64)) : Tensor([t, d], float64) {
      let (last, all) = for i in range(t) with (acc : Tensor([d], float64) = @zeros([d], float64))
        stack (y : Tensor([d], float64)) { let next = acc + xs[i]; (next, next) }
      all
    }""")
    xs = np.arange(float(rows * width)).reshape(rows, width)
    np.testing.assert_array_equal(module.sums(xs), np.cumsum(xs, axis=0))


@pytest.mark.parametrize(("a", "n", "m"), [(2, 3, 5), (3, 0, 2), (0, 2, 0)])
def test_a_carry_grows_in_nested_loops(a: int, n: int, m: int) -> None:
    module = loaded("""@grown = fn(x : Tensor([a], float64), n : Size, m : Size) : Tensor([a + n * m], float64)
      where n >= 0, m >= 0 {
      for i in range(n) with (acc : Tensor([a + i * m], float64) = x) {
        for j in range(m) with (part : Tensor([a + i * m + j], float64) = acc) {
          @concat([part, @ones([1], float64)], axis=0)
        }
      }
    }""")
    x = np.arange(float(a))
    np.testing.assert_array_equal(module.grown(x, n, m), np.concatenate([x, np.ones(n * m)]))


@pytest.mark.parametrize(("size", "turns"), [(2, 7), (3, 2)])
def test_newtons_method_finds_roots(size: int, turns: int) -> None:
    module = loaded("""@roots = fn(a : Tensor([k], float64), n : Size) : Tensor([k], float64) where n >= 0 {
      for i in range(n) with (x = a) { (x + a / x) * 0.5 }
    }""")
    a = np.arange(2.0, 2.0 + size)
    wanted = a
    for _ in range(turns):
        wanted = (wanted + a / wanted) * 0.5
    np.testing.assert_array_equal(module.roots(a, turns), wanted)
