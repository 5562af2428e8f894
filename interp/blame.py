"""From a failure to a diagnostic: which check or primitive failed, on which shapes, and who called it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from ..lang import codes, core
from ..lang.diagnostics import CalledFrom, Diagnostic, Label, Met, error
from ..lang.node import replace
from ..lang.source import NOWHERE, Span
from ..ops.binding import bind
from ..ops.requirements import Argument, Axis, Requirement, SizeEntry, parts, quantities
from ..ops.spelling import argument, is_indexing, operation
from ..ops.wording import sentence
from ..sizes.integers import Undefined
from .compile import ExternError
from .dispatch import NoneFits
from .dtypes import numpy_dtype
from .engine_types import Namespace, RunValue
from .failure_words import assertion, found_and_wanted, values
from .guards import Failed, Violation, describe, dtype_name, guard
from .kernels.registry import BadValue
from .names import unmangled
from .steps import Bind, Branch, Compute, Invoke, LoopStep, Match, Names, Stack, Step, StepCheck, StepSite
from .trace import Failure, Foreseen, Place, TracedTurn, failure as failure_of

# Exceptions of kernels, NumPy's conversions and size expressions on values that do not fit.
RUNTIME_ERRORS = (
    Failed,
    Foreseen,
    Violation,
    ExternError,
    ArithmeticError,
    ValueError,
    IndexError,
    TypeError,
    MemoryError,
    RecursionError,
    NoneFits,
)


def diagnose(failure: Failure) -> Diagnostic:
    """Return the diagnostic of a failure; for a failure in a loop it names the turn."""
    found = _diagnosed(failure)
    at = next((place for place in reversed(failure.callers) if place.site.span == found.span), failure.place)
    when = _when(at)
    return replace(found, message=f"{when}, {found.message}") if when else found


def interrupted(failure: Failure) -> str:
    """The place in a loop where a program was stopped: "in turn 3 (i = 2) of the loop at x.rx:4:9"."""
    places = [place for place in (*failure.callers, failure.place) if place.turns]
    return "; ".join(f"{_when(place)} of {_loop_at(place)}" for place in reversed(places))


def _loop_at(place: Place) -> str:
    span = place.turns[-1].loop.span
    return f"the loop at {span.source.place(span.start)}"


def _when(place: Place) -> str:
    """ "in turn 3 (j = 2), in turn 1 (i = 0)": the turns of the loops around a place, innermost first, at most three."""
    step = place.site.step
    moment = step.moment if isinstance(step, StepCheck) else ""
    turns = [_turn(turn, "") for turn in reversed(place.turns)]
    if moment == "entry":
        turns.insert(0, "before the first turn")
    elif moment == "turn":
        turns[0] = _turn(place.turns[-1], "after")
    return ", ".join((*turns[:3], *(["..."] if len(turns) > 3 else [])))


def _turn(turn: TracedTurn, moment: str) -> str:
    if turn.done is None:
        return "before the first turn"
    name = turn.loop.name
    index = "" if name is None or name.endswith(core.UNSAID) else f" ({name} = {turn.index})"
    return f"{moment or ('before' if turn.is_condition else 'in')} turn {turn.done + 1}{index}"


def _diagnosed(failure: Failure) -> Diagnostic:
    problem, site, step = failure.problem, failure.site, failure.site.step
    if isinstance(problem, ExternError):
        return _extern(failure, str(problem))
    if isinstance(problem, RecursionError | MemoryError):
        return _exhausted(failure)
    if isinstance(problem, NoneFits):
        return _none_fits(failure, problem)
    if isinstance(step, StepCheck | Match):
        return _check(failure, step)
    if isinstance(step, Compute):
        broken = problem if isinstance(problem, Violation) else _broken(failure, step)
        return _kernel(failure, step) if broken is None else _violation(failure, broken, step)
    if isinstance(step, Stack) and not isinstance(problem, Undefined):
        return _stack(failure, step)
    if isinstance(step, Branch) and not isinstance(step.cond, core.BoolExpr):
        return _kernel(failure, step)
    if isinstance(step, LoopStep) and not isinstance(step.test, core.BoolExpr) and not isinstance(problem, Undefined):
        return _kernel(failure, step)
    if isinstance(step, Bind) and not step.sure:
        return _taken_apart(failure, step)
    if isinstance(problem, Violation):
        message = f"the function that is called here needs {problem}"
    else:
        message = str(problem) if isinstance(problem, Undefined) else "a size cannot be computed here"
    return error(codes.R401, message, site.span, function=_function(site), labels=_chain(failure, site.span))


def met(failure: Failure) -> tuple[Met, ...]:
    """The arguments of the functions that led to a failure, innermost first; each function once."""
    found: dict[str, Met] = {}
    for site, given in zip((failure.site, *reversed(failure.calls)), reversed(failure.given), strict=True):
        name = site.shown
        sizes = {unmangled(slot): seen for slot, value in given.items() if (seen := _seen(value)) is not None}
        if site.span.source is not NOWHERE.source:
            found.setdefault(name, Met(name, site.span, sizes))
    return tuple(found.values())


def _seen(value: RunValue) -> tuple[tuple[int, ...], str] | int | None:
    """The summary of a value: a tensor's type, a size itself, or None."""
    if isinstance(value, np.ndarray | np.generic):
        return tuple(value.shape), dtype_name(value.dtype)
    return value if type(value) is int else None


