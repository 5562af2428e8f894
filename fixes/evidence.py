"""The evidence for a fix, and the one order of fixes that follows from it: which is tried first, and which is shown first."""

from __future__ import annotations

from collections.abc import Iterable

from ..lang.diagnostics import Diagnostic
from ..lang.node import Node
from ..lang.source import Source
from .case import Fix, Remaining
from .families import conditions
from .weights import CONDITION, FAR_FETCHED, GIVING_WAY, UNLIKELY

# So many fixes of operations are tried before conditions on sizes.
_BEFORE_CONDITIONS = 24


class Trial(Node):
    """How a program fares with a fix: whether the diagnostic is gone, what is new, how many more there are, how many errors in
    all, whether nothing is wrong with the function now (`clean`); `uncovered` are warnings that the program had before, but
    silenced by the error; `uncertain`: all that is new are warnings of the very call that the error was about;
    `elsewhere`: it changes a function that the blamed call leads into, and that may be right for others."""

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
    # Whether the function was not checked any further than its names.
    unread: bool = False

    @property
    def works(self) -> bool:
        return self.gone and not self.new and not (self.unread and self.fix.of_dtype)

    @property
    def is_enough(self) -> bool:
        """Whether nothing better need be looked for: it fixes, or it says what is needed of any sizes and no error is left."""
        if not self.fix.is_of_operation:
            return self.errors == 0 and not self.fix.equates
        return self.fix.rank < FAR_FETCHED

    @property
    def is_readable(self) -> bool:
        """Whether all names mean something after it, and sizes, at which nobody looked before, fit as far as can be told."""
        of_sizes = all(d.code.is_unproved for d in self.new)
        return self.gone and of_sizes and not (self.unread and self.fix.of_dtype)

    def is_step_to(self, kind: str = "operation") -> bool:
        """Whether it fixes an operation and brings one other mistake to light."""
        return self.fix.kind == kind and not self.fix.drops and self.gone and len(self.new) == 1 and not self.uncertain

    def asks_callers(self, function: str | None) -> bool:
        """Whether a function says now what it needs, and what calls of it do not give is all that is new."""
        asked = all((d.code.is_unproved or d.code.of_signature) and f"@{called(d)}" == function for d in self.new)
        return self.fix.kind == "bound" and asked


def called(diagnostic: Diagnostic) -> str:
    return diagnostic.subject.callee if diagnostic.subject is not None else ""


def tried_first(found: Iterable[Fix]) -> list[Fix]:
    """The order in which candidates are tried: what an operation needs of any sizes, the likeliest operations, other
    conditions, the other operations; of each the sure ones before guesses, those with few edits first, then by weight."""
    ordered = sorted(found, key=lambda m: (_is_unsure(m), len(m.edits), m.rank))
    bounds = [m for m in ordered if m.kind == "bound"]
    conditional = [m for m in ordered if m.kind in ("dimension", "names", "assert")]
    other = [m for m in ordered if m.is_of_operation]
    return [*bounds, *other[:_BEFORE_CONDITIONS], *conditional, *other[_BEFORE_CONDITIONS:]]


def _is_unsure(fix: Fix) -> bool:
    return fix.in_words or fix.kind == "typo" and fix.rank >= FAR_FETCHED


def fits_first(fix: Fix) -> tuple[bool, bool]:
    """Those first after which all fits where sizes are numbers, and last those after which it does not."""
    return fix.fits is not True and (fix.kind != "bound" or fix.narrows), fix.fits is False


def shown_first(trial: Trial) -> tuple[int, int, int, int, bool, int]:
    """The order in which fixes that were tried are shown."""
    fix = trial.fix
    left = trial.left + len(trial.uncovered)
    return left, trial.notes, _tier(fix), len(fix.edits), trial.elsewhere, fix.rank


def _tier(fix: Fix) -> int:
    """An operation is fixed, or given what nothing else uses; what it needs of any sizes is said; a slip is guessed at; names
    of sizes are one; and last an annotation gives way."""
    if fix.gives_way:
        return 4
    if fix.recalls:
        return 0
    bound = 3 if fix.narrows else 1
    return {"operation": 2 * (fix.rank >= UNLIKELY), "bound": bound, "typo": 2 * fix.guess}.get(fix.kind, 3)


def follows(second: Fix, first: Fix) -> bool:
    """Whether it may follow another fix: a guess far from the text is not added to what is there already, and to a slip only
    what it needs of any sizes."""
    if first.kind == "typo":
        return second.kind == "bound"
    likely = second.rank < FAR_FETCHED or GIVING_WAY <= second.rank < CONDITION
    return likely and second.kind != "typo" or conditions.is_of_count(second)
