"""A second check of a model under its own conditions, to find sizes that the first left unknown: inputs that pass the
demanding nodes satisfy these conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..lang.diagnostics import RxError
from ..lang.given import Given, read_given
from ..lang.node import replace
from .contract import Contract, conditions_of
from .tried import Tried

# Larger models are not checked again.
_MOST_NODES = 5_000


def with_demands(first: Tried, check: Callable[[Given], Tried], more: Sequence[str] = ()) -> Tried | None:
    """The model under its demands and `more` conditions, as `check` checks it; None where this adds no knowledge."""
    checked = first.report.checked
    if not first.report.ok or checked is None or not (more or _is_open(first)):
        return None
    said = conditions_of(checked)
    conditions = (*(c.text for c in said.conditions), *more)
    if not conditions or not said.exact:
        return None
    try:
        second = check(read_given(f"@main: {', '.join(conditions)}"))
    except RxError:  # a condition that no signature can state
        return None
    return second if second.report.ok and not second.report.unmet else None


def joined(first: Contract, second: Contract) -> Contract:
    """The contract of a model, whose second part holds under the conditions of the first."""
    return replace(
        first,
        conditions=(*first.conditions, *second.conditions),
        undecided=second.undecided,
        outputs=second.outputs,
        exact=first.exact and second.exact,
    )


def _is_open(tried: Tried) -> bool:
    """Whether the size of a value is unknown, or a result has one of several sizes, depending on the inputs."""
    if len(tried.model.graph.operations) > _MOST_NODES:
        return False
    checked = tried.report.checked
    shapes = () if checked is None else checked.shapes
    main = next((f for f in shapes if f.name == "@main"), None)
    known = () if main is None else (*main.params, *main.bindings)
    if any(b.name in tried.translation.names and (b.cases or "?" in (b.shape or ())) for b in known):
        return True
    result = None if main is None else main.result
    given = () if result is None else (result, *result.items)
    return any("min(" in str(size) or "max(" in str(size) for b in given for size in b.shape or ())
