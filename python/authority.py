"""Compute the diagnostic for arguments or a result that an entry check refused.

The signature runs as an ordinary program, on stand-in tensors that have a shape and a dtype but no data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .. import pipeline
from ..interp.arguments import TensorChecks, asked_on_entry, convert, shown
from ..interp.dtypes import numpy_dtype
from ..interp.failure_words import evaluate
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
from ..sizes.integers import Undefined
from .libraries import PREFIX, NoArray, Weak, as_dtype, bool_of, integers, name_of, own, read, shape_of, size_of
from .places import Derived

# See written.py.
__tracebackhide__ = True


class Authority:
    """Explains a refused call in words, by its signature; `plain` is the function as it was parsed, before the user's words
    replaced it. Entry checks are quick and give no reasons."""

    def __init__(
        self, checked: Checked, function: core.Function, plain: core.Function, derived: Derived | None = None
    ) -> None:
        self.checked, self._plain = checked, plain.declaration
        self._called = dict(derived.called) if derived is not None else {}
        self._results = derived.result if derived is not None else ()
        self.function = function
        self.name = f"@{function.name}"

    @cached_property
    def _asked(self) -> TensorChecks:
        return asked_on_entry(self.function)

    @property
    def _result(self) -> str:
        """The name of the result in the promises."""
        given = self.function.body.result
        return given.name if isinstance(given, core.Var) else ""

    @cached_property
    def machine(self) -> Machine:
        return pipeline.ready(self.checked, Files(Path()), allow_extern=True)

    def refuse(self, args: Sequence[Any]) -> NoReturn:
        """Raise the error for the arguments."""
        given = self._given(args)
        self._run(given, None)
        self._disagrees()

    def reject(self, args: Sequence[Any], result: Any) -> NoReturn:
        """Raise the error for the result."""
        self._run(self._given(args), self._stand_in(_Subject("", self._result), result, self.function.result))
        self._disagrees()

    def seen(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by parameter name, taken from the local variables of an entry check."""
        found = {p.name: variables[p.name] for p in self.function.params if p.name in variables}
        for name, _, _ in self._annotated():
            if (shape := variables.get(f"{PREFIX}s_{mangle(name)}")) is not None:
                found[name] = Seen(shape, variables.get(f"{PREFIX}d_{mangle(name)}"))
        return found

    def note(self, given: Mapping[str, Any]) -> str:
        """The sizes that the arguments bound, and their shapes: a note for an exception raised in the call."""
        shown = {name: self._called.get(name, text) for name, text, _ in self._annotated()}
        sizes = [f"{name} = {_written(value)}" for name, value in self.sizes(given).items()]
        arrays = [f"`{shown[n]}` is {_type(v)}" for n, v in given.items() if n in shown and hasattr(v, "shape")]
        more = [f"and {len(arrays) - _SHOWN} more"] if len(arrays) > _SHOWN else []
        parts = [", ".join(sizes), ", ".join([*arrays[:_SHOWN], *more])]
        return f"{self.name} was called with {'; '.join(filter(None, parts))}" if any(parts) else ""

    def _annotated(self) -> Iterator[tuple[str, str, core.Annotation]]:
        """The parameters, and the parts of tuples: their internal names, the user's names, their types."""
        left = [(p.name, p.name, p.annotation) for p in self._plain.params] if self._plain is not None else []
        while left:
            name, text, annotation = left.pop(0)
            if annotation is not None and annotation.items:
                parts = enumerate(annotation.items)
                left[:0] = [(self._asked.part(name, i), f"{text}[{i}]", part) for i, part in parts]
            elif annotation is not None:
                yield name, text, annotation

    def sizes(self, given: Mapping[str, Any]) -> dict[str, int | tuple[int, ...]]:
        """The values of the names of sizes in a call."""
        found = {p.name: given[p.name] for p in self.function.params if p.sort == core.SIZE and p.name in given}
        later: list[tuple[core.Written, int]] = []
        for name, _, annotation in self._annotated():
            shape = getattr(given.get(name), "shape", None)
            for dim, size in _axes(annotation, shape) if shape is not None else ():
                if isinstance(size, tuple):
                    found.setdefault(dim.names[0], size)
                elif isinstance(dim.size, core.SizeVar):
                    found.setdefault(dim.size.name, size)
                else:
                    later.append((dim, size))
        for dim, size in later:
            found.update(_solved(dim, size, found))
        named = ([name] if a.kind == "name" else a.names for name, _, a in self._annotated())
        return {name: found[name] for names in named for name in names if name in found}

    def _disagrees(self) -> NoReturn:
        raise RuntimeError(f"the entry check of {self.name} refuses what its signature takes: this is a bug of Rx")

    def _given(self, args: Sequence[Any]) -> list[Any]:
        pairs = zip(self.function.params, args, strict=True)
        stand_ins = [self._stand_in(_Subject(p.name, p.name), a, p.sort) for p, a in pairs]
        return convert(self.function, stand_ins)

    def _run(self, args: list[Any], result: Any) -> None:
        code = self.machine.code_for(args)
        code.namespace["x_" + mangle(self.function.name)] = lambda *_: result
        entry_check = code.namespace["f_" + mangle(self.function.name)]
        if result is None:  # only the arguments are checked: the call stops where the entry check has passed
            code.namespace["x_" + mangle(self.function.name)] = _Inside.entered
        try:
            self.machine.attempt(entry_check, *args)
        except _Inside:
            return
        except ShapeError as problem:
            shapes = {p.name: a for p, a in zip(self.function.params, args, strict=True)}
            raise ShapeError(self._traced(problem.diagnostic, shapes)) from None

    # Stand-in tensors without data

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
        """A value as the entry check reads it; a dtype of any library becomes NumPy's."""
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
        called = (
            self._called.get(subject.param) if subject.param else next(iter(self._results[sum(subject.at) :]), None)
        )
        message = f"{self.name} needs {called.as_its_own if called else subject} to be {wanted}, but {but}"
        raise ShapeError(error(codes.R404, message, span, function=self.name))

    # Where sizes were bound

    def _traced(self, said: Diagnostic, given: Mapping[str, Any]) -> Diagnostic:
        """The diagnostic with labels that show where each size of the failing annotation was bound, and its value."""
        bound = dict(reversed(list(self._bindings(given))))
        labels = [
            Label(span, text)
            for name, (span, text) in bound.items()
            if span != said.span and name in _names(said.span, self.function) and not _overlap(span, said.span)
        ]
        declared = self.function.declaration
        is_told = labels and declared is not None and said.span in [w.span for w in declared.where]
        return replace(said, labels=(*said.labels, *labels), caption="" if is_told else said.caption)

    def _bindings(self, given: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Span, str]]]:
        """Each name that the types of the parameters bind, with its place and its value in this call."""
        declared = self.function.declaration
        pairs = (
            zip(declared.params, self._plain.params, strict=True)
            if declared is not None and self._plain is not None
            else ()
        )
        for param, plain in pairs:
            annotation, shape = param.annotation, getattr(given[param.name], "shape", None)
            if annotation is None or plain.annotation is None or shape is None:
                continue
            name = self._called.get(param.name, param.name)
            if annotation.dtype is not None and len(annotation.dtype.names) == 1:
                found = dtype_name(given[param.name].dtype)
                yield annotation.dtype.names[0], (annotation.dtype.span, f"`{name}` has dtype {found}")
            dims = annotation.dims or ()
            splice = _splice(plain.annotation.dims or ())
            for i, dim in enumerate(dims):
                axis = i if i < splice else i - len(dims)
                if len(dim.names) == 1 and i != splice and -len(shape) <= axis < len(shape):
                    text = dim.span.text if dim.span != annotation.span else dim.names[0]
                    yield dim.names[0], (dim.span, f"{text} is {shape[axis]}: axis {axis} of `{name}`")


