"""A model to an Rx program: its text, and which node each line was made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ...lang.diagnostics import Diagnostic, RxError
from ...lang.node import Node
from ...lang.source import Source
from .block import Block
from .control import CONTROL
from .model import Graph, Model, TensorType
from .prelude import Prelude
from .reading import read_model
from .writer import Writer


class Translation(Node):
    """A model as a program: a text that knows its nodes, and for each Rx name of a value of the graph the model's, and the
    same for sizes."""

    source: Source
    names: Mapping[str, str]
    sizes: Mapping[str, str]
    notes: tuple[Diagnostic, ...]


def translate(model: Model, held: str | None = None, prelude: Prelude | None = None) -> Translation:
    """The program that is a model, whose weights are in a file called `held`, else in the model's own; `prelude` has rules for
    operators. Raises RxError for a node that no program can be."""
    writer = Writer(model, held or model.path.name, prelude or Prelude())
    _write(writer)
    names = {writer.values.value(name): name for name in _values(model.graph)}
    sizes = dict(writer.values.sizes())
    text = "\n".join(writer.lines) + "\n"
    return Translation(Source(str(model.path), text, writer.made), names, sizes, tuple(writer.notes))


def _values(graph: Graph) -> Iterator[str]:
    """The names of a graph's values."""
    yield from (v.name for v in graph.inputs)
    yield from (t.name for t in graph.initializers)
    yield from (name for o in graph.operations for name in o.outputs if name)


def _write(writer: Writer) -> None:
    """The whole program, from the first line."""
    model, graph = writer.model, writer.model.graph
    given = {t.name for t in graph.initializers}
    inputs = [v for v in graph.inputs if v.name not in given]
    block = Block(writer, None, model.opsets, CONTROL)
    head = f"@main = fn({', '.join(writer.param(v) for v in inputs)}) {{"
    block.types = {v.name: v.type for v in (*graph.values, *graph.inputs, *graph.outputs) if v.type is not None}
    block.types |= {t.name: TensorType(t.dtype, t.shape) for t in graph.initializers}
    block.initializers(graph.initializers)
    block.operations(graph.operations)
    result = block.result([v.name for v in graph.outputs])
    opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in model.opsets.items())
    above = [f"# {model.path.name}, made by {model.producer or 'nobody'}: {opsets}"]
    writer.put_first([*above, *writer.prelude.text.splitlines()])
    writer.line(head)
    writer.inside(block.lines)
    writer.line(f"  {result}")
    writer.line("}")


def opened(name: str, base: Path) -> tuple[Source, tuple[Diagnostic, ...]]:
    """The program that a model file is, and what is to be said of it."""
    try:
        found = translate(read_model(base / Path(name).name))
    except RxError as problem:
        return Source(name, ""), problem.diagnostics
    return Source(name, found.source.text, found.source.made), found.notes
