"""Draws the corpora of mistakes once more: programs and operators to rows of (program, operator, seed).

    python tests/corpora/draw_mistakes.py [own | round_1 | ... | round_9]

The rows are stored, and fixed: they were drawn before the fixes that they measure. This is how, for somebody who wants others:
with the same programs and operators, and a checker that says something about the same mutants, it gives the same rows.
"""

import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(name):
    """Prints the rows."""
    sys.path.insert(0, str(ROOT / "tests"))
    mistakes, grader = import_module("support.mistakes"), import_module("support.fix_grader")
    corpus = mistakes.CORPORA[name]
    programs = mistakes.read_programs(corpus)

    def is_wrong(program, text):
        return grader.says_something(text) and grader.changes_what_runs(programs[program], text)

    found = mistakes.drawn(corpus, is_wrong)
    print(mistakes.written(found, programs), end="")


if __name__ == "__main__":
    main(next(iter(sys.argv[1:]), "own"))
