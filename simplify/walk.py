"""Statements and expressions under what is known: each one to its abstract value and its simplified core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, assert_never

from ..lang import core, sweet
from ..lang.checked import Binding, Explanation
from ..lang.core import Status
from ..lang.dtypes import WEAK
from ..lang.node import replace
from ..lang.source import NOWHERE, Span
from ..ops.model import Primitive, Segment, TensorInfo
from . import claims, dims, subject
from .arms import JOIN
from .conditions import Cond, all_of, any_of, cond_variables, eq, negate
from .describe import binding
from .explain import explain
from .judge import Judge, Log, Options
from .shape_level import Obligation, Poisoned, ShapeLevel, Truth, _and
from .sizes import only_var
from .state import State
from .terms import Size, Var
from .values import (
    POISON,
    UNDECIDED,
    BoolValue,
    DTypeSymbol,
    DTypeValue,
    Entry,
    Env,
    FnValue,
    ListValue,
    Made,
    NumberValue,
    ShapeValue,
    SizeValue,
    TextValue,
    TupleValue,
    Undecided,
    Value,
)

_SHAPE_LEVEL = (
    core.SizeLit | core.SizeVar | core.SizeOp | core.RankOf | core.DimOf | core.ShapeVar | core.ShapeOf | core.ShapeLit
    | core.DTypeLit | core.DTypeVar | core.DTypeOf | core.BoolConst | core.BoolVar | core.Compare | core.InClass
    | core.Not | core.Logic
)  # fmt: skip
Check = core.Assert | core.MatchShape


class Program:
    """The program's functions by name, its primitives, its consts; what walkers of all functions share."""

    def __init__(
        self,
        core_program: core.Program,
        lookup: Callable[[str], Primitive | None],
        header: Callable[[core.Load], TensorInfo | None],
    ) -> None:
        self.functions = {f.name: f for f in core_program.functions}
        self.impls = {i.name: i for i in core_program.impls}
        self.lookup = lookup
        self.header = header
        self.consts: Env = {}
        # Every name of the program: those that simplification makes are none of them.
        self.taken = _names_in(core_program)
        self.walkers: dict[str, Walker] = {}
        # The name that somebody wants explained: what is bound in an arm is explained while its facts hold.
        self.explained: str | None = None

    def implementation(self, wrapper: core.Function) -> core.Function | None:
        """The private function that a wrapper calls for its result, if it has one."""
        name = self.called_first(wrapper)
        found = self.functions.get(name) if name else None
        return found if found is not None and found.kind == "private" else None

    def called_first(self, wrapper: core.Function) -> str | None:
        """The name that the first statement after the door calls: the implementation, or an extern's callable."""
        rest = wrapper.body.stmts[wrapper.door :]
        if rest and isinstance(rest[0], core.Let) and isinstance(rest[0].value, core.Call):
            callee = rest[0].value.callee
            return callee.name if isinstance(callee, core.FnRef) else None
        return None

    def is_opaque(self, wrapper: core.Function) -> bool:
        """Whether callers know the result only by its annotation."""
        return wrapper.kind == "extern" or is_signature(wrapper) or self.implementation(wrapper) is not None


def _names_in(program: core.Program) -> frozenset[str]:
    found: set[str] = {c.name for c in program.consts}
    stack: list[object] = [program.functions, program.main]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(node)
        elif isinstance(node, core.Function | core.Lambda):
            found.update(p.name for p in node.params)
            stack.append(node.body)
        elif isinstance(node, core.Block):
            stack.extend((*node.stmts, node.result))
        elif isinstance(node, core.Let | core.MatchShape):
            found.update(bound_names(node))
            stack.append(node.value if isinstance(node, core.Let) else None)
        elif isinstance(node, core.If):
            stack.extend((node.cond, node.then, node.orelse))
        elif isinstance(node, core.Call):
            stack.extend(a.value for a in node.args)
    return frozenset(found)


