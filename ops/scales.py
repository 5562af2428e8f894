"""The result of size * scale in runtimes, which multiply in float32 and truncate the product."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

_PARTS = 128


@cache
def nominal(scale: Fraction) -> tuple[Fraction, bool]:
    """The simplest fraction with this float32, and whether floor(size * fraction) is the truncated float32 product; otherwise
    that product may differ by one. It is exact for products up to 2**16 if the denominator is at most 128 and the fraction
    does not exceed the float32 so far that a product is rounded down.

    7 / 10 for 0.7: 10 times its float32 is 6.9999999, which is rounded to 7. 90 times that of 1.3 is rounded to 116.99999.
    """
    if scale <= 0:
        return scale, True
    half = _spacing(scale) / 2
    found = _simplest(scale - half, scale + half)
    return found, found.denominator <= _PARTS and found - scale < found * Fraction(1, 2**25)


def _spacing(number: Fraction) -> Fraction:
    """The distance of the float32 numbers around a number."""
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    if Fraction(2) ** exponent > number:
        exponent -= 1
    return Fraction(2) ** (exponent - 23)


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of the least denominator between two positive fractions."""
    whole = -(-low.numerator // low.denominator)
    if whole <= high:
        return Fraction(whole)
    return whole - 1 + 1 / _simplest(1 / (high - whole + 1), 1 / (low - whole + 1))
