"""A progress bar for a long run: another thread looks now and then which line of the program is being executed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..interp.compile import current_frame, progress_of

DELAY = 0.5
INTERVAL = 0.1


def watched(action: Callable[[], Any]) -> Any:
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
            found = progress_of(current_frame(thread))
            if found is not None:
                bar.update(task, completed=found[0], description=f"running @{found[1]}")
