"""A random call of any primitive, right or wrong: shapes from a template, everything else from its declared parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from rxlang.interp.dtypes import numpy_dtype
from rxlang.lang.dtypes import DTYPES, DType
from rxlang.ops.dtypes_column import Word, parse_dtypes
from rxlang.ops.model import WILDCARD, Primitive, PrimitiveParam

Random = np.random.Generator
Values = dict[str, Any]
Names = Mapping[str, Any]

SIZES = (0, 1, 1, 2, 2, 3)
TENSORS = ("tensor", "tensors", "index")

# Shapes that fit: letters are sizes, `*s` any number of them; `groups = g` is a parameter that is no tensor. Where a primitive
# has no template its tensors broadcast together.
_RECURRENT = "x = t b i; w = n G*h i; r = n G*h h; b = n 2*G*h; initial_h = n b h; initial_c = n b h"
_CELL = "x = b i; h = b h; c = b h; w = G*h i; r = G*h h; b = 2*G*h"
_LOSSES = (
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "kl_div",
)  # fmt: skip
TEMPLATES = {
    "conv": "x = b c*g *h; weight = o*g c *k; bias = o*g; groups = g",
    "conv1d": "x = b c*g l+1; weight = o*g c k; bias = o*g; groups = g",
    "conv2d": "x = b c*g l+1 m+1; weight = o*g c k j; bias = o*g; groups = g",
    "conv3d": "x = b c*g l+1 m+1 q+1; weight = o*g c k j 1; bias = o*g; groups = g",
    "conv_transpose": "x = b c*g *h; weight = c*g o *k; bias = o*g; groups = g",
    "conv_transpose1d": "x = b c*g l+1; weight = c*g o k; bias = o*g; groups = g",
    "conv_transpose2d": "x = b c*g l+1 m+1; weight = c*g o k j; bias = o*g; groups = g",
    "conv_transpose3d": "x = b c*g l+1 m+1 q+1; weight = c*g o k j 1; bias = o*g; groups = g",
    **{f"{how}_pool{n}": f"x = b c {s}" for how in ("max", "average", "lp") for n, s in
       (("", "l+2 *s"), ("1d", "l+2"), ("2d", "l+2 m+2"), ("3d", "l+2 m+2 q+2"))},
    **dict.fromkeys(("global_average_pool", "global_max_pool", "lrn", "upsample", "resize"), "x = b c l *s"),
    **{f"adaptive_{how}_pool": "x = b c l m; output_shape = p q" for how in ("average", "max")},
    "dense": "x = *s i; weight = i o; bias = o",
    "linear": "x = *s i; weight = o i; bias = o",
    "prelu": "x = b c *s; slope = c",
    "batch_normalization": "x = b c *s; scale = c; bias = c; mean = c; variance = c",
    "instance_normalization": "x = b c l *s; scale = c; bias = c",
    "group_normalization": "x = b c*g *s; scale = c*g; bias = c*g; num_groups = g",
    "layer_norm": "x = *s c; scale = c; bias = c; axis = -1",
    "rms_norm": "x = *s c d; scale = c d; axis = -2",
    "pixel_shuffle": "x = *s c*g*g h w; factor = g",
    "pixel_unshuffle": "x = *s c h*g w*g; factor = g",
    "depth_to_space": "x = b c*g*g h w; block = g",
    "space_to_depth": "x = b c h*g w*g; block = g",
    "attention": "q = *s l d; k = *s m d; v = *s m e; mask = l m",
    "rnn": _RECURRENT.replace("G", "1"),
    "gru": _RECURRENT.replace("G", "3"),
    "lstm": _RECURRENT.replace("G", "4"),
    "rnn_cell": _CELL.replace("G", "1"),
    "gru_cell": _CELL.replace("G", "3"),
    "lstm_cell": _CELL.replace("G", "4"),
    **dict.fromkeys(_LOSSES, "x = *s; target = *s"),
    "softmax_cross_entropy": "x = *s c; target = *s c",
    "nll_loss": "x = b c *s; target = b *s; weight = c; axis = 1",
    "cross_entropy_loss": "x = b c *s; target = b *s; weight = c; axis = 1",
    "matmul": "x = *s m k; y = *s k n",
    "vecdot": "x = *s k; y = *s k; axis = -1",
    "cross": "x = *s 3; y = *s 3; axis = -1",
    **dict.fromkeys(("matrix_rank", "matrix_norm", "pinv", "qr", "svd", "svdvals"), "x = *s m n"),
    **dict.fromkeys(("det", "slogdet", "inv", "cholesky", "eigh", "eigvalsh", "eig", "eigvals"), "x = *s m m"),
    "matrix_power": "x = *s m m; n = k",
    "solve": "x = *s m m; y = *s m n",
    "vector_norm": "x = m *s; axis = 0",
    **dict.fromkeys(("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"), "x = *s m+k; n = k; axis = -1"),
    **dict.fromkeys(("fftn", "ifftn", "rfftn", "irfftn"), "x = *s m+k n+1; s = k 2; axes = -2 -1"),
    **dict.fromkeys(("fftshift", "ifftshift"), "x = m n *s; axes = 0 1"),
    **dict.fromkeys(("fftfreq", "rfftfreq"), "n = k"),
    **dict.fromkeys(("random_split", "random_uniform", "random_normal", "random_permutation"), "key = 2"),
    "random_categorical": "key = 2; logits = *s n+1; axis = -1",
    "quantile": "x = n+1 *s; q = *t; axis = 0",
    "bincount": "x = m; length = 2",
    "diff": "x = m n; prepend = k n; append = l n; axis = 0",
    "roll": "x = m n *s; shift = k l; axis = 0 1",
    "repeat_each": "x = n *s; counts = n; axis = 0",
    "outer": "x = m; y = n",
    "tensordot": "x = m k; y = k n; axes = 1; x_axes = -1; y_axes = 0",
    "diagonal": "x = *s m n",
    "trace": "x = *s m n",
    "tril": "x = *s m n",
    "triu": "x = *s m n",
    "matrix_transpose": "x = *s m n",
    "embedding": "ids = *s; table = v d",
    "filter": "x = n *s; mask = n",
    "nonzero": "x = n *s",
    "take": "x = n+1 *s; indices = *t; axis = 0",
    "take_along_axis": "x = *s n+1; indices = *s m; axis = -1",
    "gather_elements": "x = n+1 m; indices = k m; axis = 0",
    "gather_nd": "x = m+1 n+1 *s; indices = *t 2; batch_dims = 0",
    "scatter_nd": "x = m+1 n+1 *s; indices = *t 2; updates = *t *s",
    "scatter_elements": "x = n+1 m; indices = k m; updates = k m; axis = 0",
    "put": "x = n+1 *s; indices = k; updates = k *s; axis = 0",
    "update_slice": "x = m+k n+l; update = m n; starts = k l",
    "searchsorted": "x = n; values = *s",
    "topk": "x = *s n+k; k = k; axis = -1",
    "truncate": "x = n *s; size =; axis = 0",
    "unstack": "x = n *s; axis = 0",
    "reshape": "x = m*n *s; shape = m n *s",
    "broadcast_to": "x = 1 n *s; shape = m n *s",
    "sum_to": "x = m n *s; shape = 1 n *s",
    "tile": "x = m n; repeats = k l",
    "squeeze": "x = 1 *s; axis = 0",
    "split": "x = n*g *s; axis = 0; sections = g; sizes = n*g; indices = k l",
    "slice": "x = m n *s; starts = k l; stops = p q; axes = 0 1; steps = g 1",
    "permute_dims": "x = m n k; axes = 2 0 1",
    "moveaxis": "x = m n *s; source = 0 1; destination = 1 0",
    "pad": "x = m n; value =",
    "pad_to_match": "x = m n; y = k l",
    "full": "value =",
    "full_like": "x = *s; value =",
    "item": "t =",
    "one_hot": "indices = *s; depth = k",
    "cumulative_sum": "x = n *s; axis = 0",
    "cumulative_prod": "x = n *s; axis = 0",
    "count_nonzero": "x = n *s; axis = 0",
    "frame": "x = *s k+l; length = k; step = g",
    "overlap_add": "x = *s n l; step = g",
    "stft": "x = *s k+k+l; length = k; step = g; window = k",
    "istft": "x = *s 2 n; length = 3; step = g; window = 3",
    "unfold": "x = n c k+l g+m; kernel_shape = k g",
    "fold": "x = n c*k*g 4; kernel_shape = k g; output_shape = k+1 g+1; strides = 1; dilations = 1",
    "non_max_suppression": "boxes = n 4; scores = n",
    "grid_sample": "x = n c h+1 w+1; grid = n p q 2",
    "roi_align": "x = n c h+1 w+1; boxes = l 4; batch_indices = l; output_shape = p q; samples = g",
    "reverse_sequence": "x = n k *s; lengths = k; time_axis = 0; batch_axis = 1",
    "rotary_embedding": "x = *s l k+k+m; cos = l k; sin = l k",
    "grouped_query_attention": "q = *s g*h l d; k = *s g m d; v = *s g m e; mask = l m; past = k",
    "cosine_similarity": "x = *s k; y = *s k; axis = -1",
    "ctc_loss": "x = n b k+1; target = b m+1; input_lengths = b; target_lengths = b; blank = 0",
    **dict.fromkeys(("segment_sum", "segment_mean", "segment_max", "segment_min"), "x = n *s; ids = n; count = k"),
    "gather_slices": "x = k+1 m+1 n; starts = *t 2; sizes = 1 m n; collapse = 0",
    "scatter_slices": "x = k+1 m+1 n; starts = *t 2; updates = *t 1 n; collapse = 0",
    **dict.fromkeys(("quantize", "dequantize"), "x = *s c; scale = c; zero_point = c; axis = -1"),
}  # fmt: skip

# What a string may be, for one primitive or for all with that parameter.
STRINGS: dict[str, tuple[str, ...]] = {
    "layout": ("channels_first", "channels_last"),
    "auto_pad": ("notset", "notset", "same_upper", "same_lower", "valid"),
    "reduction": ("none", "mean", "sum"),
    "scatter_nd.reduction": ("none", "add", "mul", "max", "min"),
    "scatter_slices.reduction": ("none", "add", "mul", "max", "min"),
    "scatter_elements.reduction": ("none", "add", "mul", "max", "min"),
    "kl_div.reduction": ("none", "mean", "sum", "batchmean"),
    "direction": ("forward", "reverse", "bidirectional"),
    "activation": ("tanh", "relu"),
    "grid_sample.mode": ("linear", "nearest"),
    "roi_align.mode": ("mean", "max"),
    "padding": ("zeros", "border", "reflection"),
    "mode": ("nearest", "linear", "cubic"),
    "pad.mode": ("constant", "edge", "reflect", "wrap"),
    "approximate": ("none", "tanh"),
    "side": ("left", "right"),
    "qr.mode": ("reduced", "complete"),
    "norm": ("backward", "ortho", "forward"),
    "method": ("linear", "lower", "higher", "nearest", "midpoint"),
    "ord": ("fro", "nuc", "inf", "-inf", "1", "-1", "2", "-2"),
    "indexing": ("xy", "ij"),
    "equation": ("ij,jk->ik", "i,i", "...i,...i->...", "ii,i", "ij,ij->j", "i,j->ij", "->"),
    **{f"{name}.layout": ("time_first", "batch_first") for name in ("rnn", "gru", "lstm")},
}


def draw_call(random: Random, row: Primitive) -> Values:
    """The arguments by parameter; optional ones may be left out. About half of the calls fit."""
    names = _names(random)
    template = _template(row.name)
    values: Values = {}
    for param in row.params:
        if not param.required and random.random() < 0.5:
            continue
        if param.kind not in TENSORS:
            values[param.name] = _attribute(random, row, param, template.get(param.name), names)
    _draw_tensors(random, row, template, names, values)
    _lay_out(row, values)
    return values


def _names(random: Random) -> dict[str, Any]:
    """What the letters of a template stand for. Kernels, groups and the like are at least 1, mostly."""
    names: dict[str, Any] = {c: int(random.choice(SIZES)) for c in "abcdefhilmnopqtvw"}
    names |= {c: int(random.choice((1, 1, 2, 3))) for c in "gkjn"}
    kernel = tuple(int(k) for k in random.choice((1, 1, 2, 3), random.integers(1, 4)))
    image = tuple(k + int(random.choice(SIZES)) for k in kernel)
    return names | {f"*{c}": _sizes(random, 2) for c in "st"} | {"*k": kernel, "*h": image}


def _template(name: str) -> dict[str, list[str]]:
    parts = [part.partition("=") for part in TEMPLATES.get(name, "").split(";") if part]
    return {param.strip(): shape.split() for param, _, shape in parts}


def _sizes(random: Random, most: int) -> tuple[int, ...]:
    return tuple(int(random.choice(SIZES)) for _ in range(random.integers(0, most + 1)))


def _evaluated(tokens: list[str], names: Names) -> tuple[int, ...]:
    """`b c*g *s` with what the letters stand for."""
    found: list[int] = []
    for token in tokens:
        found.extend(names[token] if token in names and token[0] == "*" else [_number(token, names)])
    return tuple(found)


def _number(token: str, names: Names) -> int:
    """A sum of products, or a literal that may be negative."""
    if re.fullmatch(r"-?\d+", token):
        return int(token)
    return sum(
        int(np.prod([int(f) if f.isdigit() else names[f] for f in term.split("*")])) for term in token.split("+")
    )


# Tensors


def _draw_tensors(
    random: Random, row: Primitive, template: Mapping[str, list[str]], names: Names, values: Values
) -> None:
    params = [p for p in row.params if p.kind in TENSORS]
    words = parse_dtypes(row.dtypes).inputs
    dtypes = {word.var: _dtype(random, word) for word in words if word.var}
    common = _sizes(random, 3)
    for param, word in zip(params, words, strict=True):
        if not param.required and random.random() < 0.5:
            continue
        dtype = dtypes[word.var] if word.var else _dtype(random, word)
        if random.random() < 0.02:
            dtype = DTYPES[str(random.choice(list(DTYPES)))]
        count = int(random.integers(0, 4)) if param.kind == "tensors" else 1
        if row.name == "einsum":
            count = 2
        made = []
        for _ in range(count):
            tokens = template.get(param.name)
            shape = _spread(random, common) if tokens is None else _evaluated(tokens, names)
            if param.kind == "tensors" and row.name in ("concat", "stack"):
                shape = common
            shape = (names["n"],) if row.name == "meshgrid" else shape
            made.append(draw_array(random, _mutated(random, shape), dtype))
        values[param.name] = made if param.kind == "tensors" else made[0]
        if param.kind == "index" and random.random() < 0.2:
            values[param.name] = int(random.integers(-2, 3))


def _spread(random: Random, common: tuple[int, ...]) -> tuple[int, ...]:
    kept = common[random.integers(0, len(common) + 1) :] if random.random() < 0.3 else common
    return tuple(1 if random.random() < 0.2 else size for size in kept)


def _mutated(random: Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape, one time in ten not quite."""
    if random.random() < 0.9:
        return shape
    at = int(random.integers(0, len(shape) + 1))
    if random.random() < 0.4 and len(shape) < 5:
        return (*shape[:at], int(random.choice(SIZES)), *shape[at:])
    return (*shape[:at], *((int(random.choice(SIZES)),) if random.random() < 0.6 else ()), *shape[at + 1 :])


