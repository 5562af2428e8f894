"""Control flow of a model in Rx: If, Loop and Scan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...lang.expressions import grouped
from ...lang.node import Node, replace
from ...lang.onnx_weights import ELEMENTS
from .block import Control, GraphBlock, constant_of
from .counting import CountedModel, counted, holds, is_endless
from .model import Graph, ModelValue, Operation, OptionalType, SequenceType, TensorType
from .operators.registry import Reader, Untranslatable
from .types import opaque_text
from .writer import Line

_ARMS = ("then_branch", "else_branch")


def _graph(operation: Operation, name: str) -> Graph:
    """The graph in an attribute."""
    found = operation.attributes.get(name)
    if not isinstance(found, Graph):
        raise Untranslatable(f"has no graph as its attribute `{name}`")
    return found


def branch(block: GraphBlock, operation: Operation) -> list[Line]:
    """ONNX If."""
    arms = []
    made, condition = block.made, Reader(operation, block).x(0)
    for name in _ARMS:
        graph = _graph(operation, name)
        arm = block.inner(graph)
        arms.append((arm, arm.result([v.name for v in graph.outputs])))
    block.made = made
    first = block.braced(f"if (@reshape({condition}, []))", *arms[0])
    return [*first[:-1], *block.braced("} else", *arms[1])]


# Loop

# The most turns of a loop without a trip count: the largest int64.
_ENDLESS = 2**63 - 1


class _Parts(Node):
    """The parts of a Loop: its trip count and its condition ("" if absent), the names of the turn's number and of the
    condition in its body, each carry with its first value, the results of a turn, and the stacked values."""

    graph: Graph
    count: str
    cond: str
    turn: str
    go: str
    carries: tuple[tuple[ModelValue, str], ...]
    ends: tuple[ModelValue, ...]
    stacked: tuple[ModelValue, ...]
    # Whether the condition never ends the loop.
    stays: bool
    # The count, if the condition alone ends the loop, after a known number of turns.
    counted: CountedModel | None = None


def _parts(block: GraphBlock, operation: Operation) -> _Parts:
    graph = _graph(operation, "body")
    count, cond, *firsts = (*operation.inputs, "", "")[: max(len(operation.inputs), 2)]
    if len(graph.inputs) != len(firsts) + 2 or len(graph.outputs) <= len(firsts):
        ends = f"{len(graph.inputs)} inputs and {len(graph.outputs)} outputs"
        raise Untranslatable(f"carries {len(firsts)} values with a body of {ends}")
    turn, go, *carried = graph.inputs
    outs = graph.outputs[1:]
    stays = (cond == "" or holds(block.constant(cond))) and _keeps_on(block, graph)
    pairs = tuple(zip(carried, firsts, strict=True))
    ends_alone = not stays and (not count or is_endless(block.constant(count)))
    counts = counted(block, graph, cond, pairs) if ends_alone else None
    return _Parts(
        graph, count, cond, turn.name, go.name, pairs, outs[: len(carried)], outs[len(carried) :],
        stays or counts is not None, counts,
    )  # fmt: skip


def loop(block: GraphBlock, operation: Operation) -> list[Line]:
    """ONNX Loop: a trip count, a condition, carried values, and stacked results."""
    parts, inner = _parts(block, operation), block.nested()
    index = block.writer.values.fresh("turn")
    carries = [_carry(inner, v, block.name(first)) for v, first in parts.carries]
    is_counted = parts.counted is not None or bool(parts.count) or _is_used(parts.graph, parts.turn)
    if is_counted:
        inner.lines.append((f"let {inner.defined(parts.turn)} = @size_to_tensor({index})", block.made))
    if parts.stays:
        inner.lines.append((f"let {inner.defined(parts.go)} = tensor(true)", block.made))
    else:
        start = f"@reshape({block.name(parts.cond)}, [])" if parts.cond else "tensor(true)"
        carries.insert(0, f"{inner.defined(parts.go)} = {start}")
    if parts.counted is not None and parts.counted.is_plain(block):
        number = inner.name(parts.counted.number)
        inner.lines.append((f"let {number} = @size_to_tensor({index} + {block.item(parts.counted.first)})", block.made))
    inner.graph(parts.graph)
    results = [_end(inner, v, e) for (v, _), e in _pairs(parts)] + [inner.name(v.name) for v in parts.stacked]
    if not parts.stays:
        results.insert(0, f"@reshape({inner.name(parts.graph.outputs[0].name)}, [])")
    head = f"for {index} in range({_turns(block, parts)})" if is_counted else f"while ({inner.name(parts.go)})"
    kept = [_kept(inner.name(v.name), block.name(first)) for v, first in parts.carries if v.type is None]
    until = f"while ({inner.name(parts.go)})" if is_counted and not parts.stays else ""
    lines = block.braced(_head(inner, head, carries, until, parts.stacked, kept), inner, grouped(results))
    return _results(block, operation, parts, lines)


def _turns(block: GraphBlock, parts: _Parts) -> str:
    """The largest number of turns, as a size."""
    if parts.counted is None:
        return block.item(parts.count) if parts.count else str(_ENDLESS)
    first, end, more = parts.counted.first, parts.counted.end, parts.counted.more
    return f"max({block.item(end)} - {block.item(first)}{f' + {more}' if more else ''}, {parts.counted.least})"


def _keeps_on(block: GraphBlock, graph: Graph) -> bool:
    """Whether a loop's body never ends it: its condition is its input condition, or a true constant."""
    made = {name: o for o in graph.operations for name in o.outputs}
    name = graph.outputs[0].name
    while name in made and _is_handed_on(made[name]):
        name = made[name].inputs[0]
    if any(v.name == name for v in graph.inputs):
        return name == graph.inputs[1].name
    if name in made:
        return made[name].op_type == "Constant" and holds(constant_of(made[name]))
    return holds(next((t for t in graph.initializers if t.name == name), None) or block.constant(name))


