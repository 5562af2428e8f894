"""From core functions to routines: every name has a slot, every call is a step of its own, in execution order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..lang import core
from ..lang.node import Node
from ..lang.source import NOWHERE
from .last_use import released
from .routine import Constant, Lowering, ProgramTable
from .steps import RESULT, Routine


class Lowered(Node):
    """A program as routines. `consts` computes the consts; `constants` are the slots of tensors that exist before the run;
    the script, if there is one, returns the values of the names `shown`, in order."""

    consts: Routine
    routines: tuple[Routine, ...]
    constants: tuple[tuple[str, Constant], ...]
    shown: tuple[str, ...]


def lower(program: core.Program, *, guard_all: bool = False) -> Lowered:
    """Lower every function, the script and the consts; with `guard_all` every precondition is checked and no step left
    out."""
    table = ProgramTable(program, guard_all)
    consts = _consts(table, program.consts)
    # An implementation comes before its wrapper, which returns the same result.
    order = dict.fromkeys(name for f in program.functions for name in (f.impl, f.name) if name in table.functions)
    made = {name: _function(table, table.functions[name]) for name in order}
    routines = [made[f.name] for f in program.functions]
    shown: tuple[str, ...] = ()
    if program.main is not None:
        script, shown = _script(table, program.main, program.script)
        routines.append(script)
    return Lowered(consts, tuple(routines), tuple(table.constants.values()), shown)


def _function(program: ProgramTable, fn: core.Function) -> Routine:
    lowering = Lowering(program, fn.name, [p.name for p in fn.params])
    params = tuple(lowering.slots.of(p.name) for p in fn.params)
    lowering.slots.learn(params, [p.known for p in fn.params])
    lowering.extern = fn if fn.kind == "extern" else None
    lowering.statements(fn.checks)
    entry, lowering.steps = tuple(lowering.steps), []
    functions = [p for p in fn.params if isinstance(p.sort, core.FnSort) and fn.kind != "private"]
    wrapped = tuple(lowering.wrapper(fn.span, p) for p in functions)
    lowering.statements((*fn.body.stmts, *fn.promises), fn.body.result)
    body, in_rows = lowering.finished(fn.body.result)
    if RESULT in in_rows:
        program.makers.add(fn.name)
    return Routine(fn.name, fn.span, fn.kind, params, entry, body, wrapped, lowering.slots.known)


def _script(program: ProgramTable, main: core.Function, shown: Sequence[str]) -> tuple[Routine, tuple[str, ...]]:
    """Lower the script, which returns a tuple of the shown names' values; these names are returned too."""
    lowering = Lowering(program, main.name, ())
    lowering.statements(main.body.stmts)
    bound = tuple(n for n in shown if lowering.slots.scope.find(n) is not None)
    values = core.TupleValue(main.span, tuple(core.Var(main.span, n) for n in bound))
    return Routine(
        main.name, main.span, "script", (), (), lowering.finished(values)[0], (), lowering.slots.known
    ), bound


def _consts(program: ProgramTable, consts: Iterable[core.ConstDef]) -> Routine:
    """Lower the consts and their checks; every other routine sees their slots."""
    lowering = Lowering(program, "const", ())
    lowering.slots.scope.stem = "c_"
    for const in consts:
        lowering.let(core.Let(const.span, (const.name,), False, const.sort, const.value))
        lowering.statements(const.checks)
        bound = (const.name, *(n for stmt in const.checks for n in core.bound_names(stmt)))
        slots = {n: lowering.slots.scope.names[n] for n in bound if n in lowering.slots.scope.names}
        lowering.slots.held.update(slots.values())
        program.consts.update(slots)
    return Routine("const", NOWHERE, "private", (), (), released(lowering.block(), lowering.slots.held, keep=True))
