"""Functions as values: the annotation of a function parameter, and `fn(x : t) : t { ... }`."""

from __future__ import annotations

from collections.abc import Iterator

from ..lang import codes, core, sweet
from ..lang.printer import print_signature, print_type
from . import patterns, shapes
from .annotations import leaves
from .binding import AnnotatedTensor
from .code import FunctionCode, spelled
from .core_form import checks_length
from .errors import Broken, fail
from .scope import SHAPE_SORTS, Scope, identifiers
from .sorts import expand, in_core, says_nothing, sort_of, written
from .statements import before_result, block_result, statements
from .type_names import all_names


def fn_names(type_: sweet.FnType) -> Iterator[sweet.Name]:
    for part in (*type_.params, type_.result):
        if isinstance(part, sweet.FnType):
            yield from fn_names(part)
        else:
            yield from all_names(part)


def function_sort(code: FunctionCode, type_: sweet.FnType, name: str, subject: core.Called) -> core.FnSort:
    """Return a function parameter's annotation as a function without a body: its checks are conditions on arguments, its
    promises conditions on the result."""
    inner = FunctionCode(code.unit, code.function, {name, *identifiers(type_)}, code.hooks)
    inner.scope = Scope(code.scope)
    params: list[core.Param] = []
    found: list[AnnotatedTensor] = []
    for i, part in enumerate(type_.params):
        param = inner.fresh(f"x{i}")
        params.append(core.Param(param, sort_of(part)))
        found += leaves(inner, param, part, "param", core.Called("", subject, i), part.span, i)
    patterns.solve(inner, found, named=False)
    for i, part in enumerate(type_.params):
        if isinstance(part, sweet.FnType):
            called = core.Called("", subject, i)
            params[i] = core.Param(params[i].name, function_sort(inner, part, params[i].name, called))
    checks, inner.stmts = tuple(inner.stmts), []
    span = type_.span
    sort = sort_of(type_.result)
    out = inner.fresh("out")
    args = tuple(core.Arg(span, None, core.variable(span, p.name, p.sort)) for p in params)
    call = core.Call(span, core.Var(span, name), args)
    asked = core.Let(span, (out,), False, sort if sort in SHAPE_SORTS else None, call)
    results = leaves(inner, out, type_.result, "result", core.Called("", subject), type_.result.span)
    patterns.solve(inner, results, named=False, kind="existential")
    if inner.failed:
        raise Broken
    body = core.Block(span, (asked,), core.variable(span, out, sort))
    text, promises = print_type(in_core(code, type_)), tuple(inner.stmts)
    function = core.Function(span, "inline", name, tuple(params), sort, checks, body, promises, signature=text)
    return core.FnSort(text, function)


def lambda_(code: FunctionCode, expr: sweet.Lambda, asked: core.FnSort | None = None) -> tuple[core.Value, core.Sort]:
    """Translate `fn(x : t) : t { ... }`: its checks precede its body, those of its result follow it. If its place asks for a
    function, a parameter without a type takes the sort of that function's parameter."""
    fn = expr.fn
    with code.block() as stmts:
        params = _lambda_params(code, fn, () if asked is None else asked.signature.params)
        body = fn.body
        assert body is not None
        type_ = None if fn.result is None else expand(code.unit, fn.result)
        want = None if type_ is None else sort_of(type_)
        aside = code.aside(type_, (n for s in body.stmts if isinstance(s, sweet.Let) for n in s.names))
        fine = statements(code, before_result(body))
        result, sort = block_result(code, body, want, None if fn.result is None else expand(code.unit, fn.result))
        if not fine:
            raise Broken
        if type_ is not None and not says_nothing(type_) and sort not in SHAPE_SORTS:
            with code.where(aside):
                result = _promise(code, type_, result, fn)
    at = checks_length(stmts, code.symbols)
    checks, made = tuple(stmts[:at]), core.Block(body.span, tuple(stmts[at:]), result)
    function = core.Function(expr.span, "inline", "fn", params, sort, checks, made)
    return core.Lambda(expr.span, params, want, checks, made), core.FnSort(print_signature(fn), function)


def _lambda_params(code: FunctionCode, fn: sweet.Fn, asked: tuple[core.Param, ...]) -> tuple[core.Param, ...]:
    types = [None if p.type is None else expand(code.unit, p.type) for p in fn.params]
    if len(asked) == len(types):
        types = [written(a.sort, p) if t is None else t for p, t, a in zip(fn.params, types, asked, strict=True)]
    params: list[core.Param] = []
    found: list[AnnotatedTensor] = []
    for i, param in enumerate(fn.params):
        if param.default is not None:
            fail(codes.E221, "a function value has no defaults", param.default.span)
        type_ = types[i]
        core_name = code.bind(param.name, sort_of(type_), "param")
        params.append(core.Param(core_name, sort_of(type_)))
        if type_ is not None and param.type is not None:
            found += leaves(code, core_name, type_, "param", core.Called(param.name.name), param.type.span, i)
    patterns.solve(code, found, named=True)
    for i, param in enumerate(fn.params):
        type_ = types[i]
        if isinstance(type_, sweet.FnType):
            params[i] = core.Param(
                params[i].name, function_sort(code, type_, params[i].name, core.Called(param.name.name))
            )
    for condition in fn.where:
        cond = shapes.condition(code, condition)
        origin = core.Origin(condition.span, "where", True, None, None, spelled(condition.span))
        code.emit(core.Assert(condition.span, cond, None, origin))
    if code.take_failure():
        raise Broken
    return tuple(params)


def _promise(code: FunctionCode, type_: sweet.Type, result: core.Value, fn: sweet.Fn) -> core.Value:
    """Return the result of a function value, with the assertions of its annotation."""
    out = code.fresh("out")
    code.emit(core.Let(result.span, (out,), False, None, result))
    assert fn.result is not None
    found = leaves(code, out, type_, "result", core.Called("", core.NAMELESS), fn.result.span)
    patterns.solve(code, found, named=False, kind="existential")
    return core.Var(result.span, out)
