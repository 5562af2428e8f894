"""Functions: `@f` to `inline @f`, which checks shapes, and `private @f_impl`, which computes.

`@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32) { ... }` becomes

    inline @ff = fn(x : Tensor) : Tensor {
      assert x.rank == 2; assert x.dim(1) % 4 == 0; assert x.dtype == int8
      let out = @ff_impl(x)
      assert out.rank == 1; assert out.dim(0) == x.dim(0) * (x.dim(1) / 4); assert out.dtype == int32
      out
    }
    private @ff_impl = fn(x : Tensor) : Tensor { let m : Size = x.dim(1) / 4; ... }
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial

from ..lang import codes, core, sweet
from ..lang.diagnostics import Label, RxError
from ..lang.dtypes import DTYPES
from ..lang.given import Given
from ..lang.node import replace
from ..lang.source import Span
from ..lang.walk import walk
from . import defaults, patterns, shapes
from .annotations import leaves
from .binding import Bound, Leaf
from .code import Code, Hooks, spelled
from .compounds import folded
from .core_form import checks_length, parts
from .declarations import signature
from .errors import Broken, fail
from .function_values import fn_names, function_sort
from .lint import by_line, unused
from .naming import destructurings, entries, is_destructuring, lets, of_stacks
from .scope import SHAPE_SORTS, Entry, identifiers
from .sorts import expand, sort_of
from .statements import block_result, statements
from .type_names import all_names, size_names
from .world import FnInfo, ImplsInfo, ParamInfo, World
from .written import declaration


class Translator:
    """All functions of a program, each translated once, callees without an annotated result first."""

    def __init__(self, world: World, hooks: Hooks) -> None:
        self.world = world
        self.hooks = hooks
        self.busy = False
        self.notes: dict[str, list[Entry]] = {}

    def result(self, info: FnInfo, span: Span) -> core.Sort:
        """The sort of a function's result; where it is not annotated, that of its body."""
        if info.result is not None:
            return info.result
        if info.state == "new" and not self.busy:
            for callee in self.in_order([info]):
                self.translate(callee)
        if info.state in ("new", "working"):  # what is not in a circle has been translated before
            fail(
                codes.E212,
                f"@{info.name} calls itself: its result has to be annotated",
                span,
                help=_recursion_help(info),
            )
        if info.result is None or info.state == "broken":
            raise Broken
        return info.result

    def translate(self, info: FnInfo) -> None:
        """Fill in `info.functions`."""
        if info.state != "new":
            return
        info.state = "working"
        self.busy = True
        try:
            info.functions = self.world.kept(info.decl, info.impl, partial(self._functions, info))
            info.state = "done"
        except RxError as problem:
            self.world.report(problem)
            info.state = "broken"
        self.busy = False

    def in_order(self, infos: list[FnInfo]) -> Iterator[FnInfo]:
        """Functions without an annotated result before those that call them."""
        seen: set[str] = set()
        for info in infos:
            stack = [(info, iter(self._open_callees(info)))] if info.name not in seen else []
            seen.add(info.name)
            while stack:
                callee = next((c for c in stack[-1][1] if c.name not in seen), None)
                if callee is None:
                    yield stack.pop()[0]
                else:
                    seen.add(callee.name)
                    stack.append((callee, iter(self._open_callees(callee))))

    def _open_callees(self, info: FnInfo) -> list[FnInfo]:
        if info.decl.fn.body is None or self.world.is_head(info.decl):
            return []
        names = dict.fromkeys(self.world.spelt(info.decl)[1].functions)
        targets = (self.world.target(info.unit, n) for n in names)
        models = (t.model if isinstance(t, ImplsInfo) else t for t in targets)
        return [t for t in models if isinstance(t, FnInfo) and t.result is None and t.state == "new"]

    def _functions(self, info: FnInfo) -> tuple[core.Function, ...]:
        if info.form == "extern" and info.decl.fn.body is None:
            return (Wrapper(self, info).extern(),)
        if info.form != "sweet":
            return (Wrapper(self, info).core_form(),)
        return Wrapper(self, info).split() if info.split else (Wrapper(self, info).whole(),)

    def code(self, info: FnInfo, taken: set[str]) -> Code:
        return Code(info.unit, info.name, taken, self.hooks)


def _recursion_help(info: FnInfo) -> str:
    return f"`@{info.decl.name.name} = fn(...) : Tensor([...], ...)` says what it gives"


