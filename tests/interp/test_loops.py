"""Loops as they run: the same as plain Python does, in constant memory, and a failure says in which turn."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.interp import guards
from rxlang.interp.compile import Options
from rxlang.interp.failure_words import evaluate
from rxlang.interp.lower import lower
from rxlang.interp.run import Machine
from rxlang.interp.shape_error import ShapeError
from rxlang.interp.steps import Compute, LoopStep, every, number, total
from rxlang.interp.trace import progress, running
from rxlang.lang import core
from rxlang.lang.files import Files
from support import fuzz
from support.agreement import Ways
from support.memory import peak
from support.phases import checked_of, core_of
from support.random_loops import Maker

HERE = Path(".")
V = "Tensor([n], float64)"


def module(source: str) -> rx.Module:
    return rx.loads(source)


def run(body: str, *args: Any, params: str = f"x : {V}") -> Any:
    """The result of `@f` with a body."""
    return module(f"@f = fn({params}) {{\n{body}\n}}").f(*args)


def program(source: str) -> core.Program:
    return checked_of(source).program


def loops_of(source: str) -> list[LoopStep]:
    return [s for r in lower(program(source)).routines for s in every(r.body) if isinstance(s, LoopStep)]


def message(source: str, *args: Any) -> str:
    """What the failing call of `@f` says."""
    with pytest.raises(ShapeError) as caught:
        module(source).f(*args)
    return caught.value.diagnostic.message


X = np.arange(3.0)


# Random programs


def bits(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    return np.asarray(value).shape, np.asarray(value).dtype.name, np.asarray(value).tobytes()


def machines(source: str) -> list[Machine]:
    """The program as it runs, without writing into operands, without NumPy's own functions, over allocated memory, and with all
    its checks."""
    checked = program(source)
    desugared = core_of(source)
    kinds = (Options(), Options(reuse=False), Options(direct=False, instrument=True), Options(dps=True))
    return [
        *(Machine(checked, Files(HERE), o) for o in kinds),
        Machine(desugared, Files(HERE), Options(guard_all=True)),
    ]


@pytest.mark.parametrize("block", range(4))
def test_random_loops_do_what_python_does_to_the_last_bit_however_they_run(block: int) -> None:
    written_into = 0
    for case in fuzz.cases("loops", block, 4):
        with case as seed:
            made, draw = Maker(seed), np.random.default_rng(seed)
            loops = loops_of(made.source)
            written_into += sum(
                isinstance(s, Compute) and s.into is not None for loop in loops for s in every(loop.body)
            )
            ways = machines(made.source)
            for n in (0, 1, 4):
                x, w = draw.standard_normal(3), draw.standard_normal(3)
                before = bits((x, w))
                with np.errstate(all="ignore"):
                    expected = bits(made.expected(x, w, n))
                    for machine in (*ways, *ways):  # the second time by a plan
                        assert bits(machine.call("main", [x, w, n])) == expected, f"n = {n}\n{made.source}"
                assert bits((x, w)) == before, "an argument was written into"
    assert written_into > 0


# What may be carried

CARRIES: dict[str, tuple[str, Any]] = {
    "several that take each other's place": (
        "let (a, b) = for i in range(3) with (a = x, b = x + 1.0) { (b, a) }\n a - b", [1.0, 1.0, 1.0],
    ),
    "a size": ("for i in range(4) with (k : Size = 3) { k + i }", 9),
    "a bool": ("for i in range(3) with (b : Bool = true) { i < 1 }", False),
    "a shape": ("for i in range(3) with (s : Shape = x.shape) { [i, n] }", (2, 3)),
    "a dtype": ("for i in range(3) with (d : DType = x.dtype) { if (i == 2) { d } else { d } }", np.dtype("float64")),
    "a tuple": (f"let (a, b) = for i in range(3) with (p : ({V}, {V}) = (x, x * 2.0)) {{ let (a, b) = p\n (b, a + b) }}\n b",
                [0.0, 8.0, 16.0]),
    "no turn": ("for i in range(0) with (acc = x) { acc + 1.0 }", [0.0, 1.0, 2.0]),
    "a range that ends before it begins": ("for i in range(5, 2) with (k : Size = 7) { i }", 7),
    "negative indices": ("for i in range(-3, 2, 2) with (k : Size = 0) { k * 10 + i }", -3 * 100 - 10 + 1),
    "a step that passes the end": ("for i in range(1, 9, 5) with (k : Size = 0) { i }", 6),
    "a condition over a tensor": ("while (@any(acc < 5.0)) with (acc = x) { acc + 1.0 }", [5.0, 6.0, 7.0]),
    "an integer tensor as the condition": (
        "let (k, r) = while (k) with (k : int64 = 3, acc = x) { (k - 1, acc + 1.0) }\n r", [3.0, 4.0, 5.0],
    ),
    "statements before the condition": (
        "let (k, r) = while (let q : Size = @item(k); q < 3) with (k : int64 = 0, acc = x) { (k + 1, acc + 1.0) }\n r",
        [3.0, 4.0, 5.0],
    ),
    "a condition that is a carry": (
        "let (b, k) = while (b) with (b : Bool = true, k : Size = 0) { (k < 4, k + 1) }\n @zeros([k], int8)", [0] * 5,
    ),
    "a range with a condition": (
        "let (k, r) = for i in range(10) with (k : Size = 0, r = x) while (i < 2) { (i, r + 1.0) }\n r", [2.0, 3.0, 4.0],
    ),
    "an argument of a call": ("@exp(for i in range(2) with (acc = x) { acc * 0.0 })", [1.0, 1.0, 1.0]),
    "an arm": ("if (n > 2) { for i in range(2) with (acc = x) { acc + 1.0 } } else { x }", [2.0, 3.0, 4.0]),
    "arms in a turn": (
        "for i in range(3) with (acc = x) { if (i == 1) { acc * 10.0 } else { acc + 1.0 } }", [11.0, 21.0, 31.0],
    ),
    "a function value": (
        f"let f = fn(z : {V}) : {V} {{ for i in range(2) with (acc = z) {{ acc + x }} }}\n f(x)", [0.0, 3.0, 6.0],
    ),
    "a function value of each turn": (
        f"for i in range(3) with (acc = x) {{ let f = fn(z : {V}) : {V} {{ z + acc }}\n f(acc) }}", [0.0, 8.0, 16.0],
    ),
    "loops in a loop": (
        "for i in range(3) with (acc = x) { for j in range(i) with (acc = acc) { acc + 1.0 } }", [3.0, 4.0, 5.0],
    ),
    "a view of itself": ("for i in range(5) with (acc = x) { acc[::-1] }", [2.0, 1.0, 0.0]),
    "nothing, and it is dropped": ("for i in range(2) with (acc = x) { acc + 1.0 }\n x", [0.0, 1.0, 2.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", CARRIES)
def test_a_loop_gives_what_its_turns_make(name: str) -> None:
    body, expected = CARRIES[name]
    found = run(body, X)
    assert (found.tolist() if isinstance(found, np.ndarray) else found) == expected


def test_a_script_runs_loops() -> None:
    source = "let x = @ones([3], float64)\nlet y = for i in range(3) with (acc = x) { acc * 2.0 }"
    values = Machine(program(source), Files(HERE)).script()
    assert values["y"].tolist() == [8, 8, 8]


def test_neither_an_argument_nor_a_const_that_is_carried_first_is_written_into() -> None:
    made = module("""const c : Tensor([3], float64) = tensor([1.0, 2.0, 3.0], float64)
