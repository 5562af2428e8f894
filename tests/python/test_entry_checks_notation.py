"""Annotations in jaxtyping's notation are read as the tables say, and what is not read is refused with its reason."""

# Annotations in this notation are no forward references: their text is the dimensions.
# ruff: noqa: F722, F821, UP037

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.lang.dtypes import CLASSES, DTYPES
from rxlang.python import notation

READ = [
    ("b n*4", "[b, n * 4]"), ("", "[]"), ("3 5", "[3, 5]"), ("*b n", "[*b, n]"), ("... n", "[..., n]"), ("_ n", "[?, n]"),
    ("_unused n", "[?, n]"), ("*_any n", "[..., n]"), ("rows=3 n", "[3, n]"), ("n n-1", "[n, n - 1]"),
    ("n (n+1)*2", "[n, (n + 1) * 2]"), ("n n//2 n%2", "[n, n // 2, n % 2]"), ("n min(n,3)", "[n, min(n, 3)]"),
    ("class lambda", "[class, lambda]"), ("  n   m ", "[n, m]"),
]  # fmt: skip
REFUSED = [
    ("#_", "`#` stands once"), ("*#_b", "`#` stands once"), ("##n", "`#` stands once"), ("?n", "trees"),
    ("*a *b", "two parts"), ("... *b", "two parts"), ("n**2", "is no size"), ("n/2", "is no size"), ("f(n)", "is no size"),
    ("a.b", "is no size"), ("-1", "is no size"), ("n+", "is no size"), ("1.5", "is no size"), ("True+n", "is no size"),
]  # fmt: skip


def signature(**annotations: Any) -> str:
    """What is read of a function with these annotations."""

    def f(x, y):
        return x

    f.__annotations__ = {"return" if name == "result" else name: said for name, said in annotations.items()}
    return str(rx.signature(rx.checked(f)))


@pytest.mark.parametrize(("dims", "shape"), READ)
def test_dimensions_are_read(dims: str, shape: str) -> None:
    bare = "_ _" if "class" in dims else "n"
    text = signature(x=f'Int32[Array, "{bare}"]', y=f'Float32[Array, "{dims}"]')
    assert f"y : Tensor({shape}, float32)" in text


