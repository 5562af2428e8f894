"""One function: `@f` to `inline @f`, which checks shapes, and `private @f_impl`, which computes.

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

from functools import cached_property

from ..lang import codes, core, sweet
from ..lang.diagnostics import RxError
from ..lang.node import replace
from . import patterns
from .annotations import leaves
from .code import FunctionCode, Hooks
from .core_form import checks_length, parts
from .declarations import signature
from .errors import Broken, fail
from .function_values import fn_names
from .lint import by_line, unused, unused_parameters
from .naming import destructurings, entries, is_destructuring, lets, of_stacks
from .parameters import Parameters
from .scope import SHAPE_SORTS, ScopeEntry, identifiers
from .sorts import expand, sort_of
from .statements import before_result, block_result, statements
from .symbols import FnInfo
from .written import declaration


class Wrapper:
    """One function during translation."""

    def __init__(self, info: FnInfo, hooks: Hooks) -> None:
        self.info, self.decl, self.unit = info, info.decl, info.unit
        self.result_type = None if info.decl.fn.result is None else expand(info.unit, info.decl.fn.result)
        aliases = [expand(info.unit, p.type) for p in info.decl.fn.params if p.type is not None]
        head, self.spelt = info.unit.symbols.spelt(info.decl)
        taken = head.identifiers | self.spelt.identifiers | identifiers(*aliases, self.result_type)
        self.code = FunctionCode(info.unit, info.name, taken, hooks)
        self.parameters = Parameters(info, self.code, taken, self.result_type)
        # The names for the sizes of parameters that the body may use.
        self.named: list[ScopeEntry] = []

    # The forms

    def split(self) -> tuple[core.Function, ...]:
        """Return the wrapper and the implementation."""
        self.parameters.preconditions()
        inner = None if self.unit.symbols.is_head(self.decl) else self._implementation()
        self._name_for_types()
        wrapper = self._around("inline", self.info.impl, "result")
        if self.code.failed:
            raise Broken
        if inner is None:  # callers can still be checked against the annotations
            return (replace(wrapper, kind="extern"),)
        self._lint()
        return wrapper, inner

    def extern(self) -> core.Function:
        self.parameters.preconditions()
        self._name_for_types()
        wrapper = self._around("extern", self.info.impl, "extern")
        if self.code.failed:
            raise Broken
        self._lint()
        target = None if self.decl.target is None else self.decl.target.value
        return replace(wrapper, target=target)

    def whole(self) -> core.Function:
        """Return a function without an annotated result: its body stays in the wrapper, so that callers see into it."""
        self.parameters.preconditions()
        body = self.decl.fn.body
        assert body is not None and not self.parameters.later  # the result has no type to bind names
        names = entries(self.code, self.parameters.bound)
        checks, self.code.stmts = self.code.stmts, []
        fine = statements(self.code, before_result(body)[self.parameters.domain :])
        want = self.info.result
        result, sort = self._result(self.code, body, want)
        if not fine or self.code.failed or self.code.ever_failed:
            raise Broken
        self.info.result = sort
        used = {n for n, e in names.items() if e.used}
        made, self.code.stmts = core.Block(body.span, tuple(self.code.stmts), result), checks
        self.code.emit(*self._lets(used | self._type_names(), in_wrapper=True))
        self.named = list(names.values())
        self._lint()
        return self._function("inline", tuple(self.code.stmts), made)

    def core_form(self) -> core.Function:
        """Return a function that is written in core form."""
        self.parameters.read(core_form=True)
        if self.info.form == "extern":
            self.code.opaque = self.info
        body = self.decl.fn.body
        assert body is not None
        fine, at = self._written_checks()
        fine = statements(self.code, before_result(body)) and fine
        result, sort = self._result(self.code, body, self.info.result)
        if not fine or self.code.failed:
            raise Broken
        self.info.result = sort
        block = core.Block(body.span, tuple(self.code.stmts), result)
        at = checks_length(block.stmts, self.unit.symbols) if at is None else at
        self.parameters.function_sorts(self._as_bound(block.stmts[:at]))
        if self.info.form == "private":
            return self._function("private", (), block)
        found = parts(block, at, self.unit.symbols)
        if found.impl is not None:
            self._check_handed_on(found.body, found.impl)
        made = self._function(self.info.form, *found)
        return replace(made, target=None if self.decl.target is None else self.decl.target.value)

    def _written_checks(self) -> tuple[bool, int | None]:
        """Translate the checks in a block of their own; return whether they are right, and the number of statements."""
        checks = self.decl.fn.checks
        if checks is None:
            return True, None
        fine = statements(self.code, checks.stmts)
        for stmt in self.code.stmts:
            if not core.may_check(stmt):
                fail(codes.E214, f"the checks of @{self.decl.name.name} only assert", stmt.span)
        return fine, len(self.code.stmts)

    def _check_handed_on(self, body: core.Block, impl: str) -> None:
        """Check that a wrapper passes its parameters unchanged to its implementation, so that its checks hold there."""
        [let] = body.stmts
        assert isinstance(let, core.Let) and isinstance(let.value, core.Call)
        own = [core.variable(let.span, p.name, p.sort) for p in self.parameters.made]
        if [a.value for a in let.value.args] != own:
            fail(
                codes.E214, f"@{self.decl.name.name} has to hand its parameters on as they are", let.value.span,
                help=f"`@{impl}({', '.join(p.name for p in self.parameters.made)})`",
            )  # fmt: skip

    def _as_bound(self, checks: tuple[core.Stmt, ...]) -> FunctionCode:
        """Return a scope in which the names of a wrapper's `let`s stand for their values, as in a sweet function."""
        inner = FunctionCode(self.unit, self.info.name, set(), self.code.hooks)
        for param in self.decl.fn.params:
            entry = self.code.scope.entries.get(param.name.name)
            if entry is not None:
                inner.scope.bind(entry)
        for stmt in checks:
            if isinstance(stmt, core.Let) and stmt.sort in SHAPE_SORTS and isinstance(stmt.value, core.ShapeLevel):
                inner.scope.bind(ScopeEntry(stmt.names[0], stmt.sort, stmt.value, stmt.span, "size", True))
            elif isinstance(stmt, core.MatchShape):
                for name in stmt.binds:
                    sort = (
                        core.SHAPE
                        if any(isinstance(d, core.Splice) and d.name == name for d in stmt.dims)
                        else core.SIZE
                    )
                    inner.scope.bind(
                        ScopeEntry(name, sort, core.variable(stmt.span, name, sort), stmt.span, "size", True)
                    )
        return inner

    def _result(self, code: FunctionCode, body: sweet.Block, want: core.Sort | None) -> tuple[core.Value, core.Sort]:
        try:
            return block_result(code, body, want, self.result_type)
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
            self.decl.span, kind, self.info.name, tuple(self.parameters.made), sort, checks, body, promises, impl,
            None, signature(self.decl), self._declaration,
        )  # fmt: skip

    @cached_property
    def _declaration(self) -> core.Declaration:
        """The declaration, known once the parameters are."""
        return declaration(self.decl, self.parameters.defaults, self.spelt)

    # The call of the implementation, and what it promises

    def _around(self, form: str, impl: str, kind: str) -> core.Function:
        """Return a wrapper around an implementation: the checks so far, the call, and the assertions about its result."""
        checks, self.code.stmts = tuple(self.code.stmts), []
        out = self.code.fresh("out")
        body = self._call(impl, out)
        self._promise(out, kind)
        return self._function(form, checks, body, tuple(self.code.stmts), impl)

    def _call(self, callee: str, out: str) -> core.Block:
        span = self.decl.fn.result.span if self.decl.fn.result else self.decl.name.span
        args = tuple(core.Arg(span, None, core.variable(span, p.name, p.sort)) for p in self.parameters.made)
        sort = self.info.result or core.TENSOR
        self.info.result = sort
        shown = sort if sort in SHAPE_SORTS else None
        call = core.Call(span, core.FnRef(span, callee), args)
        end = self.decl.fn.body or self.decl.fn
        return core.Block(end.span, (core.Let(span, (out,), False, shown, call),), core.variable(span, out, sort))

    def _promise(self, out: str, kind: str) -> None:
        """Add the assertions of the signature about the result."""
        if self.result_type is not None and self.decl.fn.result is not None:
            subject = core.Called("", core.Called(f"@{self.info.name}"))
            found = leaves(self.code, out, self.result_type, kind, subject, self.decl.fn.result.span)
            patterns.solve(self.code, found, named=False, kind="existential")
        for condition in self.parameters.later:
            self.parameters.condition(condition)

    # The implementation

    def _implementation(self) -> core.Function | None:
        """Return the body with `let`s for the sizes that it uses; None if it is wrong."""
        body = self.decl.fn.body
        assert body is not None
        code = FunctionCode(self.unit, self.info.name, set(self.parameters.taken), self.code.hooks)
        code.compounds = self.code.compounds
        for param, made in zip(self.decl.fn.params, self.parameters.made, strict=True):
            code.scope.bind(
                ScopeEntry(
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
        names = entries(code, self.parameters.bound)
        fine = statements(code, before_result(body)[self.parameters.domain :])
        result, _ = self._result(code, body, self.info.result)
        used = {n for n, e in names.items() if e.used}
        if not fine or code.failed or code.ever_failed:
            return None
        self._lint_body(code, names)
        used |= self._type_names() | of_stacks(self.parameters.bound, *code.stmts, result)
        lets = self._lets(used, in_wrapper=False)
        made_body = core.Block(body.span, (*lets, *code.stmts), result)
        return core.Function(
            self.decl.span, "private", self.info.impl, tuple(self.parameters.made), self.info.result, (), made_body,
            declaration=self._declaration,
        )  # fmt: skip

    def _lets(self, used: set[str], in_wrapper: bool) -> list[core.Stmt]:
        """Return `let`s for the used names, in the wrapper only for those that its match_shapes do not bind."""
        stmts = lets(self.parameters.bound, used, self.code.stmts if in_wrapper else None)
        if in_wrapper:
            return stmts
        return destructurings([s for s in self.code.stmts if is_destructuring(s)], stmts) + stmts

    def _type_names(self) -> set[str]:
        """Return the names in annotations of function parameters, which the core has to bind."""
        names: set[str] = set()
        for param in self.decl.fn.params:
            type_ = None if param.type is None else expand(self.unit, param.type)
            if isinstance(type_, sweet.FnType):
                names |= {n.name for n in fn_names(type_)}
        return names & {b.name for b in self.parameters.bound}

    def _name_for_types(self) -> None:
        self.code.emit(*self._lets(self._type_names(), in_wrapper=True))

    # Names that nothing uses

    def _lint(self) -> None:
        used = {e.span for e in self.named if e.used}
        annotated = self.code.annotated
        free = [e for e in annotated if self._is_free(e) and e.span not in used]
        existential = {e.name for e in annotated if e.kind == "existential"}
        unused(self.unit.symbols, free, self.info.name, {e.name for e in annotated}, existential)
        if not any(self.info.name in i.choices for u in self.unit.symbols.units for i in u.impls.values()):
            unused_parameters(self.unit.symbols, self.decl, self.info.name)

    def _lint_body(self, code: FunctionCode, names: dict[str, ScopeEntry]) -> None:
        self.named = list(names.values())
        others = {*names, *(e.name for e in code.annotated)}
        for found in by_line(filter(self._is_free, code.annotated)):
            unused(self.unit.symbols, found, self.info.name, others)

    def _is_free(self, entry: ScopeEntry) -> bool:
        """Whether nothing uses a name of the function itself: a `type` that it refers to may have names as documentation."""
        return entry.kind != "existential" and not entry.used and entry.span.within(self.info.decl.span)
