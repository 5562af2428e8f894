"""Keep the results of `rx check` on disk until anything that they depend on changes.

The key of an entry is the program's text, its place, the options and the versions. An entry records each query to the file
system with its answer: it is valid as long as all answers are the same, including those for missing files.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..lang.checked import Counts
from ..lang.codes import CODES
from ..lang.diagnostics import Diagnostic, Edit, Help, Label, Severity
from ..lang.recorded import RecordedFiles
from ..lang.source import NOWHERE, Source, Span
from .examined import Examined, Wish
from .files import ProgramFile, Unusable, replace_file

# The entries are spread over this many folders, each with its share of the limit, so that a writer inspects one folder only.
_FOLDERS = 256
MAX_BYTES = 128 * 1024 * 1024
# Packages that are not used to check a program's text.
_BESIDE = frozenset({"interp", "frontends", "python", "editor", "notebook", "model"})
# Errors when reading a damaged entry, or one from another program.
_FOREIGN = (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)


def folder() -> Path | None:
    """The cache folder: RX_CACHE_DIR, or None if that is empty; else in the user's cache folder."""
    chosen = os.environ.get("RX_CACHE_DIR")
    if chosen is not None:
        return Path(chosen).absolute() if chosen else None
    caches = os.environ.get("XDG_CACHE_HOME", "")
    place = Path(caches if os.path.isabs(caches) else os.path.expanduser("~/.cache")) / "rxlang"
    return place if place.is_absolute() else None


def found(program: ProgramFile, wish: Wish) -> Examined | None:
    """The earlier result for the program, if it is still valid."""
    files = RecordedFiles(program.base, wish.roots)
    try:
        key = _key(program, wish, files)
        digest, _, text = _path(wish, key).read_bytes().partition(b"\n")
        if digest.decode() != hashlib.sha256(text).hexdigest():
            return None
        entry = json.loads(text)
        stands = entry["key"] == key and all(files.answer(*asked) == answer for asked, answer in entry["asked"])
        return _examined(entry) if stands else None
    except (OSError, *_FOREIGN):
        return None


