"""PyTorch's kernels of convolution and pooling, over the windows of NumPy's kernels."""

from __future__ import annotations

from math import prod

import torch
import torch.nn.functional as F

from ...ops.windows import spatial_count, spread
from ..engine_types import EngineArray as Array, EngineSize, EngineSizes, Kernel
from ..kernels.conv import _transposed_sizes
from ..kernels.pool import _divisor
from ..kernels.windows import Grid, grid_of

_CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
_MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}


def _first(x: Array, layout: str, count: int) -> Array:
    """An image with its spatial axes last."""
    return x.movedim(-1, -1 - count) if layout == "channels_last" else x


def _back(x: Array, layout: str, count: int) -> Array:
    return x.movedim(-1 - count, -1) if layout == "channels_last" else x


def _filters(weight: Array, layout: str) -> Array:
    return weight.movedim((-1, -2), (0, 1)) if layout == "channels_last" else weight


def _padded(x: Array, borders: EngineSizes, value: Array = 0) -> Array:
    flat = [n for pair in reversed(list(borders)) for n in pair]
    return F.pad(x, flat, value=value) if any(flat) else x


def _biased(made: Array, bias: Array | None) -> Array:
    return made if bias is None else made + bias.reshape(-1, *(1,) * (made.ndim - 2))


def conv(
    x: Array, weight: Array, bias: Array | None, strides: EngineSizes, pads: EngineSizes, auto_pad: str,
    dilations: EngineSizes, groups: int, layout: str,
) -> Array:  # fmt: skip
    count = x.ndim - 2
    image, filters = _first(x, layout, count), _filters(weight, layout)
    grid = grid_of(tuple(image.shape[2:]), tuple(filters.shape[2:]), strides, pads, auto_pad, dilations)
    shape = (image.shape[0], filters.shape[0], *grid.counts)
    if not image.numel() or not filters.numel() or not prod(shape):
        return _back(_biased(image.new_zeros(shape), bias), layout, count)
    made = _CONV[count](_padded(image, grid.borders), filters, bias, grid.strides, 0, grid.dilations, groups)
    return _back(made, layout, count)


def conv_transpose(
    x: Array, weight: Array, bias: Array | None, strides: EngineSizes, pads: EngineSizes, auto_pad: str,
    output_padding: EngineSizes, output_shape: EngineSizes, dilations: EngineSizes, groups: int, layout: str,
) -> Array:  # fmt: skip
    count = x.ndim - 2
    image, filters = _first(x, layout, count), _filters(weight, layout)
    sizes, kernel = tuple(image.shape[2:]), tuple(filters.shape[2:])
    made = _transposed_sizes(sizes, kernel, strides, pads, auto_pad, output_padding, output_shape, dilations)
    grid = Grid(made, kernel, strides, pads, auto_pad, dilations, counts=sizes)
    if not image.numel() or not filters.numel():
        result = image.new_zeros((image.shape[0], filters.shape[1] * groups, *made))
    else:
        whole = _TRANSPOSED[count](image, filters, None, grid.strides, 0, 0, groups, grid.dilations)
        lows = (low for low, _ in grid.pads)
        cuts = [(-low, low + n - have) for low, n, have in zip(lows, made, whole.shape[2:], strict=True)]
        result = _padded(whole, cuts)
    return _back(_biased(result, bias), layout, count)


def _laid(
    x: Array, kernel: EngineSize, strides: EngineSizes, pads: EngineSizes, auto_pad: str, dilations: EngineSizes,
    ceil_mode: bool, layout: str, spatial: int | None,
) -> tuple[Array, Grid]:  # fmt: skip
    count = spatial_count(kernel, x.ndim) if spatial is None else spatial
    image = _first(x, layout, count)
    steps = kernel if strides is None else strides
    return image, Grid(
        tuple(image.shape[-count:]), spread(kernel, count, 1), steps, pads, auto_pad, dilations, ceil_mode
    )


def _over_windows(function: Kernel, padded: Array, grid: Grid) -> Array:
    """Apply a function to the elements of each window, along one axis after the other."""
    result = padded
    for i, size in enumerate(grid.kernel):
        after = (slice(None),) * (len(grid.counts) - 1 - i)
        result, *others = (result[(..., grid.places(i, p), *after)] for p in range(size))
        for other in others:
            result = function(result, other)
    return result


def _max_pool(spatial: int | None) -> Kernel:
    def run(
        x: Array, kernel_shape: EngineSizes, strides: EngineSizes, pads: EngineSizes, auto_pad: str,
        dilations: EngineSizes, ceil_mode: bool, layout: str
    ) -> Array:  # fmt: skip
        image, grid = _laid(x, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode, layout, spatial)
        count = len(grid.counts)
        if not prod(grid.counts):
            return _back(image.new_zeros((*image.shape[:-count], *grid.counts)), layout, count)
        is_float = image.is_floating_point()
        padded = _padded(image, grid.borders, float("-inf") if is_float else torch.iinfo(image.dtype).min)
        if is_float and padded.numel() and count in _MAX and image.ndim == count + 2:
            made = _MAX[count](padded, grid.kernel, grid.strides, 0, grid.dilations)
        else:
            made = _over_windows(torch.maximum, padded, grid)
        return _back(made, layout, count)

    return run


def _average_pool(spatial: int | None) -> Kernel:
    def run(
        x: Array, kernel_shape: EngineSizes, strides: EngineSizes, pads: EngineSizes, auto_pad: str,
        dilations: EngineSizes, ceil_mode: bool, count_include_pad: bool, layout: str,
    ) -> Array:  # fmt: skip
        image, grid = _laid(x, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode, layout, spatial)
        count = len(grid.counts)
        if not prod(grid.counts):
            return _back(image.new_zeros((*image.shape[:-count], *grid.counts)), layout, count)
        made = _over_windows(torch.add, _padded(image, grid.borders), grid)
        for i in range(count):
            divisor = torch.as_tensor(_divisor(grid, i, count_include_pad), dtype=made.dtype, device=made.device)
            made = made / divisor.reshape(-1, *(1,) * (count - 1 - i))
        return _back(made, layout, count)

    return run


OWN: dict[str, Kernel] = {
    **{f"conv{s}": conv for s in ("", "1d", "2d", "3d")},
    **{f"conv_transpose{s}": conv_transpose for s in ("", "1d", "2d", "3d")},
    **{f"max_pool{s}": _max_pool(n) for s, n in (("", None), ("1d", 1), ("2d", 2), ("3d", 3))},
    **{f"average_pool{s}": _average_pool(n) for s, n in (("", None), ("1d", 1), ("2d", 2), ("3d", 3))},
}
