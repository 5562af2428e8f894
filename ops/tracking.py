"""The elements of an operation's result from known elements, each exact or None; and their storage in a tensor of some dtype.
`tracked.py` defines an element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import gcd, isqrt

from ..lang.dtypes import DIGITS, DTYPES, DType, exact_integers
from ..lang.node import Node, replace
from .model import AnyDType, Ctx, Dim, Element, Truth
from .tracked import Ratio, and_within, rounded

# An operation on elements.
Track = Callable[..., Element]
# A floating element with more limits than _MOST_LIMITS is dropped. A size that exceeds another one by at most _NEAR needs no
# limit of its own.
_MOST_LIMITS, _NEAR = 4, 32
# The largest divisors: no dtype has finer fractions among its exact numbers.
_FINEST, _FINEST_HALF = 2**100, 2**24
_INT64 = DTYPES["int64"]


# Storing


def stored(ctx: Ctx, value: Element, dtype: AnyDType | None) -> Element:
    """An element as stored in a tensor of the dtype."""
    if value is None or (not isinstance(dtype, DType) and (dtype is not None or isinstance(value, Ratio))):
        return None
    kind = _INT64.kind if dtype is None else dtype.kind
    if kind == "bool":
        return value if isinstance(value, Truth) else _nonzero(ctx, value)
    if isinstance(value, Truth):
        value = chosen(ctx, value, 1, 0)
        return None if value is None else stored(ctx, value, dtype)
    if kind in ("int", "uint"):
        return _as_integer(ctx, value, dtype)
    return _as_float(ctx, value, dtype) if isinstance(dtype, DType) and dtype.name in DIGITS else None


def cast_element(ctx: Ctx, value: Element, dtype: AnyDType | None) -> Element:
    """An element after a cast; a rounded quotient cast to a float is unknown, as it would be rounded twice."""
    is_float = isinstance(dtype, DType) and dtype.kind == "float"
    return None if is_float and isinstance(value, Ratio) and not value.is_exact else stored(ctx, value, dtype)


def _as_integer(ctx: Ctx, value: Element, dtype: DType | None) -> Element:
    """An integer; one that may be too large, or was rounded, is exact only if its limits hold."""
    whole = truncated(ctx, value)
    if whole is None:
        return None
    ratio = whole if isinstance(whole, Ratio) else Ratio(whole)
    limits = ratio.limits
    if not ctx.fits(ratio.num, dtype):
        least, most = exact_integers(_INT64 if dtype is None else dtype)
        if isinstance(ratio.num, int) or least == 0 and ctx.decide(ctx.le(0, ratio.num)) is not True:
            return None
        limits = _also_within(ctx, limits, ratio.num, most)
    if not limits:
        return ratio.num
    within = _within(ctx, replace(ratio, limits=limits))
    return ctx.one_of(((within, ratio.num),), natural=ratio.natural and dtype == _INT64, dtype=dtype)


def _as_float(ctx: Ctx, value: Element, dtype: DType) -> Element:
    if not isinstance(value, Ratio):
        value = Ratio(value, natural=ctx.decide(ctx.le(0, value)) is True if not isinstance(value, int) else value >= 0)
    return _ratio(ctx, dtype, value.num, value.den, value.limits, value.natural)


def _within(ctx: Ctx, ratio: Ratio) -> Truth:
    inside = [ctx.all_of(ctx.le(-most, size), ctx.le(size, most)) for size, most in ratio.limits]
    outside = [ctx.any_of(ctx.lt(size, -most), ctx.lt(most, size)) for size, most in ratio.limits]
    return Truth(ctx.all_of(*inside), ctx.any_of(*outside))


def _nonzero(ctx: Ctx, value: Element) -> Element:
    value = certain(ctx, value)
    if value is None:
        return None
    num = value.num if isinstance(value, Ratio) else value
    return decided(ctx, ctx.ne(num, 0), ctx.eq(num, 0))


def _ratio(
    ctx: Ctx, dtype: DType, num: Dim, den: Dim, limits: tuple[tuple[Dim, int], ...], natural: bool
) -> Ratio | None:
    """The element num / den, computed from others with these limits."""
    if isinstance(num, int) and isinstance(den, int):
        number = rounded(Fraction(num, den), dtype)
        return None if number is None else Ratio(number.numerator, number.denominator, limits, natural)
    exact = isinstance(den, int) and den & (den - 1) == 0
    if isinstance(den, int) and den > (_FINEST_HALF if dtype.name == "float16" else _FINEST):
        return None
    # A rounded quotient lies between the same integers and halves if its numerator is at most a quarter of the exact range.
    if not ctx.fits(num if exact else num * 4, dtype):
        limits = _also_within(ctx, limits, num, 2 ** DIGITS[dtype.name] // (1 if exact else 4))
        natural = natural and dtype.bits >= 32 and ctx.fits(num * 4, _INT64)  # even rounded it does not overflow
    return Ratio(num, den, limits, natural) if len(limits) <= _MOST_LIMITS else None


def _also_within(ctx: Ctx, limits: tuple[tuple[Dim, int], ...], size: Dim, most: int) -> tuple[tuple[Dim, int], ...]:
    """The limits with one more: a tighter one of a nearby size, if there is such a size, else one of the size itself."""
    for at, (known, bound) in enumerate(limits):
        for more in (0, _NEAR):
            above, below = ctx.le(size, known + more), ctx.le(-known - more, size)
            if ctx.decide(above) is True and ctx.decide(below) is True:
                return (*limits[:at], (known, min(bound, most - more)), *limits[at + 1 :])
    return and_within(limits, size, most)


# Truths


def decided(ctx: Ctx, yes: Element, no: Element) -> Element:
    """A condition and its opposite as an element: 1 or 0 if decided."""
    known = ctx.decide(yes)
    if known is not None:
        return int(known)
    return None if yes is None else Truth(yes, no)


def chosen(ctx: Ctx, condition: Element, x: Element, y: Element) -> Element:
    """x where a condition is true, else y."""
    if type(condition) is int:
        return x if condition else y
    if x is None or y is None:
        return None
    if x == y if isinstance(x, Node) or isinstance(y, Node) else ctx.eq(x, y) is True:
        return x
    if condition is None or isinstance(x, Ratio | Truth) or isinstance(y, Ratio | Truth):
        return None
    natural = ctx.decide(ctx.le(0, x)) is True and ctx.decide(ctx.le(0, y)) is True
    return ctx.one_of(((condition, x), (_opposite(condition), y)), natural=natural, dtype=None)


def _opposite(truth: Element) -> Element:
    return 1 - truth if type(truth) is int else Truth(truth.no, truth.yes)


def both(ctx: Ctx, a: Element, b: Element) -> Element:
    """Logical and."""
    numbers = [e for e in (a, b) if type(e) is int]
    if numbers:
        return 0 if 0 in numbers else b if a is numbers[0] else a
    return None if a is None or b is None else decided(ctx, ctx.all_of(a.yes, b.yes), ctx.any_of(a.no, b.no))


def negated(ctx: Ctx, a: Element) -> Element:
    """Logical not."""
    return None if a is None else _opposite(a)


def either(ctx: Ctx, a: Element, b: Element) -> Element:
    """Logical or."""
    return negated(ctx, both(ctx, negated(ctx, a), negated(ctx, b)))


def differ(ctx: Ctx, a: Element, b: Element) -> Element:
    """Logical exclusive or."""
    return both(ctx, either(ctx, a, b), negated(ctx, both(ctx, a, b)))


def compared(yes: Callable[..., Element], no: Callable[..., Element]) -> Track:
    """A comparison of elements, with its opposite."""

    def track(ctx: Ctx, a: Element, b: Element) -> Element:
        found = None if isinstance(a, Truth) or isinstance(b, Truth) else _scaled((certain(ctx, a), certain(ctx, b)))
        return None if found is None else decided(ctx, yes(ctx, *found[0]), no(ctx, *found[0]))

    return track


# Numbers


def certain(ctx: Ctx, value: Element) -> Element:
    """The element, if its limits surely hold, else None."""
    if not isinstance(value, Ratio) or not value.limits:
        return value
    return replace(value, limits=()) if ctx.decide(_within(ctx, value).yes) is True else None


def _scaled(values: Sequence[Element]) -> tuple[list[Element], int] | None:
    """The numerators of elements over one divisor, and the divisor."""
    if any(v is None or (isinstance(v, Ratio) and not v.is_exact) for v in values):
        return None
    dens: list[Element] = [v.den if isinstance(v, Ratio) else 1 for v in values]
    den = max(dens, default=1)  # powers of 2
    nums = [v.num if isinstance(v, Ratio) else v for v in values]
    return [num if d == den else num * (den // d) for num, d in zip(nums, dens, strict=True)], den


def exactly(track: Track, whole: bool = False, keeps: bool = True) -> Track:
    """Extend an operation on integers to exact floating elements: it runs on numerators over one divisor, which the result
    keeps unless it is `whole`. It `keeps` elements non-negative."""

    def run(ctx: Ctx, *values: Element) -> Element:
        found = None if any(isinstance(v, Truth) for v in values) else _scaled(values)
        if found is None:
            return None
        made = track(ctx, *found[0])
        ratios = [v for v in values if isinstance(v, Ratio)]
        if made is None or not ratios:
            return made
        return Ratio(made, 1 if whole else found[1], _limits(ratios), keeps and all(r.natural for r in ratios))

    return run


def _limits(ratios: Sequence[Ratio]) -> tuple[tuple[Dim, int], ...]:
    limits: tuple[tuple[Dim, int], ...] = ()
    for ratio in ratios:
        for size, most in ratio.limits:
            limits = and_within(limits, size, most)
    return limits


def times(ctx: Ctx, a: Element, b: Element) -> Element:
    """a * b."""
    if not isinstance(a, Ratio) or not isinstance(b, Ratio):
        return exactly(lambda ctx, a, b: a * b)(ctx, a, b)
    if not a.is_exact or not b.is_exact:
        return None
    return Ratio(a.num * b.num, a.den * b.den, _limits((a, b)), a.natural and b.natural)


def quotient(ctx: Ctx, a: Dim, b: Dim) -> Dim | None:
    """a // b, if b is surely not 0, and positive unless both are numbers."""
    return a // b if _divides(ctx, a, b) else None


