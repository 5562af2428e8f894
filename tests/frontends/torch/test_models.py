"""PyTorch code as it stands: its contract, mistakes at their lines, and no size that differs silently."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.places import ROOT
from support.torch_cases import checked, command, conditions, in_python, lines, needs_torch

CASES = ROOT.parent / "shared" / "cases" / "python"
needs_cases = pytest.mark.skipif(not CASES.exists(), reason="the cases are not here")

GOOD = {
    "MLP": ("x=float32[b, 28, 28]", set()),
    "CNN": ("x=float32[b, 3, h, w]", {"h // 4 * (w // 4) == 64"}),
    "GPT": ("idx=int64[b, t]", {"t <= 32"}),
    "Cell": ("x=float32[b, t, 16]", {"t >= 3"}),
    "UNet": ("x=float32[b, 3, h, w]", {"h >= 1", "w >= 1", "h % 2 == 0", "w % 2 == 0"}),
}


@needs_torch
@needs_cases
@pytest.mark.parametrize("name", GOOD)
def test_a_right_model_gives_its_contract(name: str) -> None:
    argument, wanted = GOOD[name]
    found = checked(CASES, f"models.py:{name}", argument)
    assert conditions(found) == wanted
    assert lines(found) == []
    assert found.supposed == ()


@needs_torch
@needs_cases
def test_a_gpt_takes_all_sizes() -> None:
    found = checked(CASES, "gpt.py:GPT", "tokens=int64[b, t]", init="config=Config()")
    assert conditions(found) == set()
    assert [o.shape for o in found.contract.outputs] == [("b", "t", 97)]


IDX, X = "idx=int64[b, t]", "x=float32[b, t, 16]"
MISTAKES = {
    "linear": ("MLP", "cols=512", ["x=float32[b, 28, 28]"], 15),
    "flatten": ("CNN", None, ["x=float32[b, 3, 28, 28]"], 28),
    "no transpose": ("GPT", "bad='notranspose'", [IDX], 47),
    "permute": ("GPT", "bad='permute'", [IDX], 53),
    "batch_first": ("Cell", "first=False", [X], 104),
    "mask": ("GPT", "bad='mask'", [IDX, "keep=float32[b, t]"], 50),
    "heads": ("GPT", "h=5", [IDX], 44),
    "batch in view": ("GPT", "bad='batch'", [IDX], 53),
}


@needs_torch
@needs_cases
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_said_at_its_line(name: str) -> None:
    target, init, arguments, line = MISTAKES[name]
    assert lines(checked(CASES, f"models.py:{target}", *arguments, init=init)) == [line]


@needs_torch
@needs_cases
def test_a_table_that_is_too_short_is_a_condition_at_the_table() -> None:
    found = checked(CASES, "models.py:GPT", IDX, init="block=32, table=16, bad='noassert'")
    assert "t <= 16" in conditions(found)


@needs_torch
@needs_cases
@pytest.mark.parametrize("group", ["SYMBOLIC", "WISHED", "MAY_STOP"])
def test_no_size_differs_silently(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(CASES))
    import size_probes as probes
    from rxlang.frontends.torch import target as targets
    from rxlang.model.traced import check_target

    declared = targets.DeclaredInput("float32", ("b", "t", 16))
    for name, source in getattr(probes, group).items():
        code = probes.function(name, source)
        found = check_target(targets.Target(name, code, {"x": declared, "y": declared}), Path(sys.path[0]))
        first, second = (targets.trace(targets.Target(name, code, {"x": declared, "y": declared}), h) for h in _HINTS)
        is_same = first.text == second.text and first.stopped is None
        assert is_same or found.report.diagnostics, name
        assert group != "SYMBOLIC" or is_same, name


_HINTS = ({"b": 7, "t": 13}, {"b": 5, "t": 11})

CODE = """
import torch

def joined(x, y):
    if x.shape[1] > 6:
        raise ValueError("too long")
    z = torch.cat([x, y], dim=0)
    return torch.cat([z, z], dim=1)

def counted(x):
    return torch.stack([x[:, i] for i in range(x.shape[1])])
"""


@needs_torch
def test_the_command_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(CODE)
    done = command(tmp_path, "check", "code.py:joined", "--arg", "x=float32[a, t]", "--arg", "y=float32[c, s]")
    assert "0 to 6   code.py:5: t <= 6, else `if x.shape[1] > 6` raises" in done.stdout
    assert "--> code.py:7:9" in done.stderr and "t == s" in done.stderr
    assert done.returncode == 0


@needs_torch
def test_a_number_of_times_is_known_for_the_hint_only(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(CODE)
    found = checked(tmp_path, "code.py:counted", "x=float32[a, t]")
    assert any("known for t = 7 only" in d.message and d.span.line == 11 for d in found.report.diagnostics)


def test_other_commands_do_not_import_torch(tmp_path: Path) -> None:
    (tmp_path / "a.rx").write_text("let x = @zeros([2])\nx\n")
    script = "import sys; from rxlang.cli.main import invoke; invoke(['check', 'a.rx']); print('torch' in sys.modules)"
    done = in_python(tmp_path, "-c", script)
    assert done.stdout.splitlines()[-1] == "False", done.stderr


GPT_MISTAKES = {
    "m1": ("GPT", ["tokens=int64[b, t]"], "config=Config()", {60}),
    "m2": ("pooled", ["x=float32[b, t, d]", "mask=float32[b, t]"], None, {104}),
    "m3": ("loss_of", ["logits=float32[b, t, v]", "tokens=int64[b, t]"], None, {108}),
    "m4": ("GPT", ["tokens=int64[b, t]"], "config=Config()", {73}),
    "m5": ("pooled", ["x=float32[b, t, d]", "mask=float32[b, t]"], None, {104}),
    "m7": ("GPT", ["tokens=int64[b, t]"], "config=Config()", {61}),
    "m8": ("generate", ["model=GPT(Config())", "start=int64[b, t]", "n=5"], None, {116}),
}


@needs_torch
@needs_cases
@pytest.mark.parametrize("name", GPT_MISTAKES)
def test_a_mistake_in_a_gpt_is_one_diagnostic_at_its_line(name: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(CASES / "make_gpt_mistakes.py"), str(tmp_path)], check=True)
    target, arguments, init, wanted = GPT_MISTAKES[name]
    found = checked(tmp_path, f"gpt_{name}.py:{target}", *arguments, init=init)
    assert set(lines(found)) == wanted and len(lines(found)) == 1


@needs_torch
@needs_cases
@pytest.mark.parametrize(("target", "wanted"), [("pooled", set()), ("loss_of", {"v >= 1"})])
def test_a_right_function_is_not_accused(target: str, wanted: set[str]) -> None:
    """`reshape(-1, v)` does not say how many rows there are where v is 0."""
    arguments = GPT_MISTAKES["m2" if target == "pooled" else "m3"][1]
    found = checked(CASES, f"gpt.py:{target}", *arguments)
    assert lines(found) == [] and conditions(found) == wanted


@needs_torch
@needs_cases
def test_a_loss_that_crosses_a_batch_is_told() -> None:
    found = checked(CASES, "models.py:Loss", "x=float32[n, 8]", "y=float32[n]")
    assert lines(found, "note") == [150]
