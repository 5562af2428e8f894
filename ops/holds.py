"""A requirement to the condition on sizes under which it holds."""

from __future__ import annotations

from typing import Any

from .model import C, Ctx
from .requirements import (
    AtLeast,
    AtMost,
    Broadcast,
    BroadcastTo,
    Equal,
    Is,
    Multiple,
    NotZero,
    Requirement,
    SameElements,
)


def condition(asked: Requirement, ctx: Ctx[Any, C]) -> C:
    """The condition on sizes that a requirement states, if its quantities express all of it."""
    match asked:
        case Equal(left=a, right=b) | Is(left=a, right=b):
            return ctx.eq(a.size, b.size)
        case Multiple(left=a, of=b):
            return ctx.eq(a.size % b.size, 0)
        case AtLeast(left=a, least=least):
            return ctx.le(least, a.size)
        case AtMost(left=a, right=b):
            return ctx.le(a.size, b.size)
        case NotZero(left=a):
            return ctx.ne(a.size, 0)
        case Broadcast(left=a, right=b):
            return ctx.any_of(ctx.eq(a.size, b.size), ctx.eq(a.size, 1), ctx.eq(b.size, 1))
        case BroadcastTo(left=a, right=b):
            return ctx.any_of(ctx.eq(a.size, b.size), ctx.eq(a.size, 1))
        case SameElements(counts=(a, b)):
            return ctx.eq(a, b)
    raise LookupError(type(asked).__name__)