def _is_handed_on(operation: Operation) -> bool:
    """Whether a node's result is true where its input is."""
    to_bool = operation.op_type == "Cast" and ELEMENTS.get(operation.attributes.get("to", 0)) == "bool"
    return operation.domain == "" and len(operation.inputs) == 1 and (operation.op_type == "Identity" or to_bool)


def _is_used(graph: Graph, name: str) -> bool:
    """Whether a graph, or one inside it, reads a value."""
    inside = [a for o in graph.operations for a in o.attributes.values() if isinstance(a, Graph)]
    read = {i for o in graph.operations for i in o.inputs} | {v.name for v in graph.outputs}
    return name in read or any(_is_used(g, name) for g in inside)


def _pairs(parts: _Parts) -> list[tuple[tuple[ModelValue, str], ModelValue]]:
    """Each carry and its first value, with the result of a turn."""
    return list(zip(parts.carries, parts.ends, strict=True))


def _head(
    block: GraphBlock,
    first: str,
    carries: Sequence[str],
    until: str,
    stacked: Sequence[ModelValue],
    kept: Sequence[str] = (),
) -> str:
    clauses = [
        first,
        f"with ({', '.join(carries)})" if carries else "",
        f"where {', '.join(kept)}" if kept else "",
        until,
    ]
    clauses.append(f"stack ({', '.join(_stacked(block, v) for v in stacked)})" if stacked else "")
    return " ".join(clause for clause in clauses if clause)


def _results(block: GraphBlock, operation: Operation, parts: _Parts, lines: list[Line]) -> list[Line]:
    """A loop's results without the condition, which is the first carry; carries that became optional are opened."""
    opened = [at for at, ((v, _), e) in enumerate(_pairs(parts)) if _becomes_optional(v, e)]
    if parts.stays and not opened:
        return lines
    names = [block.writer.values.fresh("part") for _ in (*parts.carries, *parts.stacked)]
    go = [] if parts.stays else [block.writer.values.fresh("go")]
    block.statement(grouped([*go, *names]), lines)
    results = [f"@onnx.optional_get({name})" if at in opened else name for at, name in enumerate(names)]
    used = max((at + 1 for at, name in enumerate(operation.outputs) if name), default=0)
    return [(grouped(results[:used]), block.made)]


