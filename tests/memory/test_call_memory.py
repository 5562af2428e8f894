"""The memory of a call as an expression in its sizes, against what Python and NumPy allocate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.cli.main import invoke
from rxlang.interp.dps import pairs
from rxlang.memory.arrays import NotKnown
from rxlang.memory.follow import peak
from rxlang.memory.sizes import Peak
from support import fuzz, memory
from support.places import ROOT

PROGRAM = """
@grow = fn(x : Tensor([s, d], float32), n : Size) : Tensor([s + n, d], float32) where n >= 0 {
  for i in range(n) with (acc : Tensor([s + i, d], float32) = x) { @concat([acc, @ones([1, d], float32)], axis=0) }
}
@shrink = fn(x : Tensor([s, d], float32), n : Size) where n >= 0, n <= s {
  for i in range(n) with (acc : Tensor([s - i, d], float32) = x) { acc[1:] * 2.0 }
}
@nested = fn(x : Tensor([s], float32), n : Size, m : Size) where n >= 1, m >= 1 {
  for i in range(n) with (a : Tensor([s + i * m], float32) = x) {
    for j in range(m) with (c : Tensor([s + i * m + j], float32) = a) { @concat([c, @ones([1], float32)], axis=0) }
  }
}
@stacked = fn(x : Tensor([s], float32), n : Size) where n >= 1 {
  for i in range(n) with (a : Tensor([s], float32) = x) stack (y : Tensor([s], float32)) {
    let b = a * 2.0
    (b, b)
  }
}
@arms = fn(x : Tensor([s], float32), k : Size) {
  let y = if (k > 2) { @concat([x, x, x], axis=0) } else { x + 1.0 }
  y * 2.0
}
@held = fn(x : Tensor([s, d], float32)) {
  let y = @exp(x)
  let z = y[0:2, :]
  let w = @exp(x + 1.0)
  (z, w)
}
@moved = fn(x : Tensor([b, t, 4, 8], float32)) {
  let y = @permute_dims(x + 1.0, [0, 2, 1, 3])
  @reshape(y * 2.0, [b * 4, t * 8])
}
@calls = fn(x : Tensor([s], float32)) { @part(x) + @part(x * 2.0) }
@part = fn(x : Tensor([k], float32)) : Tensor([k], float32) { @sum(@reshape(@tile(x, [3]), [3, k]), axis=0) }
@kept = fn(x : Tensor([n], float32)) {
  let y = @filter(x, x > 0.5)
  @concat([y, y, x], axis=0)
}
@chosen = fn(x : Tensor([s], float32)) { @either(x) * 2.0 }
@long = fn(x : Tensor([n], float32)) : Tensor([n], float32) where n >= 3 { @sum(@reshape(@tile(x, [2]), [2, n]), axis=0) }
@short = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x + 1.0 }
@either = [@long, @short]
@typed = fn(x : Tensor([n], d)) { @concat([x, x], axis=0) }
@given = fn(x : Tensor([n], float32)) {
  let g = fn(z : Tensor([_k], float32)) : Tensor { @exp(z) + 1.0 }
  g(x) - x
}
@in_place = fn(x : Tensor([s], float32)) { @sqrt(@exp(x) * 2.0 + 1.0) - 3.0 }
@halves = fn(x : Tensor([s], float64), n : Size) where n >= 0 {
  while (a.dim(0) > n) with (a : Tensor([p], float64) = x) { a[0:a.dim(0) // 2] * 1.0 }
}
@again = fn(x : Tensor([n], float32), k : Size) : Tensor([n], float32) { if (k <= 0) { x } else { @again(x + 1.0, k - 1) } }
@any = fn(x, y) { x + y }
"""
X, V = np.ones((1000, 250), np.float32), np.ones(250_000, np.float32)
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, int]]] = {
    "grow": ((X, 7), {"s": 1000, "d": 250, "n": 7}),
    "shrink": ((X, 500), {"s": 1000, "d": 250, "n": 500}),
    "nested": ((V, 3, 4), {"s": 250_000, "n": 3, "m": 4}),
    "stacked": ((V, 5), {"s": 250_000, "n": 5}),
    "arms": ((V, 3), {"s": 250_000}),
    "held": ((X,), {"s": 1000, "d": 250}),
    "moved": ((np.ones((10, 1000, 4, 8), np.float32),), {"b": 10, "t": 1000}),
    "calls": ((V,), {"s": 250_000}),
    "kept": ((V,), {"n": 250_000, "y_0": 250_000}),
    "chosen": ((V,), {"s": 250_000}),
    "typed": ((V,), {"n": 250_000, "itemsize": 4}),
    "given": ((V,), {"n": 250_000, "_k": 250_000}),
    "in_place": ((V,), {"s": 250_000}),
}


def found(module: rx.Module, name: str) -> Peak:
    program = module._checked.program
    return peak(program, pairs(program), name)


@pytest.fixture(scope="module")
def module() -> rx.Module:
    return rx.loads(PROGRAM)


@pytest.mark.parametrize("name", CALLS)
def test_the_expression_is_what_a_call_takes(module: rx.Module, name: str) -> None:
    args, sizes = CALLS[name]
    told = found(module, name)
    assert set(told.names) <= set(sizes) and not told.per_turn
    module[name](*args)
    assert told.at(sizes) == pytest.approx(memory.peak(module[name], *args), rel=0.01)


VIEWS = (
    "@moveaxis(y, [0], [2])", "@moveaxis(@moveaxis(y, [0], [2]), [2], [0])", "@swapaxes(@matrix_transpose(y), 1, 2)",
    "@permute_dims(y, [2, 0, 1])", "@flip(y, axis=0)", "y[::2]", "y[10:]", "y[:, 1:]", "@permute_dims(y, [1, 0, 2])[1:]",
    "@expand_dims(@squeeze(y[0:1], axis=0), axis=1)", "@broadcast_to(y, [s, 50, 70])", "@identity(y)",
    "@truncate(y, @size_to_tensor(s - 1))",
)  # fmt: skip


@pytest.mark.parametrize("view", VIEWS)
def test_a_reshape_of_a_view_takes_memory_where_its_elements_do_not_lie_in_rows(view: str) -> None:
    text = f"@f = fn(x : Tensor([s, 50, 70], float32)) {{ let y = x + 1.0; let v = {view}; @reshape(v, [-1]) }}\n"
    module, x = rx.loads(text), np.ones((300, 50, 70), np.float32)
    assert found(module, "f").at({"s": 300}) == pytest.approx(memory.peak(module.f, x), rel=0.01)


def test_in_a_while_it_is_what_a_turn_takes(module: rx.Module) -> None:
    told = found(module, "halves")
    assert told.names == told.per_turn == ("p",)
    taken = memory.peak(module.halves, V.astype(np.float64), 10)
    assert told.at({"p": 125_000}) == pytest.approx(
        taken, rel=0.01
    )  # the second turn's, whose tensor is the loop's own


# What goes over the rows of X, a tensor of rank R, by what F makes of a row: the same in each way.
OVER_ROWS = {
    "for": "for i in range(X.dim(0)) stack (_y : Tensor(SHAPE, float32)) {{ F(X[i]) }}",
    "carried": "for i in range(X.dim(0)) with (_a = F(X[0])) {{ F(X[i]) }}",
    "both": "(for i in range(X.dim(0)) with (_a = F(X[0])) stack (_y : Tensor(SHAPE, float32)) {{ (F(X[i]), F(X[i])) }})[1]",
    "map": "@map(F, X)",
    "fold": "@fold(fn(_h, r) {{ F(r) + _h }}, F(X[0]), X)",
    "scan": "@scan(fn(_h, r) {{ F(r) + _h }}, F(X[0]), X)[1]",
    "annotated": "@map(fn(r : Tensor(ROW, float32)) {{ let y = F(r); y + 1.0 }}, X)",
}
SIZES = {"n": 6, "m": 5, "k": 30_000}


def over_rows(outer: str, inner: str) -> str:
    """A program that goes over the rows of a tensor [n, m, k], and in each over those of it."""

    def way(name: str, of: str, function: str) -> str:
        row = "[k]" if function == "@row" else "[m, k]"
        shape = "[k]" if inner in ("carried", "fold") else row
        written = OVER_ROWS[name].format().replace("F", function).replace("X", of)
        return written.replace("SHAPE", shape).replace("ROW", row)

    return (
        "@row = fn(r : Tensor([k], float32)) : Tensor([k], float32) { @exp(r) * 2.0 }\n"
        f"@inner = fn(ys : Tensor([m, k], float32)) where m >= 1 {{ {way(inner, 'ys', '@row')} }}\n"
        f"@f = fn(xs : Tensor([n, m, k], float32)) where n >= 1, m >= 1 {{ {way(outer, 'xs', '@inner')} }}\n"
    )


@pytest.mark.parametrize("inner", OVER_ROWS)
@pytest.mark.parametrize("outer", OVER_ROWS)
def test_in_loops_over_rows_it_is_what_all_turns_take(outer: str, inner: str) -> None:
    module = rx.loads(over_rows(outer, inner))
    told, x = found(module, "f"), np.ones(tuple(SIZES.values()), np.float32)
    assert set(told.names) <= set(SIZES) and not told.per_turn
    module.f(x)
    assert told.at(SIZES) == pytest.approx(memory.peak(module.f, x), rel=0.05)


@pytest.mark.parametrize(
    "view", ["@moveaxis(x, 0, -1)", "@permute_dims(x, [1, 0])", "@swapaxes(x, 0, 1)", "@matrix_transpose(x)"]
)
@pytest.mark.parametrize("shape", ["?", "s", "[?, ?, *s]"])
def test_a_tensor_of_any_rank_that_is_moved_takes_none(view: str, shape: str) -> None:
    module = rx.loads(f"@f = fn(x : Tensor({shape}, float32)) : Tensor {{ {view} }}\n")
    assert found(module, "f").at({}) == 0


@pytest.mark.parametrize(("name", "why"), [("again", "calls itself"), ("any", "the rank of a tensor is not known")])
def test_what_is_not_known_is_said_to_be_not_known(module: rx.Module, name: str, why: str) -> None:
    with pytest.raises(NotKnown, match=why):
        found(module, name)


def test_the_command_gives_the_expression_and_a_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.rx"
    path.write_text(PROGRAM)
    assert invoke(["shapes", str(path), "--memory", "--size", "s=1000", "--size", "d=250", "--size", "n=7"]) == 0
    out = capsys.readouterr().out.split("\n\n")
    assert out[0] == "@grow: s * d * 8 + d * n * 8 bytes\n       2014000 bytes for these sizes"
    assert "@halves: p * 8 + p // 2 * 8 bytes, with p as in a turn" in out
    assert "@again: not known (@again calls itself)" in out


@pytest.mark.parametrize("wrong", ["n", "n=", "=3", "n=x"])
def test_a_size_without_a_number_is_wrong_usage(wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.rx"
    path.write_text(PROGRAM)
    assert invoke(["shapes", str(path), "--memory", "--size", wrong]) == 2
    assert "NAME=N" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("size", "why"), [("nn=3", "no function has a size `nn`"), ("S=3", "`S`"), ("s=-1", "a dimension is not below 0")]
)
def test_a_size_that_no_function_has_is_wrong_usage(
    size: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "f.rx"
    path.write_text(PROGRAM)
    assert invoke(["shapes", str(path), "--memory", "--size", "p=3", "--size", size]) == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    "params",
    [
        "x : Tensor([n, m], float32)",
        "x : Tensor([3], float32), y : (Tensor([n], float32), (Tensor([2, m], float32), bool))",
        "x : Tensor([n * m], float32), m : Size",
        "x : Tensor([*s, n, m], float32)",
    ],
)
def test_a_size_of_any_parameter_may_be_given_whether_the_memory_needs_it_or_not(
    params: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "f.rx"
    path.write_text(f"@f = fn({params}) {{ @ones([2]) }}\n")
    assert invoke(["shapes", str(path), "--memory", "--size", "n=4", "--size", "m=3"]) == 0
    assert "8 bytes" in capsys.readouterr().out
    assert invoke(["shapes", str(path), "--memory", "--size", "k=4"]) == 2


MODELS = ["gpt2", "swin", "unet_transposed", "conformer"]
OTHERS = [
    "12 layers",
    "VGG-16",
    "U-Net",
    "bert",
    "mixture_of_experts",
    "mobilenet",
    "resnet50",
    "seq2seq",
    "unet_volumes",
]


@pytest.mark.parametrize("name", MODELS + OTHERS * fuzz.FULL)
def test_of_models_it_is_right_to_a_tenth(name: str) -> None:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import memory as measured
    finally:
        sys.path.pop(0)
    text = measured.texts()[name]
    taken = measured.peak(name, text)
    assert taken > 1
    assert measured.told(name, text) == pytest.approx(taken, rel=0.1)


# What a call takes is the same, be the weights arguments or what the program holds.
WEIGHTS = {
    "argument": ("", ", w : Tensor([8, 3, 3, 3], float32)"),
    "computed": ("const w = @ones([8, 3, 3, 3], float32) * 2.0\n", ""),
    "loaded": ('const w = load("w.npy")\n', ""),
    "loaded and typed": ('const w : Tensor([8, 3, 3, 3], float32) = load("w.npy")\n', ""),
    "literal": (f"const w = tensor({np.ones((8, 3, 3, 3)).tolist()}, float32)\n", ""),
}


@pytest.mark.parametrize("how", WEIGHTS)
def test_weights_that_the_program_holds_are_known_and_take_nothing(
    tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    const, param = WEIGHTS[how]
    np.save(tmp_path / "w.npy", np.ones((8, 3, 3, 3), np.float32))
    body = "{ @conv(x, w, pads=[(1, 1), (1, 1)]) }\n"
    (tmp_path / "p.rx").write_text(f"{const}@main = fn(x : Tensor([b, 3, h, v], float32){param}) {body}")
    assert invoke(["shapes", str(tmp_path / "p.rx"), "--memory"]) == 0
    assert capsys.readouterr().out == "@main: b * h * v * 44 + min(b * h * v * 27, 262144) * 4 bytes\n"


def test_a_kernel_that_asks_for_what_nobody_knows_is_told_as_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.rx").write_text("@main = fn(x : Tensor([b, 3, h, v], float32), w : Tensor) { @conv(x, w) }\n")
    assert invoke(["shapes", str(tmp_path / "p.rx"), "--memory"]) == 0
    assert "not known" in capsys.readouterr().out
