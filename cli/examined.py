"""A question about a program and the result of its check, as plain data for other processes and the disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..lang.checked import Counts
from ..lang.choices import Choice
from ..lang.diagnostics import Diagnostic
from ..model.asked import AskedOfPython
from ..simplify.known.outcome import Options

if TYPE_CHECKING:
    from ..frontends.onnx.prelude import Prelude
    from ..model.contract import Contract, Supposed
    from ..model.fixes import ModelFix


class Wish(NamedTuple):
    """The options for every program; `cache` is the folder of earlier results, or None."""

    roots: tuple[Path, ...]
    options: Options
    signature: bool = False
    explained: str | None = None
    guards: bool = False
    dynamic: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    run: bool = False
    cache: Path | None = None
    prelude: Prelude | None = None
    profile: tuple[str, ...] = ()
    python: AskedOfPython = AskedOfPython()
    gradients: bool = False
    allow_extern: bool = False


class OfModel(NamedTuple):
    """The results for a model: its contract, the promised contract, the sizes of `--at` if it accepts them, checked fixes,
    operations without a rule (Python code), and why some conditions have no fix."""

    contract: Contract | None = None
    promised: str | None = None
    at: Mapping[str, int] | None = None
    fixes: tuple[ModelFix, ...] = ()
    supposed: tuple[Supposed, ...] | None = None
    left: Mapping[str, str] = {}  # noqa: RUF012  # nothing changes it


class Examined(NamedTuple):
    """The result of checking one program. `counts` is None if it failed before its assertions were checked; `extra` has the
    lines for `--signature` and `--explain`; `known` has its names if the one to explain is unknown; `unmet` has the given
    conditions that apply to no function."""

    files: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    counts: Counts | None
    questions: dict[str, int]
    ok: bool
    extra: tuple[str, ...]
    known: tuple[str, ...] | None = None
    unmet: tuple[str, ...] = ()
    guards: tuple[Choice, ...] = ()
    model: OfModel | None = None

    @property
    def contract(self) -> Contract | None:
        return None if self.model is None else self.model.contract
