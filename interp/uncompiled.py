"""Functions that PyTorch's compiler must not trace: a program runs over NumPy."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

_REASON = "a program of Rx runs over NumPy"
_KEPT: dict[Callable[..., Any], Callable[..., Any]] = {}


def uncompiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a loaded PyTorch compiler calls it, between two graphs; under `fullgraph` the compiler raises its own
    error."""
    if "torch._dynamo" not in sys.modules:
        return function
    if function not in _KEPT:
        _KEPT[function] = _disabled(function)
    return _KEPT[function]


def _disabled(function: Callable[..., Any]) -> Callable[..., Any]:
    disable = sys.modules["torch"].compiler.disable
    said = {"reason": _REASON} if "reason" in inspect.signature(disable).parameters else {}  # since PyTorch 2.7
    made: Callable[..., Any] = disable(function, **said)
    return made
