"""A model to an Rx program: its text, and which node each line was made of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path

from ...lang import codes, no_rule
from ...lang.diagnostics import Diagnostic, RxError, error, note
from ...lang.node import Node, replace
from ...lang.source import NOWHERE, Made, Source
from .bodies import body
from .dims import Named, Op, Size, declared, names, read_dim, size_text
from .literals import listed, literal, quoted
from .model import Attribute, AttributeRef, Function, Graph, Model, Operation, Tensor, TensorType, Value, ValueType
from .names import Names
from .operators.registry import Reader, Untranslatable, find, own_rule
from .prelude import Prelude, called
from .reading import read_model

# Constants of at most so many elements stand in the program, where shapes may be made of them; others are loaded.
_FEW = 64


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
    writer = _Writer(model, held or model.path.name, prelude or Prelude())
    writer.write()
    names = {writer.values.value(name): name for name in _values(model.graph)}
    sizes = dict(writer.values.sizes())
    return Translation(Source(str(model.path), writer.text(), writer.made), names, sizes, tuple(writer.notes))


def _values(graph: Graph) -> Iterator[str]:
    """The names of a graph's values."""
    yield from (v.name for v in graph.inputs)
    yield from (t.name for t in graph.initializers)
    yield from (name for o in graph.operations for name in o.outputs if name)


class _Unknown(Exception):
    """An operator that nothing is known of."""


Line = tuple[str, Made | None]


def _is_determined(size: Size, declared: Collection[str]) -> bool:
    """Whether a signature that has a size says what its names are: other sizes do, or it is a multiple of one name."""
    if isinstance(size, Op) and size.sign == "*" and isinstance(size.left, int) and isinstance(size.right, Named):
        return True
    return isinstance(size, Named) or all(name in declared for name in names(size))


class _Writer:
    """The text of one model, line by line."""

    def __init__(self, model: Model, held: str, prelude: Prelude) -> None:
        self.model = model
        self.held = held
        self.prelude = prelude
        self.lines: list[str] = []
        self.made: dict[int, Made] = {}
        self.notes: list[Diagnostic] = []
        self.values = Names(prelude.words)
        self.declared = declared(model.graph)
        for size in sorted(self.declared):
            self.values.size(size)
        self.functions = {(f.domain, f.name, f.overload): f for f in model.functions}
        # Functions of the model that are called, by name, attributes and which inputs there are: each is written once.
        self.called: dict[tuple[object, ...], str] = {}
        self.unknowns: set[tuple[str, str]] = set()

    def unknown(self, operation: Operation) -> None:
        """Say once that an operator has no rule."""
        key = (operation.domain, operation.op_type)
        if key not in self.unknowns:
            domain = f" of the domain `{operation.domain}`" if operation.domain else ""
            said = f"`{operation.op_type}`{domain} has no rule: its results are what the model declares of them"
            self.notes.append(
                note(
                    codes.N207,
                    said,
                    NOWHERE,
                    help="write a rule for it with rx.onnx.rule, or as a function in a --prelude",
                )
            )
        self.unknowns.add(key)

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def write(self) -> None:
        graph = self.model.graph
        given = {t.name for t in graph.initializers}
        inputs = [v for v in graph.inputs if v.name not in given]
        body = _Block(self, None, self.model.opsets)
        head = f"@main = fn({', '.join(self.param(v) for v in inputs)}) {{"
        body.types = {v.name: v.type for v in (*graph.values, *graph.inputs, *graph.outputs) if v.type is not None}
        body.types |= {t.name: TensorType(t.dtype, t.shape) for t in graph.initializers}
        body.initializers(graph.initializers)
        body.operations(graph.operations)
        result = body.result([v.name for v in graph.outputs])
        opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in self.model.opsets.items())
        above = [f"# {self.model.path.name}, made by {self.model.producer or 'nobody'}: {opsets}"]
        above += self.prelude.text.splitlines()
        self.lines = [*above, *self.lines]
        self.made = {number + len(above): made for number, made in self.made.items()}
        self.line(head)
        self.block(body)
        self.line(f"  {result}")
        self.line("}")

    def line(self, text: str, made: Made | None = None) -> None:
        self.lines.append(text)
        if made is not None:
            self.made[len(self.lines)] = made

    def const(self, name: str, tensor: Tensor) -> None:
        held = f"load({quoted(self.held)}, {quoted(tensor.key or tensor.name)})"
        self.line(f"const {name} : Tensor({listed(tensor.shape)}, {tensor.dtype}) = {held}")

    def block(self, block: _Block) -> None:
        for text, made in block.lines:
            self.line(f"  {text}", made)

    def param(self, value: Value) -> str:
        name = self.values.value(value.name)
        return f"{name} : {self.type(value.type, name)}"

    def type(self, kind: ValueType | None, name: str) -> str:
        if kind is None:
            return "Tensor"
        if not isinstance(kind, TensorType):
            raise RxError(error(codes.E247, f"`{name}` is a sequence, an optional or a map, which Rx has not", NOWHERE))
        if kind.shape is None:
            return f"Tensor(?, {kind.dtype or '?'})"
        sizes = [self.size(size, f"{name}_{axis}") for axis, size in enumerate(kind.shape)]
        return f"Tensor({listed(sizes)}, {kind.dtype or '?'})"

    def size(self, declared: int | str | None, otherwise: str) -> str:
        """A declared size in Rx; one that nothing determines has a name of its own."""
        if isinstance(declared, int):
            return str(declared)
        if declared is None:
            return self.values.unnamed_size(otherwise)
        reading = read_dim(declared, self.declared)
        if reading.note is not None:
            self.notes.append(note(codes.N205, reading.note, NOWHERE))
        if not _is_determined(reading.size, self.declared):
            return self.values.size(declared)
        return size_text(reading.size, self.values.size)


