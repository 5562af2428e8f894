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
    """A secondary place and its message."""

    message: str


class CalledFrom(Label):
    """A call that led to a failure at run time."""


class Edit(Placed):
    """Replace the text of `span` by `text`."""

    text: str


class Help(Node):
    """A checked change, in words and as edits."""

    text: str
    edits: tuple[Edit, ...]


class Operand(Node):
    """A tensor that a diagnostic is about: the parameter's name (`xs[1]` in a list), its dimensions as Rx text or ints."""

    name: str
    shape: tuple[int | str, ...] | None
    dtype: str


class Subject(Placed):
    """The subject of a diagnostic, as data for helps; not printed.

    `span` is the call or the annotated value, `callee` the function without its at sign (empty if nothing is called), `at`
    the parameters and axes whose sizes conflict, `declared` the annotation that asks, `what` the part of it (see
    core.Origin), `wanted` the sizes that would fit at the axis, nearest first, `conditions` the alternatives that would make
    it hold, each in several wordings, the simplest first; `also` other open conditions of the same call; `asked` the
    requirement of a primitive (see ops/requirements.py) or the condition of a signature; `grown` the size, over the loop's
    index, that the annotation of a loop's carry would need for a growing axis; `is_first`: it is about the carry's first
    value; `of_case`: it is about one case of sizes, and a fix for it may be wrong in the other cases.
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
    """The arguments of a function in a run: for each parameter a tensor's shape with its dtype, or a size; `place` is the
    function's file."""

    function: str
    place: Span
    given: Mapping[str, tuple[tuple[int, ...], str] | int]


class Only(Node):
    """The sizes for which a claim holds: in a few words (`said`), and as alternative conditions in Rx. `sufficient`: the
    conditions ask more than needed, as some empty tensors pass without them. `by_chance`: two named sizes would have to be
    equal, or one of them 1."""

    said: str
    cases: tuple[str, ...]
    sufficient: bool = False
    by_chance: bool = False

    def __str__(self) -> str:
        return self.said


class Sentence(Node):
    """A message in its parts: the need, what was found instead, and the verdict; `only` are the conditions under which it
    holds, which then form the verdict."""

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
    """Conditions that all hold, in words."""
    said = [condition.said for condition in conditions]
    return ", and ".join(said) if any(len(condition.cases) > 1 for condition in conditions) else listed(said)


class Diagnostic(Displayed, Node):
    """One message. `span` is the place to edit, `labels` are the reasons, `witness` the smallest sizes that show it.

    `caption` is the short text under the primary span; `notes` are further full lines; `edits` carry out `help`, or the
    `change` that it ends with; for a text that cannot be read they are `certain` if they say the same in Rx's words. `fixes`
    are all checked changes, that of `help` first. `meant` are the names that may have been meant, the likeliest first.
    `sentence` has the parts of a message about a check. `by_chance`: it holds only if two sizes happen to be equal.
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
    """Raised inside a phase to abandon one item; carries the diagnostics. Never crosses a phase's boundary."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics

    def _lines(self) -> list[Line]:
        from .render import diagnostics_lines  # few are shown in notebooks

        return diagnostics_lines(self.diagnostics)


def saying(said: Diagnostic, sentence: Sentence, **changes: object) -> Diagnostic:
    """The diagnostic with another sentence, and other changes."""
    return replace(said, message=str(sentence), sentence=sentence, **changes)


def error(code: Code, message: str, span: Span, **rest: object) -> Diagnostic:
    return Diagnostic(code, "error", message, span, **rest)  # type: ignore[arg-type]


def warning(code: Code, message: str, span: Span, **rest: object) -> Diagnostic:
    return Diagnostic(code, "warning", message, span, **rest)  # type: ignore[arg-type]


def note(code: Code, message: str, span: Span, **rest: object) -> Diagnostic:
    return Diagnostic(code, "note", message, span, **rest)  # type: ignore[arg-type]


def likeliest_first(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Order diagnostics for people: among warnings and notes, those come first that are nearly certain to be mistakes."""
    others = iter(sorted((d for d in diagnostics if d.severity != "error"), key=lambda d: not d.by_chance))
    return [d if d.severity == "error" else next(others) for d in diagnostics]


def in_order(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Sort by file and place; drop exact repetitions."""
    seen: set[tuple[str, str, int, int, str]] = set()
    result = []
    for d in sorted(diagnostics, key=lambda d: (d.span.source.name, d.span.start, d.span.end, d.code)):
        key = (d.code, d.span.source.name, d.span.start, d.span.end, d.message)
        if key not in seen:
            seen.add(key)
            result.append(d)
    return result
