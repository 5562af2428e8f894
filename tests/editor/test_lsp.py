"""The language server as a client sees it: what it answers over the wire, in its words and its columns."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls")
pytest_lsp = pytest.importorskip("pytest_lsp", reason="its client is pytest-lsp's")

from lsprotocol import types as lsp  # noqa: E402
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client  # noqa: E402

COMMAND = [sys.executable, "-m", "rxlang", "lsp"]
ROWS = """@rows = fn(x : Tensor([n, m * 4], int8)) : Tensor([n, m, 4], int8) {
  let y = @reshape(x, [n, m, 4])
  y
}
"""
USES = """import "rows.rx" as rows

@uses = fn(x : Tensor([k, 8], int8)) : Tensor([k, 4, 2], int8) {
  let z = @rows.rows(x)
  @permute_dims(z, [0, 2, 1])
}
"""
WRONG = """@wrong = fn(x : Tensor([n, 3], float32), w : Tensor([5, 3], float32)) : Tensor([n, 5], float32) {
  @matmul(x, w)
}
"""
OPEN = """@open = fn(x : Tensor([n, m], float32), y : Tensor([m, k], float32)) : Tensor([n, m], float32) {
  x + y
}
"""


class Client:
    """One server with a folder of its own; files are opened under their URIs."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.versions: dict[str, int] = {}

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def document(self, name: str) -> lsp.TextDocumentIdentifier:
        return lsp.TextDocumentIdentifier(self.uri(name))

    def open(self, name: str, text: str) -> None:
        self.versions[name] = 1
        item = lsp.TextDocumentItem(self.uri(name), "rx", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def change(self, name: str, *changes: lsp.TextDocumentContentChangeEvent | str) -> None:
        self.versions[name] += 1
        events = [lsp.TextDocumentContentChangeWholeDocument(c) if isinstance(c, str) else c for c in changes]
        text = lsp.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name))
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(text, list(events)))

    async def told(self, name: str, *codes: str) -> list[lsp.Diagnostic]:
        """The diagnostics of a file as soon as they have these codes, of the latest version."""
        for _ in range(1200):
            found = self.client.diagnostics.get(self.uri(name))
            if found is not None and sorted(str(d.code) for d in found) == sorted(codes):
                return list(found)
            await asyncio.sleep(0.02)
        raise AssertionError(f"wanted {codes}, got {self.client.diagnostics.get(self.uri(name))}")

    async def pulled(self, name: str, before: str | None = None) -> lsp.DocumentDiagnosticReport:
        params = lsp.DocumentDiagnosticParams(self.document(name), previous_result_id=before)
        return await self.client.text_document_diagnostic_async(params)


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=COMMAND, client_factory=make_test_lsp_client), scope="module"
)
async def shared(lsp_client: LanguageClient, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[None]:
    folder = tmp_path_factory.mktemp("work")
    lsp_client.folder = folder
    await lsp_client.initialize_session(
        lsp.InitializeParams(
            capabilities=client_capabilities("visual-studio-code"),
            workspace_folders=[lsp.WorkspaceFolder(folder.as_uri(), "work")],
        )
    )
    yield
    await lsp_client.shutdown_session()


@pytest.fixture
def client(shared: LanguageClient) -> Client:
    return Client(shared, shared.folder)


def at(text: str, part: str, skip: int = 0) -> lsp.Position:
    """Where a part of an ASCII text stands."""
    offset = text.index(part) + skip
    return lsp.Position(text.count("\n", 0, offset), offset - text.rfind("\n", 0, offset) - 1)


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_diagnostic_has_its_place_its_page_and_its_reasons(client: Client) -> None:
    client.open("d1.rx", WRONG)
    [said] = await client.told("d1.rx", "E305")
    assert said.range.start == at(WRONG, "@matmul") and said.severity == lsp.DiagnosticSeverity.Error
    assert said.code_description is not None and said.code_description.href.endswith("/E305.md")
    assert said.related_information and all(r.location.uri == client.uri("d1.rx") for r in said.related_information)
    assert "3" in said.message and said.source == "rx"


async def test_a_fix_takes_the_diagnostic_away(client: Client) -> None:
    client.open("a1.rx", WRONG)
    [said] = await client.told("a1.rx", "E305")
    params = lsp.CodeActionParams(client.document("a1.rx"), said.range, lsp.CodeActionContext([said]))
    actions = await client.client.text_document_code_action_async(params)
    first = next(a for a in actions if a.is_preferred)
    assert (
        first.kind == lsp.CodeActionKind.QuickFix
        and list(first.diagnostics) == [said]
        and "transpose" in first.title.lower()
    )
    client.change("a1.rx", applied(WRONG, first.edit))
    await client.told("a1.rx")


async def test_fix_all_does_what_rx_check_fix_would(client: Client) -> None:
    client.open("a2.rx", WRONG)
    [said] = await client.told("a2.rx", "E305")
    context = lsp.CodeActionContext([], only=[lsp.CodeActionKind.SourceFixAll])
    [action] = await client.client.text_document_code_action_async(
        lsp.CodeActionParams(client.document("a2.rx"), said.range, context)
    )
    action = await client.client.code_action_resolve_async(action)
    client.change("a2.rx", applied(WRONG, action.edit))
    await client.told("a2.rx")


def applied(text: str, edit: lsp.WorkspaceEdit) -> str:
    """An ASCII text with the edits of one file."""
    [change] = edit.document_changes or [lsp.TextDocumentEdit(None, e) for e in (edit.changes or {}).values()]
    lines = text.split("\n")
    starts = [sum(len(x) + 1 for x in lines[:i]) for i in range(len(lines) + 1)]
    for one in sorted(change.edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        start, end = (starts[p.line] + p.character for p in (one.range.start, one.range.end))
        text = text[:start] + one.new_text + text[end:]
    return text


async def test_a_text_is_laid_out_as_rx_fmt_does(client: Client) -> None:
    client.open("f1.rx", "let   x = @zeros([2,3],float32)\r\nlet y = x\r\n")
    params = lsp.DocumentFormattingParams(client.document("f1.rx"), lsp.FormattingOptions(2, True))
    edits = await client.client.text_document_formatting_async(params)
    assert edits and "let x = @zeros([2, 3], float32)" in edits[0].new_text


async def test_hover_says_what_is_known_fact_by_fact(client: Client) -> None:
    client.open("rows.rx", ROWS)
    client.open("uses.rx", USES)
    place = lsp.HoverParams(client.document("uses.rx"), at(USES, "let z", 4))
    found = await client.client.text_document_hover_async(place)
    assert "z : Tensor([k, 2, 4], int8)" in found.contents.value and "exact" in found.contents.value
    primitive = lsp.HoverParams(client.document("uses.rx"), at(USES, "@permute", 3))
    found = await client.client.text_document_hover_async(primitive)
    assert "@permute_dims(" in found.contents.value and found.range.start == at(USES, "@permute", 1)
    function = lsp.HoverParams(client.document("uses.rx"), at(USES, "rows.rows(", 6))
    found = await client.client.text_document_hover_async(function)
    assert "fn(x : Tensor([n, m * 4], int8))" in found.contents.value


async def test_hover_over_a_size_says_where_it_comes_from(client: Client) -> None:
    text = "@f = fn(x : Tensor([n, 3], int8)) : Tensor([n, 3], int8) where n >= 2, n <= 9 {\n  x\n}\n"
    client.open("h2.rx", text)
    found = await client.client.text_document_hover_async(lsp.HoverParams(client.document("h2.rx"), at(text, "n, 3")))
    assert "between 2 and 9" in found.contents.value and "h2.rx:1" in found.contents.value


async def hints(client: Client, name: str, lines: int = 50) -> list[tuple[int, str]]:
    params = lsp.InlayHintParams(client.document(name), lsp.Range(lsp.Position(0, 0), lsp.Position(lines, 0)))
    return [(h.position.line, h.label) for h in await client.client.text_document_inlay_hint_async(params)]


async def test_hints_show_shapes_sizes_at_calls_and_what_stays_for_run_time(client: Client) -> None:
    client.open("rows.rx", ROWS)
    client.open("uses.rx", USES)
    assert await hints(client, "uses.rx") == [(3, " : Tensor([k, 2, 4], int8)"), (3, "[n = k]")]
    client.open("open.rx", OPEN)
    assert (1, " checked when it runs") in await hints(client, "open.rx")


async def test_lenses_show_the_derived_signature_and_the_checks_on_entry(client: Client) -> None:
    client.open("open.rx", OPEN)
    lenses = await client.client.text_document_code_lens_async(lsp.CodeLensParams(client.document("open.rx")))
    titles = [x.command.title for x in lenses]
    assert any("where" in t and t.startswith("@open = fn(") for t in titles), titles
    assert any(t.endswith("checks on entry") for t in titles), titles


async def test_definitions_and_references_go_over_files(client: Client) -> None:
    (client.folder / "rows.rx").write_text(ROWS)
    client.open("rows.rx", ROWS)
    client.open("uses.rx", USES)
    place = at(USES, "rows.rows(", 6)
    [found] = await client.client.text_document_definition_async(
        lsp.DefinitionParams(client.document("uses.rx"), place)
    )
    assert found.uri == client.uri("rows.rx") and found.range.start == lsp.Position(0, 1)
    context = lsp.ReferenceContext(True)
    everywhere = await client.client.text_document_references_async(
        lsp.ReferenceParams(context, client.document("uses.rx"), place)
    )
    assert {(Path(p.uri).name, p.range.start.line) for p in everywhere} == {("rows.rx", 0), ("uses.rx", 3)}
    size = await client.client.text_document_definition_async(
        lsp.DefinitionParams(client.document("rows.rx"), at(ROWS, "[n, m, 4])", 4))
    )
    assert size[0].range.start == at(ROWS, "m * 4")


async def test_a_value_leads_to_where_its_sizes_come_from(client: Client) -> None:
    client.open("rows.rx", ROWS)
    params = lsp.TypeDefinitionParams(client.document("rows.rx"), at(ROWS, "let y", 4))
    found = await client.client.text_document_type_definition_async(params)
    assert found and all(p.uri == client.uri("rows.rx") for p in found)


async def test_a_function_is_renamed_in_every_file(client: Client) -> None:
    (client.folder / "rows.rx").write_text(ROWS)
    client.open("rows.rx", ROWS)
    client.open("uses.rx", USES)
    place = at(USES, "rows.rows(", 6)
    prepared = await client.client.text_document_prepare_rename_async(
        lsp.PrepareRenameParams(client.document("uses.rx"), place)
    )
    assert prepared.placeholder == "rows"
    edit = await client.client.text_document_rename_async(lsp.RenameParams(client.document("uses.rx"), place, "lines"))
    changed = {Path(c.text_document.uri).name: [e.range.start.line for e in c.edits] for c in edit.document_changes}
    assert changed == {"rows.rx": [0], "uses.rx": [3]}


@pytest.mark.parametrize("name", ["m", "x", "let", "int8", "y", "a b", "", "_"])
async def test_a_size_is_never_renamed_into_a_clash(client: Client, name: str) -> None:
    client.open("rows.rx", ROWS)
    params = lsp.RenameParams(client.document("rows.rx"), at(ROWS, "n, m"), name)
    with pytest.raises(
        Exception, match=r"something else|cannot be a name|cannot stand|would be said|marks a value that nothing uses"
    ):
        await client.client.text_document_rename_async(params)


async def test_completion_has_what_fits_first(client: Client) -> None:
    text = USES.replace("  @permute_dims(z, [0, 2, 1])", "  @")
    client.open("rows.rx", ROWS)
    client.open("uses.rx", USES)
    await client.told("uses.rx")
    client.change("uses.rx", text)
    place = at(text, "  @\n", 3)
    found = await client.client.text_document_completion_async(lsp.CompletionParams(client.document("uses.rx"), place))
    labels = [i.label for i in sorted(found.items, key=lambda i: i.sort_text)]
    assert labels[0] == "uses" and "rows.rows" in labels
    assert labels.index("add") < labels.index("logical_not"), "bool is not int8"


async def test_completion_knows_names_sizes_members_and_files(client: Client) -> None:
    (client.folder / "rows.rx").write_text(ROWS)
    text = 'import "r"\n\n@g = fn(x : Tensor([n, 3], int8)) {\n  let y = @reshape(x, [])\n  x.\n}\n'
    client.open("c2.rx", text)

    async def labels(place: lsp.Position) -> list[str]:
        params = lsp.CompletionParams(client.document("c2.rx"), place)
        return [i.label for i in (await client.client.text_document_completion_async(params)).items]

    assert "rows.rx" in await labels(at(text, '"r"', 2))
    assert (await labels(at(text, "[])", 1)))[0] == "n"
    assert {"rank", "shape", "dtype", "dim"} <= set(await labels(at(text, "x.\n", 2)))


async def test_signature_help_follows_the_arguments(client: Client) -> None:
    text = ROWS + "@g = fn(x : Tensor([2, 8], int8)) {\n  @rows(x, \n}\n"
    client.open("s1.rx", text)
    place = lsp.SignatureHelpParams(client.document("s1.rx"), at(text, "@rows(x, ", 6))
    found = await client.client.text_document_signature_help_async(place)
    [one] = found.signatures
    assert one.label.startswith("@rows(x : Tensor([n, m * 4], int8))") and found.active_parameter == 0
    text = "let y = @reshape(x, shape=[2, 3])\n"
    client.open("s2.rx", text)
    place = lsp.SignatureHelpParams(client.document("s2.rx"), at(text, "[2, 3", 5))
    found = await client.client.text_document_signature_help_async(place)
    assert found.active_parameter == 1 and found.signatures[0].documentation is not None


async def test_the_outline_folds_and_tokens(client: Client) -> None:
    client.open("rows.rx", ROWS)
    document = client.document("rows.rx")
    [symbol] = await client.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
    assert symbol.name == "@rows" and symbol.selection_range.start.line == 0 and symbol.range.end.line == 3
    folds = await client.client.text_document_folding_range_async(lsp.FoldingRangeParams(document))
    assert [(f.start_line, f.end_line) for f in folds] == [(0, 2)]
    tokens = await client.client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(document))
    assert len(tokens.data) % 5 == 0 and list(tokens.data[:5]) == [0, 1, 4, 2, 1]
    found = await client.client.workspace_symbol_async(lsp.WorkspaceSymbolParams("rows"))
    assert [s.name for s in found if s.location.uri == client.uri("rows.rx")] == ["@rows"]


# Texts over time


async def test_an_import_that_is_not_saved_counts(client: Client) -> None:
    client.open("base.rx", ROWS)
    client.open("top.rx", USES.replace("rows.rx", "base.rx"))
    await client.told("top.rx")
    client.change("base.rx", ROWS.replace("m * 4", "m * 3").replace("m, 4", "m, 3"))
    await client.told("top.rx", "E301")
    client.change("base.rx", ROWS)
    await client.told("top.rx")


async def test_a_file_that_changes_on_disk_counts(client: Client) -> None:
    disk = client.folder / "disk.rx"
    disk.write_text(ROWS)
    client.open("above.rx", USES.replace("rows.rx", "disk.rx"))
    await client.told("above.rx")
    disk.write_text(ROWS.replace("m * 4", "m * 3").replace("m, 4", "m, 3"))
    event = lsp.FileEvent(disk.as_uri(), lsp.FileChangeType.Changed)
    client.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))
    await client.told("above.rx", "E301")
    disk.unlink()
    await client.told("above.rx", "E240")


