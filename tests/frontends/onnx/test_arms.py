"""Arms of an If that do not fit what follows: no input is refused that takes the other arm, and what is inferred is right."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import rxlang

onnx = pytest.importorskip("onnx")
from onnx import parser  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from rxlang.model.check import check_model  # noqa: E402
from rxlang.simplify.solver.numbers import holds_at, size_at  # noqa: E402
from support import fuzz  # noqa: E402

_ARMS = {
    "Squeeze": "Squeeze(x, ax)", "Identity": "Identity(x)", "Unsqueeze": "Unsqueeze(x, ax)", "Never": "MatMul(x, odd)",
    "Flat": "Reshape(x, all)", "Summed": "ReduceSum<keepdims: int = 0>(x, ax)",
}  # fmt: skip
_BEFORE = ("Relu(y)", "Identity(y)", "Unsqueeze(y, zero)", "Cast<to: int = 11>(y)")
_AFTER = (
    "Transpose<perm: ints = [1, 0]>(v)", "Transpose<perm: ints = [2, 0, 1]>(v)", "GlobalAveragePool(v)",
    "Concat<axis: int = 1>(v, v)", "Concat<axis: int = 2>(v, v)", "Softmax<axis: int = 2>(v)", "Abs(v)",
)  # fmt: skip
_HELD = f"""
  one = Constant<value: tensor = int64 {{1}}>()
  zero = Constant<value: tensor = int64[1] {{0}}>()
  ax = Constant<value: tensor = int64[1] {{1}}>()
  all = Constant<value: tensor = int64[1] {{-1}}>()
  two = Constant<value: tensor = int64[1] {{2}}>()
  odd = Constant<value: tensor = float[7, 7] {{{", ".join(["0"] * 49)}}}>()
  s = Shape(x)
  d = Gather<axis: int = 0>(s, one)"""


def saved(path: Path, body: str, inputs: str = "float[b, n, 3] x") -> Path:
    text = f'<ir_version: 8, opset_import: ["" : 16]> g ({inputs}) => (float[] z) {{{_HELD}\n{body}\n}}'
    onnx.save(parser.parse_model(text), path)
    return path


def choice(cond: str, then: str, orelse: str, name: str = "y") -> str:
    return f"""{name} = If ({cond}) <
      then_branch: graph = t_{name} () => (float[] {name}_t) {{ {name}_t = {then} }},
      else_branch: graph = e_{name} () => (float[] {name}_e) {{ {name}_e = {orelse} }}>"""


def drawn(draw: Random) -> str:
    then, orelse = (_ARMS[n] for n in draw.sample(sorted(_ARMS), 2))
    asked = draw.choice(("Equal(d, one)", "Less(d, two)", "Greater(d, two)", "Identity(c)"))
    lines = (f"q = {asked}", choice("q", then, orelse), f"v = {draw.choice(_BEFORE)}", f"w = {draw.choice(_AFTER)}")
    return "\n".join((*lines, "z = Cast<to: int = 1>(w)"))


def test_a_model_takes_what_runs_and_gives_the_shape_that_is_inferred(tmp_path: Path) -> None:
    for case in fuzz.cases("arms of models"):
        with case as seed:
            assert_agrees(saved(tmp_path / f"{seed}.onnx", drawn(Random(seed)), "float[b, n, 3] x, bool c"))


def assert_agrees(path: Path) -> None:
    found = check_model(path, str(path))
    if found.contract is None:  # what comes behind never works
        assert not any(ran(path, *sizes) for sizes in product((1, 2), (1, 2, 3), (False, True)))
        return
    main = rxlang.load(path, allow_empty=True).main
    (z,) = found.contract.outputs
    for b, n, c in product((1, 2), (1, 2, 3), (False, True)):
        sizes = {"b": b, "n": n}
        accepted = all(holds_at(k.condition, sizes) for k in found.contract.conditions)
        try:
            shape = main(np.ones((b, n, 3), np.float32), np.array(c)).shape
        except rxlang.ShapeError:
            assert not accepted or found.contract.undecided, sizes
            continue
        assert accepted, sizes
        if z.shape is not None:
            assert len(z.shape) == len(shape)
            assert all(s == "?" or size_at(s, sizes) == there for s, there in zip(z.shape, shape, strict=True))


def ran(path: Path, b: int, n: int, c: bool) -> Any:
    try:
        main = rxlang.load(path, allow_empty=True).main
    except rxlang.CheckError:
        return False
    try:
        return main(np.ones((b, n, 3), np.float32), np.array(c)) is not None
    except rxlang.ShapeError:
        return False


def test_the_arm_with_the_rank_that_is_needed_later_is_a_condition(tmp_path: Path) -> None:
    after = "  w = Relu(y)\n  v = Unsqueeze(w, zero)\n  z = Transpose<perm: ints = [2, 0, 1]>(v)"
    body = f"  q = Equal(d, one)\n  {choice('q', 'Squeeze(x, ax)', 'Identity(x)')}\n{after}"
    path = saved(tmp_path / "m.onnx", body)
    contract = check_model(path, str(path)).contract
    assert contract is not None and [c.condition for c in contract.conditions] == ["n == 1"]
    (demand,) = contract.conditions[0].demands
    assert demand.node == "node of z (Transpose)"
    assert contract.outputs[0].shape == (3, 1, "b")
    found = rxlang.onnx.infer(path)
    assert found.values["w"].shape == ("b", 3) and found.ok


def test_several_arms_are_found_one_after_the_other(tmp_path: Path) -> None:
    body = f"""  q = Equal(d, one)
  {choice("q", "Squeeze(x, ax)", "Identity(x)")}
  y2 = Relu(y)
  s2 = Shape(y2)
  d2 = Gather<axis: int = 0>(s2, zero)
  q2 = Equal(d2, two)
  {choice("q2", "Squeeze(y2, zero)", "Identity(y2)", "u")}
  z = Transpose<perm: ints = [1, 0, 2]>(u)"""
    path = saved(tmp_path / "m.onnx", body)
    contract = check_model(path, str(path)).contract
    assert contract is not None
    for b, n in product((1, 2, 3), (1, 2)):
        accepted = all(holds_at(c.condition, {"b": b, "n": n}) for c in contract.conditions)
        assert accepted >= ran_of(path, b, n) and (not accepted or ran_of(path, b, n) or contract.undecided), (b, n)


def test_what_is_decided_first_decides_what_stands_before_it(tmp_path: Path) -> None:
    """What fails stands in an arm of a later If, of which only checking knows that it is taken."""
    inside = "t = Transpose<perm: ints = [1, 0]>(y), u_t = Relu(t)"
    body = f"""  q = Equal(d, one)
  {choice("q", "Squeeze(x, ax)", "Identity(x)")}
  last = Constant<value: tensor = int64 {{2}}>()
  width = Gather<axis: int = 0>(s, last)
  p = Cast<to: int = 9>(width)
  u = If (p) <
    then_branch: graph = t_u () => (float[] u_t) {{ {inside.replace(", u_t", chr(10) + " u_t")} }},
    else_branch: graph = e_u () => (float[] u_e) {{ u_e = Flatten(x) }}>
  z = Identity(u)"""
    path = saved(tmp_path / "m.onnx", body)
    contract = check_model(path, str(path)).contract
    assert contract is not None and [c.condition for c in contract.conditions] == ["n == 1"]
    assert contract.outputs[0].shape == (3, "b")
    assert [n for n in (1, 2, 3) if ran_of(path, 2, n)] == [1]


def ran_of(path: Path, b: int, n: int) -> bool:
    try:
        rxlang.load(path, allow_empty=True).main(np.ones((b, n, 3), np.float32))
    except rxlang.ShapeError:
        return False
    return True


def test_what_fails_where_not_all_runs_get_to_decides_nothing(tmp_path: Path) -> None:
    """The second If may never read what the first one gives."""
    body = f"""  q = Equal(d, one)
  {choice("q", "Squeeze(x, ax)", "Identity(x)")}
  {choice("c", "Transpose<perm: ints = [1, 0]>(y)", "Identity(x)", "z")}"""
    path = saved(tmp_path / "m.onnx", body, "float[b, n, 3] x, bool c")
    contract = check_model(path, str(path)).contract
    assert contract is not None and not contract.conditions
    assert rxlang.load(path).main(np.ones((1, 2, 3), np.float32), np.array(False)).shape == (1, 2, 3)


@pytest.mark.parametrize("taken", [False, True])
def test_an_arm_that_never_works_refuses_only_those_who_take_it(taken: bool, tmp_path: Path) -> None:
    for then, after in (("MatMul(x, odd)", "Relu(y)"), ("Reshape(x, all)", "MatMul(y, x)")):
        body = f"  {choice('c', then, 'Identity(x)')}\n  z = {after}"
        path = saved(tmp_path / "m.onnx", body, "float[3, 3, 3] x, bool c")
        main, x = rxlang.load(path).main, np.ones((3, 3, 3), np.float32)
        contract = check_model(path, str(path)).contract
        assert contract is not None and contract.undecided and not contract.conditions
        if taken:
            with pytest.raises(rxlang.ShapeError):
                main(x, np.array(taken))
        else:
            assert main(x, np.array(taken)).shape == (3, 3, 3)


_INPUTS = "float[b, n, 3] x, bool c"
_ASKING = ("Reshape(x, nines)", "Reshape(x, fours)", "Reshape(x, fives)", "MatMul(x, odd)", "Relu(x)")
_TARGETS = "\n".join(
    f"  {name} = Constant<value: tensor = int64[2] {{-1, {n}}}>()"
    for name, n in (("nines", 9), ("fours", 4), ("fives", 5))
)


def chosen(draw: Random, inputs: list[str], depth: int) -> str:
    """A choice that an input of its own decides, between arms that ask for something of x, or hold such a choice."""
    own = f"c{len(inputs)}"
    inputs.append(own)
    arms = []
    for side in "te":
        made = chosen(draw, inputs, depth - 1) if depth and draw.random() < 0.4 else f"y = {draw.choice(_ASKING)}"
        name = f"{own}{side}"
        arms.append(f"graph = {name} () => (float {name}_y) {{ {made} {name}_y = ReduceSum<keepdims: int = 0>(y) }}")
    return f"y = If ({own}) <then_branch: {arms[0]}, else_branch: {arms[1]}>"


def test_a_size_that_no_arm_takes_is_refused_and_no_other(tmp_path: Path) -> None:
    for case in fuzz.cases("arms that data decides"):
        with case as seed:
            draw, inputs = Random(seed), list[str]()
            made = [chosen(draw, inputs, 1).replace("y =", f"y{i} =", 1) for i in range(draw.choice((1, 1, 2)))]
            results = ", ".join(f"y{i}" for i in range(len(made)))
            body = "\n  ".join((_TARGETS, *made, f"z = Sum({results})"))
            path = tmp_path / f"{seed}.onnx"
            assert_refuses(saved(path, body, ", ".join(("float[b, n, 3] x", *(f"bool {name}" for name in inputs)))))


def assert_refuses(path: Path) -> None:
    """A contract takes the sizes with which some choices run; what it does not list runs with all of them."""
    contract = check_model(path, str(path)).contract
    try:
        main = rxlang.load(path, allow_empty=True).main
    except rxlang.CheckError:  # neither arm ever works
        assert contract is None and onnx_refuses(path)
        return
    assert contract is not None
    for b, n in product((0, 1, 2), (0, 1, 3, 5, 6)):
        runs = [taken(main, b, n, values) for values in product((False, True), repeat=choices(path))]
        accepted = all(holds_at(c.condition, {"b": b, "n": n}) for c in contract.conditions)
        assert accepted == any(runs), (b, n)
        assert not accepted or all(runs) or contract.undecided, (b, n)
    assert all(c.fails is not None for c in contract.conditions if c.witness is not None)


def onnx_refuses(path: Path) -> bool:
    """Whether ONNX's own engine takes no size that is tried, whatever is chosen."""
    evaluator = ReferenceEvaluator(str(path))
    for b, n, *values in product((0, 1, 2), (0, 1, 3), *([(False, True)] * choices(path))):
        names = dict(zip((f"c{i}" for i in range(len(values))), map(np.array, values), strict=True))
        try:
            evaluator.run(None, {"x": np.ones((b, n, 3), np.float32), **names})
        except (TypeError, ValueError):
            continue
        return False
    return True


