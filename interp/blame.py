"""An error of generated code to a diagnostic: which check or primitive it was, on which actual shapes, and who called it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from ..lang import core
from ..lang.diagnostics import Diagnostic, Label, error
from ..lang.source import NOWHERE, Span
from .compile import ExternError, Frame, frames
from .guards import Failed, Undefined, Violation, describe, dtype_name
from .source import BOOL_LEVEL, DTYPE_LEVEL, SHAPE_LEVEL, SIZE_LEVEL

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
_AGREEMENTS = {"==": "to be", "<=": "to be at most", ">=": "to be at least", "<": "to be below", ">": "to be above"}


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
    frame = trail[-1]
    env = {name: frame.locals[local] for name, local in frame.site.names if local in frame.locals}
    origin, declared = check.origin, check.origin.declared
    if frame.site.call is not None:
        return _callee_check(problem, trail, check, env, frame.site.call)
    message = _sentence(check, env, env, frame.site.function)
    if isinstance(problem, Undefined) and "a size" not in message:
        message = f"{message} ({problem})" if str(problem) not in message else message
    values = _values(check, env)
    span, caption, labels = origin.span, _found(declared, env), _chain(trail, origin.span)
    call = _caller(trail)
    if declared is not None and declared.kind == "param" and call is not None:
        span = call.site.span
        labels = (Label(origin.span, f"@{_shown(declared.function)} asks for it here"), *_chain(trail, span))
    elif origin.what == "where" and call is not None:
        span, labels = call.site.span, (Label(origin.span, "asked for here"), *_chain(trail, call.site.span))
    notes = (f"here {values}",) if values and values not in message else ()
    return error(
        "R401", message, span, caption=caption, labels=labels, notes=notes, function=_function(frame, call)
    )  # fmt: skip


def _callee_check(
    problem: BaseException,
    trail: Sequence[Frame],
    check: core.Assert | core.MatchShape,
    env: Mapping[str, Any],
    call: core.Call,
) -> Diagnostic:
    """A check of a callee's parameter that stands before the call: its condition speaks of the caller's names, its annotation
    of the callee's."""
    frame = trail[-1]
    given = {name: frame.locals[local] for name, local in frame.site.given if local in frame.locals}
    declared, origin = check.origin.declared, check.origin
    assert declared is not None
    function = declared.function or ""
    message = _sentence(check, env, given, function)
    if isinstance(problem, Undefined) and str(problem) not in message:
        message = f"{message} ({problem})"
    values = _values(check, given)
    notes = (f"here {values}",) if values and values not in message else ()
    labels = (Label(origin.span, f"@{_shown(function)} asks for it here"), *_chain(trail, call.span))
    caption = _found(declared, given, _argument(call, frame.site.given, declared.tensor))
    return error(
        "R401", message, call.span, caption=caption, labels=labels, notes=notes, function=_function(frame)
    )  # fmt: skip


def _sentence(
    check: core.Assert | core.MatchShape, env: Mapping[str, Any], outer: Mapping[str, Any], function: str
) -> str:
    """What was asked, and what was found; `env` has the names of the condition, `outer` those of the annotation."""
    origin, declared = check.origin, check.origin.declared
    text = origin.text or origin.span.text
    if isinstance(check, core.MatchShape):
        who, what = _who(declared, f"@{function}", check.tensor)
        pattern = _spelling(declared) or f"[{text}]"
        return f"{who} needs {what}to fit {pattern}, but it is {describe(env.get(check.tensor))}"
    if check.message:
        return f"assertion failed: {check.message}"
    if origin.what in ("assert", "where") or declared is None:
        lead = f"@{_shown(function)} requires" if origin.what == "where" else "assertion failed:"
        if origin.what == "obligation":
            lead = "this needs"
        values = _values(check, outer)
        return f"{lead} `{text}`" + (f", but {values}" if values else "")
    return _part(check, declared, env, _subject(check, env, outer.get(declared.tensor)), text)


def _subject(check: core.Assert, env: Mapping[str, Any], otherwise: Any) -> Any:
    """The tensor that a condition about a rank, a dimension or a dtype speaks of: the first one in it."""
    accesses = _accesses(check)
    return env.get(accesses[0].tensor, otherwise) if accesses else otherwise


def _part(check: core.Assert, declared: core.Declared, env: Mapping[str, Any], tensor: Any, text: str) -> str:
    """The sentence about a rank, a dimension or a dtype that an annotation asks for."""
    origin = check.origin
    shape = getattr(tensor, "shape", ())
    match origin.what:
        case "rank":
            who, what = _who(declared, "", "")
            rank = _evaluate(check.cond.right, env) if isinstance(check.cond, core.Compare) else None
            wanted = text if rank is None else str(rank)
            return f"{who} needs {what}to have rank {wanted}, but it has rank {len(shape)}"
        case "dtype":
            who, what = _who(declared, "", "")
            wanted, found = _wanted_dtype(check.cond, env, text), dtype_name(getattr(tensor, "dtype", None))
            return f"{who} needs {what}to be {wanted}, but it is {found}"
        case "dim" if origin.axis is not None and -len(shape) <= origin.axis < len(shape):
            who, what = _who(declared, "", "", f"axis {origin.axis}")
            return f"{who} needs {what}{_relation(check.cond, env, text)}, but it is {shape[origin.axis]}"
        case "dim" if origin.axis is not None:
            who, what = _who(declared, "", "")
            return f"{who} needs {what}to have an axis {origin.axis}, but it has rank {len(shape)}"
    who, what = _who(declared, "", "")
    return f"{who} needs {what}to fit `{text}`, but it is {describe(tensor)}"


