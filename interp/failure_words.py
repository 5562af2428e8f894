"""The text of a failed check: its condition, in the user's spelling, and the actual sizes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..lang import core
from ..lang.expressions import names_in
from ..lang.walk import walk
from ..ops.assertions import obligation, wording
from ..sizes.evaluate import Literal, evaluate as value_of
from ..sizes.integers import Integers, Undefined
from ..sizes.partial import UnknownSize
from .dtypes import numpy_dtype
from .engine_types import RunValue
from .guards import describe, dtype_name

Values = Mapping[str, RunValue]


def assertion(check: core.Assert | core.MatchShape, env: Values, outer: Values) -> str:
    """The requirement and the values found; `env` has the names of the condition, `outer` those of the annotation."""
    origin, declared = check.origin, check.origin.declared
    text = origin.text or origin.span.text
    if origin.what == "where":
        found = values(check, outer)
        return f"{_whose(declared)} needs `{text}` to hold" + (f", but {found}" if found else "")
    if isinstance(check, core.Assert) and origin.what == "obligation":
        found = values(check, outer)
        return f"`{text}` needs {obligation(check.cond)}" + (f", but {found}" if found else "")
    if isinstance(check, core.Assert) and (declared is None or origin.what not in ("rank", "dim", "dtype", "shape")):
        found = values(check, outer)
        reason = f" ({check.message})" if check.message else ""
        return f"`{text}` does not hold{reason}" + (f": {found}" if found else "")
    name = check.tensor if isinstance(check, core.MatchShape) else declared.tensor if declared is not None else ""
    who, subject = _speaker(origin, declared, name)
    if isinstance(check, core.Assert):
        tensor, axis = _subject(check, env, outer.get(name)), origin.axis
        rank, name = len(getattr(tensor, "shape", ())), _named(check, env, outer, name)
        if origin.what == "dim" and axis is not None and not -rank <= axis < rank:
            return f"{who} needs {subject} to have an axis {axis}, but it has rank {rank}"
    else:
        tensor = None
    said = wording(check, name, Actual(env, tensor), subject) or (f"`{text}` to hold", values(check, outer))
    return f"{who} needs " + ", but ".join(filter(None, said))


def _whose(declared: core.Declared | None) -> str:
    """The name of the code that asks for a condition."""
    if declared is None:
        return "the signature"
    return declared.of_loop or (f"@{declared.function}" if declared.function else "the signature")


class Actual:
    """The values of a condition's names, with the methods that `ops/assertions.py` uses."""

    def __init__(self, env: Values, tensor: RunValue) -> None:
        self.env, self.tensor = env, tensor

    def size(self, expr: core.SizeExpr) -> RunValue:
        return _evaluate(expr, self.env)

    def text(self, size: object) -> str:
        return str(size)

    def side(self, expr: core.ShapeLevel) -> str:
        value = _evaluate(expr, self.env)
        return "?" if value is None else _shown(value)

    def type(self, tensor: str) -> str:
        return describe(self.env.get(tensor))

    def dim(self, tensor: str, axis: int | None) -> str:
        return str(self.tensor.shape[axis])


def _speaker(origin: core.Origin, declared: core.Declared | None, tensor: str) -> tuple[str, str]:
    """The code that asks, and the tensor that it asks about: ("@ff", "`x`"), ("@ff", "its result"), ("the annotation",
    "`y`")."""
    if declared is None:
        return "match_shape", f"`{tensor}`"
    function = declared.subject.of
    if function is not None:
        return function.speaking, declared.subject.as_its_own
    if declared.kind == "param" and declared.function:
        return f"@{declared.function}", declared.subject.quoted
    who = "match_shape" if declared.kind == "match_shape" else "the annotation" if origin.claim else "the assertion"
    return declared.of_loop if declared.of_rows else who, declared.subject.quoted


def _subject(check: core.Assert, env: Values, otherwise: object) -> RunValue:
    """The tensor that a condition about a rank, a dimension or a dtype refers to: the first one in it."""
    found = _accesses(check.cond)
    return env.get(found[0].tensor, otherwise) if found else otherwise


def _named(check: core.Assert, env: Values, outer: Values, tensor: str) -> str:
    """The condition's name for the annotated tensor; a condition decided for a call names the argument."""
    if outer is env or tensor not in outer:
        return tensor
    return next((a.tensor for a in _accesses(check.cond) if env.get(a.tensor) is outer[tensor]), tensor)


def found_and_wanted(declared: core.Declared | None, env: Values, argument: str = "") -> str:
    """ "`a` is Tensor([8, 15], int8), the parameter is Tensor([3, m * 4], int8)", with known values filled in."""
    if declared is None or declared.tensor not in env:
        return ""
    noun = "the parameter is" if declared.kind == "param" else "declared"
    found = f"{argument or declared.subject.quoted} is {describe(env[declared.tensor])}"
    wanted = _filled(declared, env)
    return f"{found}, {noun} {wanted}" if wanted else found


def _filled(declared: core.Declared, env: Values) -> str:
    """The annotation as the user wrote it, with values for the names that were bound before it."""
    annotation = declared.annotation
    known = {name: _evaluate(e, env) for name, e in declared.bound}
    if annotation is None and declared.kind == "carry":  # its type is that of its first value
        return ""
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
    except (LookupError, TypeError, Undefined):  # an undefined size is shown as written
        value = None
    return str(value) if isinstance(value, int) else " ".join(dim.span.text.split())


def values(check: core.Assert | core.MatchShape, env: Values) -> str:
    """ "n is 5, m is 3": the names of a condition, in the user's spelling, with their values."""
    origin, declared = check.origin, check.origin.declared
    text = origin.text or origin.span.text
    at_home = declared is not None and (not declared.tensor or declared.tensor in env)
    bound = dict(declared.bound) if declared is not None and at_home else {}
    found: dict[str, str] = {}
    for name in names_in(text):
        value = _evaluate(bound[name], env) if name in bound else env.get(name)
        if (
            value is not None
            and not hasattr(value, "shape")
            and not callable(value)
            and not isinstance(value, UnknownSize)
        ):
            found.setdefault(name, _shown(value))
    for part in _accesses(check.cond) if isinstance(check, core.Assert) else ():
        spelt, value = _access_text(part), _evaluate(part, env)
        if spelt in text and value is not None and not isinstance(value, UnknownSize):
            found.setdefault(spelt, _shown(value))
    return ", ".join(f"{name} is {value}" for name, value in found.items())


def _shown(value: object) -> str:
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


class _Actual(Integers):
    """The values of a run: dtypes are NumPy's."""

    def literal(self, e: Literal) -> RunValue:
        return numpy_dtype(e.dtype) if isinstance(e, core.DTypeLit) else e.value


def _evaluate(e: object, env: Values) -> RunValue:
    """Evaluate a shape-level expression under actual values; None if it has no value."""
    if not isinstance(e, core.SizeExpr | core.ShapeExpr | core.DTypeExpr):
        return None
    try:
        return evaluate(e, env)
    except (ArithmeticError, LookupError, AttributeError, TypeError):
        return None


def evaluate(e: core.SizeExpr | core.ShapeExpr | core.DTypeExpr, env: Values) -> RunValue:
    """Evaluate a Size, Shape or DType expression over the values of its names."""
    return value_of(e, _Actual(env))
