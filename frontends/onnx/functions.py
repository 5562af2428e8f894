"""A model's functions: their versions for different calls, the operators in their bodies, and bodies with a call's
attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ...lang.node import replace
from .model import Attribute, AttributeRef, Graph, ModelFunction, Operation, StoredInitializer, TensorType, ValueType
from .operators.registry import find

# Functions are specialised for constants of integers with at most this many elements, and for single numbers.
_SPECIAL = 16
Functions = Mapping[tuple[str, str, str], ModelFunction]


class CallScope(Protocol):
    """The known constants and types at a call."""

    def constant(self, value: str) -> StoredInitializer | None: ...
    def type(self, value: str) -> ValueType | None: ...


class GivenAttributes:
    """The properties of an operand for which a function is specialised: its dtype and rank if it is `typed`, and its elements
    where they may be a shape or an axis."""

    def __init__(self, formal: str, actual: str, scope: CallScope, *, typed: bool) -> None:
        self.formal, self.actual = formal, actual
        found = scope.constant(actual) if actual else None
        self.constant = found if found is not None and _is_special(found) else None
        kind = scope.type(actual) if actual else None
        if isinstance(kind, TensorType):
            shape = None if kind.shape is None else (None,) * len(kind.shape)
            kind = TensorType(kind.dtype, shape) if typed else None
        self.kind = kind

    @property
    def key(self) -> object:
        constant = self.constant and (self.constant.dtype, self.constant.shape, repr(self.constant.values))
        return bool(self.actual), repr(self.kind), constant


def _is_special(tensor: StoredInitializer) -> bool:
    """Whether a function is specialised for a constant's elements."""
    if tensor.values is None:
        return False
    is_whole = tensor.dtype in ("bool", "int32", "int64")
    return len(tensor.values) <= (_SPECIAL if is_whole else 1)


class Asking:
    """Finds functions whose meaning depends on the dtypes and ranks of their inputs."""

    def __init__(self, functions: Functions) -> None:
        self.functions = functions
        self._known: dict[tuple[str, str, str], bool] = {}

    def asks(self, function: ModelFunction, opsets: Mapping[str, int]) -> bool:
        key = (function.domain, function.name, function.overload)
        if key not in self._known:
            own = {**opsets, **function.opsets}
            self._known[key] = any(self._asks(operation, own) for operation in function.operations)
        return self._known[key]

    def _asks(self, operation: Operation, opsets: Mapping[str, int]) -> bool:
        """Whether an operator's meaning depends on them: one that ONNX defines for types, one with graphs, one of labels."""
        own = self.functions.get((operation.domain, operation.op_type, operation.overload))
        if own is not None:
            return self.asks(own, opsets)
        if operation.domain == "" and operation.op_type == "Constant":
            return False
        row = find(operation.domain, operation.op_type, opsets.get(operation.domain, 1))
        return row is None or operation.domain == "ai.onnx.ml"


def filled_in(operation: Operation, given: Mapping[str, Attribute], bound: Mapping[str, str]) -> Operation:
    """A node of a function's body, with the function's attributes and without absent operands."""
    attributes = {name: _attribute(value, given, bound) for name, value in operation.attributes.items()}
    inputs = tuple("" if bound.get(i) == "" else i for i in operation.inputs)
    while inputs and not inputs[-1]:
        inputs = inputs[:-1]
    return replace(operation, attributes={n: v for n, v in attributes.items() if v is not None}, inputs=inputs)


def _attribute(value: Attribute, given: Mapping[str, Attribute], bound: Mapping[str, str]) -> Attribute:
    if isinstance(value, AttributeRef):
        return given.get(value.name)
    if isinstance(value, Graph):
        return replace(value, operations=tuple(filled_in(o, given, bound) for o in value.operations))
    return value
