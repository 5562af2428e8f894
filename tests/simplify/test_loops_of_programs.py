"""Programs that people write with loops: checked without an unproved claim, and the same as plain NumPy at several shapes;
what the commands say of them is beside each, in `tests/goldens/loops/`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.cli.main import invoke
from rxlang.lang.formatter import format_source
from rxlang.lang.source import Source
from support.places import TESTS

GOLDENS = TESTS / "goldens" / "loops"
NAMES = sorted(path.stem for path in GOLDENS.glob("*.rx"))
F = np.float32


def loaded(name: str) -> rx.Module:
    """A golden, without an unproved claim about it: every claim is proved or stands on entry, and no check is left inside."""
    text = (GOLDENS / f"{name}.rx").read_text(encoding="utf-8")
    return without_unproved_claim(text)


def without_unproved_claim(text: str) -> rx.Module:
    found = pipeline.check_text(text, "x.rx", Path(".")).diagnostics
    assert not [d.message for d in found if d.severity in ("error", "warning")]
    module = rx.loads(text)
    assert all(getattr(module, name).residual == () for name in re.findall(r"^@(\w+) =", text, re.MULTILINE))
    return module


def draw(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def close(found: Any, wanted: Any) -> None:
    for a, b in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]:
        assert np.asarray(a).shape == np.asarray(b).shape and np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


# What a user sees of each: the summary with what is left to be checked, the signatures, the shapes, and the core.


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_say_of_a_loop_what_they_said(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(GOLDENS)
    file, golden = f"{name}.rx", GOLDENS / f"{name}.out"
    carried = EXPLAINED[name]
    commands = [
        ["check", "--signature"],
        ["check", "--explain", carried],
        ["shapes"],
        ["desugar", "--simplified"],
    ]
    for command in commands:
        invoke([*command, file])
    said = capsys.readouterr()
    assert said.err == ""
    if os.environ.get("RX_ACCEPT"):
        golden.write_text(said.out, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == said.out


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_is_laid_out_as_the_formatter_lays_it_out(name: str) -> None:
    text = (GOLDENS / f"{name}.rx").read_text(encoding="utf-8")
    assert format_source(Source(f"{name}.rx", text)) == (text, ())


# What a golden carries, which `--explain` is asked for.
EXPLAINED = {
    "bidirectional": "state", "ctc": "row", "doubling": "p", "greedy_decoding": "cache", "k_means": "c",
    "nested_growth": "part", "newton": "x", "no_trip_count": "rows", "power_iteration": "change", "prefix_scans": "acc",
    "pyramid": "y", "trip_count": "rows",
}  # fmt: skip


# Each against plain NumPy


@pytest.mark.parametrize(
    ("read", "words", "width", "most", "end"), [(3, 7, 5, 4, 2), (1, 5, 2, 6, 0), (2, 3, 4, 0, 1), (2, 4, 3, 9, -1)]
)
def test_greedy_decoding_reads_to_the_end_mark(read: int, words: int, width: int, most: int, end: int) -> None:
    prompt, table = np.arange(read) % words, draw(words, width).astype(F)
    tokens = list(prompt)
    for _ in range(most):
        cache = table[tokens]
        scores = cache @ cache[-1]
        weights = np.exp(scores - scores.max())
        tokens.append(int(np.argmax(table @ (weights / weights.sum() @ cache))))
        if tokens[-1] == end:
            break
    found = loaded("greedy_decoding").decode(prompt, table, np.array(end), most)
    assert found.tolist() == tokens


@pytest.mark.parametrize(
    ("trips", "cond", "size"), [(3, True, 2), (50, True, 3), (5, False, 2), (0, True, 5), (-2, True, 1), (4, True, 0)]
)
def test_a_loop_with_a_trip_count_stacks_what_its_turns_give(trips: int, cond: bool, size: int) -> None:
    x = np.arange(1, 1 + size, dtype=F)
    y, keep, rows = x, cond, []
    for _ in range(trips):
        if not keep:
            break
        rows.append(y)
        y = y * F(2)
        keep = bool((y < 100).all())
    found = loaded("trip_count").loop(np.array(trips), np.array(cond), x)
    close(found, (y, np.array(rows, F).reshape(len(rows), size), np.arange(len(rows))))


@pytest.mark.parametrize(("cond", "size"), [(True, 2), (True, 3), (False, 2)])
def test_a_loop_without_a_trip_count_ends_by_its_condition(cond: bool, size: int) -> None:
    y, keep, rows = np.arange(1, 1 + size, dtype=F), cond, []
    while keep:
        y = y * F(2)
        rows.append(y)
        keep = bool((y < 100).all())
    found = loaded("no_trip_count").loop(np.array(cond), np.arange(1, 1 + size, dtype=F))
    close(found, (y, np.array(rows, F).reshape(len(rows), size)))


@pytest.mark.parametrize(("a", "d", "n"), [(2, 3, 3), (0, 2, 2), (5, 1, 0), (1, 0, 1)])
def test_a_carry_grows_in_nested_loops(a: int, d: int, n: int) -> None:
    x = draw(a, d).astype(F)
    wanted = np.concatenate([x, *(np.full((1, d), k, F) for k in range(n * n))])
    close(loaded("nested_growth").grown(x, n), wanted)


@pytest.mark.parametrize("size", [1, 2, 5, 8, 13])
def test_a_pyramid_halves_to_its_top(size: int) -> None:
    y, levels = np.abs(draw(size)).astype(F), 0
    x = y
    while len(y) > 1:
        y = np.pad(y, (0, len(y) % 2)).reshape(-1, 2).max(1)
        levels += 1
    close(loaded("pyramid").pyramid(x), (levels, y))


@pytest.mark.parametrize(("t", "b", "d", "h"), [(3, 2, 5, 4), (1, 3, 2, 1), (0, 2, 3, 4)])
def test_a_bidirectional_net_reads_from_both_ends(t: int, b: int, d: int, h: int) -> None:
    cells = [tuple(draw(*shape).astype(F) + k for shape in ((d, h), (h, h), (h,))) for k in (0, 1)]
    xs = draw(t, b, d).astype(F)
    read = []
    for (w, u, bias), order in zip(cells, (range(t), range(t - 1, -1, -1)), strict=True):
        state, states = np.zeros((b, h), F), np.zeros((t, b, h), F)
        for i in order:
            states[i] = state = np.tanh(xs[i] @ w + state @ u + bias)
        read.append(states)
    close(loaded("bidirectional").both(xs, *cells), np.concatenate(read, axis=2))


@pytest.mark.parametrize(
    ("labels", "t", "v"), [([1, 2], 4, 3), ([1, 1, 2], 6, 4), ([], 3, 2), ([3], 1, 5), ([1, 2], 1, 3)]
)
def test_the_rows_of_the_ctc_table_sum_all_paths(labels: list[int], t: int, v: int) -> None:
    scores = draw(t, v)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    total = 0.0
    for path in np.ndindex(*(v,) * t):
        kept = [k for i, k in enumerate(path) if i == 0 or path[i - 1] != k]
        if [k for k in kept if k] == labels:
            total += np.exp(sum(logs[i, k] for i, k in enumerate(path)))
    found = loaded("ctc").ctc(scores.astype(F), np.array(labels, np.int64))
    if total:
        np.testing.assert_allclose(found, -np.log(total), rtol=1e-5)
    else:
        assert found > 1e29


@pytest.mark.parametrize(("n", "tolerance", "most"), [(3, 1e-12, 1000), (5, 1e-12, 1000), (2, 1e-2, 3), (2, 1.0, 0)])
def test_power_iteration_stops_at_its_tolerance(n: int, tolerance: float, most: int) -> None:
    a = draw(n, n)
    a, x, value, change, turns = a @ a.T, np.ones(n), 0.0, 1e300, 0
    while turns < most and change > tolerance:
        y = a @ x
        new = x @ y / (x @ x)
        value, change, x, turns = new, abs(new - value), y / np.sqrt((y * y).sum()), turns + 1
    found = loaded("power_iteration").power(a, np.ones(n), np.array(tolerance), most)
    close(found, (np.float64(value), x))
    if most == 1000:
        np.testing.assert_allclose(found[0], np.linalg.eigvalsh(a)[-1])


@pytest.mark.parametrize(("rows", "least"), [(3, 20), (5, 5), (1, 7), (2, -1)])
def test_a_size_doubles_while_it_is_below_a_bound(rows: int, least: int) -> None:
    x = wanted = draw(rows).astype(F)
    while wanted.shape[0] < least:
        wanted = np.concatenate([wanted, wanted])
    close(loaded("doubling").doubled(x, least), wanted)


@pytest.mark.parametrize(("rows", "width"), [(5, 3), (1, 2), (0, 2), (8, 0)])
def test_prefix_scans_give_each_sum(rows: int, width: int) -> None:
    xs, module = draw(rows, width), loaded("prefix_scans")
    close(module.running(xs), (np.cumsum(xs, axis=0), np.maximum.accumulate(xs, axis=0)))
    close(module.by_doubling(xs), np.cumsum(xs, axis=0))
    close(module.by_scan(xs), np.cumsum(xs, axis=0))


@pytest.mark.parametrize(
    ("n", "d", "k", "turns"), [(7, 2, 3, 4), (5, 3, 2, 1), (0, 2, 3, 2), (3, 1, 5, 3), (4, 2, 2, 0)]
)
def test_k_means_leaves_an_empty_cluster_where_it_is(n: int, d: int, k: int, turns: int) -> None:
    points, centres = draw(n, d), draw(k, d) + np.arange(k)[:, None] * 9
    wanted = centres.copy()

    def of(c: Any) -> Any:
        return ((points[:, None] - c) ** 2).sum(2).argmin(1)

    for _ in range(turns):
        found = of(wanted)
        wanted = np.array([points[found == j].mean(0) if (found == j).any() else wanted[j] for j in range(k)])
    close(loaded("k_means").k_means(points, centres, turns), (wanted, of(wanted)))


@pytest.mark.parametrize("shape", [(3,), (2, 5), (), (0, 2)])
def test_newtons_method_finds_roots(shape: tuple[int, ...]) -> None:
    a = np.asarray(np.abs(draw(*shape)) * 9 + 0.5)
    np.testing.assert_allclose(loaded("newton").roots(a), np.sqrt(a), rtol=1e-14)


@pytest.mark.parametrize(("a", "n", "m"), [(2, 3, 5), (3, 0, 2), (0, 2, 0)])
def test_a_carry_grows_by_a_product_in_nested_loops(a: int, n: int, m: int) -> None:
    module = without_unproved_claim("""@grown = fn(x : Tensor([a], float64), n : Size, m : Size) : Tensor([a + n * m], float64)
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
def test_newtons_method_takes_so_many_turns(size: int, turns: int) -> None:
    module = without_unproved_claim("""@roots = fn(a : Tensor([k], float64), n : Size) : Tensor([k], float64) where n >= 0 {
      for i in range(n) with (x = a) { (x + a / x) * 0.5 }
    }""")
    a = np.arange(2.0, 2.0 + size)
    wanted = a
    for _ in range(turns):
        wanted = (wanted + a / wanted) * 0.5
    np.testing.assert_array_equal(module.roots(a, turns), wanted)


@pytest.mark.parametrize(("rows", "least"), [(3, 20), (5, 5), (1, 7)])
def test_a_size_that_doubles_is_at_least_one(rows: int, least: int) -> None:
    module = without_unproved_claim("""@doubled = fn(x : Tensor([s], float64), least : Size) : Tensor([q], float64)
      where s >= 1, q >= least {
      while (acc.dim(0) < least) with (acc : Tensor([p], float64) = x) where p >= 1 { @concat([acc, acc], axis=0) }
    }""")
    x = wanted = np.arange(1.0, 1.0 + rows)
    while wanted.shape[0] < least:
        wanted = np.concatenate([wanted, wanted])
    np.testing.assert_array_equal(module.doubled(x, least), wanted)
