"""Calls of primitives: the arguments read, the dtypes compared, the shape rule run over symbolic sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import is_
from typing import Any

from ..lang import codes, core
from ..lang.core import Status
from ..lang.dtypes import DType
from ..lang.node import replace
from ..ops.axes import among, axis_of
from ..ops.binding import BindError, bind
from ..ops.dtypes_column import Column, parse_dtypes
from ..ops.elements import count
from ..ops.model import WILDCARD, AnyDType, Out, Primitive, PrimitiveParam, RankUnknown, ResultOpen, TensorInfo, Trait
from ..ops.ranges import in_range, moved, sizes_of, some_of
from ..ops.requirements import Argument, DTypeIn, Intricate, OfRank, Other, Requirement, Spoken, of_some_rank
from ..ops.tracked import kept
from . import lint, transposed
from .arguments import BadArgument, NotLiteral, argument
from .arms import arms
from .bindings import Bindings
from .frame import Frame
from .known.broadcasts import common_shape
from .known.finding import Finding
from .known.shape_level import ShapeLevel
from .known.state import State
from .known.values import (
    POISON,
    UNDECIDED,
    Entry,
    Env,
    ListValue,
    Made,
    NumberValue,
    Poison,
    SizeValue,
    TupleValue,
    UnknownValue,
    Value,
    least_rank,
    plain,
)
from .messages.claims import Fits
from .messages.spoken import CallInfo
from .opaque import holds
from .operand_dtypes import result_dtypes
from .rule_context import Refuted, SymbolicCtx, outline
from .solver.terms import (
    A_CALL,
    AN_AXIS,
    MOST_BITS,
    Allowance,
    OutOfSteps,
    Size,
    TooLarge,
    charge,
    over,
    spent,
    stride,
)
from .visitor import Visitor
from .wildcards import Sayable


def call_primitive(
    visitor: Visitor, frame: Frame, row: Primitive, call: core.Call, env: Env
) -> tuple[Entry, core.Value]:
    """Return the call's result, and the remaining call: guarded if a precondition was not proved."""
    bound = _bound(visitor, frame, row, call)
    if bound is None:
        return Entry(POISON, call.span), call
    read = visitor.program.solutions.read if frame.quiet else lambda value: value
    given = [(p, read(v) if p.kind == "target" else v) for p, v in bound if v is not None]
    return _applied(visitor, frame, row, call, given, visitor.values(frame, [v for _, v in given], env), env)


def apply_primitive(
    visitor: Visitor,
    frame: Frame,
    row: Primitive,
    call: core.Call,
    walked: list[tuple[Entry, core.Value]],
    env: Env,
) -> tuple[Entry, core.Value]:
    """The same for a call whose arguments have been walked."""
    bound = _bound(visitor, frame, row, call)
    if bound is None:
        return Entry(POISON, call.span), call
    names = [arg.name or row.params[i].name for i, arg in enumerate(call.args)]
    by_name = dict(zip(names, walked, strict=True))
    given = [(p, v) for p, v in bound if v is not None]
    return _applied(visitor, frame, row, call, given, [by_name[p.name] for p, _ in given], env)


def _bound(
    visitor: Visitor, frame: Frame, row: Primitive, call: core.Call
) -> tuple[tuple[PrimitiveParam, core.Value | None], ...] | None:
    """The call's arguments by the row's parameters; None if they do not fit."""
    try:
        return bind(row, call)
    except BindError as problem:
        visitor.prover.judge(frame, False, Fits(problem.span, codes.E314, problem.message), claim=True)
        return None


