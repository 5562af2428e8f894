"""Trains the small GPT of train.rx on the tutorial of Rx, letter by letter, and lets it write.

    python run.py --steps 400 --engine numpy|torch --weights gpt.safetensors

With a file of weights that is there already it only writes."""

from __future__ import annotations

import argparse
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import rxlang as rx
from rich.progress import Progress

HERE = Path(__file__).resolve().parent
TEXT = (HERE.parent.parent / "docs" / "tutorial.md").read_text(encoding="utf-8")
LETTERS = sorted(set(TEXT))
BATCH, LENGTH, WIDTH, LAYERS, HEADS, RATE = 16, 32, 48, 2, 4, np.float32(3e-3)
NAMES = ("embed", "places", "norm1", "qkv", "out", "norm2", "wide", "narrow", "last")

Weights = tuple[Any, ...]


def begin() -> Weights:
    """Small random numbers, and norms of one."""
    d, random = WIDTH, np.random.default_rng(1)
    blocks = [(LAYERS, *s) for s in ((d,), (d, 3 * d), (d, d), (d,), (d, 4 * d), (4 * d, d))]
    shapes = [(len(LETTERS), d), (LENGTH, d), *blocks, (d,)]
    made = [random.normal(scale=0.08, size=s).astype(np.float32) for s in shapes]
    return tuple(np.ones_like(w) if n in ("norm1", "norm2", "last") else w for n, w in zip(NAMES, made, strict=True))


def save(weights: Weights, path: Path) -> None:
    """As .safetensors: a header with the places of the tensors, then their bytes."""
    arrays = [np.asarray(w) for w in weights]
    ends = np.cumsum([0, *(a.nbytes for a in arrays)]).tolist()
    header = {
        name: {"dtype": "F32", "shape": a.shape, "data_offsets": place}
        for name, a, place in zip(NAMES, arrays, pairwise(ends), strict=True)
    }
    said = json.dumps(header).encode()
    path.write_bytes(len(said).to_bytes(8, "little") + said + b"".join(a.tobytes() for a in arrays))


def loaded(path: Path) -> Weights:
    data = path.read_bytes()
    size = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:size])
    places = [(header[n]["shape"], header[n]["data_offsets"]) for n in NAMES]
    return tuple(np.frombuffer(data[size + a : size + b], np.float32).reshape(shape).copy() for shape, (a, b) in places)


def plot(losses: list[float], rows: int = 8, columns: int = 64) -> str:
    """The loss from left to right, the means of as many steps beside each other as there are columns."""
    means = [float(part.mean()) for part in np.array_split(np.array(losses), min(columns, len(losses)))]
    low, high = min(means), max(means)
    heights = [round((m - low) / (high - low or 1.0) * (rows - 1)) for m in means]
    lines = ["".join("●" if h == row else " " for h in heights) for row in range(rows - 1, -1, -1)]
    sides = [f"{high:6.2f} │", *["       │"] * (rows - 2), f"{low:6.2f} │"]
    return "\n".join(a + b for a, b in zip(sides, lines, strict=True))


def train(module: rx.Module, weights: Weights, steps: int, on: Any) -> tuple[Weights, list[float]]:
    """Steps of Adam over random places of the text; `on` makes an array one of the engine."""
    ids, random = np.array([LETTERS.index(c) for c in TEXT]), np.random.default_rng(2)
    weights = tuple(map(on, weights))
    means, squares = (tuple(w * 0 for w in weights) for _ in range(2))
    losses = []
    with Progress() as bar:
        task = bar.add_task("training", total=steps)
        for turn in range(steps):
            starts = random.integers(0, len(ids) - LENGTH, size=(BATCH, 1))
            batch = ids[starts + np.arange(LENGTH + 1)]
            given = on(batch[:, :-1].copy()), on(batch[:, 1:].copy())
            loss, weights, means, squares = module.step(*given, weights, means, squares, HEADS, turn, on(RATE))
            losses.append(float(loss))
            bar.update(task, advance=1, description=f"loss {losses[-1]:.2f}")
    return weights, losses


def main() -> int:
    parser = argparse.ArgumentParser(description="Trains a small GPT, and lets it write.")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--engine", choices=("numpy", "torch"), default="numpy")
    parser.add_argument("--weights", type=Path, default=HERE / "gpt.safetensors")
    asked = parser.parse_args()
    module = rx.load(HERE / "train.rx", engine=asked.engine)
    on: Any = np.asarray
    if asked.engine == "torch":
        import torch  # only this engine needs it

        on = torch.as_tensor
    if not asked.weights.is_file():
        weights, losses = train(module, begin(), asked.steps, on)
        print(plot(losses))
        save(weights, asked.weights)
        print(
            f"loss {losses[0]:.2f} in the first step, {np.mean(losses[-10:]):.2f} in the last ten; saved as {asked.weights}"
        )
    start = np.array([[LETTERS.index(c) for c in TEXT[:LENGTH]]])
    made = module.write(on(start), tuple(map(on, loaded(asked.weights))), HEADS, 1, 200)
    print(f"it writes:\n{''.join(LETTERS[int(i)] for i in made)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
