"""What a shape rule asks while a program is checked: its preconditions are judged as they come, its sizes are terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from ..lang import core
from ..lang.core import Status
from ..lang.diagnostics import Diagnostic
from ..lang.dtypes import DTYPES, WEAK, DType, int_range
from ..lang.node import Node
from ..lang.source import Span
from ..ops.dtypes_column import dtypes_of
from ..ops.model import RankUnknown, TensorInfo
from .known import dims
from .known.outcome import Outcome
from .known.shape_level import Truth
from .known.values import UNDECIDED, AnyDType, Entry, ListValue, TupleValue, Undecided, Value, plain
from .solver.conditions import Cond, all_of, any_of, eq, le, lt, ne, render_cond
from .solver.sizes import is_ordinary, only_var, single_var
from .solver.terms import Apart, Size, Term, ceildiv, smax, smin
from .voice import preconditions, subject, verdict
from .voice.describe import common_text
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

        with Apart():
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
            with Apart():
                text = only_where(self.walker.state, cond)
            self.others |= {text: _in_rx(text, cond)} if text is not None else {}
        if status is Status.RESIDUAL and not self.residual and not isinstance(cond, Undecided):
            self.walker.doubted[self.info.span] = cond
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

    def leave_open(self, what: str) -> None:
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

    def needs_literal(self, what: str, at: tuple[tuple[str, int | None], ...] = ()) -> NoReturn:
        self.judged(False, what, at, "E220")
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
        bases = frozenset[Size]().union(*(state.bases_of(size) for size in sizes))
        known = state.broadcasts.get(bases)
        if known is not None:
            for one in sizes:
                state.assume(any_of(eq(known, one), eq(one, 1)))
            return known
        size = self._new_common(sizes)
        state.broadcasts[bases] = size
        state.bases[only_var(size)] = bases
        return size

    def _new_common(self, sizes: tuple[Size, ...]) -> Term:
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
