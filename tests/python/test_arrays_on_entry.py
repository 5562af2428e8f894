"""Arrays between Python and a program: nobody writes into another's, and what comes from outside is what it is."""

from __future__ import annotations

import numpy as np
import pytest
import rxlang as rx
from rxlang.interp.results import is_apart

ANY = "Tensor([n, m], float32)"
BODIES = ("x", "@identity(x)", "@matrix_transpose(x)", "x[1:]", "x[0]", "@reshape(x, [n * m])", "@relu(x)", 
          "@broadcast_to(x, [2, n, m])",
          "(x, x)", "(x, @matrix_transpose(x))", "@split(x, 1)", "@stack([x])", "@concat([x])", "@cast(x, float32)", "@tril(x)",
          "@swapaxes(x, 0, 1)", "@flatten(x)", "@squeeze(x)", "@expand_dims(x, 0)", "@diagonal(x)", "@unstack(x)[0]",
          "x * 1.0", "x ** 1", "@clip(x)", "@truncate(x, 7)", "@dropout(x)")  # fmt: skip


def f32() -> np.ndarray:
    return np.arange(9, dtype=np.float32).reshape(3, 3)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("result", ["", " : Tensor"])
def test_writing_into_a_result_does_not_change_an_argument(body: str, result: str) -> None:
    try:
        module = rx.loads(
            f"@f = fn(x : {ANY}){result} {{ {body} }}\n@g = fn(x : Tensor, k : Size){result} {{ {body} }}\n"
        )
    except rx.CheckError:
        return  # a result of another sort, or a name that only an annotation binds
    for call in (lambda x: module.f(x), lambda x: module.f(x=x), lambda x: module.g(x, 2)):
        x, results = f32(), []
        results = call(x)
        for part in results if isinstance(results, tuple) else (results,):
            if part.flags.writeable:
                part[...] = 77
        assert np.array_equal(x, f32()), body


@pytest.mark.parametrize(
    "body", ["@tensor([1.0, 2.0])", "tensor([1.0, 2.0])", "c", "@identity(c)", "@reshape(c, [2, 1])"]
)
def test_writing_into_a_result_does_not_change_the_program(body: str) -> None:
    try:
        module = rx.loads(f"const c = tensor([1.0, 2.0])\n@f = fn() : Tensor {{ {body} }}\n")
    except rx.CheckError:
        return
    first = module.f()
    if first.flags.writeable:
        first[...] = 7
    assert module.f().ravel().tolist() == [1, 2]


def test_a_result_that_is_said_to_lie_elsewhere_shares_no_memory_with_an_argument() -> None:
    told: set[bool] = set()
    for seed in range(400):
        random = np.random.default_rng(seed)
        arrays = [np.arange(24.0), np.arange(24.0), np.frombuffer(bytearray(192)), np.arange(24.0)[2:]]
        for _ in range(6):
            x = arrays[random.integers(len(arrays))]
            made = (
                x[::2],
                x.reshape(1, -1),
                x.T,
                np.broadcast_to(x, (2, *x.shape)),
                x.copy(),
                np.asarray(memoryview(x)),
            )
            arrays.append(made[random.integers(len(made))])
        result, *args = (arrays[i] for i in random.integers(len(arrays), size=3))
        if result.base is None and any(np.shares_memory(result, arg) and arg is not result for arg in args):
            continue  # what a call gives, and has memory of its own, was not there when its arguments were made
        apart = is_apart(result, [*args, 3])
        assert not (apart and any(np.shares_memory(result, arg) for arg in args))
        told.add(apart)
    assert told == {False, True}


CALLS = f"@f = fn(g : fn({ANY}) : {ANY}, x : {ANY}) : {ANY} {{ g(x) + g(x) + x }}"


def test_a_callback_cannot_write_into_what_it_is_given() -> None:
    def writes(a: np.ndarray) -> np.ndarray:
        a[...] = 5
        return a

    x = f32()
    with pytest.raises(rx.ShapeError) as failed:
        rx.loads(CALLS).f(writes, x)
    assert failed.value.diagnostic.code == "R403" and "read-only" in failed.value.diagnostic.message
    assert np.array_equal(x, f32())


def test_a_callback_that_uses_one_buffer_gives_what_was_in_it() -> None:
    buffer, calls = np.zeros((3, 3), np.float32), iter((1, 2))

    def again(a: np.ndarray) -> np.ndarray:
        buffer[...] = next(calls)
        return buffer

    assert np.array_equal(rx.loads(CALLS).f(again, f32()), f32() + 3)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda a: (a, a), "it returned a tuple of 2, which is no tensor"),
        (lambda a: (a,), "it returned a tuple of 1, which is no tensor"),
        (lambda a: (), "it returned a tuple of 0, which is no tensor"),
        (lambda a: None, "it returned None, which is no tensor"),
        (lambda a: [a, a[0]], "it returned a Python list, which is no tensor"),
        (lambda a: np.ma.masked_array(a, a > 2), "a masked array"),
        (lambda a: {}, "which is no tensor"),
    ],
)
def test_what_a_callback_returns_is_a_tensor_or_r403(made, said: str) -> None:  # noqa: ANN001
    with pytest.raises(rx.ShapeError) as failed:
        rx.loads(CALLS).f(made, f32())
    assert failed.value.diagnostic.code == "R403" and said in failed.value.diagnostic.message


