"""Tensor-level expressions: calls, operators, literals, tuples, branches and functions as values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from posixpath import isabs, join, normpath
from typing import NoReturn

from ..lang import codes, core, sweet
from ..lang.diagnostics import Edit, Label, RxError
from ..lang.node import replace
from ..lang.operators import BINARY, UNARY
from ..lang.region import OTHER_WORDS
from ..lang.source import Span
from ..ops import elsewhere
from ..sizes.operators import is_function, size_functions
from . import arguments, folding, foreign, higher_order, implementations, levels, literals, parts, shapes, slices
from .code import FunctionCode, Typed, said_elsewhere, spelled
from .errors import Broken, count, fail, nearest, problem
from .scope import ScopeEntry
from .sorts import describe, fn_sort, of_results
from .symbols import FnInfo, ImplsInfo, PrimitiveInfo


def value(code: FunctionCode, expr: sweet.Expr, want: core.Sort | None = None) -> Typed:
    """Return an expression and its sort. A size is an error here; calls may still give one, and branches if one is wanted."""
    match expr:
        case sweet.IntLit() | sweet.FloatLit() | sweet.BoolLit():
            return core.Number(expr.span, expr.value), core.TENSOR
        case sweet.Name():
            return _name(code, expr)
        case sweet.FnName():
            return _function(code, expr)
        case sweet.Unary() | sweet.Binary():
            return _operator(code, expr)
        case sweet.Call():
            return _call(code, expr)
        case sweet.Index():
            return parts.of_tuple(code, expr) or slices.index(code, expr)
        case sweet.TupleExpr():
            items = code.each(partial(_item, code, item) for item in expr.items)
            return core.TupleValue(expr.span, tuple(v for v, _ in items)), core.TupleSort(tuple(s for _, s in items))
        case sweet.ListExpr():
            return _list(code, expr)
        case sweet.If():
            return _if(code, expr, want)
        case sweet.For() | sweet.While():
            return code.hooks.loop(code, expr)
        case sweet.Lambda():
            return code.hooks.lambda_(code, expr, want if isinstance(want, core.FnSort) else None)
        case sweet.Attr():
            return _attribute(code, expr)
    return _no_value(code, expr)


def _no_value(
    code: FunctionCode, expr: sweet.InClass | sweet.StrLit | sweet.Splice | sweet.Dots | sweet.Unknown
) -> NoReturn:
    if isinstance(expr, sweet.InClass):
        arguments.refuse_size(code, expr, "Bool")
    if isinstance(expr, sweet.StrLit):
        fail(codes.E206, "a string can stand only as an attribute or in a tensor literal", expr.span)
    fail(codes.E221, f"`{spelled(expr.span)}` cannot stand here", expr.span)


# Names


def _name(code: FunctionCode, expr: sweet.Name) -> Typed:
    entry = code.entry(expr.name, expr.span, lambda e: not e.is_shape_level)
    return _entry(code, expr, entry)


def _entry(code: FunctionCode, expr: sweet.Expr, entry: ScopeEntry) -> Typed:
    if entry.is_shape_level:
        arguments.refuse_size(code, expr, levels.word(entry.sort))
    assert entry.sort is not None
    number = folding.number_of(entry.number)
    if number is not None:
        entry.used = True
        return core.Number(expr.span, number), entry.sort
    return entry.at(expr.span), entry.sort


def _attribute(code: FunctionCode, expr: sweet.Attr) -> Typed:
    entry = code.foreign(expr)
    if entry is not None:
        return _entry(code, expr, entry)
    found = levels.level(code, expr)
    if found == "?":
        shapes.unknown_attribute(code, expr)
    arguments.refuse_size(code, expr, found)
    raise Broken


def _function(code: FunctionCode, expr: sweet.FnName) -> Typed:
    """Return `@f` as a value."""
    if expr.name.removeprefix("prelude.") in levels.OVER_ROWS and code.symbols.target(code.unit, expr.name) is None:
        fail(
            codes.E221,
            f"`@{expr.name}` can only be called",
            expr.span,
            help="`fn(...) { ... }` around the call is a value",
        )
    match code.symbols.called(code.unit, expr):
        case PrimitiveInfo() as found:
            params = tuple(core.TENSOR for p in found.row.params if p.required)
            return core.FnRef(expr.span, found.name), fn_sort("?", params, core.TENSOR, expr)
        case FnInfo() as info:
            code.symbols.refuse_private(info, expr, code.function)
            return core.FnRef(expr.span, info.name), _sort_of_function(code, info, expr)
        case ImplsInfo() as impls:
            return implementations.as_value(code, impls, expr)


def _sort_of_function(code: FunctionCode, info: FnInfo, at: sweet.FnName) -> core.FnSort:
    sorts = [p.sort for p in info.params]
    if any(s is None for s in sorts):
        raise Broken
    return fn_sort("", tuple(s for s in sorts if s is not None), code.hooks.result(info, at.span), at)


# Operators


def _operator(code: FunctionCode, expr: sweet.Unary | sweet.Binary) -> Typed:
    found = levels.level(code, expr)
    if found in ("Size", "Bool") and not levels.is_literal(code, expr):
        arguments.refuse_size(code, expr, found)
    if isinstance(expr, sweet.Unary):
        return _unary(code, expr), core.TENSOR
    if expr.op not in BINARY:  # an operator that the parser has reported
        raise Broken
    left, right = code.each(partial(arguments.tensor, code, side) for side in (expr.left, expr.right))
    number = folding.folded(expr.op, left, right)
    if number is not None:
        return core.Number(expr.span, number), core.TENSOR
    args = (core.Arg(expr.left.span, None, left), core.Arg(expr.right.span, None, right))
    return core.Call(expr.span, slices.primitive(code, BINARY[expr.op], expr), args), core.TENSOR


def _unary(code: FunctionCode, expr: sweet.Unary) -> core.Value:
    operand = arguments.tensor(code, expr.operand)
    if isinstance(operand, core.Number) and not isinstance(operand.value, bool) and expr.op in "+-":
        return core.Number(expr.span, operand.value if expr.op == "+" else -operand.value)
    if isinstance(operand, core.Number) and isinstance(operand.value, bool) and expr.op == "!":
        return core.Number(expr.span, not operand.value)
    if expr.op == "+":
        return operand
    return core.Call(
        expr.span, slices.primitive(code, UNARY[expr.op], expr), (core.Arg(expr.operand.span, None, operand),)
    )


# Tuples and lists


def _item(code: FunctionCode, expr: sweet.Expr) -> Typed:
    """Return a part of a tuple: a tensor, or a size if it is one."""
    match levels.level(code, expr):
        case "Size":
            return shapes.size(code, expr), core.SIZE
        case "Shape":
            return shapes.shape(code, expr), core.SHAPE
        case "DType":
            return shapes.dtype(code, expr), core.DTYPE
        case "Bool" if not levels.is_literal(code, expr):
            return shapes.condition(code, expr), core.BOOL
    return value(code, expr)


def _list(code: FunctionCode, expr: sweet.ListExpr) -> Typed:
    found = levels.level(code, expr)
    if found == "Shape":
        fail(
            codes.E207, "a list of sizes is a Shape, not a tensor", expr.span,
            help=f"`tensor({spelled(expr.span)})` is a tensor; `let s : Shape = ...` names a Shape",
        )  # fmt: skip
    numbers = all(isinstance(n, sweet.IntLit | sweet.FloatLit | sweet.BoolLit | sweet.ListExpr) for n in expr.items)
    help = f"`tensor({spelled(expr.span)})` is a tensor of these numbers" if numbers else "`(x, y)` is a tuple"
    fail(codes.E206, "a list of tensors can stand only as an argument", expr.span, help=help)


# Branches


def _if(code: FunctionCode, expr: sweet.If, want: core.Sort | None) -> Typed:
    if expr.orelse is None:
        fail(codes.E219, "this `if` has no `else`: its value would be missing", expr.span, help="add `else { ... }`")
    cond = condition(code, expr.cond)
    then, sort = code.hooks.block(code, expr.then, want)
    orelse, other = code.hooks.block(code, expr.orelse, want)
    if not arguments.fits(other, sort):
        label = Label(expr.then.span, f"this arm gives {describe(sort)}")
        fail(
            codes.E219,
            f"one arm gives {describe(sort)}, the other {describe(other)}",
            expr.orelse.span,
            labels=(label,),
        )
    return core.If(expr.span, cond, then, orelse), sort


def condition(code: FunctionCode, expr: sweet.Expr) -> core.BoolExpr | core.Value:
    """Return a Bool if all names are sizes, shapes and dtypes; else a tensor."""
    if levels.level(code, expr) in ("Bool", "Truth", "Size", "Shape", "DType", "?"):
        return shapes.condition(code, expr)
    return arguments.tensor(code, expr)


# Calls


def _call(code: FunctionCode, expr: sweet.Call) -> Typed:
    match expr.callee:
        case sweet.FnName() as callee:
            return _named_call(code, expr, callee)
        case sweet.Name() as callee:
            return _called_name(code, expr, callee)
        case sweet.Attr() as callee:
            if callee.name.name == "dim":
                arguments.refuse_size(code, expr, "Size")
            entry = code.foreign(callee)
            if entry is None:
                return _in_our_words(code, expr, partial(shapes.unknown_attribute, code, callee))
    help = "`@f(x)` calls a function, `f(x)` a function value"
    made = expr.callee.callee if isinstance(expr.callee, sweet.Call) else None
    if isinstance(made, sweet.Attr | sweet.Name) and (said := _said_of(made)) is not None:
        help = said
    elif made is not None:
        help = "a layer is a function of its input and its weights: `@linear(x, weight, bias)`"
    raise problem(codes.E221, "this cannot be called", expr.callee.span, help=help)


def _said_of(callee: sweet.Attr | sweet.Name) -> str | None:
    return elsewhere.otherwise(callee.name.name if isinstance(callee, sweet.Attr) else callee.name)


def _named_call(code: FunctionCode, expr: sweet.Call, callee: sweet.FnName) -> Typed:
    applied = levels.higher_order(code, expr)
    if applied is not None:
        return higher_order.call(code, expr, applied)
    target = code.symbols.target(code.unit, callee.name)
    if code.opaque is not None and target is None:
        args = arguments.of_function(code, code.opaque, expr, callee.name)
        sort = code.hooks.result(code.opaque, expr.span)
        return core.Call(expr.span, core.FnRef(callee.span, callee.name), args), sort
    if target is None:
        return _in_our_words(code, expr, partial(code.symbols.called, code.unit, callee))
    match target:
        case PrimitiveInfo() as found:
            args = arguments.of_primitive(code, found, expr)
            call = core.Call(expr.span, core.FnRef(callee.span, found.name), args)
            number = folding.applied(found.row, args)
            return (call if number is None else core.Number(expr.span, number)), of_results(found.row)
        case FnInfo() as info:
            code.symbols.refuse_private(info, callee, code.function)
            args = arguments.of_function(code, info, expr, callee.name)
            return core.Call(expr.span, core.FnRef(callee.span, info.name), args), code.hooks.result(info, expr.span)
        case ImplsInfo() as impls:
            return implementations.call(code, impls, expr, callee)


def _in_our_words(code: FunctionCode, expr: sweet.Call, refuse: Callable[[], object]) -> Typed:
    """Report a wrong callee, and continue with its certain equivalent in Rx, else with the call's arguments."""
    try:
        refuse()
    except Broken:
        raise
    except RxError as wrong:
        meant = foreign.instead(code, expr)
        if meant is not None:
            labels = foreign.renamed(expr, meant)
            code.symbols.report(RxError(*(replace(d, labels=(*d.labels, *labels)) for d in wrong.diagnostics)))
            return _call(code, meant)
        code.report(wrong)
        if any(d.help for d in wrong.diagnostics):
            raise Broken from wrong
    code.each(partial(_look_at, code, arg.value) for arg in expr.args)
    raise Broken


