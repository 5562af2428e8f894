"""What checking an equal trace found is told again; the code is run each time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.torch_cases import environment, needs_torch

CODE = """
import torch

print("it runs")

def f(x):
    assert x.shape[1] <= 8
    return x.reshape(-1, 4)
"""


def said(folder: Path, *more: str) -> tuple[int, str, str]:
    """What `rx check` prints; told is whether anything was checked."""
    command = (sys.executable, "-m", "rxlang", "check", "kept.py:f", "--arg", "x=float32[b, t]", *more)
    env = {**environment(), "RX_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=env)
    return done.returncode, done.stdout, done.stderr


@needs_torch
def test_an_equal_trace_is_told_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text(CODE)
    first = said(tmp_path)
    (entry,) = (tmp_path / "cache").rglob("*.trace")
    written = entry.stat().st_mtime_ns
    assert said(tmp_path) == first
    assert "it runs" in first[2]
    assert entry.stat().st_mtime_ns == written
    entry.write_bytes(b"damaged")
    assert said(tmp_path) == first
    assert entry.read_bytes() != b"damaged"
    (tmp_path / "kept.py").write_text(CODE.replace("<= 8", "<= 9"))
    assert "0 to 9" in said(tmp_path)[1]
    assert len(list((tmp_path / "cache").rglob("*.trace"))) == 2
    assert "--given" not in said(tmp_path, "--given", "t <= 4")[1]
    assert len(list((tmp_path / "cache").rglob("*.trace"))) == 3


def test_an_entry_calls_nothing(tmp_path: Path) -> None:
    import hashlib
    import pickle

    from rxlang.cli.known_traces import Traces

    class Bad:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (tmp_path / "called",)  # type: ignore[return-value]

    traces = Traces(tmp_path)
    traces.look_up("a trace")
    assert traces.path is not None
    data = pickle.dumps(Bad())
    traces.path.parent.mkdir()
    traces.path.write_bytes(hashlib.sha256(data).hexdigest().encode() + b"\n" + data)
    traces.look_up("a trace")
    assert not (tmp_path / "called").exists()
