"""Calls of primitives: arguments by kind, the dtype column, the shape rule over symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from ..lang import core
from ..lang.core import Status
from ..lang.diagnostics import Diagnostic
from ..lang.dtypes import DTYPES, WEAK, DType, int_range
from ..lang.node import Node, replace
from ..lang.source import Span
from ..ops.binding import BindError, bind
from ..ops.dtypes_column import Column, Word, dtypes_of, parse_dtypes
from ..ops.model import WILDCARD, Out, Param, Primitive, RankUnknown, TensorInfo
from . import lint
from .arms import arms, in_one_arm
from .judge import Log
from .known import dims
from .known.outcome import Outcome
from .known.shape_level import Truth
from .known.state import State
from .known.values import (
    POISON,
    UNDECIDED,
    AnyDType,
    BoolValue,
    DTypeSymbol,
    DTypeValue,
    Entry,
    Env,
    ListValue,
    Made,
    NumberValue,
    Poison,
    ShapeValue,
    SizeValue,
    TextValue,
    TupleValue,
    Undecided,
    Value,
    plain,
)
from .solver.conditions import Cond, all_of, any_of, eq, le, lt, ne, render_cond
from .solver.sizes import is_ordinary, only_var, single_var
from .solver.terms import Size, Term, TooLarge, ceildiv, smax, smin
from .voice import preconditions, subject, verdict
from .voice.describe import common_text, type_text
from .voice.origins import is_open, rank_of
from .voice.solutions import only_where
from .walk import Walker
from .weakest import DTypeDemand

_INT64 = DTYPES["int64"]


class CallInfo(Node):
    """A call as diagnostics want it: the row, its span, the parameters' names with what they got."""

    span: Span
    name: str
    entries: tuple[tuple[str, Entry], ...]
    tensors: frozenset[str]
    # The arguments as they are written.
    arguments: tuple[core.Value, ...] = ()

    def is_tensor(self, name: str) -> bool:
        """Whether the parameter takes a tensor; of others only their sizes count."""
        return name.partition("[")[0] in self.tensors

    def operands(self) -> Iterator[tuple[str, Entry]]:
        """The tensors among the arguments; those in a list are `xs[0]`, `xs[1]`, ..."""
        for name, entry in self.entries:
            if name in self.tensors:
                yield from (
                    ((f"{name}[{i}]", item) for i, item in enumerate(entry.items)) if entry.items else ((name, entry),)
                )

    def find(self, name: str) -> Entry | None:
        """The entry of `x`, or of `xs[2]` where xs is a list."""
        base, _, index = name.partition("[")
        for param, entry in self.entries:
            if param == base:
                if index and isinstance(entry.value, ListValue | TupleValue):
                    position = int(index.rstrip("]"))
                    if entry.items:
                        return entry.items[position]
                    return Entry(entry.value.items[position], entry.place(position), ())
                return entry
        return None


class Refuted(Exception):
    """A precondition can never hold; it was reported."""


class BadArgument(Exception):
    """An argument of the wrong kind; `what` completes "@name needs ..."."""

    def __init__(self, what: str, param: str) -> None:
        super().__init__(what)
        self.what = what
        self.param = param