def _look_at(code: FunctionCode, expr: sweet.Expr) -> None:
    """Check the names in an argument of a call without meaning."""
    if isinstance(expr, sweet.Call) and isinstance(expr.callee, sweet.FnName):
        value(code, expr)
    elif not (isinstance(expr, sweet.Name) and said_elsewhere(expr.name)):
        arguments.check_names(code, expr)


def _length(expr: sweet.Call) -> str:
    of = spelled(expr.args[0].value.span) if expr.args else "x"
    if of.endswith(".shape"):
        return f"`{of.removesuffix('.shape')}.rank` is the number of axes"
    return f"`{of}.dim(0)` is the size of the first axis of {of}, `@size_to_tensor({of}.dim(0), float32)` the same as a tensor"


def _called_name(code: FunctionCode, expr: sweet.Call, callee: sweet.Name) -> Typed:
    if code.scope.find(callee.name) is not None:
        return _function_value(code, expr, code.entry(callee.name, callee.span))
    match callee.name:
        case "tensor":
            return literals.tensor(code, expr), core.TENSOR
        case "load":
            return _load(code, expr), core.TENSOR
        case name if is_function(name):
            if any(levels.level(code, a.value) == "Tensor" for a in expr.args):
                word = {"min": "minimum", "max": "maximum"}.get(callee.name)
                fail(
                    codes.E206, f"{callee.name} is a function of Sizes", expr.span,
                    help=f"`@{word}` is the one of tensors" if word else None,
                )  # fmt: skip
            arguments.refuse_size(code, expr, levels.level(code, expr))
        case "match_shape":
            fail(codes.E221, "match_shape is a statement", expr.span, help="write it on a line of its own")
        case "range":
            fail(
                codes.E221,
                "range can stand only in `for`",
                expr.span,
                help="`@arange(0, n)` is a tensor of numbers in a row",
            )
    known = nearest(callee.name, (*size_functions(), "tensor", "load", "match_shape"))
    meant = (callee.name,) if code.symbols.target(code.unit, callee.name) else elsewhere.primitives(callee.name)
    help = (
        _length(expr) if callee.name == "len" else OTHER_WORDS[callee.name][1] if callee.name in OTHER_WORDS else None
    )
    help = help or (elsewhere.otherwise(callee.name) if meant != (callee.name,) else None)
    help = help or (f"write {' or '.join(f'`@{name}(...)`' for name in meant)}" if meant else None)
    sign = _SIGNS.get(callee.name)
    behind = expr.span.text[len(callee.name) :]
    end = callee.span.end + len(behind) - len(behind.lstrip())
    edits = (Edit(Span(callee.span.source, callee.span.start, end), sign),) if sign is not None else ()
    message = f"nothing is called `{callee.name}` here"
    change = "leave out `return`" if sign == "" else ""
    refuse = partial(fail, codes.E201, message, callee.span, help=help, meant=(known,), edits=edits, change=change)
    return _in_our_words(code, expr, refuse)