def _applied(
    visitor: Visitor,
    frame: Frame,
    row: Primitive,
    call: core.Call,
    given: list[tuple[PrimitiveParam, core.Value]],
    found: list[tuple[Entry, core.Value]],
    env: Env,
) -> tuple[Entry, core.Value]:
    prover, state, bindings = visitor.prover, visitor.state, visitor.bindings
    found = [(_in_its_sort(bindings, frame, p, e, v, env), v) for (p, _), (e, v) in zip(given, found, strict=True)]
    after = _rebuilt(call, row, [p for p, _ in given], [v for _, v in found])
    operands = {p.name: e for (p, _), (e, _) in zip(given, found, strict=True)}
    entries = tuple(operands.items())
    stride(A_CALL + sum(_weight(e.value) for e in operands.values()))
    if any(_has_poison(e.value) for e in operands.values()):
        return Entry(POISON, call.span), replace(after, guard=True)
    info = CallInfo(call.span, row, entries, tuple(v for _, v in given))
    if over():
        return _left_to_the_run(SymbolicCtx(prover, frame, info), after, operands)
    number = bindings.number_of_call(row.name, entries)
    ctx = SymbolicCtx(prover, frame, info, _counted(row, operands, number))
    ctx.count = _count(bindings, row, operands)
    target = next((v for p, v in given if p.kind == "target"), None)
    wild = _wildcards(state, env, target)
    if wild and not frame.quiet and target is not None and visitor.program.solutions.is_free(target):
        ctx.scope = _scope(visitor, env, given[0][1])
    try:
        value = _apply(row, ctx, operands, wild)
    except Refuted:
        return Entry(POISON, call.span), replace(after, guard=True)
    if not frame.quiet and not prover.is_brief_on_unproved:
        _remark(visitor, info, row, value)
    if ctx.solved is not None and isinstance(target, core.ShapeLit):
        visitor.program.solutions.keep(target, ctx.solved)
        after = visitor.program.solutions.put(after)
    value = _with_ranges(ctx, row, operands, value)
    entry = Entry(value, call.span, origin=Made(row.name, entries, ctx.unproved, row=row), number=number)
    return entry, _as_it_stays(ctx, after, operands)


def _remark(visitor: Visitor, info: CallInfo, row: Primitive, value: Value) -> None:
    """Add notes on a call that is right."""
    log, state, function = visitor.prover.log, visitor.state, visitor.prover.function
    log.remark(*lint.notes(state, info, row, value, function))
    if Trait.REGROUPS in row.traits:
        log.remark(*transposed.mixed(state, info, value, function))


def _as_it_stays(ctx: SymbolicCtx, call: core.Call, operands: Mapping[str, Entry]) -> core.Call:
    """The remaining call: guarded if a precondition was not proved, and sure if nothing can fail."""
    if ctx.residual:
        return replace(call, guard=True, args=(*call.args, *_that_it_rests_on(ctx, call)))
    sure = ctx.by_sizes or not _may_refuse(ctx.info.row, operands, ctx.state)
    return call if call.sure == sure else replace(call, sure=sure)


def _that_it_rests_on(ctx: SymbolicCtx, call: core.Call) -> Iterator[core.Arg]:
    """The arguments that pass to the run the values on which the result rests."""
    given = {name for name, _ in ctx.info.entries}
    for name, value in ctx.rests_on.items():
        if name not in given:
            sizes = tuple(core.SizeLit(call.span, number) for number in value)
            yield core.Arg(call.span, name, core.ShapeLit(call.span, sizes))


def _left_to_the_run(ctx: SymbolicCtx, call: core.Call, operands: dict[str, Entry]) -> tuple[Entry, core.Value]:
    """A call for which no steps are left: only its dtypes are checked."""
    row, span = ctx.info.row, call.span
    column = parse_dtypes(row.dtypes)
    try:
        arguments = _arguments(row, ctx, operands)
        dtypes = result_dtypes(row, column, ctx, arguments)
        if row.rule is not None:
            ctx.leave_open(_fitting(ctx.state, row, arguments))
    except Refuted:
        return Entry(POISON, span), replace(call, guard=True)
    same = TensorInfo(arguments[0].shape, dtypes[0]) if row.elementwise and arguments[0] is not _UNREADABLE else None
    value = same or _unknown_result(ctx.state, row, column, dtypes)
    return Entry(value, span), replace(call, guard=ctx.residual)


