"""The result of one run of the user's code: the program, and the origin of each of its lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...lang.node import Node
from .places import PythonPlace

# The most lines of a program: a model of 100 layers has about 3,000, and a loop of the user's may not end.
MOST_LINES = 20_000


class Step(Node):
    """The origin of a line in the program. `kind` is `call` of a torch function, or the kind of a question about sizes:
    `stated` by the code, a `branch` of it, an `operation`'s own, or a `number` that was asked for; `result` is the declared
    type of a result. `inputs` are names in the line, `module` is the path of the module whose code ran, `calls` are the calls
    of modules around the line, the outermost first."""

    kind: str
    op: str
    place: PythonPlace
    module: str = ""
    inputs: tuple[str, ...] = ()
    calls: tuple[int, ...] = ()


class Unruled(Node):
    """A call of a torch function without a row: torch predicts its result."""

    op: str
    place: PythonPlace


class Stopped(Node):
    """The reason that ended the trace before the code did: an exception of the user's code or of torch, in words."""

    said: str
    place: PythonPlace
    # The last question before, if the code itself raised.
    last: str | None = None
    # Whether the trace cannot go on, although the code did not refuse the sizes.
    is_unread: bool = False


class Input(Node):
    """A tensor argument: its name, dtype and sizes, numbers or names, and its name in the code (`xs[0]`)."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    called: str


class ModuleCall(Node):
    """A call of a module: its path in the model, its class, and the place of the call."""

    path: str
    kind: str
    place: PythonPlace


class Trace(Node):
    """One run: the program's text, the step of each of its lines (from 1), its inputs, the model's names of the weights and
    the user's names of variables by their names in the text, and the questions that the run leaves open."""

    text: str
    steps: Mapping[int, Step]
    inputs: tuple[Input, ...]
    weights: Mapping[str, str]
    variables: Mapping[str, str]
    results: tuple[str, ...]
    supposed: tuple[Unruled, ...]
    open_data: tuple[PythonPlace, ...]
    facts: tuple[tuple[str, Step], ...]
    stopped: Stopped | None = None
    hints: Mapping[str, int] = {}
    # The shapes of values made of parameters, buffers and constants alone, where they are numbers.
    fixed: Mapping[str, tuple[int, ...]] = {}
    # The shapes of the results in the trace, and their sizes with these hints.
    shapes: tuple[tuple[str, ...], ...] = ()
    sizes: tuple[tuple[int, ...], ...] = ()
    # The types of the names in the text, and the calls of modules, by their numbers in steps.
    types: Mapping[str, str] = {}
    calls: tuple[ModuleCall, ...] = ()
    # The data of tensors that the code makes itself, by their names in the text.
    held: Mapping[str, Any] = {}

    @property
    def is_of_nothing(self) -> bool:
        """Whether it ended because the hints are so small that a quotient of them is 0."""
        return self.stopped is not None and self.stopped.said.startswith(ZeroDivisionError.__name__)

    @property
    def is_cut(self) -> bool:
        """Whether it was cut for its length; with numbers, the code may not end either."""
        return len(self.steps) >= MOST_LINES


def brief(problem: BaseException) -> str:
    """The message of an exception, without the frames of torch's C++."""
    return str(problem).partition("\nException raised from")[0].strip()


def several(modules: Sequence[str]) -> str:
    """The modules that share a line, as a message names them."""
    found = list(dict.fromkeys(modules))
    return ", ".join(found if len(found) <= _MOST_NAMED else [*found[:2], f"{len(found) - 2} more"])


# If there are more, two are named.
_MOST_NAMED = 4
