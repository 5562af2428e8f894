"""A core program to its checked form: every assertion proved, refuted or left for run time; shapes known of every binding.

Each function is checked once for all its callers: its checks are assumed, its body is walked, what it promises of
its result is decided. At a call the callee's wrapper is inlined: its checks are decided under the caller's facts, its promises
become facts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..lang import core
from ..lang.checked import Checked, Demands, Explanation, FunctionShapes
from ..lang.core import Status
from ..lang.diagnostics import Diagnostic
from ..lang.node import Node, replace
from ..lang.pause import collector_paused
from ..lang.source import Span
from ..lang.walk import walk
from ..ops.model import Primitive, TensorInfo
from .calls import CallWalker
from .demands import demands
from .judge import Log
from .known.outcome import Options
from .known.state import State
from .known.values import Entry, Env, FnValue, SizeValue, Value
from .program import Program
from .solver.conditions import ge, substitute_cond
from .solver.exprs import Scope, read_size
from .solver.sizes import only_var
from .solver.terms import Size, substitute
from .voice import doors
from .voice.describe import binding
from .voice.explain import explain
from .walk import Walker

Header = Callable[[core.Load], TensorInfo | None]


@collector_paused
def check(
    program: core.Program,
    lookup: Callable[[str], Primitive | None],
    options: Options,
    header: Header,
) -> Checked:
    """`header` tells shape and dtype of a weights file without reading its data (None if there is none)."""
    return _Checker(program, lookup, options, header).run()


# So many conditions of a signature are looked at for those that exclude each other.
_MOST_CONDITIONS = 40


class _Checker:
    def __init__(
        self, program: core.Program, lookup: Callable[[str], Primitive | None], options: Options, header: Header
    ) -> None:
        self.before = program
        self.options = options
        self.log = Log()
        self.program = Program(program, lookup, header)
        self.walkers: dict[str, Walker] = {}
        self.questions: dict[str, int] = {}
        self.shapes: list[Callable[[], FunctionShapes]] = []
        self.wanted: list[Callable[[], Demands]] = []
        self.consts: list[tuple[str, Callable[[], Explanation]]] = []

    def run(self) -> Checked:
        consts = [self._const(c) for c in self.before.consts]
        functions: list[core.Function] = []
        done: dict[str, core.Function] = {}
        for function in self.before.functions:
            if function.kind != "private":
                wrapper, impl = self._function(function)
                done[wrapper.name] = wrapper
                if impl is not None:
                    done[impl.name] = impl
        for function in self.before.functions:
            if function.name not in done:
                done[function.name] = self._private(function)
            functions.append(done[function.name])
        main = self._main(self.before.main) if self.before.main else None
        after = replace(self.before, functions=tuple(functions), consts=tuple(consts), main=main)
        return Checked(
            self.log.all(),
            self.log.counts,
            self.before,
            after,
            self.questions,
            self.described,
            self.demanded,
            self.explained,
            self.log.silenced(),
        )

    def explained(self, name: str) -> tuple[Explanation, ...]:
        """What is known of a name, in each function that has it: everything is walked once more, with an eye on it."""
        again = _Checker(self.before, self.program.lookup, self.options, self.program.header)
        again.program.explained = name
        again.run()
        told = [e for walker in again.walkers.values() for e in walker.explained(name)]
        return (*(work() for const, work in again.consts if const == name), *told)

    def demanded(self) -> tuple[Demands, ...]:
        return tuple(work() for work in self.wanted)

    def described(self) -> tuple[FunctionShapes, ...]:
        return tuple(describe() for describe in self.shapes)

    # One function

    def _walker(self, name: str) -> CallWalker:
        return CallWalker(self.program, State(), self.log, self.options, name)

    def _env(self, walker: Walker) -> Env:
        """The consts; each function sees them."""
        return {name: walker.adopt(name, entry) for name, entry in self.program.consts.items()}

    def _function(self, function: core.Function) -> tuple[core.Function, core.Function | None]:
        walker = self._walker(f"@{function.name}")
        env = self._env(walker)
        params = self._bind_params(walker, function, env)
        entry = walker.assume_all(function.checks, env, name_dims=True)
        self.log.count(Status.ENTRY, sum(isinstance(s, core.Assert | core.MatchShape) for s in entry))
        if walker.contradictory():
            self.log.diagnostics.append(doors.impossible_signature(function, self._excluding(function)))
            return function, self.program.implementation(function)
        opened = {p.name: env[p.name] for p in function.params}
        said = walker.state.facts.count
        impl = self.program.implementation(function)
        if impl is None and function.impl is not None:
            return self._extern(function, walker, entry), None
        result, wrapper, impl = walker.function_body(function, impl, env)
        params = {n: opened.get(n, e) for n, e in params.items()}
        self._close(walker, function.name, params, result)
        known = walker.state.facts.conditions()[:said]
        self.wanted.append(
            lambda: demands(function, params, result, walker.state, known, walker.demands, walker.dtype_demands)
        )
        return replace(wrapper, checks=entry), impl

    def _excluding(self, function: core.Function) -> list[core.Assert]:
        """Of what a signature says of sizes, a part that is contradictory, and is not without any of its conditions."""
        kept = list(function.checks)
        conditions = [s for s in kept if isinstance(s, core.Assert) and s.origin.what in ("where", "dim")]
        for condition in conditions[:_MOST_CONDITIONS]:
            fewer = [s for s in kept if s is not condition]
            walker = self._walker(f"@{function.name}")
            env = self._env(walker)
            self._bind_params(walker, function, env)
            walker.assume_all(fewer, env, name_dims=True)
            if walker.contradictory():
                kept = fewer
        return [c for c in conditions if c in kept]

    def _extern(self, function: core.Function, walker: Walker, entry: tuple[core.Stmt, ...]) -> core.Function:
        """What an extern returns is checked when it runs."""
        promises = tuple(
            replace(s, status=Status.ENTRY) if isinstance(s, core.Assert | core.MatchShape) else s
            for s in function.promises
        )
        self.log.count(Status.ENTRY, sum(isinstance(s, core.Assert | core.MatchShape) for s in promises))
        self._close(walker, function.name, {}, None)
        return replace(function, checks=entry, promises=promises)

    def _private(self, function: core.Function) -> core.Function:
        """A private function that no wrapper calls: nothing is known of its parameters."""
        walker = self._walker(f"@{function.name}")
        env = self._env(walker)
        params = self._bind_params(walker, function, env)
        result, body = walker.block(function.body, env)
        self._close(walker, function.name, params, result)
        return replace(function, body=body)

    def _main(self, main: core.Function) -> core.Function:
        walker = self._walker("@main")
        result, body = walker.block(main.body, self._env(walker))
        self._close(walker, "main", {}, result)
        return replace(main, body=body)

    def _bind_params(self, walker: Walker, function: core.Function, env: Env) -> Env:
        params = {p.name: Entry(walker.unknown(p.sort, p.name), _param_span(function, p.name)) for p in function.params}
        env.update(params)
        for name, entry in params.items():
            if isinstance(entry.value, FnValue):
                env[name] = params[name] = replace(entry, value=replace(entry.value, env=env))
        return params

    def _close(self, walker: Walker, name: str, params: Env, result: Entry | None) -> None:
        for layer, number in walker.state.facts.counts.items():
            self.questions[layer] = self.questions.get(layer, 0) + number
        walker.state.facts.rest()
        self.walkers[name] = walker
        walker.params = params

        def describe() -> FunctionShapes:
            described = tuple(binding(n, e.value, e.span, walker.state) for n, e in params.items())
            last = binding("result", result.value, result.span, walker.state) if result else None
            return FunctionShapes(f"@{name}", described, walker.described(), last)

        self.shapes.append(describe)

    # Consts

    def _const(self, const: core.ConstDef) -> core.ConstDef:
        """A const's checks run once, when the weights are loaded; what a file's header tells is decided now."""
        walker = self._walker(const.name)
        env = self._env(walker)
        entry, value = walker.value(const.value, env)
        env[const.name] = Entry(entry.value, const.span)
        loads = (node for node in walk(const.value) if isinstance(node, core.Load))
        known = all(self.program.header(load) is not None for load in loads)
        checks = []
        for stmt in const.checks:
            if known:
                walker.out = []
                walker.stmt(stmt, env)
                checks.extend(walker.out)
            else:
                checks.extend(walker.assume_all((stmt,), env, name_dims=True))
        if not known:
            self.log.count(Status.ENTRY, sum(isinstance(s, core.Assert | core.MatchShape) for s in checks))
        settled = walker.settle(env[const.name])
        self.program.consts[const.name] = settled
        self.consts.append((const.name, lambda: explain("the program", const.name, settled, walker.state)))
        return replace(const, value=value, checks=tuple(checks))


def _param_span(function: core.Function, name: str) -> Span:
    if function.declaration is not None:
        for param in function.declaration.params:
            if param.name == name:
                return param.span
    return function.span


CallResult = tuple[Value, State, tuple[Diagnostic, ...]]


class ArgumentShape(Node):
    """An argument of which only the shape is known: dimensions are ints or the texts of size expressions."""

    dims: tuple[int | str, ...]


def result_shapes(
    checked: Checked,
    lookup: Callable[[str], Primitive | None],
    name: str,
    arguments: Mapping[str, ArgumentShape | int | str],
) -> CallResult:
    """What a call of the function `name` gives for abstract arguments (by parameter name), the State that its sizes belong to,
    and what is wrong with the call."""
    checker = _Checker(checked.before, lookup, Options(), lambda _: None)
    for const in checked.before.consts:
        checker._const(const)
    checker.log = Log(certain=True)
    function = checker.program.functions[name]
    walker = checker._walker(f"@{name}")
    env = checker._env(walker)
    names: dict[str, Size] = {}
    entries = tuple(Entry(_argument(walker, p, arguments[p.name], names), function.span) for p in function.params)
    result = walker.call_with(function, entries, env)
    return result.value, walker.state, checker.log.all()


def _argument(walker: CallWalker, param: core.Param, given: ArgumentShape | int | str, names: dict[str, Size]) -> Value:
    if isinstance(given, ArgumentShape):
        shape = tuple(_given_size(walker, d, names) for d in given.dims)
        for size in shape:
            walker.state.assume(ge(size, 0))
        return TensorInfo(shape, walker.state.dtype_symbol(f"{param.name}.dtype"))
    return SizeValue(_given_size(walker, given, names))


def _given_size(walker: CallWalker, given: int | str, names: dict[str, Size]) -> Size:
    """A size of the caller's; the names in it are sizes of at least 0, one for each name."""
    if isinstance(given, int):
        return given
    scope = Scope()
    size = read_size(given, scope)
    for name in scope.names:
        if name not in names:
            names[name] = walker.state.size(name)
    values = {only_var(term): names[name] for name, term in scope.names.items()}
    for needed, _, _ in scope.obligations:
        walker.state.assume(substitute_cond(needed, values))
    return substitute(size, values)
