"""The common conditions of the arms of an `if`, where no sizes decide which arm is taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .frame import Side
from .known.state import State
from .solver.conditions import Cond, all_of, any_of, render_cond
from .solver.terms import over
from .weakest import HEAVIEST, Inputs, OpenCheck, said_on_its_side

# A check and its condition where the arms around are taken.
InArm = tuple[OpenCheck, Cond]
# The arms around a condition, the outermost first.
_Within = tuple[tuple[Side, ...], Cond]


def in_arms(state: State, inputs: Inputs, checks: Iterable[OpenCheck]) -> Iterator[InArm]:
    """The checks in arms that no sizes decide, of which it is known which arm is taken where another is not."""
    for check in checks:
        if check.sides and None not in check.sides and not over():
            cond = said_on_its_side(state, inputs, check)
            if cond is not None:
                yield check, cond


def common(found: Iterable[InArm]) -> Iterator[Cond]:
    """What holds wherever a run gets past an `if`, for each of them: the one arm's checks hold or the other one's."""
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
    """What all checks of an arm ask for."""
    own = (cond for sides, cond in within if not sides)
    return all_of(*own, *_of_each([one for one in within if one[0]]))
