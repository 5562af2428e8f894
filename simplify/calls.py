"""Calls of the program's functions: the wrapper inlined, its entry check decided here, its promises taken as facts."""

from __future__ import annotations

from collections.abc import Sequence

from ..lang import codes, core
from ..lang.core import Status
from ..lang.diagnostics import error
from ..lang.dtypes import WEAK, DType
from ..lang.node import replace
from ..lang.renaming import renamed
from ..lang.source import Span
from ..lang.weak import asked_dtypes, number_fits, part_names
from ..ops.model import TensorInfo
from ..ops.tracked import of_literal
from .bodies import Bodies
from .entry_checks import EntryChecks, as_function
from .frame import Frame
from .known.fresh import unknown
from .known.values import (
    POISON,
    UNDECIDED,
    UNKNOWN,
    Entry,
    Env,
    FnValue,
    Made,
    NumberValue,
    TupleValue,
    UnknownValue,
    Value,
    is_wrong,
)
from .messages.claims import TakenByEach
from .messages.entry_checks import Site
from .primitives import call_primitive
from .program import Check, bound_below
from .solver.terms import over, spent
from .visitor import Visitor, VisitorPart


class CallVisitor(VisitorPart):
    """Evaluates calls: of a function of the program, of a function value, of a primitive."""

    def __init__(self, visitor: Visitor) -> None:
        super().__init__(visitor)
        self.bodies = Bodies(visitor)
        self.entry_checks = EntryChecks(visitor, self.bodies)

    def callee(self, expr: core.Call, env: Env) -> Value:
        """The called value."""
        if isinstance(expr.callee, core.Var):
            entry = env.get(expr.callee.name)
            return entry.value if entry else POISON
        return FnValue(expr.callee.name, self.program.functions.get(expr.callee.name))

    def call(self, frame: Frame, expr: core.Call, target: Value, env: Env) -> tuple[Entry, core.Value]:
        """Return the call's result and the remaining call."""
        if not isinstance(target, FnValue):
            after = self._walked(frame, expr, env)
            if not isinstance(target, UnknownValue):
                return Entry(POISON, expr.span), after
            if expr.args and expr.callee.span.text.isidentifier():  # else @map or the like calls it, and reports this
                self.prover.judge(frame, UNDECIDED, TakenByEach(expr.span, expr.callee.span.text), claim=True)
            return Entry(UNKNOWN, expr.span), after
        if target.closure is not None:
            return self._call_lambda(frame, target, expr, env)
        if target.function is not None and target.env is not None:
            return self._call_parameter(frame, target, target.function, expr, env)
        if target.function is not None:
            return self._call_function(frame, target, target.function, expr, env)
        row = self.program.lookup(target.name.removeprefix("prelude."))
        if row is None:
            return Entry(POISON, expr.span), self._walked(frame, expr, env)
        if isinstance(expr.callee, core.Var):
            expr = replace(expr, callee=core.FnRef(expr.callee.span, target.name))
        return call_primitive(self.visitor, frame, row, expr, env)

    def _walked(self, frame: Frame, expr: core.Call, env: Env) -> core.Call:
        """A call about which nothing is known, with its arguments simplified."""
        found = self.visitor.values(frame, [a.value for a in expr.args], env)
        return replace(expr, args=tuple(replace(a, value=v) for a, (_, v) in zip(expr.args, found, strict=True)))

    # A function of the program

    def _call_function(
        self, frame: Frame, target: FnValue, function: core.Function, expr: core.Call, env: Env
    ) -> tuple[Entry, core.Value]:
        found = self.visitor.values(frame, [a.value for a in expr.args], env)
        if target.passed_as is not None:
            found = self.typed(frame, target.passed_as, found, env)
        return self.apply_function(frame, function, expr, found, env)

    def apply_function(
        self, frame: Frame, function: core.Function, expr: core.Call, found: list[tuple[Entry, core.Value]], env: Env
    ) -> tuple[Entry, core.Value]:
        """Evaluate a call whose arguments have been walked."""
        known_as = self.visitor.bindings.known_as
        found = [(known_as(frame, env, e, v, p.sort), v) for p, (e, v) in zip(function.params, found, strict=True)]
        found = self.typed(frame, function, found)
        entries = tuple(e for e, _ in found)
        args = [replace(a, value=v) for a, (_, v) in zip(expr.args, found, strict=True)]
        if any(is_wrong(e.value) for e in entries):
            return Entry(POISON, expr.span), replace(expr, args=tuple(args))
        site = Site(expr.span, function, entries, _spans(expr))
        made = Made(function.name, tuple(zip((p.name for p in function.params), entries, strict=True)))
        if spent():
            is_open = self.entry_checks.leave_open(frame, function, self.entry_checks.consts(env), site)
            result = Entry(unknown(self.state, function.result or core.TENSOR, "?"), expr.span, origin=made)
            return result, replace(expr, args=tuple(args), guard=is_open)
        inner, kept = self.entry_checks.decide(frame, function, entries, self.entry_checks.consts(env), site)
        if kept is None:
            return Entry(POISON, expr.span), replace(expr, args=tuple(args))
        through_value = isinstance(expr.callee, core.Var)
        if not self.program.is_opaque(function):
            result, block = self.bodies.inline(frame, function, inner, expr.span)
            result = replace(result, origin=made)
            if block is not None and not through_value and self.bodies.is_better(frame, function, block):
                return result, self._spliced(frame, function, args, kept, block)
        else:
            result = replace(self.bodies.result(frame, function, inner, expr.span), origin=made)
        if kept and not through_value:
            args = self._residual_entry_check(frame, function, args, kept, {})
        is_sure = not through_value and function.name in self.program.total
        return result, replace(expr, args=tuple(args), decided=not through_value, sure=is_sure)

    def typed(
        self, frame: Frame, function: core.Function, found: list[tuple[Entry, core.Value]], env: Env | None = None
    ) -> list[tuple[Entry, core.Value]]:
        """Give each literal number among the arguments a dtype, also in tuples if the annotation names one; the signature of
        a function value may refer to names around it (`env`)."""
        given = {name: entry.value for name, entry in (env or {}).items()}
        given |= {p.name: e.value for p, (e, _) in zip(function.params, found, strict=False)}
        for name, value in tuple(given.items()):
            _name_parts(function, name, value, given)
        pairs = zip(function.params, found, strict=False)
        return [self._typed(frame, function, p.name, p.sort, e, v, given) for p, (e, v) in pairs]

    def _typed(
        self, frame: Frame, function: core.Function, name: str, sort: core.Sort, entry: Entry, value: core.Value,
        given: dict[str, Value],
    ) -> tuple[Entry, core.Value]:  # fmt: skip
        """Give a literal number the dtype that the annotation of its name requires, perhaps another argument's; else a
        parameter gets the number's own, which has to hold it."""
        if (
            isinstance(value, core.TupleValue)
            and isinstance(entry.value, TupleValue)
            and isinstance(sort, core.TupleSort)
        ):
            parts = zip(part_names(function.checks, name), sort.items, entry.items, value.items, strict=False)
            items = [self._typed(frame, function, n, s, e, v, given) for n, s, e, v in parts]
            if items:
                entry = replace(
                    entry, value=TupleValue(tuple(e.value for e, _ in items)), items=tuple(e for e, _ in items)
                )
                value = replace(value, items=tuple(v for _, v in items))
            return entry, value
        if not isinstance(entry.value, NumberValue) or sort != core.TENSOR:
            return entry, value
        number = entry.value.value
        asked = dtype = self._asked_dtype(function, name, given)
        if dtype is None and all(p.name != name for p in function.params):
            return entry, value
        if dtype is None or not number_fits(number, dtype):
            dtype = WEAK[type(number)]
        if not number_fits(number, dtype):
            if not frame.quiet and not frame.trial:
                self.prover.log.remark(error(codes.E211, f"this number does not fit {asked or dtype}", value.span))
            return replace(entry, value=POISON), value
        literal = core.TensorLit(value.span, (), (number,), dtype)
        return replace(entry, value=TensorInfo((), dtype, of_literal(literal.values, dtype))), literal

    def _asked_dtype(self, function: core.Function, param: str, given: dict[str, Value]) -> DType | None:
        """The dtype that a function's entry check requires of a parameter, if known."""
        for asked in asked_dtypes(function.checks, param):
            if isinstance(asked, DType):
                return asked
            other = given.get(asked)
            found = other.dtype if isinstance(other, TensorInfo) else None
            dtype = None if found is None else self.state.dtype(found)
            if isinstance(dtype, DType):
                return dtype
        return None

    def call_with(self, frame: Frame, function: core.Function, entries: tuple[Entry, ...], env: Env) -> Entry:
        """Return the result of a call with arguments that nobody wrote."""
        site = Site(function.span, function, entries, ())
        inner, kept = self.entry_checks.decide(frame, function, entries, self.entry_checks.consts(env), site)
        return (
            Entry(POISON, function.span) if kept is None else self.bodies.result(frame, function, inner, function.span)
        )

    def _spliced(
        self,
        frame: Frame,
        function: core.Function,
        args: list[core.Arg],
        kept: tuple[core.Stmt, ...],
        block: core.Block,
    ) -> core.Value:
        """Write the rest of a body in the caller's names, after the rest of the entry check."""
        names: dict[str, core.Value] = {}
        self._residual_entry_check(frame, function, args, kept or _believed(function), names)
        bound = list(dict.fromkeys(bound_below(block)))
        for name in bound:
            if name in names:  # the block binds it again
                fresh = frame.out.temporary()
                frame.out.write(core.Let(block.span, (fresh,), False, None, names[name]))
                names[name] = core.Var(block.span, fresh)
            else:
                names[name] = core.Var(block.span, frame.out.temporary())
        after = renamed(block, names, annotated=True)
        frame.out.write(*after.stmts)
        return after.result

    # Residual entry checks

    def _residual_entry_check(
        self,
        frame: Frame,
        function: core.Function,
        args: Sequence[core.Arg],
        kept: tuple[core.Stmt, ...],
        names: dict[str, core.Value],
    ) -> list[core.Arg]:
        """Write the callee's residual checks before the call, in the caller's names; arguments that are no names get one.
        `names` receives the caller's name for each name of the callee."""
        named = _name_arguments(frame, function, args, names)
        for stmt in kept:
            for bound in core.bound_names(stmt):
                names[bound] = core.Var(stmt.span, frame.out.temporary())
            frame.out.write(renamed(stmt, names))
        return named

    # Function values

    def _call_lambda(self, frame: Frame, target: FnValue, expr: core.Call, env: Env) -> tuple[Entry, core.Value]:
        closure = target.closure
        assert closure is not None
        signature = as_function(closure)
        inner, _, after = self._entered(frame, target, signature, expr, env)
        if inner is None:
            return Entry(POISON, expr.span), after
        return self.bodies.inline(frame, signature, inner, expr.span)[0], after

    def _entered(
        self, frame: Frame, target: FnValue, signature: core.Function, expr: core.Call, env: Env
    ) -> tuple[Env | None, tuple[core.Stmt, ...], core.Call]:
        """Return the environment of a function value's body, None if its entry check is refuted; the rest of the entry check,
        in its names; and the call with the arguments simplified."""
        found = self.visitor.values(frame, [a.value for a in expr.args], env)
        if target.passed_as is not None:
            found = self.typed(frame, target.passed_as, found, env)
        found = self.typed(frame, signature, found, target.env)
        entries = tuple(e for e, _ in found)
        after = replace(expr, args=tuple(replace(a, value=v) for a, (_, v) in zip(expr.args, found, strict=True)))
        if any(is_wrong(e.value) for e in entries):
            return None, (), after
        site = Site(expr.span, signature, entries, _spans(expr))
        if over() and target.closure is not None:
            self.entry_checks.leave_open(frame, signature, target.env, site)
            return dict(target.env), (), after
        inner, kept = self.entry_checks.decide(frame, signature, entries, target.env, site)
        return (None, (), after) if kept is None else (inner, kept, after)

    def _call_parameter(
        self, frame: Frame, target: FnValue, signature: core.Function, expr: core.Call, env: Env
    ) -> tuple[Entry, core.Value]:
        """A call of a function parameter: open checks of its signature run with the program, those on the arguments before
        the call, those on the result after it."""
        inner, kept, after = self._entered(frame, target, signature, expr, env)
        if inner is None:
            return Entry(POISON, expr.span), after
        result = self.bodies.result(frame, signature, inner, expr.span)
        if frame.quiet or not (kept or signature.promises):
            return result, after
        names: dict[str, core.Value] = {}
        args = self._residual_entry_check(frame, signature, after.args, kept or _believed(signature), names)
        [out] = signature.body.stmts
        assert isinstance(out, core.Let)
        name = frame.out.temporary()
        names[out.names[0]] = core.Var(expr.span, name)
        frame.out.write(replace(out, names=(name,), value=replace(expr, args=tuple(args))))
        for stmt in signature.promises:
            for bound in core.bound_names(stmt):
                names[bound] = core.Var(stmt.span, frame.out.temporary())
            if isinstance(stmt, Check):
                stmt = replace(stmt, status=Status.ENTRY)
                self.prover.log.count(Status.ENTRY)
            frame.out.write(renamed(stmt, names))
        return result, core.Var(expr.span, name)


