"""Keep the results of checking traces of Python code on disk: code is traced each time, but an unchanged trace is checked
once.

The key of an entry is everything that the check depends on: the programs of all runs with the places and source lines, the
options, and the versions. Only results without diagnostics are kept, since helps read the user's files.
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

# The classes in an entry besides this package's records.
_PLAIN = {("builtins", "frozenset"), ("rxlang.cli.examined", "Examined"), ("rxlang.cli.examined", "OfModel")}
_FOREIGN = (ValueError, KeyError, IndexError, TypeError, AttributeError, ImportError, EOFError, pickle.UnpicklingError)


class Known(Exception):
    """Raised with the earlier result for a trace."""

    def __init__(self, examined: Examined) -> None:
        super().__init__()
        self.examined = examined


class Traces:
    """The entries in a folder; `path` is the file of the last trace looked up."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path: Path | None = None

    def look_up(self, rests_on: str) -> None:
        """Raise Known if there is a result for a trace with the same key."""
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
        """Write an entry for the last trace looked up, if there are no diagnostics; ignore failures to write."""
        if self.path is None or not examined.ok or examined.diagnostics:
            return
        with suppress(OSError, Unusable, ValueError):
            data = pickle.dumps(examined)
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            cache.make_room(self.path.parent, len(data))
            replace_file(str(self.path), hashlib.sha256(data).hexdigest().encode() + b"\n" + data)


class _Records(pickle.Unpickler):
    """Reads only records of this package, so that a foreign file cannot call anything."""

    def find_class(self, module: str, name: str) -> Any:
        found = (
            getattr(import_module(module), name) if module.startswith("rxlang.") else super().find_class(module, name)
        )
        if (module, name) in _PLAIN or isinstance(found, type) and issubclass(found, Node):
            return found
        raise pickle.UnpicklingError(name)
