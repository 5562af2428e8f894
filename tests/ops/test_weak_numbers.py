"""Numbers, and what arithmetic of numbers alone makes, take the dtype of what they stand beside."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.ops import registry
from support import fuzz, ops

MASKED = """@f = fn(x : Tensor([n], {0}), m : Tensor([n], bool)) : Tensor([n], {0}) {{
  let c = -1e30 / 1e28
  @where(m, x * (2.0 * 3.5), c + 1.0)
}}
"""


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_named_number_takes_the_dtype_of_each_use(dtype: str) -> None:
    x, m = np.array([1, 2, 3], dtype), np.array([True, False, True])
    found = rx.loads(MASKED.format(dtype)).f(x, m)
    assert found.dtype == dtype and found.tolist() == [7, -99, 21]


def test_one_name_is_a_size_an_attribute_and_two_dtypes() -> None:
    text = """@f = fn(x : Tensor([n, 3], float32), y : Tensor([n, 3], int8)) : (Tensor([3, n], float32), Tensor([n], int8)) {
  let k = 4 - 1
  let axis = k - 2
  (@reshape(x, [k, n]) * k, @sum(y, axis=axis) * k + y[:, k - 1])
}
"""
    a, b = rx.loads(text).f(np.ones((2, 3), "float32"), np.ones((2, 3), "int8"))
    assert (a.dtype, b.dtype, a.tolist(), b.tolist()) == (np.float32, np.int8, [[3, 3]] * 3, [10, 10])


def test_a_number_of_another_file_and_of_a_loop_and_of_a_function_value(tmp_path: Path) -> None:
    (tmp_path / "lib.rx").write_text("const eps = 1.0 / 4.0\nconst on = true\n")
    text = """import "lib.rx" as lib
const half = lib.eps * 2.0
@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) {
  let two = 2
  let g = fn(z : Tensor([k], float32)) : Tensor([k], float32) { z * two + half }
  let y = for i in range(two) with (acc : Tensor([n], float32) = x) { let c = 0.5; g(acc) - c }
  if (lib.on) { y + lib.eps } else { @expand_dims(y, axis=0) }
}
"""
    (tmp_path / "p.rx").write_text(text)
    found = rx.load(tmp_path / "p.rx").f(np.array([1, 2, 3], "float32"))
    assert found.dtype == np.float32 and found.tolist() == [4.25, 8.25, 12.25]


def test_alone_a_number_is_int64_or_float64() -> None:
    found = rx.loads("let a = 2\nlet b = a * 1.5\nlet c = a > 1\nlet t = tensor([1, 2], int8) + a\n").main()
    assert [found[k].dtype.name for k in "abct"] == ["int64", "float64", "bool", "int8"]


def test_a_named_number_that_does_not_fit_is_refused_where_it_stands() -> None:
    report = rx.check_source("@f = fn(x : Tensor([n], int8)) : Tensor([n], int8) {\n  let c = 299 + 1\n  x + c\n}\n")
    [found] = [d for d in report.diagnostics if d.severity == "error"]
    assert found.span.text == "x + c" and "300" in found.message


@pytest.mark.parametrize("text", ["1 / 2", "2 // 0", "2 ** -1", "1e308 * 10.0"])
def test_what_is_no_number_is_left_to_the_operator(text: str) -> None:
    """An integer division is refused as of tensors, nothing is folded to an infinity."""
    report = rx.check_source(f"let x = {text}\n")
    assert report.ok == (text in ("2 // 0", "2 ** -1", "1e308 * 10.0"))


def number(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(["2", "3", "7", "0.5", "1.25", "3.0", "11", "c"])
    op = rng.choice(["+", "-", "*", "//", "%", "**", "<", "==", "&&"][: rng.choice([5, 6, 9])])
    return f"({number(rng, depth - 1)} {op} {number(rng, depth - 1)})"


def test_folding_says_what_python_says_of_the_same_operators() -> None:
    compared = 0
    for case in fuzz.cases("folded numbers"):
        with case as seed:
            rng = random.Random(seed)
            text = number(rng, 3)
            folded = rx.check_source(f"let c = 5\nlet r = {text}\n")
            if not folded.ok:
                continue
            try:
                wanted = eval(text.replace("&&", "and"), {"c": 5})
            except (ZeroDivisionError, OverflowError):
                continue
            found = rx.loads(f"let c = 5\nlet r = {text}\n").main()["r"]
            if isinstance(wanted, complex) or (isinstance(wanted, int) and wanted.bit_length() > 63):
                continue
            compared += 1
            assert found.dtype == np.asarray(wanted).dtype and found == wanted, text
    assert compared > 10


def test_a_size_becomes_a_tensor_of_the_dtype_that_is_named() -> None:
    text = """@f = fn(x : Tensor([n, d], dt)) : Tensor([n, d], dt) where dt in floating { x / @sqrt(@size_to_tensor(d, dt)) }
