"""`rx lsp`: serve an editor by the language server protocol, over standard input and output."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import redirect_stdout
from importlib.util import find_spec

import click

from .files import Unusable


@click.command()
@click.option("--stdio", is_flag=True, help="Serve over standard input and output; this is the default.")
@click.option("--log", "log", metavar="FILE", help="Log requests and answers to a file.")
def lsp(stdio: bool, log: str | None) -> int:
    """Serve an editor by the language server protocol.

    It runs no code from the open files.
    """
    if find_spec("pygls") is None:
        raise Unusable("`rx lsp` needs pygls: pip install 'rxlang[lsp]'")
    from ..editor.handlers import serve  # only this command needs pygls

    _log(log)
    server = serve()
    # Other prints must not mix with the messages, so they go to standard error.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    with redirect_stdout(sys.stderr):
        server.start_io(sys.stdin.buffer, out)
    server.end()
    return 0 if server.has_shut_down else 1


def _log(path: str | None) -> None:
    """Log to a file, or only failures to standard error: standard output belongs to the protocol."""
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    if path is None:
        logging.basicConfig(level=logging.CRITICAL, stream=sys.stderr, format=form)
        return
    try:
        logging.basicConfig(level=logging.INFO, filename=path, format=form)
    except OSError as wrong:
        raise Unusable(f"cannot write {path!r}: {wrong.strerror}") from wrong
