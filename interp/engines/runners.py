"""A checked program's functions on another engine: what it lacks is told before the first call, and arguments that do not fit
before the engine gets them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...lang import codes, core
from ...lang.diagnostics import Diagnostic, RxError, error
from ...lang.source import NOWHERE
from ..arguments import convert
from ..names import mangle
from ..shape_error import ShapeError

if TYPE_CHECKING:
    from ..run import Machine

ENGINES = ("numpy", "onnxruntime", "torch")


class Unavailable(ValueError):
    """An engine that there is not, or that is not installed; the message is one line."""


class Runner(ABC):
    """A program on an engine. `machine` is the program over NumPy, whose entry checks decide."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def prepare(self, names: Iterable[str]) -> None:
        """Make functions ready to be called; raises RxError with all that stands in the way."""
        wrong: list[Diagnostic] = []
        for name in names:
            try:
                self.ready(name)
            except RxError as problem:
                wrong += [d for d in problem.diagnostics if d not in wrong]
        if wrong:
            raise RxError(*wrong)

    @abstractmethod
    def ready(self, name: str) -> None: ...

    @abstractmethod
    def run(self, name: str, args: Sequence[Any]) -> Any:
        """A call with arguments that the entry check let in."""

    def seen(self, value: Any) -> Any:
        """An argument as the entry check sees it."""
        return value

    def call(self, function: core.Function, values: Sequence[Any], *, copy: bool = False) -> Any:
        """A call with arguments in order, as they came."""
        __tracebackhide__ = True
        args = convert(function, [self._tree(v) for v in values], copy=copy)
        self.machine.attempt(self._admit, function.name, args)
        return self.run(function.name, self.own(values, args))

    def own(self, values: Sequence[Any], args: Sequence[Any]) -> Sequence[Any]:
        """What the engine gets, of arguments as they came and as they were read."""
        return args

    def _tree(self, value: Any) -> Any:
        return type(value)(map(self._tree, value)) if type(value) in (tuple, list) else self.seen(value)

    def _admit(self, name: str, args: Sequence[Any]) -> None:
        code = self.machine.code
        code.namespace["d_" + mangle(name)](*args)
        code.ahead.follow(name, args)


class OnnxRuntime(Runner):
    """Each function is an exported model, and a session of onnxruntime."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        try:
            import onnxruntime  # who runs over NumPy needs it not

            from . import onnx_export
        except ModuleNotFoundError as problem:
            raise Unavailable(
                f"the engine onnxruntime needs {problem.name}: pip install 'rxlang[onnxruntime]'"
            ) from None
        self.runtime = onnxruntime
        self.export = onnx_export.export
        self.sessions: dict[str, tuple[Any, Any, core.Function]] = {}
        kinds = onnxruntime.capi.onnxruntime_pybind11_state
        self.failures = (kinds.Fail, kinds.InvalidArgument, kinds.RuntimeException, kinds.NotImplemented)

    def ready(self, name: str) -> None:
        if name in self.sessions:
            return
        function = self.machine.function(name)
        assert function is not None
        from . import onnx_export  # it loads onnx

        made = self.export(self.machine.program, function, self.machine.code)
        values = (*made.model.graph.input, *made.model.graph.output)
        if strange := [v.name for v in values if v.type.tensor_type.elem_type not in onnx_export.EXCHANGED]:
            message = f"onnxruntime has no NumPy arrays for the dtype of {', '.join(strange)}"
            raise RxError(error(codes.E253, message, function.span))
        options = self.runtime.SessionOptions()
        options.log_severity_level = 4  # what fails is told by Rx
        try:
            session = self.runtime.InferenceSession(
                made.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
        except self.failures as problem:
            raise RxError(self._told(made, problem, codes.E253)) from None
        self.sessions[name] = session, made, function

    def _told(self, made: Any, problem: Exception, code: codes.Code) -> Diagnostic:
        """A failure inside, at the line of the node that it names."""
        text = str(problem)
        node = next((name for name in made.places if f"'{name}'" in text), None)
        place = NOWHERE if node is None else made.places[node]
        return error(code, f"onnxruntime cannot do this: {text}", place)

    def run(self, name: str, args: Sequence[Any]) -> Any:
        self.ready(name)
        session, made, function = self.sessions[name]
        given = [np.asarray(v, np.int64) if isinstance(v, int) else v for v in _leaves(args)]
        names = [i.name for i in made.model.graph.input]
        known = {i.name for i in session.get_inputs()}
        feeds = {n: v for n, v in zip(names, given, strict=True) if n in known}
        try:
            found = iter(session.run(None, feeds))
        except self.failures as problem:
            raise ShapeError(self._told(made, problem, codes.R402)) from None
        return made.shaped(found)


def _leaves(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from _leaves(value)
        else:
            yield value


def runner(engine: str, machine: Machine, device: str | None = None) -> Runner | None:
    """A program on an engine; None for NumPy. Raises Unavailable."""
    makers: dict[str, Callable[[], Runner | None]] = {
        "numpy": lambda: None,
        "onnxruntime": lambda: OnnxRuntime(machine),
        "torch": lambda: _torch(machine, device),
    }
    if engine not in makers:
        raise Unavailable(f"there is no engine {engine!r}; there are {', '.join(makers)}")
    if device is not None and engine != "torch":
        raise Unavailable(f"the engine {engine} has no devices to choose from")
    return makers[engine]()


def _torch(machine: Machine, device: str | None) -> Runner:
    try:
        from .torch_runner import TorchRunner  # who runs over NumPy needs it not
    except ModuleNotFoundError as problem:
        raise Unavailable(f"the engine torch needs {problem.name}: pip install 'rxlang[torch]'") from None
    made: Runner = TorchRunner(machine, device or "cpu")
    return made
