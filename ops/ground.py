"""A primitive's rule over plain integers: the shapes and dtypes of a call at run time, or its violated requirement."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from math import isqrt
from typing import Any, NoReturn

from ..lang.dtypes import DTYPES, DType, exact_integers
from ..lang.node import Node
from ..sizes.operators import Arithmetic
from .dtypes_column import PARTS, Word, belongs, parse_dtypes, part_of
from .holds import condition
from .model import TENSORS, AnyDType, Out, Primitive, RankUnknown, Segment, TensorInfo, Truth
from .requirements import Argument, DTypeIn, DTypeRequirement, NotComplex, OneDType, Requirement, Spoken, of_some_rank
from .tracked import kept
from .wording import plain


class Violation(Exception):
    """A precondition that does not hold."""

    def __init__(self, asked: Requirement) -> None:
        super().__init__(asked)
        self.asked = asked

    def __str__(self) -> str:
        return plain(self.asked)


class NeedsData(Exception):
    """A size depends on the data; all requirements that the rule makes before it hold."""


class GroundCtx(Arithmetic):
    """A rule's context where every size is an int, every condition a bool, and every question has an answer."""

    def dims(self, x: TensorInfo[int]) -> tuple[int, ...]:
        return tuple(d for d in x.shape if not isinstance(d, Segment))

    def number(self, size: int) -> int:
        return size

    def rank(self, x: TensorInfo[int]) -> int:
        return len(x.shape)

    def require(self, asked: Requirement, cond: bool | None = None) -> None:
        if not (condition(asked, self) if cond is None else cond):
            raise Violation(asked)

    def dtype_in(self, dtype: AnyDType | None, *classes: str) -> bool:
        return isinstance(known := DTYPES["float64"] if dtype is None else dtype, DType) and belongs(known, classes)

    def require_dtype(self, asked: DTypeIn | NotComplex) -> None:
        self.require(asked, self.dtype_in(asked.dtype, *asked.classes))

    def require_either(self, known: bool | None, asked: DTypeRequirement) -> None:
        self.require(asked, known is True)

    def fail(self, asked: Requirement) -> NoReturn:
        raise Violation(asked)

    needs_literal = fail

    def leave_open(self, asked: Spoken) -> None:
        raise RankUnknown

    def ranges(self, told: object) -> tuple[()]:
        return ()

    def passed(self, cond: bool) -> None:
        pass

    def elements_fit(self, asked: object, empty: list[bool], surely: bool, needed: bool) -> None:
        pass

    def decide(self, cond: bool) -> bool:
        return cond

    eq, ne = staticmethod(operator.eq), staticmethod(operator.ne)
    le, lt = staticmethod(operator.le), staticmethod(operator.lt)

    def any_of(self, *conds: bool) -> bool:
        return any(conds)

    def all_of(self, *conds: bool) -> bool:
        return all(conds)

    def ceildiv(self, a: int, b: int) -> int:
        return -(-a // b)

    def common(self, *sizes: int) -> int:
        return next((size for size in sizes if size != 1), 1)

    def factor(self, product: int, other: int) -> int:
        return product // other

    def solution(self, left: tuple[int, ...], rest: tuple[int, ...]) -> int | None:
        return None

    def rest_on(self, param: str, value: tuple[int, ...]) -> None:
        pass

    def fresh(self, name: str, at_least: object = 0, at_most: object = None) -> NoReturn:
        raise NeedsData(name)

    def elements(self, segment: Segment) -> Any:
        return self.fresh("elements")

    def held_in(self, param: str) -> NoReturn:
        raise NeedsData(param)

    def element(self, at_least: int, at_most: int) -> int | None:
        return None

    def is_unknown(self, size: int) -> bool:
        return False

    def fits(self, value: int, dtype: AnyDType | None) -> bool:
        if not isinstance(dtype, DType):
            return False
        least, greatest = exact_integers(dtype)
        return least <= value <= greatest

    def one_of(self, cases: tuple[tuple[Truth, int], ...], natural: bool, dtype: AnyDType | None) -> int | None:
        return next((value for truth, value in cases if truth.yes is True), None)

    def root(self, size: int) -> int | None:
        return isqrt(size) if type(size) is int and size >= 0 and isqrt(size) ** 2 == size else None


class GroundResult(Node):
    """A call's results according to the rule and the dtype column: their infos, or the size if the row gives one."""

    tensors: tuple[TensorInfo, ...] = ()
    size: int | None = None


def evaluate(row: Primitive, values: Mapping[str, Any], ctx: GroundCtx | None = None) -> GroundResult:
    """Evaluate one call of a row, with values by parameter name as the rule takes them; absent ones have their defaults.

    Raises Violation if a shape or a dtype does not fit, NeedsData if the size of the result depends on the data.
    """
    args = [values.get(p.name, p.default) for p in row.params]
    words = parse_dtypes(row.dtypes).results
    known = _operand_dtypes(row, args)
    assert row.rule is not None, f"@{row.name} is declared in Rx"
    answer = row.rule(ctx or GroundCtx(), *args)
    if row.results == "size":
        return GroundResult((), answer)
    outs = outcomes(row, answer)
    if (asked := of_some_rank(max((len(o.shape) for o in outs), default=0))) is not None:
        raise Violation(asked)
    attributes = {p.name: a for p, a in zip(row.params, args, strict=True) if p.kind == "dtype"}
    if words[0].is_of_rule:
        dtypes = tuple(o.dtype for o in outs)
    else:
        dtypes = tuple(_result(word, known, attributes) for word in words) * (len(outs) if words[0].many else 1)
    return GroundResult(tuple(TensorInfo(o.shape, d, o.data) for o, d in zip(outs, dtypes, strict=True)))


def outcomes(row: Primitive, answer: Any) -> tuple[Out, ...]:
    """A rule's answer, as one Out per result."""
    answers = answer if row.results == "tuple" else (answer,)
    return tuple(Out(a.shape, kept(a.data), dtype=a.dtype) if isinstance(a, Out) else Out(tuple(a)) for a in answers)


def _operand_dtypes(row: Primitive, args: list[Any]) -> dict[str, DType]:
    """The dtypes of the column's variables according to the operands; raises Violation if the operands' dtypes do not fit."""
    known: dict[str, DType] = {}
    operands = [(p, a) for p, a in zip(row.params, args, strict=True) if p.kind in TENSORS]
    for (param, arg), word in zip(operands, parse_dtypes(row.dtypes).inputs, strict=True):
        for position, info in enumerate(arg if param.kind == "tensors" else (arg,)):
            if isinstance(info, TensorInfo):
                name = f"{param.name}[{position}]" if param.kind == "tensors" else param.name
                assert isinstance(info.dtype, DType)
                _match(word, name, info.dtype, known)
    return known


def _match(word: Word, name: str, dtype: DType, known: dict[str, DType]) -> None:
    if not word.allows(dtype):
        raise Violation(DTypeIn(Argument(name), dtype, word.classes))
    if word.var is None:
        return
    is_part = word.part is not None and word.var in known
    first = part_of(word, known[word.var]) if is_part else known.setdefault(word.var, dtype)
    if first != dtype and word.part in PARTS:
        raise Violation(DTypeIn(Argument(name), dtype, (first.name,)))
    if first != dtype:
        raise Violation(OneDType(Argument(name)))


def _result(word: Word, known: Mapping[str, DType], attributes: Mapping[str, DType | None]) -> DType:
    given = attributes.get(word.param) if word.param else None
    if given is not None:
        return given
    return part_of(word, known[word.var]) if word.var is not None else DTYPES[word.classes[0]]
