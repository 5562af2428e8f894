"""`rx prove`: read questions about sizes, one JSON object a line; write the solver's answers in the same order."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import click

from ..simplify.solver.prove import prove_lines
from .files import STDIN, Unusable, reason


@click.command()
@click.argument("file", default=STDIN)
def prove(file: str) -> None:
    """Ask the solver questions about sizes, one JSON object a line.

    FILE is a .jsonl file; without it, questions come from standard input. Each line gets an answer, or an error if it cannot
    be read. The exit status is 0 for all answers, and 2 if FILE cannot be read.

    \b
    {"id": "a1", "assume": ["n % 4 == 0"], "goal": "(n // 4) * 4 == n"}
    {"id": "a1", "result": "valid", "by": "normal-form"}
    """
    for answer in prove_lines(_lines(file)):
        print(json.dumps(answer), flush=file == STDIN)


def _lines(file: str) -> Iterator[str]:
    """The lines of a file; bytes that are not UTF-8 are replaced, so that only their line is in error."""
    if file == STDIN:
        yield from (line.decode("utf-8", "replace") for line in sys.stdin.buffer)
        return
    try:
        with open(file, "rb") as lines:
            yield from (line.decode("utf-8", "replace") for line in lines)
    except (OSError, ValueError) as wrong:
        raise Unusable(f"cannot read {file!r}: {reason(wrong)}") from wrong
