"""Core to generated Python: what is emitted for checks and calls, and that simplified and unsimplified programs agree."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.interp.compile import CompiledCode, Options, compile_program
from rxlang.interp.run import Machine
from rxlang.interp.shape_error import ShapeError
from rxlang.lang.files import Files
from support.phases import checked_of, core_of

HERE = Path(".")


def code(source: str, **options: bool) -> CompiledCode:
    made = compile_program(checked_of(source).program, options=Options(**options))
    made.init()
    return made


def function_text(made: CompiledCode, name: str) -> list[str]:
    """The generated lines of one Python function."""
    lines = made.source.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"def {name}("))
    body = itertools.takewhile(lambda line: line.startswith(" "), lines[start + 1 :])
    return [line.strip() for line in body]


def f32(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 8


FF = """@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32) {
  let z = @reshape(@cast(x, int32), [n, m, 4])
  @reshape(@sum(z, axis=2), [n * m])
}"""


def test_an_entry_check_is_one_size_check_beside_rank_and_dtype() -> None:
    lines = function_text(code(FF), "f_ff")
    tests = [line for line in lines if "raise" in line]
    assert tests == ["if not ((v_x_d1 % 4) == 0 and v_x.dtype is D_int8): raise Failed"]
    assert not any("raise" in line for line in function_text(code(FF), "f_ff__impl"))


def test_proved_checks_leave_no_code() -> None:
    made = code("@f = fn(x : Tensor([n, m], float32)) : Tensor([m, n], float32) { @matrix_transpose(x) }")
    assert function_text(made, "f_f__impl") == ["return v_x.swapaxes(-1, -2)"]
    assert len(function_text(made, "b_f")) == 2


def test_a_call_that_was_decided_skips_the_callees_entry_check() -> None:
    made = code("""@g = fn(x : Tensor([n, 2], float32)) : Tensor([n, 2], float32) { x + x }
@f = fn(x : Tensor([n, 2], float32)) : Tensor([n, 2], float32) { @g(x) }""")
    assert "b_g(v_x)" in " ".join(function_text(made, "f_f__impl"))


def test_numpys_functions_are_called_without_a_kernel_for_plain_dtypes_only() -> None:
    source = "@f = fn(x : Tensor([n, n], DTYPE)) : Tensor([n, n], DTYPE) { @matmul(x, x + 1.0) }"
    assert "np_matmul(v_x, t1)" in " ".join(function_text(code(source.replace("DTYPE", "float32")), "f_f__impl"))
    assert "kernel_matmul" in " ".join(function_text(code(source.replace("DTYPE", "bfloat16")), "f_f__impl"))


def test_names_that_python_would_confuse_stay_apart() -> None:
    made = rx.loads("""@f = fn(x : Tensor([n], float32), x' : Tensor([n], float32), x_q : Tensor([n], float32),
  lambda : Tensor([n], float32), np : Tensor([n], float32), fits : Tensor([n], float32)) : Tensor([n], float32) {
  let t1 = x - x'
  let None = t1 * 10.0 + x_q
  None + lambda * 100.0 + np * 1000.0 + fits
}""")
    values = [np.full(1, v, np.float32) for v in (5, 3, 2, 1, 4, 7)]
    assert made.f(*values).tolist() == [20 + 2 + 100 + 4000 + 7]


def test_what_an_arm_binds_again_ends_with_it() -> None:
    made = rx.loads("""@f = fn(x : Tensor([n], float32)) : Tensor {
  let y = x
  let z = if (n > 2) { let y = y + 1.0 \n y * 10.0 } else { let q = y \n let y = q - 1.0 \n y }
  z + y
}""")
    assert made.f(np.zeros(3, np.float32)).tolist() == [10, 10, 10]
    assert made.f(np.zeros(1, np.float32)).tolist() == [-1]


def test_an_if_may_stand_where_a_value_is_used() -> None:
    made = rx.loads("""@f = fn(x : Tensor([n], float32), c : bool) : Tensor([n], float32) {
  @add(if (c) { x * 2.0 } else { x }, if (n == 1) { if (c) { x } else { x + x } } else { x * 3.0 }) + x
}""")
    one, two = np.ones(1, np.float32), np.ones(2, np.float32)
    assert made.f(one, np.array(True)).tolist() == [4]
    assert made.f(one, np.array(False)).tolist() == [4]
    assert made.f(two, np.array(True)).tolist() == [6, 6]


def nested(depth: int) -> str:
    text = "x"
    for i in range(depth):
        text = f"if (n == {i}) {{ let y = x + {i}.0 \n y }} else {{ {text} }}"
    return f"@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) {{ {text} }}"


def test_arms_nested_deeper_than_python_indents_run() -> None:
    made = rx.loads(nested(60))
    assert made._machine.code.source.count("def a") >= 1
    assert made.f(np.zeros(59, np.float32))[0] == 59
    assert made.f(np.zeros(3, np.float32))[0] == 3
    assert made.f(np.zeros(99, np.float32))[0] == 0


# The unsimplified program executes every assertion and every precondition.

PROGRAMS: dict[str, tuple[str, list[list[Any]]]] = {
    "flatten": (FF, [[np.ones(s, np.int8)] for s in [(2, 8), (2, 9), (0, 4), (3, 0), (2,)]]),
    "matmul": (
        "@ff = fn(x : Tensor([n, d], float32), y : Tensor([d, k], float32)) : Tensor([n, k], float32) { @matmul(x, y) }",
        [[f32(2, 3), f32(3, 4)], [f32(2, 3), f32(4, 4)], [f32(0, 3), f32(3, 0)], [f32(2, 3), f32(3)]],
    ),
    "undecided": (
        "@ff = fn(x : Tensor([n, m], float32), y : Tensor([k, p], float32)) : Tensor { @matmul(x, y) + 1.0 }",
        [[f32(2, 3), f32(3, 4)], [f32(2, 3), f32(4, 4)]],
    ),
    "broadcast": (
        "@ff = fn(x : Tensor([n], float32), y : Tensor([m], float32)) : Tensor { x * y - x }",
        [[f32(a), f32(b)] for a, b in [(3, 3), (1, 3), (3, 1), (2, 3), (0, 1), (0, 2)]],
    ),
    "asserting": (
        """@ff = fn(x : Tensor([n, d], float32)) : Tensor {
  let y ! Tensor([q * 2, d], float32) = @concat([x, x[0:1]])
  assert q % 2 == 1 || d > 2, "odd"
  match_shape(y, [r, e], [r, e])
  if (r > 4) { @reshape(y, [q, 2 * e]) } else { y }
}""",
        [[f32(a, b)] for a, b in [(1, 2), (2, 2), (3, 2), (3, 3), (5, 1), (0, 0)]],
    ),
    "splices": (
        """@ff = fn(x : Tensor([*s, m, k], d), y : Tensor([*s, k], d)) : Tensor([*s, m], d) where d in floating {
  @sum(x * @expand_dims(y, -2), axis=-1)
}""",
        [
            [f32(2, 3), f32(3)],
            [f32(5, 2, 3), f32(5, 3)],
            [f32(5, 2, 3), f32(3)],
            [f32(3), f32(3)],
            [f32(0, 2, 3), f32(0, 3)],
            [f32(2, 3).astype(np.float64), f32(3)],
            [f32(2, 3).astype(np.int32), f32(3).astype(np.int32)],
        ],
    ),
    "data": (
        """@ff = fn(x : Tensor([n], float32), t : int64) : Tensor([k], float32) where k <= n {
  let c = @item(t)
  let y = x[0:c]
  assert c >= 0
  y * 2.0
}""",
        [[f32(4), np.array(c)] for c in (0, 2, 4, 9, -1)],
    ),
    "calls": (
        """@half = fn(x : Tensor([n * 2, m], float32)) : Tensor([n, m], float32) { x[0:n] + x[n:n * 2] }
