"""From lists of implementations to a Python function each: it tries the entry checks in order and calls the first member that
fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ..lang import core
from ..lang.dtypes import WEAK, DType
from ..lang.weak import asked_dtypes, number_fits, part_names
from ..ops.model import Primitive
from ..sizes.integers import Undefined
from . import guards
from .dtypes import dtype_of, numpy_dtype
from .engine_types import Compiled, Namespace, RunValue
from .generated import GeneratedModule
from .kernels import registry as kernels
from .names import mangle
from .steps import StepSite

UNFIT = (guards.Failed, Undefined, IndexError, TypeError, AttributeError)
# The position of an argument, or of a part of a tuple: the argument's index, then those inside.
Path = tuple[int, ...]
# The conditions of the entry check on a tensor's dtype, in order: a dtype, or the path of the tensor that has the same one.
# For a tuple, those of each part; None for a parameter that takes no tensor.
AskedOfOne = tuple[DType | Path, ...] | list["AskedOfOne"] | None
Asked = tuple[AskedOfOne, ...]


class NoneFits(Exception):
    """No member of a list fits; `reasons` has the exception of each member's entry check."""

    def __init__(self, reasons: list[tuple[str, BaseException]]) -> None:
        super().__init__()
        self.reasons = reasons


def write_list(unit: GeneratedModule, impls: core.Impls) -> None:
    """Write `f_name`: it tries each member in turn; if none fits, it raises all reasons at once."""
    unit.write(0, f"def f_{mangle(impls.name)}(*args, **named):")
    site = StepSite(impls.name, impls.span, None)
    unit.write(1, "reasons = []")
    for choice in impls.choices:
        function = unit.functions.get(choice)
        if isinstance(function, core.Function):
            _write_function(unit, function, site)
        else:
            _write_primitive(unit, choice, site)
    unit.write(1, "raise NoneFits(reasons)", site)


def _write_function(unit: GeneratedModule, function: core.Function, site: StepSite) -> None:
    name = mangle(function.name)
    places = unit.constant(("asked", function.name), lambda: asked(function))
    unit.write(1, f"given = with_dtypes({places}, args)", site)
    unit.write(1, f"if admits(d_{name}, given, {function.name!r}, reasons):", site)
    entry = "f_" if any(isinstance(p.sort, core.FnSort) for p in function.params) else "b_"
    unit.write(2, f"return {entry}{name}(*given)", site)


def _write_primitive(unit: GeneratedModule, name: str, site: StepSite) -> None:
    row = unit.row(name)
    unit.primitives.add(row.name)
    constant = unit.constant(("row", row.name), lambda: row)
    unit.write(1, f"if admits_primitive({constant}, args, named, reasons):", site)
    unit.write(2, f"return p_{mangle(row.name)}(*args, **named)", site)


def asked(function: core.Function) -> Asked:
    paths: dict[str, Path] = {}
    for place, param in enumerate(function.params):
        _add_paths(function, param.name, param.sort, (place,), paths)
    return tuple(_asked_of(function, p.name, p.sort, paths) for p in function.params)


def _add_paths(function: core.Function, name: str, sort: core.Sort, path: Path, paths: dict[str, Path]) -> None:
    paths[name] = path
    if isinstance(sort, core.TupleSort):
        for place, (part, inner) in enumerate(_parts(function, name, sort)):
            _add_paths(function, part, inner, (*path, place), paths)


def _parts(function: core.Function, name: str, sort: core.TupleSort) -> Iterable[tuple[str, core.Sort]]:
    return zip(part_names(function.checks, name), sort.items, strict=False)


def _asked_of(function: core.Function, name: str, sort: core.Sort, paths: Mapping[str, Path]) -> AskedOfOne:
    if isinstance(sort, core.TupleSort):
        return [_asked_of(function, part, inner, paths) for part, inner in _parts(function, name, sort)]
    if sort != core.TENSOR:
        return None
    found = asked_dtypes(function.checks, name)
    return tuple(a if isinstance(a, DType) else paths[a] for a in found if isinstance(a, DType) or a in paths)


def with_dtypes(asked: Asked, args: Sequence[object]) -> Sequence[RunValue]:
    """Give literal numbers the dtype that a function's entry check asks for, as in a call that checking decides."""
    if len(asked) != len(args) or not any(guards.is_literal(a) or isinstance(a, tuple) for a in args):
        return args
    return [_with_dtype(a, q, args) for a, q in zip(args, asked, strict=True)]


def _with_dtype(value: RunValue, asked: AskedOfOne, args: Sequence[RunValue]) -> RunValue:
    """Give one value its dtype; a number inside a tuple gets one if the annotation names it."""
    if isinstance(asked, list):
        is_whole = isinstance(value, tuple) and len(value) == len(asked)
        pairs = zip(value, asked, strict=True) if is_whole else ()
        return tuple(_with_dtype(v, q, args) if q else v for v, q in pairs) if is_whole else value
    return value if asked is None or not guards.is_literal(value) else _typed(value, asked, args)


def _typed(number: RunValue, asked: Sequence[DType | Path], args: Sequence[RunValue]) -> RunValue:
    known = (a if isinstance(a, DType) else _dtype_at(a, args) for a in asked)
    dtype = next((d for d in known if d is not None), None)
    if dtype is None or not number_fits(number, dtype):
        dtype = WEAK[type(number)]
    return np.array(number, dtype=numpy_dtype(dtype))


def _dtype_at(path: Path, args: Sequence[RunValue]) -> DType | None:
    value: object = args
    for place in path:
        if not isinstance(value, Sequence) or place >= len(value):
            return None
        value = value[place]
    return dtype_of(value.dtype) if hasattr(value, "dtype") else None


Reasons = list[tuple[str, BaseException]]


def _admits(entry_check: Callable[..., None], args: Sequence[object], name: str, reasons: Reasons) -> bool:
    try:
        entry_check(*args)
    except UNFIT as problem:
        reasons.append((name, problem))
        return False
    return True


def _admits_primitive(row: Primitive, args: Sequence[object], named: Mapping[str, object], reasons: Reasons) -> bool:
    try:
        guards.guard(row, complete(row, args, named))
    except (guards.Violation, TypeError, AttributeError) as problem:
        reasons.append((row.name, problem))
        return False
    return True


def complete(row: Primitive, args: Sequence[object], named: Mapping[str, object]) -> list[RunValue]:
    """The arguments of a primitive in the order of its parameters, defaults filled in."""
    left = dict(named)
    rest = [left.pop(p.name, p.default) for p in row.params[len(args) :]]
    if left or len(args) > len(row.params):
        raise TypeError(f"@{row.name} does not take so many arguments")
    return [*args, *rest]


def primitive_value(row: Primitive) -> Compiled:
    """A primitive as a function value: its preconditions are checked at every call."""
    kernel = kernels.lookup(row.name)

    def call(*args: object, **named: object) -> RunValue:
        given = complete(row, args, named)
        guards.guard(row, given)
        return kernel(*given)

    return call


HELPERS: Namespace = {
    "admits": _admits,
    "admits_primitive": _admits_primitive,
    "with_dtypes": with_dtypes,
    "NoneFits": NoneFits,
}
