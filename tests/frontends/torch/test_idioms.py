"""Models as people write them: the contract of each is what torch accepts, and a planted mistake is one message at its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from rxlang.simplify.solver.numbers import holds_at
from support.places import TESTS
from support.torch_cases import checked, conditions, holds, lines, needs_torch

MODELS = "\n\n".join(file.read_text() for file in sorted((TESTS / "corpora" / "idioms").glob("*.py")))

# The constructor, the arguments, and what the sizes have to be, as torch has it at sizes around each bound.
RIGHT: dict[str, tuple[str | None, list[str], set[str]]] = {
    "GQA": ("", ["x=float32[b, t, 32]"], {"t <= 24", "b >= 1", "t >= 1"}),
    "SpectralConv2d": ("in_channels=4, out_channels=4, modes1=4, modes2=4", ["x=float32[b, 4, h, w]"], {"h >= 4", "w >= 6"}),
    "GNN": ("", ["x=float32[n, 6]", "edge_index=int64[2, e]", "batch=int64[n]"], set()),
    "Seq2Seq": ("", ["src=int64[b, s]", "tgt=int64[b, t]"], {"b >= 1", "s >= 1", "t >= 1"}),
    "TCN": ("", ["x=float32[b, t, 5]"], {"t >= 1"}),
    "WaveNet": ("", ["wave=int64[b, t]"], {"t >= 8"}),
    "SEResNet": ("", ["x=float32[b, 3, h, w]"], {"(h + 1) // 8 * ((w + 1) // 8) == 1"}),
    "nt_xent": (None, ["z_i=float32[b, d]", "z_j=float32[b, d]"], {"b >= 1"}),
    "CachedAttention": ("", ["x=float32[b, t, 16]", *(f"past_{n}=float32[b, 4, s, 4]" for n in "kv")], {"t + s <= 20"}),
    "SelfAttention2d": (
        "", ["x=float32[b, 16, h, w]"], {"h >= 2", "w >= 2", "b == b * (h // 2) * (w // 2) // (h * w // 4)"}
    ),
    "match_cost": (
        None,
        ["logits=float32[b, q, 7]", "boxes=float32[b, q, 4]", "labels=int64[n]", "targets=float32[n, 4]"],
        {"b >= 1", "q >= 1"},
    ),
    "Ensemble": ("", ["x=float32[b, 5]"], set()),
    "RelAttention": ("", ["x=float32[b, t, 16]", "mems=float32[b, m, 16]"], set()),
    "CodecEncoder": ("", ["wav=float32[b, 1, t]"], {"t >= 1"}),
    "RWKVTimeMix": ("", ["x=float32[b, t, 16]"], {"t >= 1"}),
    "ProbAttention": ("", ["queries=float32[b, l, 8]"], {"b >= 1", "l >= 1"}),
    "WindowBlock": ("", ["x=float32[b, h, w, 8]"], {"b >= 1", "h >= 1", "w >= 1"}),
    "speculative_accept": (
        None,
        ["draft_logits=float32[b, g, v]", "target_logits=float32[b, k, v]", "draft_tokens=int64[b, g]"],
        {"k == g + 1", "v >= 1"},
    ),
}  # fmt: skip

# The model, what stands there, what stands there then, and how the line begins that it is told at.
MISTAKES = [
    (
        "GQA",
        "view(bsz, seqlen, self.kv, self.hd)\n        v",
        "view(bsz, seqlen, self.h, self.hd)\n        v",
        "k = self.wk(h)",
    ),
    ("GQA", "q @ k.transpose(2, 3)", "q @ k.transpose(1, 2)", "scores = q @"),
    ("GNN", "(norm[src] * norm[dst]).unsqueeze(-1)", "(norm[src] * norm[dst])", "msg = self.lin"),
    ("GNN", "nn.Linear(2 * hidden, classes)", "nn.Linear(hidden, classes)", "return self.head(torch.cat([pooled"),
    ("Seq2Seq", "self.wa(dec), enc.transpose(1, 2)", "self.wa(dec), enc", "score = torch.bmm"),
    ("Seq2Seq", "tgt[:, 1:].reshape(-1)", "tgt.reshape(-1)", "loss = F.cross_entropy"),
    ("TCN", "self.tcn(x.transpose(1, 2))", "self.tcn(x)", "res = x if self.down"),
    ("WaveNet", ".permute(0, 2, 1)\n        x = self.start", "\n        x = self.start", "x = self.start"),
    ("SEResNet", "planes, planes, 3, 1, 1, bias", "planes, planes, 3, 1, 0, bias", "out += self.shortcut"),
    ("nt_xent", "torch.eye(N, dtype", "torch.eye(N // 2, dtype", "negatives = sim[mask]"),
    ("nt_xent", "dim=0).reshape(N, 1)", "dim=0)", "logits = torch.cat((positives"),
    ("CachedAttention", "k = torch.cat((past_k, k), dim=-2)", "k = torch.cat((past_k, k), dim=-1)", "k = torch.cat"),
    ("SelfAttention2d", "torch.bmm(g, beta.transpose(1, 2))", "torch.bmm(g, beta)", "o = self.o("),
    ("match_cost", "area_a[:, None] + area_b", "area_a + area_b", "union = area_a"),
    ("RWKVTimeMix", "torch.arange(T - 1, -1, -1)", "torch.arange(T - 1, 0, -1)", "num = torch.cumsum"),
    (
        "ProbAttention",
        "Q_reduce = Q[torch.arange(B)[:, None, None], torch.arange(H)[None, :, None]",
        "Q_reduce = Q[torch.arange(B)[:, None], torch.arange(H)[None, :]",
        "Q_reduce =",
    ),
    ("WindowBlock", "x = x[:, :H, :W, :]", "x = x[:, :W, :H, :]", "return shortcut + x"),
    ("speculative_accept", "target_logits[:, :-1], -1", "target_logits, -1", "residual = max_fn("),
    ("Ensemble", "x.shape[0], 3), (3, 1)", "x.shape[0], 13), (13, 1)", "return each.as"),
    ("RelAttention", "torch.arange(klen - 1, -1", "torch.arange(t - 1, -1", "r = self.r("),
]


def said_of(folder: Path, name: str, text: str) -> object:
    (folder / "models.py").write_text(text)
    init, arguments, _ = RIGHT[name]
    return checked(folder, f"models.py:{name}", *arguments, init=init)


@needs_torch
@pytest.mark.parametrize("name", RIGHT)
def test_the_contract_is_what_torch_accepts(name: str, tmp_path: Path) -> None:
    found = said_of(tmp_path, name, MODELS)
    assert (lines(found), conditions(found), found.supposed) == ([], RIGHT[name][2], ())
    assert found.contract.given == ()


@needs_torch
@pytest.mark.parametrize(("name", "right", "wrong", "at"), MISTAKES, ids=lambda text: text[:20])
def test_a_planted_mistake_is_one_message_at_its_line(
    name: str, right: str, wrong: str, at: str, tmp_path: Path
) -> None:
    text = MODELS
    assert text.count(right) == 1
    found = said_of(tmp_path, name, text.replace(right, wrong))
    source = text.replace(right, wrong).splitlines()
    assert [source[n - 1].strip()[: len(at)] for n in lines(found)] == [at]


PARTS = """
import torch

