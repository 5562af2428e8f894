"""Desugaring: goldens, the notes' assertions in their order, origins, errors, and the round trip through text."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from rxlang import pipeline
from rxlang.cli.main import invoke
from rxlang.desugar.desugar import desugar
from rxlang.desugar.errors import nearest
from rxlang.fixes.edits import applied
from rxlang.lang import core, sweet
from rxlang.lang.codes import CODES
from rxlang.lang.core_printer import print_expr, print_program, print_stmt
from rxlang.lang.diagnostics import Diagnostic
from rxlang.lang.files import Files
from rxlang.lang.modules import load_program
from rxlang.lang.node import Node, replace
from rxlang.lang.source import Source
from rxlang.ops.registry import lookup
from support.phases import core_of
from support.places import ROOT, TESTS

GOLDENS = TESTS / "goldens" / "desugar"
PROGRAMS = sorted(p for folder in (GOLDENS, TESTS / "notes", ROOT / "examples") for p in folder.rglob("*.rx"))


def run(text: str, name: str = "p.rx", base: Path = GOLDENS) -> tuple[core.Program, tuple[Diagnostic, ...]]:
    modules, syntax = load_program(Source(name, text), Files(base))
    program, diagnostics = desugar(modules, lookup)
    return program, (*syntax, *diagnostics)


def errors(diagnostics: tuple[Diagnostic, ...]) -> list[Diagnostic]:
    return [d for d in diagnostics if d.severity == "error"]


def fine(text: str) -> core.Program:
    program, diagnostics = run(text)
    assert errors(diagnostics) == []
    return program


def without_signatures(program: core.Program) -> core.Program:
    """`signature` is the sweet one: text that is in core form already has it no more."""
    functions = tuple(replace(f, signature="") for f in program.functions)
    return replace(program, functions=functions, gradients=())  # which are functions by then


def assertions(function: core.Function) -> list[str]:
    return [print_stmt(s) for s in core.statements(function)]


def find(program: core.Program, name: str) -> core.Function:
    return next(f for f in program.functions if f.name == name)


# Goldens and the round trip


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_no_sweet_node_stands_in_a_core_program(path: Path) -> None:
    stack: list[object] = [run(path.read_text(), path.name, path.parent)[0]]
    kinds: set[str] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, Node):
            kinds.add(type(node).__module__)
            stack.extend(getattr(node, f) for f in node._fields)
        elif isinstance(node, tuple):
            stack.extend(node)
    assert core.__name__ in kinds
    assert sweet.__name__ not in kinds


@pytest.mark.parametrize("path", sorted(GOLDENS.glob("*.rx")), ids=lambda p: p.stem)
def test_a_program_has_this_core(path: Path, golden: Callable[[Path, str], None]) -> None:
    program, diagnostics = run(path.read_text(), path.name)
    said = [f"# {_said(d)}\n" for d in diagnostics]
    golden(path.with_suffix(".core"), print_program(program) + "".join(said))


def _said(d: Diagnostic) -> str:
    line, column = d.span.source.position(d.span.start)
    return f"{d.severity}[{d.code}] {line}:{column} {d.message}"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_what_is_printed_is_read_as_the_same_core(path: Path) -> None:
    before, diagnostics = run(path.read_text(), path.name, path.parent)
    text = print_program(before)
    after, again = run(text, base=path.parent)
    if errors(diagnostics):
        assert "E" in errors(diagnostics)[0].code
        return
    assert errors(again) == []
    assert without_signatures(after) == without_signatures(before)
    assert print_program(after) == text


def test_the_notes_matmul_has_the_notes_assertions_in_their_order() -> None:
    program = fine((GOLDENS / "matmul.rx").read_text())
    assert assertions(find(program, "matmul")) == [
        "assert x.rank == 2",
        "assert y.rank == 2",
        "assert y.dim(0) == x.dim(1)",
        "assert y.dtype == x.dtype",
        "let out = @matmul_impl(x, y)",
        "assert out.rank == 2",
        "assert out.dim(0) == x.dim(0)",
        "assert out.dim(1) == y.dim(1)",
        "assert out.dtype == x.dtype",
    ]
    assert len(find(program, "matmul").checks) == 4


def test_one_size_check_on_entry_of_the_fast_flatten() -> None:
    wrapper = find(fine((ROOT / "examples" / "ff.rx").read_text()), "ff")
    shown = [print_stmt(s) for s in wrapper.checks]
    assert [s for s in shown if ".dim(" in s] == ["assert x.dim(1) % 4 == 0"]


def test_only_the_names_that_the_body_uses_are_named_in_it() -> None:
    program = fine("@f = fn(x : Tensor([n, m * 4], d)) : Tensor([n, m], d) { @zeros([2, m], int8) }")
    assert assertions(find(program, "f_impl")) == ["let m : Size = x.dim(1) / 4"]


def test_two_annotations_that_mean_one_size_are_asserted_once() -> None:
    wrapper = find(fine("@f = fn(x : Tensor([n * 2]), y : Tensor([n])) : Tensor { x }"), "f")
    assert assertions(wrapper) == ["assert x.rank == 1", "assert y.rank == 1", "assert x.dim(0) == y.dim(0) * 2"]


def test_a_rebound_tensor_does_not_change_what_a_size_means() -> None:
    program = fine("@f = fn(x : Tensor([n], d)) : Tensor([n], d) { let x = x[1:]; let y : Tensor([n], d) = x; y }")
    shown = assertions(find(program, "f_impl"))
    assert shown.index("let n : Size = x.dim(0)") < shown.index(
        "let x = @slice(x, starts=[1], stops=[x.dim(0)], axes=[0])"
    )
    assert "assert y.dim(0) == n" in shown


def test_a_script_prints_its_expressions_or_else_what_it_binds() -> None:
    assert fine("let a = tensor([1])\nlet b = a + a").script == ("a", "b")
    assert fine("let a = tensor([1])\nlet b = a + a\nb\na * 2").script == ("b", "out")
    assert fine("let a = tensor([1])\na\nlet a = a + a\na").script == ("out", "a")


def test_a_comment_stands_behind_its_statement() -> None:
    program = fine("@f = fn(x : Tensor([3])) : Tensor { @relu(@exp(x)) }")

    def comment(node: core.Stmt | core.Call) -> str | None:
        return "seen" if isinstance(node, core.Assert) else None

    assert "  assert x.rank == 1  # seen\n" in print_program(program, comment)


def test_a_signature_is_the_sweet_one_on_one_line() -> None:
    text = "@f = fn(x : Tensor([n, m*4], int8),\n y : Size = 3) : Tensor([n * m], int32) where n >= 1,\n m < 3 { x }"
    program, _ = run(text)
    wanted = "@f = fn(x : Tensor([n, m * 4], int8), y : Size = 3) : Tensor([n * m], int32) where n >= 1, m < 3"
    assert find(program, "f").signature == wanted


@pytest.mark.parametrize("params", ["x", "x : Tensor", "x : Tensor([_n])", "x : Tensor, y : Tensor([2])"])
@pytest.mark.parametrize(
    "first", ["assert x.dim(0) > 3", "let k : Size = x.rank", "let s : Shape = x.shape", "let a = x"]
)
def test_what_a_body_begins_with_is_none_of_its_checks(first: str, params: str) -> None:
    program = fine(f"@f = fn({params}) {{ {first}; @negative(x) }}")
    before, after = find(program, "f"), find(fine(print_program(program)), "f")
    assert [print_stmt(s) for s in before.body.stmts] == [first]
    assert (after.checks, after.body, after.promises) == (before.checks, before.body, before.promises)


@pytest.mark.parametrize(
    "text",
    [
        "@f = fn(x : Tensor([?, *v], ?)) : Tensor { assert v == [*v]; x }",
        "@f = fn(x' : (Tensor([n], int8), (Tensor([m], int8), Size))) : (Tensor([n], int8), Size) { (x'[0], x'[1][1]) }",
        "@f = fn(out : Tensor([n], d)) : (Tensor([n], d), (Tensor([m], d),)) where m >= 0 { (out, (out,)) }",
        "@f = fn(x : Tensor([n], d)) : Tensor { (for i in range(n) with (p' = (x, x)) { p' })[0] }",
        "@f = fn(x : Tensor([n], d)) : Tensor { @map(fn(r) { x }, x) }",
        "@f = fn(x : Tensor([n], d)) : Tensor { for i in range(n) stack (y : Tensor([n], x.dtype)) { x } }",
    ],
)
def test_whatever_is_printed_of_shapes_dtypes_and_parts_is_read_again(text: str) -> None:
    core = print_program(core_of(text))
    assert print_program(core_of(core)) == core
    report = pipeline.check_text(text, "f.rx", Path("."))
    assert report.checked is not None
    assert pipeline.check_text(print_program(report.checked.program), "f.rx", Path(".")).ok == report.ok


def test_a_tuple_that_a_body_takes_apart_is_none_of_its_checks() -> None:
    program = fine("@f = fn(x : (Tensor, Tensor([_n]))) { let (a, b) = x; b }")
    before, after = find(program, "f"), find(fine(print_program(program)), "f")
    assert [print_stmt(s) for s in before.body.stmts] == ["let (a, b) = x"]
    assert (after.checks, after.body) == (before.checks, before.body)


def test_checks_body_and_promises_are_three_parts() -> None:
    function = find(fine("@f = fn(x : Tensor([n, 3], d)) : Tensor([k], d) where k <= n, n > 2 { x[0, :] }"), "f")
    shown = [[print_stmt(s) for s in part] for part in (function.checks, function.body.stmts, function.promises)]
    assert shown == [
        ["assert x.rank == 2", "assert x.dim(1) == 3", "assert x.dim(0) > 2"],
        ["let out = @f_impl(x)"],
        ["assert out.rank == 1", "assert out.dtype == x.dtype", "assert out.dim(0) <= x.dim(0)"],
    ]
    assert (function.impl, print_expr(function.body.result)) == ("f_impl", "out")


# Origins


def checks(program: core.Program, name: str) -> list[core.Assert]:
    return [s for s in core.statements(find(program, name)) if isinstance(s, core.Assert)]


def test_an_assertion_knows_the_part_of_the_annotation_that_it_was_made_of() -> None:
    program = fine("@f = fn(x : Tensor([n, m  * 4], int8)) : Tensor([n], int8) where n >= 1 { x[:, 0] }")
    shown = [(a.origin.what, a.origin.axis, a.origin.text, a.origin.claim) for a in checks(program, "f")]
    assert shown == [
        ("rank", None, "[n, m * 4]", True),
        ("dim", 1, "m * 4", True),
        ("dtype", None, "int8", True),
        ("where", None, "n >= 1", True),
        ("rank", None, "[n]", True),
        ("dim", 0, "n", True),
        ("dtype", None, "int8", True),
    ]
    assert [a.origin.span.text for a in checks(program, "f")][1] == "m  * 4"


def test_an_annotation_knows_the_names_that_others_bind() -> None:
    program = fine((GOLDENS / "matmul.rx").read_text())
    found = {str(a.origin.declared.subject): a.origin.declared for a in checks(program, "matmul") if a.origin.declared}
    bound = {name: [n for n, _ in d.bound] for name, d in found.items()}
    assert bound == {"x": [], "y": ["k", "d"], "the result of @matmul": ["m", "n", "d"]}
    assert [d.kind for d in found.values()] == ["param", "param", "result"]
    assert [d.position for d in found.values()] == [0, 1, None]
    assert found["y"].function == "matmul"


@pytest.mark.parametrize(
    ("statement", "kind", "claim"),
    [
        ("let y : Tensor([3]) = x", "claim", True),
        ("let y ! Tensor([3]) = x", "asserting", False),
        ("match_shape(x, [], [3])", "match_shape", False),
    ],
)
def test_claims_and_assertions_are_told_apart(statement: str, kind: str, claim: bool) -> None:
    program = fine(f"@f = fn(x : Tensor) : Tensor {{ {statement}; x }}")
    for made in checks(program, "f"):
        assert made.origin.declared is not None
        assert (made.origin.declared.kind, made.origin.claim) == (kind, claim)


def test_every_core_node_has_a_place_in_the_source() -> None:
    text = (GOLDENS / "tuple_layer.rx").read_text()
    program, _ = run(text)
    spans = [n.span for f in program.functions for n in _nodes(f.body) if "span" in n._fields]
    assert len(spans) > 50
    assert all(s.source.text == text and s.end > s.start for s in spans)


def _nodes(node: object) -> list[Node]:
    if isinstance(node, Node):
        return [node, *(m for f in node._fields if f not in ("span", "origin") for m in _nodes(getattr(node, f)))]
    if isinstance(node, tuple):
        return [m for item in node for m in _nodes(item)]
    return []


# Errors

WRONG = [
    ("let x = n * m", "E201", "nothing is called `n` here"),
    ("@f = fn(x : Tensor([n, m])) : Tensor([n * m]) { let y = n * m; x }", "E207", "`n * m` is a Size, not a tensor"),
    ("@f = fn(x : Tensor([n])) : Tensor([n]) { x + n }", "E207", "`n` is a Size, not a tensor"),
    ("@f = fn(x : Tensor([n])) : Tensor([n]) { if (n > 3 && x > 3) { x } else { x } }", "E207", "`n > 3` is a Bool"),
    ("@f = fn(x : Tensor([a * b])) : Tensor { x }", "E208", "nothing says what `a` is: `a * b` has `b` as well"),
    ("@f = fn(x : Tensor([(h + 2) // 3])) : Tensor { x }", "E208", "`(h + 2) // 3` has no unique solution for `h`"),
    ("@f = fn(x : Tensor([h + h])) : Tensor { x }", "E208", "`h` occurs twice in `h + h`"),
    ("@f = fn(x : Tensor([a * a]), y : Tensor([a * a])) : Tensor { x }", "E208", "`a` occurs twice in `a * a`"),
    ("@f = fn(x : Tensor([a * b]), y : Tensor([a * b, a + b])) : Tensor { x }", "E208", "nothing says what `a` is"),
    ("@f = fn(x : Tensor([a * b])) : Tensor([a * b]) { @zeros([a], int8) }", "E201", "nothing is called `a` here"),
    ("@f = fn(x : Tensor([h * 0])) : Tensor { x }", "E208", "`h * 0` is 0 for every `h`"),
    ("@f = fn(x : Tensor([*s, *t])) : Tensor { x }", "E209", "only one splice of unknown length"),
    ("@f = fn(x : Tensor([*s, *s]), y : Tensor([*s, *s])) : Tensor { x }", "E209", "only one splice of unknown length"),
    ("@f = fn(x : Tensor([..., *t])) : Tensor { x }", "E209", "only one splice of unknown length"),
    ("@f = fn(x : Tensor, x : Size) : Tensor { x }", "E203", "two parameters are called `x`"),
    ("@f = fn(x : Tensor([x])) : Tensor { x }", "E206", "`x` is a tensor; a Size is needed here"),
    ("@f = fn(x : Tensor([n]), y : Tensor(n)) : Tensor { x }", "E206", "`n` is a "),
    ("@f = fn(x : Tensor([n])) : Tensor { let n = x; @zeros([n], int8) }", "E204", "`n` is already a Size here"),
    ("@f = fn(x : Tensor([n])) : Tensor { let x : Size = n; x }", "E204", "`x` is already a value here"),
    ("@f = fn(x : Tensor([n])) : Tensor { match_shape(x, [n], [n]); x }", "E204", "`n` is already bound here"),
    ("@f = fn(x : Tensor) : Tensor { match_shape(x, [k], [3]); x }", "E208", "`k` does not occur in the shape"),
    ("@f = fn(x : Tensor) : Tensor { match_shape(x, [], [k]); x }", "E201", "match_shape does not bind it"),
    ("@f = fn(x : Tensor) : Tensor { let y = @relu(x) }", "E210", "this block has no result"),
    ("@f = fn(x : Tensor) : Tensor { @f(x) }", "E212", "@f calls itself: its result has to be annotated"),
    ("@g = fn(x : Tensor) { @h(x) }\n@h = fn(x : Tensor) { @g(x) }", "E212", "calls itself"),
    ("@main = fn() : Tensor { tensor(1) }\nlet x = 3", "E213", "a file has a script or @main, not both"),
    ("inline @f = fn(x : Tensor([n])) : Tensor { x }", "E214", "@f is inline: its types have to be bare"),
    ("private @f = fn(x : Tensor) : Tensor where true { x }", "E214", "assert its conditions"),
    ("inline @f = fn(x, y) { let out = @g(y, x); out }\nprivate @g = fn(x, y) { x }", "E214", "hand its parameters on"),
    ("inline @f = fn(x) { let out = @g(x); @relu(out) }\nprivate @g = fn(x) { x }", "E214", "gives the result of that call"),
    ("inline @f = fn(x) { let out = @g(x); let y = @relu(x); out }\nprivate @g = fn(x) { x }", "E214", "only asserts"),
    ("inline @f = fn(x) { let (a, b) = @g(x); a }\nprivate @g = fn(x) { (x, x) }", "E214", "gives the result of that call"),
    ("@f = fn(x) { assert x.rank == 1 } { x }", "E214", "only an `inline` function has its checks in a block"),
    ("inline @f = fn(x) { x } { x }", "E214", "the checks of a function have no result"),
    ("inline @f = fn(x) { let y = @relu(x) } { y }", "E214", "the checks of @f only assert"),
    ("inline private @f = fn(x : Tensor) : Tensor { x }", "E214", "cannot be both inline and private"),
    ("@f = fn(x : Tensor) : Tensor { assert x.foo == 3; x }", "E215", "there is no `.foo`"),
    ("@f = fn(x : Tensor) : Tensor { x.T }", "E215", "there is no `.T`"),
    ("@f = fn(x : Tenser) : Tensor { x }", "E216", "there is no type `Tenser`"),
    ("type A = (A, Tensor)", "E217", "the type `A` is defined by itself"),
    ('@f = fn() : Tensor { load("x.npy") }', "E218", "weights are loaded by a const"),
    ("@f = fn(x : Tensor([n])) : Tensor { if (n > 3) { x } else { (x, x) } }", "E219", "one arm gives a tensor"),
    ("@f = fn(x : Tensor([n])) : Tensor { if (n > 3) { x } }", "E219", "this `if` has no `else`"),
    ("@f = fn(x : Tensor([n])) : Tensor { @sum(x, axis=n) }", "E220", "`axis` has to be a literal integer"),
    ("@f = fn(x : Tensor([n, n]), k : Size) : Tensor { @matrix_norm(x, ord=k) }", "E220", "`ord` has to be a literal string"),
    ("@f = fn(x : Tensor([n])) : Tensor { @sum(x, axis=none) }", "E201", "nothing is called `none` here"),
    ("@f = fn(x : Tensor([n])) : Tensor { assert x.dim(n) == 3; x }", "E220", "the axis of .dim has to be a literal"),
    ("prim @f = fn(x : Tensor) : Tensor", "E221", "a program has none"),
    ("@f = fn(x : Tensor) : Tensor", "E221", "@f has no body"),
    ('@f = fn(x : Tensor) : Tensor { x } = "a:b"', "E221", "only an `extern` has a Python callable"),
    ("@f = [@g]\n@g = [@h]\n@h = fn() : Tensor { tensor(1) }", "E222", "@g is a list of implementations itself"),
    ("@f = [@g, @abs]\n@g = fn(k : Size) : Tensor { tensor(1) }", "E222", "`k` is a Size for @g, and a tensor for @abs"),
    ("@f = [@g, @shape_of]\n@g = fn(x) : Tensor { x }\n@shape_of = fn(x) : (Tensor, Tensor) { (x, x) }", "E222", "gives a"),
    ("@f = fn(x : Tensor([n], flaot32)) : Tensor([n]) { x }", "E225", "there is no dtype `flaot32`"),
    ("@f = fn(x) : Tensor([1]) { x }\n@g = fn(x) : Tensor { @f_impl(x) }", "E224", "only @f calls it"),
    ("inline @f = fn(x) { let y = @f_impl(x); y }\nprivate @f_impl = fn(x) { x }\n@g = [@f_impl]", "E224", "only @f"),
    ("@f = [@g, @h]\n@g = fn() : Tensor { tensor(1) }\n@h = fn(x) : Tensor { x }", "E222", "@g takes 0 arguments"),
    ("@f = fn(x : Tensor) : Tensor { @rleu(x) }", "E202", "there is no function `@rleu`"),
    ("@f = fn(x : Tensor) : Tensor { @attn.block(x) }", "E202", "there is no import called `attn`"),
    ("@f = fn(x : Tensor) : Tensor { @relu(x, y=3) }", "E205", "@relu has no parameter `y`"),
    ("@f = fn(x : Tensor) : Tensor { @relu(x, x) }", "E205", "@relu takes at most 1 argument"),
    ("@f = fn(x : Tensor) : Tensor { @reshape(x) }", "E205", "@reshape is called without `shape`"),
    ("@f = fn(x : Tensor) : Tensor([1]) { @f() }", "E205", "@f is called without `x`"),
    ("@f = fn(x : Tensor) : Tensor([1]) { @f(x, 1) }", "E205", "@f takes 1 argument"),
    ("@f = fn(x : Tensor) : Tensor([1]) { @f(x, x=x) }", "E205", "@f gets `x` twice"),
    ("@f = fn(x : (Tensor, Tensor)) : Tensor { let (a, b, c) = x; a }", "E206", "this is a tuple of 2; here are 3 names"),
    ("@f = fn(x : (Tensor, Tensor)) : Tensor { x + 1 }", "E206", "this is a tuple of 2; a tensor is needed here"),
    ("@f = fn(x : Tensor) : Tensor { x(x) }", "E206", "`x` is a tensor, not a function"),
    ("@f = fn(g : fn(Tensor) : Tensor) : Tensor { g(1, 2) }", "E205", "`g` takes 1 argument; this call has 2"),
    ("@f = fn(x : Tensor) : Tensor { assert x > 3; x }", "E206", "`x` is a tensor; a Size is needed here"),
    ("@f = fn(x : Tensor) : Tensor { assert x.shape < [3]; x }", "E206", "`<` compares Sizes; these are Shapes"),
    ("@f = fn(x : Tensor) : Tensor { @reshape(x, 3.5) }", "E206", "a Shape is needed here"),
    ("@f = fn(x : Tensor([n], d)) : Tensor where d in floting { x }", "E201", "no class of dtypes called `floting`"),
    ("@f = fn(x : Tensor([n], d)) : Tensor where k <= n { x }", "E201", "nothing is called `k` here"),
    ("@f = fn(x : Tensor) : Tensor { for r in x with (a = x) { a } }", "E226", "behind `in` stands a range"),
    ("@f = fn(x : Tensor) { for i in range(3) with (a = 0) { a } }", "E227", "`a` begins as a number, and needs a type"),
    ("@f = fn(x : Tensor) { while (true) with (a = x) { (a, a) } }", "E228", "a turn gives `a`; here are 2 values"),
    ("@f = fn(x : Tensor) { for i in range(3) stack (y : Tensor([i], int8)) { x } }", "E229", "`i` changes from turn"),
    (
        "@f = fn(x : Tensor) { for i in range(3) with (a : Tensor([*s, n], d) = x) where s == [2] { a } }",
        "E299", "this type is not supported for a carried value yet",
    ),
    ("@f = fn(x : Tensor) : Tensor { x }\n@f = fn(x : Tensor) : Tensor { x }", "E203", "`@f` is defined twice"),
    ("const n : Size = 3\nconst n : Size = 4", "E203", "`n` is defined twice"),
    ("const n = [2, 3]", "E207", "the sort of `n` has to be said"),
    ("let a = tensor([[1, 2], [3]], int8)", "E211", "this row has 1 element, the first one has 2"),
    ("let a = tensor([[1], 2])", "E211", "a number stands where the rows before have a list"),
    ("let a = tensor([1, [2]])", "E211", "a list stands where the rows before have a number"),
    ("let a = tensor([1, 200], int8)", "E211", "200 does not fit int8: it holds -128 to 127"),
    ("let a = tensor([1, 2.5])", "E211", "a float among elements that begin with an integer"),
    ("let a = tensor([1.5], int32)", "E211", "a float cannot be an element of int32"),
    ("let a = tensor([true], int32)", "E211", "a truth value cannot be an element of int32"),
    ("let a = tensor([1e10], float16)", "E211", "is too large for float16"),
    ("let a = tensor([])", "E211", "an empty literal needs a dtype"),
    ("let a = tensor([n], int8)", "E211", "a tensor literal is made of literal numbers"),
]  # fmt: skip


def unknowns_underscored(text: str) -> str:
    """A program with `_` for each `?` of a type, and for each splice of nothing."""
    return re.sub(r"(?<=[\[( ])\?(?=[\], )])", "_", re.sub(r"(?<=Tensor\(\[)\.\.\.(?=[,\]])", "*_", text))


OPEN = [p for p in sorted((TESTS / "goldens").rglob("*.rx")) if unknowns_underscored(p.read_text()) != p.read_text()]


def test_an_underscore_in_a_type_names_nothing() -> None:
    assert len(OPEN) >= 8
    for path in OPEN:
        of = [run(text, base=path.parent) for text in (path.read_text(), unknowns_underscored(path.read_text()))]
        meant, same = (without_signatures(program) for program, _ in of)
        assert print_program(meant) == print_program(same), path
        assert [d.code for d in of[0][1]] == [d.code for d in of[1][1]], path


@pytest.mark.parametrize(
    "wrong",
    ["y : Tensor([_ * 2])", "y : Tensor([n])) where _ > 2", "y : Tensor([n, _])) { y[_] }", "y : Tensor([n])) { _ }"],
)
def test_nothing_is_computed_from_what_has_no_name(wrong: str) -> None:
    _, found = run(f"@f = fn({wrong}" + (")" if wrong.count(")") < 2 else "") + ("" if "{" in wrong else " { y }"))
    assert [d.code for d in errors(found)] == ["E221"]


def test_an_underscore_may_be_bound_again_as_anything() -> None:
    program = fine("""
        @f = fn(_ : Tensor([n, _]), k : Size) : Tensor {
          let _ : Size = k
          let (_, _) = (k, @ones([n]))
          for _ in range(k) with (y = @ones([n])) { for _ in range(n) with (z = y) { z } }
        }""")
    again, found = run(print_program(program))
    assert not errors(found) and print_program(again) == print_program(program)


@pytest.mark.parametrize(("text", "code", "message"), WRONG, ids=[f"{c}-{i}" for i, (_, c, _) in enumerate(WRONG)])
def test_a_mistake_is_one_error_in_the_users_words(text: str, code: str, message: str) -> None:
    _, diagnostics = run(text)
    found = errors(diagnostics)
    assert [d.code for d in found] == [code]
    assert message in found[0].message
    assert found[0].span.text.strip()


def test_every_code_of_this_phase_has_a_wrong_program() -> None:
    shown = {code for _, code, _ in WRONG}
    elsewhere = {
        "E223",
        "E240",
        "E241",
        "E242",
        "E243",
        "E244",
        "E245",
        "E246",
        "E247",
        "E248",
        "E250",
        "E251",
        "E252",
        "E230",
        "E231",
        "E232",
        "E253",
    }
    assert {code for code in CODES.values() if code.phase == "names"} == shown | elsewhere


def test_several_mistakes_are_found_in_one_run() -> None:
    text = "@f = fn(x : Tensor([n])) : Tensor { let a = @rleu(x); let b = a + n; @exq(b) + n }\nlet c = @f(1, 2)"
    _, diagnostics = run(text)
    assert [d.code for d in errors(diagnostics)] == ["E202", "E202", "E207", "E205"]


def test_what_depends_on_a_mistake_says_nothing_more() -> None:
    text = """
