"""What the process does that runs the user's code: it is imported, traced and checked, and told as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .. import pipeline
from ..frontends.torch.bodies import first_calls
from ..frontends.torch.run import Step
from ..frontends.torch.target import Target, Unloadable, with_data
from ..lang.checked import Binding, Counts
from ..lang.diagnostics import Diagnostic, RxError
from ..lang.files import Files
from ..lang.node import replace
from ..lang.source import NOWHERE
from ..model.asked import AskedOfPython
from ..model.python import Answered, answer, load
from ..model.told import Told
from ..model.traced import CheckedPython, spans
from ..python.inputs import annotated
from ..simplify.known.outcome import Options
from .files import NotLoaded, Unusable


def answered(name: str, asked: AskedOfPython, folder: Path, options: Options) -> Answered:
    """What checking a target says; raises Unusable for what cannot be imported, built or called."""
    target = loaded(name, asked, folder)
    try:
        return answer(target, asked, folder, options)
    except ValueError as wrong:
        raise Unusable(str(wrong)) from None


def loaded(name: str, asked: AskedOfPython, folder: Path) -> Target:
    try:
        return load(name, asked, folder, annotated)
    except Unloadable as problem:
        raise NotLoaded(str(problem), problem.trace) from None
    except ValueError as wrong:
        raise Unusable(str(wrong)) from None


class Model(NamedTuple):
    """Python code as a model that was written: how many nodes it has, or why there is none."""

    nodes: int | None
    diagnostics: tuple[Diagnostic, ...]


def exported(
    name: str, asked: AskedOfPython, folder: Path, options: Options, out: str, checks: str, opset: int
) -> Model:
    """Python code to a model in a file; to be called in a process of its own."""
    from ..interp.engines.onnx_export import export, write  # it loads onnx

    with with_data():
        target = loaded(name, asked, folder)
    try:
        found = answer(target, asked, folder, options).found
    except ValueError as wrong:
        raise Unusable(str(wrong)) from None
    checked, trace = found.report.checked, found.trace
    told = tuple(d for d in found.report.diagnostics if d.severity != "note")
    if not found.report.ok or checked is None or trace is None:
        return Model(None, told)
    weights = {n: v for n, own in trace.weights.items() if (v := _data_of(target, own)) is not None}
    said = Told(name, trace, folder)
    try:
        machine = pipeline.ready(checked, Files(folder))
        function = machine.function("main")
        assert function is not None
        made = export(machine.program, function, machine.code, checks=checks, opset=opset, weights=weights)
    except RxError as problem:
        return Model(None, (*told, *(said.of(d) for d in problem.diagnostics)))
    write(made.model, Path(out))
    return Model(len(made.model.graph.node), (*told, *(said.of(d) for d in made.notes)))


def _data_of(target: Target, name: str) -> Any:
    """The data of a parameter or a buffer of a module; None for what is none."""
    if target.module is None:
        return None
    held = {**dict(target.module.named_parameters()), **dict(target.module.named_buffers())}
    own = held.get(name)
    return None if own is None or own.is_meta else own.detach().cpu().resolve_conj().numpy()


class Line(NamedTuple):
    """A value of Python code: the function that makes it, none of an input, and what is known of it, in the user's words."""

    op: str
    value: Binding


class Read(NamedTuple):
    """Python code as it was read: the program, its values in order, and what checking it says."""

    text: str
    lines: tuple[Line, ...]
    diagnostics: tuple[Diagnostic, ...]
    counts: Counts
    ok: bool


def read(name: str, asked: AskedOfPython, folder: Path, options: Options) -> Read:
    """To be called in a process of its own."""
    found = answered(name, asked, folder, options).found
    assert found.trace is not None
    lines = tuple(_lines(name, found, folder))
    return Read(found.trace.text, lines, found.report.diagnostics, found.report.counts, found.report.ok)


def _lines(name: str, found: CheckedPython, folder: Path) -> Iterator[Line]:
    """The inputs, and each value that a line of the code makes; those of equal modules once, then one for each."""
    trace, checked = found.trace, found.report.checked
    known = {f.name: f for f in checked.shapes} if checked is not None else {}
    if trace is None or "@main" not in known:
        return
    span, inputs = spans(name, trace, folder), {i.name for i in trace.inputs}
    own = {line: known[function] for line, function in first_calls(trace) if function in known}
    for one in (*known["@main"].params, *known["@main"].bindings):
        step = trace.steps.get(one.span.line)
        inner: list[tuple[Binding, Step | None]] = []
        if one.span.line in own:
            made = [(b, trace.steps.get(b.span.line)) for b in own[one.span.line].bindings]
            inner = [(value, at) for value, at in made if at is not None]
        elif step is not None or one.name in inputs:
            inner = [(one, step)]
        for value, at in inner:
            place = span(at.place) if at is not None else NOWHERE
            named = trace.variables.get(value.name, value.name)
            yield Line(at.op if at is not None else "", replace(value, name=named, span=place))