def _scope(visitor: Visitor, env: Env, operand: core.Value) -> Sayable:
    """The scope in which the size behind a -1 is written: the names around, and the sizes of the operand."""
    return Sayable(visitor.state, env, visitor.outside, operand.name if isinstance(operand, core.Var) else None)


def _may_refuse(row: Primitive, entries: Mapping[str, Entry], state: State) -> bool:
    """Whether a call with right shapes and dtypes may fail because of its elements. A number need not fit an unknown
    dtype."""
    if row.refuses:
        param = next(p for p in row.params if p.name == row.refuses)
        given = entries.get(param.name)
        return given is not None and (param.kind == "size" or not isinstance(given.value, NumberValue | SizeValue))
    spells = Trait.SPELT in row.traits
    if not spells and all(type(e.value) is not NumberValue for e in entries.values()):
        return False
    tensors = [e.value for e in entries.values() if isinstance(e.value, TensorInfo)]
    dtypes = [None if t.dtype is None else state.dtype(t.dtype) for t in tensors]
    return not all(isinstance(d, DType) and (d.kind != "string" or not spells) for d in dtypes)


def _with_ranges(ctx: Any, row: Primitive, entries: Mapping[str, Entry], value: Value) -> Value:
    """Give the result of a selection the ranges of the elements from which it selects."""
    given = entries[row.selects].value if row.selects in entries else None
    if not isinstance(given, TensorInfo) or not given.ranges:
        return value
    if isinstance(value, TupleValue):
        first, *others = value.items
        return TupleValue((_with_ranges(ctx, row, entries, first), *others))
    if not isinstance(value, TensorInfo) or value.data is not None or not plain(value.shape):
        return value
    whole = moved(given, lambda steps: None) if Trait.WHOLE in row.traits else some_of(given)
    known = among(ctx, value.shape, value.ranges or whole)
    return replace(value, data=known.data, ranges=known.ranges)


def _count(bindings: Bindings, row: Primitive, entries: Mapping[str, Entry]) -> int | None:
    """The size that the data decides, if the data is a literal."""
    what, param = row.counts or ("", "")
    elements = bindings.elements(entries[param]) if param in entries else None
    return None if elements is None else count(what, elements)


def _counted(row: Primitive, entries: Mapping[str, Entry], number: int | None) -> tuple[object, ...] | None:
    """The key of the sizes that only the data decides; None if it is unknown."""
    what, param = row.counts or ("", "")
    if what:
        number = entries[param].number if param in entries else None
        return None if number is None else (what, number)
    return None if number is None else (number,)


_SORTS = {"size": core.SIZE, "sizes": core.SHAPE, "shape": core.SHAPE, "target": core.SHAPE, "dtype": core.DTYPE}


def _in_its_sort(
    bindings: Bindings, frame: Frame, param: PrimitiveParam, entry: Entry, value: core.Value, env: Env
) -> Entry:
    """Give an unknown value the sort of its parameter; a list may have any number of tensors."""
    if param.kind == "tensors" or type(entry.value) is not UnknownValue:
        return entry
    return bindings.known_as(frame, env, entry, value, _SORTS.get(param.kind, core.TENSOR))


def _wildcards(state: State, env: Env, target: core.Value | None) -> tuple[int, ...]:
    """The places of literal -1 in a target shape, counted with the dimensions of shapes spliced before them."""
    dims = target.dims if isinstance(target, core.ShapeLit) else ()
    at = [i for i, d in enumerate(dims) if isinstance(d, core.SizeLit) and d.value == -1]
    return tuple(len(ShapeLevel(state, env).dims(dims[:i])) for i in at)


def _has_poison(value: Value) -> bool:
    if type(value) is TensorInfo:  # most of them are
        return False
    return isinstance(value, Poison) or isinstance(value, ListValue | TupleValue) and any(map(_has_poison, value.items))


