"""Calls of any primitive, right or wrong, where a value of any type is asked for: whatever is told is told in words."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import rxlang as rx
from rxlang import pipeline
from rxlang.fixes.applied import fixed_and_left
from rxlang.fixes.ranked import with_helps
from rxlang.lang.diagnostics import RxError
from rxlang.lang.render import render_text
from rxlang.lang.source import Source
from rxlang.ops import registry
from support import fuzz, ops, random_calls
from support.places import TESTS

NAMES = registry.names()
ASKED = [
    *(f"Tensor([{dims}], float32)" for dims in (
        "", "0", "1", "n", "a", "a, b", "b, a", "2, 3", "a * 2", "a // 2, b", "a, b, c", "*s", "..., a", "*s, 1", "_, a")),
    "Tensor", "Tensor(float32)", "Tensor([1, a], int64)", "Tensor([], bool)", "Size", "(Tensor([a], float32), Tensor)",
]  # fmt: skip
PROGRAMS = [
    "@f = fn({params}) {{ {call} }}",
    "@f = fn({params}) : {asked} {{ {call} }}",
    "@f = fn({params}) : Tensor {{\n  let y : {asked} = {call}\n  y\n}}",
    "@f = fn({params}) : Tensor {{\n  let y ! {asked} = {call}\n  y + {one}\n}}",
    "@f = fn({params}) : {asked} {{ if (@any({one} == {one})) {{ {call} }} else {{ {one} }} }}",
    "@g = fn({params}) : {asked} {{ {call} }}\n"
    "@f = fn({params}) : Tensor {{\n  let z = @g({back})\n  let w : {other} = z\n  w\n}}",
    "@f = fn({params}) : Tensor {{\n  let y = {call}\n  for i in range(3) with (u : {asked} = y) {{ u + y }}\n}}",
]


def typed(random: Random, tensor: Any, how: str, names: dict[int, str]) -> str:
    """A type of a tensor: its sizes as numbers, with names for them, with an open rank, or none."""
    if how == "open":
        return "Tensor"
    dims = [
        names.setdefault(d, f"{'abcdefgh'[len(names) % 8]}") if how == "names" and d > 1 else str(d)
        for d in tensor.shape
    ]
    dims = ["*s", *dims[-1:]] if how == "rank" and dims else dims
    return f"Tensor([{', '.join(dims)}], {ops.dtype_of(tensor.dtype)})"


def drawn(seed: int) -> tuple[str, list[Any]]:
    """A program with one call, and what may be given to it."""
    random, row = Random(seed), ops.row_of(NAMES[seed % len(NAMES)])
    call, tensors = random_calls.written(row, random_calls.draw_call(np.random.default_rng(seed), row))
    how, names = random.choice(["numbers", "names", "rank", "open"]), dict[int, str]()
    types = {name: typed(random, tensor, how, names) for name, tensor in tensors.items()} or {"t0": "Tensor"}
    if random.random() < 0.15:
        call = call.replace("t1", "t0")
    text = random.choice(PROGRAMS).format(
        params=", ".join(f"{name} : {type_}" for name, type_ in types.items()),
        call=call, asked=random.choice(ASKED), other=random.choice(ASKED), one=random.choice([*types]),
        back=", ".join([*types][::-1]),
    )  # fmt: skip
    return text + "\n", list(tensors.values()) or [np.zeros(2)]


def test_whatever_a_call_is_and_wherever_it_stands_it_is_told_in_words() -> None:
    for case in fuzz.cases("odd calls"):
        with case as seed:
            text, arguments = drawn(seed)
            report = pipeline.check_text(text, "odd.rx", TESTS)
            told = with_helps(report, TESTS)
            assert all(map(render_text, told.diagnostics))
            assert report.ok or [d for d in told.diagnostics if d.severity == "error"]
            if seed % 3 == 0:
                assert fixed_and_left(Source("odd.rx", text), TESTS).text
            if seed % 3 == 1:
                run(text, arguments)


def run(text: str, arguments: list[Any]) -> None:
    """A run ends with a value or is refused in words."""
    try:
        rx.loads(text).f(*arguments)
    except (RxError, rx.CheckError, rx.ShapeError) as refused:
        assert str(refused)
