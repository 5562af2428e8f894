"""The checks that stay for run time are those that are needed: each one refuses some input that all others let through."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import rxlang
from rxlang import pipeline
from rxlang.interp.run import Machine
from rxlang.interp.shape_error import ShapeError
from rxlang.lang import core
from rxlang.lang.core import Status
from rxlang.lang.files import Files
from rxlang.lang.node import Node
from rxlang.lang.source import Span
from support import fuzz, small_programs
from support.phases import checked_of
from support.places import TESTS

SIZES = (0, 1, 2, 3, 4, 5, 6, 8)
ONE_BY_ONE = {
    "an equality that follows from two others": (
        "x : Tensor([n], float32), y : Tensor([m], float32), z : Tensor([k], float32)",
        ["assert n == m", "assert m == k", "assert k == n", "let r = @matmul(x, z)"],
        2,
    ),
    "a remainder that follows from another one": (
        "x : Tensor([n], float32)",
        ["assert n % 12 == 0", "let a = @reshape(x, [-1, 4])", "let b = @reshape(x, [-1, 6])", "assert n % 3 == 0"],
        1,
    ),
    "a broadcast after the same broadcast": (
        "x : Tensor([n], float32), y : Tensor([m], float32)",
        ["let a = x + y", "let b = x * y", "let c = y + x"],
        1,
    ),
    "a bound that follows from what a size leaves": (
        "x : Tensor([n], float32)",
        ["let a ! Tensor([8 * _k + 3]) = x"],
        1,
    ),
    "a bound that does not follow": ("x : Tensor([n], float32)", ["let a ! Tensor([2 * _k + 3]) = x"], 2),
    "a bound below another one": (
        "x : Tensor([n], float32)",
        ["assert n >= 5", "assert n > 3", "let a = x[2:5]", "assert a.dim(0) == 3"],
        1,
    ),
}


def left(program: core.Program) -> Iterator[core.Assert | core.MatchShape | core.Call]:
    """The assertions and the calls of `@main` that are checked when it runs."""
    stack: list[object] = [f.body for f in program.functions if f.name in ("main", "main_impl")]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(node)
        elif isinstance(node, Node):
            if isinstance(node, core.Assert | core.MatchShape):
                if node.status is Status.RESIDUAL:
                    yield node
            elif isinstance(node, core.Call) and node.guard:
                yield node
            stack.extend(getattr(node, f) for f in node._fields if f not in ("span", "origin"))


def refusals(program: core.Program, shapes: list[tuple[str, ...]], names: tuple[str, ...]) -> set[Span]:
    """The places that some input with small sizes does not pass."""
    machine, found = Machine(program, Files(Path("."))), set()
    for values in itertools.product(SIZES, repeat=len(names)):
        sizes = dict(zip(names, values, strict=True))
        args = [np.zeros([eval(d, {}, sizes) for d in shape], np.float32) for shape in shapes]  # noqa: S307
        try:
            machine.call("main", args)
        except ShapeError as refused:
            said = refused.diagnostic
            found |= {said.span, *(at.span for at in said.labels)}
    return found


def test_each_check_that_stays_refuses_some_input() -> None:
    seen = 0
    for case in fuzz.cases("residuals"):
        with case as seed:
            made = small_programs.Maker(seed)
            source = made.program()
            report = pipeline.check_text(source + small_programs.LIBRARY, "random.rx", Path("."))
            # where an `if` has arms of different ranks, what is known afterwards is less than what is so
            if report.checked is None or not report.ok or "if (" in source:
                continue
            checks = list(left(report.checked.program))
            if checks:
                shapes = [shape for name, shape in made.shapes.items() if name.startswith("x")]
                refused = refusals(report.checked.program, shapes, small_programs.NAMES)
                for check in checks:
                    places = {check.span} if isinstance(check, core.Call) else {check.span, check.origin.span}
                    assert places & refused, f"seed {seed}: `{check.span.text}` refuses nothing\n{source}"
                seen += len(checks)
    assert seen >= fuzz.tries("residuals") // 5


@pytest.mark.parametrize("claim", ONE_BY_ONE)
def test_a_check_that_follows_from_earlier_ones_is_gone(claim: str) -> None:
    params, lines, needed = ONE_BY_ONE[claim]
    body = "".join(f"  {line}\n" for line in lines)
    assert len(list(left(checked_of(f"@main = fn({params}) : Tensor {{\n{body}  x\n}}\n").program))) == needed


@pytest.mark.parametrize(
    ("body", "unproved_claims"),
    [
        ("let a : Size = n // k; x", ["`n // k` needs the divisor to be at least 1"]),
        ("x[0:n // k]", ["`x[0:n // k]` needs the divisor to be at least 1"]),
        ("@zeros([n % k], float32)", ["`[n % k]` needs the divisor to be at least 1"]),
        ("assert n // k == 2; x", []),
        ("assert k >= 1; x[0:n // k]", []),
    ],
)
def test_what_a_size_needs_is_told_with_what_it_stands_in(body: str, unproved_claims: list[str]) -> None:
    text = f"@f = fn(x : Tensor([n], float32), k : Size) : Tensor {{ {body} }}\n"
    report = rxlang.check_source(text)
    told = [d.message.partition(": this")[0] for d in report.diagnostics if d.code == "W311"]
    assert told == unproved_claims


@pytest.mark.parametrize(
    "body",
    [
        "let f = fn(y) { let k : Size = 7 // p; y }\n f(x)",
        "let f = fn(y) { let c : Bool = 7 % p == 0; y }\n @map(f, @expand_dims(x, axis=0))",
        "@apply(fn(y) { let s : Shape = [ceildiv(n, p)]; y }, x)",
        "let f = fn(y : Tensor, q : Size) { let k : Size = 7 // q; assert y.rank == 1; y }\n f(x, p)",
        "@plain(x, p)",
        "let f = @plain\n f(x, p)",
    ],
)
def test_what_a_size_that_a_function_value_names_needs_is_checked_whether_it_is_used_or_not(body: str) -> None:
    text = (
        "@apply = fn(f : fn(Tensor([k], float32)) : Tensor([k], float32), x : Tensor([k], float32)) : Tensor { f(x) }\n"
        "inline @plain = fn(x : Tensor, q : Size) : Tensor { let k : Size = 7 // q; x }\n"
        f"@main = fn(x : Tensor([n], float32), p : Size) : Tensor {{ {body} }}\n"
    )
    machine = Machine(checked_of(text).program, Files(TESTS))
    assert machine.call("main", [np.ones(2, np.float32), 2]).size == 2
    with pytest.raises(ShapeError, match="0"):
        machine.call("main", [np.ones(2, np.float32), 0])
