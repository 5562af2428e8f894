"""What `rx shapes` says: the user's names alone, and nothing of a Shape whose length nobody knows."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.cli.main import invoke
from rxlang.simplify.solver.numbers import size_at
from rxlang.sizes.integers import helpers
from support import fuzz, random_programs as programs
from support.places import TESTS

GOLDENS = sorted((TESTS / "goldens" / "desugar").glob("*.rx"))
# A name that begins with `?`, or that checking or desugaring made: `?elements`, `?.0`, `out_0`.
NOBODYS = re.compile(r"\?[\w.]|\bout'*_\d|\bt\d+'")


def listed(path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    invoke(["shapes", str(path), *more])
    return capsys.readouterr().out


def test_no_name_that_nobody_wrote_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "random.rx"
    for case in fuzz.cases("listed shapes"):
        with case as seed:
            path.write_text(programs.Maker(seed).source)
            for form in ("text", "json"):
                said = listed(path, capsys, "--format", form)
                assert not NOBODYS.search(said), (seed, said)
            assert partly_unknown(json.loads(said)) == [], seed
    for golden in GOLDENS:
        assert not NOBODYS.search(listed(golden, capsys)), golden


def partly_unknown(said: Any) -> list[str]:
    """The sizes that are neither known nor "?" """
    if isinstance(said, list):
        return [text for one in said for text in partly_unknown(one)]
    if not isinstance(said, dict):
        return []
    sizes = [s for s in said.get("shape") or () if isinstance(s, str) and "?" in s and s != "?"]
    return sizes + partly_unknown(list(said.values()))


def test_a_size_that_is_made_of_one_without_a_name_is_not_known() -> None:
    text = """@f = fn(m : Tensor([], int64), x : Tensor([n], float32)) : Tensor {
  let y = @zeros([max(@item(m), 0), n])
  let z = @zeros([@item(m)])
  @concat([y, @zeros([@item(m) + 1, n])], axis=0)
}"""
    report = rx.check_source(text)
    assert report.checked is not None
    (found,) = report.checked.shapes
    known = {b.name: (b.shape, b.exactness) for b in (*found.bindings, found.result) if b.sort == "Tensor"}
    assert known["y"] == (("?", "n"), ("unknown", "exact")) and known["z"] == (("?",), ("unknown",))
    assert known["result"] == (("?", "n"), ("unknown", "exact"))


SIZES = """@f = fn(k : Size, x : Tensor([n], float32)) : (Size, Tensor([m], float32)) where m <= n {
  (k + 1, @filter(x, x > 1.0))
}
@g = fn(x : Tensor([n], float32)) : Tensor {
  let (k, y) = @f(3, x)
  assert k >= 1
  @reshape(@broadcast_to(y, [k, y.dim(0)]), [k * y.dim(0)])
}
"""


def test_a_size_in_a_tuple_has_the_name_that_it_is_bound_to() -> None:
    report = rx.check_source(SIZES)
    assert report.checked is not None and not [d for d in report.diagnostics if d.severity != "note"]
    (found,) = [f for f in report.checked.shapes if f.name == "@g"]
    assert [b.shape for b in found.bindings if b.name == "k"] == [("k",)]


@pytest.mark.parametrize("takes", ["x : Tensor([m, k])", "x : Tensor([*s, m, k])", "x : Tensor([m * 2, k])"])
def test_a_dimension_without_a_name_is_not_called_as_another_one_is(takes: str) -> None:
    called = f"@g = fn({takes}) : Tensor {{ x }}\n@f = fn(x : Tensor([?, m]), y : Tensor([?, k])) : Tensor {{ @g(x) }}"
    report = rx.check_source(called)
    assert report.checked is not None
    (shape,) = [b.shape for f in report.checked.shapes if f.name == "@f" for b in f.params if b.name == "x"]
    assert report.ok and shape == ("x.dim(0)", "m"), shape


def test_of_a_shape_of_unknown_length_no_dimension_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "f.rx"
    path.write_text("@f = fn(s : Shape, t : Shape) : Tensor { assert t == []; @zeros(s) + @zeros(t) }\n")
    assert "  s      : Shape\n  t      : Shape = []\n" in listed(path, capsys)
    params = json.loads(listed(path, capsys, "--format", "json"))["functions"]["@f"]["params"]
    assert [p["shape"] for p in params] == [None, []]


ASSERTED = """@f = fn(x : Tensor([n, ?]), y, k : Size) : (Tensor([n]), Tensor([n, 5])) {
  let a ! Tensor([n, 3]) = x
  let b : Tensor([n, 3]) = a
  let c = if (k >= 2) { let d : Tensor([n, 2]) = y
    d } else { y }
  (a[:, 0], y)
}
@g = fn(x : Tensor([2, 3], float32)) : Tensor([3, 2], float32) { @matrix_transpose(x) }
@h = fn(x) { x }
let e = @g(@zeros([2, 3], float32))
"""


def test_asserted_is_what_an_annotation_says_and_nothing_proved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "f.rx"
    path.write_text(ASSERTED)
    said = json.loads(listed(path, capsys, "--format", "json"))["functions"]
    kinds = ("params", "bindings")
    found = {f"{f}.{b['name']}": b["asserted"] for f in said for kind in kinds for b in said[f][kind]}
    assert {name for name, asserted in found.items() if asserted} == {"@f.x", "@f.a", "@f.d", "@g.x"}
    results = {
        f: (r["asserted"], [i["asserted"] for i in r.get("items", ())]) for f in said if (r := said[f]["result"])
    }
    assert (results["@f"], results["@g"], results["@h"]) == ((True, [False, True]), (False, []), (False, []))
    text = listed(path, capsys)
    assert [line.split()[0] for line in text.splitlines() if "asserted" in line] == ["a", "d", "result"]


# What is made of the k rows of x that a mask keeps, and what is said of how many rows it has.
BOUNDS = {
    "a": "n",
    "a[:m]": "n",
    "@concat([a, a, x], axis=0)": "n * 3",
    "@pad(x, [(0, n - a.dim(0)), (0, 0)])": "n * 2",
    "@filter(a, a[:, 0] > 0.0)": "n",
    "@filter(a, a[:, 0] > 0.0)[:m]": "n",
    "@few(x, m)": "m",
    "@few(@few(x, 9), 7)": "7",
    "@least(x, m)": "min(m, n)",
    "@least(@zeros([8, 2], float32), 5)": "5",
    "@least(@zeros([4, 2], float32), 5)": "4",
    "@reshape(a, [-1])": "n * 2",
}
LIMITED = """@few = fn(x : Tensor([n, 2], float32), m : Size) : Tensor([k, 2], float32) where m >= 0, k <= m {
  @filter(x, x[:, 0] > 0.0)[:m]
}
@least = fn(x : Tensor([n, 2], float32), m : Size) : Tensor([k, 2], float32) where m >= 0, k <= n, k <= m {
  @filter(x, x[:, 0] > 0.0)[:m]
}
@f = fn(x : Tensor([n, 2], float32), m : Size, mask : Tensor([n], bool)) : Tensor where m >= 0 {
  let a = @filter(x, mask)
  BODY
}
"""


@pytest.mark.parametrize(("body", "most"), BOUNDS.items())
def test_of_a_size_that_the_data_decides_its_bound_is_told(body: str, most: str) -> None:
    report = rx.check_source(LIMITED.replace("BODY", body))
    assert report.checked is not None and not [d for d in report.diagnostics if d.severity != "note"]
    (found,) = [f for f in report.checked.shapes if f.name == "@f"]
    assert found.result is not None
    assert found.result.bounds[0] == most
    function = rx.loads(LIMITED.replace("BODY", body)).f
    for n in (4, 9):
        for mask in (np.ones(n, bool), np.zeros(n, bool), np.arange(n) % 2 == 0):
            made = function(np.ones((n, 2), np.float32), 3, mask)
            assert made.shape[0] <= eval(most, {"n": n, "m": 3, "min": min})


@pytest.mark.parametrize(
    ("other", "both"),
    [("min(n, 50)", "n"), ("max(n, 3)", "max(n, 3)"), ("(n + 1) // 2", "n"), ("n * n", "n"), ("m", None)],
)
def test_what_is_one_only_where_another_size_is_says_nothing_of_the_size_of_both(other: str, both: str | None) -> None:
    text = f"@f = fn(x : Tensor([n], float32), y : Tensor([{other}], float32), z : Tensor([m], float32)) {{ x + y }}"
    module, report = rx.loads(text), rx.check_source(text)
    assert report.ok
    (function,) = [f for f in report.checked.shapes if f.name == "@f"]
    (told,) = function.result.shape
    assert told == both if both is not None else told in ("broadcast(n, m)", f"broadcast(n, {other})")
    for n in range(60):
        m = 2
        size = eval(other, {"n": n, "m": m, "min": min, "max": max})
        if size == n or 1 in (size, n):
            given = (np.zeros(k, np.float32) for k in (n, size, m))
            result = eval(told, {"n": n, "m": m, "min": min, "max": max, **helpers()})
            assert module.f(*given).shape == (result,), n


CONDITIONS = ["n % 2 == 1", "n % 3 == 0", "n > 4", "n <= m", "n == 5", "n != m", "n > 2 && m > 3", "n < 3 || m == 2"]
ARMS = [
    "x",
    "@concat([x, x])",
    "x[0:n // 2]",
    "@concat([x, y])",
    "x[0:min(n, 3)]",
    "@concat([x, @zeros([1], float32)])",
]


def test_a_size_that_is_one_of_two_is_a_formula(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.rx"
    for case in fuzz.cases("listed choices"):
        with case as seed:
            draw = Random(seed)
            first, second = (
                f"if ({draw.choice(CONDITIONS)}) {{ {' } else { '.join(draw.sample(ARMS, 2))} }}" for _ in "ab"
            )
            if draw.random() < 0.3:
                second = re.sub(r"\bn\b", "z.dim(0)", re.sub(r"\bx\b", "z", second))
            head = "@f = fn(x : Tensor([n], float32), y : Tensor([m], float32))"
            path.write_text(f"{head} {{\n  let z = {first}\n  let w = {second}\n  (z, w)\n}}\n")
            said = json.loads(listed(path, capsys, "--format", "json"))
            found = {b["name"]: b["shape"][0] for b in said["functions"]["@f"]["bindings"] if b["name"] in ("z", "w")}
            main = rx.load(path, allow_empty=True).f
            for n, m in product((0, 1, 2, 3, 5, 6, 9), (0, 1, 2, 5, 7)):
                right = main(np.zeros(n, np.float32), np.zeros(m, np.float32))
                for name, value in zip("zw", right, strict=True):
                    known = found[name] == "?" or size_at(found[name], {"n": n, "m": m})
                    assert known in (True, len(value)), (seed, name, found[name], n, m)


def test_parity_is_a_remainder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.rx"
    path.write_text("@f = fn(x : Tensor([n], float32)) { if (n % 2 == 1) { @concat([x, x[:1]]) } else { x } }\n")
    assert "Tensor([n + n % 2], float32)" in listed(path, capsys)


@pytest.mark.parametrize(
    ("types", "wanted"),
    [
        (("Tensor([*s])", "Tensor([n, *s], float32)", "Tensor"), ("[*s]", "[n, *s]")),
        (("Tensor([*s, k], float32)", "Tensor([*s], float32)", "Tensor([*s])"), ("[*s, k]", "[*s]")),
        (("Tensor", "Tensor([n, ...], float32)", "Tensor"), ("Tensor", "[n, ")),
    ],
)
def test_a_stretch_of_axes_is_listed_by_the_name_that_it_has(
    types: tuple[str, str, str], wanted: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.rx"
    path.write_text(f"@f = fn(x : {types[0]}, y : {types[1]}) : {types[2]} {{\n  let z = @relu(y)\n  z\n}}\n")
    lines = {line.split()[0]: line for line in listed(path, capsys).splitlines() if " : " in line}
    assert wanted[0] in lines["x"] and "*x" not in lines["y"]
    assert all(wanted[1] in lines[name] for name in ("y", "z", "result")), lines
