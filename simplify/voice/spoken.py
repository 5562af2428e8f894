"""A primitive's call in the user's words: operators as they are written, arguments by the names that stand there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from ...lang import core
from ...lang.source import Span
from ...ops.model import TensorInfo
from ..known.state import State
from ..known.values import Entry, plain

OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%", "pow": "**",
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
    "logical_and": "&&", "logical_or": "||",
}  # fmt: skip
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_LONGEST = 40
# A size that is longer than this is said after the sentence.
_BEHIND = 20
_PARAM = re.compile(r"`(\w+(?:\[\d+\])?)`(?: \(((?:its|the) [\w' ]+)\))?")
_NO_AXIS = re.compile(r"axis to be between -\d+ and (\d+), but it is (\d+)")
_SINGULAR = {"channels": "channel", "classes": "class"}
_AXIS = re.compile(r"axis (-\d+) of `(\w+(?:\[\d+\])?)`")


class CallLike(Protocol):
    """A primitive's call: where it stands, its name, its arguments as they are written and what they are."""

    @property
    def span(self) -> Span: ...
    @property
    def name(self) -> str: ...
    @property
    def entries(self) -> tuple[tuple[str, Entry], ...]: ...
    @property
    def arguments(self) -> tuple[core.Value, ...]: ...
    def find(self, name: str) -> Entry | None: ...


def operation(call: CallLike) -> str:
    """`+`, `x[5, :]`, or @concat."""
    written = call.span.text
    if not written.startswith("@") and written.endswith("]") and len(written) <= _LONGEST and "\n" not in written:
        return f"`{written}`"
    return f"`{OPERATORS[call.name]}`" if _is_operator(call) else f"@{call.name}"


def _is_operator(call: CallLike) -> bool:
    written = re.match(r"@(?:prelude\.)?(\w+)", call.span.text)
    return call.name in OPERATORS and (written is None or written[1] != call.name)


def argument(call: CallLike, param: str) -> str:
    """What the user calls the argument: `h`, a literal shape, or its place among the arguments."""
    base, _, index = param.partition("[")
    for place, ((name, _), written) in enumerate(zip(call.entries, call.arguments, strict=False)):
        if name != base:
            continue
        if index and isinstance(written, core.ListValue):
            at = int(index.rstrip("]"))
            if at >= len(written.items):
                break
            return _written(written.items[at]) or f"item {at} of `{base}`"
        shown = _written(written)
        if shown or not isinstance(written, core.Call | core.If):
            return shown or f"`{param}`"
        if _is_operator(call):
            return ("its left operand", "its right operand")[place]
        if len(call.entries) == 1 or not any(isinstance(e.value, TensorInfo) for n, e in call.entries if n != name):
            return "its argument"
        return f"its {ORDINALS[place]} argument" if place < len(ORDINALS) else f"`{param}`"
    return f"`{param}`"


def _written(expr: core.Value) -> str:
    """A name, or a shape that is short enough to be said."""
    if isinstance(expr, core.Var):
        return f"`{expr.name}`" if expr.name.isidentifier() else ""
    text = expr.span.text
    return f"`{text}`" if isinstance(expr, core.ShapeLit | core.ShapeVar) and 0 < len(text) <= _LONGEST else ""


def what_is_needed(call: CallLike, what: str, state: State, sizes: Mapping[str, str]) -> str:
    """A rule's words with the user's names for the parameters, and axes counted from the front where that is known; a size
    that is given for a parameter stands behind it: "axis 1 of `h` (8 channels) and axis 1 of `w` (4) to be equal"."""

    def counted(found: re.Match[str]) -> str:
        entry = call.find(found[2])
        if entry is None or not isinstance(entry.value, TensorInfo):
            return found[0]
        shape = state.resolve(entry.value.shape)
        axis = int(found[1])
        return f"axis {axis + len(shape)} of `{found[2]}`" if plain(shape) and -len(shape) <= axis else found[0]

    def named(found: re.Match[str]) -> str:
        known = any(name == found[1].partition("[")[0] for name, _ in call.entries)
        text = argument(call, found[1]) if known else found[0]
        if found[1] not in sizes:
            return text + (found[0].removeprefix(f"`{found[1]}`"))
        return f"{text} ({_counted(sizes[found[1]], found[2])})"

    missing = _NO_AXIS.fullmatch(what)
    if missing and not call.span.text.startswith("@"):
        tensor = next((argument(call, n) for n, e in call.entries if isinstance(e.value, TensorInfo)), "its operand")
        return f"{tensor} to have an axis {missing[2]}, but its rank is {int(missing[1]) + 1}"
    return _PARAM.sub(named, _AXIS.sub(counted, what))


def _counted(size: str, noun: str | None) -> str:
    """`8`, `8 channels`, `1 channel`, `8, the result's channels`."""
    if noun is None:
        return size
    _, _, last = noun.partition(" ")
    if last not in _SINGULAR:
        return f"{size}, {noun}"
    return f"{size} {_SINGULAR[last] if size == '1' else last}"


def sizes_behind(what: str, found: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    """The sizes that can be said right behind their parameters: all short, each parameter named once, and not just the one
    that the sentence is about."""
    sizes = {param: size for param, size in found if size is not None and len(size) <= _BEHIND}
    once = all(what.count(f"`{param}`") == 1 for param in sizes)
    several = len(sizes) > 1 or not what.startswith(("axis ", "entry "))
    return sizes if once and several and len(sizes) == len(found) else {}
