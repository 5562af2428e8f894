"""A check that shapes decide fails before any work, and says what it says where it stands; what nobody uses does not run."""

from __future__ import annotations

import random
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.interp.compile import CompiledCode
from rxlang.interp.kernels import registry
from rxlang.ops.model import Trait
from rxlang.ops.registry import lookup, names
from support import fuzz

WORK = ("np_", "kernel_")


@contextmanager
def counted(code: CompiledCode) -> Iterator[list[str]]:
    """The kernels that generated code calls, by name, while it runs."""
    called: list[str] = []

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            called.append(name)
            return function(*args)

        return call

    before = {n: v for n, v in code.namespace.items() if n.startswith(WORK)}
    code.namespace.update({n: counting(n, v) for n, v in before.items()})
    try:
        yield called
    finally:
        code.namespace.update(before)


def outcome(module: Any, *args: Any, foresee: bool = True) -> tuple[str | None, list[str]]:
    """What a call of @main is refused with, and the kernels that ran before."""
    machine = module._machine
    code = machine.code_for(args)
    function = code.function("main") if foresee else code.namespace["f_main"]
    with counted(code) as called:
        try:
            machine.attempt(function, *args)
        except rx.ShapeError as problem:
            return str(problem), called
    return None, called


# Programs whose checks stand behind work

HELPER = """@half = fn(x : Tensor([a, b], float64)) : Tensor([c, 2], float64) {
  let y = @exp(x)
  @reshape(y, [-1, 2])
}
@twice = fn(x : Tensor([a, b], float64)) : Tensor { @concat([x, x], axis=1) }
"""


def late_program(rng: random.Random, *, with_data: bool) -> str:
    """Statements over matrices, with checks among them that may fail."""
    lines, names_ = [], ["x", "w"]
    for i in range(rng.randint(3, 8)):
        a, b = rng.choice(names_), rng.choice(names_)
        c = rng.randint(1, 4)
        kinds = [
            f"@exp({a})",
            f"@matrix_transpose({a})",
            f"{a} + {a}",
            f"@concat([{a}, {a}], axis={c % 2})",
            f"@matmul({a}, {b})",
            f"@reshape({a}, [-1, {c}])",
            f"@concat([{a}, {b}], axis=1)",
            f"{a} * {b}",
            f"@half({a})",
            f"@twice({a})",
            f"if (@sum({a}) > 0.0) {{ {a} }} else {{ @exp({a}) }}",
            f"if ({a}.dim(0) > {c}) {{ @matmul({a}, {b}) }} else {{ {a} }}",
            f"for i in range({c}) with (q = {a}) {{ @sin(q) }}",
        ]
        if with_data:
            kinds += [
                f"@filter({a}, {a}[:, 0] > 0.0)",
                f"if (@sum({a}) > 0.0) {{ @matmul({a}, {b}) }} else {{ @exp({a}) }}",
                f"while (@sum({a}) > 1.0e30) with (q = {a}) {{ @sin(q) }}",
            ]
        lines.append(f"  let y{i} = {rng.choice(kinds)}")
        names_.append(f"y{i}")
        if rng.random() < 0.3:
            lines.append(f"  assert y{i}.dim({c % 2}) % {c} == 0")
    head = "@main = fn(x : Tensor([n, d], float64), w : Tensor([e, f], float64)) : Tensor {\n"
    return HELPER + head + "\n".join(lines) + f"\n  {names_[-1]} }}\n"


def random_cases(seed: int, *, with_data: bool) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    rng = random.Random(seed)
    text = late_program(rng, with_data=with_data)
    if not rx.check_source(text).ok:
        return
    module = rx.loads(text)
    for _ in range(4):
        shapes = [(rng.randint(1, 4), rng.randint(1, 4)) for _ in range(2)]
        yield text, module, tuple(np.full(shape, 0.1) for shape in shapes)


def test_what_shapes_refuse_is_refused_before_any_kernel_runs_in_the_words_of_its_own_place() -> None:
    refused = 0
    for case in fuzz.cases("before work"):
        with case as seed:
            for text, module, args in random_cases(seed, with_data=False):
                late, _ = outcome(module, *args, foresee=False)
                early, called = outcome(module, *args)
                assert early == late, text
                if early is not None:
                    refused += 1
                    assert not called, (text, early)
    assert refused > fuzz.tries("before work") // 3


def test_nothing_is_refused_that_runs() -> None:
    for case in fuzz.cases("before work"):
        with case as seed:
            for text, module, args in random_cases(seed, with_data=True):
                late, _ = outcome(module, *args, foresee=False)
                early, called = outcome(module, *args)
                assert (early is None) == (late is None), text
                assert early == late or not called, text


