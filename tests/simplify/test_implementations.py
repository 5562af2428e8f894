"""Lists of implementations: the first that fits is called, wherever that is decided, and what none fits is told of each.

The random programs put tensors of known and of unknown rank through lists of functions, externs and primitives; the oracle
walks the list itself, in NumPy.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import rxlang as rx
from rxlang.cli.main import invoke
from rxlang.simplify.known.outcome import Options
from support import fuzz
from support.agreement import Ways, refused
from support.cases import WRONG
from support.phases import checked_of


def f32(*shape: int) -> Any:
    return (np.arange(int(np.prod(shape)), dtype=np.float32) - 3).reshape(shape)


def codes(text: str) -> list[str]:
    return [d.code for d in rx.check_source(text).diagnostics if d.code not in ("N201", "W311")]


SAME = "@same = fn(x : Tensor) : Tensor { x }\n"


@pytest.mark.parametrize(
    ("members", "of_floats", "of_bools"),
    [
        ("@abs, @same", [3, 2, 1], [True, False]),
        ("@prelude.abs, @same", [3, 2, 1], [True, False]),
        ("@negative, @abs, @same", [3, 2, 1], [True, False]),
        ("@same, @abs", [-3, -2, -1], [True, False]),
        ("@abs, @logical_not", [3, 2, 1], [False, True]),
        ("@logical_not, @abs", [3, 2, 1], [False, True]),
        ("@three, @logical_not, @same", [-6, -4, -2], [False, True]),
    ],
)
def test_a_primitive_may_stand_anywhere_in_a_list(members: str, of_floats: Any, of_bools: Any) -> None:
    text = f"{SAME}@three = fn(x : Tensor([3], float32)) : Tensor([3], float32) {{ x * 2.0 }}\n@m = [{members}]\n"
    text += "@known = fn(x : Tensor([n], float32)) : Tensor { @m(x) }\n@any = fn(x : Tensor) : Tensor { @m(x) }\n"
    text += "@nested = fn(x : Tensor([3], float32), y : Tensor([2], bool)) : (Tensor, Tensor) { (@any(x), @any(y)) }"
    module = rx.loads(text)
    for function in (module.known, module.any, module.m):
        assert function(f32(3)).tolist() == of_floats
    assert module.any(np.array([True, False])).tolist() == of_bools
    assert [r.tolist() for r in module.nested(f32(3), np.array([True, False]))] == [of_floats, of_bools]


def test_a_list_may_be_of_primitives_alone() -> None:
    module = rx.loads(
        "@m = [@matmul]\n@s = [@sum]\n@f = fn(x : Tensor([n, k], float32)) : Tensor { @s(@m(x, x), axis=0) }"
    )
    assert module.m(f32(2, 2), f32(2, 2)).shape == (2, 2)
    assert module.f(f32(2, 2)).shape == (2,)
    assert module.m.signature == "@m = fn(x : Tensor, y : Tensor)"
    assert [str(size) for size in module.m.shapes(x=(2, 3), y=(3, "n"))] == ["2", "n"]


def test_the_command_calls_a_list_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.rx"
    for members in ("@abs, @same", "@same", "@abs"):
        path.write_text(f"{SAME}@m = [{members}]\n")
        assert invoke(["run", str(path), "--call", "@m", "--arg", "x=[-2]:int32"]) == 0
        assert capsys.readouterr().out.strip() == f"result : Tensor([1], int32) = [{-2 if members == '@same' else 2}]"


def test_functions_of_other_files_and_lists_of_them_are_called_by_what_fits(tmp_path: Path) -> None:
    (tmp_path / "lib.rx").write_text(
        "@two = fn(x : Tensor([2], d)) : Tensor([2], d) where d in numeric { x + x }\n@list = [@two, @abs]\n"
    )
    (tmp_path / "net.rx").write_text(
        'import "lib.rx" as lib\n@m = [@lib.two, @negative]\n'
        "@f = fn(x : Tensor) : (Tensor, Tensor) { (@m(x), @lib.list(x)) }\n"
    )
    module = rx.load(tmp_path / "net.rx")
    assert [r.tolist() for r in module.f(f32(2))] == [[-6, -4], [-6, -4]]
    assert [r.tolist() for r in module.f(f32(3))] == [[3, 2, 1], [3, 2, 1]]


ASSERTING = """@sixteen = fn(x : Tensor, y : Tensor) : Tensor {
  assert x.rank == 2
  assert x.dim(0) == 16, "blocks"
  x
}
@promising = fn(x : Tensor([m, k], d), y : Tensor) : Tensor([m, k], d) { assert m == 3 && y.rank == 1; x }
@other = fn(x : Tensor, y : Tensor) : Tensor { y }
@m = [@sixteen, @promising, @other]
@open = fn(x : Tensor, y : Tensor) : Tensor { @m(x, y) }
@four = fn(x : Tensor([4, 2], float32), y : Tensor([n], float32)) : Tensor([n], float32) { @m(x, y) }
@three = fn(x : Tensor([3, 2], float32), y : Tensor([n], float32)) : Tensor([3, 2], float32) { @m(x, y) }
"""


def test_what_a_body_begins_to_assert_says_which_calls_it_is_for() -> None:
    module = rx.loads(ASSERTING)
    assert codes(ASSERTING) == []
    for rows, first in ((16, True), (4, False), (3, True)):
        assert module.open(f32(rows, 2), f32(5)).shape == ((rows, 2) if first else (5,))
    assert module.four(f32(4, 2), f32(5)).shape == (5,)
    assert module.three(f32(3, 2), f32(5)).shape == (3, 2)
    assert module.three.residual == ()
    assert module.open(f32(3, 2), f32(1, 1)).shape == (1, 1)


def test_members_that_ask_something_of_one_place_are_all_told() -> None:
    text = """@one = fn(x : Tensor([n, 3], float32)) : Tensor([n], float32) { @sum(x, axis=[1]) }