class SymbolicCtx:
    """What a shape rule asks at check time; preconditions are judged as they come."""

    def __init__(self, walker: Walker, info: CallInfo) -> None:
        self.walker = walker
        self.info = info
        self.residual = False
        # What was reported of the call, if anything was.
        self.doubt: Diagnostic | None = None
        # Conditions that the call needs besides, where they are open too: as they are said, and in Rx.
        self.others: dict[str, str] = {}
        self._sizes = dims.of_values([_flat(e.value) for _, e in info.entries], walker.state)

    def dims(self, x: TensorInfo) -> tuple[Any, ...]:
        shape = self.walker.state.resolve(x.shape)
        if not plain(shape):
            raise RankUnknown
        return shape

    def rank(self, x: TensorInfo) -> int:
        return len(self.dims(x))

    def require(self, cond: Cond, what: str, at: tuple[tuple[str, int | None], ...] = ()) -> None:
        status = self.judged(cond, what, at)
        if status is Status.RESIDUAL:  # it is checked when it runs, so afterwards it holds
            self.walker.state.assume(cond, self.info)

    def judged(
        self,
        cond: Truth,
        what: str,
        at: tuple[tuple[str, int | None], ...],
        code: str | None = None,
        told: bool = False,
    ) -> Status:
        """`told`: a doubt about it was reported with an earlier call."""

        def explain(outcome: Outcome) -> Diagnostic:
            said = preconditions.precondition(self.walker, self.info, what, at, outcome, code)
            info = self.info
            self.doubt = subject.about(
                said, subject.of_call(self.walker.state, info.name, info.span, info.entries, at, what)
            )
            return preconditions.rooted(self.walker, self.doubt, [(info.find(param), axis) for param, axis in at])

        status = self.walker.judge(
            cond,
            explain,
            claim=not self.residual and not told,
            sizes=self._sizes,
            demand=code != "E313",
        )
        if status is Status.REFUTED:
            raise Refuted
        if status is Status.RESIDUAL and self.residual and not self.walker.quiet and not isinstance(cond, Undecided):
            text = only_where(self.walker.state, cond)
            self.others |= {text: _in_rx(text, cond)} if text is not None else {}
        self.residual = self.residual or status is Status.RESIDUAL
        return status

    def conclude(self) -> None:
        """Tells with the first doubt what else the call needs."""
        if self.doubt is None or self.doubt.code != "W311" or not self.others:
            return
        others = self.others
        self.doubt = self.walker.log.revise(self.doubt, lambda said: verdict.with_others(said, others))

    def dtype_in(self, dtype: AnyDType | None, *classes: str) -> bool | None:
        return self.walker.state.in_class(WEAK[float] if dtype is None else self.walker.state.dtype(dtype), classes)

    def judge_ranks(self, what: str) -> None:
        """A call of tensors whose ranks are not all known. It is told where such a rank is met first: what the call gives has
        an open rank as well, and so on."""
        state = self.walker.state
        places = {name: rank_of(state, e).span for name, e in self.info.operands() if is_open(state, e)}
        told = bool(places) and self.walker.open_ranks.issuperset(places.values())
        self.judged(UNDECIDED, what, tuple((name, None) for name in places), told=told)
        if not self.walker.quiet:
            self.walker.open_ranks.update(places.values())

    def require_dtype(
        self,
        dtype: AnyDType | None,
        classes: tuple[str, ...],
        what: str,
        at: tuple[tuple[str, int | None], ...] = (),
    ) -> None:
        known = self.dtype_in(dtype, *classes)
        self.require_either(known, what, at)
        if known is not True and dtype is not None:
            self.walker.dtype_demands.append(DTypeDemand(dtype, classes, self.walker.path))
            self.walker.state.restrict(dtype, dtypes_of(classes))

    def require_either(self, known: bool | None, what: str, at: tuple[tuple[str, int | None], ...] = ()) -> None:
        if known is not True:
            self.judged(UNDECIDED if known is None else known, what, at, "E313")

    def fail(self, what: str, at: tuple[tuple[str, int | None], ...] = ()) -> NoReturn:
        self.judged(False, what, at, "E314")
        raise Refuted

    def decide(self, cond: Cond) -> bool | None:
        return self.walker.decide(cond)

    def eq(self, a: Size, b: Size) -> Cond:
        return eq(a, b)

    def ne(self, a: Size, b: Size) -> Cond:
        return ne(a, b)

    def le(self, a: Size, b: Size) -> Cond:
        return le(a, b)

    def lt(self, a: Size, b: Size) -> Cond:
        return lt(a, b)

    def any_of(self, *conds: Cond) -> Cond:
        return any_of(*conds)

    def all_of(self, *conds: Cond) -> Cond:
        return all_of(*conds)

    def min(self, *sizes: Size) -> Size:
        return self._shown("min", smin(*sizes), sizes)

    def max(self, *sizes: Size) -> Size:
        return self._shown("max", smax(*sizes), sizes)

    def _shown(self, name: str, result: Size, sizes: tuple[Size, ...]) -> Size:
        """A minimum or maximum is printed as the rule wrote it; its normal form is not for reading."""
        if isinstance(result, Term) and single_var(result) is None:
            self.walker.state.display.setdefault(result, (name, sizes))
        return result

    def ceildiv(self, a: Size, b: Size) -> Size:
        return ceildiv(a, b)

    def common(self, *sizes: Size) -> Size:
        """A size of its own, of which it is known which one it is: as a formula it would grow with every broadcast."""
        state = self.walker.state
        positive = all(self.decide(le(1, size)) is True for size in sizes)
        text = common_text(sizes, state, positive)
        size = state.size(text or "?")
        if text is None:
            state.opaque[only_var(size)] = None
        for one in sizes:
            state.assume(any_of(eq(size, one), eq(one, 1)))
        state.assume(any_of(*(eq(size, one) for one in sizes)))
        ones = [all_of(*(eq(one, 1) for one in sizes[:i])) for i in range(len(sizes))]
        others = [*(ne(one, 1) for one in sizes[:-1]), True]
        state.choices[only_var(size)] = tuple(
            (all_of(before, this), one) for before, this, one in zip(ones, others, sizes, strict=True)
        )
        return size

    def factor(self, product: Size, other: Size) -> Size:
        size = self.fresh("factor")
        self.walker.state.assume(eq(size * other, product))
        return size

    def fresh(self, name: str, at_least: Size | None = 0, at_most: Size | None = None) -> Size:
        state = self.walker.state
        size = state.size(f"?{name}", nonneg=at_least is not None)
        variable = single_var(size)
        assert variable is not None
        if self.info.name != "item":
            state.opaque[variable] = at_most
        else:
            state.anonymous.add(variable)
        if at_least is not None and at_least != 0:
            state.assume(le(at_least, size))
        if at_most is not None:
            state.assume(le(size, at_most))
        return size

    def fits(self, value: Size, dtype: AnyDType) -> bool:
        """Whether an element that is this size surely fits: a dimension is below 2**62, a product of two below 2**63."""
        dtype = self.walker.state.dtype(dtype) if dtype is not None else _INT64
        if not isinstance(dtype, DType) or dtype.kind not in ("int", "uint"):
            return False
        low, high = int_range(dtype)
        least, most = self.walker.state.facts.bounds(value)
        if least is not None and most is not None and low <= least and most <= high:
            return True
        return dtype == _INT64 and is_ordinary(value)


