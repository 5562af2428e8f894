"""Arguments from outside, in the parameters' order and as generated code takes them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple, NoReturn, TypeGuard, assert_never

import numpy as np

from ..lang import codes, core
from ..lang.diagnostics import error
from ..lang.dtypes import DTYPES, DType
from ..lang.weak import number_fits
from .compile import guarded_call, make_tensor
from .dispatch import asked, with_dtypes
from .dlpack import ArrayRefused, first_line, speaks_dlpack, taken
from .dtypes import PLAIN, dtype_of, numpy_dtype
from .engine_types import Compiled, GivenValue, Namespace, NumpyDType, RunValue
from .files import ValueProblem, checked
from .guards import describe, foreign
from .opaque import from_python
from .results import outward
from .shape_error import ShapeError

# Pytest shows a refused argument at the call.
__tracebackhide__ = True


class ArgumentProblem(Exception):
    """Arguments that do not fit the parameters' names; the message is one line."""


def arrange(function: core.Function, positional: Sequence[object], named: Mapping[str, object]) -> list[RunValue]:
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


def defaults(function: core.Function) -> Namespace:
    """The parameters with a literal default, with their values."""
    if function.declaration is None:
        return {}
    return {p.name: _literal(p.default) for p in function.declaration.params if p.default is not None}


def _literal(default: core.Default) -> RunValue:
    try:
        return _value(default.value)
    except TypeError:
        raise ArgumentProblem(f"the default `{default.span.text}` is no literal") from None


def _value(literal: core.Value | core.Splice | None) -> RunValue:
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


def convert(function: core.Function, values: Sequence[object], *, copy: bool = False) -> list[RunValue]:
    """Convert arguments from Python to the form that generated code takes; raises ShapeError for one that is no tensor, size
    and so on. With `copy`, arrays may come from other devices."""
    entry_check, pairs = asked_on_entry(function), zip(function.params, values, strict=True)
    return [_convert(_Place(function, p, entry_check, p.name), p.sort, v, copy) for p, v in pairs]


class TensorChecks(NamedTuple):
    """The requirements of a function's checks and promises on tensors, by their names there: literal dtypes, and rank 0.
    `parts` maps a tuple's name to its parts' names."""

    dtypes: dict[str, DType]
    scalars: set[str]
    parts: dict[str, tuple[str, ...]]

    def part(self, name: str, index: int) -> str:
        """The name of a tuple's part; empty if the checks do not name it."""
        return self.parts[name][index] if name in self.parts else ""

    def number(self, name: str) -> DType | None:
        """The dtype of a scalar that a Python number may stand for, or None."""
        return self.dtypes.get(name) if name in self.scalars else None

    def array(self, name: str, array: str = "an array") -> str:
        """Describe the tensor that is needed."""
        number = self.number(name)
        return array if number is None else f"a number that {number} can hold, or {array}"


def asked_on_entry(function: core.Function) -> TensorChecks:
    found = TensorChecks({}, set(), {})
    for stmt in (*function.checks, *function.promises):
        match stmt:
            case core.Assert(
                cond=core.Compare(op="==", left=core.DTypeOf(tensor=name), right=core.DTypeLit(dtype=dtype))
            ):
                found.dtypes.setdefault(name, dtype)
            case core.Assert(cond=core.Compare(op="==", left=core.RankOf(tensor=name), right=core.SizeLit(value=0))):
                found.scalars.add(name)
            case core.Let(names=names, is_tuple=True, value=core.Var(name=whole)):
                found.parts[whole] = names
    return found


class _Place(NamedTuple):
    """A parameter, or the part of it at the path `at` in tuples; `name` is its name in the function's checks, if they mention
    it."""

    function: core.Function
    param: core.Param
    entry_check: TensorChecks
    name: str
    at: tuple[int, ...] = ()

    def part(self, index: int) -> _Place:
        return self._replace(name=self.entry_check.part(self.name, index), at=(*self.at, index))

    @property
    def dtype(self) -> DType | None:
        return self.entry_check.dtypes.get(self.name)

    def refusal(self, wanted: str, but: str, help: str | None = None) -> ShapeError:
        part = "".join(f"[{i}]" for i in self.at)
        message = f"@{self.function.name} needs `{self.param.name}{part}` to be {wanted}, but {but}"
        span, name = core.param_span(self.function, self.param.name), f"@{self.function.name}"
        return ShapeError(error(codes.R404, message, span, function=name, help=help))

    def unfit(self, wanted: str, value: object) -> ShapeError:
        return self.refusal(wanted, f"it is {shown(value)}")


def _convert(place: _Place, sort: core.Sort, value: object, copy: bool) -> RunValue:
    """Convert one argument, or a part of it."""
    match sort:
        case core.TupleSort(items=items):
            if not isinstance(value, tuple | list) or len(value) != len(items):
                but = f"it has {len(value)}" if isinstance(value, tuple | list) else f"it is {shown(value)}"
                raise place.refusal(f"a tuple of {len(items)}", but)
            parts = enumerate(zip(items, value, strict=True))
            return tuple(_convert(place.part(i), s, v, copy) for i, (s, v) in parts)
        case core.FnSort():
            if not callable(value):
                raise place.unfit("a function", value)
            return _foreign(value, sort.signature.result)
        case core.BaseSort(name="Tensor"):
            return _tensor(place, _number(place, _inward(place, value, copy)))
        case core.BaseSort(name=name):
            return _shape_level(place, name, value)
        case _:
            assert_never(sort)


