"""Loops to core loops: what they carry and promise, which names are seen where, and the way back from the text."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from rxlang.cli.desugar import listing
from rxlang.desugar.desugar import desugar
from rxlang.lang import core
from rxlang.lang.core_printer import print_expr, print_program, print_stmt
from rxlang.lang.diagnostics import Diagnostic
from rxlang.lang.files import Files
from rxlang.lang.formatter import format_source
from rxlang.lang.modules import load_program
from rxlang.lang.node import Node, replace
from rxlang.lang.source import Source
from rxlang.lang.walk import walk
from rxlang.ops.registry import lookup
from support import fuzz
from support.places import TESTS

SIGNATURE = "x : Tensor([n, d], float32), y : Tensor([n], float32), k : Size"


def run(text: str) -> tuple[core.Program, tuple[Diagnostic, ...]]:
    modules, syntax = load_program(Source("p.rx", text), Files(TESTS))
    assert not syntax, (syntax, text)
    return desugar(modules, lookup)


def of_body(body: str) -> tuple[core.Program, tuple[Diagnostic, ...]]:
    return run(f"@f = fn({SIGNATURE}) {{ {body} }}")


def loop_of(body: str) -> core.Loop:
    program, said = of_body(body)
    assert [d for d in said if d.severity == "error"] == []
    return next(n for n in walk(program.functions) if isinstance(n, core.Loop))


def conditions(loop: core.Loop) -> list[str]:
    return [print_expr(i.cond) for i in loop.invariant]


def statements(block: core.Block | None) -> list[str]:
    assert block is not None
    return [print_stmt(s) for s in block.stmts]


# What a loop is in the core


def test_the_conditions_of_a_carry_come_in_the_order_rank_sizes_dtype_and_where_is_last() -> None:
    loop = loop_of(
        "for i in range(k) with (a : Tensor([n, d], float32) = x, b : Tensor([p, 2 * p], t) = x, q : Size = 0)"
        " where q == i, p >= 1 { (a, b, q) }"
    )
    assert [print_expr(core.Var(c.span, c.name)) for c in loop.carries] == ["a", "b", "q"]
    assert [c.sort for c in loop.carries] == [core.TENSOR, core.TENSOR, core.SIZE]
    assert conditions(loop) == [
        "a.rank == 2", "a.dim(0) == n", "a.dim(1) == d", "a.dtype == float32",
        "b.rank == 2", "b.dim(1) == 2 * b.dim(0)", "q == i", "b.dim(0) >= 1",
    ]  # fmt: skip
    assert loop.body.stmts == ()


def test_a_carry_without_annotation_keeps_the_shape_and_the_dtype_of_its_first_value() -> None:
    loop = loop_of("for i in range(k) with (a = x, b = x + x, x = y) { (a, b, x) }")
    assert conditions(loop) == [
        "a.shape == a'.shape", "a.dtype == a'.dtype", "b.shape == b'.shape", "b.dtype == b'.dtype",
        "x.shape == y.shape", "x.dtype == y.dtype",
    ]  # fmt: skip
    assert [print_expr(c.init) for c in loop.carries] == ["a'", "b'", "y"]


def test_a_carry_that_says_nothing_promises_nothing() -> None:
    loop = loop_of("for i in range(k) with (a : Tensor = x, b : Tensor(?, ?) = x, s : Shape = [n]) { (a, b, s) }")
    assert conditions(loop) == []


def test_names_of_the_invariant_are_bound_where_they_are_used_and_only_there() -> None:
    loop = loop_of(
        "for i in range(k) with (a : Tensor([p, q], t) = x) where p >= 0, t in floating while (q < 3)"
        " { @cast(@zeros([p, 1], t), float32) }"
    )
    assert conditions(loop) == ["a.rank == 2", "a.dim(0) >= 0", "a.dtype in floating"]
    assert statements(loop.cond) == ["let q : Size = a.dim(1)"]
    assert statements(loop.body) == ["let t : DType = a.dtype", "let p : Size = a.dim(0)"]


def test_an_expression_binds_its_name_and_asserts_that_it_can() -> None:
    loop = loop_of("for i in range(k) with (a : Tensor([p * 4, p + i]) = x) { @reshape(a, [p, -1]) }")
    assert conditions(loop) == ["a.rank == 2", "a.dim(0) % 4 == 0", "a.dim(1) == a.dim(0) / 4 + i"]
    assert statements(loop.body) == ["let p : Size = a.dim(0) / 4"]


def test_weak_numbers_take_the_dtype_of_their_carry_and_of_what_is_stacked() -> None:
    loop = loop_of("for i in range(k) with (a : float32 = 0, b : int8 = 1) stack (z : float16) { (0, 2, 3) }")
    assert [print_expr(c.init) for c in loop.carries] == ["tensor(0.0, float32)", "tensor(1, int8)"]
    assert "let z' = tensor(3.0, float16)" in statements(loop.body)
    assert print_expr(loop.body.result).startswith("(tensor(0.0, float32), tensor(2, int8)")


def test_what_is_stacked_is_asserted_over_names_from_outside_even_where_the_body_binds_such() -> None:
    loop = loop_of(
        "for i in range(k) stack (z : Tensor([x.dim(0), m, d], float32), w : Tensor([m], int8))"
        " { let m : Size = 7; let x = @zeros([n, m, d], float32); (x, @zeros([m], int8)) }"
    )
    assert statements(loop.body)[2:] == [
        "let w' = @zeros([m], int8)",
        "assert x.rank == 3", "assert x.dim(0) == size", "assert x.dim(2) == d", "assert x.dtype == float32",
        "assert w'.rank == 1", "assert w'.dim(0) == x.dim(1)", "assert w'.dtype == int8",
    ]  # fmt: skip
    assert [[None if s is None else print_expr(s) for s in stacked.shape] for stacked in loop.stacked] == [
        ["size", None, "d"],
        [None],
    ]


@pytest.mark.parametrize(
    ("written", "start", "stop", "step", "claims"),
    [
        ("range(n)", "0", "n", "1", []),
        ("range(2, n + 1)", "2", "n + 1", "1", []),
        ("range(n, 0, 3)", "n", "0", "3", []),
        ("range(0, n, k)", "0", "n", "k", ["assert k >= 1"]),
        ("range(0, n, k * 2)", "0", "n", "k * 2", ["assert k * 2 >= 1"]),
        ("range(0, n, 0)", "0", "n", "0", ["assert 0 >= 1"]),
        ("range(0, n, -2)", "0", "n", "-2", ["assert -2 >= 1"]),
        ("range(0, n, x.dim(1))", "0", "n", "step", ["let step : Size = x.dim(1)", "assert step >= 1"]),
    ],
)
def test_a_range_and_the_claim_that_its_step_is_at_least_1(
    written: str, start: str, stop: str, step: str, claims: list[str]
) -> None:
    program, _ = of_body(f"let r = for i in {written} with (a = x) {{ a }}; r")
    [function] = program.functions
    loop = next(n for n in walk(function) if isinstance(n, core.Loop))
    assert loop.range is not None
    assert [print_expr(e) for e in (loop.range.start, loop.range.stop, loop.range.step)] == [start, stop, step]
    before = [print_stmt(s) for s in core.statements(function)]
    at = next(i for i, s in enumerate(before) if s.startswith("let r = for"))
    assert before[at - len(claims) : at] == claims
    assert sum(s.startswith("assert ") and s.endswith(">= 1") for s in before) == (1 if claims else 0)


def test_conditions_say_what_they_are_made_of() -> None:
    loop = loop_of("for i in range(0, n, k) with (a : Tensor([n, d + 0], float32) = x, b = y) where n >= i { (a, b) }")
    found = {print_expr(i.cond): i.origin for i in loop.invariant}
    assert all(o.claim and o.declared is not None and o.declared.kind == "carry" for o in found.values())
    size = found["a.dim(1) == d + 0"]
    assert (size.what, size.axis, size.text, size.span.text) == ("dim", 1, "d + 0", "d + 0")
    assert size.declared is not None
    assert (str(size.declared.subject), size.declared.tensor) == ("a", "a")
    assert size.declared.span.text == "Tensor([n, d + 0], float32)"
    assert [found[c].what for c in ("b.shape == y.shape", "b.dtype == y.dtype")] == ["shape", "dtype"]
    assert (found["n >= i"].what, found["n >= i"].span.text) == ("where", "n >= i")


def test_what_is_asserted_of_a_turn_is_a_claim() -> None:
    loop = loop_of("for i in range(n) stack (z : Tensor([d], float32)) { x[i] }")
    asserted = [s for s in loop.body.stmts if isinstance(s, core.Assert)]
    assert [(s.origin.what, s.origin.claim) for s in asserted] == [("rank", True), ("dim", True), ("dtype", True)]
    assert all(s.origin.declared is not None and s.origin.declared.kind == "stack" for s in asserted)
    assert asserted[1].origin.declared is not None
    assert str(asserted[1].origin.declared.subject) == "z"


def test_the_loop_is_what_it_carries_and_then_what_it_stacks() -> None:
    program, said = of_body(
        "let (j, a, z) = for i in range(n) with (j : Size = 0, a = x) stack (z : Tensor([d], float32)) { (j + 1, a, x[i]) }"
        "; let w : Tensor([j, d], float32) = z; (a, w)"
    )
    assert [d for d in said if d.severity == "error"] == []
    assert "assert w.dim(0) == j" in print_program(program)


# Scopes


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("for i in range(3) with (a = x, b = a) { (a, b) }", "E201", "nothing is called `a` here"),
        ("for i in range(i) with (a = x) { a }", "E201", "nothing is called `i` here"),
        ("for i in range(a.dim(0)) with (a = x) { a }", "E201", "nothing is called `a` here"),
        ("for i in range(3) with (j : Size = i) { j }", "E201", "nothing is called `i` here"),
        ("let r = for i in range(3) with (a : Tensor([p, d]) = x) { a }; @zeros([p])", "E201", "nothing is called `p`"),
        ("let r = for i in range(3) with (a : Tensor([p, d]) = x) { a }; @zeros([i])", "E201", "nothing is called `i`"),
        (
            "let r = for i in range(3) with (a = x) { let q : Size = 2; a }; @zeros([q])",
            "E201",
            "nothing is called `q`",
        ),
        ("let r = for i in range(3) with (a = x) { a }; a", "E201", "nothing is called `a` here"),
        ("while (let q : Size = 3; q < 2) with (j : Size = 0) { j + q }", "E201", "nothing is called `q` here"),
        ("for n in range(3) with (a = x) { a }", "E204", "`n` is already a Size here"),
        ("for k in range(3) with (a = x) { a }", "E204", "`k` is already a Size here"),
        ("for i in range(3) with (d : Size = 1) { d }", "E204", "`d` is already a Size here"),
        ("for i in range(3) with (a = x, i : Size = 1) { (a, i) }", "E204", "`i` is already a Size here"),
        (
            "for i in range(3) with (a = x) { for i in range(2) with (b = a) { b } }",
            "E204",
            "`i` is already a Size here",
        ),
        ("for i in range(3) with (a = x) { let i : Size = 2; a }", "E204", "`i` is already a Size here"),
        ("for i in range(3) with (a : Tensor([p, d]) = x) { let p : Size = 2; a }", "E204", "`p` is already a Size"),
        ("for i in range(3) with (a = x, a = y) { (a, a) }", "E203", "`a` stands twice in this loop"),
        ("for i in range(3) with (a = x) stack (a : int8) { (a, 1) }", "E203", "`a` stands twice in this loop"),
    ],
)
def test_a_name_is_seen_where_it_is_bound_and_nowhere_else(body: str, code: str, message: str) -> None:
    _, said = of_body(body)
    found = [d for d in said if d.severity == "error"]
    assert [d.code for d in found] == [code]
    assert message in found[0].message


@pytest.mark.parametrize(
    "body",
    [
        "let r = for i in range(3) with (a = x) { a }; let i : Size = 2; @zeros([i])",
        "let r = for i in range(3) with (a : Tensor([p, d]) = x) { a }; let p : Size = 2; @zeros([p])",
        "let r = for i in range(3) with (a = x) { a }; for i in range(2) with (a = r) { a }",
        "while (j < 3) with (j : Size = 0, a : Tensor([n + j, d]) = x) where j >= 0 { (j + 1, a) }",
        "for i in range(3) with (a = x) while (@item(@sum(@cast(y, int64), axis=0)) < i) { let y = a; y }",
    ],
)
def test_what_a_loop_binds_ends_with_it(body: str) -> None:
    _, said = of_body(body)
    assert [d for d in said if d.severity == "error"] == []


def test_a_declaration_tells_the_names_that_loops_bind() -> None:
    program, _ = of_body("let r = for i in range(3) with (a = x) stack (z : int8) { let b = a; (b, 1) }; r")
    assert program.functions[0].declaration is not None
    assert set(program.functions[0].declaration.bound) == {"r", "i", "a", "z", "b"}


# Names that nothing uses


@pytest.mark.parametrize(
    ("body", "unused"),
    [
        ("for i in range(n) with (a : Tensor([p, d]) = x) { a }", ["y"]),
        ("for i in range(n) with (a : Tensor([p, q]) = x) { a }", ["y"]),
        ("for i in range(n) with (a : Tensor([_p, d]) = x) { a }", ["y"]),
        ("for i in range(n) with (a : Tensor([p, d]) = x) { @zeros([p, d], float32) }", ["y"]),
        ("for i in range(n) with (a : Tensor([p, d]) = x) where p >= 1 { a }", ["y"]),
        ("for i in range(n) with (a : Tensor([p, d]) = x) while (p < 3) { a }", ["y"]),
        ("while (let q : Size = p; q < 3) with (a : Tensor([p, d]) = x) { a }", ["y"]),
        ("for i in range(n) with (a : Tensor([p, d]) = x, b : Tensor([p]) = y) { (a, b) }", []),
        ("for i in range(n) with (a : Tensor([*s, d]) = x, b : Tensor([p], t) = y) { (a, b) }", ["t"]),
        ("for i in range(n) with (j : Size = d) stack (z : Tensor([m], float32)) { (j, y) }", []),
    ],
)
def test_a_name_that_a_carry_binds_and_nothing_uses_is_noted(body: str, unused: list[str]) -> None:
    _, said = run(f"@f = fn({SIGNATURE}) {{ let v : Tensor([n, d]) = x; assert k >= 0; {body} }}")
    notes = [d for d in said if d.code == "N201"]
    assert [d.code for d in said] == ["N201"] * len(notes)
    assert sorted(s.text for d in notes for s in (d.span, *(label.span for label in d.labels))) == sorted(unused)


# Mistakes


@pytest.mark.parametrize(
    ("body", "code", "message", "help"),
    [
        ("for r in x with (a = x) { a }", "E226", "behind `in` stands a range", "counts its rows, and `x[r]` is"),
        ("for i in k with (a = x) { a }", "E226", "behind `in` stands a range", "write `range(k)`"),
        ("for i in 3 with (a = x) { a }", "E226", "behind `in` stands a range", "write `range(3)`"),
        ("for i in @relu(x) with (a = x) { a }", "E226", "behind `in` stands a range", "`range(n)`"),
        ("for i in xs with (a = x) { a }", "E201", "nothing is called `xs` here", None),
        ("for i in range() with (a = x) { a }", "E205", "range takes one to three sizes", "`range(n)`"),
        ("for i in range(1, 2, 3, 4) with (a = x) { a }", "E205", "range takes one to three sizes", "`range(n)`"),
        ("for i in range(x) with (a = x) { a }", "E206", "`x` is a tensor; a Size is needed here", "@item(x)"),
        ("range(3)", "E221", "range can stand only in `for`", None),
        ("for i in range(3) { x }", "E227", "neither carries nor stacks", "`with (acc"),
        ("while (true) { x }", "E227", "neither carries nor stacks", "`with (acc"),
        ("while (true) with (a = 0.5) { a }", "E227", "`a` begins as a number", "write `a : float32 = 0.5`"),
        ("while (true) with (a = -(1 + 2)) { a }", "E227", "`a` begins as a number", "`a : Size = -(1 + 2)` or `a : int64 = "),
        ("while (true) with (a = false) { a }", "E227", "`a` begins as a number", "`a : bool = false` or `a : Bool = false`"),
        ("while (true) with (a = n) { a }", "E227", "`a` begins as a Size", "write `a : Size = n`"),
        ("while (true) with (a = x.shape) { a }", "E227", "`a` begins as a Shape", "write `a : Shape = x.shape`"),
        ("while (true) with (a = @item(@sum(y))) { a }", "E227", "`a` begins as a Size", "write `a : Size = @item(@sum(y))`"),
        ("while (true) with (a = (x, n)) { a }", "E227", "`a` begins as a tuple of 2", "write `a : (Tensor, Size) = (x, n)`"),
        ("while (true) with (a = @split(x, 2)) { a }", "E227", "`a` begins as a tuple", "write `a : (Tensor([n], float32), "),
        ("while (true) with (a = @relu) { a }", "E221", "a loop cannot carry a function", "by its name"),
        ("while (true) with (a : fn(Tensor) : Tensor = @relu) { a }", "E221", "a loop cannot carry a function", "by its"),
        ("while (true) with (a : (Tensor, fn(Tensor) : Tensor) = (x, @relu)) { a }", "E221", "cannot carry a function", ""),
        ("while (true) with (a = x) { }", "E210", "this block has no result", None),
        ("while (true) with (a = x, b = y) { (a, b, a) }", "E228", "a turn gives `a` and `b`; here are 3 values", None),
        ("while (true) with (a = x, b = y) { (a,) }", "E228", "a turn gives `a` and `b`; here is 1 value", None),
        ("while (true) with (a = x) stack (z : int8) { (a, 1, 2) }", "E228", "turn gives `a` and `z`", "carried values come"),
        ("while (true) with (a = x, b = y) { a }", "E228", "a turn gives `a` and `b`; here is 1 value", None),
        ("while (true) with (a = x) { n }", "E207", "`n` is a Size, not a tensor", None),
        ("while (true) with (a : Size = n) { x }", "E206", "`x` is a tensor; a Size is needed here", None),
        ("while (n) with (a = x) { a }", "E206", "`n` is a Size; a Bool is needed here", None),
        ("while (true) with (a = x) where a.rank { a }", "E206", "`a.rank` is a Size; a Bool is needed here", None),
        ("while (true) with (a = x) where @item(@sum(y)) > 2 { a }", "E221", "this needs a name of its own", "bind it"),
        ("while (true) with (a : Tensor([p * q]) = y) { a }", "E208", "nothing says what `p` is", None),
        ("while (true) with (a : Tensor([*s, *t]) = x) { a }", "E209", "only one splice of unknown length", None),
        ("while (true) with (a : Tensor([*s, d]) = x) where s == [2] { a }", "E299", "for a carried value", "`*s`"),
        ("while (true) with (a : Tensor(s) = x, b : Tensor([*s, 2]) = x) { (a, b) }", "E299", "carried value yet", "`*s`"),
        ("for i in range(3) stack (z) { x }", "E227", "the type of `z` has to give its shape and dtype", "`?` is a size that"),
        ("for i in range(3) stack (z : Tensor) { x }", "E227", "the type of `z` has to give its dtype", "`stack (z : "),
        ("for i in range(3) stack (z : Tensor([n, d])) { x }", "E227", "the type of `z` has to give its dtype", "`?`"),
        ("for i in range(3) stack (z : Tensor([n, d], t)) { x }", "E227", "the type of `z` has to give its dtype", "`?`"),
        ("for i in range(3) stack (z : Tensor(s, int8)) { x }", "E227", "the type of `z` has to give its shape", "`?`"),
        ("for i in range(3) stack (z : Tensor([*s, d], int8)) { x }", "E227", "the type of `z` has to give its rank", "`?`"),
        ("for i in range(3) stack (z : Tensor([..., d], int8)) { x }", "E227", "the type of `z` has to give its rank", "`?`"),
        ("for i in range(3) stack (z : Size) { n }", "E206", "only tensors are stacked; `z` is a Size", None),
        ("for i in range(3) stack (z : (int8, int8)) { (1, 2) }", "E206", "`z` is a tuple of 2", None),
        ("for i in range(3) stack (z : int8 = 3) { 1 }", "E221", "a stacked value has no initial value", None),
        ("for i in range(3) stack (z : Tensor([i], int8)) { x }", "E229", "`i` changes from turn to turn", "before the loop"),
        ("while (true) with (j : Size = 0) stack (z : Tensor([j], int8)) { (j, y) }", "E229", "`j` changes from turn", "bind"),
        ("while (true) with (a : Tensor([p]) = y) stack (z : Tensor([p], int8)) { (a, y) }", "E229", "`p` changes", "bind"),
        ("while (true) with (a = y) stack (z : Tensor([a.dim(0)], int8)) { (a, y) }", "E229", "`a` changes from turn", "bind"),
        ("for i in range(3) stack (z : Tensor([m + 1], int8)) { y }", "E229", "`m` stands for a size", "`?`"),
        ("while (true) with (a = x) { break }", "E201", "nothing is called `break` here", "a loop ends by its condition"),
        ("while (true) with (a = x) { @foo(a) }", "E202", "@foo", None),
    ],
)  # fmt: skip
def test_a_mistake_in_a_loop_is_one_error_with_its_fix(body: str, code: str, message: str, help: str | None) -> None:
    _, said = of_body(body)
    found = [d for d in said if d.severity == "error"]
    assert [d.code for d in found] == [code]
    assert message in found[0].message
    assert help is None or help in (found[0].help or "")


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("for i in range(3) with (a = @rleu(x), b = 0) { let c = @exq(x); (c, b) }", ["E202", "E227", "E202"]),
        ("for i in x with (a = x) { (@exq(x), @rleu(a)) }", ["E226", "E202", "E202"]),
        ("for i in x with (a : Tensor([p, d]) = x) { let c = @zeros([p, i]) + a; n }", ["E226"]),
        ("while (let t = @rleu(x); @all(t)) with (a = x) where q == 3 { @exq(a) }", ["E202", "E201", "E202"]),
        ("while (c) with (a = x) { let b = n + x; a }", ["E201", "E207"]),
    ],
)
def test_several_mistakes_in_one_loop_are_found_in_one_run(body: str, codes: list[str]) -> None:
    _, said = of_body(body)
    assert [d.code for d in said if d.severity == "error"] == codes


@pytest.mark.parametrize(
    "text",
    [
        "const q : Size = LOOP\n",
        "@f = fn(x : Tensor([n])) where n == LOOP { x }\n",
        "@f = fn(x : Tensor([LOOP])) { x }\n",
        "@f = fn(x : Tensor([n])) : Tensor([LOOP]) { x }\n",
        "@f = fn(x : Tensor, n : Size = LOOP) { x }\n",
    ],
)
def test_a_loop_stands_in_bodies_alone(text: str) -> None:
    _, said = run(text.replace("LOOP", "(for i in range(3) with (k : Size = 0) { k + i })"))
    assert [d.code for d in said if d.severity == "error"] == ["E221"]


# The way back


class Programs:
    """Random functions with loops in each other, all of which are right."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.names = 0

    def fresh(self, base: str) -> str:
        self.names += 1
        return f"{base}{self.names}"

    def program(self) -> str:
        signature = (
            "x : Tensor([n, d], float32), y : Tensor([n], float32), k : Size, c : bool, w : Tensor([*r, d], float32)"
        )
        return f"@f = fn({signature}) {{\n{self.statements(2)}  {self.loop(2)}\n}}\n"

    def statements(self, depth: int) -> str:
        lines = [
            "let u = x + x",
            "let x = x * 2.0",
            f"let {self.fresh('q')} : Size = n * 2",
            "assert k >= 0",
            "let y = y",
        ]
        if depth:
            lines.append(f"let {self.fresh('v')} = {self.loop(depth - 1)}")
        return "".join(f"  {line}\n" for line in self.rng.sample(lines, self.rng.randint(0, 2)))

    def loop(self, depth: int) -> str:
        carries = [self.carry() for _ in range(self.rng.randint(0, 3))]
        named: dict[str, tuple[str, str]] = {text.split(" ")[0]: (text, following) for text, following in carries}
        stacks = [self.stack() for _ in range(self.rng.randint(0 if named else 1, 2))]
        index = self.fresh("i")
        ranges = ["range(n)", f"range(2, n + {self.fresh('1')[0]})", "range(0, x.dim(0), k)", "range(n, d, 3)"]
        counts = self.rng.random() < 0.6
        head = f"for {index} in {self.rng.choice(ranges)}" if counts else f"while ({self.condition()})"
        clauses = [f"with ({', '.join(text for text, _ in named.values())})"] if named else []
        if self.rng.random() < 0.4:
            clauses.append(f"where n >= 0, {f'{index} >= 0' if counts else 'd != 3'}")
        if counts and self.rng.random() < 0.4:
            clauses.append(f"while ({self.condition()})")
        if stacks:
            clauses.append(f"stack ({', '.join(text for text, _ in stacks)})")
        values = [following for _, following in named.values()] + [value for _, value in stacks]
        result = values[0] if len(values) == 1 else f"({', '.join(values)})"
        return f"{self.rng.choice([' ', chr(10)]).join([head, *clauses])} {{\n{self.statements(depth)}  {result}\n}}"

    def condition(self) -> str:
        return self.rng.choice(
            ["n < 3", "c", "@sum(y, axis=0) < 2.0", f"let {self.fresh('t')} = @sum(x); n > 3 || d == 2", "true"]
            + [f"let {(t := self.fresh('t'))} : Size = @item(@cast(@sum(y, axis=0), int64)); {t} < k"]
        )

    def carry(self) -> tuple[str, str]:
        """A carry, and what it is in the next turn."""
        a, p = self.fresh("a"), self.fresh("p")
        return self.rng.choice(
            [
                (f"{a} : Tensor([n, d], float32) = x", f"{a} + x"),
                (f"{a} = x", a),
                (f"{a} = x * 2.0", f"@relu({a})"),
                ("x = x", "x + x"),
                ("y : Tensor([n], float32) = y", "y"),
                (f"{a} : Size = k", f"{a} + 1"),
                (f"{a} : Tensor([{p}, d], float32) = x", f"@zeros([{p}, d], float32)"),
                (f"{a} : Tensor([{p} * 2, _{p}], t{p}) = x", f"@zeros([{p} * 2, 1], t{p})"),
                (f"{a} : (Size, Tensor([n], float32)) = (0, y)", a),
                (f"{a} : (Size, Tensor) = (0, y)", "if (n > 3) { (k, y) } else { (0, y) }"),
                (f"{a} = (x, y)", "(x, y)"),
                (f"{a} : Tensor([*s{p}, {p}, d], float32) = x", f"@zeros([*s{p}, {p}, d], float32)"),
                (f"{a} : Tensor([*r, d], float32) = w", a),
                (f"{a} : Tensor([{p}, ...]) = w", f"@zeros([{p}, 2])"),
                (f"{a} : Tensor(s{p}) = w", f"@zeros(s{p}, int8)"),
                (f"{a} : Bool = n > 3", f"!{a}"),
                (f"{a} : float32 = 0", f"{a} + 1"),
                (f"{a} : Shape = [n, *r]", "r"),
                (f"{a} : DType = int8", "x.dtype"),
            ]
        )

    def stack(self) -> tuple[str, str]:
        z = self.fresh("z")
        return self.rng.choice(
            [
                (f"{z} : Tensor([n, d], float32)", "x"),
                (f"{z} : Tensor([x.dim(0), {z}m], float32)", "x + x"),
                (f"{z} : Tensor([?, ?], float32)", "x"),
                (f"{z} : Tensor([{z}m, {z}m], float32)", "@zeros([n, n], float32)"),
                (f"{z} : int8", "3"),
                (f"{z} : Tensor([*r, d], float32)", "w"),
                (f"{z} : Tensor(r, float32)", "@zeros(r, float32)"),
                (f"{z} : Tensor([], float32)", "@sum(y)"),
            ]
        )


