"""Sizes, shapes, dtypes and conditions: shape-level expressions of the sweet tree to those of the core."""

from __future__ import annotations

from typing import NoReturn

from ..lang import codes, core, sweet
from ..lang.dtypes import CLASSES, DTYPES, HOLDERS, dtype_named
from ..lang.node import replace
from ..lang.operators import BINARY
from .code import Code, spelled
from .compounds import spelling
from .errors import Broken, fail, nearest
from .scope import SOME_TUPLE, Entry
from .sorts import describe, expand, of_results, opaque, sort_of
from .world import FnInfo, ImplsInfo, PrimitiveInfo

SIZE_OPS = frozenset({"+", "-", "*", "/", "//", "%"})
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
SIZE_FUNCTIONS = ("min", "max", "ceildiv")
# Attributes of tensors elsewhere that are functions of one tensor here.
_METHODS = {"T": "matrix_transpose", "mT": "matrix_transpose"}
# What a Size is called elsewhere, and how it is written here.
_SIZES = dict.fromkeys(("size", "numel", "nelement"), "the number of elements is a product of `{0}.dim(axis)`")
_SIZES |= dict.fromkeys(("ndim", "ndims", "ndimension"), "write `{0}.rank`")
_SHORT = 40
_ATTRIBUTES = {"rank": "Size", "shape": "Shape", "dtype": "DType"}


# What an expression is


def level(code: Code, expr: sweet.Expr) -> str:
    """Tensor, Size, Shape, DType, Bool, Tuple, Fn, List, Text; Number for a literal that is either a Size or a tensor."""
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
        case sweet.FloatLit() | sweet.If():
            return "Tensor"


def word(sort: core.Sort | None) -> str:
    """The level of a sort."""
    match sort:
        case core.BaseSort():
            return sort.name
        case core.TupleSort():
            return "Tuple"
        case core.FnSort():
            return "Fn"
        case None:
            return "?"


def _level_of_loop(code: Code, expr: sweet.For | sweet.While) -> str:
    if len(expr.carries) + len(expr.stack) != 1 or expr.stack:
        return "Tuple" if len(expr.carries) + len(expr.stack) > 1 else "Tensor"
    [carry] = expr.carries
    return level(code, carry.init) if carry.type is None else word(sort_of(expand(code.unit, carry.type)))


def _level_of_name(code: Code, name: str) -> str:
    entry = code.scope.find(name)
    if entry is not None:
        return word(entry.sort) if entry.number is None else level(code, entry.number)
    return "DType" if name in DTYPES else "?"


def _level_of_binary(code: Code, expr: sweet.Binary) -> str:
    short, long = (expr.right, expr.left) if isinstance(expr.left, sweet.Binary) else (expr.left, expr.right)
    first = level(code, short)
    if first == "Tensor":  # of a long chain nothing more is looked at
        return first
    sides = {first, level(code, long)}
    if "Tensor" in sides:
        return "Tensor"
    if expr.op in SIZE_OPS or expr.op == "**":
        if sides & {"Size", "?"}:
            return "Size"
        return "Number" if sides == {"Number"} else sides.pop()
    return "Bool"


def _level_of_attr(code: Code, expr: sweet.Attr) -> str:
    if isinstance(expr.value, sweet.Name) and expr.value.name in code.unit.links:
        entry = code.world.foreign_const(code.unit, expr.value.name, expr.name.name)
        if entry is not None and code.scope.find(expr.value.name) is None:
            return word(entry.sort) if entry.number is None else level(code, entry.number)
    return _ATTRIBUTES.get(expr.name.name, "?")


def _level_of_call(code: Code, expr: sweet.Call) -> str:
    match expr.callee:
        case sweet.Attr():
            return "Size" if expr.callee.name.name == "dim" else "?"
        case sweet.Name(name=name) if (entry := code.scope.find(name)) is not None:
            return word(entry.sort.signature.result) if isinstance(entry.sort, core.FnSort) else "?"
        case sweet.Name(name=name) if name in SIZE_FUNCTIONS:
            return "Tensor" if any(level(code, a.value) == "Tensor" for a in expr.args) else "Size"
        case sweet.Name(name=name) if name in HOLDERS:
            return "DType"
        case sweet.FnName():
            applied = higher_order(code, expr)
            return word(_result(code, expr.callee)) if applied is None else _level_of_applied(code, expr, applied)
    return "Tensor"


