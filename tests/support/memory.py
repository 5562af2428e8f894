"""What a call takes of memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any


def peak(function: Callable[..., Any], *args: Any) -> int:
    """The bytes at its peak."""
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
