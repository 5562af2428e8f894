"""The sort of an expression before it is desugared (a tensor, a size, a shape, ...), by its form and its names."""

from __future__ import annotations

from collections.abc import Set

from ..lang import core, sweet
from ..lang.dtypes import DTYPES, HOLDERS
from ..lang.node import replace
from ..sizes.operators import PROD, is_function, size_signs
from .code import FunctionCode
from .scope import SOME_TUPLE
from .sorts import expand, of_results, sort_of
from .symbols import FnInfo, ImplsInfo, PrimitiveInfo

SIZE_SIGNS = size_signs()
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
ATTRIBUTES = {"rank": "Size", "shape": "Shape", "dtype": "DType"}


def level(code: FunctionCode, expr: sweet.Expr) -> str:
    """Return Tensor, Size, Shape, DType, Bool, Tuple, Fn, List or Text; Number for a literal that may be a Size or a
    tensor."""
    match expr:
        case sweet.IntLit():
            return "Number"
        case sweet.BoolLit():
            return "Truth"
        case sweet.Name():
            return _level_of_name(code, expr.name)
        case sweet.Unary():
            inner = level(code, expr.operand)
            return "Bool" if expr.op == "!" and inner != "Tensor" else inner
        case sweet.Binary():
            return _level_of_binary(code, expr)
        case sweet.InClass():
            return "Bool"
        case sweet.Attr():
            return _level_of_attr(code, expr)
        case sweet.Call():
            return _level_of_call(code, expr)
        case sweet.TupleExpr():
            return "Tuple"
        case sweet.ListExpr():
            return "List" if any(level(code, i) in ("Tensor", "Tuple", "Fn", "List") for i in expr.items) else "Shape"
        case sweet.Lambda() | sweet.FnName():
            return "Fn"
        case sweet.StrLit():
            return "Text"
        case sweet.Splice() | sweet.Dots() | sweet.Unknown():
            return "Part"
        case sweet.For() | sweet.While():
            return _level_of_loop(code, expr)
        case sweet.Index():
            return word(_part_sort(code, expr) or core.TENSOR)
        case sweet.If():
            return _level_of_block(code, expr.then)
        case sweet.FloatLit():
            return "Tensor"


def word(sort: core.Sort | None) -> str:
    """Return the level of a sort."""
    match sort:
        case core.BaseSort():
            return sort.name
        case core.TupleSort():
            return "Tuple"
        case core.FnSort():
            return "Fn"
        case None:
            return "?"


def _level_of_loop(code: FunctionCode, expr: sweet.For | sweet.While) -> str:
    if len(expr.carries) + len(expr.stack) != 1 or expr.stack:
        return "Tuple" if len(expr.carries) + len(expr.stack) > 1 else "Tensor"
    [carry] = expr.carries
    return level(code, carry.init) if carry.type is None else word(sort_of(expand(code.unit, carry.type)))


def _level_of_block(code: FunctionCode, block: sweet.Block, own: Set[str] = frozenset()) -> str:
    """Return the level of a block before it is read, to find tuples; its `own` names count as tensors."""
    result = block.result
    if isinstance(result, sweet.Name):
        lets = (s for s in reversed(block.stmts) if isinstance(s, sweet.Let) and not s.is_tuple)
        result = next((s.value for s in lets if s.names[0].name == result.name), None if result.name in own else result)
    return "Tuple" if result is not None and level(code, result) == "Tuple" else "Tensor"


def _level_of_name(code: FunctionCode, name: str) -> str:
    entry = code.scope.find(name)
    if entry is not None:
        return word(entry.sort) if entry.number is None else level(code, entry.number)
    return "DType" if name in DTYPES else "?"


