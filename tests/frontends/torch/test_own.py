"""Models as people write them: the contract beside running torch, and mistakes planted in them."""

from __future__ import annotations

import sys
from itertools import islice, product
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
from support.places import TESTS
from support.torch_cases import checked, conditions, needs_torch

TEXT = (TESTS / "data" / "torch_own_models.txt").read_text(encoding="utf-8")
# A model with its inputs.
MODELS = {
    "CachedDecoder()": "ids=int64[b, t] | past_k=float32[b, 4, p, 4] | past_v=float32[b, 4, p, 4]",
    "SegNet()": "x=float32[b, 3, h, w]",
    "ConformerBlock()": "x=float32[b, t, 16] | lengths=int64[b]",
    "MAE()": "x=float32[b, 3, h, w] | noise=float32[b, n]",
    "GraphNet()": "x=float32[n, 8] | edges=int64[2, m] | attr=float32[m, 4] | batch=int64[n] | graphs=Size",
    "MoE()": "x=float32[b, t, 8]",
    "Seq2Seq()": "ids=int64[b, t] | start=int64[b]",
    "contrast": "a=float32[n, d] | b=float32[n, d]",
    "beam_step": "logits=float32[b, n, v] | scores=float32[b, n] | beams=int64[b, n, t]",
    "Rotary()": "x=float32[b, t, 16]",
    "Sliding()": "x=float32[b, t, 8]",
    "Deform()": "x=float32[b, 4, h, w]",
    "SSM()": "x=float32[b, t, 6]",
    "collate": "a=int64[i] | b=int64[j] | c=int64[k]",
}
# What stands in a model, and what stands there by mistake.
MISTAKES = [
    ("CachedDecoder()", "k = torch.cat([past_k, k], dim=2)", "k = torch.cat([past_k, k], dim=1)"),
    ("CachedDecoder()", "k.transpose(-2, -1) / ", "k / "),
    ("CachedDecoder()", "(att @ v).transpose(1, 2).reshape(b, t, -1)", "(att @ v).reshape(b, t, -1)"),
    ("CachedDecoder()", "view(b, t, 3, self.h, -1)", "view(2, t, 3, self.h, -1)"),
    ("SegNet()", "torch.cat([u, a], dim=1)", "torch.cat([u, a], dim=2)"),
    ("SegNet()", "nn.Conv2d(3 * c, c, 3, padding=1)", "nn.Conv2d(4 * c, c, 3, padding=1)"),
    ("ConformerBlock()", "lengths[:, None]", "lengths[None, :]"),
    ("ConformerBlock()", "pad[..., None], 0.0", "pad, 0.0"),
    (
        "ConformerBlock()",
        "y = self.pw2(F.silu(self.bn(self.dw(y)))).transpose(1, 2)",
        "y = self.pw2(F.silu(self.bn(self.dw(y))))",
    ),
    ("ConformerBlock()", "self.pw2 = nn.Conv1d(d, d, 1)", "self.pw2 = nn.Conv1d(d, 2 * d, 1)"),
    ("MAE()", "order[:, :keep, None].expand", "order[:, :keep].expand"),
    ("MAE()", "nn.Linear(d, 3 * patch * patch)\n    def", "nn.Linear(d, patch * patch)\n    def"),
    ("GraphNet()", "dst[:, None].expand_as(m)", "dst[:, None].expand_as(x)"),
    ("GraphNet()", "agg / deg[:, None]", "agg / deg"),
    ("GraphNet()", "torch.cat([x[src], x[dst], attr], dim=-1)", "torch.cat([x[src], x[dst], attr], dim=0)"),
    ("GraphNet()", "index_add(0, batch, x)", "index_add(1, batch, x)"),
    ("MoE()", "w.sum(dim=-1, keepdim=True)", "w.sum(dim=-1)"),
    ("Seq2Seq()", "h.unsqueeze(2)).squeeze(2)", "h.unsqueeze(1)).squeeze(2)"),
    ("Seq2Seq()", "torch.cat([h[-2], h[-1]], dim=-1)", "torch.cat([h[-2], h[-1]], dim=0)"),
    ("Seq2Seq()", "score.softmax(dim=1).unsqueeze(1)", "score.softmax(dim=1)"),
    ("Seq2Seq()", "self.out = nn.Linear(d, vocab)", "self.out = nn.Linear(2 * d, vocab)"),
    ("contrast", "torch.eye(2 * n", "torch.eye(n"),
    ("contrast", "torch.cat([torch.arange(n) + n, torch.arange(n)])", "torch.arange(n) + n"),
    ("contrast", "z @ z.T", "z @ z"),
    ("beam_step", "which[..., None].expand", "which.expand"),
    ("beam_step", "torch.cat([kept, token[..., None]], dim=-1)", "torch.cat([kept, token], dim=-1)"),
    ("beam_step", "total.view(b, n * v)", "total.view(n, b * v)"),
    ("Rotary()", "view(b, t, self.h, self.dh).transpose(1, 2)", "view(b, t, self.h, self.dh)"),
    ("Rotary()", "angle = torch.cat([angle, angle], dim=-1)", "angle = torch.cat([angle, angle], dim=0)"),
    ("Rotary()", "y.transpose(1, 2).contiguous().view(b, t, d)", "y.contiguous().view(b, t, d)"),
    ("Rotary()", "view(b, t, self.h, self.dh).transpose(1, 2)", "view(b, self.h, t, self.dh)"),
    ("Sliding()", "F.pad(s, (0, 0, w, 0))", "F.pad(s, (0, 0, 0, 0))"),
    ("Sliding()", "torch.arange(2 * w)[None, :]", "torch.arange(2 * w + 1)[None, :]"),
    ("Deform()", "self.offset(x).permute(0, 2, 3, 1)", "self.offset(x)"),
    ("Deform()", "torch.linspace(-1, 1, w), indexing", "torch.linspace(-1, 1, h), indexing"),
    ("Deform()", 'indexing="ij"', 'indexing="xy"'),
    ("SSM()", "[..., :t].transpose(1, 2)", "[..., 1:t].transpose(1, 2)"),
    ("SSM()", "(h * C[:, :, None, :])", "(h * C[:, None, :, :])"),
    ("SSM()", "dt[..., None] * -self.A.exp()", "dt * -self.A.exp()"),
    (
        "SSM()",
        "self.conv = nn.Conv1d(d, d, 3, padding=2, groups=d)",
        "self.conv = nn.Conv1d(d, d, 3, padding=0, groups=d)",
    ),
]


