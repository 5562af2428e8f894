"""A size for a tensor, a mask for an index, many truths for one, another axis of a join: what is offered is right."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang.fixes.applied import fixed
from rxlang.fixes.edits import applied
from rxlang.fixes.ranked import ranked
from rxlang.lang.source import Source
from rxlang.pipeline import check_text
from support import fuzz
from support.places import TESTS

DTYPES = ("int32", "int64", "uint8", "uint64", "float16", "bfloat16", "float32", "float64", "complex64")
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=")


def after_fixes(text: str) -> list[str]:
    """The texts that the fixes of the first error lead to."""
    [error] = [d for d in check_text(text, "a.rx", TESTS).diagnostics if d.severity == "error"][:1]
    found = [o for o in ranked(check_text(text, "a.rx", TESTS), TESTS) if o.diagnostic == error]
    return [applied(text, m.edits) for o in found for m in o.fixes]


def errors(text: str, severities: tuple[str, ...] = ("error",)) -> list[str]:
    return [d.message for d in rx.check_source(text).diagnostics if d.severity in severities]


@pytest.mark.parametrize(("op", "dtype"), fuzz.some(product(OPERATORS, DTYPES), 4))
def test_a_size_beside_a_tensor_becomes_one_of_its_dtype(op: str, dtype: str) -> None:
    program = f"@f = fn(x : Tensor([n, d], {dtype})) : Tensor([n, d], ?) {{{{ {{}} }}}}\n"
    written = "@size_to_tensor(n)" if dtype == "int64" else f"@size_to_tensor(n, {dtype})"
    for expr, wanted in ((f"x {op} n", f"x {op} {written}"), (f"n {op} x", f"{written} {op} x")):
        right = program.format(wanted)
        assert errors(program.format(expr))[0].startswith("`n` is a Size")
        found = after_fixes(program.format(expr))
        assert not [text for text in found if errors(text)]
        if not errors(right, ("error", "warning")):
            assert found[0] == right, (op, dtype)


def test_a_size_becomes_a_tensor_of_the_dtype_that_the_rest_asks_for() -> None:
    program = "@f = fn(x : Tensor([n, d], float64), w : Tensor([d], float32)) : Tensor([n, d], float64) {{\n  {}\n}}\n"
    for expr, wanted in (
        ("x / @sqrt(d)", "x / @sqrt(@size_to_tensor(d, float64))"),
        ("x * @cast(w / (n + 1), float64)", "x * @cast(w / (@size_to_tensor(n + 1, float32)), float64)"),
        ("@where(@arange(d) < d // 2, x, 0.0)", "@where(@arange(d) < @size_to_tensor(d // 2), x, 0.0)"),
    ):
        assert after_fixes(program.format(expr))[0] == program.format(wanted)
        assert fixed(Source("a.rx", program.format(expr)), TESTS)[0] == program.format(wanted)


def test_no_dtype_is_offered_where_other_names_are_wrong_and_nothing_tells_it() -> None:
    text = "@f = fn(x : Tensor([n, d], float32)) : Tensor([n, d], float32) { x / n + nothing }\n"
    assert after_fixes(text) == []


def test_what_does_not_hold_every_size_is_for_the_author_to_choose() -> None:
    text = "@f = fn(x : Tensor([n, d], uint8)) : Tensor([n, d], bool) { x < n }\n"
    assert len(after_fixes(text)) == 1 and fixed(Source("a.rx", text), TESTS)[0] == text


MASKED = [
    ("x : Tensor([n, d], float32), m : Tensor([n], bool)", "x[m]", "@filter(x, m)"),
    ("x : Tensor([n], float32), m : Tensor([n], bool)", "x[m]", "@filter(x, m)"),
    ("x : Tensor([n, d], float32), m : Tensor([n, d], bool)", "x[m]", "@filter(@flatten(x), @flatten(m))"),
    ("x : Tensor([n, d], float32), m : Tensor([d], bool)", "x[:, m]", "x[:, @nonzero(m)[0]]"),
    ("x : Tensor([n, d], float32), m : Tensor([d], bool)", "x[..., m]", "x[..., @nonzero(m)[0]]"),
    ("x : Tensor([n, d], float32), m : Tensor([d], bool)", "x[:2, m]", "x[:2, @nonzero(m)[0]]"),
]


@pytest.mark.parametrize(("params", "expr", "wanted"), MASKED)
def test_a_mask_as_an_index_is_numpys(params: str, expr: str, wanted: str) -> None:
    program = f"@f = fn({params}) : Tensor {{{{ {{}} }}}}\n"
    assert after_fixes(program.format(expr))[0] == program.format(wanted)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = x if "[n, d]" in params.split("m :")[0] else x[:, 0]
    ranks = {"[n]": x.shape[:1], "[d]": x.shape[-1:], "[n, d]": x.shape}
    shape = next(s for written, s in ranks.items() if params.endswith(f"Tensor({written}, bool)"))
    m = np.arange(int(np.prod(shape))).reshape(shape) % 2 == 0
    numpys = eval(expr, {"x": x, "m": m})  # the expression is NumPy's too
    assert np.array_equal(rx.loads(program.format(wanted)).f(x, m), numpys)


def test_a_mask_for_positions_is_the_places_where_it_is_true_and_not_ones_and_zeros() -> None:
    program = "@f = fn(x : Tensor([n, d], float32), m : Tensor([d], bool)) : Tensor {{ {} }}\n"
    for call, place in (("@take(x, {}, axis=1)", "m"), ("@put(x, {}, @ones([n, 1]), axis=1)", "m")):
        wrong = program.format(call.format(place))
        assert after_fixes(wrong)[0] == program.format(call.format("@nonzero(m)[0]"))
        assert fixed(Source("a.rx", wrong), TESTS)[0] == wrong


def test_many_truths_choose_for_each_element_or_are_made_one() -> None:
    program = "@f = fn(x : Tensor([n, d], float32)) : Tensor([n, d], float32) {{\n  {}\n}}\n"
    each = program.format("if (x > 0.0) { x } else { -x }")
    wanted = ("@where(x > 0.0, x, -x)", "if (@all(x > 0.0)) { x } else { -x }", "if (@any(x > 0.0)) { x } else { -x }")
    assert after_fixes(each) == [program.format(text) for text in wanted]
    assert fixed(Source("a.rx", each), TESTS)[0] == each
    loop = (
        "@f = fn(x : Tensor([n, d], float32)) : Tensor([n, d], float32) {{ while ({}) with (y = x) {{ y * 0.5 }} }}\n"
    )
    assert after_fixes(loop.format("y > 1.0")) == [loop.format(f"@{name}(y > 1.0)") for name in ("all", "any")]


def test_what_decides_is_told_where_no_fix_is_known() -> None:
    text = "@f = fn(x : Tensor([n, d], float32)) : Tensor { if (x) { let y = x; y } else { x } }\n"
    [error] = [d for d in rx.check_source(text).diagnostics if d.severity == "error"]
    assert error.help is not None and "`@all(c)` and `@any(c)`" in error.help and "`@where(c, x, y)`" in error.help


JOINED = re.compile(r"@(?:concat|stack)\((?:[^()\n]|\((?:[^()]|\([^()]*\))*\))*axis=(-?\d)\)")
AXES = {"": ("0", "1", "2", "3"), "-": ("-1", "-2", "-3", "-4")}


@pytest.mark.parametrize("path", sorted((TESTS / "programs").glob("*.rx")), ids=lambda path: path.stem)
def test_the_axis_that_was_meant_is_the_first_fix_where_tensors_are_joined_along_another(path: Path) -> None:
    text = path.read_text()
    for found in JOINED.finditer(text):
        for axis in AXES["-" * found[1].startswith("-")]:
            wrong = text[: found.start(1)] + axis + text[found.end(1) :]
            report = check_text(wrong, path.name, path.parent)
            if axis != found[1] and any(d.severity != "note" for d in report.diagnostics):
                first = [applied(wrong, o.fixes[0].edits) for o in ranked(report, path.parent) if o.fixes]
                assert text in first, (found[0], axis)
