"""`prod(s)`, `broadcast(n, m)` and `broadcast(s, t)` in signatures and bodies."""

from __future__ import annotations

import itertools
import operator
import random
from math import prod
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.lang import core
from rxlang.lang.core_printer import print_expr
from rxlang.lang.source import NOWHERE
from rxlang.lang.walk import walk
from rxlang.sizes import integers
from rxlang.sizes.evaluate import evaluate
from support import fuzz

FITS = "where m == p || m == 1 || p == 1"
RIGHT = [
    "@f = fn(x : Tensor([n, m], float32), y : Tensor([n, p], float32)) : Tensor([n, broadcast(m, p)], float32)"
    f"{FITS} {{ x + y }}",
    f"@f = fn(x : Tensor([m], float32), y : Tensor([p], float32)) : Tensor([broadcast(p, m)], float32) {FITS} {{ x + y }}",
    "@f = fn(x : Tensor([m], float32), y : Tensor([p], float32), z : Tensor([broadcast(m, p)], float32))"
    " : Tensor([broadcast(m, p)], float32) { x + y + z }",
    "@f = fn(x : Tensor([m], float32), y : Tensor([broadcast(m, 4)], float32)) : Tensor([4], float32) { x + y }",
    "@f = fn(x : Tensor([*s], float32)) : Tensor([prod(s)], float32) { @reshape(x, [prod(s)]) }",
    "@f = fn(x : Tensor(s, float32)) : Tensor([prod(s)], float32) { @reshape(x, [-1]) }",
    "@f = fn(x : Tensor([n, *s], float32)) : Tensor([n, prod(s)], float32) { @reshape(x, [n, prod(s)]) }",
    "@f = fn(x : Tensor([n, m], float32)) : Tensor([m * n], float32) { @reshape(x, [prod(x.shape)]) }",
    "@f = fn(x : Tensor([*s], float32), y : Tensor([prod(s)], float32)) : Tensor([*s], float32) { x + @reshape(y, s) }",
    "@f = fn(x : Tensor(s, float32), y : Tensor(t, float32), z : Tensor(broadcast(s, t), float32))"
    " : Tensor([*broadcast(s, t)], float32) { x + y + z }",
    "@f = fn(x : Tensor([2, 3], float32), y : Tensor([3], float32)) : Tensor(broadcast(x.shape, y.shape), float32) { x * y }",
    "@f = fn(x : Tensor([n, 3], float32), y : Tensor([3], float32)) : Tensor([n, 3], float32)"
    " { let s : Shape = broadcast(x.shape, y.shape)\n @zeros(s, float32) }",
]


@pytest.mark.parametrize("text", RIGHT)
def test_what_is_said_of_shapes_is_proved(text: str) -> None:
    report = rx.check_source(text, strict=True)
    assert report.ok and not report.diagnostics
    assert report.checked.counts.residual == 0


WRONG = [
    (
        "fn(x : Tensor([m], float32), y : Tensor([p], float32)) : Tensor([broadcast(m, p)], float32) { x + y }",
        "m == p or m == 1",
    ),
    ("fn(x : Tensor([m], float32), y : Tensor([3], float32)) : Tensor([broadcast(m, 4)], float32) { x + y }", "axis 0"),
    ("fn(x : Tensor([*s], float32)) : Tensor([prod(s) + 1], float32) { @reshape(x, [prod(s)]) }", "prod(s) + 1"),
    ("fn(x : Tensor([*s], float32)) : Tensor([prod(s)], float32) { @reshape(x, [prod(s) * 2]) }", "elements"),
    ("fn(x : Tensor([n, m], float32)) : Tensor([n], float32) { @reshape(x, [prod(x.shape)]) }", "n"),
    ("fn(x : Tensor([2, 3], float32), y : Tensor(broadcast(x.shape, [4]), float32)) { y }", "no sizes satisfy"),
    (
        "fn(x : Tensor(s, float32), y : Tensor(t, float32)) : Tensor(broadcast(s, t), float32) { x + y }",
        "shapes that fit",
    ),
    ("fn(x : Tensor([*s], float32), k : Size) : Tensor([broadcast(prod(s), k)], float32) { @flatten(x) }", "broadcast"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_may_not_hold_of_shapes_is_told(text: str, said: str) -> None:
    report = rx.check_source(f"@f = {text}", strict=True)
    assert not report.ok
    assert said in "\n".join(d.message for d in report.diagnostics)


@pytest.mark.parametrize(("text", "said"), [
    ("fn(x : Tensor([prod(3)], float32)) { x }", "a Shape is needed"),
    ("fn(x : Tensor(s, float32), y : Tensor([prod(s, s)], float32)) { x }", "one shape"),
    ("fn(x : Tensor([broadcast(n)], float32), y : Tensor([n], float32)) { x }", "two or more sizes"),
    ("fn(x : Tensor(s, float32), y : Tensor([broadcast(s, s)], float32)) { x }", "a Size is needed"),
    ("fn(x : Tensor(s, float32)) : Tensor([*broadcast(s, [2]), 3], float32) { x }", "before a name"),
    ("fn(x : Tensor(prod(s), float32)) { x }", "a shape is"),
    ("fn(x : Tensor([prod(s)], float32)) { x }", "`s`"),
])  # fmt: skip
def test_what_is_no_shape_is_told(text: str, said: str) -> None:
    report = rx.check_source(f"@f = {text}")
    assert not report.ok
    assert said in "\n".join(d.message for d in report.diagnostics)


SHAPES = [shape for rank in range(3) for shape in itertools.product((0, 1, 2, 3), repeat=rank)]


def test_shapes_broadcast_as_in_numpy() -> None:
    own = integers.helpers()["broadcast_shapes"]
    for a, b in itertools.product(SHAPES, repeat=2):
        assert _value(own, a, b) == _value(np.broadcast_shapes, a, b), (a, b)


def _value(function: Any, *shapes: Any) -> Any:
    try:
        return function(*shapes)
    except (ValueError, integers.Undefined):
        return None


def test_programs_say_of_all_small_shapes_what_numpy_does() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor(s, float32), y : Tensor(t, float32), z : Tensor([prod(broadcast(s, t))], float32))"
        " : Tensor([*broadcast(s, t)], float32) { @reshape(z, broadcast(s, t)) + (x + y) }"
    )
    for a, b in itertools.product(SHAPES, repeat=2):
        both = _value(np.broadcast_shapes, a, b)
        args = [np.ones(shape, np.float32) for shape in (a, b, (prod(both) if both is not None else 1,))]
        if both is None:
            with pytest.raises(rx.ShapeError):
                module.f(*args)
        else:
            assert module.f(*args).shape == both
            with pytest.raises(rx.ShapeError):
                module.f(*args[:2], np.ones(prod(both) + 1, np.float32))


