"""A progress bar for items that arrive one by one, on a terminal, and only if they take long."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
_DELAY = 0.7


def followed(items: Iterable[T], total: int, doing: str) -> Iterator[T]:
    """The items unchanged; after a while a bar shows their number."""
    began = time.monotonic()
    come = iter(items)
    for count, item in enumerate(come, 1):
        yield item
        if count < total and sys.stderr.isatty() and time.monotonic() - began > _DELAY:
            yield from _with_bar(come, count, total, doing)


def _with_bar(items: Iterator[T], count: int, total: int, doing: str) -> Iterator[T]:
    from rich.console import Console  # only long runs load it
    from rich.progress import Progress

    with Progress(console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(doing, total=total, completed=count)
        for item in items:
            bar.advance(task)
            yield item
