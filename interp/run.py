"""A checked program and arguments to results: converts what comes from outside, calls generated code, explains failures."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from threading import RLock
from typing import Any, NoReturn, assert_never

import numpy as np

from ..lang import codes, core
from ..lang.diagnostics import Diagnostic, Met, RxError, error
from ..lang.display import Displayed
from ..lang.dtypes import DTYPES, DType
from ..lang.files import Files
from ..lang.node import replace
from ..lang.source import NOWHERE
from ..lang.stored import BadWeights, Header
from ..lang.styled import Line
from ..lang.weak import number_fits
from .blame import RUNTIME_ERRORS, diagnose, met
from .compile import Code, ExternError, Options, compile_program, guarded_call, make_tensor
from .dispatch import asked, with_dtypes
from .dlpack import Refused, speaks_dlpack, taken
from .dtypes import PLAIN, dtype_of, numpy_dtype
from .files import ValueProblem, checked, load_array
from .guards import describe, foreign
from .kernels.quiet import quiet
from .names import mangle
from .opaque import from_python, is_opaque, parts_of, to_python
from .plans import Made, PlanCounts, Plans
from .tally import Tally
from .trace import failure
from .trees import as_called, is_recursive

# For a function's name the programs to try first.
Fast = Callable[[str], Iterable[core.Program]]
# How many Python frames a program's recursion may take; a call takes two or three.
RECURSION = 20_000

# What finds the reason of a failure, and a mend.
Explain = Callable[[Diagnostic, tuple[Met, ...]], Diagnostic]


class ShapeError(Displayed, Exception):
    """A check failed while a program ran: `diagnostic` says which one, on which shapes; `met` is what the functions were given
    that led there, the innermost first. `explained` is the diagnostic with all that `explain` finds out beside it."""

    def __init__(self, diagnostic: Diagnostic, met: tuple[Met, ...] = (), explain: Explain | None = None) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic
        self.met = met
        self._explain = explain

    @cached_property
    def explained(self) -> Diagnostic:
        return self._explain(self.diagnostic, self.met) if self._explain is not None else self.diagnostic

    def __str__(self) -> str:
        from ..lang.render import render_text  # what words a failure is loaded when there is one

        return render_text(self.explained).rstrip("\n")

    def _lines(self) -> list[Line]:
        return self.explained._lines()


class WeightReader:
    """Reads the arrays that consts load: below the program's folder and its roots, each once. `headers` are those that the
    program was checked with: another array than that is refused."""

    def __init__(self, files: Files, headers: Mapping[tuple[str, str | None], Header] | None = None) -> None:
        self.files = files
        self.headers = headers or {}
        self.count = 0
        self._read: dict[tuple[Path, str | None], Any] = {}
        self._found: dict[str, Path] = {}

    def __call__(self, load: core.Load) -> Any:
        if load.path not in self._found:
            self._found[load.path] = self.files.find(load.path, span=load.span, linked=True)
        path = self._found[load.path]
        if (path, load.key) not in self._read:
            self.count += 1
            try:
                array = load_array(path, load.key, self.headers.get((load.path, load.key)))
            except BadWeights as problem:
                raise RxError(error(codes.E245, f'"{load.path}" {problem}', load.span)) from None
            array.flags.writeable = False
            self._read[path, load.key] = array
        return self._read[path, load.key]


def deeply(action: Callable[..., object], *args: object) -> Any:
    """Call what may call itself some thousand times; Python's own limit is as it was afterwards."""
    limit = sys.getrecursionlimit()
    if limit >= RECURSION:
        return action(*args)
    sys.setrecursionlimit(RECURSION)
    try:
        return action(*args)
    finally:
        sys.setrecursionlimit(limit)


def cause_of(problem: BaseException) -> BaseException | None:
    """The exception of the user's own Python code behind a failure."""
    return problem.__cause__ if isinstance(problem, ExternError) else None