def _in_rx(text: str, cond: Cond) -> str:
    return render_cond(cond) if " = " in text or " or " in text else text


def _flat(value: Value) -> Value:
    return TupleValue(value.items) if isinstance(value, ListValue) else value


# Arguments


def argument(param: Param, value: Value, walker: Walker) -> Any:
    """An argument as the rule wants it."""
    return _READERS[param.kind](param, value, walker)


def _tensor(param: Param, value: Value, walker: Walker) -> TensorInfo:
    if isinstance(value, NumberValue):
        data = value.value if isinstance(value.value, int) and not isinstance(value.value, bool) else None
        return TensorInfo((), None, data)
    if isinstance(value, TensorInfo):
        return replace(value, shape=walker.state.resolve(value.shape))
    if isinstance(value, BoolValue) and isinstance(value.cond, bool):
        return TensorInfo((), None, None)
    raise BadArgument(f"`{param.name}` to be a tensor", param.name)


def _tensors(param: Param, value: Value, walker: Walker) -> tuple[TensorInfo, ...]:
    if isinstance(value, ListValue | TupleValue):
        return tuple(_tensor(param, v, walker) for v in value.items)
    raise BadArgument(f"`{param.name}` to be a list of tensors", param.name)


def _index(param: Param, value: Value, walker: Walker) -> Any:
    if isinstance(value, SizeValue):
        return walker.state.settled(value.size)
    if isinstance(value, NumberValue) and isinstance(value.value, int):
        return value.value
    return _tensor(param, value, walker)


def _size(param: Param, value: Value, walker: Walker) -> Size:
    if isinstance(value, SizeValue):
        return walker.state.settled(value.size)
    if isinstance(value, NumberValue) and isinstance(value.value, int):
        return value.value
    if isinstance(value, TensorInfo) and walker.state.resolve(value.shape) == ():
        if value.data is not None:
            return value.data  # type: ignore[no-any-return]
        return walker.state.size("?scalar", nonneg=False)
    raise BadArgument(f"`{param.name}` to be a size", param.name)