def _carry(block: GraphBlock, value: ModelValue, first: str) -> str:
    """A carry of a loop: of any shape, which the checker narrows. Values that are not tensors keep their types."""
    name = block.defined(value.name)
    if value.type is not None and not isinstance(value.type, TensorType):
        return f"{name} = {first}"
    return f"{name} : Tensor(?, {value.type.dtype or '?' if value.type else '?'}) = {first}"


def _kept(name: str, first: str) -> str:
    """The condition on a carry without a declared type, a tensor or a sequence: it keeps its first value's dtype."""
    return f"{name}.dtype == {first}.dtype"


def _becomes_optional(value: ModelValue, end: ModelValue) -> bool:
    """Whether a turn ends with a plain value for a carry that is optional."""
    return isinstance(value.type, OptionalType) and end.type is not None and not isinstance(end.type, OptionalType)


def _end(block: GraphBlock, value: ModelValue, end: ModelValue) -> str:
    name = block.name(end.name)
    return f"@onnx.optional({name})" if _becomes_optional(value, end) else name


def _stacked(block: GraphBlock, value: ModelValue) -> str:
    """A stacked value, with the type that the turns give it: the model's declaration may be false."""
    return f"{block.writer.values.fresh(value.name)} : Tensor(?, ?)"


# Scan


def scan(block: GraphBlock, operation: Operation) -> list[Line]:
    """ONNX Scan: state variables, and tensors that are read and written one entry in each turn."""
    return _batched(block, operation) if block.version("") < 9 else _scanned(block, operation)


def _scanned(block: GraphBlock, operation: Operation) -> list[Line]:
    graph, node = _graph(operation, "body"), Reader(operation, block)
    count = node.integer("num_scan_inputs")
    states = len(operation.inputs) - count
    if not 0 < count <= len(operation.inputs) or len(graph.inputs) != len(operation.inputs):
        raise Untranslatable(f"scans {count} of its {len(operation.inputs)} inputs with a body of {len(graph.inputs)}")
    _listed_for_each(node, "scan_input", count)
    _listed_for_each(node, "scan_output", len(graph.outputs) - states)
    index, inner = block.writer.values.fresh("turn"), block.nested()
    read = operation.inputs[states:]
    axes = node.integers("scan_input_axes") or (0,) * count
    backwards = node.integers("scan_input_directions") or (0,) * count
    turns = f"{block.name(read[0])}.dim({axes[0]})"
    for source, axis in zip(read[1:], axes[1:], strict=False):
        block.lines.append((f"assert {block.name(source)}.dim({axis}) == {turns}", block.made))
    # The standard demands that a state keeps its shape.
    firsts = zip(graph.inputs[:states], operation.inputs, strict=False)
    carries = [f"{inner.defined(v.name)} = {block.name(i)}" for v, i in firsts]
    for value, source, axis, back in zip(graph.inputs[states:], read, axes, backwards, strict=True):
        at = f"{turns} - 1 - {index}" if back else index
        taken = f"@take({block.name(source)}, {at}, axis={axis})"
        inner.lines.append((f"let {inner.defined(value.name)} = {taken}", block.made))
    inner.graph(graph)
    head = _head(inner, f"for {index} in range({turns})", carries, "", graph.outputs[states:])
    lines = block.braced(head, inner, inner.result([v.name for v in graph.outputs]))
    return _moved(block, operation, states, lines)


def _listed_for_each(node: Reader, side: str, count: int) -> None:
    """Check that the axes and directions are as many as the tensors that are read or written."""
    for name in (f"{side}_axes", f"{side}_directions"):
        found = node.integers(name)
        if found and len(found) != count:
            raise Untranslatable(f"has {len(found)} {name}, and there are {count}")


