"""Case distinctions for conditions that nothing else decides; the cases cover everything."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd, lcm

from .conditions import AllOf, AnyOf, Cond, Eq0, Ne0, all_of, cond_terms, eq0, ge0, map_terms
from .solved import Solved, linear_var
from .terms import Atom, Floor, Max, Mono, Size, Term, Var, at_least, of_atom, replace_atom


def split(state: Solved) -> tuple[list[Cond], int, Solved] | None:
    """Return cases that cover everything, the facts that they rest on, and the state to which they are added."""
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
        q = of_atom(base.fresh(v.nonneg))
        return [eq0(of_atom(v) - q * c - r) for r in range(c)], 0, base
    for v in _zero_candidates(state):
        return [eq0(of_atom(v)), ge0(of_atom(v) - 1)], state.spans.get(v, 0), state
    return None


def _bent_residue(state: Solved) -> tuple[Var, int] | None:
    """A variable whose residues matter to a product: in `n * n % 4`, in `(n % 2) * m`, in `n * n == 3 * m + 2`."""
    for atom in _atoms(state):
        if type(atom) is Floor and isinstance(atom.den, int) and atom.den <= 8 and type(atom.num) is Term:
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
    """A variable that is the only one in one division and occurs in another: the divisions disappear for each residue."""
    moduli: dict[Var, int] = {}
    uses: dict[Var, int] = {}
    for atom in _atoms(state):
        if type(atom) is not Floor or not isinstance(atom.den, int):
            continue
        for v in atom.vars:
            uses[v] = uses.get(v, 0) + 1
        if type(atom.num) is Term and (lone := linear_var(atom.num)) is not None:
            moduli[lone] = lcm(moduli.get(lone, 1), atom.den)
    small = [v for v in sorted(moduli) if moduli[v] <= 12 and uses[v] > 1]
    return (small[0], moduli[small[0]]) if small else None


def _first_var(monos: Iterable[Mono]) -> Var | None:
    found = {a for m in monos for a in m if type(a) is Var}
    return min(found) if found else None


def _in_product(state: Solved, atom: Atom) -> bool:
    return any(len(m) > 1 and atom in m for c in state.lits for t in cond_terms(c) for m in t.mons)


def _with_quotients_named(state: Solved) -> Solved | None:
    """The state with variables, and their definitions, in place of sums as divisors and of quotients by sizes."""
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
    q = of_atom(state.fresh(at_least(atom.num, 0, state.ranges)))
    span = state.spanned_by(atom.vars)
    rest = atom.num - atom.den * q
    replaced = [(map_terms(c, lambda term: replace_atom(term, atom, q)), m) for c, m in state.lits.items()]
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
    """Split by which argument is the greatest; the cases are learnt before the maximum is replaced."""
    base = state.copy()
    v = base.fresh(True)
    args: tuple[Size, ...] = (0, *atom.args)
    base.lits = {}
    for c, m in state.lits.items():
        base.learn(map_terms(c, lambda term: replace_atom(term, atom, of_atom(v))), m)
    cases: list[Cond] = []
    for i, a in enumerate(args):
        parts = [eq0(of_atom(v) - a)]
        parts += [ge0(a - b) if j > i else ge0(a - b - 1) for j, b in enumerate(args) if j != i]
        cases.append(all_of(*parts))
    return cases, 0, base


def _small_range(state: Solved) -> Var | None:
    """A variable with two to four values that occurs in a division or a product."""
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
