"""Conditions in solved form: solutions of variables (`n := 4 * q`), ranges, and literals in the unsolved variables.

Masks record the facts that a step used, one bit for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_

from .conditions import (
    AllOf,
    AnyOf,
    Cond,
    Condition,
    Eq0,
    Ge0,
    any_of,
    cond_terms,
    cond_vars,
    eq0,
    ge0,
    substitute_cond,
)
from .consequences import at_least_one, remainders, without_quotient
from .terms import (
    Atom,
    Bounds,
    Floor,
    Mono,
    Size,
    Term,
    Var,
    at_least,
    common_atoms,
    evaluate,
    mono_key,
    of_atom,
    replace_atom,
    substitute,
    term_vars,
    without,
)

Literal = tuple[Cond, int]
Point = dict[Var, int]
_NATURAL: Bounds = (0, None)
_ANY: Bounds = (None, None)
_MOST_DEGREE, _MOST_MONOMIALS = 24, 4_000


class Solved:
    """A conjunction of conditions in solved form."""

    __slots__ = ("contradiction", "lits", "made", "masks", "ranges", "scope", "solved", "spans")

    def __init__(self) -> None:
        self.solved: dict[Var, Size] = {}
        self.masks: dict[Var, int] = {}  # the facts behind a solution
        self.ranges: dict[Var, Bounds] = {}
        self.spans: dict[Var, int] = {}  # the facts behind a range
        self.lits: dict[Condition, int] = {}  # the kept conditions with the facts behind them
        self.contradiction: int | None = None  # the facts that contradict each other
        self.made = 0  # the number of named quotients
        self.scope: frozenset[Var] = frozenset()  # variables that a point must assign, even without conditions

    def copy(self) -> Solved:
        """Return an independent copy."""
        other = Solved()
        other.solved = self.solved.copy()
        other.masks = self.masks.copy()
        other.ranges = self.ranges.copy()
        other.spans = self.spans.copy()
        other.lits = self.lits.copy()
        other.contradiction, other.made = self.contradiction, self.made
        other.scope = self.scope
        return other

    # ------------------------------------------------------------ looking

    def literals_with(self, v: Var) -> dict[Condition, int]:
        """The literals that contain a variable, in order."""
        return {c: mask for c, mask in self.lits.items() if v in cond_vars(c)}

    def solutions_with(self, v: Var) -> list[Var]:
        """The variables whose solutions contain this one."""
        return [w for w, e in self.solved.items() if type(e) is Term and v in term_vars(e)]

    def range_of(self, v: Var) -> Bounds:
        """The range of a variable."""
        found = self.ranges.get(v)
        return found if found is not None else (_NATURAL if v.nonneg else _ANY)

    def used_by(self, vars_: Iterable[Var]) -> int:
        """The facts that the variables' solutions rest on."""
        masks = self.masks
        mask = 0
        if masks:
            for v in vars_:
                mask |= masks.get(v, 0)
        return mask

    def spanned_by(self, vars_: Iterable[Var]) -> int:
        """The facts that the variables' ranges rest on."""
        return reduce(or_, (self.spans.get(v, 0) for v in vars_), 0)

    def free(self) -> list[Var]:
        """The variables without a solution, in order."""
        found: set[Var] = {*self.ranges, *self.scope}
        for c in self.lits:
            found |= cond_vars(c)
        for e in self.solved.values():
            if type(e) is Term:
                found |= term_vars(e)
        return sorted(found - self.solved.keys())

    def mask(self) -> int:
        """The mask of every fact in here."""
        return reduce(or_, (*self.lits.values(), *self.spans.values(), *self.masks.values()), 0)

    def conditions(self) -> Iterator[Cond]:
        """Literals and ranges as conditions."""
        yield from self.lits
        for v in sorted(self.ranges):
            low, high = self.ranges[v]
            if low is not None:
                yield ge0(of_atom(v) - low)
            if high is not None:
                yield ge0(high - of_atom(v))

    def complete(self, point: Point) -> Point:
        """The point with the values of the solved variables."""
        whole = dict(point)
        for v, e in self.solved.items():
            if isinstance(e, int):
                whole[v] = e
            elif whole.keys() >= term_vars(e):
                whole[v] = evaluate(e, whole)
        return whole

    # ------------------------------------------------------------ learning

    def learn(self, cond: Cond, mask: int) -> None:
        """Assume the condition from here on, because of these facts."""
        work: list[Literal] = [(cond, mask)]
        while work and self.contradiction is None:
            cond, mask = work.pop()
            if not isinstance(cond, bool):
                cond, mask = self.current(cond, mask)
            if cond is True:
                continue
            if cond is False:
                self.contradiction = mask
            elif type(cond) is AllOf:
                work.extend((p, mask) for p in reversed(cond.parts))
            elif type(cond) is Eq0:
                self._learn_equality(cond, mask, work)
            elif type(cond) is Ge0 and linear_var(cond.term) is not None:
                self._learn_range(cond.term, mask, work)
            elif type(cond) is Ge0 and (undivided := without_quotient(cond.term)) is not None:
                work.append((ge0(undivided), mask))
            elif cond not in self.lits:
                self.lits[cond] = mask
                if type(cond) is Ge0:
                    span = mask | self.spanned_by(term_vars(cond.term))
                    work.extend((ge0(size - 1), span) for size in at_least_one(cond.term, self.ranges))

    def current(self, cond: Condition, mask: int) -> Literal:
        """The condition in the unsolved variables, and the facts that it rests on."""
        vars_ = cond_vars(cond)
        if not self.solved.keys().isdisjoint(vars_):
            mask |= self.used_by(vars_)
            now = substitute_cond(cond, self.solved)
            if isinstance(now, bool):
                return now, mask
            cond, vars_ = now, cond_vars(now)
        if not self.ranges.keys().isdisjoint(vars_) and not (type(cond) is Ge0 and linear_var(cond.term) is not None):
            folded = substitute_cond(cond, {}, self.ranges)
            if folded is not cond and folded != cond:
                return folded, mask | self.spanned_by(vars_)
        return cond, mask

    def _learn_range(self, term: Term, mask: int, work: list[Literal]) -> None:
        v = linear_var(term)
        assert v is not None
        k = term.mons[(v,)]
        constant = term.mons.get((), 0)
        if k > 0:
            self.narrow(v, (-(constant // k), None), mask, work)
        else:
            self.narrow(v, (None, constant // -k), mask, work)

    def narrow(self, v: Var, to: Bounds, mask: int, work: list[Literal]) -> bool:
        """Intersect the range of a variable; return whether it changed."""
        low, high = old = self.range_of(v)
        if to[0] is not None and (low is None or to[0] > low):
            low = to[0]
        if to[1] is not None and (high is None or to[1] < high):
            high = to[1]
        if (low, high) == old:
            return False
        mask |= self.spans.get(v, 0)
        self.ranges[v] = (low, high)
        self.spans[v] = mask
        if low is not None and high is not None:
            if low > high:
                self.contradiction = mask
            elif low == high:
                self._put(v, low, mask, work)
        if low is not None and low >= 1 and (old[0] is None or old[0] < 1):
            # retry equations that were unsolvable while a divisor might be 0, and cases that depend on it
            for cond, known in self.literals_with(v).items():
                if type(cond) is Eq0 or type(cond) is AnyOf:
                    del self.lits[cond]
                    work.append((cond, known))
        return True

    def _learn_equality(self, cond: Eq0, mask: int, work: list[Literal]) -> None:
        parted = self._by_factors(cond.term)
        if parted is not None:
            parted_cond, span = parted
            work.append((parted_cond, mask | span))
            return
        left = remainders(cond.term, self.ranges)
        if left is not None:
            work.extend((eq0(size), mask | self.spanned_by(term_vars(cond.term))) for size in left)
            return
        solution: tuple[Var | None, Size] | None = solve_equation(cond.term)
        if solution is None:
            solution = self._solve_by_quotients(cond.term, mask, work)
        if solution is None or not self._fits(*solution):
            self.lits.setdefault(cond, mask)
        elif solution[0] is not None:
            self._put(solution[0], solution[1], mask, work)

    def _by_factors(self, term: Term) -> tuple[Cond, int] | None:
        """`x * y == 0` as `x == 0 || y == 0`, without factors that cannot be 0."""
        if () in term.mons:
            return None
        common = common_atoms(term.mons)
        if not common or (len(common) == 1 and len(term.mons) == 1 and term.mons.keys() == {common}):
            return None
        rest: Size = Term({without(m, common): k for m, k in term.mons.items()}) if len(term.mons) > 1 else 1
        parts: list[Cond] = []
        span = 0
        for atom in dict.fromkeys(common):
            if at_least(of_atom(atom), 1, self.ranges):
                span |= self.spanned_by(term_vars(of_atom(atom)))
            else:
                parts.append(eq0(of_atom(atom)))
        parts.append(eq0(rest))
        return any_of(*parts), span

    def _put(self, v: Var, value: Size, mask: int, work: list[Literal]) -> None:
        """Write the variable as the value from here on."""
        one = {v: value}
        for w in self.solutions_with(v):
            self.solved[w] = substitute(self.solved[w], one)
            self.masks[w] |= mask
        self.solved[v] = value
        self.masks[v] = mask
        touched = self.literals_with(v)
        for cond in touched:
            del self.lits[cond]
        work.extend(touched.items())
        low, high = self.range_of(v)
        span = mask | self.spans.pop(v, 0)
        self.ranges.pop(v, None)
        if low is not None:
            work.append((ge0(value - low), span))
        if high is not None:
            work.append((ge0(high - value), span))

    def _fits(self, v: Var | None, value: Size) -> bool:
        """Whether the terms stay small when the value replaces the variable."""
        if v is None or isinstance(value, int) or (len(value.mons) <= 3 and degree(value) == 1):
            return True
        size, power = len(value.mons), degree(value)
        if power > _MOST_DEGREE // 3:
            return False
        terms: list[Size] = [self.solved[w] for w in self.solutions_with(v)]
        terms += [t for c in self.literals_with(v) for t in cond_terms(c) if v in term_vars(t)]
        for term in terms:
            assert type(term) is Term
            deep = degree(term)
            if deep * power > _MOST_DEGREE or len(term.mons) * size**deep > _MOST_MONOMIALS:
                return False
        return True

    def fresh(self, nonneg: bool) -> Var:
        """Return a new variable."""
        self.made += 1
        return Var(f"q{self.made}", -self.made, nonneg)

    def _solve_by_quotients(self, term: Term, mask: int, work: list[Literal]) -> tuple[Var | None, Size] | None:
        """Solve `x - 6 * (x // 6) == 0` as x := 6 * q with a new q, and learn the definitions of its divisions."""
        if not any(type(a) is Var for m in term.mons for a in m):
            return (None, 0) if self._name_lone_floor(term, mask, work) else None
        floors = sorted({a for m in term.mons for a in m if type(a) is Floor}, key=lambda a: a.key)
        opaque = term
        defined: list[tuple[Floor, Var]] = []
        for floor in reversed(floors):
            if not isinstance(floor.den, int):
                if not at_least(floor.den, 1, self.ranges):
                    continue
                naming = self.name_divisor(floor.den)
                if naming is not None:
                    work += [(eq0(term), mask), naming]
                    return None, 0
            q = self.fresh(at_least(floor.num, 0, self.ranges) and at_least(floor.den, 1, self.ranges))
            replaced = replace_atom(opaque, floor, of_atom(q))
            if type(replaced) is not Term:  # true or false for all values of the quotients
                work.append((eq0(replaced), mask | self.spanned_by(term_vars(term))))
                return None, 0
            opaque = replaced
            defined.append((floor, q))
            solution = solve_equation(opaque, avoid=q)
            if solution is not None:
                self._define(defined, mask, work)
                return solution
        reduced = self._reduce(opaque)
        if reduced is None:
            return None
        self._define(defined, mask, work)
        work.append((eq0(opaque), mask))
        return reduced

    def name_divisor(self, den: Term) -> Literal | None:
        """The equation that defines a new variable as a divisor that is a sum and at least 1, or None."""
        if len(den.mons) == 1:
            return None
        naming = of_atom(self.fresh(True)) - den
        solution = solve_equation(naming) if type(naming) is Term else None
        if solution is None or solution[0].serial < 0 or not self._fits(*solution):
            return None
        return eq0(naming), self.spanned_by(term_vars(den))

    def _define(self, defined: list[tuple[Floor, Var]], mask: int, work: list[Literal]) -> None:
        for floor, q in defined:
            span = mask | self.spanned_by(floor.vars)
            rest = floor.num - floor.den * of_atom(q)
            work.append((ge0(rest), span))
            work.append((ge0(floor.den - 1 - rest), span))

    def _name_lone_floor(self, term: Term, mask: int, work: list[Literal]) -> bool:
        """Learn `x // 8 - 3 == 0` as a range of x; return whether it has this form."""
        if len(term.mons) > 2:
            return False
        (atom, k), constant = next((m[0], k) for m, k in term.mons.items() if m), term.mons.get((), 0)
        if type(atom) is not Floor or abs(k) != 1 or len(term.mons) - (() in term.mons) != 1:
            return False
        if (atom,) not in term.mons or not at_least(atom.den, 1, self.ranges):
            return False
        mask |= self.spanned_by(atom.vars)
        rest = atom.num - atom.den * (-constant * k)
        work.append((ge0(rest), mask))
        work.append((ge0(atom.den - 1 - rest), mask))
        return True

    def _reduce(self, term: Term) -> tuple[Var, Size] | None:
        """One step of Euclid's algorithm on an equation over variables: solve for the variable with the smallest
        coefficient."""
        if len(term.mons) - (() in term.mons) < 2:
            return None
        least: Var | None = None
        for mono, k in sorted(term.mons.items(), key=lambda p: mono_key(p[0])):
            if not mono:
                continue
            if len(mono) != 1 or type(mono[0]) is not Var:
                return None
            if least is None or abs(k) <= abs(term.mons[(least,)]):
                least = mono[0]
        assert least is not None
        c = term.mons[(least,)]
        value: Size = of_atom(self.fresh(False))
        for mono, k in term.mons.items():
            if mono != (least,):
                value = value - Term({mono: 1}) * (k // c) if mono else value - k // c
        return least, value


def degree(term: Term) -> int:
    """The greatest number of factors in a monomial, including those inside of divisions and maxima."""
    return max(sum(_atom_degree(a) for a in m) for m in term.mons)


def _atom_degree(atom: Atom) -> int:
    if type(atom) is Var:
        return 1
    parts = (atom.num, atom.den) if type(atom) is Floor else atom.args
    return max(1, *(degree(p) for p in parts if type(p) is Term))


def linear_var(term: Term) -> Var | None:
    """The variable of a term that is linear in one variable, else None."""
    mons = term.mons
    if len(mons) == 1 or (len(mons) == 2 and () in mons):
        for mono in mons:
            if len(mono) == 1 and type(mono[0]) is Var:
                return mono[0]
    return None


def solve_equation(term: Term, avoid: Var | None = None) -> tuple[Var, Size] | None:
    """A variable that the equation `term == 0` determines: the youngest that occurs once, with coefficient 1 or -1."""
    best: Var | None = None
    for mono, k in term.mons.items():
        if len(mono) == 1 and (k == 1 or k == -1) and type(mono[0]) is Var and (best is None or best < mono[0]):
            if mono[0] == avoid or _occurs_elsewhere(mono[0], term, mono):
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
