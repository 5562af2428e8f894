"""What is given to Python code that is to be traced, as it is written; to be read without torch."""

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
