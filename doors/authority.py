"""Arguments or a result that a door refused, to the diagnostic.

The signature itself is asked, as any program is that runs, of tensors that have a shape and a dtype and nothing in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .. import pipeline
from ..interp.arguments import Asked, asked_at_the_door, convert, shown
from ..interp.dtypes import numpy_dtype
from ..interp.guards import dtype_name, foreign
from ..interp.names import mangle
from ..interp.run import Machine
from ..interp.shape_error import ShapeError
from ..lang import codes, core
from ..lang.checked import Checked
from ..lang.diagnostics import Diagnostic, Label, error
from ..lang.dtypes import DTYPES
from ..lang.files import Files
from ..lang.node import replace
from ..lang.source import Span
from .libraries import NoArray, Weak, as_dtype, bool_of, integers, name_of, read, shape_of, size_of

# See written.py.
__tracebackhide__ = True


class Authority:
    """What a signature says of a call, in words. Doors are quick and say nothing."""

    def __init__(self, checked: Checked, function: core.Function) -> None:
        self.checked = checked
        self.function = function
        self.name = f"@{function.name}"

    @cached_property
    def _asked(self) -> Asked:
        return asked_at_the_door(self.function)

    @property
    def _result(self) -> str:
        """What the promises call the result."""
        given = self.function.body.result
        return given.name if isinstance(given, core.Var) else ""

    @cached_property
    def machine(self) -> Machine:
        return pipeline.ready(self.checked, Files(Path()), allow_extern=True)

    def refuse(self, args: Sequence[Any]) -> NoReturn:
        """Raises what is wrong with the arguments."""
        given = self._given(args)
        self._run(given, None)
        self._disagrees()

    def reject(self, args: Sequence[Any], result: Any) -> NoReturn:
        """Raises what is wrong with the result."""
        self._run(self._given(args), self._stand_in(_Subject("", self._result), result, self.function.result))
        self._disagrees()

    def _disagrees(self) -> NoReturn:
        raise RuntimeError(f"the door of {self.name} refuses what its signature takes: this is a bug of Rx")

    def _given(self, args: Sequence[Any]) -> list[Any]:
        pairs = zip(self.function.params, args, strict=True)
        stand_ins = [self._stand_in(_Subject(p.name, p.name), a, p.sort) for p, a in pairs]
        return convert(self.function, stand_ins)

    def _run(self, args: list[Any], result: Any) -> None:
        code = self.machine.code_for(args)
        code.namespace["x_" + mangle(self.function.name)] = lambda *_: result
        door = code.namespace["f_" + mangle(self.function.name)]
        if result is None:  # what comes behind the door is not asked
            code.namespace["x_" + mangle(self.function.name)] = _Inside.entered
        try:
            self.machine.attempt(door, *args)
        except _Inside:
            return
        except ShapeError as problem:
            shapes = {p.name: a for p, a in zip(self.function.params, args, strict=True)}
            raise ShapeError(_traced(problem.diagnostic, self.function, shapes)) from None

    # Tensors with nothing in them

    def _stand_in(self, subject: _Subject, value: Any, sort: core.Sort | None) -> Any:
        if sort == core.TENSOR:
            return self._tensor(subject, value)
        if isinstance(sort, core.FnSort) and not callable(value):
            self._unfit(subject, "a function", shown(value))
        if isinstance(sort, core.BaseSort):
            return self._shape_level(subject, value, sort.name)
        if not isinstance(sort, core.TupleSort):
            return value
        count = len(sort.items)
        if not isinstance(value, tuple | list):
            self._unfit(subject, f"a tuple of {count}", shown(value))
        if len(value) != count:
            self._refuse(subject, f"a tuple of {count}", f"it has {len(value)}")
        pairs = enumerate(zip(value, sort.items, strict=True))
        return tuple(self._stand_in(self._part(subject, i), v, s) for i, (v, s) in pairs)

    def _part(self, subject: _Subject, index: int) -> _Subject:
        return subject._replace(name=self._asked.part(subject.name, index), at=(*subject.at, index))

    def _shape_level(self, subject: _Subject, value: Any, sort: str) -> Any:
        """As the door reads it: a dtype of any library is NumPy's here."""
        read_as, wanted = _SHAPE_LEVEL[sort]
        if sort == "Shape" and isinstance(value, tuple | list):
            return tuple(self._shape_level(self._part(subject, i), v, "Size") for i, v in enumerate(value))
        try:
            found = read_as(value)
        except NoArray:
            self._unfit(subject, wanted, shown(value))
        name = name_of(found) if sort == "DType" else None
        return found if name is None else numpy_dtype(DTYPES[name])

    def _tensor(self, subject: _Subject, value: Any) -> Any:
        try:
            shape, dtype = read(value)
        except NoArray:
            shape = getattr(value, "shape", ())
            if hasattr(value, "__array_namespace__"):
                self._unfit(subject, "an array of known sizes", f"one of shape {list(shape)}")
            self._unfit(subject, self._asked.array(subject.name), shown(value))
        try:
            shape = integers(shape)
        except NoArray:
            self._unfit(subject, "an array of known sizes", f"one of shape {list(shape)}")
        return np.broadcast_to(np.zeros((), self._dtype(subject, dtype)), shape)

    def _dtype(self, subject: _Subject, dtype: Any) -> Any:
        if isinstance(dtype, Weak):
            asked = self._asked.dtypes.get(subject.name)
            if asked is not None and dtype.fits(asked):
                return numpy_dtype(asked)
            if name_of(dtype.own) is None:
                self._unfit(subject, f"a number that {asked or 'int64'} can hold", foreign(dtype.value))
            return dtype.own
        found = name_of(dtype)
        if found is None:
            self._unfit(subject, "an array of numbers, bools or strings", f"one of {dtype}")
        return numpy_dtype(DTYPES[found])

    def _unfit(self, subject: _Subject, wanted: str, found: str) -> NoReturn:
        self._refuse(subject, wanted, f"it is {found}")

    def _refuse(self, subject: _Subject, wanted: str, but: str) -> NoReturn:
        declared = self.function.declaration
        at = declared.result.span if declared is not None and declared.result is not None else self.function.span
        span = core.param_span(self.function, subject.param) if subject.param else at
        message = f"{self.name} needs {subject} to be {wanted}, but {but}"
        raise ShapeError(error(codes.R404, message, span, function=self.name))


