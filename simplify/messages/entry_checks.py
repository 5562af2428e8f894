"""Messages about a function's conditions on its arguments, and about a call that no implementation in a list fits."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...lang import codes, core
from ...lang.codes import Code
from ...lang.diagnostics import Diagnostic, Label, Subject, error, listed, note
from ...lang.node import replace
from ...lang.source import Placed, Span
from ...lang.walk import walk
from ...ops.model import TensorInfo
from ...ops.spelling import ORDINALS
from ..known.finding import About, Asked, Finding
from ..known.shape_level import Poisoned, ShapeLevel
from ..known.state import State
from ..known.texts import size_text
from ..known.values import Entry, Env, plain
from . import equations
from .aligned import TensorRow, aligned
from .describe import type_text
from .origins import place_of
from .subject import of_call, of_check
from .telling import distinct, finish, told
from .wording import Ranges, compared, filled_type, ranges_of, size_label, values_text, why, wording


class Site(Placed):
    """A call of a function: its place, the function, its arguments and their places. `passed` is the parameter as which the
    function is only passed on; `every` is the parameter whose every call the site stands for, then and in findings about
    results of such calls. Both are words."""

    function: core.Function
    entries: tuple[Entry, ...]
    arguments: tuple[Span, ...]
    passed: str = ""
    every: str = ""

    @property
    def fails(self) -> str:
        """The verdict of a condition that never holds; a function that is only passed on need not be called."""
        return f"every call of {self.every} fails" if self.every else "this always fails"

    @property
    def given(self) -> dict[str, Entry]:
        """The arguments by the parameters' names."""
        return dict(zip((p.name for p in self.function.params), self.entries, strict=False))


class Entrance(Asked):
    """A function's condition on its arguments, at a call; `env` has the function's names, `ranges` those of its sizes."""

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

    @property
    def fails_as(self) -> Code:
        origin = self.stmt.origin
        if origin.declared is None or origin.what == "where":
            return codes.E309
        return codes.E313 if origin.what == "dtype" else codes.E301

    def kept(self, state: State) -> Entrance:
        return replace(self, env=dict(self.env), ranges=ranges_of(state, self.stmt, self.env))

    def sizes(self) -> Iterable[tuple[Entry, int]]:
        return _sizes_of(self.stmt, self.site)

    def subject(self, state: State) -> Subject:
        span = self.site.span
        if self.site.passed:
            return replace(of_check(state, self.stmt, self.env), span=span, operands=())
        return of_check(
            state, self.stmt, self.env, of_call(state, span, self.site.function.name, self.site.given.items())
        )

    def said(self, finding: Finding) -> Diagnostic:
        """`@ff needs axis 1 of `x` to be a multiple of 4, but it is 15`."""
        stmt, env, site, state = self.stmt, self.env, self.site, finding.state
        origin, declared = stmt.origin, stmt.origin.declared
        if declared is None or origin.what == "where":
            return _condition_at_call(self, finding)
        position = _position(site.function, declared)
        called = declared.subject
        subject = called.as_its_own if core.is_signature(site.function) else called.quoted
        if called.of is None and len(site.function.params) > 1 and position is not None and position < len(ORDINALS):
            subject += f" ({ORDINALS[position]} argument)"
        needs, found = wording(state, stmt, env, subject, self.ranges, _called(site))
        entry = site.entries[position] if position is not None and position < len(site.entries) else None
        caption, labels = "", [Label(origin.span, why(state, stmt, env))]
        tensor = env.get(declared.tensor)
        if entry is not None and tensor is not None:
            wanted, name = filled_type(state, declared, env), _argument_name(site, position)
            caption = f"{name} is {type_text(tensor.value, state)}, the parameter is {wanted}"
            if origin.axis is not None:
                place = place_of(state, entry, origin.axis).span
                labels.append(Label(place, size_label(state, tensor, origin.axis)))
        asks = f"{_asking(site, called.of)} needs {needs}"
        return finish(finding, self.fails_as, asks, found, caption, tuple(labels), fails=site.fails)


