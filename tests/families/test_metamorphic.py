"""Programs that mean the same are told the same: renamed, split over files, with something unused in them, with calls
replaced by what is called, with weights in files."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rxlang.simplify.program import budget, shares
from support import fuzz, inlining, metamorphic as meta, small_programs, tree_changes, weights
from support.places import ROOT, TESTS

GOLDENS = sorted((TESTS / "goldens").rglob("*.rx"))
LARGER = sorted([*(ROOT / "examples").rglob("*.rx"), *(TESTS / "data" / "architectures").glob("*.rx")])
# Of the programs that are drawn so many may be told something else, because reasoning about them met its allowance.
AT_A_BUDGET = 0.005
# More steps than these take a program to its allowance: a short one has no fewer.
STEPS = budget(1) + shares({"main": 1})["main"]


def pair(seed: int, change: meta.Change, folder: Path) -> tuple[str, meta.Said, meta.Said] | None:  # type: ignore[name-defined]
    text = meta.program(seed)
    changed = change(text, random.Random(seed))
    if changed is None:
        return None
    return meta.in_a_folder(changed, folder), of_program(seed), meta.said(changed, folder)


@cache
def of_program(seed: int) -> meta.Said:  # type: ignore[name-defined]
    return meta.said(meta.Changed(meta.program(seed)))


@pytest.mark.parametrize("change", meta.SAME, ids=lambda f: f.__name__)
def test_what_changes_nothing_is_told_the_same(change: meta.Change, tmp_path: Path) -> None:  # type: ignore[name-defined]
    tried, spent = 0, []
    for case in fuzz.cases(f"metamorphic, {change.__name__}"):
        with case as seed:
            found = pair(seed, change, tmp_path)
            if found is None:
                continue
            tried += 1
            text, before, after = found
            differs = differences(before, after, change)
            if differs and max(before.steps, after.steps) > STEPS:
                spent.append(seed)
                fuzz.count(f"metamorphic, {change.__name__}", "at its budget")
            else:
                assert differs == [], text
    assert len(spent) <= max(1, AT_A_BUDGET * tried), spent


def differences(before: meta.Said, after: meta.Said, change: meta.Change) -> list[object]:  # type: ignore[name-defined]
    """What is said otherwise; a call of a function in another file has another name."""
    found: list[object] = []
    if change is meta.unused_lambda or change is meta.unused_import or change is meta.split:
        pairs = [(before.counts[2:4], after.counts[2:4])]
    else:
        pairs = [(before.counts, after.counts)]
    found += [p for p in pairs if p[0] != p[1]]
    known = {n: s for n, s in after.shapes.items() if not n.startswith("_unused")}
    found += [(n, s, known.get(n)) for n, s in before.shapes.items() if known.get(n) != s]
    one, other = ([f for f in said.found if change is not meta.split or f[1] is not None] for said in (before, after))
    if change is meta.split:
        places = sorted(f"{c} {line}" for c, line, _ in other)
        found += [p for p in places if p not in {f"{c} {line}" for c, line, _ in one}]
    else:
        found += [f for f in one if f not in other] + [f for f in other if f not in one]
    return found


@pytest.mark.parametrize("change", meta.WEAKER, ids=lambda f: f.__name__)
def test_what_may_leave_more_to_the_run_is_never_proved_against_refuted(change: meta.Change, tmp_path: Path) -> None:  # type: ignore[name-defined]
    for case in fuzz.cases(f"metamorphic, {change.__name__}"):
        with case as seed:
            found = pair(seed, change, tmp_path)
            if found is not None:
                text, before, after = found
                for a, b in ((before, after), (after, before)):
                    assert a.ok or not b.ok or b.counts[3] > 0, text


def test_a_program_that_says_something_else_is_noticed() -> None:
    text = "@main = fn(x0 : Tensor([n, 2], float32)) : Tensor {\n  let t1 = x0 + 1.0\n  let out = t1\n  out\n}\n"
    other = meta.Changed(text.replace("[n, 2]", "[n, 3]"))
    assert differences(meta.said(meta.Changed(text)), meta.said(other), meta.renamed)


# Programs of files


def files(seed: int) -> list[Path]:
    """Some of them, or all where more is tried than by default."""
    some = [*GOLDENS[seed % 10 :: 10], *LARGER[seed % 16 :: 16]]
    return [*GOLDENS, *LARGER] if fuzz.FULL else some


@pytest.mark.parametrize("change", tree_changes.SAME, ids=lambda f: f.__name__)
def test_what_changes_nothing_in_a_file_is_told_the_same(change: tree_changes.Change, tmp_path: Path) -> None:  # type: ignore[name-defined]
    wrong = []
    for path in files(tree_changes.SAME.index(change)):
        before, after = in_its_place(path, tree_changes.same), in_its_place(path, change, tmp_path)
        assert (before is None) == (after is None), path
        if before is not None and after is not None:
            wrong += [(path.name, d) for d in [tree_changes.differences(before, after, change)] if d]
    assert wrong == []


def in_its_place(path: Path, change: tree_changes.Change, *roots: Path) -> tree_changes.Told | None:  # type: ignore[name-defined]
    """What is said of a file that was changed, beside the files that it reads."""
    changed = change(path.read_text(), random.Random(path.name))
    for name, content in changed.files:
        (roots[0] / name).write_text(content)
    return tree_changes.told(changed, path.parent, roots)


@pytest.mark.parametrize("change", tree_changes.WEAKER, ids=lambda f: f.__name__)
def test_an_arm_of_a_file_is_never_proved_against_refuted(change: tree_changes.Change) -> None:  # type: ignore[name-defined]
    wrong = []
    for path in files(3):
        before, after = in_its_place(path, tree_changes.same), in_its_place(path, change)
        if before is not None and after is not None and tree_changes.contradict(before, after):
            wrong.append(path.name)
    assert wrong == []


# Calls


def test_a_call_and_the_body_of_what_it_calls_are_told_alike() -> None:
    """Where callers look into the body the same is known of every name; where they know its type alone, more is known or
    less, but nothing that was proved is refuted."""
    tried: Counter[bool] = Counter()
    for kind in ("random", "moved", "small"):
        for case in fuzz.cases(f"calls inlined, {kind}"):
            with case as seed:
                text = subject(kind, seed)
                assert text is None or wrong_inlined(text, ROOT, tried) == [], text
    found = [(path.name, wrong_inlined(path.read_text(), path.parent, tried)) for path in files(4)]
    assert [(name, wrong) for name, wrong in found if wrong] == []
    assert min(tried[True], tried[False]) >= 3


def subject(kind: str, seed: int) -> str | None:
    """A program with calls of functions of its own."""
    if kind == "small":
        return small_programs.Maker(seed).program() + small_programs.LIBRARY
    moved = meta.moved(meta.program(seed), random.Random(seed)) if kind == "moved" else None
    return meta.program(seed) if kind == "random" else moved and moved.text


def wrong_inlined(text: str, base: Path, tried: Counter[bool]) -> list[tuple[str, str]]:
    """What is told otherwise of a callee; `tried` counts calls of annotated functions and of others."""
    wrong: list[tuple[str, str]] = []
    found = list(inlining.inlined(text))[:2]
    before = tree_changes.told(tree_changes.Changed(text), base) if found else None
    for changed in found:
        after = tree_changes.told(tree_changes.Changed(changed.text), base)
        if before is None or after is None:
            continue
        tried[changed.annotated] += 1
        if tree_changes.contradict(before, after):
            wrong.append((changed.callee, "proved against refuted"))
        if not changed.annotated:
            wrong += [(changed.callee, d) for d in known_otherwise(before, after, changed.caller)]
    return wrong


def known_otherwise(before: tree_changes.Told, after: tree_changes.Told, caller: str) -> list[str]:
    now = after.shapes.get(caller, {})
    known = before.shapes.get(caller, {})
    found = [
        f"{n}: {s} {now.get(n)}"
        for n, s in known.items()
        if not alike(s, now.get(n)) and not refused_on_entry(before, s)
    ]
    return found + ([f"ok: {before.ok} {after.ok}"] if before.ok != after.ok else [])


def alike(one: Any, other: Any) -> bool:
    """Whether the same is known; a size that is said to be a number may be called by either."""
    if other is None or one[0] != other[0] or one[2:] != other[2:] or not isinstance(one[1], tuple | list):
        return bool(one == other)
    pairs = list(zip_longest(one[1], other[1]))
    return all(a == b or (a is not None and b is not None and a.isdigit() != b.isdigit()) for a, b in pairs)


def refused_on_entry(told: tree_changes.Told, shape: Any) -> bool:
    """Whether nothing is known of a name because what it is bound to never works: a callee is not looked into then."""
    return not told.ok and shape[0] == "?"


# Weights


USES = (
    "{x} + weight",
    "@matmul({x}, weight)",
    "@concat([{x}, weight], axis=0)",
    "@reshape(weight, @shape({x}))",
    "weight",
)


def with_a_weight(seed: int, folder: Path) -> tuple[str, str] | None:
    """A program with a literal tensor of which it makes something, and with that tensor as a const that is loaded."""
    text, rng = meta.program(seed), random.Random(seed)
    given = re.search(r"@main = fn\(.*?(\w+) : Tensor\(.*?\{\n", text)
    if given is None:
        return None
    shape = [rng.choice((1, 2, 3, 4)) for _ in range(rng.randint(1, 2))]
    array = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    use = f"  let weighed = {rng.choice(USES).format(x=given[1])}\n"
    literal = f"  let weight = tensor({array.tolist()}, float32)\n"
    const = f"const weight : Tensor({shape}, float32) = load({weights.in_a_file(array, seed, folder)})\n"
    head, rest = text[: given.end()], text[given.end() :]
    return f"{head}{literal}{use}{rest}", f"{const}{head}{use}{rest}"


def test_of_a_weight_in_a_file_the_same_is_known_as_of_a_literal(tmp_path: Path) -> None:
    for case in fuzz.cases("weights and literals"):
        with case as seed:
            pair = with_a_weight(seed, tmp_path)
            if pair is not None:
                before, after = (meta.said(meta.Changed(text), tmp_path) for text in pair)
                before.shapes.pop("weight", None)
                assert (before.ok, before.counts[2:4], before.shapes) == (after.ok, after.counts[2:4], after.shapes), (
                    pair[1]
                )


# Budgets


def test_hardly_a_program_meets_its_allowance() -> None:
    steps = [of_program(seed).steps for seed in range(fuzz.tries("allowances"))]
    spent = [seed for seed, taken in enumerate(steps) if taken > STEPS]
    assert len(spent) <= math.ceil(AT_A_BUDGET * len(steps)), spent
