"""What the parser makes of programs: forms, spans, soft words, robustness, and the table it runs on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from rxlang.grammar import generate
from rxlang.lang import sweet
from rxlang.lang.diagnostics import RxError
from rxlang.lang.lalr import MAX_DEPTH
from rxlang.lang.node import Node
from rxlang.lang.parser import decode, parse, parse_expr, parse_type
from rxlang.lang.source import NOWHERE, Source
from support.places import TESTS

SNIPPETS = sorted((TESTS / "data" / "snippets").glob("*.rx"))


def name(text: str) -> sweet.Name:
    return sweet.Name(NOWHERE, text)


def number(value: int) -> sweet.IntLit:
    return sweet.IntLit(NOWHERE, value)


def binary(op: str, left: sweet.Expr, right: sweet.Expr) -> sweet.Binary:
    return sweet.Binary(NOWHERE, op, left, right)


def ident(text: str) -> sweet.Ident:
    return sweet.Ident(NOWHERE, text)


def only_item(text: str) -> sweet.Item:
    module, problems = parse(Source("one.rx", text))
    assert not problems, problems
    (item,) = module.items
    return item


def codes(text: str) -> list[str]:
    return [problem.code for problem in parse(Source("bad.rx", text))[1]]


def test_table_is_what_the_grammar_generates() -> None:
    written = (Path(generate.__file__).parent / "table.py").read_text(encoding="utf-8")
    assert written == generate.build(), "run `python -m rxlang.grammar.generate`"


def test_grammar_has_no_conflicts() -> None:
    assert generate.read_grammar() is not None  # strict: a conflict raises


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
def test_snippet_of_the_notes_parses(path: Path) -> None:
    module, problems = parse(Source(path.name, path.read_text()))
    assert not problems
    assert module.items


def test_there_are_all_snippets() -> None:
    assert len(SNIPPETS) >= 30


PRECEDENCE = [
    ("a + b * c", "a + (b * c)"),
    ("a - b - c", "(a - b) - c"),
    ("a * b / c // d % e", "(((a * b) / c) // d) % e"),
    ("-a ** b", "-(a ** b)"),
    ("a ** b ** c", "a ** (b ** c)"),
    ("a ** -b", "a ** (-b)"),
    ("-a * b", "(-a) * b"),
    ("- -a", "-(-a)"),
    ("a + b == c - d", "(a + b) == (c - d)"),
    ("!a == b", "!(a == b)"),
    ("a == !b", "a == (!b)"),
    ("!a && b", "(!a) && b"),
    ("a || b && c", "a || (b && c)"),
    ("a && b || c && d", "(a && b) || (c && d)"),
    ("a == b && c < d", "(a == b) && (c < d)"),
    ("d in floating && a", "(d in floating) && a"),
    ("a + b in floating", "(a + b) in floating"),
    ("-x.dim(0)", "-(x.dim(0))"),
    ("x.dim(0)[1](2)", "((x.dim(0))[1])(2)"),
]


@pytest.mark.parametrize(("text", "meaning"), PRECEDENCE)
def test_operators_bind_as_their_parentheses_say(text: str, meaning: str) -> None:
    assert parse_expr(text) == parse_expr(meaning)


def test_forms_of_expressions() -> None:
    assert parse_expr("x.rank") == sweet.Attr(NOWHERE, name("x"), ident("rank"))
    assert parse_expr("()") == sweet.TupleExpr(NOWHERE, ())
    assert parse_expr("(a,)") == sweet.TupleExpr(NOWHERE, (name("a"),))
    assert parse_expr("(a, b,)") == sweet.TupleExpr(NOWHERE, (name("a"), name("b")))
    assert parse_expr("(a)") == name("a")
    assert parse_expr("[]") == sweet.ListExpr(NOWHERE, ())
    assert parse_expr("[*b, ?, ..., 3]") == sweet.ListExpr(
        NOWHERE, (sweet.Splice(NOWHERE, ident("b")), sweet.Unknown(NOWHERE), sweet.Dots(NOWHERE), number(3))
    )
    assert parse_expr("@attn.block(x, axis=1)") == sweet.Call(
        NOWHERE,
        sweet.FnName(NOWHERE, "attn.block"),
        (sweet.Arg(NOWHERE, None, name("x")), sweet.Arg(NOWHERE, ident("axis"), number(1))),
    )
    assert parse_expr("d in {float16, float32}") == sweet.InClass(
        NOWHERE, name("d"), (name("float16"), name("float32")), True
    )
    assert parse_expr("d in floating") == sweet.InClass(NOWHERE, name("d"), (name("floating"),), False)
    assert parse_expr("true") == sweet.BoolLit(NOWHERE, True)
    assert parse_expr("out'") == name("out'")


SLICES = ["x[:]", "x[a:]", "x[:b]", "x[a:b]", "x[::c]", "x[a::c]", "x[:b:c]", "x[a:b:c]", "x[a:b:]"]


@pytest.mark.parametrize("text", SLICES)
def test_a_slice_has_the_parts_that_are_written(text: str) -> None:
    index = parse_expr(text)
    assert isinstance(index, sweet.Index)
    (item,) = index.items
    assert isinstance(item, sweet.SliceItem)
    parts = {part.name for part in (item.start, item.stop, item.step) if isinstance(part, sweet.Name)}
    assert parts == set(text) & set("abc")
    assert (item.step is not None) == ("c" in text)


def test_numbers_and_strings() -> None:
    assert parse_expr("1_000_000") == number(1_000_000)
    assert parse_expr("9" * 200) == number(int("9" * 200))
    assert parse_expr("1.5e-3") == sweet.FloatLit(NOWHERE, 0.0015, "1.5e-3")
    assert parse_expr("2e3") == sweet.FloatLit(NOWHERE, 2000.0, "2e3")
    assert parse_expr(r'"a\n\t\\\"\x41\u00e9\U0001F600"') == sweet.StrLit(NOWHERE, 'a\n\t\\"Aé😀')
    assert parse_expr('"é λ"') == sweet.StrLit(NOWHERE, "é λ")


def test_types_have_a_form_each() -> None:
    assert parse_type("Tensor") == sweet.TensorType(NOWHERE, None, None)
    assert parse_type("Tensor(?)") == sweet.TensorType(NOWHERE, sweet.Unknown(NOWHERE), None)
    assert parse_type("Tensor(s, d)") == sweet.TensorType(NOWHERE, name("s"), name("d"))
    assert parse_type("attn.Layer") == sweet.NamedType(NOWHERE, "attn.Layer")
    assert parse_type("(Size)") == sweet.NamedType(NOWHERE, "Size")
    size, shape = sweet.NamedType(NOWHERE, "Size"), sweet.NamedType(NOWHERE, "Shape")
    assert parse_type("(Size, Shape)") == sweet.TupleType(NOWHERE, (size, shape))
    assert parse_type("fn(Size, Shape) : fn() : Size") == sweet.FnType(
        NOWHERE, (size, shape), sweet.FnType(NOWHERE, (), size)
    )


def test_else_if_is_a_block_whose_result_is_an_if() -> None:
    expression = parse_expr("if (a) { x } else if (b) { y } else { z }")
    assert isinstance(expression, sweet.If)
    assert expression.orelse is not None
    assert expression.orelse.stmts == ()
    assert isinstance(expression.orelse.result, sweet.If)


def test_equals_in_an_assert_is_a_comparison() -> None:
    assert only_item("assert a = b") == only_item("assert a == b")
    assert only_item("assert a = b && c = d") == only_item("assert a == b && c == d")
    assert only_item("assert @f(x, axis=1) = b") == only_item("assert @f(x, axis=1) == b")
    let = only_item("let f = fn(x) { assert x = 1; let y = 2; y }")
    assert isinstance(let, sweet.Let)
    assert let == only_item("let f = fn(x) { assert x == 1; let y = 2; y }")


def test_const_takes_its_type_before_or_behind() -> None:
    assert only_item("const x : Size = 3") == only_item("const x = 3 : Size")
    assert codes("const x : Size = 3 : Size") == ["E101"]


def test_items_have_a_form_each() -> None:
    extern = only_item('extern @f = fn(x : Tensor, k : Size = 3) : Tensor where k > 0 = "a.b:c"')
    assert isinstance(extern, sweet.FnDecl)
    assert extern.prefixes == ("extern",)
    assert extern.target is not None
    assert extern.target.value == "a.b:c"
    assert extern.fn.body is None
    assert extern.fn.params[1].default == number(3)
    impls = only_item("@m = [@m_16, @m_any]")
    assert isinstance(impls, sweet.Impls)
    assert [choice.name for choice in impls.choices] == ["m_16", "m_any"]
    let = only_item("let (a, b) : (Size, Size) = e")
    assert isinstance(let, sweet.Let)
    assert let.is_tuple
    assert isinstance(let.type, sweet.TupleType)
    loop = only_item("for i in range(n) with (a : Tensor = x, b = y) stack (s : Tensor) { (a, b, s) }")
    assert isinstance(loop, sweet.ExprStmt)
    assert isinstance(loop.value, sweet.For)
    assert [carry.name.name for carry in loop.value.carries] == ["a", "b"]
    assert [param.name.name for param in loop.value.stack] == ["s"]


SOFT = ["type", "prim", "extern", "inline", "private", "import", "const", "as", "with", "stack", "where", "in"]


@pytest.mark.parametrize("word", SOFT)
def test_soft_word_can_be_a_name(word: str) -> None:
    text = f"""\
