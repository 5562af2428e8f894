"""Facts about bindings as text: each with its type in Rx syntax, and a remark if it is not exact."""

from __future__ import annotations

from collections.abc import Iterator

from .checked import Binding, FunctionShapes
from .dtypes import HOLDERS
from .node import replace


def listing(function: FunctionShapes) -> str:
    """A table of one function: each name, its type, and what is inexact about it."""
    # Parameters get no remark: every function asserts its signature on entry.
    params = (replace(p, asserted=False) for p in function.params)
    rows = [row for b in (*params, *function.bindings) for row in _rows(b.name, b)]
    if function.result is not None:
        rows += _rows("result", function.result)
    names = max((len(name) for name, _, _ in rows), default=0)
    types = max((len(type_) for _, type_, said in rows if said), default=0)
    lines = [f"  {name:<{names}} : {type_:<{types if said else 0}}  {said}".rstrip() for name, type_, said in rows]
    return "\n".join((function.name, *lines))


def _rows(name: str, binding: Binding) -> list[tuple[str, str, str]]:
    """The lines of one name: one for each case if sizes decide the rank."""
    if not binding.cases:
        return [(name, type_text(binding), _comment(binding))]
    asserted = ("asserted",) if binding.asserted else ()
    return [
        (
            name,
            f"Tensor({shape_text(case.shape)}, {binding.dtype})",
            f"# {'; '.join((str(case), *asserted))}",
        )
        for case in binding.cases
    ]


def shape_text(shape: tuple[int | str, ...] | None) -> str:
    """A shape in Rx syntax; `?` if even the rank is unknown."""
    return "?" if shape is None else f"[{', '.join(map(str, shape))}]"


def _comment(binding: Binding) -> str:
    found = remarks(binding)
    return f"# {'; '.join(found)}" if found else ""


def type_text(binding: Binding) -> str:
    """The type in Rx syntax, as far as it is known."""
    if binding.sort in HOLDERS:
        return binding.dtype
    if binding.items:
        return f"({', '.join(type_text(item) for item in binding.items)})"
    if binding.sort == "Size" and binding.shape:
        return "Size" if binding.shape[0] == binding.name else f"Size = {binding.shape[0]}"
    shape = binding.open if binding.shape is None else f"[{', '.join(map(str, binding.shape))}]"
    if binding.sort != "Tensor":
        return (
            f"Shape = {shape}" if binding.sort == "Shape" and shape not in ("?", f"[*{binding.name}]") else binding.sort
        )
    return f"Tensor({shape}, {binding.dtype or '?'})"


def remarks(binding: Binding) -> tuple[str, ...]:
    found = list(_inexact(binding))
    if binding.asserted:
        found.append("asserted")
    return tuple(found)


def _held(binding: Binding) -> Iterator[str]:
    """The types inside a value that holds others: of each part, or one for all of them."""
    parts = {type_text(item) for item in binding.items}
    if len(parts) == 1 < len(binding.items) and not binding.items[0].items:
        yield f"[0] to [{len(binding.items) - 1}] : {parts.pop()}"
        return
    for item in binding.items:
        at = item.name.removeprefix(binding.name)
        if item.sort in HOLDERS:
            yield from (f"{at}{remark}" for remark in _held(item))
        elif item.shape is not None or at != "[?]":
            yield f"{at} : {type_text(item)}"


def _inexact(binding: Binding, at: str = "") -> Iterator[str]:
    if binding.sort in HOLDERS:
        yield from (f"{at}{remark}" for remark in _held(binding))
        return
    for number, item in enumerate(binding.items):
        yield from _inexact(item, f"{at}{number}: ")
    if binding.cases:
        yield f"{at}{', '.join(f'{shape_text(case.shape)} {case}' for case in binding.cases)}"
    elif binding.sort == "Tensor" and not binding.items and binding.shape is None and binding.open == "?":
        yield f"{at}rank unknown"
    for axis, exactness in enumerate(binding.exactness):
        bound = binding.bounds[axis] if axis < len(binding.bounds) else None
        if bound is not None:
            yield f"{at}axis {axis} is at most {bound}"
        elif exactness == "upper_bound" and binding.shape is not None:
            yield f"{at}axis {axis} is at most {binding.shape[axis]}"
        elif exactness == "unknown":
            yield f"{at}axis {axis} unknown"
