"""What is written as with NumPy means the same: new axes in an index, steps of any sign, functions of numbers alone."""

from __future__ import annotations

import random
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import rxlang as rx
from rxlang.ops import of_numbers
from rxlang.ops.registry import lookup
from support import fuzz

STEP = 2  # what the size `st` is

NEW_AXES = [
    ("x[None]", "[n, d]", "[1, n, d]"), ("x[:, None]", "[n, d]", "[n, 1, d]"), ("x[..., None]", "[n, d]", "[n, d, 1]"),
    ("x[None, :, None, ..., None]", "[n, d]", "[1, n, 1, d, 1]"), ("x[None, None]", "[]", "[1, 1]"),
    ("x[..., None, :, ::2, None]", "[*s, n, d]", "[*s, 1, n, (d + 1) // 2, 1]"), ("x[None]", "[*s]", "[1, *s]"),
    ("x[None, 0, None]", "[3, d]", "[1, 1, d]"), ("x[-2:, None, 1]", "[3, 4]", "[2, 1]"),
    ("x[None, ..., None, None]", "[*s, n]", "[1, *s, n, 1, 1]"), ("x[:, None][None]", "[n, d]", "[1, n, 1, d]"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "given", "made"), NEW_AXES)
def test_none_in_an_index_is_a_new_axis(body: str, given: str, made: str) -> None:
    text = f"@f = fn(x : Tensor({given}, float32)) : Tensor({made}, float32) {{ {body} }}\n"
    assert [d.message for d in rx.check_source(text).diagnostics] == []


def test_a_value_that_is_called_none_is_an_index_as_any_other() -> None:
    text = "@f = fn(x : Tensor([3, d], float32), None : Size) : Tensor([d], float32) where None in_range { x[None] }\n"
    text = text.replace("None in_range", "None >= 0, None < 3")
    assert rx.loads(text).f(np.eye(3, dtype="float32"), 1).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("body", "says"),
    [("x[:, :, :, None]", "axis"), ("x[None, None, 0, 0, 0]", "axis"), ("t[None]", "one literal integer"),
     ("x.shape[None]", "is a Shape")],
)  # fmt: skip
def test_a_new_axis_that_cannot_be_there_is_refused(body: str, says: str) -> None:
    head = "@f = fn(x : Tensor([n, d], float32)) : Tensor {\n  let t = (x, x)\n"
    wrong = [d.message for d in rx.check_source(f"{head}  {body}\n}}\n").diagnostics if d.severity == "error"]
    assert wrong and says in wrong[0], wrong


def item(rng: random.Random) -> str:
    bound = lambda: rng.choice(["", "", "1", "-1", "2", "-3", "k"])  # noqa: E731
    step = rng.choice(["", "", ":2", ":-1", ":-2", ":st"])
    return rng.choice(["None", ":", rng.choice(["0", "-1"]), f"{bound()}:{bound()}{step}", f"::{step[1:] or 1}"])


def index(rng: random.Random, rank: int) -> str:
    items: list[str] = []
    while len([i for i in items if i != "None"]) < rank and rng.random() < 0.8:
        items.append(item(rng))
    if rng.random() < 0.3:
        items.insert(rng.randrange(len(items) + 1), "...")
    return ", ".join(items or ["None"])


def test_an_index_takes_what_numpys_takes() -> None:
    for case in fuzz.cases("indices beside NumPy"):
        with case as seed:
            rng = random.Random(seed)
            shape = [rng.randint(2, 4) for _ in range(rng.randint(0, 4))]
            x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype("float32")
            written = index(rng, x.ndim)
            dims = ", ".join("abcd"[: x.ndim])
            head = f"@f = fn(x : Tensor([{dims}], float32), k : Size, st : Size) : Tensor where st >= 1, k >= 0"
            taken = eval(f"x[{written}]", {"x": x, "k": 1, "st": STEP})
            least = "".join(f", {size} >= 1" for size in dims.split(", ") if size)
            found = rx.loads(f"{head}{least} {{ x[{written}] }}\n").f(x, 1, STEP)
            assert np.array_equal(found, taken) and found.shape == taken.shape, written


