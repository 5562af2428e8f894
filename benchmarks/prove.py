"""How long questions of `rx prove` take and which layer answers them, beside z3 alone.

    python benchmarks/prove.py [FILE.jsonl]...

Times are CPU times in one process: reading (JSON and normal forms) apart from answering.
"""

import json
import sys
import time
from pathlib import Path
from statistics import median

from rxlang.simplify.solver import smt
from rxlang.simplify.solver.conditions import negate
from rxlang.simplify.solver.prove import answer, read

CASES = Path(__file__).resolve().parents[1].parent / "shared" / "cases"
LAYERS = ("normal-form", "facts", "points", "z3", "unknown")


def main(paths):
    """Prints the tables."""
    lines = [line for path in paths for line in Path(path).read_text().splitlines() if line.strip()]
    start = time.process_time()
    questions = [read(json.loads(line)) for line in lines]
    reading = time.process_time() - start
    times = {}
    wrong = 0
    for line, question in zip(lines, questions, strict=True):
        start = time.process_time()
        found = answer(question)
        times.setdefault(found.get("by", "error"), []).append(time.process_time() - start)
        wrong += found["result"] != json.loads(line).get("expect", found["result"])
    everything = [t for each in times.values() for t in each]
    print(f"{len(lines)} questions, {wrong} answered otherwise than expected")
    print(f"reading   {reading * 1e3:7.1f} ms   {reading / len(lines) * 1e6:8.1f} us a question")
    print(f"answering {sum(everything) * 1e3:7.1f} ms   {median(everything) * 1e6:8.1f} us median")
    print(f"\n{'layer':<12} {'questions':>9} {'share':>7} {'median us':>10} {'total ms':>9}")
    for layer in (*LAYERS, "error"):
        each = times.get(layer)
        if each:
            share = len(each) / len(lines)
            print(f"{layer:<12} {len(each):>9} {share:>7.1%} {median(each) * 1e6:>10.1f} {sum(each) * 1e3:>9.1f}")
    print()
    z3_alone(questions)


def z3_alone(questions):
    """The same questions, normal forms and all, asked of z3 only: twice each, for the goal and its opposite."""
    for name, make in (("fresh context", lambda: fresh), ("one context, push and pop", pushed)):
        solve = make()
        each, undecided = [], 0
        for question in questions:
            assumed = [c for c, _, _ in question.assumed]
            start = time.process_time()
            answers = solve(assumed, (question.goal, negate(question.goal)))
            each.append(time.process_time() - start)
            undecided += None in answers
        print(f"z3, {name}: {sum(each) * 1e3:9.1f} ms, median {median(each) * 1e6:8.1f} us, {undecided} undecided")


def fresh(assumed, wanted):
    """A context and a solver for each question."""
    return [smt.SmtSession().solve([*assumed, cond], [True])[0] for cond in wanted]


def pushed():
    """One context for all questions, a scope for each."""
    session = smt.SmtSession()
    return lambda assumed, wanted: [smt.SmtSolver(session, assumed).ask(cond) for cond in wanted]


if __name__ == "__main__":
    main(sys.argv[1:] or [CASES / "prove.jsonl"])