def _dtype(random: Random, word: Word) -> DType:
    allowed = [d for d in DTYPES.values() if word.allows(d)]
    common = [d for d in allowed if d.name in ("float32", "int64", "float64", "bool", "complex64")]
    chosen = common if common and random.random() < 0.5 else allowed
    return chosen[int(random.integers(0, len(chosen)))]


def draw_array(random: Random, shape: tuple[int, ...], dtype: DType) -> Any:
    """Few different numbers, small enough for the smallest dtypes; few are negative, so that most are indices."""
    numbers = np.asarray(random.integers(-1 if random.random() < 0.3 and dtype.kind != "uint" else 0, 2, shape))
    if dtype.kind == "string":
        return np.array(["a", "b", ""], numpy_dtype(dtype))[np.atleast_1d(numbers)].reshape(shape)
    if dtype.kind == "complex":
        numbers = numbers + 1j * random.integers(-1, 2, shape)
    return np.asarray(numbers).astype(numpy_dtype(dtype))


def _lay_out(row: Primitive, values: Values) -> None:
    """Images and weights, or sequences and states, with their axes where `layout` says."""
    if values.get("layout") == "channels_last":
        values["x"] = np.moveaxis(values["x"], 1, -1) if values["x"].ndim > 1 else values["x"]
        if "conv" in row.name and values["weight"].ndim > 1:
            values["weight"] = np.moveaxis(values["weight"], (0, 1), (-1, -2))
    if values.get("layout") == "batch_first":
        for name in ("x", "initial_h", "initial_c"):
            if name in values and values[name].ndim > 1:
                values[name] = values[name].swapaxes(0, 1)


