"""The exception for a check that fails while a program runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from ..lang.diagnostics import Diagnostic, Met
from ..lang.display import Displayed
from ..lang.styled import Line

# Finds the reason of a failure, and a fix.
Explain = Callable[[Diagnostic, tuple[Met, ...]], Diagnostic]


class ShapeError(Displayed, Exception):
    """A check failed while a program ran: `diagnostic` says which one, on which shapes; `met` has the arguments of the
    functions around it, innermost first. `explained` is the diagnostic with its reason and a fix, if `explain` finds them."""

    def __init__(self, diagnostic: Diagnostic, met: tuple[Met, ...] = (), explain: Explain | None = None) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic, self.met = diagnostic, met
        self._explain = explain

    @cached_property
    def explained(self) -> Diagnostic:
        return self._explain(self.diagnostic, self.met) if self._explain is not None else self.diagnostic

    def __str__(self) -> str:
        from ..lang.render import render_text  # loaded only for a failure

        return render_text(self.explained).rstrip("\n")

    def _lines(self) -> list[Line]:
        return self.explained._lines()
