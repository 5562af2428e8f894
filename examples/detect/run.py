"""How many boxes are there? Shows what is known of it before the run, then what two images decide."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import rxlang as rx

HERE = Path(__file__).resolve().parent
CHANNELS, CLASSES, CELL, SURE, MOST = 8, 3, 16, np.float32(0.6), 10


def known() -> list[str]:
    """What `rx shapes` says of the bindings whose size the image decides."""
    command = [sys.executable, "-m", "rxlang", "shapes", str(HERE / "detect.rx")]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    return [line.strip() for line in lines if "at most" in line]


def main() -> int:
    print("\n".join(known()))
    module = rx.load(HERE / "detect.rx")
    random = np.random.default_rng(5)
    head = random.standard_normal((4 + CLASSES, CHANNELS, 1, 1)).astype(np.float32) / 2
    for height, width in ((6, 8), (3, 3)):
        features = random.standard_normal((CHANNELS, height, width)).astype(np.float32)
        boxes, kinds, scores = module.detect(features, head, CELL, SURE, MOST)
        print(f"{height} x {width} places, at most {MOST} boxes: {len(boxes)}")
        for box, kind, score in zip(boxes, kinds, scores, strict=True):
            print(f"  kind {kind}, {score:.2f} sure, at {[round(float(side)) for side in box]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
