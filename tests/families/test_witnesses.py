"""Witnesses are runs: with the sizes that a diagnostic names, the function gets to the check that it is about, and fails."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from rxlang import pipeline
from support import fuzz, random_programs, random_shape_loops, replay, shape_bugs, small_programs
from support.cases import CASES
from support.places import ROOT

from ..docs.test_pages import DOCUMENTS, blocks
from ..simplify.test_calls import ROWS as CALLS, program as call_of

FILES = [p for folder in ("tests/goldens", "tests/notes", "examples") for p in sorted((ROOT / folder).rglob("*.rx"))]
Programs = Iterator[tuple[str, str]]


MAKERS = {
    "random": lambda seed: random_programs.Maker(seed).source,
    "small": lambda seed: small_programs.Maker(seed).program() + small_programs.LIBRARY,
    "loops": lambda seed: random_shape_loops.Maker(seed).source,
}


@pytest.mark.parametrize("make", MAKERS)
def test_every_witness_of_a_random_program_is_a_run_that_fails_there(make: str) -> None:
    for case in fuzz.cases(f"witnesses, {make}"):
        with case as seed:
            text = MAKERS[make](seed)
            assert replay.wrong_witnesses(text) == [], text


def in_a_turn() -> Programs:
    for name, (text, _) in IN_A_TURN.items():
        yield name, text


def in_documents() -> Programs:
    for path in DOCUMENTS:
        for block in blocks(path.read_text()):
            if block.kind == "rx" and "fragment" not in block.says:
                yield f"{path.name}:{block.line}", block.text


def bugs() -> Programs:
    for line in (CASES / "shape_bugs.jsonl").read_text().splitlines():
        row = json.loads(line)
        yield row["id"], shape_bugs.program(row)


def calls() -> Programs:
    for row in CALLS:
        yield row["id"], call_of(row)


def found_wrong() -> Programs:
    for path in sorted((*(CASES / "wrong").glob("*.rx"), *(CASES / "wrong" / "messages").glob("*.rx"))):
        yield path.name, path.read_text()


@pytest.mark.parametrize("programs", [in_a_turn, in_documents], ids=lambda f: f.__name__)
def test_every_witness_of_a_program_is_a_run_that_fails_there(programs: object) -> None:
    assert callable(programs)
    assert [(name, wrong) for name, text in programs() if (wrong := replay.wrong_witnesses(text))] == []


@pytest.mark.skipif(not CASES.exists(), reason="the folder with the cases is not beside the project")
@pytest.mark.parametrize("programs", [bugs, calls, found_wrong], ids=lambda f: f.__name__)
def test_every_witness_of_a_known_case_is_a_run_that_fails_there(programs: object) -> None:
    assert callable(programs)
    assert [
        (name, wrong) for name, text in programs() if (wrong := replay.wrong_witnesses(text, CASES / "wrong"))
    ] == []


def test_every_witness_of_a_file_is_a_run_that_fails_there() -> None:
    assert [(p.name, wrong) for p in FILES if (wrong := replay.wrong_witnesses(p.read_text(), p.parent))] == []


# Programs that may fail in a turn, and the witness: the sizes of a first turn.
IN_A_TURN = {
    "an index": (
        "@f = fn(x : Tensor([n, d], float32)) { for i in range(n) stack (y : Tensor([d], float32)) { x[i + 1] } }",
        {"n": 1, "d": 1, "i": 0},
    ),
    "a body": (
        "@f = fn(x : Tensor([n], float32), w : Tensor([m], float32), k : Size) { for i in range(k) with (a = x) { a + w } }",
        {"n": 2, "m": 3, "k": 1, "i": 0},
    ),
    "a range that begins elsewhere": (
        "@f = fn(x : Tensor([n], float32), k : Size) { for i in range(k, n) stack (y : float32) { x[i - 2] } }",
        {"k": 0, "n": 1, "i": 0},
    ),
    "a loop in a loop": (
        "@f = fn(x : Tensor([n], float32)) { for i in range(n) stack (y : float32) {\n"
        " let z = for j in range(i, n) stack (w : float32) { x[i + j + 1] }\n @sum(z) } }",
        {"n": 1, "i": 0, "j": 0},
    ),
    "a carried size": (
        "@f = fn(x : Tensor([n], float32)) where n >= 1 {\n"
        " while (k > 1) with (k : Size = n, y : Tensor([k], float32) = x) where k >= 1 { (k // 2, y[0:k - k // 2]) } }",
        {"n": 3, "k": 3},
    ),
    "a condition of the data": (
        "@f = fn(x : Tensor([n], float32), w : Tensor([m], float32), go : bool) {\n"
        " while (go) with (y = x, go : bool = go) { (y + w, go) } }",
        None,
    ),
    "behind what may fail": (
        "@f = fn(x : Tensor([n], float32), w : Tensor([m], float32), k : Size) {\n"
        " for i in range(k) with (a = x) { let b = a + w\n a[i:i + n] } }",
        {"n": 2, "m": 3, "k": 1, "i": 0},
    ),
    "never in the first turn": (
        "@f = fn(x : Tensor([n], float32), k : Size) where k >= 0, n >= 1 { for i in range(k) stack (y : float32) { x[i] } }",
        None,
    ),
}


@pytest.mark.parametrize("name", IN_A_TURN)
def test_a_witness_in_a_turn_is_a_first_turn_that_fails(name: str) -> None:
    text, wanted = IN_A_TURN[name]
    found = [
        d.witness for d in pipeline.check_text(text, "x.rx", ROOT).diagnostics if d.severity in ("warning", "error")
    ]
    assert found and [w for w in found if w] == [wanted] * (wanted is not None)


def test_a_witness_that_no_run_shows_is_noticed() -> None:
    text = "@f = fn(x : Tensor([n], float32)) : Tensor {\n  @reshape(x, [n // 2, 2])\n}\n"
    report = pipeline.check_text(text, "noticed.rx", ROOT)
    (said,) = [d for d in report.diagnostics if d.code == "W311"]
    assert said.witness == {"n": 1} and report.checked is not None
    run = replay.Replay(report.checked, text)
    assert replay.replayed(run, said) is None
    assert replay.replayed(run, replay.with_witness(said, {"n": 2})) is not None


# Function bodies; behind what is no run gets, or only with some sizes.
HIDDEN = {
    "an error": "let a = @concat([x, @ones([2, 2])], axis=0); @reshape(x, [2, -1])",
    "an error in an arm that the data decides": (
        "let a = if (@sum(x) > 1.0) { @reshape(x, [n + 1]) } else { x }; @reshape(x, [2, -1])"
    ),
    "a function in which something may fail": "let a = @odd(x); @reshape(x, [2, -1])",
    "a function that calls one in which something may fail": "let a = @calls_odd(x); @reshape(x, [2, -1])",
    "a list of implementations that the run chooses from": "let a = @some(@any(x)); @reshape(x, [2, -1])",
}
LIBRARY = """
extern @any = fn(x : Tensor) : Tensor = "numpy:asarray"
@odd = fn(x : Tensor([n], float32)) : Tensor([n], float32) { let y = @reshape(x, [n // 3, 3]); x }
@calls_odd = fn(x : Tensor([n], float32)) : Tensor([n], float32) { @odd(x) }
@one = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x }
@two = fn(x : Tensor([n, m], float32)) : Tensor([n, m], float32) { x }
@some = [@one, @two]
"""


@pytest.mark.parametrize("body", HIDDEN.values(), ids=HIDDEN)
def test_behind_what_may_fail_no_witness_is_shown(body: str) -> None:
    text = f"@f = fn(x : Tensor([n], float32)) : Tensor {{ {body} }}{LIBRARY}"
    report = pipeline.check_text(text, "hidden.rx", ROOT)
    (said,) = [d for d in report.diagnostics if d.span.text == "@reshape(x, [2, -1])" and d.function == "@f"]
    assert said.witness is None


PASSED = {
    "an error in an arm": "let a = if (n == 1) { @reshape(x, [n + 1]) } else { x }; @reshape(x, [2, -1])",
    "a check in an arm": "let a = if (n < 4) { @reshape(x, [2, -1]) } else { x }; @reshape(x, [n // 3, 3])",
    "a divisor that may be 0": "let a : Tensor([n * 6 // n // 6 * n]) = x; @reshape(x, [2, -1])",
    "a lambda that nobody calls": "let a = fn(z : Tensor([k])) : Tensor { @reshape(z, [3, -1]) }; @reshape(x, [2, -1])",
    "a function that holds whatever comes": "let a = @one(x); @reshape(x, [2, -1])",
}


@pytest.mark.parametrize("body", PASSED.values(), ids=PASSED)
def test_a_witness_gets_past_what_is_checked_before(body: str) -> None:
    text = f"@f = fn(x : Tensor([n], float32)) : Tensor {{ {body} }}{LIBRARY}"
    report = pipeline.check_text(text, "passed.rx", ROOT)
    (*_, said) = [d for d in report.diagnostics if d.code == "W311" and d.function == "@f"]
    assert said.witness and said.span.text == body.rpartition("; ")[2]
    assert replay.wrong_in(report, text, ROOT) == []
