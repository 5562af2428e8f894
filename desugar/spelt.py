"""Collects the names, functions and dtypes in sweet trees in one walk, and the names that are bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..lang import sweet
from ..lang.node import Node
from ..lang.walk import walk


class Spelt:
    """The words of some trees, in order: the `names` that are used, `others` that bind or are types, the functions that are
    called, the names of dtypes in annotations, and the names that statements, parameters and loops bind."""

    __slots__ = ("bound", "dtypes", "functions", "names", "others", "size")

    def __init__(self, *roots: object) -> None:
        self.names: list[str] = []
        self.others: list[str] = []
        self.functions: list[str] = []
        self.dtypes: list[sweet.Name] = []
        self.bound: list[str] = []
        self.size = 0  # the number of nodes
        for node in walk(*roots):
            self.size += 1
            put = _PUT.get(type(node))
            if put is not None:
                put(self, node)

    @property
    def identifiers(self) -> set[str]:
        return {*self.names, *self.others}


def names_in(*roots: object) -> tuple[str, ...]:
    """Return the names that are used in some trees, each once."""
    if len(roots) == 1 and isinstance(roots[0], sweet.Name):
        return (roots[0].name,)
    return tuple(dict.fromkeys(n.name for n in walk(*roots) if isinstance(n, sweet.Name)))


def _of_type(spelt: Spelt, node: sweet.TensorType) -> None:
    if isinstance(node.dtype, sweet.Name):
        spelt.dtypes.append(node.dtype)


def _of_let(spelt: Spelt, node: sweet.Let) -> None:
    spelt.bound += [n.name for n in node.names]


def _of_call(spelt: Spelt, node: sweet.Call) -> None:
    match node:
        case sweet.Call(callee=sweet.Name(name="match_shape"), args=(_, binds, *_)):
            spelt.bound += names_in(binds)


_PUT: dict[type[Node], Callable[[Spelt, Any], None]] = {
    sweet.Name: lambda spelt, node: spelt.names.append(node.name),
    sweet.Ident: lambda spelt, node: spelt.others.append(node.name),
    sweet.NamedType: lambda spelt, node: spelt.others.append(node.name),
    sweet.FnName: lambda spelt, node: spelt.functions.append(node.name),
    sweet.TensorType: _of_type,
    sweet.Let: _of_let,
    sweet.Param: lambda spelt, node: spelt.bound.append(node.name.name),
    sweet.Carry: lambda spelt, node: spelt.bound.append(node.name.name),
    sweet.For: lambda spelt, node: spelt.bound.append(node.index.name),
    sweet.Call: _of_call,
}