def _called(site: Site) -> str:
    """`@ff`; a function without a name, or a parameter, gets the name written in the call."""
    name = None if site.passed else re.match(r"\w+", site.span.text)
    if core.is_signature(site.function):
        return f"`{name[0] if name else site.function.name}`"
    if site.function.name == "fn":
        return f"`{name[0]}`" if name else "the function value"
    return f"the rule of {site.span.text}" if site.function.name.endswith(core.UNSAID) else f"@{site.function.name}"


def _asking(site: Site, function: core.Called | None = None) -> str:
    """The asking function; for one that is passed on, also the parameter. A passed parameter is called what its signature
    says."""
    if not site.passed:
        return _called(site)
    who = function.speaking if function is not None and core.is_signature(site.function) else _called(site)
    return f"{who} passed as {site.passed}"


def parameter(function: core.Function, param: core.Param) -> str:
    """A parameter by its name; parameters of a signature have no names and are told by position."""
    if not core.is_signature(function):
        return f"`{param.name}`"
    place = function.params.index(param)
    which = f"the {ORDINALS[place]} argument" if place < len(ORDINALS) else f"argument {place + 1}"
    return f"{which} of `{function.name}`"


def _position(function: core.Function, declared: core.Declared) -> int | None:
    if declared.position is not None:
        return declared.position
    return next((i for i, p in enumerate(function.params) if p.name == declared.tensor), None)


def _sizes_of(stmt: core.Assert | core.MatchShape, site: Site) -> Iterable[tuple[Entry, int]]:
    """The sizes in an entry check; if it is about a whole shape, those of all arguments."""
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
    if site.passed and position is not None:
        return f"argument {position + 1} of {site.passed}"
    if position is None or position >= len(site.arguments) or not site.arguments[position].text.isidentifier():
        return "the argument"
    place, entry = site.arguments[position], site.entries[position]
    is_row = (
        entry.origin is not None and entry.span == place
    )  # the call that made it stands where only the name of the rows is written
    return f"a row of `{place.text}`" if is_row else f"`{place.text}`"


def _condition_at_call(asked: Entrance, finding: Finding) -> Diagnostic:
    stmt, site, state = asked.stmt, asked.site, finding.state
    needs = f"{_asking(site)} needs `{stmt.origin.text or stmt.span.text}` to hold"
    needs += f" ({stmt.message})" if isinstance(stmt, core.Assert) and stmt.message else ""
    label = Label(stmt.origin.span, f"{_called(site)} asks for this{_remainder(state, stmt, asked.env)}")
    found = values_text(state, stmt, asked.env, asked.ranges)
    types = ", ".join(type_text(e.value, state) for e in site.entries)
    rows = _beside_parameter(state, stmt, site)
    caption = "" if rows or not types else f"called with {types}"
    labels = (label, *_sizes_from(state, stmt, site))
    return finish(finding, asked.fails_as, needs, found, caption, labels, remarks=(rows,), fails=site.fails)


def _remainder(state: State, stmt: core.Assert | core.MatchShape, env: Env) -> str:
    """` (100 mod 12 = 4)` if a number has to divide a size."""
    if not isinstance(stmt, core.Assert):
        return ""
    match stmt.cond:
        case core.Compare(op="==", left=core.SizeOp(op="%", left=left, right=right), right=core.SizeLit(value=0)):
            level = ShapeLevel(state, env)
            try:
                sizes = [state.settled(level.size(part)) for part in (left, right)]
            except Poisoned:
                return ""
            reason = equations.remainder(state, *sizes)
            return f" ({reason})" if reason else ""
    return ""


def _dimensions(stmt: core.Assert | core.MatchShape, site: Site) -> list[tuple[int, int]]:
    """The positions of parameters, with the axes whose sizes occur in a condition."""
    names = [param.name for param in site.function.params]
    found = [n for n in walk(stmt.cond) if isinstance(n, core.DimOf)] if isinstance(stmt, core.Assert) else []
    return list(dict.fromkeys((names.index(n.tensor), n.axis) for n in found if n.tensor in names))


