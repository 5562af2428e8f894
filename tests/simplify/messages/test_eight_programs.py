"""Eight ill-shaped programs with a symbolic batch: each one is one error, which says where the sizes come from."""

from __future__ import annotations

import os

import pytest
from rxlang import pipeline
from rxlang.cli.main import invoke
from rxlang.fixes.edits import applied
from rxlang.fixes.ranked import with_helps
from rxlang.lang.diagnostics import Diagnostic
from support.places import TESTS

EIGHT = TESTS / "goldens" / "eight"
NAMES = [path.stem for path in sorted(EIGHT.glob("*.rx"))]
# These two work on an empty batch.
ON_EMPTY = {"reshape", "heads"}


def only_diagnostic(name: str) -> Diagnostic:
    text = (EIGHT / f"{name}.rx").read_text(encoding="utf-8")
    found = pipeline.check_text(text, f"{name}.rx", EIGHT).diagnostics
    assert len(found) == 1, found
    return found[0]


def test_there_are_eight() -> None:
    assert len(NAMES) == 8


@pytest.mark.parametrize("name", NAMES)
def test_each_is_one_error_and_nothing_else(name: str) -> None:
    d = only_diagnostic(name)
    assert d.severity == "error"
    assert (d.code == "E310") == (name in ON_EMPTY)
    assert d.message.endswith("this works only on empty tensors" if name in ON_EMPTY else "this always fails")


@pytest.mark.parametrize("name", NAMES)
def test_each_says_where_a_size_comes_from(name: str) -> None:
    labels = [label.message for label in only_diagnostic(name).labels]
    assert any("comes from here" in text for text in labels) or name == "rank"
    assert name != "rank" or any("rank 3 is wanted here" in text for text in labels)


@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_help_after_which_no_error_is_left(name: str) -> None:
    text = (EIGHT / f"{name}.rx").read_text(encoding="utf-8")
    report = pipeline.check_text(text, f"{name}.rx", EIGHT)
    (helped,) = with_helps(report, EIGHT).diagnostics
    after = pipeline.check_text(applied(text, helped.edits), f"{name}.rx", EIGHT).diagnostics
    silenced = report.checked.silenced if report.checked is not None else ()
    assert helped.edits
    assert {d.code for d in after if d.severity != "note"} == {d.code for d in silenced}
    assert all(f"then {d.code} in line {d.span.line} remains" in (helped.help or "") for d in silenced)


@pytest.mark.parametrize("name", sorted(ON_EMPTY))
def test_what_works_only_on_empty_tensors_has_a_smallest_witness_that_is_not(name: str) -> None:
    witness = only_diagnostic(name).witness
    assert witness and set(witness.values()) == {1}


@pytest.mark.parametrize("name", NAMES)
def test_the_text_reads_as_in_the_gallery(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(EIGHT)
    status = invoke(["check", f"{name}.rx"])
    text = capsys.readouterr().err
    golden = EIGHT / f"{name}.out"
    if os.environ.get("RX_ACCEPT"):
        golden.write_text(text, encoding="utf-8")
    assert status == 1
    assert text == golden.read_text(encoding="utf-8"), f"RX_ACCEPT=1 pytest {__file__} accepts it"
    assert max(map(len, text.split("\n"))) <= 100
    assert text.rstrip("\n").count("\n") < 12
