"""Questions that the cheap layers leave open, for z3: are these conditions satisfiable, and by which values?

A session is one context for the questions of one function, which makes every term once. Each question has its own solver,
with the known conditions below and the wanted one in a scope above, and a limit of resources, not of time. The limit does not
count all of z3's work, so z3 is stopped far beyond the time that the limit usually takes, and the question stays unknown.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from .conditions import AllOf, AnyOf, Cond, Condition, Eq0, Ge0, cond_terms, cond_vars
from .terms import Atom, Floor, Max, Size, Term, Var, left, spend


def _import_errors() -> tuple[type[Exception], ...]:
    """The exceptions of importing z3: its own one if its library is missing, AttributeError for an old version."""
    types = sys.modules.get("z3.z3types")
    return (ImportError, AttributeError, *(() if types is None else (types.Z3Exception,)))


try:
    import z3
except _import_errors() as wrong:
    raise ImportError(f"z3 cannot be imported: {wrong}") from wrong

LIMIT = 200_000
_A_STEP = 4  # this many of z3's units of resources count as one step of ours
_FAR = 0.6  # seconds of CPU time, many times as long as the limit takes
_FEE = 180_000  # the steps charged for a question that had to be stopped
Answer = dict[Var, int] | bool | None
K = TypeVar("K")
V = TypeVar("V")


class SmtSession:
    """A context with its terms, for one thread."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.stopped = 0  # the number of times that z3 had to be stopped
        self.in_vain: set[tuple[Cond, ...]] = set()  # questions that reached the limit without an answer
        self.renew()

    def renew(self) -> None:
        """Forget everything."""
        self.asked = False
        self.used = 0  # units of resources, of this context
        self.terms: dict[Term, Any] = {}
        self.atoms: dict[Atom, Any] = {}
        self.conds: dict[Condition, Any] = {}
        self.meanings: dict[Atom, list[Any]] = {}  # the constraints that define an atom's value
        self.context: Any = None  # the old context frees its memory before the new one is made
        self.context = z3.Context()

    def solve(self, known: Iterable[Cond], wanted: Iterable[Cond], values: bool = True) -> list[Answer]:
        """Return for each wanted condition values that satisfy it and all known ones (True if no values are requested), False
        if there are none, None if the limit was reached."""
        known = list(known)
        hard = any(map(_hard, known))
        solver: SmtSolver | None = None
        answers: list[Answer] = []
        for cond in wanted:
            question = (*known, cond)
            if hard or _hard(cond) or question in self.in_vain:
                answers.append(None)
                continue
            first, self.asked = not self.asked, True
            solver = solver or SmtSolver(self, known)
            answer = solver.ask(cond)
            if isinstance(answer, dict) and not values:
                answer = True
            elif isinstance(answer, dict) and not first:
                # the values depend on what the context has seen: take those of a new one
                solver = None
                self.renew()
                answer = self.solve(known, [cond])[0]
            if answer is None:
                self.in_vain.add(question)
            answers.append(answer)
        return answers

    # ------------------------------------------------------------ terms

    def cond(self, cond: Cond) -> Any:
        """The z3 formula of a condition."""
        if isinstance(cond, bool):
            return z3.BoolVal(cond, self.context)
        return _kept(self.conds, cond, self._new_cond)

    def _new_cond(self, cond: Condition) -> Any:
        if isinstance(cond, AnyOf):
            return z3.Or([self.cond(p) for p in cond.parts])
        if isinstance(cond, AllOf):
            return z3.And([self.cond(p) for p in cond.parts])
        value = self.size(cond.term)
        if isinstance(cond, Ge0):
            return value >= 0
        return value == 0 if isinstance(cond, Eq0) else value != 0

    def size(self, size: Size) -> Any:
        """The z3 term of a size."""
        if isinstance(size, int):
            return z3.IntVal(size, self.context)
        return _kept(self.terms, size, self._new_size)

    def _new_size(self, size: Term) -> Any:
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
        """The z3 term of an atom."""
        return _kept(self.atoms, atom, self._new_atom)

    def _new_atom(self, atom: Atom) -> Any:
        if type(atom) is not Max:
            return z3.Int(f"a{len(self.atoms)}", self.context)
        result = z3.IntVal(0, self.context)
        for arg in atom.args:
            value = self.size(arg)
            result = z3.If(value > result, value, result)
        return result

    def meaning(self, atom: Atom) -> list[Any]:
        """The constraints that define an atom's value."""
        return _kept(self.meanings, atom, self._new_meaning)

    def _new_meaning(self, atom: Atom) -> list[Any]:
        value = self.atom(atom)
        if type(atom) is Var:
            return [value >= 0] if atom.nonneg else []
        if type(atom) is Max:
            return []
        num = self.size(atom.num)
        if isinstance(atom.den, int):
            return [value * atom.den <= num, num < value * atom.den + atom.den]
        den = self.size(atom.den)
        above = z3.And(value * den <= num, num < value * den + den)
        below = z3.And(value * den >= num, num > value * den + den)
        return [z3.If(den > 0, above, z3.If(den < 0, below, value == 0))]


