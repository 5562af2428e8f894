"""Where a wrapper's door ends: the checks of its parameters, with the sizes that are named in them."""

from __future__ import annotations

from ..lang import core
from ..lang.source import Span
from .scope import SHAPE_SORTS
from .world import World


def is_door(stmt: core.Stmt, world: World) -> bool:
    """Whether a statement can belong to a door: it asserts, or names a shape-level value."""
    match stmt:
        case core.Assert() | core.MatchShape():
            return True
        case core.Let() if stmt.is_tuple:
            return isinstance(stmt.value, core.Var)
        case core.Let():
            return stmt.sort in SHAPE_SORTS and not _calls_implementation(stmt.value, world)
    return False


def _calls_implementation(value: core.Value, world: World) -> bool:
    if not isinstance(value, core.Call) or not isinstance(value.callee, core.FnRef):
        return isinstance(value, core.If)
    return world.is_private(value.callee.name)


def door_length(stmts: tuple[core.Stmt, ...], world: World) -> int:
    """The longest prefix of a core function's body that can be its door."""
    return next((i for i, s in enumerate(stmts) if not is_door(s, world)), len(stmts))


def separator(span: Span) -> core.Stmt:
    """`()` ends a door where the body begins with something that looks like one."""
    return core.ExprStmt(span, core.TupleValue(span, ()))
