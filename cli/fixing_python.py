"""`rx check --fix` for PyTorch code: check the code with each help that leaves no choice, in a separate process, and write
those that improve it into the user's files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..fixes.applied import MOST_ROUNDS
from ..fixes.edits import applied
from ..lang.diagnostics import Diagnostic
from ..lang.node import Node
from ..simplify.solver.prove import prove
from .apart import apart
from .examined import Wish
from .files import ProgramFile, replace_file


class TriedEdit(Node):
    """The result of checking code: its errors and warnings; those with a help, and why it is left (empty if it leaves no
    choice); its conditions."""

    wrong: tuple[Diagnostic, ...]
    helped: tuple[tuple[Diagnostic, str], ...]
    conditions: tuple[str, ...] | None

    def is_better(self, before: TriedEdit) -> bool:
        """Whether it has fewer diagnostics, no new ones, and accepts all sizes accepted before."""
        told, own = (Counter((d.code, d.message) for d in one.wrong) for one in (before, self))
        if not own < told or self.conditions is None:
            return False
        return before.conditions is None or all(
            prove(list(before.conditions), text)["result"] in ("valid", "vacuous") for text in self.conditions
        )


def fix_python(program: ProgramFile, wish: Wish) -> Iterator[str]:
    """Lines that say what was fixed, and what was left."""
    texts: dict[str, str] = {}
    found = _tried(program, wish, texts)
    for _ in range(MOST_ROUNDS):
        for one in (d for d, left in found.helped if not left):
            path, text = _edited(program.base, texts, one)
            after = None if text is None else _tried(program, wish, {**texts, path: text})
            if text is not None and after is not None and after.is_better(found):
                yield f"{one.span.source.name}:{one.span.line}: fixed: {(one.help or '').removesuffix(' (checked)')}"
                texts[path], found = text, after
                break
        else:
            break
    for path, text in texts.items():
        data = text.encode()
        replace_file(path, data.replace(b"\n", b"\r\n") if b"\r\n" in Path(path).read_bytes() else data)
    helped = {id(d): left or "the code is not better with the fix" for d, left in found.helped}
    for one in found.wrong:
        why = helped.get(id(one), "no fix is known")
        yield f"{one.span.source.name}:{one.span.line}: left: {one.code}: {why}"


def _edited(base: Path, texts: Mapping[str, str], one: Diagnostic) -> tuple[str, str | None]:
    """The file of a help, and its text after it; None if the file's bytes cannot be kept as they are."""
    path = os.path.realpath(base / one.edits[0].span.source.name)
    if path not in texts and not _is_plain(Path(path).read_bytes()):
        return path, None
    return path, applied(one.edits[0].span.source.text, one.edits)


def _is_plain(data: bytes) -> bool:
    """Whether a file is UTF-8 without a byte order mark, and has one kind of line end."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not data.startswith(b"\xef\xbb\xbf") and data.count(b"\r") == data.count(b"\r\n") in (0, data.count(b"\n"))


def _tried(program: ProgramFile, wish: Wish, texts: Mapping[str, str]) -> TriedEdit:
    return apart(program.name, try_python, program, wish, dict(texts))


def try_python(program: ProgramFile, wish: Wish, texts: Mapping[str, str]) -> TriedEdit:
    """The result of checking code with other texts of its files; call it in a separate process."""
    from ..frontends.torch.overlay import overlay  # these load torch
    from .traced import answered

    overlay(texts)
    found = answered(program.name, wish.python, program.base, wish.options).found
    wrong = tuple(d for d in found.report.diagnostics if d.is_wrong)
    conditions = None if found.contract is None else tuple(c.condition for c in found.contract.conditions)
    return TriedEdit(wrong, tuple((d, why) for d in wrong for one, why in found.helped if one == d), conditions)
