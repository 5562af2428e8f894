"""Programs that try to be accepted, refused or answered wrongly: each runs as its unsimplified form with every check does."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rxlang import pipeline
from rxlang.interp.compile import Options
from rxlang.interp.run import Machine
from rxlang.interp.shape_error import ShapeError
from rxlang.lang import core
from rxlang.lang.files import Files
from rxlang.lang.render import render_text

Given = tuple[Any, ...]


def f32(*shape: int) -> Any:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def int64(value: Any) -> Any:
    return np.array(value, dtype=np.int64)


def flag(value: Any) -> Any:
    return np.array(value, dtype=bool)


# The claim, the program, and inputs with the shape of the result (None: the run is refused).
CASES: dict[str, tuple[str, list[tuple[Given, tuple[int, ...] | None]]]] = {
    "an assertion in one data arm is no fact after the arms": (
        """
@f = fn(x : Tensor([n], float32), y : Tensor([m], float32), c : bool) {
  if (c) { assert n == m; x } else { x }
}
@main = fn(x : Tensor([n], float32), y : Tensor([m], float32), c : bool) : Tensor {
  let z = @f(x, y, c)
  assert n == m
  x + y
}
""",
        [
            ((f32(4), f32(4), flag(False)), (4,)),
            ((f32(4), f32(3), flag(False)), None),
            ((f32(1), f32(3), flag(False)), None),
        ],
    ),
    "what a lambda asserts inside is no fact outside": (
        """
@main = fn(x : Tensor([n], float32), y : Tensor([m], float32)) : Tensor {
  let f = fn(z : Tensor([_k], float32)) : Tensor { assert n == m; z }
  assert n == m
  x + y
}
""",
        [((f32(4), f32(4)), (4,)), ((f32(1), f32(3)), None)],
    ),
    "a lambda keeps the tensor it was made with when the name is bound again": (
        """
@main = fn(x : Tensor([n], float32)) : Tensor([n * 2], float32) {
  let a = x
  let f = fn(y : Tensor([_m], float32)) : Tensor { @concat([y, a], axis=0) }
  let a = @concat([a, a], axis=0)
  f(x)
}
""",
        [((f32(2),), (4,)), ((f32(0),), (0,))],
    ),
    "a tensor bound again in an arm is the old one after it": (
        """
@main = fn(x : Tensor([n], float32), c : bool) : Tensor {
  let y = if (c) { let x = @concat([x, x], axis=0); x } else { x }
  assert x.dim(0) == n
  assert y.dim(0) == n || y.dim(0) == n + n
  @concat([x, y], axis=0)
}
""",
        [((f32(2), flag(True)), (6,)), ((f32(2), flag(False)), (4,))],
    ),
    "sizes named before a tensor is bound again stay": (
        """
@main = fn(x : Tensor([n, n * 2], float32)) : Tensor([n], float32) {
  let k : Size = x.dim(1)
  let x = @sum(x, axis=1)
  assert x.dim(0) == n
  let x = @concat([x, x], axis=0)
  assert x.dim(0) == k
  x[0:n]
}
""",
        [((f32(2, 4),), (2,)), ((f32(0, 0),), (0,)), ((f32(2, 3),), None)],
    ),
    "a call that is bound to its argument's name is checked on the argument": (
        """
@f = fn(x : Tensor([n, n], float32)) : Tensor([n], float32) { @sum(x, axis=0) }
@main = fn(x : Tensor([a, b], float32)) : Tensor {
  let x = @f(x)
  assert x.dim(0) == b
  assert x.dim(0) == a
  x
}
""",
        [((f32(2, 2),), (2,)), ((f32(2, 3),), None)],
    ),
    "two calls of one function choose two sizes": (
        """
@z = fn(x : Tensor([n], float32), m : Tensor([n], bool)) : Tensor([k], float32) where k <= n { @filter(x, m) }
@main = fn(x : Tensor([n], float32), m : Tensor([n], bool)) : Tensor {
  let a : Tensor([k], float32) = @z(x, m)
  let b ! Tensor([k], float32) = @z(x, !m)
  a + b
}
""",
        [((f32(2), flag([True, False])), (1,)), ((f32(3), flag([True, False, True])), None)],
    ),
    "existential sizes of one call that share a name are equal": (
        """
