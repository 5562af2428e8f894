"""A family of random tests to the programs that it tries, and what came of them to a table.

`make test` tries a sample; `RX_FUZZ=1`, which `make fuzz` sets, tries all of them, and a fraction so many. What fails is told
with its number, and `RX_SEED=4711` tries that one alone.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from types import TracebackType
from typing import NamedTuple

FUZZ = float(os.environ["RX_FUZZ"]) if "RX_FUZZ" in os.environ else None
SEED = int(os.environ["RX_SEED"]) if "RX_SEED" in os.environ else None
# A part of a family goes on behind so many failures.
MOST_WRONG = 10


class Count(NamedTuple):
    """How many programs a family tries: in a sample, and in all."""

    sample: int
    all: int


FAMILIES: dict[str, Count] = {
    # What is proved holds, what is refuted fails, and all ways to run agree: 20,000 programs in all.
    "random programs": Count(60, 12_000),
    "loops over sizes": Count(12, 5_000),
    "loops": Count(8, 3_000),
    "turns": Count(120, 5_000),
    "texts": Count(12, 1_000),
    "given": Count(12, 1_000),
}  # fmt: skip


def tries(family: str) -> int:
    """How many programs a family tries in this run."""
    count = FAMILIES[family]
    return count.sample if FUZZ is None else max(round(count.all * FUZZ), 1)


class Case:
    """One program of a family, by its number: what fails inside is told with it."""

    def __init__(self, family: str, seed: int, wrong: list[Exception]) -> None:
        self.family, self.seed, self.wrong = family, seed, wrong

    def __enter__(self) -> int:
        self.began = time.process_time()
        return self.seed

    def __exit__(self, kind: object, problem: BaseException | None, trace: TracebackType | None) -> bool:
        count(self.family, "programs")
        count(self.family, "seconds", time.process_time() - self.began)
        if not isinstance(problem, Exception):
            return False
        count(self.family, "wrong")
        problem.add_note(f"{self.family}: RX_SEED={self.seed}")
        self.wrong.append(problem)
        return FUZZ is not None and len(self.wrong) < MOST_WRONG


def cases(family: str, part: int = 0, parts: int = 1) -> Iterator[Case]:
    """The programs of a family, or of one part of it; in the end all that failed does."""
    wrong: list[Exception] = []
    total = tries(family)
    for seed in range(part * total // parts, (part + 1) * total // parts) if SEED is None else [SEED] * (part == 0):
        yield Case(family, seed, wrong)
    if wrong:
        raise ExceptionGroup(f"{family}: {len(wrong)} programs", wrong)


_figures: Counter[tuple[str, str]] = Counter()


def count(family: str, what: str, number: float = 1) -> None:
    """One more program of a family of which something is to be said: "unknown", "at its budget"."""
    _figures[family, what] += number  # type: ignore[assignment]


def taken() -> list[tuple[str, float]]:
    """What was counted since this was asked last."""
    found = [(f"fuzz {family}: {what}", number) for (family, what), number in _figures.items()]
    _figures.clear()
    return found


def table(properties: list[tuple[str, object]]) -> list[str]:
    """The lines of a table of what all tests counted."""
    counts: dict[str, Counter[str]] = {}
    for name, number in properties:
        if name.startswith("fuzz ") and isinstance(number, int | float):
            family, _, what = name.removeprefix("fuzz ").partition(": ")
            counts.setdefault(family, Counter())[what] += number  # type: ignore[assignment]
    columns = ("programs", "wrong", "unknown", "at its budget", "seconds")
    rows = [(family, *(found[column] for column in columns)) for family, found in sorted(counts.items())]
    rows.append(("all", *(sum(row[i] for row in rows) for i in range(1, len(columns) + 1))))
    lines = [f"{'family':26}" + "".join(f"{column:>15}" for column in columns)]
    return lines + [f"{name:26}" + "".join(f"{number:>15.0f}" for number in numbers) for name, *numbers in rows]
