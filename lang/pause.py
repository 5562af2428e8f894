"""Pauses the garbage collector while trees are built."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def collector_paused(phase: Callable[P, R]) -> Callable[P, R]:
    """For a phase that builds large trees without cycles: the collector would visit all of them, again and again."""

    @wraps(phase)
    def paused(*args: P.args, **kwargs: P.kwargs) -> R:
        collecting = gc.isenabled()
        gc.disable()
        try:
            return phase(*args, **kwargs)
        finally:
            if collecting:
                gc.enable()

    return paused


def collector_spared(phase: Callable[P, R]) -> Callable[P, R]:
    """For a phase whose results stay for long: nor are they visited when it is over, until the next one begins."""

    @collector_paused
    @wraps(phase)
    def spared(*args: P.args, **kwargs: P.kwargs) -> R:
        gc.unfreeze()
        try:
            return phase(*args, **kwargs)
        finally:
            gc.freeze()

    return spared


def collect_new() -> None:
    """Frees what is garbage among the objects that are new since the last time: each is looked at once."""
    gc.collect(0)
