"""`rx explain`: show the page about a diagnostic."""

from __future__ import annotations

import re
from pathlib import Path

import click

from ..lang.codes import CODES
from .files import Unusable


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Show the page about a diagnostic: what it means, a wrong program, and its fix.

    Without a CODE, list them all.
    """
    if code is None:
        for known in CODES.values():
            click.echo(f"{known}  {known.heading}")
        return
    text = page(code.upper())
    if text is None:
        raise Unusable(f"there is no diagnostic {code!r}; `rx explain` lists them")
    click.echo(text, nl=not text.endswith("\n"))


FOLDER = Path(__file__).parent / "errors"
_REMARK = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)


def page(code: str) -> str | None:
    """The page's text without the remarks for its tests; None if there is no such code."""
    if code not in CODES:
        return None
    return _REMARK.sub("", (FOLDER / f"{code}.md").read_text(encoding="utf-8"))
