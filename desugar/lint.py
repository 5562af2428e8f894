"""Names that an annotation binds and nothing uses."""

from __future__ import annotations

from ..lang import core
from ..lang.diagnostics import note
from ..lang.dtypes import DTYPES
from .errors import nearest
from .scope import Entry
from .world import World


def unused(world: World, entry: Entry, function: str | None) -> None:
    """A name that an annotation binds and nothing uses may be a slip of the pen."""
    if entry.name.startswith("_"):
        return
    message = f"`{entry.name}` is bound here and never used"
    shown = f"@{function}" if function else None
    meant = nearest(entry.name, DTYPES) if entry.sort == core.DTYPE and len(entry.name) > 3 else None
    help = f"did you mean `{meant}`?" if meant else f"if it is meant to be free, call it `_{entry.name}` or write `?`"
    world.diagnostics.append(note("N201", message, entry.span, function=shown, help=help))
