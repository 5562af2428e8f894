"""A file that a command writes is the old one or the new one: disk full, links, permissions, for fmt, --fix and --out."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import numpy as np
import pytest
from rxlang.cli.main import invoke

MESSY = "let  a =  @ones([2, 3])\n"
NEAT = "let a = @ones([2, 3])\n"
WRONG = (
    "@f = fn(x : Tensor([n, 3], float32), w : Tensor([5, 3], float32)) : Tensor([n, 5], float32) { @matmul(x, w) }\n"
)
COMMANDS = {"fmt": (MESSY, ("fmt", "p.rx"), "p.rx"), "fix": (WRONG, ("check", "--fix", "p.rx"), "p.rx"),
            "out": (NEAT, ("run", "p.rx", "--out", "out"), "out/a.npy")}  # fmt: skip
every_command = pytest.mark.parametrize("command", COMMANDS)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    return tmp_path


def prepared(command: str) -> tuple[tuple[str, ...], Path]:
    """The command line and the file that it writes, which is there already."""
    text, arguments, written = COMMANDS[command]
    Path("p.rx").write_text(text)
    if command == "out":
        Path(written).write_bytes(b"old")
    return arguments, Path(written)


def tree() -> list[str]:
    return sorted(str(p) for p in Path(".").rglob("*"))


@every_command
@pytest.mark.parametrize("fails", ["write", "close", "replace"])
def test_a_full_disk_leaves_the_old_file(command: str, fails: str, monkeypatch: pytest.MonkeyPatch, capsys) -> None:  # noqa: ANN001
    arguments, written = prepared(command)
    before, files = written.read_bytes(), tree()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    real_open = open

    class Full:
        def __init__(self, name: object, mode: str) -> None:
            self.file = real_open(name, mode)  # type: ignore[call-overload]

        def __enter__(self) -> Full:
            return self

        def write(self, data: bytes) -> None:
            self.file.write(data[:5])
            if fails == "write":
                full()

        def __exit__(self, *_: object) -> None:
            self.file.close()
            full()

    if fails == "replace":
        monkeypatch.setattr(os, "replace", full)
    else:

        def opened(name: str, mode: str = "r") -> object:
            return Full(name, mode) if mode != "rb" else real_open(name, mode)

        monkeypatch.setattr("rxlang.lang.files.open", opened, raising=False)
    assert invoke(list(arguments)) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert written.read_bytes() == before and tree() == files


@every_command
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o660])
def test_the_permissions_are_kept(command: str, mode: int) -> None:
    arguments, written = prepared(command)
    written.chmod(mode)
    before = written.read_bytes()
    invoke(list(arguments))
    assert written.read_bytes() != before and stat.S_IMODE(written.stat().st_mode) == mode


def test_a_new_file_has_the_permissions_of_any_new_file() -> None:
    arguments, written = prepared("out")
    written.unlink()
    assert invoke(list(arguments)) == 0
    Path("other").touch()
    assert stat.S_IMODE(written.stat().st_mode) == stat.S_IMODE(Path("other").stat().st_mode)


@pytest.mark.parametrize("target", ["precious", "none/of/these", "/dev/full"])
def test_out_does_not_write_through_a_symbolic_link(target: str) -> None:
    arguments, written = prepared("out")
    Path("precious").write_text("mine")
    written.unlink()
    written.symlink_to(Path(target).absolute())
    assert invoke(list(arguments)) == 0
    assert Path("precious").read_text() == "mine" and not written.is_symlink() and np.load(written).shape == (2, 3)


@pytest.mark.parametrize("command", ["fmt", "fix"])
def test_a_program_behind_a_symbolic_link_is_changed_and_the_link_stays(command: str) -> None:
    arguments, written = prepared(command)
    os.rename(written, "real.rx")
    written.symlink_to("real.rx")
    before = Path("real.rx").read_text()
    invoke(list(arguments))
    assert written.is_symlink() and not Path("real.rx").is_symlink() and Path("real.rx").read_text() != before


@every_command
def test_a_file_that_may_not_be_written_is_left_alone(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments, written = prepared(command)
    before, files = written.read_bytes(), tree()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert invoke(list(arguments)) == 2
    assert written.read_bytes() == before and tree() == files
