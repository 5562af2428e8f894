"""The names of our primitives and their parameters in NumPy, PyTorch, TensorFlow, Keras, JAX and ONNX.

Used only in helps: a name in this table is not a name of Rx.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from . import registry
from .model import PrimitiveParam

# Our names, and those of others. Capitals and underscores are ignored: MaxPool2d, max_pool_2d.
_PRIMITIVES = {
    "abs": "absolute fabs",
    "acos": "arccos",
    "acosh": "arccosh",
    "adaptive_average_pool": "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_avg_pool",
    "adaptive_max_pool": "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d",
    "add": "plus add_n",
    "all": "reduce_all",
    "any": "reduce_any",
    "arange": "iota range",
    "argmax": "arg_max",
    "argmin": "arg_min",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "attention": "scaled_dot_product_attention sdpa dot_product_attention multi_head_attention multihead_attention",
    "average_pool": "avg_pool average_pooling",
    "average_pool1d": "avg_pool1d average_pooling1d",
    "average_pool2d": "avg_pool2d average_pooling2d",
    "average_pool3d": "avg_pool3d average_pooling3d",
    "batch_normalization": "batch_norm batch_norm1d batch_norm2d batch_norm3d bn",
    "binary_cross_entropy": "bce bce_loss binary_crossentropy",
    "binary_cross_entropy_with_logits": "bce_with_logits bce_with_logits_loss sigmoid_cross_entropy_with_logits",
    "bitwise_invert": "bitwise_not invert",
    "broadcast_arrays": "broadcast_tensors",
    "broadcast_to": "expand expand_as broadcast_in_dim",
    "cast": "astype convert_element_type to type type_as",
    "clip": "clamp clip_by_value",
    "concat": "cat concatenate hstack vstack dstack",
    "conj": "conjugate",
    "conv1d": "convolution1d",
    "conv2d": "convolution2d convolution",
    "conv3d": "convolution3d",
    "conv_transpose": "deconv deconvolution",
    "conv_transpose1d": "conv1d_transpose",
    "conv_transpose2d": "conv2d_transpose deconv2d",
    "conv_transpose3d": "conv3d_transpose",
    "cross_entropy_loss": "cross_entropy sparse_categorical_crossentropy sparse_softmax_cross_entropy_with_logits",
    "cumulative_prod": "cumprod",
    "cumulative_sum": "cumsum",
    "cumulative_max": "cummax maximum_accumulate",
    "cumulative_min": "cummin minimum_accumulate",
    "cumulative_logsumexp": "logcumsumexp",
    "non_max_suppression": "nms batched_nms NonMaxSuppression",
    "rotary_embedding": "apply_rotary_pos_emb apply_rotary_emb rope rotary",
    "grouped_query_attention": "gqa GroupQueryAttention multi_query_attention mqa",
    "quantize": "quantize_linear quantize_per_tensor quantize_per_channel",
    "dequantize": "dequantize_linear",
    "unfold": "im2col extract_patches extract_image_patches",
    "fold": "col2im",
    "overlap_add": "overlap_and_add",
    "segment_sum": "unsorted_segment_sum scatter_sum",
    "segment_mean": "unsorted_segment_mean scatter_mean",
    "segment_max": "unsorted_segment_max scatter_max",
    "segment_min": "unsorted_segment_min scatter_min",
    "gather_slices": "dynamic_slice",
    "diagonal": "diag diag_part",
    "divide": "div true_divide truediv",
    "embedding": "embedding_lookup",
    "equal": "eq",
    "expand_dims": "unsqueeze newaxis",
    "filter": "boolean_mask masked_select",
    "flatten": "ravel",
    "flip": "fliplr flipud reverse",
    "floor_divide": "floordiv floor_div",
    "full": "fill constant",
    "global_average_pool": "global_avg_pool global_average_pooling global_average_pooling1d global_average_pooling2d",
    "global_max_pool": "global_max_pooling global_max_pooling1d global_max_pooling2d",
    "greater": "gt",
    "greater_equal": "ge gte",
    "group_normalization": "group_norm",
    "hard_sigmoid": "hardsigmoid",
    "hard_swish": "hardswish",
    "huber_loss": "huber",
    "instance_normalization": "instance_norm instance_norm1d instance_norm2d instance_norm3d",
    "inv": "inverse",
    "isfinite": "is_finite",
    "isin": "in1d",
    "isinf": "is_inf",
    "isnan": "is_nan",
    "kl_div": "kl_div_loss kullback_leibler_divergence",
    "l1_loss": "mae mean_absolute_error",
    "layer_norm": "layer_normalization",
    "less": "lt",
    "less_equal": "le lte",
    "linear": "fully_connected",
    "lrn": "local_response_norm local_response_normalization",
    "matmul": "mm bmm dot mv gemm batch_matmul",
    "matrix_norm": "norm",
    "matrix_transpose": "transpose t mt adjoint",
    "max": "amax reduce_max",
    "max_pool": "max_pooling",
    "max_pool1d": "max_pooling1d",
    "max_pool2d": "max_pooling2d",
    "max_pool3d": "max_pooling3d",
    "mean": "reduce_mean average",
    "min": "amin reduce_min",
    "moveaxis": "movedim",
    "mse_loss": "mse mean_squared_error",
    "multiply": "mul times",
    "negative": "neg",
    "nll_loss": "nll",
    "nonzero": "argwhere",
    "not_equal": "ne",
    "outer": "ger",
    "permute_dims": "permute transpose",
    "pow": "power",
    "prod": "reduce_prod",
    "put": "index_put index_copy",
    "quantile": "percentile",
    "random_categorical": "categorical multinomial",
    "random_key": "prng_key",
    "random_normal": "normal standard_normal",
    "random_permutation": "randperm permutation shuffle",
    "random_split": "split_key",
    "random_uniform": "uniform",
    "remainder": "mod",
    "repeat": "repeat_interleave",
    "repeat_each": "repeat_interleave",
    "reshape": "view view_as",
    "resize": "interpolate",
    "rms_norm": "rms_normalization",
    "scatter_elements": "scatter",
    "sigmoid": "logistic expit",
    "silu": "swish",
    "size": "numel",
    "slice": "narrow strided_slice",
    "slogdet": "logdet",
    "smooth_l1_loss": "smooth_l1",
    "softmax_cross_entropy": "categorical_crossentropy softmax_cross_entropy_with_logits",
    "split": "chunk array_split hsplit vsplit tensor_split",
    "stack": "pack",
    "std": "reduce_std",
    "subtract": "sub minus",
    "sum": "reduce_sum",
    "svdvals": "singular_values",
    "swapaxes": "swapdims transpose",
    "take": "gather index_select",
    "take_along_axis": "take_along_dim",
    "topk": "top_k",
    "tril": "lower_triangle",
    "unique_all": "unique",
    "unique_values": "unique",
    "unstack": "unbind unpack",
    "update_slice": "dynamic_update_slice",
    "upsample": "upsampling upsampling1d upsampling2d upsampling3d upsampling_nearest2d upsampling_bilinear2d",
    "var": "variance reduce_variance",
    "vecdot": "inner inner_product",
    "vector_norm": "norm",
    "where": "select masked_fill",
    "zeros": "empty",
    "zeros_like": "empty_like",
}

_PARAMETERS = {
    "axes": "perm dims permutation axis dim",
    "axis": "dim dims axes",
    "axis1": "dim0 axis0",
    "axis2": "dim1",
    "auto_pad": "padding",
    "bias": "beta b",
    "causal": "is_causal",
    "correction": "ddof",
    "depth": "num_classes",
    "dilations": "dilation dilation_rate",
    "end": "end_dim",
    "epsilon": "eps",
    "equation": "subscripts",
    "groups": "group feature_group_count",
    "indices": "index indices_or_sections",
    "k": "diagonal",
    "keepdims": "keepdim keep_dims",
    "kernel_shape": "kernel_size kernel pool_size window_shape ksize",
    "layout": "data_format dimension_numbers",
    "mask": "attn_mask",
    "max": "a_max high max_value",
    "mean": "running_mean",
    "min": "a_min low min_value",
    "num_groups": "groups",
    "offset": "diagonal",
    "output_shape": "output_size",
    "pads": "padding pad pad_width paddings",
    "ratio": "p rate",
    "repeats": "reps multiples",
    "scale": "gamma weight",
    "scales": "scale_factor",
    "sections": "chunks num_or_size_splits indices_or_sections",
    "shape": "newshape size sizes",
    "shift": "shifts",
    "sizes": "size split_size_or_sections output_size",
    "start": "start_dim",
    "strides": "stride",
    "variance": "var running_var",
    "weight": "kernel w filters",
    "x": "input inputs a data",
    "xs": "tensors arrays values operands",
    "y": "other b",
}

# Functions with another order of arguments, other defaults or another result: renamed, they would be accepted and compute
# something else.
_OTHERWISE = """
    argwhere batchnorm batchnorm1d batchnorm2d batchnorm3d binarycrossentropy bn categorical categoricalcrossentropy
    constant dstack fliplr flipud gather groupnorm hstack huber indexcopy indexput indexselect inner innerproduct
    instancenorm instancenorm1d instancenorm2d instancenorm3d interpolate kullbackleiblerdivergence logdet maskedfill
    multiheadattention multinomial narrow norm normal percentile permutation prngkey randperm reverse scatter select shuffle
    sigmoidcrossentropywithlogits softmaxcrossentropywithlogits sparsecategoricalcrossentropy
    sparsesoftmaxcrossentropywithlogits splitkey standardnormal stridedslice uniform unique upsampling upsampling1d
    upsampling2d upsampling3d vstack
