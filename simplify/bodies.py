"""The result of a call: the promises of the callee as facts, or its body walked under the caller's facts."""

from __future__ import annotations

from typing import Any

from ..lang import core
from ..lang.core import Status
from ..lang.node import replace
from ..lang.source import Span
from ..lang.walk import walk
from ..lang.weak import part_names
from ..ops.model import DTypeSymbol, Segment, TensorInfo
from ..ops.ranges import sizes_of
from ..ops.tracked import sizes_in
from .frame import Frame
from .known.fresh import settle, unknown
from .known.naming import Names
from .known.values import Entry, Env, FnValue, SizeValue, TupleValue, Value
from .program import left_open
from .solver.conditions import Condition, cond_variables
from .solver.terms import Term, over, stride, variables
from .visitor import Visitor, VisitorPart

# The most bodies inlined in one another, and the deepest nesting in all of them together.
_MAX_INLINED, _DEEPEST = 64, 320
_ROOM = 20_000


class Bodies(VisitorPart):
    """Walks the bodies of called functions, as deep as there is fuel."""

    def __init__(self, visitor: Visitor) -> None:
        super().__init__(visitor)
        self.fuel = visitor.program.fuel_of_a_function()
        # The number of nodes that may replace calls.
        self.room = _ROOM

    def result(self, frame: Frame, function: core.Function, inner: Env, span: Span) -> Entry:
        """Return the result as the caller knows it: by the annotation's promises, or by the body if there is no
        annotation."""
        if not self.program.is_opaque(function):
            return self.inline(frame, function, inner, span)[0]
        self.may_not_end(frame, function)
        if self.prover.thorough:
            self._look_into(frame, function, inner, span)
        [call] = function.body.stmts
        assert isinstance(call, core.Let)
        sort = function.result or core.TENSOR
        inner[call.names[0]] = Entry(unknown(self.state, sort, "?"), span)
        promised = replace(frame, names=Names(self.state, opaque=True))
        before = len(self.state.unnamed)
        self.visitor.assume_all(promised, function.promises, inner, name_dims=True)
        for variable in self.state.unnamed[before:]:
            if variable in self.state.anonymous and variable not in self.state.opaque:
                self.state.opaque.begin(variable, None)
        entry = settle(self.state, inner[call.names[0]])
        if isinstance(entry.value, TupleValue):
            entry = self._rebuilt_tuple(call.names[0], function.promises, inner, entry)
        return Entry(entry.value, span)

    def _look_into(self, frame: Frame, function: core.Function, inner: Env, span: Span) -> None:
        """Check an annotated body under the caller's facts."""
        impl = self.program.implementation(function)
        if impl is None or not self._is_entered(frame, function.name, impl):
            return
        renamed = {p.name: inner[q.name] for p, q in zip(impl.params, function.params, strict=True)}
        self._walk_inlined(frame, impl, function.name, {**inner, **renamed}, span)

    def may_not_end(self, frame: Frame, function: core.Function) -> None:
        """Record that a call may not end after its entry check, unless its unread body is known to pass all its checks."""
        if function.kind != "extern" and not core.is_signature(function) and function.name not in self.program.sure:
            self.prover.hinder(frame)

    def _rebuilt_tuple(self, name: str, stmts: tuple[core.Stmt, ...], env: Env, entry: Entry) -> Entry:
        """Put a tuple together again from its parts, which have names of their own."""
        assert isinstance(entry.value, TupleValue)
        items = []
        for part in part_names(stmts, name):
            item = settle(self.state, env[part])
            if isinstance(item.value, TupleValue):
                item = self._rebuilt_tuple(part, stmts, env, item)
            items.append(item.value)
        return replace(entry, value=TupleValue(tuple(items))) if items else entry

    def inline(self, frame: Frame, function: core.Function, inner: Env, span: Span) -> tuple[Entry, core.Block | None]:
        """Walk a wrapper that keeps its body under the caller's facts, for its value and its remaining code. A repeated walk
        with the same arguments gives the same, unless the value has a size that the data decides: at the next call that is
        another one."""
        known_function = self.program.functions.get(function.name) is function
        identity = function.name if known_function else f"{function.name}@{function.span.start}"
        if over() or not self._is_entered(frame, identity, function):
            self.may_not_end(frame, function)
            return Entry(unknown(self.state, function.result or core.TENSOR, "?"), span), None
        given = tuple(settle(self.state, inner[p.name]).value for p in function.params)
        if not known_function or any(isinstance(v, FnValue) for v in given):
            return self._walk_inlined(frame, function, identity, inner, span)[0], None
        numbers = tuple(inner[p.name].number for p in function.params)
        key, plain = (function.name, *given, *numbers), (function.name, *given)
        known = self.state.inlined.get(key)
        if known is None and self.bindings.literals.keys().isdisjoint(numbers):
            known = self.state.inlined.get(plain)
        if known is None:
            newest, number, since = self.state.serial(), self.bindings.number(), len(self.prover.log.findings)
            entry, block = known = self._walk_inlined(frame, function, identity, inner, span)
            if over():  # the walk did not finish
                self.may_not_end(frame, function)
                return entry, None
            if _is_older_value(entry.value, newest):
                # A value made in the body may be another one at the next call: that of an extern is.
                is_older = entry.number is not None and entry.number < number
                self.state.inlined[key] = (entry if is_older else replace(entry, number=None)), block
                is_told = any(f.is_error for f in self.prover.log.findings[since:])  # each call reports its errors
                if not is_older and not is_told and _parts_of(entry.value) <= {p for v in given for p in _parts_of(v)}:
                    # The number of kept elements depends on the tensor that decides it: a result with other sizes than the
                    # given ones is not shared.
                    self.state.inlined[plain] = self.state.inlined[key]
        return replace(known[0], span=span), known[1]

    def _is_entered(self, frame: Frame, identity: str, function: core.Function) -> bool:
        """Whether a body is walked at a call; when the program's fuel is used up, only if this function's fuel covers it."""
        least = 1 if self.program.fuel > 0 else self.program.fuel_for(identity, function)
        if len(frame.inlined) >= _MAX_INLINED or identity in frame.inlined or self.fuel < least:
            return False
        return self.visitor.depth + frame.depth + self.program.depth_of(identity, function) <= _DEEPEST

    def _walk_inlined(
        self, frame: Frame, function: core.Function, identity: str, inner: Env, span: Span
    ) -> tuple[Entry, core.Block]:
        fuel = self.program.fuel_for(identity, function)
        self.fuel -= fuel
        self.program.fuel -= fuel
        inside = frame.into(identity, span, self.program.depth_of(identity, function))
        entry, block = self.visitor.block(inside, function.body, inner)
        return Entry(settle(self.state, entry).value, span, number=entry.number), block

    def is_better(self, frame: Frame, function: core.Function, block: core.Block) -> bool:
        """Whether a body at a call has fewer open checks than the function itself: then it replaces the call. A body with a
        loop does not: the loop is represented by its promise, which is no code."""
        before = self.program.left_open_in(function.name)
        if frame.trial or before == 0 or min(self.room, self.program.room) < 0:
            return False
        pieces = list(walk(block))
        self.program.room -= len(pieces)
        if left_open(self.program, block) >= before:
            return False
        if any(isinstance(piece, core.Loop) or getattr(piece, "status", None) is Status.REFUTED for piece in pieces):
            return False
        self.room -= len(pieces)
        stride(2 * len(pieces))
        return self.room >= 0


