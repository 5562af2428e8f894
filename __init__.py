"""Rx: a shape-assertion language for tensor programs. `rx.load("ff.rx").ff(x)`; slow modules are imported on first use."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing is slow, and an interrupt of `rx` during it would not be caught
if TYPE_CHECKING:
    from typing import Any

    from .lang.diagnostics import Diagnostic as Diagnostic
    from .lang.installed import __version__ as __version__
    from .pipeline import Report as Report
    from .python.api import (
        CheckError as CheckError,
        ShapeError as ShapeError,
        check_source as check_source,
        load as load,
        loads as loads,
    )
    from .python.compose import compose as compose
    from .python.condition import Condition as Condition
    from .python.decorate import checked as checked
    from .python.signature import signature as signature
    from .python.size import Size as Size, max as max, min as min
    from .python.traced import trace as trace

# The module of each public name. `import *` does not import `min` and `max` (of sizes), which would hide Python's.
_PUBLIC = {
    "load": ".python.api",
    "loads": ".python.api",
    "check_source": ".python.api",
    "CheckError": ".python.api",
    "ShapeError": ".python.api",
    "Report": ".pipeline",
    "Diagnostic": ".lang.diagnostics",
    "Size": ".python.size",
    "Condition": ".python.condition",
    "checked": ".python.decorate",
    "compose": ".python.compose",
    "signature": ".python.signature",
    "trace": ".python.traced",
    "max": ".python.size",
    "min": ".python.size",
    "__version__": ".lang.installed",
}
__all__ = [name for name in _PUBLIC if name not in ("max", "min", "__version__")]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "onnx":
        return import_module(".python.onnx_models", __name__)
    if name == "torch":
        return import_module(".python.torch_rules", __name__)
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_PUBLIC[name], __name__), name)
    globals()[name] = found
    return found


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext rxlang`: register programs in cells, `%%rx`, and `%rx`."""
    from .notebook.magics import register  # IPython exists only in notebooks

    register(shell)


def __dir__() -> list[str]:
    return sorted((*globals(), *_PUBLIC))
