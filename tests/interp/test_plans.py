"""One program, many shapes: a plan for each class of shapes on entry, made once, holding nothing of the data."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.cli.main import invoke
from rxlang.interp.plans import KEPT
from support.places import ROOT

EXAMPLES = ROOT / "examples"
LENGTHS = [4, 1, 8, 1, 16, 4]
# Something of every kind that a plan has an answer for: a check, preconditions, a size, a list, an entry check, arms and a
# loop.
MANY = """
@small = fn(x : Tensor([n, m], float32)) : Tensor([n, m], float32) where n <= 3 { x + 1.0 }
@large = fn(x : Tensor([n, m], float32)) : Tensor([n, m], float32) { x * 2.0 }
@sized = [@small, @large]
@entry_check = fn(x : Tensor([n, 2 * k], float32)) : Tensor([n, k], float32) { let k2 : Size = k * 2; x[:, 0:k] + x[:, k:k2] }
@many = fn(x : Tensor([n, m], float32), y : Tensor([p, q], float32)) : Tensor {
  let a = x + y
  assert m % 2 == 0, "even"
  let b : Size = m // 2 + n
  let c = @sized(a)
  let d = @entry_check(c)
  let e = if (n > 3) { @concat([d, d], axis=0) } else { @sized(d) }
  for i in range(n) with (s = e) { @reshape(s, [e.dim(0), e.dim(1)]) + @size_to_tensor(b, float32) }
}
"""


def f32(*shape: int) -> np.ndarray:
    return np.arange(1.0, np.prod(shape) + 1.0, dtype=np.float32).reshape(shape)


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call().tolist()
    except rx.ShapeError as problem:
        return str(problem)


def test_the_lengths_of_the_feed_forward_block_are_four_plans_and_two_uses() -> None:
    ffn = rx.load(EXAMPLES / "ffn" / "ffn.rx").ffn
    with np.load(EXAMPLES / "ffn" / "golden.npz") as golden:
        weights = [golden[f"w_{name}"] for name in ("wg", "wu", "wd")]
        steps = [(golden[f"x{k}"], golden[f"y{k}"]) for k in range(6)]
    assert [x.shape[1] for x, _ in steps] == LENGTHS
    for x, expected in steps:
        np.testing.assert_allclose(ffn(x, *weights), expected, atol=1e-4)
    assert len(ffn.plans) == ffn.plans.made == 4 and ffn.plans.used == sum(ffn.plans.values()) == 2
    for wrong in (f32(1, 33, 64), f32(1, 4, 65), f32(2, 16, 64), f32(1, 0, 64)):
        with pytest.raises(rx.ShapeError):
            ffn(wrong, *weights)
    assert ffn.plans.made == 4


def test_the_steps_of_the_decoder_are_four_plans_and_two_uses() -> None:
    step = rx.load(EXAMPLES / "decoder" / "decoder.rx").step
    with np.load(EXAMPLES / "decoder" / "golden.npz") as golden:
        arrays = {name: golden[name] for name in golden.files}
    layer = ("n1", "wq", "wk", "wv", "qn", "kn", "wo", "n2", "wg", "wu", "wd")
    layers = (tuple(arrays[f"w_l{i}.{name}"] for name in layer) for i in range(2))
    model = arrays["w_embed"], arrays["w_norm"], *layers
    caches = [np.zeros_like(arrays[f"long_{name}"]) for name in ("k0", "v0", "k1", "v1")]
    for k in range(6):
        ids, places = arrays[f"long{k}_ids"], arrays[f"long{k}_pos"]
        logits, *caches = step(ids, places, places, *caches, model)
        np.testing.assert_allclose(logits, arrays[f"long{k}_logits"], atol=1e-4)
    assert (step.plans.made, step.plans.used) == (4, 2)


@pytest.mark.parametrize(
    "order", [[(2, 2), (4, 4), (2, 2), (1, 2), (4, 4)], [(4, 2), (3, 3), (0, 2), (1, 1), (4, 2), (1, 0)]]
)
def test_results_do_not_depend_on_the_plans_that_there_are(order: list[tuple[int, int]]) -> None:
    kept, fresh = rx.loads(MANY), rx.loads(MANY)
    for x, y in [(f32(*a), f32(*b)) for a in order for b in [order[0], (1, 1)]] * 2:
        fresh.many._plans.table.clear()
        assert outcome(lambda x=x, y=y: kept.many(x, y)) == outcome(lambda x=x, y=y: fresh.many(x, y))


def test_a_planned_call_is_the_call_without_a_plan() -> None:
    module = rx.loads(MANY)
    unplanned = module._machine.code.function("many")
    for shape in ((2, 2), (4, 4), (3, 2), (5, 6), (1, 8)):
        for _ in range(2):
            np.testing.assert_array_equal(module.many(f32(*shape), f32(*shape)), unplanned(f32(*shape), f32(*shape)))
    assert module.many.plans.made == 5 and module.many.plans.used == 5


def test_a_failure_is_told_alike_at_every_call_of_a_class() -> None:
    module = rx.loads(MANY)
    texts = {outcome(lambda: module.many(f32(2, 3), f32(2, 3))) for _ in range(3)}
    assert len(texts) == 1 and "even" in texts.pop()


def test_a_plan_holds_nothing_of_the_data() -> None:
    module = rx.loads("""
