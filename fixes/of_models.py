"""From a failed run of a model to the broken conditions on its inputs, with the input and the axis of each size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..lang import sweet
from ..lang.diagnostics import Met
from ..pipeline import check_source
from ..simplify.known.outcome import Options
from ..simplify.solver.numbers import holds_at
from .tree import TextTree

# The greatest number of conditions to report.
_MOST = 2


class _Axis(NamedTuple):
    """A size in a run, and its place."""

    size: int
    place: str


def broken(met: Met, base: Path, roots: tuple[Path, ...] = ()) -> Iterator[str]:
    """Yield notes on the model's conditions that the sizes of its inputs do not meet."""
    sizes = _sizes(met)
    report = check_source(met.place.source, base, roots, Options(allow_empty=True, supposing=True))
    found = () if report.checked is None else (c for c in report.checked.conditions if c.name == f"@{met.function}")
    wrong = [
        condition
        for conditions in found
        for condition in conditions.conditions
        if holds_at(condition.text, {name: axis.size for name, axis in sizes.items()}) is False
    ]
    for condition in wrong[:_MOST]:
        given = ", ".join(f"{name} is {sizes[name].size} ({sizes[name].place})" for name in condition.sizes)
        yield f"the inputs must satisfy {condition.text}, but {given}"


def _sizes(met: Met) -> dict[str, _Axis]:
    """Return the named sizes, each from the first input that has it."""
    decl = TextTree(met.place.source).function(met.function)
    sizes: dict[str, _Axis] = {}
    for param in () if decl is None else decl.fn.params:
        given = met.given.get(param.name.name)
        match param.type:
            case sweet.TensorType(shape=sweet.ListExpr(items=items)) if isinstance(given, tuple):
                for axis, (item, size) in enumerate(zip(items, given[0], strict=False)):
                    if isinstance(item, sweet.Name):
                        sizes.setdefault(item.name, _Axis(size, f"axis {axis} of `{param.name.name}`"))
    return sizes
