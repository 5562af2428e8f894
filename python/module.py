"""The functions of a checked program, callable from Python; they also compute shapes without data."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from keyword import iskeyword
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from weakref import WeakSet

from numpy import ndarray

from .. import pipeline
from ..fixes.run_failures import explained
from ..interp.arguments import ArgumentProblem, arrange, asked_on_entry, convert, defaults
from ..interp.blame import RUNTIME_ERRORS
from ..interp.dlpack import giver
from ..interp.dps import Pair, pairs
from ..interp.plans import PlanCounts, quick_class
from ..interp.results import is_apart, outward, own
from ..interp.run import cause_of, deeply
from ..interp.shape_error import ShapeError
from ..interp.shape_program import result_shape
from ..interp.tally import Tally
from ..interp.uncompiled import uncompiled
from ..lang import core
from ..lang.checked import Checked
from ..lang.display import Displayed
from ..lang.files import Files
from ..lang.source import Source
from ..lang.styled import Line, said
from ..lang.summary import plural
from ..simplify.on_shapes import ArgumentShape
from .residual import Check, residual_checks
from .shapes import Dims, Shapes, given_shapes, shapes_of
from .size import Size

if TYPE_CHECKING:
    from ..model.index_checks import IndexChecks

T = TypeVar("T")
# How many functions a module shows in a notebook.
_MOST_SHOWN = 50
# How many classes of arguments a function remembers for an engine; the mark for a class that it does not remember.
_MOST_CLASSES, _OTHER = 1024, object()


class Registry(Generic[T]):
    """A weak collection of all living objects of one kind; `told` is called with each new one."""

    def __init__(self) -> None:
        self.all: WeakSet[T] = WeakSet()
        self.told: Callable[[T], None] = _ignored

    def add(self, one: T) -> None:
        self.all.add(one)
        self.told(one)

    def tell(self, told: Callable[[T], None]) -> None:
        """Call `told` with every object there is, and from now on with each new one."""
        self.told = told
        for one in list(self.all):
            told(one)

    def end(self) -> None:
        self.told = _ignored


def _with_held(class_of: Callable[..., Any], places: Sequence[int], *args: Any) -> tuple[object, ...]:
    """The class of the arguments, and the values of those at `places`."""
    return class_of(*args), *[args[i].item() for i in places]


def _ignored(_: object) -> None:
    """Do nothing: the default listener."""


class Function(Displayed):
    """A function of a program. A call takes arrays (ints for Sizes), by position or by name, and returns arrays; it raises
    ShapeError if they do not fit, or if a check inside fails."""

    def __init__(self, module: Module, name: str) -> None:
        function = module._machine.function(name)
        assert function is not None
        self._module, self._core = module, function
        self._plans = module._machine.plans(name)
        self._entry_check = module._entry_check if name == "main" else None
        # The short path is off if results belong to another library, indices are checked, or an engine runs the function.
        is_quick = module._give is None and self._entry_check is None and module._runner is None
        self._table = self._plans.table if is_quick else {}
        self._class = quick_class([p.sort for p in function.params])
        asked, params = asked_on_entry(function), enumerate(function.params)
        self._scalars = {i: asked.dtypes[p.name] for i, p in params if asked.number(p.name) is not None}
        # An integer of rank 0 may be used as a size, so its value is part of the class.
        held = [i for i, dtype in self._scalars.items() if dtype.kind != "float"]
        self._taken_as = partial(_with_held, self._class, held) if held else self._class
        self._recursive = module._machine.recursive
        # Classes of arguments that an engine accepts without conversion.
        self._taken: set[Any] = set()
        self.__name__, self.__doc__ = name, function.signature

    def __call__(self, *args: Any, **named: Any) -> Any:
        if named:
            __tracebackhide__ = True
            return self._call_with(args, named)
        if self._taken and (found := self._on_engine(args)) is not _OTHER:
            return found
        try:
            plan = self._table[self._class(*args)]
        except (KeyError, TypeError, AttributeError, IndexError, RuntimeError, ValueError):  # new, or no plain arrays
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
        __tracebackhide__ = True
        return uncompiled(Function._called)(self, positional, named)

    def _called(self, positional: tuple[object, ...], named: dict[str, object]) -> Any:
        """Make a call whose arguments are not all plain arrays in order. `like` and `copy` are the options of `rx.load`, for
        this call, unless a parameter has that name."""
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
        runner = self._module._runner
        values = convert(self._core, args, copy=copy) if runner is None else runner.admit(self._core, args, copy=copy)
        refused = None if self._entry_check is None else self._entry_check.refusal(values)
        if refused is not None:
            raise ShapeError(refused)
        if runner is not None:
            return self._run_there(runner, args, runner.own(args, values))
        result = self._module._machine.call(self.__name__, values)
        return result if give is None else _given(result, give)

    def _run_there(self, runner: Any, args: Sequence[Any], own: Sequence[Any]) -> Any:
        """Run a call on an engine; the next call of the same class takes the short path, unless a check looks at elements."""
        pairs = enumerate(zip(args, own, strict=True))
        if all(a is o and (getattr(a, "ndim", 1) or i in self._scalars) for i, (a, o) in pairs):
            if len(self._taken) >= _MOST_CLASSES:
                self._taken.clear()
            self._taken.add(self._taken_as(*args))
        return runner.run(self.__name__, own)

    def _on_engine(self, args: Sequence[Any]) -> Any:
        """The engine's result if it has accepted arguments of this class before, else `_OTHER`."""
        try:
            is_taken = self._taken_as(*args) in self._taken
        except (TypeError, AttributeError, IndexError):
            return _OTHER
        refused = None if not is_taken or self._entry_check is None else self._entry_check.refusal(args)
        if refused is not None:
            raise ShapeError(refused)
        return self._module._runner.run(self.__name__, args) if is_taken else _OTHER

    def export(self, path: str | PathLike[str], *, checks: str = "refuse", opset: int = 20) -> None:
        """Write the function as an ONNX model for all sizes, with its contract in the metadata. Raises RxError with
        everything that ONNX cannot express. `checks` says what to do with checks that remain for the run: `refuse` raises
        RxError with them, `drop` writes the model without them, `output` gives it an output `rx_ok` that is true if they
        hold."""
        from ..interp.engines.onnx_export import export, write  # it loads onnx

        machine = self._module._machine
        made = export(machine.program, self._core, machine.code, checks=checks, opset=opset)
        write(made.model, Path(path))

    def grad(self, *names: str) -> Function:
        """The gradient with respect to the named parameters: a function with the same parameters, like `grad @f wrt ...`
        in a program. Raises CheckError if there is none."""
        return self._derived("grad", names)

    def value_and_grad(self, *names: str) -> Function:
        """Like `grad`, but the function returns the value first."""
        return self._derived("value_and_grad", names)

    def vjp(self, *names: str) -> Function:
        """Like `grad`, for a function whose result is not a scalar: the last parameter is the cotangent, in the result's
        shape."""
        return self._derived("vjp", names)

    def jvp(self, *names: str) -> Function:
        """The derivative of the function's result along a direction: the last parameter, in the form of the named
        parameters."""
        return self._derived("jvp", names)

    def hessian_vector(self, *names: str) -> Function:
        """The derivative of the function's gradient along a direction, which is the last parameter."""
        return self._derived("hessian_vector", names)

    def _derived(self, kind: str, names: tuple[str, ...]) -> Function:
        __tracebackhide__ = True
        key = f"{kind} @{self.__name__} wrt {', '.join(map(str, names))}"
        made = self._module._gradients
        if key not in made:
            name = f"{kind}_{self.__name__}".replace(".", "_")
            while name in self._module:
                name += "_"
            made[key] = self._module._further(self._core.span.source, f"@{name} = {key}")[name]
        return made[key]

    def __repr__(self) -> str:
        return f"<rx function {self.signature or '@' + self.__name__}>"

    def _lines(self) -> list[Line]:
        """The function's signature, and its remaining checks."""
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
        """The signature for `inspect.signature`: its types are those of the program, as text."""
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
        """The plans of the function, by shape class, with the number of times that each was used again."""
        return self._plans.counts()

    @property
    def residual(self) -> tuple[Check, ...]:
        """The checks inside the function that remain for the run, in the order of the source."""
        owned = {self.__name__, self._core.impl}
        functions = [f for f in self._module._machine.program.functions if f.name in owned]
        found = [c for f in functions for c in residual_checks(f)]
        return tuple(sorted(found, key=lambda c: (c.span.source.name, c.span.start)))

    def shapes(self, *positional: Dims | int | str | Size, **arguments: Dims | int | str | Size) -> Any:
        """The result's shape for given shapes of the arguments, by position or by name, without data.

        A tensor's shape is a tuple of ints, Sizes and Rx text (`("k", 16)`), a Size is one of them. The result is a tuple
        of ints and Sizes; a tuple of such tuples if the function returns a tuple; None if the rank is unknown. Its
        `conditions` are the conditions on the given sizes under which the call works, in Rx. Raises ShapeError if the
        shapes do not fit.
        """
        given = given_shapes(self._core, arguments, positional)
        told = self._of_shape_program(given)
        return Shapes(told, ()) if told is not None else shapes_of(self._module._checked, self._core, given)

    def _of_shape_program(self, given: dict[str, Any]) -> tuple[int, ...] | None:
        """The result of the shape program, if all sizes are numbers and the shape program is enough; else None."""
        pair = self._module._pairs.get(self.__name__)
        sizes: dict[str, Any] = {name: a.dims if isinstance(a, ArgumentShape) else a for name, a in given.items()}
        numbers = [n for a in sizes.values() for n in (a if isinstance(a, tuple) else (a,))]
        params = self._core.params
        if pair is None or len(sizes) < len(params) or not all(isinstance(n, int) for n in numbers):
            return None
        slots = {slot: sizes[p.name] for slot, p in zip(pair.data.params, params, strict=True)}
        return result_shape(pair, slots)


