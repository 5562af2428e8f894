"""What a shape rule asks while a program is checked: its preconditions are judged as they come, its sizes are terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from ..lang import codes, core
from ..lang.codes import Code
from ..lang.core import Status
from ..lang.diagnostics import Diagnostic
from ..lang.dtypes import DTYPES, WEAK, DType, int_range
from ..lang.node import replace
from ..lang.source import Placed
from ..ops.dtypes_column import dtypes_of
from ..ops.model import AnyDType, Primitive, RankUnknown, TensorInfo
from ..ops.requirements import DTypeIn, DTypeRequirement, NotComplex, Other, Requirement
from .frame import Frame
from .known import dims
from .known.outcome import Finding, Outcome
from .known.shape_level import Truth
from .known.values import UNDECIDED, Entry, ListValue, TupleValue, Undecided, Value, plain
from .prover import Prover
from .solver.conditions import Cond, all_of, any_of, eq, le, lt, ne, render_cond
from .solver.sizes import is_ordinary, only_var, single_var
from .solver.terms import Apart, Size, Term, ceildiv, smax, smin
from .voice import preconditions, subject
from .voice.describe import common_text
from .voice.origins import is_open, rank_of
from .voice.solutions import only_where
from .weakest import DTypeDemand

_INT64 = DTYPES["int64"]


class CallInfo(Placed):
    """A call as diagnostics want it: its row, its place, what each parameter got, and that as it is written."""

    row: Primitive
    entries: tuple[tuple[str, Entry], ...]
    arguments: tuple[core.Value, ...]

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def mismatch(self) -> Code | None:
        return self.row.mismatch

    @property
    def written(self) -> tuple[tuple[str, core.Value], ...]:
        return tuple((name, value) for (name, _), value in zip(self.entries, self.arguments, strict=True))

    def is_tensor(self, name: str) -> bool:
        """Whether the parameter takes a tensor; of others only their sizes count."""
        return self.row.is_tensor(name)

    def operands(self) -> Iterator[tuple[str, Entry]]:
        """The tensors among the arguments; those in a list are `xs[0]`, `xs[1]`, ..."""
        for name, entry in self.entries:
            if self.is_tensor(name):
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

    def __init__(self, prover: Prover, frame: Frame, info: CallInfo) -> None:
        self.prover = prover
        self.frame = frame
        self.state = prover.state
        self.info = info
        self.residual = False
        # What was reported of the call, if anything was.
        self.doubt: Finding | None = None
        self._sizes = dims.of_values([_flat(e.value) for _, e in info.entries], self.state)

    def dims(self, x: TensorInfo) -> tuple[Any, ...]:
        shape = self.state.resolve(x.shape)
        if not plain(shape):
            raise RankUnknown
        return shape

    def rank(self, x: TensorInfo) -> int:
        return len(self.dims(x))

    def require(self, asked: Requirement, cond: Cond | None = None) -> None:
        cond = asked.cond(self) if cond is None else cond
        if self.judged(asked, cond) is Status.RESIDUAL:  # it is checked when it runs, so afterwards it holds
            self.state.assume(cond, self.info)

    def judged(self, asked: Requirement, cond: Truth, code: Code | None = None, told: bool = False) -> Status:
        """`told`: a doubt about it was reported with an earlier call."""
        of_dtypes = isinstance(asked, DTypeRequirement)

        def explain(outcome: Outcome) -> Diagnostic:
            info = self.info
            said = preconditions.precondition(self.prover, info, asked, outcome, codes.E313 if of_dtypes else code)
            return subject.about(said, subject.of_call(self.state, info.span, info.name, info.entries, asked))

        def roots() -> tuple[Finding, ...]:
            return preconditions.roots(self.state, [(self.info.find(param), axis) for param, axis in asked.at])

        before = len(self.prover.log.findings)
        with Apart():
            status = self.prover.judge(
                self.frame,
                cond,
                explain,
                claim=not self.residual and not told,
                sizes=self._sizes,
                demand=not of_dtypes,
                roots=roots,
            )
        if status is Status.REFUTED:
            raise Refuted
        if len(self.prover.log.findings) > before:
            self.doubt = self.prover.log.findings[-1]
        if status is Status.RESIDUAL and self.residual and not self.frame.quiet and not isinstance(cond, Undecided):
            with Apart():
                text = only_where(self.state, cond)
            if text is not None and self.doubt is not None:
                self.doubt.others[text] = _in_rx(text, cond)
        if status is Status.RESIDUAL and not (self.residual or self.frame.trial or isinstance(cond, Undecided)):
            self.prover.doubted[self.info.span] = cond
        self.residual = self.residual or status is Status.RESIDUAL
        return status

    def dtype_in(self, dtype: AnyDType | None, *classes: str) -> bool | None:
        return self.state.in_class(WEAK[float] if dtype is None else self.state.dtype(dtype), classes)

    def leave_open(self, asked: Other) -> None:
        """A call of tensors whose ranks are not all known. It is told where such a rank is met first: what the call gives has
        an open rank as well, and so on."""
        state = self.state
        places = {name: rank_of(state, e).span for name, e in self.info.operands() if is_open(state, e)}
        told = bool(places) and self.prover.open_ranks.issuperset(places.values())
        self.judged(replace(asked, blamed=tuple((name, None) for name in places)), UNDECIDED, told=told)
        if not self.frame.quiet:
            self.prover.open_ranks.update(places.values())

    def require_dtype(self, asked: DTypeIn | NotComplex) -> None:
        known = self.dtype_in(asked.dtype, *asked.classes)
        self.require_either(known, asked)
        if known is not True and asked.dtype is not None:
            if not self.frame.trial:
                self.prover.dtype_demands.append(DTypeDemand(asked.dtype, asked.classes, self.frame.path))
            self.state.restrict(asked.dtype, dtypes_of(asked.classes))

    def require_either(self, known: bool | None, asked: DTypeRequirement) -> None:
        if known is not True:
            self.judged(asked, UNDECIDED if known is None else known)

    def fail(self, asked: Requirement) -> NoReturn:
        self.judged(asked, False, codes.E314)
        raise Refuted

    def needs_literal(self, asked: Requirement) -> NoReturn:
        self.judged(asked, False, codes.E220)
        raise Refuted

    def decide(self, cond: Cond) -> bool | None:
        return self.prover.decide(cond)

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
            self.state.display.setdefault(result, (name, sizes))
        return result

    def ceildiv(self, a: Size, b: Size) -> Size:
        return ceildiv(a, b)

    def common(self, *sizes: Size) -> Size:
        """A size of its own, of which it is known which one it is: as a formula it would grow with every broadcast."""
        state = self.state
        bases = frozenset[Size]().union(*(state.bases_of(size) for size in sizes))
        known = state.broadcasts.get(bases)
        if known is not None:
            for one in sizes:
                state.assume(any_of(eq(known, one), eq(one, 1)))
            return known
        size = self._new_common(sizes)
        state.broadcasts[bases] = size
        state.bases.begin(only_var(size), bases)
        return size

    def _new_common(self, sizes: tuple[Size, ...]) -> Term:
        state = self.state
        positive = all(self.decide(le(1, size)) is True for size in sizes)
        text = common_text(sizes, state, positive)
        size = state.size(text or "?")
        if text is None:
            state.opaque.begin(only_var(size), None)
        for one in sizes:
            state.assume(any_of(eq(size, one), eq(one, 1)))
        state.assume(any_of(*(eq(size, one) for one in sizes)))
        ones = [all_of(*(eq(one, 1) for one in sizes[:i])) for i in range(len(sizes))]
        others = [*(ne(one, 1) for one in sizes[:-1]), True]
        cases = ((all_of(before, this), one) for before, this, one in zip(ones, others, sizes, strict=True))
        state.choices.begin(only_var(size), tuple(cases))
        return size

    def factor(self, product: Size, other: Size) -> Size:
        size = self.fresh("factor")
        self.state.assume(eq(size * other, product))
        return size

    def fresh(self, name: str, at_least: Size | None = 0, at_most: Size | None = None) -> Size:
        state = self.state
        size = state.size(f"?{name}", nonneg=at_least is not None)
        variable = single_var(size)
        assert variable is not None
        if self.info.name != "item":
            state.opaque.begin(variable, at_most)
        else:
            state.anonymous.begin(variable, None)
        if at_least is not None and at_least != 0:
            state.assume(le(at_least, size))
        if at_most is not None:
            state.assume(le(size, at_most))
        return size

    def fits(self, value: Size, dtype: AnyDType | None) -> bool:
        """Whether an element that is this size surely fits: a dimension is below 2**62, a product of two below 2**63."""
        dtype = self.state.dtype(dtype) if dtype is not None else _INT64
        if not isinstance(dtype, DType) or dtype.kind not in ("int", "uint"):
            return False
        low, high = int_range(dtype)
        least, most = self.state.facts.bounds(value)
        if least is not None and most is not None and low <= least and most <= high:
            return True
        return dtype == _INT64 and is_ordinary(value)


def _in_rx(text: str, cond: Cond) -> str:
    return render_cond(cond) if " = " in text or " or " in text else text


def _flat(value: Value) -> Value:
    return TupleValue(value.items) if isinstance(value, ListValue) else value
