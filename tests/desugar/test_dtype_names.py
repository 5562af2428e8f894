"""Misspelt dtypes: every dtype with a letter wrong, and what others call them, where a name would stand for any dtype."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import rxlang as rx
from rxlang.cli.main import invoke
from rxlang.lang.dtypes import DTYPES
from support import fuzz


def told(text: str) -> list[str]:
    return [d.code for d in rx.check_source(text).diagnostics if d.code in ("E225", "N204") or d.severity == "error"]


def _slip(name: str, rng: random.Random) -> str:
    """One letter left out, doubled, exchanged with its neighbour, or replaced; the first one stays."""
    i = rng.randrange(1, len(name) - 1)
    slips = (
        name[:i] + name[i + 1 :],
        name[:i] + name[i] * 2 + name[i + 1 :],
        name[:i] + name[i + 1] + name[i] + name[i + 2 :],
    )
    return rng.choice((*slips, name[:i] + rng.choice("aeg") + name[i + 1 :]))


def test_a_dtype_with_a_slip_is_an_error_in_every_place() -> None:
    rng = random.Random(0)
    places = (
        "@f = fn(x : Tensor([n], {})) : Tensor([n]) {{ x }}", "@f = fn(x : Tensor([n])) : Tensor([n], {}) {{ x }}",
        "@f = fn(x : Tensor([n])) : Tensor([n]) {{ let y : Tensor([n], {}) = x\n y }}", "let y : Tensor([2], {}) = @ones([2])",
        "type T = Tensor([2], {})", "const w : Tensor([], {}) = 1.0",
    )  # fmt: skip
    for case in fuzz.cases("slips of dtypes"):
        with case as seed:
            rng = random.Random(seed)
            name = _slip(rng.choice([n for n in DTYPES if len(n) > 4]), rng)
            text = rng.choice(places).format(name)
            if name not in DTYPES:
                assert told(text)[:1] == ["E225"], text


@pytest.mark.parametrize(
    "name", ["f32", "double", "half", "int_8", "Float32", "FLOAT64", "i64", "u8", "bf16", "float_", "in8", "float8"]
)
def test_what_others_call_a_dtype_is_none(name: str) -> None:
    assert told(f"@f = fn(x : Tensor([n], {name})) : Tensor([n]) {{ x }}") == ["E225"]


@pytest.mark.parametrize("name", ["d", "dt", "t", "type", "dtype", "elem", "kind", "d2", "_f32", "_flaot32", "a", "b8"])
def test_a_name_for_any_dtype_is_none_of_that(name: str) -> None:
    assert told(f"@f = fn(x : Tensor([n], {name})) : Tensor([n]) {{ x }}") == []
    assert told(f"@f = fn(x : Tensor([n], {name})) : Tensor([n], {name}) {{ x }}") == []


def test_a_name_that_stands_twice_is_bound_and_only_noted() -> None:
    assert told("@f = fn(x : Tensor([n], f32)) : Tensor([n], f32) { x }") == ["N204"]
    assert told("@f = fn(x : Tensor([n], e), double : DType) : Tensor([n], double) { @cast(x, double) }") == []


def test_a_slip_that_stands_twice_is_noted_with_its_fix() -> None:
    for case in fuzz.cases("slips that stand twice"):
        with case as seed:
            rng = random.Random(seed)
            meant = rng.choice([n for n in DTYPES if len(n) > 4])
            name = _slip(meant, rng)
            text = f"@f = fn(x : Tensor([n], {name}), y : Tensor([n], {name})) : Tensor([n], {name}) {{ x + y }}"
            if name not in DTYPES:
                (said,) = [d for d in rx.check_source(text).diagnostics if d.code == "N204"]
                assert said.help is not None and "did you mean" in said.help, text
    nested = "@f = fn(x : Tensor([n])) : Tensor([n]) { let y ! Tensor([n], flota23) = x; let z ! Tensor([n], flota23) = y; z }"
    assert told(nested) == ["N204"]


def test_a_lone_name_in_a_result_says_nothing_and_is_noted() -> None:
    (said,) = rx.check_source("@f = fn(x : Tensor([n])) : Tensor([n], e) { x }").diagnostics
    assert (said.code, said.span.text) == ("N201", "e")


def test_the_fix_is_told_and_a_signature_is_left_to_its_author(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "f.rx"
    path.write_text("@f = fn(x : Tensor([n], float32)) : Tensor([n], flaot32) { x }\n")
    assert invoke(["check", "--fix", str(path)]) == 1  # what a function gives is for the author to say
    assert path.read_text() == "@f = fn(x : Tensor([n], float32)) : Tensor([n], flaot32) { x }\n"
    assert "did you mean `float32`?" in capsys.readouterr().err
