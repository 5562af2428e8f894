"""The inputs that annotations of PyTorch code declare, for a trace."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..frontends.torch.arguments import DTYPES, DeclaredInput
from ..lang.expressions import names_in, renamed
from ..lang.node import replace
from . import reading
from .declared import names_of
from .notation import USUAL, UnreadAnnotation

if TYPE_CHECKING:
    from ..frontends.torch.target import Target


def annotated(function: Callable[..., Any]) -> dict[str, Any]:
    """The inputs that a function's annotations declare. Parameters with defaults, and annotations that do not give every size
    a name or a number, are left out."""
    try:
        params = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    names = names_of(getattr(function, "__func__", function))
    found: dict[str, Any] = {}
    for name, param in params.items():
        if param.annotation is param.empty or param.default is not param.empty:
            continue
        value = _value(name, _read(param.annotation, names))
        if value is not None:
            found[name] = value
    return found


def promised(target: Target) -> Target:
    """The target with the types that its result's annotation declares, over the sizes of its inputs; a name that no input has
    is any size."""
    try:
        said = inspect.signature(target.called)
    except (TypeError, ValueError):
        return target
    names = names_of(getattr(target.called, "__func__", target.called))
    found: dict[str, set[str]] = {}
    for name, param in said.parameters.items():
        item, value = _read(param.annotation, names), target.args.get(name)
        if isinstance(item, reading.Tensor) and isinstance(value, DeclaredInput):
            dims = _written(item)
            if len(dims) == len(value.shape):
                for dim, size in zip(dims, value.shape, strict=True):
                    found.setdefault(dim, set()).add(str(size))
    sizes = {dim: one for dim, (one, *others) in found.items() if not others}
    result = _read(said.return_annotation, names)
    parts = result.items if isinstance(result, reading.TupleParts) else (result,)
    return replace(target, promise=tuple(_promise(one, sizes) for one in parts))


def _read(annotation: Any, names: Mapping[str, Any]) -> reading.Read:
    if annotation is inspect.Signature.empty:
        return None
    try:
        return reading.read(annotation, names)
    except UnreadAnnotation:
        return None


def _written(item: reading.Tensor) -> list[str]:
    return [dim.strip() for dim in item.shape().strip("[]").split(",") if dim.strip()]


def _promise(item: reading.Read, sizes: Mapping[str, str]) -> str:
    """The type that an annotation declares for a result, as far as possible; empty if the rank is open."""
    if (
        not isinstance(item, reading.Tensor)
        or not item.is_plain
        or any(d.startswith(("*", ".")) for d in _written(item))
    ):
        return ""
    known = {dim: size for dim, size in sizes.items() if dim.isidentifier()}
    dims = [renamed(dim, known) if set(names_in(dim)) <= known.keys() else "?" for dim in _written(item)]
    return f"Tensor([{', '.join(dims)}]{f', {item.dtype}' if item.dtype in DTYPES else ''})"


def _value(name: str, item: reading.Read) -> Any:
    match item:
        case reading.Tensor():
            dims = tuple(_dims(name, item.shape()))
            dtype = item.dtype if item.dtype in DTYPES else USUAL.get(item.dtype, "float32")
            known = tuple(d for d in dims if d is not None)
            return DeclaredInput(dtype, known) if len(known) == len(dims) else None
        case reading.Maybe():
            return _value(name, item.inner)
        case reading.TupleParts():
            parts = tuple(_value(f"{name}_{n}", one) for n, one in enumerate(item.items))
            return None if None in parts else parts
    return None


def _dims(name: str, shape: str) -> Iterator[int | str | None]:
    """The sizes of an input; a `?` gets a name."""
    for axis, text in enumerate(filter(None, map(str.strip, shape.strip("[]").split(",")))):
        if text == "?":
            yield f"{name}_{axis}"
        else:
            yield int(text) if text.isdecimal() else text if text.isidentifier() else None