# Checks


def _check(failure: Failure, step: StepCheck | Match) -> Diagnostic:
    """Return the diagnostic of a failed check. If a callee's check runs before its call, the condition uses the caller's
    names and the annotation the callee's."""
    check = step.check
    origin, declared, problem = check.origin, check.origin.declared, failure.problem
    env = _named(step.names, failure.values)
    call, given = (step.call, step.given) if isinstance(step, StepCheck) else (None, ())
    outer = env if call is None else _named(given, failure.values)
    message = assertion(check, env, outer)
    if isinstance(problem, Undefined) and str(problem) not in message:
        message += f" ({problem})"
    at = call.span if call is not None else _calls_span(origin, failure)
    span = at or origin.span
    labels = _chain(failure, span)
    if at is not None:
        asker = f"@{declared.function}" if declared is not None and declared.function else "the callee"
        labels = (Label(origin.span, f"{asker} asks for it here"), *labels)
    argument = _argument(call, given, declared.tensor) if call is not None and declared is not None else ""
    found = values(check, outer)
    where = ", ".join(f"{name} is {axis}" for name, axis in declared.axes) if declared is not None else ""
    return error(
        codes.R401, message, span, caption=where or found_and_wanted(declared, outer, argument), labels=labels,
        notes=() if origin.text.isidentifier() or found in message else (f"here {found}",), function=_function(failure.site),
    )  # fmt: skip


def _stack(failure: Failure, step: Stack) -> Diagnostic:
    """Return the diagnostic of a stacked value whose shape differs from the first turn's."""
    value, before = failure.values[step.value], failure.values.get(step.output)
    first = before[0] if before is not None and len(before) else value
    what = f"`{step.name}`" if step.span.text.startswith(step.name) else "the value of each turn"
    message = f"{what} needs one shape in all turns: it was {describe(first)} in turn 1, but it is {describe(value)}"
    labels = _chain(failure, step.span)
    return error(codes.R401, message, step.span, labels=labels, function=_function(failure.site))


def _named(names: Names, slots: Mapping[str, object]) -> Namespace:
    return {name: slots[slot] for name, slot in names if slot in slots}


def _calls_span(origin: core.Origin, failure: Failure) -> Span | None:
    """The span of the call whose entry check failed, if the program itself made the call."""
    declared = origin.declared
    if declared is None or declared.kind != "param":
        return None
    caller = _caller(failure)
    return caller.span if caller is not None else None


