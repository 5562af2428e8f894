"""One meaning of a size, in every domain: integers, partly known sizes, terms, Python text, names of ONNX, and SymPy."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.cli.main import invoke
from rxlang.fixes.numbers import values as numbers
from rxlang.frontends.onnx import dims
from rxlang.lang import core
from rxlang.lang.core_printer import print_expr
from rxlang.lang.source import NOWHERE
from rxlang.python import size_sympy
from rxlang.simplify.solver import terms
from rxlang.simplify.solver.exprs import QuestionScope, read_size
from rxlang.simplify.solver.term_sizes import Terms
from rxlang.sizes import integers, partial
from rxlang.sizes.evaluate import Domain, evaluate
from rxlang.sizes.operators import SIZE_OPERATORS, SizeOperator
from rxlang.sizes.text import Texts
from support import fuzz

NAMES = ("n", "m", "k")


def by_hand(op: str, a: int, b: int) -> int | None:
    """What an operator gives, written a second time; None where it has no value."""
    if op in ("//", "%", "/", "ceildiv") and b <= 0 or op == "/" and a % b:
        return None
    if op == "broadcast":
        return b if a == 1 else a if b in (a, 1) else None
    if op in ("min", "max"):
        return min(a, b) if op == "min" else max(a, b)
    whole, rest = divmod(a, b) if b else (0, 0)
    return {"+": a + b, "-": a - b, "*": a * b, "//": whole, "/": whole, "%": rest, "ceildiv": whole + (rest > 0)}[op]


def expected(e: core.SizeExpr, env: dict[str, int]) -> int | None:
    if isinstance(e, core.SizeOp):
        a, b = expected(e.left, env), expected(e.right, env)
        return None if a is None or b is None else by_hand(e.op, a, b)
    return e.value if isinstance(e, core.SizeLit) else env[e.name]  # type: ignore[union-attr]


class Named(Domain):
    """Any domain, its names given."""

    def named(self, e: Any) -> Any:
        return self.env[e.name]  # type: ignore[attr-defined]


class InTerms(Named, Terms):
    def __init__(self, env: dict[str, Any]) -> None:
        self.env = env


class InPart(Named, partial.Partial):
    def __init__(self, env: dict[str, Any]) -> None:
        self.env = env


class InText(Texts):
    def named(self, e: Any) -> str:
        return str(e.name)


def value(function: Any) -> int | None:
    try:
        return int(function())
    except integers.Undefined:
        return None


def answers(e: core.SizeExpr, env: dict[str, int]) -> Iterator[tuple[str, int | None]]:
    """What each domain that tells undefined from defined says."""
    yield "integers", value(lambda: evaluate(e, integers.Integers(env)))
    yield "partly known", value(lambda: evaluate(e, InPart(env)))
    yield "Python text", value(lambda: eval(evaluate(e, InText()), {**integers.helpers(), **env}))
    yield "names of ONNX", dims.evaluate(e, env)


def total(e: core.SizeExpr, env: dict[str, int]) -> Iterator[tuple[str, int]]:
    """What the domains say in which a quotient always has a value."""
    variables = {name: terms.var(name, i, nonneg=False) for i, name in enumerate(env)}
    point = {next(iter(terms.variables(variables[name]))): number for name, number in env.items()}
    yield "terms", terms.evaluate(evaluate(e, InTerms(variables)), point)
    text, scope = print_expr(e), QuestionScope(frozenset(env))
    read = read_size(text, scope)
    yield "text of a question", terms.evaluate(read, {v: env[v.name] for v in terms.variables(read)})


@pytest.mark.parametrize("op", SIZE_OPERATORS)
def test_every_operator_means_the_same_everywhere(op: str) -> None:
    e = core.SizeOp(NOWHERE, op, core.SizeVar(NOWHERE, "n"), core.SizeVar(NOWHERE, "m"))
    for a, b in itertools.product(range(-3, 8), repeat=2):
        env, wanted = {"n": a, "m": b}, by_hand(op, a, b)
        assert dict(answers(e, env)) == dict.fromkeys(dict(answers(e, env)), wanted), (op, a, b)
        assert integers.folded(core.SizeOp(NOWHERE, op, core.SizeLit(NOWHERE, a), core.SizeLit(NOWHERE, b))) == (
            core.SizeLit(NOWHERE, wanted)
            if wanted is not None
            else core.SizeOp(NOWHERE, op, core.SizeLit(NOWHERE, a), core.SizeLit(NOWHERE, b))
        )
        if wanted is None:
            with pytest.raises(numbers.Misfit):
                numbers.arithmetic(op, a, b)
        else:
            assert numbers.arithmetic(op, a, b) == wanted
            assert terms.evaluate(evaluate(e, InTerms({"n": a, "m": b})), {}) == wanted
        if wanted is not None and min(a, b) >= 0:  # as SymPy takes names of sizes to be
            of_sympy = size_sympy.of_text(print_expr(e))
            assert int(of_sympy.subs({s: env[s.name] for s in of_sympy.free_symbols})) == wanted


def random_size(choose: random.Random, depth: int) -> core.SizeExpr:
    if depth == 0 or choose.random() < 0.2:
        literal = choose.random() < 0.4
        return core.SizeLit(NOWHERE, choose.randint(-3, 7)) if literal else core.SizeVar(NOWHERE, choose.choice(NAMES))
    op = choose.choice(list(SIZE_OPERATORS))
    return core.SizeOp(NOWHERE, op, random_size(choose, depth - 1), random_size(choose, depth - 1))


def test_random_sizes_mean_the_same_everywhere() -> None:
    for case in fuzz.cases("sizes in all domains"):
        with case as seed:
            same_everywhere(random.Random(f"sizes {seed}"))


def same_everywhere(choose: random.Random) -> None:
    e = random_size(choose, choose.randint(1, 3))
    env = {name: choose.randint(-3, 7) for name in NAMES}
    wanted = expected(e, env)
    found = dict(answers(e, env))
    assert found == dict.fromkeys(found, wanted), print_expr(e)
    if wanted is not None:
        told = dict(total(e, env))
        assert told == dict.fromkeys(told, wanted), print_expr(e)
    hidden = choose.choice(NAMES)
    try:
        part = evaluate(e, InPart({**env, hidden: partial.UnknownSize()}))
    except (partial.Open, integers.Undefined) as problem:
        assert isinstance(problem, partial.Open) or wanted is None, print_expr(e)
    else:
        assert isinstance(part, partial.UnknownSize) or wanted is None or part == wanted, print_expr(e)


def test_truths_that_are_open_are_not_equal() -> None:
    compare = core.Compare(NOWHERE, "<", core.SizeVar(NOWHERE, "n"), core.SizeLit(NOWHERE, 3))
    equal = core.Compare(NOWHERE, "==", compare, core.Not(NOWHERE, compare))
    with pytest.raises(partial.Open):
        evaluate(equal, InPart({"n": partial.UnknownSize()}))


# An operator that nobody has heard of, by a row alone

HALFWAY = SizeOperator("halfway", lambda c, a, b: (a + b) // 2, called=True)
SHARE = SizeOperator("share", lambda c, a, b: c.max(a // b, 1), called=True, divides=True, check="share")

PROGRAM = """
@middle = fn(x : Tensor([n], float32), y : Tensor([m], float32)) : Tensor([halfway(n, m)], float32) {
  @zeros([(n + m) // 2], dtype=float32)
}
@parts = fn(x : Tensor([n], float32), k : Size) : Tensor([share(n, k)], float32) where k >= 1 {
  @ones([max(n // k, 1)], dtype=float32)
}
@asked = fn(x : Tensor([n], float32), y : Tensor([halfway(n, 4)], float32), k : Size) where share(n, k) <= 3 { x }
"""


@pytest.fixture
def new_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    for row in (HALFWAY, SHARE):
        monkeypatch.setitem(SIZE_OPERATORS, row.name, row)


@pytest.mark.usefixtures("new_operators")
def test_a_new_operator_is_checked_and_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = rx.loads(PROGRAM)
    assert module.middle(np.zeros(3, np.float32), np.zeros(6, np.float32)).shape == (4,)
    assert module.parts(np.zeros(7, np.float32), 3).shape == (2,)
    path = tmp_path / "new.rx"
    path.write_text(PROGRAM)
    for command in (["check", "--no-cache"], ["desugar"], ["shapes"], ["shapes", "--memory"], ["shapes", "--program"]):
        assert invoke([*command, str(path)]) == 0
    assert "halfway" in capsys.readouterr().out


@pytest.mark.usefixtures("new_operators")
def test_a_new_operator_says_what_fails() -> None:
    module = rx.loads(PROGRAM)
    with pytest.raises(rx.ShapeError, match=r"halfway\(n, 4\)"):
        module.asked(np.zeros(6, np.float32), np.zeros(6, np.float32), 3)
    with pytest.raises(rx.ShapeError, match=r"share\(n, k\)"):
        module.asked(np.zeros(8, np.float32), np.zeros(6, np.float32), 1)
    with pytest.raises(rx.ShapeError, match="divisor"):
        module.asked(np.zeros(8, np.float32), np.zeros(6, np.float32), 0)


@pytest.mark.usefixtures("new_operators")
def test_a_new_operator_stands_in_a_decorated_function() -> None:
    @rx.checked("fn(x : Tensor([n], float32), y : Tensor([halfway(n, 4)], float32)) : Tensor([n], float32)")
    def first(x: Any, y: Any) -> Any:
        return x

    assert first(np.zeros(6, np.float32), np.zeros(5, np.float32)).shape == (6,)
    with pytest.raises(rx.ShapeError, match="halfway"):
        first(np.zeros(6, np.float32), np.zeros(6, np.float32))


@pytest.mark.usefixtures("new_operators")
def test_a_new_operator_that_does_not_fit_is_told() -> None:
    with pytest.raises(rx.CheckError) as told:
        rx.loads(PROGRAM.replace("(n + m) // 2", "(n + m) // 2 + 1"))
    assert "halfway(n, m)" in str(told.value) or "(n + m) // 2" in str(told.value)
