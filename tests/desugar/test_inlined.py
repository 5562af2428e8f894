"""`rx desugar --simplified --inline`: a call as the expression that shape propagation gives, which means the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.interp.run import Machine
from rxlang.lang.core_printer import print_program
from rxlang.lang.files import Files

PRODUCT = """@matmul = fn(x : Tensor([m, k], d), y : Tensor([k, n], d)) : Tensor([m, n], d) where d in numeric {
  @prelude.matmul(x, y)
}
"""
LITERALS = """let left = tensor([[1, 2, 3], [4, 5, 6]], int8)
let right = tensor([[1, 2, 3, 4], [5, 6, 7, 8], [9, 1, 2, 3]], int8)
"""


def inlined(text: str) -> str:
    checked = rx.check_source(text).checked
    assert checked is not None
    return print_program(pipeline.inlined(checked))


def test_a_call_of_two_literals_is_the_listing_of_the_notes() -> None:
    listing = inlined(f"{PRODUCT}{LITERALS}let z = @matmul(left, right)\n").partition(LITERALS)[2]
    assert (
        listing
        == """assert left.rank == 2
assert left.dim(0) == 2
assert left.dim(1) == 3
assert left.dtype == int8
assert right.rank == 2
assert right.dim(0) == 3
assert right.dim(1) == 4
assert right.dtype == int8
let out = @matmul_impl(left, right)
assert out.rank == 2
assert out.dim(0) == 2
assert out.dim(1) == 4
assert out.dtype == int8
let z = out
left
right
z
"""
    )


FUNCTIONS = (
    PRODUCT
    + """@ff = fn(x : Tensor([n, m * 4], float64)) : Tensor([n * m, 4], float64) { @reshape(x, [n * m, 4]) }
@kept = fn(x : Tensor([n, d], float64), m : Tensor([n], bool)) : Tensor([k, d], float64) where k <= n { @filter(x, m) }
@plain = fn(x : Tensor([n, d], float64)) : Tensor { @exp(@ff(x)) }
@main = fn(x : Tensor([2, 8], float64), y : Tensor([n, d], float64), m : Tensor([2], bool)) : Tensor { BODY }
"""
)
BODIES = [
    "@ff(x)",
    "@ff(y)",
    "@ff(@ff(x))",
    "@matmul(@ff(x), @matrix_transpose(@ff(x)))",
    "@kept(x, m)",
    "@kept(@ff(@kept(x, m)), @ff(@kept(x, m))[:, 0] > 0.0)",
    "if (n > 1) { @ff(x) } else { @ff(@ff(x)) + @ff(x) }",
    "for i in range(n) with (a : Tensor([4, 4], float64) = @ff(x)) { a + @ff(@reshape(a, [2, 8])) }",
    "@plain(x) + @plain(x)",
    "let out = @ff(x)\n  let out = @ff(out)\n  out",
]


@pytest.mark.parametrize("body", BODIES)
def test_what_is_printed_means_what_was_written(body: str) -> None:
    text = FUNCTIONS.replace("BODY", body)
    module = rx.loads(text)
    core = pipeline.inlined(module._checked)
    main = print_program(core).partition("private @main_impl")[2] or print_program(core).partition("@main = ")[2]
    assert "@ff(" not in main and "@kept(" not in main and "@matmul(" not in main
    rng = np.random.default_rng(0)
    args = rng.normal(size=(2, 8)), rng.normal(size=(3, 4)), np.array([True, True])
    assert np.array_equal(Machine(core, Files(Path("."))).call("main", args), module.main(*args))


def test_a_check_that_is_left_stays_in_its_place() -> None:
    main = inlined(FUNCTIONS.replace("BODY", "@ff(@kept(y, y[:, 0] > 0.0))")).partition("@main = ")[2]
    before, _, after = main.partition("@ff_impl(")
    assert ".dim(1) % 4 == 0" in before and ".dim(1) == 4" in after