@m = [@one, @matrix_transpose, @exp]
@f = fn(x : Tensor([5], int8)) : Tensor { @m(x) }
"""
    (said,) = [d for d in rx.check_source(text).diagnostics if d.code == "E316"]
    lines = [*(label.message for label in said.labels), *said.notes]
    assert [line.split(" to ")[0] for line in lines[:3] if line.startswith("@")] == [
        "@one needs `x`", "@matrix_transpose needs `x`", "@exp needs `x`",
    ]  # fmt: skip


def test_where_none_fits_one_error_says_of_each_member_why() -> None:
    text = """@two = fn(x : Tensor([2], float32)) : Tensor([2], float32) { x }
@five = fn(x : Tensor) : Tensor { assert x.dim(0) == 5; x }
@m = [@two, @logical_not, @five]
@f = fn(x : Tensor([3], float32)) : Tensor { @m(x) }
"""
    (said,) = [d for d in rx.check_source(text).diagnostics if d.severity == "error"]
    assert said.code == "E316"
    told = [*(label.message for label in said.labels), *said.notes]
    assert len(told) == 3 and all(
        any(line.startswith(f"@{n} needs") for line in told) for n in ("two", "logical_not", "five")
    )
    module = rx.loads(text.partition("@f =")[0])
    with pytest.raises(rx.ShapeError) as refused:
        module.m(f32(3))
    notes = refused.value.diagnostic.notes
    assert [n.split()[0] for n in notes] == ["@two", "@logical_not", "@five"]


@pytest.mark.parametrize(
    ("members", "never"),
    [
        ("@any, @three", "three"), ("@three, @any", ""), ("@any, @abs", "abs"), ("@abs, @any", ""), ("@three, @three", "three"),
        ("@floats, @three", "three"), ("@three, @floats", ""), ("@even, @three", ""), ("@positive, @three", "three"),
    ],
)  # fmt: skip
def test_a_member_that_is_never_chosen_is_noted_only_where_that_is_certain(members: str, never: str) -> None:
    text = """@any = fn(x : Tensor) : Tensor { x }
@floats = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x }
@even = fn(x : Tensor([n], float32)) : Tensor([n], float32) where n % 2 == 0 { x }
@positive = fn(x : Tensor([n], float32)) : Tensor([n], float32) where n >= 1 { x }
@three = fn(x : Tensor([3], float32)) : Tensor([3], float32) { x * 2.0 }
"""
    notes = [d for d in rx.check_source(f"{text}@m = [{members}]").diagnostics if d.code == "N302"]
    assert [d.span.text for d in notes] == ([f"@{never}"] if never else [])


def test_a_literal_number_takes_the_dtype_of_the_member_that_is_chosen() -> None:
    module = rx.loads("""@a = fn(x : Tensor([*s], float32), c : float32) : Tensor([*s], float32) { x + c }
