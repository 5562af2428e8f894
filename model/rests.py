"""All that the check of a trace of Python code depends on, as one text: equal texts give equal checks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..frontends.torch.run import Trace
from ..frontends.torch.target import Target
from ..lang.node import replace
from ..simplify.known.outcome import Options
from .paths import FoundPaths


def rests_on(target: Target, folder: Path, options: Options, found: FoundPaths, second: Trace) -> str:
    """The runs with the source of their lines, the target's name and folder, and the options."""
    asked = (options.strict, options.allow_empty, tuple(c.span.text for g in options.given for c in g.conditions))
    parts = [target.name, str(folder), repr(asked), repr(sorted(found.otherwise)), *_run(second)]
    for one in found.others:
        parts += (repr((one.place, one.same, sorted(one.broken))), *_run(one.run))
    return "\0".join((*parts, *_run(found.first)))


def _run(run: Trace) -> Iterator[str]:
    yield repr(replace(run, held={}))
    yield from {step.place.key: f"{step.place.key} {step.place.source}" for step in run.steps.values()}.values()
