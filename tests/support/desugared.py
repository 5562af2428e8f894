"""A program's text to its core, as desugaring makes it."""

from __future__ import annotations

from pathlib import Path

from rxlang.lang.core import Program
from rxlang.lang.source import Source
from rxlang.pipeline import desugar_source


def core_of(text: str, base: Path = Path()) -> Program:
    """Nothing may be wrong with the program."""
    program, diagnostics = desugar_source(Source("program.rx", text), base)
    assert not [d.message for d in diagnostics if d.severity == "error"], text
    return program
