"""Functions as their callers see them: the sorts of parameters and results, known before any body is read."""

from __future__ import annotations

from ..lang import codes, core, sweet
from ..lang.diagnostics import RxError
from ..lang.printer import print_expr, print_signature
from ..lang.walk import depth
from .errors import fail
from .sorts import expand, is_bare, says_nothing, sort_of
from .symbols import FnInfo, ParamInfo, SymbolTable

MAX_DEPTH = 150


def signature(decl: sweet.FnDecl) -> str:
    """Return the signature on one line: `@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32)`, with its
    `where`."""
    where = f" where {', '.join(map(print_expr, decl.fn.where))}" if decl.fn.where else ""
    return f"@{decl.name.name} = {print_signature(decl.fn)}{where}"


def declare(symbols: SymbolTable) -> None:
    """Record what callers need to know of each function: the sorts of its parameters and result, and its implementation's
    name."""
    for unit in symbols.units:
        for info in unit.fns.values():
            if not symbols.wants(info.decl):
                continue
            try:
                _declare(info)
            except RxError as problem:
                symbols.report(problem)
                info.state = "broken"
                info.params = tuple(ParamInfo(p.name.name, None, p.default) for p in info.decl.fn.params)


def _declare(info: FnInfo) -> None:
    decl, unit = info.decl, info.unit
    _check_form(info)
    if depth(decl) > MAX_DEPTH:
        fail(
            codes.E223, f"@{decl.name.name} is nested too deeply", decl.name.span, help="name the inner parts by `let`"
        )
    params = []
    for param in decl.fn.params:
        type_ = None if param.type is None else expand(unit, param.type)
        params.append(ParamInfo(param.name.name, sort_of(type_), param.default))
    info.params = tuple(params)
    result = None if decl.fn.result is None else expand(unit, decl.fn.result)
    info.result = None if result is None else sort_of(result)
    if info.form == "extern" and info.result is None:
        info.result = core.TENSOR
    if info.form != "sweet":
        _check_bare(info)
    info.split = info.form == "sweet" and not says_nothing(result) and not isinstance(result, sweet.FnType)
    if info.split or (info.form == "extern" and decl.fn.body is None):
        plain = info.name.rstrip("'")
        info.impl = info.name.replace(plain, f"{plain}_impl")  # `'` occurs only at the end of a name
        while info.impl in unit.symbols.names:
            info.impl += "'"
        unit.symbols.names.add(info.impl)


def _check_form(info: FnInfo) -> None:
    decl = info.decl
    name = decl.name
    if "prim" in decl.prefixes:
        fail(
            codes.E221,
            "`prim` declares the built-in functions; a program has none",
            name.span,
            help="`extern` calls Python",
        )
    if len(decl.prefixes) > 1:
        fail(codes.E214, f"@{name.name} cannot be both {' and '.join(decl.prefixes)}", name.span)
    _check_parts(decl)
    if info.form == "extern":
        return
    if decl.target is not None:
        fail(
            codes.E221, "only an `extern` has a Python callable", decl.target.span, help=f"`extern @{name.name} = ...`"
        )
    if decl.fn.body is None:
        fail(
            codes.E221, f"@{name.name} has no body", name.span,
            help='it stands in braces: `fn(x : T) : T { ... }`; an `extern` has `= "package.module:callable"`',
        )  # fmt: skip


def _check_parts(decl: sweet.FnDecl) -> None:
    """Check a function with two blocks: the checks of an `inline` function, and its body."""
    checks = decl.fn.checks
    if checks is None:
        return
    if decl.prefixes != ("inline",):
        fail(codes.E214, "only an `inline` function has its checks in a block of their own", checks.span)
    if checks.result is not None:
        fail(codes.E214, "the checks of a function have no result", checks.result.span)


def _check_bare(info: FnInfo) -> None:
    """Check that a function in core form has bare types: its invariants are in its body."""
    if info.form == "extern" and info.decl.fn.body is None:
        return
    types = [p.type for p in info.decl.fn.params if p.type is not None]
    for type_ in (*types, *((info.decl.fn.result,) if info.decl.fn.result else ())):
        if not is_bare(expand(info.unit, type_)):
            fail(
                codes.E214, f"@{info.decl.name.name} is {info.form}: its types have to be bare", type_.span,
                help="write `Tensor` and assert its shape and dtype, or leave the prefix out",
            )  # fmt: skip
    if info.decl.fn.where:
        fail(codes.E214, f"@{info.decl.name.name} is {info.form}: assert its conditions", info.decl.fn.where[0].span)