# Attributes


def _attribute(random: Random, row: Primitive, param: PrimitiveParam, tokens: list[str] | None, names: Names) -> Any:
    if tokens is not None and random.random() < 0.8:
        found = _evaluated(tokens, names)
        return found if param.kind in ("ints", "sizes", "shape", "target") else found[0]
    match param.kind:
        case "size":
            return int(random.integers(-2, 5))
        case "int":
            return int(random.integers(-3, 4))
        case "ints":
            return tuple(int(n) for n in random.integers(-2, 3, int(random.integers(1, 4))))
        case "sizes" if param.name in ("strides", "dilations", "kernel_shape", "scales", "output_padding"):
            count = 1 if random.random() < 0.8 else int(random.integers(1, 4))
            return tuple(int(n) for n in random.integers(int(random.random() < 0.9), 3, count))
        case "sizes" | "shape" | "target":
            wild = param.kind == "target" and random.random() < 0.4
            return (
                *(WILDCARD,) * wild,
                *(int(n) for n in random.integers(-(random.random() < 0.1), 4, random.integers(0, 4))),
            )
        case "pairs":
            count = 2 if row.name == "pad" else 1
            count = count if random.random() < 0.8 else int(random.integers(1, 4))
            return tuple((int(a), int(b)) for a, b in random.integers(-(random.random() < 0.1), 2, (count, 2)))
        case "float":
            return float(random.choice([0.0, 0.5, 1.0, 2.0, -1.0, 1e-5, np.inf, -np.inf]))
        case "bool":
            return bool(random.random() < 0.5)
        case "dtype":
            return DTYPES[str(random.choice(list(DTYPES)))]
        case "str":
            choices = STRINGS.get(f"{row.name}.{param.name}") or STRINGS[param.name]
            return "other" if random.random() < 0.03 else str(random.choice(choices))
    raise AssertionError(param.kind)


# As a text


def literal(value: Any) -> str:
    """An attribute as it is written."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case DType():
            return value.name
        case tuple() | list():
            return f"[{', '.join(map(literal, value))}]"
    return "-1" if value is WILDCARD else f"(0 - {-value})" if isinstance(value, int) and value < 0 else repr(value)


def written(row: Primitive, values: dict[str, Any]) -> tuple[str, dict[str, np.ndarray]]:
    """The call, and the tensors that it names."""
    tensors: dict[str, np.ndarray] = {}

    def named(value: Any) -> str:
        if not isinstance(value, np.ndarray):
            return literal(value)
        tensors[f"t{len(tensors)}"] = value
        return f"t{len(tensors) - 1}"

    shown = []
    for param in row.params:
        value = values.get(param.name)
        if value is not None:
            text = f"[{', '.join(map(named, value))}]" if param.kind == "tensors" else named(value)
            if param.kind == "pairs":
                text = f"[{', '.join(f'({literal(a)}, {literal(b)})' for a, b in value)}]"
            shown.append(f"{param.name}={text}")
    return f"@{row.name}({', '.join(shown)})", tensors
