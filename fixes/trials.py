"""From candidates to those that work: each is applied in memory, and the changed program is checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from functools import cached_property

from ..lang import sweet
from ..lang.diagnostics import Diagnostic, Edit
from ..lang.node import replace
from ..lang.source import Source, Span
from ..pipeline import Report
from ..simplify.solver.terms import StepBudget
from .candidates import candidates
from .case import Fix, FixCase, Remaining
from .edits import EditedOffsets, applied, followed, overlap
from .evidence import Trial, called, fits_first, follows, shown_first
from .families import arranged
from .numbers.screen import Screen
from .open_checks import OpenChecks
from .parts import ParsedParts
from .tree import TextTree
from .weights import GIVING_WAY

# Checks a program, trusting some of its functions; None if the steps run out.
Recheck = Callable[[Source, frozenset[str]], Report | None]
# The identity of a diagnostic across edits: code, kind, file, place, and the sizes that conflict.
Key = tuple[str, str, str, int, object]

MOST_PER_DIAGNOSTIC = 30
MOST_UNDECLARED = 14
# The number of fixes that leave nothing wrong after which the search ends.
MOST_CLEAN = 3
MOST_IN_TWO_STEPS = 18
# The divisor of the steps that looking at fixes with numbers may take.
SCREENED = 2
# The budget for fixes, in steps of reasoning: the first number, or the cost of the check; less for a long program, since both
# together are limited.
LEAST_STEPS, BOTH = 50_000, 240_000
# The limit on nodes walked beside these steps.
WALKS = 100_000
# Steps per letter of a checked and of a trusted function; letters per step and per statement; the divisor of small budgets.
STEPS_OF_A_LETTER, STEPS_OF_A_BELIEVED = 4, 2
LETTERS_OF_A_STEP, LETTERS_OF_A_STATEMENT, PARTS = 10, 12, 4
_FIRST_STEPS = 4
_SECOND_STEPS = 5


class Trials:
    """Checks programs with fixes applied, within the budget of one program; functions that a fix cannot affect are not
    checked."""

    def __init__(self, report: Report, recheck: Recheck, tree: TextTree) -> None:
        self.report, self.recheck = report, recheck
        self.source, self.imported = tree.source, tree.imported
        self._opaque = _opaque(report)
        self.parts = ParsedParts(tree, self._opaque)
        checked = report.checked
        length, steps, walked = (checked.length, checked.steps, checked.walked) if checked is not None else (0, 0, 0)
        # Text with short statements has more of them per letter.
        self.dense = max(1.0, LETTERS_OF_A_STATEMENT * length / max(self.parts.letters, 1))
        taken = int(self.dense * STEPS_OF_A_LETTER * self.parts.letters) + steps
        self.steps = max(LEAST_STEPS, min(taken, BOTH - taken - walked))
        self.walks = WALKS
        if checked is not None and checked.ended:  # every check of such a program is expensive
            self.steps, self.walks = LEAST_STEPS // PARTS, WALKS // PARTS
        # A fix may take a few more steps than the check, which an error may have ended early.
        self.a_fix = max(LEAST_STEPS // PARTS, steps + steps // PARTS)
        # Whether the steps ran out before all fixes of the last diagnostic were tried.
        self.cut = False
        self._screens: dict[str, Screen] = {}

    @cached_property
    def _open(self) -> OpenChecks:
        """The number of run-time checks in each function without a fix."""
        return OpenChecks(self.report)

    @cached_property
    def _silenced(self) -> set[Key]:
        """The warnings that an error silences."""
        checked = self.report.checked
        return {self._key(d, lambda place: place) for d in (checked.silenced if checked is not None else ())}

    def fixes(self, diagnostic: Diagnostic, tree: TextTree) -> tuple[Fix, ...]:
        """Return the working fixes of a diagnostic, as far as the steps last."""
        self.cut = False
        if self.steps <= 0:
            return ()
        if self.steps < self._reading(diagnostic, ()):
            self.cut = True
            return ()
        self.steps -= len(self.source.text) // LETTERS_OF_A_STEP
        case = FixCase(tree, diagnostic, self.report.checked.demands if self.report.checked is not None else ())
        return self.working(diagnostic, self._screened(case, candidates(case)), case.is_declared)

    def _screened(self, case: FixCase, fixes: list[Fix]) -> list[Fix]:
        """Sort fixes by an evaluation at one set of sizes: first those after which everything fits, last those after which it
        does not."""
        has_shapes = case.function is not None and case.diagnostic.code.of_shapes
        screen = self._screen(case.tree, case.function) if has_shapes and case.function is not None else None
        if screen is None or screen.sizes is None:
            return fixes
        found = self._looked_at(screen, fixes)
        if case.is_declared and not any(m.fits and m.is_of_operation for m in found):
            found += [m for m in self._looked_at(screen, arranged.fixes(case, screen)) if m.fits is not False]
        return sorted(found, key=fits_first)

    def _looked_at(self, screen: Screen, fixes: Iterable[Fix]) -> list[Fix]:
        before, room = screen.steps, self.steps // SCREENED
        found = []
        for fix in fixes:
            self.cut |= screen.steps - before >= room
            fits = None if self.cut else screen.fits(fix.edits)
            found.append(replace(fix, fits=fits, narrows=screen.everywhere and not fix.is_of_operation))
        self.steps -= screen.steps - before
        return found

    def _screen(self, tree: TextTree, function: sweet.FnDecl) -> Screen:
        name = function.name.name
        if name not in self._screens:
            self._screens[name] = Screen(tree, function)
            self.steps -= self._screens[name].steps
        return self._screens[name]

    def working(self, diagnostic: Diagnostic, fixes: list[Fix], declared: bool = True) -> tuple[Fix, ...]:
        most = MOST_PER_DIAGNOSTIC if declared else MOST_UNDECLARED
        tried = self._tried(diagnostic, [m for m in fixes if m.fits is not False], most)
        if not any(t.works and not t.fix.gives_way and not t.fix.equates for t in tried):
            tried += self._tried(diagnostic, [m for m in fixes if m.fits is False], most - len(tried))
        good = [t for t in tried if t.works]
        if not any(t.is_enough for t in good):
            alike = any(t.errors == 0 and not t.fix.is_of_operation for t in good)
            steps = self._two_steps([t for t in tried if t.is_step_to()], alike)
            good += [t for t in self._tried(diagnostic, steps, MOST_IN_TWO_STEPS) if t.works]
        if not good:
            steps = self._two_steps([t for t in tried if t.is_step_to("typo")])
            good += [t for t in self._tried(diagnostic, steps, MOST_IN_TWO_STEPS) if t.works]
        good = good or [
            replace(t, uncovered=_remaining_of(t.new, diagnostic, EditedOffsets(t.fix.edits)))
            for t in tried
            if t.gone and (t.uncertain and t.fix.kind != "typo" or t.asks_callers(diagnostic.function))
        ]
        if diagnostic.code.phase == "names":
            good = [t for t in tried if t.is_readable] or good
        if any(t.fix.kind == "dimension" for t in good):  # a dimension demands less
            good = [t for t in good if t.fix.kind != "names"]
        return tuple(_remaining(t) for t in sorted(good, key=shown_first))

    def _tried(self, diagnostic: Diagnostic, fixes: Iterable[Fix], most: int) -> list[Trial]:
        """Try fixes until enough work; of those with the same meaning, only the first that works is needed."""
        found: list[Trial] = []
        for fix in fixes:
            clean = {t.fix.meaning for t in found if t.clean and t.works and t.fix.is_of_operation}
            if len(found) >= most or len(clean) >= MOST_CLEAN:
                break
            if self.steps < self._reading(diagnostic, fix.edits):
                self.cut = True
                break
            if not any(t.works and t.fix.meaning == fix.meaning for t in found):
                found.append(self._trial(diagnostic, fix))
        return found

    def _reading(self, diagnostic: Diagnostic, edits: tuple[Edit, ...]) -> int:
        """Return the steps for reading the text that a fix can affect."""
        concerned = self._concerned(diagnostic, edits)
        more = STEPS_OF_A_LETTER - STEPS_OF_A_BELIEVED
        kept = self.parts.kept(concerned, edits)
        read = STEPS_OF_A_BELIEVED * self.parts.letters_of(kept) + more * self.parts.letters_of(concerned)
        return int(self.dense * read)

    def _concerned(self, diagnostic: Diagnostic, edits: tuple[Edit, ...]) -> frozenset[str]:
        return self.parts.concerned(diagnostic.span, [e.span for e in edits])

    def _two_steps(self, near: list[Trial], alike: bool = False) -> Iterator[Fix]:
        """Yield fixes that reveal one other mistake, combined with a fix for that one; with `alike`, the same fix twice."""
        for trial in near[:_FIRST_STEPS]:
            tree = TextTree(trial.source, self.imported)
            if tree.broken or trial.new[0].span.source is not trial.source:
                continue
            after = candidates(FixCase(tree, trial.new[0]))
            made = EditedOffsets(trial.fix.edits).regions()
            fit = (m for m in after if follows(m, trial.fix) and not _undoes(m, made))
            for second in [m for m in fit if not alike or m.what == trial.fix.what][:_SECOND_STEPS]:
                edits = followed(trial.fix.edits, second.edits)
                if edits and not overlap(edits):
                    yield together(trial.fix, second, edits)

    def _trial(self, diagnostic: Diagnostic, fix: Fix) -> Trial:
        concerned = self._concerned(diagnostic, fix.edits)
        kept = self.parts.kept(concerned, fix.edits)
        believed = frozenset((kept - concerned) & self._opaque)
        blanked = self.parts.blanked(self.source.text, kept)
        source = Source(self.source.name, applied(blanked, fix.edits))
        self.steps -= self._reading(diagnostic, fix.edits)
        # The likeliest may take more, since a check that ended early now runs to its end. A trial that has started may exceed
        # the budget.
        room = min(max(self.steps, 0) + LEAST_STEPS // 2, max(self.a_fix, self.steps // 2))
        with StepBudget(room, self.walks) as budget:
            after = self.recheck(source, believed)
        self.steps -= budget.gone
        self.walks = budget.walks
        if after is None or budget.ended:
            return Trial(fix, False, (), 0, 0, 0, (), False, False, False, source)
        places, told_of = EditedOffsets(fix.edits), kept - believed
        before = [d for d in self.report.diagnostics if self._is_about(d, told_of, places.normal)]
        now_told = [d for d in self._said(after, places) if self._is_about(d, told_of, places.before)]
        had = Counter(self._key(d, places.normal) for d in before)
        now: dict[Key, list[Diagnostic]] = {}
        for d in now_told:
            now.setdefault(self._key(d, places.before), []).append(d)
        new = [d for key, found in now.items() for d in found[had[key] :]]
        uncovered = [d for d in new if self._key(d, places.before) in self._silenced]
        new = [d for d in new if d not in uncovered]
        key = self._key(diagnostic, places.normal)
        gone = len(now.get(key, ())) < had[key]
        others = tuple(d for d in new if not d.code.is_quiet)
        # Callers are told of a function's stated needs.
        told = {d.function for d in others} if fix.kind == "bound" else set()
        if not self._is_read(after, diagnostic) or self._opens(after, diagnostic, believed, told):
            gone = False
        left = _wrong(now_told) - _wrong(before) - len(uncovered)
        errors = _errors(now_told) - _errors(before) + _errors(self.report.diagnostics)
        at = places.normal(diagnostic.span.start)
        decided = diagnostic.severity == "error" and budget.left > 0  # out of steps, an error is an unproved claim
        uncertain = decided and bool(others) and all(
            d.code.is_unproved and places.before(d.span.start) == at and called(d) == called(diagnostic) for d in others
        )  # fmt: skip
        return Trial(
            fix, gone, others, left, errors, len(new) - len(others), _remaining_of(uncovered, diagnostic, places), uncertain,
            self._is_elsewhere(diagnostic, fix), self._is_clean(diagnostic, fix, after), source,
            any(d.severity == "error" and d.code.phase == "names" for d in now_told),
        )  # fmt: skip

    def _said(self, after: Report, places: EditedOffsets) -> list[Diagnostic]:
        """Return the diagnostics after a fix, and the new warnings that an error silences."""
        silenced = after.checked.silenced if after.checked is not None else ()
        return [*after.diagnostics, *(d for d in silenced if self._key(d, places.before) not in self._silenced)]

    def _is_about(self, diagnostic: Diagnostic, functions: Set[str], place: Callable[[int], int]) -> bool:
        """Whether a diagnostic is about some functions; outside of functions, or in another file, it always is."""
        if diagnostic.span.source.name != self.source.name:
            return True
        start = place(diagnostic.span.start)
        at = self.parts.at(Span(self.source, start, start))
        return not at or at in functions

    def _key(self, diagnostic: Diagnostic, place: Callable[[int], int]) -> Key:
        """Return the identity of a diagnostic. `place` maps a place of this file to the text without the edits; other files
        have none."""
        span, subject = diagnostic.span, diagnostic.subject
        kind = "wrong" if diagnostic.is_wrong else "note"
        start = place(span.start) if span.source.name == self.source.name else span.start
        return diagnostic.code, kind, span.source.name, start, subject.at if subject is not None else None

    def _is_elsewhere(self, diagnostic: Diagnostic, fix: Fix) -> bool:
        """Whether the blamed call is in another function than the diagnostic, and the fix is there."""
        subject = diagnostic.subject
        if subject is None or subject.span.source is not self.source:
            return False
        home, there = self.parts.at(diagnostic.span), self.parts.at(subject.span)
        return home != there and any(self.parts.at(e.span) == there for e in fix.edits)

    def _is_clean(self, diagnostic: Diagnostic, fix: Fix, after: Report) -> bool:
        """Whether no error or warning is left in the functions of the diagnostic and the edits."""
        places = EditedOffsets(fix.edits)
        names = {self.parts.at(span) for span in (diagnostic.span, *(e.span for e in fix.edits))}
        wrong = [d.span.start for d in after.diagnostics if d.is_wrong and d.span.source.name == self.source.name]
        at = [places.before(start) for start in wrong]
        return not any(self.parts.at(Span(self.source, start, start)) in names for start in at)

    def _is_read(self, after: Report, diagnostic: Diagnostic) -> bool:
        """Whether the function is still checked with a fix: an error of names would only hide the diagnostic."""
        if self.report.checked is None or after.checked is None:
            return after.checked is not None or self.report.checked is None
        before, now = self.report.checked.before, after.checked.before
        name = (diagnostic.function or "").removeprefix("@")
        read = [any(f.name == name and f.kind != "extern" for f in p.functions) for p in (before, now)]
        return read != [True, False]

    def _opens(self, after: Report, diagnostic: Diagnostic, believed: Set[str], told: Set[str | None]) -> bool:
        """Whether a proved check of another function becomes a run-time check without a message."""
        now = OpenChecks(after)
        own = {diagnostic.function, f"@{self.parts.at(diagnostic.span)}", *(f"@{name}" for name in believed), *told}
        return any(now.of(name) > self._open.of(name) for name in now.functions if f"@{name}" not in own)


def together(first: Fix, second: Fix, edits: tuple[Edit, ...]) -> Fix:
    """Return two steps as one fix, described in one sentence."""
    rank = min(first.rank + second.rank, GIVING_WAY - 1)
    if first.what == second.what and first.lines and second.lines and first.lines != second.lines:
        shown = first.shown if first.shown == second.shown else ""
        return replace(first, lines=first.lines + second.lines, shown=shown, edits=edits, rank=rank, guess=True)
    if first.asks and second.asks:
        return Fix(f"{first.what} and {second.what}", edits, rank, second.text, guess=True, asks=True)
    shown_again = first.shown.strip("`") in second.shown
    said = replace(first, shown="").text if first.shown and shown_again else first.text.rstrip("?")
    after = "and the same once more" if said == second.text else f"and {second.text}"
    return Fix(f"{said}, {after}", edits, rank, f"{said}, {after}", guess=True)


def _undoes(second: Fix, made: list[tuple[int, int, Edit]]) -> bool:
    """Whether it changes a changed text again, other than by putting something around it."""
    return any(
        s <= e.span.start and e.span.end <= end and first.text not in e.text
        for e in second.edits
        for s, end, first in made
    )


def _remaining(trial: Trial) -> Fix:
    """Return the fix with the earlier warnings that remain; these make it a guess."""
    fix, left = trial.fix, trial.uncovered
    return replace(fix, settles=trial.clean, remains=left, guess=fix.guess or bool(left))


def _remaining_of(left: Iterable[Diagnostic], about: Diagnostic, places: EditedOffsets) -> tuple[Remaining, ...]:
    """Return the codes of these diagnostics, with their lines if they differ from that of the fixed one."""
    own, found = about.span.source, set[Remaining]()
    for d in left:
        line = own.position(places.before(d.span.start))[0] if d.span.source.name == own.name else about.span.line
        found.add(Remaining(d.code, 0 if line == about.span.line else line))
    return tuple(sorted(found))


def _wrong(diagnostics: Iterable[Diagnostic]) -> int:
    return sum(d.is_wrong for d in diagnostics)


def _errors(diagnostics: Iterable[Diagnostic]) -> int:
    return sum(d.severity == "error" for d in diagnostics)


def _opaque(report: Report) -> frozenset[str]:
    """Return the functions whose callers know only the signature."""
    functions = report.checked.before.functions if report.checked is not None else ()
    return frozenset(f.name for f in functions if f.impl is not None)