@rows = fn(x : Tensor([n, 3], float32), mask : Tensor([n], bool)) : Tensor([k, 3], float32) where k <= n { @filter(x, mask) }
@part = fn(x : Tensor([n], float32), k : Tensor([], int64)) : Tensor {
  let size = @item(k)
  let half : Size = size // 2
  assert size <= n
  @concat([x[0:size], x[0:half]])
}
@pick = fn(x : Tensor([n], float32), i : Tensor([j], int64)) : Tensor([j], float32) { @take(x, i, axis=0) }
@to = fn(x : Tensor([n], float32), s : Tensor([2], int64)) : Tensor([a, b], float32) { @reshape(x, s) }
""")
    for bits in ([1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]):
        assert module.rows(f32(4, 3), np.array(bits, bool)).shape == (sum(bits), 3)
    for size in (4, 1, 0, 5):
        assert module.part(f32(6), np.array(size)).shape == (size + size // 2,)
    with pytest.raises(rx.ShapeError):
        module.part(f32(6), np.array(7))
    for picked in ([0, 1], [2, 0]):
        assert module.pick(f32(3), np.array(picked)).tolist() == [p + 1.0 for p in picked]
    with pytest.raises(rx.ShapeError):
        module.pick(f32(3), np.array([0, 3]))
    for target in ([2, 3], [6, 1], [1, 6]):
        assert module.to(f32(6), np.array(target)).shape == tuple(target)
    with pytest.raises(rx.ShapeError):
        module.to(f32(6), np.array([4, 2]))
    assert [module[name].plans.made for name in module] == [1, 1, 1, 1]


def test_what_turns_of_a_loop_change_is_in_no_plan() -> None:
    module = rx.loads("""
@grown = fn(x : Tensor([s, 2], float32), n : Size) : Tensor([s + n, 2], float32) where n >= 0 {
  for i in range(n) with (acc : Tensor([s + i, 2], float32) = x) {
    let k : Size = s + i
    @concat([@reshape(acc, [k, 2]), @ones([1, 2], float32)], axis=0)
  }
}
@turns = fn(x : Tensor([n], float32)) : Tensor {
  let (y, k) = while (y.dim(0) < 40) with (y : Tensor([m], float32) = x, k : Size = 0) { (@concat([y, y + x]), k + 1) }
  y
}
""")
    for n in (3, 0, 5, 3):
        assert module.grown(f32(1, 2), n).shape == (1 + n, 2)
    assert module.grown.plans == {"x : Tensor([1, 2], float32), n = 3": 1, "x : Tensor([1, 2], float32), n = 0": 0,
                                  "x : Tensor([1, 2], float32), n = 5": 0}  # fmt: skip
    with pytest.raises(rx.ShapeError):
        module.turns(f32(3))  # the second turn adds [6] and [3]
    assert module.turns(f32(1)).shape == (64,)


def test_sizes_dtypes_and_members_of_tuples_are_parts_of_a_class() -> None:
    module = rx.loads("""
