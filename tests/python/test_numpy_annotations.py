"""NumPy's own annotations of arrays, `NDArray[float32]`, beside those with sizes, and what NumPy says of dtypes."""

from __future__ import annotations

import sys
import typing
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pytest
import rxlang as rx

CONCRETE = [np.bool_, np.int8, np.int64, np.uint8, np.uint32, np.float16, np.float32, np.float64, np.complex64]
ABSTRACT = [np.number, np.inexact, np.floating, np.complexfloating, np.integer, np.signedinteger, np.unsignedinteger]
ROWS = Annotated[Any, "Tensor([n], float32)"]


def checked(annotation: Any) -> Any:
    def function(x: Any, y: Any) -> Any:
        return x

    function.__annotations__ = {"x": ROWS, "y": annotation}
    return rx.checked(function)


@pytest.mark.parametrize("kind", [*CONCRETE, *ABSTRACT, np.generic])
def test_the_dtype_is_checked(kind: Any) -> None:
    function = checked(npt.NDArray[kind])
    for own in CONCRETE:
        y = np.zeros((2, 3), own)
        if np.issubdtype(own, kind):
            function(np.ones(3, np.float32), y)
        else:
            with pytest.raises(rx.ShapeError):
                function(np.ones(3, np.float32), y)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="types have no aliases with parameters before Python 3.12")
def test_an_alias_with_parameters_is_what_it_stands_for() -> None:
    a, b = typing.TypeVar("a"), typing.TypeVar("b")
    alias = getattr(typing, "TypeAliasType")  # noqa: B009
    array = alias("array", np.ndarray[tuple[Any, ...], np.dtype[a]], type_params=(a,))
    swapped = alias("swapped", tuple[b, array[a]], type_params=(a, b))
    same = alias("same", a, type_params=(a,))
    for annotation, wrong in (
        (array[np.int64], np.zeros(2)),
        (swapped[np.int64, npt.NDArray[np.bool_]], (np.zeros(2, bool), np.zeros(2))),
        (swapped[np.int64, npt.NDArray[np.bool_]], (np.zeros(2, int), np.zeros(2, int))),
        (same[npt.NDArray[np.int64]], np.zeros(2)),
    ):
        with pytest.raises(rx.ShapeError):
            checked(annotation)(np.ones(3, np.float32), wrong)


def test_the_number_of_axes_is_checked() -> None:
    function = checked(np.ndarray[tuple[int, int], np.dtype[np.float32]])
    function(np.ones(3, np.float32), np.ones((2, 3), np.float32))
    with pytest.raises(rx.ShapeError):
        function(np.ones(3, np.float32), np.ones(3, np.float32))


@pytest.mark.parametrize("kind", [np.object_, np.str_, np.float32 | np.float64])
def test_what_no_signature_has_is_refused_where_the_function_is_decorated(kind: Any) -> None:
    with pytest.raises(TypeError, match="has a dtype or axes"):
        checked(npt.NDArray[kind])
