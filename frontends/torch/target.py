"""Loads `PATH.py:NAME` with its arguments as a function, and traces it; the user's code is imported only here."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import math
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ...lang.expressions import names_in
from ...lang.node import Node, replace
from .arguments import DTYPES, DeclaredInput, UnreadInput, WrittenArgument, declared_in, rebuilt, sizes_in, written
from .exported import ExportInputs, exported
from .places import PythonPlace, following_modules, of_function, of_traceback
from .run import Trace, brief
from .table import rows
from .trace import Tracer

# Larger tensors are made without data where the constructor allows it.
_LARGE = 2**16
# The hints of the two runs: distinct primes above 1, and unlikely numbers for a model.
HINTS = ((13, 7, 17, 19, 23, 29, 31, 37), (11, 5, 41, 43, 47, 53, 59, 61))
# The user's code may raise any exception, and may end the program.
_ANYTHING = (Exception, SystemExit)
_OWN = str(Path(__file__).parent)
Inputs = Callable[[Callable[..., Any]], Mapping[str, Any]]


class Unloadable(Exception):
    """The target cannot be imported, built, or called: the message says why, `place` is the place in the user's code, `trace`
    the traceback from the user's first line."""

    def __init__(self, said: str, place: PythonPlace | None = None, trace: str = "") -> None:
        super().__init__(said)
        self.place, self.trace = place, trace


class Target(Node):
    """The code to trace, its arguments by name with DeclaredInput in place of inputs, and its module, if it has one. `ahead`
    are the positional arguments; `hinted` are the hints of the two runs, if they must satisfy conditions; `promise` are the
    types of the results to prove; `given` are the module's own conditions on the sizes."""

    name: str
    code: Callable[..., Any]
    args: Mapping[str, Any]
    module: Any = None
    ahead: tuple[str, ...] = ()
    hinted: tuple[Mapping[str, int], ...] = ()
    promise: tuple[str, ...] = ()
    given: tuple[str, ...] = ()

    @property
    def sizes(self) -> tuple[str, ...]:
        return tuple(sizes_in(tuple(self.args.values())))

    @property
    def called(self) -> Any:
        """The function that runs."""
        return called_of(self.code)

    @property
    def counts(self) -> tuple[str, ...]:
        """The arguments that are sizes themselves."""
        return tuple(str(one.shape[0]) for one in declared_in(tuple(self.args.values())) if one.dtype is None)


def called_of(code: Any) -> Any:
    return code.forward if isinstance(code, torch.nn.Module) else code


def load(name: str, init: str | None, args: Sequence[str], folder: Path, inputs: Inputs | None = None) -> Target:
    """Import a target and build it; `inputs` reads a function's annotations. Raises Unloadable."""
    place, _, attribute = name.rpartition(":")
    try:
        given = [one for text in args for one in written("--arg", text)]
        twice = next((one.name for n, one in enumerate(given) if one.name in {g.name for g in given[:n]}), None)
        if twice is not None:
            raise UnreadInput(f"`{twice}` is given twice")
        built_with = list(written("--init", init)) if init is not None else []
    except UnreadInput as wrong:
        raise Unloadable(str(wrong)) from None
    with own_output(), following_modules():
        module = _imported(place, folder)
        found = _named(module, place, attribute)
        scope = vars(module)
        values = {one.name: _value(one, scope) for one in given}
        code = _built(name, found, {one.name: _value(one, scope) for one in built_with}, init, bool(values))
        found = _exported(scope, code, values)
        target = targeted(name, code, {**found.values, **values}, inputs)
        return replace(target, given=tuple(t for t in found.given if set(names_in(t)) <= set(target.sizes)))


