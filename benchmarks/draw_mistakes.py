"""Draws the corpora of mistakes once more: programs and operators to rows of (program, operator, seed).

    python benchmarks/draw_mistakes.py [--held-out]

The rows are stored, and fixed: they were drawn before the mends that they measure. This is how, for somebody who wants others:
with the same programs and operators, and a checker that says something about the same mutants, it gives the same rows.
"""

import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(held_out):
    """Prints the rows."""
    sys.path.insert(0, str(ROOT / "tests"))
    mistakes, grader = import_module("support.mistakes"), import_module("support.mend_grader")
    folder = ROOT / "benchmarks" / "held_out" if held_out else ROOT / "tests" / "data" / "architectures"
    count, first_seed = (60, 1000) if held_out else (100, 0)
    programs = mistakes.read_programs(folder)

    def is_wrong(program, text):
        return grader.says_something(text) and grader.changes_what_runs(programs[program], text)

    print(mistakes.written(mistakes.drawn(programs, count, first_seed, is_wrong), programs), end="")


if __name__ == "__main__":
    main("--held-out" in sys.argv)
