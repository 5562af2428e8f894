"""The slots of one routine: which slot each name of the core has, and expressions of the shape level over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from ..lang import core
from ..lang.node import Node, replace
from ..lang.walk import rewrite
from .core_uses import names_of
from .names import SlotScope
from .steps import Names

S = TypeVar("S", bound=Node)


class Slots:
    """The slots of a routine, or of a closure in `outer`. `consts` has the slots that every routine sees."""

    def __init__(self, function: str, consts: Mapping[str, str], outer: Slots | None = None) -> None:
        self.function, self.consts, self.outer = function, consts, outer
        # The slots of a routine and of its closures have different names.
        self.scope: SlotScope = SlotScope(taken=outer.scope.taken if outer is not None else None)
        # Slots that are not released: parameters, which the caller holds, and values that are no tensors.
        self.held: set[str] = set()
        # The slots of the enclosing routine that a closure reads, in order.
        self.captured: dict[str, None] = {}
        self.known: dict[str, core.Known] = outer.known if outer is not None else {}

    def bind(self, name: str) -> str:
        """Bind a name to a new slot."""
        slot = self.scope.names[name] = self.scope.reserve(name)
        return slot

    def of(self, name: str) -> str:
        """The slot of an Rx name: of this routine, of the one around it, or a const's."""
        found = self.scope.find(name)
        if found is not None:
            return found
        if self.outer is not None and self.outer.knows(name):
            outside = self.outer.of(name)
            self.held.add(outside)
            if not outside.startswith("c_"):
                self.captured[outside] = None
            return outside
        if name in self.consts:
            self.held.add(self.consts[name])
            return self.consts[name]
        raise LookupError(f"{name} is not bound in @{self.function}")

    def knows(self, name: str) -> bool:
        if self.scope.find(name) is not None or name in self.consts:
            return True
        return self.outer is not None and self.outer.knows(name)

    def temp(self) -> str:
        return self.scope.temp()

    def held_temp(self) -> str:
        """A slot for an unnamed value that is no tensor."""
        slot = self.temp()
        self.held.add(slot)
        return slot

    def hold(self, slot: str, sort: core.Sort) -> None:
        """Hold the slot of a value that is no tensor: it is not released."""
        if isinstance(sort, core.BaseSort) and sort != core.TENSOR:
            self.held.add(slot)

    def learn(self, slots: Iterable[str], known: Iterable[core.Known | None]) -> None:
        """Add the facts of checking about the values in slots."""
        self.known.update({slot: k for slot, k in zip(slots, known, strict=True) if k is not None})

    def spoken(self, stmt: core.Assert | core.MatchShape) -> Names:
        """The names that a check's message may mention, with their slots."""
        return tuple((n, self.of(n)) for n in sorted(names_of(stmt)) if self.knows(n))

    def shape_level(self, e: S) -> S:
        """An expression of the shape level with slots for its names."""

        def change(node: Node) -> Node:
            if isinstance(node, core.DimOf | core.RankOf | core.ShapeOf | core.DTypeOf):
                return replace(node, tensor=self.of(node.tensor))
            if isinstance(node, core.SizeVar | core.ShapeVar | core.DTypeVar | core.BoolVar | core.Splice):
                return type(node)(node.span, self.of(node.name))
            return node

        return rewrite(e, change)