@z = fn(x : Tensor([n], float32), m : Tensor([n], bool)) : (Tensor([k], float32), Tensor([k], float32)) where k <= n {
  let y = @filter(x, m)
  (y, y + 1.0)
}
@main = fn(x : Tensor([n], float32), m : Tensor([n], bool)) : Tensor {
  let (a, b) = @z(x, m)
  a + b
}
""",
        [((f32(3), flag([True, False, True])), (2,)), ((f32(0), flag([])), (0,))],
    ),
    "the run chooses an implementation by size": (
        """
@a = fn(x : Tensor([m, 16], float32)) : Tensor([m, 2], float32) { x[:, 0:2] }
@b = fn(x : Tensor([m, k], float32)) : Tensor([m, k], float32) { x }
@mm = [@a, @b]
@main = fn(x : Tensor([_m, k], float32)) : Tensor {
  let y = @mm(x)
  assert k != 16 || y.dim(1) == 2
  assert k == 16 || y.dim(1) == k
  y
}
""",
        [((f32(2, 16),), (2, 2)), ((f32(2, 3),), (2, 3)), ((f32(0, 0),), (0, 0))],
    ),
    "a call that no implementation fits is refused": (
        """
@a = fn(x : Tensor([m, 16], float32)) : Tensor([m, 2], float32) { x[:, 0:2] }
@b = fn(x : Tensor([m, 8], float32)) : Tensor([m, 2], float32) { x[:, 0:2] }
@mm = [@a, @b]
@main = fn(x : Tensor([m, _k], float32)) : Tensor([m, 2], float32) { @mm(x) }
""",
        [((f32(2, 16),), (2, 2)), ((f32(2, 8),), (2, 2)), ((f32(2, 3),), None)],
    ),
    "the obligations of an exact division hold only where they are reached": (
        """
@main = fn(x : Tensor([n], float32), k : Size) : Tensor {
  if (k > 0) { if (n % k == 0) { @reshape(x, [n / k, k]) } else { x } } else { x }
}
""",
        [((f32(6), 2), (3, 2)), ((f32(7), 2), (7,)), ((f32(6), 0), (6,)), ((f32(6), -1), (6,))],
    ),
    "an exact division that does not go out stops the run": (
        "@main = fn(x : Tensor([n], float32)) : Tensor { @reshape(x, [n / 2, 2]) }",
        [((f32(6),), (3, 2)), ((f32(5),), None), ((f32(0),), (0, 2))],
    ),
    "a size is never solved from a factor that is 0": (
        """
@f = fn(x : Tensor([b, h * d], float32), w : Tensor([h], float32)) : Tensor([b, h, d], float32) {
  @reshape(x, [b, h, d])
}
@main = fn(x : Tensor([_b, _e], float32), w : Tensor([_h], float32)) : Tensor { @f(x, w) }
""",
        [((f32(2, 6), f32(3)), (2, 3, 2)), ((f32(2, 5), f32(3)), None), ((f32(2, 0), f32(0)), None)],
    ),
    "a -1 beside a 0 that both shapes have is solved": (
        "@main = fn(x : Tensor([n, d], float32)) : Tensor([n, d], float32) { @reshape(x, [-1, d]) }",
        [((f32(3, 2),), (3, 2)), ((f32(3, 0),), (3, 0)), ((f32(0, 0),), (0, 0))],
    ),
    "a 0 beside a -1 that meets a 0 by chance proves nothing": (
        """
@main = fn(x : Tensor([n, m], float32), y : Tensor([k], float32)) : Tensor {
  let z = @reshape(x, [-1, k])
  assert z.dim(0) * k == n * m
  assert k >= 1
  z
}
""",
        [((f32(2, 3), f32(2)), (3, 2)), ((f32(0, 3), f32(0)), None), ((f32(0, 3), f32(2)), (0, 2))],
    ),
    "a condition whose answer is known still needs its divisor": (
        """
