"""Sizes as a user would write them: with remainders, minima and ceilings restored, and coefficients last."""

from __future__ import annotations

from math import gcd
from typing import Any

from .products import product_modulo, product_of
from .terms import (
    Atom,
    Floor,
    Max,
    Mono,
    Size,
    Term,
    Var,
    atom_key,
    close,
    divides,
    lead,
    mono_key,
    of_atom,
    shrink,
    size_key,
    without,
)

_ATOM, _PRODUCT, _SUM = 3, 2, 1
# The text of a size without a name; the names of such sizes begin with it.
UNKNOWN = "?"


def render(size: Size) -> str:
    """The size in Rx syntax: coefficients last, remainders, ceilings, max and min as a user would write them."""
    return str(size) if isinstance(size, int) else _render(size)[0]


def render_factor(size: Size) -> str:
    """The size as an operand after `*`, `-` or `//`."""
    text, level = _render(size)
    return text if level == _ATOM else f"({text})"


Text = tuple[str, int]
Piece = tuple[int, list[Text], tuple[Any, ...]]


def _render(size: Size) -> Text:
    if isinstance(size, int):
        return str(size), _ATOM if size >= 0 else _SUM
    return _join(_pieces(size))


def render_sides(term: Term) -> tuple[str, str, int, bool]:
    """The positive and the negative part of a term as text (or empty), the constant, and whether the first part is the older
    one."""
    pieces = [p for p in _pieces(term) if p[1]]
    constant = sum(p[0] for p in _pieces(term) if not p[1])
    more = [p for p in pieces if p[0] > 0]
    less = [(-k, factors, key) for k, factors, key in pieces if k < 0]
    older = not less or (bool(more) and _side_key(more) <= _side_key(less))
    return _join(more)[0] if more else "", _join(less)[0] if less else "", constant, older


def render_product(term: Term) -> tuple[str, int] | None:
    """A product of two sums and its value, if `term == 0` is equivalent to that equation."""
    found = product_of(term)
    return None if found is None else (f"{render_factor(found[0])} * {render_factor(found[1])}", found[2])


