"""The result of size * scale in runtimes: they multiply in float32, and cut the product off."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

_PARTS = 128


@cache
def nominal(scale: Fraction) -> tuple[Fraction, bool]:
    """The simplest fraction that has this float32, and whether floor(size * fraction) is what the product in float32 is cut off
    to; else that is at most one more or less. It is so of products up to 2**16, if the fraction has no more than 128 parts
    and is not above the float32 by so much that a product is rounded down.

    7 / 10 for 0.7: 10 times its float32 is 6.9999999, which is rounded to 7. 90 times that of 1.3 is rounded to 116.99999.
    """
    if scale <= 0:
        return scale, True
    half = _spacing(scale) / 2
    found = _simplest(scale - half, scale + half)
    return found, found.denominator <= _PARTS and found - scale < found * Fraction(1, 2**25)


def _spacing(number: Fraction) -> Fraction:
    """How far the float32 numbers around one are from each other."""
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    if Fraction(2) ** exponent > number:
        exponent -= 1
    return Fraction(2) ** (exponent - 23)


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of the least denominator between two positive ones."""
    whole = -(-low.numerator // low.denominator)
    if whole <= high:
        return Fraction(whole)
    return whole - 1 + 1 / _simplest(1 / (high - whole + 1), 1 / (low - whole + 1))
