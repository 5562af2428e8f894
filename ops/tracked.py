"""Known elements (shapes as data), each exact; `tracking.py` computes the results of operations on them.

A tensor's elements are a tuple in row-major order, of one entry for a tensor of rank 0. An entry is a Dim (of an integer
dtype; 0 or 1 of bool), a Truth (of bool, still undecided), a Ratio (of a floating dtype), a HeldElements (of a dtype that
holds other tensors) or None, if unknown.

Floats are tracked only as far as they are exact. The integers that a dtype represents without gaps go up to 2**53 in float64,
2**24 in float32, 2**11 in float16 and 2**8 in bfloat16. An element whose numbers may be larger carries this as its `limits`;
converted to an integer, it becomes a size that is exact if they hold. Literals are rounded as the dtype rounds.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from ..lang.dtypes import DIGITS, DType, exact_integers
from ..lang.node import Node
from .held import HeldElements, sizes_held
from .model import TRACKED, Dim, Element, Elements, TensorInfo, Truth


class Ratio(Node):
    """An element of a floating tensor: exactly num / den if den is a literal power of 2, else its rounded value, which lies
    on the same side of every integer and a half. This holds if the magnitude of each size in `limits` is at most the number
    beside it. A `natural` element is never negative."""

    num: Dim
    den: Dim = 1
    limits: tuple[tuple[Dim, int], ...] = ()
    natural: bool = False

    @property
    def is_exact(self) -> bool:
        return isinstance(self.den, int) and self.den & (self.den - 1) == 0


def count_of(shape: Sequence[object]) -> int | None:
    """The number of elements of a shape; None if a size is not a number or there are too many."""
    count = 1
    for size in shape:
        if type(size) is not int or size < 0:
            return None
        count *= size
    return count if count <= TRACKED else None


def elements(x: TensorInfo, shape: Sequence[object] | None = None) -> tuple[Element, ...] | None:
    """The elements of a tensor, one by one, each perhaps unknown; None if there are too many."""
    count = count_of(x.shape if shape is None else shape)
    if count is None or x.data is None:
        return None if count is None else (None,) * count
    return x.data if len(x.data) == count else None


def kept(data: Elements) -> Elements:
    """The elements, or None if all are unknown."""
    return None if data and all(e is None for e in data) else data


def each(made: Callable[..., Element], *columns: tuple[Element, ...]) -> tuple[Element, ...]:
    """The result of `made` on each row of the columns, computed once for equal rows."""
    known: dict[tuple[int, ...], Element] = {}
    found = []
    for values in zip(*columns, strict=True):
        key = tuple(map(id, values))
        if key not in known:
            known[key] = made(*values)
        found.append(known[key])
    return tuple(found)


def integers(data: Elements) -> tuple[int, ...] | None:
    """The elements if all are known numbers, else None."""
    return data if data is not None and all(type(e) is int for e in data) else None


def literal_elements(data: Elements) -> Elements:
    """The elements, without those that contain symbolic sizes."""
    if data is None:
        return None
    return kept(tuple(e if all(isinstance(size, int) for size in sizes_in((e,))) else None for e in data))


def sizes_in(data: Elements) -> list[Any]:
    """The sizes and conditions in elements."""
    found: list[Any] = []
    for e in data or ():
        if isinstance(e, HeldElements):
            found += sizes_held(e)
        elif isinstance(e, Ratio):
            found += (e.num, e.den, *(size for size, _ in e.limits))
        else:
            found += (e.yes, e.no) if isinstance(e, Truth) else (e,)
    return [size for size in found if size is not None]


# Literals


def literal(value: object, dtype: DType) -> Element:
    """An element written in the program."""
    if dtype.kind in ("bool", "int", "uint"):
        least, most = (0, 1) if dtype.kind == "bool" else exact_integers(dtype)
        return int(value) if isinstance(value, int) and least <= value <= most else None
    if dtype.name not in DIGITS or not isinstance(value, int | float):
        return None
    number = rounded(Fraction(value), dtype) if abs(value) <= 1e300 else None
    return None if number is None else Ratio(number.numerator, number.denominator, natural=number >= 0)


def of_literal(values: Sequence[object], dtype: DType) -> Elements:
    """The elements of a tensor written in the program."""
    return kept(tuple(literal(value, dtype) for value in values)) if len(values) <= TRACKED else None


def rounded(number: Fraction, dtype: DType) -> Fraction | None:
    """The number of the dtype that is nearest to `number`, or None."""
    try:
        near = float(number)
        if dtype.name in ("float32", "float16"):
            form = "<f" if dtype.name == "float32" else "<e"  # in native order too large numbers become infinite
            [near] = struct.unpack(form, struct.pack(form, near))
    except OverflowError:
        return None
    found = Fraction(near)
    if dtype.name != "float64" and abs(number.numerator) > 2**53:
        return None  # rounded twice
    exact = found == number and abs(found.numerator) <= 2 ** DIGITS[dtype.name]
    return found if exact or dtype.name != "bfloat16" else None


def and_within(limits: tuple[tuple[Dim, int], ...], size: Dim, most: int) -> tuple[tuple[Dim, int], ...]:
    return limits if any(known is size and m <= most for known, m in limits) else (*limits, (size, most))
