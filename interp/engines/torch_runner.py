"""A checked program over PyTorch: the text that runs over NumPy's kernels, with PyTorch's in their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from ...lang import codes, core
from ...lang.diagnostics import Diagnostic, RxError, error
from ...lang.source import NOWHERE
from ...ops import registry as rows
from ...sizes.integers import Undefined
from .. import guards
from ..allocation import INTO
from ..arguments import asked_on_entry
from ..compile import CompiledCode, Options, compile_program
from ..core_uses import reachable
from ..dispatch import complete
from ..dtypes import dtype_of, numpy_dtype
from ..engine_types import Compiled, EngineDType, EngineSizes, RunValue
from ..guards import Ghost
from ..kernels.registry import BadValue
from ..lower import lower
from ..names import mangle
from ..shape_error import ShapeError
from ..steps import Closure, Compute, Invoke, Step, StepBlock, every, reads
from .runners import Runner
from .table import Refused
from .torch_engine import Torch
from .torch_module import TorchFunction

if TYPE_CHECKING:
    from ..run import Machine


class TorchRunner(Runner):
    """Functions take and return PyTorch tensors, through which gradients flow."""

    def __init__(self, machine: Machine, device: str) -> None:
        super().__init__(machine)
        self.engine = Torch(device)
        self._made: CompiledCode | None = None
        self._parameters: dict[str, torch.nn.Parameter] = {}
        self._routines = {r.name: r for r in lower(machine.program).routines}

    def ready(self, name: str) -> None:
        """Raise RxError with every primitive that a call may reach and PyTorch lacks."""
        function = self.machine.function(name)
        assert function is not None
        wrong = [d for reached in sorted(reachable(self.machine.program, function)) for d in self._missing(reached)]
        if name not in self._routines:
            message = f"the engine torch has no list of implementations, which @{name} is"
            wrong.append(error(codes.E253, message, function.span))
        if wrong:
            raise RxError(*wrong)

    def _missing(self, name: str) -> list[Diagnostic]:
        found: list[Diagnostic] = []
        function, routine = self.machine.function(name), self._routines.get(name)
        assert function is not None
        for param, dtype in asked_on_entry(function).dtypes.items():
            if dtype.name not in self.engine.dtypes:
                found.append(
                    error(codes.E253, f"the engine torch has no tensors of {dtype}", core.param_span(function, param))
                )
        for step in () if routine is None else (*every(StepBlock(routine.entry)), *every(routine.body)):
            if isinstance(step, Compute) and not self.engine.has(step.row.name):
                found.append(error(codes.E253, f"the engine torch has no @{step.row.name}", step.span))
            if isinstance(step, Invoke) and step.way in ("extern", "list"):
                message = f"the engine torch cannot call @{step.callee}, which is Python code or a list"
                found.append(error(codes.E253, message, step.span))
            lacked = {str(v.dtype) for v in getattr(step, "inputs", ()) if isinstance(v, core.DTypeLit)} - {
                *self.engine.dtypes
            }
            found += [error(codes.E253, f"the engine torch has no tensors of {dtype}", step.span) for dtype in lacked]
        return found

    # As modules

    def as_called(self, function: Compiled) -> RunValue:
        """Return a function as an nn.Module."""
        return TorchFunction(function, self, self._weights(function.__name__))

    def _weights(self, name: str) -> dict[str, torch.Tensor]:
        """The program's own tensors that a function and its callees read."""
        function, space = self.machine.function(name), self._code().namespace
        assert function is not None
        routines = (self._routines.get(n) for n in sorted(reachable(self.machine.program, function)))
        steps = (step for r in routines if r is not None for step in (*every(StepBlock(r.entry)), *every(r.body)))
        slots = {slot for step in steps for slot in _read(step)}
        return {s: v for s in sorted(slots) if s.startswith("c_") and isinstance(v := space.get(s), torch.Tensor)}

    def parameter(self, slot: str, tensor: torch.Tensor) -> torch.nn.Parameter:
        """A weight as a parameter, one for all functions."""
        if slot not in self._parameters:
            self._parameters[slot] = torch.nn.Parameter(tensor)
            self.put({slot: self._parameters[slot]})
        return self._parameters[slot]

    def put(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Put tensors into slots of the program's text."""
        self._code().namespace.update(weights)

    def move(self, device: torch.device) -> None:
        """Move the tensors of the program's text to another device."""
        self.engine.move(device)
        space = self._code().namespace
        held = {n: v for n, v in space.items() if isinstance(v, torch.Tensor) and n not in self._parameters}
        space.update({n: v.to(device) for n, v in held.items()})

    def followed(self, name: str, args: Sequence[RunValue], weights: Mapping[str, torch.Tensor]) -> RunValue:
        """Run a call that torch.compile traces: its checks are of shapes alone."""
        space = self._code().namespace
        before = {slot: space[slot] for slot in weights}
        self.engine.is_followed = True
        try:
            space.update(weights)
            return self.machine.attempt(space["f_" + mangle(name)], *(self._own(a, None) for a in args))
        finally:
            self.engine.is_followed = False
            space.update(before)

    def run(self, name: str, args: Sequence[RunValue]) -> RunValue:
        code = self._code()
        try:
            return self.machine.attempt(code.namespace["b_" + mangle(name)], *args)
        except RecursionError:
            raise
        except (NotImplementedError, RuntimeError) as problem:  # PyTorch has no such kernel, or cannot do it
            told = BadValue(str(problem)).with_traceback(problem.__traceback__)
            raise self.machine.explained(told) from None

    # Arguments

    def seen(self, value: RunValue) -> RunValue:
        """A stand-in for a tensor on entry, with its shape and its dtype; for an integer of rank 0 its value, which may be a
        size."""
        if not isinstance(value, torch.Tensor):
            return value
        dtype = numpy_dtype(self.engine.dtype_of(value))
        if not value.ndim and dtype.kind in "iub":
            return np.array(value.item(), dtype)
        return np.broadcast_to(np.zeros((), dtype), tuple(value.shape))

    def own(self, values: Sequence[RunValue], args: Sequence[RunValue]) -> Sequence[RunValue]:
        try:
            return tuple(map(self._own, values, args))
        except Refused as problem:
            raise ShapeError(error(codes.R402, f"the engine torch has no {problem}", NOWHERE)) from None

    def _own(self, value: RunValue, arg: RunValue) -> RunValue:
        if isinstance(value, torch.Tensor) and (arg is None or isinstance(arg, np.ndarray)):
            return value
        if isinstance(arg, tuple) and isinstance(value, tuple | list):
            return tuple(map(self._own, value, arg))
        return self._inward(value if arg is None else arg)

    def _inward(self, arg: RunValue) -> RunValue:
        if isinstance(arg, np.ndarray | np.generic):
            return self.engine.array(arg)
        if isinstance(arg, np.dtype):
            return self.engine.dtypes.get(dtype_of(arg).name, arg)  # `ready` reports one that PyTorch lacks
        return tuple(map(self._inward, arg)) if isinstance(arg, tuple) else arg

    # Code

    def _code(self) -> CompiledCode:
        """The program's text over PyTorch; its consts are those that NumPy has computed."""
        if self._made is None:
            options = Options(direct=False, out=True, ahead=False)
            made = compile_program(self.machine.program, self.machine.weights, options)
            made.namespace.update(self._translated(made.namespace))
            consts = {n: v for n, v in self.machine.code.namespace.items() if n.startswith("c_")}
            made.namespace.update({n: self._global(v) for n, v in consts.items()})
            self._made = made
        return self._made

    def _translated(self, space: dict[str, RunValue]) -> dict[str, RunValue]:
        found = {n: self._global(v) for n, v in space.items() if _is_data(v)}
        for name in rows.names():
            mangled = mangle(name)
            if "kernel_" + mangled in space and self.engine.has(name):
                found["kernel_" + mangled] = self.engine.kernel(name) if name not in INTO else self.engine.into(name)
            if "p_" + mangled in space and self.engine.has(name):
                found["p_" + mangled] = partial(self._primitive, name)
        guarded = {n: partial(self._guard, v) for n, v in space.items() if n.startswith("k") and _is_guard(v)}
        return {**found, **guarded, **self._helpers()}

    def _global(self, value: RunValue) -> RunValue:
        if isinstance(value, frozenset):
            known = (dtype_of(d) for d in value)
            return frozenset(self.engine.dtype(d) for d in known if d.name in self.engine.dtypes)
        return self._inward(value)

    def _helpers(self) -> dict[str, Callable[..., RunValue]]:
        return {
            "as_size": lambda v: guards.as_size(self._plain(v)),
            "as_sizes": lambda v: guards.as_sizes(self._plain(v)),
            "as_shape": lambda v: guards.as_shape(self._plain(v)),
            "owned": lambda v: v if torch.is_grad_enabled() else v.clone(),
            "buffer_for": lambda total, first: first.new_empty((total, *first.shape)),
            "stacked": self._stacked,
        }

    def _stacked(self, shape: EngineSizes, dtype: EngineDType, values: Sequence[RunValue] = ()) -> RunValue:
        if values:
            return torch.stack(list(values))
        if dtype is None:
            raise Undefined("no turn ran, and only a turn gives the shape and the dtype of the stack")
        return torch.empty([max(n, 0) for n in shape], dtype=dtype, device=self.engine.device)

    def _plain(self, value: RunValue) -> RunValue:
        return self.engine.numpy(value) if isinstance(value, torch.Tensor) else value

    # Checks

    def _guard(self, check: Callable[..., None], *args: RunValue) -> None:
        check(*map(self._looked_at, args))

    def _looked_at(self, value: RunValue) -> RunValue:
        """An argument as a rule sees it: a type, and the elements if they may be sizes."""
        if isinstance(value, tuple | list):
            return tuple(map(self._looked_at, value))
        if isinstance(value, torch.dtype):
            return numpy_dtype(self.engine.rx_dtype(value))
        if not isinstance(value, torch.Tensor):
            return value
        dtype = self.engine.dtype_of(value)
        if dtype.kind in ("int", "uint") and value.ndim <= 1:
            return self.engine.numpy(value)
        return Ghost(tuple(value.shape), numpy_dtype(dtype))

    def _primitive(self, name: str, *args: RunValue, **named: RunValue) -> RunValue:
        row = rows.lookup(name)
        assert row is not None
        given = complete(row, args, named)
        guards.guard(row, [self._looked_at(v) for v in given])
        return self.engine.kernel(name)(*given)


def _read(step: Step) -> set[str]:
    """The slots that a step reads, and those that a function value in it reads."""
    inner = every(step.body) if isinstance(step, Closure) else ()
    return reads(step).union(*map(_read, inner))


def _is_data(value: RunValue) -> bool:
    return isinstance(value, np.ndarray | np.generic | np.dtype | frozenset)


def _is_guard(value: RunValue) -> bool:
    return callable(value) and getattr(value, "__name__", "") == "check"