"""

# Functions whose defaults or meaning may differ in ways that no check sees: first axes instead of the last, a layout, the
# size of parts instead of their number. Renaming may be right; a person has to look at it.
_UNSURE = """
    Flatten adjoint argsort averagepooling1d averagepooling2d averagepooling3d avgpool avgpool1d avgpool2d avgpool3d
    cosinesimilarity cummax cummin diagonal diff dot dropout empty emptylike eye fold gelu gemm globalaveragepooling1d
    globalaveragepooling2d globalmaxpooling1d globalmaxpooling2d hardsigmoid hsplit kldiv leakyrelu maxpooling1d
    maxpooling2d maxpooling3d nonzero ones pad resize sort split squeeze std take tensordot trace unfold unique var
    variance zeros
"""
# The positions that PyTorch returns beside an extremum along an axis.
PLACES = {"max": "argmax", "min": "argmin"}
# Functions of two tensors, called elsewhere like an extremum along an axis.
OF_TWO = {"max": "maximum", "min": "minimum"}
# The positional order of arguments, where it differs from ours.
_ORDERS = dict.fromkeys(("chunk", "array_split", "tensor_split"), "x sections axis")

_RANDOM = "random numbers are made of a key: `@{}(@random_key(0), [2, 3])`"
_UNIFORM, _NORMAL = _RANDOM.format("random_uniform"), _RANDOM.format("random_normal")
_BELOW = "numbers below n are made of uniform ones: `@cast(@random_uniform(key, [2, 3]) * 10.0, int64)`"
_CAST = "`@cast({{x}}, {0})` does this of a tensor, `@size_to_tensor(n, {0})` of a size"
_SAID = {
    "double": _CAST.format("float64"), "float": _CAST.format("float32"),
    "half": _CAST.format("float16"), "int": _CAST.format("int32"), "long": _CAST.format("int64"),
    "len": "`{x}.dim(0)` is the size of the first axis", "ndim": "`{x}.rank` is the number of axes",
    **dict.fromkeys(("vmap", "map"), "`@map(f, xs)` calls f with each row of xs"),
    "scan": "`@scan(f, init, xs)` hands a state along the rows of xs, and so does a loop with `stack`",
    "reduce": "`@mean(x, axis=[1, 2])` and its like take axes together, `@fold(f, init, xs)` calls f with each row of xs",
    "cond": "a choice is written `if (c) {{ a }} else {{ b }}`", "jit": "leave it out: a program is compiled as it is",
    "fori_loop": "a loop is written `for i in range(n) with (x = x) {{ ... }}`",
    "while_loop": "a loop is written `while (c) with (x = x) {{ ... }}`",
    "dot_general": "`@einsum` names the axes of a product, `@matmul` takes the last two",
    "set": "`@put(x, i, y)` gives x with other rows, `@update_slice(x, y, [i, 0])` with another window",
    "randint": _BELOW, "random_randint": _BELOW, "random_integers": _BELOW,
    "rand": _UNIFORM, "randn": _NORMAL, "random": _UNIFORM,
    "print": "a script prints its expression lines, and `rx shapes` lists the shape of each binding",
    "rearrange": "`@reshape` splits and merges axes, `@permute_dims` moves them, `@repeat` makes them longer",
    "tensor": "a literal is written without the `@`: `tensor([1, 2], float32)`",
}  # fmt: skip


def otherwise(name: str, of: str = "x") -> str | None:
    """The help for a name that must not simply be replaced: the closest functions here, for a tensor `of`."""
    if name in _SAID:
        return _SAID[name].format(x=of)
    if _plain(name) not in _OTHERWISE.split():
        return None
    calls = [f"`{_call(ours)}`" for ours in primitives(name)]
    listed = " or ".join(filter(None, (", ".join(calls[:-1]), *calls[-1:])))
    return f"{listed} is the closest function here, and its arguments may differ"


# Attributes and methods of tensors without effect on shapes or numbers, and others without a primitive.
_NOTHING = dict.fromkeys(
    (
        "cuda",
        "cpu",
        "contiguous",
        "detach",
        "clone",
        "numpy",
        "data",
        "copy",
        "requires_grad_",
        "item_",
        "block_until_ready",
    ),
    "leave it out: tensors are values, in memory and without gradients",
)
_NOTHING |= dict.fromkeys(
    ("device", "grad", "requires_grad", "backward"), "tensors have no devices and no gradients here"
)
_NOTHING |= {
    **dict.fromkeys(
        ("values", "indices"), "values and their places are two functions: `@max` and `@argmax`, `@sort` and `@argsort`"
    ),
    "newaxis": "`@expand_dims(x, axis=1)` is `x[:, None]`",
    "append": "`stack (y : T)` collects a value of each turn of a loop",
    "forward": "a function is called by its name: `@f(x)`",
}
# Flags of calls in other libraries.
_LEFT_OUT = dict.fromkeys(("inplace", "device", "requires_grad", "out", "name", "non_blocking"), "leave it out")
_LEFT_OUT |= dict.fromkeys(
    ("training", "deterministic"), "leave it out: without random numbers @dropout changes nothing"
)
_LEFT_OUT |= {
    "dtype": "`@cast` gives the result another dtype",
    "unbiased": "`correction=1.0` divides by one less, `correction=0.0` does not",
    "generator": "random numbers are made of a key: `@random_key(0)`",
    "normalized_shape": "the shape is that of `scale`",
}

# Methods whose meaning differs from that of the primitive of the same name.
_METHODS = {
    "size": "`{x}.dim(0)` is the size of an axis, `@size({x})` the number of elements",
    "repeat": "`@tile({x}, [2, 1])` repeats the whole, `@repeat({x}, 2, axis=0)` each element",
    "where": "`@where(c, {x}, y)` is {x} where c is true",
    "gather": "`@gather_elements({x}, at, axis=1)` takes an element for each index, `@take({x}, at, axis=1)` whole rows",
}
# The usual names and aliases of other libraries.
LIBRARIES = frozenset(
    ("np", "numpy", "torch", "nn", "F", "jnp", "jax", "lax", "tf", "keras", "scipy", "einops", "math")
)


def of_library(alias: str, name: str) -> str | None:
    """The help for a call through another library's usual alias, or None."""
    if alias not in LIBRARIES:
        return None
    name = name.rpartition(".")[2]
    calls = " or ".join(f"`@{ours}(...)`" for ours in primitives(name))
    return otherwise(name) or (f"a tensor function needs no import: {calls}" if calls else None)


