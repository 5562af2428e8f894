"""The pages about diagnostics, one file a code; docs/errors.md is made of them all."""

from __future__ import annotations

import re
from pathlib import Path

from ..lang.codes import CODES

FOLDER = Path(__file__).parent / "errors"
_REMARK = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)


def page(code: str) -> str | None:
    """The page's text without the remarks that are for its tests, or None if there is no such code."""
    if code not in CODES:
        return None
    return _REMARK.sub("", (FOLDER / f"{code}.md").read_text(encoding="utf-8"))