def test_a_random_program_with_loops_is_read_back_as_the_same_core() -> None:
    for case in fuzz.cases("cores of loops"):
        with case as seed:
            text = Programs(seed).program()
            before, said = run(text)
            assert [d for d in said if d.severity == "error"] == [], text
            printed = print_program(before)
            after, again = run(printed)
            assert [d for d in again if d.severity == "error"] == [], printed
            assert without_signatures(after) == without_signatures(before), printed
            assert print_program(after) == printed
            assert unbound(before) == [], printed
            laid_out, _ = format_source(Source("p.rx", text))
            assert laid_out is not None
            assert without_signatures(run(laid_out)[0]) == without_signatures(before)


def test_a_core_with_something_said_of_every_part_is_read_back_too() -> None:
    for case in fuzz.cases("comments of cores"):
        with case as seed:
            assert_read_back_with_comments(run(Programs(seed).program())[0])


def assert_read_back_with_comments(program: core.Program) -> None:
    said: list[core.Stmt | core.Call | core.Invariant | core.Stacked] = []

    def comment(place: core.Stmt | core.Call | core.Invariant | core.Stacked) -> str:
        said.append(place)
        return "said"

    after, again = run(print_program(program, comment))
    assert [d for d in again if d.severity == "error"] == []
    assert without_signatures(after) == without_signatures(program)
    parts = [n for n in walk(program.functions) if isinstance(n, core.Invariant | core.Stacked)]
    assert all(any(place is part for place in said) for part in parts)


