"""Functions for tensors of any rank: nothing is left to a run, and the result has the shape that its type says."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rxlang as rx
from rxlang.cli.main import invoke
from rxlang.fixes.ranked import with_helps
from rxlang.interp.dtypes import numpy_dtype
from rxlang.lang.dtypes import DTYPES
from rxlang.lang.source import Source
from rxlang.pipeline import check_source
from support import fuzz
from support.agreement import Ways, refused

# What s and u are, and the sizes of the other names.
STRETCHES = ((), (2,), (3, 0), (2, 1, 4))
SIZES = {"m": 3, "n": 4, "k": 2, "d": 5}
# The types of x, y and z (float32 where no dtype is said), that of the result, and the body.
PROGRAMS = {
    "two axes in front": ("*s", "1 1 *s", "@expand_dims(x, axis=[0, 1])"),
    "two axes behind": ("*s", "*s 1 1", "@expand_dims(x, axis=[-1, -2])"),
    "matmul": ("*s m k; *s k n", "*s m n", "@matmul(x, y)"),
    "matmul by one matrix": ("*s m k; k n", "*s m n", "@matmul(x, y)"),
    "a layer": ("*s k; k n; n", "*s n", "@linear(x, @matrix_transpose(y), z)"),
    "attention": (
        "*s m d; *s n d; *s n k",
        "*s m k",
        "@matmul(@softmax(@matmul(x, @matrix_transpose(y)), axis=-1), z)",
    ),
    "einsum": ("*s m k; *s k n", "*s m n", '@einsum("...ij,...jk->...ik", [x, y])'),
    "concat behind": ("*s m; *s n", "*s m+n", "@concat([x, y], axis=-1)"),
    "concat in front": ("m *s; n *s", "m+n *s", "@concat([x, y], axis=0)"),
    "stack": ("*s; *s", "2 *s", "@stack([x, y], axis=0)"),
    "halves turned": ("*s n", "*s n", "@concat([-x[..., n // 2:], x[..., :n // 2]], axis=-1)"),
    "arms that a size decides": ("*s m", "*s m", "if (m % 2 == 0) { x[..., : m // 2 * 2] } else { @exp(x) }"),
    "split": ("*s 2*m", "*s m", "{ let (a, b) = @split(x, sections=2, axis=-1)\n  a * b }"),
    "pad": ("*s m", "*s m+3", "@pad(x, [(1, 2)], axes=[-1])"),
    "an axis to the end": ("n m *s", "n *s m", "@moveaxis(x, 1, -1)"),
    "an axis from the end": ("n *s m", "n m *s", "@moveaxis(x, -1, 1)"),
    "an axis behind to the front": ("*s m k", "m *s k", "@moveaxis(x, -2, 0)"),
    "two axes to the end": ("n m *s", "*s m n", "@moveaxis(x, [1, 0], [-2, -1])"),
    "two axes across": ("n *s k", "k *s n", "@moveaxis(x, [0, -1], [-1, 0])"),
    "an axis that stays": ("n m *s", "n m *s", "@moveaxis(x, [1, 0], [1, 0])"),
    "flipped behind": ("*s m", "*s m", "@flip(x, axis=-1)"),
    "squeezed at both ends": ("1 *s 1", "*s", "@squeeze(x, axis=[0, -1])"),
    "a new axis behind": ("*s m", "*s 1 m", "@expand_dims(x, axis=-2)"),
    "a part behind": ("*s 2*m", "*s m", "@split(x, 2, axis=-1)[-1]"),
    "pad in front": ("m *s", "m+3 *s", "@pad(x, [(1, 2)], axes=[0])"),
    "pad two axes": ("*s m n", "*s m+2 n+1", "@pad(x, [(1, 0), (1, 1)], axes=[-1, -2])"),
    "take": ("m *s; *u int64", "*u *s", "@take(x, y, axis=0)"),
    "take behind": ("*s m; *u int64", "*s *u", "@take(x, y, axis=-1)"),
    "take along in front": ("m *s; k *s int64", "k *s", "@take_along_axis(x, y, axis=0)"),
    "take along": ("*s m; *s k int64", "*s k", "@take_along_axis(x, y, axis=-1)"),
    "outer": ("*s; *u", "*s *u", "@tensordot(x, y, axes=0)"),
    "tensordot": ("*s k; k *u", "*s *u", "@tensordot(x, y, axes=1)"),
    "two stretches": ("*s; *u; *s *u", "*s *u", "z + z"),
    "two stretches and a name": ("*s; *u; *s m *u n", "*s m *u n", "-z"),
    "mean": ("*s m n", "*s n", "@mean(x, axis=-2)"),
    "argmax": ("*s m", "*s int64", "@argmax(x, axis=-1)"),
    "normalise": ("*s m; m", "*s m", "@rms_norm(x, y)"),
    "rows": ("*s m", "? m", "@reshape(x, [-1, m])"),
    "solve": ("*s n n; *s n k", "*s n k", "@solve(x + 5.0 * @eye(n, dtype=float32), y)"),
    "fourier": ("*s n", "*s n//2+1 complex64", "@rfft(x)"),
    "one hot": ("*s int64", "*s m", "{ let m : Size = 3\n  @one_hot(x, m, float32) }"),
    "repeat": ("*s m", "*s 2*m", "@repeat(x, 2, axis=-1)"),
    "where": ("*s; *s bool", "*s", "@where(y, x, 0.0)"),
}


def listed(text: str) -> tuple[list[str], str]:
    """The dimensions of a type, and its dtype."""
    words = text.split()
    dtype = words.pop() if words and words[-1] in DTYPES else "float32"
    return words, dtype


def program(name: str) -> str:
    inputs, result, body = PROGRAMS[name]
    types = [
        f"{param} : Tensor([{', '.join(dims)}], {dtype})"
        for param, (dims, dtype) in zip("xyz", map(listed, inputs.split(";")), strict=False)
    ]
    dims, dtype = listed(result)
    if name == "one hot":
        dims = [d.replace("m", "3") for d in dims]
    sizes = [n for n in "mnkd" if re.search(rf"(?<![*\w]){n}\b", inputs)]
    where = f" where {', '.join(f'{n} >= 1' for n in sizes)}" if sizes else ""
    body = body if body.startswith("{") else f"{{ {body} }}"
    return f"@f = fn({', '.join(types)}) : Tensor([{', '.join(dims)}], {dtype}){where} {body}\n"


def extent(dims: list[str], s: tuple[int, ...], u: tuple[int, ...]) -> tuple[int, ...]:
    parts = ({"*s": s, "*u": u}.get(d) for d in dims)
    return tuple(
        itertools.chain.from_iterable((eval(d, SIZES),) if p is None else p for d, p in zip(dims, parts, strict=True))
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_left_to_a_run_and_the_result_is_what_its_type_says(name: str) -> None:
    module = rx.loads(program(name))
    assert module.f.residual == (), program(name)
    inputs, result, _ = PROGRAMS[name]
    random = np.random.default_rng(0)
    for s, u in itertools.product(STRETCHES, STRETCHES if "*u" in inputs else ((),)):
        args = [
            random.integers(0, 2, extent(dims, s, u)).astype(numpy_dtype(DTYPES[dtype]))
            for dims, dtype in map(listed, inputs.split(";"))
        ]
        dims, dtype = listed(result)
        found = module.f(*args)
        if "?" in dims:
            dims = [str(found.shape[0]) if d == "?" else d for d in dims]
        assert found.shape == extent(dims, s, u) and found.dtype == numpy_dtype(DTYPES[dtype])


def test_what_is_known_of_a_shape_with_a_splice_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.rx"
    path.write_text(
        "@f = fn(x : Tensor([n, *s, 3], float32), y : Tensor([..., 4], d), z : Tensor) : Tensor([*s, n, 3], float32) {\n"
        "  let s1 : Shape = y.shape\n  let a = @expand_dims(y, axis=-1)\n  @moveaxis(x, 0, -2)\n}\n"
    )
    assert invoke(["shapes", str(path)]) == 0
    lines = dict(re.split(" +: ", line.strip(), maxsplit=1) for line in capsys.readouterr().out.splitlines()[1:])
    assert lines == {
        "x": "Tensor([n, *s, 3], float32)", "y": "Tensor([..., 4], d)", "z": "Tensor(?, ?)  # rank unknown",
        "s1": "Shape = [..., 4]", "a": "Tensor([..., 4, 1], d)", "result": "Tensor([*s, n, 3], float32)",
    }  # fmt: skip


@pytest.mark.parametrize("splice", ["*s", "..."])
@pytest.mark.parametrize(
    ("there", "asked", "axis"), [("n, {}, 3", "{}, 4", -1), ("{}, 3, n", "{}, 4, n", -2), ("3, {}", "4, {}", 0)]
)
def test_a_size_beside_a_splice_is_said_where_it_does_not_fit(there: str, asked: str, axis: int, splice: str) -> None:
    text = f"@f = fn(x : Tensor([{there.format(splice)}]), n : Size) : Tensor {{\n"
    text += f"  let y : Tensor([{asked.format('...')}]) = x\n  y\n}}\n"
    [found] = [d for d in rx.check_source(text).diagnostics if d.severity == "error"]
    assert found.message == f"the annotation needs axis {axis} of `y` to be 4, but it is 3: this always fails"
    assert not any("_rest" in label.message for label in found.labels)


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("@pad(x, [], axes=[])", (2, 3)), ("@pad(x, (), axes=())", (2, 3)), ("@pad(@sum(x), [])", ()),
        ("@pad(x, [(0, 1)], axes=[-1])", (2, 4)), ("@moveaxis(x, [], [])", (2, 3)), ("@expand_dims(x, axis=[])", (2, 3)),
        ("@flip(x, axis=[])", (2, 3)), ("@reshape(@sum(x), [])", ()), ("@permute_dims(@sum(x), [])", ()),
    ],
)  # fmt: skip
def test_no_axes_at_all_are_axes(body: str, shape: tuple[int, ...]) -> None:
    text = f"@f = fn(x : Tensor([2, 3], float32)) : Tensor([{', '.join(map(str, shape))}], float32) {{ {body} }}\n"
    assert rx.check_source(text).diagnostics == ()
    assert rx.loads(text).f(np.ones((2, 3), np.float32)).shape == shape


def test_a_reshape_to_no_axes_of_a_tensor_that_has_more_is_only_refused() -> None:
    text = "@f = fn(x : Tensor([2, 3], float32)) : Tensor([1, 1], float32) { @reshape(x, []) }\n"
    report = check_source(Source("t.rx", text), Path())
    assert [d.code for d in with_helps(report, Path()).diagnostics if d.severity == "error"] == ["E307"]


@pytest.mark.parametrize(
    ("result", "body"),
    [
        ("[3]", "match_shape(x, [j], [j, *s]); @ones([j])"),
        ("[3, *s]", "let z ! Tensor([j, *s], float32) = x; z + y"),
        ("[j, 3, *s]", "let z ! Tensor([j, *s], float32) = x; @expand_dims(z, axis=0) + @zeros([j, 1, *s])"),
    ],
)
def test_a_name_before_a_shape_in_a_pattern_is_the_size_that_stands_there(result: str, body: str) -> None:
    head = "@f = fn(x : Tensor([3, *_t], float32), y : Tensor([*s], float32))"
    text = f"{head} : Tensor({result.replace('j', '3')}, float32) {{ {body} }}\n"
    assert [d.message for d in check_source(Source("t.rx", text), Path()).diagnostics if d.severity != "note"] == []


WILD = (
    ("*u a; *v b", "let w = x * 2.0; @reshape(w, [*u, -1])"),
    ("*u a; *v b", "let w = @sum(x) + z; @reshape(w, [*v, -1, *u])"),
    ("*u a; *v b", "let w = @sum(x) + z; @reshape(w, [*v, -1, *v])"),
    ("*u a; *v b", "let w = z + x; let y = @reshape(z, [*u, -1]); w"),
    ("p q a; r b", "match_shape(x, [s, k], [*s, k]); match_shape(z, [t, l], [*t, l]); @reshape(x * 2.0, [*t, -1, *s])"),
    ("p q a; r b", "@twice(x)"),
)


@pytest.mark.parametrize(("types", "body"), WILD)
def test_a_wildcard_beside_spliced_shapes_stands_where_it_is_written(types: str, body: str) -> None:
    shapes = [dims.split() for dims in types.split("; ")]
    params = ", ".join(f"{n} : Tensor([{', '.join(dims)}], float32)" for n, dims in zip("xz", shapes, strict=True))
    twice = "@twice = fn(y : Tensor([*u, d], float32)) { @reshape(y * 2.0, [*u, -1, *u]) }\n"
    report = check_source(Source("wild.rx", f"{twice}@main = fn({params}) : Tensor {{ {body} }}\n"), Path("."))
    assert report.ok and report.checked is not None
    ways, ran = Ways(report.checked), 0
    ranks = [(1, 2, 3) if types.startswith("*") else (len(dims),) for dims in shapes]
    for rank, other in itertools.product(*ranks):
        for x, z in itertools.product(((1, 2, 3), (2, 1, 0), (1, 1, 1)), repeat=2):
            args = {"x": np.ones(x[:rank], np.float32), "z": np.ones(z[:other], np.float32)}
            ran += not refused(ways.agree(args))
    assert ran


def test_a_shape_of_splices_and_names_takes_what_is_like_it_and_nothing_else() -> None:
    ran = 0
    for case in fuzz.cases("patterns"):
        with case as seed:
            chance = random.Random(seed)
            taken = drawn(chance)
            text = f"@f = fn(x : Tensor([*b], d), y : Tensor([{', '.join(taken.items)}], d)) : Tensor {{ y }}"
            report = check_source(Source("f.rx", text), Path())
            if not report.ok:  # a name that nothing binds
                assert {d.code for d in report.diagnostics if d.severity == "error"} == {"E208"}, text
                continue
            module = rx.loads(text)
            for _ in range(6):
                sizes: dict[str, Any] = {name: chance.randint(0, 4) for name in "km"}
                sizes["b"] = chance.choices((1, 2, 4), k=chance.randint(0, 2))
                shape = taken.shape(sizes, chance)
                if shape and chance.random() < 0.6:
                    shape[chance.randrange(len(shape))] += chance.choice((-1, 1, 2)) if all(shape) else 1
                x, y = np.zeros(sizes["b"], np.float32), np.zeros(shape, np.float32)
                fits = any(taken.is_like(shape, {**sizes, "k": k, "m": m}) for k in range(8) for m in range(8))
                assert is_taken(module.f, x, y) == fits, (text, sizes, shape)
                ran += fits
    assert ran


def test_of_a_shape_of_splices_and_names_what_is_said_of_a_call_is_so_for_all_small_sizes() -> None:
    said: Counter[str] = Counter()
    for case in fuzz.cases("patterns called"):
        with case as seed:
            chance = random.Random(seed)
            taken = drawn(chance)
            given = [passed(item, chance) for item in taken.items]
            text = (
                f"@g = fn(x : Tensor([*b], d), y : Tensor([{', '.join(taken.items)}], d)) : Tensor {{ y }}\n"
                f"@f = fn(x : Tensor([p], d), y : Tensor([{', '.join(given)}], d), q : Size, u : Size) : Tensor {{ @g(x, y) }}"
            )
            report = check_source(Source("f.rx", text), Path())
            wrong = {(d.severity, d.code) for d in report.diagnostics if d.severity != "note"}
            if ("error", "E208") in wrong:
                continue
            said["open" if report.ok and wrong else "proved" if report.ok else "refuted"] += 1
            for p, q, u in itertools.product((1, 2, 3), (1, 2, 3, 4), (1, 2, 3)):
                shape = [eval(dim, {"p": p, "q": q, "u": u}) for dim in given]
                fits = any(taken.is_like(shape, {"b": [p], "k": k, "m": m}) for k in range(10) for m in range(10))
                assert fits or not report.ok or wrong, (text, p, q, u)
                assert report.ok or not fits, (text, p, q, u)
    assert said["proved"] and said["open"]


def drawn(chance: random.Random) -> Pattern:
    items = [*chance.choices(("k", "m", "k + 1", "k * 2", "m + k", "?", "3"), k=chance.randint(1, 4)), "*b", "*b"]
    chance.shuffle(items)
    return Pattern(items[: chance.randint(2, len(items))])


def passed(item: str, chance: random.Random) -> str:
    """A size of the caller's for a part of a pattern: often one that fits."""
    if chance.random() < 0.1:
        return chance.choice(("q", "u", "5", "p"))
    named = {"*b": "p", "?": "u"}.get(item, item)
    return re.sub("k", "(q)", re.sub("m", "(u)", named))