def is_signature(function: core.Function) -> bool:
    """Whether it stands for a function parameter: what follows its door begins with a call of the parameter itself."""
    rest = function.body.stmts[function.door :]
    match rest:
        case (core.Let(value=core.Call(callee=core.Var(name=name))), *_):
            return name == function.name
    return False


class Walker(Judge):
    """Walks one function, and what is inlined into it. `out` gathers the simplified statements of the current block."""

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

    # Functions

    def contradictory(self) -> bool:
        """Whether no sizes satisfy what is assumed."""
        facts = self.state.facts
        if facts.contradictory or self.state.impossible:
            return True
        if not facts.count or facts.possible(True):
            return False
        return any(facts.decide(cond).kind == "vacuous" for cond, _ in facts.conditions())

    def function_body(
        self, function: core.Function, impl: core.Function | None, env: Env
    ) -> tuple[Entry, core.Block, core.Block | None]:
        """The part of a wrapper behind its door, and the implementation's body, which is walked where it is called."""
        rest = function.body.stmts[function.door :]
        if impl is None:
            entry, block = self.block(replace(function.body, stmts=rest), env)
            return entry, block, None
        call = rest[0]
        assert isinstance(call, core.Let) and isinstance(call.value, core.Call)
        inner = dict(env)
        for param, wrapper_param in zip(impl.params, function.params, strict=True):
            inner[param.name] = env[wrapper_param.name]
        result, impl_body = self.block(impl.body, inner)
        env[call.names[0]] = replace(result, span=impl.body.result.span)
        outer, self.out = self.out, [call]
        for stmt in rest[1:]:
            self.stmt(stmt, env)
        stmts, self.out = tuple(self.out), outer
        return env[call.names[0]], core.Block(function.body.span, stmts, function.body.result), impl_body

    def block(self, block: core.Block, env: Env) -> tuple[Entry, core.Block]:
        outer, self.out = self.out, []
        for stmt in block.stmts:
            self.stmt(stmt, env)
        entry, result = self.value(block.result, env)
        stmts, self.out = tuple(self.out), outer
        return entry, core.Block(block.span, stmts, result)

    # Statements

    def stmt(self, stmt: core.Stmt, env: Env) -> None:
        match stmt:
            case core.Let():
                self._let(stmt, env)
            case core.Assert():
                self._assert(stmt, env)
            case core.MatchShape():
                self._match_shape(stmt, env)
            case core.ExprStmt():
                _, value = self.value(stmt.value, env)
                if isinstance(value, core.Call | core.If):
                    self.out.append(replace(stmt, value=value))
            case _:
                assert_never(stmt)

    def _let(self, stmt: core.Let, env: Env) -> None:
        kept = self._open_obligations(stmt.value, env) if isinstance(stmt.value, _SHAPE_LEVEL) else ()
        entry, value = self.value(stmt.value, env)
        self.out.extend(kept)
        self.out.append(replace(stmt, value=value))
        if not stmt.is_tuple:
            if isinstance(entry.value, SizeValue):
                entry = replace(entry, value=SizeValue(self._name_size(stmt, entry.value)))
            return self.bind(env, stmt.names[0], entry, stmt.span)
        match entry.value:
            case TupleValue(items) if len(items) == len(stmt.names):
                for name, item in zip(stmt.names, items, strict=True):
                    self.bind(env, name, Entry(item, entry.span, origin=entry.origin), stmt.span)
            case _:
                if isinstance(entry.value, TupleValue):
                    parts = len(entry.value.items)
                    self.judge(False, lambda _: claims.wrong_number(self, stmt, parts), claim=True)
                for name in stmt.names:
                    env[name] = Entry(POISON, entry.span)
        return None

    def _open_obligations(self, expr: core.ShapeLevel, env: Env) -> tuple[core.Assert, ...]:
        """What a size or a condition needs to have a value, as far as that is not proved: it is checked whether the value is
        used or not."""
        level, kept = ShapeLevel(self.state, env), []
        origin = core.Origin(expr.span, "obligation", False, None, None, expr.span.text)
        for cond in obligations(expr):
            try:
                proved = self.decide(with_needs(level.truth(cond), level.needs)) is True
            except Poisoned:
                proved = False
            if not proved:
                kept.append(core.Assert(expr.span, cond, None, origin, Status.RESIDUAL))
        return tuple(kept)

    def _name_size(self, stmt: core.Let, value: SizeValue) -> Size:
        """A size that the data decides takes the name that the user gives it."""
        size = self.state.settled(value.size)
        variable = dims.lone_variable(size)
        if variable is not None and self._is_nameless(variable):
            named = self.state.size(stmt.names[0], nonneg=variable.nonneg)
            self.state.rename(variable, named)
            return named
        return size

    def _is_nameless(self, variable: Var) -> bool:
        if variable in self.state.anonymous:
            return variable.name.startswith("?")  # what @item gave, but not `x.dim(0)`
        return variable in self.state.opaque and not variable.name.isidentifier()

    def bind(self, env: Env, name: str, entry: Entry, span: Span) -> None:
        env[name] = entry
        if isinstance(entry.value, TensorInfo):
            for part in entry.value.shape:
                if isinstance(part, Segment) and part.symbol.name == "?":
                    part.symbol.name = name
        if self.site is None and not self.quiet:
            self._latest[name] = len(self._bindings)
            self._bindings.append((name, span, entry, self.state))

    def rebind(self, env: Env, name: str, entry: Entry) -> None:
        """More is known of a name: the binding's record follows."""
        env[name] = entry
        at = self._latest.get(name)
        if at is not None and at < len(self._bindings):
            self._bindings[at] = (name, self._bindings[at][1], entry, self.state)

    def described(self) -> tuple[Binding, ...]:
        """Every binding, in the order of the source."""
        now = (binding(name, entry.value, span, state) for name, span, entry, state in self._bindings)
        return tuple(sorted((*self._closed, *now), key=lambda b: b.span.start))

    def explained(self, name: str) -> tuple[Explanation, ...]:
        """What is known of each binding and parameter of that name, or of a size that an annotation gave it."""
        found = [*self._told, *(explain(self.function, name, e, st) for n, _, e, st in self._bindings if n == name)]
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
            if name == self.program.explained:
                self._told.append(explain(self.function, name, entry, state))
        del self._bindings[since:]

    # Assertions

    def _assert(self, stmt: core.Assert, env: Env) -> None:
        """An assertion of the function's own code: decided; afterwards a fact."""
        level = ShapeLevel(self.state, env)
        try:
            truth = with_needs(level.truth(stmt.cond), level.needs)
        except Poisoned:
            if any(n.cond is False for n in level.needs):
                self._broken(stmt, env, level.needs)
            self.out.append(replace(stmt, status=Status.RESIDUAL))
            return
        origin = stmt.origin
        status = self.judge(
            truth,
            lambda outcome: subject.about(
                claims.assertion(self, stmt, env, outcome), subject.of_check(self.state, stmt, env)
            ),
            claim=origin.claim,
            sizes=dims.of_subject(origin, env, self.state),
            empty_rule=origin.declared is not None,
        )
        self._keep(stmt, status, env)

    def _broken(self, stmt: Check, env: Env, needs: list[Obligation]) -> None:
        self.judge(False, lambda outcome: claims.obligation(self, stmt.span, needs, outcome), claim=False)

    def _keep(self, stmt: core.Assert, status: Status, env: Env) -> None:
        """What stays of an assertion that was decided, and what is known after it."""
        if status is Status.REFUTED:
            self.out.append(replace(stmt, status=status))
            if stmt.origin.declared is not None:
                # What else the annotation says, and what follows from it, is not reported again.
                env[stmt.origin.declared.tensor] = Entry(POISON, stmt.span)
            return
        if status is Status.RESIDUAL:
            self.out.append(replace(stmt, status=status))
            self.unsure = self.unsure or not self._open(stmt, env)
        ShapeLevel(self.state, env).learn(stmt.cond, reason=stmt)
        if stmt.origin.declared is not None:
            dims.name_dimension(self, stmt, env)
            self._note_place(stmt.origin, env)

    def _note_place(self, origin: core.Origin, env: Env) -> None:
        """An annotation is where a size comes from, for diagnostics about it."""
        declared = origin.declared
        entry = env.get(declared.tensor) if declared is not None else None
        if entry is None or origin.axis is None or not isinstance(entry.value, TensorInfo):
            return
        rank = len(self.state.resolve(entry.value.shape))
        if -rank <= origin.axis < rank:
            axes = list(entry.axes or (None,) * rank)
            axes[origin.axis] = origin.span
            self.rebind(env, declared.tensor, replace(entry, axes=tuple(axes)))  # type: ignore[union-attr]

    def _open(self, stmt: core.Assert, env: Env) -> bool:
        """Whether the condition is known to be satisfiable."""
        level = ShapeLevel(self.state, env)
        truth = level.truth(stmt.cond)
        return isinstance(truth, Undecided) or self.state.facts.possible(truth)

    def _match_shape(self, stmt: core.MatchShape, env: Env) -> None:
        level = ShapeLevel(self.state, env)
        try:
            truth, found = dims.match(level, stmt)
        except Poisoned:
            self.out.append(replace(stmt, status=Status.RESIDUAL))
            for name in stmt.binds:
                env[name] = Entry(POISON, stmt.span)
            return
        truth = with_needs(truth, level.needs)
        status = self.judge(
            truth,
            lambda outcome: subject.about(
                claims.assertion(self, stmt, env, outcome), subject.of_check(self.state, stmt, env)
            ),
            claim=stmt.origin.claim,
            sizes=dims.of_subject(stmt.origin, env, self.state),
        )
        if status is not Status.PROVED or stmt.binds:
            self.out.append(replace(stmt, status=status))
        if status is not Status.REFUTED:
            dims.learn_match(level, stmt, found)
        elif stmt.origin.declared is not None:
            env[stmt.tensor] = Entry(POISON, stmt.span)

    def assume_all(self, stmts: Iterable[core.Stmt], env: Env, *, name_dims: bool) -> tuple[core.Stmt, ...]:
        """Take assertions as facts: a function's door inside it, a result's promises at a call."""
        kept: list[core.Stmt] = []
        for stmt in stmts:
            if isinstance(stmt, core.Assert):
                self._assume(stmt, env, name_dims)
                stmt = replace(stmt, status=Status.ENTRY)
            elif isinstance(stmt, core.MatchShape):
                level = ShapeLevel(self.state, env)
                try:
                    _, found = dims.match(level, stmt)
                    dims.learn_match(level, stmt, found)
                except Poisoned:
                    for name in stmt.binds:
                        env[name] = Entry(POISON, stmt.span)
                stmt = replace(stmt, status=Status.ENTRY)
            else:
                outer, self.out = self.out, []
                self.stmt(stmt, env)
                self.out = outer
            kept.append(stmt)
        return tuple(kept)

    def _assume(self, stmt: core.Assert, env: Env, name_dims: bool) -> None:
        level = ShapeLevel(self.state, env)
        known = True
        try:
            level.learn(stmt.cond, reason=stmt)
        except Poisoned:
            known = False
        for need in level.needs:
            if not isinstance(need.cond, Undecided):
                self.state.assume(need.cond, stmt)
        if name_dims and known:
            dims.name_dimension(self, stmt, env)
            self._note_axes(stmt, env)

    def _note_axes(self, stmt: core.Assert, env: Env) -> None:
        """Every dimension that a parameter's annotation writes down comes from there."""
        declared = stmt.origin.declared
        if stmt.origin.what != "rank" or declared is None or not isinstance(declared.type, sweet.TensorType):
            return
        shape, entry = declared.type.shape, env.get(declared.tensor)
        if isinstance(shape, sweet.ListExpr) and entry is not None:
            env[declared.tensor] = replace(entry, axes=tuple(item.span for item in shape.items))

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

    # Expressions

    def value(self, expr: core.Value, env: Env) -> tuple[Entry, core.Value]:
        if isinstance(expr, _SHAPE_LEVEL):
            return self._shape_level(expr, env), expr
        match expr:
            case core.Var():
                return env.get(expr.name, Entry(POISON, expr.span)), expr
            case core.Number():
                return Entry(NumberValue(expr.value), expr.span), expr
            case core.Text():
                return Entry(TextValue(expr.value), expr.span), expr
            case core.TensorLit():
                data = literal_data(expr)
                return Entry(TensorInfo(expr.shape, expr.dtype, data), expr.span, (expr.span,) * len(expr.shape)), expr
            case core.Load():
                found = self.program.header(expr)
                return Entry(found or self.unknown(core.TENSOR, expr.key or "weights"), expr.span), expr
            case core.FnRef():
                return Entry(FnValue(expr.name, self.program.functions.get(expr.name)), expr.span), expr
            case core.Lambda():
                return self._lambda(expr, env)
            case core.TupleValue():
                items = self.values(expr.items, env)
                return (
                    Entry(TupleValue(tuple(e.value for e, _ in items)), expr.span),
                    replace(expr, items=tuple(v for _, v in items)),
                )
            case core.ListValue():
                items = self.values(expr.items, env)
                return (
                    Entry(ListValue(tuple(e.value for e, _ in items)), expr.span, items=tuple(e for e, _ in items)),
                    replace(expr, items=tuple(v for _, v in items)),
                )
            case core.If():
                return self._if(expr, env)
            case core.Call():
                return self.call(expr, env)
        raise TypeError(f"not a value: {expr!r}")

    def call(self, expr: core.Call, env: Env) -> tuple[Entry, core.Value]:
        raise NotImplementedError

    def call_with(self, function: core.Function, entries: tuple[Entry, ...], env: Env) -> Entry:
        raise NotImplementedError

    def values(self, exprs: Iterable[core.Value], env: Env) -> list[tuple[Entry, core.Value]]:
        """Several expressions in order. Where a later one leaves checks, the calls before it are named first, so that
        order stays the source's."""
        found: list[tuple[Entry, core.Value]] = []
        for expr in exprs:
            before = len(self.out)
            entry, value = self.value(expr, env)
            if len(self.out) > before:
                self._name_calls(found, before)
            found.append((entry, value))
        return found

    def _name_calls(self, found: list[tuple[Entry, core.Value]], at: int) -> None:
        for position, (entry, value) in enumerate(found):
            if isinstance(value, core.Call | core.If):
                name = self.temporary()
                self.out.insert(at, core.Let(value.span, (name,), False, None, value))
                at += 1
                found[position] = (entry, core.Var(value.span, name))

    def temporary(self) -> str:
        while True:
            self._temporaries += 1
            name = f"t{self._temporaries}'"
            if name not in self.program.taken:
                return name

    def _shape_level(self, expr: core.ShapeLevel, env: Env) -> Entry:
        level = ShapeLevel(self.state, env)
        try:
            value = _evaluate(level, expr)
        except Poisoned:
            value = POISON
        if level.needs:
            truth = with_needs(True, level.needs)
            status = self.judge(
                truth, lambda outcome: claims.obligation(self, expr.span, level.needs, outcome), claim=False
            )
            if status is Status.REFUTED:
                value = POISON
            elif not isinstance(truth, Undecided):
                self.state.assume(truth)
        return Entry(value, expr.span, _written(expr))

    # Branches

    def _if(self, expr: core.If, env: Env) -> tuple[Entry, core.Value]:
        if isinstance(expr.cond, _SHAPE_LEVEL):
            return self._if_on_sizes(expr, expr.cond, env)  # type: ignore[arg-type]
        entry, cond = self.value(expr.cond, env)
        known = _constant(entry.value)
        if known is not None:
            return self._taken(expr, known, env)
        if isinstance(entry.value, TensorInfo):
            cond = self._check_condition(entry.value, cond)
        return self._both(expr, cond, None, env)

    def _check_condition(self, value: TensorInfo, cond: core.Value) -> core.Value:
        """A tensor decides an `if` only where it is one truth value: rank 0, boolean or integer."""
        span = cond.span
        dtype = self.state.dtype(value.dtype) if value.dtype is not None else WEAK[bool]
        known = self.state.in_class(dtype, ("boolean", "integer"))
        checks: tuple[tuple[Truth, str], ...] = (
            (eq(self.state.rank(value.shape), 0), "rank 0"),
            (UNDECIDED if known is None else known, "a boolean or integer dtype"),
        )
        name: str | None = cond.name if isinstance(cond, core.Var) else None
        for position, (truth, what) in enumerate(checks):
            status = self.judge(truth, partial(claims.condition, self, span, value, what), claim=True, empty_rule=False)
            if status is Status.REFUTED:
                break
            if status is Status.RESIDUAL and not self.quiet:
                if name is None:
                    name = self.temporary()
                    self.out.append(core.Let(span, (name,), False, None, cond))
                self.out.append(_condition_check(span, name, position == 0, what))
        return cond if name is None else core.Var(span, name)

    def _if_on_sizes(self, expr: core.If, cond: core.BoolExpr, env: Env) -> tuple[Entry, core.Value]:
        level = ShapeLevel(self.state, env)
        try:
            truth = level.truth(cond)
        except Poisoned:
            self._shape_level(cond, env)
            return self._both(expr, cond, None, env)
        open_ = self._open_obligations(cond, env) if level.needs else ()
        if level.needs:
            self._shape_level(cond, env)
        known = self.decide(truth)
        if known is not None:
            self.out.extend(open_)
            return self._taken(expr, known, env)
        return self._both(expr, cond, cond, env)

    def _taken(self, expr: core.If, known: bool, env: Env) -> tuple[Entry, core.Value]:
        """The condition is decided: the other arm is dropped, with a note."""
        arm, dropped = (expr.then, expr.orelse) if known else (expr.orelse, expr.then)
        if not self.quiet and (dropped.stmts or isinstance(dropped.result, core.Call)):
            self.log.diagnostics.append(claims.dropped(self, dropped, expr.cond.span, known))
        inner = dict(env)
        since = len(self._bindings)
        entry, block = self.block(arm, inner)
        entry = self.settle(entry)
        self._close_bindings(since)
        if any(name in env for stmt in block.stmts for name in bound_names(stmt)):
            return entry, core.If(expr.span, core.BoolConst(expr.cond.span, True), block, block)
        self.out.extend(block.stmts)
        return entry, block.result

    def _both(
        self, expr: core.If, cond: core.BoolExpr | core.Value, sizes: core.BoolExpr | None, env: Env
    ) -> tuple[Entry, core.Value]:
        newest = self.state.serial()
        base = self.state.facts.count
        arms = []
        for block, positive in ((expr.then, True), (expr.orelse, False)):
            self.state.push()
            inner, since, unsure, path = dict(env), len(self._bindings), self.unsure, self.path
            self.path = (*path, self._taken_where(sizes, inner, positive))
            if sizes is not None:
                reason = sizes if positive else core.Not(sizes.span, sizes)
                ShapeLevel(self.state, inner).learn(sizes, positive, reason=reason)
                self.unsure = True
            guard = tuple(c for c, _ in self.state.facts.conditions(base))
            entry, after = self.block(block, inner)
            learned = [c for c, _ in self.state.facts.conditions(base)]
            arms.append((entry, self.settle(entry), after, learned, guard))
            self._close_bindings(since)
            self.unsure, self.path = unsure, path
            self.state.pop()
        (then, then_settled, then_block, then_facts, _), (orelse, else_settled, else_block, else_facts, _) = arms
        if then.value == orelse.value:
            joined = Entry(then.value, expr.span)
        else:
            taken = self._taken_where(sizes, env, True)
            joined = self._join(then_settled, else_settled, expr.span, (arms[0][4], arms[1][4]), taken)
        self._learn_common(then_facts, else_facts, newest)
        return joined, core.If(expr.span, cond, then_block, else_block)

    def _taken_where(self, sizes: core.BoolExpr | None, env: Env, positive: bool) -> Cond | None:
        """The condition on sizes under which an arm is taken; None where something else decides it."""
        truth = UNDECIDED if sizes is None else ShapeLevel(self.state, env).truth(sizes)
        if isinstance(truth, Undecided):
            return None
        return truth if positive else negate(truth)

    def _join(
        self,
        a: Entry,
        b: Entry,
        span: Span,
        guards: tuple[tuple[Cond, ...], tuple[Cond, ...]] = ((), ()),
        taken: Cond | None = None,
    ) -> Entry:
        """What both arms share: equal sizes stay, a size that differs is one of the two, each under its arm's condition."""
        cases: dims.Cases = []
        value = dims.join(self.state, a.value, b.value, cases)
        if cases:
            one = all_of(*guards[0], *(eq(both, size) for both, size, _ in cases))
            other = all_of(*guards[1], *(eq(both, size) for both, _, size in cases))
            self.state.assume(any_of(one, other))
            if taken is not None:
                self.state.choices.update({only_var(both): ((taken, x), (negate(taken), y)) for both, x, y in cases})
        return Entry(value, span, origin=Made(JOIN, (("then", a), ("else", b)), None, guards, len(self.path)))

    def _learn_common(self, then_facts: list[Cond], else_facts: list[Cond], newest: int) -> None:
        """What the facts of both arms entail holds after them."""
        if not then_facts or not else_facts:
            return
        for own, other in ((then_facts, else_facts), (else_facts, then_facts)):
            self.state.push()
            for cond in other:
                self.state.assume(cond)
            common = [c for c in own[:8] if is_older(c, newest) and self.state.facts.decide(c).kind == "proved"]
            self.state.pop()
            for cond in common:
                self.state.assume(cond)

    def _lambda(self, expr: core.Lambda, env: Env) -> tuple[Entry, core.Value]:
        """A lambda's body is checked where it stands, for all its callers."""
        inner, since, path = dict(env), len(self._bindings), self.path
        self.path = (*path, None)
        self.state.push()
        for param in expr.params:
            inner[param.name] = Entry(self.unknown(param.sort, param.name), expr.span)
        door = self.assume_all(expr.body.stmts[: expr.door], inner, name_dims=True)
        _, body = self.block(replace(expr.body, stmts=expr.body.stmts[expr.door :]), inner)
        self._close_bindings(since)
        self.state.pop()
        self.path = path
        after = replace(expr, body=replace(body, stmts=(*door, *body.stmts)))
        return Entry(FnValue("fn", None, expr, dict(env)), expr.span), after


