"""The check of PyTorch code: errors at its own lines, and the contract of its inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from pathlib import Path

from ..frontends.torch import target as targets
from ..frontends.torch.arguments import declared_in
from ..frontends.torch.bodies import WantedBody, folded, functions, shared
from ..frontends.torch.places import PythonPlace
from ..frontends.torch.really import Raised, raised
from ..frontends.torch.ruled import size_of
from ..frontends.torch.run import Trace, Unruled
from ..frontends.torch.target import Target, Unloadable
from ..lang import codes
from ..lang.checked import Checked, Conditions, Counts
from ..lang.diagnostics import Diagnostic, error, warning
from ..lang.expressions import names_in
from ..lang.given import Given
from ..lang.node import Node, replace
from ..lang.pause import collector_paused
from ..lang.source import Source, Span
from ..pipeline import Report, check_loaded, loaded
from ..simplify.known.outcome import Options
from ..simplify.solver.numbers import holds_at
from ..simplify.solver.prove import prove
from .accepted import with_short_outputs
from .arms_by_data import Arms
from .beside import wrong
from .by_paths import of_all_paths
from .contract import Contract
from .path_conditions import PathConditions
from .paths import FoundPaths, OtherPath, paths_of, program
from .python_helps import with_helps
from .replay import failure_at
from .rests import rests_on
from .told import ReadRun, Told, once
from .traced_contract import contract_of_paths
from .verdicts import Verdicts

# Attempts to find other hints where the code refuses those it had.
_MOST_HINTS = 8
# Sizes to run the code with where its trace stops, those of pictures and squares for `int(n ** 0.5)` last.
_TRIED, _LARGE, _SQUARES = (1, 2, 3, 4, 8), (32, 224, 256), (9, 16, 36, 49, 64, 196)
_MOST_ROWS, _MOST_ELEMENTS, _LARGEST = 8, 2**21, 4096
# The factor for hints that are too small.
_LARGER = 37
# The most checks of a run with functions in it.
_MOST_FOLDS = 2


class CheckedPython(Node):
    """`contract` is None if an error prevents one; `trace` is the first run, `known_for` the places where a result holds for
    the hints alone; `supposed` are the calls without a row, `helped` the diagnostics with a help and the reason to leave it
    (see `Helped`)."""

    report: Report
    trace: Trace | None = None
    contract: Contract | None = None
    known_for: tuple[Diagnostic, ...] = ()
    supposed: tuple[Unruled, ...] = ()
    helped: tuple[tuple[Diagnostic, str], ...] = ()

    @property
    def is_unread(self) -> bool:
        """Whether the trace stopped; the code may be right."""
        return any(d.code.is_unread for d in self.report.diagnostics)


def check_python(
    name: str, init: str | None, args: Sequence[str], folder: Path, options: Options | None = None
) -> CheckedPython:
    """Check the object that `PATH.py:NAME` names. This imports and runs the user's code."""
    try:
        target = targets.load(name, init, args, folder)
    except Unloadable as problem:
        return CheckedPython(_failed(name, str(problem), problem.place))
    return check_target(target, folder, options)


@collector_paused
def check_target(
    target: Target, folder: Path, options: Options | None = None, traced: Callable[[str], object] = len
) -> CheckedPython:
    """Check a loaded target. `traced` gets the text that the check depends on, before it begins."""
    given = options or Options()
    found = _paths_of(target, _run(target, 0), given)
    second = _second(target, found)
    if found.first.stopped is None:
        traced(rests_on(target, folder, given, found, second))
    before = found
    found, read = _first_that_works(found, target, folder, given)
    second = second if found is before else _second(target, found)
    first, report, told = found.first, read.report, read.told
    known_for = tuple(_known_for(first, second, told))
    said = [*known_for, *wrong(told, report, partial(_checked, options=given))]
    remarks = [d for d in said if d.severity != "error" and d not in known_for]
    contract = None
    if report.ok and report.checked is not None:
        contract, more = _judged(target, found, read, report.checked, folder, given)
        places = {d.span for d in said if d.severity == "error"}
        said += [d for d in more if d.span not in places]
    if not report.ok and not any(d.severity == "error" for d in said):
        said += [told.of(d) for d in report.diagnostics if d.severity == "error"]
    if first.stopped is not None and first.stopped.said and not any(d.severity == "error" for d in said):
        said.append(_stopped(target, first, told, given))
    said, helped = list(once(_mistakes(said, remarks))), tuple[tuple[Diagnostic, str], ...]()
    if any(d.severity != "note" and d not in known_for for d in said):
        said, helped = _helped(said, target.name, first, folder, given)
    counts = _without_supposed(told, report, given)
    report = replace(report, diagnostics=tuple(said), counts=counts)
    return CheckedPython(report, told.trace, contract if report.ok else None, known_for, first.supposed, helped)


