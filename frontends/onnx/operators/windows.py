"""Operators that slide windows over spatial axes, and recurrent layers."""

from __future__ import annotations

from .registry import Reader, Untranslatable, listed, operator


def _pairs(pads: tuple[int, ...]) -> str:
    half = len(pads) // 2
    return listed([f"({a}, {b})" for a, b in zip(pads[:half], pads[half:], strict=True)])


def windows(node: Reader, *names: str, strides: str = "") -> str:
    """The attributes of windows that are not their defaults; `strides` is what our primitive is told where there are none."""
    found = [strides] if node.integers("strides") is None and strides else []
    for name in names:
        values = node.integers(name)
        default = {0} if name in ("pads", "output_padding") else set() if strides and name == "strides" else {1}
        if values is not None and set(values) - default:
            found.append(f", {name}={_pairs(values) if name == 'pads' else listed(values)}")
    auto = node.string("auto_pad", "NOTSET").lower()
    if auto != "notset":
        found.append(f', auto_pad="{auto}"')
    return "".join(found)


@operator("Conv")
def conv(node: Reader) -> str:
    group = node.integer("group", 1)
    groups = "" if group == 1 else f", groups={group}"
    shaped = windows(node, "strides", "pads", "dilations")
    return f"@conv({node.x(0)}, {node.x(1)}{node.optional(2, 'bias')}{shaped}{groups})"


@operator("ConvTranspose")
def conv_transpose(node: Reader) -> str:
    group = node.integer("group", 1)
    groups = "" if group == 1 else f", groups={group}"
    shaped = windows(node, "strides", "pads", "output_padding", "dilations")
    wanted = node.integers("output_shape")
    to = "" if wanted is None else f", output_shape={listed(wanted)}"
    return f"@conv_transpose({node.x(0)}, {node.x(1)}{node.optional(2, 'bias')}{shaped}{to}{groups})"


def _pool(node: Reader, name: str, *, more: str = "") -> str:
    kernel = node.integers("kernel_shape")
    if kernel is None:
        raise Untranslatable("has no kernel_shape")
    ceil = ", ceil_mode=true" if node.integer("ceil_mode", 0) else ""
    shaped = windows(node, "strides", "pads", "dilations", strides=", strides=[1]")
    return f"@{name}({node.x(0)}, {listed(kernel)}{shaped}{ceil}{more})"


@operator("MaxPool")
def max_pool(node: Reader) -> str:
    if node.outputs() > 1:
        more = ", column_major=true" if node.integer("storage_order", 0) else ""
        return _pool(node, "onnx.max_pool_indices", more=more)
    return _pool(node, "max_pool")


@operator("AveragePool")
def average_pool(node: Reader) -> str:
    counted = ", count_include_pad=true" if node.integer("count_include_pad", 0) else ""
    return _pool(node, "average_pool", more=counted)


@operator("LpPool", 2)
def lp_pool(node: Reader) -> str:
    return _pool(node, "lp_pool", more=f", p={node.integer('p', 2)}.0")
