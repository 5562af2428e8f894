"""The program that is checked: its functions by name, their interfaces for callers, the names that are taken."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import NoneType
from typing import Any, NamedTuple, TypeGuard

from ..lang import core
from ..lang.node import PROVENANCE, Node
from ..lang.walk import depth, walk
from ..ops.model import Primitive, TensorInfo
from .known.values import Env
from .solver.terms import A_FACT
from .wildcards import Solutions

Check = core.Assert | core.MatchShape
_WORD = re.compile(r"[\w.']+")
# Fields that are no part of what a program does: its provenance and the known facts.
_BESIDE = PROVENANCE | core.KNOWN


User = core.Function | core.ConstDef | core.Impls


class Uses(NamedTuple):
    """The functions and the consts that something names; the consts may include some more."""

    functions: frozenset[str]
    consts: frozenset[str]


class ProgramContext:
    """The program's functions by name, its primitives, its consts; data that the walks over all functions share."""

    def __init__(
        self,
        core_program: core.Program,
        lookup: Callable[[str], Primitive | None],
        header: Callable[[core.Load], TensorInfo | None],
        like: ProgramContext | None = None,
    ) -> None:
        """`like` is the same program, measured before."""
        self.functions = {f.name: f for f in core_program.functions}
        self.impls = {i.name: i for i in core_program.impls}
        self.lookup, self.header = lookup, header
        self.consts: Env = {}
        # The solution of each -1 of a reshape, once its function has been walked.
        self.solutions = Solutions()
        self._const_defs = {c.name: c for c in core_program.consts}
        self.uses: dict[int, Uses] = {} if like is None else like.uses
        self._places = {name: i for i, name in enumerate(self._const_defs)}
        # Values that a script prints have names there, written or not.
        self.main = core_program.main
        self.printed = frozenset(core_program.script)
        # Every name of the program; simplification makes other ones.
        self._measured: dict[str, Measured] = measured(core_program) if like is None else like._measured
        lengths = {name: m.length for name, m in self._measured.items()}
        bound = [m.bound for m in self._measured.values()]
        self.taken = frozenset(c.name for c in core_program.consts).union(*bound)
        # The steps of reasoning reserved for each function.
        self.shares = shares(lengths)
        self.length = sum(lengths.values())
        made = sum(lengths.get(name, 0) for name in _derived(core_program))
        self.budget = budget(self.length - made) + _A_DERIVED_STATEMENT * made
        # The steps for walking beside them.
        checks = sum(len(f.checks) for f in core_program.functions)
        self.walks = _WALKS + _WALKS_OF_A_LINE * _lines(core_program) + A_FACT * checks
        # The number of calls and checks of inlined bodies that may still be walked.
        self.fuel = _ALL_FUEL + _FUEL_OF_A_NAME * sum(map(len, bound))
        self._fuel_for: dict[str, int] = {} if like is None else like._fuel_for
        self._depths: dict[str, int] = {} if like is None else like._depths
        # The number of nodes left of inlined bodies that may still be read, and written into callers.
        self.room = _ALL_ROOM + _ROOM_OF_A_NAME * sum(map(len, bound))
        # The checked functions in whose bodies nothing can fail.
        self.sure: set[str] = set()
        # The simplified body of each function; the number of open checks and choices in it and in bodies inlined into it.
        self.bodies: dict[str, core.Block] = {}
        self._open: dict[str, int] = {}
        # Those of them that end, run no Python code and refuse no elements.
        self.total: set[str] = set()
        # The name to explain: bindings in an arm are explained while its facts hold.
        self.explained: str | None = None

    def consts_used(self, user: User) -> list[str]:
        """The consts that something names, directly or through calls, in their order."""
        if not self.consts:
            return []
        found: set[str] = set()
        todo, seen = [user], {id(user)}
        while todo:
            uses = self.uses_of(todo.pop())
            found |= uses.consts
            for used in map(self._callable, uses.functions):  # consts that a const is made of are known by then
                if id(used) not in seen:
                    seen.add(id(used))
                    todo.append(used)
        return sorted(found & self.consts.keys(), key=self._places.__getitem__)

    def _callable(self, name: str) -> core.Function | core.Impls:
        return self.functions.get(name) or self.impls[name]

    def uses_of(self, user: User) -> Uses:
        """The functions and consts that something names directly."""
        found = self.uses.get(id(user))
        if found is None:
            functions = frozenset(n for n in self._functions_named(user) if n in self.functions or n in self.impls)
            consts = frozenset(w for w in _words(user) if w in self._const_defs) if self._const_defs else frozenset()
            found = self.uses[id(user)] = Uses(functions, consts)
        return found

    def _functions_named(self, user: User) -> Iterator[str]:
        """The functions that something calls, or takes as values."""
        if isinstance(user, core.Impls):
            yield from user.choices
        if isinstance(user, core.Function) and user.impl is not None:
            yield user.impl
        known = self._measured.get(user.name) if self.functions.get(user.name) is user else None
        yield from callees(walk(user)) if known is None else known.callees

    def left_open_in(self, name: str) -> int:
        """The number of open checks in the body of a checked function; 0 for others."""
        if name not in self._open and name in self.bodies:
            self._open[name] = left_open(self, self.bodies[name])
        return self._open.get(name, 0)

    def callees_first(self) -> list[core.Function]:
        """The functions, callees before their callers except in recursion."""
        found: dict[str, core.Function] = {}
        seen: set[str] = set()
        todo = [(name, False) for name in reversed(self.functions)]
        while todo:
            name, is_ready = todo.pop()
            if is_ready:
                found[name] = self.functions[name]
            elif name not in seen:
                seen.add(name)
                todo.append((name, True))
                named = self.uses_of(self.functions[name]).functions
                members = {m for n in named if n in self.impls for m in self.impls[n].choices}
                todo.extend((n, False) for n in sorted(named | members, reverse=True) if n in self.functions)
        return list(found.values())

    @cached_property
    def inner(self) -> frozenset[str]:
        """In a program that begins with a script or with @main, the functions that others call: their entry checks are
        decided at these calls."""
        begin = self.main if self.main is not None else self.functions.get("main")
        callers = (*self.functions.values(), *((self.main,) if self.main is not None else ()))
        called = (name for f in callers for name in self.uses_of(f).functions if name != f.name)
        return frozenset(called) if begin is not None else frozenset()

    def fuel_of_a_function(self) -> int:
        """The number of calls and checks of inlined bodies that are walked for a function; few when the program's are used
        up."""
        return max(min(_FUEL, self.fuel), _LEAST_FUEL)

    def fuel_for(self, identity: str, function: core.Function) -> int:
        """The number of calls and checks in an inlined body, with its own call."""
        if identity not in self._fuel_for:
            counted = core.Call | core.Let | core.Assert | core.MatchShape
            self._fuel_for[identity] = 1 + sum(isinstance(node, counted) for node in walk(function))
        return self._fuel_for[identity]

    def depth_of(self, identity: str, function: core.Function) -> int:
        """The nesting depth of a function's body."""
        if identity not in self._depths:
            self._depths[identity] = depth(function.body)
        return self._depths[identity]

    def implementation(self, wrapper: core.Function) -> core.Function | None:
        """The private function that a wrapper calls for its result, if it has one."""
        return self.functions.get(wrapper.impl) if wrapper.impl is not None else None

    def is_opaque(self, wrapper: core.Function) -> bool:
        """Whether callers know the result only by its annotation."""
        return wrapper.impl is not None or core.is_signature(wrapper)


