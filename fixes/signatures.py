"""From a checked program to signatures with all conditions of its functions, each put into the program and checked first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..lang import core, sweet
from ..lang.checked import Checked, Demands
from ..lang.diagnostics import Edit, RxError
from ..lang.node import replace
from ..lang.parser import parse_type
from ..lang.source import NOWHERE, Source
from ..lang.walk import walk
from ..pipeline import Report, check_source
from ..simplify.known.outcome import Options
from .edits import applied
from .open_checks import OpenChecks

# Callers inherit a function's demands, one round for each call between the two.
_MOST_ROUNDS = 6
_RANKS = range(8)
_MOST_RANKS_TRIED = 64
# The budget of all checks with signatures, in steps of reasoning: the first number, or the second times one check. Nothing is
# tried if the steps ran out in the check of the program.
_ROOM, _CHECKS, _STEPS_OF_A_LETTER = 1_000_000, 8, 4


def signatures(
    report: Report, base: Path, roots: tuple[Path, ...] = (), options: Options | None = None
) -> tuple[Demands, ...]:
    """Return the weakest signature of each function in the program's own file, in order.

    `complete` is True if the function has nothing left to check with all the signatures pasted in.
    """
    wanted = _of_file(report.checked, report.files[0]) if report.checked is not None else []
    if not wanted:
        return ()
    search = _Search(report, wanted[0].place.source, base, roots, options)
    found = search.settled(wanted)
    if found is None:
        return search.one_by_one(wanted)
    ranked = search.with_ranks(found)
    return search.settled(ranked) or found if ranked != list(found) else found


class _Search:
    """Checks programs with signatures pasted in."""

    def __init__(
        self, report: Report, source: Source, base: Path, roots: tuple[Path, ...], options: Options | None
    ) -> None:
        self.report, self.source = report, source
        self.base, self.roots, self.options = base, roots, options
        ended = report.checked is not None and report.checked.ended
        self.room = 0 if ended else max(_ROOM, _CHECKS * self._cost(report))

    def settled(self, found: list[Demands]) -> tuple[Demands, ...] | None:
        """Return the signatures at their fixpoint; None if they do not fit together."""
        places = [d.place for d in found]
        first = found
        for _ in range(_MOST_ROUNDS):
            if self.room <= 0:
                return None
            after = self.checked_with(found)
            if not self._is_as_good(after):
                return None
            assert after.checked is not None
            now = _of_file(after.checked, self.source.name)
            if len(now) != len(places):  # a function that cannot work has no demands
                return None
            now = [
                replace(d, place=f.place, necessary=d.necessary and f.necessary)
                for d, f in zip(now, found, strict=True)
            ]
            if list(map(str, now)) == list(map(str, found)):
                return _judged(_as_necessary(first, now), after)
            found = now
        return None

    def one_by_one(self, wanted: Sequence[Demands]) -> tuple[Demands, ...]:
        """Return each signature with which the program has no new errors; the declared one for the others."""
        kept: list[Demands] = []
        for demands in wanted:
            if self.room > 0 and self._is_as_good(self.checked_with([*kept, demands])):
                kept.append(demands)
        assert self.report.checked is not None
        functions = {f"@{f.name}": f for f in self.report.checked.program.functions}
        shown = [d if d in kept else _declared(d, functions[d.name]) for d in wanted]
        return _judged(shown, self.checked_with(kept) if kept else self.report)

    def with_ranks(self, found: Sequence[Demands]) -> list[Demands]:
        """Set the rank of a parameter if only one rank causes no error."""
        known, left = list(found), _MOST_RANKS_TRIED
        for i, demands in enumerate(found):
            for j, (name, type_) in enumerate(demands.params if not demands.complete else ()):
                read = _of_any_rank(type_)
                if read is None or left < len(_RANKS) or self.room <= 0:
                    continue
                left -= len(_RANKS)
                dtype = None if read.dtype is None else read.dtype.span.text
                tried = [_with_type(known[i], j, name, _ranked(rank, dtype)) for rank in _RANKS]
                fit = [t for t in tried if self._is_as_good(self.checked_with([*known[:i], t, *known[i + 1 :]]))]
                known[i] = fit[0] if len(fit) == 1 else known[i]
        return known

    def checked_with(self, demands: Iterable[Demands]) -> Report:
        edits = [Edit(d.place, f"{d} ") for d in demands]
        text = Source(self.source.name, applied(self.source.text, edits))
        after = check_source(text, self.base, self.roots, self.options)
        self.room -= self._cost(after)
        return after

    def _cost(self, report: Report) -> int:
        """Return the cost of a check, in steps of reasoning."""
        checked = report.checked
        walked = 0 if checked is None else checked.steps + checked.walked
        return walked + _STEPS_OF_A_LETTER * len(self.source.text)

    def _is_as_good(self, after: Report) -> bool:
        """Whether there are no new errors."""
        return after.checked is not None and _errors(after) <= _errors(self.report)


def _of_file(checked: Checked, name: str) -> list[Demands]:
    """Return the demands of a file's functions except gradients, whose signatures follow from those of their functions."""
    derived = {f"@{name}" for name in checked.program.derived}
    found = (d for d in checked.demands if d.name not in derived and d.place is not NOWHERE)
    return [d for d in found if d.place.source.name == name]


