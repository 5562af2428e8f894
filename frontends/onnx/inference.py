"""The check of a translated model in the model's names: shapes, dtypes, and a status of each node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from ...lang.checked import Binding, Case, Counts, FunctionShapes
from ...lang.diagnostics import Diagnostic
from ...lang.dtypes import HOLDERS
from ...lang.expressions import names_in
from ...lang.node import Node
from .block import constant_of
from .model import Graph, Model, Operation
from .names import Originals
from .operators.registry import Untranslatable
from .translate import Translation

Status = Literal["success", "partial", "missing_info", "invalid_node"]
Policy = Literal["overwrite", "ignore", "reconcile", "strict"]


class Inferred(Node):
    """The inferred facts about a value: a size is an int, an expression over the sizes of the inputs, or "?"; `shape` is None
    where the rank is unknown, and `cases` are the shapes where sizes decide the rank. `data` has its elements if all are
    sizes, with "?" for sizes of inner graphs."""

    shape: tuple[int | str, ...] | None
    dtype: str | None
    exactness: tuple[str, ...]
    bounds: tuple[str | None, ...] = ()
    data: tuple[int | str, ...] | None = None
    # The common facts about all elements of a sequence or an optional value.
    element: Inferred | None = None
    cases: tuple[Case, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether all facts are known."""
        by_sizes = self.cases if all(case.when is not None for case in self.cases) else ()
        shapes = tuple(case.shape for case in by_sizes) or (self.shape,)
        known = all(shape is not None and "?" not in shape for shape in shapes) and self.dtype is not None
        return known and (self.element is None or self.element.is_whole)


class NodeStatus(Node):
    """The status of inference at a node; `message` says what is wrong or missing."""

    name: str
    op_type: str
    domain: str
    status: Status
    message: str | None


class Inference(Node):
    """The values and nodes of a model. `names` maps names of sizes that are no names in an expression to those used there."""

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
    outer = {*(v.name for v in model.graph.inputs), *(o for node in model.graph.operations for o in node.outputs)}
    values = {
        name: _inferred(known[made], sizes, None if name in outer else translation.sizes)
        for made, name in translation.names.items()
        if made in known
    }
    once = frozenset(translation.names.values())
    values = {name: value for name, value in _held(model.graph) if name in once} | values
    said = _by_node(translation, diagnostics)
    nodes = tuple(
        _status(operation, values if main is not None else None, said.get(str(operation)))
        for operation in _operations(model.graph)
    )
    names = {sizes.sizes[made]: name for made, name in sizes.in_expressions.items()}
    return Inference(values, nodes, counts, names)


def _held(graph: Graph) -> Iterator[tuple[str, Inferred]]:
    """The constants among the nodes; large ones are loaded at the beginning of the program, without a statement."""
    for operation in _operations(graph):
        if operation.op_type == "Constant" and operation.domain == "" and operation.outputs:
            with suppress(Untranslatable):  # in a graph of an unknown node
                tensor = constant_of(operation)
                yield operation.outputs[0], Inferred(tensor.shape, tensor.dtype, ("exact",) * len(tensor.shape))


def _inferred(binding: Binding, sizes: Originals, named: Mapping[str, str] | None) -> Inferred:
    """The facts about a binding. In inner graphs, only sizes over those `named` outside are kept."""
    dtype = binding.dtype if binding.dtype != "?" else None

    def text(size: int | str | None) -> Any:
        if not isinstance(size, str):
            return size
        return sizes.of(size) if named is None or named.keys() >= set(names_in(size)) else "?"

    shape = None if binding.shape is None else tuple(map(text, binding.shape))
    bounds = tuple(None if b is None or text(b) == "?" else text(b) for b in binding.bounds)
    inside = [_inferred(item, sizes, named) for item in binding.items if binding.sort in HOLDERS]
    data = None if binding.data is None else tuple(map(text, binding.data))
    cases = tuple(Case(text(case.when), tuple(map(text, case.shape))) for case in binding.cases)
    return Inferred(shape, dtype, binding.exactness, bounds, data, _common(inside), cases)


def _common(inside: Sequence[Inferred]) -> Inferred | None:
    """The common facts about all elements of a value."""
    if not inside or any(i.dtype != inside[0].dtype for i in inside):
        return None
    if any(i.shape is None or len(i.shape) != len(inside[0].shape or ()) for i in inside):
        return Inferred(None, inside[0].dtype, ())
    shapes = zip(*(i.shape or () for i in inside), strict=True)
    sizes = tuple(of[0] if len(set(of)) == 1 else "?" for of in shapes)
    return Inferred(
        sizes, inside[0].dtype, tuple("unknown" if s == "?" else "exact" for s in sizes), (), None, inside[0].element
    )


def _by_node(translation: Translation, diagnostics: Iterable[Diagnostic]) -> dict[str, Diagnostic]:
    """The first error at each node."""
    found: dict[str, Diagnostic] = {}
    source = translation.source
    for d in diagnostics:
        if d.severity == "error" and d.span.source.name == source.name:
            made = d.span.source.made.get(d.span.line)
            if made is not None:
                found.setdefault(made.what, d)
    return found


def _said(wrong: Diagnostic) -> str:
    """The message, and the input that it concerns."""
    source, start, end = wrong.span
    at = source.input_at(start, end)
    return wrong.message if at is None else f"{wrong.message} (input {at})"


def _operations(graph: Graph) -> Iterator[Operation]:
    for operation in graph.operations:
        yield operation
        for value in operation.attributes.values():
            if isinstance(value, Graph):
                yield from _operations(value)


def _status(operation: Operation, values: Mapping[str, Inferred] | None, wrong: Diagnostic | None) -> NodeStatus:
    def status(kind: Status, message: str | None = None) -> NodeStatus:
        return NodeStatus(operation.name, operation.op_type, operation.domain, kind, message)

    if wrong is not None:
        return status("invalid_node", _said(wrong))
    if values is None:
        return status("missing_info", "another node is wrong, and this one was not looked at")
    outputs = {name: values.get(name) for name in operation.outputs if name}
    open_ones = [name for name, value in outputs.items() if value is None or not value.is_whole]
    if not open_ones:
        return status("success")
    unknown = [name for name in operation.inputs if name in values and not values[name].is_whole]
    if unknown:
        return status("missing_info", f"the shape of `{unknown[0]}` is not known")
    return status("partial", f"only the data decides the shape of `{open_ones[0]}`")
