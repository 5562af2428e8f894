"""Operators that slide windows over spatial axes."""

from __future__ import annotations

from .demands import of_rank
from .registry import Reader, Untranslatable, listed, number, operator, rows


def pairs(pads: tuple[int, ...]) -> str:
    """Pads by axis; the attribute lists those before all axes, then those after."""
    half, odd = divmod(len(pads), 2)
    if odd:
        raise Untranslatable(f"has {len(pads)} pads, which are no pairs")
    return listed([f"({a}, {b})" for a, b in zip(pads[:half], pads[half:], strict=True)])


def spaced(node: Reader, *names: str, strides: str = "", filters: int | None = None, axes: int | None = None) -> str:
    """The attributes of windows that differ from their defaults; `strides` is the argument of our primitive if the node has
    none, and `filters` the input with the kernel's axes, to count them if no attribute does. Pads are ignored if `auto_pad`
    determines them, and so are empty lists."""
    axes = _axes(node, filters) if axes is None else axes
    found = [strides] if node.integers("strides") is None and strides else []
    auto = node.word("auto_pad", "NOTSET").lower()
    for name in names:
        values = None if name == "pads" and auto != "notset" else node.integers(name)
        default = {0} if name in ("pads", "output_padding") else set() if strides and name == "strides" else {1}
        wanted = axes and axes * (2 if name == "pads" else 1)
        if values and wanted is not None and len(values) != wanted:
            raise Untranslatable(f"its attribute `{name}` has {len(values)} numbers; {axes} axes take {wanted}")
        if values and set(values) - default:
            found.append(f", {name}={pairs(values) if name == 'pads' else listed(values)}")
    if auto != "notset":
        found.append(f', auto_pad="{auto}"')
    return "".join(found)


def _axes(node: Reader, filters: int | None) -> int | None:
    """The number of spatial axes, if the node tells it."""
    kernel = node.integers("kernel_shape")
    if kernel is not None:
        return len(kernel)
    if filters is None:
        return None
    held = node.constant_shape(filters)
    rank = node.rank(filters) if held is None else len(held)
    return None if rank is None or rank < 3 else rank - 2


@operator("Conv")
def conv(node: Reader) -> str:
    group = node.integer("group", 1)
    groups = "" if group == 1 else f", groups={group}"
    shaped = spaced(node, "strides", "pads", "dilations", filters=1)
    return f"@conv({node.x(0)}, {node.of_kernel(1)}{node.optional(2, 'bias')}{shaped}{groups})"


def _wanted(node: Reader) -> str | None:
    """The spatial sizes of a transposed convolution's result, if they determine the pads: strides times the operand's if
    `output_padding` is given."""
    said, more = node.integers("output_shape"), node.integers("output_padding")
    if said is not None:
        return listed(said)
    if not more or not any(more) or not node.word("auto_pad", "NOTSET").startswith("SAME"):
        return None
    strides = node.integers("strides") or (1,) * len(more)
    return f"[{', '.join(f'{node.x(0)}.dim({i}) * {stride}' for i, stride in enumerate(strides, 2))}]"


@operator("ConvTranspose")
def conv_transpose(node: Reader) -> str:
    group = node.integer("group", 1)
    groups = "" if group == 1 else f", groups={group}"
    wanted = _wanted(node)
    if wanted is not None:
        upper = ", upper=true" if node.word("auto_pad", "NOTSET") == "SAME_UPPER" else ""
        shaped = "".join(
            f", {name}={listed(values)}"
            for name in ("strides", "output_padding", "dilations")
            if (values := node.integers(name)) is not None
        )
        return (
            f"@onnx.conv_transpose({node.x(0)}, {node.of_kernel(1)}{node.optional(2, 'bias')}, output_shape={wanted}"
            f"{shaped}{groups}{upper}{'' if node.integers('output_shape') is not None else ', filled=true'})"
        )
    shaped = spaced(node, "strides", "pads", "output_padding", "dilations", filters=1)
    return f"@conv_transpose({node.x(0)}, {node.of_kernel(1)}{node.optional(2, 'bias')}{shaped}{groups})"


def pooling(node: Reader) -> tuple[int, ...]:
    """The kernel of a pool; its operand must have a batch and channels beside the kernel's axes."""
    kernel = node.integers("kernel_shape")
    if kernel is None:
        raise Untranslatable("has no kernel_shape")
    of_rank(node, len(kernel) + 2, f" for a kernel of {len(kernel)} axes")
    return kernel


def _pool(node: Reader, name: str, *, more: str = "") -> str:
    """A pool by our primitive, which takes pads of at most half the kernel, or by ONNX's, which takes any."""
    kernel = pooling(node)
    ceil = ", ceil_mode=true" if node.integer("ceil_mode", 0) else ""
    shaped = spaced(node, "strides", "pads", "dilations", strides=", strides=[1]")
    pads = node.integers("pads") or ()
    wide = any(pad > size // 2 for pad, size in zip(pads, kernel * 2, strict=False))
    if wide and "pads=" in shaped and not name.startswith("onnx."):
        name = f"onnx.{name}"
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


rows(
    {
        "LpPool": lambda node: _pool(node, "lp_pool", more=f", p={number(float(node.number('p', 2)))}"),
        "GlobalLpPool": lambda node: f"@onnx.global_lp_pool({node.x(0)}, p={number(float(node.number('p', 2)))})",
    }
)
