"""Which findings explain others; those that nothing explains are reported."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

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
from .known.finding import Finding
from .known.values import Entry
from .solver.conditions import AllOf, AnyOf, Cond, Eq0, Ge0, cond_variables, ge
from .solver.facts import Facts
from .solver.solved import linear_var
from .solver.terms import of_atom

# Requirements on sizes that are right otherwise; an unproved claim about one gives no reason to suspect other claims.
_ORDINARY = (Multiple, AtLeast, AtMost, AxisInRange, DTypeRequirement, OfRank, RankAtLeast, RankIs)
_Keys = Callable[[Finding], Iterable[object]]


def choose(findings: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return the findings to report, and the unproved claims that other findings explain."""
    found = sorted(_at_their_roots(list(findings)), key=lambda f: f.is_unproved)
    vague = {key for f in found for key in _vague(f)}
    place = {f: i for i, f in enumerate(sorted(found, key=lambda f: _order(f, vague)))}
    reasons = (*_REASONS, *_along_values({f.about.place for f in found if _is_of_sizes(f)}))
    explaining = [_by_key(place, reason.explains) for reason in reasons]

    def is_explained(finding: Finding) -> bool:
        return any(
            (place[one] < place[finding] or reason.either) and reason.holds(one, finding)
            for reason, those in zip(reasons, explaining, strict=True)
            for key in (reason.explained(finding) if those else ())
            for one in those.get(key, ())
        )

    silent = {f for f in found if (f.is_unproved and f.about.behind) or is_explained(f)}
    return [f for f in found if f not in silent], [f for f in found if f in silent and f.is_unproved]


def _by_key(found: Iterable[Finding], keys: _Keys) -> dict[object, list[Finding]]:
    those: dict[object, list[Finding]] = {}
    for finding in found:
        for key in keys(finding):
            those.setdefault(key, []).append(finding)
    return those


def _order(finding: Finding, vague: Collection[object]) -> int:
    """The order in which findings explain others: errors, the surest first, then sizes that may not fit."""
    about = finding.about
    if not finding.is_unproved:
        return 3 if finding.site is not None else finding.only_empty * (1 + bool(about.callee))
    if about.behind or any(key in vague for key in _parts(finding)):
        return 6
    return 5 if about.open_at or _is_ordinary(finding) else 4


# Errors at their roots


def _at_their_roots(found: list[Finding]) -> list[Finding]:
    """Turn an error about the result of an unproved call into an error of that call, with the first one as its use: one of
    the two fails. Each unproved call gets one use; certain errors come before checks that hold on empty tensors only."""
    open_ = _by_key(found, lambda f: _if(f.is_unproved and _is_of_sizes(f), f.about.place))
    left, rooted = dict.fromkeys(found), []
    for error in sorted((f for f in found if f.is_error and f.site is None), key=lambda f: f.only_empty):
        if error not in left:  # it is the root of another error already
            continue
        top, uses = error, tuple[Finding, ...]()
        while (root := next(_roots(top, error, open_, left), None)) is not None:
            del left[root]
            top, uses = root, (top, *uses)
        if uses:
            del left[error]
            rooted.append(top.used(uses))
    return [*rooted, *left]


def _roots(
    top: Finding, error: Finding, open_: dict[object, list[Finding]], left: Collection[Finding]
) -> Iterator[Finding]:
    """The unproved claims that an error, or its root so far, may come from, the likeliest first: about the calls that made
    its sizes, about the calls right before it, and for a check that holds on empty tensors only the single one about any call
    before. A condition of a contract is no reason for failures under it."""
    if error.only_empty and error.options.supposing:
        return
    about = top.about
    if top is error:
        yield from (f for f in error.roots if f in left)
    if not (about.what == "dtype" or isinstance(about.asked, DTypeRequirement)):
        direct = [about.place] if about.is_claim and about.what == "dim" else []
        made = (e.span for e in about.given if e.origin is not None and about.callee)
        yield from (f for place in (*direct, *made) for f in open_.get(place, ()) if f in left)
    if error.only_empty:
        behind = [f for place in calls_behind(about.given) for f in open_.get(place, ()) if f in left]
        yield from behind if len(behind) == 1 else ()


# Why a finding explains another


class _Reason(NamedTuple):
    """A rule: one finding explains another that comes after it, or in `either` order, if they share a key and it `holds`."""

    explains: _Keys
    explained: _Keys
    holds: Callable[[Finding, Finding], bool] = lambda one, other: True
    either: bool = False


def _if(holds: object, *keys: object) -> tuple[object, ...]:
    return keys if holds else ()


def _site(finding: Finding) -> Iterable[object]:
    """The call with its callee, or the value with the annotation."""
    about = finding.about
    is_part = (about.callee or about.what) and about.what not in ("rank", "dtype")
    return _if(is_part, (about.callee, about.place, None if about.callee else about.declared))


def _vague(finding: Finding) -> Iterable[object]:
    """An annotated value whose rank is unknown or wrong."""
    return _if(finding.about.what == "rank", (finding.about.declared, finding.about.place))


def _parts(finding: Finding) -> Iterable[object]:
    """The annotated value, for an unproved claim about a part of an annotation."""
    about = finding.about
    return _if(finding.is_unproved and about.what in ("dim", "shape"), (about.declared, about.place))


def _open_at(finding: Finding) -> Iterable[object]:
    return ((finding.function, span) for span in finding.about.open_at)


