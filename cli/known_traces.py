"""What checking a trace of Python code found, kept on disk: code is traced each time, and what is read of it checked once.

An entry is looked up by all that the check rests on: the programs of all runs with the places and the source of their lines,
the options, and the versions. Only what has nothing wrong is kept: helps read the user's files.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from ..lang.node import Node
from . import cache
from .examined import Examined, OfModel
from .files import Unusable, replace_file

# What an entry is made of, beside the records of this package.
_PLAIN = {("builtins", "frozenset"), ("rxlang.cli.examined", "Examined"), ("rxlang.cli.examined", "OfModel")}
_FOREIGN = (ValueError, KeyError, IndexError, TypeError, AttributeError, ImportError, EOFError, pickle.UnpicklingError)


class Known(Exception):
    """What was found of a trace before."""

    def __init__(self, examined: Examined) -> None:
        super().__init__()
        self.examined = examined


class Traces:
    """The entries in a folder; `path` is that of the trace which was looked up last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path: Path | None = None

    def look_up(self, rests_on: str) -> None:
        """Raises Known where a check that rests on the same was kept."""
        parts = (*cache.versions(frozenset()), rests_on)
        key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        self.path = self.folder / key[:2] / f"{key[2:]}.trace"
        try:
            digest, _, data = self.path.read_bytes().partition(b"\n")
            found = _Records(io.BytesIO(data)).load() if digest.decode() == hashlib.sha256(data).hexdigest() else None
        except (OSError, *_FOREIGN):
            return
        if isinstance(found, Examined) and isinstance(found.model, OfModel):
            raise Known(found)

    def keep(self, examined: Examined) -> None:
        """Write an entry for the trace that was looked up, where nothing is wrong; what cannot be written is not kept."""
        if self.path is None or not examined.ok or examined.diagnostics:
            return
        with suppress(OSError, Unusable, ValueError):
            data = pickle.dumps(examined)
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            cache.make_room(self.path.parent, len(data))
            replace_file(str(self.path), hashlib.sha256(data).hexdigest().encode() + b"\n" + data)


class _Records(pickle.Unpickler):
    """Reads records of this package alone: what another program put there calls nothing."""

    def find_class(self, module: str, name: str) -> Any:
        found = (
            getattr(import_module(module), name) if module.startswith("rxlang.") else super().find_class(module, name)
        )
        if (module, name) in _PLAIN or isinstance(found, type) and issubclass(found, Node):
            return found
        raise pickle.UnpicklingError(name)
