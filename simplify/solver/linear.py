"""Linear reasoning with monomials as unknowns: a refutation by elimination with rounding to integers, or candidate points.

Definitions of floor divisions and maxima, ranges of variables, and products of two inequalities with known monomials are
added, so that `i < m && j < n` excludes `i * n + j >= m * n`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, combinations_with_replacement, permutations
from math import gcd

from .terms import (
    Atom,
    Floor,
    Max,
    Mono,
    Ranges,
    Size,
    Term,
    Var,
    at_least,
    atom_key,
    bounds,
    charge,
    evaluate,
    floordiv,
    lower,
    mono_interval,
    mono_key,
    of_atom,
    term_key,
    term_vars,
    without,
)

Known = tuple[Term, int]
_MOST_ROWS = 400
_MOST_PRODUCTS = 90


class LinearRow:
    """`sum(coefs) + constant >= 0`, or `== 0`."""

    __slots__ = ("coefs", "constant", "mask")

    def __init__(self, coefs: dict[int, int], constant: int, mask: int) -> None:
        self.coefs, self.constant, self.mask = coefs, constant, mask


class System:
    """Inequalities and equalities, with the rows that their monomials imply."""

    def __init__(self, ranges: Ranges, spans: Mapping[Var, int]) -> None:
        self.ranges, self.spans = ranges, spans
        self.least: list[Known] = []
        self.equal: list[Known] = []
        self.monos: dict[Mono, None] = {}
        self.atoms: dict[Atom, None] = {}

    def span(self, size: Size) -> int:
        """The facts behind the ranges of a size's variables."""
        mask = 0
        if type(size) is Term:
            for v in term_vars(size):
                mask |= self.spans.get(v, 0)
        return mask

    def add(self, size: Size, mask: int) -> None:
        """Add `size >= 0` and the rows that its monomials imply."""
        if type(size) is Term:
            self.least.append((size, mask))
            self.visit(size)

    def visit(self, term: Term) -> None:
        """Register the monomials of a term."""
        for mono in sorted(term.mons, key=mono_key):
            if mono and mono not in self.monos:
                self.monos[mono] = None
                if len(mono) > 1:
                    self.bound(mono)
                for atom in mono:
                    if atom not in self.atoms:
                        self.atoms[atom] = None
                        self.define(atom)

    def bound(self, mono: Mono) -> None:
        """Add the range of a monomial."""
        low, high = mono_interval(mono, self.ranges)
        term = Term({mono: 1})
        mask = self.span(term)
        if low is not None:
            self.add(term - low, mask)
        if high is not None:
            self.add(high - term, mask)

    def define(self, atom: Atom) -> None:
        """Add the range and the definition of an atom."""
        self.bound((atom,))
        if type(atom) is Floor:
            least = lower(atom.den, self.ranges)
            if least is not None and least >= 1:
                rest = atom.num - atom.den * of_atom(atom)
                mask = self.span(atom.den)
                self.add(rest, mask)
                self.add(atom.den - 1 - rest, mask)
        elif type(atom) is Max:
            for a in atom.args:
                self.add(of_atom(atom) - a, 0)

    def link(self) -> None:
        """Relate quotients of one size if one divisor is a multiple of the other: `x // (a * k)` is `x // a // k`."""
        quotients = [a for a in self.atoms if type(a) is Floor and type(a.den) is Term]
        for a, b in permutations(quotients, 2):
            if a.num == b.num:
                times = floordiv(b.den, a.den)
                if isinstance(times, int) and times > 1 and b.den == a.den * times and at_least(a.den, 1, self.ranges):
                    rest = of_atom(a) - of_atom(b) * times
                    mask = self.span(a.den)
                    self.add(rest, mask)
                    self.add(times - 1 - rest, mask)

    def multiply(self) -> None:
        """Add products of two inequalities whose monomials are wanted."""
        bent = [m for m in self.monos if len(m) > 1]
        if not bent:
            return
        inside = sorted({a for m in bent for a in m}, key=atom_key)
        wanted = set(bent)
        if len(inside) <= 5:
            wanted.update(map(_sorted, combinations_with_replacement(inside, 2)))
        factors: list[tuple[Atom, Known]] = []
        for atom in inside:
            low, high = bounds(of_atom(atom), self.ranges)
            mask = self.span(of_atom(atom))
            if low is not None:
                factors.append((atom, _term(of_atom(atom) - low, mask)))
            if high is not None:
                factors.append((atom, _term(high - of_atom(atom), mask)))
        for a, b in combinations(inside, 2):
            if _flattens(a) or _flattens(b) or all(_sorted(p) in self.monos for p in ((a, a), (a, b), (b, b))):
                square = (of_atom(a) - of_atom(b)) * (of_atom(a) - of_atom(b))
                if type(square) is Term and all(m in self.monos for m in square.mons):
                    self.add(square, 0)
        times = _Multiples(wanted)
        self.times(self.least, factors, times, set(inside))
        if max(map(len, bent)) > 2:
            self.times([k for k in self.least if any(len(m) == 2 for m in k[0].mons)], factors, times, set(inside))
        for e, e_mask in list(self.equal):
            for atom in inside:
                product = times.product(e, atom, of_atom(atom))
                if product is not None:
                    self.equal.append((product, e_mask))
                    self.visit(product)

    def times(self, lines: list[Known], factors: list[tuple[Atom, Known]], times: _Multiples, atoms: set[Atom]) -> None:
        """Add the products of lines and factors whose monomials are wanted."""
        room = _MOST_PRODUCTS
        seen: set[Size] = {t for t, _ in self.least}
        short = [k for k in lines if len(k[0].mons) <= 5 and any(a in atoms for m in k[0].mons for a in m)]
        for a, a_mask in short:
            for atom, (b, b_mask) in factors:
                product = times.product(a, atom, b)
                if product is None or product in seen:
                    continue
                seen.add(product)
                self.add(product, a_mask | b_mask)
                room -= 1
                if not room:
                    return


