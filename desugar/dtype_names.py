"""Names of dtypes in annotations: a name that stands for any dtype but resembles a dtype's name is a misspelt dtype."""

from __future__ import annotations

from typing import TypeGuard

from ..lang import codes, core, sweet
from ..lang.diagnostics import error, note
from ..lang.dtypes import DTYPES
from ..lang.walk import walk
from .errors import did_you_mean, distance
from .lint import unused
from .scope import ScopeEntry
from .symbols import SymbolTable, Unit

# Names of element types in other libraries.
ELSEWHERE = {
    "float": "float32", "double": "float64", "half": "float16", "int": "int64", "long": "int64", "short": "int16",
    "byte": "uint8", "boolean": "bool", "str": "string", "single": "float32", "uint": "uint64", "char": "int8",
    "f16": "float16", "f32": "float32", "f64": "float64", "fp16": "float16", "fp32": "float32", "fp64": "float64",
    "bf16": "bfloat16", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
    "u32": "uint32", "u64": "uint64", "c64": "complex64", "c128": "complex128", "complex": "complex64",
}  # fmt: skip
# Names of the tensor type in other libraries.
ARRAYS = dict.fromkeys(("Array", "ndarray", "NDArray", "tensor", "TensorType", "ArrayLike", "Tensor"), "Tensor")
_PLAIN = {name.replace("_", ""): name for name in DTYPES}


def check(symbols: SymbolTable) -> None:
    """Check every item of every file for a dtype's name that stands nowhere else in it."""
    for unit in symbols.units:
        for item in filter(symbols.is_told, unit.module.items):
            _check(symbols, unit, item)


def _check(symbols: SymbolTable, unit: Unit, item: sweet.Item) -> None:
    parts, found = symbols.spelt(item), dict[str, sweet.Name]()
    for place in (n for part in parts for n in part.dtypes):
        if place.name not in DTYPES and not place.name.startswith("_"):
            found.setdefault(place.name, place)
    if not found:
        return
    names = [n for part in parts for n in (*part.names, *part.others)]
    elsewhere = _names_of_others(unit, item) if isinstance(item, sweet.TypeDecl) else set(unit.consts)
    if isinstance(item, sweet.FnDecl):
        elsewhere |= {p.name.name for p in item.fn.params}
    for name, place in found.items():
        if name in elsewhere:
            continue
        meant = meant_by(name)
        if meant and names.count(name) == 1:
            symbols.misspelt.add(place.span)
            message = f"there is no dtype `{name}`, and nothing else here has that name"
            symbols.diagnostics.append(error(codes.E225, message, place.span, help=did_you_mean(meant), meant=meant))
        elif names.count(name) == 1 and _is_result(item, place):
            unused(
                symbols, [ScopeEntry(name, core.DTYPE, None, place.span, "existential")], unit.qualified(item.name.name)
            )
        elif meant or (meant := meant_by(name, 2)):
            help = did_you_mean(meant)
            symbols.diagnostics.append(note(codes.N204, f"`{name}` stands for any dtype here", place.span, help=help))


def _is_result(item: sweet.Item, place: sweet.Name) -> TypeGuard[sweet.FnDecl]:
    """Whether a name stands in the result type of a function with a body, and so has no effect."""
    if not isinstance(item, sweet.FnDecl) or item.fn.result is None or item.fn.body is None:
        return False
    return place.span.within(item.fn.result.span)


def _names_of_others(unit: Unit, item: sweet.Item) -> set[str]:
    """Return the names of the other items, which may bind the names of a `type` where they use it."""
    others = [i for i in unit.module.items if i is not item]
    return {n.name for n in walk(*others) if isinstance(n, sweet.Name | sweet.Ident)} | set(unit.consts)


def meant_by(name: str, typos: int = 1) -> tuple[str, ...]:
    """Return the dtypes that a name may be meant for; a name of six letters or more may have this number of typos."""
    plain = name.lower().replace("_", "")
    known = ELSEWHERE.get(name) or ELSEWHERE.get(plain) or _PLAIN.get(plain)
    if known is not None:
        return (known,)
    if len(name) < 3 or not (len(name) > 3 or plain[-1].isdigit()):
        return ()
    begun = tuple(d for d in DTYPES if d.startswith(f"{plain}_"))
    if begun:
        return begun
    far = {d: distance(plain, p) for p, d in _PLAIN.items()}
    least = min(far.values())
    return (
        tuple(d for d, n in far.items() if n == least)
        if least <= max(typos if len(plain) >= 6 else 1, len(plain) // 4)
        else ()
    )
