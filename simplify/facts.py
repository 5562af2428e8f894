"""What is known of sizes at a place in a program, and whether it entails, excludes or leaves open a condition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

from ..lang.node import Node
from . import points
from .conditions import (
    AllOf,
    Cond,
    Condition,
    Eq0,
    Ge0,
    cond_vars,
    eq0,
    evaluate_cond,
    ge0,
    negate,
    substitute_cond,
)
from .terms import (
    Bounds,
    Floor,
    Mono,
    Size,
    Term,
    Var,
    at_least,
    evaluate,
    mono_key,
    of_atom,
    substitute,
    term_vars,
    variables,
)
from .terms import bounds as term_bounds


class Verdict(Node):
    """The answer to a question, the layer that found it, and the facts that it rests on."""

    kind: str
    by: str
    witness: dict[Var, int] | None = None
    reasons: tuple[object, ...] = ()


LAYERS = ("ground", "normal-form", "facts", "points", "z3", "unknown")
_GROUND = {True: Verdict("proved", "ground"), False: Verdict("refuted", "ground")}


class _State:
    """Everything that push saves and pop restores."""

    __slots__ = ("contradiction", "count", "facts", "lits", "masks", "ranges", "shown", "solved", "spans")

    def __init__(self) -> None:
        self.facts: list[tuple[Condition, object]] = []
        self.solved: dict[Var, Size] = {}  # also in terms of made-up quotients
        self.masks: dict[Var, int] = {}  # the facts that a solution rests on
        self.shown: dict[Var, Size] = {}  # in the user's variables alone
        self.ranges: dict[Var, Bounds] = {}
        self.spans: dict[Var, int] = {}  # the facts that a range rests on
        self.lits: list[tuple[Condition, int]] = []
        self.contradiction: int | None = None
        self.count = 0

    def copy(self) -> _State:
        other = _State()
        other.facts = self.facts.copy()
        other.solved = self.solved.copy()
        other.masks = self.masks.copy()
        other.shown = self.shown.copy()
        other.ranges = self.ranges.copy()
        other.spans = self.spans.copy()
        other.lits = self.lits.copy()
        other.contradiction = self.contradiction
        other.count = self.count
        return other


class Facts:
    """A stack of assumed conditions."""

    def __init__(self) -> None:
        self._state = _State()
        self._stack: list[_State] = []
        self.counts: dict[str, int] = dict.fromkeys(LAYERS, 0)

    # ------------------------------------------------------------ assuming

    def assume(self, cond: Cond, reason: object = None) -> None:
        """From here on the condition holds."""
        state = self._state
        if cond is True:
            return
        mask = 1 << len(state.facts)
        if cond is False:
            state.facts.append((_NEVER, reason))
            state.contradiction = mask
            return
        state.facts.append((cond, reason))
        self._show(cond)
        _learn(state, cond, mask)

    def push(self) -> None:
        """Opens a scope."""
        self._stack.append(self._state)
        self._state = self._state.copy()

    def pop(self) -> None:
        """Forgets what was assumed since the matching push."""
        self._state = self._stack.pop()

    @property
    def contradictory(self) -> bool:
        """Do the cheap layers see that no sizes satisfy all facts?"""
        return self._state.contradiction is not None

    def conditions(self) -> tuple[tuple[Cond, object], ...]:
        """The facts in the order in which they were assumed, with their reasons."""
        return tuple((False if c is _NEVER else c, reason) for c, reason in self._state.facts)

    def _show(self, cond: Condition) -> None:
        if type(cond) is AllOf:
            for part in cond.parts:
                self._show(part)
        if type(cond) is not Eq0:
            return
        shown = self._state.shown
        term = substitute(cond.term, shown)
        solution = _solve(term) if type(term) is Term else None
        if solution is None:
            return
        v, value = solution
        one = {v: value}
        for w, e in shown.items():
            if type(e) is Term and v in term_vars(e):
                shown[w] = substitute(e, one)
        shown[v] = value

    # ------------------------------------------------------------ asking

    def simplify(self, size: Size) -> Size:
        """The size in terms of the variables that stand for their equals: constants first, then older variables."""
        return substitute(size, self._state.shown)

    def bounds(self, size: Size) -> Bounds:
        """A range that the size does not leave."""
        state = self._state
        return term_bounds(substitute(size, state.solved), state.ranges)

    def decide(self, cond: Cond) -> Verdict:
        """Whether the facts entail the condition, exclude it, or leave it open."""
        if cond is True or cond is False:
            self.counts["ground"] += 1
            return _GROUND[cond]
        verdict = self._decide(cond)
        self.counts[verdict.by] += 1
        return verdict

    def judge(self, cond: Cond) -> Verdict:
        """As decide, and `vacuous` where the facts, looked at closely, contradict each other."""
        verdict = self.decide(cond)
        if verdict.by == "ground" and not self.contradictory:
            verdict = Verdict(verdict.kind, "normal-form")
        if verdict.kind in ("proved", "refuted") and self.satisfiable() is False:
            return Verdict("vacuous", "facts")
        if verdict.kind == "open":
            return Verdict("open", verdict.by, self._everywhere(verdict.witness or {}))
        return verdict

    def satisfiable(self) -> bool | None:
        """Is there a point that satisfies all facts? None where that could not be told."""
        state = self._state
        if state.contradiction is not None:
            return False
        conds = [c for c, _ in state.lits]
        if not conds:
            return True
        free = sorted(set().union(*(cond_vars(c) for c in conds)))
        if any(points.holds(conds, p) for p in points.samples(free, state.ranges)):
            return True
        answer = _smt().solve([*conds, *_range_conds(state, free)], free)
        return None if answer is None else answer is not False

    def _everywhere(self, witness: dict[Var, int]) -> dict[Var, int]:
        """The witness with values for the variables that have nothing to do with the question."""
        state = self._state
        conds = [c for c, _ in state.facts]
        if points.holds_given(conds, witness):
            return witness
        free = sorted(set().union(*(cond_vars(c) for c in conds)) - witness.keys())
        fixed = [eq0(of_atom(v) - x) for v, x in witness.items()]
        for point in points.samples(free, state.ranges):
            if points.holds_given(conds, {**point, **witness}):
                return {**point, **witness}
        everything = sorted({*free, *witness})
        answer = _smt().solve([*conds, *fixed], everything)
        return answer if isinstance(answer, dict) else witness

    def _decide(self, cond: Condition) -> Verdict:
        state = self._state
        if state.contradiction is not None:
            return Verdict("vacuous", "facts", None, self._reasons(state.contradiction))
        plain = substitute_cond(cond, state.solved)
        if isinstance(plain, bool):
            used = self._reasons(_mask_of(state, cond_vars(cond)))
            return Verdict("proved" if plain else "refuted", "normal-form", None, used)
        folded = substitute_cond(plain, {}, state.ranges) if state.ranges else plain
        if isinstance(folded, bool):
            used = self._reasons(_mask_of(state, cond_vars(cond)) | _span_of(state, cond_vars(plain)))
            return Verdict("proved" if folded else "refuted", "facts", None, used)
        lits, mask = _relevant(state, plain)
        used = self._reasons(mask | _mask_of(state, cond_vars(cond)))
        conds = [c for c, _ in lits]
        for c, _ in lits:
            if c == plain:
                return Verdict("proved", "facts", None, used)
            if c == negate(plain):
                return Verdict("refuted", "facts", None, used)
        seen = self._sample(conds, plain)
        if len(seen) == 2:
            return Verdict("open", "points", self._completed(seen[False]), used)
        return self._ask(conds, plain, seen, used)

    def _sample(self, conds: list[Condition], plain: Condition) -> dict[bool, dict[Var, int]]:
        free = sorted(set().union(cond_vars(plain), *(cond_vars(c) for c in conds)))
        seen: dict[bool, dict[Var, int]] = {}
        for point in points.samples(free, self._state.ranges):
            if points.holds(conds, point):
                seen.setdefault(evaluate_cond(plain, point), point)
                if len(seen) == 2:
                    break
        return seen

    def _completed(self, point: dict[Var, int]) -> dict[Var, int]:
        state = self._state
        whole = dict(point)
        for v, e in state.solved.items():
            if variables(e) and all(w in point for w in variables(e)):
                whole[v] = evaluate(e, point)
        return {v: whole[v] for v in sorted(whole) if v.serial >= 0}

    def _ask(
        self, conds: list[Condition], plain: Condition, seen: dict[bool, dict[Var, int]], used: tuple[object, ...]
    ) -> Verdict:
        free = sorted(set().union(cond_vars(plain), *(cond_vars(c) for c in conds)))
        ranged = [*conds, *_range_conds(self._state, free)]
        known: dict[bool, dict[Var, int] | bool | None] = dict(seen)
        for value in (True, False):
            if value not in known:
                wanted = plain if value else negate(plain)
                known[value] = _smt().solve([*ranged, wanted], free) if wanted is not False else False
        if known[True] is False and known[False] is False:
            return Verdict("vacuous", "z3", None, used)
        if known[False] is False:
            return Verdict("proved", "z3", None, used)
        if known[True] is False:
            return Verdict("refuted", "z3", None, used)
        if known[True] is None or known[False] is None:
            return Verdict("unknown", "unknown", None, used)
        witness = known[False]
        assert isinstance(witness, dict)
        return Verdict("open", "z3", self._completed(witness), used)

    def witness(self, cond: Cond, wanted: bool, at_least_one: Iterable[Size] = ()) -> dict[Var, int] | None:
        """The smallest point that satisfies the facts where the condition is `wanted`; sizes from 1 are preferred."""
        state = self._state
        if state.contradiction is not None:
            return None
        goal = cond if wanted else negate(cond)
        goal = substitute_cond(goal, state.solved)
        if goal is False:
            return None
        asked = [] if goal is True else [goal]
        lits, _ = _relevant(state, *asked, *(ge0(substitute(s, state.solved)) for s in at_least_one))
        conds = [c for c, _ in lits] + asked
        lively = [substitute_cond(ge0(substitute(s, state.solved) - 1), {}) for s in at_least_one]
        free = sorted(set().union(*(cond_vars(c) for c in conds), *(cond_vars(c) for c in lively)))
        for wishes in ([*conds, *lively], conds) if lively else (conds,):
            for floor in (1, 0):
                found = self._search(wishes, free, floor)
                if found is not None:
                    return self._completed(found)
        answer = _smt().solve([*conds, *_range_conds(state, free)], free)
        return self._completed(answer) if isinstance(answer, dict) else None

    def _search(self, conds: Sequence[Cond], free: list[Var], floor: int) -> dict[Var, int] | None:
        ranges = self._state.ranges
        least = {v: points.clamp(floor, ranges.get(v, (0 if v.nonneg else None, None))) for v in free}
        for point in points.smallest_first(free, least, ranges, 2000):
            if points.holds(conds, point):
                return point
        return None

    def _reasons(self, mask: int) -> tuple[object, ...]:
        return tuple(r for i, (_, r) in enumerate(self._state.facts) if mask >> i & 1 and r is not None)


_NEVER = Ge0(Term({(): -1}))


def _smt() -> Any:
    return import_module(".smt", __package__)


# ---------------------------------------------------------------- learning


def _learn(state: _State, cond: Cond, mask: int) -> None:
    """Puts a condition into solved form: a solution, a range, or a literal that is kept."""
    work: list[tuple[Cond, int]] = [(cond, mask)]
    while work and state.contradiction is None:
        cond, mask = work.pop()
        used = _mask_of(state, cond_vars(cond))
        cond = substitute_cond(cond, state.solved)
        mask |= used
        if cond is True:
            continue
        if cond is False:
            state.contradiction = mask
        elif type(cond) is AllOf:
            work.extend((p, mask) for p in reversed(cond.parts))
        elif type(cond) is Eq0:
            _learn_equality(state, cond, mask, work)
        elif type(cond) is Ge0 and _single(cond.term):
            _learn_range(state, cond.term, mask, work)
        elif all(cond != c for c, _ in state.lits):
            state.lits.append((cond, mask))


def _single(term: Term) -> bool:
    return all(len(m) <= 1 for m in term.mons) and sum(1 for m in term.mons if m) == 1 and _only_var(term) is not None


def _only_var(term: Term) -> Var | None:
    mono = next(m for m in term.mons if m)
    return mono[0] if type(mono[0]) is Var else None


def _learn_range(state: _State, term: Term, mask: int, work: list[tuple[Cond, int]]) -> None:
    v = _only_var(term)
    assert v is not None
    k = term.mons[(v,)]
    constant = term.mons.get((), 0)
    low, high = state.ranges.get(v, (0 if v.nonneg else None, None))
    if k > 0:
        least = -(constant // k)
        low = least if low is None else max(low, least)
    else:
        most = constant // -k
        high = most if high is None else min(high, most)
    if (low, high) == state.ranges.get(v):
        return
    state.ranges[v] = (low, high)
    state.spans[v] = state.spans.get(v, 0) | mask
    if low is not None and high is not None:
        if low > high:
            state.contradiction = state.spans[v]
        elif low == high:
            _put(state, v, low, state.spans[v], work)


def _learn_equality(state: _State, cond: Eq0, mask: int, work: list[tuple[Cond, int]]) -> None:
    folded = substitute_cond(cond, {}, state.ranges)
    if folded is False:
        state.contradiction = mask | _span_of(state, cond_vars(cond))
        return
    solution = _solve(cond.term)
    if solution is None:
        solution = _solve_by_quotient(state, cond.term, mask, work)
    if solution is None:
        if all(cond != c for c, _ in state.lits):
            state.lits.append((cond, mask))
        return
    _put(state, *solution, mask, work)


def _put(state: _State, v: Var, value: Size, mask: int, work: list[tuple[Cond, int]]) -> None:
    """From here on the variable is written as the value."""
    one = {v: value}
    for w, e in state.solved.items():
        if type(e) is Term and v in term_vars(e):
            state.solved[w] = substitute(e, one)
            state.masks[w] |= mask
    state.solved[v] = value
    state.masks[v] = mask
    kept = []
    for c, m in state.lits:
        if v in cond_vars(c):
            work.append((c, m))
        else:
            kept.append((c, m))
    state.lits = kept
    low, high = state.ranges.pop(v, (0 if v.nonneg else None, None))
    span = mask | state.spans.pop(v, 0)
    if low is not None:
        work.append((ge0(value - low), span))
    if high is not None:
        work.append((ge0(high - value), span))


def _solve(term: Term) -> tuple[Var, Size] | None:
    """A variable that the equation `term == 0` determines: the youngest that occurs once, with coefficient 1 or -1."""
    best: Var | None = None
    for mono, k in term.mons.items():
        if len(mono) == 1 and (k == 1 or k == -1) and type(mono[0]) is Var and (best is None or best < mono[0]):
            if _occurs_elsewhere(mono[0], term, mono):
                continue
            best = mono[0]
    if best is None:
        return None
    rest = term - Term({(best,): term.mons[(best,)]})
    return best, -rest if term.mons[(best,)] == 1 else rest


def _occurs_elsewhere(v: Var, term: Term, home: Mono) -> bool:
    for mono in term.mons:
        if mono == home:
            continue
        for atom in mono:
            if atom == v if type(atom) is Var else v in atom.vars:
                return True
    return False


def _solve_by_quotient(state: _State, term: Term, mask: int, work: list[tuple[Cond, int]]) -> tuple[Var, Size] | None:
    """`x - 6 * (x // 6) == 0` gives x := 6 * q with a new q; the division's definition is learnt beside it."""
    floors = sorted((a for m in term.mons for a in m if type(a) is Floor), key=lambda a: a.key)
    for floor in reversed(floors):
        if not isinstance(floor.den, int) and not at_least(floor.den, 1, state.ranges):
            continue
        q = Var("q", -1 - state.count, nonneg=at_least(floor.num, 0, state.ranges))
        opaque = _replace_atom(term, floor, of_atom(q))
        solution = _solve(opaque) if type(opaque) is Term else None
        if solution is None or solution[0] == q:
            continue
        state.count += 1
        rest = floor.num - floor.den * of_atom(q)
        work.append((ge0(rest), mask))
        work.append((ge0(floor.den - 1 - rest), mask))
        return solution
    return None


def _replace_atom(term: Term, atom: Floor, by: Size) -> Size:
    result: Size = 0
    for mono, k in sorted(term.mons.items(), key=lambda p: mono_key(p[0])):
        product: Size = k
        for a in mono:
            product = product * (by if a == atom else of_atom(a))
        result = result + product
    return result


# ---------------------------------------------------------------- relevance


def _mask_of(state: _State, vars_: Iterable[Var]) -> int:
    mask = 0
    for v in vars_:
        mask |= state.masks.get(v, 0)
    return mask


def _span_of(state: _State, vars_: Iterable[Var]) -> int:
    mask = 0
    for v in vars_:
        mask |= state.spans.get(v, 0)
    return mask


def _relevant(state: _State, *conds: Cond) -> tuple[list[tuple[Condition, int]], int]:
    """The literals that share variables with the conditions, directly or through others."""
    reached: set[Var] = set().union(*(cond_vars(c) for c in conds))
    chosen = [False] * len(state.lits)
    grown = True
    while grown:
        grown = False
        for i, (c, _) in enumerate(state.lits):
            if not chosen[i] and not reached.isdisjoint(cond_vars(c)):
                chosen[i] = grown = True
                reached |= cond_vars(c)
    lits = [lit for lit, here in zip(state.lits, chosen, strict=True) if here]
    mask = _span_of(state, reached)
    for _, m in lits:
        mask |= m
    return lits, mask


def _range_conds(state: _State, free: Iterable[Var]) -> Iterator[Cond]:
    for v in free:
        low, high = state.ranges.get(v, (None, None))
        if low is not None:
            yield ge0(of_atom(v) - low)
        if high is not None:
            yield ge0(high - of_atom(v))
