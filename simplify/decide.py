"""Conditions in solved form, and the search for a point that satisfies them or a proof that there is none.

A `Solved` keeps what was learnt as solutions (`n := 4 * q`), ranges of variables, and literals in what is left.
`solve` refutes it, finds a point, or gives up: by ranges, by a few points, by elimination over the monomials as
unknowns, and by cases. Masks say which facts a step used, one bit for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd, isqrt, lcm

from . import linear, points
from .conditions import (
    AllOf,
    AnyOf,
    Cond,
    Condition,
    Eq0,
    Ge0,
    Ne0,
    all_of,
    any_of,
    cond_vars,
    eq0,
    ge0,
    ne0,
    substitute_cond,
)
from .terms import (
    Atom,
    Bounds,
    Floor,
    Max,
    Mono,
    Size,
    Term,
    Var,
    at_least,
    atom_key,
    bounds,
    close,
    common_atoms,
    divides,
    evaluate,
    mono_interval,
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
_MOST_DIVISIONS = 12
_MOST_TOGETHER = 10  # monomials of an inequality and of an equation that is put into it
_FAR = 1 << 64  # propagation that drives a bound further than this is running away


class Solved:
    """A conjunction of conditions in solved form."""

    __slots__ = ("contradiction", "lits", "made", "masks", "ranges", "scope", "solved", "spans")

    def __init__(self) -> None:
        self.solved: dict[Var, Size] = {}
        self.masks: dict[Var, int] = {}  # what a solution rests on
        self.ranges: dict[Var, Bounds] = {}
        self.spans: dict[Var, int] = {}  # what a range rests on
        self.lits: dict[Condition, int] = {}  # what is kept, and what it rests on
        self.contradiction: int | None = None  # what cannot hold together
        self.made = 0  # how many quotients were named
        self.scope: frozenset[Var] = frozenset()  # what a point must have values for, even if nothing is said of it

    def copy(self) -> Solved:
        """One that can go its own way."""
        other = Solved()
        other.solved = self.solved.copy()
        other.masks = self.masks.copy()
        other.ranges = self.ranges.copy()
        other.spans = self.spans.copy()
        other.lits = self.lits.copy()
        other.contradiction = self.contradiction
        other.made = self.made
        other.scope = self.scope
        return other

    # ------------------------------------------------------------ looking

    def literals_with(self, v: Var) -> dict[Condition, int]:
        """The literals that speak of a variable, in order."""
        return {c: mask for c, mask in self.lits.items() if v in cond_vars(c)}

    def solutions_with(self, v: Var) -> list[Var]:
        """The variables whose solutions speak of this one."""
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
        mask = 0
        for v in vars_:
            mask |= self.spans.get(v, 0)
        return mask

    def free(self) -> list[Var]:
        """The variables that have no solution, in order."""
        found: set[Var] = {*self.ranges, *self.scope}
        for c in self.lits:
            found |= cond_vars(c)
        for e in self.solved.values():
            if type(e) is Term:
                found |= term_vars(e)
        return sorted(found - self.solved.keys())

    def mask(self) -> int:
        """Every fact in here."""
        mask = 0
        for m in self.lits.values():
            mask |= m
        for m in self.spans.values():
            mask |= m
        for m in self.masks.values():
            mask |= m
        return mask

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
        """From here on the condition holds, because of these facts."""
        work: list[Literal] = [(cond, mask)]
        while work and self.contradiction is None:
            cond, mask = work.pop()
            if not isinstance(cond, bool):
                cond, mask = self._current(cond, mask)
            if cond is True:
                continue
            if cond is False:
                self.contradiction = mask
            elif type(cond) is AllOf:
                work.extend((p, mask) for p in reversed(cond.parts))
            elif type(cond) is Eq0:
                self._learn_equality(cond, mask, work)
            elif type(cond) is Ge0 and _only_var(cond.term) is not None:
                self._learn_range(cond.term, mask, work)
            else:
                self.lits.setdefault(cond, mask)

    def _current(self, cond: Condition, mask: int) -> Literal:
        vars_ = cond_vars(cond)
        if not self.solved.keys().isdisjoint(vars_):
            mask |= self.used_by(vars_)
            now = substitute_cond(cond, self.solved)
            if isinstance(now, bool):
                return now, mask
            cond, vars_ = now, cond_vars(now)
        if not self.ranges.keys().isdisjoint(vars_) and not (type(cond) is Ge0 and _only_var(cond.term) is not None):
            folded = substitute_cond(cond, {}, self.ranges)
            if folded is not cond and folded != cond:
                return folded, mask | self.spanned_by(vars_)
        return cond, mask

    def _learn_range(self, term: Term, mask: int, work: list[Literal]) -> None:
        v = _only_var(term)
        assert v is not None
        k = term.mons[(v,)]
        constant = term.mons.get((), 0)
        if k > 0:
            self.narrow(v, (-(constant // k), None), mask, work)
        else:
            self.narrow(v, (None, constant // -k), mask, work)

    def narrow(self, v: Var, to: Bounds, mask: int, work: list[Literal]) -> bool:
        """Intersects the range of a variable; was that any news?"""
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
            # an equation that could not be solved as long as a divisor might be 0
            for cond, known in self.literals_with(v).items():
                if type(cond) is Eq0:
                    del self.lits[cond]
                    work.append((cond, known))
        return True

    def _learn_equality(self, cond: Eq0, mask: int, work: list[Literal]) -> None:
        parted = self._by_factors(cond.term)
        if parted is not None:
            parted_cond, span = parted
            work.append((parted_cond, mask | span))
            return
        solution: tuple[Var | None, Size] | None = solve_equation(cond.term)
        if solution is None:
            solution = self._solve_by_quotients(cond.term, mask, work)
        if solution is None or not self._fits(*solution):
            self.lits.setdefault(cond, mask)
        elif solution[0] is not None:
            self._put(solution[0], solution[1], mask, work)

    def _by_factors(self, term: Term) -> tuple[Cond, int] | None:
        """`x * y == 0` is `x == 0 || y == 0`; factors that cannot be 0 are dropped."""
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
        """From here on the variable is written as the value."""
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
        """Do the terms stay small when the value is put for the variable?"""
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

    def _fresh(self, nonneg: bool) -> Var:
        self.made += 1
        return Var(f"q{self.made}", -self.made, nonneg)

    def _solve_by_quotients(self, term: Term, mask: int, work: list[Literal]) -> tuple[Var | None, Size] | None:
        """`x - 6 * (x // 6) == 0` gives x := 6 * q with a new q; what defines a division is learnt beside it."""
        if not any(type(a) is Var for m in term.mons for a in m):
            named = self._name_lone_floor(term, mask, work)
            return (None, 0) if named else None
        floors = sorted({a for m in term.mons for a in m if type(a) is Floor}, key=lambda a: a.key)
        opaque: Size = term
        defined: list[tuple[Floor, Var]] = []
        for floor in reversed(floors):
            if not isinstance(floor.den, int):
                if not at_least(floor.den, 1, self.ranges):
                    continue
                naming = self.name_divisor(floor.den)
                if naming is not None:
                    work += [(eq0(term), mask), naming]
                    return None, 0
            q = self._fresh(at_least(floor.num, 0, self.ranges) and at_least(floor.den, 1, self.ranges))
            assert type(opaque) is Term
            opaque = replace_atom(opaque, floor, of_atom(q))
            defined.append((floor, q))
            solution = solve_equation(opaque, avoid=q) if type(opaque) is Term else None
            if solution is not None:
                self._define(defined, mask, work)
                return solution
        if type(opaque) is not Term:
            return None
        reduced = self._reduce(opaque)
        if reduced is None:
            return None
        self._define(defined, mask, work)
        work.append((eq0(opaque), mask))
        return reduced

    def name_divisor(self, den: Term) -> Literal | None:
        """The equation that makes a sum that divides, and is at least 1, into a new variable."""
        if len(den.mons) == 1:
            return None
        naming = of_atom(self._fresh(True)) - den
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
        """`x // 8 - 3 == 0` is a range of x."""
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
        """One step of Euclid's algorithm on an equation over variables: the smallest coefficient is taken out."""
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
        value: Size = of_atom(self._fresh(False))
        for mono, k in term.mons.items():
            if mono != (least,):
                value = value - Term({mono: 1}) * (k // c) if mono else value - k // c
        return least, value

    # ------------------------------------------------------------ propagation

    def propagate(self) -> None:
        """Narrows the variables' ranges through the literals, for a while."""
        left, divisions = 60 + 4 * len(self.lits), _MOST_DIVISIONS
        again = True
        while again and self.contradiction is None:
            again = False
            for cond, mask in list(self.lits.items()):
                if type(cond) is Ge0:
                    news = self._narrow_by(cond.term, mask)
                elif type(cond) is Eq0:
                    news = self._narrow_by(cond.term, mask) or self._narrow_by(-cond.term, mask)
                else:
                    news = self._fold(cond, mask)
                if self.contradiction is not None:
                    return
                if news:
                    left -= 1
                    again = left > 0
                    if not again:
                        return
                    if self.solved:
                        break
            if not again and divisions:
                divisions -= 1
                again = any(self._divide(*lit) for lit in self._inequalities())

    def _inequalities(self) -> Iterator[tuple[Term, int]]:
        for cond, mask in list(self.lits.items()):
            if type(cond) is Ge0 or type(cond) is Eq0:
                yield cond.term, mask
            if type(cond) is Eq0:
                yield -cond.term, mask

    def _fold(self, cond: Condition, mask: int) -> bool:
        now, used = self._current(cond, mask)
        if type(now) is Ne0:
            term = now.term
            low, high = bounds(term, self.ranges)
            if low == 0 or high == 0:
                now, used = ge0(term - 1) if low == 0 else ge0(-1 - term), used | self.spanned_by(term_vars(term))
        if now is cond or now == cond:
            return False
        self.lits.pop(cond, None)
        self.learn(now, used)
        return True

    def _narrow_by(self, term: Term, mask: int) -> bool:
        """What `term >= 0` says of each of its monomials, given the ranges of the others."""
        tops: list[tuple[Mono, int, int | None]] = []
        total = term.mons.get((), 0)
        endless = 0
        for mono, k in term.mons.items():
            if not mono:
                continue
            low, high = mono_interval(mono, self.ranges)
            end = high if k > 0 else low
            if end is None:
                endless += 1
                if endless > 1:
                    return False
                tops.append((mono, k, None))
            else:
                total += k * end
                tops.append((mono, k, k * end))
        if not endless and total < 0:
            self.contradiction = mask | self.spanned_by(term_vars(term))
            return True
        news = False
        for mono, k, top in tops:
            if endless and top is not None:
                continue
            rest = total - (top or 0)
            if abs(rest) > _FAR:
                continue
            # k * mono >= -rest
            to: Bounds = (-(rest // k), None) if k > 0 else (None, rest // -k)
            changed = (
                self._narrow_atom(mono[0], to, term, mask)
                if len(mono) == 1
                else self._narrow_factors(mono, to, term, mask)
            )
            if changed:
                news = True
                if self.contradiction is not None or term_vars(term) & self.solved.keys():
                    return True
        return news

    def _narrow_factors(self, mono: Mono, to: Bounds, term: Term, mask: int) -> bool:
        """`x * y <= 9` bounds x where y is at least 1, `x * y >= 9` bounds it from below; for factors from 0 on."""
        most, least = to[1], to[0]
        lows = {a: mono_interval((a,), self.ranges)[0] for a in mono}
        if any(low is None or low < 0 for low in lows.values()):
            return False
        news = False
        for atom in dict.fromkeys(mono):
            others = [a for a in mono if a != atom]
            power = len(mono) - len(others)
            floor = 1
            for a in others:
                floor *= lows[a] or 0
            if most is not None and most >= 0 and floor >= 1:
                news = self._narrow_atom(atom, (None, _root(most // floor, power)), term, mask) or news
            elif least is not None and least >= 1:
                ceiling = mono_interval(tuple(others), self.ranges)[1] if others else 1
                wanted = 1 if ceiling is None else -(-least // max(ceiling, 1))
                news = self._narrow_atom(atom, (_root(wanted - 1, power) + 1, None), term, mask) or news
            if self.contradiction is not None or term_vars(term) & self.solved.keys():
                return True
        return news

    def _divide(self, term: Term, mask: int) -> bool:
        """Divides `term >= 0` by the factors in it, as it is and after an equation was put into it."""
        if self._divide_by_factors(term, mask):
            return True
        equations = [(c.term, m) for c, m in self.lits.items() if type(c) is Eq0 and c.term != term]
        for equation, known in equations:
            if len(equation.mons) + len(term.mons) > _MOST_TOGETHER or max(map(len, equation.mons)) < 2:
                continue
            for part, k in equation.mons.items():
                for mono, times in term.mons.items():
                    if part and times % k == 0 and divides(part, mono):
                        other = term - Term({without(mono, part): times // k}) * equation
                        if (
                            type(other) is Term
                            and len(other.mons) <= len(term.mons)
                            and self._divide_by_factors(other, mask | known)
                        ):
                            return True
        return False

    def _divide_by_factors(self, term: Term, mask: int) -> bool:
        """`v * p + r >= 0` is `p >= 0` where `r < v`, and `p >= 1` where `r < 0`, for a factor v from 0 on."""
        factors = dict.fromkeys(a for m in term.mons if len(m) > 1 for a in m)
        for v in sorted(factors, key=atom_key):
            inside = {without(m, (v,)): k for m, k in term.mons.items() if v in m}
            whole: Size = close(inside)
            low = mono_interval((v,), self.ranges)[0]
            if low is None or low < 0 or isinstance(whole, int) or len(inside) == 1:
                continue
            rest: Size = close({m: k for m, k in term.mons.items() if v not in m})
            for room in (0, 1):
                known = self._at_least(of_atom(v) * room - 1 - rest)
                if known is not None:
                    cond = ge0(whole - 1 + room)
                    if not self._known(cond):
                        self.learn(cond, mask | known | self.spanned_by(term_vars(of_atom(v))))
                        return True
                    break
        return False

    def _at_least(self, size: Size) -> int | None:
        """What it rests on that the size is at least 0: the ranges, perhaps with one of the literals; or None."""
        if at_least(size, 0, self.ranges):
            return self.spanned_by(term_vars(size)) if type(size) is Term else 0
        if isinstance(size, int):
            return None
        vars_ = term_vars(size)
        for cond, mask in self.lits.items():
            if type(cond) is Ge0 and not vars_.isdisjoint(term_vars(cond.term)):
                rest = size - cond.term
                if at_least(rest, 0, self.ranges):
                    return mask | (self.spanned_by(term_vars(rest)) if type(rest) is Term else 0)
        return None

    def _narrow_atom(self, atom: Atom, to: Bounds, term: Term, mask: int) -> bool:
        if type(atom) is Var:
            low, high = self.range_of(atom)
            if (to[0] is None or (low is not None and low >= to[0])) and (
                to[1] is None or (high is not None and high <= to[1])
            ):
                return False
            work: list[Literal] = []
            span = mask | self.spanned_by(term_vars(term))
            news = self.narrow(atom, to, span, work)
            for lit in work:
                self.learn(*lit)
            return news
        low, high = mono_interval((atom,), self.ranges)
        conds: list[Cond] = []
        if to[1] is not None and (high is None or to[1] < high):
            if type(atom) is Floor and isinstance(atom.den, int):
                conds.append(ge0(atom.den * to[1] + atom.den - 1 - atom.num))
            elif type(atom) is Max:
                conds += [ge0(to[1] - a) for a in (0, *atom.args)]
        if to[0] is not None and (low is None or to[0] > low) and type(atom) is Floor and isinstance(atom.den, int):
            conds.append(ge0(atom.num - atom.den * to[0]))
        news = False
        for cond in conds:
            if cond is not True and not self._known(cond):
                self.learn(cond, mask | self.spanned_by(term_vars(term)))
                news = True
        return news

    def _known(self, cond: Cond) -> bool:
        if isinstance(cond, bool):
            return cond
        return substitute_cond(cond, {}, self.ranges) is True or cond in self.lits


def _root(value: int, power: int) -> int:
    """The greatest number whose power is at most the value, which is at least 0."""
    if power == 1:
        return value
    if power == 2:
        return isqrt(value)
    low, high = 0, 1 << (value.bit_length() // power + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**power <= value else (low, middle - 1)
    return low


def degree(term: Term) -> int:
    """The greatest number of factors in a monomial, counting what is inside of divisions and maxima."""
    return max(sum(_atom_degree(a) for a in m) for m in term.mons)


def _atom_degree(atom: Atom) -> int:
    if type(atom) is Var:
        return 1
    parts = (atom.num, atom.den) if type(atom) is Floor else atom.args
    return max(1, *(degree(p) for p in parts if type(p) is Term))


def cond_terms(cond: Cond) -> Iterator[Term]:
    """The terms of a condition's comparisons."""
    if isinstance(cond, (AnyOf, AllOf)):
        for part in cond.parts:
            yield from cond_terms(part)
    elif not isinstance(cond, bool):
        yield cond.term


def _only_var(term: Term) -> Var | None:
    """The variable of a term that is linear in it alone."""
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


# ---------------------------------------------------------------- solving


class Budget:
    """How many cases may still be looked at."""

    __slots__ = ("cases",)

    def __init__(self, cases: int) -> None:
        self.cases = cases


def solve(state: Solved, budget: Budget) -> Point | int | None:
    """A point that satisfies everything, the facts that exclude each other, or None where neither was found."""
    budget.cases -= 1
    state.propagate()
    if state.contradiction is not None:
        return state.contradiction
    found = sample(state)
    if found is not None:
        return found
    free = sorted(set().union(*(cond_vars(c) for c in state.lits)))
    few = points.every(free, state.ranges)
    if few is not None:
        # every point there is; variables outside of the literals have some value in their ranges
        conds = list(state.lits)
        return next((_widened(state, p) for p in few if points.holds(conds, p)), state.mask())
    least = [(c.term, m) for c, m in state.lits.items() if type(c) is Ge0]
    equal = [(c.term, m) for c, m in state.lits.items() if type(c) is Eq0]
    answer = linear.refute(least, equal, state.ranges, state.spans) if least or equal else None
    if isinstance(answer, int):
        return answer
    for candidate in answer or ():
        whole = _widened(state, candidate)
        if all_hold(state, whole):
            return whole
    return _by_cases(state, budget)


def _widened(state: Solved, point: Point) -> Point:
    return state.complete({**{v: points.nearest(1, state.range_of(v)) for v in state.free()}, **point})


def sample(state: Solved) -> Point | None:
    """One of a few points that satisfies everything."""
    free = state.free()
    conds = list(state.lits)
    for point in points.samples(free, state.ranges):
        if points.holds(conds, point):
            return state.complete(point)
    return None


def all_hold(state: Solved, point: Point) -> bool:
    """Are the literals and ranges satisfied?"""
    for v, (low, high) in state.ranges.items():
        if (low is not None and point[v] < low) or (high is not None and point[v] > high):
            return False
    return all(v.serial < 0 or not v.nonneg or x >= 0 for v, x in point.items()) and points.holds(
        list(state.lits), point
    )


def _by_cases(state: Solved, budget: Budget) -> Point | int | None:
    split = _split(state)
    if split is None:
        return None
    cases, mask, base = split
    open_ = False
    for case in cases:
        if budget.cases <= 0:
            return None
        child = base.copy()
        child.learn(case, mask)
        answer = solve(child, budget)
        if answer is None:
            open_ = True
        elif isinstance(answer, int):
            mask |= answer
        else:
            return answer
    return None if open_ else mask


def _split(state: Solved) -> tuple[list[Cond], int, Solved] | None:
    """Cases that cover everything, the facts that this rests on, and the state that they are added to."""
    for cond, mask in state.lits.items():
        if type(cond) is AnyOf:
            base = state.copy()
            del base.lits[cond]
            return list(cond.parts), mask, base
    for cond, mask in state.lits.items():
        if type(cond) is Ne0:
            base = state.copy()
            del base.lits[cond]
            return [ge0(cond.term - 1), ge0(-1 - cond.term)], mask, base
    for atom in _atoms(state):
        if type(atom) is Max:
            return _max_cases(state, atom)
    named = _with_quotients_named(state)
    if named is not None:
        return [True], 0, named
    small = _small_range(state)
    if small is not None:
        low, high = state.range_of(small)
        assert low is not None and high is not None
        return [eq0(of_atom(small) - x) for x in range(low, high + 1)], state.spans[small], state
    bent = _bent_residue(state) or _lone_residue(state)
    if bent is not None:
        v, c = bent
        base = state.copy()
        q = of_atom(base._fresh(v.nonneg))
        return [eq0(of_atom(v) - q * c - r) for r in range(c)], 0, base
    for v in _zero_candidates(state):
        return [eq0(of_atom(v)), ge0(of_atom(v) - 1)], state.spans.get(v, 0), state
    return None


def _bent_residue(state: Solved) -> tuple[Var, int] | None:
    """A variable whose residues matter to a product: in `n * n % 4`, in `(n % 2) * m`, in `n * n == 3 * m + 2`."""
    for atom in _atoms(state):
        if type(atom) is Floor and isinstance(atom.den, int) and atom.den <= 8 and type(atom.num) is Term:
            if degree(atom.num) > 1 and any(len(m) > 1 for m in atom.num.mons):
                found = _first_var(m for m in atom.num.mons if len(m) > 1)
                if found is not None:
                    return found, atom.den
            if len(atom.vars) == 1 and _in_product(state, atom):
                return next(iter(atom.vars)), atom.den
    for cond in state.lits:
        if type(cond) is Eq0:
            products = [m for m in cond.term.mons if len(m) > 1]
            c = gcd(*(k for m, k in cond.term.mons.items() if len(m) == 1))
            found = _first_var(products)
            if products and 1 < c <= 6 and found is not None:
                return found, c
    return None


def _lone_residue(state: Solved) -> tuple[Var, int] | None:
    """A variable that stands alone in one division and is in another one too: in each of its residues they come out."""
    moduli: dict[Var, int] = {}
    uses: dict[Var, int] = {}
    for atom in _atoms(state):
        if type(atom) is not Floor or not isinstance(atom.den, int):
            continue
        for v in atom.vars:
            uses[v] = uses.get(v, 0) + 1
        if type(atom.num) is Term and (lone := _only_var(atom.num)) is not None:
            moduli[lone] = lcm(moduli.get(lone, 1), atom.den)
    small = [v for v in sorted(moduli) if moduli[v] <= 12 and uses[v] > 1]
    return (small[0], moduli[small[0]]) if small else None


def _first_var(monos: Iterable[Mono]) -> Var | None:
    found = {a for m in monos for a in m if type(a) is Var}
    return min(found) if found else None


def _in_product(state: Solved, atom: Atom) -> bool:
    return any(len(m) > 1 and atom in m for c in state.lits for t in cond_terms(c) for m in t.mons)


def _with_quotients_named(state: Solved) -> Solved | None:
    """The state where sums that divide are variables, and so are quotients by sizes, with what defines them beside."""
    base: Solved | None = None
    while (found := _sized_quotient(base or state)) is not None:
        base = base or state.copy()
        atom, den = found
        naming = base.name_divisor(den)
        if naming is not None:
            base.learn(*naming)
        if naming is None or atom in _atoms(base):
            _name_quotient(base, atom)
        if base.contradiction is not None:
            break
    return base


def _sized_quotient(state: Solved) -> tuple[Floor, Term] | None:
    for atom in _atoms(state):
        if type(atom) is Floor and type(atom.den) is Term and at_least(atom.den, 1, state.ranges):
            return atom, atom.den
    return None


def _name_quotient(state: Solved, atom: Floor) -> None:
    q = of_atom(state._fresh(at_least(atom.num, 0, state.ranges)))
    span = state.spanned_by(atom.vars)
    rest = atom.num - atom.den * q
    replaced = [(_replace_in(c, atom, q), m) for c, m in state.lits.items()]
    state.lits = {}
    for cond, mask in [*replaced, (ge0(rest), span), (ge0(atom.den - 1 - rest), span)]:
        state.learn(cond, mask)


def _atoms(state: Solved) -> list[Atom]:
    found: dict[Atom, None] = {}

    def visit(size: Size) -> None:
        if type(size) is not Term:
            return
        for mono in size.mons:
            for atom in mono:
                if type(atom) is Floor:
                    visit(atom.num)
                    visit(atom.den)
                elif type(atom) is Max:
                    for a in atom.args:
                        visit(a)
                found[atom] = None

    for cond in state.lits:
        if not isinstance(cond, (AnyOf, AllOf)):
            visit(cond.term)
    return sorted(found, key=lambda a: a.key)


def _max_cases(state: Solved, atom: Max) -> tuple[list[Cond], int, Solved]:
    """Which argument is the greatest; the cases are learnt before the maximum is replaced."""
    base = state.copy()
    v = base._fresh(True)
    args: tuple[Size, ...] = (0, *atom.args)
    base.lits = {}
    for c, m in state.lits.items():
        base.learn(_replace_in(c, atom, of_atom(v)), m)
    cases: list[Cond] = []
    for i, a in enumerate(args):
        parts = [eq0(of_atom(v) - a)]
        parts += [ge0(a - b) if j > i else ge0(a - b - 1) for j, b in enumerate(args) if j != i]
        cases.append(all_of(*parts))
    return cases, 0, base


def _replace_in(cond: Cond, atom: Atom, by: Size) -> Cond:
    if isinstance(cond, bool):
        return cond
    if type(cond) is AnyOf:
        return any_of(*(_replace_in(p, atom, by) for p in cond.parts))
    if type(cond) is AllOf:
        return all_of(*(_replace_in(p, atom, by) for p in cond.parts))
    term = replace_atom(cond.term, atom, by)
    if type(cond) is Ge0:
        return ge0(term)
    return eq0(term) if type(cond) is Eq0 else ne0(term)


def _small_range(state: Solved) -> Var | None:
    """A variable with two to four values that stands in a division or a product."""
    for v in sorted(state.ranges):
        low, high = state.ranges[v]
        if low is None or high is None or high - low > 3:
            continue
        for cond in state.lits:
            for term in cond_terms(cond):
                if any(_bends(m, v) for m in term.mons):
                    return v
    return None


def _bends(mono: Mono, v: Var) -> bool:
    return any((a == v and len(mono) > 1) if type(a) is Var else v in a.vars for a in mono)


def _zero_candidates(state: Solved) -> list[Var]:
    """Variables that may be 0 and occur in products."""
    found: set[Var] = set()
    for cond in state.lits:
        if isinstance(cond, (AnyOf, AllOf)):
            continue
        for mono in cond.term.mons:
            if len(mono) > 1:
                found |= {a for a in mono if type(a) is Var and state.range_of(a)[0] == 0}
    return sorted(found)
