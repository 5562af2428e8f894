"""The open texts, settings and folders of a client, and the single thread that answers it.

The latest text of a file wins: work on an older one is cancelled. Each step is a separate job, so that a question waits for
at most one item.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from ..lang.diagnostics import RxError
from ..lang.files import resolved
from ..lang.node import Node
from .analysis import Analyst, GivenUp, Settings, SliceFacts, programs
from .hints import KINDS
from .positions import UTF16, Position, TextLines, changed, path_of, uri_of

P = ParamSpec("P")
R = TypeVar("R")


class Document:
    """A text that a client has open. `asked` counts the reasons to check it again, `edition` counts its texts."""

    def __init__(self, uri: str, path: Path, version: int, text: str) -> None:
        self.uri, self.path, self.version, self.text = uri, path, version, text
        self.asked = self.edition = 0
        # The files of its program, and the diagnostics last sent for it.
        self.files: frozenset[Path] = frozenset()
        self.told: object = None

    def outdate(self) -> None:
        """Record that its text was changed or closed."""
        self.asked, self.edition = self.asked + 1, self.edition + 1

    def outdated(self) -> Callable[[], bool]:
        """A function that tells whether the text has changed since this call."""
        edition = self.edition
        return lambda: self.edition != edition


class Wishes(Node):
    """The client's settings; `refresh` is whether the server may request that the client fetch hints and lenses again."""

    strict: bool = False
    hints: frozenset[str] = frozenset(KINDS)
    roots: tuple[str, ...] = ()
    refresh: bool = False


def wishes(settings: object, before: Wishes) -> Wishes:
    """The settings from a client, `{"rx": {...}}` or its inner object; invalid values keep the earlier setting."""
    found = settings.get("rx", settings) if isinstance(settings, Mapping) else {}
    if not isinstance(found, Mapping):
        return before
    strict, hints, roots = found.get("strict"), found.get("hints"), found.get("roots")
    kinds = before.hints
    if isinstance(hints, bool):
        kinds = frozenset(KINDS) if hints else frozenset()
    elif isinstance(hints, Mapping):
        kinds = frozenset(k for k in KINDS if hints.get(k, k in before.hints) is True)
    named = roots if isinstance(roots, list) and all(isinstance(r, str) for r in roots) else None
    return Wishes(
        strict if isinstance(strict, bool) else before.strict,
        kinds,
        before.roots if named is None else tuple(named),
        found.get("refresh", before.refresh) is True,
    )


class EditorSession:
    """The session of one client."""

    def __init__(self) -> None:
        self.analyst = Analyst()
        self.documents: dict[Path, Document] = {}
        self.folders: dict[str, Path] = {}
        self.wishes = Wishes()
        self.encoding = UTF16
        self.edition = 0  # counts the changes of all open texts
        self._worker = ThreadPoolExecutor(1, "rx")
        self._lines: dict[Path, TextLines] = {}
        self._paths: dict[str, Path] = {}  # of open documents, fixed even if links or folders change

    async def work(self, job: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a job on the analysis thread, after the jobs before it."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, lambda: job(*args, **kwargs))

    def end(self) -> None:
        for document in self.documents.values():
            document.outdate()
        self._worker.shutdown(wait=False, cancel_futures=True)

    # Documents

    def open(self, uri: str, version: int, text: str) -> Document:
        path = self._paths[uri] = self.path(uri)
        self.edition += 1
        document = self.documents[path] = Document(uri, path, version, text)
        self._worker.submit(self.analyst.edit, path, text)
        return document

    def change(
        self, uri: str, version: int, changes: Iterable[tuple[Position, Position, str] | str]
    ) -> Document | None:
        """Apply changes in order, each a whole text or a replaced part; changes older than the current version are
        ignored."""
        document = self.document(uri)
        if document is None or version < document.version:
            return None
        for change in changes:
            text = change if isinstance(change, str) else changed(document.text, *change, self.encoding)
            document.text = text
        document.version = version
        document.outdate()
        self.edition += 1
        self._worker.submit(self.analyst.edit, document.path, document.text)
        return document

    def close(self, uri: str) -> Document | None:
        document = self.documents.pop(self.path(uri), None)
        self._paths.pop(uri, None)
        if document is not None:
            self._lines.pop(document.path, None)
            document.outdate()
            self.edition += 1
            self._worker.submit(self.analyst.close, document.path)
        return document

    def document(self, uri: str) -> Document | None:
        """The document open under a URI, in any spelling of the URI."""
        return self.documents.get(self.path(uri))

    def outdated(self) -> Callable[[], bool]:
        """A function that tells whether any text has changed since this call."""
        edition = self.edition
        return lambda: self.edition != edition

    def path(self, uri: str) -> Path:
        """The file of a URI; a document without a file gets a path in the first folder."""
        if uri in self._paths:
            return self._paths[uri]
        found = path_of(uri)
        if found is None:
            folder = next(iter(self.folders.values()), Path.cwd())
            found = folder / f"{uri.rpartition('/')[2].rpartition(':')[2] or 'untitled'}.rx"
        return resolved(found)

    def uri(self, path: Path) -> str:
        """The URI of a file, in the client's spelling if it has the file open."""
        return self.documents[path].uri if path in self.documents else uri_of(path)

    def lines(self, path: Path, text: str) -> TextLines:
        known = self._lines.get(path)
        if known is None or known.text is not text or known.encoding != self.encoding:
            self._lines[path] = known = TextLines(text, self.encoding)
        return known

    # Files

    def folder(self, path: Path) -> Path:
        """The innermost of the client's folders that contains a file, or the file's own folder."""
        around = [f for f in self.folders.values() if path.is_relative_to(f)]
        return max(around, key=lambda f: len(f.parts)) if around else path.parent

    def settings(self, path: Path) -> Settings:
        folder = self.folder(path)
        return Settings((folder, *((folder / r) for r in self.wishes.roots)), self.wishes.strict)

    def files(self, path: Path) -> list[Path]:
        """The programs in the folder of a file, and all open documents."""
        folder = self.folder(path)
        return list(dict.fromkeys([path, *self.documents, *(resolved(p) for p in programs(folder))]))

    def all_files(self) -> list[Path]:
        """The programs of all folders, and all open documents."""
        return list(
            dict.fromkeys([*self.documents, *(resolved(p) for f in self.folders.values() for p in programs(f))])
        )

    def forget(self) -> None:
        """Discard all results, since files other than programs may have changed."""
        self._worker.submit(self.analyst.forget)

    # Jobs of the worker

    def steps(self, document: Document) -> Iterator[SliceFacts]:
        asked = document.asked
        return self.analyst.steps(document.path, self.settings(document.path), lambda: document.asked != asked)

    def next(self, steps: Iterator[SliceFacts], document: Document, asked: int) -> SliceFacts | None:
        """The next step; None at the end, or if the document was changed meanwhile."""
        try:
            return next(steps, None) if document.asked == asked else None
        except (GivenUp, RxError):
            return None

    def facts(self, path: Path) -> SliceFacts | None:
        """All facts of a file, None if there is no such file; raises GivenUp if its text changes meanwhile."""
        document = self.documents.get(path)
        try:
            *_, last = self.analyst.steps(path, self.settings(path), None if document is None else document.outdated())
            return last
        except RxError:
            return None

    def known(self, path: Path) -> SliceFacts | None:
        """The facts of a file that are already known."""
        try:
            return self.analyst.known(path, self.settings(path))
        except RxError:
            return None


def is_set(capabilities: Any, *names: str) -> bool:
    """Whether a client has a capability."""
    for name in names:
        capabilities = getattr(capabilities, name, None)
    return bool(capabilities)
