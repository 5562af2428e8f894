"""The inputs that annotations of PyTorch code declare, for a trace."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from ..frontends.torch.arguments import DTYPES, DeclaredInput
from . import reading
from .declared import names_of
from .notation import UnreadAnnotation

# Of a class of dtypes the one that PyTorch makes unless told otherwise.
_USUAL = {"float": "float32", "int": "int64", "uint": "uint8", "complex": "complex64", "bool": "bool", "?": "float32"}


def annotated(function: Callable[..., Any]) -> dict[str, Any]:
    """The inputs that a function's annotations declare. What may be left out, or is written in words that name no size, is not
    among them."""
    try:
        params = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    names = names_of(getattr(function, "__func__", function))
    found: dict[str, Any] = {}
    for name, param in params.items():
        if param.annotation is param.empty or param.default is not param.empty:
            continue
        try:
            value = _value(name, reading.read(param.annotation, names))
        except UnreadAnnotation:
            continue
        if value is not None:
            found[name] = value
    return found


def _value(name: str, item: reading.Read) -> Any:
    match item:
        case reading.Tensor():
            dims = tuple(_dims(name, item.shape()))
            dtype = item.dtype if item.dtype in DTYPES else _USUAL.get(item.dtype, "float32")
            known = tuple(d for d in dims if d is not None)
            return DeclaredInput(dtype, known) if len(known) == len(dims) else None
        case reading.Maybe():
            return _value(name, item.inner)
        case reading.TupleParts():
            parts = tuple(_value(f"{name}_{n}", one) for n, one in enumerate(item.items))
            return None if None in parts else parts
    return None


def _dims(name: str, shape: str) -> Iterator[int | str | None]:
    """Sizes as an input has them; one without a name gets one."""
    for axis, text in enumerate(filter(None, map(str.strip, shape.strip("[]").split(",")))):
        if text == "?":
            yield f"{name}_{axis}"
        else:
            yield int(text) if text.isdecimal() else text if text.isidentifier() else None
