"""`rx check --gradients`: R405 says which gradients are wrong, and N304 which were not tried."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rxlang.cli.main import invoke

F = "@f = fn(x : Tensor([n, m * 2], float32), w : Tensor([m * 2], float32)) : Tensor([n], float32) { @sum(@sin(x * w), 1) }\n"
RULE = """vjp @f = fn(x : Tensor([a, b], float32), w : Tensor([b], float32), g : Tensor([a], float32))
  : (Tensor([a, b], float32), Tensor([b], float32)) {
  let c = @expand_dims(g, axis=1) * @cos(x * w)
  (HERE, @sum(c * x, axis=0))
}
"""
ALL = """@loss = fn(x : Tensor([n, m * 2], float32), w : Tensor([m * 2], float32)) : Tensor([], float32) where n >= 3 {
  @sum(@exp(@f(x, w)))
}
@d = grad @loss wrt x, w
@v = value_and_grad @loss wrt w
@g = vjp @f wrt x
@j = jvp @f wrt x, w
@h = hessian_vector @loss wrt w, x
"""


def checked(text: str, folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    path = folder / "a.rx"
    path.write_text(text, encoding="utf-8")
    status = invoke(["check", "--gradients", *options, str(path)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_right_gradients_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = checked(F + RULE.replace("HERE", "c * w") + ALL, tmp_path, capsys)
    assert status == 0
    for title in ("@d", "@v", "@g", "@j", "@h", "vjp @f"):
        assert f"{title}: right at 5 sets of sizes, beside central differences\n" in out


WRONG = (
    "c * x",
    "c * w * 2.0",
    "-(c * w)",
    "c * w + 1e-2",
    "@flip(c * w, axis=1)",
    "@flip(c * w, axis=0)",
    "@zeros_like(x)",
)


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_rule_is_told_with_line_operand_and_numbers(
    wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = checked(F + RULE.replace("HERE", wrong), tmp_path, capsys, "--format", "json")
    [found] = [d for d in json.loads(out)["diagnostics"] if d["code"] == "R405"]
    assert status == 1 and found["severity"] == "error"
    assert "of `x` it gives" in found["message"] and "central differences give" in found["message"]
    assert found["line"] == 2 if "line" in found else True


UNTRIED = (
    ("@f = fn(x : Tensor([n], float32)) : Tensor([], float32) where n >= 900 { @sum(x) }\n@d = grad @f wrt x\n", "no sizes"),
    ("@f = fn(x : Tensor([n], float32)) : Tensor([], float32) { @sum(@log(-@exp(x))) }\n@d = grad @f wrt x\n", "not finite"),
    ("@f = fn(s : Shape, x : Tensor([n], float32)) : Tensor([], float32) { @sum(x) + @sum(@ones(s)) }\n@d = grad @f wrt x\n",
     "`s` is neither"),
    ("@f = fn(x : Tensor([n], float32)) : Tensor([], float32) {\n"
     "  @sum(while (@sum(c * c) > -1.0) with (c : Tensor([n], float32) = x) { @sin(c) })\n}\n@d = grad @f wrt x\n",
     "in turn 1001, `fewer than 1,000 turns of a while` does not hold"),
    ('extern @f = fn(x : Tensor([n], float32)) : Tensor([n], float32) = "numpy:sin"\n'
     "vjp @f = fn(x : Tensor([n], float32), g : Tensor([n], float32)) : Tensor([n], float32) { g * @cos(x) }\n", "@f"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), UNTRIED)
def test_what_was_not_tried_is_told(text: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = checked(text, tmp_path, capsys)
    assert status == 0 and "note[N304]" in err and reason in " ".join(err.split()) and "right at" not in out


def test_an_extern_is_tried_where_python_may_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = checked(UNTRIED[4][0], tmp_path, capsys, "--allow-extern")
    assert status == 0 and "vjp @f: right at 5 sets of sizes" in out
    wrong = UNTRIED[4][0].replace("@cos", "@sin")
    assert checked(wrong, tmp_path, capsys, "--allow-extern")[0] == 1


FITTING = """const width : Size = 6
type Layer(i, o) = (Tensor([i, o], float32), Tensor([o], float32))
@f = fn(x : Tensor([*s, width], float32), l : Layer(width, o), ids : Tensor([q], int64), keep : Tensor([o], bool), k : Size)
  : (Tensor([*s, o], float32), Tensor([q], float32)) where o % 3 == 0, k < o {
  let (w, b) = l
  let y = @where(keep, @tanh(@matmul(x, w) + b), 0.0)
  (y * 2.0, @take(b, ids, axis=0) + @sum(b[k:]))
}
@d = vjp @f wrt l, x
vjp @sin = fn(x : Tensor([n, m], float32), g : Tensor([n, m], float32)) : Tensor([n, m], float32) { g * @cos(x) }
vjp @topk = fn(x : Tensor([n], float32), k : Size, g : (Tensor([k], float32), Tensor([k], int64))) : Tensor([n], float32)
  where k >= 0, k <= n {
  let (_, at) = @topk(x, k)
  @put(@zeros_like(x), at, g[0], axis=0)
}
"""


def test_sizes_that_a_signature_asks_for_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = checked(FITTING, tmp_path, capsys)
    assert status == 0, err
    for title in ("@d", "vjp @sin", "vjp @topk"):
        assert f"{title}: right at" in out


def test_signatures_of_gradients_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.rx"
    path.write_text(F + RULE.replace("HERE", "c * w") + ALL, encoding="utf-8")
    assert invoke(["check", "--signature", str(path)]) == 0
    out = capsys.readouterr().out
    head = "fn(x : Tensor([n, m * 2], float32), w : Tensor([m * 2], float32)"
    assert f"@d = {head}) : (Tensor([n, m * 2], float32), Tensor([m * 2], float32)) where n >= 3\n" in out
    assert f"@g = {head}, g : Tensor([n], float32)) : Tensor([n, m * 2], float32)\n" in out
    assert "vjp_f" not in out and f"@loss = {head}) : Tensor([], float32) where n >= 3\n" in out
