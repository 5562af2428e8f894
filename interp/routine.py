"""One routine: from the statements and values of a core function to steps over slots, in execution order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, assert_never

from ..lang import core
from ..lang.dtypes import DTYPES
from ..lang.source import Span
from ..ops import registry as rows
from ..ops.binding import bind
from ..ops.dtypes_column import parse_dtypes
from ..ops.model import TENSORS, Primitive, PrimitiveParam, Trait
from .core_uses import call_of
from .last_use import released
from .names import SlotScope
from .reuse import reused
from .slots import Slots
from .steps import (
    RESULT,
    Bind,
    Branch,
    Closure,
    Compute,
    Invoke,
    LoopStep,
    Match,
    Names,
    Operand,
    Output,
    ReadSizes,
    Stack,
    Stacked,
    Step,
    StepBlock,
    StepCheck,
    number,
    total,
)

_LIVE = (core.Status.OPEN, core.Status.RESIDUAL, core.Status.ENTRY, core.Status.REFUTED)
# The tensors that exist before the run.
Constant = core.TensorLit | core.Load
_SIZE = PrimitiveParam("", "size")
_SIZES = core.SizeExpr | core.ShapeExpr


class ProgramTable:
    """The tables that the functions of one program are lowered with."""

    def __init__(self, program: core.Program, guard_all: bool) -> None:
        self.functions = {f.name: f for f in program.functions}
        self.impls = {i.name: i for i in program.impls}
        self.consts: dict[str, str] = {}
        self.constants: dict[str, tuple[str, Constant]] = {}
        self.guard_all = guard_all
        # The functions so far whose result is row-major in memory that nothing else holds.
        self.makers: set[str] = set()

    def constant(self, value: Constant) -> str:
        """The slot of a literal tensor or of weights; one per value."""
        return self.constants.setdefault(repr(value), (f"w{len(self.constants)}", value))[0]


class Lowering:
    """Lowers one routine. The steps that a value needs are in `steps` when the value is returned as an operand."""

    def __init__(
        self, program: ProgramTable, function: str, params: Iterable[str], outer: Lowering | None = None
    ) -> None:
        self.program, self.function = program, function
        self.extern: core.Function | None = outer.extern if outer is not None else None
        self.steps: list[Step] = []
        self.slots: Slots = Slots(function, program.consts, outer.slots if outer is not None else None)
        for name in params:
            self.slots.held.add(self.slots.bind(name))

    def finished(self, result: core.Value) -> tuple[StepBlock, set[str]]:
        """All steps, the last of which returns the result, and the slots of row-major tensors."""
        self.deliver(result, RESULT)
        block = released(self.block(), self.slots.held, keep=self.program.guard_all)
        return reused(block, self.slots.known, self.program.makers)

    def block(self) -> StepBlock:
        return StepBlock(tuple(self.steps))

    # Values

    def operand(self, v: core.Value) -> Operand:
        """Return a value as an operand; a value with effects is put into a slot first."""
        match v:
            case core.Call() | core.If() | core.Loop() | core.Lambda():
                target = self.slots.temp()
                self.deliver(v, target)
                return core.Var(v.span, target)
            case core.TensorLit() | core.Load():
                slot = self.program.constant(v)
                self.slots.held.add(slot)
                return core.Var(v.span, slot)
            case core.TupleValue(items=items) | core.ListValue(items=items):
                return type(v)(v.span, tuple(map(self.operand, items)))
            case core.Var(name=name):
                return core.Var(v.span, self.slots.of(name))
            case core.FnRef() | core.Number() | core.Text():
                return v
        return self._level(v)

    def _level(self, v: core.ShapeLevel) -> Operand:
        made: Operand = self.slots.shape_level(v)
        return made

    def deliver(self, v: core.Value, output: Output) -> None:
        """Append the steps that put `v` into a slot, or the parts of a tuple into slots."""
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
        cond = self.slots.shape_level(v.cond) if isinstance(v.cond, core.BoolExpr) else self.operand(v.cond)
        self.steps.append(Branch(v.span, cond, self._arm(v.then, output), self._arm(v.orelse, output), output))

    def _arm(self, block: core.Block, output: Output) -> StepBlock:
        outside = self._enter()
        self.statements(block.stmts, block.result)
        self.deliver(block.result, output)
        return self._leave(outside)

    # Loops

    def _loop(self, v: core.Loop, output: Output) -> None:
        """Append the first values and the claims about them, then the turns, after which the carries hold the last values."""
        range_ = self._range(v.range)
        inner = SlotScope(self.slots.scope)
        index = inner.reserve(v.index) if v.index is not None else self.slots.temp()
        self.slots.held.add(index)
        if v.index is not None and range_ is not None:
            inner.names[v.index] = index
            self.steps.append(Bind(v.span, range_.start, index))
        carries = tuple(inner.reserve(carry.name) for carry in v.carries)
        for slot, carry in zip(carries, v.carries, strict=True):
            self.slots.hold(slot, carry.sort)
            self.deliver(carry.init, slot)
        inner.names.update(zip((carry.name for carry in v.carries), carries, strict=True))
        outer, self.slots.scope = self.slots.scope, inner
        self._claims(v, "entry")
        cond, test = self._condition(v)
        buffers = tuple(self.slots.temp() for _ in v.stacked)
        body, following = self._turn(v, range_, index, buffers)
        stacked = tuple(map(self._stacked, v.stacked, buffers))
        self.slots.scope = outer
        slots, in_turn = (index, *carries), (v.known, *(carry.known for carry in v.carries))
        known = {slot: k for slot, k in zip(slots, in_turn, strict=True) if k is not None}
        made = LoopStep(v.span, v.index, index, range_, carries, following, cond, test, body, stacked, known=known)
        self.steps.append(made)
        if output:
            parts = [core.variable(v.span, slot, c.sort) for slot, c in zip(carries, v.carries, strict=True)]
            parts += [core.Var(v.span, buffer) for buffer in buffers]
            value = parts[0] if len(parts) == 1 else core.TupleValue(v.span, tuple(parts))
            self.steps.append(Bind(v.span, value, output, known=v.behind))

    def _range(self, v: core.Range | None) -> core.Range | None:
        """Evaluate a range once, before the first values."""
        return None if v is None else core.Range(*map(self._once, (v.start, v.stop, v.step)))

    def _once(self, size: core.SizeExpr) -> core.SizeExpr:
        if isinstance(size, core.SizeLit):
            return size
        if isinstance(size, core.SizeVar):
            return core.SizeVar(size.span, self.slots.of(size.name))
        slot = self.slots.held_temp()
        self.steps.append(Bind(size.span, self.slots.shape_level(size), slot))
        return core.SizeVar(size.span, slot)

    def _condition(self, v: core.Loop) -> tuple[StepBlock, core.BoolExpr | Operand | None]:
        """The steps before each turn, and the condition that decides then."""
        if v.cond is None:
            return StepBlock(()), None
        outside = self._enter()
        self.statements(v.cond.stmts, v.cond.result)
        test = self.operand(v.cond.result)
        if self.steps and isinstance(test, core.BoolExpr):
            slot = self.slots.temp()
            self.steps.append(Bind(v.cond.span, test, slot))
            test = core.BoolVar(v.cond.span, slot)
        return self._leave(outside), test

    def _turn(
        self, v: core.Loop, range_: core.Range | None, index: str, buffers: Sequence[str]
    ) -> tuple[StepBlock, tuple[str, ...]]:
        """The steps of a turn, and the slots of the carries' next values."""
        outside = self._enter()
        self.statements(v.body.stmts, v.body.result)
        given = self._parts(v.body.result, len(v.carries) + len(v.stacked))
        following = given[: len(v.carries)]
        after = SlotScope(outside[1])  # the invariant does not see the body's names
        after.names.update(zip((carry.name for carry in v.carries), following, strict=True))
        for slot, carry in zip(following, v.carries, strict=True):
            self.slots.hold(slot, carry.sort)
        if v.index is not None and range_ is not None:
            slot = after.names[v.index] = after.reserve(v.index)
            self.slots.held.add(slot)
            self.steps.append(Bind(v.span, core.operation(v.span, "+", core.SizeVar(v.span, index), range_.step), slot))
        self.slots.scope = after
        self._claims(v, "turn")
        total_ = total(v.span, range_) if range_ is not None and v.cond is None else None
        for stacked, value, buffer in zip(v.stacked, given[len(v.carries) :], buffers, strict=True):
            checked = stacked.status in _LIVE
            done = number(v.span, index, range_)
            self.steps.append(Stack(stacked.span, stacked.name, value, buffer, done, total_, checked))
        return self._leave(outside), following

    def _enter(self) -> tuple[list[Step], SlotScope]:
        """Begin a list of steps; its bindings end with it."""
        outside = self.steps, self.slots.scope
        self.steps, self.slots.scope = [], SlotScope(self.slots.scope)
        return outside

    def _leave(self, outside: tuple[list[Step], SlotScope]) -> StepBlock:
        made = self.block()
        self.steps, self.slots.scope = outside
        return made

    def _parts(self, result: core.Value, count: int) -> tuple[str, ...]:
        """The slots of a turn's results."""
        if count == 1:
            return (self._slot_of(result),)
        if isinstance(result, core.TupleValue):
            return tuple(map(self._slot_of, result.items))
        slots = tuple(self.slots.temp() for _ in range(count))
        self.deliver(result, slots)
        return slots

    def _slot_of(self, v: core.Value) -> str:
        if isinstance(v, core.Variable):
            return self.slots.of(v.name)
        slot = self.slots.temp()
        if isinstance(v, core.ShapeLevel):
            self.slots.held.add(slot)
        self.deliver(v, slot)
        return slot

    def _claims(self, v: core.Loop, moment: str) -> None:
        """Append the checks that a loop's invariant leaves, of the carries now in scope."""
        for claim in v.invariant:
            status = claim.entry if moment == "entry" else claim.turn
            if status in _LIVE:
                made = core.Assert(claim.span, claim.cond, None, claim.origin, status)
                cond = self.slots.shape_level(made.cond)
                self.steps.append(StepCheck(made.span, cond, made, self.slots.spoken(made), moment=moment))

    def _stacked(self, v: core.Stacked, buffer: str) -> Stacked:
        dims = tuple(core.SizeLit(v.span, 0) if d is None else self.slots.shape_level(d) for d in v.shape)
        return Stacked(
            buffer, core.ShapeLit(v.span, (core.SizeLit(v.span, 0), *dims)), v.dtype and self.slots.shape_level(v.dtype)
        )

    # Closures

    def _closure(
        self, made_of: core.Lambda | core.Function, body: Sequence[core.Stmt], span: Span, output: str
    ) -> None:
        """Append a closure: the checks of its parameters, the wrappers of functions among them, then the body."""
        params, result = made_of.params, made_of.body.result
        inner = Lowering(self.program, self.function, [p.name for p in params], self)
        names = tuple(inner.slots.of(p.name) for p in params)
        inner.statements(made_of.checks)
        for param in params:
            if isinstance(param.sort, core.FnSort):
                made = inner.wrapper(span, param)[1]
                inner.steps.append(made)
                inner.slots.scope.names[param.name] = made.output
        inner.statements(body, result)
        block, _ = inner.finished(result)
        self.steps.append(Closure(span, names, block, tuple(inner.slots.captured), output))

    def wrapper(self, span: Span, param: core.Param) -> tuple[str, Closure]:
        """The closure that checks a given function against the parameter's annotation at every call."""
        assert isinstance(param.sort, core.FnSort)
        sig = param.sort.signature
        outside, self.steps = self.steps, []
        self._closure(sig, (*sig.body.stmts, *sig.promises), span, self.slots.temp())
        made, self.steps = self.steps[0], outside
        assert isinstance(made, Closure)
        return self.slots.of(param.name), made

    # Calls

    def _call(self, c: core.Call, output: Output) -> None:
        name = c.callee.name
        functions = self.program.functions
        if isinstance(c.callee, core.Var):
            return self._invoke(c, self.slots.of(name), "value", output)
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
        given = bind(row, c)
        if all(isinstance(v, core.Number) for p, v in given if v is not None and p.kind in TENSORS):
            is_float = any(p.kind == "tensor" and type(getattr(v, "value", None)) is float for p, v in given)
            given = tuple((p, _as_tensor(v, is_float) if p.kind == "tensor" else v) for p, v in given)
        inputs = tuple(None if v is None else self._argument(p, v) for p, v in given)
        if not row.elementwise and Trait.BROADCASTS not in row.traits:
            inputs = self._beside(row, inputs)
        guard = c.guard or self.program.guard_all
        self.steps.append(Compute(c.span, row, inputs, output, c.known, guard, c))
        return None

    def _beside(self, row: Primitive, inputs: tuple[Operand | None, ...]) -> tuple[Operand | None, ...]:
        """Literal numbers as tensors with the dtype of the operands beside them: only element-wise kernels take numbers."""
        words = iter(parse_dtypes(row.dtypes).inputs)
        letters = [next(words).var if p.kind in TENSORS else None for p in row.params]
        made = []
        for param, value, letter in zip(row.params, inputs, letters, strict=True):
            if isinstance(value, core.Number) and param.kind == "tensor" and param.required:
                beside = (v for v, var in zip(inputs, letters, strict=True) if var and var == letter)
                value = self._of_the_dtype(value, next((v for v in beside if isinstance(v, core.Var)), None))
            made.append(value)
        return tuple(made)

    def _of_the_dtype(self, number: core.Number, other: core.Var | None) -> Operand:
        """A number as a tensor with the dtype of another operand, or with its own dtype if there is none."""
        if other is None:
            return self.operand(_as_tensor(number) or number)
        dtype, target, row = core.DTypeOf(number.span, other.name), self.slots.temp(), rows.lookup("cast")
        assert row is not None
        args = (core.Arg(number.span, None, number), core.Arg(number.span, "dtype", dtype))
        call = core.Call(number.span, core.FnRef(number.span, "cast"), args)
        self.steps.append(Compute(number.span, row, (number, dtype), target, None, False, call))
        return core.Var(number.span, target)

    def _invoke(self, c: core.Call, callee: str, way: str, output: Output) -> None:
        inputs = tuple(self.operand(a.value) for a in c.args)
        if isinstance(output, str) and c.known is not None:
            self.slots.learn([output], [c.known])
        self.steps.append(Invoke(c.span, callee, way, inputs, output, sure=c.sure and way == "decided"))

    def _invoke_list(self, c: core.Call, impls: core.Impls, output: Output) -> None:
        """Append a call of a list. A literal number takes its dtype from the chosen member; if all are primitives, arguments
        are read as for the last one."""
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

    def _argument(self, param: PrimitiveParam, v: core.Value) -> Operand:
        """An argument as an operand; sizes given as tensors are read first."""
        if isinstance(v, core.Number):
            return v
        match param.kind:
            case "shape" | "sizes" | "ints" | "target" as kind:
                if isinstance(v, core.ListValue | core.TupleValue):
                    items = tuple(self._argument(_SIZE, item) for item in v.items)
                    return core.ListValue(v.span, items)
                return (
                    self.slots.shape_level(v)
                    if isinstance(v, _SIZES)
                    else self._read(v, "sizes" if kind == "sizes" else "shape")
                )
            case "size" if not isinstance(v, core.SizeExpr):
                return self._read(v, "size")
        return self.operand(v)

    def _read(self, v: core.Value, kind: Literal["size", "sizes", "shape"]) -> Operand:
        value, target = self.operand(v), self.slots.held_temp()
        self.steps.append(ReadSizes(v.span, value, kind, target))
        return core.SizeVar(v.span, target) if kind == "size" else core.ShapeVar(v.span, target)

    # Statements

    def statements(self, stmts: Sequence[core.Stmt], result: core.Value | None = None) -> None:
        """Append statements in order; `result` is the value after them."""
        for i, stmt in enumerate(stmts):
            match stmt:
                case core.Let():
                    self.let(stmt)
                case core.Assert():
                    if stmt.status in _LIVE:
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
        slots = tuple(map(self.slots.scope.reserve, stmt.names))
        if isinstance(stmt.value, core.ShapeLevel):
            self.slots.held.update(slots)
        if len(stmt.known) == len(slots):
            self.slots.learn(slots, stmt.known)
        if stmt.is_tuple and (len(stmt.known) != len(slots) or stmt.known == (None,)):  # its number of parts is unknown
            whole = self.slots.temp()
            self.deliver(stmt.value, whole)
            self.steps.append(Bind(stmt.value.span, core.Var(stmt.value.span, whole), slots, sure=False))
        else:
            self.deliver(stmt.value, slots if stmt.is_tuple else slots[0])
        self.slots.scope.names.update(zip(stmt.names, slots, strict=True))

    def _callee_of(self, stmt: core.Assert) -> str | None:
        """The function whose parameter this checks, if it is another one than the current function."""
        declared = stmt.origin.declared
        if stmt.status is not core.Status.RESIDUAL or declared is None or declared.kind != "param":
            return None
        return declared.function if declared.function != self.function else None

    def _check(self, stmt: core.Assert, call: core.Call | None) -> None:
        given = self._given(call) if call is not None else ()
        self.steps.append(
            StepCheck(stmt.span, self.slots.shape_level(stmt.cond), stmt, self.slots.spoken(stmt), call, given)
        )

    def _given(self, call: core.Call) -> Names:
        """The callee's parameters with the slots of their arguments."""
        callee = self.program.functions.get(call.callee.name)
        pairs = zip(callee.params, call.args, strict=False) if callee is not None else ()
        return tuple(
            (p.name, self.slots.of(a.value.name))
            for p, a in pairs
            if isinstance(a.value, core.Var | core.SizeVar | core.ShapeVar | core.DTypeVar)
            and self.slots.knows(a.value.name)
        )

    def _match(self, stmt: core.MatchShape) -> None:
        names, tensor = self.slots.spoken(stmt), self.slots.of(stmt.tensor)
        binds = tuple(map(self.slots.bind, stmt.binds))
        self.slots.held.update(binds)
        dims = tuple(map(self.slots.shape_level, stmt.dims))
        self.steps.append(Match(stmt.span, tensor, binds, dims, stmt, names, stmt.status in _LIVE))


def _as_tensor(v: core.Value | None, is_float: bool = False) -> core.Value | None:
    """A literal number as a tensor: without a tensor beside it, it has its own dtype."""
    if not isinstance(v, core.Number) or type(v.value) is int and not -(2**63) <= v.value < 2**63:
        return v  # a number that no dtype holds is refused when it is read
    value = float(v.value) if is_float and type(v.value) is int else v.value
    kinds = {bool: "bool", int: "int64", float: "float64"}
    return core.TensorLit(v.span, (), (value,), DTYPES[kinds[type(value)]])


def _takes_more(function: core.Function) -> bool:
    """Whether a parameter is a function that takes functions: those are checked when it is called."""
    given = (p.sort.signature.params for p in function.params if isinstance(p.sort, core.FnSort))
    return any(isinstance(inner.sort, core.FnSort) for params in given for inner in params)
