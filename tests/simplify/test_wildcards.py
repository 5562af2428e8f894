"""The -1 of a reshape: what is checked, what runs, and what the definition says, for all small sizes, with zeros among them."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pytest
from rxlang import pipeline
from rxlang.interp.compile import Options
from rxlang.interp.run import Machine
from rxlang.interp.shape_error import ShapeError
from rxlang.lang.files import Files
from support import all_sizes, fuzz

HERE = Path(".")
NAMES = ("n", "m", "k")
SIZES = (0, 1, 3)

# A polynomial over the names: the exponents of each monomial to its factor.
Poly = dict[tuple[int, ...], int]
ATOMS: dict[str, Poly] = {
    "n": {(1, 0, 0): 1},
    "m": {(0, 1, 0): 1},
    "k": {(0, 0, 1): 1},
    "2": {(0, 0, 0): 2},
    "3": {(0, 0, 0): 3},
    "(n + 1)": {(1, 0, 0): 1, (0, 0, 0): 1},
}


def times(a: Poly, b: Poly) -> Poly:
    found: Counter[tuple[int, ...]] = Counter()
    for (x, p), (y, q) in product(a.items(), b.items()):
        found[tuple(i + j for i, j in zip(x, y, strict=True))] += p * q
    return {mono: factor for mono, factor in found.items() if factor}


def over(a: Poly, b: Poly) -> Poly | None:
    """The polynomial that gives `a` when it is multiplied by `b`, if there is one with whole factors."""
    found, top = {}, max(b)
    while a:
        mono = max(a)
        exponents = tuple(i - j for i, j in zip(mono, top, strict=True))
        factor, left = divmod(a[mono], b[top])
        if left or min(exponents) < 0:
            return None
        found[exponents] = factor
        part = times({exponents: -factor}, b)
        a = {m: f for m in a.keys() | part.keys() if (f := a.get(m, 0) + part.get(m, 0))}
    return found


class Case:
    """One reshape: the factors of each size of the tensor, and of each size of the target (None for the -1)."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        factors = [rng.choice(list(ATOMS)) for _ in range(rng.randint(1, 5))]
        self.source = self._grouped(rng, factors)
        rng.shuffle(factors)
        others = self._grouped(rng, factors[: rng.randint(0, len(factors))])
        if rng.random() < 0.3:
            others.append([rng.choice(list(ATOMS))])
        self.target: list[list[str] | None] = [*others]
        self.target.insert(rng.randint(0, len(others)), None)

    def _grouped(self, rng: random.Random, factors: list[str]) -> list[list[str]]:
        groups: list[list[str]] = []
        for factor in factors:
            if groups and rng.random() < 0.4:
                groups[-1].append(factor)
            else:
                groups.append([factor])
        return groups

    @property
    def types(self) -> str:
        dims = ", ".join(" * ".join(d) for d in self.source)
        return f"s : Tensor([n, m, k], float32), x : Tensor([{dims}], float32)"

    @property
    def shape(self) -> str:
        return f"[{', '.join('-1' if d is None else ' * '.join(d) for d in self.target)}]"

    def formula(self) -> Poly | None:
        count, divisor = ({(0, 0, 0): 1} for _ in range(2))
        for name in sum(self.source, []):
            count = times(count, ATOMS[name])
        for name in sum(filter(None, self.target), []):
            divisor = times(divisor, ATOMS[name])
        return over(count, divisor)

    def sizes(self, numbers: dict[str, int]) -> tuple[list[int], list[int]]:
        def value(dim: list[str]) -> int:
            return prod(int(all_sizes.value(f, numbers)) for f in dim)

        return [value(d) for d in self.source], [-1 if d is None else value(d) for d in self.target]


def by_formula(case: Case, numbers: dict[str, int]) -> tuple[int, ...] | None:
    """What the definition gives where the reshape stands beside the sizes of the tensor; None where it refuses."""
    found = case.formula()
    source, target = case.sizes(numbers)
    if found is None:
        return by_numbers(source, target)
    size = sum(f * prod(numbers[n] ** e for n, e in zip(NAMES, mono, strict=True)) for mono, f in found.items())
    return tuple(size if t == -1 else t for t in target)


