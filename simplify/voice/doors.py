"""What a function asks of its arguments, and a list of implementations of a call: the diagnostics of the call."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...lang import codes, core
from ...lang.diagnostics import Diagnostic, Label, Subject, error, listed, note
from ...lang.node import Node, replace
from ...lang.source import Span
from ...ops.model import TensorInfo
from ...ops.spelling import ORDINALS
from ..known.finding import About, Asked, Finding
from ..known.state import State
from ..known.values import Entry, Env
from .describe import type_text
from .origins import place_of
from .subject import of_call, of_check
from .telling import distinct, finish, told
from .wording import Ranges, compared, filled_type, ranges_of, size_label, values_text, why, with_owner, wording


class Site(Node):
    """A call of a function: where it stands, the function, what its arguments are and where they stand."""

    span: Span
    function: core.Function
    entries: tuple[Entry, ...]
    arguments: tuple[Span, ...]

    @property
    def given(self) -> dict[str, Entry]:
        """The arguments by the parameters' names."""
        return dict(zip((p.name for p in self.function.params), self.entries, strict=False))


class Entrance(Asked):
    """What a function asks of its arguments, at a call; `env` has the function's names, `ranges` those of the sizes."""

    stmt: core.Assert | core.MatchShape
    env: Env
    site: Site
    ranges: Ranges = {}

    @property
    def span(self) -> Span:
        return self.site.span

    @property
    def about(self) -> About:
        origin, site = self.stmt.origin, self.site
        return About(site.span, site.function.name, origin.asked, origin.what, None, site.entries)

    def kept(self, state: State) -> Entrance:
        return replace(self, env=dict(self.env), ranges=ranges_of(state, self.stmt, self.env))

    def sizes(self) -> Iterable[tuple[Entry, int]]:
        return _sizes_of(self.stmt, self.site)

    def subject(self, state: State) -> Subject:
        call = of_call(state, self.site.span, self.site.function.name, self.site.given.items())
        return of_check(state, self.stmt, self.env, call)

    def said(self, finding: Finding) -> Diagnostic:
        """`@ff needs axis 1 of `x` to be a multiple of 4, but it is 15`."""
        stmt, env, site, state = self.stmt, self.env, self.site, finding.state
        origin, declared = stmt.origin, stmt.origin.declared
        if declared is None or origin.what == "where":
            return _condition_at_call(self, finding)
        position = _position(site.function, declared)
        subject = f"`{declared.subject}`"
        if len(site.function.params) > 1 and position is not None and position < len(ORDINALS):
            subject += f" ({ORDINALS[position]} argument)"
        needs, found = wording(state, stmt, env, subject, self.ranges)
        needs = with_owner(needs, origin.text, found, _called(site))
        entry = site.entries[position] if position is not None and position < len(site.entries) else None
        caption, labels = "", [Label(origin.span, why(state, stmt, env))]
        tensor = env.get(declared.tensor)
        if entry is not None and tensor is not None:
            wanted, name = filled_type(state, declared, env), _argument_name(site, position)
            caption = f"{name} is {type_text(tensor.value, state)}, the parameter is {wanted}"
            if origin.axis is not None:
                place = place_of(state, entry, origin.axis).span
                labels.append(Label(place, size_label(state, tensor, origin.axis)))
        code = codes.E313 if origin.what == "dtype" else codes.E301
        return finish(finding, code, f"{_called(site)} needs {needs}", found, caption, tuple(labels))


def _called(site: Site) -> str:
    """`@ff`; a function that has no name of its own by the name that stands in the call."""
    name = re.match(r"\w+", site.span.text)
    return f"`{name[0]}`" if site.function.name == "fn" and name else f"@{site.function.name}"


def _position(function: core.Function, declared: core.Declared) -> int | None:
    if declared.position is not None:
        return declared.position
    return next((i for i, p in enumerate(function.params) if p.name == declared.tensor), None)