class Machine:
    """A program that is ready to run. Its consts are evaluated when it is made."""

    def __init__(
        self,
        program: core.Program,
        files: Files,
        options: Options | None = None,
        headers: Mapping[tuple[str, str | None], Header] | None = None,
        explain: Explain | None = None,
        fast: Fast | None = None,
    ) -> None:
        self.program = program
        self.explain = explain
        self.fast = fast or (lambda _: ())
        self.options = options or Options()
        self.tally = Tally() if self.options.instrument else None
        self.weights = WeightReader(files, headers)
        self.recursive = is_recursive(program)
        self._extended: Code | None = None
        self._plans: dict[str, Plans] = {}
        self._fast: dict[tuple[str, bool], tuple[Code, ...]] = {}
        self._lock = RLock()
        self.compiled = 0
        self.code = self._compiled(self.options)

    def _compiled(self, options: Options) -> Code:
        code = self._code(self.program, options)
        self.compiled += 1
        self.attempt(code.init)
        return code

    def _code(self, program: core.Program, options: Options) -> Code:
        code = compile_program(program, self.weights, options, self.tally)
        if options.instrument:
            for name in [*(f.name for f in program.functions), *(i.name for i in program.impls)]:
                code.namespace["h_" + mangle(name)] = partial(self._hosted, name, False)
                code.namespace["i_" + mangle(name)] = partial(self._hosted, name, True)
        return code

    def _beside(self, general: Code, program: core.Program, options: Options | None = None) -> Code:
        """Code with the consts of another."""
        code = self._code(program, options or general.options)
        code.namespace.update((n, v) for n, v in general.namespace.items() if n.startswith("c_"))
        return code

    def count(self, tally: Tally | None) -> None:
        """From here on each check is counted where it stands; none is any more without a tally."""
        with self._lock:
            self.tally, self._extended = tally, None
            self.options = replace(self.options, ahead=tally is None)
            self.code = self._beside(self.code, self.program, self.options)
            self._fast.clear()
            for plans in self._plans.values():
                plans.table.clear()

    # Plans

    def plans(self, name: str) -> Plans:
        """The plans of a function that may be called by this name."""
        with self._lock:
            if name not in self._plans:
                function = self.function(name)
                assert function is not None
                self._plans[name] = Plans(replace(function, name=name), partial(self._planned, name))
            return self._plans[name]

    def codes(self) -> tuple[Code, ...]:
        """All that may have run."""
        more = () if self._extended is None else (self._extended,)
        return self.code, *more, *(code for codes in self._fast.values() for code in codes)

    def plan_counts(self) -> dict[str, PlanCounts]:
        """Of each function that was called what became of its plans."""
        return {name: plans.counts() for name, plans in self._plans.items()}

    def _planned(self, name: str, args: Sequence[Any], decided: bool) -> Made | None:
        """What runs calls with such arguments, where a door lets them in: that of a hint first, which asks for more."""
        with self._lock:
            general = self.code_for(args)
            for code in (*self._hinted(name, general), general):
                if code.admits(name, args, decided=decided and code is general):
                    return code.behind_door(name), partial(self._refined, code, name)
            return None

    def _refined(self, code: Code, name: str, args: Sequence[Any]) -> Callable[..., Any] | None:
        """The same with the answers that shapes give; None where there is nothing to ask."""
        with self._lock:
            run = code.planner.entered(name, args) if code.planner.asks(name) else None
            return None if run is None else quiet(run)

    def _hinted(self, name: str, general: Code) -> tuple[Code, ...]:
        """The code of a function under each hint for it, with the consts that there are."""
        key = name, general.options.direct
        if key not in self._fast:
            self._fast[key] = tuple(self._beside(general, program) for program in self.fast(name))
        return self._fast[key]

    def _hosted(self, name: str, decided: bool, *args: Any, **named: Any) -> Any:
        """A call of a function inside a program whose plans are counted."""
        run = self.plans(name).find(args, decided=decided) if not named else None
        return (run or self.code_for(args).function(name))(*args, **named)

    def code_for(self, args: Sequence[object]) -> Code:
        """What runs a call with these arguments: NumPy's functions are called directly only where all dtypes are plain."""
        if not self.code.options.direct or all(map(is_plain, args)):
            return self.code
        if self._extended is None:
            self._extended = self._compiled(replace(self.options, direct=False))
        return self._extended

    def attempt(self, action: Callable[..., object], *args: object) -> Any:
        """Call generated code; a failure comes back as a ShapeError, before which pytest's traceback ends."""
        __tracebackhide__ = True
        try:
            return deeply(action, *args) if self.recursive else action(*args)
        except RUNTIME_ERRORS as problem:
            raise self.explained(problem) from cause_of(problem)

    def explained(self, problem: BaseException) -> BaseException:
        """A ShapeError for what the program did wrong; a bug of ours, or the user's own exception, as it is."""
        found = failure(problem)
        if found is not None and self.tally is not None:
            self.tally.saw(found)
        return problem if found is None else ShapeError(diagnose(found), met(found), self.explain)

    def function(self, name: str) -> core.Function | None:
        """The function a user may call by this name; None where there is none."""
        found = next((f for f in self.program.functions if f.name == name), None)
        impls = next((i for i in self.program.impls if i.name == name), None)
        return as_called(self.program, impls) if found is None and impls is not None else found

    def call(self, name: str, args: Sequence[object]) -> Any:
        """Call a function with converted arguments."""
        __tracebackhide__ = True
        run = self.plans(name).find(args) or self.code_for(args).function(name)
        found = outward(self.attempt(run, *args))
        try:
            return own(found, args)
        except MemoryError as problem:  # a view of an argument may have more elements than there is room for
            function = self.function(name)
            place = NOWHERE if function is None else function.span
            message = f"the result of @{name} needs more memory than there is: {problem}"
            raise ShapeError(error(codes.R402, message, place)) from None

    def script(self) -> dict[str, Any]:
        """Run the script; its names with their values, in order."""
        return {name: outward(value) for name, value in self.attempt(self.code.main).items()}


