"""Looking at fixes with numbers for sizes: what is right is never taken for wrong."""

from __future__ import annotations

import numpy as np
import pytest
import rxlang as rx
from rxlang.fixes.edits import applied
from rxlang.fixes.numbers.screen import Screen
from rxlang.fixes.tree import TextTree
from rxlang.lang import sweet
from rxlang.lang.diagnostics import Edit
from rxlang.lang.source import Source, Span
from rxlang.pipeline import check_text
from support import fuzz
from support.fix_grader import functions
from support.mistakes import CORPORA, ROOT, mutated, read_mistakes, read_programs

PROGRAMS = sorted(
    str(p.relative_to(ROOT))
    for folder in ("examples", "tests/programs", "tests/data/architectures", "tests/corpora")
    for p in (ROOT / folder).rglob("*.rx")
)
SAMPLE = 3


def screen(text: str, function: str) -> Screen:
    tree = TextTree(Source("program.rx", text))
    decl = tree.function(function)
    assert decl is not None
    return Screen(tree, decl)


@pytest.mark.parametrize("path", fuzz.some(PROGRAMS, 3))
def test_in_what_checking_accepts_everything_fits(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    if any(d.severity != "note" for d in check_text(text, path, (ROOT / path).parent).diagnostics):
        pytest.skip("something is said of it")
    for name, decl in functions(text).items():
        if decl.fn.body is not None:
            assert screen(text, name).sizes is None, name


@pytest.mark.parametrize("kind", CORPORA)
def test_what_was_there_before_a_mistake_fits(kind: str) -> None:
    programs, shown = read_programs(CORPORA[kind]), 0
    rows = read_mistakes(CORPORA[kind])[::SAMPLE]
    for row in rows:
        text = programs[row.program]
        mutant = mutated(text, row.operator, row.seed)
        assert mutant is not None
        edit = _back(Source("program.rx", mutant.text), text)
        tree = TextTree(edit.span.source)
        decl = tree.enclosing(edit.span, sweet.FnDecl)
        assert decl is not None
        assert applied(mutant.text, [edit]) == text
        looking = Screen(tree, decl)
        assert looking.fits([edit]) in ((True, None) if looking.sizes is not None else (None,)), row
        shown += looking.sizes is not None
    assert shown >= len(rows) * 3 // 4


def _back(source: Source, text: str) -> Edit:
    """The edit that makes another text of a source, between what both begin and end with."""
    own, start, end = source.text, 0, 0
    while own[start] == text[start]:
        start += 1
    while end < min(len(own), len(text)) - start and own[-1 - end] == text[-1 - end]:
        end += 1
    return Edit(Span(source, start, len(own) - end), text[start : len(text) - end])


OVER_ROWS = (
    ("@map(fn(r : Tensor([d], float32)) { @matmul(r, w) }, x)", "@matmul(r, w)", "@matmul(w, r)"),
    ("@map(fn(r) { @matmul(r, w) }, x)", "(r, w)", "(r, x)"),
    ("@fold(fn(s, r) { s + @matmul(r, w) }, @zeros([e], float32), x)", "[e]", "[d]"),
    ("@fold(fn(s, r) { @matmul(@expand_dims(r, axis=0), w) + s }, @zeros([1, e], float32), x)", "[1, e]", "[e]"),
    ("@scan(fn(s, r) { (s + r, @matmul(r, w)) }, x[0], x)[1]", "x[0]", "w[0]"),
    ("@scan(fn(s, r) { s + @matmul(r, w) }, @zeros([e], float32), x)[1]", "[1]", "[0]"),
    ("(for i in range(1) with (g = @map(@last, x, @matmul(x, w))) { g })", "@last", "@first"),
)
ROWS = """@last = fn(a : Tensor([k], float32), b) { b }
@first = fn(a : Tensor([k], float32), b) { a }
@f = fn(x : Tensor([n, d], float32), w : Tensor([d, e], float32)) : Tensor([*s, e], float32) where n >= 1 {
  let y : Tensor(DIMS, float32) = BODY
  y
}
"""


@pytest.mark.parametrize(("body", "right", "wrong"), OVER_ROWS)
def test_functions_are_called_with_a_row(body: str, right: str, wrong: str) -> None:
    rows = ROWS.replace("DIMS", "[*t, e]" if "@fold" in body else "[n, e]")
    assert screen(rows.replace("BODY", body), "f").sizes is None
    looking = screen(rows.replace("BODY", body.replace(right, wrong)), "f")
    assert looking.sizes is not None
    source = looking.decl.span.source
    start = source.text.index(wrong, source.text.index("let y") + len("let y : Tensor([n, e], float32)"))
    assert looking.fits([Edit(Span(source, start, start + len(wrong)), right)]) is True


LAYER = """@f = fn(x : Tensor([b, t, d], float32), w : Tensor([d, e * 2], float32)) : Tensor([b, t, e], float32)
  where t >= 1, d % 4 == 0 {
  let y = @matmul(x, w)
  let z = @reshape(y, [b, t, 2, e])
  @sum(z, axis=1)
}
"""


@pytest.mark.parametrize(
    "before, after, fits",
    [
        ("axis=1", "axis=2", True),
        ("axis=1", "axis=-2", True),
        ("axis=1", "axis=3", False),
        ("axis=1", "axis=4", False),
        ("axis=1", "axes=1", False),
        ("@sum(z", "@sum(nothing", False),
        ("@matmul(x, w)", "@matmul(w, x)", False),
        ("[b, t, 2, e]", "[b, 2, t, e]", True),
        ("[b, t, 2, e]", "[b, 3, t, e]", False),
        ("d % 4 == 0", "d % 8 == 0", None),
    ],
)
def test_a_change_fits_where_all_that_is_called_does_and_the_result_is_as_declared(
    before: str, after: str, fits: bool | None
) -> None:
    looking = screen(LAYER, "f")
    at = LAYER.index(before)
    assert looking.sizes is not None
    assert looking.sizes["d"] % 4 == 0
    assert looking.fits([Edit(Span(looking.decl.span.source, at, at + len(before)), after)]) is fits


def test_a_mistake_of_some_sizes_alone_is_not_looked_at() -> None:
    text = "@f = fn(x : Tensor([n], float32), k : Size) : Tensor([k], float32) where k >= 0 {\n  @topk(x, k)[0]\n}\n"
    assert rx.check_source(text).diagnostics
    assert screen(text, "f").sizes is None


@pytest.mark.parametrize(
    "body",
    [
        "let (a, b) = x\n  a",
        "@concat()",
        "@unstack(x)[0]",
        "@split(x, n)[0]",
        "@pad(x, [1, 1])",
        "@sum(x, axis=1, keepdims=3)",
        "@zeros([min(n)], float32)",
        "@zeros([n], 3)",
        "@resize(x, [n], mode=3)",
        "x[nothing, ...]",
        "for i in range(1, 2, 3, 4) with (y : Tensor = x) { y }",
        "x" + " + x" * 150,
    ],
)
def test_what_is_no_program_does_no_harm(body: str) -> None:
    text = f"@f = fn(x : Tensor([n, m], float32)) : Tensor([m], float32) where m % n == 0 {{\n  {body}\n}}\n"
    looking = screen(text, "f")
    [result] = looking.parts[-1:]
    span = result.span  # type: ignore[attr-defined]
    assert looking.fits([Edit(span, f"{body.rpartition(chr(10))[2]} ")]) in (True, False, None)


def test_numbers_that_grow_beyond_all_sizes_are_not_worked_out() -> None:
    squares = "".join(f"  let a{i + 1} : Size = a{i} * a{i}\n" for i in range(40))
    text = (
        f"@f = fn(x : Tensor([n, 4], float32), y : Tensor([n, 5], float32)) : Tensor {{\n  let a0 : Size = n\n{squares}"
    )
    report = rx.check_source(text + "  x + y\n}\n")
    assert [d.code for d in report.told if d.severity == "error"]


INDICES = (
    "..., 0",
    "0, ...",
    "..., 1:",
    "..., None",
    "None, ..., 0",
    "0, ..., None, 1:",
    ":, ..., 0, 2:",
    "..., 0, None, 1",
)


@pytest.mark.parametrize("index", INDICES)
def test_an_index_of_axes_before_and_after_dots_has_the_shape_that_numpy_gives(index: str) -> None:
    text = f"@f = fn(x : Tensor([4, 5, 6], float32)) : Tensor {{ x[{index}] }}"
    shape = eval(f"x[{index}]", {"x": np.zeros((4, 5, 6))}).shape
    for size, fits in ((shape, True), ((*shape[:-1], shape[-1] + 1), False)):
        declared = text.replace(": Tensor {", f": Tensor({list(size)}, float32) {{")
        assert (screen(declared, "f").sizes is None) is fits, declared
