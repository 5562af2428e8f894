"""The Rx program of a model: its text, and the node of each line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...lang import codes
from ...lang.cells import shown
from ...lang.diagnostics import Diagnostic, RxError, error
from ...lang.node import Node
from ...lang.source import MadeSource, Source, place_in
from .block import GraphBlock
from .consistency import graphs
from .control import CONTROL
from .entry import entry_lines, promised
from .literals import Unwritten
from .model import Graph, Model, TensorType
from .prelude import Prelude
from .reading import read_model
from .writer import Writer


class Translation(Node):
    """A model as a program: a text that knows its nodes, the model's name for each Rx name of a value in its graphs, and the
    same for sizes. For nodes that are `wrong` it uses the declared types of their results."""

    source: Source
    names: Mapping[str, str]
    sizes: Mapping[str, str]
    notes: tuple[Diagnostic, ...]
    wrong: tuple[Diagnostic, ...] = ()


def translate(
    model: Model, held: str | None = None, prelude: Prelude | None = None, *, keeps_functions: bool = False
) -> Translation:
    """The program of a model, whose weights are in a file called `held`, else in the model's own; `prelude` has rules for
    operators. Functions of the model are expanded at their calls, so that diagnostics point at the call's node; or they are
    kept, for readers. Raises RxError for inputs that no program can have, and for a model with too many mistakes."""
    writer = Writer(model, held or model.path.name, prelude or Prelude(), keeps_functions=keeps_functions)
    try:
        _write(writer)
    except Unwritten as problem:
        raise RxError(error(codes.E247, str(problem), place_in(writer.path, MadeSource("its inputs")))) from None
    found = Counter(_values(model.graph))
    names = {writer.values.value(name): name for name, times in found.items() if times == 1}
    sizes = dict(writer.values.sizes())
    text = "\n".join(writer.lines) + "\n"
    source = Source(str(model.path), text, writer.made)
    return Translation(source, names, sizes, tuple(writer.notes), tuple(writer.wrong))


def _values(graph: Graph) -> Iterator[str]:
    """The names of the values in a graph and its inner graphs, which may repeat."""
    yield from {v.name: None for v in graph.inputs} | {t.name: None for t in graph.initializers}
    for operation in graph.operations:
        yield from (name for name in operation.outputs if name)
        for value in operation.attributes.values():
            for inner in graphs(value):
                yield from _values(inner)


def _write(writer: Writer) -> None:
    """Write the whole program, from the first line."""
    model, graph = writer.model, writer.model.graph
    given = {t.name for t in graph.initializers}
    inputs = [v for v in graph.inputs if v.name not in given]
    block = GraphBlock(writer, None, model.opsets, CONTROL)
    head = f"@main = fn({', '.join(writer.param(v) for v in inputs)}) {{"
    block.types = {v.name: v.type for v in (*graph.values, *graph.inputs, *graph.outputs) if v.type is not None}
    block.types |= {t.name: TensorType(t.dtype, t.shape) for t in graph.initializers}
    block.given = {v.name for v in inputs}
    block.lines += _promised(writer)
    block.initializers(graph.initializers)
    block.operations(graph.operations)
    result = block.result([v.name for v in graph.outputs])
    opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in model.opsets.items())
    above = [shown(f"# {model.path.name}, made by {model.producer or 'nobody'}: {opsets}")]
    if writer.keeps_functions:
        above += _originals("inputs", {writer.values.value(v.name): v.name for v in inputs})
        above += _originals("outputs", {block.name(v.name): v.name for v in graph.outputs})
        above += _originals("sizes", dict(writer.values.sizes()))
    writer.put_first([*above, *writer.prelude.text.splitlines()])
    writer.line(head)
    writer.inside(block.lines)
    writer.line(f"  {result}")
    writer.line("}")


def _promised(writer: Writer) -> list[tuple[str, MadeSource]]:
    """The contract in the metadata of an exported model, as lines."""
    try:
        found = promised(writer.model)
    except ValueError as problem:
        writer.refuse(f"the contract in its metadata {problem}", MadeSource("its metadata"))
        return []
    return [] if found is None else list(entry_lines(found, writer.values))


def _originals(what: str, names: Mapping[str, str]) -> Iterator[str]:
    """A comment with the names that differ in the model."""
    others = [f"{made} is `{original}`" for made, original in names.items() if made != original]
    if others:
        yield shown(f"# {what}: {', '.join(others)}")


def opened(name: str, base: Path) -> tuple[Source, tuple[Diagnostic, ...]]:
    """The program of a model file, and its diagnostics."""
    try:
        found = translate(read_model(base / Path(name).name))
    except RxError as problem:
        return Source(name, ""), problem.diagnostics
    return Source(name, found.source.text, found.source.made), (*found.notes, *found.wrong)
