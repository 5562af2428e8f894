"""Models that find things in images: boxes on anchors, lines of text, windows of regions, masks for prompts."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .export import IMAGE, Axes, Export, export


class Yolo(nn.Module):
    """Two levels that are joined up and down, boxes as distributions, and anchors made of the levels' sizes."""

    def __init__(self, classes: int = 3, bins: int = 4) -> None:
        super().__init__()
        self.classes, self.bins = classes, bins
        self.fine = nn.Sequential(*(nn.Conv2d(a, b, 3, 2, 1) for a, b in ((3, 8), (8, 8), (8, 8))))
        self.coarse, self.pool = nn.Conv2d(8, 8, 3, 2, 1), nn.MaxPool2d(5, 1, 2)
        self.joined, self.down = nn.Conv2d(24, 8, 1), nn.Conv2d(8, 8, 3, 2, 1)
        self.heads = nn.ModuleList(nn.Conv2d(width, classes + 4 * bins, 1) for width in (8, 24))
        self.mean = nn.Conv2d(bins, 1, 1, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        fine = self.fine(images)
        coarse = self.coarse(fine)
        coarse = torch.cat([coarse, self.pool(coarse)], 1)
        fine = self.joined(torch.cat([F.interpolate(coarse, scale_factor=2.0), fine], 1))
        coarse = torch.cat([self.down(fine), coarse], 1)
        made, anchors, strides = [], [], []
        for level, head, stride in zip((fine, coarse), self.heads, (8.0, 16.0), strict=True):
            high, wide = level.shape[2:]
            made.append(head(level).view(level.shape[0], self.classes + 4 * self.bins, -1))
            y, x = torch.meshgrid(torch.arange(high) + 0.5, torch.arange(wide) + 0.5, indexing="ij")
            anchors.append(torch.stack((x, y), -1).view(-1, 2))
            strides.append(torch.full((high * wide, 1), stride))
        boxes, scores = torch.cat(made, 2).split((4 * self.bins, self.classes), 1)
        spread = boxes.view(boxes.shape[0], 4, self.bins, -1).transpose(1, 2).softmax(1)
        before, after = self.mean(spread).view(boxes.shape[0], 4, -1).chunk(2, 1)
        centres, scale = torch.cat(anchors).t()[None], torch.cat(strides).t()
        return torch.cat(((centres + (after - before) / 2) * scale, (after + before) * scale, scores.sigmoid()), 1)


@export
def yolo() -> Export:
    return Export(Yolo(), {"images": torch.randn(2, 3, 64, 96)}, {"images": IMAGE})


class Reader(nn.Module):
    """A line of text: convolutions that flatten it, a recurrent layer in both directions, and scores of letters."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, 1, 1), nn.BatchNorm2d(8),
            nn.MaxPool2d((2, 2), (2, 1), (0, 1)), nn.Conv2d(8, 16, 2),
        )  # fmt: skip
        self.layer, self.out = nn.LSTM(16, 8, bidirectional=True), nn.Linear(16, 11)

    def forward(self, images: Tensor) -> Tensor:
        steps = self.body(images).mean(2).permute(2, 0, 1)
        made, _ = self.layer(steps)
        length, batch, width = made.shape
        return self.out(made.reshape(length * batch, width)).view(length, batch, -1).log_softmax(2)


@export
def text_lines() -> Export:
    return Export(Reader(), {"images": torch.randn(2, 1, 32, 100)}, {"images": {0: "batch", 3: "w"}})


class Regions(nn.Module):
    """Shifted windows of a padded image, a mask of their regions, and patches that are merged at odd sizes."""

    def __init__(self, width: int = 8, window: int = 4) -> None:
        super().__init__()
        self.window, self.qkv, self.merge = window, nn.Linear(width, 3 * width), nn.Linear(4 * width, 2 * width)

    def windows(self, x: Tensor) -> Tensor:
        batch, high, wide, width = x.shape
        n = self.window
        return x.view(batch, high // n, n, wide // n, n, width).transpose(2, 3).reshape(-1, n * n, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, high, wide, width = x.shape
        n, half = self.window, self.window // 2
        padded = F.pad(x, (0, 0, 0, (n - wide % n) % n, 0, (n - high % n) % n))
        regions = torch.zeros(1, *padded.shape[1:3], 1)
        cuts = (slice(0, -n), slice(-n, -half), slice(-half, None))
        for number in range(9):
            regions[:, cuts[number // 3], cuts[number % 3]] = number
        apart = self.windows(regions).squeeze(-1)
        mask = (apart[:, None] != apart[:, :, None]).float() * -100.0
        query, key, value = self.qkv(self.windows(torch.roll(padded, (-half, -half), (1, 2)))).chunk(3, -1)
        scores = (query @ key.transpose(1, 2)).view(-1, *mask.shape) + mask
        mixed = (scores.flatten(0, 1).softmax(-1) @ value).view(batch, padded.shape[1] // n, -1, n, n, width)
        back = torch.roll(mixed.transpose(2, 3).reshape(padded.shape), (half, half), (1, 2))[:, :high, :wide]
        even = F.pad(x + back, (0, 0, 0, wide % 2, 0, high % 2))
        return self.merge(torch.cat([even[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], -1))


@export
def regions() -> Export:
    return Export(Regions(), {"x": torch.randn(2, 10, 13, 8)}, {"x": {0: "batch", 1: "h", 2: "w"}})


class Prompts(nn.Module):
    """Points that are prompts beside learnt tokens, each with a copy of the image, and a mask for each."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.tokens, self.kinds = nn.Parameter(torch.randn(3, width)), nn.Embedding(4, width)
        self.waves = nn.Parameter(torch.randn(2, width // 2))
        self.to_image, self.to_points = (nn.MultiheadAttention(width, 2, batch_first=True) for _ in range(2))
        self.up, self.head = nn.ConvTranspose2d(width, 4, 4, 4), nn.Linear(width, 4)

    def forward(self, image: Tensor, points: Tensor, kinds: Tensor) -> Tensor:
        angles = (2 * points - 1) @ self.waves
        placed = torch.cat([angles.sin(), angles.cos()], -1) * (kinds >= 0)[..., None] + self.kinds(kinds.clamp(min=0))
        tokens = torch.cat([self.tokens.expand(placed.shape[0], -1, -1), placed], 1)
        copies = torch.repeat_interleave(image, tokens.shape[0], dim=0)
        flat = copies.flatten(2).transpose(1, 2)
        tokens = tokens + self.to_image(tokens, flat, flat, need_weights=False)[0]
        flat = flat + self.to_points(flat, tokens, tokens, need_weights=False)[0]
        large = self.up(flat.transpose(1, 2).reshape(copies.shape))
        return (self.head(tokens[:, :3]) @ large.flatten(2)).view(large.shape[0], -1, *large.shape[2:])


@export
def prompts() -> Export:
    inputs = {"image": torch.randn(1, 16, 5, 6), "points": torch.rand(2, 3, 2), "kinds": torch.randint(0, 4, (2, 3))}
    axes: dict[str, Axes] = {"image": {2: "eh", 3: "ew"}, **dict.fromkeys(("points", "kinds"), {0: "batch", 1: "n"})}
    return Export(Prompts(), inputs, axes)


class Queries(nn.Module):
    """Learnt queries that look at an image: a transformer over its rows and columns, each with a place in a table."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.image, self.wanted = nn.Conv2d(3, width, 3, 4, 1), nn.Parameter(torch.randn(6, width))
        self.rows, self.columns = (nn.Parameter(torch.randn(50, width // 2)) for _ in range(2))
        self.layers = nn.Transformer(width, 2, 1, 1, 16, batch_first=True)
        self.kinds, self.boxes = nn.Linear(width, 5), nn.Linear(width, 4)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        seen = self.image(images)
        high, wide = seen.shape[-2:]
        across, down = self.columns[:wide].repeat(high, 1, 1), self.rows[:high, None].repeat(1, wide, 1)
        placed = torch.cat([across, down], -1).flatten(0, 1) + seen.flatten(2).transpose(1, 2)
        found = self.layers(placed, self.wanted.repeat(images.shape[0], 1, 1))
        return self.kinds(found), self.boxes(found).sigmoid()


@export
def queries() -> Export:
    return Export(Queries(), {"images": torch.randn(2, 3, 32, 40)}, {"images": IMAGE}, 2)
