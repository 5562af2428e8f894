"""From a checked program and arguments to results: calls generated code, explains failures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import RLock

from ..lang import codes, core
from ..lang.diagnostics import error
from ..lang.files import Files
from ..lang.node import replace
from ..lang.source import NOWHERE
from ..lang.stored import Header
from .arguments import is_plain
from .blame import RUNTIME_ERRORS, diagnose, met
from .compile import CompiledCode, ExternError, Options, compile_program
from .core_uses import as_called, is_recursive
from .engine_types import Compiled, Namespace, RunValue
from .kernels.quiet import quiet
from .names import mangle
from .plans import Made, PlanCounts, Plans
from .results import outward, own
from .shape_error import Explain, ShapeError
from .tally import Tally
from .trace import failure
from .weights import WeightReader

# The programs to try first, by the name of a function.
Fast = Callable[[str], Iterable[core.Program]]
# The number of Python frames that a program's recursion may take; a call takes two or three.
RECURSION = 20_000


def deeply(action: Callable[..., object], *args: object) -> RunValue:
    """Call a function that may recurse some thousand times; Python's own limit is restored afterwards."""
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
        self.program, self.explain = program, explain
        self.fast = fast or (lambda _: ())
        self.options = options or Options()
        self.tally = Tally() if self.options.instrument else None
        self.weights = WeightReader(files, headers)
        self.recursive = is_recursive(program)
        self._extended: CompiledCode | None = None
        self._plans: dict[str, Plans] = {}
        self._fast: dict[tuple[str, bool], tuple[CompiledCode, ...]] = {}
        self._lock = RLock()
        self.compiled = 0
        self.code = self._compiled(self.options)

    def _compiled(self, options: Options) -> CompiledCode:
        code = self._code(self.program, options)
        self.compiled += 1
        self.attempt(code.init)
        return code

    def _code(self, program: core.Program, options: Options) -> CompiledCode:
        code = compile_program(program, self.weights, options, self.tally)
        if options.instrument:
            for name in [*(f.name for f in program.functions), *(i.name for i in program.impls)]:
                code.namespace["h_" + mangle(name)] = partial(self._hosted, name, False)
                code.namespace["i_" + mangle(name)] = partial(self._hosted, name, True)
        return code

    def _beside(self, general: CompiledCode, program: core.Program, options: Options | None = None) -> CompiledCode:
        """Compile a program with the consts of other code."""
        code = self._code(program, options or general.options)
        code.namespace.update((n, v) for n, v in general.namespace.items() if n.startswith("c_"))
        return code

    def count(self, tally: Tally | None) -> None:
        """Count each check at its place from now on; without a tally, count none."""
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

    def codes(self) -> tuple[CompiledCode, ...]:
        """All code that may have run."""
        more = () if self._extended is None else (self._extended,)
        return self.code, *more, *(code for codes in self._fast.values() for code in codes)

    def plan_counts(self) -> dict[str, PlanCounts]:
        """The counts of plans, by the function that was called."""
        return {name: plans.counts() for name, plans in self._plans.items()}

    def _planned(self, name: str, args: Sequence[RunValue], decided: bool) -> Made | None:
        """Return code that runs calls with such arguments, if its entry check accepts them; code for a hint comes first, as
        it asks for more."""
        with self._lock:
            general = self.code_for(args)
            for code in (*self._hinted(name, general), general):
                if code.admits(name, args, decided=decided and code is general):
                    return code.behind_entry_check(name), partial(self._refined, code, name)
            return None

    def _refined(self, code: CompiledCode, name: str, args: Sequence[RunValue]) -> Compiled | None:
        """The same code with the answers that shapes give; None if there is nothing to ask."""
        with self._lock:
            run = code.planner.entered(name, args) if code.planner.asks(name) else None
            return None if run is None else quiet(run)

    def _hinted(self, name: str, general: CompiledCode) -> tuple[CompiledCode, ...]:
        """The code of a function under each hint for it, with the consts of the general code."""
        key = name, general.options.direct
        if key not in self._fast:
            self._fast[key] = tuple(self._beside(general, program) for program in self.fast(name))
        return self._fast[key]

    def _hosted(self, name: str, decided: bool, *args: RunValue, **named: RunValue) -> RunValue:
        """Run a call of a function inside a program whose plans are counted."""
        run = self.plans(name).find(args, decided=decided) if not named else None
        return (run or self.code_for(args).function(name))(*args, **named)

    def code_for(self, args: Sequence[object]) -> CompiledCode:
        """The code for a call with these arguments: NumPy's functions are called directly only if all dtypes are plain."""
        if not self.code.options.direct or all(map(is_plain, args)):
            return self.code
        if self._extended is None:
            self._extended = self._compiled(replace(self.options, direct=False))
        return self._extended

    def attempt(self, action: Callable[..., object], *args: object) -> RunValue:
        """Call generated code; a failure becomes a ShapeError, and pytest's traceback ends before this call."""
        __tracebackhide__ = True
        try:
            return deeply(action, *args) if self.recursive else action(*args)
        except RUNTIME_ERRORS as problem:
            raise self.explained(problem) from cause_of(problem)

    def explained(self, problem: BaseException) -> BaseException:
        """Return a ShapeError for a failure of the program; a bug of ours, or the user's own exception, unchanged."""
        found = failure(problem)
        if found is not None and self.tally is not None:
            self.tally.saw(found)
        return problem if found is None else ShapeError(diagnose(found), met(found), self.explain)

    def function(self, name: str) -> core.Function | None:
        """The function that a user may call by this name, or None."""
        found = next((f for f in self.program.functions if f.name == name), None)
        impls = next((i for i in self.program.impls if i.name == name), None)
        return as_called(self.program, impls) if found is None and impls is not None else found

    def call(self, name: str, args: Sequence[object]) -> RunValue:
        """Call a function with converted arguments."""
        __tracebackhide__ = True
        run = self.plans(name).find(args) or self.code_for(args).function(name)
        found = outward(self.attempt(run, *args))
        try:
            return own(found, args)
        except MemoryError as problem:  # a view of an argument may have more elements than fit into memory
            function = self.function(name)
            place = NOWHERE if function is None else function.span
            message = f"the result of @{name} needs more memory than there is: {problem}"
            raise ShapeError(error(codes.R402, message, place)) from None

    def script(self) -> Namespace:
        """Run the script; return its names with their values, in order."""
        return {name: outward(value) for name, value in self.attempt(self.code.main).items()}
