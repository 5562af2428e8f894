"""`pytest --rx-trace`: prove the signatures of functions with `body=True` when all tests are collected."""

from __future__ import annotations

from contextlib import suppress

from .api import CheckError
from .bodies import BODIES, CheckedBody, Later


def begin() -> None:
    """Postpone the proofs of functions decorated from now on until `prove`."""
    Later.is_asked = True


def end() -> None:
    Later.is_asked = False


def prove() -> None:
    """Prove each body that needs no call; the others are proved when a test calls them."""
    for body in BODIES:
        if not body.needs_a_call and not body.proved:
            with suppress(CheckError):  # the error is kept in the body
                body.prove({})


def outcomes() -> dict[str, str]:
    """The outcome for each function, by its place."""
    return {str(body): _said(body) for body in BODIES}


def merged(known: dict[str, str], found: dict[str, str]) -> dict[str, str]:
    """Merge the outcomes of several processes: proved or wrong wins over not proved, and wrong over all."""
    for place, said in found.items():
        if known.get(place, _OPEN) == _OPEN or said.startswith("wrong"):
            known[place] = said
    return known


_OPEN = "not proved: no test calls it"


def _said(body: CheckedBody) -> str:
    if body.wrong is not None:
        return f"wrong\n{body.wrong}"
    if not body.proved:
        return _OPEN
    left = list(dict.fromkeys(one for some in body.proved.values() for one in some))
    return f"proved, but for: {'; '.join(left)}" if left else "proved"
