"""What a program demands of its inputs: the weakest signature, which can be pasted back and leaves nothing to check."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from rxlang import pipeline
from rxlang.fixes.edits import applied
from rxlang.fixes.signatures import signatures
from rxlang.interp.run import Machine
from rxlang.interp.shape_error import ShapeError
from rxlang.lang.checked import Checked, Demands
from rxlang.lang.diagnostics import Edit
from rxlang.lang.files import Files
from support import dtype_signatures, fuzz, small_programs as small
from support.agreement import Run, assert_same
from support.places import ROOT

PROGRAMS = [*ROOT.glob("examples/**/*.rx"), *ROOT.glob("tests/notes/*.rx"), *ROOT.glob("tests/goldens/desugar/*.rx")]


def checked(text: str, base: Path = Path(".")) -> pipeline.Report:
    return pipeline.check_text(text, "case.rx", base)


def pasted(text: str, found: tuple[Demands, ...]) -> str:
    return applied(text, [Edit(d.place, f"{d} ") for d in found])


SIGNATURES = {
    "a dimension without a name is written as a multiple": (
        "@f = fn(x : Tensor([?, ?], int8)) : Tensor {\n"
        "  let y = @reshape(@cast(x, int32), [x.dim(0), x.dim(1) // 4, 4])\n"
        "  @reshape(@sum(y, axis=2), [x.dim(0) * (x.dim(1) // 4)])\n}",
        "@f = fn(x : Tensor([n, m * 4], int8)) : Tensor([n * m], int32)",
    ),
    "equal sizes get one name": (
        "@f = fn(x : Tensor([n, m], float32), y : Tensor([k, p], float32)) : Tensor { @matmul(x, y) }",
        "@f = fn(x : Tensor([n, m], float32), y : Tensor([m, p], float32)) : Tensor([n, p], float32)",
    ),
    "sizes without a name get one where that is needed": (
        "@f = fn(x : Tensor([?, ?], float32)) : Tensor { @matmul(x, x) }",
        "@f = fn(x : Tensor([n, n], float32)) : Tensor([n, n], float32)",
    ),
    "a forced constant": (
        "@f = fn(x : Tensor([n, m], float32), w : Tensor([8, 3], float32)) : Tensor([n, 3], float32) { @matmul(x, w) }",
        "@f = fn(x : Tensor([n, 8], float32), w : Tensor([8, 3], float32)) : Tensor([n, 3], float32)",
    ),
    "a bound": (
        "@f = fn(x : Tensor([n], float32)) : Tensor { let (v, i) = @topk(x, k=5); v }",
        "@f = fn(x : Tensor([n], float32)) : Tensor([5], float32) where n >= 5",
    ),
    "a bound that a maximum hides": (
        "@f = fn(x : Tensor([b, t, d], float32), pe : Tensor([512, d], float32)) : Tensor([b, t, d], float32) {\n"
        "  x + pe[0:t, :]\n}",
        "@f = fn(x : Tensor([b, t, d], float32), pe : Tensor([512, d], float32)) : Tensor([b, t, d], float32)"
        " where t <= 512",
    ),
    "a size between two bounds": (
        "@f = fn(x : Tensor([n, m], float32), y : Tensor([n, k], float32)) : Tensor([n, 4], float32) {\n"
        "  @concat([x, y], axis=1)[:, 3:7] + @ones([4])\n}",
        "@f = fn(x : Tensor([n, m], float32), y : Tensor([n, k], float32)) : Tensor([n, 4], float32)"
        " where m + k >= 7 || m + k == 4",
    ),
    "a name that the body uses keeps its meaning": (
        "@f = fn(x : Tensor([n, d], float32)) : Tensor { @reshape(x, [n, 8, d // 8]) }",
        "@f = fn(x : Tensor([n, d], float32)) : Tensor([n, 8, d // 8], float32) where d % 8 == 0",
    ),
    "a name that the body binds stays free for it": (
        "@f = fn(x : Tensor(?, float32)) : Tensor { match_shape(x, [n, m], [n, m * 4]); @reshape(x, [n, m, 4]) }",
        "@f = fn(x : Tensor([k, p * 4], float32)) : Tensor([k, p, 4], float32)",
    ),
    "two sizes that are cut into windows": (
        "@f = fn(x : Tensor([b, h, w, c], float32), p : Size) : Tensor { @reshape(x, [b, h // p, p, w // p, p, c]) }",
        "@f = fn(x : Tensor([b, h, w, c], float32), p : Size) : Tensor([b, h // p, p, w // p, p, c], float32)"
        " where p >= 1, h % p == 0, w % p == 0",
    ),
    "a kernel that has to fit": (
        "@f = fn(x : Tensor([b, c, h, w], float32), k : Tensor([?, ?, 3, 5], float32)) : Tensor { @conv2d(x, k) }",
        "@f = fn(x : Tensor([b, c, h, w], float32), k : Tensor([n, c, 3, 5], float32))"
        " : Tensor([b, n, h - 2, w - 4], float32) where h >= 3, w >= 5",
    ),
    "a dtype's class": (
        "@f = fn(x : Tensor([n], d)) : Tensor([n], d) { x + x }",
        "@f = fn(x : Tensor([n], d)) : Tensor([n], d) where d in numeric",
    ),
    "a dtype that two parameters share": (
        "@f = fn(x : Tensor([n]), y : Tensor([n])) : Tensor { x + y }",
        "@f = fn(x : Tensor([n], d), y : Tensor([n], d)) : Tensor([n], d) where d in numeric",
    ),
    "a class that every arm asks for": (
        "@f = fn(x : Tensor([n])) : Tensor { if (n > 3) { x + x } else { -x } }",
        "@f = fn(x : Tensor([n], d)) : Tensor([n], d) where d in numeric",
    ),
    "a choice": (
        "@f = fn(x : Tensor([n], float32), y : Tensor([3], float32)) : Tensor { x + y }",
        "@f = fn(x : Tensor([n], float32), y : Tensor([3], float32)) : Tensor([3], float32) where n == 1 || n == 3",
    ),
    "what a broadcast gives is one of its operands": (
        "@f = fn(x : Tensor([k], float32), y : Tensor([n], float32)) : Tensor([k], float32) { x + y }",
        "@f = fn(x : Tensor([k], float32), y : Tensor([n], float32)) : Tensor([k], float32) where k == n || n == 1",
    ),
    "what one arm needs is needed where it is taken": (
        "@f = fn(x : Tensor([n, m], float32)) : Tensor { if (n > 4) { @matmul(x, x) } else { x } }",
        "@f = fn(x : Tensor([n, m], float32)) : Tensor([n, m], float32) where n <= 4 || n == m",
    ),
    "a size that differs between arms": (
        "@f = fn(x : Tensor([n], float32)) : Tensor([12], float32) { if (n > 6) { x } else { @concat([x, x], axis=0) } }",
        "@f = fn(x : Tensor([n], float32)) : Tensor([12], float32) where n == 6 || n == 12",
    ),
    "nothing more than is declared": (
        "@f = fn(x : Tensor([n, m * 4], int8)) : Tensor([n, m * 4], int8) where n >= 1 { x }",
        "@f = fn(x : Tensor([n, m * 4], int8)) : Tensor([n, m * 4], int8) where n >= 1",
    ),
    "a stretch of dimensions keeps its name": (
        "@f = fn(x : Tensor([*s], float32)) : Tensor([*s], float32) { x * 2.0 }",
        "@f = fn(x : Tensor([*s], float32)) : Tensor([*s], float32)",
    ),
    "dimensions beside a stretch stay what they are": (
        "@f = fn(x : Tensor([n * 2, *s, k + 1], float32)) : Tensor { -x }",
        "@f = fn(x : Tensor([n * 2, *s, k + 1], float32)) : Tensor([n * 2, *s, k + 1], float32)",
    ),
    "a result has the stretch that a parameter names": (
        "@f = fn(x : Tensor([*s, t, d], float32), y : Tensor([*s, t, d], float32)) { @matmul(x, @matrix_transpose(y)) }",
        "@f = fn(x : Tensor([*s, t, d], float32), y : Tensor([*s, t, d], float32)) : Tensor([*s, t, t], float32)",
    ),
    "a stretch alone": (
        "@f = fn(x : Tensor([*s, 3], float32)) : Tensor { @sum(x, axis=-1) }",
        "@f = fn(x : Tensor([*s, 3], float32)) : Tensor([*s], float32)",
    ),
    "a dtype has no name that another parameter has": (
        "@f = fn(x : Tensor([n, *s], d), y : Tensor([m])) : Tensor { y + y }",
        "@f = fn(x : Tensor([n, *s], d), y : Tensor([m], e)) : Tensor([m], e) where e in numeric",
    ),
    "a dtype keeps its name where what it calls has another one for it": (
        "@g = fn(x : Tensor) : Tensor([m], d) { x }\n"
        "@f = fn(y : Tensor([p], d), x : Tensor(?, e)) : Tensor([m], e) where d in floating { @g(x) }",
        "@f = fn(y : Tensor([p], d), x : Tensor([m], e)) : Tensor([m], e) where d in floating",
    ),
    "a dtype that a function chooses is none of the parameters": (
        "@g = fn(x : Tensor) : Tensor([m], d) { x }\n@f = fn(x : Tensor([n]), y : Tensor([p], d)) : Tensor { @g(x) }",
        "@f = fn(x : Tensor([n], e), y : Tensor([p], d)) : Tensor([n], e)",
    ),
    "a size has no name that the result has": (
        "@f = fn(x : Tensor([3, ?]), m : Size) : Tensor([?, n]) where m >= 0 { @cast(@ones([m, 4]), x.dtype) }",
        "@f = fn(x : Tensor([3, k], d), m : Size) : Tensor([?, n]) where m >= 0",
    ),
    "stretches of two parameters": (
        "@f = fn(x : Tensor([n, *s], float32), y : Tensor([m, *u], float32)) { (-y, -x) }",
        "@f = fn(x : Tensor([n, *s], float32), y : Tensor([m, *u], float32)) "
        ": (Tensor([m, *u], float32), Tensor([n, *s], float32))",
    ),
    "a stretch without a name has none in the result": (
        "@f = fn(x : Tensor([..., d], float32)) : Tensor { -x }",
        "@f = fn(x : Tensor([..., d], float32))",
    ),
    "what a declared size asks for is not forgotten": (
        "@f = fn(x : Tensor([p - n], float32), p : Size) : Tensor { -x }",
        "@f = fn(x : Tensor([m], float32), p : Size) : Tensor([m], float32) where p >= m",
    ),
    "a condition about a name that no type binds any more": (
        "@f = fn(x : Tensor([p - k, n], float32), p : Size) : Tensor where max(k, p) <= 3 { -x }",
        "@f = fn(x : Tensor([m, n], float32), p : Size) : Tensor([m, n], float32) where p >= m, p <= 3",
    ),
    "a size that is twice there": (
        "@f = fn(x : Tensor([m / 2, m - 1], float32)) : Tensor { -x }",
        "@f = fn(x : Tensor([n, m - 1], float32)) : Tensor([n, m - 1], float32) where m == n * 2",
    ),
    "a name that another type speaks of": (
        "@f = fn(x : Tensor([n / 2], float32), y : Tensor([*s, n % 2], float32)) : Tensor { -y }",
        "@f = fn(x : Tensor([n / 2], float32), y : Tensor([*s, n % 2], float32)) : Tensor",
    ),
    "a name of a function that is called is not that of a stretch": (
        "@g = fn(x : Tensor([a, *s], float32)) { @concat([x, x], axis=0) }\n"
        "@f = fn(x : Tensor([*s], float32), y : Tensor([n, ...], float32)) : Tensor { @g(y) }",
        "@f = fn(x : Tensor([*s], float32), y : Tensor([n, ...], float32))",
    ),
    "the only rank that fits": (
        "@f = fn(x : Tensor) : Tensor { @permute_dims(x, [0, 2, 1]) }",
        "@f = fn(x : Tensor([n, m, k], d)) : Tensor([n, k, m], d)",
    ),
    "a parameter keeps its default": (
        "@f = fn(x : Tensor([n], float32), k : Size = 2) : Tensor { @reshape(x, [k, n // k]) }",
        "@f = fn(x : Tensor([n], float32), k : Size = 2) : Tensor([k, n // k], float32) where k >= 1, n % k == 0",
    ),
    "the parts of a tuple": (
        "@f = fn(p : (Tensor([?, ?], float32), Tensor([?, ?], float32))) : Tensor { let (a, b) = p; @matmul(a, b) }",
        "@f = fn(p : (Tensor([n, m], float32), Tensor([m, k], float32))) : Tensor([n, k], float32)",
    ),
    "a callee's demands": (
        "@g = fn(x : Tensor([a, a * 2], float32)) : Tensor([a], float32) { @sum(x, axis=1) }\n"
        "@f = fn(x : Tensor([n, m], float32)) : Tensor { @g(x) }",
        "@f = fn(x : Tensor([n, n * 2], float32)) : Tensor([n], float32)",
    ),
    "a callee's demands that its signature does not tell": (
        "@g = fn(x : Tensor([n, m], float32)) : Tensor([n, 8], float32) { @reshape(x, [n, 8]) }\n"
        "@f = fn(x : Tensor([n, m, 2], float32)) : Tensor { @g(@reshape(x, [n, m * 2])) }",
        "@f = fn(x : Tensor([n, m, 2], float32)) : Tensor([n, 8], float32) where m == 4",
    ),
    "a size that a slice clamps": (
        "@f = fn(x : Tensor([a, b], float32), s : Size) : Tensor { @reshape(x[0:s, :], [s, 2, -1]) }",
        "@f = fn(x : Tensor([a, b], float32), s : Size)"
        " : Tensor([s, 2, (a * b - b * max(a - s, 0)) // (s * 2)], float32)"
        " where s >= 1, (a * b - b * max(a - s, 0)) % (s * 2) == 0",
    ),
    "a rank that is shared": (
        "@f = fn(x : Tensor([n, *t], float32), y : Tensor([*t, m], float32)) : Tensor {\n  assert y.rank == 3\n  x\n}",
        "@f = fn(x : Tensor([n, k, p], float32), y : Tensor([k, p, m], float32)) : Tensor([n, k, p], float32)",
    ),
}


@pytest.mark.parametrize(("text", "wanted"), SIGNATURES.values(), ids=SIGNATURES)
def test_the_weakest_signature_is_found(text: str, wanted: str) -> None:
    assert str(signatures(checked(text), Path("."))[-1]) == wanted


@pytest.mark.parametrize(("text", "wanted"), SIGNATURES.values(), ids=SIGNATURES)
def test_pasted_back_it_leaves_nothing_to_check(text: str, wanted: str) -> None:
    found = signatures(checked(text), Path("."))
    report = checked(pasted(text, found))
    assert report.ok and report.counts.residual == 0, report.diagnostics
    assert all(d.complete for d in found)


UNSAYABLE = {
    "elements": "@f = fn(x : Tensor([n], float32), k : Tensor([], int64)) : Tensor { x[0:4 // @item(k)] }",
    "any rank": "@f = fn(x : Tensor(?, float32), y : Tensor(?, float32)) : Tensor { x + y }",
}


@pytest.mark.parametrize("text", UNSAYABLE.values(), ids=UNSAYABLE)
def test_it_admits_that_more_is_checked(text: str) -> None:
    found = signatures(checked(text), Path("."))
    assert [d.complete for d in found] == [False]
    assert checked(pasted(text, found)).ok


@pytest.mark.parametrize("path", fuzz.some(PROGRAMS, 3), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_the_signatures_of_a_program_are_their_own_signatures(path: Path) -> None:
    report = pipeline.check_text(path.read_text(), str(path), path.parent)
    if not report.ok:
        pytest.skip("a program that is rejected")
    found = signatures(report, path.parent)
    after = pipeline.check_text(pasted(path.read_text(), found), str(path), path.parent)
    assert after.ok, after.diagnostics
    assert list(map(str, signatures(after, path.parent))) == list(map(str, found))


def ends(program: Checked, shapes: list[list[int]]) -> str:
    function = Machine(program.program, Files(Path(".")))
    try:
        function.call("main", [np.zeros(shape, np.float32) for shape in shapes])
    except ShapeError:
        return "refused"
    return "runs"


def test_what_is_printed_refuses_what_the_program_refuses() -> None:
    """Pasted back it checks, says the same again, leaves nothing to check where that is said, and refuses exactly the
    inputs that the program refuses; but where it is called sufficient only, a tensor without elements may be refused too."""
    for case in fuzz.cases("signatures"):
        with case as seed:
            maker = small.Maker(seed)
            text = maker.program() + small.LIBRARY
            report = checked(text)
            if not report.ok or report.checked is None:
                continue
            found = signatures(report, Path("."))
            after = checked(pasted(text, found))
            assert after.ok and after.checked is not None, f"seed {seed}\n{pasted(text, found)}\n{after.diagnostics}"
            assert not all(d.complete for d in found) or after.counts.residual == 0, (
                f"seed {seed}\n{pasted(text, found)}"
            )
            assert list(map(str, signatures(after, Path(".")))) == list(map(str, found)), f"seed {seed}"
            chance = random.Random(seed)
            for _ in range(12):
                shapes = inputs(maker, chance)
                before, now = ends(report.checked, shapes), ends(after.checked, shapes)
                empty = any(0 in shape for shape in shapes) and not all(d.necessary for d in found)
                assert before == now or (empty and now == "refused"), f"seed {seed} {shapes}\n{pasted(text, found)}"


def test_what_is_printed_of_dtypes_and_stretches_takes_what_the_program_takes() -> None:
    for case in fuzz.cases("signatures of dtypes"):
        with case as seed:
            maker = dtype_signatures.Maker(seed)
            report = checked(maker.source)
            if not report.ok or report.checked is None:
                continue
            found = signatures(report, Path("."))
            after = checked(pasted(maker.source, found))
            assert after.ok and after.checked is not None, (pasted(maker.source, found), after.diagnostics)
            plain, narrow = Run(report.checked.before, guard_all=True), Run(after.checked.program)
            for _ in range(12):
                args = dict(zip(plain.names, maker.arguments(), strict=True))
                assert_same(plain(args), narrow(args), args)


def inputs(maker: small.Maker, chance: random.Random) -> list[list[int]]:  # type: ignore[name-defined]
    sizes = {name: chance.choice((0, 1, 2, 3, 4, 5, 6)) for name in small.NAMES}
    names = [name for name in maker.shapes if name.startswith("x")]
    shapes = [[max(0, eval(d, {}, dict(sizes))) for d in maker.shapes[name]] for name in names]  # noqa: S307
    if chance.random() < 0.15:
        shape = chance.choice(shapes)
        shape[chance.randrange(len(shape))] = chance.choice((1, 2, 3))
    return shapes


def test_a_program_with_a_mistake_has_signatures_as_well() -> None:
    text = """
@f = fn(x : Tensor([n - 5], float32)) : Tensor([n], float32) where n >= 8 { @reshape(x, [n, 2]) }
@g = fn(x : Tensor([m], float32)) : Tensor { @f(x) }
"""
    assert list(map(str, signatures(checked(text), Path(".")))) == [
        "@f = fn(x : Tensor([n - 5], float32)) : Tensor([n], float32) where n >= 8",
        "@g = fn(x : Tensor([m], float32)) : Tensor([m + 5], float32) where m >= 3",
    ]