class Wrapper:
    """One function while it is being translated."""

    def __init__(self, translator: Translator, info: FnInfo) -> None:
        self.translator = translator
        self.info = info
        self.decl = info.decl
        self.unit = info.unit
        self.defaults: dict[str, core.Value] = {}
        self.result_type = None if info.decl.fn.result is None else expand(info.unit, info.decl.fn.result)
        aliases = [expand(info.unit, p.type) for p in info.decl.fn.params if p.type is not None]
        head, self.spelt = info.unit.world.spelt(info.decl)
        self.taken = head.identifiers | self.spelt.identifiers | identifiers(*aliases, self.result_type)
        self.code = translator.code(info, self.taken)
        self.params: list[core.Param] = []
        self.bound: list[Bound] = []
        self.later: list[sweet.Expr] = []
        # How many statements of the body say for whom the function is: they stand in the wrapper.
        self.domain = 0

    # The forms

    def split(self) -> tuple[core.Function, ...]:
        """The wrapper and the implementation."""
        self._preconditions()
        inner = None if self.unit.world.is_head(self.decl) else self._implementation()
        self._name_for_types()
        wrapper = self._around("inline", self.info.impl, "result")
        if self.code.failed:
            raise Broken
        if inner is None:  # callers can still be checked against the annotations
            return (replace(wrapper, kind="extern"),)
        self._lint()
        return wrapper, inner

    def extern(self) -> core.Function:
        self._preconditions()
        self._name_for_types()
        wrapper = self._around("extern", self.info.impl, "extern")
        if self.code.failed:
            raise Broken
        self._lint()
        target = None if self.decl.target is None else self.decl.target.value
        return replace(wrapper, target=target)

    def whole(self) -> core.Function:
        """The result is not annotated: the body stays in the wrapper, so that callers see into it."""
        self._preconditions()
        for condition in self.later:
            self.code.report(_unbound(self.code, condition))
        body = self.decl.fn.body
        assert body is not None
        names = entries(self.code, self.bound)
        checks, self.code.stmts = self.code.stmts, []
        fine = statements(self.code, body.stmts[self.domain :])
        want = self.info.result
        result, sort = self._result(self.code, body, want)
        if not fine or self.code.failed or self.code.ever_failed:
            raise Broken
        self.info.result = sort
        used = {n for n, e in names.items() if e.used}
        made, self.code.stmts = core.Block(body.span, tuple(self.code.stmts), result), checks
        self.code.emit(*self._lets(used | self._type_names(), in_wrapper=True))
        self.translator.notes[self.info.name] = list(names.values())
        self._lint()
        return self._function("inline", tuple(self.code.stmts), made)

    def core_form(self) -> core.Function:
        """A function that is written in core form already."""
        self._parameters(core_form=True)
        if self.info.form == "extern":
            self.code.opaque = self.info
        body = self.decl.fn.body
        assert body is not None
        fine, at = self._written_checks()
        fine = statements(self.code, body.stmts) and fine
        result, sort = self._result(self.code, body, self.info.result)
        if not fine or self.code.failed:
            raise Broken
        self.info.result = sort
        block = core.Block(body.span, tuple(self.code.stmts), result)
        at = checks_length(block.stmts, self.unit.world) if at is None else at
        self._function_sorts(self._as_bound(block.stmts[:at]))
        if self.info.form == "private":
            return self._function("private", (), block)
        found = parts(block, at, self.unit.world)
        if found.impl is not None:
            self._check_handed_on(found.body, found.impl)
        made = self._function(self.info.form, *found)
        return replace(made, target=None if self.decl.target is None else self.decl.target.value)

    def _written_checks(self) -> tuple[bool, int | None]:
        """The checks that stand in a block of their own: whether they are fine, and how many statements they are."""
        checks = self.decl.fn.checks
        if checks is None:
            return True, None
        fine = statements(self.code, checks.stmts)
        for stmt in self.code.stmts:
            if not core.may_check(stmt):
                fail(codes.E214, f"the checks of @{self.decl.name.name} only assert", stmt.span)
        return fine, len(self.code.stmts)

    def _check_handed_on(self, body: core.Block, impl: str) -> None:
        """A wrapper hands its parameters on to its implementation as they are: what it knows of them holds there."""
        [let] = body.stmts
        assert isinstance(let, core.Let) and isinstance(let.value, core.Call)
        own = [core.variable(let.span, p.name, p.sort) for p in self.params]
        if [a.value for a in let.value.args] != own:
            fail(
                codes.E214, f"@{self.decl.name.name} has to hand its parameters on as they are", let.value.span,
                help=f"`@{impl}({', '.join(p.name for p in self.params)})`",
            )  # fmt: skip

    def _as_bound(self, checks: tuple[core.Stmt, ...]) -> Code:
        """A scope in which the names of a wrapper's `let`s stand for their values, as they do in a sweet function's."""
        inner = Code(self.unit, self.info.name, set(), self.code.hooks)
        for param in self.decl.fn.params:
            entry = self.code.scope.entries.get(param.name.name)
            if entry is not None:
                inner.scope.bind(entry)
        for stmt in checks:
            if isinstance(stmt, core.Let) and stmt.sort in SHAPE_SORTS and isinstance(stmt.value, core.ShapeLevel):
                inner.scope.bind(Entry(stmt.names[0], stmt.sort, stmt.value, stmt.span, "size", True))
            elif isinstance(stmt, core.MatchShape):
                for name in stmt.binds:
                    sort = (
                        core.SHAPE
                        if any(isinstance(d, core.Splice) and d.name == name for d in stmt.dims)
                        else core.SIZE
                    )
                    inner.scope.bind(Entry(name, sort, core.variable(stmt.span, name, sort), stmt.span, "size", True))
        return inner

    def _declared_result(self) -> sweet.Type | None:
        type_ = self.decl.fn.result
        return None if type_ is None else expand(self.info.unit, type_)

    def _result(self, code: Code, body: sweet.Block, want: core.Sort | None) -> tuple[core.Value, core.Sort]:
        try:
            return block_result(code, body, want, self._declared_result())
        except RxError as problem:
            code.report(problem)
            return core.TupleValue(body.span, ()), core.TENSOR

    def _function(
        self,
        kind: str,
        checks: tuple[core.Stmt, ...],
        body: core.Block,
        promises: tuple[core.Stmt, ...] = (),
        impl: str | None = None,
    ) -> core.Function:
        sort = None if self.result_type is None else sort_of(self.result_type)
        return core.Function(
            self.decl.span, kind, self.info.name, tuple(self.params), sort, checks, body, promises, impl,
            None, signature(self.decl), self._declaration,
        )  # fmt: skip

    @cached_property
    def _declaration(self) -> core.Declaration:
        """As it is once the parameters are known."""
        return declaration(self.decl, self.defaults, self.spelt)

    # The preconditions

    def _preconditions(self) -> None:
        """Parameters bound, their assertions made, then the conditions that speak of nothing else."""
        fn = self.decl.fn
        for node in walk(tuple(p.type for p in fn.params), fn.where, fn.result):
            if isinstance(node, sweet.For | sweet.While):
                fail(codes.E221, "a loop cannot stand in a signature", node.span, help="the body may have one")
        found = self._parameters()
        self.bound = patterns.solve(self.code, found, named=False, later=self.result_type)
        self._function_sorts(self.code)
        existential = {n.name for n in all_names(self.result_type)}
        for condition in self.decl.fn.where:
            if self._is_later(condition, existential):
                self.later.append(condition)
            else:
                self._condition(condition)
        for given in self.unit.world.given:
            if given.is_for(self.info.name):
                self._given(given)
        if self.info.is_choice:
            self._qualify()

    def _qualify(self) -> None:
        """What the body of an implementation begins to assert says which calls it is for: callers see it, like a `where`."""
        body = self.decl.fn.body
        for stmt in body.stmts if body is not None else ():
            if not isinstance(stmt, sweet.Assert) or not self._asserted(stmt):
                return
            self.domain += 1

    def _given(self, given: Given) -> None:
        """Conditions from outside; a pattern is for those functions that have the sizes."""
        for condition in given.conditions:
            if not given.names_many or self._meant(condition) is not None:
                self._condition(condition)

    def _meant(self, condition: sweet.Expr) -> core.BoolExpr | None:
        """A condition over nothing but the parameters; None where it is another one."""
        trial = Code(self.unit, self.info.name, set(self.taken), self.code.hooks)
        trial.may_hoist, trial.compounds, trial.scope = False, self.code.compounds, self.code.scope
        told = len(self.unit.world.diagnostics)
        try:
            return shapes.condition(trial, condition)
        except RxError:
            del self.unit.world.diagnostics[told:]
            return None

    def _asserted(self, stmt: sweet.Assert) -> bool:
        """Whether a condition speaks of nothing but the parameters; then it is asserted here."""
        cond = self._meant(stmt.cond)
        if cond is None:
            return False
        declared = self._declared(stmt.cond)
        origin = core.Origin(stmt.cond.span, "where", False, declared, None, spelled(stmt.cond.span))
        self.code.emit(core.Assert(stmt.span, cond, stmt.message, origin))
        return True

    def _parameters(self, core_form: bool = False) -> list[Leaf]:
        found: list[Leaf] = []
        places: dict[str, Span] = {}
        for param, info in zip(self.decl.fn.params, self.info.params, strict=True):
            name = param.name
            if name.name in places:
                label = Label(places[name.name], "the first one")
                fail(codes.E203, f"two parameters are called `{name.name}`", name.span, labels=(label,))
            places[name.name] = name.span
            assert info.sort is not None
            core_name = self.code.bind(name, info.sort, "param")
            self.params.append(core.Param(core_name, info.sort))
        self._check_defaults()
        if not core_form:
            for position, param in enumerate(self.decl.fn.params):
                if param.type is not None:
                    type_ = expand(self.unit, param.type)
                    name_ = self.params[position].name
                    found += leaves(
                        self.code, name_, type_, "param", core.Called(param.name.name), param.type.span, position
                    )
        return found

    def _check_defaults(self) -> None:
        params = self.decl.fn.params
        if any(p.default is not None for p in params):
            signature = identifiers(*(p.type for p in params if p.type is not None)) | {p.name.name for p in params}
            for param, info in zip(params, self.info.params, strict=True):
                self._check_default(param, info, signature)

    def _check_default(self, param: sweet.Param, info: ParamInfo, signature: set[str]) -> None:
        own = Code(self.unit, self.info.name, set(self.taken), self.code.hooks)
        own.may_hoist = False
        try:
            value = defaults.check(own, param, info, signature)
            if value is not None:
                self.defaults[param.name.name] = value
        except RxError as problem:
            self.code.report(problem)
        if own.failed:
            self.code.failed = True

    def _function_sorts(self, code: Code) -> None:
        """Function parameters: what their annotation says, over the names that other parameters bind."""
        for position, param in enumerate(self.decl.fn.params):
            type_ = None if param.type is None else expand(self.unit, param.type)
            if isinstance(type_, sweet.FnType):
                name = self.params[position].name
                made = function_sort(code, type_, name, core.Called(param.name.name))
                self.params[position] = core.Param(name, made)

    def _is_later(self, condition: sweet.Expr, existential: set[str]) -> bool:
        free = {n.name for n in size_names(folded(condition, self.code.compounds))}
        return any(self.code.scope.find(n) is None and n in existential for n in free)

    def _condition(self, condition: sweet.Expr) -> None:
        try:
            cond = shapes.condition(self.code, condition)
        except RxError as problem:
            self.code.report(problem)
            return
        declared = self._declared(condition)
        origin = core.Origin(condition.span, "where", True, declared, None, spelled(condition.span))
        self.code.emit(core.Assert(condition.span, cond, None, origin))

    def _declared(self, condition: sweet.Expr) -> core.Declared:
        bound: list[tuple[str, core.ShapeLevel]] = []
        for name in dict.fromkeys(n.name for n in size_names(condition)):
            entry = self.code.scope.find(name)
            if entry is not None and entry.is_shape_level and entry.expr is not None:
                bound.append((name, entry.expr))  # type: ignore[arg-type]
        kind = "result" if condition in self.later else "param"
        subject = core.Called(f"the conditions of @{self.info.name}")
        return core.Declared(condition.span, kind, subject, "", None, tuple(bound), self.info.name)

    # The call of the implementation, and what it promises

    def _around(self, form: str, impl: str, kind: str) -> core.Function:
        """A wrapper around an implementation: the checks so far, the call, and what is promised of its result."""
        checks, self.code.stmts = tuple(self.code.stmts), []
        out = self.code.fresh("out")
        body = self._call(impl, out)
        self._promise(out, kind)
        return self._function(form, checks, body, tuple(self.code.stmts), impl)

    def _call(self, callee: str, out: str) -> core.Block:
        span = self.decl.fn.result.span if self.decl.fn.result else self.decl.name.span
        args = tuple(core.Arg(span, None, core.variable(span, p.name, p.sort)) for p in self.params)
        sort = self.info.result or core.TENSOR
        self.info.result = sort
        shown = sort if sort in SHAPE_SORTS else None
        call = core.Call(span, core.FnRef(span, callee), args)
        end = self.decl.fn.body or self.decl.fn
        return core.Block(end.span, (core.Let(span, (out,), False, shown, call),), core.variable(span, out, sort))

    def _promise(self, out: str, kind: str) -> None:
        """What the signature says of the result."""
        if self.result_type is not None and self.decl.fn.result is not None:
            subject = core.Called("", core.Called(f"@{self.info.name}"))
            found = leaves(self.code, out, self.result_type, kind, subject, self.decl.fn.result.span)
            patterns.solve(self.code, found, named=False, kind="existential")
        for condition in self.later:
            self._condition(condition)

    # The implementation

    def _implementation(self) -> core.Function | None:
        """The body with the sizes that it uses named in front; None where it is wrong."""
        body = self.decl.fn.body
        assert body is not None
        code = self.translator.code(self.info, set(self.taken))
        code.compounds = self.code.compounds
        for param, made in zip(self.decl.fn.params, self.params, strict=True):
            code.scope.bind(
                Entry(
                    param.name.name,
                    made.sort,
                    core.variable(param.name.span, made.name, made.sort),
                    param.name.span,
                    "param",
                )
            )
        for entry in self.code.scope.entries.values():
            if entry.sort is None:
                code.scope.bind(entry)
        names = entries(code, self.bound)
        fine = statements(code, body.stmts[self.domain :])
        result, _ = self._result(code, body, self.info.result)
        used = {n for n, e in names.items() if e.used}
        if not fine or code.failed or code.ever_failed:
            return None
        self._lint_body(code, names)
        used |= self._type_names() | of_stacks(self.bound, *code.stmts, result)
        lets = self._lets(used, in_wrapper=False)
        made_body = core.Block(body.span, (*lets, *code.stmts), result)
        return core.Function(
            self.decl.span, "private", self.info.impl, tuple(self.params), self.info.result, (), made_body,
            declaration=self._declaration,
        )  # fmt: skip

    def _lets(self, used: set[str], in_wrapper: bool) -> list[core.Stmt]:
        """The names that are used. The wrapper has those that its match_shapes bind already."""
        stmts = lets(self.bound, used, self.code.stmts if in_wrapper else None)
        if in_wrapper:
            return stmts
        return destructurings([s for s in self.code.stmts if is_destructuring(s)], stmts) + stmts

    def _type_names(self) -> set[str]:
        """Names that the annotation of a function parameter speaks of: the core has to bind them."""
        names: set[str] = set()
        for param in self.decl.fn.params:
            type_ = None if param.type is None else expand(self.unit, param.type)
            if isinstance(type_, sweet.FnType):
                names |= {n.name for n in fn_names(type_)}
        return names & {b.name for b in self.bound}

    def _name_for_types(self) -> None:
        self.code.emit(*self._lets(self._type_names(), in_wrapper=True))

    # Names that nothing uses

    def _lint(self) -> None:
        uses = self.translator.notes.pop(self.info.name, [])
        used = {e.span for e in uses if e.used}
        annotated = self.code.annotated
        free = [e for e in annotated if self._is_free(e) and e.span not in used]
        existential = {e.name for e in annotated if e.kind == "existential"}
        unused(self.unit.world, free, self.info.name, {e.name for e in annotated}, existential)

    def _lint_body(self, code: Code, names: dict[str, Entry]) -> None:
        self.translator.notes[self.info.name] = list(names.values())
        others = {*names, *(e.name for e in code.annotated)}
        for found in by_line(filter(self._is_free, code.annotated)):
            unused(self.unit.world, found, self.info.name, others)

    def _is_free(self, entry: Entry) -> bool:
        """Whether nothing uses a name of the function itself: a `type` that it refers to may have names for readers."""
        return entry.kind != "existential" and not entry.used and entry.span.within(self.info.decl.span)


def _unbound(code: Code, condition: sweet.Expr) -> RxError:
    for name in size_names(condition):
        if code.scope.find(name.name) is None and name.name not in DTYPES:
            try:
                code.entry(name.name, name.span)
            except RxError as problem:
                return problem
    return Broken()