def _sizes(param: Param, value: Value, walker: Walker) -> tuple[Any, ...]:
    if isinstance(value, ShapeValue):
        shape = walker.state.resolve(value.dims)
        if not plain(shape) and param.kind not in ("shape", "target"):
            raise RankUnknown
        return shape
    if isinstance(value, ListValue | TupleValue):
        return tuple(_size(param, v, walker) for v in value.items)
    if isinstance(value, TensorInfo):
        return _from_tensor(param, value, walker)
    return (_size(param, value, walker),)


def _from_tensor(param: Param, value: TensorInfo, walker: Walker) -> tuple[Any, ...]:
    """Sizes given as a rank-1 integer tensor: its tracked elements, else sizes that only the run decides."""
    if isinstance(value.data, tuple):
        return value.data
    shape = walker.state.resolve(value.shape)
    if not plain(shape) or len(shape) != 1 or not isinstance(shape[0], int):
        raise RankUnknown
    sizes = tuple(walker.state.size("?", nonneg=False) for _ in range(shape[0]))
    for size in sizes:
        variable = single_var(size)
        assert variable is not None
        walker.state.opaque[variable] = None
    return sizes


def _pairs(param: Param, value: Value, walker: Walker) -> tuple[Any, ...]:
    if isinstance(value, ListValue | TupleValue):
        pairs = tuple(_sizes(param, v, walker) for v in value.items)
        if all(len(p) == 2 for p in pairs):
            return pairs
    raise BadArgument(f"`{param.name}` to be a list of pairs of sizes, like [(0, 1), (2, 2)]", param.name)


def _int(param: Param, value: Value, walker: Walker) -> int:
    size = _size(param, value, walker)
    if isinstance(size, int):
        return size
    raise BadArgument(f"`{param.name}` to be a literal integer", param.name)


def _ints(param: Param, value: Value, walker: Walker) -> tuple[int, ...]:
    sizes = _sizes(param, value, walker)
    if all(isinstance(s, int) for s in sizes):
        return sizes
    raise BadArgument(f"`{param.name}` to be literal integers", param.name)


def _float(param: Param, value: Value, walker: Walker) -> float:
    if isinstance(value, NumberValue) and not isinstance(value.value, bool):
        return float(value.value)
    if isinstance(value, SizeValue) and isinstance(value.size, int):
        return float(value.size)
    raise BadArgument(f"`{param.name}` to be a literal number", param.name)


def _bool(param: Param, value: Value, walker: Walker) -> bool:
    if isinstance(value, NumberValue) and isinstance(value.value, bool):
        return value.value
    if isinstance(value, BoolValue) and isinstance(value.cond, bool):
        return value.cond
    raise BadArgument(f"`{param.name}` to be true or false", param.name)


def _str(param: Param, value: Value, walker: Walker) -> str:
    if isinstance(value, TextValue):
        return value.value
    raise BadArgument(f"`{param.name}` to be a string", param.name)


def _dtype(param: Param, value: Value, walker: Walker) -> AnyDType:
    if isinstance(value, DTypeValue):
        return walker.state.dtype(value.dtype)
    raise BadArgument(f"`{param.name}` to be a dtype", param.name)


_READERS: dict[str, Callable[[Param, Value, Walker], Any]] = {
    "tensor": _tensor,
    "tensors": _tensors,
    "index": _index,
    "size": _size,
    "sizes": _sizes,
    "shape": _sizes,
    "target": _sizes,
    "pairs": _pairs,
    "int": _int,
    "ints": _ints,
    "float": _float,
    "bool": _bool,
    "str": _str,
    "dtype": _dtype,
}


# The call