class _Subject(NamedTuple):
    """An argument, or the result if `param` is empty; `at` is the place of a part within tuples. `name` is its name in the
    checks, if they mention it."""

    param: str
    name: str
    at: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.param:
            return f"`{self.param}{''.join(f'[{i}]' for i in self.at)}`"
        return f"{', '.join(f'item {i}' for i in self.at)} of its result" if self.at else "its result"


class _Inside(Exception):
    """Raised when the arguments pass the entry check."""

    @classmethod
    def entered(cls, *_: object) -> NoReturn:
        raise cls


_SHAPE_LEVEL: dict[str, tuple[Callable[[Any], Any], str]] = {
    "Size": (size_of, "an integer"),
    "Bool": (bool_of, "True or False"),
    "Shape": (shape_of, "a tuple of integers"),
    "DType": (as_dtype, "a dtype"),
}


def _overlap(a: Span, b: Span) -> bool:
    return a.source is b.source and a.start < b.end and b.start < a.end


def _names(span: Span, function: core.Function) -> set[str]:
    """The names in the part of the signature that failed."""
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


def _splice(dims: Sequence[core.Written]) -> int:
    return next((i for i, d in enumerate(dims) if d.span.text.startswith(("*", "..."))), len(dims))


def _axes(annotation: core.Annotation, shape: Sequence[int]) -> Iterator[tuple[core.Written, int | tuple[int, ...]]]:
    """The dimensions of a type that have names, each with its size."""
    dims = annotation.dims or ()
    splice = _splice(dims)
    for i, dim in enumerate(dims):
        if dim.names:
            end = len(shape) - (len(dims) - i - 1)
            yield dim, tuple(shape[i:end]) if i == splice else shape[i if i < splice else i - len(dims)]


def _solved(dim: core.Written, size: int, known: Mapping[str, Any]) -> dict[str, int]:
    """The value of the only unknown name of a dimension like `n * 4 + 1`."""
    unknown = [name for name in dim.names if name not in known]
    if dim.size is None or len(unknown) != 1:
        return {}
    try:
        first, second = (evaluate(dim.size, {**known, unknown[0]: n}) for n in (0, 1))
        found = (size - first) // (second - first)
        return {unknown[0]: found} if evaluate(dim.size, {**known, unknown[0]: found}) == size else {}
    except (ArithmeticError, Undefined):
        return {}


# The most arguments that a note names.
_SHOWN = 12


class Seen(NamedTuple):
    """The shape and dtype of an argument, for a note."""

    shape: tuple[int, ...]
    dtype: Any


def _written(size: int | tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, size))}]" if isinstance(size, tuple) else str(size)


def _type(value: Any) -> str:
    dtype = name_of(own(value.dtype)) or str(value.dtype)
    return f"{dtype}[{', '.join(map(str, value.shape))}]"