@pytest.mark.parametrize(
    "made", [lambda a: a, lambda a: (a,), lambda a: (a, a, a), lambda a: None, lambda a: (a, (a, a))]
)
def test_a_tuple_of_another_length_than_promised_is_r403(made) -> None:  # noqa: ANN001
    text = f"@f = fn(g : fn({ANY}) : ({ANY}, {ANY}), x : {ANY}) : {ANY} {{\n  let (a, b) = g(x)\n  a + b\n}}"
    assert np.array_equal(rx.loads(text).f(lambda a: (a, a), f32()), 2 * f32())
    with pytest.raises(rx.ShapeError) as failed:
        rx.loads(text).f(made, f32())
    assert failed.value.diagnostic.code == "R403"


@pytest.mark.parametrize("params", [f"x : {ANY}", "x : Tensor([n, m], t)", "x : Tensor", f"x : {ANY}, y : {ANY}"])
@pytest.mark.parametrize("dtype", [">f4", ">i2", ">f8", ">c8"])
def test_another_byte_order_is_taken_by_position_as_by_name(params: str, dtype: str) -> None:
    f = rx.loads(f"@f = fn({params}) : Tensor {{ x + x }}").f
    x, names = f32().astype(dtype), [p.split(":")[0].strip() for p in params.split("), ") if ":" in p]
    names = ["x", "y"] if "y :" in params else ["x"]
    answers = []
    for call in (lambda: f(*(x for _ in names)), lambda: f(**dict.fromkeys(names, x))):
        try:
            found = call()
            answers.append((found.dtype.str, found.tolist()))
        except rx.ShapeError as problem:
            answers.append((problem.diagnostic.code, problem.diagnostic.message))
    assert answers[0] == answers[1]
    if "float32" not in params or dtype == ">f4":
        assert answers[0][1] == (2 * x).tolist()


def test_a_mask_and_no_dtype_are_r404() -> None:
    module = rx.loads(
        f"@f = fn(x : {ANY}) : {ANY} {{ x }}\n@z = fn(d : DType) : Tensor([2], d) {{ @zeros([2], dtype=d) }}\n"
    )
    masked = np.ma.masked_array(f32(), f32() > 2)
    for call in (
        lambda: module.f(masked),
        lambda: module.f(x=masked),
        lambda: module.z(None),
        lambda: module.z(d=None),
    ):
        with pytest.raises(rx.ShapeError) as failed:
            call()
        assert failed.value.diagnostic.code == "R404"
    assert module.z("float32").dtype == module.z(np.float32).dtype == np.float32


PARTS = """type Part(n) = (Tensor([n], float32), (float32, int8))
@f = fn(x : Tensor([n], float32), p : Part(n), s : Shape, y : Tensor) : Tensor([n], float32) {
  x * p[1][0] + p[0]
}
"""


@pytest.mark.parametrize(
    ("changed", "said", "help"),
    [
        ({"x": [1.0, 2.0, 3.0]}, "`x` to be a NumPy array, but it is a Python list", ", np.float32"),
        ({"x": 1.0}, "`x` to be a NumPy array, but it is a Python float", ", np.float32"),
        ({"y": range(3)}, "`y` to be a NumPy array, but it is a Python range", ""),
        ({"p": ([1.0] * 3, (1.0, 2))}, "`p[0]` to be a NumPy array, but it is a Python list", ", np.float32"),
        ({"p": (f32()[0], ([1.0], 2))}, "`p[1][0]` to be a number that float32 can hold, or a NumPy array, but it is a "
         "Python list", ", np.float32"),
        ({"p": (f32()[0], (1.0, 2.0))}, "`p[1][1]` to be a number that int8 can hold, but it is a Python float", None),
        ({"p": (f32()[0], (1.0, 300))}, "`p[1][1]` to be a number that int8 can hold, but it is a Python int", None),
        ({"p": (f32()[0], (10**400, 3))}, "`p[1][0]` to be a number that float32 can hold, but it is a Python int", None),
        ({"p": (f32()[0], (1.0, None))}, "`p[1][1]` to be a number that int8 can hold, or a NumPy array, but it is None",
         None),
        ({"s": (2, "a")}, "`s[1]` to be an integer, but it is a Python str", None),
        ({"y": {"a": 1}}, "`y` to be a NumPy array, but it is a Python dict", None),
    ],
)  # fmt: skip
def test_what_is_no_array_is_told_by_its_place_with_the_way_to_one(
    changed: dict[str, object], said: str, help: str | None
) -> None:
    given = {"x": f32()[0], "p": (f32()[0], (2.0, 3)), "s": (2, 3), "y": f32(), **changed}
    with pytest.raises(rx.ShapeError) as refused:
        rx.loads(PARTS).f(**given)
    found = refused.value.diagnostic
    assert (found.code, found.message) == ("R404", f"@f needs {said}")
    assert found.help == (None if help is None else f"`np.array(...{help})` makes an array of it")


def test_numbers_are_scalars_inside_of_tuples_too() -> None:
    assert rx.loads(PARTS).f(f32()[1], (f32()[0], (2.0, 3)), [2, 3], f32()).tolist() == [6, 9, 12]
