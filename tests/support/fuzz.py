"""A family of random tests to the programs that it tries, and what came of them to a table.

`make test` tries a sample; `RX_FUZZ=1`, which `make fuzz` sets, tries all of them, and a fraction that share. What fails is
told with its number, and `RX_SEED=4711` tries that one alone.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, NamedTuple

FUZZ = float(os.environ["RX_FUZZ"]) if "RX_FUZZ" in os.environ else None
# Whether the files of the project are tried as a whole too, and not some of them.
FULL = FUZZ is not None and FUZZ >= 1
SEED = int(os.environ["RX_SEED"]) if "RX_SEED" in os.environ else None
# A part of a family goes on behind so many failures.
MOST_WRONG = 10


class Count(NamedTuple):
    """How many programs a family tries: in a sample, and in all."""

    sample: int
    all: int


FAMILIES: dict[str, Count] = {
    # What is proved holds, what is refuted fails, and all ways to run agree: 20,000 programs in all.
    "random programs": Count(40, 16_000),
    "programs that nest": Count(20, 2_000),
    "loops over sizes": Count(12, 2_500),
    "gradients of calls": Count(120, 6_000),
    "gradients of programs": Count(25, 2_000),
    "gradients beside autograd": Count(12, 1_000),
    "loops": Count(8, 1_500),
    # On other engines, or refused when it is loaded.
    **{f"{kind}, {engine}": Count(n, 1_000) for kind, n in (("loops", 8), ("programs", 30)) for engine in
       ("onnxruntime", "torch")},
    "given": Count(12, 1_000),
    "turns": Count(60, 5_000),
    "kept shapes": Count(40, 2_000),
    "plain scopes": Count(60, 5_000),
    "patterns": Count(60, 2_000),
    "patterns called": Count(40, 1_000),
    # The same is said of what means the same.
    **{f"metamorphic, {name}": Count(5, 250) for name in (
        "renamed", "unused_binding", "unused_lambda", "unused_import", "split", "swapped", "moved", "wrapped")},
    **{f"calls inlined, {kind}": Count(12, 250) for kind in ("random", "moved", "small")},
    "weights and literals": Count(10, 300),
    "allowances": Count(15, 250),
    "arms that tell nothing": Count(10, 250),
    "known at a call": Count(40, 500),
    "before work": Count(5, 200),
    "out of steps": Count(3, 100),
    "steps that end": Count(6, 1_000),
    "sizes that grow": Count(8, 300),
    "words at a run": Count(6, 200),
    "residuals": Count(24, 500),
    "passed functions": Count(12, 500),
    "refused calls": Count(1, 3),
    # Reasoning about sizes.
    **{f"questions, {kind}": Count(200, 25_000) for kind in ("law", "fact", "bounded", "signed", "open")},
    "facts": Count(200, 5_000),
    "scopes of facts": Count(50, 1_000),
    "normal forms": Count(300, 10_000),
    "sizes in all domains": Count(400, 10_000),
    "sizes that are broadcast": Count(40, 3_000),
    "rendered sizes": Count(150, 5_000),
    "rendered conditions": Count(150, 5_000),
    "greatest sizes": Count(50, 2_000),
    "bounds of open sizes": Count(60, 2_000),
    "weakest conditions": Count(20, 2_000),
    "conditions of helps": Count(18, 360),
    "sets of sizes": Count(60, 20_000),
    "sizes on sets": Count(60, 10_000),
    "sizes of contracts": Count(60, 4_000),
    "verdicts": Count(12, 500),
    "nested sizes": Count(80, 5_000),
    "hard programs": Count(12, 500),
    "calls of NumPy": Count(80, 2_500),
    "indices beside NumPy": Count(60, 3_000),
    "numbers alone": Count(60, 2_000),
    "reshapes that cross": Count(60, 4_000),
    "tables of the past": Count(60, 1_000),
    "scopes": Count(60, 1_000),
    # What is told: witnesses, conditions, demands, fixes.
    "witnesses, random": Count(10, 500),
    "witnesses, small": Count(20, 1_000),
    "witnesses, loops": Count(20, 1_000),
    "all sizes": Count(30, 1_000),
    "conditions": Count(5, 200),
    "contracts of sequences": Count(30, 3_000),
    "names": Count(12, 500),
    "marks": Count(20, 200),
    "shape data": Count(25, 2_000),
    "demands": Count(8, 300),
    "demands with arms": Count(3, 60),
    "signatures": Count(24, 1_000),
    "signatures of dtypes": Count(24, 1_000),
    "wildcards": Count(30, 1_000),
    "concise forms": Count(15, 500),
    "listed shapes": Count(20, 500),
    "helps": Count(60, 500),
    "mistakes": Count(5, 150),
    "two mistakes": Count(5, 300),
    "values after a fix": Count(4, 1_270),
    # What is read, and what is damaged.
    "mutations": Count(80, 10_000),
    "mutated texts": Count(150, 10_000),
    "damaged weights": Count(60, 2_000),
    "odd calls": Count(60, 4_000),
    "odd operators": Count(60, 4_000),
    "odd attributes": Count(30, 2_000),
    # Models that are changed and written.
    "models rewritten": Count(60, 2_000),
    # Texts of models that would be lines of the program.
    "forged models": Count(60, 10_000),
    "damaged models": Count(40, 10_000),
    "damaged arguments": Count(200, 5_000),
    "values": Count(200, 5_000),
    "slips of dtypes": Count(80, 2_000),
    "slips that stand twice": Count(60, 500),
    "folded numbers": Count(60, 1_000),
    "texts": Count(12, 1_000),
    "printer": Count(100, 5_000),
    "cores of loops": Count(60, 1_000),
    "comments of cores": Count(15, 500),
    # How it runs; of kernels, so many calls of each.
    "lists": Count(25, 500),
    "members by turn": Count(30, 500),
    "chains": Count(30, 1_000),
    "written into": Count(15, 500),
    "kernels": Count(30, 500),
    "stretches": Count(30, 1_000),
    "compiled tests": Count(20, 150),
    "fresh kernels": Count(90, 1_000),
    "views of operands": Count(4, 100),
    "channels by themselves": Count(60, 3_000),
    "sizes as attributes": Count(3, 20),
    # Nodes of models, beside onnxruntime.
    "classic models": Count(24, 600),
    "operators": Count(40, 1_500),
    "swept operators": Count(60, 6_000),
    "swept operators, onnxruntime": Count(40, 3_000),
    "demands of nodes": Count(40, 6_000),
    "contracts of bindings": Count(20, 400),
    "contracts of nodes": Count(20, 700),
    "views of strided tensors": Count(30, 1_000),
    "branches on sizes of PyTorch code": Count(20, 600),
    "contracts beside each other": Count(80, 2_000),
    "contracts beside runs": Count(5, 100),
    "dimensions of models": Count(300, 5_000),
    "node tests imported": Count(40, 2_000),
    "fixes of models": Count(10, 100),
    "baked sizes": Count(32, 2_000),
    "nodes of language models": Count(2, 40),
    "nodes of vision models": Count(24, 500),
    "ranges of ids": Count(12, 200),
    "ranges of indices": Count(15, 3_000),
    "indices that count up": Count(12, 200),
    "arms of models": Count(8, 200),
    "arms that data decides": Count(8, 200),
    "choices by sizes": Count(8, 200),
    "ranks that sizes decide": Count(6, 600),
    "ranks that sizes decide, programs": Count(8, 1_500),
    "ranks that data decides": Count(8, 600),
    "computed targets": Count(3, 300),
    "models read": Count(200, 5_000),
    "sequences of models": Count(25, 500),
    "loops that count": Count(16, 400),
    "listed choices": Count(20, 500),
    "python": Count(60, 2_000),
    "compositions": Count(15, 400),
    # Annotations of Python functions, against all sizes and beside jaxtyping.
    "annotated functions": Count(12, 1_500),
    "beside jaxtyping": Count(25, 1_500),
    # What was found before, and edits.
    "edits between checks": Count(25, 500),
    "edited texts": Count(20, 1_500),
    "renames": Count(4, 500),
}  # fmt: skip


def some(cases: Iterable[Any], share: int) -> list[Any]:
    """One of so many cases, in their order; `make fuzz` tries all."""
    return list(cases)[:: 1 if FULL else share]


def tries(family: str) -> int:
    """How many programs a family tries in this run."""
    count = FAMILIES[family]
    return max(count.sample, round(count.all * (FUZZ or 0)))


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
