"""A progress bar for a long run: another thread looks now and then which step of the program is running."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..interp.trace import running

DELAY = 0.5
INTERVAL = 0.1


def watched(action: Callable[[], object]) -> Any:
    """Run the action; while it takes longer than half a second, show how far the outermost function is."""
    finished = threading.Event()
    watcher = threading.Thread(target=_watch, args=(threading.get_ident(), finished), daemon=True)
    watcher.start()
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
        task = bar.add_task("running", total=1.0)
        while not finished.wait(INTERVAL):
            sites = running(thread)
            if sites:
                bar.update(task, completed=sites[0].done, description=f"running @{sites[-1].shown}")
