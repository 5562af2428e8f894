"""The contract of a checked model: the conditions on its inputs, each with the nodes that demand it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ..frontends.onnx.inference import Inferred, inference
from ..frontends.onnx.model import Model, Operation
from ..frontends.onnx.paths import Paths
from ..frontends.onnx.ranges import Indices, Spread, TableIndices
from ..frontends.onnx.translate import Translation
from ..lang.checked import Case, Checked, Conditions, EntryCondition, UndecidedCheck
from ..lang.diagnostics import Diagnostic
from ..lang.expressions import names_in
from ..lang.node import Node, replace
from ..lang.source import Span
from ..pipeline import Report
from ..simplify.solver.conditions import render_cond
from ..simplify.solver.exprs import ExpressionError, QuestionScope, read_condition, read_size
from ..simplify.solver.numbers import holds_at, size_at
from ..simplify.solver.prove import prove
from ..simplify.solver.rendering import render
from ..simplify.solver.terms import TooLarge
from .replay import Parameter, Unanswered, failure_at

Shape = tuple[int | str, ...]


# The dtype of an integer that is a size; its shape has its name.
SIZE = "Size"


class Typed(Node):
    """An input or an output: `shape` is None where the rank is not known; a size is a number, Rx text, or "?". `cases` are
    the shapes if sizes decide the rank or the path. An integer that is a size has the dtype SIZE and its name as its
    shape."""

    name: str
    dtype: str | None
    shape: Shape | None
    cases: tuple[Case, ...] = ()


class Demand(Node):
    """A node that demands something: its condition in words, its place in the source, the path to it from an input, and its
    reason in a few words. `is_of_elements`: it depends on a tensor's elements, not on its shape."""

    node: str
    needs: str
    trace: str | None
    way: tuple[str, ...]
    gist: str = ""
    is_of_elements: bool = False


class Clause(Node):
    """A condition on sizes, as Rx text, with the smallest sizes that break it alone, and the first failure at these; `ran` is
    the message of the kernels, if they ran there."""

    condition: str
    sizes: tuple[str, ...]
    demands: tuple[Demand, ...]
    witness: Mapping[str, int] | None
    fails: Demand | None = None
    ran: str | None = None


class IndexRange(Node):
    """Every element of an input is at least `least` and at most `most` (both included); `ran` is the message of the kernels,
    if they ran with one more."""

    input: str
    least: int | str
    most: int | str
    demand: Demand
    ran: str | None = None


class Supposed(Node):
    """A call in Python code that has no rule: its result is taken from PyTorch."""

    op: str
    file: str
    line: int


class Contract(Node):
    """The conditions of a model, in the size names of its program; `sizes` has the model's own name of a size where it
    differs; `declared` follows from the declaration of the inputs alone; `undecided` are the checks that other data decides.
    `exact` is False where some inputs may break a condition and be accepted; `narrower` is True where these are empty
    tensors alone, which an operator takes and Rx refuses on purpose. Only huge sizes break conditions in `supposed`: the
    model keeps them in narrow dtypes. `operations` are Python calls without a rule. All of it holds only under the
    conditions in `given`."""

    inputs: tuple[Typed, ...]
    sizes: Mapping[str, str]
    conditions: tuple[Clause, ...]
    ranges: tuple[IndexRange, ...]
    declared: tuple[str, ...]
    undecided: tuple[Demand, ...]
    outputs: tuple[Typed, ...]
    exact: bool = True
    supposed: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    operations: tuple[Supposed, ...] = ()
    narrower: bool = False

    def __str__(self) -> str:
        """The text that `rx check` prints."""
        from .block import block  # it imports this module

        return "\n".join(block("the model", self))


def known_of(model: Model, translation: Translation, report: Report) -> Mapping[str, Inferred]:
    """The inferred facts about a model's values, over the sizes of its program."""
    if not report.ok or report.checked is None:
        return {}
    shapes, own = report.checked.shapes, {name: name for name in translation.sizes}
    return inference(model, replace(translation, sizes=own), shapes, report.diagnostics, report.counts).values


