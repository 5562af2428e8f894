"""The state of translating one function: its scope, the statements made so far, and the names that generated names must
avoid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from ..lang import codes, core, sweet
from ..lang.diagnostics import Label, RxError
from ..lang.dtypes import DTYPES
from ..lang.region import OTHER_WORDS
from ..lang.source import Span
from ..lang.walk import walk
from .errors import Broken, fail
from .scope import SHAPE_SORTS, Scope, ScopeEntry, identifiers
from .sorts import describe
from .symbols import FnInfo, SymbolTable, Unit

Typed = tuple[core.Value, core.Sort]
Made = TypeVar("Made")
_END_A_LOOP = "a loop ends by its condition: `for ... while (...) { ... }`"
# Words of other languages, and the help for each.
_ELSEWHERE = {
    "break": _END_A_LOOP,
    "continue": _END_A_LOOP,
    "pass": "the last expression of a block is its result",
    "None": "leave out an option that you do not want; `None` is a new axis in an index, `-1` a size that a reshape computes",
    "none": "leave out an option that you do not want",
    "return": OTHER_WORDS["return"][1],
    "self": "there are no objects: pass all that a function needs, also weights, as parameters",
    "inf": "`1e999` is infinite",
    "nan": "`0.0 / 0.0` is one, a float64",
    "pi": "write it out: `3.141592653589793`",
}

_MOST_PRIMES = 16  # of a longer row of primes the name has the number


def said_elsewhere(name: str) -> str | None:
    """Return the help for a word of another language."""
    return _ELSEWHERE.get(name)


class FunctionCode:
    """One function during translation.

    `stmts` are the statements of the current block; those that an expression needs first are added there. `function` is its
    name in diagnostics. `hooks` are the translators of values, blocks and function values, which call each other only through
    this class. `may_load` tells whether weights may be loaded, `may_hoist` whether a statement can be put before the current
    one. `opaque` is the extern whose wrapper this is, in core form: the one call of an unknown name in it is its callable.
    `compounds` are the expressions that are bound as if they were names. `bare` has the sort of each lambda in the turns of a
    loop over rows, `firsts` that of each tuple that such a loop begins with; with `sorts`, expressions are read for their
    sorts alone.
    """

    def __init__(self, unit: Unit, function: str | None, taken: set[str], hooks: Hooks) -> None:
        self.unit = unit
        self.symbols: SymbolTable = unit.symbols
        self.function, self.taken = function, taken
        self._primed: dict[str, int] = {}
        self.hooks = hooks
        self.scope = Scope(unit.scope)
        self.stmts: list[core.Stmt] = []
        self.failed, self.ever_failed, self.may_load = False, False, False
        self.may_hoist = True
        self.opaque: FnInfo | None = None
        self.annotated: list[ScopeEntry] = []
        self.compounds: set[str] = set()
        self.bare: dict[int, tuple[sweet.Expr, core.FnSort]] = {}
        self.firsts: dict[int, tuple[sweet.Expr, core.Sort]] = {}
        self.sorts = False

    # Problems

    def report(self, problem: RxError) -> None:
        self.failed = True
        self.symbols.report(problem)

    def take_failure(self) -> bool:
        """Whether something went wrong since the last call of this method."""
        failed, self.failed = self.failed, False
        self.ever_failed = self.ever_failed or failed
        return failed

    def each(self, items: Iterable[Callable[[], Made]]) -> list[Made]:
        """Return several parts of one expression; each is tried, so that a mistake in one does not hide those in the
        others."""
        made: list[Made] = []
        fine = True
        for item in items:
            try:
                made.append(item())
            except RxError as problem:
                self.report(problem)
                fine = False
        if not fine:
            raise Broken
        return made

    # Names

    def fresh(self, base: str) -> str:
        """Return a name that nothing else in the function has."""
        primes, name = 0, base
        if (before := self._primed.get(base, 0)) > _MOST_PRIMES:  # those with fewer primes are taken
            primes, name = before, f"{base}{before}'"
        while name in self.taken or self.scope.find(name) is not None:
            primes += 1
            name = f"{base}{primes}'" if primes > _MOST_PRIMES else base + "'" * primes
        self._primed[base] = primes
        self.taken.add(name)
        return name

    def core_name(self, name: str) -> str:
        """Return the core's name for a user's name: the same, unless a const of another file has it."""
        return self.fresh(name) if self.symbols.is_foreign(self.unit, name) else name

    def bind(self, name: sweet.Ident, sort: core.Sort | None, kind: str, number: sweet.Expr | None = None) -> str:
        """Bind a new name by `let` or as a parameter: tensors may be bound again, shape-level names may not. `_` may be
        repeated, and names nothing."""
        nameless = name.name == "_"
        before = self.scope.find(name.name) if not nameless else None
        if before is not None and (before.is_shape_level or sort in SHAPE_SORTS) and before.sort is not None:
            self.refuse(name, before)
        core_name = self.fresh("unused") if nameless else self.core_name(name.name)
        expr = None if sort is None else core.variable(name.span, core_name, sort)
        self.scope.bind(ScopeEntry(name.name, sort, expr, name.span, kind, literal=number, number=number))
        return core_name

    def aside(self, type_: sweet.Type | None, names: Iterable[sweet.Ident]) -> dict[str, ScopeEntry]:
        """Give a second name to each tensor whose dimensions a type reads but whose name is bound again before that; return
        the entries."""
        asked = {n.value.name for n in walk(type_) if isinstance(n, sweet.Attr) and isinstance(n.value, sweet.Name)}
        found: dict[str, ScopeEntry] = {}
        for name in sorted(asked & {n.name for n in names}):
            entry = self.scope.find(name)
            if entry is not None and entry.sort == core.TENSOR and isinstance(entry.expr, core.Var):
                kept = self.name(entry.at(entry.span), core.TENSOR, name)
                found[name] = ScopeEntry(name, entry.sort, kept, entry.span, entry.kind)
        return found

    @contextmanager
    def where(self, meant: dict[str, ScopeEntry]) -> Iterator[None]:
        """Restore the earlier meanings of some names for a while."""
        now = {name: self.scope.entries.get(name) for name in meant}
        self.scope.entries |= meant
        try:
            yield
        finally:
            for name, entry in now.items():
                self.scope.entries.pop(name)
                if entry is not None:
                    self.scope.bind(entry)

    def refuse(self, name: sweet.Ident, before: ScopeEntry) -> None:
        what = before.sort.name if isinstance(before.sort, core.BaseSort) and before.is_shape_level else "value"
        label = Label(before.span, f"`{name.name}` is bound here")
        fail(
            codes.E204,
            f"`{name.name}` is already a {what} here",
            name.span,
            labels=(label,),
            help="choose another name",
        )

    def entry(self, name: str, span: Span, fits: Callable[[ScopeEntry], bool] = lambda _: True) -> ScopeEntry:
        """Return the entry of a name; raise an error if nothing binds it, Broken if its definition was wrong. `fits` selects
        the names to suggest."""
        found = self.scope.find(name)
        if found is None and self.unit.is_lost(name):
            raise Broken
        if found is None and name in DTYPES:
            fail(codes.E206, f"`{name}` is a DType, and stands where something else is needed", span)
        if found is None:
            help = _ELSEWHERE.get(name) or self._named_in_the_result(name) or self._sizes_at(span)
            fail(
                codes.E201,
                f"nothing is called `{name}` here",
                span,
                help=help,
                meant=() if help else self._meant(name, fits),
            )
        if found.sort is None:
            raise Broken
        return found

    def _named_in_the_result(self, name: str) -> str | None:
        """Return the help for a size or a shape that only the result's type names."""
        info = self.unit.fns.get(self.function or "")
        result = info.decl.fn.result if info is not None else None
        if info is None or result is None or name not in identifiers(result):
            return None
        if name in identifiers(*(p.type for p in info.decl.fn.params if p.type is not None)):
            return None
        shapes = [t.shape for t in walk(result) if isinstance(t, sweet.TensorType)]
        whole = any(isinstance(shape, sweet.Name) and shape.name == name for shape in shapes)
        type_ = f"Tensor({name})" if whole else f"Tensor([{name}])"
        return f"only the result has `{name}`, so the body chooses it and names it: `let y : {type_} = ...`"

    def _sizes_at(self, span: Span) -> str | None:
        """Return the help for a condition from outside the function's file: the sizes that it may use."""
        info = self.unit.fns.get(self.function or "")
        if info is None or info.decl.span.source is span.source:
            return None
        found = {name: self.scope.find(name) for name in self.scope.names()}
        sizes = [name for name, entry in found.items() if entry is not None and entry.kind == "size"]
        return f"its sizes are {', '.join(sizes)}" if sizes else "no size of its parameters has a name"

    def _meant(self, name: str, fits: Callable[[ScopeEntry], bool]) -> tuple[str | None, ...]:
        """Return the nearest of the names that fit."""
        symbols = self.unit.symbols
        if name in ("True", "False"):
            return (name.lower(),)
        if not symbols.may_compare():
            return ()
        found = {n: self.scope.find(n) for n in self.scope.names() if not n.startswith("::")}
        return (symbols.nearest(name, [n for n, entry in found.items() if entry is not None and fits(entry)]),)

    def foreign(self, attr: sweet.Attr) -> ScopeEntry | None:
        """Return the entry of `attn.width`, if `attn` is an import and no name in scope."""
        head = attr.value
        if not isinstance(head, sweet.Name) or head.name not in self.unit.links or self.scope.find(head.name):
            return None
        found = self.symbols.foreign_const(self.unit, head.name, attr.name.name)
        if found is None and self.symbols.is_gone(self.unit, head.name, attr.name.name):
            raise Broken
        if found is None:
            fail(codes.E201, f"`{head.name}` has no const `{attr.name.name}`", attr.span)
        if found.sort is None:
            raise Broken
        return found

    # Blocks

    @contextmanager
    def block(self) -> Iterator[list[core.Stmt]]:
        """Open an inner block, with its own scope and statements."""
        scope, stmts = self.scope, self.stmts
        self.scope, self.stmts = Scope(scope), []
        try:
            yield self.stmts
        finally:
            self.scope, self.stmts = scope, stmts

    def emit(self, *stmts: core.Stmt) -> None:
        self.stmts.extend(stmts)

    def name(self, value: core.Value, sort: core.Sort, base: str) -> core.Value:
        """Name a value by a `let` before the current statement."""
        if not self.may_hoist:
            fail(codes.E221, "this needs a name of its own here", value.span, help="bind it before, and use the name")
        name = self.fresh(base)
        self.emit(core.Let(value.span, (name,), False, sort if sort in SHAPE_SORTS else None, value))
        return core.variable(value.span, name, sort)

    def hoist(self, expr: sweet.Expr, want: core.Sort) -> core.Value:
        """Name a call or an `if` inside a shape-level expression before the statement."""
        value, sort = self.hooks.value(self, expr, want)
        if sort != want:
            fail(codes.E206, f"this is {describe(sort)}; {describe(want)} is needed here", expr.span)
        return self.name(value, sort, "k")


class Translate(Protocol):
    def __call__(self, code: FunctionCode, expr: sweet.Expr, want: core.Sort | None = None) -> Typed: ...


class Hooks:
    """The translators that call each other."""

    __slots__ = ("value", "block", "result", "lambda_", "loop")

    def __init__(
        self,
        value: Translate,
        block: Callable[[FunctionCode, sweet.Block, core.Sort | None], tuple[core.Block, core.Sort]],
        result: Callable[[FnInfo, Span], core.Sort],
        lambda_: Callable[[FunctionCode, sweet.Lambda, core.FnSort | None], Typed],
        loop: Callable[[FunctionCode, sweet.For | sweet.While], Typed],
    ) -> None:
        self.value, self.block, self.result, self.lambda_ = value, block, result, lambda_
        self.loop = loop


def part_name(name: str, index: int) -> str:
    """Return the name of a tuple's part: `out_0` for `out`, and `out_0'` for `out'`, as primes end a name."""
    stem = name.rstrip("'")
    return f"{stem}_{index}{name[len(stem) :]}"


def spelled(span: Span) -> str:
    """Return a piece of source on one line."""
    return " ".join(span.text.split())
