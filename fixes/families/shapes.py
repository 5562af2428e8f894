"""Changes of a tensor from one shape to another: axes added, dropped, moved, merged, reduced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

from ...simplify.solver.exprs import ExpressionError, QuestionScope, read_size
from ...simplify.solver.terms import TooLarge, Var
from ..case import Dims, count, dims_text
from ..weights import weight
from . import elements

# A wanted dimension: a size, or None for any.
Wanted = tuple[int | str | None, ...]
_MOST_AXES = 6
_LAYOUTS = {3: ((0, 2, 1),), 4: ((0, 2, 3, 1), (0, 3, 1, 2), (0, 1, 3, 2)), 5: ((0, 2, 3, 4, 1), (0, 4, 1, 2, 3))}


class TensorChange(NamedTuple):
    """`before` and `after` go around the tensor's text; `what` completes "... `x`", or has `{}` in its place. If it moves
    axes, `order` is the origin of each, or `exchanged` the two that are swapped."""

    what: str
    before: str
    after: str
    rank: int
    guess: bool = False
    order: tuple[int, ...] = ()
    exchanged: tuple[int, ...] = ()
    # Whether it enlarges a tensor: then it is applied where a name is bound rather than where it is used.
    enlarges: bool = False

    def said(self, tensor: str) -> str:
        return self.what.format(tensor) if "{}" in self.what else f"{self.what} {tensor}"


def without(dims: Iterable[int | str], others: Iterable[int | str]) -> Dims:
    """Return the dimensions left after removing an equal one for each of the others."""
    return tuple((Counter(dims) - Counter(others)).elements())


def adaptations(shape: Dims, wanted: Wanted) -> Iterator[TensorChange]:
    """Yield changes that make `shape` fit `wanted`, as far as is known without the checker."""
    missing = len(wanted) - len(shape)
    if missing > 0:
        yield from _more_axes(shape, wanted, missing)
    elif missing == 0:
        changes = list(moved(shape, wanted))
        yield from changes
        if changes:
            return
    else:
        yield from _fewer_axes(shape, wanted)
    yield from _reshaped(shape, wanted)


def expanded(axis: int, rank: int = weight("new axis")) -> TensorChange:
    which = {0: "a first axis", -1: "a last axis"}.get(axis, f"axis {axis}")
    return TensorChange(f"add {which} to", "@expand_dims(", f", axis={axis})", rank)


def spread(axes: tuple[int, ...], rank: int = weight("new axes")) -> TensorChange:
    """Add several axes of size 1 at once."""
    which = f"{', '.join(map(str, axes[:-1]))} and {axes[-1]}"
    return TensorChange(f"add axes {which} to", "@expand_dims(", f", axis={dims_text(axes)})", rank)


def squeezed(axis: int) -> TensorChange:
    return TensorChange(f"drop axis {axis} of", "@squeeze(", f", axis={axis})", weight("dropped axis"))


def enlarged(times: int, layout: str, rank: int) -> TensorChange:
    kept = f', layout="{layout}"' if layout != "channels_first" else ""
    return TensorChange(
        f"make {{}} {times} times as large", "@upsample(", f", {times}{kept})", rank, True, enlarges=True
    )


def transposed(rank: int = weight("transpose")) -> TensorChange:
    return TensorChange("transpose", "@matrix_transpose(", ")", rank, exchanged=(-2, -1))


def permuted(axes: tuple[int, ...], rank: int = weight("moved axes")) -> TensorChange:
    return TensorChange("move the axes of", "@permute_dims(", f", {dims_text(axes)})", rank, order=axes)


def swapped(a: int, b: int, rank: int = weight("swapped axes")) -> TensorChange:
    return TensorChange(f"swap axes {a} and {b} of", "@swapaxes(", f", {a}, {b})", rank, exchanged=(a, b))


def order_of(change: TensorChange, rank: int) -> tuple[int, ...] | None:
    """Return the order of axes that a change of a tensor of this rank makes; None if it does something else."""
    order = list(range(rank))
    if not change.exchanged:
        return change.order if change.order and sorted(change.order) == order else None
    a, b = (axis + rank if axis < 0 else axis for axis in change.exchanged)
    if not 0 <= a < b < rank:
        return None
    order[a], order[b] = b, a
    return tuple(order)


def flattened(rank: int = weight("flatten"), *, start: int = 1) -> TensorChange:
    """Flatten from an axis on; by default the rows are kept."""
    return TensorChange("flatten", "@flatten(", f", start={start})" if start else ")", rank)


def reshaped(target: str, rank: int, *, guess: bool = False) -> TensorChange:
    return TensorChange("reshape", "@reshape(", f", {target})", rank, guess)


def laid_out(dims: Dims, sizes: list[str], factors: list[str], rank: int) -> Iterator[TensorChange]:
    """Reshape to sizes with these factors, as they are written; if that spreads elements of one axis over others, first yield
    a change that also moves the axes."""
    target = dims_text(sizes)
    if not elements.mixes(dims, factors):
        yield reshaped(target, rank)
        return
    order = elements.order_for(dims, sizes if len(dims) < len(factors) else factors)
    if order and len(dims) < len(sizes):
        apart, back = dims_text(sizes[axis] for axis in order), tuple(order.index(axis) for axis in range(len(order)))
        after = f", {apart}), {dims_text(back)})"
        yield TensorChange("reshape {} and move its axes", "@permute_dims(@reshape(", after, rank, guess=True)
    elif order:
        after = f", {dims_text(order)}), {target})"
        yield TensorChange("move the axes of {} and reshape it", "@reshape(@permute_dims(", after, rank, guess=True)
    yield reshaped(target, weight("rows mixed"), guess=True)


def broadcast(target: str) -> TensorChange:
    return TensorChange(
        f"broadcast {{}} to {target}", "@broadcast_to(", f", {target})", weight("broadcast"), enlarges=True
    )


def repeated(axis: int, times: int | str, rank: int) -> TensorChange:
    return TensorChange(
        f"repeat {{}} {times} times along axis {axis}",
        "@repeat(",
        f", {times}, axis={axis})",
        rank,
        True,
        enlarges=True,
    )


def spreadings(shape: Dims, other: Dims) -> Iterator[TensorChange]:
    """Yield two or more new axes that make `shape` broadcast against `other`, which has its sizes in the same order."""
    if not 0 < len(shape) < len(other) - 1 or len(other) > _MOST_AXES:
        return
    # The last axis most likely stays the last.
    for places in sorted(combinations(range(len(other)), len(shape)), key=lambda p: p[-1] != len(other) - 1):
        first, taken = places[0], tuple(other[p] for p in places)
        new = tuple(p - first for p in range(first, len(other)) if p not in places)
        if taken == shape and len(new) > 1:
            yield spread(new)


def orders(length: int, rank: int = weight("usual order")) -> Iterator[tuple[tuple[int, ...], TensorChange]]:
    """Yield the usual other orders of that many axes."""
    if length == 2:
        yield (1, 0), transposed(rank)
    for position, axes in enumerate(_LAYOUTS.get(length, ())):
        yield axes, permuted(axes, rank + position)


def product(size: int | str) -> tuple[int, Counter[str]] | None:
    """Return the number and the names whose product a size is."""
    try:
        found = read_size(str(size), QuestionScope())
    except (ExpressionError, TooLarge):
        return None
    if isinstance(found, int):
        return (found, Counter()) if found >= 0 else None
    (mono, factor), *others = found.mons.items()
    names = [atom.name for atom in mono if isinstance(atom, Var) and atom.name.isidentifier()]
    return None if others or factor < 0 or len(names) < len(mono) else (factor, Counter(names))


def _is(have: int | str, want: int | str | None) -> bool:
    """Whether a size is the wanted one, in any notation."""
    return want is None or have == want or (product(have) or have) == product(want)


def fits(have: int | str, want: int | str | None) -> bool:
    """Whether a size may be the wanted one; names may be equal."""
    return want is None or have == want or isinstance(have, str) or isinstance(want, str)


def _all_fit(shape: Dims, wanted: Wanted, broadcast: bool = False) -> bool:
    """Whether each size is the wanted one, or, with `broadcast`, equal or 1."""
    return len(shape) == len(wanted) and all(
        a == b or 1 in (a, b) if broadcast else _is(a, b) for a, b in zip(shape, wanted, strict=True)
    )


def _more_axes(shape: Dims, wanted: Wanted, missing: int) -> Iterator[TensorChange]:
    if missing > 1:
        ones = tuple(range(missing))
        if _all_fit((1,) * missing + shape, wanted):
            yield TensorChange(
                f"add {missing} axes to", "@expand_dims(", f", axis={dims_text(ones)})", weight("new axes")
            )
        return
    for axis in range(len(wanted)):
        if _all_fit((*shape[:axis], 1, *shape[axis:]), wanted):
            likely = weight("new axis" if wanted[axis] == 1 else "new axis anywhere")
            yield expanded(axis if axis < len(shape) or axis == 0 else -1, likely)


def moved(shape: Dims, wanted: Wanted, *, broadcast: bool = False) -> Iterator[TensorChange]:
    if len(shape) == 2 and _all_fit((shape[1], shape[0]), wanted, broadcast):
        yield transposed()
    for position, axes in enumerate(_LAYOUTS.get(len(shape), ())):
        if _all_fit(tuple(shape[a] for a in axes), wanted, broadcast):
            yield permuted(axes, weight("moved axes") + position)
    if len(shape) > 2:
        for a in range(len(shape)):
            for b in range(a + 1, len(shape)):
                changed = list(shape)
                changed[a], changed[b] = changed[b], changed[a]
                if _all_fit(tuple(changed), wanted, broadcast):
                    yield swapped(a, b)


def _fewer_axes(shape: Dims, wanted: Wanted) -> Iterator[TensorChange]:
    if len(shape) - len(wanted) == 1:
        for axis, size in enumerate(shape):
            if not _all_fit((*shape[:axis], *shape[axis + 1 :]), wanted):
                continue
            if size == 1:
                yield squeezed(axis)
    if len(wanted) == 2 and fits(shape[0], wanted[0]):
        rest_count = count(shape[1:])
        if rest_count is None or fits(rest_count, wanted[1]):
            yield flattened()


def _reshaped(shape: Dims, wanted: Wanted) -> Iterator[TensorChange]:
    """Reshape to the wanted sizes if they are known, except perhaps one."""
    numbers = [w for w in wanted if isinstance(w, int)]
    open_ones = len(wanted) - len(numbers)
    total, asked = count(shape), count(numbers)
    if not numbers or open_ones > 1 or asked is None or asked == 0:
        return
    if total is not None and (total % asked if open_ones else total != asked):
        return
    if len(shape) == len(wanted) and _all_fit(shape, wanted):
        return
    target = dims_text(w if isinstance(w, int) else -1 for w in wanted)
    rows = total // asked if total is not None else None
    mixed = wanted[0] is None and rows not in (None, 1, *shape[:1]) or not open_ones and elements.mixes(shape, numbers)
    yield reshaped(target, weight("rows mixed" if mixed else "reshape"), guess=mixed)