@g = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x * @size_to_tensor(n, dtype=float32) }
"""
    assert rx.loads(text).f(np.full((2, 4), 6, "float32")).tolist() == [[3] * 4] * 2
    assert rx.loads(text).g(np.ones(3, "float32")).dtype == np.float32
    assert not rx.check_source("let s = @size_to_tensor(3, string)\n").ok


LITERALS = {"1": "iufc", "-1": "iufc", "1.5": "fc", "true": "b", "2 * 3": "iufc"}
CALLS = ("@where(m, x, {})", "@equal(x, {})", "x + {}", "@maximum(x, {})", "@pad(x, [(1, 1)], value={})")  # fmt: skip


@pytest.mark.parametrize(
    "kinds", ["", "where d in numeric", "where d in integer", "where d in inexact", "where d in real"]
)
def test_beside_a_dtype_that_is_not_known_nothing_is_widened(kinds: str) -> None:
    for call in CALLS:
        for literal, fitting in LITERALS.items():
            text = f"@f = fn(x : Tensor([n], d), m : Tensor([n], bool)) : Tensor {kinds} {{ {call.format(literal)} }}\n"
            report = rx.check_source(text)
            module = None if any(d.severity == "error" for d in report.diagnostics) else rx.loads(text)
            for dtype in ("int16", "float32", "complex64", "bool"):
                x = np.array([1, 0, 2], dtype)
                try:
                    found = None if module is None else module.f(x, np.array([True, False, True]))
                except rx.ShapeError:
                    assert any(d.code == "W311" for d in report.diagnostics) or _entry_check_refuses(kinds, x), (
                        text,
                        dtype,
                    )
                    continue
                assert found is None or (x.dtype.kind in fitting and found.dtype in (x.dtype, np.bool_)), (text, dtype)


def _entry_check_refuses(kinds: str, x: np.ndarray) -> bool:
    try:
        rx.loads(f"@f = fn(x : Tensor([n], d)) : Tensor {kinds} {{ x }}\n").f(x)
    except rx.ShapeError:
        return True
    return False


@pytest.mark.parametrize("call", ["y + x", "y * x - y", "@where(x > x, y, x)", "@maximum(y, x)", "@l(x, y)"])
@pytest.mark.parametrize("scalar", ["y", "@sum(y)", "@item_of(y)"])
def test_a_scalar_that_is_computed_is_no_literal(call: str, scalar: str) -> None:
    text = f"""@item_of = fn(y : Tensor) : Tensor {{ @reshape(y, [1])[0] }}
