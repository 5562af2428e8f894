"""Where the command begins: an interrupt while it is being loaded shows no traceback."""

from __future__ import annotations

import sys

from .status import INTERRUPTED


def main() -> None:
    try:
        from .main import main as run  # what takes time is loaded in here
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()