def call_primitive(walker: Walker, row: Primitive, call: core.Call, env: Env) -> tuple[Entry, core.Value]:
    """The call's result, and the call as it stays: guarded where a precondition was not proved."""
    try:
        bound = bind(row, call)
    except BindError as problem:
        message, place = problem.message, problem.span
        walker.judge(False, lambda _: preconditions.bad_call(walker, message, place), claim=True)
        return Entry(POISON, call.span), call
    given = [(p, v) for p, v in bound if v is not None]
    found = walker.values([v for _, v in given], env)
    after = replace(call, args=_rebuilt(call, row, [p for p, _ in given], [v for _, v in found]))
    entries = tuple((p.name, e) for (p, _), (e, _) in zip(given, found, strict=True))
    if any(isinstance(e.value, Poison) or _has_poison(e.value) for _, e in entries):
        return Entry(POISON, call.span), replace(after, guard=True)
    tensors = frozenset(p.name for p in row.params if p.kind in ("tensor", "tensors", "index"))
    info = CallInfo(call.span, row.name, entries, tensors, tuple(v for _, v in given))
    ctx = SymbolicCtx(walker, info)
    wild = _wildcards(given)
    try:
        value = _apply(walker, row, ctx, dict(entries), wild)
    except Refuted:
        return Entry(POISON, call.span), replace(after, guard=True)
    ctx.conclude()
    if not walker.quiet:
        walker.log.diagnostics += lint.notes(walker.state, info, value, walker.function)
    entry = Entry(value, call.span, origin=Made(row.name, entries, ctx.doubt))
    return entry, replace(after, guard=ctx.residual) if ctx.residual else after


def _wildcards(given: list[tuple[Param, core.Value]]) -> tuple[int, ...]:
    """Where a target shape has a literal -1; behind a splice, counted from the end."""
    for param, expr in given:
        if param.kind == "target" and isinstance(expr, core.ShapeLit):
            splice = next((i for i, d in enumerate(expr.dims) if isinstance(d, core.Splice)), len(expr.dims))
            return tuple(
                i if i < splice else i - len(expr.dims)
                for i, d in enumerate(expr.dims)
                if isinstance(d, core.SizeLit) and d.value == -1
            )
    return ()


def _has_poison(value: Value) -> bool:
    return isinstance(value, ListValue | TupleValue) and any(
        isinstance(v, Poison) or _has_poison(v) for v in value.items
    )


def _rebuilt(call: core.Call, row: Primitive, params: list[Param], values: list[core.Value]) -> tuple[core.Arg, ...]:
    """The arguments with their simplified values, as the user wrote them: positional or by name, in the user's order."""
    by_name = {p.name: v for p, v in zip(params, values, strict=True)}
    args = []
    for position, arg in enumerate(call.args):
        name = arg.name or row.params[position].name
        args.append(replace(arg, value=by_name[name]))
    return tuple(args)


def _apply(walker: Walker, row: Primitive, ctx: SymbolicCtx, entries: dict[str, Entry], wild: tuple[int, ...]) -> Value:
    try:
        arguments = [_read(p, entries, walker) for p in row.params]
    except BadArgument as problem:
        ctx.judged(False, problem.what, ((problem.param, None),), "E314")
        raise Refuted from None
    column = parse_dtypes(row.dtypes)
    dtypes = _dtypes(walker, row, column, ctx, arguments)
    unread = next((p.name for p, a in zip(row.params, arguments, strict=True) if a is _UNREADABLE), None)
    if unread is not None:
        ctx.judged(UNDECIDED, f"to know how many sizes `{unread}` has", ())
        return _unknown_result(walker, row, column, dtypes)
    if wild:
        at = next(i for i, p in enumerate(row.params) if p.kind == "target")
        shape = arguments[at]
        arguments[at] = tuple(WILDCARD if i in wild or i - len(shape) in wild else d for i, d in enumerate(shape))
    if row.elementwise and row.rule is None:
        return TensorInfo(arguments[0].shape, dtypes[0])
    assert row.rule is not None
    try:
        result = row.rule(ctx, *arguments)
    except (RankUnknown, TooLarge):
        if _refuted_in_an_arm(walker, row, ctx, arguments):
            raise Refuted from None
        ctx.judge_ranks(_fitting(walker.state, row, arguments))
        if row.elementwise:
            return TensorInfo(arguments[0].shape, dtypes[0])
        return _unknown_result(walker, row, column, dtypes)
    return _results(row, result, dtypes)


_UNREADABLE = object()


