"""Calls of the program's functions: the wrapper inlined, its door decided here, its promises taken as facts."""

from __future__ import annotations

from collections.abc import Sequence

from ..lang import core
from ..lang.core import Status
from ..lang.dtypes import WEAK, DType
from ..lang.node import replace
from ..lang.source import Span
from ..lang.walk import walk
from ..lang.weak import asked_dtypes, number_fits
from ..ops.model import DTypeSymbol, Segment, TensorInfo
from ..ops.tracked import of_literal, sizes_in
from .arms import with_the_wrong_rank
from .assertions import with_needs
from .frame import Frame
from .known import matching
from .known.fresh import dims_of, settle, sizes_among, unknown
from .known.naming import Names
from .known.shape_level import Poisoned, ShapeLevel
from .known.values import (
    POISON,
    UNDECIDED,
    UNKNOWN,
    Entry,
    Env,
    FnValue,
    Made,
    NumberValue,
    Poison,
    SizeValue,
    TupleValue,
    Undecided,
    Unknown,
    Value,
)
from .opaque import lost, no_holder, unsaid
from .primitives import call_primitive
from .program import Check, bound_below, left_open
from .renaming import renamed
from .solver.conditions import Condition, cond_variables
from .solver.terms import A_CALL, Term, over, spent, stride, variables
from .visitor import Part, Visitor
from .voice.doors import Entrance, Site, parameter

_MAX_INLINED = 24
_ROOM = 20_000


