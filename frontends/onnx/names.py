"""Legal Rx names for the names of a model."""

from __future__ import annotations

import re
from collections.abc import Collection

_RESERVED = frozenset(("let", "fn", "if", "else", "for", "while"))


class Names:
    def __init__(self, taken: Collection[str]) -> None:
        self.taken = set(taken)
        self.known: dict[str, str] = {}
        self.originals: dict[str, str] = {}

    def name(self, value: str) -> str:
        if value not in self.known:
            self.known[value] = self.fresh(value)
            self.originals[self.known[value]] = value
        return self.known[value]

    def fresh(self, hint: str) -> str:
        base = re.sub(r"[^A-Za-z0-9_]+", "_", hint).strip("_") or "v"
        if base[0].isdigit() or base in _RESERVED:
            base = f"v{base}"
        name, n = base, 1
        while name in self.taken:
            n += 1
            name = f"{base}_{n}"
        self.taken.add(name)
        return name
