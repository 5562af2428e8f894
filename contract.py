"""A checked model to its contract: what its inputs must satisfy, each condition with the nodes that demand it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from .frontends.onnx.inference import Inferred, inference
from .frontends.onnx.model import Model
from .frontends.onnx.paths import Paths
from .frontends.onnx.ranges import Range, counted, ranges
from .frontends.onnx.translate import Translation
from .lang.checked import Asked, Condition, Conditions
from .lang.node import Node
from .pipeline import Report
from .simplify.solver.prove import prove_line

Shape = tuple[int | str, ...]


class Typed(Node):
    """An input or an output: `shape` is None where the rank is not known; a size is a number, Rx text, or "?"."""

    name: str
    dtype: str | None
    shape: Shape | None


class Demand(Node):
    """A node that demands something: what it needs in words, where its author wrote it, and the way to it from an input."""

    node: str
    needs: str
    trace: str | None
    way: tuple[str, ...]


class Clause(Node):
    """A condition on sizes, as Rx text, with the smallest sizes that break it alone."""

    condition: str
    sizes: tuple[str, ...]
    demands: tuple[Demand, ...]
    witness: Mapping[str, int] | None


class IndexRange(Node):
    """Every element of an input is at least `least` and at most `most` (both included)."""

    input: str
    least: int | str
    most: int | str
    demand: Demand


class Contract(Node):
    """`sizes` has the model's names of those sizes that have another one here; `declared` is what only the model's declaration
    of its inputs asks for; `undecided` are the checks that other data decides. `exact` is False where some inputs may break a
    condition and be accepted. What is `supposed` of sizes, only huge ones break: the model keeps them in narrow dtypes."""

    inputs: tuple[Typed, ...]
    sizes: Mapping[str, str]
    conditions: tuple[Clause, ...]
    ranges: tuple[IndexRange, ...]
    declared: tuple[str, ...]
    undecided: tuple[Demand, ...]
    outputs: tuple[Typed, ...]
    exact: bool = True
    supposed: tuple[str, ...] = ()


def contract(model: Model, translation: Translation, report: Report) -> Contract | None:
    """None for a model that cannot be checked, or that no sizes satisfy."""
    if not report.ok or report.checked is None:
        return None
    found = inference(model, translation, report.checked.shapes, report.diagnostics, report.counts)
    said = next((c for c in report.checked.conditions if c.name == "@main"), Conditions("@main", (), (), True))
    given = {t.name for t in model.graph.initializers}
    inputs = tuple(_typed(v.name, found.values.get(v.name)) for v in model.graph.inputs if v.name not in given)
    writer = _Writer(model, translation, inputs)
    clauses = tuple(map(writer.clause, said.conditions))
    shapes = {name: v.shape for name, v in found.values.items() if v.shape is not None}
    clauses += tuple(writer.counted(clauses, counted(model, shapes)))
    return Contract(
        inputs,
        {made: name for made, name in translation.names.items() if any(made in _words(i.shape) for i in inputs)},
        clauses,
        tuple(writer.range(r) for r in ranges(model, shapes)),
        tuple(_declared(inputs)),
        tuple(map(writer.demand, said.left)),
        tuple(_typed(v.name, found.values.get(v.name)) for v in model.graph.outputs),
        said.exact,
        said.supposed,
    )


def _typed(name: str, value: Inferred | None) -> Typed:
    return Typed(name, None, None) if value is None else Typed(name, value.dtype, value.shape)


def _words(shape: Shape | None) -> set[str]:
    return {str(size) for size in shape or ()}


def _declared(inputs: Iterable[Typed]) -> Iterator[str]:
    """What the declaration of the inputs alone says: ranks, fixed sizes, one name for two sizes."""
    first: dict[str, str] = {}
    for value in inputs:
        if value.shape is None:
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


class _Writer:
    """What a model demands, by the names of its nodes."""

    def __init__(self, model: Model, translation: Translation, inputs: tuple[Typed, ...]) -> None:
        self.made = translation.source.made
        self.paths = Paths(model.graph)
        self.inputs = inputs

    def clause(self, condition: Condition) -> Clause:
        return Clause(
            condition.text,
            condition.sizes,
            tuple(self.demand(asked, condition.sizes) for asked in condition.asked),
            condition.witness,
        )

    def demand(self, asked: Asked, sizes: Iterable[str] = ()) -> Demand:
        line = asked.place.source.position(asked.place.start)[0]
        made = self.made.get(line)
        if made is None:
            return Demand("the inputs", asked.needs, None, ())
        return Demand(made.what, asked.needs, made.trace, self.paths.to(made.what, self._with(sizes)))

    def _with(self, sizes: Iterable[str]) -> list[str]:
        """The inputs that have one of some sizes."""
        wanted = set(sizes)
        return [i.name for i in self.inputs if any(wanted & set(str(d).split()) for d in i.shape or ())]

    def range(self, found: Range) -> IndexRange:
        node, size = str(found.operation), found.size
        least = -size if isinstance(size, int) else f"-({size})"
        most = size - 1 if isinstance(size, int) else f"{size} - 1"
        needs = f"`{found.input}` holds indices into axis {found.axis} of `{found.table}`, which has {size} entries"
        return IndexRange(
            found.input, least, most, Demand(node, needs, found.operation.trace, self.paths.to(node, [found.input]))
        )

    def counted(self, known: tuple[Clause, ...], found: Iterable[tuple[Range, int | str]]) -> Iterator[Clause]:
        """Indices that count up from 0 are in a table where they are at most as many."""
        for one, count in found:
            text = f"{count} <= {one.size}"
            answer = prove_line(_question([c.condition for c in known], text))
            if answer["result"] in ("neither", "unsat"):
                node = str(one.operation)
                needs = f"{count} indices count up from 0 into axis {one.axis} of `{one.table}`, which has {one.size} entries"
                sizes = tuple(w for w in answer.get("witness", ()))
                way = self.paths.to(node, self._with(sizes))
                yield Clause(text, sizes, (Demand(node, needs, one.operation.trace, way),), answer.get("witness"))


def _question(assume: list[str], goal: str) -> str:
    from json import dumps

    return dumps({"assume": assume, "goal": goal})
