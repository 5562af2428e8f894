"""How often a help mends a real bug as its author did, and what helps cost.

    python benchmarks/helps.py [FILE.jsonl]

Of the refuted rows that come with a fixed version: for how many some offered help gives a program whose last tensor has
the same shape as in the fixed version, at random sizes. `best` counts the help that is printed, `any` all that are offered.
"""

import json
import random
import re
import sys
import time
from importlib import import_module
from pathlib import Path

import rxlang as rx
from rxlang import pipeline
from rxlang.helps.edits import applied
from rxlang.helps.offer import offers

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT.parent / "shared" / "cases" / "shape_bugs.jsonl"
SIZES = 5


def main(path, verbose=False):
    """Prints the table."""
    translate = _translator()
    rows = {row["id"]: row for row in map(json.loads, Path(path).read_text().splitlines())}
    pairs = [(rows[row["fixes"]], row) for row in rows.values() if row.get("fixes") in rows]
    pairs = [(bug, fixed) for bug, fixed in pairs if bug["expect"] == "error"]
    counts = {"helped": 0, "best": 0, "any": 0}
    seconds, checks = 0.0, 0
    for bug, fixed in pairs:
        text, wanted = translate(bug), _shapes(translate(fixed), fixed["id"])
        report = pipeline.check_text(text, "bug.rx", ROOT)
        start = time.process_time()
        found = list(offers(report, ROOT))
        seconds += time.process_time() - start
        checks += 1
        mended = [[_shapes(applied(text, m.edits), fixed["id"]) for m in offer.mends] for offer in found]
        best = any(shapes and shapes[0] == wanted for shapes in mended)
        every = wanted is not None and any(s == wanted for shapes in mended for s in shapes)
        counts["helped"] += any(mended)
        counts["best"] += wanted is not None and best
        counts["any"] += every
        if verbose:
            print(f"{'best' if best else 'any' if every else 'other' if any(mended) else '-':<6} {bug['id']}")
    print(f"{len(pairs)} refuted programs with a fixed version")
    for name, number in counts.items():
        print(f"{name:<8} {number:>4} {number / len(pairs):>7.1%}")
    print(f"{seconds / checks * 1e3:.1f} ms for the helps of a program")


def _translator():
    """The tests' own, from their folder."""
    sys.path.insert(0, str(ROOT / "tests"))
    return import_module("support.shape_bugs").program


def _shapes(text, seed):
    """The shape of the last tensor that the program binds or matches, for some random sizes; None if it is refused."""
    try:
        module = rx.loads(_with_result(text))
    except rx.CheckError:
        return None
    params = next(f for f in module._checked.shapes if f.name == "@main").params
    random.seed(seed)
    found = []
    for _ in range(100):
        names = {p.name: random.choice((2, 4, 6, 12)) for p in params if p.sort == "Size"}
        given = {p.name: tuple(_size(d, names) for d in p.shape) for p in params if p.sort == "Tensor"}
        try:
            found.append(module.main.shapes(**given, **{p.name: names[p.name] for p in params if p.sort == "Size"}))
        except rx.ShapeError:
            continue
        if len(found) == SIZES:
            return found
    return None


def _size(dim, names):
    if isinstance(dim, int):
        return dim
    for name in re.findall(r"[A-Za-z_]\w*", dim):
        if name not in ("min", "max", "ceildiv"):
            names.setdefault(name, random.randint(2, 9))
    return eval(dim, {}, names)


def _with_result(text):
    """The program with its last tensor as the result of @main."""
    lines = text.rstrip().split("\n")
    assert lines[-2:] == ["  0", "}"], text
    last = next(line for line in reversed(lines[:-2]) if re.match(r"\s*(let|match_shape\()", line))
    name = re.match(r"\s*(?:let \(?(\w+)|match_shape\((\w+))", last)
    return "\n".join([*lines[:-2], f"  {name[1] or name[2]}", "}", ""])


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "-v"]
    main(arguments[0] if arguments else CASES, "-v" in sys.argv)
