"""Names that an annotation binds and nothing uses."""

from __future__ import annotations

from collections.abc import Iterable

from ..lang import core
from ..lang.diagnostics import note
from ..lang.dtypes import DTYPES
from .errors import nearest
from .scope import Entry
from .world import World


def unused(world: World, entry: Entry, function: str | None, others: Iterable[str] = ()) -> None:
    """A name that an annotation binds and nothing uses may be a slip of the pen for one of the `others` in scope."""
    if entry.name.startswith("_"):
        return
    message = f"`{entry.name}` is bound here and never used"
    shown = f"@{function}" if function else None
    meant = nearest(entry.name, DTYPES) if entry.sort == core.DTYPE and len(entry.name) > 3 else None
    if meant is None and len(entry.name) > 1:
        meant = nearest(entry.name, sorted(n for n in others if n != entry.name))
    free = f"if it is meant to be free, call it `_{entry.name}` or write `?`"
    help = f"did you mean `{meant}`? {free[0].upper()}{free[1:]}" if meant else free
    world.diagnostics.append(note("N201", message, entry.span, function=shown, help=help))
