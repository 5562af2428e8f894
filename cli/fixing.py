"""`rx check --fix`: apply the fixes that leave no choice, write the programs, and say why other messages were left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING

from ..fixes.applied import Fixed, fixed_and_left
from ..lang.cells import shown
from ..lang.parser import decode
from .examined import Wish
from .files import ProgramFile, Unusable, replace_file

if TYPE_CHECKING:
    from ..frontends.onnx.model import Model
    from ..model.contract import Contract
    from ..model.fixes import ModelFix

_MARK = b"\xef\xbb\xbf"


def fix(program: ProgramFile, wish: Wish) -> tuple[ProgramFile, Fixed | None]:
    """The program after the fixes; its file is written if it changed. The second part is None if the program is not valid
    text."""
    source, problems = decode(program.data, program.name)
    if problems:
        return program, None
    found = fixed_and_left(source, program.base, wish.roots, wish.options)
    if not found.done:
        return program, found
    data = (_MARK if program.data.startswith(_MARK) else b"") + found.text.encode("utf-8")
    replace_file(program.name, data)
    return program._replace(data=data), found


def fix_model(program: ProgramFile, wish: Wish) -> Iterator[str]:
    """Lines that say what was fixed in a model; it is written if anything was. Sizes of `--dynamic` are declared as free."""
    from ..model.check import check_model  # few programs are models

    path = Path(program.name)
    try:
        found = check_model(path, program.name, wish.roots, wish.options, wish.dynamic, prelude=wish.prelude)
    except ValueError as wrong:
        raise Unusable(str(wrong)) from None
    done = [m for m in found.fixes if not m.pads]
    for fix in found.fixes:
        yield (
            f"{program.name}: left: the caller decides about padding: {fix.text}"
            if fix.pads
            else (f"{program.name}: fixed: {fix.text}")
        )
    for condition, why in found.left.items():
        yield f"{program.name}: left: {condition}: {why}"
    if not found.fixes and not found.left:
        yield f"{program.name}: nothing to fix: {_unfixed(found.contract)}"
    if done and found.model is not None:
        _rewrite(program.name, found.model, done)


def _unfixed(contract: Contract | None) -> str:
    if contract is None:
        return "it is rejected"
    return "no condition holds a size" if contract.conditions else "no size is held"


def _rewrite(file: str, model: Model, done: Sequence[ModelFix]) -> None:
    from ..frontends.onnx.edits import ModelEdit, declare_sizes, edit_proto  # few models are changed
    from ..frontends.onnx.rewriting import rewriting

    with rewriting(Path(file)) as (proto, chunks):
        edit_proto(proto, reduce(or_, (m.edit for m in done), ModelEdit()))
        declare_sizes(proto, model.graph)
        replace_file(file, chunks())


def reported(program: ProgramFile, found: Fixed | None) -> Iterator[str]:
    if found is None:
        return
    for fix in found.done:
        yield shown(f"{program.name}:{fix.line}: fixed: {fix.text}")
    for left in found.left:
        yield shown(f"{program.name}:{left.line}: left: {left.code}: {left.reason}")
