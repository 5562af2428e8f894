"""Chosen findings to diagnostics: the only place where a finding becomes a sentence with its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...lang import codes, core
from ...lang.codes import Code
from ...lang.core import Status
from ...lang.diagnostics import Diagnostic, Label, Sentence, error, note, saying, together, warning
from ...lang.node import replace
from ...lang.source import Span
from ...ops.model import TensorInfo
from ..known.finding import Asked, Finding
from ..known.texts import size_text
from ..known.values import Entry, plain
from ..solver.conditions import negate, render_cond
from .describe import told as told_size, type_text
from .reasons import labelled
from .subject import with_conditions


def told(finding: Finding) -> Diagnostic:
    """Return a finding as a diagnostic at its reported place; a failure in an inlined body is reported at the call."""
    return _at_the_call(finding, told_inside(finding))


def _at_the_call(finding: Finding, said: Diagnostic) -> Diagnostic:
    if finding.site is None:
        return said
    between = tuple(Label(span, "through this call") for span in finding.between if span != said.span)
    labels = (Label(said.span, said.caption or "it fails here"), *said.labels, *between)
    return replace(said, span=finding.site, caption="in this call", labels=labels)


def told_inside(finding: Finding) -> Diagnostic:
    """Return the diagnostic at the place where the finding was made."""
    return _rooted(finding, _alone(finding)) if finding.uses else _alone(finding)


def _alone(finding: Finding) -> Diagnostic:
    """Return the diagnostic without its uses."""
    said, outcome = finding.asked.said(finding), finding.outcome
    subject = finding.asked.subject(finding.state)
    if subject is not None:
        said = replace(said, subject=replace(subject, of_case=finding.of_case and finding.is_unproved))
    said = labelled(said, outcome.reasons) if outcome.status is Status.REFUTED else with_conditions(said, outcome)
    return with_others(_in_one_arm(finding, said), finding)


def in_short(findings: Sequence[Finding], left: Iterable[Span]) -> tuple[Diagnostic, ...]:
    """Return short errors (message and place) for very many findings, and one warning with the number of unproved claims,
    `left` included."""
    unproved_claims = [*(f.span for f in findings if f.is_unproved), *left]
    more = f"{len(unproved_claims)} more checks could not be proved and are done at run time, the first of them here"
    said = tuple(_in_short(f) for f in findings if not f.is_unproved)
    return (*said, warning(codes.W311, more, unproved_claims[0])) if unproved_claims else said


def unread(functions: Sequence[core.Function]) -> tuple[Diagnostic, ...]:
    """A warning that functions were not checked."""
    if not functions:
        return ()
    said = "function is" if len(functions) == 1 else "functions are"
    more = f"{len(functions)} more {said} not checked, because there are too many errors"
    here = "" if len(functions) == 1 else ", the first of them here"
    return (warning(codes.W311, more + here, min((f.span for f in functions), key=lambda span: span.start)),)


def without_z3(questions: int, why: str, span: Span) -> Diagnostic:
    """A note that questions stay open because z3 cannot be used; `span` is the first function with one."""
    count = "1 question stays" if questions == 1 else f"{questions} questions stay"
    said = f"{why}: {count} open that only z3 would decide; they are checked at run time"
    return note(codes.N303, said, span)


class InShort(Asked):
    """A failed check after very many findings: only its place and its error code are kept."""

    place: Span
    code: Code

    @property
    def span(self) -> Span:
        return self.place

    @property
    def fails_as(self) -> Code:
        return self.code

    def said(self, finding: Finding) -> Diagnostic:
        return finish(finding, self.code, "this check (one of very many)")


def _in_short(finding: Finding) -> Diagnostic:
    code, about = finding.asked.fails_as, finding.about
    if code is None or finding.site is not None or finding.arm is not None or finding.uses:
        return told(finding)
    return finish(
        finding, code, f"{f'this call of @{about.callee}' if about.callee else 'this check'} (one of very many)"
    )


def _in_one_arm(finding: Finding, said: Diagnostic) -> Diagnostic:
    """Report a failure with one arm at the `if`: a call inside that arm would be an error as well."""
    if finding.arm is None or said.sentence is None:
        return said
    joined, arm = finding.arm
    labels = [
        Label(arm.span, f"this arm gives {type_text(arm.value, finding.state)}"),
        Label(said.span, "this needs another one"),
    ]
    found = (
        said.sentence.found
        if finding.outcome.status is Status.REFUTED
        else _in_arm(finding, joined, arm, said.sentence)
    )
    here = [label for label in said.labels if label.span == joined.span]
    claim, which = replace(said.sentence, found=found).claim, "one arm of this `if`"
    if found:
        claim, which = f"{claim} from {which}", "that arm"
    return saying(
        said, Sentence(claim, verdict=f"this fails whenever {which} is taken"), code=codes.E315, severity="error", caption="",
        span=joined.span, labels=(*(n for n in labels if n.span != joined.span), *here), witness=None, notes=(),
    )  # fmt: skip


def _in_arm(finding: Finding, joined: Entry, arm: Entry, sentence: Sentence) -> str:
    """The value in an arm that the check does not accept."""
    shapes = [finding.state.resolve(e.value.shape) if isinstance(e.value, TensorInfo) else () for e in (joined, arm)]
    if len(shapes[0]) != len(shapes[1]) or not all(map(plain, shapes)):
        return f"it has rank {len(shapes[1])}"
    sizes = [pair for pair in zip(*shapes, strict=True) if pair[0] != pair[1]]
    if len(sizes) != 1:
        return ""
    ((both, own),) = sizes
    is_told = sentence.found in [f"it is {text(both, finding.state)}" for text in (told_size, size_text)]
    return f"it is {size_text(own, finding.state)}" if is_told else ""


def with_others(said: Diagnostic, finding: Finding) -> Diagnostic:
    """Add the call's other open needs to an unproved claim: one place, one warning."""
    sentence, others = said.sentence, finding.others
    if not others or finding.outcome.only_empty or finding.arm is not None or sentence is None:
        return said
    subject = said.subject if said.subject is None else replace(said.subject, also=tuple(others.values()))
    if sentence.only:
        return saying(said, replace(sentence, only=(*sentence.only, *others)), subject=subject)
    return replace(said, subject=subject, notes=(*said.notes, f"it needs {together(list(others))} too"))


