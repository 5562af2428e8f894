"""Models of images: classes, masks, boxes, sizes that are resized and shuffled."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .export import IMAGE, Export, export
from .language import Block


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


class Same(nn.Module):
    """As many windows as strides, with pads that are counted when it runs, of floats."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(c, 6, k, s) for c, k, s in ((3, 3, 2), (6, 5, 2), (6, 3, 1)))

    def forward(self, images: Tensor) -> Tensor:
        x = images
        for layer in self.layers:
            kernel, stride = layer.kernel_size[0], layer.stride[0]
            sizes = [torch.tensor(size) if isinstance(size, int) else size for size in (x.shape[3], x.shape[2])]
            pads = [torch.clamp((torch.ceil(n / stride) - 1) * stride + kernel - n, min=0) for n in sizes]
            halves = [(p / 2).long() for p in pads]
            x = layer(
                F.pad(x, [part for p, h in zip(pads, halves, strict=True) for part in (h, (p - h).long())])
            ).relu()
        return x


@export
def same_pads() -> Export:
    return Export(Same(), {"images": torch.randn(2, 3, 33, 40)}, {"images": IMAGE})
