"""A fix keeps the values: a program after the first fix computes what was meant, or no fix is offered.

Each mistake stands beside the program that was meant; both are run on the same random arguments. `--fix` writes nothing that is
not right.
"""

from __future__ import annotations

import json
from itertools import product
from typing import NamedTuple

import pytest
from rxlang.fixes.applied import fixed
from rxlang.fixes.edits import applied
from rxlang.fixes.ranked import ranked
from rxlang.lang.source import Source
from rxlang.pipeline import check_text
from support.fix_grader import grade, judged
from support.fuzz import cases, count
from support.mistakes import CORPORA, mutated, read_mistakes, read_programs
from support.places import ROOT, TESTS


class Pair(NamedTuple):
    """What was meant, the mistake, and whether only words are right."""

    meant: str
    mistake: str
    is_fixed: bool = True


def pair(meant: str, was: str, becomes: str, *, is_fixed: bool = True) -> Pair:
    assert was in meant
    return Pair(meant, meant.replace(was, becomes), is_fixed)


LOSS = """@loss = fn(x : Tensor([n, d], float32), y : Tensor([n], float32), w : Tensor([1, d], float32))
  : Tensor([], float32) {{
  {}
}}
"""
PREDICTED = "@squeeze(@linear(x, w), axis=1)"
OF_COLUMNS = {
    name: pair(LOSS.format(f"@{name}({PREDICTED}, y)"), PREDICTED, "@linear(x, w)")
    for name in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss")
}
TARGETS = """@loss = fn(logits : Tensor([b, t, v], float32), tokens : Tensor([b, t], int64)) : Tensor([], float32)
  where t >= 2 {{
  {}
}}
"""
ROWS = "@reshape(tokens[:, 1:], [b * (t - 1)])"
CHOSEN = "@negative(@mean(@take_along_axis({}, @expand_dims({}, axis={}), axis={})))"
OF_TARGETS = {
    "rows": pair(TARGETS.format(
        "let lp = @log_softmax(@reshape(logits[:, :-1], [b * (t - 1), v]))\n  "
        f"let y = {ROWS}\n  {CHOSEN.format('lp', 'y', 1, 1)}"), ROWS, "@reshape(tokens, [b * t])"),
    "nll": pair(TARGETS.format(
        f"@nll_loss(@log_softmax(@reshape(logits[:, :-1], [b * (t - 1), v])), {ROWS})"), ROWS, "@reshape(tokens, [b * t])"),
    "open": pair(TARGETS.format(
        "let lp = @log_softmax(@reshape(logits[:, :-1], [-1, v]))\n  "
        f"let y = @reshape(tokens[:, 1:], [-1])\n  {CHOSEN.format('lp', 'y', 1, 1)}"), "tokens[:, 1:]", "tokens"),
    "flattened": pair(TARGETS.format(
        "let lp = @log_softmax(@flatten(logits[:, :-1], start=0, end=1))\n  "
        f"let y = @flatten(tokens[:, 1:])\n  {CHOSEN.format('lp', 'y', 1, 1)}"), "tokens[:, 1:]", "tokens"),
    **{cut: pair(TARGETS.format(CHOSEN.format(f"@log_softmax(logits[{cut}])", "tokens[:, 1:]", 2, 2)),
                 "tokens[:, 1:]", "tokens") for cut in (":, :-1", ":, :t - 1", ":, 0:t - 1, :")},
    "logits": pair(TARGETS.format(CHOSEN.format("@log_softmax(logits[:, :-1])", "tokens[:, 1:]", 2, 2)),
                   "logits[:, :-1]", "logits"),
}  # fmt: skip
STEPS = """@steps = fn(xs : Tensor([t, d], float32)) : Tensor([{turns}, d], float32) where t >= {by} {{
  for i in range({turns}) stack (y : Tensor([d], float32)) {{ {turn} }}
}}
"""


def steps(turn: str, by: int = 1) -> Pair:
    return pair(STEPS.format(turns=f"t - {by}", by=by, turn=turn), f"t - {by}", "t")


