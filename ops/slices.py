"""The length of a slice of an axis, for bounds and sizes that may be symbolic."""

from __future__ import annotations

from .axes import larger, smaller
from .model import Ctx, Dim

# Greater than any axis: a stop of this or more is the end, a start below its negative the beginning.
SENTINEL = 2**63 - 1


def of_model(bound: Dim) -> Dim:
    """A bound in a model; the limits of int32 mean those of int64: ONNX uses INT_MAX for the end of any axis."""
    if not isinstance(bound, int) or abs(bound) < 2**31 - 1:
        return bound
    return SENTINEL if bound > 0 else -SENTINEL - 1


def slice_length(ctx: Ctx, n: Dim, start: Dim, stop: Dim, step: Dim) -> Dim:
    """The length of `range(n)[start:stop:step]`; if the sign of the step is unknown, a new size of at most n.

    Bounds are clamped only where it matters: a start beyond the stop, or a stop before a start that is not negative, gives a
    negative difference and so length 0.
    """
    ahead = step > 0 if isinstance(step, int) else _sign(ctx, step)
    if ahead is None:
        return ctx.fresh("length", 0, n)
    if ctx.is_unknown(start) or ctx.is_unknown(stop):
        least, most = (0, SENTINEL) if ahead else (SENTINEL, -SENTINEL)
        bounds = (least if ctx.is_unknown(start) else start, most if ctx.is_unknown(stop) else stop)
        return ctx.fresh("length", 0, slice_length(ctx, n, *bounds, step))
    if ahead:
        end, whole = _bound(ctx, n, stop, n, 0, clamp_low=False)
        if whole and _from_end(ctx, start) and _is_counted_from_end(start):
            return _ceildiv(ctx, smaller(ctx, 0 - start, n), step)
        begin, _ = _bound(ctx, n, start, None, 0, clamp_low=True)
    else:
        begin, _ = _bound(ctx, n, start, n - 1, -1, clamp_low=False)
        end, _ = _bound(ctx, n, stop, None, -1, clamp_low=True)
    span = end - begin if ahead else begin - end
    if ctx.decide(ctx.le(0, span)) is not True:
        span = larger(ctx, span, 0)
    length = _ceildiv(ctx, span, step if ahead else -step)
    if _from_end(ctx, start) is None or _from_end(ctx, stop) is None:
        ctx.passed(ctx.le(length, n))  # the formula does not show it
    return length


def _sign(ctx: Ctx, step: Dim) -> bool | None:
    """Whether a step leads forwards; None if unknown."""
    if ctx.decide(ctx.lt(0, step)) is True:
        return True
    return False if ctx.decide(ctx.lt(step, 0)) is True else None


def _ceildiv(ctx: Ctx, size: Dim, step: Dim) -> Dim:
    return size if isinstance(step, int) and step == 1 else ctx.ceildiv(size, step)


def _from_end(ctx: Ctx, bound: Dim) -> bool | None:
    """Whether a bound is negative, so that it counts from the end; None if unknown."""
    return bound < 0 if isinstance(bound, int) else ctx.decide(ctx.lt(bound, 0))


def _is_counted_from_end(bound: Dim) -> bool:
    return not (isinstance(bound, int) and bound <= -SENTINEL)


def _bound(ctx: Ctx, n: Dim, bound: Dim, high: Dim | None, low: int, clamp_low: bool) -> tuple[Dim, bool]:
    """A slice's bound as a position, and whether it is surely the end of the axis.

    It is at most `high` (None: no need to clamp) and, if it counts from the end, at least `low` (if `clamp_low`).
    """
    if isinstance(bound, int) and bound <= -SENTINEL:
        return low, False
    if isinstance(bound, int) and bound >= SENTINEL:
        return (n if high is None else high), True
    from_end = _from_end(ctx, bound)
    if from_end is None:
        if _is_long(n):
            return ctx.fresh("bound") + low, False
        return _open_bound(ctx, n, bound, low), False
    if from_end:
        return (larger(ctx, bound + n, low) if clamp_low else bound + n), False
    return (bound if high is None else smaller(ctx, bound, high)), False


def _is_long(size: Dim) -> bool:
    """Whether a symbolic size is a sum of more than three products, like the formula for an open bound: nesting that formula,
    in slices of slices by bounds of unknown sign, would let it grow without limit."""
    return len(getattr(size, "mons", ())) > 3


def _open_bound(ctx: Ctx, n: Dim, bound: Dim, low: int) -> Dim:
    """A bound of unknown sign, clamped to 0 .. n, or to -1 .. n - 1 if `low` is -1.

    One of the two summands is 0: the second if the bound is not negative (then -n * bound is not positive), the first if it
    counts from the end (then -n * bound is n or more, and the minimum is bound + n). A bound like n - 1 counts from the end
    only if that is before the beginning: then there is no second summand.
    """
    ahead = larger(ctx, smaller(ctx, bound - low, n), 0)
    if ctx.decide(ctx.any_of(ctx.le(0, bound), ctx.le(bound + n, low))) is True:
        return ahead + low
    return ahead + ctx.max(0, ctx.min(bound + n - low, 0 - n * bound)) + low
