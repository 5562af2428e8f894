"""A function of the program as one list of statements: calls are written out, and each value has a name of its own. The
blocks of an `if` and of a loop are lists of the same kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar, assert_never

from ..lang import core
from ..lang.dtypes import DType
from ..lang.node import Node, replace
from ..lang.renaming import renamed
from ..lang.source import Placed
from ..lang.walk import walk
from ..lang.weak import asked_dtypes, number_fits, part_names
from ..ops.registry import lookup
from . import ranks


class Closure(Node):
    """A function value: a lambda with the values of its names, or a parameter's signature and the function `given`; and the
    functions that enclose it."""

    fn: core.Lambda | core.Function
    names: Names
    open: tuple[str, ...]
    given: core.Value | Closure | None = None


Names = dict[str, "core.Value | Closure"]
Asserted = TypeVar("Asserted", core.Assert, core.MatchShape)


class Flat:
    """Writes statements; `sorts` has the sort of each name that they bind."""

    def __init__(self, functions: dict[str, core.Function], taken: set[str]) -> None:
        self.functions = functions
        self.stmts: list[core.Stmt] = []
        self.sorts: dict[str, core.Sort] = {}
        self.taken = taken
        # For each stem of a name, the number up to which all are taken.
        self.numbers: dict[str, int] = {}
        # The functions that are being written out.
        self.open: tuple[str, ...] = ()
        # The names of complex values.
        self.complex: set[str] = set()
        # The conditions asserted earlier, here and in the enclosing blocks.
        self.known: set[core.BoolExpr] = set()
        # The rules that the program defines; a function with a rule is called, not written out.
        self.rules: dict[str, core.Rule] = {}
        # The values of the names of unpacked tuples.
        self.parts: dict[str, core.Value] = {}
        # The calls of `@unstack` whose number of results is unknown, by name.
        self.unstacked: dict[str, core.Call] = {}
        # The known ranks of tensors.
        self.ranks: ranks.Ranks = {}
        # Names with several implementations, of which a call takes one.
        self.lists: frozenset[str] = frozenset()

    def inside(self) -> Flat:
        """Return a writer for the statements of a block."""
        inner = Flat(self.functions, self.taken)
        inner.sorts, inner.open, inner.rules, inner.known = self.sorts, self.open, self.rules, set(self.known)
        inner.parts, inner.complex, inner.numbers = self.parts, self.complex, self.numbers
        inner.unstacked, inner.ranks = self.unstacked, self.ranks
        return inner

    def fresh(self, name: str) -> str:
        """Return the name, with a number if it is taken. A generated name ends in `''`: messages do not mention it."""
        base = name.rstrip("'")
        found = base + core.UNSAID if name != base else name
        while found in self.taken:
            self.numbers[base] = self.numbers.get(base, 0) + 1
            found = f"{base}_{self.numbers[base]}{core.UNSAID}"
        self.taken.add(found)
        return found

    def bind(self, name: str, sort: core.Sort = core.TENSOR) -> str:
        made = self.fresh(name)
        self.sorts[made] = sort
        return made

    # Functions

    def call(self, function: core.Function, args: tuple[core.Value | Closure, ...], at: Placed) -> core.Value:
        """Return the result of a function for its arguments, with its statements written out."""
        if function.target is not None:
            raise Unsupported(f"the extern `@{function.name}`", at)
        if function.name in self.open:
            raise Unsupported(f"`@{function.name}`, which calls itself,", at)
        inside = (*self.open, function.name)
        return self._inlined(function.params, core.statements(function), function.body.result, args, {}, inside, at)

    def _inlined(
        self,
        params: tuple[core.Param, ...],
        stmts: tuple[core.Stmt, ...],
        result: core.Value,
        args: tuple[core.Value | Closure, ...],
        names: Names,
        inside: tuple[str, ...],
        at: Placed,
    ) -> core.Value:
        names = dict(names)
        others = dict(v for p, a in zip(params, args, strict=True) for v in _variables(stmts, p.name, a))
        for param, arg in zip(params, args, strict=True):
            names[param.name] = self._given(param, self._typed(stmts, param.name, param.sort, arg, others), names, at)
        around, self.open = self.open, inside
        for stmt in stmts:
            self.stmt(stmt, names)
        made = self._plain(self.value(result, names), at)
        self.open = around
        return made

    def _typed(
        self,
        checks: Iterable[core.Stmt],
        name: str,
        sort: core.Sort,
        value: core.Value | Closure,
        others: dict[str, core.Var],
    ) -> core.Value | Closure:
        """Return an argument that is a literal number with the dtype that the entry check asks for, perhaps that of another
        argument."""
        if isinstance(value, core.TupleValue) and isinstance(sort, core.TupleSort):
            parts = zip(part_names(checks, name), sort.items, value.items, strict=False)
            items = [self._plain(self._typed(checks, *part, others), value) for part in parts]
            return replace(value, items=tuple(items)) if items else value
        if not isinstance(value, core.Number) or sort != core.TENSOR:
            return value
        for asked in asked_dtypes(checks, name):
            if isinstance(asked, DType) and number_fits(value.value, asked):
                return self.name(core.TensorLit(value.span, (), (value.value,), asked), value, name)
            other = others.get(asked) if isinstance(asked, str) else None
            if isinstance(other, core.Var):
                dtype = core.Arg(value.span, "dtype", core.DTypeOf(value.span, other.name))
                cast = core.Call(value.span, core.FnRef(value.span, "cast"), (core.Arg(value.span, None, value), dtype))
                return self.name(cast, value, name)
        return self.name(value, value, name)

    def _plain(self, value: core.Value | Closure, at: Placed) -> core.Value:
        if isinstance(value, Closure):
            raise Unsupported("a function as a value", at)
        return value

    def _given(self, param: core.Param, arg: core.Value | Closure, names: Names, at: Placed) -> core.Value | Closure:
        if isinstance(param.sort, core.FnSort):
            return Closure(param.sort.signature, names, self.open, arg)
        if isinstance(arg, Closure):
            raise Unsupported("a function as a value", at)
        if param.sort in _LEVELS:
            return self._level(param.name, param.sort, arg, at)
        return arg

    def _applied(self, found: core.Value | Closure, call: core.Call, names: Names, name: str, parts: int) -> core.Value:
        """Return the result of a call of a function value."""
        if isinstance(found, core.FnRef):
            return self._plain(self.value(replace(call, callee=found), names, name, parts), call)
        if not isinstance(found, Closure):
            raise Unsupported(f"a call of the function `{call.callee.name}`", call)
        fn = found.fn
        stmts = (*fn.checks, *fn.body.stmts) if isinstance(fn, core.Lambda) else core.statements(fn)
        outer = found.names if isinstance(fn, core.Lambda) else found.names | {fn.name: found.given or fn.body.result}
        return self._inlined(fn.params, stmts, fn.body.result, self._values(call, names), outer, found.open, call)

    def _values(self, call: core.Call, names: Names) -> tuple[core.Value | Closure, ...]:
        return tuple(self.value(a.value, names) for a in call.args)

    # Statements

    def _level(self, name: str, sort: core.Sort, value: core.Value, at: Placed) -> core.Value:
        made = self.bind(name, sort)
        self.stmts.append(core.Let(at.span, (made,), False, sort, value))
        return core.variable(at.span, made, sort)

    def name(self, value: core.Value, at: Placed, name: str = "t''") -> core.Var:
        """Return a value under a name of its own."""
        if isinstance(value, core.Var):
            return value
        made = self.bind(name)
        self.stmts.append(core.Let(at.span, (made,), False, None, value))
        self._ranked((made,), value)
        return core.Var(at.span, made)

    def _ranked(self, names: tuple[str, ...], value: core.Value) -> None:
        if isinstance(value, core.Call):
            self.ranks.update(zip(names, ranks.of_results(value, self.ranks), strict=False))
        elif isinstance(value, core.TensorLit):
            self.ranks[names[0]] = len(value.shape)

    def opened(self, name: str, sort: core.Sort, at: Placed) -> core.Value:
        """Return a parameter; each part of a tuple gets a name."""
        if not isinstance(sort, core.TupleSort):
            self.sorts[name] = sort
            return core.variable(at.span, name, sort)
        names = tuple(self.bind(name, s) for s in sort.items)
        self.stmts.append(core.Let(at.span, names, True, sort, core.Var(at.span, name)))
        items = tuple(self.opened(n, s, at) for n, s in zip(names, sort.items, strict=True))
        self.parts[name] = core.TupleValue(at.span, items)
        return self.parts[name]

    def stmt(self, stmt: core.Stmt, names: Names) -> None:
        match stmt:
            case core.Let(sort=core.BaseSort() as sort, names=(name,)) if sort in _LEVELS:
                names[name] = self._level(name, sort, renamed(stmt.value, _plain(names)), stmt)
            case core.Let(is_tuple=True):
                self._parts(stmt, names)
            case core.Let():
                names[stmt.names[0]] = self.value(stmt.value, names, stmt.names[0])
            case core.MatchShape():
                for bound in stmt.binds:
                    spliced = any(isinstance(d, core.Splice) and d.name == bound for d in stmt.dims)
                    sort = core.SHAPE if spliced else core.SIZE
                    names[bound] = core.variable(stmt.span, self.bind(bound, sort), sort)
                self.stmts.append(_of_nothing(renamed(stmt, _plain(names))))
            case core.Assert():
                made = _of_nothing(renamed(stmt, _plain(names)))
                # Each name has one value, so an asserted condition stays true.
                if made.cond not in self.known:
                    self.known.add(made.cond)
                    ranks.learn(made.cond, self.ranks)
                    self.stmts.append(made)
            case core.ExprStmt():
                self.value(stmt.value, names)
            case _:
                assert_never(stmt)

    def _parts(self, stmt: core.Let, names: Names) -> None:
        value = self.value(stmt.value, names, parts=len(stmt.names))
        if isinstance(value, core.Var) and isinstance(sort := self.sorts.get(value.name), core.TupleSort):
            value = self.opened(value.name, sort, stmt)
        if not isinstance(value, core.TupleValue):
            raise Unsupported("a tuple that is not taken apart at once", stmt)
        for name, item in zip(stmt.names, value.items, strict=True):
            names[name] = item

    # Values

    def value(self, value: core.Value, names: Names, name: str = "t''", parts: int = 0) -> core.Value | Closure:
        """Return a value whose parts have names; calls of the program's functions are written out."""
        match value:
            case core.Var():
                return names.get(value.name, value)
            case core.Call(callee=core.Var(name=called)):
                return self._applied(names.get(called, value.callee), value, names, name, parts)
            case core.Call(callee=core.FnRef(name=called)) if called in self.functions:
                if called in self.rules:
                    return self._ruled(value, names, name)
                return self.call(self.functions[called], self._values(value, names), value)
            case core.Call(callee=core.FnRef(name="part")):
                return self._part(value, names)
            case core.Call():
                given = [core.Arg(a.span, a.name, self.operand(a.value, names)) for a in value.args]
                return self._made(replace(value, args=tuple(given)), name, parts or _results(value))
            case core.TupleValue() | core.ListValue():
                return replace(value, items=tuple(self.operand(item, names) for item in value.items))
            case core.If():
                return self._if(value, names)
            case core.Loop():
                return self._loop(value, names)
            case core.Lambda():
                return Closure(value, dict(names), self.open)
            case core.TensorLit() | core.Load():
                return self.name(value, value, name)
            case core.Number() | core.FnRef() | core.Text():
                return value
        return renamed(value, _plain(names))

    def _ruled(self, call: core.Call, names: Names, name: str) -> core.Value:
        """Return a call of a function that has a rule, with a name for each part of its result."""
        made = replace(call, args=tuple(replace(a, value=self.operand(a.value, names)) for a in call.args))
        sort = self.functions[call.callee.name].result
        if not isinstance(sort, core.TupleSort):
            return self.name(made, call, name)
        parts = tuple(self.bind("part''", s) for s in sort.items)
        self.stmts.append(core.Let(call.span, parts, True, sort, made))
        return core.TupleValue(
            call.span, tuple(self.opened(n, s, call) for n, s in zip(parts, sort.items, strict=True))
        )

    def operand(self, value: core.Value, names: Names) -> core.Value:
        assert isinstance(value, Placed)
        return self._plain(self.value(value, names), value)

    def _part(self, call: core.Call, names: Names) -> core.Value:
        """Return one part of a tuple, which is unpacked."""
        of, position = (a.value for a in call.args)
        assert isinstance(position, core.SizeLit | core.Number)
        named = names.get(of.name, of) if isinstance(of, core.Var) else of
        if isinstance(named, core.Var) and named.name in self.unstacked:
            of, names = self.unstacked[named.name], {}
        if isinstance(of, core.Call) and of.callee == replace(of.callee, name="unstack"):
            args = (of.args[0], core.Arg(call.span, "indices", position), *of.args[1:])
            return self.operand(replace(of, callee=replace(of.callee, name="take"), args=_with_axis(args)), names)
        value = self.operand(of, names)
        if not isinstance(value, core.TupleValue | core.ListValue):
            what = (
                f"`@{of.callee.name}`{OPEN}" if isinstance(of, core.Call) else "a tuple of which only a part is taken"
            )
            raise Unsupported(what, call)
        return value.items[int(position.value)]

    def _made(self, value: core.Value, name: str, parts: int) -> core.Value:
        """Return the name of a computed value, or the names of its parts."""
        assert isinstance(value, Placed)
        if not parts:
            made_one = self.name(value, value, name)
            if isinstance(value, core.Call) and value.callee.name == "unstack":
                self.unstacked[made_one.name] = value
            return made_one
        made = tuple(self.bind("part''") for _ in range(parts))
        self.stmts.append(core.Let(value.span, made, True, None, value))
        self._ranked(made, value)
        return core.TupleValue(value.span, tuple(core.Var(value.span, n) for n in made))

    # Blocks

    def _block(self, block: core.Block, names: Names) -> tuple[core.Value, core.Block]:
        """Return the result of a block, and the block with the leaves of that as its results."""
        inner, names = self.inside(), dict(names)
        for stmt in block.stmts:
            inner.stmt(stmt, names)
        result = inner.operand(block.result, names)
        return result, replace(block, stmts=tuple(inner.stmts), result=joined(block, tuple(leaves(result))))

    def _if(self, value: core.If, names: Names) -> core.Value:
        cond = self.operand(value.cond, names)
        taken = ranks.decided(cond, self.ranks)
        if taken is not None:
            arm, names = value.then if taken else value.orelse, dict(names)
            for stmt in arm.stmts:
                self.stmt(stmt, names)
            return self.operand(arm.result, names)
        result, then = self._block(value.then, names)
        _, orelse = self._block(value.orelse, names)
        return self._several(replace(value, cond=cond, then=then, orelse=orelse), result)

    def _several(self, value: core.Value, like: core.Value) -> core.Value:
        """Return the result of an `if` or a loop, in the form of `like`, with a name for each leaf."""
        assert isinstance(value, Placed)
        sorts = [_sort(v) for v in leaves(like)]
        made = tuple(self.bind("part''" if len(sorts) > 1 else "t''", s) for s in sorts)
        is_tuple = len(made) != 1
        told = is_tuple and any(s in _LEVELS for s in sorts)
        sort = core.TupleSort(tuple(sorts)) if told else sorts[0] if not is_tuple and sorts[0] in _LEVELS else None
        self.stmts.append(core.Let(value.span, made, is_tuple, sort, value))
        return formed(like, iter([core.variable(value.span, n, s) for n, s in zip(made, sorts, strict=True)]))

    def _loop(self, loop: core.Loop, names: Names) -> core.Value:
        outer, names, carries = names, dict(names), []
        forms: list[core.Value] = []
        for carry in loop.carries:
            init = self.operand(carry.init, outer)
            form = self._carried(carry.name, carry.sort, carry)
            for leaf, value in zip(leaves(form), leaves(init), strict=True):
                assert isinstance(leaf, core.Variable)
                carries.append(core.Carry(carry.span, leaf.name, _sort(leaf), value))
            names[carry.name] = form
            forms.append(form)
        index = None
        if loop.index is not None:
            index = self.bind(loop.index, core.SIZE)
            names[loop.index] = core.SizeVar(loop.span, index)
        invariant = renamed(loop.invariant, _plain(names))
        for asserted in invariant:
            ranks.learn(asserted.cond, self.ranks)
        cond = None if loop.cond is None else self._block(loop.cond, names)[1]
        stacked = [replace(s, name=self.bind(s.name)) for s in renamed(loop.stacked, _plain(outer))]
        made = replace(
            loop,
            index=index,
            range=renamed(loop.range, _plain(outer)),
            carries=tuple(carries),
            invariant=invariant,
            cond=cond,
            stacked=tuple(stacked),
            body=self._block(loop.body, names)[1],
        )
        forms += (core.Var(s.span, s.name) for s in stacked)
        return self._several(made, joined(loop, tuple(forms)))

    def _carried(self, name: str, sort: core.Sort, at: Placed) -> core.Value:
        """Return the names of a carry in a turn, one for each leaf of a tuple."""
        if isinstance(sort, core.TupleSort):
            return core.TupleValue(at.span, tuple(self._carried(name, s, at) for s in sort.items))
        return core.variable(at.span, self.bind(name, sort), sort)


