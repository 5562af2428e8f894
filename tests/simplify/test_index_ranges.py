"""What a primitive gives as an index is known to be one: it needs no check where it fits, and has one where it may not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rxlang
from rxlang import pipeline

DRAW = "@random_categorical(@random_key(0), v)"
# An index, and the least table that it is certain to be in, all over `v : [n]` that is not empty.
INDICES = [
    ("@argmax(v)", "n"),
    ("@argmin(v, axis=0)", "n"),
    ("@argmax(v, axis=0, keepdims=true)", "n"),
    ("@argmax(@reshape(v, [1, n]))", "n"),
    ("@searchsorted(v, @mean(v))", "n + 1"),
    (DRAW, "n"),
    ("@argmax(v) + 2", "n + 2"),
    ("@argmax(@concat([v, v]))", "2 * n"),
]


def open_checks(table: str, index: str) -> list[str]:
    text = f"@f = fn(v : Tensor([n], float64), t : Tensor([{table}], int64)) where n >= 1 {{ let i = {index}; t[i] }}\n"
    report = pipeline.check_text(text, "index.rx", Path("."))
    assert not [d.message for d in report.diagnostics if d.severity == "error"]
    return [d.code for d in report.diagnostics if d.severity == "warning"]


@pytest.mark.parametrize(("index", "table"), INDICES)
def test_an_index_into_a_table_that_is_long_enough_is_not_checked(index: str, table: str) -> None:
    assert open_checks(table, index) == []
    assert open_checks(f"{table} + 3", index) == []


@pytest.mark.parametrize(("index", "table"), INDICES)
def test_an_index_into_a_table_that_may_be_too_short_is_checked(index: str, table: str) -> None:
    assert open_checks("k", index) == ["W311"]
    if table != "n":
        assert open_checks("n", index) == ["W311"]


def test_the_place_of_the_largest_is_a_size_within_its_axis() -> None:
    text = """@f = fn(m : Tensor([n, d], float64), i : Size) : Tensor([d], float64) where d >= 1, i >= 0, i < n {
  let p : Size = @item(@argmax(m[i:, 0], axis=0)) + i
  m[p]
}
@g = fn(v : Tensor([n], float64)) : Tensor([1], float64) where n >= 1 {
  let (_, i) = @topk(v, 1)
  v[i]
}
"""
    report = pipeline.check_text(text, "place.rx", Path("."))
    assert [d.code for d in report.diagnostics if d.severity != "note"] == []


def test_an_index_out_of_range_still_ends_the_run(tmp_path: Path) -> None:
    file = tmp_path / "late.rx"
    file.write_text(
        "@f = fn(v : Tensor([n], float64), t : Tensor([k], int64)) where n >= 1 { t[@argmax(v)] }\n", encoding="utf-8"
    )
    module = rxlang.load(file)
    v, t = np.array([1.0, 3.0, 2.0]), np.array([5, 7])
    assert int(module.f(v, t)) == 7
    with pytest.raises(rxlang.ShapeError, match="for the index 2"):
        module.f(v[[0, 2, 1]], t)


def test_an_index_of_one_arm_or_of_the_first_turn_is_not_taken_for_the_others(tmp_path: Path) -> None:
    file = tmp_path / "joined.rx"
    file.write_text(
        """@arm = fn(t : Tensor([n], float64), c : bool) where n >= 1 {
  let i = if (c) { @argmax(t) } else { @argmax(@concat([t, t + 1.0])) }
  t[i]
}
@turn = fn(t : Tensor([n], float64), steps : Size) where n >= 1, steps >= 0 {
  let i = for k in range(steps) with (i : Tensor([], int64) = @argmax(t)) { @argmax(@concat([t, t + 1.0])) }
  t[i]
}
""",
        encoding="utf-8",
    )
    module, t = rxlang.load(file), np.array([1.0, 5.0, 2.0])
    assert float(module.arm(t, np.bool_(True))) == float(module.turn(t, 0)) == 5
    with pytest.raises(rxlang.ShapeError, match="holds 4|index 4"):
        module.arm(t, np.bool_(False))
    with pytest.raises(rxlang.ShapeError, match="holds 4|index 4"):
        module.turn(t, 1)


# An index tensor over `m : [n, d]`, neither of them empty, and the least table that all its elements are certain to be in.
INDEX_TENSORS = [
    ("@argmax(m, axis=1)", "d"),
    ("@argmin(m, axis=0)", "n"),
    ("@argsort(m, axis=1)", "d"),
    ("@argsort(@flatten(m))", "n * d"),
    ("@topk(m, 1, axis=0)[1]", "n"),
    ("@nonzero(m)[0]", "n"),
    ("@nonzero(m)[1]", "d"),
    ("@searchsorted(m[0], @flatten(m))", "d + 1"),
]
# Ways to come to one of its elements.
READ = ["@flatten(i)[0]", "@max(i)", "@flatten(@flip(i, axis=0))[-1]", "@reshape(@sort(i), [-1])[0]", "@min(i) + 0"]


def read_program(tensor: str, table: str, read: str) -> str:
    parts = {"[0]": "let (i, _) = ", "[1]": "let (_, i) = "}
    end = tensor[-3:]
    made = f"{parts[end]}{tensor[:-3]}" if tensor.startswith(("@topk", "@nonzero")) else f"let i = {tensor}"
    return f"""@main = fn(m : Tensor([n, d], float64), t : Tensor([{table}], float64)) : Tensor where n >= 1, d >= 1 {{
  {made}
  if (@sum(@shape(i)) > 0) {{
    assert i.dim(0) >= 1
    let k : Size = @item({read})
    t[k] }} else {{ t[0] }} }}