def _moved(block: GraphBlock, operation: Operation, states: int, lines: list[Line]) -> list[Line]:
    """The results, with stacked ones moved to their axis and reversed if the node says so."""
    node, count = Reader(operation, block), len(operation.outputs) - states
    axes = node.integers("scan_output_axes") or (0,) * count
    backwards = node.integers("scan_output_directions") or (0,) * count
    if not any(axes[:count]) and not any(backwards[:count]):
        return lines
    names = [block.writer.values.fresh("part") for _ in operation.outputs]
    block.statement(grouped(names), lines)
    for at, (axis, back) in enumerate(zip(axes[:count], backwards[:count], strict=True), states):
        names[at] = f"@flip({names[at]}, axis=0)" if back else names[at]
        names[at] = f"@moveaxis({names[at]}, 0, {axis})" if axis else names[at]
    return [(grouped(names), block.made)]


def _batched(block: GraphBlock, operation: Operation) -> list[Line]:
    """Version 8: a scan for each entry of the first axis of all inputs."""
    lengths, *inputs = operation.inputs or ("",)
    if not inputs:
        raise Untranslatable("scans nothing")
    if lengths:
        raise Untranslatable("has sequences of different lengths, which Rx does not have")
    directions = operation.attributes.get("directions")
    attributes = {**operation.attributes, "scan_input_directions": directions}
    inner, index = block.nested(), block.writer.values.fresh("batch")
    entries = f"{block.name(inputs[0])}.dim(0)"
    for value in inputs[1:]:
        block.lines.append((f"assert {block.name(value)}.dim(0) == {entries}", block.made))
    parts = []
    for value in inputs:
        parts.append(f"{value} of one batch entry")
        inner.bound[parts[-1]] = inner.let(value, f"@take({block.name(value)}, {index}, axis=0)")
    one = replace(operation, inputs=tuple(parts), attributes=attributes)
    names = [block.writer.values.fresh("part") for _ in operation.outputs]
    inner.made = block.made
    inner.statement(grouped(names), _scanned(inner, one))
    head = _head(inner, f"for {index} in range({entries})", (), "", _graph(operation, "body").outputs)
    return block.braced(head, inner, grouped(names))


# Sequences


def sequence_map(block: GraphBlock, operation: Operation) -> list[Line]:
    """ONNX SequenceMap: apply the body to the elements of sequences, and collect sequences; tensors beside them are the same
    in each turn."""
    graph = _graph(operation, "body")
    if len(graph.inputs) != len(operation.inputs):
        raise Untranslatable(f"gives {len(operation.inputs)} values to a body of {len(graph.inputs)} inputs")
    index, inner = block.writer.values.fresh("turn"), block.nested()
    count = block.let("count", f"@item(@onnx.sequence_length({Reader(operation, block).x(0)}))")
    for at, (value, source) in enumerate(zip(graph.inputs, operation.inputs, strict=True)):
        given = block.name(source)
        whole = at > 0 and isinstance(block.type(source), TensorType)
        taken = given if whole else f"@onnx.sequence_at({given}, @size_to_tensor({index}))"
        inner.lines.append((f"let {inner.defined(value.name)} = {taken}", block.made))
    inner.graph(graph)
    names = [block.writer.values.fresh(v.name) for v in graph.outputs]
    types = [opaque_text(SequenceType(v.type), v.name) for v in graph.outputs]
    carries = [f"{name} = @onnx.empty({type_})" for name, type_ in zip(names, types, strict=True)]
    ends = [f"@onnx.sequence_insert({n}, {inner.name(v.name)})" for n, v in zip(names, graph.outputs, strict=True)]
    head = _head(inner, f"for {index} in range({count})", carries, "", ())
    return block.braced(head, inner, grouped(ends))


CONTROL: Mapping[str, Control] = {"If": branch, "Loop": loop, "Scan": scan, "SequenceMap": sequence_map}
