"""What is said of a call that cannot be: while it runs the same sentence as where the shapes stand in the program."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.ops import registry
from rxlang.ops.ground import NeedsData, Violation, evaluate
from rxlang.ops.model import Primitive, RankUnknown
from support import fuzz, ops, random_calls

WANTED = fuzz.tries("refused calls")
TRIES = 30 * WANTED
VERDICT = ": this always fails"


def refused(row: Primitive, values: dict[str, Any]) -> bool:
    try:
        evaluate(row, ops.infos(row, values))
    except Violation:
        return True
    except (NeedsData, RankUnknown):
        return False
    return False


def sentences(call: str, tensors: dict[str, np.ndarray]) -> tuple[str, str] | None:
    """What is said with the shapes in the program, and what is said when it runs; None where one of them is not refused, or
    both are refused before anything runs."""
    types = {n: f"Tensor([{', '.join(map(str, t.shape))}], {ops.dtype_of(t.dtype)})" for n, t in tensors.items()}
    told = rx.check_source(f"@f = fn({', '.join(f'{n} : {t}' for n, t in types.items())}) {{ {call} }}").diagnostics
    errors = [d.message for d in told if d.severity == "error"]
    open_ = f"@f = fn({', '.join(f'{n} : Tensor' for n in tensors)}) {{ {call} }}"
    if not errors or any(d.severity == "error" for d in rx.check_source(open_).diagnostics):
        return None
    try:
        rx.loads(open_).f(*tensors.values())
    except rx.ShapeError as problem:
        return errors[0].removesuffix(VERDICT), problem.diagnostic.message
    return None


@pytest.mark.parametrize("name", fuzz.some(registry.names(), 3))
def test_a_refusal_while_it_runs_is_the_sentence_of_the_check(name: str) -> None:
    row, compared = ops.row_of(name), 0
    for n in range(TRIES):
        random = np.random.default_rng((zlib.crc32(name.encode()), n))
        values = random_calls.draw_call(random, row)
        if compared < WANTED and refused(row, values):
            call, tensors = random_calls.written(row, values)
            found = sentences(call, tensors)
            if found is not None:
                compared += 1
                assert found[0] == found[1], call


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("@reshape(x, [n, 8])", "@reshape needs as many elements in `[n, 8]` as `x` has, but they are 32 and 20"),
        ("@split(x, sizes=[n, 3], axis=1)", "@split needs the sum of `[n, 3]` (7) to be axis 1 of `x` (5)"),
        ("@update_slice(x, y, [0, n])",
         "@update_slice needs entry 1 of `[0, n]` (4) plus axis 1 of `y` (2) to be at most axis 1 of `x` (5)"),
        ("@topk(x, k=n + 2, axis=1)", "@topk needs `k` (6) to be at most axis 1 of `x` (5)"),
        ("@concat([x, @matrix_transpose(x)])", "@concat needs axis 1 of `x` (5) and item 1 of `xs` (4) to be equal"),
        ("x + @ones([n + 1, n + 1], float32)",
         "`+` needs axis 0 of `x` (4) and axis 0 of its right operand (5) to be equal, or one of them 1"),
    ],
)  # fmt: skip
def test_a_refusal_while_it_runs_has_the_numbers_and_the_users_names(call: str, sentence: str) -> None:
    module = rx.loads(f"@f = fn(x : Tensor([n, m], float32), y : Tensor([k, _p], float32)) {{ {call} }}")
    with pytest.raises(rx.ShapeError) as caught:
        module.f(np.zeros((4, 5), np.float32), np.zeros((3, 2), np.float32))
    assert caught.value.diagnostic.message == sentence


@pytest.mark.parametrize(
    ("body", "needs"),
    [
        (
            "let y = if (n > n // k) { x } else { x + 1.0 }",
            "`n > n // k` needs the divisor to be at least 1, but k is 0",
        ),
        ("let y = if (k < 0 || n == n // k) { x } else { x + 1.0 }", "needs the divisor to be at least 1, but k is 0"),
        ("let s : Size = n / 2", "`n / 2` needs the division to be exact, but n is 3"),
        ("let s : Size = n % k", "`n % k` needs the divisor to be at least 1, but k is 0"),
    ],
)
def test_what_a_size_needs_to_have_a_value_is_said_as_it_was_when_it_was_checked(body: str, needs: str) -> None:
    text = f"@main = fn(x : Tensor([n], float32), k : Size) : Tensor {{\n  {body}\n  x\n}}\n"
    with pytest.raises(rx.ShapeError) as refused:
        rx.loads(text).main(np.ones(3, np.float32), 0)
    assert needs in refused.value.diagnostic.message
    asked = needs.partition(" needs ")[2].partition(",")[0]
    assert any(asked in d.message for d in rx.check_source(text).diagnostics)


@pytest.mark.parametrize("name", [n for n in registry.names() if ops.row_of(n).refuses])
def test_elements_that_are_refused_are_said_in_words(name: str) -> None:
    """With every other parameter as it is when nobody gives it."""
    row = ops.row_of(name)
    for n in range(5):
        values = random_calls.draw_call(np.random.default_rng((zlib.crc32(name.encode()), n)), row)
        given = values.get(row.refuses)
        if not isinstance(given, np.ndarray) or given.dtype.kind not in "iu":
            return
        needed = {p.name: values[p.name] for p in row.params if p.required or p.name == row.refuses}
        call, tensors = random_calls.written(row, needed)
        types = ", ".join(f"{t} : Tensor" for t in tensors)
        try:
            main = rx.loads(f"@f = fn({types}) {{ {call} }}").f
        except rx.CheckError:  # it needs more than that
            return
        try:
            main(*(np.full_like(t, 99) if t is given else t for t in tensors.values()))
        except rx.ShapeError as problem:
            assert problem.diagnostic.message
