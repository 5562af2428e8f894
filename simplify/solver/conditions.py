"""Conditions on sizes: comparisons of a normal form with 0 and their combinations, folded where possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import gcd
from typing import Union, final

from .rendering import render_product, render_remainder, render_sides
from .terms import (
    Max,
    Mono,
    Ranges,
    Size,
    Term,
    Var,
    bounds,
    charge,
    evaluate,
    lead,
    merge_floors,
    of_atom,
    substitute,
    term_vars,
)

Cond = Union[bool, "Condition"]
_NO_RANGES: Ranges = {}


class Compare:
    """A comparison of one term with 0; equal if kind and term are equal."""

    __slots__ = ("_hash", "term")

    def __init__(self, term: Term) -> None:
        self.term = term
        self._hash = hash((type(self).__name__, term))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is type(self) and self.term == other.term)

    def __repr__(self) -> str:
        return render_cond(self)  # type: ignore[arg-type]


@final
class Eq0(Compare):
    """`term == 0`"""

    __slots__ = ()


@final
class Ne0(Compare):
    """`term != 0`"""

    __slots__ = ()


@final
class Ge0(Compare):
    """`term >= 0`"""

    __slots__ = ()


class Joined:
    """Several conditions, at least two, none of them a plain bool."""

    __slots__ = ("_hash", "parts", "vars")

    def __init__(self, parts: tuple[Condition, ...]) -> None:
        self.parts = parts
        self._hash = hash((type(self).__name__, parts))
        self.vars: frozenset[Var] = frozenset().union(*(cond_vars(p) for p in parts))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is type(self) and self.parts == other.parts)

    def __repr__(self) -> str:
        return render_cond(self)  # type: ignore[arg-type]


@final
class AnyOf(Joined):
    """One of the parts holds."""

    __slots__ = ()


@final
class AllOf(Joined):
    """All of the parts hold."""

    __slots__ = ()


Condition = Eq0 | Ne0 | Ge0 | AnyOf | AllOf


# ---------------------------------------------------------------- making


def eq(a: Size, b: Size) -> Cond:
    """`a == b`"""
    return eq0(a - b)


def ne(a: Size, b: Size) -> Cond:
    """`a != b`"""
    return negate(eq0(a - b))


def ge(a: Size, b: Size) -> Cond:
    """`a >= b`"""
    return ge0(a - b)


def gt(a: Size, b: Size) -> Cond:
    """`a > b`"""
    return ge0(a - b - 1)


def le(a: Size, b: Size) -> Cond:
    """`a <= b`"""
    return ge0(b - a)


def lt(a: Size, b: Size) -> Cond:
    """`a < b`"""
    return ge0(b - a - 1)


def eq0(p: Size, ranges: Ranges = _NO_RANGES) -> Cond:
    """`p == 0` without common factors and with a positive leading coefficient; False if the factors or the range exclude
    it."""
    if type(p) is Term and len(p.mons) > 1:
        p = merge_floors(p)
    if isinstance(p, int):
        return p == 0
    constant = p.mons.get((), 0)
    g = gcd(*(k for m, k in p.mons.items() if m))
    if constant % g:
        return False
    if p.mons[lead(p)] < 0:
        g = -g
    if g != 1:
        p = Term({m: k // g for m, k in p.mons.items()})
    low, high = bounds(p, ranges)
    if (low is not None and low > 0) or (high is not None and high < 0):
        return False
    parts = _greatest(p)
    numbers = [x for x in parts if isinstance(x, int)]
    others = [x for x in parts if not isinstance(x, int)]
    if not parts or (len(others) > 1 and 0 not in numbers):
        return Eq0(p)
    if 0 not in numbers and max(numbers, default=0) <= 0:
        return eq0(others[0], ranges) if others else False
    return max(numbers) <= 0 and all_of(*(ge0(-x, ranges) for x in others))


def _greatest(p: Term) -> list[Size]:
    """The sizes whose maximum is 0 by `p == 0`: `b - a` and 0 for `max(a, b) == a`; empty for other forms."""
    found = [(mono[0], factor) for mono, factor in p.mons.items() if len(mono) == 1 and type(mono[0]) is Max]
    if len(found) != 1 or abs(found[0][1]) != 1:
        return []
    greatest, factor = found[0]
    rest = p * factor - of_atom(greatest)
    return [rest, *(rest + arg for arg in greatest.args)]


def ne0(p: Size, ranges: Ranges = _NO_RANGES) -> Cond:
    """`p != 0`"""
    return negate(eq0(p, ranges))


def ge0(p: Size, ranges: Ranges = _NO_RANGES) -> Cond:
    """`p >= 0`: divided by the coefficients' common factor and rounded; folded if the range decides it."""
    if type(p) is Term and len(p.mons) > 1:
        p = merge_floors(p)
    if isinstance(p, int):
        return p >= 0
    g = gcd(*(k for m, k in p.mons.items() if m))
    if g != 1:
        p = Term(_drop_zero({m: k // g for m, k in p.mons.items()}))
    low, high = bounds(p, ranges)
    if low is not None and low >= 0:
        return True
    if high is not None and high < 0:
        return False
    return Ge0(p)


def _drop_zero(mons: dict[Mono, int]) -> dict[Mono, int]:
    if mons.get((), 1) == 0:
        del mons[()]
    return mons


def any_of(*conds: Cond) -> Cond:
    """Join conditions by "or", in this order, without equalities that another part already allows: `t <= 512` for `t <= 512
    || t == 1`."""
    joined = _join(AnyOf, conds, False)
    if type(joined) is not AnyOf:
        return joined
    kept = tuple(p for p in joined.parts if not any(p is not q and _is_allowed(p, q) for q in joined.parts))
    return joined if len(kept) == len(joined.parts) else kept[0] if len(kept) == 1 else AnyOf(kept)


def _is_allowed(number: Condition, by: Condition) -> bool:
    """Whether `v == 1` is one of the cases of another condition on v alone."""
    if type(number) is not Eq0 or isinstance(by, AnyOf | Eq0) or len(cond_vars(number)) != 1:
        return False
    (v,) = cond_vars(number)
    k, value = number.term.mons.get((v,), 0), -number.term.mons.get((), 0)
    plain = k == 1 and len(number.term.mons) <= 2 and cond_vars(by) == {v}
    return plain and (number.term - of_atom(v) == -value) and evaluate_cond(by, {v: value})


def all_of(*conds: Cond) -> Cond:
    """All of the conditions, in this order."""
    return _join(AllOf, conds, True)


def _join(kind: type[AnyOf] | type[AllOf], conds: tuple[Cond, ...], empty: bool) -> Cond:
    """Join conditions; `empty` is the value for no conditions, and the neutral element among others."""
    parts: dict[Condition, None] = {}
    begun = len(conds) and isinstance(conds[0], kind)  # no part of it is the opposite of another
    new: list[Condition] = []
    for i, cond in enumerate(conds):
        if isinstance(cond, bool):
            if cond is not empty:
                return cond
        else:
            these = cond.parts if isinstance(cond, kind) else (cond,)
            parts.update(dict.fromkeys(these))
            new.extend(these if i or not begun else ())
    if len(parts) < 2:
        return next(iter(parts), empty)
    charge(len(parts) // 8 + len(new))
    if any(not isinstance(p, Joined) and _opposite(p) in parts for p in new):
        return not empty  # contains a condition and its opposite
    return kind(tuple(parts))


def _opposite(cond: Compare) -> Compare:
    """The unfolded negation of a comparison; conditions that are kept are not decided by their ranges."""
    if isinstance(cond, Ge0):
        return Ge0(_negative(cond.term))
    return Ne0(cond.term) if isinstance(cond, Eq0) else Eq0(cond.term)


def _negative(term: Term) -> Term:
    """-1 - term"""
    mons = {m: -k for m, k in term.mons.items()}
    mons[()] = mons.get((), 0) - 1
    return Term(_drop_zero(mons))


def negate(cond: Cond) -> Cond:
    """The opposite."""
    if isinstance(cond, bool):
        return not cond
    if type(cond) is Eq0:
        return Ne0(cond.term)
    if type(cond) is Ne0:
        return Eq0(cond.term)
    if type(cond) is Ge0:
        return ge0(-1 - cond.term)
    if type(cond) is AnyOf:
        return all_of(*(negate(p) for p in cond.parts))
    return any_of(*(negate(p) for p in cond.parts))


# ---------------------------------------------------------------- queries


def cond_vars(cond: Cond) -> frozenset[Var]:
    """The variables as a set; for ordered results use `cond_variables`."""
    if isinstance(cond, bool):
        return frozenset()
    return cond.vars if isinstance(cond, Joined) else term_vars(cond.term)


def cond_variables(cond: Cond) -> tuple[Var, ...]:
    """The variables in sorted order."""
    return tuple(sorted(cond_vars(cond)))


def cond_terms(cond: Cond) -> Iterator[Term]:
    """The terms of a condition's comparisons."""
    if isinstance(cond, (AnyOf, AllOf)):
        for part in cond.parts:
            yield from cond_terms(part)
    elif not isinstance(cond, bool):
        yield cond.term


def substitute_cond(cond: Cond, values: Mapping[Var, Size], ranges: Ranges = _NO_RANGES) -> Cond:
    """The condition with sizes in place of variables, folded again."""
    if not ranges and values.keys().isdisjoint(cond_vars(cond)):
        return cond
    return map_terms(cond, lambda term: substitute(term, values), ranges)


def map_terms(cond: Cond, change: Callable[[Term], Size], ranges: Ranges = _NO_RANGES) -> Cond:
    """The condition with each of its terms changed, folded again."""
    if isinstance(cond, bool):
        return cond
    if type(cond) is AnyOf:
        return any_of(*(map_terms(p, change, ranges) for p in cond.parts))
    if type(cond) is AllOf:
        return all_of(*(map_terms(p, change, ranges) for p in cond.parts))
    changed = change(cond.term)
    if changed is cond.term and not ranges:
        return cond
    if type(cond) is Eq0:
        return eq0(changed, ranges)
    return ne0(changed, ranges) if type(cond) is Ne0 else ge0(changed, ranges)


def evaluate_cond(cond: Cond, point: Mapping[Var, int]) -> bool:
    """Whether the condition holds at the point."""
    if isinstance(cond, bool):
        return cond
    if type(cond) is Ge0:
        return evaluate(cond.term, point) >= 0
    if type(cond) is Eq0:
        return evaluate(cond.term, point) == 0
    if type(cond) is Ne0:
        return evaluate(cond.term, point) != 0
    if type(cond) is AnyOf:
        return any(evaluate_cond(p, point) for p in cond.parts)
    return all(evaluate_cond(p, point) for p in cond.parts)


# ---------------------------------------------------------------- rendering


def render_cond(cond: Cond) -> str:
    """The condition in Rx syntax."""
    if isinstance(cond, bool):
        return "true" if cond else "false"
    if isinstance(cond, AnyOf):
        return " || ".join(render_cond(p) for p in cond.parts)
    if isinstance(cond, AllOf):
        return " && ".join(f"({render_cond(p)})" if type(p) is AnyOf else render_cond(p) for p in cond.parts)
    if isinstance(cond, Ge0):
        return _render_at_least(cond.term)
    sign = "==" if isinstance(cond, Eq0) else "!="
    whole = render_remainder(cond.term) or render_product(cond.term)
    if whole is not None:
        return f"{whole[0]} {sign} {whole[1]}"
    more, less, constant, older = render_sides(cond.term)
    if not more or not less:
        return f"{more or less} {sign} {-constant if more else constant}"
    if constant:
        more, less = (f"{more} + {constant}", less) if constant > 0 else (more, f"{less} + {-constant}")
    simple = (more.count(" "), not older) <= (less.count(" "), older)
    return f"{more} {sign} {less}" if simple else f"{less} {sign} {more}"


def _render_at_least(term: Term) -> str:
    more, less, constant, older = render_sides(term)
    if not less:
        return f"{more} >= {-constant}"
    if not more:
        return f"{less} <= {constant}"
    strict = constant == -1
    if constant > 0:
        more = f"{more} + {constant}"
    elif constant < -1:
        less = f"{less} + {-constant}"
    if older:
        return f"{more} {'>' if strict else '>='} {less}"
    return f"{less} {'<' if strict else '<='} {more}"
