"""Rx from Python: load a program, call its functions with NumPy arrays, ask for shapes without data."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from keyword import iskeyword
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakSet

from numpy import ndarray

from . import pipeline
from .helps.actual import explained
from .helps.offer import with_helps
from .interp.arguments import ArgumentProblem, arrange, convert, defaults
from .interp.blame import RUNTIME_ERRORS
from .interp.dlpack import giver
from .interp.dps import Pair, pairs
from .interp.plans import PlanCounts, quick_class
from .interp.results import is_apart, outward, own
from .interp.run import cause_of, deeply
from .interp.shape_error import ShapeError
from .interp.shape_program import result_shape
from .interp.tally import Tally
from .interp.trees import nodes_of
from .lang import core
from .lang.checked import Checked
from .lang.diagnostics import Diagnostic, RxError
from .lang.display import Displayed
from .lang.files import Files, is_model
from .lang.given import Given, read_given
from .lang.node import Node, replace
from .lang.render import diagnostics_lines, render_text
from .lang.source import Span
from .lang.styled import Line, said
from .lang.summary import plural
from .pipeline import Report
from .shapes import Dims, Shapes, given_shapes, shapes_of
from .simplify.known.outcome import Options as CheckOptions
from .simplify.propagate import ArgumentShape
from .size import Size

if TYPE_CHECKING:
    from .model.door import Door

PathText = str | PathLike[str]
T = TypeVar("T")
# How many functions a module shows in a notebook.
_MOST_SHOWN = 50


class CheckError(Displayed, Exception):
    """A program was rejected. `diagnostics` has everything that was found; `str` is what `rx check` prints."""

    def __init__(self, diagnostics: Sequence[Diagnostic], helped: Callable[[], Report] | None = None) -> None:
        super().__init__("; ".join(d.message for d in diagnostics if d.severity == "error"))
        self._diagnostics = tuple(diagnostics)
        self._helped = helped

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything that was found, with the helps, which are looked for when somebody asks."""
        if self._helped is not None:
            self._diagnostics, self._helped = self._helped().diagnostics, None
        return self._diagnostics

    def __str__(self) -> str:
        return "\n".join(render_text(d) for d in self.diagnostics).rstrip("\n")

    def _lines(self) -> list[Line]:
        return diagnostics_lines(self.diagnostics)


class Registry(Generic[T]):
    """All of a kind that there are, as long as anybody else has them; `told` hears of each new one."""

    def __init__(self) -> None:
        self.all: WeakSet[T] = WeakSet()
        self.told: Callable[[T], None] = _ignored

    def add(self, one: T) -> None:
        self.all.add(one)
        self.told(one)

    def tell(self, told: Callable[[T], None]) -> None:
        """From here on `told` hears of those that there are, and of each new one."""
        self.told = told
        for one in list(self.all):
            told(one)

    def end(self) -> None:
        self.told = _ignored


def _ignored(_: object) -> None:
    """Nobody asked."""


class Check(Node):
    """A check that is left for run time: its condition as the user wrote it, where, and what it means."""

    text: str
    span: Span
    message: str

    @property
    def line(self) -> int:
        """Its line in the program, from 1."""
        return self.span.source.position(self.span.start)[0]


