"""Recurrent layers, and a block of a denoiser."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .export import IMAGE, Axes, Export, export
from .language import Attention


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.Module], **given: Any) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 12)
        self.layers = kind(12, 16, **given)
        self.head = nn.Linear(16 * (2 if given.get("bidirectional") else 1), 7)

    def forward(self, ids: Tensor) -> Tensor:
        made, _ = self.layers(self.words(ids))
        return self.head(made)


def _recurrent(kind: type[nn.Module], **given: Any) -> Export:
    first = given.get("batch_first", False)
    axes: Axes = {0: "batch", 1: "seq"} if first else {0: "seq", 1: "batch"}
    return Export(Recurrent(kind, **given), {"ids": torch.randint(0, 50, (3, 5))}, {"ids": axes})


@export
def lstm() -> Export:
    return _recurrent(nn.LSTM, batch_first=True)


@export
def lstm_deep() -> Export:
    return _recurrent(nn.LSTM, num_layers=2, bidirectional=True)


@export
def gru() -> Export:
    return _recurrent(nn.GRU, bidirectional=True, batch_first=True)


@export
def rnn() -> Export:
    return _recurrent(nn.RNN)


class Diffusion(nn.Module):
    """A block of a denoiser: an embedding of the step, group norms, attention over pixels and to a context."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16))
        self.conv1, self.norm, self.conv2 = nn.Conv2d(4, 16, 3, 1, 1), nn.GroupNorm(4, 16), nn.Conv2d(16, 16, 3, 1, 1)
        self.attention, self.context = Attention(16, 2), nn.MultiheadAttention(16, 2, batch_first=True)
        self.out = nn.Conv2d(16, 4, 3, 1, 1)

    def forward(self, latent: Tensor, step: Tensor, context: Tensor) -> Tensor:
        rates = torch.exp(-torch.arange(8, dtype=torch.float32) / 8 * 9.2)
        angles = step[:, None].float() * rates[None]
        embedded = self.steps(torch.cat([angles.sin(), angles.cos()], dim=-1))
        x = self.conv1(latent)
        x = self.conv2(F.silu(self.norm(x)) + embedded[:, :, None, None])
        batch, width, high, wide = x.shape
        flat = x.permute(0, 2, 3, 1).reshape(batch, high * wide, width)
        flat = flat + self.attention(flat)[0]
        flat = flat + self.context(flat, context, context, need_weights=False)[0]
        x = flat.reshape(batch, high, wide, width).permute(0, 3, 1, 2)
        return self.out(F.interpolate(F.avg_pool2d(x, 2), scale_factor=2.0))


@export
def diffusion() -> Export:
    inputs = {"latent": torch.randn(2, 4, 8, 12), "step": torch.tensor([3, 7]), "context": torch.randn(2, 5, 16)}
    axes: dict[str, Axes] = {"latent": IMAGE, "step": {0: "batch"}, "context": {0: "batch", 1: "tokens"}}
    return Export(Diffusion(), inputs, axes)
