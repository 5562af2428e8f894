"""Modules of the sweet tree to text, to be parsed again: nothing in the product prints a whole file."""

from __future__ import annotations

from typing import assert_never

from rxlang.lang import sweet
from rxlang.lang.formatter import format_source
from rxlang.lang.printer import print_expr, print_fn, print_stmt, print_type
from rxlang.lang.source import Source


def print_module(module: sweet.Module) -> str:
    """The items in canonical layout. Comments are not printed."""
    plain = "".join(print_item(item) + "\n;\n" for item in module.items)
    text, _ = format_source(Source("<printed>", plain))
    return plain if text is None else text


def print_item(item: sweet.Item) -> str:
    match item:
        case sweet.Import():
            alias = f" as {item.alias.name}" if item.alias else ""
            return f"import {print_expr(item.path)}{alias}"
        case sweet.FnDecl():
            return _function(item)
        case sweet.Gradient():
            wrt = ", ".join(name.name for name in item.wrt)
            return f"@{item.name.name} = {item.kind} @{item.of.name} wrt {wrt}"
        case sweet.Const():
            annotation = f" : {print_type(item.type)}" if item.type else ""
            return f"const {item.name.name}{annotation} = {print_expr(item.value)}"
        case sweet.TypeDecl():
            params = f"({', '.join(p.name for p in item.params)})" if item.params else ""
            return f"type {item.name.name}{params} = {print_type(item.type)}"
        case sweet.Impls():
            return f"@{item.name.name} = [{', '.join('@' + choice.name for choice in item.choices)}]"
        case sweet.Let() | sweet.Assert() | sweet.ExprStmt():
            return print_stmt(item)
        case _:
            assert_never(item)


def _function(item: sweet.FnDecl) -> str:
    prefixes = "".join(prefix + " " for prefix in item.prefixes)
    target = f" = {print_expr(item.target)}" if item.target else ""
    return f"{prefixes}@{item.name.name} = {print_fn(item.fn)}{target}"
