"""The number of turns of a loop that counts and ends by its condition."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ...lang.node import Node
from .block import GraphBlock, constant_of
from .model import Graph, ModelValue, Operation, StoredInitializer, TensorType

# The comparisons in a loop's condition: whether its number stands first, and the turns beyond the distance.
_COMPARED = {"Less": (True, 0), "Greater": (False, 0), "LessOrEqual": (True, 1), "GreaterOrEqual": (False, 1)}
# Casts keep truths and 1, but the number before a cast may be no integer.
_CASTS = {"Cast", "CastLike"}
_ENDLESS = 2**63 - 1


class CountedModel(Node):
    """A loop with a turn for each number from the value `first` to below the value `end`, `more` beyond it, and `least` turns
    at least; its body calls the number `number`, which has the same rank in each turn if it `keeps_rank`."""

    number: str
    first: str
    end: str
    more: int
    least: int
    keeps_rank: bool

    def is_plain(self, block: GraphBlock) -> bool:
        """Whether the number is an int64 of rank 0, in each turn."""
        held = block.constant(self.first)
        kind = block.type(self.first)
        known = (
            (held.dtype, held.shape)
            if held is not None
            else (getattr(kind, "dtype", None), getattr(kind, "shape", None))
        )
        return self.keeps_rank and known == ("int64", ())


def counted(
    block: GraphBlock, graph: Graph, cond: str, carries: Sequence[tuple[ModelValue, str]]
) -> CountedModel | None:
    """The count of a loop, from its body, its first condition `cond`, and its carried values, each with its first one; None
    unless it runs while a number that grows by 1 is below a fixed end."""
    before, inside = _made(block), {name: o for o in graph.operations for name in o.outputs}
    again = _comparison(inside.get(_behind_casts(inside, graph.outputs[0].name)))
    if again is None or _is_bound(graph, again[1]):
        return None
    for at, (value, given) in enumerate(carries):
        grows = _same(inside, graph.outputs[1 + at].name) == _same(inside, again[0])
        one = _added(block, graph, inside, again[0], value.name) if grows and _is_whole(block, value, given) else None
        if one is not None:
            least = _first_turns(block, before, cond, given, again)
            return (
                None if least is None else CountedModel(value.name, given, again[1], again[2], least, one.shape == ())
            )
    return None


def _first_turns(
    block: GraphBlock, before: Mapping[str, Operation], cond: str, given: str, again: tuple[str, str, int]
) -> int | None:
    """The least number of turns: 0 where the first number is compared as all others are, 1 where the first turn is
    unconditional; None where something else decides it."""
    if not cond or holds(block.constant(cond)):
        return 1
    begin = _comparison(before.get(_behind_casts(before, cond)))
    if begin is None or begin[2] != again[2]:
        return None
    same = [(begin[0], given), (begin[1], again[1])]
    return 0 if all(_same(before, one) == _same(before, other) for one, other in same) else None


def _made(block: GraphBlock | None) -> dict[str, Operation]:
    """The nodes that make the values known in a block."""
    found: dict[str, Operation] = {}
    while block is not None:
        found = {**block.given_by, **found}
        block = block.outer
    return found


def _same(made: Mapping[str, Operation], name: str) -> str:
    """The value that Identity nodes pass on."""
    while name in made and _is(made[name], {"Identity"}):
        name = made[name].inputs[0]
    return name


def _behind_casts(made: Mapping[str, Operation], name: str) -> str:
    """The value that is passed on, perhaps with another dtype."""
    while name in made and _is(made[name], {"Identity", *_CASTS}):
        name = made[name].inputs[0]
    return name


def _is(operation: Operation, of: Collection[str]) -> bool:
    return operation.domain == "" and operation.op_type in of


def _comparison(operation: Operation | None) -> tuple[str, str, int] | None:
    """The compared number, its bound, and the turns beyond the distance."""
    if operation is None or operation.domain or operation.op_type not in _COMPARED or len(operation.inputs) != 2:
        return None
    is_first, more = _COMPARED[operation.op_type]
    number, end = operation.inputs if is_first else operation.inputs[::-1]
    return number, end, more


def _added(
    block: GraphBlock, graph: Graph, inside: Mapping[str, Operation], name: str, number: str
) -> StoredInitializer | None:
    """The constant 1, where a value of a body is the number of this turn plus 1."""
    added = inside.get(_same(inside, name))
    if added is None or added.domain or added.op_type != "Add" or len(added.inputs) != 2:
        return None
    for part, other in (added.inputs, added.inputs[::-1]):
        one = _one(block, graph, inside, _behind_casts(inside, other)) if _same(inside, part) == number else None
        if one is not None:
            return one
    return None


def _one(block: GraphBlock, graph: Graph, inside: Mapping[str, Operation], name: str) -> StoredInitializer | None:
    made = inside.get(name)
    held: StoredInitializer | None = next((t for t in graph.initializers if t.name == name), None) or block.constant(
        name
    )
    if made is not None:
        held = constant_of(made) if _is(made, {"Constant"}) else None
    is_one = held is not None and held.dtype.startswith("int") and tuple(held.values or ()) == (1,)
    return held if is_one else None


def _is_whole(block: GraphBlock, value: ModelValue, first: str) -> bool:
    """Whether a number is an integer."""
    held = block.constant(first)
    dtype = held.dtype if held is not None else value.type.dtype if isinstance(value.type, TensorType) else None
    return dtype is not None and dtype.startswith("int")


def holds(constant: StoredInitializer | None) -> bool:
    """Whether a constant is true."""
    values = None if constant is None else constant.values
    return values is not None and len(values) == 1 and values[0] is True


def is_endless(count: StoredInitializer | None) -> bool:
    """Whether a trip count stands for no limit."""
    return count is not None and tuple(count.values or ()) == (_ENDLESS,)


def _is_bound(graph: Graph, name: str) -> bool:
    """Whether a value belongs to a graph, not to those around it."""
    own = [*(v.name for v in graph.inputs), *(t.name for t in graph.initializers)]
    return name in own or any(name in o.outputs for o in graph.operations)
