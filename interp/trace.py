"""The place where generated code runs or failed, as data: the only module that reads Python's frames and lines.

Nothing is recorded while a program runs well. Each line of the generated text has a site (`rx_sites`), so a traceback and the
frames of a running thread give their steps; other modules see only sites and values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from time import perf_counter_ns
from types import FrameType, TracebackType

from ..lang import core
from ..lang.node import Node
from .core_uses import names_of
from .engine_types import Compiled, Namespace, RunValue
from .failure_words import evaluate
from .steps import Around, LoopStep, StepSite, number, reads, total

FILENAME = "<rx>"


class TracedTurn(Node):
    """A turn of a running loop: the number of turns before it and of all turns, and its index; None if unknown.
    `is_condition`: the loop is at the condition of this turn."""

    loop: LoopStep
    done: int | None
    total: int | None
    index: int | None
    is_condition: bool


class Place(Node):
    """A site, and the turns of the loops around it in its function, outermost first."""

    site: StepSite
    turns: tuple[TracedTurn, ...]


class Failure(Node):
    """A failure of a program: the exception, its place, the values of the slots that the step there reads, and the places of
    the calls that led to it, outermost first."""

    problem: BaseException
    place: Place
    values: Mapping[str, RunValue]
    callers: tuple[Place, ...]
    # For each of the calls, and for the site, the arguments of the function there, by slot, unless they were released.
    given: tuple[Mapping[str, RunValue], ...] = ()

    @property
    def site(self) -> StepSite:
        return self.place.site

    @property
    def calls(self) -> tuple[StepSite, ...]:
        return tuple(place.site for place in self.callers)


class Foreseen(Exception):
    """A failure found before anything ran."""

    def __init__(self, found: Failure) -> None:
        super().__init__(str(found.problem))
        self.found = found


def failure(problem: BaseException) -> Failure | None:
    """The failure behind an exception from generated code; None if it did not pass through any."""
    if isinstance(problem, Foreseen):
        return problem.found
    places: list[Place] = []
    given: list[Mapping[str, RunValue]] = []
    here: Namespace = {}
    values: Namespace = {}
    traceback: TracebackType | None = problem.__traceback__
    while traceback is not None:
        found = _found(traceback.tb_frame, traceback.tb_lineno)
        if found is not None:
            site, names = found
            places.append(Place(site, _turns(site, names, traceback.tb_frame)))
            values = _values(site, names, traceback.tb_frame)
            here |= _given(names, traceback.tb_frame)
            if not site.outlined:
                given.append(here)
                here = {}
        traceback = traceback.tb_next
    whole = _joined(places)
    return Failure(problem, whole[-1], values, tuple(whole[:-1]), tuple(given)) if whole else None


class Clock:
    """The time that each step of a run takes, by the lines of the generated text. Watching slows each line down by about a
    microsecond."""

    def __init__(self) -> None:
        # By the table of a text's lines, and the line: its number of runs and their nanoseconds.
        self._spent: dict[tuple[int, int], list[int]] = {}
        self._sites: dict[int, Mapping[int, tuple[StepSite, Mapping[str, str]]]] = {}
        self._at: list[int] | None = None
        self._since = 0

    def watch(self, action: Callable[[], RunValue]) -> RunValue:
        """Return an action's result, and time its steps."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            return action()
        finally:
            sys.settrace(before)
            self._go_to(None)

    def steps(self) -> Iterator[tuple[StepSite, int, int]]:
        """The steps that ran, each with its number of runs and their nanoseconds."""
        for (table, line), (calls, spent) in self._spent.items():
            found = self._sites[table].get(line)
            if found is not None:
                yield found[0], calls, spent

    def _enter(self, frame: FrameType, event: str, arg: object) -> Compiled | None:
        return self._line if frame.f_code.co_filename == FILENAME else None

    def _line(self, frame: FrameType, event: str, arg: object) -> Compiled:
        after: FrameType | None = frame.f_back if event == "return" else frame
        while after is not None and after.f_code.co_filename != FILENAME:
            after = after.f_back
        self._go_to(after)
        if event == "line" and self._at is not None:
            self._at[0] += 1
        return self._line

    def _go_to(self, frame: FrameType | None) -> None:
        """Count the time from now on for the line of a frame."""
        now = perf_counter_ns()
        if self._at is not None:
            self._at[1] += now - self._since
        self._at, self._since = None, now
        if frame is not None and "rx_sites" in frame.f_globals:
            sites = frame.f_globals["rx_sites"]
            self._sites[id(sites)] = sites
            self._at = self._spent.setdefault((id(sites), frame.f_lineno), [0, 0])


