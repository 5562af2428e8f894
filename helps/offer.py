"""A report to the same report with helps: each mend is applied in memory, checked, and offered only if it does some good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from functools import cached_property
from pathlib import Path

from ..lang import core, sweet
from ..lang.core import Status
from ..lang.diagnostics import Diagnostic, Edit, Help, in_order
from ..lang.files import Files, is_model
from ..lang.node import Node, replace
from ..lang.source import Source, Span
from ..lang.walk import walk
from ..pipeline import Report, check_source
from ..simplify.known.outcome import GivenUp, Options
from ..simplify.solver.terms import Purse, over
from . import (
    arranged,
    attributes,
    claims,
    conditions,
    layouts,
    literals,
    loops,
    missing,
    names,
    operands,
    reshapes,
    shifts,
    siblings,
    slips,
    sorts,
    windows,
)
from .case import GIVING_WAY, Case, Mend
from .edits import Places, applied, followed, overlap
from .parts import Parts
from .place import place, told_at
from .screen import Screen
from .tree import Tree

# What becomes of a program of whose functions some are believed; None where the steps do not last for it.
Recheck = Callable[[Source, frozenset[str]], Report | None]
# A diagnostic as it is known again after an edit: code, kind, file, place, and which sizes conflict.
Key = tuple[str, str, str, int, object]

FAMILIES: tuple[Callable[[Case], Iterator[Mend]], ...] = (
    names.mends, sorts.mends, loops.mends, siblings.mends, operands.mends, attributes.mends, shifts.mends, literals.mends,
    reshapes.mends, layouts.mends, windows.mends, claims.mends, missing.mends, slips.mends, conditions.mends,
)  # fmt: skip
MOST_PER_DIAGNOSTIC = 30
MOST_UNDECLARED = 14
# From this rank on an operation is no likelier changed than a slip was made.
UNLIKELY = 30
# So many mends after which nothing is wrong with the function any more are enough to choose from.
MOST_CLEAN = 3
MOST_IN_TWO_STEPS = 18
# Such a part of the steps there is for looking at mends with numbers.
SCREENED = 2
# What looking for mends may cost, in steps of reasoning: this, or as much as the check did; of a long program less, for both
# have an end together.
LEAST_STEPS, BOTH = 60_000, 240_000
# What may be walked for that beside them.
WALKS = 100_000
# What reading a letter costs, where it is checked as well and where it is not; and for how many something is looked for.
STEPS_OF_A_LETTER, STEPS_OF_A_BELIEVED = 4, 2
LETTERS_OF_A_STEP, LETTERS_OF_A_STATEMENT, PARTS = 10, 12, 4
# What fits into a line behind "= help: " and before " (checked)".
_LINE = 81
_BEFORE_CONDITIONS = 24
_FIRST_STEPS = 4
_SECOND_STEPS = 5


class Offer(Node):
    """The mends of one diagnostic that work, the best first, and where it is told then; `cut`: there were no steps to try the
    others."""

    diagnostic: Diagnostic
    mends: tuple[Mend, ...]
    span: Span
    cut: bool = False


class Trial(Node):
    """How a program fares with a mend: whether the diagnostic is gone, what is new, how many more there are, how many errors in
    all, whether nothing is wrong with the function now (`clean`); `uncovered` are the codes of warnings that the program had
    before, but silenced by the error; `doubtful`: all that is new are warnings of the very call that the error was about;
    `elsewhere`: it changes a function that the blamed call leads into, and that may be right for others."""

    mend: Mend
    gone: bool
    new: tuple[Diagnostic, ...]
    left: int
    errors: int
    notes: int
    uncovered: tuple[str, ...]
    doubtful: bool
    elsewhere: bool
    clean: bool
    source: Source
    # Whether the function was not checked any further than its names.
    unread: bool = False

    @property
    def order(self) -> tuple[int, int, int, int, bool, int]:
        return (
            self.left + len(self.uncovered),
            self.notes,
            self.tier,
            len(self.mend.edits),
            self.elsewhere,
            self.mend.rank,
        )

    @property
    def tier(self) -> int:
        """An operation is mended, or given what nothing else uses; what it needs of any sizes is said; a slip is guessed at;
        names of sizes are one; and last an annotation gives way."""
        if self.mend.gives_way:
            return 4
        if self.mend.recalls:
            return 0
        bound = 3 if self.mend.narrows else 1
        operation = 2 * (self.mend.rank >= UNLIKELY)
        return {"operation": operation, "bound": bound, "slip": 2 * self.mend.guess}.get(self.mend.kind, 3)


def with_helps(
    report: Report, base: Path | Files, roots: tuple[Path, ...] = (), options: Options | None = None
) -> Report:
    """The report with a help, and its edits, on each diagnostic for which some mend works; the rest is as for checking. The
    text of a model is nobody's to edit."""
    if is_model(report.files[0]):
        return report
    found = offers(report, base, roots, options)
    helped = {id(o.diagnostic): told(o) for o in found if o.mends}
    return replace(report, diagnostics=tuple(in_order([helped.get(id(d), d) for d in report.diagnostics])))


