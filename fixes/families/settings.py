"""Other values that the pads and strides of a window may have been meant to have."""

from __future__ import annotations

from collections.abc import Iterator

from ...lang import sweet
from ...ops.elsewhere_args import integer
from ..scope import FixScope
from ..weights import weight

# The name of a setting, its new text, the expression of the old one, and a rank.
Setting = tuple[str, str, sweet.Expr | None, int]


def common(strides: sweet.Expr | None) -> int | None:
    """Return the common stride of all axes."""
    known = {integer(i) for i in (strides.items if isinstance(strides, sweet.ListExpr) else (strides,))}
    return known.pop() if len(known) == 1 else None


def pads(given: dict[str, sweet.Expr], scope: FixScope) -> Iterator[Setting]:
    """Yield pads: those that keep the size, then one more or one less on each side, then on one of two different sides."""
    written, extents = given.get("pads"), _extents(given, scope)
    if "auto_pad" in given:
        return
    if not extents and written is None:
        yield "pads", "1", None, weight("window")
    if (number := integer(written)) is not None:
        yield from (("pads", str(max(number + by, 0)), written, weight("window")) for by in (1, -1))
    same = [((e - 1) // 2, (e - 1) // 2) for e in extents]
    if same and any(a or b for a, b in same):
        yield "pads", _pairs(same), written, weight("pads that keep")
    if len(extents) == 1 and extents[0] > 1:  # all pads before the window
        yield (
            "pads",
            _pairs([(extents[0] - 1, 0)]),
            written,
            weight("pads before" if _is_before_alone(written) else "pads before alone"),
        )
    now = [_pair(i) for i in written.items] if isinstance(written, sweet.ListExpr) else []
    known = [p for p in now if p is not None]
    if not known or len(known) < len(now):
        return
    for by in (1, -1):
        yield "pads", _pairs([(max(a + by, 0), max(b + by, 0)) for a, b in known]), written, weight("pads by one")
    for position, (a, b) in enumerate(known):
        for pair in ((b, b), (a, a), (a + 1, b), (a, b + 1)) if a != b else ():
            yield "pads", _pairs([*known[:position], pair, *known[position + 1 :]]), written, weight("window")


def strides(given: dict[str, sweet.Expr], scope: FixScope) -> Iterator[Setting]:
    """Yield strides: two, half a window or a whole one if there are none; else one more or one less, or that of another
    axis."""
    written, extents = given.get("strides"), _extents(given, scope)
    spatial = len(extents)
    if written is None:
        yield "strides", f"[{', '.join(['2'] * spatial)}]" if spatial else "2", None, weight("window")
        for reach in ([(e + 1) // 2 for e in extents], extents):
            if any(n > 1 for n in reach):
                yield "strides", f"[{', '.join(map(str, reach))}]", None, weight("window")
    if (number := integer(written)) is not None:
        yield from (("strides", str(max(number + by, 1)), written, weight("window")) for by in (-1, 1))
    now = [integer(i) for i in written.items] if isinstance(written, sweet.ListExpr) else []
    known = [n for n in now if n is not None]
    if not known or len(known) < len(now):
        return
    for steps in dict.fromkeys([*_as_one(known), *_by_one(known), *_of_others(known)]):
        if list(steps) != known:
            yield "strides", f"[{', '.join(map(str, steps))}]", written, weight("window")


def _as_one(known: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield all values as one of them."""
    yield from ((n,) * len(known) for n in dict.fromkeys(known))


def _of_others(known: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield values with one replaced by another."""
    yield from ((*known[:at], n, *known[at + 1 :]) for at in range(len(known)) for n in dict.fromkeys(known))


def _by_one(known: list[int]) -> Iterator[tuple[int, ...]]:
    for by in (-1, 1):
        if min(known) + by >= 1:
            yield tuple(n + by for n in known)


def _extents(given: dict[str, sweet.Expr], scope: FixScope) -> list[int]:
    """Return the extent of a window along each axis, if its weight or its kernel gives numbers."""
    weight, kernel = given.get("weight"), given.get("kernel_shape")
    shape = scope.tensors.get(weight.name) if isinstance(weight, sweet.Name) else kernel
    sizes = [integer(i) for i in shape.items] if isinstance(shape, sweet.ListExpr) else []
    spatial = sizes[2:] if kernel is None else sizes
    known = [n for n in spatial if n is not None]
    steps = given.get("dilations")
    wide = [integer(i) for i in steps.items] if isinstance(steps, sweet.ListExpr) else []
    by = [wide[i] or 1 if len(wide) == len(known) else 1 for i in range(len(known))]
    return [(n - 1) * d + 1 for n, d in zip(known, by, strict=True)] if len(known) == len(spatial) else []


def _is_before_alone(written: sweet.Expr | None) -> bool:
    pairs = map(_pair, written.items) if isinstance(written, sweet.ListExpr) else ()
    return any(p is not None and p[0] > 0 == p[1] for p in pairs)


def _pair(expr: sweet.Expr) -> tuple[int, int] | None:
    match expr:
        case sweet.TupleExpr(items=(sweet.IntLit(value=before), sweet.IntLit(value=after))):
            return before, after
    return None


def _pairs(pads: list[tuple[int, int]]) -> str:
    return f"[{', '.join(f'({a}, {b})' for a, b in pads)}]"
