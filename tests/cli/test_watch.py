"""`rx check --watch`: says what `rx check` says, again whenever that is something else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rxlang.cli.main import invoke

PATIENCE = 120  # seconds, on a machine that does other things
GOOD = "@h = fn(x : Tensor([n], float32)) : Tensor([n], float32) { @relu(x) }\n"
LONGER = "@h = fn(x : Tensor([n], float32)) : Tensor([n + 1], float32) { @relu(x) }\n"
USER = 'import "g.rx" as g\n@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) { @g.h(x) }\n'

pytestmark = pytest.mark.skipif(os.name == "nt", reason="interrupts are sent otherwise there")


def _interrupted() -> None:
    """An interrupt ends a process also where these tests run in the background of a shell, which has them ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def write(path: Path, text: str) -> None:
    """Write a file that is never seen half written."""
    beside = path.with_suffix(".part")
    beside.write_text(text)
    beside.replace(path)


class Watched:
    def __init__(self, folder: Path, *words: str) -> None:
        self.said = folder / "said.txt"
        command = [sys.executable, "-m", "rxlang", "check", "--watch", *words]
        with self.said.open("w") as out:
            self.process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, preexec_fn=_interrupted)

    def until(self, holds: Callable[[str], bool]) -> str:
        end = time.monotonic() + PATIENCE
        while not holds(text := self.said.read_text()):
            assert self.process.poll() is None and time.monotonic() < end, text
            time.sleep(0.05)
        return text

    def ended(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


def test_what_can_be_read_once_is_not_watched(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f.rx")
    command = [sys.executable, "-m", "rxlang", "check", "--watch", "f.rx"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (2, "rx: --watch looks at files again, and 'f.rx' is none\n")


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    write(tmp_path / "f.rx", USER)
    found = Watched(tmp_path, "f.rx")
    yield found
    found.process.kill()
    found.process.wait()


def test_an_import_that_comes_changes_and_goes_is_told(watched: Watched, tmp_path: Path) -> None:
    watched.until(lambda text: "E240" in text and text.count("rejected") == 1)
    write(tmp_path / "g.rx", GOOD)
    watched.until(lambda text: text.count("f.rx: ok") == 1)
    write(tmp_path / "g.rx", LONGER)
    watched.until(lambda text: "E302" in text and text.count("rejected") == 2)
    (tmp_path / "g.rx").unlink()
    watched.until(lambda text: text.count("E240") == 2 and text.count("rejected") == 3)
    assert watched.ended() == 1


def test_a_text_that_comes_back_is_told_again(watched: Watched, tmp_path: Path) -> None:
    write(tmp_path / "g.rx", GOOD)
    watched.until(lambda text: text.count("f.rx: ok") == 1)
    write(tmp_path / "f.rx", USER + "@broken = ")
    watched.until(lambda text: "E101" in text)
    write(tmp_path / "f.rx", USER)
    watched.until(lambda text: text.count("f.rx: ok") == 2)
    assert watched.ended() == 0


def test_what_does_not_change_is_told_once(watched: Watched, tmp_path: Path) -> None:
    write(tmp_path / "g.rx", GOOD)
    watched.until(lambda text: "f.rx: ok" in text)
    write(tmp_path / "other.rx", LONGER)
    write(tmp_path / "g.rx", GOOD)
    time.sleep(2)
    assert watched.until(lambda text: True).count("f.rx: ok") == 1
    assert watched.ended() == 0


@pytest.mark.parametrize("words", [("--fix", "f.rx"), ("--no-cache", "f.rx"), ("-",), ("--stats", "f.rx")])
def test_what_cannot_be_watched_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    write(tmp_path / "f.rx", GOOD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", (tmp_path / "f.rx").open())
    assert invoke(["check", "--watch", *words]) == 2
