"""A call outside of programs: its result, conditions and failures, from the shapes of its arguments alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from ..lang import core
from ..lang.checked import Checked
from ..lang.core import Status
from ..lang.diagnostics import Diagnostic
from ..lang.dtypes import DType
from ..lang.node import Node, replace
from ..lang.source import Span
from ..ops.model import TensorInfo
from .cases import Begun, ShapeCase, by_cases
from .explaining import choose
from .findings import Log
from .frame import Frame
from .known.finding import Finding
from .known.outcome import GivenUp, Options
from .known.state import State
from .known.values import Entry, Env, SizeValue, Value
from .messages.telling import told, told_inside
from .opaque import pinned
from .propagate import Checker
from .solver.conditions import Cond, any_of, ge, negate, substitute_cond
from .solver.exprs import QuestionScope, read_size
from .solver.sizes import only_var
from .solver.terms import Size, substitute
from .walk import Walk

CallResult = tuple[Value, State, tuple[Diagnostic, ...]]
ShapeCases = tuple[tuple[ShapeCase, ...] | list[Any], State, tuple[Cond, ...]]


class ArgumentShape(Node):
    """An argument of known shape and perhaps dtype: dimensions are ints or the texts of size expressions."""

    dims: tuple[int | str, ...]
    dtype: DType | None = None


Arguments = Mapping[str, ArgumentShape | int | str]


def result_shapes(checked: Checked, name: str, arguments: Arguments) -> tuple[CallResult, tuple[Cond, ...]]:
    """Return the result of a call of the function `name` for abstract arguments (by parameter name), the State of its sizes,
    and the errors of the call; and the conditions under which it works."""
    checker, walk, _, begin = _called(checked, name, arguments)
    result = begin(walk.frame)
    found = result.value, walk.state, tuple(map(told, choose(checker.log.findings)[0]))
    return found, _conditions(walk)


def cases_of_shapes(checked: Checked, name: str, arguments: Arguments) -> ShapeCases:
    """Return the shapes of such a call's result if sizes decide the rank, each with its condition, the State of their sizes,
    and the conditions under which the call works. Without such cases the shapes are empty."""
    begin = partial(_begun, checked, name, arguments)
    first = begin()
    first.body(first.walk.frame)
    cases = by_cases(first.walk, first.opened, begin)
    return ((), first.walk.state, ()) if cases is None else (cases.shapes(), cases.walk.state, _conditions(cases.walk))


def _conditions(walk: Walk) -> tuple[Cond, ...]:
    conditions = (
        any_of(*(negate(c) for c in d.path if c is not None), d.cond) for d in walk.prover.demands if d.cond is not None
    )
    return tuple(dict.fromkeys(conditions))


def first_failure(checked: Checked, name: str, arguments: Arguments) -> Diagnostic | None:
    """Return the first check that surely fails in such a call, at its own place; None if there is none."""
    begin = partial(_begun, checked, name, arguments, errors_only=True)
    first = begin()
    first.walk.stopped = partial(_is_first, first.walk.prover.log.findings)
    with suppress(GivenUp):
        first.body(first.walk.frame)
    cases = None if any(_failing(first.walk)) else by_cases(first.walk, first.opened, begin)
    return next(map(told_inside, _failing(first.walk if cases is None else cases.walk)), None)


def _is_first(found: list[Finding], frame: Frame) -> bool:
    """Whether the first finding fails, whatever comes later."""
    return bool(found) and found[0].outcome.status is Status.REFUTED and not frame.path and frame.turn is None


def _failing(walk: Walk) -> Iterator[Finding]:
    return (f for f in walk.prover.log.findings if f.outcome.status is Status.REFUTED)


def _begun(checked: Checked, name: str, arguments: Arguments, *, errors_only: bool = False) -> Begun:
    _, walk, opened, body = _called(checked, name, arguments, errors_only=errors_only)
    return Begun(walk, opened, lambda frame: (body(frame), ()))


def _called(
    checked: Checked, name: str, arguments: Arguments, *, errors_only: bool = False
) -> tuple[Checker, Walk, Env, Callable[[Frame], Entry]]:
    """Return the checker and the walk before a call, its arguments, and a function that walks the call."""

    def header(load: core.Load) -> TensorInfo | None:
        known = checked.headers.get((load.path, load.key))
        return None if known is None else TensorInfo(known.shape, known.dtype)

    options = Options(allow_empty=True, errors_only=errors_only)
    checker: Checker = checked.anew(checked.before, options, header)
    for const in checked.before.consts:
        checker.const(const)
    checker.log = Log(certain=True)
    walk = checker.walk_of(f"@{name}")
    walk.prover.thorough = True
    names: dict[str, Size] = {}
    impls = checker.program.impls.get(name)
    env = checker.consts_for(walk, impls or checker.program.functions[name])
    if impls is not None:
        given = {n: _entry(walk, n, a, names, impls.span) for n, a in arguments.items()}
        return checker, walk, given, lambda frame: walk.lists.call_with(frame, impls, given, env)
    function = checker.program.functions[name]
    asked = pinned(function.checks)
    arguments = {n: _with_dtype(a, asked.get(n)) for n, a in arguments.items()}
    entries = tuple(
        _entry(walk, p.name, arguments[p.name], names, core.param_span(function, p.name))
        if p.name in arguments
        else _default(walk, function, p.name, env)
        for p in function.params
    )
    opened = {p.name: e for p, e in zip(function.params, entries, strict=True)}
    return checker, walk, opened, lambda frame: walk.calls.call_with(frame, function, entries, env)


def _entry(walk: Walk, name: str, given: ArgumentShape | int | str, names: dict[str, Size], span: Span) -> Entry:
    """An argument, which is the same value at each of its uses."""
    return Entry(_argument(walk.state, name, given, names), span, number=walk.bindings.number())


def _default(walk: Walk, function: core.Function, name: str, env: Env) -> Entry:
    """The default of a parameter for which there is no argument."""
    declared = () if function.declaration is None else function.declaration.params
    default = next(p.default for p in declared if p.name == name)
    assert default is not None and default.value is not None
    return walk.value(walk.frame, default.value, env)[0]


def _with_dtype(given: ArgumentShape | int | str, asked: DType | None) -> ArgumentShape | int | str:
    """Give an argument without a dtype the container type that is asked for, if any."""
    return replace(given, dtype=asked) if isinstance(given, ArgumentShape) and given.dtype is None else given


def _argument(state: State, param: str, given: ArgumentShape | int | str, names: dict[str, Size]) -> Value:
    if isinstance(given, ArgumentShape):
        shape = tuple(_given_size(state, d, names) for d in given.dims)
        for size in shape:
            state.assume(ge(size, 0))
        return TensorInfo(shape, given.dtype or state.dtype_symbol(f"{param}.dtype"))
    return SizeValue(_given_size(state, given, names))


def _given_size(state: State, given: int | str, names: dict[str, Size]) -> Size:
    """A size of the caller's; each name in it is a size of at least 0."""
    if isinstance(given, int):
        return given
    scope = QuestionScope()
    size = read_size(given, scope)
    for name in scope.names:
        if name not in names:
            names[name] = state.size(name)
    values = {only_var(term): names[name] for name, term in scope.names.items()}
    for needed, _, _ in scope.obligations:
        state.assume(substitute_cond(needed, values))
    return substitute(size, values)
