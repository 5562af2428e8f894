"""A report to the same report with helps: each mend is applied in memory, checked, and offered only if it does some good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..lang import core
from ..lang.core import Status
from ..lang.diagnostics import Diagnostic
from ..lang.node import Node, replace
from ..lang.source import Source
from ..pipeline import Report, check_source
from ..simplify.judge import Options
from . import attributes, claims, conditions, literals, names, operands
from .case import Case, Mend
from .edits import Places, applied, overlap
from .tree import Tree, children

Recheck = Callable[[Source], Report]

FAMILIES: tuple[Callable[[Case], Iterator[Mend]], ...] = (
    names.mends, operands.mends, attributes.mends, literals.mends, claims.mends, conditions.mends,
)  # fmt: skip
MOST_PER_DIAGNOSTIC = 12
MOST_PER_PROGRAM = 100
MOST_TEXT = 400_000
_QUIET_NOTES = frozenset({"N201"})


class Offer(Node):
    """The mends of one diagnostic that work, the best first."""

    diagnostic: Diagnostic
    mends: tuple[Mend, ...]

    @property
    def unambiguous(self) -> bool:
        return len({m.meaning for m in self.mends}) == 1


def with_helps(report: Report, base: Path, roots: tuple[Path, ...] = (), options: Options | None = None) -> Report:
    """The report with a help, and its edits, on each diagnostic for which some mend works; the rest is as for checking."""
    return _helped(report, lambda source: check_source(source, base, roots, options))


def _helped(report: Report, recheck: Recheck) -> Report:
    helped = {id(o.diagnostic): _with_help(o.diagnostic, o.mends[0]) for o in offers(report, recheck) if o.mends}
    return replace(report, diagnostics=tuple(helped.get(id(d), d) for d in report.diagnostics))


def _with_help(diagnostic: Diagnostic, mend: Mend) -> Diagnostic:
    return replace(diagnostic, help=f"{mend.text} (checked)", edits=mend.edits)


def offers(report: Report, recheck: Recheck) -> Iterator[Offer]:
    """For each error and warning in the program's own file, in order, the mends that work."""
    wrong = [d for d in report.diagnostics if _counts(d) and d.span.source.name == report.files[0]]
    if not wrong:
        return
    tree = Tree(wrong[0].span.source)
    if tree.broken:
        return
    trials = _Trials(report, recheck, tree.source)
    for diagnostic in wrong:
        case = Case(tree, diagnostic)
        yield Offer(diagnostic, tuple(trials.working(diagnostic, _candidates(case))))


def _candidates(case: Case) -> list[Mend]:
    """Every mend that may work, each change once, the likeliest first."""
    found: dict[tuple[object, ...], Mend] = {}
    for family in FAMILIES:
        for mend in family(case):
            key = tuple((e.span.start, e.span.end, e.text) for e in mend.edits)
            if mend.edits and not overlap(mend.edits) and key not in found:
                found[key] = mend
    return sorted(found.values(), key=_order)


def _order(mend: Mend) -> tuple[int, int]:
    return len(mend.edits), mend.rank


def _counts(diagnostic: Diagnostic) -> bool:
    return diagnostic.severity in ("error", "warning")


class _Trials:
    """Checks programs with mends applied, within the budget of one program."""

    def __init__(self, report: Report, recheck: Recheck, source: Source) -> None:
        self.report = report
        self.recheck = recheck
        self.source = source
        self.left = min(MOST_PER_PROGRAM, MOST_TEXT // (len(source.text) + 1))
        self._open = _open_checks(report)

    def working(self, diagnostic: Diagnostic, mends: Iterable[Mend]) -> list[Mend]:
        found: list[tuple[int, int, int, Mend]] = []
        tried = 0
        for mend in mends:
            if self.left <= 0 or tried >= MOST_PER_DIAGNOSTIC:
                break
            if any(mend.meaning == f[-1].meaning for f in found):
                continue
            tried += 1
            self.left -= 1
            worse = self._loss(diagnostic, mend)
            if worse is not None:
                found.append((worse, *_order(mend), mend))
        return [f[-1] for f in sorted(found, key=lambda f: f[:-1])]

    def _loss(self, diagnostic: Diagnostic, mend: Mend) -> int | None:
        """None if the mend does not work; else how many new notes there are."""
        source = Source(self.source.name, applied(self.source.text, mend.edits))
        after = self.recheck(source)
        if after.checked is None and self.report.checked is not None:
            return None
        places = Places(mend.edits)
        had = Counter(_key(d, places.normal) for d in self.report.diagnostics)
        new = Counter(_key(d, places.before) for d in after.diagnostics) - had
        if any(severity != "note" or code not in _QUIET_NOTES for code, severity, _, _ in new):
            return None
        gone = had - Counter(_key(d, places.before) for d in after.diagnostics)
        if _key(diagnostic, places.normal) not in gone or self._opens(after, diagnostic):
            return None
        return sum(new.values())

    def _opens(self, after: Report, diagnostic: Diagnostic) -> bool:
        """Whether a check that was proved in another function stays for run time."""
        before, now = self._open, _open_checks(after)
        return any(number > before.get(name, 0) for name, number in now.items() if f"@{name}" != diagnostic.function)


def _key(diagnostic: Diagnostic, place: Callable[[int], int]) -> tuple[str, str, str, int]:
    span = diagnostic.span
    severity = diagnostic.severity if diagnostic.severity == "note" else "wrong"
    return diagnostic.code, severity, span.source.name, place(span.start)


def _open_checks(report: Report) -> dict[str, int]:
    """How many checks stay for run time in each function."""
    if report.checked is None:
        return {}
    return {f.name.removesuffix("_impl"): _residual(f.body) for f in report.checked.program.functions}


def _residual(root: core.Block) -> int:
    number, stack = 0, [root]
    while stack:
        node = stack.pop()
        number += getattr(node, "status", None) is Status.RESIDUAL
        stack.extend(children(node))  # type: ignore[arg-type]
    return number
