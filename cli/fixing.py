"""`rx check --fix`: programs with their unambiguous helps applied, written back."""

from __future__ import annotations

from collections.abc import Iterator

from ..helps.fix import Fix, fixed
from ..lang.cells import shown
from ..lang.parser import decode
from .examine import Wish
from .files import Program, replace_file

_MARK = b"\xef\xbb\xbf"


def fix(program: Program, wish: Wish) -> tuple[Program, tuple[Fix, ...]]:
    """The program as it is afterwards; its file is written where something changed."""
    source, problems = decode(program.data, program.name)
    if problems:
        return program, ()
    text, fixes = fixed(source, program.base, wish.roots, wish.options)
    if not fixes:
        return program, ()
    data = (_MARK if program.data.startswith(_MARK) else b"") + text.encode("utf-8")
    replace_file(program.name, data)
    return program._replace(data=data), fixes


def reported(program: Program, fixes: tuple[Fix, ...]) -> Iterator[str]:
    return (shown(f"{program.name}:{f.line}: fixed: {f.text}") for f in fixes)