def keep(program: ProgramFile, wish: Wish, files: RecordedFiles, examined: Examined) -> None:
    """Write an entry; ignore failures to write."""
    if files.torn:
        return
    with suppress(OSError, Unusable, ValueError):
        key = _key(program, wish, files)
        text = json.dumps({"key": key, "asked": files.asked, **_object(examined)}).encode()
        path = _path(wish, key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_room(path.parent, len(text))
        replace_file(str(path), hashlib.sha256(text).hexdigest().encode() + b"\n" + text)


def make_room(place: Path, size: int) -> None:
    """Delete the oldest entries of a folder that would exceed its share."""
    with os.scandir(place) as files:
        entries = sorted(((s.st_mtime_ns, s.st_size, f.path) for f in files for s in [f.stat()]), reverse=True)
    left = MAX_BYTES // _FOLDERS - size
    for _, taken, path in entries:
        left -= taken
        if left < 0:
            with suppress(FileNotFoundError):
                os.unlink(path)


def _path(wish: Wish, key: str) -> Path:
    assert wish.cache is not None
    return wish.cache / key[:2] / f"{key[2:]}.json"


def _key(program: ProgramFile, wish: Wish, files: RecordedFiles) -> str:
    """The key of everything that a result depends on, except other files."""
    options = wish.options
    place = os.path.realpath(files.base / Path(program.name).name) if "\0" not in program.name else ""
    parts = (
        versions(_BESIDE),
        program.name,
        hashlib.sha256(program.data).hexdigest(),
        place,
        str(files.base),
        *map(str, files.roots),
        f"{options.strict=} {options.allow_empty=}",
        *(given.source.text for given in options.given),
    )
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@cache
def versions(beside: frozenset[str]) -> tuple[str, ...]:
    """The versions of Python, of this package (size and time of each file outside the packages `beside`, since a developer
    may change them), and of the installed solver."""
    own = _stamps(os.path.dirname(os.path.dirname(__file__)), beside)
    return (sys.version, *sorted(own), *sorted(name for place in sys.path for name in _installed(place)))


def _stamps(place: str, but: Collection[str] = ()) -> Iterator[str]:
    with os.scandir(place) as files:
        for file in files:
            if file.name.endswith((".py", ".rx", ".txt")):  # code, and the primitives and gradients that are texts
                stat = file.stat()
                yield f"{file.path} {stat.st_size} {stat.st_mtime_ns}"
            elif file.name not in but and os.path.exists(os.path.join(file.path, "__init__.py")):
                yield from _stamps(file.path)


def _installed(place: str) -> Iterator[str]:
    with suppress(OSError):
        for name in os.listdir(place or "."):
            if name.startswith(("z3", "rxlang-")):
                yield f"{name} {os.stat(os.path.join(place, name)).st_mtime_ns}"


# Results as JSON. A place is the number of a text and two offsets; NOWHERE has no number.


class _Texts:
    """The texts that contain the places, by identity."""

    def __init__(self) -> None:
        self.sources: list[Source] = []
        self._numbers = {id(NOWHERE.source): -1}

    def span(self, span: Span) -> list[int]:
        number = self._numbers.setdefault(id(span.source), len(self.sources))
        if number == len(self.sources):
            self.sources.append(span.source)
        return [number, span.start, span.end]


def _object(examined: Examined) -> dict[str, Any]:
    texts = _Texts()
    diagnostics = [_diagnostic_object(d, texts) for d in examined.diagnostics]
    return {
        "files": examined.files,
        "diagnostics": diagnostics,
        "sources": [[source.name, source.text] for source in texts.sources],
        "counts": None if examined.counts is None else [getattr(examined.counts, name) for name in _COUNTS],
        "ok": examined.ok,
        "unmet": examined.unmet,
    }


_SEVERITIES: dict[str, Severity] = {"error": "error", "warning": "warning", "note": "note"}
_COUNTS = ("total", "proved", "refuted", "residual", "entry", "inner")
_PLAIN = ("message", "caption", "function", "help", "by_chance")


class _Maybe(NamedTuple):
    form: object


class _Named(NamedTuple):
    form: object


# The form of an entry: a type, a list with one form per part, a list of one form, an object with these keys, or with any
# keys.
_SPAN = (int, int, int)
_EDITS = [(_SPAN, str)]
_DIAGNOSTIC = {
    "message": str, "by_chance": bool, "caption": str, "function": _Maybe(str), "help": _Maybe(str),
    "code": str, "severity": str, "span": _SPAN,
    "labels": [(_SPAN, str)], "notes": [str], "witness": _Maybe(_Named(int)), "edits": _EDITS, "helps": [(str, _EDITS)],
}  # fmt: skip
_ENTRY = {
    "key": str, "asked": [(list, str)], "files": [str], "diagnostics": [_DIAGNOSTIC], "sources": [(str, str)],
    "counts": _Maybe((int,) * len(_COUNTS)), "ok": bool, "unmet": [str],
}  # fmt: skip


def _is_like(value: object, form: object) -> bool:
    match form:
        case type():
            return type(value) is form
        case _Maybe(inner):
            return value is None or _is_like(value, inner)
        case _Named(each):
            return isinstance(value, dict) and all(_is_like(item, each) for item in value.values())
        case tuple():
            return isinstance(value, list) and len(value) == len(form) and all(map(_is_like, value, form))
        case [each]:
            return isinstance(value, list) and all(_is_like(item, each) for item in value)
        case dict():
            return (
                isinstance(value, dict)
                and value.keys() == form.keys()
                and all(_is_like(value[k], form[k]) for k in form)
            )
    return False


def _diagnostic_object(d: Diagnostic, texts: _Texts) -> dict[str, Any]:
    """The printed parts of a diagnostic; data that only helps read is left out."""

    def edits(of: tuple[Edit, ...]) -> list[object]:
        return [[texts.span(edit.span), edit.text] for edit in of]

    return {
        **{name: getattr(d, name) for name in _PLAIN},
        "code": d.code,
        "severity": d.severity,
        "span": texts.span(d.span),
        "labels": [[texts.span(label.span), label.message] for label in d.labels],
        "notes": d.notes,
        "witness": None if d.witness is None else dict(d.witness),
        "edits": edits(d.edits),
        "helps": [[help_.text, edits(help_.edits)] for help_ in d.helps],
    }


def _examined(entry: Mapping[str, Any]) -> Examined:
    if not _is_like(entry, _ENTRY):
        raise ValueError("this is no entry")
    sources = [Source(name, text) for name, text in entry["sources"]]
    counts = None if entry["counts"] is None else Counts(*entry["counts"])
    diagnostics = tuple(_diagnostic(d, [*sources, NOWHERE.source]) for d in entry["diagnostics"])
    return Examined(tuple(entry["files"]), diagnostics, counts, {}, entry["ok"], (), unmet=tuple(entry["unmet"]))


def _diagnostic(found: Mapping[str, Any], sources: list[Source]) -> Diagnostic:
    def span(at: list[int]) -> Span:
        source, start, end = sources[at[0]], at[1], at[2]
        if not 0 <= start <= end <= len(source.text):
            raise ValueError("there is no such place")
        return Span(source, start, end)

    def edits(of: list[tuple[list[int], str]]) -> tuple[Edit, ...]:
        return tuple(Edit(span(at), text) for at, text in of)

    return Diagnostic(
        CODES[found["code"]],
        _SEVERITIES[found["severity"]],
        span=span(found["span"]),
        labels=tuple(Label(span(at), message) for at, message in found["labels"]),
        notes=tuple(found["notes"]),
        witness=found["witness"],
        edits=edits(found["edits"]),
        helps=tuple(Help(text, edits(of)) for text, of in found["helps"]),
        **{name: found[name] for name in _PLAIN},
    )