def is_sure(name: str) -> bool:
    """Whether another library's call means the same if the primitive takes its arguments."""
    return name not in _UNSURE.split() and _plain(name) not in _UNSURE.split()


def order(name: str, params: Iterable[PrimitiveParam]) -> list[PrimitiveParam]:
    """The parameters in the order in which another library's function of that name takes arguments."""
    known = {p.name: p for p in params}
    return [known[p] for p in _ORDERS[name].split()] if name in _ORDERS else list(known.values())


def another(name: str, of: str) -> str | None:
    """The help for a method whose name belongs to a primitive with another meaning, or None."""
    return _METHODS[name].format(x=of) if name in _METHODS else None


def flag(name: str) -> str | None:
    """The help for a parameter of calls in other libraries, or None."""
    return _LEFT_OUT.get(name)


def is_left_out(name: str) -> bool:
    """Whether another library's parameter has no meaning here."""
    return _LEFT_OUT.get(name) == "leave it out"


def attribute(name: str) -> str | None:
    """The help for another library's attribute or method without a counterpart here, or None."""
    return _NOTHING.get(name)


def method(name: str, of: str) -> str | None:
    """The help for another library's tensor method, or None."""
    called = " or ".join(f"`@{ours}({of}, ...)`" for ours in primitives(name))
    return otherwise(name, of) or (f"write {called}" if called else None)