def _rooted(finding: Finding, unproved: Diagnostic) -> Diagnostic:
    """Turn an unproved claim into an error with the place where the size is used as the reason: one of these checks fails."""
    *between, last = finding.uses
    *passed, said = (_at_the_call(use, _alone(use)) for use in finding.uses)
    assert unproved.sentence is not None and said.sentence is not None
    declared = last.about.declared if last.about.is_claim else None
    same = said.span == unproved.span and not between
    use = "with its uses below" if between else "with its use below"
    use = "as its result is declared" if same and declared is not None else use
    sentence = replace(unproved.sentence, verdict=f"{use} {said.sentence.verdict}", only=())
    here = (
        replace(n, message="declared here") for n in said.labels[:1] if declared is not None and n.span.within(declared)
    )
    below = (Label(d.span, f"here {d.sentence.claim}") for d in (*passed, said) if d.sentence is not None)
    # Show the sizes with which the call itself fails if the error is at the call.
    own = same and unproved.witness is not None
    notes = (*(n for n in said.notes if "\n" not in n), *(n for n in unproved.notes if same and ("\n" in n or own)))
    return saying(
        unproved, sentence, code=said.code, severity="error",
        labels=distinct(unproved.span, (*unproved.labels, *here) if same else tuple(below)),
        witness=unproved.witness if own else said.witness, notes=notes,
    )  # fmt: skip


def finish(
    finding: Finding,
    code: Code,
    needs: str,
    found: str = "",
    caption: str = "",
    labels: tuple[Label | None, ...] = (),
    help_: str | None = None,
    remarks: tuple[str, ...] = (),
    witness: dict[str, int] | None = None,
    tells_when: bool = False,
    fails: str = "this always fails",
) -> Diagnostic:
    """Return one sentence with its verdict: it always `fails`, works only on empty tensors, or is checked at run time and may
    fail there always. If a remark `tells_when` it works on empty tensors, this is not repeated."""
    outcome, span, remarks, make = finding.outcome, finding.asked.span, tuple(filter(None, remarks)), warning
    sentence = Sentence(needs, found, "this could not be proved and is checked at run time")
    if outcome.status is Status.REFUTED:
        verdict = f"this fails {outcome.turn}" if outcome.turn else "" if code.is_whole else fails
        sentence, make = Sentence(needs, found, verdict), error
    elif outcome.only_empty:
        code, make = codes.E310, error if finding.is_error else warning
        sentence = Sentence(needs, found, "this works only on empty tensors")
        if outcome.only is not None and not outcome.only.sufficient and not tells_when:
            remarks = (f"it holds only for {outcome.only}", *remarks)
    elif finding.inexact:
        code, make, sentence = codes.E317, error, Sentence(needs, found, "an exact size is needed here")
    elif outcome.never and outcome.only is None:
        code, sentence = codes.W311, Sentence(needs, found, f"this fails {_when_it_fails(finding)}")
    else:
        code, only = codes.W311, outcome.only
        if only is not None:
            sentence = Sentence(needs, found, only=(only,))
    return make(
        code, str(sentence), span, caption=caption, labels=distinct(span, labels), function=finding.function, help=help_,
        witness=witness or outcome.witness, notes=remarks, sentence=sentence,
        by_chance=any(o.by_chance for o in sentence.only),
    )  # fmt: skip


def _when_it_fails(finding: Finding) -> str:
    """For one case of a function: its condition; for an arm: whenever it is taken."""
    cond = finding.outcome.cond
    if not finding.of_case or cond is None or isinstance(cond, bool):
        return "whenever a run gets there"
    return f"where {render_cond(negate(cond))}"


def distinct(span: Span, labels: tuple[Label | None, ...]) -> tuple[Label, ...]:
    """The labels with a message, each place once and the primary one left out."""
    kept: dict[Span, Label] = {}
    for label in labels:
        if label is not None and label.message and label.span != span and label.span.source.text:
            kept.setdefault(label.span, label)
    return tuple(kept.values())