_LEVELS = (core.SIZE, core.SHAPE, core.DTYPE, core.BOOL)


def leaves(value: core.Value) -> Iterator[core.Value]:
    """Yield the leaves of a tuple, nested tuples included."""
    if isinstance(value, core.TupleValue):
        for item in value.items:
            yield from leaves(item)
    else:
        yield value


def formed(like: core.Value, values: Iterator[core.Value]) -> core.Value:
    if isinstance(like, core.TupleValue):
        return replace(like, items=tuple(formed(item, values) for item in like.items))
    return next(values)


def _variables(checks: Iterable[core.Stmt], name: str, value: core.Value | Closure) -> Iterator[tuple[str, core.Var]]:
    """Yield the variables in an argument and its parts, with their names in the entry check."""
    if isinstance(value, core.Var):
        yield name, value
    elif isinstance(value, core.TupleValue):
        for part, item in zip(part_names(checks, name), value.items, strict=False):
            yield from _variables(checks, part, item)


def _of_nothing(stmt: Asserted) -> Asserted:
    """Return the statement without the tensor of its annotation, whose names belong to another function."""
    declared = stmt.origin.declared
    return (
        stmt if declared is None else replace(stmt, origin=replace(stmt.origin, declared=replace(declared, tensor="")))
    )


def joined(at: Placed, values: tuple[core.Value, ...]) -> core.Value:
    return values[0] if len(values) == 1 else core.TupleValue(at.span, values)