class _Multiples:
    """Products with factors of one atom, filtered to wanted monomials from degree 2 on."""

    def __init__(self, wanted: set[Mono]) -> None:
        self.wanted = wanted
        # For each atom the monomials whose product with it is wanted.
        self.of: dict[Atom, set[Mono]] = {}
        for mono in wanted:
            for atom in set(mono):
                self.of.setdefault(atom, {()}).add(without(mono, (atom,)))

    def product(self, term: Term, atom: Atom, factor: Size) -> Term | None:
        """`term * factor`, for a factor linear in `atom`; None if it has unwanted monomials."""
        if not _flattens(atom) and not term.mons.keys() <= self.of.get(atom, _CONSTANT):
            return None
        found = term * factor
        is_wanted = type(found) is Term and all(len(m) <= 1 or m in self.wanted for m in found.mons)
        return found if is_wanted and type(found) is Term else None


_CONSTANT: set[Mono] = {()}


def _flattens(atom: Atom) -> bool:
    """Whether the square of the atom has a form of lower degree."""
    return type(atom) is Max and len(atom.args) == 1


def _sorted(mono: Mono) -> Mono:
    return tuple(sorted(mono, key=atom_key))


def _term(size: Size, mask: int) -> Known:
    assert type(size) is Term
    return size, mask


def refute(
    least: list[Known], equal: list[Known], ranges: Ranges, spans: Mapping[Var, int]
) -> int | list[dict[Var, int]] | None:
    """Return the facts that exclude each other, values to try, or None."""
    system = System(ranges, spans)
    for term, mask in equal:
        system.equal.append((term, mask))
        system.visit(term)
    for term, mask in least:
        system.add(term, mask)
    system.link()
    system.multiply()
    columns = {mono: i for i, mono in enumerate(sorted(system.monos, key=mono_key))}
    equalities = [_row(t, m, columns) for t, m in system.equal]
    rows: dict[frozenset[tuple[int, int]], LinearRow] = {}
    for t, m in sorted(system.least, key=lambda k: term_key(k[0])):
        clash = _keep(rows, _row(t, m, columns))
        if clash is not None:
            return clash
    return _Elimination(columns).run(rows, equalities)


def _row(term: Term, mask: int, columns: dict[Mono, int]) -> LinearRow:
    return LinearRow({columns[m]: k for m, k in term.mons.items() if m}, term.mons.get((), 0), mask)