# `@map`, `@fold` and `@scan`, and what they are given before the tensors whose rows the function gets.
OVER_ROWS = {"map": ("f",), "fold": ("f", "init"), "scan": ("f", "init")}


def higher_order(code: Code, call: sweet.Call) -> str | None:
    """Which of them a call means: a function of the program goes before it, and a primitive unless it is given a function."""
    if not isinstance(call.callee, sweet.FnName) or call.callee.name.removeprefix("prelude.") not in OVER_ROWS:
        return None
    target = code.world.target(code.unit, call.callee.name)
    function = _function_given(call)
    is_given = function is not None and level(code, function) == "Fn"
    goes_before = isinstance(target, FnInfo | ImplsInfo) or (target is not None and not is_given)
    return None if goes_before else call.callee.name.removeprefix("prelude.")


def _function_given(call: sweet.Call) -> sweet.Expr | None:
    return next((a.value for a in call.args if a.name is None or a.name.name == "f"), None)


def _level_of_applied(code: Code, call: sweet.Call, name: str) -> str:
    match _function_given(call):
        case sweet.FnName() as function if name != "scan":
            return word(_result(code, function))
        case sweet.Name() as function if name != "scan":
            return _level_of_call(code, sweet.Call(call.span, function, ()))
        case sweet.Lambda(fn=sweet.Fn(result=type_)) if type_ is not None and name != "scan":
            return word(sort_of(expand(code.unit, type_)))
    return "Tuple" if name == "scan" else "Tensor"


def _result(code: Code, callee: sweet.FnName) -> core.Sort | None:
    """The sort of what a function, a primitive or a list of them gives."""
    match code.world.target(code.unit, callee.name):
        case PrimitiveInfo(row=row) | ImplsInfo(model=PrimitiveInfo(row=row)):
            return of_results(row)
        case FnInfo() as info:
            return code.hooks.result(info, callee.span)
        case ImplsInfo(model=FnInfo() as model):
            return code.hooks.result(model, callee.span)
        case None:
            return core.TENSOR if code.opaque is None else code.opaque.result
    return None


def _part_sort(code: Code, expr: sweet.Index) -> core.Sort | None:
    """The sort of a tuple's part, where it is one that is indexed."""
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


def literal_index(code: Code, expr: sweet.Index) -> int | None:
    """The one literal integer in an index."""
    item = expr.items[0]
    return None if len(expr.items) > 1 or isinstance(item, sweet.SliceItem) else literal_int(code, item)


def _tuple_sort(code: Code, expr: sweet.Expr) -> core.Sort | None:
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


def _part(code: Code, expr: sweet.Index, want: core.Sort) -> core.Value:
    """A tuple's part of a shape-level sort."""
    value, sort = code.hooks.value(code, expr)
    return value if sort == want else wrong_sort(code, expr, word(want))


def named_number(code: Code, expr: sweet.Name | sweet.Attr) -> sweet.Expr | None:
    """The literal number that a name stands for: it is what it would be in the name's place."""
    entry = code.scope.find(expr.name) if isinstance(expr, sweet.Name) else code.foreign(expr)
    if entry is None or entry.number is None:
        return None
    entry.used = True
    return replace(entry.number, span=expr.span)


def is_literal(code: Code, expr: sweet.Expr) -> bool:
    """Whether an expression is made of numbers alone: those are tensors as well as sizes."""
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


# Sizes