let {word} : Tensor = {word}
@f = fn({word} : {word}, y : Tensor) : {word} where {word} == 1 {{
  let ({word}, b) = @{word}({word}={word}, {word}) + y.{word}
  {word}.dim(0) * {word}
}}
"""
    if word in ("with", "stack", "where", "in", "as"):
        text = text.replace(f"\n  {word}.dim(0)", f"\n  1 * {word}.dim(0)")
    module, problems = parse(Source("soft.rx", text.replace(f", {word})", ")")))
    assert not problems
    assert len(module.items) == 2


def spans_of(node: object) -> list[tuple[int, int]]:
    found = []
    if isinstance(node, Node):
        if hasattr(node, "span"):
            found.append((node.span.start, node.span.end))
        for field in node._fields:
            if field not in ("span", "source"):
                found += spans_of(getattr(node, field))
    elif isinstance(node, tuple):
        for member in node:
            found += spans_of(member)
    return found


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
def test_spans_lie_inside_their_parents(path: Path) -> None:
    def check(node: object, low: int, high: int) -> None:
        if isinstance(node, tuple) and not hasattr(node, "source"):
            for member in node:
                check(member, low, high)
        if isinstance(node, Node):
            assert low <= node.span.start < node.span.end <= high
            for field in node._fields:
                if field not in ("span", "source", "comments"):
                    check(getattr(node, field), node.span.start, node.span.end)

    source = Source(path.name, path.read_text())
    check(parse(source)[0], 0, len(source.text))


def test_span_is_the_text_of_the_form() -> None:
    source = Source("spans.rx", "let y = (a + b) * @f(x, axis=1)\n")
    module, _ = parse(source)
    let = module.items[0]
    assert isinstance(let, sweet.Let)
    product = let.value
    assert isinstance(product, sweet.Binary)
    assert let.span.text == "let y = (a + b) * @f(x, axis=1)"
    assert product.span.text == "(a + b) * @f(x, axis=1)"
    assert product.left.span.text == "a + b"
    assert product.right.span.text == "@f(x, axis=1)"


def test_comments_are_kept() -> None:
    module, _ = parse(Source("c.rx", "# one\nlet a = b # two  \n"))
    assert [(comment.text, comment.own_line) for comment in module.comments] == [("# one", True), ("# two", False)]


def test_a_mark_at_the_begin_is_dropped_and_bytes_that_are_no_text_are_told_where_they_stand() -> None:
    source, problems = decode(b"\xef\xbb\xbflet a = 1\r\n", "bom.rx")
    assert source.text == "let a = 1\r\n"
    assert not problems
    source, problems = decode(b"let a = 1 # \xff\xfe\n", "bytes.rx")
    assert [problem.code for problem in problems] == ["E102"]
    assert problems[0].span.start == 12
    source, problems = decode(b"\xef\xbb\xbfab\xff\0", "both.rx")
    assert sorted(problem.span.start for problem in problems) == [2, 3]


def test_part_that_cannot_be_read_raises() -> None:
    for text in ("a +", "a b", "(a", "", '"abc', "1x"):
        with pytest.raises(RxError):
            parse_expr(text)
    with pytest.raises(RxError):
        parse_type("Tensor(1 + 1)")


MANY = 10_000
DEEP = {
    "parentheses": "let x = " + "(" * MANY + "1" + ")" * MANY,
    "open parentheses": "let x = " + "(" * MANY,
    "lists": "let x = " + "[" * MANY + "]" * MANY,
    "open blocks": "@f = fn() {" + "{" * MANY,
    "minus": "let x = " + "-" * MANY + "y",
    "not": "let x = " + "!" * MANY + "y",
    "sum": "let x = " + "+".join(["1"] * MANY),
    "power": "let x = " + "**".join(["1"] * MANY),
    "else if": "let x = if (a) {1}" + " else if (a) {1}" * MANY,
    "attributes": "let x = y" + ".a" * MANY,
    "calls": "let x = y" + "(1)" * MANY,
    "indices": "let x = y" + "[1]" * MANY,
    "nested ifs": "let x = " + "if (a) {" * MANY + "}" * MANY,
    "function types": "let x : " + "fn(a) : " * MANY + "b = 3",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
def test_deep_nesting_is_one_diagnostic(text: str) -> None:
    assert codes(text) == ["E104"]


def depth_of(node: object) -> int:
    if isinstance(node, tuple):
        return max(map(depth_of, node), default=0)
    if isinstance(node, Node):
        return 1 + max((depth_of(getattr(node, f)) for f in node._fields if f not in ("span", "source")), default=0)
    return 0


def test_no_tree_is_deeper_than_the_limit() -> None:
    for length in (MAX_DEPTH // 2, MAX_DEPTH - 3, MAX_DEPTH, MAX_DEPTH + 3):
        module, problems = parse(Source("deep.rx", "let x = " + "+".join(["1"] * length)))
        assert bool(problems) != bool(module.items)
        assert depth_of(module.items) <= MAX_DEPTH
    assert not codes("let x = " + "+".join(["1"] * (MAX_DEPTH // 2)))


LARGE = {
    "statements": "@f = fn(x : T) : T {\n" + "  let y = @g(x, 1)\n" * MANY + "  y\n}\n",
    "a long name": "a" * 5_000_000,
    "a long string": 'let x = "' + "a" * 5_000_000 + '"',
    "a long comment": "#" * 5_000_000,
    "empty statements": ";" * 500_000,
    "a long list": "let x = [" + "1, " * 50_000 + "1]",
    "carriage returns": "let a = 1\r\nlet b = 2\r\n" * 1000,
    "nothing": "",
    "only comments": "# a\n# b",
    "only space": " \t\n\f\n",
    "no final line end": "let a = 1",
}


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE.keys())
def test_large_and_odd_files_are_read(text: str) -> None:
    assert codes(text) == []


BROKEN = {
    "NUL bytes": ("\0" * 100_000, 1),
    "NUL bytes in between": ("\0 a" * 10_000, 50),
    "a long string without end": ('let x = "' + "a" * 5_000_000, 1),
    "many wrong escapes": ('let x = "' + "\\q" * 100_000 + '"', 100),
    "Greek": ("λ = 1\n" * 10_000, 100),
    "closing brackets": (")" * MANY, 1),
    "quotes": ('"' * 10_001, 1),
    "words": ("a " * MANY, 1),
    "lets": ("let " * MANY, 1),
    "wrong statements": ("@f = fn(x : T) : T {\n" + "  let y = = @g(x)\n" * MANY + "}\n", 20),
    "wrong items": ("let y = = @g(x)\n" * 3000, 100),
    "open items": ("let y = @g(x\n" * 3000, 100),
    "100,000 digits": ("let x = " + "1" * 100_000, 1),
    "a wrong long list": ("let x = [" + "1, " * 20_000 + "1 1]", 1),
    "a deep set": ("a in {" * MANY, 1),
}


@pytest.mark.parametrize(("text", "most"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_files_give_few_diagnostics(text: str, most: int) -> None:
    assert 1 <= len(codes(text)) <= most


def test_work_grows_with_the_length() -> None:
    def work(lines: int) -> int:
        source = Source("long.rx", "@f = fn(x : T) : T {\n" + "  let y = @g(x, [1, n * 4], axis=-1)\n" * lines + "}\n")
        calls = 0

        def counted(*_: object) -> None:
            nonlocal calls
            calls += 1

        sys.setprofile(counted)
        try:
            parse(source)
        finally:
            sys.setprofile(None)
        return calls

    assert work(2000) < 11 * work(200)


def test_cold_start_imports_little() -> None:
    program = (
        "import sys; before = set(sys.modules)\n"
        "from rxlang.lang.parser import parse\nfrom rxlang.lang.source import Source\n"
        "assert not parse(Source('x', 'let a = 1\\n'))[1]\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=TESTS.anchor)
    loaded = set(done.stdout.split())
    assert not loaded & {"lark", "dataclasses", "inspect", "logging", "numpy", "rich", "z3", "sympy"}
    assert not any(
        name.startswith(
            ("rxlang.lang.recovery", "rxlang.lang.region", "rxlang.lang.unexpected", "rxlang.lang.brackets")
        )
        for name in loaded
    )
