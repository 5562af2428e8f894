"""A function in Python's syntax to the same function in Rx."""

from __future__ import annotations

import re

from .diagnostics import Edit
from .source import Source, Span

_HEAD = re.compile(r"def +(\w+) *\(([^()=*\n]*)\)[^:\n]*:[ \t]*\n")
_BODY = re.compile(r"(?:[ \t]+\S.*\n|[ \t]*\n(?=[ \t]+\S))*[ \t]+(?P<last>return +)?\S.*(?:\n|$)")


def as_here(source: Source, at: int) -> tuple[str, tuple[Edit, ...]] | None:
    """`@f = fn(x : Tensor, w : Tensor) : Tensor {`, and the edits that make it from a `def`, with a brace after its lines."""
    head = _HEAD.match(source.text, at)
    body = _BODY.match(source.text, head.end()) if head is not None else None
    if head is None or body is None:
        return None
    names = [p.partition(":")[0].strip() for p in head[2].split(",") if p.strip()]
    written = f"@{head[1]} = fn({', '.join(f'{name} : Tensor' for name in names)}) : Tensor {{"
    edits = [Edit(Span(source, at, head.end() - 1), written)]
    if body["last"]:
        edits.append(Edit(Span(source, *body.span("last")), ""))
    line_end = "" if source.text[body.end() - 1 : body.end()] == "\n" else "\n"
    edits.append(Edit(Span(source, body.end(), body.end()), f"{line_end}}}\n"))
    return written, tuple(edits)
