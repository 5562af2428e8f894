"""What a kernel allocates beside its result while it computes it: a row for each that takes much, in bytes.

A row is asked with the call's arguments by their names (tensors with `dims`, `count` and `bytes`; numbers and texts; None
where they are not given) and the result. Sizes may be ints or expressions: a row adds and multiplies. Where a
kernel has several moments that may be its greatest, the row gives one number for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

Row = Callable[[Mapping[str, Any], Any], tuple[Any, ...]]


def _times(results: int = 0, operands: int = 0, elements: int = 0) -> Row:
    """So many times the result, the first operand, and a byte for each element of that."""

    def row(given: Mapping[str, Any], result: Any) -> tuple[Any, ...]:
        first = next(a for a in given.values() if hasattr(a, "dims"))
        return (result.bytes * results + first.bytes * operands + first.count * elements,)

    return row


def _conv(given: Mapping[str, Any], result: Any) -> tuple[Any, ...]:
    """All windows one beside the other; and before that the padded image, which is gone when the result comes."""
    x, taps = given["x"], _kernel(given)
    channels = x.dims[-1] if given["layout"] == "channels_last" else x.dims[1]
    points = _points(given, result)
    if all(tap == 1 for tap in taps) and given["strides"] is None and given["pads"] is None:
        return (0,)
    windows = points * channels * prod(taps) * x.itemsize
    padded = x.bytes if given["pads"] is not None or given["auto_pad"] is not None else 0
    return windows, windows + padded - result.bytes


def _conv_transpose(given: Mapping[str, Any], result: Any) -> tuple[Any, ...]:
    """The products of each element with the kernel, and the result before its borders are cut off."""
    x = given["x"]
    outputs = result.dims[-1] if given["layout"] == "channels_last" else result.dims[1]
    return (_points(given, x) * outputs * prod(_kernel(given)) * x.itemsize + result.bytes,)


def _kernel(given: Mapping[str, Any]) -> Any:
    sizes = given["weight"].dims
    return sizes[:-2] if given["layout"] == "channels_last" else sizes[2:]


def _points(given: Mapping[str, Any], image: Any) -> Any:
    """How many places an image has, in all of a batch."""
    sizes = image.dims[1:-1] if given["layout"] == "channels_last" else image.dims[2:]
    return image.dims[0] * prod(sizes)


def _pool(given: Mapping[str, Any], result: Any) -> tuple[Any, ...]:
    return (0,) if given["pads"] is None and given["auto_pad"] is None else (given["x"].bytes,)


def _scores(given: Mapping[str, Any], result: Any) -> tuple[Any, ...]:
    """Every query with every key, twice."""
    q, k = given["q"], given["k"]
    return (prod(q.dims[:-1]) * k.dims[-2] * q.itemsize * 2,)


def _gates(given: Mapping[str, Any], result: Any) -> tuple[Any, ...]:
    """The gates of all steps, before and after the bias is added; of the second direction beside those of the first."""
    x, w = given["x"], given["w"]
    return (x.dims[0] * x.dims[1] * w.dims[1] * x.itemsize * (3 if w.dims[0] == 2 else 2),)


SCRATCH: dict[str, Row] = {
    **dict.fromkeys(
        ("rsqrt", "sigmoid", "silu", "softsign", "hard_swish", "hard_sigmoid", "log_softmax", "layer_norm", "embedding"),
        _times(results=1),
    ),
    **dict.fromkeys(("erf", "gelu", "mish", "softplus", "batch_normalization"), _times(results=2)),
    **dict.fromkeys(("leaky_relu", "elu", "selu"), _times(results=1, elements=1)),
    **dict.fromkeys(("instance_normalization", "group_normalization"), _times(results=3)),
    **dict.fromkeys(("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn"), _times(results=4)),
    **dict.fromkeys(("var", "std", "logsumexp", "mse_loss", "l1_loss", "softmax_cross_entropy"), _times(operands=2)),
    **dict.fromkeys(("binary_cross_entropy_with_logits",), _times(operands=3)),
    **dict.fromkeys(("smooth_l1_loss", "huber_loss"), _times(operands=4, elements=1)),
    "binary_cross_entropy": _times(operands=4),
    "kl_div": _times(operands=2, elements=1),
    "topk": _times(operands=4),
    **{f"conv{suffix}": _conv for suffix in ("", "1d", "2d", "3d")},
    **{f"conv_transpose{suffix}": _conv_transpose for suffix in ("", "1d", "2d", "3d")},
    **{f"{how}_pool{suffix}": _pool for how in ("max", "average", "lp") for suffix in ("", "1d", "2d", "3d")},
    "attention": _scores,
    "grouped_query_attention": _scores,
    **dict.fromkeys(("lstm", "gru", "rnn"), _gates),
}  # fmt: skip
