"""A program whose steps run out: what is still proved or refuted, and every size that is told, is what the full check says."""

from functools import cache
from pathlib import Path

import pytest
from rxlang import pipeline
from rxlang.lang import core
from rxlang.lang.core import Status
from rxlang.lang.walk import walk
from support import fuzz, hard_programs, nested_sizes, random_programs, small_programs

ROOMS = "rxlang.simplify"
# No steps for a rule, which is what asks for an outline; none for a program behind what is plain; none for a question.
BUDGETS = {
    "rules": ((f"{ROOMS}.primitives._RULE", 0), (f"{ROOMS}.primitives._LEAST", 0)),
    "programs": tuple((f"{ROOMS}.program.{n}", 0) for n in ("_BUDGET", "_LEAST_BUDGET", "_A_FUNCTION", "_ALL")),
    "walks": tuple(
        (f"{ROOMS}.program.{n}", steps)
        for n, steps in (
            ("_BUDGET", 900),
            ("_LEAST_BUDGET", 900),
            ("_WALKS", 900),
            ("_WALKS_OF_A_LINE", 0),
            ("_A_FUNCTION", 0),
            ("_ALL", 0),
        )
    ),
    "questions": ((f"{ROOMS}.solver.facts._CHEAP", 60), (f"{ROOMS}.solver.facts._SEARCH", 100)),
    "inlining": ((f"{ROOMS}.program._FUEL", 0), (f"{ROOMS}.program._LEAST_FUEL", 0)),
}
OPPOSITE = {Status.PROVED: Status.REFUTED, Status.REFUTED: Status.PROVED}
FAMILIES = {
    "any": lambda seed: random_programs.Maker(seed).source,
    "small": lambda seed: small_programs.Maker(seed).program(),
    "nested": lambda seed: nested_sizes.program(seed, 12),
    "nesting": hard_programs.small,
}
CALLS = """
@twice = fn(x : Tensor) : Tensor { @concat([x, x], axis=0) }
@main = fn(x : Tensor([n, m], float32), k : Size) : Tensor where k >= 1 {
  let a = @twice(x[1:])
  let (b, c) = @split(@pad(a, [(k, 0), (0, k)]), 2, axis=1)
  let d = @reshape(b + c, [m + k, -1])
  assert d.dim(0) == m + k
  @matmul(d, @broadcast_to(x[0:1, :], [n, m]))
}
"""


def statuses(report):
    """What became of each assertion, by where it stands and what it is."""
    found = {}
    for function in report.checked.program.functions:
        for node in walk(function):
            if isinstance(node, core.Assert | core.MatchShape):
                found.setdefault((function.name, node.span, repr(node.origin)), set()).add(node.status)
    return found


def sizes(report):
    """What is known of each name's dimensions, as far as it is a number."""
    shapes = report.checked.describe()
    return {
        (s.name, b.name, b.span): tuple(d if isinstance(d, int) else None for d in b.shape)
        for s in shapes for b in s.bindings if b.shape is not None
    }  # fmt: skip


def contradictions(full, budgeted):
    """What the one says and the other denies."""
    there, here = statuses(full), statuses(budgeted)
    for key in there.keys() & here.keys():
        if len(there[key]) == 1 and here[key] & {OPPOSITE.get(s) for s in there[key]}:
            yield key, there[key], here[key]
    # What the full check leaves open may be seen to fail where less is known of its sizes, and less to be thought about.
    still_open = {span for (_, span, _), found in there.items() if core.Status.RESIDUAL in found}
    if full.ok:  # else what is wrong may be seen at another place: where it fails first was left open
        errors = [d for d in budgeted.diagnostics if d.severity == "error"]
        yield from (d for d in errors if not any(s.start <= d.span.start and d.span.end <= s.end for s in still_open))
    known = sizes(full)
    for key, shape in sizes(budgeted).items():
        if known.get(key) is None:
            continue
        assert len(known[key]) == len(shape), key
        differ = [p for p in zip(known[key], shape, strict=True) if None not in p and p[0] != p[1]]
        if differ:
            yield key, differ


def check(text):
    return pipeline.check_text(text, "outline.rx", Path("."))


checked_in_full = cache(check)


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_is_said_where_steps_run_out_is_what_the_full_check_says(budget, monkeypatch):
    tried = 0
    for family, make in FAMILIES.items():
        for case in fuzz.cases("out of steps"):
            with case as seed:
                text = make(seed)
                full = checked_in_full(text)
                with monkeypatch.context() as patch:
                    for name, steps in BUDGETS[budget]:
                        patch.setattr(name, steps)
                    less = check(text)
                if full.checked is None or less.checked is None:
                    assert (full.checked is None) == (less.checked is None), (family, seed)
                    continue
                assert list(contradictions(full, less)) == [], (family, seed, text)
                tried += 1
    assert tried > fuzz.tries("out of steps")


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_budget_leaves_more_open_than_the_full_check(budget, monkeypatch):
    full = check(CALLS)
    for name, steps in BUDGETS[budget]:
        monkeypatch.setattr(name, steps)
    less = check(CALLS)
    assert less.counts.residual > full.counts.residual or budget == "programs"
    assert list(contradictions(full, less)) == []


def test_the_outline_of_a_call_has_the_sizes_that_it_takes_over(monkeypatch):
    monkeypatch.setattr(f"{ROOMS}.primitives._RULE", 0)
    monkeypatch.setattr(f"{ROOMS}.primitives._LEAST", 0)
    text = (
        "@f = fn(x : Tensor([n, m * 4], float32), k : Size) : Tensor {\n"
        "  let y = @concat([x[n * k + 1:], x], axis=0)\n  let z = @matrix_transpose(y)\n  z\n}\n"
    )
    [shapes] = check(text).checked.describe()
    by_name = {b.name: b.shape for b in shapes.bindings}
    assert by_name["y"] == ("?", "m * 4")
    assert by_name["z"] == ("m * 4", "?")


def test_the_outline_of_a_call_knows_which_axes_its_bounds_are_of(monkeypatch):
    """Numbers that a tensor holds are numbers there too, and its sizes have names."""
    monkeypatch.setattr(f"{ROOMS}.primitives._RULE", 0)
    monkeypatch.setattr(f"{ROOMS}.primitives._LEAST", 0)
    text = (
        "@f = fn(x : Tensor([n, m, 5], float32)) : Tensor {\n"
        "  let y = @onnx.slice(x, tensor([0]), @shape(x)[1:2] // 2, axes=tensor([1]))\n  @expand_dims(y, axis=0)\n}\n"
    )
    [shapes] = check(text).checked.describe()
    assert next(b.shape for b in shapes.bindings if b.name == "y") == ("n", "?", 5)