class _Block:
    """The statements of one graph: what is bound in it, and what the graphs around it have."""

    def __init__(self, writer: _Writer, outer: _Block | None, opsets: Mapping[str, int]) -> None:
        self.writer = writer
        self.outer = outer
        self.opsets = opsets
        self.lines: list[Line] = []
        # The Rx names of a function's values, "" of an operand that is absent; those of graphs are the model's.
        self.bound: dict[str, str] = {}
        self.types: dict[str, ValueType] = {}
        self.constants: dict[str, Tensor] = {}
        # What the values of a function's body are called after, and the node that all of its lines are for.
        self.prefix: str | None = None
        self.only: Made | None = None
        self.made: Made | None = None

    # What a row asks

    def name(self, value: str) -> str:
        block: _Block | None = self
        while block is not None:
            if value in block.bound:
                return block.bound[value]
            block = block.outer
        return self.writer.values.value(value)

    def defined(self, value: str) -> str:
        """The name of a value that is bound here."""
        if self.in_function() is None:
            return self.writer.values.value(value)
        self.bound[value] = self.writer.values.fresh(f"{self.in_function()}_{value}")
        return self.bound[value]

    def in_function(self) -> str | None:
        """What values are called after in a function's body and in the graphs in it."""
        return self.prefix if self.prefix is not None or self.outer is None else self.outer.in_function()

    def type(self, value: str) -> ValueType | None:
        """What is declared of a value."""
        block: _Block | None = self
        while block is not None:
            if value in block.types:
                return block.types[value]
            block = block.outer
        return None

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

    def initializers(self, tensors: Iterable[Tensor]) -> None:
        for tensor in tensors:
            self.tensor(tensor.name, tensor)

    def tensor(self, value: str, tensor: Tensor) -> None:
        """Bind a constant: a literal where it is small, else what the file holds."""
        name = self.defined(value)
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
        self.made = self.only or Made(str(operation), inputs, operation.trace)
        if operation.op_type == "Constant" and operation.domain == "":
            self.tensor(operation.outputs[0], constant_of(operation))
            return
        try:
            lines = self.written(operation)
        except _Unknown:
            lines = self.unknown(operation)
        except Untranslatable as problem:
            raise RxError(error(codes.E247, f"{operation} {problem}", NOWHERE)) from None
        if lines is not None:
            self.bind(operation, lines)

    def written(self, operation: Operation) -> list[Line] | None:
        """What a node computes; None where the lines of a function stand there already."""
        control = _CONTROL.get(operation.op_type) if operation.domain == "" else None
        if control is not None:
            return control(self, operation)
        version = self.version(operation.domain)
        own = self.writer.functions.get((operation.domain, operation.op_type, operation.overload))
        row = own_rule(operation.domain, operation.op_type, version)
        rule = self.writer.prelude.rule(operation)
        if row is None and rule is not None:
            row = partial(called, rule)
        if row is None and own is None:
            row = find(operation.domain, operation.op_type, version)
        if row is not None:
            return [(row(Reader(operation, self)), self.made)]
        made = own or body(operation, version, [self.type(i) for i in operation.inputs])
        if made is None:
            raise _Unknown
        self.expand(made, operation)
        return None

    def unknown(self, operation: Operation) -> list[Line]:
        """A node of which nothing is known but what the model declares of its results: they are somebody else's."""
        inputs = [self.name(i) for i in operation.inputs if i]
        results = [self.opaque(o) for o in operation.outputs]
        called = self.writer.values.fresh(operation.op_type)
        params = ", ".join(f"x{at} : Tensor" for at in range(len(inputs)))
        result = results[0] if len(results) == 1 else f"({', '.join(results)})"
        target = quoted(no_rule.target(operation.domain, operation.op_type))
        self.writer.line(f"extern @{called} = fn({params}) : {result} = {target}", self.made)
        self.writer.unknown(operation)
        return [(f"@{called}({', '.join(inputs)})", self.made)]

    def opaque(self, value: str) -> str:
        """The type of a result that is not computed here."""
        kind = self.type(value) if value else None
        if kind is not None and not isinstance(kind, TensorType):
            raise RxError(
                error(codes.E247, f"`{value}` is no tensor, and made by an operator that Rx has not", NOWHERE)
            )
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

    def expand(self, function: Function, operation: Operation) -> None:
        """What a function's body says, for the operands and attributes of a call. It sees nothing around it."""
        made = self.made
        block = _Block(self.writer, None, {**self.opsets, **function.opsets})
        block.lines, block.prefix = self.lines, operation.outputs[0]
        for formal, actual in zip_longest(function.inputs, operation.inputs, fillvalue=""):
            block.bound[formal] = actual and self.name(actual)
            constant = self.constant(actual) if actual else None
            if constant is not None:
                block.constants[formal] = constant
            kind = self.type(actual)
            if kind is not None:
                block.types[formal] = kind
        given = {**function.attributes, **operation.attributes}
        block.only = made
        block.operations([_filled_in(o, given, block.bound) for o in function.operations])
        for formal, actual in zip(function.outputs, operation.outputs, strict=False):
            if actual:
                self.lines.append((f"let {self.defined(actual)} = {block.name(formal)}", made))

    # Control flow

    def nested(self) -> _Block:
        block = _Block(self.writer, self, self.opsets)
        block.only = self.only
        return block

    def inner(self, graph: Graph) -> _Block:
        """The statements of a graph inside this one, which sees all that this one has."""
        block = self.nested()
        block.initializers(graph.initializers)
        block.operations(graph.operations)
        return block

    def braced(self, head: str, block: _Block, result: str) -> list[Line]:
        """A block in braces behind what it belongs to."""
        inside = [(f"  {text}", made) for text, made in block.lines]
        return [(f"{head} {{", self.made), *inside, (f"  {result}", self.made), ("}", self.made)]

    def branch(self, operation: Operation) -> list[Line]:
        """ONNX If."""
        arms = []
        made = self.made
        for name in ("then_branch", "else_branch"):
            graph = operation.attributes[name]
            block = self.inner(graph)
            arms.append((block, block.result([v.name for v in graph.outputs])))
        self.made = made
        first = self.braced(f"if (@reshape({self.name(operation.inputs[0])}, []))", *arms[0])
        return [*first[:-1], *self.braced("} else", *arms[1])]

    def loop(self, operation: Operation) -> list[Line]:
        """ONNX Loop: a trip count, a condition, values that are carried, and results that are stacked."""
        graph = operation.attributes["body"]
        count, cond, *inits = (*operation.inputs, "", "")[: max(len(operation.inputs), 2)]
        block = self.nested()
        turn, go, *carried = (v.name for v in graph.inputs)
        values = self.writer.values
        index = values.fresh("turn")
        ends = [v.name for v in graph.outputs[1 : 1 + len(carried)]]
        carries = [
            self.carry(block, v, self.name(i), graph, e) for v, i, e in zip(graph.inputs[2:], inits, ends, strict=True)
        ]
        block.lines.append((f"let {block.defined(turn)} = @size_to_tensor({index})", self.made))
        outputs = [v.name for v in graph.outputs]
        stays = cond == "" and _is_true(graph, outputs[0])
        if stays:
            block.lines.append((f"let {block.defined(go)} = tensor(true)", self.made))
        else:
            start = f"@reshape({self.name(cond)}, [])" if cond else "tensor(true)"
            carries.insert(0, f"{block.defined(go)} = {start}")
        block.initializers(graph.initializers)
        block.operations(graph.operations)
        stacked = [self.stacked(v) for v in graph.outputs[1 + len(carried) :]]
        results = [block.name(o) for o in outputs[1:]]
        if not stays:
            results.insert(0, f"@reshape({block.name(outputs[0])}, [])")
        head = f"for {index} in range({self.item(count)})" if count else f"while ({block.name(go)})"
        clauses = [f"with ({', '.join(carries)})"] if carries else []
        clauses += [f"while ({block.name(go)})"] if count and not stays else []
        clauses += [f"stack ({', '.join(stacked)})"] if stacked else []
        result = results[0] if len(results) == 1 else f"({', '.join(results)})"
        lines = self.braced(" ".join((head, *clauses)), block, result)
        return lines if stays else self.without_first(operation, lines)

    def without_first(self, operation: Operation, lines: list[Line]) -> list[Line]:
        """A loop's results without the condition, which is the first thing it carries."""
        count = max((at + 1 for at, name in enumerate(operation.outputs) if name), default=0)
        names = [self.writer.values.fresh("part") for _ in operation.outputs[:count]]
        go = self.writer.values.fresh("go")
        self.statement(f"({', '.join((go, *names))})", lines)
        return [(names[0] if len(operation.outputs) == 1 else f"({', '.join(names)})", self.made)]

    def carry(self, block: _Block, value: Value, first: str, graph: Graph, end: str) -> str:
        """A value that a loop carries: of any shape, unless each turn surely ends with the shape that it began with."""
        kind = value.type if isinstance(value.type, TensorType) else None
        dtype = kind.dtype if kind is not None and kind.dtype is not None else "?"
        free = "" if _keeps(graph, value, end) else f" : Tensor(?, {dtype})"
        return f"{block.defined(value.name)}{free} = {first}"

    def stacked(self, value: Value) -> str:
        """What is stacked, whose type the turns tell: what a model declares of it may be false."""
        return f"{self.writer.values.fresh(value.name)} : Tensor(?, ?)"

    def item(self, value: str) -> str:
        found = self.constant(value)
        if found is not None and found.values:
            return str(found.values[0])
        return f"@item(@reshape({self.name(value)}, []))"

    def scan(self, operation: Operation) -> list[Line]:
        """ONNX Scan: state variables, and tensors that are read and written an entry in each turn."""
        if self.version("") < 9:
            raise RxError(
                error(codes.E247, f"{operation} is of a version with a batch axis, which Rx does not have", NOWHERE)
            )
        graph = operation.attributes["body"]
        count = operation.attributes["num_scan_inputs"]
        states = len(operation.inputs) - count
        values = self.writer.values
        index = values.fresh("turn")
        block = self.nested()
        read = operation.inputs[states:]
        axes = operation.attributes.get("scan_input_axes") or (0,) * count
        backwards = operation.attributes.get("scan_input_directions") or (0,) * count
        turns = f"{self.name(read[0])}.dim({axes[0]})"
        carries = [
            self.carry(block, v, self.name(i), graph, e.name)
            for v, i, e in zip(graph.inputs[:states], operation.inputs[:states], graph.outputs, strict=False)
        ]
        for value, source, axis, back in zip(graph.inputs[states:], read, axes, backwards, strict=True):
            at = f"{turns} - 1 - {index}" if back else index
            block.lines.append(
                (f"let {block.defined(value.name)} = @take({self.name(source)}, {at}, axis={axis})", self.made)
            )
        block.initializers(graph.initializers)
        block.operations(graph.operations)
        stacked = [self.stacked(v) for v in graph.outputs[states:]]
        clauses = [f"with ({', '.join(carries)})"] if carries else []
        clauses += [f"stack ({', '.join(stacked)})"] if stacked else []
        result = block.result([v.name for v in graph.outputs])
        return self.braced(" ".join((f"for {index} in range({turns})", *clauses)), block, result)

    def result(self, outputs: Sequence[str]) -> str:
        names = [self.name(o) for o in outputs]
        return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _filled_in(operation: Operation, given: Mapping[str, Attribute], bound: Mapping[str, str]) -> Operation:
    """A node of a function's body with the function's attributes, and without the operands that are absent."""
    attributes = {name: _attribute(value, given, bound) for name, value in operation.attributes.items()}
    inputs = tuple("" if bound.get(i) == "" else i for i in operation.inputs)
    while inputs and not inputs[-1]:
        inputs = inputs[:-1]
    return replace(operation, attributes={n: v for n, v in attributes.items() if v is not None}, inputs=inputs)


