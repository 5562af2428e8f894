"""What a function asks of its arguments: the diagnostics of its call."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from ...lang import codes, core
from ...lang.diagnostics import Diagnostic, Label, error, listed
from ...lang.source import Span
from ...lang.walk import walk
from ...ops.model import TensorInfo
from ...ops.spelling import ORDINALS
from ..known.outcome import Outcome
from ..known.values import Entry, Env
from .describe import type_text
from .origins import place_of
from .verdict import Speaker, finish
from .wording import filled_type, size_label, values_text, why, with_owner, wording


class SiteLike(Protocol):
    """A call of a function: where it stands, the function, what its arguments are and where they stand."""

    @property
    def span(self) -> Span: ...
    @property
    def function(self) -> core.Function: ...
    @property
    def entries(self) -> tuple[Entry, ...]: ...
    @property
    def arguments(self) -> tuple[Span, ...]: ...


def argument(
    walker: Speaker, stmt: core.Assert | core.MatchShape, env: Env, site: SiteLike, outcome: Outcome
) -> Diagnostic:
    """A callee's door at a call: `@ff needs axis 1 of `x` to be a multiple of 4, but it is 15`."""
    origin, declared = stmt.origin, stmt.origin.declared
    function, span, entries = site.function, site.span, site.entries
    if declared is None or origin.what == "where":
        return _condition_at_call(walker, stmt, env, site, outcome)
    position = _position(function, declared)
    subject = declared.subject
    if len(function.params) > 1 and position is not None and position < len(ORDINALS):
        subject = f"{declared.subject}` ({ORDINALS[position]} argument)"
    else:
        subject = f"{declared.subject}`"
    needs, found = wording(walker.state, stmt, env, f"`{subject}")
    needs = with_owner(needs, origin.text, found, _called(site))
    entry = entries[position] if position is not None and position < len(entries) else None
    caption, labels = "", [Label(origin.span, why(walker.state, stmt, env))]
    tensor = env.get(declared.tensor)
    if entry is not None and tensor is not None:
        wanted = filled_type(walker.state, declared, env)
        name = _argument_name(site, position)
        caption = f"{name} is {type_text(tensor.value, walker.state)}, the parameter is {wanted}"
        if origin.axis is not None:
            place = place_of(walker.state, entry, origin.axis).span
            labels.append(Label(place, size_label(walker.state, tensor, origin.axis)))
    code = codes.E313 if origin.what == "dtype" else codes.E301
    return finish(
        walker, outcome, code, f"{_called(site)} needs {needs}", found, span, caption,
        tuple(label for label in labels if label.message),
    )  # fmt: skip


def _called(site: SiteLike) -> str:
    """`@ff`; a function that has no name of its own by the name that stands in the call."""
    name = re.match(r"\w+", site.span.text)
    return f"`{name[0]}`" if site.function.name == "fn" and name else f"@{site.function.name}"


def _position(function: core.Function, declared: core.Declared) -> int | None:
    if declared.position is not None:
        return declared.position
    return next((i for i, p in enumerate(function.params) if p.name == declared.tensor), None)


def sizes_of(stmt: core.Assert | core.MatchShape, site: SiteLike) -> Iterable[tuple[Entry, int]]:
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
        for node in walk(stmt.cond, without=lambda node: isinstance(node, core.ShapeLit | core.Not)):
            if isinstance(node, core.DimOf) and node.tensor in names:
                yield names[node.tensor], node.axis


def _argument_name(site: SiteLike, position: int | None) -> str:
    text = site.arguments[position].text if position is not None and position < len(site.arguments) else ""
    return f"`{text}`" if text.isidentifier() else "the argument"


def _condition_at_call(
    walker: Speaker,
    stmt: core.Assert | core.MatchShape,
    env: Env,
    site: SiteLike,
    outcome: Outcome,
) -> Diagnostic:
    text = stmt.origin.text or stmt.span.text
    found = values_text(walker.state, stmt.cond, env) if isinstance(stmt, core.Assert) else ""
    label = Label(stmt.origin.span, f"{_called(site)} asks for this")
    needs = f"{_called(site)} needs `{text}` to hold"
    message = stmt.message if isinstance(stmt, core.Assert) else None
    if message:
        needs += f" ({message})"
    types = ", ".join(type_text(e.value, walker.state) for e in site.entries)
    labels = [label]
    if isinstance(stmt, core.Assert):
        spoken = _tensors_in(stmt.cond)
        given = zip(site.function.params, site.entries, strict=False)
        labels += [Label(e.span, f"this is {type_text(e.value, walker.state)}") for p, e in given if p.name in spoken]
    return finish(
        walker, outcome, codes.E309, needs, found, site.span, f"called with {types}" if types else "", tuple(labels)
    )


def _tensors_in(cond: core.BoolExpr) -> set[str]:
    """The tensors whose rank or dimensions a condition speaks of."""
    parts = walk(cond, without=lambda node: isinstance(node, core.ShapeLit))
    return {node.tensor for node in parts if isinstance(node, core.DimOf | core.RankOf)}


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
