"""Sizes, shapes, dtypes and conditions over slots to Python text, evaluated where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from ..lang import core
from ..lang.dtypes import CLASSES, DTYPES, members
from .dtypes import numpy_dtype
from .generated import GeneratedModule

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class Pattern(Protocol):
    """What a shape is held against: dimensions over slots, some of which it binds."""

    @property
    def binds(self) -> tuple[str, ...]: ...

    @property
    def dims(self) -> tuple[core.SizeExpr | core.Splice, ...]: ...


class ShapeTexts:
    """The Python locals that slots are in, and the texts of what is made of them. A local that is free takes the next slot, so
    that what it held goes as soon as it may: `locals` has the slots that are not in a local of their own name."""

    def __init__(self, unit: GeneratedModule) -> None:
        self.unit = unit
        self.locals: dict[str, str] = {}
        # Sizes of parameters that have locals of their own.
        self.dims: dict[tuple[str, int], str] = {}

    def local(self, slot: str) -> str:
        return self.locals.get(slot, slot)

    # Shape-level expressions: pure text, evaluated where it stands

    def size(self, e: core.SizeExpr) -> str:
        match e:
            case core.SizeLit(value=value):
                return str(value) if value >= 0 else f"({value})"
            case core.SizeVar(name=name):
                return self.local(name)
            case core.RankOf(tensor=tensor):
                return f"{self.local(tensor)}.ndim"
            case core.DimOf(tensor=tensor, axis=axis):
                return self.dims.get((tensor, axis)) or f"{self.local(tensor)}.shape[{axis}]"
            case core.SizeOp(op=op, left=left, right=right):
                return self._size_op(op, left, right)

    def _size_op(self, op: str, left: core.SizeExpr, right: core.SizeExpr) -> str:
        a, b = self.size(left), self.size(right)
        positive = isinstance(right, core.SizeLit) and right.value > 0
        match op:
            case "+" | "-" | "*":
                return f"({a} {op} {b})"
            case "min" | "max":
                return f"{op}({a}, {b})"
            case "//" | "%":
                return f"({a} {op} {b})" if positive else f"{'floor' if op == '//' else 'modulo'}({a}, {b})"
            case "ceildiv":
                return f"(-(-{a} // {b}))" if positive else f"ceildiv({a}, {b})"
            case "/":
                return f"exact({a}, {b})"
        raise LookupError(f"no size operator {op}")

    def shape(self, e: core.ShapeExpr) -> str:
        match e:
            case core.ShapeVar(name=name):
                return self.local(name)
            case core.ShapeOf(tensor=tensor):
                return f"{self.local(tensor)}.shape"
            case core.ShapeLit(dims=dims):
                return tuple_text(self.dim(d) for d in dims)

    def dim(self, d: core.SizeExpr | core.Splice) -> str:
        return f"*{self.local(d.name)}" if isinstance(d, core.Splice) else self.size(d)

    def dtype(self, e: core.DTypeExpr) -> str:
        match e:
            case core.DTypeLit(dtype=dtype):
                return self.unit.dtype(dtype)
            case core.DTypeVar(name=name):
                return self.local(name)
            case core.DTypeOf(tensor=tensor):
                return f"{self.local(tensor)}.dtype"

    def boolean(self, e: core.BoolExpr) -> str:
        match e:
            case core.BoolConst(value=value):
                return str(value)
            case core.BoolVar(name=name):
                return self.local(name)
            case core.Not(operand=operand):
                return self.negated(operand)
            case core.Logic(op=op, left=left, right=right):
                return f"({self.boolean(left)} {'and' if op == '&&' else 'or'} {self.boolean(right)})"
            case core.Compare(op=op, left=left, right=right):
                return f"{self.shape_level(left)} {op} {self.shape_level(right)}"
            case core.InClass(item=item, choices=choices):
                return f"{self.dtype(item)} in {self._choices(choices)}"

    def negated(self, e: core.BoolExpr) -> str:
        """The text that is true where e is false."""
        if isinstance(e, core.Compare):
            return f"{self.shape_level(e.left)} {_NEGATED[e.op]} {self.shape_level(e.right)}"
        return f"not ({self.boolean(e)})"

    def _choices(self, choices: tuple[str, ...]) -> str:
        def make() -> frozenset[Any]:
            found = [d for c in choices for d in (members(c) if c in CLASSES else (DTYPES[c],))]
            return frozenset(numpy_dtype(d) for d in found)

        return self.unit.constant(("choices", choices), make)

    def shape_level(self, e: core.ShapeLevel) -> str:
        if isinstance(e, core.SizeExpr):
            return self.size(e)
        if isinstance(e, core.ShapeExpr):
            return self.shape(e)
        if isinstance(e, core.DTypeExpr):
            return self.dtype(e)
        return f"({self.boolean(e)})"

    # Patterns

    def pattern(self, step: Pattern, whole: str) -> tuple[str, list[tuple[str, str]], list[str]]:
        """A pattern against the shape in the local `whole`: the test of its length, the slots that it binds, and the tests that
        follow once they are bound."""
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
        """How many dimensions the shape in a local has."""
        return f"len({shape})"

    def _length(self, dims: tuple[core.SizeExpr | core.Splice, ...]) -> str:
        fixed = sum(not isinstance(d, core.Splice) for d in dims)
        spliced = [self.count(self.local(d.name)) for d in dims if isinstance(d, core.Splice)]
        return f"({' + '.join([str(fixed), *spliced])})" if spliced else str(fixed)


def tuple_text(texts: Iterable[str]) -> str:
    """A tuple of what the texts stand for."""
    items = list(texts)
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _plus(a: str, b: str) -> str:
    if a.isdigit() and b.isdigit():
        return str(int(a) + int(b))
    return a if b == "0" else b if a == "0" else f"{a} + {b}"