"""


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize(("tensor", "table"), INDEX_TENSORS)
def test_every_element_of_an_index_tensor_is_in_range(tensor: str, table: str, read: str) -> None:
    def told(size: str) -> list[str]:
        report = pipeline.check_text(read_program(tensor, size, read), "read.rx", Path("."))
        return [d.message for d in report.diagnostics if "in range for axis" in d.message and d.severity == "warning"]

    assert told(f"{table} + 1") == []
    assert not [m for m in told(table) if "k" in m]
    assert told("q")


@pytest.mark.parametrize(("tensor", "table"), INDEX_TENSORS)
def test_an_index_is_as_large_as_is_said(tensor: str, table: str) -> None:
    n, d = 3, 2
    sizes = {"n": n, "d": d, "n * d": n * d, "d + 1": d + 1}
    module = rxlang.loads(read_program(tensor, table, READ[0]))
    for seed in range(5):
        m = np.random.default_rng(seed).normal(size=(n, d))
        assert module.main(m, np.ones(sizes[table])) == 1.0


# A table of 16 rows, an index of which sizes decide the range, and what has to hold for it to fit.
CONDITIONS = [
    ("@arange(0, t)", "t <= 16"),
    ("@arange(t) + 3", "t <= 13"),
    ("@cast(@arange(t), int32)", "t <= 16"),
    ("@arange(t) // 2", "t <= 32"),
    ("@arange(t)[2:]", "t <= 16"),
    ("@arange(t)[::-1] * 2", "t <= 8"),
    ("@broadcast_to(@arange(t), [3, t])", "t <= 16"),
    ("@expand_dims(@arange(t), axis=1) - @expand_dims(@arange(t), axis=0)", "t <= 16"),
    ("@concat([@arange(t), @arange(2 * t)])", "t <= 8"),
    ("@where(@arange(t) < 0, @arange(t) + 100, @arange(t))", "t <= 16"),
    ("@maximum(@arange(t) - 5, 0)", "t <= 21"),
    ("@minimum(@arange(t), 20)", "t <= 16"),
    ("@argsort(@zeros([t]))", "t <= 16"),
    ("@sort(@arange(t), descending=true)", "t <= 16"),
    ("-@arange(t)", "t <= 17"),
    ("@meshgrid([@arange(t), @arange(2)])[0]", "t <= 16"),
    ("@concat([@zeros([1 + t], int64), @ones([max(t - 3, 0)], int64)]) * 20", "t <= 3"),
]
# Indices that fit whatever sizes are.
FITTING = [
    "@arange(t) % 16", "@clip(@arange(t), 0, 15)", "ids % 16", "@clip(ids, -16, 15)", "@zeros([t], int64)",
    "@maximum(@minimum(ids, 7), 0)", "@arange(t, dtype=int8) % 16", "@where(ids < 0, 0, ids % 3)", "@cast(ids > 0, int64)",
    "@clip(@expand_dims(@arange(t), axis=1) - @expand_dims(@arange(t), axis=0), -8, 7) + 8",
]  # fmt: skip
USES = ["@take(w, {}, axis=0)", "w[{}]", "@gather_nd(w, @expand_dims({}, axis=-1))"]


def conditions(body: str) -> tuple[tuple[str, ...], bool]:
    """What a function demands of its sizes, and whether sizes decide that its indices fit."""
    text = f"@f = fn(ids : Tensor([t], int64), w : Tensor([16, 2], float32)) {{ {body} }}\n"
    report = pipeline.check_text(text, "index.rx", Path("."))
    assert report.ok and report.checked is not None, [d.message for d in report.diagnostics]
    found = next(c for c in report.checked.conditions if c.name == "@f")
    return tuple(c.text for c in found.conditions), bool(found.by_sizes) and found.exact


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(("index", "condition"), CONDITIONS)
def test_what_sizes_decide_of_an_index_is_a_condition(index: str, condition: str, use: str) -> None:
    assert conditions(use.format(index)) == ((condition,), True)


@pytest.mark.parametrize("use", USES[:2])
@pytest.mark.parametrize("index", FITTING)
def test_an_index_that_fits_whatever_sizes_are_asks_for_nothing(index: str, use: str) -> None:
    assert conditions(use.format(index)) == ((), True)


@pytest.mark.parametrize(
    ("indices", "index", "least"),
    [
        ("[0, 1, 2]", 2, 3),
        ("[2, 0, -4]", -4, 4),
        ("[-1, 0]", -1, 1),
        (f"[{', '.join(map(str, range(-70, 50)))}]", -70, 70),
    ],
)
def test_of_literal_indices_the_one_farthest_out_is_asked_for(indices: str, index: int, least: int) -> None:
    def told(size: str) -> str:
        text = f"@f = fn(x : Tensor([{size}, 2], float32)) {{ @take(x, {indices}, axis=0) }}\n"
        (found,) = (d for d in rxlang.check_source(text).diagnostics if d.severity != "note")
        return found.message

    asked = f"@take needs axis 0 of `x` to be at least {least}, for the index {index}, but it is "
    assert told("n").startswith(f"{asked}n: this holds only if n >= {least}, ") or least == 1
    assert told(str(least - 1)) == f"{asked}{least - 1}: this always fails"


def test_an_id_of_an_embedding_is_not_negative() -> None:
    assert conditions("@embedding(@arange(t), w)") == (("t <= 16",), True)
    assert conditions("@embedding(@maximum(@arange(t) - 1, 0), w)") == (("t <= 17",), True)
    assert conditions("@take(w, @arange(t) - 1, axis=0)") == (("t <= 17",), True)


def test_an_index_that_wraps_around_is_not_taken_for_the_exact_one() -> None:
    assert conditions("w[@arange(t, dtype=int8) * 64 * 4]") == ((), False)  # 256 times a number is 0 in int8
    assert conditions("w[@arange(t, dtype=int8)]") == (("t <= 16",), True)
    assert conditions("w[@arange(t, dtype=int8) % 16]") == ((), True)
    text = "@f = fn(w : Tensor([n], float32), v : Tensor([t], int8)) { w[@arange(t, dtype=int8)] }\n"
    report = pipeline.check_text(text, "index.rx", Path("."))
    assert report.checked is not None
    assert [c.text for c in report.checked.conditions[0].conditions] == ["n >= t || n >= 128"]


def test_an_index_that_never_fits_is_an_error_and_one_that_data_decides_is_none() -> None:
    for body, code in (
        ("w[@arange(16, 16 + t)]", "E310"),
        ("w[@arange(300, 600)]", "E304"),
        ("@embedding(@arange(t) - 1, w)", "E310"),
        ("w[@argsort(@zeros([3, 300]), axis=1)]", "E304"),
        ("w[@argmax(@zeros([3, 300]), axis=1)]", ""),
        ("w[ids]", ""),
    ):
        text = f"@f = fn(ids : Tensor([t], int64), w : Tensor([16, 2], float32)) {{ {body} }}\n"
        found = [d.code for d in pipeline.check_text(text, "index.rx", Path(".")).diagnostics if d.severity != "note"]
        assert found == [code][: bool(code)], body


def test_the_index_of_a_turn_is_asked_of_all_turns() -> None:
    assert conditions("@map(fn(i) { w[i] }, @arange(t))") == (("t <= 16",), True)
    taken = "@sum(@take(w, @arange(i, i + 2), axis=0), axis=0)"
    turns = f"for i in range(t) with (s : Tensor([2], float32) = @zeros([2])) {{ s + {taken} }}"
    assert conditions(turns) == (("t <= 15",), True)


@pytest.mark.parametrize("index", ["@arange(s, e)", "@arange(0, e, 3)", "@arange(s, e, -2)", "@arange(e, s, 5) + 1"])
def test_numbers_that_are_no_sizes_of_a_tensor_are_counted_as_well(index: str) -> None:
    text = f"@f = fn(w : Tensor([4, 2], float32), s : Size, e : Size) {{ @take(w, {index}, axis=0) }}\n"
    report = pipeline.check_text(text, "index.rx", Path("."))
    assert report.ok and report.checked is not None
    told = report.checked.conditions[0].conditions
    if index.endswith("+ 1"):  # the sum may be beyond int64, and wrap around
        assert not told
        return
    assert told
    module = rxlang.loads(text)
    for s in range(-9, 10):
        for e in range(-9, 10):
            holds = all(bool(eval(_python(c.text), {"s": s, "e": e, "max": max, "min": min})) for c in told)
            if holds:
                module.f(np.zeros((4, 2), np.float32), s, e)
            else:
                with pytest.raises(rxlang.ShapeError):
                    module.f(np.zeros((4, 2), np.float32), s, e)


@pytest.mark.parametrize(
    ("x", "result", "body", "codes"),
    [
        ("[t, 2]", "", "x + @take(w, @arange(0, s), axis=0)", ["W311", "W311"]),
        ("[t, 2]", " : Tensor([t - 1, 2], float32)", "x[1:] + @take(w, @arange(0, t), axis=0)", ["E310", "W311"]),
        ("[t, 3]", "", "x + @take(w, @arange(0, s), axis=0)", ["E306", "W311"]),
    ],
)
def test_an_index_unproved_leaves_the_sizes_of_what_is_taken_proved(
    x: str, result: str, body: str, codes: list[str]
) -> None:
    signature = f"w : Tensor([16, 2], float32), x : Tensor({x}, float32), s : Size"
    text = f"@f = fn({signature}){result} {{ {body} }}\n"
    told = [d for d in pipeline.check_text(text, "index.rx", Path(".")).diagnostics if d.severity != "note"]
    assert sorted(d.code for d in told) == codes
    assert any(d.message.startswith("`+`") for d in told)


def _python(condition: str) -> str:
    return condition.replace("&&", " and ").replace("||", " or ")
