"""A Python function with an entry check takes what its signature takes, refuses the rest with a message, and is otherwise the
same."""

from __future__ import annotations

import inspect
import math
import pickle
import sys
import threading
from contextlib import suppress
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from support import fuzz
from support.random_signatures import RandomSignature

FLAT = "fn(x : Tensor([n, m * 4], float32), y : Tensor([*b, n], d)) : Tensor([n], float32) where d in floating"


def zeros(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.zeros(shape, dtype)


@rx.checked(FLAT)
def first(x, y):
    """The first column."""
    return x[:, 0]


def message(function: Any, *args: Any, **named: Any) -> str:
    with pytest.raises(rx.ShapeError) as refused:
        function(*args, **named)
    return str(refused.value)


# What is taken is what the signature takes


def verdict(function: Any, args: Any) -> str:
    """How a call ends; an entry check that refuses what its signature takes raises another error."""
    try:
        function(*args)
    except rx.ShapeError as refused:
        return refused.diagnostic.message.replace(
            "a NumPy array", "an array"
        )  # an entry check takes those of any library
    return ""


def test_an_entry_check_says_what_the_same_declaration_says_in_a_program() -> None:
    target = SimpleNamespace(result=None)
    target.call = lambda *_: target.result
    sys.modules["entry_check_target"] = target  # type: ignore[assignment]
    try:
        for case in fuzz.cases("python"):
            with case as seed:
                made = RandomSignature(seed)
                program = f'extern @f = {made.text} = "entry_check_target:call"'
                try:
                    module = rx.loads(program, allow_extern=True)
                except rx.CheckError:  # no sizes satisfy it
                    with pytest.raises(rx.CheckError):
                        rx.checked(made.text)(namesake(made.count, lambda *_: None))
                    continue
                entry_check = rx.checked(made.text)(namesake(made.count, lambda *_: target.result))
                for _ in range(8):
                    args = [made.odd(p) for p in made.params]
                    target.result = made.spoiled(made.result)
                    assert verdict(entry_check, args) == verdict(module.f, args), (made.text, args, target.result)
    finally:
        del sys.modules["entry_check_target"]


def namesake(count: int, body: Any) -> Any:
    """A function called f with so many parameters."""
    names = ", ".join(f"x{i}" for i in range(count))
    space: dict[str, Any] = {"body": body}
    exec(f"def f({names}): return body({names})", space)
    return space["f"]


@pytest.mark.parametrize(
    "given",
    [np.array([2, 3]), ">f4", "f4", "bogus", (True, 2), (2, 3.0), np.array(True), np.array(3), 1, 1.0, None, float,
     np.dtype(">f4"), b"no", [("a", "f4")], {}, ..., 2**70],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("sort", ["Size", "Shape", "Bool", "DType"])
def test_what_stands_for_no_size_shape_bool_or_dtype_is_refused_in_words(sort: str, given: Any) -> None:
    """The entry check and the words read a value in one way: no value is refused by the one and taken by the other."""
    entry_check = rx.checked(f"fn(v : {sort}, x : Tensor([2], float32)) : Tensor([2], float32)")(lambda v, x: x)
    for x in (zeros(2), zeros(3)):
        with suppress(rx.ShapeError):
            entry_check(given, x)


@pytest.mark.parametrize("where", ["*b, *c", "*c, *b", "*b, n, *c, n, *b", "*b, *b"])
def test_a_shape_is_matched_with_several_splices(where: str) -> None:
    entry_check = rx.checked(
        f"fn(x : Tensor([{where}], float32), y : Tensor([*b, 1], float32), n : Size) : Tensor([], ?)"
    )(lambda x, y, n: x.sum())
    parts = {"*b": (2, 3), "*c": (4,), "n": (5,)}
    shape = [size for word in where.split(", ") for size in parts[word]]
    assert entry_check(zeros(*shape), zeros(2, 3, 1), 5) == 0
    for axis in range(len(shape) if "*c" not in where else 0):
        other = [size + (at == axis) for at, size in enumerate(shape)]
        assert "needs `x` to have a shape like" in message(entry_check, zeros(*other), zeros(2, 3, 1), 5)
    assert "needs `x` to have a shape like" in message(entry_check, zeros(*shape[:1]), zeros(2, 3, 1), 5)


# Messages


def test_a_message_names_argument_axis_sizes_and_where_the_size_was_bound() -> None:
    said = message(first, zeros(3, 8), zeros(2, 4))
    assert "@first needs axis -1 of `y` to be 3 (`n`), but it is 4" in said
    assert "n is 3: axis 0 of `x`" in said
    assert "test_entry_checks.py:" in said


def test_a_message_shows_the_line_that_the_signature_stands_in() -> None:
    @rx.checked("fn(x : Tensor([n, 5], float32)) : Tensor([n], float32)")
    def short(x):
        return x

    said = message(short, zeros(3, 7))
    assert "| …" in said or '@rx.checked("fn(x' in said
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = next(n for n, text in enumerate(lines, 1) if "[n, 5], float32)) : Tensor([n]" in text)
    assert f"test_entry_checks.py:{line}:" in said


def test_a_result_that_breaks_the_promise_is_refused() -> None:
    wrong = rx.checked(FLAT)(lambda x, y: x)
    assert "needs its result to have rank 1, but it has rank 2" in message(wrong, zeros(3, 8), zeros(3))


def test_a_dtype_outside_its_class_is_named() -> None:
    said = message(first, zeros(3, 8), zeros(3, dtype=int))
    assert "needs `d in floating` to hold" in said and "`y` has dtype int64" in said


@pytest.mark.parametrize(
    ("value", "found"),
    [([1.0], "a Python list"), ("a", "a Python str"), (None, "None"), (object(), "object"), ((), "a Python tuple")],
)
def test_what_is_no_array_is_refused_by_name(value: object, found: str) -> None:
    said = message(first, value, zeros(3))
    assert "@first needs `x` to be an array" in said and found in said


# Calls


def test_calls_by_position_and_name_with_defaults_and_more_are_the_function_s_own() -> None:
    @rx.checked("fn(x : Tensor([n], float32), k : Size) : Tensor([n * k], float32)")
    def again(x, /, k=2, *rest, flag=False, **named):
        seen.append((rest, flag, named))
        return zeros(len(x) * k)

    seen: list[Any] = []
    again(zeros(3))
    again(zeros(3), 5, 7, flag=True, more=1)
    again(zeros(3), k=np.int64(1))
    assert seen == [((), False, {}), ((7,), True, {"more": 1}), ((), False, {})]
    with pytest.raises(TypeError, match="missing 1 required positional"):
        again()
    with pytest.raises(TypeError, match="missing 1 required positional"):
        again(x=zeros(3))
    with pytest.raises(rx.ShapeError):
        again(zeros(3), 2.5)


class Layer:
    width = 5

    @rx.checked("fn(x : Tensor([n, 5], float32)) : Tensor([n], float32)")
    def forward(self, x):
        return x.sum(axis=1) + self.width

    @classmethod
    @rx.checked("fn(x : Tensor([n], float32)) : Tensor([n], float32)")
    def inside(cls, x):
        return x + cls.width

    @rx.checked("fn(x : Tensor([n], float32)) : Tensor([n], float32)")
    @classmethod
    def outside(cls, x):
        return x + cls.width

    @rx.checked("fn(x : Tensor([n], float32)) : Tensor([n], float32)")
    @staticmethod
    def plain(x):
        return x


@pytest.mark.parametrize("function", [np.sin, np.add], ids=["sin", "add"])
def test_what_numpy_wrote_in_c_is_called_with_what_was_given(function: Any) -> None:
    params = ", ".join(
        f"{name} : Tensor([n], float32)" for name in list(inspect.signature(function).parameters)[: function.nin]
    )
    entry_check = rx.checked(f"fn({params}) : Tensor([n], float32)")(function)
    args = [np.arange(3, dtype=np.float32)] * function.nin
    out = np.zeros(3, np.float32)
    assert entry_check(*args).tolist() == function(*args).tolist()
    assert entry_check(*args, out=out, casting="unsafe") is out
    assert inspect.signature(entry_check) == inspect.signature(function)
    with pytest.raises(rx.ShapeError, match="to have dtype float32"):
        entry_check(*(a.astype(np.float64) for a in args))


def test_methods_are_checked_without_self() -> None:
    layer = Layer()
    assert layer.forward(zeros(3, 5)).tolist() == [5, 5, 5]
    assert "@forward needs axis 1 of `x` to be 5" in message(layer.forward, zeros(3, 2))
    for method in (Layer.inside, layer.outside, Layer.plain):
        assert method(zeros(2)).shape == (2,)
        message(method, zeros(2, 2))


@rx.checked(
    "fn(x : Tensor([n], float32), mask : Tensor([n, k], bool), s : float32) : Tensor([n], float32) where k >= 1"
)
def masked(x, mask=None, s=None):
    return x


@pytest.mark.parametrize(
    "given", [{}, {"mask": zeros(3, 2, dtype=bool)}, {"s": 1.5}, {"mask": None, "s": np.float32(1)}]
)
def test_a_parameter_whose_default_is_none_may_be_left_out(given: dict[str, Any]) -> None:
    assert masked(zeros(3), **given).shape == (3,)


@pytest.mark.parametrize(
    "given", [{"mask": zeros(2, 2, dtype=bool)}, {"mask": zeros(3, 0, dtype=bool)}, {"s": zeros(1)}]
)
def test_what_may_be_none_is_checked_where_it_is_given(given: dict[str, Any]) -> None:
    message(masked, zeros(3), **given)


SCALARS = (
    3, 3.0, True, 1j, 2**70, 300, -1, 1e300, math.nan, math.inf, np.int8(1), np.float32(1), zeros(),
    np.zeros((), np.bool_), np.zeros((), ">i4"), np.zeros((), object), np.zeros((), "U3"),
)  # fmt: skip
OF_SCALARS = (
    "fn(x : Tensor([], d), y : Tensor([], d)) : Tensor([], d)",
    "fn(x : Tensor([], d), y : Tensor([], e)) : Tensor([], d) where d == e",
    "fn(x : Tensor([], d), y : Tensor([], e)) : Tensor([], d) where d != e",
    "fn(x : Tensor([], d), y : Tensor([], d)) : Tensor([], d) where d in integer",
    "fn(x : float32, y : Tensor([], d)) : Tensor([], d) where d in {int8, bool}",
    "fn(x : Tensor(s, d), y : Tensor(s, d)) : Tensor(s, d) where d in floating || d == bool",
)


@pytest.mark.parametrize("text", OF_SCALARS)
def test_what_an_entry_check_refuses_of_numbers_has_its_words(text: str) -> None:
    result: list[Any] = [None]
    entry_check = rx.checked(text)(lambda x, y: result[0])
    for x, y in product(SCALARS, repeat=2):
        for result[0] in (x, 3):
            with suppress(rx.ShapeError):  # and nothing else
                entry_check(x, y)


@pytest.mark.parametrize("value", [2, None, "f", zeros(2)])
def test_what_is_no_function_is_refused(value: Any) -> None:
    @rx.checked("fn(f : fn(Tensor) : Tensor, x : Tensor([n], d)) : Tensor([n], d)")
    def applied(f, x):
        return x

    assert "needs `f` to be a function" in message(applied, value, zeros(2))
    assert applied(np.abs, zeros(2)).shape == (2,)


def test_what_holds_arrays_has_no_entry_check() -> None:
    with pytest.raises(TypeError, match="`Sequence\\(float32\\)`, which is no array"):
        rx.checked("fn(x : Sequence(float32)) : Tensor")(lambda x: x)


@pytest.mark.parametrize("value", [1.5, 2, np.float32(3), zeros(), math.nan, -math.inf])
def test_a_number_is_a_scalar(value: Any) -> None:
    @rx.checked("fn(s : float32) : float32")
    def same(s):
        return s

    assert same(value) is value


@pytest.mark.parametrize("value", [True, 1j, "1", np.float64(3), zeros(1)])
def test_what_is_no_scalar_of_the_dtype_is_refused(value: Any) -> None:
    @rx.checked("fn(s : float32)")
    def same(s):
        return s

    message(same, value)


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (5, 0), (1, 4)])
def test_empty_arrays_pass_where_the_sizes_fit(shape: tuple[int, int]) -> None:
    x = zeros(*shape)
    taken = rx.checked("fn(x : Tensor([n, m * 4], float32)) : Tensor([n, m], float32)")(
        lambda x: zeros(shape[0], shape[1] // 4)
    )
    assert taken(x).shape[0] == shape[0]


class Own(np.ndarray):
    pass


@pytest.mark.parametrize("make", [lambda a: a.view(Own), np.ma.masked_array, np.asfortranarray, lambda a: a[::1, ::-1]])
def test_arrays_of_subclasses_go_in_and_come_out_as_they_are(make: Any) -> None:
    x = make(zeros(3, 4))
    same = rx.checked("fn(x : Tensor([n, m], float32)) : Tensor([n, m], float32)")(lambda x: x)
    assert same(x) is x


def test_byte_order_is_part_of_a_dtype() -> None:
    message(first, zeros(3, 8).astype(">f4"), zeros(3))


def test_dtypes_shapes_bools_and_tuples_are_arguments() -> None:
    @rx.checked("fn(s : Shape, t : DType, b : Bool, p : (Tensor([n], t), Tensor([n], int8))) : Tensor(s, t)")
    def make(s, t, b, p):
        return np.zeros(s, t)

    pair = zeros(2, dtype="float64"), zeros(2, dtype=np.int8)
    for dtype in ("float64", np.float64, np.dtype("f8")):
        assert make((2, 3), dtype, True, pair).shape == (2, 3)
    assert make([2, 0], "float64", np.True_, list(pair)).shape == (2, 0)
    for args in [((2,), "float9", True, pair), (3, "float64", True, pair), ((2,), "float64", 1, pair),
                 ((2,), "float64", True, pair[:1]), ((2,), "float32", True, pair),
                 ((2.5,), "float64", True, pair)]:  # fmt: skip
        message(make, *args)


def test_a_function_that_calls_itself_is_checked_at_each_call() -> None:
    @rx.checked("fn(x : Tensor([n], float32)) : Tensor([n], float32)")
    def down(x):
        return x if len(x) == 0 else np.concatenate([x[:1], down(x[1:])])

    assert len(down(zeros(50))) == 50


def test_the_function_s_own_exceptions_go_through() -> None:
    @rx.checked("fn(x : Tensor([n], float32)) : Tensor([n], float32)")
    def breaks(x):
        raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        breaks(zeros(2))


# It is the same function


def test_name_documentation_and_signature_are_kept() -> None:
    assert first.__name__ == "first" and first.__doc__ == "The first column." and first.__module__ == __name__
    assert str(inspect.signature(first)) == "(x, y)" and first.__wrapped__(zeros(2, 4), None).shape == (2,)
    assert "return x[:, 0]" in inspect.getsource(first)


def test_it_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(first)) is first
    assert pickle.loads(pickle.dumps(Layer().forward))(zeros(2, 5)).tolist() == [5, 5]


