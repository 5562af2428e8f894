"""Packed sequences: what is asked of their lengths and of the states that layers begin with, beside torch."""

from __future__ import annotations

from pathlib import Path

import pytest
from rxlang.simplify.solver.numbers import holds_at
from support.torch_cases import checked, conditions, needs_torch

CODE = """
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

lstm = torch.nn.LSTM(6, 4, 2, batch_first=True)
projected = torch.nn.LSTM(6, 4, 2, batch_first=True, proj_size=3)
gru = torch.nn.GRU(6, 4, batch_first=True, bidirectional=True)

def packed(x, n):
    return pack_padded_sequence(x, n, batch_first=True, enforce_sorted=False)

def padded(x, n):
    return pad_packed_sequence(packed(x, n), batch_first=True)[0]

def of_gru(x, n, h):
    return gru(packed(x, n), h)[1]

def of_lstm(x, n, h, c):
    return lstm(packed(x, n), (h, c))[1]

def of_projected(x, n, h, c):
    return projected(packed(x, n), (h, c))[1]

def by_order(x, n):
    return x[n.sort()[1]], x[torch.sort(n, descending=True).indices]

def by_hand(x, n):
    return pad_packed_sequence(torch.nn.utils.rnn.PackedSequence(x, n))[0]
"""


@needs_torch
@pytest.mark.parametrize("name", ["padded", "by_order"])
def test_lengths_are_at_most_as_many_as_sequences(name: str, tmp_path: Path) -> None:
    import torch

    (tmp_path / "packs.py").write_text(CODE)
    found = checked(tmp_path, f"packs.py:{name}", "x=float32[b, 3, 6]", "n=int64[c]")
    scope: dict[str, object] = {}
    exec(CODE, scope)
    for b in range(1, 6):
        for c in range(1, 6):
            try:
                scope[name](torch.zeros(b, 3, 6), torch.ones(c, dtype=torch.int64))  # type: ignore[operator]
                takes = True
            except IndexError:
                takes = False
            assert all(holds_at(one, {"b": b, "c": c}) for one in conditions(found)) is takes, (b, c)


# What each layer takes; PyTorch itself computes with other states of an LSTM what it finds in memory.
STATES = {
    "of_gru": (["h=float32[2, m, 4]"], ["h=float32[1, m, 4]", "h=float32[2, m, 5]"]),
    "of_lstm": (["h=float32[2, m, 4], c=float32[2, m, 4]"],
                ["h=float32[3, m, 4], c=float32[2, m, 4]", "h=float32[2, m, 4], c=float32[1, m, 4]",
                 "h=float32[2, m, 1], c=float32[2, m, 4]", "h=float32[2, m, 4], c=float32[2, m, 3]"]),
    "of_projected": (["h=float32[2, m, 3], c=float32[2, m, 4]"], ["h=float32[2, m, 4], c=float32[2, m, 4]"]),
}  # fmt: skip


@needs_torch
@pytest.mark.parametrize("name", STATES)
def test_first_states_are_those_of_the_layer(name: str, tmp_path: Path) -> None:
    (tmp_path / "packs.py").write_text(CODE)
    given = "x=float32[b, t, 6], n=int64[b]"
    right, wrong = STATES[name]
    for states in right:
        found = checked(tmp_path, f"packs.py:{name}", given, states)
        takes = [all(holds_at(c, {"b": 3, "t": 2, "m": m}) for c in conditions(found)) for m in range(6)]
        assert found.report.ok and takes == [False, False, False, True, True, True]
    for states in wrong:
        assert not checked(tmp_path, f"packs.py:{name}", given, states).report.ok, states


@needs_torch
def test_a_packed_sequence_whose_number_of_sequences_nobody_knows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "packs.py").write_text(CODE)
    (said,) = checked(tmp_path, "packs.py:by_hand", "x=float32[b, 6]", "n=int64[3]").report.diagnostics
    assert said.code == "E252" and "this function has no rule" in said.message