@main = fn(x : Tensor([n, m], float32)) : Tensor {
  if (m % m >= 1) { @concat([x, x], axis=0) } else { x }
}
""",
        [((f32(3, 2),), (3, 2)), ((f32(3, 0),), None)],
    ),
    "an axis that is named and not used has to be there": (
        "@main = fn(x : Tensor) : Tensor { let k : Size = x.dim(1); x }",
        [((f32(3, 2),), (3, 2)), ((f32(3),), None)],
    ),
    "a division in a shape that is not used has to go out": (
        "@main = fn(x : Tensor([n, _m], float32)) : Tensor { let s : Shape = [n / 2, 4 // n]; x }",
        [((f32(2, 2),), (2, 2)), ((f32(3, 2),), None), ((f32(0, 2),), None)],
    ),
    "behind a condition that stops it an axis may be missing": (
        """
@main = fn(x : Tensor) : Tensor {
  if (x.rank != 2 || x.dim(2) > 1) { x } else { @sum(x) }
}
""",
        [((f32(3),), (3,)), ((f32(3, 2),), None), ((f32(1, 1, 1),), (1, 1, 1))],
    ),
    "a size that overflows int8 is not that size": (
        """
@main = fn(x : Tensor([n], float32)) : Tensor([n], float32) where n <= 200 {
  @reshape(x, @cast(@cast(@shape(x), int8), int64))
}
""",
        [((f32(5),), (5,)), ((f32(200),), None)],
    ),
    "an element read from a tensor bound again is another scalar": (
        """
@main = fn(t : Tensor([], int64)) : Tensor {
  let a = @item(t)
  let t = t + 1
  let c = @item(t)
  assert c == a + 1
  t
}
""",
        [((int64(2),), ()), ((int64(2**63 - 1),), None)],
    ),
    "arms that give data of different values keep neither": (
        """
@main = fn(x : Tensor([n], float32), c : bool) : Tensor {
  let s = if (c) { @shape(x) } else { tensor([3], int64) }
  let y = @broadcast_to(@sum(x), s)
  assert y.dim(0) == n
  y
}
""",
        [((f32(2), flag(True)), (2,)), ((f32(2), flag(False)), None), ((f32(3), flag(False)), (3,))],
    ),
    "names that an arm binds may be bound again after it": (
        """
@main = fn(x : Tensor([n], float32)) : Tensor {
  let r = if (n >= 0) { let y = x + 1.0; let k : Size = n + 1; @broadcast_to(@sum(y), [k]) } else { x }
  let y = @concat([r, r], axis=0)
  let k : Size = n + 3
  assert y.dim(0) == 2 * n + 2
  @broadcast_to(@sum(y), [k])
}
""",
        [((f32(2),), (5,)), ((f32(0),), (3,))],
    ),
    "a name that an arm has for a size says nothing of a later name": (
        """
@main = fn(a : Tensor([n], float32), b : Tensor([_m, k], float32), c : bool) : Tensor {
  let r = if (c) { let y ! Tensor([p], float32) = a; @reshape(y, [p]) } else { a }
  let z ! Tensor([p, q * p], float32) = b
  assert k == q * n
  z
}
""",
        [((f32(2), f32(3, 6), flag(True)), None), ((f32(2), f32(2, 6), flag(False)), (2, 6))],
    ),
    "negative and huge bounds clamp as they do in NumPy": (
        """
@main = fn(x : Tensor([n], float32), a : Size, b : Size) : Tensor {
  @concat([x[a:b], x[a:b:2], x[b:a:-1], x[:a], x[a:], x[:9223372036854775807]], axis=0)
}
""",
        [
            ((f32(n), a, b), (sum(len(range(n)[s]) for s in cuts),))
            for n in (0, 1, 5)
            for a in (-9, -2, 0, 2, 9)
            for b in (-3, 0, 4)
            for cuts in [(slice(a, b), slice(a, b, 2), slice(b, a, -1), slice(a), slice(a, None), slice(None))]
        ],
    ),
    "a negative size is refused where it becomes a dimension": (
        "@main = fn(k : Size) : Tensor { @zeros([k], float32) }",
        [((3,), (3,)), ((0,), (0,)), ((-2,), None)],
    ),
    "a stretch of dimensions that two parameters share is one": (
        """
