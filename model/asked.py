"""The description of Python code to trace, as written on the command line; it needs no torch."""

from __future__ import annotations

from ..lang.node import Node


class AskedOfPython(Node):
    """The arguments that build a target, its own arguments, axes to free, sizes to inspect it at, and the smallest and
    largest shapes of inputs."""

    init: str | None = None
    args: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    profile: tuple[str, ...] = ()
