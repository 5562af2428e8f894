"""What `rx check` says of what it found before is what it says without: whatever was edited, damaged or moved in between."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rxlang.cli import cache, examine
from rxlang.cli.main import invoke
from rxlang.lang.recorded import RecordedFiles
from rxlang.lang.render import render
from support import fuzz
from support.places import ROOT

LIBRARY = "@half = fn(x : Tensor([n, {a}], float32)) : Tensor([n, {b}], float32) {{ @reshape(x, [n, {b}]) }}\n"
PROGRAM = (
    'import "{where}lib.rx" as lib\n'
    'const w : Tensor([{a}, {b}], float32) = load("w.npy")\n'
    "@f = fn(x : Tensor([k, {a}], float32), y : Tensor([{b}, m], float32)) {{ @matmul(@lib.half(x), {c}) }}\n"
)
FORMS = ("text", "json", "sarif", "github")
OPTIONS = (
    (), ("--strict",), ("--allow-empty",), ("--root", "more"), ("--given", "@f: 1 <= k, k <= 64"), ("--given", "@g: n <= 7"),
)  # fmt: skip

Said = tuple[int, str, str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work" / "more").mkdir(parents=True)
    (tmp_path / "work" / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("RX_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """The exit status of `rx check` and what it prints."""

    def run(*arguments: str) -> Said:
        capsys.readouterr()
        return (invoke(["check", *arguments]), *capsys.readouterr())

    return run


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that were really checked."""
    done: list[str] = []
    real = examine.examine

    def counted(program: examine.Program, wish: examine.Wish) -> examine.Examined:
        done.append(program.name)
        return real(program, wish)

    monkeypatch.setattr(examine, "examine", counted)
    return done


def entries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.json"))


def write(path: str, template: str, rng: random.Random) -> None:
    a, b = rng.choice((2, 3)), rng.choice((3, 2, 5))
    Path(path).write_text(template.format(a=a, b=b, c=rng.choice(("w", "y", "x", "z")), where=rng.choice(("", "sub/"))))


def edit(rng: random.Random) -> None:
    """One thing on disk is made, changed, moved or taken away."""
    file = rng.choice(("p.rx", "lib.rx", "sub/lib.rx", "more/lib.rx", "w.npy", "more/w.npy"))
    if file != "p.rx" and rng.random() < 0.25:
        Path(file).unlink(missing_ok=True)
    elif file.endswith(".npy"):
        np.save(file, np.zeros(rng.choice(((2, 3), (3, 2), (5, 2), (0, 3), (2,))), rng.choice(("float32", "int8"))))
    elif file == "more/lib.rx" and rng.random() < 0.5:
        Path("lib.rx").unlink(missing_ok=True)
        Path("lib.rx").symlink_to(rng.choice(("sub/lib.rx", "p.rx", "lib.rx")))
    else:
        write(file if not Path(file).is_symlink() else "sub/lib.rx", PROGRAM if file == "p.rx" else LIBRARY, rng)


def test_after_any_edits_it_says_what_it_says_without(said: Callable[..., Said], checks: list[str]) -> None:
    write("p.rx", PROGRAM, random.Random(2))
    write("lib.rx", LIBRARY, random.Random(3))
    for case in fuzz.cases("edits between checks"):
        with case as seed:
            rng = random.Random(seed)
            for _ in range(rng.choice((1, 2, 3))):
                edit(rng)
            chosen = ("p.rx", *rng.choice(OPTIONS), "--format", rng.choice(FORMS))
            wanted = said(*chosen, "--no-cache")
            assert said(*chosen) == wanted
            checks.clear()
            assert said(*chosen) == wanted
            assert checks == []


@pytest.mark.parametrize("form", FORMS)
def test_what_is_kept_is_printed_byte_for_byte(form: str, said: Callable[..., Said], checks: list[str]) -> None:
    examples = ROOT / "examples"
    for name in ("ff.rx", "ff_wrong.rx", "mlp.rx"):
        first = said(str(examples / name), "--format", form)
        checks.clear()
        assert said(str(examples / name), "--format", form) == first
        assert checks == []


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "one byte": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "no text": lambda data: b"\xff\xfe\x00" + data,
    "no object": lambda data: sealed([1, 2]),
    "another's": lambda data: sealed({**opened(data), "key": "0" * 64}),
    "no diagnostics": lambda data: sealed({k: v for k, v in opened(data).items() if k != "diagnostics"}),
    "an unknown code": lambda data: sealed({**opened(data), "diagnostics": [{"code": "X999"}]}),
    "an unknown question": lambda data: sealed({**opened(data), "asked": [[["run", "rm"], ""]]}),
    "a question of numbers": lambda data: sealed({**opened(data), "asked": [7]}),
    "deep": lambda data: seal(b"[" * 100_000),
}