def _level_of_binary(code: FunctionCode, expr: sweet.Binary) -> str:
    short, long = (expr.right, expr.left) if isinstance(expr.left, sweet.Binary) else (expr.left, expr.right)
    first = level(code, short)
    if first == "Tensor":  # the rest of a long chain is not read
        return first
    sides = {first, level(code, long)}
    if "Tensor" in sides:
        return "Tensor"
    if expr.op in SIZE_SIGNS or expr.op == "**":
        if sides & {"Size", "?"} and not any(_is_method(side) for side in (short, long)):
            return "Size"
        return "Number" if sides == {"Number"} else sides.pop()
    return "Bool"


def _is_method(expr: sweet.Expr) -> bool:
    """Whether an expression calls a method other than `dim`, so is no Size."""
    return isinstance(expr, sweet.Call) and isinstance(expr.callee, sweet.Attr) and expr.callee.name.name != "dim"


def _level_of_attr(code: FunctionCode, expr: sweet.Attr) -> str:
    if isinstance(expr.value, sweet.Name) and expr.value.name in code.unit.links:
        entry = code.symbols.foreign_const(code.unit, expr.value.name, expr.name.name)
        if entry is not None and code.scope.find(expr.value.name) is None:
            return word(entry.sort) if entry.number is None else level(code, entry.number)
    return ATTRIBUTES.get(expr.name.name, "?")


def _level_of_call(code: FunctionCode, expr: sweet.Call) -> str:
    match expr.callee:
        case sweet.Attr():
            return "Size" if expr.callee.name.name == "dim" else "?"
        case sweet.Name(name=name) if (entry := code.scope.find(name)) is not None:
            return word(entry.sort.signature.result) if isinstance(entry.sort, core.FnSort) else "?"
        case sweet.Name(name=name) if is_function(name):
            found = {level(code, a.value) for a in expr.args}
            return "Tensor" if "Tensor" in found else "Shape" if found == {"Shape"} and name != PROD else "Size"
        case sweet.Name(name=name) if name in HOLDERS:
            return "DType"
        case sweet.FnName():
            applied = higher_order(code, expr)
            return word(_result(code, expr.callee)) if applied is None else _level_of_applied(code, expr, applied)
    return "Tensor"


# `@map`, `@fold` and `@scan`, and their arguments before the tensors whose rows the function gets.
OVER_ROWS = {"map": ("f",), "fold": ("f", "init"), "scan": ("f", "init")}


def higher_order(code: FunctionCode, call: sweet.Call) -> str | None:
    """Return which of them a call means: a function of the program takes precedence, and a primitive unless it gets a
    function."""
    if not isinstance(call.callee, sweet.FnName) or call.callee.name.removeprefix("prelude.") not in OVER_ROWS:
        return None
    target = code.symbols.target(code.unit, call.callee.name)
    function = _function_given(call)
    is_given = function is not None and (level(code, function) == "Fn" or _is_wrong(code, function))
    goes_before = isinstance(target, FnInfo | ImplsInfo) or (target is not None and not is_given)
    return None if goes_before else call.callee.name.removeprefix("prelude.")


def _is_wrong(code: FunctionCode, expr: sweet.Expr) -> bool:
    """Whether it is a name whose error was reported."""
    entry = code.scope.find(expr.name) if isinstance(expr, sweet.Name) else None
    return entry is not None and entry.sort is None


def _function_given(call: sweet.Call) -> sweet.Expr | None:
    return next((a.value for a in call.args if a.name is None or a.name.name == "f"), None)


def _level_of_applied(code: FunctionCode, call: sweet.Call, name: str) -> str:
    match _function_given(call):
        case sweet.FnName() as function if name != "scan":
            return word(_result(code, function))
        case sweet.Name() as function if name != "scan":
            return _level_of_call(code, sweet.Call(call.span, function, ()))
        case sweet.Lambda(fn=sweet.Fn(result=type_)) if type_ is not None and name != "scan":
            return word(sort_of(expand(code.unit, type_)))
        case sweet.Lambda() as function if name != "scan" and id(function) in code.bare:
            return "Tuple" if isinstance(code.bare[id(function)][1].signature.result, core.TupleSort) else "Tensor"
        case sweet.Lambda(fn=sweet.Fn(params=params, body=sweet.Block() as body)) if name != "scan":
            return _level_of_block(code, body, {p.name.name for p in params})
    return "Tuple" if name == "scan" else "Tensor"


