"""Equations that no sizes satisfy, written out with the reason: `m * 4 = 15 has no integer solution (15 mod 4 = 3)`."""

from __future__ import annotations

from math import gcd

from ..known.state import State
from ..known.texts import readable, size_text
from ..solver.terms import Size, Term


def without_solution(state: State, a: Size, b: Size) -> str:
    """The sentence that `a = b` has no solution, with the reason; empty for two numbers or for a size without text."""
    a, b = state.settled(a), state.settled(b)
    if isinstance(a, int) and isinstance(b, int):
        return ""
    sides = size_text(a, state), size_text(b, state)
    return f"{sides[0]} = {sides[1]} has no {_reason(a, b, state)}" if all(map(readable, sides)) else ""


def _reason(a: Size, b: Size, state: State) -> str:
    difference = a - b
    if isinstance(difference, int):
        return f"solution (they differ by {abs(difference)})"
    constant = difference.mons.get((), 0)
    step = gcd(*(k for mono, k in difference.mons.items() if mono))
    if step > 1 and constant % step:
        for side in (a, b):
            if isinstance(side, int):
                return f"integer solution ({side} mod {step} = {side % step})"
        rests = [_rest(side, step) for side in (a, b)]
        if None not in rests and rests[0] != rests[1]:
            return f"integer solution (mod {step} they are {rests[0]} and {rests[1]})"
        return "integer solution"
    return "solution"


def _rest(side: Size, step: int) -> int | None:
    """The remainder of a size by a number, if it is the same for all values; else None."""
    if isinstance(side, int):
        return side % step
    if any(k % step for mono, k in side.mons.items() if mono):
        return None
    return side.mons.get((), 0) % step


def remainder(state: State, size: Size, factor: Size) -> str:
    """The reason why a size is no multiple of a number, `15 mod 4 = 3`; empty if it may be one."""
    if not isinstance(factor, int) or factor < 1:
        return ""
    mons = size.mons if isinstance(size, Term) else {(): size}
    step = gcd(factor, *(k for mono, k in mons.items() if mono))
    rest = mons.get((), 0) % step
    text = size_text(size, state)
    return f"{f'({text})' if ' + ' in text or ' - ' in text else text} mod {step} = {rest}" if rest else ""


def only_empty(state: State, a: Size, b: Size) -> str:
    """`B * 16 = B * 15 holds only for B = 0`, if both are multiples of one product by different numbers."""
    a, b = state.settled(a), state.settled(b)
    if isinstance(a, int) or isinstance(b, int) or len(a.mons) != 1 or a.mons.keys() != b.mons.keys():
        return ""
    ((mono, factor),) = a.mons.items()
    (other,) = b.mons.values()
    if not mono or factor == other:
        return ""
    product = type(a)({mono: 1})
    return f"{size_text(a, state)} = {size_text(b, state)} holds only for {size_text(product, state)} = 0"