def _inward(place: _Place, value: object, copy: bool) -> object:
    """Return an array of another library as NumPy's; anything else unchanged."""
    if not speaks_dlpack(value):
        return value
    try:
        return taken(value, copy=copy)
    except ArrayRefused as problem:
        raise place.refusal("an array that NumPy can read", f"it is {problem}") from None


def _number(place: _Place, value: object) -> object:
    """Return a Python number as a scalar of the dtype in the signature; anything else unchanged."""
    wanted = place.entry_check.number(place.name)
    if wanted is None or not _of_python(value) or not _fits(value, wanted):
        return value
    with np.errstate(over="ignore"):
        return np.asarray(value, numpy_dtype(wanted))


def _of_python(value: object) -> TypeGuard[bool | int | float | complex]:
    return isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic)


def _fits(value: bool | int | float | complex, dtype: DType) -> bool:
    return dtype.kind == "complex" if isinstance(value, complex) else number_fits(value, dtype)


def _tensor(place: _Place, value: object) -> RunValue:
    wanted = place.dtype
    if wanted is not None and wanted.of:
        return _opaque(place, wanted, value)
    if type(value) is np.ndarray and (value.dtype in PLAIN or _is_for_entry(wanted, value)):
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise place.unfit("an array without a mask", value)
    is_text = isinstance(value, str) and not isinstance(value, np.generic)
    if _of_python(value) or is_text or isinstance(value, list | tuple) or not hasattr(value, "__array__"):
        raise _no_array(place, value)
    try:
        return checked(value if isinstance(value, np.ndarray) else _read(place, value))
    except ValueProblem:
        raise place.unfit("an array of numbers, bools or strings", value) from None


def _no_array(place: _Place, value: object) -> ShapeError:
    number = place.entry_check.number(place.name)
    if number is not None and _of_python(value):
        return place.unfit(f"a number that {number} can hold", value)
    may_be = isinstance(value, list | tuple | range) or _of_python(value)
    wanted = place.entry_check.array(place.name, "a NumPy array")
    return place.refusal(wanted, f"it is {shown(value)}", _to_array(place.dtype) if may_be else None)


def _to_array(wanted: DType | None) -> str:
    """The help for a value that can become an array."""
    dtype = None if wanted is None else numpy_dtype(wanted)
    said = "" if dtype is None or dtype not in PLAIN else f", np.{dtype}"
    return f"`np.array(...{said})` makes an array of it"


def _read(place: _Place, value: GivenValue) -> RunValue:
    """Read a value with `__array__`; that may fail, as for JAX's keys."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as problem:
        but = f"it is an array that cannot be read: {first_line(problem)}"
        raise place.refusal("an array that NumPy can read", but) from None


def _opaque(place: _Place, wanted: DType, value: object) -> RunValue:
    try:
        return from_python(wanted, value)
    except ValueProblem as problem:
        raise place.refusal(f"a {wanted}", str(problem) or f"it is {shown(value)}") from None


def _is_for_entry(wanted: DType | None, value: GivenValue) -> bool:
    """Whether the entry check refuses an array of this dtype, with its own message."""
    return wanted is not None and numpy_dtype(wanted) in PLAIN and value.dtype.isnative


def _shape_level(place: _Place, sort: str, value: GivenValue) -> RunValue:
    if isinstance(value, np.ndarray) and value.ndim == 0 and sort in ("Size", "Bool"):
        value = value[()]
    try:
        match sort:
            case "Bool" if isinstance(value, bool | np.bool_):
                return bool(value)
            case "Size" if not isinstance(value, bool | np.bool_):
                return operator.index(value)
            case "Shape" if not isinstance(value, str | bytes | Set | Mapping):
                return _sizes(place, value)
            case "DType":
                return given_dtype(value)
    except (TypeError, LookupError, ValueError):
        pass
    wanted = {"Size": "an integer", "Bool": "True or False", "Shape": "a tuple of integers"}.get(sort, "a dtype")
    raise place.unfit(wanted, value)


def _sizes(place: _Place, values: Iterable[GivenValue]) -> tuple[int, ...]:
    given = tuple(values)
    for index, value in enumerate(given):
        if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
            raise place.part(index).unfit("an integer", value)
    return tuple(map(operator.index, given))


def given_dtype(value: GivenValue) -> NumpyDType:
    """Return a dtype from any value that NumPy takes for one; raises TypeError, LookupError or ValueError for any other."""
    if value is None:  # NumPy takes it for float64
        raise TypeError
    if isinstance(value, str) and value in DTYPES:
        return numpy_dtype(DTYPES[value])
    return numpy_dtype(dtype_of(np.dtype(value)))


def _foreign(value: Callable[..., object], sort: core.Sort | None) -> Compiled:
    """A Python callable as a function value: it sees arrays and returns arrays."""

    def call(*args: object) -> RunValue:
        return guarded_call(value, getattr(value, "__name__", "the function"), tuple(map(outward, args)), sort)

    return call


def shown(value: object) -> str:
    """Describe a value that does not fit."""
    if isinstance(value, np.ma.MaskedArray):
        return "a masked array"
    if isinstance(value, np.generic):
        return f"a NumPy {type(value).__name__}"
    return describe(value) if isinstance(value, np.ndarray | np.dtype) else foreign(value)


def expected_dtype(function: core.Function, param: str) -> DType | None:
    """The literal dtype that the function's checks ask of a parameter, or None."""
    return asked_on_entry(function).dtypes.get(param)


def is_plain(value: object) -> bool:
    """Whether a value from outside has none but NumPy's own dtypes."""
    if isinstance(value, np.ndarray):
        return value.dtype in PLAIN
    if isinstance(value, tuple):
        return all(map(is_plain, value))
    return isinstance(value, int) or (isinstance(value, np.dtype) and value in PLAIN)