def size(code: Code, expr: sweet.Expr) -> core.SizeExpr:
    match expr:
        case sweet.IntLit():
            return core.SizeLit(expr.span, expr.value)
        case sweet.Name() | sweet.Attr() if isinstance(found := named_number(code, expr), sweet.IntLit):
            return core.SizeLit(expr.span, found.value)
        case sweet.Name():
            return _named_size(code, expr)
        case sweet.Unary(op="+"):
            return replace(size(code, expr.operand), span=expr.span)
        case sweet.Unary(op="-", operand=sweet.IntLit() as literal):
            return core.SizeLit(expr.span, -literal.value)
        case sweet.Unary(op="-"):
            return core.SizeOp(expr.span, "-", core.SizeLit(expr.span, 0), size(code, expr.operand))
        case sweet.Binary() if code.compounds and spelling(expr) in code.compounds:
            return _named_size(code, sweet.Name(expr.span, spelling(expr)))
        case sweet.Binary() if expr.op in SIZE_OPS:
            return core.SizeOp(expr.span, expr.op, size(code, expr.left), size(code, expr.right))
        case sweet.Binary() if expr.op not in BINARY:  # a sign that the parser has reported
            raise Broken
        case sweet.Binary(op="**"):
            fail(codes.E206, "sizes have no `**`", expr.span, help="write the product out: `n * n`")
        case sweet.Attr():
            return _size_attr(code, expr)
        case sweet.Call(callee=sweet.Attr()):
            return _dim(code, expr)
        case sweet.Call(callee=sweet.Name(name=name)) if name in SIZE_FUNCTIONS and code.scope.find(name) is None:
            return _size_function(code, expr, name)
        case sweet.Index() if isinstance(part := _part(code, expr, core.SIZE), core.SizeExpr):
            return part
        case sweet.Call() | sweet.If() | sweet.For() | sweet.While():
            return _hoisted_size(code, expr)
    return wrong_sort(code, expr, "Size")


def _named_size(code: Code, expr: sweet.Name) -> core.SizeExpr:
    if code.scope.find(expr.name) is None and expr.name in DTYPES:
        wrong_sort(code, expr, "Size")
    entry = code.entry(expr.name, expr.span, lambda e: e.sort == core.SIZE)
    if entry.sort != core.SIZE:
        wrong_sort(code, expr, "Size")
    found = entry.at(expr.span)
    assert isinstance(found, core.SizeExpr)
    return found


def _size_attr(code: Code, expr: sweet.Attr) -> core.SizeExpr:
    entry = code.foreign(expr)
    if entry is not None:
        found = entry.at(expr.span)
        return found if isinstance(found, core.SizeExpr) else wrong_sort(code, expr, "Size")
    if expr.name.name == "rank":
        return core.RankOf(expr.span, tensor_name(code, expr.value))
    if expr.name.name in _ATTRIBUTES:
        wrong_sort(code, expr, "Size")
    return _unknown_size(expr)


def unknown_attribute(code: Code, expr: sweet.Attr) -> NoReturn:
    """What is a method elsewhere is a function here."""
    name = _METHODS.get(expr.name.name, expr.name.name)
    of = spelled(expr.value.span)
    known = code.world.target(code.unit, name) is not None and len(of) <= _SHORT
    more = "" if name != expr.name.name else ", ..."
    _no_attribute(expr, f"write `@{name}({of}{more})`" if known else None)


def _unknown_size(expr: sweet.Attr) -> NoReturn:
    """An attribute where something of a shape is wanted, which no function of tensors gives."""
    of, meant = spelled(expr.value.span), _SIZES.get(expr.name.name)
    _no_attribute(expr, meant.format(of) if meant is not None and len(of) <= _SHORT else None)


def _no_attribute(expr: sweet.Attr, help: str | None) -> NoReturn:
    help = help or "a tensor has .rank, .dim(axis), .shape and .dtype"
    fail(codes.E215, f"there is no `.{expr.name.name}`", expr.name.span, help=help)


def _dim(code: Code, expr: sweet.Call) -> core.SizeExpr:
    assert isinstance(expr.callee, sweet.Attr)
    if expr.callee.name.name != "dim":
        _unknown_size(expr.callee)
    if len(expr.args) != 1 or expr.args[0].name is not None:
        fail(codes.E205, ".dim takes one axis", expr.span, help="`x.dim(0)`, or `x.dim(-1)` for the last")
    axis = literal_int(code, expr.args[0].value)
    if axis is None:
        fail(codes.E220, "the axis of .dim has to be a literal", expr.args[0].span, help="`x.dim(0)`")
    return core.DimOf(expr.span, tensor_name(code, expr.callee.value), axis)


