"""A checked program's functions on another engine: missing kernels are reported before the first call, and arguments that do
not fit before the engine gets them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...lang import codes, core
from ...lang.diagnostics import Diagnostic, RxError, error
from ...lang.source import NOWHERE, Span
from ..arguments import convert
from ..engine_types import Compiled, RunValue
from ..names import mangle
from ..shape_error import ShapeError
from .table import each_once

if TYPE_CHECKING:
    import onnxruntime

    from ..run import Machine
    from .onnx_export import Exported

ENGINES = ("numpy", "onnxruntime", "torch")


class Unavailable(ValueError):
    """An engine that does not exist, or is not installed; the message is one line."""


# The number of classes of arguments to remember.
CLASSES = 1024


def _class_of(value: RunValue) -> Hashable:
    """All properties of an argument that checks before a call can read."""
    if isinstance(value, np.ndarray | np.generic):
        return value.shape, value.dtype, value.item() if not value.ndim and value.dtype.kind in "iub" else None
    if isinstance(value, tuple | list):
        return tuple(map(_class_of, value))
    return type(value), value


class Runner(ABC):
    """A program on an engine. `machine` is the program over NumPy, whose entry checks decide."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        # The classes of arguments that were accepted.
        self._passed: set[Hashable] = set()

    def prepare(self, names: Iterable[str]) -> None:
        """Make functions ready to be called; raises RxError with all obstacles."""
        wrong: list[Diagnostic] = []
        for name in names:
            try:
                self.ready(name)
            except RxError as problem:
                wrong += problem.diagnostics
        if wrong:
            raise RxError(*each_once(wrong))

    @abstractmethod
    def ready(self, name: str) -> None: ...

    @abstractmethod
    def run(self, name: str, args: Sequence[RunValue]) -> RunValue:
        """Run a call with arguments that the entry check accepted."""

    def as_called(self, function: Compiled) -> RunValue:
        """Return a function in the form that the engine's users know."""
        return function

    def seen(self, value: RunValue) -> RunValue:
        """An argument as the entry check sees it."""
        return value

    def call(self, function: core.Function, values: Sequence[RunValue], *, copy: bool = False) -> RunValue:
        """Run a call with arguments in order, as the caller passed them."""
        __tracebackhide__ = True
        return self.run(function.name, self.own(values, self.admit(function, values, copy=copy)))

    def admit(self, function: core.Function, values: Sequence[RunValue], *, copy: bool = False) -> Sequence[RunValue]:
        """Return the converted arguments, if they fit."""
        __tracebackhide__ = True
        args = convert(function, [self._tree(v) for v in values], copy=copy)
        key = function.name, *map(_class_of, args)
        if key not in self._passed:
            self.machine.attempt(self._admit, function.name, args)
            if len(self._passed) >= CLASSES:
                self._passed.clear()
            self._passed.add(key)
        return args

    def own(self, values: Sequence[RunValue], args: Sequence[RunValue]) -> Sequence[RunValue]:
        """The engine's arguments, from the caller's and the converted ones."""
        return args

    def _tree(self, value: RunValue) -> RunValue:
        return type(value)(map(self._tree, value)) if type(value) in (tuple, list) else self.seen(value)

    def _admit(self, name: str, args: Sequence[RunValue]) -> None:
        code = self.machine.code
        code.namespace["d_" + mangle(name)](*args)
        code.ahead.foresee(name, args)