def test_functions_in_python_say_it_too() -> None:
    @rx.checked("fn(x : Tensor(s, float32), y : Tensor([prod(s)], float32)) : Tensor(broadcast(s, [2, 1]), float32)")
    def first(x: Any, y: Any) -> Any:
        return x + np.ones((2, 1), np.float32)

    assert first(np.ones((1, 3), np.float32), np.ones(3, np.float32)).shape == (2, 3)
    with pytest.raises(rx.ShapeError, match=r"prod\(s\)"):
        first(np.ones((1, 3), np.float32), np.ones(2, np.float32))


def test_calls_with_known_shapes_are_decided_as_numpy_decides() -> None:
    pairs = list(itertools.product(SHAPES, repeat=2))
    texts = [
        f"@f{at} = fn(x : Tensor({list(a)}, float32), y : Tensor({list(b)}, float32))"
        f" : Tensor({list(a)}, float32) {{ @sum(x, y) }}"
        for at, (a, b) in enumerate(pairs)
    ]
    both = "@sum = fn(x : Tensor(s, float32), y : Tensor(t, float32)) : Tensor(broadcast(s, t), float32) { x + y }"
    report = rx.check_source("\n".join([both, *texts]), allow_empty=True)
    wrong = {d.function for d in report.diagnostics if d.severity == "error"}
    for at, (a, b) in enumerate(pairs):
        fits = _value(np.broadcast_shapes, a, b) == a
        assert (f"@f{at}" in wrong) <= (not fits), (a, b)
        assert fits or f"@f{at}" in wrong or _value(np.broadcast_shapes, a, b) is None, (a, b)


# Conditions on sizes that are broadcast

COMPARISONS = {"==": operator.eq, "!=": operator.ne, "<=": operator.le, "<": operator.lt}


class Conditions(integers.Integers):
    def compare(self, e: core.Compare, left: Any, right: Any) -> bool:
        return COMPARISONS[e.op](left, right)  # type: ignore[no-any-return]


def _size(choose: random.Random, depth: int) -> core.SizeExpr:
    if depth == 0 or choose.random() < 0.25:
        return (
            core.SizeLit(NOWHERE, choose.randint(0, 3))
            if choose.random() < 0.25
            else core.SizeVar(NOWHERE, choose.choice("abc"))
        )
    op = choose.choice(["broadcast"] * 5 + ["+", "max", "min", "*"])
    return core.operation(NOWHERE, op, _size(choose, depth - 1), _size(choose, depth - 1))


def _condition(choose: random.Random, depth: int = 1) -> core.BoolExpr:
    if depth and choose.random() < 0.35:
        return core.Logic(NOWHERE, choose.choice(["&&", "||"]), _condition(choose, 0), _condition(choose, 0))
    return core.Compare(NOWHERE, choose.choice(list(COMPARISONS)), _size(choose, 2), _size(choose, 2))


def test_what_is_decided_of_sizes_that_are_broadcast_is_so() -> None:
    for case in fuzz.cases("sizes that are broadcast"):
        with case as seed:
            choose = random.Random(f"broadcast {seed}")
            decided_rightly([_condition(choose) for _ in range(choose.randint(0, 3))], _condition(choose))


def decided_rightly(facts: list[core.BoolExpr], goal: core.BoolExpr) -> None:
    lines = [f"  assert {print_expr(fact)}" for fact in (*facts, goal)]
    params = ", ".join(f"{name}{name} : Tensor([{name}], float32)" for name in "abc")
    text = "\n".join([f"@f = fn({params}) : Tensor([k], float32) {{", *lines, "  aa", "}"])
    report, place = rx.check_source(text, allow_empty=True), text.rindex("assert")
    assert report.checked is not None
    wrong = [d.span.start >= place for d in report.diagnostics if d.severity == "error"]
    (body,) = (f.body for f in report.checked.program.functions if f.name == "f_impl")
    is_open = any(isinstance(n, core.Assert) and n.span.start >= place for n in walk(body))
    for sizes in itertools.product(range(5), repeat=3):
        env = Conditions(dict(zip("abc", sizes, strict=True)))
        if all(_value(evaluate, fact, env) for fact in facts):
            assert not wrong or any(wrong), text  # an assertion before it holds
            holds = _value(evaluate, goal, env)
            assert holds is not True if any(wrong) else holds or is_open, (text, sizes)
