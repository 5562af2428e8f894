"""The sets of sizes that a contract accepts: one set for each size as long as none depends on another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from random import Random

from ..lang.expressions import names_in
from ..lang.node import Node, replace
from ..simplify.solver.conditions import (
    AnyOf,
    Cond,
    Eq0,
    all_of,
    any_of,
    cond_variables,
    evaluate_cond,
    render_cond,
    substitute_cond,
)
from ..simplify.solver.exprs import ExpressionError, QuestionScope, read_condition, read_size
from ..simplify.solver.facts import Facts
from ..simplify.solver.fitting import nearest
from ..simplify.solver.rendering import render
from ..simplify.solver.shorter import shorter
from ..simplify.solver.shortest import member, shortest_on
from ..simplify.solver.size_sets import EVERY, SizeSet, set_of
from ..simplify.solver.sizes import only_var
from ..simplify.solver.terms import TooLarge, Var, of_atom
from ..simplify.weakest import facts_of
from .contract import Clause, Contract

# Sets found separately are compared with the conditions at this many joint points, from this many values of each size.
_MOST_PLACES, _MOST_EACH = 4_000, 40
# If more sizes than this are tied to each other, no sets are computed.
_MOST_TIED = 4


class Accepted(Node):
    """The values that one size may have, whatever the others are, and the conditions that restrict it."""

    name: str
    sizes: SizeSet
    clauses: tuple[Clause, ...] = ()

    @property
    def text(self) -> str:
        return self.sizes.said(self.name)


class Tied(Node):
    """Several sizes that are restricted jointly; `text` is the clause's condition where no tensor is empty."""

    names: tuple[str, ...]
    text: str
    clause: Clause


class AcceptedSizes(Node):
    """The sizes that a contract accepts: those in `single` are tied to no other size; `own` bounds the sizes in `tied` one by
    one. Where a size in `empty` is 0, the sizes listed for it may have other values as well."""

    single: tuple[Accepted, ...]
    own: tuple[Accepted, ...]
    tied: tuple[Tied, ...]
    empty: Mapping[str, tuple[str, ...]]

    def of(self, name: str) -> Accepted | None:
        return next((one for one in self.single if one.name == name), None)


class _Read(Node):
    """A parsed condition, without the part that holds where another size is 0."""

    cond: Cond
    names: tuple[Var, ...]
    clause: Clause | None


def sizes_of(contract: Contract) -> AcceptedSizes:
    """The accepted sets of all sizes of the inputs."""
    scope, empty = QuestionScope(), dict[str, tuple[str, ...]]()
    names = names_in(*(size for i in contract.inputs for size in i.shape or () if isinstance(size, str)))
    variables = {name: only_var(scope.name(name)) for name in names}
    read, unread = list[_Read](), list[Tied]()
    for text, clause in (*((c.condition, c) for c in contract.conditions), *((g, None) for g in contract.given)):
        try:
            cond = read_condition(text, scope)
        except (ExpressionError, TooLarge):
            unread += [Tied(clause.sizes, text, clause)] if clause is not None else []
            continue
        lively, free = _without_empty(cond)
        for size in free:
            empty[size.name] = (*empty.get(size.name, ()), *(v.name for v in cond_variables(lively)))
        read.append(_Read(lively, tuple(cond_variables(lively)), clause))
    single, own, tied = list[Accepted](), list[Accepted](), list[Tied]()
    for group in _groups(read):
        found = _apart(group)
        for one in found if found is not None else _together(group):
            if isinstance(one, Tied):
                tied.append(one)
            else:
                (own if found is None else single).append(one)
    bound = {*(one.name for one in (*single, *own)), *(name for one in (*tied, *unread) for name in one.names)}
    single += [Accepted(name, EVERY) for name in variables if name not in bound]
    order = {name: at for at, name in enumerate(names)}
    single.sort(key=lambda one: order.get(one.name, len(order)))
    empties = {k: tuple(dict.fromkeys(v)) for k, v in empty.items()}
    return AcceptedSizes(tuple(single), tuple(own), (*tied, *unread), empties)


