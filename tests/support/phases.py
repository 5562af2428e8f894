"""A program's text to what the phases make of it; nothing may be wrong with it."""

from __future__ import annotations

from pathlib import Path

from rxlang.lang.checked import Checked
from rxlang.lang.core import Program
from rxlang.lang.source import Source
from rxlang.pipeline import check_text, desugar_source
from rxlang.simplify.known.outcome import Options


def core_of(text: str, base: Path = Path()) -> Program:
    """As desugaring makes it."""
    program, diagnostics = desugar_source(Source("program.rx", text), base)
    assert not [d.message for d in diagnostics if d.severity == "error"], text
    return program


def checked_of(text: str, base: Path = Path(), options: Options | None = None) -> Checked:
    """As checking leaves it; what stays for the run is no error."""
    report = check_text(text, "program.rx", base, options=options)
    assert report.checked is not None and report.ok, [d.message for d in report.diagnostics]
    return report.checked