def running(thread: int) -> tuple[Place, ...]:
    """The places where a thread is now, outermost first."""
    frame: FrameType | None = sys._current_frames().get(thread)
    places: list[Place] = []
    while frame is not None:
        found = _found(frame, frame.f_lineno)
        if found is not None:
            places.append(Place(found[0], _turns(*found, frame)))
        frame = frame.f_back
    return tuple(reversed(places))


def progress(places: Iterable[Place]) -> float:
    """The fraction of the outermost function that is done, from 0 to 1. A loop with an unknown number of turns counts as not
    begun."""
    done, share = 0.0, 1.0
    for place in places:
        for around, turn in zip(place.site.around, place.turns, strict=True):
            done, share = done + share * around.done, share * around.share
            if turn.done is None or not turn.total:
                return done
            done, share = done + share * turn.done / turn.total, share / turn.total
            if turn.is_condition:
                return done
        done, share = done + share * place.site.done, share * place.site.share
    return done


def _joined(places: Iterable[Place]) -> list[Place]:
    """The places; the turns around an outlined part are added to the place in it."""
    whole: list[Place] = []
    turns: tuple[TracedTurn, ...] = ()
    for place in places:
        turns = (*turns, *place.turns)
        if not place.site.outlined:
            whole.append(Place(place.site, turns))
            turns = ()
    return whole


def _turns(site: StepSite, names: Mapping[str, str], frame: FrameType) -> tuple[TracedTurn, ...]:
    if not site.around:
        return ()
    known = {**frame.f_globals, **frame.f_locals}
    return tuple(_turn(around, names, known) for around in site.around)


def _turn(around: Around, names: Mapping[str, str], known: Mapping[str, RunValue]) -> TracedTurn:
    loop = around.loop
    values = {slot: known.get(names.get(slot, slot)) for slot in names_of(loop.range) | {loop.index}}
    whole = _size(total(loop.span, loop.range), values) if loop.range is not None else None
    done = _size(number(loop.span, loop.index, loop.range), values)
    return TracedTurn(loop, done, whole, values[loop.index], around.is_condition)


def _size(size: core.SizeExpr, values: Mapping[str, RunValue]) -> int | None:
    """Evaluate a size; None if a value is missing: before its first turn a loop has no index."""
    try:
        return int(evaluate(size, values))
    except (ArithmeticError, LookupError, TypeError):
        return None


def _found(frame: FrameType, line: int | None) -> tuple[StepSite, Mapping[str, str]] | None:
    """The site of a line of generated code, and the locals of its slots."""
    if frame.f_code.co_filename != FILENAME or line is None:
        return None
    found: tuple[StepSite, Mapping[str, str]] | None = frame.f_globals["rx_sites"].get(line)
    return found


def _values(site: StepSite, names: Mapping[str, str], frame: FrameType) -> Namespace:
    known = {**frame.f_globals, **frame.f_locals}
    slots = reads(site.step) if site.step is not None else ()
    return {slot: known[names.get(slot, slot)] for slot in slots if names.get(slot, slot) in known}


def _given(names: Mapping[str, str], frame: FrameType) -> Namespace:
    """The parameters of the Python function in a frame, without a plan and those whose locals other slots have taken."""
    code, taken = frame.f_code, {"plan", *names.values()}
    params = code.co_varnames[: code.co_argcount]
    return {p: frame.f_locals[p] for p in params if p in frame.f_locals and p not in taken}
