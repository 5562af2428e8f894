"""`rx check --fix`: programs with their unambiguous helps applied, written back."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..helps.fix import Fix, fixed
from ..lang.parser import decode
from .examine import Wish
from .files import Program, Unusable, reason

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
    return (f"{program.name}:{f.line}: fixed: {f.text}" for f in fixes)


def replace_file(path: str, data: bytes) -> None:
    """The file is the old one or the new one, whatever happens in between; it keeps its permissions."""
    real = Path(os.path.realpath(path))
    made = None
    try:
        descriptor, made = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
        with open(descriptor, "wb") as file:
            file.write(data)
        shutil.copymode(real, made)
        os.replace(made, real)
    except OSError as wrong:
        if made is not None and os.path.exists(made):
            os.unlink(made)
        raise Unusable(f"cannot write {path!r}: {reason(wrong)}") from wrong
