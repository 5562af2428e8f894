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
    """What is asked of every program; `cache` is the folder of what was found before, if that will do."""

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
    """What there is of a model: its contract, the one that it was given, the sizes that were asked for where it takes them,
    changes that were checked, what has no rule where it is Python code, and why there is no change for some conditions."""

    contract: Contract | None = None
    promised: str | None = None
    at: Mapping[str, int] | None = None
    fixes: tuple[ModelFix, ...] = ()
    supposed: tuple[Supposed, ...] | None = None
    left: Mapping[str, str] = {}  # noqa: RUF012  # nothing changes it


class Examined(NamedTuple):
    """What checking one program gave. `counts` is None if it did not get so
    far; `extra` are the lines that `--signature` and `--explain` ask for; `known` are the names that it has where it has not
    the one to be explained; `unmet` is what was given and meets none of its functions."""

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