def contract_of(
    model: Model, translation: Translation, report: Report, values: Mapping[str, Inferred]
) -> Contract | None:
    """The contract; None for a model that cannot be checked, or that no sizes satisfy; `values` are the inferred facts."""
    if not report.ok or report.checked is None:
        return None
    said = conditions_of(report.checked)
    inputs = inputs_of(model, values)
    writer = Writer(model, translation, inputs, report.checked)
    clauses = tuple(map(writer.clause, said.conditions))
    are_shown = all(c.witness is not None for c, found in zip(clauses, said.conditions, strict=True) if found.witness)
    indices, by_sizes = Indices(model, values), writer.nodes(said.by_sizes)
    counted = list(indices.spread())
    for one in filter(writer.can_say, counted):
        clauses += tuple(writer.spread(clauses, one))
    looked_up = [one for one in indices.undecided() if str(one[0]) not in by_sizes]
    looked_up += [
        (s.range.operation, s.range.input, f"be an index of axis {s.range.axis} of `{s.range.table}`")
        for s in counted
        if not writer.can_say(s)
    ]
    return Contract(
        inputs,
        dict(_originals(translation.sizes, inputs)),
        clauses,
        tuple(map(writer.range, indices.inputs())),
        tuple(_declared(inputs)),
        tuple(dict.fromkeys((*map(writer.demand, said.left), *(writer.looked_up(*one) for one in looked_up)))),
        tuple(_typed(v.name, values.get(v.name)) for v in model.graph.outputs),
        said.exact and are_shown and not said.narrower,
        said.supposed,
        narrower=said.exact and are_shown and said.narrower,
    )


def conditions_of(checked: Checked) -> Conditions:
    """The conditions of a checked model on its inputs."""
    return next((c for c in checked.conditions if c.name == "@main"), Conditions("@main", (), (), True))


def inputs_of(model: Model, values: Mapping[str, Inferred]) -> tuple[Typed, ...]:
    """The inputs that a caller must give, in order."""
    held = {t.name for t in model.graph.initializers}
    return tuple(_typed(v.name, values.get(v.name)) for v in model.graph.inputs if v.name not in held)


def _originals(sizes: Mapping[str, str], inputs: Iterable[Typed]) -> Iterator[tuple[str, str]]:
    """The sizes of the inputs that have another name in the model."""
    used = set(names_in(*(size for i in inputs for size in i.shape or ())))
    yield from ((made, name) for made, name in sizes.items() if made != name and made in used)


def _typed(name: str, value: Inferred | None) -> Typed:
    return Typed(name, None, None) if value is None else Typed(name, value.dtype, value.shape, value.cases)


def _declared(inputs: Iterable[Typed]) -> Iterator[str]:
    """Facts from the declaration of the inputs alone: ranks, fixed sizes, one name for two sizes."""
    first: dict[str, str] = {}
    for value in inputs:
        if value.shape is None or "(" in (value.dtype or ""):  # a container has no rank
            continue
        yield f"`{value.name}` has rank {len(value.shape)}"
        for axis, size in enumerate(value.shape):
            place = f"axis {axis} of `{value.name}`"
            if isinstance(size, int):
                yield f"{place} is {size}"
            elif size in first:
                yield f"{place} is {size}, as {first[size]} is"
            elif not size.isidentifier():
                yield f"{place} is {size}"
            else:
                first[size] = place


def parameters(translation: Translation, inputs: Iterable[Typed]) -> tuple[Parameter, ...]:
    """The inputs as the parameters of the model's program."""
    made = {original: name for name, original in translation.names.items()}
    return tuple(Parameter(made[i.name], i.dtype, i.shape) for i in inputs)


def failed(said: Diagnostic) -> UndecidedCheck:
    """The check that a failure belongs to."""
    return UndecidedCheck(said.sentence.claim if said.sentence is not None else said.message, said.span)


