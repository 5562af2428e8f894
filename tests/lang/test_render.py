"""Diagnostics as text: a gallery of them under goldens/render, and what holds for every one."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given, strategies as st
from rxlang.lang import codes
from rxlang.lang.cells import columns, shown, wrapped
from rxlang.lang.diagnostics import Diagnostic, Label, error, note, warning
from rxlang.lang.render import render, render_text
from rxlang.lang.source import NOWHERE, MadeSource, Source, Span
from support.places import TESTS

GOLDENS = TESTS / "goldens" / "render"

NET = Source(
    "net.rx",
    """# the fast flatten
@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32) {
  ...
}
@other = @ff

let a : Tensor([8, 15], int8) = tensor(...)

let b = @ff(a)
""",
)

ATTENTION = Source(
    "attention.rx",
    "\n" * 4
    + """@attention = fn(q : Tensor([b, t, d], float32), ...) {
  # split the heads
"""
    + "\n" * 7
    + """  let h = @reshape(q, [b, t, 8, d // 8])
}
""",
)

CALLS = Source(
    "calls.rx",
    """let left : Tensor([2, 3], int8) = load("left.npy")
let right : Tensor([4, 5], int8) = load("right.npy")
let product = @matmul(left, right)
let wide = @concat([left,
                    right,
                    left], axis=0)
if (left.rank == 2) {
	let tabbed = @matmul(left, right)
}
let \u6f22\u5b57 = "\u6f22\u5b57\u306e\u540d\u524d" + left   # \u202eand \x1b[31mred\x1b[0m
""",
)

PRELUDE = Source(
    "prelude.rx",
    "# matrices\nprim @matmul = fn(x : Tensor([m, k], d), y : Tensor([k, n], d)) : Tensor([m, n], d)\n",
)


def at(source: Source, text: str, nth: int = 0) -> Span:
    """The nth place where the text stands."""
    start = -1
    for _ in range(nth + 1):
        start = source.text.index(text, start + 1)
    return Span(source, start, start + len(text))


def end_of(source: Source) -> Span:
    return Span(source, len(source.text), len(source.text))


LONG = Source("long.rx", "let x = [" + ", ".join(f"w{i}" for i in range(2000)) + "]\n")
UNENDED = Source("unended.rx", "let x = @f(")

GALLERY = {
    "argument-never-fits": error(
        "E301",
        "@ff needs axis 1 of `x` to be a multiple of 4, but it is 15: this always fails",
        at(NET, "@ff(a)"),
        caption="`a` is Tensor([8, 15], int8), the parameter is Tensor([n, m * 4], int8)",
        labels=(
            Label(at(NET, "m * 4"), "m * 4 = 15 has no integer solution (15 mod 4 = 3)"),
            Label(at(NET, "15"), "15 comes from here"),
        ),
        help="the nearest legal sizes are 12 and 16",
    ),
    "claim-not-proved": warning(
        "W311",
        "@reshape keeps all elements only if d is a multiple of 8; this is checked at run time",
        at(ATTENTION, "@reshape(q, [b, t, 8, d // 8])"),
        caption="e.g. b = 1, t = 1, d = 1: 1 element into [1, 1, 8, 0]",
        labels=(Label(Span(ATTENTION, at(ATTENTION, "d]").start, at(ATTENTION, "d]").start + 1), "d comes from here"),),
        help="`where d % 8 == 0` on @attention makes it hold (checked)",
        witness={"b": 1, "t": 1, "d": 1},
    ),
    "labels-on-one-line": error(
        "E305",
        "@matmul needs axis 1 of `x` and axis 0 of `y` to be equal, but they are 3 and 4: this always fails",
        at(CALLS, "@matmul(left, right)"),
        caption="the inner sizes differ",
        labels=(
            Label(at(CALLS, "left", 2), "Tensor([2, 3], int8)"),
            Label(at(CALLS, "right", 2), "Tensor([4, 5], int8)"),
            Label(at(CALLS, "3"), "3 comes from here"),
            Label(at(CALLS, "4"), "4 comes from here"),
        ),
        notes=("left   [2, 3]\n           ^\nright  [4, 5]\n        ^",),
    ),
    "span-of-several-lines": error(
        "E308",
        "@concat needs all axes but axis 0 to be equal",
        Span(CALLS, at(CALLS, "@concat").start, at(CALLS, "axis=0)").end),
        caption="axis 1 is 3, 5 and 3",
        labels=(Label(at(CALLS, "3"), "3 comes from here"), Label(at(CALLS, "5"), "5 comes from here")),
    ),
    "places-in-two-files": error(
        "E301",
        "@matmul needs axis 0 of `y` to be 3, but it is 4: this always fails",
        at(CALLS, "right", 2),
        caption="`right` is Tensor([4, 5], int8), the parameter is Tensor([3, n], int8)",
        labels=(
            Label(at(PRELUDE, "k", 0), "k is 3 by `x`"),
            Label(at(PRELUDE, "k", 1), "and is asked for here"),
            Label(NOWHERE, "@matmul is built in"),
        ),
    ),
    "tabs": error("E305", "sizes differ", at(CALLS, "@matmul", 1), caption="here", labels=(Label(at(CALLS, "\t"), "tab"),)),
    "wide-letters-and-control-characters": error(
        "E207",
        "a string is no tensor; \x1b[31mand \u202e here too",
        at(CALLS, '"\u6f22\u5b57\u306e\u540d\u524d"'),
        caption="a string",
        labels=(Label(at(CALLS, "\u6f22\u5b57"), "\u5909\u6570"), Label(at(CALLS, "\x1b[31m"), "this is an escape")),
    ),
    "a-very-long-line": error(
        "E201",
        "nothing binds `w1000`",
        at(LONG, "w1000"),
        caption="unknown",
        labels=(
            Label(at(LONG, "w1001"), "near"),
            Label(at(LONG, "x"), "at the beginning"),
            Label(at(LONG, "w1999]"), "at the end"),
        ),
    ),
    "a-span-longer-than-the-window": error(
        "E101", "too many", Span(LONG, at(LONG, "[").start, at(LONG, "]").end), caption="all this"
    ),
    "end-of-file": error("E105", "`(` is never closed", end_of(UNENDED), labels=(Label(at(UNENDED, "("), "opened here"),)),
    "end-of-file-after-line-end": error("E101", "the file ends here, but a function was begun", end_of(NET), caption="end"),
    "empty-span": error("E101", "a name is missing", Span(NET, at(NET, ": Tensor").start, at(NET, ": Tensor").start)),
    "nothing-but-a-headline": note("N301", "this branch is never reached", at(NET, "@other")),
    "long-texts-are-folded": error(
        "E301",
        "@a_function_with_a_long_name needs axis 1 of its parameter `the_parameter` to be what axis 0 of its "
        "parameter `another` is, but they are 15 and 16",
        at(CALLS, "@matmul(left, right)"),
        caption="`left` is Tensor([batch, sequence, heads * width, 15], float32), the parameter is "
        "Tensor([batch, sequence, heads * width, width], float32)",
        labels=(Label(at(CALLS, "let product"), "a remark " * 14 + "ends"), Label(at(CALLS, "right", 2), "y " * 60 + "z")),
        help="change it " * 12,
        witness={"batch": 1, "width": 3},
    ),
    "built-in-place": error("E299", "something is wrong with no place to show", NOWHERE),
    "same-place-twice": error(
        "E312", "two assertions contradict each other", at(NET, "n * m"), caption="first",
        labels=(Label(at(NET, "n * m"), "second"),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GALLERY)
def test_a_diagnostic_is_shown_as_its_golden(name: str) -> None:
    golden = GOLDENS / f"{name}.txt"
    text = render_text(GALLERY[name])
    if os.environ.get("RX_ACCEPT"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8"), f"\n{text}\nRX_ACCEPT=1 pytest {__file__} accepts this"


def test_every_golden_has_its_diagnostic() -> None:
    assert {path.stem for path in GOLDENS.glob("*.txt")} == set(GALLERY)


@pytest.mark.parametrize("name", GALLERY)
def test_no_line_is_wider_than_a_hundred_columns(name: str) -> None:
    assert max(columns(line) for line in render_text(GALLERY[name]).split("\n")) <= 100


def test_a_source_line_of_a_hundred_columns_is_shown_whole_and_a_longer_one_is_cut() -> None:
    for length in (100, 101):
        source = Source("f.rx", "x" * length)
        text = render_text(error("E101", "no", Span(source, 0, 1), caption="words " * 30))
        assert ("x" * length in text, "…" in text) == (length == 100, length > 100)
        assert max(columns(line) for line in text.split("\n") if "x" not in line) <= 100


@pytest.mark.parametrize("name", GALLERY)
def test_a_narrow_terminal_gets_narrow_lines(name: str) -> None:
    lines = render_text(GALLERY[name], 60).split("\n")
    assert max(columns(line) for line in lines) <= 60 + len("10 | ")


@pytest.mark.parametrize("name", GALLERY)
def test_styled_lines_say_what_plain_text_says(name: str) -> None:
    styled = ["".join(piece.text for piece in line).rstrip() for line in render(GALLERY[name])]
    assert "\n".join(styled) + "\n" == render_text(GALLERY[name])


def test_what_is_primary_has_the_colour_of_its_severity() -> None:
    styles = {piece.style for line in render(GALLERY["claim-not-proved"]) for piece in line}
    assert {"warning", "gutter", "title", "place", "source", "secondary", "label"} <= styles
    assert "primary" not in styles


def test_a_line_of_five_megabytes_is_rendered_at_once() -> None:
    source = Source("big.rx", "x" * 5_000_000)
    began = time.process_time()
    for start in (0, 2_500_000, 4_999_999):
        text = render_text(error("E101", "too long", Span(source, start, 5_000_000), caption="here"))
        assert f"big.rx:1:{start + 1}" in text
        assert len(text) < 600
    assert time.process_time() - began < 1.0


def test_wide_letters_are_underlined_over_their_whole_width() -> None:
    source = Source("w.rx", "let \u6f22\u5b57 = 1\n")
    text = render_text(error("E102", "no name", at(source, "\u6f22\u5b57")))
    assert text.endswith("   |     ^^^^\n")


def test_combining_marks_take_no_column() -> None:
    source = Source("c.rx", "e\u0301\u0301 = 1\n")
    assert render_text(error("E102", "no name", at(source, "= 1"))).endswith("   |   ^^^\n")


def test_a_carriage_return_before_the_line_end_is_not_shown() -> None:
    source = Source("crlf.rx", "let x = y\r\nlet z = x\r\n")
    assert render_text(error("E201", "nothing binds `y`", at(source, "y"))).split("\n")[2:4] == [
        " 1 | let x = y",
        "   |         ^",
    ]


def test_a_node_of_a_model_stands_for_the_line_that_was_made_of_it() -> None:
    text = "let y = @reshape(x, [3])\nlet z = @matmul(y, w)\n"
    source = Source(
        "m.onnx", text, {1: MadeSource("node flat (Reshape)"), 2: MadeSource("node head (MatMul)", trace="net.py:7")}
    )
    at = text.index("@matmul")
    label = Label(Span(source, text.index("3"), text.index("3") + 1), "3 comes from here")
    diagnostic = error(codes.E305, "no", Span(source, at, len(text) - 1), labels=(label,), caption="`y` [3]\n     ^")
    shown = ["  --> m.onnx: node head (MatMul) (net.py:7)", "   | node flat (Reshape): 3 comes from here"]
    assert render_text(diagnostic).splitlines()[1:] == [*shown, "   | `y` [3]", "   |      ^"]
    assert " 2 | let z = @matmul(y, w)" in render_text(diagnostic, verbose=True)


def test_line_numbers_of_three_digits_widen_the_margin() -> None:
    source = Source("f.rx", "\n" * 122 + "here\n")
    assert render_text(error("E201", "no", at(source, "here"))).split("\n")[1:4] == [
        "   --> f.rx:123:1",
        "123 | here",
        "    | ^^^^",
    ]


def test_a_span_outside_the_text_is_shown_at_its_end() -> None:
    source = Source("f.rx", "ab")
    assert "--> f.rx:1:3" in render_text(error("E101", "no", Span(source, 10, 20)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\tb", "a    b"),
        ("\x00", "\\x00"),
        ("\u202e", "\\u202e"),
        ("\U000e0001", "\\U000e0001"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_could_move_the_cursor_is_escaped(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_folding_keeps_the_blanks_of_what_fits() -> None:
    assert wrapped("a  b\n  c", 20) == ["a  b", "  c"]
    assert wrapped("one two three four", 10) == ["one two", "three four"]
    assert wrapped("say `a b c` now", 10) == ["say", "`a b c`", "now"]
    assert wrapped("say `aa bb cc dd` now", 10) == ["say `aa bb", "cc dd` now"]
    assert wrapped("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]


TEXTS = st.text(st.sampled_from("ab \t\n\r\u6f22\u0301\x1b\u202e\U0001f600(){}@=x"), max_size=200)


@st.composite
def diagnostics(draw: st.DrawFn) -> Diagnostic:
    sources = [Source(f"{name}.rx", draw(TEXTS) * draw(st.sampled_from([1, 1, 5]))) for name in "ab"]

    def span() -> Span:
        source = draw(st.sampled_from(sources))
        start, end = sorted(draw(st.tuples(*[st.integers(-1, len(source.text) + 2)] * 2)))
        return Span(source, start, end)

    labels = [Label(span(), draw(TEXTS)) for _ in range(draw(st.integers(0, 5)))]
    return error(
        "E301", draw(TEXTS), span(), caption=draw(TEXTS), labels=tuple(labels), notes=tuple(draw(st.lists(TEXTS, max_size=2))),
        help=draw(st.none() | TEXTS), witness=draw(st.none() | st.just({"n": 1})),
    )  # fmt: skip


@given(diagnostics(), st.integers(40, 120))
def test_any_diagnostic_is_rendered_with_its_code_and_place(diagnostic: Diagnostic, width: int) -> None:
    text = render_text(diagnostic, width)
    source = diagnostic.span.source
    line, column = source.position(min(max(diagnostic.span.start, 0), len(source.text)))
    assert text.startswith("error[E301]:")
    assert f"--> {source.name}:{line}:{column}\n" in text
    assert "\x1b" not in text and "\u202e" not in text
    assert max(columns(shown_line) for shown_line in text.split("\n")) <= width + len("123 | ")
