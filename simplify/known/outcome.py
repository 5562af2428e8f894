"""The answer to one obligation, for the messages; the user's options of checking."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...lang.node import Node

if TYPE_CHECKING:  # readers of earlier findings import only the options
    from ...lang.core import Status
    from ...lang.diagnostics import Only
    from ...lang.given import Given
    from ..solver.conditions import Cond


class Options(Node):
    """`allow_empty`: a check that holds on empty tensors only is a warning, not an error. `given` conditions hold on entry.
    Nothing is reported of `believed` functions: no caller looks into their bodies, which were checked before and have not
    changed. `supposing`: sizes kept in narrow dtypes are taken to fit them, and these assumptions are listed. `stopped` is
    asked between statements; when it returns True, GivenUp is raised. `errors_only`: report no unproved claims, search no
    examples, and record no facts in the program. `spare_arms`: an arm that never works is no error, but a check for runs that
    take it."""

    strict: bool = False
    allow_empty: bool = False
    given: tuple[Given, ...] = ()
    believed: frozenset[str] = frozenset()
    supposing: bool = False
    stopped: Callable[[], bool] | None = None
    errors_only: bool = False
    spare_arms: bool = False


class GivenUp(Exception):
    """The text being checked has changed meanwhile."""


# This many findings of a program are reported with examples, conditions and fixes; further ones with message and place, and
# beyond the second number errors by place only, and unproved claims as one count.
IN_FULL, IN_WORDS = 100, 300


class Outcome(Node):
    """The result of an obligation: whether only empty tensors satisfy it; `witness`, a smallest counterexample (names to
    sizes); `smallest`, the least sizes if it fails for all; the facts that a refutation needs; the turn of a loop in which it
    fails; if it is open, its condition if that is one on sizes, the sizes for which it can hold (`only`), and whether it
    `never` holds where a run gets there, which need not happen."""

    status: Status
    only_empty: bool = False
    witness: dict[str, int] | None = None
    smallest: dict[str, int] | None = None
    reasons: tuple[object, ...] = ()
    turn: str = ""
    cond: Cond | None = None
    only: Only | None = None
    never: bool = False