def number(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["2.0", "0.5", "-1.5", "0.0", "7.25", "-0.5", "2.5", "1.0", "3", "-2"])
    if rng.random() < 0.3:
        return f"({number(rng, depth - 1)} {rng.choice('+-*/')} {number(rng, depth - 1)})"
    name = rng.choice(sorted(of_numbers._FUNCTIONS))
    row = lookup(name)
    assert row is not None
    operands = [number(rng, depth - 1) for _ in row.params]
    if row.params[0].name == "condition":
        operands[0] = rng.choice(["true", "false"])
    return f"@{name}({', '.join(operands)})"


def test_a_function_of_numbers_alone_takes_the_dtype_beside_it_and_numpys_value() -> None:
    told = 0
    for case in fuzz.cases("numbers alone"):
        with case as seed:
            rng = random.Random(seed)
            dtype = rng.choice(["float16", "bfloat16", "float32", "float64"])
            made = f"@{rng.choice(['sqrt', 'exp', 'abs', 'sin'])}({number(rng, 2)})"
            text = f"@f = fn(x : Tensor([t], {dtype})) : Tensor([t], {dtype}) {{ x * {made} }}\n"
            # Beside a tensor of float64 no number is folded.
            wide = f"@g = fn(o : Tensor([], float64)) : Tensor([], float64) {{ {_of_tensors(made)} }}\n"
            if not rx.check_source(text).ok:
                continue
            given: Any = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
            found = rx.loads(text).f(np.ones(2, given))
            wanted = np.asarray(rx.loads(wide).g(np.float64(0)))
            assert found.dtype == np.dtype(given), text
            near, one = (1e-2 if dtype in ("float16", "bfloat16") else 1e-6), wanted.astype(given).astype("float64")
            assert np.allclose(found.astype("float64"), one, rtol=near, equal_nan=True), (text, found, wanted)
            told += 1
    assert told > 10


def _of_tensors(made: str) -> str:
    """The same with each number as what is computed: a tensor of float64."""
    return re.sub(r"(?<![\w.@])-?\d+(?:\.\d+)?", lambda m: f"(o + {m[0] if '.' in m[0] else m[0] + '.0'})", made)


