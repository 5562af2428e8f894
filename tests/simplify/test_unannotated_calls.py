"""What a caller knows of an unannotated function is used at its call: proved conditions and known choices do not run there."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.interp.compile import Options
from rxlang.interp.run import Machine
from rxlang.lang.core_printer import print_program
from support import fuzz
from support.phases import core_of


def checks_made(text: str, *args: Any) -> int:
    """How many checks inside the functions run when @main is called."""
    module = rx.loads(text)
    machine = Machine(module._checked.program, module._machine.weights.files, Options(instrument=True))
    machine.call("main", args)
    return machine.tally.total


def simplified(text: str) -> str:
    checked = rx.check_source(text).checked
    assert checked is not None
    return print_program(checked.program)


HELPERS = """@mm_any = fn(x : Tensor, y : Tensor) : Tensor {
  assert x.rank == 2
  assert y.rank == 2
  assert x.dim(1) == y.dim(0)
  assert x.dtype == float32
  assert y.dtype == float32
  @matmul(x, y)
}
@either = fn(x : Tensor) : Tensor { if (x.rank == 2 && x.dim(0) == 2) { @exp(x) } else { @concat([x, x]) } }
@outer = fn(x : Tensor, y : Tensor) : Tensor { @either(@mm_any(x, y)) }
@sized = fn(x : Tensor, k : Size) : Tensor {
  assert k >= 1
  let s : Size = x.dim(0) // k
  if (s == 1) { x } else { @reshape(x, [-1, k]) }
}
@again = fn(x : Tensor) : Tensor {
  let x = @exp(x)
  assert x.rank == 2
  let y = if (x.dim(1) == 3) { let x = @sin(x)
    x } else { x }
  y + x
}
"""
MAIN = "@main = fn(x : Tensor([2, 3], float32), y : Tensor([3, 4], float32)) : Tensor { CALL }"
CALLS = [
    "@mm_any(x, y)",
    "@either(x)",
    "@either(y)",
    "@outer(x, y)",
    "@mm_any(@exp(x), @mm_any(y, @ones([4, 5], float32)))",
    "@sized(x, 2)",
    "@sized(y, 2)",
    "@again(x)",
    "@again(y)",
    "let x = @again(x)\n  @again(x) + @again(x)",
    "for i in range(2) with (a : Tensor([2, 3], float32) = x) { @again(@either(a)) }",
    "if (@sum(x) > 0.0) { @again(x) } else { @again(@mm_any(x, @ones([3, 3], float32))) }",
]


@pytest.mark.parametrize("call", CALLS)
def test_what_is_decided_at_a_call_does_not_run_there(call: str) -> None:
    text = HELPERS + MAIN.replace("CALL", call)
    args = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
    assert checks_made(text, *args) == 2 + 4 + 2  # the entry check: two ranks, four sizes, two dtypes
    main = simplified(text).partition("@main = ")[2]
    assert not any(f"@{name}(" in main for name in ("mm_any", "either", "outer", "sized", "again"))


@pytest.mark.parametrize("call", CALLS)
def test_a_call_gives_what_it_gives_where_everything_is_checked(call: str) -> None:
    text = HELPERS + MAIN.replace("CALL", call)
    module = rx.loads(text)
    before = Machine(module._checked.before, module._machine.weights.files, Options(guard_all=True))
    rng = np.random.default_rng(0)
    args = rng.normal(size=(2, 3)).astype(np.float32), rng.normal(size=(3, 4)).astype(np.float32)
    assert np.array_equal(module.main(*args), before.call("main", args), equal_nan=True)


def test_what_only_the_run_decides_is_still_checked() -> None:
    text = HELPERS + "@main = fn(x : Tensor([n, d], float32), y : Tensor([e, m], float32)) : Tensor { @mm_any(x, y) }"
    body = simplified(text).partition("@main = ")[2].partition("} {")[2]
    assert body.count("assert") == 1 and "x.dim(1) == y.dim(0)" in body
    with pytest.raises(rx.ShapeError, match="x.dim"):
        rx.loads(text).main(np.ones((2, 3), np.float32), np.ones((4, 3), np.float32))


def random_helper(rng: random.Random) -> str:
    """An unannotated function whose conditions and choices callers may know."""
    lines = []
    for i in range(rng.randint(1, 4)):
        axis, size = rng.randint(0, 1), rng.randint(1, 4)
        lines.append(
            rng.choice(
                [
                    f"assert x.dim({axis}) >= {size}",
                    f"let x = if (x.dim({axis}) == {size}) {{ @exp(x) }} else {{ x }}",
                    f"let y{i} = @concat([x, x], axis={axis})\n  assert y{i}.dim({axis}) % 2 == 0",
                    "let x = if (x.dim(0) > x.dim(1)) { @matrix_transpose(x) } else { let y = @sin(x)\n y }",
                    f"let k{i} : Size = x.dim({axis}) * {size}\n  let x = x + @cast(@ones([k{i} // {size}, 1]), float64)",
                ]
            )
        )
    return "\n  ".join(["@help = fn(x : Tensor([n, d], float64)) {", *lines, "x }"])


def test_random_functions_called_with_known_sizes_do_as_before() -> None:
    decided = 0
    for case in fuzz.cases("known at a call"):
        with case as seed:
            rng = random.Random(seed)
            shape = rng.randint(1, 4), rng.randint(1, 4)
            head = f"@main = fn(a : Tensor([{shape[0]}, {shape[1]}], float64)) : Tensor {{"
            text = f"{random_helper(rng)}\n{head} let x = @help(a)\n  @sum(@help(x)) + @help(a) }}\n"
            report = rx.check_source(text)
            if not report.ok or report.checked is None:
                continue
            module = rx.loads(text)
            before = Machine(report.checked.before, module._machine.weights.files, Options(guard_all=True))
            args = (np.random.default_rng(seed).normal(size=shape),)
            assert np.array_equal(module.main(*args), before.call("main", args), equal_nan=True), text
            decided += "@help(" not in simplified(text).partition("@main = ")[2]
            core_of(print_program(report.checked.program))
    assert decided > fuzz.tries("known at a call") // 4
