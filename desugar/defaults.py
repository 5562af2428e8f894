"""Defaults of parameters, checked where they are declared: each is literal and fits the parameter's annotation."""

from __future__ import annotations

from collections.abc import Set

from ..lang import codes, core, sweet
from ..lang.dtypes import DTYPES, DType, dtype_named
from . import arguments
from .code import FunctionCode, spelled
from .errors import count, fail
from .literals import fit
from .sorts import expand
from .spelt import names_in
from .symbols import ParamInfo
from .type_names import shape_of


def check(code: FunctionCode, declared: sweet.Param, param: ParamInfo, signature: Set[str]) -> core.Value | None:
    """Return the value of a default, if there is one; raise an error if no call with it could be right. `code` has none of
    the names in the function's `signature`."""
    default = declared.default
    if default is None or param.sort is None:
        return None
    _refuse_names(code, default, param, signature)
    value = arguments.of_sort(code, default, param).value
    if not _is_literal(value):
        fail(codes.E220, f"the default of `{param.name}` has to be literal", default.span)
    if param.sort == core.TENSOR and declared.type is not None:
        type_ = expand(code.unit, declared.type)
        _check_dtype(value, default, _dtype(type_))
        if isinstance(type_, sweet.TensorType | sweet.NamedType):
            _check_shape(value, default, declared, shape_of(type_) if isinstance(type_, sweet.TensorType) else None)
    return value


def _refuse_names(code: FunctionCode, default: sweet.Expr, param: ParamInfo, signature: Set[str]) -> None:
    """Reject `h : Size = d // 2`, which depends on a call's arguments."""
    own = (name for name in names_in(default) if name in signature and name not in DTYPES)
    named = next((name for name in own if code.scope.find(name) is None), None)
    if named is not None:
        shown = spelled(default.span)
        fail(
            codes.E220,
            f"the default of `{param.name}` has to be literal, and only a call tells what `{named}` is",
            default.span,
            help=f"write `{shown}` in place of `{param.name}`, or leave the default out: then each call says it",
        )


def _is_literal(value: core.Value | core.Splice) -> bool:
    if isinstance(value, core.ShapeLit):
        return all(isinstance(d, core.SizeLit) for d in value.dims)
    if isinstance(value, core.TupleValue):
        return all(map(_is_literal, value.items))
    return isinstance(value, core.SizeLit | core.DTypeLit | core.BoolConst | core.Number | core.TensorLit | core.FnRef)


def _dtype(type_: sweet.Type) -> DType | None:
    """Return the dtype that an annotation names."""
    match type_:
        case sweet.NamedType(name=name):
            return dtype_named(name)
        case sweet.TensorType(dtype=sweet.Name(name=name)):
            return DTYPES.get(name)
    return None


def _check_dtype(value: core.Value, default: sweet.Expr, asked: DType | None) -> None:
    if asked is None:
        return
    if isinstance(value, core.Number):
        fit(value.value, default, asked)
    elif isinstance(value, core.TensorLit) and value.dtype != asked:
        fail(
            codes.E211,
            f"the default is {value.dtype}, the parameter {asked}",
            default.span,
            help=f"`tensor(..., {asked})`",
        )


def _check_shape(value: core.Value, default: sweet.Expr, declared: sweet.Param, shape: sweet.Expr | None) -> None:
    """Compare ranks, and sizes that are numbers; sizes that are names are compared at each call."""
    own = value.shape if isinstance(value, core.TensorLit) else ()
    items = shape.items if isinstance(shape, sweet.ListExpr) else None
    if isinstance(declared.type, sweet.NamedType) and declared.type.name in DTYPES:
        items = ()
    if items is None:
        return
    fixed = [i for i in items if not isinstance(i, sweet.Splice | sweet.Dots)]
    if len(own) < len(fixed) or (len(fixed) == len(items) and len(own) != len(items)):
        wanted = (
            f"{'at least ' if len(fixed) < len(items) else ''}{count(len(fixed), 'axis' if len(fixed) == 1 else 'axe')}"
        )
        message = f"`{declared.name.name}` has {wanted}, and its default `{spelled(default.span)}` has {len(own)}"
        fail(codes.E211, message, default.span, help="`x : Tensor([], d) = 1` or `x : float32 = 1` takes a number")
    for item, size in zip(items, own, strict=False):
        if isinstance(item, sweet.Splice | sweet.Dots):
            break
        if isinstance(item, sweet.IntLit) and item.value != size:
            fail(codes.E211, f"this axis is {item.value}, and {size} in the default", item.span)
