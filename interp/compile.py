"""Core program to callable Python functions: generated source over NumPy, compiled once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from time import perf_counter_ns
from types import TracebackType
from typing import Any

import numpy as np

from ..lang import core
from ..lang.node import Node, replace
from ..ops.model import WILDCARD, Primitive
from . import guards
from .entry_checks import write_function
from .kernels import registry as kernels
from .names import mangle
from .source import FunctionWriter
from .unit import Site, Unit

FILENAME = "<rx>"
Weights = Callable[[core.Load], Any]


class Options(Node):
    """`direct` calls NumPy's functions without a kernel in between, which is right for the plain dtypes. `guard_all` runs
    every precondition and every door, as an unsimplified program needs. `instrument` counts the checks that run and takes
    the time of each function."""

    allow_extern: bool = False
    direct: bool = True
    guard_all: bool = False
    instrument: bool = False


class ExternError(Exception):
    """The user's own Python callable could not be found, or raised; the cause is the exception that it raised."""


class Frame(Node):
    """One line of the program that was being executed, and the Python locals there. `function` and `callee` are what the
    user calls the function that it stands in and the one that it calls."""

    site: Site
    locals: Mapping[str, Any]
    function: str
    callee: str


class Code:
    """A compiled program: its functions by Rx name. `source` is the generated Python text."""

    def __init__(self, unit: Unit, program: core.Program, options: Options) -> None:
        self.program = program
        self.owners = core.owners(program)
        self.options = options
        self.source, self.sites = unit.text()
        self.namespace: dict[str, Any] = {**unit.globals, **_HELPERS, "rx_code": self}
        self.ran = [0]
        self.times: dict[str, list[int]] = {}
        self.namespace["ran"] = self.ran
        for name, function in unit.externs.items():
            self.namespace["x_" + mangle(name)] = _extern(function, options)
        exec(compile(self.source, FILENAME, "exec"), self.namespace)
        if options.instrument:
            self._time_functions(program)

    def function(self, name: str) -> Callable[..., Any]:
        """The function as it is called from outside: with its door."""
        return self._quietly(self.namespace["f_" + mangle(name)])

    def _quietly(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """NumPy's own functions warn of infinities and the like, kernels do not; what calls the first is silenced once."""
        silent = any(name.startswith("np_") for name in self.namespace)
        return np.errstate(all="ignore")(function) if silent else function

    def init(self) -> None:
        """Evaluate the consts; to be called once, before anything else."""
        self._quietly(self.namespace["consts"])()

    def const(self, name: str) -> Any:
        return self.namespace["c_" + mangle(name)]

    def main(self) -> dict[str, Any]:
        """Run the script; its names with their values."""
        result: dict[str, Any] = self._quietly(self.namespace["script"])()
        return result

    def _time_functions(self, program: core.Program) -> None:
        for function in program.functions:
            if function.name in self.owners:
                continue
            name = ("f_" if function.kind == "private" else "b_") + mangle(function.name)
            self.namespace[name] = _timed(self.namespace[name], self.times.setdefault(function.name, [0, 0]))


_HELPERS: dict[str, Any] = {
    "Failed": guards.Failed,
    "WILDCARD": WILDCARD,
    "as_size": guards.as_size,
    "as_sizes": guards.as_sizes,
    "ceildiv": guards.ceildiv,
    "exact": guards.exact,
    "floor": guards.floor,
    "modulo": guards.modulo,
}


def compile_program(program: core.Program, weights: Weights | None = None, options: Options | None = None) -> Code:
    """Generate and compile; nothing of the program is executed but the reading of its weights."""
    options = options or Options()
    unit = _write(program, weights or _no_weights, options)
    if unit.direct and (unit.extended or unit.externs):
        options = replace(options, direct=False)
        unit = _write(program, weights or _no_weights, options)
    return Code(unit, program, options)


def _write(program: core.Program, weights: Weights, options: Options) -> Unit:
    unit = Unit(
        program, direct=options.direct, guard_all=options.guard_all, count_checks=options.instrument
    )  # fmt: skip
    unit.globals["weights"] = weights
    _write_consts(unit, program)
    for function in program.functions:
        write_function(unit, function)
    if program.main is not None:
        _write_script(unit, program, program.main)
    for impls in program.impls:
        _write_impls(unit, impls)
    unit.finish()
    for name in sorted(unit.primitives):
        unit.globals["p_" + mangle(name)] = _primitive_value(unit.row(name))
    return unit


def _no_weights(load: core.Load) -> Any:
    raise FileNotFoundError(load.path)


def _write_consts(unit: Unit, program: core.Program) -> None:
    unit.write(0, "def consts():")
    writer = FunctionWriter(unit, "const", (), 1)
    if not program.consts:
        writer.write("pass")
    for const in program.consts:
        writer.let(core.Let(const.span, (const.name,), False, const.sort, const.value))
        writer.statements(const.checks)
        for name in (const.name, *(n for s in const.checks for n in core.bound_names(s))):
            unit.consts.add(name)
            writer.write(f"global c_{mangle(name)}; c_{mangle(name)} = {writer.local(name)}")


def _write_script(unit: Unit, program: core.Program, main: core.Function) -> None:
    unit.write(0, "def script():")
    writer = FunctionWriter(unit, main.name, (), 1)
    writer.statements(main.body.stmts)
    shown = [n for n in program.script if writer.scope.find(n) is not None]
    pairs = ", ".join(f"{n!r}: {writer.local(n)}" for n in shown)
    writer.write(f"return {{{pairs}}}")


def _write_impls(unit: Unit, impls: core.Impls) -> None:
    """Try the doors in order; the last implementation's door blames the caller."""
    unit.write(0, f"def f_{mangle(impls.name)}(*args):")
    site = Site(impls.span, "door", impls.name, callee=impls.name)
    *earlier, last = impls.choices
    for choice in earlier:
        if choice in unit.functions and unit.functions[choice].kind != "private":
            name = mangle(choice)
            unit.write(1, f"if admits(d_{name}, args): return b_{name}(*args)", site)
        else:
            unit.write(
                1, f"if admits_primitive({_primitive(unit, choice)}, args): return p_{mangle(choice)}(*args)", site
            )
    entry = FunctionWriter(unit, impls.name, ()).function_value(last)
    unit.write(1, f"return {entry}(*args)", site)


def _primitive(unit: Unit, name: str) -> str:
    row = unit.row(name)
    unit.primitives.add(row.name)
    return unit.constant(("row", row.name), lambda: row)


def _admits(door: Callable[..., None], args: tuple[Any, ...]) -> bool:
    try:
        door(*args)
    except (guards.Failed, guards.Undefined, IndexError, TypeError, AttributeError):
        return False
    return True


def _admits_primitive(row: Primitive, args: tuple[Any, ...]) -> bool:
    try:
        guards.guard(row, _complete(row, args))
    except (guards.Violation, TypeError, AttributeError):
        return False
    return True


_HELPERS["admits"] = _admits
_HELPERS["admits_primitive"] = _admits_primitive


def _complete(row: Primitive, args: tuple[Any, ...]) -> list[Any]:
    return [*args, *(p.default for p in row.params[len(args) :])]


def _primitive_value(row: Primitive) -> Callable[..., Any]:
    """A primitive as a function value: its preconditions are checked at every call."""
    kernel = kernels.lookup(row.name)

    def call(*args: Any) -> Any:
        complete = _complete(row, args)
        guards.guard(row, complete)
        return kernel(*complete)

    return call


def _timed(function: Callable[..., Any], record: list[int]) -> Callable[..., Any]:
    @wraps(function)
    def timed(*args: Any) -> Any:
        begin = perf_counter_ns()
        try:
            return function(*args)
        finally:
            record[0] += 1
            record[1] += perf_counter_ns() - begin

    return timed


# Externs


def _extern(function: core.Function, options: Options) -> Callable[..., Any]:
    """The Python callable behind an extern, looked up at its first call."""
    found: list[Callable[..., Any]] = []

    def call(*args: Any) -> Any:
        if not options.allow_extern:
            raise ExternError(f"@{function.name} runs Python code of its own: allow it with --allow-extern")
        if not found:
            found.append(resolve(function.target))
        return guarded_call(found[0], str(function.target), args)

    return call


def guarded_call(callee: Callable[..., Any], name: str, args: tuple[Any, ...]) -> Any:
    """Call Python code of the user's; its result as arrays."""
    try:
        result = callee(*args)
    except Exception as error:  # noqa: BLE001 - the user's code may raise anything
        raise ExternError(f"{name} raised {type(error).__name__}: {error}") from error
    return _as_result(result)


def resolve(target: str | None) -> Callable[..., Any]:
    """`package.module:callable`; raises ExternError where there is none."""
    if not target:
        raise ExternError("the extern names no Python callable")
    module, _, path = target.partition(":")
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ExternError(f"{target} cannot be found: {error}") from error
    return found  # type: ignore[no-any-return]


def _as_result(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_as_result(r) for r in result)
    made = np.asarray(result)
    if made.dtype.kind == "O":
        raise ExternError(f"it returned {guards.describe(result)}, which is no tensor")
    return made


# Where an error came from


def frames(traceback: TracebackType | None) -> list[Frame]:
    """The lines of generated code that an error passed through, outermost first."""
    found: list[Frame] = []
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_code.co_filename == FILENAME:
            code = frame.f_globals["rx_code"]
            site = code.sites.get(traceback.tb_lineno)
            if site is not None:
                shown = (code.owners.get(name, name) for name in (site.function, site.callee))
                found.append(Frame(site, {**_referred(site, frame.f_globals), **frame.f_locals}, *shown))
        traceback = traceback.tb_next
    return found


def _referred(site: Site, namespace: Mapping[str, Any]) -> dict[str, Any]:
    texts = [t for _, t in (*site.names, *site.operands)]
    return {t: namespace[t] for t in texts if t in namespace}


def progress_of(frame: Any) -> tuple[float, str] | None:
    """How far the outermost function of a running program is, by its lines, and the function that it is in now."""
    outermost, inside = None, ""
    while frame is not None:
        if frame.f_code.co_filename == FILENAME:
            code = frame.f_globals["rx_code"]
            site = code.sites.get(frame.f_lineno)
            inside = inside or (code.owners.get(site.function, site.function) if site is not None else "")
            outermost = frame
        frame = frame.f_back
    if outermost is None:
        return None
    lines = [line for _, _, line in outermost.f_code.co_lines() if line is not None]
    first, last = min(lines), max(lines)
    return (outermost.f_lineno - first) / max(last - first, 1), inside


def current_frame(thread: int) -> Any:
    """The innermost Python frame of a thread."""
    return sys._current_frames().get(thread)