def _parameter(name: str, type_: str | None, fallback: Mapping[str, Any]) -> inspect.Parameter:
    """A parameter under a name that is valid in Python."""
    own = name.replace("'", "_")
    annotation, default = type_ or inspect.Parameter.empty, fallback.get(name, inspect.Parameter.empty)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(own + "_" * iskeyword(own), kind, annotation=annotation, default=default)


class CallOptions(NamedTuple):
    """The options for calling a module's functions (see `rx.load`); also the file of a `model`, and the checks of its
    indices."""

    allow_extern: bool
    like: Any = None
    copy: bool = False
    engine: str = "numpy"
    device: str | None = None
    entry_check: IndexChecks | None = None
    model: Path | None = None


class Module(Displayed):
    """A checked program. Its functions are attributes, `module.ff(x)`; those of an import are items,
    `module["attn.block"]`."""

    def __init__(self, checked: Checked, files: Files, calls: CallOptions) -> None:
        self._checked, self._entry_check = checked, calls.entry_check
        self._give = None if calls.like is None else giver(calls.like)
        self._copy = calls.copy
        explain = partial(explained, base=files.base, roots=files.roots)
        self._machine = pipeline.ready(checked, files, allow_extern=calls.allow_extern, explain=explain)
        program = checked.program
        self._names = tuple(
            [f.name for f in program.functions if f.kind != "private"] + [i.name for i in program.impls]
        )
        self._made: dict[str, Function] = {}
        self._gradients: dict[str, Function] = {}
        # Make a module of the program with more text in one of its files.
        self._further: Callable[[Source, str], Module]
        self._runner: Any = None
        if calls.engine != "numpy":
            self._runner = self._on(calls)
        self.__doc__ = self._help()
        MODULES.add(self)

    def _on(self, calls: CallOptions) -> Any:
        """The runner that calls functions on another engine; raises RxError with everything that the engine lacks."""
        from ..interp.engines.runners import runner  # few programs run on another engine

        found = runner(calls.engine, self._machine, calls.device, calls.model)
        assert found is not None
        found.prepare(self._names)
        return found

    def _help(self) -> str:
        """The text for `help`: what a module is, and its functions."""
        main = "main() runs the script, and gives what it prints by name"
        heads = [*map(self._head, self._names), *([main] if self._checked.program.main is not None else ())]
        return "\n\n".join((type(self).__doc__ or "", *heads))

    def _head(self, name: str) -> str:
        """A function's signature under its name in the module."""
        function = self._machine.function(name)
        _, _, type_ = (function.signature if function is not None else "").partition(" = ")
        return f"@{name} = {type_}" if type_ else f"@{name}"

    def _checks(self) -> Iterator[tuple[str, Check]]:
        """The remaining checks of its functions and its script, each with the name of the function."""
        program = self._machine.program
        owners = core.owners(program)
        for function in (*program.functions, *((program.main,) if program.main is not None else ())):
            for check in residual_checks(function):
                yield owners.get(function.name, function.name), check

    def _count(self, tally: Tally | None) -> None:
        """Count its checks from now on; stop counting if `tally` is None."""
        self._machine.count(tally)

    @cached_property
    def _pairs(self) -> dict[str, Pair]:
        return pairs(self._checked.program)

    def __getitem__(self, name: str) -> Function:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._made:
            made = Function(self, name)
            self._made[name] = made if self._runner is None else self._runner.as_called(made)
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
        """Run the script and return what it prints, by name, in order."""
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
        """The signatures of its functions; at most `_MOST_SHOWN` of them."""
        names, left = self._names[:_MOST_SHOWN], len(self._names) - _MOST_SHOWN
        lines = [line for name in names for line in said(self._head(name), "title")]
        return [*(lines or said("a script")), *(said(f"and {plural(left, 'function')} more") if left > 0 else ())]


MODULES: Registry[Module] = Registry()


def _given(result: Any, give: Callable[[Any], Any]) -> Any:
    """A result as arrays of the caller's library; sizes are always ints."""
    if isinstance(result, tuple | list):
        return type(result)(_given(part, give) for part in result)
    if isinstance(result, dict):
        return {key: _given(part, give) for key, part in result.items()}
    return give(result) if isinstance(result, ndarray) else result
