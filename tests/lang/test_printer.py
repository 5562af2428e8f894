"""Printing and formatting keep the meaning: random trees, random comments."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from hypothesis import example, given, settings, strategies as st
from rxlang.lang import sweet
from rxlang.lang.formatter import format_source
from rxlang.lang.lexer import scan
from rxlang.lang.parser import parse, parse_expr, parse_type
from rxlang.lang.printer import print_expr, print_type
from rxlang.lang.source import NOWHERE, Source
from support import fuzz
from support.sweet_printer import print_module

T = TypeVar("T")
AT = NOWHERE
NAMES = ["x", "n", "out'", "d", "Layer", "type", "stack", "where", "with", "in", "as", "prim", "const", "import"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "&&", "||"]
FLOATS = ["1.5", "2e3", "1_0.25", "3.0e-7", "1e999"]
TEXTS = ["", "a b", 'say "x"', "\\", "\n\t\0", "é😀", "\x7f\u2028", "# no comment", "'"]


class Maker:
    """Random sweet trees; `fuel` says how many nodes a tree may still have below the one being made."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def some(self, make: Callable[[int], T], fuel: int, least: int = 0, most: int = 3) -> tuple[T, ...]:
        count = self.rng.randint(least, max(least, min(most, fuel)))
        return tuple(make(fuel // max(count, 1)) for _ in range(count))

    def maybe(self, make: Callable[[int], T], fuel: int) -> T | None:
        return make(fuel) if fuel > 0 and self.rng.random() < 0.5 else None

    def ident(self, fuel: int = 0) -> sweet.Ident:
        return sweet.Ident(AT, self.rng.choice(NAMES))

    def name(self, fuel: int = 0) -> sweet.Name:
        return sweet.Name(AT, self.rng.choice(NAMES))

    def fn_name(self, fuel: int = 0) -> sweet.FnName:
        return sweet.FnName(AT, self.rng.choice(["f", "attn.block", "f_impl'", "where"]))

    def string(self, fuel: int = 0) -> sweet.StrLit:
        return sweet.StrLit(AT, self.rng.choice(TEXTS))

    def leaf(self) -> sweet.Expr:
        spelled = self.rng.choice(FLOATS)
        return self.rng.choice(
            [
                self.name(),
                self.fn_name(),
                self.string(),
                sweet.IntLit(AT, self.rng.choice([0, 3, 10**30])),
                sweet.FloatLit(AT, float(spelled), spelled),
                sweet.BoolLit(AT, self.rng.random() < 0.5),
            ]
        )

    def expression(self, fuel: int) -> sweet.Expr:
        if fuel <= 0:
            return self.leaf()
        forms = [self.binary, self.binary, self.unary, self.in_class, self.call, self.index, self.sequence, self.branch]
        forms += [self.loop, self.attribute, lambda fuel: sweet.Lambda(AT, self.fn(fuel, self.block))]
        return self.rng.choice(forms)(fuel - 1)

    def binary(self, fuel: int) -> sweet.Expr:
        op = self.rng.choice(OPERATORS)
        return sweet.Binary(AT, op, self.expression(fuel // 2), self.expression(fuel // 2))

    def unary(self, fuel: int) -> sweet.Expr:
        return sweet.Unary(AT, self.rng.choice("-+!"), self.expression(fuel))

    def in_class(self, fuel: int) -> sweet.Expr:
        braces = self.rng.random() < 0.5
        return sweet.InClass(AT, self.expression(fuel), self.some(self.name, 3, 1, 3 if braces else 1), braces)

    def attribute(self, fuel: int) -> sweet.Expr:
        return sweet.Attr(AT, self.expression(fuel), self.ident())

    def call(self, fuel: int) -> sweet.Expr:
        positional = self.some(lambda f: sweet.Arg(AT, None, self.expression(f)), fuel // 3, 0, 2)
        named = self.some(lambda f: sweet.Arg(AT, self.ident(), self.expression(f)), fuel // 3, 0, 2)
        return sweet.Call(AT, self.expression(fuel // 3), positional + named)

    def index(self, fuel: int) -> sweet.Expr:
        return sweet.Index(AT, self.expression(fuel // 2), self.some(self.index_item, fuel // 2, 1))

    def index_item(self, fuel: int) -> sweet.Expr | sweet.SliceItem:
        parts = [self.maybe(self.expression, fuel // 3) for _ in range(3)]
        return self.rng.choice([self.expression(fuel), sweet.Dots(AT), sweet.SliceItem(AT, *parts)])

    def sequence(self, fuel: int) -> sweet.Expr:
        if self.rng.random() < 0.5:
            return sweet.TupleExpr(AT, self.some(self.expression, fuel))
        return sweet.ListExpr(AT, self.some(self.element, fuel))

    def element(self, fuel: int) -> sweet.Expr:
        odd: list[sweet.Expr] = [sweet.Unknown(AT), sweet.Dots(AT), sweet.Splice(AT, self.ident())]
        return self.rng.choice(odd) if self.rng.random() < 0.3 else self.expression(fuel)

    def branch(self, fuel: int) -> sweet.Expr:
        orelse = self.maybe(self.block, fuel // 3)
        return sweet.If(AT, self.expression(fuel // 3), self.block(fuel // 3), orelse)

    def loop(self, fuel: int) -> sweet.Expr:
        part = fuel // 6
        carries, where = self.some(self.carry, part, 0, 2), self.some(self.expression, part, 0, 2)
        stack, body = self.some(self.param, part, 0, 2), self.block(part)
        if self.rng.random() < 0.5:
            return sweet.While(AT, self.condition(part), carries, where, stack, body)
        cond = self.maybe(self.condition, part)
        return sweet.For(AT, self.ident(), self.expression(part), carries, where, cond, stack, body)

    def condition(self, fuel: int) -> sweet.Block:
        return sweet.Block(AT, self.some(self.statement, fuel // 2, 0, 2), self.expression(fuel))

    def carry(self, fuel: int) -> sweet.Carry:
        return sweet.Carry(AT, self.ident(), self.maybe(self.type, fuel // 2), self.expression(fuel // 2))

    def param(self, fuel: int) -> sweet.Param:
        return sweet.Param(AT, self.ident(), self.maybe(self.type, fuel // 2), self.maybe(self.expression, fuel // 2))

    def fn(self, fuel: int, body: Callable[[int], sweet.Block | None]) -> sweet.Fn:
        part = fuel // 4
        where = self.some(self.expression, part, 0, 2)
        return sweet.Fn(AT, self.some(self.param, part), self.maybe(self.type, part), where, body(part))

    def type(self, fuel: int) -> sweet.Type:
        form = self.rng.randrange(5 if fuel > 0 else 3)
        if form == 0:
            return sweet.TensorType(AT, None, None)
        if form == 1:
            return sweet.NamedType(AT, self.rng.choice(["Size", "attn.Layer", "where"]))
        if form == 2:
            shape = self.rng.choice([sweet.Unknown(AT), self.name(), sweet.ListExpr(AT, self.some(self.element, fuel))])
            return sweet.TensorType(AT, shape, self.rng.choice([None, sweet.Unknown(AT), self.name()]))
        if form == 3:
            return sweet.TupleType(AT, self.some(self.type, fuel - 1))
        return sweet.FnType(AT, self.some(self.type, fuel // 2), self.type(fuel // 2))

    def block(self, fuel: int) -> sweet.Block:
        statements = self.some(self.statement, fuel)
        result = self.maybe(self.expression, fuel // 2)
        if result is None and statements and isinstance(statements[-1], sweet.ExprStmt):
            return sweet.Block(AT, statements[:-1], statements[-1].value)
        return sweet.Block(AT, statements, result)

    def statement(self, fuel: int) -> sweet.Stmt:
        form = self.rng.randrange(3)
        if form == 0:
            return sweet.ExprStmt(AT, self.expression(fuel))
        if form == 1:
            return sweet.Assert(AT, self.expression(fuel), self.rng.choice([None, *TEXTS]))
        is_tuple = self.rng.random() < 0.5
        names = self.some(self.ident, 3, 1, 3 if is_tuple else 1)
        type_ = self.maybe(self.type, fuel // 2)
        asserting = type_ is not None and self.rng.random() < 0.5
        return sweet.Let(AT, names, is_tuple, type_, asserting, self.expression(fuel // 2))

    def item(self, fuel: int) -> sweet.Item:
        fn_ident = sweet.Ident(AT, self.rng.choice(["f", "g'"]))
        prefixes = self.rng.choice([(), ("extern",), ("inline",), ("private", "prim")])
        forms: list[Callable[[], sweet.Item]] = [
            lambda: self.statement(fuel),
            lambda: sweet.Import(AT, self.string(), self.maybe(self.ident, 1)),
            lambda: sweet.FnDecl(AT, prefixes, fn_ident, self.fn(fuel, self.block), None),
            lambda: sweet.FnDecl(AT, prefixes, fn_ident, self.fn(fuel, lambda _: None), self.maybe(self.string, 1)),
            lambda: sweet.Const(AT, self.ident(), self.maybe(self.type, fuel), self.expression(fuel)),
            lambda: sweet.TypeDecl(AT, self.ident(), self.type(fuel)),
            lambda: sweet.Impls(AT, fn_ident, self.some(self.fn_name, 3, 1)),
        ]
        return self.rng.choice(forms)()

    def module(self, fuel: int) -> sweet.Module:
        return sweet.Module(AT, NOWHERE.source, self.some(self.item, fuel, 0, 5))


seeds = st.integers(0, 2**64)
RELAXED = settings(max_examples=fuzz.tries("printer"), deadline=None)


@RELAXED
@given(seeds, st.integers(0, 40))
def test_printed_expression_parses_back(seed: int, fuel: int) -> None:
    expression = Maker(random.Random(seed)).expression(fuel)
    assert parse_expr(print_expr(expression)) == expression


@RELAXED
@given(seeds, st.integers(0, 20))
def test_printed_type_parses_back(seed: int, fuel: int) -> None:
    type_ = Maker(random.Random(seed)).type(fuel)
    assert parse_type(print_type(type_)) == type_


@RELAXED
@given(seeds, st.integers(0, 120))
def test_printed_module_parses_back(seed: int, fuel: int) -> None:
    module = Maker(random.Random(seed)).module(fuel)
    text = print_module(module)
    again, problems = parse(Source("printed.rx", text))
    assert not problems, (text, problems)
    assert again.items == module.items


@RELAXED
@given(seeds, st.integers(0, 120))
@example(90794550295998, 64)  # a comment between a sign and its number, in a list of numbers that is filled
def test_format_keeps_meaning_and_comments_and_settles(seed: int, fuel: int) -> None:
    rng = random.Random(seed)
    module = Maker(rng).module(fuel)
    text = commented(print_module(module), rng)
    first, problems = format_source(Source("a.rx", text))
    assert first is not None, problems
    formatted, _ = parse(Source("b.rx", first))
    assert formatted.items == module.items
    assert comments_of(first) == comments_of(text)
    second, _ = format_source(Source("c.rx", first))
    assert second == first


def comments_of(text: str) -> Counter[str]:
    """Every comment's words; two comments that end on one line count as two."""
    comments = [comment.text for comment in scan(Source("comments.rx", text)).comments]
    return Counter(word for comment in comments for word in comment.replace("#", "").split())


def commented(text: str, rng: random.Random) -> str:
    """The same program with comments at some of the places where a line may end."""
    tree = parse(Source("plain.rx", text))[0].items
    for number in range(rng.randrange(5)):
        ends = scan(Source("plain.rx", text)).ends
        if not ends:
            break
        at = rng.choice(ends)
        mark = rng.choice(["\n", "\n\n", " "]) + f"# c{number}\n" + rng.choice(["", "\n"])
        changed = text[:at] + mark + text[at:]
        module, problems = parse(Source("changed.rx", changed))
        if not problems and module.items == tree:
            text = changed
    return text


def test_parentheses_stand_only_where_needed() -> None:
    for text in (
        "a + b * c",
        "(a + b) * c",
        "a - (b - c)",
        "(a ** b) ** c",
        "-a ** b",
        "(-a) ** b",
        "!(a && b)",
        "!a == b",
        "(!a) == b",
        "a == (!b)",
        "(a == b) == c",
        "(if (a) { b } else { c }) + d",
        "f(if (a) { b } else { c })",
        "(a + b).rank",
        "[n // 2, -n, n - -1]",
        "(fn(x) { x })(y)",
        "a || b && c || d",
        "(a || b) && c",
    ):
        assert print_expr(parse_expr(text)) == text