def _module(folder: Path, text: str) -> ModuleType:
    (folder / "own.py").write_text(text, encoding="utf-8")
    module = ModuleType("own")
    module.__file__ = str(folder / "own.py")
    sys.modules["own"] = module
    exec(compile(text, module.__file__, "exec"), vars(module))
    return module


def _checked(folder: Path, name: str, text: str = TEXT) -> tuple[Any, Any]:
    import linecache

    import torch
    from rxlang.frontends.torch.arguments import written
    from rxlang.frontends.torch.places import _test_at, is_in_while, parsed
    from rxlang.frontends.torch.target import Target
    from rxlang.model.traced import check_target

    code = eval(name, vars(_module(folder, text)))
    module = code.eval() if isinstance(code, torch.nn.Module) else None
    for cached in (parsed, _test_at, is_in_while):
        cached.cache_clear()
    linecache.checkcache()
    args = {one.name: one.value({}) for given in MODELS[name].split(" | ") for one in written("--arg", given)}
    target = Target(name, code, args, module)
    return target, check_target(target, folder)


def _run(target: Any, sizes: dict[str, int]) -> list[tuple[int, ...]] | None:
    import torch
    from rxlang.frontends.torch.tensors import results

    given: dict[str, Any] = {}
    for name, declared in target.args.items():
        shape = [sizes[d] if isinstance(d, str) else d for d in declared.shape]
        dtype = None if declared.dtype is None else getattr(torch, declared.dtype)
        given[name] = shape[0] if dtype is None else torch.zeros(shape, dtype=dtype)
    try:
        with torch.no_grad():
            return [tuple(t.shape) for t in results(target.code(**given))]
    except (RuntimeError, ValueError, AssertionError, IndexError):
        return None


@needs_torch
@pytest.mark.parametrize("name", MODELS)
def test_a_contract_is_what_torch_does(name: str, tmp_path: Path) -> None:
    from rxlang.simplify.solver.numbers import holds_at, size_at

    target, found = _checked(tmp_path, name)
    assert found.contract is not None, [str(d) for d in found.report.diagnostics]
    assert not found.supposed and all(d.severity != "error" for d in found.report.diagnostics)
    draw, names = Random(0), target.sizes
    points = (tuple(draw.choice((1, 2, 3, 4, 5, 6, 16)) for _ in names) for _ in range(40))
    for point in islice(dict.fromkeys([*product((1, 4), repeat=len(names)), *points]), 40):
        sizes = dict(zip(names, point, strict=True))
        if not all(holds_at(way, sizes) for way in found.contract.given):
            continue
        shapes = _run(target, sizes)
        told = all(holds_at(c.condition, sizes) for c in found.contract.conditions)
        assert told == (shapes is not None), sizes
        for output, shape in zip(found.contract.outputs, shapes or (), strict=shapes is not None):
            assert output.shape is None or all(
                size_at(a, sizes) in (None, b) for a, b in zip(output.shape, shape, strict=True)
            )


@needs_torch
@pytest.mark.parametrize(("name", "right", "wrong"), MISTAKES)
def test_a_mistake_is_told_at_one_line(name: str, right: str, wrong: str, tmp_path: Path) -> None:
    begin = TEXT.index(("class " if name.endswith("()") else "def ") + name.removesuffix("()"))
    at = TEXT.index(right, begin)
    _, found = _checked(tmp_path, name, TEXT[:at] + wrong + TEXT[at + len(right) :])
    said = [d for d in found.report.diagnostics if d.severity in ("error", "warning")]
    assert len({d.span.line for d in said}) == 1, [str(d) for d in said]


GROWING = """
import torch
from torch import nn

class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.zeros(8, 4))
        self.seen, self.calls = {}, []

    def forward(self, x):
        t = x.shape[1]
        self.calls.append(x)
        if t > self.table.shape[0]:
            self.table = torch.zeros(t, 4)
            self.seen["t"] = t
        return torch.cat(self.calls) + self.table[:t]

class Padded(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("step", torch.tensor(4))

    def forward(self, x):
        more = (self.step - x.shape[1] % self.step) % self.step
        x = nn.functional.pad(x, (0, more))
        return x[:, : x.shape[1] - more]
"""


@needs_torch
def test_what_a_run_sets_on_its_modules_is_not_there_in_the_next(tmp_path: Path) -> None:
    (tmp_path / "growing.py").write_text(GROWING)
    found = checked(tmp_path, "growing.py:Growing", "x=float32[b, t, 4]", init="")
    assert conditions(found) == set() and found.contract.given == () and not found.known_for
    assert found.contract.outputs[0].shape == ("b", "t", 4)


@needs_torch
def test_tensors_are_bounds_of_slices_and_of_padding(tmp_path: Path) -> None:
    (tmp_path / "padded.py").write_text(GROWING)
    found = checked(tmp_path, "padded.py:Padded", "x=float32[b, t]", init="")
    assert found.report.ok and found.contract.outputs[0].shape == ("b", "?")
