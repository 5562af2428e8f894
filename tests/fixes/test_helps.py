"""Helps: what is offered for a wrong program, that it does what it says, and `rx check --fix`."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rxlang import pipeline
from rxlang.cli.main import invoke
from rxlang.fixes.applied import why_left
from rxlang.fixes.edits import EditedOffsets, applied, followed
from rxlang.fixes.ranked import Ranked, ranked, with_helps
from rxlang.lang.diagnostics import Diagnostic, Edit
from rxlang.lang.render import render_text
from rxlang.lang.source import Source, Span
from support import cases, fuzz, shape_bugs
from support.places import TESTS

GOLDENS = TESTS / "goldens" / "helps"
HERE_BASE = Path(".")


def report_of(text: str, **options: bool) -> pipeline.Report:
    return pipeline.check_text(text, "case.rx", HERE_BASE, (), pipeline.Options(**options))


def offered(text: str) -> list[Ranked]:
    return list(ranked(report_of(text), HERE_BASE))


def helped(text: str) -> list[Diagnostic]:
    """The errors and warnings with their helps."""
    found = with_helps(report_of(text), HERE_BASE).diagnostics
    return [d for d in found if d.severity != "note"]


def f(params: str, body: str, result: str = "Tensor", where: str = "") -> str:
    tensors = ", ".join(f"{n} : Tensor({s}, float32)" for n, s in (p.split(" ", 1) for p in params.split("; ")))
    return f"@f = fn({tensors}) : {result}{where} {{\n  {body}\n}}\n"


LAYER = (
    "@layer = fn(x : Tensor([b, d], float32), w : Tensor([d, h], float32)) : Tensor([b, h], float32) {\n"
    "  @matmul(x, w)\n}\n"
)
FF = "@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n, m], int8) {\n  @max(@reshape(x, [n, m, 4]), axis=2)\n}\n"
NET = "@net = fn(x : Tensor([b, 64, 64, 3], float32)) : Tensor([b], float32) {\n  @mean(x, axis=[1, 2, 3])\n}\n"
MSE = "@mse = fn(x : Tensor(s, float32), y : Tensor(s, float32)) : Tensor([], float32) {\n  @mean(@square(x - y))\n}\n"
HEADS = (
    "@heads = fn(x : Tensor([n, m], float32), count : Size) : Tensor where count >= 1, m % count == 0 {\n"
    "  @reshape(x, [n, count, m // count])\n}\n"
)
DENSE = (
    "@dense = fn(x : Tensor([*s, d], float32), units : Size) : Tensor([*s, units], float32) where units >= 0 {\n"
    "  @linear(x, @zeros([units, d]))\n}\n"
)

# Each program with the help of its first error or warning.
TABLE = [
    # dtypes
    (
        "@f = fn(x : Tensor([n], int64), w : Tensor([n], float32)) : Tensor {\n  @matmul(x, w)\n}\n",
        "cast `x`: `@matmul(@cast(x, float32), w)`",
    ),
    # products
    (f("x [n, 3]; w [4, 3]", "@matmul(x, w)"), "transpose `w`: `@matmul(x, @matrix_transpose(w))`"),
    (f("x [3, 4]; w [2, 3]", "@matmul(x, w)"), "swap `x` and `w`: `@matmul(w, x)`"),
    (
        f("q [b, h, t, d]; k [b, h, s, d]", "@matmul(q, k)", "Tensor([b, h, t, s], float32)"),
        "transpose `k`: `@matmul(q, @matrix_transpose(k))`",
    ),
    (
        f("x [n, 3]; w [3, 4]", "let t = @matrix_transpose(w)\n  @matmul(x, t)"),
        "leave out `@matrix_transpose`: `let t = w`",
    ),
    (f("x [3]; w [3, 2]", LAYER and "@linear(x, w)"), "transpose `w`: `@linear(x, @matrix_transpose(w))`"),
    (f("x [b, 4, 4, 8]; w [128, 10]", "@matmul(x, w)"), "flatten `x`: `@matmul(@flatten(x, start=1), w)`"),
    (LAYER + f("x [b, 16]; w [32, 16]", "@layer(x, w)"), "transpose `w`: `@layer(x, @matrix_transpose(w))`"),
    (LAYER + f("x [b, 16]; w [16, 32]", "@layer(w, x)"), "swap `w` and `x`: `@layer(x, w)`"),
    (LAYER + f("x [16]; w [16, 32]", "@layer(x, w)"), "add a first axis to `x`: `@layer(@expand_dims(x, axis=0), w)`"),
    # axes
    (f("x [2, 3]; y [4, 3]", "@concat([x, y], axis=1)"), "use axis 0: `@concat([x, y], axis=0)`"),
    (f("x [2, 3]", "@softmax(x, axis=2)"), "use axis 1: `@softmax(x, axis=1)`"),
    (f("x [5, 6, 7, 8, 9]", "@sum(x[:], axis=0)", "Tensor([5, 6, 7, 8], float32)"), "use axis 4: `@sum(x[:], axis=4)`"),
    (f("x [5, 1]", "@squeeze(x, axis=0)"), "use axis 1: `@squeeze(x, axis=1)`"),
    # reshape
    (f("x [6, 4]", "@reshape(x, [5, 4])"), "write 6 for 5: `@reshape(x, [6, 4])`"),
    (f("x [b, 6, 4]", "@reshape(x, [b, 25])"), "write 24 for 25: `@reshape(x, [b, 24])`"),
    (f("x [b, t, 60]", "@reshape(x, [b, t, 8, 60 // 8])"), "the nearest legal sizes are 6 and 10"),
    (f("x [b, 3136]", "@reshape(x, [b, 64, 8, 8])"), "write 7 for each 8: `@reshape(x, [b, 64, 7, 7])`"),
    # broadcasting
    (
        f("x [b, t, h]; m [b, t]", "x * m", where=" where t != h, t != 1, h != 1"),
        "add a last axis to `m`: `x * @expand_dims(m, axis=-1)`",
    ),
    (f("x [5, 7]", "x / @sum(x, axis=1)"), "keep the reduced axis: `@sum(x, axis=1, keepdims=true)`"),
    (
        f("x [5, 7]", "let s = @sum(\n    x,\n    axis=1,\n  )\n  x / s"),
        "keep the reduced axis",
    ),
    (
        f("x [b, 100]; y [b, 6, 5, 100]", "x + y"),
        "add axes 1 and 2 to `x`: `@expand_dims(x, axis=[1, 2]) + y`",
    ),
    (
        f("s [b, 4, t, t]; m [b, t]", "s + m", where=" where b >= 2, t != b, t >= 2"),
        "add axes 1 and 2 to `m`: `s + @expand_dims(m, axis=[1, 2])`",
    ),
    (f("x [24]; m [4, 6]", "x * m"), "flatten `m`: `x * @flatten(m)`"),
    (f("x [b, 3, 8, 9]; m [3]", "x - m"), "add axes 1 and 2 to `m`: `x - @expand_dims(m, axis=[1, 2])`"),
    (
        f("q [b, 6, t, 4]; k [b, 2, 4, t]", "@matmul(q, k)"),
        "repeat `k` 3 times along axis 1: `@matmul(q, @repeat(k, 3, axis=1))`",
    ),
    (
        f("c [1, 1, 7]; p [8, 5, 7]", "@concat([c, p], axis=1)"),
        "repeat `c` 8 times along axis 0: `@concat([@repeat(c, 8, axis=0), p], axis=1)`",
    ),
    # numbers that something is made of
    (f("x [b, 10, 8, 8]", "@depth_to_space(x, 2)"), "the nearest legal sizes are 8 and 12"),
    (
        f("x [b, 30, 8, 8]; s [30]; t [30]", "@group_normalization(x, s, t, 32)"),
        "write 30 for 32: `@group_normalization(x, s, t, 30)`",
    ),
    (
        f("x [b, 512]; w [512, 512]", "let (p, q) = @split(@linear(x, w), 2, axis=1)\n  x + p * q"),
        "write 1024 for the 512 in line 1: `[1024, 512]`",
    ),
    (
        f(
            "x [b, 3, 9, 9]; w [6, 3, 2, 2]; s [4]; t [4]; m [4]; v [4]",
            "@batch_normalization(@conv2d(x, w), s, t, m, v)",
        ),
        "write 6 for each 4 in line 1",
    ),
    (f("x [b, t, 512]; s [768]", "@layer_norm(x, s)"), "write 512 for the 768 in line 1: `[512]`"),
    (f("x [5, 3]; y [4, 3]", "@stack([x, y], axis=0)"), "join them along that axis: `@concat([x, y], axis=0)`"),
    (
        f("x [64, 20, 8]; w [10, 512]; t [64, 10]", "@linear(@reshape(x, [-1, 512]), w) + t"),
        "keep 64 rows: `@reshape(x, [64, -1])`, and write 160 for the 512 in line 1: `[10, 160]`",
    ),
    (
        f("x [b, 3, 8, 8]; w [4, 3, 3, 3]", "@conv2d(x, w, strides=0)"),
        "write 1 for 0: `@conv2d(x, w, strides=1)`",
    ),
    (
        f("x [b, c, 8, 8]; w [4, 3, 3, 3]", "@conv2d(x, w, strides=0)"),
        "write 1 for 0: `@conv2d(x, w, strides=1)`; then W311 remains",
    ),
    (
        HEADS + "@g = fn(y : Tensor([n, 30], float32)) : Tensor {\n  @heads(y, 4)\n}\n",
        "the nearest legal sizes of `count` are 3 and 5",
    ),
    (
        HEADS + "@g = fn(y : Tensor([n, 30], float32)) : Tensor {\n  @heads(y, 0)\n}\n",
        "the nearest legal sizes of `count` are 1 and 2",
    ),
    # annotations
    (FF + "@main = fn(a : Tensor([8, 15], int8)) : Tensor {\n  @ff(a)\n}\n", "the nearest legal sizes are 12 and 16"),
    (NET + f("image [64, 64, 3]", "@net(image)"), "add a first axis to `image`: `@net(@expand_dims(image, axis=0))`"),
    (f("x [n, m]", "x", "Tensor([m, n], float32)"), "transpose `x`: `@matrix_transpose(x)`"),
    (
        f("x [2, 3]", "let y : Tensor([3, 2], float32) = x\n  y"),
        "transpose `x`: `@matrix_transpose(x)`",
    ),
    (
        f("d [19]", "match_shape(d, [n], [n, 19])\n  d"),
        "add a first axis to `d` before: `let d = @expand_dims(d, axis=0)`",
    ),
    (f("d [4, 6]", "match_shape(d, [n], [n, 24])\n  d"), "reshape `d` before: `let d = @reshape(d, [-1, 24])`"),
    (MSE + f("x [b, 1, 3]; y [b, 3]", "@mse(x, y)"), "drop axis 1 of `x`: `@mse(@squeeze(x, axis=1), y)`"),
    (
        MSE + DENSE + f("x [b, 5, 5]; t [b, 10]", "let p = @dense(@dense(x, 32), 10)\n  @mse(p, t)"),
        "flatten `x`: `@flatten(x, start=1)`",
    ),
    (MSE + DENSE + f("x [b, 5]; t [b, 2]", "@mse(@dense(x, 4), t)"), "write 2 for the 4 in line 8: `@dense(x, 2)`"),
    # open checks
    (f("x [b, t, d]", "@reshape(x, [b, t, 8, d // 8])"), "`where d % 8 == 0` on @f makes it hold"),
    (f("x [n, m]; y [k, p]", "@matmul(x, y)"), "`where m == k` on @f makes it hold"),
    (f("x [n, m]", "x[5, :]"), "`where n >= 6` on @f makes it hold"),
    (
        "@f = fn(x : Tensor([n], float32), t : Size) {\n"
        "  for i in range(t) with (s : Tensor([], float32) = @zeros([], float32)) {\n"
        "    s + @sum(x[i:i + 3] * tensor([1, 2, 3], float32))\n  }\n}\n",
        "`where n >= t + 2` on @f makes it hold",
    ),
    (
        f(
            "x [n, 8]; w [8, 24]; e [n, 9]",
            "let (q, r) = @split(@matmul(x, w), 2, axis=-1)\n  @relu(q) + e + r",
            "Tensor([n, 9])",
        ),
        "write 18 for the 24 in line 1: `[8, 18]`",
    ),
    (
        f("x [2, 6, 6, 4]; y [2, 12, 12, 4]", "x + y", "Tensor([2, 12, 12, 4], float32)"),
        'make `x` 2 times as large: `@upsample(x, 2, layout="channels_last") + y`',
    ),
    (
        f("x [n, m]", "let y : Tensor([n, 3], float32) = x\n  y"),
        "declare the size that it has: `Tensor([n, m], float32)`",
    ),
    (
        "@f = fn(x : Tensor, k : Tensor([], int64)) : Tensor {\n  let n = @item(k)\n"
        "  let y : Tensor([n], float32) = x\n  y\n}\n",
        "`!` for `:` asserts the type of `y` at run time",
    ),
    # dtypes
    (
        "@f = fn(x : Tensor([n], float32), y : Tensor([n], float64)) : Tensor {\n  x + y\n}\n",
        "cast `y`: `x + @cast(y, float32)`",
    ),
    (
        LAYER + "@f = fn(x : Tensor([b, d], int32), w : Tensor([d, h], float32)) : Tensor {\n  @layer(x, w)\n}\n",
        "cast `x`: `@layer(@cast(x, float32), w)`",
    ),
    (
        "@f = fn(ids : Tensor([b, t], int64), table : Tensor([v, d], float32)) : Tensor {\n  @embedding(table, ids)\n}\n",
        "swap `table` and `ids`: `@embedding(ids, table)`",
    ),
    # convolutions
    (
        f("x [b, 28, 28, 3]; w [8, 3, 5, 5]", "@conv2d(x, w)"),
        "move the axes of `x`: `@conv2d(@permute_dims(x, [0, 3, 1, 2]), w)`",
    ),
    (f("x [b, 6, 28, 28]; w [6, 1, 5, 5]", "@conv2d(x, w)"), "use 6 groups: `@conv2d(x, w, groups=6)`"),
    (f("x [b, 6, 28, 28]; w [8, 3, 5, 5]", "@conv2d(x, w)"), "write 6 for the 3 in line 1: `[8, 6, 5, 5]`"),
    (
        f("x [3, 28, 28]; w [8, 3, 5, 5]", "@conv2d(x, w)"),
        "add a first axis to `x`: `@conv2d(@expand_dims(x, axis=0), w)`",
    ),
    (
        f("x [b, 3, 28, 28]; w [3, 8, 5, 5]", "@conv2d(x, w)"),
        "swap axes 0 and 1 of `w`: `@conv2d(x, @swapaxes(w, 0, 1))`",
    ),
    (f("x [2, 3, 4, 5]", "@flatten(x, start=3, end=1)"), "exchange start and end: `@flatten(x, start=1, end=3)`"),
    (
        f("x [b, 8, 9, 9]", "@concat([x, @upsample(@max_pool2d(x, 2), 2)], axis=1)"),
        "make it as large as `x`: `@resize(@max_pool2d(x, 2), [9, 9])`",
    ),
    (
        f("x [b, 8, 10, 10]", "@concat([x, @max_pool2d(x, 2, strides=2)], axis=1)"),
        "make the result of @max_pool2d 2 times as large: `@upsample(@max_pool2d(x, 2, strides=2), 2)`",
    ),
    (
        f("x [b, 8]; w [8, 4, 3, 3]", "@conv_transpose2d(x, w)"),
        "add axes 2 and 3 to `x`: `@conv_transpose2d(@expand_dims(x, axis=[2, 3]), w)`",
    ),
    (f("x [b, 90]; w [8, 1, 3]", "@conv1d(x, w)"), "add axis 1 to `x`: `@conv1d(@expand_dims(x, axis=1), w)`"),
    (
        f("x [b, 8, 1, 1]; w [4, 8]", "@linear(x, w)"),
        "flatten `x`: `@linear(@flatten(x, start=1), w)`",
    ),
    (
        f("x [28, 28, 3]; w [8, 3, 5, 5]", "@conv2d(x, w)"),
        "add a first axis to `x`: `@conv2d(@expand_dims(x, axis=0), w)`, and move the axes of the result of "
        "@expand_dims: `@conv2d(@permute_dims(@expand_dims(x, axis=0), [0, 3, 1, 2]), w)`",
    ),
    (
        "@f = fn(x : Tensor([b, 9], float32), t : Tensor([b], int64)) : Tensor {\n  @softmax_cross_entropy(x, t)\n}\n",
        "make one-hot rows of `t`: `@softmax_cross_entropy(x, @one_hot(t, 9))`",
    ),
    (
        "@f = fn(x : Tensor([b, t, v], float32), y : Tensor([b, t], int64)) : Tensor {\n"
        "  @cross_entropy_loss(@reshape(x, [b * t, v]), y)\n}\n",
        "flatten `y`: `@cross_entropy_loss(@reshape(x, [b * t, v]), @flatten(y))`",
    ),
    (
        "@f = fn(x : Tensor([b, 4], float32), i : Tensor([b], int64)) : Tensor {\n  @take_along_axis(x, i, axis=1)\n}\n",
        "add axis 1 to `i`: `@take_along_axis(x, @expand_dims(i, axis=1), axis=1)`",
    ),
    (f("x [b, 3, 9, 9]; w [8, 3, 3, 3]", "@conv2d(x, w, pads=[1])"), "a pair for each axis: `[(1, 1)]`"),
    (
        f("x [b, 3, 9, 9]; w [8, 3, 3, 3]", "@conv2d(x, w, pads=[1, 0, 2, 3])"),
        "a pair for each axis: `[(1, 2), (0, 3)]`",
    ),
    (
        f("x [b, 3, 9, 9]; w [8, 3, 3, 3]", '@conv2d(x, w, padding="same")'),
        'did you mean `auto_pad`, and write "same_upper": `@conv2d(x, w, auto_pad="same_upper")`',
    ),
    (
        f("x [b, 9, 9, 3]; w [3, 3, 3, 8]", '@conv2d(x, w, layout="NHWC")'),
        'write "channels_last": `@conv2d(x, w, layout="channels_last")`',
    ),
    (
        f("x [n, m]", '@pad(x, [(1, 1), (1, 1)], mode="constnat")'),
        'write "constant": `@pad(x, [(1, 1), (1, 1)], mode="constant")`',
    ),
    (f("x [n, m]", "@quantile(x, 0.5, axis=1, method=nearest)"), 'write `"nearest"`'),
    (f("x [n, n]", "@matrix_norm(x, ord=1)"), 'write `"1"`'),
    (f("x [n, n]", '@vector_norm(x, ord="-inf")'), "write `-1e999`"),
    (f("x [n, m]", '@sum(x, axis="-1")'), "write `-1`"),
    (f("x [n, m]", "@sum(x, axis=1, keepdims=1)"), "write `true`"),
    (f("x [n, m]", "@swapaxes(x, 2, 3)"), "use axes 0 and 1: `@swapaxes(x, 0, 1)`"),
    (f("x [n, m, k]", "@moveaxis(x, 1, 3)"), "use axes 1 and 2: `@moveaxis(x, 1, 2)`"),
    (f("x [n, m, k]", "@swapaxes(x, axis2=-4, axis1=-1)"), "use axes -1 and -3: `@swapaxes(x, axis2=-3, axis1=-1)`"),
    (f("x [6, m]", "let (a, b, c) = @split(x, 2)\n  a + b * c"), "split it in 3: `@split(x, 3)`"),
    (
        f("x [n, m]", "let y = @exp(x)\n  -y / 2.0"),
        "a `-` that begins a line goes on the line before: a negative result is written `(-y)`",
    ),
    # what few corpora have
    (
        f("x [b, t, 4, 8]; w [32, o]", "@matmul(x, w)"),
        "reshape `x`: `@matmul(@reshape(x, [b, t, 32]), w)`",
    ),
    (
        f("x [b, 8, 32, 32]; w [8, 10]", "@matmul(@flatten(x, start=1), w)"),
        "take the mean of each channel of `x`: `@global_average_pool(x)`",
    ),
    (
        f("x [b, 8, 9, 9]; w [16, 8, 3, 3]", '@conv(x, w, layout="channels_last")'),
        'use the other layout: `@conv(x, w, layout="channels_first")`',
    ),
    (
        "@f = fn(x : Tensor([b, c], float32)) : float32 {\n  x * 2.0\n}\n",
        "declare its shape, a dtype alone is a scalar: `Tensor([b, c], float32)`",
    ),
    ("@f = fn(x : Tensor([n, m], int32)) : Tensor {\n  x + 0.5\n}\n", "cast `x`: `@cast(x, float32) + 0.5`"),
    # names
    (f("x [n, m]", "@sofmax(x)"), "did you mean `@softmax`?"),
    (f("x [n, m]", "@transpose(x, 0, 1)"), "write `@swapaxes(x, 0, 1)`"),
    (f("x [n, m]", "@ReduceSum(x, axis=1)"), "write `@sum(x, axis=1)`"),
    (f("x [n, m]", "@sum(x, dim=1)"), "did you mean `axis`?"),
    (f("x [n, m]", "@cat([x, x], dim=1)"), "write `@concat([x, x], axis=1)`"),
    (f("x [n, m]", "let hidden = x + x\n  @softmax(hiden)"), "did you mean `hidden`?"),
    # two steps
    (
        LAYER + f("a [6]; b [6]", "@layer(a, b)"),
        "add a first axis to `a`: `@layer(@expand_dims(a, axis=0), b)`, and "
        "add a last axis to `b`: `@layer(@expand_dims(a, axis=0), @expand_dims(b, axis=-1))`",
    ),
]


@pytest.mark.parametrize(("text", "wanted"), TABLE)
def test_a_wrong_program_gets_the_help(text: str, wanted: str) -> None:
    assert helped(text)[0].help == f"{wanted} (checked)"


def test_a_tensor_that_is_used_is_no_fix_for_another_where_no_result_is_declared() -> None:
    text = "@f = fn(x : Tensor([n], int64), y : Tensor([n], float32), w : Tensor([n, m], float32)) {\n"
    text += "  let a = @matmul(y, w)\n  let b = @matmul(x, w)\n  a + b + @cast(@sum(x), float32)\n}\n"
    (offer,) = offered(text)
    assert [fix.what for fix in offer.fixes] == ["cast `x`"]


# What an offered help does


def keys(diagnostics: tuple[Diagnostic, ...], place: Callable[[int], int]) -> Counter[tuple[str, int]]:
    return Counter((d.code, place(d.span.start)) for d in diagnostics if d.severity != "note" or d.subject)


def fails_of(text: str) -> Iterator[str]:
    """What is wrong with the helps that a program is offered."""
    before = report_of(text)
    for ranking in ranked(before, HERE_BASE):
        d = ranking.diagnostic
        for fix in ranking.fixes:
            after = report_of(applied(text, fix.edits))
            places = EditedOffsets(fix.edits)
            had, has = keys(before.diagnostics, places.normal), keys(after.diagnostics, places.before)
            key = (d.code, places.normal(d.span.start))
            if has[key] >= had[key]:
                yield f"{fix.text}: {d.message} is still there"
            new = has - had
            if fix.text.endswith("then W311 remains"):
                del new["W311", key[1]]
            if d.code.phase == "names":  # nobody looked at sizes before: what cannot be told of them is no worse
                new = Counter({found: n for found, n in new.items() if not found[0].is_unproved})
            if d.code.phase == "text":  # what was not read before is only read now, and the rest of its line
                line = d.span.source.position(d.span.start)[0]
                new = Counter({found: n for found, n in new.items() if found[0].phase == "text"})
                new = Counter({at: n for at, n in new.items() if d.span.source.position(at[1])[0] != line})
            if new:
                yield f"{fix.text}: new are {new}"


@pytest.mark.parametrize("text", [text for text, _ in TABLE])
def test_after_any_offered_help_its_diagnostic_is_gone_and_none_is_new(text: str) -> None:
    assert list(fails_of(text)) == []


def bugs() -> list[tuple[str, str]]:
    rows = cases.rows_if_there("shape_bugs.jsonl")
    return [(row["id"], shape_bugs.program(row)) for row in rows if row["expect"] == "error"]


def test_the_helps_of_real_bugs_do_what_they_say() -> None:
    programs = bugs()
    if not programs:
        pytest.skip("the cases are not there")
    wrong = {name: found for name, text in programs if (found := list(fails_of(text)))}
    assert wrong == {}
    assert sum(any(o.fixes for o in offered(text)) for _, text in programs) > len(programs) * 0.75


TOKEN = re.compile(r"@?[A-Za-z_]\w*|\d+|[^\sA-Za-z_0-9]")


def damaged(text: str, random: Random) -> str:
    """The program with one token replaced by another of its kind, changed by one, doubled or gone."""
    tokens = list(TOKEN.finditer(text))
    token = random.choice(tokens)
    kind = random.choice(("other", "near", "twice", "gone"))
    new = {"twice": token[0] * 2, "gone": "", "near": token[0]}.get(kind)
    if kind == "near" and token[0].isdigit():
        new = str(max(0, int(token[0]) + random.choice((-1, 1, 2))))
    if new is None:
        new = random.choice([t[0] for t in tokens if t[0][0].isalpha() == token[0][0].isalpha()])
    return text[: token.start()] + new + text[token.end() :]


def test_the_helps_of_damaged_programs_do_what_they_say() -> None:
    programs = [text for text, _ in TABLE] + [text for _, text in bugs()]
    helps = 0
    for case in fuzz.cases("helps"):
        with case as seed:
            random = Random(seed)
            text = damaged(random.choice(programs), random)
            assert list(fails_of(text)) == [], text
            helps += any(o.fixes for o in offered(text))
    assert helps > 5


@pytest.mark.parametrize("shape", ["6", "n, 6", "n * 2, 3"])
def test_the_helps_of_targets_that_are_no_shapes_do_what_they_say(shape: str) -> None:
    for target in fuzz.some(product((-2, -1, 0, 2, 6), repeat=3), 4):
        text = f"@f = fn(x : Tensor([{shape}], float32)) {{\n  @reshape(x, {list(target)})\n}}\n"
        assert list(fails_of(text)) == [], text


def test_the_same_program_gets_the_same_helps_again() -> None:
    for text, _ in TABLE[:10]:
        first, second = ([[m.text for m in o.fixes] for o in offered(text)] for _ in range(2))
        assert first == second != []


def test_operands_that_are_both_repeated_may_be_paired_and_nobody_but_the_user_does_it() -> None:
    text = f("p [b, 1]; y [b]", "@mean(@square(p - y))")
    ranking = offered(text)[0]
    assert [m.text for m in ranking.fixes] == [
        "drop axis 1 of `p`: `@squeeze(p, axis=1) - y`",
        "add a last axis to `y`: `p - @expand_dims(y, axis=-1)`",
    ]
    assert why_left(ranking, Source("t.rx", text)).startswith("2 fixes are possible: the help or ")


def test_where_nothing_of_an_annotation_fits_it_gives_way_first() -> None:
    text = f("w [7, 5]", "match_shape(w, [], [4, 3])\n  w")
    assert helped(text)[0].help == "declare the sizes that it has: `[7, 5]` (checked)"


def test_a_rank_is_declared_with_the_names_that_are_bound() -> None:
    texts = [m.text for m in offered(f("x [1, 3]", "match_shape(x, [n], [n])\n  @zeros([n])"))[0].fixes]
    assert "declare the rank that it has: `[n, 3]`" in texts


def test_a_program_with_nothing_wrong_is_offered_nothing() -> None:
    assert offered(f("x [n, m]", "x + x")) == []


def test_a_condition_is_not_offered_where_only_empty_tensors_would_satisfy_it() -> None:
    text = f("x [b, 5]", "@reshape(x, [b, 7])")
    (found,) = helped(text)
    assert found.code == "E310" and not any("where" in h.text for h in found.helps)


def test_an_image_and_its_kernel_are_not_swapped_where_the_image_is_too_small() -> None:
    text = f("x [b, 16, 2, 2]; w [32, 16, 5, 5]", "@conv2d(x, w)")
    assert not [m.text for o in offered(text) for m in o.fixes if "swap" in m.text]


def test_a_condition_that_nobody_can_read_is_not_offered() -> None:
    text = f("q [b, d]; k [b, t, d]", "@sum(k * q, axis=2)", "Tensor([b, t], float32)")
    assert not [m.text for o in offered(text) for m in o.fixes if "min(" in m.text]


def test_a_condition_that_a_caller_does_not_meet_is_not_offered() -> None:
    callee = "@f = fn(x : Tensor([n, m], float32)) : Tensor {\n  let y : Tensor([n, n], float32) = x\n  y\n}\n"
    caller = "@g = fn(x : Tensor([2, 3], float32)) : Tensor {\n  @f(x)\n}\n"
    assert "`where n == m` on @f makes it hold (checked)" in [h.text for h in helped(callee)[0].helps]
    assert not any("where" in h.text for h in helped(callee + caller)[0].helps)


def test_conditions_are_added_to_those_that_are_there() -> None:
    text = f("x [n, m]", "x[5, :]", where=" where m >= 2")
    (edit,) = helped(text)[0].edits
    assert ") : Tensor where m >= 2, n >= 6 {" in applied(text, [edit])


def test_a_function_whose_result_says_nothing_takes_a_condition() -> None:
    text = "@f = fn(\n  x : Tensor([n, m], float32),\n) {\n  x[5, :]\n}\n"
    assert ") where n >= 6 {" in applied(text, helped(text)[0].edits)


def test_two_sizes_that_may_differ_are_one_by_a_condition_alone() -> None:
    (ranking,) = offered(f("x [n, m]; y [k, p]", "@matmul(x, y)"))
    assert [m.meaning for m in ranking.fixes] == ["m == k"]


def test_line_ends_of_windows_stay() -> None:
    text = f("d [19]", "match_shape(d, [n], [n, 19])\n  d").replace("\n", "\r\n")
    (edit,) = helped(text)[0].edits
    assert edit.text == "let d = @expand_dims(d, axis=0)\r\n  "


def test_what_is_wrong_in_another_file_is_not_edited(tmp_path: Path) -> None:
    (tmp_path / "layer.rx").write_text(f("x [n, m]; y [k, p]", "@matmul(x, y)"))
    report = pipeline.check_text('import "layer.rx" as l\n', "main.rx", tmp_path)
    assert [d.code for d in report.diagnostics if d.severity != "note"] == ["W311"]
    assert list(ranked(report, tmp_path)) == []


def test_a_call_of_another_file_s_function_gets_the_same_helps(tmp_path: Path) -> None:
    (tmp_path / "lib.rx").write_text(LAYER + f("x [n, 3]; w [4, 3]", "@matmul(x, w)") + FF)
    calls = [
        "@g = fn(x : Tensor([b, 7], float32), w : Tensor([4, 7], float32)) : Tensor {\n  @lib.layer(x, w)\n}\n",
        "@h = fn(x : Tensor([2, 15], int8)) : Tensor {\n  @lib.ff(x)\n}\n",
    ]
    text = 'import "lib.rx" as lib\n' + "".join(calls)
    report = with_helps(pipeline.check_text(text, "main.rx", tmp_path), tmp_path)
    found = {d.span.text: d.help for d in report.diagnostics if d.code == "E301"}
    assert found == {
        "@lib.layer(x, w)": "transpose `w`: `@lib.layer(x, @matrix_transpose(w))` (checked)",
        "@lib.ff(x)": "the nearest legal sizes are 12 and 16 (checked)",
    }
    edited = [e.span.source.name for d in report.diagnostics for h in d.helps for e in h.edits]
    assert set(edited) == {"main.rx"}


def test_a_folder_has_the_helps_of_a_file_that_another_imports(rx: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "main.rx").write_text('import "net.rx" as n\n')
    (tmp_path / "net.rx").write_text(f("x [n, 3]; w [4, 3]", "@matmul(x, w)"))
    status, out, _ = rx("check", "--format", "json", tmp_path)
    (wrong,) = [d for d in json.loads(out)["diagnostics"] if d["severity"] == "error"]
    assert status == 1 and wrong["help"].startswith("transpose `w`")


def test_a_program_that_cannot_be_read_is_offered_only_what_makes_it_readable() -> None:
    text = "@f = fn(x : Tensor) {\n  @sofmax(x\n}\n"
    [ranking] = offered(text)
    [fix] = ranking.fixes
    assert applied(text, fix.edits) == text.replace("(x\n", "(x)\n")
    assert why_left(ranking, Source("t.rx", text)) == "the fix is a guess at what was meant"


def test_a_large_program_costs_few_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f("x [n, m]; y [k, p]", "@matmul(x, y)").replace("@f", f"@f{i}") for i in range(100))
    count = 0
    check = pipeline.check_source

    def counting(*args: Any) -> pipeline.Report:
        nonlocal count
        count += 1
        return check(*args)

    monkeypatch.setattr("rxlang.fixes.ranked.check_source", counting)
    assert len(offered(text)) == 100
    assert 10 < count <= 100


# Edits


def edit(source: Source, old: str, new: str) -> Edit:
    start = source.text.index(old)
    return Edit(Span(source, start, start + len(old)), new)


def test_edits_on_edited_text_become_edits_of_the_text() -> None:
    first = Source("a", "@f(x, y) + @g(z)")
    wrap = [edit(first, "x", "@t(x)"), edit(first, "z", "1")]
    second = Source("a", applied(first.text, wrap))
    for old, new in (("y", "yy"), ("t", "tt"), ("@t(x), y", "y, @t(x)"), ("@g", ""), ("@f", "@h")):
        more = [edit(second, old, new)]
        assert applied(first.text, followed(wrap, more)) == applied(second.text, more)


def test_places_of_the_new_text_are_found_in_the_old_one() -> None:
    source = Source("a", "abc def ghi")
    places = EditedOffsets([edit(source, "abc", "a"), edit(source, "ghi", "some more")])
    assert [places.before("a def some more".index(part)) for part in ("a", "def", "some", "more")] == [0, 4, 8, 8]


# rx check --fix


Result = tuple[int, str, str]


@pytest.fixture
def rx(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Runs one command line: status, standard output, standard error."""

    def run(*arguments: str | Path) -> Result:
        status = invoke([str(a) for a in arguments])
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "net.rx"
    path.write_text(f("x [b, t, d]", "@sofmax(x)"))
    return path