def _fitting(state: State, row: Primitive, arguments: Sequence[object]) -> str:
    """What is asked of tensors one of whose ranks is not known."""
    unknown = [
        f"`{p.name}`" for p, a in zip(row.params, arguments, strict=True)
        if isinstance(a, TensorInfo) and not plain(state.resolve(a.shape))
    ]  # fmt: skip
    if not unknown:
        return "shapes that fit, but a rank is not known"
    ranks = f"the rank of {unknown[0]} is" if len(unknown) == 1 else f"the ranks of {' and '.join(unknown)} are"
    return f"shapes that fit, but {ranks} not known"


def _refuted_in_an_arm(walker: Walker, row: Primitive, ctx: SymbolicCtx, arguments: list[Any]) -> bool:
    """An operand that comes from arms with different ranks: where the call fails for one of them, the `if` is told."""
    if walker.quiet:
        return False
    for position, param in enumerate(row.params):
        given = ctx.info.find(param.name)
        for joined, arm, operand in _with_one_arm(walker, param, given) if given is not None else ():
            said = _fails_with(walker, row, ctx.info, arguments, position, operand)
            if said is not None:
                walker.log.diagnostics.append(in_one_arm(said, joined, arm, type_text(arm.value, walker.state)))
                walker.log.count(Status.REFUTED)
                return True
    return False


def _with_one_arm(walker: Walker, param: Param, given: Entry) -> Iterator[tuple[Entry, Entry, Entry]]:
    """What came from an `if`, one of its arms, and the operand as it is where that arm is taken."""
    if param.kind == "tensor":
        yield from ((given, arm, arm) for arm in arms(walker, given))
    elif param.kind == "tensors":
        for i, item in enumerate(given.items):
            for arm in arms(walker, item):
                items = (*given.items[:i], arm, *given.items[i + 1 :])
                yield item, arm, replace(given, value=ListValue(tuple(e.value for e in items)), items=items)


def _fails_with(
    walker: Walker, row: Primitive, info: CallInfo, arguments: list[Any], position: int, operand: Entry
) -> Diagnostic | None:
    """The error of the call with another value as one of its operands, if it always fails with that."""
    assert row.rule is not None
    param = row.params[position]
    info = replace(info, entries=tuple((n, operand if n == param.name else e) for n, e in info.entries))
    given = [argument(param, operand.value, walker) if i == position else a for i, a in enumerate(arguments)]
    outer, walker.log = walker.log, Log()
    demands = len(walker.demands)
    walker.state.push()
    try:
        row.rule(SymbolicCtx(walker, info), *given)
    except Refuted:
        return next((d for d in walker.log.diagnostics if d.severity == "error"), None)
    except (RankUnknown, TooLarge):
        pass
    finally:
        walker.state.pop()
        walker.log = outer
        del walker.demands[demands:]
    return None


def _read(param: Param, entries: dict[str, Entry], walker: Walker) -> Any:
    """One argument as the rule wants it; _UNREADABLE for sizes of which nobody knows how many they are."""
    if param.name not in entries:
        return param.default
    try:
        return argument(param, entries[param.name].value, walker)
    except RankUnknown:
        return _UNREADABLE


def _results(row: Primitive, result: Any, dtypes: list[AnyDType | None]) -> Value:
    if row.results == "size":
        return SizeValue(result)
    if row.results == "tuple":
        outs = list(result)
        dtypes = dtypes if len(dtypes) == len(outs) else dtypes[:1] * len(outs)
        return TupleValue(tuple(_one(out, dtype) for out, dtype in zip(outs, dtypes, strict=True)))
    return _one(result, dtypes[0])


def _one(out: Any, dtype: AnyDType | None) -> TensorInfo:
    if isinstance(out, Out):
        return TensorInfo(tuple(out.shape), dtype, out.data)
    return TensorInfo(tuple(out), dtype)