class Function(Displayed):
    """A function of a program. Calling it takes NumPy arrays (ints for Sizes), by position or by name, and gives arrays; it
    raises ShapeError where they do not fit, and where a check inside fails."""

    def __init__(self, module: Module, name: str) -> None:
        function = module._machine.function(name)
        assert function is not None
        self._module = module
        self._core = function
        self._plans = module._machine.plans(name)
        self._door = module._door if name == "main" else None
        # Where results are another library's, or indices are looked at, no call takes the short way.
        self._table = self._plans.table if module._give is None and self._door is None else {}
        self._class = quick_class([p.sort for p in function.params])
        self._recursive = module._machine.recursive
        self.__name__ = name
        self.__doc__ = function.signature

    def __call__(self, *args: Any, **named: Any) -> Any:
        if named:
            return self._call_with(args, named)
        try:
            plan = self._table[self._class(*args)]
        except (KeyError, TypeError, AttributeError, IndexError):  # a new class, or no plain arrays
            pass
        else:
            next(plan.taken)
            if plan is not self._plans.last:
                self._plans.changed(plan, "used again")
            try:
                result = plan.run(*args) if not self._recursive else deeply(plan.run, *args)
            except RUNTIME_ERRORS as problem:
                __tracebackhide__ = True
                raise self._module._machine.explained(problem) from cause_of(problem)
            if type(result) is ndarray and result.dtype.names is None and is_apart(result, args):
                return result
            return own(outward(result), args)
        __tracebackhide__ = True
        return self._call_with(args, named)

    def _call_with(self, positional: tuple[object, ...], named: dict[str, object]) -> Any:
        """A call whose arguments are not all plain arrays in order. `like` and `copy` are those of `rx.load`, for this call,
        where no parameter is called so."""
        __tracebackhide__ = True
        own = {p.name for p in self._core.params}
        options = {n: named.pop(n) for n in ("like", "copy") if n in named and n not in own}
        like = options.get("like")
        give = self._module._give if like is None else giver(like)
        try:
            args = arrange(self._core, positional, named)
        except ArgumentProblem as problem:
            raise TypeError(str(problem)) from None
        copy = bool(options.get("copy", self._module._copy))
        values = convert(self._core, args, copy=copy)
        refused = None if self._door is None else self._door.refusal(values)
        if refused is not None:
            raise ShapeError(refused)
        result = self._module._machine.call(self.__name__, values)
        return result if give is None else _given(result, give)

    def __repr__(self) -> str:
        return f"<rx function {self.signature or '@' + self.__name__}>"

    def _lines(self) -> list[Line]:
        """Its signature, and what is left to check inside it."""
        checks = [f"  checked at run time: {c.text} (line {c.line}, {c.message})" for c in self.residual]
        return [
            *said(self.signature or f"@{self.__name__}", "title"),
            *(line for text in checks for line in said(text)),
        ]

    @property
    def signature(self) -> str:
        """The signature as the program has it."""
        return self._core.signature

    @property
    def __signature__(self) -> inspect.Signature:
        """What `inspect.signature` gives: the types are those of the program, as text."""
        declared = self._core.declaration
        types = (
            {p.name: p.annotation.span.text for p in declared.params if p.annotation} if declared is not None else {}
        )
        fallback = defaults(self._core)
        params = [_parameter(p.name, types.get(p.name), fallback) for p in self._core.params]
        result = (
            declared.result.span.text
            if declared is not None and declared.result is not None
            else inspect.Signature.empty
        )
        return inspect.Signature(params, return_annotation=result)

    @property
    def plans(self) -> PlanCounts:
        """The plans that there are, by shape class, with how often each was used again."""
        return self._plans.counts()

    @property
    def residual(self) -> tuple[Check, ...]:
        """The checks inside the function that could not be decided before running, in the order of the source."""
        owned = {self.__name__, self._core.impl}
        functions = [f for f in self._module._machine.program.functions if f.name in owned]
        found = [c for f in functions for c in residual_checks(f)]
        return tuple(sorted(found, key=lambda c: (c.span.source.name, c.span.start)))

    def shapes(self, **arguments: Dims | int | str | Size) -> Any:
        """The result's shape for given shapes of the arguments; no data is touched.

        A tensor's argument is a tuple of ints, Sizes and Rx text (`("k", 16)`), a Size's is one of them. The result is a
        tuple of ints and Sizes; a tuple of them where the function returns a tuple; None where the rank is not known. Its
        `conditions` are what has to hold of the given sizes so that the call works, in Rx. Raises ShapeError where the shapes
        do not fit.
        """
        given = given_shapes(self._core, arguments)
        told = self._of_shape_program(given)
        return Shapes(told, ()) if told is not None else shapes_of(self._module._checked, self._core, given)

    def _of_shape_program(self, given: dict[str, Any]) -> tuple[int, ...] | None:
        """What the shape program says, where all sizes are numbers and it alone tells."""
        pair = self._module._pairs.get(self.__name__)
        sizes: dict[str, Any] = {name: a.dims if isinstance(a, ArgumentShape) else a for name, a in given.items()}
        numbers = [n for a in sizes.values() for n in (a if isinstance(a, tuple) else (a,))]
        params = self._core.params
        if pair is None or len(sizes) < len(params) or not all(isinstance(n, int) for n in numbers):
            return None
        slots = {slot: sizes[p.name] for slot, p in zip(pair.data.params, params, strict=True)}
        return result_shape(pair, slots)


def _parameter(name: str, type_: str | None, fallback: Mapping[str, Any]) -> inspect.Parameter:
    """A parameter under a name that Python has, too."""
    own = name.replace("'", "_")
    annotation, default = type_ or inspect.Parameter.empty, fallback.get(name, inspect.Parameter.empty)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(own + "_" * iskeyword(own), kind, annotation=annotation, default=default)


