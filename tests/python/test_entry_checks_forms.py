"""Annotations that hold arrays in lists, unions, classes and the like: each is checked at a call, or refused with a reason."""

# Annotations in this notation are no forward references: their text is the dimensions.
# ruff: noqa: F722, F821, UP037

from __future__ import annotations

import dataclasses
import functools
import re
import sys
import traceback
import types
from importlib.util import find_spec
from typing import Any, ClassVar, Generic, NamedTuple, NotRequired, TypedDict, TypeVar

import numpy as np
import pytest
import rxlang as rx
from support import fuzz
from support.places import ROOT
from support.random_annotations import RandomFunction

T = TypeVar("T")


def zeros(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.zeros(shape, dtype)


def annotated(**said: Any) -> Any:
    """A function of `x` and `y` with these annotations; it gives what `y` is."""

    def f(x, y=None, cfg=None):
        return y

    f.__annotations__ = said
    return rx.checked(f)


def fits(function: Any, *args: Any, **named: Any) -> bool:
    try:
        function(*args, **named)
    except rx.ShapeError:
        return False
    return True


def message(function: Any, *args: Any, **named: Any) -> str:
    with pytest.raises(rx.ShapeError) as refused:
        function(*args, **named)
    return refused.value.diagnostic.message


# The table of docs/python.md


@dataclasses.dataclass
class Batch:
    x: Float32[Array, "n d"]
    rows: int = 2
    y: Float32[Array, "rows"] = None
    kinds: ClassVar[Float32[Array, "k"]] = None


class Pair(NamedTuple):
    x: Float32[Array, "n d"]
    y: Float32[Array, "n"]


class Named(TypedDict):
    x: Float32[Array, "n d"]
    y: NotRequired[Float32[Array, "n"]]


@dataclasses.dataclass
class Box(Generic[T]):
    inner: T


X, N, D = zeros(2, 3), zeros(2), zeros(3)
# An annotation of `x`, values that fit beside a `y` of two elements that is `n`, and some that do not.
CHECKED: list[tuple[str, list[Any], list[Any]]] = [
    ('Float32[Array, "n d"]', [X], [zeros(3, 3), N, None, "a"]),
    ('Float32[Array, "n 3"]', [X], [zeros(2, 4)]),
    ('Float32[Array, "n rows=3"]', [X], [zeros(2, 4)]),
    ('Float32[Array, "n _"]', [X], [zeros(3, 3)]),
    ('Float32[Array, "n ..."]', [X, N], [D]),
    ('Float32[Array, "*b n"]', [N, zeros(4, 2)], [X]),
    ('Float32[Array, "n n*2-1"]', [X], [zeros(2, 4)]),
    ('Float32[Array, ""]', [zeros(), 2.5], [N]),
    ('Float32[Array, "#n d"]', [X, zeros(1, 3)], [zeros(3, 3), N]),
    ('Float32[Array, "*#b n"]', [N, zeros(4, 2)], [X]),
    ('Float32[Array, "n {cfg.d}"]', [X], [zeros(2, 4), zeros(3, 3)]),
    ('Float32[Array, "n {cfg.d}+1"]', [zeros(2, 4)], [X]),
    ('Float32[Array, "n {cfg.d}*n"]', [zeros(2, 6)], [X, zeros(2, 9)]),
    ('Annotated[Float32[Array, "n"], "of rows"]', [N], [D]),
    ('Float32[Array, "n"] | None', [N, None], [D, X]),
    ('Optional[Float32[Array, "n"]]', [N, None], [D, X]),
    ('Float32[Array, "n d"] | Int8[Array, "n"]', [X, zeros(2, dtype=np.int8)], [N, D, zeros(3, 3), None]),
    ('Float32[Array, "n d"] | float | str', [X, 2.5, 3, "a"], [N, None, zeros(3, 3)]),
    ('tuple[Float32[Array, "n"], Int8[Array, ""]]', [(N, 1)], [(D, 1), (N,), N]),
    ('tuple[Float32[Array, "n"], str]', [(N, "a")], [(D, "a"), (N,), None]),
    ('tuple[Float32[Array, "n"], ...]', [(), (N, N)], [(N, D), [N], N]),
    ('list[Float32[Array, "n"]]', [[], [N, N]], [[N, D], (N,), N, [None]]),
    ('Sequence[Float32[Array, "n"]]', [[N], (N, N)], [[N, D], {"a": N}]),
    ('dict[str, Float32[Array, "n"]]', [{}, {"a": N}], [{"a": N, "b": D}, [N]]),
    ('Mapping[str, list[Float32[Array, "n"]]]', [{"a": [N]}], [{"a": [N, D]}, {"a": N}]),
    ("Batch", [Batch(X), Batch(X, 4, zeros(4))], [Batch(zeros(3, 3)), Batch(X, 4, N), Batch(X, True, zeros(1)), X, Pair(X, N)]),
    ("Pair", [Pair(X, N)], [Pair(X, D), (X, N), Pair(X, None)]),
    ("Named", [{"x": X}, {"x": X, "y": N}], [{"y": N}, {"x": X, "y": D}, [X]]),
    ("Box[Float32[Array, 'n']]", [Box(N)], [Box(D), Box(None)]),
    ("list[Box[Batch]]", [[Box(Batch(X))]], [[Box(Batch(X)), Box(Batch(zeros(3, 3)))]]),
    ('"Tensor([n, d], float32)"', [X], [zeros(3, 3)]),
    ('Annotated[np.ndarray, "Tensor([n, m * 3], float32)"]', [X], [zeros(2, 4)]),
]  # fmt: skip
REFUSED = [
    ('PyTree[Float32[Array, "n"]]', "Rx has no trees"), ('Float32[Array, "?n"]', "Rx has no trees"),
    ('Callable[[Float32[Array, "n"]], int]', "its arguments are not seen"),
    ('Iterator[Float32[Array, "n"]]', "its elements come one by one"), ('type[Float32[Array, "n"]]', "no words for"),
    ('tuple[int, *tuple[Float32[Array, "n"], ...]]', "no words for"), ('dict[Float32[Array, "n"], int]', "no words for"),
    ('Counter[Float32[Array, "n"]]', "no words for"), ('Float32[Array, "n"] | Unheard', "is no class by which"),
    ('Float32[Array, "#_"]', "`#` stands once"), ('Float32[Array, "*#_"]', "`#` stands once"),
    ('Float32[Array, "n#"]', "`#` stands once"),
    ('Float32[Array, "{n +}"]', "cannot be read as Python"), ('Float32[Array, "{n"]', "cannot be read as Python"),
    ('Float32[Array, "*{n}"]', "cannot be read as Python"), ('Float32[Array, "*a *b"]', "two parts"),
    ('Float32[Array, "n/2"]', "is no size"), ('Key[Array, ""]', "`Key` is a class of dtypes that no signature has"),
    ("Float32[Array]", "is not like"), ('Float[Array, "n"', "no annotation of Python's"),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "good", "bad"), CHECKED, ids=[row[0] for row in CHECKED])
