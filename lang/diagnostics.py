"""Diagnostics as data: what is wrong, where, why, and what would fix it. Rendering lives in render.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from .codes import Code
from .display import Displayed
from .node import Node, replace
from .source import Placed, Span
from .styled import Line

Severity = Literal["error", "warning", "note"]


class Label(Placed):
    """A secondary place and what is to be said of it."""

    message: str


class CalledFrom(Label):
    """A call that led to a failure of a run."""


class Edit(Placed):
    """Replace the text of `span` by `text`."""

    text: str


class Help(Node):
    """A change that was checked, in words and as edits."""

    text: str
    edits: tuple[Edit, ...]


class Operand(Node):
    """A tensor that a diagnostic is about: the parameter's name (`xs[1]` in a list), its dimensions as Rx text or ints."""

    name: str
    shape: tuple[int | str, ...] | None
    dtype: str


class Subject(Placed):
    """What a diagnostic is about, as data for helps; not printed.

    `span` is the call or the annotated value, `callee` the function without its at sign (empty where nothing is called),
    `at` the parameters and axes whose sizes conflict, `declared` the annotation that asks, `what` the part of it (see
    core.Origin), `wanted` the sizes that would do at the axis, nearest first, `conditions` what would make it hold: each
    alternative in several wordings, the simplest first; `also` what else the same call needs, which is open too; `asked` the
    requirement of a primitive (see ops/requirements.py) or the condition of a signature; `grown` what the annotation of a
    loop's carry would say of an axis that grows, over the loop's index; `is_first`: it is about the carry's first value;
    `of_case`: about one case of sizes, and what is right there may be wrong in the others.
    """

    callee: str
    operands: tuple[Operand, ...]
    at: tuple[tuple[str, int | None], ...] = ()
    declared: Span | None = None
    what: str = ""
    wanted: tuple[int | str, ...] = ()
    conditions: tuple[tuple[str, ...], ...] = ()
    also: tuple[str, ...] = ()
    asked: object = None
    grown: str = ""
    is_first: bool = False
    of_case: bool = False


class Met(Node):
    """What a function was given in a run: of each parameter a tensor's shape with its dtype, or a size; `place` is the file
    that the function stands in."""

    function: str
    place: Span
    given: Mapping[str, tuple[tuple[int, ...], str] | int]


class Only(Node):
    """For which sizes something holds, in a few words: how that is `said`, and as conditions in Rx of which one is enough.
    `sufficient`: that is more than is needed, some empty tensors pass without it. `by_chance`: two sizes that have names would
    have to be equal, or one of them 1."""

    said: str
    cases: tuple[str, ...]
    sufficient: bool = False
    by_chance: bool = False

    def __str__(self) -> str:
        return self.said


class Sentence(Node):
    """A message in its parts: what is needed, what is there instead, and the verdict; `only` are the conditions under which it
    holds, which then are the verdict."""

    needs: str
    found: str = ""
    verdict: str = ""
    only: tuple[Only, ...] = ()

    @property
    def claim(self) -> str:
        """The sentence without its verdict."""
        return ", but ".join(filter(None, (self.needs, self.found)))

    def __str__(self) -> str:
        if_ = "if" if any(condition.sufficient for condition in self.only) else "only if"
        only = f"this holds {if_} {together(self.only)}, which is checked at run time" if self.only else ""
        return ": ".join(filter(None, (self.claim, only or self.verdict)))


def listed(texts: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def together(conditions: Sequence[Only]) -> str:
    """Conditions that all hold."""
    said = [condition.said for condition in conditions]
    return ", and ".join(said) if any(len(condition.cases) > 1 for condition in conditions) else listed(said)


class Diagnostic(Displayed, Node):
    """One message. `span` is the place to edit, `labels` are the reasons, `witness` the smallest sizes that show it.

    `caption` is the short text under the primary span; `notes` are further full lines; `edits` is what `help` would do, or the
    `change` that it ends with; of a text that cannot be read they are `certain` where they say the same in Rx's words. `fixes`
    are all changes that were checked, that one first. `meant` are the names that may have been meant, the likeliest first.
    `sentence` has the parts of a message about a check. `by_chance`: it holds only where two sizes happen to be equal.
    """

    code: Code
    severity: Severity
    message: str
    span: Span
    caption: str = ""
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    function: str | None = None
    help: str | None = None
    witness: Mapping[str, int] | None = None
    edits: tuple[Edit, ...] = ()
    subject: Subject | None = None
    helps: tuple[Help, ...] = ()
    sentence: Sentence | None = None
    meant: tuple[str, ...] = ()
    change: str = ""
    certain: bool = False
    by_chance: bool = False

    @property
    def is_wrong(self) -> bool:
        """Whether it is an error or a warning."""
        return self.severity != "note"

    def _lines(self) -> list[Line]:
        from .render import render  # few are shown in notebooks

        return render(self)


class RxError(Displayed, Exception):
    """Raised inside a phase to give up on one item; carries the diagnostics. Never crosses a phase's boundary."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics

    def _lines(self) -> list[Line]:
        from .render import diagnostics_lines  # few are shown in notebooks

        return diagnostics_lines(self.diagnostics)


def saying(said: Diagnostic, sentence: Sentence, **changes: object) -> Diagnostic:
    """The diagnostic with another sentence."""
    return replace(said, message=str(sentence), sentence=sentence, **changes)


def error(code: Code, message: str, span: Span, **rest: object) -> Diagnostic:
    return Diagnostic(code, "error", message, span, **rest)  # type: ignore[arg-type]


def warning(code: Code, message: str, span: Span, **rest: object) -> Diagnostic:
    return Diagnostic(code, "warning", message, span, **rest)  # type: ignore[arg-type]


def note(code: Code, message: str, span: Span, **rest: object) -> Diagnostic:
    return Diagnostic(code, "note", message, span, **rest)  # type: ignore[arg-type]


def likeliest_first(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """As they are told to people: before other unproved claims and notes those that are nearly certain to be mistakes."""
    others = iter(sorted((d for d in diagnostics if d.severity != "error"), key=lambda d: not d.by_chance))
    return [d if d.severity == "error" else next(others) for d in diagnostics]


def in_order(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """By file and place; exact repetitions dropped."""
    seen: set[tuple[str, str, int, int, str]] = set()
    result = []
    for d in sorted(diagnostics, key=lambda d: (d.span.source.name, d.span.start, d.span.end, d.code)):
        key = (d.code, d.span.source.name, d.span.start, d.span.end, d.message)
        if key not in seen:
            seen.add(key)
            result.append(d)
    return result
