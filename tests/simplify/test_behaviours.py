"""Cases that other systems get wrong or leave out: calls, claims and joins, one program for many shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.lang.checked import Binding


def check(text: str, **options: bool) -> pipeline.Report:
    return pipeline.check_text(text, "case.rx", Path("."), (), pipeline.Options(**options))


def errors(report: pipeline.Report) -> list[str]:
    return [d.message for d in report.diagnostics if d.severity == "error"]


def refused(text: str) -> str:
    """The one error of a program that is refused by the checker."""
    report = check(text)
    found = [d for d in report.diagnostics if d.severity == "error"]
    assert len(found) == 1 and found[0].code.startswith("E3"), found
    d = found[0]
    return " ".join([d.message, d.caption, *(label.message for label in d.labels)])


def proved(text: str) -> pipeline.Report:
    report = check(text)
    assert report.ok and report.counts.residual == 0, report.diagnostics
    return report


def residual(text: str, number: int = 1) -> pipeline.Report:
    report = check(text)
    assert report.ok and report.counts.residual == number, (report.counts, report.diagnostics)
    return report


def binding(report: pipeline.Report, name: str, function: str = "@main") -> Binding:
    assert report.checked is not None
    shapes = next(f for f in report.checked.shapes if f.name == function)
    every = [*shapes.params, *shapes.bindings, *([shapes.result] if shapes.result else [])]
    return next(b for b in every if b.name == name)


def shape(report: pipeline.Report, name: str) -> tuple[int | str, ...] | None:
    return binding(report, name).shape


F = "float32"
MM = "@mm = fn(x : Tensor([m, k], float32), y : Tensor([k, n], float32)) : Tensor([m, n], float32) { @matmul(x, y) }\n"


def ones(*dims: int) -> Any:
    return np.ones(dims, np.float32)


def called(callee: str, *args: str) -> str:
    """A program that calls @f with tensors of the given shapes."""
    params = ", ".join(f"a{i} : Tensor({a}, float32)" for i, a in enumerate(args))
    names = ", ".join(f"a{i}" for i in range(len(args)))
    return f"{callee}@main = fn({params}) : Tensor {{\n  let r = @f({names})\n  r\n}}\n"


# R: calls, claims and joins


def test_r1_the_conflicting_size_is_named_with_what_bound_it_and_what_wants_another() -> None:
    text = refused(
        MM + "@main = fn(a : Tensor([2, 3], float32), b : Tensor([4, 5], float32)) : Tensor {\n  @mm(a, b)\n}"
    )
    assert "`k`" in text and "3" in text and "4" in text


SQ = "@f = fn(x : Tensor([n, n], float32)) : Tensor([n], float32) { @sum(x, axis=0) }\n"
DOUBLE = "@f = fn(x : Tensor([n], float32), y : Tensor([n * 2], float32)) : Tensor([n], float32) { x }\n"
FF = "@f = fn(x : Tensor([n, m * 4], float32)) : Tensor([n * m], float32) {\n  @sum(@reshape(x, [n * m, 4]), axis=1)\n}\n"


@pytest.mark.parametrize(("callee", "args"), [(SQ, ("[16, 32]",)), (DOUBLE, ("[3]", "[7]")), (FF, ("[8, 15]",))])
def test_r2_ground_calls_that_cannot_fit_are_refuted(callee: str, args: tuple[str, ...]) -> None:
    refused(called(callee, *args))


@pytest.mark.parametrize(
    ("arg", "wanted"), [("[8, 16]", 32), ("[K, 16]", "K * 4"), ("[K, 4 * J]", "K * J"), ("[K, 0]", 0)]
)
def test_r2_symbolic_results_stay_simple(arg: str, wanted: int | str) -> None:
    assert shape(proved(called(FF, arg)), "r") == (wanted,)


def test_r3_a_residual_keeps_the_shape_and_stops_the_run() -> None:
    text = "@main = fn(x : Tensor([n, m], float32), y : Tensor([k, p], float32)) : Tensor {\n  let r = @matmul(x, y)\n  r\n}"
    assert shape(residual(text), "r") == ("n", "p")
    with pytest.raises(rx.ShapeError) as failure:
        rx.loads(text).main(ones(2, 8), ones(3, 5))
    assert "8" in str(failure.value) and "3" in str(failure.value)
    assert rx.loads(text).main(ones(2, 3), ones(3, 5)).shape == (2, 5)


def add(a: str, b: str) -> str:
    return f"@main = fn(x : Tensor({a}, float32), y : Tensor({b}, float32)) : Tensor {{\n  let r = x + y\n  r\n}}"


def test_r4_broadcasting_two_sizes_is_known_and_checked() -> None:
    report = residual(add("[n]", "[m]"))
    found = shape(report, "r")
    assert found is not None and len(found) == 1 and "n" in str(found[0]) and "m" in str(found[0])
    module = rx.loads(add("[n]", "[m]"))
    for a, b in ((3, 3), (1, 4), (4, 1), (0, 1), (1, 1), (0, 0)):
        assert module.main(ones(a), ones(b)).shape == np.broadcast_shapes((a,), (b,))
        assert module.main.shapes(x=(a,), y=(b,)) == np.broadcast_shapes((a,), (b,))
    with pytest.raises(rx.ShapeError):
        module.main(ones(2), ones(3))


def test_r4_a_literal_side_fixes_the_result() -> None:
    assert shape(residual(add("[2, n]", "[3]")), "r") == (2, 3)
    module = rx.loads(add("[2, n]", "[3]"))
    assert module.main(ones(2, 1), ones(3)).shape == module.main(ones(2, 3), ones(3)).shape == (2, 3)
    with pytest.raises(rx.ShapeError):
        module.main(ones(2, 2), ones(3))


@pytest.mark.parametrize(("a", "b"), [("[3, n]", "[4, m]"), ("[4 * m]", "[15]")])
def test_r4_what_no_size_can_fix_is_refuted(a: str, b: str) -> None:
    refused(add(a, b))


def test_r7_declared_results_are_kept() -> None:
    refused("@main = fn(x : Tensor([2, 5], float32)) : Tensor([2, 6], float32) { x }")
    refused("@main = fn(x : Tensor([n], float32)) : Tensor([n + 1], float32) { x }")
    text = "@main = fn(x : Tensor([n], float32)) : Tensor([m], float32) where m >= 2 { x }"
    assert residual(text).ok
    with pytest.raises(rx.ShapeError):
        rx.loads(text).main(ones(1))


def test_r8_match_shape_fails_at_run_time() -> None:
    text = (
        "@main = fn(a : Tensor([n], float32), b : Tensor([m], float32)) : Tensor {\n  match_shape(b, [], [n])\n  b\n}"
    )
    residual(text)
    with pytest.raises(rx.ShapeError):
        rx.loads(text).main(ones(2), ones(3))
    assert rx.loads(text).main(ones(2), ones(2)).shape == (2,)


def test_r11_a_result_keeps_its_static_parts() -> None:
    callee = 'extern @f = fn(x : Tensor([n], float32)) : Tensor([k, 3], float32) = "elsewhere:f"\n'
    found = binding(proved(called(callee, "[5]")), "r")
    assert found.shape == ("?", 3) and found.exactness == ("unknown", "exact")
    same = "@f = fn(x : Tensor([*s], float32)) : Tensor([*s], float32) { x }\n"
    assert shape(proved(called(same, "[K, 7]")), "r") == ("K", 7)


RANGE = "@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) where 1 <= n, n <= 8 { x }\n"


@pytest.mark.parametrize("size", [0, 9])
def test_r12_a_range_holds_at_compile_time_and_at_run_time(size: int) -> None:
    compile_time = refused(called(RANGE, f"[{size}]"))
    with pytest.raises(rx.ShapeError) as failure:
        rx.loads(RANGE).f(ones(size))
    condition = "1 <= n" if size == 0 else "n <= 8"
    assert condition in compile_time and condition in str(failure.value)
    for fine in (1, 2, 8):
        assert rx.loads(RANGE).f(ones(fine)).shape == (fine,)


def test_r13_one_check_for_one_fact() -> None:
    report = proved(FF)
    assert report.counts.entry == 3
    module = rx.loads(FF)
    for fine in ((2, 8), (2, 4), (2, 0), (0, 8), (1, 8)):
        assert module.f(ones(*fine)).shape == (fine[0] * fine[1] // 4,)
    with pytest.raises(rx.ShapeError):
        module.f(ones(2, 9))


def test_r14_one_is_an_ordinary_size() -> None:
    callee = "@f = fn(x : Tensor([n], float32), y : Tensor([n, d], float32)) : Tensor([n, d], float32) { y }\n"
    refused(called(callee, "[5]", "[1, 3]"))
    with pytest.raises(rx.ShapeError):
        rx.loads(callee).f(ones(5), ones(1, 3))
    assert rx.loads(add("[n, d]", "[1, d]")).main(ones(5, 3), ones(1, 3)).shape == (5, 3)
    residual(called(DOUBLE, "[a]", "[b]"))


# M: one program, many shapes


def test_m2a_a_wrong_input_is_named_with_its_axis() -> None:
    module = rx.loads("@f = fn(x : Tensor([1, s, 64], float32)) : Tensor([1, s, 64], float32) { x * 2.0 }")
    assert module.f(ones(1, 8, 64)).shape == (1, 8, 64)
    for wrong, axis, expected, got in (((1, 8, 65), "2", "64", "65"), ((2, 8, 64), "0", "1", "2")):
        with pytest.raises(rx.ShapeError) as failure:
            module.f(ones(*wrong))
        text = str(failure.value)
        assert f"axis {axis} of `x`" in text and expected in text and got in text


def test_m3a_sizes_of_arange_and_full_follow_the_input() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([s], float32)) : (Tensor([s], int64), Tensor([s, 32], float32)) {\n"
        "  (@arange(0, s), @full([s, 32], 1.5, dtype=float32))\n}"
    )
    for s in (31, 1):
        a, b = module.f(ones(s))
        assert a.shape == (s,) and b.shape == (s, 32)


def test_m3c_views_with_colliding_values() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([1, s, 64], float32)) : (Tensor([1, s, 4, 16], float32), Tensor([s * 4, 16], float32)) {\n"
        "  (@reshape(x, [1, s, 4, 16]), @reshape(x, [s * 4, 16]))\n}"
    )
    for s in (1, 4, 16, 31):
        x = np.arange(s * 64, dtype=np.float32).reshape(1, s, 64)
        a, b = module.f(x)
        np.testing.assert_array_equal(a, x.reshape(1, s, 4, 16))
        np.testing.assert_array_equal(b, x.reshape(s * 4, 16))


def test_m3d_slices_to_the_end() -> None:
    module = rx.loads("@f = fn(a : Size, x : Tensor([2, n], float32)) : Tensor where a >= 0 { x[:, a:] }")
    for a, length in ((2, 8), (2, 3), (5, 3)):
        x = np.arange(2 * length, dtype=np.float32).reshape(2, length)
        np.testing.assert_array_equal(module.f(a, x), x[:, a:])


def test_m5a_arguments_bind_by_name() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([n], float32), k : Size, y : Tensor([m], float32)) : Tensor([n + m], float32)\n"
        "  where k == n { @concat([x, y], axis=0) }"
    )
    x, y = np.float32([1, 2]), np.float32([3, 4, 5])
    for given in ({"x": x, "k": 2, "y": y}, {"y": y, "k": 2, "x": x}, {"k": 2, "y": y, "x": x}):
        np.testing.assert_array_equal(module.f(**given), [1, 2, 3, 4, 5])


def test_m6a_both_orders_of_a_broadcast_are_equal() -> None:
    module = rx.loads(
        "@mul = fn(a : Tensor([1, s, 64], float32), b : Tensor([64], float32)) : Tensor([1, s, 64], float32) { b * a }\n"
        "@lum = fn(a : Tensor([1, s, 64], float32), b : Tensor([64], float32)) : Tensor([1, s, 64], float32) { a * b }\n"
        "@add4 = fn(a : Tensor([1, 1, s, 32], float32), b : Tensor([1, 4, s, 32], float32))"
        " : Tensor([1, 4, s, 32], float32) { a + b }\n"
    )
    for s in (1, 4):
        a, b = ones(1, s, 64) * 2, np.arange(64, dtype=np.float32)
        np.testing.assert_array_equal(module.mul(a, b), module.lum(a, b))
        assert module.add4(ones(1, 1, s, 32), ones(1, 4, s, 32)).shape == (1, 4, s, 32)


def test_m6b_where_broadcasts_its_condition_and_a_number() -> None:
    module = rx.loads(
        "@f = fn(c : Tensor([s, 32], bool), x : Tensor([1, 4, s, 32], float32)) : Tensor([1, 4, s, 32], float32) {\n"
        "  @where(c, x, (-1.0))\n}"
    )
    for s in (1, 4):
        c = np.arange(s * 32).reshape(s, 32) % 2 == 0
        np.testing.assert_array_equal(module.f(c, ones(1, 4, s, 32)), np.where(c, ones(1, 4, s, 32), np.float32(-1)))


def test_m6c_heads_are_repeated_by_broadcast_and_reshape() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([1, 2, t, 16], float32)) : Tensor([1, 4, t, 16], float32) {\n"
        "  let y = @broadcast_to(@expand_dims(x, axis=2), [1, 2, 2, t, 16])\n"
        "  @reshape(y, [1, 4, t, 16])\n}"
    )
    for t in (1, 4, 32):
        x = np.arange(32 * t, dtype=np.float32).reshape(1, 2, t, 16)
        np.testing.assert_array_equal(module.f(x), np.repeat(x, 2, axis=1))
    same = "@main = fn(x : Tensor([n, 3], float32)) : Tensor([n, 3], float32) { @broadcast_to(x, [n, 3]) }"
    assert proved(same).ok


def test_a_condition_of_which_nothing_is_known_is_checked_in_the_run() -> None:
    main = rx.loads("@main = fn(x : Tensor, y : Tensor([n], float32)) : Tensor { if (x) { y } else { y * 2.0 } }").main
    assert [main(np.array(truth), ones(1))[0] for truth in (True, False, 3, 0)] == [1, 2, 1, 2]
    for wrong, words in ((np.ones(1, bool), "rank 0"), (np.float32(0.5), "a boolean or integer dtype")):
        with pytest.raises(rx.ShapeError, match=words):
            main(wrong, ones(1))


def test_parts_of_two_arms_are_joined_by_their_sorts() -> None:
    text = """@main = fn(b : Bool, x : Tensor([n], float32), d : DType) : Tensor {
      let p = if (b) { (x.shape, d, b) } else { ([2], int8, b == b) }
      @ones(p[0], p[1])
    }"""
    main = rx.loads(text).main
    assert [(main(b, ones(3), "float64").shape, main(b, ones(3), "float64").dtype) for b in (True, False)] == [
        ((3,), np.float64),
        ((2,), np.int8),
    ]


def test_what_a_dtype_is_not_is_known() -> None:
    head = "@main = fn(x : Tensor([n], d), y : Tensor([m], e)) : Tensor"
    proved(f"{head} where !(d in floating) {{ assert x.dtype != float32; x }}")
    proved(f"{head} where d != int8, d in {{int8, int16}} {{ assert x.dtype == int16; x }}")
    refused(f"{head} where d in integer {{ assert !(x.dtype in integer); x }}")
