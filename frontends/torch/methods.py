"""Calls of primitives that move axes, as methods of torch's tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# The method of each, and its numbers where these are always the same.
_METHODS: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "matrix_transpose": ("transpose", (-2, -1)),
    "swapaxes": ("transpose", ()),
    "permute_dims": ("permute", ()),
    "expand_dims": ("unsqueeze", ()),
    "squeeze": ("squeeze", ()),
}
# Those that take one axis at a time, with whether the last one goes first.
_BY_ONE = {"unsqueeze": False, "squeeze": True}


def method(primitive: str, numbers: Sequence[int]) -> str | None:
    """What is written behind a tensor, such as `.unsqueeze(1)`; None where there is no such method."""
    name, fixed = _METHODS.get(primitive, ("", ()))
    if not name or len(numbers) > 1 and name in _BY_ONE and min(numbers) < 0:
        return None
    if name in _BY_ONE:
        return "".join(f".{name}({n})" for n in sorted(numbers, reverse=_BY_ONE[name]))
    return f".{name}({', '.join(map(str, fixed or numbers))})"
