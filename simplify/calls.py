"""Calls of the program's functions: the wrapper inlined, its door decided here, its promises taken as facts."""

from __future__ import annotations

from ..lang import core
from ..lang.core import Status
from ..lang.diagnostics import Diagnostic
from ..lang.dtypes import WEAK, DType
from ..lang.node import Node, replace
from ..lang.source import Span
from ..ops.model import Segment, TensorInfo
from .arms import with_the_wrong_rank
from .assertions import with_needs
from .branches import is_older
from .known import dims
from .known.outcome import Outcome
from .known.shape_level import Poisoned, ShapeLevel
from .known.values import (
    POISON,
    DTypeSymbol,
    Entry,
    Env,
    FnValue,
    Made,
    NumberValue,
    Poison,
    SizeValue,
    TupleValue,
    Undecided,
    Value,
)
from .operand_dtypes import number_fits
from .primitives import call_primitive
from .program import Check
from .renaming import renamed
from .solver.conditions import Cond
from .solver.terms import Term, variables
from .voice import doors, preconditions, subject
from .walk import Walker

_MAX_INLINED = 24


class Site(Node):
    """A call as its diagnostics want it: the callee, the places of the arguments, the entries they have."""

    span: Span
    function: core.Function
    entries: tuple[Entry, ...]
    arguments: tuple[Span, ...]


