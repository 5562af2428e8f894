"""A progress bar for a long run: another thread regularly looks up which step of the program is running."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..interp.trace import progress, running

DELAY = 0.5
INTERVAL = 0.1


def watched(action: Callable[[], object]) -> Any:
    """Run the action; while it takes longer than half a second, show how far it is."""
    finished = threading.Event()
    watcher = threading.Thread(target=_watch, args=(threading.get_ident(), finished), daemon=True)
    try:
        watcher.start()
    except RuntimeError:  # no threads, as in a browser: no bar
        return action()
    try:
        return action()
    finally:
        finished.set()
        watcher.join()


def _watch(thread: int, finished: threading.Event) -> None:
    if finished.wait(DELAY):
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task, done = bar.add_task("running", total=1.0), 0.0
        while not finished.wait(INTERVAL):
            places = running(thread)
            if places:
                done = max(done, progress(places))  # a script with consts starts over
                bar.update(task, completed=done, description=f"running @{places[-1].site.shown}")