async def test_changes_are_parts_or_the_whole_in_utf_16(client: Client) -> None:
    text = "# 😀 é\u2028\nlet a = @zeros([2, 3], float32) # 😀\nlet b = @matmul(a, a)\n"
    client.open("u.rx", text)
    [said] = await client.told("u.rx", "E305")
    assert said.range.start == lsp.Position(2, 8)
    more = lsp.Range(lsp.Position(0, 4), lsp.Position(0, 4))
    client.change("u.rx", lsp.TextDocumentContentChangePartial(more, "\n"), WRONG_LINE)
    await client.told("u.rx")
    client.change("u.rx", text)
    await client.told("u.rx", "E305")
    here = lsp.Range(lsp.Position(1, 35), lsp.Position(2, 0))
    client.change("u.rx", lsp.TextDocumentContentChangePartial(here, "\n\n"))
    [said] = await client.told("u.rx", "E305")


WRONG_LINE = "let a = @zeros([2, 3], float32)\n"


async def test_a_name_behind_an_emoji_has_its_column(client: Client) -> None:
    text = 'assert true, "😀"; let b = @matmul(@zeros([2, 3], int8), @zeros([2, 3], int8))\n'
    client.open("e.rx", text)
    [said] = await client.told("e.rx", "E305")
    units = len(text[: text.index("@matmul")].encode("utf-16-le")) // 2
    assert said.range.start == lsp.Position(0, units)