def _judged(
    target: Target, found: FoundPaths, read: ReadRun, checked: Checked, folder: Path, given: Options
) -> tuple[Contract, list[Diagnostic]]:
    """The contract of code that works, for all paths, and its mistakes that some sizes survive."""
    by_sizes = sorted((o for o in found.others if o.place is None), key=_is_to_be_read)
    briefly = partial(_result, name=target.name, folder=folder, options=given, alone=True)
    judged = PathConditions(read, by_sizes, briefly, texts_of(given.given))
    paths = of_all_paths(contract_of_paths(read.told, checked, judged), judged)
    by_data = [(o, _result(o, target.name, folder, given)) for o in found.others if o.place]
    arms = Arms(read.told, found.first.open_data, by_data)
    cases = {c.text for c in judged.conditions if judged.selects_path(c) and not judged.of(c)}
    verdicts = Verdicts(read.told, cases, all_paths=paths.is_whole)
    said = [*verdicts.of(checked, given.strict), *arms.said(), *(paths.errors() if given.strict else ())]
    return with_short_outputs(arms.joined(paths.contract)), said


def _read(name: str, run: Trace, folder: Path, options: Options, *, alone: bool = False) -> ReadRun:
    """Check a run: equal module bodies become functions, the first body in line if they have conditions; the whole run in
    line if that leaves checks open. With `alone`, conditions may stay in the functions, and a failing check is returned at
    once."""
    found, wanted = functions(run) if run.stopped is None else (), WantedBody()
    run = shared(run, found)
    for _ in range(_MOST_FOLDS if found else 0):
        told = Told(name, folded(run, found, wanted), folder)
        report = _checked(told, options)
        if report.checked is None:
            break
        if not report.ok:
            if alone:
                return ReadRun(report, told)
            break
        said = {c.name.removeprefix("@"): c for c in report.checked.conditions}
        open_ = {f.name: said[f.name] for f in found if f.name in said and not _is_proved(said[f.name])}
        if not open_:
            return ReadRun(report, told)
        own = [c.text for of in open_.values() for c in of.conditions]
        if alone and all(map(_is_said, said.values())) and set(names_in(*own)) <= set(run.hints):
            return ReadRun(report, told, tuple(own))
        wanted = WantedBody(
            {name: tuple(c.text for c in of.conditions) for name, of in open_.items()}, frozenset(open_)
        )
        found = tuple(f for f in found if f.name not in open_ or len(f.bodies) > 2 and not open_[f.name].left)
        if not found:
            break
    told = Told(name, run, folder)
    return ReadRun(_checked(told, options), told)


def _is_proved(said: Conditions) -> bool:
    return _is_said(said) and not said.conditions


def _is_said(said: Conditions) -> bool:
    """Whether the conditions of a function cover all its checks."""
    return said.exact and not (said.left or said.supposed or said.by_sizes)


def _checked(told: Told, options: Options) -> Report:
    source = Source(told.name, told.trace.text, told.made)
    # Operations that work only on empty tensors count as failing; `Verdicts` handles `strict`.
    return check_loaded(
        loaded(source, told.folder, ()), replace(options, strict=False, supposing=True, spare_arms=True)
    )


def _helped(
    said: Sequence[Diagnostic], name: str, run: Trace, folder: Path, options: Options
) -> tuple[list[Diagnostic], tuple[tuple[Diagnostic, str], ...]]:
    """The diagnostics, with helps in Python, which are tried in the program without functions; and those that have one."""
    told = Told(name, run, folder)
    asked = replace(options, strict=False, supposing=True, spare_arms=True)
    found = list(with_helps(said, told, _checked(told, options), asked))
    return [one for one, _ in found], tuple((one, left) for one, left in found if left is not None)


_SUPPOSED = re.compile(r" ?: Tensor\([^:=]*\) = ")


def _without_supposed(told: Told, report: Report, options: Options) -> Counts:
    """Count as proved only the checks that need no supposed result of a call without a rule; the rest is checked when it
    runs."""
    run = told.trace
    if not run.supposed or report.checked is None:
        return report.counts
    lines = run.text.splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith("extern"):
            lines[number - 1] = _SUPPOSED.sub(" : Tensor = ", line)
        elif number in run.steps and run.steps[number].kind == "supposed":
            lines[number - 1] = _SUPPOSED.sub(" = ", line)
    tried = _checked(Told(told.name, replace(run, text="\n".join(lines) + "\n"), told.folder), options)
    proved = min(report.counts.proved, tried.counts.proved if tried.checked is not None else 0)
    return replace(report.counts, proved=proved, residual=report.counts.residual + report.counts.proved - proved)