@ff = fn(x : Tensor([a, b], float32), f : bool) : Tensor {
  let y = @half(x)
  if (f) { @half(y) } else { @matrix_transpose(y) }
}""",
        [[f32(a, 3), np.array(f)] for a in (2, 3, 4, 8) for f in (True, False)],
    ),
}


def outcome(machine: Machine, args: list[Any]) -> Any:
    try:
        result = machine.call("ff", [np.array(a) for a in args])
    except ShapeError as problem:
        return problem.diagnostic.message
    return result.tolist(), result.shape, result.dtype.name


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_simplified_program_gives_the_results_of_the_unsimplified_one(name: str) -> None:
    source, calls = PROGRAMS[name]
    checked = checked_of(source)
    simplified = Machine(checked.program, Files(HERE))
    unsimplified = Machine(checked.before, Files(HERE), Options(guard_all=True))
    outcomes = [(outcome(simplified, args), outcome(unsimplified, args)) for args in calls]
    assert [a for a, _ in outcomes] == [b for _, b in outcomes]
    assert any(not isinstance(a, str) for a, _ in outcomes)


def test_the_instrumented_program_counts_checks_and_gives_the_same_results() -> None:
    source, calls = PROGRAMS["asserting"]
    plain, counted = code(source), code(source, instrument=True)
    assert counted.tally.total == 0
    assert np.array_equal(plain.function("ff")(*calls[0]), counted.function("ff")(*calls[0]))
    assert counted.tally.total >= 4 and plain.tally is None
    assert counted.times["ff"][0] == 1


def test_ten_thousand_statements_compile() -> None:
    body = "\n".join(f"  let y{i} = y{i - 1} + x" for i in range(1, 10_000))
    program = core_of(f"@f = fn(x : Tensor([n], float64)) : Tensor([n], float64) {{\n  let y0 = x\n{body}\n  y9999\n}}")
    assert compile_program(program).function("f")(np.ones(1)).tolist() == [10_000]