def _argument(call: core.Call, given: Names, param: str) -> str:
    """The argument as the caller wrote it, if that is short."""
    names = [name for name, _ in given]
    if param not in names or len(names) != len(call.args):
        return ""
    text = call.args[names.index(param)].value.span.text
    return f"`{text}`" if len(text) <= 24 and "\n" not in text else "the argument"


# Primitives, externs, resources


def _violation(failure: Failure, problem: Violation, step: Compute) -> Diagnostic:
    """Return the diagnostic of a failed precondition, in the words of the static check."""
    operands = RunOperands(step, failure.values, problem.asked)
    message = ", but ".join(filter(None, sentence(problem.asked, operands)))
    return error(
        codes.R401, f"{operation(operands)} needs {message}", step.span, caption=_given_types(step, failure.values),
        labels=_chain(failure, step.span), function=_function(failure.site),
    )  # fmt: skip


class RunOperands:
    """The operands of a primitive's call, with the methods that `ops/wording.py` uses."""

    def __init__(self, step: Compute, slots: Mapping[str, object], asked: Requirement | None = None) -> None:
        self.span, self.name, self.row = step.span, step.row.name, step.row
        bound = bind(step.row, step.call)
        self.written = tuple((param.name, value) for param, value in bound if value is not None)
        self.values: Namespace = dict(_given(step, slots))
        # An expression in the generated code has no local of its own: the requirement has its size.
        asked_of = [part for quantity in quantities(asked) for part in parts(quantity)] if asked is not None else []
        self.sizes = {(p.param, p.axis): p.size for p in asked_of if isinstance(p, Axis | SizeEntry)}
        given = dict(self.written)
        self.values |= {
            p.param: p.size for p in asked_of if isinstance(p, Argument) and p.size is not None and p.param in given
        }

    @property
    def is_indexing(self) -> bool:
        return is_indexing(self)

    def is_tensor(self, name: str) -> bool:
        return self.row.is_tensor(name)

    def argument(self, param: str) -> str:
        return argument(self, param)

    def _shape(self, param: str) -> tuple[RunValue, ...] | None:
        value = self.values.get(param)
        shape = value if isinstance(value, tuple) else getattr(value, "shape", None)
        return shape if shape is not None and all(type(size) is int for size in shape) else None

    def rank(self, param: str) -> int | None:
        shape = self._shape(param) if self.is_tensor(param) else None
        return None if shape is None else len(shape)

    def size(self, param: str, axis: int) -> str | None:
        shape = self._shape(param)
        known = shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else self.sizes.get((param, axis))
        return None if known is None else str(known)

    def scalar(self, param: str) -> str | None:
        value = self.values.get(param)
        return str(value) if isinstance(value, int | float) else None

    def text(self, size: object) -> str | None:
        return str(size)

    def elements(self, param: str) -> str | None:
        shape = self._shape(param)
        return None if shape is None or any(size < 0 for size in shape) else str(prod(shape))

    def dtype(self, param: str) -> str | None:
        found = getattr(self.values.get(param), "dtype", None)
        return None if found is None else dtype_name(found)

    def dtypes(self) -> Sequence[str | None]:
        return [
            self.dtype(param) for param, value in self.values.items() if hasattr(value, "dtype") and "[" not in param
        ]


def _kernel(failure: Failure, step: Compute | Branch | LoopStep) -> Diagnostic:
    message = f"@{_callee(failure.site)} failed: {_reason(failure.problem)}"
    return error(
        codes.R402, message, step.span, caption=_given_types(step, failure.values), labels=_chain(failure, step.span),
        function=_function(failure.site),
    )  # fmt: skip


