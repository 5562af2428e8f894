"""Rx from Python: load a program, call its functions with NumPy arrays, ask for shapes without data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import pipeline
from ..fixes.ranked import with_helps
from ..interp.shape_error import ShapeError
from ..lang.diagnostics import Diagnostic, RxError
from ..lang.display import Displayed
from ..lang.files import CALLED, Files, is_model
from ..lang.given import Given, read_given
from ..lang.node import replace
from ..lang.parser import unread
from ..lang.render import diagnostics_lines, render_text
from ..lang.source import Source
from ..lang.styled import Line
from ..pipeline import Report
from ..simplify.known.outcome import Options as CheckOptions
from .module import CallOptions, Function, Module
from .residual import Check
from .size import Size

if TYPE_CHECKING:
    from ..model.index_checks import IndexChecks

PathText = str | PathLike[str]


class CheckError(Displayed, Exception):
    """A program was rejected. `diagnostics` has all diagnostics, with fixes; `str` is the report of `rx check`."""

    def __init__(self, diagnostics: Sequence[Diagnostic], helped: Callable[[], Report] | None = None) -> None:
        super().__init__("; ".join(d.message for d in diagnostics if d.severity == "error"))
        self._diagnostics = tuple(diagnostics)
        self._helped = helped

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All diagnostics, with helps; the helps are computed on first use."""
        if self._helped is not None:
            self._diagnostics, self._helped = self._helped().diagnostics, None
        return self._diagnostics

    def __str__(self) -> str:
        return "\n".join(render_text(d) for d in self.diagnostics).rstrip("\n")

    def _lines(self) -> list[Line]:
        return diagnostics_lines(self.diagnostics)


def load(
    path: PathText,
    *,
    roots: Sequence[PathText] = (),
    strict: bool = False,
    allow_empty: bool = False,
    allow_extern: bool = False,
    given: Sequence[str] = (),
    data_checks: bool = True,
    like: Any = None,
    copy: bool = False,
    engine: str = "numpy",
    device: str | None = None,
) -> Module:
    """Check a program file and return a Module; raises CheckError if it is rejected, OSError if it cannot be read.

    Rx reads imports and weights below the program's own folder and `roots`. `strict` and `allow_empty` are the options of
    `rx check`; `allow_extern` lets `extern` functions run the Python callables that they name. `given` adds conditions to
    the entry checks of functions: `"@f: 1 <= n, n <= 64"`; `@*` means all functions that have such sizes. The function of
    a model (`.onnx`) is `main`; `data_checks` checks at each call the inputs that are indices.

    Functions take arrays of NumPy, and of any library with DLPack, without a copy if possible; `copy=True` also accepts
    arrays on another device. Results are NumPy arrays, or arrays of the library `like`, or of the library of the array
    `like`. A call whose arguments do not fit raises ShapeError. With `engine="onnxruntime"` or `"torch"` functions run
    there, on `device` (docs/engines.md); CheckError lists everything that the engine lacks, with its line.

    >>> import numpy as np, rxlang as rx
    >>> module = rx.load("ff.rx")  # doctest: +SKIP
    >>> module.ff(np.ones((2, 8), np.int8))  # doctest: +SKIP
    array([4, 4, 4, 4], dtype=int32)
    """
    __tracebackhide__ = True
    place = Path(path)
    data = _data(place)
    files = Files(place.parent, _paths(roots))
    options = CheckOptions(strict, allow_empty, _conditions(given))
    report = pipeline.check_bytes(data, str(place), place.parent, _paths(roots), options)
    entry_check = _entry_check(place) if data_checks and report.ok else None
    model = place if is_model(place.name) else None
    return module_of(report, files, options, CallOptions(allow_extern, like, copy, engine, device, entry_check, model))


def _data(place: Path) -> bytes:
    """The text of a program, empty for a model (its own reader opens it). Raises OSError; raises CheckError with one
    diagnostic if a file without the suffix `.rx` cannot be read as a program."""
    if is_model(place.name):
        place.stat()
        return b""
    data = place.read_bytes()
    wrong = None if place.suffix == ".rx" else unread(data, str(place))
    if wrong is not None:
        raise CheckError([replace(wrong, help=CALLED, edits=())])
    return data


