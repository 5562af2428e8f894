"""Where we differ from onnxruntime about the ranks and lengths of what a node is given, by operator and the input's number or
the attribute's name, each with its reason; docs/onnx-operators.md has the same for users."""

from __future__ import annotations

Table = dict[tuple[str, "int | str"], str]
NOTHING = "of an axis without elements there are as many windows, steps or rows as the formula says"
TWICE = "axes name each axis once, and one of the operand's"
NUMBER = "the standard says a scalar"
ROW = "the standard says a tensor of rank 1"
TOO_LONG = "the lists of numbers belong together, or to the columns"
LONGER = "numbers behind those that are needed are left out"
REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")

# We take it, and onnxruntime does not.
WIDER: Table = {
    **{(op, 0): NOTHING for op in (
        "AveragePool", "MaxPool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "Conv", "ConvTranspose", "ConvInteger", "GRU",
        "LSTM", "RNN", "Einsum", "LayerNormalization", "GroupNormalization", "RMSNormalization")},
    ("GlobalLpPool", 0): NOTHING, ("Mod", "any"): "by integers that are data a division by 0 is 0",
    ("Div", "any"): "by integers that are data a division by 0 is 0",
    ("Resize", 0): "any axis, in any mode",
    ("SkipLayerNormalization", "any"): "what is added is repeated to the shape of the operand",
    ("LRN", 0): "the standard takes images of any rank from 3 on, onnxruntime of rank 4",
    ("QLinearMatMul", "any"): "what has to be one number may have any rank with one element",
    ("MatMulInteger", 1): "zero points may be one for each row or column of operands of any rank",
    ("DequantizeLinear", 1): "one scale is for all blocks",
    ("QuantizeLinear", 1): "one scale is for all blocks",
    ("SVMRegressor", "kernel_params"): LONGER,
    ("Scaler", "offset"): LONGER, ("Scaler", "scale"): LONGER,
    ("TfIdfVectorizer", "any"): LONGER,
}  # fmt: skip

# Onnxruntime takes it, and we do not.
NARROWER: Table = {
    ("ArgMax", 0): TWICE, ("ArgMin", 0): TWICE, ("Squeeze", "any"): TWICE, ("MeanVarianceNormalization", "any"): TWICE,
    **{(f"Reduce{name}", "any"): TWICE for name in REDUCTIONS},
    **{(op, 0): NUMBER for op in ("BlackmanWindow", "HammingWindow", "HannWindow")},
    ("DFT", 1): NUMBER, ("DFT", 2): NUMBER, ("STFT", 1): NUMBER, ("STFT", 3): NUMBER, ("Pad", 2): NUMBER,
    **{("NonMaxSuppression", at): "one number, as a scalar or a row" for at in (2, 3, 4)},
    ("STFT", 2): ROW, ("Pad", 1): ROW, ("Compress", 1): ROW, ("CenterCropPad", 1): ROW, ("Resize", 1): ROW, ("Resize", 2): ROW,
    ("Upsample", 1): ROW, ("GroupNormalization", 1): ROW, ("GroupNormalization", 2): ROW,
    ("InstanceNormalization", 0): "an image has an axis beside the batch and the channels",
    ("Split", 1): "a length for each output",
    ("GatherND", "any"): "positions have at least one axis, and as many batches as x",
    ("PRelu", 0): "the slope is repeated to the shape of x, and not x to the slope's",
    ("PRelu", 1): "the slope is repeated to the shape of x, and not x to the slope's",
    ("QLinearWhere", "any"): NUMBER,
    ("Imputer", "any"): TOO_LONG, ("LinearRegressor", "any"): TOO_LONG, ("SVMRegressor", "any"): TOO_LONG,
    ("TfIdfVectorizer", "ngram_indexes"): TOO_LONG,
    ("RNN", "activations"): "one function for each direction", ("GRU", "activations"): "two functions for each direction",
    ("LSTM", "activations"): "three functions for each direction",
}  # fmt: skip

# Of what onnxruntime has no kernel for, the reference takes it: NumPy repeats what fits, and takes an array of one element for
# a number.
LENIENT = frozenset({
    "Clip", "CumSum", "DequantizeLinear", "GlobalAveragePool", "GroupNormalization", "InstanceNormalization",
    "LayerNormalization", "Max", "Mean", "MelWeightMatrix", "Min", "QuantizeLinear", "RMSNormalization", "Range", "Sum",
    "Tile", "Trilu",
})  # fmt: skip

# What is told from declared types or elements is told less where they are not.
BY_WAY = {
    "Erf": "integers that are computed are not known to be such",
    "LinearRegressor": "how many columns there are is told from their declaration",
    "Resize": "of scales and sizes only one is given, where it is known whether they are empty",
}
