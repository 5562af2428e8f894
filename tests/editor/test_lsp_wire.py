"""The language server's life, byte by byte: what comes before `initialize`, after `shutdown`, and what cannot be read."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import pytest
from rxlang.cli.main import invoke

pytest.importorskip("pygls", reason="the language server needs pygls")
from rxlang.editor import server  # noqa: E402  # a copy of this process need not load it

Message = dict[str, Any]


class Process(Protocol):
    """A server that runs."""

    stdin: IO[bytes]
    stdout: IO[bytes]

    def wait(self, seconds: float) -> int: ...

    def kill(self) -> None: ...


class Started:
    """A server as an editor starts it."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "rxlang", "lsp", *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.wait, self.kill = self.process.wait, self.process.kill


class Forked:
    """The same command in a copy of this process, which has loaded everything: a tenth of a second instead of seconds."""

    def __init__(self, *options: str) -> None:
        (taken, self._in), (self._out, given) = os.pipe(), os.pipe()
        self.process = get_context("fork").Process(target=self._serve, args=(taken, given, options), daemon=True)
        self.process.start()
        os.close(taken), os.close(given)
        self.stdin, self.stdout = os.fdopen(self._in, "wb"), os.fdopen(self._out, "rb")

    def _serve(self, taken: int, given: int, options: tuple[str, ...]) -> None:
        for mine, standard in ((taken, 0), (given, 1)):
            os.dup2(mine, standard)
        for theirs in (self._in, self._out, taken, given):
            os.close(theirs)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        logging.getLogger().handlers.clear()
        sys.exit(invoke(["lsp", *options]))

    def wait(self, seconds: float) -> int:
        self.process.join(seconds)
        assert self.process.exitcode is not None, "it still runs"
        return self.process.exitcode

    def kill(self) -> None:
        self.process.kill()


