"""`@map`, `@fold` and `@scan`: what they give, for every way to hand a function over, and what is said of their mistakes."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.cli.desugar import listing
from rxlang.interp.shape_error import ShapeError
from rxlang.lang.diagnostics import Diagnostic
from rxlang.lang.formatter import format_source
from rxlang.lang.source import Source
from support.agreement import Ways
from support.phases import core_of

HERE = Path(".")
X, V = "xs : Tensor([n, d], float32)", "Tensor([d], float32)"
SIZES = [(3, 2), (0, 2), (1, 3), (2, 0)]
LIBRARY = """@twice = fn(r : Tensor([d], float32)) : Tensor([2 * d], float32) { @concat([r, r], axis=0) }
@open = fn(r) { @concat([r, r], axis=0) }
@each = fn(f : fn(Tensor([d], float32)) : Tensor([d], float32), xs : Tensor([n, d], float32)) : Tensor([n, d], float32) {
  @map(f, xs)
}
@any_relu = fn(xs) { @map(@relu, xs) }
@two = fn(xs) { @map(fn(r) { (r * 2.0, (@sum(r), 3)) }, xs) }
"""


def said(source: str, base: Path = HERE, *severities: str) -> list[Diagnostic]:
    found = pipeline.check_text(source, "x.rx", base).diagnostics
    return [d for d in found if d.severity in (severities or ("error", "warning"))]


def rows(n: int, d: int) -> Any:
    return np.random.default_rng(n + d).standard_normal((n, d)).astype(np.float32)


def same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        assert isinstance(found, tuple) and len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            same(a, b)
        return
    wanted = np.asarray(wanted)
    assert np.asarray(found).shape == wanted.shape and np.asarray(found).dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def twice(x: Any) -> Any:
    return np.concatenate([x, x], axis=-1)


F = np.float32


def sums(x: Any) -> Any:
    return np.array([r.sum() for r in x], F)


def running(x: Any) -> Any:
    """The sums of the first 0, 1, 2, ... rows."""
    return np.cumsum(np.pad(x, [(1, 0), (0, 0)]), axis=0, dtype=F)


def relu(x: Any) -> Any:
    return np.maximum(x, F(0))


# The body of a function of `xs`, its result's type, and the same in NumPy: all of them proved, without an unproved claim.
N_D, N_2D = "Tensor([n, d], float32)", "Tensor([n, 2 * d], float32)"
PROGRAMS: dict[str, tuple[str, str, Any]] = {
    "a primitive": ("@map(@relu, xs)", N_D, relu),
    "a function": ("@map(@twice, xs)", N_2D, twice),
    "one of another file": ("@map(@lib.twice, xs)", "Tensor([n, d * 2], float32)", twice),
    "one without types": ("@map(@open, xs)", N_2D, twice),
    "a lambda": ("@map(fn(r : V) : V { r * 2.0 }, xs)", N_D, lambda x: x * 2),
    "a lambda that says nothing": ("@map(fn(r) { r * 2.0 }, xs)", N_D, lambda x: x * 2),
    "lambdas in each other": (
        "@map(fn(xs) { @map(fn(r) { @sum(r) }, xs) }, @broadcast_to(@reshape(xs, [n, 1, d]), [n, 3, d]))",
        "Tensor([n, 3], float32)", lambda x: np.repeat(sums(x)[:, None], 3, 1),
    ),
    "a lambda whose parameters have names of outside": (
        "let a = @ones([d], float32)\n @fold(fn(xs, a) { let b = xs + a\n let a = b\n a }, a, xs)", V,
        lambda x: running(np.concatenate([np.ones_like(x[:1]), x]))[-1] if len(x) else np.ones(x.shape[1], F),
    ),
    "a scan by a lambda": (
        "let (a, b) = @scan(fn(c, r) { (c + r, @sum(r)) }, @zeros([d], float32), xs)\n b", "Tensor([n], float32)", sums,
    ),
    "a lambda that gives a scalar": (
        "@map(fn(r : Tensor([p], float32)) { @sum(r) }, @pad(xs, [(0, 0), (0, 1)]))", "Tensor([n], float32)", sums,
    ),
    "a lambda with a name": ("let f = fn(r : V) { r + 1.0 }\n @map(f, xs)", N_D, lambda x: x + 1),
    "a lambda that reads outside": (
        "let c = @max(@pad(xs, [(1, 0), (0, 0)]), axis=0)\n @map(fn(r : V) { r - c }, xs)", N_D,
        lambda x: x - np.pad(x, [(1, 0), (0, 0)]).max(0),
    ),
    "a parameter": ("@each(@relu, xs)", N_D, relu),
    "a parameter of another file": ("@lib.each(fn(r : V) : V { -r }, xs)", N_D, lambda x: -x),
    "several tensors": ("@map(@add, xs, xs * 2.0)", N_D, lambda x: x + x * 2),
    "by keyword": ("@map(xs=xs, f=@relu)", N_D, relu),
    "of the prelude": ("@prelude.map(@relu, xs)", N_D, relu),
    "a tuple": (
        "@map(fn(r : V) { (r * 2.0, (@sum(r), r)) }, xs)", f"({N_D}, (Tensor([n], float32), {N_D}))",
        lambda x: (x * 2, (sums(x), x)),
    ),
    "a size of the smaller of two": (
        "@map(fn(r) { r[:3] }, xs)", "Tensor([n, min(3, d)], float32)", lambda x: x[:, :3],
    ),
    "every other one of a row": ("@map(fn(r) { r[::2] }, xs)", "Tensor([n, ceildiv(d, 2)], float32)", lambda x: x[:, ::2]),
    "a size of at least 1": (
        "@map(fn(r) { @ones([max(1, n), d // max(n, 1)]) }, xs)", "Tensor([n, max(1, n), d // max(n, 1)], float32)",
        lambda x: np.ones((len(x), max(1, len(x)), x.shape[1] // max(len(x), 1)), F),
    ),
    "a tuple of one": ("@map(fn(r : V) { (r * 2.0,) }, xs)[0]", N_D, lambda x: x * 2),
    "a tuple with nothing in it": ("@map(fn(r : V) { ((), (r * 2.0, ())) }, xs)[1][0]", N_D, lambda x: x * 2),
    "a scan that leaves nothing": (
        "@scan(fn(c, r) { ((c[1], c[0] + r), ()) }, (xs[0], xs[0]), xs)[0][0]", V,
        lambda x: x[0] + running(x[len(x) % 2 :: 2][: len(x) // 2])[-1],
    ),
    "a fold of a tuple by a lambda that says nothing": (
        "@fold(fn(c, r) { let (a, b) = c\n let (b, e) = b\n (b, (e, r)) }, (xs[0], (xs[0], xs[0])), xs)[1][0]", V,
        lambda x: x[max(len(x) - 2, 0)],
    ),
    "a fold of a tuple of another fold's": (
        "@fold(fn(c, r) { let (a, b) = c\n (r, a) }, @fold(fn(c, r) { (c[1], r) }, (xs[0], xs[0]), xs), xs)[1]", V,
        lambda x: x[max(len(x) - 2, 0)],
    ),
    "a fold of a size by a lambda whose result is one": (
        "@fold(fn(k, r) : Size { k + r.dim(0) }, n, xs)", "Size", lambda x: np.array(x.size + len(x)),
    ),
    "a scan that leaves a tuple of one": ("@scan(fn(c, r) { (c, (r,)) }, xs[0], xs)[1][0]", N_D, lambda x: x),
    "a call of what maps to a tuple": ("@two(xs)[0]", N_D, lambda x: x * 2),
    "a map in a map": (
        "@map(fn(p : Tensor([3, d], float32)) { @map(@twice, p) }, @broadcast_to(@reshape(xs, [n, 1, d]), [n, 3, d]))",
        "Tensor([n, 3, 2 * d], float32)", lambda x: twice(np.repeat(x[:, None], 3, 1)),
    ),
    "in arms": (
        "if (n > 2) { @map(@relu, xs) } else { @map(@abs, xs) }", N_D, lambda x: relu(x) if len(x) > 2 else np.abs(x),
    ),
    "in a loop": (
        "for i in range(2) with (acc = xs) { @map(@relu, acc) - 1.0 }", N_D, lambda x: relu(relu(x) - 1) - 1,
    ),
    "around a loop": ("@map(fn(r : V) { for i in range(3) with (acc = r) { acc * 2.0 } }, xs)", N_D, lambda x: x * 8),
    "in a condition": (
        "let b = @map(fn(r : V) { @all(r > 0.0) }, xs)\n if (@all(b)) { xs } else { -xs }", N_D,
        lambda x: x if (x > 0).all() else -x,
    ),
    "beside a tensor called range": ("let range = xs\n @map(@relu, range)", N_D, relu),
    "beside names of its own": ("let i = xs\n let y = i\n let rows = y\n @map(@relu, rows)", N_D, relu),
    "a fold": ("@fold(@add, @zeros([d], float32), xs)", V, lambda x: running(x)[-1]),
    "a fold of a size": ("@fold(fn(k : Size, r) : Size { k + r.dim(0) }, 0, xs)", "Size", lambda x: np.array(x.size)),
    "a fold that begins with a number": (
        "@fold(fn(a : float32, r : V) { a + 1.0 }, 0.0, xs)", "float32", lambda x: F(len(x)),
    ),
    "a fold over two": (
        "@fold(fn(a : V, r : V, s : V) { a + r * s }, @zeros([d], float32), xs, xs)", V,
        lambda x: running(x * x)[-1],
    ),
    "a fold of a tuple": (
        "let (a, b) = @fold(fn(c : (V, V), r : V) { let (a, b) = c\n (b, r) }, (xs[0], xs[0]), xs)\n a", V,
        lambda x: x[max(len(x) - 2, 0)],
    ),
    "a scan": (
        "@scan(fn(c : V, r : V) : (V, float32) { (c + r, @sum(r)) }, @zeros([d], float32), xs)",
        f"({V}, Tensor([n], float32))", lambda x: (running(x)[-1], sums(x)),
    ),
    "a scan that stacks what it carries": (
        "@scan(@add, @zeros([d], float32), xs)", f"({V}, {N_D})", lambda x: (running(x)[-1], running(x)[1:]),
    ),
    "a part of a scan": ("@scan(@add, @zeros([d], float32), xs)[1]", N_D, lambda x: running(x)[1:]),
    "a scan of tuples": (
        "@scan(fn(c : (V, float32), r : V) { let (a, b) = c\n ((a + r, b + 1.0), (a, r)) }, "
        "(@zeros([d], float32), tensor(0.0, float32)), xs)", f"(({V}, float32), ({N_D}, {N_D}))",
        lambda x: ((running(x)[-1], F(len(x))), (running(x)[:-1], x)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_are_mapped_folded_and_scanned_as_in_numpy(name: str, tmp_path: Path) -> None:
    body, result, wanted = PROGRAMS[name]
    (tmp_path / "lib.rx").write_text(LIBRARY)
    path, where = tmp_path / "x.rx", " where n >= 1" if "xs[0]" in body else ""
    body = re.sub(r"\bV\b", V, body)
    path.write_text(f'import "lib.rx" as lib\n{LIBRARY}@f = fn({X}) : {result}{where} {{\n {body}\n}}\n')
    unproved_claims = [
        d.message for d in said(path.read_text(), tmp_path) if d.span.source.name == "x.rx" and d.function == "@f"
    ]
    assert not unproved_claims
    module = rx.load(path)
    for n, d in SIZES:
        if n or not where:
            same(module.f(rows(n, d)), wanted(rows(n, d)))


def test_a_function_without_types_maps_rows_of_any_rank_and_knows_their_shape_without_a_row() -> None:
    module = rx.loads(LIBRARY)
    for shape in ((2, 3), (0, 3), (0, 5, 2), (0,)):
        same(module.any_relu(np.ones(shape, np.float32)), np.ones(shape, np.float32))
    spliced = rx.loads("@f = fn(xs : Tensor([n, *s, d], float16)) : Tensor([n, *s, d], float16) { @map(@relu, xs) }")
    same(spliced.f(np.ones((0, 2, 3), np.float16)), np.ones((0, 2, 3), np.float16))


def test_of_no_row_at_all_the_shape_is_known() -> None:
    function = "@f = fn(xs : Tensor([0, d], float32)) : Tensor([0, 2 * d], float32) { @map(@twice, xs) }"
    source = f"{LIBRARY.splitlines()[0]}\n{function}"
    assert said(source) == []
    same(rx.loads(source).f(rows(0, 3)), np.zeros((0, 6), np.float32))


def test_what_is_mapped_folded_and_scanned_is_never_written_into() -> None:
    module = rx.loads("""type Two(n, d) = (Tensor([n, d], float32), Tensor([d], float32), Tensor([n, d], float32))
    @f = fn(x : Tensor([n, d], float32)) : Two(n, d) where n >= 1 {
      let y = x + 1.0
      let (last, sums) = @scan(fn(a : Tensor([d], float32), r : Tensor([d], float32)) { a + r }, y[0], y)
      let most = @fold(fn(a : Tensor([d], float32), r : Tensor([d], float32)) { a * r + last }, y[0], y)
      (y, most - most + last, @map(fn(r : Tensor([d], float32)) { r * 1.0 }, y))
    }""")
    x = rows(3, 2)
    y, last, copy = module.f(x)
    same(x, rows(3, 2))
    same((y, copy), (x + 1, x + 1))
    np.testing.assert_allclose(last, (x + 1).sum(0) + x[0] + 1, rtol=1e-6)


def test_a_function_of_the_program_goes_before_and_a_primitive_where_no_function_is_given() -> None:
    module = rx.loads("@map = fn(x, y) { x + y }\n@f = fn(x : Tensor([n], float32)) { @map(x, x) }")
    same(module.f(np.ones(2, np.float32)), np.full(2, 2, np.float32))
    module = rx.loads("@f = fn(x : Tensor([1, 4, 6], float32)) { @fold(x, [3, 4], [2, 2]) }")
    assert module.f(np.ones((1, 4, 6), np.float32)).shape == (1, 1, 3, 4)


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("@map(@relu)", "E205", "@map is called without `xs`"),
        ("@scan(@add, xs)", "E205", "@scan is called without `xs`"),
        ("@map(@relu, (xs, xs))", "E206", "@map goes over the rows of tensors; this is a tuple"),
        ("@fold(@add, xs, xs=@split(xs, 2))", "E206", "@fold goes over the rows of tensors; this is a tuple"),
        ("let t = (xs, xs)\n @map(@add, xs, t)", "E206", "@map goes over the rows of tensors; this is a tuple"),
        ("@map(xs, @relu)", "E206", "`f` is a function; this is a tensor"),
        ("@fold(fn(c, r, q) { let (a, b) = c; (b, a) }, (xs, xs), xs)", "E205",
         "@fold calls `f` with the carried value and a row; this one takes 3 arguments"),
        ("@map(@twice, xs, xs)", "E205", "@map calls `f` with a row of each of 2 tensors; this one takes 1 argument"),
        ("@map(fn(r) { @split(r, 2) }, xs)", "E206", "@map stacks a tuple part by part, and how many parts"),
        ("@fold(fn(c, r) { (c[0] + r, c[1]) }, @split(xs, 2), xs)", "E206", "@fold carries a tuple part by part, and how many"),
        ("@scan(fn(c, r) { (c, (r, @split(r, 2))) }, xs[0], xs)[0]", "E206", "@scan stacks a tuple part by part, and how many"),
        ("@fold(@twice, xs, xs)", "E205", "@fold calls `f` with the carried value and a row; this one takes 1 argument"),
        ("@map(@relu, axis=xs)", "E205", "@map has no parameter `axis`; its parameters are f, xs"),
        ("@map(@relu, f=@relu, xs=xs)", "E205", "@map gets `f` twice"),
        ("let f = @map\n xs", "E221", "`@map` can only be called"),
        ("@fold(@add, 0.0, xs)", "E227", "`0.0` is a number without a dtype, and needs one to be carried"),
        ("@vmap(@relu, xs)", "E202", "there is no function `@vmap`"),
        ("@map(@relu, @sum(xs))", "E302", "@map needs `@sum(xs)` to have rank 1 or more, but it has rank 0"),
        ("@map(@twice, @reshape(xs, [n, d, 1]))", "E301", "@twice needs `r` to have rank 1, but it has rank 2"),
        ("@map(@add, xs, @pad(xs, [(1, 0), (0, 0)]))", "E302", "@map needs `@pad(xs, [(1, 0), (0, 0)]).dim(0) == xs.dim(0)`"),
        ("@fold(@add, @zeros([d + 1], float32), xs)", "W311", "`+` needs axis 0 of `acc` (d + 1)"),
        ("@map(fn(r : Tensor([d], float32)) { @filter(r, r > 0.0) }, xs)", "W311",
         "the stack needs the value of each turn to have one shape in all turns"),
        ("@map(if (@all(xs > 0.0)) { @relu } else { @exp }, xs)", "W311",
         "the stack needs the rank of the value of each turn to be known even where no turn runs"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_in_the_words_of_the_call(body: str, code: str, message: str) -> None:
    found = said(f"{LIBRARY.splitlines()[0]}\n@f = fn({X}) {{ {body} }}")
    assert [d.code for d in found] == [code], [d.message for d in found]
    assert message in found[0].message


@pytest.mark.parametrize("call", ["@fold(g, (x, x), x)", "@map(g, x, x)", "@scan(g, (x, x), x)[0]"])
def test_of_a_call_with_a_function_that_is_wrong_nothing_is_said(call: str) -> None:
    [found] = said(
        f"@f = fn(x : Tensor([a, b], float32)) {{ let g = fn(c, r) {{ let (p, q) = c; (q, p) }}; {call} }}\n"
    )
    assert found.message == "this is a tensor; it cannot be taken apart"


@pytest.mark.parametrize("inner", [
    "@map(fn(q) { q + nope }, r)", "@map(fn(q) { q }, nope)", "@fold(fn(s, q) { s + q }, nope, r)",
    "@map(fn(q) { @map(fn(p) { p }, nope) }, r)", "@fold(fn(s, q) { s + nope }, r[0], r)",
    "@scan(fn(s, q) { (s, nope) }, r[0], r)[1]", "@scan(fn(s, q) { s }, nope, r)[0]",
])  # fmt: skip
def test_a_mistake_in_rows_of_rows_is_told_once(inner: str) -> None:
    [found] = said(f"@f = fn(x : Tensor([a, b, c, d], float32)) {{ @map(fn(r) {{ {inner} }}, x) }}\n")
    assert (found.code, found.span.text) == ("E201", "nope")


WRONG = ("f(x)", "f(q[0])", "@twice(x)", "@own(x, q)", "@concat([x, q], axis=0)", "@moveaxis(q, [0], [1])")
IN_TURNS = {
    "mapped": "@map(fn(q) {{ {} }}, x)", "folded": "@fold(fn(s, q) {{ s + {} }}, x[0], x)",
    "begun": "@fold(fn(s, q) {{ s + {} }}, x, x)", "scanned": "@scan(fn(s, q) {{ s + {} }}, x[0], x)[1]",
    "carried": "for i in range(a) with (s = x) {{ let q = x[i]; {} }}",
    "stacked": "for i in range(a) stack (y : Tensor([b], float32)) {{ let q = x[i]; {} }}",
    "inner": "@map(fn(r) {{ @map(fn(q) {{ {} }}, x) }}, x)",
}  # fmt: skip


@pytest.mark.parametrize("way", IN_TURNS)
@pytest.mark.parametrize("wrong", WRONG)
def test_what_follows_from_a_call_that_fails_in_every_turn_is_silent(wrong: str, way: str) -> None:
    text = (
        "@twice = fn(r : Tensor([d], float32)) : Tensor([2 * d], float32) { @concat([r, r], axis=0) }\n"
        "@own = fn(g : Tensor([a, b], float32), h : Tensor([a, b], float32)) { g + h }\n"
        "@f = fn(x : Tensor([a, b], float32), f : fn(Tensor([b], float32)) : Tensor([b], float32)) "
        f": Tensor([a, b], float32) where a >= 1, b >= 1 {{ {IN_TURNS[way].format(wrong)} }}\n"
    )
    [found] = said(text)
    assert found.code.startswith("E3") and found.severity == "error"


@pytest.mark.parametrize("passed", ["@row", "@relu", "fn(x : Tensor([k], float32)) : Tensor([k], float32) { x }"])
@pytest.mark.parametrize(("params", "order"), [("f : F, xs : X", "{f}, {x}"), ("xs : X, f : F", "{x}, {f}")])
@pytest.mark.parametrize("given", ["xs[0]", "@expand_dims(xs, axis=0)", "(xs, xs)", "@cast(xs, int8)"])
def test_a_function_is_not_held_to_sizes_of_arguments_that_are_wrong(
    passed: str, params: str, order: str, given: str
) -> None:
    text = (
        "type F(k) = fn(Tensor([k], float32)) : Tensor([k], float32)\n"
        "@row = fn(x : Tensor([k], float32)) : Tensor([k], float32) { @softmax(x, axis=0) }\n"
        f"@apply = fn({params}) : Tensor([n, m, k], float32) {{ @map(fn(r) {{ @map(f, r) }}, xs) }}\n"
        "@main = fn(xs : Tensor([n, m, k], float32)) : Tensor([n, m, k], float32) where n >= 1 "
        f"{{ @apply({order.format(f=passed, x=given)}) }}\n"
    ).replace(": X", ": Tensor([n, m, k], float32)").replace(": F,", ": F(k),").replace(": F)", ": F(k))")  # fmt: skip
    [found] = said(text)
    assert found.severity == "error" and "`f`" not in found.message


def test_tensors_with_another_number_of_rows_fail_before_the_first_turn() -> None:
    source = "@f = fn(xs : Tensor([n], float32), ys : Tensor([m], float32)) { @map(@add, xs, ys) }"
    (unproved,) = said(source)
    assert "@map needs `ys.dim(0) == xs.dim(0)` to hold: this holds only if n == m" in unproved.message
    with pytest.raises(ShapeError) as caught:
        rx.loads(source).f(np.ones(2, np.float32), np.ones(3, np.float32))
    assert (
        caught.value.diagnostic.message
        == "@map needs `ys.dim(0) == xs.dim(0)` to hold, but ys.dim(0) is 3, xs.dim(0) is 2"
    )


def test_what_no_row_tells_is_refused_only_where_there_is_none() -> None:
    module = rx.loads("@f = fn(xs : Tensor([n], float32), c : bool) { @map(if (c) { @relu } else { @exp }, xs) }")
    same(module.f(np.ones(2, np.float32), np.array(True)), np.ones(2, np.float32))
    with pytest.raises(ShapeError, match="no turn ran, and only a turn gives the shape and the dtype"):
        module.f(np.ones(0, np.float32), np.array(True))


def test_turns_that_the_data_gives_other_shapes_fail_in_their_turn() -> None:
    module = rx.loads(f"@f = fn({X}) {{ @map(fn(r : {V}) {{ @filter(r, r > 0.0) }}, xs) }}")
    same(module.f(np.array([[1, -1], [-1, 2]], np.float32)), np.array([[1], [2]], np.float32))
    with pytest.raises(ShapeError, match=r"in turn 2 \(i = 1\), the value of each turn needs one shape in all turns"):
        module.f(np.array([[1, -1], [1, 2]], np.float32))


def test_the_core_is_a_loop_and_reads_back_as_it_is() -> None:
    source = f"{LIBRARY}@f = fn({X}) {{ @scan(@add, @sum(xs, axis=0), xs) }}"
    text = listing(core_of(source))
    assert "for i in range(rows)" in text and "stack (y : Tensor(?, ?))" in text
    assert listing(core_of(text)) == text


def test_the_simplified_core_says_what_a_turn_stacks() -> None:
    report = pipeline.check_text(f"{LIBRARY}@f = fn({X}) {{ @map(@twice, xs) }}", "x.rx", HERE)
    assert report.checked is not None
    assert "stack (y : Tensor([xs.dim(1) * 2], float32))" in listing(report.checked.program)


def test_a_stack_of_the_user_may_leave_its_type_to_the_turn() -> None:
    loop = "for i in range(n) stack (y : Tensor(?, ?)) { @pad(xs[i], [(0, 1)]) }"
    source = f"@f = fn({X}) : Tensor([n, d + 1], float32) {{ {loop} }}"
    assert said(source) == []
    for n, d in SIZES:
        assert rx.loads(source).f(rows(n, d)).shape == (n, d + 1)


def test_the_formatter_keeps_calls_over_rows() -> None:
    text = f"@f = fn({X}) {{\n  @map(fn(r : {V}) {{ r }}, xs)\n}}\n"
    assert format_source(Source("x.rx", text)) == (text, ())


# What a function parameter's signature asks of an argument `[*s, n, m]`: its dimensions, when they fit, and what it then says.
ASKED = {
    "k, k": (lambda n, m: n == m, "n, n"),
    "k, 2 * k": (lambda n, m: m == 2 * n, "n, 2 * n"),
    "2 * k, k": (lambda n, m: n == 2 * m, "2 * m, m"),
    "k + 1, k": (lambda n, m: n == m + 1, "m + 1, m"),
    "k, 2": (lambda _, m: m == 2, "n, 2"),
    "k, j": (lambda n, m: True, "n, m"),
}


@pytest.mark.parametrize("rest", ["", "*s, "])
@pytest.mark.parametrize("call", ["f(x)", "@again(f, x)", "@map(f, @expand_dims(x, axis=0))"])
@pytest.mark.parametrize("asked", ASKED)
def test_what_a_function_parameter_asks_is_checked_wherever_it_is_called(asked: str, call: str, rest: str) -> None:
    """What is known behind the call holds, or the call is refused; the function itself takes anything."""
    fits, known = ASKED[asked]
    own = rest.replace("s", "t")
    type_ = f"fn(Tensor([{own}{asked}], float32)) : Tensor([{own}{asked}], float32)"
    head = f"f : {type_}, x : Tensor([{rest}n, m], float32)"
    source = f"""@again = fn({head}) : Tensor([{rest}n, m], float32) {{ f(x) }}
    @use = fn({head}) : Tensor([{rest}n, m], float32) {{
      let y = {call}
      let z : Tensor([{rest}{known}], float32) = x
      z
    }}
    @main = fn(x : Tensor) {{ @use(fn(r) {{ r }}, x) }}"""
    module = rx.loads(source)
    outer = (2,) if rest else ()
    for n, m in itertools.product(range(4), repeat=2):
        x = np.ones((*outer, n, m), np.float32)
        if fits(n, m):
            same(module.main(x), x)
        else:
            with pytest.raises(ShapeError):
                module.main(x)


ROWS = {
    "@sum(r, axis=0)": "n, *s, d",
    "@sum(r, axis=-1)": "n, m, *s",
    "@moveaxis(r, 0, -1)": "n, *s, d, m",
    "@expand_dims(r, axis=0)": "n, 1, m, *s, d",
    "@concat([r, r], axis=-1)": "n, m, *s, 2 * d",
}


@pytest.mark.parametrize("types", ["r", "r : Tensor([k, *t, e], float32)"])
@pytest.mark.parametrize("body", ROWS)
def test_rows_of_unknown_rank_have_a_known_shape_where_there_is_none(body: str, types: str) -> None:
    head = f"xs : Tensor([n, m, *s, d], float32)) : Tensor([{ROWS[body]}], float32)"
    for call in (f"@map(fn({types}) {{ {body} }}, xs)", f"@map(fn(r, q) {{ ({body}, q) }}, xs, xs)[0]"):
        source = f"@f = fn({head} {{ {call} }}"
        assert said(source) == []
        module = rx.loads(source)
        for n, s in itertools.product((0, 2), ((), (3,), (0, 2))):
            x = rows(n, 5 * int(np.prod(s)) * 4).reshape(n, 5, *s, 4)
            wanted = [rx.loads(f"@g = fn(r : Tensor) {{ {body} }}").g(r) for r in x]
            assert module.f(x).shape[0] == n and all(
                np.array_equal(a, b) for a, b in zip(module.f(x), wanted, strict=True)
            )


TYPES = """type F = fn(Tensor([a], float32)) : Tensor([a], float32)
type G = fn(F, Tensor([b], float32)) : Tensor([b], float32)
type H = fn(G, F, Tensor([c], float32)) : Tensor([c], float32)
@up = fn(y : Tensor([k], float32)) : Tensor([k], float32) { y + 1.0 }
@more = fn(y : Tensor([k], float32)) : Tensor([2 * k], float32) { @concat([y, y], axis=0) }
@twice = fn(f : F, x : Tensor([n], float32)) : Tensor([n], float32) { f(f(x)) }
@through = fn(g : G, f : F, x : Tensor([n], float32)) : Tensor([n], float32) { g(f, g(f, x)) }
"""
WRITTEN = (
    ("H", "fn(G, F, Tensor([c], float32)) : Tensor([c], float32)"),
    ("G", "fn(F, Tensor([b], float32)) : Tensor([b], float32)"),
    ("F", "fn(Tensor([a], float32)) : Tensor([a], float32)"),
)


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize(("type_", "call", "passed", "ups"), [
    ("F", "p(x)", "@up", 1), ("G", "p(@up, x)", "@twice", 2), ("H", "p(@twice, @up, x)", "@through", 4),
])  # fmt: skip
def test_a_function_that_takes_functions_is_passed_on_as_any_other(
    type_: str, call: str, passed: str, ups: int, written: bool
) -> None:
    for name, text in WRITTEN if written else ():
        type_ = re.sub(rf"\b{name}\b", text, type_)
    for wrong in ("", "@more") if ups > 1 else ("",):
        module = rx.loads(f"""{TYPES}@take = fn(p : {type_}, x : Tensor([n], float32)) : Tensor([n], float32) {{
          {call.replace("@up", wrong or "@up")} }}
        @main = fn(x : Tensor([n], float32)) : Tensor([n], float32) {{ @take({passed}, x) }}""")
        assert module.main(np.zeros(0, np.float32)).shape == (0,)
        if wrong:
            with pytest.raises(ShapeError):
                module.main(np.zeros(2, np.float32))
        else:
            assert module.main(np.zeros(2, np.float32)).tolist() == [ups, ups]


@pytest.mark.parametrize("call", ["@map(@own, xs)", "@fold(@own2, @zeros([4], float32), xs)"])
def test_what_a_function_over_rows_is_given_is_called_a_row(call: str) -> None:
    report = rx.check_source(
        "@own = fn(x : Tensor([3], float32)) : Tensor([], float32) { @sum(x) }\n"
        "@own2 = fn(s : Tensor([4], float32), x : Tensor([3], float32)) : Tensor([4], float32) { s + @sum(x) }\n"
        f"@f = fn(xs : Tensor([n, 4], float32)) : Tensor {{ {call} }}"
    )
    (error,) = [d for d in report.diagnostics if d.severity == "error"]
    assert error.caption.startswith("a row of `xs` is Tensor([4], float32), the parameter is Tensor([3], float32)")


UNPROVED = [
    "@map(fn(r) { r + y }, x)",
    "@scan(fn(a, r) { let c = r + y; (a, c) }, @sum(y), x)[1]",
    "for i in range(n) stack (z : Tensor(?, ?)) { x[i] + y }",
    "let t = @map(fn(r) { @relu(r * y) }, x); @add(t, x)",
    "let t = @map(fn(r) { (r, r - y) }, x); t[1]",
]


@pytest.mark.parametrize("body", UNPROVED)
def test_what_follows_from_an_unproved_claim_in_a_turn_is_silent(body: str) -> None:
    head = "@f = fn(x : Tensor([n, d], float32), y : Tensor([_e], float32)) : Tensor([n, d], float32)"
    report = rx.check_source(f"{head} {{ {body} }}")
    (told,) = [d for d in report.diagnostics if d.is_wrong]
    assert told.code == "W311" and "`y` (_e) to be equal" in told.message, told.message
    assert report.counts.residual > 1


@pytest.mark.parametrize("step", ["max(1, min(m, d))", "m", "max(m, 2)", "d + 1", "m * 2 - 1", "2"])
@pytest.mark.parametrize("turn", ["{row}", "for q in range(m) stack (w : Tensor(?, ?)) {{ {row} }}"])
def test_what_a_turn_takes_in_steps_is_stacked_as_long_as_it_is(step: str, turn: str) -> None:
    body = f"@map(fn(r) {{ {turn.format(row=f'r[::{step}]')} }}, xs)"
    text = f"@main = fn(xs : Tensor([n, d], float32), m : Size) : Tensor {{ @sum({body}, axis=0) }}"
    ways = Ways(pipeline.check_text(text, "steps.rx", HERE).checked)
    for n, d, m in itertools.product((1, 2), range(4), range(1, 4)):
        xs = np.arange(n * d, dtype=np.float32).reshape(n, d)
        wanted = xs.sum(0)[:: eval(step, {"d": d, "m": m})]
        found = ways.agree({"xs": xs, "m": m})
        assert found.tolist() == (wanted.tolist() if "for" not in turn else [wanted.tolist()] * m)


HALVES = [
    "let (a, b) = @split(r, 2)\n    a * b", "r[:d]", "@reshape(r, [2, -1])[0]", "@sum(@reshape(r, [d, 2]), axis=1)", "r[::2]",
    "let t = @reshape(r, [d, 2])\n    t[:, 0] + t[:, 1]",
]  # fmt: skip


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_what_is_a_part_of_a_row_has_its_size_where_there_is_no_row_too(half: str, rows: int) -> None:
    head = "@f = fn(x : Tensor([n, 2 * d], float32)) : Tensor([n, d], float32)"
    text = f"{head} {{\n  @map(fn(r) {{\n    {half}\n  }}, x)\n}}"
    assert rx.check_source(text).counts.residual == 0
    assert rx.loads(text).f(np.ones((rows, 6), np.float32)).shape == (rows, 3)


BROADCAST = """@f = fn(xs : Tensor([n, d], float32), ys : Tensor([n, e], float32)) : Tensor([n, broadcast(d, e)], float32)
  where d == e || d == 1 || e == 1 {
  @map(fn(x, y) { x * y }, xs, ys)
}
@g = fn(xs : Tensor([n, d], float32), ys : Tensor([n, e], float32)) { @map(fn(x, y) { x[1:] * y }, xs, ys) }
@h = fn(xs : Tensor([n, d], float32), ys : Tensor([n, e], float32)) {
  @map(fn(x, y) { @concat([x * y, @ones([1], float32)], axis=0) }, xs, ys)
}
"""


def test_rows_that_broadcast_have_their_size_where_there_is_no_row_too() -> None:
    assert not any("shape" in d.message for d in said(BROADCAST))
    module = rx.loads(BROADCAST)
    for n, d, e in itertools.product((0, 2), range(1, 4), range(1, 4)):
        xs, ys = rows(n, d), rows(n, e)
        if d == e or 1 in (d, e):
            same(module.f(xs, ys), xs * ys)
            same(module.h(xs, ys), np.concatenate([xs * ys, np.ones((n, 1), np.float32)], axis=1))
        if d - 1 == e or 1 in (d - 1, e):
            same(module.g(xs, ys), xs[:, 1:] * ys)
        else:
            with pytest.raises(ShapeError, match="neither is 1|or one\\s+of them 1"):
                module.g(xs, ys)
