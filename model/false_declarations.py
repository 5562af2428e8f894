"""False declarations of a model about its own values, as warnings, or as errors with `--strict`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ..frontends.onnx.declared import contradictions
from ..frontends.onnx.inference import Inference, inference
from ..frontends.onnx.names import Originals
from ..lang import codes
from ..lang.checked import Takes
from ..lang.diagnostics import Diagnostic, error, warning
from ..lang.source import Source, Span
from ..simplify.solver.numbers import holds_at
from .tried import Tried


def false_declarations(tried: Tried, found: Inference | None, strict: bool) -> tuple[Diagnostic, ...]:
    """Each declared shape or dtype that differs from the one that the nodes give; `found` has the inferred values, in the
    model's names for sizes, if they are known already."""
    make = error if strict else warning
    source, found = tried.translation.source, found or _inference(tried)
    lines = {made.what: number for number, made in sorted(source.made.items(), reverse=True)}
    said = contradictions(tried.model, found, _takes(tried), holds_at)
    return tuple(make(codes.E248, str(c), _place(source, lines.get(c.node or ""))) for c in said)


def _inference(tried: Tried) -> Inference:
    report = tried.report
    shapes = () if report.checked is None else report.checked.shapes
    return inference(tried.model, tried.translation, shapes, report.diagnostics, report.counts)


def _takes(tried: Tried) -> Takes:
    """A test whether the model takes inputs with some sizes, in its own names; it is False where sizes alone cannot tell."""
    names, checked = Originals(tried.translation.sizes).sizes, tried.report.checked

    @cache
    def decided() -> Takes | None:
        return None if checked is None else checked.takes("main")

    def takes(sizes: Mapping[str, int]) -> bool:
        passes = decided()
        return passes is not None and passes({made: sizes[name] for made, name in names.items() if name in sizes})

    return takes


def _place(source: Source, line: int | None) -> Span:
    """The first line of a node, or of the model."""
    at = 0 if line is None else source.line_starts()[line - 1]
    text = source.line(1 if line is None else line)
    return Span(source, at + len(text) - len(text.lstrip()), at + len(text))
