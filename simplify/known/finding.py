"""A finding as data: the condition at a place, the answer, and the facts there."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from typing import TYPE_CHECKING, Self

from ...lang.codes import Code
from ...lang.core import Status
from ...lang.diagnostics import Diagnostic, Only, Subject
from ...lang.node import Node
from ...lang.source import Span
from ..solver.conditions import Cond
from ..solver.terms import Size
from .outcome import Options, Outcome

if TYPE_CHECKING:
    from .state import State
    from .values import Entry


class Asked(Node):
    """A condition asked of a piece of a program; each kind knows its own message and subject."""

    @property
    @abstractmethod
    def span(self) -> Span:
        """The place of its report."""

    @property
    def about(self) -> About:
        """The facts, besides the outcome, that decide whether it is reported."""
        return About(self.span)

    def kept(self, state: State) -> Self:
        """Return a copy that later changes of the facts do not affect."""
        return self

    def sizes(self) -> Iterable[tuple[Entry | None, int | None]]:
        """The values, with their axes, that the condition is about."""
        return ()

    def given(self) -> Iterable[tuple[Entry | None, int | None]]:
        """The values, with those axes, that may come from an `if`."""
        return self.sizes()

    def concerned(self, state: State) -> Iterable[Size]:
        """The sizes that an example names."""
        return ()

    @property
    def in_words(self) -> str:
        """A short text of the condition, for checks without a finding; "" if there is none."""
        return ""

    @property
    def fails_as(self) -> Code | None:
        """The error code if it fails; None if only the message tells it."""
        return None

    @abstractmethod
    def said(self, finding: Finding) -> Diagnostic:
        """Return the diagnostic of a finding about it."""

    def subject(self, state: State) -> Subject | None:
        """Return its data for helps."""
        return None


class About(Node):
    """The subject of a finding: the call or annotated value (`place`), the called function (empty if none), the annotation
    and its part that ask; the primitive's requirement; the values concerned, made by earlier calls, and the places that left
    a rank open; the unproved claim about the call that made the value, if this condition holds whenever that call works."""

    place: Span
    callee: str = ""
    declared: Span | None = None
    what: str = ""
    asked: object = None
    given: tuple[Entry, ...] = ()
    open_at: frozenset[Span] = frozenset()
    behind: Finding | None = None

    @property
    def is_claim(self) -> bool:
        return self.declared is not None and not self.callee


class Finding:
    """The result of one check. In an inlined body, `site` is the call in the user's function and `between` are the calls in
    between. `roots` are the unproved claims about calls that made a size it is about.

    Set later: `cond`, the first condition that its call left open; `others`, the call's other needs, as phrases and in Rx;
    `arm`, the value that came from an `if` and the arm with which it always fails. `uses` are the findings that make it an
    error: a check of its call's result, or a chain of checks that leads there.
    """

    def __init__(
        self,
        asked: Asked,
        outcome: Outcome,
        state: State,
        function: str = "",
        options: Options = Options(),  # noqa: B008
        site: Span | None = None,
        between: tuple[Span, ...] = (),
    ) -> None:
        self.asked, self.outcome, self.state = asked, outcome, state
        self.function, self.options = function, options
        self.site, self.between = site, between
        self.about = asked.about
        self.roots: tuple[Finding, ...] = ()
        self.cond: Cond = False
        self.others: dict[Only, str] = {}
        self.arm: tuple[Entry, Entry] | None = None
        self.uses: tuple[Finding, ...] = ()
        # Whether the facts at that place were kept; after very many findings they are not.
        self.is_whole = True
        # Whether an exact size is needed where only a bound is known; nothing says that the bound is reached.
        self.inexact = False
        # Whether it concerns one case of the sizes only, so that a fix for it may be wrong in the others.
        self.of_case = False

    def used(self, uses: tuple[Finding, ...]) -> Finding:
        """Return a copy for the case that it or one of its uses fails."""
        found = copy(self)
        found.uses = uses
        return found

    @property
    def span(self) -> Span:
        return self.asked.span if self.arm is None else self.arm[0].span

    @property
    def only_empty(self) -> bool:
        """Whether the condition holds for empty tensors only."""
        return self.uses[-1].only_empty if self.uses else self.outcome.only_empty

    @property
    def is_error(self) -> bool:
        certain = self.outcome.status is Status.REFUTED or self.arm is not None or bool(self.uses) or self.inexact
        return certain or (self.only_empty and not self.options.allow_empty)

    @property
    def is_unproved(self) -> bool:
        """Whether the run has to decide it."""
        settled = self.arm or self.uses or self.only_empty or self.inexact
        return self.outcome.status is Status.RESIDUAL and not settled
