"""Sweet program to core program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..lang import codes, core
from ..lang.diagnostics import Diagnostic, RxError, error, in_order
from ..lang.given import Given
from ..lang.modules import Modules
from ..lang.walk import walk
from ..ops.model import Primitive
from . import applied, dtype_names
from .code import Hooks
from .consts import consts
from .declarations import declare
from .function_values import lambda_
from .functions import Translator
from .gradients import derive
from .implementations import compare_results, gather
from .loops import loop
from .script import Script
from .sorts import expand
from .statements import block
from .symbols import FnInfo, ImplsInfo, ProgramPart, SymbolTable
from .values import value


class CallTable(dict[str, list[core.FnRef]]):
    """The calls in functions, by their names, found on first access: each takes a walk over a whole function."""

    def __init__(self, infos: Sequence[FnInfo]) -> None:
        super().__init__()
        self.infos = {i.name: i for i in infos}

    def __missing__(self, name: str) -> list[core.FnRef]:
        self[name] = found = [c for f in self.infos[name].functions if f.kind != "extern" for c in _called(f)]
        return found


def desugar(
    modules: Modules,
    lookup: Callable[[str], Primitive | None],
    given: Sequence[Given] = (),
    part: ProgramPart | None = None,
) -> tuple[core.Program, tuple[Diagnostic, ...]]:
    """Return the core of a program, and all errors in its names, sorts and arguments.

    Functions with errors are left out, and so are their callers. The conditions in `given` are checked on entry like a
    `where`. With `part`, only a part of the program is translated.
    """
    symbols = SymbolTable(modules, lookup, given, part)
    derive(symbols)
    declare(symbols)
    hooks = Hooks(value, block, lambda info, span: translator.result(info, span), lambda_, loop)
    translator = Translator(symbols, hooks)
    _types(symbols)
    dtype_names.check(symbols)
    definitions = [c for unit in symbols.units for c in consts(unit, hooks)]
    for unit in symbols.units:
        _implementations(symbols, unit.impls)
    infos = [info for unit in symbols.units for info in unit.fns.values() if symbols.wants(info.decl)]
    for info in translator.in_order(infos):
        translator.translate(info)
    for unit in symbols.units:
        _results(symbols, unit.impls)
    has_script = any(map(symbols.wants, symbols.entry.script))
    main, script = Script(symbols.entry, hooks).run() if has_script else (None, ())
    calls = CallTable(infos)
    _recursion(symbols, infos, calls)
    functions = _complete(symbols, infos, calls)
    names = {f.name for f in functions}
    impls = tuple(
        core.Impls(i.item.span, i.name, i.choices, tuple(c.span for c in i.item.choices))
        for unit in symbols.units
        for i in unit.impls.values()
        if i.model is not None and all(_is_there(symbols, c, names) for c in i.choices)
    )
    there = names | {i.name for i in impls}
    if main is not None and not all(_is_there(symbols, c.name, there) for c in _called(main)):
        main, script = None, ()
    gradients = tuple(g for g in symbols.gradients if g.name in names)
    rules = tuple(r for r in symbols.rules if r.name is None or r.name in names)
    program = core.Program(functions, impls, tuple(definitions), main, script, gradients, rules)
    return program, tuple(in_order(symbols.certain()))


def _types(symbols: SymbolTable) -> None:
    """Check every `type` item on its own, since an unused one may be wrong too."""
    for unit in symbols.units:
        for decl in filter(symbols.wants, unit.types.values()):
            with symbols.reporting():
                applied.sorts(decl, expand(unit, decl.type, (unit.qualified(decl.name.name),)))


def _implementations(symbols: SymbolTable, impls: dict[str, ImplsInfo]) -> None:
    for info in impls.values():
        if symbols.wants(info.item):
            with symbols.reporting():
                gather(symbols, info)


def _results(symbols: SymbolTable, impls: dict[str, ImplsInfo]) -> None:
    for info in impls.values():
        if symbols.wants(info.item):
            try:
                compare_results(info)
            except RxError as problem:
                symbols.report(problem)
                info.model, info.choices = None, ()


# Recursion


def _recursion(symbols: SymbolTable, infos: list[FnInfo], called: CallTable) -> None:
    """Reject cycles among functions without annotated results, which are read at each call."""
    open_ = {i.name: i for i in infos if i.form == "sweet" and not i.split and i.state == "done"}
    spelt = {i.decl.name.name for i in open_.values()}
    callers = {
        i.name for i in open_.values() if any(_last(n) in spelt for p in symbols.spelt(i.decl) for n in p.functions)
    }
    calls = {name: [c for c in called[name] if c.name in open_] if name in callers else [] for name in open_}
    state: dict[str, int] = {}
    for name in open_:
        _visit(symbols, name, calls, state, open_)


def _last(name: str) -> str:
    """Return `f` for `other.f`."""
    return name.rpartition(".")[2]


def _visit(
    symbols: SymbolTable,
    start: str,
    calls: dict[str, list[core.FnRef]],
    state: dict[str, int],
    open_: dict[str, FnInfo],
) -> None:
    """Walk the calls depth first, without recursion; a call of a function that is being visited closes a cycle."""
    if state.get(start):
        return
    state[start] = 1
    stack: list[tuple[str, Iterator[core.FnRef]]] = [(start, iter(calls[start]))]
    while stack:
        name, rest = stack[-1]
        call = next(rest, None)
        if call is None:
            state[name] = 2
            stack.pop()
        elif state.get(call.name) == 1:
            _refuse_recursion(symbols, open_[call.name], call)
        elif not state.get(call.name):
            state[call.name] = 1
            stack.append((call.name, iter(calls[call.name])))


def _refuse_recursion(symbols: SymbolTable, info: FnInfo, call: core.FnRef) -> None:
    info.state = "broken"
    symbols.diagnostics.append(
        error(
            codes.E212,
            f"@{info.name} calls itself: its result has to be annotated",
            call.span,
            help=f"annotate the result: `@{info.decl.name.name} = fn(...) : Tensor([...], ...)`",
        )  # fmt: skip
    )


# Complete functions


def _called(function: core.Function) -> Iterator[core.FnRef]:
    yield from (n for n in walk(function.checks, function.body, function.promises) if isinstance(n, core.FnRef))


def _is_there(symbols: SymbolTable, name: str, names: set[str]) -> bool:
    return name in names or symbols.lookup(name.removeprefix("prelude.")) is not None


def _complete(symbols: SymbolTable, infos: list[FnInfo], called: CallTable) -> tuple[core.Function, ...]:
    """Return the functions without those that call a missing one."""
    kept = {i.name: i for i in infos if i.state == "done"}
    impls = {i.name: set(i.choices) for unit in symbols.units for i in unit.impls.values()}
    if symbols.part is None and not impls and len(kept) == len(infos):  # every callee exists, or an error was reported
        return tuple(f for i in infos for f in i.functions)
    needs = {n: {c.name for c in called[n]} for n in kept}
    while True:
        names = {f.name for i in kept.values() for f in i.functions}
        names |= {n for n, choices in impls.items() if choices and all(_is_there(symbols, c, names) for c in choices)}
        lost = [n for n in kept if not all(_is_there(symbols, c, names) for c in needs[n])]
        if not lost:
            return tuple(f for i in kept.values() for f in i.functions)
        for name in lost:
            del kept[name]


__all__ = ["desugar"]
