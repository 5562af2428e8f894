"""A call in another library's words to the call of Rx that it certainly means, with which checking continues."""

from __future__ import annotations

from ..lang import sweet
from ..lang.diagnostics import Label
from ..lang.dtypes import DTYPES
from ..lang.node import replace
from ..ops import elsewhere
from ..ops.elsewhere_args import LISTS, is_spread, parameters
from ..ops.model import PrimitiveParam
from ..ops.registry import lookup
from .code import FunctionCode

_TRUTHS = {"True": True, "False": False}


def instead(code: FunctionCode, call: sweet.Call) -> sweet.Call | None:
    """Return `@concat([x, y], axis=0)` for `@cat([x, y], dim=0)`, `@relu(x)` for `x.relu()`, `F.relu(x)` and `relu(x)`; None
    if it may stand for something else."""
    name, of = _called(code, call.callee)
    of_method = bool(of) and elsewhere.another(name, "x") is not None
    ours = elsewhere.primitives(name) if elsewhere.otherwise(name) is None and not of_method else ()
    row = lookup(ours[0]) if len(ours) == 1 and elsewhere.is_sure(name) else None
    if row is None or name in elsewhere.PLACES or code.symbols.lookup(row.name) is None:
        return None
    first = [sweet.Arg(e.span, None, e) for e in of]
    given = [replace(a, value=_said(code, a.value)) for a in call.args]
    named = [_renamed(a, row.params) for a in given if a.name is not None and not elsewhere.is_left_out(a.name.name)]
    order = elsewhere.order(name, row.params)[len(first) :]
    args = (*first, *_by_position(call, [a for a in given if a.name is None], order), *named)
    return sweet.Call(call.span, sweet.FnName(call.callee.span, row.name), args)


def renamed(call: sweet.Call, meant: sweet.Call) -> tuple[Label, ...]:
    """Return labels with the Rx names of a call's keywords."""
    ours = {a.span: a.name.name for a in meant.args if a.name is not None}
    theirs = [(a.name, ours.get(a.span)) for a in call.args if a.name is not None]
    return tuple(Label(name.span, f"`{our}` here") for name, our in theirs if our not in (None, name.name))


def _called(code: FunctionCode, callee: sweet.Expr) -> tuple[str, tuple[sweet.Expr, ...]]:
    """Return the callee's name, and the tensor whose method it is."""
    match callee:
        case sweet.FnName(name=name):
            return name.rpartition(".")[2], ()
        case sweet.Attr(value=value, name=sweet.Ident(name=name)):
            return name, () if _is_library(code, value) else (value,)
        case _:
            return getattr(callee, "name", ""), ()


def _is_library(code: FunctionCode, value: sweet.Expr) -> bool:
    while isinstance(value, sweet.Attr):
        value = value.value
    return isinstance(value, sweet.Name) and value.name in elsewhere.LIBRARIES and code.scope.find(value.name) is None


def _by_position(call: sweet.Call, args: list[sweet.Arg], order: list[PrimitiveParam]) -> list[sweet.Arg]:
    at = next((i for i, p in enumerate(order) if p.kind in LISTS), len(order))
    if is_spread(order[at:], len(order), [a.value for a in args][at:], len(args)):
        listed = sweet.ListExpr(call.span, tuple(a.value for a in args[at:]))
        return [*args[:at], sweet.Arg(call.span, None, listed)]
    return args


def _renamed(arg: sweet.Arg, params: tuple[PrimitiveParam, ...]) -> sweet.Arg:
    found = parameters(arg.name.name, arg.value, params) if arg.name is not None else ()
    return replace(arg, name=sweet.Ident(arg.span, found[0])) if len(found) == 1 else arg


def _said(code: FunctionCode, expr: sweet.Expr) -> sweet.Expr:
    """Return `True` and dtypes as Rx writes them."""
    if isinstance(expr, sweet.Name) and expr.name in _TRUTHS and code.scope.find(expr.name) is None:
        return sweet.BoolLit(expr.span, _TRUTHS[expr.name])
    dtype = expr.span.text.strip("\"'").rpartition(".")[2]
    is_dtype = dtype in DTYPES and (
        isinstance(expr, sweet.StrLit) or isinstance(expr, sweet.Attr) and _is_library(code, expr.value)
    )
    return sweet.Name(expr.span, dtype) if is_dtype else expr
