"""From a program to the peak memory of a call, as an expression in its sizes.

The steps of the data program are followed once with sizes instead of numbers. A tensor takes memory from the step that makes
it until nothing holds it or a view of it; arguments and weights are not counted. An `if` counts as its greater arm, a loop as
its greatest turn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from ..interp import dps
from ..interp.allocation import VIEWS
from ..interp.follow import Follower, unpack
from ..interp.kernels.scratch import SCRATCH
from ..interp.names import unmangled
from ..interp.steps import (
    Bind,
    Branch,
    Compute,
    Invoke,
    LoopStep,
    Match,
    ReadSizes,
    Stack,
    Step,
    StepBlock,
    StepCheck,
    every,
    outputs,
)
from ..lang import core
from ..lang.core_printer import print_expr
from ..lang.node import replace
from ..lang.source import NOWHERE
from ..simplify.solver import terms
from ..simplify.solver.term_sizes import Terms
from ..simplify.solver.terms import Size
from ..sizes.evaluate import Name, evaluate
from .arrays import Array, Memory, Missing, NotKnown, Value, arrays_of, at_end, held_by, moved, order_of, width
from .sizes import Peak, greatest, over_turns

NO_CONSTS: Mapping[str, Array] = {}


def peak(
    program: core.Program, pairs: Mapping[str, dps.Pair], name: str, consts: Mapping[str, Array] = NO_CONSTS
) -> Peak:
    """Return the memory of a call beyond its arguments and the program's consts, in the sizes of the function's signature;
    raise NotKnown if it cannot be told."""
    calls = _Calls(pairs, {i.name: i.choices for i in program.impls}, consts)
    pair = pairs[name]
    try:
        calls.call_of(name, tuple(calls.argument(pair, p) for p in pair.data.params))
    except terms.TooLarge:
        raise NotKnown("the expression is too large") from None
    return calls.peak


class _Frame:
    """The values in the slots of one call."""

    def __init__(self, pair: dps.Pair) -> None:
        self.pair = pair
        self.values: dict[str, Value] = {}
        self.sizes: dict[str, Size] = {}
        # The sizes of tensors outlive their memory.
        self.dims: dict[tuple[str, int], Size] = {}

    def get(self, slot: str) -> Value:
        return self.values.get(slot)

    def bind(self, slot: str, value: Value) -> None:
        self.values[slot] = value
        if isinstance(value, Array):
            self.dims.update({(slot, axis): dim for axis, dim in enumerate(value.dims or ())})

    def branched(self) -> _Frame:
        frame = _Frame(self.pair)
        frame.values, frame.dims = dict(self.values), dict(self.dims)
        return frame


class _Calls(Follower[_Frame, Value], Terms):
    """Follows calls. `frames` are the open ones, whose slots hold memory."""

    def __init__(
        self, pairs: Mapping[str, dps.Pair], members: Mapping[str, Sequence[str]], consts: Mapping[str, Array]
    ) -> None:
        self.consts, self.pairs, self.members = consts, pairs, members
        self.peak = Peak()
        self.frames: list[_Frame] = []
        self.numbers = count()
        self.taken: set[str] = set()
        self.names: dict[str, Size] = {}
        self.more: list[Array] = []  # the stacks of the enclosing loops
        self.around: tuple[str, ...] = ()

    @property
    def frame(self) -> _Frame:
        return self.frames[-1]

    # Calls

    def argument(self, pair: dps.Pair, slot: str) -> Value:
        """Return an argument of the outermost call, in the sizes that the signature names."""
        known = pair.data.known.get(slot)
        if known is None:
            return None
        if known.shape is None and isinstance(known.data, core.SizeExpr):
            return self.called(print_expr(known.data), unmangled(slot), nonneg=_is_natural(pair, slot))
        named = [self._named(d, f"{unmangled(slot)}_{axis}") for axis, d in enumerate(known.shape or ())]
        itemsize = width(known.dtype.dtype) if isinstance(known.dtype, core.DTypeLit) else self.new("itemsize")
        return Array(None if known.shape is None else tuple(named), itemsize, (), tuple(range(len(named))))

    def _named(self, size: core.SizeExpr, otherwise: str) -> Size:
        """Return a size of a signature; a size without a name is called `otherwise`."""
        found: Size = evaluate(size, _OfSignature(self, otherwise))
        return found

    def called(self, checkers: str, name: str, *, nonneg: bool = True) -> Size:
        """Return the size of a signature that has this name in the checker."""
        if checkers not in self.names:
            self.names[checkers] = self.new(name, nonneg=nonneg)
        return self.names[checkers]

    def new(self, name: str, *, nonneg: bool = True) -> Size:
        """Return a new size that is known only at run time."""
        plain = name if name.replace("'", "").isidentifier() else "size"
        while plain in self.taken:
            plain += "'"
        self.taken.add(plain)
        return terms.var(plain, next(self.numbers), nonneg)

    def run(self, block: StepBlock, state: _Frame) -> Value:
        self.frames.append(state)
        result = super().run(block, state)
        self.frames.pop()
        return result

    def call(self, step: Invoke, args: tuple[Value, ...], state: _Frame) -> Value:
        """Follow a call of a function, or of a list of functions, of which the greatest counts."""
        if step.way == "value":
            raise NotKnown("a function is called that is not known")
        chosen = self.members.get(step.callee, (step.callee,))
        return self._one_of([self.call_of(name, args) for name in chosen], self.held())

    def call_of(self, name: str, args: tuple[Value, ...]) -> Value:
        if name in self.around:
            raise NotKnown(f"@{name} calls itself")
        if name not in self.pairs:
            raise NotKnown(f"the code that @{name} runs is not known")
        frame, routine = _Frame(self.pairs[name]), self.pairs[name].data
        unpack(routine.params, args, frame)
        self.around = (*self.around, name)
        result = self.run(replace(routine.body, steps=(*routine.entry, *routine.body.steps)), frame)
        self.around = self.around[:-1]
        return result

    # Memory

    def held(self) -> set[Memory]:
        values = [v for frame in self.frames for v in frame.values.values()]
        return {memory for value in values for memory in held_by(value)}

    def note(self, size: Size) -> None:
        """Record a peak of this size plus all memory that is held."""
        for memory in self.held():
            size = size + memory.bytes
        for stacked in self.more:
            size = size + stacked.held[0].bytes
        self.peak.add(size)

    def _one_of(self, values: Sequence[Value], before: set[Memory]) -> Value:
        """Return one of several values when it is not known which; the memory that they made counts as the greatest."""
        first = values[0]
        if all(v == first for v in values):
            return first
        if all(isinstance(v, Array) for v in values):
            return self._joined_arrays([v for v in values if isinstance(v, Array)], before)
        if all(isinstance(v, tuple) for v in values):
            return tuple(self._one_of(parts, before) for parts in zip(*values, strict=True))
        return self.new("size", nonneg=False) if isinstance(first, int | terms.Term) else None

    def _joined_arrays(self, arrays: Sequence[Array], before: set[Memory]) -> Array:
        ranks = {None if a.dims is None else len(a.dims) for a in arrays}
        dims = (
            None
            if len(ranks) > 1 or None in ranks
            else tuple(map(greatest, zip(*(a.dims or () for a in arrays), strict=True)))
        )
        old = tuple(dict.fromkeys(m for a in arrays for m in a.held if m in before))
        new = [m.bytes for a in arrays for m in a.held if m not in before]
        made = (Memory(next(self.numbers), greatest(new)),) if new else ()
        order = arrays[0].order if all(a.order == arrays[0].order for a in arrays) else None
        return Array(dims, arrays[0].itemsize, (*old, *made), order)

    # Steps

    def block(self, block: StepBlock, state: _Frame) -> None:
        self.release(block.dead)
        super().block(block, state)

    def step(self, step: Step, state: _Frame) -> None:
        super().step(step, state)
        self.release(step.last)

    def release(self, slots: Iterable[str]) -> None:
        for slot in slots:
            self.frame.values.pop(slot, None)

    def put(self, step: Compute | Invoke | Bind | ReadSizes | Branch, value: Value, state: _Frame) -> None:
        """Bind a value, with the shape known at the binding, which may say more than the shape known where it was made."""
        built = state.pair.shapes.get(step.output) if isinstance(step.output, str) else None
        if isinstance(value, Array) and built is not None and built.dims is not None and not isinstance(step, Compute):
            value = Array(self.dims(built, value.dims), value.itemsize, value.held, value.order)
        super().put(step, value, state)

    def read(self, step: ReadSizes, state: _Frame) -> Value:
        return self.new(unmangled(step.output), nonneg=False)

    def check(self, step: StepCheck | Match, state: _Frame) -> None:
        if isinstance(step, StepCheck):
            return
        splices = [axis for axis, dim in enumerate(step.dims) if isinstance(dim, core.Splice)]
        first, behind = (splices[0], splices[-1] + 1) if splices else (len(step.dims), len(step.dims))
        placed = [*enumerate(step.dims[:first]), *enumerate(step.dims[behind:], start=behind - len(step.dims))]
        for axis, dim in placed:
            if isinstance(dim, core.SizeVar) and dim.name in step.binds:
                state.values[dim.name] = self.size(core.DimOf(NOWHERE, step.tensor, axis))

    def branch(self, step: Branch, state: _Frame) -> None:
        self.release(step.last)
        super().branch(step, state)

    def arm(self, step: Branch, block: StepBlock, state: _Frame) -> _Frame:
        """Follow an arm in a frame that takes the place of the one before it."""
        self.frames[-1] = inner = state.branched()
        inner.sizes, inner.dims = state.sizes, state.dims
        self.block(block, inner)
        self.frames[-1] = state
        return inner

    def joined(self, values: Sequence[Value], state: _Frame) -> Value:
        return self._one_of(values, self.held())

    # Loops

    def loop(self, step: LoopStep, state: _Frame) -> None:
        """Follow one turn for all of them, with the index as a size; then count the memory at the greatest index."""
        frame, outside = state, self.peak
        start = step.range.start if step.range is not None else None
        index = self.new(unmangled(step.index), nonneg=not isinstance(start, core.SizeLit) or start.value >= 0)
        frame.values[step.index] = index
        limits = None if step.range is None else self._limits(step.range)
        begin, stacks, held, named = dict(frame.values), len(self.more), self.held(), set(self.taken)
        after = self._turn(step, frozenset())
        own = frozenset(carry for carry, value in after.items() if not held.issuperset(held_by(value)))
        frame.values, self.more, self.taken = begin, self.more[:stacks], set(named)
        after = self._turn(step, own)
        outside.of_turns |= self.peak.of_turns | self.taken - named
        stacked, self.more = self.more[stacks:], self.more[:stacks]
        for size in self.peak.sizes:
            for made in stacked:
                size = size + made.held[0].bytes
            outside.add(over_turns(size, index, limits))
        self.peak = outside
        self.release(step.dropped)
        for carry, value in after.items():
            frame.values[carry] = at_end(value, index, limits)
        for into, made in zip(step.stacked, stacked, strict=False):
            frame.values[into.output] = at_end(made, index, limits)

    def _turn(self, step: LoopStep, own: Collection[str]) -> dict[str, Value]:
        """Follow a turn and return its carries; `peak` becomes the turn's. A carry in `own` holds memory made by the turn
        before."""
        frame, inside = self.frame, {slot for made in (*every(step.cond), *every(step.body)) for slot in outputs(made)}
        frame.dims = {key: dim for key, dim in frame.dims.items() if key[0] not in inside.union(step.carries)}
        frame.sizes = {}
        for carry in step.carries:
            value, built = frame.values.get(carry), frame.pair.turns.get(carry)
            if isinstance(value, Array) and built is not None:
                dims = None if built.dims is None else self.dims(built, None)
                made = Array(dims, value.itemsize, value.held, value.order)
                memory = (Memory(next(self.numbers), made.bytes),) if carry in own else value.held
                frame.bind(carry, Array(dims, value.itemsize, memory, value.order))
            elif isinstance(value, int | terms.Term):
                frame.values[carry] = self.new(unmangled(carry), nonneg=False)
        self.peak = Peak()
        self.block(step.cond, frame)
        self.block(step.body, frame)
        return {c: frame.values.get(f) for c, f in zip(step.carries, step.following, strict=True)}

    def _limits(self, range_: core.Range) -> tuple[Size, Size]:
        """Return the first index, and the last one if there is a turn."""
        start, stop, step = map(self.size, (range_.start, range_.stop, range_.step))
        return start, start + (-((start - stop) // step) - 1) * step

    def stack(self, step: Stack, state: _Frame) -> None:
        """Count a stack in full from the first turn on."""
        value = state.get(step.value)
        if isinstance(value, Array) and value.dims is not None:
            turns = self.size(step.total) if step.total is not None else self.new("turns")
            self.more.append(Array(None, value.itemsize, (Memory(next(self.numbers), value.bytes * turns),)))
        else:
            raise NotKnown("the rank of a loop's stack is not known")

    # Results of kernels

    def compute(self, step: Compute, state: _Frame) -> Value:
        slots = outputs(step)
        if step.row.results == "size":
            return self.new(unmangled(slots[0]), nonneg=False) if slots else None
        operands = [self.value(v, state) for v in step.inputs if v is not None]
        arrays = [a for value in operands for a in arrays_of(value)]
        if isinstance(step.output, tuple) or step.row.results == "tuple":
            return self._several(step, arrays)
        made = self._made(self.frame.pair.results.get(id(step.call)), arrays)
        if step.into is not None:
            self._fill(step, made, 0)
            into = self.frame.values.get(step.into)
            return Array(made.dims, made.itemsize, into.held if isinstance(into, Array) else (), made.order)
        view = self._view(step, arrays, made)
        return view if view is not None else self._fresh(step, arrays, made)

    def _several(self, step: Compute, arrays: Sequence[Array]) -> Value:
        """Return several results: views of the first operand, or each with memory of its own."""
        shapes = self.frame.pair.shapes
        if VIEWS.get(step.row.name) == "always":
            held = tuple(m for a in arrays[:1] for m in a.held)
            slots = (step.output,) if isinstance(step.output, str) else step.output
            made = tuple(Array(a.dims, a.itemsize, held) for a in (self._made(shapes.get(s), arrays) for s in slots))
            return made if isinstance(step.output, tuple) else made[0]
        if not isinstance(step.output, tuple):
            raise NotKnown(f"the result of @{step.row.name} is not unpacked")
        parts = [self._made(shapes.get(slot), arrays) for slot in step.output]
        self._fill(step, parts[0], sum((part.bytes for part in parts), 0))
        return tuple(Array(a.dims, a.itemsize, (Memory(next(self.numbers), a.bytes),), a.order) for a in parts)

    def _made(self, built: dps.Built | None, arrays: Sequence[Array]) -> Array:
        """Return a result that holds no memory yet."""
        if built is None:
            return Array(None, 8)
        dims = None if built.dims is None else self.dims(built, None)
        return Array(dims, self._itemsize(built.dtype, arrays), (), tuple(range(len(dims or ()))))

    def _itemsize(self, dtype: core.DTypeExpr | None, arrays: Sequence[Array]) -> Size:
        if isinstance(dtype, core.DTypeLit):
            return width(dtype.dtype)
        return next((a.itemsize for a in arrays), 8)

    def _fresh(self, step: Compute, arrays: Sequence[Array], made: Array) -> Array:
        if made.dims == ():
            return made
        self._fill(step, made, made.bytes)
        held = (Memory(next(self.numbers), made.bytes),)
        return Array(made.dims, made.itemsize, held, order_of(step, arrays, made))

    def _fill(self, step: Compute, made: Array, size: Size) -> None:
        """Count the memory while a kernel works: its results and its scratch memory."""
        row = SCRATCH.get(step.row.name)
        given = {p.name: self._given(v) for p, v in zip(step.row.params, step.inputs, strict=True)}
        self.note(size if row is None else size + row(given, made, terms.smin))

    def _given(self, value: core.Value | None) -> Any:
        """Return an argument as a row of scratch memory takes it."""
        if isinstance(value, core.Text):
            return value.value
        found = None if value is None else self.value(value, self.frame)
        return Missing(value.name) if found is None and isinstance(value, core.Var) else found or value

    def _view(self, step: Compute, arrays: Sequence[Array], made: Array) -> Array | None:
        """Return a result that lies in an operand's memory; None if it has its own."""
        how = VIEWS.get(step.row.name)
        if how is None or not arrays or (how not in ("always", "rows") and step.memory is not None):
            return None
        if how == "rows" and not arrays[0].in_rows or how not in ("always", "rows") and arrays[0].dims != made.dims:
            return None
        order = made.order if how == "rows" else moved(step, arrays[0], made)
        return Array(made.dims, arrays[0].itemsize, arrays[0].held, order)

    # Sizes

    def value(self, value: core.Value, state: _Frame) -> Value:
        if isinstance(value, core.Var):
            return self.consts[value.name] if value.name in self.consts else state.get(value.name)
        if isinstance(value, core.FnRef):
            return value
        if isinstance(value, core.TupleValue | core.ListValue):
            return tuple(self.value(item, state) for item in value.items)
        return self.size(value) if isinstance(value, core.SizeExpr) else None

    def dims(self, built: dps.Built, otherwise: Sequence[Size | None] | None) -> tuple[Size, ...]:
        given = otherwise if otherwise is not None and len(otherwise) == len(built.dims or ()) else None
        found = []
        for axis, dim in enumerate(built.dims or ()):
            known = given[axis] if given is not None else None
            found.append(self.size(dim) if dim is not None else known or self._delivered(built.slot, axis))
        return tuple(found)

    def _delivered(self, slot: str, axis: int) -> Size:
        """Return a new size that a step of the data program delivers, named after the size bound to it."""
        wanted = core.DimOf(NOWHERE, slot, axis)
        bound = next((s for s, value in self.frame.pair.sizes.items() if value == wanted), "")
        made = self.new(
            unmangled(bound.replace("z_", "v_", 1)) if bound.startswith("z_") else f"{unmangled(slot)}_{axis}"
        )
        self.frame.dims[slot, axis] = made
        return made

    def size(self, size: core.SizeExpr) -> Size:
        found: Size = evaluate(size, self)
        return found

    def named(self, e: Name) -> Size:
        return self._slot(e.name)

    def dimension(self, e: core.DimOf) -> Size:
        found = self.frame.values.get(e.tensor)
        rank = len(found.dims) if isinstance(found, Array) and found.dims is not None else 0
        key = (e.tensor, e.axis + rank if e.axis < 0 else e.axis)
        return self.frame.dims[key] if key in self.frame.dims else self._delivered(*key)

    def rank(self, e: core.RankOf) -> Size:
        return self.new("rank")

    def _slot(self, slot: str) -> Size:
        frame = self.frame
        value, defined = frame.values.get(slot), frame.pair.sizes.get(slot)
        if isinstance(value, int | terms.Term):
            return value
        if slot not in frame.sizes:
            made = self.size(defined) if isinstance(defined, core.SizeExpr) else self.new(unmangled(slot))
            frame.sizes[slot] = made
        return frame.sizes[slot]


class _OfSignature(Terms):
    """Sizes by the checker's names; a size without a name is called `otherwise`."""

    def __init__(self, memory: _Calls, otherwise: str) -> None:
        self.memory, self.otherwise = memory, otherwise

    def named(self, e: Name) -> Size:
        return self.memory.called(e.name, e.name if e.name.replace("'", "").isidentifier() else self.otherwise)

    def rank(self, e: core.RankOf | core.DimOf) -> Size:
        return self.memory.new(self.otherwise)

    dimension = rank


def _is_natural(pair: dps.Pair, slot: str) -> bool:
    """Whether the entry check demands that a Size is not negative."""
    conds = [
        step.cond for step in pair.data.entry if isinstance(step, StepCheck) and isinstance(step.cond, core.Compare)
    ]
    least = {">=": 0, ">": -1, "==": 0}
    return any(
        isinstance(c.right, core.SizeLit) and c.op in least and c.right.value >= least[c.op]
        for c in conds
        if isinstance(c.left, core.SizeVar) and c.left.name == slot
    )
