"""The values of a function's names while it is walked, and the record of all bindings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..lang import core
from ..lang.checked import Binding, Case, Explanation
from ..lang.node import replace
from ..lang.source import NOWHERE, Span
from ..ops.model import DTypeSymbol, Segment, TensorInfo
from ..ops.tracked import integers, literal_elements
from .arms import JOIN
from .frame import Frame
from .known.as_core import CoreWriter
from .known.fresh import unknown
from .known.naming import Names
from .known.state import State
from .known.values import (
    BoolValue,
    DTypeValue,
    Entry,
    Env,
    ListValue,
    NumberValue,
    ShapeValue,
    SizeValue,
    TextValue,
    TupleValue,
    UnknownValue,
    Value,
    plain,
)
from .messages.describe import binding
from .messages.explain import explain
from .program import ProgramContext
from .solver.terms import Size, variables

_WHOLE = ("bool", "int", "uint")


class Recorded(NamedTuple):
    """The record of a name, and the sizes of its axes if these are requested and all known; also those of a tuple's parts."""

    binding: Binding
    sizes: tuple[Size, ...] | None
    items: tuple[Recorded, ...] = ()


class Bindings:
    """The record of one function's bindings; those of inlined bodies are not included."""

    def __init__(self, program: ProgramContext, state: State, function: str, *, written: bool = True) -> None:
        self.program, self.state, self.function = program, state, function
        self.names = Names(state)
        self.params: Env = {}
        self._bound: list[tuple[str, Span, Entry, State]] = []
        self._latest: dict[str, int] = {}
        self._closed: list[Recorded] = []
        # Whether the sizes of closed bindings are kept.
        self.keeps_sizes = False
        self._told: list[Explanation] = []
        self._adopted: dict[object, Size | Segment] = {}
        self._adopted_dtypes: dict[tuple[str, DTypeSymbol], DTypeSymbol] = {}
        self.written = CoreWriter(state, wanted=written)
        self._numbers: dict[object, int] = {}
        # The literal tensors, by value number.
        self.literals: dict[int, core.TensorLit] = {}

    # Consts

    def known_as(self, frame: Frame, env: Env, entry: Entry, value: core.Value, sort: core.Sort) -> Entry:
        """Give a value of unknown sort the sort that its use requires."""
        if not isinstance(entry.value, UnknownValue):
            return entry
        name = value.name if isinstance(value, core.Var) else "?"
        entry = replace(entry, value=unknown(self.state, sort, name))
        if isinstance(value, core.Var):
            self.rebind(frame, env, value.name, entry)
        return entry

    def adopt(self, name: str, entry: Entry) -> Entry:
        """A const's value in the State of this function: symbolic sizes become sizes of this State."""
        return replace(entry, value=self._adopt(name, name, entry.value), number=self.number(("const", name)))

    def _adopt(self, const: str, path: str, value: Value) -> Value:
        """Adopt a part of a const; `path` is its place there: `w`, `w[0]`. One symbol in the const stays one symbol here."""
        if isinstance(value, TensorInfo):
            shape = tuple(self._adopt_dim(const, path, axis, d) for axis, d in enumerate(value.shape))
            dtype = value.dtype
            if isinstance(dtype, DTypeSymbol):
                dtype = self._adopted_dtypes.setdefault((const, dtype), self.state.dtype_symbol(dtype.name))
            return TensorInfo(shape, dtype, literal_elements(value.data))
        if isinstance(value, SizeValue):
            return SizeValue(self._adopt_dim(const, path, 0, value.size))
        if isinstance(value, ShapeValue):
            return ShapeValue(tuple(self._adopt_dim(const, path, i, d) for i, d in enumerate(value.dims)))
        if isinstance(value, TupleValue | ListValue):
            items = (self._adopt(const, f"{path}[{i}]", item) for i, item in enumerate(value.items))
            return replace(value, items=tuple(items))
        return value

    def _adopt_dim(self, const: str, path: str, axis: int, part: object) -> Any:
        if isinstance(part, int):
            return part
        if isinstance(part, Segment):
            return self._adopted.setdefault((const, part.symbol), self.state.segment(path))
        return self._adopted.setdefault((const, part), self.state.dimension(f"{path}.dim({axis})"))

    # Value numbers

    def number(self, key: object = None) -> int:
        """The number of a value that is made in this way; a new one if no key is known."""
        return self._numbers.setdefault(object() if key is None else key, len(self._numbers))

    def number_of_literal(self, literal: core.TensorLit) -> int:
        """The number of a literal tensor."""
        number = self.number((literal.shape, literal.dtype, tuple(map(repr, literal.values))))
        self.literals[number] = literal
        return number

    def elements(self, entry: Entry) -> Sequence[object] | None:
        """The elements of a literal, or the known integer elements."""
        literal = None if entry.number is None else self.literals.get(entry.number)
        if literal is not None:  # another dtype may not hold them as written
            return literal.values if literal.dtype.kind in _WHOLE or literal.dtype.name == "float64" else None
        if isinstance(entry.value, NumberValue):
            return (entry.value.value,)
        return integers(entry.value.data) if isinstance(entry.value, TensorInfo) else None

    def number_of_call(self, name: str, given: Iterable[tuple[str, Entry]]) -> int | None:
        """The number of a primitive's result, which is the same for the same operands; None if an operand has none."""
        keys = [(param, self._key(entry)) for param, entry in given]
        return None if any(key is None for _, key in keys) else self.number((name, tuple(keys)))

    def _key(self, entry: Entry) -> object:
        if entry.number is not None:
            return entry.number
        if entry.items:
            keys = tuple(map(self._key, entry.items))
            return None if None in keys else keys
        value = entry.value
        if isinstance(value, NumberValue):
            return type(value.value), repr(value.value)
        if isinstance(value, SizeValue):
            return "size", self.state.settled(value.size)
        return value if isinstance(value, ShapeValue | TextValue | DTypeValue | BoolValue) else None

    # Names

    def bind(self, frame: Frame, env: Env, name: str, entry: Entry, span: Span) -> None:
        """Bind the name to the entry from here on."""
        if entry.number is None and isinstance(entry.value, TensorInfo):
            entry = replace(entry, number=self.number())
        env[name] = entry
        if isinstance(entry.value, TensorInfo):
            for part in entry.value.shape:
                if isinstance(part, Segment) and self.state.called(part.symbol) == "?":
                    self.state.call(part.symbol, name)
        is_passed = not (frame.is_case and self.state.facts.contradictory)
        if frame.site is None and not frame.quiet and is_passed:
            self._latest[name] = len(self._bound)
            self._bound.append((name, span, entry, self.state))

    def rebind(self, frame: Frame, env: Env, name: str, entry: Entry) -> None:
        """Update a name with more facts: the binding's record follows, if it is still open and this function's own."""
        env[name] = entry
        at = self._latest.get(name, len(self._bound))
        if frame.site is None and at < len(self._bound) and self._bound[at][0] == name:
            self._bound[at] = (name, self._bound[at][1], entry, self.state)

    # Records

    def described(self) -> tuple[Binding, ...]:
        """Every binding whose name the user wrote, in the order of the source."""
        now = (_binding(*bound) for bound in self._bound)
        found = (b for b in (*(r.binding for r in self._closed), *now) if self.is_named(b.name, b.span))
        return tuple(sorted(found, key=lambda b: b.span.start))

    def is_named(self, name: str, span: Span) -> bool:
        """Whether the user knows a name: it is written where it is bound, or a script prints it."""
        text = span.text
        if text.startswith(f"let {name} "):
            return True
        return name in re.findall(r"\w+'*", text) or (self.function == "@main" and name in self.program.printed)

    def explained(self, name: str) -> tuple[Explanation, ...]:
        """The explanations of each binding and parameter with that name, or of a size that an annotation named so."""
        open_ = [(e, st) for n, span, e, st in self._bound if n == name and self.is_named(n, span)]
        found = [*self._told, *(explain(self.function, name, e, st) for e, st in open_)]
        if name in self.params:
            found.append(explain(self.function, name, self.params[name], self.state))
        if not found and name in self.names.sizes:
            found.append(self._explain_size(name, self.params.values()))
        return tuple(sorted({e.span: e for e in found}.values(), key=lambda e: e.span.start))

    def _explain_size(self, name: str, annotated: Iterable[Entry]) -> Explanation:
        """The explanation of a size that the annotation of one of the tensors named."""
        places = (place for e in annotated for place in e.axes if place and place.text == name)
        size = Entry(SizeValue(self.names.sizes[name]), next(places, NOWHERE))
        return explain(self.function, name, size, self.state)

    def mark(self) -> int:
        """The number of bindings so far, for `close`."""
        return len(self._bound)

    def close(self, since: int, older: int | None = None) -> None:
        """Describe the bindings of an arm or a turn, which end with it, while its facts hold. In a turn this includes a size
        that an annotation named, if it is newer than `older`."""
        size = self.names.sizes.get(self.program.explained or "")
        if older is not None and size is not None and any(v.serial > older for v in variables(size)):
            self._told.append(
                self._explain_size(self.program.explained or "", (e for _, _, e, _ in self._bound[since:]))
            )
        for name, span, entry, state in self._bound[since:]:
            self._closed.append(self._recorded(name, entry, span, state))
            if name == self.program.explained and self.is_named(name, span):
                self._told.append(explain(self.function, name, entry, state))
        del self._bound[since:]

    def _recorded(self, name: str, entry: Entry, span: Span, state: State) -> Recorded:
        shape = state.resolve(entry.value.shape) if self.keeps_sizes and isinstance(entry.value, TensorInfo) else None
        sizes = tuple(map(state.settled, shape)) if shape is not None and plain(shape) else None
        values = entry.value.items if self.keeps_sizes and isinstance(entry.value, TupleValue) else ()
        items = tuple(self._recorded("", Entry(value, span), span, state) for value in values)
        return Recorded(_binding(name, span, entry, state), sizes, items)

    def taken(self, since: int, result: Entry) -> tuple[Recorded, ...]:
        """Return the records of a case's bindings, which end with it, and of the function's result there."""
        self.close(since)
        found, self._closed = self._closed, []
        return (*found, self._recorded("result", result, NOWHERE, self.state))


def _binding(name: str, span: Span, entry: Entry, state: State) -> Binding:
    """The record of a name; with the shapes of both arms if it comes from an `if` whose arms differ in rank."""
    found = binding(name, entry.value, span, state)
    cases = tuple(dict.fromkeys(_in_arms(entry, state))) if (found.shape, found.open) == (None, "?") else ()
    return replace(found, cases=cases) if len(cases) > 1 else found


def _in_arms(entry: Entry, state: State) -> Iterator[Case]:
    for _, arm in entry.origin.entries if entry.origin is not None and entry.origin.name == JOIN else ():
        known = binding("", arm.value, arm.span, state).shape
        yield from (Case(None, known),) if known is not None else _in_arms(arm, state)
