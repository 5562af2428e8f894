"""Language models: with a cache, with rotary embeddings, an encoder, windows."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .export import Axes, Export, export


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


class Buckets(nn.Module):
    """Attention that knows how far words are apart, by buckets that grow with the distance."""

    def __init__(self, width: int = 8, heads: int = 2, buckets: int = 8) -> None:
        super().__init__()
        self.heads, self.buckets = heads, buckets
        self.words, self.bias = nn.Embedding(40, width), nn.Embedding(2 * buckets, heads)
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)

    def bucket(self, far: Tensor) -> Tensor:
        exact, size = self.buckets // 2, far.abs()
        scaled = torch.log(size.float().clamp(min=1) / exact) / math.log(64 / exact) * (self.buckets - exact)
        large = (exact + scaled.long()).clamp(max=self.buckets - 1)
        return (far > 0).long() * self.buckets + torch.where(size < exact, size, large)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.words(ids)
        batch, length, _ = x.shape
        places = torch.arange(length)
        bias = self.bias(self.bucket(places - places[:, None])).permute(2, 0, 1)[None]
        query, key = (layer(x).view(batch, length, self.heads, -1).transpose(1, 2) for layer in (self.query, self.key))
        scores = query @ key.transpose(-1, -2) + bias + (1 - mask[:, None, None].float()) * -1e4
        return (scores.softmax(-1) @ key).transpose(1, 2).flatten(2)


@export
def buckets() -> Export:
    inputs = {"ids": torch.randint(0, 40, (2, 7)), "mask": torch.ones(2, 7, dtype=torch.long)}
    return Export(Buckets(), inputs, dict.fromkeys(inputs, {0: "batch", 1: "seq"}))
