"""Replaces the texts of Python files in a separate process, to try edits."""

from __future__ import annotations

import linecache
import os
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from types import CodeType

_own = SourceFileLoader.get_code


def overlay(texts: Mapping[str, str]) -> None:
    """Read these files, by their absolute paths, with these texts from now on."""

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        text = texts.get(os.path.realpath(path))
        if text is None:
            return _own(self, fullname)
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        return compile(text, path, "exec", dont_inherit=True)

    setattr(SourceFileLoader, "get_code", get_code)  # noqa: B010  # its type is of another class
