"""Element types: their names, kinds and sizes, as in NumPy, ONNX and ml_dtypes, and types that hold tensors."""

from __future__ import annotations

from functools import cache

from .node import Node


class DType(Node):
    """An element type. `kind` is one of bool, int, uint, float, complex, string; `bits` is the size of one element.

    A sequence, an optional value and a map are of kind sequence, optional, map: tensors of rank 0 whose one element is the
    whole value; shapes do not describe its inside. `of` has the types inside: those of its elements, of a map's keys and
    values.
    """

    name: str
    kind: str
    bits: int
    of: tuple[DType, ...] = ()

    @property
    def is_opaque(self) -> bool:
        """Whether its elements hold tensors rather than numbers, truths or strings."""
        return bool(self.of)

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DType) and self.name == other.name)


def _table() -> dict[str, DType]:
    rows = [("bool", "bool", 8), ("string", "string", 0), ("complex64", "complex", 64), ("complex128", "complex", 128)]
    rows += [(f"int{b}", "int", b) for b in (8, 16, 32, 64)] + [(f"uint{b}", "uint", b) for b in (8, 16, 32, 64)]
    rows += [(f"float{b}", "float", b) for b in (16, 32, 64)] + [("bfloat16", "float", 16)]
    rows += [("int2", "int", 2), ("uint2", "uint", 2), ("int4", "int", 4), ("uint4", "uint", 4)]
    rows += [("float4_e2m1fn", "float", 4)]
    for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu"):
        rows.append((f"float8_{name}", "float", 8))
    return {name: DType(name, kind, bits) for name, kind, bits in rows}


DTYPES = _table()

# The classes that `d in floating` and the dtype columns of primitives use.
CLASSES: dict[str, frozenset[str]] = {
    "floating": frozenset({"float"}),
    "integer": frozenset({"int", "uint"}),
    "signed": frozenset({"int"}),
    "real": frozenset({"int", "uint", "float"}),
    "numeric": frozenset({"int", "uint", "float", "complex"}),
    "inexact": frozenset({"float", "complex"}),
    "complex": frozenset({"complex"}),
    "boolean": frozenset({"bool"}),
    "ordered": frozenset({"bool", "int", "uint", "float", "string"}),
    "any": frozenset({"bool", "int", "uint", "float", "complex", "string"}),
}


def members(class_name: str) -> tuple[DType, ...]:
    """The dtypes of a class, in the table's order."""
    kinds = CLASSES[class_name]
    return tuple(d for d in DTYPES.values() if d.kind in kinds)


def int_range(dtype: DType) -> tuple[int, int]:
    """The least and greatest value of an integer dtype."""
    if dtype.kind == "uint":
        return 0, 2**dtype.bits - 1
    return -(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1


# The bits of a floating dtype's significand: integers of that many bits are exact.
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def exact_integers(dtype: DType) -> tuple[int, int]:
    """The first and last of the integers that a dtype represents without gaps; (0, -1) if unknown."""
    if dtype.kind in ("int", "uint"):
        return int_range(dtype)
    most = 2 ** DIGITS[dtype.name] if dtype.name in DIGITS else -1
    return min(-most, 0), most


# The dtype of a literal number where nothing else determines it.
WEAK = {bool: DTYPES["bool"], int: DTYPES["int64"], float: DTYPES["float64"]}


# The container types, with the number of types that each holds.
HOLDERS = {"Sequence": 1, "Optional": 1, "Map": 2}
_DEEPEST = 16  # nesting of container types


@cache
def holding(holder: str, *of: DType) -> DType:
    """The dtype of a container: `Sequence(float32)` and so on."""
    return DType(f"{holder}({', '.join(d.name for d in of)})", holder.lower(), 0, of)


@cache
def dtype_named(name: str) -> DType | None:
    """The dtype of a name, which may hold others: `float32`, `Map(string, float32)`, `Optional(Sequence(int64))`."""
    head, found, inside = name.partition("(")
    if not found:
        return DTYPES.get(name)
    if head not in HOLDERS or not inside.endswith(")") or name.count("(") > _DEEPEST:
        return None
    of = [dtype_named(part.strip()) for part in _parts(inside[:-1])]
    known = [d for d in of if d is not None]
    return holding(head, *known) if len(known) == len(of) == HOLDERS[head] and _is_held(head, known) else None


def _is_held(holder: str, of: list[DType]) -> bool:
    return holder != "Map" or of[0].kind in ("int", "uint", "string")


def _parts(text: str) -> list[str]:
    """Split a text at the commas outside all parentheses."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts
