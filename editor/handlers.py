"""Answer a client's requests and notifications from the session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp

from . import completion, fixes, hints, symbols, wire
from .analysis import SliceFacts
from .hover import hover, origins
from .lookup import Lookup, TextPlace
from .positions import Position, agreed
from .rename import RenameRefused
from .server import RequestFailed, RxServer
from .session import Document, is_set, wishes

FIX_ALL = "source.fixAll.rx"
_LEGEND = lsp.SemanticTokensLegend(list(symbols.TOKEN_TYPES), list(symbols.MODIFIERS))
_TREE = ("document_symbol", "hierarchical_document_symbol_support")
_COMPLETION = lsp.CompletionOptions(trigger_characters=["@", ".", '"', "[", "/"])
_SIGNATURE = lsp.SignatureHelpOptions(trigger_characters=["(", ","], retrigger_characters=["="])
_ACTIONS = lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix, FIX_ALL], resolve_provider=True)


def serve() -> RxServer:
    """A server with all features."""
    server = RxServer()
    for register in (_life, _documents, _diagnostics, _hover, _definitions, _references, _rename, _writing, _between):
        register(server)
    for register in (_outline, _colours, _changes):
        register(server)
    return server


def _life(server: RxServer) -> None:
    session = server.session

    @server.feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        server.is_editor = params.client_info is not None
        general = params.capabilities.general
        offered = general.position_encodings if general is not None else None
        session.encoding = agreed([str(getattr(e, "value", e)) for e in offered or ()])
        session.wishes = wishes(params.initialization_options, session.wishes)
        root = params.root_uri or (Path(params.root_path).as_uri() if params.root_path else None)
        folders = params.workspace_folders or ([lsp.WorkspaceFolder(root, "")] if root else [])
        session.folders = {f.uri: session.path(f.uri) for f in folders}

    @server.feature(lsp.INITIALIZED)
    async def initialized(_: lsp.InitializedParams) -> None:
        await session.work(completion.warm)
        await configure()
        server.begin(server.watch())
        await server.watch_files()

    async def configure() -> None:
        if is_set(server.client_capabilities.workspace, "configuration"):
            asked = lsp.ConfigurationParams([lsp.ConfigurationItem(section="rx")])
            for found in await server.workspace_configuration_async(asked) or ():
                apply(found)

    def apply(settings: object) -> None:
        before, session.wishes = session.wishes, wishes(settings, session.wishes)
        if session.wishes != before:
            server.refresh_all()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def changed(params: lsp.DidChangeConfigurationParams) -> None:
        apply(params.settings)
        await configure()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders(params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            session.folders.pop(folder.uri, None)
        for folder in params.event.added:
            session.folders[folder.uri] = session.path(folder.uri)
        server.refresh_all()

    @server.feature(lsp.SHUTDOWN)
    def shutdown(_: None) -> None:
        server.end()


def _documents(server: RxServer) -> None:
    session = server.session

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        text = params.text_document
        server.begin(server.refresh_with_users(session.open(text.uri, text.version, text.text)))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        text = params.text_document
        document = session.change(text.uri, text.version, map(_change, params.content_changes))
        if document is not None:
            server.begin(server.refresh_with_users(document))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        document = session.close(params.text_document.uri)
        if document is not None:
            server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(document.uri, []))
            server.refresh_others(document.path)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        document = session.document(params.text_document.uri)
        if document is not None:
            server.refresh_others(document.path, document)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def on_disk(params: lsp.DidChangeWatchedFilesParams) -> None:
        server.watched([session.path(change.uri) for change in params.changes])


def _change(change: lsp.TextDocumentContentChangeEvent) -> tuple[Position, Position, str] | str:
    if isinstance(change, lsp.TextDocumentContentChangePartial):
        start, end = change.range.start, change.range.end
        return Position(start.line, start.character), Position(end.line, end.character), change.text
    return change.text


def _diagnostics(server: RxServer) -> None:
    options = lsp.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier="rx")

    @server.feature(lsp.TEXT_DOCUMENT_DIAGNOSTIC, options)
    async def diagnostic(params: lsp.DocumentDiagnosticParams) -> lsp.DocumentDiagnosticReport:
        server.stop_sending()
        found = await server.of(params.text_document.uri, lambda facts: wire.diagnostics(server.session, facts)) or []
        number = str(hash(repr(found)))
        if params.previous_result_id == number:
            return lsp.RelatedUnchangedDocumentDiagnosticReport(number)
        return lsp.RelatedFullDocumentDiagnosticReport(found, result_id=number)


def _hover(server: RxServer) -> None:
    session = server.session

    def link(place: TextPlace) -> str:
        where = wire.location(session, place)
        return f"{where.uri}#L{where.range.start.line + 1}"

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        def ask(facts: SliceFacts) -> lsp.Hover | None:
            found = hover(facts, server.offset(facts, params.position), link)
            if found is None:
                return None
            text = lsp.MarkupContent(lsp.MarkupKind.Markdown, found.markdown)
            return lsp.Hover(text, wire.range_(server.lines_of(facts), found.start, found.end))

        return await server.of(params.text_document.uri, ask)


def _definitions(server: RxServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: lsp.DefinitionParams) -> list[lsp.Location] | None:
        def ask(facts: SliceFacts) -> list[lsp.Location]:
            target = Lookup(facts.program).imported(server.offset(facts, params.position))
            found = server.symbol(facts, params.position)
            place = target or (found[0].defined(found[1]) if found is not None else None)
            return server.places([place]) if place is not None else []

        return await server.of(params.text_document.uri, ask)

    @server.feature(lsp.TEXT_DOCUMENT_TYPE_DEFINITION)
    async def sources(params: lsp.TypeDefinitionParams) -> list[lsp.Location] | None:
        """The places where the sizes of a value come from."""
        return await server.of(
            params.text_document.uri, lambda facts: server.places(origins(facts, server.offset(facts, params.position)))
        )


def _references(server: RxServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    async def references(params: lsp.ReferenceParams) -> list[lsp.Location] | None:
        def ask(facts: SliceFacts) -> list[lsp.Location]:
            found = server.symbol(facts, params.position)
            if found is None:
                return []
            lookup, symbol, _ = found
            places = server.found_in(facts, symbol)
            defined = None if params.context.include_declaration else lookup.defined(symbol)
            return server.places([p for p in places if p != defined])

        return await server.of(params.text_document.uri, ask)

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    async def highlight(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight] | None:
        def ask(facts: SliceFacts) -> list[lsp.DocumentHighlight]:
            found = server.symbol(facts, params.position)
            places = found[0].references(found[1]) if found is not None else ()
            return [lsp.DocumentHighlight(wire.range_(server.lines_of(facts), p.start, p.end)) for p in places]

        return await server.of(params.text_document.uri, ask)


def _rename(server: RxServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    async def prepare(params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder | None:
        def ask(facts: SliceFacts) -> lsp.PrepareRenamePlaceholder | None:
            found = server.symbol(facts, params.position)
            if found is None or found[1].path is None:
                return None
            _, symbol, place = found
            return lsp.PrepareRenamePlaceholder(
                wire.range_(server.lines_of(facts), place.start, place.end), symbol.name
            )

        return await server.of(params.text_document.uri, ask)

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    async def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        def ask(facts: SliceFacts) -> lsp.WorkspaceEdit:
            found = server.symbol(facts, params.position)
            if found is None:
                raise RequestFailed("nothing here has a name that can be changed")
            try:
                return server.renaming(facts, found[1], params.new_name)
            except RenameRefused as reason:
                raise RequestFailed(str(reason)) from None

        asking = server.asking(params.text_document.uri, ask)
        return await server.change(lambda _: asking())


def _writing(server: RxServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, _COMPLETION)
    async def complete(params: lsp.CompletionParams) -> lsp.CompletionList | None:
        def ask(facts: SliceFacts) -> lsp.CompletionList:
            offset = server.offset(facts, params.position)
            return wire.completions(server.lines_of(facts), offset, completion.completions(facts, offset))

        return await server.of_known(params.text_document.uri, ask)

    @server.feature(lsp.TEXT_DOCUMENT_SIGNATURE_HELP, _SIGNATURE)
    async def signature(params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
        def ask(facts: SliceFacts) -> lsp.SignatureHelp | None:
            found = completion.signature(facts, server.offset(facts, params.position))
            return wire.signature(found) if found is not None else None

        return await server.of_known(params.text_document.uri, ask)


def _between(server: RxServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    async def inlay(params: lsp.InlayHintParams) -> list[lsp.InlayHint] | None:
        def ask(facts: SliceFacts) -> list[lsp.InlayHint]:
            start, end = server.offset(facts, params.range.start), server.offset(facts, params.range.end)
            return wire.inlay_hints(server.lines_of(facts), hints.hints(facts, start, end, server.session.wishes.hints))

        return await server.of(params.text_document.uri, ask)

    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS)
    async def lens(params: lsp.CodeLensParams) -> list[lsp.CodeLens] | None:
        return await server.of(
            params.text_document.uri, lambda facts: wire.lenses(server.lines_of(facts), hints.lenses(facts))
        )


def _outline(server: RxServer) -> None:
    session = server.session

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def outline(params: lsp.DocumentSymbolParams) -> list[Any] | None:
        def ask(facts: SliceFacts) -> list[Any]:
            lines, found = server.lines_of(facts), symbols.symbols(facts.pieces)
            if is_set(server.client_capabilities.text_document, *_TREE):
                return list(wire.document_symbols(lines, found))
            return [wire.symbol_information(session.uri(facts.pieces.path), lines, s) for s in found]

        return await server.of_known(params.text_document.uri, ask) or []

    @server.feature(lsp.WORKSPACE_SYMBOL)
    async def of_workspace(params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol] | None:
        query = params.query.lower().lstrip("@")

        def ask(path: Path) -> list[lsp.WorkspaceSymbol]:
            facts = session.known(path)
            there = symbols.symbols(facts.pieces) if facts is not None else ()
            named = [s for s in there if s.kind != "value" and query in s.name.lower()]
            uri = session.uri(path)
            return [wire.workspace_symbol(uri, server.lines_of(facts), s) for s in named] if facts is not None else []

        return await server.answer(lambda: [found for path in session.all_files() for found in ask(path)])

    @server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
    async def fold(params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange] | None:
        return await server.of_known(
            params.text_document.uri, lambda facts: wire.folds(server.lines_of(facts), symbols.folds(facts.pieces))
        )


def _colours(server: RxServer) -> None:
    async def tokens_of(uri: str, between: lsp.Range | None) -> lsp.SemanticTokens:
        def ask(facts: SliceFacts) -> lsp.SemanticTokens:
            found = symbols.tokens(facts)
            if between is not None:
                start, end = server.offset(facts, between.start), server.offset(facts, between.end)
                found = [t for t in found if start <= t.start < end]
            return wire.semantic_tokens(server.lines_of(facts), found)

        return await server.of_known(uri, ask) or lsp.SemanticTokens([])

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _LEGEND)
    async def tokens(params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        return await tokens_of(params.text_document.uri, None)

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, _LEGEND)
    async def some_tokens(params: lsp.SemanticTokensRangeParams) -> lsp.SemanticTokens:
        return await tokens_of(params.text_document.uri, params.range)


def _changes(server: RxServer) -> None:
    session = server.session

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    async def formatted(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
        document = session.document(params.text_document.uri)
        if document is None:
            return None
        text = document.text
        found = await server.change(lambda _: fixes.formatted(str(document.path), text))
        return wire.changes(session.lines(document.path, text), found)

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, _ACTIONS)
    async def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction] | None:
        document = session.document(params.text_document.uri)
        if document is None:
            return None
        only = [str(getattr(k, "value", k)) for k in params.context.only or ()]
        found: list[lsp.CodeAction] = []
        if not only or any(_covers(kind, "quickfix") for kind in only):
            asked = document.asked
            found += await server.change(lambda outdated: _quick(server, document, asked, params, outdated))
        if any(_covers(kind, FIX_ALL) for kind in only) or (not only and any(a.is_preferred for a in found)):
            found.append(lsp.CodeAction("Apply every fix that leaves no choice", FIX_ALL, data={"uri": document.uri}))
            if not is_set(server.client_capabilities.text_document, "code_action", "resolve_support"):
                found[-1].edit = await server.change(lambda outdated: server.fix_all(document, outdated))
        return [a for a in found if a.edit is not None or a.data is not None]

    @server.feature(lsp.CODE_ACTION_RESOLVE)
    async def resolve(action: lsp.CodeAction) -> lsp.CodeAction:
        uri = action.data.get("uri") if isinstance(action.data, dict) else getattr(action.data, "uri", None)
        document = session.document(uri if isinstance(uri, str) else "")
        if document is not None and action.edit is None:
            action.edit = await server.change(lambda outdated: server.fix_all(document, outdated))
        return action


def _covers(wanted: str, kind: str) -> bool:
    """Whether a wanted kind includes another: `source` and `source.fixAll` include `source.fixAll.rx`."""
    return wanted == kind or kind.startswith(f"{wanted}.")


def _is_said_of(facts: SliceFacts | None, first: int, last: int) -> bool:
    places = [facts.pieces.place(said.span) for said in facts.diagnostics] if facts is not None else []
    return any(place is not None and place[0] <= last and first <= place[1] for place in places)


def _quick(
    server: RxServer, document: Document, asked: int, params: lsp.CodeActionParams, outdated: Callable[[], bool]
) -> list[lsp.CodeAction]:
    lines = server.session.lines(document.path, document.text)
    first = lines.offset(params.range.start.line, params.range.start.character)
    last = lines.offset(params.range.end.line, params.range.end.character)
    if not _is_said_of(server.session.facts(document.path), first, last):
        return []  # every cursor movement asks for actions, and searching for fixes is slow
    found = []
    for action in server.actions(document, asked, outdated):
        if action.start <= last and first <= action.end:
            place = wire.range_(lines, action.start, action.end)
            about = [d for d in params.context.diagnostics if d.code == action.code and d.range == place]
            edit = server.edit({document.path: wire.changes(lines, action.changes)})
            title = action.title[:1].upper() + action.title[1:]
            found.append(
                lsp.CodeAction(
                    title, lsp.CodeActionKind.QuickFix, about or None, is_preferred=action.preferred, edit=edit
                )
            )
    return found