@f = fn(x : Tensor([*s, n], float32), y : Tensor([*s, m], float32)) : Tensor([*s, n + m], float32) {
  @concat([x, y], axis=-1)
}
@main = fn(x : Tensor(?, float32), y : Tensor(?, float32)) : Tensor { @f(x, y) }
""",
        [
            ((f32(2, 3), f32(2, 4)), (2, 7)),
            ((f32(3), f32(4)), (7,)),
            ((f32(2, 3), f32(3, 3)), None),
            ((f32(2, 2, 3), f32(2, 3)), None),
            ((f32(), f32()), None),
        ],
    ),
    "recursion ends where its condition says": (
        """
@f = fn(x : Tensor([n], float32), k : Size) : Tensor([n], float32) where k >= 0 {
  if (k == 0) { x } else { @f(x + 1.0, k - 1) }
}
@main = fn(x : Tensor([n], float32), k : Size) : Tensor([n], float32) where k >= 0 { @f(x, k) }
""",
        [((f32(2), 3), (2,)), ((f32(2), 0), (2,)), ((f32(2), -1), None)],
    ),
    "the last dimension of a stretch behind another one is that one where the stretch is empty": (
        """
@g = fn(x : Tensor([*s, n], float32)) : Tensor([*s], float32) { @sum(x, axis=-1) }
@main = fn(x : Tensor([n, ...], float32)) : Tensor { let y = @g(x); let z ! Tensor([], float32) = y; z }
""",
        [((f32(3),), ()), ((f32(3, 2),), None)],
    ),
    "a match from the other end may find the same dimension": (
        """
@main = fn(x : Tensor([n, m, ...], float32)) : Tensor {
  match_shape(x, [a, s, b], [a, *s, b])
  let y ! Tensor([2, 3], float32) = x
  y
}
""",
        [((f32(2, 3),), (2, 3)), ((f32(2, 3, 1),), None)],
    ),
    "two tensors with one stretch need not have the same last dimension": (
        """
@main = fn(x : Tensor([n, *s], float32)) : Tensor {
  let y = @concat([x, x], axis=0)
  assert x.dim(-1) == y.dim(-1)
  x
}
""",
        [((f32(2, 3),), (2, 3)), ((f32(2),), None)],
    ),
    "a rank that is known says that dimensions do not lie over each other": (
        """
@main = fn(x : Tensor([n, ...], float32)) : Tensor {
  assert x.rank >= 2
  let y : Tensor([n, ..., k], float32) = x
  @reshape(y, [n * k])
}
""",
        [((f32(2, 3),), (6,)), ((f32(2),), None)],
    ),
    "a stretch that is written twice may have no dimensions": (
        "@main = fn(x : Tensor([*s], float32)) : Tensor([*s, *s], float32) { x }",
        [((f32(),), ()), ((f32(1),), None), ((f32(2, 3),), None)],
    ),
    "a stretch behind which another one is wanted has that one empty": (
        """
@main = fn(x : Tensor([*s], float32), y : Tensor([*t], float32)) : Tensor {
  let z ! Tensor([*s, *t], float32) = x
  z
}
""",
        [((f32(2), f32()), (2,)), ((f32(2), f32(2)), None)],
    ),
    "the elements of a tensor of any rank are told beside a -1": (
        "@main = fn(x : Tensor([..., p], float32), p : Size) : Tensor { @reshape(x, [-1, 2]) }",
        [((f32(2, 3), 3), (3, 2)), ((f32(3), 3), None)],
    ),
}


def run(program: core.Program, args: Given, *, guard_all: bool = False) -> Any:
    """What @main gives, or None where a check refuses."""
    try:
        return Machine(program, Files(Path(".")), Options(guard_all=guard_all)).call("main", list(args))
    except ShapeError:
        return None


@pytest.mark.parametrize("claim", CASES)
def test_what_is_left_of_a_hostile_program_fails_where_all_its_checks_do(claim: str) -> None:
    text, runs = CASES[claim]
    report = pipeline.check_text(text, "hostile.rx", Path("."))
    assert [d.message for d in report.diagnostics if d.severity == "error"] == []
    assert report.checked is not None
    for args, shape in runs:
        plain = run(report.checked.before, args, guard_all=True)
        simple = run(report.checked.program, args)
        assert (None if plain is None else plain.shape) == shape
        if shape is None:
            assert simple is None
        else:
            np.testing.assert_array_equal(plain, simple)


# The claim, the program, the codes of its errors.
REFUSED: dict[str, tuple[str, list[str]]] = {
    "a refuted check in a body that the caller sees through is told once": (
        """
