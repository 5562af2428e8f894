"""What the pages say for CI and hooks, and an environment to run it in."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def documented(page: str, kind: str, holds: str) -> str:
    """The block of a page that has a text."""
    text = (DOCS / page).read_text(encoding="utf-8")
    (found,) = [b for b in re.findall(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S) if holds in b]
    return str(found)


def steps_of(workflow: str) -> list[str]:
    return re.findall(r"^      - run: (.+)$", workflow, re.M)


def value(key: str, settings: str) -> str:
    """What stands behind a key that a text has once."""
    (found,) = re.findall(rf"^[ -]*{key}: (.+)$", settings, re.M)
    return str(found)


def scripts(folder: Path) -> dict[str, str]:
    """An environment in which `rx` is this one."""
    (folder / "bin").mkdir()
    rx = folder / "bin" / "rx"
    rx.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m rxlang "$@"\n')
    rx.chmod(0o755)
    return {**os.environ, "PATH": f"{rx.parent}{os.pathsep}{os.environ['PATH']}"}
