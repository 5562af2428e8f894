"""Names of other libraries lead to the primitives that stand for them."""

from __future__ import annotations

import pytest
from rxlang.ops import elsewhere
from rxlang.ops.registry import lookup, names


def test_a_name_of_the_table_is_never_a_primitive_of_its_own() -> None:
    for ours, theirs in elsewhere.table():
        assert [n for n in theirs if lookup(n) is not None] == [], ours
        assert len(set(theirs)) == len(theirs), ours


def test_every_entry_stands_for_something_that_there_is() -> None:
    known = {p.name for name in names() if (row := lookup(name)) is not None for p in row.params}
    assert set(elsewhere._PRIMITIVES) <= set(names())
    assert set(elsewhere._PARAMETERS) <= known


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("MaxPool2d", ("max_pool2d",)),
        ("max_pooling2d", ("max_pool2d",)),
        ("ReduceMean", ("mean",)),
        ("unsqueeze", ("expand_dims",)),
        ("BatchNorm2d", ("batch_normalization",)),
        ("transpose", ("matrix_transpose", "permute_dims", "swapaxes")),
        ("clamp", ("clip",)),
        ("quantum", ()),
    ],
)
def test_capitals_and_underscores_make_no_difference(theirs: str, ours: tuple[str, ...]) -> None:
    assert elsewhere.primitives(theirs) == ours


def test_a_parameter_of_another_library_is_one_that_the_primitive_has() -> None:
    row = lookup("conv2d")
    assert row is not None
    assert elsewhere.parameters("padding", row.params) == ("pads", "auto_pad")
    assert elsewhere.parameters("stride", row.params) == ("strides",)
    assert elsewhere.parameters("keepdim", row.params) == ()
