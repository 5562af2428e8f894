"""Count how often each check of entry checks and programs is reached, and how often it fails.

By default they do not count. This module replaces their code with code that counts, for existing ones and for later ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from weakref import WeakSet

from ..interp.tally import Tally
from ..lang import core
from ..lang.source import Span
from ..lang.summary import plural
from .entry_check import ENTRIES, EntryCheck
from .libraries import PREFIX, SHARED
from .module import MODULES, Module
from .residual import Check, check_of
from .text import Counted


class CountedCheck(NamedTuple):
    """A check: its place, its function, its text and its meaning; `entry_check` is the place of the entry check that makes
    it, empty for a check inside a program."""

    place: str
    function: str
    text: str
    message: str
    entry_check: str = ""

    def __str__(self) -> str:
        return f"{self.place}: @{self.function}: `{self.text}`, {self.message}"

    @property
    def file(self) -> str:
        return self.place.partition(":")[0]


Numbers = dict[CountedCheck, tuple[int, int]]
"""For each check, how often it was reached and how often it failed."""


class _Of(NamedTuple):
    """The distinct checks of an entry check, with their counts."""

    checks: dict[object, core.Assert | core.MatchShape]
    reached: list[int]
    failed: list[int]


class _Program(NamedTuple):
    """The remaining checks inside a program, with the tally that counts them."""

    rows: dict[object, CountedCheck]
    tally: Tally


class ReachedCounts:
    """How often each check, of entry checks and inside programs, was reached and failed, for files below a root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._entry_checks: dict[EntryCheck, _Of] = {}
        self._programs: list[_Program] = []
        self._modules: WeakSet[Module] = WeakSet()
        ENTRIES.tell(self._count)
        MODULES.tell(self._count_inside)

    def end(self) -> None:
        """Restore the entry checks and programs."""
        ENTRIES.end()
        MODULES.end()
        for entry_check in self._entry_checks:
            entry_check.rewrite(None)
        for module in self._modules:
            module._count(None)

    def _count(self, entry_check: EntryCheck) -> None:
        """Replace the code of an entry check by code that counts; called again when it has a new copy."""
        own = self._entry_checks.setdefault(entry_check, _Of({}, [], []))
        for check in entry_check.every_check():
            if _key(check) not in own.checks:
                own.checks[_key(check)] = check
                own.reached.append(0)
                own.failed.append(0)
        places = {id(c): list(own.checks).index(_key(c)) for c in entry_check.every_check()}
        at = list(self._entry_checks).index(entry_check)
        SHARED[f"{PREFIX}reached_{at}"], SHARED[f"{PREFIX}failed_{at}"] = own.reached, own.failed
        entry_check.rewrite(Counted(at, places))

    def _count_inside(self, module: Module) -> None:
        """Replace the code of a program with remaining checks, if one of their files is below the root."""
        left = [(function, check) for function, check in module._checks() if self._is_file(check.span.source.name)]
        rows = {_place(check): CountedCheck(_line(check.span), name, check.text, check.message) for name, check in left}
        if rows:
            self._programs.append(_Program(rows, Tally()))
            self._modules.add(module)
            module._count(self._programs[-1].tally)

    def _is_ours(self, file: str | None) -> bool:
        return file is None or Path(file).resolve().is_relative_to(self.root)

    def _is_file(self, name: str) -> bool:
        return self._is_ours(name) and Path(name).is_file()

    def rows(self) -> Numbers:
        found: Numbers = {}
        for entry_check, own in self._entry_checks.items():
            if self._is_ours(entry_check.file):
                for check, reached, failed in zip(own.checks.values(), own.reached, own.failed, strict=True):
                    add(found, _row(entry_check, check), reached, failed)
        for rows, tally in self._programs:
            for row in rows.values():
                add(found, row, 0, 0)
            for inside, reached, failed in zip(tally.checks, tally.made, tally.failed, strict=True):
                known = rows.get(_place(check_of(inside))) if inside is not None else None
                if known is not None:
                    add(found, known, reached, failed)
        return found


def add(found: Numbers, row: CountedCheck, reached: int, failed: int) -> None:
    before = found.get(row, (0, 0))
    found[row] = before[0] + reached, before[1] + failed


def _key(check: core.Assert | core.MatchShape) -> object:
    """A key that is the same for a check in all variants of an entry check."""
    origin = check.origin
    return origin.span.start, origin.span.end, origin.what, origin.axis, type(check)


def _place(check: Check) -> object:
    """A key that is the same for a check wherever a program makes it."""
    return check.span.source.name, check.span.start, check.span.end, check.text, check.message


def _row(entry_check: EntryCheck, check: core.Assert | core.MatchShape) -> CountedCheck:
    told = check_of(check)
    return CountedCheck(
        _line(told.span), entry_check.name, told.text, told.message, _line(entry_check.variants[0].function.span)
    )


def _line(span: Span) -> str:
    """The place as `f.rx:3`; for a model, the node."""
    source = span.source
    return source.place(span.start) if span.line in source.made else f"{source.name}:{span.line}"


def lines(counts: Numbers) -> Iterator[str]:
    """The report: the checks that no test reached, then those that no test saw fail."""
    unreached = [row for row in sorted(counts, key=_by_place) if not counts[row][0]]
    unfailed = [row for row in sorted(counts, key=_by_place) if counts[row][0] and not counts[row][1]]
    entry_checks = {(row.entry_check, row.function) for row in counts if row.entry_check}
    programs = {row.file for row in counts if not row.entry_check}
    where = [f"in {plural(len(entry_checks), 'signature')}"] if entry_checks else []
    where += [f"in {plural(len(programs), 'program')}"] if programs else []
    told = " ".join([plural(len(counts), "check"), " and ".join(where)]).rstrip()
    yield f"{told}: {len(counts) - len(unreached)} reached, {len(counts) - len(unreached) - len(unfailed)} seen to fail"
    for title, rows in (("no test reached:", unreached), ("no test saw fail:", unfailed)):
        if rows:
            yield title
            yield from (f"  {row}" for row in rows)


def _by_place(row: CountedCheck) -> tuple[str, int, str]:
    file, _, line = row.place.rpartition(":")
    return file, int(line) if line.isdigit() else 0, line
