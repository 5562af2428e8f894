"""Core program to callable Python functions: lowered to steps, written as source over NumPy, compiled once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from operator import attrgetter
from time import perf_counter_ns

import numpy as np

from ..lang import core, no_rule
from ..lang.node import Node, replace
from ..ops.model import WILDCARD
from ..sizes.integers import helpers as size_helpers
from . import buffers, guards, stacks
from .dispatch import HELPERS, UNFIT, primitive_value, write_list
from .dps import pair
from .dtypes import numpy_dtype
from .early_checks import EarlyChecks
from .engine_types import Compiled, Namespace, RunValue
from .entry_checks import write_planned, write_routine
from .generated import GeneratedModule
from .kernels import constants
from .kernels.quiet import quiet
from .lower import Lowered, lower
from .names import mangle
from .plan import Planner, Table, planned
from .steps import Routine, outputs
from .tally import Tally
from .text import RoutineText
from .trace import FILENAME, Foreseen

Weights = Callable[[core.Load], RunValue]


class Options(Node):
    """`direct` calls NumPy's functions without a kernel in between, which is right for the plain dtypes; `reuse` lets them
    write into the memory of tensors that are not read any more, and `out` lets all kernels do so. `guard_all` runs every
    precondition and every entry check at every call, as an unsimplified program needs. `ahead` makes the checks that shapes
    decide before any work. `instrument` counts the checks that run and times each function. `dps` allocates results before
    they are computed, by the sizes of a shape program."""

    allow_extern: bool = False
    direct: bool = True
    reuse: bool = True
    out: bool = False
    guard_all: bool = False
    ahead: bool = True
    instrument: bool = False
    dps: bool = False


class ExternError(Exception):
    """The user's Python callable was not found, or raised an exception, which is the cause."""


class CompiledCode:
    """A compiled program: its functions by Rx name. `source` is the generated Python text."""

    def __init__(
        self, unit: GeneratedModule, program: core.Program, options: Options, lowered: Lowered, table: Table
    ) -> None:
        self.options, self.shown = options, lowered.shown
        self.source, sites = unit.text()
        self.tally = unit.tally
        self.times: dict[str, list[int]] = {}
        self.namespace: Namespace = {**unit.globals, **_HELPERS, **size_helpers(), "rx_sites": sites}
        if self.tally is not None:
            self.namespace["ran"] = self.tally.made
        for function in program.functions:
            if function.kind == "extern":
                self.namespace["x_" + mangle(function.name)] = _extern(function, options)
        exec(compile(self.source, FILENAME, "exec"), self.namespace)
        self.ahead = EarlyChecks(lowered.routines, unit.owners, self.namespace)
        if options.instrument:
            self._time_functions(program)
        lists = {i.name: i.choices for i in program.impls}
        self.planner = Planner(table, lowered.routines, lists, self.namespace)

    @property
    def _is_plain(self) -> bool:
        """Whether each check runs at its place."""
        return self.options.guard_all or not self.options.ahead

    def function(self, name: str) -> Compiled:
        """The function as it is called from outside, with its entry check."""
        return self._guarded(name, self.namespace["f_" + mangle(name)])

    def _guarded(self, name: str, function: Callable[..., Compiled]) -> Compiled:
        silent = quiet(function)
        return silent if self._is_plain else self.ahead.guarded(name, silent)

    def admits(self, name: str, args: Sequence[RunValue], *, decided: bool) -> bool:
        """Whether a function's entry check accepts the arguments, and no later check that their shapes decide fails. A list
        has no entry check of its own; a `decided` call has passed it."""
        entry_check = self.namespace.get("d_" + mangle(name))
        try:
            if entry_check is not None and not decided:
                entry_check(*args)
            if not self._is_plain:
                self.ahead.follow(name, args)
        except (*UNFIT, Foreseen, RecursionError):
            return False
        return True

    def behind_entry_check(self, name: str) -> Compiled:
        """The function without its entry check; with it if the entry does more than check."""
        routine = self.planner.routines.named.get(name)
        if routine is None or routine.wrapped or routine.kind == "extern":
            return self.function(name)
        run: Callable[..., Compiled] = self.namespace["b_" + mangle(name)]
        return quiet(run)

    def init(self) -> None:
        """Evaluate the consts; to be called once, before anything else."""
        quiet(self.namespace["consts"])()
        for name, value in self.namespace.items():
            if name.startswith("c_"):
                constants.declare(value)

    def const(self, name: str) -> RunValue:
        return self.namespace["c_" + mangle(name)]

    def main(self) -> Namespace:
        """Run the script; return its names with their values."""
        return dict(zip(self.shown, self._guarded("main", self.namespace["s_main"])(), strict=True))

    def _time_functions(self, program: core.Program) -> None:
        owners = core.owners(program)
        for function in program.functions:
            if function.name in owners:
                continue
            for prefix in ("f_" if function.kind == "private" else "b_", "g_"):
                name = prefix + mangle(function.name)
                if name in self.namespace:
                    self.namespace[name] = _timed(self.namespace[name], self.times.setdefault(function.name, [0, 0]))


_HELPERS: Namespace = {
    **HELPERS,
    "Failed": guards.Failed,
    "WILDCARD": WILDCARD,
    "alloc_buffer": buffers.alloc_buffer,
    "alloc_tensor": buffers.alloc_tensor,
    "as_size": guards.as_size,
    "as_sizes": guards.as_sizes,
    "as_shape": guards.as_shape,
    "buffer_for": stacks.buffer_for,
    "count": itertools.count,
    "owned": stacks.owned,
    "placed": buffers.placed,
    "stacked": stacks.stacked,
}


