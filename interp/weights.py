"""The arrays that a program's consts load."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..lang import codes, core
from ..lang.diagnostics import RxError, error
from ..lang.files import Files
from ..lang.stored import BadWeights, Header
from .engine_types import EngineArray
from .files import load_array


class WeightReader:
    """Reads the arrays that consts load: below the program's folder and its roots, each once. `headers` are those that the
    program was checked with: another array is refused."""

    def __init__(self, files: Files, headers: Mapping[tuple[str, str | None], Header] | None = None) -> None:
        self.files = files
        self.headers = headers or {}
        self.count = 0
        self._read: dict[tuple[Path, str | None], EngineArray] = {}
        self._found: dict[str, Path] = {}

    def __call__(self, load: core.Load) -> EngineArray:
        if load.path not in self._found:
            self._found[load.path] = self.files.find(load.path, span=load.span, linked=True)
        path = self._found[load.path]
        if (path, load.key) not in self._read:
            self.count += 1
            try:
                array = load_array(path, load.key, self.headers.get((load.path, load.key)))
            except BadWeights as problem:
                raise RxError(error(codes.E245, f'"{load.path}" {problem}', load.span)) from None
            array.flags.writeable = False
            self._read[path, load.key] = array
        return self._read[path, load.key]