def _sizes_of(stmt: core.Assert | core.MatchShape, site: Site) -> Iterable[tuple[Entry, int]]:
    """The sizes that a check at a door speaks of; of a whole shape, those of all arguments."""
    names = {param.name: entry for param, entry in zip(site.function.params, site.entries, strict=True)}
    whole = isinstance(stmt, core.MatchShape) or (
        isinstance(stmt.cond, core.Compare) and isinstance(stmt.cond.left, core.ShapeExpr)
    )
    if whole:
        for entry in names.values():
            if isinstance(entry.value, TensorInfo):
                yield from ((entry, axis) for axis in range(len(entry.value.shape)))
    elif isinstance(stmt, core.Assert):
        dims = [node for node in compared(stmt.cond, core.Logic) if isinstance(node, core.DimOf)]
        yield from ((names[node.tensor], node.axis) for node in dims if node.tensor in names)


def _argument_name(site: Site, position: int | None) -> str:
    text = site.arguments[position].text if position is not None and position < len(site.arguments) else ""
    return f"`{text}`" if text.isidentifier() else "the argument"


def _condition_at_call(asked: Entrance, finding: Finding) -> Diagnostic:
    stmt, site, state = asked.stmt, asked.site, finding.state
    needs = f"{_called(site)} needs `{stmt.origin.text or stmt.span.text}` to hold"
    labels = [Label(stmt.origin.span, f"{_called(site)} asks for this")]
    if isinstance(stmt, core.Assert):
        needs += f" ({stmt.message})" if stmt.message else ""
        spoken = {n.tensor for n in compared(stmt.cond, core.Logic, core.Not) if not isinstance(n, core.SizeVar)}
        given = (e for name, e in site.given.items() if name in spoken)
        labels += [Label(e.span, f"this is {type_text(e.value, state)}") for e in given]
    types = ", ".join(type_text(e.value, state) for e in site.entries)
    found = values_text(state, stmt, asked.env, asked.ranges)
    return finish(finding, codes.E309, needs, found, f"called with {types}" if types else "", tuple(labels))


def impossible_signature(function: core.Function, conditions: list[core.Assert]) -> Diagnostic:
    """No sizes satisfy what a function asks of its parameters: these conditions exclude each other."""
    span = conditions[-1].origin.span if conditions else function.span
    labels = tuple(Label(c.origin.span, "together with this") for c in conditions[:-1])
    message = f"no sizes satisfy the signature of @{function.name}"
    if conditions:
        message += f": {listed([_asked(c) for c in conditions])}" + (
            " exclude each other" if labels else " never holds"
        )
    return error(codes.E311, message, span, labels=labels, function=f"@{function.name}")


def _asked(stmt: core.Assert) -> str:
    """A condition as it is written; of a dimension with its axis."""
    text, declared = stmt.origin.text or stmt.span.text, stmt.origin.declared
    if declared is None or stmt.origin.axis is None:
        return f"`{text}`"
    return f"`{text}` as axis {stmt.origin.axis} of `{declared.subject}`"


class Chosen(Asked):
    """That a member of a list fits a call; `reasons` has what is wrong with each."""

    span: Span
    name: str
    entries: tuple[Entry, ...]
    reasons: list[tuple[str, Finding | None]]

    def said(self, finding: Finding) -> Diagnostic:
        """One error; of each member a line: below its own annotation where it has one, else on its own."""
        labels: list[Label] = []
        notes: list[str] = []
        for member, reason in self.reasons:
            said = told(reason) if reason is not None else None
            text = f"@{member} does not take this"
            if said is not None:
                text = said.message if said.sentence is None else said.sentence.claim
            place = next((label.span for label in said.labels), None) if said is not None else None
            if place is None or any(label.span == place for label in labels) or place.within(self.span):
                notes.append(text)
            else:
                labels.append(Label(place, text))
        types = ", ".join(type_text(e.value, finding.state) for e in self.entries)
        return error(
            codes.E316, f"no implementation of @{self.name} fits this call: this always fails", self.span,
            caption=f"called with {types}" if types else "", labels=distinct(self.span, tuple(labels)),
            notes=tuple(notes), function=finding.function,
        )  # fmt: skip


def never_chosen(name: str, place: Span, before: str, its_place: Span) -> Diagnostic:
    return note(
        codes.N302, f"@{name} is never chosen: whatever fits it fits @{before} before it", place,
        labels=(Label(its_place, "this one is taken"),),
        help="the most specific one stands first",
    )  # fmt: skip