def _result(code: FunctionCode, callee: sweet.FnName) -> core.Sort | None:
    """Return the sort of the result of a function, a primitive or a list of them."""
    match code.symbols.target(code.unit, callee.name):
        case PrimitiveInfo(row=row) | ImplsInfo(model=PrimitiveInfo(row=row)):
            return of_results(row)
        case FnInfo() as info:
            return code.hooks.result(info, callee.span)
        case ImplsInfo(model=FnInfo() as model):
            return code.hooks.result(model, callee.span)
        case None:
            return core.TENSOR if code.opaque is None else code.opaque.result
    return None


def _part_sort(code: FunctionCode, expr: sweet.Index) -> core.Sort | None:
    """Return the sort of a tuple's part, if a tuple is indexed."""
    whole = _tuple_sort(code, expr.value)
    position = literal_index(code, expr) if isinstance(whole, core.TupleSort) else None
    if (
        not isinstance(whole, core.TupleSort)
        or whole == SOME_TUPLE
        or position is None
        or not -len(whole.items) <= position < len(whole.items)
    ):
        return None
    return whole.items[position]


def literal_index(code: FunctionCode, expr: sweet.Index) -> int | None:
    """Return the one literal integer in an index."""
    item = expr.items[0]
    return None if len(expr.items) > 1 or isinstance(item, sweet.SliceItem) else literal_int(code, item)


def _tuple_sort(code: FunctionCode, expr: sweet.Expr) -> core.Sort | None:
    match expr:
        case sweet.Name(name=name):
            entry = code.scope.find(name)
            return None if entry is None else entry.sort
        case sweet.Index():
            return _part_sort(code, expr)
        case sweet.Attr():
            entry = code.foreign(expr) if _level_of_attr(code, expr) == "Tuple" else None
            return None if entry is None else entry.sort
        case sweet.Call(callee=sweet.FnName() as callee) if higher_order(code, expr) is None:
            return _result(code, callee)
        case sweet.Call(callee=sweet.Name(name=name)) if (entry := code.scope.find(name)) is not None:
            return entry.sort.signature.result if isinstance(entry.sort, core.FnSort) else None
    return None


def named_number(code: FunctionCode, expr: sweet.Name | sweet.Attr) -> sweet.Expr | None:
    """Return the literal number that a name stands for, which can replace it."""
    entry = code.scope.find(expr.name) if isinstance(expr, sweet.Name) else code.foreign(expr)
    if entry is None or entry.number is None:
        return None
    entry.used = True
    return replace(entry.number, span=expr.span)


def is_literal(code: FunctionCode, expr: sweet.Expr) -> bool:
    """Whether an expression consists of numbers alone, which are tensors as well as sizes."""
    match expr:
        case sweet.IntLit() | sweet.FloatLit() | sweet.BoolLit():
            return True
        case sweet.Name() | sweet.Attr():
            return named_number(code, expr) is not None
        case sweet.Unary():
            return is_literal(code, expr.operand)
        case sweet.Binary():
            return is_literal(code, expr.left) and is_literal(code, expr.right)
    return False


def literal_int(code: FunctionCode, expr: sweet.Expr) -> int | None:
    """Return the value of a literal integer, or of a const that is one."""
    match expr:
        case sweet.IntLit():
            return expr.value
        case sweet.Unary(op="-", operand=operand):
            inner = literal_int(code, operand)
            return None if inner is None else -inner
        case sweet.Unary(op="+", operand=operand):
            return literal_int(code, operand)
        case sweet.Name(name=name) if (entry := code.scope.find(name)) is not None and entry.literal is not None:
            entry.used = True
            return literal_int(code, entry.literal)
    return None