@f = fn(x : Tensor([3], float64)) {
  let y = x + c
  let (a, b, d) = for i in range(4) with (a = x, b = c, d = y) { (a + 1.0, b * 2.0, d - 1.0) }
  (a, b, d, c, y)
}""")
    x = np.zeros(3)
    for _ in range(2):
        found = [part.tolist() for part in made.f(x)]
        assert found == [[4, 4, 4], [16, 32, 48], [-3, -2, -1], [1, 2, 3], [1, 2, 3]]
    assert x.tolist() == [0, 0, 0]


def test_two_carries_that_are_one_tensor_stay_apart() -> None:
    body = """let t = x + 1.0
  let (a, b) = for i in range(3) with (a = t, b = t) {
    let u = a + 1.0
    (u, b * 2.0)
  }
  (a, b)"""
    assert [part.tolist() for part in run(body, X)] == [[4, 5, 6], [8, 16, 24]]
    body = """for i in range(3) with (a = x + 1.0, b = x * 2.0) {
    let u = a + b
    (u, u)
  }"""
    assert [part.tolist() for part in run(body, X)] == [[4, 16, 28], [4, 16, 28]]


def test_an_extern_is_called_in_each_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loop_extern.py").write_text(
        "calls = []\ndef add(x):\n    calls.append(1)\n    return x + len(calls)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    made = rx.loads(
        f'extern @add = fn(x : {V}) : {V} = "loop_extern:add"\n'
        f"@f = fn(x : {V}) : {V} {{ for i in range(3) with (acc = x) {{ @add(acc) }} }}",
        allow_extern=True,
    )
    assert made.f(X).tolist() == [6, 7, 8]


# Stacked results


def test_stacked_results_are_copies_in_order() -> None:
    turn = """stack (y : Tensor([2], float64)) {
    let t = acc + 1.0
    (t, t[0:2])
  }
  y"""
    rows = [[1, 1], [2, 2], [3, 3], [4, 4]]
    assert run(f"let (acc, y) = for i in range(4) with (acc = @zeros([3], float64)) {turn}", X).tolist() == rows
    assert run(f"let (acc, y) = while (@any(acc < 4.0)) with (acc = @zeros([3], float64)) {turn}", X).tolist() == rows
    whole = """let (acc, y) = while (@any(acc < 3.0)) with (acc = @zeros([3], float64)) stack (y : Tensor([3], float64)) {
    let t = acc + 1.0
    (t, t)
  }
  y"""
    assert run(whole, X).tolist() == [[1] * 3, [2] * 3, [3] * 3]


@pytest.mark.parametrize("clause", ["", " while (i < 100)"])
def test_the_axis_of_stacked_results_is_the_number_of_turns(clause: str) -> None:
    body = f"for i in range(-1, 8, 4){clause} stack (y : {V}, z : float64) {{ (x + 1.0, @sum(x)) }}"
    y, z = run(body, X)
    assert y.shape == (3, 3) and z.tolist() == [3, 3, 3]
    none = run(f"for i in range(0){clause} stack (y : Tensor([n, 2, m], int8)) {{ @ones([n, 2, 4], int8) }}", X)
    assert none.shape in ((0, 3, 2, 0), (0, 3, 2, 4)) and none.dtype == np.int8


WITHOUT_A_TURN = (
    "@map(fn(r) { r[1:] }, x)",
    "let y = @map(fn(r) { r[1:] }, x); @concat([y, y], axis=1)",
    "let y = @map(fn(r) { r[1:] }, x); if (y.dim(1) == a - 1) { y } else { x }",
    "@reshape(@map(fn(r) { @map(fn(q) { @zeros([a - 1]) }, r) }, x), [-1])",
    "@sum(for i in range(k) stack (y : Tensor([k - 1], float32)) { @zeros([k - 1]) }, axis=0)",
    "for i in range(2, k) stack (y : Tensor(?, ?)) { @zeros([k - 3 + 1, k]) }",
    "let y = for i in range(a) while (i < k) stack (y : Tensor(?, ?)) { x[1:, 0] }; y + y",
    "let (z, y) = @scan(fn(c, r) { (c, r[1:]) }, x, x); y + y",
)


@pytest.mark.parametrize("body", WITHOUT_A_TURN)
def test_a_size_that_only_a_turn_keeps_above_0_is_0_where_none_runs(body: str) -> None:
    ways = Ways(checked_of(f"@main = fn(x : Tensor([a, a], float32), k : Size) {{ {body} }}\n"))
    for n, k in itertools.product(range(3), range(-2, 4)):
        ways.agree({"x": np.arange(n * n, dtype=np.float32).reshape(n, n), "k": k})


def test_what_is_stacked_has_one_shape_in_all_turns() -> None:
    source = f"""@f = fn(x : {V}, k : Size) where k >= 0, n >= 9 {{
  for i in range(3) CLAUSE stack (y : Tensor([m], float64)) {{ x[0:2 + i * k] }}
}}"""
    for clause in ("", "while (i < 5)"):
        made = module(source.replace("CLAUSE", clause))
        assert made.f(np.zeros(9), 0).shape == (3, 2)
        with pytest.raises(ShapeError) as caught:
            made.f(np.zeros(9), 3)
        assert caught.value.diagnostic.message == (
            "in turn 2 (i = 1), `y` needs one shape in all turns: it was Tensor([2], float64) in turn 1, "
            "but it is Tensor([5], float64)"
        )


def test_results_that_no_memory_can_hold_are_refused_before_the_second_turn() -> None:
    for turns in (10**14, 10**30):
        source = f"@f = fn(x : {V}) {{ for i in range({turns}) stack (y : {V}) {{ x + 1.0 }} }}"
        assert "needs more memory than there is" in message(source, X)


# Text


def text_of(source: str, name: str) -> list[str]:
    """The lines of one generated function."""
    lines = Machine(program(source), Files(HERE)).code.source.splitlines()
    start = lines.index(next(line for line in lines if line.startswith(f"def {name}(")))
    return [line.strip() for line in itertools.takewhile(lambda line: line.startswith(" "), lines[start + 1 :])]


def test_a_turn_is_the_steps_of_its_body() -> None:
    source = f"@f = fn(x : {V}, m : Size) : {V} {{ for i in range(m) with (acc = x) {{ acc + 1.0 }} }}"
    assert text_of(source, "f_f__impl") == [
        "v_acc = v_x",
        "for v_i in range(v_m):",
        "v_acc = np_add(v_acc, 1.0)",
        "return v_acc",
    ]


def test_a_claim_that_is_proved_leaves_no_code_in_a_turn() -> None:
    source = f"""@f = fn(x : {V}, m : Size) : Tensor([n + m], float64) where m >= 0 {{
  for i in range(m) with (acc : Tensor([n + i], float64) = x) {{ @concat([acc, x[0:1]]) }}
}}"""
    assert not any("raise" in line for line in text_of(source.replace("m >= 0", "m >= 0, n >= 1"), "f_f__impl"))


# Memory

BIG = "Tensor([125000], float64)"  # a megabyte
HELD = {
    "fixed": "for i in range(TURNS) with (acc = x) { @sin(acc) + 1.0 }",
    "a view of a temporary": "for i in range(TURNS) with (acc = x) { let y = @exp(acc)\n @concat([y[1:125000], y[0:1]]) }",
    "while": "while (k < TURNS) with (k : Size = 0, acc = x) { let y = acc * 0.5\n (k + 1, y - acc) }",
    "two": "for i in range(TURNS) with (a = x, b = x) { (b, a * 0.5) }",
    "a tuple": f"for i in range(TURNS) with (p : ({BIG}, {BIG}) = (x, x)) {{ let (a, b) = p\n (b, a * 0.5) }}",
    "not read": "for i in range(TURNS) with (a = x, b = x) { (a * 0.5, x + 1.0) }",
    "views that are stacked": """while (k < TURNS) with (k : Size = 0, a = x) stack (y : Tensor([2], float64)) {
  let z = a * 0.5
  (k + 1, z, z[0:2])
}""",
    "loops in a loop": "for i in range(TURNS) with (a = x) { let t = @exp(a)\n for j in range(3) with (b = t) { b * 0.5 } }",
    "arms": "for i in range(TURNS) with (a = x) { if (i > 3) { a * 0.5 } else { let t = @sin(a)\n @exp(t) } }",
}


@pytest.mark.parametrize("name", HELD)
def test_many_turns_take_the_memory_of_a_few(name: str) -> None:
    x = np.zeros(125_000)
    found = []
    for turns in (5, 100):
        made = module(f"@f = fn(x : {BIG}) {{ {HELD[name].replace('TURNS', str(turns))} }}")
        made.f(x)
        found.append(peak(made.f, x))
    assert found[1] <= found[0] + 40_000 and found[1] <= 4_100_000


def test_a_carry_takes_no_memory_per_turn() -> None:
    made = module(
        f"@f = fn(x : {V}, t : int64) {{ while (k < @item(t)) with (k : Size = 0, acc = x) {{ (k + 1, acc * 0.5) }} }}"
    )
    made.f(X, np.array(10))
    assert peak(made.f, X, np.array(20_000)) < 20_000


def test_stacked_results_of_known_number_are_written_into_one_buffer() -> None:
    made = module(
        f"@f = fn(x : {BIG}) : Tensor([20, 125000], float64) {{ for i in range(20) stack (y : {BIG}) {{ x * 0.5 }} }}"
    )
    x = np.zeros(125_000)
    made.f(x)
    assert peak(made.f, x) < 20_000_000 + 1_100_000


def test_a_turn_writes_into_what_it_was_given_where_nothing_else_holds_it() -> None:
    source = "@f = fn() : Tensor([3], float64) { for i in range(9) with (acc = @zeros([3], float64)) { BODY } }"

    def into(body: str) -> list[str | None]:
        [loop] = loops_of(source.replace("BODY", body))
        return [s.into for s in loop.body.steps if isinstance(s, Compute)]

    assert any(into("acc + 1.0")) and any(into("(acc + 1.0) * 2.0"))
    assert not any(into("let y = acc[0:3]\n y + acc"))
    [kept] = loops_of("@f = fn(x : Tensor([3], float64)) { for i in range(9) with (acc = x) { acc + 1.0 } }")
    assert not any(s.into for s in kept.body.steps if isinstance(s, Compute))


# Steps


def test_the_number_of_turns_and_the_carries_are_data_in_the_step() -> None:
    [loop] = loops_of(
        f"@f = fn(x : {V}, a : Size, b : Size) {{ for i in range(a, b, 3) with (acc = x) {{ acc + 1.0 }} }}"
    )
    assert loop.range is not None and len(loop.carries) == len(loop.following) == 1
    span = loop.span
    for a, b in [(0, 7), (-4, 5), (3, 3), (5, 1)]:
        names = {"v_a": a, "v_b": b}
        turns = list(range(a, b, 3))
        assert evaluate(total(span, loop.range), names) == len(turns)
        done = [evaluate(number(span, loop.index, loop.range), {**names, loop.index: i}) for i in turns]
        assert done == list(range(len(turns)))


def test_what_a_turn_reads_from_outside_lives_until_the_loop_ends() -> None:
    [loop] = loops_of(f"@f = fn(x : {V}) : {V} {{ let y = @exp(x)\n for i in range(3) with (acc = x) {{ acc * y }} }}")
    assert loop.last == ("v_y",)
    assert all("v_y" not in step.last for step in loop.body.steps)
    assert any(loop.carries[0] in step.last for step in loop.body.steps)


GROWING = """@f = fn(x : Tensor([a, n], float32), y : Tensor([1, m], float32), ids : Tensor([b], int64)) {
  for i in range(200) with (acc : Tensor([a + i, n], float32) = x, seen : Tensor([b + i], int64) = ids) {
    (@concat([acc, y]), @concat([seen, ids[0:1]]))
  }
}"""


def test_a_check_of_a_call_in_a_loop_that_grows_asks_the_rule_a_few_times() -> None:
    asked, original = 0, guards.evaluate

    def counting(*args: Any) -> Any:
        nonlocal asked
        asked += 1
        return original(*args)

    guards.make_guard.cache_clear()
    made = module(GROWING)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guards, "evaluate", counting)
        acc, seen = made.f(np.zeros((2, 3), np.float32), np.ones((1, 3), np.float32), np.zeros(1, np.int64))
    assert acc.shape == (202, 3) and seen.shape == (201,) and 0 < asked <= 8


# Failures


def test_a_claim_that_fails_says_before_the_first_turn_or_after_which() -> None:
    source = f"""@f = fn(x : {V}, t : int64) : Tensor {{
  for i in range(6, 99, 2) with (acc : Tensor([SIZE], float64) = x) {{ @concat([acc, @ones([@item(t)], float64)]) }}
}}"""
    grown = source.replace("SIZE", "n + i - 6")
    found = message(grown, X, np.array(1))
    assert found == "after turn 1 (i = 6), the annotation needs axis 0 of `acc` to be 5 (`n + i - 6`), but it is 4"
    fixed = source.replace("SIZE", "3")
    found = message(fixed, np.zeros(4), np.array(0))
    assert found == "before the first turn, the annotation needs axis 0 of `acc` to be 3, but it is 4"
    late = f"""@f = fn(x : {V}) : Tensor {{
  while (k < 9) with (k : Size = 0, acc : Tensor([n], float64) = x) {{ (k + 1, acc[0:n - k // 2]) }}
  x
}}"""
    found = message(late, X)
    assert found == "after turn 3, the annotation needs axis 0 of `acc` to be 3 (`n`), but it is 2"


def test_who_asks_for_what_a_loop_claims_is_said() -> None:
    source = f"""@f = fn(x : {V}, t : int64) : Tensor {{
  let s = @item(t)
  for i in range(0, 9, 2 - s) with (acc : Tensor([p], float64) = x) where p <= 4 {{ @concat([acc, x[0:s]]) }}
}}"""
    assert message(source, X, np.array(1)) == "after turn 2 (i = 1), the loop needs `p <= 4` to hold, but p is 5"
    assert message(source, np.zeros(5), np.array(1)).startswith("before the first turn, the loop needs `p <= 4`")
    assert message(source, X, np.array(2)).startswith("the range needs `2 - s >= 1` to hold")
    kept = f"@f = fn(x : {V}, t : int64) {{ for i in range(9) with (acc = x) {{ acc[0:@item(t)] }} }}"
    with pytest.raises(ShapeError) as caught:
        module(kept).f(X, np.array(2))
    diagnostic = caught.value.diagnostic
    assert diagnostic.message.startswith("after turn 1 (i = 0), the annotation needs `acc` to have shape [3]")
    assert diagnostic.caption == "`acc` is Tensor([2], float64)"


def test_what_fails_in_a_turn_says_in_which_one_and_in_those_around() -> None:
    source = f"""@f = fn(x : {V}, k : Size) {{
  for j in range(2) with (a = x) {{
    for i in range(4) with (acc = a) {{
      assert i * j < k
      acc + 1.0
    }}
  }}
}}"""
    assert message(source, X, 2).startswith("in turn 3 (i = 2), in turn 2 (j = 1), `i * j < k` does not hold: i is 2, ")
    test = f"@f = fn(x : {V}) {{ while (x[k] < 10.0) with (k : Size = 0) {{ k + 1 }} }}"
    assert message(test, X).startswith("before turn 4, `x[k]` needs ")


def test_a_call_that_fails_inside_says_in_which_turn_it_was_made() -> None:
    made = module(f"""@g = fn(x : {V}, k : Size) : {V} {{ assert k < 2\n x }}
@f = fn(x : {V}) : {V} {{ for i in range(4) with (acc = x) {{ @g(acc, i) }} }}""")
    with pytest.raises(ShapeError) as caught:
        made.f(X)
    assert "called from here, in @f, in turn 3 (i = 2)" in str(caught.value)
    entry_check = (
        f"@g = fn(x : {V}, k : Size) : {V} where k < 2 {{ x }}\n"
        + f"@f = fn(x : {V}, t : int64) : {V} {{ for i in range(4) with (acc = x) {{ @g(acc, i + @item(t)) }} }}"
    )
    assert message(entry_check, X, np.array(1)) == "in turn 2 (i = 1), @g needs `k < 2` to hold, but k is 2"


def nested(depth: int, innermost: str) -> str:
    text = innermost
    for d in range(depth, 0, -1):
        first = "x" if d == 1 else f"a{d - 1}"
        text = f"for i{d} in range({2 if d > depth - 2 else 1}) with (a{d} = {first}) {{ {text} }}"
    return f"@f = fn(x : {V}) : {V} {{ {text} }}"


@pytest.mark.parametrize("depth", [15, 16, 17, 25, 45])
def test_loops_nested_deeper_than_python_nests_them_run_and_name_their_turns(depth: int) -> None:
    assert module(nested(depth, f"a{depth} + 1.0")).f(np.zeros(2)).tolist() == [4, 4]
    checked = nested(depth, f"assert n < 2 || i{depth - 1} < 1\n a{depth} + 1.0")
    assert f"in turn 1 (i{depth} = 0), in turn 2 (i{depth - 1} = 1), in turn 1 (i{depth - 2} = 0)" in message(
        checked, X
    )


def test_arms_deeper_than_python_indents_know_the_turn_around_them() -> None:
    text = "acc"
    for i in range(60):
        text = f"if (n == {i}) {{ let y = acc + {i}.0\n assert i < 2\n y }} else {{ {text} }}"
    source = f"@f = fn(x : {V}) : {V} {{ for i in range(3) with (acc = x) {{ {text} }} }}"
    for n in (1, 59):
        assert message(source, np.zeros(n)).startswith("in turn 3 (i = 2), `i < 2` does not hold")


# While it runs

MARKED = f"""extern @mark = fn(x : {V}) : {V} = "loop_marks:mark"
@f = fn(x : {V}) : {V} {{
  for i in range(2, 10, 2) with (acc = x) {{
    let (k, r) = while (k < 3) with (k : Size = 0, b = acc) {{ (k + 1, @mark(b)) }}
    for j in range(5) with (b = r) {{ @mark(b) }}
  }}
}}
@g = fn(x : {V}) : {V} {{
  let a = @f(x)
  for i in range(3) with (acc = a) {{ @f(acc) }}
}}"""


def test_progress_goes_forwards_through_loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def mark(x: Any) -> Any:
        seen.append(progress(running(threading.get_ident())))
        return x

    marks = ModuleType("loop_marks")
    marks.mark = mark  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "loop_marks", marks)
    rx.loads(MARKED, allow_extern=True).g(X)
    assert len(seen) == 4 * 4 * 8 and seen == sorted(seen)
    # Half of it is the first call of @f, whose turns are quarters; of a turn the first half is a loop without an end in sight.
    first = [turn / 8 + part for turn in range(4) for part in (0, 0, 0, *(1 / 16 + j / 80 for j in range(5)))]
    assert seen[:32] == pytest.approx(first)
    assert seen[32] == pytest.approx(0.5) and seen[-1] > 0.98


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_in_a_turn_names_the_loop_and_the_turn(tmp_path: Path) -> None:
    path = tmp_path / "endless.rx"
    path.write_text("let r = while (true) with (acc = @zeros([3], float64)) {\n  acc + 1.0\n}\n")
    code = (
        "import signal, sys, threading, time\n"
        "from rxlang.cli.main import invoke\nfrom rxlang.interp.trace import running\n"
        "me = threading.get_ident()\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it\n"
        "def stop():\n"
        "    while not any(turn.done for place in running(me) for turn in place.turns):\n        time.sleep(0.01)\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "threading.Thread(target=stop, daemon=True).start()\n"
        f"sys.exit(invoke(['run', {str(path)!r}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr.startswith("interrupted ") and f"of the loop at {path}:1:9" in done.stderr
    assert "turn" in done.stderr and done.stdout == ""


def test_an_instrumented_loop_counts_the_checks_of_each_turn() -> None:
    source = f"@f = fn(x : {V}) : {V} {{ for i in range(7) with (acc = x) {{ assert n < 5 + i\n acc }} }}"
    machine = Machine(program(source), Files(HERE), Options(instrument=True))
    machine.call("f", [X])
    assert machine.tally.total >= 7 and machine.code.times["f"][0] == 1