def _who(declared: core.Declared | None, function: str, tensor: str, part: str = "") -> tuple[str, str]:
    """Who asks, and of what: ("@ff", "axis 1 of `x` "), ("the result of @ff", "axis 1 ")."""
    if declared is None:
        return "match_shape", f"`{tensor}` "
    quoted = declared.subject if declared.subject.startswith("the ") else f"`{declared.subject}`"
    if declared.kind == "param" and declared.function:
        return f"@{_shown(declared.function)}", f"{part} of {quoted} " if part else f"{quoted} "
    if declared.kind == "match_shape":
        return "match_shape", f"{part} of {quoted} " if part else f"{quoted} "
    return quoted, f"{part} " if part else ""


def _relation(cond: core.BoolExpr, env: Mapping[str, Any], text: str) -> str:
    """ "to be a multiple of 4", "to be n = 5": what a dimension has to be, with the value that is wanted."""
    match cond:
        case core.Compare(op="==", left=core.SizeOp(op="%", right=core.SizeLit(value=k)), right=core.SizeLit(value=0)):
            return f"to be a multiple of {k}"
        case core.Compare(op=op, right=right) if op in _AGREEMENTS and isinstance(right, SIZE_LEVEL):
            value = _evaluate(right, env)
            if value is None or str(value) == text:
                return f"{_AGREEMENTS[op]} {text}"
            return f"{_AGREEMENTS[op]} {value}" if text.isdigit() else f"{_AGREEMENTS[op]} {text} = {value}"
    return f"to be {text}"


def _wanted_dtype(cond: core.BoolExpr, env: Mapping[str, Any], text: str) -> str:
    if isinstance(cond, core.Compare) and isinstance(cond.right, DTYPE_LEVEL):
        value = _evaluate(cond.right, env)
        name = dtype_name(value) if value is not None else text
        return name if name == text or not text.isidentifier() else f"{text} = {name}"
    return text


def _argument(call: core.Call, given: Sequence[tuple[str, str]], param: str) -> str:
    """The argument as the caller wrote it, if that is short."""
    names = [name for name, _ in given]
    if param not in names or len(names) != len(call.args):
        return ""
    text = call.args[names.index(param)].value.span.text
    return f"`{text}`" if len(text) <= 24 and "\n" not in text else "the argument"


def _found(declared: core.Declared | None, env: Mapping[str, Any], argument: str = "") -> str:
    """ "`x` is Tensor([8, 15], int8), the parameter is Tensor([n, m * 4], int8)"."""
    if declared is None or declared.tensor not in env:
        return ""
    spelling = _spelling(declared)
    noun = "the parameter is" if declared.kind == "param" else "declared"
    subject = argument or (declared.subject if declared.subject.startswith("the ") else f"`{declared.subject}`")
    found = f"{subject} is {describe(env[declared.tensor])}"
    return f"{found}, {noun} {spelling}" if spelling else found


def _spelling(declared: core.Declared | None) -> str:
    """The annotation as the user wrote it, on one line."""
    if declared is None:
        return ""
    span = declared.type.span if declared.type is not None else declared.span
    return " ".join(span.text.split())


def _values(check: core.Assert | core.MatchShape, env: Mapping[str, Any]) -> str:
    """ "n = 5 and m = 3": the names of a condition with their values, as the user spelt them."""
    origin = check.origin
    text = origin.text or origin.span.text
    declared = origin.declared
    at_home = declared is not None and (not declared.tensor or declared.tensor in env)
    bound = dict(declared.bound) if declared is not None and at_home else {}
    found: dict[str, str] = {}
    for name in re.findall(r"[A-Za-z_]\w*'*", text):
        value = env[name] if name in env else _evaluate(bound[name], env) if name in bound else None
        if isinstance(value, int):
            found.setdefault(name, str(int(value)))
        elif value is not None and not hasattr(value, "shape"):
            found.setdefault(name, _show(value))
    for part in _accesses(check):
        spelt = _access_text(part)
        value = _evaluate(part, env)
        if spelt in text and value is not None:
            found.setdefault(spelt, _show(value))
    shown = [f"{name} = {value}" for name, value in found.items()]
    return ", ".join(shown[:-1]) + (" and " if len(shown) > 1 else "") + shown[-1] if shown else ""


def _show(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value) if isinstance(value, int | bool) else dtype_name(value)


