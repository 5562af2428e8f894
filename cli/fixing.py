"""`rx check --fix`: programs with their unambiguous helps applied, written back; and why the other messages were left."""

from __future__ import annotations

from collections.abc import Iterator

from ..helps.fix import Fixed, fixed_and_left
from ..lang.cells import shown
from ..lang.parser import decode
from .examine import Wish
from .files import Program, replace_file

_MARK = b"\xef\xbb\xbf"


def fix(program: Program, wish: Wish) -> tuple[Program, Fixed | None]:
    """The program as it is afterwards; its file is written where something changed. None where it is no text."""
    source, problems = decode(program.data, program.name)
    if problems:
        return program, None
    found = fixed_and_left(source, program.base, wish.roots, wish.options)
    if not found.done:
        return program, found
    data = (_MARK if program.data.startswith(_MARK) else b"") + found.text.encode("utf-8")
    replace_file(program.name, data)
    return program._replace(data=data), found


def reported(program: Program, found: Fixed | None) -> Iterator[str]:
    if found is None:
        return
    for fix in found.done:
        yield shown(f"{program.name}:{fix.line}: fixed: {fix.text}")
    for left in found.left:
        yield shown(f"{program.name}:{left.line}: left: {left.code}: {left.reason}")