def _rebuilt(call: core.Call, row: Primitive, params: list[PrimitiveParam], values: list[core.Value]) -> core.Call:
    """The call with the simplified values of its arguments, positional or by name and in the order that the user wrote."""
    if all(map(is_, (arg.value for arg in call.args), values)):  # in the row's order, as they were
        return call
    by_name = {p.name: v for p, v in zip(params, values, strict=True)}
    now = [by_name[arg.name or row.params[position].name] for position, arg in enumerate(call.args)]
    if all(arg.value is value for arg, value in zip(call.args, now, strict=True)):
        return call
    return replace(call, args=tuple(replace(a, value=v) for a, v in zip(call.args, now, strict=True)))


def _weight(value: Value) -> int:
    """The additional steps of a call with a large operand: one with very many axes or known elements."""
    if not isinstance(value, TensorInfo):
        return sum(map(_weight, value.items)) if isinstance(value, ListValue | TupleValue) else 0
    return AN_AXIS * max(len(value.shape) - _FEW_AXES, 0) + len(value.data or ())


def _apply(row: Primitive, ctx: SymbolicCtx, entries: dict[str, Entry], wild: tuple[int, ...]) -> Value:
    _check_sizes_in_tensors(row, ctx, entries)
    arguments = _arguments(row, ctx, entries)
    column = parse_dtypes(row.dtypes)
    dtypes = result_dtypes(row, column, ctx, arguments)
    unread = next((p for p, a in zip(row.params, arguments, strict=True) if a is _UNREADABLE), None)
    if unread is not None:
        ctx.judged(_unread(unread), UNDECIDED)
        return _unknown_result(ctx.state, row, column, dtypes)
    if wild:
        at = next(i for i, p in enumerate(row.params) if p.kind == "target")
        arguments[at] = tuple(WILDCARD if i in wild else d for i, d in enumerate(arguments[at]))
    if row.elementwise and row.rule is None:
        return TensorInfo(arguments[0].shape, dtypes[0])
    assert row.rule is not None
    try:
        if spent():
            raise OutOfSteps
        with Allowance(_RULE, _LEAST):
            result = row.rule(ctx, *arguments)
            _ask_for_places(row, ctx, arguments)
            if row.results == "tuple":
                charge(2 * len(result))
    except (RankUnknown, TooLarge) as why:
        told = _without_its_rule(row, ctx, arguments, dtypes, why)
        return _unknown_result(ctx.state, row, column, dtypes) if told is None else told
    return _of_some_rank(ctx, _results(ctx.state, row, result, dtypes))


def _ask_for_places(row: Primitive, ctx: Any, arguments: list[Any]) -> None:
    """Check that elements which are places along an axis of another operand lie in it."""
    if row.places is not None:
        name, table, axis = row.places
        given = {p.name: a for p, a in zip(row.params, arguments, strict=True)}
        in_range(ctx, name, given[name], axis_of(table, ctx.dims(given[table]), axis), forward=True)


def _arguments(row: Primitive, ctx: SymbolicCtx, entries: dict[str, Entry]) -> list[Any]:
    """The arguments in the form that the rule expects."""
    try:
        return [_read(p, entries, ctx.state) for p in row.params]
    except BadArgument as problem:
        (ctx.needs_literal if isinstance(problem, NotLiteral) else ctx.fail)(problem.asked)