def is_taken(function: Any, *args: np.ndarray) -> bool:
    try:
        function(*args)
    except rx.ShapeError:
        return False
    return True


ANY = -1


class Pattern:
    """Sizes, and splices of a shape that is given."""

    def __init__(self, items: list[str]) -> None:
        self.items = items

    def shape(self, sizes: dict[str, Any], chance: random.Random) -> list[int]:
        """A shape that is like it, for some sizes of its names."""
        return [chance.randint(0, 5) if size == ANY else size for size in self.dims(sizes)]

    def dims(self, sizes: dict[str, Any]) -> list[int]:
        return [
            size
            for item in self.items
            for size in (sizes["b"] if item == "*b" else [ANY if item == "?" else eval(item, dict(sizes))])
        ]

    def is_like(self, shape: list[int], sizes: dict[str, Any]) -> bool:
        """Whether a shape is like it for these sizes."""
        dims = self.dims(sizes)
        return len(dims) == len(shape) and all(a in (ANY, b) for a, b in zip(dims, shape, strict=True))


@pytest.mark.parametrize("known", ["[k]", "[n, k]", "[n, m, k]", "[n, m, 2, k]"])
@pytest.mark.parametrize("open_", ["s", "[*s, k]", "[n, *s]"])
def test_a_shape_of_unknown_rank_may_be_any_that_is_long_enough(open_: str, known: str) -> None:
    for equation in ("x.shape == y.shape", "y.shape == x.shape"):
        text = f"@f = fn(x : Tensor({open_}), y : Tensor({known}), z : Tensor([n, m])) : Tensor {{ assert {equation}\n x }}"
        report = rx.check_source(text)
        assert report.ok and report.counts.residual == 1, (text, [d.message for d in report.diagnostics])
