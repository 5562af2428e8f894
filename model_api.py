"""ONNX models from Python: the shapes of every value for all sizes, and what the model demands of its inputs."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from . import pipeline
from .frontends.onnx.inference import Inference, Inferred, NodeStatus, Policy, conflicts, inference
from .frontends.onnx.model import Model
from .frontends.onnx.reading import read_model
from .frontends.onnx.translate import translate
from .frontends.onnx.writing import write_shapes
from .lang import codes
from .lang.diagnostics import Diagnostic, error, warning
from .lang.node import Node
from .lang.source import NOWHERE
from .simplify.known.outcome import Options

__all__ = ["Inferences", "Inferred", "NodeStatus", "Policy", "infer"]


class Inferences(Node):
    """Everything that inference says of a model. `values` has each value by name, `nodes` how each node fared."""

    model: Model
    inference: Inference
    diagnostics: tuple[Diagnostic, ...]
    policy: Policy

    @property
    def ok(self) -> bool:
        return all(d.severity != "error" for d in self.diagnostics)

    def write(self, path: Path, contract: str | None = None) -> None:
        """Write the model with its shapes, and its contract; raises OSError."""
        write_shapes(self.model, self.inference, self.policy, path, contract)


def infer(model: str | PathLike[str], policy: Policy = "reconcile") -> Inferences:
    """The symbolic shapes of every value of a model file; raises RxError where it cannot be read."""
    return infer_model(Path(model), policy)


def infer_model(path: Path, policy: Policy) -> Inferences:
    model = read_model(path)
    translation = translate(model)
    report = pipeline.check_source(translation.source, path.parent, (), Options(allow_empty=True))
    shapes = report.checked.shapes if report.checked is not None else ()
    found = inference(model, translation, shapes, report.diagnostics, report.counts)
    wrong = [d for d in report.diagnostics if d.severity == "error"]
    return Inferences(model, found, (*translation.notes, *wrong, *_conflicts(model, found, policy)), policy)


def _conflicts(model: Model, found: Inference, policy: Policy) -> tuple[Diagnostic, ...]:
    if policy in ("overwrite", "ignore"):
        return ()
    make = error if policy == "strict" else warning
    return tuple(make(codes.E248, f"`{name}` {what}", NOWHERE) for name, what in conflicts(model, found))
