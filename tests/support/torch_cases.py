"""PyTorch code for the tests of traces, and what they need of torch."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HAS_TORCH = all(importlib.util.find_spec(name) for name in ("torch", "sympy"))
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="torch and sympy are not installed")


def checked(folder: Path, name: str, *args: str, init: str | None = None) -> Any:
    """What a target in a folder says."""
    from rxlang.model.traced import check_python

    sys.modules.pop(Path(name.split(":")[0]).stem, None)
    return check_python(name, init, args, folder)


def lines(found: Any, *severities: str) -> list[int]:
    """The Python lines of what is said."""
    said = [d for d in found.report.diagnostics if d.severity in (severities or ("error", "warning"))]
    return [d.span.line for d in said]


def conditions(found: Any) -> set[str]:
    assert found.contract is not None, [str(d) for d in found.report.diagnostics]
    return {c.condition for c in found.contract.conditions}


def command(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return in_python(folder, "-m", "rxlang", *args)


def in_python(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    done = [sys.executable, *args]
    return subprocess.run(done, cwd=folder, capture_output=True, text=True, timeout=300, env=environment())


def environment() -> dict[str, str]:
    import rxlang

    return {**os.environ, "PYTHONPATH": str(Path(rxlang.__file__).parent.parent), "RX_CACHE_DIR": ""}


def holds(found: Any, sizes: dict[str, int]) -> bool:
    """Whether a contract, of which no part rests on the way that was taken, takes some sizes."""
    from rxlang.simplify.solver.numbers import holds_at

    assert found.contract is not None, [str(d) for d in found.report.diagnostics]
    assert found.contract.given == ()
    return all(holds_at(c.condition, sizes) for c in found.contract.conditions)
