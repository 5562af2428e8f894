"""How often a help fixes a real bug as its author did, how it fares with made mistakes, and what helps cost.

    python benchmarks/helps.py [FILE.jsonl] [-v]
    python benchmarks/helps.py --mistakes [--corpus NAME] [--every N] [--show WHAT]

The bugs: of the refuted rows that come with a fixed version, for how many some offered help gives a program whose last tensor
has the same values as in the fixed version, given the same arguments. `run` counts those of which some help takes these
arguments, `best` those whose printed help is right, `any` those of whose helps one is, `fixed` those that `--fix` changes.

The mistakes: programs of real architectures, each with one mistake (tests/data/mistakes.jsonl). The program after the first
fix, and the one after `--fix`, are run beside the original at small sizes. `right`: it demands and gives what the original
does. `narrower`: some sizes without a 0 run in the original and are refused after. `one` counts mistakes with one error or
warning, `blamed` those where the first of them points to the changed line. `--show` prints cases: a number N (the first N), an
operator, a grade, or all; `--every 4` takes a quarter of the mistakes; `--corpus round_1` and the others take programs and
mistakes that the tests do not have (tests/corpora/mistakes/README.md).
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

import numpy as np
import rxlang as rx
from rxlang import pipeline
from rxlang.fixes.edits import applied
from rxlang.fixes.ranked import ranked

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT.parent / "shared" / "cases" / "shape_bugs.jsonl"

PROCESSES = 2
# How many numbers a bug's arguments may have to be run, and at how many sizes.
MOST_NUMBERS, TRIED = 200_000, 12
COLUMNS = (
    "all",
    "one",
    "blamed",
    "help",
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
    parser.add_argument("--corpus", default="own", metavar="NAME", help="own, round_1, ..., round_9")
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
    typos = _support("mistakes")
    if name not in typos.CORPORA:
        sys.exit(f"no corpus is called {name}: there are {', '.join(typos.CORPORA)}")
    corpus = typos.CORPORA[name]
    rows, texts = typos.read_mistakes(corpus)[::every], typos.read_programs(corpus)
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
    grader, typos = _support("fix_grader"), _support("mistakes")
    mutant = typos.mutated(original, row.operator, row.seed)
    verdict = grader.judged(original, mutant.text, mutant.line)
    return {"row": row, "counts": _counts(verdict), "grades": _words(verdict), "text": _told(original, mutant, verdict)}


def _support(name):
    """A module of the tests, from their folder."""
    sys.path.insert(0, str(ROOT / "tests"))
    return import_module(f"support.{name}")


def _words(verdict):
    return [grade.word for grade in (verdict.help_grade, verdict.fix_grade) if grade is not None]


def _counts(verdict):
    """What the case counts for in the columns of the table."""
    found = ["all", *["one"] * (len(verdict.diagnostics) == 1), *["blamed"] * verdict.blamed]
    for name, prefix, grade in (("help", "", verdict.help_grade), ("fix", "fix ", verdict.fix_grade)):
        if grade is not None:
            found.append(name)
            found += [f"{prefix}right"] * grade.is_right + [f"{prefix}narrower"] * bool(grade.narrower)
            found += [f"{prefix}wrong"] * _is_wrong(grade, prefix)
            found += ["refused"] * bool(grade.refused and not prefix)
    return found


def _is_wrong(grade, prefix):
    """Whether it is neither right nor narrower; a fix may leave other errors to be fixed, what --fix has written may not."""
    return not grade.is_right and not grade.narrower and not (grade.refused and not prefix)


def _told(original, mutant, verdict):
    """A case in words: the lines that differ, the diagnostics, the fix and the fix with their grades."""
    lines = _changed(original, mutant.text)
    lines += [f"{d.severity} {d.code} line {d.span.line}: {d.message}" for d in verdict.diagnostics]
    lines.append("blamed" if verdict.blamed else f"NOT BLAMED: line {mutant.line}")
    for name, text, said, grade in (
        ("help", verdict.help, verdict.help_text, verdict.help_grade),
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
        f"first fix right {total['right'] / len(cases):.0%}, narrower {total['narrower'] / len(cases):.0%}; "
        f"--fix wrong or narrower {wrong}; "
        f"one diagnostic {total['one'] / len(cases):.0%}; blamed {total['blamed'] / len(cases):.0%}"
    )
    grades = Counter(case["grades"][0] for case in cases if case["grades"] and "help" in case["counts"])
    print("grades of the first fixes: " + ", ".join(f"{word} {n}" for word, n in grades.most_common()))


def _print_row(name, cases):
    counts = Counter(found for case in cases for found in case["counts"])
    print(f"{name:<28}" + "".join(f"{counts[column]:>13}" for column in COLUMNS))


# Real bugs


def bugs(path, verbose=False):
    """Prints the table."""
    translate, values = _support("shape_bugs").program, _support("fix_grader")
    rows = {row["id"]: row for row in map(json.loads, Path(path).read_text().splitlines())}
    pairs = [(rows[row["fixes"]], row) for row in rows.values() if row.get("fixes") in rows]
    pairs = [(bug, fixed) for bug, fixed in pairs if bug["expect"] == "error"]
    counts = dict.fromkeys(("helped", "run", "best", "any", "fixed", "fix right", "fix wrong"), 0)
    seconds, checks = 0.0, 0
    for bug, fixed in pairs:
        text, wanted = translate(bug), translate(fixed)
        report = pipeline.check_text(text, "bug.rx", ROOT)
        start = time.process_time()
        found = list(ranked(report, ROOT))
        seconds += time.process_time() - start
        checks += 1
        words = [[_of_bug(values, wanted, applied(text, m.edits)) for m in ranking.fixes] for ranking in found]
        ran = [word for ranking in words for word in ranking if word != "not run"]
        best = any(ranking and ranking[0] == "right" for ranking in words)
        written, done = values.fixed(values.Source("bug.rx", text), ROOT)
        fix = _of_bug(values, wanted, written) if done else ""
        counts["helped"] += any(words)
        counts["run"] += bool(ran)
        counts["best"] += best
        counts["any"] += "right" in ran
        counts["fixed"] += bool(done)
        counts["fix right"] += fix == "right"
        counts["fix wrong"] += fix == "wrong"
        if verbose:
            first = next((ranking.fixes[0].text for ranking in found if ranking.fixes), "")
            print(
                f"{'best' if best else 'any' if 'right' in ran else 'other' if ran else '-':<6} {bug['id']}  {first} {fix}"
            )
    print(f"{len(pairs)} refuted programs with a fixed version, of which the last tensors are compared")
    for name, number in counts.items():
        print(f"{name:<10} {number:>4} {number / len(pairs):>7.1%}")
    print(f"{seconds / checks * 1e3:.1f} ms for the helps of a program")


def _of_bug(values, wanted, fixed):
    """Whether a program gives as its last tensor what the author's does, with the arguments of that one; "not run" where it
    takes other arguments, or none are found."""
    try:
        author, other = (rx.loads(_with_result(values.in_float64(text))) for text in (wanted, fixed))
    except rx.CheckError:
        return "not run"
    declared = values.functions(_with_result(values.in_float64(wanted)))["main"].fn.params
    takes = values.functions(_with_result(fixed))["main"].fn.params
    names, data = [p.name.name for p in declared], np.random.default_rng(7)
    ran = 0
    for sizes in values.assignments(values.names_of(declared), random.Random(7))[:TRIED]:
        args = values.arguments(declared, sizes, data, {})
        given = dict(zip(names, args, strict=True)) if args is not None else {}
        if not given.keys() >= {p.name.name for p in takes} or sum(np.size(a) for a in given.values()) > MOST_NUMBERS:
            continue
        was = values.run(author.main, args)
        now = values.run(other.main, [given[p.name.name] for p in takes])
        if isinstance(was, values.Refused) or isinstance(now, values.Refused):
            continue
        if not values.are_equal(was, now):
            return "wrong"
        ran += 1
    return "right" if ran else "not run"


def _with_result(text):
    """The program with its last tensor as the result of @main."""
    lines = text.rstrip().split("\n")
    assert lines[-2:] == ["  0", "}"], text
    last = next(line for line in reversed(lines[:-2]) if re.match(r"\s*(let|match_shape\()", line))
    name = re.match(r"\s*(?:let \(?(\w+)|match_shape\((\w+))", last)
    return "\n".join([*lines[:-2], f"  {name[1] or name[2]}", "}", ""])


if __name__ == "__main__":
    main()
