"""The statements of a function in core form to its parts: entry checks, the call of its implementation, promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..lang import codes, core
from .errors import fail
from .symbols import SymbolTable


class FunctionParts(NamedTuple):
    checks: tuple[core.Stmt, ...]
    body: core.Block
    promises: tuple[core.Stmt, ...]
    impl: str | None


def parts(block: core.Block, at: int, symbols: SymbolTable) -> FunctionParts:
    """Split a block after the checks, its first `at` statements: a body follows, or the call of an implementation and
    promises."""
    checks, rest = block.stmts[:at], block.stmts[at:]
    impl = _implementation(rest, symbols)
    if impl is None:
        return FunctionParts(checks, core.Block(block.span, rest, block.result), (), None)
    _check_gives_its_result(rest, block.result, impl)
    return FunctionParts(checks, core.Block(block.span, rest[:1], block.result), rest[1:], impl)


def checks_length(stmts: Sequence[core.Stmt], symbols: SymbolTable) -> int:
    """Count the statements at the front that can be entry checks, or bind names for those."""
    ends = (i for i, s in enumerate(stmts) if not core.may_check(s) or _implementation((s,), symbols))
    return next(ends, len(stmts))


def _implementation(rest: Sequence[core.Stmt], symbols: SymbolTable) -> str | None:
    """Return the name of the private function that the first statement calls."""
    match rest:
        case [core.Let(value=core.Call(callee=core.FnRef(name=name))), *_] if symbols.is_private(name):
            return name
    return None


def _check_gives_its_result(rest: Sequence[core.Stmt], result: core.Value, impl: str) -> None:
    """Check that a wrapper returns its implementation's result, so that its promises hold for that."""
    call, *promises = rest
    assert isinstance(call, core.Let)
    given = isinstance(result, core.Variable) and call.names == (result.name,) and not call.is_tuple
    if not given or not all(map(core.may_check, promises)):
        fail(
            codes.E214, f"after its call of @{impl}, a wrapper only asserts, and gives the result of that call", call.span,
            help=f"`let out = @{impl}(...)`, then the assertions, then `out`",
        )  # fmt: skip
