"""Where the command begins: an interrupt while it is being loaded shows no traceback."""

from __future__ import annotations

import gc
import sys

from .status import INTERRUPTED

# How many objects more than before there are when the garbage collector looks at the new ones: what is built at first stays.
NEW_OBJECTS = 50_000


def main() -> None:
    gc.set_threshold(NEW_OBJECTS)
    try:
        from .main import main as run  # what takes time is loaded in here
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()
