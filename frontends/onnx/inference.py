"""What checking a translated model says of its values, by the model's names: shapes, dtypes, and how each node fared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from ...lang.checked import Binding, Counts, FunctionShapes
from ...lang.diagnostics import Diagnostic
from ...lang.node import Node
from .model import Graph, Model, Operation
from .names import Originals
from .translate import Translation

Status = Literal["success", "partial", "missing_info", "invalid_node"]
Policy = Literal["overwrite", "ignore", "reconcile", "strict"]


class Inferred(Node):
    """What is known of one value: a size is an int, an expression over the sizes of the inputs, or "?"; `shape` is None where
    not even the rank is known. `data` has its elements, where all of them are sizes."""

    shape: tuple[int | str, ...] | None
    dtype: str | None
    exactness: tuple[str, ...]
    bounds: tuple[str | None, ...] = ()
    data: tuple[int | str, ...] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return self.shape is not None and "?" not in self.shape and self.dtype is not None


class NodeStatus(Node):
    """How inference fared at a node; `message` says what is wrong or missing."""

    name: str
    op_type: str
    domain: str
    status: Status
    message: str | None


class Inference(Node):
    """Values and nodes of a model. `names` has for names of sizes that are none in an expression what they are called there."""

    values: Mapping[str, Inferred]
    nodes: tuple[NodeStatus, ...]
    counts: Counts
    names: Mapping[str, str] = {}


def inference(
    model: Model,
    translation: Translation,
    shapes: Iterable[FunctionShapes],
    diagnostics: Sequence[Diagnostic],
    counts: Counts,
) -> Inference:
    main = next((f for f in shapes if f.name == "@main"), None)
    known = {} if main is None else {b.name: b for b in (*main.params, *main.bindings)}
    sizes = Originals(translation.sizes)
    values = {name: _inferred(known[made], sizes) for made, name in translation.names.items() if made in known}
    said = _by_node(translation, diagnostics)
    nodes = tuple(_status(operation, values, said.get(str(operation))) for operation in _operations(model.graph))
    names = {sizes.sizes[made]: name for made, name in sizes.in_expressions.items()}
    return Inference(values, nodes, counts, names)


def _inferred(binding: Binding, sizes: Originals) -> Inferred:
    dtype = binding.dtype if binding.dtype != "?" else None
    shape = None if binding.shape is None else tuple(s if isinstance(s, int) else sizes.of(s) for s in binding.shape)
    bounds = tuple(None if b is None else sizes.of(b) for b in binding.bounds)
    data = None if binding.data is None else tuple(e if isinstance(e, int) else sizes.of(e) for e in binding.data)
    return Inferred(shape, dtype, binding.exactness, bounds, data)


def _by_node(translation: Translation, diagnostics: Iterable[Diagnostic]) -> dict[str, Diagnostic]:
    """The first error at each node."""
    found: dict[str, Diagnostic] = {}
    source = translation.source
    for d in diagnostics:
        if d.severity == "error" and d.span.source.name == source.name:
            made = source.made.get(d.span.source.position(d.span.start)[0])
            if made is not None:
                found.setdefault(made.what, d)
    return found


def _said(wrong: Diagnostic) -> str:
    """What is wrong, and at which input."""
    source, start, end = wrong.span
    _, input_, at = source.place(start, end).rpartition(", input ")
    return f"{wrong.message} (input {at})" if input_ else wrong.message


def _operations(graph: Graph) -> Iterator[Operation]:
    for operation in graph.operations:
        yield operation
        for value in operation.attributes.values():
            if isinstance(value, Graph):
                yield from _operations(value)


def _status(operation: Operation, values: Mapping[str, Inferred], wrong: Diagnostic | None) -> NodeStatus:
    def status(kind: Status, message: str | None = None) -> NodeStatus:
        return NodeStatus(operation.name, operation.op_type, operation.domain, kind, message)

    if wrong is not None:
        return status("invalid_node", _said(wrong))
    outputs = {name: values.get(name) for name in operation.outputs if name}
    open_ones = [name for name, value in outputs.items() if value is None or not value.is_whole]
    if not open_ones:
        return status("success")
    unknown = [name for name in operation.inputs if name in values and not values[name].is_whole]
    if unknown:
        return status("missing_info", f"the shape of `{unknown[0]}` is not known")
    return status("partial", f"only the data decides the shape of `{open_ones[0]}`")
