"""Operators that move elements without computing with them: their shapes may be data.

If the model holds the axes, sizes or bounds, our own primitives are used; `@onnx.` primitives take them as tensors.
"""

from __future__ import annotations

from ....ops.slices import of_model
from ..literals import of_value
from ..model import StoredInitializer
from .registry import Reader, Untranslatable, listed, operator, rows


@operator("Reshape", 5)
def reshape(node: Reader) -> str:
    """Reshape: a size 0 is the operand's own, unless `allowzero`; a -1 is inferred."""
    sizes = node.elements(1)
    zeros = bool(node.integer("allowzero", 0))
    if sizes is None or min(sizes, default=0) < -1 or sizes.count(-1) > 1:
        allowed = ", allowzero=true" if zeros else ""
        return f"@onnx.reshape({node.x(0)}, {node.x(1)}{allowed})"
    return _reshaped(node, sizes, zeros)


def _reshaped(node: Reader, sizes: tuple[int, ...], zeros: bool) -> str:
    kept = [s if s != 0 or zeros else f"{node.x(0)}.dim({axis})" for axis, s in enumerate(sizes)]
    return f"@reshape({node.x(0)}, {listed(kept)})"


@operator("Transpose")
def transpose(node: Reader) -> str:
    axes = node.integers("perm")
    order = "" if axes is None else f", axes={listed(axes)}"
    return f"@permute_dims({node.x(0)}{order})"


@operator("Shape")
def shape(node: Reader) -> str:
    start, end = node.integer("start", 0), node.attribute("end")
    if start == 0 and end is None:
        return f"@shape({node.x(0)})"
    to = "" if end is None else f", end={node.integer('end')}"
    return f"@onnx.shape({node.x(0)}, start={start}{to})"


@operator("Unsqueeze", 13)
def unsqueeze(node: Reader) -> str:
    axes = node.elements(1)
    if axes is None:
        return f"@onnx.unsqueeze({node.x(0)}, {node.x(1)})"
    return f"@expand_dims({node.x(0)}, axis={listed(axes)})"


@operator("Squeeze", 13)
def squeeze(node: Reader) -> str:
    if node.has(1) and node.elements(1) is None:
        return f"@onnx.squeeze({node.x(0)}, {node.x(1)})"
    return _squeezed(node, node.elements(1))


def _squeezed(node: Reader, axes: tuple[int, ...] | None) -> str:
    return f"@squeeze({node.x(0)})" if axes is None else f"@squeeze({node.x(0)}, axis={listed(axes)})"


@operator("Slice", 1)
def slice_attributes(node: Reader) -> str:
    starts, ends, axes = node.integers("starts"), node.integers("ends"), node.integers("axes")
    if starts is None or ends is None:
        raise Untranslatable("has no starts or no ends")
    return _sliced(node, starts, ends, axes, None)


@operator("Slice", 10)
def slice_(node: Reader) -> str:
    known = [node.elements(at) for at in range(1, 5)]
    if all(k is not None or not node.has(at) for at, k in enumerate(known, start=1)):
        if known[0] is None or known[1] is None:
            raise Untranslatable("has no starts or no ends")
        return _sliced(node, known[0], known[1], known[2], known[3])
    given = "".join(node.optional(at, name) for at, name in ((3, "axes"), (4, "steps")))
    return f"@onnx.slice({node.x(0)}, {node.x(1)}, {node.x(2)}{given})"


def _sliced(
    node: Reader,
    starts: tuple[int, ...],
    ends: tuple[int, ...],
    axes: tuple[int, ...] | None,
    steps: tuple[int, ...] | None,
) -> str:
    along = "" if axes is None else f", axes={listed(axes)}"
    by = "" if steps is None or steps == (1,) * len(starts) else f", steps={listed(steps)}"
    return f"@slice({node.x(0)}, {listed(map(of_model, starts))}, {listed(map(of_model, ends))}{along}{by})"


@operator("Split", 13)
def split(node: Reader) -> str:
    if node.has(1) and node.elements(1) is None:
        return f"@onnx.split({node.x(0)}, {node.x(1)}, axis={node.integer('axis', 0)}, count={len(node.operation.outputs)})"
    return _split(node, node.elements(1))


def _split(node: Reader, sizes: tuple[int, ...] | None) -> str:
    axis, count = node.integer("axis", 0), len(node.operation.outputs)
    if sizes is not None:
        parts = f"@split({node.x(0)}, sizes={listed(sizes)}, axis={axis})"
    elif node.version < 18:
        parts = f"@split({node.x(0)}, {count}, axis={axis})"
    else:
        parts = f"@split({node.x(0)}, sections={node.integer('num_outputs', count)}, axis={axis}, uneven=true)"
    return parts if count > 1 else f"{node.let('parts', parts)}[0]"


@operator("Tile", 6)
def tile(node: Reader) -> str:
    repeats = node.elements(1)
    return f"@tile({node.x(0)}, {node.x(1) if repeats is None else listed(repeats)})"


