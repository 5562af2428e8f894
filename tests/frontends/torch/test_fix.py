"""`rx check --fix` of PyTorch code: what it writes computes what the right code does; what leaves a choice is left."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest
from support.torch_cases import needs_torch

HEAD = """import torch
from torch import nn

"""
MODEL = """class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear({width}, 4)

    def forward({taken}):
{body}
"""
# What is wrong and what is right stand as «wrong|right».
MARK = re.compile(r"«([^|»]*)\|([^»]*)»")
SIZES = {"b": 3, "t": 5, "s": 6, "o": 4, "i": 7}
QKV = ("q=float32[b, t, 16]", "k=float32[b, s, 16]", "v=float32[b, s, 16]")
X, Y, C = "x=float32[b, t, 16]", "y=float32[b, t, 8]", "c=float32[b, t]"
K = "k.transpose(-2, -1)"

Case = tuple[int, tuple[str, ...], str]
FIXED: dict[str, Case] = {
    "@": (16, QKV, f"return self.out((q @ «k|{K}») @ v)"),
    "matmul": (16, QKV, f"a = torch.matmul(q, «k|{K}»)\nreturn self.out(a.softmax(-1) @ v)"),
    "one name twice": (16, QKV, "a = (q @ «q|q.transpose(-2, -1)»).softmax(-1)\nreturn self.out(a @ q)"),
    "one name twice in a call": (16, QKV, "a = torch.matmul(q, «q|q.transpose(-2, -1)»)\nreturn self.out(a @ q)"),
    "matmul by name": (16, QKV, f"a = torch.matmul(input=q, other=«k|{K}»)\nreturn self.out(a @ v)"),
    "bmm": (16, QKV, f"return self.out(torch.bmm(q, «k|{K}») @ v)"),
    "einsum": (16, QKV, "a = torch.einsum('bid,bdj->bij', q, k«|.permute(0, 2, 1)»)\nreturn self.out(a @ v)"),
    "a method over lines": (
        16, QKV, f"a = (\n    q\n    .relu()\n    .matmul(«k|{K}»)\n    .softmax(-1)\n)\nreturn self.out(a @ v)",
    ),
    "an attribute": (16, QKV, "self.k = k\nreturn self.out(q @ «self.k|self.k.mT» @ v)"),
    "a subscript": (16, QKV, "ks = [q, k]\nreturn self.out(q @ «ks[1]|ks[1].mT» @ v)"),
    "a call": (16, QKV, "return self.out(q @ «k.relu()|k.relu().mT» @ v)"),
    "a sum": (16, QKV, "return self.out(q @ «(k + 1)|(k + 1).mT» @ v)"),
    "a sum as an argument": (16, QKV, "return self.out(torch.matmul(q, «k + 1|(k + 1).mT») @ v)"),
    "a sign": (16, QKV, "return self.out(torch.matmul(q, «-k|(-k).mT») @ v)"),
    "a lambda": (16, QKV, "g = lambda a, c: a @ «c|c.mT»\nreturn self.out(g(q, k) @ v)"),
    "a name that others have too": (16, QKV, "g = lambda k, q: k @ «q|q.mT»\nreturn self.out(g(q, k) @ v)"),
    "letters of several bytes": (16, QKV, f"ü = 'größe'; a = q @ «k|{K}»  # ä\nreturn self.out(a @ v)"),
    "a mean without its axis": (16, (X,), "m = x.mean(dim=2«|, keepdim=True»)\nreturn self.out(x - m)"),
    "a sum without its axis": (16, (X,), "return self.out(x / x.sum(-1«|, keepdim=True»))"),
    "a norm without its axis": (16, (X,), "return self.out(x / x.norm(dim=-1«|, keepdim=True»))"),
    "a mean that says so": (16, (X,), "return self.out(x - x.mean(-1, keepdim=«False|True»))"),
    "part of a result": (16, (X,), "return self.out(x - x.max(dim=-1«|, keepdim=True»)[0])"),
    "weights of rows": (16, (X, C), "return self.out(x * c«|.unsqueeze(-1)»)"),
    "rows on the left": (16, (X, C), "return self.out(c«|.unsqueeze(-1)» * x)"),
    "a comparison": (16, (X, C), "return self.out(torch.where(c«|.unsqueeze(-1)» > 0, x, 0.0))"),
    "cat, dim=": (24, (X, Y), "return self.out(torch.cat([x, y], dim=«1|2»))"),
    "cat, by position": (24, (X, Y), "return self.out(torch.cat((x, y), «0|2»))"),
    "cat, from behind": (24, (X, Y), "return self.out(torch.cat([x, y], «-2|-1»))"),
    "concat, axis=": (24, (X, Y), "return self.out(torch.concat([x, y], axis=«1|2»))"),
}  # fmt: skip
# These are told, and the code stays as it is: there is a choice, or the fix cannot be written.
LEFT: dict[str, Case] = {
    "either operand": (16, ("q=float32[b, t, 16]", "k=float32[b, t, 16]"), f"return q @ «k|{K}»"),
    "the same line twice": (16, QKV, f"a = q @ «k|{K}» + q @ «k|{K}»\nreturn self.out(a @ v)"),
    "an axis that is said to go": (16, (X,), "return self.out(x - x.mean(1, keepdim=«False|True»))"),
    "in a loop": (16, QKV, f"o = 0\nfor _ in range(2):\n    o = o + q @ «k|{K}» @ v\nreturn self.out(o)"),
    "in a text": (16, QKV, f"a = f'{{q @ «k|{K}»}}'\nreturn self.out(q @ «k|{K}» @ v), a"),
    "an axis in a variable": (24, (X, Y), "d = «1|2»\nreturn self.out(torch.cat([x, y], dim=d))"),
    "an axis that is not written": (24, (X, Y), "return self.out(torch.cat([x, y]«|, dim=-1»))"),
    "another number that is the axis": (
        8, ("x=float32[b, 2, t, 16]",), "d = 2\na, c = torch.chunk(x, 2, d«|+ 1»)\nreturn self.out(a * c)",
    ),
    "an operand in a star": (16, QKV, "p = q, k«|.mT»\nreturn self.out(torch.matmul(*p) @ v)"),
    "another name in a call": (
        16, QKV, "g = lambda k, q: torch.matmul(k, q«|.mT»)\nreturn self.out(g(q, k) @ v)",
    ),
    "in place": (16, (X, C), "x *= c«|.unsqueeze(-1)»\nreturn self.out(x)"),
    "swapped": (6, ("w=float32[o, i]", "x=float32[i, 6]"), "return self.out(«x @ w|w @ x»)"),
    "a cat of ranks": (16, (X, "c=float32[b, 16]"), "return self.out(torch.cat([c«|.unsqueeze(1)», x], dim=1))"),
    "axes exchanged by a reshape": (
        16, (X,), "b, t, d = x.shape\nh = x.view(b, t, 4, 4).transpose(1, 2)\nreturn self.out(h.«|mT.»reshape(b, t, 16))",
    ),
    "a size of a view": (16, (X,), "b, t, d = x.shape\nreturn self.out(x.view(«8, t|b, t», 16))"),
    "a gather": (16, (X, "i=int64[b, t]"), "return torch.gather(x, 2, i«|.unsqueeze(2)»)"),
    "classes behind": (16, (X, "y=int64[b, t]"), "return nn.functional.cross_entropy(«x|x.mT», y)"),
}  # fmt: skip


def code(case: Case, side: int) -> str:
    width, args, body = case
    taken = ", ".join(["self", *(a.partition("=")[0] for a in args)])
    lines = "\n".join(f"        {line}" for line in body.split("\n"))
    return HEAD + MARK.sub(rf"\{side}", MODEL.format(width=width, taken=taken, body=lines))


def values(args: tuple[str, ...]) -> dict[str, Any]:
    import torch

    found: dict[str, Any] = {}
    torch.manual_seed(0)
    for arg in args:
        name, dtype, dims = re.fullmatch(r"(\w+)=(\w+)\[(.*)\]", arg).groups()  # type: ignore[union-attr]
        shape = [SIZES.get(d) or int(d) for d in dims.split(", ")]
        found[name] = torch.randn(shape) if dtype == "float32" else torch.randint(0, 3, shape)
    return found


def result(text: str, args: tuple[str, ...]) -> Any:
    import torch

    scope: dict[str, Any] = {"__name__": "m"}
    exec(compile(text, "m.py", "exec"), scope)
    torch.manual_seed(1)
    return scope["M"]()(**values(args))


Fix = Callable[..., list[str]]


@pytest.fixture
def fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fix:
    """What the command says for `m.py:M`; the code runs in this process, which has torch."""
    from rxlang.cli import fixing_python
    from rxlang.cli.examined import Wish
    from rxlang.cli.files import ProgramFile
    from rxlang.frontends.torch import places
    from rxlang.model.asked import AskedOfPython
    from rxlang.simplify.known.outcome import Options

    def apart(_: str, function: Any, *args: Any) -> Any:
        for name in [n for n, m in sys.modules.items() if str(getattr(m, "__file__", "")).startswith(str(tmp_path))]:
            del sys.modules[name]
        linecache.clearcache()
        for cached in (places.parsed, places.expression, places._test_at, places._bindings, places.is_in_while):
            cached.cache_clear()
        return function(*args)

    monkeypatch.setattr(fixing_python, "apart", apart)
    monkeypatch.setattr(SourceFileLoader, "get_code", SourceFileLoader.get_code)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> list[str]:
        wish = Wish((), Options(), python=AskedOfPython(args=args))
        return list(fixing_python.fix_python(ProgramFile("m.py:M", b"", tmp_path), wish))

    return run


def is_right(text: str, case: Case) -> bool:
    import torch

    return torch.allclose(result(text, case[1]), result(code(case, 2), case[1]), atol=1e-6)


@needs_torch
@pytest.mark.parametrize("name", FIXED)
def test_what_is_written_computes_what_the_right_code_does(name: str, fix: Fix, tmp_path: Path) -> None:
    case = FIXED[name]
    (tmp_path / "m.py").write_text(code(case, 1))
    said = fix(*case[1])
    assert [": fixed: " in line for line in said] == [True], said
    assert is_right((tmp_path / "m.py").read_text(), case), said


@needs_torch
@pytest.mark.parametrize("name", LEFT)
def test_what_leaves_a_choice_is_left_with_the_reason(name: str, fix: Fix, tmp_path: Path) -> None:
    case = LEFT[name]
    (tmp_path / "m.py").write_text(code(case, 1))
    said = fix(*case[1])
    assert (tmp_path / "m.py").read_text() == code(case, 1), said
    assert said and all(": left: " in line for line in said), said


CASE = FIXED["@"]


@needs_torch
def test_lines_end_as_they_did(fix: Fix, tmp_path: Path) -> None:
    data = code(CASE, 1).replace("\n", "\r\n").encode()
    (tmp_path / "m.py").write_bytes(data)
    fix(*CASE[1])
    assert (tmp_path / "m.py").read_bytes() == data.replace(b"(q @ k)", b"(q @ k.transpose(-2, -1))")


@needs_torch
@pytest.mark.parametrize(
    "data", [b"\xef\xbb\xbf" + code(CASE, 1).encode(), code(CASE, 1).replace("\n", "\r\n", 3).encode()]
)
def test_a_file_with_a_mark_or_of_two_kinds_of_lines_is_left(data: bytes, fix: Fix, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_bytes(data)
    said = fix(*CASE[1])
    assert (tmp_path / "m.py").read_bytes() == data
    assert said and all(": left: " in line for line in said), said


@needs_torch
def test_the_file_is_written_that_has_the_line(fix: Fix, tmp_path: Path) -> None:
    case = (16, QKV, "return self.out(scores(q, k) @ v)")
    own = "from other import scores\n" + code(case, 1)
    (tmp_path / "m.py").write_text(own)
    (tmp_path / "other.py").write_text("def scores(a, c):\n    return a @ c\n")
    said = fix(*QKV)
    assert said == ["other.py:2: fixed: transpose `k`: `a @ c.transpose(-2, -1)`"]
    assert (tmp_path / "m.py").read_text() == own
    assert (tmp_path / "other.py").read_text() == "def scores(a, c):\n    return a @ c.transpose(-2, -1)\n"


@needs_torch
def test_an_edit_that_breaks_another_call_is_not_written(fix: Fix, tmp_path: Path) -> None:
    case = (16, QKV, "a = scores(q, k.mT)\nreturn self.out(a @ v), self.out(scores(q, k) @ v)")
    text = "def scores(a, c):\n    return a @ c\n\n" + code(case, 1)
    (tmp_path / "m.py").write_text(text)
    said = fix(*QKV)
    assert (tmp_path / "m.py").read_text() == text
    assert said and all(": left: " in line for line in said), said


@needs_torch
@pytest.mark.parametrize(
    ("body", "where"),
    [("return (x * m).sum(1) / m.sum(1)", ""), ("s = x * m\n    s = s.sum(1)\n    return s / m.sum(1)", " in line 4")],
)
def test_a_help_says_what_remains_after_it_in_python(
    body: str, where: str, fix: Fix, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rxlang.cli.main import invoke

    (tmp_path / "pool.py").write_text(f"def pool(x, m):\n    {body}\n")
    asked = ["check", "pool.py:pool", "--arg", "x=float32[b, t, d]", "--arg", "m=float32[b, t]"]
    assert invoke(asked) == 1
    said = " ".join("".join(capsys.readouterr()).split())
    help_ = f"help: add a last axis to `m`: `x * m.unsqueeze(-1)` (checked); then W311{where} remains"
    assert help_ in said, said
    assert invoke([*asked, "--fix"]) == 1
    assert "left: E305: after the fix something else is wrong" in "".join(capsys.readouterr())
