"""Convert facts and diagnostics to the types of the protocol."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lsprotocol import types as lsp

from ..lang.diagnostics import Diagnostic
from . import completion, fixes, hints, symbols
from .analysis import SliceFacts, related
from .lookup import TextPlace
from .positions import TextLines, units, uri_of
from .session import EditorSession

PAGES = Path(__file__).resolve().parents[1] / "cli" / "errors"
_SEVERITY = {
    "error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}  # fmt: skip
_COMPLETION = {
    "function": lsp.CompletionItemKind.Function, "primitive": lsp.CompletionItemKind.Function,
    "variable": lsp.CompletionItemKind.Variable, "size": lsp.CompletionItemKind.TypeParameter,
    "const": lsp.CompletionItemKind.Constant, "type": lsp.CompletionItemKind.Class, "dtype": lsp.CompletionItemKind.EnumMember,
    "keyword": lsp.CompletionItemKind.Keyword, "file": lsp.CompletionItemKind.File, "field": lsp.CompletionItemKind.Field,
    "import": lsp.CompletionItemKind.Module,
}  # fmt: skip
_SYMBOL = {
    "function": lsp.SymbolKind.Function, "const": lsp.SymbolKind.Constant, "type": lsp.SymbolKind.Class,
    "import": lsp.SymbolKind.Module, "value": lsp.SymbolKind.Variable,
}  # fmt: skip
_FOLD = {
    "comment": lsp.FoldingRangeKind.Comment, "imports": lsp.FoldingRangeKind.Imports, "region": lsp.FoldingRangeKind.Region,
}  # fmt: skip


def position(lines: TextLines, offset: int) -> lsp.Position:
    return lsp.Position(*lines.position(offset))


def range_(lines: TextLines, start: int, end: int) -> lsp.Range:
    return lsp.Range(position(lines, start), position(lines, end))


def location(session: EditorSession, place: TextPlace) -> lsp.Location:
    """The location of a place in any file that was read."""
    unit = session.analyst.files[place.path]
    return lsp.Location(session.uri(place.path), range_(session.lines(place.path, unit.text), place.start, place.end))


def diagnostics(session: EditorSession, facts: SliceFacts) -> list[lsp.Diagnostic]:
    lines = session.lines(facts.pieces.path, facts.pieces.text)
    return [_diagnostic(session, facts, lines, said) for said in facts.told]


def _diagnostic(session: EditorSession, facts: SliceFacts, lines: TextLines, said: Diagnostic) -> lsp.Diagnostic:
    start, end = facts.pieces.place(said.span) or (0, 0)
    places = [(label, related(facts, label.span)) for label in said.labels]
    other = [
        lsp.DiagnosticRelatedInformation(location(session, TextPlace(found[0], *found[1])), label.message)
        for label, found in places
        if found is not None
    ]
    page = PAGES / f"{said.code}.md"
    return lsp.Diagnostic(
        range=range_(lines, start, max(end, start)),
        message="\n".join(
            filter(None, (said.message, said.caption, *said.notes, f"help: {said.help}" if said.help else ""))
        ),
        severity=_SEVERITY[said.severity],
        code=str(said.code),
        code_description=lsp.CodeDescription(uri_of(page)) if page.is_file() else None,
        source="rx",
        tags=[lsp.DiagnosticTag.Unnecessary] if said.code.is_quiet else None,
        related_information=other or None,
    )


def changes(lines: TextLines, edits: Iterable[fixes.TextChange]) -> list[lsp.TextEdit]:
    return [lsp.TextEdit(range_(lines, e.start, e.end), e.text) for e in edits]


def completions(lines: TextLines, offset: int, items: list[completion.CompletionItem]) -> lsp.CompletionList:
    return lsp.CompletionList(
        is_incomplete=False,
        items=[
            lsp.CompletionItem(
                label=i.label, kind=_COMPLETION[i.kind], detail=i.detail or None, sort_text=i.order,
                filter_text=i.label, text_edit=lsp.TextEdit(range_(lines, i.start, offset), i.label),
            )
            for i in sorted(items, key=lambda i: i.order)
        ],
    )  # fmt: skip


def signature(found: completion.CallSignature) -> lsp.SignatureHelp:
    # Offsets in a label count UTF-16 units, whatever encoding is used for positions.
    parameters = [
        lsp.ParameterInformation((units(found.label[:a], "utf-16"), units(found.label[:b], "utf-16")))
        for a, b in found.parameters
    ]
    page = lsp.MarkupContent(lsp.MarkupKind.Markdown, found.page) if found.page else None
    one = lsp.SignatureInformation(found.label, page, parameters, found.active)
    return lsp.SignatureHelp([one], 0, found.active)


def inlay_hints(lines: TextLines, found: Iterable[hints.InlayHint]) -> list[lsp.InlayHint]:
    return [
        lsp.InlayHint(
            position(lines, h.offset), h.text, lsp.InlayHintKind.Type if h.kind == "shapes" else None,
            tooltip=h.whole.strip() if h.whole != h.text else None, padding_left=h.kind == "checks",
        )
        for h in found
    ]  # fmt: skip


def lenses(lines: TextLines, found: Iterable[hints.Lens]) -> list[lsp.CodeLens]:
    return [lsp.CodeLens(range_(lines, x.start, x.end), lsp.Command(x.text, "")) for x in found]


def document_symbols(lines: TextLines, found: Iterable[symbols.OutlineItem]) -> list[lsp.DocumentSymbol]:
    return [
        lsp.DocumentSymbol(
            s.name,
            _SYMBOL[s.kind],
            range_(lines, s.start, s.end),
            range_(lines, s.name_start, s.name_end),
            s.detail or None,
        )
        for s in found
    ]


def workspace_symbol(uri: str, lines: TextLines, found: symbols.OutlineItem) -> lsp.WorkspaceSymbol:
    place = lsp.Location(uri, range_(lines, found.name_start, found.name_end))
    return lsp.WorkspaceSymbol(place, found.name, _SYMBOL[found.kind])


def symbol_information(uri: str, lines: TextLines, found: symbols.OutlineItem) -> lsp.SymbolInformation:
    """A symbol for clients that do not support symbol trees."""
    place = lsp.Location(uri, range_(lines, found.start, found.end))
    return lsp.SymbolInformation(location=place, name=found.name, kind=_SYMBOL[found.kind])


def folds(lines: TextLines, found: Iterable[symbols.Fold]) -> list[lsp.FoldingRange]:
    placed = [(lines.position(f.start).line, lines.position(f.end).line, f.kind) for f in found]
    kept = {first: (last, kind) for first, last, kind in sorted(placed, key=lambda p: p[1]) if last > first}
    # The closing line stays visible.
    return [
        lsp.FoldingRange(a, b - (kind == "region" and b - 1 > a), kind=_FOLD[kind])
        for a, (b, kind) in sorted(kept.items())
    ]


def semantic_tokens(lines: TextLines, found: Iterable[symbols.Token]) -> lsp.SemanticTokens:
    """Five numbers for each token: lines and columns since the previous token, its length, type and modifiers."""
    data: list[int] = []
    line = column = 0
    for token in found:
        at = lines.position(token.start)
        length = units(lines.text[token.start : token.start + token.length], lines.encoding)
        data += [at.line - line, at.column - (column if at.line == line else 0), length, token.type, token.modifiers]
        line, column = at
    return lsp.SemanticTokens(data)