def told(offer: Offer) -> Diagnostic:
    """The diagnostic with its helps, at the operation to edit."""
    helps = tuple(Help(f"{text} (checked)", m.edits) for m, text in zip(offer.mends, _texts(offer.mends), strict=True))
    said = told_at(offer.diagnostic, offer.span)
    return replace(said, help=helps[0].text, edits=helps[0].edits, helps=helps) if helps else said


def _texts(mends: tuple[Mend, ...]) -> Iterator[str]:
    """What each says; of sizes that would do at one place the first names them all."""
    if not mends:
        return
    best = mends[0]
    legal = sorted(m.legal for m in mends if m.legal is not None and m.edits[0].span == best.edits[0].span)
    nearest = f"the nearest legal sizes{' ' * bool(best.legal_for)}{best.legal_for} are {' and '.join(map(str, legal))}"
    yield nearest if best.legal and len(legal) > 1 else shortest(best)
    yield from (m.text for m in mends[1:])


def shortest(mend: Mend) -> str:
    """What it says, in one line if the new operand alone makes it that: "move the axes of `x`: `@permute_dims(...)`"."""
    operand = mend.edits[0].text if len(mend.edits) == 1 else ""
    is_long = mend.shown and len(mend.text) > _LINE
    return replace(mend, shown=f"`{operand}`").text if is_long and operand.startswith("@") else mend.text


def offers(
    report: Report, base: Path | Files, roots: tuple[Path, ...] = (), options: Options | None = None
) -> Iterator[Offer]:
    """For each error and warning in the program's own file, and for notes that say what they are about, the mends that work."""
    asking = [d for d in report.diagnostics if is_wrong(d) or d.subject is not None]
    wrong = [d for d in asking if d.span.source.name == report.files[0]]
    if not wrong:
        return
    tree = Tree(wrong[0].span.source, _imported(report, wrong[0].span.source))
    if tree.broken:
        return

    asked = options or Options()
    stopped = asked.stopped or (lambda: False)

    def recheck(part: Source, believed: frozenset[str]) -> Report | None:
        until = replace(asked, believed=believed, stopped=lambda: over() or stopped())
        try:
            return check_source(part, base, roots, until)
        except GivenUp:
            if stopped():
                raise
            return None

    trials = _Trials(report, recheck, tree)
    for diagnostic in sorted(wrong, key=lambda d: d.severity != "error"):  # doubts have what errors leave of the steps
        found = trials.mends(diagnostic, tree)
        yield Offer(diagnostic, found, place(diagnostic, found, tree), trials.cut)


def _imported(report: Report, own: Source) -> dict[str, Source]:
    """The files that the program's other functions stand in."""
    functions = report.checked.program.functions if report.checked is not None else ()
    return {f.name: f.span.source for f in functions if f.span.source is not own}


def candidates(case: Case) -> list[Mend]:
    """Every mend that may work, each change once, the likeliest first."""
    found: dict[tuple[object, ...], Mend] = {}
    for family in FAMILIES if case.diagnostic.severity != "note" else (operands.mends,):
        for mend in family(case):
            key = tuple((e.span.start, e.span.end, e.text) for e in mend.edits)
            changes = any(e.text != e.span.text for e in mend.edits)
            if changes and not overlap(mend.edits) and key not in found and not _empties(case.tree, mend):
                found[key] = mend
    unsure = [m.kind == "slip" and m.rank >= conditions.FAR_FETCHED for m in found.values()]
    ordered = [
        m for _, m in sorted(zip(unsure, found.values(), strict=True), key=lambda f: (f[0], len(f[1].edits), f[1].rank))
    ]
    bounds = [m for m in ordered if m.kind == "bound"]
    said = [m for m in ordered if m.kind in ("names", "assert")]
    other = [m for m in ordered if m.is_of_operation]
    ordered = [*bounds, *other[:_BEFORE_CONDITIONS], *said, *other[_BEFORE_CONDITIONS:]]
    return [_with_line_ends(m) for m in ordered] if "\r\n" in case.tree.source.text else ordered


