"""From where to where the elements of index tensors go: what is said of sizes against runs with all small ones."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import rxlang
from rxlang import pipeline
from rxlang.simplify.solver.numbers import holds_at
from support import fuzz
from support.random_indices import Maker

SIZES = [dict(zip("nmk", sizes, strict=True)) for sizes in product(range(5), repeat=3)]


def outcome(main: Any, maker: Maker, sizes: dict[str, int], seed: int) -> str:
    """How a run ends with some data of these sizes: without an index, with indices that fit, or with others."""
    draw = np.random.default_rng(seed)
    rows = sizes.get(maker.rows) if maker.rows in sizes else int(maker.rows)
    try:
        x = draw.standard_normal((sizes["n"], sizes["m"])).astype(np.float32)
        _, index = main(x, np.ones((rows, 2), np.float32), np.zeros(sizes["k"], np.int8))
    except rxlang.ShapeError:
        return "fails"
    return "runs" if index.size else "has none"


def problems(maker: Maker, path: Path) -> list[str]:
    text, hidden = maker.programs()
    path.write_text(hidden, encoding="utf-8")
    try:
        main = rxlang.load(path, allow_empty=True).main
    except rxlang.CheckError as wrong:  # another mistake of the program
        fuzz.count("ranges of indices", "of another kind")
        return [] if "in range" not in str(wrong) else [str(wrong)]
    report = pipeline.check_text(text, "ranges.rx", Path("."))
    outcomes = [(sizes, outcome(main, maker, sizes, at)) for at, sizes in enumerate(SIZES)]
    if not report.ok:
        fuzz.count("ranges of indices", "refuted")
        said = next(d.message for d in report.diagnostics if d.severity == "error")
        return [f"refuted, and runs with {s}: {said}" for s, end in outcomes if end == "runs"]
    assert report.checked is not None
    found = next(c for c in report.checked.conditions if c.name == "@main")
    decided = bool(found.by_sizes) and not found.left
    fuzz.count("ranges of indices", "decided" if decided else "left to data")
    wrong = []
    for sizes, end in outcomes:
        accepted = all(holds_at(c.text, sizes) is not False for c in found.conditions)
        if accepted and end == "fails" and decided:
            wrong.append(f"accepted, and fails with {sizes}: {[c.text for c in found.conditions]}")
        if not accepted and end != "fails" and found.exact:
            wrong.append(f"refused, and runs with {sizes}: {[c.text for c in found.conditions]}")
    return wrong


def test_what_is_said_of_indices_is_so_for_all_small_sizes(tmp_path: Path) -> None:
    for case in fuzz.cases("ranges of indices"):
        with case as seed:
            maker = Maker(seed)
            assert problems(maker, tmp_path / f"m{seed}.rx") == [], Maker(seed).programs()[0]
