"""The installed version."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("rxlang")
except PackageNotFoundError:
    __version__ = "unknown"