def test_what_is_left_to_check_of_a_loop_is_told_behind_its_clause() -> None:
    loop = loop_of("for i in range(k) with (a = x) where n >= i stack (z : Tensor([?], float32)) { (a, y) }")
    left = core.Status.RESIDUAL
    invariant = tuple(replace(c, turn=left) if "n >= i" in print_expr(c.cond) else c for c in loop.invariant)
    changed = replace(loop, invariant=invariant, stacked=tuple(replace(s, status=left) for s in loop.stacked))
    program, _ = run(f"@f = fn({SIGNATURE}) {{ x }}")
    body = replace(program.functions[0].body, result=changed)
    text = listing(replace(program, functions=(replace(program.functions[0], body=body),)))
    assert "n >= i  # n >= i: after each turn residual: checked at run time\n" in text
    assert "stack (z : Tensor([?], float32))  # z: one shape in all turns: residual: checked at run time\n" in text


def without_signatures(program: core.Program) -> core.Program:
    """`signature` is the sweet one: text that is in core form already has it no more."""
    return replace(program, functions=tuple(replace(f, signature="") for f in program.functions))


def unbound(program: core.Program) -> list[str]:
    """The names that stand in a core program where nothing has bound them."""
    found: list[str] = []
    for function in program.functions:
        scope = {p.name for p in function.params}
        found += _unbound_in(core.Block(function.span, core.statements(function), function.body.result), scope)
    return found