def modulus(ctx: Ctx, a: Dim, b: Dim) -> Dim | None:
    """a % b, under the same condition."""
    return a % b if _divides(ctx, a, b) else None


def _divides(ctx: Ctx, a: Dim, b: Dim) -> bool:
    return b != 0 if isinstance(a, int) and isinstance(b, int) else ctx.decide(ctx.le(1, b)) is True


def divided(ctx: Ctx, a: Element, b: Element) -> Element:
    """a / b of floating elements."""
    if not (isinstance(a, Ratio) and isinstance(b, Ratio) and a.is_exact and b.is_exact):
        return None
    num, den = a.num * b.den, b.num * a.den
    if isinstance(den, int) and den < 0:
        num, den = -num, -den
    if ctx.decide(ctx.le(1, den)) is not True:
        return None
    return Ratio(*_reduced(ctx, num, den), _limits((a, b)), a.natural and b.natural and not b.limits)


def _reduced(ctx: Ctx, num: Dim, den: Dim) -> tuple[Dim, Dim]:
    """A fraction without the common factors that can be found."""
    if isinstance(num, int) and isinstance(den, int):
        common = gcd(num, den)
        return num // common, den // common
    odd, power = den, 1
    while isinstance(odd, int) and odd % 2 == 0:
        odd, power = odd // 2, power * 2
    for factor, rest in ((den, 1), (odd, power)):
        if ctx.decide(ctx.eq(num % factor, 0)) is True:
            return num // factor, rest
    return num, den