def _size_function(code: Code, expr: sweet.Call, name: str) -> core.SizeExpr:
    args = [a.value for a in expr.args]
    if any(a.name for a in expr.args) or len(args) < 2 or (name == "ceildiv" and len(args) > 2):
        fail(codes.E205, f"{name} takes {'two' if name == 'ceildiv' else 'two or more'} sizes", expr.span)
    found = size(code, args[0])
    for arg in args[1:]:
        found = core.SizeOp(expr.span, name, found, size(code, arg))
    return found


def _hoisted_size(code: Code, expr: sweet.Call | sweet.If | sweet.For | sweet.While) -> core.SizeExpr:
    if isinstance(expr, sweet.Call) and level(code, expr) not in ("Size", "?"):
        wrong_sort(code, expr, "Size")
    found = code.hoist(expr, core.SIZE)
    assert isinstance(found, core.SizeExpr)
    return found


def tensor_name(code: Code, expr: sweet.Expr) -> str:
    """The core name of a tensor whose rank, dimensions or dtype is asked for; anything but a name gets one."""
    if isinstance(expr, sweet.Name):
        entry = code.entry(expr.name, expr.span, lambda e: e.sort == core.TENSOR)
        if entry.sort != core.TENSOR:
            wrong_sort(code, expr, "Tensor")
        entry.used = True
        assert isinstance(entry.expr, core.Var)
        return entry.expr.name
    value, sort = code.hooks.value(code, expr)
    if isinstance(value, core.Var) and sort == core.TENSOR:
        return value.name
    if sort != core.TENSOR:
        fail(codes.E206, f"this is {describe(sort)}; a tensor is needed here", expr.span)
    named = code.name(value, sort, "t")
    assert isinstance(named, core.Var)
    return named.name


def literal_int(code: Code, expr: sweet.Expr) -> int | None:
    """The value of a literal integer, or of a const that is one."""
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


# Shapes


def shape(code: Code, expr: sweet.Expr) -> core.ShapeExpr:
    match expr:
        case sweet.ListExpr():
            return core.ShapeLit(expr.span, dims(code, expr.items))
        case sweet.Name():
            entry = code.entry(expr.name, expr.span, lambda e: e.sort == core.SHAPE)
            found = entry.at(expr.span) if entry.sort == core.SHAPE else wrong_sort(code, expr, "Shape")
        case sweet.Attr():
            entry_ = code.foreign(expr)
            if entry_ is not None:
                found = entry_.at(expr.span)
            elif expr.name.name == "shape":
                return core.ShapeOf(expr.span, tensor_name(code, expr.value))
            elif expr.name.name in _ATTRIBUTES:
                wrong_sort(code, expr, "Shape")
            else:
                _unknown_size(expr)
        case sweet.Index() if isinstance(part := _part(code, expr, core.SHAPE), core.ShapeExpr):
            found = part
        case sweet.Call() | sweet.If() | sweet.For() | sweet.While():
            found = code.hoist(expr, core.SHAPE)
        case _:
            wrong_sort(code, expr, "Shape")
    return found if isinstance(found, core.ShapeExpr) else wrong_sort(code, expr, "Shape")


def dims(code: Code, items: tuple[sweet.Expr, ...]) -> tuple[core.SizeExpr | core.Splice, ...]:
    """The dimensions of a shape in brackets."""
    return tuple(_dimension(code, item) for item in items)


def _dimension(code: Code, item: sweet.Expr) -> core.SizeExpr | core.Splice:
    match item:
        case sweet.Splice():
            return splice(code, item)
        case sweet.Dots() | sweet.Unknown():
            fail(codes.E221, f"`{spelled(item.span)}` can stand in a type, not here", item.span)
    return size(code, item)


def splice(code: Code, item: sweet.Splice) -> core.Splice:
    """`*s`. Where s stands for `x.shape` it is named first: only names can be spliced."""
    entry = code.entry(item.name.name, item.name.span, lambda e: e.sort == core.SHAPE)
    if entry.sort != core.SHAPE:
        wrong_sort(code, sweet.Name(item.name.span, item.name.name), "Shape")
    found = entry.at(item.span)
    if isinstance(found, core.ShapeOf):
        entry.expr = found = name_shape(code, entry, found)
    assert isinstance(found, core.ShapeVar)
    return core.Splice(item.span, found.name)