class Module(Displayed):
    """A program that was checked. Its functions are attributes: `module.ff(x)`; imported ones `module["attn.block"]`."""

    def __init__(
        self,
        checked: Checked,
        files: Files,
        allow_extern: bool,
        door: Door | None = None,
        like: Any = None,
        copy: bool = False,
    ) -> None:
        self._checked = checked
        self._door = door
        self._give = None if like is None else giver(like)
        self._copy = copy
        self._machine = pipeline.ready(
            checked, files, allow_extern=allow_extern, explain=partial(explained, base=files.base, roots=files.roots)
        )
        program = checked.program
        self._names = tuple(
            [f.name for f in program.functions if f.kind != "private"] + [i.name for i in program.impls]
        )
        self._made: dict[str, Function] = {}
        MODULES.add(self)

    def _checks(self) -> Iterator[tuple[str, Check]]:
        """What is left to check in its functions and its script, each with the name of the function."""
        program = self._machine.program
        owners = core.owners(program)
        for function in (*program.functions, *((program.main,) if program.main is not None else ())):
            for check in residual_checks(function):
                yield owners.get(function.name, function.name), check

    def _count(self, tally: Tally | None) -> None:
        """From here on its checks are counted, or are not any more."""
        self._machine.count(tally)

    @cached_property
    def _pairs(self) -> dict[str, Pair]:
        return pairs(self._checked.program)

    def __getitem__(self, name: str) -> Function:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = Function(self, name)
        return self._made[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._names:
            return self[name]
        if name == "main" and self._checked.program.main is not None:
            return self._run_script
        known = ", ".join(n for n in self._names if "." not in n) or "none"
        raise AttributeError(f"the program has no function @{name}; its functions are {known}")

    def _run_script(self, *, like: Any = None) -> dict[str, Any]:
        """Run the script; its names with their values, in order."""
        __tracebackhide__ = True
        give = self._give if like is None else giver(like)
        values = self._machine.script()
        return values if give is None else {name: _given(value, give) for name, value in values.items()}

    def __dir__(self) -> list[str]:
        return sorted((*super().__dir__(), *(n for n in self._names if n.isidentifier())))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __repr__(self) -> str:
        return f"<rx module with {', '.join('@' + n for n in self._names) or 'a script'}>"

    def _lines(self) -> list[Line]:
        """The signatures of its functions; those of a large program up to a number."""
        names, left = self._names[:_MOST_SHOWN], len(self._names) - _MOST_SHOWN
        lines = [line for name in names for line in said(self[name].signature or f"@{name}", "title")]
        return [*(lines or said("a script")), *(said(f"and {plural(left, 'function')} more") if left > 0 else ())]


MODULES: Registry[Module] = Registry()


def load(
    path: PathText,
    *,
    roots: Sequence[PathText] = (),
    strict: bool = False,
    allow_empty: bool = False,
    allow_extern: bool = False,
    given: Sequence[str] = (),
    data_checks: bool = True,
    like: Any = None,
    copy: bool = False,
) -> Module:
    """Check a program and make its functions callable; raises CheckError where it is rejected.

    Imports and weights are read below the program's own folder and `roots`. `strict` and `allow_empty` are those of
    `rx check`; `allow_extern` lets `extern` functions run the Python callables that they name. What is `given`, like
    `"@f: 1 <= n, n <= 64"`, holds at the doors of functions beside what the program says; `@*` are all that have such sizes.
    A model's (`.onnx`) function is `main`; where `data_checks` are made, a call looks once at what it is given as indices.

    Functions take arrays of NumPy, and of any library that speaks DLPack, without a copy where that can be; `copy` lets them
    come from another device. Results are NumPy's, or those of the library that `like` is, or is an array of. A call whose
    arguments do not fit raises ShapeError.

    >>> import numpy as np, rxlang as rx
    >>> module = rx.load("ff.rx")  # doctest: +SKIP
    >>> module.ff(np.ones((2, 8), np.int8))  # doctest: +SKIP
    array([4, 4, 4, 4], dtype=int32)
    """
    __tracebackhide__ = True
    place = Path(path)
    data = b"" if is_model(place.name) else place.read_bytes()
    files = Files(place.parent, _paths(roots))
    options = CheckOptions(strict, allow_empty, _conditions(given))
    report = pipeline.check_bytes(data, str(place), place.parent, _paths(roots), options)
    return module_of(
        report, files, allow_extern, options, _door(place) if data_checks and report.ok else None, like, copy
    )


def _door(place: Path) -> Door | None:
    """What a model's arguments are held to; None for what is no model, or has no indices."""
    if not is_model(place.name):
        return None
    from .model.door import Door  # few programs are models

    door = Door(place)
    return door if door.ranges else None


def loads(
    text: str,
    *,
    filename: str = "<text>",
    roots: Sequence[PathText] = (),
    strict: bool = False,
    allow_empty: bool = False,
    allow_extern: bool = False,
    given: Sequence[str] = (),
    like: Any = None,
    copy: bool = False,
) -> Module:
    """What `rx.load` does, for a program's text: CheckError is raised where it is rejected. Files are looked for in the
    folder of `filename`.

    >>> import numpy as np, rxlang as rx
    >>> module = rx.loads("@half = fn(x : Tensor([n * 2, d], float32)) : Tensor([n, d], float32) { x[::2] }")
    >>> module.half(np.ones((6, 5), np.float32)).shape
    (3, 5)
    """
    __tracebackhide__ = True
    base = Path(filename).parent
    options = CheckOptions(strict, allow_empty, _conditions(given))
    report = pipeline.check_text(text, filename, base, _paths(roots), options)
    return module_of(report, Files(base, _paths(roots)), allow_extern, options, None, like, copy)


def check_source(
    text: str,
    filename: str = "<text>",
    *,
    roots: Sequence[PathText] = (),
    strict: bool = False,
    allow_empty: bool = False,
    given: Sequence[str] = (),
) -> Report:
    """Check a program's text: the diagnostics, how many assertions were proved and how many are left. Nothing is run, and
    nothing is raised where the program is wrong: `ok` tells, and `str` is what `rx check` prints.

    >>> import rxlang as rx
    >>> rx.check_source("@f = fn(x : Tensor([n, 4], int8)) : Tensor([n, 2, 2], int8) { @reshape(x, [n, 2, 2]) }").ok
    True
    """
    options, base = CheckOptions(strict, allow_empty, _conditions(given)), Path(filename).parent
    report = pipeline.check_text(text, filename, base, _paths(roots), options)
    return replace(report, helped=lambda: with_helps(report, base, _paths(roots), options))


def _paths(roots: Sequence[PathText]) -> tuple[Path, ...]:
    if isinstance(roots, str | PathLike):
        raise TypeError("roots is a list of folders")
    return tuple(Path(r) for r in roots)


def _conditions(texts: Sequence[str]) -> tuple[Given, ...]:
    try:
        return tuple(map(read_given, [texts] if isinstance(texts, str) else texts))
    except RxError as problem:
        raise ValueError(str(problem)) from None


def module_of(
    report: Report,
    files: Files,
    allow_extern: bool,
    options: CheckOptions,
    door: Door | None = None,
    like: Any = None,
    copy: bool = False,
) -> Module:
    """What was checked, made callable; raises CheckError where it was rejected."""
    __tracebackhide__ = True
    if not report.ok or report.checked is None:
        raise CheckError(report.diagnostics, lambda: with_helps(report, files.base, files.roots, options))
    if report.unmet:
        raise ValueError(f"given {report.unmet[0]!r}: no function of that name has such sizes")
    try:
        return Module(report.checked, files, allow_extern, door, like, copy)
    except RxError as problem:  # weights that are not there
        raise CheckError(problem.diagnostics) from None


def _given(result: Any, give: Callable[[Any], Any]) -> Any:
    """A result in the caller's library; sizes are ints in any."""
    if isinstance(result, tuple | list):
        return type(result)(_given(part, give) for part in result)
    if isinstance(result, dict):
        return {key: _given(part, give) for key, part in result.items()}
    return give(result) if isinstance(result, ndarray) else result


# Residual checks


def residual_checks(function: core.Function) -> Iterator[Check]:
    """What is left to check inside a function of a checked program."""
    for node in nodes_of(function):
        match node:
            case core.Assert(status=core.Status.RESIDUAL) | core.MatchShape(status=core.Status.RESIDUAL):
                yield check_of(node)
            case core.Call(callee=core.FnRef(), guard=True):
                yield check_of(node)


def check_of(assertion: core.Assert | core.MatchShape | core.Call) -> Check:
    """An assertion, or a call whose arguments are checked, as it is told."""
    if isinstance(assertion, core.Call):
        needs = f"what @{assertion.callee.name} needs of its arguments"
        return Check(assertion.span.text, assertion.span, needs)
    origin = assertion.origin
    message = assertion.message if isinstance(assertion, core.Assert) and assertion.message else _purpose(origin)
    return Check(origin.text or origin.span.text, origin.span, message)


def _purpose(origin: core.Origin) -> str:
    declared = origin.declared
    if origin.what == "where" and declared is not None and declared.function:
        return f"what @{declared.function} requires"
    if declared is None or origin.what in ("assert", "where", "obligation"):
        return "a condition of the program"
    part = f"axis {origin.axis}" if origin.what == "dim" else origin.what
    return f"{part} of {declared.subject.quoted}"


__all__ = [
    "Check",
    "CheckError",
    "Diagnostic",
    "Function",
    "Module",
    "Report",
    "ShapeError",
    "Size",
    "check_source",
    "load",
    "loads",
]