def _entry_check(place: Path) -> IndexChecks | None:
    """The index checks of a model; None for other programs, and for models without indices."""
    if not is_model(place.name):
        return None
    from ..model.index_checks import IndexChecks  # few programs are models

    entry_check = IndexChecks(place)
    return entry_check if entry_check.ranges else None


def loads(
    text: str,
    *,
    filename: str = "<text>",
    roots: Sequence[PathText] = (),
    strict: bool = False,
    allow_empty: bool = False,
    allow_extern: bool = False,
    given: Sequence[str] = (),
    like: Any = None,
    copy: bool = False,
    engine: str = "numpy",
    device: str | None = None,
) -> Module:
    """Like `rx.load`, for the text of a program: raises CheckError if it is rejected. Imports and weights are looked up
    in the folder of `filename`.

    >>> import numpy as np, rxlang as rx
    >>> module = rx.loads("@half = fn(x : Tensor([n * 2, d], float32)) : Tensor([n, d], float32) { x[::2] }")
    >>> module.half(np.ones((6, 5), np.float32)).shape
    (3, 5)
    """
    __tracebackhide__ = True
    base = Path(filename).parent
    options = CheckOptions(strict, allow_empty, _conditions(given))
    report = pipeline.check_text(text, filename, base, _paths(roots), options)
    return module_of(report, Files(base, _paths(roots)), options, CallOptions(allow_extern, like, copy, engine, device))


def check_source(
    text: str,
    filename: str = "<text>",
    *,
    roots: Sequence[PathText] = (),
    strict: bool = False,
    allow_empty: bool = False,
    given: Sequence[str] = (),
) -> Report:
    """Check the text of a program and return a Report: the diagnostics, and how many assertions were proved and how many
    remain. It runs nothing, and raises nothing if the program is wrong: see `ok`; `str` is the report of `rx check`.

    >>> import rxlang as rx
    >>> rx.check_source("@f = fn(x : Tensor([n, 4], int8)) : Tensor([n, 2, 2], int8) { @reshape(x, [n, 2, 2]) }").ok
    True
    """
    options, base = CheckOptions(strict, allow_empty, _conditions(given)), Path(filename).parent
    report = pipeline.check_text(text, filename, base, _paths(roots), options)
    return replace(report, helped=lambda: with_helps(report, base, _paths(roots), options))


def _paths(roots: Sequence[PathText]) -> tuple[Path, ...]:
    if isinstance(roots, str | PathLike):
        raise TypeError("roots is a list of folders")
    return tuple(Path(r) for r in roots)


def _conditions(texts: Sequence[str]) -> tuple[Given, ...]:
    try:
        return tuple(map(read_given, [texts] if isinstance(texts, str) else texts))
    except RxError as problem:
        raise ValueError(str(problem)) from None


def module_of(report: Report, files: Files, options: CheckOptions, calls: CallOptions) -> Module:
    """A callable module of a checked program; raises CheckError if it was rejected."""
    __tracebackhide__ = True
    if not report.ok or report.checked is None:
        raise CheckError(report.diagnostics, lambda: with_helps(report, files.base, files.roots, options))
    if report.unmet:
        raise ValueError(f"given {report.unmet[0]!r}: no function of that name has such sizes")
    try:
        module = Module(report.checked, files, calls)
    except RxError as problem:  # weights that are missing, or something that an engine cannot run
        raise CheckError(problem.diagnostics) from None

    def further(source: Source, text: str) -> Module:
        whole = Source(source.name, f"{source.text.rstrip()}\n{text}\n")
        checked = pipeline.check_source(whole, files, files.roots, options)
        return module_of(checked, files, options, calls._replace(entry_check=None, model=None))

    module._further = further
    return module


__all__ = [
    "Check",
    "CheckError",
    "Diagnostic",
    "Function",
    "Module",
    "Report",
    "ShapeError",
    "Size",
    "check_source",
    "load",
    "loads",
]