def _attribute(value: Attribute, given: Mapping[str, Attribute], bound: Mapping[str, str]) -> Attribute:
    if isinstance(value, AttributeRef):
        return given.get(value.name)
    if isinstance(value, Graph):
        return replace(value, operations=tuple(_filled_in(o, given, bound) for o in value.operations))
    return value


# Operators whose result has the shape of their one operand.
_ALIKE = {
    "Identity", "Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Exp", "Log", "Sqrt", "Not", "Cast", "Erf", "Softmax", "Floor", "Ceil",
    "Clip", "Sign",
}  # fmt: skip
# Those of two operands, of which the other is a single number.
_WITH_A_NUMBER = {"Add", "Sub", "Mul", "Div", "And", "Or"}


def _keeps(graph: Graph, value: Value, end: str) -> bool:
    """Whether a turn ends with a value of the shape that it got: the body declares the same of both, or computes the one from
    the other number by number."""
    declared = {v.name: v.type for v in (*graph.outputs, *graph.values)}
    before, after = value.type, declared.get(end)
    if isinstance(before, TensorType) and isinstance(after, TensorType):
        shapes = before.shape, after.shape
        if shapes[0] is not None and None not in shapes[0] and shapes[0] == shapes[1]:
            return True
    made = {name: o for o in graph.operations for name in o.outputs}
    numbers = {t.name for t in graph.initializers if t.shape == ()}
    numbers |= {o.outputs[0] for o in graph.operations if o.op_type == "Constant" and constant_of(o).shape == ()}
    while end != value.name:
        found = made.get(end)
        if found is None or found.domain or not found.inputs:
            return False
        if found.op_type in _WITH_A_NUMBER and found.inputs[1] in numbers or found.op_type in _ALIKE:
            end = found.inputs[0]
        elif found.op_type in _WITH_A_NUMBER and found.inputs[0] in numbers:
            end = found.inputs[1]
        else:
            return False
    return True


def _is_true(graph: Graph, output: str) -> bool:
    """Whether a loop's body never ends it: its condition is the one that it got, or a constant."""
    made = next((o for o in graph.operations if output in o.outputs), None)
    return made is not None and made.op_type == "Identity" and made.inputs[0] == graph.inputs[1].name


_CONTROL = {"If": _Block.branch, "Loop": _Block.loop, "Scan": _Block.scan}


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
