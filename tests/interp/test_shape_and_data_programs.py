"""A shape program and a data program do what the program does: the same results to the last bit, and the same refusals."""

from __future__ import annotations

import itertools
import json
import os
import zlib
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.cli.main import invoke
from rxlang.interp import allocation
from rxlang.interp.compile import Options
from rxlang.interp.dps import pairs
from rxlang.interp.kernels import registry as kernels
from rxlang.interp.run import Machine
from rxlang.interp.shape_error import ShapeError
from rxlang.interp.shape_program import result_shape
from rxlang.lang.checked import Checked
from rxlang.lang.files import Files
from rxlang.ops import registry
from rxlang.ops.model import TensorInfo
from rxlang.simplify.on_shapes import ArgumentShape
from support import fuzz, ops, random_calls
from support.agreement import assert_same_bits
from support.phases import checked_of
from support.places import ROOT, TESTS

FILES = Files(Path("."))
GOLDENS = sorted((TESTS / "goldens" / "dps").glob("*.rx"))


def checked(source: str) -> Checked | None:
    report = pipeline.check_text(source, "dps.rx", Path("."))
    return report.checked if report.ok else None


def outcome(machine: Machine, name: str, args: list[Any]) -> Any:
    try:
        with np.errstate(all="ignore"):
            return machine.call(name, args)
    except ShapeError as problem:
        return problem.diagnostic


def both(program: Checked) -> tuple[Machine, Machine]:
    return Machine(program.program, FILES), Machine(program.program, FILES, Options(dps=True))


# The listings


@pytest.mark.parametrize("path", GOLDENS, ids=lambda p: p.stem)
def test_the_pair_of_each_function_is_listed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["desugar", str(path), "--dps"]) == 0
    listed = capsys.readouterr().out
    wanted = path.with_suffix(".dps")
    if os.environ.get("RX_ACCEPT"):
        wanted.write_text(listed, encoding="utf-8")
    assert listed == wanted.read_text(encoding="utf-8")
    assert invoke(["shapes", str(path), "--program"]) == 0
    programs = capsys.readouterr().out
    assert [p for p in listed.split("\n\n") if "_shape = " in p] == programs.rstrip("\n").split("\n\n")


COUNTED = [
    "for i in range(k) with (y : Tensor([n + i, d], float32) = x) { @concat([y, y[:1]]) }",
    "for i in range(k, 4) with (y : Tensor([n, d + i - k], float32) = x) { @concat([y, y[:, :1]], axis=1) }",
    "for i in range(0, k, 2) with (y = x) stack (z : Tensor([n, d], float32)) { (y + 1.0, y) }",
    "let (y, z) = for i in range(k) with (y : Tensor([n + i * n, d], float32) = x, z = x) { (@concat([y, x]), z + z) }; (z, y)",
    "let y = x[:k]; @concat([y * 2.0, y])",
    "@pad(x, [[max(k, 0), 1], [0, 3 - min(k, 3)]])",
]


@pytest.mark.parametrize("body", COUNTED)
def test_the_program_that_is_printed_computes_the_sizes_of_a_run(
    body: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.rx").write_text(
        f"@f = fn(x : Tensor([n, d], float32), k : Size) where n >= 1, d >= 1 {{\n  {body}\n}}\n"
    )
    assert invoke(["shapes", "--program", str(tmp_path / "a.rx")]) == 0
    lines = [
        line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith("  ") and "#" not in line[:4]
    ]
    module = rx.load(tmp_path / "a.rx")
    for n, d, k in itertools.product((1, 2, 5), (1, 3), (-2, 0, 1, 3)):
        names, shapes = {"n": n, "d": d, "k": k, "max": max, "min": min}, []
        for line in lines:
            if line.startswith("let s"):
                name, _, value = line.removeprefix("let ").partition(" = ")
                names[name] = eval(value, names) if "i" not in value.split() else None
            elif line.startswith("build_shape") and "(out, " in line:
                dims = line.partition("(out, ")[2].partition(")  #")[0]
                shapes.append(eval(f"({dims},)", names))
        made = module.f(np.ones((n, d), np.float32), k)
        assert shapes == [part.shape for part in (made if isinstance(made, tuple) else (made,))], (n, d, k)