def _without_empty(cond: Cond) -> tuple[Cond, tuple[Var, ...]]:
    """The condition where no other size is 0, and the sizes one of which must be 0 where it does not hold."""
    if not isinstance(cond, AnyOf):
        return cond, ()
    rest = [part for part in cond.parts if _zero(part) is None]
    inside = {v for part in rest for v in cond_variables(part)}
    free = tuple(v for part in cond.parts for v in [_zero(part)] if v is not None and v not in inside)
    if not rest or not free:
        return cond, ()
    return any_of(*(part for part in cond.parts if _zero(part) not in free)), free


def _zero(cond: Cond) -> Var | None:
    """The size that a condition forces to be 0."""
    mons = cond.term.mons if isinstance(cond, Eq0) else {}
    atoms = [mono[0] for mono in mons if len(mono) == 1]
    return atoms[0] if len(mons) == 1 and atoms and isinstance(atoms[0], Var) else None


def _groups(read: Sequence[_Read]) -> Iterator[list[_Read]]:
    """The conditions, grouped by the sizes that they share."""
    left = list(read)
    while left:
        group, names = [left.pop(0)], set[Var]()
        names.update(group[0].names)
        while near := [r for r in left if not names.isdisjoint(r.names)]:
            group += near
            names.update(v for r in near for v in r.names)
            left = [r for r in left if r not in near]
        yield sorted(group, key=read.index)


def _apart(group: Sequence[_Read]) -> list[Accepted] | None:
    """The set of each size if the conditions are equivalent to their product; None if they tie the sizes."""
    names = tuple(dict.fromkeys(v for r in group for v in r.names))
    conds = [r.cond for r in group]
    if len(names) == 1:
        found = set_of(conds, names[0])
        return None if found is None else [_accepted(names[0], found, group)]
    point = _point(conds, names) if len(names) <= _MOST_TIED else None
    if point is None:
        return None
    sets = dict[Var, SizeSet]()
    for name in names:
        others = {v: n for v, n in point.items() if v != name}
        only = set_of([substitute_cond(c, others) for c in conds], name)
        if only is None:
            return None
        sets[name] = only
    return [_accepted(v, found, group) for v, found in sets.items()] if _is_product(conds, sets) else None


def _accepted(name: Var, found: SizeSet, group: Sequence[_Read]) -> Accepted:
    return Accepted(name.name, found, tuple(r.clause for r in group if r.clause is not None and name in r.names))


def _point(conds: Sequence[Cond], names: Sequence[Var]) -> dict[Var, int] | None:
    """Sizes that satisfy conditions, at least 1 where possible."""
    facts = facts_of(conds)
    found = facts.witness(True, True, tuple(map(of_atom, names)))
    return None if found is None else {v: found.get(v, 1) for v in names}


def _is_product(conds: Sequence[Cond], sets: Mapping[Var, SizeSet]) -> bool:
    """Whether conditions hold exactly where each size is in its set: as far as the solver decides it, else at many points
    around the ends of all sets."""
    whole, drawn = all_of(*conds), Random(0)
    places = [_places(found) for found in sets.values()]
    for place in product(*(drawn.sample(of, min(len(of), _each(len(sets)))) for of in places)):
        inside = all(n in found for n, found in zip(place, sets.values(), strict=True))
        if evaluate_cond(whole, dict(zip(sets, place, strict=True))) != inside:
            return False
    members = [member(v, found) for v, found in sets.items()]
    asked = [*((conds, one) for one in members), (members, whole)]
    return all(_has_no_other(facts_of(given), cond) for given, cond in asked)


def _has_no_other(facts: Facts, cond: Cond) -> bool:
    """Whether a condition follows from facts, or no sizes that break it were found."""
    return facts.decide(cond).kind in ("proved", "vacuous") or facts.witness(cond, False) is None


def _each(count: int) -> int:
    """The number of values to try for each of `count` sizes."""
    return min(_MOST_EACH, int(_MOST_PLACES ** (1 / count)))


