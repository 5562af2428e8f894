"""Maxima and minima of sizes: arguments that cannot be the largest are dropped, common parts are taken out."""

from __future__ import annotations

from math import gcd

from .division import floordiv
from .polynomials import Floor, Max, Size, Term, leads_negative, mono_key, of_atom, shrink, size_key
from .ranges import at_least


def smax(*xs: Size) -> Size:
    """The greatest of the sizes."""
    if all(isinstance(x, int) for x in xs):
        return max(x for x in xs if isinstance(x, int))
    nested = _nested_quotient(xs)
    if nested is not None:
        return nested
    args: list[Size] = []
    for x in xs:
        for flat in _flat_max(x):
            if flat not in args:
                args.append(flat)
    kept = _undominated(args)
    if len(kept) == 1:
        return kept[0]
    shared = _shared_quotient(kept)
    if shared is not None:
        return shared
    base = kept[0]
    for x in kept[1:]:
        if leads_negative(x - base):
            base = x
    above = sorted((x - base for x in kept if x is not base), key=size_key)
    spread = [y for x in above for y in _flat_max(x)]
    if len(spread) > len(above):  # max(min(n, m), k) == min(n, m) + max(0, k - n, k - m)
        return base + smax(0, *spread)
    g = 0
    for x in above:
        g = gcd(g, *(x.mons.values() if type(x) is Term else (x,)))
    least = tuple(shrink(x, g, ()) for x in above)
    nested = _nested_quotient((0, *least))
    return base + (of_atom(Max(least)) if nested is None else nested) * g


def smin(*xs: Size) -> Size:
    """The smallest of the sizes."""
    return -smax(*(-x for x in xs))


def _shared_quotient(args: list[Size]) -> Size | None:
    """`max(x // c, y // c) == max(x, y) // c`, for at least two quotients, up to constants."""
    c = 0
    nums: list[Size] = []
    for x in args:
        if isinstance(x, int):
            continue
        quotients = [(m[0], k) for m, k in x.mons.items() if len(m) == 1 and type(m[0]) is Floor and abs(k) == 1]
        if len(quotients) != 1:
            return None
        ((quotient, k),) = quotients
        den = quotient.den
        rest = x - Term({(quotient,): k})
        if not isinstance(den, int) or not isinstance(rest, int) or (c and den != c):
            return None
        c = den
        nums.append(quotient.num + rest * c if k > 0 else rest * c + c - 1 - quotient.num)
    if len(nums) < 2:
        return None
    return floordiv(smax(*nums, *(x * c for x in args if isinstance(x, int))), c)


def _nested_quotient(args: tuple[Size, ...]) -> Size | None:
    """`max(x // c, k) == max(x, k * c) // c` for a number k, so that nested slices are no deeper than one."""
    numbers = [x for x in args if isinstance(x, int)]
    terms = [x for x in args if type(x) is Term]
    if len(terms) != 1:
        return None
    found = _as_quotient(terms[0])
    return None if found is None else floordiv(smax(found[0], *(k * found[1] for k in numbers)), found[1])


def _as_quotient(x: Term) -> tuple[Size, int] | None:
    """y and c with x == y // c, if y is no longer than x: `n - n // 2` is `(n + 1) // 2`."""
    quotients = [(m[0], k) for m, k in x.mons.items() if len(m) == 1 and type(m[0]) is Floor]
    if len(quotients) != 1:
        return None
    ((quotient, k),) = quotients
    num, den = quotient.num, quotient.den
    if abs(k) != 1 or not isinstance(den, int) or type(num) is not Term:
        return None
    rest = x - Term({(quotient,): k})
    whole = rest * den + (num if k > 0 else den - 1 - num)
    simpler = isinstance(rest, int) or (type(whole) is Term and len(whole.mons) < len(x.mons))
    return (whole, den) if simpler else None


def _flat_max(x: Size) -> list[Size]:
    if isinstance(x, int):
        return [x]
    inner = [m for m, k in x.mons.items() if k > 0 and len(m) == 1 and type(m[0]) is Max]
    if not inner:
        return [x]
    mono = min(inner, key=mono_key)
    k = x.mons[mono]
    atom = mono[0]
    assert type(atom) is Max
    base = x - Term({mono: k})
    return [base, *(base + a * k for a in atom.args)]


def _undominated(args: list[Size]) -> list[Size]:
    """The sizes without those that another one always dominates, in their order."""
    kept: list[Size] = []
    for x in args:
        if any(at_least(y - x, 0) for y in kept):
            continue
        kept = [y for y in kept if not at_least(x - y, 0)]
        kept.append(x)
    return kept
