"""`rx.onnx`: shapes of models, rules for operators, and models as callable modules."""

from __future__ import annotations

from os import PathLike
from typing import Any

from .api import load as _load
from .module import Module
from .onnx import Contract, Inferences, Inferred, NodeStatus, Policy, Proto, infer, model_file, rule

__all__ = ["Contract", "Inferences", "Inferred", "NodeStatus", "Policy", "infer", "load", "rule"]


def load(model: str | PathLike[str] | bytes | Proto, **options: Any) -> Module:
    """A model as a Module whose function is `main`: a file, its bytes, or an onnx.ModelProto. With `engine="onnxruntime"`
    the model itself runs, after a check of its inputs. The other options are those of `rx.load`. Raises CheckError if the
    model is rejected, and OSError if it cannot be read."""
    with model_file(model) as (path, _):
        return _load(path, **options)
