"""Rules of indexing, windows, decompositions, loops and arms: gradients against central differences in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import rxlang as rx
from support import fuzz

from .test_gradients import differences

Sizes = tuple[dict[str, int], ...]
ROWS: Sizes = ({"n": 4, "d": 3, "m": 5}, {"n": 3, "d": 2, "m": 4}, {"n": 1, "d": 1, "m": 1})
IMAGES: Sizes = (
    {"b": 2, "c": 3, "h": 6, "w": 5, "o": 4}, {"b": 3, "c": 2, "h": 5, "w": 7, "o": 2},
    {"b": 1, "c": 1, "h": 3, "w": 3, "o": 1},
)  # fmt: skip
STEPS: Sizes = ({"t": 3, "b": 2, "i": 4, "h": 5}, {"t": 4, "b": 3, "i": 2, "h": 3}, {"t": 1, "b": 1, "i": 1, "h": 1})
# Of integers the least and what they stay below; what is above 0.
INTEGERS = {
    "ids": ("-n", "n"),
    "at": ("0", "n"),
    "classes": ("0", "d"),
    "counts": ("0", "4"),
    "lengths": ("0", "n + 1"),
    "which": ("0", "b"),
    "signs": ("0", "c"),
    "frames": ("h - 1", "h + 1"),
    "lengths_of": ("0", "o + 1"),
}
POSITIVE = {"p", "v"}


def check(params: str, body: str, sizes: Sizes, before: str = "") -> None:
    """`params` are `x [n, d]; ids [m]; turns`: tensors with their shapes, and Sizes; conditions come behind `where`."""
    params, _, where = params.partition(" where ")
    shapes = {name: shape for name, _, shape in (p.partition(" ") for p in params.split("; "))}
    kinds = {n: f"Tensor({s}, {'int64' if n in INTEGERS else 'float64'})" if s else "Size" for n, s in shapes.items()}
    wrt = [n for n, s in shapes.items() if s and n not in INTEGERS]
    module = rx.loads(
        f"{before}@loss = fn({', '.join(f'{n} : {k}' for n, k in kinds.items())}) : Tensor([], float64)"
        f"{' where ' + where if where else ''} {{\n{body}\n@sum(@sin(y * 1.3) * y)\n}}\n"
        f"@dloss = grad @loss wrt {', '.join(wrt)}\n"
    )
    assert {c.text for c in module.dloss.residual} <= {c.text for c in module.loss.residual}
    for size in sizes if fuzz.FULL else sizes[::2]:
        args = [given(name, shape, size) for name, shape in shapes.items()]
        made = module.dloss(*args)
        places = [list(shapes).index(n) for n in wrt]

        def loss(*xs: Any, args: list[Any] = args, places: list[int] = places) -> Any:
            every = list(args)
            for place, x in zip(places, xs, strict=True):
                every[place] = x
            return module.loss(*every)

        wanted = differences(loss, [args[i] for i in places])
        for got, want in zip(made if len(wrt) > 1 else (made,), wanted, strict=True):
            np.testing.assert_allclose(got, want, 1e-3, 1e-5, err_msg=str(size))


def given(name: str, shape: str, size: dict[str, int]) -> Any:
    """A Size, or random elements of a shape."""
    rng = np.random.default_rng(sum(size.values()) + len(name))
    if not shape:
        return size[name]
    sides = eval(shape, {}, size)
    if name in INTEGERS:
        return rng.integers(*(eval(end, {}, size) for end in INTEGERS[name]), size=sides)
    return rng.uniform(0.5, 2.0, sides) if name in POSITIVE else rng.normal(size=sides)


INDEXED = (
    *((f"x [{s}]; q []", f"@quantile(x, @sigmoid(q){a})") for s, a in
      (("n", ""), ("n, d", ", axis=0"), ("n, d", ", axis=1, keepdims=true"), ("n, d", ""))),
    ("x [n, d]; q [m]", "@quantile(x, @sigmoid(q), axis=0)"), ("x [n, d]; q [m, 2]", "@quantile(x, @sigmoid(q), axis=-1)"),
    *(("x [n]; u [d]; w [m]", f"(@meshgrid([x, u, w], indexing={i!r})[0] * @meshgrid([x, u, w], indexing={i!r})[1])"
       .replace("'", '"')) for i in ("xy", "ij")), ("x [n]; u [d]", "@meshgrid([x, u])[1]"),
    ("x [n, d]; u [n, d]", "@nextafter(x, u)"), ("ids [n, d]; s [d]", "@dequantize(@cast(ids, int8), s)"),
    ("ids [n, d]; s []", "@dequantize(@cast(ids, int8), s, tensor(3, int8))"),
    ("x [n, d]; ids [m]", "@take(x, ids, axis=0)"), ("x [d, n]; ids [m, 2]", "@take(x, ids, axis=1)"),
    ("x [2, n, d]; ids [m, 2]", "@take(x, ids, axis=-2)"), ("x [n, d]; ids [m, d]", "@take_along_axis(x, ids, axis=0)"),
    ("x [n, 1]; ids [m, d]", "@take_along_axis(x, ids, axis=0)"), ("x [n, d]; ids [m, 1]", "@take_along_axis(x, ids, axis=0)"),
    ("x [n, d]; ids [m, d]", "@gather_elements(x, ids, axis=0)"), ("x [n, d]; ids [m, 1]", "@gather_nd(x, ids)"),
    ("x [2, n, d]; ids [2, m, 1]", "@gather_nd(x, ids, batch_dims=1)"),
    ("x [n, d]; ids [m, 1]; u [m, d]", "@scatter_nd(x, ids, u)"),
    ("x [n, d]; ids [m, 1]; u [m, d]", '@scatter_nd(x, ids, u, reduction="add")'),
    ("x [n, d]; ids [m, d]; u [m, d]", "@scatter_elements(x, ids, u)"),
    ("x [n, d]; ids [m, d]; u [m, d]", '@scatter_elements(x, ids, u, reduction="add")'),
    ("x [n, d]; ids [m]; u [m, d]", "@put(x, ids, u)"), ("x [d, n]; ids [m]; u [d, m]", "@put(x, ids, u, axis=1)"),
    ("x [n, d]; u [1, d] where n >= 1", "@update_slice(x, u, [n - 1, 0])"),
    ("x [n, d]; at [m, 1]", "@gather_slices(x, at, [1, d])"),
    ("x [n, d]; at [m, 1]; u [m, 1, d] where n >= 1", "@scatter_slices(x, at, u)"),
    ("x [n, d]; at [m, 1]; u [m, 1, d] where n >= 1", '@scatter_slices(x, at, u, reduction="add")'),
    ("x [n, d]; at [m, 1]; u [m, d] where n >= 1", "@scatter_slices(x, at, u, collapse=[0])"),
    ("x [n, d]; counts [n]", "@repeat_each(x, counts)"), ("x [n, d]; lengths [d]", "@reverse_sequence(x, lengths)"),
    *(("x [n, d]; q [m]", f'@quantile(x, @sigmoid(q), axis=0, method="{k}")') 
      for k in ("lower", "higher", "midpoint", "nearest")),
    ("x [n, d]; u [m, d] where m >= 1", "@diff(x, axis=0, prepend=u, append=x)"),
    ("x [n, d] where n >= 1", "@diff(x, axis=0, append=x, n=3)"),
    *(("x [n, d]", t) for t in ("@unique_values(x)", "@unique_all(x)[0]", "@unique_counts(x)[0]")),
    *((f"x [n, d]; ids [m, {k}]; u [m, d]", f'@scatter_{f}(x, ids, u, reduction="{r}")')
      for r in ("max", "min") for f, k in (("nd", "1"), ("elements", "d"))),
    ("x [n, d]; u [n, d]", "@nextafter(@sum(x, axis=0), u)"),
    ("x [n, d]; at [m]", "@embedding(at, x)"), ("x [n, d]; classes [n]", "@segment_sum(x, classes, d)"),
    *((f"x [n, d]; classes [n]{w}", f'@cross_entropy_loss(x, classes{v}, reduction="{r}")')
      for r in ("mean", "sum", "none") for w, v in (("", ""), ("; p [d]", ", p"), ("; p [d]", ", p, label_smoothing=0.1"))),
    ("x [n, d, m]; classes [n, m]; p [d]", "@nll_loss(x, classes, p, ignore_index=0, reduction=\"sum\")"),
    ("x [n, m, d]; classes [n, m]", "@cross_entropy_loss(x, classes, axis=-1, ignore_index=-100)"),
)  # fmt: skip


@pytest.mark.parametrize(("params", "text"), INDEXED)
def test_what_takes_by_index(params: str, text: str) -> None:
    check(params, f"let y = {text}", ROWS)


SQUARE = "let a = @matmul(x, @matrix_transpose(x)) + @eye(n, dtype=float64)\n"
MATRICES = (
    ("x [n, n]", f"{SQUARE}let y = @det(a)"), ("x [2, n, n]", f"{SQUARE}let y = @slogdet(a)[1]"),
    ("x [n, n]", f"{SQUARE}let y = @inv(a)"), ("x [2, n, n]; u [n, d]", f"{SQUARE}let y = @solve(a, u)"),
    ("x [2, n, n]; u [n]", f"{SQUARE}let y = @solve(a[0], u)"), ("x [n, n]", f"{SQUARE}let y = @cholesky(a)"),
    ("x [2, n, n]", f"{SQUARE}let y = @cholesky(a, upper=true)"), ("x [n, n]", f"{SQUARE}let y = @eigvalsh(a)"),
    ("x [n, n]", f"{SQUARE}let (w, v) = @eigh(a)\nlet y = w * @sum(v * v * v * v, axis=0)"),
    *(("x [n, n]", f"let (w, v) = @eig(@complex(x, {i}))\nlet y = {y}") for i, y in
      (("x * 0.0", "@abs(v) * @real(w)"), ("@sin(x)", "@abs(@sum(v * v, axis=0)) + @abs(w * w)"))),
    *(("x [n, n]", f"let y = @matrix_power(x, {k})") for k in (-2, 0, 7)),
    *(("x [n, d] where d >= 1", f'let y = @matrix_norm(x, ord="{k}")') for k in ("nuc", "2", "-2", "-1", "-inf")),
    ("x [n, d]", "let y = @svdvals(x)"), ("x [n, d]", "let y = @pinv(x)"), ("x [2, d, n]", "let y = @pinv(x)"),
    *((f"x {s}", f"let (q, r) = @qr(x)\nlet y = {y}") for s in ("[n, d]", "[d, n]", "[2, n, n]")
      for y in ("@matmul(q * @cos(q), @sin(r))", "@sum(r * r * r) + @sum(q * q * q * q)")),
    *((f"x {s}", f"let (u, s, v) = @svd(x, full_matrices=false)\nlet y = {y}") for s in ("[n, d]", "[d, n]", "[2, n, n]")
      for y in ("@sum(s * s * s)", "@matmul(u * @abs(u), @abs(v) * v)", "@sum(@abs(u) * @expand_dims(s, axis=-2))")),
    ("x [n, n]", "let y = @matrix_power(x, 4)"), ("x [n, 3]; u [n, 3]", "let y = @cross(x, u)"),
    ("x [d, n, m]; u [d, m, n]", "let y = @matmul(x, u)"), ("x [n, m]; u [d, m, n]", "let y = @matmul(x, u)"),
    ("x [m]; u [d, m, n]", "let y = @matmul(x, u)"), ("x [1, n, m]; u [d, m, n]", "let y = @matmul(x, u)"),
    ("x [d, n, m]; u [m]", "let y = @matmul(x, u)"), ("x [m]; u [m]", "let y = @matmul(x, u)"),
    ("x [n, 4, 2, m]; s [4]; t [4]", "let y = @group_normalization(x, s, t, 2, epsilon=0.1)"),
    ("x [n, d, 2, m]; s [d]; t [d]", "let y = @instance_normalization(x, s, t, epsilon=0.1)"),
    ("x [n, d, m]; s [d]; t [d]; u [d]; v [d]", "let y = @batch_normalization(x, s, t, u, v)"),
    ("x [n, m, d]; s [d]; t [d]; u [d]; v [d]", 'let y = @batch_normalization(x, s, t, u, v, layout="channels_last")'),
    ("x [n, d, m, 2]", "let y = @global_average_pool(x) + @adaptive_average_pool(x, [1, 1]) * @global_max_pool(x)"),
)  # fmt: skip


@pytest.mark.parametrize(("params", "body"), MATRICES)
def test_matrices_and_what_is_normalised(params: str, body: str) -> None:
    check(params, body, ROWS)


# Of z, which is complex, and of x, which is real.
SPECTRA = (
    "@abs(z)", "@real(z * z)", "@imag(@exp(z) / (z + z * z))", "@real(z) * @imag(@conj(z))",
    "@abs(@matmul(z, @matrix_transpose(z)))", "@abs(@cast(x, complex128) * z)", "@abs(@sin(z) - @reshape(z, z.shape))",
    "@abs(@sum(z, axis=0, keepdims=true) * z)", "@abs(@where(x > 0.0, z, @sqrt(z)))", "@imag(x) + @real(x)",
    "@abs(@concat([z, z * z], axis=0)[1:])", "@abs(@take(z, 0, axis=0))",
    *(f"@real({f}({o}{a})) + @imag({f}({o}{a}))" for f in ("@fft", "@ifft") for o in "xz"
      for a in ("", ", axis=0", ', norm="ortho"', ', norm="forward"')),
    *(f"@abs({f}({o}{a}))" for f in ("@fftn", "@ifftn") for o in "xz"
      for a in ("", ", axes=[0]", ', norm="forward"', ', norm="ortho"')),
    "@abs(@rfft(x))", "@abs(@rfft(x, axis=0))", '@abs(@rfftn(x, norm="ortho"))', "@square(@abs(@rfft(@sin(x))))",
    *(f"{f}(@concat([{o}, {o}], axis=1){a})" for f in ("@irfft", "@hfft") for o in "xz"
      for a in ("", ', norm="ortho"', ', norm="forward"')),
    *(f"@abs(@ihfft(x{a}))" for a in ("", ', norm="ortho"', ', norm="forward"')),
    *(f"@abs({f}(z, {n}, axis={axis}))" for f in ("@fft", "@ifft", "@irfft", "@hfft") for n, axis in (("d + 1", 0), (3, 1))),
    "@abs(@rfft(x, 4))", '@abs(@ihfft(x, d + 2, norm="forward"))', "@irfftn(z)", '@irfftn(z, [4], axes=[0], norm="ortho")',
    *(f"@abs({f}({o}, {n}))" for f, o in (("@fftn", "z"), ("@ifftn", "z"), ("@irfftn", "z"), ("@rfftn", "x"))
      for n in ("[3, 4]", "[d + 1, n + 1], axes=[1, 0]")),
    "@irfft(@rfft(@concat([x, x], axis=1)) * @conj(@rfft(@concat([u, u], axis=1))))",
    "@real(@eigvals(@matmul(x, @matrix_transpose(u))) * @eigvals(@matmul(x, @matrix_transpose(u)) + @eye(n, dtype=float64)))",
)  # fmt: skip


@pytest.mark.parametrize("text", SPECTRA)
def test_complex_numbers_in_between(text: str) -> None:
    sizes: Sizes = ({"n": 4, "d": 3}, {"n": 2, "d": 5}, {"n": 1, "d": 2})
    check("x [n, d]; u [n, d] where n >= 1, d >= 2", f"let z = @complex(x, u)\nlet y = {text}", sizes)


# Of frames of w elements, some of which are cut off.
SOUNDS = (
    *(f"@abs(@stft(x, w, 2{a}))" for a in (", u, center=false", ", u", ", center=false")), "@abs(@stft(x, 4, w - 3))",
    *(f"@istft(@square(@stft(x, w, 2{c})), w, 2, u * u + 0.5{c})" for c in ("", ", center=false")),
    "@istft(@stft(x, w, 3), w, 3)",
)  # fmt: skip


@pytest.mark.parametrize("text", SOUNDS)
def test_spectra_of_frames(text: str) -> None:
    sizes: Sizes = ({"b": 2, "t": 9, "w": 5}, {"b": 1, "t": 12, "w": 4})
    check("x [b, t]; u [w] where t >= 7, w >= 4, w <= 6", f"let y = {text}", sizes)


UNTOLD = (
    "if (n > 2) { z } else { z * z }",
    "for i in range(3) with (c = z) { c * z }",
    "@sort(@abs(z)) + @abs(@prod(z, axis=0))",
)


@pytest.mark.parametrize("text", UNTOLD)
def test_complex_numbers_without_a_rule_are_refused(text: str) -> None:
    program = (
        "@f = fn(x : Tensor([n, d], float64)) : Tensor([], float64) {\n"
        f"  let z = @complex(x, x)\n  let y = {text}\n  @sum(@abs(y))\n}}\n@d = grad @f wrt x"
    )
    assert [d.code for d in rx.check_source(program).diagnostics if d.severity == "error"] == ["E232"]


ATTRIBUTES = ("", ", pads=1", ", strides=2", ", strides=[2, 3], pads=[(1, 0), (0, 2)]", ", dilations=2, pads=2",
              ", strides=2, dilations=[1, 2], pads=[(1, 1), (2, 2)]")  # fmt: skip
POOLED = ("2", "2, strides=1", "[3, 2], strides=2, pads=1", "[2, 3], strides=[1, 2], pads=[(1, 0), (0, 1)]",
          "2, dilations=2, strides=1")  # fmt: skip
WINDOWS = (
    *(("x [b, c, h, w]; g [b, w, h, 2]", f'@grid_sample(x, g * 0.8, mode="{m}", padding="{p}", align_corners={a})')
      for m in ("linear", "nearest") for p in ("zeros", "border") for a in ("true", "false")),
    *(("x [b, c, h, w]; k [o, c, 3, 2]; t [o]", f"@conv2d(x, k, t{a})") for a in ATTRIBUTES),
    ("x [b, c * 2, h, w]; k [o * 2, c, 3, 2]", "@conv2d(x, k, groups=2, strides=2, pads=1)"),
    ("x [b, c, h, w]; k [c, 1, 3, 2]", "@conv2d(x, k, groups=c, strides=2, pads=1)"),
    ("x [b, c, h, w]; k [o, c, 3, 2]", "@conv(x, k, strides=2, pads=1)"),
    ("x [b, c, h]; k [o, c, 3]", "@conv1d(x, k, strides=2, pads=1)"),
    ("x [b, h, w, c]; k [3, 2, c, o]; t [o]", '@conv2d(x, k, t, strides=2, pads=1, layout="channels_last")'),
    ("x [b, c, h, w]; k [o, c, 3, 2]", '@conv2d(x, k, auto_pad="same_lower", strides=2)'),
    ("x [b, h, w, c]; k [3, 2, c, o]", '@conv2d(x, k, auto_pad="same_upper", strides=[2, 3], layout="channels_last")'),
    ("x [b, h, w, c]", '@max_pool2d(x, 2, layout="channels_last") + @average_pool2d(x, 2, layout="channels_last")'),
    ("x [b, c, h, w]; k [c, o, 3, 2]; t [o]", "@conv_transpose2d(x, k, t, strides=2, pads=1)"),
    ("x [b, c, h, w]; k [c, o, 3, 2]", "@conv_transpose2d(x, k, strides=[2, 3], output_padding=1)"),
    ("x [b, c * 2, h, w]; k [c * 2, o, 3, 2]", "@conv_transpose2d(x, k, groups=2, dilations=2)"),
    *(("x [b, c, h, w]", f"@{kind}_pool2d(x, {a})") for kind in ("max", "average") for a in POOLED),
    ("x [b, c, h, w]", "@average_pool2d(x, [3, 2], strides=2, pads=1, count_include_pad=true)"),
    *(("x [b, c, h, w]", f"@{kind}_pool2d(x, {a})") for kind in ("max", "average", "lp")
      for a in ("[3, 2], strides=2, pads=1, ceil_mode=true", '[2, 3], strides=2, auto_pad="same_lower"')),
    ("x [b, c, h, w]", "@average_pool2d(x, 3, strides=2, pads=1, ceil_mode=true, count_include_pad=true)"),
    ("x [b, c, h]", '@max_pool(x, [2], auto_pad="same_upper") + @lp_pool(x, [2], strides=2, ceil_mode=true)'),
    *(("x [b, c, h, w]", f"@adaptive_{kind}_pool(x, {n})")
      for kind in ("max", "average") for n in ("[2, 3]", "[h - 1, w + 1]")),
    ("x [b, h, c]", '@adaptive_average_pool(x, [2], layout="channels_last")'),
    *(("x [b, c, h, w]", f'@resize(x, sizes={n}, mode="{m}", align_corners={a})') for m in ("linear", "cubic")
      for n, a in (("[3, 7]", "true"), ("[h + w, 2 * h - 1]", "false"))),
    ("x [b, c, h]", '@resize(x, sizes=[5], mode="linear")'),
    ("x [b, h, w, c]", '@upsample(x, [3, 2], "linear", "channels_last")'),
    *(("x [b, c, h, w]; u [o, 4]; which [o]", f"@roi_align(x, @square(u) * 1.5 - 0.7, which, {a})")
      for a in ("[2, 3]", '[3, 2], scale=0.7, mode="max"', "[2], aligned=false, samples=1")),
    *(("x [h, b, c]; signs [b, o]; frames [b]; lengths_of [b]", f"@ctc_loss(@log_softmax({x}), signs, frames, lengths_of{a})")
      for x, a in (("x", ""), ("@concat([x, x * 2.0, x], axis=-1)", ', reduction="sum", blank=2'),
                   ("x", ', reduction="none", zero_infinity=true'))),
    *(("x [b, c, h, w]; g [b, w, h, 2]", f'@grid_sample(x, g * 2.8, padding="reflection", align_corners={a})')
      for a in ("false", "true")),
    ("x [b, c, h, w]", "@max_pool(x, [2, 2])"), ("x [b, c, h, w]", "@lp_pool2d(x, 2)"), ("x [b, c, h, w]", "@lrn(x, 3)"),
    ("q [b, 4, h, c]; k [b, 2, w, c]; u [b, 2, w, o]", "@grouped_query_attention(q, k, u, causal=true, past=1)"),
    ("q [b, h, c]; k [1, w, c]; u [w, o]", "@attention(q, k, u)"),
    ("x [b, h, 8]; t [w * 0 + h, 3]", "@rotary_embedding(x, @cos(t), @sin(t))"),
    ("x [b, h, 6]; t [w * 0 + h, 3]", "@rotary_embedding(x, @cos(t), @sin(t), interleaved=true)"),
    ("x [b, c, h, w]", "@unfold(x, [2, 2])"), ("x [b, c, 4, 4]; s [h, w]", "@pixel_unshuffle(x, 2) * @mean(s)"),
    ("x [b, 4, h, w]", "@pixel_shuffle(x, 2) + @depth_to_space(x, 2)"), ("x [b, c, h, w]", "@upsample(x, scales=2)"),
    ("x [b, c, h, w]", "@resize(x, sizes=[3, 2])"), ("x [b, c, h, w]; s [h, w]; t [h, w]", "@layer_norm(x, s, t, axis=2)"),
    ("x [b, c, h, w]; s [h, w]", "@rms_norm(x, s, axis=-2)"),
)  # fmt: skip


@pytest.mark.parametrize(("params", "text"), WINDOWS)
def test_windows_and_attention(params: str, text: str) -> None:
    conditions = [f"{n} >= 3" for n in "hw" if f" {n}" in params] + [f"{n} >= 1" for n in "c" if f" {n}" in params]
    check(f"{params.replace('w * 0 + h', 'h')} where {', '.join(conditions)}", f"let y = {text}", IMAGES)


def test_a_convolution_with_sizes_for_strides_and_pads() -> None:
    sizes = tuple({**IMAGES[0], "step": s, "pad": p} for s in (1, 2, 3) for p in (0, 1, 2))
    text = "let y = @conv2d(x, k, strides=[step, step], pads=[(pad, pad), (pad, pad)])"
    check("x [b, c, h, w]; k [o, c, 3, 2]; step; pad where h >= 3, w >= 3, step >= 1, pad >= 0", text, sizes)


@pytest.mark.parametrize("strides", ["s", "[*s]", "[2, *s]"])
def test_a_convolution_with_strides_whose_number_is_open_has_no_gradient(strides: str) -> None:
    params = "x : Tensor([b, c, h, w], float32), k : Tensor([o, c, 3, 3], float32), s : Shape"
    text = f"@f = fn({params}) : Tensor([], float32) {{ @sum(@conv2d(x, k, strides={strides})) }}\n@d = grad @f wrt k\n"
    assert [d.code for d in rx.check_source(text).diagnostics if d.severity == "error"] == ["E232"]


CELLS = (
    ("x [b, i]; q [b, h]; u [h, i]; r [h, h]; s [2 * h]", "let y = @rnn_cell(x, q, u, r, s)"),
    ("x [b, i]; q [b, h]; c [b, h]; u [4 * h, i]; r [4 * h, h]; s [8 * h]",
     "let (a, e) = @lstm_cell(x, q, c, u, r, s)\nlet y = a * e + e"),
    ("x [b, i]; q [b, h]; u [3 * h, i]; r [3 * h, h]; s [6 * h]", "let y = @gru_cell(x, q, u, r, s)"),
    ("x [b, i]; q [b, h]; u [3 * h, i]; r [3 * h, h]; s [6 * h]", "let y = @gru_cell(x, q, u, r, s, linear_before_reset=true)"),
    ("x [t, b, i]; u [1, h, i]; r [1, h, h]; s [1, 2 * h]",
     "let (a, e) = @rnn(x, u, r, s)\nlet y = @sum(a, axis=[0, 1]) * @sum(e, axis=0)"),
    ("x [t, b, i]; u [1, 4 * h, i]; r [1, 4 * h, h]",
     "let (a, e, f) = @lstm(x, u, r)\nlet y = @sum(a * a, axis=[0, 1]) * @sum(e + f, axis=0)"),
    ("x [t, b, i]; u [2, h, i]; r [2, h, h]; s [2, 2 * h]",
     'let (a, e) = @rnn(x, u, r, s, direction="bidirectional")\nlet y = @sum(a * a, axis=[0, 1]) * @sum(e, axis=0)'),
    ("x [b, t, i]; u [2, 4 * h, i]; r [2, 4 * h, h]; q [b, 2, h]; c [b, 2, h]",
     'let (a, e, f) = @lstm(x, u, r, initial_h=q, initial_c=c, direction="bidirectional", layout="batch_first")\n'
     "let y = @sum(a * a, axis=[1, 2]) * @sum(e * e + f, axis=1)"),
    ("x [t, b, i]; u [1, 3 * h, i]; r [1, 3 * h, h]; q [1, b, h]",
     'let (a, e) = @gru(x, u, r, initial_h=q, direction="reverse")\nlet y = @sum(a * a, axis=[0, 1]) * @sum(e, axis=0)'),
)  # fmt: skip


@pytest.mark.parametrize(("params", "body"), CELLS)
def test_recurrent_layers(params: str, body: str) -> None:
    check(params, body, STEPS[:2] if "[t" in params else STEPS)


STACKS = "let (c, s) = for i in range(n) with (c : Tensor([d], float64) = @ones([d], float64)) stack (s : Tensor([d], float64))"
CONTROL = (
    ("x [n, d]; u [d, d]", "let y = if (n > 2) { @matmul(x, u) } else { x * 2.0 }"),
    ("x [n, d]; u [d, d]", "let y = if (@sum(x) > 0.0) { let z = @matmul(x, u)\n z * z } else { @sin(x) }"),
    ("x [n, d]", "let (a, k) = if (n > 2) { (x * x, n) } else { (x * 2.0, n - 1) }\nlet y = a * @size_to_tensor(k, float64)"),
    ("x [n]; u [d]", "let y = if (n > 2) { @concat([x, x]) } else { x * @sum(u) }"),
    ("x [n, d]; u [d, d]", "let y = if (n > 2) { if (d > 2) { @matmul(x, u) } else { x } } else { x * 2.0 }"),
    ("x [n, d]; u [d, d]; m where m >= 0", "let y = for i in range(m) with (c = x) { @tanh(@matmul(c, u) + x) }"),
    ("x [n, d]",
     "let y = for i in range(0, n, 2) with (c : Tensor([d], float64) = @zeros([d], float64)) { @sin(c) + x[i] * c + x[i] }"),
    ("x [n, d]", f"{STACKS} {{ let q = @sin(c) + x[i]\n (q, q * c) }}\nlet y = @sum(s) * c"),
    ("x [n, d]", "let y = for i in range(n) stack (s : Tensor([d], float64)) { x[i] * @sin(x[i]) }"),
    ("x [n, d]; u [d, m]", "let y = @map(fn(r) { @matmul(r, u) }, x)"),
    ("x [n, d]", "let y = @fold(fn(c, r) { @sin(c) * r + r }, @zeros([d], float64), x)"),
    ("x [n, d]", "let (a, b) = @scan(fn(c, r) { (@sin(c) * r + r, c * r) }, @zeros([d], float64), x)\nlet y = b * a"),
    ("x [n, d]; m where m >= 0",
     "let y = for i in range(m) with (c : Tensor([n + i, d], float64) = x) "
     "{ @concat([c * 1.1, @sum(c, axis=0, keepdims=true)], axis=0) }"),
    ("x [n, d]", "let y = while (@sum(c * c) < 50.0) with (c : Tensor([n, d], float64) = x) { c * 1.5 + 0.1 * @sin(x) }"),
    ("x [n, d]",
     "let (y, k) = while (k < 3) with (c : Tensor([n, d], float64) = x, k : Size = 0) { (@sin(c) * x, k + 1) }"),
    ("x [n, d]",
     "let y = for i in range(5) with (c : Tensor([n, d], float64) = x) while (@sum(c * c) < 50.0) { c * 1.5 + 0.1 * @sin(x) }"),
    ("x [n, d]", "let y = for i in range(2) with (c = x) { for j in range(3) with (e = c) { @sin(e) * c + x } }"),
    ("x [n, d]", "let (a, b) = for i in range(3) with (p : (Tensor([n, d], float64), Tensor([n, d], float64)) = (x, x * 2.0)) "
                 "{ let (u, v) = p\n (v * u, @sin(u)) }\nlet y = a + b"),
    ("x [n]", "let y = @twice(fn(r) { r * x }, x) + @twice(@mine, x) + @twice(@sin, x) + @open(x)"),
    ("x [n]; u [n]", "let y = @twice(fn(r) { @twice(fn(q) { q * r }, r) * x }, u) * @twice(@twofold, x)"),
    ("x [n, d]", "let rows = @unstack(@stack([x, x * x, @sin(x)], axis=0))\nlet y = rows[0] * rows[2] + rows[-2]"),
    ("x [n]", "let (a, b) = @pair(x)\nlet t = @pair(a)\nlet y = @matmul(b, t[0])"),
    ("x [n, d]; u [d, m]; b [m]", "let y = @layer(x, (u, b))"),
)  # fmt: skip
BEFORE = """
@twice = fn(f : fn(Tensor([n], d)) : Tensor([m], d), x : Tensor([n], d)) : Tensor([m], d) where d in floating { f(x) * 2.0 }
@mine = fn(x : Tensor([n], float64)) : Tensor([n], float64) { @sin(x) }
@twofold = fn(x : Tensor([n], float64)) : Tensor([n], float64) { @twice(@mine, x) }
@open = fn(x : Tensor) { x * x }
@pair = fn(x : Tensor([n], float64)) : (Tensor([n], float64), Tensor([n, n], float64)) { (x, @outer(x, x)) }
type Layer(i, o) = (Tensor([i, o], float64), Tensor([o], float64))
@layer = fn(x : Tensor([n, i], float64), l : Layer(i, o)) : Tensor([n, o], float64) { let (w, b) = l
  @tanh(@matmul(x, w) + b) }
"""


@pytest.mark.parametrize(("params", "body"), CONTROL)
def test_arms_loops_and_functions(params: str, body: str) -> None:
    check(params, body, ROWS, BEFORE)


def test_a_carry_of_sizes_that_only_the_data_knows() -> None:
    """That what is handed back has the sizes of what was carried is checked then: nobody could prove it."""
    module = rx.loads(
        "@f = fn(x : Tensor([n], float64)) : Tensor([], float64) where n >= 1 {\n"
        "  @sum(while (c.dim(0) < 9) with (c : Tensor([k], float64) = x) where k >= 1 { @concat([c, c * 0.3 * c], axis=0) })\n"
        "}\n@df = grad @f wrt x"
    )
    assert module.df.residual and not module.f.residual
    for n in (1, 3, 4, 10):
        x = np.linspace(0.5, 1.5, n)
        np.testing.assert_allclose(module.df(x), differences(module.f, [x])[0], 1e-5)