def _exported(scope: Mapping[str, Any], code: Any, values: Mapping[str, Any]) -> ExportInputs:
    """The inputs that the module declares, if arguments are still missing."""
    params = _parameters(code) if callable(code) else {}
    plain = [n for n, p in params.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    is_asked = not values or any(params[n].default is params[n].empty and n not in values for n in plain)
    return (exported(scope, plain) if is_asked else None) or ExportInputs({}, ())


def targeted(name: str, code: Any, values: Mapping[str, Any], inputs: Inputs | None = None) -> Target:
    """The target for code with the given arguments, and with its annotations for the others. Raises Unloadable."""
    if not callable(code):
        raise Unloadable(f"{name} is {_a(code)}: name a function, a class of modules, or a module")
    called = called_of(code)
    for is_one, why in _RUNS_LATER:
        if is_one(called):
            raise Unloadable(f"{name} is {why}: calling it runs nothing of it, so name a function that it calls")
    params = _parameters(code)
    if inputs is not None and any(p.default is p.empty and n not in values for n, p in params.items()):
        values = {**inputs(called), **values}
    ahead = _ahead(name, params, values)
    for _ in declared_in(tuple(values.values())):
        break
    else:
        example = next(iter(params), "x")
        takes = f" of {_listed(params)}" if params else ""
        raise Unloadable(f'{name}: no argument{takes} is an input: `--arg "{example}=float32[b, 3]"` declares one')
    owner = code if isinstance(code, torch.nn.Module) else getattr(code, "__self__", None)
    modules = [v for v in (owner, *values.values()) if isinstance(v, torch.nn.Module)]
    return Target(name, code, values, modules[0] if modules else None, ahead)


_RUNS_LATER: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (inspect.isgeneratorfunction, "a generator"),
    (inspect.iscoroutinefunction, "a coroutine"),
    (inspect.isasyncgenfunction, "an asynchronous generator"),
)


def trace(target: Target, hints: Mapping[str, int], otherwise: frozenset[str] = frozenset()) -> Trace:
    """Run a target once; at the places `otherwise`, data decides the other way."""
    tracer = Tracer(hints, rows(), target.module, otherwise)
    tracer.promise, tracer.begin = target.promise, of_function(target.called)
    args = {name: _taken(tracer, name, value, name) for name, value in target.args.items()}
    ahead = [args.pop(name) for name in target.ahead]
    with own_output(), kept(target.module):
        return tracer.trace(staying(target.code), tuple(ahead), args)


def staying(code: Callable[..., Any]) -> Callable[..., Any]:
    """The code, with an end of the program turned into an ordinary exception."""

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return code(*args, **kwargs)
        except BaseException as leaving:
            if isinstance(leaving, (Exception, KeyboardInterrupt)):
                raise
            said = f"the code ends the program: {type(leaving).__name__}({leaving})"
            raise RuntimeError(said).with_traceback(leaving.__traceback__) from None

    return run


def hints(target: Target, run: int) -> dict[str, int]:
    if target.hinted:
        return dict(target.hinted[run])
    return dict(zip(target.sizes, primes(run), strict=False))


def primes(run: int) -> Iterator[int]:
    """The hints of a run, as many as are needed."""
    yield from HINTS[run]
    yield from (n for n in range(67 + run * 1000, 10**6) if all(n % d for d in range(2, math.isqrt(n) + 1)))


def _taken(tracer: Tracer, name: str, value: Any, called: str) -> Any:
    """An argument with tensors of the trace in place of declared inputs; its name in the code is `called`."""
    match value:
        case DeclaredInput(dtype=None):
            return tracer.symbols[str(value.shape[0])]
        case DeclaredInput():
            return tracer.input(name, str(value.dtype), value.shape, called)
        case dict():
            return {k: _taken(tracer, f"{name}_{k}", v, f"{called}[{_key(k)}]") for k, v in value.items()}
        case list() | tuple():
            fields = getattr(value, "_fields", None)
            own = [f"{called}.{f}" for f in fields] if fields else [f"{called}[{n}]" for n in range(len(value))]
            return rebuilt(value, [_taken(tracer, f"{name}_{n}", v, own[n]) for n, v in enumerate(value)])
    return value


def _key(key: Any) -> str:
    return f'"{key}"' if isinstance(key, str) else repr(key)


# Import


def _imported(place: str, folder: Path) -> ModuleType:
    try:
        return _by_path(place, folder) if place.endswith(".py") else _by_name(place, folder)
    except ModuleNotFoundError as problem:
        doing = f"importing {place}"
        if not place.endswith(".py") and f"{place}.".startswith(f"{problem.name}."):
            raise Unloadable(f"{doing}: {problem}{_module_meant(str(problem.name), folder)}") from None
        raise _failed(doing, problem) from problem
    except _ANYTHING as problem:
        raise _failed(f"importing {place}", problem) from problem