def _call(ours: str) -> str:
    """`@where(condition, x, y)`: the required parameters, and `...` for others."""
    row = registry.lookup(ours)
    params = row.params if row is not None else ()
    needed = [p.name for p in params if p.required]
    return f"@{ours}({', '.join(needed if len(needed) == len(params) else [*needed, '...'])})"


def primitives(name: str) -> tuple[str, ...]:
    """The primitives for another library's name, sorted by name."""
    return _by_name().get(_plain(name), ())


def table() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each primitive with its other names elsewhere, ONNX's included."""
    others = {ours: tuple(n for n in _others(ours) if _plain(n) != _plain(ours)) for ours in sorted(registry.names())}
    return tuple((ours, names) for ours, names in others.items() if names)


def parameters(name: str, of: Iterable[PrimitiveParam]) -> tuple[str, ...]:
    """A primitive's parameters that another library calls by this name."""
    return tuple(p.name for p in of if name in _PARAMETERS.get(p.name, "").split())


@cache
def _by_name() -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for ours in registry.names():
        for theirs in (ours, *_others(ours)):
            found.setdefault(_plain(theirs), set()).add(ours)
    return {theirs: tuple(sorted(several)) for theirs, several in found.items()}


def _others(ours: str) -> tuple[str, ...]:
    row = registry.lookup(ours)
    return (*_PRIMITIVES.get(ours, "").split(), *(row.onnx if row is not None else ()))


def _plain(name: str) -> str:
    return name.lower().replace("_", "")
