"""How often a help mends a real bug as its author did, how it fares with made mistakes, and what helps cost.

    python benchmarks/helps.py [FILE.jsonl] [-v]
    python benchmarks/helps.py --mistakes [--corpus NAME] [--every N] [--show WHAT]

The bugs: of the refuted rows that come with a fixed version, for how many some offered help gives a program whose last tensor
has the same shape as in the fixed version, at random sizes. `best` counts the help that is printed, `any` all that are offered.

The mistakes: programs of real architectures, each with one mistake (tests/data/mistakes.jsonl). The program after the first
mend, and the one after `--fix`, are run beside the original at small sizes. `right`: it demands and gives what the original
does. `narrower`: some sizes without a 0 run in the original and are refused after. `one` counts mistakes with one error or
warning, `blamed` those where the first of them points to the changed line. `--show` prints cases: a number N (the first N), an
operator, a grade, or all; `--every 4` takes a quarter of the mistakes; `--corpus round_1` and the others take programs and
mistakes that the tests do not have (benchmarks/mistakes/README.md).
"""

import argparse
import difflib
import json
import random
import re
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path

import rxlang as rx
from rxlang import pipeline
from rxlang.helps.edits import applied
from rxlang.helps.offer import offers

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT.parent / "shared" / "cases" / "shape_bugs.jsonl"
SIZES = 5

PROCESSES = 2
COLUMNS = (
    "all",
    "one",
    "blamed",
    "mend",
    "right",
    "narrower",
    "wrong",
    "refused",
    "fix",
    "fix right",
    "fix narrower",
    "fix wrong",
)


def main():
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", default=CASES, type=Path)
    parser.add_argument("-v", dest="verbose", action="store_true", help="a line for each bug")
    parser.add_argument("--mistakes", action="store_true", help="the mistakes alone")
    parser.add_argument("--corpus", default="own", metavar="NAME", help="own, round_1, ..., round_7")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--show", metavar="WHAT")
    given = parser.parse_args()
    if given.path.exists() and not given.mistakes:
        bugs(given.path, given.verbose)
        print()
    mistakes(given.corpus, given.show, given.every)


# Made mistakes


def mistakes(name="own", show=None, every=1):
    """Prints the cases that are asked for, as they come, and a table with a line for each operator."""
    start = time.perf_counter()
    slips = _support("mistakes")
    if name not in slips.CORPORA:
        sys.exit(f"no corpus is called {name}: there are {', '.join(slips.CORPORA)}")
    corpus = slips.CORPORA[name]
    rows, texts = slips.read_mistakes(corpus)[::every], slips.read_programs(corpus)
    cases = []
    with ProcessPoolExecutor(PROCESSES) as pool:
        for number, case in enumerate(pool.map(_case, [(row, texts[row.program]) for row in rows], chunksize=5)):
            cases.append(case)
            if _is_wanted(number, case, show):
                print(f"{number:>3} {case['row'].program}, {case['row'].operator}\n{case['text']}", flush=True)
    _print_table(cases)
    print(f"{time.perf_counter() - start:.0f} s")


def _case(work):
    row, original = work
    grader, slips = _support("mend_grader"), _support("mistakes")
    mutant = slips.mutated(original, row.operator, row.seed)
    verdict = grader.judged(original, mutant.text, mutant.line)
    return {"row": row, "counts": _counts(verdict), "grades": _words(verdict), "text": _told(original, mutant, verdict)}


def _support(name):
    """A module of the tests, from their folder."""
    sys.path.insert(0, str(ROOT / "tests"))
    return import_module(f"support.{name}")


def _words(verdict):
    return [grade.word for grade in (verdict.mend_grade, verdict.fix_grade) if grade is not None]


def _counts(verdict):
    """What the case counts for in the columns of the table."""
    found = ["all", *["one"] * (len(verdict.diagnostics) == 1), *["blamed"] * verdict.blamed]
    for name, prefix, grade in (("mend", "", verdict.mend_grade), ("fix", "fix ", verdict.fix_grade)):
        if grade is not None:
            found.append(name)
            found += [f"{prefix}right"] * grade.is_right + [f"{prefix}narrower"] * bool(grade.narrower)
            found += [f"{prefix}wrong"] * _is_wrong(grade, prefix)
            found += ["refused"] * bool(grade.refused and not prefix)
    return found


def _is_wrong(grade, prefix):
    """Whether it is neither right nor narrower; a mend may leave other errors to be mended, what --fix has written may not."""
    return not grade.is_right and not grade.narrower and not (grade.refused and not prefix)


def _told(original, mutant, verdict):
    """A case in words: the lines that differ, the diagnostics, the mend and the fix with their grades."""
    lines = _changed(original, mutant.text)
    lines += [f"{d.severity} {d.code} line {d.span.line}: {d.message}" for d in verdict.diagnostics]
    lines.append("blamed" if verdict.blamed else f"NOT BLAMED: line {mutant.line}")
    for name, text, said, grade in (
        ("mend", verdict.mend, verdict.mend_text, verdict.mend_grade),
        ("fix", verdict.fix, "; ".join(verdict.fix_texts), verdict.fix_grade),
    ):
        if grade is None:
            lines.append(f"{name}: none")
        else:
            lines += [f"{name}: {said}", *_changed(mutant.text, text)]
            shown = {k: v for k, v in grade._asdict().items() if v}
            lines.append(f"  {grade.word.upper()} {', '.join(f'{k}: {v}' for k, v in shown.items())}")
    return "\n".join(f"    {line}" for line in lines)


def _changed(before, after):
    diff = difflib.unified_diff(before.split("\n"), after.split("\n"), n=0, lineterm="")
    return [f"  {line}" for line in list(diff)[2:] if not line.startswith("@@")]


def _is_wanted(number, case, show):
    if show is None or show.isdigit():
        return show is not None and number < int(show)
    return show in ("all", case["row"].operator, *case["grades"])


def _print_table(cases):
    print(f"{'':<28}" + "".join(f"{name:>13}" for name in COLUMNS))
    operators = list(dict.fromkeys(case["row"].operator for case in sorted(cases, key=lambda c: c["row"].operator)))
    for operator in operators:
        _print_row(operator, [c for c in cases if c["row"].operator == operator])
    _print_row("in all", cases)
    total = Counter(name for case in cases for name in case["counts"])
    wrong = total["fix narrower"] + total["fix wrong"]
    print(
        f"first mend right {total['right'] / len(cases):.0%}, narrower {total['narrower'] / len(cases):.0%}; "
        f"--fix wrong or narrower {wrong}; "
        f"one diagnostic {total['one'] / len(cases):.0%}; blamed {total['blamed'] / len(cases):.0%}"
    )
    grades = Counter(case["grades"][0] for case in cases if case["grades"] and "mend" in case["counts"])
    print("grades of the first mends: " + ", ".join(f"{word} {n}" for word, n in grades.most_common()))


def _print_row(name, cases):
    counts = Counter(found for case in cases for found in case["counts"])
    print(f"{name:<28}" + "".join(f"{counts[column]:>13}" for column in COLUMNS))


# Real bugs


def bugs(path, verbose=False):
    """Prints the table."""
    translate = _support("shape_bugs").program
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
    main()