class OnnxRuntime(Runner):
    """Runs each function as an exported model in a session of onnxruntime; if that fails, as a model that first checks for
    empty images, which onnxruntime refuses and NumPy does not."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        try:
            import onnxruntime  # not needed for runs over NumPy

            from . import onnx_export
        except ModuleNotFoundError as problem:
            raise Unavailable(
                f"the engine onnxruntime needs {problem.name}: pip install 'rxlang[onnxruntime]'"
            ) from None
        self.runtime = onnxruntime
        self.export, self.exchanged = onnx_export.export, onnx_export.EXCHANGED
        self.sessions: dict[tuple[str, bool], tuple[onnxruntime.InferenceSession, Exported]] = {}
        kinds = onnxruntime.capi.onnxruntime_pybind11_state
        self.failures = (kinds.Fail, kinds.InvalidArgument, kinds.RuntimeException, kinds.NotImplemented)

    def ready(self, name: str) -> None:
        self._session(name, guarded=False)

    def _admit(self, name: str, args: Sequence[RunValue]) -> None:
        super()._admit(name, args)
        self._hold(name, args)

    def _hold(self, name: str, args: Sequence[RunValue]) -> None:
        """Check the model's conditions on the inputs' sizes, besides those of the entry."""
        refused = self._session(name, guarded=False)[1].refusal(list(_leaves(args)))
        if refused is not None:
            raise ShapeError(refused)

    def _session(self, name: str, *, guarded: bool) -> tuple[onnxruntime.InferenceSession, Exported]:
        """The session of a function, and its exported model."""
        if (name, guarded) not in self.sessions:
            function = self.machine.function(name)
            assert function is not None
            made = self.export(self.machine.program, function, self.machine.code, guarded=guarded)
            self.sessions[name, guarded] = self._opened(made, function), made
        return self.sessions[name, guarded]

    def _opened(self, made: Exported, function: core.Function) -> onnxruntime.InferenceSession:
        values = (*made.model.graph.input, *made.model.graph.output)
        if strange := [v.name for v in values if v.type.tensor_type.elem_type not in self.exchanged]:
            message = f"onnxruntime has no NumPy arrays for the dtype of {', '.join(strange)}"
            raise RxError(error(codes.E253, message, function.span))
        options = self.runtime.SessionOptions()
        options.log_severity_level = 4  # Rx reports failures
        try:
            return self.runtime.InferenceSession(
                made.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
        except self.failures as problem:
            raise RxError(self._told(made, problem, codes.E253)) from None

    def _told(self, made: Exported, problem: Exception, code: codes.Code) -> Diagnostic:
        """The diagnostic of a failure inside, at the line of the node that it names."""
        text = str(problem)
        node = next((name for name in made.places if f"'{name}'" in text), None)
        place = NOWHERE if node is None else made.places[node]
        return error(code, f"onnxruntime cannot do this: {text}", place)

    def run(self, name: str, args: Sequence[RunValue]) -> RunValue:
        session, made = self._session(name, guarded=False)
        try:
            return self._ran(session, made, args)
        except self.failures as problem:
            first = problem
        session, made = self._session(name, guarded=True)
        try:
            return self._ran(session, made, args)
        except self.failures:
            raise ShapeError(self._told(made, first, codes.R402)) from None

    def _ran(self, session: onnxruntime.InferenceSession, made: Exported, args: Sequence[RunValue]) -> RunValue:
        given = [np.asarray(v, np.int64) if isinstance(v, int) else v for v in _leaves(args)]
        names = [i.name for i in made.model.graph.input]
        known = {i.name for i in session.get_inputs()}
        feeds = {n: v for n, v in zip(names, given, strict=True) if n in known}
        return made.shaped(iter(session.run(None, feeds)))


class ModelRuntime(OnnxRuntime):
    """The user's own model in onnxruntime, behind its program's checks of the inputs."""

    def __init__(self, machine: Machine, path: Path) -> None:
        super().__init__(machine)
        self.path = path
        self.session: onnxruntime.InferenceSession = None
        self.names: list[str] = []

    def ready(self, name: str) -> None:
        if self.session is not None:
            return
        options = self.runtime.SessionOptions()
        options.log_severity_level = 4
        try:
            self.session = self.runtime.InferenceSession(str(self.path), options, providers=["CPUExecutionProvider"])
        except self.failures as problem:
            raise RxError(self._said(problem, codes.E253)) from None
        self.names = [i.name for i in self.session.get_inputs()]
        values = (*self.session.get_inputs(), *self.session.get_outputs())
        if strange := [v.name for v in values if v.type not in _MODEL_TYPES]:
            message = f"onnxruntime has no NumPy arrays for the types of {', '.join(strange)}"
            raise RxError(error(codes.E253, message, self._place("")))

    def _hold(self, name: str, args: Sequence[RunValue]) -> None:
        """Check nothing: the model's program has all conditions."""

    def _said(self, problem: Exception, code: codes.Code) -> Diagnostic:
        return error(code, f"onnxruntime cannot do this: {problem}", self._place(str(problem)))

    def _place(self, text: str) -> Span:
        """The line of the model's program for the node that a message names, or the whole function."""
        function = self.machine.function("main")
        assert function is not None
        source = function.span.source
        named = (line for line, made in source.made.items() if f"'{made.what.rpartition(' (')[0]}'" in text)
        line = next(named, None)
        if line is None:
            return function.span
        begin = sum(map(len, source.text.splitlines(keepends=True)[: line - 1]))
        return Span(source, begin, begin + len(source.text.splitlines()[line - 1]))

    def run(self, name: str, args: Sequence[RunValue]) -> RunValue:
        try:
            found = self.session.run(None, dict(zip(self.names, args, strict=True)))
        except self.failures as problem:
            raise ShapeError(self._said(problem, codes.R402)) from None
        return found[0] if len(found) == 1 else tuple(found)


# The types of a model's inputs and outputs whose arrays are NumPy's.
_MODEL_TYPES = frozenset(
    f"tensor({n})" for n in (
        "bool", "float16", "float", "double", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "string",
    )
)  # fmt: skip


def _leaves(values: Iterable[RunValue]) -> Iterable[RunValue]:
    for value in values:
        if isinstance(value, tuple):
            yield from _leaves(value)
        else:
            yield value


def runner(engine: str, machine: Machine, device: str | None = None, model: Path | None = None) -> Runner | None:
    """The runner of a program on an engine, or of the model that it was read from; None for NumPy. Raises Unavailable."""
    makers: dict[str, Callable[[], Runner | None]] = {
        "numpy": lambda: None,
        "onnxruntime": lambda: OnnxRuntime(machine) if model is None else ModelRuntime(machine, model),
        "torch": lambda: _torch(machine, device),
    }
    if engine not in makers:
        raise Unavailable(f"there is no engine {engine!r}; there are {', '.join(makers)}")
    if device is not None and engine != "torch":
        raise Unavailable(f"the engine {engine} has no devices to choose from")
    return makers[engine]()


def _torch(machine: Machine, device: str | None) -> Runner:
    try:
        from .torch_runner import TorchRunner  # not needed for runs over NumPy
    except ModuleNotFoundError as problem:
        raise Unavailable(f"the engine torch needs {problem.name}: pip install 'rxlang[torch]'") from None
    made: Runner = TorchRunner(machine, device or "cpu")
    return made