def _keep(rows: dict[frozenset[tuple[int, int]], LinearRow], row: LinearRow) -> int | None:
    """Add a row unless a stronger one exists; return the facts if it cannot hold."""
    coefs = row.coefs
    if not coefs:
        return row.mask if row.constant < 0 else None
    g = gcd(*coefs.values())
    if g > 1:
        row = LinearRow({c: k // g for c, k in coefs.items()}, row.constant // g, row.mask)
    key = frozenset(row.coefs.items())
    there = rows.get(key)
    if there is None or row.constant < there.constant:
        rows[key] = row
        opposite = rows.get(frozenset((c, -k) for c, k in row.coefs.items()))
        if opposite is not None and opposite.constant + row.constant < 0:
            return opposite.mask | row.mask
    return None


class _Elimination:
    def __init__(self, columns: dict[Mono, int]) -> None:
        self.monos = list(columns)
        self.steps: list[tuple[int, list[LinearRow]]] = []

    def run(
        self, rows: dict[frozenset[tuple[int, int]], LinearRow], equalities: list[LinearRow]
    ) -> int | list[dict[Var, int]] | None:
        left = list(rows.values())
        while equalities:
            equality = equalities.pop(0)
            if not equality.coefs:
                if equality.constant:
                    return equality.mask
                continue
            if equality.constant % gcd(*equality.coefs.values()):
                return equality.mask
            pivot = min(equality.coefs, key=lambda c: (abs(equality.coefs[c]), -c))
            self.steps.append(
                (pivot, [equality, LinearRow({c: -k for c, k in equality.coefs.items()}, -equality.constant, 0)])
            )
            equalities = [_substituted(r, equality, pivot) for r in equalities]
            rows = {}
            for row in left:
                clash = _keep(rows, _substituted(row, equality, pivot))
                if clash is not None:
                    return clash
            left = list(rows.values())
        return self.eliminate(left)

    def eliminate(self, left: list[LinearRow]) -> int | list[dict[Var, int]] | None:
        while left:
            column = _cheapest(left)
            above = [r for r in left if r.coefs.get(column, 0) > 0]
            below = [r for r in left if r.coefs.get(column, 0) < 0]
            rows = {frozenset(r.coefs.items()): r for r in left if column not in r.coefs}
            if len(above) * len(below) + len(rows) > _MOST_ROWS:
                return None
            self.steps.append((column, above + below))
            for a in above:
                for b in below:
                    clash = _keep(rows, _combined(a, b, column))
                    if clash is not None:
                        return clash
            left = list(rows.values())
        return [self.values(preferred) for preferred in (1, 0, 6)]

    def values(self, preferred: int) -> dict[Var, int]:
        """Values that satisfy the rows, as far as rounding and the monomials' definitions allow."""
        known: dict[int, int] = {}
        point: dict[Var, int] = {}
        for column, rows in reversed(self.steps):
            mono = self.monos[column]
            term = Term({mono: 1})
            if all(v in point for v in term_vars(term)):
                known[column] = evaluate(term, point)
                continue
            low: int | None = None
            high: int | None = None
            for row in rows:
                k = row.coefs[column]
                rest = row.constant + sum(j * known.get(c, 0) for c, j in row.coefs.items() if c != column)
                if k > 0:
                    low = -(rest // k) if low is None else max(low, -(rest // k))
                else:
                    high = rest // -k if high is None else min(high, rest // -k)
            value = preferred
            if low is not None and value < low:
                value = low
            if high is not None and value > high:
                value = high
            known[column] = value
            if len(mono) == 1 and type(mono[0]) is Var:
                point[mono[0]] = value
        return point


def _substituted(row: LinearRow, equality: LinearRow, pivot: int) -> LinearRow:
    k = row.coefs.get(pivot)
    if not k:
        return row
    p = equality.coefs[pivot]
    g = gcd(k, p)
    times, off = abs(p) // g, (k if p > 0 else -k) // g
    return _sum(row, times, equality, -off)


def _combined(a: LinearRow, b: LinearRow, column: int) -> LinearRow:
    k, j = a.coefs[column], -b.coefs[column]
    g = gcd(k, j)
    return _sum(a, j // g, b, k // g)


def _sum(a: LinearRow, x: int, b: LinearRow, y: int) -> LinearRow:
    charge(1 + len(a.coefs) + len(b.coefs) + (x.bit_length() + a.constant.bit_length()) // 64)
    coefs = {c: k * x for c, k in a.coefs.items()}
    for c, k in b.coefs.items():
        total = coefs.get(c, 0) + k * y
        if total:
            coefs[c] = total
        else:
            del coefs[c]
    return LinearRow(coefs, a.constant * x + b.constant * y, a.mask | b.mask)


def _cheapest(rows: list[LinearRow]) -> int:
    above: dict[int, int] = {}
    below: dict[int, int] = {}
    for row in rows:
        for c, k in row.coefs.items():
            if k > 0:
                above[c] = above.get(c, 0) + 1
            else:
                below[c] = below.get(c, 0) + 1
    columns = above.keys() | below.keys()
    return min(columns, key=lambda c: (above.get(c, 0) * below.get(c, 0) - above.get(c, 0) - below.get(c, 0), -c))
