"""A model to an Rx program: its text, and which node each line was made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pathlib import Path

from ...lang import codes
from ...lang.diagnostics import Diagnostic, RxError, error
from ...lang.node import Node
from ...lang.source import NOWHERE, Made, Source, Span
from .dims import Sizes
from .literals import listed, literal, quoted
from .model import Function, Graph, Model, Operation, Tensor, TensorType, Value, ValueType
from .names import Names
from .reading import read_model
from .operators.registry import Reader, Untranslatable, find

# Constants of at most so many elements stand in the program, where shapes may be made of them; others are loaded.
_FEW = 64


class Translation(Node):
    """A model as a program: a text that knows its nodes, and for each Rx name of a value the model's."""

    source: Source
    names: Mapping[str, str]
    notes: tuple[Diagnostic, ...]


def translate(model: Model) -> Translation:
    """The program that is a model; raises RxError for a node that no program can be."""
    writer = _Writer(model)
    writer.write()
    return Translation(Source(str(model.path), writer.text(), writer.made), writer.values.originals, tuple(writer.notes))


class _Writer:
    """The text of one model, line by line."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.lines: list[str] = []
        self.made: dict[int, Made] = {}
        self.notes: list[Diagnostic] = []
        self.sizes = Sizes(model.graph)
        self.values = Names(self.sizes.names)
        self.functions = {(f.domain, f.name, f.overload): f for f in model.functions}
        # Functions of the model that are called, by name, attributes and which inputs there are: each is written once.
        self.called: dict[tuple[object, ...], str] = {}

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def write(self) -> None:
        graph = self.model.graph
        given = {t.name for t in graph.initializers}
        inputs = [v for v in graph.inputs if v.name not in given]
        body = _Block(self, None, self.model.opsets)
        head = f"@main = fn({', '.join(self.param(v) for v in inputs)}) {{"
        body.initializers(graph.initializers)
        body.operations(graph.operations)
        result = body.result([v.name for v in graph.outputs])
        self.line(f"# {self.model.path.name}, made by {self.model.producer or 'an unknown exporter'}")
        self.line(head)
        self.block(body)
        self.line(f"  {result}")
        self.line("}")

    def line(self, text: str, made: Made | None = None) -> None:
        self.lines.append(text)
        if made is not None:
            self.made[len(self.lines)] = made

    def const(self, name: str, tensor: Tensor) -> None:
        held = f'load("{self.model.path.name}", {quoted(tensor.key)})'
        self.line(f"const {name} : Tensor({listed(tensor.shape)}, {tensor.dtype}) = {held}")

    def block(self, block: _Block) -> None:
        for text, made in block.lines:
            self.line(f"  {text}", made)

    def param(self, value: Value) -> str:
        name = self.values.name(value.name)
        return f"{name} : {self.type(value.type, name)}"

    def type(self, kind: ValueType | None, name: str) -> str:
        if kind is None:
            return "Tensor"
        if not isinstance(kind, TensorType):
            raise Untranslatable("takes a sequence, an optional or a map")
        if kind.shape is None:
            return f"Tensor(?, {kind.dtype or '?'})"
        sizes = [self.sizes.text(size, f"{name}_{axis}") for axis, size in enumerate(kind.shape)]
        return f"Tensor({listed(sizes)}, {kind.dtype or '?'})"


class _Block:
    """The statements of one graph: what is bound in it, and what the graphs around it have."""

    def __init__(self, writer: _Writer, outer: _Block | None, opsets: Mapping[str, int]) -> None:
        self.writer = writer
        self.outer = outer
        self.opsets = opsets
        self.lines: list[tuple[str, Made | None]] = []
        # The Rx text of each value: its name, or a literal.
        self.texts: dict[str, str] = {}
        self.constants: dict[str, Tensor] = {}
        self.made: Made | None = None

    # What a row asks

    def name(self, value: str) -> str:
        block: _Block | None = self
        while block is not None:
            if value in block.texts:
                return block.texts[value]
            block = block.outer
        return self.writer.values.name(value)

    def constant(self, value: str) -> Tensor | None:
        block: _Block | None = self
        while block is not None:
            if value in block.constants:
                return block.constants[value]
            block = block.outer
        return None

    def let(self, hint: str, text: str) -> str:
        name = self.writer.values.fresh(hint)
        self.lines.append((f"let {name} = {text}", self.made))
        return name

    def version(self, domain: str) -> int:
        return self.opsets.get(domain, 1)

    # Statements

    def initializers(self, tensors: Iterable[Tensor]) -> None:
        for tensor in tensors:
            self.tensor(tensor.name, tensor)

    def tensor(self, value: str, tensor: Tensor) -> None:
        """Bind a constant: a literal where it is small, else what the file holds."""
        name = self.writer.values.name(value)
        self.constants[value] = tensor
        written = _written(tensor)
        if written is None:
            self.writer.const(name, tensor)
        else:
            self.lines.append((f"let {name} = {written}", self.made))

    def literal(self, tensor: Tensor) -> str:
        written = _written(tensor)
        if written is not None:
            return written
        name = self.writer.values.fresh(tensor.name or "value")
        self.writer.const(name, tensor)
        return name

    def operations(self, operations: Sequence[Operation]) -> None:
        for operation in operations:
            self.operation(operation)

    def operation(self, operation: Operation) -> None:
        inputs = tuple(self.name(i) if i else "" for i in operation.inputs)
        self.made = Made(str(operation), inputs, operation.trace)
        if operation.op_type == "Constant" and operation.domain == "":
            self.tensor(operation.outputs[0], constant_of(operation))
            return
        row = find(operation.domain, operation.op_type, self.version(operation.domain))
        reader = Reader(operation, self)
        try:
            if row is None:
                raise Untranslatable("is no operator that Rx has")
            text = row(reader)
        except Untranslatable as problem:
            raise RxError(error(codes.E246, f"{operation} {problem}", NOWHERE)) from None
        self.bind(operation, text)

    def bind(self, operation: Operation, text: str) -> None:
        count = max((at + 1 for at, name in enumerate(operation.outputs) if name), default=0)
        names = [self.writer.values.name(o) if o else self.writer.values.fresh("_") for o in operation.outputs[:count]]
        target = names[0] if len(operation.outputs) == 1 else f"({', '.join(names)})"
        self.lines.append((f"let {target} = {text}", self.made))

    def result(self, outputs: Sequence[str]) -> str:
        names = [self.name(o) for o in outputs]
        return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _written(tensor: Tensor) -> str | None:
    """A small tensor in the program itself."""
    few = tensor.values is not None and len(tensor.values) <= _FEW
    return literal(tensor) if few or 0 in tensor.shape else None


def constant_of(operation: Operation) -> Tensor:
    """The tensor that a Constant gives."""
    for name, value in operation.attributes.items():
        match name:
            case "value" if isinstance(value, Tensor):
                return value
            case "value_int" | "value_float" | "value_string":
                return _made(name, (), (value,))
            case "value_ints" | "value_floats" | "value_strings":
                return _made(name, (len(value),), tuple(value))
    raise Untranslatable("is a constant without a value")


_CONSTANTS = {"value_int": "int64", "value_float": "float32", "value_string": "string"}


def _made(attribute: str, shape: tuple[int, ...], values: tuple[object, ...]) -> Tensor:
    return Tensor("", _CONSTANTS[attribute.removesuffix("s")], shape, None, values, "")  # type: ignore[arg-type]


def opened(name: str, base: Path) -> tuple[Source, tuple[Diagnostic, ...]]:
    """The program that a model file is, and what is to be said of it."""
    try:
        found = translate(read_model(base / Path(name).name))
    except RxError as problem:
        return Source(name, ""), problem.diagnostics
    return Source(name, found.source.text, found.source.made), found.notes
