"""The program that is checked: its functions by name, what callers see of each, the names that are taken."""

from __future__ import annotations

from collections.abc import Callable

from ..lang import core
from ..lang.walk import walk
from ..ops.model import Primitive, TensorInfo
from .known.values import Env

Check = core.Assert | core.MatchShape


class Program:
    """The program's functions by name, its primitives, its consts; what walkers of all functions share."""

    def __init__(
        self,
        core_program: core.Program,
        lookup: Callable[[str], Primitive | None],
        header: Callable[[core.Load], TensorInfo | None],
    ) -> None:
        self.functions = {f.name: f for f in core_program.functions}
        self.impls = {i.name: i for i in core_program.impls}
        self.lookup = lookup
        self.header = header
        self.consts: Env = {}
        # What a script prints has names there, written or not.
        self.printed = frozenset(core_program.script)
        # Every name of the program: those that simplification makes are none of them.
        self.taken = _names_in(core_program)
        # The name that somebody wants explained: what is bound in an arm is explained while its facts hold.
        self.explained: str | None = None

    def implementation(self, wrapper: core.Function) -> core.Function | None:
        """The private function that a wrapper calls for its result, if it has one."""
        return self.functions.get(wrapper.impl) if wrapper.impl is not None else None

    def is_opaque(self, wrapper: core.Function) -> bool:
        """Whether callers know the result only by its annotation."""
        return wrapper.impl is not None or is_signature(wrapper)


def _names_in(program: core.Program) -> frozenset[str]:
    """Every name that a program binds, but in the annotations of function parameters."""
    found: set[str] = {c.name for c in program.consts}
    for node in walk(program.functions, program.main, without=lambda node: isinstance(node, core.FnSort)):
        if isinstance(node, core.Function | core.Lambda):
            found.update(p.name for p in node.params)
        elif isinstance(node, core.Let | core.MatchShape):
            found.update(core.bound_names(node))
    return frozenset(found)


def is_signature(function: core.Function) -> bool:
    """Whether it stands for a function parameter: its body is a call of the parameter itself."""
    match function.body.stmts:
        case (core.Let(value=core.Call(callee=core.Var(name=name))),):
            return name == function.name
    return False
