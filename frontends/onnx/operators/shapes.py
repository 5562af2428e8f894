"""Operators that move elements without computing with them: their shapes may be data."""

from __future__ import annotations

from .registry import Reader, listed, operator


@operator("Reshape", 5)
def reshape(node: Reader) -> str:
    """A size 0 is the operand's own, unless `allowzero`; one -1 is what is left."""
    sizes = node.elements(1)
    zeros = node.integer("allowzero", 0)
    if sizes is None or min(sizes, default=0) < -1 or sizes.count(-1) > 1:
        allowed = ", allowzero=true" if zeros else ""
        return f"@onnx.reshape({node.x(0)}, {node.x(1)}{allowed})"
    kept = [s if s != 0 or zeros else f"{node.x(0)}.dim({axis})" for axis, s in enumerate(sizes)]
    return f"@reshape({node.x(0)}, {listed(kept)})"


@operator("Transpose")
def transpose(node: Reader) -> str:
    axes = node.integers("perm")
    order = "" if axes is None else f", axes={listed(axes)}"
    return f"@permute_dims({node.x(0)}{order})"


@operator("Shape", 1)
def shape(node: Reader) -> str:
    return f"@shape({node.x(0)})"


@operator("Shape", 15)
def shape_part(node: Reader) -> str:
    start, end = node.integer("start", 0), node.attribute("end")
    if start == 0 and end is None:
        return f"@shape({node.x(0)})"
    to = "" if end is None else f", end={node.integer('end')}"
    return f"@onnx.shape({node.x(0)}, start={start}{to})"
