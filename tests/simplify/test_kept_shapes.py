"""What turns keep of carries of any shape: told where every turn surely keeps it, and never where one may not."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
import rxlang
from support import fuzz

TRIES = fuzz.tries("kept shapes")
SIZES = {"n": 2, "m": 3}
FUNCTIONS = {"min": min, "max": max, "ceildiv": lambda a, b: -(-a // b)}


def body(r: Random, names: list[str], depth: int) -> list[str]:
    """What each carry becomes: itself or another one, as it was or in another shape, now and then by a loop inside."""
    ends = []
    for name in names:
        source = r.choice([name, name, r.choice(names)])
        made = r.choice(
            ["@relu({0})", "@relu({0})", "{0}", "@matrix_transpose({0})", "@concat([{0}, {0}], axis={1})", "{0}[0:2]",
             "@flip({0})", "@concat([{0}, {0}], axis={1})[0:2]", "@sort({0}, axis={1})"]
        )  # fmt: skip
        text = made.format(source, r.choice([0, 1]))
        if depth and r.random() < 0.3:
            one = f"{name}{depth}"
            inside = body(r, [one], depth - 1)[0]
            text = f"(for j{depth} in range({r.choice([0, 1, 2])}) with ({one} : Tensor(?, float32) = {source}) {{ {inside} }})"
        ends.append(text)
    return ends


def program(r: Random) -> str:
    names = ["a", "b", "c"][: r.randint(1, 3)]
    kinds = [r.choice(["Tensor(?, float32)", "Tensor([?, ?], float32)", "Tensor(?, ?)"]) for _ in names]
    firsts = [r.choice(["x", "y", "z"]) for _ in names]
    carried = ", ".join(f"{n} : {k} = {f}" for n, k, f in zip(names, kinds, firsts, strict=True))
    ends = body(r, names, 1)
    lets = "; ".join(f"let e{at} = {end}" for at, end in enumerate(ends))
    result = ", ".join(f"e{at}" for at in range(len(ends)))
    turns = r.choice(["0", "1", "2", "3", "n"])
    return (
        "@f = fn(x : Tensor([n, m], float32), y : Tensor([m, n], float32), z : Tensor([n, n], float32)) {\n"
        f"  for i in range({turns}) with ({carried}) {{ {lets}; {result if len(ends) == 1 else f'({result})'} }}\n}}\n"
    )


def told(shape: object) -> list[int | None]:
    found: list[int | None] = []
    for size in shape:  # type: ignore[attr-defined]
        try:
            found.append(int(eval(str(size), {"__builtins__": {}}, {**FUNCTIONS, **SIZES})))
        except (NameError, SyntaxError):
            found.append(None)
    return found


def test_what_is_told_of_carries_of_any_shape_is_so_when_it_runs() -> None:
    known = ran = 0
    for case in fuzz.cases("kept shapes"):
        with case as seed:
            text = program(Random(f"kept {seed}"))
            found = sizes_known(text)
            ran += found is not None
            known += found or 0
    assert ran > TRIES // 2
    assert known > TRIES // 2


def sizes_known(text: str) -> int | None:
    """How many sizes of a program's results are known, all of them rightly; None where it does not run."""
    report = rxlang.check_source(text)
    assert report.checked is not None and report.ok, (text, [d.message for d in report.diagnostics])
    result = next(f for f in report.checked.shapes if f.name == "@f").result
    assert result is not None
    try:
        found = rxlang.loads(text).f(*(np.ones(shape, np.float32) for shape in ((2, 3), (3, 2), (2, 2))))
    except rxlang.ShapeError:
        return None
    known = 0
    parts = result.items or (result,)
    for part, array in zip(parts, found if isinstance(found, tuple) else (found,), strict=True):
        if part.shape is None:
            continue
        assert len(part.shape) == array.ndim, text
        for size, actual in zip(told(part.shape), array.shape, strict=True):
            known += size is not None
            assert size in (None, actual), (text, part.shape, array.shape)
    return known


KEPT = {
    "@relu(h)": "[n, k]",
    "@tanh(@matmul(h, w))": "[n, k]",
    "@concat([h, h], axis=0)": "[?, k]",
    "@matrix_transpose(h)": "[?, ?]",
    "for j in range(3) with (g : Tensor(?, float32) = h) { @relu(g) }": "[n, k]",
    "for j in range(3) with (g : Tensor(?, float32) = h) { @concat([g, g], axis=1) }": "[n, ?]",
    "@sum(h, axis=0)": "?",
}


SAYS_MORE = {("[?, ?]", "?"), ("[?, k]", "?"), ("[?, k]", "[?, ?]"), ("[?, k]", "[n, ?]")}
CASES = [
    (end, kind) for end, kept in KEPT.items() for kind in ("?", "[?, ?]", "[?, k]") if (kind, kept) not in SAYS_MORE
]


@pytest.mark.parametrize(("end", "kind"), CASES)
def test_a_carry_keeps_what_every_turn_keeps(end: str, kind: str) -> None:
    for head in ("for i in range(t)", "while (@sum(h) < tensor(9.0, float32))"):
        loop = f"{head} with (h : Tensor({kind}, float32) = x)"
        text = (
            "@used = fn(x : Tensor([n, k], float32), w : Tensor([k, k], float32), t : Size) {\n"
            f"  {loop} {{ {end} }}\n}}\n"
            "@user = fn(p : Tensor([n, k], float32), q : Tensor([k, k], float32)) { @used(p, q, 2) }\n"
        )
        report = rxlang.check_source(text)
        assert report.checked is not None
        for shapes in report.checked.shapes:
            shape = shapes.result.shape if shapes.result is not None else None
            said = "?" if shape is None else f"[{', '.join(map(str, shape))}]"
            assert said == KEPT[end], (shapes.name, text)


@pytest.mark.parametrize("end", ["@relu({0})", "@concat([{0}, {0}], axis=0)"])
def test_loops_in_loops_cost_no_more_than_the_cube_of_their_depth(end: str) -> None:
    def steps(depth: int) -> int:
        heads = "".join(
            f"for i{k} in range(2) with (a{k} : Tensor(?, float32) = {f'a{k - 1}' if k else 'x'}) {{ "
            for k in range(depth)
        )
        text = f"@f = fn(x : Tensor([n, m], float32)) {{\n{heads}{end.format(f'a{depth - 1}')}{' }' * depth}\n}}\n"
        report = rxlang.check_source(text)
        assert report.checked is not None and report.ok
        result = next(f for f in report.checked.shapes if f.name == "@f").result
        assert result is not None and result.shape == (("n", "m") if "relu" in end else ("?", "m"))
        return report.checked.steps

    assert steps(8) == 0 or steps(8) < (8 // 4) ** 3 * steps(4)


@pytest.mark.parametrize("local", ["user", "used", "end"])
def test_a_function_is_read_before_those_that_call_it_whatever_its_locals_are_called(local: str) -> None:
    text = (
        "@used = fn(x : Tensor([_n, _k], float32), t : Size) {\n"
        f"  for i in range(t) with (h : Tensor(?, float32) = x) {{ let {local} = @relu(h); {local} }}\n}}\n"
        "@user = fn(p : Tensor([n, k], float32)) : Tensor([n, k], float32) { @used(p, 2) }\n"
    )
    assert [d.code for d in rxlang.check_source(text).diagnostics] == []
