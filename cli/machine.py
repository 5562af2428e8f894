"""Diagnostics in the formats for other programs, as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version

from ..lang.checked import Counts
from ..lang.choices import Choice
from ..lang.diagnostics import Diagnostic
from ..lang.formats import check_object, github_lines, sarif_object


def written(
    form: str,
    files: Sequence[str],
    diagnostics: Sequence[Diagnostic],
    counts: Counts,
    guards: Sequence[Choice] | None = None,
) -> Iterator[str]:
    """`form` is json, sarif or github; each text is to be printed on lines of its own."""
    if form == "github":
        yield from github_lines(diagnostics)
    elif form == "sarif":
        yield json.dumps(sarif_object(diagnostics, version()), indent=2)
    else:
        yield json.dumps(check_object(files, diagnostics, counts, guards), indent=2)


def version() -> str:
    try:
        return installed_version("rxlang")
    except PackageNotFoundError:
        return "unknown"