OF_TURNS = {
    "difference": steps("xs[i + 1] - xs[i]"),
    "largest": steps("@maximum(xs[i], xs[i + 1])"),
    "two ahead": steps("xs[i + 2] - xs[i]", 2),
    "curvature": steps("xs[i + 2] - xs[i + 1] * 2.0 + xs[i]", 2),
    "named": steps("let j : Size = i + 1; xs[j] - xs[i]"),
    "one of two": pair(STEPS.format(turns="t - 1", by=1, turn="xs[i + 1] - ys[i]").replace(
        "float32))", "float32), ys : Tensor([t, d], float32))", 1), "t - 1", "t", is_fixed=False),
}  # fmt: skip
LAYER = """@layer = fn(x : Tensor([n, i], float32), w : Tensor([o, i], float32), b : Tensor([o], float32)) : {} {{
  @linear(x, w, b)
}}
"""
NORM = """@norm = fn(x : Tensor([n, t, d], float32), g : Tensor([d], float32)) : Tensor([n, t, d], float32) where d >= 1 {
  @layer_norm(x, g)
}
"""
OF_DIMENSIONS = {
    "bias": pair(LAYER.format("Tensor([n, o], float32)"), "b : Tensor([o]", "b : Tensor([i]"),
    "bias of a result that says nothing": pair(LAYER.format("Tensor"), "b : Tensor([o]", "b : Tensor([i]"),
    "weight": pair(LAYER.format("Tensor([n, o], float32)"), "w : Tensor([o, i]", "w : Tensor([o, n]"),
    "scale": pair(NORM, "g : Tensor([d]", "g : Tensor([t]"),
}
NET = """@net = fn(x : Tensor([n, {c}, 28, 28], float32), k : Tensor([8, {k}, 3, 3], float32)) : Tensor {{
  @relu(@conv2d({x}, k))
}}
"""
MOVED = "@permute_dims(x, [0, 3, 1, 2])"
OF_LAYOUTS = {
    "moved": pair(NET.format(c=1, k=1, x="x"), "(x, k)", f"({MOVED}, k)"),
    "moved, and the kernel too": Pair(NET.format(c=1, k=1, x="x"), NET.format(c=1, k=28, x=MOVED), False),
}
MHA = """@mha = fn(q : Tensor([l, n, 8], float32), k : Tensor([s, n, 8], float32)) : Tensor([l, n, 8], float32) {
  let w = @softmax(@matmul(@swapaxes(q, 0, 1), @permute_dims(k, [1, 2, 0])))
  @swapaxes(@matmul(w, @swapaxes(k, 0, 1)), 0, 1)
}

"""
MODEL = """@model = fn(x : Tensor([b, t, 8], float32), m : Tensor([b, s, 8], float32)) : Tensor([b, t, 8], float32) {
  @swapaxes(@mha(@swapaxes(x, 0, 1), @swapaxes(m, 0, 1)), 0, 1)
}
"""
CALLED = "@swapaxes(@mha(@swapaxes(x, 0, 1), @swapaxes(m, 0, 1)), 0, 1)"
OF_BATCHES = {
    "batch first": pair(MHA + MODEL, CALLED, "@mha(x, m)"),
    **{f"{made} of {q} and {k}": Pair(
        f"{MHA}@main = fn() : Tensor {{\n  @swapaxes(@mha(@swapaxes(@{made}({q}, float32), 0, 1), "
        f"@swapaxes(@{made}({k}, float32), 0, 1)), 0, 1)\n}}\n",
        f"{MHA}@main = fn() : Tensor {{\n  @mha(@{made}({q}, float32), @{made}({k}, float32))\n}}\n")
       for made, (q, k) in product(("zeros", "ones"), (("[1, 1, 8]", "[1, 23, 8]"), ("[4, 5, 8]", "[4, 7, 8]")))},
}  # fmt: skip
GROUPS = (OF_COLUMNS, OF_TARGETS, OF_TURNS, OF_DIMENSIONS, OF_LAYOUTS, OF_BATCHES)
PAIRS = {name: one for group in GROUPS for name, one in group.items()}


