"""The statements of one graph of a model: its bindings, and those of the graphs around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

from ...lang import no_rule
from ...lang.dtypes import DTYPES
from ...lang.source import MadeSource
from .functions import GivenAttributes, filled_in
from .literals import Unwritten, listed, literal, quoted
from .model import DECODED, Graph, Listed, ModelFunction, Operation, StoredInitializer, TensorType, ValueType
from .operators.demands import ask
from .operators.registry import Reader, Untranslatable, find, own_rule
from .prelude import called
from .types import opaque_text, param_text
from .writer import Line, Writer

# Constants with at most this many elements are written into the program, where they may define shapes; others are loaded.
_FEW = 64
# Floats define shapes as scales, one for each axis.
_FEW_FLOATS = 16
# The most nodes in expanded bodies of functions together, each counted as often as it is called.
_MOST_EXPANDED = 2**16


class _Wrong(Unwritten):
    """A sentence that says what is wrong with a node, and names it."""


class _Unknown(Exception):
    """An operator without a rule or a definition."""


# Writes a node whose attributes are graphs.
Control = Callable[["GraphBlock", Operation], list[Line]]


class GraphBlock:
    """The statements of one graph: its own bindings, and those of the graphs around it."""

    def __init__(
        self, writer: Writer, outer: GraphBlock | None, opsets: Mapping[str, int], control: Mapping[str, Control]
    ) -> None:
        self.writer = writer
        # Writers of the operators whose attributes are graphs.
        self.control, self.outer, self.opsets = control, outer, opsets
        self.lines: list[Line] = []
        # The Rx names of a function's values, "" of an absent operand; values of graphs have the model's names.
        self.bound: dict[str, str] = {}
        self.types: dict[str, ValueType] = {}
        self.constants: dict[str, StoredInitializer] = {}
        # Values whose types the callers must satisfy: the model's inputs.
        self.given: set[str] = set()
        self.given_by: dict[str, Operation] = {}
        # The prefix of the names in a function's body, and the node that all of its lines belong to.
        self.prefix: str | None = None
        self.only: MadeSource | None = None
        self.made: MadeSource | None = None

    # For rows

    def name(self, value: str) -> str:
        block: GraphBlock | None = self
        while block is not None:
            if value in block.bound:
                return block.bound[value]
            block = block.outer
        return self.writer.values.value(value)

    def defined(self, value: str) -> str:
        """The name for a value that is bound here."""
        if self.in_function() is None:
            return self.writer.values.value(value)
        self.bound[value] = self.writer.values.fresh(f"{self.in_function()}_{value}")
        return self.bound[value]

    def in_function(self) -> str | None:
        """The prefix of names in a function's body and in the graphs in it, or None."""
        return self.prefix if self.prefix is not None or self.outer is None else self.outer.in_function()

    def type(self, value: str) -> ValueType | None:
        """The declared type of a value."""
        block: GraphBlock | None = self
        while block is not None:
            if value in block.types:
                return block.types[value]
            block = block.outer
        return None

    def is_given(self, value: str) -> bool:
        """Whether a value is an input of the model, whose declared type holds."""
        return value in self.given or (
            self.outer is not None and value not in self.given_by and self.outer.is_given(value)
        )

    def constant(self, value: str) -> StoredInitializer | None:
        block: GraphBlock | None = self
        while block is not None:
            if value in block.constants:
                return block.constants[value]
            block = block.outer
        return None

    def let(self, hint: str, text: str) -> str:
        name = self.writer.values.fresh(hint)
        self.lines.append((f"let {name} = {text}", self.made))
        return name

    def claimed(self, hint: str, type_: str, text: str) -> str:
        name = self.writer.values.fresh(hint)
        self.lines.append((f"let {name} : {type_} = {text}", self.made))
        return name

    def demand(self, text: str) -> None:
        self.lines.append((f"assert {text}", self.made))

    def parts(self, hint: str, text: str, count: int) -> list[str]:
        names = [self.writer.values.fresh(hint) for _ in range(count)]
        self.lines.append((f"let ({', '.join(names)}) = {text}", self.made))
        return names

    def inline(self, graph: Graph, operands: Sequence[str]) -> list[str]:
        block = self.nested()
        block.lines = self.lines
        for value, operand in zip(graph.inputs, operands, strict=True):
            block.lines.append((f"let {block.defined(value.name)} = {operand}", self.made))
        block.initializers(graph.initializers)
        block.operations(graph.operations)
        return [block.name(v.name) for v in graph.outputs]

    def version(self, domain: str) -> int:
        return self.opsets.get(domain, 1)

    # Statements

    def initializers(self, tensors: Iterable[StoredInitializer]) -> None:
        for tensor in tensors:
            self.tensor(tensor.name, tensor)

    def tensor(self, value: str, tensor: StoredInitializer) -> None:
        """Bind a constant: a literal if it is small, else a constant that is loaded from the file."""
        name = self.defined(value)
        self.constants[value] = tensor
        written = self.written_out(tensor)
        if (
            written is None and name in self.writer.consts
        ):  # another inner graph's constant has this name, as all are loaded at the top
            name = self.bound[value] = self.writer.values.fresh(name)
        if written is None:
            self.writer.const(name, tensor)
        else:
            self.lines.append((f"let {name} = {written}", self.made))

    def literal(self, tensor: StoredInitializer) -> str:
        written = self.written_out(tensor)
        if written is not None:
            return written
        name = self.writer.values.fresh(tensor.name or "value")
        self.writer.const(name, tensor)
        return name

    def written_out(self, tensor: StoredInitializer) -> str | None:
        """The text of a tensor that is small, or that cannot be loaded from a file."""
        kind = DTYPES[tensor.dtype].kind
        held = tensor.key is not None and not (kind == "string" and self.writer.holds_no_texts)
        most = _FEW_FLOATS if held and kind == "float" else _FEW
        few = tensor.values is not None and (len(tensor.values) <= most or not held)
        return literal(tensor) if few or 0 in tensor.shape else None

    def operations(self, operations: Sequence[Operation]) -> None:
        for operation in operations:
            self.operation(operation)

    def operation(self, operation: Operation) -> None:
        self.given_by |= dict.fromkeys(operation.outputs, operation)
        inputs = tuple(self.name(i) if i else "" for i in operation.inputs)
        self.made = self.only or MadeSource(str(operation), inputs, operation.trace, operation.op_type)
        begun = len(self.lines)
        try:
            lines = self.written(operation)
        except _Unknown:
            lines = self.unknown(operation)
            self.writer.unknown(operation)
        except Unwritten as problem:
            wrong = problem if isinstance(problem, _Wrong) else _Wrong(f"{operation}: {problem}")
            if self.only is not None:  # a mistake in a function's body is reported at its call
                raise wrong from None
            self.writer.refuse(str(wrong), self.made)
            del self.lines[begun:]
            lines = self.unknown(operation)
        if lines is not None:
            self.bind(operation, lines)

    def written(self, operation: Operation) -> list[Line] | None:
        """The lines for a node's result; None if they are written already."""
        if operation.op_type == "Constant" and operation.domain == "":
            if operation.outputs and operation.outputs[0]:
                self.tensor(operation.outputs[0], constant_of(operation))
            return None
        if not operation.outputs:
            raise Untranslatable("gives nothing: it has no outputs")
        row_of_graphs = self.control.get(operation.op_type) if operation.domain == "" else None
        if row_of_graphs is not None:
            return row_of_graphs(self, operation)
        version = self.version(operation.domain)
        own = self.writer.functions.get((operation.domain, operation.op_type, operation.overload))
        row = own_rule(operation.domain, operation.op_type, version)
        rule = self.writer.prelude.rule(operation)
        if row is None and rule is not None:
            row = partial(called, rule)
        reader = Reader(operation, self)
        if row is None and own is None:
            row = find(operation.domain, operation.op_type, version)
            ask(reader)
        if row is not None:
            return [(row(reader), self.made)]
        if own is not None and self.is_kept(operation):
            return self.call(own, operation)
        made = own or self._defined(operation, version)
        if made is None:
            raise _Unknown
        self.expand(made, operation)
        return None

    def _defined(self, operation: Operation, version: int) -> ModelFunction | None:
        """The operator's definition in ONNX itself."""
        from .bodies import body  # it loads onnx, which is installed where a model was read

        return body(operation, version)

    def unknown(self, operation: Operation) -> list[Line]:
        """Write a node without a rule as an external function, with the types that the model declares for its results."""
        inputs = [self.name(i) for i in operation.inputs if i]
        results = [self.opaque(o) for o in operation.outputs]
        called = self.writer.values.fresh(operation.op_type)
        kinds = [param_text(self.type(i), i) for i in operation.inputs if i]
        params = ", ".join(f"x{at} : {kind}" for at, kind in enumerate(kinds))
        result = results[0] if len(results) == 1 else f"({', '.join(results)})"
        target = quoted(no_rule.target(operation.domain, operation.op_type))
        self.writer.line(f"extern @{called} = fn({params}) : {result} = {target}", self.made)
        return [(f"@{called}({', '.join(inputs)})", self.made)]

    def opaque(self, value: str) -> str:
        """The declared type of a result that is not computed here."""
        kind = self.type(value) if value else None
        if kind is not None and not isinstance(kind, TensorType):
            return opaque_text(kind, value)
        if kind is None or kind.shape is None:
            return f"Tensor(?, {kind.dtype or '?' if kind else '?'})"
        return f"Tensor({listed([s if isinstance(s, int) else '?' for s in kind.shape])}, {kind.dtype or '?'})"

    def bind(self, operation: Operation, lines: list[Line]) -> None:
        count = max((at + 1 for at, name in enumerate(operation.outputs) if name), default=0)
        names = [self.defined(o) if o else self.writer.values.fresh("_") for o in operation.outputs[:count]]
        target = names[0] if count == 1 else f"({', '.join(names)})"
        self.statement(target, lines)

    def statement(self, target: str, lines: list[Line]) -> None:
        (first, made), *rest = lines
        self.lines += [(f"let {target} = {first}", made), *rest]

    # Functions

    def is_kept(self, operation: Operation) -> bool:
        """Whether a call is written as a call; for that, the types of operands that are not tensors must be known."""
        known = self.writer.has_tensors_only or all(self.type(i) is not None for i in operation.inputs if i)
        return self.writer.keeps_functions and known

    def call(self, function: ModelFunction, operation: Operation) -> list[Line]:
        """A call of a function, which is written once for all calls that differ in their operands alone."""
        typed, pairs = (
            self.writer.asking.asks(function, self.opsets),
            zip(function.inputs, operation.inputs, strict=False),
        )
        given = [GivenAttributes(formal, actual, self, typed=typed) for formal, actual in pairs]
        count = max((at + 1 for at, name in enumerate(operation.outputs) if name), default=0)
        opsets = {**self.opsets, **function.opsets}
        key = (
            function.domain, function.name, function.overload, count, repr(sorted(operation.attributes.items())),
            repr(sorted(opsets.items())), *(one.key for one in given),
        )  # fmt: skip
        if key not in self.writer.called:
            self.writer.called[key] = self.function(function, operation, given, count)
        inputs = [self.name(one.actual) for one in given if one.actual]
        return [(f"@{self.writer.called[key]}({', '.join(inputs)})", self.made)]

    def function(
        self, function: ModelFunction, operation: Operation, given: Sequence[GivenAttributes], count: int
    ) -> str:
        """Write a function for calls of one kind, and return its name. Its body does not see the names around the call."""
        name = self.writer.function_name(function.name)
        block = GraphBlock(self.writer, None, {**self.opsets, **function.opsets}, self.control)
        block.prefix = ""
        block.bound = dict.fromkeys(function.inputs, "")
        params = []
        for one in given:
            if one.actual:
                params.append(f"{block.defined(one.formal)} : {param_text(one.kind, one.actual)}")
            if one.constant is not None:
                block.constants[one.formal] = one.constant
            if one.kind is not None:
                block.types[one.formal] = one.kind
        attributes = {**function.attributes, **operation.attributes}
        block.operations([filled_in(o, attributes, block.bound) for o in function.operations])
        head, result = f"@{name} = fn({', '.join(params)})", block.result(function.outputs[:count])
        for text, made in block.braced(head, block, result):
            self.writer.line(text, made)
        return name

    def expand(self, function: ModelFunction, operation: Operation) -> None:
        """Write a function's body in place of a call, with its operands and attributes. The body does not see the names
        around it."""
        made = self.made
        self.writer.expanded += len(function.operations)
        if self.writer.expanded > _MOST_EXPANDED:
            self.writer.give_up(
                f"{operation}: makes more than {_MOST_EXPANDED} nodes of the model's functions",
                made or MadeSource(str(operation)),
            )
        block = GraphBlock(self.writer, None, {**self.opsets, **function.opsets}, self.control)
        block.lines, block.prefix = self.lines, operation.outputs[0]
        for formal, actual in zip_longest(function.inputs, operation.inputs, fillvalue=""):
            block.bound[formal] = actual and self.name(actual)
            constant = self.constant(actual) if actual else None
            if constant is not None:
                block.constants[formal] = constant
            kind = self.type(actual)
            if kind is not None:
                block.types[formal] = kind
            if self.is_given(actual):
                block.given.add(formal)
        given = {**function.attributes, **operation.attributes}
        block.only = made
        block.operations([filled_in(o, given, block.bound) for o in function.operations])
        for formal, actual in zip(function.outputs, operation.outputs, strict=False):
            if actual:
                self.lines.append((f"let {self.defined(actual)} = {block.name(formal)}", made))

    # Inner graphs

    def nested(self) -> GraphBlock:
        block = GraphBlock(self.writer, self, self.opsets, self.control)
        block.only = self.only
        return block

    def inner(self, graph: Graph) -> GraphBlock:
        """The statements of an inner graph, which sees all names of this one."""
        block = self.nested()
        block.graph(graph)
        return block

    def graph(self, graph: Graph) -> None:
        """Write the statements of a graph."""
        self.types |= {v.name: v.type for v in (*graph.values, *graph.inputs, *graph.outputs) if v.type is not None}
        self.initializers(graph.initializers)
        self.operations(graph.operations)

    def braced(self, head: str, block: GraphBlock, result: str) -> list[Line]:
        """A block in braces after its head."""
        inside = [(f"  {text}", made) for text, made in block.lines]
        return [(f"{head} {{", self.made), *inside, (f"  {result}", self.made), ("}", self.made)]

    def item(self, value: str) -> str:
        found = self.constant(value)
        if found is not None and found.values:
            return str(found.values[0])
        return f"@item(@reshape({self.name(value)}, []))"

    def result(self, outputs: Sequence[str]) -> str:
        names = [self.name(o) for o in outputs]
        return names[0] if len(names) == 1 else f"({', '.join(names)})"


def constant_of(operation: Operation) -> StoredInitializer:
    """The tensor that a Constant gives. Raises Untranslatable where it has no value."""
    for name, value in operation.attributes.items():
        match name:
            case "value" | "sparse_value" if isinstance(value, StoredInitializer):
                return value
            case "value_int" | "value_float" | "value_string":
                return _made(name, name, (), (value,))
            case "value_ints" | "value_floats" | "value_strings" if isinstance(value, tuple):
                return _made(name, name.removesuffix("s"), (len(value),), value)
    raise Untranslatable("is a constant without a value")


_CONSTANTS: dict[str, tuple[type, str]] = {
    "value_int": (int, "int64"), "value_float": (float, "float32"), "value_string": (str, "string"),
}  # fmt: skip


def _made(attribute: str, kind: str, shape: tuple[int, ...], values: tuple[Any, ...]) -> StoredInitializer:
    wanted, dtype = _CONSTANTS[kind]
    if not {wanted}.issuperset(map(type, values)):
        raise Untranslatable(f"has the attribute `{attribute}` of another kind")
    key = values.held if isinstance(values, Listed) and dtype != "string" else None
    return StoredInitializer("", dtype, shape, None, None if key is not None and len(values) > DECODED else values, key)
