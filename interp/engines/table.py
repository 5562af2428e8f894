"""An engine as a table of kernels by primitive, with its constants and dtypes.

A kernel takes the arguments of NumPy's (`kernels/registry.py`), with the engine's arrays and dtypes. A short composition of
other primitives is written once, for all engines (`@composed`); an engine that has its own kernel uses that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, partial, reduce
from importlib import import_module
from types import CodeType, FunctionType
from typing import NamedTuple

from ...lang.diagnostics import Diagnostic
from ...lang.dtypes import DTYPES, DType
from ...ops import registry as rows
from ..dispatch import complete
from ..engine_types import EngineArray, EngineDType, EngineResult, Kernel, RunValue
from ..kernels.registry import BadValue
from ..kernels.windows import GROUND
from . import expressions

# From states, and the rows that a turn reads, to the next states.
Turn = Callable[[Sequence[EngineArray], Sequence[EngineArray]], Sequence[EngineArray]]


class Refused(BadValue, NotImplementedError):
    """An unsupported feature of an engine's kernel; the message completes "the engine ... has no "."""


def each_once(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics, each once at its place; nodes that differ in their places alone are equal."""
    return list({(d.message, d.span): d for d in found}.values())


class Composition(NamedTuple):
    """A kernel over others; `uses` are the names of the primitives that it calls."""

    function: Kernel
    uses: frozenset[str]


_COMPOSED: dict[str, Kernel] = {}
_PACKAGE = __name__.rpartition(".")[0] + ".composed"
_FILES = (
    "composed",
    "composed_arrays",
    "composed_layers",
    "composed_matrices",
    "composed_random",
    "composed_sequences",
    "composed_turns",
    "composed_windows",
)


def composed(name: str) -> Callable[[Kernel], Kernel]:
    """Declare the decorated function, which takes `ops` and a primitive's parameters, as a composition of the primitives that
    it calls as `ops.NAME`."""

    def add(function: Kernel) -> Kernel:
        if name in _COMPOSED:
            raise ValueError(f"two compositions for {name}")
        _COMPOSED[name] = function
        return function

    return add


def composed_rows(text: str, space: dict[str, RunValue]) -> None:
    """Declare compositions that are one expression; `space` has the names besides the primitives."""
    for name, function in expressions.kernels(text, space, "ops", expressions.Composed):
        composed(name)(function)


@cache
def compositions() -> dict[str, Composition]:
    for file in _FILES:
        import_module(f".{file}", __package__)
    known = set(rows.names())
    return {
        name: Composition(f, (_asked(getattr(f, "func", f), set()) & known) - {name}) for name, f in _COMPOSED.items()
    }


def _asked(function: Kernel, seen: set[str]) -> frozenset[str]:
    """The names in a function's code: the attributes that it uses, and those of the functions and classes of its module that
    it refers to."""
    if isinstance(function, type):
        methods = (m for m in vars(function).values() if isinstance(m, FunctionType))
        return frozenset().union(*(_asked(m, seen) for m in methods))
    names = set(_named(function.__code__))
    for name in names - seen:
        seen.add(name)
        called = function.__globals__.get(name)
        if isinstance(called, FunctionType | type) and called.__module__.startswith(_PACKAGE):
            names |= _asked(called, seen)
    return frozenset(names)


def _named(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _named(constant)


class Ops:
    """An engine's primitives by name; calls may have the literal numbers that programs have, and defaults are filled in."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __getattr__(self, name: str) -> Kernel:
        row = rows.lookup(name)
        if row is None:
            raise AttributeError(name)
        kernel = self.engine.kernel(name)

        def call(*args: RunValue, **named: RunValue) -> EngineResult:
            return kernel(*complete(row, args, named))

        setattr(self, name, call)
        return call

    def dtype_of(self, x: EngineArray) -> DType:
        return self.engine.dtype_of(x)

    def scan(
        self, turn: Turn, firsts: Sequence[EngineArray], rows: Sequence[EngineArray], reverse: bool = False
    ) -> EngineResult:
        return self.engine.scan(turn, firsts, rows, reverse)

    @property
    def sizes(self) -> EngineResult:
        """The context in which sizes are counted."""
        return self.engine.sizes

    def named(self, dtype: str) -> EngineDType:
        """A dtype as the engine's kernels take it."""
        return self.engine.dtype(DTYPES[dtype])


class Engine(ABC):
    """A table of kernels, with the constants and dtypes that a program's text needs."""

    name: str
    own: dict[str, Kernel]
    sizes: RunValue = GROUND

    @cached_property
    def ops(self) -> Ops:
        return Ops(self)

    @abstractmethod
    def array(self, value: EngineArray) -> EngineArray:
        """Return a NumPy array, or one of NumPy's scalars, as the engine's."""

    @abstractmethod
    def dtype(self, dtype: DType) -> EngineDType:
        """Return the engine's dtype; raises LookupError for one that the engine lacks."""

    @abstractmethod
    def dtype_of(self, x: EngineArray) -> DType:
        """The dtype of an array or of a literal number, in Rx."""

    def scan(
        self, turn: Turn, firsts: Sequence[EngineArray], rows: Sequence[EngineArray], reverse: bool
    ) -> tuple[Sequence[EngineResult], EngineResult]:
        """Take turns over the first axis of rows; return the last states, and the first state of all turns."""
        ops, states, made = self.ops, firsts, []
        for i in range(rows[0].shape[0])[:: -1 if reverse else 1]:
            states = turn(states, [ops.squeeze(ops.slice(x, (i,), (i + 1,), (0,)), (0,)) for x in rows])
            made.append(states[0])
        if not made:
            return states, ops.zeros((0, *firsts[0].shape), firsts[0].dtype)
        return states, ops.stack(made[::-1] if reverse else made, 0)

    def has(self, name: str) -> bool:
        return self.computes(name)

    def computes(self, name: str) -> bool:
        """Whether the engine computes a primitive itself, or by a composition."""
        return name in self.supported

    @cached_property
    def supported(self) -> frozenset[str]:
        """All primitives that the engine computes."""
        found, left = set(self.own), dict(compositions())
        while more := {n for n, c in left.items() if n in found or c.uses <= found}:
            found |= more
            left = {n: c for n, c in left.items() if n not in more}
        return frozenset(found)

    def kernel(self, name: str) -> Kernel:
        """The kernel of a primitive that the engine has."""
        return reduce(_or_else, reversed(self.ways(name)))

    def ways(self, name: str) -> list[Kernel]:
        """An engine's own kernel, and a composition for arguments that it refuses."""
        found = [self.own[name]] if name in self.own else []
        if name in compositions() and compositions()[name].uses <= self.supported:
            found.append(partial(composition, compositions()[name].function, self.ops))
        return found


def _or_else(rest: Kernel, first: Kernel) -> Kernel:
    """A kernel, and another for arguments that it refuses."""

    def run(*args: RunValue) -> EngineResult:
        try:
            return first(*args)
        except NotImplementedError:
            return rest(*args)

    return run


def composition(function: Kernel, ops: Ops, *args: RunValue) -> EngineResult:
    """Run a composition; two-byte floats in float32. The first of the floats gives the dtype of the result."""
    floats = [d for d in map(ops.dtype_of, filter(_is_array, args)) if d.kind == "float"]
    if all(d.bits != 16 for d in floats):
        return function(ops, *args)
    result = function(ops, *(_widened(ops, a) if _is_array(a) else a for a in args))
    if floats[0].bits != 16:
        return result
    return (
        tuple(_narrow(ops, r, floats[0]) for r in result)
        if isinstance(result, tuple)
        else _narrow(ops, result, floats[0])
    )


def _is_array(value: EngineArray) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def tensors(ops: Ops, *operands: EngineArray) -> tuple[EngineResult, ...]:
    """Operands of one dtype; literal numbers become tensors of it."""
    like = next(x.dtype for x in operands if _is_array(x))
    return tuple(x if _is_array(x) else ops.full((), x, like) for x in operands)


def _widened(ops: Ops, x: EngineArray) -> EngineResult:
    dtype = ops.dtype_of(x)
    return ops.cast(x, ops.named("float32")) if dtype.kind == "float" and dtype.bits == 16 else x


def _narrow(ops: Ops, x: EngineArray, dtype: DType) -> EngineResult:
    return ops.cast(x, ops.engine.dtype(dtype)) if ops.dtype_of(x).name == "float32" else x
