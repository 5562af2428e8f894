"""`rx prove`: one question per line, as JSON, and one answer per line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from .conditions import Cond
from .exprs import ExpressionError, QuestionScope, read_condition
from .facts import Facts
from .search import Verdict, no_z3
from .terms import TooLarge

_RESULTS = {"proved": "valid", "refuted": "unsat", "open": "neither", "unknown": "unknown", "vacuous": "vacuous"}
# The last three are remarks in collections of questions; they change no answer.
_KEYS = {"id", "assume", "goal", "vars", "expect", "hard", "nonlinear"}
_LONGEST = 1_000_000


def prove_lines(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the answers, in order; an unreadable line gets an error as its answer."""
    for line in lines:
        if line.strip():
            yield prove_line(line)


def prove_line(text: str) -> dict[str, Any]:
    """Return the answer to one line."""
    if len(text) > _LONGEST:
        return _error(None, "the line is too long")
    try:
        row = json.loads(text)
    except RecursionError:
        return _error(None, "the line is nested too deeply")
    except json.JSONDecodeError as wrong:
        return _error(None, f"not JSON: {wrong}")
    except ValueError:
        return _error(None, "not JSON that can be read: a number has too many digits")
    return _error(None, "expected an object") if not isinstance(row, dict) else _answered(row)


def prove(assume: Iterable[str], goal: str) -> dict[str, Any]:
    """Return the answer to one question; repeated assumptions count once."""
    return _answered({"assume": list(dict.fromkeys(assume)), "goal": goal})


def _answered(row: dict[str, object]) -> dict[str, Any]:
    try:
        return answer(read(row))
    except ExpressionError as wrong:
        return _error(row.get("id"), str(wrong))


def _error(name: object, message: str) -> dict[str, Any]:
    return {"id": name, "result": "error", "message": message}


class Question:
    """The question of one line, in normal form."""

    __slots__ = ("assumed", "goal", "name", "owed", "scope")

    def __init__(self, name: object, scope: QuestionScope) -> None:
        self.name, self.scope = name, scope
        self.assumed: list[tuple[Cond, int, int]] = []  # each with the range of its obligations in the scope
        self.goal: Cond = True
        self.owed = 0  # the index of the goal's first obligation


def read(row: dict[str, object]) -> Question:
    """The question of one object."""
    unknown = sorted(row.keys() - _KEYS)
    if unknown:
        raise ExpressionError(f"there is no key {unknown[0]!r}; there are id, assume, goal and vars")
    assume, goal, sorts = row.get("assume", []), row.get("goal"), row.get("vars", {})
    if not isinstance(assume, list) or not all(isinstance(a, str) for a in assume):
        raise ExpressionError("'assume' must be a list of texts")
    if not isinstance(goal, str):
        raise ExpressionError("'goal' must be a text")
    if not isinstance(sorts, dict) or not all(s in ("int", "size", "Size") for s in map(str, sorts.values())):
        raise ExpressionError('\'vars\' must give "int" or "size" for a name')
    scope = QuestionScope(frozenset(name for name, sort in sorts.items() if sort == "int"))
    question = Question(row.get("id"), scope)
    for text in assume:
        before = len(scope.obligations)
        cond = _condition("assume", text, scope)
        question.assumed.append((cond, before, len(scope.obligations)))
    question.owed = len(scope.obligations)
    question.goal = _condition("goal", goal, scope)
    return question


def _condition(where: str, text: str, scope: QuestionScope) -> Cond:
    try:
        return read_condition(text, scope)
    except ExpressionError as wrong:
        raise ExpressionError(f"{where}: {wrong}") from None
    except TooLarge:
        raise ExpressionError(f"{where}: the sizes are too large") from None


def answer(question: Question) -> dict[str, Any]:
    """The answer to a question."""
    facts = Facts()
    scope = question.scope
    # conditions without obligations come first: a later assumption may bound a divisor
    for cond, start, end in question.assumed:
        if start == end:
            facts.assume(cond)
    wrong: str | None = None
    for cond, start, end in question.assumed:
        if start != end:
            wrong = wrong or _unmet(facts, scope, start, end)
            facts.assume(cond)
    wrong = wrong or _unmet(facts, scope, question.owed)
    if wrong:
        return _error(question.name, wrong)
    verdict = facts.judge(question.goal)
    result: dict[str, Any] = {"id": question.name, "result": _RESULTS[verdict.kind], "by": verdict.by}
    if verdict.kind == "open":
        result["witness"] = _named(verdict, scope)
    if verdict.kind == "unknown" and facts.counts["unasked"]:
        result["message"] = no_z3()
    return result


def _unmet(facts: Facts, scope: QuestionScope, start: int, end: int | None = None) -> str | None:
    for cond, guard, message in scope.obligations[start:end]:
        if cond is False and guard is True:
            return message  # it has no value under any assumption
        if guard is not True:
            facts.push()
            facts.assume(guard)
        kind = facts.decide(cond).kind if not facts.contradictory else "vacuous"
        if guard is not True:
            facts.pop()
        if kind not in ("proved", "vacuous"):
            return message
    return None


def _named(verdict: Verdict, scope: QuestionScope) -> dict[str, int]:
    values = verdict.witness or {}
    by_serial = {v.serial: x for v, x in values.items()}
    return {name: by_serial.get(serial, 0) for serial, name in enumerate(scope.names)}