@operator("Pad", 2)
def pad_attributes(node: Reader) -> str:
    pads, value = listed(node.integers("pads") or ()), node.number("value", 0.0)
    given = f", value=@cast({of_value(value, 'float32')}, {node.x(0)}.dtype)" if value != 0.0 else ""
    return f'@onnx.pad({node.x(0)}, tensor({pads}, int64){given}, mode="{node.word("mode", "constant")}")'


@operator("Pad", 11)
def pad(node: Reader) -> str:
    given = "".join(node.optional(at, name) for at, name in ((2, "value"), (3, "axes")))
    return f'@onnx.pad({node.x(0)}, {node.x(1)}{given}, mode="{node.word("mode", "constant")}")'


@operator("ConstantOfShape", 9)
def constant_of_shape(node: Reader) -> str:
    value = node.attribute("value")
    if value is None:
        return f"@zeros({node.x(0)})"
    if not isinstance(value, StoredInitializer):
        raise Untranslatable("its attribute `value` is no tensor")
    text = node.scope.literal(value)
    return f"@full({node.x(0)}, @reshape({text}, []))"


@operator("OneHot", 9)
def one_hot(node: Reader) -> str:
    depth, known = node.x(1), node.scope.constant(node.operation.inputs[1])
    if known is not None and known.values and isinstance(known.values[0], float):
        depth = f"tensor({int(known.values[0])}, int64)"
    return f"@onnx.one_hot({node.x(0)}, {depth}, {node.x(2)}, axis={node.integer('axis', -1)})"


@operator("TopK", 10)
def top_k(node: Reader) -> str:
    k = node.elements(1)
    count = f"@item(@reshape({node.x(1)}, []))" if k is None else str(k[0])
    largest = "" if node.integer("largest", 1) else ", largest=false"
    return f"@topk({node.x(0)}, {count}, axis={node.integer('axis', -1)}{largest})"


def _cumulative(node: Reader, what: str) -> str:
    axis = node.elements(1)
    flags = "".join(f", {name}=true" for name in ("exclusive", "reverse") if node.integer(name, 0))
    if axis is None:
        return f"@onnx.cumulative_{what}({node.x(0)}, {node.x(1)}{flags})"
    return f"@cumulative_{what}({node.x(0)}, axis={axis[0]}{flags})"


@operator("Trilu", 14)
def trilu(node: Reader) -> str:
    which = "triu" if node.integer("upper", 1) else "tril"
    k = node.elements(1)
    offset = "" if not node.has(1) else f", k={k[0]}" if k else f", k=@item(@reshape({node.x(1)}, []))"
    return f"@{which}({node.x(0)}{offset})"


@operator("Compress", 9)
def compress(node: Reader) -> str:
    axis = node.attribute("axis")
    along = "" if axis is None else f", axis={node.integer('axis')}"
    return f"@onnx.compress({node.x(0)}, {node.x(1)}{along})"


@operator("EyeLike", 9)
def eye_like(node: Reader) -> str:
    dtype = node.dtype("dtype")
    given = "" if dtype is None else f", dtype={dtype}"
    return f"@onnx.eye_like({node.x(0)}, k={node.integer('k', 0)}{given})"


def _scattered(node: Reader, name: str, along: str) -> str:
    """Scatter: for booleans, a sum is true where any of the elements is, a product where all are."""
    how, given = node.word("reduction", "none"), (node.x(0), node.x(2))
    is_bool = node.dtype_of(0) == "bool" and how != "none"
    if is_bool:
        how = {"add": "max", "mul": "min"}.get(how, how)
        given = (f"@cast({given[0]}, uint8)", f"@cast({given[1]}, uint8)")
    text = f'@{name}({given[0]}, {node.x(1)}, {given[1]}{along}, reduction="{how}")'
    return f"@cast({text}, bool)" if is_bool else text


@operator("ReverseSequence", 10)
def reverse_sequence(node: Reader) -> str:
    time, batch = node.integer("time_axis", 0), node.integer("batch_axis", 1)
    return f"@reverse_sequence({node.x(0)}, {node.x(1)}, time_axis={time}, batch_axis={batch})"


@operator("SpaceToDepth")
def space_to_depth(node: Reader) -> str:
    name = "pixel_unshuffle" if node.word("mode", "DCR") == "CRD" else "space_to_depth"
    return f"@{name}({node.x(0)}, {node.integer('blocksize')})"


rows(
    {
        "Reshape": lambda node: _reshaped(node, node.integers("shape") or (), zeros=False),
        "Unsqueeze": lambda node: f"@expand_dims({node.x(0)}, axis={listed(node.integers('axes') or ())})",
        "Squeeze": lambda node: _squeezed(node, node.integers("axes")),
        "Split@2": lambda node: _split(node, node.integers("split")),
        "TopK": lambda node: f"@topk({node.x(0)}, {node.integer('k')}, axis={node.integer('axis', -1)})",
        "CumSum@11": lambda node: _cumulative(node, "sum"),
        "CumProd@26": lambda node: _cumulative(node, "prod"),
        "ScatterElements@11": lambda node: _scattered(node, "scatter_elements", f", axis={node.integer('axis', 0)}"),
        "Scatter@9": lambda node: _scattered(node, "scatter_elements", f", axis={node.integer('axis', 0)}"),
        "ScatterND@11": lambda node: _scattered(node, "scatter_nd", ""),
    }
)