@pytest.mark.parametrize(("dims", "why"), REFUSED)
def test_what_no_signature_says_is_refused(dims: str, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        signature(x=f'Float32[Array, "n {dims}"]')


@pytest.mark.parametrize("name", notation.CLASSES)
def test_every_class_of_dtypes_is_read(name: str) -> None:
    wanted = notation.CLASSES[name]
    text = signature(x=f'{name}[Array, "n"]')
    if notation.is_dtype(wanted):
        assert f"Tensor([n], {wanted})" in text and (wanted in DTYPES or wanted == "?")
    else:
        assert text.endswith(f"Tensor([n], d)) where d in {wanted}")
        assert wanted in CLASSES or wanted.startswith("{")


def test_two_annotations_of_a_class_are_two_dtypes() -> None:
    text = signature(x='Float[Array, "d e"]', y='Float[Array, "d e"]', result='Int[Array, "e"]')
    assert "where d2 in floating, d3 in floating, d4 in signed" in text


def test_an_expression_of_a_name_is_solved_where_nothing_else_binds_it() -> None:
    @rx.checked
    def f(x: Float32[Array, "b n*4"]) -> Float32[Array, "b n"]:
        return x[:, : x.shape[1] // 4]

    assert f(np.zeros((3, 8), np.float32)).shape == (3, 2)
    with pytest.raises(rx.ShapeError, match="to be a multiple of 4, but it is 7"):
        f(np.zeros((3, 7), np.float32))


@pytest.mark.parametrize(
    "annotation",
    ['Float32[Array, "n"] | None', 'Optional[Float32[Array, "n"]]', 'None | jaxtyping.Float32[np.ndarray, "n"]'],
)
def test_none_fits_where_the_annotation_says_so(annotation: str) -> None:
    def f(x, y):
        return x

    f.__annotations__ = {"x": 'Float32[Array, "n"]', "y": annotation}
    entry_check = rx.checked(f)
    x = np.zeros(3, np.float32)
    assert entry_check(x, None) is x and entry_check(x, x) is x
    with pytest.raises(rx.ShapeError, match="axis 0 of `y` to be 3"):
        entry_check(x, x[:2])


def test_a_result_may_be_none_and_tuples_are_taken_apart() -> None:
    @rx.checked
    def pair(x: Float32[Array, "n"], some: bool = True) -> tuple[Float32[Array, "n"], Int[Array, "n 2"]] | None:
        return (x, np.zeros((len(x), 2), int)) if some else None

    x = np.zeros(3, np.float32)
    assert pair(x, some=False) is None and len(pair(x)) == 2
    with pytest.raises(rx.ShapeError, match="item 1 of its result to be 3"):
        rx.checked(_short)(x)


def _short(x: Float32[Array, "n"]) -> tuple[Float32[Array, "n"], Int[Array, "n 2"]]:
    return x, np.zeros((1, 2), int)


@pytest.mark.parametrize(
    "annotation",
    ['Annotated[Float32[Array, "n"], "of rows"]', 'Union[Float32[Array, "n"], None]', 'Optional[Float32[np.ndarray, "n"]]',
     'None | jt.Float32[jt.Array, "n"]'],
)  # fmt: skip
def test_a_type_around_an_array_is_read_where_its_name_is_not_known(annotation: str) -> None:
    def f(x):
        return x

    f.__annotations__ = {"x": annotation}
    assert str(rx.signature(rx.checked(f))) == "@f = fn(x : Tensor([n], float32))"


@pytest.mark.parametrize(
    ("annotation", "why"),
    [('PyTree[Float[Array, "n"]]', "no words for"),
     ('Callable[[Float[Array, "n"]], int]', "no words for"), ('Key[Array, ""]', "`Key` is a class of dtypes that no"),
     ('jt.Floot32[np.ndarray, "n"]', "`Floot32` is a class of dtypes"), ("Float32[Array]", "is not like `Float32"),
     ("Float32[Array, n]", "not like"), ('Iterable[Float[Array, "n"]]', "one by one"),
     ('Float[Array, "n"', "no annotation of Python's")],
)  # fmt: skip
def test_arrays_inside_other_types_are_refused(annotation: str, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        signature(x=annotation)


@pytest.mark.parametrize("annotation", [int, "int", "Unheard", None, "str | None", list[int]])
def test_a_function_that_says_nothing_of_arrays_is_refused(annotation: Any) -> None:
    with pytest.raises(TypeError, match="says nothing of arrays"):
        signature(x=annotation)


@pytest.mark.parametrize("dims", ["y", "b y*2", "*y 3", "min(m,y) m"])
def test_a_size_that_is_called_as_a_parameter_is_refused(dims: str) -> None:
    for x in (f'Float32[Array, "{dims}"]', f'tuple[Int[Array, "m"], Float32[Array, "{dims}"]]'):
        with pytest.raises(TypeError, match="`y` is a parameter of @f and a size in its annotations"):
            signature(x=x, y='Int[Array, ""]')
    assert signature(x='Float32[Array, "y"]', y=str) == "@f = fn(x : Tensor([y], float32))"
    assert signature(x='Float32[Array, "y"]', y=int) == "@f = fn(x : Tensor([y], float32), y : Size)"


def test_other_annotations_are_left_alone() -> None:
    text = signature(x='Float32[Array, "n"]', y="Unheard")
    assert text == "@f = fn(x : Tensor([n], float32))"


class Float32Annotation:
    """What is read of an annotation of jaxtyping's: two attributes."""

    dim_str = "n 2"
    dtype = type("Float32", (), {})


def test_an_annotation_is_known_by_its_attributes() -> None:
    assert signature(x=Float32Annotation) == "@f = fn(x : Tensor([n, 2], float32))"


class KeyAnnotation(Float32Annotation):
    dtype = type("Key", (), {})


def test_a_class_of_dtypes_that_no_signature_has_is_refused() -> None:
    with pytest.raises(TypeError, match="`Key` is a class of dtypes that no signature has"):
        signature(x=KeyAnnotation)


@pytest.mark.skipif(find_spec("jaxtyping") is None, reason="jaxtyping is not installed")
@pytest.mark.parametrize(("dims", "shape"), [row for row in READ if "lambda" not in row[0]])
def test_annotations_of_jaxtyping_s_are_read_as_their_text_is(dims: str, shape: str) -> None:
    import jaxtyping

    for name in ("Float32", "Float", "Shaped", "UInt8", "Num"):
        annotation = getattr(jaxtyping, name)[np.ndarray, dims]
        assert signature(x='Int32[Array, "n"]', y=annotation) == signature(
            x='Int32[Array, "n"]', y=f'{name}[Array, "{dims}"]'
        )


@pytest.mark.skipif(find_spec("jaxtyping") is None, reason="jaxtyping is not installed")
def test_trees_of_jaxtyping_s_are_refused() -> None:
    pytest.importorskip("jax")  # which its trees are made with
    from jaxtyping import Float, PyTree

    one = Float[np.ndarray, "n"]
    with pytest.raises(TypeError, match="Rx has no trees"):
        signature(x=PyTree[one])
    assert "x : (Tensor([n], d), Tensor([n], e))" in signature(x=tuple[one, one])
