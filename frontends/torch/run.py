"""The result of one run of the user's code: the program, and where each of its lines comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...lang.node import Node
from .places import PythonPlace

# So many lines has a program at most: a model of 100 layers has about 3,000, and a loop of the user's may not end.
MOST_LINES = 20_000


class Step(Node):
    """Where a line of the program comes from. `kind` is `call` of a torch function, or what a question about sizes was:
    `stated` by the code, a `branch` of it, an `operation`'s own, or a `number` that was asked for; `result` is what the code
    declares of one. `inputs` are names in the line, `module` is the path of the module whose code ran, `calls` are the calls
    of modules that it is in, from outside."""

    kind: str
    op: str
    place: PythonPlace
    module: str = ""
    inputs: tuple[str, ...] = ()
    calls: tuple[int, ...] = ()


class Unruled(Node):
    """A call of a torch function that has no row: what it gives is what torch supposes."""

    op: str
    place: PythonPlace


class Stopped(Node):
    """What ended the trace before the code did: an exception of the user's code or of torch's, in words."""

    said: str
    place: PythonPlace
    # The last question that the code asked before, where it is the code that raised.
    last: str | None = None
    # Whether it was not the code that refused the sizes, but the trace that cannot go on.
    is_unread: bool = False


class Input(Node):
    """A tensor that is given: its name, dtype and sizes, numbers or names, and what the code calls it (`xs[0]`)."""

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
    """One run: the program's text, the step of each of its lines (from 1), its inputs, the weights by their names in the text
    with the model's, the names that the user's variables have there, and what the run does not answer for."""

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
    # The shapes of what is made of parameters, buffers and constants alone, where they are numbers.
    fixed: Mapping[str, tuple[int, ...]] = {}
    # The shapes of the results as the trace knows them, and their sizes with these hints.
    shapes: tuple[tuple[str, ...], ...] = ()
    sizes: tuple[tuple[int, ...], ...] = ()
    # The types of the names in the text, and the calls of modules, as steps count them.
    types: Mapping[str, str] = {}
    calls: tuple[ModuleCall, ...] = ()
    # The data of what the code makes itself, by its name in the text.
    held: Mapping[str, Any] = {}

    @property
    def is_of_nothing(self) -> bool:
        """Whether it ended where the hints are so small that a quotient of them is 0."""
        return self.stopped is not None and self.stopped.said.startswith(ZeroDivisionError.__name__)

    @property
    def is_cut(self) -> bool:
        """Whether it was ended for its length; what the code does with numbers may not end either."""
        return len(self.steps) >= MOST_LINES


def brief(problem: BaseException) -> str:
    """What torch says, without the frames of its C++."""
    return str(problem).partition("\nException raised from")[0].strip()


def several(modules: Sequence[str]) -> str:
    """The modules that share a line, as a message names them."""
    found = list(dict.fromkeys(modules))
    return ", ".join(found if len(found) <= _MOST_NAMED else [*found[:2], f"{len(found) - 2} more"])


# Of more, two are named.
_MOST_NAMED = 4