def name_shape(code: Code, entry: Entry, found: core.ShapeOf) -> core.ShapeVar:
    name = code.core_name(entry.name)
    code.emit(core.Let(entry.span, (name,), False, core.SHAPE, found))
    return core.ShapeVar(entry.span, name)


# Dtypes


def dtype(code: Code, expr: sweet.Expr) -> core.DTypeExpr:
    match expr:
        case sweet.Name():
            named = dtype_named(expr.name) if code.scope.find(expr.name) is None else None
            if named is not None:
                return core.DTypeLit(expr.span, named)
            if code.scope.find(expr.name) is None:
                known = nearest(expr.name, DTYPES)
                fail(
                    codes.E201, f"there is no dtype `{expr.name}`", expr.span,
                    meant=(known,),
                )  # fmt: skip
            entry = code.entry(expr.name, expr.span, lambda e: e.sort == core.DTYPE)
            found = entry.at(expr.span) if entry.sort == core.DTYPE else wrong_sort(code, expr, "DType")
        case sweet.Attr():
            entry_ = code.foreign(expr)
            if entry_ is not None:
                found = entry_.at(expr.span)
            elif expr.name.name == "dtype":
                return core.DTypeOf(expr.span, tensor_name(code, expr.value))
            elif expr.name.name in _ATTRIBUTES:
                wrong_sort(code, expr, "DType")
            else:
                _unknown_size(expr)
        case sweet.Index() if isinstance(part := _part(code, expr, core.DTYPE), core.DTypeExpr):
            found = part
        case sweet.Call(callee=sweet.Name(name=holder), args=args) if holder in HOLDERS:
            return core.DTypeLit(expr.span, opaque(expr, holder, tuple(a.value for a in args)))
        case sweet.Call() | sweet.If() | sweet.For() | sweet.While():
            found = code.hoist(expr, core.DTYPE)
        case _:
            wrong_sort(code, expr, "DType")
    return found if isinstance(found, core.DTypeExpr) else wrong_sort(code, expr, "DType")


# Conditions


def condition(code: Code, expr: sweet.Expr) -> core.BoolExpr:
    match expr:
        case sweet.BoolLit():
            return core.BoolConst(expr.span, expr.value)
        case sweet.Name() | sweet.Attr() if isinstance(literal := named_number(code, expr), sweet.BoolLit):
            return core.BoolConst(expr.span, literal.value)
        case sweet.Name():
            entry = code.entry(expr.name, expr.span, lambda e: e.sort == core.BOOL)
            found = entry.at(expr.span) if entry.sort == core.BOOL else wrong_sort(code, expr, "Bool")
            return found if isinstance(found, core.BoolExpr) else wrong_sort(code, expr, "Bool")
        case sweet.Unary(op="!"):
            return core.Not(expr.span, condition(code, expr.operand))
        case sweet.Binary(op="&&" | "||"):
            return core.Logic(expr.span, expr.op, condition(code, expr.left), condition(code, expr.right))
        case sweet.Binary() if expr.op in COMPARISONS:
            return _compare(code, expr)
        case sweet.InClass():
            return _in_class(code, expr)
        case sweet.Index() if isinstance(part := _part(code, expr, core.BOOL), core.BoolExpr):
            return part
        case sweet.Attr() if (entry_ := code.foreign(expr)) is not None:
            found = entry_.at(expr.span)
            return found if isinstance(found, core.BoolExpr) else wrong_sort(code, expr, "Bool")
        case sweet.If():
            return _hoisted_condition(code, expr)
        case sweet.Call() | sweet.For() | sweet.While() if level(code, expr) == "Bool":
            return _hoisted_condition(code, expr)
    return wrong_sort(code, expr, "Bool")


def _hoisted_condition(code: Code, expr: sweet.Expr) -> core.BoolExpr:
    found = code.hoist(expr, core.BOOL)
    assert isinstance(found, core.BoolExpr)
    return found


