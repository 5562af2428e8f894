"""`prod(s)`, `broadcast(n, m)` and `broadcast(s, t)` in signatures and bodies."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.sizes import integers

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
