"""Calls of primitives that move axes, as methods of torch's tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# The method for each primitive, and its numbers if these are always the same.
_METHODS: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "matrix_transpose": ("transpose", (-2, -1)),
    "swapaxes": ("transpose", ()),
    "permute_dims": ("permute", ()),
    "expand_dims": ("unsqueeze", ()),
    "squeeze": ("squeeze", ()),
}
# Methods that take one axis at a time, and whether the last one goes first.
_BY_ONE = {"unsqueeze": False, "squeeze": True}


def method(primitive: str, numbers: Sequence[int]) -> str | None:
    """The text after a tensor, such as `.unsqueeze(1)`; None where there is no such method."""
    name, fixed = _METHODS.get(primitive, ("", ()))
    if not name or len(numbers) > 1 and name in _BY_ONE and min(numbers) < 0:
        return None
    if name in _BY_ONE:
        return "".join(f".{name}({n})" for n in sorted(numbers, reverse=_BY_ONE[name]))
    return f".{name}({', '.join(map(str, fixed or numbers))})"
