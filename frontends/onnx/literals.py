"""Constants of a model as Rx writes them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from math import isfinite, prod

from .model import Element, Tensor


def literal(tensor: Tensor) -> str | None:
    """`tensor([[1, 2]], int64)`; None where Rx has no such literal."""
    if 0 in tensor.shape:
        return f"@zeros({listed(tensor.shape)}, {tensor.dtype})"
    texts = [_text(v, tensor.dtype) for v in tensor.values or ()]
    if not texts or None in texts:
        return None
    return f"tensor({_nested(texts, tensor.shape)}, {tensor.dtype})"


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
            return None if not isfinite(value) else repr(value) if dtype == "float64" else number(value)
        case _:
            return None


def number(value: float) -> str:
    """A number as Rx writes it: the shortest text that is the same float32."""
    if isinstance(value, int):
        return str(value)
    texts = (f"{value:.{digits}g}" for digits in range(1, 18))
    text = next(t for t in texts if abs(float(t) - value) <= abs(value) * 2.0**-26)
    return text if any(c in text for c in ".e") else f"{text}.0"


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def listed(values: Sequence[object]) -> str:
    return f"[{', '.join(map(str, values))}]"
