"""Questions that the cheap layers leave open, asked of z3: are these conditions satisfiable, and by which values?

Each question has a context and a solver of its own, so that its answer does not depend on earlier ones, and a limit of
resources, never of time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import z3

from .conditions import AllOf, AnyOf, Cond, Eq0, Ge0
from .decide import cond_terms
from .terms import Atom, Floor, Max, Size, Term, Var

LIMIT = 200_000


class Question:
    """A conjunction of conditions under construction."""

    def __init__(self, limit: int) -> None:
        self.context = z3.Context()
        self.solver = z3.Solver(ctx=self.context)
        self.solver.set("rlimit", limit)
        self.solver.set("ctrl_c", False)
        self.atoms: dict[Atom, Any] = {}
        self.made = 0

    def size(self, size: Size) -> Any:
        """The z3 term of a size."""
        if isinstance(size, int):
            return z3.IntVal(size, self.context)
        parts = []
        for mono, k in size.mons.items():
            factors = [self.atom(a) for a in mono]
            if k != 1 or not factors:
                factors.append(z3.IntVal(k, self.context))
            product = factors[0]
            for factor in factors[1:]:
                product = product * factor
            parts.append(product)
        return parts[0] if len(parts) == 1 else z3.Sum(parts)

    def atom(self, atom: Atom) -> Any:
        """The z3 term of an atom, with what defines it."""
        found = self.atoms.get(atom)
        if found is None:
            found = self.atoms[atom] = self.new_atom(atom)
        return found

    def new_atom(self, atom: Atom) -> Any:
        if type(atom) is Max:
            result = z3.IntVal(0, self.context)
            for arg in atom.args:
                value = self.size(arg)
                result = z3.If(value > result, value, result)
            return result
        self.made += 1
        fresh = z3.Int(f"a{self.made}", self.context)
        if type(atom) is Var:
            if atom.nonneg:
                self.solver.add(fresh >= 0)
            return fresh
        assert type(atom) is Floor
        num = self.size(atom.num)
        if isinstance(atom.den, int):
            self.solver.add(fresh * atom.den <= num, num < fresh * atom.den + atom.den)
            return fresh
        den = self.size(atom.den)
        above = z3.And(fresh * den <= num, num < fresh * den + den)
        below = z3.And(fresh * den >= num, num > fresh * den + den)
        self.solver.add(z3.If(den > 0, above, z3.If(den < 0, below, fresh == 0)))
        return fresh

    def cond(self, cond: Cond) -> Any:
        """The z3 formula of a condition."""
        if isinstance(cond, bool):
            return z3.BoolVal(cond, self.context)
        if isinstance(cond, AnyOf):
            return z3.Or([self.cond(p) for p in cond.parts])
        if isinstance(cond, AllOf):
            return z3.And([self.cond(p) for p in cond.parts])
        value = self.size(cond.term)
        if isinstance(cond, Ge0):
            return value >= 0
        return value == 0 if isinstance(cond, Eq0) else value != 0


def solve(conds: Iterable[Cond], variables: Iterable[Var], limit: int = LIMIT) -> dict[Var, int] | bool | None:
    """Values that satisfy all conditions; False where there are none, None where the limit came first."""
    conds = list(conds)
    if any(_too_hard(t) for c in conds for t in cond_terms(c)):
        return None
    question = Question(limit)
    for cond in conds:
        question.solver.add(question.cond(cond))
    answer = question.solver.check()
    if answer == z3.unsat:
        return False
    if answer != z3.sat:
        return None
    model = question.solver.model()
    values: dict[Var, int] = {}
    for v in variables:
        known = question.atoms.get(v)
        values[v] = model.eval(known, model_completion=True).as_long() if known is not None else 0
    return values


def _too_hard(term: Term) -> bool:
    """Would z3 spend long in one step, where it does not look at its limit?"""
    if len(term.mons) > 200 or any(k.bit_length() > 128 for k in term.mons.values()):
        return True
    if max(map(len, term.mons)) > 4:
        return True
    for mono in term.mons:
        for atom in mono:
            parts = (atom.num, atom.den) if type(atom) is Floor else atom.args if type(atom) is Max else ()
            if any(_too_hard(p) for p in parts if type(p) is Term):
                return True
    return False