class _Subject(NamedTuple):
    """An argument, or the result where there is no `param`; or the part of it that stands `at` a place in tuples. `name` is
    what the checks call it, if they speak of it."""

    param: str
    name: str
    at: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.param:
            return f"`{self.param}{''.join(f'[{i}]' for i in self.at)}`"
        return f"{', '.join(f'item {i}' for i in self.at)} of its result" if self.at else "its result"


class _Inside(Exception):
    """The door lets its arguments in."""

    @classmethod
    def entered(cls, *_: object) -> NoReturn:
        raise cls


_SHAPE_LEVEL: dict[str, tuple[Callable[[Any], Any], str]] = {
    "Size": (size_of, "an integer"),
    "Bool": (bool_of, "True or False"),
    "Shape": (shape_of, "a tuple of integers"),
    "DType": (as_dtype, "a dtype"),
}


# Where sizes were bound


def _traced(said: Diagnostic, function: core.Function, given: Mapping[str, Any]) -> Diagnostic:
    """The diagnostic with where each size that the failing annotation speaks of was bound, and what it is."""
    annotation = said.span.text
    bound = dict(reversed(list(_bindings(function, given))))
    labels = [
        Label(span, text)
        for name, (span, text) in bound.items()
        if span != said.span and name in _names(said.span, function) and not _overlap(span, said.span)
    ]
    return replace(said, labels=(*said.labels, *labels)) if annotation else said


def _overlap(a: Span, b: Span) -> bool:
    return a.source is b.source and a.start < b.end and b.start < a.end


def _names(span: Span, function: core.Function) -> set[str]:
    """The names in the part of the signature that is at fault."""
    declared = function.declaration
    if declared is None:
        return set()
    annotations = [p.annotation for p in declared.params] + [declared.result]
    inside = list(declared.where)
    while annotations:
        found = annotations.pop()
        if found is not None:
            inside += [*(found.dims or filter(None, (found.shape,))), *filter(None, (found.dtype,))]
            annotations += found.items
    return {name for w in inside if _overlap(w.span, span) for name in w.names}


def _bindings(function: core.Function, given: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Span, str]]]:
    """Each name that the types of the parameters bind, with where that is and what is there in this call."""
    for param in function.declaration.params if function.declaration is not None else ():
        annotation, shape = param.annotation, getattr(given[param.name], "shape", None)
        if annotation is None or shape is None:
            continue
        if annotation.dtype is not None and len(annotation.dtype.names) == 1:
            found = dtype_name(given[param.name].dtype)
            yield annotation.dtype.names[0], (annotation.dtype.span, f"`{param.name}` has dtype {found}")
        dims = annotation.dims or ()
        splice = next((i for i, d in enumerate(dims) if d.span.text.startswith(("*", "..."))), len(dims))
        for i, dim in enumerate(dims):
            axis = i if i < splice else i - len(dims)
            if len(dim.names) == 1 and i != splice and -len(shape) <= axis < len(shape):
                yield dim.names[0], (dim.span, f"{dim.span.text} is {shape[axis]}: axis {axis} of `{param.name}`")
