"""The language server's life, byte by byte: what comes before `initialize`, after `shutdown`, and what cannot be read."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls")

Message = dict[str, Any]


class Wire:
    """A server at the end of two pipes."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rxlang", "lsp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.number = 0

    def send(self, message: Message | bytes) -> None:
        body = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self) -> Message:
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        found: Message = json.loads(self.process.stdout.read(length))
        return found

    def ask(self, method: str, params: Any = None) -> Message:
        self.number += 1
        self.send({"id": self.number, "method": method, **({} if params is None else {"params": params})})
        while True:
            answer = self.receive()
            if answer.get("id") == self.number and "method" not in answer:
                return answer

    def tell(self, method: str, params: Any = None) -> None:
        self.send({"method": method, **({} if params is None else {"params": params})})

    def begin(self, **more: Any) -> Message:
        answer = self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}, **more})
        self.tell("initialized", {})
        return answer

    def end(self) -> int:
        self.tell("exit")
        return self.process.wait(30)


@pytest.fixture
def wire() -> Iterator[Wire]:
    made = Wire("--stdio")
    yield made
    made.process.kill()
    made.process.wait()
    for pipe in (made.process.stdin, made.process.stdout):
        if pipe is not None and not pipe.closed:
            pipe.close()


def test_nothing_is_answered_before_initialize_and_after_shutdown(wire: Wire) -> None:
    assert wire.ask("textDocument/hover", hover("a"))["error"]["code"] == -32002
    wire.tell("textDocument/didOpen", opened("a", "let x = 1\n"))
    assert "error" not in wire.begin()
    assert wire.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})["error"]["code"] == -32600
    assert wire.ask("textDocument/hover", hover("a"))["result"] is None
    assert wire.ask("shutdown")["result"] is None
    assert wire.ask("textDocument/hover", hover("a"))["error"]["code"] == -32600
    assert wire.end() == 0


def test_who_exits_without_shutdown_is_told_by_the_status(wire: Wire) -> None:
    wire.begin()
    assert wire.end() == 1


def test_a_client_that_is_gone_takes_the_server_with_it(wire: Wire) -> None:
    wire.begin()
    assert wire.process.stdin is not None
    wire.process.stdin.close()
    assert wire.process.wait(30) in (0, 1)


def test_what_cannot_be_read_gets_an_error_and_the_server_lives(wire: Wire) -> None:
    wire.begin()
    assert wire.ask("rx/unknown", {})["error"]["code"] == -32601
    assert wire.ask("textDocument/hover", {"position": "nowhere"})["error"]["code"] in (-32602, -32603)
    wire.tell("rx/unknownNotification", {})
    wire.tell("$/setTrace", {"value": "off"})
    wire.tell("$/cancelRequest", {"id": 999})
    wire.tell("textDocument/didChange", {"textDocument": {"uri": "file:///never", "version": 2}, "contentChanges": []})
    wire.tell("textDocument/didClose", {"textDocument": {"uri": "file:///never"}})
    assert wire.ask("textDocument/hover", hover("a"))["result"] is None
    assert wire.ask("shutdown")["result"] is None
    assert wire.end() == 0


def test_a_request_that_is_cancelled_is_answered_all_the_same(wire: Wire) -> None:
    wire.begin()
    wire.tell("textDocument/didOpen", opened("a", "let x = @zeros([2, 3], int8)\n" * 50))
    wire.send({"id": "late", "method": "textDocument/inlayHint", "params": {**document("a"), "range": span(0, 50)}})
    wire.tell("$/cancelRequest", {"id": "late"})
    while (answer := wire.receive()).get("id") != "late":
        pass
    assert "result" in answer or answer["error"]["code"] == -32800


@pytest.mark.parametrize(
    ("offered", "chosen", "column"),
    [(None, "utf-16", 19), (["utf-8", "utf-16"], "utf-8", 21), (["utf-32"], "utf-32", 18), (["utf-7"], "utf-16", 19)],
)
def test_the_encoding_of_places_is_agreed_on(wire: Wire, offered: list[str] | None, chosen: str, column: int) -> None:
    general = {"general": {"positionEncodings": offered}} if offered else {}
    answer = wire.begin(capabilities=general)
    assert answer["result"]["capabilities"]["positionEncoding"] == chosen
    wire.tell("textDocument/didOpen", opened("a", 'assert true, "😀"; nothing\n'))
    [said] = told(wire, "file:///work/a.rx")
    assert said["range"]["start"] == {"line": 0, "character": column}