def _module_meant(name: str, folder: Path) -> str:
    """A hint for a missing module: a similar name in the folder."""
    package, _, last = name.rpartition(".")
    place = folder.joinpath(*package.split("."))
    has = [path.stem for path in place.glob("*") if path.suffix == ".py" or path.is_dir()]
    near = get_close_matches(last, has, 1)
    return f"; is `{f'{package}.' if package else ''}{near[0]}` meant?" if near else f" in {folder} or installed"


def _by_name(place: str, folder: Path) -> ModuleType:
    sys.path.insert(0, str(folder))
    return importlib.import_module(place)


def _by_path(place: str, folder: Path) -> ModuleType:
    path = (folder / place).resolve()
    package = path.parent
    while (package / "__init__.py").exists():  # relative imports start there
        package = package.parent
    sys.path[:0] = list(dict.fromkeys((str(package), str(folder))))
    name = ".".join(path.relative_to(package).with_suffix("").parts)
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) != str(path):
        name += "_"  # the name belongs to a loaded module
    if "." in name:
        importlib.import_module(name.rpartition(".")[0])
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module in {place}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _named(module: ModuleType, place: str, attribute: str) -> Any:
    found: Any = module
    for part in attribute.split("."):
        owner = found
        try:
            found = getattr(owner, part)
        except AttributeError:
            has = (
                [n for n, v in vars(owner).items() if callable(v) and not n.startswith("_")]
                if hasattr(owner, "__dict__")
                else []
            )
            near = get_close_matches(part, has, 1)
            own = [n for n in has if getattr(getattr(owner, n), "__module__", None) == module.__name__]
            more = f": is `{near[0]}` meant?" if near else f"; it has {', '.join(own[:8])}" if own else ""
            raise Unloadable(f"{place} has no `{attribute}`{more}") from None
        except _ANYTHING as problem:
            raise _failed(f"looking up {attribute} in {place}", problem) from problem
    return found


def _value(one: WrittenArgument, scope: Mapping[str, Any]) -> Any:
    try:
        return one.value(scope)
    except NameError as problem:
        near = get_close_matches(str(problem.name), (*DTYPES, *scope), 1)
        dtype = near[0] if near else "float32"
        like = f"an input is declared like `{one.name}={dtype}[b, 3]`, a size `{one.name}=Size`"
        like = like if dtype in DTYPES else f"is `{dtype}` meant?"
        if not near and one.option.startswith("--init"):
            raise _failed(one.option, problem) from problem
        raise Unloadable(f"{one.option}: nothing is called `{problem.name}`; {like}") from None
    except _ANYTHING as problem:
        raise _failed(one.option, problem) from problem


# Building


def _built(name: str, found: Any, named: Mapping[str, Any], init: str | None, has_args: bool) -> Any:
    """The code behind a name: a class is built, and a function that neither needs nor gets arguments is called for its
    result."""
    is_made = isinstance(found, type) or init is not None
    if is_made:
        return _called(name, found, named, init)
    is_factory = callable(found) and not isinstance(found, torch.nn.Module) and not has_args and not _needs(found)
    return _called(name, found, {}, None) if is_factory else _of_factory(name, found, has_args)


def _of_factory(name: str, found: Any, has_args: bool) -> Any:
    """The result of a function without parameters, if arguments are given."""
    if not has_args or isinstance(found, torch.nn.Module) or not callable(found) or _parameters(found):
        return found
    return _called(name, found, {}, None)


def _needs(found: Callable[..., Any]) -> bool:
    return any(p.default is p.empty for p in _parameters(found).values())


def _called(name: str, found: Any, named: Mapping[str, Any], init: str | None) -> Any:
    """The result of a constructor, with its large tensors without data if it allows that."""
    if not callable(found):
        raise Unloadable(f"--init {init!r}: {name} is {_a(found)}, and is not built")
    try:
        inspect.signature(found).bind(**named)
    except TypeError as wrong:
        raise Unloadable(f"building {name}{_with(init)}: {wrong}: it takes {_listed(_parameters(found))}") from None
    except ValueError:
        pass  # it has no signature
    with contextlib.suppress(*_ANYTHING), _WithoutData():
        return found(**named)
    try:
        return found(**named)
    except _ANYTHING as problem:
        raise _failed(f"building {name}{_with(init)}", problem) from problem


