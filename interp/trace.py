"""Where generated code is, or where it failed, as data: the one place that knows of Python's frames and lines.

Nothing is recorded while a program runs well. Each line of the generated text stands for a step (`rx_sites`), so a traceback
and the frames of a running thread say which steps they stand in; beyond this file there are only sites and values.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FrameType, TracebackType
from typing import Any

from ..lang.node import Node
from .steps import Site, reads

FILENAME = "<rx>"


class Failure(Node):
    """What a program did wrong: the exception, the site where it came up, the values of the slots that the step there reads,
    and the sites of the calls that led to it, outermost first."""

    problem: BaseException
    site: Site
    values: Mapping[str, Any]
    calls: tuple[Site, ...]
    # Of each of the calls, and of the site, what the function there was given, by slot, as far as it is still there.
    given: tuple[Mapping[str, Any], ...] = ()


def failure(problem: BaseException) -> Failure | None:
    """The failure behind an exception that came out of generated code; None where it did not pass through any."""
    sites: list[Site] = []
    given: list[Mapping[str, Any]] = []
    values: dict[str, Any] = {}
    traceback: TracebackType | None = problem.__traceback__
    while traceback is not None:
        found = _found(traceback.tb_frame, traceback.tb_lineno)
        if found is not None:
            sites.append(found[0])
            values = _values(found[0], found[1], traceback.tb_frame)
            given.append(_given(found[1], traceback.tb_frame))
        traceback = traceback.tb_next
    return Failure(problem, sites[-1], values, tuple(sites[:-1]), tuple(given)) if sites else None


def running(thread: int) -> tuple[Site, ...]:
    """The sites that a thread is in now, outermost first."""
    frame: FrameType | None = sys._current_frames().get(thread)
    sites: list[Site] = []
    while frame is not None:
        found = _found(frame, frame.f_lineno)
        if found is not None:
            sites.append(found[0])
        frame = frame.f_back
    return tuple(reversed(sites))


def _found(frame: FrameType, line: int | None) -> tuple[Site, Mapping[str, str]] | None:
    """What a line of generated code stands for, and the locals of its slots."""
    if frame.f_code.co_filename != FILENAME or line is None:
        return None
    found: tuple[Site, Mapping[str, str]] | None = frame.f_globals["rx_sites"].get(line)
    return found


def _values(site: Site, names: Mapping[str, str], frame: FrameType) -> dict[str, Any]:
    known = {**frame.f_globals, **frame.f_locals}
    slots = reads(site.step) if site.step is not None else ()
    return {slot: known[names.get(slot, slot)] for slot in slots if names.get(slot, slot) in known}


def _given(names: Mapping[str, str], frame: FrameType) -> dict[str, Any]:
    """The parameters of the Python function that a frame runs; not those whose locals were given to other slots."""
    code, taken = frame.f_code, set(names.values())
    params = code.co_varnames[: code.co_argcount]
    return {p: frame.f_locals[p] for p in params if p in frame.f_locals and p not in taken}