def _result(other: OtherPath, name: str, folder: Path, options: Options, *, alone: bool = False) -> ReadRun | None:
    """The check of another path; None where the code or torch refuses it, and where it computes the same."""
    return _read(name, other.run, folder, options, alone=alone) if _is_to_be_read(other) else None


def _is_to_be_read(other: OtherPath) -> bool:
    return other.run.stopped is None and not other.same


# The runs


def _paths_of(target: Target, first: Trace, options: Options, otherwise: frozenset[str] = frozenset()) -> FoundPaths:
    def run(sizes: Mapping[str, int], otherwise: frozenset[str]) -> Trace:
        return _refused(target, targets.trace(target, sizes, otherwise))

    return paths_of(run, first, texts_of(options.given), otherwise)


def _second(target: Target, found: FoundPaths) -> Trace:
    """The run with other hints on the path of the first one."""
    return _run(target, 1, _hints_within(found.first, targets.hints(target, 1)), found.otherwise)


def _first_that_works(found: FoundPaths, target: Target, folder: Path, options: Options) -> tuple[FoundPaths, ReadRun]:
    """The run that the others are compared with: another path than the first one if that never works."""

    def checked(one: Trace) -> ReadRun:
        return _read(target.name, one, folder, options)

    read = checked(found.first)
    if read.report.ok and found.first.stopped is None:
        return found, read
    for other in found.others:
        if other.run.stopped is None and (theirs := checked(other.run)).report.ok:
            otherwise = found.otherwise if other.place is None else found.otherwise ^ {other.place}
            found = _paths_of(target, other.run, options, otherwise)
            return found, theirs if found.first is other.run else checked(found.first)
    if any(step.kind == "number" for _, step in found.first.facts):  # the code may refuse that number
        # A loop over one element fits by chance.
        several = (p for p in _equal_sizes(target) if not {1, *_LARGE}.intersection(p.values()))
        point = next((p for p in several if raised(target, p) is None), None)
        there = None if point is None else targets.trace(target, point, found.otherwise)
        if there is not None and there.stopped is None and (theirs := checked(there)).report.ok:
            return _paths_of(target, there, options, found.otherwise), theirs
    return found, read


def _equal_sizes(target: Target) -> Iterator[dict[str, int]]:
    """Sizes to run the code with, the same for all axes; few rows for large ones, and none that take much memory."""
    inputs = list(declared_in(tuple(target.args.values())))
    first = {one.shape[0] for one in inputs if one.shape}
    for n in (*_TRIED, *_LARGE, *_SQUARES):
        sizes = {name: 2 if n > _MOST_ROWS and name in first else n for name in target.sizes}
        if all(prod(size_of(str(d), sizes) for d in one.shape) <= _MOST_ELEMENTS for one in inputs):
            yield sizes


def _run(
    target: Target, number: int, hints: Mapping[str, int] | None = None, otherwise: frozenset[str] = frozenset()
) -> Trace:
    """A run with its own hints; with others if the code refuses those."""
    hints = targets.hints(target, number) if hints is None else hints
    for _ in range(_MOST_HINTS):
        found = targets.trace(target, hints, otherwise)
        if found.is_of_nothing and max(hints.values(), default=0) * _LARGER <= _LARGEST:
            hints = {name: size * _LARGER for name, size in hints.items()}
            continue
        found = _refused(target, found)
        if found.stopped is None or found.stopped.last is None:
            break
        other = _hints_that(found, hints)
        if other is None:
            break
        hints = other
    return found


def _refused(target: Target, run: Trace) -> Trace:
    """Mark a run that the trace could not continue as refused, if the code raises there with these numbers."""
    stopped = run.stopped
    if stopped is None or run.is_cut or not (stopped.is_unread and stopped.said):
        return run
    if max(run.hints.values(), default=0) > _LARGEST:
        return run  # its data may exceed the memory
    really = raised(target, run.hints)
    if really is None or really.place.key != stopped.place.key:
        return run
    return replace(run, stopped=replace(stopped, said=really.said, is_unread=False))


def _hints_within(run: Trace, others: Mapping[str, int]) -> dict[str, int]:
    """Other hints for the path that a run took, as far as there are any."""
    found = dict(run.hints)
    for name, size in others.items():
        for tried in (size, found[name] + 1, found[name] + 2, found[name] - 1):
            if all(holds_at(text, {**found, name: tried}) is not False for text, _ in run.facts):
                found[name] = tried
                break
    return found