async def test_line_ends_of_windows_are_line_ends(client: Client) -> None:
    text = WRONG.replace("\n", "\r\n")
    client.open("w.rx", text)
    [said] = await client.told("w.rx", "E305")
    assert said.range.start == lsp.Position(1, 2) and said.range.end == lsp.Position(1, 15)


async def test_half_typed_text_is_told_of_and_the_rest_is_still_checked(client: Client) -> None:
    client.open("half.rx", WRONG + "\n@next = fn(x : Tensor([n], int8)) {\n  @reshape(x, [n\n")
    found = []
    for _ in range(400):
        found = [str(d.code) for d in client.client.diagnostics.get(client.uri("half.rx"), [])]
        if "E305" in found and len(found) > 1:
            break
        await asyncio.sleep(0.02)
    assert "E305" in found and any(code.startswith("E1") for code in found)


async def test_a_closed_file_has_no_diagnostics(client: Client) -> None:
    client.open("closed.rx", WRONG)
    await client.told("closed.rx", "E305")
    client.client.text_document_did_close(lsp.DidCloseTextDocumentParams(client.document("closed.rx")))
    await client.told("closed.rx")


async def test_the_contract_of_a_model_is_shown_where_it_is_named(client: Client) -> None:
    onnx = pytest.importorskip("onnx", reason="a model is made with onnx")
    value = onnx.helper.make_tensor_value_info
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    shape = ["n", 3]
    graph = onnx.helper.make_graph(
        [node], "g", [value("x", onnx.TensorProto.FLOAT, shape)], [value("y", onnx.TensorProto.FLOAT, shape)]
    )
    onnx.save(onnx.helper.make_model(graph), client.folder / "m.onnx")
    text = 'const w : Tensor([2], float32) = load("m.onnx", "w")\n'
    client.open("model.rx", text)
    found = await client.client.text_document_hover_async(
        lsp.HoverParams(client.document("model.rx"), at(text, "m.onnx", 2))
    )
    assert "x : Tensor([n, 3], float32)" in found.contents.value


async def test_an_unknown_method_is_refused_and_a_nameless_place_has_nothing(client: Client) -> None:
    client.open("rows.rx", ROWS)
    with pytest.raises(Exception, match="Method Not Found"):
        await client.client.protocol.send_request_async("rx/unknown", {})
    params = lsp.HoverParams(client.document("rows.rx"), lsp.Position(900, 900))
    assert await client.client.text_document_hover_async(params) is None
    gone = lsp.HoverParams(client.document("never-opened.rx"), lsp.Position(0, 0))
    assert await client.client.text_document_hover_async(gone) is None


async def test_who_pulls_diagnostics_is_not_sent_them(client: Client) -> None:
    client.open("pull.rx", WRONG)
    report = await client.pulled("pull.rx")
    assert [d.code for d in report.items] == ["E305"]
    same = await client.pulled("pull.rx", report.result_id)
    assert same.kind == lsp.DocumentDiagnosticReportKind.Unchanged
    client.change("pull.rx", ROWS)
    assert not (await client.pulled("pull.rx")).items
    client.open("silent.rx", WRONG)
    assert [d.code for d in (await client.pulled("silent.rx")).items] == ["E305"]
    assert not client.client.diagnostics.get(client.uri("silent.rx"))