def _sort(value: core.Value) -> core.Sort:
    """Return the sort of a leaf."""
    if isinstance(value, core.SizeExpr):
        return core.SIZE
    if isinstance(value, core.ShapeExpr):
        return core.SHAPE
    if isinstance(value, core.DTypeExpr):
        return core.DTYPE
    return core.BOOL if isinstance(value, core.BoolExpr) else core.TENSOR


def _plain(names: Names) -> dict[str, core.Value]:
    return {n: v for n, v in names.items() if not isinstance(v, Closure)}


def _with_axis(args: tuple[core.Arg, ...]) -> tuple[core.Arg, ...]:
    """Return the arguments of `@unstack` and an index as arguments of `@take`, which requires an axis."""
    if len(args) > 2:
        return (*args[:2], replace(args[2], name="axis"))
    return (*args, core.Arg(args[0].span, "axis", core.SizeLit(args[0].span, 0)))


def _results(call: core.Call) -> int:
    """Return the number of results of a primitive call that gives several; 0 if it gives one, or the call does not show the
    number."""
    row = lookup(call.callee.name.removeprefix("prelude."))
    if row is None or row.results != "tuple":
        return 0
    results = row.dtypes.partition("->")[2]
    if "..." not in results:
        return results.count(",") + 1
    given = {a.name or row.params[i].name: a.value for i, a in enumerate(call.args)}
    for name, more in (("sizes", 0), ("xs", 0), ("indices", 1)):
        if name in given:
            said = given[name]
            items = said.dims if isinstance(said, core.ShapeLit) else getattr(said, "items", None)
            return 0 if items is None else len(items) + more
    sections = given.get("sections")
    return int(sections.value) if isinstance(sections, core.SizeLit | core.Number) else 0


# The end of a phrase for a call with an unknown number of results.
OPEN = ", whose number of results is not known,"


class Unsupported(Exception):
    """Something without a derivative so far, and its place."""

    def __init__(self, what: str, at: Placed) -> None:
        super().__init__(what)
        self.what, self.at = what, at


class UnreadableCall(Unsupported):
    """A call of an unreadable function; the error is reported with that function."""


def tensors(*roots: object) -> set[str]:
    """Return the tensors that some trees compute with, without those whose shapes alone they read."""
    return {n.name for n in walk(*roots) if isinstance(n, core.Var)}


def spelt(*roots: Node) -> set[str]:
    """Return all names in some trees."""
    found: set[str] = set()
    for node in walk(*roots):
        for field in ("name", "tensor", "index"):
            if isinstance(name := getattr(node, field, None), str):
                found.add(name)
        for field in ("names", "binds"):
            found |= {n for n in getattr(node, field, ()) if isinstance(n, str)}
    return found