class CallWalker(Walker):
    """A Walker that knows what a call means."""

    def call(self, expr: core.Call, env: Env) -> tuple[Entry, core.Value]:
        if isinstance(expr.callee, core.Var):
            entry = env.get(expr.callee.name)
            target = entry.value if entry else POISON
        else:
            target = FnValue(expr.callee.name, self.program.functions.get(expr.callee.name))
        if not isinstance(target, FnValue):
            return Entry(POISON, expr.span), self._walked(expr, env)
        if target.closure is not None:
            return self._call_lambda(target, expr, env)
        if target.function is not None and target.env is not None:
            return self._call_parameter(target, target.function, expr, env)
        if target.function is not None:
            return self._call_function(target.function, expr, env)
        if target.name in self.program.impls:
            return self._call_impls(self.program.impls[target.name], expr, env)
        row = self.program.lookup(target.name.removeprefix("prelude."))
        if row is None:
            return Entry(POISON, expr.span), self._walked(expr, env)
        return call_primitive(self, row, expr, env)

    def _walked(self, expr: core.Call, env: Env) -> core.Call:
        """A call of which nothing is known, with its arguments simplified."""
        found = self.values([a.value for a in expr.args], env)
        return replace(expr, args=tuple(replace(a, value=v) for a, (_, v) in zip(expr.args, found, strict=True)))

    # A function of the program

    def _call_function(self, function: core.Function, expr: core.Call, env: Env) -> tuple[Entry, core.Value]:
        found = self.values([a.value for a in expr.args], env)
        given = {p.name: e.value for p, (e, _) in zip(function.params, found, strict=True)}
        found = [self._typed_number(function, p, e, v, given) for p, (e, v) in zip(function.params, found, strict=True)]
        entries = tuple(e for e, _ in found)
        args = [replace(a, value=v) for a, (_, v) in zip(expr.args, found, strict=True)]
        if any(_poisoned(e.value) for e in entries):
            return Entry(POISON, expr.span), replace(expr, args=tuple(args))
        site = Site(expr.span, function, entries, _spans(expr))
        inner, kept = self._door(function, entries, self._consts(env), site)
        if kept is None:
            return Entry(POISON, expr.span), replace(expr, args=tuple(args))
        through_value = isinstance(expr.callee, core.Var)
        if kept and not through_value:
            args = self._residual_door(function, args, kept)
        after = replace(expr, args=tuple(args), decided=not through_value)
        result = self._result(function, inner, expr.span)
        made = Made(function.name, tuple(zip((p.name for p in function.params), entries, strict=True)))
        return replace(result, origin=made), after

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
        data = number if isinstance(number, int) and not isinstance(number, bool) else None
        literal = core.TensorLit(value.span, (), (number,), dtype)
        return replace(entry, value=TensorInfo((), dtype, data)), literal

    def _asked_dtype(self, function: core.Function, param: str, given: dict[str, Value]) -> DType | None:
        """The dtype that a function's door asks of a parameter, where that is known."""
        for stmt in function.checks:
            match stmt:
                case core.Assert(
                    cond=core.Compare(op="==", left=core.DTypeOf(tensor=name), right=core.DTypeLit(dtype=asked))
                ):
                    if name == param:
                        return asked
                case core.Assert(cond=core.Compare(op="==", left=core.DTypeOf(tensor=a), right=core.DTypeOf(tensor=b))):
                    other = given.get(b if a == param else a) if param in (a, b) else None
                    dtype = self.state.dtype(other.dtype) if isinstance(other, TensorInfo) else None
                    if isinstance(dtype, DType):
                        return dtype
        return None

    def call_with(self, function: core.Function, entries: tuple[Entry, ...], env: Env) -> Entry:
        inner, kept = self._door(function, entries, self._consts(env), Site(function.span, function, entries, ()))
        return Entry(POISON, function.span) if kept is None else self._result(function, inner, function.span)

    def _door(
        self, function: core.Function, entries: tuple[Entry, ...], env: Env, site: Site
    ) -> tuple[Env, tuple[core.Stmt, ...] | None]:
        """Decide the callee's door under the caller's facts. What stays of it, in the callee's names; None if it is refuted."""
        inner = dict(env)
        for param, entry in zip(function.params, entries, strict=True):
            inner[param.name] = entry
        for param, entry in zip(function.params, entries, strict=True):
            if isinstance(param.sort, core.FnSort) and isinstance(entry.value, FnValue):
                self._check_passed(param.sort.signature, entry.value, inner, site)
        kept: list[core.Stmt] = []
        # Of a parameter whose very rank is not known one warning is enough.
        vague: set[Span] = set()
        for stmt in function.checks:
            if not isinstance(stmt, Check):
                self._silently(stmt, inner)
                kept.append(stmt)
                continue
            declared = stmt.origin.declared
            status = self._door_check(stmt, inner, site, aloud=declared is None or declared.span not in vague)
            if status is Status.REFUTED:
                return inner, None
            if status is Status.RESIDUAL and declared is not None and stmt.origin.what == "rank":
                vague.add(declared.span)
            if status is Status.RESIDUAL or (isinstance(stmt, core.MatchShape) and stmt.binds):
                kept.append(replace(stmt, status=status))
        if not any(isinstance(s, Check) and s.status is Status.RESIDUAL for s in kept):
            kept = []
        return inner, tuple(kept)

    def _consts(self, env: Env) -> Env:
        return {name: env[name] for name in self.program.consts if name in env}

    def _silently(self, stmt: core.Stmt, env: Env) -> None:
        """A statement of an inlined wrapper: its value matters, not its code."""
        outer, self.out, site, self.site = self.out, [], self.site, self.site or stmt.span
        self.stmt(stmt, env)
        self.out, self.site = outer, site

    def _door_check(self, stmt: Check, env: Env, site: Site, *, aloud: bool) -> Status:
        level = ShapeLevel(self.state, env)
        found = None
        try:
            if isinstance(stmt, core.Assert):
                truth = level.truth(stmt.cond)
            else:
                truth, found = dims.match(level, stmt)
            truth = with_needs(truth, level.needs)
        except Poisoned:
            if not any(n.cond is False for n in level.needs):
                return Status.REFUTED
            truth = False

        def explain(outcome: Outcome) -> Diagnostic:
            given = zip((p.name for p in site.function.params), site.entries, strict=False)
            about = subject.of_call(self.state, site.function.name, site.span, given, ())
            said = subject.about(
                doors.argument(self, stmt, env, site, outcome), subject.of_check(self.state, stmt, env, about)
            )
            declared = stmt.origin.declared
            given_by = dict(zip((p.name for p in site.function.params), site.entries, strict=False))
            said = with_the_wrong_rank(self, said, stmt, given_by.get(declared.tensor) if declared else None)
            return preconditions.rooted(self, said, doors.sizes_of(stmt, site))

        involved = dims.of_values((e.value for e in site.entries), self.state)
        empty_rule = aloud and stmt.origin.declared is not None
        status = self.judge(truth, explain, claim=aloud, sizes=involved, empty_rule=empty_rule)
        if status is Status.REFUTED:
            return status
        if status is Status.RESIDUAL:
            self.unsure = self.unsure or isinstance(truth, Undecided)
        if isinstance(stmt, core.Assert):
            level.learn(stmt.cond, reason=stmt)
        else:
            assert found is not None
            dims.learn_match(level, stmt, found)
        return status

    def _result(self, function: core.Function, inner: Env, span: Span) -> Entry:
        """What the caller knows of the result: the annotation's promises, or the body itself where there is none."""
        if not self.program.is_opaque(function):
            return self._inline(function, inner, span)
        [call] = function.body.stmts
        assert isinstance(call, core.Let)
        sort = function.result or core.TENSOR
        inner[call.names[0]] = Entry(self.unknown(sort, "?"), span)
        names, self.names = self.names, {}
        opaque, self.opaque_names = self.opaque_names, True
        anonymous = set(self.state.anonymous)
        self.assume_all(function.promises, inner, name_dims=True)
        for variable in self.state.anonymous - anonymous:
            self.state.opaque.setdefault(variable, None)
        self.names, self.opaque_names = names, opaque
        entry = self.settle(inner[call.names[0]])
        if isinstance(entry.value, TupleValue):
            entry = self._rebuilt_tuple(call.names[0], function.promises, inner, entry)
        return Entry(entry.value, span)

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
                    item = self.settle(env[part])
                    if isinstance(item.value, TupleValue):
                        item = self._rebuilt_tuple(part, stmts, env, item)
                    items.append(item.value)
                return replace(entry, value=TupleValue(tuple(items)))
        return entry

    def _inline(self, function: core.Function, inner: Env, span: Span) -> Entry:
        """A wrapper that keeps its body: walk it under the caller's facts, for its value only. A walk with the same arguments
        gives the same value, unless that speaks of a size that the data decides: at the next call that is another one."""
        known_function = self.program.functions.get(function.name) is function
        identity = function.name if known_function else f"{function.name}@{function.span.start}"
        if len(self.inlined) >= _MAX_INLINED or identity in self.inlined or self.fuel <= 0:
            return Entry(self.unknown(function.result or core.TENSOR, "?"), span)
        given = tuple(self.settle(inner[p.name]).value for p in function.params)
        if not known_function or any(isinstance(v, FnValue) for v in given):
            return Entry(self._walk_inlined(function, identity, inner, span), span)
        key = (function.name, *given)
        known = self.state.inlined.get(key)
        if known is None:
            newest = self.state.serial()
            known = self._walk_inlined(function, identity, inner, span)
            if is_older_value(known, newest):
                self.state.inlined[key] = known
        return Entry(known, span)

    def _walk_inlined(self, function: core.Function, identity: str, inner: Env, span: Span) -> Value:
        self.fuel -= 1 + len(function.body.stmts)
        outer, site, inlined = self.out, self.site, self.inlined
        quiet, unsure = self.quiet, self.unsure
        self.site, self.inlined, self.quiet = site or span, (*inlined, identity), True
        through, self.through = self.through, (*self.through, span)
        entry, _ = self.block(function.body, inner)
        value = self.settle(entry).value
        self.out, self.site, self.inlined, self.through = outer, site, inlined, through
        self.quiet, self.unsure = quiet, unsure
        return value

    # What is left of a door

    def _residual_door(
        self, function: core.Function, args: list[core.Arg], kept: tuple[core.Stmt, ...]
    ) -> list[core.Arg]:
        """The callee's residual checks before the call, in the caller's names: arguments that are not names get one."""
        names: dict[str, core.Value] = {}
        named = self._name_arguments(function, args, names)
        for stmt in kept:
            for bound in core.bound_names(stmt):
                names[bound] = core.Var(stmt.span, self.temporary())
            self.out.append(renamed(stmt, names))
        return named

    def _name_arguments(
        self, function: core.Function, args: list[core.Arg], names: dict[str, core.Value]
    ) -> list[core.Arg]:
        """The arguments as names, so that checks can speak of them; `names` gets what each parameter is called here."""
        named: list[core.Arg] = []
        for param, arg in zip(function.params, args, strict=True):
            if not isinstance(arg.value, core.Var | core.SizeVar | core.SizeLit | core.ShapeVar | core.DTypeLit):
                name = self.temporary()
                sort = param.sort if param.sort in (core.SIZE, core.SHAPE, core.DTYPE, core.BOOL) else None
                self.out.append(core.Let(arg.span, (name,), False, sort, arg.value))
                arg = replace(arg, value=core.variable(arg.span, name, param.sort))
            names[param.name] = arg.value
            named.append(arg)
        return named

    # Specialisation

    def _call_impls(self, impls: core.Impls, expr: core.Call, env: Env) -> tuple[Entry, core.Value]:
        """The first implementation whose door is proved, if those before it are refuted; else the run chooses."""
        open_: list[core.Function] = []
        for name in impls.choices:
            function = self.program.functions.get(name)
            if function is None:
                continue
            fits = self._trial(function, expr, env)
            if fits is False:
                continue
            open_.append(function)
            if fits:
                break
        if len(open_) == 1:
            return self._call_function(open_[0], _to(expr, open_[0].name), env)
        if not open_:
            last = self.program.functions[impls.choices[-1]]
            return self._call_function(last, _to(expr, last.name), env)
        return self._dispatch(open_, expr, env)

    def _trial(self, function: core.Function, expr: core.Call, env: Env) -> bool | None:
        """Whether the function's door holds at this call; None where only the run can tell."""
        outer, quiet, trial = self.out, self.quiet, self.trial
        self.out, self.quiet, self.trial = [], True, True
        self.state.push()
        found = [e for e, _ in self.values([a.value for a in expr.args], env)]
        _, kept = self._door(
            function, tuple(found), self._consts(env), Site(expr.span, function, tuple(found), _spans(expr))
        )
        self.state.pop()
        self.out, self.quiet, self.trial = outer, quiet, trial
        return False if kept is None else None if kept else True

    def _dispatch(self, choices: list[core.Function], expr: core.Call, env: Env) -> tuple[Entry, core.Value]:
        """Several may fit: the run takes the first that does; the last one's door is a claim like any other."""
        found = self.values([a.value for a in expr.args], env)
        entries = tuple(e for e, _ in found)
        after = replace(expr, args=tuple(replace(a, value=v) for a, (_, v) in zip(expr.args, found, strict=True)))
        if any(_poisoned(e.value) for e in entries):
            return Entry(POISON, expr.span), after
        results: list[tuple[Entry, tuple[Cond, ...]]] = []
        base, newest = self.state.facts.count, self.state.serial()
        for function in choices:
            self.state.push()
            quiet, trial = self.quiet, self.trial
            if function is not choices[-1]:
                self.quiet = self.trial = True
            inner, kept = self._door(
                function, entries, self._consts(env), Site(expr.span, function, entries, _spans(expr))
            )
            self.quiet, self.trial = quiet, trial
            guard = tuple(c for c, _ in self.state.facts.conditions(base) if is_older(c, newest))
            value = self._result(function, inner, expr.span) if kept is not None else Entry(POISON, expr.span)
            results.append((self.settle(value), guard))
            self.state.pop()
        joined, guard = results[0]
        for other, its_guard in results[1:]:
            joined = self._join(joined, other, expr.span, (guard, its_guard))
            guard = ()
        return joined, after

    # Function values

    def _call_lambda(self, target: FnValue, expr: core.Call, env: Env) -> tuple[Entry, core.Value]:
        closure = target.closure
        assert closure is not None
        signature = _as_function(closure)
        found = self.values([a.value for a in expr.args], env)
        entries = tuple(e for e, _ in found)
        after = replace(expr, args=tuple(replace(a, value=v) for a, (_, v) in zip(expr.args, found, strict=True)))
        if any(_poisoned(e.value) for e in entries):
            return Entry(POISON, expr.span), after
        inner, kept = self._door(signature, entries, target.env, Site(expr.span, signature, entries, _spans(expr)))
        if kept is None:
            return Entry(POISON, expr.span), after
        return self._inline(signature, inner, expr.span), after

    def _call_parameter(
        self, target: FnValue, signature: core.Function, expr: core.Call, env: Env
    ) -> tuple[Entry, core.Value]:
        """A call of a function parameter: what its signature says of the result is checked when it runs."""
        found = self.values([a.value for a in expr.args], env)
        entries = tuple(e for e, _ in found)
        args = [replace(a, value=v) for a, (_, v) in zip(expr.args, found, strict=True)]
        after = replace(expr, args=tuple(args))
        if any(_poisoned(e.value) for e in entries):
            return Entry(POISON, expr.span), after
        inner, kept = self._door(signature, entries, target.env, Site(expr.span, signature, entries, _spans(expr)))
        if kept is None:
            return Entry(POISON, expr.span), after
        result = self._result(signature, inner, expr.span)
        if self.quiet or not signature.promises:
            return result, after
        names: dict[str, core.Value] = {}
        args = self._name_arguments(signature, args, names)
        [out] = signature.body.stmts
        assert isinstance(out, core.Let)
        name = self.temporary()
        names[out.names[0]] = core.Var(expr.span, name)
        self.out.append(replace(out, names=(name,), value=replace(expr, args=tuple(args))))
        for stmt in signature.promises:
            for bound in core.bound_names(stmt):
                names[bound] = core.Var(stmt.span, self.temporary())
            if isinstance(stmt, Check):
                stmt = replace(stmt, status=Status.ENTRY)
                self.log.count(Status.ENTRY)
            self.out.append(renamed(stmt, names))
        return result, core.Var(expr.span, name)

    def _check_passed(self, signature: core.Function, given: FnValue, env: Env, site: Site) -> None:
        """A function argument against the parameter's signature: for every call that the signature allows, the function's
        door holds and its result is what the signature says. What stays open is checked when it is called."""
        target = given.function
        if given.closure is not None:
            target = _as_function(given.closure)
        if target is None or target is signature or len(target.params) != len(signature.params):
            return
        self.state.push()
        inner, own = dict(env), dict(given.env if given.env is not None else self._consts(env))
        for param in signature.params:
            inner[param.name] = Entry(self.unknown(param.sort, "?"), site.span)
        names, self.names, outer, self.out = self.names, {}, self.out, []
        self.assume_all(signature.checks, inner, name_dims=False)
        entries = tuple(inner[p.name] for p in signature.params)
        result_env, kept = self._door(target, entries, own, Site(site.span, target, entries, ()))
        if kept is not None:
            self._check_promise(signature, target, result_env, inner, site)
        self.out, self.names = outer, names
        self.state.pop()

    def _check_promise(
        self, signature: core.Function, target: core.Function, result_env: Env, env: Env, site: Site
    ) -> None:
        """What the signature says of the result, of what the function gives."""
        [out] = signature.body.stmts
        assert isinstance(out, core.Let)
        env[out.names[0]] = self.settle(self._result(target, result_env, site.span))
        for stmt in signature.promises:
            if isinstance(stmt, Check):
                self._door_check(stmt, env, site, aloud=True)
            else:
                self._silently(stmt, env)


def is_older_value(value: Value, newest: int) -> bool:
    """Whether everything in a value was there before the serial `newest` was given out."""
    match value:
        case TensorInfo():
            data = value.data if isinstance(value.data, tuple) else (value.data,)
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
    return not isinstance(part, Term) or all(v.serial <= newest for v in variables(part))


def _spans(expr: core.Call) -> tuple[Span, ...]:
    return tuple(a.span for a in expr.args)


def _poisoned(value: Value) -> bool:
    return isinstance(value, Poison) or (isinstance(value, TupleValue) and any(map(_poisoned, value.items)))


def _as_function(closure: core.Lambda) -> core.Function:
    return core.Function(closure.span, "inline", "fn", closure.params, closure.result, closure.checks, closure.body)


def _to(expr: core.Call, name: str) -> core.Call:
    return replace(expr, callee=core.FnRef(expr.callee.span, name))