# Words before parentheses, and their replacements.
_SIGNS = {"not": "!", "return": ""}


def _function_value(code: FunctionCode, expr: sweet.Call, entry: ScopeEntry) -> Typed:
    """Translate `f(x)` for a parameter or a `let` that is a function."""
    sort = entry.sort
    if not isinstance(sort, core.FnSort):
        fail(codes.E206, f"`{entry.name}` is {describe(sort)}, not a function", expr.callee.span)
    params = sort.signature.params
    named = next((a for a in expr.args if a.name is not None), None)
    if named is not None:
        fail(codes.E205, "a function value takes its arguments by position", named.span)
    if len(params) != len(expr.args):
        wanted = count(len(params), "argument")
        type_ = f"its type is `{sort.text}`" if sort.text not in ("", "?") else None
        fail(codes.E205, f"`{entry.name}` takes {wanted}; this call has {len(expr.args)}", expr.span, help=type_)
    given = code.each(partial(arguments.of, code, a.value, p.sort) for a, p in zip(expr.args, params, strict=True))
    args = tuple(core.Arg(a.span, None, v) for a, v in zip(expr.args, given, strict=True))
    callee = entry.at(expr.callee.span)
    assert isinstance(callee, core.Var)
    return core.Call(expr.span, callee, args), sort.signature.result or core.TENSOR


def _load(code: FunctionCode, expr: sweet.Call) -> core.Load:
    if not code.may_load:
        fail(
            codes.E218, "weights are loaded by a const, or by a `let` of the script", expr.span,
            help="`const w : Tensor([n, m], float32) = load(\"weights.safetensors\", \"w\")`",
        )  # fmt: skip
    texts = [a.value.value for a in expr.args if isinstance(a.value, sweet.StrLit) and a.name is None]
    if len(texts) != len(expr.args) or not 1 <= len(texts) <= 2:
        fail(
            codes.E205,
            "load takes a file and the name of a tensor in it",
            expr.span,
            help='`load("w.safetensors", "w")`',
        )
    path = texts[0]
    if code.unit.folder and not isabs(path):
        path = normpath(join(code.unit.folder, path))
    return core.Load(expr.span, path, texts[1] if len(texts) > 1 else None)