def test_fix_applies_what_is_unambiguous_and_says_so(rx: Callable[..., Result], wrong: Path) -> None:
    status, out, _ = rx("check", "--fix", wrong)
    assert status == 0
    assert f"{wrong}:2: fixed: did you mean `@softmax`?\n" in out
    text = wrong.read_text()
    assert "@softmax(x)" in text and report_of(text).ok
    assert rx("check", "--fix", wrong)[0] == 0 and wrong.read_text() == text


def test_fix_leaves_what_is_ambiguous(rx: Callable[..., Result], tmp_path: Path) -> None:
    path = tmp_path / "net.rx"
    text = f("x [n, 3]; w [4, 3]", "@matmul(x, w)")
    path.write_text(text)
    status, out, _ = rx("check", "--fix", path)
    assert status == 1 and "fixed" not in out
    assert path.read_text() == text


def test_fix_does_not_rewrite_what_is_declared_of_the_input(rx: Callable[..., Result], tmp_path: Path) -> None:
    path = tmp_path / "net.rx"
    text = f("x [b, 15]", "@reshape(x, [b, 4, 4])")
    path.write_text(text)
    assert [m.text for m in offered(text)[0].fixes] == ["write 16 for the 15 in line 1: `[b, 16]`"]
    assert rx("check", "--fix", path)[0] == 1 and path.read_text() == text