def _unknown_result(walker: Walker, row: Primitive, column: Column, dtypes: list[AnyDType | None]) -> Value:
    """Nothing is known of the result's shape. Where even the number of results is open, nothing can be said."""
    if row.results == "size":
        return SizeValue(walker.state.size("?", nonneg=False))
    if row.results == "tuple" and len(column.results) == 1:
        return POISON
    known = dtypes or [walker.state.dtype_symbol("?") for _ in column.results]
    values = tuple(TensorInfo((walker.state.segment("?"),), d) for d in known)
    return TupleValue(values) if row.results == "tuple" else values[0]


# The dtype column


def _dtypes(
    walker: Walker, row: Primitive, column: Column, ctx: SymbolicCtx, arguments: list[Any]
) -> list[AnyDType | None]:
    """Check the operands' dtypes against the column; the dtypes of the results."""
    letters: dict[str, AnyDType] = {}
    weak: dict[tuple[str, Word], list[Value]] = {}
    slots = iter(column.inputs)
    for param, given in zip(row.params, arguments, strict=True):
        if param.kind not in ("tensor", "tensors", "index"):
            continue
        slot = next(slots)
        operands = given if param.kind == "tensors" else (given,)
        for position, operand in enumerate(operands or ()):
            place = f"{param.name}[{position}]" if param.kind == "tensors" else param.name
            if isinstance(operand, TensorInfo) and operand.dtype is None:
                found = ctx.info.find(place)
                weak.setdefault((slot.var or param.name, slot), []).append(found.value if found else POISON)
            elif isinstance(operand, TensorInfo):
                _check_operand(walker, ctx, slot, letters, operand.dtype, place)
    for (letter, word), values in weak.items():
        _check_numbers(walker, ctx, letter, word, letters, values)
    return [_result_dtype(walker, r, letters, row, arguments) for r in column.results]


def _check_operand(
    walker: Walker, ctx: SymbolicCtx, word: Word, letters: dict[str, AnyDType], dtype: AnyDType, place: str
) -> None:
    state = walker.state
    if word.classes:
        ctx.require_dtype(dtype, word.classes, f"`{place}` to have {word.wanted}", ((place, None),))
    if word.var is None:
        return
    first = letters.setdefault(word.var, dtype)
    same = state.same_dtype(first, dtype)
    if same is not True:
        ctx.require_either(same, "its operands to have one dtype", ((place, None),))
        state.unify(first, dtype)


def _check_numbers(
    walker: Walker, ctx: SymbolicCtx, letter: str, word: Word, letters: dict[str, AnyDType], values: list[Value]
) -> None:
    """Literal numbers take the other operand's dtype, if they are of its kind."""
    numbers = [v.value for v in values if isinstance(v, NumberValue)]
    if letter not in letters:
        kinds = [type(n) for n in numbers] or [int]
        letters[letter] = WEAK[float if float in kinds else int if int in kinds else bool]
        _check_operand(walker, ctx, word, letters, letters[letter], letter)
        return
    dtype = walker.state.dtype(letters[letter])
    if not isinstance(dtype, DType):
        return
    for number in numbers:
        if not number_fits(number, dtype):
            ctx.judged(False, f"numbers that {dtype.name} can hold, not {_number_text(number)}", (), "E313")


def number_fits(number: int | float | bool, dtype: DType) -> bool:
    if isinstance(number, bool):
        return dtype.kind == "bool"
    if isinstance(number, int):
        low, high = int_range(dtype) if dtype.kind in ("int", "uint") else (number, number)
        return dtype.kind in ("int", "uint", "float", "complex") and low <= number <= high
    return dtype.kind in ("float", "complex")


def _number_text(number: int | float | bool) -> str:
    return str(number).lower() if isinstance(number, bool) else str(number)


def _result_dtype(
    walker: Walker, word: Word, letters: dict[str, AnyDType], row: Primitive, arguments: list[Any]
) -> AnyDType | None:
    if word.param is not None:
        position = next(i for i, p in enumerate(row.params) if p.name == word.param)
        given: AnyDType | str | None = arguments[position]
        if isinstance(given, DType | DTypeSymbol):
            return given
        if isinstance(given, str):
            return DTYPES[given]
    if word.var is not None:
        return letters.get(word.var) or walker.state.dtype_symbol("?")
    if len(word.classes) == 1 and word.classes[0] in DTYPES:
        return DTYPES[word.classes[0]]
    return walker.state.dtype_symbol("?")
