"""`rx explain`: shows the page about a diagnostic."""

from __future__ import annotations

import click

from ..lang.codes import CODES
from .files import Unusable
from .pages import page


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Show the page about a diagnostic: what it means, a wrong program, and its mend.

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
