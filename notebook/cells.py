"""Check the program in a notebook cell and make a module of it unless it is rejected."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from keyword import iskeyword
from pathlib import Path
from typing import NoReturn

from .. import pipeline
from ..fixes.ranked import with_helps
from ..interp.shape_error import ShapeError
from ..lang.diagnostics import RxError
from ..lang.display import Displayed
from ..lang.files import Files
from ..lang.given import read_given
from ..lang.node import Node, replace
from ..lang.styled import Line, said
from ..pipeline import Report
from ..python.api import CheckError, Module, module_of
from ..python.module import CallOptions
from ..simplify.known.outcome import Options

DEFAULT_NAME = "program"


class Misused(ValueError):
    """Raised for a line that misuses the magic; the message says why."""


class Ran(Displayed, Node):
    """The outcome of a cell: `module` is None if the program was rejected, or if a constant contradicts its annotation
    (`failure`)."""

    name: str
    report: Report
    module: Module | None
    failure: CheckError | ShapeError | None = None

    def _lines(self) -> list[Line]:
        """The report of `rx check`, and the functions that can now be called."""
        lines = self.report._lines()
        if self.module is not None:
            return [*lines, *said(f"`{self.name}` is the module of:"), *self.module._lines()]
        failed = self.failure._lines() if self.failure is not None else []
        return [*lines, *failed, *said(f"`{self.name}` is no module: the program cannot run")]


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Misused(f"{message}\n{self.format_usage().rstrip()}")


def _parser() -> _Parser:
    parser = _Parser(prog="%%rx", add_help=False, allow_abbrev=False)
    parser.add_argument("name", metavar="NAME", nargs="?", default=DEFAULT_NAME)
    for flag in ("--strict", "--allow-empty", "--allow-extern"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--given", action="append", default=[], metavar='"@F: CONDITION"')
    parser.add_argument("--root", action="append", default=[], metavar="DIR")
    return parser


def words_of(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as problem:
        raise Misused(str(problem)) from None


def run_cell(line: str, text: str) -> Ran:
    """Check a program and make it callable. Its files are read below the notebook's working folder and the roots."""
    asked = _parser().parse_args(words_of(line))
    if not asked.name.isidentifier() or iskeyword(asked.name):
        raise Misused(f"{asked.name!r} is no name that Python could call a module by")
    options, roots = _options(asked), tuple(map(_folder, asked.root))
    report = check_text(text, f"<{asked.name}>", options, roots)
    if report.unmet:
        raise Misused(f"--given {report.unmet[0]!r}: no function of that name has such sizes")
    if not report.ok:
        return Ran(asked.name, report, None)
    try:
        return Ran(
            asked.name, report, module_of(report, Files(Path(), roots), options, CallOptions(asked.allow_extern))
        )
    except (CheckError, ShapeError) as problem:
        return Ran(asked.name, report, None, problem)


def _folder(root: str) -> Path:
    if not Path(root).is_dir():
        raise Misused(f"--root {root!r} is not a folder")
    return Path(root)


def check_text(text: str, name: str, options: Options, roots: tuple[Path, ...]) -> Report:
    report = pipeline.check_text(text, name, Path(), roots, options)
    return replace(report, helped=lambda: with_helps(report, Path(), roots, options))


def _options(asked: Namespace) -> Options:
    try:
        return Options(asked.strict, asked.allow_empty, tuple(map(read_given, asked.given)))
    except RxError as problem:
        raise Misused(str(problem)) from None
