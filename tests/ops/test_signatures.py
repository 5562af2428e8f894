"""The row that a signature in Rx gives: a shape rule as those in Python are."""

from __future__ import annotations

import pytest
from rxlang.lang.dtypes import DTYPES
from rxlang.ops.ground import Violation, evaluate
from rxlang.ops.model import TensorInfo
from rxlang.ops.signature import row_from_signature


def test_a_size_that_is_passed_is_the_size_that_the_signature_names() -> None:
    row = row_from_signature("prim @some = fn(x : Tensor([n, m], d), k : Size) : Tensor([k + m], d) where k <= n", "")
    given = TensorInfo((4, 3), DTYPES["float32"])
    assert evaluate(row, {"x": given, "k": 2}).tensors[0].shape == (5,)
    with pytest.raises(Violation):
        evaluate(row, {"x": given, "k": 5})