CARRIED = {
    "for i in range(k) with (y : Tensor(?, float32) = x + 1.0) { @expand_dims(y, axis=0) }": (None, None, None),
    "for i in range(k) with (y : Tensor([?, d], float32) = x + 1.0) { @concat([y, y]) }": (None, None, None),
    "for i in range(k) with (y : Tensor([p], float32) = @reshape(x, [n * d])) where p <= n * d { @filter(y, y > 2.0) }":
        (None, None, None),
    "for i in range(k) with (y : Tensor([n, d], float32) = x + 1.0) { y * 2.0 }": ((2, 3), (2, 3), (2, 3)),
    "for i in range(k) with (y : Tensor([n + i, d], float32) = x + 1.0) { @concat([y, y[:1]]) }": ((2, 3), (3, 3), (4, 3)),
    "let (_, y) = while (j < k) with (j : Size = 0, y : Tensor(?) = x + 1.0) { (j + 1, @expand_dims(y, axis=0)) }; y":
        (None, None, None),
}  # fmt: skip


@pytest.mark.parametrize("body", CARRIED)
def test_what_a_loop_gives_has_not_the_shape_that_it_begins_with(body: str) -> None:
    module = rx.loads(f"@f = fn(x : Tensor([n, d], float32), k : Size) : Tensor where k >= 0, n >= 1 {{ {body} }}\n")
    pair = module._pairs["f"]
    for k, shape in enumerate(CARRIED[body]):
        found = result_shape(pair, dict(zip(pair.data.params, ((2, 3), k), strict=True)))
        assert found == shape and (found is None or module.f(np.ones((2, 3), np.float32), k).shape == found)
        told = module.f.shapes(x=(2, 3), k=k)
        assert told is None or found == tuple(told) or not all(isinstance(size, int) for size in told)


def test_one_function_is_listed_if_one_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    (staged,) = (p for p in GOLDENS if p.stem == "staged")
    assert invoke(["desugar", str(staged), "--dps", "--function", "@first"]) == 0
    listed = capsys.readouterr().out
    assert "@first_shape" in listed and "@keep" not in listed.replace("@keep(", "")


def test_the_shape_program_and_the_memory_fit_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads((ROOT / "docs" / "schema" / "shapes.json").read_text(encoding="utf-8"))
    for path in GOLDENS:
        assert invoke(["shapes", str(path), "--program", "--memory", "--format", "json"]) == 0
        found = json.loads(capsys.readouterr().out)
        jsonschema.validate(found, schema)
        assert all({"program", "memory"} <= set(f) for f in found["functions"].values())


# Runs


