"""The common conditions of the arms of an `if`, where no sizes decide which arm is taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .frame import Side
from .known.state import State
from .solver.conditions import Cond, all_of, any_of, render_cond
from .solver.terms import over
from .weakest import HEAVIEST, Inputs, OpenCheck, said_on_its_side

# A check, and its condition if the arms around it are taken.
InArm = tuple[OpenCheck, Cond]
# The arms around a condition, the outermost first.
_Within = tuple[tuple[Side, ...], Cond]


def in_arms(state: State, inputs: Inputs, checks: Iterable[OpenCheck]) -> Iterator[InArm]:
    """Yield the checks in arms that no sizes decide, if the choice behind each of these arms is known."""
    for check in checks:
        if check.sides and None not in check.sides and not over():
            cond = said_on_its_side(state, inputs, check)
            if cond is not None:
                yield check, cond


def common(found: Iterable[InArm]) -> Iterator[Cond]:
    """Yield for each `if` the condition of getting past it: the checks of one arm or those of the other hold."""
    within = [(tuple(side for side in check.sides if side is not None), cond) for check, cond in found]
    for needed in _of_each(within):
        if needed is not True and len(render_cond(needed)) <= HEAVIEST:
            yield needed


def _of_each(within: Sequence[_Within]) -> Iterator[Cond]:
    arms: dict[int, tuple[list[_Within], list[_Within]]] = {}
    for (side, *inner), cond in within:
        arms.setdefault(side.choice, ([], []))[side.first].append((tuple(inner), cond))
    yield from (any_of(*map(_of_all, both)) for both in arms.values())


def _of_all(within: Sequence[_Within]) -> Cond:
    """The conjunction of all checks of an arm."""
    own = (cond for sides, cond in within if not sides)
    return all_of(*own, *_of_each([one for one in within if one[0]]))
