"""Real shape bugs and their fixes: the bug is found, at the place where it was made, and the fix is accepted."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rxlang import pipeline
from rxlang.lang import core
from rxlang.lang.core import Status
from rxlang.lang.diagnostics import Diagnostic
from support import cases, shape_bugs

ROWS = cases.rows_if_there("shape_bugs.jsonl")
pytestmark = pytest.mark.skipif(not ROWS, reason="the folder with the cases is not beside the project")


def of_kind(*kinds: str) -> list[Any]:
    return [pytest.param(row["id"], id=row["id"]) for row in ROWS if row["kind"] in kinds]


@cache
def checked(name: str) -> tuple[str, pipeline.Report]:
    row = next(r for r in ROWS if r["id"] == name)
    text = shape_bugs.program(row)
    report = pipeline.check_text(text, "bug.rx", Path("."))
    assert not any(d.code < "E3" for d in report.diagnostics if d.severity == "error"), (text, report.diagnostics)
    return text, report


def errors(report: pipeline.Report) -> list[Diagnostic]:
    return [d for d in report.diagnostics if d.severity == "error"]


def line(diagnostic: Diagnostic) -> int:
    return diagnostic.span.line


def open_checks(report: pipeline.Report) -> list[core.Assert | core.MatchShape]:
    """The checks that stay for the run."""
    assert report.checked is not None
    found = []
    stack: list[object] = [f.body for f in report.checked.program.functions]
    while stack:
        node = stack.pop()
        if isinstance(node, core.Block):
            stack.extend(node.stmts)
        elif isinstance(node, core.Assert | core.MatchShape) and node.status is Status.RESIDUAL:
            found.append(node)
    return found


@pytest.mark.parametrize("name", of_kind("always_fails"))
def test_what_always_fails_is_one_error(name: str) -> None:
    text, report = checked(name)
    assert len(errors(report)) == 1, text
    assert report.diagnostics[0].message


# The condition that decides whether the program runs, as the signature demands it.
CONDITIONS = {"zhang-gh-ut1": "B == 128", "graten-t2-wrong": "x == y", "pyrefly-transposed-return": "N == M"}


@pytest.mark.parametrize("name", of_kind("may_fail"))
def test_what_may_fail_is_left_for_the_run_with_its_condition(name: str) -> None:
    text, report = checked(name)
    assert report.ok and report.counts.residual, text
    assert report.checked is not None
    demands = next(str(d) for d in report.checked.demands if "main" in d.name)
    assert CONDITIONS.get(name, "where") in demands


@pytest.mark.parametrize("name", of_kind("ok", "fixed", "correct"))
def test_a_fixed_program_is_accepted(name: str) -> None:
    text, report = checked(name)
    assert not errors(report), text


@pytest.mark.parametrize("name", of_kind("silent-bug"))
def test_what_runs_but_is_not_meant_gets_a_note(name: str) -> None:
    text, report = checked(name)
    assert report.ok
    assert {d.code for d in report.diagnostics} & {"N202", "N203"}, text


def blamed_right(row: dict[str, Any]) -> bool:
    text, report = checked(row["id"])
    said = [d for d in report.diagnostics if d.severity == "error"] or [
        d for d in report.diagnostics if d.code in ("W311", "N202", "N203")
    ]
    if said:
        return line(said[0]) == shape_bugs.line_of(row, text)
    # An assertion that stays for the run is silent.
    wanted = shape_bugs.line_of(row, text)
    return any(c.origin.span.line == wanted for c in open_checks(report))


def test_the_blame_is_where_the_bug_was_made() -> None:
    rows = [row for row in ROWS if "line_hint" in row]
    right = [row["id"] for row in rows if blamed_right(row)]
    print(f"blamed at the line of the bug: {len(right)} of {len(rows)}")
    print("elsewhere:", ", ".join(row["id"] for row in rows if row["id"] not in right))
    assert len(right) >= 0.9 * len(rows)


def test_one_mistake_is_one_error() -> None:
    numbers = [len(errors(checked(row["id"])[1])) for row in ROWS if row["kind"] == "always_fails"]
    mean = sum(numbers) / len(numbers)
    print(f"errors of a program that always fails: {mean:.2f}")
    assert mean <= 1.1


def answered(row: dict[str, Any]) -> bool:
    _, report = checked(row["id"])
    match row["kind"]:
        case "always_fails":
            return bool(errors(report))
        case "may_fail":
            return report.ok and report.counts.residual > 0
        case "silent-bug":
            return any(d.code in ("N202", "N203") for d in report.diagnostics)
    return not errors(report)


def test_every_kind_of_row_is_answered() -> None:
    total = Counter(row["kind"] for row in ROWS)
    right = Counter(row["kind"] for row in ROWS if answered(row))
    left = {row["id"] for row in ROWS if not answered(row)}
    for kind, number in total.items():
        print(f"{kind}: {right[kind]} of {number}")
    assert not left


VERDICTS = ("this always fails", "this works only on empty tensors", "this fails whenever that arm is taken")


def test_every_error_says_what_is_wrong_in_one_sentence() -> None:
    for row in ROWS:
        for d in errors(checked(row["id"])[1]):
            assert d.message.endswith(VERDICTS), d.message
            assert "?" not in d.message and "#" not in d.message and "out'" not in d.message, d.message