def _compare(code: Code, expr: sweet.Binary) -> core.BoolExpr:
    kind = _compared(code, expr)
    if kind not in ("Size", "Number") and expr.op not in ("==", "!="):
        fail(codes.E206, f"`{expr.op}` compares Sizes; these are {kind}s", expr.span, help="`==` and `!=` compare them")
    sides: list[core.ShapeLevel] = []
    for side in (expr.left, expr.right):
        match kind:
            case "Shape":
                sides.append(shape(code, side))
            case "DType":
                sides.append(dtype(code, side))
            case "Bool" | "Truth":
                sides.append(condition(code, side))
            case _:
                sides.append(size(code, side))
    return core.Compare(expr.span, expr.op, sides[0], sides[1])


def _compared(code: Code, expr: sweet.Binary) -> str:
    left, right = level(code, expr.left), level(code, expr.right)
    for side, found in ((expr.left, left), (expr.right, right)):
        if found == "Tensor":
            wrong_sort(code, side, "Size")
    return left if left not in ("?", "Number", "Truth") else right if right != "?" else left


def _in_class(code: Code, expr: sweet.InClass) -> core.BoolExpr:
    for choice in expr.choices:
        if choice.name not in DTYPES and choice.name not in CLASSES:
            known = nearest(choice.name, (*CLASSES, *DTYPES))
            fail(
                codes.E201, f"there is no dtype and no class of dtypes called `{choice.name}`", choice.span,
                help=None if known else f"classes are {', '.join(CLASSES)}", meant=(known,),
            )  # fmt: skip
    return core.InClass(expr.span, dtype(code, expr.item), tuple(c.name for c in expr.choices), expr.braces)


# Wrong sorts


def wrong_sort(code: Code, expr: sweet.Expr, want: str) -> NoReturn:
    """An expression of another sort than the place asks for."""
    found = level(code, expr)
    if isinstance(expr, sweet.Name) and found == "?":
        code.entry(expr.name, expr.span)
    if isinstance(expr, sweet.Call) and isinstance(expr.callee, sweet.FnName):
        code.world.called(code.unit, expr.callee)
    shown = spelled(expr.span)
    name = {"Tensor": "tensor", "Fn": "function", "Tuple": "tuple", "List": "list", "Text": "text"}.get(found, found)
    name = "number" if isinstance(expr, sweet.FloatLit) else {"Number": "number", "Truth": "Bool"}.get(name, name)
    wanted = "tensor" if want == "Tensor" else want
    subject = f"`{shown}`" if len(shown) <= 40 else "this"
    message = f"{subject} is a {name}; a {wanted} is needed here" if found != "?" else f"a {wanted} is needed here"
    advice = _whole(expr) if isinstance(expr, sweet.FloatLit) else _advice(found, want, shown)
    fail(codes.E206 if want != "Tensor" or found != "Size" else codes.E207, message, expr.span, help=advice)


def _whole(expr: sweet.FloatLit) -> str | None:
    return f"a Size is an integer: `{int(expr.value)}`" if expr.value.is_integer() else None


def _advice(found: str, want: str, shown: str) -> str | None:
    match found, want:
        case "Tensor", "Size":
            return f"`@item({shown})` reads a rank-0 integer tensor as a Size; `.dim(0)` is a dimension"
        case "Shape", "Size" if shown.endswith(".shape"):
            return f"`{shown.removesuffix('.shape')}.dim(0)` is its first dimension"
        case "Tensor", "Shape":
            return f"`{shown}.shape` is the shape of a tensor" if shown.isidentifier() else None
        case "Tensor", "DType":
            return f"`{shown}.dtype` is the dtype of a tensor" if shown.isidentifier() else None
        case "Tensor", "Bool":
            return "an assertion is about sizes, shapes and dtypes; `@item` reads a number out of a tensor"
        case (("Size" | "Number"), "Shape"):
            return f"`[{shown}]` is a Shape of one dimension"
        case "Size", "Tensor":
            return f"`@size_to_tensor({shown})` makes a tensor of it"
        case "Shape", "Tensor":
            return "`@shape(x)` is the shape of x as a tensor"
    return None
