"""Styled lines to a piece of HTML for a notebook: its own style sheet, light and dark, no script, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from .cells import shown
from .styled import Line, Piece

# The colours on the light and on the dark ground: of each style, of other text and of the ground.
_COLOURS = {
    "error": ("#b3261e", "#ff8a80"),
    "warning": ("#8a5000", "#f0b849"),
    "note": ("#00616e", "#67d1e0"),
    "gutter": ("#57606a", "#9aa4b0"),
    "secondary": ("#0550ae", "#8ab4f8"),
    "label": ("#0550ae", "#8ab4f8"),
    "ink": ("#1f2328", "#e6e8eb"),
    "ground": ("#ffffff", "#1b1e23"),
}
# How the surrounding page marks the theme that the reader chose, which may differ from the system's: JupyterLab and VS Code.
_CHOSEN = ("[data-jp-theme-light=true],.vscode-light", "[data-jp-theme-light=false],.vscode-dark")
_BOLD = ("error", "warning", "note", "title")
_SHAPE = "padding:.5em .75em;margin:0;overflow-x:auto;white-space:pre;line-height:1.3;font-family:monospace"


def page(lines: Iterable[Line]) -> str:
    """The lines as self-contained HTML."""
    text = "\n".join("".join(map(_span, line)) for line in lines)
    return f'<div class="rxlang"><style>{_STYLE}</style><pre>{text}</pre></div>'


def _span(piece: Piece) -> str:
    text = escape(shown(piece.text))
    return f'<span class="rx-{piece.style}">{text}</span>' if piece.style in _STYLED else text


def _colours(at: int) -> str:
    return ".rxlang{" + ";".join(f"--rx-{name}:{pair[at]}" for name, pair in _COLOURS.items()) + "}"


_STYLED = frozenset((*_COLOURS, *_BOLD)) - {"ink", "ground"}
_RULES = (
    f".rxlang pre{{{_SHAPE};color:var(--rx-ink);background:var(--rx-ground)}}",
    *(f".rxlang .rx-{style}{{color:var(--rx-{style})}}" for style in _COLOURS if style in _STYLED),
    ",".join(f".rxlang .rx-{style}" for style in _BOLD) + "{font-weight:bold}",
    _colours(0),
    f"@media (prefers-color-scheme:dark){{{_colours(1)}}}",
    *(f":is({theme}) {_colours(at)}" for at, theme in enumerate(_CHOSEN)),
)
_STYLE = "".join(_RULES)