def compile_program(
    program: core.Program, weights: Weights | None = None, options: Options | None = None, tally: Tally | None = None
) -> CompiledCode:
    """Lower, write and compile a program; this reads its weights and executes nothing. A tally counts its checks."""
    options = options or Options()
    tally = tally or (Tally() if options.instrument else None)
    lowered = lower(program, guard_all=options.guard_all)
    if options.dps:
        lowered = replace(lowered, routines=tuple(pair(routine).data for routine in lowered.routines))
    lists = () if options.guard_all else tuple(i.name for i in program.impls)
    asking = () if options.guard_all else lowered.routines
    table = planned(asking, lists, hosted=options.instrument)
    unit = _write(program, lowered, table, weights or _no_weights, options, tally)
    if unit.direct and (unit.extended or any(f.kind == "extern" for f in program.functions)):
        options = replace(options, direct=False)
        unit = _write(program, lowered, table, weights or _no_weights, options, tally)
    return CompiledCode(unit, program, options, lowered, table)


def _write(
    program: core.Program, lowered: Lowered, table: Table, weights: Weights, options: Options, tally: Tally | None
) -> GeneratedModule:
    functions: dict[str, core.Function | core.Impls] = {f.name: f for f in program.functions}
    functions.update({i.name: i for i in program.impls})
    unit = GeneratedModule(
        functions, direct=options.direct, reuse=options.reuse, out=options.out, tally=tally, hosting=options.instrument
    )
    for slot, value in lowered.constants:
        unit.array(slot, make_tensor(value) if isinstance(value, core.TensorLit) else weights(value))
    _write_consts(unit, lowered.consts)
    for routine in lowered.routines:
        write_routine(unit, routine)
    for asking in table.values():
        write_planned(unit, asking)
    for impls in program.impls:
        write_list(unit, impls)
    unit.finish()
    for name in sorted(unit.primitives):
        unit.globals["p_" + mangle(name)] = primitive_value(unit.row(name))
    return unit


def _write_consts(unit: GeneratedModule, consts: Routine) -> None:
    unit.write(0, "def consts():")
    names = sorted({slot for step in consts.body.steps for slot in outputs(step) if slot.startswith("c_")})
    text = RoutineText(unit, consts.name)
    text.write(f"global {', '.join(names)}" if names else "pass")
    text.locals = {name: name for name in names}
    text.routine(consts.body.steps)


def _no_weights(load: core.Load) -> RunValue:
    raise FileNotFoundError(load.path)


def make_tensor(v: core.TensorLit) -> RunValue:
    made = np.array(v.values, dtype=numpy_dtype(v.dtype)).reshape(v.shape)
    made.flags.writeable = False
    return made


def _timed(function: Callable[..., object], record: list[int]) -> Compiled:
    @wraps(function)
    def timed(*args: object) -> RunValue:
        begin = perf_counter_ns()
        try:
            return function(*args)
        finally:
            record[0] += 1
            record[1] += perf_counter_ns() - begin

    return timed


# Externs


def _extern(function: core.Function, options: Options) -> Compiled:
    """The Python callable behind an extern, looked up at its first call."""
    found: list[Callable[..., Compiled]] = []

    def call(*args: object) -> RunValue:
        missing = no_rule.said(function.target)
        if missing is not None:
            raise ExternError(missing)
        if not options.allow_extern:
            raise ExternError(f"@{function.name} runs Python code of its own: allow it with --allow-extern")
        if not found:
            found.append(resolve(function.target))
        return guarded_call(found[0], str(function.target), args, function.result)

    return call


def guarded_call(
    callee: Callable[..., object], name: str, args: tuple[object, ...], sort: core.Sort | None
) -> RunValue:
    """Call the user's Python code, which may not write into its arguments; return its result, of the given sort, as our own
    arrays."""
    try:
        result = callee(*map(read_only, args))
    except Exception as error:  # noqa: BLE001 - the user's code may raise anything
        raise ExternError(f"{name} raised {type(error).__name__}: {error}") from error
    return _as_result(result, sort)


def read_only(value: object) -> RunValue:
    """The same elements, read-only."""
    if isinstance(value, tuple):
        return tuple(map(read_only, value))
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def resolve(target: str | None) -> Compiled:
    """Return the object at `package.module:callable`; raises ExternError if there is none."""
    if not target:
        raise ExternError("the extern names no Python callable")
    module, _, path = target.partition(":")
    try:
        found: Callable[..., Compiled] = attrgetter(path)(import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise ExternError(f"{target} cannot be found: {error}") from error
    return found


def _as_result(result: object, sort: core.Sort | None) -> RunValue:
    if isinstance(sort, core.TupleSort):
        if not isinstance(result, tuple | list) or len(result) != len(sort.items):
            raise ExternError(f"it returned {_returned(result)}, which is no tuple of {len(sort.items)}")
        return tuple(_as_result(r, s) for r, s in zip(result, sort.items, strict=True))
    if isinstance(result, tuple):
        if sort == core.TENSOR:
            raise ExternError(f"it returned {_returned(result)}, which is no tensor")
        return tuple(_as_result(r, None) for r in result)
    if isinstance(result, np.ma.MaskedArray):
        raise ExternError("it returned a masked array, and a tensor has no mask")
    try:
        made = np.array(result)
    except ValueError:
        raise ExternError(f"it returned {_returned(result)}, which is no tensor") from None
    if made.dtype.kind == "O":
        raise ExternError(f"it returned {_returned(result)}, which is no tensor")
    return made if made.dtype.isnative else made.astype(made.dtype.newbyteorder("="))


def _returned(result: object) -> str:
    if isinstance(result, tuple):
        return f"a tuple of {len(result)}"
    return guards.describe(result) if isinstance(result, np.ndarray | np.generic) else guards.foreign(result)