def _hints_that(run: Trace, hints: Mapping[str, int]) -> dict[str, int] | None:
    """Hints that break the last condition of a run and satisfy those before it."""
    assert run.stopped is not None and run.stopped.last is not None
    facts = [text for text, step in run.facts[:-1] if step.kind in ("stated", "branch")]
    others = [f"{name} == {hint}" for name, hint in hints.items() if name not in names_in(run.stopped.last)]
    for kept in (others, []):
        found = prove([*facts, *kept, *(f"{name} >= 2" for name in hints)], run.stopped.last)
        witness = found.get("witness")
        if witness is not None:
            return {name: witness.get(name, hint) for name, hint in hints.items()}
    return None


def _known_for(first: Trace, second: Trace, told: Told) -> Iterator[Diagnostic]:
    """Warnings where a number was asked for, and where the two runs differ."""
    pinned = False
    for text, step in first.facts:
        if step.kind == "number":
            pinned = True
            is_of_sizes = set(names_in(text)) <= set(first.hints)
            which = f"known for {text.replace('==', '=')} only: a number is asked for here"
            by_data = "known for one number only: it is asked for here, and data decides which it is"
            yield warning(codes.W311, which if is_of_sizes else by_data, told.span(step.place))
    if not pinned and program(first) != program(second):
        pairs = zip(first.text.splitlines(), second.text.splitlines(), strict=False)
        line = next((n for n, (a, b) in enumerate(pairs, 1) if a != b), 0)
        place = first.steps[line].place if line in first.steps else None
        said = "other sizes take another branch here: this result holds for the sizes that take this one"
        yield warning(codes.W311, said, told.span(place))


# Messages


def texts_of(given: Sequence[Given]) -> list[str]:
    """The given conditions on the inputs."""
    return [text for g in given if g.is_for("main") for text in g.texts]


def _mistakes(said: Sequence[Diagnostic], remarks: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Drop the checker's remarks beside errors: they may follow from these."""
    is_wrong = any(d.severity == "error" for d in said)
    yield from (d for d in said if not is_wrong or d not in remarks)


def _failed(name: str, said: str, place: PythonPlace | None) -> Report:
    told = Told(name, Trace("", {}, (), {}, {}, (), (), (), ()), Path.cwd())
    return Report((name,), (error(codes.E252, said, told.span(place)),), Counts(), None)


def _stopped(target: Target, run: Trace, told: Told, options: Options) -> Diagnostic:
    """The reason that ended a run: a mistake if the code raises there with all sizes that are tried."""
    assert run.stopped is not None
    if run.is_cut:
        return _untraced(run, told)
    points = [run.hints, *_equal_sizes(target)]
    points = [p for p in points if all(holds_at(text, p) is not False for text in texts_of(options.given))]
    found: list[Raised] = []
    for point in points:
        one = raised(target, point)
        if one is None:
            return _untraced(run, told, point)
        found.append(one)
    here = next((one for one in found if one.place.key == run.stopped.place.key), None)
    return error(codes.E318, here.said, told.span(here.place)) if here is not None else _untraced(run, told)


def _untraced(run: Trace, told: Told, point: Mapping[str, int] | None = None) -> Diagnostic:
    assert run.stopped is not None
    runs = f"it runs with {', '.join(f'{n} = {size}' for n, size in point.items())}" if point else ""
    said = f"the trace stops here: {run.stopped.said.rstrip(': ')}"
    return error(codes.E252, said, told.span(run.stopped.place), notes=(runs,) if runs else ())


def at_sizes(target: Target, sizes: Mapping[str, int], folder: Path) -> Diagnostic | None:
    """The failure at concrete sizes, on the path that they take."""
    run = targets.trace(target, sizes)
    told = Told(target.name, run, folder)
    checked = check_loaded(
        loaded(Source(target.name, run.text, told.made), folder, ()), Options(allow_empty=True)
    ).checked
    found = None if checked is None else failure_at(checked, told.params, sizes)
    if found is None and run.stopped is not None:
        really = None if run.is_cut else raised(target, sizes)
        return _untraced(run, told) if really is None else error(codes.E318, really.said, told.span(really.place))
    return None if found is None else replace(told.of(found), severity="error")


def spans(name: str, trace: Trace, folder: Path) -> Callable[[PythonPlace | None], Span]:
    """The function from places to spans in the user's files."""
    return Told(name, trace, folder).span
