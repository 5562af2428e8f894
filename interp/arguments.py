"""Arguments from outside, in the parameters' order and as generated code takes them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, assert_never

import numpy as np

from ..lang import codes, core
from ..lang.diagnostics import error
from ..lang.dtypes import DTYPES, DType
from ..lang.weak import number_fits
from .compile import guarded_call, make_tensor
from .dispatch import asked, with_dtypes
from .dlpack import Refused, first_line, speaks_dlpack, taken
from .dtypes import PLAIN, dtype_of, numpy_dtype
from .files import ValueProblem, checked
from .guards import describe, foreign
from .opaque import from_python
from .results import outward
from .shape_error import ShapeError

# What refuses an argument is shown by pytest at the call.
__tracebackhide__ = True


class ArgumentProblem(Exception):
    """Arguments that do not fit the parameters' names; the message is one line."""


def arrange(function: core.Function, positional: Sequence[object], named: Mapping[str, object]) -> list[Any]:
    """Positional and named arguments in the parameters' order, defaults filled in."""
    names = [p.name for p in function.params]
    if len(positional) > len(names):
        raise ArgumentProblem(f"@{function.name} takes {_count(len(names))}, but gets {len(positional)}")
    given = dict(zip(names, positional, strict=False))
    for name, value in named.items():
        if name not in names:
            known = f"its parameters are {', '.join(names)}" if names else "it has no parameters"
            raise ArgumentProblem(f"@{function.name} has no parameter {name!r}; {known}")
        if name in given:
            raise ArgumentProblem(f"@{function.name} gets {name!r} twice")
        given[name] = value
    fallback = defaults(function)
    missing = [n for n in names if n not in given and n not in fallback]
    if missing:
        raise ArgumentProblem(f"@{function.name} is called without {', '.join(map(repr, missing))}")
    values = [given[n] if n in given else fallback[n] for n in names]
    typed = with_dtypes(asked(function), values) if len(given) < len(names) else values
    return [v if n in given else t for n, v, t in zip(names, values, typed, strict=True)]


def _count(number: int) -> str:
    return "no arguments" if number == 0 else "1 argument" if number == 1 else f"{number} arguments"


def defaults(function: core.Function) -> dict[str, Any]:
    """The parameters with a literal default, with their values."""
    if function.declaration is None:
        return {}
    return {p.name: _literal(p.default) for p in function.declaration.params if p.default is not None}


def _literal(default: core.Default) -> Any:
    try:
        return _value(default.value)
    except TypeError:
        raise ArgumentProblem(f"the default `{default.span.text}` is no literal") from None


def _value(literal: core.Value | core.Splice | None) -> Any:
    match literal:
        case core.Number(value=value) | core.SizeLit(value=value) | core.BoolConst(value=value):
            return value
        case core.DTypeLit(dtype=dtype):
            return numpy_dtype(dtype)
        case core.ShapeLit(dims=items) | core.TupleValue(items=items):
            return tuple(map(_value, items))
        case core.TensorLit():
            return make_tensor(literal)
        case core.Var() | core.FnRef() | core.Load() | core.Text() | core.Call() | core.ListValue() | core.If():
            raise TypeError(type(literal).__name__)
        case core.Loop() | core.Lambda() | core.Splice() | None:
            raise TypeError(type(literal).__name__)
    return _no_literal(literal)


def _no_literal(value: core.ShapeLevel) -> NoReturn:
    raise TypeError(type(value).__name__)


def convert(function: core.Function, values: Sequence[object], *, copy: bool = False) -> list[Any]:
    """Arguments from Python as generated code takes them; raises ShapeError for what is no tensor, size and so on. With `copy`
    arrays may come from other devices."""
    return [_convert(function, p, p.sort, v, copy) for p, v in zip(function.params, values, strict=True)]


def _convert(
    function: core.Function, param: core.Param, sort: core.Sort, value: object, copy: bool, at: tuple[int, ...] = ()
) -> Any:
    """One argument, or the part of it that stands `at` a place in tuples."""
    match sort:
        case core.TupleSort(items=items):
            if not isinstance(value, tuple | list) or len(value) != len(items):
                but = f"it has {len(value)}" if isinstance(value, tuple | list) else f"it is {shown(value)}"
                raise _refused(function, param, f"a tuple of {len(items)}", but, at)
            parts = enumerate(zip(items, value, strict=True))
            return tuple(_convert(function, param, s, v, copy, (*at, i)) for i, (s, v) in parts)
        case core.FnSort():
            if not callable(value):
                raise _unfit(function, param, "a function", value)
            return _foreign(value, sort.signature.result)
        case core.BaseSort(name="Tensor"):
            return _tensor(function, param, _number(function, param, _inward(function, param, value, copy)))
        case core.BaseSort(name=name):
            return _shape_level(function, param, name, value)
        case _:
            assert_never(sort)


def _inward(function: core.Function, param: core.Param, value: object, copy: bool) -> object:
    """An array of another library as NumPy's; anything else as it is."""
    if not speaks_dlpack(value):
        return value
    try:
        return taken(value, copy=copy)
    except Refused as problem:
        raise _refused(function, param, "an array that NumPy can read", f"it is {problem}") from None


