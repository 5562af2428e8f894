"""A program whose calls of its own functions are replaced by what those functions say and do, one call at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rxlang.lang import sweet
from rxlang.lang.dtypes import CLASSES, DTYPES
from rxlang.lang.node import Node, replace
from rxlang.lang.parser import parse
from rxlang.lang.source import Source
from rxlang.lang.walk import rewrite, walk

from support.sweet_printer import print_module

WORDS = {"min", "max", "ceildiv", "tensor", "match_shape", "range", "inf", "nan", "dim", *DTYPES, *CLASSES}


class Inlined(NamedTuple):
    """A program without one of its calls: whose body had it, who was called, whether that function says anything of its
    parameters or its result."""

    text: str
    caller: str
    callee: str
    annotated: bool


def inlined(text: str) -> Iterator[Inlined]:
    """A program for each call that is bound to a name or is a result, and whose function can be written there."""
    module, problems = parse(Source("inlined.rx", text))
    if problems:
        return
    functions = {i.name.name: i for i in module.items if isinstance(i, sweet.FnDecl)}
    kept = WORDS | names_outside(module)
    for at, item in enumerate(module.items):
        if not isinstance(item, sweet.FnDecl) or item.fn.body is None or item.prefixes:
            continue
        for body, callee in _without_a_call(item.fn.body, functions, kept):
            changed = replace(item, fn=replace(item.fn, body=body))
            items = (*module.items[:at], changed, *module.items[at + 1 :])
            said = is_annotated(functions[callee].fn)
            yield Inlined(print_module(replace(module, items=items, comments=())), f"@{item.name.name}", callee, said)


def is_annotated(fn: sweet.Fn) -> bool:
    """Whether callers know its result by the annotation alone; else they look into the body."""
    return fn.result is not None and not _says_nothing(fn.result)


def _says_nothing(type_: sweet.Type) -> bool:
    return isinstance(type_, sweet.TensorType) and type_.shape is None and type_.dtype is None


def names_of(tree: Node) -> set[str]:
    return {n.name for n in walk(tree) if isinstance(n, sweet.Name | sweet.Ident)}


def names_outside(module: sweet.Module) -> set[str]:
    """The names that a body has from outside."""
    found = {i.name.name for i in module.items if isinstance(i, sweet.Const | sweet.TypeDecl)}
    for item in module.items:
        if isinstance(item, sweet.Import):
            found.add(item.alias.name if item.alias else re.split(r"[/.]", item.path.value)[-2])
    return found


def _without_a_call(
    body: sweet.Block, functions: dict[str, sweet.FnDecl], kept: set[str]
) -> Iterator[tuple[sweet.Block, str]]:
    taken = names_of(body)
    for i, stmt in enumerate(body.stmts):
        if isinstance(stmt, sweet.Let) and isinstance(stmt.value, sweet.Call):
            found = _of_call(stmt.value, functions, kept, taken)
            if found is not None:
                stmts, value, callee = found
                new = (*body.stmts[:i], *stmts, replace(stmt, value=value), *body.stmts[i + 1 :])
                yield replace(body, stmts=new), callee
    if isinstance(body.result, sweet.Call):
        found = _of_call(body.result, functions, kept, taken)
        if found is not None:
            stmts, value, callee = found
            yield replace(body, stmts=(*body.stmts, *stmts), result=value), callee


def _of_call(
    call: sweet.Call, functions: dict[str, sweet.FnDecl], kept: set[str], taken: set[str]
) -> tuple[tuple[sweet.Stmt, ...], sweet.Expr, str] | None:
    """What stands for a call: the parameters bound, what is asked of them, the body; the result, and who was called."""
    if not isinstance(call.callee, sweet.FnName) or call.callee.name not in functions:
        return None
    decl = functions[call.callee.name]
    fn = decl.fn
    if decl.prefixes or fn.body is None or fn.body.result is None or fn.checks is not None:
        return None
    given = _given(fn, call)
    if given is None or any(_is_number(v) for v in given.values()):
        return None
    names = names_of(fn) - kept
    end = next(e for e in ("_i", "_j", "_h") if not any(f"{n}{e}" in taken for n in names))
    fn = with_names(fn, names, lambda name: f"{name}{end}")
    binds = [_bind(p, given[p.name.name.removesuffix(end)]) for p in fn.params]
    body = fn.body
    assert body is not None and body.result is not None
    asked = [sweet.Assert(call.span, cond, None) for cond in fn.where]
    sizes = sorted(binds, key=lambda b: not isinstance(b.type, sweet.NamedType))
    before = (*sizes, *asked, *body.stmts)
    if not is_annotated(fn):
        return before, body.result, decl.name.name
    out = sweet.Ident(call.span, f"out{end}")
    last = sweet.Let(call.span, (out,), False, fn.result, True, body.result)
    return (*before, last), sweet.Name(call.span, out.name), decl.name.name


def _given(fn: sweet.Fn, call: sweet.Call) -> dict[str, sweet.Expr] | None:
    """The arguments by the parameters; None where one is missing or of a kind that no `let` binds."""
    found: dict[str, sweet.Expr] = {}
    for param, arg in zip(fn.params, call.args, strict=False):
        found[arg.name.name if arg.name is not None else param.name.name] = arg.value
    plain = all(p.type is None or isinstance(p.type, sweet.TensorType) or _is_size(p.type) for p in fn.params)
    return found if plain and found.keys() == {p.name.name for p in fn.params} else None


def _is_size(type_: sweet.Type) -> bool:
    return isinstance(type_, sweet.NamedType) and type_.name in ("Size", "Shape")


def _is_number(value: sweet.Expr) -> bool:
    """A literal takes the dtype that a parameter asks for."""
    return isinstance(value, sweet.IntLit | sweet.FloatLit | sweet.Unary | sweet.FnName | sweet.Lambda)


def _bind(param: sweet.Param, value: sweet.Expr) -> sweet.Let:
    asks = param.type is not None and not _says_nothing(param.type)
    asserting = asks and not isinstance(param.type, sweet.NamedType)
    return sweet.Let(param.span, (param.name,), False, param.type if asks else None, asserting, value)


def with_names(fn: sweet.Fn, names: set[str], other: Callable[[str], str]) -> sweet.Fn:
    """The function with other names for its own; names of arguments and of `.dim` stay."""
    keys = {id(n.name) for n in walk(fn) if isinstance(n, sweet.Arg | sweet.Attr)}

    def new(node: Node) -> Node:
        if isinstance(node, sweet.Name | sweet.Ident) and node.name in names and id(node) not in keys:
            return replace(node, name=other(node.name))
        return node

    return rewrite(fn, new)
