"""A model in which arms of different ranks are left open, to the same with the arms that what follows can work with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ..frontends.onnx.consistency import graphs
from ..frontends.onnx.control import ARMS, TAKEN, WHY
from ..frontends.onnx.inference import Inferred
from ..frontends.onnx.model import Graph, Model, Operation
from ..frontends.onnx.translate import Translation
from ..lang.diagnostics import RxError
from ..lang.node import Node, replace
from ..pipeline import Report
from .contract import failed, known_of

# So many Ifs are tried, and nodes are checked for that.
_MOST, _MOST_NODES = 16, 20_000


class Tried(Node):
    """A model with its program and what checking that gave."""

    model: Model
    translation: Translation
    report: Report


def tried_as(model: Model, translation: Translation, report: Report) -> Tried:
    """The same, with what is wrong with its nodes among what is said of the program."""
    return Tried(model, translation, replace(report, diagnostics=(*translation.wrong, *report.diagnostics)))


# What translates and checks a model; raises RxError.
Check = Callable[[Model], Tried]


def with_arms(first: Tried, check: Check) -> Tried:
    """The model with the one arm of each If with which what follows does not always fail, where the arms differ in rank and
    neither their condition nor what follows is decided otherwise. Everything that the model demands it demands then as well:
    that the condition takes that arm is one of its conditions."""
    most = min(_MOST, _MOST_NODES // (sum(1 for _ in _operations(first.model.graph)) + 1))
    undecided: set[tuple[str, ...]] = set()
    for _ in range(most):
        at = next((o for o in _open(first) if o.outputs not in undecided), None)
        if at is None:
            break
        after = _decided(first, at, check)
        undecided = {*undecided, at.outputs} if after is first else set()  # each that is decided may decide others
        first = after
    return first


def _decided(first: Tried, at: Operation, check: Check) -> Tried:
    """The model with one arm of an If, where the other one always fails."""
    for name, other in (ARMS, ARMS[::-1]):
        try:
            failure = _failure(first.model.graph, at, check(_taking(first.model, at, other, "")))
            made = None if failure is None else check(_taking(first.model, at, name, failure))
        except RxError:
            continue
        if made is not None and made.report.ok:
            return made
    return first


def _failure(graph: Graph, at: Operation, tried: Tried) -> str | None:
    """What always fails behind an If, where whatever gets to the If gets there."""
    names = [str(o) for o in _operations(graph)]
    reached = {str(o) for g in _around(graph, at) for o in _reached(g)}
    for said in tried.report.diagnostics:
        made = tried.translation.source.made.get(said.span.line)
        if said.severity == "error" and made is not None and made.what in reached and names.count(made.what) == 1:
            return f"{made.what} fails: {failed(said).needs}"
    return None


def _reached(graph: Graph) -> Iterator[Operation]:
    """The nodes that run where a graph does: those of the arms that were decided with them."""
    for operation in graph.operations:
        yield operation
        if TAKEN in operation.attributes:
            for inner in _inside(operation):
                yield from _reached(inner)


def _open(tried: Tried) -> Iterator[Operation]:
    """The Ifs of which not even the rank of a result is known."""
    ifs = [
        o for o in _operations(tried.model.graph) if o.op_type == "If" and o.domain == "" and TAKEN not in o.attributes
    ]
    known = known_of(tried.model, tried.translation, tried.report) if ifs else {}
    yield from (o for o in ifs if any(_is_open(known, name) for name in o.outputs))


def _is_open(known: Mapping[str, Inferred], name: str) -> bool:
    return name in known and known[name].shape is None and not known[name].cases


def _operations(graph: Graph) -> Iterator[Operation]:
    for operation in graph.operations:
        yield operation
        for inner in _inside(operation):
            yield from _operations(inner)


def _inside(operation: Operation) -> Iterator[Graph]:
    """The graphs of a node that may run."""
    taken = operation.attributes.get(TAKEN)
    for name in [taken] if taken in ARMS else operation.attributes:
        yield from graphs(operation.attributes.get(name))


def _around(graph: Graph, at: Operation) -> tuple[Graph, ...]:
    """The graphs that a node stands in, the innermost first."""
    if any(o is at for o in graph.operations):
        return (graph,)
    found = (_around(inner, at) for o in graph.operations for inner in _inside(o))
    inside: tuple[Graph, ...] = next(filter(None, found), ())
    return (*inside, graph) if inside else ()


def _taking(model: Model, at: Operation, arm: str, why: str) -> Model:
    def graph(old: Graph) -> Graph:
        return replace(old, operations=tuple(map(operation, old.operations)))

    def operation(old: Operation) -> Operation:
        if old is at:
            return replace(old, attributes={**old.attributes, TAKEN: arm, WHY: why})
        inner = {n: graph(v) for n, v in old.attributes.items() if isinstance(v, Graph)}
        return replace(old, attributes={**old.attributes, **inner}) if inner else old

    return replace(model, graph=graph(model.graph))
