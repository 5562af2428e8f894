"""The entry point of the command; an interrupt during loading shows no traceback."""

from __future__ import annotations

import gc
import sys

from .status import INTERRUPTED

# The number of new objects that triggers a garbage collection: what is built during start-up is not garbage.
NEW_OBJECTS = 50_000


def main() -> None:
    gc.set_threshold(NEW_OBJECTS)
    try:
        from .main import main as run  # the slow imports happen in here
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()
