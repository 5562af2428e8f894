"""Print diagnostics on standard error, in colour if the terminal has it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

from ..lang.diagnostics import Diagnostic


def colourful(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_diagnostics(diagnostics: Sequence[Diagnostic], verbose: bool = False) -> None:
    """Print each as text with an empty line after it. The renderer is loaded only if there are diagnostics."""
    if not diagnostics:
        return
    sys.stdout.flush()
    if colourful(sys.stderr):
        from .colour import print_coloured  # it loads rich

        print_coloured(diagnostics, _width(sys.stderr), verbose)
        return
    from ..lang.render import WIDTH, render_text  # a run without diagnostics does not need it

    width = _width(sys.stderr) if sys.stderr.isatty() else WIDTH
    sys.stderr.write("".join(render_text(d, width, verbose) + "\n" for d in diagnostics))
    sys.stderr.flush()


def columns_of(stream: TextIO) -> int:
    """The width of a terminal; unlimited if the stream is not a terminal."""
    return max(60, _columns()) if stream.isatty() else sys.maxsize


def _columns() -> int:
    import shutil  # it loads three compressors

    return shutil.get_terminal_size().columns


def _width(stream: TextIO) -> int:
    """The width of the texts: at most 100 columns, at least 60."""
    return min(100, max(60, _columns()))
