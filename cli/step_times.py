"""Make the tables of `--stats` from the times of a run's steps: by operator, by node, by check and by size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..interp.steps import Compute, Match, ReadSizes, StepCheck, StepSite
from ..lang.summary import plural

Step = tuple[StepSite, int, int]
# The most rows of a table that are printed.
_MOST = 20
CHECKS, SIZES, OTHERS = "checks", "sizes that the data decides", "calls and branches"


class StepTimes:
    """Tables by name: the number of calls and the nanoseconds spent. `checks` has the remaining checks by line: the cost of
    dynamic shapes."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self.operators: dict[str, tuple[int, int]] = {}
        self.nodes: dict[str, tuple[int, int]] = {}
        self.checks: dict[str, tuple[int, int]] = {}
        for site, calls, spent in steps:
            if (check := _checked(site)) is not None:
                _add(self.checks, check, calls, spent)
            operator, node = _named(site)
            _add(self.operators, operator, calls, spent)
            if node:
                _add(self.nodes, node, calls, spent)

    def lines(self) -> Iterator[str]:
        whole = sum(spent for _, spent in self.operators.values())
        yield from ("checks left:",) if self.checks else ()
        for name, (calls, spent) in _slowest(self.checks)[:_MOST]:
            share = round(100 * spent / whole) if whole else 0
            yield f"  {name}: {plural(calls, 'time')}, {spent / 1e6:.2f} ms, {share} % of all steps"
        for title, table in (("operators", self.operators), ("nodes", self.nodes)):
            slowest = _slowest(table)
            if slowest:
                yield f"{title}:"
            for name, (calls, spent) in slowest[:_MOST]:
                yield f"  {name}: {plural(calls, 'time')}, {spent / 1e6:.2f} ms"
            if len(slowest) > _MOST:
                yield f"  and {len(slowest) - _MOST} more"

    def as_json(self) -> dict[str, Any]:
        return {"operators": _rows(self.operators), "nodes": _rows(self.nodes), "checks": _rows(self.checks)}


def _named(site: StepSite) -> tuple[str, str]:
    """The rows that count a step: its operator, and its node or place in the source."""
    step = site.step
    if isinstance(step, StepCheck | Match):
        return CHECKS, _place(site)
    if isinstance(step, ReadSizes):
        return SIZES, _place(site)
    if not isinstance(step, Compute):
        return OTHERS, ""
    made = site.span.source.made.get(site.span.line)
    kind = made.kind if made is not None and made.kind else f"@{step.row.name}"
    return f"{kind}, checked" if step.guard else kind, _place(site)


def _checked(site: StepSite) -> str | None:
    """The row of a remaining check: its line, with the operation if their time is measured together."""
    step, place = site.step, _place(site)
    if isinstance(step, StepCheck | Match) and place:
        return place
    return f"{place}, with its @{step.row.name}" if isinstance(step, Compute) and step.guard and place else None


def _place(site: StepSite) -> str:
    source, line = site.span.source, site.span.line
    made = source.made.get(line)
    return made.what if made is not None else f"{source.name}:{line}" if source.text else ""


def _add(table: dict[str, tuple[int, int]], name: str, calls: int, spent: int) -> None:
    before = table.get(name, (0, 0))
    table[name] = before[0] + calls, before[1] + spent


def _slowest(table: dict[str, tuple[int, int]]) -> list[tuple[str, tuple[int, int]]]:
    return sorted(table.items(), key=lambda item: (-item[1][1], item[0]))


def _rows(table: dict[str, tuple[int, int]]) -> list[dict[str, Any]]:
    return [{"name": name, "calls": calls, "ms": spent / 1e6} for name, (calls, spent) in _slowest(table)]
