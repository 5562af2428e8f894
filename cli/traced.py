"""The work of the process that runs the user's code: import, trace and check it; the result is plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .. import pipeline
from ..frontends.torch.bodies import first_calls
from ..frontends.torch.really import raised, ran
from ..frontends.torch.run import Step
from ..frontends.torch.target import Target, Unloadable, with_data
from ..interp.shape_error import ShapeError
from ..lang import codes
from ..lang.checked import Binding, Counts
from ..lang.diagnostics import Diagnostic, RxError, error, warning
from ..lang.files import Files
from ..lang.node import replace
from ..lang.source import NOWHERE
from ..model.asked import AskedOfPython
from ..model.paths import branches
from ..model.python import Answered, answer, load
from ..model.told import Told
from ..model.traced import CheckedPython, spans, texts_of
from ..python.inputs import annotated, promised
from ..simplify.known.outcome import Options
from ..simplify.solver.numbers import holds_at
from ..simplify.solver.prove import prove
from .files import NotLoaded, Unusable


def answered(
    name: str, asked: AskedOfPython, folder: Path, options: Options, traced: Callable[[str], object] = len
) -> Answered:
    """The result of checking a target; `traced` receives the key that it depends on. Raises Unusable if the code cannot be
    imported, built or called."""
    target = loaded(name, asked, folder)
    try:
        return answer(target, asked, folder, options, traced)
    except ValueError as wrong:
        raise Unusable(str(wrong)) from None


def loaded(name: str, asked: AskedOfPython, folder: Path) -> Target:
    try:
        return promised(load(name, asked, folder, annotated))
    except Unloadable as problem:
        raise NotLoaded(str(problem), problem.trace) from None
    except ValueError as wrong:
        raise Unusable(str(wrong)) from None


class TracedModel(NamedTuple):
    """Python code that was written as a model: the number of nodes, or None with the reasons."""

    nodes: int | None
    diagnostics: tuple[Diagnostic, ...]


def exported(
    name: str, asked: AskedOfPython, folder: Path, options: Options, out: str, checks: str, opset: int
) -> TracedModel:
    """Write Python code as a model; call it in a separate process."""
    from ..interp.engines.onnx_export import export, write  # it loads onnx

    with with_data():
        target = loaded(name, asked, folder)
    if target.module is not None:
        target.module.eval()
    try:
        found = answer(target, asked, folder, options).found
    except ValueError as wrong:
        raise Unusable(str(wrong)) from None
    checked, trace = found.report.checked, found.trace
    told = tuple(d for d in found.report.diagnostics if d.severity != "note")
    told += tuple(_of_one_path(name, found, options, folder))
    if not found.report.ok or checked is None or trace is None:
        return TracedModel(None, told)
    said = Told(name, trace, folder)
    try:
        machine = pipeline.ready(checked, Files(folder))
        function = machine.function("main")
        assert function is not None
        weights = {p.name: _data(trace.held.get(p.name)) for p in function.params if p.name in trace.weights}
        if unknown := [n for n, data in weights.items() if data is None]:
            raise RxError(error(codes.E253, f"the data of {', '.join(unknown)} is not at hand", NOWHERE))
        made = export(machine.program, function, machine.code, checks=checks, opset=opset, weights=weights)
        _compare(target, found, machine, function, weights)
    except RxError as problem:
        return TracedModel(None, (*told, *(said.of(d) for d in problem.diagnostics)))
    write(made.model, Path(out))
    return TracedModel(len(made.model.graph.node), (*told, *(said.of(d) for d in made.notes)))


def _path(found: CheckedPython, options: Options) -> dict[str, Step]:
    """The conditions of the path taken that do not hold for all sizes accepted by the code."""
    if found.trace is None or found.contract is None:
        return {}
    known = [*(c.condition for c in found.contract.conditions), *texts_of(options.given)]
    own = branches(found.trace)
    return {text: step for text, step in own.items() if prove(known, text)["result"] not in ("valid", "vacuous")}


def _of_one_path(name: str, found: CheckedPython, options: Options, folder: Path) -> Iterator[Diagnostic]:
    assert found.trace is not None
    span = spans(name, found.trace, folder)
    for text, step in _path(found, options).items():
        said = f"the model is for {text} only: the code takes another path here at other sizes"
        yield warning(codes.W311, said, span(step.place))


# Sizes to run the code at besides its own hints; all sizes are equal.
_TRIED = (4, 8, 6, 16, 32, 64, 224, 2, 3, 1)


def _compare(target: Target, read: CheckedPython, machine: Any, function: Any, weights: Mapping[str, Any]) -> None:
    """Compare the results of the program with those of the code: the trace only promises equal shapes, an export needs equal
    numbers."""
    trace = read.trace
    assert trace is not None
    given, wanted = _ran(target, read)
    known = {**weights, **{made: given[trace.variables[made]] for made in (i.name for i in trace.inputs)}}
    try:
        found = machine.call("main", [known[p.name] for p in function.params])
    except ShapeError as problem:
        raise RxError(problem.diagnostic) from None
    parts = found if isinstance(found, tuple) else (found,)
    is_same = len(parts) == len(wanted) and all(map(_is_near, parts, wanted))
    if not is_same:
        raise RxError(
            error(codes.E253, "what is read of this code has its shapes, but gives other numbers than it", NOWHERE)
        )


def _ran(target: Target, read: CheckedPython) -> tuple[dict[str, Any], list[Any]]:
    """The inputs and results of the code at sizes that its contract accepts."""
    assert read.trace is not None
    asked = [c.condition for c in read.contract.conditions] if read.contract is not None else []
    points = [dict(read.trace.hints), *(dict.fromkeys(read.trace.hints, n) for n in _TRIED)]
    points = [point for point in points if max(point.values(), default=0) <= max(_TRIED)]  # a hint may exceed memory
    said = "its contract takes none of those"
    for point in points:
        if any(holds_at(text, point) is False for text in asked):
            continue
        problem = raised(target, point)
        if problem is None:
            return ran(target, point)
        said = problem.said
    raise RxError(
        error(codes.E253, f"the code was run at no sizes that are tried, to compare numbers: {said}", NOWHERE)
    )


def _is_near(one: Any, other: Any) -> bool:
    """Whether two arrays are equal within 1e-4 of the largest element."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not other.size or other.dtype.kind not in "fc":
        return bool((one == other).all())
    most = abs(other).max()
    return bool((abs(one - other) <= 1e-4 * max(most, 1e-3)).all())


