"""`rx shapes --program` and `--memory`: print each function's shape program, and the bytes that a call takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..interp import dps
from ..lang.checked import Checked
from ..lang.formats import Object
from ..lang.node import Node
from ..memory.arrays import NotKnown
from ..memory.consts import consts
from ..memory.follow import peak
from .dps import print_shape_program, stages


class FunctionSizes(Node):
    """The result for one function, as text and as data."""

    function: str
    text: str
    data: Object


def parts_of(checked: Checked, *, programs: bool, memory: bool, sizes: Mapping[str, int]) -> tuple[FunctionSizes, ...]:
    pairs = dps.pairs(checked.program)
    return tuple(_part(checked, pairs, name, programs, memory, sizes) for name in pairs)


def _part(
    checked: Checked,
    pairs: Mapping[str, dps.Pair],
    name: str,
    programs: bool,
    memory: bool,
    sizes: Mapping[str, int],
) -> FunctionSizes:
    texts: list[str] = []
    data: Object = {}
    if programs:
        texts.append(print_shape_program(pairs[name]))
        data["program"] = stages(pairs[name])
    if memory:
        data["memory"] = _memory(checked, pairs, name, sizes)
        texts.append("\n".join(_told(f"@{name}", data["memory"])))
    return FunctionSizes(f"@{name}", "\n".join(texts), data)


def _memory(checked: Checked, pairs: Mapping[str, dps.Pair], name: str, sizes: Mapping[str, int]) -> Object:
    """The bytes as an expression, and as a number if all its sizes are given; the reason if they are not known."""
    try:
        found = peak(checked.program, pairs, name, consts(checked.program, checked.headers))
        missing = [size for size in found.names if size not in sizes]
        number = None if missing else found.at(sizes)
    except NotKnown as why:
        return {"bytes": None, "number": None, "per_turn": [], "reason": str(why)}
    except ZeroDivisionError as why:
        return {"bytes": str(found), "number": None, "per_turn": list(found.per_turn), "reason": str(why)}
    return {"bytes": str(found), "number": number, "per_turn": list(found.per_turn), "reason": None}


def _told(name: str, memory: Object) -> Iterator[str]:
    if memory["bytes"] is None:
        yield f"{name}: not known ({memory['reason']})"
    else:
        turns = ", ".join(memory["per_turn"])
        yield f"{name}: {memory['bytes']} bytes" + (f", with {turns} as in a turn" if turns else "")
    if memory["number"] is not None and memory["bytes"] != str(memory["number"]):
        yield f"{' ' * len(name)}  {memory['number']} bytes for these sizes"
