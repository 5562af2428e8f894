"""Source text and places in it: offsets into one file, turned into lines and columns on demand."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

from .node import Node


class MadeSource(Node):
    """The origin of a line that no person wrote: a node of a model, as diagnostics name it, the names of its inputs in the
    line, and the place where its author wrote it, if known; `kind` is the node's operator."""

    what: str
    inputs: tuple[str, ...] = ()
    trace: str | None = None
    kind: str = ""


class Source:
    """One file's text. `name` is what diagnostics print; `made` maps lines to their origins, if the text is a translation.
    Compared by identity."""

    __slots__ = ("name", "text", "made", "_starts")

    def __init__(self, name: str, text: str, made: Mapping[int, MadeSource] | None = None) -> None:
        self.name, self.text = name, text
        self.made = made or {}
        self._starts: list[int] | None = None

    def line_starts(self) -> list[int]:
        if self._starts is None:
            starts = [0]
            at = self.text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = self.text.find("\n", at + 1)
            self._starts = starts
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1; a column counts Unicode code points."""
        starts = self.line_starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line (from 1) without its line end."""
        starts = self.line_starts()
        end = starts[number] if number < len(starts) else len(self.text) + 1
        return self.text[starts[number - 1] : end - 1].rstrip("\r")

    def place(self, start: int, end: int | None = None) -> str:
        """The name of a place in diagnostics: `f.rx:3:14`, or the node of a model, and its input if the place is one."""
        line, column = self.position(start)
        made = self.made.get(line)
        if made is None:
            return f"{self.name}:{line}:{column}"
        at = self.input_at(start, start if end is None else end)
        return f"{self.name}: {made.what}" + ("" if at is None else f", input {at}")

    def input_at(self, start: int, end: int) -> int | None:
        """The number of the input of a model's node at a place, or None."""
        made, written = self.made.get(self.position(start)[0]), self.text[start:end]
        return made.inputs.index(written) if made is not None and written and written in made.inputs else None

    def __repr__(self) -> str:
        return f"Source({self.name!r})"


class Span(NamedTuple):
    """A half-open range of offsets in one source."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> int:
        """The line that it begins in, from 1."""
        return self.source.position(self.start)[0]

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of the other."""
        return Span(self.source, self.start, max(self.end, other.end))

    def within(self, other: Span) -> bool:
        return self.source is other.source and other.start <= self.start and self.end <= other.end


NOWHERE = Span(Source("<built in>", ""), 0, 0)


def place_in(name: str, made: MadeSource) -> Span:
    """A place in a file without text, such as a node of a model that no program can express."""
    return Span(Source(name, "", {1: made}), 0, 0)


class Placed(Node):
    """The base of everything with a place in a source: the nodes of trees, and values made of them."""

    span: Span