class Calls(Part):
    """What a call means: of a function of the program, of a function value, of a primitive."""

    def __init__(self, visitor: Visitor) -> None:
        super().__init__(visitor)
        self.fuel = visitor.program.fuel_of_a_function()
        # So many nodes of bodies may stand instead of calls.
        self.room = _ROOM

    def callee(self, expr: core.Call, env: Env) -> Value:
        """What is called."""
        if isinstance(expr.callee, core.Var):
            entry = env.get(expr.callee.name)
            return entry.value if entry else POISON
        return FnValue(expr.callee.name, self.program.functions.get(expr.callee.name))

    def call(self, frame: Frame, expr: core.Call, target: Value, env: Env) -> tuple[Entry, core.Value]:
        """The call's result, and the call as it stays."""
        if not isinstance(target, FnValue):
            nothing = UNKNOWN if isinstance(target, Unknown) else POISON
            return Entry(nothing, expr.span), self._walked(frame, expr, env)
        if target.closure is not None:
            return self._call_lambda(frame, target, expr, env)
        if target.function is not None and target.env is not None:
            return self._call_parameter(frame, target, target.function, expr, env)
        if target.function is not None:
            return self._call_function(frame, target.function, expr, env)
        row = self.program.lookup(target.name.removeprefix("prelude."))
        if row is None:
            return Entry(POISON, expr.span), self._walked(frame, expr, env)
        return call_primitive(self.visitor, frame, row, expr, env)

    def _walked(self, frame: Frame, expr: core.Call, env: Env) -> core.Call:
        """A call of which nothing is known, with its arguments simplified."""
        found = self.visitor.values(frame, [a.value for a in expr.args], env)
        return replace(expr, args=tuple(replace(a, value=v) for a, (_, v) in zip(expr.args, found, strict=True)))

    # A function of the program

    def _call_function(
        self, frame: Frame, function: core.Function, expr: core.Call, env: Env
    ) -> tuple[Entry, core.Value]:
        found = self.visitor.values(frame, [a.value for a in expr.args], env)
        return self.apply_function(frame, function, expr, found, env)

    def apply_function(
        self, frame: Frame, function: core.Function, expr: core.Call, found: list[tuple[Entry, core.Value]], env: Env
    ) -> tuple[Entry, core.Value]:
        """A call whose arguments have been walked."""
        known_as = self.visitor.bindings.known_as
        found = [(known_as(frame, env, e, v, p.sort), v) for p, (e, v) in zip(function.params, found, strict=True)]
        found = self.typed(function, found)
        entries = tuple(e for e, _ in found)
        args = [replace(a, value=v) for a, (_, v) in zip(expr.args, found, strict=True)]
        if any(is_wrong(e.value) for e in entries):
            return Entry(POISON, expr.span), replace(expr, args=tuple(args))
        site = Site(expr.span, function, entries, _spans(expr))
        made = Made(function.name, tuple(zip((p.name for p in function.params), entries, strict=True)))
        if spent():
            is_open = self.leave_open(frame, function, self.consts(env), site)
            result = Entry(unknown(self.state, function.result or core.TENSOR, "?"), expr.span, origin=made)
            return result, replace(expr, args=tuple(args), guard=is_open)
        inner, kept = self.door(frame, function, entries, self.consts(env), site)
        if kept is None:
            return Entry(POISON, expr.span), replace(expr, args=tuple(args))
        through_value = isinstance(expr.callee, core.Var)
        if not self.program.is_opaque(function):
            result, block = self._inline(frame, function, inner, expr.span)
            result = replace(result, origin=made)
            if block is not None and not through_value and self._is_better(frame, function, block):
                return result, self._spliced(frame, function, args, kept, block)
        else:
            result = replace(self.result(frame, function, inner, expr.span), origin=made)
        if kept and not through_value:
            args = self._residual_door(frame, function, args, kept, {})
        is_sure = not through_value and function.name in self.program.total
        after = replace(expr, args=tuple(args), decided=not through_value, sure=is_sure)
        return result, after

    def typed(self, function: core.Function, found: list[tuple[Entry, core.Value]]) -> list[tuple[Entry, core.Value]]:
        """The arguments with a dtype for each literal number."""
        given = {p.name: e.value for p, (e, _) in zip(function.params, found, strict=False)}
        pairs = zip(function.params, found, strict=False)
        return [self._typed_number(function, p, e, v, given) for p, (e, v) in pairs]

    def _typed_number(
        self, function: core.Function, param: core.Param, entry: Entry, value: core.Value, given: dict[str, Value]
    ) -> tuple[Entry, core.Value]:
        """A literal number takes the dtype that the parameter's annotation asks for, be it another argument's."""
        if not isinstance(entry.value, NumberValue) or param.sort != core.TENSOR:
            return entry, value
        number = entry.value.value
        dtype = self._asked_dtype(function, param.name, given)
        if dtype is None or not number_fits(number, dtype):
            dtype = WEAK[type(number)]
        literal = core.TensorLit(value.span, (), (number,), dtype)
        return replace(entry, value=TensorInfo((), dtype, of_literal(literal.values, dtype))), literal

    def _asked_dtype(self, function: core.Function, param: str, given: dict[str, Value]) -> DType | None:
        """The dtype that a function's door asks of a parameter, where that is known."""
        for asked in asked_dtypes(function, param):
            if isinstance(asked, DType):
                return asked
            other = given.get(asked)
            found = other.dtype if isinstance(other, TensorInfo) else None
            dtype = None if found is None else self.state.dtype(found)
            if isinstance(dtype, DType):
                return dtype
        return None

    def call_with(self, frame: Frame, function: core.Function, entries: tuple[Entry, ...], env: Env) -> Entry:
        """The result of a call with arguments that nobody wrote."""
        inner, kept = self.door(frame, function, entries, self.consts(env), Site(function.span, function, entries, ()))
        return Entry(POISON, function.span) if kept is None else self.result(frame, function, inner, function.span)

    def door(
        self, frame: Frame, function: core.Function, entries: tuple[Entry, ...], env: Env, site: Site
    ) -> tuple[Env, tuple[core.Stmt, ...] | None]:
        """Decide the callee's door under the caller's facts. What stays of it, in the callee's names; None if it is refuted."""
        inner = dict(env)
        for param, entry in zip(function.params, entries, strict=True):
            inner[param.name] = entry
        for param, entry in zip(function.params, entries, strict=True):
            if isinstance(param.sort, core.FnSort) and isinstance(entry.value, FnValue):
                self._check_passed(frame, param, param.sort.signature, entry.value, inner, site)
        stride(A_CALL)
        kept: list[core.Stmt] = []
        # Of a parameter whose very rank is not known one warning is enough.
        vague: set[Span] = set()
        given = ((param, entry.value) for param, entry in zip(function.params, entries, strict=True))
        for stmt in (*function.checks, *unsaid(self.state, given, function.checks, function.span)):
            if not isinstance(stmt, Check):
                self._silently(frame, stmt, inner)
                kept.append(stmt)
                continue
            declared = stmt.origin.declared
            status = self._door_check(frame, stmt, inner, site, aloud=declared is None or declared.span not in vague)
            if status is Status.REFUTED:
                return inner, None
            if status is Status.RESIDUAL and declared is not None and stmt.origin.what == "rank":
                vague.add(declared.span)
            if status is Status.RESIDUAL or (isinstance(stmt, core.MatchShape) and stmt.binds):
                kept.append(replace(stmt, status=status))
        if not any(isinstance(s, Check) and s.status is Status.RESIDUAL for s in kept):
            kept = []
        return inner, tuple(kept)

    def leave_open(self, frame: Frame, function: core.Function, env: Env, site: Site) -> bool:
        """A door that the program has no steps for: the function checks it when it is called, and one warning says so. Whether
        it has one."""
        checks = [s for s in function.checks if isinstance(s, Check)]
        self._enter(frame, function)
        if checks:
            asked = Entrance(checks[0], {**env, **site.given}, site)
            self.prover.judge(frame, UNDECIDED, asked, claim=True)
            if not frame.quiet:
                self.prover.log.count(Status.RESIDUAL, len(checks) - 1)
        return bool(checks)

    def consts(self, env: Env) -> Env:
        """What of an environment every function sees."""
        return {name: env[name] for name in self.program.consts if name in env}

    def _silently(self, frame: Frame, stmt: core.Stmt, env: Env) -> None:
        """A statement of an inlined wrapper: its value matters, not its code."""
        self.visitor.stmt(frame.silent(stmt.span), stmt, env)

    def _door_check(self, frame: Frame, stmt: Check, env: Env, site: Site, *, aloud: bool) -> Status:
        level = ShapeLevel(self.state, env)
        found, readable = None, True
        try:
            if isinstance(stmt, core.Assert):
                truth = level.truth(stmt.cond)
            else:
                truth, found = matching.match(level, stmt)
            truth = with_needs(truth, level.needs)
        except Poisoned:
            truth = with_needs(UNDECIDED, level.needs)
            if truth is not False and any(is_wrong(e.value) for e in env.values()):
                return Status.REFUTED  # it was reported
            readable = False

        involved = () if truth is True else dims_of((e.value for e in site.entries), self.state)
        empty_rule = aloud and stmt.origin.declared is not None
        asked = Entrance(stmt, env, site)
        status, doubt = self.prover.judge(frame, truth, asked, claim=aloud, sizes=involved, empty_rule=empty_rule)
        if doubt is not None and doubt.is_doubt and stmt.origin.claim and stmt.origin.declared is not None:
            doubt.arm = with_the_wrong_rank(self.state, frame.path, stmt, site.given.get(stmt.origin.declared.tensor))
        if status is Status.REFUTED:
            return status
        if status is Status.RESIDUAL:
            self.state.unsure = self.state.unsure or isinstance(truth, Undecided)
        if not readable:
            env.update((name, Entry(UNKNOWN, stmt.span)) for name in core.bound_names(stmt))
        elif isinstance(stmt, core.Assert):
            if truth is not True or not (isinstance(stmt.cond, core.Compare) and stmt.cond.op == "=="):
                level.learn(stmt.cond, reason=stmt)  # an equation that holds as it stands says nothing new
            for need in level.needs:
                if not isinstance(need.cond, Undecided):
                    self.state.assume(need.cond, stmt)
        elif found is not None:
            matching.learn_match(level, stmt, found)
        return status

    def result(self, frame: Frame, function: core.Function, inner: Env, span: Span) -> Entry:
        """What the caller knows of the result: the annotation's promises, or the body itself where there is none."""
        if not self.program.is_opaque(function):
            return self._inline(frame, function, inner, span)[0]
        self._enter(frame, function)
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
        """What an annotated body asks under the caller's facts."""
        impl = self.program.implementation(function)
        if impl is None or function.name in frame.inlined or len(frame.inlined) >= _MAX_INLINED or self.fuel <= 0:
            return
        renamed = {p.name: inner[q.name] for p, q in zip(impl.params, function.params, strict=True)}
        self._walk_inlined(frame, impl, function.name, {**inner, **renamed}, span)

    def _enter(self, frame: Frame, function: core.Function) -> None:
        """Whether a call ends behind its door is known only where the body, which nobody looks into, holds whatever it asks."""
        if function.kind != "extern" and not core.is_signature(function) and function.name not in self.program.sure:
            self.prover.hinder(frame)

    def _rebuilt_tuple(self, name: str, stmts: tuple[core.Stmt, ...], env: Env, entry: Entry) -> Entry:
        """The parts of a tuple are spoken of by names of their own: put them together again."""
        assert isinstance(entry.value, TupleValue)
        for stmt in stmts:
            if (
                isinstance(stmt, core.Let)
                and stmt.is_tuple
                and isinstance(stmt.value, core.Var)
                and stmt.value.name == name
            ):
                items = []
                for part in stmt.names:
                    item = settle(self.state, env[part])
                    if isinstance(item.value, TupleValue):
                        item = self._rebuilt_tuple(part, stmts, env, item)
                    items.append(item.value)
                return replace(entry, value=TupleValue(tuple(items)))
        return entry

    def _inline(self, frame: Frame, function: core.Function, inner: Env, span: Span) -> tuple[Entry, core.Block | None]:
        """A wrapper that keeps its body: walk it under the caller's facts, for its value and what is left of it there. A walk
        with the same arguments gives the same, unless it speaks of a size that the data decides: at the next call that is
        another one."""
        known_function = self.program.functions.get(function.name) is function
        identity = function.name if known_function else f"{function.name}@{function.span.start}"
        if len(frame.inlined) >= _MAX_INLINED or identity in frame.inlined or self.fuel <= 0 or over():
            self._enter(frame, function)
            return Entry(unknown(self.state, function.result or core.TENSOR, "?"), span), None
        given = tuple(settle(self.state, inner[p.name]).value for p in function.params)
        if not known_function or any(isinstance(v, FnValue) for v in given):
            return self._walk_inlined(frame, function, identity, inner, span)[0], None
        key = (function.name, *given, *(inner[p.name].number for p in function.params))
        known = self.state.inlined.get(key)
        if known is None:
            newest, number = self.state.serial(), self.bindings.number()
            entry, block = known = self._walk_inlined(frame, function, identity, inner, span)
            if is_older_value(entry.value, newest):
                # What the body makes it may make differently the next time: an extern does.
                is_older = entry.number is not None and entry.number < number
                self.state.inlined[key] = (entry if is_older else replace(entry, number=None)), block
        return replace(known[0], span=span), known[1]

    def _walk_inlined(
        self, frame: Frame, function: core.Function, identity: str, inner: Env, span: Span
    ) -> tuple[Entry, core.Block]:
        fuel = self.program.fuel_for(identity, function)
        self.fuel -= fuel
        self.program.fuel -= fuel
        entry, block = self.visitor.block(frame.into(identity, span), function.body, inner)
        return Entry(settle(self.state, entry).value, span, number=entry.number), block

    def _is_better(self, frame: Frame, function: core.Function, block: core.Block) -> bool:
        """Whether less is left of a body at a call than in the function itself: then it stands there instead. A loop stands as
        its promise, which is no code."""
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

    def _spliced(
        self,
        frame: Frame,
        function: core.Function,
        args: list[core.Arg],
        kept: tuple[core.Stmt, ...],
        block: core.Block,
    ) -> core.Value:
        """What is left of a body, in the caller's names, with what is left of the door before it."""
        names: dict[str, core.Value] = {}
        self._residual_door(frame, function, args, kept or _believed(function), names)
        bound = list(dict.fromkeys(bound_below(block)))
        for name in bound:
            if name in names:  # it is bound again there
                fresh = frame.out.temporary()
                frame.out.write(core.Let(block.span, (fresh,), False, None, names[name]))
                names[name] = core.Var(block.span, fresh)
            else:
                names[name] = core.Var(block.span, frame.out.temporary())
        after = renamed(block, names, annotated=True)
        frame.out.write(*after.stmts)
        return after.result

    # What is left of a door

    def _residual_door(
        self,
        frame: Frame,
        function: core.Function,
        args: Sequence[core.Arg],
        kept: tuple[core.Stmt, ...],
        names: dict[str, core.Value],
    ) -> list[core.Arg]:
        """The callee's residual checks before the call, in the caller's names: arguments that are not names get one. `names`
        gets what each name of the callee is called here."""
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
        signature = _as_function(closure)
        inner, _, after = self._entered(frame, target, signature, expr, env)
        if inner is None:
            return Entry(POISON, expr.span), after
        return self._inline(frame, signature, inner, expr.span)[0], after

    def _entered(
        self, frame: Frame, target: FnValue, signature: core.Function, expr: core.Call, env: Env
    ) -> tuple[Env | None, tuple[core.Stmt, ...], core.Call]:
        """What a function value sees of its arguments, None where its door is refuted; what stays of the door, in its names;
        and the call with the arguments simplified."""
        found = self.visitor.values(frame, [a.value for a in expr.args], env)
        entries = tuple(e for e, _ in found)
        after = replace(expr, args=tuple(replace(a, value=v) for a, (_, v) in zip(expr.args, found, strict=True)))
        if any(is_wrong(e.value) for e in entries):
            return None, (), after
        site = Site(expr.span, signature, entries, _spans(expr))
        if over() and target.closure is not None:
            self.leave_open(frame, signature, target.env, site)
            return dict(target.env), (), after
        inner, kept = self.door(frame, signature, entries, target.env, site)
        return (None, (), after) if kept is None else (inner, kept, after)

    def _call_parameter(
        self, frame: Frame, target: FnValue, signature: core.Function, expr: core.Call, env: Env
    ) -> tuple[Entry, core.Value]:
        """A call of a function parameter: what stays open of its signature is checked when it runs, before it what is asked
        of the arguments, behind it what is said of the result."""
        inner, kept, after = self._entered(frame, target, signature, expr, env)
        if inner is None:
            return Entry(POISON, expr.span), after
        result = self.result(frame, signature, inner, expr.span)
        if frame.quiet or not (kept or signature.promises):
            return result, after
        names: dict[str, core.Value] = {}
        args = self._residual_door(frame, signature, after.args, kept or _believed(signature), names)
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

    def _check_passed(
        self, frame: Frame, param: core.Param, signature: core.Function, given: FnValue, env: Env, site: Site
    ) -> None:
        """A function argument against the parameter's signature: for every call that the signature allows, the function's
        door holds and its result is what the signature says. What stays open is checked when it is called."""
        target = given.function
        if given.closure is not None:
            target = _as_function(given.closure)
        if target is None or target is signature or len(target.params) != len(signature.params):
            return
        inner, own = dict(env), dict(given.env if given.env is not None else self.consts(env))
        self.state.push()
        # The signature's sizes are called as it calls them, but where the function sees sizes of outside.
        spoken = (
            None
            if given.closure
            else sizes_among([inner[n].value for n in _named_outside(signature, inner)], self.state)
        )
        with self.state.names_apart(spoken):
            inner.update((p.name, Entry(unknown(self.state, p.sort, "?"), site.span)) for p in signature.params)
            frame = replace(frame.block(), names=Names(self.state))
            self.visitor.assume_all(frame, signature.checks, inner, name_dims=True)
            entries = tuple(inner[p.name] for p in signature.params)
            called = parameter(site.function, param)
            at_call = Site(site.span, target, entries, (), called, called)
            result_env, kept = self.door(frame, target, entries, own, at_call)
            if kept is not None:
                self._check_promise(frame, signature, target, result_env, inner, replace(site, every=called))
        self.state.pop()

    def _check_promise(
        self, frame: Frame, signature: core.Function, target: core.Function, result_env: Env, env: Env, site: Site
    ) -> None:
        """What the signature says of the result, of what the function gives."""
        [out] = signature.body.stmts
        assert isinstance(out, core.Let)
        env[out.names[0]] = settle(self.state, self.result(frame, target, result_env, site.span))
        for stmt in signature.promises:
            if isinstance(stmt, Check):
                self._door_check(frame, stmt, env, site, aloud=True)
            else:
                self._silently(frame, stmt, env)
        if lost(self.state, env[out.names[0]].value, signature.promises):
            self._door_check(frame, no_holder(out.names[0], site.span), env, site, aloud=True)