@b = fn(x : Tensor([*s], d), c : Tensor([], d)) : Tensor([*s], d) where d in numeric { x * c }
@m = [@a, @b]
@f = fn(x : Tensor) : Tensor { @m(x, 2.0) }
@g = fn(x : Tensor([n], float32)) : Tensor([n], float32) { @m(x, 2.0) }""")
    assert module.f(f32(2)).tolist() == module.g(f32(2)).tolist() == [-1, 0]
    assert module.f(np.array([1.5])).tolist() == [3]


# What a call gives whose rule gives up is unknown, not wrong


def test_the_parts_of_a_tensor_of_unknown_rank_are_decided_at_run_time() -> None:
    module = rx.loads("""@a = fn(x : Tensor([*s], float32)) : Tensor([*s], float32) { x * 2.0 }
@b = fn(x : Tensor([*s], d)) : Tensor([*s], d) { x }
@m = [@a, @b]
@f = fn(x : Tensor) : Tensor { let (_p, q) = @split(x, 2, axis=0); @m(q) }
@r = fn(x : Tensor) : Tensor { let (p, _q) = @split(x, 2, axis=0); if (p.rank == 1) { p } else { @m(p) } }
@l = fn(x : Tensor) : Tensor { @concat(@split(x, 2, axis=0), axis=0) }
@c = fn(x : Tensor, c : bool) : Tensor { let g = if (c) { @abs } else { @negative }; @m(g(x)) }""")
    assert module.f(f32(4)).tolist() == [-2, 0]
    assert module.f(np.array([1, 2, 3, 4])).tolist() == [3, 4]
    assert (module.r(f32(2)).tolist(), module.r(f32(2, 1)).tolist()) == ([-3], [[-6]])
    assert module.l(f32(4)).tolist() == f32(4).tolist()
    assert [module.c(f32(1), np.array(c)).tolist() for c in (True, False)] == [[6], [6]]


class Member(NamedTuple):
    """One implementation: its text, whom it is for, what it computes."""

    text: str
    fits: Callable[[Any], bool]
    gives: Callable[[Any], Any]


def _member(name: str, rng: random.Random) -> Member:
    scale = rng.randint(2, 9)
    kind = rng.randrange(6)
    size = rng.choice((0, 1, 2, 3))
    double: Callable[[Any], Any] = lambda x: x * np.asarray(scale, x.dtype)  # noqa: E731
    match kind:
        case 0:
            head, body = f"Tensor([{size}, *s], d)) : Tensor([{size}, *s], d) where d in numeric", ""
            fits: Callable[[Any], bool] = lambda x: x.ndim >= 1 and x.shape[0] == size and x.dtype != bool  # noqa: E731
        case 1:
            head, body = "Tensor([*s], float32)) : Tensor([*s], float32)", ""
            fits = lambda x: x.dtype == np.float32  # noqa: E731
        case 2:
            head, body = f"Tensor(?, d)) : Tensor where d in numeric && x.rank == {size}", ""
            fits = lambda x: x.dtype != bool and x.ndim == size  # noqa: E731
        case 3:
            head, body = "Tensor) : Tensor", f"assert x.rank >= {size}; assert x.dtype == float32; "
            fits = lambda x: x.dtype == np.float32 and x.ndim >= size  # noqa: E731
        case 4:
            head, body = "Tensor([n, m], d)) : Tensor([n, m], d) where n == m, d in numeric", ""
            fits = lambda x: x.dtype != bool and x.ndim == 2 and x.shape[0] == x.shape[1]  # noqa: E731
        case _:
            primitive, allowed = rng.choice((("abs", True), ("logical_not", False), ("matrix_transpose", None)))
            make = {"abs": np.abs, "logical_not": np.logical_not, "matrix_transpose": lambda x: np.swapaxes(x, -1, -2)}
            takes = {
                True: lambda x: x.dtype != bool, False: lambda x: x.dtype == bool, None: lambda x: x.ndim >= 2,
            }  # fmt: skip
            return Member(f"@{primitive}", takes[allowed], make[primitive])
    text = f"@{name} = fn(x : {head} {{ {body}x * @cast(tensor({scale}), x.dtype) }}\n"
    return Member(text, fits, double)


_ARGUMENTS = (
    "Tensor", "Tensor(?, float32)", "Tensor([n])", "Tensor([n, m], float32)", "Tensor([*s])", "Tensor([*s, n], int64)",
    "Tensor([2, n])", "Tensor([n, n], d)", "Tensor([_n, ...])",
)  # fmt: skip
_ROUTES: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("let y = x", lambda x: x),
    ("let (_p, y) = @split(x, 1 + 1, axis=0)", lambda x: np.split(x, 2, axis=0)[1]),
    ("let (y, _p) = @split(x, 2, axis=0)", lambda x: np.split(x, 2, axis=0)[0]),
    ("let y = @concat([x, x], axis=0)", lambda x: np.concatenate([x, x], axis=0)),
    ("let y = @expand_dims(x, axis=0)", lambda x: x[None]),
    ("let y = @flip(x, axis=0)", lambda x: np.flip(x, axis=0)),
    ("let y = @inner(x)", lambda x: np.split(x, 2, axis=0)[0]),
    ("let y = if (x.rank == 2) { @expand_dims(x, axis=0) } else { x }", lambda x: x[None] if x.ndim == 2 else x),
    ("let (y, _p) = if (x.rank == 1) { @split(x, 2, axis=0) } else { (x, x) }",
     lambda x: np.split(x, 2, axis=0)[0] if x.ndim == 1 else x),
)  # fmt: skip
_INNER = "@inner = fn(x : Tensor) : Tensor { let (p, _q) = @split(x, 2, axis=0); p }\n"


class Program:
    """A list of a few members, and a call of it with a tensor of which more or less is known."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.members = [_member(f"m{i}", rng) for i in range(rng.randint(1, 4))]
        listed = [m.text if " " not in m.text else f"@m{i}" for i, m in enumerate(self.members)]
        self.annotation = rng.choice(_ARGUMENTS)
        self.route, self.routed = rng.choice([r for r in _ROUTES if "1 + 1" not in r[0]])
        self.rank = rng.choice((None, None, 0, 1, 2, 3))
        last = "@list(y)" if self.rank is None else f"if (y.rank == {self.rank}) {{ @list(y) }} else {{ y }}"
        body = f"  {self.route}\n  {last}\n"
        texts = "".join(m.text for m in self.members if " " in m.text)
        self.source = (
            f"{texts}{_INNER}@list = [{', '.join(listed)}]\n@main = fn(x : {self.annotation}) : Tensor {{\n{body}}}\n"
        )
        self.rng = rng

    def argument(self) -> Any:
        shape = tuple(self.rng.choice((0, 1, 2, 2, 3)) for _ in range(self.rng.randint(0, 3)))
        dtype = self.rng.choice((np.float32, np.int64, np.bool_))
        return np.asarray(np.arange(int(np.prod(shape))).reshape(shape), dtype)

    def reaches_the_list(self, x: Any) -> bool:
        """Whether the call in the arm, if it is in one, is made at all."""
        try:
            return self.rank is None or self.routed(x).ndim == self.rank
        except (ValueError, IndexError):
            return False

    def wanted(self, x: Any) -> Any:
        """What the run has to give; None where it has to fail."""
        try:
            y = self.routed(x)
        except (ValueError, IndexError):
            return None
        if self.rank is not None and y.ndim != self.rank:
            return y
        return next((m.gives(y) for m in self.members if m.fits(y)), None)


