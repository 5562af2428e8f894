"""Values to their display in a notebook: the same styled lines as HTML and as plain text, rendered on demand."""

from __future__ import annotations

from typing import Protocol

from .styled import Line, plain


class Printer(Protocol):
    """The printer that IPython passes to `_repr_pretty_`."""

    def text(self, text: str) -> None: ...


class Displayed:
    """A value that notebooks show as its `_lines`. IPython requests all formats at once, except for tuples and exceptions,
    whose plain text it requests alone; other notebooks request HTML. It must be the first base of a class."""

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