def _empties(tree: Tree, mend: Mend) -> bool:
    """Whether it writes 0 for a size that is written in a shape: of empty tensors most things are right."""
    return any(e.text.strip() == "0" and _in_shape(tree, e.span) for e in mend.edits)


def _in_shape(tree: Tree, span: Span) -> bool:
    number = tree.enclosing(span, sweet.IntLit)
    around = None if number is None else tree.enclosing(span, sweet.ListExpr)
    call = None if around is None else tree.enclosing(span, sweet.Call)
    return call is not None and any(tree.arguments(call).get(name) is around for name in literals.SHAPES)


def _with_line_ends(mend: Mend) -> Mend:
    """The line ends of a file from Windows."""
    edits = tuple(replace(e, text=e.text.replace("\r\n", "\n").replace("\n", "\r\n")) for e in mend.edits)
    return replace(mend, edits=edits)


class _Trials:
    """Checks programs with mends applied, within the budget of one program; functions that a mend cannot matter to are left
    out of what is checked."""

    def __init__(self, report: Report, recheck: Recheck, tree: Tree) -> None:
        self.report = report
        self.recheck = recheck
        self.source = tree.source
        self.imported = tree.imported
        self._opaque = _opaque(report)
        self.parts = Parts(tree, self._opaque)
        checked = report.checked
        length, steps, walked = (checked.length, checked.steps, checked.walked) if checked is not None else (0, 0, 0)
        # Where statements are short there are more of them in as many letters.
        self.dense = max(1.0, LETTERS_OF_A_STATEMENT * length / max(self.parts.letters, 1))
        taken = int(self.dense * STEPS_OF_A_LETTER * self.parts.letters) + steps
        self.steps = max(LEAST_STEPS, min(taken, BOTH - taken - walked))
        self.walks = WALKS
        if checked is not None and checked.ended:  # nothing ends soon in such a program
            self.steps, self.walks = LEAST_STEPS // PARTS, WALKS // PARTS
        # One mend may take about as many steps as the check did: what is right again is soon seen to be right.
        self.a_mend = max(LEAST_STEPS // PARTS, steps)
        # Whether the steps did not last for the mends of the last diagnostic.
        self.cut = False
        self._screens: dict[str, Screen] = {}

    @cached_property
    def _open(self) -> OpenChecks:
        """How many checks stay in each function without a mend."""
        return OpenChecks(self.report)

    @cached_property
    def _silenced(self) -> set[Key]:
        """The warnings that an error takes the place of."""
        checked = self.report.checked
        return {self._key(d, lambda place: place) for d in (checked.silenced if checked is not None else ())}

    def mends(self, diagnostic: Diagnostic, tree: Tree) -> tuple[Mend, ...]:
        """Those of one diagnostic that work, as long as there are steps left."""
        self.cut = False
        if self.steps <= 0:
            return ()
        if self.steps < self._reading(diagnostic, ()):
            self.cut = True
            return ()
        self.steps -= len(self.source.text) // LETTERS_OF_A_STEP
        case = Case(tree, diagnostic)
        return self.working(diagnostic, self._screened(case, candidates(case)), case.is_declared)

    def _screened(self, case: Case, mends: list[Mend]) -> list[Mend]:
        """Those first after which all fits at one set of sizes, and last those after which it does not."""
        has_shapes = case.function is not None and case.diagnostic.code.of_shapes
        screen = self._screen(case.tree, case.function) if has_shapes and case.function is not None else None
        if screen is None or screen.sizes is None:
            return mends
        found = self._looked_at(screen, mends)
        if case.is_declared and not any(m.fits and m.is_of_operation for m in found):
            found += [m for m in self._looked_at(screen, arranged.mends(case, screen)) if m.fits is not False]
        return sorted(found, key=lambda m: (m.fits is not True and (m.kind != "bound" or m.narrows), m.fits is False))

    def _looked_at(self, screen: Screen, mends: Iterable[Mend]) -> list[Mend]:
        before, room = screen.steps, self.steps // SCREENED
        found = []
        for mend in mends:
            self.cut |= screen.steps - before >= room
            fits = None if self.cut else screen.fits(mend.edits)
            found.append(replace(mend, fits=fits, narrows=screen.everywhere and not mend.is_of_operation))
        self.steps -= screen.steps - before
        return found

    def _screen(self, tree: Tree, function: sweet.FnDecl) -> Screen:
        name = function.name.name
        if name not in self._screens:
            self._screens[name] = Screen(tree, function)
            self.steps -= self._screens[name].steps
        return self._screens[name]

    def working(self, diagnostic: Diagnostic, mends: list[Mend], declared: bool = True) -> tuple[Mend, ...]:
        most = MOST_PER_DIAGNOSTIC if declared else MOST_UNDECLARED
        tried = self._tried(diagnostic, [m for m in mends if m.fits is not False], most)
        if not any(_works(t) and not t.mend.gives_way for t in tried):
            tried += self._tried(diagnostic, [m for m in mends if m.fits is False], most - len(tried))
        good = [t for t in tried if _works(t)]
        if not any(_is_enough(t) for t in good):
            steps = self._two_steps([t for t in tried if _is_step_to(t)])
            good += [t for t in self._tried(diagnostic, steps, MOST_IN_TWO_STEPS) if _works(t)]
        if not good:
            steps = self._two_steps([t for t in tried if _is_step_to(t, "slip")])
            good += [t for t in self._tried(diagnostic, steps, MOST_IN_TWO_STEPS) if _works(t)]
        good = good or [
            replace(t, uncovered=_codes(t.new))
            for t in tried
            if t.gone and (t.doubtful and t.mend.kind != "slip" or _asks_callers(t, diagnostic.function))
        ]
        return tuple(_remaining(t) for t in sorted(good, key=lambda t: t.order))

    def _tried(self, diagnostic: Diagnostic, mends: Iterable[Mend], most: int) -> list[Trial]:
        """Of mends that mean the same only the first that works is of interest."""
        found: list[Trial] = []
        for mend in mends:
            clean = {t.mend.meaning for t in found if t.clean and _works(t) and t.mend.is_of_operation}
            if len(found) >= most or len(clean) >= MOST_CLEAN:
                break
            if self.steps < self._reading(diagnostic, mend.edits):
                self.cut = True
                break
            if not any(_works(t) and t.mend.meaning == mend.meaning for t in found):
                found.append(self._trial(diagnostic, mend))
        return found

    def _reading(self, diagnostic: Diagnostic, edits: tuple[Edit, ...]) -> int:
        """The steps that it takes to read what there is to read for a mend."""
        concerned = self._concerned(diagnostic, edits)
        more = STEPS_OF_A_LETTER - STEPS_OF_A_BELIEVED
        kept = self.parts.kept(concerned)
        read = STEPS_OF_A_BELIEVED * self.parts.letters_of(kept) + more * self.parts.letters_of(concerned)
        return int(self.dense * read)

    def _concerned(self, diagnostic: Diagnostic, edits: tuple[Edit, ...]) -> frozenset[str]:
        return self.parts.concerned(diagnostic.span, [e.span for e in edits])

    def _two_steps(self, near: list[Trial]) -> Iterator[Mend]:
        """Mends that bring one other mistake to light, together with a mend for that one."""
        for trial in near[:_FIRST_STEPS]:
            tree = Tree(trial.source, self.imported)
            if tree.broken or trial.new[0].span.source is not trial.source:
                continue
            after = candidates(Case(tree, trial.new[0]))
            made = Places(trial.mend.edits).regions()
            for second in [m for m in after if _is_step(m, trial.mend) and not _undoes(m, made)][:_SECOND_STEPS]:
                edits = followed(trial.mend.edits, second.edits)
                if edits and not overlap(edits):
                    yield together(trial.mend, second, edits)

    def _trial(self, diagnostic: Diagnostic, mend: Mend) -> Trial:
        concerned = self._concerned(diagnostic, mend.edits)
        kept = self.parts.kept(concerned)
        believed = frozenset((kept - concerned) & self._opaque)
        blanked = self.parts.blanked(self.source.text, kept)
        source = Source(self.source.name, applied(blanked, mend.edits))
        self.steps -= self._reading(diagnostic, mend.edits)
        # The likeliest may take more: what was broken early is checked to its end then.
        with Purse(min(max(self.steps, 0), max(self.a_mend, self.steps // 2)), self.walks) as purse:
            after = self.recheck(source, believed)
        self.steps -= purse.gone
        self.walks = purse.walks
        if after is None or purse.ended:
            return Trial(mend, False, (), 0, 0, 0, (), False, False, False, source)
        places, told_of = Places(mend.edits), kept - believed
        before = [d for d in self.report.diagnostics if self._is_about(d, told_of, places.normal)]
        now_told = [d for d in after.diagnostics if self._is_about(d, told_of, places.before)]
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
        # What a function says that it needs, its callers are told.
        told = {d.function for d in others} if mend.kind == "bound" else set()
        if (after.checked is None and self.report.checked is not None) or self._opens(
            after, diagnostic, believed, told
        ):
            gone = False
        left = sum(map(is_wrong, now_told)) - sum(map(is_wrong, before)) - len(uncovered)
        errors = _errors(now_told) - _errors(before) + _errors(self.report.diagnostics)
        at = places.normal(diagnostic.span.start)
        decided = diagnostic.severity == "error" and purse.left > 0  # without steps an error is a doubt
        doubtful = decided and bool(others) and all(
            d.code.is_doubt and places.before(d.span.start) == at and _called(d) == _called(diagnostic) for d in others
        )  # fmt: skip
        return Trial(
            mend, gone, others, left, errors, len(new) - len(others), _codes(uncovered), doubtful,
            self._is_elsewhere(diagnostic, mend), self._is_clean(diagnostic, mend, after), source,
            any(d.severity == "error" and d.code.phase == "names" for d in now_told),
        )  # fmt: skip

    def _is_about(self, diagnostic: Diagnostic, functions: Set[str], place: Callable[[int], int]) -> bool:
        """Whether something is said of some functions; what is outside of functions, or in another file, always is."""
        if diagnostic.span.source.name != self.source.name:
            return True
        start = place(diagnostic.span.start)
        at = self.parts.at(Span(self.source, start, start))
        return not at or at in functions

    def _key(self, diagnostic: Diagnostic, place: Callable[[int], int]) -> Key:
        """`place` finds where something in this file stands in the text without the edits; other files are not edited."""
        span, subject = diagnostic.span, diagnostic.subject
        kind = "wrong" if is_wrong(diagnostic) else "note"
        start = place(span.start) if span.source.name == self.source.name else span.start
        return diagnostic.code, kind, span.source.name, start, subject.at if subject is not None else None

    def _is_elsewhere(self, diagnostic: Diagnostic, mend: Mend) -> bool:
        """Whether what failed is a call in another function than the one whose call is blamed, and the mend is there."""
        subject = diagnostic.subject
        if subject is None or subject.span.source is not self.source:
            return False
        home, there = self.parts.at(diagnostic.span), self.parts.at(subject.span)
        return home != there and any(self.parts.at(e.span) == there for e in mend.edits)

    def _is_clean(self, diagnostic: Diagnostic, mend: Mend, after: Report) -> bool:
        """Whether no error or warning is left in the functions that the diagnostic and the edits are in."""
        places = Places(mend.edits)
        names = {self.parts.at(span) for span in (diagnostic.span, *(e.span for e in mend.edits))}
        wrong = [d.span.start for d in after.diagnostics if is_wrong(d) and d.span.source.name == self.source.name]
        at = [places.before(start) for start in wrong]
        return not any(self.parts.at(Span(self.source, start, start)) in names for start in at)

    def _opens(self, after: Report, diagnostic: Diagnostic, believed: Set[str], told: Set[str | None]) -> bool:
        """Whether a check that was proved in another function stays for run time, and nobody is told."""
        now = OpenChecks(after)
        own = {diagnostic.function, f"@{self.parts.at(diagnostic.span)}", *(f"@{name}" for name in believed), *told}
        return any(now.of(name) > self._open.of(name) for name in now.functions if f"@{name}" not in own)


def together(first: Mend, second: Mend, edits: tuple[Edit, ...]) -> Mend:
    """Two steps as one mend, said in one sentence."""
    rank = min(first.rank + second.rank, GIVING_WAY - 1)
    if first.what == second.what and first.lines and second.lines and first.lines != second.lines:
        shown = first.shown if first.shown == second.shown else ""
        return replace(first, lines=first.lines + second.lines, shown=shown, edits=edits, rank=rank, guess=True)
    if first.asks and second.asks:
        return Mend(f"{first.what} and {second.what}", edits, rank, second.text, guess=True, asks=True)
    shown_again = first.shown.strip("`") in second.shown
    said = replace(first, shown="").text if first.shown and shown_again else first.text.rstrip("?")
    after = "and the same once more" if said == second.text else f"and {second.text}"
    return Mend(f"{said}, {after}", edits, rank, f"{said}, {after}", guess=True)


def _called(diagnostic: Diagnostic) -> str:
    return diagnostic.subject.callee if diagnostic.subject is not None else ""


def _is_step(second: Mend, first: Mend) -> bool:
    """Whether it may follow another mend: a guess far from the text is not added to what is there already, and to a slip only
    what it needs of any sizes."""
    if first.kind == "slip":
        return second.kind == "bound"
    likely = second.rank < conditions.FAR_FETCHED or GIVING_WAY <= second.rank < conditions.RANK
    return likely and second.kind != "slip" or conditions.is_of_count(second)


def _undoes(second: Mend, made: list[tuple[int, int, Edit]]) -> bool:
    """Whether it changes again what was just changed, other than by putting something around it."""
    return any(
        s <= e.span.start and e.span.end <= end and first.text not in e.text
        for e in second.edits
        for s, end, first in made
    )


def _is_enough(trial: Trial) -> bool:
    """Whether nothing better need be looked for: it mends, or it says what is needed and no error is left."""
    if not trial.mend.is_of_operation:
        return trial.errors == 0
    return trial.mend.rank < conditions.FAR_FETCHED


def _remaining(trial: Trial) -> Mend:
    """The mend; it says which warnings were there before, and still are, and is no more than a guess then."""
    mend, left = replace(trial.mend, settles=trial.clean), trial.uncovered
    if not left:
        return mend
    return replace(mend, shown="", lines=(), what=f"{mend.text}; then {' and '.join(left)} remains", guess=True)


def _is_step_to(trial: Trial, kind: str = "operation") -> bool:
    """Whether it mends an operation and brings one other mistake to light."""
    return (
        trial.mend.kind == kind and not trial.mend.drops and trial.gone and len(trial.new) == 1 and not trial.doubtful
    )


def _works(trial: Trial) -> bool:
    return trial.gone and not trial.new and not (trial.unread and trial.mend.of_dtype)


def _asks_callers(trial: Trial, function: str | None) -> bool:
    """Whether a function says now what it needs, and doubts at calls of it are all that is new."""
    asked = all(d.code.is_doubt and f"@{_called(d)}" == function for d in trial.new)
    return trial.mend.kind == "bound" and asked


def _codes(diagnostics: Iterable[Diagnostic]) -> tuple[str, ...]:
    return tuple(sorted({d.code for d in diagnostics}))


def _errors(diagnostics: Iterable[Diagnostic]) -> int:
    return sum(d.severity == "error" for d in diagnostics)


def is_wrong(diagnostic: Diagnostic) -> bool:
    return diagnostic.severity in ("error", "warning")


def _opaque(report: Report) -> frozenset[str]:
    """The functions of which callers know no more than the signature."""
    functions = report.checked.before.functions if report.checked is not None else ()
    return frozenset(f.name for f in functions if f.impl is not None)


class OpenChecks:
    """The functions of a program, and how many checks stay for run time in each that is asked for."""

    def __init__(self, report: Report) -> None:
        self.functions: dict[str, list[core.Function]] = {}
        self._counted: dict[str, int] = {}
        if report.checked is not None:
            owners = core.owners(report.checked.program)
            for function in report.checked.program.functions:
                self.functions.setdefault(owners.get(function.name, function.name), []).append(function)

    def of(self, name: str) -> int:
        """The checks that stay in a function, and in what implements it."""
        if name not in self._counted:
            self._counted[name] = sum(map(_is_open, walk(*self.functions.get(name, ()))))
        return self._counted[name]


def _is_open(node: object) -> bool:
    return getattr(node, "status", None) is Status.RESIDUAL or getattr(node, "guard", False)
