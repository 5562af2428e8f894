"""Which images does a U-Net take? Derives it from draft.rx, which does not say it, and asks the entry check of unet.rx."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import rxlang as rx

HERE = Path(__file__).resolve().parent
WIDTH, CLASSES = 4, 3
SIZES = [(16, 24), (8, 8), (20, 24), (4, 8)]


def derived() -> str:
    """The signature of @unet with all that its body asks for."""
    command = [sys.executable, "-m", "rxlang", "check", "--signature", str(HERE / "draft.rx")]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    return next(line for line in lines if line.startswith("@unet"))


def double(o: int, c: int) -> tuple[np.ndarray, np.ndarray]:
    return weight(o, c, 3), weight(o, o, 3)


def weight(o: int, c: int, k: int) -> np.ndarray:
    return np.random.default_rng(o * c).standard_normal((o, c, k, k)).astype(np.float32) / np.float32(3 * c)


def weights() -> tuple[object, ...]:
    """What the network is made of: on the way down, what doubles the image, on the way up, the last convolution."""
    widths = [WIDTH * 2**i for i in range(4)]
    down = (double(WIDTH, 3), *(double(o, c) for c, o in zip(widths, widths[1:], strict=False)))
    grow = tuple(weight(c, o, 2) for o, c in zip(widths[2::-1], widths[:0:-1], strict=True))
    up = tuple(double(o, 2 * o) for o in widths[2::-1])
    return down, grow, up, weight(CLASSES, WIDTH, 1)


def main() -> int:
    print(derived())
    unet = rx.load(HERE / "unet.rx").unet
    for height, width in SIZES:
        try:
            made = unet(np.ones((1, 3, height, width), np.float32), *weights())
            print(f"{height} x {width}: {list(made.shape)}")
        except rx.ShapeError as refused:
            print(f"{height} x {width}: {refused.diagnostic.message}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
