"""The parameters of a function to its entry checks: their annotations, defaults and conditions."""

from __future__ import annotations

from ..lang import codes, core, sweet
from ..lang.diagnostics import Label, RxError
from ..lang.given import Given
from ..lang.source import Span
from ..lang.walk import walk
from . import defaults, patterns, shapes
from .annotations import leaves
from .binding import AnnotatedTensor, Bound
from .code import FunctionCode, spelled
from .compounds import folded
from .errors import fail
from .function_values import function_sort
from .scope import identifiers
from .sorts import expand
from .symbols import FnInfo, ParamInfo
from .type_names import all_names, size_names


class Parameters:
    """The parameters of one function during translation: their core names, the names that their annotations bind in the scope
    of `code`, and their assertions, which are emitted there."""

    def __init__(self, info: FnInfo, code: FunctionCode, taken: set[str], result_type: sweet.Type | None) -> None:
        self.info, self.decl, self.unit = info, info.decl, info.unit
        self.code, self.taken, self.result_type = code, taken, result_type
        self.made: list[core.Param] = []
        self.defaults: dict[str, core.Value] = {}
        self.bound: list[Bound] = []
        # Conditions that mention the result as well.
        self.later: list[sweet.Expr] = []
        # The number of leading assertions of the body that restrict the calls; they move to the wrapper.
        self.domain = 0
        self.subjects: dict[str, core.Called] = {}

    def preconditions(self) -> None:
        """Bind the parameters and emit their assertions, then the conditions that mention nothing else."""
        fn = self.decl.fn
        for node in walk(tuple(p.type for p in fn.params), fn.where, fn.result):
            if isinstance(node, sweet.For | sweet.While):
                fail(codes.E221, "a loop cannot stand in a signature", node.span, help="the body may have one")
        found = self.read()
        self.bound = patterns.solve(self.code, found, named=False, later=self.result_type)
        self.function_sorts(self.code)
        existential = {n.name for n in all_names(self.result_type)}
        for condition in self.decl.fn.where:
            if self._is_later(condition, existential):
                self.later.append(condition)
            else:
                self.condition(condition)
        for given in self.unit.symbols.given:
            if given.is_for(self.info.name):
                self._given(given)
        if self.info.is_choice:
            self._qualify()

    def _qualify(self) -> None:
        """Move the leading assertions of an implementation's body, which restrict its calls, to where callers see them, like
        a `where`."""
        body = self.decl.fn.body
        for stmt in body.stmts if body is not None else ():
            if not isinstance(stmt, sweet.Assert) or not self._asserted(stmt):
                return
            self.domain += 1

    def _given(self, given: Given) -> None:
        """Add conditions from outside; those for many functions apply only where their sizes exist."""
        for condition in given.conditions:
            if not given.names_many or self._meant(condition) is not None:
                self.condition(condition)

    def _meant(self, condition: sweet.Expr) -> core.BoolExpr | None:
        """Return a condition on the parameters alone; None for any other."""
        trial = FunctionCode(self.unit, self.info.name, set(self.taken), self.code.hooks)
        trial.may_hoist, trial.compounds, trial.scope = False, self.code.compounds, self.code.scope
        told = len(self.unit.symbols.diagnostics)
        try:
            return shapes.condition(trial, condition)
        except RxError:
            del self.unit.symbols.diagnostics[told:]
            return None

    def _asserted(self, stmt: sweet.Assert) -> bool:
        """Assert a condition here if it is about the parameters alone; return whether it is."""
        cond = self._meant(stmt.cond)
        if cond is None:
            return False
        declared = self._declared(stmt.cond)
        origin = core.Origin(stmt.cond.span, "where", False, declared, None, spelled(stmt.cond.span))
        self.code.emit(core.Assert(stmt.span, cond, stmt.message, origin))
        return True

    def read(self, core_form: bool = False) -> list[AnnotatedTensor]:
        found: list[AnnotatedTensor] = []
        places: dict[str, Span] = {}
        for param, info in zip(self.decl.fn.params, self.info.params, strict=True):
            name = param.name
            if name.name in places:
                label = Label(places[name.name], "the first one")
                fail(codes.E203, f"two parameters are called `{name.name}`", name.span, labels=(label,))
            places[name.name] = name.span
            assert info.sort is not None
            core_name = self.code.bind(name, info.sort, "param")
            self.made.append(core.Param(core_name, info.sort))
        self._check_defaults()
        if not core_form:
            for position, param in enumerate(self.decl.fn.params):
                if param.type is not None:
                    type_ = expand(self.unit, param.type)
                    name_ = self.made[position].name
                    found += leaves(
                        self.code, name_, type_, "param", core.Called(param.name.name), param.type.span, position
                    )
        self.subjects = {leaf.tensor: leaf.subject for leaf in found}
        return found

    def _check_defaults(self) -> None:
        params = self.decl.fn.params
        if any(p.default is not None for p in params):
            signature = identifiers(*(p.type for p in params if p.type is not None)) | {p.name.name for p in params}
            for param, info in zip(params, self.info.params, strict=True):
                self._check_default(param, info, signature)

    def _check_default(self, param: sweet.Param, info: ParamInfo, signature: set[str]) -> None:
        own = FunctionCode(self.unit, self.info.name, set(self.taken), self.code.hooks)
        own.may_hoist = False
        try:
            value = defaults.check(own, param, info, signature)
            if value is not None:
                self.defaults[param.name.name] = value
        except RxError as problem:
            self.code.report(problem)
        if own.failed:
            self.code.failed = True

    def function_sorts(self, code: FunctionCode) -> None:
        """Set the sorts of function parameters, in terms of the names that other parameters bind."""
        for position, param in enumerate(self.decl.fn.params):
            type_ = None if param.type is None else expand(self.unit, param.type)
            if isinstance(type_, sweet.FnType):
                name = self.made[position].name
                made = function_sort(code, type_, name, core.Called(param.name.name))
                self.made[position] = core.Param(name, made)

    def _is_later(self, condition: sweet.Expr, existential: set[str]) -> bool:
        free = {n.name for n in size_names(folded(condition, self.code.compounds))}
        return any(self.code.scope.find(n) is None and n in existential for n in free)

    def condition(self, condition: sweet.Expr) -> None:
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
        axes = tuple(
            (name, f"axis {e.axis} of {self.subjects[e.tensor].quoted}")
            for name, e in bound
            if isinstance(e, core.DimOf) and e.tensor in self.subjects
        )
        return core.Declared(condition.span, kind, subject, "", None, tuple(bound), self.info.name, axes=axes)
