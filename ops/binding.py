"""Arguments of a primitive's call to its parameters: positional first, then by name, defaults last."""

from __future__ import annotations

from ..lang import core
from ..lang.source import Span
from .model import Primitive, PrimitiveParam


class BindError(Exception):
    """A call whose arguments do not fit the parameters' names; the message completes a sentence for the user."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.message, self.span = message, span


def bind(row: Primitive, call: core.Call) -> tuple[tuple[PrimitiveParam, core.Value | None], ...]:
    """Each parameter with its argument, in the row's order; None stands for the default."""
    given: dict[str, core.Value] = {}
    for position, arg in enumerate(call.args):
        name = arg.name
        if name is None:
            if position >= len(row.params):
                raise BindError(f"@{row.name} takes at most {len(row.params)} arguments", arg.span)
            name = row.params[position].name
        elif all(p.name != name for p in row.params):
            known = ", ".join(p.name for p in row.params)
            raise BindError(f"@{row.name} has no parameter `{name}`; its parameters are {known}", arg.span)
        if name in given:
            raise BindError(f"@{row.name} gets `{name}` twice", arg.span)
        given[name] = arg.value
    bound = tuple([(p, given.get(p.name)) for p in row.params])
    for param, value in bound:
        if value is None and param.required:
            raise BindError(f"@{row.name} is called without `{param.name}`", call.span)
    return bound
