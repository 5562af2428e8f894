"""Functions that are passed on: what is checked of them is checked in every way to run, and told in the words of who wrote
their signatures."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from rxlang import pipeline
from support import fuzz
from support.agreement import Run, Ways, refused

HERE = Path(".")
SIGNATURES = (
    "fn(Tensor([a], float32)) : Tensor([a], float32)", "fn(Tensor([a], float32)) : Tensor(?, float32)",
    "fn(Tensor(?, float32)) : Tensor([a, a], float32)", "fn(Tensor([a, b], float32)) : Tensor([b, a], float32)",
    "fn(Tensor([*s, a], float32)) : Tensor([*s], float32)", "fn(Tensor([a], d)) : Tensor([b], d)",
    "fn(Tensor([n], float32)) : Tensor([n], float32)", "fn(Tensor([n, a], float32)) : Tensor([a, n], float32)",
    "fn(Tensor([a], float32)) : Tensor([a % 2 + 1], float32)", "fn(Tensor([width * a], float32)) : Tensor([a], float32)",
    "fn(Tensor([a, b], float32)) : Tensor([max(a, b)], float32)", "Same(width)", "Rows(a, float32)",
)  # fmt: skip
PASSED = (
    "@any", "@up", "@twice", "@halves", "@keep", "@columns", "@relu", "@matrix_transpose", "fn(y) { y }", "fn(y) { y[0:1] }",
    "fn(y) { @sum(y, axis=-1) }", "fn(y) { y > 0.0 }", "fn(y : Tensor([k, k], float32)) : Tensor([k], float32) { y[0] }",
)  # fmt: skip
BODIES = (
    "f(y)", "f(y[0])", "f(f(y))", "f(@concat([y, y], axis=0))", "@map(f, y)", "for i in range(2) with (acc = y) { f(acc) }",
    "let z = f(y)\n  z + z",
)  # fmt: skip
SHAPES = ((2,), (0,), (1,), (2, 2), (1, 1), (2, 3), (0, 2))
FUNCTIONS = """type Same(n) = fn(Tensor([n], float32)) : Tensor([n], float32)
type Rows(n, e) = fn(Tensor([n, m], e)) : Tensor([m], e)
const width : Size = 2
@any = fn(y : Tensor(?, float32)) : Tensor(?, float32) { y }
@up = fn(y : Tensor([k], d)) : Tensor([k], d) where d in numeric { y + y }
@twice = fn(y) { @concat([y, y], axis=0) }
@halves = fn(y : Tensor([2 * k], float32)) : Tensor([k], float32) { y[0:k] }
@keep = fn(y : Tensor([k], float32)) : Tensor([j], float32) where j <= k { @filter(y, y > 0.0) }
@columns = fn(y : Tensor([k, m], d)) : Tensor([m], d) where d in numeric { @sum(y, axis=0) }
"""
WAYS = ("a function", "a lambda", "a lambda with a type", "a function of functions", "a lambda with a name")


def program(draw: Random, way: str) -> str:
    """`@main`, which hands a function on; `f` is called in one of `BODIES`. Where its signature speaks of an n, the other
    parameter's type, which may stand before it or behind, binds that."""
    signature, passed, body = draw.choice(SIGNATURES), draw.choice(PASSED), draw.choice(BODIES)
    bound = "[n, *t]" if "[n" in signature else "?"
    in_order = (lambda f, y: f"{f}, {y}") if draw.random() < 0.5 else (lambda f, y: f"{y}, {f}")
    params = in_order(f"f : {signature}", f"y : Tensor({bound}, float32)")
    own = f"@own = fn({params}) : Tensor(?, ?) {{ {body} }}\n"
    if way == "a lambda with a name":
        call = f"let h = fn({params}) {{ {body} }}\n  h({in_order(passed, 'x')})"
    elif way == "a function" or "[n" in signature:
        call = f"@own({in_order(passed, 'x')})"
    else:
        given = {
            "a lambda": f"fn({in_order('f', 'y')}) {{ {body} }}",
            "a lambda with a type": f"fn({params}) {{ {body} }}",
        }
        own += f"""@through = fn(h : fn({in_order(signature, "Tensor(?, float32)")}) : Tensor(?, ?), x : Tensor(?, float32))
  : Tensor(?, ?) {{ h({in_order(passed, "x")}) }}
"""
        call = f"@through({given.get(way, '@own')}, x)"
    return f"{FUNCTIONS}{own}@main = fn(x : Tensor(?, float32)) : Tensor(?, ?) {{\n  {call}\n}}\n"


