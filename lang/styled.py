"""Texts to lines of styled pieces, which a terminal colours and a notebook shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .cells import shown


class Piece(NamedTuple):
    """`style` is error, warning, note, title, place, gutter, source, primary, secondary, label or plain."""

    text: str
    style: str


Line = tuple[Piece, ...]


def said(text: str, style: str = "plain") -> list[Line]:
    """A text as lines of one style."""
    return [(Piece(line, style),) for line in text.split("\n")]


def plain(lines: Iterable[Line]) -> str:
    return "\n".join("".join(shown(piece.text) for piece in line).rstrip() for line in lines)
