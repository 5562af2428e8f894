"""Each verdict of the cheap layers, on every obligation of the programs that are at hand, is compared with z3's."""

from collections import Counter

import pytest
from rxlang import pipeline
from rxlang.simplify.solver.conditions import cond_vars, negate
from rxlang.simplify.solver.exprs import QuestionScope, read_condition
from rxlang.simplify.solver.facts import Facts
from rxlang.simplify.solver.smt import SmtSession
from support import cases, fuzz, shape_bugs, small_programs
from support.places import ROOT, TESTS

from ..simplify import test_calls
from . import test_hostile

LIMIT = 2_000_000


def called():
    return [(test_calls.program(row), ROOT) for row in cases.rows("calls.jsonl")]


def bugs():
    return [(shape_bugs.program(row), ROOT) for row in cases.rows("shape_bugs.jsonl")]


def ours():
    folders = (ROOT / "examples", TESTS / "goldens")
    paths = [path for folder in folders for path in sorted(folder.rglob("*.rx"))]
    return [(path.read_text(), path.parent) for path in paths[:: 1 if fuzz.FUZZ else 3]]


def hostile():
    return [(text, ROOT) for text, _ in test_hostile.CASES.values()]


def obligations(program, base, monkeypatch):
    """What the cheap layers decided while a program was checked: the facts that matter, the condition, the verdict."""
    found = {}
    decide = Facts.decide

    def noted(self, cond):
        verdict = decide(self, cond)
        if not isinstance(cond, bool) and verdict.by in ("normal-form", "facts", "points"):
            facts = [c for c, _ in self._facts]
            known = tuple(facts if verdict.kind == "vacuous" else beside_it(facts, cond))
            found.setdefault((known, cond, verdict.kind), verdict)
        return verdict

    monkeypatch.setattr(Facts, "decide", noted)
    pipeline.check_text(program, "here.rx", base)
    monkeypatch.undo()
    return list(found)


def beside_it(facts, cond):
    """The facts that share variables with a condition, directly or through others."""
    reached, kept, before = set(cond_vars(cond)), set(), -1
    while len(kept) > before:
        before = len(kept)
        for at, fact in enumerate(facts):
            if at not in kept and (not cond_vars(fact) or not reached.isdisjoint(cond_vars(fact))):
                kept.add(at)
                reached |= cond_vars(fact)
    return [facts[at] for at in sorted(kept)]


def contradicts(session, known, cond, kind):
    """Does z3 see that the verdict is wrong?"""
    yes, no = session.solve(known, [cond, negate(cond)], values=False)
    if kind == "proved":
        return no is True
    if kind == "refuted":
        return yes is True
    if kind == "vacuous":
        return yes is True or no is True
    return False in (yes, no) and session.solve(known, [True], values=False) == [True]


@pytest.mark.parametrize("programs", [called, bugs, ours, hostile], ids=lambda f: f.__name__)
def test_no_verdict_about_a_program_differs_from_that_of_z3(programs, monkeypatch):
    seen = sum((compare(program, base, monkeypatch) for program, base in programs()), Counter())
    assert seen["proved"] >= 5 and seen["open"] >= 5


def test_no_verdict_about_a_random_program_differs_from_that_of_z3(monkeypatch):
    seen = Counter()
    for case in fuzz.cases("verdicts"):
        with case as seed:
            seen += compare(small_programs.Maker(seed).program() + small_programs.LIBRARY, ROOT, monkeypatch)
    assert seen["proved"] >= 5 and seen["open"] >= 5


def compare(program, base, monkeypatch):
    """The verdicts by their kinds, none of which z3 sees to be wrong."""
    seen = Counter()
    sessions = {}  # of two functions one may have an integer of any sign by the name that a size has in the other
    for known, cond, kind in obligations(program, base, monkeypatch):
        names = (v for c in (cond, *known) for v in sorted(cond_vars(c)))
        signed = frozenset(v for v in names if not v.nonneg)
        session = sessions.setdefault(signed, SmtSession(LIMIT))
        assert not contradicts(session, known, cond, kind), (program, known, cond, kind)
        seen[kind] += 1
    return seen


@pytest.mark.parametrize("name", ["prove.jsonl", "prove_hard.jsonl"])
def test_no_answer_to_a_question_differs_from_that_of_z3(name):
    session, compared = SmtSession(LIMIT), 0
    for row in cases.rows(name):
        scope, facts = QuestionScope(), Facts()
        assumed = [read_condition(text, scope) for text in row["assume"]]
        for cond in assumed:
            facts.assume(cond)
        goal = read_condition(row["goal"], scope)
        verdict = facts.judge(goal)
        if not isinstance(goal, bool) and verdict.by in ("normal-form", "facts", "points"):
            assert not contradicts(session, assumed, goal, verdict.kind), row["id"]
            compared += 1
    assert compared >= 15