def test_what_a_signature_asks_is_asked_in_every_way_to_run() -> None:
    for case in fuzz.cases("passed functions"):
        with case as seed:
            text = program(Random(f"passed {seed}"), WAYS[seed % len(WAYS)])
            report = pipeline.check_text(text, "x.rx", HERE)
            assert report.checked is not None, text
            given = [{"x": np.ones(shape, np.float32)} for shape in SHAPES]
            if report.ok:
                ways = Ways(report.checked)
                for args in given:
                    ways.agree(args)
            elif not any(
                d.code.only_empty or any(words in d.message for words in ("passed as", "every call of", "of `f`"))
                for d in report.diagnostics
            ):
                oracle = Run(report.checked.before, guard_all=True)
                assert all(refused(oracle(args)) for args in given), text


def test_a_signature_may_speak_of_names_that_are_bound_behind_a_splice() -> None:
    source = """@own = fn(y : Tensor([n, *t], float32), f : fn(Tensor([n], float32)) : Tensor([n], float32))
  : Tensor(?, float32) { f(@sum(@reshape(y, [n, -1]), axis=1)) }
@main = fn(x : Tensor([n, *s], float32)) : Tensor(?, float32) {
  let own = fn(y : Tensor([n, *t], float32), f : fn(Tensor([n], float32)) : Tensor([n], float32)) { f(@own(y, f)) }
  own(x, @relu)
}"""
    report = pipeline.check_text(source, "x.rx", HERE)
    assert report.checked is not None
    assert Ways(report.checked).agree({"x": np.ones((2, 3), np.float32)}).tolist() == [3, 3]


def test_the_signature_of_a_lambdas_parameter_is_checked_at_its_calls() -> None:
    source = """@main = fn(x : Tensor([n, m], float32)) : Tensor(?, float32) {
      let h = fn(f : fn(Tensor([a], float32), Tensor([a], float32)) : Tensor([a], float32)) { f(x[0], x[:, 0]) }
      h(fn(a, b) { a })
    }"""
    report = pipeline.check_text(source, "x.rx", HERE)
    assert report.checked is not None
    for run in (Run(report.checked.before, guard_all=True), Run(report.checked.before), Run(report.checked.program)):
        assert run({"x": np.ones((2, 2), np.float32)}).shape == (2,)
        assert run({"x": np.ones((2, 3), np.float32)}).message == (
            "`f` needs axis 0 of its argument 2 to be 3 (`a`), but it is 2"
        )


# A function's signature, what is passed for it, and what is said of that.
SAID = [
    ("fn(Tensor([r, s], float32)) : Tensor([r], float32)", "fn(a : Tensor([k, k], float32)) { @sum(a, axis=1) }",
     "the function value passed as `f` needs axis 1 of `a` to be r (`k`), but it is s: this holds only if r == s"),
    ("fn(Tensor([r, s], float32)) : Tensor([r], float32)", "@square",
     "@square passed as `f` needs axis 1 of `a` to be r (`k`), but it is s: this holds only if r == s"),
    ("fn(Tensor([n, m], float32)) : Tensor([n], float32)", "@square",
     "@square passed as `f` needs axis 1 of `a` to be n (`k`), but it is m: this holds only if n == m"),
    ("fn(Tensor([r, s], float32)) : Tensor([r], float32)", "@equal",
     "@equal passed as `f` needs `i == j` to hold: this holds only if r == s"),
    ("fn(Tensor([r, s], float32)) : Tensor([r, s], float32)", "@columns",
     "@app needs axis 0 of the result of `f` to be r, but it is s: this holds only if r == s"),
    ("fn(Tensor([r, s], float32)) : Tensor([s + 1], float32)", "@sums",
     "@app needs axis 0 of the result of `f` to be s + 1, but it is r: this holds only if r == s + 1"),
]  # fmt: skip