def _is_older_value(value: Value, newest: int) -> bool:
    """Whether everything in a value existed before the serial `newest` was given out."""
    match value:
        case TensorInfo():
            data = sizes_in(value.data)
            dtype = not isinstance(value.dtype, DTypeSymbol) or value.dtype.serial <= newest
            return dtype and all(_is_older_part(part, newest) for part in (*value.shape, *data, *sizes_of(value)))
        case SizeValue():
            return _is_older_part(value.size, newest)
        case TupleValue():
            return all(_is_older_value(item, newest) for item in value.items)
    return False


def _parts_of(value: Value) -> frozenset[Any]:
    """The size variables and stretches of axes in a value; a value of another kind itself."""
    match value:
        case TensorInfo():
            parts = (*value.shape, *sizes_in(value.data), *sizes_of(value))
            return frozenset().union(*map(_inside, parts))
        case SizeValue():
            return _inside(value.size)
        case TupleValue():
            return frozenset().union(*map(_parts_of, value.items))
    return frozenset([value])


def _inside(part: object) -> frozenset[Any]:
    """The variables of a size or of a condition, or the symbol of a stretch of axes."""
    if isinstance(part, Segment):
        return frozenset([part.symbol])
    return frozenset(
        variables(part) if isinstance(part, Term) else cond_variables(part) if isinstance(part, Condition) else ()
    )


def _is_older_part(part: object, newest: int) -> bool:
    return all(v.serial <= newest for v in _inside(part))