def test_what_is_chosen_before_the_run_is_what_the_run_would_choose() -> None:
    """The first member that fits, by the annotation as much as by the run; what is refuted fails for every argument."""
    for case in fuzz.cases("lists"):
        with case as seed:
            program = Program(seed)
            plain = program.source.replace(f"x : {program.annotation}", "x : Tensor")
            for text, annotation in ((program.source, program.annotation), (plain, "Tensor")):
                errors = [d for d in rx.check_source(text).diagnostics if d.severity == "error"]
                assert all(d.code.startswith("E3") for d in errors), (text, errors)
                module = None if errors else rx.loads(text)
                certain = all(d.code not in ("E310", "E315") for d in errors)
                for _ in range(8):
                    x = program.argument()
                    if not _enters(annotation, x):
                        continue
                    if module is not None:
                        assert _same(_result(module, x), program.wanted(x)), (seed, text, x.shape, x.dtype)
                    elif certain and program.reaches_the_list(x):
                        assert program.wanted(x) is None, (seed, text, errors[0].message, x.shape)


_BOUNDS = {"i == {}": int.__eq__, "i >= {}": int.__ge__, "i <= {}": int.__le__, "i != {}": int.__ne__}


def test_a_member_that_fits_in_some_turns_only_is_chosen_in_those() -> None:
    for case in fuzz.cases("members by turn"):
        with case as seed:
            rng = random.Random(seed)
            bounds = [(rng.choice(tuple(_BOUNDS)), rng.randrange(4)) for _ in range(rng.randint(2, 3))]
            start, stop = rng.randint(0, 1), rng.randint(2, 4)
            heads = [f"fn(x : float32, i : Size) : float32 where {text.format(k)} {{ x * 4.0 + {m}.0 }}"
                     for m, (text, k) in enumerate(bounds)]  # fmt: skip
            listed = ", ".join(f"@m{m}" for m in range(len(heads)))
            text = "\n".join(f"@m{m} = {head}" for m, head in enumerate(heads)) + f"\n@list = [{listed}]\n"
            text += f"@main = fn(x : float32) : Tensor {{ for i in range({start}, {stop}) with (a = x) {{ @list(a, i) }} }}\n"
            wanted: float | None = 0.0
            for i in range(start, stop):
                chosen = next((m for m, (b, k) in enumerate(bounds) if _BOUNDS[b](i, k)), None)
                wanted = None if wanted is None or chosen is None else wanted * 4 + chosen
            if any(d.severity == "error" for d in rx.check_source(text).diagnostics):
                assert wanted is None, text
            else:
                assert _same(_result(rx.loads(text), np.float32(0)), None if wanted is None else np.float32(wanted)), (
                    text
                )