def _with(init: str | None) -> str:
    return f" with --init {init!r}" if init else ""


class _WithoutData(TorchFunctionMode):
    """Makes large tensors on the device meta."""

    most: float = _LARGE
    made = frozenset({torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn})

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in self.made and "out" not in kwargs and math.prod(_sizes(args)) > self.most:
            kwargs = {**kwargs, "device": "meta"}
        return func(*args, **kwargs)


@contextlib.contextmanager
def with_data() -> Iterator[None]:
    """During this, large tensors have data too."""
    before, _WithoutData.most = _WithoutData.most, math.inf
    try:
        yield
    finally:
        _WithoutData.most = before


def _sizes(args: Any) -> tuple[int, ...]:
    found = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return tuple(s for s in found if isinstance(s, int))


# Arguments


def _parameters(code: Any) -> dict[str, inspect.Parameter]:
    """The parameters of code; empty if it has no signature."""
    try:
        return dict(inspect.signature(code.forward if isinstance(code, torch.nn.Module) else code).parameters)
    except (TypeError, ValueError):
        return {}


def _ahead(name: str, params: Mapping[str, inspect.Parameter], values: Mapping[str, Any]) -> tuple[str, ...]:
    """The positional arguments. Raises Unloadable for arguments that the code does not take, and for missing ones."""
    kinds = [p.kind for p in params.values()]
    if not params:
        return tuple(values)
    unknown = [n for n in values if n not in params]
    if inspect.Parameter.VAR_POSITIONAL in kinds and unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
        return (*(n for n in params if n in values), *unknown)
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
        near = get_close_matches(unknown[0], params, 1)
        more = f", is `{near[0]}` meant" if near else ""
        takes = f"{name} takes no `{unknown[0]}`{more}: it takes {_listed(params)}"
        is_factory = not near and all(p.default is not p.empty for p in params.values())
        raise Unloadable(f"{takes}{'; `--init` calls it for what it makes' if is_factory else ''}")
    needed = [
        n
        for n, p in params.items()
        if p.default is p.empty and n not in values and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if needed:
        example = f"{needed[0]}={'NAME(...)' if needed[0] == 'self' else 'float32[b, 3]'}"
        raise Unloadable(f'{name} takes `{needed[0]}`, which is not given: `--arg "{example}"` declares it')
    return tuple(n for n, p in params.items() if p.kind is p.POSITIONAL_ONLY and n in values)


def _listed(params: Mapping[str, inspect.Parameter]) -> str:
    return ", ".join(f"`{p}`" for p in map(str, params.values())) or "nothing"


def _a(value: Any) -> str:
    return f"a value of {type(value).__name__}" if not isinstance(value, ModuleType) else "a Python module"


# Exceptions of the user's code


def _failed(doing: str, problem: BaseException) -> Unloadable:
    own, said = _of_user(problem.__traceback__), brief(problem)
    is_shown = own is not None or isinstance(problem, SyntaxError)
    lines = traceback.TracebackException(type(problem), problem, own).format() if is_shown else ()
    name = type(problem).__name__
    return Unloadable(f"{doing}: {name}{f': {said}' if said else ''}", of_traceback(problem), "".join(lines))


def _of_user(at: TracebackType | None) -> TracebackType | None:
    """A traceback from the user's first line on."""
    while at is not None and at.tb_frame.f_code.co_filename.startswith((_OWN, "<frozen", "<--")):
        at = at.tb_next
    return at


@contextlib.contextmanager
def kept(module: torch.nn.Module | None) -> Iterator[None]:
    """Undo at the end of this what the code sets on its modules, such as a table that grows with its inputs."""
    own = [part.__dict__ for part in module.modules()] if module is not None else []
    held = [value for names in own for value in names.values()]
    named = [(names, dict(names)) for names in (*own, *(value for value in held if type(value) is dict))]
    listed = [(values, list(values)) for values in held if type(values) is list]
    try:
        yield
    finally:
        for names, was in named:
            if list(map(id, names.values())) != list(map(id, was.values())):
                names.clear()
                names.update(was)
        for values, before in listed:
            values[:] = before


@contextlib.contextmanager
def own_output() -> Iterator[None]:
    """Keep the output of the user's code out of ours."""
    with contextlib.redirect_stdout(sys.stderr):
        yield