def _unbound_in(block: core.Block, outer: set[str]) -> list[str]:
    scope, found = set(outer), []
    for stmt in block.stmts:
        found += _unbound_of(stmt, scope | set(stmt.binds if isinstance(stmt, core.MatchShape) else ()))
        scope |= set(core.bound_names(stmt))
    return [*found, *_unbound_of(block.result, scope)]


def _unbound_of(node: Node, scope: set[str]) -> list[str]:
    found = []
    for inner in walk(node, without=lambda n: isinstance(n, core.Block | core.Loop)):
        name = getattr(inner, "tensor", None) or (getattr(inner, "name", None) if isinstance(inner, NAMES) else None)
        found += [name] if name is not None and name not in scope else []
    for block in _blocks(node):
        found += _unbound_in(block, scope)
    for loop in _loops(node):
        found += _unbound_of_loop(loop, scope)
    return found


NAMES = core.Var | core.SizeVar | core.ShapeVar | core.DTypeVar | core.BoolVar | core.Splice


def _blocks(node: Node) -> Iterator[core.Block]:
    """The blocks of `if`s right below a node."""
    for inner in walk(node, without=lambda n: isinstance(n, core.Block | core.Loop)):
        if isinstance(inner, core.If):
            yield from (inner.then, inner.orelse)


