"""Whether a model's names fit together: each defined once and before it is read, and no function inside itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from ...lang import codes
from ...lang.cells import shown
from ...lang.diagnostics import RxError, error
from ...lang.source import Source, Span
from .model import Attribute, AttributeRef, Graph, Model, ModelFunction, Operation

_LONGEST = 400
# The names known at a place: of its own graph, then of those around it.
Known = tuple[set[str], ...]
Key = tuple[str, str, str]


def fail(
    path: Path, message: str, help: str = "export the model again, or copy it again from where it came"
) -> NoReturn:
    """Reject a model; its names may be of any length and of any characters."""
    message = shown(
        message if len(message) <= _LONGEST else f"{message[: _LONGEST // 2]} ... {message[-_LONGEST // 2 :]}"
    )
    raise RxError(error(codes.E246, message, Span(Source(path.name, ""), 0, 0), help=help))


def check(model: Model) -> None:
    """Raise RxError where a model contradicts itself."""
    _Names(model.path, model.opsets, is_function=False).graph(model.graph, (), "the model's graph")
    functions: dict[Key, ModelFunction] = {}
    for function in model.functions:
        key = (function.domain, function.name, function.overload)
        if key in functions:
            fail(model.path, f"function {function.name} is defined twice", "give one of the two another name")
        functions[key] = function
        _Names(model.path, {**model.opsets, **function.opsets}, is_function=True).function(function)
    _check_calls(model.path, functions)


class _Names:
    def __init__(self, path: Path, opsets: Mapping[str, int], is_function: bool) -> None:
        self.path, self.opsets, self.is_function = path, opsets, is_function

    def graph(self, graph: Graph, around: Known, whose: str) -> None:
        known: set[str] = set()
        for value in graph.inputs:
            self._enter(value.name, known, "an input", whose)
        # An initializer with an input's name is the default of that input.
        constant: set[str] = set()
        for tensor in graph.initializers:
            self._enter(tensor.name, constant, "an initializer", whose)
        known |= constant
        self.operations(graph.operations, (known, *around))
        for value in graph.outputs:
            if not any(value.name in names for names in (known, *around)):
                fail(self.path, f"output `{value.name}` of {whose} is given by no node, input or initializer")

    def function(self, function: ModelFunction) -> None:
        known: set[str] = set()
        whose = f"function {function.name}"
        for name in function.inputs:
            self._enter(name, known, "an input", whose)
        self.operations(function.operations, (known,))
        for name in function.outputs:
            if name not in known:
                fail(self.path, f"output `{name}` of {whose} is given by no node or input")

    def operations(self, operations: tuple[Operation, ...], known: Known) -> None:
        for operation in operations:
            if operation.domain == "" and "" not in self.opsets:
                fail(self.path, f"{operation} is of ONNX's own domain, for which the model imports no opset")
            for number, name in enumerate(operation.inputs):
                if name and not any(name in names for names in known):
                    self._unknown(operation, number, operations)
            for attribute, value in operation.attributes.items():
                self._attribute(value, known, attribute, operation)
            for name in filter(None, operation.outputs):
                self._enter(name, known[0], "an output", operation)

    def _attribute(self, value: Attribute, known: Known, name: str, operation: Operation) -> None:
        if isinstance(value, AttributeRef) and not self.is_function:
            fail(
                self.path,
                f"attribute `{name}` of {operation} stands for the attribute `{value.name}` of a function, but it is in none",
            )
        for graph in graphs(value):
            self.graph(graph, known, f"the graph in the attribute `{name}` of {operation}")

    def _enter(self, name: str, known: set[str], what: str, of: object) -> None:
        if not name:
            fail(self.path, f"{what} of {of} has no name")
        if name in known:
            fail(
                self.path,
                f"`{name}` is given twice, the second time as {what} of {of}",
                "give one of the two another name",
            )
        known.add(name)

    def _unknown(self, operation: Operation, number: int, operations: tuple[Operation, ...]) -> None:
        """Report why an input is unknown: its node comes later, or depends on this one, or there is none."""
        name, asks = operation.inputs[number], f"{operation}, input {number}"
        giver = {output: o for o in operations for output in o.outputs}.get(name)
        if giver is None:
            fail(self.path, f"{asks} reads `{name}`, which no node, input or initializer gives")
        if any(needed is operation for needed in _needed([giver], operations)):
            also = "" if giver is operation else f", as {giver} needs its output"
            fail(self.path, f"{asks} reads `{name}`, which depends on itself{also}")
        fail(
            self.path,
            f"{asks} reads `{name}`, which {giver} gives only afterwards",
            "sort the nodes: each after those it reads from",
        )


def _needed(first: list[Operation], operations: tuple[Operation, ...]) -> Iterator[Operation]:
    """These nodes and all nodes that they depend on."""
    givers = {output: o for o in operations for output in o.outputs}
    waiting, seen = first, set[int]()
    while waiting:
        operation = waiting.pop()
        if operation.index not in seen:
            seen.add(operation.index)
            yield operation
            waiting += [givers[name] for name in read_by(operation) if name in givers]


def read_by(operation: Operation) -> Iterator[str]:
    """The names that a node reads, also in its inner graphs."""
    yield from filter(None, operation.inputs)
    for value in operation.attributes.values():
        for graph in graphs(value):
            for inner in graph.operations:
                yield from read_by(inner)
            yield from (value.name for value in graph.outputs)


def graphs(value: Attribute) -> tuple[Graph, ...]:
    """The graphs in an attribute."""
    listed = value if isinstance(value, tuple) else (value,)
    return tuple(g for g in listed if isinstance(g, Graph)) if listed and isinstance(listed[0], Graph) else ()


# Functions


def _check_calls(path: Path, functions: Mapping[Key, ModelFunction]) -> None:
    """Check that no function calls itself, directly or indirectly."""
    calls = {key: [c for c in _calls(function.operations) if c in functions] for key, function in functions.items()}
    done: set[Key] = set()
    for start in calls:
        way, waiting = dict.fromkeys([start]), [iter(calls[start])]
        while waiting and start not in done:
            called = next(waiting[-1], None)
            if called is None:
                done.add(way.popitem()[0])
                waiting.pop()
            elif called in way:
                circle = [key[1] for key in list(way)[list(way).index(called) :]]
                fail(
                    path,
                    f"function {circle[0]} calls itself" + f", by way of {', '.join(circle[1:])}" * (len(circle) > 1),
                )
            elif called not in done:
                way[called] = None
                waiting.append(iter(calls[called]))


def _calls(operations: Iterable[Operation]) -> Iterator[Key]:
    for operation in operations:
        yield operation.domain, operation.op_type, operation.overload
        for value in operation.attributes.values():
            for graph in graphs(value):
                yield from _calls(graph.operations)
