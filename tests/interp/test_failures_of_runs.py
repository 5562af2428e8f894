"""Failures of runs: told as checking tells them of the sizes that were met, and without fixes that fit one run only."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from rxlang import load, pipeline
from rxlang.cli.main import invoke
from rxlang.fixes.run_failures import explained
from rxlang.interp.shape_error import ShapeError
from rxlang.lang.diagnostics import Diagnostic
from rxlang.lang.files import Files
from support import fuzz
from support.phases import checked_of

HERE = Path(".")


def failed(text: str, name: str, *shapes: tuple[int, ...] | int, folder: Path = HERE) -> ShapeError:
    machine = pipeline.ready(checked_of(text, folder), Files(folder), allow_extern=True)
    with pytest.raises(ShapeError) as caught:
        machine.call(name, [s if isinstance(s, int) else np.ones(s, np.float32) for s in shapes])
    return caught.value


def told(text: str, name: str, *shapes: tuple[int, ...] | int, folder: Path = HERE) -> Diagnostic:
    problem = failed(text, name, *shapes, folder=folder)
    return explained(problem.diagnostic, problem.met, folder)


def places(d: Diagnostic) -> list[tuple[str, str]]:
    return [(label.span.text, label.message) for label in d.labels]


def test_sizes_are_followed_to_the_parameters_and_calls_to_where_they_began() -> None:
    text = (
        "@layer = fn(x, w) {\n  @matmul(@relu(x), w)\n}\n"
        "@net = fn(x, w) {\n  @layer(x, w)\n}\n"
        "@main = fn(x : Tensor, w : Tensor) : Tensor {\n  @net(x, w)\n}\n"
    )
    d = told(text, "main", (2, 3), (5, 7))
    assert d.message == "@matmul needs axis 1 of `@relu(x)` (3) and axis 0 of `w` (5) to be equal"
    assert d.code == "R401" and d.span.text == "@matmul(@relu(x), w)"
    assert places(d) == [
        ("x", "3 comes from here"),
        ("w", "5 comes from here"),
        ("@layer(x, w)", "called from here, in @net"),
        ("@net(x, w)", "called from here, in @main"),
    ]


def test_a_size_that_was_given_is_known_too() -> None:
    text = "@f = fn(x : Tensor, n : Size) : Tensor where n >= 1 {\n  @reshape(x, [n, 4])\n}\n"
    d = told(text, "f", (2, 3), 5)
    assert d.message == "@reshape needs as many elements in `[n, 4]` as `x` has, but they are 20 and 6"
    assert d.caption == "`x` is Tensor([2, 3], float32), `[n, 4]` is [5, 4]"


def test_a_name_that_an_annotation_binds_is_told_in_numbers() -> None:
    text = "@f = fn(x : Tensor([n, m], float32), w : Tensor([k, p], float32)) : Tensor {\n  @matmul(x, w)\n}\n"
    d = told(text, "f", (2, 3), (5, 7))
    assert d.message == "@matmul needs axis 1 of `x` (3) and axis 0 of `w` (5) to be equal"
    assert places(d)[:2] == [
        ("x : Tensor([n, m], float32)", "3 comes from here"),
        ("w : Tensor([k, p], float32)", "5 comes from here"),
    ]
    assert d.notes[0].split("\n")[0] == "`x` [2, 3]"


def test_a_name_that_stands_twice_is_told_in_numbers_too() -> None:
    text = "@f = fn(x : Tensor([n, m], float32), w : Tensor([k, n], float32)) : Tensor {\n  @matmul(x, w)\n}\n"
    d = told(text, "f", (2, 3), (5, 2))
    assert d.message == "@matmul needs axis 1 of `x` (3) and axis 0 of `w` (5) to be equal"
    assert all(message in ("3 comes from here", "5 comes from here") for _, message in places(d))


def test_names_that_an_annotation_binds_keep_their_meaning() -> None:
    text = "@f = fn(x : Tensor([n, ?], float32), y : Tensor) : Tensor {\n  let h = @reshape(x, [n, -1])\n  h + y\n}\n"
    d = told(text, "f", (2, 3), (5,))
    assert d.message == "`+` needs axis 1 of `h` (3) and axis 0 of `y` (5) to be equal, or one of them 1"
    assert any(label == "5 comes from here" for _, label in places(d))


def test_a_failure_in_an_imported_file_is_told_there(tmp_path: Path) -> None:
    (tmp_path / "layers.rx").write_text("@layer = fn(x : Tensor, w : Tensor) : Tensor {\n  @matmul(x, w)\n}\n")
    text = 'import "layers.rx" as l\n@main = fn(x : Tensor, w : Tensor) : Tensor {\n  @l.layer(x, w)\n}\n'
    d = told(text, "main", (2, 3), (4, 3), folder=tmp_path)
    assert d.span.source.name.endswith("layers.rx") and d.span.text == "@matmul(x, w)"
    assert "`x` [2, 3]" in d.notes[0] and ("@l.layer(x, w)", "called from here, in @main") in places(d)
    assert d.help == "transpose `w`: `@matmul(x, @matrix_transpose(w))` (checked)"


def test_what_only_the_data_decides_is_told_as_the_run_tells_it() -> None:
    text = "@f = fn(x : Tensor) : Tensor {\n  let k : Size = @item(@argmax(x))\n  @reshape(x, [k, 2])\n}\n"
    problem = failed(text, "f", (3,))
    assert explained(problem.diagnostic, problem.met, HERE).message == problem.diagnostic.message


@pytest.mark.parametrize(("x", "y"), [((2, 3, 5), (1, 4, 5)), ((7, 5), (6, 5)), ((2, 3), (2, 3, 5))])
def test_no_size_of_one_run_is_written_into_the_program(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    d = told("@f = fn(x : Tensor, y : Tensor) : Tensor {\n  x + y\n}\n", "f", x, y)
    assert not any(str(size) in edit.text for edit in d.edits for size in {*x, *y} - {0, 1, 2})


@pytest.mark.parametrize("where", ["", " where a >= 0"])
def test_what_the_run_alone_knows_is_not_said_to_stand_in_the_signature(where: str) -> None:
    d = told(f"@f = fn(a : Size, b : Size) : Size{where} {{\n  a // b\n}}\n", "f", 3, 0)
    assert d.message == "`a // b` needs the divisor to be at least 1, but b is 0"
    assert not any("signature" in label.message for label in d.labels)


# Random calls

CALLS = (
    ("@matmul(x, y)", 2, 2),
    ("x + y", 2, 2),
    ("x * y", 3, 1),
    ("@concat([x, y], axis=0)", 2, 2),
    ("@linear(x, y)", 2, 2),
    ("@mse_loss(x, y)", 2, 2),
)


def test_a_run_says_what_checking_says_of_the_same_sizes() -> None:
    """Also behind other operations and calls: the claim is that of the program whose signature has the sizes."""
    for case in fuzz.cases("words at a run"):
        with case as seed:
            random = Random(seed)
            call, first, second = random.choice(CALLS)
            while True:
                x = tuple(random.choice((2, 3, 5)) for _ in range(first))
                y = tuple(random.choice((2, 3, 5)) for _ in range(second))
                sizes = f"x : Tensor({list(x)}, float32), y : Tensor({list(y)}, float32)"
                body = random.choice(("{call}", "let z = @relu({call})\n  z", "@tanh({call})")).format(call=call)
                known = pipeline.check_text(f"@f = fn({sizes}) {{\n  {body}\n}}\n", "case.rx", HERE).diagnostics
                if known and known[0].sentence is not None:
                    break
            d = told(
                f"@f = fn(x, y) {{\n  {body}\n}}\n@main = fn(x : Tensor, y : Tensor) {{\n  @f(x, y)\n}}\n", "main", x, y
            )
            assert d.message == known[0].sentence.claim and d.notes == known[0].notes
            assert d.span.text == known[0].span.text


def test_a_run_that_the_fix_was_written_for_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "@f = fn(x : Tensor, w : Tensor) : Tensor {\n  @matmul(x, w)\n}\n"
    d = told(text, "f", (2, 3), (5, 3))
    (edit,) = d.edits
    path = tmp_path / "fixed.rx"
    path.write_text(text[: edit.span.start] + edit.text + text[edit.span.end :])
    assert (
        invoke(["run", str(path), "--arg", "x=float32[2,3]:ones", "--arg", "w=float32[5,3]:ones", "--call", "@f"]) == 0
    )
    assert "Tensor([2, 5], float32)" in capsys.readouterr().out


def test_from_python_a_failure_says_all_that_the_command_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.rx").write_text("@main = fn(x : Tensor, w : Tensor) : Tensor {\n  @matmul(@relu(x), w)\n}\n")
    with pytest.raises(ShapeError) as caught:
        load("p.rx").main(np.ones((2, 3), np.float32), np.ones((5, 3), np.float32))
    said = str(caught.value)
    assert "help: transpose `w`" in said and "`w`        [5, 3]" in said
    given = ["--call", "@main", "--arg", "x=float32[2,3]:ones", "--arg", "w=float32[5,3]:ones"]
    assert invoke(["run", "p.rx", *given]) == 3
    assert said in capsys.readouterr().err
