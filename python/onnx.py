"""ONNX models from Python: the shapes of every value for all sizes, and rules for operators that Rx does not know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from .. import pipeline
from ..frontends.onnx.dynamic import with_symbols
from ..frontends.onnx.inference import Inference, Inferred, NodeStatus, Policy, inference
from ..frontends.onnx.model import Model
from ..frontends.onnx.operators.registry import rule
from ..frontends.onnx.prelude import Prelude, read_prelude
from ..frontends.onnx.reading import read_model
from ..frontends.onnx.translate import translate
from ..frontends.onnx.writing import write_shapes
from ..lang.diagnostics import Diagnostic, RxError
from ..lang.files import CALLED, is_model
from ..lang.node import Node, replace
from ..lang.parser import decode
from ..lang.pause import collector_paused
from ..model.check import check_model
from ..model.contract import Contract
from ..model.false_declarations import false_declarations
from ..model.tried import Tried, tried_as
from ..model.under_demands import with_demands
from ..simplify.known.outcome import Options
from .size import Size

__all__ = ["Contract", "Inferences", "Inferred", "NodeStatus", "Policy", "infer", "rule"]


class Proto(Protocol):
    """An onnx.ModelProto."""

    def SerializeToString(self) -> bytes: ...


class Inferences(Node):
    """The result of inference for a model: `values` has the shape and dtype of each value by name, as texts; `nodes` has the
    outcome of each node. `data` is the model if it is in no file."""

    model: Model
    inference: Inference
    diagnostics: tuple[Diagnostic, ...]
    policy: Policy
    data: bytes | None = None
    dynamic: tuple[str, ...] = ()
    prelude: Prelude | None = None

    @property
    def contract(self) -> Contract | None:
        """The model's conditions on its inputs, with their nodes and witnesses, as `rx check` prints them. They are
        computed on first use, from the file as it is then; None if an error prevents it."""
        with model_file(self.model.path if self.data is None else self.data) as (path, _):
            return check_model(path, path.name, dynamic=self.dynamic, prelude=self.prelude).contract

    @property
    def ok(self) -> bool:
        return all(d.severity != "error" for d in self.diagnostics)

    @property
    def values(self) -> Mapping[str, Inferred]:
        """The shape and dtype of each value, by name."""
        return self.inference.values

    @property
    def nodes(self) -> tuple[NodeStatus, ...]:
        return self.inference.nodes

    def shape(self, name: str) -> tuple[Size | None, ...] | None:
        """The sizes of a value; None for a size that is unknown, or instead of the tuple if the rank is unknown."""
        found, names = self.inference.values[name].shape, self.inference.names
        if found is None:
            return None
        return tuple(None if s == "?" else Size(names.get(s, s) if isinstance(s, str) else s) for s in found)

    def write(self, path: str | PathLike[str], copy_data: bool = True, contract: str | None = None) -> None:
        """Write the model with its shapes, and its contract if it has one. External data is copied beside it, or linked.
        Raises OSError."""
        write_shapes(self.model, self.inference, self.policy, Path(path), self.data, copy_data, contract)


def infer(
    model: str | PathLike[str] | bytes | Proto,
    policy: Policy = "reconcile",
    dynamic: Sequence[str] = (),
    prelude: str | PathLike[str] | None = None,
) -> Inferences:
    """The symbolic shapes of every value of a model: a file, its bytes, or an onnx.ModelProto.

    The result's `values["name"].shape` has ints, expressions over the sizes of the inputs like `"t * 4"`, and `"?"`;
    `write` writes them into the model, and `contract` has its conditions on its inputs. A false declaration of the model
    is a warning, and an error with the policy `"strict"`; `"overwrite"` and `"ignore"` report none, and `write` keeps it
    with `"ignore"` alone. `dynamic` turns declared sizes into symbols: `"images.0=b"`, `"*.0"`; `prelude` is a file with
    rules in Rx. Raises RxError if the model cannot be read, ValueError for a wrong policy or `dynamic`, and for a file
    whose name does not end in `.onnx`.
    """
    with model_file(model) as (path, data):
        rules = None if prelude is None else prelude_of(Path(prelude))
        return infer_model(path, policy, dynamic, rules, data)


def prelude_of(path: Path) -> Prelude:
    """The rules in a file; raises OSError if it cannot be read, and RxError if it is not valid Rx."""
    source, problems = decode(path.read_bytes(), str(path))
    if problems:
        raise RxError(*problems)
    return read_prelude(source)


@contextmanager
def model_file(model: str | PathLike[str] | bytes | Proto) -> Iterator[tuple[Path, bytes | None]]:
    if isinstance(model, str | PathLike):
        path = Path(fspath(model))
        if not is_model(path.name):  # its weights are found by its name
            raise ValueError(f"{str(path)!r} is not called like an ONNX model: {CALLED}")
        yield path, None
        return
    data = model if isinstance(model, bytes) else model.SerializeToString()
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(data)
        yield path, data


@collector_paused
def infer_model(
    path: Path,
    policy: Policy,
    dynamic: Sequence[str] = (),
    prelude: Prelude | None = None,
    data: bytes | None = None,
) -> Inferences:
    options = Options(allow_empty=True, supposing=True, errors_only=True)

    def check(model: Model) -> Tried:
        translation = translate(model, prelude=prelude)
        return tried_as(model, translation, pipeline.loaded(translation.source, path.parent), options)

    tried = check(with_symbols(read_model(path), dynamic))
    tried = with_demands(tried, lambda given: tried.checked(replace(options, given=(given,)))) or tried
    model, translation, report = tried.model, tried.translation, tried.report
    shapes = report.checked.shapes if report.checked is not None else ()
    found = inference(model, translation, shapes, report.diagnostics, report.counts)
    wrong = [d for d in report.diagnostics if d.severity == "error"]
    is_told = policy in ("reconcile", "strict")
    said = false_declarations(tried, found, policy == "strict") if is_told else ()
    diagnostics = (*translation.notes, *wrong, *said)
    return Inferences(model, found, diagnostics, policy, data, tuple(dynamic), prelude)
