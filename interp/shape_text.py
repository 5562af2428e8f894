"""From sizes, shapes, dtypes and conditions over slots to Python text, evaluated in its place."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Protocol

from ..lang import core
from ..lang.dtypes import CLASSES, DTYPES, members
from ..lang.node import replace
from ..sizes.evaluate import Literal, Name, evaluate
from ..sizes.text import Texts
from .dtypes import numpy_dtype
from .generated import GeneratedModule

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class Pattern(Protocol):
    """A pattern for shapes: dimensions over slots, some of which it binds."""

    @property
    def binds(self) -> tuple[str, ...]: ...

    @property
    def dims(self) -> tuple[core.SizeExpr | core.Splice, ...]: ...


class ShapeTexts(Texts):
    """The Python locals of slots, and the texts of expressions over them. A free local takes the next slot, so that its old
    value is released early: `locals` has the slots whose local has another name."""

    def __init__(self, unit: GeneratedModule) -> None:
        self.unit = unit
        self.locals: dict[str, str] = {}
        # Sizes of parameters that have locals of their own.
        self.dims: dict[tuple[str, int], str] = {}

    def local(self, slot: str) -> str:
        return self.locals.get(slot, slot)

    # Shape-level expressions: pure text, evaluated in its place

    def size(self, e: core.ShapeLevel) -> str:
        text: str = evaluate(e, self)
        return text

    shape = dtype = boolean = size

    def dim(self, d: core.SizeExpr | core.Splice) -> str:
        return f"*{self.local(d.name)}" if isinstance(d, core.Splice) else self.size(d)

    def shape_level(self, e: core.ShapeLevel) -> str:
        """An expression as an operand."""
        return _operand(e, self.size(e))

    # The domain

    def literal(self, e: Literal) -> str:
        return self.unit.dtype(e.dtype) if isinstance(e, core.DTypeLit) else super().literal(e)

    def named(self, e: Name) -> str:
        return self.local(e.name)

    def rank(self, e: core.RankOf) -> str:
        return f"{self.local(e.tensor)}.ndim"

    def dimension(self, e: core.DimOf) -> str:
        return self.dims.get((e.tensor, e.axis)) or f"{self.local(e.tensor)}.shape[{e.axis}]"

    def shape_of(self, tensor: str) -> str:
        return f"{self.local(tensor)}.shape"

    def dtype_of(self, tensor: str) -> str:
        return f"{self.local(tensor)}.dtype"

    def of_parts(self, parts: list[tuple[bool, str]]) -> str:
        return tuple_text(f"*{text}" if is_splice else text for is_splice, text in parts)

    def compare(self, e: core.Compare, left: str, right: str) -> str:
        return f"{_operand(e.left, left)} {e.op} {_operand(e.right, right)}"

    def in_class(self, e: core.InClass, item: str) -> str:
        return f"{item} in {self._choices(e.choices)}"

    def negation(self, e: core.Not, operand: str) -> str:
        return self.negated(e.operand) if isinstance(e.operand, core.Compare) else f"not ({operand})"

    def logic(self, e: core.Logic, left: str, right: Callable[[], str]) -> str:
        return f"({left} {'and' if e.op == '&&' else 'or'} {right()})"

    def negated(self, e: core.BoolExpr) -> str:
        """The text of the negation of `e`."""
        if isinstance(e, core.Compare):
            return self.boolean(replace(e, op=_NEGATED[e.op]))
        return f"not ({self.boolean(e)})"

    def _choices(self, choices: tuple[str, ...]) -> str:
        def make() -> frozenset[Hashable]:
            found = [d for c in choices for d in (members(c) if c in CLASSES else (DTYPES[c],))]
            return frozenset(numpy_dtype(d) for d in found)

        return self.unit.constant(("choices", choices), make)

    # Patterns

    def pattern(self, step: Pattern, whole: str) -> tuple[str, list[tuple[str, str]], list[str]]:
        """Write a pattern for the shape in the local `whole`: the test of its length, the slots that it binds, and the tests
        that follow once they are bound."""
        dims = step.dims
        loose = [i for i, d in enumerate(dims) if isinstance(d, core.Splice) and d.name in step.binds]
        at = loose[0] if loose else len(dims)
        before, after = dims[:at], dims[at + 1 :]
        ahead, behind = self._length(before), self._length(after)
        count = self.count(whole)
        fits = f"{count} >= {_plus(ahead, behind)}" if loose else f"{count} == {ahead}"
        binds: list[tuple[str, str]] = []
        tests: list[str] = []
        for group, fixed in ((before, "0"), (after, f"{count} - {behind}")):
            for i, d in enumerate(group):
                start = _plus(fixed, self._length(group[:i]))
                if isinstance(d, core.SizeVar) and d.name in step.binds:
                    binds.append((d.name, f"{whole}[{start}]"))
                elif isinstance(d, core.Splice):
                    stop = _plus(fixed, self._length(group[: i + 1]))
                    tests.append(f"{whole}[{start}:{stop}] == {self.local(d.name)}")
                else:
                    tests.append(f"{whole}[{start}] == {self.size(d)}")
        if loose:
            splice = dims[at]
            assert isinstance(splice, core.Splice)
            binds.append((splice.name, f"{whole}[{ahead}:{count} - {behind}]"))
        return fits, binds, tests

    def count(self, shape: str) -> str:
        """The number of dimensions of the shape in a local."""
        return f"len({shape})"

    def _length(self, dims: tuple[core.SizeExpr | core.Splice, ...]) -> str:
        fixed = sum(not isinstance(d, core.Splice) for d in dims)
        spliced = [self.count(self.local(d.name)) for d in dims if isinstance(d, core.Splice)]
        return f"({' + '.join([str(fixed), *spliced])})" if spliced else str(fixed)


def _operand(e: core.ShapeLevel, text: str) -> str:
    return f"({text})" if isinstance(e, core.BoolExpr) else text


def tuple_text(texts: Iterable[str]) -> str:
    """The text of a tuple with these items."""
    items = list(texts)
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _plus(a: str, b: str) -> str:
    if a.isdigit() and b.isdigit():
        return str(int(a) + int(b))
    return a if b == "0" else b if a == "0" else f"{a} + {b}"
