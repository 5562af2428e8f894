"""From the open checks of a function's body to the weakest conditions on its inputs under which they hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence, Set as AbstractSet
from typing import NamedTuple

from ..lang.source import NOWHERE, Span
from ..ops.model import AnyDType
from .frame import Side, Turn
from .known.finding import About, Finding
from .known.state import State
from .solver.conditions import (
    AllOf,
    AnyOf,
    Cond,
    Eq0,
    Ge0,
    all_of,
    any_of,
    cond_variables,
    cond_vars,
    ge,
    negate,
    render_cond,
    substitute_cond,
)
from .solver.facts import Facts
from .solver.shorter import entails, needed, shorter
from .solver.sizes import single_var
from .solver.terms import A_FACT, Size, Term, TooLarge, Var, of_atom, over, stride, variables

# Longer conditions are not readable in a signature.
_LONGEST = 160
HEAVIEST = 2_000
_MOST_STEPS = 8


class OpenCheck:
    """One open check: its condition (None if it cannot be expressed), the conditions of the arms around it, its reported
    place, the turn of a loop around it, the arms that no sizes decide, its subject (`about`), and its finding, if that was
    recorded, else its `needs` in words. A check that `never` holds is in an arm that need not be taken; one `in_arm` arises
    only because such an arm was taken before."""

    __slots__ = ("about", "cond", "finding", "in_arm", "needs", "never", "path", "sides", "span", "turn")

    def __init__(
        self,
        cond: Cond | None,
        path: tuple[Cond | None, ...],
        span: Span = NOWHERE,
        turn: Turn | None = None,
        sides: tuple[Side | None, ...] = (),
    ) -> None:
        self.cond, self.path, self.span, self.turn = cond, path, span, turn
        self.sides = sides
        self.about: About | None = None
        self.finding: Finding | None = None
        self.needs = ""
        self.never = self.in_arm = False


class DTypeDemand(NamedTuple):
    """A dtype that must be in one of the classes, in the arms of `path`."""

    dtype: AnyDType
    classes: tuple[str, ...]
    path: tuple[Cond | None, ...]


class Inputs:
    """The vocabulary of a signature: input sizes, those that make a tensor empty when they are 0, and its present
    conditions."""

    __slots__ = ("entry_check", "empties", "left_out", "sizes")

    def __init__(self, sizes: Collection[Var], empties: Collection[Var], entry_check: tuple[Cond, ...]) -> None:
        self.sizes, self.empties, self.entry_check = sizes, empties, entry_check
        self.left_out = False  # whether cases of empty tensors were left out that cannot be expressed


Written = Callable[[Sequence[Cond], tuple[Cond, ...]], list[Cond]]


class Weakest(NamedTuple):
    """Sufficient conditions for the checks that can be expressed; whether all can be, and whether the conditions are
    necessary too: they may ask more of empty tensors."""

    conds: list[Cond]
    complete: bool
    necessary: bool


def weakest(state: State, inputs: Inputs, checks: Iterable[OpenCheck], written: Written | None = None) -> Weakest:
    """Return the weakest conditions for the checks. `written` gives conditions their readable form, under the entry check."""
    found: list[Cond] = []
    asked: list[Cond] = []
    complete = True
    for check in checks:
        cond = None if over() else said(state, inputs, check)
        if cond is not None and cond in asked:
            continue
        asked.append(True if cond is None else cond)
        if cond is not None:
            stride(A_FACT * len(found))
            found, cond = _added(found, cond, inputs)
        complete = complete and cond is not None and cond is not False
    found = needed(_again(found, inputs), inputs.entry_check)
    if written is not None:
        plainer = written(found, inputs.entry_check)
        found = (
            plainer
            if plainer == found
            else written(needed(_again(plainer, inputs), inputs.entry_check), inputs.entry_check)
        )
    short = [c for c in found if len(render_cond(c)) <= _LONGEST]
    # If no size makes a tensor empty, each step is an equivalence.
    necessary = not inputs.empties or all(entails((*inputs.entry_check, *asked), c) for c in short)
    return Weakest(short, complete and len(short) == len(found), necessary and not inputs.left_out)


def _added(found: list[Cond], cond: Cond, inputs: Inputs) -> tuple[list[Cond], Cond]:
    """Add a condition: in its own form if it implies others, else simplified under the others."""
    own = _plain(cond, inputs.entry_check, inputs)
    for i, other in enumerate(found):
        both = _merged(other, own, inputs.entry_check)
        if both is not None:
            return [*found[:i], both, *found[i + 1 :]], own
    kept = [c for c in found if not entails((*inputs.entry_check, own), c)]
    if found and len(kept) == len(found):
        own = _plain(cond, (*inputs.entry_check, *found), inputs)
    if isinstance(own, bool):
        return found, own
    return [*kept, *(own.parts if isinstance(own, AllOf) else (own,))], own


def _merged(other: Cond, cond: Cond, entry_check: tuple[Cond, ...]) -> Cond | None:
    """Both conditions as one choice, if the second only excludes some parts of the first."""
    if not isinstance(other, AnyOf):
        return None
    parts: list[Cond] = list(other.parts)
    for part in other.parts:
        rest = [p for p in parts if p is not part]
        if rest and entails((*entry_check, cond, part), any_of(*rest)):
            parts = rest
    both = any_of(*parts)
    return both if len(parts) < len(other.parts) and entails((*entry_check, both), cond) else None


def _again(conds: list[Cond], inputs: Inputs) -> list[Cond]:
    """Simplify each condition under all the others, the longest first; one that contradicts them stays as it is, so that all
    together say so."""
    for i, cond in sorted(enumerate(conds), key=lambda one: -len(render_cond(one[1]))):
        conds[i] = _plain(cond, (*inputs.entry_check, *conds[:i], *conds[i + 1 :]), inputs) or cond
    parts = (p for c in conds for p in (c.parts if isinstance(c, AllOf) else (c,)))
    return [p for p in dict.fromkeys(parts) if p is not True]


def _plain(cond: Cond, known: tuple[Cond, ...], inputs: Inputs) -> Cond:
    """The condition as a user would write it for tensors with elements: it may ask more of empty ones, but never less."""
    lively = [c for v in sorted(inputs.empties) if (c := ge(of_atom(v), 1)) is not True]
    short = shorter(facts_of((*known, *lively)), cond, inputs.empties)
    if short == cond or (short is not False and entails((*known, short), cond)):
        return short
    return shorter(facts_of(known), cond, inputs.empties)


def facts_of(conds: Iterable[Cond]) -> Facts:
    """The facts that follow from conditions."""
    facts = Facts()
    for cond in conds:
        facts.assume(cond)
    return facts


def said(state: State, inputs: Inputs, check: OpenCheck) -> Cond | None:
    """The condition on input sizes, if it can be expressed: the needs of an arm apply where it is taken."""
    return None if None in check.path else said_on_its_side(state, inputs, check)


def said_on_its_side(state: State, inputs: Inputs, check: OpenCheck) -> Cond | None:
    """The condition where the arms around it are taken that no sizes decide."""
    if check.cond is None:
        return None
    cond = any_of(*(negate(c) for c in check.path if c is not None), check.cond)
    try:
        return over_inputs(state, inputs, cond, check.turn)
    except TooLarge:
        return None


def over_inputs(state: State, inputs: Inputs, cond: Cond, turn: Turn | None) -> Cond | None:
    """Write a condition as one on inputs. Sizes that are one of several come first: later facts about them rest on the check
    itself."""
    for _ in range(_MOST_STEPS):
        inside = [v for v in cond_variables(cond) if v not in inputs.sizes and not is_rank(v)]
        if not inside:
            return cond
        chosen = next((v for v in reversed(inside) if v in state.choices), None)
        if chosen is not None:
            choices = state.choices[chosen]
            cond = any_of(*(all_of(case, substitute_cond(cond, {chosen: size})) for case, size in choices))
        else:
            known = {v: _known(state, v) for v in inside}
            lost = {v for v, size in known.items() if v in variables(size)}
            lively = _without_empty_cases(cond, lost)
            inputs.left_out = inputs.left_out or lively is not cond
            cond = substitute_cond(lively, known)
            if not lost.isdisjoint(cond_vars(cond)):
                everywhere = _in_all_turns(cond, lost, turn)
                if everywhere is None:
                    return None
                cond = everywhere
        if len(render_cond(cond)) > HEAVIEST:
            return None
    return None


def _in_all_turns(cond: Cond, lost: AbstractSet[Var], turn: Turn | None) -> Cond | None:
    """The condition in every turn of the loops whose indices it contains; None if it cannot be expressed."""
    while turn is not None and not lost.isdisjoint(cond_vars(cond)):
        index, ends = single_var(turn.index), [size for _, size in turn.ends]
        if index is not None and index in cond_vars(cond):
            found = _at_all(cond, index, ends)
            if found is None:
                return None
            cond = found
        turn = turn.outer
    return cond if lost.isdisjoint(cond_vars(cond)) else None


def _at_all(cond: Cond, index: Var, ends: list[Size]) -> Cond | None:
    """The condition for all numbers between two ends: if it is linear in the index and holds at both, it holds between
    them."""
    if index not in cond_variables(cond):
        return cond
    if isinstance(cond, AllOf):
        parts = [_at_all(part, index, ends) for part in cond.parts]
        return None if None in parts else all_of(*(p for p in parts if p is not None))
    if isinstance(cond, AnyOf):
        own = [part for part in cond.parts if index in cond_variables(part)]
        found = _at_all(own[0], index, ends) if len(own) == 1 else None
        return None if found is None else any_of(*(p for p in cond.parts if p is not own[0]), found)
    if not ends or not isinstance(cond, Ge0 | Eq0) or not _is_linear(cond.term, index):
        return None
    return all_of(*(substitute_cond(cond, {index: end}) for end in ends))


def _is_linear(term: Term, index: Var) -> bool:
    """Whether a term is linear in a variable, with any other factors."""
    inside = [(mono.count(index), [a for a in mono if type(a) is not Var]) for mono in term.mons]
    return all(n <= 1 and not any(index in variables(of_atom(a)) for a in atoms) for n, atoms in inside)


def _without_empty_cases(cond: Cond, lost: Collection[Var]) -> Cond:
    """The choice without parts that cannot be expressed and hold only for empty tensors."""
    if not isinstance(cond, AnyOf):
        return cond
    kept = [p for p in cond.parts if cond_vars(p).isdisjoint(lost) or not _says_empty(p)]
    return cond if len(kept) == len(cond.parts) else any_of(*kept)


def _says_empty(cond: Cond) -> bool:
    return isinstance(cond, AllOf) and any(isinstance(p, Eq0) and len(p.term.mons) == 1 for p in cond.parts)


def _known(state: State, variable: Var) -> Size:
    """The known value of a size; for one that only the run decides without learnt facts, which may rest on the check."""
    size = state.settled(of_atom(variable))
    return size if variable not in variables(size) or variable in state.opaque else state.facts.simplify(size)


def is_rank(variable: Var) -> bool:
    return variable.name.endswith(".rank")