def test_an_annotation_of_the_table_is_checked(annotation: str, good: list[Any], bad: list[Any]) -> None:
    function = annotated(x=annotation, y='Float32[Array, "n"]')
    cfg = types.SimpleNamespace(d=3)
    for value in good:
        assert fits(function, value, N, cfg), value
    for value in bad:
        assert not fits(function, value, N, cfg), value


@pytest.mark.parametrize(("annotation", "good", "bad"), CHECKED, ids=[row[0] for row in CHECKED])
def test_a_result_is_checked_as_an_argument_is(annotation: str, good: list[Any], bad: list[Any]) -> None:
    def f(x, y, cfg):
        return y

    f.__annotations__ = {"x": 'Float32[Array, "n"]', "return": annotation}
    function, cfg = rx.checked(f), types.SimpleNamespace(d=3)
    for value in good:
        assert fits(function, N, value, cfg), value
    for value in bad:
        assert not fits(function, N, value, cfg), value


@pytest.mark.parametrize(("annotation", "why"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_cannot_be_checked_is_refused_where_it_is_decorated(annotation: str, why: str) -> None:
    for name in ("x", "return"):
        with pytest.raises(TypeError, match=re.escape(why)):
            annotated(y='Float32[Array, "n"]', **{name: annotation})


def test_the_table_of_the_documents_has_these_rows() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8").replace("\\|", "|")
    assert [row[0] for row in (*CHECKED, *REFUSED) if f"`{row[0]}`" not in page] == []


# Against all sizes, and beside others


def test_random_functions_take_what_some_sizes_fit() -> None:
    for case in fuzz.cases("annotated functions"):
        with case as seed:
            made, result = RandomFunction(seed), list[Any]()
            function = rx.checked(made.function({}, lambda: result[0]))  # noqa: B023
            for _ in range(6):
                args, more, named, result[:1] = *(called := made.call())[:3], [called[3]]
                wanted = made.fits(args, more, named, (result[0],))
                assert fits(function, *args, *more, **named) == wanted, (made.annotations, args, more, named, result)


@pytest.mark.skipif(
    find_spec("jaxtyping") is None or find_spec("beartype") is None, reason="jaxtyping is not installed"
)
def test_what_jaxtyping_refuses_is_refused() -> None:
    import beartype
    import jaxtyping

    kinds = {name: getattr(jaxtyping, name) for name in ("Float32", "Float", "Int", "Shaped", "Bool")}
    for case in fuzz.cases("beside jaxtyping"):
        with case as seed:
            made, result = RandomFunction(seed, simple=True), list[Any]()
            plain = made.function(kinds, lambda: result[0])  # noqa: B023
            plain.__annotations__ = {n: eval(text, plain.__globals__) for n, text in plain.__annotations__.items()}
            copy = types.FunctionType(plain.__code__, plain.__globals__, "f", plain.__defaults__)
            copy.__annotations__, copy.__kwdefaults__ = plain.__annotations__, plain.__kwdefaults__
            ours = rx.checked(copy)
            theirs = jaxtyping.jaxtyped(typechecker=beartype.beartype)(plain)
            for _ in range(6):
                args, more, named, result[:1] = *(called := made.call())[:3], [called[3]]
                try:
                    theirs(*args, *more, **named)
                except jaxtyping.TypeCheckError:
                    assert not fits(ours, *args, *more, **named), (made.annotations, args, more, named, result)


# Parameters


def test_an_integer_of_a_size_s_name_is_that_size() -> None:
    @rx.checked
    def first(x: Float32[Array, "b t"], n: int, k: int = 3) -> Float32[Array, "b n"]:
        return x[:, :n] if k == 3 else x

    assert fits(first, X, 2) and fits(first, X, np.int64(3)) and fits(first, X, n=0)
    assert message(first, X, 4) == "@first needs axis 1 of its result to be 4 (`n`), but it is 3"
    assert message(first, X, 2, k=4) == "@first needs axis 1 of its result to be 2 (`n`), but it is 3"
    assert message(first, X, True) == "@first needs `n` to be an integer, but it is a Python bool"
    assert not fits(first, X, 2.0)
    assert str(rx.signature(first)).startswith("@first = fn(x : Tensor([b, t], float32), n : Size)")


def test_an_integer_that_may_be_none_is_a_size_where_it_is_given() -> None:
    @rx.checked
    def rows(x: Float32[Array, "n d"], n: int | None = None, h: int | None = 1) -> Float32[Array, "n-h+1"]:
        return x[h - 1 :, 0]

    assert fits(rows, X) and fits(rows, X, 2) and fits(rows, X, h=2) and not fits(rows, X, 3)


def test_any_number_of_arguments_is_checked_one_by_one() -> None:
    @rx.checked
    def total(
        *xs: Float32[Array, "n"], y: Float32[Array, "n"] = None, **named: Float32[Array, "n d"]
    ) -> Float32[Array, "n"]:
        return xs[0]

    assert fits(total, N, N) and fits(total, N, y=N, a=X)
    assert message(total, N, D) == "@total needs axis 0 of `xs[1]` to be 2 (`n`), but it is 3"
    assert message(total, N, y=D) == "@total needs axis 0 of `y` to be 2 (`n`), but it is 3"
    assert message(total, D, a=X) == "@total needs axis 0 of `named['a']` to be 3 (`n`), but it is 2"


def test_more_than_four_parameters_may_be_none() -> None:
    names = ("a", "b", "c", "d", "e")
    space: dict[str, Any] = {}
    exec(f"def f({', '.join(f'{n}=None' for n in names)}): return None", space)
    space["f"].__annotations__ = dict.fromkeys(names, 'Float32[Array, "n"]')
    function = rx.checked(space["f"])
    assert fits(function) and fits(function, N, e=N) and not fits(function, N, e=D)


class Net:
    width = 3

    def __init__(self, dim: Any) -> None:
        self.dim = dim

    @rx.checked
    def forward(self, x: Float32[Array, "b {self.dim}"]) -> Float32[Array, "b {self.dim * 2}"]:
        return np.concatenate([x, x], 1)

    @classmethod
    @rx.checked
    def inside(cls, x: Float32[Array, "b {cls.width}"]) -> Float32[Array, "b"]:
        return x[:, 0]

    @property
    @rx.checked
    def both(self) -> list[Float32[Array, "{self.dim}"]]:
        return [D, D]


def test_an_expression_in_braces_is_what_it_is_at_the_call() -> None:
    assert fits(Net(3).forward, X) and fits(Net(np.int8(5)).forward, zeros(2, 5)) and fits(Net.inside, X)
    assert message(Net(4).forward, X) == "@forward needs axis 1 of `x` to be 4, but it is 3"
    assert not fits(Net.inside, zeros(2, 4)) and Net(3).both is not None and not fits(lambda: Net(2).both)
    for dim, why in [
        (2.0, "'float' object"),
        (True, "True is no size"),
        ("a", "'a' is no size"),
        (-1, '"-1" is no size'),
    ]:
        assert why in message(Net(dim).forward, X)
    del (net := Net(3)).dim
    assert "`{self.dim}` cannot be computed: AttributeError: 'Net' object has no attribute 'dim'" in message(
        net.forward, X
    )


def test_partial_functions_and_objects_that_are_called_are_checked() -> None:
    def pair(x: list[Float32[Array, "n"]], y: Float32[Array, "n"]) -> int:
        return len(x)

    for function in (rx.checked(functools.partial(pair, y=N)), functools.partial(rx.checked(pair), y=N)):
        assert fits(function, [N]) and not fits(function, [D])


# Classes


@dataclasses.dataclass
class Tree:
    value: Float32[Array, "d"]
    left: Tree | None = None
    others: list["Tree"] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Inherits(Batch, Box[Pair]):
    more: Float32[Array, "d"] | None = None


def test_fields_of_fields_are_checked_and_a_class_inside_itself() -> None:
    @rx.checked
    def walk(t: Tree) -> Float32[Array, "d"]:
        return t.value

    ring = Tree(D)
    ring.left = ring
    assert fits(walk, Tree(D, Tree(D), [Tree(D)])) and fits(walk, ring)
    assert (
        message(walk, Tree(D, Tree(D, None, [Tree(N)])))
        == "@walk needs axis 0 of `t.left.others[0].value` to be 3 (`d`), but it is 2"
    )


def test_inherited_fields_and_type_variables_are_checked() -> None:
    function = annotated(x=Inherits)
    good = {"x": X, "inner": Pair(X, N)}
    assert fits(function, Inherits(**good, more=D))
    for wrong in ({"more": N}, {"x": D}, {"inner": Pair(X, D)}, {"inner": N}, {"rows": 1, "y": N}):
        assert not fits(function, Inherits(**{**good, **wrong}))


@pytest.mark.parametrize("annotation", ['Float32[Array, "n d"] | T', "Box[T]", "Box"])
def test_a_type_variable_that_nothing_fixes_takes_any_value(annotation: str) -> None:
    function = annotated(x=annotation, y='Float32[Array, "n"]')
    assert all(fits(function, x, N) for x in (X, D, "any", Box(D))) and not fits(function, "any", X)


def test_classes_of_a_function_are_known_in_it() -> None:
    @dataclasses.dataclass
    class Inner:
        v: Float32[Array, "n"]

    @dataclasses.dataclass
    class Outer:
        all: list[Inner]

    @rx.checked
    def f(x: Outer, y: Float32[Array, "n"]) -> int:
        return 1

    assert fits(f, Outer([Inner(N)]), N) and not fits(f, Outer([Inner(N), Inner(D)]), N)


@pytest.mark.parametrize("annotation", ["Iterator[Batch]", "Callable[[Batch], int]", "type[Pair]", "Unpack[Named]"])
def test_a_class_with_arrays_inside_what_is_not_looked_into_is_refused(annotation: str) -> None:
    def f(x, y):
        return x

    f.__annotations__ = {"x": annotation, "y": 'Float32[Array, "n"]'}
    with pytest.raises(TypeError, match="no words for"):
        rx.checked(f)


def test_an_alias_inside_itself_is_refused_where_it_holds_arrays() -> None:
    space = {"Json": "dict[str, Json] | list[Json] | int", "Nest": "list[Nest] | Float32[Array, 'n']"}

    def f(x, y):
        return x

    own = types.FunctionType(f.__code__, {**globals(), **space})
    own.__annotations__ = {"x": "Json", "y": 'Float32[Array, "n"]'}
    assert fits(rx.checked(own), {"a": [1]}, N)
    own.__annotations__ = {"x": "Nest"}
    with pytest.raises(TypeError, match="is a type inside itself"):
        rx.checked(own)


def test_lists_of_many_shapes_are_checked_in_time() -> None:
    open_ = annotated(x='list[Float32[Array, "n _ ..."]]', y='Float32[Array, "n"]')
    assert fits(open_, [zeros(2, i) for i in range(2_000)], N) and not fits(open_, [zeros(2, 1), zeros(3, 1)], N)


def test_a_result_says_which_field_is_wrong() -> None:
    @rx.checked
    def f(x: Float32[Array, "n d"]) -> dict[str, Pair]:
        return {"a": Pair(x, D)}

    assert message(f, X) == "@f needs axis 0 of `['a']`, `.y` of its result to be 2 (`n`), but it is 3"


def test_a_class_without_arrays_is_left_alone() -> None:
    @dataclasses.dataclass
    class Config:
        n: int
        parent: Config | None = None

    function = annotated(x=Config, y='Float32[Array, "n"]')
    assert fits(function, Config(7), N) and fits(function, "no config", N)
    assert str(rx.signature(function)) == "@f = fn(y : Tensor([n], float32))"


# Unions


def test_the_choice_of_a_union_is_one_that_fits_the_whole_call() -> None:
    function = annotated(x='Float32[Array, "n d"] | Float32[Array, "1 d"]', y='Float32[Array, "n"]')
    assert fits(function, zeros(1, 3), N) and fits(function, X, N) and not fits(function, zeros(3, 3), N)
    many = annotated(x='list[Float32[Array, "n"] | Float32[Array, "m"]]', y='Float32[Array, "n"]')
    assert fits(many, [D] * 30, N) and fits(many, [D, N] * 30, N) and not fits(many, [D, N, zeros(4)], N)


def test_numbers_before_and_after_any_axes_choose_a_type_of_a_union() -> None:
    function = annotated(x='Float32[Array, "2 ... 3"] | Int8[Array, "n"]', y='Float32[Array, "n"]')
    assert all(fits(function, x, N) for x in (X, zeros(2, 4, 5, 3), zeros(2, dtype=np.int8)))
    assert not any(fits(function, x, N) for x in (N, zeros(3, 3), zeros(4, 2, 2, 3), zeros(2, 4, 2)))


def test_a_value_of_no_type_of_a_union_is_refused_with_the_union() -> None:
    function = annotated(x='Float32[Array, "n d"] | int')
    assert message(function, "a") == "@f needs `x` to be `Float32[Array, 'n d'] | int`, but it is a Python str"


def test_parts_that_are_broadcast_go_with_each_other() -> None:
    function = annotated(x='Float32[Array, "*#b d"]', y='Float32[Array, "*#b d"]')
    assert fits(function, zeros(1, 5, 3), zeros(4, 1, 3)) and fits(function, D, zeros(4, 5, 3))
    assert (
        message(function, zeros(4, 3), zeros(5, 3))
        == "@f needs [4] to be broadcast with `*#b`, but `*#b` of `y` is [5]"
    )
    exact = annotated(x='Float32[Array, "*#b d"]', y='Float32[Array, "*b d"]')
    assert fits(exact, zeros(1, 3), zeros(4, 3)) and not fits(exact, zeros(4, 3), zeros(1, 3))


# What is raised, and where it is said to be


def test_what_is_raised_inside_says_what_the_function_was_called_with() -> None:
    @rx.checked(
        "fn(x : Tensor([b, t * 2, d], float32), k : Size, p : (Tensor([k], e), float32)) : Tensor([b, t], float32)"
    )
    def inner(x, k, p):
        raise problem

    @rx.checked
    def outer(xs: list[Float32[Array, "n"]]) -> Float32[Array, "n"]:
        return inner(zeros(2, 6, 4), 2, (zeros(2), 1.5))

    for problem in (KeyError("own"), KeyboardInterrupt(), StopIteration()):
        with pytest.raises(type(problem)) as raised:
            outer([N, N])
        assert raised.value is problem and problem.__notes__ == [
            "@inner was called with b = 2, t = 3, d = 4, k = 2; "
            "`x` is float32[2, 6, 4], `p[0]` is float32[2], `p[1]` is float64[]",
            "@outer was called with n = 2; `xs[0]` is float32[2]",
        ]
        assert traceback.extract_tb(raised.value.__traceback__)[-1].line == "raise problem"
        with pytest.raises(type(problem)):
            outer([N, N])
        assert len(problem.__notes__) == 2


def test_a_function_that_calls_itself_says_each_call_once() -> None:
    @rx.checked("fn(x : Tensor([n], float32)) : Tensor([n], float32)")
    def down(x):
        return down(x[1:]) if len(x) else 1 / 0

    with pytest.raises(ZeroDivisionError) as raised:
        down(D)
    assert [note[:28] for note in raised.value.__notes__] == [f"@down was called with n = {n};" for n in range(4)]


def test_notes_that_are_no_list_stay() -> None:
    problem = ValueError()
    problem.__notes__ = ("own",)  # type: ignore[assignment]

    @rx.checked("fn(x : Tensor([n], float32))")
    def breaks(x):
        raise problem

    with pytest.raises(ValueError) as raised:
        breaks(N)
    assert raised.value.__notes__ == ("own",)


def _plain(x: Float32[Array, "n d"], y: Int8[Array,
           "n*2"] = None) -> Float32[Array, "n"]:  # fmt: skip
    return x[:, 0]


def _held(x: list[Float32[Array, "n d"]], b: Batch = None) -> Float32[Array, "n"]:
    return x[0][:, 0]


@pytest.mark.parametrize(
    ("function", "args", "place"),
    [
        (_plain, (X, zeros(3, dtype=np.int8)), '"n*2"] = None'), (_plain, (X, zeros(4)), "y: Int8[Array"),
        (_plain, (N,), "x: Float32[Array"), (_plain, ("no",), "x: Float32"), (_held, ([X, D],), "x: list["),
        (_held, ([X], Batch(zeros(3, 3))), "b: Batch"), (_held, ([X], 3), "b: Batch"), (_held, (X,), "x: list["),
    ],
)  # fmt: skip
def test_a_refusal_stands_at_the_user_s_annotation_and_ends_at_the_call(function: Any, args: Any, place: str) -> None:
    entry_check = rx.checked(function)
    with pytest.raises(rx.ShapeError) as refused:
        entry_check(*args)  # this line
    said, span = str(refused.value), refused.value.diagnostic.span
    assert place in span.source.line(span.line) and "test_entry_checks_forms.py" in span.source.name
    assert "Tensor([n" not in said and "_rx_" not in said and " signature " not in said
    assert traceback.extract_tb(refused.value.__traceback__)[-1].line == "entry_check(*args)  # this line"


def test_a_refused_decoration_ends_at_the_user_s_line() -> None:
    for decorate in (rx.checked, rx.checked("fn(z : Tensor)"), rx.checked("fn(x : Tensor([n + k]))")):
        with pytest.raises((TypeError, rx.CheckError)) as refused:
            decorate(lambda x: x)  # decorated here
        assert (traceback.extract_tb(refused.value.__traceback__)[-1].line or "").endswith("# decorated here")


def test_a_result_s_refusal_ends_at_the_call() -> None:
    text = "fn(x : Tensor([n], float32)) : Tensor([n, n], float32)"
    for entry_check in (
        rx.checked(text)(lambda x: x),
        annotated(**{"return": "Batch"}),
        annotated(**{"return": "Int8[Array, '']"}),
    ):
        with pytest.raises(rx.ShapeError) as refused:
            entry_check(N)  # the call
        assert (traceback.extract_tb(refused.value.__traceback__)[-1].line or "").endswith("# the call")


def test_a_function_that_stands_in_no_file_shows_its_annotations() -> None:
    space: dict[str, Any] = {}
    exec("def f(x, y): return x", space)
    space["f"].__annotations__ = {
        "x": 'Float32[Array, "n"]',
        "y": 'list[Float32[Array, "n"]]',
        "return": 'Int8[Array, "n"]',
    }
    with pytest.raises(rx.ShapeError) as refused:
        rx.checked(space["f"])(N, [D])
    assert """def f(x: Float32[Array, "n"], y: list[Float32[Array, "n"]]) -> Int8[Array, "n"]:""" in str(refused.value)


def test_what_has_no_one_signature_says_so() -> None:
    function = annotated(x="list[Float32[Array, 'n']]")
    with pytest.raises(TypeError, match="has more than one signature"):
        rx.signature(function)
    with pytest.raises(TypeError, match="has more than one signature"):
        rx.compose(function, function)


# Libraries


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_tensors_of_torch_s_are_checked_compiled_too() -> None:
    import torch

    function = annotated(x="list[Float32[Array, 'n d']]", y='Float32[Array, "n"]', **{"return": 'Float32[Array, "n"]'})
    for entry_check in (function, torch.compile(function, backend="eager")):
        assert fits(entry_check, [torch.zeros(2, 3)], torch.zeros(2)) and not fits(
            entry_check, [torch.zeros(2, 3)], torch.zeros(3)
        )


def test_jaxtyping_need_not_be_there() -> None:
    assert "jaxtyping" not in vars(sys.modules[__name__]) and fits(annotated(x="list[jt.Float32[jt.Array, 'n']]"), [N])