@f = fn(x : Tensor([*s], d), pair : (Tensor([n], float32), Size), k : Size = 2) : Tensor([*s], d) { x }
""")
    one, two = (f32(3), 1), (f32(3), 2)
    for x, pair, k in (
        (f32(2), one, 2),
        (f32(2), two, 2),
        (f32(2).astype(np.int8), two, 2),
        (f32(2), two, 3),
        (f32(2, 1), two, 2),
    ):
        assert module.f(x, pair, k).shape == x.shape
        assert module.f(k=k, pair=pair, x=x).shape == x.shape and module.f(x, list(pair), k=k).shape == x.shape
    assert module.f.plans.made == 5 and module.f.plans.used == 10


def test_what_is_not_quite_an_argument_finds_no_plan() -> None:
    module = rx.loads("@f = fn(x : Tensor([n], float32), k : Size) : Tensor([n], float32) where k >= 0 { x }")
    x = f32(3)
    assert module.f(x, 1).tolist() == module.f(x, np.int64(1)).tolist() == module.f(x.astype(">f4"), 1).tolist()
    for wrong in (
        (np.ma.masked_array(x, [0, 1, 0]), 1),
        (x, True),
        (x, 1.0),
        (x.tolist(), 1),
        (x.astype(np.float64), 1),
    ):
        with pytest.raises(rx.ShapeError):
            module.f(*wrong)
    with pytest.raises(TypeError):
        module.f(x)
    assert module.f.plans.made == 1 and module.f.plans.used == 2


def test_functions_without_anything_to_plan_count_alike() -> None:
    module = rx.loads("@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x + 1.0 }")
    for n in LENGTHS:
        module.f(f32(n))
    assert not any(line.startswith("def g_") for line in module._machine.code.source.splitlines())
    assert (module.f.plans.made, module.f.plans.used) == (4, 2)


def test_lists_have_plans_and_the_member_that_runs_is_the_first_that_fits() -> None:
    module = rx.loads(MANY + "@prims = [@small, @prelude.negative]\n")
    for n in (2, 5, 3, 2, 5):
        expected = f32(n, 2) + 1 if n <= 3 else f32(n, 2) * 2
        np.testing.assert_array_equal(module.sized(f32(n, 2)), expected)
        np.testing.assert_array_equal(module.prims(f32(n, 2)), expected if n <= 3 else -f32(n, 2))
    assert (module.sized.plans.made, module.sized.plans.used) == (3, 2)
    with pytest.raises(rx.ShapeError):
        module.sized(f32(2))


def test_the_least_recently_used_plan_goes() -> None:
    module = rx.loads("@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x + 1.0 }")
    for n in range(KEPT):
        module.f(f32(n))
    module.f(f32(0))
    module.f(f32(KEPT))
    kept = module.f.plans
    assert len(kept) == KEPT and "x : Tensor([0], float32)" in kept and "x : Tensor([1], float32)" not in kept
    module.f(f32(1))
    assert module.f.plans.made == KEPT + 2 and module.f.plans.used == 1


def test_threads_share_plans_and_none_is_made_twice() -> None:
    module = rx.loads(MANY)
    wrong: list[object] = []

    def work(seed: int) -> None:
        for turn in range(60):
            n = 1 + (seed + turn) % 5
            x = f32(n, 4) * seed
            expected = ((x + x) + 1 if n <= 3 else (x + x) * 2)[:, :2] + ((x + x) + 1 if n <= 3 else (x + x) * 2)[:, 2:]
            expected = np.concatenate([expected, expected]) if n > 3 else expected + 1
            if not np.allclose(module.many(x, x), expected + n * (2 + n)):
                wrong.append((seed, turn))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and module.many.plans.made == 5
    assert module.many.plans.used == sum(module.many.plans.values()) == 6 * 60 - 5


def test_a_reused_plan_asks_nothing_that_shapes_decide(tmp_path: Path) -> None:
    from rxlang import pipeline
    from rxlang.interp.compile import Options
    from rxlang.interp.run import Machine
    from rxlang.lang.files import Files

    report = pipeline.check_text(MANY, "many.rx", tmp_path)
    assert report.checked is not None
    machine = Machine(report.checked.program, Files(tmp_path), Options(instrument=True))
    ran = []
    for _ in range(3):
        machine.call("many", [f32(4, 4), f32(4, 4)])
        ran.append(machine.tally.total)
    assert ran[0] > 0 and ran[0] == ran[1] == ran[2]


def test_each_change_of_shapes_is_told_by_logging(caplog: pytest.LogCaptureFixture) -> None:
    ffn = rx.loads("@f = fn(x : Tensor([n], float32), k : Size) : Tensor([n], float32) { x }").f
    with caplog.at_level(logging.INFO, "rxlang"):
        for n in [*LENGTHS, 4]:
            ffn(f32(n), 7)
    told = [record.getMessage() for record in caplog.records if record.name == "rxlang"]
    assert told == [
        "@f: x : Tensor([4], float32), k = 7: plan 1 made",
        "@f: x : Tensor([1], float32): plan 2 made",
        "@f: x : Tensor([8], float32): plan 3 made",
        "@f: x : Tensor([1], float32): plan 2 used again",
        "@f: x : Tensor([16], float32): plan 4 made",
        "@f: x : Tensor([4], float32): plan 1 used again",
    ]


def test_run_tells_the_plans_of_functions_that_a_script_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = "@g = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x + 1.0 }\n"
    script += "@f = fn(x : Tensor([n], float32)) : Tensor([n], float32) { @g(x) }\n"
    script += "\n".join(f"let y{i} = @f(@ones([{n}], float32))" for i, n in enumerate(LENGTHS))
    (tmp_path / "s.rx").write_text(script)
    assert invoke(["run", str(tmp_path / "s.rx"), "--stats"]) == 0
    out = capsys.readouterr().out
    assert "@f: compiled 1, plans made 4, plans used 2" in out and "@g: compiled 1, plans made 4, plans used 2" in out
    assert "  @f: x : Tensor([1], float32): plan 2 used again" in out
    assert invoke(["run", str(tmp_path / "s.rx"), "--log"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[-1] for line in told if line.startswith("@f")] == [
        "plan 1 made", "plan 2 made", "plan 3 made", "plan 2 used again", "plan 4 made", "plan 1 used again",
    ]  # fmt: skip
    assert invoke(["run", str(tmp_path / "s.rx")]) == 0
    assert "plan" not in "".join(capsys.readouterr())


def test_programs_that_differ_in_an_assertion_share_no_plan() -> None:
    plain, strict = (
        rx.loads(f"@f = fn(x : Tensor([n], float32)) : Tensor {{ assert n % {k} == 0; x }}") for k in (1, 2)
    )
    for _ in range(2):
        assert plain.f(f32(3)).shape == (3,)
        with pytest.raises(rx.ShapeError, match="n % 2"):
            strict.f(f32(3))


def test_recursion_has_plans() -> None:
    module = rx.loads("""
@power = fn(x : Tensor([n], float32), k : Size) : Tensor([n], float32) where k >= 0 {
  if (k == 0) { x } else { @power(@reshape(x, [n]) * 2.0, k - 1) }
}
@start = fn(x : Tensor([n], float32), y : Tensor([m], float32)) : Tensor { @power(x + y, 3) }
""")
    for k in (0, 3, 1, 3):
        assert module.power(f32(2), k).tolist() == [2.0**k, 2.0 * 2**k]
    assert module.start(f32(2), f32(1)).tolist() == module.start(f32(2), f32(1)).tolist() == [16.0, 24.0]
