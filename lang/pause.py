"""Pauses the garbage collector while trees are built."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def collector_paused(phase: Callable[P, R]) -> Callable[P, R]:
    """Pause the collector in a phase that builds large trees without cycles: it would visit all of them again and again."""

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
    """Also keep the collector from visiting the phase's long-lived results afterwards, until the next such phase begins."""

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
    """Free the garbage among objects created since the last collection; each is visited once."""
    gc.collect(0)
