"""Lists of implementations to a Python function each: it tries the entry checks in order and calls the first member that
fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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
# What the entry check asks of a parameter's dtype, in order: a dtype, or the place of the tensor that has the same one, an
# argument or a part of one; of a tuple that of each part. None where it takes no tensor.
Place = tuple[int, ...]
AskedOfOne = tuple[DType | Place, ...] | list["AskedOfOne"] | None
Asked = tuple[AskedOfOne, ...]


class NoneFits(Exception):
    """No member of a list fits: of each one why not, as the exception of its entry check."""

    def __init__(self, reasons: list[tuple[str, BaseException]]) -> None:
        super().__init__()
        self.reasons = reasons


def write_list(unit: GeneratedModule, impls: core.Impls) -> None:
    """`f_name`: each member in turn; where none fits, all that was wrong is raised at once."""
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
    places = dict(_places(function, [(p.name, p.sort) for p in function.params]))
    return tuple(_asked_of(function, p.name, p.sort, places) for p in function.params)


def _places(
    function: core.Function, named: Iterable[tuple[str, core.Sort]], around: Place = ()
) -> Iterator[tuple[str, Place]]:
    for at, (name, sort) in enumerate(named):
        yield name, (*around, at)
        if isinstance(sort, core.TupleSort):
            yield from _places(
                function, zip(part_names(function.checks, name), sort.items, strict=False), (*around, at)
            )


def _asked_of(function: core.Function, name: str, sort: core.Sort, places: Mapping[str, Place]) -> AskedOfOne:
    if isinstance(sort, core.TupleSort):
        parts = zip(part_names(function.checks, name), sort.items, strict=False)
        return [_asked_of(function, part, inner, places) for part, inner in parts]
    found = (places.get(a) if isinstance(a, str) else a for a in asked_dtypes(function.checks, name))
    return tuple(a for a in found if a is not None) if sort == core.TENSOR else None


def with_dtypes(asked: Asked, args: Sequence[object]) -> Sequence[RunValue]:
    """Literal numbers with the dtype that a function's entry check asks for: the one that they get where the check decides."""
    if len(asked) != len(args) or not any(guards.is_literal(a) or isinstance(a, tuple) for a in args):
        return args
    return [_with_dtype(a, q, args) for a, q in zip(args, asked, strict=True)]


def _with_dtype(value: RunValue, asked: AskedOfOne, args: Sequence[RunValue]) -> RunValue:
    """A number inside a tuple has a dtype where the annotation names one."""
    if isinstance(asked, list):
        if not isinstance(value, tuple) or len(value) != len(asked):
            return value
        return tuple(_with_dtype(v, q, args) if q else v for v, q in zip(value, asked, strict=True))
    return value if asked is None or not guards.is_literal(value) else _typed(value, asked, args)


def _typed(number: RunValue, asked: Sequence[DType | Place], args: Sequence[RunValue]) -> RunValue:
    known = (a if isinstance(a, DType) else _dtype_at(args, a) for a in asked)
    dtype = next((d for d in known if d is not None), WEAK[type(number)])
    return np.array(number, dtype=numpy_dtype(dtype if number_fits(number, dtype) else WEAK[type(number)]))


def _dtype_at(value: RunValue, place: Place) -> DType | None:
    for at in place:
        value = value[at] if isinstance(value, tuple | list) and at < len(value) else None
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