def _enters(annotation: str, x: Any) -> bool:
    return _result(_probe(annotation), x) is not None


@cache
def _probe(annotation: str) -> Any:
    return rx.loads(f"@main = fn(x : {annotation}) : Tensor {{ x }}")


def _result(module: Any, x: Any) -> Any:
    try:
        return module.main(x)
    except rx.ShapeError:
        return None


def _same(found: Any, wanted: Any) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return found.dtype == wanted.dtype and found.shape == wanted.shape and bool((found == wanted).all())


@pytest.mark.parametrize("path", sorted(WRONG.glob("implementation_*.rx")), ids=lambda p: p.stem)
def test_the_reproducers_are_checked(path: Path) -> None:
    report = rx.check_source(path.read_text())
    wanted = {"implementation_none_fits": {"E316"}}.get(path.stem, set())
    assert {d.code for d in report.diagnostics if d.severity == "error"} == wanted


@pytest.mark.parametrize("order", ["@four, @twelve, @any", "@any, @four, @twelve", "@four, @any, @twelve, @any"])
def test_behind_a_call_it_is_known_that_one_of_all_members_fitted(order: str) -> None:
    """Not that one of the first two did."""
    text = (
        "@four = fn(x : Tensor([4, 4], float32)) : Tensor { x[2:] }\n"
        "@twelve = fn(x : Tensor([4, p * 3], float32)) : Tensor([z, w], float32) { x[1:] }\n"
        "@any = fn(x : Tensor([p * 4, q], float32)) : Tensor([z, w], float32) where q >= 1 { x[3:] }\n"
        f"@m = [{order}]\n"
        '@main = fn(x : Tensor([a, b], float32)) : Tensor { let y = @m(x[1:]); assert a % 4 == 0, "a"; y }\n'
    )
    ways = Ways(checked_of(text, options=Options(allow_empty=True)))
    ran = [not refused(ways.agree({"x": np.ones((a, b), np.float32)})) for a in (0, 1, 4, 5, 8, 9) for b in (1, 3, 4)]
    assert sum(ran) == 3
