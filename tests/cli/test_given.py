"""Conditions from outside: `--given` and `given=` add to the entry checks of functions without touching the source."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import rxlang as rx
from rxlang.cli.main import invoke

EMBED = "@embed = fn(x : Tensor([b, t], float32)) : Tensor([q, 4], float32) { @reshape(x, [-1, 4]) }\n"
WRITTEN = EMBED.replace(" {", " where t % 4 == 0 {", 1)


@pytest.fixture
def embed(tmp_path: Path) -> str:
    (tmp_path / "embed.rx").write_text(EMBED)
    return str(tmp_path / "embed.rx")


def f32(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def test_a_given_condition_proves_what_one_in_the_source_would() -> None:
    given = rx.check_source(EMBED, given=["@embed: t % 4 == 0"])
    assert given.counts == rx.check_source(WRITTEN).counts
    assert given.counts.residual == 0 < rx.check_source(EMBED).counts.residual


def test_a_given_condition_refuses_on_entry_in_the_words_of_a_where() -> None:
    module = rx.loads(EMBED, given=["@embed: 1 <= b, b <= 64", "@embed: t % 4 == 0"])
    assert module.embed(f32(1, 4)).shape == (1, 4) and module.embed(f32(64, 4)).shape == (64, 4)
    for shape, words in (((0, 4), "1 <= b"), ((65, 4), "b <= 64"), ((2, 3), "t % 4 == 0")):
        with pytest.raises(rx.ShapeError, match=f"@embed needs `{words}`"):
            module.embed(f32(*shape))
        with pytest.raises(rx.ShapeError):
            module.embed.shapes(x=shape)


def test_one_condition_may_be_given_as_it_is_and_an_equality_with_one_sign() -> None:
    assert rx.loads(EMBED, given="@embed: t = 4").embed(f32(0, 4)).shape == (0, 4)


@pytest.mark.parametrize("pattern", ["@*", "@em*", "@?mbed", "@[a-f]mbed"])
def test_a_pattern_is_for_the_functions_that_have_the_sizes(pattern: str) -> None:
    other = EMBED + "@other = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x }\n"
    module = rx.loads(other, given=[f"{pattern}: t % 4 == 0"])
    assert module.other(f32(3)).shape == (3,)
    with pytest.raises(rx.ShapeError, match="t % 4 == 0"):
        module.embed(f32(2, 2))


def test_a_given_condition_meets_functions_of_other_files_by_their_names(tmp_path: Path, embed: str) -> None:
    main = tmp_path / "main.rx"
    main.write_text('import "embed.rx" as e\n@f = fn(x : Tensor([n, 8], float32)) { @e.embed(x) }\n')
    assert rx.load(main, given=["@e.embed: t == 8"]).f(f32(1, 8)).shape == (2, 4)
    with pytest.raises(rx.CheckError, match="t == 4"):
        rx.load(main, given=["@e.*: t == 4"])


def test_calls_inside_are_held_to_what_is_given() -> None:
    inner = EMBED + "@main = fn(x : Tensor([n, 4], float32)) : Tensor([r, 4], float32) { @embed(x) }\n"
    report = rx.check_source(inner, given=["@embed: b >= 2"])
    assert [d.code for d in report.diagnostics if "b >= 2" in d.message] == ["W311"]
    assert not rx.check_source(inner, given=["@embed: b >= 2"], strict=True).ok
    assert rx.check_source(inner, given=["@embed: b >= 2, t % 4 == 0", "@main: n >= 3"], strict=True).ok


def test_conditions_that_no_sizes_satisfy_are_an_error() -> None:
    assert not rx.check_source(EMBED, given=["@embed: b < 3", "@embed: b > 7"]).ok


def test_a_condition_on_what_the_body_chooses_is_none_on_entry() -> None:
    with pytest.raises(rx.CheckError, match="nothing is called `q`"):
        rx.loads(EMBED, given=["@embed: q == 2"])


@pytest.mark.parametrize(
    "text", ["@other: b >= 1", "@*: z >= 1", "@*: q >= 1", "embed: b >= 1", "@embed: b >=", "@embed", ""]
)
def test_what_is_no_condition_of_any_function_is_wrong_usage(text: str, embed: str) -> None:
    with pytest.raises(ValueError):
        rx.loads(EMBED, given=[text])
    assert invoke(["check", embed, "--given", text]) == 2
    assert invoke(["run", embed, "--call", "embed", "--arg", "x=float32[1,4]:zeros", "--given", text]) == 2
    assert invoke(["shapes", embed, "--given", text]) == 2


UNREAD = {
    "t <": "after `t <`: expected an expression, found the end",
    "t <, b": "after `t <`: expected an expression, found `,`",
    "b > 2, t <": "after `t <`: expected an expression, found the end",
    "< 3": "expected an expression, found `<`",
    "": "expected an expression, found the end",
    "t 3": "after `t`: expected an operator or the end, found `3`",
    "(t < 3": "this `(` is not closed",
    "t < 3)": "this `)` has no `(`; remove it",
    "t & 3": "`&` is not a sign of Rx; write `&&`",
    "t < 3 and b > 2": "after `t < 3`: `and` is not a word of Rx; write `&&`",
    "not t": "`not` is not a word of Rx; write `!`",
    "1 < t < 3": "after `1 < t`: comparisons do not chain; join two comparisons with `&&`",
}


@pytest.mark.parametrize("text", UNREAD)
def test_what_cannot_be_read_is_told_with_its_place(text: str, embed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["check", embed, "--given", f"@embed: {text}"]) == 2
    assert capsys.readouterr().err == f"rx: --given {f'@embed: {text}'.strip()!r}: {UNREAD[text]}\n"


def test_a_condition_for_one_of_several_files_is_right_usage(tmp_path: Path, embed: str) -> None:
    (tmp_path / "other.rx").write_text("@other = fn(x : Tensor([n], float32)) : Tensor([n], float32) { x }\n")
    assert invoke(["check", str(tmp_path), "--given", "@embed: t % 4 == 0"]) == 0
    assert invoke(["check", str(tmp_path), "--given", "@another: t % 4 == 0"]) == 2


def test_run_and_shapes_take_conditions(embed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["shapes", embed, "--given", "@*: t == 4", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["functions"]["@embed"]["result"]["shape"] == ["b", 4]
    call = ["run", embed, "--call", "embed", "--given", "@*: 1 <= b", "--given", "@embed: t == 4"]
    assert invoke([*call, "--arg", "x=float32[1,4]:ones"]) == 0
    assert invoke([*call, "--arg", "x=float32[0,4]:ones"]) == 3
    assert "given:1:5" in capsys.readouterr().err


def test_fix_writes_nothing_for_what_was_given(embed: str) -> None:
    before = Path(embed).read_text()
    invoke(["check", embed, "--fix", "--given", "@embed: b + 1 == b"])
    invoke(["check", embed, "--fix", "--given", "@embed: bb >= 1"])
    assert Path(embed).read_text() == before


def test_a_condition_may_ask_tensors_themselves() -> None:
    module = rx.loads(EMBED, given=["@embed: x.dim(-1) == 8 || x.dim(0) == 0"])
    assert module.embed(f32(1, 8)).shape == (2, 4)
    with pytest.raises(rx.ShapeError):
        module.embed(f32(1, 4))


@pytest.mark.parametrize(
    ("signature", "help"),
    [
        ("x : Tensor([b, t], float32)", "its sizes are b, t"),
        ("x : Tensor([2, 3], float32)", "no size of its parameters has a name"),
    ],
)
def test_a_size_that_there_is_not_is_told_with_those_that_there_are(signature: str, help: str) -> None:
    report = rx.check_source(f"@f = fn({signature}) {{ x }}\n", given=["@f: batch >= 1"])
    (wrong,) = [d for d in report.diagnostics if d.severity == "error"]
    assert "nothing is called `batch`" in wrong.message and wrong.help == help
