"""An error of generated code to a diagnostic: which check or primitive it was, on which actual shapes, and who called it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from types import TracebackType

import numpy as np

from ..lang import core
from ..lang.diagnostics import Diagnostic, Label, error
from ..lang.source import NOWHERE, Span
from .compile import ExternError, Frame, frames
from .guards import Failed, Undefined, Violation, describe, dtype_name
from .kernels.registry import BadValue
from .words import found_and_wanted, sentence, values

# What a kernel, NumPy's conversions and a size expression may raise on values that do not fit.
RUNTIME_ERRORS = (
    Failed,
    Violation,
    ExternError,
    ArithmeticError,
    ValueError,
    IndexError,
    TypeError,
    MemoryError,
    RecursionError,
)


def diagnose(problem: BaseException, traceback: TracebackType | None) -> Diagnostic | None:
    """The diagnostic of an error that passed through generated code; None where it did not: that is a bug of ours."""
    trail = frames(traceback)
    if not trail:
        return None
    last = trail[-1]
    if isinstance(problem, ExternError):
        return _extern(problem, trail)
    if isinstance(problem, RecursionError | MemoryError):
        return _exhausted(problem, trail)
    if last.site.check is not None:
        return _check(problem, trail, last.site.check)
    if isinstance(problem, Violation):
        return _violation(problem, trail)
    if last.site.kind == "kernel":
        return _kernel(problem, trail)
    message = str(problem) if isinstance(problem, Undefined) else "a size cannot be computed here"
    return error("R401", message, last.site.span, function=_function(last), labels=_chain(trail, last.site.span))


# Checks


def _check(problem: BaseException, trail: Sequence[Frame], check: core.Assert | core.MatchShape) -> Diagnostic:
    """A check that does not hold. Of a callee's check that stands before its call, the condition speaks of the caller's names
    and the annotation of the callee's."""
    frame = trail[-1]
    origin, declared, site = check.origin, check.origin.declared, frame.site
    env = {name: frame.locals[local] for name, local in site.names if local in frame.locals}
    outer = env if site.call is None else {n: frame.locals[local] for n, local in site.given if local in frame.locals}
    message = sentence(check, env, outer)
    if isinstance(problem, Undefined) and str(problem) not in message:
        message += f" ({problem})"
    call = site.call.span if site.call is not None else _calls_span(origin, trail)
    span = call or origin.span
    labels = _chain(trail, span)
    if call is not None:
        asker = f"@{declared.function}" if declared is not None and declared.function else "the callee"
        labels = (Label(origin.span, f"{asker} asks for it here"), *labels)
    argument = (
        _argument(site.call, site.given, declared.tensor) if site.call is not None and declared is not None else ""
    )
    found = values(check, outer)
    return error(
        "R401", message, span, caption=found_and_wanted(declared, outer, argument), labels=labels,
        notes=() if origin.text.isidentifier() or found in message else (f"here {found}",), function=_function(frame),
    )  # fmt: skip


def _calls_span(origin: core.Origin, trail: Sequence[Frame]) -> Span | None:
    """For a check at a door: the call, if the program itself made it."""
    declared = origin.declared
    if declared is None or declared.kind != "param":
        return None
    caller = _caller(trail)
    return caller.site.span if caller is not None else None


def _argument(call: core.Call, given: Sequence[tuple[str, str]], param: str) -> str:
    """The argument as the caller wrote it, if that is short."""
    names = [name for name, _ in given]
    if param not in names or len(names) != len(call.args):
        return ""
    text = call.args[names.index(param)].value.span.text
    return f"`{text}`" if len(text) <= 24 and "\n" not in text else "the argument"


# Primitives, externs, resources


def _violation(problem: Violation, trail: Sequence[Frame]) -> Diagnostic:
    frame = trail[-1]
    found = _sizes_at(problem.at, frame)
    message = f"@{frame.site.callee} needs {problem.what}"
    if found and ", but" not in message:
        message += f", but {found}"
    span = frame.site.span
    return error(
        "R401", message, span, caption=_operands(frame), labels=_chain(trail, span), function=_function(frame)
    )  # fmt: skip


def _sizes_at(at: Sequence[tuple[str, int | None]], frame: Frame) -> str:
    """ "they are 3 and 4": the sizes at the conflicting axes."""
    operands = {name: value for name, _, value in _given(frame)}
    found = []
    for name, axis in at:
        operand = operands.get(name)
        shape = operand if isinstance(operand, tuple) else getattr(operand, "shape", None)
        if shape is not None and axis is not None and -len(shape) <= axis < len(shape):
            found.append(str(shape[axis]))
    if not found:
        return ""
    return f"it is {found[0]}" if len(found) == 1 else f"they are {', '.join(found[:-1])} and {found[-1]}"


# What Python says where `let (a, b) = ...` has the wrong number of names.
_UNPACKING = re.compile(r"(?:not enough|too many) values to unpack \(expected (\d+)(?:, got (\d+))?\)")


