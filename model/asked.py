"""The description of Python code to trace, as written on the command line; it needs no torch."""

from __future__ import annotations

from ..lang.node import Node


class AskedOfPython(Node):
    """What a target is built with, its arguments, axes that are made free, sizes that it is looked at with, the smallest and
    largest shapes of inputs."""

    init: str | None = None
    args: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    profile: tuple[str, ...] = ()
