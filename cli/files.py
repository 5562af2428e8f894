"""Read the programs that a command line names: search folders, read files, report each unreadable file in one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import click

from ..lang.cells import shown
from ..lang.diagnostics import RxError
from ..lang.files import CALLED, MAX_TEXT, is_model, is_python, put
from ..lang.given import Given, read_given
from ..lang.summary import plural

if TYPE_CHECKING:
    from ..frontends.onnx.prelude import Prelude

STDIN = "-"


class ProgramFile(NamedTuple):
    """A program as read. `base` is the folder below which it may open files."""

    name: str
    data: bytes
    base: Path


class Unusable(click.ClickException):
    """Wrong usage, or a file that cannot be read: a line for each, and exit status 2."""

    exit_code = 2

    def show(self, file: object = None) -> None:
        for line in self.message.splitlines():
            print(f"rx: {shown(line)}", file=sys.stderr)


class NotLoaded(Unusable):
    """Python code that cannot be imported, built or called: the request, then the user's traceback."""

    def __init__(self, said: str, trace: str) -> None:
        super().__init__(said)
        self.trace = trace

    def __reduce__(self) -> tuple[type[NotLoaded], tuple[str, str]]:
        return NotLoaded, (self.message, self.trace)

    def show(self, file: object = None) -> None:
        super().show()
        for line in self.trace.splitlines():
            print(shown(line), file=sys.stderr)


def read_programs(paths: Iterable[str], models: bool = False) -> tuple[list[ProgramFile], list[str]]:
    """Every program below the paths, each once, and a line for each that cannot be read; raises Unusable if none can be read.
    `models` count as programs."""
    programs: list[ProgramFile] = []
    unread: list[str] = []
    for path in dict.fromkeys(_found(paths, models, unread)):
        try:
            programs.append(read_program(path))
        except Unusable as wrong:
            found = _listed(_file_of(path)) if models else []
            for text in found:
                click.echo(shown(text))
            named = (
                f"{path!r} is Python code, and nothing of it was run: name a function or class to check, {path}:NAME"
            )
            unread.append(named if found and path == _file_of(path) else wrong.message)
    if not programs:
        conclude(unread)
    return programs, unread


def conclude(unread: list[str]) -> None:
    """Raise Unusable if anything could not be read; call it at the end."""
    if unread:
        raise Unusable("\n".join(unread))


def read_program(path: str) -> ProgramFile:
    try:
        if is_python(path) and not os.path.exists(path):
            return _python(path)
        if path == STDIN:
            return ProgramFile("<stdin>", _bounded(sys.stdin.buffer), Path.cwd())
        data = _data(path)
    except (OSError, ValueError) as wrong:
        raise Unusable(_unreadable(path, wrong)) from wrong
    if os.path.isfile(path) and Path(path).suffix != ".rx" and not is_model(path):
        _is_one_all_the_same(path, data)
    return ProgramFile(path, data, Path(path).parent)


def _python(path: str) -> ProgramFile:
    """Code to be imported; a missing file raises OSError at once."""
    file = path.rpartition(":")[0]
    if file.endswith(".py"):
        with open(file, "rb"):
            pass
    return ProgramFile(path, b"", Path.cwd())


def model_file(path: str) -> Path:
    """A file to be read as a model; raises Unusable if it cannot be opened or is a program."""
    try:
        _data(path)
    except (OSError, ValueError) as wrong:
        raise Unusable(_unreadable(path, wrong)) from wrong
    if path.endswith(".rx"):
        raise Unusable(f"{path!r} is no ONNX model but a program: `rx shapes` says its shapes")
    if not is_model(path):  # its weights are found by its name
        raise Unusable(f"{path!r} is not called like an ONNX model: {_called(path)}")
    return Path(path)


def _listed(path: str) -> list[str]:
    """The names that can be checked in a Python file, which is not run."""
    if not path.endswith(".py") or not os.path.isfile(path):
        return []
    from .listed import listed  # few paths are Python code

    return listed(path, _data(path))


def _is_one_all_the_same(path: str, data: bytes) -> None:
    """Raise Unusable unless a file with another suffix can be read as a program."""
    from ..lang.parser import unread  # few programs have another suffix

    wrong = unread(data, path)
    if wrong is not None:
        why = f"{wrong.span.source.place(wrong.span.start)}: {wrong.message}"
        raise Unusable(f"{path!r} is no program ({why}): {_called(path)}")


def _called(path: str) -> str:
    """The valid names of readable files."""
    return f"{CALLED}, PyTorch code {path}:NAME" if path.endswith(".py") else CALLED


def _data(path: str) -> bytes:
    """The bytes of a file; none for a model: its own reader opens it, since its weights may be larger than memory, and
    reports errors. A pipe would block here."""
    if is_model(path) and Path(path).is_fifo():
        return b""
    with open(path, "rb") as file:
        return b"" if is_model(path) else _bounded(file)


def _bounded(file: BinaryIO) -> bytes:
    """All bytes of a stream, which may be endless; raises ValueError if there are more than a text may have."""
    data = file.read(MAX_TEXT + 1)
    if len(data) > MAX_TEXT:
        raise ValueError(f"it has more than {MAX_TEXT} bytes")
    return data


def _unreadable(path: str, wrong: OSError | ValueError) -> str:
    file = _file_of(path)
    if not isinstance(wrong, FileNotFoundError):
        return f"cannot read {path!r}: {reason(wrong)}"
    if os.path.isfile(file) or path.endswith(":"):
        place = file.removesuffix(":")
        named = f"`{path[len(place) + 1 :]}` is not a name" if path[len(place) + 1 :] else "a name is missing"
        return f"{path!r}: {named}: name a function or class to check, {place}:NAME"
    return f"cannot read {file!r}: {reason(wrong)}{_meant(file)}"