@f = fn(x : Tensor([n], float32)) { assert n == 3; x }
@g = fn(x : Tensor([_n], float32)) { @f(x) }
@main = fn(x : Tensor([4], float32)) : Tensor { @g(x) }
""",
        ["E303"],
    ),
    "a shape that has another one whole, and more, is never that one": (
        "@main = fn(x : Tensor([*s, m], float32)) : Tensor([*s, m], float32) { @sum(x, axis=-1) }",
        ["E302"],
    ),
    "a shape of any rank has not one dimension more than it has": (
        "@main = fn(x : Tensor([*s], float32)) : Tensor([*s], float32) { @expand_dims(x, axis=0) }",
        ["E302"],
    ),
    "two shapes are not each one longer than the other": (
        """
@main = fn(x : Tensor([*s], float32), y : Tensor([*t], float32)) : Tensor {
  let a ! Tensor([*t, 1], float32) = x
  let b ! Tensor([*s, 1], float32) = y
  a
}
""",
        ["E303"],
    ),
    "a signature that no sizes satisfy is refused": (
        "@main = fn(x : Tensor([n], float32)) : Tensor where n > 5, n < 3 { x }",
        ["E311"],
    ),
    "a name that occurs twice in a dimension is not solved for": (
        "@main = fn(x : Tensor([n * n], float32)) : Tensor { x }",
        ["E208"],
    ),
    "two functions that call each other need annotated results": (
        """
@f = fn(x : Tensor([_n], float32), k : Size) { if (k == 0) { x } else { @g(x, k - 1) } }
@g = fn(x : Tensor([_n], float32), k : Size) { if (k == 0) { x } else { @f(x, k - 1) } }
@main = fn(x : Tensor([_n], float32), k : Size) : Tensor { @f(x, k) }
""",
        ["E212"],
    ),
    "types that are defined by each other are one mistake": (
        "type A = (B, B)\ntype B = (A, A)\n@f = fn(x : A) : Tensor { tensor(1, int8) }",
        ["E217"],
    ),
    "a literal 0 beside a -1 works only on empty tensors": (
        "@main = fn(x : Tensor([n, 5], float32)) : Tensor { @reshape(x, [-1, 0]) }",
        ["E310"],
    ),
    "a condition that can have no value is refused": (
        "@main = fn(x : Tensor([_n, _m], float32)) : Tensor { if (x.dim(2) > 1) { x } else { x + 1.0 } }",
        ["E314"],
    ),
    "a signature whose condition can have no value is refused": (
        "@main = fn(x : Tensor([n], float32)) : Tensor where n // 0 > 1 { x }",
        ["E311"],
    ),
    "a signature with a size that can have no value is refused": (
        "@main = fn(x : Tensor([n, n // 0], float32)) : Tensor { x }",
        ["E311"],
    ),
    "twice a size at one parameter's entry check works only on empty tensors": (
        """
