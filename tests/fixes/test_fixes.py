"""What a fix may do and what nobody but the author does, over programs with made mistakes and over the kinds of them."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from functools import reduce
from itertools import islice, pairwise
from pathlib import Path

import pytest
import rxlang as rx
from rxlang.cli.main import invoke
from rxlang.fixes import trials, weights
from rxlang.fixes.applied import fixed_and_left, why_left
from rxlang.fixes.case import Fix, dims_text
from rxlang.fixes.edits import applied
from rxlang.fixes.families import elements
from rxlang.fixes.families.attributes import reduces
from rxlang.fixes.ranked import ranked, told, with_helps
from rxlang.lang import sweet
from rxlang.lang.diagnostics import Diagnostic
from rxlang.lang.node import replace
from rxlang.lang.parser import parse
from rxlang.lang.source import Source, Span
from rxlang.lang.walk import walk
from rxlang.pipeline import check_source, check_text
from support import fuzz
from support.mistakes import CORPORA, mutated, read_mistakes, read_programs
from support.places import ROOT, TESTS

DATA = TESTS / "data"
PROGRAMS = read_programs(CORPORA["own"])
MISTAKES = sorted(read_mistakes(CORPORA["own"]), key=lambda m: (m.operator, m.program, m.seed))
SAMPLE = fuzz.tries("mistakes")
MOVING = {"matrix_transpose", "permute_dims", "swapaxes", "moveaxis", "squeeze", "expand_dims"}
# What an author says of sizes: a divisibility, a bound, or that two of them are one.
SAID = re.compile(r"(.* % .* == 0|\w+ == [A-Za-z_]\w*|[^=]* (>=|<=|<|>) .*)")


def wrong_programs(count: int = SAMPLE) -> Iterator[str]:
    """Some of the corpus, of its operators in turn."""
    for mistake in MISTAKES[:: max(len(MISTAKES) // count, 1)]:
        mutant = mutated(PROGRAMS[mistake.program], mistake.operator, mistake.seed)
        assert mutant is not None
        yield mutant.text


def calls(text: str) -> Counter[str]:
    module, problems = parse(Source("a.rx", text))
    assert not problems
    return Counter(n.name for n in walk(module) if isinstance(n, sweet.FnName))


def conditions(text: str) -> list[str]:
    module, _ = parse(Source("a.rx", text))
    fns = [i.fn for i in module.items if isinstance(i, sweet.FnDecl)]
    return [c.span.text for fn in fns for c in fn.where]


def signatures(text: str) -> list[str]:
    module, _ = parse(Source("a.rx", text))
    decls = [i for i in module.items if isinstance(i, sweet.FnDecl)]
    return [text[d.fn.span.start : d.fn.body.span.start] for d in decls if d.fn.body is not None]


def offered(text: str) -> list[tuple[Diagnostic, tuple[Fix, ...]]]:
    return [(o.diagnostic, o.fixes) for o in ranked(check_text(text, "a.rx", DATA), DATA)]


def wrong(text: str) -> list[Diagnostic]:
    return [d for d in check_text(text, "a.rx", DATA).diagnostics if d.severity != "note"]


def first_fixed(text: str) -> str:
    found = [fixes for d, fixes in offered(text) if d.severity != "note" and fixes]
    assert found, text
    return applied(text, found[0][0].edits)


# Over programs with mistakes


def test_no_fix_of_a_mistake_removes_an_operation_reduces_pins_a_size_or_equates_formulas() -> None:
    for text in wrong_programs():
        before = calls(text)
        for _, fixes in offered(text):
            for fix in fixes:
                after = applied(text, fix.edits)
                gone = before - calls(after)
                assert not set(gone) - MOVING or gone.total() <= (calls(after) - before).total(), fix.text
                new = calls(after) - before
                assert not any(map(reduces, new)) or gone, fix.text
                said = Counter(conditions(after)) - Counter(conditions(text))
                assert all(SAID.fullmatch(part) for c in said for part in c.split(" && ")), fix.text


def test_fix_adds_no_condition_keeps_signatures_and_operations_and_says_why_it_left_the_rest() -> None:
    for text in wrong_programs():
        found = fixed_and_left(Source("a.rx", text), DATA)
        assert signatures(found.text) == signatures(text)
        assert calls(found.text).total() >= calls(text).total()
        assert bool(found.done) == (found.text != text)
        assert [(left.code, bool(left.reason)) for left in found.left] == [(d.code, True) for d in wrong(found.text)]
        assert not found.done or not found.left


# Kinds of slips, each fixed back

HEAD = "x : Tensor([b, t, d], float32)"
TYPOS = [
    (
        f"@f = fn({HEAD}, w : Tensor([d, k], float32)) : Tensor([b, t, k], float32) {{\n  @matmul(#, #)\n}}\n",
        ("x", "w"),
        ("w", "x"),
    ),
    (
        f"@f = fn({HEAD}, y : Tensor([b, s, d], float32)) : Tensor([b, t + s, d], float32) {{\n"
        "  @concat([x, y], axis=#)\n}\n",
        ("1",),
        ("2",),
    ),
    (
        f"@f = fn({HEAD}) : Tensor([b, d, t], float32) {{\n  @permute_dims(x, axes=#)\n}}\n",
        ("[0, 2, 1]",),
        ("[1, 2, 0]",),
    ),
    (
        "@f = fn(x : Tensor([b, t, h * k], float32), h : Size) : Tensor([b, t, h, k], float32) {\n"
        "  @reshape(x, [b, t, #, k])\n}\n",
        ("h",),
        ("b",),
    ),
    (
        "@f = fn(x : Tensor([b, c, l], float32), w : Tensor([c, c, 3], float32)) : Tensor([b, c, l], float32)"
        " where l >= 1 {\n  @conv1d(x, w#)\n}\n",
        (", pads=[(1, 1)]",),
        ("",),
    ),
    (
        "@f = fn(x : Tensor([b, c, 2 * l], float32), w : Tensor([c, c, 3], float32)) : Tensor([b, c, l], float32)"
        " where l >= 1 {\n  @conv1d(x, w, strides=[#], pads=[(1, 1)])\n}\n",
        ("2",),
        ("3",),
    ),
    (
        "@f = fn(q : Tensor([b, n * g, t, k], float32), v : Tensor([b, n, t, k], float32), g : Size)"
        " : Tensor([b, n * g, t, k], float32) where g >= 1, n >= 1 {\n  q * #\n}\n",
        ("@repeat(v, g, axis=1)",),
        ("v",),
    ),
    (
        f"@f = fn({HEAD}) : Tensor([b, t, d], float32) {{\n  (x - @mean(x, axis=-1#)) / @std(x, axis=-1, keepdims=true)\n}}\n",
        (", keepdims=true",),
        ("",),
    ),
    (
        "@f = fn(lengths : Tensor([b], int64), t : Size) : Tensor([b, t], bool) where t >= 0 {\n  @arange(t) < #\n}\n",
        ("@expand_dims(lengths, axis=-1)",),
        ("lengths",),
    ),
    (
        f"@f = fn({HEAD}, y : Tensor([b, s, d], float32), z : Tensor([b, s, d], float32))"
        " : Tensor([b, t, s], float32) {\n  let k = @matrix_transpose(y + z)\n  @matmul(#, k)\n}\n",
        ("x",),
        ("z",),
    ),
    (
        f"@f = fn({HEAD}, w : Tensor([d, k], float32)) : Tensor([b, k], float32) where b >= 1, t >= 1 {{\n"
        "  @matmul(x[#], w)\n}\n",
        (":, 0",),
        ("0",),
    ),
    (
        "@f = fn(start : Tensor([b, s], int64), n : Size) : Tensor([b, s + n], int64) where n >= 0 {\n"
        "  for i in range(n) with (text# = start) {\n    @concat([text, @zeros([b, 1], int64)], axis=1)\n  }\n}\n",
        (" : Tensor([b, s + i], int64)",),
        ("",),
    ),
    (
        "@f = fn(x : Tensor([n, c, h, w], float32), k : (Tensor([c, c, 3, 3], float32), Tensor([c], float32)))"
        " : Tensor([n, c, h, w], float32) where h >= 1, w >= 1 {\n  @conv2d(x, k[0], k[1]#)\n}\n",
        (", pads=1",),
        ("",),
    ),
    (
        "type Pair(m, n) = (Tensor([m], float32), Tensor([n, m], float32))\n\n"
        "@f = fn(w : Pair(m, n), g : Pair(m, n)) : Pair(m, n) {\n  (@g(w[0], g[#]), @g(w[1], g[1]))\n}\n\n"
        "@g = fn(x : Tensor([*s], float32), y : Tensor([*s], float32)) : Tensor([*s], float32) {\n  x + y\n}\n",
        ("0",),
        ("1",),
    ),
    (
        "@f = fn(logits : Tensor([b, t, v], float32), ids : Tensor([b, t], int64)) : Tensor([], float32)"
        " where b >= 1, t >= 1, v >= 1 {\n"
        "  @cross_entropy_loss(@reshape(logits, #), @reshape(ids, [b * t]))\n}\n",
        ("[b * t, v]",),
        ("[b, t * v]",),
    ),
    (
        "@f = fn(logits : Tensor([b, t, v + 1], float32), ids : Tensor([b, t], int64)) : Tensor([], float32)"
        " where b >= 1, t >= 1 {\n"
        "  @cross_entropy_loss(@reshape(logits, #), @reshape(ids, [b * t]))\n}\n",
        ("[b * t, (v + 1)]",),
        ("[b, t * (v + 1)]",),
    ),
    (
        "@f = fn(x : Tensor([b, c, h, w], float32), k : Tensor([c, 1, 3, 3], float32), p : Tensor([o, c, 1, 1], float32))"
        " : Tensor([b, o, h, w], float32) where c >= 1 {\n  @conv2d(@conv2d(x, k, pads=1#), p)\n}\n",
        (", groups=c",),
        ("",),
    ),
    (
        "@f = fn(logits : Tensor([b, t, v], float32), ids : Tensor([b, t], int64)) : Tensor([], float32)"
        " where t >= 2, v >= 1, b >= 1 {\n"
        "  let y = @matrix_transpose(logits[:, :-1])\n  @cross_entropy_loss(y, ids#)\n}\n",
        ("[:, 1:]",),
        ("",),
    ),
    (
        "@f = fn(r : Tensor([t], float32), v : Tensor([t + 1], float32)) : Tensor([t], float32) {\n"
        "  r + 0.99 * v# - v[:-1]\n}\n",
        ("[1:]",),
        ("",),
    ),
    (
        "@f = fn(x : Tensor([n, m], float32)) : Tensor([n, m], float32) {\n"
        "  for i in range(#) stack (y : Tensor([m], float32)) {\n    x[#]\n  }\n}\n",
        ("n", "n - 1 - i"),
        ("n - 1, -1, -1", "i"),
    ),
    (
        "@f = fn(r : Tensor([t, d], float32), g : Tensor([d], float32)) : Tensor([d], float32) {\n"
        "  for i in range(#) with (a : Tensor([d], float32) = g) {\n"
        "    a * @exp(r[#]) + @size_to_tensor(2 * #, float32)\n  }\n}\n",
        ("t - 2", "t - 1 - i", "(t - 1 - i)"),
        ("t - 1, 1, -1", "i", "i"),
    ),
    (
        "@f = fn(r : Tensor([t, d], float32), g : Tensor([d], float32)) : Tensor([d], float32) {\n"
        "  for i in range(#) with (a : Tensor([d], float32) = g) {\n"
        "    a * @exp(r[#]) + @size_to_tensor(-#, float32)\n  }\n}\n",
        ("t", "t - 1 - i", "(t - 1 - i)"),
        ("t - 1, -1, -1", "i", "i"),
    ),
    (
        "@f = fn(x : Tensor([b, h, w], float32)) : Tensor([b], float32) where h >= 1, w >= 1 {\n"
        "  @sum(@abs(x[:, 1:] - x#), axis=(1, 2))\n}\n",
        ("[:, :-1]",),
        ("",),
    ),
]


def filled(template: str, parts: tuple[str, ...]) -> str:
    for part in parts:
        template = template.replace("#", part, 1)
    return template


@pytest.mark.parametrize(("template", "right", "typo"), TYPOS)
def test_the_first_fix_of_a_slip_is_the_operation_as_it_was(
    template: str, right: tuple[str, ...], typo: tuple[str, ...]
) -> None:
    assert not wrong(filled(template, right))
    assert first_fixed(filled(template, typo)) == filled(template, right)


@pytest.mark.parametrize(("template", "right", "typo"), TYPOS)
def test_a_slip_is_told_once(template: str, right: tuple[str, ...], typo: tuple[str, ...]) -> None:
    assert len(wrong(filled(template, typo))) == 1


FOLLOWING = [
    "@f = fn(x : Tensor([b, s], float32), n : Size) : Tensor([s], float32) where n >= 0 {\n"
    "  for i in range(n) with (y : Tensor([s], float32) = x) { y + x }\n}\n",
    "@f = fn(x : Tensor([b, s, g * k], float32), g : Size) : (Tensor([b, s], float32), Tensor([b, g, s, k], float32)) {\n"
    "  (@sum(x, axis=2), @swapaxes(@reshape(x, [b, s, g, b]), 1, 2))\n}\n",
    f"@f = fn({HEAD}, w : Tensor([b, s, 4], float32)) : Tensor([b, t, 4], float32) {{\n  @matmul(x, w[:, 2])\n}}\n",
    f"@f = fn({HEAD}, w : Tensor([k, 4], float32)) : Tensor([b, t], float32) {{\n  @g(@matmul(x, w))\n}}\n"
    "@g = fn(x : Tensor([b, t], float32)) : Tensor([b, t], float32) {\n  x\n}\n",
]


@pytest.mark.parametrize("text", FOLLOWING)
def test_what_follows_from_a_mistake_is_silent(text: str) -> None:
    assert len(wrong(text)) == 1


# What no fix is for


def test_no_other_name_is_written_for_what_was_made_for_this_alone_nor_for_what_stands_beside_it() -> None:
    text = (
        "@f = fn(seqs : Tensor([b, k, t], int64), beam : Tensor([b, k], int64), tok : Tensor([b, k], int64))"
        " : Tensor([b, k, t + 1], int64) {\n  let kept = @take(seqs, beam, axis=1)\n"
        "  @concat([kept, @expand_dims(tok, axis=-1)], axis=-1)\n}\n"
        "@g = fn(r : Tensor([t], float32), v : Tensor([t + 1], float32)) : Tensor([t], float32) { r + 0.99 * v - v[0:t] }\n"
    )
    told = [m.text for _, fixes in offered(text) for m in fixes]
    assert len(wrong(text)) == 2 and not [t for t in told if "write `" in t]


def test_no_other_name_is_written_for_what_a_loop_made_though_its_carry_has_the_same_name() -> None:
    text = (
        "@f = fn(x : Tensor([t, d], float32), h : Tensor([1, d], float32)) : Tensor([t, d], float32) {\n"
        "  let h = for i in range(t) with (h : Tensor([k, d], float32) = h) { @concat([h, x[i:i + 1]], axis=0) }\n"
        "  h\n}\n"
    )
    found = with_helps(check_text(text, "a.rx", Path(".")), Path(".")).diagnostics
    assert [d.code for d in found] == ["W311"]
    assert [h.text for d in found for h in d.helps] == []


def test_two_sizes_that_can_never_broadcast_are_told_at_the_operator_and_nothing_is_made_of_one_tensor() -> None:
    text = (
        "@f = fn(x : Tensor([n, t, d], float32), y : Tensor([1, t + 1, d], float32)) : Tensor([n, t, d], float32) {\n"
        "  x + y\n}\n"
    )
    (d,) = wrong(text)
    assert d.severity == "error" and d.message.startswith("`+` needs axis 1 of `x` (t) and axis 1 of `y` (t + 1)")
    assert "min(" not in d.message
    assert not [m.text for _, fixes in offered(text) for m in fixes if "@" in m.text]


def test_pooling_that_may_not_fit_takes_a_bound_and_is_never_left_out() -> None:
    text = "@f = fn(x : Tensor([n, c, h, w], float32)) : Tensor { @max_pool2d(x, 2) }\n"
    ((_, fixes),) = [o for o in offered(text) if o[0].severity == "warning"]
    assert fixes[0].text == "`where h >= 2, w >= 2` on @f makes it hold"
    assert not [m.text for m in fixes if "leave out" in m.text]


# What --fix says

LEFT = [
    (
        "@f = fn(x : Tensor([b, d], float32)) : Tensor { @reshape(x, [b, 8, d // 8]) }",
        "a `where` is for the author to write",
    ),
    (
        "@f = fn(x : Tensor([n, 3], float32), w : Tensor([4, 3], float32)) : Tensor { @matmul(x, w) }",
        "fixes are possible",
    ),
    (
        "@f = fn(x : Tensor([b, t, h, k], float32), w : Tensor([h * k, h * k], float32)) : Tensor([b, t, h * k], float32) "
        "{ @matmul(@reshape(x, [b, h * k, t]), w) }",
        "2 fixes are possible",
    ),
    (
        "@f = fn(x : Tensor([b, t, h * k], float32), y : Tensor([b, h, k, m], float32)) : Tensor([b, h, t, m], float32) "
        "{ @matmul(@permute_dims(@reshape(x, [b, t, k, h]), axes=[0, 2, 1, 3]), y) }",
        "2 fixes are possible",
    ),
    (
        "@f = fn(x : Tensor([b, n, o], float32)) : Tensor([], float32) where b >= 1 "
        "{ @mean(@vector_norm(x, axis=1) / @vector_norm(@reshape(x, [b, n * o]), axis=2)) }",
        "the axis may be wrong",
    ),
    (
        "@f = fn(x : Tensor([b, t * g], float32), g : Size) : Tensor([b, g, t], float32) where g >= 1 "
        "{ @permute_dims(x, [0, 1, 2]) }",
        "the fix is a guess",
    ),
    ("@f = fn(x : Tensor([2, 3], float32)) : Tensor { @reshape(x, [5]) }", "left: E307: "),
    ("@f = fn(x : Tensor([b, 15], float32)) : Tensor { @reshape(x, [b, 4, 4]) }", "only the author can decide"),
]


@pytest.mark.parametrize(("text", "reason"), LEFT)
def test_fix_says_of_a_message_why_it_is_left(
    text: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.rx"
    path.write_text(text)
    invoke(["check", "--fix", str(path)])
    lines = [line for line in capsys.readouterr().out.split("\n") if line.startswith(f"{path}:1: left: ")]
    assert reason in lines[0] and ["W313" in line for line in lines[1:]] == [True] * (len(lines) - 1)
    assert path.read_text() == text


def test_a_fix_is_not_the_only_one_where_not_all_were_tried() -> None:
    kinds = "x : Tensor([n, k], float32), w : Tensor([m, k], float32)"
    source = Source("a.rx", f"@f = fn({kinds}) : Tensor([n, m], float32) {{ @matmul(x, w) }}\n")
    [offered] = ranked(check_source(source, DATA), DATA)
    assert not why_left(offered, source)
    assert why_left(replace(offered, cut=True), source) == "not every possible fix was tried"


@pytest.mark.parametrize("steps", [1_000, 4_000])
def test_where_the_steps_do_not_last_fix_writes_what_it_would_have_written_or_nothing(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = list(islice(wrong_programs(), 0, None, 12))
    with_all = [fixed_and_left(Source("a.rx", text), DATA).text for text in texts]
    monkeypatch.setattr(trials, "LEAST_STEPS", steps)
    monkeypatch.setattr(trials, "STEPS_OF_A_LETTER", 0)
    for text, wanted in zip(texts, with_all, strict=True):
        assert fixed_and_left(Source("a.rx", text), DATA).text in (text, wanted), text


def test_fix_writes_a_pad_for_each_axis_as_pairs(tmp_path: Path) -> None:
    path = tmp_path / "net.rx"
    head = (
        "@f = fn(x : Tensor([n, c, h, w], float32), k : Tensor([o, c, 3, 3], float32)) : Tensor([n, o, h, w], float32)"
    )
    path.write_text(f"{head} {{\n  @conv2d(x, k, pads=[1])\n}}\n")
    assert invoke(["check", "--fix", str(path)]) == 0
    assert "pads=[(1, 1)]" in path.read_text()


WINDOWS = (
    ("@max_pool2d(x, 2)", "h >= 2, w >= 2"), ("@max_pool(x, [2, 3])", "h >= 2, w >= 3"),
    ("@average_pool2d(x, 3, strides=2)", "h >= 3, w >= 3"), ("@lp_pool(x, 2)", "h >= 2, w >= 2"),
    ("@conv2d(x, @ones([4, 3, 3, 5], float32))", "h >= 3, w >= 5"), ("@max_pool2d(x, 2, dilations=3)", "h >= 4, w >= 4"),
    ("@conv2d(x, @ones([4, 3, 5, 5], float32), pads=1)", "h >= 3, w >= 3"), ("@unfold(x, [3, 3])", "h >= 3, w >= 3"),
    ("@frame(@sum(x, axis=[0, 1, 2]), length=4, step=2)", "w >= 4"),
)  # fmt: skip
AROUND = ("{}", "let a = @relu(x)\nlet b = {}\nb", "if (n > 1) {{ {} }} else {{ {} }}")


@pytest.mark.parametrize(
    ("window", "bound", "around"), [(*w, a) for w, a in zip(WINDOWS, AROUND * len(WINDOWS), strict=False)]
)
def test_how_small_an_input_of_a_window_is_the_author_says_and_the_window_stays(
    window: str, bound: str, around: str
) -> None:
    head = "@f = fn(x : Tensor([n, 3, h, w], float32))"
    text = f"{head} : Tensor {{\n{around.format(window, window)}\n}}\n"
    report = check_text(text, "t.rx", Path())
    warnings = [o for o in ranked(report, Path()) if o.diagnostic.severity == "warning"]
    assert warnings
    for found in warnings:
        assert [m.kind for m in found.fixes] == ["bound"] * len(found.fixes)
        assert any(m.text == f"`where {bound}` on @f makes it hold" for m in found.fixes)


@pytest.mark.parametrize(
    ("result", "called"),
    [("", "@down(x)"), (" : Tensor", "@relu(@down(x))"), (" : Tensor([n, 3, p, q], float32)", "@down(@down(x))")],
)
def test_a_bound_of_a_window_is_offered_where_callers_are_asked_for_it_then(result: str, called: str) -> None:
    text = f"@down = fn(x : Tensor([n, 3, h, w], float32)){result} {{ @max_pool2d(x, 2) }}\n"
    text += f"@main = fn(x : Tensor([n, 3, h, w], float32)) : Tensor {{ {called} }}\n"
    report = check_text(text, "t.rx", Path())
    found = next(o for o in ranked(report, Path()) if o.diagnostic.severity == "warning")
    assert [m.text for m in found.fixes] == [
        "`where h >= 2, w >= 2` on @down makes it hold; then W311 in line 2 remains"
    ]
    assert why_left(found, Source("t.rx", text))


BIASED = """@f = fn(x : Tensor([b, o, h, w], float32), bias : Tensor([o], float32)) : Tensor([b, o, h, w], float32) {
  x + BIAS
}"""
SPLIT = """@f = fn(x : Tensor([b, t, d], float32), w : Tensor([g * k, d], float32), g : Size) : Tensor([b, g, t, k], float32) {
  let left = @permute_dims(@reshape(@linear(x, w), [b, t, g, k]), [0, 2, 1, 3])
  left + @permute_dims(SPLIT, [0, 2, 1, 3])
}"""
GROWN = """@g = fn(x : Tensor([s, d], float32), y : Tensor([s, d], float32)) : Tensor([s + 1, d], float32) where s >= 1 {
  @concat([x, y[:1]], axis=0)
}

