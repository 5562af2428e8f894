"""Operators over images: resizing, sampling, boxes, deformed convolution, unpooling."""

from __future__ import annotations

from collections.abc import Sequence

from ..literals import of_values
from .registry import Reader, Untranslatable, listed, number, operator, rows
from .windows import spaced


def _flags(node: Reader, **attributes: str) -> str:
    """`, name=true` for each attribute of the model that is not 0."""
    return "".join(f", {ours}=true" for name, ours in attributes.items() if node.integer(name, 0))


def _words(node: Reader, **defaults: str) -> str:
    """`, name="word"` for each of our attributes that has a word."""
    return "".join(f', {ours}="{word}"' for ours, word in defaults.items() if word)


def numbers(values: Sequence[object]) -> str:
    """A row of float32."""
    return of_values([float(v) for v in values if isinstance(v, int | float)], "float32")


def _is_there(node: Reader, at: int) -> bool:
    """Whether an input is given; older versions give an empty one instead of none."""
    if not node.has(at):
        return False
    held = node.scope.constant(node.operation.inputs[at])
    return held is None or 0 not in held.shape


def _mode(node: Reader) -> str:
    mode = node.word("mode", "nearest")
    return "" if mode == "nearest" else f', mode="{mode}"'


@operator("Upsample", 7)
def upsample_attribute(node: Reader) -> str:
    scales = node.attribute("scales")
    if not isinstance(scales, tuple):
        raise Untranslatable("has no scales")
    return _upsampled(node, numbers(scales))


def _upsampled(node: Reader, scales: str) -> str:
    return f'@onnx.resize({node.x(0)}, scales={scales}{_mode(node)}, nearest_mode="outward", places="asymmetric")'


@operator("Resize", 11)
def resize(node: Reader) -> str:
    places = node.word("coordinate_transformation_mode", "half_pixel")
    cropped = places == "tf_crop_and_resize"
    given = f", roi={node.x(1)}" if cropped and _is_there(node, 1) else ""
    # Version 11 has both inputs, one of them empty.
    if _is_there(node, 3):
        scales = node.shape(2) if node.has(2) else None
        if scales is not None and all(isinstance(size, int) and size for size in scales):
            raise Untranslatable("has both `scales` and `sizes`")
        given += f", sizes={node.x(3)}"
    else:
        given += f", scales={node.x(2)}"
    axes = node.integers("axes")
    along = "" if axes is None else f", axes={listed(axes)}"
    rounding, policy = node.word("nearest_mode", ""), node.word("keep_aspect_ratio_policy", "")
    said = {
        "nearest_mode": "" if rounding == "round_prefer_floor" else rounding,
        "places": "" if places == "half_pixel" else places,
        "policy": "" if policy == "stretch" or ", sizes=" not in given else policy,
    }
    flags = _flags(node, antialias="antialias", exclude_outside="exclude_outside")
    rest = "".join(
        f", {name}={number(node.number(name, 0.0))}"
        for name in ("cubic_coeff_a", "extrapolation_value")
        if node.attribute(name) is not None
    )
    return f"@onnx.resize({node.x(0)}{given}{along}{_mode(node)}{_words(node, **said)}{flags}{rest})"


_SAMPLED = {"bilinear": "linear", "bicubic": "cubic"}


@operator("GridSample", 16)
def grid_sample(node: Reader) -> str:
    mode = node.word("mode", "linear")
    padding = node.word("padding_mode", "zeros")
    said = {"mode": _SAMPLED.get(mode, mode), "padding": padding}
    corners = _flags(node, align_corners="align_corners")
    return f"@onnx.grid_sample({node.x(0)}, {node.x(1)}{_words(node, **said)}{corners})"


def _roi_align(node: Reader, places: str) -> str:
    half = "" if places == "half_pixel" else ", half_pixel=false"
    mode = node.word("mode", "avg").lower()
    height, width = (_cells(node, name, node.integer(name, 1)) for name in ("output_height", "output_width"))
    sizes = f"height={height}, width={width}"
    scale, samples = number(node.number("spatial_scale", 1.0)), node.integer("sampling_ratio", 0)
    return (
        f"@onnx.roi_align({node.x(0)}, {node.x(1)}, {node.x(2)}, {sizes}, scale={scale}, samples={samples}"
        f"{_words(node, mode='' if mode == 'avg' else mode)}{half})"
    )


