"""The conditions under which a checked core program chooses a plan, a branch or an implementation.

Choices that the checker has made are absent: a decided branch is gone from the program, a decided call names the member.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from . import core
from .core_printer import print_expr, print_stmt
from .source import Placed, Span
from .walk import walk


class Choice(Placed):
    """`chosen` is taken if the condition holds: a plan of a function, an arm, a member of a list."""

    kind: str
    function: str
    condition: str
    chosen: str


def choices(program: core.Program) -> Iterator[Choice]:
    """The choices in the order of the program: for each function its plans, then those in its body; last the choices of lists
    that are called from outside."""
    owners = core.owners(program)
    functions = {f.name: f for f in program.functions}
    lists = {i.name: i for i in program.impls}
    whole = (*program.functions, *((program.main,) if program.main is not None else ()))
    for function in whole:
        shown = "@" + owners.get(function.name, function.name)
        if function.kind != "private" and function is not program.main:
            yield from _plans(function)
        for node in walk(function.body, function.promises):
            if isinstance(node, core.If):
                yield _branch(shown, node)
            elif isinstance(node, core.Call) and node.callee.name in lists:
                yield from _members(shown, node.span, lists[node.callee.name], functions)
    for impls in program.impls:
        yield from _members("@" + impls.name, impls.span, impls, functions)


def _plans(function: core.Function) -> Iterator[Choice]:
    name = "@" + function.name
    parts = [part for param in function.params for part in _class(param)]
    yield Choice(function.span, "plan", name, f"the same {', '.join(parts) or 'call'}", f"the plan of {name}")
    for check in function.checks:
        if not isinstance(check, core.Let):
            yield Choice(check.span, "plan", name, _condition(check), f"a plan of {name}")


def _class(param: core.Param) -> tuple[str, ...]:
    """The properties of an argument that a plan depends on."""
    if isinstance(param.sort, core.FnSort):
        return ()
    return (f"{param.name}.shape", f"{param.name}.dtype") if param.sort == core.TENSOR else (param.name,)


def _branch(function: str, node: core.If) -> Choice:
    return Choice(node.cond.span, "branch", function, print_expr(node.cond), "the first arm")


def _members(function: str, place: Span, impls: core.Impls, functions: Mapping[str, core.Function]) -> Iterator[Choice]:
    for choice in impls.choices:
        own = functions.get(choice)
        checks = [_condition(c) for c in own.checks if not isinstance(c, core.Let)] if own is not None else []
        name = "@" + choice.removeprefix("prelude.")
        condition = " && ".join(checks) if own is not None else f"the preconditions of {name}"
        yield Choice(place, "implementation", function, condition or "true", f"{name} for @{impls.name}")


def _condition(check: core.Stmt) -> str:
    """The condition of an assertion, as core text."""
    if isinstance(check, core.Assert):
        text = print_expr(check.cond)
        return f"({text})" if isinstance(check.cond, core.Logic) and check.cond.op == "||" else text
    return print_stmt(check)