def _loops(node: Node) -> Iterator[core.Loop]:
    if isinstance(node, core.Loop):
        yield node
        return
    for inner in walk(node, without=lambda n: isinstance(n, core.Block)):
        if isinstance(inner, core.Loop):
            yield inner


def _unbound_of_loop(loop: core.Loop, scope: set[str]) -> list[str]:
    found = []
    for outside in (*([loop.range] if loop.range else []), *(c.init for c in loop.carries), *loop.stacked):
        found += _unbound_of(outside, scope)
    inside = scope | {c.name for c in loop.carries} | ({loop.index} if loop.index else set())
    for condition in loop.invariant:
        found += _unbound_of(condition.cond, inside)
    if loop.cond is not None:
        found += _unbound_in(loop.cond, inside)
    return found + _unbound_in(loop.body, inside)


def test_a_loop_in_core_form_has_no_condition_more_than_it_says() -> None:
    text = """\
private @f_impl = fn(x : Tensor, n : Size) {
  let y = for i in range(n) with (a : Tensor = x) where a.rank == 1, a.dim(0) == n + i stack (z : Tensor([n, ?], int8)) {
    let z' = @zeros([n, 2], int8)
    assert z'.rank == 2
    assert z'.dim(0) == n
    assert z'.dtype == int8
    (a, z')
  }
  y
}
"""
    program, said = run(text)
    assert [d for d in said if d.severity == "error"] == []
    loop = next(n for n in walk(program.functions) if isinstance(n, core.Loop))
    assert conditions(loop) == ["a.rank == 1", "a.dim(0) == n + i"]
    assert len(loop.body.stmts) == 4


def test_an_assertion_that_no_longer_speaks_of_the_stacked_value_does_not_stand_for_its_type() -> None:
    loop = loop_of(
        "for i in range(3) stack (z : Tensor([n, d], float32))"
        " { assert x.rank == 2; assert x.dim(0) == n; assert x.dim(1) == d; assert x.dtype == float32; let x = y; x }"
    )
    assert statements(loop.body)[-4:] == [
        "assert x.rank == 2", "assert x.dim(0) == n", "assert x.dim(1) == d", "assert x.dtype == float32",
    ]  # fmt: skip
    assert statements(loop.body)[4] == "let x = y"
