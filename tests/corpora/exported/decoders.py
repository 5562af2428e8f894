"""More language models: keys that heads share, experts, tables of distances, bags of ids."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .export import Axes, Export, export

ROWS: Axes = {0: "batch", 1: "seq"}


class Grouped(nn.Module):
    """Keys that heads share, a cache, positions that are given, and a window that slides."""

    def __init__(self, width: int = 32, heads: int = 4, groups: int = 2, window: int = 4) -> None:
        super().__init__()
        self.heads, self.narrow, self.window = heads, width // heads, window
        self.words, self.out = nn.Embedding(97, width), nn.Linear(width, 97)
        self.query, self.key, self.value = (nn.Linear(width, n * self.narrow) for n in (heads, groups, groups))
        self.register_buffer("rates", 10000 ** -(torch.arange(0, self.narrow, 2) / self.narrow))

    def forward(self, ids: Tensor, mask: Tensor, places: Tensor, past_k: Tensor, past_v: Tensor) -> Any:
        x = self.words(ids)
        batch, length, _ = x.shape
        split = [f(x).view(batch, length, -1, self.narrow).transpose(1, 2) for f in (self.query, self.key, self.value)]
        angles = (places[..., None].float() * self.rates).repeat(1, 1, 2)[:, None]
        query, key = (t * angles.cos() + torch.cat((-t[..., 4:], t[..., :4]), -1) * angles.sin() for t in split[:2])
        key, value = torch.cat([past_k, key], 2), torch.cat([past_v, split[2]], 2)
        total = key.shape[2]
        at, to = torch.arange(total - length, total)[:, None], torch.arange(total)
        seen = (to <= at) & (to > at - self.window) & mask[:, None, None].bool()
        shared = [t[:, :, None].expand(-1, -1, 2, -1, -1).reshape(batch, self.heads, total, -1) for t in (key, value)]
        mixed = F.scaled_dot_product_attention(query, *shared, attn_mask=torch.where(seen, 0.0, -1e9))
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1)[:, -1:]), key, value


@export
def grouped_cache() -> Export:
    inputs = {
        "ids": torch.randint(0, 97, (2, 3)), "mask": torch.ones(2, 8, dtype=torch.int64),
        "places": torch.arange(5, 8).repeat(2, 1),
        "past_k": torch.randn(2, 2, 5, 8), "past_v": torch.randn(2, 2, 5, 8),
    }  # fmt: skip
    axes = {"mask": {0: "batch", 1: "past+seq"}, **dict.fromkeys(("past_k", "past_v"), {0: "batch", 2: "past"})}
    return Export(Grouped(), inputs, {"ids": ROWS, "places": ROWS, **axes}, 3)


class Experts(nn.Module):
    """Each token to two of four, of which each takes the rows that are its own."""

    def __init__(self, width: int = 8, count: int = 4) -> None:
        super().__init__()
        self.router, self.experts = (
            nn.Linear(width, count),
            nn.ModuleList(nn.Linear(width, width) for _ in range(count)),
        )

    def forward(self, x: Tensor) -> Tensor:
        rows = x.view(-1, x.shape[2])
        weights, chosen = self.router(rows).softmax(-1).topk(2, -1)
        made = torch.zeros_like(rows)
        for number, expert in enumerate(self.experts):
            row, rank = torch.where(chosen == number)
            made = made.index_add(0, row, expert(rows[row]) * weights[row, rank, None])
        return made.view_as(x)


@export
def experts() -> Export:
    return Export(Experts(), {"x": torch.randn(2, 5, 8)}, {"x": ROWS})


class Distances(nn.Module):
    """Attention that a table of distances, in buckets that grow, is added to."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.qkv, self.table = nn.Embedding(97, 16), nn.Linear(16, 48), nn.Embedding(8, 2)

    def forward(self, ids: Tensor) -> Tensor:
        query, key, value = (p.view(*ids.shape, 2, 8).transpose(1, 2) for p in self.qkv(self.words(ids)).chunk(3, -1))
        far = torch.arange(ids.shape[1])[None] - torch.arange(ids.shape[1])[:, None]
        large = 2 + (torch.log(far.abs().float() / 2) / math.log(10) * 2).long()
        buckets = (far > 0).long() * 4 + torch.where(far.abs() < 2, far.abs(), large.clamp(max=3))
        scores = query @ key.transpose(2, 3) + self.table(buckets).permute(2, 0, 1)
        return (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)


@export
def distances() -> Export:
    return Export(Distances(), {"ids": torch.randint(0, 97, (2, 6))}, {"ids": ROWS})


class Bags(nn.Module):
    """Rows of ids as sums of what they stand for, and products of each with each."""

    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(50, 4, mode="sum") for _ in range(2))
        self.dense, self.out = nn.Linear(5, 4), nn.Linear(7, 1)

    def forward(self, x: Tensor, left: Tensor, right: Tensor) -> Tensor:
        parts = [self.dense(x).relu(), *(bag(ids) for bag, ids in zip(self.bags, (left, right), strict=True))]
        each = torch.cat(parts, 1).view(x.shape[0], -1, 4)
        pairs = torch.bmm(each, each.transpose(1, 2))[:, [1, 2, 2], [0, 0, 1]]
        return self.out(torch.cat([parts[0], pairs], 1)).squeeze(-1)


@export
def bags() -> Export:
    inputs = {"x": torch.randn(3, 5), "left": torch.randint(0, 40, (3, 4)), "right": torch.randint(0, 40, (3, 2))}
    axes: dict[str, Axes] = {"x": {0: "batch"}, "left": {0: "batch", 1: "k"}, "right": {0: "batch", 1: "j"}}
    return Export(Bags(), inputs, axes)


class Looked(nn.Module):
    """A cache whose mask is looked up by the number of a row and the place of a key, as newer decoders do."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.out = nn.Embedding(97, 8), nn.Embedding(64, 8), nn.Linear(8, 97)

    def forward(self, ids: Tensor, mask: Tensor, past: Tensor) -> Any:
        before, total = past.shape[1], past.shape[1] + ids.shape[1]
        at, to = torch.arange(before, total), torch.arange(total)
        x = self.words(ids) + self.places(at)
        keys = torch.cat([past, x], 1)
        seen = (to <= at[:, None]) & mask.bool()[torch.arange(ids.shape[0])[:, None, None], to]
        mixed = (x @ keys.transpose(1, 2)).masked_fill(~seen, -1e9).softmax(-1) @ keys
        return self.out(mixed), keys


@export
def looked_up_mask() -> Export:
    inputs = {
        "ids": torch.randint(0, 97, (2, 3)),
        "mask": torch.ones(2, 8, dtype=torch.int64),
        "past": torch.randn(2, 5, 8),
    }
    axes: dict[str, Axes] = {"mask": {0: "batch", 1: "past+seq"}, "past": {0: "batch", 1: "past"}}
    return Export(Looked(), inputs, {"ids": ROWS, **axes}, 2)