def _broken(failure: Failure, step: Compute) -> Violation | None:
    """Return the violated precondition that is too rare to be guarded, or None: the result has more axes than an array may
    have."""
    if isinstance(failure.problem, BadValue) or not isinstance(failure.problem, ValueError):
        return None  # its elements are wrong
    pairs = list(zip(step.row.params, step.inputs, strict=True))
    args = [p.default if o is None else _value(o, failure.values) for p, o in pairs]
    if any(a is None and o is not None for a, o in zip(args, step.inputs, strict=True)):
        return None
    if not all(isinstance(a.dtype, np.dtype) for a in args if hasattr(a, "dtype")):
        return None  # an engine's own arrays
    try:
        guard(step.row, args)
    except Violation as problem:
        return problem
    return None


def _taken_apart(failure: Failure, step: Bind) -> Diagnostic:
    """Return the diagnostic of a tuple whose number of parts differs from the number of names."""
    [whole] = failure.values.values()
    message = core.other_number(len(whole), len(step.output))
    return error(codes.R402, message, step.span, labels=_chain(failure, step.span), function=_function(failure.site))


# The beginnings of NumPy's messages for an array with too many elements.
_TOO_LARGE = ("array is too big", "Maximum allowed dimension", "iterator is too large")


def _reason(problem: BaseException) -> str:
    """The reason in our words: NumPy's messages name arguments that the user does not see."""
    if isinstance(problem, BadValue):
        return str(problem)
    if isinstance(problem, OverflowError):
        return "a number does not fit its dtype"
    is_too_large = str(problem).startswith(_TOO_LARGE)
    return "its result is larger than an array can be" if is_too_large else "its operands do not fit"


def _given_types(step: Step | None, slots: Mapping[str, object]) -> str:
    """ "`x` is Tensor([2, 3], float32), `y` is Tensor([4, 5], float32)"."""
    if not isinstance(step, Compute):
        return ""
    operands, parts = RunOperands(step, slots), []
    for name, value in _given(step, slots):
        shown = operands.argument(name)
        if isinstance(value, np.dtype):
            parts.append(f"{shown} is {dtype_name(value)}")
        elif hasattr(value, "shape"):
            parts.append(f"{shown} is {describe(value)}")
        elif isinstance(value, tuple):
            parts.append(f"{shown} is {list(value)}")
        elif type(value) in (int, float) and not any(c.isalpha() for c in repr(value)):
            parts.append(f"{shown} is {value!r}")
    return ", ".join(parts)