def _without_its_rule(
    row: Primitive, ctx: SymbolicCtx, arguments: list[Any], dtypes: list[AnyDType | None], why: Exception
) -> Value | None:
    """The result if a rank is open or sizes are too large for the shape rule; None if nothing is known of it."""
    if not spent() and _refuted_in_an_arm(row, ctx, arguments):
        raise Refuted from None
    found = outline(row, ctx, arguments) if isinstance(why, TooLarge) and not over() else None
    joins = Trait.BROADCASTS in row.traits
    fits, shape = common_shape(ctx.state, *(a.shape for a in arguments if joins and isinstance(a, TensorInfo)))
    if isinstance(why, ResultOpen):
        ctx.prover.rank_rests_on(ctx.frame, why.decides)
    elif (found is None or found[1]) and not (joins and ctx.decide(fits)):
        ctx.leave_open(_fitting(ctx.state, row, arguments))
    if found is not None:
        return _results(ctx.state, row, found[0], dtypes)
    if joins:
        ctx.passed(fits)
        return TensorInfo(shape, dtypes[0])
    return TensorInfo(arguments[0].shape, dtypes[0]) if row.elementwise else None


def _of_some_rank(ctx: SymbolicCtx, value: Value) -> Value:
    """The result of a call, after a check that an array may have its number of axes."""
    parts = value.items if isinstance(value, TupleValue) else (value,)
    asked = of_some_rank(max((least_rank(part.shape) for part in parts if isinstance(part, TensorInfo)), default=0))
    if asked is not None:
        ctx.fail(asked)
    return value


def _unread(param: PrimitiveParam) -> Requirement:
    phrases = {"size": "{0} to be one size", "tensors": "to know how many tensors {0} has"}
    return Other(phrases.get(param.kind, "to know how many sizes {0} has"), (Argument(param.name),), blamed=())


_UNREADABLE = object()
_RULE, _LEAST = 60_000, 600  # steps of a shape rule; the least after the program's budget is spent
_FEW_AXES = 8
# Kinds of parameters that take sizes, with the ranks of a tensor that is given for them.
_RANKS = {"size": (0,), "sizes": (1, 0), "shape": (1,), "target": (1,)}


def _check_sizes_in_tensors(row: Primitive, ctx: SymbolicCtx, entries: dict[str, Entry]) -> None:
    """Check a tensor given for sizes: it holds integers and has rank 1, or rank 0 if one size is accepted."""
    for param in row.params:
        value = entries[param.name].value if param.name in entries and param.kind in _RANKS else None
        if not isinstance(value, TensorInfo):
            continue
        ranks, shape, given = _RANKS[param.kind], ctx.state.resolve(value.shape), Argument(param.name)
        if plain(shape) and len(shape) not in ranks:
            phrase = (
                f"the {'sizes' if ranks[0] else 'size'} in {{0}} to be a tensor of rank {' or '.join(map(str, ranks))}"
            )
            ctx.fail(OfRank(phrase, (given,), f"its rank is {len(shape)}"))
        if value.dtype is not None:
            ctx.require_dtype(DTypeIn(given, value.dtype, ("integer",)))


def _fitting(state: State, row: Primitive, arguments: Sequence[object]) -> Spoken:
    """The requirement on tensors of which a rank is unknown."""
    unknown = tuple(
        Argument(p.name) for p, a in zip(row.params, arguments, strict=True)
        if isinstance(a, TensorInfo) and not plain(state.spread(a.shape))
    )  # fmt: skip
    if not unknown:
        return Intricate("shapes that fit", (), "their sizes are too intricate")
    ranks = "the rank of {0} is"
    if len(unknown) > 1:
        ranks = f"the ranks of {' and '.join(f'{{{i}}}' for i in range(len(unknown)))} are"
    return OfRank("shapes that fit", unknown, f"{ranks} not known")


def _refuted_in_an_arm(row: Primitive, ctx: SymbolicCtx, arguments: list[object]) -> bool:
    """Whether the call fails for one arm of an operand that comes from arms with different ranks; the `if` gets the error."""
    if ctx.frame.quiet or ctx.prover.options.spare_arms:
        return False
    for position, param in enumerate(row.params):
        given = ctx.info.find(param.name)
        for joined, arm, operand in _with_one_arm(ctx, param, given) if given is not None else ():
            found = _fails_with(row, ctx, arguments, position, operand)
            if found is not None:
                found.arm = joined, arm
                ctx.prover.log.findings.append(found)
                ctx.prover.log.count(Status.REFUTED)
                return True
    return False