def test_fix_goes_on_until_nothing_changes(rx: Callable[..., Result], tmp_path: Path) -> None:
    path = tmp_path / "net.rx"
    path.write_text(f("x [n, m]", "@sofmax(x) + @rel(x)") + f("x [n]", "@sofmax(x)").replace("@f", "@g"))
    assert rx("check", "--fix", path)[1].count("fixed: ") == 3
    assert [d for d in report_of(path.read_text()).diagnostics if d.severity != "note"] == []


def test_fix_keeps_the_mark_and_the_permissions(rx: Callable[..., Result], wrong: Path) -> None:
    wrong.write_bytes(b"\xef\xbb\xbf" + wrong.read_bytes())
    os.chmod(wrong, 0o640)
    rx("check", "--fix", wrong)
    assert wrong.read_bytes().startswith(b"\xef\xbb\xbf@f") and b"@softmax" in wrong.read_bytes()
    assert stat.S_IMODE(wrong.stat().st_mode) == 0o640
    assert [p.name for p in wrong.parent.iterdir()] == ["net.rx"]


def test_fix_writes_through_a_link(rx: Callable[..., Result], wrong: Path) -> None:
    link = wrong.with_name("link.rx")
    link.symlink_to(wrong)
    rx("check", "--fix", link)
    assert link.is_symlink() and "@softmax" in wrong.read_text()


