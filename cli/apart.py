"""Call a function in a separate process, so that the user's code cannot affect this one."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, TypeVar

from .files import Unusable

T = TypeVar("T")
# The length field in front of an answer, in bytes.
_LENGTH = 8
_CHILD = (
    "import pickle, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "sys.path[:] = pickle.load(sys.stdin.buffer); from rxlang.cli.apart import serve; serve()"
)


def apart(what: str, function: Callable[..., T], *args: Any) -> T:
    """Return a function's result, or raise its Unusable; `what` names the user's code in messages."""
    child = subprocess.Popen([sys.executable, "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None
    try:
        with suppress(BrokenPipeError):
            child.stdin.write(pickle.dumps(sys.path) + pickle.dumps((function, args)))
            child.stdin.flush()
        answer = _read(child.stdout)
        if answer is None:
            child.wait()
            raise Unusable(f"{what}: its code ended the process ({_ending(child.returncode)})")
    finally:
        child.kill()
        child.wait()
        with suppress(BrokenPipeError):
            child.stdin.close()
        child.stdout.close()
    found = pickle.loads(answer)
    if isinstance(found, Unusable):
        raise found
    return found  # type: ignore[no-any-return]


def _read(stream: IO[bytes]) -> bytes | None:
    """An answer; None if the process ended before giving one."""
    length = int.from_bytes(stream.read(_LENGTH) or b"\0")
    data = stream.read(length)
    return data if length and len(data) == length else None


def _ending(status: int) -> str:
    return f"exit status {status}" if status >= 0 else f"signal {signal.Signals(-status).name}"


def serve() -> None:
    """Serve one call in the child process: prints of the user's code go to standard error, and its standard input is
    empty."""
    function, args = pickle.load(sys.stdin.buffer)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        found = function(*args)
    except Unusable as wrong:
        found = wrong
    except KeyboardInterrupt:  # raised by the code itself: a real interrupt ends this process
        found = Unusable("the code raised KeyboardInterrupt")
    data = pickle.dumps(found)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    answers.write(len(data).to_bytes(_LENGTH) + data)
    answers.flush()
    os._exit(0)  # the user's threads may still be running
