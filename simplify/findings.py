"""Findings of checking to those that are reported: recorded as they come, and chosen among once, at the end."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import NamedTuple

from ..lang.checked import Counts
from ..lang.core import Status
from ..lang.diagnostics import Diagnostic
from ..lang.source import Span
from ..ops.requirements import (
    AtLeast,
    AtMost,
    AxisInRange,
    DTypeRequirement,
    InRange,
    Intricate,
    Multiple,
    OfRank,
    RankAtLeast,
    RankIs,
)
from .known.finding import About, Asked, Finding
from .known.outcome import IN_FULL, IN_WORDS, Outcome
from .known.state import State
from .known.values import Entry
from .solver.conditions import AllOf, AnyOf, Cond, Eq0, Ge0, cond_variables, ge
from .solver.facts import Facts
from .solver.solved import linear_var
from .solver.terms import of_atom

# What is asked of sizes that are right otherwise; an unproved claim about it is no reason to think that anything else is wrong.
_ORDINARY = (Multiple, AtLeast, AtMost, AxisInRange, DTypeRequirement, OfRank, RankAtLeast, RankIs)
_COUNTED = {Status.PROVED: "proved", Status.REFUTED: "refuted", Status.RESIDUAL: "residual", Status.ENTRY: "entry"}


class FindingRemark(Asked):
    """What is told in any case."""

    remark: Diagnostic

    @property
    def span(self) -> Span:
        return self.remark.span

    def said(self, finding: Finding) -> Diagnostic:
        return self.remark


class Mark(NamedTuple):
    """How much a Log had at some time."""

    findings: int
    errors: int
    counted: dict[Status, int]
    left: int
    broken: int


class Log:
    """What checking has found so far; one for a whole program. `certain` leaves out what fails in one arm of an inlined body:
    that is a mistake in a program, but no reason why one call cannot succeed."""

    def __init__(self, *, certain: bool = False) -> None:
        self.certain = certain
        self._counted = dict.fromkeys(Status, 0)
        self.findings: list[Finding] = []
        self.errors = 0
        # Checks on entry that nobody meets from outside.
        self.inner = 0
        # The places of unproved claims of which nothing else is kept, behind very many and the end of the steps.
        self.left: dict[Span, None] = {}
        # Annotations that always fail.
        self.broken: list[Span] = []

    def remark(self, *said: Diagnostic) -> None:
        """Notes, and what is wrong with a function as a whole."""
        for one in said:
            status = Status.REFUTED if one.severity == "error" else Status.PROVED
            self.add(Finding(FindingRemark(one), Outcome(status), State()))

    def mark(self) -> Mark:
        """How much was found so far, to go back to."""
        return Mark(len(self.findings), self.errors, dict(self._counted), len(self.left), len(self.broken))

    def reset(self, then: Mark) -> list[Finding]:
        """Goes back to what was found by then; gives what was found since."""
        since = self.findings[then.findings :]
        del self.findings[then.findings :], self.broken[then.broken :]
        self.errors, self._counted = then.errors, dict(then.counted)
        for place in list(self.left)[then.left :]:
            del self.left[place]
        return since

    def again(self, counted: Mark, found: Iterable[Finding]) -> None:
        """Takes up findings, counted as they were once."""
        self._counted = dict(counted.counted)
        for finding in found:
            self.add(finding)

    def add(self, finding: Finding) -> None:
        self.findings.append(finding)
        self.errors += finding.is_error

    def keep_what_both_have(self, then: int, orelse: int) -> None:
        """Of two arms, whose findings begin at two places, what fails in one alone is no reason why a call fails."""
        arms = self.findings[then:orelse], self.findings[orelse:]
        if self.certain and not all(any(f.outcome.status is Status.REFUTED for f in arm) for arm in arms):
            del self.findings[then:]
            self.errors -= sum(f.is_error for arm in arms for f in arm)

    def refute(self, finding: Finding) -> None:
        """What was open fails after all."""
        self.errors += finding.is_error
        self.count(Status.RESIDUAL, -1)
        self.count(Status.REFUTED)

    @property
    def is_long(self) -> bool:
        """Whether so much was found that nobody reads all of it."""
        return len(self.findings) >= IN_WORDS

    @property
    def is_full(self) -> bool:
        """Whether so much is wrong that no more functions are looked at."""
        return self.errors >= IN_WORDS

    def count(self, status: Status, number: int = 1) -> None:
        self._counted[status] += number

    @property
    def counts(self) -> Counts:
        numbers = {field: self._counted[status] for status, field in _COUNTED.items()}
        return Counts(sum(numbers.values()), **numbers, inner=self.inner)


def choose(log: Log) -> tuple[list[Finding], list[Finding]]:
    """What is told, and the unproved claims that are silent because some call fails at that very place. A failure inside an
    inlined body is told at the call, once, unless the body itself is wrong."""
    own, inlined = [f for f in log.findings if f.site is None], [f for f in log.findings if f.site is not None]
    told, follow = _first_told(_standing(_first_unproved(own), log.broken))
    wrong = {f.span for f in told if f.is_error}
    places = {f.span for f in inlined}
    silent = {f: None for f in told if f.is_unproved and f.span in places}
    calls: dict[Span | None, Finding] = {}
    for f in inlined:
        if f.span not in wrong:
            calls.setdefault(f.site, f)
    return [*(f for f in told if f not in silent), *calls.values()], [*silent, *follow]


def _first_unproved(findings: Iterable[Finding]) -> list[Finding]:
    """Without what is open only because a call before is. A rank that is left open is told where that is met first: what the
    call gives has an open rank as well, and so on. An annotation follows where its rank does, and where it holds whenever the
    call that made the value works."""
    kept: list[Finding] = []
    told: set[tuple[str, Span]] = set()
    following: set[Span | None] = set()
    for finding in findings:
        about = finding.about
        if about is not None:
            places = {(finding.function, span) for span in about.open_at}
            follows = bool(places) and places <= told
            if about.callee:
                told |= places
            elif follows:
                following.add(about.declared)
            if finding.is_unproved and (follows or about.behind or (about.is_claim and about.declared in following)):
                continue
        kept.append(finding)
    return kept


def _standing(findings: list[Finding], broken: list[Span]) -> list[Finding]:
    """What nothing else outweighs."""
    errors, roots = _at_their_roots(findings)
    there: dict[Span, list[tuple[int, Finding]]] = {}
    for i, error in enumerate(errors):
        there.setdefault(error.span, []).append((i, error))
    unproved_claims = [f for f in findings if not f.is_error and f not in roots]
    vague = {_annotated(f) for f in unproved_claims if f.is_unproved and f.about is not None and f.about.what == "rank"}
    return [
        f for i, f in enumerate((*errors, *unproved_claims))
        if not any(_outweighs(e, f, later=n > i) for n, e in there.get(f.span, ()) if e is not f)
        and not (f.only_empty and any(f.span.within(span) for span in broken))
        and not (_is_part(f) and _annotated(f) in vague)
    ]  # fmt: skip


def _at_their_roots(findings: list[Finding]) -> tuple[list[Finding], set[Finding]]:
    """The errors; one about a size that a call made with an unproved claim of its own is that unproved claim, which it is the
    use of. Also which unproved claims these are."""
    made: list[Finding] = []
    recorded, roots, places = set(findings), set[Finding](), set[Span]()
    for finding in [f for f in findings if f.is_error]:
        likely = () if _is_whole_mistake(finding) else finding.roots
        root = next((r for r in likely if r in recorded and r not in roots and r.span not in places), None)
        if root is not None:
            roots.add(root)
            root.use, finding = finding, root
        places.add(finding.span)
        made.append(finding)
    return made, roots


def _is_whole_mistake(finding: Finding) -> bool:
    """Whether what is unproved before it is no reason, but a condition of a contract under which it still fails."""
    return finding.only_empty and finding.options.supposing


def _outweighs(one: Finding, other: Finding, *, later: bool) -> bool:
    """What could not be proved of a call, or fails on some tensors only, does not matter where the call is an error."""
    uncertain = other.is_unproved or (other.only_empty and (later or not one.only_empty))
    return uncertain and one.span == other.span and not (_of_its_value(one) and other.is_unproved)


def _of_its_value(finding: Finding) -> bool:
    """Whether it is about a size that an annotation asks of a call's value, where the call's own unproved claim may be the
    reason."""
    about = finding.about
    return about is not None and about.is_claim and about.what == "dim"


def _annotated(finding: Finding) -> tuple[Span | None, Span | None]:
    """The annotation that a finding is about, and what it annotates."""
    about = finding.about
    return (None, None) if about is None else (about.declared, about.place)


def _is_part(finding: Finding) -> bool:
    """Whether it is an unproved claim about a part of an annotation: where the rank is not known either, that unproved claim
    names the whole shape."""
    about = finding.about
    return about is not None and finding.is_unproved and about.declared is not None and about.what in ("dim", "shape")


# What follows


def _first_told(found: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """What is told, and the unproved claims that follow from it."""
    kept, silent = _once(found)
    kept = _with_roots(kept)
    follows = {**_of_unproved_calls(kept), **_of_wrong_values(kept)}
    # Nor does it matter that what a call gives is large enough, where it does not fit.
    misfit = [f for f in kept if f.about is not None and f not in follows and _is_misfit(f)]
    intricate = [f for f in misfit if f.about and isinstance(f.about.asked, Intricate)]
    follows.update(dict.fromkeys(_ordinary_behind(kept, [f for f in misfit if f not in intricate])))
    for finding in intricate:  # of a long row the first one is told
        behind = [f for f in _ordinary_behind(kept, [finding]) if f not in follows]
        follows.update(dict.fromkeys([*behind[1:], finding] if behind else ()))
    return [f for f in kept if f not in follows], [*silent, *follows]


def _ordinary_behind(kept: Iterable[Finding], findings: Iterable[Finding]) -> list[Finding]:
    """The unproved claims about what is asked of sizes that are right otherwise, of the calls behind some findings."""
    made = calls_behind(entry for f in findings if f.about for entry in f.about.given)
    return [f for f in kept if f.is_unproved and _is_ordinary(f) and f.about and f.about.place in made]


def _of_unproved_calls(kept: list[Finding]) -> dict[Finding, None]:
    """The unproved claims about values that are made of what a call gives whose sizes may not fit."""
    behind = Behind({f.about.place for f in kept if f.about is not None and _is_of_sizes(f)})
    unproved_claims = [f for f in kept if f.is_unproved and f.about is not None and any(map(behind.has, f.about.given))]
    return {f: None for f in unproved_claims if not _stands_alone(f, [d for d in kept if d not in unproved_claims])}


def _stands_alone(finding: Finding, before: list[Finding]) -> bool:
    """Whether an unproved claim has nothing to do with the calls behind it: what these need is that sizes are not too large
    or small, which is no reason to think that anything else is wrong, and it stays open where that is so."""
    assert finding.about is not None
    made = calls_behind(finding.about.given)
    causes = [f.outcome.cond for f in before if f.about is not None and _is_of_sizes(f) and f.about.place in made]
    cond, facts = finding.outcome.cond, Facts()
    for cause in causes:
        if cause is None or not _is_limit(cause):
            return False
        facts.assume(cause)
    if cond is None or facts.decide(cond).kind != "open":
        return False
    for cause in causes:
        for v in cond_variables(cause or False):
            facts.assume(ge(of_atom(v), 2))
    return facts.satisfiable() is True  # limits that leave nothing but 1 are no limits


def _is_limit(cond: Cond) -> bool:
    """Whether it is about how large sizes are, but for those that are 0 or 1, which fit whatever the other ones are."""
    match cond:
        case AllOf():
            return all(map(_is_limit, cond.parts))
        case AnyOf():
            parts = [p for p in cond.parts if not isinstance(p, Eq0) or linear_var(p.term) is None]
            return bool(parts) and all(map(_is_limit, parts))
    return isinstance(cond, Ge0)


def _of_wrong_values(kept: list[Finding]) -> dict[Finding, None]:
    """The unproved claims about what a call needs, where what it gives is wrong anyway; and about what a loop gives that
    keeps what its annotation says on empty tensors alone."""
    wrong = (f.about.given for f in kept if f.is_error and f.about is not None and f.about.is_claim)
    made = calls_behind(entry for given in wrong for entry in given)
    follows = {f: None for f in kept if f.is_unproved and _is_call(f) and f.about and f.about.place in made}
    loops = [f.span for f in kept if f.only_empty and f.about is not None and f.about.is_claim]
    return {**follows, **{f: None for f in kept if f.is_unproved and _is_of_value_around(f, loops)}}


def _is_of_value_around(finding: Finding, annotations: Iterable[Span]) -> bool:
    """Whether it is about what a value is declared as in which one of these annotations stands."""
    about = finding.about
    return about is not None and about.is_claim and any(span.within(about.place) for span in annotations)


def _once(found: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """A call or an annotation is told of once: an error before an unproved claim, the first before the others."""
    kept: dict[object, Finding] = {}
    silent = []
    for finding in found:
        site = _site(finding) or finding
        before = kept.get(site)
        if before is None:
            kept[site] = finding
        elif finding.is_error and not before.is_error:
            kept[site] = finding
            silent.append(before)
        elif finding.is_unproved or finding.only_empty:
            silent.append(finding)
        else:
            kept[finding] = finding
    return list(kept.values()), silent


def _site(finding: Finding) -> tuple[str, Span, Span | None] | None:
    """The call with what it calls, or the value with the annotation."""
    about = finding.about
    if about is None or about.what in ("rank", "dtype"):
        return None
    return about.callee, about.place, None if about.callee else about.declared


def _with_roots(found: list[Finding]) -> list[Finding]:
    """An annotation that cannot be right, of a value whose call is unproved: one of the two fails, and the call is told.
    What works only on empty tensors is the error of the one unproved claim of sizes that it is behind."""
    of_calls: dict[Span, list[Finding]] = {}
    for finding in found:
        if finding.about is not None and _is_of_sizes(finding):
            of_calls.setdefault(finding.about.place, []).append(finding)
    for finding in found:
        is_error = finding.is_error and not _is_whole_mistake(finding)
        if is_error and finding.about is not None and not _is_of_dtypes(finding):
            there = (f for place in _calls_right_behind(finding.about) for f in of_calls.get(place, ()))
            unproved = next((f for f in there if f.is_unproved), None)
            if unproved is not None:
                unproved.use = finding
    found = _without_uses(found)
    for finding in [f for f in found if f.is_error and f.only_empty and f.arm is None and not _is_whole_mistake(f)][
        :IN_FULL
    ]:
        made = calls_behind(finding.about.given) if finding.about is not None else ()
        unproved_claims = [f for place in made for f in of_calls.get(place, ()) if f.is_unproved]
        if len(unproved_claims) == 1:
            unproved_claims[0].use = finding
    return _without_uses(found)


def _calls_right_behind(about: About) -> list[Span]:
    """The calls whose sizes a finding is about."""
    direct = [about.place] if about.is_claim and about.what == "dim" else []
    return direct + [e.span for e in about.given if e.origin is not None and about.callee]


def _without_uses(found: list[Finding]) -> list[Finding]:
    """Without what is told with an unproved claim."""
    uses = {f.use for f in found}
    return [f for f in found if f not in uses]


class Behind:
    """Whether one of some calls made a value, or made what the calls that made it were given, and so on; every value is
    looked at once."""

    def __init__(self, places: Set[Span]) -> None:
        self.places = places
        self._known: dict[int, bool] = {}

    def has(self, entry: Entry) -> bool:
        stack = [entry]
        while stack:
            top, known = stack[-1], self._known
            if id(top) in known:
                stack.pop()
                continue
            below = () if self._is_there(top) else _below(top)
            waiting = [] if any(known.get(id(e)) for e in below) else [e for e in below if id(e) not in known]
            if waiting:
                stack += waiting
            else:
                known[id(top)] = self._is_there(top) or any(known[id(e)] for e in below if id(e) in known)
                stack.pop()
        return self._known[id(entry)]

    def _is_there(self, entry: Entry) -> bool:
        return entry.origin is not None and entry.span in self.places


def calls_behind(entries: Iterable[Entry]) -> set[Span]:
    """The places of the calls that values were made by, of those that made what these were given, and so on."""
    found, seen, stack = set[Span](), set[int](), list(entries)
    while stack:
        entry = stack.pop()
        if id(entry) not in seen:
            seen.add(id(entry))
            stack += _below(entry)
            if entry.origin is not None:
                found.add(entry.span)
    return found


def _below(entry: Entry) -> tuple[Entry, ...]:
    """The parts of a value, what the turns of the loop that made it gave, and what the call that made it was given."""
    parts = (*entry.items, *entry.turns)
    return parts if entry.origin is None else (*parts, *(operand for _, operand in entry.origin.entries))


def _is_call(finding: Finding) -> bool:
    return finding.about is not None and bool(finding.about.callee)


def _is_of_sizes(finding: Finding) -> bool:
    """Whether it is about a call two of whose sizes do not fit."""
    return _is_call(finding) and _is_misfit(finding)


def _is_misfit(finding: Finding) -> bool:
    """Whether it is about sizes that do not fit each other."""
    about = finding.about
    return about is None or not (_is_ordinary(finding) or isinstance(about.asked, InRange))


def _is_of_dtypes(finding: Finding) -> bool:
    """Whether it is about a dtype, which no sizes are the reason of."""
    about = finding.about
    return about is not None and (about.what == "dtype" or isinstance(about.asked, DTypeRequirement))


def _is_ordinary(finding: Finding) -> bool:
    return finding.about is not None and isinstance(finding.about.asked, _ORDINARY)
