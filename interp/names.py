"""Rx names to Python identifiers, one to one."""

from __future__ import annotations


def mangle(name: str) -> str:
    """`y'` is `y_q`, `attn.block` is `attn_dblock`, `a_b` is `a__b`: no two names give one identifier."""
    text = name.replace("_", "__").replace("'", "_q").replace(".", "_d")
    if text.isascii():
        return text
    return "".join(c if c.isascii() else f"_u{ord(c):x}_" for c in text)


class Scope:
    """Which Python local each Rx name is at a place. An arm of an `if` opens an inner scope, and what it binds ends there."""

    __slots__ = ("names", "outer", "taken")

    def __init__(self, outer: Scope | None = None) -> None:
        self.outer = outer
        self.names: dict[str, str] = {}
        self.taken: dict[str, int] = outer.taken if outer is not None else {}

    def find(self, name: str) -> str | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None

    def reserve(self, name: str) -> str:
        """The local that a binding of `name` here will use: the one it has in this very scope, else one nobody has."""
        if name in self.names:
            return self.names[name]
        stem = "v_" + mangle(name)
        count = self.taken.get(stem, 0)
        self.taken[stem] = count + 1
        return f"{stem}_{count}" if count else stem

    def bind(self, name: str, local: str) -> None:
        self.names[name] = local
