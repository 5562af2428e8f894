"""Shapes one below the other, axis by axis, with marks at the axes that do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from ...lang.node import Node


class TensorRow(Node):
    """A tensor: its name, its sizes as text, and the axes that do not fit (from 0)."""

    name: str
    sizes: tuple[str, ...]
    bad: tuple[int, ...]


def aligned(rows: Sequence[TensorRow], *, from_the_end: bool) -> str:
    """Return the shapes with their axes in columns, aligned at the last axis if `from_the_end`.

    `h`    [B, 64]      `h` [ B, 64]
    `bias`    [32]           vv  ^^
               ^^       `w` [32, 10]
    """
    rank = max(len(row.sizes) for row in rows)
    columns = [_columns(row, rank if from_the_end else len(row.sizes)) for row in rows]
    widths = [max((len(c[i]) for c in columns if i < len(c)), default=0) for i in range(rank)]
    name_width = max(len(row.name) for row in rows)
    lacking = [len(c) - len(row.sizes) for row, c in zip(rows, columns, strict=True)]
    shown = [
        f"{row.name.ljust(name_width)} {_shape(cells, less, widths)}"
        for row, cells, less in zip(rows, columns, lacking, strict=True)
    ]
    marks = [_marks(row, less, widths) for row, less in zip(rows, lacking, strict=True)]
    bad = [{axis + less for axis in row.bad} for row, less in zip(rows, lacking, strict=True)]
    indent = " " * (name_width + 1)
    if all(b == bad[0] for b in bad):
        lines = [*shown, indent + max(marks, key=lambda line: line.count("^"))]
    elif len(rows) == 2 and not bad[0] & bad[1]:
        lines = [shown[0], indent + _both(*marks), shown[1]]
    else:
        lines = [line for pair in zip(shown, (indent + m for m in marks), strict=True) for line in pair]
    return "\n".join(line.rstrip() for line in lines)


def _both(above: str, below: str) -> str:
    """Merge the marks of two rows into the line between them: `^` points at the upper row, `v` at the lower."""
    pairs = zip_longest(above, below, fillvalue=" ")
    return "".join("^" if a == "^" else "v" if b == "^" else " " for a, b in pairs)


def _columns(row: TensorRow, rank: int) -> list[str]:
    return [""] * (rank - len(row.sizes)) + list(row.sizes)


def _shape(cells: list[str], lacking: int, widths: list[int]) -> str:
    """`[B, 64]`, its sizes right-aligned in their columns; the bracket opens at the first existing axis."""
    before = sum(w + 2 for w in widths[:lacking])
    inside = ", ".join(cell.rjust(width) for cell, width in zip(cells[lacking:], widths[lacking:], strict=False))
    return " " * before + f"[{inside}]"


def _marks(row: TensorRow, lacking: int, widths: list[int]) -> str:
    line = ""
    for axis in sorted(row.bad):
        column = axis + lacking
        end = 1 + sum(w + 2 for w in widths[:column]) + widths[column]
        line = line.ljust(end - len(row.sizes[axis])) + "^" * max(1, len(row.sizes[axis]))
    return line
