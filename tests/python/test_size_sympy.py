"""Sizes for Python users: Rx text, equality by normal form, and SymPy expressions there and back."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
import rxlang as rx
import sympy
from support import fuzz

n, m, k = (sympy.Symbol(name, integer=True, nonnegative=True) for name in "nmk")


def random_size(choose: random.Random, depth: int) -> str:
    if depth == 0 or choose.random() < 0.2:
        return choose.choice(["n", "m", "k", str(choose.randint(0, 9))])
    op = choose.choice(["+", "-", "*", "//", "%", "min", "max", "ceildiv"])
    a, b = random_size(choose, depth - 1), random_size(choose, depth - 1)
    if op in ("//", "%", "ceildiv"):
        b = choose.choice([str(choose.randint(1, 6)), "(m + 1)", "(k + 2)"])
    return f"{op}({a}, {b})" if op.isalpha() else f"({a} {op} {b})"


def test_random_sizes_come_back_from_sympy_as_they_went() -> None:
    choose = random.Random(0)
    texts = [random_size(choose, 3) for _ in range(1000 if fuzz.FULL else 250)]
    changed = [t for t in texts if rx.Size.from_sympy(rx.Size(t).sympy) != rx.Size(t)]
    assert changed == []
    assert len({str(rx.Size(t)) for t in texts}) > len(texts) // 2


def test_the_sympy_view_has_the_values_of_the_size() -> None:
    choose = random.Random(1)
    for text in (random_size(choose, 3) for _ in range(100)):
        size = rx.Size(text)
        point = {name: choose.randint(0, 12) for name in "nmk"}
        expected = eval(text, {**point, "ceildiv": lambda a, b: -(-a // b)})
        assert size.at(**point) == expected
        view = size.sympy.subs({s: point[s.name] for s in size.sympy.free_symbols})
        assert int(view.doit()) == expected, text


@pytest.mark.parametrize(
    ("text", "view"),
    [
        ("4 * n", 4 * n),
        ("n // 2", sympy.floor(n / 2)),
        ("n % 3", sympy.Mod(n, 3)),
        ("min(n, 5)", sympy.Min(n, 5)),
        ("max(n, m)", sympy.Max(n, m)),
        ("n * n - m", n**2 - m),
    ],
)
def test_the_sympy_view_is_what_one_would_write(text: str, view: sympy.Expr) -> None:
    assert rx.Size(text).sympy == view
    assert rx.Size.from_sympy(view) == rx.Size(text)


def test_expressions_that_sympy_made_itself_can_be_read() -> None:
    assert rx.Size.from_sympy(sympy.ceiling(n / 3)) == rx.Size("ceildiv(n, 3)")
    assert rx.Size.from_sympy(sympy.floor((n + 2 * k - 3) / 2) + 1) == rx.Size("(n + 2 * k - 3) // 2 + 1")
    assert rx.Size.from_sympy((n + 1) ** 2) == rx.Size("n * n + 2 * n + 1")
    assert rx.Size.from_sympy(sympy.Integer(7)) == 7


@pytest.mark.parametrize("view", [n / 2, sympy.sin(n), sympy.Rational(1, 3), sympy.pi, n ** sympy.Rational(1, 2)])
def test_what_is_no_size_is_refused(view: sympy.Expr) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        rx.Size.from_sympy(view)


def test_equality_is_that_of_normal_forms_whatever_the_order_of_names() -> None:
    assert rx.Size("n * 4") == rx.Size("2 * n * 2")
    assert rx.Size("a + b") == rx.Size("b + a") and hash(rx.Size("a + b")) == hash(rx.Size("b + a"))
    assert rx.Size("(n // 4) * 4") != rx.Size("n")
    assert rx.Size("n - n + 3") == 3 and int(rx.Size("2 + 1")) == 3


def test_text_is_rx_syntax_and_reads_back() -> None:
    assert str(rx.Size("k * 4")) == "k * 4"
    assert str(rx.Size("n' + 1")) == "n' + 1"
    assert rx.Size(str(rx.Size("(n' + 3) // 4"))) == rx.Size("(n' + 3) // 4")
    assert rx.Size.from_sympy(rx.Size("n' * 2").sympy) == rx.Size("n' * 2")
    assert repr(rx.Size("n")) == "Size('n')"


def test_arithmetic_of_sizes_gives_the_size_that_is_written() -> None:
    size = rx.Size("n")
    assert 2 * size + 1 == rx.Size("2 * n + 1")
    assert (size + 3) // 4 == rx.Size("(n + 3) // 4")
    assert size % 4 - 1 == rx.Size("n % 4 - 1")
    assert (size * size).at(n=5) == 25 and size.names == ("n",) and size.value is None


@pytest.mark.parametrize("text", ["", "n +", "n == 1", "f(n)", "n @ m", "9" * 5000])
def test_text_that_is_no_size_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        rx.Size(text)


def test_sizes_that_depend_on_names_are_no_ints() -> None:
    with pytest.raises(TypeError):
        int(rx.Size("n"))
    with pytest.raises(KeyError, match="no value for m"):
        rx.Size("n * m").at(n=1)
    with pytest.raises(ZeroDivisionError):
        rx.Size("n") // 0


def test_sympy_is_imported_only_for_its_view() -> None:
    code = "import sys, rxlang as rx; str(rx.Size('n') + 1); print('sympy' in sys.modules, 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False False\n"