LATE = {
    "in a callee": """@inner = fn(x : Tensor([n, d], float64)) : Tensor([n, 8, 8], float64) {
  let g = @exp(x)
  @reshape(g, [n, 8, 8])
}
@main = fn(x : Tensor([n, d], float64)) : Tensor { @inner(@sin(x)) }""",
    "behind a filter": """@main = fn(x : Tensor([n, d], float64)) : Tensor {
  @matmul(@filter(x, x[:, 0] > 0.0), @ones([64, 2], float64)) }""",
    "behind arms": """@main = fn(x : Tensor([n, d], float64)) : Tensor {
  let y = if (@sum(x) > 0.0) { x } else { @exp(x) }
  @reshape(y, [n, 8, 8]) }""",
    "in a turn": """@main = fn(x : Tensor([n, d], float64)) : Tensor {
  for i in range(3) with (a : Tensor([n, d], float64) = @exp(x)) { a + @sum(@reshape(a, [n, 8, 8])) } }""",
    "behind a while": """@main = fn(x : Tensor([n, d], float64)) : Tensor {
  let y = while (@sum(x) > 1.0e30) with (a : Tensor([n, d], float64) = x) { @sin(a) }
  @reshape(y, [n, 8, 8]) }""",
    "an assertion": """@main = fn(x : Tensor([n, d], float64)) : Tensor {
  let y = @exp(x)
  let z ! Tensor([n, k * 64], float64) = y
  z }""",
    "match_shape": """@main = fn(x : Tensor([n, d], float64)) : Tensor {
  let y = @exp(x)
  match_shape(y, [k], [k, 64])
  y }""",
}


@pytest.mark.parametrize("program", LATE.values(), ids=LATE.keys())
def test_no_kernel_runs_before_a_check_that_shapes_decide(program: str) -> None:
    module = rx.loads(program)
    for columns in (5, 1):
        refused, called = outcome(module, np.ones((2, columns)))
        assert refused is not None and not called
    assert outcome(module, np.ones((2, 64)))[0] is None


FUNCTION_VALUES = {
    "applied elsewhere": "@apply(fn(z : Tensor([q], float64)) : Tensor { @concat([b, z], axis=0) }, x)",
    "nothing captured": "@apply(fn(z : Tensor([q], float64)) : Tensor { @concat([z, z], axis=0) }, x)",
    "through two": "@through(fn(z : Tensor([q], float64)) : Tensor { @concat([b, z], axis=0) }, x)",
    "in a turn": """for i in range(2) with (w = x) {
    let b = @concat([x, x], axis=0)
    @apply(fn(z : Tensor([q], float64)) : Tensor { @concat([z[0:0], b[0:n]], axis=0) }, x) }""",
    "a shape of its own": "@apply(fn(z : Tensor([q], float64)) : Tensor { @reshape(b, [-1, 2]) }, x)",
}
CALLERS = """@apply = fn(f : fn(Tensor([a], float64)) : Tensor, x : Tensor([m], float64)) : Tensor {
  let b = @concat([x, x, x], axis=0)
  f(b)
}
@through = fn(g : fn(Tensor([a], float64)) : Tensor, b : Tensor([m], float64)) : Tensor { @apply(g, b) }
"""


@pytest.mark.parametrize("value", FUNCTION_VALUES.values(), ids=FUNCTION_VALUES.keys())
def test_a_function_value_sees_what_is_around_it_and_not_what_its_caller_calls_alike(value: str) -> None:
    head = CALLERS + "@main = fn(x : Tensor([n], float64)) : Tensor {\n  let b = @exp(@concat([x, x], axis=0))\n"
    size = rx.loads(f"{head}  {value} }}").main(np.ones(2)).shape[0]
    for asked in (size, 2 * size):
        module = rx.loads(f"{head}  let r = {value}\n  assert r.dim(0) == {asked}\n  @sin(r) }}")
        late, _ = outcome(module, np.ones(2), foresee=False)
        early, _ = outcome(module, np.ones(2))
        assert (early, early is None) == (late, asked == size)


def test_of_two_checks_the_first_in_the_source_is_told() -> None:
    module = rx.loads("""@main = fn(x : Tensor([n, d], float64)) : Tensor {
  let y = @exp(x)
  assert y.dim(0) == 3, "first"
  let z = @sin(y)
  assert z.dim(1) == 3, "second"
  z }""")
    assert "first" in str(outcome(module, np.ones((2, 2)))[0])
    assert "second" in str(outcome(module, np.ones((3, 2)))[0])


CALLS: list[str] = []


