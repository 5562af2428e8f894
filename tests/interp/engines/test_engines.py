"""Programs on other engines: as NumPy has them, or refused when they are loaded, and wrong calls before the engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.cli.main import invoke
from rxlang.ops import registry
from support import engine_cases, fuzz
from support.places import ROOT

DOCUMENT = ROOT / "docs" / "engines.md"
# Of each engine, what imports have to be there.
NEEDS = {"onnxruntime": ("onnx", "onnxruntime"), "torch": ("torch",), "array-api-strict": ("array_api_strict",)}
TRIES = 12 if fuzz.FULL else 5  # calls of each primitive


def engine(name: str) -> Any:
    for module in NEEDS[name]:
        pytest.importorskip(module)
    if name == "onnxruntime":
        return engine_cases.OnnxAlone()
    if name == "torch":
        from rxlang.interp.engines.torch_engine import Torch

        return Torch()
    from rxlang.interp.engines.array_api import strict

    return strict()


@pytest.fixture(scope="module", params=list(NEEDS))
def each(request: pytest.FixtureRequest) -> Any:
    return engine(request.param)


def test_what_an_engine_computes_is_what_numpy_computes_or_it_says_that_it_does_not(each: Any) -> None:
    found: Counter[str] = Counter()
    wrong = []
    for name in engine_cases.supported(each):
        try:
            found += engine_cases.counts(each, name, TRIES)
        except AssertionError as problem:
            wrong.append(f"@{name}: {problem}")
    assert wrong == []
    assert found["same"] > 50 * TRIES, found


def table() -> Iterator[tuple[str, dict[str, str]]]:
    engines = {name: engine(name) for name in NEEDS}
    for name in registry.names():
        if not name.startswith("onnx."):
            yield name, {label: cell(made, name) for label, made in engines.items()}


def cell(made: Any, name: str) -> str:
    return "" if not made.has(name) else "yes" if made.computes(name) else "NumPy"


def test_the_table_of_the_document_is_what_the_engines_have() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    begin, end = "<!-- table -->\n", "<!-- end of table -->"
    before, rest = text.split(begin)
    _, after = rest.split(end)
    rows = ["| primitive | " + " | ".join(NEEDS) + " |", "|---" * (1 + len(NEEDS)) + "|"]
    counts: Counter[str] = Counter()
    for name, has in table():
        counts.update(label for label, how in has.items() if how)
        if any(has.values()):
            rows.append(f"| `@{name}` | " + " | ".join(has.values()) + " |")
    rows.append("| all | " + " | ".join(str(counts[label]) for label in NEEDS) + " |")
    made = before + begin + "\n".join(rows) + "\n" + end + after
    if os.environ.get("RX_ACCEPT"):
        DOCUMENT.write_text(made, encoding="utf-8")
    assert text == made


# Models

ATTENDED = """@attended = fn(
  q : Tensor([b, h, t, k], float32),
  keys : Tensor([b, h, s, k], float32),
  values : Tensor([b, h, s, d], float32),
  most : Size,
) : Tensor([b, h, t, d], float32) where most >= 1, k % most == 0 {
  let parts = @reshape(q, [b, h, t, most, k / most])
  @attention(@reshape(parts, [b, h, t, k]), keys, values)
}
"""


def arguments(b: int, h: int, t: int, s: int, k: int, d: int, most: int) -> list[Any]:
    random = np.random.default_rng(7)
    shapes = [(b, h, t, k), (b, h, s, k), (b, h, s, d)]
    return [*(random.normal(size=shape).astype(np.float32) for shape in shapes), most]


SIZES = [(2, 3, 5, 7, 4, 6, 2), (1, 1, 1, 1, 1, 1, 1), (0, 3, 0, 2, 4, 1, 4), (2, 1, 3, 1, 0, 2, 1)]


@pytest.mark.parametrize("name", ["onnxruntime", "torch"])
def test_a_program_gives_on_an_engine_what_it_gives_over_numpy(name: str) -> None:
    engine(name)
    module, plain = rx.loads(ATTENDED, engine=name), rx.loads(ATTENDED)
    for sizes in SIZES:
        args = arguments(*sizes)
        found = module.attended(*args)
        np.testing.assert_allclose(np.asarray(found), plain.attended(*args), rtol=1e-5, atol=1e-6)


WRONG = {
    "rank": (0, lambda x: x[0], "`q` to have rank 4"),
    "dtype": (1, lambda x: x.astype(np.float64), "`keys` to have dtype float32"),
    "size": (2, lambda x: x[:, :, :-1], "axis 2 of `values` to be"),
    "condition": (3, lambda _: 3, "needs `k % most == 0`"),
    "sort": (3, lambda _: 2.5, "`most` to be an integer"),
}


@pytest.mark.parametrize("name", ["onnxruntime", "torch"])
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_is_refused_before_the_engine(name: str, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine(name)
    module = rx.loads(ATTENDED, engine=name)
    monkeypatch.setattr(module._runner, "run", lambda *_: pytest.fail("it came to the engine"))
    place, change, said = WRONG[case]
    args = arguments(*SIZES[0])
    args[place] = change(args[place])
    with pytest.raises(rx.ShapeError, match="error") as caught:
        module.attended(*args)
    assert said in str(caught.value)


def test_all_that_an_engine_lacks_is_told_when_a_program_is_loaded() -> None:
    engine("onnxruntime")
    text = """@f = fn(x : Tensor([n, n], float32)) : Tensor([n, n], float32) {
  let y = @pinv(x)
  y + @expand_dims(@svdvals(x), axis=0)
}
"""
    with pytest.raises(rx.CheckError) as caught:
        rx.loads(text, engine="onnxruntime")
    told = {(d.message, d.span.line) for d in caught.value.diagnostics if d.severity == "error"}
    assert told == {("the engine onnxruntime has no @pinv", 2), ("the engine onnxruntime has no @svdvals", 3)}


def test_arguments_and_dtypes_that_an_engine_lacks_are_told_when_a_program_is_loaded() -> None:
    engine("onnxruntime")
    text = "@f = fn(x : Tensor([n], int64)) {\n  let y = x ** x\n  (y, @cast(x, float32) ** 2.0, x ** y)\n}\n"
    with pytest.raises(rx.CheckError) as caught:
        rx.loads(text, engine="onnxruntime")
    told = [(d.message, d.span.line) for d in caught.value.diagnostics if d.severity == "error"]
    said = "the engine onnxruntime has no @pow for this call: it takes no powers of integers whose exponents are data"
    assert told == [(said, 2), (said, 3)]


@pytest.mark.parametrize("name", ["onnxruntime", "torch"])
@pytest.mark.parametrize("body", ["x + x", "@concat([x, x], axis=0)", "@cast(@zeros([n]), int4)"])
def test_a_dtype_that_an_engine_lacks_is_told_when_a_program_is_loaded(name: str, body: str) -> None:
    engine(name)
    with pytest.raises(rx.CheckError) as caught:
        rx.loads(f"@f = fn(x : Tensor([n], int4)) {{ {body} }}", engine=name)
    assert {str(d.code) for d in caught.value.diagnostics} == {"E253"}
    assert "tensors of int4" in str(caught.value)


INTEGERS = """@main = fn(x : Tensor([n], DTYPE), y : Tensor([n], DTYPE)) {
  (@sum(x), @prod(x), x // y, x % y, @sum(x * y), @cumulative_sum(x, axis=0), @matmul(x, y), @sum_to(x, []))
}
"""


@pytest.mark.parametrize("name", ["onnxruntime", "torch"])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
def test_integers_wrap_around_and_are_divided_by_0_as_over_numpy(name: str, dtype: str) -> None:
    engine(name)
    text, bounds = INTEGERS.replace("DTYPE", dtype), np.iinfo(dtype)
    plain, module = rx.loads(text), rx.loads(text, engine=name)
    random = np.random.default_rng(3)
    for size in (0, 1, 5, 33):
        x = random.integers(bounds.min, bounds.max, size, dtype, endpoint=True)
        y = np.resize(np.array([0, -1 if bounds.min else 3, 7, bounds.min], dtype), size)
        with np.errstate(all="ignore"):
            for made, wanted in zip(module.main(x, y), plain.main(x, y), strict=True):
                np.testing.assert_array_equal(np.asarray(made), wanted)


def test_an_exported_model_keeps_names_order_and_contract(tmp_path: Path) -> None:
    engine("onnxruntime")
    import onnx

    rx.loads(ATTENDED).attended.export(tmp_path / "m.onnx")
    model = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [i.name for i in model.graph.input] == ["q", "keys", "values", "most"]
    most = model.graph.input[3].type.tensor_type
    assert most.elem_type == onnx.TensorProto.INT64 and len(most.shape.dim) == 0
    ((key, text),) = ((p.key, p.value) for p in model.metadata_props)
    assert "contract" in key and json.loads(text)["function"] == "attended"
    assert all(
        a.i == 1 for n in model.graph.node if n.op_type == "Reshape" for a in n.attribute if a.name == "allowzero"
    )
    before = (tmp_path / "m.onnx").read_bytes()
    rx.loads(ATTENDED).attended.export(tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == before


NAMES = "@f = fn(v0 : Tensor([n], float32), value : Tensor([n], float32)) : Tensor([n], float32) { v0 * value - v0 }\n"


def test_names_of_inputs_are_nobody_elses(tmp_path: Path) -> None:
    engine("onnxruntime")
    module = rx.loads(NAMES, engine="onnxruntime")
    found = module.f(np.array([2, 3], np.float32), np.array([5, 7], np.float32))
    np.testing.assert_array_equal(found, [8, 18])


def test_gradients_flow_through_a_function_over_torch() -> None:
    torch = pytest.importorskip("torch")
    module = rx.loads(ATTENDED, engine="torch")
    args = [torch.tensor(a, requires_grad=True) if isinstance(a, np.ndarray) else a for a in arguments(*SIZES[0])]
    module.attended(*args).sum().backward()
    own = [a.detach().clone().requires_grad_() for a in args[:3]]
    torch.nn.functional.scaled_dot_product_attention(*own).sum().backward()
    for mine, theirs in zip(args, own, strict=False):
        torch.testing.assert_close(mine.grad, theirs.grad)


def test_the_command_line_runs_on_an_engine_and_exports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine("onnxruntime")
    program, model = str(ROOT / "examples" / "gpt.rx"), str(tmp_path / "block.onnx")
    run = ["run", program, "--call", "@heads", "--arg", "x=float32[1,2,6]:ones", "--engine", "onnxruntime", "--arg"]
    assert invoke([*run, "h=3"]) == 0 and "Tensor([1, 3, 2, 2], float32)" in capsys.readouterr().out
    assert invoke([*run, "h=4"]) == 3 and "R401" in "".join(capsys.readouterr())
    assert invoke(["export", program, "--function", "@block", "-o", model]) == 0
    assert invoke(["check", model]) == 0, capsys.readouterr()


def test_a_program_is_exported_with_its_warnings_and_not_with_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine("onnxruntime")
    for size, code, result in (("m", "W311", 0), ("4", "E306", 1)):
        text = f"@f = fn(x : Tensor([3], float32), y : Tensor([{size}], float32)) : Tensor {{ x + y }}"
        (tmp_path / "f.rx").write_text(text)
        command = ["export", str(tmp_path / "f.rx"), "--function", "@f", "-o", str(tmp_path / "f.onnx")]
        assert invoke(command) == result and f"[{code}]" in "".join(capsys.readouterr())


def test_checking_and_importing_load_no_engine() -> None:
    code = (
        "import sys, rxlang as rx; rx.check_source('@f = fn(x : Tensor([n], float32)) { x }'); rx.loads('@f = fn(x : "
        "Tensor([n], float32)) { x }'); print([m for m in sys.modules if m in ('onnx', 'onnxruntime', 'torch') "
        "or 'engines' in m])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("engine", ["onnxruntime", "torch"])
@pytest.mark.parametrize("cut", ["::-1", ":1:-1", "2:0:-1", "::-2", "-1::-1", ":, ::-1", "1:-1", "::2", "-3:"])
def test_slices_in_both_directions_are_what_numpy_gives(engine: str, cut: str) -> None:
    pytest.importorskip(engine)
    text = f"@f = fn(x : Tensor([n, m], float32)) : Tensor {{ x[{cut}] }}"
    wanted, module = rx.loads(text), rx.loads(text, engine=engine)
    for n in (3, 4, 5):
        x = np.arange(n * 2, dtype=np.float32).reshape(n, 2)
        np.testing.assert_array_equal(np.asarray(module.f(x)), wanted.f(x))


# What went wrong in first attempts: each program with arguments, and the dtype and shape of its result.
TRAPS: dict[str, tuple[str, list[Any]]] = {
    "a literal beside float16": ("@f = fn(x : Tensor([n], float16)) { x * 2 + 1.5 }", [np.ones(3, np.float16)]),
    "a literal beside int8": ("@f = fn(x : Tensor([n], int8)) { 3 - x * 2 }", [np.ones(3, np.int8)]),
    "a literal beside truths": ("@f = fn(x : Tensor([n], bool)) { @where(x, 2.5, 1) }", [np.array([True, False])]),
    "a size beside floats": (
        "@f = fn(x : Tensor([n], float64)) { x / @size_to_tensor(n, float64) }", [np.arange(3.0)]
    ),
    "one axis": ("@f = fn(x : Tensor([n, m], float32)) { @sum(x, axis=1) }", [np.ones((2, 3), np.float32)]),
    "one axis in a list": ("@f = fn(x : Tensor([n, m], float32)) { @max(x, axis=[-1], keepdims=true) + @mean(x, axis=[0]) }",
                           [np.ones((2, 3), np.float32)]),
    "several axes": ("@f = fn(x : Tensor([n, m], float32)) { @var(x, axis=[0, 1]) }", [np.ones((2, 3), np.float32)]),
    "no axes": ("@f = fn(x : Tensor([n, m], float32)) { @sum(x, axis=[]) }", [np.ones((2, 3), np.float32)]),
    "a 0 in a shape": (
        "@f = fn(x : Tensor([b, t, h * 2], float32)) { @reshape(x, [b, t, h, 2]) }", [np.ones((2, 0, 4), np.float32)]
    ),
    "a value that is dropped and read before": (
        "@f = fn(x : Tensor([n], float32)) { let y = x + 1.0\n let z = y * y\n let w = z - y\n (w, z) }",
        [np.arange(3, dtype=np.float32)],
    ),
    "the greatest of what has one that is no number": (
        "@f = fn(x : Tensor([n], float32)) { (@max(x), @min(x), @argmax(x), @argmin(x), @log_softmax(@cast(x, float64))) }",
        [np.array([3, np.nan, 1, np.inf, -np.inf, np.nan, 2] + [0] * 24, np.float32)],
    ),
    "a quotient that is rounded up": (
        "@f = fn(x : Tensor([n], float64), y : Tensor([n], float64)) { (x // y, x % y) }",
        [np.array([1, -1, np.inf, -1, 5, 0.3]), np.array([0.1, 0.1, 2, np.inf, 0, -0.1])],
    ),
    "a row that a mask hides": (
        "@f = fn(x : Tensor([2, n, d], float32), m : Tensor([n, n], float32)) { @attention(x, x, x, mask=m) }",
        [np.ones((2, 3, 2), np.float32), np.array([[0, 0, 0], [-np.inf] * 3, [0, -np.inf, 1]], np.float32)],
    ),
    "products of nothing": (
        "@f = fn(x : Tensor([b, t, d], float32)) { @einsum(\"btd,bsd->bts\", [x, x]) }", [np.ones((3, 2, 0), np.float32)]
    ),
    **{
        f"{name} as one node": (
            "@f = fn(x : Tensor([t, b, 2], float32), w : Tensor([2, 12, 2], float32), r : Tensor([2, 12, 3], float32), "
            "s : Tensor([2, 24], float32)) { @lstm(x, w, r, b=s, direction=\"bidirectional\") }",
            [x, np.ones((2, 12, 2), np.float32), np.ones((2, 12, 3), np.float32) * 0.1, np.ones((2, 24), np.float32)],
        )
        for name, x in {
            "turns": np.linspace(-1, 1, 12, dtype=np.float32).reshape(2, 3, 2),
            "turns without steps": np.ones((0, 3, 2), np.float32),
            "turns over what is no number": np.array([[[1, 2]], [[np.nan, 1]], [[1, 1]]], np.float32),
        }.items()
    },
    "an input that is the result": ("@f = fn(x : Tensor([n], float32)) { (x, x) }", [np.arange(3, dtype=np.float32)]),
}  # fmt: skip


@pytest.mark.parametrize("engine", ["onnxruntime", "torch"])
@pytest.mark.parametrize("trap", TRAPS)
def test_what_went_wrong_once(engine: str, trap: str) -> None:
    pytest.importorskip(engine)
    text, args = TRAPS[trap]
    wanted, found = rx.loads(text).f(*args), rx.loads(text, engine=engine).f(*args)
    pairs = zip(wanted, found, strict=True) if isinstance(wanted, tuple) else [(wanted, found)]
    for one, other in pairs:
        assert (np.asarray(other).dtype, np.shape(other)) == (one.dtype, one.shape)
        np.testing.assert_allclose(np.asarray(other), one, rtol=1e-3 if one.dtype == np.float16 else 1e-6)


def test_a_condition_on_sizes_is_never_taken_for_true_when_it_is_open() -> None:
    engine("onnxruntime")
    from rxlang.interp.engines.symbolic import Dims, Truth, compared
    from rxlang.interp.partial_sizes import Open

    dims = Dims()
    n, m = (dims.atom("dim", "x", i, natural=True) for i in (0, 1))
    assert isinstance(compared("==", n, m), Truth) and compared("==", n + m - m, n) is True
    assert compared("<", n, 0) is False and compared("<=", 0, n * m) is True and compared("==", n + 1, 0) is False
    for asked in (lambda: n == m, lambda: bool(n), lambda: n < 3):
        with pytest.raises(Open):
            asked()


def test_the_program_in_cpp_is_compiled_and_runs_where_the_headers_are(tmp_path: Path) -> None:
    """`CPLUS_INCLUDE_PATH` may say where they are; the library is that of the Python package."""
    engine("onnxruntime")
    import onnxruntime

    places = [Path(p) for p in os.environ.get("CPLUS_INCLUDE_PATH", "").split(":") if p]
    places += [Path("/usr/include"), Path("/usr/include/onnxruntime"), Path("/usr/local/include/onnxruntime")]
    found = next((p for p in places if (p / "onnxruntime_cxx_api.h").is_file()), None)
    library = next((Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*"), None)
    if found is None or library is None or shutil.which("g++") is None:
        pytest.skip("there are no headers of onnxruntime here, no library or no g++")
    text = DOCUMENT.read_text(encoding="utf-8")
    (tmp_path / "main.cpp").write_text(text.split("```cpp\n")[1].split("```")[0], encoding="utf-8")
    (tmp_path / "libonnxruntime.so.1").symlink_to(library)
    program = text.split("<!-- rx: halves.rx -->\n```rx\n")[1].split("```")[0]
    rx.loads(program).halves.export(tmp_path / "halves.onnx")
    build = ["g++", "-std=c++17", f"-I{found}", "main.cpp", str(library), f"-Wl,-rpath,{tmp_path}", "-o", "main"]
    assert subprocess.run(build, cwd=tmp_path).returncode == 0
    ran = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert '"x_0 % 2 == 0"' in ran and ran.endswith("3 4 ")
