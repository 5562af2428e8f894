"""From Rx names to Python identifiers, one to one, and the slots of bindings."""

from __future__ import annotations


def mangle(name: str) -> str:
    """`y'` is `y_q`, `attn.block` is `attn_dblock`, `a_b` is `a__b`: no two names give one identifier."""
    text = name.replace("_", "__").replace("'", "_q").replace(".", "_d")
    if text.isascii():
        return text
    return "".join(c if c.isascii() else f"_u{ord(c):x}_" for c in text)


def unmangled(slot: str) -> str:
    """The name of a parameter, from its slot; for names in other alphabets the slot itself."""
    return "_".join(part.replace("_q", "'") for part in slot.removeprefix("v_").split("__"))


class SlotScope:
    """The slot of each Rx name at a place. An arm of an `if` opens an inner scope for its bindings. `taken` counts the slots
    of each kind, for all scopes of a routine."""

    __slots__ = ("names", "outer", "stem", "taken")

    def __init__(
        self, outer: SlotScope | None = None, *, stem: str = "v_", taken: dict[str, int] | None = None
    ) -> None:
        self.outer, self.stem = outer, stem
        self.names: dict[str, str] = {}
        self.taken: dict[str, int] = outer.taken if outer is not None else taken if taken is not None else {}

    def find(self, name: str) -> str | None:
        scope: SlotScope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None

    def reserve(self, name: str) -> str:
        """Reserve an unused slot for a binding of `name`."""
        stem = self.stem + mangle(name)
        count = self.taken.get(stem, 0)
        self.taken[stem] = count + 1
        return f"{stem}_{count}" if count else stem

    def temp(self) -> str:
        """Reserve a slot for an unnamed value."""
        count = self.taken["t"] = self.taken.get("t", 0) + 1
        return f"t{count}"
