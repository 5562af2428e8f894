"""Kernels of convolution and pooling that write nodes of ONNX."""

from __future__ import annotations

from typing import Any

from .onnx_kernels import Array, Emit, kernel
from .symbolic import Dim
from .table import Refused


def _numbers(values: Any, what: str) -> list[int]:
    if any(isinstance(v, Dim) for v in values):
        raise Refused(f"{what} that are known at a call only")
    return [int(v) for v in values]


def _spread(values: Any, count: int, default: int) -> list[int]:
    given = [default] * count if values is None else list(values)
    return _numbers(given * count if len(given) == 1 else given, "strides, dilations and kernels")


def _pads(pads: Any, count: int) -> list[int]:
    pairs = [(0, 0)] * count if pads is None else list(pads)
    pairs = pairs * count if len(pairs) == 1 else pairs
    return _numbers([low for low, _ in pairs] + [high for _, high in pairs], "pads")


def _first(layout: str) -> None:
    if layout != "channels_first":
        raise Refused("images with the channels last")


def _window(strides: Any, pads: Any, auto_pad: str, dilations: Any, count: int) -> dict[str, Any]:
    found: dict[str, Any] = {"strides": _spread(strides, count, 1), "dilations": _spread(dilations, count, 1)}
    if auto_pad == "notset":
        found["pads"] = _pads(pads, count)
    else:
        found["auto_pad"] = auto_pad.upper()
    return found


def conv(
    e: Emit, x: Array, weight: Array, bias: Array | None, strides: Any, pads: Any, auto_pad: str, dilations: Any,
    groups: Any, layout: str,
) -> str:  # fmt: skip
    _first(layout)
    window = _window(strides, pads, auto_pad, dilations, len(x.shape) - 2)
    given = [x.value, weight.value, *([] if bias is None else [bias.value])]
    return e.node("Conv", *given, group=_numbers([groups], "groups")[0], **window)  # type: ignore[no-any-return]


def conv_transpose(
    e: Emit, x: Array, weight: Array, bias: Array | None, strides: Any, pads: Any, auto_pad: str, output_padding: Any,
    output_shape: Any, dilations: Any, groups: Any, layout: str,
) -> str:  # fmt: skip
    _first(layout)
    if output_shape is not None or auto_pad != "notset":
        raise Refused("@conv_transpose with an `output_shape` or `auto_pad`")
    count = len(x.shape) - 2
    window = _window(strides, pads, auto_pad, dilations, count)
    given = [x.value, weight.value, *([] if bias is None else [bias.value])]
    more = _spread(output_padding, count, 0)
    group = _numbers([groups], "groups")[0]
    return e.node("ConvTranspose", *given, group=group, output_padding=more, **window)  # type: ignore[no-any-return]


def max_pool(
    e: Emit, x: Array, kernel_shape: Any, strides: Any, pads: Any, auto_pad: str, dilations: Any, ceil_mode: bool,
    layout: str,
) -> str:  # fmt: skip
    _first(layout)
    count = len(x.shape) - 2
    sizes = _spread(kernel_shape, count, 1)
    window = _window(sizes if strides is None else strides, pads, auto_pad, dilations, count)
    if x.dtype.name not in ("float32", "float64", "int8", "uint8"):
        raise Refused(f"@max_pool of {x.dtype}")
    if ceil_mode:
        raise Refused("@max_pool with `ceil_mode`")
    return e.node("MaxPool", x.value, kernel_shape=sizes, **window)  # type: ignore[no-any-return]


def average_pool(
    e: Emit, x: Array, kernel_shape: Any, strides: Any, pads: Any, auto_pad: str, dilations: Any, ceil_mode: bool,
    count_include_pad: bool, layout: str,
) -> str:  # fmt: skip
    _first(layout)
    count = len(x.shape) - 2
    sizes = _spread(kernel_shape, count, 1)
    window = _window(sizes if strides is None else strides, pads, auto_pad, dilations, count)
    if ceil_mode:
        raise Refused("@average_pool with `ceil_mode`")
    include = int(count_include_pad)
    return e.node("AveragePool", x.value, kernel_shape=sizes, count_include_pad=include, **window)  # type: ignore[no-any-return]


for _suffix in ("", "1d", "2d", "3d"):
    kernel(f"conv{_suffix}")(conv)
    kernel(f"conv_transpose{_suffix}")(conv_transpose)
    kernel(f"max_pool{_suffix}")(max_pool)
    kernel(f"average_pool{_suffix}")(average_pool)
