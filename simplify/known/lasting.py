"""Data off the trail: valid in all scopes, so that backtracking removes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count

from ..solver.conditions import Cond
from ..solver.sizes import single_var
from ..solver.terms import Size, Term, Var, var, variables
from .values import Entry, Shape

_MOST_PRIMES = 16  # further primes are written as a number


class GivenNames:
    """The names and serial numbers given to sizes."""

    def __init__(self) -> None:
        self._serials = count(1)
        self.used: set[str] = set()
        self._primes: dict[str, int] = {}
        # The serial numbers of sizes with a name from `fresh`; other sizes may have the same name.
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
        """Return a new size called `name` (primed if that is taken)."""
        serial = self.serial()
        self.own.add(serial)
        return var(self.fresh(name), serial, nonneg)

    def give_back(self, size: Size) -> None:
        """Release the name of a size that is no longer used; the next size that wants it gets it without a prime."""
        gone = single_var(size)
        if gone is not None:
            self.used.discard(gone.name)
            self._primes.pop(gone.name.rstrip("'"), None)
            self.own.discard(gone.serial)

    @contextmanager
    def apart(self, spoken: Iterable[Size] | None = None) -> Iterator[None]:
        """Release the names given inside at the end; if only the `spoken` sizes are used inside, the names of all others are
        free there too."""
        used, primes = set(self.used), dict(self._primes)
        if spoken is not None:
            self.used, self._primes = {v.name for size in spoken for v in variables(size)}, {}
        try:
            yield
        finally:
            self.used = used if spoken is not None else self.used & used
            self._primes = primes


class Lasting:
    """Values that are made once, on first use."""

    def __init__(self) -> None:
        # For an open stretch of dimensions, by its symbol's serial number: its dimensions, its rank, its number of elements.
        self.dims: dict[tuple[int, int], Var] = {}
        self.ranks: dict[int, Var] = {}
        self.elements: dict[int, Term] = {}
        # Dimensions that lie either in a stretch or beside it.
        self.between: dict[tuple[Shape, int], Size] = {}
        # The result of broadcasting shapes, and the condition under which they broadcast.
        self.common_shapes: dict[frozenset[Shape], tuple[Cond, Shape]] = {}
        # For a tensor of unknown rank: the tensor itself, which keeps its id unique, and the tensor that its rank comes from.
        self.ranks_from: dict[int, tuple[Entry, Entry]] = {}
