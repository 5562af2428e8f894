"""Shapes one below the other, axis by axis, with the axes marked that do not fit."""

from __future__ import annotations

from collections.abc import Sequence

from ..lang.node import Node


class Row(Node):
    """A tensor: what it is called, its sizes as text, and the axes that do not fit (counted from 0)."""

    name: str
    sizes: tuple[str, ...]
    bad: tuple[int, ...]


def aligned(rows: Sequence[Row], *, from_the_end: bool) -> str:
    """The shapes with their axes in columns, the last ones below each other if they are counted from the end.

    h     [B, 64]
    bias     [32]
              ^^
    """
    rank = max(len(row.sizes) for row in rows)
    columns = [_columns(row, rank if from_the_end else len(row.sizes)) for row in rows]
    widths = [max((len(c[i]) for c in columns if i < len(c)), default=0) for i in range(rank)]
    name_width = max(len(row.name) for row in rows)
    marks = [_marks(row, len(c) - len(row.sizes), widths) for row, c in zip(rows, columns, strict=True)]
    lines = []
    for number, (row, cells) in enumerate(zip(rows, columns, strict=True)):
        lines.append(f"{row.name.ljust(name_width)} {_shape(cells, len(cells) - len(row.sizes), widths)}")
        # One line of marks is enough where the same columns are bad in the next row.
        if number + 1 == len(rows) or marks[number + 1] != marks[number]:
            lines.append(" " * (name_width + 1) + marks[number])
    return "\n".join(line.rstrip() for line in lines)


def _columns(row: Row, rank: int) -> list[str]:
    return [""] * (rank - len(row.sizes)) + list(row.sizes)


def _shape(cells: list[str], lacking: int, widths: list[int]) -> str:
    """`[B, 64]`, its sizes at the right of their columns; the bracket opens at the first axis there is."""
    before = sum(w + 2 for w in widths[:lacking])
    inside = ", ".join(cell.rjust(width) for cell, width in zip(cells[lacking:], widths[lacking:], strict=False))
    return " " * before + f"[{inside}]"


def _marks(row: Row, lacking: int, widths: list[int]) -> str:
    line = ""
    for axis in sorted(row.bad):
        column = axis + lacking
        end = 1 + sum(w + 2 for w in widths[:column]) + widths[column]
        line = line.ljust(end - len(row.sizes[axis])) + "^" * max(1, len(row.sizes[axis]))
    return line
