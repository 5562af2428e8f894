"""From the open checks of a function to the conditions on its inputs, each with the checks that ask for it and a witness."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from ..lang.checked import Conditions, EntryCondition, UndecidedCheck
from ..lang.node import replace
from ..lang.source import Span
from ..ops.gists import gist
from ..ops.requirements import Narrower, RankIs, Requirement
from .common_demands import common, in_arms
from .known.fresh import dims_of
from .known.state import State
from .known.texts import size_text
from .known.values import Env, SizeValue
from .messages.telling import told
from .prover import Prover
from .solver.conditions import AllOf, Cond, all_of, any_of, cond_variables, eq, evaluate_cond, ge, negate, render_cond
from .solver.factors import factors, without_empty
from .solver.points import Point
from .solver.shorter import entails, of_quotients, remainders, shorter
from .solver.terms import Size, TooLarge, Var, of_atom, variables
from .weakest import Inputs, OpenCheck, facts_of, is_rank, said, weakest

# With more conditions than this, the checks listed for one are those that share its sizes.
_MOST_ASKED = 4_000
# For at most so many sizes, all numbers up to the second value are tried.
_FEW, _SMALL = 2, 9
# The most supposed conditions that are compared with each other.
_MOST_SUPPOSED = 32
_IN_ARM = ", behind one arm of an `if`"


def conditions(name: str, params: Env, state: State, entry_check: tuple[Cond, ...], prover: Prover) -> Conditions:
    """Return the conditions on the inputs of a function, empty ones included. `entry_check` are those of its signature."""
    dims = tuple(dict.fromkeys(sizes_of(state, params)))
    sizes = {v for d in dims for v in variables(d)}
    checks = list({(check.cond, check.path, check.sides, check.span): check for check in prover.demands}.values())
    asked_of = (v for check in checks for c in (check.cond, *check.path) if c is not None for v in cond_variables(c))
    entry_check = _about((*sizes, *asked_of), entry_check)
    inputs = Inputs(sizes, (), entry_check)
    asked = [(check, _said(state, inputs, check, params)) for check in checks]
    sides = list(in_arms(state, inputs, checks))
    sayable = (*(check for check, cond in asked if cond is not None), *(OpenCheck(cond, ()) for cond in common(sides)))
    found = weakest(state, inputs, sayable, _each_without_factors)
    conds = found.conds
    written = tuple(_condition(cond, conds, [*asked, *sides], inputs, dims, state) for cond in conds)
    left = (
        [check for check, cond in asked if cond is None] if found.complete else _not_said(asked, (*entry_check, *conds))
    )
    follow = {check for check, cond in sides if entails((*entry_check, *conds), cond)}
    left = [check for check in left if check not in follow]
    supposed = _strongest(_over(inputs, prover.supposed))
    asked_of_data = tuple(_once(left, state))
    texts = [tuple(map(cond_text, conds)) for conds in (supposed, _over(inputs, entry_check))]
    by_sizes = tuple(span for span, sure in prover.by_sizes.items() if sure)
    needed: dict[bool, list[Cond]] = {True: [], False: []}
    for check, cond in asked:
        if cond is not None:
            needed[check.about is not None and isinstance(check.about.asked, Narrower)].append(cond)
    narrower = not all(entails((*entry_check, *needed[False]), cond) for cond in needed[True])
    return Conditions(name, written, asked_of_data, found.necessary, texts[0], texts[1], by_sizes, narrower)


def _about(sizes: Iterable[Var], conds: Sequence[Cond]) -> tuple[Cond, ...]:
    """The conditions on sizes, or connected to them by other conditions: not those on each weight's own dimensions."""
    inside, left = set(sizes), {n: set(cond_variables(cond)) for n, cond in enumerate(conds)}
    while near := [n for n, own in left.items() if not own or not own.isdisjoint(inside)]:
        inside.update(*map(left.pop, near))
    return tuple(cond for n, cond in enumerate(conds) if n not in left)


def _said(state: State, inputs: Inputs, check: OpenCheck, params: Env) -> Cond | None:
    """The condition of a check, if it is about inputs, and not about the rank of an intermediate value."""
    cond = said(state, inputs, check)
    ranks = () if cond is None else tuple(v.name.removesuffix(".rank") for v in cond_variables(cond) if is_rank(v))
    return cond if all(name in params for name in ranks) else None


def _not_said(asked: Iterable[tuple[OpenCheck, Cond | None]], conds: Iterable[Cond]) -> Iterator[OpenCheck]:
    """The checks that do not follow from conditions."""
    facts = facts_of(conds)
    for check, cond in asked:
        if cond is None or facts.decide(cond).kind not in ("proved", "vacuous"):
            yield check


