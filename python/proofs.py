"""`pytest --rx-trace`: proves the signatures of functions with `body=True` when all tests are collected."""

from __future__ import annotations

from contextlib import suppress

from .api import CheckError
from .bodies import BODIES, CheckedBody, Later


def begin() -> None:
    """What is imported from here on waits for `prove`."""
    Later.is_asked = True


def end() -> None:
    Later.is_asked = False


def prove() -> None:
    """Of what needs a call nothing is proved here: a test that calls it does."""
    for body in BODIES:
        if not body.needs_a_call and not body.proved:
            with suppress(CheckError):  # the body keeps what is wrong
                body.prove({})


def outcomes() -> dict[str, str]:
    """What became of each function, by its place."""
    return {str(body): _said(body) for body in BODIES}


def merged(known: dict[str, str], found: dict[str, str]) -> dict[str, str]:
    """What several processes say: who has proved or refuted something knows more than who has not."""
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
