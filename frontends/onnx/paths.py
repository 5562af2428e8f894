"""The shortest path from an input of a graph to a node in it, or in a graph inside, as names of nodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator

from .consistency import graphs, read_by
from .model import Graph, Operation


class Paths:
    """The paths in one graph."""

    def __init__(self, graph: Graph) -> None:
        # A node, after the nodes that contain it.
        self.nodes = {str(within[-1]): within for within in reversed([*_within(graph)])}
        self.givers = {output: o for o in graph.operations for output in o.outputs if output}
        self.inputs = {v.name for v in graph.inputs} - {t.name for t in graph.initializers}

    def to(self, node: str, wanted: Collection[str] = ()) -> tuple[str, ...]:
        """A path to a node: an input, one of the wanted ones if possible, and the nodes between, with the node as the
        last."""
        if node not in self.nodes:
            return ()
        first, *inner = self.nodes[node]
        ways = self._ways(first)
        found = [name for name in ways if name in (wanted or self.inputs)] or list(ways)
        return (*ways[found[0]], *map(called, inner)) if found else ()

    def _ways(self, last: Operation) -> dict[str, tuple[str, ...]]:
        """The shortest path from each input that leads to a node, the nearest input first."""
        found: dict[str, tuple[str, ...]] = {}
        waiting: deque[tuple[Operation, tuple[str, ...]]] = deque([(last, (called(last),))])
        seen = {last.index}
        while waiting:
            operation, behind = waiting.popleft()
            for name in read_by(operation):
                giver = self.givers.get(name)
                if giver is None and name in self.inputs:
                    found.setdefault(name, (name, *behind))
                elif giver is not None and giver.index not in seen:
                    seen.add(giver.index)
                    waiting.append((giver, (called(giver), *behind)))
        return found


def _within(graph: Graph, around: tuple[Operation, ...] = ()) -> Iterator[tuple[Operation, ...]]:
    """Each node, after the nodes that contain it; those of the graph itself come first."""
    yield from ((*around, o) for o in graph.operations)
    for operation in graph.operations:
        for value in operation.attributes.values():
            for inner in graphs(value):
                yield from _within(inner, (*around, operation))


def called(operation: Operation) -> str:
    """A node's name, without its type."""
    return operation.name or next((o for o in operation.outputs if o), str(operation.index))