WEAK = [
    "x / @sqrt(2.0)", "@exp(x * -@log(10000.0)) * @sqrt(2.0 / 3.0)", "x * @exp(-(@log(10000.0) / 64.0))",
    "x ** @maximum(2, 3)", "@where(x > @tanh(0.5), x, @erf(1.0))", "@leaky_relu(x, @sqrt(0.5))", "x * @sqrt(x=2.0)",
    "{ let k = @sqrt(2.0)\n @scaled(x, k) }", "@scaled(x, @cos(1.0))", "x * @where(true, 1.0, @pow(2.0, 0.5))",
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("body", WEAK)
def test_a_function_of_numbers_alone_is_as_weak_as_a_number(body: str, dtype: str) -> None:
    scaled = f"@scaled = fn(x : Tensor([t], {dtype}), k : {dtype}) : Tensor([t], {dtype}) {{ x * k }}\n"
    body = body if body.startswith("{") else f"{{ {body} }}"
    report = rx.check_source(f"{scaled}@f = fn(x : Tensor([t], {dtype})) : Tensor([t], {dtype}) {body}\n")
    assert [d.message for d in report.diagnostics] == []


@pytest.mark.parametrize("body", ["x * @sqrt(4)", "x * @logical_not(1.0)", "x + @log(-1.0)", "n * @sqrt(2.0)"])
def test_a_function_that_takes_no_such_numbers_is_refused_as_before(body: str) -> None:
    assert not rx.check_source(f"@f = fn(x : Tensor([n], float32)) : Tensor {{ {body} }}\n").ok


def test_alone_a_function_of_numbers_has_their_dtype() -> None:
    found = rx.loads("let a = @sqrt(2.0)\nlet b = @abs(-2)\nlet c : float32 = @sqrt(2.0)\n").main()
    assert [found[k].dtype.name for k in "abc"] == ["float64", "int64", "float32"]


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("windowed", [True, False])
def test_a_spectrum_of_float64_is_complex128_and_goes_back(center: bool, windowed: bool) -> None:
    window = ", window=w" if windowed else ""
    spectrum = f"@stft(x, 8, 2{window}, center={str(center).lower()})"
    head = "fn(x : Tensor([b, n], d), w : Tensor([8], d)) : Tensor where d in {float32, float64}, n >= 8"
    back = f"@istft({spectrum}, 8, 2{window}, center={str(center).lower()})"
    text = f"@f = {head} {{ {spectrum} }}\n@g = {head} {{ {back} }}\n"
    rng = np.random.default_rng(0)
    module, x, w = rx.loads(text), rng.standard_normal((2, 20)), rng.random(8) + 0.5
    padded = np.pad(x, [(0, 0), (4, 4)], mode="reflect") if center else x
    frames = np.lib.stride_tricks.sliding_window_view(padded, 8, axis=-1)[:, ::2] * (w if windowed else 1)
    made = module.f(x, w)
    assert made.dtype == np.complex128 and np.allclose(made, np.swapaxes(np.fft.rfft(frames), 1, 2), atol=1e-13)
    assert module.g(x, w).dtype == np.float64 and np.allclose(module.g(x, w), x, atol=1e-12)
    assert module.f(x.astype("float32"), w.astype("float32")).dtype == np.complex64
    for call in ("@stft(x, 8, 2, window=w)", "@istft(@stft(x, 8, 2), 8, 2, window=w)"):
        wrong = f"@f = fn(x : Tensor([20], float64), w : Tensor([8], float32)) : Tensor {{ {call} }}\n"
        assert [d.code for d in rx.check_source(wrong).diagnostics] == ["E313"]


@pytest.mark.parametrize("program", ["@broadcast_arrays([x, m, m > 0])", '@meshgrid([x, m, m > 0], indexing="ij")'])
def test_each_array_keeps_its_own_dtype(program: str) -> None:
    text = f"@f = fn(x : Tensor([n], float32), m : Tensor([n], int64)) : Tensor {{\n  let (a, b, c) = {program}\n"
    x, m = np.array([1.5, 2], "float32"), np.array([3, 0])
    for part, wanted in (("a", "float32"), ("b", "int64"), ("c", "bool"), ("@reshape(b, [-1])", "int64")):
        assert rx.loads(f"{text}  {part}\n}}\n").f(x, m).dtype == wanted
    assert not rx.check_source(f"{text}  a + b\n}}\n").ok
    assert rx.loads(f"@f = fn(x : Tensor, m : Tensor) : Tensor {{ {program}[1] }}\n").f(x, m).dtype == np.int64


M = 2**63


@pytest.mark.parametrize("bound", ["literal", "computed"])
@pytest.mark.parametrize(
    ("start", "stop", "step", "dtype", "held"),
    [(M - 3, M, 1, "int64", True), (M - 3, M + 1, 1, "int64", False), (M - 8, M + 12, 4, "int64", False),
     (M - 5, M + 2, 4, "int64", True), (-M, -M - 3, -2, "int64", False), (M, 5, 1, "int64", True),
     (M, M + 3, 1, "uint64", True), (2 * M - 2, 2 * M + 1, 1, "uint64", False), (M + 3, M - 3, -2, "uint64", True),
     (M - 3, M + 1, 1, "float64", False), (0, 2 * M, M // 2, "int64", False), (M - 3, M + 1, 2, "int8", True)],
)  # fmt: skip
def test_numbers_that_no_int64_is_are_refused_and_do_not_wrap(
    start: int, stop: int, step: int, dtype: str, held: bool, bound: str
) -> None:
    given = ("a", "b", "s") if bound == "computed" else (start, stop, step)
    text = "@f = fn(a : Size, b : Size, s : Size) : Tensor where s != 0 {{ @arange({}, {}, {}, dtype={}) }}\n"
    program = text.format(*given, dtype)
    if held:
        wanted = [n % 256 - 256 * (n % 256 > 127) if dtype == "int8" else n for n in range(start, stop, step)]
        assert rx.loads(program).f(start, stop, step).tolist() == wanted
        return
    assert bound == "computed" or [d.code for d in rx.check_source(program).diagnostics if d.is_wrong] == ["W311"]
    module = rx.loads(program)
    with pytest.raises(rx.ShapeError, match="needs numbers that u?int64 can hold, not"):
        module.f(start, stop, step)