def _sizes_from(state: State, stmt: core.Assert | core.MatchShape, site: Site) -> list[Label]:
    """The origins of the sizes in a condition; for a tensor about which nothing is known, its type."""
    labels: list[Label] = []
    dimensions = _dimensions(stmt, site)
    for position, axis in dimensions:
        entry = site.entries[position]
        text = size_label(state, entry, axis)
        known = text and "?" not in text
        labels.append(Label(place_of(state, entry, axis).span, text) if known else _type_of(state, entry))
    nodes = compared(stmt.cond, core.Logic, core.Not) if isinstance(stmt, core.Assert) else ()
    spoken = {node.tensor for node in nodes if not isinstance(node, core.SizeVar)}
    told = {site.function.params[position].name for position, _ in dimensions}
    return labels + [_type_of(state, e) for name, e in site.given.items() if name in spoken - told]


def _type_of(state: State, entry: Entry) -> Label:
    return Label(entry.span, f"this is {type_text(entry.value, state)}")


def _beside_parameter(state: State, stmt: core.Assert | core.MatchShape, site: Site) -> str:
    """An argument's shape above the parameter's, with marks at the axes in a condition, if it is about one tensor."""
    axes = _dimensions(stmt, site)
    if len({position for position, _ in axes}) != 1 or site.function.declaration is None:
        return ""
    position = axes[0][0]
    name, value = site.function.params[position].name, site.entries[position].value
    declared = next((p for p in site.function.declaration.params if p.name == name), None)
    dims = declared.annotation.dims if declared is not None and declared.annotation is not None else None
    shape = state.resolve(value.shape) if isinstance(value, TensorInfo) else ()
    if dims is None or not plain(shape) or len(shape) != len(dims) or len(shape) < 2:
        return ""
    bad = tuple(sorted({axis % len(shape) for _, axis in axes}))
    own = TensorRow(_argument_name(site, position), tuple(size_text(d, state) for d in shape), bad)
    return aligned((own, TensorRow("parameter", tuple(d.span.text for d in dims), bad)), from_the_end=False)


def impossible_signature(function: core.Function, conditions: list[core.Assert]) -> Diagnostic:
    """The error for a function whose parameter conditions exclude each other."""
    span = conditions[-1].origin.span if conditions else function.span
    labels = tuple(Label(c.origin.span, "together with this") for c in conditions[:-1])
    message = f"no sizes satisfy the signature of @{function.name}"
    if conditions:
        message += f": {listed([_asked(c) for c in conditions])}" + (
            " exclude each other" if labels else " never holds"
        )
    help = _ANY if any(_is_below_0(c.cond) for c in conditions) else None
    return error(codes.E311, message, span, labels=labels, function=f"@{function.name}", help=help)


_ANY = "write `?` for any size, or a name to refer to it"


def _is_below_0(asked: core.BoolExpr) -> bool:
    """Whether the condition sets a dimension to a number below 0: `Tensor([-1, d])`."""
    match asked:
        case core.Compare(op="==", left=core.DimOf(), right=core.SizeLit(value=value)):
            return value < 0
    return False


def _asked(stmt: core.Assert) -> str:
    """A condition as written; if it is about a dimension, with the axis."""
    text, declared = stmt.origin.text or stmt.span.text, stmt.origin.declared
    if declared is None or stmt.origin.axis is None:
        return f"`{text}`"
    return f"`{text}` as axis {stmt.origin.axis} of `{declared.subject}`"


class Chosen(Asked):
    """The check that a member of a list fits a call; `reasons` has the failure of each."""

    span: Span
    name: str
    entries: tuple[Entry, ...]
    reasons: list[tuple[str, Finding | None]]

    def said(self, finding: Finding) -> Diagnostic:
        """One error with a line for each member: a label at its annotation if it has one, else a note."""
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
        codes.N302, f"@{name} is never chosen: every call that fits it fits @{before} before it", place,
        labels=(Label(its_place, "this one is taken"),),
        help="put the most specific one first",
    )  # fmt: skip
