"""The condition that a help writes into a signature: what the program computed before it, with sizes from 1 on, it computes
with it, and where nothing else was open, it refuses what failed."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
import rxlang as rx
from rxlang import pipeline
from rxlang.fixes.ranked import with_helps
from rxlang.simplify.solver.numbers import holds_at
from support import fuzz

HERE = Path(".")
TWO = "x : Tensor([t, d], float32), w : Tensor([N, d], float32)"
THREE = "x : Tensor([b, t, d], float32), y : Tensor([u, d], float32)"
FORMS = [
    (TWO, "x + @embedding(@arange(0, t), w)"), (TWO, "x + w[:t]"), (TWO, "@take(w, @arange(0, t) + K, axis=0)"),
    (TWO, "@take(w, @arange(0, t, K), axis=0)"), (TWO, "@take(w, @arange(0, d), axis=0) + x[:1]"), (TWO, "w[@arange(t)[K:]]"),
    (TWO, "w[@arange(t)[:d]]"), (TWO, "w[@arange(t) // K]"), (TWO, "w[@arange(t) * K]"), (TWO, "x[K]"), (TWO, "x[:, d - K]"),
    (TWO, "if (d > K) { w[@arange(t)] } else { w[:t] }"), (TWO, "if (t > K) { x + w[:t] } else { x }"),
    (TWO, "for i in range(t) stack (y : Tensor(?)) { (x[i] + w[i]) }"),
    (TWO, "for i in range(d) stack (y : Tensor(?)) { (@sum(w[@arange(t)])) }"),
    (TWO, "@take(w[:, 0], @expand_dims(@arange(d), axis=1) + @arange(t), axis=0)"), (TWO, "@max(x[K:], axis=0)"),
    (THREE, "x + y"), (THREE, "x + y[:t]"), (THREE, "x - @take(y, @arange(0, t), axis=0)"), (THREE, "x[:, K:] * y[:t]"),
    (THREE, "if (b > K) { x + y } else { x }"), (THREE, "@topk(x, u)"), (THREE, "@reshape(x, [b, K, -1])"),
    (THREE, "@concat([x, @expand_dims(y, axis=0)], axis=0)"), (THREE, "x[:u] + x[:, :K]"),
    (THREE, "@conv(@expand_dims(x, axis=1), @ones([1, 1, K + 1, 3]))"),
    (THREE, "for i in range(b) stack (z : Tensor(?)) { (x[i] + y[:t]) }"),
    (THREE, "@max_pool(@expand_dims(x, axis=0), K + 1)"), (THREE, "@where(@arange(d) < K, x, 0.0) + y[@arange(b)]"),
]  # fmt: skip


def _runs(f: object, shapes: list[list[str]], point: dict[str, int]) -> bool:
    try:
        f(*[np.zeros([point[size] if size in point else int(size) for size in shape], np.float32) for shape in shapes])  # type: ignore[operator]
    except rx.ShapeError:
        return False
    return True


@pytest.mark.parametrize("seed", range(fuzz.tries("conditions of helps")))
def test_a_condition_of_a_help_is_not_narrower_than_what_runs(seed: int) -> None:
    draw = Random(seed)
    params, body = FORMS[seed % len(FORMS)]
    numbers = {"N": str(draw.choice([1, 2, 5, 6])), "K": str(draw.choice([1, 2, 3]))}
    params, body = (re.sub(r"\b[NK]\b", lambda m: numbers[m[0]], text) for text in (params, body))
    text = f"@f = fn({params}) {{ {body} }}"
    report = with_helps(pipeline.check_text(text, "case.rx", HERE), HERE, (), None)
    warnings = [d for d in report.diagnostics if d.severity == "warning"]
    helps = [h.text.partition("`where ")[2].partition("`")[0] for d in warnings for h in d.helps if "`where " in h.text]
    shapes = [dims.split(", ") for dims in re.findall(r"\[([^]]*)\]", params)]
    names = sorted({size for shape in shapes for size in shape if size.isalpha()})
    if not helps:
        return
    f = rx.loads(text).f
    for sizes in product((1, 2, 4, 7), repeat=len(names)):
        point = dict(zip(names, sizes, strict=True))
        runs = _runs(f, shapes, point)
        told = [all(holds_at(c, point) for c in re.split(r", (?![^(]*\))", where)) for where in helps]
        assert all(told) or not runs, (text, helps, point)
        assert runs or not all(told) or len(helps) < len(warnings), (text, helps, point)


def test_a_condition_is_offered_where_a_call_breaks_it_and_the_call_is_told() -> None:
    positions = (
        "@f = fn(x : Tensor([t, d], float32), p : Tensor([512, d], float32)) : Tensor([t, d], float32) { x + p[:t] }"
    )
    text = f"{positions}\nlet y = @f(@zeros([600, 8], dtype=float32), @zeros([512, 8], dtype=float32))"
    report = with_helps(pipeline.check_text(text, "case.rx", HERE), HERE, (), None)
    helps = [h.text for d in report.diagnostics for h in d.helps]
    assert helps == ["`where t <= 512` on @f makes it hold; then E309 in line 2 remains (checked)"]
