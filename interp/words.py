"""The words for a check that failed: what was asked, in the user's spelling, and what was found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import numpy as np

from ..lang import core
from ..lang.offsets import offset
from ..lang.walk import walk
from .dtypes import numpy_dtype
from .guards import Undefined, ceildiv, describe, dtype_name, exact, floor, modulo

Values = Mapping[str, Any]
_BOUNDS = {"<=": "at most", ">=": "at least", "<": "below", ">": "above"}


def sentence(check: core.Assert | core.MatchShape, env: Values, outer: Values) -> str:
    """What was asked and what was found; `env` has the names of the condition, `outer` those of the annotation."""
    origin, declared = check.origin, check.origin.declared
    text = origin.text or origin.span.text
    if isinstance(check, core.MatchShape):
        who, subject = _speaker(origin, declared, check.tensor)
        pattern = f"[{', '.join(_dim_text(d) for d in check.dims)}]"
        return f"{who} needs {subject} to have a shape like {pattern}, but it is {describe(env.get(check.tensor))}"
    if origin.what == "where":
        found = values(check, outer)
        who = f"@{declared.function}" if declared is not None and declared.function else "the signature"
        return f"{who} needs `{text}` to hold" + (f", but {found}" if found else "")
    if declared is None or origin.what not in ("rank", "dim", "dtype", "shape"):
        found = values(check, outer)
        reason = f" ({check.message})" if check.message else ""
        return f"`{text}` does not hold{reason}" + (f": {found}" if found else "")
    subject = _subject(check, env, outer.get(declared.tensor))
    return _part(check, declared, env, subject, _named(check, env, outer, declared.tensor), text)


def _dim_text(dim: core.SizeExpr | core.Splice) -> str:
    return f"*{dim.name}" if isinstance(dim, core.Splice) else " ".join(dim.span.text.split())


def _speaker(origin: core.Origin, declared: core.Declared | None, tensor: str) -> tuple[str, str]:
    """Who asks, and of what: ("@ff", "`x`"), ("@ff", "its result"), ("the annotation", "`y`")."""
    if declared is None:
        return "match_shape", f"`{tensor}`"
    maker, _, item = declared.subject.partition(", ")
    if maker == "the result" or maker.startswith("the result of "):
        who = maker.removeprefix("the result of ") if maker != "the result" else "the function value"
        return who, f"{item} of its result" if item else "its result"
    if declared.kind == "param" and declared.function:
        return f"@{declared.function}", f"`{declared.subject}`"
    who = "match_shape" if declared.kind == "match_shape" else "the annotation" if origin.claim else "the assertion"
    return who, f"`{declared.subject}`"


def _subject(check: core.Assert, env: Values, otherwise: Any) -> Any:
    """The tensor that a condition about a rank, a dimension or a dtype speaks of: the first one in it."""
    found = _accesses(check.cond)
    return env.get(found[0].tensor, otherwise) if found else otherwise


def _named(check: core.Assert, env: Values, outer: Values, tensor: str) -> str:
    """What a condition calls the annotated tensor: where it was decided for a call, it speaks of the argument."""
    if outer is env or tensor not in outer:
        return tensor
    return next((a.tensor for a in _accesses(check.cond) if env.get(a.tensor) is outer[tensor]), tensor)


def _part(check: core.Assert, declared: core.Declared, env: Values, tensor: Any, name: str, text: str) -> str:
    """The sentence about the rank, a dimension, the dtype or the shape that an annotation asks for; `name` is what its
    condition calls the tensor."""
    origin, cond = check.origin, check.cond
    who, subject = _speaker(origin, declared, declared.tensor)
    shape: tuple[int, ...] = getattr(tensor, "shape", ())
    wanted = _evaluate(cond.right, env) if isinstance(cond, core.Compare) else None
    match origin.what:
        case "rank":
            rank = text if wanted is None else str(wanted)
            return f"{who} needs {subject} to have rank {rank}, but it has rank {len(shape)}"
        case "dtype":
            found = dtype_name(getattr(tensor, "dtype", None))
            value = text if wanted is None else dtype_name(wanted)
            return f"{who} needs {subject} to have dtype {_spelt(value, text)}, but it has {found}"
        case "shape":
            value = text if wanted is None else _shown(wanted)
            return f"{who} needs {subject} to have shape {_spelt(value, text)}, but it has {_shown(tuple(shape))}"
    axis = origin.axis
    if axis is None or not -len(shape) <= axis < len(shape):
        return f"{who} needs {subject} to have an axis {axis}, but it has rank {len(shape)}"
    if isinstance(cond, core.Compare) and cond.op == ">=" and not _is_of(cond.left, name, axis):
        factor = cond.left.span.text or text
        found = _evaluate(cond.left, env)
        needs = f"{who} needs axis {axis} of {subject} to fit `{text}`, whose factor {factor} has to be at least 1"
        return needs if found is None else f"{needs}, but it is {found}"
    wanted = _relation(cond, env, text, name, axis)
    return f"{who} needs axis {axis} of {subject} {wanted}, but it is {shape[axis]}"


def _is_of(expr: core.ShapeLevel, tensor: str, axis: int) -> bool:
    """Whether an expression speaks of a dimension, and not only of others."""
    return any(isinstance(a, core.DimOf) and (a.tensor, a.axis) == (tensor, axis) for a in _accesses(expr))


def _spelt(value: str, text: str) -> str:
    """The value, and the name that the user gave it."""
    return value if value == text or not text else f"{value} (`{text}`)"


def _relation(cond: core.BoolExpr, env: Values, text: str, tensor: str, axis: int) -> str:
    """ "to be a multiple of 4", "to be 5 (`n`)": what a dimension has to be."""
    match cond:
        case core.Compare(op="==", left=core.SizeOp(op="%", left=left, right=divisor), right=core.SizeLit(value=0)):
            shift, by = _shift(left, env, tensor, axis), _evaluate(divisor, env)
            if shift is None or by is None or by < 1:
                return f"to fit `{text}`"
            rest = -shift[0] * shift[1] % by
            return f"to be {f'{rest} more than ' if rest else ''}a multiple of {by}"
        case core.Compare(op="==", right=right):
            value = _evaluate(right, env)
            return f"to be {text if value is None else _spelt(str(value), text)}"
        case core.Compare(op=">=", left=core.SizeOp() as left, right=core.SizeLit(value=0)):
            shift = _shift(left, env, tensor, axis)
            if shift is None:
                return f"to fit `{text}`"
            return f"to be at {'least' if shift[0] > 0 else 'most'} {-shift[0] * shift[1]}"
        case core.Compare(op=op, right=right) if op in _BOUNDS:
            value = _evaluate(right, env)
            return f"to be {_BOUNDS[op]} {text if value is None else value}"
    return f"to fit `{text}`"


def _shift(expr: core.SizeExpr, env: Values, tensor: str, axis: int) -> tuple[int, int] | None:
    """An expression as a dimension, or less a dimension, with the number that is added."""
    found = offset(expr, tensor, axis)
    terms = [(sign, _evaluate(term, env)) for sign, term in found.terms] if found is not None else []
    if found is None or any(value is None for _, value in terms):
        return None
    return found.sign, sum(sign * value for sign, value in terms)


def found_and_wanted(declared: core.Declared | None, env: Values, argument: str = "") -> str:
    """ "`a` is Tensor([8, 15], int8), the parameter is Tensor([3, m * 4], int8)", with what is known filled in."""
    if declared is None or declared.tensor not in env:
        return ""
    noun = "the parameter is" if declared.kind == "param" else "declared"
    subject = argument or (declared.subject if declared.subject.startswith("the ") else f"`{declared.subject}`")
    found = f"{subject} is {describe(env[declared.tensor])}"
    wanted = _filled(declared, env)
    return f"{found}, {noun} {wanted}" if wanted else found


def _filled(declared: core.Declared, env: Values) -> str:
    """The annotation as the user wrote it, with the names that were bound before it written as their values."""
    annotation = declared.annotation
    known = {name: _evaluate(e, env) for name, e in declared.bound}
    if annotation is None or annotation.dims is None:
        return " ".join((annotation or declared).span.text.split())
    dims = ", ".join(_filled_dim(d, known) for d in annotation.dims)
    dtype = annotation.dtype.span.text if annotation.dtype is not None else ""
    if isinstance(known.get(dtype), np.dtype):
        dtype = dtype_name(known[dtype])
    return f"Tensor([{dims}], {dtype})" if dtype else f"Tensor([{dims}])"


def _filled_dim(dim: core.Written, known: Values) -> str:
    try:
        value = evaluate(dim.size, known) if dim.size is not None else None
    except (LookupError, TypeError, Undefined):  # a size that has no value here is shown as it is written
        value = None
    return str(value) if isinstance(value, int) else " ".join(dim.span.text.split())


def values(check: core.Assert | core.MatchShape, env: Values) -> str:
    """ "n is 5, m is 3": the names of a condition with their values, as the user spelt them."""
    origin, declared = check.origin, check.origin.declared
    text = origin.text or origin.span.text
    at_home = declared is not None and (not declared.tensor or declared.tensor in env)
    bound = dict(declared.bound) if declared is not None and at_home else {}
    found: dict[str, str] = {}
    for name in re.findall(r"[^\W\d]\w*'*", text):
        value = _evaluate(bound[name], env) if name in bound else env.get(name)
        if value is not None and not hasattr(value, "shape") and not callable(value):
            found.setdefault(name, _shown(value))
    for part in _accesses(check.cond) if isinstance(check, core.Assert) else ():
        spelt, value = _access_text(part), _evaluate(part, env)
        if spelt in text and value is not None:
            found.setdefault(spelt, _shown(value))
    return ", ".join(f"{name} is {value}" for name, value in found.items())


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else dtype_name(value)


def _accesses(cond: core.ShapeLevel) -> list[core.DimOf | core.RankOf | core.DTypeOf | core.ShapeOf]:
    """The `x.dim(0)`, `x.rank`, `x.dtype` and shapes of a condition, from left to right."""
    return [n for n in walk(cond) if isinstance(n, core.DimOf | core.RankOf | core.DTypeOf | core.ShapeOf)]


def _access_text(part: core.DimOf | core.RankOf | core.DTypeOf | core.ShapeOf) -> str:
    if isinstance(part, core.DimOf):
        return f"{part.tensor}.dim({part.axis})"
    names = {core.RankOf: "rank", core.DTypeOf: "dtype", core.ShapeOf: "shape"}
    return f"{part.tensor}.{names[type(part)]}"


# Values of shape-level expressions


def _evaluate(e: Any, env: Values) -> Any:
    """A shape-level expression under actual values; None where it has none."""
    if not isinstance(e, core.SizeExpr | core.ShapeExpr | core.DTypeExpr):
        return None
    try:
        return evaluate(e, env)
    except (ArithmeticError, LookupError, AttributeError, TypeError):
        return None


def evaluate(e: core.SizeExpr | core.ShapeExpr | core.DTypeExpr, env: Values) -> Any:
    """A Size, Shape or DType expression over the values of its names."""
    if isinstance(e, core.DTypeExpr):
        return _dtype(e, env)
    if isinstance(e, core.ShapeExpr):
        return _shape(e, env)
    match e:
        case core.SizeLit(value=value):
            return value
        case core.SizeVar(name=name):
            return env[name]
        case core.RankOf(tensor=tensor):
            return env[tensor].ndim
        case core.DimOf(tensor=tensor, axis=axis):
            return env[tensor].shape[axis]
        case core.SizeOp(op=op, left=left, right=right):
            return operate(op, evaluate(left, env), evaluate(right, env))
        case _:
            assert_never(e)


def _dtype(e: core.DTypeExpr, env: Values) -> object:
    match e:
        case core.DTypeLit(dtype=dtype):
            return numpy_dtype(dtype)
        case core.DTypeVar(name=name):
            return env[name]
        case core.DTypeOf(tensor=tensor):
            return env[tensor].dtype


def _shape(e: core.ShapeExpr, env: Values) -> tuple[int, ...]:
    match e:
        case core.ShapeVar(name=name):
            return tuple(env[name])
        case core.ShapeOf(tensor=tensor):
            return tuple(env[tensor].shape)
        case core.ShapeLit(dims=dims):
            parts: list[Sequence[int]] = [
                env[d.name] if isinstance(d, core.Splice) else (evaluate(d, env),) for d in dims
            ]
            return tuple(size for part in parts for size in part)


def operate(op: str, a: int, b: int) -> int:
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