def _kernel(problem: BaseException, trail: Sequence[Frame]) -> Diagnostic:
    frame = trail[-1]
    operands = _operands(frame)
    wrong = _UNPACKING.match(str(problem))
    message = f"@{frame.site.callee} failed: {_reason(problem)}"
    if wrong:
        message = f"this gives {wrong[2] or 'more'} values; here are {wrong[1]} names"
    span = frame.site.span
    return error("R402", message, span, caption=operands, labels=_chain(trail, span), function=_function(frame))


def _reason(problem: BaseException) -> str:
    """What is wrong, in our words: NumPy's speak of arguments that the user does not see."""
    if isinstance(problem, BadValue):
        return str(problem)
    return "a number does not fit its dtype" if isinstance(problem, OverflowError) else "its operands do not fit"


def _operands(frame: Frame) -> str:
    """ "`x` is Tensor([2, 3], float32), `y` is Tensor([4, 5], float32)"."""
    parts = []
    for name, text, value in _given(frame):
        if isinstance(value, np.dtype):
            parts.append(f"`{name}` is {dtype_name(value)}")
        elif value is not None and hasattr(value, "shape"):
            parts.append(f"`{name}` is {describe(value)}")
        elif isinstance(value, int | tuple):
            parts.append(f"`{name}` is {list(value) if isinstance(value, tuple) else value}")
        elif not any(c.isalpha() for c in text):
            parts.append(f"`{name}` is {text}")
    return ", ".join(parts)


def _given(frame: Frame) -> Iterator[tuple[str, str, object]]:
    """The operands with their texts and values; of a list each tensor by itself, as `xs[0]`."""
    for name, text in frame.site.operands:
        value = _value(text, frame)
        if isinstance(value, tuple) and any(hasattr(item, "shape") for item in value):
            yield from ((f"{name}[{n}]", text, item) for n, item in enumerate(value))
        else:
            yield name, text, value


def _value(text: str, frame: Frame) -> object:
    """An operand by its text in the generated code: a local, an integer, or a tuple of those; None for anything else."""
    if text in frame.locals:
        return frame.locals[text]
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    return _literal(tree, frame)


def _literal(tree: ast.expr, frame: Frame) -> object:
    if isinstance(tree, ast.Name):
        return frame.locals.get(tree.id)
    if isinstance(tree, ast.Tuple):
        items = tuple(_literal(item, frame) for item in tree.elts)
        return None if any(item is None for item in items) else items
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub) and isinstance(tree.operand, ast.Constant):
        value = tree.operand.value
        return -value if type(value) is int else None
    if isinstance(tree, ast.Constant) and type(tree.value) is int:
        return tree.value
    return None


def _extern(problem: ExternError, trail: Sequence[Frame]) -> Diagnostic:
    frame = trail[-1]
    call = _caller(trail)
    span = call.site.span if call is not None else frame.site.span
    text = str(problem)
    message = text if text.startswith("@") else f"@{frame.site.callee} failed: {text}"
    return error("R403", message, span, labels=_chain(trail, span), function=_function(frame, call))


def _exhausted(problem: BaseException, trail: Sequence[Frame]) -> Diagnostic:
    if isinstance(problem, MemoryError):
        frame = trail[-1]
        what = f"@{frame.site.callee}" if frame.site.kind == "kernel" else f"@{frame.function}"
        detail = str(problem).strip().split("\n")[0]
        message = f"{what} needs more memory than there is" + (f": {detail}" if detail else "")
        return error("R402", message, frame.site.span, caption=_operands(frame), function=_function(frame))
    frame = next((f for f in trail if f.site.kind == "call"), trail[0])
    message = f"@{frame.callee or frame.function} calls itself too deeply"
    return error("R402", message, frame.site.span, function=_function(frame))


# The way there


def _caller(trail: Sequence[Frame]) -> Frame | None:
    """The call, somewhere in the program, at whose door the last frame's check stands."""
    inner = trail[-1].site.function
    for frame in reversed(trail[:-1]):
        if frame.site.kind == "call" and frame.site.function != inner:
            return frame
        if frame.site.kind == "call" and frame.site.callee == inner:
            return frame
    return None


def _chain(trail: Sequence[Frame], primary: Span) -> tuple[Label, ...]:
    """The calls that led here, innermost first, at most three of them."""
    labels: list[Label] = []
    for frame in reversed(trail[:-1]):
        span = frame.site.span
        seen = span == primary or any(label.span == span for label in labels)
        if frame.site.kind == "call" and span.source is not NOWHERE.source and not seen and _is_written(frame):
            labels.append(Label(span, f"called from here, in @{frame.function}"))
    return tuple(labels[:3])


def _is_written(frame: Frame) -> bool:
    """Whether the user wrote the call: a wrapper's call of its own implementation is ours."""
    return frame.site.callee == frame.callee


def _function(frame: Frame, call: Frame | None = None) -> str:
    return f"@{(call or frame).function}"
