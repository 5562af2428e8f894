"""Whether a reshape keeps elements in their axes, split or merged, or mixes axes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, islice, permutations
from operator import mul

from ...simplify.solver.exprs import ExpressionError, QuestionScope, read_size
from ...simplify.solver.terms import Floor, Size, TooLarge, floordiv, of_atom
from ..case import Dims

# More axes have too many orders.
_MOST_AXES = 5


def mixes(dims: Dims, sizes: Sequence[int | str]) -> bool:
    """Whether a reshape would spread elements of one axis over others: `[b, t, h * k]` as `[b, h, t, k]`. It does not if, for
    each axis of either shape, the numbers of elements before them divide one another."""
    have, want = _read(dims, sizes)
    return not all(_divides(a, b) or _divides(b, a) for a in _before(have) for b in _before(want))


def order_for(dims: Dims, sizes: Sequence[int | str]) -> tuple[int, ...]:
    """Return the order of the longer shape's axes in which its neighbours merge to those of the shorter one; empty if there
    is none but the present one. For shapes of equal rank, it is the order of the first one's axes."""
    have, want = _read(dims, sizes)
    parts, whole = (want, have) if len(dims) < len(sizes) else (have, want)
    if not whole or len(parts) > _MOST_AXES:
        return ()
    asked = set(accumulate(whole, mul))
    orders = islice(permutations(range(len(parts))), 1, None)
    return next((o for o in orders if asked <= set(accumulate((parts[axis] for axis in o), mul))), ())


def _read(dims: Dims, sizes: Sequence[int | str]) -> tuple[list[Size], list[Size]]:
    """Return both as sizes, with `h * (d // h)` for `d` if the other shape has a `d // h`; empty if one is no size."""
    scope = QuestionScope()
    try:
        have, want = ([read_size(str(size), scope) for size in shape] for shape in (dims, sizes))
    except (ExpressionError, TooLarge):
        return [], []
    if any(isinstance(size, int) and size < 1 for size in (*have, *want)):
        return [], []
    return _divided(have, want), _divided(want, have)


def _divided(sizes: list[Size], others: list[Size]) -> list[Size]:
    quotients = [
        a for size in others if not isinstance(size, int) for m in size.mons for a in m if isinstance(a, Floor)
    ]
    whole = {q.num: q.den * of_atom(q) for q in quotients}
    return [whole.get(size, size) for size in sizes]


def _before(sizes: list[Size]) -> list[Size]:
    """Return the numbers of elements before each axis but the first."""
    return list(accumulate(sizes[:-1], mul))


def _divides(part: Size, whole: Size) -> bool:
    return floordiv(whole, part) * part == whole
