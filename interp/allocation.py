"""How kernels use memory: which return a view of an operand, which allocate, which write into an operand.

Code that follows a program without running it imports this module, so it needs no NumPy.
"""

from __future__ import annotations

# The element-wise kernels that are one function of NumPy, with its name.
UNARY = {
    "negative": "negative", "abs": "absolute", "sign": "sign", "square": "square", "sqrt": "sqrt", "exp": "exp",
    "expm1": "expm1", "log": "log", "log1p": "log1p", "log2": "log2", "log10": "log10", "sin": "sin", "cos": "cos",
    "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "reciprocal": "reciprocal", "bitwise_invert": "invert",
}  # fmt: skip
BINARY = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide", "floor_divide": "floor_divide",
    "remainder": "remainder", "maximum": "maximum", "minimum": "minimum", "atan2": "arctan2", "logaddexp": "logaddexp",
    "hypot": "hypot", "copysign": "copysign", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
}  # fmt: skip
PREDICATES = {
    "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "logical_not": "logical_not",
    "equal": "equal", "not_equal": "not_equal", "less": "less", "less_equal": "less_equal", "greater": "greater",
    "greater_equal": "greater_equal", "logical_and": "logical_and", "logical_or": "logical_or",
    "logical_xor": "logical_xor",
}  # fmt: skip

# Kernels whose result always owns its memory; with when it is row-major: `always`, if the first operand is (`first`), if an
# operand of the result's shape is (`any`), or if NumPy is told so for several matrices (`matrix`).
FRESH: dict[str, str] = {
    **dict.fromkeys((*BINARY, *PREDICATES, "where"), "any"),
    **dict.fromkeys((*UNARY, "isnan", "isinf", "isfinite", "logical_not", "relu", "gelu", "silu", "sigmoid"), "first"),
    **dict.fromkeys(("erf", "rsqrt", "softplus", "softmax", "log_softmax", "layer_norm", "rms_norm"), "first"),
    **dict.fromkeys(("concat", "stack", "linear", "outer"), "always"),
    **dict.fromkeys(("zeros", "ones", "zeros_like", "ones_like", "full", "full_like"), "always"),
    "matmul": "matrix",
}
# The kernels in `FRESH` that can write into an operand of the result's shape and dtype without changing the result: a NumPy
# function takes it as its next argument, a kernel as `out`, which it may ignore.
INTO = frozenset({
    "negative", "abs", "square", "sqrt", "reciprocal", "bitwise_invert", "logical_not", "add", "subtract", "multiply",
    "divide", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor",
    "where", "gelu", "silu", "sigmoid", "erf", "rsqrt", "softplus", "softmax", "log_softmax", "layer_norm", "rms_norm",
})  # fmt: skip
# Kernels whose result may be a view of an operand: `always`, if that operand is row-major (`rows`), if there is nothing to do
# (`same`), and unless the call asks for another dtype, for bounds, or has floats.
VIEWS: dict[str, str] = {
    **dict.fromkeys(("reshape", "flatten"), "rows"),
    **dict.fromkeys(
        ("permute_dims", "matrix_transpose", "swapaxes", "moveaxis", "expand_dims", "squeeze", "broadcast_to", "slice",
         "split", "broadcast_arrays", "meshgrid", "unstack", "flip", "diagonal", "truncate", "frame", "identity", "dropout",
         "stop_gradient", "real", "imag", "positive", "part"),
        "always",
    ),
    **dict.fromkeys(
        ("conj", "diff", "resize", "upsample", "pixel_shuffle", "pixel_unshuffle", "depth_to_space", "space_to_depth",
         "matrix_power", "ifftn", "sum_to"),
        "same",
    ),
    "cast": "another dtype",
    "clip": "bounds",
    **dict.fromkeys(("ceil", "floor", "round", "trunc"), "floats"),
}  # fmt: skip