def _given(step: Compute, slots: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The operands with their values; each tensor of a list by itself, as `xs[0]`."""
    for param, operand in zip(step.row.params, step.inputs, strict=True):
        value = _value(operand, slots) if operand is not None else None
        if isinstance(value, tuple) and any(hasattr(item, "shape") for item in value):
            yield from ((f"{param.name}[{n}]", item) for n, item in enumerate(value))
        elif value is not None:
            yield param.name, value


def _value(operand: core.Value, slots: Mapping[str, object]) -> RunValue:
    """An operand's value if it is in a slot or a literal; None for a computed one."""
    match operand:
        case core.Number(value=value) | core.SizeLit(value=value):
            return value
        case core.DTypeLit(dtype=dtype):
            return numpy_dtype(dtype)
        case core.Var(name=slot) | core.SizeVar(name=slot) | core.ShapeVar(name=slot) | core.DTypeVar(name=slot):
            return slots.get(slot)
        case core.ShapeLit(dims=items):
            parts = [slots.get(d.name) if isinstance(d, core.Splice) else (_value(d, slots),) for d in items]
            sizes = tuple(size for part in parts for size in (part if isinstance(part, tuple) else (None,)))
            return None if None in sizes else sizes
        case core.ListValue(items=items) | core.TupleValue(items=items):
            values = tuple(_value(item, slots) for item in items)
            return None if any(value is None for value in values) else values
        case (
            core.FnRef()
            | core.TensorLit()
            | core.Load()
            | core.Text()
            | core.Call()
            | core.If()
            | core.Loop()
            | core.Lambda()
        ):
            return None
    return _computed(operand)


def _computed(operand: core.ShapeLevel) -> None:
    """Return None: a computed operand has no value to show."""


def _extern(failure: Failure, text: str) -> Diagnostic:
    call = _caller(failure)
    span = call.span if call is not None else failure.site.span
    message = text if text.startswith("@") else f"@{_callee(failure.site)} failed: {text}"
    return error(codes.R403, message, span, labels=_chain(failure, span), function=_function(call or failure.site))


def _exhausted(failure: Failure) -> Diagnostic:
    problem, site = failure.problem, failure.site
    if isinstance(problem, MemoryError):
        what = f"@{_callee(site)}" if isinstance(site.step, Compute) else _function(site)
        detail = str(problem).strip().split("\n")[0]
        message = f"{what} needs more memory than there is" + (f": {detail}" if detail else "")
        caption = _given_types(site.step, failure.values)
        return error(codes.R402, message, site.span, caption=caption, function=_function(site))
    trail = (*failure.calls, site)
    first = _recursing(trail)
    name = _callee(first) if _is_call(first) and not first.within else first.shown
    message = f"@{name} calls itself too deeply"
    return error(codes.R402, message, first.span, function=_function(first))


def _none_fits(failure: Failure, problem: NoneFits) -> Diagnostic:
    """Return the diagnostic of a list of implementations none of which fits, with a note for each."""
    site, call = failure.site, _caller(failure)
    span = call.span if call is not None else site.span
    notes = tuple(_unfit(name, reason) for name, reason in problem.reasons)
    message = f"no implementation of @{_callee(site)} fits this call"
    return error(codes.R401, message, span, notes=notes, labels=_chain(failure, span), function=_function(call or site))


def _unfit(name: str, reason: BaseException) -> str:
    """The reason why an implementation does not fit."""
    if isinstance(reason, Violation):
        return f"@{name} needs {reason}"
    found = failure_of(reason)
    return diagnose(found).message if found is not None else f"@{name} does not take this"


def _recursing(trail: Sequence[StepSite]) -> StepSite:
    """The first call of the function that is called most often: it calls itself, directly or through others."""
    calls = [s for s in trail if _is_call(s) and not s.within]
    if not calls:
        return trail[0]
    times = Counter(map(_callee, calls))
    most = max(times.values())
    # The counts of functions that call each other differ by one.
    return next(s for s in calls if times[_callee(s)] >= max(most - 1, 1) and times[_callee(s)] * 2 > most)


# The calls that led there


def _is_call(site: StepSite) -> bool:
    return isinstance(site.step, Invoke) and site.step.way != "extern"


def _callee(site: StepSite) -> str:
    """The name of a step's callee; the function's own name if it makes its own checks."""
    match site.step:
        case Compute(row=row):
            return row.name
        case Invoke(callee=callee):
            return callee
        case Branch():
            return "if"
        case LoopStep():
            return "while"
    return site.function


def _caller(failure: Failure) -> StepSite | None:
    """The call in the program whose entry check contains the check, or None."""
    inner = failure.site.function
    calls = filter(_is_call, reversed(failure.calls))
    return next((site for site in calls if site.function != inner or _callee(site) == inner), None)


def _chain(failure: Failure, primary: Span) -> tuple[Label, ...]:
    """The calls that led here, innermost first, at most three."""
    labels: list[Label] = []
    for place in reversed(failure.callers):
        site, when = place.site, _when(place)
        seen = site.span == primary or any(label.span == site.span for label in labels)
        if _is_call(site) and site.span.source is not NOWHERE.source and not seen and not site.within:
            there = f"called from here, in {_function(site)}"
            labels.append(CalledFrom(site.span, f"{there}, {when}" if when else there))
    return tuple(labels[:3])


def _function(site: StepSite) -> str:
    return f"@{site.shown}"