def noted(x: Any) -> Any:
    CALLS.append("called")
    return x


EXTERN = f"""extern @noted = fn(x : Tensor([n, d], float64)) : Tensor([n, d], float64) = "{__name__}:noted"
"""


def test_an_extern_runs_before_a_check_behind_it_and_not_where_one_before_it_fails() -> None:
    behind = EXTERN + "@main = fn(x : Tensor([n, d], float64)) : Tensor { @reshape(@noted(x), [n, 8, 8]) }"
    before = (
        EXTERN
        + """@main = fn(x : Tensor([n, d], float64)) : Tensor {
  let y = @reshape(@exp(x), [n, 8, 8])
  let z = @noted(x)
  z }"""
    )
    for program, count in ((behind, 1), (before, 0)):
        CALLS.clear()
        with pytest.raises(rx.ShapeError):
            rx.loads(program, filename="x.rx", allow_extern=True).main(np.ones((2, 3)))
        assert len(CALLS) == count


# What nobody uses

UNUSED = [
    "@ones([n * 100000000000])",
    "@truncate(x, k, axis=0)",
    "@exp(x)",
    "@square(x)",
    "@plain(x)",
    "if (c) { @exp(x) } else { @square(x) }",
    "for j in range(10) with (q : Tensor([n], float64) = x) { @sin(q) }",
    "for j in range(10) with (q : Tensor([n], float64) = x) stack (z : Tensor([n], float64)) { (q, q) }",
    "@topk(@truncate(x, k, axis=0), k=0)",
    "@cast(x, int8)",
    "@take(x, 0, axis=0)",
    "@filter(x, x > 0.0)",
]
FUNCTIONS = """@square = fn(x : Tensor([n], float64)) : Tensor([n], float64) { x * x }
@plain = fn(x : Tensor([n], float64)) : Tensor { @exp(@square(x)) }
@main = fn(x : Tensor([n], float64), k : Tensor([], float64), c : Tensor([], bool), i : Tensor([m], int64))
  : Tensor([n], float64) where n >= 1 {
  BODY
  @cos(x)
}
"""
GIVEN = (np.ones(3), np.array(2.5), np.array(True), np.array([7]))


@pytest.mark.parametrize("unused", UNUSED)
def test_what_nobody_uses_and_cannot_fail_does_not_run(unused: str) -> None:
    body = f"let u = {unused}" if "topk" not in unused and "stack" not in unused else f"let (u, v) = {unused}"
    module = rx.loads(FUNCTIONS.replace("BODY", body))
    assert outcome(module, *GIVEN) == (None, ["np_cos"])


@pytest.mark.parametrize(
    "kept",
    [
        "@take(x, i, axis=0)",
        "@reshape(@exp(x), [-1, 2])",
        "while (@sum(x) > 1.0e30) with (q : Tensor([n], float64) = x) { @sin(q) }",
        "for j in range(2) with (q : Tensor([n], float64) = x) { q + @sum(@take(x, i, axis=0)) }",
        "if (c) { @sum(@take(x, i, axis=0)) } else { @sum(x) }",
    ],
)
def test_what_may_fail_or_not_end_runs(kept: str) -> None:
    _, called = outcome(rx.loads(FUNCTIONS.replace("BODY", f"let u = {kept}")), *GIVEN, foresee=False)
    assert set(called) - {"np_cos"}


def test_a_check_that_the_user_wrote_of_an_unused_value_stays() -> None:
    module = rx.loads(FUNCTIONS.replace("BODY", "let u = @truncate(x, k, axis=0)\n  assert u.dim(0) == 3"))
    assert "u.dim(0) is 2" in str(outcome(module, np.ones(3), np.array(2.0), *GIVEN[2:])[0])


def test_an_unused_call_of_an_extern_runs() -> None:
    CALLS.clear()
    program = EXTERN + "@main = fn(x : Tensor([n, d], float64)) : Tensor {\n  let z = @noted(x)\n  x + 1.0 }"
    rx.loads(program, filename="x.rx", allow_extern=True).main(np.ones((2, 3)))
    assert CALLS == ["called"]


# Kernels that refuse values for other reasons than their elements: of shapes that the rule has looked at; of
# @truncate, where its result is used.
_ELSEWHERE = {"reshape", "flatten", "split", "einsum", "arange", "truncate"}
# Kernels that share the code of one that reads strings, and cannot get any.
_NUMBERS = {"cumulative_prod", "cumulative_sum", "fftfreq", "one_hot", "prod", "rfftfreq", "sum", "sum_to"}