def test_what_the_server_says_of_itself_it_does(wire: Wire) -> None:
    can = wire.begin()["result"]["capabilities"]
    for name in (
        "hoverProvider", "definitionProvider", "typeDefinitionProvider", "referencesProvider", "documentHighlightProvider",
        "documentSymbolProvider", "workspaceSymbolProvider", "codeActionProvider", "codeLensProvider", "foldingRangeProvider",
        "documentFormattingProvider", "renameProvider", "completionProvider", "signatureHelpProvider", "inlayHintProvider",
        "semanticTokensProvider", "diagnosticProvider",
    ):  # fmt: skip
        assert can.get(name), name
    assert can["textDocumentSync"]["openClose"] and can["textDocumentSync"]["change"] == 2
    assert can["workspace"]["workspaceFolders"]["supported"]


def test_settings_come_with_initialize_and_later(wire: Wire) -> None:
    open_claim = "@f = fn(x : Tensor([n, m], int8), y : Tensor([m, n], int8)) {\n  x + y\n}\n"
    wire.begin(initializationOptions={"strict": True, "hints": {"shapes": False}})
    wire.tell("textDocument/didOpen", opened("a", open_claim))
    assert [(d["code"], d["severity"]) for d in told(wire, "file:///work/a.rx")] == [("W311", 1)]
    wire.tell("workspace/didChangeConfiguration", {"settings": {"rx": {"strict": False}}})
    assert [(d["code"], d["severity"]) for d in told(wire, "file:///work/a.rx")] == [("W311", 2)]
    asked = {**document("a"), "range": span(0, 9)}
    assert [h["label"] for h in wire.ask("textDocument/inlayHint", asked)["result"]] == [" checked when it runs"]
    wire.tell("workspace/didChangeConfiguration", {"settings": {"rx": {"hints": False}}})
    assert not wire.ask("textDocument/inlayHint", asked)["result"]
    wire.tell("workspace/didChangeConfiguration", {"settings": ["what", {"is": "this"}]})
    assert wire.ask("textDocument/hover", hover("a")).get("error") is None


def test_folders_have_a_root_each(wire: Wire, tmp_path: Path) -> None:
    for name, function in (("one", "f"), ("two", "g")):
        text = f"@{function} = fn(x : Tensor([n, 3], int8)) {{\n  x\n}}\n"
        (tmp_path / name / "lib").mkdir(parents=True)
        (tmp_path / name / "src").mkdir()
        (tmp_path / name / "lib" / "base.rx").write_text(text)
    folders = [{"uri": (tmp_path / name).as_uri(), "name": name} for name in ("one", "two")]
    wire.begin(workspaceFolders=folders)
    uses = 'import "lib/base.rx" as base\nlet x = @base.f(@zeros([2, 3], int8))\n'
    for name, codes in (("one", []), ("two", ["E202"])):
        uri = (tmp_path / name / "src" / "a.rx").as_uri()
        wire.tell(
            "textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "rx", "version": 1, "text": uses}}
        )
        assert [d["code"] for d in told(wire, uri)] == codes


def test_the_latest_text_wins(wire: Wire) -> None:
    wire.begin()
    wire.tell("textDocument/didOpen", opened("a", "let x = nothing\n"))
    for version in range(2, 30):
        text = "let x = nothing\n" if version % 2 else "let x = @zeros([2], int8)\n"
        number = {"uri": uri_of("a"), "version": version}
        wire.tell("textDocument/didChange", {"textDocument": number, "contentChanges": [{"text": text}]})
    while True:
        message = wire.receive()
        if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["version"] == 29:
            break
    assert [d["code"] for d in message["params"]["diagnostics"]] == ["E201"]


def test_the_log_has_what_was_asked(tmp_path: Path) -> None:
    log = tmp_path / "rx.log"
    wire = Wire("--log", str(log))
    wire.begin()
    assert wire.ask("shutdown")["result"] is None and wire.end() == 0
    assert "Language server initialized" in log.read_text()


def test_check_imports_no_language_server() -> None:
    program = (
        "import sys; from rxlang.cli.main import invoke; invoke(['check', '--help']); print('pygls' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


# Messages


def uri_of(name: str) -> str:
    return f"file:///work/{name}.rx"


def document(name: str) -> Message:
    return {"textDocument": {"uri": uri_of(name)}}


def opened(name: str, text: str) -> Message:
    return {"textDocument": {"uri": uri_of(name), "languageId": "rx", "version": 1, "text": text}}


def hover(name: str) -> Message:
    return {**document(name), "position": {"line": 0, "character": 0}}


def span(first: int, last: int) -> Message:
    return {"start": {"line": first, "character": 0}, "end": {"line": last, "character": 0}}


def told(wire: Wire, uri: str) -> list[Message]:
    while True:
        message = wire.receive()
        if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri:
            found: list[Message] = message["params"]["diagnostics"]
            return found