def _over(inputs: Inputs, conds: Iterable[Cond]) -> list[Cond]:
    """The conditions on input sizes alone."""
    return [c for c in conds if not isinstance(c, bool) and set(cond_variables(c)) <= set(inputs.sizes)]


def _strongest(conds: Iterable[Cond]) -> list[Cond]:
    """Conditions without those that others entail."""
    kept = list(dict.fromkeys(part for cond in conds for part in (cond.parts if isinstance(cond, AllOf) else (cond,))))
    for cond in kept[:_MOST_SUPPOSED]:
        others = [c for c in kept if c is not cond]
        if entails(others, cond):
            kept = others
    return kept


def _once(checks: Iterable[OpenCheck], state: State) -> Iterator[UndecidedCheck]:
    """One check for each place, and each arm before it; one with a text if there is such."""
    found: dict[tuple[Span, str], UndecidedCheck] = {}
    for check in checks:
        one = _asked(check, state)
        at = one.place, one.needs if check.in_arm else ""
        before = found.get(at, one)
        kept, other = (one, before) if one.needs else (before, one)
        found[at] = kept if kept.gist else replace(kept, gist=other.gist)
    return iter(found.values())


def _each_without_factors(conds: Sequence[Cond], entry_check: tuple[Cond, ...]) -> list[Cond]:
    """`b * t == b * 8` as `t == 8 || b == 0`, without `b == 0` if the other conditions exclude it."""
    found = list(conds)
    for at, cond in enumerate(found):
        found[at] = _without_factors(cond, (*entry_check, *found[:at], *found[at + 1 :]))
    parts = (p for c in found for p in (c.parts if isinstance(c, AllOf) else (c,)))
    return list(dict.fromkeys(parts))


def _without_factors(cond: Cond, known: tuple[Cond, ...]) -> Cond:
    shared = factors(cond)
    if not shared:
        return _divided(cond, known)
    lively = (*known, *(ge(of_atom(v), 1) for v in shared))
    rest = _divided(shorter(facts_of(lively), without_empty(cond, shared), shared), lively)
    return any_of(rest, *_empty(shared, known))


def _divided(cond: Cond, known: tuple[Cond, ...]) -> Cond:
    """`h * w == h // 4 * (w // 5) * 20` as `h % 4 == 0 && w % 5 == 0`, or a size is 0; likewise for quotients."""
    whole = all_of(*remainders(cond))
    lively = (*known, *(ge(of_atom(v), 1) for v in cond_variables(cond)))
    quotients = of_quotients(facts_of(lively), cond)
    if quotients is not None and all(entails((*known, c), cond) for c in _empty(cond_variables(cond), known)):
        short = shorter(facts_of(lively), quotients)  # if no size is 0; if one is, the condition holds
        return any_of(short, *_empty(cond_variables(cond), (*known, negate(short), cond)))
    if whole is True or not (entails((*lively, whole), cond) and entails((*lively, cond), whole)):
        return cond
    said = any_of(whole, *_empty(cond_variables(cond), (*known, negate(whole), cond)))
    return said if entails((*known, said), cond) and entails((*known, cond), said) else cond


def _empty(sizes: Iterable[Var], known: tuple[Cond, ...]) -> list[Cond]:
    """The conditions that sizes are 0, if they can be."""
    facts = facts_of(known)
    return [c for v in sizes if facts.decide(c := eq(of_atom(v), 0)).kind not in ("refuted", "vacuous")]


def sizes_of(state: State, params: Env) -> Iterator[Size]:
    """The sizes of parameters."""
    for entry in params.values():
        if isinstance(entry.value, SizeValue):
            yield state.settled(entry.value.size)
        yield from (d for d in dims_of((entry.value,), state) if not isinstance(d, int))


def _condition(
    cond: Cond,
    found: Sequence[Cond],
    asked: Sequence[tuple[OpenCheck, Cond | None]],
    inputs: Inputs,
    dims: tuple[Size, ...],
    state: State,
) -> EntryCondition:
    names = tuple(dict.fromkeys(v.name for v in cond_variables(cond)))
    others = (*inputs.entry_check, *(c for c in found if c is not cond))
    witness = _witness(cond, others, inputs, dims)
    point = {} if witness is None else {v: witness[v.name] for v in inputs.sizes}
    checks = _sources(cond, asked, inputs.entry_check, point, many=len(found) * len(asked) > _MOST_ASKED)
    return EntryCondition(cond_text(cond), names, tuple(_once(checks, state)), witness)