def first_fix(text: str) -> str | None:
    """The program after the first fix that is offered."""
    found = [o for o in ranked(check_text(text, "a.rx", TESTS), TESTS) if o.diagnostic.is_wrong and o.fixes]
    return applied(text, found[0].fixes[0].edits) if found else None


@pytest.mark.parametrize("name", PAIRS)
def test_the_first_fix_computes_what_was_meant_or_there_is_none(name: str) -> None:
    one = PAIRS[name]
    assert check_text(one.mistake, "a.rx", TESTS).diagnostics
    after = first_fix(one.mistake)
    assert (after is not None) == one.is_fixed
    assert after is None or grade(one.meant, after).is_right, after


@pytest.mark.parametrize("name", PAIRS)
def test_what_fix_writes_computes_what_was_meant(name: str) -> None:
    text, done = fixed(Source("a.rx", PAIRS[name].mistake), TESTS)
    assert not done or grade(PAIRS[name].meant, text).is_right, text


@pytest.mark.parametrize("body, never", [
    ("@nll_loss(@log_softmax(p), y)", "@cast("),
    ("@mse_loss(p, @zeros([5, 3], float32))", "@zeros([5, 3]"),
    ("@take_along_axis(p, @cast(@expand_dims(y, axis=0), int64), axis=1)", "axis=0"),
    ("p + @ones([n, 7], float32)", "@ones([n, c]"),
    ("@max_pool2d(@expand_dims(p[:2, :2], axis=[0, 1]), 3)", "pads"),
])  # fmt: skip
def test_no_fix_makes_other_values(body: str, never: str) -> None:
    text = f"@f = fn(p : Tensor([n, c], float32), y : Tensor([n], float32)) : Tensor where c >= 1 {{\n  {body}\n}}\n"
    for ranking in ranked(check_text(text, "a.rx", TESTS), TESTS):
        for fix in ranking.fixes:
            after = applied(text, fix.edits)
            assert "@slice(" not in after and "@one_hot(@cast" not in after
            assert after.count(never) == text.count(never) or never.startswith("@zeros"), after
            assert "@zeros" not in text or "@zeros([5, 3]" in after, after


def test_the_faults_that_were_reported_are_fixed_or_left_to_words() -> None:
    folder = ROOT.parent / "shared" / "cases" / "faults"
    if not folder.is_dir():
        pytest.skip("the reported programs are not here")
    never = {
        "attention_batch": "key = @zeros([1, 1,", "mse": "one_hot", "layout": "pads", "targets": "axis=0",
        "next": "{ xs[i] - xs[i] }", "bias": "where i == o",
    }  # fmt: skip
    for name, words in never.items():
        text = (folder / f"fix_{name}.rx").read_text(encoding="utf-8")
        after = first_fix(text)
        assert after is None or words not in after
        assert fixed(Source("a.rx", text), TESTS)[0] == text


# A mistake of any corpus, and what --fix makes of it

ROWS_OF = {kind: (read_mistakes(c), read_programs(c)) for kind, c in CORPORA.items()}


def test_the_first_fix_of_planted_mistakes_is_right_for_two_in_three_and_fix_writes_nothing_wrong() -> None:
    right = tried = 0
    for case in cases("values after a fix"):
        with case as seed:
            kind = list(ROWS_OF)[seed % len(ROWS_OF)]
            mistakes, programs = ROWS_OF[kind]
            row = mistakes[seed * 7 % len(mistakes)]
            mutant = mutated(programs[row.program], row.operator, row.seed)
            assert mutant is not None
            verdict = judged(programs[row.program], mutant.text, mutant.line)
            tried, right = tried + 1, right + (verdict.help_grade is not None and verdict.help_grade.is_right)
            count("values after a fix", verdict.help_grade.word if verdict.help_grade is not None else "only words")
            assert verdict.fix_grade is None or verdict.fix_grade.is_right, json.dumps(row)
    assert right >= 0.65 * tried