def is_plain(value: object) -> bool:
    """Whether nothing but NumPy's own dtypes can come of a value from outside."""
    if isinstance(value, np.ndarray):
        return value.dtype in PLAIN
    if isinstance(value, tuple):
        return all(map(is_plain, value))
    return isinstance(value, int) or (isinstance(value, np.dtype) and value in PLAIN)


def outward(value: object) -> Any:
    """A result as the outside sees it: arrays instead of NumPy's scalars."""
    if type(value) is np.ndarray:
        return value if value.dtype.names is None else to_python(value)
    if isinstance(value, np.generic):
        return np.asarray(value)
    if isinstance(value, tuple):
        return tuple(outward(v) for v in value)
    return value


def own(result: object, args: Iterable[object]) -> Any:
    """A result that its owner may write into without changing an argument."""
    if isinstance(result, tuple | list):
        return type(result)(own(part, args) for part in result)
    if isinstance(result, dict):
        return {key: own(part, args) for key, part in result.items()}
    if isinstance(result, np.ndarray) and any(_shares(result, arg) for arg in args):
        return result.copy()
    return result


def is_apart(result: np.ndarray[Any, Any], args: Iterable[object]) -> bool:
    """Whether a result surely shares no memory with arrays and ints: told by whose memory they lie in, which takes less time
    than to compare where."""
    owner = result.base
    if owner is not None and not _owns(owner):
        return False
    for arg in args:
        if arg is result or arg is owner:
            return False
        if owner is None or type(arg) is int:  # what is neither an argument nor a view has memory of its own
            continue
        if type(arg) is not np.ndarray or (arg.base is not None and (arg.base is owner or not _owns(arg.base))):
            return False
    return True


def _owns(array: object) -> bool:
    return type(array) is np.ndarray and array.base is None


def _shares(result: object, arg: object) -> bool:
    if isinstance(arg, tuple | list):
        return any(_shares(result, part) for part in arg)
    if isinstance(arg, np.ndarray) and is_opaque(arg):
        return any(_shares(result, part) for part in parts_of(arg))
    return isinstance(arg, np.ndarray) and np.may_share_memory(result, arg)


# Arguments


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
                but = f"it has {len(value)}" if isinstance(value, tuple | list) else f"it is {_shown(value)}"
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
        return checked(value)
    except ValueProblem:
        raise _unfit(function, param, "an array of numbers, bools or strings", value) from None


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
                return _dtype(value)
    except (TypeError, LookupError, ValueError):
        pass
    wanted = {"Size": "an integer", "Bool": "True or False", "Shape": "a tuple of integers"}.get(sort, "a dtype")
    raise _unfit(function, param, wanted, value)


def _dtype(value: Any) -> np.dtype[Any]:
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
    return _refused(function, param, wanted, why or f"it is {_shown(value)}")


def _shown(value: object) -> str:
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


__all__ = [
    "ArgumentProblem",
    "ExternError",
    "Machine",
    "Options",
    "ShapeError",
    "arrange",
    "convert",
    "defaults",
    "expected_dtype",
    "outward",
]
