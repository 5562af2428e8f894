"""The answer to one obligation, for the messages; and the user's options of checking."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...lang.node import Node

if TYPE_CHECKING:  # who only says again what was found before needs no more of it than the options
    from ...lang.core import Status
    from ...lang.diagnostics import Only
    from ...lang.given import Given
    from ..solver.conditions import Cond


class Options(Node):
    """`allow_empty` turns what works only on empty tensors from an error into a warning. What is `given` holds on entry. Of the
    functions that are `believed` nothing is told: their bodies, which no caller looks into, are as they were when they were
    checked. Under `supposing`, sizes that a program keeps in narrow dtypes are taken to fit them, and that is listed. Where
    `stopped` says so, between two statements, nobody wants to know any more, and GivenUp is raised. Where `errors_only` are
    wanted nothing is told of unproved claims, no examples are looked for, and what is known is not put down in the program.
    Where a program has `spare_arms`, one that never works is nobody's mistake, but a check for those who take it."""

    strict: bool = False
    allow_empty: bool = False
    given: tuple[Given, ...] = ()
    believed: frozenset[str] = frozenset()
    supposing: bool = False
    stopped: Callable[[], bool] | None = None
    errors_only: bool = False
    spare_arms: bool = False


class GivenUp(Exception):
    """What is being checked has changed meanwhile."""


# So many findings of a program are told with examples, conditions and fixes; of more it is told what and where, and behind so
# many of each error that it is one and where, and of all unproved claims together how many they are.
IN_FULL, IN_WORDS = 100, 300


class Outcome(Node):
    """How an obligation ended: whether only empty tensors satisfy it, a smallest witness (names to sizes) for which it fails,
    `smallest`, the least sizes where all do, the facts that a refutation needs, and in which turn of a loop it fails; of what
    is open its condition, if it is one on sizes, for which of them alone it can hold, and whether it `never` does where a run
    gets there, which need not be."""

    status: Status
    only_empty: bool = False
    witness: dict[str, int] | None = None
    smallest: dict[str, int] | None = None
    reasons: tuple[object, ...] = ()
    turn: str = ""
    cond: Cond | None = None
    only: Only | None = None
    never: bool = False