def _with_one_arm(ctx: SymbolicCtx, param: PrimitiveParam, given: Entry) -> Iterator[tuple[Entry, Entry, Entry]]:
    """Yield a value from an `if`, one of its arms, and the operand if that arm is taken."""
    if param.kind == "tensor":
        yield from ((given, arm, arm) for arm in arms(ctx.state, ctx.frame.path, given))
    elif param.kind == "tensors":
        for i, item in enumerate(given.items):
            for arm in arms(ctx.state, ctx.frame.path, item):
                items = (*given.items[:i], arm, *given.items[i + 1 :])
                yield item, arm, replace(given, value=ListValue(tuple(e.value for e in items)), items=items)


def _fails_with(
    row: Primitive, ctx: SymbolicCtx, arguments: list[object], position: int, operand: Entry
) -> Finding | None:
    """The error of the call with another value as one of its operands, if it always fails with that."""
    assert row.rule is not None
    param = row.params[position]
    info = replace(ctx.info, entries=tuple((n, operand if n == param.name else e) for n, e in ctx.info.entries))
    aside = ctx.prover.aside()
    ctx.state.push()
    try:
        given = [argument(param, operand.value, ctx.state) if i == position else a for i, a in enumerate(arguments)]
        with Allowance(_RULE, _LEAST):
            row.rule(SymbolicCtx(aside, ctx.frame, info), *given)
    except Refuted:
        return next((f for f in aside.log.findings if f.is_error), None)
    except (RankUnknown, TooLarge, BadArgument):  # an arm that failed may have no tensor
        pass
    finally:
        ctx.state.pop()
    return None


def _read(param: PrimitiveParam, entries: dict[str, Entry], state: State) -> Any:
    """One argument in the form that the rule expects; _UNREADABLE for an unknown number of sizes."""
    if param.name not in entries:
        return param.default
    try:
        return argument(param, entries[param.name].value, state)
    except RankUnknown:
        return _UNREADABLE


def _results(state: State, row: Primitive, result: Any, dtypes: list[AnyDType | None]) -> Value:
    if row.results == "size":
        return SizeValue(_bearable(state, result, nonneg=False))
    if row.results == "tuple":
        outs = list(result)
        dtypes = dtypes if len(dtypes) == len(outs) else dtypes[:1] * len(outs)
        return TupleValue(tuple(_one(state, out, dtype) for out, dtype in zip(outs, dtypes, strict=True)))
    return _one(state, result, dtypes[0])


def _one(state: State, out: Any, dtype: AnyDType | None) -> TensorInfo:
    out = out if isinstance(out, Out) else Out(tuple(out))
    shape = tuple([_bearable(state, d) if type(d) is int else d for d in out.shape])
    made = TensorInfo(shape, out.dtype or dtype, kept(out.data), out.ranges)
    return replace(made, ranges=()) if any(map(_is_too_long, sizes_of(made))) else made


def _bearable(state: State, size: Size, nonneg: bool = True) -> Size:
    """A size; a number with too many bits becomes an unknown size."""
    return state.size("?", nonneg=nonneg) if _is_too_long(size) else size


def _is_too_long(size: object) -> bool:
    return isinstance(size, int) and size.bit_length() > MOST_BITS


def _unknown_result(state: State, row: Primitive, column: Column, dtypes: list[AnyDType | None]) -> Value:
    """A result of unknown shape; an unknown value if even the number of results is open."""
    if row.results == "size":
        return SizeValue(state.size("?", nonneg=False))
    if row.results == "tuple" and len(column.results) == 1:
        return UnknownValue(dtypes[0] if dtypes and not column.results[0].is_of_rule else None)
    known = dtypes or [state.dtype_symbol("?") for _ in column.results]
    values = tuple(TensorInfo(() if holds(state, d) else (state.segment("?"),), d) for d in known)
    return TupleValue(values) if row.results == "tuple" else values[0]
