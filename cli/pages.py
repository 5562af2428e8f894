"""The pages about diagnostics, one file a code; docs/errors.md is made of them all."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent / "errors"
_CODE = re.compile(r"[A-Z][0-9]{3}")
_REMARK = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)


def codes() -> list[str]:
    """All codes that have a page: errors, warnings, notes, then what can go wrong in a run."""
    found = [path.stem for path in FOLDER.glob("*.md") if _CODE.fullmatch(path.stem)]
    return sorted(found, key=lambda code: ("EWNR".find(code[0]), code))


def page(code: str) -> str | None:
    """The page's text without the remarks that are for its tests, or None if there is no such code."""
    if not _CODE.fullmatch(code):
        return None
    path = FOLDER / f"{code}.md"
    return _REMARK.sub("", path.read_text(encoding="utf-8")) if path.is_file() else None


def title(code: str) -> str:
    """What stands behind the code in the page's heading; empty without a page."""
    heading = (page(code) or "").partition("\n")[0]
    return heading.partition(": ")[2]