def cond_text(cond: Cond) -> str:
    return str(cond).lower() if isinstance(cond, bool) else render_cond(cond)


def _sources(
    cond: Cond,
    asked: Sequence[tuple[OpenCheck, Cond | None]],
    entry_check: tuple[Cond, ...],
    point: Point,
    *,
    many: bool,
) -> list[OpenCheck]:
    """The checks that cannot hold without a condition. If it takes several together, or the answer is unknown: those that
    fail at the `point` that breaks this condition alone, with those needed beside them, else those that share a size with
    it."""
    inside = set(cond_variables(cond))
    near = [(d, c) for d, c in asked if c is not None and not inside.isdisjoint(cond_variables(c))]
    verdicts: dict[Cond, bool] = {}
    if not many:
        for _, c in near:
            if c not in verdicts:
                verdicts[c] = entails((*entry_check, c), cond)
    proved = [d for d, c in near if verdicts.get(c)]
    found = proved or [d for d, c in near if _fails(c, point)]
    if proved or many or any(d.about is not None for d in found):
        return found or [d for d, _ in near]
    failing = [c for c in verdicts if _fails(c, point)]
    known = (*entry_check, *failing)
    beside = (
        [c for c in verdicts if c not in failing and entails((*known, c), cond)] if not entails(known, cond) else []
    )
    several = (d for d, c in near if c in failing or c in beside)
    return sorted(several, key=lambda d: d.about is None) or [d for d, _ in near]


def _fails(cond: Cond, point: Point) -> bool:
    return set(cond_variables(cond)) <= point.keys() and not evaluate_cond(cond, point)


def _asked(check: OpenCheck, state: State) -> UndecidedCheck:
    asked = _asked_anywhere(check, state)
    return replace(asked, needs=asked.needs + _IN_ARM) if check.in_arm and asked.needs else asked


def _asked_anywhere(check: OpenCheck, state: State) -> UndecidedCheck:
    if check.finding is None:
        inside = () if check.cond is None else cond_variables(check.cond)
        of_ranks = check.cond if inside and all(map(is_rank, inside)) else None
        needs = "" if of_ranks is None else f"it needs {cond_text(shorter(facts_of(()), of_ranks))}"
        return UndecidedCheck(check.needs or needs, check.span, _gist(check, state))
    said = told(check.finding)
    return UndecidedCheck(
        said.sentence.claim if said.sentence is not None else said.message, check.span, _gist(check, state)
    )


def _gist(check: OpenCheck, state: State) -> str:
    about, state = check.about, state if check.finding is None else check.finding.state
    if about is None or not isinstance(about.asked, Requirement):
        return ""
    text = gist(about.asked, about.callee, lambda size: None if size is None else size_text(size, state))
    where = all_of(*(c for c in check.path if c is not None)) if isinstance(about.asked, RankIs) else True
    return f"{text}, its rank where {cond_text(where)}" if text and where is not True else text


def _witness(cond: Cond, others: tuple[Cond, ...], inputs: Inputs, dims: tuple[Size, ...]) -> dict[str, int] | None:
    """The smallest sizes that break a condition, and none of the others if possible."""
    if not set(cond_variables(cond)) <= set(inputs.sizes):  # a condition on ranks has no example in sizes
        return None
    facts = facts_of(others)
    sizes = [of_atom(v) for v in sorted(inputs.sizes)]
    try:
        point = facts.witness(cond, False, (*sizes, *dims))
    except TooLarge:
        point = None
    # other names in a signature stand for these sizes
    said = [c for c in others if set(inputs.sizes) >= set(cond_variables(c))]
    for found in _small(cond) if point is None else (point,):
        whole = {v: found.get(v, 1) for v in inputs.sizes}
        if not evaluate_cond(cond, whole) and all(evaluate_cond(c, whole) for c in said):
            return {v.name: n for v, n in sorted(whole.items(), key=_age)}
    return None


def _small(cond: Cond) -> list[Point]:
    """A few small sizes, the smallest first, for a condition that no steps are left for."""
    names = cond_variables(cond)
    tried = (dict(zip(names, sizes, strict=True)) for sizes in product(range(_SMALL + 1), repeat=len(names)))
    return sorted(tried, key=lambda point: sum(abs(n - 1) for n in point.values())) if len(names) <= _FEW else []


def _age(item: tuple[Var, int]) -> int:
    return item[0].serial
