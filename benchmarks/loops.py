"""What a turn of a loop costs beyond its body: the program's loops beside the same loops in Python by hand.

`python benchmarks/loops.py` prints a line for each loop and ends with status 1 beyond its bounds. Both sides are timed in
turns, so that a busy machine slows both; the best of each is what counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import rxlang as rx
from running import timed

FIXED, GROWING = 0.5, 2.0  # microseconds a turn
TURNS = 1000


def fixed(x: np.ndarray) -> np.ndarray:
    for _ in range(TURNS):
        x = np.add(x, 1.0)
    return x


def counted(x: np.ndarray) -> np.ndarray:
    k = 0
    while k < TURNS:
        x = np.add(x, 1.0)
        k += 1
    return x


def two(x: np.ndarray) -> np.ndarray:
    y = np.ones(4)
    for _ in range(TURNS):
        x, y = y, np.add(x, 1.0)
    return y


def stacking(x: np.ndarray) -> np.ndarray:
    made = np.empty((TURNS, 4))
    for i in range(TURNS):
        made[i] = np.add(x, 1.0)
    return made


def growing(x: np.ndarray) -> np.ndarray:
    one = np.ones(1)
    for _ in range(TURNS):
        x = np.concatenate((x, one))
    return x


def residual(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    one = np.ones(int(t))
    for _ in range(TURNS):
        x = np.concatenate((x, one))
    return x


def guarded(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    for _ in range(TURNS):
        x = np.concatenate((x, y))
    return x


X = "x : Tensor([4], float64)"
# The program, what it is called with, the same by hand, and what a turn may cost.
LOOPS: dict[str, tuple[str, tuple[np.ndarray, ...], Callable[..., np.ndarray], float]] = {
    "fixed": (
        f"@f = fn({X}) : Tensor([4], float64) {{ for i in range({TURNS}) with (acc = x) {{ acc + 1.0 }} }}",
        (np.zeros(4),), fixed, FIXED,
    ),
    "while": (
        f"@f = fn({X}) : Tensor([4], float64) {{\n"
        f"  let (k, r) = while (k < {TURNS}) with (k : Size = 0, acc = x) {{ (k + 1, acc + 1.0) }}\n  r\n}}",
        (np.zeros(4),), counted, FIXED,
    ),
    "two carries": (
        f"@f = fn({X}) : Tensor([4], float64) {{\n"
        f"  let (a, b) = for i in range({TURNS}) with (a = x, b = @ones([4], float64)) {{ (b, a + 1.0) }}\n  b\n}}",
        (np.zeros(4),), two, FIXED,
    ),
    "stacking": (
        f"@f = fn({X}) : Tensor([{TURNS}, 4], float64) {{\n"
        f"  for i in range({TURNS}) stack (y : Tensor([4], float64)) {{ x + 1.0 }}\n}}",
        (np.zeros(4),), stacking, FIXED,
    ),
    "growing, proved": (
        f"@f = fn({X}) : Tensor([4 + {TURNS}], float64) {{\n  let one = @ones([1], float64)\n"
        f"  for i in range({TURNS}) with (acc : Tensor([4 + i], float64) = x) {{ @concat([acc, one]) }}\n}}",
        (np.zeros(4),), growing, GROWING,
    ),
    "growing, checked": (
        f"@f = fn({X}, t : int64) : Tensor {{\n  let one = @ones([@item(t)], float64)\n"
        f"  for i in range({TURNS}) with (acc : Tensor([4 + i], float64) = x) {{ @concat([acc, one]) }}\n}}",
        (np.zeros(4), np.array(1)), residual, GROWING,
    ),
    "growing, guarded": (
        "@f = fn(x : Tensor([4, n], float64), y : Tensor([1, m], float64)) : Tensor {\n"
        f"  for i in range({TURNS}) with (acc : Tensor([4 + i, n], float64) = x) {{ @concat([acc, y]) }}\n}}",
        (np.zeros((4, 2)), np.ones((1, 2))), guarded, GROWING,
    ),
}  # fmt: skip


def cost(name: str, rounds: int = 100) -> tuple[float, float]:
    """Microseconds a turn takes, in Rx and by hand."""
    source, args, by_hand, _ = LOOPS[name]
    function = rx.loads(source)["f"]
    assert np.array_equal(function(*args), by_hand(*args))
    times = timed(lambda: function(*args), lambda: by_hand(*args), rounds)
    return tuple(min(side) / TURNS / 1e3 for side in zip(*times, strict=True))  # type: ignore[return-value]


def main() -> int:
    fine = True
    for name, (_, _, _, bound) in LOOPS.items():
        ours, by_hand = cost(name)
        kept = ours - by_hand <= bound
        fine = fine and kept
        print(
            f"{name:>18}   rx {ours:6.3f} us a turn   by hand {by_hand:6.3f} us   beyond {ours - by_hand:6.3f} us"
            f"   bound {bound} us: {'kept' if kept else 'exceeded'}"
        )
    return int(not fine)


if __name__ == "__main__":
    sys.exit(main())
