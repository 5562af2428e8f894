"""How one obligation ended, for those who word it; and what the user wants of checking."""

from __future__ import annotations

from collections.abc import Callable

from ...lang.core import Status
from ...lang.diagnostics import Diagnostic
from ...lang.node import Node
from ...lang.source import Span
from ..solver.conditions import Cond


class Options(Node):
    """`allow_empty` turns what works only on empty tensors from an error into a warning."""

    strict: bool = False
    allow_empty: bool = False


class Sufficient(str):
    """A condition that is enough, but more than is needed: some empty tensors pass without it."""

    __slots__ = ()


class Outcome(Node):
    """What a diagnostic is told: how the obligation ended, whether only empty tensors satisfy it, a smallest witness (names
    to sizes) for which it fails, the facts that a refutation needs, and for which sizes alone it can hold. With sizes for which
    `given` holds a run gets there."""

    status: Status
    only_empty: bool
    witness: dict[str, int] | None
    reasons: tuple[object, ...] = ()
    only: str | None = None
    given: tuple[Cond, ...] = ()


Explain = Callable[[Outcome], Diagnostic]


class Finding:
    """What was found at one place, and what decides whether it is told: `roots` are the doubts of calls that made a size
    which it is about, `site` the call that a failing body was inlined at, `others` what the same call needs besides, as it is
    said and as it is written in Rx."""

    def __init__(self, said: Diagnostic, site: Span | None = None, roots: tuple[Finding, ...] = ()) -> None:
        self.said = said
        self.site = site
        self.roots = roots
        self.others: dict[str, str] = {}