def _condition_check(span: Span, name: str, rank: bool, what: str) -> core.Assert:
    origin = core.Origin(span, "condition", True, None, None, f"the condition has {what}")
    if rank:
        cond: core.BoolExpr = core.Compare(span, "==", core.RankOf(span, name), core.SizeLit(span, 0))
    else:
        floating = core.InClass(span, core.DTypeOf(span, name), ("integer",), False)
        boolean = core.Compare(span, "==", core.DTypeOf(span, name), core.DTypeLit(span, WEAK[bool]))
        cond = core.Logic(span, "||", boolean, floating)
    return core.Assert(span, cond, None, origin, Status.RESIDUAL)


def obligations(expr: core.ShapeLevel) -> Iterator[core.BoolExpr]:
    """That divisors are positive, `/` divides and axes exist, as conditions in the core."""
    match expr:
        case core.SizeOp():
            yield from obligations(expr.left)
            yield from obligations(expr.right)
            yield from _of_division(expr)
        case core.DimOf():
            least = expr.axis + 1 if expr.axis >= 0 else -expr.axis
            yield core.Compare(expr.span, ">=", core.RankOf(expr.span, expr.tensor), core.SizeLit(expr.span, least))
        case core.ShapeLit():
            for dim in expr.dims:
                if not isinstance(dim, core.Splice):
                    yield from obligations(dim)
        case core.Not():
            yield from obligations(expr.operand)
        case core.Compare():
            yield from obligations(expr.left)
            yield from obligations(expr.right)
        case core.Logic():
            yield from obligations(expr.left)
            past = core.Not(expr.left.span, expr.left) if expr.op == "&&" else expr.left
            yield from (core.Logic(cond.span, "||", past, cond) for cond in obligations(expr.right))