def halves(x):
    half = x.shape[1] // 2
    a, b = x.split(half, dim=1)
    return a + b

def thirds(x):
    q, k, v = torch.split(x, x.shape[-1] // 3, dim=-1)
    return q * k + v

def ends(x):
    a, b = x.split(4, dim=1)
    return a.sum(1) + b.sum(1)

def square(x):
    side = int(x.shape[1] ** 0.5)
    return x.view(x.shape[0], side, side)

def repeated(x):
    w = torch.ones(x.shape[1], x.shape[1] + 1)
    for _ in range(x.shape[0]):
        x = x @ w
    return x
"""


@needs_torch
def test_parts_that_names_take_apart_are_as_many_as_the_names(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(PARTS)
    for name, takes in (("halves", [2, 4, 6, 8]), ("thirds", [3, 6, 9]), ("ends", [5, 6, 7, 8])):
        found = checked(tmp_path, f"parts.py:{name}", "x=float32[b, t]")
        assert [t for t in range(10) if holds(found, {"b": 2, "t": t})] == takes, name


@needs_torch
def test_a_number_that_is_asked_for_is_one_that_the_code_takes(tmp_path: Path) -> None:
    (tmp_path / "asked.py").write_text(PARTS)
    found = checked(tmp_path, "asked.py:square", "x=float32[b, t]")
    assert found.report.ok and [o.shape for o in found.contract.outputs] == [("b", 2, 2)]
    assert not checked(tmp_path, "asked.py:repeated", "x=float32[b, t]").report.ok


LARGE = """
import torch

def windows(x):
    n = x.shape[1] // 32
    if n == 1000:
        return torch.ones(n, 1)
    return torch.ones(64).reshape(n, -1)
"""


@needs_torch
def test_sizes_that_the_first_hints_are_too_small_for_are_read_with_larger_ones(tmp_path: Path) -> None:
    (tmp_path / "large.py").write_text(LARGE)
    found = checked(tmp_path, "large.py:windows", "x=float32[b, t]")
    takes = [t for t in (0, 31, 32, 64, 96, 128, 2048) if all(holds_at(c, {"b": 2, "t": t}) for c in conditions(found))]
    assert found.report.ok and takes == [32, 64, 128, 2048]


@needs_torch
def test_rows_are_multiplied_by_the_matrices_of_their_groups(tmp_path: Path) -> None:
    import torch

    if not hasattr(torch.nn.functional, "grouped_mm"):
        pytest.skip("this torch has no grouped_mm")
    code = "import torch\n\ndef experts(x, w, ends):\n    return torch.nn.functional.grouped_mm(x, w, offs=ends)\n"
    (tmp_path / "experts.py").write_text(code)
    found = checked(tmp_path, "experts.py:experts", "x=float32[m, k]", "w=float32[g, c, n]", "ends=int32[e]")
    assert conditions(found) == {"k == c", "g == e"} and found.contract.outputs[0].shape == ("m", "n")