def seal(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode() + b"\n" + text


def sealed(entry: object) -> bytes:
    return seal(json.dumps(entry).encode())


def opened(data: bytes) -> dict[str, object]:
    found = json.loads(data.partition(b"\n")[2])
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_ignored_and_written_again(
    damage: str, folder: Path, said: Callable[..., Said], checks: list[str]
) -> None:
    Path("p.rx").write_text("@f = fn(x : Tensor([2, 3], float32), y : Tensor([5], float32)) { @add(x, y) }\n")
    first = said("p.rx")
    (entry,) = entries(folder)
    whole = entry.read_bytes()
    entry.write_bytes(DAMAGES[damage](whole))
    checks.clear()
    assert said("p.rx") == first
    assert checks == ["p.rx"]
    assert entry.read_bytes() == whole


def test_what_was_found_before_needs_neither_parser_nor_solver(said: Callable[..., Said]) -> None:
    Path("f.rx").write_text("@f = fn(x : Tensor([n], int8), y : Tensor([m], int8)) { x + y }\n")
    before = said("f.rx")
    program = (
        "import sys; from rxlang.cli.main import invoke; invoke(['check', 'f.rx']);"
        "print(*(m for m in sys.modules if m.startswith(('z3', 'numpy', 'rxlang.lang.parser', 'rxlang.simplify.solver'))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "W311" in before[2] and done.stderr == before[2] and done.stdout == f"{before[1]}\n"


def test_two_processes_at_once_say_the_same_and_leave_whole_entries(folder: Path, said: Callable[..., Said]) -> None:
    for i in (2, 3, 5, 7):
        Path(f"p{i}.rx").write_text(f"@f = fn(x : Tensor([n, {i}], float32)) : Tensor([n, 3], float32) {{ x }}\n")
    command = [sys.executable, "-m", "rxlang", "check", ".", "--format", "json"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) for _ in range(2)]
    outputs = [process.communicate(timeout=120)[0] for process in both]
    assert outputs == [said(".", "--format", "json", "--no-cache")[1]] * 2
    assert len(entries(folder)) == 4
    assert all(opened(entry.read_bytes())["key"] == entry.parent.name + entry.stem for entry in entries(folder))
    assert [p for p in folder.rglob(".*") if p.is_file()] == []


def test_a_folder_that_cannot_be_written_keeps_nothing(folder: Path, said: Callable[..., Said]) -> None:
    Path("p.rx").write_text("let a = @ones([2, 3])\n")
    folder.write_text("a file stands here")
    assert said("p.rx") == said("p.rx", "--no-cache")
    assert folder.read_text() == "a file stands here"


def test_no_more_is_kept_than_the_limit(
    folder: Path, monkeypatch: pytest.MonkeyPatch, said: Callable[..., Said]
) -> None:
    monkeypatch.setattr(cache, "_FOLDERS", 1)
    monkeypatch.setattr(cache, "_path", lambda wish, key: wish.cache / "00" / f"{key}.json")
    monkeypatch.setattr(cache, "MAX_BYTES", 2_000)
    for i in range(12):
        Path("p.rx").write_text(f"let a = @ones([2, {i}])\n")
        said("p.rx")
        newest = max(entries(folder), key=lambda entry: entry.stat().st_mtime_ns)
        assert sum(entry.stat().st_size for entry in entries(folder)) <= 2_000 + 65
    assert 1 < len(entries(folder)) < 12
    assert newest in entries(folder)


@pytest.mark.parametrize("asked", [("--no-cache",), ("--signature",), ("--explain", "n"), ("--guards",), ("--stats",)])
def test_what_prints_more_is_not_kept(asked: tuple[str, ...], folder: Path, said: Callable[..., Said]) -> None:
    Path("p.rx").write_text("@f = fn(x : Tensor([n, 3], float32)) { x }\n")
    said("p.rx", *asked)
    assert entries(folder) == []


def test_a_file_that_changes_during_a_check_is_not_kept() -> None:
    files = RecordedFiles(Path.cwd())
    for text in ("let a = 2\n", "let a = 3\n"):
        assert not files.torn
        Path("lib.rx").write_text(text)
        files.read("lib.rx")
    assert files.torn


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({"RX_CACHE_DIR": "/a/b"}, Path("/a/b")),
        ({"RX_CACHE_DIR": ""}, None),
        ({"XDG_CACHE_HOME": "/x"}, Path("/x/rxlang")),
        ({"XDG_CACHE_HOME": "x", "HOME": "/h"}, Path("/h/.cache/rxlang")),
    ],
)
def test_the_folder_is_the_one_that_is_named(
    variables: dict[str, str], wanted: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RX_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache.folder() == wanted


ODD = (None, True, 0, -1, 1.5, 10**30, "", "x", [], [1], {}, {"a": 1}, "\0", [[0, 0, 0]], [["x", []]], "\ud800")


def changed(entry: object) -> list[object]:
    """An entry with something else in the place of each of its parts."""
    if isinstance(entry, dict):
        parts = [{**entry, key: part} for key in entry for part in changed(entry[key])]
        return [*ODD, *parts, *({k: v for k, v in entry.items() if k != key} for key in entry)]
    if isinstance(entry, list):
        return [*ODD, *([*entry[:i], part, *entry[i + 1 :]] for i in range(len(entry)) for part in changed(entry[i]))]
    return list(ODD)


def test_texts_that_checking_reads_count_as_code_does() -> None:
    stamped = {Path(stamp.split(" ")[0]).relative_to(ROOT) for stamp in cache._stamps(str(ROOT))}
    assert {Path("pipeline.py"), Path("ops/prelude.rx"), Path("grad/rules.txt")} <= stamped


def test_an_entry_that_somebody_made_is_told_as_one_or_not_read(folder: Path, said: Callable[..., Said]) -> None:
    Path("p.rx").write_text("@f = fn(x : Tensor([n, 3], float32), y : Tensor([k], float32)) { @sum(x, axis=1) + y }\n")
    said("p.rx")
    (path,) = entries(folder)
    tried = read = 0
    for entry in changed(opened(path.read_bytes())):
        try:
            found = cache._examined(entry)  # type: ignore[arg-type]
        except cache._FOREIGN:
            found = None
        tried += 1
        if found is not None:
            read += 1
            assert all(render(d) is not None for d in found.diagnostics)
            assert found.counts is None or found.counts.total + found.counts.proved > -2
    assert tried > 500 and read < tried // 4