@pytest.mark.parametrize(("signature", "passed", "message"), SAID)
def test_what_is_passed_on_is_told_of_in_the_sizes_of_the_parameters_signature(
    signature: str, passed: str, message: str
) -> None:
    source = f"""@square = fn(a : Tensor([k, k], float32)) : Tensor([k], float32) {{ a[0] }}
@equal = fn(a : Tensor([i, j], float32)) : Tensor([i], float32) where i == j {{ a[0] }}
@columns = fn(a : Tensor([i, j], float32)) : Tensor([j, i], float32) {{ @matrix_transpose(a) }}
@sums = fn(a : Tensor([i, j], float32)) : Tensor([i], float32) {{ @sum(a, axis=1) }}
@app = fn(f : {signature}, x : Tensor([p, q], float32)) : Tensor(?, float32) {{ f(x) }}
@main = fn(x : Tensor([n, m], float32)) : Tensor(?, float32) {{ @app({passed}, x) }}
"""
    report = pipeline.check_text(source, "x.rx", HERE)
    found = [d.message for d in report.diagnostics if d.severity == "warning" and d.function == "@main"]
    assert [m.removesuffix(", which is checked at run time") for m in found] == [message]


def test_the_dtype_of_rows_is_known_where_their_rank_is_not() -> None:
    source = """@each = fn(f : fn(Tensor([*s], float32)) : Tensor([*u], float32), xs : Tensor([n, m, *t], float32))
  : Tensor(?, float32) { @map(fn(r) { @map(f, r) }, xs) }"""
    report = pipeline.check_text(source, "x.rx", HERE)
    assert report.ok and not any("dtype" in d.message for d in report.diagnostics)


@pytest.mark.parametrize(("lambda_", "wanted"), [
    ("fn(f, y) { f(f(y)) }", 2), ("fn(f, y) { f(y) }", 1), ("fn(g, y) { y }", 0),
])  # fmt: skip
def test_a_parameter_without_a_type_is_what_its_place_asks_for(lambda_: str, wanted: int) -> None:
    source = f"""@up = fn(y : Tensor([k], float32)) : Tensor([k], float32) {{ y + 1.0 }}
@with_up = fn(h : fn(fn(Tensor([a], float32)) : Tensor([a], float32), Tensor([b], float32)) : Tensor([b], float32),
  x : Tensor([n], float32)) : Tensor([n], float32) {{ h(@up, x) }}
@main = fn(x : Tensor([n], float32)) : Tensor([n], float32) {{ @with_up({lambda_}, x) }}
@sized = fn(f : fn(Size, (Tensor([a], float32), Tensor([a], float32))) : Tensor([b], float32),
  x : Tensor([n], float32)) : Tensor {{ f(3, (x, x)) }}
@rest = fn(x : Tensor([n], float32)) : Tensor {{ @sized(fn(k, t) {{ @pad(t[0] + t[1], [(0, k)]) }}, x) }}
"""
    report = pipeline.check_text(source, "x.rx", HERE)
    assert report.checked is not None
    assert [d.message for d in report.diagnostics if d.severity == "error"] == []
    assert Ways(report.checked).agree({"x": np.zeros(2, np.float32)}).tolist() == [wanted, wanted]


@pytest.mark.parametrize(
    ("own", "needs"),
    [
        ("fn(a : Tensor([4], float32)) : Tensor([3], float32) { a[1:] }", "needs axis 0 of `a` to be 4, but it is 3"),
        ("fn(a : Tensor([3], float32)) : Tensor([2], float32) { a[1:] }", 
         "needs axis 0 of the result of `f` to be 3, but it is 2"),
        ("fn(a : Tensor([3], int8)) : Tensor([3], float32) { @cast(a, float32) }", 
         "needs `a` to have dtype int8, but it has float32"),
        ("fn(a : Tensor([q], float32)) : Tensor([q], float32) where q >= 5 { a }", "needs `q >= 5` to hold, but q is 3"),
    ],
)  # fmt: skip
def test_what_holds_for_no_call_is_wrong_where_the_function_is_passed_even_if_nobody_calls_it(
    own: str, needs: str
) -> None:
    report = pipeline.check_text(
        f"@own = {own}\n@never = fn(f : fn(Tensor([3], float32)) : Tensor([3], float32), x : Tensor([n], float32))\n"
        "  : Tensor([n], float32) { x }\n@main = fn(x : Tensor([n], float32)) : Tensor([n], float32) { @never(@own, x) }\n",
        "x.rx",
        HERE,
    )
    (error,) = [d for d in report.diagnostics if d.severity == "error"]
    assert error.message.endswith(f"{needs}: every call of `f` fails"), error.message
