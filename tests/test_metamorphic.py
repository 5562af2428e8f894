"""Programs that mean the same are told the same: renamed, split over files, with something unused in them, with calls
replaced by what is called, with weights in files."""

from __future__ import annotations

import math
import os
import random
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support import inlining, small_programs, tree_changes, weights
from support import metamorphic as meta

RUNS = int(os.environ.get("RX_FUZZ", "60"))
ROOT = Path(__file__).resolve().parents[1]
GOLDENS = sorted((ROOT / "tests" / "goldens").rglob("*.rx"))
LARGER = sorted([*(ROOT / "examples").rglob("*.rx"), *(ROOT / "tests" / "data" / "architectures").glob("*.rx")])
# Of the programs that are drawn so many may be told something else, because reasoning about them met its allowance.
AT_A_BUDGET = 0.005
# More steps than these take a program to its allowance.
STEPS = 150_000


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
    tried, wrong, spent = 0, [], []
    for seed in range(max(RUNS // 12, 4)):
        found = pair(seed, change, tmp_path)
        if found is not None:
            tried += 1
            text, before, after = found
            differs = differences(before, after, change)
            if differs and max(before.steps, after.steps) > STEPS:
                spent.append(seed)
            elif differs:
                wrong.append((seed, differs, text))
    assert wrong == []
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
    wrong = []
    for seed in range(max(RUNS // 12, 4)):
        found = pair(seed, change, tmp_path)
        if found is not None:
            text, before, after = found
            wrong += [
                (seed, text) for a, b in ((before, after), (after, before)) if not a.ok and b.ok and b.counts[3] == 0
            ]
    assert wrong == []


def test_a_program_that_says_something_else_is_noticed() -> None:
    text = "@main = fn(x0 : Tensor([n, 2], float32)) : Tensor {\n  let t1 = x0 + 1.0\n  let out = t1\n  out\n}\n"
    other = meta.Changed(text.replace("[n, 2]", "[n, 3]"))
    assert differences(meta.said(meta.Changed(text)), meta.said(other), meta.renamed)


# Programs of files


def files(seed: int) -> list[Path]:
    """Some of them, or all where more is tried than by default."""
    some = [*GOLDENS[seed % 5 :: 5], *LARGER[seed % 8 :: 8]]
    return some if RUNS <= 60 else [*GOLDENS, *LARGER]


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


def subjects() -> list[tuple[str, str, Path]]:
    """Programs with calls of functions of their own."""
    texts = [(path.name, path.read_text(), path.parent) for path in files(4)]
    for seed in range(max(RUNS // 8, 4)):
        texts.append((f"random {seed}", meta.program(seed), ROOT))
        moved = meta.moved(meta.program(seed), random.Random(seed))
        texts += [(f"moved {seed}", moved.text, ROOT)] if moved is not None else []
        texts.append((f"small {seed}", small_programs.Maker(seed).program() + small_programs.LIBRARY, ROOT))
    return texts


def test_a_call_and_the_body_of_what_it_calls_are_told_alike() -> None:
    """Where callers look into the body the same is known of every name; where they know its type alone, more is known or
    less, but nothing that was proved is refuted."""
    tried, wrong = {True: 0, False: 0}, []
    for name, text, base in subjects():
        found = list(inlining.inlined(text))[:2]
        before = tree_changes.told(tree_changes.Changed(text), base) if found else None
        for changed in found:
            after = tree_changes.told(tree_changes.Changed(changed.text), base)
            if before is None or after is None:
                continue
            tried[changed.annotated] += 1
            if tree_changes.contradict(before, after):
                wrong.append((name, changed.callee, "proved against refuted"))
            if not changed.annotated:
                wrong += [(name, changed.callee, d) for d in known_otherwise(before, after, changed.caller)]
    assert wrong == []
    assert min(tried.values()) >= 3


def known_otherwise(before: tree_changes.Told, after: tree_changes.Told, caller: str) -> list[str]:
    now = after.shapes.get(caller, {})
    found = [f"{n}: {s} {now.get(n)}" for n, s in before.shapes.get(caller, {}).items() if now.get(n) != s]
    return found + ([f"ok: {before.ok} {after.ok}"] if before.ok != after.ok else [])


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
    tried, wrong = 0, []
    for seed in range(max(RUNS // 6, 6)):
        pair = with_a_weight(seed, tmp_path)
        if pair is not None:
            tried += 1
            before, after = (meta.said(meta.Changed(text), tmp_path) for text in pair)
            before.shapes.pop("weight", None)
            same = (before.ok, before.counts[2:4], before.shapes) == (after.ok, after.counts[2:4], after.shapes)
            wrong += [] if same else [(seed, before, after, pair[1])]
    assert tried >= 3 and wrong == []


# Budgets


def test_hardly_a_program_meets_its_allowance() -> None:
    steps = [of_program(seed).steps for seed in range(max(RUNS // 4, 10))]
    spent = [seed for seed, taken in enumerate(steps) if taken > STEPS]
    assert len(spent) <= math.ceil(AT_A_BUDGET * len(steps)), spent
