"""The plugin tells which checks of entry checks and inside programs no test reached, and which none saw fail; without its
option nothing counts."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.ops.registry import lookup, names
from rxlang.python.counting import ReachedCounts, lines
from support.listings import agrees
from support.places import ROOT, TESTS

pytest_plugins = "pytester"
# A run inside of this one forgets the modules that it imports first, and primitives are registered once.
names(), lookup("onnx.reshape")
DOCUMENT = ROOT / "docs" / "python.md"

FILES = {
    "lib.py": """import rxlang as rx

@rx.checked("fn(x : Tensor([n, m * 4], float32), mask : Tensor([n], bool)) : Tensor([n], float32)")
def first(x, mask=None):
    return x[:, 0]

@rx.checked("fn(x : Tensor([n], e)) : Tensor([n], e)")
def never(x):
    return x
""",
    "conftest.py": "import lib\n",
    "test_lib.py": """import lib, numpy as np, pytest, rxlang as rx

def test_it_fits():
    assert lib.first(np.ones((3, 8), np.float32)).shape == (3,)

def test_it_does_not_fit():
    with pytest.raises(rx.ShapeError):
        lib.first(np.ones((3, 9), np.float32))
""",
}
PROGRAM = {
    "net.rx": """import "deep/parts.rx" as parts

@small = fn(x : Tensor([n], float32), k : Size) : Tensor([?], float32) {
  assert k <= n
  let y = x[:k]
  @parts.pairs(y)
}

@loops = fn(x : Tensor([n], float32)) : Tensor([n], float32) {
  for i in range(3) with (acc = x) {
    assert n < 5 + i
    acc
  }
}
""",
    "deep/parts.rx": """@pairs = fn(x : Tensor([n], float32)) : Tensor([?], float32) {
  assert n % 2 == 0
  @sum(@reshape(x, [-1, 2]), axis=1)
}

@never = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x + @zeros([3], float32) }
""",
    "conftest.py": "import rxlang as rx\nnet = rx.load('net.rx')\n",
    "test_net.py": """import conftest, numpy as np, pytest, rxlang as rx
X = np.ones(5, np.float32)

