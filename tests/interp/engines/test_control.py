"""Arms, loops and calls in last place on other engines: what NumPy has, for all sizes, or refused when they are loaded."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from support import fuzz
from support.random_loops import Maker

X = "x : Tensor([n], float32)"
V = "Tensor([n], float32)"
# Each function with the arguments that it is called with, beside x of several sizes.
PROGRAMS: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "an arm by sizes": (f"@f = fn({X}) : {V} {{ if (n > 2) {{ x }} else {{ -x }} }}", [()]),
    "an arm by data": (f"@f = fn({X}) : {V} {{ if (@sum(x) > 1.0) {{ x * 2.0 }} else {{ x - 1.0 }} }}", [()]),
    "arms of several sizes": (f"@f = fn({X}) {{ if (@sum(x) > 1.0) {{ @concat([x, x], axis=0) }} else {{ x }} }}", [()]),
    "tuples and sizes from arms": (
        f"@f = fn({X}, k : Size) {{ if (k < 2) {{ (x, k, (x, k)) }} else {{ (x + x, n + k, (-x, n)) }} }}", [(0,), (2,), (3,)],
    ),
    "an arm in an arm": (
        f"@f = fn({X}, k : Size) : {V} {{ if (k < 2) {{ if (n == 0) {{ x }} else {{ x / 2.0 }} }} else {{ @exp(x) }} }}",
        [(0,), (2,)],
    ),
    "a division in an arm that is not taken": (
        f"@f = fn({X}, k : Size) : Size where k >= 0 {{ if (k > 0) {{ n // k }} else {{ 7 }} }}", [(0,), (2,)],
    ),
    "a loop": (f"@f = fn({X}, k : Size) : {V} {{ for i in range(k) with (y = x) {{ y + x }} }}", [(0,), (1,), (3,)]),
    "a range by steps": (
        f"@f = fn({X}, k : Size) {{ for i in range(1, k, 3) with (s : Size = 5) stack (y : {V}) {{ (s + i, x * "
        "@size_to_tensor(i, float32)) } }", [(0,), (1,), (8,)],
    ),
    "a while": (f"@f = fn({X}) : {V} {{ while (@sum(y) < 9.0) with (y = x) {{ y * 2.0 + 1.0 }} }}", [()]),
    "a range with a while": (
        f"@f = fn({X}, k : Size) : {V} {{ for i in range(k) with (y = x) while (@sum(y) < 9.0) {{ y + 1.0 }} }}",
        [(0,), (1,), (9,)],
    ),
    "a condition that looks at the place of the turn": (
        f"@f = fn({X}) : Size {{ for i in range(n) with (k : Size = 0) while (@item(@cast(x[i], int64)) < 2) {{ k + 1 }} }}",
        [()],
    ),
    "a carry that grows": (
        f"@f = fn({X}, k : Size) where k >= 0 {{ for i in range(k) with (y : Tensor([n * (i + 1)], float32) = x) "
        "{ @concat([y, x], axis=0) } }", [(0,), (1,), (3,)],
    ),
    "what turns stack": (
        f"@f = fn({X}) {{ for i in range(n) stack (y : Tensor([], float32), z : {V}) {{ (x[i] * 2.0, x + x[i]) }} }}", [()],
    ),
    "carries that take each other's place": (
        f"@f = fn({X}, k : Size) {{ for i in range(k) with (a = x, b = x + 1.0) {{ (b, a) }} }}", [(0,), (1,), (2,)],
    ),
    "a loop in a loop": (
        f"@f = fn({X}, k : Size) : {V} {{ for i in range(k) with (y = x) {{ for j in range(i) with (z = y) {{ z + x }} }} }}",
        [(0,), (3,)],
    ),
    "an arm in a loop": (
        f"@f = fn({X}, k : Size) : {V} {{ for i in range(k) with (y = x) {{\n"
        "  if (i % 2 == 0) { y + x } else { y * 2.0 } } }",
        [(0,), (3,)],
    ),
    "a call of itself over a size": (
        f"@f = fn({X}, k : Size) : Tensor([m], float32) {{ if (k > 0) {{ @f(@concat([x, x], axis=0), k - 1) }} else {{ x }} }}",
        [(0,), (1,), (3,)],
    ),
    "a call of itself over a carry": (
        f"@f = fn({X}, k : Size) : {V} where k >= 1 {{ if (@sum(x) > 9.0) {{ x }} else {{ @f(x + 1.0, k) }} }}", [(1,)],
    ),
    "several ends": (
        f"@f = fn({X}, k : Size) : Tensor([m], float32) {{\n  if (k == 0) {{ x }} else {{ if (k == 5) {{ x + 5.0 }} else {{\n"
        "    if (k % 2 == 0) { @f(x * 2.0, k - 2) } else { @f(x, k - 1) } } } }", [(0,), (3,), (7,), (5,)],
    ),
    "a function that is handed over": (
        f"@f = fn({X}, k : Size) : {V} {{ let g = fn(z : {V}) : {V} {{ if (k > 1) {{ z + x }} else {{ z }} }}\n"
        "  for i in range(3) with (y = x) { g(y) } }", [(0,), (2,)],
    ),
}  # fmt: skip
# What refuses to end where x has no elements, or has too many.
SKIPPED = {("a while", 0), ("a call of itself over a carry", 0), ("a range with a while", -1)}


def same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        assert isinstance(found, tuple) and len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
        return
    assert type(found) is type(wanted) or not isinstance(wanted, int)
    made = np.asarray(found)
    assert (made.dtype, made.shape) == (np.asarray(wanted).dtype, np.shape(wanted))
    np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["onnxruntime", "torch"])
@pytest.mark.parametrize("case", PROGRAMS)
def test_arms_and_turns_do_on_an_engine_what_they_do_over_numpy(name: str, case: str) -> None:
    pytest.importorskip(name)
    text, calls = PROGRAMS[case]
    plain, module = rx.loads(text), rx.loads(text, engine=name)
    for size, more in itertools.product((0, 1, 2, 4), calls):
        if (case, size) not in SKIPPED:
            x = np.linspace(0.5, 1.5, size, dtype=np.float32)
            same(module.f(x, *more), plain.f(x, *more))


def test_a_stack_of_no_turns_has_the_shape_that_is_declared() -> None:
    pytest.importorskip("onnxruntime")
    text = """@f = fn(x : Tensor([n, d], float32)) {
  for i in range(n) stack (y : Tensor([d, 3], float32)) { @broadcast_to(@sum(x), [d, 3]) }
}"""
    module = rx.loads(text, engine="onnxruntime")
    assert module.f(np.ones((0, 5), np.float32)).shape == (0, 5, 3)


REFUSED = {
    "a call of itself that is used": (
        f"@f = fn({X}, k : Size) : {V} {{\n  if (k > 0) {{\n    @f(x, k - 1) + x }} else {{ x }} }}", 3,
        "call of itself but in last place",
    ),
    "ranks that differ": (
        f"@f = fn({X}) {{\n  if (n > 2) {{ x }} else {{ @sum(x) }} }}", 2, "different ranks",
    ),
    "Python code": (f"extern @g = fn(x : {V}) : {V} = \"numpy:sin\"\n@f = fn({X}) : {V} {{\n  @g(x) }}", 1, "Python code"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_onnx_has_no_way_for_is_refused_with_its_line(case: str) -> None:
    pytest.importorskip("onnxruntime")
    text, line, said = REFUSED[case]
    with pytest.raises(rx.CheckError) as caught:
        rx.loads(text, engine="onnxruntime", allow_extern=True)
    told = [d for d in caught.value.diagnostics if d.severity == "error"]
    assert [(str(d.code), d.span.line) for d in told] == [("E253", line)]
    assert said in told[0].message


CHECKED = f"""@f = fn({X}, i : Tensor([k], int64), t : Tensor([], int64)) where n >= 1 {{
  let m = @item(t)
  let y = for j in range(k) with (y = x) {{
    let part = @item(i[j])
    y + @broadcast_to(@sum(x), [part])
  }}
  if (k > 1) {{ @reshape(y, [m, n / m]) }} else {{ @reshape(y, [1, n]) }}
}}
"""


def test_checks_inside_are_refused_dropped_or_an_output(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    import onnx
    from rxlang.lang.diagnostics import RxError

    f, path = rx.loads(CHECKED).f, tmp_path / "m.onnx"
    with pytest.raises(RxError) as caught:
        f.export(path)
    assert {d.span.line for d in caught.value.diagnostics} == {3, 5, 7} and not path.exists()
    f.export(path, checks="drop")
    assert [o.name for o in onnx.load(path).graph.output] == ["result_0"]
    f.export(path, checks="output")
    assert [o.name for o in onnx.load(path).graph.output] == ["result_0", "rx_ok"]
    session = runtime.InferenceSession(str(path))
    x = np.ones(4, np.float32)
    for parts, m, right in [([4, 1], 2, True), ([1], 9, True), ([4, 1], 4, True), ([-3, 4], 2, False)]:
        i, t = np.array(parts), np.array(m)
        if right:
            made, ok = session.run(None, {"x": x, "i": i, "t": t})
            assert ok
            same(made, f(x, i, t))
        else:
            with pytest.raises(rx.ShapeError):
                f(x, i, t)


def test_a_check_that_fails_inside_is_told_by_the_output(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    text = f"@f = fn({X}, t : Tensor([], int64)) {{ let m = @item(t)\n let y : Tensor([m], float32) = x\n y + 1.0 }}"
    rx.loads(text).f.export(tmp_path / "m.onnx", checks="output")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"))
    x = np.ones(3, np.float32)
    assert [session.run(["rx_ok"], {"x": x, "t": np.array(t)})[0] for t in (3, 4)] == [True, False]


def test_a_check_of_the_inputs_alone_is_a_condition_of_the_contract(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    import onnx

    text = f"@f = fn({X}, k : Size) : Tensor([], float32) {{ @max(x[:k]) }}"
    rx.loads(text).f.export(tmp_path / "m.onnx")
    (entry,) = (json.loads(p.value) for p in onnx.load(tmp_path / "m.onnx").metadata_props)
    assert entry["sizes"] == ["k"] and len(entry["conditions"]) == 1
    module = rx.loads(text, engine="onnxruntime")
    same(module.f(np.ones(3, np.float32), 2), np.float32(1))
    for x, k in ((np.ones(0, np.float32), 2), (np.ones(3, np.float32), 0)):
        with pytest.raises(rx.ShapeError):
            module.f(x, k)


def test_an_exported_model_refuses_what_its_conditions_exclude() -> None:
    pytest.importorskip("onnx")
    from rxlang.interp.engines.onnx_export import export

    module = rx.loads(f"@f = fn({X}, k : Size) : {V} where k == 1 || !(n < 2 * k), n != 5 {{ x }}")
    machine = module._machine
    function = machine.function("f")
    assert function is not None
    model = export(machine.program, function, machine.code)
    for n, k in itertools.product(range(7), range(-1, 4)):
        holds = (k == 1 or n >= 2 * k) and n != 5
        assert (model.refusal([np.ones(n, np.float32), k]) is None) is holds, (n, k)


@pytest.mark.parametrize("block", range(2))
@pytest.mark.parametrize("name", ["onnxruntime", "torch"])
def test_random_loops_give_on_an_engine_what_python_gives(name: str, block: int) -> None:
    pytest.importorskip(name)
    tried = 0
    for case in fuzz.cases(f"loops, {name}", block, 2):
        with case as seed:
            made, draw = Maker(seed), np.random.default_rng(seed)
            try:
                module = rx.loads(made.source, engine=name)
            except rx.CheckError as problem:
                assert {str(d.code) for d in problem.diagnostics if d.severity == "error"} <= {"E253"}
                continue
            tried += 1
            for n in (0, 1, 4):
                x, w = draw.standard_normal(3), draw.standard_normal(3)
                with np.errstate(all="ignore"):
                    for found, wanted in zip(module.main(x, w, n), made.expected(x, w, n), strict=True):
                        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6, atol=1e-9)
    assert tried > 2