def _of_division(expr: core.SizeOp) -> Iterator[core.BoolExpr]:
    if expr.op in ("/", "//", "%", "ceildiv") and not (isinstance(expr.right, core.SizeLit) and expr.right.value > 0):
        yield core.Compare(expr.span, ">=", expr.right, core.SizeLit(expr.span, 1))
    if expr.op == "/":
        rest = core.SizeOp(expr.span, "%", expr.left, expr.right)
        yield core.Compare(expr.span, "==", rest, core.SizeLit(expr.span, 0))


def with_needs(truth: Truth, needs: list[Obligation]) -> Truth:
    for need in needs:
        truth = _and(need.cond, truth)
    return truth


def bound_names(stmt: core.Stmt) -> tuple[str, ...]:
    match stmt:
        case core.Let():
            return stmt.names
        case core.MatchShape():
            return stmt.binds
    return ()


def _written(expr: core.ShapeLevel) -> tuple[Span | None, ...]:
    """Where each size of a shape is written."""
    if not isinstance(expr, core.ShapeLit) or any(isinstance(d, core.Splice) for d in expr.dims):
        return ()
    return tuple(d.span for d in expr.dims)


def _evaluate(level: ShapeLevel, expr: core.ShapeLevel) -> Value:
    if isinstance(expr, core.SizeExpr):
        return SizeValue(level.size(expr))
    if isinstance(expr, core.ShapeExpr):
        return ShapeValue(level.shape(expr))
    if isinstance(expr, core.DTypeExpr):
        return DTypeValue(level.dtype(expr))
    return BoolValue(level.truth(expr))


def literal_data(literal: core.TensorLit) -> object:
    """The elements of a small integer literal."""
    if literal.dtype.kind not in ("int", "uint") or len(literal.shape) > 1 or len(literal.values) > 64:
        return None
    return tuple(literal.values) if literal.shape else literal.values[0]


def _literal_data(value: TensorInfo) -> bool:
    data = value.data if isinstance(value.data, tuple) else (value.data,)
    return all(isinstance(d, int) for d in data)


def _constant(value: Value) -> bool | None:
    """The truth of a condition that is a literal tensor."""
    if isinstance(value, NumberValue):
        return bool(value.value)
    if isinstance(value, TensorInfo) and isinstance(value.data, int):
        return bool(value.data)
    return None


def is_older(cond: Cond, newest: int) -> bool:
    return not isinstance(cond, bool) and all(v.serial <= newest for v in cond_variables(cond))
