"""The checks of a program that remain for run time, as objects for Python users."""

from __future__ import annotations

from collections.abc import Iterator

from ..interp.core_uses import nodes_of
from ..lang import core
from ..lang.node import Node
from ..lang.source import Span


class Check(Node):
    """A check that remains for the run: its condition as the user wrote it, its place, and its meaning."""

    text: str
    span: Span
    message: str

    @property
    def line(self) -> int:
        """Its line in the program, from 1."""
        return self.span.line


def residual_checks(function: core.Function) -> Iterator[Check]:
    """The remaining checks inside a function of a checked program."""
    for node in nodes_of(function):
        match node:
            case core.Assert(status=core.Status.RESIDUAL) | core.MatchShape(status=core.Status.RESIDUAL):
                yield check_of(node)
            case core.Call(callee=core.FnRef(), guard=True):
                yield check_of(node)


def check_of(assertion: core.Assert | core.MatchShape | core.Call) -> Check:
    """An assertion, or a call whose arguments are checked, as a Check."""
    if isinstance(assertion, core.Call):
        needs = f"the preconditions of @{assertion.callee.name}"
        return Check(assertion.span.text, assertion.span, needs)
    origin = assertion.origin
    message = assertion.message if isinstance(assertion, core.Assert) and assertion.message else _purpose(origin)
    return Check(origin.text or origin.span.text, origin.span, message)


def _purpose(origin: core.Origin) -> str:
    declared = origin.declared
    if origin.what == "where" and declared is not None and declared.function:
        return f"what @{declared.function} requires"
    if declared is None or origin.what in ("assert", "where", "obligation"):
        return "a condition of the program"
    part = f"axis {origin.axis}" if origin.what == "dim" else origin.what
    return f"{part} of {declared.subject.quoted}"
