"""A number that a const names is what a `let` of the same line is: checked and run with one dtype, or the same error."""

from __future__ import annotations

from itertools import product

import pytest
import rxlang as rx

TYPES = ("", " : Tensor([], {})", " : {}", " : Tensor(?, {})", " : Tensor([], ?)")
DTYPES = ("int8", "uint8", "int64", "float16", "float32", "float64", "bool", "bfloat16", "complex64")
NUMBERS = "2.0 -2.0 3 -3 300 127 128 true 0 9223372036854775807 9223372036854775808 1e30 1e999"


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("value", NUMBERS.split())
def test_a_const_is_the_number_that_a_let_is(type_: str, value: str) -> None:
    for dtype in DTYPES if "{}" in type_ else ("",):
        line = f"w{type_.format(dtype)} = {value}\n"
        consts = rx.check_source(f"const {line}let r = w\n")
        lets = rx.check_source(f"let {line}let r = w\n")
        assert [d.code for d in consts.diagnostics] == [d.code for d in lets.diagnostics], line
        if not lets.ok:
            continue
        found = {word: rx.loads(f"{word} {line}let r = w\n").main()["r"] for word in ("const", "let")}
        assert found["const"].dtype == found["let"].dtype and found["const"] == found["let"], line
        if dtype and "?" not in type_:
            assert found["const"].dtype.name == dtype, line


@pytest.mark.parametrize(
    ("type_", "dtype"), [*product((" : Tensor([], {})", " : {}"), ("float32", "float64", "int64"))]
)
def test_what_is_proved_of_a_numbers_dtype_holds_when_it_runs(type_: str, dtype: str) -> None:
    line = f"const w{type_.format(dtype)} = 2\n"
    for other in ("float32", "float64", "int64"):
        text = line + f"let y : Tensor([3], {other}) = @ones([3], dtype={other}) * w\n"
        assert rx.check_source(text).ok == (other == dtype)
        if other == dtype:
            assert rx.loads(text).main()["y"].dtype.name == other
