"""Models of many kinds as PyTorch and onnxscript write them, with random weights and inputs to run them on.

    pip install torch==2.13.0 onnx onnxruntime onnxscript
    python benchmarks/export_models.py FOLDER [--only PATTERN]

Each is exported by both of PyTorch's exporters where they can: `NAME.dynamo.onnx` and `NAME.script.onnx`. What one of them
cannot export is said and left out.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional as F

Axes = Mapping[int, str]


class Export:
    """A module with example inputs, and which axes of each input are open, by name."""

    def __init__(
        self, module: nn.Module, inputs: Mapping[str, Tensor], axes: Mapping[str, Axes], outputs: int = 1
    ) -> None:
        self.module, self.inputs, self.axes = module.eval(), inputs, axes
        self.outputs = [f"out{i}" for i in range(outputs)]


_EXPORTS: dict[str, Callable[[], Export]] = {}


def export(made: Callable[[], Export]) -> Callable[[], Export]:
    _EXPORTS[made.__name__] = made
    return made


# Language models


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, fused: bool = True) -> None:
        super().__init__()
        self.heads, self.fused = heads, fused
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x: Tensor, mask: Tensor | None = None, past: tuple[Tensor, Tensor] | None = None) -> Any:
        query, key, value = (self.split(part) for part in self.qkv(x).chunk(3, dim=-1))
        if past is not None:
            key, value = torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2)
        if self.fused:
            mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        else:
            scores = query @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
            if mask is not None:
                scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
            mixed = scores.softmax(-1) @ value
        joined = mixed.transpose(1, 2).reshape(x.shape[0], x.shape[1], -1)
        return self.out(joined), (key, value)


class Block(nn.Module):
    def __init__(self, width: int, heads: int, fused: bool = True) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, fused)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor, mask: Tensor | None = None, past: tuple[Tensor, Tensor] | None = None) -> Any:
        mixed, kept = self.attention(self.first(x), mask, past)
        x = x + mixed
        return x + self.mlp(self.second(x)), kept


class Gpt(nn.Module):
    """A causal language model with a cache of keys and values."""

    def __init__(self, layers: int = 2, width: int = 32, heads: int = 4, fused: bool = True) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(97, width), nn.Embedding(64, width)
        self.blocks = nn.ModuleList(Block(width, heads, fused) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 97, bias=False)

    def forward(self, ids: Tensor, mask: Tensor, k0: Tensor, v0: Tensor, k1: Tensor, v1: Tensor) -> Any:
        before, length = k0.shape[2], ids.shape[1]
        places = torch.arange(before, before + length, device=ids.device)
        x = self.words(ids) + self.places(places)
        causal = torch.ones(length, before + length, dtype=torch.bool).tril(before)
        seen = causal[None, None] & mask[:, None, None, :].bool()
        kept: list[Tensor] = []
        for block, past in zip(self.blocks, ((k0, v0), (k1, v1)), strict=True):
            x, pair = block(x, seen, past)
            kept += pair
        return self.head(self.norm(x)), *kept


def _gpt(fused: bool) -> Export:
    inputs = {
        "ids": torch.randint(0, 97, (2, 5)), "mask": torch.ones(2, 8, dtype=torch.int64),
        **{n: torch.randn(2, 4, 3, 8) for n in ("k0", "v0", "k1", "v1")},
    }  # fmt: skip
    cache = {0: "batch", 2: "past"}
    axes: dict[str, Axes] = {"ids": {0: "batch", 1: "seq"}, "mask": {0: "batch", 1: "past+seq"}}
    return Export(Gpt(fused=fused), inputs, axes | dict.fromkeys(("k0", "v0", "k1", "v1"), cache), 5)


@export
def gpt_cache() -> Export:
    return _gpt(fused=True)


@export
def gpt_cache_eager() -> Export:
    return _gpt(fused=False)


class Rotary(nn.Module):
    """A decoder's layer with rotary embeddings, grouped keys and root mean square norms."""

    def __init__(self, width: int = 32, heads: int = 4, groups: int = 2) -> None:
        super().__init__()
        self.heads, self.groups, self.narrow = heads, groups, width // heads
        self.words, self.norm = nn.Embedding(97, width), nn.RMSNorm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.key, self.value = (nn.Linear(width, groups * self.narrow, bias=False) for _ in range(2))
        self.up, self.gate, self.down = nn.Linear(width, 64), nn.Linear(width, 64), nn.Linear(64, width)

    def turned(self, x: Tensor) -> Tensor:
        length, half = x.shape[2], self.narrow // 2
        rates = 1.0 / (10000.0 ** (torch.arange(0, half, dtype=torch.float32) / half))
        angles = torch.arange(length, dtype=torch.float32)[:, None] * rates
        cos, sin = angles.cos(), angles.sin()
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids)
        batch, length, _ = x.shape
        h = self.norm(x)
        query = self.turned(self.query(h).view(batch, length, self.heads, -1).transpose(1, 2))
        key = self.turned(self.key(h).view(batch, length, self.groups, -1).transpose(1, 2))
        value = self.value(h).view(batch, length, self.groups, -1).transpose(1, 2)
        key, value = (t.repeat_interleave(self.heads // self.groups, dim=1) for t in (key, value))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + mixed.transpose(1, 2).reshape(batch, length, -1)
        return x + self.down(F.silu(self.gate(x)) * self.up(x))


@export
def llama_layer() -> Export:
    return Export(Rotary(), {"ids": torch.randint(0, 97, (2, 6))}, {"ids": {0: "batch", 1: "seq"}})


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(97, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.layers(self.words(ids), src_key_padding_mask=mask == 0)
        kept = mask[:, :, None].to(x.dtype)
        return F.normalize((x * kept).sum(1) / kept.sum(1).clamp(min=1e-9), dim=-1)


@export
def encoder() -> Export:
    inputs = {"ids": torch.randint(0, 97, (2, 6)), "mask": torch.ones(2, 6, dtype=torch.int64)}
    return Export(Encoder(), inputs, dict.fromkeys(inputs, {0: "batch", 1: "seq"}))


class Windowed(nn.Module):
    """Attention within windows of 4, padded to a multiple of it."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention(16, 2, fused=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        more = (4 - length % 4) % 4
        padded = F.pad(x, (0, 0, 0, more))
        windows = padded.reshape(batch * ((length + more) // 4), 4, width)
        mixed, _ = self.attention(windows)
        return mixed.reshape(batch, length + more, width)[:, :length]


@export
def windowed() -> Export:
    return Export(Windowed(), {"x": torch.randn(2, 10, 16)}, {"x": {0: "batch", 1: "seq"}})


# Images


class Vit(nn.Module):
    def __init__(self, width: int = 32, size: int = 8) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, size, size)
        self.token, self.places = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.randn(1, width, 4, 4))
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(2))
        self.head = nn.Linear(width, 10)

    def forward(self, images: Tensor) -> Tensor:
        x = self.patches(images)
        places = F.interpolate(self.places, size=x.shape[2:], mode="bilinear", align_corners=False)
        x = (x + places).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)
        for block in self.blocks:
            x, _ = block(x)
        return self.head(x[:, 0])


IMAGE: Axes = {0: "batch", 2: "h", 3: "w"}


@export
def vit() -> Export:
    return Export(Vit(), {"images": torch.randn(2, 3, 40, 48)}, {"images": IMAGE})


class Residual(nn.Module):
    def __init__(self, width: int, made: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(width, made, 3, stride, 1, bias=False), nn.BatchNorm2d(made)
        self.conv2, self.norm2 = nn.Conv2d(made, made, 3, 1, 1, bias=False), nn.BatchNorm2d(made)
        self.skip = nn.Conv2d(width, made, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        made = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(made + self.skip(x))


def resnet_module() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 32, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip


@export
def resnet() -> Export:
    return Export(resnet_module(), {"images": torch.randn(2, 3, 64, 70)}, {"images": IMAGE})


@export
def resnet_half() -> Export:
    return Export(resnet_module().half(), {"images": torch.randn(2, 3, 64, 70).half()}, {"images": IMAGE})


class Unet(nn.Module):
    def __init__(self, mode: str = "nearest") -> None:
        super().__init__()
        self.mode = mode
        self.down1, self.down2 = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 16, 3, 2, 1)
        self.up1, self.up2 = nn.Conv2d(24, 8, 3, 1, 1), nn.Conv2d(11, 4, 3, 1, 1)

    def larger(self, x: Tensor) -> Tensor:
        return F.interpolate(x, scale_factor=2.0, mode=self.mode)

    def forward(self, images: Tensor) -> Tensor:
        a = F.relu(self.down1(images))
        b = F.relu(self.down2(a))
        c = F.relu(self.up1(torch.cat([self.larger(b), a], dim=1)))
        return self.up2(torch.cat([self.larger(c), images], dim=1))


@export
def unet() -> Export:
    return Export(Unet(), {"images": torch.randn(2, 3, 32, 48)}, {"images": IMAGE})


class SizedUnet(Unet):
    """One that makes what it upsamples as large as what it is joined with."""

    def forward(self, images: Tensor) -> Tensor:
        a = F.relu(self.down1(images))
        b = F.relu(self.down2(a))
        larger = F.interpolate(b, size=a.shape[2:], mode="bilinear", align_corners=False)
        c = F.relu(self.up1(torch.cat([larger, a], dim=1)))
        largest = F.interpolate(c, size=images.shape[-2:], mode="bilinear", align_corners=False)
        return self.up2(torch.cat([largest, images], dim=1))


@export
def unet_sized() -> Export:
    return Export(SizedUnet(), {"images": torch.randn(2, 3, 33, 47)}, {"images": IMAGE})


class TransposedUnet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(3, 8, 2, 2), nn.ConvTranspose2d(8, 3, 2, 2)

    def forward(self, images: Tensor) -> Tensor:
        made = self.up(F.silu(self.down(images)))
        dy, dx = images.shape[2] - made.shape[2], images.shape[3] - made.shape[3]
        return torch.cat([F.pad(made, (dx // 2, dx - dx // 2, dy // 2, dy - dy // 2)), images], dim=1)


@export
def unet_transposed() -> Export:
    return Export(TransposedUnet(), {"images": torch.randn(2, 3, 33, 46)}, {"images": IMAGE})


class Detection(nn.Module):
    """A dense head: boxes on a grid of anchors, of which the best ones are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 4, 1), nn.ReLU())
        self.scores, self.boxes = nn.Conv2d(8, 5, 1), nn.Conv2d(8, 4, 1)

    def forward(self, images: Tensor) -> Any:
        high, wide = images.shape[2:]
        x = self.body(F.pad(images, (0, (32 - wide % 32) % 32, 0, (32 - high % 32) % 32)))
        ys, xs = torch.meshgrid(torch.arange(x.shape[2]), torch.arange(x.shape[3]), indexing="ij")
        centres = torch.stack([xs, ys], -1).reshape(1, -1, 2).to(x.dtype) * 4.0
        scores = self.scores(x).flatten(2).transpose(1, 2).sigmoid()
        moved = self.boxes(x).flatten(2).transpose(1, 2)
        boxes = torch.cat([centres + moved[..., :2], moved[..., 2:].exp()], -1)
        best, classes = scores.max(-1)
        kept, at = best.topk(16, dim=1)
        return boxes.gather(1, at[..., None].expand(-1, -1, 4)), kept, classes.gather(1, at)


@export
def detection() -> Export:
    return Export(Detection(), {"images": torch.randn(2, 3, 90, 70)}, {"images": IMAGE}, 3)


class Resized(nn.Module):
    """Images resized to a shorter side of 64 and padded to a square, as detection models begin."""

    def forward(self, images: Tensor) -> Tensor:
        high, wide = images.shape[2:]
        least = torch.min(torch.tensor(high), torch.tensor(wide)).to(torch.float32)
        scale = 64.0 / least
        x = F.interpolate(images, scale_factor=0.5, mode="bilinear", recompute_scale_factor=True)
        return x * scale


@export
def resized() -> Export:
    return Export(Resized(), {"images": torch.randn(2, 3, 90, 70)}, {"images": IMAGE})


class Pixels(nn.Module):
    """Super-resolution by pixel shuffle."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 12, 3, 1, 1)

    def forward(self, images: Tensor) -> Tensor:
        made = F.pixel_shuffle(self.conv(images), 2)
        smaller = F.pixel_unshuffle(made, 2)
        return F.avg_pool2d(made, 2, ceil_mode=True) + smaller.mean(1, keepdim=True)


@export
def pixels() -> Export:
    return Export(Pixels(), {"images": torch.randn(2, 3, 10, 14)}, {"images": IMAGE})


class SwinShift(nn.Module):
    """Windows of an image, shifted by roll."""

    def forward(self, images: Tensor) -> Tensor:
        batch, channels, high, wide = images.shape
        x = torch.roll(images, (-2, -2), dims=(2, 3)).permute(0, 2, 3, 1)
        windows = x.view(batch, high // 4, 4, wide // 4, 4, channels).permute(0, 1, 3, 2, 4, 5)
        flat = windows.reshape(-1, 16, channels)
        mixed = (flat @ flat.transpose(1, 2)).softmax(-1) @ flat
        count = mixed.shape[0] // (high * wide // 16)
        back = mixed.view(count, high // 4, wide // 4, 4, 4, -1).permute(0, 1, 3, 2, 4, 5)
        return torch.roll(back.reshape(batch, high, wide, channels), (2, 2), dims=(1, 2))


@export
def swin_shift() -> Export:
    return Export(SwinShift(), {"images": torch.randn(2, 3, 8, 12)}, {"images": {0: "batch", 2: "4*h4", 3: "4*w4"}})


# Sound


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


# Recurrent


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


# Diffusion


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


# Control flow, and sizes that the data decides


class Branches(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: y.relu() + 1, lambda y: y.tanh() * 2, (x,))


@export
def branches() -> Export:
    return Export(Branches(), {"x": torch.randn(3, 4)}, {"x": {0: "batch", 1: "width"}})


@torch.jit.script
def _summed(x: Tensor) -> Tensor:
    total = torch.zeros_like(x[0])
    for i in range(x.shape[0]):
        total = total * 0.5 + x[i]
    return total


class Scripted(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return _summed(x)


@export
def scripted_loop() -> Export:
    return Export(Scripted(), {"x": torch.randn(5, 4)}, {"x": {0: "steps", 1: "width"}})


@torch.jit.script
def _grown(x: Tensor, count: int) -> Tensor:
    made = x[:1]
    for _ in range(count):
        made = torch.cat([made, made[-1:] * 2.0], dim=0)
    return made


class Growing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return _grown(x, x.shape[0])


@export
def scripted_growth() -> Export:
    return Export(Growing(), {"x": torch.randn(5, 4)}, {"x": {0: "steps", 1: "width"}})


class Chosen(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[x > 0.0] * 2.0


@export
def chosen() -> Export:
    return Export(Chosen(), {"x": torch.randn(3, 4)}, {"x": {0: "batch", 1: "width"}})


class Einsums(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        mixed = torch.einsum("bhqd,bhkd->bhqk", x, y)
        best = mixed.argmax(-1)
        return mixed.cumsum(-1), F.one_hot(best, 9).float().sum((1, 2)), torch.where(mixed > 0, mixed, mixed.mean())


@export
def einsums() -> Export:
    inputs = {"x": torch.randn(2, 3, 4, 5), "y": torch.randn(2, 3, 6, 5)}
    axes: dict[str, Axes] = {"x": {0: "b", 2: "q"}, "y": {0: "b", 2: "k"}}
    return Export(Einsums(), inputs, axes, 3)


# Exporters


def by_dynamo(made: Export, path: Path) -> None:
    names = {n for axes in made.axes.values() for n in axes.values() if n.isidentifier()}
    known = {n: Dim(n, min=1 if n in ("batch", "seq") else 2) for n in names}
    shapes = {name: {at: known.get(n, Dim.AUTO) for at, n in made.axes.get(name, {}).items()} for name in made.inputs}
    program = torch.onnx.export(
        made.module, tuple(made.inputs.values()), dynamo=True, dynamic_shapes=tuple(shapes.values()),
        input_names=list(made.inputs), output_names=made.outputs, verbose=False,
    )  # fmt: skip
    program.save(str(path))


def by_script(made: Export, path: Path) -> None:
    axes = {name: {at: re.sub(r"\W+", "_", n) for at, n in found.items()} for name, found in made.axes.items()}
    torch.onnx.export(
        made.module, tuple(made.inputs.values()), str(path), dynamo=False, dynamic_axes=axes,
        input_names=list(made.inputs), output_names=made.outputs, opset_version=17,
    )  # fmt: skip


def quantised(path: Path) -> Iterator[Path]:
    """A model with weights of 8 bits, as onnxruntime makes it."""
    from onnxruntime.quantization import quantize_dynamic  # only this needs it

    made = path.with_name(path.name.replace(".onnx", ".int8.onnx"))
    quantize_dynamic(str(path), str(made))
    yield made


FAILURES = (RuntimeError, TypeError, ValueError, AssertionError, NotImplementedError, LookupError, AttributeError)
QUANTISED = ("gpt_cache.script.onnx", "encoder.script.onnx", "encoder.dynamo.onnx")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    args.folder.mkdir(parents=True, exist_ok=True)
    for name, make in _EXPORTS.items():
        if not re.search(args.only, name):
            continue
        for exporter, how in (("dynamo", by_dynamo), ("script", by_script)):
            torch.manual_seed(0)
            path = args.folder / f"{name}.{exporter}.onnx"
            try:
                how(make(), path)
                more = list(quantised(path)) if path.name in QUANTISED else []
                print("made", path, *more, flush=True)
            except FAILURES as problem:
                print("left out", path.name, type(problem).__name__, str(problem).strip().splitlines()[:1], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