def _is_wrong_value(finding: Finding) -> bool:
    return finding.is_error and finding.about.is_claim


def _is_of_its_value(one: Finding, other: Finding) -> bool:
    """Whether an error is about a size that an annotation asks of a call's value; the call's own unproved claim may be its
    reason."""
    return other.is_unproved and one.site is None and one.about.is_claim and one.about.what == "dim"


_REASONS = (
    # An error at a call explains the call's unproved claims, and its failures on some tensors.
    _Reason(
        lambda f: _if(f.is_error, f.span),
        lambda f: _if(f.is_unproved or f.only_empty, f.span),
        lambda one, other: not _is_of_its_value(one, other),
    ),
    # A failure in an inlined body is reported once, at the call, unless the body itself is wrong.
    _Reason(lambda f: _if(f.is_error and f.site is None, f.span), lambda f: _if(f.site, f.span)),
    _Reason(lambda f: _if(f.site, f.site), lambda f: _if(f.site, f.site)),
    # A call or an annotation is reported once.
    _Reason(_site, lambda f: _if(f.is_unproved or f.only_empty, *_site(f))),
    # If a rank is unknown, its message names the whole shape.
    _Reason(_vague, _parts),
    # An open rank is reported where it first occurs: the result of that call has an open rank as well, and so on.
    _Reason(lambda f: _if(f.about.callee, *_open_at(f)), lambda f: _if(f.is_unproved, *_open_at(f))),
    # If a loop keeps an annotation on empty tensors only, this explains the claims about the loop's result.
    _Reason(
        lambda f: _if(f.only_empty and f.about.is_claim, f.function),
        lambda f: _if(f.is_unproved and f.about.is_claim, f.function),
        lambda one, other: one.span.within(other.about.place),
    ),
)


def _along_values(misfit: Collection[object]) -> tuple[_Reason, ...]:
    """The reasons that follow values back to the calls that made them: from a wrong value to the first call, from others to
    the next `misfit`, which may be explained in turn."""

    def behind(finding: Finding) -> Iterable[object]:
        return calls_behind(finding.about.given, () if _is_wrong_value(finding) else misfit)

    return (
        # A call whose sizes may not fit explains open claims about everything made from its result.
        _Reason(
            lambda f: _if(_is_of_sizes(f), f.about.place),
            lambda f: behind(f) if f.is_unproved else (),
            lambda one, other: not _stands_alone(one, other),
        ),
        # The needs of a call do not matter if its result is wrong anyway; nor do ordinary requirements on sizes that do not
        # fit.
        _Reason(
            lambda f: behind(f) if _is_misfit(f) else (),
            lambda f: _if(f.is_unproved and f.about.callee, f.about.place),
            lambda one, other: (
                _is_wrong_value(one)
                or (_is_ordinary(other) and (not isinstance(one.about.asked, Intricate) or bool(other.roots)))
            ),
        ),
        # In a long row of conditions that are too intricate to decide, the first claim is reported.
        _Reason(
            lambda f: _if(f.is_unproved and _is_ordinary(f), f.about.place),
            lambda f: behind(f) if isinstance(f.about.asked, Intricate) else (),
            either=True,
        ),
    )


def _stands_alone(one: Finding, other: Finding) -> bool:
    """Whether an unproved claim is independent of a call behind it: the call only limits sizes, which gives no reason to
    suspect other claims, and the claim stays open within these limits."""
    cause, cond, facts = one.outcome.cond, other.outcome.cond, Facts()
    if cause is None or cond is None or not _is_limit(cause):
        return False
    facts.assume(cause)
    if facts.decide(cond).kind != "open":
        return False
    for v in cond_variables(cause):
        facts.assume(ge(of_atom(v), 2))
    return facts.satisfiable() is True  # limits that allow nothing but 1 are no limits


def _is_limit(cond: Cond) -> bool:
    """Whether a condition limits sizes, apart from sizes 0 or 1, which fit in any case."""
    match cond:
        case AllOf():
            return all(map(_is_limit, cond.parts))
        case AnyOf():
            parts = [p for p in cond.parts if not isinstance(p, Eq0) or linear_var(p.term) is None]
            return bool(parts) and all(map(_is_limit, parts))
    return isinstance(cond, Ge0)


def calls_behind(entries: Iterable[Entry], last: Collection[object] = ()) -> set[Span]:
    """The places of the calls that made values, of those that made their arguments, and so on, up to the `last`."""
    found, seen, stack = set[Span](), set[int](), list(entries)
    while stack:
        entry = stack.pop()
        if id(entry) not in seen:
            seen.add(id(entry))
            # Follow the parts of a value, the values in the turns of its loop, and the arguments of its call.
            stack += (*entry.items, *entry.turns)
            if entry.origin is not None:
                found.add(entry.span)
                stack += (operand for _, operand in entry.origin.entries if entry.span not in last)
    return found


def _is_of_sizes(finding: Finding) -> bool:
    """Whether it is about a call with two sizes that may not fit."""
    return bool(finding.about.callee) and _is_misfit(finding)


def _is_misfit(finding: Finding) -> bool:
    """Whether it is about sizes that may not fit each other."""
    return not isinstance(finding.about.asked, (*_ORDINARY, InRange))


def _is_ordinary(finding: Finding) -> bool:
    return isinstance(finding.about.asked, _ORDINARY)
