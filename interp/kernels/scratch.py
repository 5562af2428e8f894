"""The memory that a kernel allocates besides its result: a row for each kernel that takes much, in bytes.

A row gets the call's arguments by their names (tensors with `dims`, `count` and `bytes`; other numbers and texts; None for
those not given), the result, and a function that gives the smaller of two sizes. Sizes may be ints or expressions: a row adds
and multiplies. Kernels that work block by block take only some blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

Least = Callable[[Any, Any], Any]
Row = Callable[[Mapping[str, Any], Any, Least], Any]
# The number of elements in a block: of an element-wise kernel or of one along the last axis; of the windows of a convolution,
# and their least number; of runs of its channels.
_BLOCK, _COLUMNS, _LEAST, _RUNS = 1 << 16, 1 << 18, 256, 1 << 17


def _blocks(number: int) -> Row:
    """`number` blocks of the result."""
    return lambda given, result, least: least(result.count, _BLOCK) * result.itemsize * number


def _times(results: int = 0, operands: int = 0, elements: int = 0) -> Row:
    """Multiples of the result, of the first operand, and of a byte for each element of that."""

    def row(given: Mapping[str, Any], result: Any, least: Least) -> Any:
        first = next(a for a in given.values() if hasattr(a, "dims"))
        return result.bytes * results + first.bytes * operands + first.count * elements

    return row


def _conv(given: Mapping[str, Any], result: Any, least: Least) -> Any:
    """The padded image, and a block of windows; for a kernel of one place the elements that it meets, if it leaves some out
    or the images are not adjacent."""
    x, sizes, last = given["x"], given["weight"].dims, given["layout"] == "channels_last"
    channels, taps = x.dims[-1 if last else 1], prod(sizes[:-1] if last else sizes[1:])
    padded = x.bytes if given["pads"] is not None or given["auto_pad"] is not None else 0
    met = _points(given, result) * channels * prod(_kernel(given)) * x.itemsize
    if all(tap == 1 for tap in _kernel(given)):
        return padded + (0 if given["strides"] is None and x.dims[0] == 1 else met)
    if channels == given["groups"] and given["strides"] is None:
        return least(
            prod(x.dims[1:]) * x.itemsize + prod(result.dims[1:]) * x.itemsize, _some_channels(channels) * x.itemsize
        )
    most = max(_COLUMNS, _LEAST * taps) if isinstance(taps, int) else _COLUMNS + _LEAST * taps
    return padded + least(met, most * x.itemsize)


def _some_channels(channels: Any) -> Any:
    """For channels with their own filters: runs of some, or all of them if there are at most twice as many points."""
    return max(_RUNS * 5 // 4, 4 * channels**2) if isinstance(channels, int) else _RUNS * 2 + 4 * channels * channels


def _conv_transpose(given: Mapping[str, Any], result: Any, least: Least) -> Any:
    """The products of each element with the kernel."""
    x = given["x"]
    outputs = result.dims[-1] if given["layout"] == "channels_last" else result.dims[1]
    return _points(given, x) * outputs * prod(_kernel(given)) * x.itemsize


def _kernel(given: Mapping[str, Any]) -> Any:
    sizes = given["weight"].dims
    return sizes[:-2] if given["layout"] == "channels_last" else sizes[2:]


def _points(given: Mapping[str, Any], image: Any) -> Any:
    """The number of places in a batch of images."""
    sizes = image.dims[1:-1] if given["layout"] == "channels_last" else image.dims[2:]
    return image.dims[0] * prod(sizes)


def _pool(given: Mapping[str, Any], result: Any, least: Least) -> Any:
    """The windows along one axis, and the padded image."""
    x = given["x"]
    before = prod(result.dims[:-1]) * x.dims[-1] * x.itemsize
    return before if given["pads"] is None and given["auto_pad"] is None else before + x.bytes


def _scores(given: Mapping[str, Any], result: Any, least: Least) -> Any:
    """The scores of every query with every key, twice."""
    q, k = given["q"], given["k"]
    return prod(q.dims[:-1]) * k.dims[-2] * q.itemsize * 2


def _gates(given: Mapping[str, Any], result: Any, least: Least) -> Any:
    """The gates of all steps before and after the bias is added, and the weights of a direction, transposed."""
    x, w, r = given["x"], given["w"], given["r"]
    return (x.dims[0] * x.dims[1] * w.dims[1] * 2 + prod(w.dims[1:]) + prod(r.dims[1:])) * x.itemsize


SCRATCH: dict[str, Row] = {
    **dict.fromkeys(("softmax", "layer_norm", "rms_norm", "instance_normalization", "group_normalization"), _blocks(1)),
    **dict.fromkeys(
        ("rsqrt", "sigmoid", "silu", "softsign", "hard_swish", "hard_sigmoid", "log_softmax", "leaky_relu", "elu", "selu"),
        _blocks(2),
    ),
    **dict.fromkeys(("erf", "gelu", "mish", "softplus"), _blocks(3)),
    "embedding": _times(results=1),
    **dict.fromkeys(("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn"), _times(results=4)),
    **dict.fromkeys(("var", "std"), _times(operands=1)),
    **dict.fromkeys(("logsumexp", "mse_loss", "l1_loss", "softmax_cross_entropy"), _times(operands=2)),
    "binary_cross_entropy_with_logits": _times(operands=3),
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
