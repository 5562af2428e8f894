"""The facts about sizes at a place in a program, which entail, exclude or leave open a condition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ...lang.node import replace
from . import points
from .conditions import (
    AllOf,
    Cond,
    Condition,
    Eq0,
    Ge0,
    Ne0,
    all_of,
    cond_vars,
    eq0,
    ge0,
    negate,
    substitute_cond,
)
from .ledger import Ledger
from .search import NEAR, Search, Verdict
from .sizes import only_var, single_var
from .solved import Point, degree, solve_equation
from .terms import Allowance, Bounds, Size, Term, TooLarge, Var, bounds, of_atom, spent, substitute, variables
from .trail import Indexed, Table, Trail, solution_vars

LAYERS = ("ground", "normal-form", "facts", "points", "z3", "unknown", "stopped", "unasked")
_UNKNOWN = Verdict("unknown", "unknown")
_NEVER_ASKED = (-1, _UNKNOWN)
_OPPOSITE = {"proved": "refuted", "refuted": "proved"}
_GROUND = {True: Verdict("proved", "ground"), False: Verdict("refuted", "ground")}
_MOST_DEGREE = 4
_TRIES = 80
# Steps for one question by the cheap layers and by all of them, for learning a fact, and for a point to show.
_CHEAP, _SEARCH, _LEARNING, _SHOWING = 16_000, 150_000, 40_000, 60_000
_LEAST = 300  # the steps for a fact or a question when the program's budget is spent
_NEVER = Ge0(Term({(): -1}))
Fact = tuple[Condition, object]


class Facts:
    """A stack of assumed conditions."""

    def __init__(self) -> None:
        self.trail = Trail()
        self._facts: list[Fact] = []
        self._said: Table[Condition, None] = Table(self.trail)
        # Answers with the version of the facts they rest on; each change gives a new version.
        self._answers: dict[Condition, tuple[int, Verdict]] = {}
        self._version = self._newest = 0
        self._shown = Indexed(self.trail, solution_vars)
        self._state = Ledger(self.trail)
        self._search = Search(self._state)
        self._possible: bool | None = True  # whether a satisfying point exists, as far as asked; None: ask again
        self._scopes: list[tuple[int, int, bool | None, tuple[Point, int], bool, int]] = []
        self._complete = True  # whether every fact was learnt: then a point of the state satisfies all facts
        self.counts: dict[str, int] = dict.fromkeys(LAYERS, 0)

    # ------------------------------------------------------------ assuming

    def assume(self, cond: Cond, reason: object = None) -> None:
        """Assume the condition from here on."""
        if cond is True or cond in self._said:
            return
        mask = self._said_now(cond, reason)
        if self._put(cond, mask):
            return
        if spent():  # only its existence is recorded
            self._complete = False
            return
        self._state.push()
        mark = len(self.trail.steps)
        try:
            with Allowance(_LEARNING, _LEAST):
                if cond is not False:
                    self._show(cond)
                self._state.learn(cond, mask)
        except TooLarge:
            self.trail.back(mark)
            self._state.pop()
            self._complete = False
        else:
            self._state.keep()

    def rename(self, old: Var, new: Term) -> None:
        """Assume `old == new`; usually nothing is known of the variable `new` yet, so that nothing has to be derived."""
        self.assume(Eq0(Term({(old,): -1, (only_var(new),): 1})))

    def _put(self, cond: Cond, mask: int) -> bool:
        """Record `v == 8` or `v == w` directly if nothing is known of v yet; nothing has to be derived then."""
        solution = solve_equation(cond.term) if type(cond) is Eq0 and len(cond.term.mons) <= 2 else None
        if solution is None or not self._state.is_new(solution[0]):
            return False
        v, value = solution
        if v in self._shown or self._shown.homes.get(v):
            return False
        w = single_var(value)
        if w is not None and w in self._state.solved:
            value, mask = self._state.solved[w], mask | self._state.masks[w]
            if self._shown.get(w) != value:
                return False
            w = single_var(value)
        if value < 0 if isinstance(value, int) else w is None or w in self._shown or (v.nonneg and not w.nonneg):
            return False
        self._shown[v] = self._state.solved[v] = value
        self._state.masks[v] = mask
        return True

    def _said_now(self, cond: Cond, reason: object) -> int:
        """Record one more fact and return its bit."""
        mask = 1 << len(self._facts)
        self._possible = None
        self._version = self._newest = self._newest + 1
        if not isinstance(cond, bool):
            self._said[cond] = None
        self._facts.append((_NEVER if isinstance(cond, bool) else cond, reason))
        return mask

    def push(self) -> None:
        """Open a scope."""
        place = self._search.standing.place
        said, steps = len(self._facts), len(self.trail.steps)
        self._scopes.append((said, steps, self._possible, place, self._complete, self._version))
        self._state.push()

    def pop(self) -> None:
        """Forget the assumptions since the matching push."""
        count, mark, self._possible, self._search.standing.place, self._complete, self._version = self._scopes.pop()
        self.trail.back(mark)
        self._state.pop()
        del self._facts[count:]

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Abandon the work within, and close its scopes, if it takes too many steps."""
        scopes = len(self._scopes)
        try:
            with Allowance(_SHOWING, _LEAST):
                yield
        except TooLarge:
            while len(self._scopes) > scopes:
                self.pop()

    @property
    def contradictory(self) -> bool:
        """Whether the cheap layers see that no sizes satisfy all facts."""
        return self._state.contradiction is not None

    @property
    def count(self) -> int:
        """The number of facts."""
        return len(self._facts)

    def conditions(self, start: int = 0) -> tuple[tuple[Cond, object], ...]:
        """The facts with their reasons, in the order of assumption, from number `start` on."""
        return tuple((False if c is _NEVER else c, reason) for c, reason in self._facts[start:])

    def _show(self, cond: Condition) -> None:
        """Keep an equation as a substitution in the user's own variables."""
        if type(cond) is AllOf:
            for part in cond.parts:
                self._show(part)
        if type(cond) is not Eq0:
            return
        term = substitute(cond.term, self._shown)
        solution = solve_equation(term) if type(term) is Term else None
        if solution is None or (type(solution[1]) is Term and degree(solution[1]) > _MOST_DEGREE):
            return
        v, value = solution
        for w in self._shown.mentioning(v):
            self._shown[w] = substitute(self._shown[w], {v: value})
        self._shown[v] = value

    # ------------------------------------------------------------ asking

    def simplify(self, size: Size) -> Size:
        """The size in representative variables: constants first, then older variables."""
        solved = self._state.solved
        try:
            with Allowance(_CHEAP, _LEAST):
                now = substitute(size, self._shown)
                return substitute(now, {v: solved[v] for v in variables(now) if isinstance(solved.get(v), int)})
        except TooLarge:
            return size

    def number(self, v: Var) -> int | None:
        """The number that facts directly give for a variable."""
        value = self._state.solved.get(v)
        return value if isinstance(value, int) else None

    def bounds(self, size: Size) -> Bounds:
        """A range that contains the size."""
        try:
            with Allowance(_CHEAP, _LEAST):
                return bounds(substitute(size, self._state.solved), self._state.ranges)
        except TooLarge:
            return None, None

    def decide(self, cond: Cond) -> Verdict:
        """Return whether the facts entail the condition, exclude it, or leave it open."""
        if cond is True or cond is False:
            self.counts["ground"] += 1
            return _GROUND[cond]
        known = _UNKNOWN if spent() else self._known(cond)
        if known is not None:
            self.counts[known.by] += 1
            return known
        stopped, unasked = self._search.stopped, self._search.unasked
        verdict = self._decide(cond)
        by = "unasked" if verdict.kind == "unknown" and self._search.unasked > unasked else verdict.by
        self.counts["stopped" if self._search.stopped > stopped else by] += 1
        if verdict is not _UNKNOWN:
            self._answers[cond] = self._version, verdict
        return verdict

    def _known(self, cond: Condition) -> Verdict | None:
        """An answer to the question or its opposite since the last fact, if there is one."""
        version, verdict = self._answers.get(cond, _NEVER_ASKED)
        if version == self._version:
            return verdict
        if type(cond) is Eq0 or type(cond) is Ne0:
            opposite = Ne0(cond.term) if type(cond) is Eq0 else Eq0(cond.term)
            version, verdict = self._answers.get(opposite, _NEVER_ASKED)
            if version == self._version:
                return replace(verdict, kind=_OPPOSITE.get(verdict.kind, verdict.kind), witness=None)
        return None

    def _decide(self, cond: Condition) -> Verdict:
        try:
            with Allowance(_CHEAP, _LEAST):
                found = self._plainly(cond)
            if isinstance(found, Verdict):
                return found
            with Allowance(_SEARCH):
                return self._search.verdict(*found, self._complete)
        except TooLarge:
            return _UNKNOWN

    def _plainly(self, cond: Condition) -> Verdict | tuple[Condition, int]:
        """The answer from normal forms and ranges; if there is none, the question in the remaining variables and the facts
        that this rests on."""
        state = self._state
        if state.contradiction is not None:
            return Verdict("vacuous", "facts", None, state.contradiction)
        vars_ = cond_vars(cond)
        mask = state.used_by(vars_)
        plain = substitute_cond(cond, state.solved)
        if isinstance(plain, bool):
            return Verdict("proved" if plain else "refuted", "normal-form", None, mask)
        if plain in state.lits:
            return Verdict("proved", "facts", None, mask | state.lits[plain])
        if not state.ranges.keys().isdisjoint(cond_vars(plain)):
            folded = substitute_cond(plain, {}, state.ranges)
            if isinstance(folded, bool) or folded != plain:
                mask |= state.spanned_by(cond_vars(plain))
            if isinstance(folded, bool):
                return Verdict("proved" if folded else "refuted", "facts", None, mask)
            plain = folded
        return plain, mask

    def rest(self) -> None:
        """Release the answers and z3's data for these facts; later questions build them again."""
        self._search.rest()
        self._answers.clear()

    # ------------------------------------------------------------ reasons

    def core(self, cond: Cond) -> tuple[object, ...]:
        """Return the reasons of as few facts as a limited search finds sufficient to prove or refute the condition.

        This repeats the decision many times, so it is for diagnostics only.
        """
        if isinstance(cond, bool):
            return ()
        verdict = self._decide(cond)
        facts = self._resting(verdict.mask)
        if not _gives(facts, cond, verdict.kind):
            return _reasons(facts)
        tries, chunk = _TRIES, len(facts)
        while chunk and tries > 0:
            at = len(facts) - chunk
            while at > -chunk and tries > 0:
                fewer = facts[: max(at, 0)] + facts[at + chunk :]
                tries -= 1
                if _gives(fewer, cond, verdict.kind):
                    facts = fewer
                at -= chunk
            chunk = min(chunk, len(facts)) // 2
        return _reasons(facts)

    def _resting(self, mask: int) -> list[Fact]:
        found = []
        while mask:
            lowest = mask & -mask
            found.append(self._facts[lowest.bit_length() - 1])
            mask ^= lowest
        return found

    # ------------------------------------------------------------ points

    def satisfiable(self) -> bool | None:
        """Whether some point satisfies all facts; None if unknown."""
        if self._state.contradiction is not None:
            return False
        if self._possible is None:
            try:
                with Allowance(_SEARCH):
                    self._possible = self._satisfied()
            except TooLarge:
                return None
        return self._possible

    def _satisfied(self) -> bool | None:
        if self._complete and len(self._state.lits) > NEAR and self._search.standing.now() is not None:
            return True
        found = [self._search.point(part) for part in self._state.parts()]
        if any(isinstance(p, int) for p in found):
            return False
        return None if None in found or not self._complete else True

    def judge(self, cond: Cond) -> Verdict:
        """Decide with all facts: `vacuous` if they contradict each other, and a complete witness."""
        verdict = self.decide(cond)
        if verdict.by == "ground" and not self.contradictory:
            verdict = Verdict(verdict.kind, "normal-form")
        if verdict.kind in ("proved", "refuted"):
            return Verdict("vacuous", "facts") if self.satisfiable() is False else verdict
        if verdict.kind == "open":
            whole = self._everywhere(verdict.witness) if verdict.witness is not None else self._anywhere(negate(cond))
            if whole is None:
                return Verdict("vacuous", "facts") if self.satisfiable() is False else Verdict("unknown", "unknown")
            return Verdict("open", verdict.by, whole)
        return verdict

    def _anywhere(self, wish: Cond) -> Point | None:
        """A witness with values for all variables, for a verdict without one."""
        try:
            with Allowance(_SHOWING):
                return self._found_anywhere(wish)
        except TooLarge:
            return None

    def _found_anywhere(self, wish: Cond) -> Point | None:
        now = substitute_cond(wish, self._state.solved)
        point: Point | int | None = self._search.standing.where(now)
        if point is None:
            child = self._state.copy()
            child.learn(now, 0)
            point = self._search.point(child)
        return self._everywhere(self._search.shown(point)) if isinstance(point, dict) else None

    def _everywhere(self, witness: Point) -> Point | None:
        """The witness extended to the variables unrelated to the question."""
        try:
            with Allowance(_SHOWING):
                return self._found_everywhere(witness)
        except TooLarge:
            return None

    def _found_everywhere(self, witness: Point) -> Point | None:
        conds = [c for c, _ in self._facts]
        if points.holds_given(conds, witness):
            return witness
        child = self._state.copy()
        for v, x in witness.items():
            child.learn(eq0(of_atom(v) - x), 0)
        found = self._search.point(child)
        if not isinstance(found, dict):
            return None
        whole = {**self._search.shown(child.complete(found)), **witness}
        for c in conds:
            for v in cond_vars(c):
                whole.setdefault(v, 0)
        return {v: whole[v] for v in sorted(whole)} if points.holds(conds, whole) else None

    def witness(self, cond: Cond, wanted: bool, at_least_one: Iterable[Size] = ()) -> Point | None:
        """The smallest point that satisfies the facts and makes the condition `wanted`; sizes from 1 are preferred."""
        try:
            with Allowance(_SHOWING):
                found = self._found_smallest(cond, wanted, at_least_one)
        except TooLarge:
            return None
        return found if found is None or self._complete else self._everywhere(found)

    def _found_smallest(self, cond: Cond, wanted: bool, at_least_one: Iterable[Size]) -> Point | None:
        state = self._state
        goal = substitute_cond(cond if wanted else negate(cond), state.solved)
        if goal is False or self.satisfiable() is False:
            return None
        lively = all_of(*(ge0(substitute(s, state.solved) - 1) for s in at_least_one))
        if goal is not True and state.near(goal, NEAR) is not None:
            return self._witness_nearby(cond, goal, lively)
        part = state.part(goal, lively) if goal is not True else state.copy()
        conds = list(part.lits)
        for wish in (all_of(goal, lively), goal) if lively is not True else (goal,):
            found = self._search.smallest(part, wish)
            if found is not None and points.holds_given([*conds, wish], found):
                return self._search.shown(found)
        return None

    def possible(self, cond: Cond) -> bool:
        """Whether some point surely satisfies the facts and the condition."""
        try:
            with Allowance(_SHOWING):
                now = substitute_cond(cond, self._state.solved)
                if now is False or self._state.contradiction is not None:
                    return False
                found = self._search.standing.now() if now is True else self._search.standing.where(now)
        except TooLarge:
            return False
        return (found is not None and self._complete) or self.witness(cond, True) is not None

    def _witness_nearby(self, asked: Cond, goal: Condition, lively: Cond) -> Point | None:
        """A point as small as possible near the question, with values only there."""
        for wish in dict.fromkeys((all_of(goal, lively), goal)):
            point = None if isinstance(wish, bool) else self._search.standing.where(wish)
            if point is not None:
                beside = self._search.standing.beside(cond_vars(wish), point)
                found = self._search.smallest(beside, wish)
                if found is not None and points.holds_given([*beside.lits, wish], found):
                    return self._state.told(found, cond_vars(asked))
        return None


def _gives(facts: list[Fact], cond: Condition, kind: str) -> bool:
    """Whether these facts alone give the verdict."""
    alone = Facts()
    for fact, _ in facts:
        alone.assume(fact)
    return alone.decide(cond).kind == kind


def _reasons(facts: list[Fact]) -> tuple[object, ...]:
    """Each reason once."""
    return tuple({id(reason): reason for _, reason in facts if reason is not None}.values())
