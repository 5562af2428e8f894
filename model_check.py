"""A model file to what checking it says: errors, and the contract of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from . import pipeline
from .contract import Contract, contract
from .frontends.onnx.dynamic import with_symbols
from .frontends.onnx.model import Model, TensorType
from .frontends.onnx.reading import read_model
from .frontends.onnx.translate import Translation, translate
from .lang.checked import Counts
from .lang.diagnostics import Diagnostic, RxError
from .lang.given import read_given
from .lang.node import Node, replace
from .lang.source import Source
from .pipeline import Report
from .simplify.known.outcome import Options


class CheckedModel(Node):
    """`contract` is None where an error stands in its way, `model` where the file cannot be read."""

    report: Report
    model: Model | None = None
    contract: Contract | None = None


def check_model(
    path: Path,
    name: str,
    roots: tuple[Path, ...] = (),
    options: Options | None = None,
    dynamic: Sequence[str] = (),
    at: Sequence[str] = (),
) -> CheckedModel:
    """Check a model with the sizes `dynamic` made free, at the sizes `at` where there are any. Raises ValueError for one of
    these that names nothing."""
    try:
        model = with_symbols(read_model(path), dynamic)
        translation = translate(model)
    except RxError as problem:
        said = tuple(_at_file(d, name) for d in problem.diagnostics)
        return CheckedModel(Report((name,), said, Counts(), None))
    translation = replace(translation, source=Source(name, translation.source.text, translation.source.made))
    options = replace(options or Options(), allow_empty=True, supposing=True)
    sizes = tuple(read_given(f"@main: {text}") for text in conditions_at(model, translation, at))
    options = replace(options, given=(*options.given, *sizes))
    report = pipeline.check_source(translation.source, path.parent, roots, options)
    kept = tuple(d for d in report.diagnostics if not d.code.is_quiet)
    report = replace(report, diagnostics=(*translation.notes, *kept))
    return CheckedModel(report, model, contract(model, translation, report))


def _at_file(said: Diagnostic, name: str) -> Diagnostic:
    """What is said of a model as a whole stands in its file."""
    if said.span.source.text or said.span.source.name == name:
        return said
    return replace(said, span=said.span._replace(source=Source(name, "")))


def conditions_at(model: Model, translation: Translation, sizes: Sequence[str]) -> list[str]:
    """`H=40` and `images.2=40` as conditions on the sizes of the program."""
    return [_condition(model, translation, text) for text in sizes]


def _condition(model: Model, translation: Translation, text: str) -> str:
    name, equals, number = text.partition("=")
    if not equals or not number.isdecimal():
        raise ValueError(f"{text!r} is not like H=40 or images.2=40")
    made = {original: rx for rx, original in translation.names.items()}
    place = _declared(model, name)
    size = made.get(name, name) if place is None else f"{made.get(place[0], place[0])}.dim({place[1]})"
    return f"{size} == {number}"


def _declared(model: Model, text: str) -> tuple[str, int] | None:
    """The input and the axis that `images.2` names."""
    name, _, axis = text.rpartition(".")
    for value in model.graph.inputs:
        shape = value.type.shape if isinstance(value.type, TensorType) else None
        if value.name == name and axis.isdecimal() and shape is not None and int(axis) < len(shape):
            return name, int(axis)
    return None