def render_remainder(term: Term) -> tuple[str, int] | None:
    """A remainder by a number and its value, if `term == 0` is equivalent to that equation; the dividend has no constant, and
    no factor that is irrelevant for remainder 0.

    (n + 3) % 4 - 3  ->  n % 4, 0;      n * 2 % 5  ->  n % 5, 0
    """
    for mono, times in term.mons.items():
        atom = mono[0] if len(mono) == 1 else None
        if type(atom) is not Floor or not isinstance(atom.den, int) or times % atom.den:
            continue
        whole = (atom.num - of_atom(atom) * atom.den) * (-times // atom.den)
        constant = term - whole
        if isinstance(constant, int) and type(atom.num) is Term:
            shift = atom.num.mons.get((), 0)
            rest, off = divmod(-constant, -times // atom.den)
            if off or not 0 <= rest < atom.den:
                return None
            rest = (rest - shift) % atom.den
            plain = atom.num - shift
            shared = gcd(*plain.mons.values()) if type(plain) is Term else 1
            plain = shrink(plain, shared, ()) if rest == 0 and gcd(shared, atom.den) == 1 else plain
            factors = product_modulo(plain, atom.den) if rest == 0 and type(plain) is Term else []
            text = (" * ".join(map(render_factor, factors)), _SUM) if factors else _render(plain)
            return f"{_wrap(text, _PRODUCT)} % {atom.den}", rest
    return None


def _side_key(pieces: list[Piece]) -> tuple[Any, ...]:
    return min(key[1:] for _, _, key in pieces)


def _pieces(size: Term) -> list[Piece]:
    pieces: list[Piece] = []
    rest: Size = size
    for mono in sorted(size.mons, key=mono_key, reverse=True):
        if type(rest) is not Term or mono not in rest.mons:
            continue
        for atom in mono:
            found = _special(rest, mono, atom)
            if found is not None:
                k, factors, rest = found
                pieces.append((k, factors, (-len(mono), *mono_key(mono))))
                break
    if isinstance(rest, int):
        if rest or not pieces:
            pieces.append((rest, [], (1,)))
    else:
        for mono, k in rest.mons.items():
            pieces.append((k, [_render_atom(a) for a in mono], (-len(mono) if mono else 1, *mono_key(mono))))
    return sorted(pieces, key=lambda p: p[2])


def _special(size: Term, mono: Mono, atom: Atom) -> tuple[int, list[Text], Size] | None:
    """A shorter form of the monomial together with others: its factor, its texts and the rest."""
    if type(atom) is Floor:
        found = _as_remainder(size, mono, atom)
        if found is None and len(mono) == 1 and size.mons[mono] < 0:
            found = _as_ceiling(size, mono, atom)
        return found or _as_rounded_up(size, mono, atom)
    return _as_extreme(size, mono, atom) if type(atom) is Max and len(mono) == 1 else None


def _as_remainder(size: Term, mono: Mono, atom: Floor) -> tuple[int, list[Text], Size] | None:
    whole = atom.num - atom.den * of_atom(atom)
    if type(whole) is not Term:
        return None
    top = tuple(sorted(((*lead(atom.den), atom) if type(atom.den) is Term else (atom,)), key=atom_key))
    if top not in whole.mons or not divides(top, mono):
        return None
    times, off = divmod(size.mons[mono], whole.mons[top])
    if off:
        return None
    cofactor = without(mono, top)
    product = whole * close({cofactor: times})
    assert type(product) is Term
    for m, k in product.mons.items():
        have = size.mons.get(m, 0)
        if m and (have * k <= 0 or abs(have) < abs(k)):
            return None
    text = f"{_wrap(_render(atom.num), _PRODUCT)} % {_wrap(_render(atom.den), _ATOM)}"
    return times, [*(_render_atom(a) for a in cofactor), (text, _PRODUCT)], size - product


def _as_ceiling(size: Term, mono: Mono, atom: Floor) -> tuple[int, list[Text], Size] | None:
    """q - num // den == (den * q + den - 1 - num) // den, if that is shorter."""
    rest = size - Term({mono: size.mons[mono]})
    if size.mons[mono] != -1 or type(rest) is not Term:
        return None
    whole = rest - rest.mons.get((), 0)
    num = atom.den * whole + atom.den - 1 - atom.num
    if type(num) is not Term or len(num.mons) > len(atom.num.mons if type(atom.num) is Term else ()) + 1:
        return None
    text = f"{_wrap(_render(num), _PRODUCT)} // {_wrap(_render(atom.den), _ATOM)}"
    return 1, [(text, _PRODUCT)], rest - whole


def _as_rounded_up(size: Term, mono: Mono, atom: Floor) -> tuple[int, list[Text], Size] | None:
    """-((-num) // den) == ceildiv(num, den), if no variable term of `num` is positive."""
    k, num = size.mons[mono], atom.num
    if k > 0 or type(num) is not Term or any(factor > 0 for m, factor in num.mons.items() if m):
        return None
    text = f"ceildiv({_render(-num)[0]}, {_render(atom.den)[0]})"
    others = [_render_atom(a) for a in without(mono, (atom,))]
    return -k, [*others, (text, _ATOM)], size - Term({mono: k})


def _as_extreme(size: Term, mono: Mono, atom: Max) -> tuple[int, list[Text], Size]:
    k = size.mons[mono]
    rest = size - Term({mono: k})
    best: tuple[int, str, int, list[Size], Size] | None = None
    for name, times, offsets in (("max", k, atom.args), ("min", -k, tuple(-a for a in atom.args))):
        for base in _bases(rest, times, offsets):
            left = rest - base * times
            args = sorted((base, *(base + a for a in offsets)), key=lambda a: (isinstance(a, int), size_key(a)))
            length = sum(_length(a) + 2 for a in args) + (_length(left) + 3 if left != 0 else 0) + 2 * (times < 0)
            if best is None or length < best[0]:
                best = (length, name, times, args, left)
    assert best is not None
    _, name, times, args, left = best
    return times, [(f"{name}({', '.join(_render(a)[0] for a in args)})", _ATOM)], left


def _bases(rest: Size, times: int, offsets: tuple[Size, ...]) -> list[Size]:
    """Sizes that may be moved into every argument of a maximum."""
    bases: list[Size] = [0]
    for part in offsets:
        if type(part) is Term:
            bases.append(-close({m: j for m, j in part.mons.items() if j < 0}))
            bases.append(-part)
            bases.append(-part.mons.get((), 0))
    if type(rest) is Term and all(j % times == 0 for j in rest.mons.values()):
        bases.append(close({m: j // times for m, j in rest.mons.items()}))
    return bases


def _length(size: Size) -> int:
    """The approximate length of a size's text. Rendering every choice, and the choices within it, would take time exponential
    in their depth."""
    if isinstance(size, int):
        return len(str(size))
    return sum(_mono_length(m, k) + 3 for m, k in size.mons.items()) - 3 + all(k < 0 for k in size.mons.values())


def _mono_length(mono: Mono, k: int) -> int:
    lengths = [_atom_length(a) for a in mono]
    if abs(k) != 1 or not mono:
        lengths.append(len(str(abs(k))))
    return sum(lengths) + 3 * (len(lengths) - 1)


def _atom_length(atom: Atom) -> int:
    if type(atom) is Var:
        return len(atom.name)
    if type(atom) is Floor:
        return _length(atom.num) + _length(atom.den) + 4 + 2 * (_length(atom.num) > 3)
    return sum(_length(a) + 2 for a in atom.args) + len("max(0)")


def _render_atom(atom: Atom) -> Text:
    if type(atom) is Var:
        return UNKNOWN if atom.name.startswith(UNKNOWN) else atom.name, _ATOM
    if type(atom) is Floor:
        return f"{_wrap(_render(atom.num), _PRODUCT)} // {_wrap(_render(atom.den), _ATOM)}", _PRODUCT
    return f"max({', '.join(_render(a)[0] for a in (*atom.args, 0))})", _ATOM


def _wrap(text: Text, least: int) -> str:
    return text[0] if text[1] >= least else f"({text[0]})"


def _join(pieces: list[Piece]) -> Text:
    if pieces[0][0] < 0:
        first = next((p for p in pieces if p[0] > 0), pieces[0])
        pieces = [first, *(p for p in pieces if p is not first)]
    out = ""
    for k, factors, _ in pieces:
        if k < 0 and not out and factors:
            factors = [(_wrap(factors[0], _ATOM), _ATOM), *factors[1:]]  # -(n // 2) is not -n // 2
        text = _times_text(abs(k), factors)
        if not out:
            out = f"-{text[0]}" if k < 0 else text[0]
        else:
            out += (" - " if k < 0 else " + ") + text[0]
    if len(pieces) > 1 or pieces[0][0] < 0:
        return out, _SUM
    return out, _times_text(pieces[0][0], pieces[0][1])[1]


def _times_text(k: int, factors: list[Text]) -> Text:
    if not factors:
        return str(k), _ATOM
    texts = [_wrap(factors[0], _PRODUCT)] + [_wrap(f, _ATOM) for f in factors[1:]]
    if k != 1:
        texts.append(str(k))
    return " * ".join(texts), factors[0][1] if len(texts) == 1 else _PRODUCT