@pytest.mark.parametrize("call", [
    ["examples/ff.rx", "--call", "@ff", "--arg", "x=int8[3,8]:random"],
    ["tests/goldens/dps/staged.rx", "--call", "@keep", "--arg", "x=float32[3,2]:random", "--arg", "mask=bool[3]:ones"],
    ["tests/goldens/dps/loops.rx", "--call", "@grow", "--arg", "x=float32[2,3]:random", "--arg", "n=3"],
    ["tests/goldens/dps/loops.rx", "--call", "@double", "--arg", "x=float32[3]:random", "--arg", "n=20"],
    ["tests/goldens/dps/loops.rx", "--call", "@scan", "--arg", "x=float32[0,2]:random"],
    ["tests/goldens/dps/forms.rx", "--call", "@typed", "--arg", "x=bfloat16[3]:ones"],
    ["tests/goldens/dps/fast_flatten.rx", "--arg", "a=int8[2,17]:ones"],
], ids=lambda call: " ".join(call[:3]))  # fmt: skip
def test_a_run_over_allocated_memory_prints_what_a_run_prints(
    call: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path, *rest = call
    status = invoke(["run", str(ROOT / path), *rest])
    printed = capsys.readouterr()
    assert invoke(["run", str(ROOT / path), "--dps", *rest]) == status
    assert capsys.readouterr() == printed


FORMS = """import "lib.rx" as lib
const w : Tensor([3], float32) = tensor([0.5, -1.0, 2.0], float32)
const v = @exp(w)
@relu_any = fn(x : Tensor([*s], d)) : Tensor([*s], d) where d in floating { @maximum(x, 0.0) }
@one = fn(x : Tensor([n], float32)) : Tensor([n], float32) where n >= 2 { x * w[0] }
@two = fn(x : Tensor([n], float32)) : Tensor([n], float32) { @concat([x, x], axis=0)[0:n] }
@either = [@one, @two]
@names = fn(x : Tensor([n], string)) : Tensor([n * 2], string) { @concat([x, x], axis=0) }
let a = @either(@ones([1], float32))
let b = @either(v)
let c = @relu_any(@reshape(b - 1.0, [3, 1]))
let (top, at) = @topk(v, k=2)
let apply = fn(z : Tensor([3], float32)) : Tensor { z + w }
let d = apply(v)
let e = @lib.twice(@cast(c, bfloat16))
let f = @names(tensor(["one", "two"], string))
let g = @matmul(@ones([2, 0], float32), @ones([0, 3], float32)) + w
let (q, r) = @split(@arange(6), 2)
"""
LIB = "@twice = fn(x : Tensor([*s], d)) { @concat([x, x], axis=0) }\n"


def test_a_script_of_all_forms_gives_the_same_bits(tmp_path: Path) -> None:
    (tmp_path / "lib.rx").write_text(LIB)
    files = Files(tmp_path)
    program = checked_of(FORMS, tmp_path).program
    plain, dps = (Machine(program, files, Options(dps=dps)) for dps in (False, True))
    wanted, found = plain.script(), dps.script()
    assert wanted.keys() == found.keys()
    for name in wanted.keys() - {"apply"}:
        if wanted[name].dtype.kind == "T":
            assert wanted[name].tolist() == found[name].tolist()
        else:
            assert_same_bits(wanted[name], found[name], {})


def test_a_size_that_has_no_value_is_refused_where_it_is_asked_for() -> None:
    text = (
        "@main = fn(x : Tensor([n], float32), k : Size, p : Size) : Tensor { let y = @reshape(x, [p // k, 1])\n y }\n"
    )
    found = checked(text)
    assert found is not None
    for k in (0, -1, 2):
        wanted, made = (outcome(machine, "main", [np.ones(2, np.float32), k, 4]) for machine in both(found))
        assert_same_bits(wanted, made, {"k": k})


@pytest.mark.parametrize("stride", ["ceildiv(q, 2)", "q - q // 2", "3 * q - q * 2", "max(q, 1) - q // 2"])
def test_a_divisor_is_what_it_is_whatever_signs_its_normal_form_has(stride: str) -> None:
    params = "x : Tensor([n, 3, h, w], float32), k : Tensor([5, 3, u, v], float32), q : Size"
    found = checked(f"@main = fn({params}) : Tensor {{ @conv(x, k, strides={stride}) }}\n")
    assert found is not None
    for q in (-1, 0, 1, 4):
        given = [np.ones((2, 3, 4, 3), np.float32), np.ones((5, 3, 1, 2), np.float32), q]
        wanted, made = (outcome(machine, "main", given) for machine in both(found))
        assert_same_bits(wanted, made, {"q": q})


# What makes sizes that are called by no name, one a program: an annotated body, two splices, a loop, a filter in an arm.
UNNAMED = {
    "bodies": "let y = @hidden(x)\n  @add(y * 2.0, y)",
    "two bodies": "let y = @hidden(x)\n  let z = @hidden(@swapped(x))\n  @matmul(y * 2.0, z * 2.0) * 2.0",
    "arms": "let y = if (@sum(x) > 1.0) { @hidden(x) } else { @hidden(@swapped(x)) }\n  @add(y * 2.0, y)",
    "turns": "let y = for i in range(2) with (c : Tensor([?, ?], float32) = @hidden(x)) { @swapped(c * 2.0) }\n  y * 2.0 + y",
    "stacks": "let y = for i in range(2) stack (c : Tensor([?, ?], float32)) { @hidden(x) }\n  y * 2.0 + y",
    "functions": "let f = fn(r : Tensor([_p, _q], float32)) { let y = @hidden(r)\n y * 2.0 + y }\n  f(x)",
}
LIB_OF_UNNAMED = (
    "@hidden = fn(x : Tensor([_n, _m], float32)) : Tensor([?, ?], float32) { x + 1.0 }\n"
    "@swapped = fn(x : Tensor([_n, _m], float32)) : Tensor([?, ?], float32) { @permute_dims(x, [1, 0]) }\n"
)


@pytest.mark.parametrize("loop", ["x", "while (@sum(x) < 0.0) with (c = x) { c + 1.0 }", "@hidden(x)"])
@pytest.mark.parametrize("body", UNNAMED.values(), ids=UNNAMED)
def test_sizes_that_nobody_has_named_are_not_taken_for_each_other(body: str, loop: str) -> None:
    text = f"@main = fn(x : Tensor([_n, _m], float32)) : Tensor {{\n  let c = {loop}\n  {body}\n}}\n"
    found = checked(LIB_OF_UNNAMED + text)
    assert found is not None
    for shape in ((2, 3), (3, 1), (0, 2), (2, 2)):
        wanted, made = (outcome(machine, "main", [np.ones(shape, np.float32)]) for machine in both(found))
        assert_same_bits(wanted, made, {"x": shape})


def test_what_a_kernel_gives_is_a_view_of_an_operand_only_where_the_table_says_so() -> None:
    for name in registry.names():
        row = registry.lookup(name)
        if row is None or row.rule is None:
            continue
        for number in range(fuzz.tries("views of operands")):
            values = random_calls.draw_call(np.random.default_rng((zlib.crc32(name.encode()), number)), row)
            args = [ops.for_kernel(p, values.get(p.name, p.default)) for p in row.params]
            try:
                made = kernels.lookup(name)(*args)
            except Exception:  # noqa: BLE001, S112 - a call that does not fit
                continue
            operands = [a for arg in args for a in (arg if isinstance(arg, tuple | list) else (arg,))]
            arrays = [a for a in operands if isinstance(a, np.ndarray)]
            results = [m for m in (made if isinstance(made, tuple) else (made,)) if isinstance(m, np.ndarray)]
            shared = any(np.may_share_memory(m, a) for m in results for a in arrays)
            assert not shared or name in allocation.VIEWS, name


# Shapes of numbers


SHAPED = """@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32) {
  @reshape(@sum(@reshape(@cast(x, int32), [n, m, 4]), axis=2), [n * m])
}
@conv = fn(x : Tensor([b, c, l]), w : Tensor([o, c, k]), s : Size) : Tensor([b, o, (l - k) // s + 1])
  where s >= 1, k >= 1, l >= k, x.dtype == float32, w.dtype == float32 {
  @conv1d(x, w, strides=[s])
}
@open = fn(x : Tensor([n, d], float32), y : Tensor([m, d], float32)) { @concat([x, y, x], axis=0) + 1.0 }
@loop = fn(x : Tensor([s], float32), n : Size) : Tensor([s + n], float32) where n >= 0 {
  for i in range(n) with (a : Tensor([s + i], float32) = x) { @concat([a, @ones([1], float32)], axis=0) }
}
"""
CALLS: list[tuple[str, dict[str, Any]]] = [
    *(("ff", {"x": x}) for x in ((2, 8), (0, 4), (3, 0), (1, 6), (4,))),
    *(("conv", {"x": (2, 3, 7), "w": (5, 3, 3), "s": s}) for s in (1, 2, 3, 0)),
    ("conv", {"x": (2, 3, 7), "w": (5, 2, 3), "s": 1}),
    *(("open", {"x": (3, d), "y": (2, 5)}) for d in (5, 4)),
    *(("loop", {"x": (3,), "n": n}) for n in (0, 4, -1)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "sizes"), CALLS)
def test_the_shape_program_says_what_checking_says(name: str, sizes: dict[str, Any]) -> None:
    found = checked(SHAPED)
    assert found is not None
    made = pairs(found.program)[name]
    shape = result_shape(made, dict(zip(made.data.params, sizes.values(), strict=True)))
    abstract = {n: ArgumentShape(s) if isinstance(s, tuple) else s for n, s in sizes.items()}
    (value, state, diagnostics), _ = pipeline.call_on_shapes(found, name, abstract)
    fits = not [d for d in diagnostics if d.severity == "error"]
    assert fits == (shape is not None)
    assert not fits or (isinstance(value, TensorInfo) and tuple(state.resolve(value.shape)) == shape)


def test_a_stage_behind_the_entry_check_leaves_the_shape_to_checking() -> None:
    module = rx.loads((TESTS / "goldens" / "dps" / "staged.rx").read_text(encoding="utf-8"))
    assert result_shape(module._pairs["keep"], {"v_x": (3, 2), "v_mask": (3,)}) is None
    assert [str(s) for s in module.keep.shapes(x=(3, 2), mask=(3,))] == ["k", "2"]
