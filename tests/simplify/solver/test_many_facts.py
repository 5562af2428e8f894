"""Programs of many facts that hang together: what checking them costs grows as they do, and its answers stay right."""

import importlib.util
from pathlib import Path

import pytest
from rxlang import pipeline
from support import nested_sizes
from support.places import ROOT


def programs():
    spec = importlib.util.spec_from_file_location("facts_benchmark", ROOT / "benchmarks" / "facts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.KINDS


KINDS = programs()


def check(text):
    return pipeline.check_text(text, "many.rx", Path("."))


def calls_made(text):
    """How many Python functions checking a program calls."""
    return nested_sizes.counted(check, text)[1]


@pytest.mark.parametrize("kind", KINDS)
def test_twice_the_facts_cost_about_twice_as_much(kind):
    check(KINDS[kind](1))
    assert calls_made(KINDS[kind](80)) <= 2.7 * calls_made(KINDS[kind](40))


def test_what_follows_from_one_of_hundreds_of_facts_is_proved():
    text = KINDS["bounds"](200).replace("\n  x0\n", "\n  assert n100 <= n102 + 201\n  assert n7 < n8 + 8\n  x0\n")
    before, after = check(KINDS["bounds"](200)).counts, check(text).counts
    assert (after.residual, after.proved) == (before.residual, before.proved + 2)


def test_what_one_of_hundreds_of_facts_excludes_is_an_error_that_shows_it():
    text = KINDS["bounds"](200).replace("\n  x0\n", "\n  assert n150 > n151 + 150\n  x0\n")
    [found] = [d for d in check(text).diagnostics if d.severity == "error"]
    assert found.message == "`n150 > n151 + 150` contradicts `n150 <= n151 + 150`: no sizes satisfy both"


def test_what_one_of_hundreds_of_broadcasts_excludes_is_an_error():
    text = KINDS["broadcasts"](60).replace("\n  y60\n", "\n  assert n30 == 3 && n31 == 4\n  y60\n")
    assert [(d.code, d.span.text) for d in check(text).diagnostics if d.severity == "error"] == [
        ("E303", "assert n30 == 3 && n31 == 4")
    ]


@pytest.mark.parametrize("depth", [20])
def test_arms_within_arms_are_checked_once_each(depth):
    lines = "x"
    for i in reversed(range(depth)):
        lines = f"if (n > {i} * m) {{ {lines} * 2.0 }} else {{ x }}"
    text = f"@main = fn(x : Tensor([n], float32), y : Tensor([m], int8)) : Tensor([n], float32) {{\n  {lines}\n}}\n"
    report = check(text)
    assert report.ok and report.counts.residual == 0
    assert calls_made(text) < 65_000 * depth
