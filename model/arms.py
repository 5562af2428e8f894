"""A model in which arms of different ranks are left open, to the same with the arms that what follows can work with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from ..frontends.onnx.consistency import graphs, read_by
from ..frontends.onnx.control import ARMS, TAKEN, WHY
from ..frontends.onnx.inference import Inferred
from ..frontends.onnx.model import Graph, Model, Operation
from ..frontends.onnx.translate import Translation
from ..lang.diagnostics import RxError
from ..lang.node import Node, replace
from ..pipeline import Loaded, Report, check_loaded
from ..simplify.known.outcome import Options
from .contract import failed, known_of

# So many times a model is checked with arms taken, and so many nodes of it in all.
_MOST, _MOST_NODES = 16, 20_000


class Tried(Node):
    """A model with its program and what checking that gave; `loaded` is the program, to be checked with other options."""

    model: Model
    translation: Translation
    loaded: Loaded
    report: Report

    def checked(self, options: Options) -> Tried:
        """The same, checked with other options."""
        return tried_as(self.model, self.translation, self.loaded, options)


def tried_as(model: Model, translation: Translation, loaded: Loaded, options: Options) -> Tried:
    """A model checked, with what is wrong with its nodes among what is said of the program."""
    report = check_loaded(loaded, options)
    report = replace(report, diagnostics=(*translation.wrong, *report.diagnostics))
    return Tried(model, translation, loaded, report)


# What translates and checks a model; raises RxError.
Check = Callable[[Model], Tried]


def with_arms(first: Tried, check: Check) -> Tried:
    """The model with the one arm of each If with which what follows does not always fail, where the arms differ in rank and
    neither their condition nor what follows is decided otherwise. Everything that the model demands it demands then as well:
    that the condition takes that arm is one of its conditions. However many Ifs there are, `_MOST` checks are made."""
    search = _Search(check, min(_MOST, _MOST_NODES // (sum(1 for _ in _operations(first.model.graph)) + 1)))
    while (after := search.decided(first)) is not first:  # each that is decided may decide others
        first = after
    return first


class _Search:
    """Checks of a model with arms taken, `room` of them at most."""

    def __init__(self, check: Check, room: int) -> None:
        self.check, self.room = check, room

    def decided(self, first: Tried) -> Tried:
        """The model with one arm of an If, where the other one always fails; the same where there is none."""
        known = known_of(first.model, first.translation, first.report)
        ifs = list(_open(first.model.graph, known))
        for name, other in (ARMS, ARMS[::-1]):
            for at, failure in self._failing(first.model, [o for o in ifs if _has_rank(o, other, known)], other):
                made = self._tried(_taking(first.model, [at], name, failure))
                if made is not None and made.report.ok:
                    return made
        return first

    def _failing(self, model: Model, ifs: Sequence[Operation], arm: str) -> Iterator[tuple[Operation, str]]:
        """The Ifs behind which something always fails where they take such an arm. All of them take it at first: only those
        that what fails then depends on are tried alone, the nearest first."""
        every = self._tried(_taking(model, ifs, arm, "")) if ifs else None
        failing = [failed for at in ifs for failed, _ in _failures(model.graph, at, every)]
        suspects = {at.outputs: at for failed in failing for at in _before(model.graph, failed, ifs)}
        for at in suspects.values():
            tried = every if len(ifs) == 1 else self._tried(_taking(model, [at], arm, ""))
            yield from ((at, why) for _, why in islice(_failures(model.graph, at, tried), 1))

    def _tried(self, model: Model) -> Tried | None:
        """None where there is no room, and for a model that cannot be checked."""
        if not self.room:
            return None
        self.room -= 1
        try:
            return self.check(model)
        except RxError:
            return None


def _failures(graph: Graph, at: Operation, tried: Tried | None) -> Iterator[tuple[Operation, str]]:
    """What always fails behind an If, where whatever gets to the If gets there, in words too."""
    names = Counter(str(o) for o in _operations(graph))
    reached = {str(o): o for g in _around(graph, at) for o in _reached(g)}
    for said in () if tried is None else tried.report.diagnostics:
        made = None if tried is None else tried.translation.source.made.get(said.span.line)
        if said.severity == "error" and made is not None and made.what in reached and names[made.what] == 1:
            yield reached[made.what], f"{made.what} fails: {failed(said).needs}"


def _before(graph: Graph, failed: Operation, ifs: Sequence[Operation]) -> Iterator[Operation]:
    """Those of some Ifs that a node depends on, the nearest first."""
    givers = {name: o for o in _operations(graph) for name in o.outputs}
    waiting, seen = [failed], {failed.outputs}
    for operation in waiting:
        yield from (at for at in ifs if at is operation)
        for name in read_by(operation):
            if name in givers and givers[name].outputs not in seen:
                seen.add(givers[name].outputs)
                waiting.append(givers[name])


def _reached(graph: Graph) -> Iterator[Operation]:
    """The nodes that run where a graph does: those of the arms that were decided with them."""
    for operation in graph.operations:
        yield operation
        if TAKEN in operation.attributes:
            for inner in _inside(operation):
                yield from _reached(inner)


def _open(graph: Graph, known: Mapping[str, Inferred]) -> Iterator[Operation]:
    """The Ifs of which not even the rank of a result is known, but those in an arm that need not be taken: nobody is refused
    for what fails there."""
    for operation in graph.operations:
        inside = list(_inside(operation))
        if operation.op_type == "If" and operation.domain == "" and TAKEN not in operation.attributes:
            if any(_is_open(known, name) for name in operation.outputs):
                yield operation
            arms = [arm for arm in inside if any(name in known for o in arm.operations for name in o.outputs)]
            inside = arms if len(arms) == 1 else []
        for inner in inside:
            yield from _open(inner, known)


def _is_open(known: Mapping[str, Inferred], name: str) -> bool:
    return name in known and known[name].shape is None and not known[name].cases


def _has_rank(operation: Operation, arm: str, known: Mapping[str, Inferred]) -> bool:
    """Whether the rank of something that an arm gives is known: else nothing fails for it."""
    outputs = [v.name for graph in graphs(operation.attributes.get(arm)) for v in graph.outputs]
    return any(name not in known or known[name].shape is not None for name in outputs)


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


def _taking(model: Model, those: Sequence[Operation], arm: str, why: str) -> Model:
    def graph(old: Graph) -> Graph:
        return replace(old, operations=tuple(map(operation, old.operations)))

    def operation(old: Operation) -> Operation:
        taken = {TAKEN: arm, WHY: why} if any(old is at for at in those) else {}
        inner = {n: graph(v) for n, v in old.attributes.items() if isinstance(v, Graph)}
        return replace(old, attributes={**old.attributes, **inner, **taken}) if inner else old

    return replace(model, graph=graph(model.graph))
