"""A primitive's call in the user's words: operators as written, arguments by their names there."""

from __future__ import annotations

import re
from typing import Protocol

from ..lang import core
from ..lang.operators import WRITTEN
from ..lang.source import Span

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_LONGEST = 40
# Calls up to this length are quoted as written.
_SHORT = 20


class CallLike(Protocol):
    """A primitive's call: its place, its name, and the argument of each parameter."""

    @property
    def span(self) -> Span: ...
    @property
    def name(self) -> str: ...
    @property
    def written(self) -> tuple[tuple[str, core.Value], ...]: ...
    def is_tensor(self, name: str) -> bool: ...


def operation(call: CallLike) -> str:
    """The name of a call's operation: `+`, `x[5, :]`, or @concat."""
    if _is_operator(call):
        return f"`{WRITTEN[call.name]}`"
    return f"`{written}`" if is_indexing(call) and _is_short(written := call.span.text) else f"@{call.name}"


def is_indexing(call: CallLike) -> bool:
    """Whether a call is written `x[i]`."""
    return call.span.text.endswith("]")


def _is_operator(call: CallLike) -> bool:
    written = re.match(r"@(?:prelude\.)?(\w+)", call.span.text)
    return call.name in WRITTEN and (written is None or written[1] != call.name)


def argument(call: CallLike, param: str) -> str:
    """The user's name for an argument: `h`, a literal shape, or its position."""
    base, _, index = param.partition("[")
    for place, (name, written) in enumerate(call.written):
        if name != base:
            continue
        if index and isinstance(written, core.ListValue):
            at = int(index.rstrip("]"))
            return _written(written.items[at]) or f"item {at} of `{base}`" if at < len(written.items) else f"`{param}`"
        shown = _written(written) or ("its index" if name == "indices" and is_indexing(call) else "")
        if shown or not isinstance(written, core.Call | core.If | core.TensorLit):
            return shown or f"`{param}`"
        if (text := written.span.text) and len(text) <= _SHORT and _is_short(text):
            return f"`{text}`"
        if _is_operator(call):
            return ("its left operand", "its right operand")[place]
        called = [found[0] for _, w in call.written if (found := re.match(r"@[\w.]+", w.span.text))]
        if isinstance(written, core.Call) and text.startswith("@") and len(called) == 1:
            return f"`{called[0]}(...)`"
        if not any(call.is_tensor(n) and not isinstance(w, core.Number) for n, w in call.written if n != name):
            return "its argument"
        return f"its {ORDINALS[place]} argument" if place < len(ORDINALS) else f"`{param}`"
    return f"`{param}`"


def _written(expr: core.Value) -> str:
    """A name, a part of a tuple, or a short shape, quoted; empty for others."""
    text = expr.span.text
    if isinstance(expr, core.Var):
        if text != expr.name and text.endswith("]") and _is_short(text):
            return f"`{text}`"
        return f"`{expr.name}`" if expr.name.isidentifier() else ""
    return f"`{text}`" if isinstance(expr, core.ShapeLit | core.ShapeVar) and _is_short(text) else ""


def _is_short(text: str) -> bool:
    return 0 < len(text) <= _LONGEST and "\n" not in text