def choices(path: Path) -> int:
    return len(onnx.load(path).graph.input) - 1


def taken(main: Any, b: int, n: int, values: tuple[bool, ...]) -> bool:
    try:
        main(np.ones((b, n, 3), np.float32), *map(np.array, values))
    except rxlang.ShapeError:
        return False
    return True


def test_what_either_arm_asks_for_is_a_condition_and_not_left_to_the_run(tmp_path: Path) -> None:
    fours, eights = (f"Constant<value: tensor = int64[2] {{-1, {n}}}>()" for n in (4, 8))
    held = f"  f = {fours}\n  e = {eights}\n"
    one = check_model(path := saved(tmp_path / "one.onnx", held + f"  {choice('c', 'Reshape(x, e)', 'Reshape(x, e)')}\n"
        "  z = Identity(y)", "float[n, 1] x, bool c"), str(path)).contract  # fmt: skip
    assert one is not None and [c.condition for c in one.conditions] == ["n % 8 == 0"] and not one.undecided
    assert one.conditions[0].witness == {"n": 1} and len(one.conditions[0].demands) == 2
    assert [d.way for d in one.conditions[0].demands] == [("x", "y", "y_t"), ("x", "y", "y_e")]
    two = check_model(path := saved(tmp_path / "two.onnx", held + f"  {choice('c', 'Reshape(x, e)', 'Reshape(x, f)')}\n"
        "  z = Identity(y)", "float[n, 1] x, bool c"), str(path)).contract  # fmt: skip
    assert two is not None and [c.condition for c in two.conditions] == ["n % 4 == 0"]
    assert len(two.undecided) == 1 and "8" in two.undecided[0].needs


def test_what_never_works_in_an_arm_is_said_so_and_in_both_it_is_an_error(tmp_path: Path) -> None:
    one = saved(tmp_path / "one.onnx", f"  {choice('c', 'MatMul(x, odd)', 'Relu(x)')}\n  z = Identity(y)", _INPUTS)
    (said,) = check_model(one, str(one)).report.diagnostics
    assert said.severity == "warning" and said.message.endswith("this fails whenever a run gets there")
    both = saved(tmp_path / "both.onnx", f"  {choice('c', 'MatMul(x, odd)', 'Concat<axis: int = 0>(x, odd)')}\n"
        "  z = Identity(y)", _INPUTS)  # fmt: skip
    found = check_model(both, str(both))
    assert found.contract is None and [d.severity for d in found.report.diagnostics].count("error") == 1
    with pytest.raises(rxlang.CheckError, match="this always fails"):
        rxlang.load(both, allow_empty=True)
