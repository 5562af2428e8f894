"""Values to what a notebook shows of them: the same styled lines as HTML and as plain text, rendered when somebody looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .render import Line


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
        from .html import page

        return page(self._lines())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from .html import page, plain

        lines = self._lines()
        return {"text/plain": plain(lines), "text/html": page(lines)}

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        from .html import plain

        printer.text(plain(self._lines()))
