"""Small questions about terms that the checker asks: is it one variable, and which; how large can it be in practice."""

from __future__ import annotations

from .terms import Size, Term, Var, variables


def single_var(size: Size) -> Var | None:
    """The variable, if the size is nothing but one."""
    if isinstance(size, int) or len(size.mons) != 1:
        return None
    (mono, factor), *_ = size.mons.items()
    if factor == 1 and len(mono) == 1 and isinstance(mono[0], Var):
        return mono[0]
    return None


def is_ordinary(size: Size) -> bool:
    """Whether it surely fits int64: dimensions are taken to be below 2**31 where two are multiplied, else below 2**46."""
    if isinstance(size, int):
        return -(2**63) <= size < 2**63
    if not all(v.nonneg for v in variables(size)):  # a Size parameter may be any integer
        return False
    return max(map(len, size.mons)) <= 2 and sum(map(abs, size.mons.values())) <= 2**16


def only_var(term: Term) -> Var:
    """The variable that a term made by `var` consists of."""
    found = single_var(term)
    assert found is not None
    return found
