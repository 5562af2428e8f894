"""`rx.onnx`: the shapes of models, rules for operators, and models to be called."""

from __future__ import annotations

from os import PathLike
from typing import Any

from .api import load as _load
from .module import Module
from .onnx import Contract, Inferences, Inferred, NodeStatus, Policy, Proto, infer, model_file, rule

__all__ = ["Contract", "Inferences", "Inferred", "NodeStatus", "Policy", "infer", "load", "rule"]


def load(model: str | PathLike[str] | bytes | Proto, **options: Any) -> Module:
    """A model as a module whose function is `main`: a file, its bytes, or an onnx.ModelProto. With `engine="onnxruntime"` it is
    the model itself that runs, and a call that does not fit is refused before. The other options are those of `rx.load`;
    raises CheckError where the model is rejected, and OSError where it cannot be read."""
    with model_file(model) as (path, _):
        return _load(path, **options)
