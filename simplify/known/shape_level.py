"""Shape-level expressions of the core as sizes, shapes, dtypes and conditions, with their obligations.

Before and after, for `x : Tensor([n, m * 4])`: `x.dim(1) / 4 <= n` becomes the condition `m <= n`; the obligation that 4
divides `m * 4` is trivially true and vanishes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, assert_never

from ...lang import core
from ...lang.dtypes import DType
from ...lang.node import replace
from ...lang.source import NOWHERE
from ...ops.assertions import DIVISOR, FITS, QUOTIENT
from ...ops.broadcast import broadcast
from ...ops.dtypes_column import dtypes_of
from ...ops.holds import condition
from ...ops.model import AnyDType, RankUnknown, Segment, TensorInfo
from ...ops.requirements import Requirement
from ...sizes.evaluate import Name, Operation, evaluate
from ...sizes.operators import SizeOperator
from ..solver.conditions import Cond, all_of, any_of, eq, ge, gt, le, lt, ne, negate
from ..solver.term_sizes import Terms, applied
from ..solver.terms import MOST_BITS, Allowance, Size, TooLarge, again, mod
from .broadcasts import common, common_shape
from .state import State
from .values import (
    UNDECIDED,
    BoolValue,
    DTypeValue,
    Env,
    NumberValue,
    Poison,
    Shape,
    ShapeValue,
    SizeValue,
    Undecided,
    UnknownValue,
    Value,
    plain,
)

COMPARE: dict[str, Callable[[Size, Size], Cond]] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
Truth = Cond | Undecided


class Poisoned(Exception):
    """The expression uses a value whose error was reported already."""


class Obligation:
    """A condition for an expression to have a value: a divisor is positive, `/` divides, an axis exists."""

    __slots__ = ("cond", "text", "expr")

    def __init__(self, cond: Truth, text: str, expr: core.ShapeLevel) -> None:
        self.cond, self.text, self.expr = cond, text, expr


class _Fitting:
    """The context of the broadcast rule for an expression: its requirement that sizes fit becomes an obligation."""

    eq, ne, any_of = staticmethod(eq), staticmethod(ne), staticmethod(any_of)

    def __init__(self, level: ShapeLevel, expr: Operation) -> None:
        self.level, self.expr = level, expr
        self.fit = True

    def require(self, asked: Requirement, cond: Cond | None = None) -> None:
        ctx: Any = self
        cond = condition(asked, ctx) if cond is None else cond
        self.level.need(cond, FITS, self.expr)
        if cond is False:
            raise Poisoned
        self.fit = self.fit and self.decide(cond) is True

    def decide(self, cond: Cond) -> bool | None:
        kind = self.level.state.facts.decide(cond).kind
        return {"proved": True, "vacuous": True, "refuted": False}.get(kind)

    def common(self, *sizes: Size) -> Size:
        return common(self.level.state, sizes, self.fit)


class ShapeLevel(Terms):
    """Evaluates shape-level expressions in one environment and collects their obligations in `needs`."""

    def __init__(self, state: State, env: Env) -> None:
        self.state, self.env = state, env
        self.needs: list[Obligation] = []

    # The sorts of expressions

    def size(self, expr: core.SizeExpr) -> Size:
        found: Size = evaluate(expr, self)
        return found

    def shape(self, expr: core.ShapeExpr) -> Shape:
        found: Shape = evaluate(expr, self)
        return found

    def dtype(self, expr: core.DTypeExpr) -> AnyDType:
        found: AnyDType = evaluate(expr, self)
        return found

    def truth(self, expr: core.BoolExpr) -> Truth:
        found: Truth = evaluate(expr, self)
        return found

    def named(self, e: Name) -> Any:
        match e:
            case core.SizeVar():
                return self.state.settled(self._size_named(e.name))
            case core.ShapeVar() | core.Splice():
                return self._shape_named(e.name)
            case core.DTypeVar():
                return self._dtype_named(e.name)
            case core.BoolVar():
                value = self.look(e.name)
                return value.cond if isinstance(value, BoolValue) else UNDECIDED
            case _:
                assert_never(e)

    # Sizes

    def rank(self, e: core.RankOf) -> Size:
        return self.state.rank(self.tensor(e.tensor).shape)

    def prod(self, shape: Shape) -> Size:
        return self.state.elements(shape)

    def broadcast(self, e: Operation, left: Shape, right: Shape) -> Shape:
        ctx: Any = _Fitting(self, e)
        try:
            return broadcast(ctx, left, right)
        except RankUnknown:
            cond, shape = common_shape(self.state, left, right)
            self.need(cond, FITS, e)
            return shape

    def operation(self, row: SizeOperator, e: Operation, left: Size, right: Size) -> Size:
        if row.fits:
            size: Size = self.broadcast(e, (left,), (right,))[0]
            return size
        try:
            with Allowance(_OPERATION, _LEAST):
                return self._bearable(e, self._demanded(row, e, left, right))
        except TooLarge:  # a result too large to write out is an unknown size
            return self.state.unknown_integer()

    def _demanded(self, row: SizeOperator, e: Operation, left: Size, right: Size) -> Size:
        """Return the result of an operation and record its conditions on its operands."""
        if row.divides:
            positive = _question(lambda: gt(right, 0))
            self.need(positive, DIVISOR, e)
            if positive is False:
                raise Poisoned
        if row.exactly:
            self.need(_question(lambda: eq(mod(left, right), 0)), QUOTIENT, e)
        return again(self.state.worked_out, (row.name, left, right), lambda: applied(row, left, right))

    def _bearable(self, expr: Operation, result: Size) -> Size:
        if isinstance(result, int) and result.bit_length() > MOST_BITS:
            self.need(False, f"its result to be a number of at most {MOST_BITS} bits", expr)
            raise Poisoned
        return result

    def _size_named(self, name: str) -> Size:
        value = self.look(name)
        if isinstance(value, UnknownValue):
            value = self._turns_out(name, SizeValue(self.state.unknown_integer()))
        if isinstance(value, SizeValue):
            return value.size
        if isinstance(value, NumberValue) and isinstance(value.value, int):
            return value.value
        raise TypeError(f"{name} is not a size")

    def dimension(self, expr: core.DimOf) -> Size:
        shape = self.state.spread(self.tensor(expr.tensor).shape)
        axis = expr.axis
        if plain(shape):
            if -len(shape) <= axis < len(shape):
                return self.state.settled(shape[axis])
            self.need(False, f"`{expr.tensor}` to have an axis {axis}, but its rank is {len(shape)}", expr)
            raise Poisoned
        shape = self.state.resolve(shape)
        found = self.dim_around_segments(shape, axis)
        rank = self.state.rank(shape)
        self.need(ge(rank, axis + 1 if axis >= 0 else -axis), f"`{expr.tensor}` to have an axis {axis}", expr)
        return found

    def dim_around_segments(self, shape: Shape, axis: int) -> Size:
        """The dimension at the axis: from the plain front or tail, or from the segment if it surely lies there."""
        parts, steps = (shape, axis) if axis >= 0 else (shape[::-1], -axis - 1)
        at = next(i for i, part in enumerate(parts) if isinstance(part, Segment))
        if steps < at:
            return parts[steps]  # type: ignore[no-any-return]
        behind = parts[at + 1 :]
        if plain(behind) and (not behind or self.state.has_rank_of(shape, steps + 1 + len(behind))):
            return self.state.segment_dim(parts[at], steps - at if axis >= 0 else at - steps - 1)
        return self.state.dim_between(shape, axis)

    def need(self, cond: Truth, text: str, expr: core.ShapeLevel) -> None:
        if cond is not True:
            self.needs.append(Obligation(cond, text, expr))

    # Names

    def look(self, name: str) -> Value:
        entry = self.env.get(name)
        if entry is None or isinstance(entry.value, Poison):
            raise Poisoned
        return entry.value

    def tensor(self, name: str) -> TensorInfo:
        value = self.look(name)
        if isinstance(value, UnknownValue):
            value = self._turns_out(name, TensorInfo((self.state.segment(name),), self.state.dtype_symbol("?")))
        if isinstance(value, TensorInfo):
            return value
        if isinstance(value, NumberValue):
            return TensorInfo((), None)
        raise Poisoned

    def _turns_out(self, name: str, value: Value) -> Value:
        """Fix the sort of an unknown value, which follows from its use."""
        self.env[name] = replace(self.env[name], value=value)
        return value

    # Shapes and dtypes

    def _shape_named(self, name: str) -> Shape:
        value = self.look(name)
        if isinstance(value, UnknownValue):
            value = self._turns_out(name, ShapeValue((self.state.segment(name),)))
        if isinstance(value, ShapeValue):
            return self.state.resolve(value.dims)
        raise Poisoned

    def shape_of(self, tensor: str) -> Shape:
        return self.state.resolve(self.tensor(tensor).shape)

    def dims(self, items: tuple[core.SizeExpr | core.Splice, ...]) -> Shape:
        return self.shape(core.ShapeLit(NOWHERE, items))

    def dtype_of(self, tensor: str) -> AnyDType:
        dtype: AnyDType | None = self.tensor(tensor).dtype
        if dtype is None:
            raise Poisoned
        return self.state.dtype(dtype)

    def _dtype_named(self, name: str) -> AnyDType:
        value = self.look(name)
        if isinstance(value, UnknownValue):
            value = self._turns_out(name, DTypeValue(self.state.dtype_symbol("?")))
        if isinstance(value, DTypeValue):
            return self.state.dtype(value.dtype)
        raise Poisoned

    # Conditions

    def in_class(self, e: core.InClass, item: AnyDType) -> Truth:
        known = self.state.in_class(item, e.choices)
        return UNDECIDED if known is None else known

    def negation(self, e: core.Not, operand: Truth) -> Truth:
        return _not(operand)

    def logic(self, e: core.Logic, left: Truth, right: Callable[[], Truth]) -> Truth:
        """Evaluate `&&` or `||`; the right side's obligations apply only if the left side does not decide the result."""
        outer, self.needs = self.needs, []
        second: Truth
        try:
            second = right()
        except Poisoned:
            if not any(n.cond is False for n in self.needs):
                raise
            second = UNDECIDED
        guard: Truth = False
        if self.needs:
            guard = _not(left) if e.op == "&&" else left
        for need in self.needs:
            cond = _or(guard, need.cond)
            if cond is not True:
                outer.append(Obligation(cond, need.text, need.expr))
        self.needs = outer
        return _and(left, second) if e.op == "&&" else _or(left, second)

    def compare(self, e: core.Compare, left: Any, right: Any) -> Truth:
        if isinstance(e.left, core.SizeExpr):
            return COMPARE[e.op](left, right)
        equal: Truth
        if isinstance(e.left, core.DTypeExpr):
            same = self.state.same_dtype(left, right)
            equal = UNDECIDED if same is None else same
        elif isinstance(e.left, core.ShapeExpr):
            equal = self.same_shape(left, right)
        else:
            equal = _or(_and(left, right), _and(_not(left), _not(right)))
        return equal if e.op == "==" else _not(equal)

    def same_shape(self, a: Shape, b: Shape) -> Truth:
        """Whether two shapes are equal, dimension by dimension where both are known."""
        if plain(a) and plain(b):
            return all_of(*map(eq, a, b)) if len(a) == len(b) else False
        front, tail = _aligned(a, b)
        conds = [eq(x, y) for x, y in front + tail]
        rest_a, rest_b = a[len(front) : len(a) - len(tail)], b[len(front) : len(b) - len(tail)]
        if rest_a == rest_b:
            return all_of(*conds)
        return False if differ_in_rank(rest_a, rest_b) or all_of(*conds) is False else UNDECIDED

    # Facts from a condition

    def learn(self, expr: core.BoolExpr, positive: bool = True, reason: object = None) -> None:
        """Take the condition (or its negation) as a fact."""
        match expr:
            case core.Not():
                return self.learn(expr.operand, not positive, reason)
            case core.Logic() if (expr.op == "&&") == positive:
                self.learn(expr.left, positive, reason)
                with suppress(Poisoned):  # without a value nobody gets past it, so no facts are needed
                    self.learn(expr.right, positive, reason)
                return None
            case core.InClass() if positive:
                return self.state.restrict(self.dtype(expr.item), dtypes_of(expr.choices))
            case core.InClass():
                dtype = self.dtype(expr.item)
                return self.state.restrict(dtype, self.state.allowed(dtype) - dtypes_of(expr.choices))
            case core.Compare() if not isinstance(expr.left, core.SizeExpr):
                return self._learn_compare(expr, (expr.op == "==") == positive)
            case core.Compare() if (expr.op == "==") == positive and expr.op in ("==", "!="):
                self._learn_equal(expr, reason)
                return None
            case core.Logic() | core.Compare() | core.BoolConst() | core.BoolVar():
                pass
            case _:
                assert_never(expr)
        truth = self.truth(expr)
        if isinstance(expr, core.Compare) and positive:
            self._learn_bound(expr)
        if not isinstance(truth, Undecided):
            self.state.assume(truth if positive else negate(truth), reason)
        return None

    def _learn_bound(self, expr: core.Compare) -> None:
        small, large = (expr.left, expr.right) if expr.op in ("<", "<=") else (expr.right, expr.left)
        if expr.op in ("<", "<=", ">", ">=") and isinstance(small, core.SizeExpr) and isinstance(large, core.SizeExpr):
            self.state.learn_bound(self.size(small), self.size(large) - (1 if expr.op in ("<", ">") else 0))

    def _learn_equal(self, expr: core.Compare, reason: object) -> None:
        assert isinstance(expr.left, core.SizeExpr) and isinstance(expr.right, core.SizeExpr)
        for side, other in ((expr.left, expr.right), (expr.right, expr.left)):
            if isinstance(side, core.RankOf):
                rank = self.size(other)
                if isinstance(rank, int) and self.learn_rank(self.tensor(side.tensor).shape, rank):
                    return
        a, b = self.size(expr.left), self.size(expr.right)
        if a != b:
            self.equate(a, b, reason)

    def equate(self, a: Size, b: Size, reason: object = None) -> None:
        """Assume that both sizes are equal; a dimension without a name is written as the other from here on."""
        self.state.assume(eq(a, b), reason)
        self.state.solve_anonymous(a, b)

    def learn_rank(self, shape: Shape, rank: int) -> bool:
        """Expand the shape's open segment to fit the rank, if there is exactly one; return whether it was expanded."""
        shape = self.state.resolve(shape)
        open_ = [d for d in shape if isinstance(d, Segment)]
        if len(open_) != 1 or rank < len(shape) - 1:
            return False
        self.state.expand_to_rank(open_[0], rank - len(shape) + 1)
        return True

    def _learn_compare(self, expr: core.Compare, equal: bool) -> None:
        left, right = expr.left, expr.right
        if isinstance(left, core.DTypeExpr) and isinstance(right, core.DTypeExpr):
            a, b = self.dtype(left), self.dtype(right)
            if equal:
                self.state.unify(a, b)
            elif isinstance(b, DType) or isinstance(a, DType):
                one, other = (a, b) if isinstance(b, DType) else (b, a)
                self.state.restrict(one, self.state.allowed(one) - {other})
        elif isinstance(left, core.ShapeExpr) and isinstance(right, core.ShapeExpr) and equal:
            self.learn_same_shape(self.shape(left), self.shape(right))

    def learn_same_shape(self, a: Shape, b: Shape) -> None:
        front, tail = _aligned(a, b)
        for x, y in front + tail:
            self.equate(x, y)
        rest_a, rest_b = a[len(front) : len(a) - len(tail)], b[len(front) : len(b) - len(tail)]
        for one, other in ((rest_a, rest_b), (rest_b, rest_a)):
            if len(one) == 1 and isinstance(one[0], Segment) and one != other and one[0] not in other:
                self.state.expand(one[0], other)
                return


