"""The mistakes in Python code: a line that never works, and mistakes before it or in lines that do not use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..lang.diagnostics import Diagnostic
from ..lang.node import replace
from ..pipeline import Report
from .told import Told, causes
from .verdicts import Verdicts

Check = Callable[[Told], Report]


def wrong(told: Told, report: Report, check: Check) -> Iterator[Diagnostic]:
    """The findings of a check; errors that follow from others are left out."""
    before, lines = ([], []) if report.ok else _before(told, report, check)
    own = [d for d in report.diagnostics if not d.code.is_quiet and not d.code.is_unproved]
    yield from (*before, *map(told.of, causes(told.trace, own, lines)))


def _before(told: Told, report: Report, check: Check) -> tuple[list[Diagnostic], list[int]]:
    """The errors in the lines of the program before the first one that never works, and these lines."""
    run = told.trace
    lines = [d.span.line for d in report.diagnostics if d.severity == "error" and d.span.line in run.steps]
    if not lines or not run.inputs:
        return [], []
    end = min(lines) - 1
    steps = {n: step for n, step in run.steps.items() if n <= end}
    whole = run.text.splitlines()
    text = "\n".join([*whole[:end], f"  {run.inputs[0].name}", *whole[whole.index("}", end) :]]) + "\n"
    verdicts = Verdicts(Told(told.name, replace(run, text=text, steps=steps), told.folder))
    before = check(verdicts.told)
    said = verdicts.of(before.checked, strict=False) if before.ok and before.checked is not None else ()
    return [d for d in said if d.severity == "error"], verdicts.wrong
