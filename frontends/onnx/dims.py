"""Declared sizes of a model as Rx sizes."""

from __future__ import annotations

import re

from .model import Graph


class Sizes:
    def __init__(self, graph: Graph) -> None:
        self.names: set[str] = set()
        for v in graph.inputs:
            for d in getattr(v.type, "shape", None) or ():
                if isinstance(d, str):
                    self.names.add(self.text(d, ""))

    def text(self, size: int | str | None, default: str) -> str:
        if isinstance(size, int):
            return str(size)
        return re.sub(r"[^A-Za-z0-9_]+", "_", size or default)