def _kept(table: dict[K, V], key: K, make: Callable[[K], V]) -> V:
    """Return the table's value for a key, made on first use."""
    found = table.get(key)
    if found is None:
        found = table[key] = make(key)
    return found


def try_thread() -> None:
    """Start a thread, as each question does. Raises RuntimeError if there are no threads, as in a browser."""
    threading.Thread(target=int, daemon=True).start()


class SmtSolver:
    """A solver that holds some known conditions."""

    def __init__(self, session: SmtSession, known: list[Cond]) -> None:
        self.session, self.known = session, known
        self.told: set[Atom] = set()
        self.solver = z3.Solver(ctx=session.context)
        self.solver.set("rlimit", max(min(session.limit, left() * _A_STEP), 1))
        self.solver.set("ctrl_c", False)
        for part in ("arith.nl.grobner", "arith.nl.nra"):  # they do not check the limit, and may take minutes
            self.solver.set(part, False)
        self.solver.push()  # inside a scope z3 uses another engine, the quicker one
        for cond in known:
            self.tell(cond, self.told)

    def tell(self, cond: Cond, told: set[Atom]) -> None:
        """Add a condition with the definitions of its atoms."""
        self.solver.add(self.session.cond(cond))
        waiting = _atoms(cond_terms(cond))
        while waiting:
            atom = waiting.pop()
            if atom not in told:
                told.add(atom)
                self.solver.add(self.session.meaning(atom))
                waiting.extend(_atoms(p for p in _parts(atom) if type(p) is Term))

    def ask(self, cond: Cond) -> Answer:
        """Return values that satisfy a condition and the known ones, False if there are none, None if z3 does not know."""
        self.solver.push()
        self.tell(cond, set(self.told))
        with _Watch(self.session):
            answer = self.solver.check()
        self.account()
        found: Answer = False if answer == z3.unsat else None
        if answer == z3.sat:
            model, atom = self.solver.model(), self.session.atom
            free = sorted(set().union(*(cond_vars(c) for c in (*self.known, cond))))
            found = {v: model.eval(atom(v), model_completion=True).as_long() for v in free}
        self.solver.pop()
        return found

    def account(self) -> None:
        """Count z3's work since the last question."""
        statistics = self.solver.statistics()
        used = next((statistics.get_key_value(k) for k in statistics.keys() if k == "rlimit count"), 0)  # noqa: SIM118
        spend(max(used - self.session.used, 0) // _A_STEP)
        self.session.used = used


class _Watch:
    """Stops z3 if it runs far past its limit."""

    def __init__(self, session: SmtSession) -> None:
        self.session, self.context = session, session.context
        self.over = threading.Event()
        self.asking = threading.get_ident()
        self.began = _cpu(self.asking)
        self.stopped = False

    def __enter__(self) -> _Watch:
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()
        if self.stopped:
            self.session.stopped += 1
            spend(_FEE)

    def _watch(self) -> None:
        while not self.over.wait(_FAR / 4):
            if _cpu(self.asking) - self.began > _FAR:
                self.stopped = True
                self.context.interrupt()


def _cpu(thread: int) -> float:
    """The CPU time of a thread, or of the process if threads have none of their own."""
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(thread))
    except (AttributeError, OSError):  # missing on this system, or present by name only
        return time.process_time()


def _atoms(terms: Iterable[Term]) -> list[Atom]:
    return [atom for term in terms for mono in term.mons for atom in mono]


def _parts(atom: Atom) -> tuple[Size, ...]:
    """The sizes that an atom is made of."""
    if type(atom) is Floor:
        return (atom.num, atom.den)
    return atom.args if type(atom) is Max else ()


def _hard(cond: Cond) -> bool:
    return any(map(_too_hard, cond_terms(cond)))


def _too_hard(term: Term) -> bool:
    """Whether z3 might spend long in one step, in which it does not check its limit."""
    if len(term.mons) > 200 or any(k.bit_length() > 128 for k in term.mons.values()):
        return True
    if max(map(len, term.mons)) > 4 or _divisions(term) > 1:
        return True
    return any(_too_hard(p) for atom in _atoms([term]) for p in _parts(atom) if type(p) is Term)


def _divisions(size: Size) -> int:
    """The depth of nested divisions by sizes: z3 may hang on two, whatever its limit."""
    if isinstance(size, int):
        return 0
    return max((max(map(_divisions, _parts(a)), default=0) + _by_a_size(a) for a in _atoms([size])), default=0)


def _by_a_size(atom: Atom) -> bool:
    return type(atom) is Floor and type(atom.den) is Term
