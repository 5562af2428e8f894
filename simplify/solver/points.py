"""A few integer points that satisfy given conditions; a question that is true at one and false at another is open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

from .conditions import Cond, cond_vars, evaluate_cond
from .terms import Bounds, Ranges, Var

Point = dict[Var, int]

_PATTERNS: tuple[tuple[int, ...], ...] = (
    (2, 3, 5, 7, 11, 13),
    (1, 1, 1, 1, 1, 1),
    (0, 0, 0, 0, 0, 0),
    (4, 2, 3, 1, 6, 5),
    (1, 2, 3, 4, 5, 6),
    (7, 5, 3, 2, 1, 0),
    (0, 1, 2, 3, 0, 1),
    (3, 0, 1, 0, 2, 0),
    (8, 8, 8, 8, 8, 8),
    (6, 12, 4, 24, 3, 2),
    (17, 1, 31, 2, 9, 40),
    (1, 19, 2, 27, 50, 3),
    (100, 64, 10, 37, 128, 2),
    (12, 90, 55, 1, 0, 33),
    (255, 1000, 7, 129, 64, 2),
    (1, 0, 0, 1, 1, 0),
    (90, 0, 1, 60, 0, 7),
    (0, 100, 70, 1, 25, 0),
    (1_000, 0, 0, 0, 0, 0),
    (0, 0, 0, 0, 0, 1_000),
    (1, 60, 1, 1, 60, 1),
    (1, 1, 60, 1, 1, 60),
    (1, 1, 1, 60, 1, 1),
    (10_007, 9_973, 20_011, 5_003, 30_011, 7_001),
    (3_000, 10**9, 50, 10**8, 4, 10**7),
    (10**9, 3_000, 10**8, 50, 10**7, 4),
)
_MOST_POINTS = 300


def clamp(value: int, range_: Bounds) -> int:
    """The value moved into the range: by a shift from a single bound, or modulo the length between two."""
    low, high = range_
    if low is None:
        return value if high is None or value <= high else high - abs(value)
    if high is None:
        return low + abs(value) if low > 0 and value < low else max(value, low)
    return value if low <= value <= high else low + value % (high - low + 1)


def nearest(value: int, range_: Bounds) -> int:
    """The value of the range nearest to `value`."""
    low, high = range_
    if low is not None and value < low:
        return low
    return high if high is not None and value > high else value


def samples(free: Sequence[Var], ranges: Ranges) -> Iterator[Point]:
    """Points within the ranges, the most informative first."""
    limits = [ranges.get(v, (0 if v.nonneg else None, None)) for v in free]
    for turn, pattern in enumerate(_PATTERNS):
        wide = len(pattern)
        step = 0 if len(set(pattern)) == 1 else 1
        yield {
            v: clamp(_signed(pattern[i % wide] + i // wide * step, v, turn + i), limits[i]) for i, v in enumerate(free)
        }


def every(free: Sequence[Var], ranges: Ranges) -> Iterator[Point] | None:
    """All points within the ranges if they are few, else None."""
    count = 1
    choices: list[range] = []
    for v in free:
        low, high = ranges.get(v, (None, None))
        if low is None or high is None:
            return None
        count *= high - low + 1
        if count > _MOST_POINTS:
            return None
        choices.append(range(low, high + 1))
    return (dict(zip(free, values, strict=True)) for values in product(*choices))


def _signed(value: int, v: Var, turn: int) -> int:
    return -value if not v.nonneg and turn % 2 else value


def holds(conds: Sequence[Cond], point: Point) -> bool:
    """Whether all conditions hold at the point."""
    return all(evaluate_cond(c, point) for c in conds)


def holds_given(conds: Sequence[Cond], point: Point) -> bool:
    """As `holds`, but False if the point lacks a variable."""
    return all(point.keys() >= cond_vars(c) and evaluate_cond(c, point) for c in conds)


def smallest_first(free: Sequence[Var], least: Mapping[Var, int], ranges: Ranges, budget: int) -> Iterator[Point]:
    """Points with as few variables as possible away from their least values, then the smallest values."""
    base = {v: least[v] for v in free}
    yield base
    spent = 1
    for away in range(1, min(len(free), 3) + 1):
        reach = max(2, min(200, int((budget / 4) ** (1 / away))))
        others = [_steps(v, least[v], ranges, reach) for v in free]
        for steps in _by_total(reach, away):
            for chosen in combinations(reversed(range(len(free))), away):
                if any(s >= len(others[i]) for s, i in zip(steps, chosen, strict=True)):
                    continue
                point = dict(base)
                for s, i in zip(steps, chosen, strict=True):
                    point[free[i]] = others[i][s]
                yield point
                spent += 1
                if spent > budget:
                    return


def _by_total(reach: int, count: int) -> list[tuple[int, ...]]:
    return sorted(product(range(reach), repeat=count), key=lambda s: (sum(s), max(s), s))


def _steps(v: Var, least: int, ranges: Ranges, reach: int) -> list[int]:
    low, high = ranges.get(v, (0 if v.nonneg else None, None))
    up = range(least + 1, least + reach + 1)
    down = range(least - 1, least - reach - 1, -1)
    values = [x for pair in zip(up, down, strict=True) for x in pair]
    return [x for x in values if (low is None or x >= low) and (high is None or x <= high)]


def lessened(conds: Sequence[Cond], point: Point, least: Mapping[Var, int]) -> Point:
    """The point with each variable moved towards its least value as far as the conditions allow."""
    now = dict(point)
    for _ in range(3):
        before = dict(now)
        for v, low in least.items():
            for value in _towards(now[v], low):
                if holds(conds, {**now, v: value}):
                    now[v] = value
                    break
        if now == before:
            break
    return now


def _towards(value: int, least: int) -> list[int]:
    """Candidates between the least value and the present one, the least first."""
    near = range(least, min(value, least + 12))
    step = (value - least) // 2
    far = []
    while step > 0 and value - step >= least + 12:
        far.append(value - step)
        step //= 2
    return [*near, *far]
