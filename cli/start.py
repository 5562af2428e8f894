"""Where the command begins: who interrupts it while it is being loaded sees no traceback."""

from __future__ import annotations

import sys

from .status import INTERRUPTED


def main() -> None:
    try:
        from .main import main as run  # what takes time is loaded in here
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()