def test_fix_of_standard_input_is_refused(rx: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"let x = @ones([2])\n"), encoding="utf-8"))
    status, _, err = rx("check", "--fix", "-")
    assert status == 2 and "standard input" in err


def test_fix_leaves_json_alone_on_standard_output(rx: Callable[..., Result], wrong: Path) -> None:
    _, out, err = rx("check", "--fix", "--format", "json", wrong)
    assert json.loads(out)["assertions"]["residual"] == 0 and "fixed: " in err


def test_sarif_has_every_help_as_a_fix(rx: Callable[..., Result], tmp_path: Path) -> None:
    path = tmp_path / "net.rx"
    path.write_text(f("x [n, 3]; w [4, 3]", "@matmul(x, w)"))
    _, out, _ = rx("check", "--format", "sarif", path)
    (found,) = [r for r in json.loads(out)["runs"][0]["results"] if r["level"] == "error"]
    assert [fix["description"]["text"] for fix in found["fixes"]] == [
        "transpose `w`: `@matmul(x, @matrix_transpose(w))` (checked)",
        "write 3 for the 4 in line 1: `[3, 3]` (checked)",
        "write 4 for the 3 in line 1: `[n, 4]` (checked)",
    ]


# Goldens: every help, the one that is printed first


@pytest.mark.parametrize("path", sorted(GOLDENS.glob("*.rx")), ids=lambda path: path.stem)
def test_a_help_reads_well(path: Path, golden: Callable[[Path, str], None]) -> None:
    report = pipeline.check_text(path.read_text(), path.name, GOLDENS)
    found = [d for d in with_helps(report, GOLDENS).diagnostics if d.severity != "note"]
    assert all(d.helps for d in found) and found
    assert all(f"help: {d.help.split()[0]}" in render_text(d) for d in found if d.help)
    lines = []
    for d in found:
        lines.append(f"{d.code} in line {d.span.line}")
        lines += [f"  {h.text}" for h in d.helps]
    golden(path.with_suffix(".out"), "\n".join(lines) + "\n")


def test_fix_calls_the_function_that_checks_its_arguments(rx: Callable[..., Result], tmp_path: Path) -> None:
    path = tmp_path / "f.rx"
    double = "@double = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x + x }\n"
    user = "@f = fn(x : Tensor([n], float32), k : Size) : Tensor([n], float32) { if (k >= 2) { @%s(x) } else { x } }\n"
    for program in (double + user, user + double):
        path.write_text(program % "double_impl")
        assert rx("check", "--fix", path)[0] == 0
        assert path.read_text() == program % "double"
