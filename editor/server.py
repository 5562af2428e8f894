"""The server: its messages to a client, and the state shared by its handlers; pygls is imported only by `rx lsp`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from ..lang.installed import __version__
from ..lang.weights import SUFFIXES
from . import fixes, wire
from .analysis import GivenUp, SliceFacts
from .lookup import Lookup, NameMeaning, TextPlace
from .protocol import RxProtocol
from .rename import references, renamed
from .session import Document, EditorSession, is_set

R = TypeVar("R")
# In seconds: the interval between looks at files, and the time after which preliminary diagnostics are sent.
_LOOK_AGAIN, _PATIENCE = 2.0, 0.5
# The files that an answer may depend on.
WATCHED = f"**/*.{{{','.join(s[1:] for s in ('.rx', *SUFFIXES))}}}"


class ContentModified(JsonRpcException):
    CODE = -32801
    MESSAGE = "the text has changed meanwhile"


class RequestFailed(JsonRpcException):
    CODE = -32803


class RxServer(LanguageServer):
    """The server of one client."""

    def __init__(self) -> None:
        super().__init__("rx", __version__, protocol_cls=RxProtocol, max_workers=1)
        self.session = EditorSession()
        self.is_editor = False
        # A client that asks for diagnostics is not sent them as well.
        self.is_asked = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._actions: dict[Path, tuple[int, tuple[fixes.Action, ...]]] = {}

    @property
    def has_shut_down(self) -> bool:
        """Whether the client sent `shutdown` before it ended."""
        return bool(self.protocol._shutdown)

    def begin(self, task: Coroutine[Any, Any, None]) -> None:
        made = asyncio.ensure_future(task)
        self._tasks.add(made)
        made.add_done_callback(self._tasks.discard)

    async def watch(self) -> None:
        """Look for changed files regularly, since some clients do not watch files."""
        while True:
            await asyncio.sleep(_LOOK_AGAIN)
            if await self.session.work(self.session.analyst.has_new_weights):
                self.refresh_all()
            for path in await self.session.work(self.session.analyst.outdated):
                self.refresh_others(path)

    def end(self) -> None:
        """Start nothing more, and cancel running work."""
        for task in self._tasks:
            task.cancel()
        self.session.end()

    # Asking the worker

    async def answer(self, job: Callable[..., R], *args: object) -> R:
        try:
            return await self.session.work(job, *args)
        except GivenUp:
            raise ContentModified() from None

    async def change(self, job: Callable[[Callable[[], bool]], R]) -> R:
        """Run a job that computes changes, and tell it when texts change; raises ContentModified then, since its places are
        outdated."""
        outdated = self.session.outdated()
        found = await self.answer(job, outdated)
        if outdated():
            raise ContentModified
        return found

    def asking(self, uri: str, job: Callable[[SliceFacts], R]) -> Callable[[], R | None]:
        """A job for the worker, on all facts of a file."""
        path = self.session.path(uri)

        def ask() -> R | None:
            facts = self.session.facts(path)
            return job(facts) if facts is not None else None

        return ask

    async def of(self, uri: str, job: Callable[[SliceFacts], R]) -> R | None:
        return await self.answer(self.asking(uri, job))

    async def of_known(self, uri: str, job: Callable[[SliceFacts], R]) -> R | None:
        """Run a job on the facts of a file that are already known."""
        path = self.session.path(uri)

        def ask() -> R | None:
            facts = self.session.known(path)
            return job(facts) if facts is not None else None

        return await self.answer(ask)

    def lines_of(self, facts: SliceFacts) -> Any:
        return self.session.lines(facts.pieces.path, facts.pieces.text)

    def offset(self, facts: SliceFacts, at: lsp.Position) -> int:
        found: int = self.lines_of(facts).offset(at.line, at.character)
        return found

    def watched(self, paths: list[Path]) -> None:
        """Handle changes of files seen by the client; for open files, the open text counts."""
        if any(path.suffix != ".rx" for path in paths):
            self.session.forget()
        if not self.session.documents.keys() >= set(paths):
            self.refresh_all()

    async def watch_files(self) -> None:
        """Ask the client to report changes of files, if it supports that. Clients without a name may be scripts that claim an
        editor's capabilities but answer nothing."""
        if self.is_editor and is_set(
            self.client_capabilities.workspace, "did_change_watched_files", "dynamic_registration"
        ):
            options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher(WATCHED)])
            asked = lsp.Registration("rx-files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await self.client_register_capability_async(lsp.RegistrationParams([asked]))

    # Diagnostics

    async def refresh(self, document: Document) -> None:
        """Check a file, one item after the other, and send the diagnostics at the end; if it takes long, also preliminary
        ones."""
        session, asked, facts = self.session, document.asked, None
        steps, patience = session.steps(document), time.monotonic() + _PATIENCE
        while document.asked == asked:
            further = await session.work(session.next, steps, document, asked)
            if further is None:
                break
            facts = further
            if time.monotonic() > patience:
                await self._tell(document, facts, asked)
                patience += _PATIENCE
        if document.asked == asked:
            await self._tell(document, facts, asked)

    async def _tell(self, document: Document, facts: SliceFacts | None, asked: int) -> None:
        """Send the diagnostics of a file; none if it cannot be found."""
        if facts is not None:
            document.files = frozenset(facts.program.paths)
        if not self.is_asked:
            found = [] if facts is None else await self.session.work(wire.diagnostics, self.session, facts)
            self._publish(document, found, asked)

    def _publish(self, document: Document, found: list[lsp.Diagnostic], asked: int) -> None:
        told = (document.version, found)
        if document.asked == asked and document.told != told and self.session.documents.get(document.path) is document:
            document.told = told
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(document.uri, found, document.version))

    async def refresh_with_users(self, document: Document) -> None:
        """Refresh a file, then the files that import it."""
        asked = document.asked
        await self.refresh(document)
        if document.asked == asked:
            self.refresh_others(document.path, document)

    def refresh_others(self, path: Path, but: Document | None = None) -> None:
        users = [d for d in self.session.documents.values() if d is not but and (path in d.files or not d.files)]
        self.refresh_all(users)

    def refresh_all(self, documents: list[Document] | None = None) -> None:
        for document in list(self.session.documents.values()) if documents is None else documents:
            document.asked += 1
            self.begin(self.refresh(document))
        self._ask_again()

    def _ask_again(self) -> None:
        """Ask the client to repeat its own requests; some clients claim to support this but fail on it."""
        workspace = self.client_capabilities.workspace
        if self.is_asked and is_set(workspace, "diagnostics", "refresh_support"):
            self.workspace_diagnostic_refresh(None)
        if self.session.wishes.refresh and is_set(workspace, "inlay_hint", "refresh_support"):
            self.workspace_inlay_hint_refresh(None)
        if self.session.wishes.refresh and is_set(workspace, "code_lens", "refresh_support"):
            self.workspace_code_lens_refresh(None)

    def stop_sending(self) -> None:
        """Withdraw the diagnostics that were sent: the client asks for them itself."""
        if not self.is_asked:
            self.is_asked = True
            for document in self.session.documents.values():
                if document.told is not None:
                    self.text_document_publish_diagnostics(
                        lsp.PublishDiagnosticsParams(document.uri, [], document.version)
                    )

    # Names

    def symbol(self, facts: SliceFacts, at: lsp.Position) -> tuple[Lookup, NameMeaning, TextPlace] | None:
        lookup = Lookup(facts.program)
        found = lookup.at(self.offset(facts, at))
        symbol = lookup.symbol(found) if found is not None else None
        place = facts.pieces.place(found.span) if found is not None else None
        return None if symbol is None or place is None else (lookup, symbol, TextPlace(facts.pieces.path, *place))

    def found_in(self, facts: SliceFacts, symbol: NameMeaning) -> list[TextPlace]:
        path = facts.pieces.path
        return references(self.session.analyst, self.session.files(path), symbol, self.session.settings(path))

    def places(self, places: list[TextPlace]) -> list[lsp.Location]:
        return [wire.location(self.session, place) for place in places]

    # Changes

    def renaming(self, facts: SliceFacts, symbol: NameMeaning, new: str) -> lsp.WorkspaceEdit:
        """The edits that rename a symbol everywhere; raises RenameRefused."""
        session, path = self.session, facts.pieces.path
        places = renamed(session.analyst, session.files(path), symbol, new, session.settings(path))
        name = new.removeprefix("@") if symbol.kind == "function" else new
        edits: dict[Path, list[lsp.TextEdit]] = {}
        for place in places:
            edits.setdefault(place.path, []).append(lsp.TextEdit(wire.location(session, place).range, name))
        return self.edit(edits)

    def edit(self, changes: dict[Path, list[lsp.TextEdit]]) -> lsp.WorkspaceEdit:
        """A workspace edit, with the versions of the documents if the client can check them."""
        if not is_set(self.client_capabilities.workspace, "workspace_edit", "document_changes"):
            return lsp.WorkspaceEdit(changes={self.session.uri(path): edits for path, edits in changes.items()})
        made = []
        for path, edits in changes.items():
            document = self.session.documents.get(path)
            number = document.version if document is not None else None
            made.append(
                lsp.TextDocumentEdit(
                    lsp.OptionalVersionedTextDocumentIdentifier(self.session.uri(path), number), list(edits)
                )
            )
        return lsp.WorkspaceEdit(document_changes=list(made))

    def actions(self, document: Document, asked: int, outdated: Callable[[], bool]) -> tuple[fixes.Action, ...]:
        """All fixes of a file for a given value of `asked`, computed once."""
        known = self._actions.get(document.path)
        if known is None or known[0] != asked:
            session = self.session
            settings = session.settings(document.path)
            found = fixes.actions(session.analyst, document.path, settings, outdated)
            self._actions[document.path] = known = (asked, found)
        return known[1]

    def fix_all(self, document: Document, outdated: Callable[[], bool]) -> lsp.WorkspaceEdit | None:
        session = self.session
        settings = session.settings(document.path)
        changes = fixes.fix_all(session.analyst, document.path, settings, outdated)
        lines = session.lines(document.path, document.text)
        return self.edit({document.path: wire.changes(lines, changes)}) if changes else None