def _name_parts(function: core.Function, name: str, value: Value, given: dict[str, Value]) -> None:
    """Add the parts of a tuple, under the names that the entry check gives them."""
    if isinstance(value, TupleValue):
        for part, item in zip(part_names(function.checks, name), value.items, strict=False):
            given[part] = item
            _name_parts(function, part, item, given)


def _name_arguments(
    frame: Frame, function: core.Function, args: Sequence[core.Arg], names: dict[str, core.Value]
) -> list[core.Arg]:
    """Give the arguments names that checks can use; `names` receives the caller's name for each parameter."""
    named: list[core.Arg] = []
    for param, arg in zip(function.params, args, strict=True):
        if not isinstance(arg.value, core.Var | core.SizeVar | core.SizeLit | core.ShapeVar | core.DTypeLit):
            name = frame.out.temporary()
            sort = param.sort if param.sort in (core.SIZE, core.SHAPE, core.DTYPE, core.BOOL) else None
            frame.out.write(core.Let(arg.span, (name,), False, sort, arg.value))
            arg = replace(arg, value=core.variable(arg.span, name, param.sort))
        names[param.name] = arg.value
        named.append(arg)
    return named


def _spans(expr: core.Call) -> tuple[Span, ...]:
    return tuple(a.span for a in expr.args)


def _believed(function: core.Function) -> tuple[core.Stmt, ...]:
    """The statements of a proved entry check that bind names which others use."""
    binding = (s for s in function.checks if core.bound_names(s))
    return tuple(replace(s, status=Status.PROVED) if isinstance(s, Check) else s for s in binding)
