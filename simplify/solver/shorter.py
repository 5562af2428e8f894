"""A shorter equivalent of a condition under given facts: implied parts are dropped, guesses are verified."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise, product
from math import prod

from .conditions import (
    AllOf,
    AnyOf,
    Cond,
    Condition,
    Eq0,
    Ge0,
    all_of,
    any_of,
    cond_variables,
    cond_vars,
    eq,
    eq0,
    evaluate_cond,
    ge,
    ge0,
    le,
    lt,
    ne,
    ne0,
    negate,
    render_cond,
)
from .consequences import at_least_one, without_quotient
from .factors import divided, without_empty
from .facts import Facts
from .sizes import single_var
from .terms import (
    Atom,
    Floor,
    Max,
    Mono,
    Size,
    Term,
    Var,
    floordiv,
    mod,
    of_atom,
    replace_atom,
    smax,
    variables,
    weight,
)

_REACH = 130
_PERIOD = 65
_FEW = 4
_GRID = (*range(10), 12, 16, 24)
_MOST_STEPS = 16


def shorter(facts: Facts, cond: Cond, empties: Collection[Var] | None = None) -> Cond:
    """Return the condition as a user would write it, given the facts.

    `empties` are the variables that make a tensor empty when 0; solutions of this kind are left out (None: every variable
    that is a dimension).

    n * (d % 8) == 0  ->  d % 8 == 0;      (h + 1) // 2 >= 3  ->  h >= 5;      n == m || n == 1, for n >= 2  ->  n == m
    """
    found = cond
    if not isinstance(cond, bool):
        with facts.trying():
            found = _shorter(facts, cond, empties)
    return found


def _shorter(facts: Facts, cond: Condition, empties: Collection[Var] | None) -> Cond:
    kind = facts.decide(cond).kind
    if kind in ("proved", "vacuous", "refuted"):
        return kind != "refuted"
    if isinstance(cond, AllOf):
        return _guessed(facts, all_of(*_all(facts, cond.parts, empties)))
    if isinstance(cond, AnyOf):
        return _guessed(facts, any_of(*_any(facts, cond.parts, empties)))
    plain = without_empty(_lighter(facts, cond), empties)
    split = _split(facts, plain, empties)
    split = of_quotients(facts, plain) if split is None else split
    return _guessed(facts, plain) if split is None else shorter(facts, split, empties)


def remainders(cond: Cond) -> list[Cond]:
    """The conditions that the quotients by numbers in an equation of products leave no remainder."""
    if not isinstance(cond, Eq0) or max(map(len, cond.term.mons)) < 2:
        return []
    atoms = dict.fromkeys(atom for mono in cond.term.mons for atom in mono)
    return [eq(mod(a.num, a.den), 0) for a in atoms if isinstance(a, Floor) and isinstance(a.den, int)]


def needed(conds: Iterable[Cond], entry_check: Iterable[Cond]) -> list[Cond]:
    """Drop the conditions that the others and the entry check entail."""
    kept = list(conds)
    entry_check = tuple(entry_check)
    for cond in tuple(kept):
        others = [c for c in kept if c is not cond]
        if entails((*entry_check, *others), cond):
            kept = others
    return kept


def entails(given: Iterable[Cond], asked: Cond) -> bool:
    facts = Facts()
    for cond in given:
        facts.assume(cond)
    return facts.decide(asked).kind == "proved"


def _all(facts: Facts, parts: Iterable[Condition], empties: Collection[Var] | None) -> list[Cond]:
    """Each part, shortened given those before it."""
    found: list[Cond] = []
    facts.push()
    for part in parts:
        found.append(shorter(facts, part, empties))
        facts.assume(found[-1])
    facts.pop()
    return found


def _any(facts: Facts, parts: tuple[Condition, ...], empties: Collection[Var] | None) -> list[Cond]:
    """Each part, shortened given that no other one holds."""
    found: list[Cond] = list(parts)
    for i in reversed(range(len(parts))):
        facts.push()
        for other in (*found[:i], *found[i + 1 :]):
            facts.assume(negate(other))
        vacuous = facts.satisfiable() is False
        found[i] = False if vacuous else shorter(facts, found[i], empties)
        facts.pop()
        found[i] = _without_guards(facts, found[i], (*found[:i], *found[i + 1 :]))
    return found


def _without_guards(facts: Facts, part: Cond, others: Iterable[Cond]) -> Cond:
    """A part without conditions that only separate it from the others: `n != 1 && n == t || t == 1 || ...`."""
    if not isinstance(part, AllOf):
        return part
    kept: list[Cond] = list(part.parts)
    for guard in part.parts:
        rest = [c for c in kept if c is not guard]
        if rest and _follows(facts, all_of(negate(guard), *rest), any_of(*others)):
            kept = rest
    return all_of(*kept)


# Terms


def _split(facts: Facts, cond: Cond, empties: Collection[Var] | None) -> Cond | None:
    """Split a comparison into parts: a maximum is 0 if no argument is greater; a bound of a quotient or a product follows
    from bounds of its parts; the floor divisions in a product are exact if each of them is.

    max(t - 512, 0) == 0  ->  t <= 512;      h * w == (h // 2) * (w // 2) * 4  ->  h % 2 == 0 && w % 2 == 0
    """
    if isinstance(cond, Eq0 | Ge0) and (found := _clamped(cond.term)) is not None:
        return _of_clamped(cond, *found)
    if not isinstance(cond, Eq0):
        return _of_factors(facts, cond) if isinstance(cond, Ge0) else None
    monos = list(cond.term.mons.items())
    if len(monos) == 1:
        (mono, _), *_ = monos
        atom = mono[0] if len(mono) == 1 else None
        return all_of(*(le(arg, 0) for arg in atom.args)) if type(atom) is Max else None
    if len(monos) != 2:
        return None
    return _floored(monos[0], monos[1], empties) or _floored(monos[1], monos[0], empties)


def _clamped(term: Term) -> tuple[int, Size, int | None] | None:
    """Read a term as, up to a constant, a factor times a size clamped between 0 and a maximum: the factor, the size, and the
    maximum. For a size p, max(p - 3, 0) - max(p - 7, 0) is p - 3 clamped between 0 and 4."""
    parts = [(mono[0], k) for mono, k in term.mons.items() if len(mono) == 1]
    ramps = [(atom.args[0], k) for atom, k in parts if type(atom) is Max and len(atom.args) == 1]
    if len(ramps) != len(term.mons) - (() in term.mons) or not 1 <= len(ramps) <= 2:
        return None
    (size, factor), *others = ramps
    if not others:
        return factor, size, None
    (other, back), *_ = others
    most = size - other
    if factor != -back or not isinstance(most, int) or most == 0:
        return None
    return (factor, size, most) if most > 0 else (back, other, -most)


def _of_clamped(cond: Eq0 | Ge0, factor: int, size: Size, most: int | None) -> Cond:
    """The condition on a size that a comparison of its clamped value means.

    max(n, 7) == max(n, 3)  ->  n >= 7;      max(n, 3) == 4  ->  n == 4
    """
    constant = cond.term.mons.get((), 0)
    if isinstance(cond, Ge0):
        if factor > 0:
            least = -(constant // factor)
            return least <= 0 or ((most is None or least <= most) and ge(size, least))
        limit = constant // -factor
        return limit >= 0 and ((most is not None and limit >= most) or le(size, limit))
    value, rest = divmod(-constant, factor)
    if rest or value < 0 or (most is not None and value > most):
        return False
    return le(size, 0) if value == 0 else ge(size, value) if value == most else eq(size, value)


def _of_factors(facts: Facts, cond: Ge0) -> Cond | None:
    """The bound of a dividend from that of its quotient, or of each factor from that of a product, if this is sufficient.

    (h + 1) // 2 >= 3  ->  h >= 5;      h // 2 * w >= 1  ->  h // 2 >= 1 && w >= 1
    h * w >= 16  ->  h >= 1 && w >= 1, where h % 4 == 0 && w % 4 == 0
    """
    divided = without_quotient(cond.term)
    if divided is not None:
        return ge0(divided)
    sizes = list(_at_least_one(cond.term))
    each = all_of(*(ge(size, 1) for size in sizes))
    return each if len(sizes) > 1 and _follows(facts, each, cond) else None


def _at_least_one(term: Term) -> Iterator[Size]:
    """The sizes that are at least 1 if a product or a quotient is, down to the innermost factors."""
    for size in at_least_one(term, {}):
        inner = size - 1
        found = list(_at_least_one(inner)) if type(inner) is Term else []
        yield from found or [size]


def _floored(whole: tuple[Mono, int], floored: tuple[Mono, int], empties: Collection[Var] | None) -> Cond | None:
    left = [a for a in floored[0] if type(a) is Floor]
    factors = [v for a in left if (v := _only(a.num)) is not None and (empties is None or v in empties)]
    if len(left) < 2 or len(factors) < len(left) or not _same_factors(factors, whole[0]):
        return None
    divisors = prod(a.den for a in left) * whole[1]
    others = prod(of_atom(a) for a in floored[0] if a not in left) * -floored[1]
    return all_of(*(eq(mod(a.num, a.den), 0) for a in left)) if divisors == others else None


def of_quotients(facts: Facts, cond: Cond) -> Cond | None:
    """The conditions on each quotient in an equation of products of quotients, if none with the smaller divisor is 0: it is
    at least as large as its counterpart.

    h // 14 * (w // 14) == h // 56 * (w // 56) * 16  ->  h // 14 % 4 == 0 && w // 14 % 4 == 0
    """
    monos = list(cond.term.mons.items()) if isinstance(cond, Eq0) else []
    if len(monos) != 2 or len(monos[0][0]) < 2:
        return None
    return _of_quotients(facts, monos[0], monos[1]) or _of_quotients(facts, monos[1], monos[0])


def _of_quotients(facts: Facts, coarse: tuple[Mono, int], fine: tuple[Mono, int]) -> Cond | None:
    found: list[Cond] = []
    left, factor = list(fine[0]), 1
    for atom in coarse[0]:
        other = next((f for f in left if _ratio(atom, f)), None)
        if other is None or facts.decide(ge(of_atom(atom), 1)).kind != "proved":
            return None
        left.remove(other)
        found.append(eq(mod(of_atom(atom), _ratio(atom, other)), 0))
        factor *= _ratio(atom, other)
    return all_of(*found) if not left and coarse[1] * factor == -fine[1] else None


def _ratio(quotient: Atom, finer: Atom) -> int:
    """The factor from a quotient's divisor to that of `finer`, for quotients of the same size, else 0; a size counts as
    divided by 1."""
    if type(finer) is not Floor or not isinstance(finer.den, int):
        return 0
    num, den = (quotient.num, quotient.den) if type(quotient) is Floor else (of_atom(quotient), 1)
    return finer.den // den if num == finer.num and isinstance(den, int) and finer.den % den == 0 else 0


def _lighter(facts: Facts, cond: Condition) -> Cond:
    assert not isinstance(cond, AnyOf | AllOf)
    size = lighter(facts, cond.term)
    if size == cond.term:
        return cond
    return eq0(size) if isinstance(cond, Eq0) else ge0(size) if isinstance(cond, Ge0) else ne0(size)


def lighter(facts: Facts, size: Size) -> Size:
    """Simplify a size under the facts: drop arguments that are never the maximum, cancel factors, and use one form for a
    quotient and its mirror image.

    t * d // (d // 8 * 8)  ->  t, where d % 8 == 0 && d >= 1
    b * (h // 4) * (w // 4) // (h * w // 16)  ->  b, where h % 4 == 0 && w % 4 == 0 && h * w >= 16
    """
    known = facts.simplify(size)
    if weight(known) < weight(size) and set(variables(known)) <= set(variables(size)):
        size = known
    for _ in range(_MOST_STEPS):
        found = next(((a, by) for a in _atoms(size) if (by := _plainer(facts, a)) is not None), None)
        if found is None:
            break
        size = replace_atom(size, *found)
    return size


def _plainer(facts: Facts, atom: Floor | Max) -> Size | None:
    if type(atom) is Max:
        return _without_dominated(facts, atom)
    assert type(atom) is Floor
    if type(atom.num) is not Term or isinstance(atom.den, int):
        return None
    if atom.num.mons.get((), 0) >= 0:
        return _cancelled(facts, atom, atom.num)
    return -1 - floordiv(-atom.num - 1, atom.den) if facts.decide(ge(atom.den, 1)).kind == "proved" else None


def _cancelled(facts: Facts, atom: Floor, num: Term) -> Size | None:
    """The numerator without one of its factors, if the facts prove that this equals the quotient."""
    shared = [v for v in variables(atom.den) if all(v in mono for mono in num.mons)]
    quotients = (divided(num, v) for v in shared)
    return next((q for q in quotients if facts.decide(eq(of_atom(atom), q)).kind == "proved"), None)


def _only(size: Size) -> Var | None:
    found = None if isinstance(size, int) else single_var(size)
    return found if found is not None and found.nonneg else None


def _same_factors(variables: list[Var], mono: Mono) -> bool:
    return len(variables) == len(mono) and all(a in variables for a in mono) and all(v in mono for v in variables)


def _atoms(size: Size) -> Iterator[Floor | Max]:
    """Quotients and maxima, the inner ones first."""
    if isinstance(size, int):
        return
    for atom in dict.fromkeys(a for mono in size.mons for a in mono):
        if type(atom) is Floor:
            yield from _atoms(atom.num)
            yield from _atoms(atom.den)
            yield atom
        elif type(atom) is Max:
            for arg in atom.args:
                yield from _atoms(arg)
            yield atom


def _without_dominated(facts: Facts, atom: Max) -> Size | None:
    kept: list[Size] = [*atom.args, 0]
    for arg in tuple(kept):
        others = [a for a in kept if a is not arg]
        if any(facts.decide(le(arg, other)).kind == "proved" for other in others):
            kept = others
    return smax(*kept) if len(kept) <= len(atom.args) else None


# Guesses


def _guessed(facts: Facts, cond: Cond) -> Cond:
    """A plainer condition that agrees with this one at sample points, if it is proved equivalent; else this one."""
    if isinstance(cond, bool):
        return cond
    variables = cond_variables(cond)
    guesses = _of_one if len(variables) == 1 else _of_two if len(variables) == 2 else _of_remainders
    for guess in guesses(facts, cond, *variables):
        is_alike = type(cond) is not Eq0 or type(guess) is Eq0  # n == 0 is plainer than n <= 0
        is_shorter = len(render_cond(guess)) < len(render_cond(cond)) + is_alike
        if is_shorter and guess != cond and _same(facts, cond, guess):
            return guess
    return cond


def _same(facts: Facts, cond: Cond, guess: Cond) -> bool:
    return all(_follows(facts, given, asked) for given, asked in ((cond, guess), (guess, cond)))


def _follows(facts: Facts, given: Cond, asked: Cond) -> bool:
    facts.push()
    facts.assume(given)
    kind = facts.decide(asked).kind
    facts.pop()
    return kind == "proved"


def _known(facts: Facts, variables: tuple[Var, ...]) -> list[Cond]:
    """The facts about these variables only."""
    return [c for c, _ in facts.conditions() if cond_vars(c) <= set(variables)]


def _of_one(facts: Facts, cond: Cond, v: Var) -> Iterator[Cond]:
    """Guesses for one variable: few values, a bound, a remainder, all but few values."""
    known, size = _known(facts, (v,)), of_atom(v)
    near = {n for c in constants(cond) for n in (c - 1, c, c + 1) if n >= 0 or not v.nonneg}
    numbers = sorted({*range(0 if v.nonneg else -_REACH, _REACH), *near})
    tried = [n for n in numbers if all(evaluate_cond(c, {v: n}) for c in known)]
    holds = [evaluate_cond(cond, {v: n}) for n in tried]
    yes = [n for n, held in zip(tried, holds, strict=True) if held]
    no = [n for n, held in zip(tried, holds, strict=True) if not held]
    if not yes or not no:
        return
    changes = sum(a != b for a, b in pairwise(holds))
    if changes == 1 and holds[-1]:
        yield ge(size, no[-1] + 1)
    if changes == 1 and holds[0]:
        yield le(size, no[0] - 1)
    if len(yes) <= _FEW:
        yield any_of(*(eq(size, n) for n in yes))
    if len(yes) > _FEW and yes[1] - yes[0] > 1:
        step, rest = yes[1] - yes[0], yes[1] % (yes[1] - yes[0])
        yield eq(mod(size, step), rest)
        yield all_of(ge(size, yes[0]), eq(mod(size, step), rest))
    if len(no) <= _FEW and changes > 1:
        yield all_of(*(ne(size, n) for n in no))
    yield from _remainders_in_a_row(size, dict(zip(tried, holds, strict=True)))


def _remainders_in_a_row(size: Size, held: dict[int, bool]) -> Iterator[Cond]:
    """A range of remainders, as (n + 15) % 16 >= 8, if exactly the numbers that hold have them."""
    for period in range(2, _PERIOD):
        yes = {n % period for n, is_so in held.items() if is_so}
        first, *others = [r for r in sorted(yes) if (r - 1) % period not in yes] or (0, 0)
        if others or any((n % period in yes) != is_so for n, is_so in held.items()):
            continue
        if len(yes) == 1:
            yield eq(mod(size, period), first)
        elif first == 0:
            yield le(mod(size, period), len(yes) - 1)
        else:
            yield ge(mod(size + -(first + len(yes)) % period, period), period - len(yes))
        return


def _of_two(facts: Facts, cond: Cond, v: Var, w: Var) -> Iterator[Cond]:
    """Guesses for two variables: lower bounds, equality, multiples, small differences."""
    known = _known(facts, (v, w))
    points = [{v: a, w: b} for a, b in product(_GRID, _GRID)]
    points = [p for p in points if all(evaluate_cond(c, p) for c in known)]
    holds = [evaluate_cond(cond, p) for p in points]
    if not any(holds) or all(holds):
        return
    least = all_of(*(ge(of_atom(x), min(p[x] for p, held in zip(points, holds, strict=True) if held)) for x in (v, w)))
    for guess in (least, *_pairs(of_atom(v), of_atom(w))):
        if all(evaluate_cond(guess, p) == held for p, held in zip(points, holds, strict=True)):
            yield guess


def by_remainder(facts: Facts, cond: Cond) -> Cond:
    """`k % 2 == 1` for `(h - k % 2 + 1) * (w - k % 2 + 1) == h * w`: an equivalent remainder, else the condition itself."""
    guesses = () if isinstance(cond, bool) else _of_remainders(facts, cond)
    return next((guess for guess in guesses if _same(facts, cond, guess)), cond)


def _of_remainders(facts: Facts, cond: Condition, *_: Var) -> Iterator[Cond]:
    """Remainders of sizes that an equation divides by a small number, if they agree with it at small sizes."""
    atoms = dict.fromkeys(a for mono in cond.term.mons for a in mono) if isinstance(cond, Eq0) else ()
    quotients = [(a.num, a.den) for a in atoms if isinstance(a, Floor) and _only(a.num) is not None]
    guesses = [eq(mod(num, by), n) for num, by in quotients if isinstance(by, int) and by <= _FEW for n in range(by)]
    points = _points(facts, cond_variables(cond)) if guesses else []
    holds = [evaluate_cond(cond, point) for point in points]
    for guess in guesses:
        if all(evaluate_cond(guess, point) is held for point, held in zip(points, holds, strict=True)):
            yield guess


def _points(facts: Facts, variables: tuple[Var, ...]) -> list[dict[Var, int]]:
    """Points of small sizes that satisfy the known facts."""
    known = _known(facts, variables)
    points = ({v: n + at * step for at, v in enumerate(variables)} for n in range(1, _FEW) for step in (0, 1, 3))
    return [point for point in points if all(evaluate_cond(c, point) for c in known)]


def constants(cond: Cond) -> set[int]:
    """The numbers in a condition, with both signs."""
    if isinstance(cond, bool):
        return set()
    if isinstance(cond, AnyOf | AllOf):
        return set().union(*(constants(p) for p in cond.parts))
    return _constants(cond.term)


def _constants(size: Size) -> set[int]:
    if isinstance(size, int):
        return {size, -size}
    found = {k * s for k in size.mons.values() for s in (1, -1)}
    for mono in size.mons:
        for atom in mono:
            inner = (atom.num, atom.den) if type(atom) is Floor else atom.args if type(atom) is Max else ()
            found |= set().union(*map(_constants, inner))
    return found


def _pairs(a: Size, b: Size) -> Iterator[Cond]:
    yield from (eq(a, b), le(a, b), le(b, a), lt(a, b), lt(b, a), ne(a, b))
    for c in range(1, 5):
        yield from (eq(a, b + c), eq(b, a + c), le(a, b + c), le(b, a + c), lt(a + c, b), lt(b + c, a))
    for c in (2, 3, 4, 5, 6, 8, 16):
        yield from (eq(a, b * c), eq(b, a * c), le(a, b * c), le(b, a * c), ge(a, b * c), ge(b, a * c))