class Writer:
    """The demands of a model, by the names of its nodes."""

    def __init__(
        self,
        model: Model,
        translation: Translation,
        inputs: tuple[Typed, ...],
        checked: Checked,
    ) -> None:
        self.made = translation.source.made
        self.paths = Paths(model.graph)
        self.inputs, self.checked = inputs, checked
        self.entry_check = conditions_of(checked).entry_check
        self.params = parameters(translation, inputs)

    def clause(self, condition: EntryCondition) -> Clause:
        """The condition with its witness, unless nothing fails there: then some inputs may break it and be accepted."""
        demands = tuple(self.demand(asked, condition.sizes) for asked in condition.asked)
        fails, is_shown = self.shown(condition)
        witness = condition.witness if is_shown else None
        return Clause(condition.text, condition.sizes, demands, witness, fails)

    def shown(self, condition: EntryCondition) -> tuple[Demand | None, bool]:
        """The first failure at a condition's witness, and whether the witness is kept."""
        if condition.witness is None:
            return None, False
        try:
            said = failure_at(self.checked, self.params, condition.witness)
        except Unanswered:
            return None, True
        return (None, False) if said is None else (self.demand(failed(said), condition.sizes), True)

    def demand(self, asked: UndecidedCheck, sizes: Iterable[str] = ()) -> Demand:
        made = self.made.get(asked.place.line)
        if made is None:
            return Demand("the inputs", asked.needs, None, ())
        return Demand(made.what, asked.needs, made.trace, self.paths.to(made.what, self._with(sizes)), asked.gist)

    def _with(self, sizes: Iterable[str]) -> list[str]:
        """The inputs that have one of the given sizes."""
        wanted = set(sizes)
        return [i.name for i in self.inputs if any(wanted & set(str(d).split()) for d in i.shape or ())]

    def range(self, found: TableIndices) -> IndexRange:
        node, size = str(found.operation), found.size
        cast = f", as {found.cast}" if found.cast else ""
        made = "" if found.is_as_given else "a value computed from "
        what = "lengths along" if found.is_length else "indices into"
        needs = (
            f"{made}`{found.input}` holds {what} axis {found.axis} of `{found.table}`, which has {size} entries{cast}"
        )
        way = self.paths.to(node, [found.input])
        least, most = _end(found.least, size), _end(found.most, size)
        return IndexRange(found.input, least, most, Demand(node, needs, found.operation.trace, way))

    def nodes(self, places: Iterable[Span]) -> set[str]:
        """The nodes at some places of the program, only those with a unique name."""
        lines = Counter(made.what for made in self.made.values())
        found = {self.made[place.line].what for place in places if place.line in self.made}
        return {what for what in found if lines[what] == 1}

    def looked_up(self, operation: Operation, name: str, what: str) -> Demand:
        """A demand on the elements of a value that only data decides."""
        node = str(operation)
        return Demand(node, f"every element of `{name}` has to {what}", operation.trace, self.paths.to(node))

    def can_say(self, found: Spread) -> bool:
        """Whether the table's length depends only on sizes of the inputs, which callers know."""
        sizes = names_in(*(size for i in self.inputs for size in i.shape or ()))
        return set(names_in(found.range.size)) <= set(sizes)

    def spread(self, known: tuple[Clause, ...], found: Spread) -> Iterator[Clause]:
        """Conditions on sizes that keep indices in their table: the first and the last of them."""
        one, texts = found.range, [*self.entry_check, *(c.condition for c in known)]
        ends = (f"{found.last} < {one.size}", f"-({one.size}) <= {found.first}")
        for text in (f"{found.last} <= {one.size}", f"0 <= {found.first}") if one.is_length else ends:
            if not self._follows(texts, text):
                yield self._spread(texts, found, _plain(text))

    def _follows(self, texts: list[str], goal: str) -> bool:
        return prove(texts, goal)["result"] in ("valid", "vacuous")

    def _spread(self, texts: list[str], found: Spread, text: str) -> Clause:
        one, sizes = found.range, tuple(names_in(text))
        node = str(one.operation)
        what = "lengths" if one.is_length else "indices"
        indices = f"its {what} go from {_plain_size(found.first)} to {_plain_size(found.last)}"
        needs = f"{indices}, and axis {one.axis} of `{one.table}` has {one.size} entries"
        way = self.paths.to(node, self._with(sizes))
        demand = Demand(node, needs, one.operation.trace, way, f"{one.size} positions")
        point = self._point(prove(texts, text).get("witness"))
        if point is None or holds_at(text, point) is not False or not all(holds_at(t, point) for t in texts):
            return Clause(text, sizes, (demand,), None)
        ends = size_at(found.first, point), size_at(found.last, point)
        entries = f"and axis {one.axis} of `{one.table}` has {size_at(one.size, point)} entries"
        fails = replace(demand, needs=f"its {what} go from {ends[0]} to {ends[1]}, {entries}")
        return Clause(text, sizes, (demand,), point, fails)

    def _point(self, found: Mapping[str, int] | None) -> dict[str, int] | None:
        """A witness with all sizes of the inputs."""
        names = names_in(*(size for i in self.inputs for size in i.shape or ()))
        return None if found is None else {name: found.get(name, 1) for name in names}


def _end(end: tuple[int, int], size: int | str) -> int | str:
    """A multiple of a size plus an offset, as Rx text."""
    times, more = end
    if not times:
        return more
    if isinstance(size, int):
        return times * size + more
    text = {1: size, -1: f"-({size})"}.get(times, f"{times} * {size if size.isidentifier() else f'({size})'}")
    return f"{text} {'-' if more < 0 else '+'} {abs(more)}" if more else text


def _plain(text: str) -> str:
    """A condition in its shortest form."""
    try:
        return render_cond(read_condition(text, QuestionScope()))
    except (ExpressionError, TooLarge):
        return text


def _plain_size(text: int | str) -> str:
    try:
        return render(read_size(str(text), QuestionScope()))
    except (ExpressionError, TooLarge):
        return str(text)
