"""A function of the program as one list of statements: its calls written out, each value with a name of its own."""

from __future__ import annotations

from itertools import chain, count
from typing import assert_never

from ..lang import core
from ..lang.node import Node, replace
from ..lang.renaming import renamed
from ..lang.source import Placed
from ..lang.walk import walk

_LEVEL = {"Size", "Shape", "DType", "Bool"}
Names = dict[str, core.Value]


class Flat:
    """Writes statements; `sorts` has the sort of each name that they bind."""

    def __init__(self, functions: dict[str, core.Function], taken: set[str]) -> None:
        self.functions = functions
        self.stmts: list[core.Stmt] = []
        self.sorts: dict[str, str] = {}
        self.taken = taken
        self.open: list[str] = []

    def fresh(self, name: str) -> str:
        """The name, with a number where something has it."""
        base = name.rstrip("'")
        found = next(n for n in chain((base,), (f"{base}_{i}" for i in count(1))) if n not in self.taken)
        self.taken.add(found)
        return found

    def bind(self, name: str, sort: str) -> str:
        made = self.fresh(name)
        self.sorts[made] = sort
        return made

    def call(self, function: core.Function, args: tuple[core.Value, ...], at: Placed) -> core.Value:
        """What a function gives for its arguments, its statements written out."""
        if function.name in self.open:
            raise Unsupported("a function that calls itself", at)
        self.open.append(function.name)
        names: Names = {}
        for param, arg in zip(function.params, args, strict=True):
            names[param.name] = self._given(param, arg, at)
        for stmt in core.statements(function):
            self.stmt(stmt, names)
        result = self.value(function.body.result, names)
        self.open.pop()
        return result

    def _given(self, param: core.Param, arg: core.Value, at: Placed) -> core.Value:
        if isinstance(param.sort, core.FnSort):
            raise Unsupported("a function as an argument", at)
        if isinstance(param.sort, core.BaseSort) and param.sort.name in _LEVEL:
            return self._level(param.name, param.sort, arg, at)
        if isinstance(arg, core.Number):
            return self.name(arg, at, param.name)
        return arg

    def _level(self, name: str, sort: core.BaseSort, value: core.Value, at: Placed) -> core.Value:
        made = self.bind(name, sort.name)
        self.stmts.append(core.Let(at.span, (made,), False, sort, value))
        return core.variable(at.span, made, sort)

    def name(self, value: core.Value, at: Placed, name: str = "t") -> core.Var:
        """A value under a name of its own."""
        if isinstance(value, core.Var):
            return value
        made = self.bind(name, "Tensor")
        self.stmts.append(core.Let(at.span, (made,), False, None, value))
        return core.Var(at.span, made)

    def stmt(self, stmt: core.Stmt, names: Names) -> None:
        match stmt:
            case core.Let(sort=core.BaseSort() as sort, names=(name,)) if sort.name in _LEVEL:
                names[name] = self._level(name, sort, renamed(stmt.value, names), stmt)
            case core.Let(is_tuple=True):
                self._parts(stmt, names)
            case core.Let():
                names[stmt.names[0]] = self.value(stmt.value, names, stmt.names[0])
            case core.MatchShape():
                for bound in stmt.binds:
                    sort = (
                        core.SHAPE
                        if any(isinstance(d, core.Splice) and d.name == bound for d in stmt.dims)
                        else core.SIZE
                    )
                    names[bound] = core.variable(stmt.span, self.bind(bound, sort.name), sort)
                self.stmts.append(renamed(stmt, names))
            case core.Assert():
                self.stmts.append(renamed(stmt, names))
            case core.ExprStmt():
                self.value(stmt.value, names)
            case _:
                assert_never(stmt)

    def _parts(self, stmt: core.Let, names: Names) -> None:
        value = self.value(stmt.value, names, parts=len(stmt.names))
        if not isinstance(value, core.TupleValue):
            raise Unsupported("a tuple that is not taken apart at once", stmt)
        for name, item in zip(stmt.names, value.items, strict=True):
            names[name] = item

    def value(self, value: core.Value, names: Names, name: str = "t", parts: int = 0) -> core.Value:
        """A value whose parts have names; a call of the program's functions is written out."""
        match value:
            case core.Var():
                return names.get(value.name, value)
            case core.Call(callee=core.FnRef(name=called)) if called in self.functions:
                values = tuple(self.value(a.value, names) for a in value.args)
                return self.call(self.functions[called], values, value)
            case core.Call(callee=core.FnRef()):
                given = [core.Arg(a.span, a.name, self._operand(a.value, names)) for a in value.args]
                return self._made(replace(value, args=tuple(given)), name, parts)
            case core.TupleValue() | core.ListValue():
                return self._items(value, names)
            case core.If() | core.Loop() | core.Call() | core.Lambda():
                return self._made(renamed(value, names), name, parts)
            case core.TensorLit() | core.Load():
                return self.name(value, value, name)
            case core.Number() | core.FnRef() | core.Text():
                return value
        return renamed(value, names)

    def _items(self, value: core.TupleValue | core.ListValue, names: Names) -> core.Value:
        return replace(value, items=tuple(self._operand(item, names) for item in value.items))

    def _operand(self, value: core.Value, names: Names) -> core.Value:
        return self.value(value, names)

    def _made(self, value: core.Value, name: str, parts: int) -> core.Value:
        """The name, or the names of the parts, of what is computed."""
        assert isinstance(value, Placed)
        if not parts:
            return self.name(value, value, name)
        made = tuple(self.bind("part", "Tensor") for _ in range(parts))
        self.stmts.append(core.Let(value.span, made, True, None, value))
        return core.TupleValue(value.span, tuple(core.Var(value.span, n) for n in made))


class Broken(Exception):
    """What is differentiated calls a function that cannot be read: that is told there."""


class Unsupported(Exception):
    """What has no derivative yet, and where it stands."""

    def __init__(self, what: str, at: Placed) -> None:
        super().__init__(what)
        self.what = what
        self.at = at


def tensors(*roots: object) -> set[str]:
    """The tensors that some trees compute with, not those whose shapes alone they ask."""
    return {n.name for n in walk(*roots) if isinstance(n, core.Var)}


def spelt(*roots: Node) -> set[str]:
    """All names that stand in some trees."""
    found: set[str] = set()
    for node in walk(*roots):
        for field in ("name", "tensor"):
            if isinstance(name := getattr(node, field, None), str):
                found.add(name)
        for field in ("names", "binds"):
            found |= {n for n in getattr(node, field, ()) if isinstance(n, str)}
    return found