def test_threads_call_it_at_once() -> None:
    wrong: list[object] = []

    def calls(n: int) -> None:
        for _ in range(40):
            if first(zeros(n, 4), zeros(n)).shape != (n,) or "but it is 1" not in message(first, zeros(n, 4), zeros(1)):
                wrong.append(n)

    threads = [threading.Thread(target=calls, args=(n,)) for n in (2, 3, 5, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_parameters_may_be_called_as_what_an_entry_check_uses() -> None:
    @rx.checked("""fn(type : Tensor([len, max], float32), int : Tensor([min(len, max)], float32))
        : Tensor([len // max], float32)""")
    def odd(type, int):
        return zeros(2)

    assert odd(zeros(5, 2), zeros(2)).shape == (2,)
    message(odd, zeros(5, 2), zeros(5))
    message(odd, zeros(5, 0), zeros(0))


# Refused where it is decorated


async def coroutine(x):
    return x


def generator(x):
    yield x


async def both(x):
    yield x


class Later:
    async def __call__(self, x):
        return x


class OneByOne:
    def __call__(self, x):
        yield x


@pytest.mark.parametrize(
    ("function", "why"),
    [(coroutine, "is a coroutine"), (Later(), "is a coroutine"), (OneByOne(), "is a generator"),
     (generator, "is a generator"), (both, "is an asynchronous generator"),
     (Layer, "is a class"), (property(first), "is a property"), (5, "is nothing that can be called")],
)  # fmt: skip
def test_what_has_no_result_to_check_is_refused(function: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        rx.checked("fn(x : Tensor([n], float32))")(function)


@pytest.mark.parametrize(
    ("text", "why"),
    [("fn(z : Tensor)", "speaks of `z`"), ("fn(y : Tensor, x : Tensor)", "as `y`, `x`, the function as `x`, `y`"),
     ("fn(rest : Tensor)", "any number of arguments"), ("fn(x : Tensor = 3)", "stands in the Python function")],
)  # fmt: skip
def test_a_signature_of_other_parameters_is_refused(text: str, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        rx.checked(text)(lambda x, y, *rest: x)


@pytest.mark.parametrize(
    "text",
    ["", "fn(", "fn(x : Tensor([n + m]))", "Tensor([n])", "fn(x : Tensor([n])) { x }", "fn(x : Tenser)", "fn(x : Tensor) = 3",
     "fn(x : Tensor)\nextern @g = fn(x : Tensor)", "fn(x : Tensor([n], float32)) where n < 0", "fn(x : Tensor([n, 'a']))"],
)  # fmt: skip
def test_a_signature_that_is_none_is_refused_as_a_program_is(text: str) -> None:
    with pytest.raises(rx.CheckError) as refused:
        rx.checked(text)(lambda x: x)
    assert str(refused.value).startswith("error[E")


def test_what_nothing_binds_without_an_optional_parameter_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot be checked without `y`: nothing says what `"):

        @rx.checked("fn(x : Tensor([n + k], float32), y : Tensor([k], float32)) : Tensor([n], float32)")
        def minus(x, y=None):
            return x


def test_a_long_signature_is_an_entry_check_too() -> None:
    count = 120
    names = [f"x{i}" for i in range(count)]
    params = ", ".join(f"x{i} : Tensor([n{i}, n{max(i - 1, 0)}], float32)" for i in range(count))
    long = rx.checked(f"fn({params}) : Tensor([n{count - 1}], float32)")(namesake(count, lambda *_: zeros(count)))
    args = [zeros(i + 1, max(i, 1)) for i in range(count)]
    assert long(*args).shape == (count,) and len(names) == count
    args[77] = zeros(78, 5)
    assert "axis 1 of `x77` to be 77 (`n76`), but it is 5" in " ".join(message(long, *args).split())


def test_a_part_is_told_by_its_place_and_a_number_has_the_dtype_that_is_asked_of_it() -> None:
    @rx.checked("fn(p : (Tensor([n], int8), (float32, int8)), s : Shape) : (int8, (Tensor([n], int8), float32))")
    def f(p: Any, s: Any, result: Any = None) -> Any:
        return (1, (p[0], 2.5)) if result is None else result

    x = zeros(2, dtype="int8")
    good = (x, (1.0, 2))
    assert f(good, (1, 2))[1][1] == 2.5
    for args, said in [
        ((([1, 2], (1.0, 2)), ()), "`p[0]` to be an array, but it is a Python list"),
        (((x, ("a", 2)), ()), "`p[1][0]` to be a number that float32 can hold, or an array, but it is a Python str"),
        (((x, (10**400, 2)), ()), "`p[1][0]` to be a number that float32 can hold, but it is a Python int"),
        (((x, (1.0, 2.5)), ()), "`p[1][1]` to have dtype int8, but it has float64"),
        ((good, (1, "a")), "`s[1]` to be an integer, but it is a Python str"),
        ((good, (), (1, (zeros(3, dtype="int8"), 2.5))), "axis 0 of item 1, item 0 of its result to be 2 (`n`)"),
        (
            (good, (), (1, (x, "a"))),
            "item 1, item 1 of its result to be a number that float32 can hold, or an array, but it is",
        ),
        ((good, (), (10**400, (x, 2.5))), "item 0 of its result to be a number that int8 can hold"),
    ]:
        assert f"@f needs {said}" in verdict(f, args)
