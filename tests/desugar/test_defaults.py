"""Defaults of parameters: checked where they are declared, and the same from inside, from Python and from the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang.cli.main import invoke

SCALED = "@scaled = fn(x : Tensor([n], {dtype}), c : {type} = {number}) : Tensor([n], {dtype}) {{ x * c }}\n"


@pytest.mark.parametrize(
    ("dtype", "type_", "number", "wanted"),
    [
        ("float32", "float32", "1e-5", [1e-5, 2e-5]), ("float32", "float32", "2", [2, 4]),
        ("float32", "Tensor([], float32)", "-0.5", [-0.5, -1]), ("int8", "int8", "-3", [-3, -6]),
        ("int8", "Tensor([2], int8)", "tensor([5, 7], int8)", [5, 14]), ("float64", "Tensor(?, float64)", "3", [3, 6]),
        ("float16", "Tensor([], float16)", "tensor(2.0, float16)", [2, 4]),
    ],
)  # fmt: skip
def test_a_default_is_the_same_from_everywhere(
    dtype: str, type_: str, number: str, wanted: list[float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lib.rx").write_text(SCALED.format(dtype=dtype, type=type_, number=number))
    net = tmp_path / "net.rx"
    net.write_text(
        f'import "lib.rx" as lib\n@f = fn(x : Tensor([2], {dtype})) : Tensor([2], {dtype}) {{ @lib.scaled(x) }}\n'
    )
    x = np.array([1, 2], dtype)
    for result in (rx.load(tmp_path / "lib.rx").scaled(x), rx.load(net).f(x), rx.load(net)["lib.scaled"](x)):
        assert result.dtype == dtype and np.array_equal(result, np.array(wanted, dtype))
    assert invoke(["run", str(tmp_path / "lib.rx"), "--call", "@scaled", "--arg", f"x=[1,2]:{dtype}"]) == 0
    assert f"Tensor([2], {dtype})" in capsys.readouterr().out


def test_a_number_takes_the_dtype_that_another_argument_has() -> None:
    module = rx.loads(
        "@f = fn(x : Tensor([n], d), c : Tensor([], d) = 2) : Tensor([n], d) where d in numeric { x * c }\n"
        "@g = fn(x : Tensor([n], int16)) : Tensor([n], int16) { @f(x) }"
    )
    for dtype in ("int8", "float32", "float64", "complex64"):
        assert module.f(np.ones(2, dtype)).dtype == dtype
    assert module.g(np.ones(2, np.int16)).tolist() == [2, 2]
    with pytest.raises(rx.ShapeError):
        module.f(np.ones(2, np.int8), 2)


@pytest.mark.parametrize(
    ("param", "code"),
    [
        ("k : Tensor([n], bool) = nonsense", "E201"), ("k : int8 = 300", "E211"), ("k : uint8 = -1", "E211"),
        ("k : int8 = 1.5", "E211"), ("k : bool = 1", "E211"), ("k : float32 = true", "E211"),
        ("k : Tensor([2], int8) = 1", "E211"),
        ("k : Tensor([3], int8) = tensor([1, 2], int8)", "E211"), ("k : Tensor([2], int8) = tensor([1, 2])", "E211"),
        ("k : Tensor([n, *s], int8) = 1", "E211"), ("k : Tensor = x", "E220"), ("k : Size = 1.5", "E206"),
        ("k : DType = 3", "E206"),
        ("k : Tensor = @ones([3])", "E220"), ("k : Shape = [2, n]", "E220"),
        ("k : Size = n // 2", "E220"), ("k : float32 = 1e39", "E211"),
    ],
)  # fmt: skip
def test_a_default_with_which_no_call_could_be_right_is_refused_where_it_stands(param: str, code: str) -> None:
    report = rx.check_source(f"@f = fn(x : Tensor([n], float32), {param}) : Tensor([n], float32) {{ x }}")
    errors = [d for d in report.diagnostics if d.severity == "error"]
    assert [d.code for d in errors] == [code]
    assert errors[0].span.text in param


@pytest.mark.parametrize(("default", "named"), [("n", "n"), ("n * 2 - d", "n"), ("2 + s", "s"), ("h + 1", "h")])
def test_a_default_that_a_call_would_have_to_tell_is_answered_with_what_to_write(default: str, named: str) -> None:
    report = rx.check_source(
        f"@f = fn(x : Tensor([n, d], float32), s : Size, h : Size = 2, k : Size = {default}) : Tensor {{ x }}"
    )
    (error,) = [d for d in report.diagnostics if d.severity == "error"]
    assert error.message.endswith(f"only a call tells what `{named}` is")
    assert error.help is not None and f"write `{default}` in place of `k`" in error.help


@pytest.mark.parametrize(
    "param", ["k : Tensor([*_s], float32) = 1", "k : Tensor = 1", "k : Tensor(?, int8) = 1", "k : Shape = [2, 3]",
              "k : DType = int8",
              "k : Bool = true", "k : Size = -3", "k : (Size, Size) = (2, 3)", "k : Tensor([_m], int8) = tensor([1], int8)"],
)  # fmt: skip
def test_every_other_default_is_taken(param: str) -> None:
    text = f"@f = fn(x : Tensor([n], float32), {param}) : Tensor([n], float32) {{ x }}"
    assert rx.loads(text).f(np.ones(3, np.float32)).tolist() == [1, 1, 1]
