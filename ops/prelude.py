"""The rows of prelude.rx: found by name, read when one is asked for."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ..lang.node import replace
from .model import Primitive, Trait
from .signature import row_from_signature

_DECLARATION = re.compile(r"((?:^#[^\n]*\n)*)(^prim @(\w+) = [^\n]*(?:\n[ \t][^\n]*)*)", re.MULTILINE)


@cache
def _index() -> dict[str, tuple[str, str]]:
    """Name to (comment, declaration)."""
    text = Path(__file__).with_name("prelude.rx").read_text(encoding="utf-8")
    return {m[3]: (m[1], m[2]) for m in _DECLARATION.finditer(text)}


def names() -> tuple[str, ...]:
    return tuple(_index())


@cache
def row(name: str) -> Primitive | None:
    """The row of a primitive that prelude.rx declares, or None."""
    found = _index().get(name)
    if found is None:
        return None
    comment, text = found
    lines = [line.lstrip("# ") for line in comment.splitlines()]
    onnx = tuple(o.strip() for line in lines if line.startswith("onnx:") for o in line[5:].split(","))
    traits = frozenset(Trait(line[7:].strip()) for line in lines if line.startswith("traits:"))
    doc = "\n".join(line for line in lines if not line.startswith(("onnx:", "traits:")))
    return replace(row_from_signature(text, doc, onnx), traits=traits)
