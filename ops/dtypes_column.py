"""The words of a row's `dtypes` column: the element types of a primitive's operands and results."""

from __future__ import annotations

import re
from functools import cache

from ..lang.dtypes import CLASSES, DTYPES, DType, holding
from ..lang.node import Node


class Word(Node):
    """The element type of one operand or result.

    `T` and `T:numeric` have a variable, the same dtype at each occurrence; `classes` are the class and dtype names that allow
    it (empty: any). `bool` has no variable and one name. `=dtype` has `param`, the dtype parameter that decides; in `T=dtype`
    and `float32=dtype` the rest holds if that parameter is absent. `T...` is a list of operands, or of all results; for
    results `...` the rule gives the dtype of each. `real(T)` and `complex(T)` have the precision of T and that `part`;
    `sequence(T)` and `optional(T)` hold a T, `element(T)` is the type inside T, and `value(T)` the type inside an optional T.
    """

    var: str | None = None
    classes: tuple[str, ...] = ()
    param: str | None = None
    many: bool = False
    part: str | None = None

    def allows(self, dtype: DType) -> bool:
        """Whether the classes allow an operand of the dtype."""
        return not self.classes or belongs(dtype, self.classes)

    @property
    def is_of_rule(self) -> bool:
        """Whether the rule gives the dtype of each result."""
        return self.many and self.var is None and not self.classes

    @property
    def wanted(self) -> str:
        """The classes in words: "a floating dtype", "dtype bool", "a boolean or integer dtype"."""
        if not self.classes:
            return "any dtype"
        if all(name in DTYPES for name in self.classes):
            return "dtype " + " or ".join(self.classes)
        if "any" in self.classes:
            return "a dtype of numbers, truths or strings"
        article = "an" if self.classes[0][0] in "aeiou" else "a"
        return f"{article} {' or '.join(self.classes)} dtype"


class Column(Node):
    """A whole column. `inputs` has one word per tensor, tensors or index parameter, `results` one per tensor result."""

    inputs: tuple[Word, ...]
    results: tuple[Word, ...]


# `real(T)` and `complex(T)` where they differ from T.
PARTS = {
    "real": {"complex64": "float32", "complex128": "float64"},
    "complex": {"float32": "complex64", "float64": "complex128"},
}


# The column's names for dtypes that hold others; no class of the language contains these.
_OPAQUE = frozenset({"sequence", "optional", "map"})


def part_of(word: Word, dtype: DType) -> DType:
    """The dtype of a result if the word's variable is `dtype`."""
    if word.part is not None and word.part in _OPAQUE:
        return holding(word.part.capitalize(), dtype)
    if word.part == "element" or (word.part == "value" and dtype.kind == "optional"):
        return dtype.of[-1] if dtype.of else dtype
    found = PARTS.get(word.part or "", {}).get(dtype.name)
    return DTYPES[found] if found else dtype


_WORD = re.compile(
    r"""(?: (?P<part> real | complex | sequence | optional | element | value ) \( (?P<base>[A-Z]\w*) \)
          | (?P<var>[A-Z]\w*) (?: : (?P<of> \w+ | \{[^}]*\} ) )? | (?P<dtype> [a-z]\w* ) )?
        (?: = (?P<param>\w+) )? (?P<many>\.\.\.)?""",
    re.VERBOSE,
)
_SEPARATOR = re.compile(r",\s*(?![^{]*\})")


@cache
def parse_dtypes(text: str) -> Column:
    """`T:numeric, T -> T=dtype` as a Column. Words of one variable share its classes."""
    inputs, arrow, results = text.partition("->")
    if not arrow:
        raise ValueError(f"no `->` in the dtypes column {text!r}")
    classes: dict[str, tuple[str, ...]] = {}
    return Column(_words(inputs, classes), _words(results, classes))


@cache
def dtypes_of(names: tuple[str, ...]) -> frozenset[DType]:
    """The dtypes that class names and dtype names stand for."""
    return frozenset(d for name in names for d in DTYPES.values() if d.name == name or d.kind in CLASSES.get(name, ()))


def belongs(dtype: DType, names: tuple[str, ...]) -> bool:
    """Whether a dtype is one of the names, or in one of the named classes."""
    return dtype.kind in names if dtype.of else dtype in dtypes_of(names)


def among(dtypes: frozenset[DType], names: tuple[str, ...]) -> frozenset[DType]:
    """The dtypes that are among the names, or in one of the named classes."""
    plain = dtypes & dtypes_of(names)
    return plain if _OPAQUE.isdisjoint(names) else plain | {d for d in dtypes if d.of and d.kind in names}


def _words(text: str, classes: dict[str, tuple[str, ...]]) -> tuple[Word, ...]:
    return tuple(_word(part.strip(), classes) for part in _SEPARATOR.split(text.strip()) if part.strip())


def _word(text: str, classes: dict[str, tuple[str, ...]]) -> Word:
    match = _WORD.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no word of a dtypes column")
    of, dtype, param = match.group("of", "dtype", "param")
    var = match["var"] or match["base"]
    names: tuple[str, ...] = (dtype,) if dtype else ()
    if of:
        names = tuple(name.strip() for name in of.strip("{}").split(","))
        classes[var] = names
    unknown = [n for n in names if n not in CLASSES and n not in DTYPES and n not in _OPAQUE]
    if unknown:
        raise ValueError(f"{unknown[0]!r} in {text!r} is neither a dtype nor a class of them")
    if match["part"]:  # a part, or the type inside, has other classes
        return Word(var, (), param, match["many"] is not None, match["part"])
    return Word(var, classes.get(var, names) if var else names, param, match["many"] is not None, match["part"])