def _errors(report: Report) -> int:
    return sum(d.severity == "error" for d in report.diagnostics)


def _as_necessary(first: Sequence[Demands], found: Sequence[Demands]) -> tuple[Demands, ...]:
    """Clear `necessary` for changed signatures if any signature asks for more than necessary, which others may inherit."""
    exact = all(d.necessary for d in found)
    pairs = zip(first, found, strict=True)
    return tuple(replace(d, necessary=d.necessary and (exact or str(d) == str(before))) for before, d in pairs)


def _judged(found: Iterable[Demands], after: Report) -> tuple[Demands, ...]:
    said = {d.name: d.complete for d in after.checked.demands} if after.checked is not None else {}
    left = _with_checks(after, (name.removeprefix("@") for name, complete in said.items() if not complete))
    return tuple(replace(d, complete=said.get(d.name, False) and d.name.removeprefix("@") not in left) for d in found)


def _with_checks(report: Report, more: Iterable[str]) -> set[str]:
    """Return the functions with open checks in them or in the functions that they name."""
    if report.checked is None:
        return set()
    program = report.checked.program
    owners = core.owners(program)
    checks = OpenChecks(report)
    found = {*more, *filter(checks.of, checks.functions)}
    named = {i.name: set(i.choices) for i in program.impls}
    for function in program.functions:
        inside = {owners.get(n.name, n.name) for n in walk(function) if isinstance(n, core.FnRef)}
        named.setdefault(owners.get(function.name, function.name), set()).update(inside)
    while callers := {name for name, inside in named.items() if name not in found and not inside.isdisjoint(found)}:
        found |= callers
    return found


def _of_any_rank(text: str) -> sweet.TensorType | None:
    """Return a type with an open rank; None for any other."""
    try:
        read = parse_type(text)
    except RxError:
        return None
    return read if isinstance(read, sweet.TensorType) and isinstance(read.shape, sweet.Unknown | None) else None


def _ranked(rank: int, dtype: str | None) -> str:
    shape = f"[{', '.join(['?'] * rank)}]"
    return f"Tensor({shape})" if dtype is None else f"Tensor({shape}, {dtype})"


def _with_type(demands: Demands, at: int, name: str, type_: str) -> Demands:
    """Return the signature with another type of one parameter."""
    params = (*demands.params[:at], (name, type_), *demands.params[at + 1 :])
    return replace(demands, params=params)


def _declared(demands: Demands, function: core.Function) -> Demands:
    """Return the signature declared in the program."""
    written = function.declaration
    assert written is not None
    return replace(
        demands,
        params=tuple((p.name, p.annotation.span.text if p.annotation else "Tensor") for p in written.params),
        where=tuple(c.span.text for c in written.where),
        result=written.result.span.text if written.result is not None else None,
    )
