"""Values to their display in a notebook: the same styled lines as HTML and as plain text, rendered on demand."""

from __future__ import annotations

from typing import Protocol

from .styled import Line, plain


class Printer(Protocol):
    """What IPython hands to `_repr_pretty_`."""

    def text(self, text: str) -> None: ...


class Displayed:
    """A value that notebooks show as its `_lines`. IPython asks for all texts at once, but for those of tuples and exceptions,
    whose plain text it asks for by itself; others ask for HTML. It stands first among the bases of a class."""

    __slots__ = ()

    def _lines(self) -> list[Line]:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from .html import page  # few look at HTML

        return page(self._lines())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": plain(self._lines()), "text/html": self._repr_html_()}

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        printer.text(plain(self._lines()))