def _rounding(whole: Callable[[Ctx, Dim, Dim], Dim]) -> Track:
    """A function that turns fractions into integers and leaves integers unchanged."""

    def track(ctx: Ctx, a: Element) -> Element:
        if not isinstance(a, Ratio) or (isinstance(a.den, int) and a.den == 1):
            return None if isinstance(a, Truth) else a
        return replace(a, num=whole(ctx, a.num, a.den), den=1)

    return track


def _half_to_even(ctx: Ctx, num: Dim, den: Dim) -> Dim:
    twice = num + num + den
    near = twice // (den + den)
    return near if isinstance(den, int) and den % 2 else (twice - near % 2) // (den + den)


def _toward_zero(ctx: Ctx, num: Dim, den: Dim) -> Dim:
    if ctx.decide(ctx.le(0, num)) is True:
        return num // den
    if ctx.decide(ctx.le(num, 0)) is True:
        return -(-num // den)
    return ctx.max(num, 0) // den - ctx.max(0 - num, 0) // den


def half_up(ctx: Ctx, a: Element) -> Element:
    """The nearest integer; of two the larger one."""
    if not isinstance(a, Ratio):
        return a
    return replace(a, num=(a.num + a.num + a.den) // (a.den + a.den), den=1)


floored = _rounding(lambda ctx, num, den: num // den)
raised = _rounding(lambda ctx, num, den: ctx.ceildiv(num, den))
nearest = _rounding(_half_to_even)
toward_zero = _rounding(_toward_zero)


def truncated(ctx: Ctx, a: Element) -> Element:
    """The nearest integer toward 0; a floating element with open limits stays a Ratio."""
    whole = toward_zero(ctx, a)
    return whole.num if isinstance(whole, Ratio) and not whole.limits else whole


def root(ctx: Ctx, a: Element) -> Element:
    """The square root of a floating element that is a square. A square that was rounded once has the same root."""
    if not isinstance(a, Ratio) or not a.is_exact or not isinstance(a.den, int):
        return None
    num, den = (a.num, a.den) if isqrt(a.den) ** 2 == a.den else (a.num * 2, a.den * 2)
    found = ctx.root(num)
    limits = tuple(limit for limit in a.limits if limit[0] is not a.num)
    return None if found is None else Ratio(found, isqrt(den), limits, natural=True)


def sign(ctx: Ctx, a: Dim) -> Dim | None:
    """-1, 0 or 1, if known."""
    for answer, cond in ((1, ctx.lt(0, a)), (0, ctx.eq(a, 0)), (-1, ctx.lt(a, 0))):
        if ctx.decide(cond) is True:
            return answer
    return None


def power(ctx: Ctx, a: Dim, b: Dim) -> Dim | None:
    """Small literal powers of integers only: others are not polynomials."""
    if a is None or isinstance(a, Ratio | Truth) or not isinstance(b, int) or not 0 <= b <= 8:
        return None
    result: Dim = 1
    for _ in range(b):
        result = result * a
    return result


def summed(ctx: Ctx, values: Sequence[Element], dtype: AnyDType | None) -> Element:
    """The sum of elements in any order; floats are limited so that every partial sum is exact."""
    made = exactly(lambda ctx, *nums: _sum(nums))(ctx, *values)
    if not isinstance(made, Ratio):
        return made if values else 0
    if made.natural:
        return _unrounded(made, dtype)
    found = _scaled(values)
    if found is None or not isinstance(dtype, DType) or dtype.name not in DIGITS:
        return None
    most, limits = 2 ** DIGITS[dtype.name] // len(values), made.limits
    for num in found[0]:
        if not isinstance(num, int):
            limits = and_within(limits, num, most)
        elif abs(num) > most:
            return None
    return replace(made, limits=limits)


def _sum(nums: Sequence[Dim]) -> Dim:
    result: Dim = 0
    for num in nums:
        result = result + num
    return result


def multiplied(ctx: Ctx, values: Sequence[Element], dtype: AnyDType | None) -> Element:
    """The product of elements in any order; floats must be at least 1, so that no partial product is larger."""
    if not any(isinstance(v, Ratio) for v in values):
        return None if any(v is None for v in values) else _product(values)
    found = _scaled(values)
    if found is None or not all(ctx.decide(ctx.le(1, num)) is True for num in found[0]) or found[1] != 1:
        return None
    limits = _limits([v for v in values if isinstance(v, Ratio)])
    return _unrounded(Ratio(_product(found[0]), 1, limits, natural=True), dtype)


def _unrounded(made: Ratio, dtype: AnyDType | None) -> Ratio | None:
    """The result of several steps, if the last and largest one is exact; otherwise rounding may have occurred in any step."""
    digits = DIGITS.get(dtype.name) if isinstance(dtype, DType) else None
    return None if digits is None or (isinstance(made.num, int) and made.num > 2**digits) else made


def _product(nums: Sequence[Dim]) -> Dim:
    result: Dim = 1
    for num in nums:
        result = num if isinstance(result, int) and result == 1 else result * num
    return result


def ordered(values: Sequence[Element]) -> list[Element] | None:
    """Elements that are numbers, as integers in the same order; None if one is not."""
    found = _scaled([None if isinstance(v, Ratio) and v.limits else v for v in values])
    return found[0] if found is not None and all(type(num) is int for num in found[0]) else None
