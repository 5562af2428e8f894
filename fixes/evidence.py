"""The evidence for a fix, and the one order of fixes that follows from it: which is tried first, and which is shown first."""

from __future__ import annotations

from collections.abc import Iterable

from ..lang.diagnostics import Diagnostic
from ..lang.node import Node
from ..lang.source import Source
from .case import Fix, Remaining
from .families import conditions
from .weights import CONDITION, FAR_FETCHED, GIVING_WAY, UNLIKELY

# The number of fixes of operations to try before conditions on sizes.
_BEFORE_CONDITIONS = 24


class Trial(Node):
    """The program after a fix: whether the diagnostic is gone, the new diagnostics, how many more are wrong, the errors in
    all, whether the function is free of errors and warnings (`clean`); `uncovered` are earlier warnings that the error had
    silenced; `uncertain`: all that is new are warnings about the blamed call itself; `elsewhere`: it changes a function that
    the blamed call leads into, which may be right for other callers."""

    fix: Fix
    gone: bool
    new: tuple[Diagnostic, ...]
    left: int
    errors: int
    notes: int
    uncovered: tuple[Remaining, ...]
    uncertain: bool
    elsewhere: bool
    clean: bool
    source: Source
    # Whether the function was checked only as far as its names.
    unread: bool = False

    @property
    def works(self) -> bool:
        return self.gone and not self.new and not (self.unread and self.fix.of_dtype)

    @property
    def is_enough(self) -> bool:
        """Whether the search can end: a likely fix of an operation, or a condition that it needs at any sizes and that leaves
        no error."""
        if not self.fix.is_of_operation:
            return self.errors == 0 and not self.fix.equates
        return self.fix.rank < FAR_FETCHED

    @property
    def is_readable(self) -> bool:
        """Whether all names are known after it, and sizes, which were not checked before, fit as far as is known."""
        of_sizes = all(d.code.is_unproved for d in self.new)
        return self.gone and of_sizes and not (self.unread and self.fix.of_dtype)

    def is_step_to(self, kind: str = "operation") -> bool:
        """Whether it fixes an operation and reveals one other mistake."""
        return self.fix.kind == kind and not self.fix.drops and self.gone and len(self.new) == 1 and not self.uncertain

    def asks_callers(self, function: str | None) -> bool:
        """Whether a function now states a need, and the only new diagnostics are calls of it that do not meet that."""
        asked = all((d.code.is_unproved or d.code.of_signature) and f"@{called(d)}" == function for d in self.new)
        return self.fix.kind == "bound" and asked


def called(diagnostic: Diagnostic) -> str:
    return diagnostic.subject.callee if diagnostic.subject is not None else ""


def tried_first(found: Iterable[Fix]) -> list[Fix]:
    """Return candidates in the order to try them: conditions that an operation needs at any sizes, the likeliest operations,
    other conditions, the other operations; each group by certainty, then by number of edits, then by weight."""
    ordered = sorted(found, key=lambda m: (_is_unsure(m), len(m.edits), m.rank))
    bounds = [m for m in ordered if m.kind == "bound"]
    conditional = [m for m in ordered if m.kind in ("dimension", "names", "assert")]
    other = [m for m in ordered if m.is_of_operation]
    return [*bounds, *other[:_BEFORE_CONDITIONS], *conditional, *other[_BEFORE_CONDITIONS:]]


def _is_unsure(fix: Fix) -> bool:
    return fix.in_words or fix.kind == "typo" and fix.rank >= FAR_FETCHED


def fits_first(fix: Fix) -> tuple[bool, bool]:
    """Return the key that sorts fixes first if everything fits after them where sizes are numbers, and last if it does
    not."""
    return fix.fits is not True and (fix.kind != "bound" or fix.narrows), fix.fits is False


def shown_first(trial: Trial) -> tuple[int, int, int, int, bool, int]:
    """Return the sort key of tried fixes for display."""
    fix = trial.fix
    left = trial.left + len(trial.uncovered)
    return left, trial.notes, _tier(fix), len(fix.edits), trial.elsewhere, fix.rank


def _tier(fix: Fix) -> int:
    """Return the rank of a kind of fix: an operation, or one with an unused tensor; a condition that it needs at any sizes; a
    guessed typo; equal names of sizes; last, a changed annotation."""
    if fix.gives_way:
        return 4
    if fix.recalls:
        return 0
    bound = 3 if fix.narrows else 1
    return {"operation": 2 * (fix.rank >= UNLIKELY), "bound": bound, "typo": 2 * fix.guess}.get(fix.kind, 3)


def follows(second: Fix, first: Fix) -> bool:
    """Whether it may follow another fix: no guess far from the text is added, and after a typo only a condition that an
    operation needs at any sizes."""
    if first.kind == "typo":
        return second.kind == "bound"
    likely = second.rank < FAR_FETCHED or GIVING_WAY <= second.rank < CONDITION
    return likely and second.kind != "typo" or conditions.is_of_count(second)