def by_numbers(source: list[int], target: list[int]) -> tuple[int, ...] | None:
    """What it gives where only the numbers are known."""
    others = Counter(t for t in target if t not in (-1, 1))
    left, rest = (prod(c.elements()) for c in (Counter(source) - others, others - Counter(source)))
    if rest < 1 or left % rest:
        return None
    return tuple(left // rest if t == -1 else t for t in target)


def elsewhere(case: Case) -> str:
    """A function that knows nothing of how the sizes hang together."""
    axes = ", ".join(f"a{i}" for i in range(len(case.source)))
    others = [i for i, d in enumerate(case.target) if d is not None]
    params = "".join(f", b{i} : Size" for i in others)
    dims = ", ".join("-1" if d is None else f"b{i}" for i, d in enumerate(case.target))
    needs = f" where {', '.join(f'b{i} >= 0' for i in others)}" if others else ""
    given = "".join(f", {' * '.join(d)}" for d in case.target if d is not None)
    return (
        f"@g = fn(x : Tensor([{axes}], float32){params}){needs} {{ @reshape(x, [{dims}]) }}\n"
        f"@main = fn({case.types}) : Tensor {{ @g(x{given}) }}\n"
    )


def placed(way: str, case: Case) -> str:
    inside = f"@reshape(x, {case.shape})"
    ways = {
        "plain": f"@main = fn(T) : Tensor {{ {inside} }}",
        "unannotated": f"@main = fn(T) {{ {inside} }}",
        "nested": f"@main = fn(T) : Tensor {{ @exp({inside.replace('(x,', '(x * 2.0,')}) }}",
        "a name": f"@main = fn(T) : Tensor {{ let y = @exp(x); let z = {inside.replace('(x,', '(y,')}; z }}",
        "an arm": f"@main = fn(T) : Tensor {{ if (@sum(s) >= 0.0) {{ {inside} }} else {{ {inside} }} }}",
        "a lambda": f"@main = fn(T) : Tensor {{ let f = fn(y : Tensor) : Tensor {{ {inside} }}; f(x) }}",
        "called": f"@g = fn(T) {{ {inside} }}\n@main = fn(T) : Tensor {{ @g(s, x) }}",
        "called for its type": f"@g = fn(T) : Tensor {{ {inside} }}\n@main = fn(T) : Tensor {{ @exp(@g(s, x)) }}",
        "elsewhere": elsewhere(case),
    }
    return ways[way].replace("(T)", f"({case.types})") + "\n"


WAYS = (
    "plain", "unannotated", "nested", "a name", "an arm", "a lambda", "called", "called for its type", "elsewhere",
)  # fmt: skip


def shape_of(machine: Machine, case: Case, numbers: dict[str, int]) -> tuple[int, ...] | None:
    source, _ = case.sizes(numbers)
    s = np.ones([numbers[n] for n in NAMES], np.float32)
    try:
        return tuple(machine.call("main", [s, np.zeros(source, np.float32)]).shape)
    except ShapeError:
        return None


def problems(text: str, case: Case, way: str) -> list[str]:
    report = pipeline.check_text(text, "case.rx", HERE)
    assert report.checked is not None, report.diagnostics
    points = [dict(zip(NAMES, sizes, strict=True)) for sizes in product(SIZES, repeat=3)]
    defined = {
        tuple(p.values()): by_numbers(*case.sizes(p)) if way == "elsewhere" else by_formula(case, p) for p in points
    }
    if not report.ok:
        return [f"refuted, but {p} runs" for p in points if min(p.values()) > 0 and defined[tuple(p.values())]]
    machines = [Machine(report.checked.program, Files(HERE)), before(report)]
    [result] = [f.result for f in report.checked.shapes if f.name == "@main"]
    found = []
    for p in points:
        want = defined[tuple(p.values())]
        got = [shape_of(machine, case, p) for machine in machines]
        if got != [want, want]:
            found.append(f"{p}: {want} is right, not {got}")
        dims = result.shape if result is not None and result.shape is not None else ()
        told = [str(d) for d in dims]
        if want is not None:
            found += [f"{p}: told {t}" for t, w in zip(told, want, strict=False) if "?" not in t and value(t, p) != w]
    if way != "elsewhere" and case.formula() is not None and report.counts.residual:
        found.append(f"{report.counts.residual} checks are left")
    return found


def value(told: str, numbers: dict[str, int]) -> int:
    return int(all_sizes.value(told, numbers))


def before(report: pipeline.Report) -> Machine:
    assert report.checked is not None
    return Machine(report.checked.before, Files(HERE), Options(guard_all=True))


def test_every_way_gives_what_the_definition_says_for_all_small_sizes() -> None:
    for tried in fuzz.cases("wildcards"):
        with tried as seed:
            case, way = Case(seed), WAYS[seed % len(WAYS)]
            text = placed(way, case)
            assert problems(text, case, way) == [], text


SOLVED = {
    "a head's size": (
        "@f = fn(x : Tensor([n, t, c], float32), heads : Size) : Tensor where heads >= 1, c % heads == 0 {\n"
        "  @reshape(x, [-1, t, heads, c // heads])\n}",
        "[n, t, heads, c // heads]",
    ),
    "a product": (
        "@f = fn(x : Tensor([b, t, h * k], float32), h : Size, k : Size) : Tensor where h >= 0, k >= 0 {\n"
        "  @reshape(x, [b, -1, h, k])\n}",
        "[b, t, h, k]",
    ),
    "a product that an arm is asked for": (
        "@f = fn(x : Tensor([b, t, d], float32), h : Size, k : Size) : Tensor([b, *s], float32) where h >= 0, k >= 0 {\n"
        "  if (d == h * k) { @reshape(x, [b, -1, h * k]) } else { x }\n}",
        None,
    ),
    "one factor of a size": (
        "@f = fn(x : Tensor([n * m, k], float32), y : Tensor([n, m], float32)) : Tensor { @reshape(x, [n, -1, k]) }",
        "[n, m, k]",
    ),
    "a number": ("@f = fn(x : Tensor([n, m * 4], float32)) : Tensor { @reshape(x, [n, -1, m]) }", "[n, 4, m]"),
    "in an implementation": (
        "@f = fn(x : Tensor([b, t, h * k], float32), h : Size, k : Size) : Tensor([b, t, h, k], float32)"
        " where h >= 0, k >= 0 {\n  let y = @exp(x)\n  @reshape(y, [b, -1, h, k])\n}",
        "[b, t, h, k]",
    ),
    "a size that the data decides": (
        "@f = fn(x : Tensor([n, h * k], float32), p : Tensor([n], bool), h : Size, k : Size) : Tensor"
        " where h >= 0, k >= 0 {\n  let y = @filter(x, p)\n  @reshape(y, [-1, h, k])\n}",
        None,
    ),
}


@pytest.mark.parametrize(("text", "shape"), SOLVED.values(), ids=SOLVED)
def test_what_formulas_tell_leaves_no_check(text: str, shape: str | None) -> None:
    report = pipeline.check_text(text, "case.rx", HERE)
    assert report.checked is not None and report.counts.residual == 0, report.diagnostics
    [function] = report.checked.shapes
    assert function.result is not None and function.result.shape is not None
    assert shape is None or f"[{', '.join(map(str, function.result.shape))}]" == shape
