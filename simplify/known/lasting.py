"""What is off the trail: it means the same in all scopes, so that going back takes none of it away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count

from ..solver.conditions import Cond
from ..solver.sizes import single_var
from ..solver.terms import Size, Term, Var, var, variables
from .values import Entry, Shape

_MOST_PRIMES = 16  # of more a name has the number


class GivenNames:
    """The names and serial numbers that sizes were given."""

    def __init__(self) -> None:
        self._serials = count(1)
        self.used: set[str] = set()
        self._primes: dict[str, int] = {}
        # Sizes that have their names for themselves: others may be called the same.
        self.own: set[int] = set()

    def serial(self) -> int:
        return next(self._serials)

    def fresh(self, name: str) -> str:
        primes = self._primes.get(name, 0)
        while (primed := name + (f"'{primes}" if primes > _MOST_PRIMES else "'" * primes)) in self.used:
            primes += 1
        self._primes[name] = primes
        self.used.add(primed)
        return primed

    def size(self, name: str, nonneg: bool = True) -> Term:
        """A new size that is called `name` (primed if another one is)."""
        serial = self.serial()
        self.own.add(serial)
        return var(self.fresh(name), serial, nonneg)

    def give_back(self, size: Size) -> None:
        """The name of a size that nothing speaks of any more: the next one that wants it has it without a prime."""
        gone = single_var(size)
        if gone is not None:
            self.used.discard(gone.name)
            self._primes.pop(gone.name.rstrip("'"), None)
            self.own.discard(gone.serial)

    @contextmanager
    def apart(self, spoken: Iterable[Size] | None = None) -> Iterator[None]:
        """Names that are given inside can be given again; where only some sizes are `spoken` of inside, so can those of others
        be there."""
        used, primes = set(self.used), dict(self._primes)
        if spoken is not None:
            self.used, self._primes = {v.name for size in spoken for v in variables(size)}, {}
        try:
            yield
        finally:
            self.used = used if spoken is not None else self.used & used
            self._primes = primes


class Lasting:
    """What was made when it was first asked for."""

    def __init__(self) -> None:
        # Of an open stretch of dimensions, by its symbol's serial number: its dimensions, its rank, and its elements.
        self.dims: dict[tuple[int, int], Var] = {}
        self.ranks: dict[int, Var] = {}
        self.elements: dict[int, Term] = {}
        # Dimensions that lie in a stretch or beside it.
        self.between: dict[tuple[Shape, int], Size] = {}
        # What shapes broadcast to, and the condition under which they do.
        self.common_shapes: dict[frozenset[Shape], tuple[Cond, Shape]] = {}
        # Of a tensor whose rank is not known: itself, which keeps its id its own, and the one that it has that from.
        self.ranks_from: dict[int, tuple[Entry, Entry]] = {}
