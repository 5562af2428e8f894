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
    """What is asked of a piece of a program; each kind says itself, and what it is about."""

    @property
    @abstractmethod
    def span(self) -> Span:
        """Where it is told."""

    @property
    def about(self) -> About:
        """What decides whether it is told, beside how it ended."""
        return About(self.span)

    def kept(self, state: State) -> Self:
        """The same, when what is known changes."""
        return self

    def sizes(self) -> Iterable[tuple[Entry | None, int | None]]:
        """The values, and the axes of them, that it speaks of."""
        return ()

    def given(self) -> Iterable[tuple[Entry | None, int | None]]:
        """The values that may have come from an `if`, with those axes."""
        return self.sizes()

    def concerned(self, state: State) -> Iterable[Size]:
        """The sizes that an example speaks of."""
        return ()

    @property
    def in_words(self) -> str:
        """The same in words, where they are short and no finding says it."""
        return ""

    @property
    def fails_as(self) -> Code | None:
        """The error that it is if it fails, if that is known without the words."""
        return None

    @abstractmethod
    def said(self, finding: Finding) -> Diagnostic:
        """A finding of it in words."""

    def subject(self, state: State) -> Subject | None:
        """The same as data for helps."""
        return None


class About(Node):
    """The call or the annotated value (`place`), the function that is called (empty where nothing is), the annotation that asks
    and which part of it; the requirement of a primitive; the values that it is about, made by calls before, and the places that
    left a rank open; the unproved claim about the call that made it, where it holds whenever that call works."""

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
    """What was found at one place. In a body that is inlined, `site` is the call in the user's function, and `between` are the
    calls in between. `roots` are the unproved claims about calls that made a size which it is about.

    Later it may become known: `cond`, the first condition that its call left open; `others`, what that call needs besides, as
    it is said and as it is written in Rx; `arm`, what came from an `if` and the arm with which it always fails. `uses` are what
    it is an error because of: a check of what its call made, or one after the other down to that.
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
        # Whether what was known there was kept; where very much was found before, it was not.
        self.is_whole = True
        # Whether an exact size is needed where only a bound is known: that it is reached nobody has said.
        self.inexact = False
        # Whether it is about one case of the sizes, so that a fix for it may be wrong for the others.
        self.of_case = False

    def used(self, uses: tuple[Finding, ...]) -> Finding:
        """The same where one of it and its uses fails."""
        found = copy(self)
        found.uses = uses
        return found

    @property
    def span(self) -> Span:
        return self.asked.span if self.arm is None else self.arm[0].span

    @property
    def only_empty(self) -> bool:
        """Whether it holds for empty tensors alone."""
        return self.uses[-1].only_empty if self.uses else self.outcome.only_empty

    @property
    def is_error(self) -> bool:
        certain = self.outcome.status is Status.REFUTED or self.arm is not None or bool(self.uses) or self.inexact
        return certain or (self.only_empty and not self.options.allow_empty)

    @property
    def is_unproved(self) -> bool:
        """Whether the run decides."""
        settled = self.arm or self.uses or self.only_empty or self.inexact
        return self.outcome.status is Status.RESIDUAL and not settled