def _places(found: SizeSet) -> list[int]:
    """Small sizes, and those around the points where a set begins, ends and repeats."""
    ends = (end for part in found.parts for end in (part.first, part.first + part.modulus, part.last or 0))
    around = {0, 8, 24, 40, *(2**n for n in range(6, 10)), *ends}
    return sorted({n for end in around for n in range(max(end - 8, 0), end + 9)})


def _together(group: Sequence[_Read]) -> Iterator[Accepted | Tied]:
    """Simplify each condition under the others, one after the other; those on one size become its set."""
    short: list[Cond] = [r.cond for r in group]
    for at, one in enumerate(group):
        if one.clause is not None and not isinstance(one.cond, bool):
            short[at] = shorter(facts_of([*short[:at], *short[at + 1 :]]), one.cond)
    kept = [_Read(cond, tuple(cond_variables(cond)), r.clause) for cond, r in zip(short, group, strict=True)]
    alone = {name: [r for r in kept if r.names == (name,) and r.clause is not None] for r in kept for name in r.names}
    sets = {name: set_of([r.cond for r in reads], name) for name, reads in alone.items() if reads}
    yield from (_accepted(name, found, alone[name]) for name, found in sets.items() if found is not None)
    for one in kept:
        said = len(one.names) == 1 and sets.get(one.names[0]) is not None
        if one.clause is not None and one.cond is not True and not said:
            names = tuple(v.name for v in one.names) or one.clause.sizes or ("all sizes",)
            yield Tied(names, "none" if one.cond is False else _worded(render_cond(one.cond)), one.clause)


def _worded(text: str) -> str:
    """A condition for a reader: `t = b, or b = 1`."""
    return text.replace("==", "=").replace(" || ", ", or ").replace(" && ", " and ")


class Outside(Node):
    """Sizes in a box that are not accepted, and the nearest accepted values of one size."""

    sizes: Mapping[str, int]
    nearest: tuple[str, ...]


def box_of(contract: Contract) -> dict[str, SizeSet] | None:
    """The given set of each size, if all of them are bounded."""
    given = sizes_of(replace(contract, conditions=())).single
    names = names_in(*(size for i in contract.inputs for size in i.shape or () if isinstance(size, str)))
    box = {one.name: one.sizes for one in given if one.name in names and one.sizes.last is not None}
    return box if contract.given and len(box) == len(names) else None


def outside_of(box: Mapping[str, SizeSet], found: AcceptedSizes) -> Iterator[Outside]:
    """For each size, or group of tied sizes, the smallest in a box that are not accepted."""
    for one in (*found.single, *found.own):
        wrong = next((n for n in box[one.name].members() if n not in one.sizes), None)
        if wrong is not None:
            below = next((n for n in range(wrong - 1, -1, -1) if n in one.sizes), None)
            above = next((n for n in box[one.name].members() if n > wrong and n in one.sizes), None)
            yield Outside({one.name: wrong}, tuple(f"{one.name} = {n}" for n in (below, above) if n is not None))
    for tied in found.tied:
        if tied.clause.witness is not None:
            sizes = {name: tied.clause.witness[name] for name in tied.names if name in tied.clause.witness}
            yield Outside(sizes, nearest([tied.clause.condition], tied.clause.witness))


def with_short_outputs(contract: Contract) -> Contract:
    """The contract with the sizes of its outputs simplified under its accepted sizes."""
    found = sizes_of(contract)
    outputs = (
        replace(v, shape=None if v.shape is None else tuple(_short(s, found) for s in v.shape))
        for v in contract.outputs
    )
    return replace(contract, outputs=tuple(outputs))


def _short(text: int | str, sizes: AcceptedSizes) -> int | str:
    """A shorter text for an output's size that depends on a single, untied size."""
    names = names_in(text)
    one = sizes.of(names[0]) if len(names) == 1 else None
    if one is None or isinstance(text, int) or text == one.name:
        return text
    scope = QuestionScope()
    try:
        size = read_size(text, scope)
    except (ExpressionError, TooLarge):
        return text
    short = shortest_on(size, only_var(scope.names[names[0]]), one.sizes)
    made = short if isinstance(short, int) else render(short)
    return made if isinstance(made, int) or len(made) < len(str(text)) else text
