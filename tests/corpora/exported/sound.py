"""Models of sound."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .export import Axes, Export, export
from .language import Block


class Waves(nn.Module):
    """Features of a wave and an encoder over strided frames."""

    def __init__(self) -> None:
        super().__init__()
        sizes = ((1, 8, 10, 5), (8, 8, 3, 2), (8, 8, 3, 2))
        self.convs = nn.ModuleList(nn.Conv1d(a, b, k, s) for a, b, k, s in sizes)
        self.norm = nn.GroupNorm(2, 8)
        self.places = nn.Conv1d(8, 8, 4, padding=2, groups=4)
        self.block = Block(8, 2)

    def forward(self, wave: Tensor) -> Tensor:
        x = wave[:, None]
        for conv in self.convs:
            x = F.gelu(conv(x))
        x = self.norm(x)
        x = (x + self.places(x)[:, :, :-1]).transpose(1, 2)
        x, _ = self.block(x)
        return x.log_softmax(-1)


@export
def waves() -> Export:
    return Export(Waves(), {"wave": torch.randn(2, 400)}, {"wave": {0: "batch", 1: "samples"}})


class Frames(nn.Module):
    """Frames by unfolding, windowed, with their energies."""

    def forward(self, wave: Tensor) -> Tensor:
        frames = wave.unfold(1, 16, 8)
        window = torch.hann_window(16)
        energies = (frames * window).square().sum(-1)
        return (energies + 1e-6).log() - energies.mean(1, keepdim=True)


@export
def frames() -> Export:
    return Export(Frames(), {"wave": torch.randn(2, 80)}, {"wave": {0: "batch", 1: "samples"}})


class Whisper(nn.Module):
    """Mel frames to an encoder whose table of positions is cut to length."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(10, 16, 3, 1, 1), nn.Conv1d(16, 16, 3, 2, 1)
        self.places = nn.Parameter(torch.randn(50, 16))
        self.block = Block(16, 2)

    def forward(self, mel: Tensor) -> Tensor:
        x = F.gelu(self.conv2(F.gelu(self.conv1(mel)))).transpose(1, 2)
        x, _ = self.block(x + self.places[: x.shape[1]])
        return x


@export
def whisper_encoder() -> Export:
    return Export(Whisper(), {"mel": torch.randn(2, 10, 30)}, {"mel": {0: "batch", 2: "frames"}})


class Conformer(nn.Module):
    """Strided frames, attention to relative positions from the middle of a table, and a gated convolution."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.frames = nn.Sequential(nn.Conv2d(1, 4, 3, 2), nn.ReLU(), nn.Conv2d(4, 4, 3, 2), nn.ReLU())
        self.into, self.norm, self.places = nn.Linear(16, width), nn.LayerNorm(width), nn.Linear(width, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.gate, self.deep = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 5, padding=2, groups=width)
        self.table = nn.Parameter(torch.randn(1, 199, width))

    def attended(self, x: Tensor) -> Tensor:
        length, middle = x.shape[1], self.table.shape[1] // 2
        query, key, value = self.qkv(x).chunk(3, -1)
        near = self.places(self.table[:, middle - length + 1 : middle + length])
        scores = query @ near.transpose(1, 2)
        padded = F.pad(scores, (1, 0)).view(scores.shape[0], scores.shape[2] + 1, length)
        moved = padded[:, 1:].view_as(scores)[..., :length]
        return self.out((query @ key.transpose(1, 2) + moved).softmax(-1) @ value)

    def forward(self, mel: Tensor) -> Tensor:
        x = self.frames(mel[:, None])
        x = self.into(x.transpose(1, 2).flatten(2))
        x = x + self.attended(self.norm(x))
        return x + self.deep(F.glu(self.gate(x.transpose(1, 2)), 1)).transpose(1, 2)


@export
def conformer() -> Export:
    return Export(Conformer(), {"mel": torch.randn(2, 61, 19)}, {"mel": {0: "batch", 1: "frames"}})


class Voice(nn.Module):
    """Whether somebody speaks: a padded transform in windows, convolutions with strides, and a state that is handed on."""

    def __init__(self, window: int = 32) -> None:
        super().__init__()
        self.window = window
        self.waves = nn.Conv1d(1, window + 2, window, window // 4, bias=False)
        self.convs = nn.Sequential(
            nn.Conv1d(window // 2 + 1, 8, 3, 1, 1), nn.ReLU(), nn.Conv1d(8, 6, 3, 2, 1), nn.ReLU()
        )
        self.memory, self.out = nn.LSTM(6, 5), nn.Conv1d(5, 1, 1)

    def forward(self, wave: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        real, other = self.waves(F.pad(wave[:, None], (0, self.window // 4), mode="reflect")).chunk(2, 1)
        heard = self.convs((real**2 + other**2).sqrt())
        states, (hidden, cell) = self.memory(heard.permute(2, 0, 1), (hidden, cell))
        return self.out(states.permute(1, 2, 0).relu()).sigmoid().mean(2), hidden, cell


@export
def voice() -> Export:
    states = {name: torch.zeros(1, 2, 5) for name in ("hidden", "cell")}
    axes: dict[str, Axes] = {"wave": {0: "batch", 1: "samples"}, **dict.fromkeys(states, {1: "batch"})}
    return Export(Voice(), {"wave": torch.randn(2, 200), **states}, axes, 3)


class Skewed(nn.Module):
    """Frames beside frames, by how far they are apart: products with a table of places, padded by one and read row by row."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.frames, self.query = nn.Conv1d(width, width, 3, 2, 1), nn.Linear(width, width)
        self.table = nn.Parameter(torch.randn(1, 49, width))

    def forward(self, mel: Tensor) -> Tensor:
        x = self.frames(mel.transpose(1, 2)).transpose(1, 2)
        batch, length, _ = x.shape
        middle = self.table.shape[1] // 2
        scores = self.query(x) @ self.query(self.table[:, middle - length + 1 : middle + length]).transpose(1, 2)
        moved = F.pad(scores, [1, 0]).reshape(batch, 2 * length, length)[:, 1:].reshape(batch, length, 2 * length - 1)
        return x + moved[:, :, :length].softmax(-1) @ x


@export
def skewed() -> Export:
    return Export(Skewed(), {"mel": torch.randn(2, 20, 8)}, {"mel": {0: "batch", 1: "frames"}})