def _data(own: Any) -> Any:
    """The data of one of the code's tensors; None if it has none."""
    return None if own is None or own.is_meta else own.detach().cpu().resolve_conj().numpy()


class TracedLine(NamedTuple):
    """A value of Python code, in the user's words: the function that makes it (empty for an input), and its type."""

    op: str
    value: Binding


class PythonReading(NamedTuple):
    """Python code as read: the program, its values in order, and its diagnostics; `path` has the conditions of the path taken
    if there are others."""

    text: str
    lines: tuple[TracedLine, ...]
    diagnostics: tuple[Diagnostic, ...]
    counts: Counts
    ok: bool
    path: tuple[str, ...]


def read(name: str, asked: AskedOfPython, folder: Path, options: Options) -> PythonReading:
    """Read Python code; call it in a separate process."""
    found = answered(name, asked, folder, options).found
    assert found.trace is not None
    lines = tuple(_lines(name, found, folder))
    path = tuple(_path(found, options))
    return PythonReading(found.trace.text, lines, found.report.diagnostics, found.report.counts, found.report.ok, path)


def _lines(name: str, found: CheckedPython, folder: Path) -> Iterator[TracedLine]:
    """The inputs, and each value that a line of the code makes; equal modules are traced once and listed for each use."""
    trace, checked = found.trace, found.report.checked
    known = {f.name: f for f in checked.shapes} if checked is not None else {}
    if trace is None or "@main" not in known:
        return
    span, inputs = spans(name, trace, folder), {i.name for i in trace.inputs}
    own = {line: known[function] for line, function in first_calls(trace) if function in known}
    for one in (*known["@main"].params, *known["@main"].bindings):
        step = trace.steps.get(one.span.line)
        if step is not None and step.kind == "result":
            continue
        inner: list[tuple[Binding, Step | None]] = []
        if one.span.line in own:
            made = [(b, trace.steps.get(b.span.line)) for b in own[one.span.line].bindings]
            inner = [(value, at) for value, at in made if at is not None]
        elif step is not None or one.name in inputs:
            inner = [(one, step)]
        for value, at in inner:
            place = span(at.place) if at is not None else NOWHERE
            named = trace.variables.get(value.name, value.name)
            yield TracedLine(at.op if at is not None else "", replace(value, name=named, span=place))