def _accesses(node: Any) -> list[Any]:
    """The `x.dim(0)`, `x.rank` and `x.dtype` of a condition."""
    match node:
        case core.DimOf() | core.RankOf() | core.DTypeOf():
            return [node]
        case core.Assert(cond=cond):
            return _accesses(cond)
        case core.Compare(left=a, right=b) | core.Logic(left=a, right=b) | core.SizeOp(left=a, right=b):
            return _accesses(a) + _accesses(b)
        case core.Not(operand=a) | core.InClass(item=a):
            return _accesses(a)
        case core.ShapeLit(dims=dims):
            return [part for d in dims for part in _accesses(d)]
    return []


def _access_text(part: core.DimOf | core.RankOf | core.DTypeOf) -> str:
    if isinstance(part, core.DimOf):
        return f"{part.tensor}.dim({part.axis})"
    return f"{part.tensor}.{'rank' if isinstance(part, core.RankOf) else 'dtype'}"


def _evaluate(e: Any, env: Mapping[str, Any]) -> Any:
    """A shape-level expression under actual values; None where it has none."""
    try:
        return evaluate(e, env)
    except (ArithmeticError, LookupError, AttributeError, TypeError):
        return None


def evaluate(e: Any, env: Mapping[str, Any]) -> Any:
    """A Size, Shape or DType expression over the values of its names."""
    match e:
        case core.SizeLit(value=value) | core.BoolConst(value=value):
            return value
        case core.SizeVar(name=n) | core.ShapeVar(name=n) | core.DTypeVar(name=n) | core.BoolVar(name=n):
            return env[n]
        case core.RankOf(tensor=n):
            return env[n].ndim
        case core.DimOf(tensor=n, axis=axis):
            return env[n].shape[axis]
        case core.ShapeOf(tensor=n):
            return env[n].shape
        case core.DTypeOf(tensor=n):
            return env[n].dtype
        case core.DTypeLit(dtype=dtype):
            from .dtypes import numpy_dtype

            return numpy_dtype(dtype)
        case core.ShapeLit(dims=dims):
            return tuple(
                v
                for d in dims
                for v in (env[d.name] if isinstance(d, core.Splice) else (evaluate(d, env),))
            )  # fmt: skip
        case core.SizeOp(op=op, left=left, right=right):
            return operate(op, evaluate(left, env), evaluate(right, env))
    raise LookupError(type(e).__name__)


def operate(op: str, a: int, b: int) -> int:
    from .guards import ceildiv, exact, floor, modulo

    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
    return {"//": floor, "%": modulo, "/": exact, "ceildiv": ceildiv}[op](a, b)


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
    operands = {name: frame.locals.get(text) for name, text in frame.site.operands}
    found = []
    for name, axis in at:
        shape = getattr(operands.get(name), "shape", None)
        if shape is not None and axis is not None and -len(shape) <= axis < len(shape):
            found.append(str(shape[axis]))
    if not found:
        return ""
    return f"it is {found[0]}" if len(found) == 1 else f"they are {', '.join(found[:-1])} and {found[-1]}"


def _kernel(problem: BaseException, trail: Sequence[Frame]) -> Diagnostic:
    frame = trail[-1]
    operands = _operands(frame)
    reason = str(problem).strip().split("\n")[0] or type(problem).__name__
    message = f"@{frame.site.callee} failed: {reason}"
    span = frame.site.span
    return error("R402", message, span, caption=operands, labels=_chain(trail, span), function=_function(frame))


def _operands(frame: Frame) -> str:
    """ "`x` is Tensor([2, 3], float32), `y` is Tensor([4, 5], float32)"."""
    parts = []
    for name, text in frame.site.operands:
        value = frame.locals.get(text)
        if value is not None and hasattr(value, "shape"):
            parts.append(f"`{name}` is {describe(value)}")
        elif isinstance(value, int | tuple):
            parts.append(f"`{name}` is {_show(value)}")
        elif not any(c.isalpha() for c in text):
            parts.append(f"`{name}` is {text}")
    return ", ".join(parts)


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
        what = f"@{frame.site.callee}" if frame.site.kind == "kernel" else f"@{_shown(frame.site.function)}"
        detail = str(problem).strip().split("\n")[0]
        message = f"{what} needs more memory than there is" + (f": {detail}" if detail else "")
        return error("R402", message, frame.site.span, caption=_operands(frame), function=_function(frame))
    frame = next((f for f in trail if f.site.kind == "call"), trail[0])
    message = f"@{_shown(frame.site.callee or frame.site.function)} calls itself too deeply"
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
            labels.append(Label(span, f"called from here, in @{_shown(frame.site.function)}"))
    return tuple(labels[:3])


def _is_written(frame: Frame) -> bool:
    """Whether the user wrote the call: a wrapper's call of its own implementation is ours."""
    return frame.site.callee.rstrip("'") != frame.site.function + "_impl"


def _shown(function: str | None) -> str:
    """A function's name as the user knows it."""
    name = (function or "").rstrip("'")
    return name.removesuffix("_impl")


def _function(frame: Frame, call: Frame | None = None) -> str:
    return "@" + _shown((call or frame).site.function)


__all__ = ["RUNTIME_ERRORS", "diagnose", "evaluate", "BOOL_LEVEL", "SHAPE_LEVEL"]
