"""A rule says the same over symbolic sizes as over the ints that they turn out to be."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings, strategies as st
from rxlang.lang.dtypes import DTYPES
from rxlang.ops.ground import GroundCtx, Violation
from rxlang.ops.holds import condition
from rxlang.ops.model import WILDCARD, Out, RankUnknown, TensorInfo
from rxlang.ops.requirements import Requirement
from rxlang.ops.wording import plain
from rxlang.simplify.solver import conditions as c
from rxlang.simplify.solver.facts import Facts
from rxlang.simplify.solver.terms import Term, Var, ceildiv, evaluate, of_atom, smax, smin, variables
from support import ops

N, M, K = (Var(name, i) for i, name in enumerate("nmk", 1))
B = Var("b", 9, nonneg=False)
n, m, k, b = (of_atom(v) for v in (N, M, K, B))
size = st.sampled_from([n, m, k, n * 2, n + 1, m + n, n * m, 0, 1, 2, 3, 6])
# Sizes that may be negative: bounds and offsets.
bound = st.sampled_from([n, b, b + n, n - 2, m - n, 0, 1, 3, -1, -2, 10**9, 2**63 - 1, -(2**63)])


class SymbolicCtx:
    """Every requirement is noted and assumed; a fresh size is a new variable."""

    def __init__(self) -> None:
        self.facts = Facts()
        self.required: list[tuple[c.Cond, str]] = []
        self.drawn: list[tuple[Var, Any, Any]] = []
        self.factors: dict[Any, tuple[tuple[Any, Any], ...]] = {}

    def dims(self, x: TensorInfo) -> tuple[Any, ...]:
        return x.shape

    def number(self, size: Any) -> Any:
        return size

    def rank(self, x: TensorInfo) -> int:
        return len(x.shape)

    def require(self, asked: Requirement, cond: c.Cond | None = None) -> None:
        cond = condition(asked, self) if cond is None else cond
        self.required.append((cond, plain(asked)))
        self.facts.assume(cond)

    def passed(self, cond: c.Cond) -> None:
        self.facts.assume(cond)

    def ranges(self, told: object) -> tuple[()]:
        return ()

    def elements_fit(self, asked: Requirement, empty: list[c.Cond], surely: c.Cond, needed: c.Cond) -> None:
        raise AssertionError

    def fail(self, asked: Requirement) -> NoReturn:
        raise Violation(asked)

    def decide(self, cond: c.Cond) -> bool | None:
        return {"proved": True, "refuted": False}.get(self.facts.decide(cond).kind)

    eq, ne, le, lt = (staticmethod(f) for f in (c.eq, c.ne, c.le, c.lt))
    any_of, all_of = staticmethod(c.any_of), staticmethod(c.all_of)
    min, max, ceildiv = staticmethod(smin), staticmethod(smax), staticmethod(ceildiv)

    def common(self, *sizes: Any) -> Any:
        return smin(smax(*sizes), smax(sum(sizes[1:], sizes[0]) - (len(sizes) - 1), 0))

    def factor(self, product: Any, other: Any) -> Term:
        found = self.fresh("factor")
        self.factors[found] = ((product, other),)
        return found

    def solution(self, left: Any, rest: Any) -> None:
        return None

    def element(self, at_least: Any, at_most: Any) -> None:
        return None

    def is_unknown(self, size: Any) -> bool:
        return False

    def one_of(self, cases: Any, natural: bool, dtype: Any) -> None:
        return None

    def fits(self, value: Any, dtype: Any) -> bool:
        return True

    def fresh(self, name: str, at_least: Any = 0, at_most: Any = None) -> Term:
        drawn = Var(name, 100 + len(self.drawn))
        self.drawn.append((drawn, at_least, at_most))
        return of_atom(drawn)


def tensor(*shape: Any) -> TensorInfo:
    return TensorInfo(shape, DTYPES["float32"])


def at(value: Any, point: dict[Var, int]) -> Any:
    """An argument or a shape with its sizes at a point."""
    if isinstance(value, TensorInfo):
        return TensorInfo(at(value.shape, point), value.dtype, at(value.data, point))
    if isinstance(value, tuple | list):
        return tuple(at(v, point) for v in value)
    return evaluate(value, point) if isinstance(value, Term) else value


def holds(cond: c.Cond, point: dict[Var, int]) -> bool:
    return cond if isinstance(cond, bool) else c.evaluate_cond(cond, point)


def shapes(result: Any) -> Any:
    outs = result if isinstance(result, list) else [result]
    return [tuple(o.shape) if isinstance(o, Out) else tuple(o) for o in outs]


def data(result: Any) -> Any:
    return result.data if isinstance(result, Out) else None


def agree(name: str, *args: Any) -> None:
    """The rule over terms, then at points, is the rule over the points; a size that was drawn may be anything."""
    row = ops.row_of(name)
    args = (*args, *(p.default for p in row.params[len(args) :]))
    ctx = SymbolicCtx()
    symbolic: Any = None
    try:
        symbolic = row.rule(ctx, *args)
    except Violation:
        ctx.required.append((False, "refused"))
    except RankUnknown:
        return
    for values in itertools.product((0, 1, 2, 3), (0, 1, 4), (0, 2), (-5, -1, 0, 3)):
        point = dict(zip((N, M, K, B), values, strict=True))
        if any(s < 0 for s in _tensor_sizes(args, point)):
            continue
        drawn = [{**point, **{v: size for v, _, _ in ctx.drawn}} for size in (0, 1)]
        expected = [all(holds(cond, p) for cond, _ in ctx.required) for p in drawn]
        try:
            ground = row.rule(GroundCtx(), *at(args, point))
        except Violation as refusal:
            assert not all(expected), (point, str(refusal))
            continue
        assert any(expected), (point, [what for cond, what in ctx.required if not holds(cond, drawn[0])])
        anything = [of_atom(variable) for variable, _, _ in ctx.drawn]
        for found, wanted in zip(shapes(symbolic), shapes(ground), strict=True):
            assert len(found) == len(wanted)
            for size, real in zip(found, wanted, strict=True):
                assert at(size, point) == real if is_told(size, point) else size in anything, point
                for product, other in ctx.factors.get(size, ()):
                    assert real * at(other, point) == at(product, point), point
        if data(symbolic) is not None:
            assert at(data(symbolic), point) == data(ground)


def is_told(size: Any, point: dict[Var, int]) -> bool:
    return isinstance(size, int) or all(v in point for v in variables(size))


def _tensor_sizes(args: Any, point: dict[Var, int]) -> list[int]:
    infos = [a for a in args if isinstance(a, TensorInfo)]
    infos += [i for a in args if isinstance(a, tuple) for i in a if isinstance(i, TensorInfo)]
    return [s for i in infos for s in at(i.shape, point)]


def property_test(examples: int = 40) -> Callable[[Any], Any]:
    return lambda test: given(st.data())(settings(max_examples=examples, deadline=None)(test))


def shape(data: st.DataObject, least: int = 1, most: int = 3) -> list[Any]:
    return data.draw(st.lists(size, min_size=least, max_size=most))


@property_test(60)
def test_a_reshape_of_symbols_is_one_of_each_value(data: st.DataObject) -> None:
    source = shape(data)
    target = data.draw(st.permutations(source) | st.lists(size, max_size=3))
    agree("reshape", tensor(*source), tuple(target))
    place = data.draw(st.integers(0, len(target)))
    agree("reshape", tensor(*source), (*target[:place], WILDCARD, *target[place:]))


@property_test()
def test_a_slice_of_symbols_is_one_of_each_value(data: st.DataObject) -> None:
    (axis,) = shape(data, most=1)
    step = data.draw(st.sampled_from([1, 1, 2, 3, -1, -2]))
    agree("slice", tensor(axis), (data.draw(bound),), (data.draw(bound),), (0,), (step,))


@property_test()
def test_the_parts_of_a_split_of_symbols_are_those_of_each_value(data: st.DataObject) -> None:
    (axis,) = shape(data, most=1)
    sizes = tuple(shape(data, 0))
    agree("split", tensor(2, axis), data.draw(st.integers(0, 4)), None, None, 1, data.draw(st.booleans()))
    agree("split", tensor(axis, 2), None, sizes, None, 0)
    agree("split", tensor(axis, 2), None, None, tuple(data.draw(st.lists(bound, max_size=2))), 0)


@property_test()
def test_what_is_joined_and_repeated_over_symbols_is_so_over_each_value(data: st.DataObject) -> None:
    first = shape(data, 2, 2)
    second = data.draw(st.just(first) | st.just([data.draw(size), first[1]]))
    agree("concat", (tensor(*first), tensor(*second)), data.draw(st.integers(-2, 1)))
    agree("stack", (tensor(*first), tensor(*second)), data.draw(st.integers(-3, 2)))
    agree("tile", tensor(*first), tuple(data.draw(st.lists(bound, min_size=1, max_size=3))))
    agree("repeat", tensor(*first), data.draw(bound), data.draw(st.sampled_from([None, 0, -1])))
    agree("broadcast_to", tensor(*first), (data.draw(size), *second))


@pytest.mark.parametrize("name", ["concat", "stack"])
@pytest.mark.parametrize("axis", [0, 1])
def test_tensors_of_other_sizes_have_no_elements_in_common(name: str, axis: int) -> None:
    agree(name, (tensor(0, 1), tensor(1, 1)), axis)
    agree(name, (tensor(2, 1), tensor(1, 2)), axis)


@property_test()
def test_axes_of_size_one_come_and_go_over_symbols_as_over_each_value(data: st.DataObject) -> None:
    source = shape(data)
    agree("squeeze", tensor(*source), (data.draw(st.integers(-3, 2)),))
    agree("squeeze", tensor(*source))
    agree("expand_dims", tensor(*source), (data.draw(st.integers(-4, 3)),))
    agree("flatten", tensor(*source), data.draw(st.integers(-3, 2)), data.draw(st.integers(-3, 2)))


@property_test()
def test_borders_and_blocks_of_symbols_are_those_of_each_value(data: st.DataObject) -> None:
    source = shape(data)
    pads = tuple((data.draw(bound), data.draw(size)) for _ in source)
    agree("pad", tensor(*source), pads, data.draw(st.sampled_from(["constant", "edge", "reflect", "wrap"])))
    agree("depth_to_space", tensor(1, *shape(data, 3, 3)), 2)
    agree("space_to_depth", tensor(1, *shape(data, 3, 3)), 2)
    agree("diagonal", tensor(*shape(data, 2, 3)), data.draw(bound))


@property_test(60)
def test_products_over_symbols_are_those_over_each_value(data: st.DataObject) -> None:
    x, y = shape(data, 1, 3), shape(data, 1, 3)
    if data.draw(st.booleans()):
        y[max(len(y) - 2, 0)] = x[-1]
    agree("matmul", tensor(*x), tensor(*y))
    agree("vecdot", tensor(*x), tensor(*y))
    agree("linear", tensor(*x), tensor(*shape(data, 2, 2)))
    agree("tensordot", tensor(*x), tensor(*y), 1)
    agree("einsum", "...ij,jk->...ik", (tensor(*x), tensor(*y)))


@property_test()
def test_what_a_position_chooses_is_over_symbols_what_it_is_over_each_value(data: st.DataObject) -> None:
    source = shape(data, 1, 3)
    axis = data.draw(st.integers(-len(source), len(source) - 1))
    agree("take", tensor(*source), data.draw(bound), axis)
    agree("take", tensor(*source), tensor(*shape(data, 0, 2)), axis)
    agree("take_along_axis", tensor(*source), tensor(*shape(data, len(source), len(source))), axis)
    agree("topk", tensor(*source), data.draw(bound), axis)
    agree("update_slice", tensor(*source), tensor(*shape(data, len(source), len(source))), (n, *source[1:]))
    agree("put", tensor(*source), tensor(data.draw(size)), tensor(*source), axis)


@property_test()
def test_shapes_as_data_over_symbols_are_those_over_each_value(data: st.DataObject) -> None:
    elements = tuple(shape(data, 2, 4))
    x = TensorInfo((len(elements),), DTYPES["int64"], elements)
    agree("slice", x, (data.draw(st.integers(-5, 5)),), (data.draw(st.integers(-5, 5)),), (0,), (-1,))
    agree("concat", (x, x), 0)
    agree("take", x, data.draw(st.integers(-2, 1)), 0)
    agree("tile", x, (2,))
    agree("flip", x, None)
    agree("reshape", x, (WILDCARD,))


@pytest.mark.parametrize(
    ("start", "stop", "step", "text"),
    [
        (2, 5, 1, "max(0, min(5, n) - 2)"),
        (0, 2**63 - 1, 1, "n"),
        (2, 2**63 - 1, 1, "max(0, n - 2)"),
        (-3, 2**63 - 1, 1, "min(3, n)"),
        (0, -1, 1, "max(0, n - 1)"),
        (1, -1, 1, "max(0, n - 2)"),
        (0, 10**9, 1, "min(1000000000, n)"),
        (2**63 - 1, -(2**63), -1, "n"),
        (0, 2**63 - 1, 2, "ceildiv(n, 2)"),
        (m, m + 2, 1, "max(0, min(m + 2, n) - m)"),
    ],
)
def test_slices_of_a_symbolic_axis_read_well(start: Any, stop: Any, step: int, text: str) -> None:
    row = ops.row_of("slice")
    made = row.rule(SymbolicCtx(), tensor(n), (start,), (stop,), None, (step,)).shape[0]
    names = {"n": n, "m": m, "max": smax, "min": smin, "ceildiv": ceildiv}
    assert made == eval(text, names), made  # noqa: S307


def test_a_minus_one_beside_the_same_sizes_is_what_is_left_also_for_zero() -> None:
    row = ops.row_of("reshape")
    ctx = SymbolicCtx()
    assert row.rule(ctx, tensor(n, m, 12), (n, WILDCARD, 4, m)).shape == (n, 3, 4, m)
    assert [cond for cond, _ in ctx.required if cond is not True] == []


def test_sizes_that_the_data_decides_are_bounded() -> None:
    for name, args, most in (
        ("filter", (tensor(n, 2), tensor(n)), n),
        ("nonzero", (tensor(n, m),), n * m),
        ("unique_values", (tensor(n),), n),
        ("truncate", (tensor(n), tensor(), 0), n),
    ):
        row = ops.row_of(name)
        ctx = SymbolicCtx()
        assert len({s[0] for s in shapes(row.rule(ctx, *args))}) == 1
        assert [(low, high) for _, low, high in ctx.drawn] == [(0, most)]


def test_slices_of_slices_by_bounds_of_unknown_sign_stay_small() -> None:
    row = ops.row_of("slice")
    length: Any = n
    for _ in range(50):
        ctx = SymbolicCtx()
        length = row.rule(ctx, tensor(length), (0,), (b,), None, (1,)).shape[0]
        assert len(getattr(length, "mons", ())) < 10
