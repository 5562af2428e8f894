"""What the elements of a primitive's operands decide: whether it refuses them, and sizes.

`REFUSES` are those that refuse some elements of tensors whose shapes and dtypes are right, with the parameter at fault. Where
nobody uses its result, a call of any other one does not run. (A `@truncate` by a size that is no finite number is refused where
its result is used.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

REFUSES = {
    "bincount": "x", "cholesky": "x", "cross_entropy_loss": "target", "ctc_loss": "target", "det": "x", "eig": "x",
    "eigh": "x", "eigvals": "x", "eigvalsh": "x", "embedding": "ids", "gather_elements": "indices",
    "gather_nd": "indices", "gather_slices": "starts", "inv": "x", "matrix_norm": "x", "matrix_power": "x",
    "matrix_rank": "x", "nll_loss": "target", "pinv": "x", "pow": "y", "put": "indices", "qr": "x", "quantile": "q",
    "reverse_sequence": "lengths", "roi_align": "batch_indices", "scatter_elements": "indices",
    "scatter_nd": "indices", "scatter_slices": "starts", "segment_max": "ids", "segment_mean": "ids",
    "segment_min": "ids", "segment_sum": "ids", "size_to_tensor": "n", "slogdet": "x", "solve": "x", "svd": "x",
    "svdvals": "x", "take": "indices", "take_along_axis": "indices",
    "onnx.sequence_at": "s", "onnx.sequence_insert": "s", "onnx.sequence_erase": "s", "onnx.split_to_sequence": "x",
    "onnx.concat_from_sequence": "s", "onnx.optional_get": "x", "onnx.cast_map": "x",
}  # fmt: skip

# What decides a size that only the data knows, where it is not all operands: what is counted, and the parameter it is counted
# in. One mask has one count, whatever it selects from.
COUNTED = {
    "filter": ("true", "mask"), "nonzero": ("true", "x"), "unique_all": ("distinct", "x"), "unique_counts": ("distinct", "x"),
    "unique_inverse": ("distinct", "x"), "unique_values": ("distinct", "x"),
}  # fmt: skip
# Those that take so many entries of an axis as a number says, as far as there are so many.
ROUNDED = {"truncate": "size"}


def count(what: str, elements: Sequence[object]) -> int:
    """How many of some elements are true, or distinct from all others; every nan is."""
    if what == "true":
        return sum(map(bool, elements))
    nans = sum(e != e for e in elements)
    return len({e for e in elements if e == e}) + nans


def rounded(number: float) -> int | None:
    """A number as a count: a half is rounded up, and nothing is below 0. None where it is not finite."""
    if not math.isfinite(number):
        return None
    whole = math.floor(number)
    return max(whole + (number - whole >= 0.5), 0)


# Those whose first result has no elements but those of one operand.
SELECTS = {
    "broadcast_to": "x", "copy": "x", "diagonal": "x", "expand_dims": "x", "filter": "x", "flatten": "x", "flip": "x",
    "gather_elements": "x", "gather_nd": "x", "gather_slices": "x", "identity": "x", "matrix_transpose": "x", "max": "x",
    "min": "x", "moveaxis": "x", "permute_dims": "x", "repeat": "x", "reshape": "x", "roll": "x", "slice": "x", "sort": "x",
    "split": "x", "squeeze": "x", "swapaxes": "x", "take": "x", "take_along_axis": "x", "tile": "x", "topk": "x",
    "truncate": "x", "unique_values": "x", "unstack": "x",
}  # fmt: skip

# Those that refuse strings that spell no number.
SPELT = {"cast": "x", "full": "value", "full_like": "value"}
