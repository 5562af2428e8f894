"""What the names of a function stand for while it is walked, and the record of what was bound."""

from __future__ import annotations

import re
from typing import Any, assert_never

from ..lang import core
from ..lang.checked import Binding, Explanation
from ..lang.node import replace
from ..lang.source import NOWHERE, Span
from ..ops.model import Segment, TensorInfo
from .judge import Judge, Log
from .known.outcome import Options
from .known.state import State
from .known.values import (
    BoolValue,
    DTypeSymbol,
    DTypeValue,
    Entry,
    Env,
    FnValue,
    ListValue,
    ShapeValue,
    SizeValue,
    TupleValue,
    Value,
)
from .program import Program
from .solver.conditions import eq
from .solver.terms import Size
from .voice.describe import binding
from .voice.explain import explain


class Bindings(Judge):
    """A Judge that keeps the names of one function, and of what is inlined into it. `out` gathers the
    simplified statements of the current block."""

    def __init__(self, program: Program, state: State, log: Log, options: Options, function: str) -> None:
        super().__init__(state, log, options)
        self.program = program
        self.function = function
        self.out: list[core.Stmt] = []
        self.names: dict[str, Size] = {}
        self.opaque_names = False
        self.inlined: tuple[str, ...] = ()
        self.fuel = 4_000
        self.params: Env = {}
        self._bindings: list[tuple[str, Span, Entry, State]] = []
        self._latest: dict[str, int] = {}
        self._closed: list[Binding] = []
        self._told: list[Explanation] = []
        self._temporaries = 0
        self._adopted: dict[object, object] = {}

    # What the walk does with a piece of the program

    def stmt(self, stmt: core.Stmt, env: Env) -> None:
        raise NotImplementedError

    def value(self, expr: core.Value, env: Env) -> tuple[Entry, core.Value]:
        raise NotImplementedError

    def block(self, block: core.Block, env: Env) -> tuple[Entry, core.Block]:
        raise NotImplementedError

    # Fresh values

    def unknown(self, sort: core.Sort, name: str) -> Value:
        """A value of a sort that nothing is known of, called `name`."""
        match sort:
            case core.TupleSort():
                return TupleValue(tuple(self.unknown(s, f"{name}.{i}") for i, s in enumerate(sort.items)))
            case core.FnSort():
                return FnValue(name, sort.signature)
            case core.BaseSort(name="Size"):
                return SizeValue(self.state.size(name, nonneg=False))
            case core.BaseSort(name="Shape"):
                return ShapeValue((self.state.segment(name),))
            case core.BaseSort(name="DType"):
                return DTypeValue(self.state.dtype_symbol(name))
            case core.BaseSort(name="Bool"):
                return BoolValue(eq(self.state.size(name, nonneg=False), 1))
            case core.BaseSort():
                return TensorInfo((self.state.segment(name),), self.state.dtype_symbol(f"{name}.dtype"))
            case _:
                assert_never(sort)

    def adopt(self, name: str, entry: Entry) -> Entry:
        """A const's value in this walker's State: sizes that are not literal become sizes of this State."""
        return replace(entry, value=self._adopt(name, name, entry.value))

    def _adopt(self, const: str, path: str, value: Value) -> Value:
        """`path` is where in the const the value stands: `w`, `w[0]`. What was one symbol in the const is one here."""
        if isinstance(value, TensorInfo):
            shape = tuple(self._adopt_dim(const, path, axis, d) for axis, d in enumerate(value.shape))
            dtype = value.dtype
            if isinstance(dtype, DTypeSymbol):
                dtype = self._adopted.setdefault((const, dtype), self.state.dtype_symbol(dtype.name))
            return TensorInfo(shape, dtype, value.data if _literal_data(value) else None)
        if isinstance(value, SizeValue):
            return SizeValue(self._adopt_dim(const, path, 0, value.size))
        if isinstance(value, ShapeValue):
            return ShapeValue(tuple(self._adopt_dim(const, path, i, d) for i, d in enumerate(value.dims)))
        if isinstance(value, TupleValue | ListValue):
            items = (self._adopt(const, f"{path}[{i}]", item) for i, item in enumerate(value.items))
            return replace(value, items=tuple(items))
        return value

    def _adopt_dim(self, const: str, path: str, axis: int, part: Any) -> Any:
        if isinstance(part, int):
            return part
        if isinstance(part, Segment):
            return self._adopted.setdefault((const, part.symbol), self.state.segment(path))
        return self._adopted.setdefault((const, part), self.state.dimension(f"{path}.dim({axis})"))

    def temporary(self) -> str:
        while True:
            self._temporaries += 1
            name = f"t{self._temporaries}'"
            if name not in self.program.taken:
                return name

    # Names

    def bind(self, env: Env, name: str, entry: Entry, span: Span) -> None:
        env[name] = entry
        if isinstance(entry.value, TensorInfo):
            for part in entry.value.shape:
                if isinstance(part, Segment) and part.symbol.name == "?":
                    self.state.call(part.symbol, name)
        if self.site is None and not self.quiet:
            self._latest[name] = len(self._bindings)
            self._bindings.append((name, span, entry, self.state))

    def rebind(self, env: Env, name: str, entry: Entry) -> None:
        """More is known of a name: the binding's record follows, if it is still open and this function's own."""
        env[name] = entry
        at = self._latest.get(name, len(self._bindings))
        if self.site is None and at < len(self._bindings) and self._bindings[at][0] == name:
            self._bindings[at] = (name, self._bindings[at][1], entry, self.state)

    def settle(self, entry: Entry) -> Entry:
        """The value with everything written out that is known by now."""
        return replace(entry, value=self._settled(entry.value))

    def _settled(self, value: Value) -> Value:
        if isinstance(value, TensorInfo):
            return TensorInfo(self.state.resolve(value.shape), self.state.dtype(value.dtype), value.data)
        if isinstance(value, SizeValue):
            return SizeValue(self.state.settled(value.size))
        if isinstance(value, TupleValue):
            return TupleValue(tuple(map(self._settled, value.items)))
        return value

    # Records

    def described(self) -> tuple[Binding, ...]:
        """Every binding whose name the user wrote, in the order of the source."""
        now = (binding(name, entry.value, span, state) for name, span, entry, state in self._bindings)
        found = (b for b in (*self._closed, *now) if self._is_named(b.name, b.span))
        return tuple(sorted(found, key=lambda b: b.span.start))

    def _is_named(self, name: str, span: Span) -> bool:
        """Whether a name is known to the user: it stands where it is bound, or a script prints it."""
        return name in re.findall(r"\w+'*", span.text) or (self.function == "@main" and name in self.program.printed)

    def explained(self, name: str) -> tuple[Explanation, ...]:
        """What is known of each binding and parameter of that name, or of a size that an annotation gave it."""
        open_ = [(e, st) for n, span, e, st in self._bindings if n == name and self._is_named(n, span)]
        found = [*self._told, *(explain(self.function, name, e, st) for e, st in open_)]
        if name in self.params:
            found.append(explain(self.function, name, self.params[name], self.state))
        if not found and name in self.names:
            places = (place for e in self.params.values() for place in e.axes if place and place.text == name)
            size = Entry(SizeValue(self.names[name]), next(places, NOWHERE))
            found.append(explain(self.function, name, size, self.state))
        return tuple(sorted({e.span: e for e in found}.values(), key=lambda e: e.span.start))

    def _close_bindings(self, since: int) -> None:
        """What was bound in an arm ends with it: describe it while its facts hold."""
        for name, span, entry, state in self._bindings[since:]:
            self._closed.append(binding(name, entry.value, span, state))
            if name == self.program.explained and self._is_named(name, span):
                self._told.append(explain(self.function, name, entry, state))
        del self._bindings[since:]


def _literal_data(value: TensorInfo) -> bool:
    data = value.data if isinstance(value.data, tuple) else (value.data,)
    return all(isinstance(d, int) for d in data)
