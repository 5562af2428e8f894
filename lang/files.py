"""Reads the files of a program: only those below its own folder and the given roots."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from . import codes
from .diagnostics import RxError, error
from .source import NOWHERE, Source, Span
from .stored import Header

# A source file of this size is a mistake; weights are not read as text.
MAX_TEXT = 64 * 1024 * 1024


# The answer to any other file.
CALLED = "programs are called .rx, ONNX models .onnx"

_PYTHON = re.compile(r"(.+\.py|[A-Za-z_][\w.]*):[A-Za-z_]\w*(\.\w+)*")


def is_model(name: str) -> bool:
    """Whether a file holds a model rather than text."""
    return name.lower().endswith(".onnx")


def is_python(name: str) -> bool:
    """Whether a name denotes Python code to trace: `PATH.py:NAME` or `PACKAGE.MODULE:NAME`."""
    return _PYTHON.fullmatch(name) is not None


def line_at(place: str) -> Span:
    """`FILE:LINE` as a place."""
    file, _, number = place.rpartition(":")
    try:
        source = Source(file, Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return Span(Source(file, ""), 0, 0)
    start, text = source.line_starts()[int(number) - 1], source.line(int(number))
    return Span(source, start + len(text) - len(text.lstrip()), start + len(text))


class Files:
    """File access confined to the program's folder (`base`) and `roots`; symbolic links and `..` are followed first. The name
    of a `linked` file may itself be a link to a regular file anywhere, as in caches of weights."""

    def __init__(self, base: Path, roots: Sequence[Path] = ()) -> None:
        self.base = resolved(base)
        self.roots = tuple(resolved(r) for r in roots)

    def find(self, path: str, relative_to: Path | None = None, span: Span = NOWHERE, *, linked: bool = False) -> Path:
        """The path of a file: beside `relative_to` (a folder), else below the program's folder, else below a root."""
        if not path or "\0" in path:
            raise RxError(error(codes.E240, f"{path!r} is not the name of a file", span))
        outside, odd = False, ""
        for folder in dict.fromkeys((relative_to or self.base, self.base, *self.roots)):
            candidate = _in_place(folder / path) if linked else resolved(folder / path)
            if not self.allows(candidate):
                outside = True
            elif self.has(candidate):
                return candidate
            else:
                odd = odd or _no_file(candidate)
        if odd:
            raise RxError(error(codes.E242, f'"{path}" is {odd}, which cannot be read twice', span, help=_SAVE))
        if outside:
            message = f'"{path}" lies outside the program\'s folder and the given roots'
            raise RxError(error(codes.E241, message, span, help="`--root DIR` allows the files of a folder"))
        raise RxError(error(codes.E240, f'there is no file "{path}"', span))

    def allows(self, resolved: Path) -> bool:
        """Whether a resolved path lies below the program's folder or a root."""
        return any(resolved.is_relative_to(root) for root in (self.base, *self.roots))

    def has(self, resolved: Path) -> bool:
        """Whether a file of that path exists."""
        return _is_file(resolved)

    def read(self, path: str, relative_to: Path | None = None, span: Span = NOWHERE, limit: int = MAX_TEXT) -> bytes:
        """The bytes of a file."""
        return self.read_found(self.find(path, relative_to, span), span, limit)

    def read_found(self, found: Path, span: Span = NOWHERE, limit: int = MAX_TEXT) -> bytes:
        """The bytes of a file that `find` has found."""
        try:
            size = found.stat().st_size
            if size > limit:
                raise RxError(error(codes.E242, f'"{found.name}" has {size} bytes; the limit is {limit}', span))
            with found.open("rb") as handle:
                return handle.read(limit)
        except OSError as problem:
            reason = problem.strerror or "it cannot be opened"
            raise RxError(error(codes.E242, f'"{found.name}" cannot be read: {reason}', span)) from None

    def header(self, found: Path, key: str | None) -> Header:
        """The description of an array in a weights file that `find` has found; raises BadWeights."""
        from .weights import read_header  # few programs have weights

        return read_header(found, key)

    def read_text(self, path: str, relative_to: Path | None = None, span: Span = NOWHERE) -> tuple[Path, str]:
        """The path of a source file, and its text."""
        found = self.find(path, relative_to, span)
        if found.suffix == ".onnx":
            help = f"`rx import {found.name} --out .` writes a program of it, which can be imported"
            raise RxError(error(codes.E242, f'"{found.name}" is a model, not a program', span, help=help))
        data = self.read_found(found, span)
        try:
            return found, data.decode("utf-8-sig")
        except UnicodeDecodeError as problem:
            message = f'"{found.name}" is not UTF-8 text: byte {problem.start} cannot be read'
            raise RxError(error(codes.E242, message, span, help="save the file as UTF-8 text")) from None


def put(path: Path, data: bytes | Iterable[bytes], *, through_links: bool = True) -> None:
    """Write data, as a whole or in chunks. At any time the file is either the old one or the new one; it keeps its
    permissions. Through links, the target of a symbolic link is replaced, otherwise the link itself; a pipe or a device is
    written to. Raises OSError."""
    chunks = (data,) if isinstance(data, bytes) else data
    real = Path(os.path.realpath(path)) if through_links else path
    if through_links and path.exists() and not path.is_file():
        with path.open("wb") as file:
            file.writelines(chunks)
        return
    made = real.with_name(f".{real.name[:100]}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        old = None if real.is_symlink() or not real.exists() else real.stat()
        if old is not None and not os.access(real, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        with open(made, "xb") as file:
            file.writelines(chunks)
        if old is not None:
            _keep(made, old)
        made.replace(real)
    finally:
        made.unlink(missing_ok=True)


def _keep(made: Path, old: os.stat_result) -> None:
    """Copy the permissions, and the owner if allowed."""
    with suppress(PermissionError):
        os.chown(made, old.st_uid, old.st_gid)
    made.chmod(stat.S_IMODE(old.st_mode))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long
        return False


_SAVE = "save its output in a file"


def _no_file(path: Path) -> str:
    """The kind of thing at a path that is no file, in words; empty for a folder or nothing."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return ""
    return "a pipe" if stat.S_ISFIFO(mode) else "" if stat.S_ISDIR(mode) else "a device or a socket"


def _in_place(path: Path) -> Path:
    """The file with all links of its folder followed, but not its own: neighbours are those of the link."""
    return resolved(path.parent) / path.name if path.name != ".." else resolved(path)


def resolved(path: Path) -> Path:
    """The file with all links followed."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of symbolic links, or an invalid name
        return path.absolute()