class Measured(NamedTuple):
    """Measures of a function: every name that it binds, except in the annotations of function parameters; its length, in
    statements like `let y = x + x`; the functions that it names."""

    bound: frozenset[str]
    length: int
    callees: frozenset[str]


def measured(program: core.Program) -> dict[str, Measured]:
    """Measure every function of a program; "" is the script."""
    found = {}
    for function in (*program.functions, *((program.main,) if program.main is not None else ())):
        nodes = list(walk(function))
        named = callees(nodes)
        if core.FnSort in set(map(type, nodes)):
            nodes = list(walk(function, without=_is_sort))
        bound = frozenset(name for node in nodes for name in _bound(node))
        found["" if function is program.main else function.name] = Measured(bound, len(nodes) // _NODES, named)
    return found


def callees(nodes: Iterable[Node]) -> frozenset[str]:
    return frozenset(node.name for node in nodes if type(node) is core.FnRef)


def bound_below(piece: object) -> Iterator[str]:
    """The names bound in a piece of a program."""
    return (name for node in walk(piece, without=_is_sort) for name in _bound(node))


def _is_sort(node: Node) -> bool:
    return type(node) is core.FnSort


def _bound(node: Node) -> Iterable[str]:
    """The names that a node itself binds."""
    binds = _BINDERS.get(type(node))
    return () if binds is None else binds(node)


def _params(node: core.Function | core.Lambda) -> list[str]:
    return [p.name for p in node.params]


def _of_turns(node: core.Loop) -> list[str]:
    return [*(c.name for c in node.carries), *(() if node.index is None else (node.index,))]


_BINDERS: dict[type[Node], Callable[[Any], Iterable[str]]] = {
    core.Function: _params, core.Lambda: _params, core.Let: core.bound_names, core.MatchShape: core.bound_names,
    core.Loop: _of_turns,
}  # fmt: skip


# Steps reserved for a function; for all functions together; added by each statement; taken away by each statement between
# _FEW and _MANY, because a long program takes seconds before any reasoning. Statements beyond _SCREEN, the number in a screen
# full of long lines, add steps again.
_A_FUNCTION, _ALL, _A_STATEMENT, _LESS = 30_000, 60_000, 100, 16
_FEW, _MANY, _SCREEN = 300, 3_000, 20_000
_BUDGET, _LEAST_BUDGET, _LESS_BUDGET = 147_000, 12_000, 45
_A_DERIVED_STATEMENT = 40  # a short program may have a long gradient
_NODES = 7  # the nodes of a statement


# Walking costs nothing within the size of the text: a call or two in each line, a fact for each check of a signature, and a
# few screens full.
_WALKS, _WALKS_OF_A_LINE = 60_000, 300
# Calls and checks of inlined bodies: for one function, for one after the program's are used up, for the program, and for each
# name in it.
_FUEL, _LEAST_FUEL, _ALL_FUEL, _FUEL_OF_A_NAME = 3_000, 20, 4_000, 2
# Nodes left of them: for the program, and for each name in it.
_ALL_ROOM, _ROOM_OF_A_NAME = 30_000, 50


def shares(lengths: Mapping[str, int]) -> dict[str, int]:
    """The steps of reasoning reserved for each function, by its length."""
    wanted = {function: _A_FUNCTION + _of_length(length) for function, length in lengths.items()}
    there = _ALL + _of_length(sum(lengths.values()))
    everything = max(sum(wanted.values()), there)
    return {function: steps * there // everything for function, steps in wanted.items()}


def _of_length(length: int) -> int:
    many = max(min(length, _MANY) - _FEW, 0)
    return _A_STATEMENT * (min(length, _FEW) + max(length - _SCREEN, 0)) - _LESS * many


def budget(length: int) -> int:
    """The steps of reasoning for all functions of a program, beside those reserved for each: questions after that are
    answered only if they are plain."""
    return max(_BUDGET - _LESS_BUDGET * max(length - _FEW, 0), _LEAST_BUDGET)


def _lines(program: core.Program) -> int:
    """The number of lines of its functions; in a gradient, which nobody wrote, each statement is a line."""
    derived = _derived(program)
    more = sum(len(f.body.stmts) for f in program.functions if f.name in derived)
    written = {f.span for f in (*program.functions, *((program.main,) if program.main is not None else ()))}
    lines: int = sum(1 + span.text.count("\n") for span in written)
    return more + lines


def _derived(program: core.Program) -> set[str]:
    """The functions whose bodies are gradients."""
    return {f.impl for f in program.functions if f.name in program.derived and f.impl is not None}


_NO_WORDS = frozenset({int, bool, float, NoneType, core.Status})


def _words(user: Node) -> set[str]:
    """Every text in a tree, and every word of the texts with several."""
    found: set[str] = set()
    stack: list[Any] = [user]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is str:
            found.add(node)
        elif kind is tuple or kind is frozenset:
            stack += node
        elif kind not in _NO_WORDS and isinstance(node, Node):
            stack += kind._value(node)
    return found.union(*(_WORD.findall(text) for text in found if not text.isidentifier()))


def is_total(body: core.Block, promises: Iterable[core.Stmt]) -> bool:
    """Whether the simplified body of a function ends and cannot fail."""
    return all(_cannot_fail(node) for node in walk(body, *promises, fields=_BESIDE) if type(node) in _MAY_FAIL)


def left_open(program: ProgramContext, *parts: object) -> int:
    """The number of open points in a simplified piece of a program: checks, arms, and those of its callees."""
    return sum(_left_open(program, node) for node in walk(*parts, fields=_BESIDE) if type(node) in _MAY_BE_OPEN)


_ASKING = frozenset({core.Call, core.Assert, core.MatchShape, core.Stacked})
_MAY_FAIL, _MAY_BE_OPEN = _ASKING | {core.Invariant, core.Loop}, _ASKING | {core.If}


def _left_open(program: ProgramContext, node: Node) -> int:
    if isinstance(node, core.Call):
        callee = program.functions.get(node.callee.name)
        own = callee is not None and not program.is_opaque(callee)
        return node.guard + (program.left_open_in(node.callee.name) if own else 0)
    if isinstance(node, core.Assert | core.MatchShape | core.Stacked):
        return node.status is core.Status.RESIDUAL
    return isinstance(node, core.If)


def is_open(node: Node) -> TypeGuard[core.Call | core.Assert | core.MatchShape | core.Stacked]:
    """Whether a node of a simplified program is left to the run."""
    if isinstance(node, core.Call):
        return bool(node.guard)
    return isinstance(node, core.Assert | core.MatchShape | core.Stacked) and node.status is core.Status.RESIDUAL


def _cannot_fail(node: Node) -> bool:
    if isinstance(node, core.Call):
        return node.sure
    if isinstance(node, core.Invariant):
        return node.entry is node.turn is core.Status.PROVED
    if isinstance(node, core.Assert | core.MatchShape | core.Stacked):
        return node.status is core.Status.PROVED
    return not isinstance(node, core.Loop) or node.range is not None
