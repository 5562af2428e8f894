"""Two spirals told apart: trains the network of train.rx by gradients of its loss and steps of Adam."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import rxlang as rx

HERE = Path(__file__).resolve().parent
POINTS, HIDDEN, TURNS, RATE = 100, 24, 400, np.float32(0.03)


def spirals() -> tuple[np.ndarray, np.ndarray]:
    """Points of two arms, and the arm of each."""
    turn = np.linspace(0.5, 2 * np.pi, POINTS)
    arm = np.stack([turn * np.cos(turn), turn * np.sin(turn)], axis=1) / 6
    return np.concatenate([arm, -arm]).astype(np.float32), np.repeat(np.arange(2), POINTS)


def start() -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(3)
    w1, w2 = random.standard_normal((HIDDEN, 2)), random.standard_normal((2, HIDDEN)) / 5
    return tuple(np.asarray(w, np.float32) for w in (w1, np.zeros(HIDDEN), w2, np.zeros(2)))


def main() -> int:
    module = rx.load(HERE / "train.rx")
    x, y = spirals()
    (w1, b1, w2, b2), losses = module.train(x, y, start(), TURNS, RATE)
    for turn in range(0, TURNS, TURNS // 4):
        print(f"step {turn}: loss {losses[turn]:.3f}")
    right = np.argmax(np.tanh(x @ w1.T + b1) @ w2.T + b2, axis=1) == y
    print(f"step {TURNS}: {right.sum()} of {len(y)} points told apart")
    return int(not right.mean() > 0.95)


if __name__ == "__main__":
    sys.exit(main())