@one = fn(x : Tensor([3], d), y : Tensor([], d)) : Tensor where d in floating {{ x + y }}
@two = fn(x : Tensor(?, d), y : Tensor([], d)) : Tensor where d in floating {{ x - y }}
@l = [@one, @two]
@f = fn(x : Tensor, y : Tensor) : Tensor {{ let y = {scalar}; {call} }}
"""
    f = rx.loads(text).f
    assert f(np.ones(3, np.float32), np.float32(2)).dtype == np.float32
    for y in (np.float64(2), np.array(2.0)):
        assert f(np.ones(3), y).dtype == np.float64
        with pytest.raises(rx.ShapeError):
            f(np.ones(3, np.float32), y)


@pytest.mark.parametrize(("call", "place"), [("@exp(1)", "`x` (1)"), ("@add(true, false)", "`x` (true)")])
def test_a_number_of_the_wrong_kind_is_named_by_its_parameter(call: str, place: str) -> None:
    (said,) = pipeline.check_text(f"@f = fn() {{ {call} }}\n", "p.rx", Path(".")).diagnostics
    assert said.code == "E313" and f"needs {place} to have" in said.message


HUGE = "1" + "0" * 400
TAKERS = """@g = fn(x : Tensor([n], float32), s : float32) : Tensor([n], float32) { x * s }
@h = fn(x : Tensor([n], d), s : Tensor([], d)) : Tensor([n], d) { x }
"""


@pytest.mark.parametrize(
    "body",
    ["@g(x, B)", "@g(x, -B)", "@h(x, B)", "x * B", "@linspace(0, B, n)", "@leaky_relu(x, -B)", "@std(x, correction=B)",
     "@full([n], B, float32)", "@clip(x, 0, B)"],
)  # fmt: skip
def test_an_integer_that_no_float_holds_is_refused_in_words(body: str) -> None:
    program = TAKERS + f"@f = fn(x : Tensor([n], float32)) : Tensor {{ {body} }}"
    with pytest.raises((rx.CheckError, rx.ShapeError)) as refused:
        rx.loads(program.replace("B", HUGE)).f(np.ones(2, "float32"))
    assert "float" in str(refused.value)
    assert rx.loads(program.replace("B", "7")).f(np.ones(2, "float32")).shape == (2,) or body.startswith("@std")


BESIDE = {
    "float32": [-2.5, -1, 0, 0.5, 3], "float16": [-2.5, -1, 0, 0.5, 3], "int32": [-3, -1, 0, 2, 5],
    "uint8": [0, 1, 2, 200, 255], "bool": [True, False], "complex64": [1 + 2j, -1, 0.5j],
}  # fmt: skip
OF_OPERANDS = [
    name for name in registry.names()
    if 2 <= len(needed := [p for p in ops.row_of(name).params if p.required]) <= 3 and all(p.kind == "tensor" for p in needed)
]  # fmt: skip


def given(text: str, x: np.ndarray) -> object:
    """What a program gives for x, or that it is refused when it is checked or when it runs."""
    try:
        found = rx.loads(f"@f = fn(x : Tensor([n], {x.dtype})) {{ {text} }}").f(x)
    except (rx.CheckError, rx.ShapeError) as problem:
        return type(problem)
    return [(part.dtype, part.tolist()) for part in map(np.asarray, found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("name", fuzz.some(OF_OPERANDS, 4))
def test_a_number_beside_a_tensor_is_what_it_is_when_it_is_cast(name: str) -> None:
    count = sum(p.required for p in ops.row_of(name).params)
    for at, (dtype, values) in enumerate(BESIDE.items()):
        for number in ("2", "-1", "2.5", "true")[0 if fuzz.FULL else at % 2 :: 1 if fuzz.FULL else 2]:
            draw = random.Random(f"{name} {dtype} {number}")
            x, place = np.array(values, dtype), draw.randrange(count)
            texts = ["x" if i != place else None for i in range(count)]
            written, cast = (
                f"@{name}({', '.join(t or n for t in texts)})" for n in (number, f"@cast({number}, {dtype})")
            )
            found, wanted = given(written, x), given(cast, x)
            assert rx.CheckError in (found, wanted) or str(found) == str(wanted), written


def test_a_number_is_a_tensor_where_more_than_its_elements_counts() -> None:
    x = np.arange(3, dtype=np.int32)
    starts = "@reshape(x, [n, 1])[:, 0:0]"
    for text, wanted in (
        ("@quantile(2, @cast(x, float32) / 4.0)", np.full(3, 2, np.float32)),
        ("@dequantize(x, 2.5)", np.array([0, 2.5, 5])),
        (f'@scatter_slices(2, {starts}, x, reduction="add")', np.int32(5)),
        (f"@scatter_slices(@sum(x), {starts}, x)", np.int32(2)),
    ):
        found = rx.loads(f"@f = fn(x : Tensor([n], int32)) {{ {text} }}").f(x)
        assert (found.dtype, found.tolist()) == (wanted.dtype, wanted.tolist())