class Wire:
    """A server at the end of two pipes."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.number = 0

    def send(self, message: Message | bytes) -> None:
        body = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self) -> Message:
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
    yield from running((Forked if hasattr(os, "fork") else Started)("--stdio"))


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Wire]:
    yield from running(Started("--log", str(tmp_path / "rx.log")))


def running(process: Process) -> Iterator[Wire]:
    yield Wire(process)
    process.kill()
    process.wait(30)
    for pipe in (process.stdin, process.stdout):
        with suppress(BrokenPipeError):
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


def test_a_server_as_an_editor_starts_it_serves_and_writes_its_log(started: Wire, tmp_path: Path) -> None:
    started.begin()
    started.tell("textDocument/didOpen", opened("a", "let x = nothing\n"))
    assert [d["code"] for d in told(started, uri_of("a"))] == ["E201"]
    assert started.ask("shutdown")["result"] is None and started.end() == 0
    assert "Language server initialized" in (tmp_path / "rx.log").read_text()


# Files


WATCHES = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}


@pytest.mark.parametrize(
    ("more", "is_asked"),
    [
        ({"capabilities": WATCHES, "clientInfo": {"name": "an editor"}}, True),
        ({"capabilities": WATCHES}, False),
        ({"clientInfo": {"name": "an editor"}}, False),
    ],
)
def test_an_editor_that_can_is_asked_to_watch_files(wire: Wire, more: Message, is_asked: bool) -> None:
    wire.begin(**more)
    if is_asked:
        while (message := wire.receive()).get("method") != "client/registerCapability":
            pass
        [asked] = message["params"]["registrations"]
        assert asked["method"] == "workspace/didChangeWatchedFiles"
        [watcher] = asked["registerOptions"]["watchers"]
        assert "rx" in watcher["globPattern"] and "safetensors" in watcher["globPattern"]
        wire.send({"id": message["id"], "result": None})
    wire.tell("textDocument/didOpen", opened("a", "let x = nothing\n"))
    while (message := wire.receive()).get("method") != "textDocument/publishDiagnostics":
        assert message.get("method") != "client/registerCapability"


@pytest.mark.parametrize("is_told", [True, False])
def test_weights_that_come_and_change_are_seen(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_told: bool
) -> None:
    """Whether the client tells of them or not."""
    monkeypatch.setattr(server, "_LOOK_AGAIN", 1000 if is_told else 0.1)
    wire: Wire = request.getfixturevalue("wire")
    wire.begin(workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "work"}])
    uri, weights = (tmp_path / "a.rx").as_uri(), tmp_path / "w.npy"
    text = 'const w : Tensor([2], float32) = load("w.npy")\nlet x = w\n'
    wire.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "rx", "version": 1, "text": text}})
    assert "there is no file" in told(wire, uri)[0]["message"]
    for made, message in ((np.zeros(3), "it is 3"), (np.zeros((2, 1)), "it has rank 2"), (None, "there is no file")):
        weights.unlink() if made is None else np.save(weights, made.astype(np.float32))
        if is_told:
            wire.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": weights.as_uri(), "type": 2}]})
        assert message in told(wire, uri)[0]["message"]


@pytest.mark.parametrize("uri", ["file:///a%00b.rx", "http://[", "file:///\ud800.rx", "", "file:///" + "a" * 5000])
def test_what_names_no_file_can_be_open_all_the_same(wire: Wire, uri: str) -> None:
    wire.begin()
    wire.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "rx", "version": 1, "text": "x\n"}})
    assert [d["code"] for d in told(wire, uri)] == ["E201"]
    assert (
        wire.ask("textDocument/hover", {"textDocument": {"uri": uri}, **hover("a")["position"]}).get("result") is None
    )


def test_what_is_called_like_a_program_and_has_no_text_is_no_hindrance(wire: Wire, tmp_path: Path) -> None:
    (tmp_path / "binary.rx").write_bytes(b"\xff\xfe")
    (tmp_path / "folder.rx").mkdir()
    for link in ("nowhere", "loop"):
        (tmp_path / f"{link}.rx").symlink_to("loop.rx" if link == "loop" else "gone")
    (tmp_path / "uses.rx").write_text('import "lib.rx" as lib\nlet x = @lib.f(@zeros([2], int8))\n')
    uri = (tmp_path / "lib.rx").as_uri()
    wire.begin(workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "work"}])
    text = "@f = fn(x : Tensor([n], int8)) { x }\n"
    wire.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "rx", "version": 1, "text": text}})
    place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 1}}
    asked = {**place, "context": {"includeDeclaration": True}}
    assert len(wire.ask("textDocument/references", asked)["result"]) == 2
    assert len(wire.ask("textDocument/rename", {**place, "newName": "g"})["result"]["changes"]) == 2
    assert wire.ask("workspace/symbol", {"query": "f"})["result"]


def test_an_edit_is_never_one_of_a_text_that_has_changed_meanwhile(wire: Wire) -> None:
    """Questions that stand before a change on the wire, and are answered behind it."""
    wire.begin(capabilities={"workspace": {"workspaceEdit": {"documentChanges": True}}})
    wrong = "@g = fn(x : Tensor([n, 3], int8), w : Tensor([5, 3], int8)) {\n  @matmul(x, w)\n}\n"
    many = "@f{} = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m, 4], int8) {{ @reshape(x, [n * m, 4]) }}\n"
    wire.tell("textDocument/didOpen", opened("a", wrong))
    wire.tell("textDocument/didOpen", opened("busy", "".join(map(many.format, range(12)))))
    context = {"context": {"diagnostics": []}}
    asked = [
        ("rename", {**document("a"), "position": {"line": 0, "character": 1}, "newName": "h"}),
        ("codeAction", {**document("a"), "range": span(0, 3), **context}),
        ("formatting", {**document("a"), "options": {"tabSize": 2, "insertSpaces": True}}),
    ]
    for name, params in asked:
        wire.send({"id": name, "method": f"textDocument/{name}", "params": params})
    change = {"range": span(0, 0), "text": "# one more line\n"}
    wire.tell(
        "textDocument/didChange", {"textDocument": {"uri": uri_of("a"), "version": 2}, "contentChanges": [change]}
    )
    answers: dict[str, Message] = {}
    while len(answers) < len(asked):
        message = wire.receive()
        answers |= {message["id"]: message} if "id" in message else {}
    assert {n: a["error"]["code"] for n, a in answers.items()} == dict.fromkeys(answers, -32801)
    actions = wire.ask("textDocument/codeAction", {**document("a"), "range": span(1, 4), **context})["result"]
    [edit] = actions[0]["edit"]["documentChanges"][0]["edits"]
    assert edit["range"]["start"] == {"line": 2, "character": 13}


@pytest.mark.parametrize("other", ["file:///C:/work/x.rx", "file:///C%3A/work/x.rx", "file:///c:/work/x.rx"])
def test_a_file_of_windows_is_one_however_it_is_spelled(wire: Wire, other: str) -> None:
    wire.begin()
    uri = "file:///c%3A/work/x.rx"
    text = "# one\r\nlet x = nothing\r\n"
    wire.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "rx", "version": 1, "text": text}})
    [said] = told(wire, uri)
    assert said["range"] == {"start": {"line": 1, "character": 8}, "end": {"line": 1, "character": 15}}
    change = {"range": said["range"], "text": "1"}
    wire.tell("textDocument/didChange", {"textDocument": {"uri": other, "version": 2}, "contentChanges": [change]})
    assert not told(wire, uri)
    wire.tell("textDocument/didClose", {"textDocument": {"uri": other}})
    assert not told(wire, uri)


def test_what_did_not_change_can_be_hovered_over_after_a_change(wire: Wire) -> None:
    wire.begin()
    text = "@f = fn(x : Tensor([n, 3], int8)) {\n  let y = x + x\n  y\n}\n\nlet z = 1\n"
    wire.tell("textDocument/didOpen", opened("a", text))
    place = {**document("a"), "position": {"line": 1, "character": 6}}
    for version in range(2, 5):
        number = {"uri": uri_of("a"), "version": version}
        change = {"text": text.replace("1", str(version))}
        wire.tell("textDocument/didChange", {"textDocument": number, "contentChanges": [change]})
        told(wire, uri_of("a"))
        answer = wire.ask("textDocument/hover", place)
        assert "y : Tensor([n, 3], int8)" in answer.get("result", {}).get("contents", {}).get("value", ""), answer


def test_an_older_text_does_not_take_the_place_of_a_newer_one(wire: Wire) -> None:
    wire.begin()
    uri = uri_of("a")
    wire.tell("textDocument/didOpen", opened("a", "let x = nothing\n"))
    assert [d["code"] for d in told(wire, uri)] == ["E201"]
    for version, text in ((7, "let x = 1\n"), (5, "let x = nothing\n"), (6, "@@")):
        number = {"uri": uri, "version": version}
        wire.tell("textDocument/didChange", {"textDocument": number, "contentChanges": [{"text": text}]})
    assert not told(wire, uri)
    wire.tell(
        "textDocument/didChange", {"textDocument": {"uri": uri, "version": 7}, "contentChanges": [{"text": "x\n"}]}
    )
    assert [d["code"] for d in told(wire, uri)] == ["E201"], "a client that never counts"


BROKEN = (
    "",
    "\n",
    "@",
    "let x = [",
    "@f = fn(x : Tensor([n",
    "\0\1\2",
    "".join(map(chr, range(256))),
    "# " + "x" * 1_000_000,
)


def test_whatever_is_open_every_question_about_it_is_answered(wire: Wire) -> None:
    wire.begin()
    place, options = {"position": {"line": 0, "character": 3}}, {"options": {"tabSize": 2, "insertSpaces": True}}
    questions: dict[str, Message] = {
        "hover": place, "definition": place, "typeDefinition": place, "documentHighlight": place, "completion": place,
        "signatureHelp": place, "prepareRename": place, "references": {**place, "context": {"includeDeclaration": True}},
        "documentSymbol": {}, "foldingRange": {}, "semanticTokens/full": {}, "codeLens": {}, "formatting": options,
        "inlayHint": {"range": span(0, 9)}, "codeAction": {"range": span(0, 9), "context": {"diagnostics": []}},
    }  # fmt: skip
    for number, text in enumerate(BROKEN):
        wire.tell("textDocument/didOpen", opened(f"b{number}", text))
        for method, params in questions.items():
            answer = wire.ask(f"textDocument/{method}", {**document(f"b{number}"), **params})
            assert "error" not in answer, (text[:20], method, answer)


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