@f = fn(x : Tensor([s, d], float32), n : Size) : Tensor([s + n, d], float32) where s >= 1, n >= 0 {
  let (grown, _) = for i in range(n)
    with (a : Tensor([s + i, d], float32) = x, b : Tensor([SIZE, d], float32) = x) {
    (@g(a, b), @g(b, a))
  }
  grown
}"""
STEPS = """@f = fn(x : Tensor([b, c, 2 * t], float32), w : Tensor([c, c, 5], float32)) : Tensor([b, t, c], float32)
  where t >= 1 {
  let y = @relu(@conv1d(x, w, strides=[STEP], pads=[(2, 2)]))
  @permute_dims(y, [0, 2, 1])
}"""
MASK = """@f = fn(scores : Tensor([b, t], float32), lengths : Tensor([b], int64)) : Tensor([b, t], float32) {
  @where(@arange(t) < LENGTHS, scores, 0.0)
}"""
FIRST = "@f = fn(x : Tensor([b, t, d], float32)) : Tensor([b, d], float32) where t >= 1 { x[:, PLACE] * 2.0 }"
FLAT = """@f = fn(x : Tensor([b, t, h, k], float32)) : Tensor([b, t, h * k], float32) { RESULT }"""
TURNS = """@f = fn(x : Tensor([t, d], float32)) : Tensor([t, d], float32) {
  for i in range(TURNS) stack (y : Tensor([d], float32)) { @relu(x[i]) }
}"""


@pytest.mark.parametrize(
    "text, name, meant, typo",
    [
        (BIASED, "BIAS", "@expand_dims(bias, axis=[1, 2])", "bias"),
        (SPLIT, "SPLIT", "@reshape(@linear(x, w), [b, t, g, k])", "@linear(x, w)"),
        (GROWN, "SIZE", "s + i", "s"),
        (STEPS, "STEP", "2", "3"),
        (STEPS, "STEP", "2", "1"),
        (MASK, "LENGTHS", "@expand_dims(lengths, axis=-1)", "lengths"),
        (MASK, "LENGTHS", "@expand_dims(lengths, axis=1)", "@expand_dims(lengths, axis=0)"),
        (FIRST, "PLACE", "0", "1"),
        (FLAT, "RESULT", "@reshape(x, [b, t, h * k])", "x"),
        (TURNS, "TURNS", "t", "t - 1"),
    ],
)  # fmt: skip
def test_the_first_fix_of_a_slip_restores_what_was_meant(text: str, name: str, meant: str, typo: str) -> None:
    right, wrong = text.replace(name, meant), text.replace(name, typo)
    assert rx.check_source(right).diagnostics == ()
    found = ranked(check_text(wrong, "f.rx", Path(".")), Path("."))
    first = next(o for o in found if o.diagnostic.severity != "note")
    assert applied(wrong, first.fixes[0].edits) == right


def test_no_reshape_is_fixed_to_the_shape_that_its_tensor_has() -> None:
    text = (
        "@f = fn(x : Tensor([n, 4], float32), k : Size) : Tensor {\n"
        "  for i in range(k) with (h = x) { let z = @reshape(h, [n // 2, 8]); @reshape(z, [n, 4]) }\n}\n"
    )
    [found] = ranked(check_text(text, "f.rx", Path(".")), Path("."))
    assert [fix.what for fix in found.fixes] == ["`where k <= 0 || n % 2 == 0` on @f makes it hold"]


UP = """type Conv(i, o) = Tensor([o, i, 3, 3], float32)
@up = fn(x : Tensor([b, c, h, w], float32), skip : Tensor([b, c, h * 2, w * 2], float32),
          k : Conv(2 * c, o), u : Conv(c, 2 * c)) : Tensor([b, o, h * 2, w * 2], float32) {
  let low = @conv(x, u, pads=1)
  let back = @upsample(low, 2)
  let both = @concat([skip, back], axis=1)
  @relu(@conv(both, k, pads=1))
}
"""
HEADS = """@attend = fn(q : Tensor([b, h, t, d], float32), keys : Tensor([b, g, s, d], float32),
              values : Tensor([b, g, s, d], float32)) : Tensor([b, h, t, d], float32) where h % g == 0, g >= 1 {
  let wide = keys
  let wide_v = @repeat(values, h // g, axis=1)
  let scores = @matmul(q, @matrix_transpose(wide))
  @matmul(@softmax(scores, axis=-1), wide_v)
}
"""
NORM = """@norm = fn(x : Tensor([n, d], float32)) : Tensor([n, d], float32) {
  (x - @mean(x, axis=1)) / @std(x, axis=1)
}
"""


@pytest.mark.parametrize(
    ("text", "fixes"),
    [
        (UP, []),  # no tensor is written for another one that nothing would use any more
        (HEADS, ["@repeat(@matrix_transpose(wide), h // g, axis=1)"]),
        (NORM, ["(x - @mean(x, axis=1, keepdims=true)) / @std(x, axis=1, keepdims=true)"]),
    ],
    ids=["dropped", "heads", "twice"],
)
def test_the_first_fix_drops_nothing_that_is_worked_out_and_equates_nothing(text: str, fixes: list[str]) -> None:
    [found] = ranked(check_text(text, "f.rx", Path(".")), Path("."))
    assert [fix in applied(text, found.fixes[0].edits) for fix in fixes] == [True] * len(fixes)
    assert bool(found.fixes) == bool(fixes)


# Where it is told


def is_marked(told: Diagnostic, span: Span) -> bool:
    return any(label.span == span for label in told.labels)


def test_a_message_is_told_where_its_first_fix_edits_or_where_it_fails_and_says_both() -> None:
    moved = 0
    for text in wrong_programs():
        for found in ranked(check_text(text, "a.rx", DATA), DATA):
            said, at = told(found), found.diagnostic.span
            if said.span == at:
                continue
            moved += 1
            first = found.fixes[0]
            assert first.is_of_operation and first.settles
            assert all(edit.span.within(said.span) for edit in first.edits)
            assert is_marked(said, at) and not is_marked(said, said.span)
            assert not any(edit.span.within(at) for edit in first.edits)
            assert said.message == found.diagnostic.message and said.subject == found.diagnostic.subject
    assert moved


PAIR = "@f = fn(x : Tensor([n, 5], float32), y : Tensor([n, 5], float32)) : Tensor([n, {}], float32) {{\n"
TOLD = [
    # The one operation that fixes it stands above, in another statement or around the same one.
    ("  let a = @sum(x * y, axis=0)\n  a", "", "@sum(x * y, axis=0)"),
    ("  let a = @concat([x, y], axis=0)\n  let b = @exp(a)\n  b", 10, "@concat([x, y], axis=0)"),
    # The call that fails may itself be what is wrong, or nothing that was tried fixes it.
    ("  let a = @concat([x, y], axis=1)\n  @matmul(a, x)", 10, "@matmul(a, x)"),
]


@pytest.mark.parametrize(("body", "last", "place"), TOLD)
def test_a_message_stands_at_the_operation_that_is_wrong(body: str, last: object, place: str) -> None:
    head = PAIR.format(last).replace("[n, ]", "[n]")
    report = check_text(f"{head}{body}\n}}\n", "a.rx", DATA)
    assert {d.span.text for d in with_helps(report, DATA).diagnostics if d.severity != "note"} == {place}


# What every turn of a loop needs, said before the first

SUM = "for {0} in range({1}) with (s{0} : Tensor([{2}d], float32) = {3}) {{ {4} }}"
ZERO, ONE = "@zeros([d], float32)", "@zeros([1, d], float32)"
TURNS = [
    (SUM.format("i", "n", "", ZERO, "si + x[i]"), "t >= n"),
    (SUM.format("i", "n", "", ZERO, "si + x[i + 1]"), "t > n"),
    (SUM.format("i", "n - 1", "", ZERO, "si + x[i]"), "t + 1 >= n"),
    (SUM.format("i", "n", "1, ", ONE, "si + x[i:i + 1]") + "[0]", "t >= n"),
    (SUM.format("i", "n", "", ZERO, SUM.format("j", "m", "", "si", "sj + x[i + j]")), "n + m <= t + 1"),
    (f"let a = {SUM.format('i', 't', '', ZERO, 'si + x[i]')}\n{SUM.format('i', 'n', '', 'a', 'si + x[i]')}", "t >= n"),
]


@pytest.mark.parametrize(("body", "bound"), TURNS)
def test_what_the_last_turn_needs_is_a_bound_on_the_number_of_turns(body: str, bound: str) -> None:
    text = f"@f = fn(x : Tensor([t, d], float32), n : Size, m : Size) : Tensor([d], float32) {{\n{body}\n}}\n"
    (_, fixes), *others = [o for o in offered(text) if o[0].severity == "warning"]
    assert not others and fixes[0].kind == "bound", [m.text for m in fixes]
    assert bound in fixes[0].text, fixes[0].text
    assert not wrong(applied(text, fixes[0].edits))


def test_a_loop_behind_another_has_its_index_without_a_prime() -> None:
    first, second, third = (SUM.format("i", "n", "", start, "si + x[i]") for start in (ZERO, "a", "b"))
    body = f"let a = {first}\nlet b = {second}\n{third}"
    text = f"@f = fn(x : Tensor([t, d], float32), n : Size) : Tensor([d], float32) {{\n{body}\n}}\n"
    said = [d.message for d in wrong(text)]
    assert len(said) == 3 and all("t > i," in message for message in said), said


# What newcomers write

NEWCOMERS = [
    ("let y : Tensor([n - 1, d], float32) = x[1:] - x[:-2]\ny", "x[:-1]"),
    ("for i in range(2) with (a : Tensor([0, 3]) = @ones([0, 3])) { @concat([a, @ones([1, 3])], axis=0) }", "[i, 3]"),
    ("x / len(x)", "x.dim(0)"), ("x / x.shape[0]", "x.dim(0)"),
    ('f"x is {x}"', "plain text"), ("[r for r in x]", "@map"), ("x @ x", "@matmul"), ("x.sum(axis=0)", "@sum"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "word"), NEWCOMERS)
def test_what_a_newcomer_writes_has_a_help(body: str, word: str) -> None:
    text = f"@f = fn(x : Tensor([n, d], float32)) : Tensor {{\n{body}\n}}\n"
    report = with_helps(check_text(text, "a.rx", DATA), DATA)
    first = next(d for d in report.diagnostics if d.severity != "note")
    assert word in (first.help or ""), first.help


# An axis far from the one that is meant

OWN = (
    "@own = fn(x : Tensor([n, k, m], float32)) : Tensor([n, k, m, 7], float32) {\n"
    "  @repeat(@expand_dims(x, axis=3), 7, axis=3)\n}\n"
)
PICKED = "@squeeze(@take_along_axis(@own(x)[:, :, :-1], @zeros([n, k, m - 1, 1], int64), axis={}), axis=-1)"


@pytest.mark.parametrize("axis", [0, 1])
def test_the_last_axis_is_among_those_that_are_tried(axis: int) -> None:
    head = "@f = fn(x : Tensor([n, k, m], float32)) : Tensor([n, k, m - 1], float32) where m >= 1, n >= 1, k >= 1 {\n"
    assert first_fixed(f"{OWN}{head}{PICKED.format(axis)}\n}}\n") == f"{OWN}{head}{PICKED.format(3)}\n}}\n"


def test_an_axis_of_a_sum_is_that_of_its_larger_operand() -> None:
    text = (
        "@f = fn(x : Tensor([n, m], float32), s : Tensor([], float32), a : Tensor([n], float32)) : Tensor([n], float32) {{\n"
        "  let y = -x / s\n  a - @logsumexp(y + 1.0, axis={})\n}}\n"
    )
    assert first_fixed(text.format(0)) == text.format(1)


SUBSAMPLED = """@f = fn(x : Tensor([b, t, f], float32), k1 : Tensor([c, 1, 3, 3], float32), k2 : Tensor([c, c, 3, 3], float32))
  : Tensor([b, ((t - 1) // 2 - 1) // 2, c * (((f - 1) // 2 - 1) // 2)], float32) where t >= 7, f >= 7, c >= 1 {
  let y = @relu(@conv2d(@expand_dims(x, axis=1), k1, strides=1))
  let z = @relu(@conv2d(y, k2, strides=2))
  let w = @permute_dims(z, axes=[0, 2, 1, 3])
  @reshape(w, [b, ((t - 1) // 2 - 1) // 2, c * (((f - 1) // 2 - 1) // 2)])
}
"""


@pytest.mark.parametrize("most", [20_000])
def test_no_error_is_left_where_a_fix_is_said_to_leave_an_unproved_claim(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few steps there are to try a fix: an error that nobody had the steps for is none that is gone."""
    whole = trials.StepBudget
    monkeypatch.setattr(trials, "StepBudget", lambda steps, walks: whole(min(steps, most), walks))
    for text in (SUBSAMPLED, *wrong_programs(2)):
        if [d.severity for d in wrong(text)] == ["error"]:
            for fix in (m for _, fixes in offered(text) for m in fixes):
                left = {d.code for d in wrong(applied(text, fix.edits)) if d.severity == "error"}
                assert all(code in fix.text for code in left), fix.text


def test_what_a_function_is_given_and_nothing_uses_is_meant_rather_than_moved_axes() -> None:
    head = "x : Tensor([t, c], float32), up : Tensor([c, h], float32), down : Tensor([h, c], float32)"
    for wrong_call, right in (
        ("@matmul(wide, up)", "@matmul(wide, down)"),
        ("x + @matmul(wide, up)", "x + @matmul(wide, down)"),
    ):
        text = f"@f = fn({head}) : Tensor([t, c], float32) {{\n  let wide = @gelu(@matmul(x, up))\n  {wrong_call}\n}}\n"
        [(_, (first, *_))] = offered(text)
        assert applied(text, first.edits) == text.replace(wrong_call, right)


def test_an_unproved_claim_of_a_fix_is_seen_where_an_error_of_a_caller_hides_it() -> None:
    text = """@f = fn(x : Tensor([n, c, h], float32), w : Tensor([o, c, k], float32)) : Tensor {
  assert w.dim(2) == 3
  @conv(x, w)
}
@g = fn(x : Tensor([n, 3, 7], float32)) : Tensor {
  @f(x, @zeros([8, 3, 4]))
}
"""
    (fixes,) = [found for diagnostic, found in offered(text) if diagnostic.severity == "warning"]
    assert fixes and not any("permute_dims" in edit.text for fix in fixes for edit in fix.edits)


@pytest.mark.parametrize(
    ("body", "found", "mistakes"),
    [
        ("for i in range(l + 1) with (s = x) { @matmul(s, ws[i]) + bs[i] }", 2, 1),
        ("for i in range(l) with (s = x) { @matmul(s, ws[i + 1]) + bs[i] }", 1, 1),
        ("let w = @concat([ws[0], ws[0]], axis=1)\n  @matmul(x, w) + @sum(w, axis=0)", 1, 1),
        ("let a = @matmul(ws[0], bs)\n  let b = bs + x\n  x", 2, 2),
    ],
)
def test_what_the_same_edit_settles_is_told_once(body: str, found: int, mistakes: int) -> None:
    text = (
        "@f = fn(x : Tensor([n, d], float32), ws : Tensor([l, d, d], float32), bs : Tensor([l, d], float32)) "
        f": Tensor([n, d], float32) where l >= 1 {{\n  {body}\n}}\n"
    )
    report = check_text(text, "p.rx", Path())
    alone = [d for d in report.diagnostics if d.is_wrong]
    told = [d for d in with_helps(report, Path()).diagnostics if d.is_wrong]
    assert (len(alone), len(told)) == (found, mistakes)
    either = {label.span for d in told for label in d.labels if label.message == "this does not fit either"}
    assert len(either) == found - mistakes and {d.span for d in alone} >= either


@pytest.mark.parametrize(
    ("body", "fix"),
    [
        ("for i in range(n) with (s : Tensor([m, d], float32) = r * 2.0) { s }", "@broadcast_to(r * 2.0, [m, d])"),
        ("for i in range(n) with (s : Tensor([m, d], float32) = y) { s }", "@matrix_transpose(y)"),
        ("for i in range(n) with (s : Tensor([m, d], float32) = x) { @matrix_transpose(@exp(s)) }",
         "@matrix_transpose(@matrix_transpose(@exp(s)))"),
        ("(while (k < n) with (k : Size = 0, s : Tensor([m, d], float32) = y) { (k + 1, s) })[1]", "@matrix_transpose(y)"),
        ("let z : Tensor([m, d], float32) = r\\n  z", "@broadcast_to(r, [m, d])"),
    ],
)  # fmt: skip
def test_what_a_loop_begins_with_and_what_a_turn_gives_are_fixed_as_other_values(body: str, fix: str) -> None:
    text = (
        "@f = fn(x : Tensor([m, d], float32), y : Tensor([d, m], float32), r : Tensor([d], float32), n : Size) "
        f": Tensor([m, d], float32) where n >= 0 {{\\n  {body}\\n}}\\n"
    ).replace("\\n", "\n")
    [found] = [d for d in with_helps(check_text(text, "p.rx", Path()), Path()).diagnostics if d.is_wrong]
    assert any(fix in help_.text for help_ in found.helps[:2]), [help_.text for help_ in found.helps]
    assert "broadcast" not in fix or fixed_and_left(Source("p.rx", text), Path()).text == text


_ACROSS = [
    ("Tensor([b, t, h * k], float32)", "[b, h, t, k]", "@permute_dims(@reshape({}, [b, t, h, k]), [0, 2, 1, 3])"),
    ("Tensor([b, t, h, k], float32)", "[b, h, t * k]", "@reshape(@permute_dims({}, [0, 2, 1, 3]), [b, h, t * k])"),
    ("Tensor([b, t, h, k], float32)", "[b, h * k, t]", "@reshape(@permute_dims({}, [0, 2, 3, 1]), [b, h * k, t])"),
    ("Tensor([t, b, h, k], float32)", "[b * t, h, k]", "@reshape(@permute_dims({}, [1, 0, 2, 3]), [b * t, h, k])"),
    ("Tensor([b, 10, 64], float32)", "[b, 8, 10, 8]", "@permute_dims(@reshape({}, [b, 10, 8, 8]), [0, 2, 1, 3])"),
    ("Tensor([2, 3, 5, 7], float32)", "[2, 35, 3]", "@reshape(@permute_dims({}, [0, 2, 3, 1]), [2, 35, 3])"),
]
_WITHIN = [
    ("Tensor([b, t, h * k], float32)", "[b, t, h, k]"),
    ("Tensor([b, t, h, k], float32)", "[b, t, h * k]"),
    ("Tensor([b, t, h, k], float32)", "[b * t, h, k]"),
    ("Tensor([b, 10, 64], float32)", "[b, 10, 8, 8]"),
]


@pytest.mark.parametrize(
    ("given", "declared", "fix"), [*_ACROSS, *((g, d, f"@reshape({{}}, {d})") for g, d in _WITHIN)]
)
@pytest.mark.parametrize("value", ["x", "x * 2.0"])
def test_what_is_declared_is_not_laid_across_axes(given: str, declared: str, fix: str, value: str) -> None:
    head = f"@f = fn(x : {given}, h : Size) : Tensor({declared}, float32) where h >= 1 {{\n"
    for body in (f"  {value}\n", f"  let y : Tensor({declared}, float32) = {value}\n  y\n"):
        text = f"{head}{body}}}\n"
        [(_, (first, *_))] = offered(text)
        assert applied(text, first.edits) == text.replace(body, body.replace(value, fix.format(value), 1)), first.text
        assert first.guess == ("permute" in fix)


@pytest.mark.parametrize(("given", "declared"), [(g, d) for g, d, _ in _ACROSS])
def test_no_fix_lays_elements_across_axes(given: str, declared: str) -> None:
    head = f"@f = fn(x : {given}, h : Size) : Tensor({declared}, float32) where h >= 1 {{\n"
    order = dims_text(range(declared.count(",") + 1))
    for body in (f"  let y : Tensor({declared}, float32) = x * 2.0\n  y\n", f"  @permute_dims(x, axes={order})\n"):
        text = f"{head}{body}}}\n"
        assert fixed_and_left(Source("p.rx", text), Path()).text == text


def test_a_quotient_is_a_part_of_the_size_that_it_divides() -> None:
    dims = ("b", "t", "d")
    assert not elements.mixes(dims, ("b", "t", "h", "d // h")) and not elements.mixes(("b", "t", "h", "d // h"), dims)
    assert elements.mixes(dims, ("b", "h", "t", "d // h"))
    assert elements.order_for(dims, ("b", "h", "t", "d // h")) == (0, 2, 1, 3)
    assert not elements.mixes(("b", "s"), ("b", "h", "w")) and elements.order_for(("b", "s"), ("b", "h", "w")) == ()
    assert not elements.mixes(("*s", "n"), ("n", 2)) and not elements.mixes((0, 5), (5, 0, 1))


def chain(seed: int) -> tuple[str, str]:
    """Layers one after the other over weights that are parameters or parts of one, and the same with two of them exchanged."""
    draw = random.Random(seed)
    many, in_tuple = draw.randrange(2, 6), draw.random() < 0.5
    sizes = [*draw.sample("abcdegh", many), "f"]
    types = [f"Tensor([{m}, {n}], float32)" for m, n in pairwise(sizes)]
    given = f"p : ({', '.join(types)},)" if in_tuple else ", ".join(f"w{i} : {t}" for i, t in enumerate(types))
    names = [f"p[{i}]" if in_tuple else f"w{i}" for i in range(many)]
    head = f"@f = fn(x : Tensor([n, {sizes[0]}], float32), {given}) : Tensor([n, f], float32)"
    first, second = sorted(draw.sample(range(many), 2)) if many > 2 else (0, 1)
    changed = names.copy()
    changed[first], changed[second] = names[second], names[first]
    texts = (reduce(lambda y, w: f"@relu(@matmul({y}, {w}))", order, "x") for order in (names, changed))
    right, wrong = (f"{head} {{\n  {body}\n}}\n" for body in texts)
    return right, wrong


@pytest.mark.parametrize("seed", range(8))
def test_two_weights_in_each_others_place_change_places_if_the_author_says_so(seed: int) -> None:
    right, wrong = chain(seed)
    report = check_text(wrong, "t.rx", Path())
    best = [(o, o.fixes[0]) for o in ranked(report, Path()) if o.fixes]
    assert best and all(applied(wrong, fix.edits) == right for _, fix in best)
    assert all(why_left(offer, Source("t.rx", wrong)) for offer, _ in best)


def test_every_weight_is_given_to_some_fix_and_has_a_reason() -> None:
    texts = [p.read_text(encoding="utf-8") for p in (ROOT / "fixes").rglob("*.py") if p.name != "weights.py"]
    rows = [row.split(" ", 1)[1].partition(": ") for row in weights._TABLE.strip().splitlines()]
    assert [name for name, _, reason in rows if not reason or not any(f'"{name}"' in t for t in texts)] == [
        "kept rows", "kept elements", "giving way", "condition",
    ]  # fmt: skip
    assert len(weights._WEIGHTS) == len(rows)