def is_older_value(value: Value, newest: int) -> bool:
    """Whether everything in a value was there before the serial `newest` was given out."""
    match value:
        case TensorInfo():
            data = sizes_in(value.data)
            dtype = not isinstance(value.dtype, DTypeSymbol) or value.dtype.serial <= newest
            return dtype and all(_is_older_part(part, newest) for part in (*value.shape, *data))
        case SizeValue():
            return _is_older_part(value.size, newest)
        case TupleValue():
            return all(is_older_value(item, newest) for item in value.items)
    return False


def _is_older_part(part: object, newest: int) -> bool:
    if isinstance(part, Segment):
        return bool(part.symbol.serial <= newest)
    inside = variables(part) if isinstance(part, Term) else cond_variables(part) if isinstance(part, Condition) else ()
    return all(v.serial <= newest for v in inside)


def _name_arguments(
    frame: Frame, function: core.Function, args: Sequence[core.Arg], names: dict[str, core.Value]
) -> list[core.Arg]:
    """The arguments as names, so that checks can speak of them; `names` gets what each parameter is called here."""
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


def is_wrong(value: Value) -> bool:
    """Whether something about it was reported already; what is only unknown is not."""
    return isinstance(value, Poison) or (isinstance(value, TupleValue) and any(map(is_wrong, value.items)))


def _named_outside(signature: core.Function, env: Env) -> set[str]:
    """The names of outside that a function parameter's signature speaks of."""
    said = walk((signature.checks, signature.promises))
    return {
        n.tensor if isinstance(n, core.DimOf) else n.name for n in said if isinstance(n, core.DimOf | core.SizeVar)
    } & env.keys()


def _believed(function: core.Function) -> tuple[core.Stmt, ...]:
    """Of a door that is proved, what binds names that others speak of."""
    binding = (s for s in function.checks if core.bound_names(s))
    return tuple(replace(s, status=Status.PROVED) if isinstance(s, Check) else s for s in binding)


def _as_function(closure: core.Lambda) -> core.Function:
    return core.Function(closure.span, "inline", "fn", closure.params, closure.result, closure.checks, closure.body)
