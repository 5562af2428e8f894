"""A program's files as tables: the function, const or type that a name means in each file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, assert_never

from ..lang import codes, core, sweet
from ..lang.diagnostics import Diagnostic, Edit, Label, RxError, error
from ..lang.given import Given
from ..lang.modules import Loaded, Modules
from ..lang.node import Node
from ..lang.source import Placed, Source, Span
from ..lang.walk import walk
from ..ops import elsewhere
from ..ops.model import Primitive
from ..ops.registry import names as primitive_names
from .errors import Broken, fail, nearest, problem
from .scope import Scope, ScopeEntry
from .spelt import Spelt

Lookup = Callable[[str], Primitive | None]
R = TypeVar("R")


class KeptItem:
    """Earlier translations of a source's item, valid as long as all the items that it depends on are unchanged; `words` are
    the names in those."""

    __slots__ = ("words", "made")

    def __init__(self, words: frozenset[str]) -> None:
        self.words = words
        self.made: dict[object, Any] = {}


class ProgramPart(Node):
    """The part of a program to translate: the items of the sources in `whole`, and of those in `heads` the functions'
    signatures. The names of all others are known. Errors are reported for the sources in `own`, and not for those in `kept`,
    which have one item each and reuse its earlier translation."""

    whole: frozenset[Source]
    heads: frozenset[Source]
    own: frozenset[Source]
    kept: Mapping[Source, KeptItem] = {}

    def has(self, item: Placed) -> bool:
        return item.span.source in self.whole or item.span.source in self.heads


class ParamInfo:
    """One parameter of a function as its callers see it; `sort` is None if its type is wrong."""

    __slots__ = ("name", "sort", "default")

    def __init__(self, name: str, sort: core.Sort | None, default: sweet.Expr | None) -> None:
        self.name, self.sort, self.default = name, sort, default


class FnInfo:
    """A function of the program. `name` is its core name; `form` is sweet, inline, private or extern.

    `result` is its result's sort: None until an unannotated body has been read. `state` is new, working, done or broken.
    `is_choice` tells whether a list of implementations has it: then the leading assertions of its body restrict its calls.
    """

    __slots__ = (
        "decl", "unit", "name", "params", "result", "form", "state", "split", "impl", "functions", "is_choice"
    )  # fmt: skip

    def __init__(self, decl: sweet.FnDecl, unit: Unit, name: str, form: str) -> None:
        self.decl, self.unit, self.name, self.form = decl, unit, name, form
        self.params: tuple[ParamInfo, ...] = ()
        self.result: core.Sort | None = None
        self.state, self.split, self.impl = "new", False, ""
        self.functions: tuple[core.Function, ...] = ()
        self.is_choice = False


class PrimitiveInfo:
    """A primitive, with its name in the core."""

    __slots__ = ("row", "name")

    def __init__(self, row: Primitive, name: str) -> None:
        self.row, self.name = row, name


class ImplsInfo:
    """One name with several implementations; callers see the parameters and the result of `model`: the last one that is a
    function of the program, or the last one if all are primitives."""

    __slots__ = ("item", "name", "choices", "members", "model")

    def __init__(self, item: sweet.Impls, name: str) -> None:
        self.item, self.name = item, name
        self.choices: tuple[str, ...] = ()
        self.members: tuple[FnInfo | PrimitiveInfo, ...] = ()
        self.model: FnInfo | PrimitiveInfo | None = None


# The definitions in a text: `@f = fn`, `let (a, b)`, `const w`, `type T`, `as attn`.
_DEFINES = re.compile(r"@([\w.']+)\s*=|\blet\s+(\([^)=]*\)|[\w']+)|\b(?:const|type|as)\s+([\w']+)")
_NAME = re.compile(r"[A-Za-z_][\w.']*")


def named(text: str) -> set[str]:
    """Return the names that a text seems to define, broken or not."""
    return {name for found in _DEFINES.findall(text) for part in found for name in _NAME.findall(part)}


def bound(*trees: object) -> set[str]:
    """Return the names that trees define."""
    return {node.name for node in walk(*trees) if isinstance(node, sweet.Ident)}


Target = FnInfo | ImplsInfo | PrimitiveInfo


class Unit:
    """One file: its functions, implementations, types and consts by name, and the statements of its script."""

    def __init__(self, loaded: Loaded, symbols: SymbolTable) -> None:
        self.alias, self.folder, self.module = loaded.alias, loaded.folder, loaded.module
        self.links = dict(loaded.links)
        self.symbols = symbols
        self.fns: dict[str, FnInfo] = {}
        self.impls: dict[str, ImplsInfo] = {}
        self.types: dict[str, sweet.TypeDecl] = {}
        self.consts: dict[str, sweet.Const] = {}
        self.script: list[sweet.Stmt] = []
        self.gradients: dict[str, sweet.Gradient] = {}
        self.rules: list[sweet.FnDecl] = []
        self.scope = Scope(symbols.scope)
        self.broken = loaded.broken
        self._lost: set[str] | None = set() if not loaded.broken else None

    def is_lost(self, name: str) -> bool:
        """Whether a name is defined in an unreadable part of the text, so that its uses are not reported."""
        if self._lost is None:
            self._lost = named(self.module.source.text) - bound(self.module)
        return name in self._lost

    def is_given_up(self, span: Span) -> bool:
        """Whether a place lies in an item that the parser patched to read it: errors there may follow from the patch."""
        broken = [b for b in self.broken if b.source is span.source]
        if not broken:
            return False
        items = (i.span for i in self.module.items if i.span.source is span.source)
        around = (i for i in items if i.start <= span.start < max(i.end, i.start + 1))
        return any(item.start <= b.start <= item.end for item in around for b in broken)

    def qualified(self, name: str) -> str:
        return f"{self.alias}.{name}" if self.alias else name


_ROOM, _LETTERS_OF_A_PART = 50_000, 2


class SymbolTable:
    """The whole program. `scope` holds the consts of all files under unambiguous names (`::attn.width`)."""

    def __init__(
        self, modules: Modules, lookup: Lookup, given: Sequence[Given] = (), part: ProgramPart | None = None
    ) -> None:
        self.lookup, self.part = lookup, part
        # Conditions on entry to functions, beside those in the program.
        self.given = given
        self.diagnostics: list[Diagnostic] = []
        self.scope = Scope()
        self.units = [Unit(loaded, self) for loaded in (*modules.imports, modules.entry)]
        self.by_alias = {u.alias: u for u in self.units}
        self.entry = self.units[-1]
        self.names: set[str] = set()
        # The places of names that an error reports as misspelt.
        self.misspelt: set[Span] = set()
        self.rings: set[frozenset[str]] = set()
        self.comparisons = 20_000
        self.gradients: list[core.Gradient] = []
        self.rules: list[core.Rule] = []
        # The number of parts that further expanded types may have in all, more in a longer program.
        self.room = _ROOM + sum(len(u.module.source.text) for u in self.units) // _LETTERS_OF_A_PART
        self.parts = 0  # those left to the current type
        # By identity of file and type: the type, its expansion, and the number of its parts.
        self.expanded: dict[tuple[int, int], tuple[sweet.Type, sweet.Type, int]] = {}
        self.const_names: dict[tuple[str, str], str] = {}
        self._core_names: set[str] = set()
        self._spelt: dict[int, tuple[Spelt, Spelt]] = {}
        self._primitives: dict[str, PrimitiveInfo | None] = {}
        for unit in self.units:
            self._gather(unit)
        self._name_consts()

    def wants(self, item: Placed) -> bool:
        """Whether more than the name of an item matters."""
        return self.part is None or self.part.has(item)

    def spelt(self, item: sweet.Item) -> tuple[Spelt, Spelt]:
        """Return the words of an item: those of its head, and those of a function's body."""
        if id(item) not in self._spelt:
            if isinstance(item, sweet.FnDecl):
                fn = item.fn
                head = Spelt(item.name, fn.params, fn.result, fn.where, fn.checks)
                self._spelt[id(item)] = head, Spelt(fn.body)
            else:
                self._spelt[id(item)] = Spelt(item), Spelt()
        return self._spelt[id(item)]

    def is_told(self, item: Placed) -> bool:
        """Whether errors of an item are reported."""
        return self.part is None or item.span.source in self.part.own

    def is_head(self, item: Placed) -> bool:
        """Whether only the signature of a function matters."""
        return self.part is not None and item.span.source not in self.part.whole

    def kept(self, item: Placed, name: str, make: Callable[[], R]) -> R:
        """Return the translation of an item that is called `name`, or the earlier one if all names come out the same."""
        kept = self.part.kept.get(item.span.source) if self.part is not None else None
        if kept is None:
            return make()
        taken = frozenset(n for n in self.const_names.values() if n in kept.words or n.endswith("'"))
        if (name, taken) not in kept.made:
            kept.made[name, taken] = make()
        found: R = kept.made[name, taken]
        return found

    # Tables

    def _gather(self, unit: Unit) -> None:
        places: dict[str, sweet.Ident] = {}
        for item in unit.module.items:
            match item:
                case sweet.FnDecl(prefixes=("vjp",)):
                    if self._is_new(item.name, f"vjp @{item.name.name}", places):
                        unit.rules.append(item)
                case sweet.FnDecl():
                    self.function(unit, item, places)
                case sweet.Impls():
                    if self._is_new(item.name, f"@{item.name.name}", places):
                        unit.impls[item.name.name] = ImplsInfo(item, unit.qualified(item.name.name))
                        self.names.add(unit.qualified(item.name.name))
                case sweet.Const():
                    if self._is_new(item.name, item.name.name, places):
                        unit.consts[item.name.name] = item
                case sweet.TypeDecl():
                    if self._is_new(item.name, item.name.name, places):
                        unit.types[item.name.name] = item
                case sweet.Gradient():
                    if self._is_new(item.name, f"@{item.name.name}", places):
                        unit.gradients[item.name.name] = item
                case sweet.Import():
                    pass
                case sweet.Let() | sweet.Assert() | sweet.ExprStmt():
                    unit.script.append(item)
                case _:
                    assert_never(item)
        self._script_or_main(unit)

    def function(self, unit: Unit, item: sweet.FnDecl, places: dict[str, sweet.Ident]) -> None:
        if not self._is_new(item.name, f"@{item.name.name}", places):
            return
        form = next((p for p in ("private", "inline", "extern") if p in item.prefixes), "sweet")
        unit.fns[item.name.name] = FnInfo(item, unit, unit.qualified(item.name.name), form)
        self.names.add(unit.qualified(item.name.name))
        if "checkpoint" in item.prefixes:
            self.rules.append(core.Rule(item.span, unit.qualified(item.name.name)))

    def _is_new(self, name: sweet.Ident, key: str, places: dict[str, sweet.Ident]) -> bool:
        first = places.setdefault(key, name)
        if first is name:
            return True
        label = Label(first.span, "the first definition")
        self.diagnostics.append(error(codes.E203, f"`{key}` is defined twice", name.span, labels=(label,)))
        return False

    def _script_or_main(self, unit: Unit) -> None:
        main = unit.fns.get("main")
        if main is None or not unit.script:
            return
        label = Label(main.decl.name.span, "@main is here")
        self.diagnostics.append(
            error(
                codes.E213,
                "a file has a script or @main, not both",
                unit.script[0].span,
                labels=(label,),
                help="move these statements into @main",
            )  # fmt: skip
        )

    def _name_consts(self) -> None:
        """Choose the core names of consts: those of imports are `attn_width`, primed if a file uses that name."""
        taken: set[str] = set()
        for unit in self.units:
            for name in filter(lambda n: self.wants(unit.consts[n]), unit.consts):
                core_name = unit.qualified(name).replace(".", "_")
                while unit.alias and (core_name in taken or self._is_written(core_name)):
                    core_name += "'"
                taken.add(core_name)
                self.const_names[unit.alias, name] = core_name
                self._core_names.add(core_name)

    def _is_written(self, name: str) -> bool:
        """Whether a file uses a name."""
        there = (u for u in self.units if name in u.module.source.text)
        items = (item for unit in there for item in filter(self.wants, unit.module.items))
        return any(name in part.identifiers for item in items for part in self.spelt(item))

    # Consts

    def bind_const(self, unit: Unit, entry: ScopeEntry) -> None:
        """Make a const visible: in its file by its name, everywhere by its unambiguous one."""
        unit.scope.bind(entry)
        self.scope.entries[f"::{unit.qualified(entry.name)}"] = entry

    def foreign_const(self, unit: Unit, alias: str, name: str) -> ScopeEntry | None:
        """Return the const that this file calls `attn.width`."""
        target = self.by_alias.get(unit.links.get(alias, "?"))
        return None if target is None else target.scope.entries.get(name)

    def is_gone(self, unit: Unit, alias: str, name: str) -> bool:
        """Whether a name of an import was lost with its file, or with an unreadable part of it."""
        other = self.by_alias.get(unit.links.get(alias, "?"))
        return other is None or other.is_lost(name)

    def is_foreign(self, unit: Unit, name: str) -> bool:
        """Whether a core name belongs to a const that this file does not see: the file's own names have to avoid it."""
        return name not in unit.consts and name in self._core_names

    # Functions

    def is_private(self, core_name: str) -> bool:
        """Whether a core name is that of an implementation (or of an extern's callable), not of a wrapper or a primitive."""
        for unit in self.units:
            for name, info in unit.fns.items():
                if unit.qualified(name) == core_name:
                    return info.form == "private"
                if info.impl == core_name:
                    return True
            if any(unit.qualified(name) == core_name for name in unit.impls):
                return False
        return self.lookup(core_name.removeprefix("prelude.")) is None

    def primitive(self, name: str) -> PrimitiveInfo | None:
        if name not in self._primitives:
            row, written = self.lookup(name), f"prelude.{name}" if name in self.names else name
            self._primitives[name] = None if row is None else PrimitiveInfo(row, written)
        return self._primitives[name]

    def target(self, unit: Unit, name: str) -> Target | None:
        """Return the function that `@name` means in a file."""
        if name in unit.fns:
            return unit.fns[name]
        if name in unit.impls:
            return unit.impls[name]
        head, _, rest = name.partition(".")
        if head == "prelude" and rest:
            return self.primitive(rest)
        if rest and head in unit.links:
            other = self.by_alias.get(unit.links[head])
            return None if other is None else other.fns.get(rest) or other.impls.get(rest)
        return self.primitive(name)

    def called(self, unit: Unit, callee: sweet.FnName) -> Target:
        """Return the callee; if there is none, raise an error that suggests the nearest name."""
        found = self.target(unit, callee.name)
        if found is not None:
            return found
        if unit.is_lost(callee.name):
            raise Broken
        head, _, rest = callee.name.partition(".")
        other = self.by_alias.get(unit.links.get(head, "?"))
        home, own = (unit, callee.name) if other is None else (other, rest)
        wrapper = next((n for n, info in home.fns.items() if info.impl == home.qualified(own)), None)
        if wrapper is not None:
            raise _is_private(callee, f"{head}.{wrapper}" if other is not None else wrapper)
        if rest and (unit.is_lost(head) or (other is not None and other.is_lost(rest))):
            raise Broken
        if rest and head in unit.links and unit.links[head] not in self.by_alias:
            raise Broken
        if rest and head != "prelude" and head not in unit.links:
            known = nearest(head, unit.links)
            help = f"`@{known}.{rest}`" if known else elsewhere.of_library(head, rest)
            help = help or f'`import "{head}.rx"` at the top of the file'
            fail(codes.E202, f"there is no import called `{head}`", callee.span, help=help)
        help = elsewhere.otherwise(callee.name)
        meant = () if help else self._meant(unit, callee.name)
        raise problem(codes.E202, f"there is no function `@{callee.name}`", callee.span, help=help, meant=meant)

    def refuse_private(self, info: FnInfo, callee: sweet.FnName, caller: str | None) -> None:
        """Reject a call of a `private` function outside its wrapper, whose assertions it assumes."""
        if info.form != "private":
            return
        wrappers = [w for w in info.unit.fns.values() if w.form == "inline" and _calls(w, info.decl.name.name)]
        own = info.decl.name.name.rstrip("'").removesuffix("_impl")
        wrapper = next((w for w in wrappers if w.decl.name.name == own), wrappers[0] if wrappers else None)
        if wrapper is None or wrapper.name != caller:
            head = callee.name.removesuffix(info.decl.name.name)
            raise _is_private(callee, f"{head}{wrapper.decl.name.name}" if wrapper is not None else None)

    def _meant(self, unit: Unit, name: str) -> Iterator[str]:
        """Yield the equivalents of another library's name, else the nearest name."""
        found = tuple(n for n in elsewhere.primitives(name) if self.lookup(n) is not None)
        near = None if found or not self.may_compare() else self.nearest(name, list(self._known(unit)))
        yield from (f"@{n}" for n in (found if near is None else (near,)))

    def may_compare(self) -> bool:
        """Whether a wrong name is still compared with all others: of thousands, not every one gets a suggestion."""
        return self.comparisons > 0

    def nearest(self, name: str, candidates: Sequence[str]) -> str | None:
        """Return the name that is most likely meant."""
        self.comparisons -= len(candidates)
        return nearest(name, candidates)

    def _known(self, unit: Unit) -> Iterator[str]:
        yield from unit.fns
        yield from unit.impls
        for alias, canonical in unit.links.items():
            for name in self.by_alias[canonical].fns if canonical in self.by_alias else ():
                yield f"{alias}.{name}"
        yield from (n for n in primitive_names() if self.lookup(n) is not None)

    def once(self, ring: frozenset[str]) -> None:
        """Record a cycle of definitions, which is reported once; raise Broken if it was."""
        if ring in self.rings:
            raise Broken
        self.rings.add(ring)

    def report(self, problem: RxError) -> None:
        self.diagnostics.extend(problem.diagnostics)

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Report an error raised inside, and end the block."""
        try:
            yield
        except RxError as problem:
            self.report(problem)

    def certain(self) -> list[Diagnostic]:
        """Return the diagnostics that cannot follow from a syntax error."""
        return [d for d in self.diagnostics if not any(u.is_given_up(d.span) for u in self.units)]


def _calls(wrapper: FnInfo, name: str) -> bool:
    return any(isinstance(n, sweet.FnName) and n.name == name for n in walk(wrapper.decl.fn.body))


def _is_private(callee: sweet.FnName, wrapper: str | None) -> RxError:
    """Return the error of a call that bypasses a wrapper, with the fix."""
    whose = f"@{wrapper}" if wrapper is not None else "its wrapper"
    return RxError(
        error(
            codes.E224, f"@{callee.name} is private: only {whose} calls it", callee.span,
            help=f"`@{wrapper}`, which checks the arguments first" if wrapper is not None else None,
            edits=(Edit(callee.span, f"@{wrapper}"),) if wrapper is not None else (),
        )
    )  # fmt: skip