def differ_in_rank(a: Sequence[object], b: Sequence[object]) -> bool:
    """Whether one shape has every segment of the other and more dimensions: `[*s]` and `[*s, n]`, `[]` and `[n, ...]`."""
    return _is_longer(a, b) or _is_longer(b, a)


def _is_longer(a: Sequence[object], b: Sequence[object]) -> bool:
    inside, beside = ([d.symbol.serial for d in shape if isinstance(d, Segment)] for shape in (a, b))
    return len(a) - len(inside) > len(b) - len(beside) and not Counter(beside) - Counter(inside)


def _aligned(a: Shape, b: Shape) -> tuple[list[tuple[Size, Size]], list[tuple[Size, Size]]]:
    """The pairs of dimensions opposite each other, before the first and after the last segment."""
    least = min(len(a), len(b))
    front = 0
    while front < least and not isinstance(a[front], Segment) and not isinstance(b[front], Segment):
        front += 1
    back = 0
    while back < least - front and not isinstance(a[-1 - back], Segment) and not isinstance(b[-1 - back], Segment):
        back += 1
    heads = [(a[i], b[i]) for i in range(front)]
    tails = [(a[len(a) - back + i], b[len(b) - back + i]) for i in range(back)]
    return heads, tails


def _question(make: Callable[[], Cond]) -> Truth:
    """A condition on sizes; UNDECIDED if it is too large to write out."""
    try:
        return make()
    except TooLarge:
        return UNDECIDED


def _not(a: Truth) -> Truth:
    return a if isinstance(a, Undecided) else negate(a)


def _and(a: Truth, b: Truth) -> Truth:
    if a is False or b is False:
        return False
    if isinstance(a, Undecided) or isinstance(b, Undecided):
        return UNDECIDED
    return all_of(a, b)


def _or(a: Truth, b: Truth) -> Truth:
    if a is True or b is True:
        return True
    if isinstance(a, Undecided) or isinstance(b, Undecided):
        return UNDECIDED
    return any_of(a, b)


# The steps allowed for one operation, and the minimum when the program's budget is spent.
_OPERATION, _LEAST = 20_000, 300
