"""Print diagnostics in colour on a terminal; the only module that loads rich for them."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from ..lang.diagnostics import Diagnostic
from ..lang.render import render
from ..lang.styled import Line

STYLES = {
    "error": "bold red",
    "warning": "bold yellow",
    "note": "bold cyan",
    "title": "bold",
    "gutter": "blue",
    "secondary": "blue",
    "label": "blue",
}


def print_coloured(diagnostics: Iterable[Diagnostic], width: int, verbose: bool = False) -> None:
    console = Console(file=sys.stderr, force_terminal=True, highlight=False, markup=False, emoji=False)
    for diagnostic in diagnostics:
        for line in render(diagnostic, width, verbose):
            console.print(_text(line), soft_wrap=True)
        console.print()


def _text(line: Line) -> Text:
    return Text.assemble(*((piece.text, STYLES.get(piece.style, "")) for piece in line))