@pytest.mark.parametrize("k", [2, 4, 4, 4])
def test_it_fits(k):
    assert conftest.net.small(X, k).shape == (k // 2,)

def test_it_does_not_fit():
    with pytest.raises(rx.ShapeError):
        conftest.net.small(X, 3)

def test_other_modules_of_the_same_file_count_with_it_and_text_in_tests_is_no_file():
    with pytest.raises(rx.ShapeError):
        rx.load("net.rx").loops(X)
    assert rx.load("net.rx").loops(X[:4]).shape == (4,)
    assert rx.loads("@f = fn(x : Tensor([n], float32)) : Tensor([3], float32) { assert n == 3\\n x }").f(X[:3]).shape == (3,)
""",
}


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What pytest says of some files, with the plugin and these options."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run_(files: dict[str, str], *options: str) -> str:
        gc.unfreeze()  # what an editor's session of another test kept from the collector
        gc.collect()  # entry checks of other tests, which nothing holds any more
        for name, text in files.items():
            path = pytester.path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        alone = ("-q", "-p", "no:cacheprovider", "-p", "rxlang.python.pytest_plugin")
        return pytester.runpytest_inprocess(*alone, *options).stdout.str()

    return run_


UNREACHED = """no test reached:
  lib.py:3: @first: `[n]`, rank of `mask`
  lib.py:3: @first: `n`, axis 0 of `mask`
  lib.py:3: @first: `bool`, dtype of `mask`
  lib.py:7: @never: `[n]`, rank of `x`
"""
UNFAILED = """no test saw fail:
  lib.py:3: @first: `[n, m * 4]`, rank of `x`
  lib.py:3: @first: `float32`, dtype of `x`
  lib.py:3: @first: `[n]`, rank of the result of @first
"""


INSIDE = """no test reached:
  deep/parts.rx:6: @parts.never: `n`, axis 0 of the result of @parts.never
  deep/parts.rx:6: @parts.never: `x + @zeros([3], float32)`, the preconditions of @add
no test saw fail:
  net.rx:4: @small: `k <= n`, a condition of the program
"""


def test_what_was_not_reached_stands_apart_from_what_did_not_fail(run: Callable[..., str]) -> None:
    said = run(FILES, "--rx-checks")
    assert "13 checks in 2 signatures: 6 reached, 1 seen to fail" in said and "2 passed" in said
    assert UNREACHED in said and UNFAILED in said
    assert "m * 4`, axis" not in said  # it was seen to fail


@pytest.mark.skipif(find_spec("xdist") is None, reason="pytest-xdist is not installed")
def test_workers_count_together_and_say_what_the_document_shows(run: Callable[..., str]) -> None:
    said = run({**FILES, **PROGRAM, "conftest.py": FILES["conftest.py"] + PROGRAM["conftest.py"]},
               "-o", "rx_checks=true", "-p", "xdist", "-n", "1")  # fmt: skip
    [shown] = re.findall(r"\$ pytest --rx-checks\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert agrees(*(text.partition(" rx: checks ")[2] for text in (said, shown))), said


def test_nothing_is_told_unless_asked(run: Callable[..., str]) -> None:
    said = run(FILES)
    assert "2 passed" in said and "checks" not in said


def test_the_checks_left_inside_programs_are_counted_too(run: Callable[..., str]) -> None:
    said = run(PROGRAM, "--rx-checks")
    assert "5 checks in 2 programs: 3 reached, 2 seen to fail" in said and "6 passed" in said
    assert INSIDE in said


TURNS = """@f = fn(x : Tensor([n], float32), k : Size) : Tensor([?, 2], float32) {
  let y = for i in range(3) with (acc = x) {
    assert n < 5 + i
    acc + 1.0
  }
  @reshape(y[:k], [-1, 2])
}
"""


@pytest.mark.parametrize(("sizes", "turns", "behind", "failed"), [
    ([(4, 2)], 3, 1, (0, 0)), ([(4, 2), (4, 2), (0, 0), (1, 0)], 12, 4, (0, 0)), ([(5, 2)], 1, 0, (1, 0)),
    ([(4, 3), (4, 2), (4, 3)], 9, 3, (0, 2)), ([], 0, 0, (0, 0)),
])  # fmt: skip
def test_each_time_that_a_check_is_made_counts_and_each_that_it_fails(
    sizes: list[tuple[int, int]], turns: int, behind: int, failed: tuple[int, int], tmp_path: Path
) -> None:
    (tmp_path / "f.rx").write_text(TURNS)
    counts = ReachedCounts(tmp_path)
    try:
        module = rx.load(tmp_path / "f.rx")
        seen = [_fails(module.f, n, k) for n, k in sizes]
        in_loop, in_reshape = (c for row, c in sorted(counts.rows().items()) if row.text != "y[:k]")
    finally:
        counts.end()
    assert sum(seen) == sum(failed) and (in_loop[1], in_reshape[1]) == failed
    # A plan that has seen a class of shapes does not ask again what they decide.
    assert (0 < in_loop[0] <= turns) is bool(turns) and (0 < in_reshape[0] <= behind) is bool(behind)
    assert "ran[" not in module._machine.code.source
    assert [_fails(module.f, n, k) for n, k in sizes] == seen


def _fails(function: Any, n: int, k: int) -> bool:
    try:
        return function(np.ones(n, np.float32), k).shape != (k // 2, 2)
    except rx.ShapeError:
        return True


def test_entry_checks_count_only_while_they_are_asked_to() -> None:
    def third(x):
        return x[::3]

    entry_check = rx.checked("fn(x : Tensor([n * 3], float32)) : Tensor([n], float32)")(third)
    before, x = entry_check.__code__.co_code, np.ones(6, np.float32)
    counts = ReachedCounts(TESTS)
    try:
        assert entry_check.__code__.co_code != before
        later = rx.checked("fn(x : Tensor([n], float32)) : Tensor([n], float32)")(third)
        row = rx.compose(entry_check, rx.checked("fn(x : Tensor([n], float32))")(third))
        entry_check(x), row(x)
        for wrong in (np.ones(7, np.float32), np.ones(6)):
            with pytest.raises(rx.ShapeError):
                entry_check(wrong)
        with pytest.raises(rx.ShapeError):
            later(x)
        own = {r: c for r, c in counts.rows().items() if r.function == "third" and r.text == "n * 3"}
        assert list(own.values()) == [(4, 1)]
        assert any(failed for r, (_, failed) in counts.rows().items() if "result" in r.message)
        assert next(lines(counts.rows())).startswith(f"{len(counts.rows())} checks in ")
    finally:
        counts.end()
    assert entry_check.__code__.co_code == before
    assert entry_check(x).shape == (2,)