def _reached(function: object, seen: set[types.FunctionType]) -> set[types.FunctionType]:
    """The functions that a kernel is made of."""
    if isinstance(function, types.FunctionType) and function not in seen and function.__module__.startswith("rxlang"):
        seen.add(function)
        for code in _codes(function):
            for name in code.co_names:
                named = function.__globals__.get(name)
                _reached(named, seen)
                _reached(getattr(named, "__wrapped__", None), seen)
        for cell in function.__closure__ or ():
            content = cell.cell_contents
            for part in content if isinstance(content, tuple | list) else (content,):
                _reached(part, seen)
    return seen


def _codes(function: types.FunctionType) -> Iterator[types.CodeType]:
    pending = [function.__code__]
    while pending:
        code = pending.pop()
        pending += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        yield code


def test_the_table_has_every_primitive_whose_kernel_refuses_elements() -> None:
    refusing = set()
    for name in names():
        functions = _reached(registry.lookup(name), set())
        if any("BadValue" in code.co_names for f in functions for code in _codes(f)):
            refusing.add(name)
    assert "take" in refusing
    rows = {name: row for name in refusing - _ELSEWHERE - _NUMBERS - {"topk"} if (row := lookup(name)) is not None}
    assert not {name for name, row in rows.items() if not row.refuses and Trait.SPELT not in row.traits}


# Sizes that have no value for some n and m, with where they have one.
PARTIAL: dict[str, Callable[[int, int], bool]] = {
    "n / 3": lambda n, m: n % 3 == 0,
    "n // (m - 1)": lambda n, m: m > 1,
    "2 * (n / m)": lambda n, m: m > 0 and n % m == 0,
}
# What is made of such a size; nobody uses it.
UNUSED = (
    "let z = @zeros([{0}])", "let z = (x, {0})", "let z = x[0:{0}]", "let z = @arange({0})", "let z = @roll(x, {0})",
    "let s : Shape = [{0}, 2]", "let k : Size = {0}", "let z = @seen({0})", "let z = @opaque({0})", "let z = @by_shape([{0}])",
    "let z = if (n > 1) {{ @ones([{0}]) }} else {{ @ones([{0}]) }}", "let k : Size = if (n > 1) {{ {0} }} else {{ {0} }}",
    "let z = if ({0} > 1) {{ 1.0 }} else {{ 2.0 }}", "let z = for i in range({0}) with (a = x) {{ a + 1.0 }}",
    "let z = for i in range(2) with (a = x) {{ let w = @zeros([{0}]); a }}",
    "let z = for i in range(2) with (k : Size = {0}) {{ k + 1 }}", "let g = fn(k : Size) : Tensor {{ x }}; let z = g({0})",
    "let (z, w) = (@zeros([{0}]), x)",
)  # fmt: skip
AROUND = """@seen = fn(k : Size) : Tensor {{ @ones([2]) }}
@opaque = fn(k : Size) : Tensor([2], float32) {{ @ones([2]) }}
@by_shape = fn(s : Shape) : Tensor {{ @ones([2]) }}
@f = fn(x : Tensor([n], float32), y : Tensor([m], float32)) : Tensor {{
  {}
  x
}}
"""


@pytest.mark.parametrize("place", UNUSED)
def test_what_a_size_needs_to_have_a_value_is_checked_whether_it_is_used_or_not(place: str) -> None:
    for size, has_value in PARTIAL.items():
        module = rx.loads(AROUND.format(place.format(size)))
        for n, m in ((0, 0), (1, 0), (3, 1), (3, 2), (4, 2), (4, 3), (6, 3)):
            x, y = np.ones(n, np.float32), np.ones(m, np.float32)
            if has_value(n, m):
                assert module.f(x, y).shape == (n,)
            else:
                assert module.f.residual
                with pytest.raises(rx.ShapeError) as refused:
                    module.f(x, y)
                assert "its operands do not fit" not in str(refused.value), (place, size)


@pytest.mark.parametrize("sections", ["s", "k // 2", "s + 0 * k"])
def test_a_tuple_is_taken_apart_though_nobody_uses_its_parts(sections: str) -> None:
    text = (
        "@main = fn(x : Tensor([k, 4], float32), s : Size) : Tensor {\n"
        f"  let (y, z) = @split(@stack([x, x], axis=1), sections={sections}, axis=2)\n  x\n}}\n"
    )
    main = rx.loads(text).main
    for _ in range(3):  # the second time by a plan
        assert main(np.ones((4, 4), np.float32), 2).shape == (4, 4)
        with pytest.raises(rx.ShapeError, match="this is a tuple of 1; here are 2 names"):
            main(np.ones((2, 4), np.float32), 1)
