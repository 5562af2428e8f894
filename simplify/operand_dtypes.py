"""Compares the dtypes of a primitive's operands with its dtype column, and finds the dtypes of its results."""

from __future__ import annotations

from typing import Any

from ..lang.dtypes import DTYPES, WEAK, DType
from ..lang.weak import kind_fits, number_fits
from ..ops.dtypes_column import PARTS, Column, Word, part_of
from ..ops.model import TENSORS, AnyDType, DTypeSymbol, Primitive, TensorInfo
from ..ops.requirements import Argument, DTypeIn, NumbersFit, OneDType
from .known.values import POISON, UNDECIDED, NumberValue, Value
from .rule_context import SymbolicCtx


def result_dtypes(row: Primitive, column: Column, ctx: SymbolicCtx, arguments: list[object]) -> list[AnyDType | None]:
    """Check the operands' dtypes against the column; return the dtypes of the results."""
    letters: dict[str, AnyDType] = {}
    weak: dict[tuple[str, Word], list[tuple[str, Value]]] = {}
    slots = iter(column.inputs)
    for param, given in zip(row.params, arguments, strict=True):
        if param.kind not in TENSORS:
            continue
        slot = next(slots)
        operands = given if isinstance(given, tuple) else (given,)
        for position, operand in enumerate(operands):
            place = f"{param.name}[{position}]" if param.kind == "tensors" else param.name
            if isinstance(operand, TensorInfo) and operand.dtype is None:
                found = ctx.info.find(place)
                weak.setdefault((slot.var or param.name, slot), []).append((place, found.value if found else POISON))
            elif isinstance(operand, TensorInfo) and operand.dtype is not None:
                _check_operand(ctx, slot, letters, operand.dtype, place)
    made = {r.var for r in column.results if _named(r, row, arguments) is None} if weak else ()
    for (letter, word), values in weak.items():
        _check_numbers(ctx, letter, word, letters, values, letter in made)
    return [_result_dtype(ctx, r, letters, row, arguments) for r in column.results]


def _check_operand(ctx: SymbolicCtx, word: Word, letters: dict[str, AnyDType], dtype: AnyDType, place: str) -> None:
    state = ctx.state
    if word.classes and not ctx.dtype_in(dtype, *word.classes):
        ctx.require_dtype(DTypeIn(Argument(place), dtype, word.classes))
    if word.var is None:
        return
    if word.part is not None and word.var in letters:
        first = _part(ctx, word, letters[word.var])
    else:
        first = letters.setdefault(word.var, dtype)
    same = state.same_dtype(first, dtype)
    if word.part in PARTS and isinstance(first, DType):
        ctx.require_dtype(DTypeIn(Argument(place), dtype, (first.name,)))
    elif same is not True:
        ctx.require_either(same, OneDType(Argument(place)))
        state.unify(first, dtype)


def _check_numbers(
    ctx: SymbolicCtx, letter: str, word: Word, letters: dict[str, AnyDType], values: list[tuple[str, Value]], kept: bool
) -> None:
    """Give literal numbers the other operand's dtype, if they are of its kind; `values` are at the places of operands.
    Without another operand they have a dtype of their own, which has to hold them if the result has it (`kept`)."""
    numbers = [v.value for _, v in values if isinstance(v, NumberValue)]
    if letter not in letters:
        kinds = [type(n) for n in numbers] or [int]
        letters[letter] = WEAK[float if float in kinds else int if int in kinds else bool]
        _check_operand(ctx, word, letters, letters[letter], values[0][0])
        if not kept:
            return
    for number in numbers:
        dtype = ctx.state.dtype(letters[letter])
        if not isinstance(dtype, DType):
            _check_kind(ctx, number, dtype)
        elif not number_fits(number, dtype):
            ctx.judged(NumbersFit(dtype, _number_text(number)), False)


def _check_kind(ctx: SymbolicCtx, number: int | float | bool, dtype: AnyDType) -> None:
    """Check that a number has the kind of an unknown dtype: one out of range is refused at run time, one of another kind
    would be widened."""
    allowed = ctx.state.allowed(dtype)
    fitting = frozenset(one for one in allowed if kind_fits(WEAK[type(number)], one))
    if fitting != allowed:
        ctx.judged(NumbersFit(dtype, _number_text(number)), UNDECIDED if fitting else False)
        ctx.state.restrict(dtype, fitting)


def _number_text(number: int | float | bool) -> str:
    return str(number).lower() if isinstance(number, bool) else str(number)


def _result_dtype(
    ctx: SymbolicCtx, word: Word, letters: dict[str, AnyDType], row: Primitive, arguments: list[Any]
) -> AnyDType | None:
    named = _named(word, row, arguments)
    if named is not None:
        return named
    if word.var is not None:
        return _part(ctx, word, letters.get(word.var) or ctx.state.dtype_symbol("?"))
    if len(word.classes) == 1 and word.classes[0] in DTYPES:
        return DTYPES[word.classes[0]]
    return ctx.state.dtype_symbol("?")


def _named(word: Word, row: Primitive, arguments: list[Any]) -> AnyDType | None:
    """The dtype that an argument of the call names for a result."""
    if word.param is None:
        return None
    given = next((a for p, a in zip(row.params, arguments, strict=True) if p.name == word.param), None)
    return DTYPES[given] if isinstance(given, str) else given if isinstance(given, DType | DTypeSymbol) else None


def _part(ctx: SymbolicCtx, word: Word, dtype: AnyDType) -> AnyDType:
    """`real(T)`, for a T that is known or one of several."""
    if word.part is None:
        return dtype
    allowed = ctx.state.allowed(dtype)
    if all(part_of(word, one) == one for one in allowed):
        return dtype
    symbol = ctx.state.dtype_symbol("?")
    ctx.state.restrict(symbol, frozenset(part_of(word, one) for one in allowed))
    return ctx.state.dtype(symbol)
