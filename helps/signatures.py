"""A checked program to the signatures that say all that its functions demand, each put into the program and checked first."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..lang import core
from ..lang.checked import Checked, Demands
from ..lang.diagnostics import Edit
from ..lang.node import replace
from ..lang.source import NOWHERE, Source
from ..pipeline import Report, check_source
from ..simplify.judge import Options
from .edits import applied
from .offer import open_checks

# What a function demands its callers demand too: a round for each call between the two.
_MOST_ROUNDS = 6


def signatures(
    report: Report, base: Path, roots: tuple[Path, ...] = (), options: Options | None = None
) -> tuple[Demands, ...]:
    """The weakest signature of each function that the program's own file has, in their order.

    `complete` is True where the function has nothing left to check once all the signatures are pasted in.
    """
    if report.checked is None:
        return ()
    wanted = _of_file(report.checked, report.files[0])
    places = [d.place for d in wanted]
    if not wanted:
        return ()
    source = wanted[0].place.source

    def checked_with(demands: Iterable[Demands]) -> Report:
        edits = [Edit(d.place, f"{d} ") for d in demands]
        return check_source(Source(source.name, applied(source.text, edits)), base, roots, options)

    found = wanted
    for _ in range(_MOST_ROUNDS):
        after = checked_with(found)
        if not _as_good(report, after):
            break
        assert after.checked is not None
        now = [replace(d, place=p) for d, p in zip(_of_file(after.checked, source.name), places, strict=True)]
        if list(map(str, now)) == list(map(str, found)):
            return _judged(found, after)
        found = now
    kept: list[Demands] = []
    for demands in wanted:
        if _as_good(report, checked_with([*kept, demands])):
            kept.append(demands)
    functions = {f"@{f.name}": f for f in report.checked.program.functions}
    shown = [d if d in kept else _declared(d, functions[d.name]) for d in wanted]
    return _judged(shown, checked_with(kept))


def _of_file(checked: Checked, name: str) -> list[Demands]:
    return [d for d in checked.demands if d.place is not NOWHERE and d.place.source.name == name]


def _as_good(before: Report, after: Report) -> bool:
    """Whether nothing is wrong that was not before."""
    return after.checked is not None and _errors(after) <= _errors(before)


def _errors(report: Report) -> int:
    return sum(d.severity == "error" for d in report.diagnostics)


def _judged(found: Iterable[Demands], after: Report) -> tuple[Demands, ...]:
    left = open_checks(after)
    said = {d.name: d.complete for d in after.checked.demands} if after.checked is not None else {}
    return tuple(replace(d, complete=said.get(d.name, False) and not left.get(d.name.removeprefix("@"))) for d in found)


def _declared(demands: Demands, function: core.Function) -> Demands:
    """The signature as it stands in the program."""
    assert function.origin is not None
    fn = function.origin.fn
    return replace(
        demands,
        params=tuple((p.name.name, p.type.span.text if p.type is not None else "Tensor") for p in fn.params),
        where=tuple(c.span.text for c in fn.where),
        result=fn.result.span.text if fn.result is not None else None,
    )
