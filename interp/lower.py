"""Core functions to routines: every name has a slot, every call is a step of its own, in the order in which they run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, assert_never

from ..lang import core
from ..lang.node import Node
from ..lang.source import NOWHERE, Span
from ..ops import registry as rows
from ..ops.binding import bind
from ..ops.model import Param
from .last_use import released
from .names import Scope
from .reuse import reused
from .steps import (
    RESULT,
    Bind,
    Block,
    Branch,
    Check,
    Closure,
    Compute,
    Invoke,
    Loop,
    Match,
    Names,
    Operand,
    Output,
    Read,
    Routine,
    Stack,
    Stacked,
    Step,
    number,
    total,
)
from .trees import call_of, names_of

LIVE = (core.Status.OPEN, core.Status.RESIDUAL, core.Status.ENTRY, core.Status.REFUTED)
# What a Python name cannot stand for: the tensors that are there before anything runs.
Constant = core.TensorLit | core.Load


class Lowered(Node):
    """A program as routines. `consts` makes the consts; `constants` are the slots of tensors that are there before anything
    runs; the script, if there is one, gives the values of the names `shown`, in order."""

    consts: Routine
    routines: tuple[Routine, ...]
    constants: tuple[tuple[str, Constant], ...]
    shown: tuple[str, ...]


def lower(program: core.Program, *, guard_all: bool = False) -> Lowered:
    """Lower every function, the script and the consts; with `guard_all` every precondition is checked and nothing left out."""
    table = _Program(program, guard_all)
    consts = _consts(table, program.consts)
    # An implementation comes before its wrapper, which gives what it gives.
    order = dict.fromkeys(name for f in program.functions for name in (f.impl, f.name) if name in table.functions)
    made = {name: _function(table, table.functions[name]) for name in order}
    routines = [made[f.name] for f in program.functions]
    shown: tuple[str, ...] = ()
    if program.main is not None:
        script, shown = _script(table, program.main, program.script)
        routines.append(script)
    return Lowered(consts, tuple(routines), tuple(table.constants.values()), shown)


class _Program:
    """What the functions of one program are lowered against."""

    def __init__(self, program: core.Program, guard_all: bool) -> None:
        self.functions = {f.name: f for f in program.functions}
        self.impls = {i.name: i for i in program.impls}
        self.consts: dict[str, str] = {}
        self.constants: dict[str, tuple[str, Constant]] = {}
        self.guard_all = guard_all
        # The functions so far whose result lies row by row in memory that nothing else holds.
        self.makers: set[str] = set()

    def constant(self, value: Constant) -> str:
        """The slot of a literal tensor or of weights; one per value."""
        return self.constants.setdefault(repr(value), (f"w{len(self.constants)}", value))[0]


def _function(program: _Program, fn: core.Function) -> Routine:
    lowering = _Lowering(program, fn.name, [p.name for p in fn.params])
    params = tuple(lowering.slot(p.name) for p in fn.params)
    lowering.learn(params, [p.known for p in fn.params])
    lowering.extern = fn if fn.kind == "extern" else None
    lowering.statements(fn.checks)
    entry, lowering.steps = tuple(lowering.steps), []
    functions = [p for p in fn.params if isinstance(p.sort, core.FnSort) and fn.kind != "private"]
    wrapped = tuple(lowering.wrapper(fn.span, p) for p in functions)
    lowering.statements((*fn.body.stmts, *fn.promises), fn.body.result)
    body, in_rows = lowering.finished(fn.body.result)
    if RESULT in in_rows:
        program.makers.add(fn.name)
    return Routine(fn.name, fn.span, fn.kind, params, entry, body, wrapped, lowering.known)


def _takes_more(function: core.Function) -> bool:
    """Whether a parameter is a function of functions: those that it is given are checked where it calls them, in their turn."""
    given = (p.sort.signature.params for p in function.params if isinstance(p.sort, core.FnSort))
    return any(isinstance(inner.sort, core.FnSort) for params in given for inner in params)


def _script(program: _Program, main: core.Function, shown: Sequence[str]) -> tuple[Routine, tuple[str, ...]]:
    """The script; it gives a tuple of the values of the names that are shown, which come beside it."""
    lowering = _Lowering(program, main.name, ())
    lowering.statements(main.body.stmts)
    bound = tuple(n for n in shown if lowering.scope.find(n) is not None)
    values = core.TupleValue(main.span, tuple(core.Var(main.span, n) for n in bound))
    return Routine(main.name, main.span, "script", (), (), lowering.finished(values)[0], (), lowering.known), bound


def _consts(program: _Program, consts: Iterable[core.ConstDef]) -> Routine:
    """What makes the consts, and checks them; what it binds every other routine sees."""
    lowering = _Lowering(program, "const", ())
    lowering.scope.stem = "c_"
    for const in consts:
        lowering.let(core.Let(const.span, (const.name,), False, const.sort, const.value))
        lowering.statements(const.checks)
        bound = (const.name, *(n for stmt in const.checks for n in core.bound_names(stmt)))
        slots = {n: lowering.scope.names[n] for n in bound if n in lowering.scope.names}
        lowering.held.update(slots.values())
        program.consts.update(slots)
    return Routine("const", NOWHERE, "private", (), (), released(lowering.block(), lowering.held, keep=True))


class _Lowering:
    """Lowers one routine. What a value needs before it has been appended to `steps` by the time it comes back as an operand."""

    def __init__(self, program: _Program, function: str, params: Iterable[str], outer: _Lowering | None = None) -> None:
        self.program = program
        self.function = function
        self.outer = outer
        self.extern: core.Function | None = outer.extern if outer is not None else None
        self.steps: list[Step] = []
        self.captured: dict[str, None] = {}
        # No two slots of a routine and of the closures in it have one name.
        self.scope: Scope = Scope(taken=outer.scope.taken if outer is not None else None)
        # Slots that are not released: parameters, which the caller holds, and what is no tensor.
        self.held: set[str] = set()
        self.known: dict[str, core.Known] = outer.known if outer is not None else {}
        for name in params:
            self.held.add(self._bind(name))

    # Names

    def _bind(self, name: str) -> str:
        slot = self.scope.names[name] = self.scope.reserve(name)
        return slot

    def slot(self, name: str) -> str:
        """The slot of an Rx name: of this routine, of the one around it, or a const's."""
        found = self.scope.find(name)
        if found is not None:
            return found
        if self.outer is not None and self.outer.knows(name):
            outside = self.outer.slot(name)
            self.held.add(outside)
            if not outside.startswith("c_"):
                self.captured[outside] = None
            return outside
        if name in self.program.consts:
            self.held.add(self.program.consts[name])
            return self.program.consts[name]
        raise LookupError(f"{name} is not bound in @{self.function}")

    def knows(self, name: str) -> bool:
        if self.scope.find(name) is not None or name in self.program.consts:
            return True
        return self.outer is not None and self.outer.knows(name)

    def temp(self) -> str:
        return self.scope.temp()

    def learn(self, slots: Iterable[str], known: Iterable[core.Known | None]) -> None:
        """What checking knows of the values in slots."""
        self.known.update({slot: k for slot, k in zip(slots, known, strict=True) if k is not None})

    def finished(self, result: core.Value) -> tuple[Block, set[str]]:
        """All steps, the last of which gives the result, and the slots of tensors that lie row by row."""
        self.deliver(result, RESULT)
        block = released(self.block(), self.held, keep=self.program.guard_all)
        return reused(block, self.known, self.program.makers)

    def block(self) -> Block:
        return Block(tuple(self.steps))

    # Values

    def operand(self, v: core.Value) -> Operand:
        """A value as an operand: what has effects is put into a slot first."""
        match v:
            case core.Call() | core.If() | core.Loop() | core.Lambda():
                target = self.temp()
                self.deliver(v, target)
                return core.Var(v.span, target)
            case core.TensorLit() | core.Load():
                slot = self.program.constant(v)
                self.held.add(slot)
                return core.Var(v.span, slot)
            case core.TupleValue(items=items) | core.ListValue(items=items):
                return type(v)(v.span, tuple(map(self.operand, items)))
            case core.Var(name=name):
                return core.Var(v.span, self.slot(name))
            case core.FnRef() | core.Number() | core.Text():
                return v
        return self._level(v)

    def _level(self, v: core.ShapeLevel) -> Operand:
        made: Operand = self.shape_level(v)
        return made

    def deliver(self, v: core.Value, output: Output) -> None:
        """Append the steps that put v into a slot, or, of a tuple, its parts into slots."""
        if isinstance(v, core.Call):
            self._call(v, output)
        elif isinstance(v, core.If):
            self._branch(v, output)
        elif isinstance(v, core.Loop):
            self._loop(v, output)
        elif isinstance(v, core.Lambda) and output and output != RESULT and isinstance(output, str):
            self._closure(v, v.body.stmts, v.span, output)
        else:
            self.steps.append(Bind(v.span, self.operand(v), output))

    def _branch(self, v: core.If, output: Output) -> None:
        cond = self.shape_level(v.cond) if isinstance(v.cond, core.BoolExpr) else self.operand(v.cond)
        self.steps.append(Branch(v.span, cond, self._arm(v.then, output), self._arm(v.orelse, output), output))

    def _arm(self, block: core.Block, output: Output) -> Block:
        outside = self._enter()
        self.statements(block.stmts, block.result)
        self.deliver(block.result, output)
        return self._leave(outside)

    # Loops

    def _loop(self, v: core.Loop, output: Output) -> None:
        """The first values and what is claimed of them, then the turns, behind which the carries hold the last values."""
        range_ = self._range(v.range)
        inner = Scope(self.scope)
        index = inner.reserve(v.index) if v.index is not None else self.temp()
        self.held.add(index)
        if v.index is not None and range_ is not None:
            inner.names[v.index] = index
            self.steps.append(Bind(v.span, range_.start, index))
        carries = tuple(inner.reserve(carry.name) for carry in v.carries)
        for slot, carry in zip(carries, v.carries, strict=True):
            self._holds(slot, carry.sort)
            self.deliver(carry.init, slot)
        inner.names.update(zip((carry.name for carry in v.carries), carries, strict=True))
        outer, self.scope = self.scope, inner
        self._claims(v, "entry")
        cond, test = self._condition(v)
        buffers = tuple(self.temp() for _ in v.stacked)
        body, following = self._turn(v, range_, index, buffers)
        stacked = tuple(map(self._stacked, v.stacked, buffers))
        self.scope = outer
        slots, in_turn = (index, *carries), (v.known, *(carry.known for carry in v.carries))
        known = {slot: k for slot, k in zip(slots, in_turn, strict=True) if k is not None}
        made = Loop(v.span, v.index, index, range_, carries, following, cond, test, body, stacked, known=known)
        self.steps.append(made)
        if output:
            parts = [core.variable(v.span, slot, c.sort) for slot, c in zip(carries, v.carries, strict=True)]
            parts += [core.Var(v.span, buffer) for buffer in buffers]
            value = parts[0] if len(parts) == 1 else core.TupleValue(v.span, tuple(parts))
            self.steps.append(Bind(v.span, value, output, known=v.behind))

    def _holds(self, slot: str, sort: core.Sort) -> None:
        """A slot of a value of some sort: what is no tensor is not released."""
        if isinstance(sort, core.BaseSort) and sort != core.TENSOR:
            self.held.add(slot)

    def _range(self, v: core.Range | None) -> core.Range | None:
        """A range is evaluated once, before the first values."""
        return None if v is None else core.Range(*map(self._once, (v.start, v.stop, v.step)))

    def _once(self, size: core.SizeExpr) -> core.SizeExpr:
        if isinstance(size, core.SizeLit):
            return size
        if isinstance(size, core.SizeVar):
            return core.SizeVar(size.span, self.slot(size.name))
        slot = self.temp()
        self.held.add(slot)
        self.steps.append(Bind(size.span, self.shape_level(size), slot))
        return core.SizeVar(size.span, slot)

    def _condition(self, v: core.Loop) -> tuple[Block, core.BoolExpr | Operand | None]:
        """The steps before each turn, and what decides then."""
        if v.cond is None:
            return Block(()), None
        outside = self._enter()
        self.statements(v.cond.stmts, v.cond.result)
        test = self.operand(v.cond.result)
        if self.steps and isinstance(test, core.BoolExpr):
            slot = self.temp()
            self.steps.append(Bind(v.cond.span, test, slot))
            test = core.BoolVar(v.cond.span, slot)
        return self._leave(outside), test

    def _turn(
        self, v: core.Loop, range_: core.Range | None, index: str, buffers: Sequence[str]
    ) -> tuple[Block, tuple[str, ...]]:
        """The steps of a turn, and the slots of what the carries are after it."""
        outside = self._enter()
        self.statements(v.body.stmts, v.body.result)
        given = self._parts(v.body.result, len(v.carries) + len(v.stacked))
        following = given[: len(v.carries)]
        after = Scope(outside[1])  # the invariant does not speak of what the body binds
        after.names.update(zip((carry.name for carry in v.carries), following, strict=True))
        for slot, carry in zip(following, v.carries, strict=True):
            self._holds(slot, carry.sort)
        if v.index is not None and range_ is not None:
            slot = after.names[v.index] = after.reserve(v.index)
            self.held.add(slot)
            self.steps.append(Bind(v.span, core.SizeOp(v.span, "+", core.SizeVar(v.span, index), range_.step), slot))
        self.scope = after
        self._claims(v, "turn")
        total_ = total(v.span, range_) if range_ is not None and v.cond is None else None
        for stacked, value, buffer in zip(v.stacked, given[len(v.carries) :], buffers, strict=True):
            checked = stacked.status in LIVE
            done = number(v.span, index, range_)
            self.steps.append(Stack(stacked.span, stacked.name, value, buffer, done, total_, checked))
        return self._leave(outside), following

    def _enter(self) -> tuple[list[Step], Scope]:
        """Begin a list of steps; what it binds ends with it."""
        outside = self.steps, self.scope
        self.steps, self.scope = [], Scope(self.scope)
        return outside

    def _leave(self, outside: tuple[list[Step], Scope]) -> Block:
        made = self.block()
        self.steps, self.scope = outside
        return made

    def _parts(self, result: core.Value, count: int) -> tuple[str, ...]:
        """The slots of what a turn gives."""
        if count == 1:
            return (self._slot_of(result),)
        if isinstance(result, core.TupleValue):
            return tuple(map(self._slot_of, result.items))
        slots = tuple(self.temp() for _ in range(count))
        self.deliver(result, slots)
        return slots

    def _slot_of(self, v: core.Value) -> str:
        if isinstance(v, core.Variable):
            return self.slot(v.name)
        slot = self.temp()
        if isinstance(v, core.ShapeLevel):
            self.held.add(slot)
        self.deliver(v, slot)
        return slot

    def _claims(self, v: core.Loop, moment: str) -> None:
        """What a loop's invariant leaves to be checked, of the carries as they are now in scope."""
        for claim in v.invariant:
            status = claim.entry if moment == "entry" else claim.turn
            if status in LIVE:
                made = core.Assert(claim.span, claim.cond, None, claim.origin, status)
                cond = self.shape_level(made.cond)
                self.steps.append(Check(made.span, cond, made, self._names(made), moment=moment))

    def _stacked(self, v: core.Stacked, buffer: str) -> Stacked:
        dims = tuple(core.SizeLit(v.span, 0) if d is None else self.shape_level(d) for d in v.shape)
        return Stacked(
            buffer, core.ShapeLit(v.span, (core.SizeLit(v.span, 0), *dims)), v.dtype and self.shape_level(v.dtype)
        )

    # Closures

    def _closure(
        self, made_of: core.Lambda | core.Function, body: Sequence[core.Stmt], span: Span, output: str
    ) -> None:
        """What is asked of the parameters; then functions among them are checked at every call; then the body."""
        params, result = made_of.params, made_of.body.result
        inner = _Lowering(self.program, self.function, [p.name for p in params], self)
        names = tuple(inner.slot(p.name) for p in params)
        inner.statements(made_of.checks)
        for param in params:
            if isinstance(param.sort, core.FnSort):
                made = inner.wrapper(span, param)[1]
                inner.steps.append(made)
                inner.scope.names[param.name] = made.output
        inner.statements(body, result)
        block, _ = inner.finished(result)
        self.steps.append(Closure(span, names, block, tuple(inner.captured), output))

    def wrapper(self, span: Span, param: core.Param) -> tuple[str, Closure]:
        """The closure that checks a function that is given against the parameter's annotation at every call."""
        assert isinstance(param.sort, core.FnSort)
        sig = param.sort.signature
        outside, self.steps = self.steps, []
        self._closure(sig, (*sig.body.stmts, *sig.promises), span, self.temp())
        made, self.steps = self.steps[0], outside
        assert isinstance(made, Closure)
        return self.slot(param.name), made

    # Calls

    def _call(self, c: core.Call, output: Output) -> None:
        name = c.callee.name
        functions = self.program.functions
        if isinstance(c.callee, core.Var):
            return self._invoke(c, self.slot(name), "value", output)
        if self.extern is not None and name == self.extern.impl:
            return self._invoke(c, self.extern.name, "extern", output)
        if name in self.program.impls:
            return self._invoke_list(c, self.program.impls[name], output)
        if name in functions:
            is_decided = c.decided and not self.program.guard_all
            skips = is_decided and functions[name].kind != "private" and not _takes_more(functions[name])
            return self._invoke(c, name, "decided" if skips else "checked", output)
        row = rows.lookup(name.removeprefix("prelude."))
        assert row is not None, f"no function or primitive is called @{name}"
        inputs = tuple(None if v is None else self._argument(p, v) for p, v in bind(row, c))
        guard = c.guard or self.program.guard_all
        self.steps.append(Compute(c.span, row, inputs, output, c.known, guard, c))
        return None

    def _invoke(self, c: core.Call, callee: str, way: str, output: Output) -> None:
        inputs = tuple(self.operand(a.value) for a in c.args)
        if isinstance(output, str) and c.known is not None:
            self.learn([output], [c.known])
        self.steps.append(Invoke(c.span, callee, way, inputs, output, sure=c.sure and way == "decided"))

    def _invoke_list(self, c: core.Call, impls: core.Impls, output: Output) -> None:
        """A literal number takes its dtype from the member that is chosen; where all are primitives, the sizes are theirs."""
        own = any(choice in self.program.functions for choice in impls.choices)
        row = None if own else rows.lookup(impls.choices[-1].removeprefix("prelude."))
        params = {p.name: p for p in row.params} if row is not None else {}
        takes, inputs = [], []
        for position, arg in enumerate(c.args):
            param = None if row is None else params.get(arg.name or "", row.params[position])
            takes.append((arg.name, param))
            value = arg.value
            given = self.operand(value) if param is None else self._argument(param, value)
            inputs.append(given)
        self.steps.append(Invoke(c.span, impls.name, "list", tuple(inputs), output, tuple(takes)))

    def _argument(self, param: Param, v: core.Value) -> Operand:
        """An argument as an operand: sizes that are given as tensors are read first."""
        if isinstance(v, core.Number):
            return v
        match param.kind:
            case "shape" | "sizes" | "ints" | "target" as kind:
                if isinstance(v, core.ListValue | core.TupleValue):
                    items = tuple(self._argument(_SIZE, item) for item in v.items)
                    return core.ListValue(v.span, items)
                return (
                    self.shape_level(v)
                    if isinstance(v, _SIZES)
                    else self._read(v, "sizes" if kind == "sizes" else "shape")
                )
            case "size" if not isinstance(v, core.SizeExpr):
                return self._read(v, "size")
        return self.operand(v)

    def _read(self, v: core.Value, kind: Literal["size", "sizes", "shape"]) -> Operand:
        value, target = self.operand(v), self.temp()
        self.held.add(target)
        self.steps.append(Read(v.span, value, kind, target))
        return core.SizeVar(v.span, target) if kind == "size" else core.ShapeVar(v.span, target)

    # Statements

    def statements(self, stmts: Sequence[core.Stmt], result: core.Value | None = None) -> None:
        """Statements in order; `result` is what follows them."""
        for i, stmt in enumerate(stmts):
            match stmt:
                case core.Let():
                    self.let(stmt)
                case core.Assert():
                    if stmt.status in LIVE:
                        callee = self._callee_of(stmt)
                        self._check(stmt, call_of(callee, (*stmts[i + 1 :], result)) if callee else None)
                case core.MatchShape():
                    self._match(stmt)
                case core.ExprStmt(value=value):
                    if not isinstance(value, core.Var | core.Number | core.FnRef):
                        self.deliver(value, "")
                case _:
                    assert_never(stmt)

    def let(self, stmt: core.Let) -> None:
        slots = tuple(map(self.scope.reserve, stmt.names))
        if isinstance(stmt.value, core.ShapeLevel):
            self.held.update(slots)
        if len(stmt.known) == len(slots):
            self.learn(slots, stmt.known)
        if stmt.is_tuple and (
            len(stmt.known) != len(slots) or stmt.known == (None,)
        ):  # nobody knows how many parts it has
            whole = self.temp()
            self.deliver(stmt.value, whole)
            self.steps.append(Bind(stmt.value.span, core.Var(stmt.value.span, whole), slots, sure=False))
        else:
            self.deliver(stmt.value, slots if stmt.is_tuple else slots[0])
        self.scope.names.update(zip(stmt.names, slots, strict=True))

    def _callee_of(self, stmt: core.Assert) -> str | None:
        """The function whose check of a parameter this is, where that is another one than the one that it stands in."""
        declared = stmt.origin.declared
        if stmt.status is not core.Status.RESIDUAL or declared is None or declared.kind != "param":
            return None
        return declared.function if declared.function != self.function else None

    def _check(self, stmt: core.Assert, call: core.Call | None) -> None:
        given = self._given(call) if call is not None else ()
        self.steps.append(Check(stmt.span, self.shape_level(stmt.cond), stmt, self._names(stmt), call, given))

    def _names(self, stmt: core.Assert | core.MatchShape) -> Names:
        """What the message of a check may speak of."""
        return tuple((n, self.slot(n)) for n in sorted(names_of(stmt)) if self.knows(n))

    def _given(self, call: core.Call) -> Names:
        """The callee's parameters with the slots that hold their arguments."""
        callee = self.program.functions.get(call.callee.name)
        pairs = zip(callee.params, call.args, strict=False) if callee is not None else ()
        return tuple(
            (p.name, self.slot(a.value.name))
            for p, a in pairs
            if isinstance(a.value, core.Var | core.SizeVar | core.ShapeVar | core.DTypeVar) and self.knows(a.value.name)
        )

    def _match(self, stmt: core.MatchShape) -> None:
        names, tensor = self._names(stmt), self.slot(stmt.tensor)
        binds = tuple(map(self._bind, stmt.binds))
        self.held.update(binds)
        dims = tuple(map(self.shape_level, stmt.dims))
        self.steps.append(Match(stmt.span, tensor, binds, dims, stmt, names, stmt.status in LIVE))

    # Sizes, shapes, dtypes and conditions, over slots

    def shape_level(self, e: core.ShapeLevel | core.Splice) -> Any:
        """An expression of the shape level with slots for its names."""
        match e:
            case core.SizeLit() | core.DTypeLit() | core.BoolConst():
                return e
            case core.SizeVar() | core.ShapeVar() | core.DTypeVar() | core.BoolVar() | core.Splice():
                return type(e)(e.span, self.slot(e.name))
            case core.DimOf(tensor=tensor, axis=axis):
                return core.DimOf(e.span, self.slot(tensor), axis)
            case core.RankOf(tensor=tensor) | core.ShapeOf(tensor=tensor) | core.DTypeOf(tensor=tensor):
                return type(e)(e.span, self.slot(tensor))
            case core.SizeOp(op=op, left=left, right=right) | core.Compare(op=op, left=left, right=right):
                return type(e)(e.span, op, self.shape_level(left), self.shape_level(right))
            case core.Logic(op=op, left=left, right=right):
                return core.Logic(e.span, op, self.shape_level(left), self.shape_level(right))
            case core.ShapeLit(dims=dims):
                return core.ShapeLit(e.span, tuple(map(self.shape_level, dims)))
            case core.Not(operand=operand):
                return core.Not(e.span, self.shape_level(operand))
            case core.InClass(item=item):
                return core.InClass(e.span, self.shape_level(item), e.choices, e.braces)
            case _:
                assert_never(e)


_SIZE = Param("", "size")
_SIZES = core.SizeExpr | core.ShapeExpr
