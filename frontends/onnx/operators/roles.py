"""How ONNX's operators use the elements of their inputs, as far as it shows which inputs of a model hold indices."""

from __future__ import annotations

from collections.abc import Mapping

from ..model import Operation

# Operators, and their roles. `index 1 of 0`: the elements of input 1 are indices into an axis of input 0; `indices`: into
# several axes at once; `forward`: no index counts from the end. `length 4 by layout`: input 4 holds lengths along the axis
# that the attribute gives. `refuses 1`: some elements of input 1 are refused for another reason; `shaped 2`: only where input
# 2 is unknown, and with it the shape of the result. The other words describe the elements of the output: `same`: all those of
# input 0; `some` of those; `cast`, `joined`, `chosen`, `plus`, `minus`, `less`, and those that the node itself holds
# (`constant`).
_LINES = """
Gather GatherElements: some, index 1 of 0
GatherND: some, indices 1 of 0
ScatterElements Scatter: index 1 of 0
ScatterND: indices 1 of 0
com.microsoft.EmbedLayerNormalization com.microsoft.QEmbedLayerNormalization: index 0 of 2, index 1 of 4, forward
LSTM GRU RNN com.microsoft.DynamicQuantizeLSTM: length 4 by layout
ReverseSequence: length 1 by time_axis
ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare: refuses 1
HannWindow HammingWindow BlackmanWindow: refuses 0
CenterCropPad DFT MaxUnpool NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss: refuses 1
Range RoiAlign: refuses 2
Resize: shaped 2
Upsample: shaped 1
Unsqueeze: same, refuses 1
Identity Reshape Squeeze Flatten Transpose: same
Expand Tile Slice: some
Cast: cast
Concat: joined
Where: chosen
Add: plus
Sub: minus
Less: less
Constant: constant
"""
Roles = Mapping[str, list[tuple[str, ...]]]
_ROLES: dict[str, dict[str, list[tuple[str, ...]]]] = {}
for _names, _, _text in (line.partition(": ") for line in _LINES.strip().splitlines()):
    for _name in _names.split():
        for _word, *_rest in (role.split() for role in _text.split(", ")):
            _ROLES.setdefault(_name, {}).setdefault(_word, []).append(tuple(_rest))


def roles(operation: Operation) -> Roles:
    name = operation.op_type
    return _ROLES.get(f"{operation.domain}.{name}" if operation.domain else name, {})
