"""Constants of a model as Rx literals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from math import copysign, isfinite, isnan, prod

from .model import Element, StoredInitializer


class Unwritten(Exception):
    """A number without an Rx literal; the message is the end of a sentence about its owner."""


def literal(tensor: StoredInitializer) -> str | None:
    """The literal of a tensor, such as `tensor([[1, 2]], int64)`; None where Rx has none."""
    if 0 in tensor.shape:
        return f"@zeros({listed(tensor.shape)}, {tensor.dtype})"
    values = tensor.values or ()
    if not all(isfinite(v) for v in values if isinstance(v, float)):
        above, below = zip(*map(_quotient, values), strict=True)
        return f"{_tensor(above, tensor)} / {_tensor(below, tensor)}"
    return _tensor(values, tensor)


def of_values(values: Sequence[Element], dtype: str) -> str:
    """A row of numbers, which may be infinite or NaN, or of texts."""
    return str(literal(StoredInitializer("", dtype, (len(values),), None, tuple(values), None)))


def of_value(value: Element, dtype: str) -> str:
    """One number or text as a tensor of rank 0."""
    return str(literal(StoredInitializer("", dtype, (), None, (value,), None)))


def _quotient(value: Element) -> tuple[Element, float]:
    """A number as a quotient, since infinity and NaN have no literals."""
    if isinstance(value, float) and not isfinite(value):
        return (0.0 if isnan(value) else copysign(1.0, value)), 0.0
    return value, 1.0


def _tensor(values: Sequence[Element], tensor: StoredInitializer) -> str | None:
    texts = [_text(v, tensor.dtype) for v in values]
    return None if not texts or None in texts else f"tensor({_nested(texts, tensor.shape)}, {tensor.dtype})"


def _nested(texts: Sequence[str | None], shape: tuple[int, ...]) -> str:
    if not shape:
        return str(texts[0])
    size, rows = prod(shape[1:]), iter(texts)
    return f"[{', '.join(_nested(list(islice(rows, size)), shape[1:]) for _ in range(shape[0]))}]"


def _text(value: Element, dtype: str) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case int():
            return str(value)
        case float():
            return repr(value) if dtype == "float64" else number(value)
        case _:
            return None


def number(value: float) -> str:
    """A number as an Rx literal: the shortest text for the same float32, or one that is too large if it is infinite."""
    if isinstance(value, int):
        return str(value)
    if isnan(value):
        raise Unwritten("has an attribute that is no number (NaN)")
    if not isfinite(value):
        return "1e999" if value > 0 else "-1e999"
    texts = (f"{value:.{digits}g}" for digits in range(1, 18))
    text = next(t for t in texts if abs(float(t) - value) <= abs(value) * 2.0**-26)
    return text if any(c in text for c in ".e") else f"{text}.0"


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def listed(values: Iterable[object]) -> str:
    return f"[{', '.join(map(str, values))}]"
