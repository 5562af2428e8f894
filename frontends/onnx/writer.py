"""Writes the program of a model line by line, with the names of its values and the notes about it."""

from __future__ import annotations

from collections.abc import Collection
from typing import NoReturn

from ...lang import codes
from ...lang.diagnostics import Diagnostic, RxError, error, note
from ...lang.source import MadeSource, place_in
from ...ops.registry import lookup
from .dims import Size, declared, names, read_dim, size_text, slope
from .functions import Asking
from .literals import listed, quoted
from .model import Model, ModelValue, Operation, StoredInitializer, TensorType, ValueType
from .names import ScopeNames
from .prelude import Prelude
from .types import has_tensors_only, opaque_text

Line = tuple[str, MadeSource | None]
# After this many wrong nodes, translation stops.
_MOST_WRONG = 100


def _is_determined(size: Size, declared: Collection[str]) -> bool:
    """Whether a signature with a size determines the names in it: other sizes do, or it grows with its only name."""
    if all(name in declared for name in names(size)):
        return True
    return len(list(names(size))) == 1 and (slope(size) or 0) > 0


class Writer:
    """The text of one model, line by line."""

    def __init__(self, model: Model, held: str, prelude: Prelude, *, keeps_functions: bool) -> None:
        self.model = model
        self.path = str(model.path)
        self.held = held
        # Whether weights come from a file of a format without texts.
        self.holds_no_texts = held != model.path.name
        self.prelude = prelude
        # Whether the model's functions become functions of the program, or are expanded at their calls.
        self.keeps_functions = keeps_functions
        self.has_tensors_only = has_tensors_only(model)
        self.lines: list[str] = []
        self.made: dict[int, MadeSource] = {}
        self.notes: list[Diagnostic] = []
        self.values = ScopeNames(prelude.words)
        self.declared = declared(model.graph)
        for size in sorted(self.declared):
            self.values.size(size)
        self.functions = {(f.domain, f.name, f.overload): f for f in model.functions}
        # Called functions of the model, by name, attributes and given inputs: each is written once.
        self.called: dict[tuple[object, ...], str] = {}
        self.asking = Asking(self.functions)
        # Mistakes in nodes, which are written as operators without a rule.
        self.wrong: list[Diagnostic] = []
        self.unknowns: set[tuple[str, str]] = set()
        self.consts: set[str] = set()
        self.expanded = 0

    def refuse(self, message: str, made: MadeSource) -> None:
        """Report that a node has no meaning in Rx."""
        self.wrong.append(error(codes.E247, message, place_in(self.path, made)))
        if len(self.wrong) >= _MOST_WRONG:
            raise RxError(*self.wrong)

    def give_up(self, message: str, made: MadeSource) -> NoReturn:
        """Report that a node makes more than a program may have."""
        raise RxError(*self.wrong, error(codes.E247, message, place_in(self.path, made)))

    def unknown(self, operation: Operation) -> None:
        """Report once that an operator has no rule."""
        key = (operation.domain, operation.op_type)
        if key not in self.unknowns:
            domain = f" of the domain `{operation.domain}`" if operation.domain else ""
            said = f"`{operation.op_type}`{domain} has no rule: its results are what the model declares of them"
            self.notes.append(
                note(
                    codes.N207,
                    said,
                    place_in(self.path, MadeSource(str(operation), trace=operation.trace)),
                    help="write a rule for it with rx.onnx.rule, or as a function in a --prelude",
                )
            )
        self.unknowns.add(key)

    def function_name(self, original: str) -> str:
        """A name for a function that differs from all primitives."""
        name = self.values.fresh(original)
        while lookup(name) is not None:
            name = self.values.fresh(f"{name}_function")
        return name

    def line(self, text: str, made: MadeSource | None = None) -> None:
        self.lines.append(text)
        if made is not None:
            self.made[len(self.lines)] = made

    def const(self, name: str, tensor: StoredInitializer) -> None:
        """Write a weight; one in the model's own file gets its type from there."""
        self.consts.add(name)
        held = f"load({quoted(self.held)}, {quoted(tensor.key or tensor.name)})"
        kind = "" if not self.holds_no_texts else f" : Tensor({listed(tensor.shape)}, {tensor.dtype})"
        self.line(f"const {name}{kind} = {held}", MadeSource(f"weight `{tensor.name}`"))

    def put_first(self, lines: list[str]) -> None:
        """Insert lines that belong to no node before all others."""
        self.lines = [*lines, *self.lines]
        self.made = {number + len(lines): made for number, made in self.made.items()}

    def inside(self, lines: list[Line]) -> None:
        for text, made in lines:
            self.line(f"  {text}", made)

    def param(self, value: ModelValue) -> str:
        name = self.values.value(value.name)
        return f"{name} : {self.type(value.type, name)}"

    def type(self, kind: ValueType | None, name: str) -> str:
        if kind is None:
            return "Tensor"
        if not isinstance(kind, TensorType):
            return opaque_text(kind, name)
        if kind.shape is None:
            return f"Tensor(?, {kind.dtype or '?'})"
        sizes = [self.size(size, f"{name}_{axis}") for axis, size in enumerate(kind.shape)]
        return f"Tensor({listed(sizes)}, {kind.dtype or '?'})"

    def size(self, declared: int | str | None, otherwise: str) -> str:
        """A declared size in Rx; one that nothing determines gets its own name."""
        if isinstance(declared, int):
            return str(declared)
        if declared is None:
            return self.values.unnamed_size(otherwise)
        reading = read_dim(declared, self.declared)
        if reading.note is not None:
            self.notes.append(
                note(codes.N205, reading.note, place_in(self.path, MadeSource(f"the size {quoted(declared)}")))
            )
        if not _is_determined(reading.size, self.declared):
            return self.values.size(declared)
        return size_text(reading.size, self.values.size)