def _cells(node: Reader, name: str, count: int) -> int:
    """The number of parts that a box is cut into."""
    if count < 0:
        raise Untranslatable(f"its attribute `{name}` is {count}; it is at least 0")
    return count


@operator("MaxRoiPool")
def max_roi_pool(node: Reader) -> str:
    pooled = node.integers("pooled_shape") or (1, 1)
    if len(pooled) != 2:
        raise Untranslatable(f"pools to {len(pooled)} sizes, and an image has 2")
    height, width = (_cells(node, "pooled_shape", count) for count in pooled)
    scale = number(node.number("spatial_scale", 1.0))
    return f"@onnx.max_roi_pool({node.x(0)}, {node.x(1)}, {height}, {width}, scale={scale})"


@operator("NonMaxSuppression", 10)
def non_max_suppression(node: Reader) -> str:
    names = ((2, "most"), (3, "iou_threshold"), (4, "score_threshold"))
    given = "".join(node.optional(at, name) for at, name in names)
    center = _flags(node, center_point_box="center")
    return f"@onnx.non_max_suppression({node.x(0)}, {node.x(1)}{given}{center})"


@operator("Col2Im", 18)
def col2im(node: Reader) -> str:
    (axes,) = node.shape(2) or (None,)
    if axes is None or (axes,) != node.shape(1):
        node.scope.demand(f'{node.x(2)}.shape == {node.x(1)}.shape, "block_shape has as many entries as image_shape"')
    count = axes if isinstance(axes, int) else None
    return f"@fold({node.x(0)}, {node.x(1)}, {node.x(2)}{spaced(node, 'strides', 'pads', 'dilations', axes=count)})"


@operator("AffineGrid", 20)
def affine_grid(node: Reader) -> str:
    return f"@onnx.affine_grid({node.x(0)}, {node.x(1)}{_flags(node, align_corners='align_corners')})"


@operator("CenterCropPad", 18)
def center_crop_pad(node: Reader) -> str:
    axes = node.integers("axes")
    along = "" if axes is None else f", axes={listed(axes)}"
    return f"@onnx.center_crop_pad({node.x(0)}, {node.x(1)}{along})"


@operator("MaxUnpool", 9)
def max_unpool(node: Reader) -> str:
    kernel = listed(node.integers("kernel_shape") or ())
    given = f"{node.optional(2, 'output_shape')}, kernel_shape={kernel}{spaced(node, 'strides', 'pads')}"
    return f"@onnx.max_unpool({node.x(0)}, {node.x(1)}{given})"


@operator("DeformConv", 19)
def deform_conv(node: Reader) -> str:
    given = (
        f"{node.optional(3, 'bias')}{node.optional(4, 'mask')}{spaced(node, 'strides', 'pads', 'dilations', filters=1)}"
    )
    groups = "".join(
        f", {ours}={node.integer(name, 1)}"
        for name, ours in (("group", "groups"), ("offset_group", "offset_groups"))
        if node.integer(name, 1) != 1
    )
    return f"@onnx.deform_conv({node.x(0)}, {node.of_kernel(1)}, {node.x(2)}{given}{groups})"


@operator("DepthToSpace")
def depth_to_space(node: Reader) -> str:
    name = "pixel_shuffle" if node.word("mode", "DCR") == "CRD" else "depth_to_space"
    return f"@{name}({node.x(0)}, {node.integer('blocksize')})"


rows(
    {
        "Upsample@9": lambda node: _upsampled(node, node.x(1)),
        "Resize@10": lambda node: _upsampled(node, node.x(1)),
        "RoiAlign@10": lambda node: _roi_align(node, "output_half_pixel"),
        "RoiAlign@16": lambda node: _roi_align(node, node.word("coordinate_transformation_mode", "half_pixel")),
    }
)