def _number(function: core.Function, param: core.Param, value: object) -> object:
    """A number of Python's for a scalar whose dtype the signature says; anything else as it is."""
    if (
        isinstance(value, np.generic)
        or not isinstance(value, bool | int | float)
        or not _is_scalar(function, param.name)
    ):
        return value
    wanted = expected_dtype(function, param.name)
    if wanted is None or not number_fits(value, wanted):
        return value
    with np.errstate(over="ignore"):
        return np.asarray(value, numpy_dtype(wanted))


def _is_scalar(function: core.Function, param: str) -> bool:
    """Whether the function's checks ask for rank 0."""
    for stmt in function.checks:
        match stmt:
            case core.Assert(
                cond=core.Compare(op="==", left=core.RankOf(tensor=tensor), right=core.SizeLit(value=0))
            ) if tensor == param:
                return True
    return False


def _tensor(function: core.Function, param: core.Param, value: object) -> Any:
    wanted = expected_dtype(function, param.name)
    if wanted is not None and wanted.of:
        return _opaque(function, param, wanted, value)
    if type(value) is np.ndarray and (value.dtype in PLAIN or _is_for_the_door(wanted, value)):
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise _unfit(function, param, "an array without a mask", value)
    is_python = isinstance(value, bool | int | float | complex | str) and not isinstance(value, np.generic)
    if is_python or isinstance(value, list | tuple) or not hasattr(value, "__array__"):
        raise _unfit(function, param, "a NumPy array", value)
    try:
        return checked(value if isinstance(value, np.ndarray) else _read(function, param, value))
    except ValueProblem:
        raise _unfit(function, param, "an array of numbers, bools or strings", value) from None


def _read(function: core.Function, param: core.Param, value: Any) -> Any:
    """What says that it can be an array: not all that do can, as JAX's keys."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as problem:
        but = f"it is an array that cannot be read: {first_line(problem)}"
        raise _refused(function, param, "an array that NumPy can read", but) from None


def _opaque(function: core.Function, param: core.Param, wanted: DType, value: object) -> Any:
    try:
        return from_python(wanted, value)
    except ValueProblem as problem:
        raise _unfit(function, param, f"a {wanted}", value, str(problem)) from None


def _is_for_the_door(wanted: DType | None, value: Any) -> bool:
    """Whether the door has the words for an array of a dtype that it does not let in anyway."""
    return wanted is not None and numpy_dtype(wanted) in PLAIN and value.dtype.isnative


def _shape_level(function: core.Function, param: core.Param, sort: str, value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim == 0 and sort in ("Size", "Bool"):
        value = value[()]
    try:
        match sort:
            case "Bool" if isinstance(value, bool | np.bool_):
                return bool(value)
            case "Size" if not isinstance(value, bool | np.bool_):
                return operator.index(value)
            case "Shape" if not isinstance(value, str | bytes):
                return tuple(operator.index(v) for v in value)
            case "DType":
                return given_dtype(value)
    except (TypeError, LookupError, ValueError):
        pass
    wanted = {"Size": "an integer", "Bool": "True or False", "Shape": "a tuple of integers"}.get(sort, "a dtype")
    raise _unfit(function, param, wanted, value)


def given_dtype(value: Any) -> np.dtype[Any]:
    """A dtype by what NumPy takes for it; raises TypeError, LookupError or ValueError for what is none."""
    if value is None:  # which NumPy takes for float64
        raise TypeError
    if isinstance(value, str) and value in DTYPES:
        return numpy_dtype(DTYPES[value])
    return numpy_dtype(dtype_of(np.dtype(value)))


def _foreign(value: Callable[..., object], sort: core.Sort | None) -> Callable[..., Any]:
    """A Python callable as a function value: it sees arrays and returns arrays."""

    def call(*args: object) -> Any:
        return guarded_call(value, getattr(value, "__name__", "the function"), tuple(map(outward, args)), sort)

    return call


def _unfit(function: core.Function, param: core.Param, wanted: str, value: object, why: str = "") -> ShapeError:
    return _refused(function, param, wanted, why or f"it is {shown(value)}")


def shown(value: object) -> str:
    """What a value is that does not fit."""
    if isinstance(value, np.ma.MaskedArray):
        return "a masked array"
    return describe(value) if isinstance(value, np.ndarray | np.generic | np.dtype) else foreign(value)


def _refused(function: core.Function, param: core.Param, wanted: str, but: str, at: tuple[int, ...] = ()) -> ShapeError:
    part = "".join(f"[{i}]" for i in at)
    message = f"@{function.name} needs `{param.name}{part}` to be {wanted}, but {but}"
    return ShapeError(error(codes.R404, message, core.param_span(function, param.name), function=f"@{function.name}"))


def expected_dtype(function: core.Function, param: str) -> DType | None:
    """The dtype that the function's checks ask of a parameter, where it is a literal one."""
    for stmt in function.checks:
        match stmt:
            case core.Assert(
                cond=core.Compare(op="==", left=core.DTypeOf(tensor=tensor), right=core.DTypeLit(dtype=dtype))
            ) if tensor == param:
                return dtype
    return None


def is_plain(value: object) -> bool:
    """Whether nothing but NumPy's own dtypes can come of a value from outside."""
    if isinstance(value, np.ndarray):
        return value.dtype in PLAIN
    if isinstance(value, tuple):
        return all(map(is_plain, value))
    return isinstance(value, int) or (isinstance(value, np.dtype) and value in PLAIN)
