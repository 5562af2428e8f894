"""The sizes that conditions on one size accept, exactly: intervals, multiples, remainders, and their text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ...lang.node import Node
from .conditions import Cond, all_of
from .piecewise import NotPiecewise, Stretch, shortest, truth
from .terms import Var

# The longest period of a pattern; the most sizes examined one by one; the most runs listed without a search for a pattern;
# the most sizes of one gap that are named.
_LONGEST, _MOST, _FEW_RUNS, _FEW_POINTS = 4_096, 20_000, 3, 3

Run = tuple[int, int]


class ResidueInterval(Node):
    """The sizes from `first` to `last` (included; None: without end) that leave one of some remainders by `modulus`."""

    first: int
    last: int | None
    modulus: int = 1
    remainders: tuple[int, ...] = (0,)

    def __contains__(self, n: int) -> bool:
        return self.first <= n and (self.last is None or n <= self.last) and n % self.modulus in self.remainders


class SizeSet(Node):
    """A set of sizes, in ordered and disjoint parts."""

    parts: tuple[ResidueInterval, ...]

    def __contains__(self, n: int) -> bool:
        return any(n in part for part in self.parts)

    @property
    def is_all(self) -> bool:
        return self.parts == (ResidueInterval(0, None),)

    @property
    def last(self) -> int | None:
        """The largest size; None for an empty set or one without end."""
        return self.parts[-1].last if self.parts else None

    def members(self) -> Iterator[int]:
        """The sizes in ascending order, without a part that has no end."""
        for part in self.parts:
            numbers = range(part.first, part.first if part.last is None else part.last + 1)
            yield from (n for n in numbers if n % part.modulus in part.remainders)

    def said(self, name: str) -> str:
        """In words: `192 to 703`, `multiples of 32, from 64`, `h % 32 in 0, 29 to 31`, `all but 1`."""
        if not self.parts:
            return "none"
        return (
            "any" if self.is_all else _all_but(self.parts) or _either([t for p in self.parts for t in _said(p, name)])
        )


EVERY = SizeSet((ResidueInterval(0, None),))


def set_of(conditions: Iterable[Cond], name: Var) -> SizeSet | None:
    """The sizes that satisfy conditions on one size alone; None if no pattern is found."""
    try:
        *first, tail = truth(all_of(*conditions), name)
    except NotPiecewise:
        return None
    long = [
        at for at, stretch in enumerate(first) if len(stretch.polys) > 1 and (stretch.end or 0) - stretch.start > _MOST
    ]
    found, begin = list[ResidueInterval](), 0
    for at in (*long, len(first)):
        pattern = tail if at == len(first) else first[at]
        runs, bits = merged(run for stretch in first[begin:at] for run in _runs(stretch)), _bits(pattern)
        if len(bits) > _LONGEST:
            return None
        start = _begins(runs, pattern.start, bits)
        if runs and runs[-1][0] + 1 < start == min(runs[-1][1], start) and not all(bits):
            end = next(n for n in range(start, start + len(bits)) if not bits[n % len(bits)])
            runs, start = merged([*((a, min(b, start)) for a, b in runs if a < start), (start, end)]), end
        found += _patterns([(a, min(b, start)) for a, b in runs if a < start])
        found += _repeated(start, pattern.end, bits)
        begin = at + 1
    return SizeSet(tuple(found))


def _repeated(start: int, end: int | None, bits: Sequence[bool]) -> Iterator[ResidueInterval]:
    """The sizes of a pattern between two sizes."""
    taken = tuple(r for r, bit in enumerate(bits) if bit)
    if taken:
        least = next(n for n in range(start, start + len(bits)) if bits[n % len(bits)])
        most = None if end is None else next(n for n in range(end - 1, end - 1 - len(bits), -1) if bits[n % len(bits)])
        yield ResidueInterval(least, most, len(bits), taken)


def _runs(stretch: Stretch) -> Iterator[Run]:
    """The runs of sizes on a stretch with an end."""
    bits, start, end = _bits(stretch), stretch.start, stretch.end or 0
    if len(bits) == 1:
        yield from ((start, end),) if bits[0] else ()
    else:
        yield from ((n, n + 1) for n in range(start, end) if bits[n % len(bits)])


def _bits(stretch: Stretch) -> list[bool]:
    """Whether each remainder is in the set, modulo the smallest possible number."""
    return [poly != (0,) for poly in shortest(stretch.polys)]


def merged(runs: Iterable[Run]) -> list[Run]:
    found: list[Run] = []
    for start, end in runs:
        if found and found[-1][1] == start:
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return found


def _begins(runs: Sequence[Run], start: int, bits: Sequence[bool]) -> int:
    """The first size of a pattern that is known to hold from `start`."""
    if len(bits) == 1:
        return runs[-1][0] if bits[0] and runs and runs[-1][1] == start else start
    taken = {n for a, b in runs for n in range(max(a, start - _MOST), b)}
    while start and ((start - 1) in taken) == bits[(start - 1) % len(bits)]:
        start -= 1
    return start


def _patterns(runs: Sequence[Run]) -> Iterator[ResidueInterval]:
    """The runs themselves, or a pattern if they are many."""
    last = runs[-1][1] if runs else 0
    pattern = _period(runs) if len(runs) > _FEW_RUNS and last - runs[0][0] <= _MOST else None
    if pattern is None:
        yield from (ResidueInterval(a, b - 1) for a, b in runs)
    else:
        remainders = tuple(sorted({n % pattern for a, b in runs for n in range(a, b)}))
        yield ResidueInterval(runs[0][0], last - 1, pattern, remainders)


def _period(runs: Sequence[Run]) -> int | None:
    """The period of a pattern that covers all runs, from the first to the last; None without one."""
    first, last = runs[0][0], runs[-1][1]
    bits = "".join("1" * (b - a) + "0" * (c - b) for (a, b), (c, _) in pairwise([*runs, (last, last)]))
    return next((n for n in range(2, (last - first) // 2 + 1) if bits[n:] == bits[:-n]), None)


def _all_but(parts: Sequence[ResidueInterval]) -> str | None:
    """`all but 1 and 2`, if only a few sizes are missing; else None."""
    if any(part.modulus > 1 for part in parts) or parts[0].first or parts[-1].last is not None:
        return None
    gaps = [n for one, other in pairwise(parts) for n in range((one.last or 0) + 1, other.first)[: _FEW_POINTS + 1]]
    return f"all but {' and '.join(map(str, gaps))}" if len(gaps) <= 2 else None


def _said(part: ResidueInterval, name: str) -> Iterator[str]:
    if part.modulus == 1:
        is_pair = part.last == part.first + 1
        yield from (str(part.first), str(part.last)) if is_pair else (_run(part.first, part.last),)
        return
    if part.remainders == (0,):
        what, least = f"multiples of {part.modulus}", 0
    else:
        which = [_run(a, b - 1) for a, b in merged((r, r + 1) for r in part.remainders)]
        left = f"{name} % {part.modulus}".lstrip()
        what = f"{left} {'in' if len(part.remainders) > 1 else '=='} {', '.join(which)}"
        least = part.remainders[0]
    begins = f"from {part.first}" if part.first > least else ""
    ends = "" if part.last is None else f"{'to' if begins else 'up to'} {part.last}"
    bounds = " ".join(filter(None, (begins, ends)))
    yield what if not bounds else f"{what}, {bounds}" if part.remainders == (0,) else f"{what} ({bounds})"


def _run(first: int, last: int | None) -> str:
    if last is None:
        return f"from {first}"
    return str(first) if first == last else f"{first} to {last}"


def _either(texts: Sequence[str]) -> str:
    """Join alternatives with "or", by semicolons if they contain commas."""
    if len(texts) == 1:
        return texts[0]
    mark = "; " if any(", " in text for text in texts) else ", "
    return f"{mark.join(texts[:-1])}{mark if mark == '; ' or len(texts) > 2 else ' '}or {texts[-1]}"
