"""`rx check --watch`: check again whenever something that a result depends on has changed, until interrupted."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from ..lang.files import is_model
from . import cache
from .examined import Wish
from .files import STDIN, Unusable, read_programs

# Seconds between two looks.
_PAUSE = 0.3


def refuse_what_is_read_once(paths: Sequence[str]) -> None:
    """Raise Unusable for a pipe, which cannot be read twice."""
    if STDIN in paths:
        raise Unusable("--watch looks at files again, and standard input is none")
    pipes = [path for path in paths if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))]
    if pipes:
        raise Unusable("\n".join(f"--watch looks at files again, and {path!r} is none" for path in pipes))


def watch(context: click.Context, paths: Sequence[str], wish: Wish) -> int:
    """Return the status of the last check. Results are kept in a temporary cache, which tells whether they are still
    valid."""
    status = 0
    with TemporaryDirectory(prefix="rx-watch-") as folder:
        os.environ["RX_CACHE_DIR"] = folder
        seen: tuple[object, ...] = ()
        wish = wish._replace(cache=Path(folder))
        try:
            while True:
                found, stands = _state(paths, wish)
                if found != seen or not stands:
                    seen, status = found, _again(context)
                time.sleep(_PAUSE)
        except KeyboardInterrupt:
            return status


def _state(paths: Sequence[str], wish: Wish) -> tuple[tuple[object, ...], bool]:
    """The programs, and whether the cached results, also those of a text that came back, are still valid."""
    try:
        programs, unread = read_programs(paths, models=True)
    except Unusable as wrong:
        return (wrong.message,), True
    if any(is_model(program.name) for program in programs):
        raise Unusable("--watch is for programs, not for models (.onnx)")
    stands = all(cache.found(program, wish) is not None for program in programs)
    return (*((program.name, program.data) for program in programs), *unread), stands


def _again(context: click.Context) -> int:
    click.echo(time.strftime("-- %H:%M:%S"), err=True)
    try:
        status: int = context.invoke(context.command, **{**context.params, "watched": False})
    except Unusable as wrong:
        wrong.show()
        return wrong.exit_code
    return status