@f = fn(x : Tensor([n, 4], float32), y : Tensor([n * 2, 4], float32)) : Tensor([n, 4], float32) { x }
@main = fn(x : Tensor([_n, 4], float32)) : Tensor { @f(x, x) }
""",
        ["E310"],
    ),
}


@pytest.mark.parametrize("claim", REFUSED)
def test_hostile_program_is_refused(claim: str) -> None:
    text, codes = REFUSED[claim]
    report = pipeline.check_text(text, "hostile.rx", Path("."))
    assert [d.code for d in report.diagnostics if d.severity == "error"] == codes


def test_a_lambda_is_never_taken_for_a_function_of_its_name() -> None:
    text = (
        "@fn = fn(x : Tensor([n], float32)) { @concat([x, x], axis=0) }\n"
        "@main = fn(x : Tensor([n], float32)) : Tensor([n * 2], float32) {\n"
        "  let f = fn(y : Tensor([m], float32)) { @concat([y, y, y], axis=0) }\n"
        "  let a = @fn(x)\n  f(x)\n}\n"
    )
    report = pipeline.check_text(text, "case.rx", Path("."))
    assert [d.code for d in report.diagnostics if d.severity == "error"] == ["E310"]
    right = pipeline.check_text(text.replace("n * 2", "n * 3"), "case.rx", Path("."))
    assert right.ok and right.counts.residual == 0


def test_a_lambda_that_calls_a_lambda_is_no_recursion() -> None:
    text = (
        "@main = fn(x : Tensor([a], float32)) : Tensor {\n"
        "  let f = fn(u : Tensor([m], float32)) { @concat([u, u], axis=0) }\n"
        "  let g = fn(u : Tensor([m], float32)) { f(u) }\n"
        "  let r : Tensor([a * 2], float32) = g(x)\n  r\n}\n"
    )
    report = pipeline.check_text(text, "case.rx", Path("."))
    assert report.ok and report.counts.residual == 0


def test_broadcasts_of_many_unknown_sizes_stay_small() -> None:
    params = ", ".join(f"x{i} : Tensor([n{i}], float32)" for i in range(7))
    text = f"@main = fn({params}) : Tensor {{ {' + '.join(f'x{i}' for i in range(7))} }}"
    assert pipeline.check_text(text, "case.rx", Path(".")).counts.residual == 6


def test_a_product_that_nobody_can_write_out_is_left_for_the_run() -> None:
    params = ", ".join(f"n{i} : Size" for i in range(12))
    product = " * ".join(f"(n{i} + 1)" for i in range(12))
    body = f"  let k : Size = {product}\n  let j : Size = k * k\n  assert j >= 0\n  x\n"
    text = f"@main = fn({params}, x : Tensor([], float32)) : Tensor {{\n{body}}}"
    report = pipeline.check_text(text, "case.rx", Path("."))
    assert report.ok and report.counts.residual == 1


def test_half_of_a_slice_with_a_bound_of_either_sign_is_written_out_in_time() -> None:
    text = (
        "@main = fn(x : Tensor([n * 2], float32), p : Size) : Tensor([n], float32) {\n"
        "  let a = x[(p + x.dim(0)):]\n  let b ! Tensor([a.dim(0) / 2], float32) = @unique_values(a)\n  b\n}"
    )
    began = time.process_time()
    report = pipeline.check_text(text, "case.rx", Path("."))
    assert report.ok and all(render_text(d) for d in report.diagnostics)
    assert time.process_time() - began < 5


def test_a_question_of_products_and_remainders_ends_at_the_solvers_limit() -> None:
    text = (
        "@main = fn(x : Tensor([n * 3, n + 1, k], int64), c : bool) : Tensor where k * n != n // n {\n"
        "  let y : Tensor([?, n], int64) = @reshape(x, [84, -1])\n  @reshape(c, [x.dim(1) // 4])\n}"
    )
    began = time.process_time()
    assert pipeline.check_text(text, "case.rx", Path(".")).counts.residual == 3
    assert time.process_time() - began < 10


@pytest.mark.parametrize("rank, others", [(64, 3), (1000, 0)])
def test_tensors_of_many_dimensions_are_checked_in_a_moment(rank: int, others: int) -> None:
    type_ = f"Tensor([{', '.join(f'n{i}' for i in range(rank))}], float32)"
    params = ", ".join(f"x{i} : {type_}" for i in range(others + 1))
    total = " + ".join(f"x{i}" for i in range(others + 1))
    text = f"@f = fn({params}) : {type_ if others else 'Tensor'} {{ {total} }}"
    begun = time.process_time()
    report = pipeline.check_text(text, "many.rx", Path("."))
    assert not report.counts.residual and not report.counts.refuted
    assert time.process_time() - begun < 4
