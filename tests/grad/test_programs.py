"""Random calls and random programs: what a gradient says of a direction is what differences along it say."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.lang.dtypes import DTYPES
from rxlang.ops import registry
from rxlang.ops.model import TENSORS, Primitive
from support import fuzz, random_calls, random_programs

STEP = 1e-6
# What a function refuses, for its shapes or its elements.
REFUSED = (rx.ShapeError,)


def refuses(module: rx.Module, args: Mapping[str, Any]) -> bool:
    try:
        module.f(**args)
    except REFUSED:
        return True
    return False


def verdict(module: rx.Module, args: Mapping[str, Any], wrt: list[str], random: np.random.Generator) -> str:
    """Whether the gradients of `f` in a direction are its differences: "right", or why nobody can tell. Raises AssertionError
    where they are not."""

    def value(by: float) -> float:
        return float(module.f(**{n: a + by * ways[n] if n in ways else a for n, a in args.items()}))

    ways = {n: random.normal(size=np.shape(args[n])) for n in wrt}
    try:
        middle, above, below = value(0.0), value(STEP), value(-STEP)
    except REFUSED:
        return "refused"
    if not np.isfinite([middle, above, below]).all() or abs(middle) > 1e6:
        return "not finite"
    made = module.df(**args)
    made = made if len(wrt) > 1 else (made,)
    for name, g in zip(wrt, made, strict=True):
        assert g.shape == np.shape(args[name])
    if abs((above - middle) - (middle - below)) > 1e-3 * (abs(above - below) + STEP):
        return "a corner"
    got = sum(float(np.sum(g * ways[n])) for n, g in zip(wrt, made, strict=True))
    np.testing.assert_allclose(got, (above - below) / (2 * STEP), 2e-3, 2e-4)
    return "right"


def loaded(text: str) -> rx.Module | str:
    """The program with its gradient; or what it cannot be for: the program is wrong by itself, or something has no rule."""
    if not rx.check_source(text.partition("@df = ")[0]).ok:
        return "wrong"
    try:
        return rx.loads(text)
    except rx.CheckError as problem:
        found = [d for d in problem.diagnostics if d.severity == "error"]
        if {d.code for d in found} == {"E232"}:
            return "no rule"
        return f"refuted: {found[0].message}"


def rows(name: str) -> Primitive:
    row = registry.lookup(name)
    assert row is not None
    return row


def of_a_call(name: str, number: int) -> str:
    """A random call of a primitive, with random floats in the place of those that were drawn."""
    row = rows(name)
    for attempt in range(10):
        random = np.random.default_rng((zlib.crc32(name.encode()), number, attempt))
        call, tensors = random_calls.written(row, random_calls.draw_call(random, row))
        args = {n: random.normal(size=a.shape) if a.dtype.kind == "f" else a for n, a in tensors.items()}
        args |= {n: a @ a.mT + np.eye(a.shape[-2]) for n, a in args.items() if name in SYMMETRIC and a.ndim > 1}
        wrt = [n for n, a in args.items() if a.dtype == np.float64]
        if wrt and all(a.dtype.kind in "fiub" and a.dtype.name in DTYPES for a in args.values()):
            break
    else:
        return "no floats"
    params = ", ".join(f"{n} : Tensor([{', '.join('?' * a.ndim)}], {a.dtype.name})" for n, a in args.items())
    text = f"@f = fn({params}) : Tensor([], float64) {{\n  let y = {call}\n  @sum(@sin(y) * (y + 0.5))\n}}\n"
    return judged(text, [args], wrt, random)


def judged(text: str, calls: list[dict[str, Any]], wrt: list[str], random: np.random.Generator) -> str:
    """What came of the calls; where a gradient is refuted, the function is refused what it is called with."""
    found = loaded(f"{text}@df = grad @f wrt {', '.join(wrt)}\n")
    if isinstance(found, str):
        # A turn or an arm that is never reached may be refuted by what is known behind it.
        is_plain = not any(word in text for word in ("for ", "while ", "if ", "@map", "@scan", "@fold"))
        for args in calls if "refuted" in found and is_plain else ():
            is_empty = "works only on empty tensors" in found and not all(np.size(a) for a in args.values())
            assert is_empty or refuses(rx.loads(text), args), found
        return found.partition(":")[0]
    came = Counter(verdict(found, args, wrt, random) for args in calls)
    return "right" if came["right"] else came.most_common(1)[0][0]


def drawn_program(seed: int) -> tuple[str, list[dict[str, Any]], list[str]]:
    """A random program with a scalar `f`, some calls of it, and the parameters that have a gradient."""
    maker = random_programs.Maker(seed)
    random = np.random.default_rng(seed)
    wrt = [n for n, dims, dtype in maker.params if dims is not None and dtype == "float32"]
    kinds = {n: "Size" if d is None else f"Tensor({random_programs.text(d)}, {t})" for n, d, t in maker.params}
    names = ", ".join(kinds)
    text = (
        f"{maker.source}\n@f = fn({', '.join(f'{n} : {k}' for n, k in kinds.items())}) : Tensor([], float32) {{\n"
        f"  let y = @cast(@main({names}), float32)\n  @sum(@sin(y) * (y + 0.5))\n}}\n"
    ).replace("float32", "float64")
    drawn = [maker.arguments() for _ in range(3)]
    calls = [{n: random.normal(size=np.shape(a)) if n in wrt else a for n, a in args.items()} for args in drawn]
    return text, calls, wrt


def of_a_program(seed: int) -> str:
    text, calls, wrt = drawn_program(seed)
    return judged(text, calls, wrt, np.random.default_rng(seed + 1)) if wrt else "no floats"


# What takes matrices that are symmetric.
SYMMETRIC = ("eigh", "eigvalsh", "cholesky")
NAMES = [n for n in registry.names() if n != "stop_gradient" and any(p.kind in TENSORS for p in rows(n).params)]


@pytest.mark.parametrize("part", range(4))
def test_gradients_of_random_calls(part: int) -> None:
    found: Counter[str] = Counter()
    for case in fuzz.cases("gradients of calls", part, 4):
        with case as seed:
            found[of_a_call(NAMES[seed % len(NAMES)], seed // len(NAMES))] += 1
    assert fuzz.SEED is not None or found["right"] * 8 > found.total() - found["no floats"], found


@pytest.mark.parametrize("part", range(4))
def test_gradients_of_random_programs(part: int) -> None:
    found: Counter[str] = Counter()
    for case in fuzz.cases("gradients of programs", part, 4):
        with case as seed:
            found[of_a_program(seed)] += 1
    assert fuzz.SEED is not None or found["right"] * 8 > found.total() - found["no floats"], found