def _file_of(path: str) -> str:
    """The file of `FILE.py:NAME`, for any text after the colon."""
    file, colon, _ = path.partition(".py:")
    return f"{file}.py" if colon else path


def _meant(path: str) -> str:
    """A suggestion for a missing file: one with a similar name."""
    from difflib import get_close_matches  # few files are missing

    folder, name = os.path.split(path)
    try:
        there = {Path(other).stem: other for other in os.listdir(folder or ".") if other != name}
    except OSError:
        return ""
    near = get_close_matches(Path(name).stem, there, 1)
    return f"; is {os.path.join(folder, there[near[0]])!r} meant?" if near else ""


def reason(wrong: OSError | ValueError) -> str:
    """`No such file or directory`: the message without number and path."""
    return (isinstance(wrong, OSError) and wrong.strerror) or str(wrong)


def replace_file(path: str, data: bytes | Iterable[bytes], *, through_links: bool = True) -> None:
    """Like lang.files.put, with failures raised as Unusable."""
    folder = os.path.dirname(path)
    if folder and not os.path.exists(folder):
        raise Unusable(f"cannot write {path!r}: there is no folder {folder!r}")
    try:
        put(Path(path), data, through_links=through_links)
    except OSError as wrong:
        raise Unusable(f"cannot write {path!r}: {reason(wrong)}") from wrong


def folders(paths: Iterable[str]) -> tuple[Path, ...]:
    """The folders of `--root`."""
    missing = [path for path in paths if not os.path.isdir(path)]
    if missing:
        raise Unusable("\n".join(f"--root {path!r} is not a folder" for path in missing))
    return tuple(Path(path) for path in paths)


given_option = click.option(
    "--given", "given", multiple=True, metavar="COND",
    help="Conditions on entry to functions beyond those in the file, like '@f: 1 <= n, n <= 64'; @* is all functions with n.",
)  # fmt: skip


def of_main(text: str) -> str:
    """A condition for a model, whose only function is `@main`."""
    return text if text.lstrip().startswith("@") else f"@main: {text}"


def conditions(texts: Iterable[str], option: str = "--given") -> tuple[Given, ...]:
    """The conditions in an option's texts."""
    return tuple(_condition(text, option) for text in texts)


def _condition(text: str, option: str) -> Given:
    try:
        return read_given(text)
    except RxError as wrong:
        told = f"{option} {text.removeprefix(of_main('')).strip()!r}"
        lines = (f"{told}: {d.message}{f'; {d.help}' if d.help else ''}" for d in wrong.diagnostics)
        raise Unusable("\n".join(lines)) from wrong


def all_met(unmet: Iterable[str], option: str = "--given") -> None:
    """Raise Unusable if a given condition applies to no function."""
    missing = [f"{option} {text!r}: no function of that name has such sizes" for text in unmet]
    if missing:
        raise Unusable("\n".join(missing))


def _found(paths: Iterable[str], models: bool, unread: list[str]) -> Iterator[str]:
    for path in paths:
        if path != STDIN and os.path.isdir(path):
            yield from _below(path, models, unread)
        else:
            yield path


def _below(folder: str, models: bool, unread: list[str]) -> list[str]:
    """The `.rx` files below a folder, and the models if they count; hidden files are left out, and pipes, which would
    block."""
    found = []
    closed: list[OSError] = []
    for place, inside, files in os.walk(folder, onerror=closed.append):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        named = [os.path.normpath(os.path.join(place, name)) for name in sorted(files) if _is_program(name, models)]
        found += [path for path in named if os.path.isfile(path) or not os.path.exists(path)]
    unread += [_unreadable(wrong.filename, wrong) for wrong in closed]
    if not found and not closed:
        code = _code_below(folder) if models else []
        several = ", ".join(f"{path}:NAME" for path in code[:_MOST_NAMED])
        more = f" ({plural(len(code) - _MOST_NAMED, 'more file')})" if len(code) > _MOST_NAMED else ""
        hint = f"; of PyTorch code name a function or class: {several}{more}" if code else ""
        raise Unusable(f"no .rx{' or .onnx' if models else ''} file below {folder!r}{hint}")
    return found


# The most files of a folder that are named.
_MOST_NAMED = 4


def _code_below(folder: str) -> list[str]:
    """The Python files below a folder that mention torch, except hidden files and virtual environments."""
    found = []
    for place, inside, files in os.walk(folder):
        inside[:] = sorted(n for n in inside if not n.startswith(".") and not Path(place, n, "pyvenv.cfg").exists())
        paths = (Path(place, name) for name in sorted(files) if name.endswith(".py") and not name.startswith("."))
        found += [str(path) for path in paths if os.access(path, os.R_OK) and b"torch" in path.read_bytes()]
    return found


def _is_program(name: str, models: bool) -> bool:
    return (name.endswith(".rx") or models and is_model(name)) and not name.startswith(".")


prelude_option = click.option(
    "--prelude", metavar="FILE.rx", help="Rules for operators: @com_acme_Foo is Foo of the domain com.acme."
)


def rules(prelude: str | None) -> Prelude | None:
    """The rules in the file of `--prelude`; raises RxError."""
    if prelude is None:
        return None
    from ..python.onnx import prelude_of  # few runs have any

    try:
        return prelude_of(Path(prelude))
    except OSError as wrong:
        raise Unusable(f"cannot read {prelude!r}: {reason(wrong)}") from wrong
