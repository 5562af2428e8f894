"""Programs that mean the same are told the same: renamed, split over files, with something unused in them."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from support import metamorphic as meta

RUNS = int(os.environ.get("RX_FUZZ", "60"))
# Of the programs that are drawn so many may be told something else, because reasoning about them met its allowance.
AT_A_BUDGET = 0.005
# More steps than these take a program to its allowance.
STEPS = 150_000


def pair(seed: int, change: meta.Change, folder: Path) -> tuple[str, meta.Said, meta.Said] | None:  # type: ignore[name-defined]
    text = meta.program(seed)
    changed = change(text, random.Random(seed))
    if changed is None:
        return None
    for name, content in changed.files:
        (folder / name).write_text(content)
    return changed.text, meta.said(meta.Changed(text), folder), meta.said(changed, folder)


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
