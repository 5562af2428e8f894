"""The context of a shape rule while a program is checked: it decides preconditions at once, and sizes are terms. For a call
with too large sizes it decides only simple ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, NoReturn

from ..lang import codes, core
from ..lang.codes import Code
from ..lang.core import Status
from ..lang.dtypes import DIGITS, DTYPES, WEAK, DType, exact_integers
from ..lang.node import replace
from ..lang.source import Span
from ..ops.holds import condition
from ..ops.model import AnyDType, ElementRange, Out, Primitive, RankUnknown, Segment, TensorInfo, Truth as TruthElement
from ..ops.requirements import DTypeIn, DTypeRequirement, NotComplex, Requirement, SameElements, Spoken
from .frame import Frame
from .known.broadcasts import common
from .known.finding import Finding
from .known.fresh import dims_of
from .known.shape_level import Truth
from .known.values import UNDECIDED, ListValue, TupleValue, Undecided, Value, plain
from .messages.describe import exactness
from .messages.origins import is_open, rank_of
from .messages.preconditions import Precondition
from .messages.solutions import only_where
from .messages.spoken import CallInfo
from .prover import Prover
from .solver.conditions import Cond, all_of, any_of, cond_variables, eq, le, lt, ne, render_cond
from .solver.sizes import is_ordinary, only_var, single_var, square_root
from .solver.terms import (
    Allowance,
    Apart,
    Size,
    Term,
    TooLarge,
    ceildiv,
    left,
    smax,
    smin,
    spent,
    stride,
    var,
)
from .weakest import DTypeDemand
from .wildcards import Sayable, quotient

# The steps for solving a -1; beyond them the run finds the number.
_SOLUTION = 20_000
_INT64 = DTYPES["int64"]
# Dtypes that hold the sizes that occur in practice, with the number of bits.
_WIDE = {"int64": 63, "float64": DIGITS["float64"]}


class Refuted(Exception):
    """A precondition can never hold; it was reported."""


class SymbolicCtx:
    """The context of a shape rule at check time; preconditions are judged as they come."""

    def __init__(self, prover: Prover, frame: Frame, info: CallInfo, counted: tuple[object, ...] | None = None) -> None:
        # The key of the sizes that only the data decides, if it is known.
        self.counted = counted
        # That size, if it is written in the program.
        self.count: int | None = None
        self._fresh = 0
        self.prover, self.frame = prover, frame
        self.state, self.info, self.residual = prover.state, info, False
        # The scope in which the solution of a -1 is written, None if it is not solved; then the solution.
        self.scope: Sayable | None = None
        self.solved: core.SizeExpr | None = None
        # Parameters that the call gets if it is left to the run.
        self.rests_on: dict[str, tuple[int, ...]] = {}
        # Whether sizes decide that its elements are right; None if nobody asked.
        self.by_sizes: bool | None = None
        # The finding about the call, if there is one.
        self.unproved: Finding | None = None

    @cached_property
    def _sizes(self) -> tuple[Size, ...]:
        return dims_of([_flat(e.value) for _, e in self.info.entries], self.state)

    def dims(self, x: TensorInfo) -> tuple[Any, ...]:
        shape = self.state.resolve(x.shape)
        if not plain(shape):
            raise RankUnknown
        return shape

    def number(self, size: Size) -> Size:
        return self.state.number(size)

    def rank(self, x: TensorInfo) -> int:
        return len(self.dims(x))

    def require(self, asked: Requirement, cond: Cond | None = None) -> None:
        cond = condition(asked, self) if cond is None else cond
        if self.judged(asked, cond) is Status.RESIDUAL:  # it is checked at run time, so afterwards it holds
            self.state.assume(cond, self.info)

    def judged(
        self, asked: Requirement, cond: Truth, code: Code | None = None, open_at: frozenset[Span] = frozenset()
    ) -> Status:
        if cond is True:
            return self.prover.plain(self.frame)
        of_dtypes = isinstance(asked, DTypeRequirement)
        needs = Precondition(self.info, asked, codes.E313 if of_dtypes else code, open_at)
        sizes = () if spent() else self._sizes  # they are not read any more
        with Apart():
            status, found = self.prover.judge(
                self.frame, cond, needs, claim=not self.residual, sizes=sizes, demand=not of_dtypes
            )
        if status is Status.REFUTED:
            raise Refuted
        if found is not None and status is Status.RESIDUAL and isinstance(asked, SameElements):
            found.inexact = self._is_taken_for_its_bound(*asked.counts)
        self.unproved = found or self.unproved
        if status is Status.RESIDUAL and not isinstance(cond, Undecided) and self.unproved is not None:
            if not self.residual:
                self.unproved.cond = cond
            elif not self.frame.quiet and not self.prover.is_brief_on_unproved:
                with Apart():
                    only = only_where(self.state, cond)
                if only is not None:
                    self.unproved.others[only] = only.said if only.cases == (only.said,) else render_cond(cond)
        self.residual = self.residual or status is Status.RESIDUAL
        return status

    def _is_taken_for_its_bound(self, size: Any, wanted: Any) -> bool:
        """Whether the wanted size is the upper bound of a size that only the run decides."""
        _, bound = exactness(self.state.settled(size), self.state)
        return bound is not None and self.decide(eq(bound, wanted)) is True

    def dtype_in(self, dtype: AnyDType | None, *classes: str) -> bool | None:
        return self.state.in_class(WEAK[float] if dtype is None else self.state.dtype(dtype), classes)

    def passed(self, cond: Cond) -> None:
        self.state.assume(cond, self.info)

    def ranges(self, told: Callable[[], tuple[ElementRange, ...]]) -> tuple[ElementRange, ...]:
        try:
            return told()
        except TooLarge:
            return ()

    def elements_fit(self, asked: Requirement, empty: list[Cond], surely: Cond, needed: Cond) -> None:
        is_right, cond = self.decide(any_of(*empty, surely)) is True, any_of(*empty, needed)
        if not is_right and surely is needed and not self._is_of_data(cond):
            self.require(asked, cond)
            is_right = True
        elif not is_right:
            (self.require if self.decide(needed) is False else self._assumed)(asked, cond)
        self.by_sizes = is_right and self.by_sizes is not False
        if not self.frame.quiet:
            self.prover.by_sizes[self.info.span] = self.by_sizes

    def _assumed(self, asked: Requirement, cond: Cond) -> None:
        self.passed(cond)

    def _is_of_data(self, cond: Cond) -> bool:
        """Whether a condition is on sizes that only the data decides."""
        unknown = (self.state.opaque, self.state.anonymous)
        return not isinstance(cond, bool) and any(v in table for v in cond_variables(cond) for table in unknown)

    def leave_open(self, asked: Spoken) -> None:
        """Leave a call of tensors of unknown rank open. It is reported where such a rank first occurs: its result has an open
        rank as well, and so on."""
        places = {name: rank_of(self.state, e).span for name, e in self.info.operands() if is_open(self.state, e)}
        blamed = tuple((name, None) for name in places)
        self.judged(replace(asked, blamed=blamed), UNDECIDED, open_at=frozenset(places.values()))

    def require_dtype(self, asked: DTypeIn | NotComplex) -> None:
        known = self.dtype_in(asked.dtype, *asked.classes)
        self.require_either(known, asked)
        if known is not True and asked.dtype is not None:
            if not self.frame.trial:
                self.prover.dtype_demands.append(DTypeDemand(asked.dtype, asked.classes, self.frame.path))
            self.state.restrict(asked.dtype, self.state.among(asked.dtype, asked.classes))

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

    eq, ne, le, lt = staticmethod(eq), staticmethod(ne), staticmethod(le), staticmethod(lt)
    any_of, all_of, ceildiv = staticmethod(any_of), staticmethod(all_of), staticmethod(ceildiv)

    def min(self, *sizes: Size) -> Size:
        return self._shown("min", smin(*sizes), sizes)

    def max(self, *sizes: Size) -> Size:
        return self._shown("max", smax(*sizes), sizes)

    def _shown(self, name: str, result: Size, sizes: tuple[Size, ...]) -> Size:
        """Print a minimum or maximum as the rule wrote it; its normal form is not readable."""
        if isinstance(result, Term) and single_var(result) is None:
            self.state.display.setdefault(result, (name, sizes))
        return result

    def common(self, *sizes: Size) -> Size:
        return common(self.state, sizes)

    def factor(self, product: Size, other: Size) -> Size:
        size = self.fresh("factor")
        self.state.assume(eq(size * other, product))
        return size

    def solution(self, left: tuple[Size, ...], rest: tuple[Size, ...]) -> Size | None:
        if self.scope is None:
            return None
        try:
            with Allowance(_SOLUTION):
                size = quotient(self.state, self.decide, left, rest)
                if size is None or self.decide(le(0, size)) is not True or self._are_positive(rest):
                    return None
        except TooLarge:
            return None
        self.solved = self.scope.written(size, self.info.span)
        return size if self.solved is not None else None

    def _are_positive(self, sizes: tuple[Size, ...]) -> bool:
        """Whether all sizes are positive: then numbers tell as much."""
        return all(self.decide(le(1, size)) is True for size in sizes)

    def rest_on(self, param: str, value: tuple[int, ...]) -> None:
        self.rests_on[param] = value

    def fresh(self, name: str, at_least: Size | None = 0, at_most: Size | None = None) -> Size:
        self._fresh += 1
        if self.count is not None:
            return self.count if at_most is None else self._smaller(self.count, at_most)
        if self.counted is None:
            return self._new(name, at_least, at_most)
        key = (*self.counted, name, self._fresh)
        if self.counted[0] == "rounded":  # their number also depends on the bound
            key = (*key, None if at_most is None else self.state.settled(at_most))
        known = self.state.counted.get(key)
        if known is None:
            known = self.state.counted[key] = self._new(name, at_least, at_most)
        elif at_most is not None:
            self.state.assume(le(known, at_most))
        return known

    def _smaller(self, a: Size, b: Size) -> Size:
        if self.decide(le(a, b)):
            return a
        return b if self.decide(le(b, a)) else self.min(a, b)

    def _new(self, name: str, at_least: Size | None, at_most: Size | None) -> Size:
        state = self.state
        size = state.size(f"?{name}", nonneg=at_least is not None)
        variable = single_var(size)
        assert variable is not None
        if self.info.row.results != "size":  # a size that is read from data has no name yet
            state.opaque.begin(variable, at_most)
        else:
            state.leave_unnamed(variable)
        if at_least is not None and at_least != 0:
            state.assume(le(at_least, size))
        if at_most is not None:
            state.assume(le(size, at_most))
        return size

    def elements(self, segment: Segment) -> Size:
        return self.state.elements((segment,))

    def held_in(self, param: str) -> Size:
        number = next(entry.number for name, entry in self.info.entries if name == param)
        key, known = ("held", number), self.state.counted
        if number is None:
            return self._new("count", 0, None)
        if key not in known:
            known[key] = self._new("count", 0, None)
        return known[key]

    def element(self, at_least: Size, at_most: Size) -> Size | None:
        state = self.state
        size = state.size("?item", nonneg=True)
        state.anonymous.begin(only_var(size), None)
        state.assume(le(at_least, size))
        state.assume(le(size, at_most))
        return size

    def is_unknown(self, size: Size) -> bool:
        found = None if isinstance(size, int) else single_var(size)
        return found is not None and not found.nonneg and found in self.state.opaque

    def fits(self, value: Size, dtype: AnyDType | None) -> bool:
        dtype = self.state.dtype(dtype) if dtype is not None else _INT64
        if not isinstance(dtype, DType):
            return False
        low, high = exact_integers(dtype)
        least, most = self.state.facts.bounds(value)
        if least is not None and most is not None and low <= least and most <= high:
            return True
        return dtype.name in _WIDE and is_ordinary(value, _WIDE[dtype.name])

    def one_of(
        self, cases: tuple[tuple[TruthElement, Size], ...], natural: bool, dtype: AnyDType | None
    ) -> Size | None:
        given: list[tuple[Any, Any, Size]] = [(truth.yes, truth.no, value) for truth, value in cases]
        for yes, _, value in given:
            sure = self.decide(yes)
            if sure is True or (sure is None and len(given) == 1 and self.prover.supposes(yes)):
                return value
        known = self.state.counted.get((cases, dtype))
        if known is None:
            known = self.state.counted[cases, dtype] = self._new("element", 0 if natural else None, None)
            for _, no, value in given:
                self.state.assume(any_of(no, eq(known, value)))
            if len(given) > 1 and not isinstance(known, int):
                self.state.choices.begin(only_var(known), tuple((yes, value) for yes, _, value in given))
        return known

    def root(self, size: Size) -> Size | None:
        found = square_root(size)
        return found if found is not None and self.decide(le(0, found)) is True else None


def _flat(value: Value) -> Value:
    return TupleValue(value.items) if isinstance(value, ListValue) else value


_MOST = 3_000  # the steps of the rule, even if the program's budget is spent


def outline(row: Primitive, ctx: SymbolicCtx, arguments: list[object]) -> tuple[Any, bool] | None:
    """Return the rule's result with a name for every size that is more than a name, and whether the rule requires anything of
    its operands; None without a result."""
    assert row.rule is not None
    plain = _Outline(ctx)
    try:
        with Apart(_MOST):
            try:
                result = row.rule(plain, *(plain.named(a) for a in arguments))
            finally:
                stride(_MOST - left())
    except (RankUnknown, TooLarge):
        return None
    return plain.written(result), plain.asked


# A condition that nothing decides.
_OPEN = ne(var("?", 0), 0)


def _plain_eq(a: Size, b: Size) -> Cond:
    return True if a is b else a == b if isinstance(a, int) and isinstance(b, int) else _OPEN


def _plain_ne(a: Size, b: Size) -> Cond:
    return False if a is b else a != b if isinstance(a, int) and isinstance(b, int) else _OPEN


class _Outline(SymbolicCtx):
    """Decides only what is plain, and records whether the rule required anything; its user leaves that open."""

    def __init__(self, ctx: SymbolicCtx) -> None:
        super().__init__(ctx.prover, ctx.frame, ctx.info)
        self.asked = False
        self._names: dict[Term, Term] = {}
        self._sizes_of: dict[Term, Term] = {}

    def named(self, argument: object, is_dim: bool = False) -> Any:
        """An argument with a name for each size in it that is not one."""
        if isinstance(argument, TensorInfo):
            shape = tuple(self.named(d, is_dim=True) for d in self.state.resolve(argument.shape))
            sizes = (e if isinstance(e, int | Term) else None for e in argument.data or ())
            data = None if argument.data is None else tuple(self.named(e) for e in sizes)
            return replace(argument, shape=shape, data=data)
        if isinstance(argument, tuple):
            return tuple(self.named(a) for a in argument)
        if type(argument) is not Term or single_var(argument) is not None:
            return argument
        if argument not in self._names:
            name = self.state.size("?", nonneg=is_dim)
            self._names[argument], self._sizes_of[name] = name, argument
        return self._names[argument]

    def written(self, result: object) -> Any:
        """A result with the sizes themselves for their names, and unknown sizes for formulas of these."""
        if isinstance(result, Out):
            return Out(self.written(tuple(result.shape)), dtype=result.dtype)
        if isinstance(result, list | tuple):
            return type(result)(self.written(r) for r in result)
        if type(result) is not Term or single_var(result) is not None:
            return self._sizes_of.get(result, result) if type(result) is Term else result
        return self.fresh("size")

    def require(self, asked: Requirement, cond: Cond | None = None) -> None:
        self.asked = True

    def require_either(self, known: bool | None, asked: object) -> None:
        self.asked = self.asked or known is not True

    def require_dtype(self, asked: object) -> None:
        self.asked = True

    def leave_open(self, asked: object) -> None:
        self.asked = True

    def passed(self, cond: Cond) -> None:
        pass

    def fail(self, asked: Requirement) -> NoReturn:
        raise RankUnknown

    def needs_literal(self, asked: Requirement) -> NoReturn:
        raise RankUnknown

    def ranges(self, told: Callable[[], tuple[ElementRange, ...]]) -> tuple[ElementRange, ...]:
        return ()

    def elements_fit(self, asked: Requirement, empty: list[Cond], surely: Cond, needed: Cond) -> None:
        pass

    def decide(self, cond: Cond) -> bool | None:
        return cond if isinstance(cond, bool) else None

    eq, ne = staticmethod(_plain_eq), staticmethod(_plain_ne)

    def common(self, *sizes: Size) -> Size:
        return sizes[0] if len(set(sizes)) == 1 else self.fresh("size")

    def min(self, *sizes: Size) -> Size:
        return self._extreme(min, sizes)

    def max(self, *sizes: Size) -> Size:
        return self._extreme(max, sizes)

    def _extreme(self, choose: Callable[[Iterable[int]], int], sizes: tuple[Size, ...]) -> Size:
        """The extreme of numbers, else a new size: comparing sizes takes long."""
        numbers = [size for size in sizes if isinstance(size, int)]
        if len(numbers) == len(sizes):
            return choose(numbers)
        return sizes[0] if len(set(sizes)) == 1 else self.fresh("size", None)

    def ceildiv(self, a: Size, b: Size) -> Size:
        return ceildiv(a, b) if isinstance(a, int) and isinstance(b, int) else self.fresh("size", None)

    def factor(self, product: Size, other: Size) -> Size:
        return self.fresh("size")

    def fresh(self, name: str, at_least: Size | None = 0, at_most: Size | None = None) -> Size:
        return super()._new(name, 0 if at_least is not None else None, None)

    def element(self, at_least: Size, at_most: Size) -> Size | None:
        return None

    def fits(self, value: Size, dtype: AnyDType | None) -> bool:
        return False

    def one_of(self, cases: object, natural: bool, dtype: AnyDType | None) -> Size | None:
        return None
