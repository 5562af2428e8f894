"""For which sizes a condition that is open can hold, where that can be said shortly: "n = 0 or n = 1", "n == m"."""

from __future__ import annotations

from .conditions import AnyOf, Compare, Cond, any_of, cond_variables, eq, evaluate_cond, render_cond, substitute_cond
from .demands import without_empty
from .sizes import as_term
from .state import State
from .terms import Var

_FEW = 4
_REACH = 130
_SHORT = 60


def only_where(state: State, cond: Cond) -> str | None:
    """The condition as a user would say it, or the few sizes that satisfy it; None where neither is short.

    What is said is exact apart from empty tensors: it was found by solving, and is verified both ways.
    """
    if isinstance(cond, bool):
        return None
    settled = substitute_cond(cond, {v: state.settled(as_term(v)) for v in cond_variables(cond)})
    if isinstance(settled, bool):
        return None
    variables = cond_variables(settled)
    if not all(v.name.rstrip("'").isidentifier() for v in variables):
        return None
    if len(variables) == 1:
        few = _few_values(state, settled, variables[0])
        if few is not None:
            return few
    return _said(without_empty(settled))


def _few_values(state: State, cond: Cond, variable: Var) -> str | None:
    values = [n for n in range(_REACH) if evaluate_cond(cond, {variable: n})]
    if not 0 < len(values) <= _FEW:
        return None
    size = as_term(variable)
    values = [n for n in values if state.facts.decide(eq(size, n)).kind != "refuted"]
    state.facts.push()
    state.assume(cond)
    sure = state.facts.decide(any_of(*(eq(size, n) for n in values))).kind == "proved"
    state.facts.pop()
    return " or ".join(f"{variable.name} = {n}" for n in values) if sure and values else None


def _said(cond: Cond) -> str | None:
    """A comparison, or a choice between comparisons, in a few words."""
    if isinstance(cond, AnyOf):
        parts = [_said(part) for part in cond.parts]
        text = " or ".join(p for p in parts if p is not None)
        return text if len(text) <= _SHORT and None not in parts else None
    if not isinstance(cond, Compare):
        return None
    text = render_cond(cond)
    return text if len(text) <= _SHORT // 2 else None