@f = fn(x : Tensor([a * b], d), y : Tensor([a])) : Tensor([b], d) { let z = @nope(x, b); let (p, q) = z; p + q }
@g = fn(x : Tensor([q * r])) : Tensor([q]) { @f(x, @h(x)) }
@h = fn(x : Nowhere) { x }
const n : Size = m
let k : Size = n + 1
let v = @g(tensor([1]))
"""
    _, diagnostics = run(text)
    assert [(d.code, d.span.text) for d in errors(diagnostics)] == [
        ("E202", "@nope"),
        ("E208", "q"),
        ("E216", "Nowhere"),
        ("E201", "m"),
    ]


def test_names_in_unreadable_text_are_not_reported_again() -> None:
    text = "@f = fn(x : Tensor([n) : Tensor { x }\n@g = fn(x : Tensor) : Tensor { @f(x) }\nlet = 3\n"
    _, diagnostics = run(text)
    assert {d.code[:2] for d in errors(diagnostics)} == {"E1"}


def test_what_follows_from_fixed_text_is_not_reported() -> None:
    text = "@f = fn(x : Tensor([2n])) : Tensor([n, 2]) { @reshape(x, [n, 2]) }\nlet y = @nope(3)\nlet z = 3 − 2"
    _, diagnostics = run(text)
    assert [d.code[:2] for d in errors(diagnostics)] == ["E1", "E1", "E2"]


def test_an_implementation_that_is_wrong_leaves_its_promises_to_its_callers() -> None:
    program, diagnostics = run(
        "@f = fn(x : Tensor([n])) : Tensor([n]) { @nope(x) }\n@g = fn() : Tensor { @f(tensor([1])) }"
    )
    assert [d.code for d in errors(diagnostics)] == ["E202"]
    assert [(f.name, f.kind) for f in program.functions] == [("f", "extern"), ("g", "inline")]


def test_what_calls_a_broken_function_is_left_out() -> None:
    program, diagnostics = run(
        "@f = fn(x : Tensor([a * b])) { x }\n@g = fn(x) { @f(x) }\n@h = fn(x) { x }\n@i = [@g, @h]"
    )
    assert [d.code for d in errors(diagnostics)] == ["E208"]
    assert [f.name for f in program.functions] == ["h"]
    assert program.impls == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@f = fn(x : Tensor([b, t, d], float32), y : Tensor([b, t, dd], float32)) : Tensor([b, t, d]) { x }", ["y", "dd"]),
        ("@f = fn(x : Tensor([_b, t], e)) : Tensor([t], e) { x[0] }", []),
        ("@f = fn(x : Tensor([b, t])) : Tensor([t]) { let y ! Tensor([q, b]) = x; let z ! Tensor([k * 64]) = y; x[0] }", []),
        ("@f = fn(x : Tensor([b, t])) : Tensor([t]) { let y ! Tensor([q, w]) = x; x[0] }", []),
        ("@f = fn(x : Tensor([b, t])) : Tensor([t]) { let y ! Tensor([q]) = x[0]; x[0] }", []),
        ("@f = fn(x : Tensor([n, v]), i : Tensor([n, 1])) : Tensor([n]) { @sum(x, axis=1) }", ["i"]),
        ("@f = fn(x : Tensor([n, v], e), y : Tensor([u, w], e)) : Tensor([n]) { @sum(x, axis=1) }", ["y"]),
        ("@f = fn(x : Tensor([n, v]), y : Tensor([u, w])) : Tensor([n]) { @sum(x, axis=1) }", ["y"]),
        ("@f = fn(x : Tensor([n, v]), y : Tensor([u, 2 * n])) : Tensor([n]) { @sum(x, axis=1) }", ["y"]),
        ("@f = fn(x : Tensor([n])) : Tensor([k]) { @filter(x, x > 0) }", []),
        ("@f = fn(x : Tensor([n])) : Tensor where n > 3 { x }", []),
        ("@f = fn(x : Tensor([n])) : Tensor { @nope(x) }", []),
    ],
)  # fmt: skip
def test_a_name_that_is_bound_and_never_used_is_noted(text: str, names: list[str]) -> None:
    _, diagnostics = run(text)
    assert [d.span.text for d in diagnostics if d.code == "N201"] == names


@pytest.mark.parametrize(
    ("name", "meant"),
    [("rleu", "relu"), ("conact", "concat"), ("x", None), ("softmx", "softmax"), ("zzzz", None)],
)
def test_the_nearest_name_is_suggested(name: str, meant: str | None) -> None:
    assert nearest(name, ["relu", "concat", "softmax", "add"]) == meant


@pytest.mark.parametrize("depth", [20, 60, 100, 150, 199])
@pytest.mark.parametrize(
    ("front", "middle", "back"),
    [
        ("@relu(", "x", ")"),
        ("x + ", "x", ""),
        ("(", "x", ",)"),
        ("if (n > 3) { let y = ", "x", "\n y } else { x }"),
        ("fn(x : Tensor([n])) : Tensor([n]) { ", "x", " }"),
        ("tensor([", "1", "])"),
    ],
)
def test_deep_nesting_is_read_or_refused(front: str, middle: str, back: str, depth: int) -> None:
    program, diagnostics = run(f"@f = fn(x : Tensor([n])) {{ {front * depth}{middle}{back * depth} }}")
    assert errors(diagnostics) or find(program, "f").body.result


# Mutated programs

TOKEN = re.compile(r"[A-Za-z_@][\w.']*|\d+\.?\d*|\"[^\"\n]*\"|//|\*\*|==|!=|<=|>=|&&|\|\||\.\.\.|\s+|.", re.S)
SOURCES = [TOKEN.findall(p.read_text()) for p in PROGRAMS] + [TOKEN.findall(text) for text, _, _ in WRONG]
TOKENS = sorted({t for tokens in SOURCES for t in tokens})


@given(st.data())
def test_no_mutated_program_makes_it_raise_and_what_is_right_makes_the_round_trip(data: st.DataObject) -> None:
    tokens = list(data.draw(st.sampled_from(SOURCES)))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(tokens) - 1))
        if data.draw(st.booleans()):
            tokens[at] = data.draw(st.sampled_from(TOKENS))
        else:
            tokens.insert(at, data.draw(st.sampled_from(tokens)))
    program, diagnostics = run("".join(tokens))
    text = print_program(program)
    if errors(diagnostics):
        return
    again, said = run(text)
    assert errors(said) == []
    assert without_signatures(again) == without_signatures(program)


@pytest.mark.parametrize("text", ["2", "2.5", "(true, 3)", "let x = @zeros([2])\n(1, x)"])
def test_a_number_that_a_script_shows_makes_the_round_trip(text: str) -> None:
    program, _ = run(text)
    again, said = run(print_program(program))
    assert errors(said) == []
    assert without_signatures(again) == without_signatures(program)


def test_the_sweet_tree_is_not_changed() -> None:
    modules, _ = load_program(Source("p.rx", (GOLDENS / "splice.rx").read_text()), Files(GOLDENS))
    before = modules.entry.module
    desugar(modules, lookup)
    assert modules.entry.module == before
    assert isinstance(before.items[0], sweet.FnDecl)


def test_a_name_that_may_be_a_slip_is_told_with_the_name_that_is_near() -> None:
    text = "@f = fn(x : Tensor([b, t, d], float32), y : Tensor([b, t, dd], float32)) : Tensor([b, t, d], float32) { x }"
    report = pipeline.check_text(text, "slip.rx", Path("."))
    (found,) = [d for d in report.diagnostics if d.code == "N201" and d.span.text != "y"]
    assert found.span.text == "dd" and found.help is not None and found.help.startswith("did you mean `d`?")


@pytest.mark.parametrize(
    ("signature", "brackets"),
    [("Tensor(n, m)", True), ("Tensor(s, float32)", False), ("Tensor([n, m], float32)", False)],
)
def test_a_shape_and_a_dtype_that_nothing_uses_may_be_meant_as_sizes(signature: str, brackets: bool) -> None:
    report = pipeline.check_text(f"@f = fn(x : {signature}) : Tensor {{ x }}", "slip.rx", Path("."))
    helps = [d.help or "" for d in report.diagnostics if d.code == "N201"]
    assert any("sizes stand in brackets" in h for h in helps) is brackets


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("let y = x\n  -y", True),
        ("let y = @relu(x)\n  -(y + 1.0) * 2.0", True),
        ("let y = x\n  -y + x", True),
        ("let y = x -\n  x", False),
        ("let y = x - x", False),
        ("let y = x", False),
    ],
)
def test_a_result_that_begins_with_a_minus_is_told_how_it_is_written(body: str, told: bool) -> None:
    _, found = run(f"@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) {{\n  {body}\n}}")
    (said,) = [d for d in found if d.code == "E210"]
    assert said.help is not None and ("`(-y)`" in said.help) is told


@pytest.mark.parametrize(
    ("body", "meant"),
    [
        ("let y = x\n  -y", "let y = x\n  (-y)"),
        ("let y = @exp(x) * 2.0\n  -(y + 1.0) / y", "let y = @exp(x) * 2.0\n  (-(y + 1.0) / y)"),
        ("let y = x\n  -y + x\n  -x", "let y = x\n  (-y + x\n  -x)"),
        ("let y = @map(fn(a : Tensor([], float32)) { let b = a\n -b }, x)\n  y", None),
        ("for i in range(n) with (x = x) { let y = x\n -y }", None),
        ("if (n > 1) { let y = x\n -y } else { x }", None),
    ],
)
def test_a_result_that_begins_with_a_minus_is_one_mistake_and_fixed(body: str, meant: str | None) -> None:
    head = "@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) {\n  "
    _, found = run(f"{head}{body}\n}}")
    (said,) = errors(found)
    assert said.code == "E210" and said.span.text.startswith("-")
    fixed = applied(f"{head}{body}\n}}", said.edits)
    assert meant is None or fixed == f"{head}{meant}\n}}"
    assert errors(run(fixed)[1]) == []


def test_an_underscore_may_stand_for_several_parts_of_a_tuple() -> None:
    text = "@f = fn(x : Tensor([n, 3], float32)) : Tensor { let (a, _, _) = @split(x, 3, axis=1); a }"
    assert "let (a, unused, unused') = @split(x, 3, axis=1)" in assertions(find(fine(text), "f"))


@pytest.mark.parametrize(("text", "code", "message"), WRONG, ids=[f"{c}-{i}" for i, (_, c, _) in enumerate(WRONG)])
def test_the_core_of_a_rejected_program_is_a_program(
    text: str, code: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.rx"
    path.write_text(text)
    assert invoke(["desugar", str(path)]) == 1
    printed = capsys.readouterr().out
    assert "extern" in text or "extern" not in printed
    _, diagnostics = pipeline.desugar_source(Source("core.rx", printed), tmp_path)
    assert not [d for d in errors(diagnostics) if d.code != "E213"], printed
